/*
 * fake_clock.h - a clock that stands still until a test moves it.
 */
#ifndef PDR_FAKE_CLOCK_H
#define PDR_FAKE_CLOCK_H

#include "base.h"

struct fake_clock {
    struct pdr__clock base; /* hand this to the code under test */
    int64_t now_ticks;
    int64_t monotonic_ms;
};

/* `now_ticks` is UTC; the monotonic clock begins at 0. `clock` must not move
 * in memory afterwards. */
void fake_clock_init(struct fake_clock *clock, int64_t now_ticks);

/* Move both clocks on. To set only one, write its field. */
void fake_clock_advance_ms(struct fake_clock *clock, int64_t ms);

#endif
