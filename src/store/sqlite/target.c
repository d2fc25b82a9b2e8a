/*
 * target.c - the file that a copy of a store becomes.
 *
 * WHY  Who looks for a backup in need must find a whole one. So a copy is made
 *      under another name and gets its own at the end, in one step of the file
 *      system:
 *
 *          FILE-unfinished ──► whole, synced ──► FILE ──► folder synced
 *                  └──► failed: removed
 *
 *      And a copy must not get between a store and those who have it open, nor
 *      stand beside a log that SQLite would take for its own.
 *
 * INVARIANTS, cited below as I1..I5
 *   I1  What stands under the name is not touched before the copy is whole.
 *   I2  Who makes a copy holds SQLite's exclusive lock on FILE-unfinished until
 *       it has its name. A file of this name that nobody has locked was left by
 *       a process that died, and is begun anew.
 *   I3  A name is taken while we hold the writer lock of the store that it may
 *       be, or may become meanwhile, with nobody else in it; and a file is
 *       replaced with SQLite's exclusive lock on itself: that tells of those
 *       who read, and of other programs.
 *   I4  No file beside it that SQLite would play into the copy has any bytes.
 *       Neither it nor the file that it belongs to can be removed first: killed
 *       in between, one would stand without the other.
 *   I5  Files are opened by SQLite alone, as everywhere in this folder: another
 *       handle of this process may have them open.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

#define UNFINISHED "-unfinished"

/* What files beside a store end with; of those that have `plays`, SQLite copies
 * the bytes into the file that they stand beside. */
static const struct {
    const char *suffix;
    bool plays;
} besides[] = {
    {"-wal", true},   {"-journal", true},  {"-shm", false},
    {"-lock", false}, {UNFINISHED, false},
};

/* --- failures ------------------------------------------------------------ */

static pdr_rc failed(pdr_err *err, const char *path, int sys)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    pdr__shown(shown, pdr_str_c(path));
    if (sys == ENOSPC || sys == EDQUOT)
        rc = PDR_FAIL(err, DISK_FULL,
                      "'%s': the disk is full; free some room, or name another "
                      "place",
                      shown);
    else if (sys == EACCES || sys == EPERM || sys == EROFS)
        rc = PDR_FAIL(err, READ_ONLY,
                      "the folder of '%s' cannot be written; give the right "
                      "to, or name another place",
                      shown);
    else
        rc = PDR_FAIL(err, FILE_FAILED,
                      "'%s' cannot be written; look at the disk", shown);
    if (err != NULL)
        err->sys = sys;
    return rc;
}

static pdr_rc exists(pdr_err *err, const char *path)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, FILE_EXISTS,
                    "'%s' is there already; ask to replace it, or name another "
                    "file",
                    pdr__shown(shown, pdr_str_c(path)));
}

static pdr_rc in_use(pdr_err *err, const char *path, const char *what)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, STORE_LOCKED,
                    "%s '%s'; wait until that has ended, or name another file",
                    what, pdr__shown(shown, pdr_str_c(path)));
}

/* --- the place ----------------------------------------------------------- */

static bool ends_with(const char *path, const char *suffix)
{
    size_t len = strlen(path), end = strlen(suffix);

    return len >= end && strcmp(path + len - end, suffix) == 0;
}

static bool is_same_file(const char *path, const char *other)
{
    struct stat one, two;

    return stat(path, &one) == 0 && stat(other, &two) == 0 &&
           one.st_ino == two.st_ino && one.st_dev == two.st_dev;
}

const char *pdr__target_ending(const char *path)
{
    for (size_t i = 0; i < PDR_COUNT(besides); i++)
        if (ends_with(path, besides[i].suffix))
            return besides[i].suffix;
    return NULL;
}

/* May a copy have this name, whoever is there? */
static pdr_rc check_name(const struct pdr__target *target, pdr_err *err)
{
    const char *ending = pdr__target_ending(target->path);
    char shown[PDR_SHOWN];

    pdr__shown(shown, pdr_str_c(target->path));
    if (ending != NULL)
        return PDR_FAIL(err, BAD_TARGET,
                        "'%s' is what a file beside a store is called, with "
                        "'%s' at its end; take another name",
                        shown, ending);
    if (is_same_file(target->path, target->store->path) ||
        is_same_file(target->part, target->store->path))
        return PDR_FAIL(err, BAD_TARGET,
                        "'%s' is the store itself, or stands in its way; name "
                        "another file",
                        shown);
    return PDR_OK;
}

static pdr_rc check_file(const struct pdr__target *target, pdr_err *err)
{
    char shown[PDR_SHOWN];
    struct stat file;

    pdr__shown(shown, pdr_str_c(target->path));
    if (stat(target->path, &file) != 0)
        return failed(err, target->path, errno);
    if (!S_ISREG(file.st_mode))
        return PDR_FAIL(err, BAD_TARGET, "'%s' is %s; name a file", shown,
                        S_ISDIR(file.st_mode) ? "a folder"
                                              : "not a plain file");
    if (!target->replace)
        return exists(err, target->path);
    if (access(target->path, W_OK) != 0)
        return PDR_FAIL(err, READ_ONLY,
                        "'%s' may not be written, so it is not replaced; give "
                        "the right to, or name another file",
                        shown);
    return PDR_OK;
}

/* The real path; what is said of stores is said anew of copies. */
static pdr_rc find_path(struct pdr__target *target, bool *found,
                        const char *file, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = file[0] != '\0'
                    ? pdr__file_real_path(&target->path, found, file, err)
                    : PDR_EINVALID;

    pdr__shown(shown, pdr_str_c(file));
    if (rc == PDR_ENOTFOUND)
        return PDR_FAIL(err, NO_FOLDER,
                        "the folder of '%s' is not there, or it is a link to "
                        "a file that is not there; make the folder, or name "
                        "another file",
                        shown);
    if (rc == PDR_EINVALID)
        return PDR_FAIL(err, BAD_TARGET,
                        "'%s' names a folder, or is too long; name a file",
                        shown);
    return rc;
}

static pdr_rc find_place(struct pdr__target *target, const char *file,
                         pdr_err *err)
{
    bool found = false;
    pdr_rc rc = find_path(target, &found, file, err);

    if (rc != PDR_OK)
        return rc;
    target->part = pdr__file_beside(target->path, UNFINISHED);
    target->side = pdr__file_beside(target->path, "-lock");
    if (target->part == NULL || target->side == NULL)
        return pdr__nomem(err);
    rc = check_name(target, err);
    if (rc == PDR_OK && found)
        rc = check_file(target, err);
    return rc;
}

/* --- files and their locks ------------------------------------------------ */

/* Without a look into the file: it may be of any kind. */
static pdr_rc open_file(sqlite3 **out, const struct pdr__target *target,
                        const char *path, pdr_err *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE |
                SQLITE_OPEN_NOFOLLOW;
    int code = sqlite3_open_v2(path, out, flags, target->store->vfs.name);
    pdr_rc rc = PDR_OK;

    if (code == SQLITE_OK)
        return PDR_OK;
    rc = pdr__sqlite_fail(err, *out, code, "opening the file of the copy");
    (void)sqlite3_close(*out);
    *out = NULL;
    return rc;
}

static sqlite3_file *file_of(sqlite3 *db)
{
    sqlite3_file *file = NULL;

    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return file;
}

/* For us alone, until `db` is closed. `what` says who it is that has it. */
static pdr_rc lock_file(sqlite3 *db, const char *path, const char *what,
                        pdr_err *err)
{
    sqlite3_file *file = file_of(db);
    int code = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);

    if (code == SQLITE_OK)
        code = file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE);
    if ((code & 0xff) == SQLITE_BUSY)
        return in_use(err, path, what);
    return code == SQLITE_OK ? PDR_OK
                             : pdr__sqlite_fail(err, db, code,
                                                "locking the file of the copy");
}

/* --- the unfinished file ------------------------------------------------- */

/* One that another user could read, or that is another file, too, was not left
 * by us. */
static pdr_rc check_part(const char *path, pdr_err *err)
{
    char shown[PDR_SHOWN];
    struct stat file;

    if (lstat(path, &file) != 0)
        return failed(err, path, errno);
    if (S_ISREG(file.st_mode) && file.st_nlink == 1 &&
        file.st_uid == geteuid() && (file.st_mode & 077) == 0)
        return PDR_OK;
    return PDR_FAIL(err, UNSAFE_FILE,
                    "'%s' was not left by a backup of yours; move it away",
                    pdr__shown(shown, pdr_str_c(path)));
}

/* With its lock held: is it still the file of this name (I2)? Who made a copy
 * before us may have given it its own. */
static pdr_rc begin_anew(sqlite3 *db, const char *path, pdr_err *err)
{
    sqlite3_file *file = file_of(db);
    int moved = 1, code = SQLITE_OK;

    (void)file->pMethods->xFileControl(file, SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved != 0)
        return in_use(err, path, "another backup was just made to");
    code = file->pMethods->xTruncate(file, 0);
    return code == SQLITE_OK
               ? PDR_OK
               : pdr__sqlite_fail(err, db, code, "beginning the copy");
}

static pdr_rc make_part(struct pdr__target *target, pdr_err *err)
{
    bool made = mknod(target->part, S_IFREG | 0600, 0) == 0;
    sqlite3 *db = NULL;
    pdr_rc rc = PDR_OK;

    if (!made && errno != EEXIST)
        return failed(err, target->path, errno);
    rc = check_part(target->part, err);
    if (rc == PDR_OK)
        rc = open_file(&db, target, target->part, err);
    if (rc == PDR_OK)
        rc =
            lock_file(db, target->path, "another backup is being made to", err);
    if (rc == PDR_OK)
        rc = begin_anew(db, target->path, err);
    if (rc == PDR_OK) {
        target->db = db;
        return PDR_OK;
    }
    (void)sqlite3_close(db);
    if (made && rc != PDR_EBUSY) /* else it is somebody's by now */
        (void)unlink(target->part);
    return rc;
}

/* --- what is replaced ---------------------------------------------------- */

/* Hold on the name while something is put under it (I3). */
struct claim {
    struct pdr__line line;
    sqlite3 *old; /* owned: of the file that is there; NULL: none */
};

/* A copy stands alone: a lock file that was not there goes again. */
static void give_up(struct claim *claim, const struct pdr__target *target)
{
    (void)sqlite3_close(claim->old);
    if (claim->line.held)
        pdr__line_undo(&claim->line, target->side);
    pdr__line_leave(&claim->line);
    pdr__line_close(&claim->line);
    claim->old = NULL;
}

static pdr_rc claim_store(struct claim *claim, const struct pdr__target *target,
                          pdr_err *err)
{
    pdr_rc rc = pdr__line_open(&claim->line, target->side, err);

    if (rc == PDR_OK &&
        (!pdr__line_try(&claim->line) || !pdr__line_is_last(&claim->line) ||
         !pdr__line_is_there(&claim->line, target->side)))
        rc = in_use(err, target->path, "somebody has the store open in");
    return rc;
}

static pdr_rc claim_file(struct claim *claim, const struct pdr__target *target,
                         pdr_err *err)
{
    pdr_rc rc = open_file(&claim->old, target, target->path, err);

    if (rc == PDR_OK)
        rc = lock_file(claim->old, target->path, "a program has open", err);
    return rc;
}

/* I4 */
static pdr_rc check_besides(const struct pdr__target *target, pdr_err *err)
{
    char shown[PDR_SHOWN];

    for (size_t i = 0; i < PDR_COUNT(besides); i++) {
        char *path = pdr__file_beside(target->path, besides[i].suffix);
        uint64_t bytes = 0;

        if (path == NULL)
            return pdr__nomem(err);
        bytes = besides[i].plays ? pdr__file_bytes(path) : 0;
        pdr__free(path);
        if (bytes > 0)
            return PDR_FAIL(err, UNSAFE_FILE,
                            "'%s' has a log beside it that ends with '%s', "
                            "which belongs to another store than the copy; "
                            "open and close that store, or remove both",
                            pdr__shown(shown, pdr_str_c(target->path)),
                            besides[i].suffix);
    }
    return PDR_OK;
}

/* Also where no store is: somebody may have removed one that is still open, or
 * be about to make one. */
static pdr_rc claim_name(struct claim *claim, const struct pdr__target *target,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *claim = (struct claim){PDR_LINE_INIT, NULL};
    rc = claim_store(claim, target, err);
    if (rc == PDR_OK && access(target->path, F_OK) == 0)
        rc = claim_file(claim, target, err);
    if (rc == PDR_OK)
        rc = check_besides(target, err);
    if (rc != PDR_OK)
        give_up(claim, target);
    return rc;
}

/* --- the name ------------------------------------------------------------ */

/* Unless it may replace something, a file that came in the meantime stays. */
static bool take_name(const struct pdr__target *target)
{
    if (target->replace)
        return rename(target->part, target->path) == 0;
    if (renameat2(AT_FDCWD, target->part, AT_FDCWD, target->path,
                  RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    /* The file system cannot do both in one step. */
    if (access(target->path, F_OK) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(target->part, target->path) == 0;
}

/* A folder that may be written but not read cannot be synced, and some file
 * systems sync none; that is no failure of the copy. */
static pdr_rc sync_folder(const struct pdr__target *target, pdr_err *err)
{
    size_t len = (size_t)(strrchr(target->path, '/') - target->path);
    char *folder =
        pdr__strndup(len > 0 ? pdr_str_n(target->path, len) : PDR_LIT("/"));
    int fd = -1, sys = 0;

    if (folder == NULL)
        return pdr__nomem(err);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pdr__free(folder);
    if (fd < 0)
        return PDR_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        sys = errno;
    (void)close(fd);
    return sys == 0 ? PDR_OK : failed(err, target->path, sys);
}

pdr_rc pdr__target_place(struct pdr__target *target, pdr_err *err)
{
    struct claim claim;
    pdr_rc rc = claim_name(&claim, target, err);

    if (rc != PDR_OK)
        return rc;
    if (!take_name(target)) {
        rc = errno == EEXIST ? exists(err, target->path)
                             : failed(err, target->path, errno);
    } else {
        (void)sqlite3_close(target->db); /* I2: not before it has its name */
        target->db = NULL;
        rc = sync_folder(target, err);
    }
    give_up(&claim, target);
    return rc;
}

/* --- beginning and end --------------------------------------------------- */

/* Who cannot have the name is told before the copy is made. */
static pdr_rc try_name(const struct pdr__target *target, pdr_err *err)
{
    struct claim claim;
    pdr_rc rc = claim_name(&claim, target, err);

    if (rc == PDR_OK)
        give_up(&claim, target);
    return rc;
}

pdr_rc pdr__target_open(struct pdr__target *target,
                        const struct pdr__sqlite *store, const char *file,
                        bool replace, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    memset(target, 0, sizeof(*target));
    target->store = store;
    target->replace = replace;
    rc = find_place(target, file, err);
    if (rc == PDR_OK)
        rc = make_part(target, err);
    if (rc == PDR_OK)
        rc = try_name(target, err);
    return rc;
}

void pdr__target_close(struct pdr__target *target)
{
    if (target->db != NULL)
        (void)unlink(target->part); /* while it is locked (I2) */
    (void)sqlite3_close(target->db);
    pdr__free(target->path);
    pdr__free(target->part);
    pdr__free(target->side);
    memset(target, 0, sizeof(*target));
}
