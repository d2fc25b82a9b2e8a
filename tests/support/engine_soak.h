/*
 * engine_soak.h - one process with a durable agent, and callers that keep it
 * busy for long: many sessions, many operations, some of them sent twice, some
 * that reset or delete a session.
 *
 * Callers know what each session must have in the end, and what each operation
 * must be answered with. Memory is looked at while nothing is at work.
 */
#ifndef PDR_TEST_ENGINE_SOAK_H
#define PDR_TEST_ENGINE_SOAK_H

#include "test.h"

/* When memory is looked at: after a tenth of the operations, when everything
 * has been used once, then in the middle and at the end. */
enum soak_mark { SOAK_WARM, SOAK_MIDDLE, SOAK_END, SOAK_MARKS };

struct soak_plan {
    size_t sessions;    /* 200 at least */
    size_t operations;  /* more or less */
    void (*each)(void); /* called in each run, if not NULL; for mistakes */
};

struct soak_memory {
    size_t blocks, bytes; /* that the library has allocated */
    size_t peak_bytes;    /* the most since the mark before */
    size_t resident_kb;   /* of the process */
};

struct soak_result {
    /* What was sent. */
    size_t runs, repeats, resets, deletes;
    /* What is wrong. */
    size_t missing;    /* operations that did not end, or not well */
    size_t mistaken;   /* operations that had the answer of another one, or were
                          known and should not have been, or the other way */
    size_t doubled;    /* runs and calls of tools that nobody asked for, or that
                          somebody asked for in vain */
    size_t forked;     /* sessions whose history is not what was sent */
    size_t miscounted; /* numbers of the engine that are not ours */
    /* What it took. */
    struct soak_memory memory[SOAK_MARKS];
    uint64_t file_bytes;
    double seconds;
};

/* Fails the test if it cannot begin. */
void soak_run(struct soak_result *out, const struct soak_plan *plan);
void soak_result_print(const struct soak_result *result);
/* All that is wrong, but for memory. */
size_t soak_result_bad(const struct soak_result *result);
/* Has memory grown since everything had been used once? Says so, if it has.
 * Resident memory is not judged under a sanitizer, which has its own. */
bool soak_has_grown(const struct soak_result *result);

#endif
