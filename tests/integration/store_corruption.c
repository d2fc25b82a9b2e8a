/*
 * store_corruption.c - bytes of a store, 2,000 at scale 1, changed one at a
 * time: what is read is what was acknowledged, or an error; and verify finds
 * each of them.
 */
#include "byte_damage.h"

TEST(changed_byte, is_never_read_as_if_it_were_good)
{
    size_t bytes = test_times(2000, 200);
    struct byte_report report;

    damage_bytes(&report, bytes, 0x9e3779b97f4a7c15);
    print_message("corruption: %zu bytes on %zu pages, %zu questions each; "
                  "opening refused %zu; answers: %zu same, %zu errors, %zu not "
                  "found, %zu wrong; verify missed %zu\n",
                  report.tried, report.pages, report.questions, report.refused,
                  report.same, report.failed, report.not_found, report.wrong,
                  report.missed);
    ASSERT_STR("", report.first);
    ASSERT_SIZE(bytes, report.tried);
    ASSERT(report.pages > 50);
    ASSERT(report.failed > 0 && report.same > 0);
    ASSERT_SIZE(0, report.wrong);
    ASSERT_SIZE(0, report.missed);
}
