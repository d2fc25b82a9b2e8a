/*
 * Many processes at one SQLite store: everybody gets on, and the store holds
 * what each of them was told.
 */
#include "store_race.h"

#define LONGEST_US 1000000

static void check(const char *name, const struct race_result *result)
{
    race_result_print(name, result);
    ASSERT_SIZE(0, result->failures);
    ASSERT_SIZE(0, result->wrong);
    ASSERT(result->acknowledged > 0);
    ASSERT_SIZE(result->acknowledged, result->stored);
    ASSERT(result->longest_us > 0);
    ASSERT(result->longest_us <= LONGEST_US);
}

/* Who has appended rereads first, while the others are still being refused: if
 * it goes on at once it wins again, however fair the lock is. So there is no
 * share to ask for here. */
TEST(contention, on_one_session_without_a_pause_loses_nothing)
{
    struct race_plan plan = {
        .processes = 8, .threads = 4, .sessions = 1, .run_ms = 2000, .seed = 1};
    struct race_result result;

    store_race_append(&result, &plan);
    check("one session, no pause", &result);
    ASSERT(result.conflicts > 0);
}

TEST(contention, on_one_session_loses_nothing_and_starves_nobody)
{
    struct race_plan plan = {.processes = 8,
                             .threads = 4,
                             .sessions = 1,
                             .run_ms = 3000,
                             .pause_ms = 80,
                             .seed = 1};
    struct race_result result;

    store_race_append(&result, &plan);
    check("one session", &result);
    ASSERT(result.conflicts > 0);
    ASSERT(result.slowest * 2 >= result.fair);
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
    ASSERT(result.slowest * 2 >= result.fair);
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
