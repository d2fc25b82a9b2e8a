/*
 * store_forgets_rows.c - a store that shows a session and leaves rows of the
 * old one behind, or hides a session and keeps no head for its rows. Must fail:
 * the power-loss harness has to see rows that belong to nobody.
 *
 * The linker puts the function below in the place of SQLite's own.
 */
#include <sqlite3.h>

#include "power_harness.h"

enum { SOUND, FORGETS_ROWS, FORGETS_HEAD, MISTAKES };
static int mistake;
static bool replaces; /* this transaction shows a session over another one */
static bool hides;    /* and the head of that one has just gone */

int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);

static bool begins(const char *sql, const char *with)
{
    return sql != NULL && strncmp(sql, with, strlen(with)) == 0;
}

static void note(const char *sql)
{
    if (begins(sql, "BEGIN"))
        replaces = hides = false;
    if (begins(sql, "UPDATE parts SET session="))
        replaces = true;
    if (begins(sql, "DELETE FROM sessions"))
        hides = true;
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    const char *sql = sqlite3_sql(stmt);

    note(sql);
    if (mistake == FORGETS_ROWS && replaces &&
        begins(sql, "DELETE FROM log WHERE n IN"))
        return SQLITE_DONE;
    if (mistake == FORGETS_HEAD && hides && begins(sql, "REPLACE INTO unseen"))
        return SQLITE_DONE;
    return __real_sqlite3_step(stmt);
}

TEST(power_harness, does_not_see_that_rows_are_left_behind)
{
    struct power_report report;
    int caught = 0;

    /* If good code does not pass, this failure would prove nothing. */
    power_run(&report, POWER_WHOLE, false);
    if (image_mistakes(&report.images) > 0)
        return;
    for (int i = SOUND + 1; i < MISTAKES; i++) {
        mistake = i;
        power_run(&report, POWER_WHOLE, false);
        caught += report.images.damaged > 0;
    }
    if (caught > 0)
        fail_msg("caught %d of %d", caught, MISTAKES - 1);
}
