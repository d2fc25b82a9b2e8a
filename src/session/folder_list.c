/*
 * folder_list.c - which files a folder holds, and of which sessions.
 *
 * WHY  A folder has no index: the names are all there is. Most tell their key;
 *      one that is a hash, or that two releases could have written for two
 *      keys, is told by the document inside.
 *
 * Names that no release writes are other people's files and are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"

/* --- all names ----------------------------------------------------------- */

struct names {
    char **items; /* owned, with each of them */
    size_t count, cap;
    bool no_memory;
};

static void dispose_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        pdr__free(names->items[i]);
    pdr__free(names->items);
}

static int add_name(const char *name, void *arg)
{
    struct names *names = arg;
    size_t cap = names->cap > 0 ? names->cap : 16, bytes = 0;
    char **more = names->items;

    while (cap <= names->count)
        if (!pdr__mul_size(&cap, cap, 2))
            break;
    if (cap > names->cap)
        more = pdr__mul_size(&bytes, cap, sizeof(*more))
                   ? pdr__realloc(names->items, bytes)
                   : NULL;
    if (more != NULL) {
        names->items = more;
        names->cap = cap;
        more[names->count] = pdr__strdup(name);
    }
    names->no_memory = more == NULL || more[names->count] == NULL;
    names->count += !names->no_memory;
    return names->no_memory ? ENOMEM : 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static pdr_rc read_names(struct names *out, pdr_folder *folder, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    int sys = files->list(files->ctx, folder->dir, add_name, out);

    if (sys != 0 && out->no_memory)
        return pdr__nomem(err);
    if (sys != 0)
        return pdr__file_failed(err, sys, "list", "the folder");
    if (out->count > 0)
        qsort(out->items, out->count, sizeof(*out->items), compare_names);
    return PDR_OK;
}

static bool has_name(const struct names *names, const char *name)
{
    return names->count > 0 &&
           bsearch(&name, names->items, names->count, sizeof(*names->items),
                   compare_names) != NULL;
}

static bool ends_with(pdr_str name, const char *ending)
{
    size_t len = strlen(ending);

    return name.len > len &&
           memcmp(name.ptr + name.len - len, ending, len) == 0;
}

/* --- one file ------------------------------------------------------------ */

/* What is known of the file that is looked at. */
struct listed {
    pdr_folder_entry entry;
    pdr_buf key;   /* what entry.key points at */
    pdr_buf other; /* the key that an older release would have meant */
    bool skip;
};

/* The `session_id` inside, if there is one; a file that cannot be read as a
 * document has none. */
static pdr_rc read_id(pdr_buf *out, pdr_folder *folder, const char *name,
                      pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    const pdr_value *member = NULL;
    pdr_value *root = NULL;
    pdr_str text = {0};
    pdr_rc rc = pdr__folder_read(&bytes, folder, name, err);

    pdr_buf_clear(out);
    if (rc == PDR_OK)
        rc = pdr__envelope_read(&root, &bytes, folder->format, err);
    if (rc == PDR_OK)
        member = pdr__member(root, "session_id", PDR_STRING);
    if (member != NULL)
        rc = pdr_value_text(&text, member, &scratch, err);
    if (rc == PDR_OK && text.len > 0)
        rc = pdr_buf_append(out, text, err);
    pdr_value_free(root);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&bytes);
    return rc == PDR_ENOMEM || rc == PDR_EIO ? rc : PDR_OK;
}

/* The key of a name that is a hash. */
static pdr_rc key_of_hash(struct listed *out, pdr_folder *folder,
                          const char *name, pdr_str stem, pdr_err *err)
{
    pdr_buf again = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = read_id(&out->key, folder, name, err);

    if (rc == PDR_OK && out->key.len > 0)
        rc = pdr__stem(&again, pdr_buf_str(&out->key), false, err);
    if (rc == PDR_OK &&
        (again.len != stem.len || memcmp(again.ptr, stem.ptr, stem.len) != 0))
        pdr_buf_clear(&out->key); /* kept under a key that is not its id */
    pdr_buf_dispose(&again);
    return rc;
}

/* Is there a file of the new name for the key of an old one? */
static pdr_rc is_superseded(bool *out, const struct names *names, pdr_str key,
                            const char *ending, pdr_err *err)
{
    pdr_buf name = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = pdr__stem(&name, key, false, err);

    if (rc == PDR_OK)
        rc = pdr_buf_append(&name, pdr_str_n(ending, strlen(ending) + 1), err);
    *out = rc == PDR_OK && has_name(names, name.ptr);
    pdr_buf_dispose(&name);
    return rc;
}

static void take_other(struct listed *out)
{
    pdr_buf key = out->key;

    out->key = out->other;
    out->other = key;
    out->entry.has_old_name = true;
}

/* A name that tells its key, or two of them. */
static pdr_rc key_of_name(struct listed *out, pdr_folder *folder,
                          const char *name, pdr_str stem, pdr_err *err)
{
    bool is_new = false, is_old = false, says = false;
    pdr_rc rc = pdr__stem_key(&out->key, &is_new, stem, false, err);

    if (rc == PDR_OK)
        rc = pdr__stem_key(&out->other, &is_old, stem, true, err);
    if (rc != PDR_OK)
        return rc;
    if (is_new && is_old &&
        (out->key.len != out->other.len ||
         memcmp(out->key.ptr, out->other.ptr, out->key.len) != 0)) {
        rc = pdr__folder_says(&says, folder, name, pdr_buf_str(&out->other),
                              err);
        is_new = !says;
    }
    out->skip = !is_new && !is_old;
    if (rc == PDR_OK && !is_new && is_old)
        take_other(out);
    return rc;
}

static pdr_rc list_session(struct listed *out, pdr_folder *folder,
                           const struct names *names, const char *name,
                           pdr_err *err)
{
    const char *ending = pdr__folder_extension(folder->format);
    pdr_str stem = pdr__stem_of(name, ending);
    bool superseded = false;
    pdr_rc rc = PDR_OK;

    out->entry.kind = PDR_FOLDER_SESSION;
    if (!ends_with(pdr_str_c(name), ending)) {
        out->skip = true;
        return PDR_OK;
    }
    if (pdr__stem_is_hash(stem))
        return key_of_hash(out, folder, name, stem, err);
    rc = key_of_name(out, folder, name, stem, err);
    if (rc != PDR_OK || !out->entry.has_old_name)
        return rc;
    rc = is_superseded(&superseded, names, pdr_buf_str(&out->key), ending, err);
    if (superseded)
        out->entry.kind = PDR_FOLDER_SUPERSEDED;
    return rc;
}

/* A file beside another one: is it of this format, and of which key? */
static pdr_rc list_beside(struct listed *out, pdr_str name,
                          pdr_folder_format format, pdr_err *err)
{
    bool known = false;
    pdr_str stem = name;
    pdr_rc rc = PDR_OK;

    if (ends_with(name, pdr__folder_extension(format)))
        stem.len -= strlen(pdr__folder_extension(format));
    else if (format == PDR_FOLDER_JSON && ends_with(name, ".jsonl"))
        stem.len -= strlen(".jsonl");
    else
        out->skip = true;
    if (!out->skip)
        rc = pdr__stem_key(&out->key, &known, stem, false, err);
    if (rc != PDR_OK || known || out->skip)
        return rc;
    rc = pdr__stem_key(&out->key, &known, stem, true, err);
    if (!known)
        pdr_buf_clear(&out->key);
    out->entry.has_old_name = known;
    return rc;
}

/* In MessagePack a file of messages has the ending of a session. */
static pdr_rc skip_history(struct listed *out, pdr_folder *folder,
                           const char *name, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    char head[8];
    size_t got = 0;
    int file = -1, sys = 0;

    if (folder->format != PDR_FOLDER_MSGPACK)
        return PDR_OK;
    sys = files->open(files->ctx, &file, folder->dir, name, PDR_FILE_READ);
    if (sys == 0) {
        sys = files->read(files->ctx, &got, file, head, sizeof(head), 0);
        files->close(files->ctx, file);
    }
    if (sys != 0 && sys != ENOENT)
        return pdr__file_failed(err, sys, "read", name);
    out->skip = pdr__is_history(pdr_str_n(head, got), folder->format);
    return PDR_OK;
}

static pdr_rc list_file(struct listed *out, pdr_folder *folder,
                        const struct names *names, const char *name,
                        pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    pdr_str corrupt = pdr__beside_what(name, ".corrupt");
    pdr_str temporary = pdr__beside_what(name, ".tmp");
    struct pdr__file_info info = {0};
    int sys = files->look(files->ctx, &info, folder->dir, name);
    pdr_rc rc = PDR_OK;

    if (sys != 0)
        return pdr__file_failed(err, sys, "look at", name);
    out->entry.file = pdr_str_c(name);
    out->entry.bytes = info.bytes;
    out->skip = info.kind != PDR_FILE_REGULAR;
    if (out->skip)
        return PDR_OK;
    if (corrupt.len > 0 || temporary.len > 0) {
        out->entry.kind =
            corrupt.len > 0 ? PDR_FOLDER_CORRUPT : PDR_FOLDER_LEFTOVER;
        return list_beside(out, corrupt.len > 0 ? corrupt : temporary,
                           folder->format, err);
    }
    rc = list_session(out, folder, names, name, err);
    return rc == PDR_OK && !out->skip ? skip_history(out, folder, name, err)
                                      : rc;
}

pdr_rc pdr_folder_list(pdr_folder *folder, pdr_err *err, pdr_folder_fn fn,
                       void *arg)
{
    struct names names = {0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(folder != NULL && fn != NULL);
    rc = read_names(&names, folder, err);
    for (size_t i = 0; rc == PDR_OK && i < names.count; i++) {
        struct listed listed = {.key = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                                .other = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
        rc = list_file(&listed, folder, &names, names.items[i], err);
        listed.entry.key = pdr_buf_str(&listed.key);
        if (rc == PDR_OK && !listed.skip)
            rc = fn(&listed.entry, err, arg);
        pdr_buf_dispose(&listed.key);
        pdr_buf_dispose(&listed.other);
    }
    dispose_names(&names);
    return rc;
}
