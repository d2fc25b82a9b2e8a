/*
 * store_migrates_by_half.c - a migration without a transaction. Must fail: the
 * harness that kills it and takes its power has to see half of it.
 *
 * The linker puts the function below in the place of the real one.
 */
#include <sqlite3.h>

#include "migrate_harness.h"

#define NAME "PERDURE_MIGRATES_BY_HALF"

int __real_sqlite3_exec(sqlite3 *db, const char *sql,
                        int (*fn)(void *, int, char **, char **), void *arg,
                        char **text);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql,
                        int (*fn)(void *, int, char **, char **), void *arg,
                        char **text);

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql,
                        int (*fn)(void *, int, char **, char **), void *arg,
                        char **text)
{
    if (getenv(NAME) != NULL &&
        (strcmp(sql, "BEGIN IMMEDIATE") == 0 || strcmp(sql, "COMMIT") == 0))
        return SQLITE_OK;
    return __real_sqlite3_exec(db, sql, fn, arg, text);
}

static size_t mistakes(void (*run)(struct migrate_harness *))
{
    struct migrate_harness harness;
    size_t count = 0;

    migrate_init(&harness, OLD_SAMPLE);
    run(&harness);
    migrate_print(&harness, "found");
    count = harness.mistakes;
    migrate_dispose(&harness);
    return count;
}

static void kill_some(struct migrate_harness *harness)
{
    migrate_kill(harness, 3);
}

static void lose_power(struct migrate_harness *harness)
{
    migrate_lose_power(harness, false);
}

TEST(migrate_harness, does_not_see_that_the_transaction_is_left_out)
{
    size_t killed = 0, lost = 0;

    /* If good code does not pass, this failure would prove nothing. */
    if (mistakes(kill_some) > 0 || mistakes(lose_power) > 0)
        return;
    (void)setenv(NAME, "1", 1);
    killed = mistakes(kill_some);
    lost = mistakes(lose_power);
    if (killed > 0 && lost > 0)
        fail_msg("caught: %zu times after a kill, %zu after power loss", killed,
                 lost);
}
