/*
 * count_vfs.c - counts, and hands every call to the VFS below it. See
 * count_vfs.h. The shared-memory file of a log is no file operation: it is not
 * counted.
 */
#include "count_vfs.h"

#include <stdatomic.h>

#include <sqlite3.h>

#include "bench.h"

/* A file of ours; that of the VFS below lies behind it. */
struct count_file {
    sqlite3_file base;
    sqlite3_file *real;
    atomic_uint_fast64_t *bytes; /* where its writes count, or NULL */
};

static sqlite3_vfs *below;
static sqlite3_vfs ours;
static atomic_uint_fast64_t log_bytes, main_bytes, syncs;

static struct count_file *mine(sqlite3_file *file)
{
    return (struct count_file *)file;
}

#define REAL(file)    (mine(file)->real)
#define METHODS(file) (REAL(file)->pMethods)

static int file_close(sqlite3_file *file)
{
    return METHODS(file)->xClose(REAL(file));
}

static int file_read(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
    return METHODS(file)->xRead(REAL(file), to, len, at);
}

static int file_write(sqlite3_file *file, const void *from, int len,
                      sqlite3_int64 at)
{
    if (mine(file)->bytes != NULL)
        atomic_fetch_add(mine(file)->bytes, (uint_fast64_t)len);
    return METHODS(file)->xWrite(REAL(file), from, len, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return METHODS(file)->xTruncate(REAL(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    atomic_fetch_add(&syncs, 1);
    return METHODS(file)->xSync(REAL(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return METHODS(file)->xFileSize(REAL(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
    return METHODS(file)->xLock(REAL(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return METHODS(file)->xUnlock(REAL(file), level);
}

static int file_is_reserved(sqlite3_file *file, int *out)
{
    return METHODS(file)->xCheckReservedLock(REAL(file), out);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return METHODS(file)->xFileControl(REAL(file), op, arg);
}

static int file_sector(sqlite3_file *file)
{
    return METHODS(file)->xSectorSize(REAL(file));
}

static int file_device(sqlite3_file *file)
{
    return METHODS(file)->xDeviceCharacteristics(REAL(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **out)
{
    return METHODS(file)->xShmMap(REAL(file), region, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int from, int count, int flags)
{
    return METHODS(file)->xShmLock(REAL(file), from, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    METHODS(file)->xShmBarrier(REAL(file));
}

static int file_shm_unmap(sqlite3_file *file, int is_deleted)
{
    return METHODS(file)->xShmUnmap(REAL(file), is_deleted);
}

static int file_fetch(sqlite3_file *file, sqlite3_int64 at, int len, void **out)
{
    return METHODS(file)->xFetch(REAL(file), at, len, out);
}

static int file_unfetch(sqlite3_file *file, sqlite3_int64 at, void *page)
{
    return METHODS(file)->xUnfetch(REAL(file), at, page);
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
    .xFetch = file_fetch,
    .xUnfetch = file_unfetch};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                    int flags, int *out_flags)
{
    struct count_file *opened = mine(file);

    (void)vfs;
    opened->real = (sqlite3_file *)(void *)(opened + 1);
    opened->bytes = NULL;
    if ((flags & SQLITE_OPEN_WAL) != 0)
        opened->bytes = &log_bytes;
    else if ((flags & SQLITE_OPEN_MAIN_DB) != 0)
        opened->bytes = &main_bytes;
    int rc = below->xOpen(below, name, opened->real, flags, out_flags);
    /* SQLite closes a file that failed to open, if it has methods. */
    opened->base.pMethods = opened->real->pMethods != NULL ? &methods : NULL;
    return rc;
}

void count_vfs_register(void)
{
    below = sqlite3_vfs_find(NULL);
    if (below == NULL)
        bench_fail("SQLite has no VFS");
    ours = *below;
    ours.szOsFile = (int)sizeof(struct count_file) + below->szOsFile;
    ours.zName = COUNT_VFS;
    ours.xOpen = vfs_open;
    if (sqlite3_vfs_register(&ours, 0) != SQLITE_OK)
        bench_fail("cannot register the VFS that counts");
}

struct count_vfs count_vfs_get(void)
{
    return (struct count_vfs){atomic_load(&log_bytes), atomic_load(&main_bytes),
                              atomic_load(&syncs)};
}

uint64_t count_vfs_bytes(const struct count_vfs *from,
                         const struct count_vfs *to)
{
    return to->log_bytes - from->log_bytes + to->main_bytes - from->main_bytes;
}
