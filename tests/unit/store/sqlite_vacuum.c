/* Giving room back, step by step. How much comes back, and what happens when it
 * is killed, is in tests/integration. */
#include "sqlite_room.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "processes.h"
#include "sqlite/sqlite.h"

#define BODY 1500

/* `count` sessions of this name, each with `entries` entries of `bytes`, in
 * turns. */
static void write_sessions(pdr_store *store, const char *name, size_t count,
                           size_t entries, size_t bytes)
{
    char *body = malloc(bytes + 1), id[64];

    ASSERT(body != NULL);
    memset(body, 'x', bytes);
    body[0] = body[bytes - 1] = '"';
    body[bytes] = '\0';
    for (size_t n = 0; n < entries; n++)
        for (size_t i = 0; i < count; i++) {
            snprintf(id, sizeof(id), "%s %zu", name, i);
            ASSERT_RC(PDR_OK, append_one(store, id, n, NULL, body, NULL));
        }
    free(body);
}

static void remove_sessions(pdr_store *store, const char *name, size_t count,
                            size_t entries, size_t step)
{
    for (size_t i = 0; i < count; i += step) {
        char id[64];
        pdr_edit edit;

        snprintf(id, sizeof(id), "%s %zu", name, i);
        edit = edit_of(id, entries);
        edit.remove = true;
        ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    }
}

static uint64_t file_bytes(const struct room *room)
{
    struct stat file;

    ASSERT_INT(0, stat(room_path(room, "s.db"), &file));
    return (uint64_t)file.st_size;
}

static void check_whole(pdr_store *store)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
}

TEST(sqlite_vacuum, tells_what_it_gave_back)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_vacuum_report report;
    pdr_store_info info;

    room_enter(&room);
    store = store_open(&room, "");
    write_sessions(store, "a", 100, 6, BODY);
    pdr_store_close(store);
    store = store_open(&room, "");
    remove_sessions(store, "a", 100, 6, 2);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT(info.free_bytes > 0 && info.free_bytes < info.file_bytes / 2);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, store, NULL, NULL, NULL));
    ASSERT_SIZE(info.file_bytes, report.before_bytes);
    ASSERT_SIZE(file_bytes(&room), report.after_bytes);
    ASSERT(report.after_bytes * 100 < report.before_bytes * 65);
    ASSERT_SIZE(0, report.free_bytes);
    ASSERT(report.steps > 2);
    ASSERT(report.longest_us > 0);
    check_whole(store);
    /* There is nothing left to give. */
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, store, NULL, NULL, NULL));
    ASSERT_SIZE(report.before_bytes, report.after_bytes);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_vacuum, leaves_an_empty_and_a_dense_store_as_they_are)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_vacuum_report report;
    int64_t last = 0;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, store, NULL, NULL, NULL));
    ASSERT_SIZE(0, report.free_bytes);
    ASSERT_SIZE(file_bytes(&room), report.after_bytes);
    write_sessions(store, "a", 40, 6, BODY);
    remove_sessions(store, "a", 40, 6, 10);
    last = sql_int(&room, "SELECT max(n) FROM log");
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, store, NULL, NULL, NULL));
    ASSERT_SIZE(0, report.free_bytes);
    ASSERT_INT(last, sql_int(&room, "SELECT max(n) FROM log"));
    check_whole(store);
    pdr_store_close(store);
    room_leave(&room);
}

/* A row with pages of its own is not worth the copy. */
TEST(sqlite_vacuum, leaves_large_rows_in_their_place)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    write_sessions(store, "large", 1, 3, 20000);
    write_sessions(store, "a", 40, 6, 500);
    remove_sessions(store, "a", 40, 6, 1);
    write_sessions(store, "b", 40, 6, 500);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    ASSERT_INT(6, sql_int(&room, "SELECT sum(l.n) FROM log l JOIN sessions s "
                                 "ON s.no=l.session WHERE s.id='large 0'"));
    check_whole(store);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- who calls ----------------------------------------------------------- */

struct caller {
    pdr_store *store;
    size_t calls;
    size_t ends_at;
};

static pdr_rc between(void *arg, const pdr_vacuum_report *report, pdr_err *err)
{
    struct caller *caller = arg;
    char id[32];

    (void)err;
    caller->calls++;
    ASSERT_SIZE(caller->calls, report->steps);
    snprintf(id, sizeof(id), "%zu of %zu", caller->calls, caller->ends_at);
    ASSERT_RC(PDR_OK, append_one(caller->store, id, 0, NULL, "{}", NULL));
    return caller->calls == caller->ends_at ? PDR_ELIMIT : PDR_OK;
}

TEST(sqlite_vacuum, calls_between_two_steps_and_stops_when_told)
{
    struct room room;
    struct caller caller = {NULL, 0, 2};
    pdr_vacuum_report report;

    room_enter(&room);
    caller.store = store_open(&room, "");
    write_sessions(caller.store, "a", 60, 6, BODY);
    remove_sessions(caller.store, "a", 60, 6, 2);
    ASSERT_RC(PDR_ELIMIT,
              pdr_store_vacuum(&report, caller.store, NULL, between, &caller));
    ASSERT_SIZE(2, caller.calls);
    ASSERT_SIZE(2, report.steps);
    check_whole(caller.store);
    caller.ends_at = caller.calls = 0;
    ASSERT_RC(PDR_OK,
              pdr_store_vacuum(&report, caller.store, NULL, between, &caller));
    ASSERT_SIZE(caller.calls + 1, report.steps);
    check_whole(caller.store);
    pdr_store_close(caller.store);
    room_leave(&room);
}

TEST(sqlite_vacuum, is_refused_where_nothing_can_be_written)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_vacuum_report report;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    store = store_open(&room, "?mode=ro");
    ASSERT_RC(PDR_EDENIED, pdr_store_vacuum(&report, store, &err, NULL, NULL));
    ASSERT_STR("read_only", err.reason);
    ASSERT_SIZE(0, report.steps);
    pdr_store_close(store);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_EUNSUPPORTED,
              pdr_store_vacuum(&report, store, &err, NULL, NULL));
    ASSERT_STR("no_vacuum", err.reason);
    pdr_store_close(store);
    room_leave(&room);
}

/* A reader keeps the file from becoming shorter, and the report says so. */
TEST(sqlite_vacuum, waits_for_readers_and_goes_without_them_in_the_end)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_vacuum_report report;
    sqlite3 *reader = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    write_sessions(store, "a", 60, 6, BODY);
    pdr_store_close(store);
    store = store_open(&room, "");
    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&room, "s.db"), &reader));
    ASSERT_INT(SQLITE_OK, sqlite3_exec(reader, "BEGIN;SELECT count(*) FROM log",
                                       NULL, NULL, NULL));
    remove_sessions(store, "a", 60, 6, 2);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, store, NULL, NULL, NULL));
    ASSERT(report.after_bytes >= report.before_bytes);
    ASSERT_INT(SQLITE_OK, sqlite3_close(reader));
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, store, NULL, NULL, NULL));
    ASSERT(report.after_bytes < report.before_bytes * 7 / 10);
    check_whole(store);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_vacuum, is_busy_while_another_handle_keeps_the_lock)
{
    struct room room;
    pdr_store *store = NULL;
    struct pdr__line line = PDR_LINE_INIT;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK,
              pdr__line_open(&line, room_path(&room, "s.db-lock"), NULL));
    ASSERT(pdr__line_try(&line));
    ASSERT_RC(PDR_EBUSY, pdr_store_vacuum(NULL, store, &err, NULL, NULL));
    ASSERT_STR("writer_busy", err.reason);
    pdr__line_close(&line);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, &err, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- commits ------------------------------------------------------------- */

static struct pdr__sparse *sparse_of(pdr_store *store)
{
    return &PDR_CONTAINER_OF(store, struct pdr__sqlite, base)->writer.sparse;
}

/* `each` rows are removed from `count` stretches, far from all others, and it
 * is undone: what was noted stays. */
static void note_stretches(pdr_store *store, size_t first, size_t count,
                           size_t each)
{
    struct pdr__sqlite *self =
        PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
    char sql[400];

    snprintf(sql, sizeof(sql),
             "BEGIN;"
             "WITH RECURSIVE c(i) AS (SELECT %zu UNION ALL SELECT i+1 FROM c"
             " WHERE i<%zu),d(j) AS (SELECT 0 UNION ALL SELECT j+1 FROM d"
             " WHERE j<%zu) INSERT INTO log(n)"
             " SELECT (1000000+i)*%d+j FROM c,d;"
             "DELETE FROM log WHERE n>=%d;ROLLBACK",
             first, first + count - 1, each - 1, PDR_STRETCH,
             1000000 * PDR_STRETCH);
    ASSERT_INT(SQLITE_OK, sqlite3_exec(self->writer.db, sql, NULL, NULL, NULL));
}

/* Rows whose neighbours this process removed are moved together when the file
 * would grow, and not before; however many it removed before. */
static void use_again(size_t noted)
{
    struct room room;
    pdr_store *store = NULL;
    uint64_t bytes = 0;
    int64_t kept = 0;

    room_enter(&room);
    store = store_open(&room, "");
    write_sessions(store, "a", 200, 8, BODY);
    pdr_store_close(store);
    bytes = file_bytes(&room);
    store = store_open(&room, "");
    if (noted > 0)
        note_stretches(store, 0, noted, 1);
    remove_sessions(store, "a", 200, 8, 2);
    kept = sql_int(&room, "SELECT min(n) FROM log");
    write_sessions(store, "b", 100, 8, BODY);
    ASSERT(kept < sql_int(&room, "SELECT min(n) FROM log"));
    check_whole(store);
    pdr_store_close(store);
    ASSERT(file_bytes(&room) * 100 < bytes * 115);
    room_leave(&room);
}

TEST(sqlite_sparse, is_used_again_when_the_file_would_grow)
{
    use_again(0);
}

TEST(sqlite_sparse, is_used_again_when_more_was_removed_than_can_be_noted)
{
    use_again(PDR_SPARSE_NOTES / 2 + 1);
}

/* What waits to be moved is not forgotten for what comes behind it. */
TEST(sqlite_sparse, notes_no_more_than_it_can_while_work_is_open)
{
    struct room room;
    pdr_store *store = NULL;
    const struct pdr__sparse *sparse = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    sparse = sparse_of(store);
    note_stretches(store, 0, 1, PDR_STRETCH);
    ASSERT(sparse->open);
    note_stretches(store, 1, PDR_SPARSE_NOTES / 2 - 1, 1);
    ASSERT_SIZE(PDR_SPARSE_NOTES / 2, sparse->count);
    note_stretches(store, PDR_SPARSE_NOTES, 10, PDR_STRETCH);
    ASSERT_SIZE(PDR_SPARSE_NOTES / 2, sparse->count);
    ASSERT(sparse->open);
    /* A commit finds that there is nothing, and the next ones are noted. */
    for (size_t i = 0; i < 100 && sparse->open; i++)
        ASSERT_RC(PDR_OK, append_one(store, "a", i, NULL, "{}", NULL));
    ASSERT(!sparse->open);
    note_stretches(store, PDR_SPARSE_NOTES, 10, PDR_STRETCH);
    ASSERT_SIZE(10, sparse->count);
    ASSERT(sparse->open);
    pdr_store_close(store);
    room_leave(&room);
}

/* It looks at all of them. */
TEST(sqlite_vacuum, forgets_what_was_noted)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    note_stretches(store, 0, 10, PDR_STRETCH);
    ASSERT_SIZE(10, sparse_of(store)->count);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    ASSERT_SIZE(0, sparse_of(store)->count);
    ASSERT(!sparse_of(store)->open);
    pdr_store_close(store);
    room_leave(&room);
}

TEST_OOM(sqlite_vacuum, cleans_up_after_any_failed_allocation)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_edit edit = edit_of("a", 1);
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    rc = pdr_store_open(&store, store_uri(&room, "s.db", ""), NULL);
    if (rc == PDR_OK)
        rc = append_one(store, "a", 0, NULL, "{}", NULL);
    edit.remove = true;
    if (rc == PDR_OK)
        rc = commit_one(store, &edit, NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_store_vacuum(NULL, store, NULL, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_store_close(store);
    room_leave(&room);
}
