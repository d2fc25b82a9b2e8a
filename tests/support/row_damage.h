/*
 * row_damage.h - rows of a SQLite store that somebody else has changed.
 */
#ifndef PDR_TEST_ROW_DAMAGE_H
#define PDR_TEST_ROW_DAMAGE_H

#include "test.h"

struct damage_report {
    size_t tried;    /* changes to rows of entries */
    size_t seen;     /* reading the entries failed */
    size_t unseen;   /* something else was read than what was written */
    size_t missed;   /* verify found nothing */
    char first[200]; /* the first that was not seen */
};

/* Change entries in the file in many ways, one at a time, and read them. */
void damage_entries(struct damage_report *out);

#endif
