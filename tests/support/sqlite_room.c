/* See sqlite_room.h. */
#include "sqlite_room.h"

#include <sqlite3.h>

const char *store_uri(const struct room *room, const char *name,
                      const char *parameters)
{
    static char uri[512];

    (void)snprintf(uri, sizeof(uri), "sqlite:%s%s", room_path(room, name),
                   parameters);
    return uri;
}

pdr_store *store_open(const struct room *room, const char *parameters)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc =
        pdr_store_open(&store, store_uri(room, "s.db", parameters), &err);

    if (rc != PDR_OK)
        print_error("%s\n", err.message);
    ASSERT_RC(PDR_OK, rc);
    return store;
}

pdr_edit edit_of(const char *id, uint64_t revision)
{
    pdr_edit edit;

    memset(&edit, 0, sizeof(edit));
    edit.ref.id = pdr_str_c(id);
    edit.revision = revision;
    return edit;
}

pdr_rc commit_one(pdr_store *store, const pdr_edit *edit, pdr_committed *out,
                  pdr_err *err)
{
    const pdr_commit_options options = {.now_ms = 1000, .timeout_ms = 5000};

    return pdr_store_commit(out, store, edit, 1, &options, err);
}

pdr_rc append_one(pdr_store *store, const char *id, uint64_t revision,
                  const char *correlation_id, const char *body, pdr_err *err)
{
    pdr_entry entry;
    pdr_edit edit = edit_of(id, revision);

    memset(&entry, 0, sizeof(entry));
    entry.created_ms = 1000;
    entry.correlation_id = pdr_str_c(correlation_id);
    entry.body = pdr_str_c(body);
    edit.entries = &entry;
    edit.entry_count = 1;
    return commit_one(store, &edit, NULL, err);
}

/* --- SQL ----------------------------------------------------------------- */

static sqlite3 *connect(const struct room *room)
{
    sqlite3 *db = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open_v2(room_path(room, "s.db"), &db,
                                          SQLITE_OPEN_READWRITE, NULL));
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    return db;
}

const char *sql_text(const struct room *room, const char *sql)
{
    static char text[4096];
    sqlite3 *db = connect(room);
    sqlite3_stmt *stmt = NULL;
    const char *found = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    ASSERT(stmt != NULL);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(stmt, 0);
    (void)snprintf(text, sizeof(text), "%s", found != NULL ? found : "(null)");
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return text;
}

int64_t sql_int(const struct room *room, const char *sql)
{
    return strtoll(sql_text(room, sql), NULL, 10);
}

void sql_run(const struct room *room, const char *sql)
{
    sqlite3 *db = connect(room);
    char *text = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
        print_error("%s: %s\n", sql, text);
        fail();
    }
    (void)sqlite3_close(db);
}
