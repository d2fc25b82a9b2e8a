/*
 * migrate.c - from the tables of an older library to those of this one.
 *
 * WHY  A store lives longer than the library that made it. What a new version
 *      needs is brought in once, when somebody asks for it, and not behind the
 *      back of a program that only wanted to write: an older library could not
 *      read the file any more.
 *
 *          writer lock, nobody else ──► ours? ──► whole? verified
 *              ──► for each step    pages    VACUUM, atomic by itself
 *                                   tables   one transaction: what is new, and
 *                                            the version with its digest
 *              ──► all of the log into the main file
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  Nothing is written before the file is known to be ours and whole:
 *       VACUUM would copy what it can read, and drop the rest.
 *   I2  The version changes in the same transaction as the tables, after all
 *       that it promises is done. Killed anywhere before, the file is of the
 *       old version, whole, at most with other pages.
 *   I3  A step can be done twice.
 *   I4  The lock is held from the first look to the last byte. Who opens the
 *       store meanwhile waits for it.
 */
#include <stdio.h>
#include <unistd.h>

#include "file.h"
#include "sqlite.h"

/* What leads from one version to the next. Never altered: a new version adds a
 * row. */
struct step {
    uint32_t from, to;
    const char *what; /* for messages */
    bool new_pages;   /* all pages are written anew, as pdr__schema_pages()
                         asks for them */
};

static const struct step steps[] = {
    {1, 2, "migrating from version 1 to 2", true},
    {2, 3, "migrating from version 2 to 3", true},
};

static const struct step *find_step(uint32_t from)
{
    for (size_t i = 0; i < PDR_COUNT(steps); i++)
        if (steps[i].from == from)
            return &steps[i];
    return NULL;
}

static pdr_rc run(const struct pdr__sqlite *store, const char *sql,
                  const struct step *step, pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? PDR_OK
                             : pdr__sqlite_fail(err, db, code, step->what);
}

/* --- one step ------------------------------------------------------------ */

/* The copy that VACUUM makes is as large as the store, so it is no matter for
 * memory. */
static pdr_rc make_pages(const struct pdr__sqlite *store,
                         const struct step *step, pdr_err *err)
{
    pdr_rc rc = pdr__schema_pages(store->writer.db, err);

    if (rc == PDR_OK)
        rc = run(store, "PRAGMA temp_store=FILE", step, err);
    if (rc == PDR_OK)
        rc = run(store, "VACUUM", step, err);
    return rc;
}

/* I2. What is not exactly of the new version is not committed. */
static pdr_rc make_tables(struct pdr__sqlite *store, const struct step *step,
                          pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    pdr_rc rc = run(store, "BEGIN IMMEDIATE", step, err);

    if (rc == PDR_OK)
        rc = pdr__schema_raise(store, db, step->to, err);
    if (rc == PDR_OK)
        rc = pdr__schema_check(store, db, err);
    if (rc == PDR_OK)
        rc = run(store, "COMMIT", step, err);
    if (rc != PDR_OK && sqlite3_get_autocommit(db) == 0)
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static pdr_rc take_steps(struct pdr__sqlite *store, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && store->schema != PDR_SQLITE_SCHEMA) {
        const struct step *step = find_step(store->schema);

        assert(step != NULL);
        if (step->new_pages)
            rc = make_pages(store, step, err);
        if (rc == PDR_OK)
            rc = make_tables(store, step, err);
    }
    return rc;
}

/* --- before and after ---------------------------------------------------- */

static pdr_rc check_file(struct pdr__sqlite *store, pdr_err *err)
{
    char shown[PDR_SHOWN];
    bool is_empty = false;
    pdr_rc rc = pdr__left_fits(store->path, store->log_path, err);

    if (rc == PDR_OK)
        rc = pdr__claim(store, err);
    if (rc == PDR_OK)
        rc = pdr__sqlite_connect(&store->writer.db, store, false, err);
    if (rc == PDR_OK)
        rc = pdr__schema_is_empty(&is_empty, store->writer.db, err);
    if (rc == PDR_OK && is_empty)
        rc = PDR_FAIL(err, NO_STORE,
                      "'%s' is empty, there is nothing to migrate; it becomes "
                      "a store when it is opened",
                      pdr__shown(shown, pdr_str_c(store->path)));
    if (rc == PDR_OK)
        rc = pdr__schema_check(store, store->writer.db, err);
    return rc;
}

/* With the lock held, and nobody else. */
static pdr_rc migrate(struct pdr__sqlite *store, pdr_migrate_report *out,
                      pdr_err *err)
{
    pdr_rc rc = check_file(store, err);

    if (rc != PDR_OK)
        return rc;
    out->from = out->to = store->schema;
    if (store->schema == PDR_SQLITE_SCHEMA)
        return PDR_OK;
    rc = pdr_store_verify(NULL, &store->base, NULL, err, NULL, NULL); /* I1 */
    if (rc == PDR_OK)
        rc = pdr__renew_log(store, err);
    if (rc == PDR_OK)
        rc = pdr__checkpoint_all(store, true, err);
    if (rc == PDR_OK)
        rc = pdr__line_sync_begins(&store->line, err);
    if (rc == PDR_OK)
        rc = take_steps(store, err);
    if (rc != PDR_OK)
        return rc;
    pdr__line_sync_ended(&store->line, NULL, NULL); /* each step was synced */
    out->to = store->schema;
    /* What is not copied is safe in the log. */
    (void)(pdr__checkpoint_all(store, true, NULL) == PDR_OK);
    return PDR_OK;
}

static pdr_rc enter(struct pdr__sqlite *store, pdr_err *err)
{
    int64_t deadline =
        pdr__monotonic_ms(pdr__clock_system()) + PDR_COMMIT_TIMEOUT_MS;
    pdr_rc rc = pdr__line_take(&store->line, store->side_path, deadline, err);

    if (rc != PDR_EBUSY && (rc != PDR_OK || pdr__line_is_last(&store->line)))
        return rc;
    return PDR_FAIL(err, STORE_LOCKED, "%s",
                    "somebody has the store open; close it everywhere, and "
                    "migrate it again");
}

pdr_rc pdr__sqlite_migrate(const char *rest, pdr_migrate_report *out,
                           pdr_err *err)
{
    struct pdr__sqlite *store = NULL;
    struct pdr__wish wish = {.must_be_there = true};
    pdr_rc rc = pdr__sqlite_new(&store, &wish, rest, err);

    if (rc != PDR_OK)
        return rc;
    store->base.process = (int64_t)getpid();
    if (store->read_only)
        rc = PDR_FAIL(err, READ_ONLY, "%s",
                      "a migration writes to the store; leave mode=ro out");
    if (rc == PDR_OK)
        rc = enter(store, err);
    if (rc == PDR_OK) {
        if (store->line.made)
            pdr__file_share(store->line.fd, store->path);
        rc = migrate(store, out, err);
        if (rc != PDR_OK)
            pdr__line_undo(&store->line, store->side_path);
    }
    pdr__sqlite_release(store);
    return rc;
}
