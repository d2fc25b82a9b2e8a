/*
 * store_kill_variants.c - stores that lose, halve, double or fork. Must fail:
 * the harness that kills writers has to see each of them.
 */
#include "store_kill.h"
#include "store_variants.h"

#define TRIES 40

static const struct kill_plan brief = {.kills = 24,
                                       .between = 12,
                                       .processes = 4,
                                       .threads = 2,
                                       .sessions = 3,
                                       .pause_ms = 150,
                                       .seed = 1};

/* One try may be lucky. `found` is what counts as seen. */
static bool is_caught(enum store_variant variant,
                      bool (*found)(const struct judgement *judgement))
{
    struct kill_plan plan = brief;
    struct kill_result result;
    bool is_found = false;

    store_variant_choose(variant);
    for (; !is_found && plan.seed <= TRIES; plan.seed++) {
        store_kill(&result, &plan);
        is_found = found(&result.judgement);
    }
    return is_found;
}

static bool lost(const struct judgement *judgement)
{
    return judgement->lost > 0;
}

static bool half(const struct judgement *judgement)
{
    return judgement->half > 0;
}

static bool doubled(const struct judgement *judgement)
{
    return judgement->doubled > 0;
}

static bool forked(const struct judgement *judgement)
{
    return judgement->forked > 0;
}

TEST(kill_harness, does_not_see_what_a_store_does_to_commits)
{
    struct kill_result result;
    int caught = 0;

    store_variant_choose(STORE_SOUND);
    store_kill(&result, &brief);
    if (kill_result_bad(&result) > 0)
        return; /* then a failure below would prove nothing */
    caught += is_caught(STORE_DROPS, lost);
    caught += is_caught(STORE_SPLITS, half);
    caught += is_caught(STORE_FORGETS, doubled);
    caught += is_caught(STORE_IGNORES_REVISION, forked);
    caught += is_caught(STORE_IGNORES_FENCE, forked);
    if (caught > 0)
        fail_msg("caught %d of 5", caught);
}
