/*
 * readers.c - connections that only read.
 *
 * WHY  A read must not wait for a commit, and SQLite lets any number of
 *      connections read beside the one that writes. Opening one costs more than
 *      a page of rows, so a few are kept, each with the statements that it has
 *      prepared.
 *
 *          take ──► begin ──► rows of one moment ──► end ──► give
 *
 * INVARIANTS, cited below as I1..I5
 *   I1  A reader in the pool holds no snapshot: no statement of it runs and no
 *       transaction is open. So nothing that waits keeps the log from being
 *       begun anew.
 *   I2  A snapshot lasts for one page of rows.
 *   I3  At most PDR_MAX_READERS are open; who comes then waits for the first
 *       that is given back. Nobody takes a second one while holding one, so
 *       this ends.
 *   I4  Each moment of a store of an older version begins with a look whether
 *       it still is of that version. Another process may migrate it: it counts
 *       those who write, not those who read. What a reader knows of the tables
 *       would not be true any more.
 *   I5  A medium that can only be read may be a view of one that others write
 *       to, as containers have them. What SQLite took for unchanging is looked
 *       at each time.
 */
#include <inttypes.h>

#include "file.h"
#include "reader.h"

/* --- one reader ---------------------------------------------------------- */

/* NULL is fine. */
static void close_reader(struct pdr__reader *reader)
{
    if (reader == NULL)
        return;
    for (size_t i = 0; i < READER_KEPT; i++)
        (void)sqlite3_finalize(reader->kept[i]);
    (void)sqlite3_close(reader->db);
    pdr__free(reader);
}

static void index_only(sqlite3_context *context, int count,
                       sqlite3_value **values)
{
    const struct pdr__reader *reader = sqlite3_user_data(context);

    (void)count;
    (void)values;
    sqlite3_result_int(context, reader->index_only);
}

static void take_row(sqlite3_context *context, int count,
                     sqlite3_value **values)
{
    struct pdr__reader *reader = sqlite3_user_data(context);
    struct pdr__taker *taker = reader->taker;

    (void)count;
    taker->rc = taker->fn(taker->arg, values);
}

static pdr_rc add_functions(struct pdr__reader *reader, pdr_err *err)
{
    const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int code = sqlite3_create_function(reader->db, PDR_INDEX_ONLY, 0, flags,
                                       reader, index_only, NULL, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_create_function(reader->db, PDR_TAKE_ROW, -1, flags,
                                       reader, take_row, NULL, NULL);
    return code == SQLITE_OK
               ? PDR_OK
               : pdr__sqlite_fail(err, reader->db, code, "opening the store");
}

pdr_rc pdr__reader_open(struct pdr__reader **out,
                        const struct pdr__sqlite *store, pdr_err *err)
{
    struct pdr__reader *reader = pdr__calloc(1, sizeof(*reader));
    pdr_rc rc = PDR_OK;

    if (reader == NULL)
        return pdr__nomem(err);
    rc = pdr__sqlite_connect(&reader->db, store, true, err);
    if (rc == PDR_OK)
        rc = add_functions(reader, err);
    if (rc == PDR_OK)
        *out = reader;
    else
        close_reader(reader);
    return rc;
}

/* --- the pool ------------------------------------------------------------ */

pdr_rc pdr__readers_init(struct pdr__readers *readers, pdr_err *err)
{
    (void)err; /* with these arguments they cannot fail on any system of ours */
    (void)pthread_mutex_init(&readers->lock, NULL);
    (void)pthread_cond_init(&readers->given, NULL);
    (void)pthread_mutex_init(&readers->polling, NULL);
    readers->idle = readers->poller = NULL;
    readers->open = 0;
    return PDR_OK;
}

void pdr__readers_dispose(struct pdr__readers *readers)
{
    while (readers->idle != NULL) {
        struct pdr__reader *next = readers->idle->next;

        close_reader(readers->idle);
        readers->idle = next;
    }
    close_reader(readers->poller);
    (void)pthread_mutex_destroy(&readers->polling);
    (void)pthread_cond_destroy(&readers->given);
    (void)pthread_mutex_destroy(&readers->lock);
}

pdr_rc pdr__reader_take(struct pdr__reader **out, struct pdr__sqlite *store,
                        pdr_err *err)
{
    struct pdr__readers *pool = &store->readers;
    pdr_rc rc = PDR_OK;

    pthread_mutex_lock(&pool->lock);
    while (pool->idle == NULL && pool->open == PDR_MAX_READERS) /* I3 */
        pthread_cond_wait(&pool->given, &pool->lock);
    *out = pool->idle;
    if (*out != NULL)
        pool->idle = (*out)->next;
    else
        pool->open++;
    pthread_mutex_unlock(&pool->lock);
    if (*out == NULL)
        rc = pdr__reader_open(out, store, err);
    if (rc != PDR_OK) {
        pthread_mutex_lock(&pool->lock);
        pool->open--;
        pthread_cond_signal(&pool->given);
        pthread_mutex_unlock(&pool->lock);
    }
    return rc;
}

void pdr__reader_give(struct pdr__sqlite *store, struct pdr__reader *reader)
{
    struct pdr__readers *pool = &store->readers;

    bool is_open = false;

    if (reader == NULL)
        return;
    /* One whose moment could not be ended would show it for ever (I1). */
    is_open = sqlite3_get_autocommit(reader->db) != 0;
    if (!is_open)
        close_reader(reader);
    pthread_mutex_lock(&pool->lock);
    if (is_open) {
        reader->next = pool->idle;
        pool->idle = reader;
    } else {
        pool->open--;
    }
    pthread_cond_signal(&pool->given);
    pthread_mutex_unlock(&pool->lock);
}

/* --- one moment ---------------------------------------------------------- */

static pdr_rc run(struct pdr__reader *reader, unsigned slot, const char *sql,
                  pdr_err *err)
{
    struct pdr__rows rows;
    bool more = false;
    pdr_rc rc = pdr__rows_open(&rows, reader, slot, sql, err);

    if (rc == PDR_OK)
        rc = pdr__rows_next(&more, &rows, err);
    pdr__rows_close(&rows);
    return rc;
}

/* I4. A version that is written stays what it is while somebody has it. */
static pdr_rc check_version(const struct pdr__sqlite *store,
                            struct pdr__reader *reader, pdr_err *err)
{
    struct pdr__rows rows;
    bool found = false;
    int64_t version = store->schema;
    pdr_rc rc = pdr__rows_open(&rows, reader, READER_SCHEMA,
                               "SELECT schema FROM store WHERE one=1", err);

    if (rc == PDR_OK)
        rc = pdr__rows_next(&found, &rows, err);
    if (rc == PDR_OK && found)
        version = pdr__rows_int(&rows);
    pdr__rows_close(&rows);
    if (rc == PDR_OK && version > store->schema)
        rc = PDR_FAIL(err, STORE_VERSION,
                      "the store was migrated to version %" PRId64
                      " while it is open; open it again",
                      version);
    return rc;
}

/* I5 */
static pdr_rc check_unchanged(const struct pdr__sqlite *store, pdr_err *err)
{
    if (!store->alone ||
        (pdr__file_changed_ns(store->path) == store->changed_ns &&
         pdr__file_bytes(store->log_path) == 0))
        return PDR_OK;
    return PDR_FAIL(err, STORE_CHANGED, "%s",
                    "the store can only be read here, and somebody writes to "
                    "it elsewhere; open it again");
}

pdr_rc pdr__reader_begin(const struct pdr__sqlite *store,
                         struct pdr__reader *reader, pdr_err *err)
{
    pdr_rc rc = check_unchanged(store, err);

    if (rc == PDR_OK)
        rc = run(reader, READER_BEGIN, "BEGIN", err);
    if (rc != PDR_OK || store->schema == PDR_SQLITE_SCHEMA)
        return rc;
    rc = check_version(store, reader, err);
    return rc == PDR_OK ? rc : pdr__reader_end(reader, rc, err);
}

pdr_rc pdr__reader_end(struct pdr__reader *reader, pdr_rc rc, pdr_err *err)
{
    pdr_rc ended = PDR_OK;

    if (sqlite3_get_autocommit(reader->db)) /* SQLite ended it: it failed */
        return rc;
    ended = run(reader, READER_COMMIT, "COMMIT", rc == PDR_OK ? err : NULL);
    return rc == PDR_OK ? ended : rc;
}
