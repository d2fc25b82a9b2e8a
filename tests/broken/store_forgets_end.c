/*
 * store_forgets_end.c - a store that takes no note of how far its log was
 * synced. Must fail: damage in the last commit takes it away.
 *
 * The linker puts the function below in the place of the real one.
 */
#include "log_damage.h"
#include "sqlite/sqlite.h"

static bool forgets;

void __real_pdr__line_read_note(struct pdr__note *out, const char *path);
void __wrap_pdr__line_read_note(struct pdr__note *out, const char *path);

void __wrap_pdr__line_read_note(struct pdr__note *out, const char *path)
{
    if (forgets)
        memset(out, 0, sizeof(*out));
    else
        __real_pdr__line_read_note(out, path);
}

TEST(log_harness, does_not_see_that_the_last_commit_is_gone)
{
    struct log_report report;

    damage_frames(&report, "", LOG_NOTE_LEFT);
    if (report.refused < report.tried)
        return;
    forgets = true;
    damage_frames(&report, "", LOG_NOTE_LEFT);
    if (report.last_lost > 0)
        fail_msg("caught: %zu of %zu bits took the last commit away",
                 report.last_lost, report.tried);
}
