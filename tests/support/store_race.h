/*
 * store_race.h - processes and threads that want to write to one store at the
 * same time, and what each of them got.
 *
 * WHY  Everybody must get on, nobody may be told what is not so. All begin at
 *      the same moment and end at the same moment; what they were told is in
 *      memory that they share with the one who started them.
 */
#ifndef PDR_TEST_STORE_RACE_H
#define PDR_TEST_STORE_RACE_H

#include "test.h"

#define RACE_MAX_PROCESSES 8
#define RACE_MAX_THREADS   4
#define RACE_MAX_SESSIONS  100

struct race_plan {
    unsigned processes;
    unsigned threads;  /* of each */
    unsigned sessions; /* that all share */
    unsigned run_ms;
    uint64_t seed;
};

struct race_result {
    size_t acknowledged;  /* entries, or journal rows under a lease */
    size_t stored;        /* of them that are there */
    size_t lost;          /* acknowledged, and not there */
    size_t doubled;       /* there more than once */
    size_t forked;        /* not behind what its writer saw; under a lease that
                             its writer did not hold, or that two held */
    size_t wrong;         /* not as written, told to nobody, or not verified */
    size_t conflicts;     /* appends: came too late, and tried again */
    size_t busy, fenced;  /* leases: held by somebody else, lost */
    size_t taken;         /* leases: fences that were given */
    size_t slowest, fair; /* what one process got at least; an equal share */
    int64_t longest_us;   /* wait for one commit */
    size_t failures;      /* processes that failed */
};

/* Everybody appends to the sessions, bound by the revision that it read. */
void store_race_append(struct race_result *out, const struct race_plan *plan);

/* Everybody wants the lease of one session, for a few rows of its journal. */
void store_race_lease(struct race_result *out, const struct race_plan *plan);

/* Rows and leases that are not as they were told. */
size_t race_mistakes(const struct race_result *result);
void race_result_print(const char *name, const struct race_result *result);

#endif
