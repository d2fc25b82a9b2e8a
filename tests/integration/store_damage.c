/*
 * store_damage.c - entries that somebody changed behind the back of the store
 * are never read as if they were good.
 */
#include "row_damage.h"

TEST(entry_damage, is_seen_by_reads_and_by_verify)
{
    struct damage_report report;

    damage_entries(&report);
    print_message("damage: %zu changes, %zu seen, %zu unseen, verify missed "
                  "%zu\n",
                  report.tried, report.seen, report.unseen, report.missed);
    ASSERT_STR("", report.first);
    ASSERT(report.tried > 100);
    ASSERT_SIZE(report.tried, report.seen);
    ASSERT_SIZE(0, report.missed);
}
