/*
 * store_power_loss.c - power is lost in front of and behind every sync: what
 * was acknowledged is there, and nothing is there by half.
 *
 * At scale 1 all, nothing, and some sectors of what was not synced is lost at
 * each of these points, and two of five other parts of it, in turn. From 10 on
 * each is tried, also behind every single write.
 */
#include "power_harness.h"

/* What met nothing shows nothing. */
static void check_met(const struct power_report *report)
{
    ASSERT(report->commits > 0);
    ASSERT(report->syncs >= report->commits / 2);
    ASSERT(report->points > 0);
    ASSERT(report->unsynced > 0);
    ASSERT(report->torn >= report->unsynced);
    ASSERT(report->conflicts > 0);
    ASSERT(report->refusals > 0);
    ASSERT(report->images.images > report->points);
    ASSERT(report->images.whole > 0);
    ASSERT(report->images.absent > 0);
}

TEST(power_loss, takes_nothing_that_was_acknowledged_and_leaves_nothing_half)
{
    struct power_report report;

    power_run(&report, POWER_WHOLE, test_scale() >= 10);
    power_print(&report);
    ASSERT_SIZE(0, image_mistakes(&report.images));
    check_met(&report);
    ASSERT(report.points >= 2 * report.syncs);
    ASSERT(report.unsynced >= report.commits);
}

TEST(power_loss, takes_nothing_while_the_store_is_opened_after_another_one)
{
    struct power_report report;

    power_run_twice(&report, test_scale() >= 10);
    power_print(&report);
    ASSERT_SIZE(0, image_mistakes(&report.images));
    check_met(&report);
    ASSERT(report.points > 40);
}
