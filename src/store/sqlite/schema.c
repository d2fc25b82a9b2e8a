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
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  The number of a session is its epoch. It comes from the counter in
 *       `store` and is never used again.
 *   I2  Numbers sort in front of texts: the entries of a session come first in
 *       log_by_key, then its completions.
 *   I3  The texts in sqlite_schema are the texts below, byte for byte.
 *   I4  A file is ours only when all of it was made in one transaction: one
 *       that a killed process left is empty, and is made again.
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

/* What is made, in this order: type, name, text. */
struct object {
    const char *name;
    const char *sql;
};

/* clang-format off */
static const struct object objects[] = {
    {"store",
     "CREATE TABLE store(one INTEGER PRIMARY KEY,schema INTEGER,"
     "number INTEGER,keyed INTEGER,key_check BLOB,created INTEGER,"
     "digest BLOB)"},
    {"sessions",
     "CREATE TABLE sessions(no INTEGER PRIMARY KEY,tenant TEXT,id TEXT,"
     "agent TEXT,kind TEXT,schema_version TEXT,state TEXT,revision INTEGER,"
     "commits INTEGER,created INTEGER,changed INTEGER,expiry INTEGER,"
     "first_seq INTEGER,next_seq INTEGER,slots INTEGER,properties INTEGER,"
     "completions INTEGER,journal_first INTEGER,journal_next INTEGER,"
     "stream_first INTEGER,stream_next INTEGER,inbox INTEGER,"
     "inbox_next INTEGER,has_frame INTEGER,lease_owner TEXT,fence INTEGER,"
     "lease_until INTEGER,anchor BLOB,chain BLOB,digest BLOB)"},
    {"sessions_by_id",
     "CREATE UNIQUE INDEX sessions_by_id ON sessions(tenant,id)"},
    {"sessions_by_state",
     "CREATE INDEX sessions_by_state ON sessions(tenant,state,changed,id)"},
    {"sessions_by_agent",
     "CREATE INDEX sessions_by_agent ON sessions(tenant,agent,changed,id)"
     " WHERE agent IS NOT NULL"},
    {"sessions_by_expiry",
     "CREATE INDEX sessions_by_expiry ON sessions(expiry)"
     " WHERE expiry IS NOT NULL"},
    {"log",
     "CREATE TABLE log(n INTEGER PRIMARY KEY,session INTEGER,key,kind INTEGER,"
     "shape INTEGER,created INTEGER,correlation_id TEXT,first_seq INTEGER,"
     "last_seq INTEGER,fingerprint BLOB,digest BLOB,separator TEXT,body TEXT)"},
    {"log_by_key", "CREATE UNIQUE INDEX log_by_key ON log(session,key)"},
    {"parts",
     "CREATE TABLE parts(session INTEGER,part INTEGER,key,due INTEGER,"
     "kind TEXT,correlation_id TEXT,digest BLOB,body TEXT,"
     "PRIMARY KEY(session,part,key)) WITHOUT ROWID"},
    {"parts_by_due",
     "CREATE INDEX parts_by_due ON parts(due,session,key)"
     " WHERE due IS NOT NULL"},
    {"properties",
     "CREATE TABLE properties(session INTEGER,key TEXT,value TEXT,match TEXT,"
     "digest BLOB,tenant TEXT,id TEXT,PRIMARY KEY(session,key)) WITHOUT ROWID"},
    {"properties_by_match",
     "CREATE INDEX properties_by_match ON properties(tenant,key,match,id)"
     " WHERE match IS NOT NULL"},
    {"conversation",
     "CREATE VIEW conversation AS SELECT s.tenant,s.id,l.key AS seq," KIND
     " AS kind," UTC("l.created") " AS created,l.correlation_id,l.body"
     " FROM sessions s JOIN log l ON l.session=s.no AND l.key<''"
     " ORDER BY s.tenant,s.id,l.key"},
    {"completions",
     "CREATE VIEW completions AS SELECT s.tenant,s.id,l.key AS correlation_id,"
     UTC("l.created") " AS at,l.first_seq,l.last_seq,l.body AS outcome"
     " FROM sessions s JOIN log l ON l.session=s.no AND l.key>=''"},
    {"bag",
     "CREATE VIEW bag AS SELECT s.tenant,s.id,p.key,p.body AS value"
     " FROM sessions s JOIN parts p ON p.session=s.no AND p.part=3"},
    {"journal", WORK_VIEW("journal", "0")},
    {"stream", WORK_VIEW("stream", "1")},
    {"inbox", WORK_VIEW("inbox", "2")},
};
/* clang-format on */

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
                        uint64_t number, int64_t created_ms, pdr_err *err)
{
    uint8_t bytes[8 + 4 * 8] = "store";

    put_number(bytes + 8, PDR_SQLITE_SCHEMA);
    put_number(bytes + 16, number);
    put_number(bytes + 24, store->base.key != NULL);
    put_number(bytes + 32, (uint64_t)created_ms);
    return digest_of(out, store, pdr_str_n((const char *)bytes, sizeof(bytes)),
                     err);
}

/* Tells whether a key is the one that the store was made with, and nothing
 * about the key. */
static pdr_rc key_check(pdr_digest out, const struct pdr__sqlite *store,
                        pdr_err *err)
{
    return digest_of(out, store, PDR_LIT("perdure: the key of this store"),
                     err);
}

/* --- making them --------------------------------------------------------- */

static pdr_rc run(sqlite3 *db, const char *sql, const char *what, pdr_err *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? PDR_OK : pdr__sqlite_fail(err, db, code, what);
}

static void bind_store_row(sqlite3_stmt *stmt, const struct pdr__sqlite *store,
                           int64_t now_ms, const pdr_digest check,
                           const pdr_digest digest)
{
    bool keyed = store->base.key != NULL;

    pdr__bind_int(stmt, 1, PDR_SQLITE_SCHEMA);
    pdr__bind_int(stmt, 2, keyed);
    pdr__bind_blob(stmt, 3, keyed ? check : NULL, PDR_DIGEST_BYTES);
    pdr__bind_int(stmt, 4, now_ms);
    pdr__bind_blob(stmt, 5, digest, PDR_DIGEST_BYTES);
}

static pdr_rc add_store_row(const struct pdr__sqlite *store, sqlite3 *db,
                            int64_t now_ms, pdr_err *err)
{
    const char *sql = "INSERT INTO store(one,schema,number,keyed,key_check,"
                      "created,digest) VALUES(1,?1,0,?2,?3,?4,?5)";
    sqlite3_stmt *stmt = NULL;
    pdr_digest check, digest;
    pdr_rc rc = key_check(check, store, err);
    int code = SQLITE_OK;

    if (rc == PDR_OK)
        rc = pdr__schema_seal(digest, store, 0, now_ms, err);
    if (rc != PDR_OK)
        return rc;
    code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        bind_store_row(stmt, store, now_ms, check, digest);
        code = sqlite3_step(stmt);
    }
    if (code != SQLITE_DONE)
        rc = pdr__sqlite_fail(err, db, code, "making the store");
    (void)sqlite3_finalize(stmt);
    return rc;
}

static pdr_rc make_all(const struct pdr__sqlite *store, sqlite3 *db,
                       int64_t now_ms, pdr_err *err)
{
    static const char what[] = "making the tables";
    char pragma[64];
    pdr_rc rc = run(db, "BEGIN IMMEDIATE", what, err);

    for (size_t i = 0; i < PDR_COUNT(objects) && rc == PDR_OK; i++)
        rc = run(db, objects[i].sql, what, err);
    if (rc == PDR_OK)
        rc = add_store_row(store, db, now_ms, err);
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d",
                   PDR_SQLITE_APPLICATION);
    if (rc == PDR_OK)
        rc = run(db, pragma, what, err);
    if (rc == PDR_OK) /* I4 */
        rc = run(db, "COMMIT", what, err);
    return rc;
}

pdr_rc pdr__schema_make(struct pdr__sqlite *store, sqlite3 *db, int64_t now_ms,
                        pdr_err *err)
{
    pdr_rc rc = make_all(store, db, now_ms, err);

    if (rc != PDR_OK && sqlite3_get_autocommit(db) == 0)
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* --- finding out --------------------------------------------------------- */

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

static const struct object *find_object(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(objects); i++)
        if (pdr_str_equal(name, pdr_str_c(objects[i].name)))
            return &objects[i];
    return NULL;
}

static pdr_str text_at(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return pdr_str_n(
        text, text != NULL ? (size_t)sqlite3_column_bytes(stmt, column) : 0);
}

/* One row of sqlite_schema: type, name, sql. */
static pdr_rc check_object(sqlite3_stmt *stmt, pdr_err *err)
{
    pdr_str type = text_at(stmt, 0), name = text_at(stmt, 1);
    const struct object *object = find_object(name);
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

static pdr_rc check_objects(sqlite3 *db, pdr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    size_t found = 0;
    pdr_rc rc = PDR_OK;
    int code = sqlite3_prepare_v2(db, "SELECT type,name,sql FROM sqlite_schema",
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    while (code == SQLITE_ROW && rc == PDR_OK) {
        rc = check_object(stmt, err);
        found++;
        if (rc == PDR_OK)
            code = sqlite3_step(stmt);
    }
    if (rc == PDR_OK && code != SQLITE_DONE)
        rc = pdr__sqlite_fail(err, db, code, "reading the tables of the store");
    (void)sqlite3_finalize(stmt);
    if (rc == PDR_OK && found != PDR_COUNT(objects))
        rc = PDR_FAIL(err, NOT_A_STORE,
                      "the store has %zu tables, indexes and views, it must "
                      "have %zu; restore a backup",
                      found, PDR_COUNT(objects));
    return rc;
}

/* --- the one row, read --------------------------------------------------- */

struct store_row {
    int64_t number, keyed, created;
    pdr_digest digest, check;
    bool whole; /* each column is of its type */
};

static bool digest_at(pdr_digest out, sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) != SQLITE_BLOB ||
        sqlite3_column_bytes(stmt, column) != PDR_DIGEST_BYTES)
        return false;
    memcpy(out, sqlite3_column_blob(stmt, column), PDR_DIGEST_BYTES);
    return true;
}

static void read_columns(struct store_row *out, sqlite3_stmt *stmt)
{
    out->number = sqlite3_column_int64(stmt, 0);
    out->keyed = sqlite3_column_int64(stmt, 1);
    out->created = sqlite3_column_int64(stmt, 2);
    out->whole = digest_at(out->digest, stmt, 3) &&
                 (out->keyed == 0 || digest_at(out->check, stmt, 4));
}

static pdr_rc read_store_row(struct store_row *out, sqlite3 *db, pdr_err *err)
{
    const char *sql = "SELECT number,keyed,created,digest,key_check FROM store"
                      " WHERE one=1";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        read_columns(out, stmt);
    else if (code != SQLITE_DONE)
        rc = pdr__sqlite_fail(err, db, code, "opening the store");
    (void)sqlite3_finalize(stmt);
    if (rc == PDR_OK && !out->whole)
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

static pdr_rc check_store_row(const struct pdr__sqlite *store, sqlite3 *db,
                              pdr_err *err)
{
    struct store_row row;
    pdr_digest wanted;
    pdr_rc rc = read_store_row(&row, db, err);

    if (rc == PDR_OK)
        rc = check_key(store, &row, err);
    if (rc == PDR_OK)
        rc = pdr__schema_seal(wanted, store, (uint64_t)row.number, row.created,
                              err);
    if (rc == PDR_OK && memcmp(wanted, row.digest, sizeof(wanted)) != 0)
        rc = PDR_FAIL(err, BAD_DIGEST, "%s",
                      "the row of table 'store' does not fit its digest; "
                      "restore a backup");
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

pdr_rc pdr__schema_check(struct pdr__sqlite *store, sqlite3 *db, pdr_err *err)
{
    int64_t application = 0;
    pdr_rc rc = ask(&application, db, "PRAGMA application_id", err);

    if (rc == PDR_OK && application != PDR_SQLITE_APPLICATION)
        return not_ours(store, err);
    if (rc == PDR_OK)
        rc = check_version(store, db, err);
    if (rc == PDR_OK)
        rc = check_objects(db, err);
    if (rc == PDR_OK)
        rc = check_store_row(store, db, err);
    return rc;
}
