/*
 * claim.c - do the main file, the WAL and the side file belong together?
 *
 * WHY  They are three files with names, and people and tools move files. A
 *      backup that is copied over the main file, beside the WAL of a process
 *      that died, would get pages of another time. A WAL that is gone takes
 *      acknowledged commits with it. SQLite takes both for a sound store. The
 *      side file says what was there (lock.c):
 *
 *          note            WAL                         what is done
 *          ─────────────   ─────────────────────────   ───────────────────────
 *          emptied         empty, or begun since       as left.c finds it
 *          held commits    with these commits          as left.c finds it
 *          held commits    gone, cut short, another    see whether the main
 * file has its last page of another id   with frames                 refused or
 * time       without                     the note is void
 *
 *      That page has no sum of its own: another program, as the sqlite3 tool,
 *      has copied the WAL, and removes it only when all of it is copied.
 * Nothing is lost, but its pages have no sums. They get them when every row,
 * every digest and the structure of the file are found sound.
 *
 * INVARIANTS, cited below as I1..I3
 *   I1  Nothing is written before all that can be compared was compared; then
 *       the note says that the store is taken over, and then pages are written
 *       with their sums; only bytes that SQLite does not use change. If the
 *       process is killed in between, it is done again.
 *   I2  The id and the generation of the main file are read from it alone,
 *       without its WAL. If that cannot be, they prove nothing: a process that
 *       died in a checkpoint leaves pages half written, and the WAL has them.
 *   I3  A note that cannot be read accuses nobody.
 */
#include <stdio.h>
#include <unistd.h>

#include "file.h"
#include "vfs.h"

/* A connection that sees the main file and no WAL, and no sums either: another
 * program may have written it. NULL: the file is damaged, or not a database
 * (I2). Any other failure says nothing about the file, and ends the claim. */
static pdr_rc open_main(sqlite3 **out, struct pdr__sqlite *store, pdr_err *err)
{
    bool alone = store->alone;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    store->alone = store->without_sums = store->vfs.without_sums = true;
    rc = pdr__sqlite_connect(out, store, true, &why);
    store->alone = alone;
    store->without_sums = store->vfs.without_sums = false;
    return rc == PDR_OK || rc == PDR_ECORRUPT || rc == PDR_EINVALID
               ? PDR_OK
               : pdr__err_pass(err, &why);
}

/* I2. The digest says whether the row is one that was written. A store of an
 * older version, or none, has no id: zeros. `is_known` is false if the file is
 * damaged there. */
static pdr_rc read_main(struct pdr__store_row *out, bool *is_known,
                        const struct pdr__sqlite *store, sqlite3 *db,
                        pdr_err *err)
{
    static const char what[] = "reading whose file it is";
    const struct pdr__sqlite probe = {.base = store->base, .schema = 3};
    sqlite3_stmt *row = NULL, *mark = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;
    int code = sqlite3_prepare_v2(
        db, "SELECT number,created,generation,id,digest FROM store WHERE one=1",
        -1, &row, NULL);

    memset(out, 0, sizeof(*out));
    *is_known = code == SQLITE_ERROR;
    if (*is_known)
        return PDR_OK;
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW && sqlite3_column_bytes(row, 3) == PDR_STORE_ID &&
        sqlite3_column_bytes(row, 4) == PDR_DIGEST_BYTES) {
        code = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &mark, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(mark);
        if (code == SQLITE_ROW) {
            out->number = (uint64_t)sqlite3_column_int64(row, 0);
            out->created_ms = sqlite3_column_int64(row, 1);
            out->generation = (uint64_t)sqlite3_column_int64(row, 2);
            out->mark = (uint32_t)sqlite3_column_int(mark, 0);
            memcpy(out->id, sqlite3_column_blob(row, 3), PDR_STORE_ID);
            PDR_TRY(pdr__schema_seal(wanted, &probe, out, err));
            *is_known = memcmp(wanted, sqlite3_column_blob(row, 4),
                               sizeof(wanted)) == 0;
        }
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        rc = pdr__sqlite_fail(&why, db, code, what);
        rc = rc == PDR_ECORRUPT || rc == PDR_EINVALID
                 ? PDR_OK
                 : pdr__err_pass(err, &why);
    }
done:
    (void)sqlite3_finalize(mark);
    (void)sqlite3_finalize(row);
    return rc;
}

/* Did another program write the last page of the WAL into the main file? Then
 * it has no sum of its own. One with a sum proves nothing: we may have died
 * while we copied the WAL. */
static bool has_foreign_page(sqlite3 *db, uint32_t number)
{
    uint8_t page[PDR_SQLITE_PAGE];
    sqlite3_file *file = NULL;

    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return number != 0 && file->pMethods != NULL &&
           file->pMethods->xRead(file, page, sizeof(page),
                                 (sqlite3_int64)(number - 1) *
                                     PDR_SQLITE_PAGE) == SQLITE_OK &&
           !pdr__page_is_sound(page, number);
}

/* --- sums ---------------------------------------------------------------- */

/* Write every page as it is: our VFS gives it its sum. */
static pdr_rc write_sums(sqlite3 *db, pdr_err *err)
{
    uint8_t page[PDR_SQLITE_PAGE];
    sqlite3_file *file = NULL;
    sqlite3_int64 bytes = 0;
    int code = SQLITE_OK;

    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    code = file->pMethods->xFileSize(file, &bytes);
    for (sqlite3_int64 at = 0; at < bytes && code == SQLITE_OK;
         at += PDR_SQLITE_PAGE) {
        code = file->pMethods->xRead(file, page, sizeof(page), at);
        if (code == SQLITE_OK)
            code = file->pMethods->xWrite(file, page, sizeof(page), at);
    }
    if (code == SQLITE_OK)
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK
               ? PDR_OK
               : pdr__sqlite_fail(err, db, code, "writing the sums of pages");
}

static const char *name_of(char shown[PDR_SHOWN], const char *path)
{
    const char *slash = strrchr(path, '/');

    return pdr__shown(shown, pdr_str_c(slash != NULL ? slash + 1 : path));
}

static pdr_rc refuse_changed(const struct pdr__sqlite *store,
                             const pdr_err *why, pdr_err *err)
{
    char name[PDR_SHOWN];

    (void)name_of(name, store->path);
    return PDR_FAIL(err, STORE_DAMAGED,
                    "another program has written to '%s' (%s); copy what is "
                    "sound: perdure store copy --skip-damaged "
                    "'sqlite:%s?mode=ro&sums=off' NEW",
                    name, why->reason, name);
}

/* I1 */
static pdr_rc take_over(struct pdr__sqlite *store, pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    store->without_sums = store->vfs.without_sums = true;
    store->base.process = (int64_t)getpid();
    PDR_TRY(pdr__sqlite_connect(&store->writer.db, store, false, &why));
    PDR_TRY(pdr__schema_check(store, store->writer.db, &why));
    PDR_TRY(pdr_store_verify(NULL, &store->base, NULL, &why, NULL, NULL));
    if (!pdr__line_takes_over(&store->line)) {
        rc = PDR_FAIL(&why, FILE_FAILED, "%s",
                      "the file of the writer lock cannot be written");
        goto done;
    }
    PDR_TRY(write_sums(store->writer.db, &why));
    (void)pdr__line_empties(&store->line, &store->writer.row, true);
done:
    if (rc == PDR_ECORRUPT)
        rc = refuse_changed(store, &why, err);
    else if (rc != PDR_OK && err != NULL)
        *err = why;
    store->without_sums = store->vfs.without_sums = false;
    pdr__writer_close(&store->writer);
    pdr__readers_dispose(&store->readers); /* they do not compare sums */
    return pdr__readers_init(&store->readers, NULL) == PDR_OK ? rc : PDR_ENOMEM;
}

/* --- refusals ------------------------------------------------------------ */

static pdr_rc refuse_other(const struct pdr__sqlite *store, pdr_err *err)
{
    char name[PDR_SHOWN];

    (void)name_of(name, store->path);
    return PDR_FAIL(err, STORE_DAMAGED,
                    "'%s' is not the file that '%s-wal' belongs to, or an "
                    "older copy of it; put that file back, or go on with this "
                    "one: rm '%s-wal' '%s-lock'",
                    name, name, name, name);
}

static pdr_rc refuse_gone(const struct pdr__sqlite *store, pdr_err *err)
{
    char name[PDR_SHOWN];

    (void)name_of(name, store->path);
    return PDR_FAIL(err, STORE_DAMAGED,
                    "'%s-wal' is gone, or is another one: it held commits that "
                    "were acknowledged; put it back, or go on without them: "
                    "rm -f '%s-wal' '%s-lock'",
                    name, name, name);
}

/* Sums are written, so a reader cannot do it. */
static pdr_rc refuse_to_read(const struct pdr__sqlite *store, pdr_err *err)
{
    char name[PDR_SHOWN];

    (void)name_of(name, store->path);
    return PDR_FAIL(err, STORE_DAMAGED,
                    "another program has copied '%s-wal' into the file, and "
                    "nothing is lost; open the store once for writing: perdure "
                    "store vacuum '%s'",
                    name, name);
}

/* --- all of it ----------------------------------------------------------- */

pdr_rc pdr__claim(struct pdr__sqlite *store, pdr_err *err)
{
    struct pdr__note note;
    struct pdr__store_row row;
    bool is_gone = false, has_frames = false, is_known = false;
    bool is_other = false, is_copied = false;
    sqlite3 *db = NULL;
    pdr_rc rc = PDR_OK;

    pdr__line_read_note(&note, store->side_path);
    if (note.state == PDR_WAL_TAKEN) /* by a process that died then */
        return store->read_only ? refuse_to_read(store, err)
                                : take_over(store, err);
    PDR_TRY(pdr__left_check(&is_gone, store->log_path, &note, err));
    has_frames = pdr__file_bytes(store->log_path) > PDR_LOG_HEADER;
    if (note.state == PDR_WAL_UNKNOWN || (!is_gone && !has_frames))
        return PDR_OK; /* I3, or there is nothing that could be of another */
    if (store->read_only && pdr__line_is_used(store->side_path))
        return PDR_OK; /* somebody has begun to write */

    PDR_TRY(open_main(&db, store, err));
    if (db != NULL) {
        PDR_TRY(read_main(&row, &is_known, store, db, err));
        is_other = is_known &&
                   (memcmp(row.id, note.id, PDR_STORE_ID) != 0 ||
                    row.mark != note.mark || row.generation < note.generation);
        is_copied = is_gone && !is_other && has_foreign_page(db, note.end.page);
    }
    (void)sqlite3_close(db);
    db = NULL;
    if (is_other && has_frames)
        rc = refuse_other(store, err);
    else if (is_copied)
        rc = store->read_only ? refuse_to_read(store, err)
                              : take_over(store, err);
    else if (is_gone && !is_other)
        rc = refuse_gone(store, err);
done:
    (void)sqlite3_close(db);
    return rc;
}
