/* Tables that are not exactly as the library makes them. */
#include "sqlite_room.h"

#include <unistd.h>

#include "sqlite/sqlite.h"

/* A store to which somebody did this; opening it must fail so. */
static void check_after(const char *sql, const char *reason)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_close(store);
    sql_run(&room, sql);
    ASSERT(pdr_store_open(&store, store_uri(&room, "s.db", ""), &err) !=
           PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT(store == NULL);
    ASSERT(pdr_store_open(&store, store_uri(&room, "s.db", "?mode=ro"), &err) !=
           PDR_OK);
    ASSERT_STR(reason, err.reason);
    room_leave(&room);
}

TEST(sqlite_schema, refuses_what_it_did_not_make)
{
    check_after("CREATE TABLE extra(x)", "not_a_store");
    check_after("CREATE INDEX extra ON log(created)", "not_a_store");
    check_after("CREATE VIEW extra AS SELECT 1", "not_a_store");
    check_after("CREATE TRIGGER extra AFTER INSERT ON log BEGIN DELETE FROM "
                "log; END",
                "not_a_store");
    check_after("ANALYZE", "not_a_store");
}

TEST(sqlite_schema, refuses_what_was_altered_or_is_missing)
{
    check_after("DROP VIEW conversation", "not_a_store");
    check_after("DROP INDEX log_by_key", "not_a_store");
    check_after("DROP INDEX log_by_key; CREATE INDEX log_by_key ON "
                "log(session)",
                "not_a_store");
    check_after("ALTER TABLE log ADD COLUMN more", "not_a_store");
    check_after("PRAGMA application_id=1", "not_a_store");
    check_after("PRAGMA application_id=0", "not_a_store");
}

TEST(sqlite_schema, refuses_a_newer_version_and_says_what_to_do)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    check_after("UPDATE store SET schema=4", "store_version");
    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_close(store);
    sql_run(&room, "UPDATE store SET schema=7; CREATE TABLE later(x)");
    ASSERT_RC(PDR_EVERSION,
              pdr_store_open(&store, store_uri(&room, "s.db", ""), &err));
    assert_non_null(strstr(err.message,
                           "s.db': the store has version 7, this library reads "
                           "up to 3; use a newer perdure"));
    room_leave(&room);
}

/* The table of version 2 under a row that says 1, and the other way round. */
TEST(sqlite_schema, knows_what_each_version_has)
{
    check_after("UPDATE store SET schema=1", "not_a_store");
    check_after("DROP TABLE unseen", "not_a_store");
    check_after("DROP TABLE unseen;UPDATE store SET schema=1", "not_a_store");
    check_after("UPDATE store SET schema=2", "not_a_store");
    check_after("ALTER TABLE store DROP COLUMN generation;"
                "ALTER TABLE store DROP COLUMN id;"
                "UPDATE store SET schema=2",
                "bad_digest");
    check_after("ALTER TABLE unseen ADD COLUMN more", "not_a_store");
}

TEST(sqlite_schema, refuses_a_damaged_row_of_the_store)
{
    check_after("UPDATE store SET schema=0", "store_damaged");
    check_after("DELETE FROM store", "store_damaged");
    check_after("UPDATE store SET digest='text'", "store_damaged");
    check_after("UPDATE store SET digest=x'00'", "store_damaged");
    check_after("UPDATE store SET keyed=1,key_check=NULL", "store_damaged");
    check_after("UPDATE store SET number=number+1", "bad_digest");
    check_after("UPDATE store SET created=0", "bad_digest");
    check_after("UPDATE store SET id=zeroblob(16)", "bad_digest");
    check_after("UPDATE store SET id=zeroblob(15)", "store_damaged");
    check_after("UPDATE store SET generation=generation+1", "bad_digest");
}

/* Through our VFS, which leaves pages with their sums. */
TEST(sqlite_schema, goes_back_to_the_log_if_somebody_turned_it_off)
{
    struct room room;
    pdr_store *store = NULL;
    struct pdr__vfs vfs;
    sqlite3 *db = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_close(store);
    ASSERT_RC(PDR_OK, pdr__vfs_open(&vfs, NULL, NULL));
    ASSERT_INT(SQLITE_OK, sqlite3_open_v2(room_path(&room, "s.db"), &db,
                                          SQLITE_OPEN_READWRITE, vfs.name));
    ASSERT_INT(SQLITE_OK, sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL,
                                       NULL, NULL));
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
    pdr__vfs_close(&vfs);
    ASSERT_STR("delete", sql_text(&room, "PRAGMA journal_mode"));
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_STR("wal", sql_text(&room, "PRAGMA journal_mode"));
    pdr_store_close(store);
    room_leave(&room);
}

/* Pages without their sums are damage, whoever wrote them. */
TEST(sqlite_schema, does_not_take_what_another_program_wrote_into_the_file)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    sql_run(&room, "PRAGMA journal_mode=DELETE");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_open(&store, store_uri(&room, "s.db", ""), &err));
    ASSERT_STR("store_damaged", err.reason);
    ASSERT(strstr(err.message, "page 1 of 's.db' is not as it was written") !=
           NULL);
    room_leave(&room);
}

/* Everything a person sees with the sqlite3 tool is text or a number. */
TEST(sqlite_schema, shows_no_blobs_but_digests)
{
    struct room room;
    pdr_store *store = NULL;
    char columns[2048];

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, "c", "{\"t\":\"x\"}", NULL));
    ASSERT_STR("text integer text text text",
               sql_text(&room, "SELECT typeof(id)||' '||typeof(seq)||' '||"
                               "typeof(kind)||' '||typeof(created)||' '||"
                               "typeof(body) FROM conversation"));
    snprintf(columns, sizeof(columns), "%s",
             sql_text(&room, "SELECT group_concat(name||type||pk) FROM "
                             "pragma_table_info('sessions')"));
    ASSERT_STR("blob 32", sql_text(&room, "SELECT typeof(digest)||' '||"
                                          "length(digest) FROM log"));
    ASSERT_INT(4096, sql_int(&room, "PRAGMA page_size"));
    ASSERT_INT(2, sql_int(&room, "PRAGMA auto_vacuum"));
    ASSERT_STR(sql_text(&room, "SELECT group_concat(name||type||pk) FROM "
                               "pragma_table_info('unseen')"),
               columns);
    ASSERT_INT(0x50647253, sql_int(&room, "PRAGMA application_id"));
    pdr_store_close(store);
    room_leave(&room);
}
