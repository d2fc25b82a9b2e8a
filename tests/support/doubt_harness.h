/*
 * doubt_harness.h - a sync fails, and power is lost while the store is opened
 * again: the commit is there as a whole, or not at all.
 */
#ifndef PDR_TEST_DOUBT_HARNESS_H
#define PDR_TEST_DOUBT_HARNESS_H

#include "test.h"

struct doubt_report {
    size_t points;   /* of the opening at which power was lost */
    size_t images;   /* of disks that this could leave */
    size_t whole;    /* with all of the commit */
    size_t absent;   /* with nothing of it */
    size_t bad;      /* with a part of it, or damaged */
    char first[300]; /* the first of these */
};

void doubt_run(struct doubt_report *out);

#endif
