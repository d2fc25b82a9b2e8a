/*
 * durable_crash.h - a process with durable agents that dies at a point, and
 * another one that goes on with what it left.
 *
 * WHY  A run that is killed anywhere must go on after the last answer of the
 *      model and the last result of a tool, and repeat none of them. What was
 *      told to be durable is written down by the process itself
 *      (durable_actor.h); so it is known what the other one may do, whatever
 *      the store says.
 */
#ifndef PDR_TEST_DURABLE_CRASH_H
#define PDR_TEST_DURABLE_CRASH_H

#include "point_store.h"

#define CRASH_OPS 3

/* What the process that dies does with the operations. */
enum crash_way {
    CRASH_ONE_BY_ONE,  /* each one is sent when the one before has ended */
    CRASH_QUEUED,      /* the second one while the first one waits in a tool */
    CRASH_HANDED_BACK, /* its engine is stopped while the first one waits */
    CRASH_RENEWED,     /* the first one waits for three renewals */
    CRASH_STREAMED     /* it waits until its events are stored */
};

struct crash_operation {
    const char *id;   /* correlation id; NULL: there are no more */
    const char *text; /* see durable_actor.h, no two alike; NULL: "reset" */
};

struct crash_scene {
    const char *name;
    enum crash_way way;
    unsigned parallel; /* calls of tools at once */
    struct crash_operation operations[CRASH_OPS];
};

struct crash_result {
    size_t runs;     /* with two processes each */
    size_t killed;   /* runs whose first process was */
    size_t commits;  /* of a first process that was not: renewals left out */
    size_t known;    /* operations that were there when they were sent again */
    size_t resumed;  /* runs that went on in the middle */
    size_t repeated; /* calls that were made again, as they may be */
    size_t unknown;  /* calls whose result says that nobody knows */
    /* Complaints. */
    size_t failures; /* processes that failed */
    size_t asked;    /* answers that the model gave again */
    size_t doubled;  /* calls that may not be made again, and were */
    size_t hasty;    /* deeds before the commit that has to come first */
    size_t lost;     /* operations without an end; work that is left */
    size_t wrong;    /* histories that differ from what they must be */
    size_t unsound;  /* what verify found */
};

/* Die at every point of this kind, before and after it, or for tools in it;
 * until the process comes to its end, or `most` points were tried. */
void crash_everywhere(struct crash_result *out, const struct crash_scene *scene,
                      enum point_kind kind, size_t most);

void crash_result_add(struct crash_result *sum, const struct crash_result *one);
void crash_result_print(const char *name, const struct crash_result *result);
/* Complaints of all kinds. */
size_t crash_result_bad(const struct crash_result *result);

#endif
