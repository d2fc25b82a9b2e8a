/*
 * Many processes at one SQLite store: everybody gets on, and the store holds
 * what each of them was told.
 */
#include "store_race.h"

#define LONGEST_US 1000000

/* A sanitizer slows a process down by how much it looks at memory, not all
 * alike: shares and waits are told there, and asked for elsewhere. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASKS_FOR_SHARES 0
#else
#define ASKS_FOR_SHARES 1
#endif

static void check(const char *name, const struct race_result *result)
{
    race_result_print(name, result);
    ASSERT_SIZE(0, result->failures);
    ASSERT_SIZE(0, result->wrong);
    ASSERT(result->acknowledged > 0);
    ASSERT_SIZE(result->acknowledged, result->stored);
    ASSERT(result->longest_us > 0);
    ASSERT(!ASKS_FOR_SHARES || result->longest_us <= LONGEST_US);
}

/* The hard case: who has appended is the first to know the new revision. */
TEST(contention, on_one_session_loses_nothing_and_starves_nobody)
{
    struct race_plan plan = {
        .processes = 8, .threads = 4, .sessions = 1, .run_ms = 3000, .seed = 1};
    struct race_result result;

    store_race_append(&result, &plan);
    check("one session", &result);
    ASSERT(result.conflicts > 0);
    ASSERT(!ASKS_FOR_SHARES || result.slowest * 2 >= result.fair);
}

TEST(contention, on_100_sessions_loses_nothing_and_starves_nobody)
{
    struct race_plan plan = {.processes = 8,
                             .threads = 4,
                             .sessions = 100,
                             .run_ms = 3000,
                             .seed = 2};
    struct race_result result;

    store_race_append(&result, &plan);
    check("100 sessions", &result);
    ASSERT(result.conflicts > 0);
    ASSERT(!ASKS_FOR_SHARES || result.slowest * 2 >= result.fair);
}

TEST(contention, for_a_lease_has_one_holder_at_a_time)
{
    struct race_plan plan = {
        .processes = 8, .threads = 1, .sessions = 1, .run_ms = 2500, .seed = 3};
    struct race_result result;

    store_race_lease(&result, &plan);
    check("one lease", &result);
    ASSERT(result.taken > 0);
    ASSERT(result.busy > 0);
    ASSERT(result.fenced > 0);
}
