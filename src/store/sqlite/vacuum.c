/*
 * vacuum.c - free room goes back to the file system.
 *
 * WHY  Free pages are used again by commits. Who removed much and writes little
 *      wants them back. SQLite's VACUUM would hold the lock for as long as it
 *      takes to write the whole file; here it is done in steps, each with the
 *      lock for about PDR_VACUUM_STEP_US, and commits come between two of them.
 *
 *          MOVE    rows of sparse stretches of `log` to its end (sparse.c)
 *            ▼
 *          GIVE    pages at the end of the file into free places, and the file
 *            ▼     ends where they stood
 *          COPY    the log into the main file: now it is shorter
 *
 *      Between the steps, too, the log is copied often: each time little.
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  Each step is one transaction, or one copy of the log. Stopped or killed
 *       between two of them, or in one, the store is whole.
 *   I2  A vacuum ends, whatever others remove meanwhile: it looks at each
 *       stretch that was there at its beginning once, and gives at most as many
 *       pages as the file had.
 *   I3  Only the leader touches what a vacuum remembers, so two of them at once
 *       share the work.
 *   I4  A step ends by what it has done, and by the clock. How much the steps
 *       before did in their time is a hint: a thousand empty stretches say
 *       nothing about the one behind them.
 */
#include <time.h>

#include "file.h"
#include "sqlite.h"

/* A stretch with at most so many rows is moved. */
#define SPARSE (PDR_STRETCH * 3 / 4)

/* Bytes of the log that make a copy worth a step of its own. */
#define COPY_BYTES ((uint64_t)4 * 1024 * 1024)

/* How often the last copy is tried while readers hold the log, and how long a
 * try waits for them, and how long it rests afterwards. */
#define COPY_TRIES 50u
#define READERS_MS 20
#define REST_NS    20000000

/* Of what a step does, at the first one, and at most. */
#define FIRST_AMOUNT 8u
#define MAX_AMOUNT   1024u

/* Rows that a step moves, and a stretch more at most; pages that it gives. Each
 * row stands in two indexes, each page in another one: together they make some
 * megabytes of the log, however they lie. */
#define MOVE_ROWS  512u
#define GIVE_PAGES 512u

/* One step, on the thread of the leader. */
struct step {
    pdr_vacuum_report *report;
    int64_t began_us;
    bool more;
    bool copies; /* the log: no step to learn from */
    bool waits;  /* readers hold the log */
};

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static pdr_rc ask(int64_t *out, struct pdr__writer *writer,
                  enum pdr__sqlite_sql which, pdr_err *err)
{
    sqlite3_stmt *stmt = writer->stmt[which];
    int code = sqlite3_step(stmt);

    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_reset(stmt);
    return code == SQLITE_ROW
               ? PDR_OK
               : pdr__sqlite_fail(err, writer->db, code, "giving room back");
}

/* I4. Is there time for one thing more? For the first one there is. */
static bool has_time(const struct step *step, size_t done, size_t most)
{
    return done == 0 ||
           (done < most && now_us() - step->began_us < PDR_VACUUM_STEP_US);
}

/* --- moving rows --------------------------------------------------------- */

/* In a transaction. */
static pdr_rc move_rows(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    struct pdr__vacuum *vacuum = &store->writer.vacuum;
    struct pdr__sparse *sparse = &store->writer.sparse;
    int code = SQLITE_OK;

    pdr__sparse_begin(sparse);
    for (size_t i = 0;
         vacuum->at < vacuum->end && code == SQLITE_OK &&
         sparse->rows < MOVE_ROWS && has_time(arg, i, vacuum->amount);
         i++) {
        code = pdr__sparse_take(&store->writer, vacuum->at, SPARSE);
        vacuum->at += PDR_STRETCH;
    }
    if (code == SQLITE_OK)
        code = pdr__sparse_move(&store->writer);
    return code == SQLITE_OK ? PDR_OK
                             : pdr__sqlite_fail(err, store->writer.db, code,
                                                "moving rows together");
}

/* --- giving pages -------------------------------------------------------- */

/* In a transaction. The statement gives one page a step. */
static pdr_rc give_pages(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    sqlite3_stmt *stmt = store->writer.stmt[PDR_SQL_GIVE_PAGES];
    size_t amount = store->writer.vacuum.amount;
    size_t most = amount < GIVE_PAGES ? amount : GIVE_PAGES;
    int code = SQLITE_ROW;

    for (size_t i = 0; code == SQLITE_ROW && has_time(arg, i, most); i++)
        code = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE
               ? PDR_OK
               : pdr__sqlite_fail(err, store->writer.db, code,
                                  "giving pages back");
}

/* --- copying the log ----------------------------------------------------- */

static pdr_rc copy_log(struct pdr__sqlite *store, struct step *step,
                       pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    int64_t pages = 0;
    int code = SQLITE_OK;
    pdr_rc rc = pdr__check_names(store, err);

    if (rc == PDR_OK)
        rc = ask(&pages, &store->writer, PDR_SQL_PAGES, err);
    if (rc != PDR_OK)
        return rc;
    step->copies = true;
    (void)sqlite3_busy_timeout(db, READERS_MS);
    code = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_FULL, NULL,
                                     NULL);
    (void)sqlite3_busy_timeout(db, 0);
    pdr__checkpoint_judge(store, code);
    store->writer.vacuum.copied = atomic_load(&store->writer.log_bytes);
    step->waits =
        pdr__file_bytes(store->path) > (uint64_t)pages * PDR_SQLITE_PAGE;
    return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY
               ? PDR_OK
               : pdr__sqlite_fail(err, db, code,
                                  "copying the log into the main file");
}

static bool is_log_long(struct pdr__writer *writer)
{
    uint64_t bytes = atomic_load(&writer->log_bytes);

    if (bytes < writer->vacuum.copied) /* it was begun anew */
        writer->vacuum.copied = 0;
    return bytes >= writer->vacuum.copied + COPY_BYTES;
}

/* --- steps --------------------------------------------------------------- */

static pdr_rc begin(struct pdr__sqlite *store, pdr_err *err)
{
    struct pdr__vacuum *vacuum = &store->writer.vacuum;
    int64_t last = 0;
    pdr_rc rc = ask(&last, &store->writer, PDR_SQL_LAST_PLACE, err);

    if (rc == PDR_OK)
        rc = ask(&vacuum->pages, &store->writer, PDR_SQL_PAGES, err);
    vacuum->at = 0;
    vacuum->end = last / PDR_STRETCH * PDR_STRETCH; /* the last one is in use */
    vacuum->amount = FIRST_AMOUNT;
    vacuum->tries = 0;
    if (rc == PDR_OK) /* each of those stretches is looked at */
        pdr__sparse_forget(&store->writer.sparse);
    return rc;
}

/* Twice as much, or half. */
static void learn(struct pdr__vacuum *vacuum, int64_t us)
{
    if (us > PDR_VACUUM_STEP_US && vacuum->amount > 1)
        vacuum->amount /= 2;
    else if (us < PDR_VACUUM_STEP_US / 2 && vacuum->amount < MAX_AMOUNT)
        vacuum->amount *= 2;
}

static pdr_rc give_or_copy(struct pdr__sqlite *store, struct step *step,
                           int64_t deadline, pdr_err *err)
{
    struct pdr__vacuum *vacuum = &store->writer.vacuum;
    int64_t before = 0, after = 0;
    pdr_rc rc = ask(&before, &store->writer, PDR_SQL_FREE_PAGES, err);

    if (rc == PDR_OK && before > 0 && vacuum->pages > 0) {
        rc = pdr__writer_transact(store, deadline, err, give_pages, step);
        if (rc == PDR_OK)
            rc = ask(&after, &store->writer, PDR_SQL_FREE_PAGES, err);
        vacuum->pages -= after < before ? before - after : vacuum->pages;
        step->more = true;
        return rc;
    }
    if (rc == PDR_OK)
        rc = copy_log(store, step, err);
    step->more = step->waits && ++vacuum->tries < COPY_TRIES;
    return rc;
}

static pdr_rc take_step(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    struct pdr__writer *writer = &store->writer;
    struct pdr__vacuum *vacuum = &writer->vacuum;
    struct step *step = arg;
    int64_t us = 0, free_pages = 0;
    int64_t deadline =
        pdr__monotonic_ms(pdr__clock_system()) + PDR_COMMIT_TIMEOUT_MS;
    pdr_rc rc = PDR_OK;

    step->began_us = now_us();
    step->more = true;
    if (step->report->steps == 0) {
        step->report->before_bytes = (uint64_t)pdr__file_bytes(store->path);
        rc = begin(store, err);
    }
    writer->sparse.is_moving = true;
    if (rc == PDR_OK && is_log_long(writer))
        rc = copy_log(store, step, err);
    else if (rc == PDR_OK && vacuum->at < vacuum->end)
        rc = pdr__writer_transact(store, deadline, err, move_rows, step);
    else if (rc == PDR_OK)
        rc = give_or_copy(store, step, deadline, err);
    writer->sparse.is_moving = false;
    if (rc == PDR_OK)
        rc = ask(&free_pages, writer, PDR_SQL_FREE_PAGES, err);
    us = now_us() - step->began_us;
    if (!step->copies)
        learn(vacuum, us);
    step->report->steps++;
    step->report->free_bytes = (uint64_t)free_pages * PDR_SQLITE_PAGE;
    step->report->after_bytes = (uint64_t)pdr__file_bytes(store->path);
    if ((uint64_t)us > step->report->longest_us)
        step->report->longest_us = (uint64_t)us;
    return rc;
}

pdr_rc pdr__sqlite_vacuum(pdr_store *self, pdr_vacuum_report *report,
                          bool *more, pdr_err *err)
{
    const struct timespec rest = {0, REST_NS};
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct step step = {.report = report};
    int64_t deadline =
        pdr__monotonic_ms(pdr__clock_system()) + PDR_COMMIT_TIMEOUT_MS;
    pdr_rc rc = pdr__group_run(store, deadline, err, take_step, &step);

    *more = rc == PDR_OK && step.more;
    if (*more && step.waits)
        (void)nanosleep(&rest, NULL);
    return rc;
}
