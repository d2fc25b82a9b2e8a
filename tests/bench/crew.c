/*
 * crew.c - threads that do the same work over and over, while a block lasts.
 */
#include "crew.h"

#include <time.h>

static void *member_run(void *arg)
{
    struct crew_member *member = arg;
    struct crew *crew = member->crew;
    size_t number = (size_t)(member - crew->members);

    for (;;) {
        pthread_barrier_wait(&crew->gate);
        if (atomic_load(&crew->over))
            return NULL;
        do { /* one turn at least */
            crew->fn(number, crew->arg);
            member->turns++;
        } while (atomic_load(&crew->running));
        pthread_barrier_wait(&crew->gate);
    }
}

void crew_start(struct crew *crew, size_t count, crew_fn fn, void *arg)
{
    crew->fn = fn;
    crew->arg = arg;
    crew->count = count;
    atomic_store(&crew->over, false);
    if (count > CREW_MOST ||
        pthread_barrier_init(&crew->gate, NULL, (unsigned)count + 1) != 0)
        bench_fail("cannot make a barrier for %zu threads", count);
    for (size_t i = 0; i < count; i++) {
        crew->members[i].crew = crew;
        if (pthread_create(&crew->members[i].thread, NULL, member_run,
                           &crew->members[i]) != 0)
            bench_fail("cannot start thread %zu", i);
    }
}

struct crew_block crew_block(struct crew *crew, uint64_t ns)
{
    const struct timespec rest = {(time_t)(ns / 1000000000u),
                                  (long)(ns % 1000000000u)};
    struct crew_block block = {0, 0, 0};

    for (size_t i = 0; i < crew->count; i++)
        crew->members[i].turns = 0;
    atomic_store(&crew->running, true);
    uint64_t core = bench_core_ns(), begin = bench_now_ns();
    pthread_barrier_wait(&crew->gate);
    (void)nanosleep(&rest, NULL);
    atomic_store(&crew->running, false);
    pthread_barrier_wait(&crew->gate);
    block.seconds = (double)(bench_now_ns() - begin) / 1e9;
    for (size_t i = 0; i < crew->count; i++)
        block.turns += (double)crew->members[i].turns;
    block.core_us = (double)(bench_core_ns() - core) / 1e3 / block.turns;
    return block;
}

double crew_rate(const struct crew_block *block)
{
    return block->turns / block->seconds;
}

void crew_end(struct crew *crew)
{
    atomic_store(&crew->over, true);
    pthread_barrier_wait(&crew->gate);
    for (size_t i = 0; i < crew->count; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_barrier_destroy(&crew->gate);
}
