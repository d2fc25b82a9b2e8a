/*
 * keys.c - the file of keys, and which key a caller has.
 *
 *      pd_ID_SECRET ─► ID ─► line of the file ─► same SHA-256 of SECRET?
 *
 * WHY  Who can read the file must not learn a key. A secret is 32 random bytes,
 *      which nobody can guess, so a plain SHA-256 is enough: slow hashes are
 * for words that people choose.
 *
 *      A browser has a cookie instead of a key: ID.UNTIL.MAC, where MAC is an
 *      HMAC of the rest by that SHA-256. No server keeps anything of it, each
 *      server with the file takes it, and it ends with its line of the file.
 *      The price: who can read the file can make a cookie. docs/formats/keys.md
 *      says so.
 *
 * INVARIANTS
 *   K1  How long a check takes does not tell whether there is such an id, nor
 *       how much of a secret, or of a MAC, is right.
 *   K2  The file is whole at any time: a change is written beside it and
 *       renamed, by whoever holds the lock of "PATH.new".
 *   K3  What is not understood is refused: a member that we do not know may
 *       say that the key has expired.
 *
 * NOT HERE  What a key may do (auth.c).
 */
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perdure/json.h>

#include "core.h"
#include "store.h"

#define PREFIX       "pd_"
#define SECRET_BYTES 32 /* as many as its digest has: more gain nothing */
#define ID_BYTES     6  /* that are drawn; twice as many digits */
#define MAX_ID       32
#define MAX_COOKIE   (MAX_ID + 2 * PDR_SHA256_BYTES + 24)
#define PATH_BYTES   4096            /* what realpath() asks for */
#define COOKIE_USE   "perdure-ui-1 " /* what a MAC is for */

struct key {
    pdr_key public; /* texts in arena */
    uint8_t digest[PDR_SHA256_BYTES];
    pdr_str line; /* of the file, without its end; in arena */
};

struct pdr_keys {
    struct pdr__arena memory;
    struct pdr__map by_id; /* to one of `list` */
    struct key *list;      /* owned */
    size_t count;
};

/* --- scopes ----------------------------------------------------------------
 */

static const struct {
    unsigned scope;
    const char *name;
} scopes[] = {{PDR_SCOPE_READ, "read"},
              {PDR_SCOPE_RUN, "run"},
              {PDR_SCOPE_WRITE, "write"},
              {PDR_SCOPE_ADMIN, "admin"}};

const char *pdr_scope_name(unsigned scope)
{
    for (size_t i = 0; i < PDR_COUNT(scopes); i++) {
        if (scopes[i].scope == scope)
            return scopes[i].name;
    }
    return NULL;
}

unsigned pdr_scope_find(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(scopes); i++) {
        if (pdr_str_equal(name, pdr_str_c(scopes[i].name)))
            return scopes[i].scope;
    }
    return PDR_SCOPE_NONE;
}

/* --- lines -----------------------------------------------------------------
 */

static bool is_id(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if ((c < '0' || c > '9') && (c < 'a' || c > 'z'))
            return false;
    }
    return text.len > 0 && text.len <= MAX_ID;
}

static bool digest_read(uint8_t out[PDR_SHA256_BYTES], pdr_str text)
{
    static const char digits[] = "0123456789abcdef";

    if (text.len != 2 * PDR_SHA256_BYTES)
        return false;
    memset(out, 0, PDR_SHA256_BYTES);
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = memchr(digits, text.ptr[i], 16);

        if (digit == NULL)
            return false;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | (digit - digits));
    }
    return true;
}

static bool scopes_read(unsigned *out, const pdr_value *list)
{
    pdr_iter it;
    unsigned one = 0;

    *out = 0;
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        one = 0;
        for (size_t i = 0; i < PDR_COUNT(scopes); i++) {
            if (pdr_value_text_is(it.value, pdr_str_c(scopes[i].name)))
                one = scopes[i].scope;
        }
        if (one == 0)
            return false;
        *out |= one;
    }
    return *out != 0;
}

/* One member of a line. `*is_sound` says whether it is one that a key has. */
static pdr_rc member_read(struct key *key, bool *is_sound, const pdr_iter *it,
                          struct pdr__arena *memory, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_KEYS_BYTES);
    pdr_str text = {NULL, 0};
    pdr_ref ref = {.id = PDR_LIT("x")};
    pdr_rc rc = PDR_OK;

    *is_sound = false;
    if (pdr_value_text_is(it->name, PDR_LIT("scopes"))) {
        *is_sound = key->public.scopes == 0 &&
                    pdr_value_kind(it->value) == PDR_ARRAY &&
                    scopes_read(&key->public.scopes, it->value);
        return PDR_OK;
    }
    if (pdr_value_kind(it->value) != PDR_STRING)
        return PDR_OK;
    PDR_TRY(pdr__value_sound_text(&text, it->value, &scratch, err));
    PDR_TRY(pdr__arena_keep(&text, memory, err));
    if (pdr_value_text_is(it->name, PDR_LIT("id"))) {
        *is_sound = key->public.id.ptr == NULL && is_id(text);
        key->public.id = text;
    } else if (pdr_value_text_is(it->name, PDR_LIT("sha256"))) {
        *is_sound = digest_read(key->digest, text);
    } else if (pdr_value_text_is(it->name, PDR_LIT("tenant"))) {
        ref.tenant = text;
        *is_sound = key->public.tenant.ptr == NULL &&
                    pdr__ref_check(&ref, &ref, NULL) == PDR_OK;
        key->public.tenant = text;
    } else if (pdr_value_text_is(it->name, PDR_LIT("created"))) {
        *is_sound =
            pdr_datetime_read(&key->public.created, text, NULL) == PDR_OK;
    } else if (pdr_value_text_is(it->name, PDR_LIT("note"))) {
        *is_sound = true;
        key->public.note = text;
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* The key of a line; no message repeats what is in the file. */
static pdr_rc line_read(struct key *key, pdr_str line, size_t number,
                        struct pdr__arena *memory, pdr_err *err)
{
    static const char *const needed[] = {"id", "sha256", "scopes", "tenant",
                                         "created"};
    pdr_value *value = NULL;
    pdr_iter it;
    bool is_sound = true;
    pdr_rc rc = pdr_json_read(&value, line, NULL, NULL);

    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc != PDR_OK || pdr_value_kind(value) != PDR_OBJECT) {
        rc = PDR_FAIL(err, BAD_KEY_FILE,
                      "line %zu of the file of keys is not a JSON object",
                      number);
        goto done;
    }
    key->line = line;
    PDR_TRY(pdr__arena_keep(&key->line, memory, err));
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        PDR_TRY(member_read(key, &is_sound, &it, memory, err));
        if (!is_sound)
            PDR_TRY(PDR_FAIL(err, BAD_KEY_FILE,
                             "line %zu of the file of keys has a member that "
                             "a key does not have, or not like this: number "
                             "%zu",
                             number, it.index + 1));
    }
    for (size_t i = 0; i < PDR_COUNT(needed); i++) {
        if (pdr_value_get_c(value, needed[i]) == NULL)
            PDR_TRY(PDR_FAIL(err, BAD_KEY_FILE,
                             "line %zu of the file of keys has no '%s'", number,
                             needed[i]));
    }
done:
    pdr_value_free(value);
    return rc;
}

/* --- a file of keys --------------------------------------------------------
 */

static pdr_rc keys_fill(pdr_keys *keys, pdr_str text, pdr_err *err)
{
    size_t lines = 1, number = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    keys->list = pdr__calloc(lines, sizeof(*keys->list));
    if (keys->list == NULL)
        return pdr__nomem(err);
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        pdr_str line = text;
        struct key *key = &keys->list[keys->count];
        void *other = NULL;

        if (end != NULL)
            line.len = (size_t)(end - text.ptr);
        text = pdr_str_n(text.ptr + line.len, text.len - line.len);
        if (end != NULL)
            text = pdr_str_n(end + 1, text.len - 1);
        number++;
        if (pdr__is_blank_text(line))
            continue;
        PDR_TRY(line_read(key, line, number, &keys->memory, err));
        if (pdr__map_get(&other, &keys->by_id, key->public.id))
            PDR_TRY(PDR_FAIL(err, BAD_KEY_FILE,
                             "line %zu of the file of keys has the id of "
                             "another line",
                             number));
        PDR_TRY(pdr__map_put(NULL, &keys->by_id, key->public.id, key, err));
        keys->count++;
    }
done:
    return rc;
}

static pdr_rc keys_parse(pdr_keys **out, pdr_str text, pdr_err *err)
{
    pdr_keys *keys = pdr__calloc(1, sizeof(*keys));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (keys == NULL)
        return pdr__nomem(err);
    keys->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    keys->by_id = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    PDR_TRY(keys_fill(keys, text, err));
    *out = keys;
    keys = NULL;
done:
    pdr_keys_free(keys);
    return rc;
}

static pdr_rc file_fail(pdr_err *err, int sys, const char *verb,
                        const char *path)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    pdr__shown(shown, pdr_str_c(path));
    if (sys == ENOENT)
        rc = PDR_FAIL(err, NO_KEY_FILE, "there is no file of keys '%s'", shown);
    else
        rc = PDR_FAIL(err, FILE_FAILED, "cannot %s '%s': %s", verb, shown,
                      strerror(sys));
    if (err != NULL)
        err->sys = sys;
    return rc;
}

/* What is in the file, appended; `info` tells whose it is. */
static pdr_rc file_read(pdr_buf *out, struct stat *info, const char *path,
                        pdr_err *err)
{
    /* A pipe in the place of the file would not let us open it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char part[4096], shown[PDR_SHOWN];
    ssize_t got = 0;
    pdr_rc rc = PDR_OK;

    pdr__shown(shown, pdr_str_c(path));
    if (fd < 0 || fstat(fd, info) != 0) {
        rc = file_fail(err, errno, "open", path);
        goto done;
    }
    if (!S_ISREG(info->st_mode))
        PDR_TRY(PDR_FAIL(err, BAD_KEY_FILE, "'%s' is not a plain file", shown));
    if ((info->st_mode & 077) != 0)
        PDR_TRY(PDR_FAIL(err, UNSAFE_FILE,
                         "others may read or write the keys '%s'; take that "
                         "right away (chmod 600)",
                         shown));
    do {
        got = read(fd, part, sizeof(part));
        if (got < 0 && errno != EINTR)
            PDR_TRY(file_fail(err, errno, "read", path));
        if (got > 0 && out->len + (size_t)got > PDR_MAX_KEYS_BYTES)
            PDR_TRY(PDR_FAIL(err, BAD_KEY_FILE, "'%s' has more than %zu bytes",
                             shown, PDR_MAX_KEYS_BYTES));
        if (got > 0)
            PDR_TRY(pdr_buf_append(out, pdr_str_n(part, (size_t)got), err));
    } while (got != 0);
done:
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

pdr_rc pdr_keys_read(pdr_keys **out, const char *path, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct stat info;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && path != NULL);
    *out = NULL;
    PDR_TRY(file_read(&text, &info, path, err));
    PDR_TRY(keys_parse(out, pdr_buf_str(&text), err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

void pdr_keys_free(pdr_keys *keys)
{
    if (keys == NULL)
        return;
    pdr__map_dispose(&keys->by_id);
    pdr__free(keys->list);
    pdr__arena_dispose(&keys->memory);
    pdr__free(keys);
}

size_t pdr_keys_count(const pdr_keys *keys)
{
    return keys->count;
}

const pdr_key *pdr_keys_at(const pdr_keys *keys, size_t index)
{
    return index < keys->count ? &keys->list[index].public : NULL;
}

const pdr_key *pdr__keys_get(const pdr_keys *keys, pdr_str id)
{
    void *found = NULL;

    return pdr__map_get(&found, &keys->by_id, id)
               ? &((struct key *)found)->public
               : NULL;
}

/* Whose digest is compared if there is no such key (K1). */
static const struct key nobody;

static const struct key *key_or_nobody(const pdr_keys *keys, pdr_str id)
{
    void *found = NULL;

    return pdr__map_get(&found, &keys->by_id, id) ? found : &nobody;
}

pdr_rc pdr__keys_find(const pdr_key **out, const pdr_keys *keys, pdr_str text,
                      pdr_err *err)
{
    const size_t skip = sizeof(PREFIX) - 1;
    uint8_t digest[PDR_SHA256_BYTES];
    const struct key *key = NULL;
    const char *mark = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (text.len <= skip || memcmp(text.ptr, PREFIX, skip) != 0)
        return PDR_OK;
    text = pdr_str_n(text.ptr + skip, text.len - skip);
    mark = memchr(text.ptr, '_', text.len);
    if (mark == NULL)
        return PDR_OK;
    PDR_TRY(pdr__sha256(
        digest, pdr_str_n(mark + 1, text.len - (size_t)(mark + 1 - text.ptr)),
        err));
    key = key_or_nobody(keys, pdr_str_n(text.ptr, (size_t)(mark - text.ptr)));
    if (pdr__same_secret(digest, key->digest, sizeof(digest)) &&
        key != &nobody) /* K1: in this order */
        *out = &key->public;
done:
    return rc;
}

/* --- cookies ---------------------------------------------------------------
 */

/* Of "ID.UNTIL". */
static pdr_rc cookie_sign(uint8_t mac[PDR_SHA256_BYTES], const struct key *key,
                          pdr_str text, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&bytes, err, COOKIE_USE "%.*s", (int)text.len,
                           text.ptr));
    PDR_TRY(pdr__hmac_sha256(
        mac, pdr_str_n((const char *)key->digest, sizeof(key->digest)),
        pdr_buf_str(&bytes), err));
done:
    pdr_buf_dispose(&bytes);
    return rc;
}

pdr_rc pdr__cookie_write(pdr_buf *out, const pdr_keys *keys, pdr_str id,
                         int64_t until_s, pdr_err *err)
{
    const struct key *key = key_or_nobody(keys, id);
    const size_t before = out->len;
    uint8_t mac[PDR_SHA256_BYTES];
    char hex[2 * PDR_SHA256_BYTES + 1];
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(out, err, "%.*s.%" PRId64, (int)id.len, id.ptr,
                           until_s));
    PDR_TRY(cookie_sign(mac, key,
                        pdr_str_n(out->ptr + before, out->len - before), err));
    pdr__hex(hex, mac, sizeof(mac));
    rc = pdr_buf_printf(out, err, ".%s", hex);
done:
    if (rc != PDR_OK)
        out->len = before;
    return rc;
}

pdr_rc pdr__cookie_find(const pdr_key **out, int64_t *until_s,
                        const pdr_keys *keys, pdr_str text, int64_t now_s,
                        pdr_err *err)
{
    const char *second = text.len > 0 ? memrchr(text.ptr, '.', text.len) : NULL;
    const char *first = text.len > 0 ? memchr(text.ptr, '.', text.len) : NULL;
    uint8_t said[PDR_SHA256_BYTES], mac[PDR_SHA256_BYTES];
    const struct key *key = NULL;
    uint64_t until = 0;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (first == second || text.len > MAX_COOKIE ||
        !pdr__number_read(&until,
                          pdr_str_n(first + 1, (size_t)(second - first - 1))) ||
        !digest_read(
            said,
            pdr_str_n(second + 1, text.len - (size_t)(second + 1 - text.ptr))))
        return PDR_OK;
    key = key_or_nobody(keys, pdr_str_n(text.ptr, (size_t)(first - text.ptr)));
    PDR_TRY(cookie_sign(mac, key,
                        pdr_str_n(text.ptr, (size_t)(second - text.ptr)), err));
    if (pdr__same_secret(mac, said, sizeof(mac)) && key != &nobody &&
        until > (uint64_t)now_s && until <= INT64_MAX / 1000) {
        *until_s = (int64_t)until;
        *out = &key->public;
    }
done:
    return rc;
}

/* --- changes ---------------------------------------------------------------
 */

/* A file that is about to take the place of another. */
struct change {
    pdr_buf real, beside; /* paths, with a final NUL */
    int fd;               /* of `beside`, locked; -1: none */
    int folder;           /* that both are in; -1 */
    struct stat info;     /* of the file that is there; st_mode 0: none */
    pdr_keys *keys;       /* owned; what is there */
    pdr_buf text;         /* what will be */
};

#define CHANGE_INIT                                                        \
    {                                                                      \
        PDR_BUF_INIT(SIZE_MAX), PDR_BUF_INIT(SIZE_MAX), -1, -1, {0}, NULL, \
            PDR_BUF_INIT(PDR_MAX_KEYS_BYTES)                               \
    }

static void change_dispose(struct change *c)
{
    if (c->fd >= 0) {
        (void)unlink(c->beside.ptr);
        (void)close(c->fd);
    }
    if (c->folder >= 0)
        (void)close(c->folder);
    pdr_keys_free(c->keys);
    pdr_buf_dispose(&c->real);
    pdr_buf_dispose(&c->beside);
    pdr_buf_dispose(&c->text);
}

/* Where the file is, should the path be a link; and beside it. */
static pdr_rc change_name(struct change *c, const char *path, pdr_err *err)
{
    char real[PATH_BYTES], *slash = NULL;
    const bool is_there = realpath(path, real) != NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&c->real, err, "%s%c", is_there ? real : path, 0));
    PDR_TRY(pdr_buf_printf(&c->beside, err, "%s.new%c", c->real.ptr, 0));
    slash = strrchr(c->real.ptr, '/');
    if (slash != NULL)
        *slash = '\0';
    c->folder = open(slash == NULL          ? "."
                     : slash == c->real.ptr ? "/"
                                            : c->real.ptr,
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (slash != NULL)
        *slash = '/';
    if (c->folder < 0)
        rc = file_fail(err, errno, "open the folder of", path);
done:
    return rc;
}

/* Be the only one who changes the file (K2), and read it. */
static pdr_rc change_begin(struct change *c, const char *path, bool may_miss,
                           pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err why = PDR_ERR_INIT;
    struct stat held, there;
    pdr_rc rc = PDR_OK;

    PDR_TRY(change_name(c, path, err));
    while (c->fd < 0) {
        int fd = open(c->beside.ptr, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                      0600);

        if (fd < 0)
            PDR_TRY(file_fail(err, errno, "make", c->beside.ptr));
        if (flock(fd, LOCK_EX) == 0 && fstat(fd, &held) == 0 &&
            lstat(c->beside.ptr, &there) == 0 && held.st_ino == there.st_ino &&
            held.st_dev == there.st_dev)
            c->fd = fd;
        else
            (void)close(fd); /* it was renamed while we waited */
    }
    if (ftruncate(c->fd, 0) != 0 || fchmod(c->fd, 0600) != 0)
        PDR_TRY(file_fail(err, errno, "write", c->beside.ptr));
    rc = file_read(&text, &c->info, path, &why);
    if (rc == PDR_ENOTFOUND && may_miss) {
        memset(&c->info, 0, sizeof(c->info));
        rc = PDR_OK;
    } else if (rc != PDR_OK) {
        (void)pdr__err_pass(err, &why);
        goto done;
    }
    PDR_TRY(keys_parse(&c->keys, pdr_buf_str(&text), err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc change_end(struct change *c, pdr_err *err)
{
    const char *path = c->beside.ptr;
    char shown[PDR_SHOWN];
    size_t at = 0;
    pdr_rc rc = PDR_OK;

    /* Root must not take the file away from whose it is. */
    if (c->info.st_mode != 0 && c->info.st_uid != geteuid() &&
        fchown(c->fd, c->info.st_uid, c->info.st_gid) != 0)
        PDR_TRY(file_fail(err, errno, "give away", path));
    while (at < c->text.len) {
        ssize_t put = write(c->fd, c->text.ptr + at, c->text.len - at);

        if (put < 0 && errno != EINTR)
            PDR_TRY(file_fail(err, errno, "write", path));
        at += put > 0 ? (size_t)put : 0;
    }
    if (fsync(c->fd) != 0 || rename(path, c->real.ptr) != 0)
        PDR_TRY(file_fail(err, errno, "write", path));
    (void)close(c->fd);
    c->fd = -1;
    if (fsync(c->folder) != 0)
        rc = PDR_FAIL(err, SYNC_FAILED,
                      "'%s' was changed, and may not be after a loss of power",
                      pdr__shown(shown, pdr_str_c(c->real.ptr)));
done:
    return rc;
}

static pdr_rc line_copy(struct change *c, pdr_str line, pdr_err *err)
{
    pdr_rc rc = pdr_buf_append(&c->text, line, err);

    if (rc == PDR_OK)
        rc = pdr_buf_append(&c->text, PDR_LIT("\n"), err);
    return rc;
}

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

static pdr_rc line_write(struct change *c, const pdr_key *key,
                         const char *digest, pdr_err *err)
{
    pdr_datetime now =
        pdr_datetime_utc(pdr__now_ticks(pdr__clock_system()) /
                         PDR_TICKS_PER_SECOND * PDR_TICKS_PER_SECOND);
    pdr_buf date = PDR_BUF_INIT(64);
    pdr_builder *to = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_datetime_write(&date, &now, PDR_DATETIME_OURS_Z, err));
    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    put_text(to, "id", key->id);
    put_text(to, "sha256", pdr_str_c(digest));
    pdr_builder_name(to, PDR_LIT("scopes"));
    pdr_builder_array(to);
    for (size_t i = 0; i < PDR_COUNT(scopes); i++) {
        if ((key->scopes & scopes[i].scope) != 0)
            pdr_builder_string(to, pdr_str_c(scopes[i].name));
    }
    pdr_builder_end(to);
    put_text(to, "tenant", key->tenant);
    put_text(to, "created", pdr_buf_str(&date));
    if (key->note.ptr != NULL)
        put_text(to, "note", key->note);
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&value, to, err));
    PDR_TRY(pdr_json_write(&c->text, value, NULL, err));
    rc = line_copy(c, PDR_LIT(""), err);
done:
    pdr_value_free(value);
    pdr_builder_free(to);
    pdr_buf_dispose(&date);
    return rc;
}

pdr_rc pdr_key_create(pdr_buf *out, const char *path, const pdr_key *key,
                      pdr_err *err)
{
    struct change c = CHANGE_INIT;
    pdr_key made = *key;
    pdr_ref ref = {key->tenant, PDR_LIT("x")};
    uint8_t drawn[SECRET_BYTES + ID_BYTES], digest[PDR_SHA256_BYTES];
    char id[2 * ID_BYTES + 1], hex[2 * PDR_SHA256_BYTES + 1];
    pdr_buf secret = PDR_BUF_INIT(256);
    const size_t before = out->len;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(path != NULL);
    if ((key->scopes & 15u) == 0 || key->scopes > 15u)
        return PDR_FAIL(err, BAD_OPTION, "%s", "a key has a scope or more");
    PDR_TRY(pdr__ref_check(&ref, &ref, err));
    made.tenant = ref.tenant;
    PDR_TRY(pdr__rand_fill(drawn, pdr__rand_system(), sizeof(drawn), err));
    pdr__hex(id, drawn + SECRET_BYTES, ID_BYTES);
    made.id = pdr_str_c(id);
    PDR_TRY(pdr__base64_encode(&secret, pdr_str_n((char *)drawn, SECRET_BYTES),
                               PDR_BASE64_URL, false, err));
    PDR_TRY(pdr__sha256(digest, pdr_buf_str(&secret), err));
    pdr__hex(hex, digest, sizeof(digest));
    PDR_TRY(change_begin(&c, path, true, err));
    for (size_t i = 0; i < c.keys->count; i++)
        PDR_TRY(line_copy(&c, c.keys->list[i].line, err));
    PDR_TRY(line_write(&c, &made, hex, err));
    /* First, so that no key is in the file that could not be shown. */
    PDR_TRY(pdr_buf_printf(out, err, PREFIX "%s_%.*s", id, (int)secret.len,
                           secret.ptr));
    rc = change_end(&c, err);
done:
    if (rc != PDR_OK && rc != PDR_EUNKNOWN)
        out->len = before;
    explicit_bzero(drawn, sizeof(drawn));
    if (secret.ptr != NULL)
        explicit_bzero(secret.ptr, secret.len);
    pdr_buf_dispose(&secret);
    change_dispose(&c);
    return rc;
}

pdr_rc pdr_key_revoke(const char *path, pdr_str id, pdr_err *err)
{
    struct change c = CHANGE_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(path != NULL);
    PDR_TRY(change_begin(&c, path, false, err));
    if (pdr__keys_get(c.keys, id) == NULL)
        PDR_TRY(PDR_FAIL(err, NO_KEY, "there is no key with the id '%s'",
                         pdr__shown(shown, id)));
    for (size_t i = 0; i < c.keys->count; i++) {
        if (!pdr_str_equal(c.keys->list[i].public.id, id))
            PDR_TRY(line_copy(&c, c.keys->list[i].line, err));
    }
    rc = change_end(&c, err);
done:
    change_dispose(&c);
    return rc;
}
