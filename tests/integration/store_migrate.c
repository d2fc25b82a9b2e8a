/*
 * store_migrate.c - stores of version 1 become stores of version 3, whatever
 * happens on the way.
 *
 * At scale 1 every file operation of the migration of a true old file fails,
 * and is the last of a killed process; of a larger store every 97th fails, and
 * its process is killed at random.
 */
#include "migrate_harness.h"

static void finish(struct migrate_harness *harness, const char *what)
{
    migrate_print(harness, what);
    ASSERT_SIZE(0, harness->mistakes);
    ASSERT(harness->runs > 0);
    migrate_dispose(harness);
}

TEST(migration, keeps_every_row_and_digest_of_an_old_file)
{
    static const enum old_store kinds[] = {OLD_SAMPLE, OLD_KEYED, OLD_GROWN};

    for (size_t i = 0; i < 3; i++) {
        struct migrate_harness harness;
        pdr_migrate_report report = {0, 0};
        const char *uri = NULL;

        migrate_init(&harness, kinds[i]);
        uri = migrate_uri(&harness, harness.room.path, "mode=rw");
        ASSERT_RC(PDR_OK, pdr_store_migrate(&report, uri, NULL));
        ASSERT_INT(1, report.from);
        ASSERT_INT(3, report.to);
        migrate_check(&harness, harness.room.path, 3, "migrated");
        finish(&harness, "migrated");
    }
}

TEST(migration, is_whole_when_any_file_operation_fails)
{
    struct migrate_harness harness;
    size_t step = test_every(1);

    migrate_init(&harness, OLD_SAMPLE);
    migrate_fail(&harness, step < 3 ? step : 3); /* few are behind the last */
    ASSERT(harness.old > 0 && harness.new > 0 && harness.refused > 0);
    finish(&harness, "failing operations");
    migrate_init(&harness, OLD_GROWN);
    migrate_fail(&harness, test_every(97));
    finish(&harness, "failing operations, larger");
}

TEST(migration, is_whole_when_it_is_killed_at_any_file_operation)
{
    struct migrate_harness harness;

    migrate_init(&harness, OLD_KEYED);
    migrate_kill(&harness, test_every(1));
    ASSERT(harness.old > 0 && harness.new > 0);
    finish(&harness, "killed");
}

TEST(migration, is_whole_when_it_is_killed_at_random)
{
    struct migrate_harness harness;

    migrate_init(&harness, OLD_GROWN);
    migrate_kill_at_random(&harness, test_times(30, 3));
    finish(&harness, "killed at random");
}

TEST(migration, is_whole_when_power_is_lost)
{
    struct migrate_harness harness;

    migrate_init(&harness, OLD_SAMPLE);
    migrate_lose_power(&harness, test_scale() >= 10);
    ASSERT(harness.old > 0 && harness.new > 0);
    finish(&harness, "power loss");
    migrate_init(&harness, OLD_GROWN);
    migrate_lose_power(&harness, false);
    finish(&harness, "power loss, larger");
}

/* What a sync did not bring to the disk, the system takes for written. */
TEST(migration, is_whole_when_it_is_repeated_after_a_sync_that_failed)
{
    struct migrate_harness harness;
    size_t nth = 1;

    migrate_init(&harness, OLD_GROWN);
    while (migrate_lose_power_again(&harness, nth))
        nth++;
    ASSERT(harness.refused > 1);
    finish(&harness, "power loss after a failed sync");
}
