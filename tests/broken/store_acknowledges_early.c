/*
 * store_acknowledges_early.c - a store that says "done" before it commits. Must
 * fail: the power-loss harness has to see that acknowledged commits are gone.
 *
 * The linker puts the functions below in the place of the real ones: COMMIT
 * waits until the next transaction begins or the store is closed, and a
 * ROLLBACK of what the store takes for leftovers does nothing.
 */
#include <sqlite3.h>

#include "power_harness.h"

static bool early;
static sqlite3_stmt *held; /* a COMMIT that waits */

int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);
void __real_pdr_store_close(pdr_store *store);
void __wrap_pdr_store_close(pdr_store *store);

static void let_go(void)
{
    sqlite3_stmt *stmt = held;

    held = NULL;
    if (stmt == NULL)
        return;
    (void)__real_sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    const char *sql = sqlite3_sql(stmt);

    /* Of a writer: a reader that cannot end is closed. */
    if (early && sql != NULL && sqlite3_strnicmp(sql, "COMMIT", 6) == 0 &&
        sqlite3_txn_state(sqlite3_db_handle(stmt), "main") ==
            SQLITE_TXN_WRITE) {
        held = stmt;
        return SQLITE_DONE;
    }
    if (held != NULL && sql != NULL &&
        sqlite3_strnicmp(sql, "ROLLBACK", 8) == 0)
        return SQLITE_DONE;
    if (sql != NULL && sqlite3_strnicmp(sql, "BEGIN", 5) == 0)
        let_go();
    return __real_sqlite3_step(stmt);
}

void __wrap_pdr_store_close(pdr_store *store)
{
    let_go();
    __real_pdr_store_close(store);
}

TEST(power_harness, does_not_see_that_commits_are_acknowledged_early)
{
    struct power_report report;

    power_run(&report, POWER_WHOLE, false);
    if (image_mistakes(&report.images) > 0)
        return;
    early = true;
    power_run(&report, POWER_WHOLE, false);
    if (report.images.lost > 0)
        fail_msg("caught: %zu of %zu images lack a commit", report.images.lost,
                 report.images.images);
}
