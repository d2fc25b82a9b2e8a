/*
 * row.c - rows that both reading and writing need: heads and completions.
 *
 * A column that is not of the type that we write is damage, and so is a number
 * below zero where none can be: digests are made from values, and a text "1"
 * would fit the digest of a number 1.
 */
#include "sqlite.h"

/* Takes the columns of a row from left to right. */
struct columns {
    sqlite3_stmt *stmt;     /* has them, */
    sqlite3_value **values; /* or these are they, if not NULL */
    int at;
    bool bad; /* one was not of its type */
};

/* The next column. It is asked for once: finding it costs SQLite more than
 * telling its type and its value. The value is not protected by a mutex, and
 * need not be: our connections have none, and one thread at a time. */
static sqlite3_value *take(struct columns *row)
{
    int at = row->at++;

    return row->values != NULL ? row->values[at]
                               : sqlite3_column_value(row->stmt, at);
}

static int64_t as_int(struct columns *row, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER) {
        row->bad = true;
        return 0;
    }
    return sqlite3_value_int64(value);
}

/* The bytes of a text or blob; those of an empty one have a pointer, too. */
static pdr_str as_bytes(struct columns *row, sqlite3_value *value, int type)
{
    const char *bytes = NULL;

    if (sqlite3_value_type(value) != type) {
        row->bad = true;
        return pdr_str_n("", 0);
    }
    bytes = sqlite3_value_blob(value);
    return pdr_str_n(bytes != NULL ? bytes : "",
                     (size_t)sqlite3_value_bytes(value));
}

static int64_t take_int(struct columns *row)
{
    return as_int(row, take(row));
}

static uint64_t take_count(struct columns *row)
{
    int64_t number = take_int(row);

    row->bad = row->bad || number < 0;
    return (uint64_t)number;
}

static int64_t take_time(struct columns *row)
{
    sqlite3_value *value = take(row);

    if (sqlite3_value_type(value) == SQLITE_NULL)
        return PDR_NEVER;
    return as_int(row, value);
}

static pdr_str take_text(struct columns *row)
{
    return as_bytes(row, take(row), SQLITE_TEXT);
}

static pdr_str take_or_none(struct columns *row, int type)
{
    sqlite3_value *value = take(row);

    if (sqlite3_value_type(value) == SQLITE_NULL)
        return pdr_str_n(NULL, 0);
    return as_bytes(row, value, type);
}

static void take_digest(pdr_digest out, struct columns *row)
{
    pdr_str bytes = as_bytes(row, take(row), SQLITE_BLOB);

    if (bytes.len == PDR_DIGEST_BYTES)
        memcpy(out, bytes.ptr, PDR_DIGEST_BYTES);
    else
        row->bad = true;
}

static void take_lists(pdr_head *out, struct columns *row)
{
    uint64_t flags = 0;

    out->first_seq = take_count(row);
    out->next_seq = take_count(row);
    out->slots = take_count(row);
    out->properties = take_count(row);
    out->completions = take_count(row);
    out->journal_first = take_count(row);
    out->journal_next = take_count(row);
    out->stream_first = take_count(row);
    out->stream_next = take_count(row);
    out->inbox = take_count(row);
    out->inbox_next = take_count(row);
    flags = take_count(row);
    out->has_frame = (flags & PDR_HEAD_FRAME) != 0;
    out->has_ttl = (flags & PDR_HEAD_TTL) != 0;
}

static pdr_rc take_head(pdr_head *out, struct columns *row, pdr_err *err)
{
    memset(out, 0, sizeof(*out));
    out->epoch = take_count(row);
    out->ref.tenant = take_text(row);
    out->ref.id = take_text(row);
    out->agent = take_or_none(row, SQLITE_TEXT);
    out->kind = take_text(row);
    out->schema_version = take_or_none(row, SQLITE_TEXT);
    if (!pdr__session_state_read(&out->state, take_text(row)))
        row->bad = true;
    out->revision = take_count(row);
    out->commits = take_count(row);
    out->created_ms = take_int(row);
    out->changed_ms = take_int(row);
    out->expiry_ms = take_time(row);
    take_lists(out, row);
    out->lease.owner = take_or_none(row, SQLITE_TEXT);
    out->lease.fence = take_count(row);
    out->lease.until_ms = take_int(row);
    take_digest(out->anchor, row);
    take_digest(out->chain, row);
    take_digest(out->digest, row);
    if (!row->bad)
        return PDR_OK;
    return PDR_FAIL(err, STORE_DAMAGED, "%s",
                    "a row of table 'sessions' is damaged; verify the store "
                    "and restore a backup");
}

pdr_rc pdr__sqlite_head(pdr_head *out, sqlite3_stmt *stmt, pdr_err *err)
{
    struct columns row = {stmt, NULL, 0, false};

    return take_head(out, &row, err);
}

pdr_rc pdr__sqlite_head_of(pdr_head *out, sqlite3_value **values, pdr_err *err)
{
    struct columns row = {NULL, values, 0, false};

    return take_head(out, &row, err);
}

pdr_rc pdr__sqlite_completion(pdr_completion *out, int64_t *n,
                              sqlite3_stmt *stmt, pdr_err *err)
{
    struct columns row = {stmt, NULL, 0, false};
    uint64_t session = 0;

    memset(out, 0, sizeof(*out));
    *n = take_int(&row);
    session = take_count(&row);
    out->correlation_id = take_text(&row);
    out->fingerprint = take_or_none(&row, SQLITE_BLOB);
    out->outcome = take_or_none(&row, SQLITE_TEXT);
    out->at_ms = take_int(&row);
    out->first_seq = take_count(&row);
    out->last_seq = take_count(&row);
    out->epoch = out->first_seq != 0 ? session : 0;
    take_digest(out->digest, &row);
    if (!row.bad)
        return PDR_OK;
    return PDR_FAIL(err, STORE_DAMAGED, "%s",
                    "a completion in table 'log' is damaged; verify the store "
                    "and restore a backup");
}
