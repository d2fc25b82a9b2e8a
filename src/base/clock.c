/*
 * clock.c - the only place that asks the system for the time.
 *
 * Everybody else takes a struct pdr__clock or a time as an argument, so a test
 * can play a year in a millisecond.
 */
#include <time.h>

#include "base.h"

static int64_t system_now_ticks(void *ctx)
{
    struct timespec now = {0, 0};

    (void)ctx;
    /* Cannot fail: the clock exists on every Linux and `now` is ours. */
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return PDR_TICKS_UNIX_EPOCH + (int64_t)now.tv_sec * PDR_TICKS_PER_SECOND +
           (int64_t)now.tv_nsec / 100;
}

static int64_t system_monotonic_ms(void *ctx)
{
    struct timespec now = {0, 0};

    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + (int64_t)now.tv_nsec / 1000000;
}

const struct pdr__clock *pdr__clock_system(void)
{
    static const struct pdr__clock clocks = {system_now_ticks,
                                             system_monotonic_ms, NULL};

    return &clocks;
}

int64_t pdr_now(void)
{
    return system_now_ticks(NULL);
}
