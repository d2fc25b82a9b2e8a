/*
 * folder_takes_no_lock.c - writers that do not wait for each other. Must fail:
 * the race has to see that counts were lost.
 */
#include "folder_harness.h"

TEST(race_harness, does_not_see_that_writes_were_lost)
{
    size_t lost = 0;

    /* If good code does not pass, this failure would prove nothing. */
    if (folder_race_sets(false) > 0)
        return;
    lost = folder_race_sets(true);
    if (lost > 0)
        fail_msg("caught: %zu of %d writes were lost", lost,
                 RACERS * RACER_ROUNDS);
}
