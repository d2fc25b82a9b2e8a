/*
 * write.h - what look.c and write.c share: one commit on its way.
 */
#ifndef PDR_SQLITE_WRITE_H
#define PDR_SQLITE_WRITE_H

#include "sqlite.h"

struct pdr__job {
    struct pdr__sqlite *store;
    struct pdr__writer *writer;
    pdr_write *write;
    bool *dirty;
    int code; /* what SQLite said; SQLITE_OK: it did not fail */
};

/* What was found for one plan: where its completions stand in `log`, 0 for each
 * that is not there, and those that it drops. */
struct pdr__found {
    int64_t *completions;
    int64_t *drop;
};

/* Keep what SQLite said; gives the failure. */
pdr_rc pdr__job_failed(struct pdr__job *job, int code);

/* Find what the plan is about, and ask the plan. Fails with its refusal;
 * nothing has changed then. */
PDR_MUST_CHECK pdr_rc pdr__look(struct pdr__job *job, pdr_plan *plan,
                                struct pdr__found *found);

#endif
