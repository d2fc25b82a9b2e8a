/*
 * Three processes that carry out the operations of one store, and are killed,
 * stopped and continued: nothing is lost, doubled or forked.
 *
 * 600 operations and 24 disturbances at scale 1. Most of the time is spent in
 * waiting for leases to lapse.
 */
#include "durable_swarm.h"

#define LEASE_MS 1800 /* a process may stand still for two thirds of it */

TEST(takeover, loses_doubles_and_forks_nothing)
{
    size_t disturbances = test_times(24, 12);
    struct swarm_plan plan = {
        .sessions = (unsigned)test_times(200, 60),
        .operations = 3,
        .disturbances = (unsigned)(disturbances < 90 ? disturbances : 90),
        .seed = 20260};
    size_t kills = 0, stops = 0, taken_over = 0, lost = 0, fenced = 0;

    /* Few disturbances may meet no run; then others do. */
    for (int i = 0; i < 6 && (lost == 0 || fenced == 0); i++, plan.seed++) {
        struct swarm_result result;

        swarm_run(&result, &plan);
        swarm_result_print("takeover", &result);
        ASSERT_SIZE(0, result.missing);
        ASSERT_SIZE(0, result.doubled);
        ASSERT_SIZE(0, result.forked);
        ASSERT_SIZE(0, swarm_result_bad(&result));
        kills += result.kills;
        stops += result.stops;
        taken_over += result.taken_over;
        lost += result.lost;
        fenced += result.fenced;
    }
    ASSERT(kills > 0 && stops > 0 && taken_over > 0);
    /* One that wakes up cannot write. */
    ASSERT(lost > 0 && fenced > 0);
}

TEST(takeover, leaves_a_long_run_to_a_process_that_lives)
{
    static const uint32_t polls[] = {20, 2 * LEASE_MS};

    for (size_t i = 0; i < 2; i++) {
        struct swarm_result result;

        swarm_hold(&result, LEASE_MS, polls[i]);
        swarm_result_print("long run", &result);
        ASSERT_SIZE(0, swarm_result_bad(&result));
        ASSERT_SIZE(0, result.taken_over);
        ASSERT_SIZE(0, result.unknown);
    }
}
