/*
 * What stays of a run: stored as a whole or call by call, what a failure
 * leaves, and messages that come from outside.
 */
#include "test.h"
