/*
 * checkpoint.c - from the log into the main file.
 *
 * WHY  SQLite would checkpoint by itself, on whichever connection comes first.
 *      Here only the holder of the writer lock does, on the one connection that
 *      writes (README.md tells why), and at sizes that were measured: a page
 *      that many turns change is copied once.
 *
 *          commits ──► 48 MB: copy what no reader needs
 *                         └──► all copied: the next commit begins the log anew
 *                  ──► 64 MB: wait a moment for readers, then begin it anew
 *                         └──► a reader stays: try again 8 MB later
 *
 * A checkpoint that fails takes nothing back: what it did not copy stays in the
 * log, where it was made durable before it was acknowledged. Only if it finds
 * damage, no commit is taken any more: a log that cannot be copied would grow
 * for ever, and be refused as a whole by whoever opens the store next.
 */
#include "file.h"
#include "vfs.h"

/* Bytes that the log grows before a reader that held it is asked again. */
#define AGAIN_BYTES ((uint64_t)8 * 1024 * 1024)

/* Milliseconds that a checkpoint waits for readers, each of which holds the log
 * for one page of rows. All writers wait meanwhile. */
#define READERS_MS 20

static int note_log(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct pdr__writer *writer = arg;

    (void)db;
    (void)name;
    atomic_store(&writer->log_bytes,
                 (uint64_t)frames * (PDR_SQLITE_PAGE + PDR_FRAME_HEADER) +
                     PDR_LOG_HEADER);
    return SQLITE_OK;
}

void pdr__checkpoint_listen(struct pdr__writer *writer)
{
    (void)sqlite3_wal_hook(writer->db, note_log, writer);
    writer->checkpoint_at = PDR_CHECKPOINT_BYTES;
}

/* A frame that is not as it was written stays so: whatever is committed behind
 * it would be lost with it. */
void pdr__checkpoint_judge(struct pdr__sqlite *store, int code)
{
    if (code == SQLITE_IOERR_DATA || (code & 0xff) == SQLITE_CORRUPT)
        atomic_store(&store->damaged, true);
}

/* The `empties` of our VFS, on whichever connection writes. */
bool pdr__log_empties(void *arg)
{
    struct pdr__sqlite *store = arg;

    return store->writer.before.generation == 0 || /* being made, or older */
           !store->line.held ||
           pdr__line_empties(&store->line, &store->writer.before, true);
}

void pdr__checkpoint_after(struct pdr__sqlite *store)
{
    struct pdr__writer *writer = &store->writer;
    uint64_t bytes = atomic_load(&writer->log_bytes);
    bool is_long = bytes >= PDR_LOG_BYTES;
    int code = SQLITE_OK;

    assert(store->line.held);
    if (bytes < PDR_CHECKPOINT_BYTES)
        writer->checkpoint_at = PDR_CHECKPOINT_BYTES; /* begun anew */
    if (bytes < writer->checkpoint_at)
        return;
    if (is_long)
        (void)sqlite3_busy_timeout(writer->db, READERS_MS);
    code = sqlite3_wal_checkpoint_v2(writer->db, "main",
                                     is_long ? SQLITE_CHECKPOINT_RESTART
                                             : SQLITE_CHECKPOINT_PASSIVE,
                                     NULL, NULL);
    pdr__checkpoint_judge(store, code);
    if (is_long)
        (void)sqlite3_busy_timeout(writer->db, 0);
    writer->checkpoint_at = bytes + AGAIN_BYTES;
}

/* SQLite cuts the log off without a sync. That is not enough where a sync of it
 * has failed: the main file now has what stood at the end of the log, and power
 * loss would bring back a log without that end, to be played over it. */
int pdr__sync_log(sqlite3 *db)
{
    sqlite3_file *log = NULL;

    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    return log != NULL && log->pMethods != NULL
               ? log->pMethods->xSync(log, SQLITE_SYNC_NORMAL)
               : SQLITE_OK;
}

/* Bytes of the log that SQLite has open, which may have no name any more; or of
 * the one that it would open. */
static bool has_log(const struct pdr__sqlite *store)
{
    sqlite3_file *log = NULL;
    sqlite3_int64 bytes = 0;

    (void)sqlite3_file_control(store->writer.db, "main",
                               SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log == NULL || log->pMethods == NULL)
        return pdr__file_bytes(store->log_path) > 0;
    return log->pMethods->xFileSize(log, &bytes) != SQLITE_OK || bytes > 0;
}

pdr_rc pdr__checkpoint_all(struct pdr__sqlite *store, bool empty_log,
                           pdr_err *err)
{
    sqlite3 *db = store->writer.db;
    int code = SQLITE_OK;

    assert(store->line.held);
    if (!has_log(store))
        return PDR_OK;
    if (empty_log && store->schema >= 3) { /* for pdr__log_empties() */
        pdr_rc rc = pdr__schema_row(&store->writer.before, store, db, err);

        if (rc != PDR_OK)
            return rc;
    }
    code = sqlite3_wal_checkpoint_v2(db, "main",
                                     empty_log ? SQLITE_CHECKPOINT_TRUNCATE
                                               : SQLITE_CHECKPOINT_PASSIVE,
                                     NULL, NULL);
    if (code == SQLITE_OK && empty_log)
        code = pdr__sync_log(db);
    if (code == SQLITE_OK || (code == SQLITE_BUSY && !empty_log))
        return PDR_OK; /* busy: a reader holds the rest, which stays safe */
    if (code == SQLITE_BUSY)
        return PDR_FAIL(err, STORE_LOCKED, "%s",
                        "a program keeps reading the log that a process left "
                        "behind, so it cannot be made safe; end that program "
                        "and open the store again");
    return pdr__sqlite_fail(err, db, code,
                            "copying the log into the main file");
}
