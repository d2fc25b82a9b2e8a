/*
 * run.c - a group of commits in one transaction.
 *
 * WHY  One sync makes all of them durable. Each still stands alone: one that is
 *      refused takes nobody with it.
 *
 *          begin ──► each write ──► counter, entries ──► COMMIT ──► done
 *            ▲           │ refused, nothing written: leave it out
 *            │           │ refused later: ROLLBACK
 *            └───────────┘ again, without it
 *          the disk fails before COMMIT: ROLLBACK, all refused
 *          COMMIT finds the disk full: the same, nothing was synced
 *          COMMIT fails: nobody can know, the store is in doubt
 *
 * INVARIANTS, cited below as I1..I3
 *   I1  A write that ends with PDR_OK was in a transaction whose COMMIT
 *       returned success, which synced the log.
 *   I2  After a COMMIT that failed nothing is written through this store any
 *       more: a second sync would succeed and mean nothing.
 *   I3  Each round ends with a COMMIT, or leaves at least one write out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "sqlite.h"

/* The writes that are still in. */
struct group {
    pdr_write *writes[PDR_MAX_GROUP];
    size_t count;
};

static void take_out(struct group *group, size_t i)
{
    group->count--;
    memmove(&group->writes[i], &group->writes[i + 1],
            (group->count - i) * sizeof(group->writes[0]));
}

/* All that are still in end the same way. */
static void end_all(struct group *group, pdr_rc rc, const pdr_err *err)
{
    for (size_t i = 0; i < group->count; i++) {
        group->writes[i]->rc = rc;
        if (rc != PDR_OK)
            group->writes[i]->err = *err;
    }
    group->count = 0;
}

static void roll_back(struct pdr__writer *writer)
{
    if (sqlite3_get_autocommit(writer->db) == 0)
        (void)pdr__writer_step(writer, PDR_SQL_ROLLBACK);
    pdr__pack_end(writer, false);
}

/* --- begin --------------------------------------------------------------- */

pdr_rc pdr__may_write(const struct pdr__sqlite *store, pdr_err *err)
{
    if (atomic_load(&store->in_doubt))
        return PDR_FAIL(err, IN_DOUBT, "%s",
                        "a commit before this one ended unknown; close the "
                        "store, open it again and look whether that commit is "
                        "there");
    if (atomic_load(&store->damaged))
        return PDR_FAIL(err, STORE_DAMAGED, "%s",
                        "what is in the log of the store cannot be copied into "
                        "its file, one of them is damaged; close the store, "
                        "copy all its files away and restore a backup");
    return PDR_OK;
}

static bool is_there(const struct pdr__file_id *id, const char *path)
{
    struct pdr__file_id found;

    return id->inode == 0 || (pdr__file_id(&found, AT_FDCWD, path) &&
                              pdr__file_id_equal(id, &found));
}

/* Who opened the store meanwhile has another log, or another memory that says
 * what is in it, if ours is not the one of that name. */
pdr_rc pdr__check_names(const struct pdr__sqlite *store, pdr_err *err)
{
    const char *lost = NULL;
    char shown[PDR_SHOWN];
    uint64_t bytes = 0;
    int moved = 0;

    (void)sqlite3_file_control(store->writer.db, "main", SQLITE_FCNTL_HAS_MOVED,
                               &moved);
    if (moved == 0 && pdr__file_size(&bytes, store->path) &&
        bytes < PDR_SQLITE_PAGE)
        return PDR_FAIL(err, UNSAFE_FILE,
                        "'%s' was emptied while the store is open; "
                        "its last commits are in '-wal': copy both away, and "
                        "restore a backup",
                        pdr__shown(shown, pdr_str_c(store->path)));
    if (moved != 0)
        lost = store->path;
    else if (!pdr__line_is_there(&store->line, store->side_path))
        lost = store->side_path;
    else if (!is_there(&store->log_id, store->log_path))
        lost = store->log_path;
    else if (!is_there(&store->memory_id, store->memory_path))
        lost = store->memory_path;
    if (lost == NULL)
        return PDR_OK;
    return PDR_FAIL(err, UNSAFE_FILE,
                    "'%s' was moved or removed while the store is open; put it "
                    "back if you can, and open the store again",
                    pdr__shown(shown, pdr_str_c(lost)));
}

/* The sooner deadline of all. */
static int64_t first_deadline(const struct group *group)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < group->count; i++)
        if (group->writes[i]->deadline_ms < first)
            first = group->writes[i]->deadline_ms;
    return first;
}

static void end_late(struct group *group, int64_t now_ms)
{
    for (size_t i = group->count; i-- > 0;) {
        pdr_write *write = group->writes[i];

        if (write->deadline_ms > now_ms)
            continue;
        write->rc = PDR_FAIL(&write->err, WRITER_BUSY, "%s",
                             "another program writes to the file of the store; "
                             "the sqlite3 tool is for reading only");
        take_out(group, i);
    }
}

/* A program that does not know our lock may hold SQLite's own. */
static int begin(struct pdr__writer *writer, struct group *group)
{
    const struct timespec rest = {0, 1000000};
    int code = pdr__writer_step(writer, PDR_SQL_BEGIN);

    while ((code & 0xff) == SQLITE_BUSY && group->count > 0) {
        int64_t now = pdr__monotonic_ms(pdr__clock_system());

        if (now >= first_deadline(group))
            end_late(group, now);
        (void)nanosleep(&rest, NULL);
        code = pdr__writer_step(writer, PDR_SQL_BEGIN);
    }
    return code;
}

static pdr_rc read_store_row(struct pdr__sqlite *store, pdr_err *err)
{
    struct pdr__writer *writer = &store->writer;
    struct pdr__store_row *row = &writer->row;
    sqlite3_stmt *stmt = writer->stmt[PDR_SQL_GET_STORE];
    pdr_digest wanted;
    bool is_whole = false;
    int code = sqlite3_step(stmt);
    pdr_rc rc = PDR_OK;

    if (code == SQLITE_ROW && sqlite3_column_bytes(stmt, 3) == PDR_STORE_ID &&
        sqlite3_column_bytes(stmt, 4) == PDR_DIGEST_BYTES) {
        row->number = (uint64_t)sqlite3_column_int64(stmt, 0);
        row->created_ms = sqlite3_column_int64(stmt, 1);
        row->generation = (uint64_t)sqlite3_column_int64(stmt, 2);
        memcpy(row->id, sqlite3_column_blob(stmt, 3), PDR_STORE_ID);
        rc = pdr__schema_seal(wanted, store, row, err);
        is_whole =
            memcmp(sqlite3_column_blob(stmt, 4), wanted, PDR_DIGEST_BYTES) == 0;
    }
    if (rc == PDR_OK && !is_whole)
        rc = code == SQLITE_ROW || code == SQLITE_DONE
                 ? PDR_FAIL(err, STORE_DAMAGED, "%s",
                            "the row of table 'store' is damaged; restore a "
                            "backup")
                 : pdr__sqlite_fail(err, writer->db, code, "reading the store");
    (void)sqlite3_reset(stmt);
    writer->before = *row;
    if (!writer->has_counted)
        row->generation++;
    return rc;
}

static pdr_rc begin_all(struct pdr__sqlite *store, struct group *group,
                        pdr_err *err)
{
    struct pdr__writer *writer = &store->writer;
    pdr_rc rc = pdr__check_names(store, err);
    int code = SQLITE_OK;

    if (rc != PDR_OK)
        return rc;
    code = begin(writer, group);
    if (code != SQLITE_DONE)
        return pdr__sqlite_fail(err, writer->db, code, "beginning a commit");
    pdr__arena_reset(&writer->memory);
    writer->removing_ms = 0;
    pdr__pack_begin(writer);
    return read_store_row(store, err);
}

/* --- rows ---------------------------------------------------------------- */

/* Will the next write fail the same way? A damaged page is in the way of those
 * who need it. */
static bool is_of_the_disk(int code)
{
    if (code == SQLITE_IOERR_DATA)
        return false;
    switch (code & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return true;
    default:
        return false;
    }
}

enum round {
    ROUND_WRITTEN, /* all that are left are in the transaction */
    ROUND_AGAIN,   /* one was taken out after its first row */
    ROUND_FAILED   /* all ended */
};

/* The write whose row it was that write `i` stumbled over: rows of `log` wait,
 * and one write may have to write those of another. */
static size_t find_offender(const struct pdr__writer *writer,
                            const struct group *group, size_t i)
{
    const pdr_plan *plan = writer->pack.failed;

    for (size_t k = 0; plan != NULL && k < group->count; k++) {
        const pdr_write *write = group->writes[k];

        if (plan >= write->plans && plan < write->plans + write->count)
            return k;
    }
    return i;
}

/* Write `i` failed, or the rest of the group after the last: who has to go? */
static enum round refuse(struct pdr__sqlite *store, struct group *group,
                         size_t i, pdr_rc rc, const pdr_err *err, int code)
{
    size_t offender = find_offender(&store->writer, group, i);
    pdr_err copy = *err;

    if (is_of_the_disk(code) || offender == group->count) {
        end_all(group, rc, &copy);
        return ROUND_FAILED;
    }
    group->writes[offender]->rc = rc;
    group->writes[offender]->err = copy;
    take_out(group, offender);
    return ROUND_AGAIN; /* I3 */
}

static enum round write_all(struct pdr__sqlite *store, struct group *group)
{
    size_t i = 0;

    while (i < group->count) {
        pdr_write *write = group->writes[i];
        bool dirty = false;
        int code = SQLITE_OK;
        enum round round = ROUND_WRITTEN;

        write->rc = pdr__write_rows(store, write, &dirty, &code);
        if (write->rc == PDR_OK) {
            i++;
            continue;
        }
        round = refuse(store, group, i, write->rc, &write->err, code);
        if (round == ROUND_FAILED || dirty || code != SQLITE_OK)
            return round;
    }
    return ROUND_WRITTEN;
}

/* The row of the store, if it changed. */
static pdr_rc write_store_row(struct pdr__sqlite *store, int *code,
                              pdr_err *err)
{
    struct pdr__writer *writer = &store->writer;
    sqlite3_stmt *stmt = writer->stmt[PDR_SQL_SET_STORE];
    pdr_digest digest;
    pdr_rc rc = PDR_OK;

    if (writer->row.number == writer->before.number &&
        writer->row.generation == writer->before.generation)
        return PDR_OK;
    rc = pdr__schema_seal(digest, store, &writer->row, err);
    if (rc != PDR_OK)
        return rc;
    pdr__bind_int(stmt, 1, (int64_t)writer->row.number);
    pdr__bind_int(stmt, 2, (int64_t)writer->row.generation);
    pdr__bind_blob(stmt, 3, digest, sizeof(digest));
    *code = pdr__writer_step(writer, PDR_SQL_SET_STORE);
    return *code == SQLITE_DONE
               ? PDR_OK
               : pdr__sqlite_fail(err, writer->db, *code, "writing a commit");
}

/* The rows that wait, and that of the store. */
static pdr_rc write_rest(struct pdr__sqlite *store, int *code, pdr_err *err)
{
    *code = pdr__pack_flush(&store->writer);
    if (*code != SQLITE_OK)
        return pdr__sqlite_fail(err, store->writer.db, *code,
                                "writing a commit");
    return write_store_row(store, code, err);
}

/* --- the end ------------------------------------------------------------- */

/* Whoever opens the store next has to know (open.c). */
static void note_end(struct pdr__sqlite *store)
{
    static const uint8_t none[PDR_LOG_END];
    struct pdr__log_end end = {.page = 0};

    (void)sqlite3_file_control(store->writer.db, "main", PDR_FCNTL_LOG_END,
                               &end);
    if (memcmp(end.frame, none, PDR_LOG_END) == 0) /* it wrote nothing */
        pdr__line_sync_untried(&store->line);
    else
        pdr__line_sync_ended(&store->line, &end, &store->writer.row);
}

/* Of a transaction that is over: did the log have no room for all of it? The
 * frame that makes it a commit is the last, so that one was never whole; unless
 * SQLite repeats it, where the VFS below says that a sector may be torn. */
static bool lacked_room(const struct pdr__writer *writer)
{
    struct pdr__file_state state = {.lost = SQLITE_OK};
    sqlite3_file *file = NULL;

    (void)sqlite3_file_control(writer->db, "main", PDR_FCNTL_STATE, &state);
    (void)sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_FILE_POINTER,
                               &file);
    return (state.lost & 0xff) == SQLITE_FULL &&
           (file->pMethods->xDeviceCharacteristics(file) &
            SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
}

static void commit(struct pdr__sqlite *store, struct group *group)
{
    struct pdr__writer *writer = &store->writer;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__line_sync_begins(&store->line, &err);
    int code = SQLITE_OK;

    if (rc != PDR_OK) {
        end_all(group, rc, &err);
        return;
    }
    code = pdr__writer_step(writer, PDR_SQL_COMMIT);
    if (code == SQLITE_DONE) {
        note_end(store);
        writer->has_counted = true;
        end_all(group, PDR_OK, NULL); /* I1 */
        pdr__pack_end(writer, true);
        return;
    }
    roll_back(writer);
    if (lacked_room(writer)) { /* no sync was tried: all is as before */
        pdr__line_sync_untried(&store->line);
        rc = pdr__sqlite_fail(&err, NULL, SQLITE_FULL, "writing a commit");
        end_all(group, rc, &err);
        return;
    }
    atomic_store(&store->in_doubt, true); /* I2 */
    rc = PDR_FAIL(&err, COMMIT_UNKNOWN, "%s",
                  "the disk failed while the commit was made durable; close "
                  "the store, open it again and look whether it is there");
    err.sys = code;
    end_all(group, rc, &err);
}

static void run_once(struct pdr__sqlite *store, struct group *group)
{
    pdr_err err = PDR_ERR_INIT;
    int code = SQLITE_OK;
    pdr_rc rc = begin_all(store, group, &err);

    if (rc != PDR_OK)
        end_all(group, rc, &err);
    else if (write_all(store, group) == ROUND_WRITTEN && group->count > 0) {
        rc = write_rest(store, &code, &err);
        if (rc == PDR_OK)
            commit(store, group);
        else
            (void)refuse(store, group, group->count, rc, &err, code);
    }
    roll_back(&store->writer);
}

void pdr__writer_run(struct pdr__sqlite *store, pdr_write *const *writes,
                     size_t count)
{
    struct group group;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    assert(store->line.held && count <= PDR_MAX_GROUP);
    memcpy(group.writes, writes, count * sizeof(writes[0]));
    group.count = count;
    rc = pdr__may_write(store, &err);
    if (rc != PDR_OK)
        end_all(&group, rc, &err);
    while (group.count > 0)
        run_once(store, &group);
}

/* --- something else than commits ----------------------------------------- */

/* Setting a cookie writes its page, also if it has that value. */
pdr_rc pdr__writer_settle(struct pdr__sqlite *store, pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    char sql[64];
    int code = SQLITE_OK;
    pdr_rc rc = pdr__line_sync_begins(&store->line, err);

    if (rc != PDR_OK)
        return rc;
    (void)snprintf(sql, sizeof(sql), "PRAGMA application_id=%d",
                   PDR_SQLITE_APPLICATION);
    code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return pdr__sqlite_fail(err, db, code, "settling a commit in doubt");
    note_end(store);
    return PDR_OK;
}

/* One write without edits stands for it: begin() and commit() tell it how they
 * ended. */
pdr_rc pdr__writer_transact(struct pdr__sqlite *store, int64_t deadline_ms,
                            pdr_err *err, pdr__leader_fn fn, void *arg)
{
    pdr_write write = {.deadline_ms = deadline_ms, .err = PDR_ERR_INIT};
    struct group group = {{&write}, 1};
    pdr_err detail = PDR_ERR_INIT;
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    assert(store->line.held);
    rc = begin_all(store, &group, &detail);
    if (rc == PDR_OK && group.count > 0)
        rc = fn(store, arg, &detail);
    if (rc == PDR_OK && group.count > 0)
        rc = write_store_row(store, &code, &detail);
    if (rc == PDR_OK && group.count > 0)
        commit(store, &group);
    roll_back(&store->writer);
    if (write.rc != PDR_OK) { /* late, or in doubt */
        rc = write.rc;
        detail = write.err;
    }
    if (rc != PDR_OK && err != NULL)
        *err = detail;
    return rc;
}
