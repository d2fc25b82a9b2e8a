/*
 * migrate_harness.h - a store of an older version that is migrated while
 * something goes wrong: whatever it is, the file is of the old version or of
 * the new one, whole, and can be migrated again.
 */
#ifndef PDR_TEST_MIGRATE_HARNESS_H
#define PDR_TEST_MIGRATE_HARNESS_H

#include "room.h"
#include "shim_vfs.h"
#include "test.h"

enum old_store {
    OLD_SAMPLE, /* tests/data/store/version-1.db, a true old file */
    OLD_KEYED,  /* the same with a key */
    OLD_GROWN   /* some megabytes, made by this library and put back to
                   version 1 */
};

struct migrate_harness {
    enum old_store kind;
    struct room room; /* with the file a.db, as the tests change it */
    char *bytes;      /* owned: of the old file */
    size_t len;
    char *text; /* owned: of all rows, as any reader sees them */
    /* What was met. */
    size_t runs;     /* that something went wrong in */
    size_t old, new; /* what the file was then */
    size_t refused;  /* migrations that said so */
    /* Mistakes. */
    size_t mistakes;
    char first[700]; /* the first one in words */
};

void migrate_init(struct migrate_harness *harness, enum old_store kind);
void migrate_dispose(struct migrate_harness *harness);
void migrate_print(const struct migrate_harness *harness, const char *what);

/* "sqlite:ROOM/a.db" with its key and what else stands behind it; static. */
const char *migrate_uri(const struct migrate_harness *harness,
                        const char *folder, const char *more);
/* Put the old file there, alone. */
void migrate_reset(const struct migrate_harness *harness);
/* The file in `folder` is of a version that is whole, at least `least`; it can
 * be migrated, and holds the same rows then. */
void migrate_check(struct migrate_harness *harness, const char *folder,
                   unsigned least, const char *what);

/* Each file operation fails, once and for ever; every `step`th of them. */
void migrate_fail(struct migrate_harness *harness, size_t step);
/* The process is killed in place of each file operation. */
void migrate_kill(struct migrate_harness *harness, size_t step);
/* And at any moment, `times`. */
void migrate_kill_at_random(struct migrate_harness *harness, size_t times);
/* Power is lost around each sync; `all`: behind every change, in each way. */
void migrate_lose_power(struct migrate_harness *harness, bool all);
/* Sync `nth` of a migration fails, and power is lost while it is done again.
 * False: there is no such sync, or nobody needs it. */
bool migrate_lose_power_again(struct migrate_harness *harness, size_t nth);

#endif
