/*
 * side_file.h - what power loss can do to the side file of a store. See
 * side_file.c.
 */
#ifndef PDR_TEST_SIDE_FILE_H
#define PDR_TEST_SIDE_FILE_H

#include <stdbool.h>

extern bool side_file_unsynced;

#endif
