/*
 * byte_damage.h - bytes of a SQLite store that a disk has changed.
 */
#ifndef PDR_TEST_BYTE_DAMAGE_H
#define PDR_TEST_BYTE_DAMAGE_H

#include "test.h"

struct byte_report {
    size_t tried;     /* bytes that were changed, one at a time */
    size_t pages;     /* that can be chosen: those with rows or index entries */
    size_t questions; /* that were asked about each of them */
    size_t refused;   /* the store did not open */
    size_t failed;    /* answers that were an error */
    size_t same;      /* answers that were right */
    size_t not_found; /* answers that say that there is no such thing */
    size_t wrong;     /* any other answer */
    size_t missed;    /* verify found nothing */
    char first[300];  /* the first wrong answer, or the first one missed */
};

/* Change `count` bytes of a store, chosen by `seed`, each in a copy of its own,
 * and ask the store everything. */
void damage_bytes(struct byte_report *out, size_t count, uint64_t seed);

#endif
