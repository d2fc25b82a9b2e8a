/*
 * store_syncs_no_note.c - a store that empties its WAL before the note that
 * says so is on the disk. Must fail: after a power loss an older note accuses a
 * store that has all of it.
 */
#include "power_harness.h"
#include "side_file.h"

TEST(power_harness, does_not_see_that_a_note_is_not_synced)
{
    struct power_report report;

    power_run(&report, POWER_WHOLE, false);
    if (image_mistakes(&report.images) > 0)
        return;
    side_file_unsynced = true;
    power_run(&report, POWER_WHOLE, false);
    if (image_mistakes(&report.images) > 0)
        fail_msg("caught: %zu of %zu images, the first: %s",
                 image_mistakes(&report.images), report.images.images,
                 report.images.first);
}
