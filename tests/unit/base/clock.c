/* The clocks of the system, and the one for tests. */
#include "test.h"

#include <time.h>

#include "base.h"
#include "fake_clock.h"

TEST(clock_system, tells_utc_in_ticks_since_year_one)
{
    const struct pdr__clock *clock = pdr__clock_system();
    int64_t before = (int64_t)time(NULL);
    int64_t ticks = pdr__now_ticks(clock);
    int64_t after = (int64_t)time(NULL);
    int64_t unix_seconds =
        (ticks - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_SECOND;

    /* time() may lag by one tick of the coarse clock. */
    ASSERT(unix_seconds >= before && unix_seconds <= after + 1);
}

TEST(now, is_what_the_clock_of_the_system_tells)
{
    int64_t before = pdr__now_ticks(pdr__clock_system()), now = pdr_now();

    ASSERT(now >= before - PDR_TICKS_PER_SECOND * 3600);
    ASSERT(now <=
           pdr__now_ticks(pdr__clock_system()) + PDR_TICKS_PER_SECOND * 3600);
}

TEST(clock_system, has_a_monotonic_clock_that_never_goes_back)
{
    int64_t last = pdr__monotonic_ms(pdr__clock_system());

    for (int i = 0; i < 1000; i++) {
        int64_t now = pdr__monotonic_ms(pdr__clock_system());
        ASSERT(now >= last);
        last = now;
    }
    ASSERT(last > 0);
}

TEST(fake_clock, moves_only_when_told)
{
    struct fake_clock clock;

    fake_clock_init(&clock, PDR_TICKS_UNIX_EPOCH);
    ASSERT_INT(PDR_TICKS_UNIX_EPOCH, pdr__now_ticks(&clock.base));
    ASSERT_INT(0, pdr__monotonic_ms(&clock.base));
    fake_clock_advance_ms(&clock, 1500);
    ASSERT_INT(PDR_TICKS_UNIX_EPOCH + 15000000, pdr__now_ticks(&clock.base));
    ASSERT_INT(1500, pdr__monotonic_ms(&clock.base));
}
