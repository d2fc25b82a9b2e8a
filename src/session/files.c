/*
 * files.c - the file calls of snapshot folders, on the system.
 *
 * WHY  A folder is shared with other programs, and others may be able to write
 *      there. So every call names a file relative to the folder that was opened
 *      once, follows no link, and opens nothing that is no regular file: a pipe
 *      in the place of a session would block its reader for ever.
 *
 * What EINTR interrupts is done again.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void fill_info(struct pdr__file_info *out, const struct stat *found)
{
    out->kind = S_ISREG(found->st_mode)   ? PDR_FILE_REGULAR
                : S_ISLNK(found->st_mode) ? PDR_FILE_LINK
                                          : PDR_FILE_OTHER;
    out->bytes = found->st_size > 0 ? (uint64_t)found->st_size : 0;
    out->device = (uint64_t)found->st_dev;
    out->inode = (uint64_t)found->st_ino;
}

static int system_sync(void *ctx, int file)
{
    (void)ctx;
    while (fsync(file) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* Put the entry of a new folder on the disk: it is in the folder above. */
static int sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent = NULL;
    int sys = 0, file = -1;

    if (slash == NULL)
        parent = pdr__strdup(".");
    else if (slash == path)
        parent = pdr__strdup("/");
    else
        parent = pdr__strndup(pdr_str_n(path, (size_t)(slash - path)));
    if (parent == NULL)
        return ENOMEM;
    file = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pdr__free(parent);
    if (file < 0)
        return errno;
    sys = system_sync(NULL, file);
    close(file);
    return sys;
}

static int open_path(int *out, const char *path, bool create)
{
    struct stat found;
    int sys = 0;

    if (create && mkdir(path, 0700) == 0)
        sys = sync_parent(path);
    else if (create && errno != EEXIST)
        sys = errno;
    if (sys != 0)
        return sys;
    if (lstat(path, &found) != 0)
        return errno;
    if (S_ISLNK(found.st_mode))
        return ELOOP;
    *out = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *out < 0 ? errno : 0;
}

static int system_open_folder(void *ctx, int *out, const char *path,
                              bool create)
{
    size_t len = strlen(path);
    char *plain = NULL;
    int sys = 0;

    (void)ctx;
    while (len > 1 && path[len - 1] == '/')
        len--; /* a slash behind a link would follow it */
    plain = pdr__strndup(pdr_str_n(path, len));
    if (plain == NULL)
        return ENOMEM;
    sys = open_path(out, plain, create);
    pdr__free(plain);
    return sys;
}

static int system_look(void *ctx, struct pdr__file_info *out, int folder,
                       const char *name)
{
    struct stat found;

    (void)ctx;
    memset(out, 0, sizeof(*out));
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    fill_info(out, &found);
    return 0;
}

static int system_open(void *ctx, int *out, int folder, const char *name,
                       enum pdr__file_use use)
{
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

    (void)ctx;
    if (use == PDR_FILE_READ)
        flags |= O_RDONLY;
    else if (use == PDR_FILE_CREATE)
        flags |= O_WRONLY | O_APPEND | O_CREAT | O_EXCL;
    else
        flags |= O_RDWR | O_APPEND | O_CREAT;
    do {
        *out = openat(folder, name, flags, 0600);
    } while (*out < 0 && errno == EINTR);
    return *out < 0 ? errno : 0;
}

static int system_measure(void *ctx, struct pdr__file_info *out, int file)
{
    struct stat found;

    (void)ctx;
    if (fstat(file, &found) != 0)
        return errno;
    fill_info(out, &found);
    return 0;
}

static int system_read(void *ctx, size_t *got, int file, void *into, size_t len,
                       uint64_t at)
{
    ssize_t now = 0;

    (void)ctx;
    do {
        now = pread(file, into, len, (off_t)at);
    } while (now < 0 && errno == EINTR);
    *got = now < 0 ? 0 : (size_t)now;
    return now < 0 ? errno : 0;
}

static int system_write(void *ctx, int file, const void *bytes, size_t len)
{
    const char *next = bytes;

    (void)ctx;
    while (len > 0) {
        ssize_t now = write(file, next, len);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return errno;
        next += now;
        len -= (size_t)now;
    }
    return 0;
}

static int system_cut(void *ctx, int file, uint64_t bytes)
{
    (void)ctx;
    while (ftruncate(file, (off_t)bytes) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static int system_rename(void *ctx, int folder, const char *from,
                         const char *to)
{
    (void)ctx;
    return renameat(folder, from, folder, to) != 0 ? errno : 0;
}

static int system_remove(void *ctx, int folder, const char *name)
{
    (void)ctx;
    return unlinkat(folder, name, 0) != 0 ? errno : 0;
}

static int system_list(void *ctx, int folder, pdr__file_name_fn fn, void *arg)
{
    const struct dirent *entry = NULL;
    DIR *stream = NULL;
    int sys = 0, copy = -1;

    (void)ctx;
    /* A descriptor of its own: another thread may be in the middle. */
    copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return errno;
    stream = fdopendir(copy);
    if (stream == NULL) {
        sys = errno;
        close(copy);
        return sys;
    }
    while (sys == 0) {
        errno = 0;
        entry = readdir(stream);
        if (entry == NULL) {
            sys = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            sys = fn(entry->d_name, arg);
    }
    closedir(stream);
    return sys;
}

static int system_lock(void *ctx, int file)
{
    (void)ctx;
    while (flock(file, LOCK_EX) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static void system_close(void *ctx, int file)
{
    (void)ctx;
    close(file);
}

const struct pdr__files *pdr__files_system(void)
{
    static const struct pdr__files files = {
        NULL,           system_open_folder, system_look,   system_open,
        system_measure, system_read,        system_write,  system_cut,
        system_sync,    system_rename,      system_remove, system_list,
        system_lock,    system_close};

    return &files;
}

pdr_rc pdr__file_failed(pdr_err *err, int sys, const char *verb,
                        const char *name)
{
    char shown[PDR_SHOWN], text[80];
    const char *why = strerror_r(sys, text, sizeof(text));
    pdr_rc rc = PDR_OK;

    pdr__shown(shown, pdr_str_c(name));
    if (sys == ELOOP)
        return PDR_FAIL(err, FILE_LINK,
                        "'%s' is a symbolic link, which a folder of sessions "
                        "does not follow",
                        shown);
    rc = PDR_FAIL(err, FILE_FAILED, "cannot %s '%s': %s", verb, shown, why);
    if (err != NULL)
        err->sys = sys;
    return rc;
}
