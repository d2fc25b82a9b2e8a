/*
 * diff_drops_change.c - a diff that keeps one change to itself. Must fail: the
 * harness that applies the changes has to see it.
 */
#include "test.h"

#include "diff_model.h"

TEST(diff_harness, does_not_see_that_a_change_was_dropped)
{
    struct diff_verdict verdict;
    size_t caught = 0;

    /* If the whole diff does not pass, this failure would prove nothing. */
    (void)diff_check_random(&verdict, 1, 50, false);
    if (!verdict.is_applied)
        return;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        (void)diff_check_random(&verdict, seed, 50, true);
        caught += !verdict.is_applied;
    }
    /* Every seed meets a pair that differs, so each has to be caught. */
    if (caught == 50)
        fail_msg("caught 50 of 50: %s", verdict.text);
}
