/*
 * reader.h - what the reading side of this backend shares: connections that
 * only read, and rows whose columns are taken with their types checked.
 */
#ifndef PDR_SQLITE_READER_H
#define PDR_SQLITE_READER_H

#include "sqlite.h"

/* The statements that a reader keeps. Their texts stand in the files that run
 * them. */
enum pdr__reader_slot {
    /* readers.c, info.c */
    READER_BEGIN,
    READER_COMMIT,
    READER_SCHEMA,
    READER_VERSION,
    READER_STATES,
    /* read.c */
    READER_HEAD,
    READER_ENTRIES_UP,
    READER_ENTRIES_DOWN,
    READER_DIGEST,
    READER_SLOT,
    READER_SLOTS,
    READER_PROPERTY,
    READER_PROPERTIES,
    READER_COMPLETION,
    READER_COMPLETIONS,
    READER_FRAME,
    READER_WORK_UP,
    READER_WORK_DOWN,
    /* list.c */
    READER_BY_CHANGE,
    READER_BY_AGENT,
    READER_BY_STATE,
    READER_BY_PROPERTY,
    READER_BY_PREFIX,
    READER_BY_ID,
    READER_BY_EXPIRY,
    READER_BY_DUE,
    READER_NUMBER,
    READER_KEPT /* how many there are */
};

/* Functions in the statements of lists.
 *
 * PDR_TAKE_ROW    Gives the taker the columns of a row. A function gets all of
 *     them at once; taken from the statement each one is a call, and that was a
 *     tenth of a list.
 * PDR_INDEX_ONLY  Is the next row looked at in the index only? An argument
 * could not change while a statement runs. */
#define PDR_TAKE_ROW   "take_row"
#define PDR_INDEX_ONLY "index_only"

struct pdr__taker {
    /* The values live until it returns. */
    pdr_rc (*fn)(void *arg, sqlite3_value **values);
    void *arg;
    pdr_rc rc; /* what `fn` returned; asked after each step */
};

/* One connection, in use by one thread at a time. */
struct pdr__reader {
    sqlite3 *db;                     /* owned */
    sqlite3_stmt *kept[READER_KEPT]; /* owned; NULL: not made yet */
    struct pdr__taker *taker;        /* of the list that runs; borrowed */
    bool index_only;                 /* what PDR_INDEX_ONLY gives from now on */
    struct pdr__reader *next;        /* of those that wait in the pool */
};

/* One page on its way. */
struct pdr__reading {
    struct pdr__sqlite *store;
    struct pdr__reader *reader;
    pdr_page *page;
    const pdr_query *query;
    unsigned slot;         /* of the statement of a list */
    struct pdr__seal seal; /* for rows that are checked on the way */
};

/* --- the pool (readers.c) --------------------------------------------------
 */

/* A connection outside of the pool. */
PDR_MUST_CHECK pdr_rc pdr__reader_open(struct pdr__reader **out,
                                       const struct pdr__sqlite *store,
                                       pdr_err *err);
/* A reader for the caller alone, for one page of rows; waits while all are in
 * use. */
PDR_MUST_CHECK pdr_rc pdr__reader_take(struct pdr__reader **out,
                                       struct pdr__sqlite *store, pdr_err *err);
/* NULL is fine. */
void pdr__reader_give(struct pdr__sqlite *store, struct pdr__reader *reader);

/* All that is read between these two is of one moment. pdr__reader_begin()
 * fails with STORE_VERSION if the store was migrated since it was opened, and
 * needs no end then; pdr__reader_end() gives `rc`, or its own failure if that
 * is PDR_OK. */
PDR_MUST_CHECK pdr_rc pdr__reader_begin(const struct pdr__sqlite *store,
                                        struct pdr__reader *reader,
                                        pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__reader_end(struct pdr__reader *reader, pdr_rc rc,
                                      pdr_err *err);

/* --- rows (rows.c) ---------------------------------------------------------
 * A statement that runs: open, arguments from left to right, then for each row
 * its columns from left to right; close in any case.
 *
 * A column that is not of the type that we write makes the row `bad`: damage
 * can turn a text into a blob of the same bytes.
 */
struct pdr__rows {
    struct pdr__reader *reader; /* borrowed */
    sqlite3_stmt *stmt;         /* borrowed from the reader if `kept` */
    sqlite3_value **values;     /* of a row that was handed over, or NULL */
    bool kept;
    int failed; /* code of the first argument that was not taken */
    int at;     /* number of the next argument or column */
    bool bad;   /* the present row has a column that is not ours */
};

/* `slot`: keep the statement there; READER_KEPT: release it at the end. */
PDR_MUST_CHECK pdr_rc pdr__rows_open(struct pdr__rows *rows,
                                     struct pdr__reader *reader, unsigned slot,
                                     const char *sql, pdr_err *err);
/* The next row, or `*more` is false. */
PDR_MUST_CHECK pdr_rc pdr__rows_next(bool *more, struct pdr__rows *rows,
                                     pdr_err *err);
/* Take the columns that follow from `values`. */
void pdr__rows_hand(struct pdr__rows *rows, sqlite3_value **values);
/* Was each column that was taken of its type? Fails with STORE_DAMAGED. */
PDR_MUST_CHECK pdr_rc pdr__rows_check(const struct pdr__rows *rows,
                                      const char *table, pdr_err *err);
void pdr__rows_close(struct pdr__rows *rows);

/* Arguments; texts are borrowed until the rows are closed. */
void pdr__rows_bind(struct pdr__rows *rows, int64_t number);
void pdr__rows_bind_text(struct pdr__rows *rows, pdr_str text);
/* What is above every text. */
void pdr__rows_bind_last(struct pdr__rows *rows);

/* Columns. Texts live until the next row. */
int64_t pdr__rows_int(struct pdr__rows *rows);
/* A number that may be missing. */
int64_t pdr__rows_int_or(struct pdr__rows *rows, int64_t missing);
/* A number that is not below 0. */
uint64_t pdr__rows_count(struct pdr__rows *rows);
pdr_str pdr__rows_text(struct pdr__rows *rows);
pdr_str pdr__rows_text_or_none(struct pdr__rows *rows);
void pdr__rows_digest(pdr_digest out, struct pdr__rows *rows);

/* A row of work: key, due, kind, correlation_id, body, digest. */
PDR_MUST_CHECK pdr_rc pdr__rows_work(pdr_work *out, struct pdr__rows *rows,
                                     pdr_err *err);

/* The statement of a slot, READER_HEAD to READER_WORK_DOWN (read.c). Static. */
const char *pdr__read_sql(unsigned slot);

/* --- lists (list.c) --------------------------------------------------------
 */

/* Fill the page of a query that is about many sessions. */
PDR_MUST_CHECK pdr_rc pdr__reading_list(struct pdr__reading *reading,
                                        pdr_err *err);
/* The statement of a slot, READER_BY_CHANGE to READER_BY_DUE. Static. */
const char *pdr__list_sql(unsigned slot);

/* --- damage ----------------------------------------------------------------
 */

/* An index says something else than the row that it leads to. */
pdr_rc pdr__wrong_index(const char *index, pdr_err *err);

/* --- who reads (info.c) ----------------------------------------------------
 */

/* The process that holds a mark of a reader on the file `shm`, by the list of
 * locks in the file `locks`; if possible not this one. 0: nobody. */
int64_t pdr__sqlite_pinned_by(const char *shm, const char *locks);

#endif
