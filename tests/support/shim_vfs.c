/*
 * shim_vfs.c - counts, faults and a log below SQLite.
 *
 * WHY  A store that says "durable" can only be believed if every file operation
 *      below it was made to fail, and if what it had not synced was taken away.
 *      Both need a place between SQLite and the files. kill -9 is no proof: the
 *      system keeps what a dead process wrote, synced or not.
 *
 *     SQLite ──► admit(): count, and fail if it is the turn
 *            ──► the default VFS does it
 *            ──► note(): the log, if it is on        played by shim_disk.c
 *
 * INVARIANTS
 *   I1  What is in the log happened, in this order: the lock is held around
 *       the operation and its note. Without a log nothing is held.
 *   I2  A folder counts as synced when the default VFS of Unix syncs it: at
 *       the first sync of a WAL or journal that was opened to be made, and
 *       when a file is deleted with that flag.
 *   I3  A file that is found empty counts as new: nobody can have relied on it.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shim_log.h"

#define SECTOR    512
#define MAX_NAMES 32

/* A name in the folder, and the file behind it. */
struct name {
    char *text; /* owned; NULL: free */
    int file;
};

struct shim {
    sqlite3_vfs base;
    sqlite3_vfs *real;
    pthread_mutex_t lock; /* guards everything below; recursive */
    size_t counts[SHIM_OPS];
    uint64_t bytes[SHIM_FILES], bytes_read[SHIM_FILES];
    struct shim_fault fault;
    size_t seen; /* operations of its kind since it was set */
    size_t failed;
    enum shim_op failed_op;
    bool swallow, recording;
    struct shim_log log;
    struct name names[MAX_NAMES];
};

struct handle {
    sqlite3_file base;
    struct shim *shim;
    sqlite3_file *real; /* behind this struct */
    enum shim_file kind;
    int file; /* its number in the log; -1: not recorded */
    bool syncs_folder;
};

/* --- counts and faults ---------------------------------------------------
 */

/* What SQLite hears; the last is for a full disk. */
static const struct {
    const char *word;
    int code;
} ops[SHIM_OPS] = {
    [SHIM_OPEN] = {"open", SQLITE_CANTOPEN},
    [SHIM_READ] = {"read", SQLITE_IOERR_READ},
    [SHIM_WRITE] = {"write", SQLITE_IOERR_WRITE},
    [SHIM_TRUNCATE] = {"truncate", SQLITE_IOERR_TRUNCATE},
    [SHIM_SYNC] = {"sync", SQLITE_IOERR_FSYNC},
    [SHIM_SIZE] = {"size", SQLITE_IOERR_FSTAT},
    [SHIM_LOCK] = {"lock", SQLITE_IOERR_LOCK},
    [SHIM_RESERVED] = {"reserved", SQLITE_IOERR_CHECKRESERVEDLOCK},
    [SHIM_DELETE] = {"delete", SQLITE_IOERR_DELETE},
    [SHIM_ACCESS] = {"access", SQLITE_IOERR_ACCESS},
    [SHIM_PATH] = {"path", SQLITE_CANTOPEN_FULLPATH},
    [SHIM_SHM_MAP] = {"shm map", SQLITE_IOERR_SHMMAP},
    [SHIM_SHM_LOCK] = {"shm lock", SQLITE_IOERR_SHMLOCK},
};

const char *shim_op_word(enum shim_op op)
{
    return op < SHIM_OPS ? ops[op].word : "any";
}

void *shim_memory(void *old, size_t size)
{
    void *memory = realloc(old, size > 0 ? size : 1);

    if (memory == NULL) {
        fprintf(stderr, "shim: no memory for %zu bytes\n", size);
        abort();
    }
    return memory;
}

static void lock(struct shim *shim)
{
    pthread_mutex_lock(&shim->lock);
}

static void unlock(struct shim *shim)
{
    pthread_mutex_unlock(&shim->lock);
}

/* Is it the turn of this one? Lock is held. */
static bool must_fail(struct shim *shim, enum shim_op op)
{
    const struct shim_fault *fault = &shim->fault;

    if (fault->nth == 0 || (fault->op != SHIM_ANY && fault->op != op))
        return false;
    shim->seen++;
    return shim->seen == fault->nth ||
           (fault->for_ever && shim->seen > fault->nth);
}

/* Count an operation. SQLITE_OK, or what it fails with. */
static int admit(struct shim *shim, enum shim_op op)
{
    int code = SQLITE_OK;

    lock(shim);
    shim->counts[op]++;
    if (must_fail(shim, op)) {
        if (shim->fault.dies)
            (void)raise(SIGKILL);
        shim->failed++;
        shim->failed_op = op;
        code =
            op == SHIM_WRITE && shim->fault.full ? SQLITE_FULL : ops[op].code;
    }
    unlock(shim);
    return code;
}

size_t shim_count(struct shim *shim, enum shim_op op)
{
    size_t count = 0;

    lock(shim);
    for (int i = 0; i < SHIM_OPS; i++)
        count += op == SHIM_ANY || op == (enum shim_op)i ? shim->counts[i] : 0;
    unlock(shim);
    return count;
}

uint64_t shim_bytes(struct shim *shim, enum shim_file file)
{
    uint64_t bytes = 0;

    lock(shim);
    bytes = shim->bytes[file];
    unlock(shim);
    return bytes;
}

uint64_t shim_bytes_read(struct shim *shim, enum shim_file file)
{
    uint64_t bytes = 0;

    lock(shim);
    bytes = shim->bytes_read[file];
    unlock(shim);
    return bytes;
}

void shim_reset_counts(struct shim *shim)
{
    lock(shim);
    memset(shim->counts, 0, sizeof(shim->counts));
    memset(shim->bytes, 0, sizeof(shim->bytes));
    memset(shim->bytes_read, 0, sizeof(shim->bytes_read));
    unlock(shim);
}

void shim_fail(struct shim *shim, const struct shim_fault *fault)
{
    lock(shim);
    shim->fault = *fault;
    shim->seen = 0;
    shim->failed = 0;
    unlock(shim);
}

size_t shim_failed(struct shim *shim)
{
    size_t failed = 0;

    lock(shim);
    failed = shim->failed;
    unlock(shim);
    return failed;
}

enum shim_op shim_failed_op(struct shim *shim)
{
    enum shim_op op = SHIM_ANY;

    lock(shim);
    op = shim->failed > 0 ? shim->failed_op : SHIM_ANY;
    unlock(shim);
    return op;
}

void shim_swallow_syncs(struct shim *shim, bool swallow)
{
    lock(shim);
    shim->swallow = swallow;
    unlock(shim);
}

/* --- the log ---------------------------------------------------------------
 * All of it under the lock.
 */

static struct shim_event *note(struct shim *shim, enum shim_event_kind kind,
                               const struct handle *handle)
{
    struct shim_log *log = &shim->log;
    struct shim_event *event = NULL;

    if (log->count == log->room) {
        log->room = log->room > 0 ? log->room * 2 : 256;
        log->events =
            shim_memory(log->events, log->room * sizeof(*log->events));
    }
    event = &log->events[log->count++];
    memset(event, 0, sizeof(*event));
    event->kind = kind;
    if (handle != NULL) {
        event->file = handle->file;
        event->is_main = handle->kind == SHIM_MAIN;
    }
    return event;
}

static void note_bytes(struct shim_event *event, const void *bytes, size_t len)
{
    event->bytes = shim_memory(NULL, len);
    event->len = len;
    if (len > 0)
        memcpy(event->bytes, bytes, len);
}

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(shim_memory(NULL, size), text, size);
}

static struct name *find_name(struct shim *shim, const char *path)
{
    const char *text = without_folder(path);

    for (size_t i = 0; i < MAX_NAMES; i++)
        if (shim->names[i].text != NULL &&
            strcmp(shim->names[i].text, text) == 0)
            return &shim->names[i];
    return NULL;
}

static struct name *add_name(struct shim *shim, const char *path)
{
    for (size_t i = 0; i < MAX_NAMES; i++) {
        if (shim->names[i].text != NULL)
            continue;
        shim->names[i].text = copy_of(without_folder(path));
        shim->names[i].file = shim->log.files++;
        return &shim->names[i];
    }
    fprintf(stderr, "shim: more than %d files\n", MAX_NAMES);
    abort();
}

/* A file that was there before the log knew of it: what it holds. */
static void note_found(struct shim *shim, struct handle *handle,
                       const char *path, sqlite3_int64 size)
{
    struct shim_event *event = note(shim, EVENT_LOAD, handle);
    uint8_t *bytes = shim_memory(NULL, (size_t)size);

    if (handle->real->pMethods->xRead(handle->real, bytes, (int)size, 0) !=
        SQLITE_OK)
        abort();
    event->name = copy_of(without_folder(path));
    event->bytes = bytes;
    event->len = (size_t)size;
}

static void note_open(struct shim *shim, struct handle *handle,
                      const char *path)
{
    const struct name *known = find_name(shim, path);
    sqlite3_int64 size = 0;

    if (known != NULL) {
        handle->file = known->file;
        return;
    }
    handle->file = add_name(shim, path)->file;
    if (handle->real->pMethods->xFileSize(handle->real, &size) != SQLITE_OK)
        abort();
    if (size > 0)
        note_found(shim, handle, path, size);
    else
        note(shim, EVENT_CREATE, handle)->name = copy_of(without_folder(path));
}

void shim_record(struct shim *shim)
{
    lock(shim);
    shim->recording = true;
    unlock(shim);
}

/* Read a file for the log, past SQLite. */
static void load_file(struct shim *shim, const char *folder, const char *name)
{
    char path[1024];
    struct stat info;
    FILE *file = NULL;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    file = fopen(path, "rb");
    struct shim_event *event = note(shim, EVENT_LOAD, NULL);
    event->file = add_name(shim, name)->file;
    event->name = copy_of(name);
    event->len = (size_t)info.st_size;
    event->bytes = shim_memory(NULL, event->len);
    if (file == NULL ||
        fread(event->bytes, 1, event->len, file) != event->len) {
        fprintf(stderr, "shim: cannot read '%s'\n", path);
        abort();
    }
    fclose(file);
}

void shim_record_folder(struct shim *shim, const char *folder)
{
    DIR *stream = opendir(folder);
    const struct dirent *entry = NULL;

    lock(shim);
    shim->recording = true;
    while (stream != NULL && (entry = readdir(stream)) != NULL)
        load_file(shim, folder, entry->d_name);
    unlock(shim);
    if (stream != NULL)
        closedir(stream);
}

void shim_mark(struct shim *shim, size_t acknowledged, size_t possible)
{
    struct shim_event *event = NULL;

    lock(shim);
    if (shim->recording) {
        event = note(shim, EVENT_MARK, NULL);
        event->acknowledged = acknowledged;
        event->possible = possible;
    }
    unlock(shim);
}

/* --- beside SQLite ---------------------------------------------------------
 */

struct shim *shim_beside;

/* NULL: nobody records. Else the lock is held. */
static struct shim_event *note_beside(enum shim_event_kind kind,
                                      const char *path)
{
    struct handle handle = {.shim = shim_beside, .kind = SHIM_OTHER};
    const struct name *known = NULL;

    if (shim_beside == NULL)
        return NULL;
    lock(shim_beside);
    if (!shim_beside->recording) {
        unlock(shim_beside);
        return NULL;
    }
    known = find_name(shim_beside, path);
    if (known == NULL) {
        handle.file = add_name(shim_beside, path)->file;
        note(shim_beside, EVENT_CREATE, &handle)->name =
            copy_of(without_folder(path));
    } else {
        handle.file = known->file;
    }
    return note(shim_beside, kind, &handle);
}

void shim_beside_write(const char *path, const void *bytes, size_t len,
                       int64_t at)
{
    struct shim_event *event = note_beside(EVENT_WRITE, path);

    if (event == NULL)
        return;
    event->offset = at;
    note_bytes(event, bytes, len);
    unlock(shim_beside);
}

void shim_beside_truncate(const char *path, int64_t size)
{
    struct shim_event *event = note_beside(EVENT_TRUNCATE, path);

    if (event == NULL)
        return;
    event->offset = size;
    unlock(shim_beside);
}

void shim_beside_sync(const char *path)
{
    if (note_beside(EVENT_SYNC, path) != NULL)
        unlock(shim_beside);
}

const struct shim_log *shim_log_of(const struct shim *shim)
{
    return &shim->log;
}

/* --- files -----------------------------------------------------------------
 */

static struct handle *handle_of(sqlite3_file *file)
{
    return (struct handle *)file;
}

static bool is_recorded(const struct handle *handle)
{
    return handle->file >= 0;
}

static int on_close(sqlite3_file *file)
{
    sqlite3_file *real = handle_of(file)->real;

    return real->pMethods->xClose(real);
}

static int on_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
    const struct handle *handle = handle_of(file);
    sqlite3_file *real = handle->real;
    int code = admit(handle->shim, SHIM_READ);

    lock(handle->shim);
    handle->shim->bytes_read[handle->kind] += (uint64_t)len;
    unlock(handle->shim);
    return code != SQLITE_OK ? code : real->pMethods->xRead(real, out, len, at);
}

/* Write and note it; the lock is held if it is recorded. */
static int write_bytes(struct handle *handle, const void *bytes, int len,
                       sqlite3_int64 at)
{
    int code = handle->real->pMethods->xWrite(handle->real, bytes, len, at);
    struct shim_event *event = NULL;

    if (code != SQLITE_OK || !is_recorded(handle))
        return code;
    event = note(handle->shim, EVENT_WRITE, handle);
    event->offset = at;
    note_bytes(event, bytes, (size_t)len);
    return code;
}

/* Half of a write, in whole sectors: a system hands on pages, and none of it
 * stops in the middle of thirty-two bytes. */
static int half_of(int len, sqlite3_int64 at)
{
    sqlite3_int64 end = (at + len / 2) / SECTOR * SECTOR;

    return end > at ? (int)(end - at) : 0;
}

static int on_write(sqlite3_file *file, const void *bytes, int len,
                    sqlite3_int64 at)
{
    struct handle *handle = handle_of(file);
    struct shim *shim = handle->shim;
    int failure = admit(shim, SHIM_WRITE), code = SQLITE_OK;

    if (failure != SQLITE_OK)
        len = half_of(len, at);
    lock(shim);
    shim->bytes[handle->kind] += (uint64_t)len;
    if (!is_recorded(handle))
        unlock(shim);
    if (len > 0)
        code = write_bytes(handle, bytes, len, at);
    if (is_recorded(handle))
        unlock(shim);
    return failure != SQLITE_OK ? failure : code;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct handle *handle = handle_of(file);
    int code = admit(handle->shim, SHIM_TRUNCATE);

    if (code != SQLITE_OK)
        return code;
    lock(handle->shim);
    code = handle->real->pMethods->xTruncate(handle->real, size);
    if (code == SQLITE_OK && is_recorded(handle))
        note(handle->shim, EVENT_TRUNCATE, handle)->offset = size;
    unlock(handle->shim);
    return code;
}

static int sync_and_note(struct handle *handle, int flags)
{
    int code = handle->real->pMethods->xSync(handle->real, flags);
    struct shim_event *event = NULL;

    if (!is_recorded(handle))
        return code;
    event = note(handle->shim,
                 code == SQLITE_OK ? EVENT_SYNC : EVENT_SYNC_FAILED, handle);
    event->folder = handle->syncs_folder;
    handle->syncs_folder = false;
    return code;
}

static bool swallows(struct shim *shim)
{
    bool swallow = false;

    lock(shim);
    swallow = shim->swallow;
    unlock(shim);
    return swallow;
}

static int on_sync(sqlite3_file *file, int flags)
{
    struct handle *handle = handle_of(file);
    struct shim *shim = handle->shim;
    int code = admit(shim, SHIM_SYNC);

    if (!is_recorded(handle))
        return code != SQLITE_OK || swallows(shim)
                   ? code
                   : handle->real->pMethods->xSync(handle->real, flags);
    lock(shim);
    if (code != SQLITE_OK)
        note(shim, EVENT_SYNC_FAILED, handle);
    else if (!shim->swallow)
        code = sync_and_note(handle, flags);
    unlock(shim);
    return code;
}

static int on_size(sqlite3_file *file, sqlite3_int64 *out)
{
    sqlite3_file *real = handle_of(file)->real;
    int code = admit(handle_of(file)->shim, SHIM_SIZE);

    return code != SQLITE_OK ? code : real->pMethods->xFileSize(real, out);
}

static int on_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = handle_of(file)->real;
    int code = admit(handle_of(file)->shim, SHIM_LOCK);

    return code != SQLITE_OK ? code : real->pMethods->xLock(real, level);
}

/* It happens in any case: a lock that stays would only make the test wait. */
static int on_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = handle_of(file)->real;
    int failure = admit(handle_of(file)->shim, SHIM_LOCK);
    int code = real->pMethods->xUnlock(real, level);

    return failure != SQLITE_OK ? failure : code;
}

static int on_reserved(sqlite3_file *file, int *out)
{
    sqlite3_file *real = handle_of(file)->real;
    int code = admit(handle_of(file)->shim, SHIM_RESERVED);

    return code != SQLITE_OK ? code
                             : real->pMethods->xCheckReservedLock(real, out);
}

/* Two of them would make a file longer behind the back of the log. */
static int on_control(sqlite3_file *file, int op, void *arg)
{
    struct handle *handle = handle_of(file);

    if (is_recorded(handle) &&
        (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE))
        return SQLITE_OK;
    return handle->real->pMethods->xFileControl(handle->real, op, arg);
}

static int on_sector_size(sqlite3_file *file)
{
    sqlite3_file *real = handle_of(file)->real;

    return real->pMethods->xSectorSize(real);
}

static int on_device(sqlite3_file *file)
{
    sqlite3_file *real = handle_of(file)->real;

    return real->pMethods->xDeviceCharacteristics(real);
}

static int on_shm_map(sqlite3_file *file, int page, int size, int extend,
                      void volatile **out)
{
    sqlite3_file *real = handle_of(file)->real;
    int code = admit(handle_of(file)->shim, SHIM_SHM_MAP);

    return code != SQLITE_OK
               ? code
               : real->pMethods->xShmMap(real, page, size, extend, out);
}

static int on_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    sqlite3_file *real = handle_of(file)->real;
    int failure = admit(handle_of(file)->shim, SHIM_SHM_LOCK);
    int code = SQLITE_OK;

    if (failure == SQLITE_OK || (flags & SQLITE_SHM_UNLOCK) != 0)
        code = real->pMethods->xShmLock(real, offset, n, flags);
    return failure != SQLITE_OK ? failure : code;
}

static void on_shm_barrier(sqlite3_file *file)
{
    sqlite3_file *real = handle_of(file)->real;

    real->pMethods->xShmBarrier(real);
}

static int on_shm_unmap(sqlite3_file *file, int remove)
{
    sqlite3_file *real = handle_of(file)->real;

    return real->pMethods->xShmUnmap(real, remove);
}

/* Version 2: without xFetch, so that no write goes past us. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_device,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

/* --- the VFS ---------------------------------------------------------------
 */

static struct shim *shim_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static enum shim_file kind_of(int flags)
{
    if ((flags & SQLITE_OPEN_MAIN_DB) != 0)
        return SHIM_MAIN;
    if ((flags & SQLITE_OPEN_WAL) != 0)
        return SHIM_WAL;
    if ((flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0)
        return SHIM_JOURNAL;
    return SHIM_OTHER;
}

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file,
                   int flags, int *flags_out)
{
    struct shim *shim = shim_of(vfs);
    struct handle *handle = handle_of(file);
    int code = admit(shim, SHIM_OPEN);

    memset(handle, 0, sizeof(*handle));
    handle->shim = shim;
    handle->real = (sqlite3_file *)(handle + 1);
    handle->kind = kind_of(flags);
    handle->file = -1;
    if (code != SQLITE_OK)
        return code;
    lock(shim);
    code = shim->real->xOpen(shim->real, path, handle->real, flags, flags_out);
    if (code == SQLITE_OK && shim->recording && path != NULL &&
        handle->kind != SHIM_OTHER) {
        note_open(shim, handle, path);
        handle->syncs_folder =
            (flags & SQLITE_OPEN_CREATE) != 0 && handle->kind != SHIM_MAIN;
    }
    unlock(shim);
    if (handle->real->pMethods != NULL)
        handle->base.pMethods = &methods;
    return code;
}

static int on_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    struct shim *shim = shim_of(vfs);
    int code = admit(shim, SHIM_DELETE);
    struct name *name = NULL;

    if (code != SQLITE_OK)
        return code;
    lock(shim);
    if (shim->swallow)
        sync_folder = 0;
    code = shim->real->xDelete(shim->real, path, sync_folder);
    name = find_name(shim, path);
    if (code == SQLITE_OK && name != NULL) {
        struct shim_event *event = note(shim, EVENT_DELETE, NULL);
        event->file = name->file;
        event->folder = sync_folder != 0;
        event->name = name->text;
        name->text = NULL;
    }
    unlock(shim);
    return code;
}

static int on_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    struct shim *shim = shim_of(vfs);
    int code = admit(shim, SHIM_ACCESS);

    return code != SQLITE_OK
               ? code
               : shim->real->xAccess(shim->real, path, flags, out);
}

static int on_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    struct shim *shim = shim_of(vfs);
    int code = admit(shim, SHIM_PATH);

    return code != SQLITE_OK
               ? code
               : shim->real->xFullPathname(shim->real, path, size, out);
}

static int on_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    return shim_of(vfs)->real->xRandomness(shim_of(vfs)->real, size, out);
}

static int on_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return shim_of(vfs)->real->xSleep(shim_of(vfs)->real, microseconds);
}

static int on_time(sqlite3_vfs *vfs, double *out)
{
    return shim_of(vfs)->real->xCurrentTime(shim_of(vfs)->real, out);
}

static int on_last_error(sqlite3_vfs *vfs, int size, char *out)
{
    return shim_of(vfs)->real->xGetLastError(shim_of(vfs)->real, size, out);
}

struct shim *shim_new(const char *name)
{
    struct shim *shim =
        memset(shim_memory(NULL, sizeof(*shim)), 0, sizeof(*shim));
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&shim->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    shim->real = sqlite3_vfs_find(NULL);
    shim->base = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(struct handle) + shim->real->szOsFile,
        .mxPathname = shim->real->mxPathname,
        .zName = name,
        .pAppData = shim,
        .xOpen = on_open,
        .xDelete = on_delete,
        .xAccess = on_access,
        .xFullPathname = on_path,
        .xRandomness = on_randomness,
        .xSleep = on_sleep,
        .xCurrentTime = on_time,
        .xGetLastError = on_last_error,
    };
    if (sqlite3_vfs_register(&shim->base, 0) != SQLITE_OK)
        abort();
    return shim;
}

void shim_free(struct shim *shim)
{
    if (shim == NULL)
        return;
    sqlite3_vfs_unregister(&shim->base);
    for (size_t i = 0; i < shim->log.count; i++) {
        free(shim->log.events[i].name);
        free(shim->log.events[i].bytes);
    }
    for (size_t i = 0; i < MAX_NAMES; i++)
        free(shim->names[i].text);
    free(shim->log.events);
    pthread_mutex_destroy(&shim->lock);
    free(shim);
}
