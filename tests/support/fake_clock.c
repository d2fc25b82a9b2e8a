#include "fake_clock.h"

static int64_t now_ticks(void *ctx)
{
    const struct fake_clock *clock = ctx;

    return clock->now_ticks;
}

static int64_t monotonic_ms(void *ctx)
{
    const struct fake_clock *clock = ctx;

    return clock->monotonic_ms;
}

void fake_clock_init(struct fake_clock *clock, int64_t now)
{
    clock->base = (struct pdr__clock){now_ticks, monotonic_ms, clock};
    clock->now_ticks = now;
    clock->monotonic_ms = 0;
}

void fake_clock_advance_ms(struct fake_clock *clock, int64_t ms)
{
    clock->now_ticks += ms * PDR_TICKS_PER_MS;
    clock->monotonic_ms += ms;
}
