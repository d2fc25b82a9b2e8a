/*
 * vfs.c - our own layer between SQLite and its files.
 *
 * WHY  Some things cannot be had above SQLite: a page that the disk changed is
 *      told by a sum at its end (sum.c), a commit goes to the log in one call,
 *      the log is longer than its last commit (log.c), and what was deleted is
 *      overwritten.
 *
 *         SQLite ──► this VFS ──► the one below: the usual one, or the vfs=
 *                                 of a URI
 *
 *      Each store registers one for itself and takes it back when it is closed.
 *      So the one below can never be another than the store was opened with,
 *      and SQLite, which looks VFSs up by name for VACUUM, finds it for as long
 *      as there is a connection.
 *
 * INVARIANTS, cited below as I1..I5
 *   I1  Whether a main file has sums stands in itself, byte 20 of page 1: as
 *       many bytes are reserved at the end of each page. A file of version 1
 *       has none, and is neither checked nor changed.
 *   I2  Once a file is known to have them it keeps them: page 1 is then checked
 *       whatever its byte 20 says.
 *       (A new file that is written in another order than that of its pages
 *       is told before, by PDR_FCNTL_SUMS.)
 *   I3  When a migration brings them, all pages stand in the log, and SQLite
 *       copies them in the order of their numbers: page 1 switches the sums on
 *       for all behind it. Killed in between, the log still has every page, and
 *       none is read from the main file before all are copied again.
 *   I4  A page that the end of the file cuts off is read with zeros behind it,
 *       and they are compared, too: SQLite would go on with them. One that lies
 *       behind the end is blank, as one that was never written, and as a page
 *       of a table that is none: SQLite says so.
 *   I5  What was deleted is in no page of a main file that was written since:
 *       SQLite overwrites it (secure_delete), and the rest is cleared here.
 *
 * Nothing is mapped into memory: SQLite would see pages that nobody has
 * checked. So the methods end with version 2.
 */
#include "vfs.h"

#include <stdio.h>

#define RESERVED_AT 20 /* in the header of the file, on page 1 */
#define HEADER      100
#define WRITE_LOCK  0 /* in shared memory: the one who adds to the log */

static struct pdr__main_file *mine(sqlite3_file *file)
{
    return (struct pdr__main_file *)file;
}

/* --- what is passed on --------------------------------------------------- */

#define BELOW(file)   (mine(file)->below)
#define METHODS(file) (BELOW(file)->pMethods)

static int main_close(sqlite3_file *file)
{
    return METHODS(file)->xClose(BELOW(file));
}

static int main_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return METHODS(file)->xTruncate(BELOW(file), size);
}

static int main_sync(sqlite3_file *file, int flags)
{
    return METHODS(file)->xSync(BELOW(file), flags);
}

/* SQLite asks before it reads or writes the first page. */
static int main_size(sqlite3_file *file, sqlite3_int64 *out)
{
    int code = METHODS(file)->xFileSize(BELOW(file), out);
    sqlite3_int64 pages = *out / PDR_SQLITE_PAGE;

    if (code == SQLITE_OK && pages > mine(file)->pages)
        mine(file)->pages = (uint32_t)pages;
    return code;
}

int pdr__file_lock(sqlite3_file *file, int level)
{
    return METHODS(file)->xLock(BELOW(file), level);
}

int pdr__file_unlock(sqlite3_file *file, int level)
{
    return METHODS(file)->xUnlock(BELOW(file), level);
}

int pdr__file_is_reserved(sqlite3_file *file, int *out)
{
    return METHODS(file)->xCheckReservedLock(BELOW(file), out);
}

int pdr__file_sector(sqlite3_file *file)
{
    return METHODS(file)->xSectorSize(BELOW(file));
}

int pdr__file_device(sqlite3_file *file)
{
    return METHODS(file)->xDeviceCharacteristics(BELOW(file));
}

static int main_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **out)
{
    int code = METHODS(file)->xShmMap(BELOW(file), region, size, extend, out);
    uint64_t end = ((uint64_t)region + 1) * (uint64_t)size;

    if (code == SQLITE_OK && *out != NULL && end > mine(file)->mapped)
        mine(file)->mapped = end;
    return code;
}

static void main_shm_barrier(sqlite3_file *file)
{
    METHODS(file)->xShmBarrier(BELOW(file));
}

static int main_shm_unmap(sqlite3_file *file, int is_deleted)
{
    return METHODS(file)->xShmUnmap(BELOW(file), is_deleted);
}

/* --- the main file ------------------------------------------------------- */

/* Does the beginning of a file say that its pages have sums? (I1) */
static bool says_sums(const uint8_t *header)
{
    static const uint8_t begin[] = "SQLite format 3";

    return memcmp(header, begin, sizeof(begin)) == 0 &&
           (header[16] << 8 | header[17]) == PDR_SQLITE_PAGE &&
           header[RESERVED_AT] == PDR_SQLITE_RESERVED;
}

static bool is_page(int len, sqlite3_int64 at)
{
    return len == PDR_SQLITE_PAGE && at % PDR_SQLITE_PAGE == 0;
}

static uint32_t page_number(sqlite3_int64 at)
{
    return (uint32_t)(at / PDR_SQLITE_PAGE) + 1;
}

static int main_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
    struct pdr__main_file *self = mine(file);
    int code = METHODS(file)->xRead(BELOW(file), out, len, at);

    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) /* I4 */
        return code;
    if (at == 0 && len >= HEADER)
        self->has_sums = self->has_sums || says_sums(out); /* I2 */
    if (!self->has_sums || self->without_sums || !is_page(len, at) ||
        pdr__page_is_sound(out, page_number(at)))
        return code;
    self->damage = (struct pdr__damage){page_number(at), false};
    return SQLITE_IOERR_DATA;
}

/* --- what pages do not use ------------------------------------------------ */

/* The first byte of a page of a tree says which kind it is. Those of a list of
 * free pages and of a chain of a long row begin with the number of a page, so
 * with 0 in a file below 128 GB. */
#define MOST_PAGES ((uint32_t)1 << 25)
/* Pages that a page of the map of pointers speaks of, and itself. */
#define MAP_PAGES (PDR_SQLITE_USABLE / 5 + 1)

/* Zeros for what was deleted: SQLite overwrites rows that go, but not the room
 * between the pointers to the rows and the rows, where rows stood that were
 * moved (I5). */
static void clear_gap(uint8_t page[PDR_SQLITE_PAGE], uint32_t number)
{
    uint8_t *head = page + (number == 1 ? HEADER : 0);
    bool is_inner = head[0] == 2 || head[0] == 5;
    size_t cells = (size_t)(head[3] << 8 | head[4]);
    size_t start = (size_t)(head[5] << 8 | head[6]);
    size_t from = (size_t)(head - page) + (is_inner ? 12 : 8) + 2 * cells;

    if ((!is_inner && head[0] != 10 && head[0] != 13) ||
        (number >= 2 && (number - 2) % MAP_PAGES == 0))
        return;
    if (from < start && start <= PDR_SQLITE_USABLE)
        memset(page + from, 0, start - from);
}

static int main_write(sqlite3_file *file, const void *bytes, int len,
                      sqlite3_int64 at)
{
    uint8_t page[PDR_SQLITE_PAGE];

    if (at == 0 && len >= HEADER)
        mine(file)->has_sums = says_sums(bytes); /* I3 */
    if (!mine(file)->has_sums || !is_page(len, at))
        return METHODS(file)->xWrite(BELOW(file), bytes, len, at);
    memcpy(page, bytes, PDR_SQLITE_USABLE);
    if (page_number(at) > mine(file)->pages)
        mine(file)->pages = page_number(at);
    if (!mine(file)->keeps_deleted && mine(file)->pages < MOST_PAGES)
        clear_gap(page, page_number(at));
    pdr__page_sum(page + PDR_SQLITE_USABLE, page, page_number(at));
    return METHODS(file)->xWrite(BELOW(file), page, len, at);
}

static int main_control(sqlite3_file *file, int op, void *arg)
{
    if (op == PDR_FCNTL_STATE) {
        const struct pdr__main_file *self = mine(file);

        *(struct pdr__file_state *)arg = (struct pdr__file_state){
            self->has_sums, self->damage.is_in_log, self->damage.number,
            self->log != NULL ? self->log->lost : SQLITE_OK};
        return SQLITE_OK;
    }
    if (op == PDR_FCNTL_SUMS) {
        mine(file)->has_sums = *(const bool *)arg;
        return SQLITE_OK;
    }
    if (op == PDR_FCNTL_RENEW_LOG)
        return mine(file)->log != NULL ? pdr__log_renew(mine(file)->log)
                                       : SQLITE_OK;
    if (op == PDR_FCNTL_LOG_END) {
        memset(arg, 0, sizeof(struct pdr__log_end));
        if (mine(file)->log != NULL)
            pdr__log_take_end(arg, mine(file)->log);
        return SQLITE_OK;
    }
    return METHODS(file)->xFileControl(BELOW(file), op, arg);
}

/* Has somebody cut off memory that is mapped? Whoever touches it there is ended
 * by a signal. One that is gone by its name is still there for us. */
static bool is_cut(const struct pdr__main_file *self)
{
    uint64_t bytes = 0;

    return self->memory_path != NULL && self->mapped > 0 &&
           pdr__file_size(&bytes, self->memory_path) && bytes < self->mapped;
}

/* Who writes gives that lock back when the transaction is over. */
static int main_shm_lock(sqlite3_file *file, int from, int count, int flags)
{
    struct pdr__log_file *log = mine(file)->log;

    if (log != NULL && from == WRITE_LOCK &&
        flags == (SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE))
        pdr__log_over(log);
    if ((flags & SQLITE_SHM_LOCK) != 0 && is_cut(mine(file)))
        return SQLITE_IOERR_SHMSIZE;
    return METHODS(file)->xShmLock(BELOW(file), from, count, flags);
}

#define MAIN_METHODS(version)                                                 \
    {                                                                         \
        .iVersion = (version), .xClose = main_close, .xRead = main_read,      \
        .xWrite = main_write, .xTruncate = main_truncate, .xSync = main_sync, \
        .xFileSize = main_size, .xLock = pdr__file_lock,                      \
        .xUnlock = pdr__file_unlock,                                          \
        .xCheckReservedLock = pdr__file_is_reserved,                          \
        .xFileControl = main_control, .xSectorSize = pdr__file_sector,        \
        .xDeviceCharacteristics = pdr__file_device, .xShmMap = main_shm_map,  \
        .xShmLock = main_shm_lock, .xShmBarrier = main_shm_barrier,           \
        .xShmUnmap = main_shm_unmap                                           \
    }

static const sqlite3_io_methods with_shared_memory = MAIN_METHODS(2);
static const sqlite3_io_methods without_shared_memory = MAIN_METHODS(1);

/* --- the VFS ------------------------------------------------------------- */

static sqlite3_vfs *below_of(const sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* Is it the VFS of a store that asked for sums=off? */
static bool is_without_sums(sqlite3_vfs *vfs)
{
    return PDR_CONTAINER_OF(vfs, struct pdr__vfs, vfs)->without_sums;
}

static int open_main(sqlite3_vfs *below, const char *name, sqlite3_file *file,
                     int flags, int *flags_out)
{
    struct pdr__main_file *self = mine(file);
    int code = SQLITE_OK;

    memset(file, 0, sizeof(union pdr__file));
    self->below = (sqlite3_file *)((union pdr__file *)file + 1);
    self->below->pMethods = NULL;
    code = below->xOpen(below, name, self->below, flags, flags_out);
    /* SQLite closes what has methods, also where opening failed. */
    if (self->below->pMethods != NULL)
        file->pMethods = self->below->pMethods->iVersion >= 2
                             ? &with_shared_memory
                             : &without_shared_memory;
    return code;
}

static int open_log(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                    int flags, int *flags_out)
{
    struct pdr__log_file *log = (struct pdr__log_file *)file;
    sqlite3_vfs *below = below_of(vfs);
    int code = SQLITE_OK;

    memset(file, 0, sizeof(union pdr__file));
    log->below = (sqlite3_file *)((union pdr__file *)file + 1);
    log->below->pMethods = NULL;
    code = below->xOpen(below, name, log->below, flags, flags_out);
    if (log->below->pMethods != NULL) {
        file->pMethods = &pdr__log_methods;
        pdr__log_open(log, mine(sqlite3_database_file_object(name)),
                      PDR_CONTAINER_OF(vfs, struct pdr__vfs, vfs));
    }
    return code;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                    int flags, int *flags_out)
{
    sqlite3_vfs *below = below_of(vfs);
    int code = SQLITE_OK;

    if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
        code = open_main(below, name, file, flags, flags_out);
        mine(file)->without_sums = is_without_sums(vfs);
        mine(file)->keeps_deleted =
            PDR_CONTAINER_OF(vfs, struct pdr__vfs, vfs)->keeps_deleted;
        mine(file)->memory_path =
            PDR_CONTAINER_OF(vfs, struct pdr__vfs, vfs)->memory_path;
        return code;
    }
    if ((flags & SQLITE_OPEN_WAL) != 0)
        return open_log(vfs, name, file, flags, flags_out);
    return below->xOpen(below, name, file, flags, flags_out);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    return below_of(vfs)->xDelete(below_of(vfs), name, sync_folder);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    return below_of(vfs)->xAccess(below_of(vfs), name, flags, out);
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    return below_of(vfs)->xFullPathname(below_of(vfs), name, room, out);
}

static int vfs_randomness(sqlite3_vfs *vfs, int len, char *out)
{
    return below_of(vfs)->xRandomness(below_of(vfs), len, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return below_of(vfs)->xSleep(below_of(vfs), microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *out)
{
    return below_of(vfs)->xCurrentTime(below_of(vfs), out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int room, char *out)
{
    return below_of(vfs)->xGetLastError(below_of(vfs), room, out);
}

/* Version 1, and without what loads libraries: we load none, and the time in
 * thousandths of a second is enough for SQLite. */
static const sqlite3_vfs methods = {
    .iVersion = 1,
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_path,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_time,
    .xGetLastError = vfs_last_error,
};

pdr_rc pdr__vfs_open(struct pdr__vfs *self, const char *below, pdr_err *err)
{
    sqlite3_vfs *real = sqlite3_vfs_find(below);
    int code = SQLITE_ERROR;

    self->vfs = methods;
    self->without_sums = false;
    self->keeps_deleted = false;
    self->empties = NULL;
    self->memory_path = NULL;
    (void)snprintf(self->name, sizeof(self->name), "perdure-%p", (void *)self);
    self->vfs.zName = self->name;
    if (real != NULL) {
        self->vfs.szOsFile = (int)sizeof(union pdr__file) + real->szOsFile;
        self->vfs.mxPathname = real->mxPathname;
        self->vfs.pAppData = real;
        code = sqlite3_vfs_register(&self->vfs, 0);
    }
    self->is_open = code == SQLITE_OK;
    return self->is_open
               ? PDR_OK
               : pdr__sqlite_fail(err, NULL, code, "opening the store");
}

void pdr__vfs_close(struct pdr__vfs *self)
{
    if (self->is_open)
        (void)sqlite3_vfs_unregister(&self->vfs);
    self->is_open = false;
}
