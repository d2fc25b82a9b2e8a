/*
 * durable_ignores_fence.c - a store that lets in a worker whose lease somebody
 * else has. Must fail: the harness that stops processes has to see that a tool
 * is called twice.
 */
#include "durable_swarm.h"
#include "point_store.h"

#define TRIES 8

static bool is_seen(enum point_mistake mistake, uint64_t seed)
{
    const struct swarm_plan plan = {
        .sessions = 60, .operations = 3, .disturbances = 12, .seed = seed};
    struct swarm_result result;

    point_mistake_choose(mistake);
    swarm_run(&result, &plan);
    swarm_result_print("takeover", &result);
    return mistake != POINT_SOUND ? result.doubled > 0
                                  : swarm_result_bad(&result) > 0;
}

TEST(takeover_harness, does_not_see_that_a_fence_is_ignored)
{
    uint64_t seed = 1;

    if (is_seen(POINT_SOUND, seed))
        return; /* then a failure below would prove nothing */
    while (seed <= TRIES && !is_seen(POINT_IGNORES_FENCE, seed))
        seed++;
    if (seed <= TRIES)
        fail_msg("caught: tools were called twice");
}
