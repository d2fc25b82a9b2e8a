/*
 * row_damage.c - entries that were changed behind the back of a store.
 *
 * Each change is one statement on a fresh copy of the file. It leaves a good
 * file of SQLite, so nothing but the digests and the chain can see it.
 */
#include "row_damage.h"

#include <sqlite3.h>

#include "room.h"
#include "store_work.h"

#define TURNS 6

/* :k is the number of an entry that has one behind it. */
static const char *const changes[] = {
    "UPDATE log SET body = replace(body, 'text', 'next') WHERE key = :k",
    "UPDATE log SET kind = 1 - kind WHERE key = :k",
    "UPDATE log SET shape = shape + 1 WHERE key = :k",
    "UPDATE log SET created = created + 1 WHERE key = :k",
    "UPDATE log SET correlation_id = correlation_id || 'x' WHERE key = :k",
    "UPDATE log SET separator = ',' WHERE key = :k",
    "UPDATE log SET digest = randomblob(32) WHERE key = :k",
    /* Two that change places, each with its digest. */
    "UPDATE log SET (body, digest, kind, created, correlation_id) ="
    " (SELECT body, digest, kind, created, correlation_id FROM log AS other"
    "  WHERE other.key = 2 * :k + 1 - log.key)"
    " WHERE key IN (:k, :k + 1)",
    /* One that stands there twice, and so another one not at all. */
    "UPDATE log SET (body, digest, kind, created, correlation_id) ="
    " (SELECT body, digest, kind, created, correlation_id FROM log AS other"
    "  WHERE other.key = :k) WHERE key = :k + 1",
    "DELETE FROM log WHERE key = :k",
    "DELETE FROM log WHERE typeof(key) = 'integer' AND key > :k",
};

static void write_turns(const char *uri)
{
    pdr_store *store = NULL;
    pdr_commit_options options = {.now_ms = 1000};

    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    for (size_t i = 0; i < TURNS; i++) {
        char id[20], bodies[2][60];
        pdr_entry entries[2];
        pdr_edit edit = {.ref.id = pdr_str_c("a"), .revision = i};

        memset(entries, 0, sizeof(entries));
        snprintf(id, sizeof(id), "turn-%zu", i);
        for (size_t k = 0; k < 2; k++) {
            snprintf(bodies[k], sizeof(bodies[k]), "{\"text\":\"%zu of %zu\"}",
                     k, i);
            entries[k].kind = k == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
            entries[k].body = pdr_str_c(bodies[k]);
            entries[k].correlation_id = pdr_str_c(id);
        }
        edit.entries = entries;
        edit.entry_count = 2;
        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    }
    pdr_store_close(store);
}

/* True if it changed anything. The change stays in the log: the store copies it
 * from there, so pages have their sums, and the digests alone can tell. */
static bool change(const char *path, const char *sql, int k)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    bool changed = false;

    ASSERT_INT(SQLITE_OK, sqlite3_open(path, &db));
    ASSERT_INT(SQLITE_OK,
               sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                 (int *)NULL));
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    ASSERT_INT(SQLITE_OK, sqlite3_bind_int(stmt, 1, k));
    if (sqlite3_step(stmt) != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    changed = sqlite3_changes(db) > 0;
    sqlite3_finalize(stmt);
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
    return changed;
}

static void look(struct damage_report *out, const char *uri, const char *good,
                 const char *sql)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char *text = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    text = work_session_text(store, pdr_str_c("a"), &err);
    out->tried++;
    if (text == NULL) {
        ASSERT_RC(PDR_ECORRUPT, err.code);
        out->seen++;
    } else if (strcmp(text, good) != 0) {
        if (out->unseen++ == 0)
            snprintf(out->first, sizeof(out->first), "%s", sql);
    }
    out->missed +=
        pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL) != PDR_ECORRUPT;
    free(text);
    pdr_store_close(store);
}

/* The store in the folder, and what is in it. */
struct sample {
    struct room room;
    char path[600], uri[700];
    char *bytes, *good; /* owned */
    size_t len;
};

static void sample_make(struct sample *sample)
{
    pdr_store *store = NULL;

    work_room(&sample->room);
    snprintf(sample->path, sizeof(sample->path), "%s",
             room_path(&sample->room, "a.db"));
    snprintf(sample->uri, sizeof(sample->uri), "sqlite:%s", sample->path);
    write_turns(sample->uri);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, sample->uri, NULL));
    sample->good = work_session_text(store, pdr_str_c("a"), NULL);
    pdr_store_close(store);
    sample->bytes = room_get(&sample->room, "a.db", &sample->len);
    ASSERT(sample->good != NULL && sample->bytes != NULL);
}

void damage_entries(struct damage_report *out)
{
    struct sample sample;

    memset(out, 0, sizeof(*out));
    sample_make(&sample);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        for (int k = 1; k < 2 * TURNS; k++) {
            room_put(&sample.room, "a.db", pdr_str_n(sample.bytes, sample.len));
            if (!change(sample.path, changes[i], k))
                fail_msg("changed nothing: %s", changes[i]);
            look(out, sample.uri, sample.good, changes[i]);
        }
    }
    free(sample.bytes);
    free(sample.good);
    room_leave(&sample.room);
}
