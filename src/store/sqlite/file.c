/*
 * file.c - is this a file that a store may live in?
 *
 * WHY  What SQLite promises rests on locks, shared memory and fdatasync of the
 *      kernel. A file system that only pretends to have them loses commits
 *      without a word; a second name of the same file has a log of its own, and
 *      the two destroy each other. Such files are refused before anything is
 *      written.
 *
 * The main file is only looked at by its name. To open and close it would drop
 * the locks that SQLite holds on it in this process: that is how POSIX wants
 * it.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Room for any path that the kernel takes, and what realpath() asks for. (Not
 * PATH_MAX: our own limits.h hides the header that has it from gcc's.) */
#define PATH_BYTES 4096

/* Kinds of file systems that are shared with other machines, or may be. A file
 * system of FUSE may be as local as any other, but nobody can tell, and sshfs
 * is one, too. */
static const struct {
    uint32_t magic;
    const char *name;
} shared_systems[] = {
    {0x6969u, "NFS"},        {0x517Bu, "SMB"},
    {0xFF534D42u, "CIFS"},   {0xFE534D42u, "SMB2"},
    {0x01021997u, "9p"},     {0x65735546u, "FUSE"},
    {0x00C36400u, "Ceph"},   {0x0BD00BD0u, "Lustre"},
    {0x5346414Fu, "AFS"},    {0x6B414653u, "AFS"},
    {0x73757245u, "Coda"},   {0x47504653u, "GPFS"},
    {0x01161970u, "GFS2"},   {0x7461636Fu, "OCFS2"},
    {0x19830326u, "BeeGFS"}, {0x786F4256u, "the shared folders of VirtualBox"},
};

const char *pdr__file_system_refused(uint64_t magic)
{
    for (size_t i = 0; i < PDR_COUNT(shared_systems); i++)
        if (shared_systems[i].magic == (uint32_t)magic)
            return shared_systems[i].name;
    return NULL;
}

/* --- the path ------------------------------------------------------------ */

static pdr_rc failed(pdr_err *err, const char *path, int sys)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (sys == ENOENT || sys == ENOTDIR)
        rc = PDR_FAIL(err, NO_STORE, "there is no '%s'",
                      pdr__shown(shown, pdr_str_c(path)));
    else
        rc = PDR_FAIL(err, FILE_FAILED, "'%s' cannot be reached",
                      pdr__shown(shown, pdr_str_c(path)));
    if (err != NULL)
        err->sys = sys;
    return rc;
}

static pdr_rc no_folder(pdr_err *err, const char *path, int sys)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (sys != ENOENT && sys != ENOTDIR)
        return failed(err, path, sys);
    rc = PDR_FAIL(err, NO_STORE,
                  "there is no '%s', nor the folder that it would stand in; "
                  "make the folder first",
                  pdr__shown(shown, pdr_str_c(path)));
    if (err != NULL)
        err->sys = sys;
    return rc;
}

/* The folder of a file that is not there yet, and the name in it. */
static pdr_rc real_folder(char out[PATH_BYTES], const char *path, pdr_err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t folder = slash != NULL ? (size_t)(slash - path) : 0, len = 0;
    char *above = pdr__strndup(slash == NULL   ? PDR_LIT(".")
                               : slash == path ? PDR_LIT("/")
                                               : pdr_str_n(path, folder));
    const char *real = NULL;
    int sys = 0;

    if (above == NULL)
        return pdr__nomem(err);
    real = realpath(above, out);
    sys = errno;
    pdr__free(above);
    if (real == NULL)
        return no_folder(err, path, sys);
    len = strlen(out);
    if (*name == '\0' || strlen(name) + len + 2 > PATH_BYTES)
        return PDR_FAIL(err, BAD_URI, "%s",
                        "the path of the store names a folder, or is too long");
    if (len > 1)
        out[len++] = '/';
    memcpy(out + len, name, strlen(name) + 1);
    return PDR_OK;
}

pdr_rc pdr__file_real_path(char **out, bool *found, const char *path,
                           pdr_err *err)
{
    char real[PATH_BYTES];
    char shown[PDR_SHOWN];
    struct stat link;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    *found = realpath(path, real) != NULL;
    if (!*found && errno != ENOENT)
        return failed(err, path, errno);
    if (!*found && lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        return PDR_FAIL(err, NO_STORE,
                        "'%s' is a link to a file that is not there",
                        pdr__shown(shown, pdr_str_c(path)));
    if (!*found) /* though another process may make it at any moment */
        rc = real_folder(real, path, err);
    if (rc == PDR_OK) {
        *out = pdr__strdup(real);
        rc = *out != NULL ? PDR_OK : pdr__nomem(err);
    }
    return rc;
}

char *pdr__file_beside(const char *path, const char *suffix)
{
    size_t len = strlen(path), more = strlen(suffix), bytes = 0;
    char *out = NULL;

    if (pdr__add_size(&bytes, len, more + 1))
        out = pdr__alloc(bytes);
    if (out == NULL)
        return NULL;
    memcpy(out, path, len);
    memcpy(out + len, suffix, more + 1);
    return out;
}

/* --- the file ------------------------------------------------------------ */

/* Is it one end of a bind mount, as containers have them? Where the kernel does
 * not tell, nobody can. */
static bool is_mounted(const char *path)
{
    struct statx file;

    return statx(AT_FDCWD, path, 0, STATX_INO, &file) == 0 &&
           (file.stx_attributes & file.stx_attributes_mask &
            STATX_ATTR_MOUNT_ROOT) != 0;
}

pdr_rc pdr__file_check(const char *path, pdr_err *err)
{
    char shown[PDR_SHOWN];
    struct stat file;
    struct statfs system;
    const char *refused = NULL;

    pdr__shown(shown, pdr_str_c(path));
    if (stat(path, &file) != 0 || statfs(path, &system) != 0)
        return failed(err, path, errno);
    if (!S_ISREG(file.st_mode))
        return PDR_FAIL(err, NOT_A_STORE, "'%s' is not a plain file", shown);
    if (file.st_nlink != 1)
        return PDR_FAIL(err, UNSAFE_FILE,
                        "'%s' has %lu names; a store must have one, since each "
                        "name would get a log of its own: remove the others",
                        shown, (unsigned long)file.st_nlink);
    if (is_mounted(path))
        return PDR_FAIL(err, UNSAFE_FILE,
                        "'%s' is mounted by itself, so its log would not be "
                        "that of the same file elsewhere; mount the folder "
                        "that it is in",
                        shown);
    refused = pdr__file_system_refused((uint64_t)system.f_type);
    if (refused != NULL)
        return PDR_FAIL(err, UNSAFE_FILE,
                        "'%s' is on %s, where locks and syncs cannot be "
                        "trusted; put the store on a local disk",
                        shown, refused);
    return PDR_OK;
}

pdr_rc pdr__file_make(const char *path, pdr_err *err)
{
    if (mknod(path, S_IFREG | 0600, 0) == 0 || errno == EEXIST)
        return PDR_OK;
    return failed(err, path, errno);
}

void pdr__file_share(int fd, const char *path)
{
    struct stat file;

    if (stat(path, &file) != 0)
        return;
    (void)fchmod(fd, file.st_mode & 0666);
    (void)!fchown(fd, file.st_uid, file.st_gid);
}

bool pdr__file_id(struct pdr__file_id *out, int fd, const char *path)
{
    struct statx found;

    memset(out, 0, sizeof(*out));
    if (statx(fd, path, AT_EMPTY_PATH, STATX_INO, &found) != 0 ||
        (found.stx_mask & STATX_INO) == 0)
        return false;
    *out = (struct pdr__file_id){found.stx_ino, found.stx_dev_major,
                                 found.stx_dev_minor};
    return true;
}

bool pdr__file_size(uint64_t *out, const char *path)
{
    struct statx found;

    if (statx(AT_FDCWD, path, 0, STATX_SIZE, &found) != 0)
        return false;
    *out = found.stx_size;
    return true;
}

bool pdr__file_id_equal(const struct pdr__file_id *a,
                        const struct pdr__file_id *b)
{
    return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

int64_t pdr__file_changed_ns(const char *path)
{
    struct stat file;

    if (stat(path, &file) != 0)
        return 0;
    return (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
}

uint64_t pdr__file_bytes(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 && file.st_size > 0 ? (uint64_t)file.st_size
                                                      : 0;
}

bool pdr__file_is_on_read_only_system(const char *path)
{
    struct statvfs system;

    return statvfs(path, &system) == 0 && (system.f_flag & ST_RDONLY) != 0;
}

/* --- the key ------------------------------------------------------------- */

static pdr_rc bad_key(pdr_err *err, const char *path)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, BAD_KEY_FILE,
                    "'%s' is no key: a plain file with %u to %u bytes is "
                    "needed",
                    pdr__shown(shown, pdr_str_c(path)), PDR_MIN_KEY_FILE_BYTES,
                    PDR_MAX_KEY_FILE_BYTES);
}

static pdr_rc no_key(pdr_err *err, const char *path, int sys)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    pdr__shown(shown, pdr_str_c(path));
    if (sys == ENOENT)
        rc = PDR_FAIL(err, NO_KEY_FILE,
                      "there is no such file as '%s' for its key", shown);
    else
        rc = PDR_FAIL(err, BAD_KEY_FILE,
                      "the key '%s' cannot be opened; look at who may read it",
                      shown);
    if (err != NULL)
        err->sys = sys;
    return rc;
}

static pdr_rc check_key(int fd, const char *path, pdr_err *err)
{
    char shown[PDR_SHOWN];
    struct stat file;

    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return bad_key(err, path);
    if ((file.st_mode & 077) != 0)
        return PDR_FAIL(err, UNSAFE_FILE,
                        "others may read the key '%s'; take that right away "
                        "(chmod 600)",
                        pdr__shown(shown, pdr_str_c(path)));
    if (file.st_size < (off_t)PDR_MIN_KEY_FILE_BYTES ||
        file.st_size > (off_t)PDR_MAX_KEY_FILE_BYTES)
        return bad_key(err, path);
    return PDR_OK;
}

static pdr_rc read_key(uint8_t **out, size_t *len, int fd, const char *path,
                       pdr_err *err)
{
    uint8_t *key = pdr__alloc(PDR_MAX_KEY_FILE_BYTES);
    ssize_t got = 0;

    if (key == NULL)
        return pdr__nomem(err);
    got = read(fd, key, PDR_MAX_KEY_FILE_BYTES);
    if (got < (ssize_t)PDR_MIN_KEY_FILE_BYTES) { /* cut off since, or failed */
        pdr__free(key);
        return bad_key(err, path);
    }
    *out = key;
    *len = (size_t)got;
    return PDR_OK;
}

pdr_rc pdr__file_read_key(uint8_t **out, size_t *len, const char *path,
                          pdr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    pdr_rc rc = PDR_OK;

    if (fd < 0)
        return no_key(err, path, errno);
    rc = check_key(fd, path, err);
    if (rc == PDR_OK)
        rc = read_key(out, len, fd, path, err);
    (void)close(fd);
    return rc;
}
