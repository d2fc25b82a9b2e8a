/* When the log goes into the main file, and when it is begun anew. */
#include "sqlite_room.h"

#include <sqlite3.h>

#include "shim_vfs.h"
#include "sqlite/file.h"
#include "sqlite/sqlite.h"

#define BODY ((size_t)4 * 1024 * 1024)

static struct pdr__sqlite *inside(pdr_store *store)
{
    return PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
}

/* Give session "a" one more entry of 4 MB, in the form of a number. */
static void grow(pdr_store *store, uint64_t revision)
{
    static char body[BODY];
    pdr_entry entry;
    pdr_edit edit = edit_of("a", revision);

    memset(body, '1', sizeof(body));
    memset(&entry, 0, sizeof(entry));
    entry.body = pdr_str_n(body, sizeof(body));
    edit.entries = &entry;
    edit.entry_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
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
