/*
 * backup.c - a copy of the store as it is at one moment, while others write.
 *
 * WHY  Copying the files of a store that is in use gives a main file and a log
 *      of different moments. And nobody should have to stop for a backup. So it
 *      reads as readers do: a snapshot of SQLite, held from the first page to
 *      the last.
 *
 *          reader: snapshot ──► page by page ──► FILE-unfinished ──► FILE
 *          writers:  commit ──► commit ──► commit ...      (target.c)
 *
 *      What it costs is the log, which cannot be begun anew while somebody
 *      reads in it; docs/decisions/0025 has the measurement.
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  One read transaction spans the whole copy. Without it SQLite would let
 *       go of the snapshot between two steps, and begin from the first page
 *       whenever somebody had written.
 *   I2  Every page comes through our VFS, from the main file or the log, and is
 *       checked there; every page goes out through it, and gets its sum.
 *   I3  The copy has no log: it is written without one, under a name that
 *       nobody opens, and synced before it gets its own.
 *   I4  No lock that a writer needs is held, also not while `fn` runs.
 */
#include <stdio.h>

#include "target.h"

#define USER_VERSION_AT 60 /* in the header of the file */

/* One backup while it is under way. */
struct copy {
    sqlite3 *from; /* owned: a connection of its own, since those of the pool
                      hold a snapshot for one page of rows */
    struct pdr__target target;
    sqlite3_backup *backup; /* owned */
    pdr_backup_report *report;
};

static pdr_rc run(sqlite3 *db, const char *sql, pdr_err *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK
               ? PDR_OK
               : pdr__sqlite_fail(err, db, code, "beginning the copy");
}

/* The snapshot is that of the first statement that reads (I1). */
static pdr_rc take_snapshot(struct copy *copy, const struct pdr__sqlite *store,
                            pdr_err *err)
{
    pdr_rc rc = pdr__sqlite_connect(&copy->from, store, true, err);

    if (rc == PDR_OK)
        rc = run(copy->from, "BEGIN;SELECT one FROM store", err);
    return rc;
}

/* A copy that fails is thrown away: it needs no journal. Pages have sums if
 * those of the snapshot have, whatever the main file has by now (vfs.c, I3). */
static pdr_rc set_up(struct copy *copy, pdr_err *err)
{
    static const char pragmas[] = "PRAGMA locking_mode=EXCLUSIVE;"
                                  "PRAGMA journal_mode=OFF;"
                                  "PRAGMA synchronous=FULL;"
                                  "PRAGMA mmap_size=0;"
                                  "PRAGMA cache_size=-2048;";
    sqlite3 *to = copy->target.db;
    int reserved = -1; /* ask, change nothing */
    bool has_sums = false;
    pdr_rc rc = run(to, pragmas, err);

    if (rc != PDR_OK)
        return rc;
    (void)sqlite3_file_control(copy->from, "main", SQLITE_FCNTL_RESERVE_BYTES,
                               &reserved);
    has_sums = reserved == PDR_SQLITE_RESERVED;
    (void)sqlite3_file_control(to, "main", PDR_FCNTL_SUMS, &has_sums);
    copy->backup = sqlite3_backup_init(to, "main", copy->from, "main");
    return copy->backup != NULL
               ? PDR_OK
               : pdr__sqlite_fail(err, to, sqlite3_extended_errcode(to),
                                  "beginning the copy");
}

/* What was copied goes to the disk step by step: all of it at the end would
 * keep everybody's syncs waiting. */
static int sync_step(const struct copy *copy)
{
    sqlite3_file *file = NULL;

    (void)sqlite3_file_control(copy->target.db, "main",
                               SQLITE_FCNTL_FILE_POINTER, &file);
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

static void tell(struct copy *copy)
{
    int all = sqlite3_backup_pagecount(copy->backup);
    int left = sqlite3_backup_remaining(copy->backup);

    copy->report->bytes = (uint64_t)all * PDR_SQLITE_PAGE;
    copy->report->done_bytes = (uint64_t)(all - left) * PDR_SQLITE_PAGE;
    copy->report->steps++;
}

/* Which of the two files it was about is known of damage alone. */
static pdr_rc fail_step(const struct copy *copy, int code, pdr_err *err)
{
    sqlite3 *db = code == SQLITE_IOERR_DATA ? copy->from : copy->target.db;

    return pdr__sqlite_fail(err, db, code, "copying the store");
}

static pdr_rc copy_pages(struct copy *copy, pdr_err *err, pdr_backup_fn fn,
                         void *arg)
{
    int pages = (int)(PDR_BACKUP_STEP_BYTES / PDR_SQLITE_PAGE);
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && code != SQLITE_DONE) {
        code = sqlite3_backup_step(copy->backup, pages);
        if (code == SQLITE_OK)
            code = sync_step(copy);
        if (code != SQLITE_OK && code != SQLITE_DONE)
            return fail_step(copy, code, err);
        tell(copy);
        if (code == SQLITE_OK && fn != NULL)
            rc = fn(arg, copy->report, err);
    }
    return rc;
}

/* The last step has synced the file; what fails from here on is the end of the
 * transaction. */
static pdr_rc end_copy(struct copy *copy, pdr_rc rc, pdr_err *err)
{
    int code = sqlite3_backup_finish(copy->backup);

    copy->backup = NULL;
    return rc == PDR_OK && code != SQLITE_OK ? fail_step(copy, code, err) : rc;
}

/* Beside the WAL of the store that it was made of, the copy must not be taken
 * for that store: it gets a mark of its own (claim.c). */
static pdr_rc set_mark(const struct copy *copy, pdr_err *err)
{
    uint8_t page[PDR_SQLITE_PAGE];
    sqlite3_file *file = NULL;
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    (void)sqlite3_file_control(copy->target.db, "main",
                               SQLITE_FCNTL_FILE_POINTER, &file);
    code = file->pMethods->xRead(file, page, sizeof(page), 0);
    if (code == SQLITE_OK)
        rc = pdr__rand_fill(page + USER_VERSION_AT, pdr__rand_system(), 4, err);
    if (code == SQLITE_OK && rc == PDR_OK)
        code = file->pMethods->xWrite(file, page, sizeof(page), 0);
    if (code == SQLITE_OK && rc == PDR_OK)
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK ? rc : fail_step(copy, code, err);
}

pdr_rc pdr__sqlite_backup(pdr_store *self, const char *file, bool replace,
                          pdr_backup_report *report, pdr_backup_fn fn,
                          void *arg, pdr_err *err)
{
    const struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct copy copy = {.report = report};
    pdr_rc rc = PDR_OK;

    if (store->without_sums) /* I2 */
        return PDR_FAIL(err, BAD_URI, "%s",
                        "a backup would put good sums on pages that sums=off "
                        "did not compare; copy the sessions into a new store");
    rc = take_snapshot(&copy, store, err);
    if (rc == PDR_OK)
        rc = pdr__target_open(&copy.target, store, file, replace, err);
    if (rc == PDR_OK)
        rc = set_up(&copy, err);
    if (rc == PDR_OK)
        rc = copy_pages(&copy, err, fn, arg);
    rc = end_copy(&copy, rc, err);
    if (rc == PDR_OK && store->schema >= 3)
        rc = set_mark(&copy, err);
    (void)sqlite3_close(copy.from); /* nobody waits for the file system */
    if (rc == PDR_OK)
        rc = pdr__target_place(&copy.target, err);
    pdr__target_close(&copy.target);
    return rc;
}
