/*
 * store.c - which store a verb is about, and what to do about a failure.
 *
 * A bare path is a file of SQLite and taken as it is, so it is escaped where a
 * URI is made of it. Verbs that only read open a store for reading only: they
 * need no right to write, and leave the file as it is.
 */
#include "store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME "sqlite:"

/* --- where it is --------------------------------------------------------- */

/* The data folder is where the XDG Base Directory Specification has it; a
 * relative path in the variable does not count there. */
bool sto_use_default(struct sto_from *s)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int len = -1;

    if (data != NULL && data[0] == '/')
        len = snprintf(s->path, sizeof(s->path), "%s/perdure/perdure.db", data);
    else if (home != NULL && home[0] == '/')
        len = snprintf(s->path, sizeof(s->path),
                       "%s/.local/share/perdure/perdure.db", home);
    if (len < 0 || (size_t)len >= sizeof(s->path))
        return false;
    s->uri = s->path;
    s->is_default = true;
    return true;
}

bool sto_find_default(struct sto_from *s)
{
    struct stat info;

    if (sto_use_default(s) && stat(s->path, &info) == 0)
        return true;
    s->uri = NULL;
    s->is_default = false;
    return false;
}

int sto_from_check(struct cli *cli, struct sto_from *s)
{
    if (s->word != NULL && s->uri != NULL)
        return doc_usage(cli, "STORE and --store",
                         "only one of them can be given", "");
    if (s->word != NULL)
        s->uri = s->word;
    if (s->uri == NULL && !sto_use_default(s))
        return doc_usage(cli, "STORE", "an argument is missing",
                         "there is no data folder either: neither HOME nor "
                         "XDG_DATA_HOME is set");
    return 0;
}

const char *sto_name(const struct sto_from *s)
{
    return s->uri;
}

const char *sto_tenant(const struct sto_from *s)
{
    return s->tenant != NULL ? s->tenant : PDR_DEFAULT_TENANT;
}

pdr_ref sto_ref(const struct sto_from *s, const char *id)
{
    return (pdr_ref){pdr_str_c(sto_tenant(s)), pdr_str_c(id)};
}

/* --- opening ------------------------------------------------------------- */

bool sto_has_scheme(const char *text)
{
    size_t len = 0;

    while ((text[len] >= 'a' && text[len] <= 'z') ||
           (len > 0 && text[len] >= '0' && text[len] <= '9'))
        len++;
    return len > 0 && text[len] == ':';
}

static void put_escaped(pdr_buf *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr("%?&=#", *at) != NULL)
            cli_putf(out, "%%%02X", (unsigned)(unsigned char)*at);
        else
            cli_putf(out, "%c", *at);
    }
}

static void put_parameter(pdr_buf *out, const char *uri, const char *name,
                          const char *value)
{
    char begin[16];

    snprintf(begin, sizeof(begin), "%s=", name);
    for (const char *at = strchr(uri, '?'); at != NULL; at = strchr(at, '&')) {
        at++;
        if (strncmp(at, begin, strlen(begin)) == 0)
            return; /* the URI says it */
    }
    cli_putf(out, "%s%s", memchr(out->ptr, '?', out->len) != NULL ? "&" : "?",
             begin);
    put_escaped(out, value);
}

void sto_put_uri(pdr_buf *out, const struct sto_from *s, const char *mode)
{
    bool is_uri = sto_has_scheme(s->uri);
    bool is_ours = strncmp(s->uri, SCHEME, strlen(SCHEME)) == 0;

    if (is_uri)
        cli_put(out, s->uri);
    else
        cli_put(out, SCHEME);
    if (!is_uri)
        put_escaped(out, s->uri);
    if (!is_uri || is_ours) {
        put_parameter(out, is_uri ? s->uri : "", "mode", mode);
        if (s->key != NULL)
            put_parameter(out, is_uri ? s->uri : "", "key", s->key);
    }
    cli_must(pdr_buf_append(out, pdr_str_n("", 1), NULL), NULL);
}

void sto_shorten(pdr_err *err)
{
    static const char lead[] = "store '", middle[] = "': ";
    const char *end = strstr(err->message, middle);

    if (strcmp(err->reason, "no_store") == 0)
        pdr_err_set(err, err->code, "no_store", "there is no such store");
    else if (strncmp(err->message, lead, strlen(lead)) == 0 && end != NULL)
        memmove(err->message, end + strlen(middle),
                strlen(end + strlen(middle)) + 1);
}

/* The folder of a path, ended by NUL. */
static void folder_of(char *out, size_t cap, const char *path)
{
    char *slash = NULL;

    snprintf(out, cap, "%s", path);
    slash = strrchr(out, '/');
    if (slash == NULL)
        snprintf(out, cap, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

/* Which folder is missing: the first one, from the left. */
static pdr_rc no_folder(const struct sto_from *s, pdr_rc rc, pdr_err *err)
{
    char folder[sizeof(s->path)], above[sizeof(s->path)];
    struct stat info;

    folder_of(folder, sizeof(folder), s->uri);
    if (stat(folder, &info) == 0)
        return rc;
    for (;;) {
        folder_of(above, sizeof(above), folder);
        if (strcmp(above, folder) == 0 || stat(above, &info) == 0)
            break;
        snprintf(folder, sizeof(folder), "%s", above);
    }
    return pdr_err_set(err, rc, "no_parent",
                       "there is no folder '%.160s'; make it first", folder);
}

/* A right that is missing; `folder`: to that of the store. */
static pdr_rc no_right(const char *folder, const char *what, pdr_err *err)
{
    if (folder == NULL)
        return pdr_err_set(err, PDR_EDENIED, "no_right", "%s", what);
    return pdr_err_set(err, PDR_EDENIED, "no_right", "%s '%.160s'", what,
                       folder);
}

/* A failure of the system, of which the library does not know why: does the
 * user lack a right to the file or, of a new one, to its folder? */
static pdr_rc check_rights(const struct sto_from *s, const char *mode,
                           pdr_rc rc, pdr_err *err)
{
    char folder[sizeof(s->path)];
    struct stat info;

    folder_of(folder, sizeof(folder), s->uri);
    if (stat(s->uri, &info) != 0) {
        if (errno == EACCES || access(folder, X_OK) != 0)
            return no_right(folder, "you may not look into the folder", err);
        if (strcmp(mode, "rwc") == 0 && access(folder, W_OK) != 0)
            return no_right(folder, "you may not make a file in the folder",
                            err);
        return rc;
    }
    return access(s->uri, R_OK) != 0
               ? no_right(NULL, "you may not read it", err)
               : rc;
}

/* May it be read, but not written, as the verb is about to? SQLite would open
 * it for reading, and fail later. */
static bool is_sealed(const struct sto_from *s, const char *mode)
{
    return strcmp(mode, "ro") != 0 && !sto_has_scheme(s->uri) &&
           access(s->uri, R_OK) == 0 && access(s->uri, W_OK) != 0;
}

/* The library knows a path, and not what the user meant by it. */
static pdr_rc explain(const struct sto_from *s, const char *mode, pdr_rc rc,
                      pdr_err *err)
{
    sto_shorten(err);
    if (sto_has_scheme(s->uri))
        return rc;
    if (strcmp(err->reason, "no_parent") == 0)
        return no_folder(s, rc, err);
    return rc == PDR_EIO ? check_rights(s, mode, rc, err) : rc;
}

/* Is it a URI that somebody forgot the scheme of? A file may be called so. */
static bool has_parameters(const struct sto_from *s)
{
    static const char *const begins[] = {
        "?mode=", "?key=", "?sums=", "?vfs=", "?secure_delete="};
    bool found = false;

    for (size_t i = 0; i < CLI_COUNT(begins); i++)
        found = found || strstr(s->uri, begins[i]) != NULL;
    return found && !sto_has_scheme(s->uri) && access(s->uri, F_OK) != 0;
}

pdr_rc sto_open(pdr_store **out, const struct sto_from *s, const char *mode,
                pdr_err *err)
{
    pdr_buf uri = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (has_parameters(s))
        return pdr_err_set(err, PDR_EINVALID, "bare_path",
                           "a path has no parameters behind '?'");
    if (is_sealed(s, mode))
        return no_right(NULL, "you may read it, but not write it", err);
    sto_put_uri(&uri, s, mode);
    rc = pdr_store_open(out, uri.ptr, err);
    if (rc == PDR_ENOTFOUND && strcmp(mode, "rwc") == 0 &&
        strcmp(err->reason, "no_store") == 0)
        err->reason = "no_parent"; /* the message says what is missing */
    if (rc != PDR_OK)
        rc = explain(s, mode, rc, err);
    pdr_buf_dispose(&uri);
    return rc;
}

/* The file of a store, as far as its name tells. */
static bool find_file(struct stat *out, const struct sto_from *s)
{
    const char *path = s->uri;
    char name[sizeof(s->path)];

    if (!sto_has_scheme(path))
        return stat(path, out) == 0;
    if (strncmp(path, SCHEME, strlen(SCHEME)) != 0)
        return false;
    snprintf(name, sizeof(name), "%s", path + strlen(SCHEME));
    name[strcspn(name, "?")] = '\0';
    return stat(name, out) == 0;
}

bool sto_is_same(const struct sto_from *a, const struct sto_from *b)
{
    struct stat one, other;

    return find_file(&one, a) && find_file(&other, b) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

pdr_rc sto_check_lasting(pdr_store *store, pdr_err *err)
{
    pdr_store_info info = {.backend = NULL};
    pdr_rc rc = pdr_store_info_get(&info, store, err);

    if (rc == PDR_OK && (info.capabilities & PDR_CAN_PERSIST) == 0)
        rc = pdr_err_set(err, PDR_EUNSUPPORTED, "no_file",
                         "such a store is gone when it is closed");
    return rc;
}

/* --- failures ------------------------------------------------------------ */

#define VERIFY "'perdure store verify' names every row that is damaged"

/* Which option it is depends on the verb. */
static const char *key_hint(char out[STO_HINT_MAX], const struct sto_from *s,
                            const pdr_err *err)
{
    const char *option = s->key_option != NULL ? s->key_option : "--key";

    if (strcmp(err->reason, "no_key_file") == 0)
        snprintf(out, STO_HINT_MAX, "check the name that %s gives",
                 s->key != NULL ? option : "key=");
    else if (s->key == NULL)
        snprintf(out, STO_HINT_MAX, "%s FILE names the file with its key",
                 option);
    else
        snprintf(out, STO_HINT_MAX,
                 "%s names the file with its key; a store without one is "
                 "named without %s",
                 option, option);
    return out;
}

/* Could there be a store of this name? */
static bool can_be_made(const struct sto_from *s)
{
    static const char *const ends[] = {"-wal", "-shm", "-lock", "-journal",
                                       "-unfinished"};
    size_t len = strlen(s->uri);
    char folder[sizeof(s->path)];

    for (size_t i = 0; i < CLI_COUNT(ends); i++) {
        size_t end = strlen(ends[i]);

        if (len >= end && strcmp(s->uri + len - end, ends[i]) == 0)
            return false;
    }
    folder_of(folder, sizeof(folder), s->uri);
    return s->is_default || sto_has_scheme(s->uri) || access(folder, F_OK) == 0;
}

const char *sto_hint(char out[STO_HINT_MAX], const struct sto_from *s,
                     const pdr_err *err)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"not_a_store", "nothing was changed; name a store of perdure"},
        {"store_locked", "nothing was changed; try again when the other "
                         "process is done"},
        {"writer_busy", "nothing was changed; try again"},
        {"lease_held", "nothing was changed; somebody is at work on it"},
        {"revision_changed", "nothing was written; look at it again, then "
                             "repeat"},
        {"epoch_changed", "nothing was written; look at it again, then "
                          "repeat"},
        {"session_changed", "somebody keeps on writing; try again"},
        {"bad_cursor", "a cursor goes on with the list that it came from: the "
                       "same tenant and filters"},
        {"bag_sealed", "nothing was changed; export it, make a session of it "
                       "with 'perdure session convert', and import that with "
                       "--replace"},
        {"read_only", "name it without mode=ro"},
        {"bad_digest", VERIFY},
        {"broken_chain", VERIFY},
        {"wrong_count", VERIFY},
        {"store_damaged", VERIFY},
        {"no_file", "name a file"},
        {"no_right", "nothing was changed; ask whoever it belongs to"},
        {"in_doubt", "look whether the change is there before you repeat it"},
    };
    char uri[CLI_WORD_MAX], tenant[CLI_WORD_MAX];

    if (strcmp(err->reason, "bare_path") == 0) {
        snprintf(out, STO_HINT_MAX,
                 "a URI begins with its scheme: " SCHEME "%s",
                 cli_word(uri, s->uri, "FILE?PARAMETER"));
        return out;
    }
    if (strcmp(err->reason, "no_store") == 0 && !can_be_made(s))
        return "check the name";
    if (strcmp(err->reason, "no_store") == 0) {
        snprintf(out, STO_HINT_MAX,
                 "check the name; 'perdure store init%s%s' makes one",
                 s->is_default ? "" : " ",
                 s->is_default ? "" : cli_word(uri, s->uri, "STORE"));
        return out;
    }
    if (strcmp(err->reason, "no_session") == 0) {
        snprintf(out, STO_HINT_MAX,
                 "'perdure session list --store %s%s%s' shows what is there",
                 cli_word(uri, s->uri, "STORE"),
                 s->tenant != NULL ? " --tenant " : "",
                 s->tenant != NULL ? cli_word(tenant, s->tenant, "TENANT")
                                   : "");
        return out;
    }
    if (strcmp(err->reason, "wrong_key") == 0 ||
        strcmp(err->reason, "no_key_file") == 0)
        return key_hint(out, s, err);
    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, err->reason) == 0)
            return hints[i].hint;
    return NULL;
}

int sto_fail(const struct cli *cli, const struct sto_from *s,
             const pdr_err *err)
{
    char room[STO_HINT_MAX];
    struct cli_about about = {.name = sto_name(s),
                              .hint = sto_hint(room, s, err)};

    return cli_fail(cli, &about, err);
}

/* --- times --------------------------------------------------------------- */

int64_t sto_now_ms(void)
{
    return (pdr_now() - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
}

/* Times of a store are any number; years end with 9999. */
static bool is_date(int64_t ms)
{
    return ms >= -PDR_TICKS_UNIX_EPOCH / PDR_TICKS_PER_MS &&
           ms <= (PDR_MAX_TICKS - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
}

static void put_time(pdr_buf *out, int64_t ms)
{
    pdr_datetime when;
    pdr_err err = PDR_ERR_INIT;

    if (!is_date(ms)) {
        cli_putf(out, "%jd ms", (intmax_t)ms);
        return;
    }
    when = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH + ms * PDR_TICKS_PER_MS);
    cli_must(pdr_datetime_write(out, &when, PDR_DATETIME_OURS_Z, &err), &err);
}

const char *sto_time(char *out, int64_t ms)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    if (ms == PDR_NEVER)
        return "never";
    if (ms == PDR_NO_TIME)
        return "";
    if (is_date(ms))
        ms -= ((ms % 1000) + 1000) % 1000;
    put_time(&text, ms);
    snprintf(out, 40, "%.*s", (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
    return out;
}

void sto_member_time(pdr_builder *to, const char *name, int64_t ms)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    if (ms == PDR_NEVER || ms == PDR_NO_TIME)
        return;
    put_time(&text, ms);
    cli_member_text(to, name, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

bool sto_age(int64_t *out, const char *text)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000},
                 {'m', 60000},
                 {'h', 3600000},
                 {'d', 86400000},
                 {'w', 604800000}};
    int64_t number = 0;
    size_t digits = 0;

    while (text[digits] >= '0' && text[digits] <= '9' && digits < 10)
        number = number * 10 + (text[digits++] - '0');
    if (digits == 0 || text[digits] == '\0' || text[digits + 1] != '\0')
        return false;
    for (size_t i = 0; i < CLI_COUNT(units); i++) {
        if (units[i].unit != text[digits])
            continue;
        *out = number * units[i].ms;
        return true;
    }
    return false;
}

bool sto_when(int64_t *out, const char *text, int64_t now_ms)
{
    pdr_datetime when;
    int64_t age = 0;

    if (sto_age(&age, text)) {
        *out = now_ms - age;
        return true;
    }
    if (pdr_datetime_read(&when, pdr_str_c(text), NULL) != PDR_OK)
        return false;
    *out = (when.ticks - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    return true;
}
