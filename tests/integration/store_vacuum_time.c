/*
 * store_vacuum_time.c - a vacuum holds the writer lock for 100 ms at most in
 * each of its steps, also in the first one, which copies a log of nearly 48 MB
 * that commits have left.
 *
 * It runs alone. A machine that does something else at the same time counts
 * that in, so the best of some tries counts.
 */
#include "space_harness.h"

#define SESSIONS   600
#define TURNS      10
#define LOG_BYTES  (UINT64_C(44) * 1024 * 1024)
#define LONGEST_US 100000
#define TRIES      4

/* A sanitizer slows SQLite's own code and ours down by different factors. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASKS_FOR_TIME 0
#else
#define ASKS_FOR_TIME 1
#endif

static uint64_t try_vacuum(void)
{
    struct space space;
    pdr_vacuum_report report;
    uint64_t log = 0;

    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, SPACE_ANY);
    log = space_fill_log(&space, LOG_BYTES);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, space.store, NULL, NULL, NULL));
    print_message("a log of %.1f MB, %llu steps, the lock was held for %llu us "
                  "at most\n",
                  (double)log / 1e6, (unsigned long long)report.steps,
                  (unsigned long long)report.longest_us);
    ASSERT(report.steps > 10);
    space_check(&space, SESSIONS, SPACE_ANY);
    space_dispose(&space);
    return report.longest_us;
}

TEST(vacuum, holds_the_lock_for_100_ms_at_most_behind_a_long_log)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; i < TRIES && best > LONGEST_US; i++) {
        uint64_t longest = try_vacuum();

        best = longest < best ? longest : best;
    }
    ASSERT(!ASKS_FOR_TIME || best <= LONGEST_US);
}
