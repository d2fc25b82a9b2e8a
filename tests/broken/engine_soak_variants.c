/*
 * engine_soak_variants.c - a process that loses memory in each run, and a store
 * that does not see that an operation is known. Must fail: the harness that
 * keeps an engine busy for long has to see both.
 */
#include <pthread.h>

#include "base.h"
#include "engine_soak.h"
#include "store_variants.h"

/* What was lost; found again in the end. */
struct lost {
    struct lost *next;
};

static struct lost *all_lost; /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lose(void)
{
    struct lost *one = pdr__calloc(1, sizeof(*one));

    if (one == NULL)
        abort();
    pthread_mutex_lock(&lock);
    one->next = all_lost;
    all_lost = one;
    pthread_mutex_unlock(&lock);
}

static struct soak_result soak_with(enum store_variant variant,
                                    void (*each)(void))
{
    const struct soak_plan plan = {
        .sessions = 200, .operations = 2000, .each = each};
    struct soak_result result;

    store_variant_choose(variant);
    soak_run(&result, &plan);
    soak_result_print(&result);
    while (all_lost != NULL) {
        struct lost *next = all_lost->next;

        pdr__free(all_lost);
        all_lost = next;
    }
    return result;
}

TEST(soak_harness, does_not_see_what_is_lost_or_done_again)
{
    struct soak_result result = soak_with(STORE_SOUND, NULL);
    int caught = 0;

    if (soak_result_bad(&result) > 0 || soak_has_grown(&result))
        return; /* then a failure below would prove nothing */
    result = soak_with(STORE_SOUND, lose);
    caught += soak_result_bad(&result) == 0 && soak_has_grown(&result);
    result = soak_with(STORE_FORGETS, NULL);
    caught += result.mistaken > 0 && result.doubled > 0 && result.forked > 0;
    if (caught > 0)
        fail_msg("caught %d of 2", caught);
}
