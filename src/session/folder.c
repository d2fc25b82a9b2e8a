/*
 * folder.c - a folder of session files: the lock, names in it, whole files.
 *
 * WHY  Python programs keep sessions in such folders, one file each. Ours must
 *      be able to work on the same folder without losing what others wrote:
 *      never half a file, never a second session for one key, never a bad file
 *      in the place of a good one.
 *
 * INVARIANTS
 *   F1  A name that a reader looks for always has a whole document or nothing:
 *       files are made under other names, synced, and renamed.
 *   F2  What is written gets the new name. A file of an old name takes the new
 *       one first, so at no time does a key have two files of ours.
 *   F3  Whatever changes the folder holds the lock, from the look at what is
 *       there to the rename. Python programs take no lock: beside them the
 *       generation is compared as late as can be, and no more.
 *   F4  A failed sync is never tried again: the system may have dropped the
 *       pages, and would call the next one a success.
 *
 * NOT HERE  Names of keys (names.c), the document (envelope.c), sessions
 *           (snapshot.c), the list (folder_list.c), messages (history.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <perdure/json.h>
#include <perdure/msgpack.h>

#include "folder.h"

#define HEX_DIGITS 32 /* of a random part in a name */

/* --- opening ------------------------------------------------------------- */

const char *pdr__folder_extension(pdr_folder_format format)
{
    return format == PDR_FOLDER_JSON ? ".json" : ".msgpack";
}

const pdr_codec *pdr__folder_codec(pdr_folder_format format)
{
    return format == PDR_FOLDER_JSON ? pdr_json_codec() : pdr_msgpack_codec();
}

static pdr_rc open_failed(pdr_err *err, int sys, const char *path)
{
    char shown[PDR_SHOWN];

    if (sys == ENOENT || sys == ENOTDIR)
        return PDR_FAIL(err, NO_FOLDER, "there is no folder '%s'",
                        pdr__shown(shown, pdr_str_c(path)));
    if (sys == ENOMEM)
        return pdr__nomem(err);
    return pdr__file_failed(err, sys, "open the folder", path);
}

pdr_rc pdr__folder_open_with(pdr_folder **out, const char *path,
                             pdr_folder_format format, bool create,
                             const struct pdr__files *files, pdr_err *err)
{
    pdr_folder *folder = NULL;
    int sys = 0;

    *out = NULL;
    folder = pdr__calloc(1, sizeof(*folder));
    if (folder == NULL)
        return pdr__nomem(err);
    folder->files = files;
    folder->format = format;
    sys = files->open_folder(files->ctx, &folder->dir, path, create);
    if (sys == 0) {
        sys = pthread_mutex_init(&folder->lock, NULL);
        if (sys != 0)
            files->close(files->ctx, folder->dir);
    }
    if (sys != 0) {
        pdr__free(folder);
        return open_failed(err, sys, path);
    }
    *out = folder;
    return PDR_OK;
}

pdr_rc pdr_folder_open(pdr_folder **out, const char *path,
                       pdr_folder_format format, bool create, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && path != NULL);
    PDR_REQUIRE(format == PDR_FOLDER_JSON || format == PDR_FOLDER_MSGPACK);
    return pdr__folder_open_with(out, path, format, create, pdr__files_system(),
                                 err);
}

void pdr_folder_close(pdr_folder *folder)
{
    if (folder == NULL)
        return;
    folder->files->close(folder->files->ctx, folder->dir);
    pthread_mutex_destroy(&folder->lock);
    pdr__free(folder);
}

/* --- the lock ------------------------------------------------------------ */

pdr_rc pdr__folder_lock(int *out, pdr_folder *folder, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    int sys = files->open(files->ctx, out, folder->dir, PDR_FOLDER_LOCK,
                          PDR_FILE_GROW);

    if (sys != 0)
        return pdr__file_failed(err, sys, "open", PDR_FOLDER_LOCK);
    sys = files->lock(files->ctx, *out);
    if (sys == 0)
        return PDR_OK;
    files->close(files->ctx, *out);
    return pdr__file_failed(err, sys, "lock", PDR_FOLDER_LOCK);
}

void pdr__folder_unlock(pdr_folder *folder, int lock)
{
    folder->files->close(folder->files->ctx, lock);
}

/* --- finding ------------------------------------------------------------- */

void pdr__found_dispose(struct found *found)
{
    pdr_buf_dispose(&found->other);
    pdr_buf_dispose(&found->rival);
}

pdr_rc pdr__folder_collision(pdr_err *err, const char *name, pdr_str key,
                             pdr_str other)
{
    char file[PDR_SHOWN], asked[PDR_SHOWN], shown[PDR_SHOWN];

    return PDR_FAIL(err, KEY_COLLISION,
                    "'%s' is the file of '%s', not of '%s': save that session, "
                    "which gives it a name of its own, or rename the file",
                    pdr__shown(file, pdr_str_c(name)), pdr__shown(shown, other),
                    pdr__shown(asked, key));
}

static pdr_rc make_name(char out[PDR_NAME_ROOM], pdr_str key, bool old,
                        const char *ending, pdr_err *err)
{
    pdr_buf stem = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = pdr__stem(&stem, key, old, err);
    char shown[PDR_SHOWN];
    int len = 0;

    if (rc == PDR_OK)
        len = snprintf(out, PDR_NAME_ROOM, "%.*s%s", (int)stem.len, stem.ptr,
                       ending);
    pdr_buf_dispose(&stem);
    if (rc == PDR_OK && len >= PDR_NAME_ROOM)
        rc = pdr__file_failed(err, ENAMETOOLONG, "name a file for",
                              pdr__shown(shown, key));
    return rc;
}

static char swap_case(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The entry that is `name` but for the case of letters. */
struct twin {
    const char *name;
    bool exact;
    char spelled[PDR_NAME_ROOM];
};

static int note_twin(const char *name, void *arg)
{
    struct twin *twin = arg;
    size_t i = 0;

    while (name[i] != '\0' && i < PDR_NAME_ROOM - 1 &&
           (name[i] == twin->name[i] || swap_case(name[i]) == twin->name[i]))
        i++;
    if (name[i] != '\0' || twin->name[i] != '\0')
        return 0;
    if (strcmp(name, twin->name) == 0)
        twin->exact = true;
    memcpy(twin->spelled, name, i + 1);
    return 0;
}

/* Is it spelled so in the folder? The name in other case leads to the same file
 * only where case is folded, or to a hard link: then the folder itself has to
 * tell. So on most systems this costs one call. */
static pdr_rc check_spelling(struct twin *out, pdr_folder *folder,
                             const struct pdr__file_info *info, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    struct pdr__file_info other = {0};
    char swapped[PDR_NAME_ROOM];
    int sys = 0;

    for (size_t i = 0; i < sizeof(swapped); i++) {
        swapped[i] = swap_case(out->name[i]);
        if (out->name[i] == '\0')
            break;
    }
    out->exact = true;
    sys = files->look(files->ctx, &other, folder->dir, swapped);
    if (sys != 0)
        return pdr__file_failed(err, sys, "look at", swapped);
    if (other.kind == PDR_FILE_ABSENT || other.inode != info->inode ||
        other.device != info->device)
        return PDR_OK;
    out->exact = false;
    sys = files->list(files->ctx, folder->dir, note_twin, out);
    if (sys != 0)
        return pdr__file_failed(err, sys, "list the folder of", out->name);
    return PDR_OK;
}

/* Is there a regular file of this name? twin->exact: and is it spelled so? */
static pdr_rc look_for(bool *there, struct twin *twin, pdr_folder *folder,
                       const char *name, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    struct pdr__file_info info = {0};
    char shown[PDR_SHOWN];
    int sys = files->look(files->ctx, &info, folder->dir, name);

    memset(twin, 0, sizeof(*twin));
    twin->name = name;
    *there = false;
    if (sys != 0)
        return pdr__file_failed(err, sys, "look at", name);
    switch (info.kind) {
    case PDR_FILE_ABSENT:
        return PDR_OK;
    case PDR_FILE_LINK:
        return pdr__file_failed(err, ELOOP, "open", name);
    case PDR_FILE_OTHER:
        return PDR_FAIL(err, FILE_FAILED, "'%s' is no regular file",
                        pdr__shown(shown, pdr_str_c(name)));
    case PDR_FILE_REGULAR:
        break;
    }
    *there = true;
    return check_spelling(twin, folder, &info, err);
}

pdr_str pdr__stem_of(const char *name, const char *ending)
{
    size_t len = strlen(name), tail = strlen(ending);

    return pdr_str_n(name, len > tail ? len - tail : 0);
}

/* A file whose name differs from the one looked for in case only. It is that of
 * another key; `old`: one that could be an old file of `key`. */
static pdr_rc judge_twin(const struct twin *twin, pdr_str key, bool old,
                         const char *ending, pdr_err *err)
{
    pdr_buf owner = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str stem = pdr__stem_of(twin->spelled, ending);
    bool known = false;
    pdr_rc rc = pdr__stem_key(&owner, &known, stem, false, err);

    if (rc == PDR_OK && known && old)
        goto done; /* it has the new name of another key: no file of ours */
    if (rc == PDR_OK && !known)
        rc = pdr__stem_key(&owner, &known, stem, true, err);
    if (rc == PDR_OK)
        rc = pdr__folder_collision(err, twin->spelled, key,
                                   known ? pdr_buf_str(&owner) : stem);
done:
    pdr_buf_dispose(&owner);
    return rc;
}

/* Whose new name is it, if not that of `key`? */
static pdr_rc find_other(pdr_buf *out, const char *name, const char *ending,
                         pdr_err *err)
{
    bool known = false;
    pdr_rc rc =
        pdr__stem_key(out, &known, pdr__stem_of(name, ending), false, err);

    if (rc == PDR_OK && !known)
        pdr_buf_clear(out);
    return rc;
}

/* Whose old name is it, if not that of `key`? */
static pdr_rc find_rival(pdr_buf *out, const char *name, pdr_str key,
                         const char *ending, pdr_err *err)
{
    bool known = false;
    pdr_rc rc =
        pdr__stem_key(out, &known, pdr__stem_of(name, ending), true, err);

    if (rc == PDR_OK && (!known || (out->len == key.len &&
                                    memcmp(out->ptr, key.ptr, key.len) == 0)))
        pdr_buf_clear(out);
    return rc;
}

static pdr_rc find_old(struct found *out, pdr_folder *folder, pdr_str key,
                       const char *ending, pdr_err *err)
{
    char name[PDR_NAME_ROOM];
    struct twin twin;
    bool there = false;
    pdr_rc rc = make_name(name, key, true, ending, err);

    if (rc != PDR_OK || strcmp(name, out->fresh) == 0)
        return rc;
    rc = look_for(&there, &twin, folder, name, err);
    if (rc == PDR_EINVALID && out->exists)
        return PDR_OK; /* a link there is not in our way */
    if (rc != PDR_OK || !there)
        return rc;
    if (!twin.exact)
        return out->exists ? PDR_OK : judge_twin(&twin, key, true, ending, err);
    rc = find_other(&out->other, name, ending, err);
    if (rc != PDR_OK)
        return rc;
    if (out->exists) {
        memcpy(out->superseded, name, sizeof(name));
        return PDR_OK;
    }
    out->exists = out->has_old_name = true;
    memcpy(out->name, name, sizeof(name));
    return PDR_OK;
}

pdr_rc pdr__folder_find(struct found *out, pdr_folder *folder, pdr_str key,
                        const char *ending, pdr_err *err)
{
    struct twin twin;
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    out->other.max = out->rival.max = PDR_MAX_TEXT_BYTES;
    rc = make_name(out->fresh, key, false, ending, err);
    if (rc == PDR_OK)
        rc = look_for(&out->exists, &twin, folder, out->fresh, err);
    if (rc == PDR_OK && out->exists && !twin.exact)
        rc = judge_twin(&twin, key, false, ending, err);
    if (rc == PDR_OK && out->exists)
        rc = find_rival(&out->rival, out->fresh, key, ending, err);
    if (rc != PDR_OK)
        return rc;
    memcpy(out->name, out->fresh, sizeof(out->name));
    return find_old(out, folder, key, ending, err);
}

/* --- reading ------------------------------------------------------------- */

static pdr_rc read_open(pdr_buf *out, pdr_folder *folder, int file,
                        const char *name, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    struct pdr__file_info info = {0};
    uint64_t at = 0;
    size_t got = 1;
    int sys = files->measure(files->ctx, &info, file);
    pdr_rc rc = PDR_OK;

    if (sys == 0 && info.kind != PDR_FILE_REGULAR)
        sys = EINVAL;
    if (sys == 0 && info.bytes > PDR_MAX_TEXT_BYTES)
        return PDR_FAIL(err, TOO_LARGE, "'%s' has %llu bytes, at most %llu",
                        name, (unsigned long long)info.bytes,
                        (unsigned long long)PDR_MAX_TEXT_BYTES);
    if (sys == 0)
        rc = pdr_buf_reserve(out, (size_t)info.bytes + 1, err);
    while (rc == PDR_OK && sys == 0 && got > 0) {
        rc = pdr__buf_room(out, 1, err);
        if (rc != PDR_OK)
            break;
        sys = files->read(files->ctx, &got, file, out->ptr + out->len,
                          out->cap - out->len, at);
        out->len += got;
        at += got;
    }
    return rc != PDR_OK || sys == 0 ? rc
                                    : pdr__file_failed(err, sys, "read", name);
}

pdr_rc pdr__folder_read(pdr_buf *out, pdr_folder *folder, const char *name,
                        pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    char shown[PDR_SHOWN];
    int file = -1, sys = 0;
    pdr_rc rc = PDR_OK;

    sys = files->open(files->ctx, &file, folder->dir, name, PDR_FILE_READ);
    if (sys == ENOENT)
        return PDR_FAIL(err, NO_SESSION, "there is no file '%s'",
                        pdr__shown(shown, pdr_str_c(name)));
    if (sys != 0)
        return pdr__file_failed(err, sys, "open", name);
    rc = read_open(out, folder, file, name, err);
    files->close(files->ctx, file);
    return rc;
}

pdr_rc pdr__folder_says(bool *out, pdr_folder *folder, const char *name,
                        pdr_str id, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *root = NULL;
    pdr_rc rc = pdr__folder_read(&bytes, folder, name, err);

    *out = false;
    if (rc == PDR_OK) {
        rc = pdr__envelope_read(&root, &bytes, folder->format, err);
        *out = rc == PDR_OK &&
               pdr_value_text_is(pdr_value_get_c(root, "session_id"), id);
    }
    pdr_value_free(root);
    pdr_buf_dispose(&bytes);
    return rc == PDR_ENOMEM || rc == PDR_EIO ? rc : PDR_OK;
}

/* --- names beside a name ------------------------------------------------- */

pdr_rc pdr__folder_beside(char out[PDR_NAME_ROOM], const char *name,
                          const char *ending, pdr_err *err)
{
    uint8_t bytes[HEX_DIGITS / 2];
    char hex[HEX_DIGITS + 1];
    pdr_rc rc = pdr__rand_fill(bytes, pdr__rand_system(), sizeof(bytes), err);

    if (rc != PDR_OK)
        return rc;
    pdr__hex(hex, bytes, sizeof(bytes));
    /* A history can have a name so long that no other fits beside it. */
    if (1 + strlen(name) + 1 + HEX_DIGITS + strlen(ending) >= PDR_NAME_ROOM)
        snprintf(out, PDR_NAME_ROOM, ".~long%s.%s%s", strrchr(name, '.'), hex,
                 ending);
    else
        snprintf(out, PDR_NAME_ROOM, ".%s.%s%s", name, hex, ending);
    return PDR_OK;
}

pdr_str pdr__beside_what(const char *name, const char *ending)
{
    size_t len = strlen(name), tail = strlen(ending) + HEX_DIGITS + 1;
    const char *hex = NULL;

    if (name[0] != '.' || len <= tail + 1 ||
        strcmp(name + len - strlen(ending), ending) != 0 ||
        name[len - tail] != '.')
        return pdr_str_n(NULL, 0);
    hex = name + len - tail + 1;
    if (strspn(hex, "0123456789abcdef") != HEX_DIGITS)
        return pdr_str_n(NULL, 0);
    return pdr_str_n(name + 1, len - tail - 1);
}

static int count_corrupt(const char *name, void *arg)
{
    size_t *count = arg;

    *count += pdr__beside_what(name, ".corrupt").len > 0;
    return 0;
}

pdr_rc pdr__folder_room_aside(pdr_folder *folder, const char *name,
                              pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    char shown[PDR_SHOWN];
    size_t count = 0;
    int sys = files->list(files->ctx, folder->dir, count_corrupt, &count);

    if (sys != 0)
        return pdr__file_failed(err, sys, "list the folder of", name);
    if (count < PDR_MAX_QUARANTINED)
        return PDR_OK;
    return PDR_FAIL(err, QUARANTINE_FULL,
                    "'%s' is damaged, and stays: the folder keeps %zu damaged "
                    "files already; look at them and remove some",
                    pdr__shown(shown, pdr_str_c(name)), count);
}

/* --- writing files ------------------------------------------------------- */

pdr_rc pdr__folder_make(pdr_folder *folder, const char *name, pdr_str bytes,
                        pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    const char *verb = "write";
    int file = -1;
    int sys =
        files->open(files->ctx, &file, folder->dir, name, PDR_FILE_CREATE);

    if (sys != 0)
        return pdr__file_failed(err, sys, "create", name);
    sys = files->write(files->ctx, file, bytes.ptr, bytes.len);
    if (sys == 0) {
        verb = "sync";
        sys = files->sync(files->ctx, file);
    }
    files->close(files->ctx, file);
    if (sys == 0)
        return PDR_OK;
    (void)files->remove(files->ctx, folder->dir, name);
    return pdr__file_failed(err, sys, verb, name);
}

pdr_rc pdr__folder_sync(pdr_folder *folder, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    int sys = files->sync(files->ctx, folder->dir);
    pdr_rc rc = PDR_OK;

    if (sys == 0)
        return PDR_OK;
    rc = PDR_FAIL(err, SYNC_FAILED,
                  "the folder was changed, but could not be put on the disk: "
                  "read again to see what is there (errno %d)",
                  sys);
    if (err != NULL)
        err->sys = sys;
    return rc;
}
