/* Sessions that no reader sees, in a file of SQLite: how they stand there, how
 * they are cleared, and what damage does. */
#include "sqlite_room.h"
#include "store_step.h"

#include <sqlite3.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim_vfs.h"
#include "sqlite/sqlite.h"

#define UNTIL 5000

/* Milliseconds that go by whenever somebody looks at the clock. */
static atomic_long look_ms, ahead_ms;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    long ahead = atomic_fetch_add(&ahead_ms, atomic_load(&look_ms));

    now->tv_sec += ahead / 1000;
    now->tv_nsec += ahead % 1000 * 1000000;
    now->tv_sec += now->tv_nsec / 1000000000;
    now->tv_nsec %= 1000000000;
    return rc;
}

/* Show what is staged in the place of the revision. */
static pdr_rc show_stage(pdr_store *store, uint64_t epoch, uint64_t revision,
                         pdr_err *err)
{
    struct store_step step = step_of("s", PDR_STAGE_SHOW, epoch, UNTIL);

    step.show.revision = revision;
    return commit_step(NULL, store, &step, 1000, err);
}

/* A stage with rows in each table; gives its epoch. */
static uint64_t stage_rows(pdr_store *store, size_t entry_count)
{
    const pdr_slot slot = {.key = PDR_LIT("k"), .value = PDR_LIT("1")};
    const pdr_property property = {
        .key = PDR_LIT("p"), .value = PDR_LIT("1"), .match = PDR_LIT("n:1")};
    pdr_entry *entries = calloc(entry_count, sizeof(*entries));
    struct store_step step = step_of("s", PDR_STAGE_BEGIN, 0, UNTIL);
    pdr_committed done;

    assert_non_null(entries);
    for (size_t i = 0; i < entry_count; i++)
        entries[i].body = PDR_LIT("{}");
    step.rows = (pdr_rows){.entries = entries,
                           .entry_count = entry_count,
                           .slots = &slot,
                           .slot_count = 1,
                           .properties = &property,
                           .property_count = 1};
    ASSERT_RC(PDR_OK, commit_step(&done, store, &step, 1000, NULL));
    free(entries);
    return done.epoch;
}

static pdr_rc sweep(pdr_store *store, pdr_sweep_report *report, pdr_err *err)
{
    return pdr_store_sweep(report, store, UNTIL, err);
}

static void assert_damage(pdr_store *store, const char *text)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_verify(NULL, store, NULL, &err, NULL, NULL));
    if (strstr(err.message, text) == NULL)
        fail_msg("'%s' is not in: %s", text, err.message);
}

/* --- how they stand there ------------------------------------------------ */

TEST(sqlite_unseen, stands_in_a_table_of_its_own)
{
    struct room room;
    pdr_store *store = NULL;
    uint64_t epoch = 0;

    room_enter(&room);
    store = store_open(&room, "");
    epoch = stage_rows(store, 3);
    ASSERT_INT((int64_t)epoch, sql_int(&room, "SELECT no FROM unseen"));
    ASSERT_STR("unseen", sql_text(&room, "SELECT state FROM unseen"));
    ASSERT_INT(UNTIL, sql_int(&room, "SELECT lease_until FROM unseen"));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM sessions"));
    ASSERT_INT(3, sql_int(&room, "SELECT count(*) FROM log"));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM conversation"));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, show_stage(store, epoch, 0, NULL));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM unseen"));
    ASSERT_INT((int64_t)epoch, sql_int(&room, "SELECT no FROM sessions"));
    ASSERT_INT(3, sql_int(&room, "SELECT count(*) FROM conversation"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_unseen, leaves_no_row_of_the_session_that_it_replaces)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "s", 0, "c", "{}", NULL));
    ASSERT_RC(PDR_OK, show_stage(store, stage_rows(store, 2), 1, NULL));
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM log"));
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM sessions"));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM unseen"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- clearing ------------------------------------------------------------ */

TEST(sqlite_sweep, takes_a_long_session_in_steps)
{
    pdr_sweep_report report = {0, 0, 0};
    struct room room;
    pdr_store *store = NULL;
    bool more = false;

    room_enter(&room);
    store = store_open(&room, "");
    (void)stage_rows(store, 2100);
    ASSERT_RC(PDR_OK, store->ops->sweep(store, UNTIL, &report, &more, NULL));
    ASSERT(more && report.rows > 0 && report.rows <= PDR_SWEEP_ROWS);
    ASSERT_INT(1, sql_int(&room, "SELECT lease_until=-9223372036854775808"
                                 " FROM unseen"));
    ASSERT_INT(2102 - (int64_t)report.rows,
               sql_int(&room, "SELECT (SELECT count(*) FROM log)"
                              "+(SELECT count(*) FROM parts)"
                              "+(SELECT count(*) FROM properties)"));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, sweep(store, &report, NULL));
    ASSERT_SIZE(1, report.sessions);
    ASSERT_INT(0, sql_int(&room, "SELECT (SELECT count(*) FROM log)"
                                 "+(SELECT count(*) FROM parts)"
                                 "+(SELECT count(*) FROM properties)"
                                 "+(SELECT count(*) FROM unseen)"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_sweep, is_in_doubt_when_a_sync_fails)
{
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 1};
    struct shim *shim = shim_new("sweep");
    pdr_sweep_report report = {9, 9, 9};
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "?vfs=sweep");
    (void)stage_rows(store, 3);
    shim_fail(shim, &fault);
    ASSERT_RC(PDR_EUNKNOWN, sweep(store, &report, &err));
    ASSERT_STR("commit_unknown", err.reason);
    ASSERT(report.sessions == 0 && report.rows == 0);
    ASSERT_RC(PDR_EIO, sweep(store, NULL, &err));
    ASSERT_STR("in_doubt", err.reason);
    pdr_store_close(store);
    store = store_open(&room, "?vfs=sweep");
    ASSERT_RC(PDR_OK, sweep(store, NULL, NULL));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM unseen"));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* The commit is done, whatever becomes of the rows. */
TEST(sqlite_sweep, does_not_undo_the_removal_that_it_follows)
{
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 2};
    struct shim *shim = shim_new("after");
    pdr_work *rows = calloc(PDR_REMOVE_ROWS + 1, sizeof(*rows));
    struct room room;
    pdr_store *store = NULL;

    assert_non_null(rows);
    for (size_t i = 0; i <= PDR_REMOVE_ROWS; i++) {
        rows[i].kind = PDR_LIT("m");
        rows[i].body = PDR_LIT("1");
    }
    room_enter(&room);
    store = store_open(&room, "?vfs=after");
    pdr_edit edit = edit_of("s", 0);
    edit.journal = rows;
    edit.journal_count = PDR_REMOVE_ROWS + 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    edit = edit_of("s", 1);
    edit.remove = true;
    shim_fail(shim, &fault);
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    ASSERT_SIZE(1, shim_failed(shim));
    pdr_store_close(store);
    store = store_open(&room, "?vfs=after");
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM sessions"));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, sweep(store, NULL, NULL));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM parts"));
    free(rows);
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* Few rows may be large. The second sync is that of the first step. */
TEST(sqlite_sweep, takes_over_what_takes_long_to_remove)
{
    enum { ROWS = 400 };
    static pdr_entry entries[ROWS];
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 2};
    struct shim *shim = shim_new("slow");
    pdr_edit edit = edit_of("s", 0);
    struct room room;
    pdr_store *store = NULL;

    for (size_t i = 0; i < ROWS; i++)
        entries[i].body = PDR_LIT("{}");
    edit.entries = entries;
    edit.entry_count = ROWS;
    room_enter(&room);
    store = store_open(&room, "?vfs=slow");
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    edit = edit_of("s", 1);
    edit.remove = true;
    shim_fail(shim, &fault);
    atomic_store(&look_ms, 1);
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    atomic_store(&look_ms, 0);
    ASSERT_SIZE(1, shim_failed(shim));
    pdr_store_close(store);
    store = store_open(&room, "?vfs=slow");
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM sessions"));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, sweep(store, NULL, NULL));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM unseen"));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM log"));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* All sessions that a commit removes have one time together. The sync that
 * fails is the second one, so nobody has swept what the commit left. */
TEST(sqlite_sweep, takes_over_what_takes_long_since_there_are_many)
{
    enum { SESSIONS = 60, ROWS = 20 };
    static pdr_entry entries[ROWS];
    static pdr_edit edits[SESSIONS];
    static char ids[SESSIONS][8];
    const pdr_commit_options options = {.now_ms = 1000};
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 2};
    struct shim *shim = shim_new("many");
    struct room room;
    pdr_store *store = NULL;
    int64_t unseen = 0;

    for (size_t i = 0; i < ROWS; i++)
        entries[i].body = PDR_LIT("{}");
    for (size_t i = 0; i < SESSIONS; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "s%zu", i);
        edits[i] = edit_of(ids[i], 0);
        edits[i].entries = entries;
        edits[i].entry_count = ROWS;
    }
    room_enter(&room);
    store = store_open(&room, "?vfs=many");
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, store, edits, SESSIONS, &options, NULL));
    for (size_t i = 0; i < SESSIONS; i++) {
        edits[i] = edit_of(ids[i], 1);
        edits[i].remove = true;
    }
    shim_fail(shim, &fault);
    atomic_store(&look_ms, 1);
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, store, edits, SESSIONS, &options, NULL));
    atomic_store(&look_ms, 0);
    pdr_store_close(store);
    store = store_open(&room, "?vfs=many");
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM sessions"));
    unseen = sql_int(&room, "SELECT count(*) FROM unseen");
    ASSERT(unseen > SESSIONS / 2 && unseen < SESSIONS);
    ASSERT_RC(PDR_OK, sweep(store, NULL, NULL));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM log"));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* Rows of 1 MiB and more may go in a step: it looks at the clock before it has
 * taken many of them. */
TEST(sqlite_sweep, ends_a_step_that_takes_long)
{
    pdr_sweep_report report = {0, 0, 0};
    struct room room;
    pdr_store *store = NULL;
    bool more = false;

    room_enter(&room);
    store = store_open(&room, "");
    (void)stage_rows(store, 400);
    atomic_store(&look_ms, PDR_SWEEP_MS / 3);
    ASSERT_RC(PDR_OK, store->ops->sweep(store, UNTIL, &report, &more, NULL));
    atomic_store(&look_ms, 0);
    ASSERT(more);
    ASSERT(report.rows > 0 && report.rows <= 16);
    ASSERT_INT(402 - (int64_t)report.rows,
               sql_int(&room, "SELECT (SELECT count(*) FROM log)+(SELECT "
                              "count(*) FROM parts)+(SELECT count(*) FROM "
                              "properties)"));
    ASSERT_RC(PDR_OK, sweep(store, NULL, NULL));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM log"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_sweep, fails_when_the_disk_cannot_be_read)
{
    const struct shim_fault fault = {
        .op = SHIM_READ, .nth = 1, .for_ever = true};
    struct shim *shim = shim_new("dark");
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "?vfs=dark");
    (void)stage_rows(store, 3);
    pdr_store_close(store);
    store = store_open(&room, "?vfs=dark");
    shim_fail(shim, &fault);
    ASSERT(sweep(store, NULL, &err) != PDR_OK);
    shim_fail(shim, &(struct shim_fault){.nth = 0});
    ASSERT_RC(PDR_OK, sweep(store, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

TEST_OOM(sqlite_sweep, is_done_or_refused_when_memory_runs_out)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_sweep_report report = {0, 0, 0};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    room_enter(&room);
    store = store_open(&room, "");
    (void)stage_rows(store, 3);
    test_pause_failures(false);
    rc = sweep(store, &report, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    ASSERT_INT(rc == PDR_OK ? 0 : 1,
               sql_int(&room, "SELECT count(*) FROM unseen"));
    pdr_store_close(store);
    room_leave(&room);
    test_pause_failures(false);
}

TEST_OOM(sqlite_unseen, is_shown_or_not_when_memory_runs_out)
{
    struct room room;
    pdr_store *store = NULL;
    uint64_t epoch = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "s", 0, "c", "{}", NULL));
    epoch = stage_rows(store, 3);
    test_pause_failures(false);
    rc = show_stage(store, epoch, 1, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    ASSERT_INT(rc == PDR_OK ? 3 : 1,
               sql_int(&room, "SELECT count(*) FROM conversation"));
    pdr_store_close(store);
    room_leave(&room);
    test_pause_failures(false);
}

TEST_OOM(sqlite_cut, is_done_or_not_when_memory_runs_out)
{
    const pdr_completion drop = {.correlation_id = PDR_LIT("c"), .at_ms = 1000};
    struct room room;
    pdr_store *store = NULL;
    pdr_edit edit = edit_of("s", 2);
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "s", 0, "c", "{}", NULL));
    ASSERT_RC(PDR_OK, append_one(store, "s", 1, "d", "{}", NULL));
    edit.entries_through = 1;
    edit.drop = &drop;
    edit.drop_count = 1;
    test_pause_failures(false);
    rc = commit_one(store, &edit, NULL, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    ASSERT_INT(rc == PDR_OK ? 1 : 2,
               sql_int(&room, "SELECT count(*) FROM completions"));
    ASSERT_INT(rc == PDR_OK ? 1 : 2,
               sql_int(&room, "SELECT count(*) FROM conversation"));
    pdr_store_close(store);
    room_leave(&room);
    test_pause_failures(false);
}

/* --- damage -------------------------------------------------------------- */

TEST(sqlite_sweep, removes_nothing_under_a_damaged_head)
{
    static const struct {
        const char *sql, *reason;
    } cases[] = {
        {"UPDATE unseen SET changed=changed+1", "bad_digest"},
        {"UPDATE unseen SET no=1", "bad_digest"},
        {"UPDATE unseen SET tenant=NULL", "store_damaged"},
        {"INSERT INTO unseen SELECT * FROM sessions;"
         "DELETE FROM unseen WHERE state='unseen'",
         "store_damaged"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_err err = PDR_ERR_INIT;
        struct room room;
        pdr_store *store = NULL;

        room_enter(&room);
        store = store_open(&room, "");
        ASSERT_RC(PDR_OK, append_one(store, "a", 0, "c", "{}", NULL));
        (void)stage_rows(store, 3);
        sql_run(&room, cases[i].sql);
        ASSERT_RC(PDR_ECORRUPT, sweep(store, NULL, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_INT(5, sql_int(&room, "SELECT count(*) FROM log"));
        pdr_store_close(store);
        room_leave(&room);
    }
}

TEST(sqlite_verify, looks_at_heads_that_no_reader_sees)
{
    static const struct {
        const char *sql, *text;
    } cases[] = {
        {"UPDATE unseen SET changed=changed+1", "does not fit its digest"},
        {"UPDATE unseen SET kind=NULL", "is damaged"},
        {"UPDATE unseen SET has_frame=7", "is damaged"},
        {"UPDATE unseen SET no=99", "has a number that was not given yet"},
        {"DELETE FROM unseen", "belongs to a session that is not there"},
        {"UPDATE properties SET id='x'", "names another session than its own"},
        {"UPDATE log SET key=77 WHERE key=2", "is none of those that"},
        {"UPDATE parts SET part=4,key=''", "is none of those that"},
        {"UPDATE parts SET part=0,key=9", "is none of those that"},
        {"UPDATE parts SET part=1,key=9", "is none of those that"},
        {"UPDATE parts SET part=2,key=9", "is none of those that"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct room room;
        pdr_store *store = NULL;

        room_enter(&room);
        store = store_open(&room, "");
        (void)stage_rows(store, 3);
        ASSERT_RC(PDR_OK,
                  pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
        sql_run(&room, cases[i].sql);
        assert_damage(store, cases[i].text);
        pdr_store_close(store);
        room_leave(&room);
    }
}

TEST(sqlite_verify, finds_a_session_that_is_seen_and_unseen)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, "c", "{}", NULL));
    sql_run(&room, "INSERT INTO unseen SELECT * FROM sessions");
    assert_damage(store, "is one that no reader sees, too");
    sql_run(&room, "DELETE FROM sessions");
    assert_damage(store, "is one that readers may see");
    pdr_store_close(store);
    room_leave(&room);
}

/* A head that was put among the others by damage is not shown. */
TEST(sqlite_read, refuses_an_unseen_head_among_the_others)
{
    const pdr_query head = {.what = PDR_READ_HEAD, .ref.id = PDR_LIT("s")};
    const pdr_query all = {.what = PDR_READ_ALL};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    (void)stage_rows(store, 3);
    sql_run(&room, "INSERT INTO sessions SELECT * FROM unseen;"
                   "DELETE FROM unseen");
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, store, &head, &err));
    ASSERT_STR("wrong_index", err.reason);
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, store, &all, &err));
    ASSERT_STR("wrong_index", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, append_one(store, "s", 1, "c", "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_cut, refuses_to_build_on_missing_rows)
{
    static const struct {
        const char *sql, *reason;
    } cases[] = {
        {"DELETE FROM log WHERE key=2", "broken_chain"},
        {"UPDATE log SET digest=x'00' WHERE key=2", "broken_chain"},
        {"DELETE FROM log WHERE key=1", "wrong_count"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_err err = PDR_ERR_INIT;
        struct room room;
        pdr_store *store = NULL;
        pdr_edit edit = edit_of("s", 3);

        room_enter(&room);
        store = store_open(&room, "");
        for (uint64_t k = 0; k < 3; k++)
            ASSERT_RC(PDR_OK, append_one(store, "s", k, NULL, "{}", NULL));
        sql_run(&room, cases[i].sql);
        edit.entries_through = 2;
        ASSERT_RC(PDR_ECORRUPT, commit_one(store, &edit, NULL, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_INT(1, sql_int(&room, "SELECT first_seq FROM sessions"));
        pdr_store_close(store);
        room_leave(&room);
    }
}

TEST(sqlite_unseen, refuses_to_take_over_an_inbox_that_lacks_rows)
{
    const pdr_work row = {.kind = PDR_LIT("run"), .body = PDR_LIT("1")};
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_store *store = NULL;
    pdr_edit edit = edit_of("s", 0);
    uint64_t epoch = 0;

    room_enter(&room);
    store = store_open(&room, "");
    edit.inbox = &row;
    edit.inbox_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    epoch = stage_rows(store, 1);
    sql_run(&room, "DELETE FROM parts WHERE part=2");
    ASSERT_RC(PDR_ECORRUPT, show_stage(store, epoch, 1, &err));
    ASSERT_STR("wrong_count", err.reason);
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM unseen"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- searches ------------------------------------------------------------ */

/* What is cleared and cut is found by an index, however large the store is. */
TEST(sqlite_sweep, searches_and_does_not_scan)
{
    static const enum pdr__sqlite_sql all[] = {
        PDR_SQL_SWEEP_LOG, PDR_SQL_SWEEP_PARTS,  PDR_SQL_SWEEP_PROPERTIES,
        PDR_SQL_CUT_LOG,   PDR_SQL_MOVE_WAITING, PDR_SQL_GET_DIGEST};
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    const struct pdr__writer *writer =
        &PDR_CONTAINER_OF(store, struct pdr__sqlite, base)->writer;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char explain[1000];
        sqlite3_stmt *stmt = NULL;

        (void)snprintf(explain, sizeof(explain), "EXPLAIN QUERY PLAN %s",
                       sqlite3_sql(writer->stmt[all[i]]));
        ASSERT_INT(SQLITE_OK,
                   sqlite3_prepare_v2(writer->db, explain, -1, &stmt, NULL));
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *line = (const char *)sqlite3_column_text(stmt, 3);

            if (strncmp(line, "SCAN", 4) == 0)
                fail_msg("%s: %s", explain, line);
        }
        ASSERT_INT(SQLITE_OK, sqlite3_finalize(stmt));
    }
    pdr_store_close(store);
    room_leave(&room);
}
