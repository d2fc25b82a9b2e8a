/* When the log goes into the main file, and when it is begun anew. */
#include "sqlite_room.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim_vfs.h"
#include "sqlite/file.h"
#include "sqlite/sqlite.h"

#define BODY ((size_t)4 * 1024 * 1024)

static struct pdr__sqlite *inside(pdr_store *store)
{
    return PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
}

/* Give session "a" one more entry of 4 MB, in the form of a number. */
static pdr_rc try_grow(pdr_store *store, uint64_t revision, pdr_err *err)
{
    static char body[BODY];
    pdr_entry entry;
    pdr_edit edit = edit_of("a", revision);

    memset(body, '1', sizeof(body));
    memset(&entry, 0, sizeof(entry));
    entry.body = pdr_str_n(body, sizeof(body));
    edit.entries = &entry;
    edit.entry_count = 1;
    return commit_one(store, &edit, NULL, err);
}

static void grow(pdr_store *store, uint64_t revision)
{
    ASSERT_RC(PDR_OK, try_grow(store, revision, NULL));
}

static uint64_t log_bytes(const struct room *room)
{
    return pdr__file_bytes(room_path(room, "s.db-wal"));
}

TEST(sqlite_checkpoint, begins_the_log_anew_when_it_is_long)
{
    struct room room;
    pdr_store *store = NULL;
    uint64_t most = 0;

    room_enter(&room);
    store = store_open(&room, "");
    for (uint64_t i = 0; i < 24; i++) {
        grow(store, i);
        most = log_bytes(&room) > most ? log_bytes(&room) : most;
    }
    ASSERT(most >= PDR_CHECKPOINT_BYTES);
    ASSERT(most < PDR_CHECKPOINT_BYTES + 3 * BODY);
    ASSERT(pdr__file_bytes(room_path(&room, "s.db")) > 16 * BODY);
    ASSERT(atomic_load(&inside(store)->writer.log_bytes) < most);
    pdr_store_close(store);
    ASSERT_INT(0, log_bytes(&room));
    ASSERT_INT(24, sql_int(&room, "SELECT count(*) FROM conversation"));
    room_leave(&room);
}

static pdr_page *last_page(pdr_store *store, pdr_str after)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref.id = pdr_str_c("a"),
                             .limit = 1,
                             .backwards = true,
                             .after = after};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    return page;
}

/* Whoever keeps a page, goes on behind it, or watches, keeps no snapshot. */
TEST(sqlite_checkpoint, is_held_up_by_no_reader_of_ours)
{
    struct room room;
    pdr_store *store = NULL, *reader = NULL;
    pdr_watch *watch = NULL;
    pdr_page *first = NULL, *page = NULL;
    uint64_t most = 0;

    room_enter(&room);
    store = store_open(&room, "");
    grow(store, 0);
    grow(store, 1);
    reader = store_open(&room, "?mode=ro");
    ASSERT_RC(PDR_OK, pdr_watch_open(&watch, reader, NULL, NULL));
    first = last_page(reader, pdr_str_n(NULL, 0));
    ASSERT(first->next.ptr != NULL);
    for (uint64_t i = 2; i < 26; i++) {
        grow(store, i);
        page = last_page(reader, first->next);
        ASSERT_INT(1, page->entries[0].seq);
        pdr_page_free(page);
        ASSERT_RC(PDR_OK, pdr_watch_wait(watch, 5000, NULL));
        most = log_bytes(&room) > most ? log_bytes(&room) : most;
    }
    ASSERT(most < PDR_LOG_BYTES);
    ASSERT(atomic_load(&inside(store)->writer.log_bytes) < most);
    pdr_page_free(first);
    pdr_watch_close(watch);
    pdr_store_close(reader);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_checkpoint, shrinks_a_log_that_a_reader_had_pinned)
{
    struct room room;
    pdr_store *store = NULL;
    sqlite3 *reader = NULL;
    uint64_t most = 0;

    room_enter(&room);
    store = store_open(&room, "");
    grow(store, 0);
    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&room, "s.db"), &reader));
    (void)sqlite3_db_config(reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sessions",
                            NULL, NULL, NULL));
    for (uint64_t i = 1; i < 20; i++)
        grow(store, i);
    most = log_bytes(&room);
    ASSERT(most > PDR_LOG_BYTES);
    ASSERT_INT(SQLITE_OK, sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL));
    for (uint64_t i = 20; i < 24; i++)
        grow(store, i);
    ASSERT(log_bytes(&room) <= PDR_CHECKPOINT_BYTES);
    (void)sqlite3_close(reader);
    pdr_store_close(store);
    room_leave(&room);
}

/* What is committed behind it would be gone with it, for whoever opens the
 * store next. */
TEST(sqlite_checkpoint, of_a_damaged_log_is_the_end_of_commits)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    uint64_t done = 3;
    char byte = 0;
    int fd = -1;

    room_enter(&room);
    store = store_open(&room, "");
    for (uint64_t i = 0; i < done; i++)
        grow(store, i);
    fd = open(room_path(&room, "s.db-wal"), O_RDWR | O_CLOEXEC);
    ASSERT(fd >= 0 && pread(fd, &byte, 1, 5000000) == 1);
    byte ^= 1;
    ASSERT(pwrite(fd, &byte, 1, 5000000) == 1);
    (void)close(fd);
    for (; done < 24 && rc == PDR_OK; done += rc == PDR_OK)
        rc = try_grow(store, done, &err);
    ASSERT_RC(PDR_ECORRUPT, rc);
    ASSERT_STR("store_damaged", err.reason);
    ASSERT(log_bytes(&room) < PDR_CHECKPOINT_BYTES + 2 * BODY);
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_sweep(NULL, store, 0, NULL)); /* nothing else, too */
    pdr_store_close(store);
    ASSERT(log_bytes(&room) >= PDR_CHECKPOINT_BYTES); /* as it was */
    room_leave(&room);
}

/* A vacuum copies the log, too. */
TEST(sqlite_checkpoint, of_a_vacuum_is_the_end_of_commits_if_the_log_is_damaged)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char byte = 0;
    int fd = -1;

    room_enter(&room);
    store = store_open(&room, "");
    for (uint64_t i = 0; i < 3; i++)
        grow(store, i);
    fd = open(room_path(&room, "s.db-wal"), O_RDWR | O_CLOEXEC);
    ASSERT(fd >= 0 && pread(fd, &byte, 1, 5000000) == 1);
    byte ^= 1;
    ASSERT(pwrite(fd, &byte, 1, 5000000) == 1);
    (void)close(fd);
    ASSERT_RC(PDR_ECORRUPT, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    ASSERT_RC(PDR_ECORRUPT, try_grow(store, 3, &err));
    ASSERT_STR("store_damaged", err.reason);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- names ------------------------------------------------------------------
 */

/* Another process finds the store under its new name, and a log beside it that
 * is not ours. Told to by a byte in the pipe. */
static int write_moved(const struct room *room, int end)
{
    pdr_store *store = NULL;
    char byte = 0;
    pdr_rc rc = PDR_OK;

    if (read(end, &byte, 1) != 1)
        return 1;
    rc = pdr_store_open(&store, room_path(room, "t.db"), NULL);
    for (uint64_t i = 0; i < 40 && rc == PDR_OK; i++)
        rc = append_one(store, "theirs", i, NULL, "{}", NULL);
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 2;
}

TEST(sqlite_checkpoint, leaves_a_file_alone_that_was_moved)
{
    struct room room;
    pdr_store *store = NULL;
    char from[600];
    int ends[2], status = 0;
    pid_t child = 0;

    room_enter(&room);
    ASSERT_INT(0, pipe(ends));
    child = fork();
    if (child == 0)
        _exit(write_moved(&room, ends[0]));
    store = store_open(&room, "");
    pdr_store_close(store);
    store = store_open(&room, "");
    for (uint64_t i = 0; i < 20; i++)
        ASSERT_RC(PDR_OK, append_one(store, "ours", i, NULL, "{}", NULL));
    (void)snprintf(from, sizeof(from), "%s", room_path(&room, "s.db"));
    ASSERT_INT(0, rename(from, room_path(&room, "t.db")));
    ASSERT(write(ends[1], "x", 1) == 1);
    ASSERT(waitpid(child, &status, 0) == child);
    ASSERT_INT(0, status);
    ASSERT_RC(PDR_EDENIED, append_one(store, "ours", 20, NULL, "{}", NULL));
    ASSERT_RC(PDR_EDENIED, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    pdr_store_close(store);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, room_path(&room, "t.db"), NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    (void)close(ends[0]);
    (void)close(ends[1]);
    room_leave(&room);
}

TEST(sqlite_checkpoint, may_fail_and_take_nothing_back)
{
    /* What fails is the end of a checkpoint: the size of the main file. */
    const struct shim_fault fault = {
        .op = SHIM_TRUNCATE, .nth = 1, .for_ever = true};
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    const uint64_t turns = PDR_CHECKPOINT_BYTES / BODY + 1;
    struct shim *shim = shim_new("checkpoint");
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "?vfs=checkpoint");
    shim_fail(shim, &fault);
    for (uint64_t i = 0; i < turns; i++)
        grow(store, i);
    ASSERT(shim_failed(shim) > 0);
    ASSERT(!atomic_load(&inside(store)->in_doubt));
    shim_fail(shim, &none);
    ASSERT_RC(PDR_OK, append_one(store, "b", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT_INT(turns + 1, sql_int(&room, "SELECT count(*) FROM conversation"));
    room_leave(&room);
    shim_free(shim);
}

/* What may be in doubt is put into the main file before anybody sees it, or
 * nobody sees it. */
TEST(sqlite_checkpoint, keeps_a_store_shut_that_cannot_be_made_safe)
{
    const struct shim_fault doubt = {.op = SHIM_SYNC, .nth = 1};
    const struct shim_fault fault = {
        .op = SHIM_SYNC, .nth = 1, .for_ever = true};
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    struct shim *shim = shim_new("shut");
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "?vfs=shut");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    shim_fail(shim, &doubt);
    ASSERT_RC(PDR_EUNKNOWN, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT(log_bytes(&room) > 0);
    shim_fail(shim, &fault);
    ASSERT_RC(
        PDR_EIO,
        pdr_store_open(&store, store_uri(&room, "s.db", "?vfs=shut"), &err));
    ASSERT_STR("file_failed", err.reason);
    shim_fail(shim, &none);
    store = store_open(&room, "?vfs=shut");
    ASSERT_INT(0, log_bytes(&room));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}
