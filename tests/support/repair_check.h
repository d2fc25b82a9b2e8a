/*
 * repair_check.h - does a repair tell of all that it changed?
 *
 * The changes that were told are taken back from the document after: what was
 * added is removed, what was removed gets a null in its place. What then still
 * differs from the document before must lie below a place that was told.
 */
#ifndef PDR_REPAIR_CHECK_H
#define PDR_REPAIR_CHECK_H

#include "test.h"

#define REPAIR_TOLD 4096

struct repair_told {
    const char *rule; /* static */
    char *pointer;    /* owned */
    bool is_seen;     /* something below it did change */
};

struct repair_report {
    struct repair_told told[REPAIR_TOLD];
    size_t count;
};

/* A pdr_doc_finding_fn whose argument is a report that was set to zero. */
pdr_rc repair_note(const pdr_doc_finding *finding, pdr_err *err, void *arg);
void repair_report_clear(struct repair_report *report);

/* NULL if the report tells all changes from `before` to `after` and no others;
 * else where it does not, which stays valid until the next call. */
const char *repair_untold(const pdr_value *before, const pdr_value *after,
                          struct repair_report *report);

#endif
