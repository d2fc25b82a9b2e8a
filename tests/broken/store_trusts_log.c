/*
 * store_trusts_log.c - a store that takes the log of a dead process as far as
 * SQLite does. Must fail: a bit in the middle takes the commits behind it away.
 *
 * The linker puts the function below in the place of the real one.
 */
#include "log_damage.h"
#include "sqlite/sqlite.h"

static bool trusts;

pdr_rc __real_pdr__claim(struct pdr__sqlite *store, pdr_err *err);
pdr_rc __wrap_pdr__claim(struct pdr__sqlite *store, pdr_err *err);

pdr_rc __wrap_pdr__claim(struct pdr__sqlite *store, pdr_err *err)
{
    return trusts ? PDR_OK : __real_pdr__claim(store, err);
}

TEST(log_harness, does_not_see_that_commits_are_gone)
{
    struct log_report report;

    damage_log_header(&report, "", LOG_NOTE_LEFT);
    if (report.lost > 0 || report.wrong > 0)
        return;
    trusts = true;
    damage_log_header(&report, "", LOG_NOTE_LEFT);
    if (report.lost > 0)
        fail_msg("caught: %zu of %zu bits took up to %zu commits away",
                 report.lost, report.tried, report.most);
}
