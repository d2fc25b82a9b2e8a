/*
 * vacuum_harness.h - a store with much free room that is vacuumed while
 * something goes wrong: every row is there afterwards, and nothing else.
 */
#ifndef PDR_TEST_VACUUM_HARNESS_H
#define PDR_TEST_VACUUM_HARNESS_H

#include "room.h"
#include "test.h"

struct vacuum_harness {
    struct room room; /* with the file a.db, as the tests change it */
    char *bytes;      /* owned: of the file before */
    size_t len;
    char *text; /* owned: of all rows */
    /* What was met. */
    size_t runs;    /* that something went wrong in */
    size_t refused; /* vacuums that said so */
    size_t shorter; /* files that had become shorter by then */
    /* Mistakes. */
    size_t mistakes;
    char first[700]; /* the first one in words */
};

void vacuum_init(struct vacuum_harness *harness);
void vacuum_dispose(struct vacuum_harness *harness);
void vacuum_print(const struct vacuum_harness *harness, const char *what);

/* Each file operation fails, once and for ever; every `step`th of them. */
void vacuum_fail(struct vacuum_harness *harness, size_t step);
/* The process is killed in place of each file operation. */
void vacuum_kill(struct vacuum_harness *harness, size_t step);
/* Power is lost around each sync. */
void vacuum_lose_power(struct vacuum_harness *harness);

#endif
