/*
 * store_corruption.c - 2,000 bytes of a store, changed one at a time: what is
 * read is what was acknowledged, or an error; and verify finds each of them.
 */
#include "byte_damage.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BYTES 200u /* they are slow */
#else
#define BYTES 2000u
#endif

TEST(changed_byte, is_never_read_as_if_it_were_good)
{
    struct byte_report report;

    damage_bytes(&report, BYTES, 0x9e3779b97f4a7c15);
    print_message("corruption: %zu bytes on %zu pages, %zu questions each; "
                  "opening refused %zu; answers: %zu same, %zu errors, %zu not "
                  "found, %zu wrong; verify missed %zu\n",
                  report.tried, report.pages, report.questions, report.refused,
                  report.same, report.failed, report.not_found, report.wrong,
                  report.missed);
    ASSERT_STR("", report.first);
    ASSERT_SIZE(BYTES, report.tried);
    ASSERT(report.pages > 50);
    ASSERT(report.failed > 0 && report.same > 0);
    ASSERT_SIZE(0, report.wrong);
    ASSERT_SIZE(0, report.missed);
}
