/*
 * info.c - what the store says of itself, and whether others have committed.
 *
 * WHY  A log that cannot shrink fills the disk, and the one who keeps it from
 *      shrinking is often another program that reads and forgot to stop. SQLite
 *      knows that somebody does, not who. The kernel knows: a reader holds a
 *      lock on one of five bytes of the -shm file, and the list of locks names
 *      its process.
 *
 * NEVER  Opening the -shm file here and closing it again would drop all locks
 *        of this process on it (POSIX); so it is only asked for its number.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"

/* The bytes of the -shm file that readers lock, one for each mark that they can
 * set in the log (https://sqlite.org/walformat.html, 2.3). */
#define FIRST_MARK 123u
#define LAST_MARK  127u

#define LOCKS_FILE "/proc/locks"

/* --- who reads ----------------------------------------------------------- */

/* One line of the list of locks: "1: POSIX  ADVISORY  READ 4711 fe:00:123 124
 * 124"; one that waits has "->" and counts for nothing. */
static int64_t holder(const char *line, const struct stat *file)
{
    unsigned major_no = 0, minor_no = 0;
    uint64_t inode = 0, first = 0, last = 0;
    int64_t process = 0;
    int found = sscanf(line,
                       "%*d: POSIX %*s READ %" SCNd64 " %x:%x:%" SCNu64
                       " %" SCNu64 " %" SCNu64,
                       &process, &major_no, &minor_no, &inode, &first, &last);

    if (found != 6 || process <= 0 || inode != (uint64_t)file->st_ino ||
        major_no != major(file->st_dev) || minor_no != minor(file->st_dev))
        return 0;
    return first <= LAST_MARK && last >= FIRST_MARK ? process : 0;
}

/* The first process in these lines that reads, if possible not this one; gives
 * the bytes of whole lines. */
static size_t scan(int64_t *process, char *lines, const struct stat *file)
{
    char *line = lines;
    char *end = strchr(line, '\n');

    for (; end != NULL; line = end + 1, end = strchr(line, '\n')) {
        int64_t found = 0;

        *end = '\0';
        found = holder(line, file);
        if (found != 0 && (*process == 0 || *process == getpid()))
            *process = found;
    }
    return (size_t)(line - lines);
}

int64_t pdr__sqlite_pinned_by(const char *shm, const char *locks)
{
    char lines[4096];
    size_t used = 0;
    int64_t process = 0;
    struct stat file;
    int fd = -1;

    if (stat(shm, &file) != 0)
        return 0;
    fd = open(locks, O_RDONLY | O_CLOEXEC);
    while (fd >= 0) {
        ssize_t got = read(fd, lines + used, sizeof(lines) - 1 - used);

        if (got <= 0)
            break;
        lines[used + (size_t)got] = '\0';
        used += (size_t)got;
        got = (ssize_t)scan(&process, lines, &file);
        used -= (size_t)got;
        memmove(lines, lines + got, used);
    }
    if (fd >= 0)
        (void)close(fd);
    return process;
}

/* A reader comes and goes within a page of rows; one that is still there after
 * a moment stays. */
static pdr_rc find_reader(int64_t *out, const struct pdr__sqlite *store,
                          pdr_err *err)
{
    const struct timespec moment = {0, 20 * 1000 * 1000};
    size_t room = strlen(store->path) + sizeof("-shm");
    char *shm = pdr__alloc(room);
    int64_t process = 0;

    if (shm == NULL)
        return pdr__nomem(err);
    (void)snprintf(shm, room, "%s-shm", store->path);
    process = pdr__sqlite_pinned_by(shm, LOCKS_FILE);
    if (process != 0)
        (void)nanosleep(&moment, NULL);
    if (process != 0 && pdr__sqlite_pinned_by(shm, LOCKS_FILE) == process)
        *out = process;
    pdr__free(shm);
    return PDR_OK;
}

/* --- info ---------------------------------------------------------------- */

static uint64_t file_bytes(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

/* Bytes of the log that are in use: after it was begun anew the file is as long
 * as before. Who has not committed yet sees only the file. */
static bool is_log_long(const struct pdr__sqlite *store, uint64_t file)
{
    uint64_t used = atomic_load(&store->writer.log_bytes);

    return (used != 0 ? used : file) >= PDR_LOG_BYTES;
}

static pdr_rc ask(uint64_t *out, struct pdr__reader *reader, const char *sql,
                  pdr_err *err)
{
    struct pdr__rows rows;
    bool found = false;
    pdr_rc rc = pdr__rows_open(&rows, reader, READER_KEPT, sql, err);

    if (rc == PDR_OK)
        rc = pdr__rows_next(&found, &rows, err);
    if (rc == PDR_OK)
        *out = pdr__rows_count(&rows);
    pdr__rows_close(&rows);
    return rc;
}

/* Of one moment. */
static pdr_rc ask_reader(pdr_store_info *out, struct pdr__reader *reader,
                         pdr_err *err)
{
    uint64_t pages = 0, page_bytes = 0;
    pdr_rc rc = ask(&pages, reader, "PRAGMA freelist_count", err);

    if (rc == PDR_OK)
        rc = ask(&page_bytes, reader, "PRAGMA page_size", err);
    if (rc == PDR_OK)
        rc = ask(&out->unseen, reader, "SELECT count(*) FROM unseen", err);
    out->free_bytes = pages * page_bytes;
    return rc;
}

static pdr_rc ask_file(pdr_store_info *out, struct pdr__sqlite *store,
                       pdr_err *err)
{
    struct pdr__reader *reader = NULL;
    pdr_rc rc = pdr__reader_take(&reader, store, err);

    if (rc != PDR_OK)
        return rc;
    rc = pdr__reader_begin(store, reader, err);
    if (rc == PDR_OK) {
        rc = ask_reader(out, reader, err);
        rc = pdr__reader_end(reader, rc, err);
    }
    pdr__reader_give(store, reader);
    return rc;
}

pdr_rc pdr__sqlite_info(pdr_store *self, pdr_store_info *out, pdr_err *err)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    pdr_rc rc = PDR_OK;

    out->schema = store->schema;
    out->read_only = store->read_only;
    out->in_doubt = atomic_load(&store->in_doubt);
    out->file_bytes = file_bytes(store->path);
    out->log_bytes = file_bytes(store->log_path);
    (void)pthread_mutex_lock(&store->group.lock);
    out->commits = store->group.commits;
    out->groups = store->group.groups;
    (void)pthread_mutex_unlock(&store->group.lock);
    rc = ask_file(out, store, err);
    if (rc == PDR_OK && is_log_long(store, out->log_bytes))
        rc = find_reader(&out->pinned_by, store, err);
    return rc;
}

/* --- count --------------------------------------------------------------- */

static pdr_rc count_states(pdr_store_counts *out, struct pdr__reader *reader,
                           pdr_str tenant, pdr_err *err)
{
    static const char sql[] =
        "SELECT state,count(*) FROM sessions INDEXED BY sessions_by_state "
        "WHERE tenant=?1 GROUP BY state"; /* in the index alone */
    struct pdr__rows rows;
    bool more = false;
    pdr_rc rc = pdr__rows_open(&rows, reader, READER_STATES, sql, err);

    if (rc == PDR_OK)
        pdr__rows_bind_text(&rows, tenant);
    while (rc == PDR_OK) {
        pdr_session_state state = PDR_SESSION_IDLE;
        pdr_str word = {NULL, 0};
        uint64_t count = 0;

        PDR_TRY(pdr__rows_next(&more, &rows, err));
        if (!more)
            break;
        word = pdr__rows_text(&rows);
        count = pdr__rows_count(&rows);
        PDR_TRY(pdr__rows_check(&rows, "sessions", err));
        if (!pdr__session_state_read(&state, word))
            PDR_TRY(pdr__wrong_index("sessions_by_state", err));
        out->by_state[state] += count;
    }
done:
    pdr__rows_close(&rows);
    return rc;
}

pdr_rc pdr__sqlite_count(pdr_store *self, pdr_store_counts *out, pdr_str tenant,
                         pdr_err *err)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct pdr__reader *reader = NULL;
    pdr_rc rc = pdr__reader_take(&reader, store, err);

    if (rc != PDR_OK)
        return rc;
    rc = pdr__reader_begin(store, reader, err);
    if (rc == PDR_OK) {
        rc = count_states(out, reader, tenant, err);
        rc = pdr__reader_end(reader, rc, err);
    }
    pdr__reader_give(store, reader);
    return rc;
}

/* --- poll ---------------------------------------------------------------- */

/* The side file knows whose commit the last one was. Who may only read has
 * none, and asks a connection of its own: SQLite counts what others than that
 * have committed, ours included. */
pdr_rc pdr__sqlite_poll(pdr_store *self, uint64_t *out, pdr_err *err)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct pdr__readers *readers = &store->readers;
    struct pdr__rows rows;
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (store->line.fd >= 0) {
        *out = pdr__line_poll(&store->line);
        return PDR_OK;
    }
    (void)pthread_mutex_lock(&readers->polling);
    if (readers->poller == NULL)
        rc = pdr__reader_open(&readers->poller, store, err);
    if (rc == PDR_OK) {
        rc = pdr__rows_open(&rows, readers->poller, READER_VERSION,
                            "PRAGMA data_version", err);
        if (rc == PDR_OK)
            rc = pdr__rows_next(&found, &rows, err);
        if (rc == PDR_OK)
            *out = pdr__rows_count(&rows);
        pdr__rows_close(&rows);
    }
    (void)pthread_mutex_unlock(&readers->polling);
    return rc;
}
