/*
 * store_contention_variants.c - stores that lose, double and fork, or let two
 * hold a lease. Must fail: the harness of many processes has to see each of
 * them.
 */
#include "store_race.h"
#include "store_variants.h"

#define TRIES 4

static const struct race_plan brief = {
    .processes = 4, .threads = 2, .sessions = 1, .run_ms = 700, .seed = 1};

static struct race_result append_with(enum store_variant variant)
{
    struct race_result result;

    store_variant_choose(variant);
    store_race_append(&result, &brief);
    race_result_print("appends", &result);
    return result;
}

static struct race_result lease_with(enum store_variant variant)
{
    struct race_plan plan = brief;
    struct race_result result;

    plan.threads = 1;
    store_variant_choose(variant);
    store_race_lease(&result, &plan);
    race_result_print("leases", &result);
    return result;
}

static bool is_sound(struct race_result result)
{
    return result.failures == 0 && race_mistakes(&result) == 0 &&
           result.acknowledged > 0 && result.acknowledged == result.stored;
}

/* With as many as the real test has, for a shorter time. */
static bool share_is_fair(enum store_variant variant)
{
    struct race_plan plan = {.processes = 8,
                             .threads = 4,
                             .sessions = 100,
                             .run_ms = 1500,
                             .seed = 1};
    struct race_result result;

    store_variant_choose(variant);
    store_race_append(&result, &plan);
    race_result_print("shares", &result);
    return result.slowest * 2 >= result.fair && result.longest_us <= 1000000;
}

/* One try may be lucky. */
static bool is_share_caught(enum store_variant variant)
{
    int tries = 0;

    while (tries < TRIES && share_is_fair(variant))
        tries++;
    return tries < TRIES;
}

/* Nor does one that other programs disturbed count. */
static bool can_be_fair(enum store_variant variant)
{
    int tries = 0;

    while (tries < TRIES && !share_is_fair(variant))
        tries++;
    return tries < TRIES;
}

TEST(contention_harness, does_not_see_what_a_store_does_to_commits)
{
    int caught = 0;

    if (!is_sound(append_with(STORE_SOUND)) ||
        !is_sound(lease_with(STORE_SOUND)) || !can_be_fair(STORE_SOUND))
        return; /* then a failure below would prove nothing */
    caught += append_with(STORE_DROPS).lost > 0;
    caught += append_with(STORE_DOUBLES).doubled > 0;
    caught += append_with(STORE_IGNORES_REVISION).forked > 0;
    caught += lease_with(STORE_IGNORES_FENCE).forked > 0;
    caught += is_share_caught(STORE_LETS_PUSH);
    if (caught > 0)
        fail_msg("caught %d of 5", caught);
}
