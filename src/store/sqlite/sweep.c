/*
 * sweep.c - rows of sessions that no reader sees go, some at a time.
 *
 * WHY  A removed session may have a million rows, and everybody who commits
 *      waits while they go; or it has few that are large. So its head is hidden
 *      in the commit that removes it, and the rows, or those that did not go in
 *      time, go here, in steps of a few milliseconds that others commit
 *      between. What was staged and given up goes the same way.
 *
 *          unseen, its time is over ──► marked, some rows gone ──► …
 *                                   ──► the last rows and the head
 *
 * INVARIANTS, cited below as I1..I3
 *   I1  A step is one transaction. Killed at any moment, the head is there as
 *       long as a row is, so that the next sweep finds it.
 *   I2  A session of which a row is gone is marked as over for ever: who staged
 *       it cannot go on.
 *   I3  Rows go only under a head whose digest is right: a damaged number would
 *       lead to the rows of somebody else.
 */
#include "sqlite.h"

/* Rows that go before the clock is looked at. They may be large: so there are
 * few at first, and twice as many each time they took little time. */
#define FIRST_ROWS 4
#define MOST_ROWS  64

struct sweep {
    int64_t now_ms;
    int64_t deadline_ms;
    uint64_t no;          /* of the session that goes */
    bool is_marked;       /* I2 */
    pdr_digest marked;    /* digest of its head with the mark */
    pdr_sweep_report add; /* what this step did */
    bool more;
};

static pdr_rc failed(const struct pdr__sqlite *store, int code, pdr_err *err)
{
    return pdr__sqlite_fail(err, store->writer.db, code, "clearing");
}

/* Run a statement that changes rows. */
static pdr_rc change(const struct pdr__sqlite *store,
                     enum pdr__sqlite_sql which, pdr_err *err)
{
    int code = pdr__writer_step(&store->writer, which);

    return code == SQLITE_DONE ? PDR_OK : failed(store, code, err);
}

/* --- which one ----------------------------------------------------------- */

static pdr_rc take_head(struct sweep *sweep, const struct pdr__sqlite *store,
                        sqlite3_stmt *stmt, pdr_err *err)
{
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_head head;
    pdr_rc rc = pdr__sqlite_head(&head, stmt, err);

    if (rc == PDR_OK)
        rc = pdr__head_check(&seal, &store->base, &head, err); /* I3 */
    if (rc == PDR_OK && head.state != PDR_SESSION_UNSEEN)
        rc = PDR_FAIL(err, STORE_DAMAGED, "%s",
                      "a head among the unseen sessions is none of them; "
                      "verify the store and restore a backup");
    if (rc == PDR_OK) {
        sweep->no = head.epoch;
        sweep->is_marked = head.lease.until_ms == INT64_MIN;
        head.lease.until_ms = INT64_MIN;
        rc = pdr__seal_head(sweep->marked, &seal, &store->base, &head, err);
    }
    pdr__seal_dispose(&seal);
    return rc;
}

/* The first whose time is over, if there is one. */
static pdr_rc find_over(bool *found, struct sweep *sweep,
                        const struct pdr__sqlite *store, pdr_err *err)
{
    sqlite3_stmt *stmt = store->writer.stmt[PDR_SQL_GET_OVER];
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    pdr__bind_int(stmt, 1, sweep->now_ms);
    code = sqlite3_step(stmt);
    *found = code == SQLITE_ROW;
    if (*found)
        rc = take_head(sweep, store, stmt, err);
    else if (code != SQLITE_DONE)
        rc = failed(store, code, err);
    (void)sqlite3_reset(stmt);
    return rc;
}

/* --- its rows ------------------------------------------------------------ */

static int64_t clock_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

struct clearing {
    struct pdr__writer *writer;
    uint64_t no;   /* of the session */
    uint64_t most; /* rows in all */
    uint64_t some; /* rows before the next look at the clock */
    uint64_t rows; /* that are gone */
    bool is_empty; /* the table that it is at */
};

/* Some rows of one table; none is left if fewer went than asked for. */
static int clear_some(struct clearing *c, enum pdr__sqlite_sql which)
{
    sqlite3_stmt *stmt = c->writer->stmt[which];
    uint64_t left = c->most - c->rows;
    uint64_t wanted = c->some < left ? c->some : left;
    int64_t began_ms = clock_ms();
    uint64_t gone = 0;
    int code = SQLITE_OK;

    pdr__bind_int(stmt, 1, (int64_t)c->no);
    pdr__bind_int(stmt, 2, (int64_t)wanted);
    code = pdr__writer_step(c->writer, which);
    if (code != SQLITE_DONE)
        return code;
    gone = (uint64_t)sqlite3_changes(c->writer->db);
    c->rows += gone;
    c->is_empty = gone < wanted;
    if (clock_ms() > began_ms + 1) /* a millisecond may end at any time */
        c->some = FIRST_ROWS;
    else if (c->some < MOST_ROWS)
        c->some *= 2;
    return SQLITE_OK;
}

int pdr__sweep_rows(uint64_t *rows, bool *is_empty, struct pdr__writer *writer,
                    uint64_t no, uint64_t most, int64_t until_ms)
{
    static const enum pdr__sqlite_sql tables[] = {
        PDR_SQL_SWEEP_LOG, PDR_SQL_SWEEP_PARTS, PDR_SQL_SWEEP_PROPERTIES};
    struct clearing c = {
        .writer = writer, .no = no, .most = most, .some = FIRST_ROWS};
    size_t table = 0;
    int code = SQLITE_OK;

    while (code == SQLITE_OK && table < PDR_COUNT(tables) && c.rows < most &&
           clock_ms() < until_ms) {
        code = clear_some(&c, tables[table]);
        table += code == SQLITE_OK && c.is_empty;
    }
    *rows += c.rows;
    *is_empty = table == PDR_COUNT(tables);
    return code;
}

static pdr_rc mark(const struct sweep *sweep, const struct pdr__sqlite *store,
                   pdr_err *err)
{
    sqlite3_stmt *stmt = store->writer.stmt[PDR_SQL_MARK_UNSEEN];

    if (sweep->is_marked)
        return PDR_OK;
    pdr__bind_int(stmt, 1, (int64_t)sweep->no);
    pdr__bind_int(stmt, 2, INT64_MIN);
    pdr__bind_blob(stmt, 3, sweep->marked, sizeof(sweep->marked));
    return change(store, PDR_SQL_MARK_UNSEEN, err); /* I2 */
}

static pdr_rc clear(struct sweep *sweep, struct pdr__sqlite *store,
                    pdr_err *err)
{
    bool is_empty = false;
    int code =
        pdr__sweep_rows(&sweep->add.rows, &is_empty, &store->writer, sweep->no,
                        PDR_SWEEP_ROWS, clock_ms() + PDR_SWEEP_MS);

    if (code != SQLITE_OK)
        return failed(store, code, err);
    if (!is_empty)
        return mark(sweep, store, err);
    sweep->add.sessions = 1;
    pdr__bind_int(store->writer.stmt[PDR_SQL_REMOVE_UNSEEN], 1,
                  (int64_t)sweep->no);
    return change(store, PDR_SQL_REMOVE_UNSEEN, err); /* I1 */
}

/* --- a step -------------------------------------------------------------- */

/* How many are left, and how many of them are over. */
static pdr_rc count(struct sweep *sweep, const struct pdr__sqlite *store,
                    pdr_err *err)
{
    sqlite3_stmt *stmt = store->writer.stmt[PDR_SQL_COUNT_UNSEEN];
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    pdr__bind_int(stmt, 1, sweep->now_ms);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        sweep->add.left = (uint64_t)sqlite3_column_int64(stmt, 0);
        sweep->more = sqlite3_column_int64(stmt, 1) > 0;
    } else {
        rc = failed(store, code, err);
    }
    (void)sqlite3_reset(stmt);
    return rc;
}

/* Inside the transaction. */
static pdr_rc step(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    struct sweep *sweep = arg;
    bool found = false;
    pdr_rc rc = find_over(&found, sweep, store, err);

    if (rc == PDR_OK && found)
        rc = clear(sweep, store, err);
    return rc == PDR_OK ? count(sweep, store, err) : rc;
}

static pdr_rc lead(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    const struct sweep *sweep = arg;

    return pdr__writer_transact(store, sweep->deadline_ms, err, step, arg);
}

pdr_rc pdr__sqlite_sweep(pdr_store *self, int64_t now_ms,
                         pdr_sweep_report *report, bool *more, pdr_err *err)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct sweep sweep = {.now_ms = now_ms};
    pdr_rc rc = PDR_OK;

    sweep.deadline_ms = clock_ms() + (int64_t)PDR_COMMIT_TIMEOUT_MS;
    rc = pdr__group_run(store, sweep.deadline_ms, err, lead, &sweep);
    if (rc != PDR_OK)
        return rc;
    report->sessions += sweep.add.sessions;
    report->rows += sweep.add.rows;
    report->left = sweep.add.left;
    *more = sweep.more;
    return PDR_OK;
}
