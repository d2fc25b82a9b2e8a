/*
 * store_kill.h - writers of one store that are killed again and again, and what
 * is in the store afterwards.
 *
 * WHY  A kill shows whether a commit is whole at every moment in which a
 *      process can stop. It does not show a missing sync: what was written is
 *      in the memory of the system, and a kill does not take that.
 */
#ifndef PDR_TEST_STORE_KILL_H
#define PDR_TEST_STORE_KILL_H

#include "store_judge.h"

struct kill_plan {
    size_t kills;
    size_t between;     /* kills between two judgements */
    unsigned processes; /* at once */
    unsigned threads;   /* of each */
    unsigned sessions;  /* that all share */
    unsigned pause_ms;  /* between two kills, at most */
    uint64_t seed;
    bool keep; /* the folder, if something was found */
};

struct kill_result {
    size_t kills;
    size_t at_once;    /* times that all were killed together */
    size_t ended_well; /* processes that closed the store before */
    size_t judgements;
    size_t commits, conflicts, refusals;
    size_t
        retries;  /* deeds that a kill cut off and that were asked for again */
    size_t found; /* of them, there already */
    size_t checkpoints; /* with store_small_log.c: that writers ran */
    size_t failures;    /* processes that failed, stores that cannot be read */
    size_t unsound;     /* what verify found */
    struct judgement judgement;
};

/* One store from its making on. Ends early if something was found. */
void store_kill(struct kill_result *out, const struct kill_plan *plan);

void kill_result_add(struct kill_result *sum, const struct kill_result *one);
void kill_result_print(const struct kill_result *result);
/* Complaints of all kinds. */
size_t kill_result_bad(const struct kill_result *result);

#endif
