/*
 * log.c - SQLite's log: written in one call, ahead of its end, and checked.
 *
 * WHY  SQLite hands a commit down in two calls a page, each of which makes the
 *      file longer. A disk then writes the length beside the bytes, and that
 *      costs as much as the bytes. So what is written is gathered here, and the
 *      file is made longer by more than a commit needs, with zeros: the commits
 *      behind it overwrite what is there. Measured in decision 0022.
 *
 *         xWrite ──► gathered ──► xSync ──► one write, one sync
 *                       └──► too much, or somebody wants to see it: one write
 *
 * INVARIANTS, cited below as I1..I6
 *   I1  When xSync says yes, all that SQLite wrote is on the disk. A commit of
 *       ours always ends with it (synchronous=FULL), and only then do others
 *       learn of its frames: nobody else ever misses what is gathered.
 *   I2  The VFS below gets bytes in the order in which SQLite wrote them, or
 *       those of one stretch at once. What a power loss can make of that, it
 *       can make of single writes: SQLite trusts no frame that it has not
 *       summed up from the first one on.
 *   I3  Gathered bytes that could not be written are gone, and SQLite learns of
 *       it in the call that needed them. Until its transaction is over nothing
 *       more of it is written, read or synced, so it cannot be committed
 *       without them.
 *   I4  Zeros are written only behind the end of the file, and a commit never
 *       fails for want of room for them.
 *   I5  What is told as the end of the log was synced. A commit that was taken
 *       back is no end, also if the next transaction writes nothing.
 *   I6  Before frames go, by a new header in front of them or by a cut, the
 * side file says so (claim.c).
 */
#include "vfs.h"

/* Bytes that are gathered at most. The VFS of Unix takes no more than 0x1ffff
 * at a time, without a word: SQLite never asks for more than a page. A commit
 * of one turn has half of it, and more would only save one call in thirty
 * pages. */
#define GATHERED_BYTES ((size_t)31 * 4096)

#define FRAME (PDR_FRAME_HEADER + PDR_SQLITE_PAGE)

static struct pdr__log_file *mine(sqlite3_file *file)
{
    return (struct pdr__log_file *)file;
}

/* --- the end ------------------------------------------------------------- */

/* Only the frame that ends a commit has a size in its header. */
static bool ends_commit(const uint8_t header[PDR_FRAME_HEADER])
{
    return memcmp(header + 4, "\0\0\0\0", 4) != 0;
}

/* The header of a frame is written by itself, and that of the last frame last,
 * also where SQLite makes sums anew. Somebody may ask for it after the commit:
 * it was seen here, so nobody has to read it from the file, whose times would
 * change (see reaches()). */
static void see_header(struct pdr__log_file *log, const void *bytes, size_t len,
                       int64_t at)
{
    uint32_t frame = 0;

    if (len != PDR_FRAME_HEADER || (at - PDR_LOG_HEADER) % FRAME != 0)
        return;
    frame = (uint32_t)((at - PDR_LOG_HEADER) / FRAME) + 1;
    /* SQLite may repeat the last one, to fill a sector, and sync in the middle
     * of that: the commit ended before. */
    if (log->last != 0 && frame > log->last && ends_commit(log->last_header))
        return;
    log->last = frame;
    memcpy(log->last_header, bytes, PDR_FRAME_HEADER);
}

/* And the page of that frame, which comes behind it. */
static void see_page(struct pdr__log_file *log, const void *bytes, size_t len,
                     int64_t at)
{
    if (len == PDR_SQLITE_PAGE && log->last != 0 &&
        at == PDR_LOG_HEADER + (int64_t)(log->last - 1) * FRAME +
                  PDR_FRAME_HEADER)
        memcpy(log->last_page, bytes, PDR_SQLITE_PAGE);
}

/* A sync has ended well. A commit that none came behind is no end (I5). */
static void note_end(struct pdr__log_file *log)
{
    if (log->last == 0 || !ends_commit(log->last_header))
        return;
    memcpy(log->end.frame, log->last_header, PDR_FRAME_HEADER);
    log->end.page = 0;
    for (size_t i = 0; i < 4; i++) { /* in place of the number of its page */
        log->end.page = log->end.page << 8 | log->last_header[i];
        log->end.frame[i] = (uint8_t)(log->last >> (24 - 8 * i));
    }
    pdr__note_seal(log->end.frame, PDR_LOG_END);
    pdr__page_sum(log->end.page_sum, log->last_page, log->end.page);
}

void pdr__log_take_end(struct pdr__log_end *out, struct pdr__log_file *log)
{
    *out = log->end;
    memset(&log->end, 0, sizeof(log->end));
}

/* I6. SQLite begins the WAL anew, or empties it: the main file has all of it.
 */
static int begin_anew(const struct pdr__log_file *log)
{
    const struct pdr__vfs *vfs = log->vfs;

    return vfs->empties == NULL || vfs->empties(vfs->arg) ? SQLITE_OK
                                                          : SQLITE_IOERR_WRITE;
}

/* --- gathering ----------------------------------------------------------- */

static int put(struct pdr__log_file *log, const void *bytes, size_t len,
               int64_t at)
{
    int code = log->below->pMethods->xWrite(log->below, bytes, (int)len, at);

    log->written += len;
    if (code != SQLITE_OK)
        log->failed = code; /* I3 */
    return code;
}

/* Write what is gathered. */
static int put_gathered(struct pdr__log_file *log)
{
    struct pdr__gathered *gathered = &log->gathered;
    size_t len = gathered->len;

    if (log->failed != SQLITE_OK)
        return log->failed;
    gathered->len = 0;
    return len > 0 ? put(log, gathered->bytes, len, gathered->at) : SQLITE_OK;
}

static bool make_room(struct pdr__gathered *gathered)
{
    if (gathered->bytes == NULL)
        gathered->bytes = pdr__alloc(GATHERED_BYTES);
    return gathered->bytes != NULL;
}

/* Does it go on where the gathered bytes end, or overwrite some of them? */
static bool joins(const struct pdr__gathered *gathered, size_t len, int64_t at)
{
    return at >= gathered->at && at <= gathered->at + (int64_t)gathered->len &&
           (size_t)(at - gathered->at) + len <= GATHERED_BYTES;
}

static bool gather(struct pdr__gathered *gathered, const void *bytes,
                   size_t len, int64_t at)
{
    size_t offset = 0;

    if (gathered->len == 0)
        gathered->at = at;
    offset = (size_t)(at - gathered->at);
    if (!make_room(gathered))
        return false;
    memcpy(gathered->bytes + offset, bytes, len);
    if (offset + len > gathered->len)
        gathered->len = offset + len;
    return true;
}

static int log_write(sqlite3_file *file, const void *bytes, int len,
                     sqlite3_int64 at)
{
    struct pdr__log_file *log = mine(file);
    int code = SQLITE_OK;

    see_header(log, bytes, (size_t)len, at);
    see_page(log, bytes, (size_t)len, at);
    if (at < log->unsynced)
        log->unsynced = at;
    if (log->failed != SQLITE_OK)
        return log->failed;
    if (at == 0)
        code = begin_anew(log);
    if (code != SQLITE_OK)
        return code;
    if (log->gathered.len > 0 && !joins(&log->gathered, (size_t)len, at))
        code = put_gathered(log);
    if (code != SQLITE_OK)
        return code;
    if ((size_t)len <= GATHERED_BYTES &&
        gather(&log->gathered, bytes, (size_t)len, at))
        return SQLITE_OK;
    return put(log, bytes, (size_t)len, at); /* no memory: as SQLite has it */
}

/* --- ahead --------------------------------------------------------------- */

/* Does the file reach that far? It is asked only where it did not, as far as we
 * know: who asks a file for its size asks for its times, too, and after that
 * Linux writes the time of the next change beside it, which costs as much as
 * the commit. That somebody made it shorter costs time, and nothing else. */
static bool reaches(struct pdr__log_file *log, int64_t end)
{
    sqlite3_int64 size = 0;

    if (end <= log->reach)
        return true;
    if (log->below->pMethods->xFileSize(log->below, &size) != SQLITE_OK)
        return true; /* no room ahead, then */
    log->reach = size;
    return end <= size;
}

/* Zeros that go out behind what is gathered: as many as the log has bytes, so
 * that a small one stays small. None for large commits, which gain nothing. */
static size_t bytes_ahead(struct pdr__log_file *log)
{
    int64_t end = log->gathered.at + (int64_t)log->gathered.len;
    int64_t ahead = end < PDR_LOG_AHEAD_BYTES ? end : PDR_LOG_AHEAD_BYTES;

    if (log->gathered.len == 0 || end <= PDR_LOG_HEADER ||
        log->written + log->gathered.len > PDR_LOG_SMALL_COMMIT ||
        reaches(log, end)) /* I4 */
        return 0;
    ahead += PDR_SQLITE_PAGE - (end + ahead) % PDR_SQLITE_PAGE;
    return (size_t)ahead;
}

/* Zeros of a commit that is in the file already: it does not depend on them, so
 * their failure is none (I4). */
static void put_ahead(struct pdr__log_file *log, int64_t at, size_t len)
{
    struct pdr__gathered *gathered = &log->gathered;
    int code = SQLITE_OK;

    if (len == 0 || !make_room(gathered))
        return;
    memset(gathered->bytes, 0, GATHERED_BYTES);
    while (len > 0 && code == SQLITE_OK) {
        size_t part = len < GATHERED_BYTES ? len : GATHERED_BYTES;

        code = log->below->pMethods->xWrite(log->below, gathered->bytes,
                                            (int)part, at);
        at += (int64_t)part;
        len -= part;
    }
    if (code == SQLITE_OK)
        log->reach = at;
}

static int log_sync(sqlite3_file *file, int flags)
{
    struct pdr__log_file *log = mine(file);
    size_t ahead = bytes_ahead(log);
    int64_t end = log->gathered.at + (int64_t)log->gathered.len;
    int code = put_gathered(log);

    if (code == SQLITE_OK) {
        put_ahead(log, end, ahead);
        code = log->below->pMethods->xSync(log->below, flags);
    }
    if (code == SQLITE_OK) {
        log->unsynced = INT64_MAX;
        log->written = 0;
        note_end(log);
    }
    return code;
}

/* --- reading ------------------------------------------------------------- */

/* A page as SQLite reads it out of a frame, and never anything else. */
static bool is_page(int len, int64_t at)
{
    return len == PDR_SQLITE_PAGE && at >= PDR_LOG_HEADER + PDR_FRAME_HEADER &&
           (at - PDR_LOG_HEADER - PDR_FRAME_HEADER) % FRAME == 0;
}

/* The page with the two sums around it, in one call: that of its own frame
 * stands in front of it, and one page in front of that the one before. */
static int read_page(struct pdr__log_file *log, void *out, int64_t at)
{
    uint8_t bytes[PDR_LOG_SUM + PDR_SQLITE_PAGE + FRAME];
    int64_t frame = at - PDR_FRAME_HEADER;
    bool is_first = frame == PDR_LOG_HEADER;
    int before = PDR_LOG_SUM + (is_first ? 0 : PDR_SQLITE_PAGE);
    int code = log->below->pMethods->xRead(log->below, bytes, before + FRAME,
                                           frame - before);

    memcpy(out, bytes + before + PDR_FRAME_HEADER, PDR_SQLITE_PAGE);
    if (code != SQLITE_OK || pdr__frame_is_sound(bytes, bytes + before))
        return code;
    log->main->damage = (struct pdr__damage){
        (uint32_t)((frame - PDR_LOG_HEADER) / FRAME) + 1, true};
    return SQLITE_IOERR_DATA;
}

/* Frames of a transaction that is not committed get their sums when it is: if
 * SQLite writes a page of them again, it does so in place. */
static int log_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
    struct pdr__log_file *log = mine(file);
    bool is_own = at + len > log->unsynced;
    int code = is_own ? put_gathered(log) : SQLITE_OK;

    if (code != SQLITE_OK)
        return code;
    if (is_page(len, at) && !is_own)
        return read_page(log, out, at);
    return log->below->pMethods->xRead(log->below, out, len, at);
}

/* --- the rest ------------------------------------------------------------ */

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct pdr__log_file *log = mine(file);
    int code = put_gathered(log);

    if (code == SQLITE_OK && size == 0)
        code = begin_anew(log);
    log->reach = 0; /* ask again */
    return code == SQLITE_OK ? log->below->pMethods->xTruncate(log->below, size)
                             : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *out)
{
    struct pdr__log_file *log = mine(file);
    int code = put_gathered(log);

    return code == SQLITE_OK ? log->below->pMethods->xFileSize(log->below, out)
                             : code;
}

static int log_control(sqlite3_file *file, int op, void *arg)
{
    struct pdr__log_file *log = mine(file);

    return log->below->pMethods->xFileControl(log->below, op, arg);
}

static int log_close(sqlite3_file *file)
{
    struct pdr__log_file *log = mine(file);
    int lost = put_gathered(log);
    int code = log->below->pMethods->xClose(log->below);

    pdr__free(log->gathered.bytes);
    log->main->log = NULL;
    return lost != SQLITE_OK ? lost : code;
}

void pdr__log_open(struct pdr__log_file *log, struct pdr__main_file *main,
                   struct pdr__vfs *vfs)
{
    log->main = main;
    log->vfs = vfs;
    log->unsynced = INT64_MAX;
    main->log = log;
}

/* What is still gathered belongs to a transaction that was taken back: it may
 * be lost, and no failure of it matters. */
void pdr__log_over(struct pdr__log_file *log)
{
    log->lost = log->failed;
    (void)put_gathered(log);
    log->failed = SQLITE_OK;
    log->unsynced = INT64_MAX;
    log->written = 0;
    log->last = 0; /* I5 */
}

/* The system takes bytes for written once a sync of them has failed, and no
 * other sync tries again. Those that were written anew it has to write. */
int pdr__log_renew(struct pdr__log_file *log)
{
    const sqlite3_io_methods *below = log->below->pMethods;
    sqlite3_int64 size = 0;
    int code = below->xFileSize(log->below, &size);

    assert(log->gathered.len == 0);
    if (!make_room(&log->gathered))
        return SQLITE_NOMEM;
    for (int64_t at = 0; at < size && code == SQLITE_OK;) {
        int64_t left = size - at;
        int part =
            left < (int64_t)GATHERED_BYTES ? (int)left : (int)GATHERED_BYTES;

        code = below->xRead(log->below, log->gathered.bytes, part, at);
        if (code == SQLITE_OK)
            code = below->xWrite(log->below, log->gathered.bytes, part, at);
        at += part;
    }
    return code == SQLITE_OK ? below->xSync(log->below, SQLITE_SYNC_NORMAL)
                             : code;
}

const sqlite3_io_methods pdr__log_methods = {
    .iVersion = 1, /* shared memory belongs to the main file */
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = pdr__file_lock,
    .xUnlock = pdr__file_unlock,
    .xCheckReservedLock = pdr__file_is_reserved,
    .xFileControl = log_control,
    .xSectorSize = pdr__file_sector,
    .xDeviceCharacteristics = pdr__file_device,
};
