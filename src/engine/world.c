/*
 * world.c - time and threads of the system.
 *
 * The engine asks for both through a table, so that a simulation can play them
 * from a seed. Waiting goes by the monotonic clock: a clock that is set while
 * somebody waits only makes the wait a little longer or shorter.
 */
#include <signal.h>

#include "engine.h"

#define LONGEST_WAIT_MS 60000 /* then look at the clock again */

static int64_t system_now(void *ctx)
{
    (void)ctx;
    return (pdr__now_ticks(pdr__clock_system()) - PDR_TICKS_UNIX_EPOCH) /
           PDR_TICKS_PER_MS;
}

static void system_wait(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                        int64_t until_ms)
{
    int64_t now_ms = system_now(ctx), left_ms = LONGEST_WAIT_MS, at_ms = 0;
    struct timespec end;

    if (until_ms <= now_ms)
        return;
    if (until_ms - now_ms < LONGEST_WAIT_MS)
        left_ms = until_ms - now_ms;
    at_ms = pdr__monotonic_ms(pdr__clock_system()) + left_ms + 1;
    end.tv_sec = at_ms / 1000;
    end.tv_nsec = (long)(at_ms % 1000) * 1000000;
    (void)pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &end);
}

static void system_wake(void *ctx, pthread_cond_t *cond)
{
    (void)ctx;
    (void)pthread_cond_broadcast(cond);
}

static void system_wake_one(void *ctx, pthread_cond_t *cond)
{
    (void)ctx;
    (void)pthread_cond_signal(cond);
}

/* Signals are the program's: a thread of ours gets none. */
static bool system_start(void *ctx, pthread_t *out, void *(*fn)(void *),
                         void *arg)
{
    sigset_t all, before;
    int code = 0;

    (void)ctx;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(out, NULL, fn, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

static void system_join(void *ctx, pthread_t thread)
{
    (void)ctx;
    (void)pthread_join(thread, NULL);
}

const struct pdr__world *pdr__world_system(void)
{
    static const struct pdr__world world = {.now_ms = system_now,
                                            .wait = system_wait,
                                            .wake = system_wake,
                                            .start = system_start,
                                            .join = system_join,
                                            .wake_one = system_wake_one};

    return &world;
}
