/*
 * side_file.c - stands in front of the calls that change files past SQLite, and
 * tells the shim of those to the side file of a store. Linked with
 * -Wl,--wrap=pwrite64 and the like by programs that lose power.
 *
 * `side_file_unsynced` is a planted mistake: the note is not synced.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim_vfs.h"
#include "side_file.h"

bool side_file_unsynced;

ssize_t __real_pwrite64(int fd, const void *bytes, size_t len, off64_t at);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t len, off64_t at);
int __real_ftruncate64(int fd, off64_t size);
int __wrap_ftruncate64(int fd, off64_t size);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

/* The path of a side file; NULL: it is another file. */
static const char *side_path(char path[600], int fd)
{
    static const char end[] = "-lock";
    char link[64];
    ssize_t len = 0;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, 599);
    if (len < (ssize_t)sizeof(end))
        return NULL;
    path[len] = '\0';
    return strcmp(path + len - (ssize_t)strlen(end), end) == 0 ? path : NULL;
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    ssize_t done = __real_pwrite64(fd, bytes, len, at);
    char path[600];

    if (done > 0 && side_path(path, fd) != NULL)
        shim_beside_write(path, bytes, (size_t)done, at);
    return done;
}

int __wrap_ftruncate64(int fd, off64_t size)
{
    int done = __real_ftruncate64(fd, size);
    char path[600];

    if (done == 0 && side_path(path, fd) != NULL)
        shim_beside_truncate(path, size);
    return done;
}

int __wrap_fdatasync(int fd)
{
    int done = __real_fdatasync(fd);
    char path[600];

    if (done == 0 && !side_file_unsynced && side_path(path, fd) != NULL)
        shim_beside_sync(path);
    return done;
}
