/*
 * Many processes at one SQLite store: everybody gets on, and the store holds
 * what each of them was told. How long a commit waits says wait/commit of the
 * benchmarks.
 */
#include "store_race.h"

#define RUNS 3

static unsigned run_ms(size_t usual)
{
    return (unsigned)test_times(usual, 500);
}

static void check(const char *name, const struct race_result *result)
{
    race_result_print(name, result);
    ASSERT_SIZE(0, result->failures);
    ASSERT_SIZE(0, result->lost);
    ASSERT_SIZE(0, result->doubled);
    ASSERT_SIZE(0, result->forked);
    ASSERT_SIZE(0, result->wrong);
    ASSERT(result->acknowledged > 0);
    ASSERT_SIZE(result->acknowledged, result->stored);
    ASSERT(result->longest_us > 0);
}

/* What else the machine does at that moment takes its time from some of the
 * processes, not from all alike, and nobody here can tell that from a line that
 * is unfair. It does not last: so half of a fair share is asked for in the best
 * of some runs, while a store that starves somebody does so in each of them.
 * All else holds in every run. */
static void check_shares(const char *name, const struct race_plan *plan)
{
    /* A sanitizer slows a process down by how much it looks at memory, not all
     * alike: shares are shown there, and asked for elsewhere. */
    bool is_fair = TEST_SANITIZED;
    unsigned run = 0;

    do {
        struct race_result result;

        store_race_append(&result, plan);
        check(name, &result);
        ASSERT(result.conflicts > 0);
        is_fair = is_fair || result.slowest * 2 >= result.fair;
    } while (!is_fair && ++run < RUNS);
    ASSERT(is_fair);
}

/* The hard case: who has appended is the first to know the new revision. */
TEST(contention, on_one_session_loses_nothing_and_starves_nobody)
{
    struct race_plan plan = {.processes = 8,
                             .threads = 4,
                             .sessions = 1,
                             .run_ms = run_ms(3000),
                             .seed = 1};

    check_shares("one session", &plan);
}

TEST(contention, on_100_sessions_loses_nothing_and_starves_nobody)
{
    struct race_plan plan = {.processes = 8,
                             .threads = 4,
                             .sessions = 100,
                             .run_ms = run_ms(3000),
                             .seed = 2};

    check_shares("100 sessions", &plan);
}

TEST(contention, for_a_lease_has_one_holder_at_a_time)
{
    struct race_plan plan = {.processes = 8,
                             .threads = 1,
                             .sessions = 1,
                             .run_ms = run_ms(2500),
                             .seed = 3};
    struct race_result result;

    store_race_lease(&result, &plan);
    check("one lease", &result);
    ASSERT(result.taken > 0);
    ASSERT(result.busy > 0);
    ASSERT(result.fenced > 0);
}
