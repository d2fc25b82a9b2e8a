/*
 * output.c - a file that is written whole or not at all.
 *
 * WHY  Half a document is worse than none: it looks like the result. So bytes
 *      go into a temporary file beside the one that is asked for, and take its
 *      name only when all of them are on the disk.
 *
 *        open                    commit
 *     ----------> .NAME.x.tmp --------------> NAME
 *                      |  abandon, failure, signal
 *                      +------------------------> gone
 *
 * INVARIANTS
 *   O1  Until commit, what had the name before still has it, byte for byte.
 *   O2  While a temporary file exists, its path stands in `doomed`, for the
 *       signal handler. Only SIGKILL and a power cut leave one behind.
 *   O3  What is no regular file (standard output, a pipe, a device) cannot be
 *       replaced: it is written straight through.
 *
 * A link is kept: the file that it points to is the one that is replaced.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_HOPS 40  /* links that Linux follows */
#define MAX_STEM 200 /* of the name; a file name has 255 bytes */

/* O2; read by signal handlers. */
static char doomed[PATH_MAX];
static volatile sig_atomic_t is_doomed;

void cli_output_discard(void)
{
    if (is_doomed)
        unlink(doomed);
    is_doomed = 0;
}

/* --- failures ------------------------------------------------------------ */

static bool is_no_space(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

/* Why a file could not be made. */
static pdr_rc cannot_create(int number, pdr_err *err)
{
    pdr_rc rc = PDR_EIO;
    const char *reason = is_no_space(number) ? "no_space" : "cannot_create";

    if (number == ENOENT || number == ENOTDIR) {
        rc = PDR_ENOTFOUND;
        reason = "no_folder";
    } else if (number == EEXIST) {
        rc = PDR_EEXISTS;
        reason = "file_exists";
    }
    pdr_err_set(err, rc, reason, "%s", strerror(number));
    err->sys = number;
    return rc;
}

/* Why bytes could not be written. */
static pdr_rc cannot_write(const struct cli_output_file *o, int number,
                           pdr_err *err)
{
    if (o->is_beside)
        return cannot_create(number, err);
    pdr_err_set(err, PDR_EIO, "cannot_write", "%s", strerror(number));
    err->sys = number;
    return PDR_EIO;
}

/* --- the place ----------------------------------------------------------- */

/* Bytes of the folder in front of a file name, its slash included. */
static size_t folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* Replace the last part of `path` by the link that it is; false with errno. */
static bool follow_link(char path[PATH_MAX], const char *link, size_t len)
{
    size_t front = link[0] == '/' ? 0 : folder_len(path);

    if (len >= PATH_MAX - front) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path + front, link, len);
    path[front + len] = '\0';
    return true;
}

/* Where a link leads that leads to nothing yet; false with errno. */
static bool follow_links(char path[PATH_MAX])
{
    char link[PATH_MAX];

    for (int hop = 0; hop < MAX_HOPS; hop++) {
        ssize_t len = readlink(path, link, sizeof(link));
        if (len < 0)
            return errno == ENOENT;
        if (!follow_link(path, link, (size_t)len))
            return false;
    }
    errno = ELOOP;
    return false;
}

/* Fill `target` for a file that is to be made or replaced; false with errno. */
static bool find_target(struct cli_output_file *o, const char *path)
{
    if (o->replaces)
        return realpath(path, o->target) != NULL;
    if (strlen(path) >= sizeof(o->target)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(o->target, path, strlen(path) + 1);
    if (!follow_links(o->target))
        return false;
    errno = EISDIR; /* "name/" */
    return o->target[folder_len(o->target)] != '\0';
}

/* --- opening ------------------------------------------------------------- */

/* A new file gets what the user's mask leaves; one that takes the place of
 * another gets the mode of that, so that what was private stays private. */
static mode_t mode_of(const struct cli_output_file *o)
{
    mode_t mask = 0;

    if (o->replaces)
        return o->mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Who replaces a file of somebody else, as root may, does not take it away. */
static bool set_rights(const struct cli_output_file *o)
{
    if (o->replaces && fchown(o->fd, o->owner, o->group) != 0 && errno != EPERM)
        return false;
    return fchmod(o->fd, mode_of(o)) == 0;
}

/* Make the temporary file; false with errno. No signal may come between making
 * it and O2. */
static bool make_temp(struct cli_output_file *o)
{
    size_t folder = folder_len(o->target);
    sigset_t all, before;
    int number = 0;

    int len = snprintf(doomed, sizeof(doomed), "%.*s.%.*s.XXXXXX.tmp",
                       (int)folder, o->target, MAX_STEM, o->target + folder);
    if (len < 0 || (size_t)len >= sizeof(doomed)) {
        errno = ENAMETOOLONG;
        return false;
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    o->fd = mkostemps(doomed, 4, O_CLOEXEC);
    number = errno;
    is_doomed = o->fd >= 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return o->fd >= 0 && set_rights(o);
}

static pdr_rc open_beside(struct cli_output_file *o, const char *path,
                          pdr_err *err)
{
    o->is_beside = true;
    if (find_target(o, path) && make_temp(o))
        return PDR_OK;
    pdr_rc rc = cannot_create(errno, err);
    cli_output_abandon(o);
    return rc;
}

static pdr_rc open_through(struct cli_output_file *o, const char *path,
                           pdr_err *err)
{
    o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (o->fd < 0)
        return cannot_create(errno, err);
    o->is_shown = isatty(o->fd) == 1;
    return PDR_OK;
}

pdr_rc cli_output_open(struct cli_output_file *o, const struct cli *cli,
                       const char *path, bool replace, pdr_err *err)
{
    struct stat info = {.st_mode = 0};

    memset(o, 0, sizeof(*o));
    o->fd = STDOUT_FILENO;
    o->is_raw = cli->output == CLI_OUTPUT_RAW;
    if (strcmp(path, "-") == 0) {
        o->is_shown = cli->tty_out;
        return PDR_OK;
    }
    o->fd = -1;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? open_beside(o, path, err)
                               : cannot_create(errno, err);
    if (S_ISDIR(info.st_mode))
        return cannot_create(EISDIR, err);
    if (!S_ISREG(info.st_mode)) /* O3 */
        return open_through(o, path, err);
    if (!replace)
        return cannot_create(EEXIST, err);
    o->replaces = true;
    o->mode = info.st_mode;
    o->owner = info.st_uid;
    o->group = info.st_gid;
    return open_beside(o, path, err);
}

/* --- writing ------------------------------------------------------------- */

static pdr_rc write_bytes(struct cli_output_file *o, pdr_str bytes,
                          pdr_err *err)
{
    while (bytes.len > 0) {
        ssize_t count = write(o->fd, bytes.ptr, bytes.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return cannot_write(o, errno, err);
        bytes.ptr += count;
        bytes.len -= (size_t)count;
    }
    return PDR_OK;
}

/* To a terminal, without what could steer it. A character may be cut at the end
 * of what came; its front waits in `cut`. */
static pdr_rc write_shown(struct cli_output_file *o, pdr_str bytes, bool last,
                          pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), shown = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    cli_must(pdr_buf_append(&text, pdr_str_n(o->cut, o->cut_len), err), err);
    cli_must(pdr_buf_append(&text, bytes, err), err);
    o->cut_len = last ? 0 : cli_cut_len(pdr_buf_str(&text));
    text.len -= o->cut_len;
    if (o->cut_len > 0)
        memcpy(o->cut, text.ptr + text.len, o->cut_len);
    cli_show(&shown, pdr_buf_str(&text), CLI_TEXT_TERMINAL);
    rc = write_bytes(o, pdr_buf_str(&shown), err);
    pdr_buf_dispose(&shown);
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc cli_output_write(pdr_str bytes, pdr_err *err, void *arg)
{
    struct cli_output_file *o = arg;

    if (bytes.len == 0)
        return PDR_OK;
    o->bytes += bytes.len;
    o->last = bytes.ptr[bytes.len - 1];
    return o->is_shown && !o->is_raw ? write_shown(o, bytes, false, err)
                                     : write_bytes(o, bytes, err);
}

/* --- the end ------------------------------------------------------------- */

/* A folder that may be written but not read cannot be synced; that is no
 * failure of the file. */
static bool sync_folder(const char *path)
{
    char folder[PATH_MAX];
    size_t len = folder_len(path);
    bool good = true;

    memcpy(folder, len > 0 ? path : ".", len > 0 ? len : 1);
    folder[len > 0 ? len : 1] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
        close(fd);
    }
    return good;
}

/* Give the file its name; false with errno. Unless it may replace something, a
 * file that came in the meantime stays. */
static bool take_name(const struct cli_output_file *o)
{
    if (o->replaces)
        return rename(doomed, o->target) == 0;
    if (renameat2(AT_FDCWD, doomed, AT_FDCWD, o->target, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    /* The file system cannot do both in one step. */
    if (access(o->target, F_OK) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(doomed, o->target) == 0;
}

/* Bring it to the disk and close it; false with errno. */
static bool sync_file(struct cli_output_file *o)
{
    if (fsync(o->fd) != 0)
        return false;
    int closed = close(o->fd);
    o->fd = -1;
    return closed == 0;
}

static bool name_file(struct cli_output_file *o)
{
    if (!take_name(o))
        return false;
    is_doomed = 0;
    return sync_folder(o->target);
}

static pdr_rc commit_beside(struct cli_output_file *o, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!sync_file(o))
        return cannot_write(o, errno, err);
    if (o->before != NULL)
        rc = o->before(err, o->before_arg);
    if (rc == PDR_OK && !name_file(o))
        rc = cannot_write(o, errno, err);
    return rc;
}

/* A prompt begins on a line of its own. */
static pdr_rc end_shown(struct cli_output_file *o, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (o->is_raw)
        return PDR_OK;
    rc = write_shown(o, pdr_str_n("", 0), true, err);
    if (rc == PDR_OK && o->bytes > 0 && o->last != '\n')
        rc = write_bytes(o, pdr_str_n("\n", 1), err);
    return rc;
}

pdr_rc cli_output_commit(struct cli_output_file *o, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (o->is_beside)
        rc = commit_beside(o, err);
    else if (o->is_shown)
        rc = end_shown(o, err);
    if (rc == PDR_OK && o->fd > STDERR_FILENO && close(o->fd) != 0)
        rc = cannot_write(o, errno, err);
    if (rc == PDR_OK)
        o->fd = -1;
    cli_output_abandon(o);
    return rc;
}

void cli_output_abandon(struct cli_output_file *o)
{
    if (o->fd > STDERR_FILENO)
        close(o->fd);
    o->fd = -1;
    if (o->is_beside)
        cli_output_discard();
}

bool cli_same_file(const char *one, const char *other)
{
    struct stat a, b;

    return strcmp(one, "-") != 0 && strcmp(other, "-") != 0 &&
           stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino && S_ISREG(a.st_mode);
}
