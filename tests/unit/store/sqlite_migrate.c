/* Stores of an older version that are migrated, and those that are not. What
 * fails, dies or loses power on the way is in tests/integration. */
#include "sqlite_room.h"

#include <sys/stat.h>
#include <unistd.h>

#include "processes.h"
#include "store_work.h"

/* A true old file as "s.db". */
static void put_old(const struct room *room)
{
    size_t len = 0;
    char *bytes = test_read_data("store/version-1.db", &len);

    room_put(room, "s.db", pdr_str_n(bytes, len));
    free(bytes);
    ASSERT_INT(0, chmod(room_path(room, "s.db"), 0600));
}

static pdr_rc migrate(const struct room *room, const char *parameters,
                      pdr_migrate_report *report, pdr_err *err)
{
    return pdr_store_migrate(report, store_uri(room, "s.db", parameters), err);
}

static void check_refused(const struct room *room, const char *parameters,
                          const char *reason, const char *text)
{
    size_t before_len = 0, len = 0;
    char *before = room_get(room, "s.db", &before_len), *after = NULL;
    pdr_migrate_report report = {7, 7};
    pdr_err err = PDR_ERR_INIT;

    ASSERT(migrate(room, parameters, &report, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    assert_non_null(strstr(err.message, text));
    ASSERT_INT(7, report.from);
    after = room_get(room, "s.db", &len);
    ASSERT_BYTES(pdr_str_n(before, before_len), pdr_str_n(after, len));
    free(before);
    free(after);
}

/* Whoever may write the file may stand in the line for it. */
TEST(sqlite_migrate, makes_the_side_file_for_those_who_may_use_the_store)
{
    struct room room;
    struct stat side;

    room_enter(&room);
    put_old(&room);
    ASSERT_INT(0, chmod(room_path(&room, "s.db"), 0666));
    ASSERT_RC(PDR_OK, migrate(&room, "", NULL, NULL));
    ASSERT_INT(0, stat(room_path(&room, "s.db-lock"), &side));
    ASSERT_INT(0666, side.st_mode & 0777);
    room_leave(&room);
}

TEST(sqlite_migrate, brings_an_old_file_here_and_does_nothing_the_second_time)
{
    struct room room;
    pdr_migrate_report report;
    pdr_store *store = NULL;

    room_enter(&room);
    put_old(&room);
    ASSERT_RC(PDR_OK, migrate(&room, "?mode=rw", &report, NULL));
    ASSERT_INT(1, report.from);
    ASSERT_INT(3, report.to);
    ASSERT_INT(3, sql_int(&room, "SELECT schema FROM store"));
    ASSERT_INT(4096, sql_int(&room, "PRAGMA page_size"));
    ASSERT_INT(2, sql_int(&room, "PRAGMA auto_vacuum"));
    ASSERT_RC(PDR_OK, migrate(&room, "", &report, NULL));
    ASSERT_INT(3, report.from);
    ASSERT_INT(3, report.to);
    ASSERT_RC(PDR_OK, migrate(&room, "", NULL, NULL));
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "new", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_migrate, takes_along_what_a_dead_process_left_in_the_log)
{
    struct room room;
    pdr_migrate_report report;

    room_enter(&room);
    put_old(&room);
    sql_run(&room, "UPDATE store SET created=created;"); /* makes a log */
    ASSERT_RC(PDR_OK, migrate(&room, "", &report, NULL));
    ASSERT_INT(3, report.to);
    ASSERT_INT(0, unlink(room_path(&room, "s.db-wal")));
    ASSERT_INT(3, sql_int(&room, "SELECT schema FROM store"));
    room_leave(&room);
}

TEST(sqlite_migrate, refuses_what_it_must_not_touch)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    ASSERT_RC(PDR_ENOTFOUND, migrate(&room, "", NULL, &err));
    ASSERT_STR("no_store", err.reason);
    ASSERT(!room_has(&room, "s.db"));
    put_old(&room);
    check_refused(&room, "?mode=ro", "read_only", "leave mode=ro out");
    check_refused(&room, "?mode=x", "bad_uri", "mode is 'x'");
    room_put_c(&room, "s.db", "");
    check_refused(&room, "", "no_store", "there is nothing to migrate");
    room_put_c(&room, "s.db",
               "This is a text, and neither a database nor a "
               "store, but long enough to have a header of "
               "one if it were.");
    check_refused(&room, "", "not_a_store", "no database");
    ASSERT_INT(0, unlink(room_path(&room, "s.db")));
    room_put_c(&room, "s.db", "");
    sql_run(&room, "CREATE TABLE other(x)");
    check_refused(&room, "", "not_a_store", "no store of perdure");
    ASSERT_RC(PDR_EVERSION, pdr_store_migrate(NULL, "memory:", &err));
    ASSERT_STR("no_migration", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_store_migrate(NULL, "nothing:x", &err));
    room_leave(&room);
}

/* This is what an older library says of a file of today: it knows no version
 * but its own and those before. */
TEST(sqlite_migrate, refuses_a_version_that_is_newer_than_the_library)
{
    struct room room;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    sql_run(&room, "UPDATE store SET schema=4");
    check_refused(&room, "", "store_version",
                  "the store has version 4, this library reads up to 3; use a "
                  "newer perdure");
    room_leave(&room);
}

TEST(sqlite_migrate, refuses_a_damaged_file_and_leaves_it_as_it_was)
{
    static const char *const damages[] = {
        "UPDATE log SET body='{}' WHERE n=(SELECT max(n) FROM log)",
        "UPDATE sessions SET revision=revision+1",
        "DELETE FROM parts WHERE part=3",
        ("PRAGMA writable_schema=ON;DELETE FROM sqlite_schema WHERE "
         "name='log_by_key'"),
        "UPDATE store SET number=number+1",
    };

    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct room room;
        pdr_err err = PDR_ERR_INIT;
        size_t len = 0, before_len = 0;
        char *before = NULL, *after = NULL;

        room_enter(&room);
        put_old(&room);
        sql_run(&room, damages[i]);
        sql_run(&room, "PRAGMA wal_checkpoint(TRUNCATE)");
        before = room_get(&room, "s.db", &before_len);
        if (migrate(&room, "", NULL, &err) == PDR_OK)
            fail_msg("not seen: %s", damages[i]);
        ASSERT(err.code == PDR_ECORRUPT || err.code == PDR_EINVALID);
        after = room_get(&room, "s.db", &len);
        ASSERT_BYTES(pdr_str_n(before, before_len), pdr_str_n(after, len));
        free(before);
        free(after);
        room_leave(&room);
    }
}

/* --- others -------------------------------------------------------------- */

/* hold URI: open a store, say so by a file, wait to be killed. */
TEST_ROLE(hold)
{
    pdr_store *store = NULL;
    FILE *file = NULL;

    if (argc != 2 || pdr_store_open(&store, argv[0], NULL) != PDR_OK)
        return 1;
    file = fopen(argv[1], "w");
    if (file != NULL)
        fclose(file);
    pause();
    return 0;
}

TEST(sqlite_migrate, refuses_while_somebody_has_the_store_open)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[600], told[600];
    const char *args[] = {uri, told, NULL};
    pid_t other = 0;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_EBUSY, migrate(&room, "", NULL, &err));
    ASSERT_STR("store_locked", err.reason);
    assert_non_null(strstr(err.message, "close it everywhere"));
    pdr_store_close(store);
    snprintf(uri, sizeof(uri), "%s", store_uri(&room, "s.db", ""));
    snprintf(told, sizeof(told), "%s", room_path(&room, "told"));
    other = process_start("hold", args);
    while (!room_has(&room, "told"))
        sleep_us(1000);
    ASSERT_RC(PDR_EBUSY, migrate(&room, "", NULL, &err));
    ASSERT_STR("store_locked", err.reason);
    ASSERT(process_kill(other) == PROCESS_KILLED);
    ASSERT_RC(PDR_OK, migrate(&room, "", NULL, &err));
    room_leave(&room);
}

static void read_is_refused(pdr_store *reader, const pdr_query *query)
{
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EVERSION, pdr_store_read(&page, reader, query, &err));
    ASSERT_STR("store_version", err.reason);
    assert_non_null(strstr(err.message, "open it again"));
}

/* What only a store of today can hold: a session that nobody sees yet. */
static void stage_one(const struct room *room)
{
    pdr_property property = {.key = pdr_str_c("k"),
                             .value = pdr_str_c("1"),
                             .match = pdr_str_c("n:1")};
    pdr_stage stage = {.ref.id = pdr_str_c("staged"),
                       .until_ms = INT64_C(9000000000000)};
    const pdr_rows rows = {.properties = &property, .property_count = 1};
    const pdr_commit_options options = {.now_ms = 1000};
    pdr_store *store = store_open(room, "");

    ASSERT_RC(PDR_OK,
              pdr_stage_begin(NULL, store, &stage, &rows, &options, NULL));
    pdr_store_close(store);
}

/* Readers are not counted. One that had it open before knows only what the old
 * version had, and would take the rest for damage. */
TEST(sqlite_migrate, tells_a_reader_to_open_it_again)
{
    const pdr_query queries[] = {
        {.what = PDR_READ_ALL},
        {.what = PDR_READ_HEAD, .ref = {.id = pdr_str_n("staged", 6)}},
        {.what = PDR_READ_SESSIONS,
         .filter = {.property = pdr_str_n("k", 1),
                    .match = pdr_str_n("n:1", 3)}},
    };
    struct room room;
    pdr_store *reader = NULL;
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;
    char *before = NULL, *after = NULL;

    room_enter(&room);
    put_old(&room);
    reader = store_open(&room, "?mode=ro");
    before = work_text(reader, NULL);
    ASSERT_RC(PDR_OK, migrate(&room, "", NULL, &err));
    for (int staged = 0; staged < 2; staged++) {
        for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
            read_is_refused(reader, &queries[i]);
        ASSERT_RC(PDR_EVERSION, pdr_store_info_get(&info, reader, &err));
        ASSERT_RC(PDR_EVERSION,
                  pdr_store_verify(NULL, reader, NULL, &err, NULL, NULL));
        assert_non_null(strstr(err.message, "open it again"));
        stage_one(&room);
    }
    pdr_store_close(reader);
    reader = store_open(&room, "?mode=ro");
    after = work_text(reader, NULL);
    assert_non_null(after);
    ASSERT_STR(before, after);
    pdr_store_close(reader);
    free(before);
    free(after);
    room_leave(&room);
}

TEST_OOM(sqlite_migrate, cleans_up_after_any_failed_allocation)
{
    struct room room;
    pdr_migrate_report report = {0, 0};
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    put_old(&room);
    rc = migrate(&room, "", &report, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_INT(rc == PDR_OK ? 3 : 0, report.to);
    room_leave(&room);
}
