/*
 * body_plain.c - the check of bodies once more, as it is built for processors
 * without SSE2. Of one source, so that tests see both.
 */
#include "body_model.h"

#define PDR_PLAIN_WORDS
#define pdr__body_check plain_body_check
#include "../../src/store/body.c"
