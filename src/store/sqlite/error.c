/*
 * error.c - what SQLite says, in the words of this library.
 *
 * The codes of SQLite tell what happened to the file; ours tell what the caller
 * can do. The text of SQLite never reaches a message: it speaks of databases
 * and statements that the caller does not know.
 */
#include <errno.h>
#include <inttypes.h>

#include "sqlite.h"

static bool is_full(sqlite3 *db, int code)
{
    int sys = db != NULL ? sqlite3_system_errno(db) : 0;

    return (code & 0xff) == SQLITE_FULL ||
           ((code & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT));
}

/* A page that is not as it was written (vfs.c), and where it stands. */
static pdr_rc damaged(pdr_err *err, sqlite3 *db, const char *what)
{
    struct pdr__file_state state = {.damaged = 0};
    const char *path = db != NULL ? sqlite3_db_filename(db, "main") : NULL;
    const char *name = path != NULL ? strrchr(path, '/') : NULL;
    char shown[PDR_SHOWN];

    if (db != NULL)
        (void)sqlite3_file_control(db, "main", PDR_FCNTL_STATE, &state);
    name = name != NULL ? name + 1 : "";
    return PDR_FAIL(err, STORE_DAMAGED,
                    "%s: %s %" PRIu32 " of '%s%s' is not as it was written; "
                    "restore a backup",
                    what, state.is_in_log ? "frame" : "page", state.damaged,
                    pdr__shown(shown, pdr_str_c(name)),
                    state.is_in_log ? "-wal" : "");
}

/* Even who only reads needs the log and its index; where they are not there,
 * SQLite makes them. */
static bool lacks_log(sqlite3 *db, int code)
{
    return (code & 0xff) == SQLITE_READONLY && db != NULL &&
           sqlite3_db_readonly(db, "main") == 1;
}

static pdr_rc translate(pdr_err *err, int code, const char *what)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return pdr__nomem(err);
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT: /* a row stands where none can be */
        return PDR_FAIL(err, STORE_DAMAGED,
                        "%s: the file is damaged; verify the store and restore "
                        "a backup",
                        what);
    case SQLITE_NOTADB:
        return PDR_FAIL(err, NOT_A_STORE,
                        "%s: the file is no database of SQLite; name a store",
                        what);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return PDR_FAIL(err, STORE_LOCKED,
                        "%s: another program holds the file; the sqlite3 tool "
                        "is for reading only",
                        what);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return PDR_FAIL(err, READ_ONLY,
                        "%s: the file or its folder cannot be written; give "
                        "the right to, or open it with mode=ro",
                        what);
    case SQLITE_TOOBIG:
        return PDR_FAIL(err, ROW_TOO_LARGE,
                        "%s: a row is too large; make several of it", what);
    case SQLITE_CANTOPEN:
        return PDR_FAIL(err, FILE_FAILED,
                        "%s: the file, or one beside it, cannot be opened; "
                        "look at who may open them",
                        what);
    case SQLITE_IOERR:
        return PDR_FAIL(err, FILE_FAILED,
                        "%s: the file cannot be read or written; look at the "
                        "disk and at what the system says of it",
                        what);
    default:
        return PDR_FAIL(err, FILE_FAILED,
                        "%s: SQLite failed with code %d; try again, and report "
                        "it if it stays",
                        what, code);
    }
}

pdr_rc pdr__sqlite_fail(pdr_err *err, sqlite3 *db, int code, const char *what)
{
    pdr_rc rc = PDR_OK;

    if (code == SQLITE_IOERR_DATA)
        rc = damaged(err, db, what);
    else if (is_full(db, code))
        rc = PDR_FAIL(err, DISK_FULL, "%s: the disk is full; free some room",
                      what);
    else if (lacks_log(db, code))
        rc = PDR_FAIL(err, FILE_FAILED,
                      "%s: the files -wal and -shm are not beside it, and "
                      "cannot be made in its folder; copy the store to a "
                      "folder that you may write",
                      what);
    else if (code == SQLITE_IOERR_SHMSIZE)
        rc = PDR_FAIL(err, FILE_FAILED,
                      "%s: the file '-shm' beside the store was cut while it "
                      "is open; close the store everywhere, and open it again",
                      what);
    else
        rc = translate(err, code, what);

    if (err != NULL)
        err->sys = code;
    return rc;
}
