/*
 * durable_swarm.h - several processes that carry out the operations of one
 * store, and are killed, stopped for longer than a lease, and continued.
 *
 * WHY  A process that wakes up does not know that its leases are over and that
 *      others went on with its runs. It must not be able to change anything.
 */
#ifndef PDR_TEST_DURABLE_SWARM_H
#define PDR_TEST_DURABLE_SWARM_H

#include "test.h"

struct swarm_plan {
    unsigned sessions;
    unsigned operations; /* of each session */
    unsigned disturbances;
    uint64_t seed;
};

struct swarm_result {
    /* What was met. */
    size_t operations;
    size_t kills, stops; /* of workers */
    size_t client_kills; /* of the process that sends */
    size_t taken_over;   /* runs that another process had begun */
    size_t lost;         /* runs that somebody else had taken meanwhile */
    size_t fenced;       /* commits that were refused for that */
    size_t unknown;      /* calls whose result says that nobody knows */
    size_t repeated;     /* calls that were made again, as they may be */
    /* Complaints. */
    size_t missing;    /* operations without an end, or not all of them */
    size_t doubled;    /* two responses, or a call that may not be repeated */
    size_t forked;     /* what verify found; entries in another order */
    size_t unfinished; /* sessions with work that is left */
    size_t failures;   /* processes that failed, or hung */
};

void swarm_run(struct swarm_result *out, const struct swarm_plan *plan);
void swarm_result_print(const char *name, const struct swarm_result *result);
/* Complaints of all kinds. */
size_t swarm_result_bad(const struct swarm_result *result);

/* One run that lasts longer than its lease, in a process that looks for work so
 * often, beside another one that would take the run over. */
void swarm_hold(struct swarm_result *out, uint32_t lease_ms, uint32_t poll_ms);

#endif
