/*
 * crew.h - threads that do the same work over and over, while a block lasts.
 *
 * Two crews can take turns: between its blocks a crew waits and costs nothing.
 */
#ifndef PDR_BENCH_CREW_H
#define PDR_BENCH_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench.h"

#define CREW_MOST 256u

/* One turn of a member, 0 and up. */
typedef void (*crew_fn)(size_t member, void *arg);

struct crew {
    crew_fn fn;
    void *arg;
    size_t count; /* of members */
    pthread_barrier_t gate;
    atomic_bool running, over;
    struct crew_member {
        struct crew *crew;
        pthread_t thread;
        uint64_t turns; /* of the present block */
    } members[CREW_MOST];
};

/* What came out of a block. */
struct crew_block {
    double turns, seconds;
    double core_us; /* of a turn, all threads of the process together */
};

void crew_start(struct crew *crew, size_t count, crew_fn fn, void *arg);

/* All members work for so long, and end the turn that they are at. */
struct crew_block crew_block(struct crew *crew, uint64_t ns);

double crew_rate(const struct crew_block *block);

void crew_end(struct crew *crew);

#endif
