/*
 * snapshot.c - sessions in a folder: get, set, remove.
 *
 *                  find                     not a document: damaged
 *     get  ──► new name, old name ──► bytes ──► document ──► session
 *
 *     set  ──► document ──► bytes ──► lock ──► damaged? ──► generation? ──►
 *              temporary file, synced ──► rename ──► folder synced
 *
 * The invariants F1 to F4 are those of folder.c, and
 *   F5  Reading moves no file. A writer that meets a damaged file sets it aside
 *       and fails: its bytes are kept, and the next writer finds nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"

#define MAX_ATTEMPTS 3 /* to read a file that is renamed meanwhile */

/* --- finding and reading ------------------------------------------------- */

static pdr_rc no_session(pdr_err *err, pdr_str key)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NO_SESSION, "there is no session '%s'",
                    pdr__shown(shown, key));
}

/* Find a file and read it. Between the two another process may have renamed it,
 * so one that is gone is looked for again. found->exists: was there one? */
static pdr_rc find_and_read(struct found *found, pdr_buf *bytes,
                            pdr_folder *folder, pdr_str key, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        pdr__found_dispose(found);
        pdr_buf_clear(bytes);
        rc = pdr__folder_find(found, folder, key,
                              pdr__folder_extension(folder->format), err);
        if (rc != PDR_OK || !found->exists)
            return rc;
        rc = pdr__folder_read(bytes, folder, found->name, err);
        if (rc != PDR_ENOTFOUND)
            return rc;
    }
    found->exists = false;
    return PDR_OK;
}

/* --- damaged files ------------------------------------------------------- */

/* Fail because the bytes of a file are not a document. `why` is what the codec
 * said. */
static pdr_rc fail_damaged(pdr_err *err, const char *name, const pdr_err *why)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_FAIL(err, DAMAGED, "'%s' is damaged: %s",
                         pdr__shown(shown, pdr_str_c(name)), why->message);

    if (err != NULL)
        err->offset = why->offset;
    return rc;
}

/* Does the file still have these bytes? One that is gone does not. */
static pdr_rc is_still(bool *out, pdr_folder *folder, const char *name,
                       const pdr_generation *bad, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_generation now = {0};
    pdr_rc rc = pdr__folder_read(&bytes, folder, name, err);

    if (rc == PDR_OK)
        rc = pdr_generation_of(&now, pdr_buf_str(&bytes), err);
    pdr_buf_dispose(&bytes);
    *out = rc == PDR_OK && pdr_generation_equal(&now, bad);
    return rc == PDR_ENOTFOUND ? PDR_OK : rc;
}

/* Rename a damaged file, unless somebody who takes no lock has put another one
 * in its place: also if that was done at the last moment, after our look. */
static pdr_rc move_aside(bool *changed, pdr_folder *folder, const char *name,
                         const char *aside, const pdr_generation *bad,
                         pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    struct pdr__file_info info = {0};
    bool still = false;
    pdr_rc rc = is_still(&still, folder, name, bad, err);
    int sys = 0;

    *changed = !still;
    if (rc != PDR_OK || !still)
        return rc;
    sys = files->rename(files->ctx, folder->dir, name, aside);
    if (sys != 0)
        return pdr__file_failed(err, sys, "put aside the damaged", name);
    rc = is_still(&still, folder, aside, bad, NULL);
    *changed = rc == PDR_OK && !still;
    if (*changed && files->look(files->ctx, &info, folder->dir, name) == 0 &&
        info.kind == PDR_FILE_ABSENT)
        sys = files->rename(files->ctx, folder->dir, aside, name);
    if (sys != 0)
        return pdr__file_failed(err, sys, "give its name back to", name);
    return pdr__folder_sync(folder, err);
}

/* Put a file aside whose bytes, of this generation, are no document. `why` is
 * what the codec said. The caller has the lock. */
static pdr_rc put_aside(pdr_folder *folder, const char *name,
                        const pdr_generation *bad, const pdr_err *why,
                        pdr_err *err)
{
    char aside[PDR_NAME_ROOM], shown[PDR_SHOWN];
    bool changed = false;
    pdr_rc rc = pdr__folder_room_aside(folder, name, err);

    if (rc == PDR_OK)
        rc = pdr__folder_beside(aside, name, ".corrupt", err);
    if (rc == PDR_OK)
        rc = move_aside(&changed, folder, name, aside, bad, err);
    if (rc != PDR_OK)
        return rc;
    pdr__shown(shown, pdr_str_c(name));
    if (changed)
        return PDR_FAIL(err, FILE_CHANGED,
                        "'%s' was damaged and changed while it was read: try "
                        "again",
                        shown);
    rc = PDR_FAIL(err, QUARANTINED,
                  "'%s' is damaged and was renamed to '%s': %s", shown, aside,
                  why->message);
    if (err != NULL)
        err->offset = why->offset;
    return rc;
}

/* F5, for a writer: the caller has the lock, and is about to change a file with
 * these bytes. */
static pdr_rc check_damage(pdr_folder *folder, const char *name, pdr_str bytes,
                           pdr_err *err)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_err why = PDR_ERR_INIT;
    pdr_generation bad = {0};
    pdr_value *root = NULL;
    pdr_rc rc = pdr_codec_read(&root, pdr__folder_codec(folder->format), bytes,
                               &opts, &why);

    pdr_value_free(root);
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc == PDR_OK || !pdr__is_no_document(&why, folder->format))
        return PDR_OK;
    rc = pdr_generation_of(&bad, bytes, err);
    return rc == PDR_OK ? put_aside(folder, name, &bad, &why, err) : rc;
}

/* --- get ----------------------------------------------------------------- */

bool pdr__is_history(pdr_str bytes, pdr_folder_format format)
{
    unsigned char first = 0, map = 0;

    if (format != PDR_FOLDER_MSGPACK || bytes.len <= 4)
        return false;
    first = (unsigned char)bytes.ptr[0];
    map = (unsigned char)bytes.ptr[4];
    return first <= PDR_MAX_RECORD_BYTES >> 24 &&
           ((map & 0xF0u) == 0x80u || map == 0xDEu || map == 0xDFu);
}

static pdr_rc fail_history(pdr_err *err, const char *name)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, ENVELOPE, "'%s' is a file of messages, not a session",
                    pdr__shown(shown, pdr_str_c(name)));
}

/* The document of a file that was read. */
static pdr_rc decode(pdr_value **out, const struct found *found, pdr_buf *bytes,
                     const pdr_folder *folder, pdr_str key, pdr_err *err)
{
    bool history = pdr__is_history(pdr_buf_str(bytes), folder->format);
    pdr_err why = PDR_ERR_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr__envelope_read(out, bytes, folder->format, &why);

    if (rc == PDR_OK)
        return PDR_OK;
    pdr__shown(shown, pdr_str_c(found->name));
    if (history)
        return fail_history(err, found->name);
    if (!pdr__is_no_document(&why, folder->format)) {
        if (err != NULL)
            *err = why;
        return pdr__wrap(err, rc, "'%s'", shown);
    }
    if (found->has_old_name && found->other.len > 0)
        return pdr__folder_collision(err, found->name, key,
                                     pdr_buf_str(&found->other));
    return fail_damaged(err, found->name, &why);
}

/* A file under an old name that is also another key's new name: it is ours only
 * if it says so. One under our new name is ours unless it says that it is the
 * old one of another key. */
static pdr_rc check_owner(const struct found *found, const pdr_value *root,
                          pdr_str key, pdr_err *err)
{
    const pdr_value *id = pdr_value_get_c(root, "session_id");
    const pdr_buf *owner = found->has_old_name ? &found->other : &found->rival;

    if (owner->len == 0 ||
        (found->has_old_name ? pdr_value_text_is(id, key)
                             : !pdr_value_text_is(id, pdr_buf_str(owner))))
        return PDR_OK;
    return pdr__folder_collision(err, found->name, key, pdr_buf_str(owner));
}

static pdr_rc tell_names(struct finder *finder, const struct found *found,
                         pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (found->has_old_name)
        rc = pdr__finder_tell(finder, "old-name", PDR_SEVERITY_INFO, err,
                              "the file has the name '%s' of releases before "
                              "1.18: saving renames it",
                              pdr__shown(shown, pdr_str_c(found->name)));
    /* One that is also another key's file is that key's business. */
    if (rc == PDR_OK && found->superseded[0] != '\0' && found->other.len == 0)
        rc = pdr__finder_tell(finder, "superseded-file", PDR_SEVERITY_WARNING,
                              err,
                              "an older file '%s' of the same key stands "
                              "beside this one and is not read",
                              pdr__shown(shown, pdr_str_c(found->superseded)));
    return rc;
}

static pdr_rc open_session(pdr_session **out, const struct found *found,
                           const pdr_value *root, pdr_str key, pdr_err *err,
                           pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    char shown[PDR_SHOWN];
    pdr_rc rc = check_owner(found, root, key, err);

    pdr__shown(shown, pdr_str_c(found->name));
    if (rc != PDR_OK)
        return rc;
    rc = pdr__envelope_check(root, err);
    if (rc == PDR_OK)
        rc = pdr_session_from_value_as(out, root, PDR_SESSION_PYTHON,
                                       PDR_SESSION_KIND_UNSTATED, err);
    if (rc != PDR_OK)
        return pdr__wrap(err, rc, "'%s'", shown);
    rc = tell_names(&finder, found, err);
    if (rc == PDR_OK)
        rc = pdr__envelope_tell(&finder, root, err);
    pdr__finder_dispose(&finder);
    return rc;
}

pdr_rc pdr_folder_get(pdr_session **out, pdr_generation *generation,
                      pdr_folder *folder, pdr_str key, pdr_err *err,
                      pdr_doc_finding_fn fn, void *arg)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_generation read = {0};
    struct found found = {0};
    pdr_session *session = NULL;
    pdr_value *root = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && folder != NULL);
    *out = NULL;
    if (generation != NULL)
        memset(generation, 0, sizeof(*generation));
    rc = pdr__folder_key_check(key, err);
    if (rc == PDR_OK)
        rc = find_and_read(&found, &bytes, folder, key, err);
    if (rc == PDR_OK && !found.exists)
        rc = no_session(err, key);
    if (rc == PDR_OK)
        rc = pdr_generation_of(&read, pdr_buf_str(&bytes), err);
    if (rc == PDR_OK)
        rc = decode(&root, &found, &bytes, folder, key, err);
    if (rc == PDR_OK)
        rc = open_session(&session, &found, root, key, err, fn, arg);
    if (rc == PDR_OK) {
        *out = session;
        session = NULL; /* moved to the caller */
        if (generation != NULL)
            *generation = read;
    }
    pdr_session_free(session);
    pdr_value_free(root);
    pdr_buf_dispose(&bytes);
    pdr__found_dispose(&found);
    return rc;
}

/* --- replacing ----------------------------------------------------------- */

/* Give a file of an old name the new one (F2). */
static pdr_rc take_new_name(pdr_folder *folder, const struct found *found,
                            pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    int sys = 0;

    if (!found->has_old_name)
        return PDR_OK;
    sys = files->rename(files->ctx, folder->dir, found->name, found->fresh);
    return sys == 0 ? PDR_OK
                    : pdr__file_failed(err, sys, "rename", found->name);
}

static pdr_rc replace(pdr_folder *folder, const struct found *found,
                      pdr_str bytes, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    char temporary[PDR_NAME_ROOM];
    pdr_rc rc = pdr__folder_beside(temporary, found->fresh, ".tmp", err);
    int sys = 0;

    if (rc == PDR_OK)
        rc = pdr__folder_make(folder, temporary, bytes, err);
    if (rc != PDR_OK)
        return rc;
    rc = take_new_name(folder, found, err);
    if (rc == PDR_OK) {
        sys = files->rename(files->ctx, folder->dir, temporary, found->fresh);
        if (sys != 0)
            rc = pdr__file_failed(err, sys, "rename a new file to",
                                  found->fresh);
    }
    if (rc != PDR_OK) {
        (void)files->remove(files->ctx, folder->dir, temporary);
        return rc;
    }
    return pdr__folder_sync(folder, err);
}

/* The bytes are there already: see that they are on the disk. */
static pdr_rc confirm(pdr_folder *folder, const struct found *found,
                      pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    int file = -1, sys = 0;
    pdr_rc rc = take_new_name(folder, found, err);

    if (rc != PDR_OK)
        return rc;
    sys = files->open(files->ctx, &file, folder->dir, found->fresh,
                      PDR_FILE_READ);
    if (sys == 0) {
        sys = files->sync(files->ctx, file);
        files->close(files->ctx, file);
    }
    if (sys != 0)
        return pdr__file_failed(err, sys, "sync", found->fresh);
    return pdr__folder_sync(folder, err);
}

/* --- set ----------------------------------------------------------------- */

/* What is to be stored. */
struct draft {
    pdr_value *plain; /* owned; the document as the session has it */
    pdr_value *whole; /* owned; with all members of the envelope */
    bool completed;   /* the two differ */
    pdr_buf bytes;    /* of `whole`; empty if it was refused */
    pdr_rc refused;   /* what the codec said to it, and why */
    pdr_err why;
};

static void dispose_draft(struct draft *draft)
{
    pdr_value_free(draft->plain);
    pdr_value_free(draft->whole);
    pdr_buf_dispose(&draft->bytes);
}

static pdr_rc make_draft(struct draft *draft, pdr_session *session,
                         pdr_folder_format format, pdr_err *err)
{
    pdr_session_shape shape = pdr_session_get_shape(session);
    pdr_rc rc = PDR_OK;

    draft->bytes.max = PDR_MAX_TEXT_BYTES;
    if (shape != PDR_SESSION_PYTHON && shape != PDR_SESSION_PYTHON_OLD)
        return PDR_FAIL(err, SESSION_KIND,
                        "a folder holds sessions of the Python shape, and this "
                        "one has the shape '%s': convert it first",
                        pdr_session_shape_name(shape));
    rc = pdr_session_to_value(&draft->plain, session, err);
    if (rc != PDR_OK)
        return rc;
    draft->whole = pdr_value_ref(draft->plain);
    rc = pdr__envelope_complete(&draft->whole, &draft->completed, err);
    if (rc != PDR_OK)
        return rc;
    draft->why = (pdr_err)PDR_ERR_INIT;
    rc = pdr__envelope_write(&draft->bytes, draft->whole, format, 0,
                             &draft->why);
    if (rc == PDR_OK)
        return PDR_OK;
    if (rc == PDR_EINVALID) {
        draft->refused = rc;
        return PDR_OK; /* fine if the file is just so already */
    }
    if (err != NULL)
        *err = draft->why;
    return rc;
}

/* Is the document, as the session has it, what the file holds? JSON is compared
 * by its bytes, since spelling counts; MessagePack by its values. */
static pdr_rc is_unchanged(bool *out, const struct draft *draft, pdr_buf *there,
                           pdr_folder_format format, pdr_err *err)
{
    pdr_buf again = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *value = NULL;
    pdr_str raw;
    pdr_rc rc = PDR_OK;

    *out = draft->refused == PDR_OK && there->len == draft->bytes.len &&
           memcmp(there->ptr, draft->bytes.ptr, there->len) == 0;
    if (*out ||
        (draft->refused == PDR_OK && !draft->completed &&
         (format == PDR_FOLDER_JSON || !pdr_value_raw(&raw, draft->plain))))
        return PDR_OK;
    if (format == PDR_FOLDER_JSON) {
        rc = pdr__envelope_write(&again, draft->plain, format, PDR_BARE_TOKENS,
                                 err);
        *out = rc == PDR_OK && there->len == again.len &&
               memcmp(there->ptr, again.ptr, again.len) == 0;
        pdr_buf_dispose(&again);
        return rc;
    }
    rc = pdr__envelope_read(&value, there, format, err);
    *out = rc == PDR_OK && pdr_value_equal(value, draft->plain);
    pdr_value_free(value);
    return rc == PDR_ENOMEM ? rc : PDR_OK;
}

static pdr_rc check_generation(const pdr_generation *expected,
                               const struct found *found, pdr_str there,
                               pdr_str key, pdr_err *err)
{
    pdr_generation now = {0};
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (expected == NULL || (!found->exists && !expected->exists))
        return PDR_OK;
    if (found->exists && expected->exists)
        rc = pdr_generation_of(&now, there, err);
    if (rc != PDR_OK)
        return rc;
    if (now.exists &&
        memcmp(now.sha256, expected->sha256, sizeof(now.sha256)) == 0)
        return PDR_OK;
    pdr__shown(shown, key);
    if (!found->exists)
        return PDR_FAIL(err, GENERATION_CHANGED,
                        "the session '%s' is gone since it was read", shown);
    return PDR_FAIL(err, GENERATION_CHANGED,
                    "the session '%s' was %s since: read it again", shown,
                    expected->exists ? "changed" : "made");
}

/* Find what is there, with the lock; read it, and see that it is ours to
 * replace. */
static pdr_rc find_to_change(struct found *found, pdr_buf *there,
                             pdr_folder *folder, pdr_str key,
                             const pdr_generation *expected, pdr_err *err)
{
    const pdr_buf *owner = NULL;
    bool ours = true, theirs = false;
    pdr_rc rc = find_and_read(found, there, folder, key, err);

    owner = found->has_old_name ? &found->other : &found->rival;
    if (rc == PDR_OK && found->exists && owner->len > 0) {
        if (found->has_old_name)
            rc = pdr__folder_says(&ours, folder, found->name, key, err);
        else
            rc = pdr__folder_says(&theirs, folder, found->name,
                                  pdr_buf_str(owner), err);
    }
    if (rc == PDR_OK && (!ours || theirs))
        rc = pdr__folder_collision(err, found->name, key, pdr_buf_str(owner));
    if (rc == PDR_OK && pdr__is_history(pdr_buf_str(there), folder->format))
        rc = fail_history(err, found->name);
    if (rc == PDR_OK && found->exists)
        rc = check_damage(folder, found->name, pdr_buf_str(there), err);
    if (rc == PDR_OK)
        rc = check_generation(expected, found, pdr_buf_str(there), key, err);
    return rc;
}

static pdr_rc store(pdr_generation *written, pdr_folder *folder, pdr_str key,
                    const pdr_generation *expected, const struct draft *draft,
                    pdr_err *err)
{
    pdr_buf there = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    struct found found = {0};
    bool unchanged = false;
    pdr_rc rc = find_to_change(&found, &there, folder, key, expected, err);

    if (rc == PDR_OK && found.exists)
        rc = is_unchanged(&unchanged, draft, &there, folder->format, err);
    if (rc == PDR_OK && unchanged) {
        rc = pdr_generation_of(written, pdr_buf_str(&there), err);
        if (rc == PDR_OK)
            rc = confirm(folder, &found, err);
    } else if (rc == PDR_OK && draft->refused != PDR_OK) {
        rc = draft->refused;
        if (err != NULL)
            *err = draft->why;
    } else if (rc == PDR_OK) {
        rc = pdr_generation_of(written, pdr_buf_str(&draft->bytes), err);
        if (rc == PDR_OK)
            rc = replace(folder, &found, pdr_buf_str(&draft->bytes), err);
    }
    pdr_buf_dispose(&there);
    pdr__found_dispose(&found);
    return rc;
}

/* What a conversion kept for the way back is lost to who only has the folder.
 * Told without the lock, which nobody may hold while a callback runs. */
static pdr_rc tell_left_out(const struct draft *draft, pdr_err *err,
                            pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    pdr_rc rc = PDR_OK;

    if (fn == NULL || draft->refused != PDR_OK ||
        pdr_value_count(pdr_value_get_c(draft->plain, "perdure")) == 0)
        return PDR_OK;
    (void)pdr__finder_name(&finder, PDR_LIT("perdure"));
    rc = pdr__finder_tell(&finder, "note-left-out", PDR_SEVERITY_WARNING, err,
                          "%s",
                          "what a conversion kept here for the way back is "
                          "left out: a file that Python shares has no place "
                          "for it");
    pdr__finder_dispose(&finder);
    return rc;
}

pdr_rc pdr_folder_set(pdr_generation *written, pdr_folder *folder, pdr_str key,
                      const pdr_generation *expected, pdr_session *session,
                      pdr_err *err, pdr_doc_finding_fn fn, void *arg)
{
    pdr_generation now = {0};
    struct draft draft = {0};
    int lock = -1;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(folder != NULL && session != NULL);
    rc = pdr__folder_key_check(key, err);
    if (rc == PDR_OK)
        rc = make_draft(&draft, session, folder->format, err);
    if (rc == PDR_OK)
        rc = tell_left_out(&draft, err, fn, arg);
    if (rc == PDR_OK)
        rc = pdr__folder_lock(&lock, folder, err);
    if (rc == PDR_OK) {
        rc = store(&now, folder, key, expected, &draft, err);
        pdr__folder_unlock(folder, lock);
    }
    if (written != NULL) /* not before: it may be what `expected` points to */
        *written = rc == PDR_OK ? now : (pdr_generation){0};
    dispose_draft(&draft);
    return rc;
}

pdr_rc pdr_folder_check(pdr_folder_format format, pdr_str key,
                        pdr_session *session, pdr_err *err)
{
    struct draft draft = {0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(session != NULL);
    rc = pdr__folder_key_check(key, err);
    if (rc == PDR_OK)
        rc = make_draft(&draft, session, format, err);
    if (rc == PDR_OK && draft.refused != PDR_OK) {
        rc = draft.refused;
        if (err != NULL)
            *err = draft.why;
    }
    dispose_draft(&draft);
    return rc;
}

/* --- remove -------------------------------------------------------------- */

static pdr_rc remove_file(pdr_folder *folder, const char *name, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    int sys = files->remove(files->ctx, folder->dir, name);

    return sys == 0 || sys == ENOENT
               ? PDR_OK
               : pdr__file_failed(err, sys, "remove", name);
}

/* Both names, the older first: else a session that was removed would be back
 * after a crash between the two, as it was long ago. */
static pdr_rc remove_found(pdr_folder *folder, const struct found *found,
                           pdr_str key, pdr_err *err)
{
    bool ours = found->superseded[0] != '\0';
    pdr_rc rc = PDR_OK;

    if (ours && found->other.len > 0)
        rc = pdr__folder_says(&ours, folder, found->superseded, key, err);
    if (rc == PDR_OK && ours)
        rc = remove_file(folder, found->superseded, err);
    if (rc == PDR_OK)
        rc = remove_file(folder, found->name, err);
    return rc == PDR_OK ? pdr__folder_sync(folder, err) : rc;
}

/* Look at what is there as a writer does; `removes`: and remove it. */
static pdr_rc change_file(pdr_folder *folder, pdr_str key,
                          const pdr_generation *expected, bool removes,
                          pdr_err *err)
{
    pdr_buf there = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    struct found found = {0};
    int lock = -1;
    pdr_rc rc = pdr__folder_key_check(key, err);

    if (rc == PDR_OK)
        rc = pdr__folder_lock(&lock, folder, err);
    if (rc != PDR_OK)
        return rc;
    rc = find_to_change(&found, &there, folder, key, expected, err);
    if (rc == PDR_OK && found.exists && removes)
        rc = remove_found(folder, &found, key, err);
    pdr__folder_unlock(folder, lock);
    pdr_buf_dispose(&there);
    pdr__found_dispose(&found);
    return rc;
}

pdr_rc pdr_folder_remove(pdr_folder *folder, pdr_str key,
                         const pdr_generation *expected, pdr_err *err)
{
    PDR_REQUIRE(folder != NULL);
    return change_file(folder, key, expected, true, err);
}

pdr_rc pdr_folder_set_aside(pdr_folder *folder, pdr_str key, pdr_err *err)
{
    PDR_REQUIRE(folder != NULL);
    return change_file(folder, key, NULL, false, err);
}
