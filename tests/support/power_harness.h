/*
 * power_harness.h - a store whose power fails at every sync.
 */
#ifndef PDR_TEST_POWER_HARNESS_H
#define PDR_TEST_POWER_HARNESS_H

#include "store_work.h"

struct shim_disk;

/* What images of disks had in them. */
struct image_report {
    size_t images;
    size_t whole;  /* a commit that was not acknowledged was there */
    size_t absent; /* ... or was not */
    /* Mistakes. */
    size_t lost;     /* an acknowledged commit was not there, or one was half */
    size_t damaged;  /* it could not be opened, read or verified */
    size_t stuck;    /* it took no more commits */
    char first[600]; /* the first one in words */
};

size_t image_mistakes(const struct image_report *report);
/* Note a mistake in `count`, one of the members; the first one in words. */
void image_complain(struct image_report *report, size_t *count,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Open the store in a file: one of states[least] to states[most] must be
 * there, to the last digest, and it must go on. */
void image_check(struct image_report *report, const char *path,
                 const struct work *work, size_t least, size_t most);

struct power_report {
    struct image_report images;
    size_t syncs;     /* that the store asked for */
    size_t points;    /* where power was lost */
    size_t unsynced;  /* of these, in front of a sync of some writes */
    size_t torn;      /* images that lost parts of writes */
    size_t commits;   /* acknowledged */
    size_t conflicts; /* commits that were late or fenced off */
    size_t refusals;  /* commits that were refused for other reasons */
};

/* Planted mistakes. */
enum power_variant {
    POWER_WHOLE,    /* none */
    POWER_NO_SYNCS, /* the VFS swallows them */
};

/* Run the work on a disk that is written down, then lose power at each point,
 * in several ways; with `all`, in each way, and behind every single write. */
void power_run(struct power_report *out, enum power_variant variant, bool all);
/* The same, and while the store is opened afterwards power is lost again: what
 * was seen in between stays. With `all` at every point, else at some. */
void power_run_twice(struct power_report *out, bool all);
void power_print(const struct power_report *report);

#endif
