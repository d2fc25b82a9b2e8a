/*
 * open.c - from a URI to a store and back.
 *
 *     URI ──► path, mode, key, vfs, sums
 *         ──► a file that may hold a store (file.c)
 *         ──► writer lock ──► is the log whole (left.c)? ──► connection
 *                         ──► ours? or empty: make it
 *                         ──► what lies in the log goes into the main file
 *                         ──► be counted ──► give the lock back
 *
 * INVARIANTS, cited below as I1..I6
 *   I1  Nothing is written to a file before it is known to be ours or empty,
 *       and nothing stays beside one that is not.
 *   I2  Who opens first finds in the log what the last process could not
 *       acknowledge. It is copied into the main file, and synced there, before
 *       anybody reads it: so nothing is ever seen that a power loss undoes.
 *   I3  Who closes last empties the log, so that the file stands alone. After a
 *       commit that ended unknown that is left to the next who opens (I2).
 *   I4  Read only means that nothing is written, not even a lock: readers are
 *       not counted, and do not keep the last writer from emptying the log.
 *   I5  A log that nobody has open is looked at before SQLite is: it would pass
 *       over what stands behind a damaged frame, and remove a log whose file
 *       is empty.
 *   I6  While others have the store open, a commit that ended unknown is not to
 *       be seen, and yet stands in the log, where the next one would overwrite
 *       it. Who opens the store looks whether it is there, so what is found has
 *       to last: a commit that changes nothing ends it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "target.h"

/* Memory for pages. The writer's holds a group and the pages that a turn of
 * each busy session needs again; readers get by with less. */
#define WRITER_CACHE "PRAGMA cache_size=-16384"
#define READER_CACHE "PRAGMA cache_size=-2048"

/* Milliseconds that the first who opens a store waits for those who read a log
 * that a process left behind. Readers of ours take a few. */
#define READERS_MS 2000

/* The URI, taken apart. */
struct request {
    struct pdr__uri uri;
    char *mode, *key, *vfs, *sums, *secure; /* owned; NULL: not given */
    struct pdr__wish *wish;                 /* of the caller */
};

/* --- connections --------------------------------------------------------- */

static pdr_rc run(sqlite3 *db, const char *sql, pdr_err *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK
               ? PDR_OK
               : pdr__sqlite_fail(err, db, code, "opening the store");
}

/* Version 1 has no such table: to those who read it, it is empty. */
#define NONE_UNSEEN "CREATE TEMP TABLE unseen(" PDR_SQLITE_HEAD_COLUMNS ")"

/* Does SQLite look at the size of each cell of a page that it reads? Where
 * pages have sums these say more, and a reader, who carries nothing on into
 * other pages, saves a twentieth of a list. */
static const char *cell_check(const struct pdr__sqlite *store, bool read_only)
{
    bool has_sums = store->schema >= 2 && !store->without_sums;

    return read_only && has_sums ? "PRAGMA cell_size_check=OFF"
                                 : "PRAGMA cell_size_check=ON";
}

static pdr_rc configure(const struct pdr__sqlite *store, sqlite3 *db,
                        bool read_only, pdr_err *err)
{
    static const struct {
        int option;
        int value;
    } options[] = {
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    static const char pragmas[] = "PRAGMA synchronous=FULL;"
                                  "PRAGMA wal_autocheckpoint=0;"
                                  "PRAGMA mmap_size=0;"
                                  "PRAGMA temp_store=MEMORY;"
                                  "PRAGMA automatic_index=OFF;";
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < PDR_COUNT(options); i++)
        (void)sqlite3_db_config(db, options[i].option, options[i].value,
                                (int *)NULL);
    (void)sqlite3_busy_timeout(db, (int)PDR_COMMIT_TIMEOUT_MS);
    rc = run(db, pragmas, err);
    if (rc == PDR_OK)
        rc = run(db,
                 store->keeps_deleted ? "PRAGMA secure_delete=OFF"
                                      : "PRAGMA secure_delete=ON",
                 err);
    if (rc == PDR_OK)
        rc = run(db, cell_check(store, read_only), err);
    if (rc == PDR_OK)
        rc = run(db, read_only ? READER_CACHE : WRITER_CACHE, err);
    if (rc == PDR_OK && read_only && store->schema == 1)
        rc = run(db, NONE_UNSEEN, err);
    if (rc == PDR_OK && read_only)
        rc = run(db, "PRAGMA query_only=ON", err);
    return rc;
}

/* "file:PATH?immutable=1", with what a URI escapes. */
static char *immutable_uri(const char *path)
{
    static const char hex[] = "0123456789ABCDEF",
                      front[] = "file:", back[] = "?immutable=1";
    size_t bytes = 0;
    char *uri = NULL, *at = NULL;

    if (!pdr__mul_size(&bytes, strlen(path), 3) ||
        !pdr__add_size(&bytes, bytes, sizeof(front) + sizeof(back)))
        return NULL;
    uri = pdr__alloc(bytes);
    if (uri == NULL)
        return NULL;
    memcpy(uri, front, sizeof(front));
    at = uri + sizeof(front) - 1;
    for (; *path != '\0'; path++) {
        unsigned char c = (unsigned char)*path;

        if (c > ' ' && c < 0x7F && strchr("%?#&", c) == NULL) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = hex[c >> 4];
        *at++ = hex[c & 15];
    }
    memcpy(at, back, sizeof(back));
    return uri;
}

pdr_rc pdr__sqlite_connect(sqlite3 **out, const struct pdr__sqlite *store,
                           bool read_only, pdr_err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
    char *uri = NULL;
    sqlite3 *db = NULL;
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    flags |= read_only ? SQLITE_OPEN_READONLY
                       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (store->alone) {
        flags |= SQLITE_OPEN_URI;
        uri = immutable_uri(store->path);
        if (uri == NULL)
            return pdr__nomem(err);
    }
    code = sqlite3_open_v2(uri != NULL ? uri : store->path, &db, flags,
                           store->vfs.name);
    pdr__free(uri);
    rc = code == SQLITE_OK
             ? configure(store, db, read_only, err)
             : pdr__sqlite_fail(err, db, code, "opening the store");
    if (rc == PDR_OK)
        *out = db;
    else
        (void)sqlite3_close(db);
    return rc;
}

/* --- the writer ---------------------------------------------------------- */

static pdr_rc prepare(struct pdr__writer *writer, pdr_err *err)
{
    static const char *const texts[] = {
#define X(name, text) text,
#include "sql.h"
#undef X
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        int code = sqlite3_prepare_v3(writer->db, texts[i], -1,
                                      SQLITE_PREPARE_PERSISTENT,
                                      &writer->stmt[i], NULL);

        if (code != SQLITE_OK)
            return pdr__sqlite_fail(err, writer->db, code, "opening the store");
    }
    return PDR_OK;
}

void pdr__writer_close(struct pdr__writer *writer)
{
    for (size_t i = 0; i < PDR_SQL_COUNT; i++)
        (void)sqlite3_finalize(writer->stmt[i]);
    (void)sqlite3_close(writer->db);
    pdr__arena_dispose(&writer->memory);
    pdr__sparse_dispose(&writer->sparse);
    writer->db = NULL;
}

/* Is the file in the mode that all of this rests on? */
static pdr_rc check_log_mode(sqlite3 *db, pdr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int code =
        sqlite3_prepare_v2(db, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);
    const char *mode = NULL;
    pdr_rc rc = PDR_OK;

    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        mode = (const char *)sqlite3_column_text(stmt, 0);
    if (code != SQLITE_ROW)
        rc = pdr__sqlite_fail(err, db, code, "opening the store");
    else if (mode == NULL || strcmp(mode, "wal") != 0)
        rc = PDR_FAIL(err, FILE_FAILED, "%s",
                      "the file system has no shared memory for the log; put "
                      "the store on a local disk");
    (void)sqlite3_finalize(stmt);
    return rc;
}

static int64_t now_ms(void)
{
    return (pdr_now() - PDR_TICKS_UNIX_EPOCH) / (PDR_TICKS_PER_SECOND / 1000);
}

static pdr_rc empty_file(const struct pdr__sqlite *store, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NO_STORE,
                    "'%s' is empty; to make a store of it, open it with "
                    "mode=rwc",
                    pdr__shown(shown, pdr_str_c(store->path)));
}

static pdr_rc make(struct pdr__sqlite *store, pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    char pragma[64];
    pdr_rc rc = PDR_OK;

    (void)snprintf(pragma, sizeof(pragma), "PRAGMA page_size=%d",
                   PDR_SQLITE_PAGE);
    rc = run(db, pragma, err);
    if (rc == PDR_OK)
        rc = pdr__schema_pages(db, err);
    if (rc == PDR_OK)
        rc = check_log_mode(db, err);
    if (rc == PDR_OK)
        rc = pdr__line_sync_begins(&store->line, err); /* see make_log_safe() */
    if (rc == PDR_OK)
        pdr__line_forget(&store->line);
    if (rc == PDR_OK)
        rc = pdr__schema_make(store, db, now_ms(), err);
    if (rc == PDR_OK)
        pdr__pack_new(&store->writer);
    return rc;
}

/* Make it if it is empty, else find out whether it is ours (I1). */
static pdr_rc make_or_check(struct pdr__sqlite *store, bool creates,
                            pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    bool is_empty = false;
    pdr_rc rc = pdr__schema_is_empty(&is_empty, db, err);

    if (rc == PDR_OK && is_empty)
        rc = creates ? make(store, err) : empty_file(store, err);
    if (rc == PDR_OK)
        rc = pdr__schema_check(store, db, err);
    if (rc == PDR_OK)
        rc = pdr__schema_is_written(store, err);
    if (rc == PDR_OK)
        rc = check_log_mode(db, err);
    return rc;
}

/* Somebody reads a log that a process left behind, so it cannot be emptied. If
 * no sync of it has failed, one more makes all of it safe. After one that
 * failed the system takes what was lost for written, and no sync tells. */
static bool is_safe(const struct pdr__sqlite *store)
{
    return pdr__line_has_synced(&store->line) &&
           pdr__sync_log(store->writer.db) == SQLITE_OK;
}

/* A sync of it may have failed, and what SQLite syncs before it copies the log
 * may not be on the disk then. Copied in part when power is lost, the main file
 * would have pages of a commit that the log has not. */
pdr_rc pdr__renew_log(struct pdr__sqlite *store, pdr_err *err)
{
    int code = SQLITE_OK;

    if (pdr__line_has_synced(&store->line) ||
        pdr__file_bytes(store->log_path) == 0)
        return PDR_OK;
    code = sqlite3_file_control(store->writer.db, "main", PDR_FCNTL_RENEW_LOG,
                                NULL);
    return code == SQLITE_OK ? PDR_OK
                             : pdr__sqlite_fail(err, store->writer.db, code,
                                                "writing the log once more");
}

/* Not with the busy handler of SQLite, which does not wait for the lock of a
 * checkpoint: a process that was killed in one may still be dying. */
static pdr_rc copy_left(struct pdr__sqlite *store, bool is_first, pdr_err *err)
{
    const struct timespec rest = {0, 5000000};
    int64_t deadline = pdr__monotonic_ms(pdr__clock_system()) + READERS_MS;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__checkpoint_all(store, is_first, &why);

    if (rc == PDR_EBUSY && is_safe(store))
        return pdr__checkpoint_all(store, false, err);
    while (rc == PDR_EBUSY &&
           pdr__monotonic_ms(pdr__clock_system()) < deadline) {
        (void)nanosleep(&rest, NULL);
        rc = pdr__checkpoint_all(store, is_first, &why);
    }
    if (rc == PDR_OK && is_first) { /* the log is empty */
        (void)pdr__line_empties(&store->line, &store->writer.row, false);
        pdr__line_sync_ended(&store->line, NULL, NULL);
    }
    if (rc != PDR_OK && !is_first && pdr__err_is(&why, PDR_R_DISK_FULL))
        return PDR_OK; /* what others committed is safe in the log */
    if (rc != PDR_OK && err != NULL)
        *err = why;
    return rc;
}

static pdr_rc make_log_safe(struct pdr__sqlite *store, bool is_first,
                            pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (is_first)
        rc = pdr__renew_log(store, err);
    else if (!pdr__line_has_synced(&store->line)) /* I6 */
        rc = pdr__writer_settle(store, err);
    return rc == PDR_OK ? copy_left(store, is_first, err) : rc;
}

/* SQLite opens a file that it may only read without a word. */
static pdr_rc check_rights(const struct pdr__sqlite *store, pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (sqlite3_db_readonly(store->writer.db, "main") != 1)
        return PDR_OK;
    return PDR_FAIL(err, READ_ONLY,
                    "'%s' may not be written; give the right to, or open it "
                    "with mode=ro",
                    pdr__shown(shown, pdr_str_c(store->path)));
}

static pdr_rc open_writer(struct pdr__sqlite *store,
                          const struct pdr__wish *wish, pdr_err *err)
{
    char limit[64];
    bool is_first = pdr__line_is_last(&store->line);
    pdr_rc rc = pdr__left_fits(store->path, store->log_path, err); /* I5 */

    if (rc == PDR_OK && !wish->found)
        rc = pdr__file_make(store->path, err);
    if (rc == PDR_OK)
        rc = pdr__file_check(store->path, err);
    if (rc == PDR_OK && store->line.made)
        pdr__file_share(store->line.fd, store->path);
    if (rc == PDR_OK && is_first && wish->found)
        rc = pdr__claim(store, err); /* I5 */
    if (rc == PDR_OK)
        rc = pdr__sqlite_connect(&store->writer.db, store, false, err);
    if (rc == PDR_OK)
        rc = check_rights(store, err);
    if (rc == PDR_OK)
        rc = make_or_check(store, wish->creates, err);
    (void)snprintf(limit, sizeof(limit), "PRAGMA journal_size_limit=%llu",
                   (unsigned long long)PDR_CHECKPOINT_BYTES);
    if (rc == PDR_OK)
        rc = run(store->writer.db, limit, err);
    if (rc != PDR_OK)
        return rc;
    pdr__checkpoint_listen(&store->writer);
    pdr__sparse_listen(&store->writer);
    (void)sqlite3_busy_timeout(store->writer.db, 0);
    rc = make_log_safe(store, is_first, err); /* I2 */
    (void)pdr__file_id(&store->log_id, AT_FDCWD, store->log_path);
    (void)pdr__file_id(&store->memory_id, AT_FDCWD, store->memory_path);
    if (rc == PDR_OK)
        rc = prepare(&store->writer, err);
    if (rc == PDR_OK)
        rc = pdr__line_enter(&store->line, err);
    return rc;
}

static pdr_rc open_for_writing(struct pdr__sqlite *store,
                               const struct pdr__wish *wish, pdr_err *err)
{
    int64_t deadline =
        pdr__monotonic_ms(pdr__clock_system()) + PDR_COMMIT_TIMEOUT_MS;
    pdr_rc rc = pdr__line_take(&store->line, store->side_path, deadline, err);

    if (rc == PDR_EBUSY)
        return PDR_FAIL(err, STORE_LOCKED, "%s",
                        "another process has kept the lock of the store for "
                        "too long; find out what it does, or end it");
    if (rc != PDR_OK)
        return rc;
    rc = open_writer(store, wish, err);
    if (rc != PDR_OK)
        pdr__line_undo(&store->line, store->side_path); /* I1 */
    pdr__line_leave(&store->line);
    return rc;
}

/* --- reading only -------------------------------------------------------- */

/* A store has a journal of SQLite only while its first two pages are made. Who
 * opens it for writing takes them back, and begins anew; a reader cannot. */
static pdr_rc check_journal(const struct pdr__sqlite *store, pdr_err *err)
{
    char shown[PDR_SHOWN];
    char *journal = pdr__file_beside(store->path, "-journal");
    bool is_hot = false;

    if (journal == NULL)
        return pdr__nomem(err);
    is_hot = pdr__file_bytes(journal) > 0 &&
             pdr__file_bytes(store->path) <= 2 * PDR_SQLITE_PAGE;
    pdr__free(journal);
    if (!is_hot)
        return PDR_OK;
    return PDR_FAIL(err, NO_STORE,
                    "'%s' is not a store yet, its making was interrupted; to "
                    "make it, open it with mode=rwc",
                    pdr__shown(shown, pdr_str_c(store->path)));
}

static pdr_rc open_for_reading(struct pdr__sqlite *store, pdr_err *err)
{
    bool is_empty = false;
    sqlite3 *db = NULL;
    pdr_rc rc = pdr__file_check(store->path, err);

    if (rc == PDR_OK)
        rc = check_journal(store, err);
    if (rc == PDR_OK)
        rc = pdr__left_fits(store->path, store->log_path, err); /* I5 */
    store->changed_ns = pdr__file_changed_ns(store->path);
    store->alone = pdr__file_is_on_read_only_system(store->path) &&
                   pdr__file_bytes(store->log_path) == 0 &&
                   !pdr__line_is_used(store->side_path);
    if (rc == PDR_OK && !store->without_sums &&
        !pdr__line_is_used(store->side_path))
        rc = pdr__claim(store, err); /* I5 */
    if (rc == PDR_OK)
        rc = pdr__sqlite_connect(&db, store, true, err);
    if (rc == PDR_OK)
        rc = pdr__schema_is_empty(&is_empty, db, err);
    if (rc == PDR_OK && is_empty)
        rc = empty_file(store, err);
    if (rc == PDR_OK)
        rc = pdr__schema_check(store, db, err);
    (void)sqlite3_close(db);
    return rc;
}

/* --- the request --------------------------------------------------------- */

/* Who writes would put good sums on pages that nobody has compared. */
static pdr_rc read_sums(const struct request *ask, struct pdr__sqlite *store,
                        pdr_err *err)
{
    char shown[PDR_SHOWN];

    store->without_sums = ask->sums != NULL;
    if (ask->sums == NULL)
        return PDR_OK;
    if (strcmp(ask->sums, "off") != 0)
        return PDR_FAIL(err, BAD_URI,
                        "sums is '%s'; it can be off, or be left out",
                        pdr__shown(shown, pdr_str_c(ask->sums)));
    if (!store->read_only)
        return PDR_FAIL(err, BAD_URI, "%s",
                        "sums=off is for reading what another program wrote; "
                        "it needs mode=ro");
    return PDR_OK;
}

static pdr_rc read_secure(const struct request *ask, struct pdr__sqlite *store,
                          pdr_err *err)
{
    char shown[PDR_SHOWN];

    store->keeps_deleted = ask->secure != NULL;
    if (ask->secure == NULL || strcmp(ask->secure, "off") == 0)
        return PDR_OK;
    return PDR_FAIL(err, BAD_URI,
                    "secure_delete is '%s'; it can be off, or be left out",
                    pdr__shown(shown, pdr_str_c(ask->secure)));
}

static pdr_rc read_mode(struct request *ask, struct pdr__sqlite *store,
                        pdr_err *err)
{
    const char *mode = ask->mode != NULL ? ask->mode : "rwc";
    char shown[PDR_SHOWN];

    ask->wish->creates = strcmp(mode, "rwc") == 0;
    store->read_only = strcmp(mode, "ro") == 0;
    if (!ask->wish->creates && !store->read_only && strcmp(mode, "rw") != 0)
        return PDR_FAIL(err, BAD_URI, "mode is '%s'; it can be rwc, rw or ro",
                        pdr__shown(shown, pdr_str_c(mode)));
    if (ask->vfs != NULL && sqlite3_vfs_find(ask->vfs) == NULL)
        return PDR_FAIL(err, BAD_URI,
                        "vfs is '%s', which this program has not registered",
                        pdr__shown(shown, pdr_str_c(ask->vfs)));
    if (ask->uri.path[0] == '\0')
        return PDR_FAIL(err, BAD_URI, "%s",
                        "the URI names no file, as in sqlite:perdure.db");
    return PDR_OK;
}

static pdr_rc read_request(struct request *ask, struct pdr__sqlite *store,
                           const char *rest, pdr_err *err)
{
    pdr_rc rc = pdr__uri_read(&ask->uri, rest, err);

    if (rc == PDR_OK)
        rc = pdr__uri_take(&ask->mode, &ask->uri, "mode", err);
    if (rc == PDR_OK)
        rc = pdr__uri_take(&ask->key, &ask->uri, "key", err);
    if (rc == PDR_OK)
        rc = pdr__uri_take(&ask->vfs, &ask->uri, "vfs", err);
    if (rc == PDR_OK)
        rc = pdr__uri_take(&ask->sums, &ask->uri, "sums", err);
    if (rc == PDR_OK)
        rc = pdr__uri_take(&ask->secure, &ask->uri, "secure_delete", err);
    if (rc == PDR_OK)
        rc = pdr__uri_end(&ask->uri, err);
    if (rc == PDR_OK)
        rc = read_mode(ask, store, err);
    if (rc == PDR_OK)
        rc = read_sums(ask, store, err);
    if (rc == PDR_OK)
        rc = read_secure(ask, store, err);
    return rc;
}

static void request_dispose(struct request *ask)
{
    pdr__uri_dispose(&ask->uri);
    pdr__free(ask->mode);
    pdr__free(ask->key);
    pdr__free(ask->vfs);
    pdr__free(ask->sums);
    pdr__free(ask->secure);
}

/* A new store may not be called like a file beside another one, which would be
 * overwritten, and so would it. One that is there may stay. */
static pdr_rc check_name(const struct pdr__sqlite *store,
                         const struct pdr__wish *wish, pdr_err *err)
{
    const char *ending = pdr__target_ending(store->path);
    char shown[PDR_SHOWN];

    if (!wish->creates || ending == NULL || pdr__file_bytes(store->path) > 0)
        return PDR_OK;
    return PDR_FAIL(err, BAD_URI,
                    "'%s' is what a file beside a store is called, with '%s' "
                    "at its end; take another name",
                    pdr__shown(shown, pdr_str_c(store->path)), ending);
}

/* SQLite has room for so many bytes, and needs names beside it. */
static pdr_rc check_length(const struct request *ask,
                           const struct pdr__sqlite *store, pdr_err *err)
{
    size_t most = (size_t)sqlite3_vfs_find(ask->vfs)->mxPathname;

    if (strlen(store->path) + sizeof("-journal") <= most)
        return PDR_OK;
    return PDR_FAIL(err, BAD_URI,
                    "the path of the store has %zu bytes, and SQLite takes at "
                    "most %zu; put it into a folder with a shorter name",
                    strlen(store->path), most - sizeof("-journal"));
}

static pdr_rc find_files(struct request *ask, struct pdr__sqlite *store,
                         pdr_err *err)
{
    struct pdr__wish *wish = ask->wish;
    char shown[PDR_SHOWN];
    pdr_rc rc =
        pdr__file_real_path(&store->path, &wish->found, ask->uri.path, err);

    if (rc == PDR_OK && !wish->found && (!wish->creates || wish->must_be_there))
        rc = PDR_FAIL(err, NO_STORE,
                      "there is no '%s'; to make it, open it "
                      "with mode=rwc",
                      pdr__shown(shown, pdr_str_c(ask->uri.path)));
    if (rc == PDR_OK)
        rc = check_length(ask, store, err);
    if (rc == PDR_OK)
        rc = check_name(store, wish, err);
    if (rc == PDR_OK && wish->found)
        rc = pdr__file_check(store->path, err);
    if (rc != PDR_OK)
        return rc;
    store->side_path = pdr__file_beside(store->path, "-lock");
    store->log_path = pdr__file_beside(store->path, "-wal");
    store->memory_path = pdr__file_beside(store->path, "-shm");
    if (store->side_path == NULL || store->log_path == NULL ||
        store->memory_path == NULL)
        return pdr__nomem(err);
    if (ask->key != NULL)
        rc = pdr__file_read_key(&store->base.key, &store->base.key_len,
                                ask->key, err);
    store->below = ask->vfs; /* moved */
    ask->vfs = NULL;
    return rc;
}

/* --- the store ----------------------------------------------------------- */

void pdr__sqlite_release(struct pdr__sqlite *store)
{
    pdr__writer_close(&store->writer);
    pdr__line_close(&store->line);
    pdr__readers_dispose(&store->readers);
    pdr__vfs_close(&store->vfs);
    pdr__group_dispose(&store->group);
    pdr__opened_remove(&store->opened);
    if (store->base.key != NULL)
        explicit_bzero(store->base.key, store->base.key_len);
    pdr__free(store->base.key);
    pdr__free(store->path);
    pdr__free(store->side_path);
    pdr__free(store->log_path);
    pdr__free(store->memory_path);
    pdr__free(store->below);
    pdr__free(store);
}

static pdr_rc empty_store(struct pdr__sqlite **out, pdr_err *err)
{
    struct pdr__sqlite *store = pdr__calloc(1, sizeof(*store));
    pdr_rc rc = PDR_OK;

    if (store == NULL)
        return pdr__nomem(err);
    store->base.ops = &pdr__sqlite_ops;
    store->base.capabilities = PDR_CAN_PERSIST | PDR_CAN_SHARE | PDR_CAN_KEY |
                               PDR_CAN_READ_ONLY | PDR_CAN_GROUP;
    store->line = (struct pdr__line)PDR_LINE_INIT;
    store->writer.memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    rc = pdr__group_init(&store->group, err);
    if (rc != PDR_OK) {
        pdr__free(store);
        return rc;
    }
    rc = pdr__readers_init(&store->readers, err);
    if (rc != PDR_OK) {
        pdr__group_dispose(&store->group);
        pdr__free(store);
        return rc;
    }
    *out = store;
    return PDR_OK;
}

pdr_rc pdr__sqlite_new(struct pdr__sqlite **out, struct pdr__wish *wish,
                       const char *rest, pdr_err *err)
{
    struct request ask = {.wish = wish};
    struct pdr__sqlite *store = NULL;
    pdr_rc rc = empty_store(&store, err);

    if (rc != PDR_OK)
        return rc;
    rc = read_request(&ask, store, rest, err);
    if (rc == PDR_OK)
        rc = find_files(&ask, store, err);
    if (rc == PDR_OK)
        rc = pdr__opened_add(&store->opened, store->path, err);
    if (rc == PDR_OK)
        rc = pdr__vfs_open(&store->vfs, store->below, err);
    store->vfs.without_sums = store->without_sums;
    store->vfs.keeps_deleted = store->keeps_deleted;
    store->vfs.empties = pdr__log_empties;
    store->vfs.arg = store;
    store->vfs.memory_path = store->memory_path;
    request_dispose(&ask);
    if (rc == PDR_OK)
        *out = store;
    else
        pdr__sqlite_release(store);
    return rc;
}

static pdr_rc sqlite_open(pdr_store **out, const char *rest, pdr_err *err)
{
    struct pdr__wish wish = {.must_be_there = false};
    struct pdr__sqlite *store = NULL;
    pdr_rc rc = pdr__sqlite_new(&store, &wish, rest, err);

    if (rc != PDR_OK)
        return rc;
    rc = store->read_only ? open_for_reading(store, err)
                          : open_for_writing(store, &wish, err);
    if (rc == PDR_OK)
        *out = &store->base;
    else
        pdr__sqlite_release(store);
    return rc;
}

/* Are all names ours, or is the log only gone, and nobody has committed to
 * another one since? Then what we committed is in ours alone. */
static bool has_names(struct pdr__sqlite *store)
{
    struct pdr__file_id found;

    if (pdr__file_bytes(store->log_path) == 0)
        store->log_id.inode = 0; /* any */
    if (!pdr__file_id(&found, AT_FDCWD, store->memory_path))
        store->memory_id.inode = 0;
    return pdr__check_names(store, NULL) == PDR_OK;
}

/* The last one empties the log (I3). If the lock does not come, somebody else
 * has the store, and the log stays for them. */
static void leave_alone(struct pdr__sqlite *store)
{
    int64_t deadline =
        pdr__monotonic_ms(pdr__clock_system()) + PDR_COMMIT_TIMEOUT_MS;

    if (pdr__line_wait(&store->line, deadline, NULL) != PDR_OK)
        return;
    if (pdr__line_is_last(&store->line) &&
        pdr__may_write(store, NULL) == PDR_OK && has_names(store)) {
        /* What it did not copy is safe in the log. */
        pdr_rc rc = pdr__checkpoint_all(store, true, NULL);
        (void)rc;
    }
}

static void sqlite_close(pdr_store *self)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);

    if (!store->read_only)
        leave_alone(store);
    pdr__sqlite_release(store);
}

const pdr_store_ops pdr__sqlite_ops = {
    .version = PDR_STORE_OPS_VERSION,
    .name = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .commit = pdr__sqlite_commit,
    .read = pdr__sqlite_read,
    .info = pdr__sqlite_info,
    .poll = pdr__sqlite_poll,
    .verify = pdr__sqlite_verify,
    .vacuum = pdr__sqlite_vacuum,
    .backup = pdr__sqlite_backup,
    .migrate = pdr__sqlite_migrate,
    .sweep = pdr__sqlite_sweep,
    .count = pdr__sqlite_count,
};
