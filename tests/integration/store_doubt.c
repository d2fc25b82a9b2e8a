/*
 * store_doubt.c - a sync of the log fails, and power is lost while somebody
 * opens the store again.
 */
#include "doubt_harness.h"

TEST(store_in_doubt, is_whole_if_power_is_lost_while_it_is_opened)
{
    struct doubt_report report;

    doubt_run(&report);
    print_message("in doubt: %zu points, %zu images: %zu with the commit, %zu "
                  "without, %zu bad: %s\n",
                  report.points, report.images, report.whole, report.absent,
                  report.bad, report.first);
    ASSERT_SIZE(0, report.bad);
    ASSERT(report.points > 5);
    ASSERT(report.whole > 0);
    ASSERT(report.absent > 0);
}
