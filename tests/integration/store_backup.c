/*
 * store_backup.c - a copy of a store is whole and of one moment, or there is
 * none: while processes write, when files fail, when it is killed, when power
 * is lost.
 */
#include "backup_harness.h"

static void finish(struct backup_harness *harness, const char *what)
{
    backup_print(harness, what);
    ASSERT_SIZE(0, harness->mistakes);
    ASSERT(harness->runs > 0 && harness->whole > 0);
    backup_dispose(harness);
}

TEST(backup, is_of_one_moment_while_processes_write)
{
    struct backup_harness harness;

    backup_moments(&harness, test_times(12, 2), backup_copy);
    ASSERT(harness.mistakes > 0 || harness.commits > 0);
    ASSERT(harness.mistakes > 0 || harness.steps > 0);
    ASSERT(harness.mistakes > 0 || harness.checkpoints > 0);
    finish(&harness, "beside writers");
}

TEST(backup, leaves_all_as_it_was_when_any_file_operation_fails)
{
    struct backup_harness harness;

    backup_init(&harness);
    backup_fail(&harness, test_every(23));
    ASSERT(harness.mistakes > 0 || harness.refused > 0);
    finish(&harness, "failing operations");
}

TEST(backup, leaves_all_as_it_was_when_it_is_killed)
{
    struct backup_harness harness;

    backup_init(&harness);
    backup_kill(&harness, test_every(19));
    ASSERT(harness.mistakes > 0 || harness.killed > 0);
    ASSERT(harness.mistakes > 0 || harness.left > 0);
    finish(&harness, "killed");
}

TEST(backup, is_on_the_disk_before_it_has_its_name)
{
    struct backup_harness harness;

    backup_init(&harness);
    backup_lose_power(&harness, false);
    finish(&harness, "power loss");
}
