/*
 * store_unchecked_pages.c - a store that reads pages without a look at their
 * checksums. Must fail: some changed bytes are seen by nothing else.
 *
 * The linker puts the function below in the place of the real one.
 */
#include "byte_damage.h"

static bool unchecked;

bool __real_pdr__page_is_sound(const uint8_t *page, uint32_t number);
bool __wrap_pdr__page_is_sound(const uint8_t *page, uint32_t number);

bool __wrap_pdr__page_is_sound(const uint8_t *page, uint32_t number)
{
    return unchecked || __real_pdr__page_is_sound(page, number);
}

TEST(corruption_harness, does_not_see_that_pages_are_not_checked)
{
    struct byte_report report;

    damage_bytes(&report, 50, 1);
    if (report.wrong > 0 || report.missed > 0)
        return;
    unchecked = true;
    damage_bytes(&report, 300, 1);
    if (report.missed > 0)
        fail_msg("caught: verify missed %zu of %zu bytes", report.missed,
                 report.tried);
}
