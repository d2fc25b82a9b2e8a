/*
 * store_contention_variants.c - stores that lose, fork, let two hold a lease.
 * Must fail: the harness of many processes has to see each of them.
 */
#include "store_race.h"
#include "store_variants.h"

static const struct race_plan brief = {
    .processes = 4, .threads = 2, .sessions = 1, .run_ms = 700, .seed = 1};

static bool append_is_sound(enum store_variant variant)
{
    struct race_result result;

    store_variant_choose(variant);
    store_race_append(&result, &brief);
    race_result_print("appends", &result);
    return result.failures == 0 && result.wrong == 0 &&
           result.acknowledged > 0 && result.acknowledged == result.stored;
}

static bool lease_is_sound(enum store_variant variant)
{
    struct race_plan plan = brief;
    struct race_result result;

    plan.threads = 1;
    store_variant_choose(variant);
    store_race_lease(&result, &plan);
    race_result_print("leases", &result);
    return result.failures == 0 && result.wrong == 0 &&
           result.acknowledged > 0 && result.acknowledged == result.stored;
}

TEST(contention_harness, does_not_see_what_a_store_does_to_commits)
{
    int caught = 0;

    if (!append_is_sound(STORE_SOUND) || !lease_is_sound(STORE_SOUND))
        return; /* then a failure below would prove nothing */
    caught += !append_is_sound(STORE_DROPS);
    caught += !append_is_sound(STORE_IGNORES_REVISION);
    caught += !lease_is_sound(STORE_IGNORES_FENCE);
    if (caught > 0)
        fail_msg("caught %d of 3", caught);
}
