/*
 * store_without_sync.c - a store below which syncs are swallowed. Must fail:
 * the power-loss harness has to see that acknowledged commits are gone.
 */
#include "power_harness.h"

TEST(power_harness, does_not_see_that_syncs_are_left_out)
{
    struct power_report report;

    /* If good code does not pass, this failure would prove nothing. */
    power_run(&report, POWER_WHOLE, false);
    if (image_mistakes(&report.images) > 0)
        return;
    power_run(&report, POWER_NO_SYNCS, false);
    if (report.images.lost > 0)
        fail_msg("caught: %zu of %zu images lack a commit", report.images.lost,
                 report.images.images);
}
