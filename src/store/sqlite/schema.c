/*
 * schema.c - the tables of a store, and whose file it is.
 *
 * WHY  A store is one file for years, and others can write to it. What is not
 *      exactly as this library makes it is refused before a row is read: a
 *      trigger would change commits behind our back, an index of a stranger
 *      would cost every commit, a newer version would be misread.
 *
 *      The layout follows what a turn touches (docs/formats/store-sqlite.md has
 *      the figures). What a turn only adds, entries and completions, is
 *      appended to `log`; what it changes, stands side by side in `parts`.
 *
 *          sessions.no ─┬─ log         key = seq: an entry
 *                       │              key = correlation id: a completion
 *                       ├─ parts       0 journal, 1 stream, 2 inbox: key = n
 *                       │              3 slots of the bag: key = their key
 *                       │              4 the frame: key = ''
 *                       └─ properties
 *          unseen.no ─── the same, of sessions that no reader sees
 *
 * INVARIANTS, cited below as I1..I5
 *   I1  The number of a session is its epoch. It comes from the counter in
 *       `store` and is never used again.
 *   I2  Numbers sort in front of texts: the entries of a session come first in
 *       log_by_key, then its completions.
 *   I3  The texts in sqlite_schema are the texts below, byte for byte.
 *   I4  A file is ours only when all of it was made in one transaction: one
 *       that a killed process left is empty, and is made again.
 *   I5  Nothing that a version had is ever altered here: a new version adds
 *       rows to the list below, and a step to migrate.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "sqlite.h"

#define UTC(column) \
    "strftime('%Y-%m-%dT%H:%M:%fZ'," column "/1000.0,'unixepoch')"

#define WORK_VIEW(name, part)                                             \
    "CREATE VIEW " name " AS SELECT s.tenant,s.id,p.key AS n," UTC(       \
        "p.due") " AS due,p.kind,p.correlation_id,p.body FROM sessions s" \
                 " JOIN parts p ON p.session=s.no AND p.part=" part

/* An entry's kind in words. */
#define KIND                                                   \
    "CASE l.kind WHEN 0 THEN 'request' WHEN 1 THEN 'response'" \
    " WHEN 2 THEN 'message' WHEN 3 THEN 'record' ELSE 'other' END"

/* The columns of a head, as PDR_SQLITE_HEAD_COLUMNS names them. */
#define HEAD                                                                \
    "no INTEGER PRIMARY KEY,tenant TEXT,id TEXT,"                           \
    "agent TEXT,kind TEXT,schema_version TEXT,state TEXT,revision INTEGER," \
    "commits INTEGER,created INTEGER,changed INTEGER,expiry INTEGER,"       \
    "first_seq INTEGER,next_seq INTEGER,slots INTEGER,properties INTEGER,"  \
    "completions INTEGER,journal_first INTEGER,journal_next INTEGER,"       \
    "stream_first INTEGER,stream_next INTEGER,inbox INTEGER,"               \
    "inbox_next INTEGER,has_frame INTEGER,lease_owner TEXT,fence INTEGER,"  \
    "lease_until INTEGER,anchor BLOB,chain BLOB,digest BLOB"

/* What is made, in this order. */
struct object {
    const char *name;
    const char *sql;
    uint32_t since; /* the first version that has it, */
    uint32_t until; /* and the first that has another one; 0: none yet */
};

/* clang-format off */
static const struct object objects[] = {
    {"store",
     "CREATE TABLE store(one INTEGER PRIMARY KEY,schema INTEGER,"
     "number INTEGER,keyed INTEGER,key_check BLOB,created INTEGER,"
     "digest BLOB)", 1, 3},
    /* As ALTER TABLE writes it (I3). */
    {"store",
     "CREATE TABLE store(one INTEGER PRIMARY KEY,schema INTEGER,"
     "number INTEGER,keyed INTEGER,key_check BLOB,created INTEGER,"
     "digest BLOB, id BLOB, generation INTEGER)", 3, 0},
    {"sessions",
     "CREATE TABLE sessions(" HEAD ")", 1, 0},
    {"sessions_by_id",
     "CREATE UNIQUE INDEX sessions_by_id ON sessions(tenant,id)", 1, 0},
    {"sessions_by_state",
     "CREATE INDEX sessions_by_state ON sessions(tenant,state,changed,id)", 1, 0},
    {"sessions_by_agent",
     "CREATE INDEX sessions_by_agent ON sessions(tenant,agent,changed,id)"
     " WHERE agent IS NOT NULL", 1, 0},
    {"sessions_by_expiry",
     "CREATE INDEX sessions_by_expiry ON sessions(expiry)"
     " WHERE expiry IS NOT NULL", 1, 0},
    {"log",
     "CREATE TABLE log(n INTEGER PRIMARY KEY,session INTEGER,key,kind INTEGER,"
     "shape INTEGER,created INTEGER,correlation_id TEXT,first_seq INTEGER,"
     "last_seq INTEGER,fingerprint BLOB,digest BLOB,separator TEXT,body TEXT)", 1, 0},
    {"log_by_key", "CREATE UNIQUE INDEX log_by_key ON log(session,key)", 1, 0},
    {"parts",
     "CREATE TABLE parts(session INTEGER,part INTEGER,key,due INTEGER,"
     "kind TEXT,correlation_id TEXT,digest BLOB,body TEXT,"
     "PRIMARY KEY(session,part,key)) WITHOUT ROWID", 1, 0},
    {"parts_by_due",
     "CREATE INDEX parts_by_due ON parts(due,session,key)"
     " WHERE due IS NOT NULL", 1, 0},
    {"properties",
     "CREATE TABLE properties(session INTEGER,key TEXT,value TEXT,match TEXT,"
     "digest BLOB,tenant TEXT,id TEXT,PRIMARY KEY(session,key)) WITHOUT ROWID", 1, 0},
    {"properties_by_match",
     "CREATE INDEX properties_by_match ON properties(tenant,key,match,id)"
     " WHERE match IS NOT NULL", 1, 2},
    /* With all that a digest covers, so that a list need not look at the rows.
     */
    {"properties_by_match",
     "CREATE INDEX properties_by_match ON properties(tenant,key,match,id,value,"
     "digest) WHERE match IS NOT NULL", 2, 0},
    {"conversation",
     "CREATE VIEW conversation AS SELECT s.tenant,s.id,l.key AS seq," KIND
     " AS kind," UTC("l.created") " AS created,l.correlation_id,l.body"
     " FROM sessions s JOIN log l ON l.session=s.no AND l.key<''"
     " ORDER BY s.tenant,s.id,l.key", 1, 0},
    {"completions",
     "CREATE VIEW completions AS SELECT s.tenant,s.id,l.key AS correlation_id,"
     UTC("l.created") " AS at,l.first_seq,l.last_seq,l.body AS outcome"
     " FROM sessions s JOIN log l ON l.session=s.no AND l.key>=''", 1, 0},
    {"bag",
     "CREATE VIEW bag AS SELECT s.tenant,s.id,p.key,p.body AS value"
     " FROM sessions s JOIN parts p ON p.session=s.no AND p.part=3", 1, 0},
    {"journal", WORK_VIEW("journal", "0"), 1, 0},
    {"stream", WORK_VIEW("stream", "1"), 1, 0},
    {"inbox", WORK_VIEW("inbox", "2"), 1, 0},
    {"unseen", "CREATE TABLE unseen(" HEAD ")", 2, 0},
};
/* clang-format on */

static bool is_in(const struct object *object, uint32_t version)
{
    return object->since <= version &&
           (object->until == 0 || version < object->until);
}

/* --- the one row of `store` ---------------------------------------------- */

static void put_number(uint8_t *out, uint64_t number)
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (56 - 8 * i));
}

static pdr_rc digest_of(pdr_digest out, const struct pdr__sqlite *store,
                        pdr_str bytes, pdr_err *err)
{
    const pdr_str key = {(const char *)store->base.key, store->base.key_len};

    return key.ptr != NULL ? pdr__hmac_sha256(out, key, bytes, err)
                           : pdr__sha256(out, bytes, err);
}

pdr_rc pdr__schema_seal(pdr_digest out, const struct pdr__sqlite *store,
                        const struct pdr__store_row *row, pdr_err *err)
{
    uint8_t bytes[8 + 5 * 8 + PDR_STORE_ID] = "store";
    size_t len = store->schema < 3 ? 40 : sizeof(bytes);

    put_number(bytes + 8, store->schema);
    put_number(bytes + 16, row->number);
    put_number(bytes + 24, store->base.key != NULL);
    put_number(bytes + 32, (uint64_t)row->created_ms);
    put_number(bytes + 40, row->generation);
    memcpy(bytes + 48, row->id, PDR_STORE_ID);
    return digest_of(out, store, pdr_str_n((const char *)bytes, len), err);
}

/* Tells whether a key is the one that the store was made with, and nothing
 * about the key. */
static pdr_rc key_check(pdr_digest out, const struct pdr__sqlite *store,
                        pdr_err *err)
{
    return digest_of(out, store, PDR_LIT("perdure: the key of this store"),
                     err);
}

/* What PRAGMA auto_vacuum says of files whose free pages can be given back. */
#define INCREMENTAL 2

/* --- making them --------------------------------------------------------- */

static pdr_rc run(sqlite3 *db, const char *sql, const char *what, pdr_err *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? PDR_OK : pdr__sqlite_fail(err, db, code, what);
}

/* The one number that a statement gives. */
static pdr_rc ask(int64_t *out, sqlite3 *db, const char *sql, pdr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    pdr_rc rc = PDR_OK;

    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    else if (code == SQLITE_DONE)
        rc = PDR_FAIL(err, STORE_DAMAGED, "%s",
                      "the row of table 'store' is missing; restore a backup");
    else
        rc = pdr__sqlite_fail(err, db, code, "opening the store");
    (void)sqlite3_finalize(stmt);
    return rc;
}

pdr_rc pdr__schema_pages(sqlite3 *db, pdr_err *err)
{
    static const char what[] = "setting up the pages";
    int reserved = PDR_SQLITE_RESERVED;
    int code =
        sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);

    if (code != SQLITE_OK)
        return pdr__sqlite_fail(err, db, code, what);
    return run(db, "PRAGMA auto_vacuum=INCREMENTAL", what, err);
}

static pdr_rc add_store_row(const struct pdr__sqlite *store, sqlite3 *db,
                            int64_t now_ms, pdr_err *err)
{
    const char *sql = "INSERT INTO store(one,schema,number,keyed,key_check,"
                      "created,digest,id,generation) "
                      "VALUES(1,?1,0,?2,?3,?4,?5,?6,1)";
    struct pdr__store_row row = {.created_ms = now_ms, .generation = 1};
    bool keyed = store->base.key != NULL;
    sqlite3_stmt *stmt = NULL;
    pdr_digest check, digest;
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__rand_fill(row.id, pdr__rand_system(), PDR_STORE_ID, err));
    PDR_TRY(key_check(check, store, err));
    PDR_TRY(pdr__schema_seal(digest, store, &row, err));
    code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        pdr__bind_int(stmt, 1, store->schema);
        pdr__bind_int(stmt, 2, keyed);
        pdr__bind_blob(stmt, 3, keyed ? check : NULL, PDR_DIGEST_BYTES);
        pdr__bind_int(stmt, 4, now_ms);
        pdr__bind_blob(stmt, 5, digest, PDR_DIGEST_BYTES);
        pdr__bind_blob(stmt, 6, row.id, PDR_STORE_ID);
        code = sqlite3_step(stmt);
    }
    if (code != SQLITE_DONE)
        rc = pdr__sqlite_fail(err, db, code, "making the store");
done:
    (void)sqlite3_finalize(stmt);
    return rc;
}

/* See struct pdr__store_row. */
static pdr_rc draw_mark(sqlite3 *db, pdr_err *err)
{
    uint32_t mark = 0;
    char pragma[64];
    pdr_rc rc = pdr__rand_fill(&mark, pdr__rand_system(), sizeof(mark), err);

    (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%" PRId32,
                   (int32_t)mark);
    return rc == PDR_OK ? run(db, pragma, "making the store", err) : rc;
}

static pdr_rc make_all(const struct pdr__sqlite *store, sqlite3 *db,
                       int64_t now_ms, pdr_err *err)
{
    static const char what[] = "making the tables";
    char pragma[64];
    pdr_rc rc = run(db, "BEGIN IMMEDIATE", what, err);

    for (size_t i = 0; i < PDR_COUNT(objects) && rc == PDR_OK; i++)
        if (is_in(&objects[i], PDR_SQLITE_SCHEMA))
            rc = run(db, objects[i].sql, what, err);
    if (rc == PDR_OK)
        rc = add_store_row(store, db, now_ms, err);
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d",
                   PDR_SQLITE_APPLICATION);
    if (rc == PDR_OK)
        rc = run(db, pragma, what, err);
    if (rc == PDR_OK)
        rc = draw_mark(db, err);
    if (rc == PDR_OK) /* I4 */
        rc = run(db, "COMMIT", what, err);
    return rc;
}

/* A file that is empty, but not new: somebody made its first page, perhaps an
 * older library that was killed. */
static pdr_rc remake_pages(sqlite3 *db, pdr_err *err)
{
    int64_t auto_vacuum = 0;
    pdr_rc rc = ask(&auto_vacuum, db, "PRAGMA auto_vacuum", err);

    if (rc == PDR_OK && auto_vacuum != INCREMENTAL)
        rc = run(db, "VACUUM", "setting up the pages", err);
    return rc;
}

pdr_rc pdr__schema_make(struct pdr__sqlite *store, sqlite3 *db, int64_t now_ms,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    store->schema = PDR_SQLITE_SCHEMA;
    rc = remake_pages(db, err);
    if (rc == PDR_OK)
        rc = make_all(store, db, now_ms, err);
    if (rc != PDR_OK && sqlite3_get_autocommit(db) == 0)
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* --- finding out --------------------------------------------------------- */

pdr_rc pdr__schema_is_empty(bool *out, sqlite3 *db, pdr_err *err)
{
    int64_t application = 0, objects_found = 0;
    pdr_rc rc = ask(&application, db, "PRAGMA application_id", err);

    if (rc == PDR_OK)
        rc = ask(&objects_found, db, "SELECT count(*) FROM sqlite_schema", err);
    *out = rc == PDR_OK && application == 0 && objects_found == 0;
    return rc;
}

static pdr_rc not_ours(const struct pdr__sqlite *store, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NOT_A_STORE,
                    "'%s' is a database, but no store of perdure; name another "
                    "file, or one that does not exist yet",
                    pdr__shown(shown, pdr_str_c(store->path)));
}

static const struct object *find_object(pdr_str name, uint32_t version)
{
    for (size_t i = 0; i < PDR_COUNT(objects); i++)
        if (is_in(&objects[i], version) &&
            pdr_str_equal(name, pdr_str_c(objects[i].name)))
            return &objects[i];
    return NULL;
}

static size_t count_objects(uint32_t version)
{
    size_t count = 0;

    for (size_t i = 0; i < PDR_COUNT(objects); i++)
        count += is_in(&objects[i], version);
    return count;
}

static pdr_str text_at(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return pdr_str_n(
        text, text != NULL ? (size_t)sqlite3_column_bytes(stmt, column) : 0);
}

/* One row of sqlite_schema: type, name, sql. */
static pdr_rc check_object(sqlite3_stmt *stmt, uint32_t version, pdr_err *err)
{
    pdr_str type = text_at(stmt, 0), name = text_at(stmt, 1);
    const struct object *object = find_object(name, version);
    char shown_type[PDR_SHOWN], shown[PDR_SHOWN];

    if (object == NULL)
        return PDR_FAIL(err, NOT_A_STORE,
                        "the store has a %s '%s' that perdure did not make; "
                        "remove it, or restore a backup",
                        pdr__shown(shown_type, type), pdr__shown(shown, name));
    if (!pdr_str_equal(pdr_str_c(object->sql), text_at(stmt, 2))) /* I3 */
        return PDR_FAIL(err, NOT_A_STORE,
                        "the %s '%s' of the store was altered; restore a "
                        "backup",
                        pdr__shown(shown_type, type), pdr__shown(shown, name));
    return PDR_OK;
}

static pdr_rc check_objects(sqlite3 *db, uint32_t version, pdr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    size_t found = 0, wanted = count_objects(version);
    pdr_rc rc = PDR_OK;
    int code = sqlite3_prepare_v2(db, "SELECT type,name,sql FROM sqlite_schema",
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    while (code == SQLITE_ROW && rc == PDR_OK) {
        rc = check_object(stmt, version, err);
        found++;
        if (rc == PDR_OK)
            code = sqlite3_step(stmt);
    }
    if (rc == PDR_OK && code != SQLITE_DONE)
        rc = pdr__sqlite_fail(err, db, code, "reading the tables of the store");
    (void)sqlite3_finalize(stmt);
    if (rc == PDR_OK && found != wanted)
        rc = PDR_FAIL(err, NOT_A_STORE,
                      "the store has %zu tables, indexes and views, it must "
                      "have %zu; restore a backup",
                      found, wanted);
    return rc;
}

/* --- the one row, read --------------------------------------------------- */

struct store_row {
    struct pdr__store_row is;
    int64_t keyed;
    pdr_digest digest, check;
};

static bool blob_at(void *out, size_t len, sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) != SQLITE_BLOB ||
        (size_t)sqlite3_column_bytes(stmt, column) != len)
        return false;
    memcpy(out, sqlite3_column_blob(stmt, column), len);
    return true;
}

/* Is each column of its type? */
static bool read_columns(struct store_row *out, sqlite3_stmt *stmt,
                         uint32_t version)
{
    out->is.number = (uint64_t)sqlite3_column_int64(stmt, 0);
    out->keyed = sqlite3_column_int64(stmt, 1);
    out->is.created_ms = sqlite3_column_int64(stmt, 2);
    if (!blob_at(out->digest, PDR_DIGEST_BYTES, stmt, 3) ||
        (out->keyed != 0 && !blob_at(out->check, PDR_DIGEST_BYTES, stmt, 4)))
        return false;
    if (version < 3)
        return true;
    out->is.generation = (uint64_t)sqlite3_column_int64(stmt, 6);
    return blob_at(out->is.id, PDR_STORE_ID, stmt, 5);
}

static pdr_rc read_store_row(struct store_row *out,
                             const struct pdr__sqlite *store, sqlite3 *db,
                             pdr_err *err)
{
    const char *sql =
        store->schema < 3
            ? "SELECT number,keyed,created,digest,key_check FROM store "
              "WHERE one=1"
            : "SELECT number,keyed,created,digest,key_check,id,generation "
              "FROM store WHERE one=1";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    bool is_whole = false;
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        is_whole = read_columns(out, stmt, store->schema);
    else if (code != SQLITE_DONE)
        rc = pdr__sqlite_fail(err, db, code, "opening the store");
    (void)sqlite3_finalize(stmt);
    if (rc == PDR_OK && !is_whole)
        rc = PDR_FAIL(err, STORE_DAMAGED, "%s",
                      "the row of table 'store' is damaged; restore a backup");
    return rc;
}

static pdr_rc check_key(const struct pdr__sqlite *store,
                        const struct store_row *row, pdr_err *err)
{
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    if (row->keyed != 0 && store->base.key == NULL)
        return PDR_FAIL(err, WRONG_KEY, "%s",
                        "the digests of this store have a key; name its file "
                        "with key=FILE");
    if (row->keyed == 0 && store->base.key != NULL)
        return PDR_FAIL(err, WRONG_KEY, "%s",
                        "this store was made without a key; leave key=FILE "
                        "out");
    if (row->keyed == 0)
        return PDR_OK;
    rc = key_check(wanted, store, err);
    if (rc == PDR_OK && memcmp(wanted, row->check, sizeof(wanted)) != 0)
        rc = PDR_FAIL(err, WRONG_KEY, "%s",
                      "this is not the key that the store was made with; name "
                      "the right file with key=FILE");
    return rc;
}

static pdr_rc check_store_row(struct pdr__sqlite *store, sqlite3 *db,
                              pdr_err *err)
{
    struct store_row row;
    pdr_digest wanted;
    int64_t mark = 0;
    pdr_rc rc = read_store_row(&row, store, db, err);

    if (rc == PDR_OK)
        rc = check_key(store, &row, err);
    if (rc == PDR_OK)
        rc = pdr__schema_seal(wanted, store, &row.is, err);
    if (rc == PDR_OK && memcmp(wanted, row.digest, sizeof(wanted)) != 0)
        rc = PDR_FAIL(err, BAD_DIGEST, "%s",
                      "the row of table 'store' does not fit its digest; "
                      "restore a backup");
    if (rc == PDR_OK)
        rc = ask(&mark, db, "PRAGMA user_version", err);
    row.is.mark = (uint32_t)mark;
    if (rc == PDR_OK)
        store->writer.row = store->writer.before = row.is;
    return rc;
}

/* The version stands in a table, not in the header: a tool that copies rows
 * takes it along. */
static pdr_rc check_version(struct pdr__sqlite *store, sqlite3 *db,
                            pdr_err *err)
{
    int64_t version = 0;
    pdr_rc rc = ask(&version, db, "SELECT schema FROM store WHERE one=1", err);

    if (rc != PDR_OK)
        return rc;
    if (version < 1)
        return PDR_FAIL(err, STORE_DAMAGED,
                        "the store says that its version is %" PRId64
                        "; restore a backup",
                        version);
    if (version > PDR_SQLITE_SCHEMA)
        return PDR_FAIL(err, STORE_VERSION,
                        "the store has version %" PRId64
                        ", this library reads up to %u; use a newer perdure",
                        version, PDR_SQLITE_SCHEMA);
    store->schema = (uint32_t)version;
    return PDR_OK;
}

/* If nothing is reserved on its pages, its first page is damaged: SQLite would
 * write over the sums of the others, and vfs.c would not look at them. */
static pdr_rc check_pages(const struct pdr__sqlite *store, sqlite3 *db,
                          pdr_err *err)
{
    int reserved = -1; /* only asked for */

    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES,
                               &reserved);
    if (store->schema < 2 || reserved == PDR_SQLITE_RESERVED)
        return PDR_OK;
    return PDR_FAIL(err, STORE_DAMAGED,
                    "the header of the file says that %d bytes of each page "
                    "are reserved, not %d; restore a backup",
                    reserved, PDR_SQLITE_RESERVED);
}

pdr_rc pdr__schema_check(struct pdr__sqlite *store, sqlite3 *db, pdr_err *err)
{
    int64_t application = 0;
    pdr_rc rc = ask(&application, db, "PRAGMA application_id", err);

    if (rc == PDR_OK && application != PDR_SQLITE_APPLICATION)
        return not_ours(store, err);
    if (rc == PDR_OK)
        rc = check_version(store, db, err);
    if (rc == PDR_OK)
        rc = check_pages(store, db, err);
    if (rc == PDR_OK)
        rc = check_objects(db, store->schema, err);
    if (rc == PDR_OK)
        rc = check_store_row(store, db, err);
    return rc;
}

pdr_rc pdr__schema_is_written(const struct pdr__sqlite *store, pdr_err *err)
{
    if (store->schema == PDR_SQLITE_SCHEMA)
        return PDR_OK;
    return PDR_FAIL(err, STORE_VERSION,
                    "the store has version %u, this library writes version "
                    "%u; bring it there with 'perdure store migrate FILE' or "
                    "pdr_store_migrate(), or read it with mode=ro",
                    store->schema, PDR_SQLITE_SCHEMA);
}

/* --- the next version ---------------------------------------------------- */

/* Version and id of `row`, with the digest that they need. */
static pdr_rc write_store_row(const struct pdr__sqlite *store, sqlite3 *db,
                              const struct pdr__store_row *row, pdr_err *err)
{
    const char *sql = store->schema < 3
                          ? "UPDATE store SET schema=?1,digest=?2 WHERE one=1"
                          : "UPDATE store SET schema=?1,digest=?2,id=?3,"
                            "generation=?4 WHERE one=1";
    sqlite3_stmt *stmt = NULL;
    pdr_digest digest;
    pdr_rc rc = pdr__schema_seal(digest, store, row, err);
    int code = SQLITE_OK;

    if (rc != PDR_OK)
        return rc;
    code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        pdr__bind_int(stmt, 1, store->schema);
        pdr__bind_blob(stmt, 2, digest, PDR_DIGEST_BYTES);
        if (store->schema >= 3) {
            pdr__bind_blob(stmt, 3, row->id, PDR_STORE_ID);
            pdr__bind_int(stmt, 4, (int64_t)row->generation);
        }
        code = sqlite3_step(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return code == SQLITE_DONE
               ? PDR_OK
               : pdr__sqlite_fail(err, db, code,
                                  "writing the row of the store");
}

/* A version replaces an index by another one, of which no row is lost, or gives
 * a table more columns. */
static pdr_rc replace_object(sqlite3 *db, const struct object *object,
                             pdr_err *err)
{
    static const char what[] = "making the tables";
    char sql[64];

    if (strcmp(object->name, "store") == 0)
        return run(db,
                   "ALTER TABLE store ADD COLUMN id BLOB;"
                   "ALTER TABLE store ADD COLUMN generation INTEGER",
                   what, err);
    (void)snprintf(sql, sizeof(sql), "DROP INDEX %s", object->name);
    return run(db, sql, what, err);
}

pdr_rc pdr__schema_raise(struct pdr__sqlite *store, sqlite3 *db, uint32_t to,
                         pdr_err *err)
{
    struct store_row row;
    pdr_rc rc = read_store_row(&row, store, db, err);

    for (size_t i = 0; i < PDR_COUNT(objects) && rc == PDR_OK; i++) {
        if (objects[i].until == to)
            rc = replace_object(db, &objects[i], err);
        else if (objects[i].since == to &&
                 strcmp(objects[i].name, "store") != 0)
            rc = run(db, objects[i].sql, "making the tables", err);
    }
    store->schema = to;
    if (rc == PDR_OK && to == 3) {
        row.is.generation = 1;
        rc = pdr__rand_fill(row.is.id, pdr__rand_system(), PDR_STORE_ID, err);
        if (rc == PDR_OK)
            rc = draw_mark(db, err);
    }
    return rc == PDR_OK ? write_store_row(store, db, &row.is, err) : rc;
}

pdr_rc pdr__schema_row(struct pdr__store_row *out,
                       const struct pdr__sqlite *store, sqlite3 *db,
                       pdr_err *err)
{
    struct store_row row;
    pdr_rc rc = read_store_row(&row, store, db, err);

    *out = row.is;
    out->mark = store->writer.row.mark; /* it stays while we have the file */
    return rc;
}
