/*
 * rows.c - statements of a reader, and the columns of what they give.
 *
 * WHY  SQLite turns types into one another without a word, and damage to the
 *      header of a record changes a type and leaves the bytes. A row is given
 *      on only if each column has the type that was written.
 */
#include "reader.h"

/* --- running ------------------------------------------------------------- */

pdr_rc pdr__rows_open(struct pdr__rows *rows, struct pdr__reader *reader,
                      unsigned slot, const char *sql, pdr_err *err)
{
    bool kept = slot < READER_KEPT;
    int code = SQLITE_OK;

    *rows = (struct pdr__rows){.reader = reader, .kept = kept};
    if (kept)
        rows->stmt = reader->kept[slot];
    if (rows->stmt != NULL)
        return PDR_OK;
    code = sqlite3_prepare_v3(reader->db, sql, -1,
                              kept ? SQLITE_PREPARE_PERSISTENT : 0, &rows->stmt,
                              NULL);
    if (code != SQLITE_OK)
        return pdr__sqlite_fail(err, reader->db, code, "reading");
    if (kept)
        reader->kept[slot] = rows->stmt;
    return PDR_OK;
}

void pdr__rows_close(struct pdr__rows *rows)
{
    /* What they return is the failure that the caller has seen already. */
    if (rows->kept)
        (void)sqlite3_reset(rows->stmt);
    else
        (void)sqlite3_finalize(rows->stmt);
    rows->stmt = NULL;
}

pdr_rc pdr__rows_check(const struct pdr__rows *rows, const char *table,
                       pdr_err *err)
{
    if (PDR_LIKELY(!rows->bad))
        return PDR_OK;
    return PDR_FAIL(err, STORE_DAMAGED,
                    "table '%s': a row has columns that are not as they were "
                    "written; verify the store and restore a backup",
                    table);
}

pdr_rc pdr__wrong_index(const char *index, pdr_err *err)
{
    return PDR_FAIL(err, WRONG_INDEX,
                    "'%s' leads to a row that says something else; verify the "
                    "store and restore a backup",
                    index);
}

pdr_rc pdr__rows_next(bool *more, struct pdr__rows *rows, pdr_err *err)
{
    int code = rows->failed;

    if (code == SQLITE_OK)
        code = sqlite3_step(rows->stmt);
    *more = code == SQLITE_ROW;
    rows->values = NULL;
    rows->at = 0;
    rows->bad = false;
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return PDR_OK;
    return pdr__sqlite_fail(err, rows->reader->db, code, "reading");
}

/* --- arguments ----------------------------------------------------------- */

static void taken(struct pdr__rows *rows, int code)
{
    if (rows->failed == SQLITE_OK)
        rows->failed = code;
}

void pdr__rows_bind(struct pdr__rows *rows, int64_t number)
{
    taken(rows, sqlite3_bind_int64(rows->stmt, ++rows->at, number));
}

void pdr__rows_bind_text(struct pdr__rows *rows, pdr_str text)
{
    taken(rows, sqlite3_bind_text64(rows->stmt, ++rows->at, text.ptr, text.len,
                                    SQLITE_STATIC, SQLITE_UTF8));
}

void pdr__rows_bind_last(struct pdr__rows *rows)
{
    taken(rows, sqlite3_bind_zeroblob(rows->stmt, ++rows->at, 0));
}

/* --- columns ------------------------------------------------------------- */

void pdr__rows_hand(struct pdr__rows *rows, sqlite3_value **values)
{
    rows->values = values;
    rows->at = 0;
    rows->bad = false;
}

/* The next column, asked for once; see take() in row.c. */
static sqlite3_value *take(struct pdr__rows *rows)
{
    int at = rows->at++;

    return rows->values != NULL ? rows->values[at]
                                : sqlite3_column_value(rows->stmt, at);
}

static bool has_type(struct pdr__rows *rows, sqlite3_value *value, int type)
{
    if (sqlite3_value_type(value) == type)
        return true;
    rows->bad = true;
    return false;
}

static int64_t as_int(struct pdr__rows *rows, sqlite3_value *value)
{
    return has_type(rows, value, SQLITE_INTEGER) ? sqlite3_value_int64(value)
                                                 : 0;
}

/* As a blob: for a text SQLite would make a copy with a final NUL. */
static pdr_str as_text(struct pdr__rows *rows, sqlite3_value *value)
{
    pdr_str text = {"", 0};

    if (!has_type(rows, value, SQLITE_TEXT))
        return text;
    text.len = (size_t)sqlite3_value_bytes(value);
    if (text.len > 0)
        text.ptr = sqlite3_value_blob(value);
    return text;
}

int64_t pdr__rows_int(struct pdr__rows *rows)
{
    return as_int(rows, take(rows));
}

int64_t pdr__rows_int_or(struct pdr__rows *rows, int64_t missing)
{
    sqlite3_value *value = take(rows);

    return sqlite3_value_type(value) == SQLITE_NULL ? missing
                                                    : as_int(rows, value);
}

uint64_t pdr__rows_count(struct pdr__rows *rows)
{
    int64_t number = pdr__rows_int(rows);

    rows->bad = rows->bad || number < 0;
    return (uint64_t)number;
}

pdr_str pdr__rows_text(struct pdr__rows *rows)
{
    return as_text(rows, take(rows));
}

pdr_str pdr__rows_text_or_none(struct pdr__rows *rows)
{
    sqlite3_value *value = take(rows);

    return sqlite3_value_type(value) == SQLITE_NULL ? pdr_str_n(NULL, 0)
                                                    : as_text(rows, value);
}

void pdr__rows_digest(pdr_digest out, struct pdr__rows *rows)
{
    sqlite3_value *value = take(rows);

    if (!has_type(rows, value, SQLITE_BLOB) ||
        sqlite3_value_bytes(value) != PDR_DIGEST_BYTES) {
        rows->bad = true;
        memset(out, 0, PDR_DIGEST_BYTES);
        return;
    }
    memcpy(out, sqlite3_value_blob(value), PDR_DIGEST_BYTES);
}

pdr_rc pdr__rows_work(pdr_work *out, struct pdr__rows *rows, pdr_err *err)
{
    memset(out, 0, sizeof(*out));
    out->n = pdr__rows_count(rows);
    out->due_ms = pdr__rows_int_or(rows, PDR_NEVER);
    out->kind = pdr__rows_text(rows);
    out->correlation_id = pdr__rows_text_or_none(rows);
    out->body = pdr__rows_text(rows);
    pdr__rows_digest(out->digest, rows);
    return pdr__rows_check(rows, "parts", err);
}
