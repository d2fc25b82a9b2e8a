/*
 * ui.c - the dashboard: its files, which the library brings along, and who is
 * let in.
 *
 *      /  /ui ─► /ui/ ─► index.html, asked for each time
 *                          └─► /ui/HASH/NAME, kept for ever
 *
 * HASH changes with any byte of any file, so a browser never has a page and a
 * script of two versions. Nobody needs a key for these files: they say nothing
 * that the program does not bring to everybody. With a folder (--ui-dir) files
 * are read from there at each request, and HASH is the word "dev".
 *
 * INVARIANTS
 *   U1  What is sent is a file of the table, or a plain file that lies in the
 *       folder itself: a name is one part of a path and has no '/', and links
 *       are not followed.
 *   U2  A page may load nothing but files of this server, and no other page can
 *       frame it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http.h"

#define INDEX       "index.html"
#define HASH_MARK   PDR_LIT("@HASH@")
#define HASH_OF_DIR "dev"

static const struct {
    const char *suffix, *type;
} types[] = {{".html", "text/html; charset=utf-8"},
             {".js", "text/javascript; charset=utf-8"},
             {".css", "text/css; charset=utf-8"},
             {".svg", "image/svg+xml"},
             {".json", PDR_TYPE_JSON},
             {".png", "image/png"},
             {".woff2", "font/woff2"}};

/* NULL: not one of ours. */
static const char *type_of(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(types); i++) {
        pdr_str end = pdr_str_c(types[i].suffix);

        if (name.len > end.len &&
            memcmp(name.ptr + name.len - end.len, end.ptr, end.len) == 0)
            return types[i].type;
    }
    return NULL;
}

static void headers_put(struct pdr__exchange *x, const char *kept)
{
    pdr__reply_header(
        x, "Content-Security-Policy",
        PDR_LIT("default-src 'none'; script-src 'self'; style-src 'self'; "
                "img-src 'self' data:; media-src data:; connect-src 'self'; "
                "font-src 'self'; form-action 'self'; base-uri 'none'; "
                "frame-ancestors 'none'"));
    pdr__reply_header(x, "Cross-Origin-Opener-Policy", PDR_LIT("same-origin"));
    pdr__reply_header(x, "Cache-Control",
                      x->server->opts.ui_dir != NULL ? PDR_LIT("no-store")
                                                     : pdr_str_c(kept));
}

/* --- files -----------------------------------------------------------------
 */

/* One that may be in a folder of files: [a-z0-9._-]+, and not hidden. */
static bool is_file_name(pdr_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' &&
            c != '_' && c != '-')
            return false;
    }
    return name.len > 0 && name.ptr[0] != '.';
}

/* A file of the folder, appended. False in `*is_there`: it has none. */
static pdr_rc disk_read(pdr_buf *out, bool *is_there, const char *folder,
                        pdr_str name, struct pdr__arena *memory, pdr_err *err)
{
    char part[4096], *path = NULL;
    struct stat info;
    ssize_t got = 0;
    int dir = -1, fd = -1;
    pdr_rc rc = PDR_OK;

    *is_there = false;
    if (!is_file_name(name))
        return PDR_OK;
    PDR_TRY(pdr__arena_strndup(&path, memory, name, err));
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) /* U1; a pipe would not let us open it */
        fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        goto done;
    do {
        got = read(fd, part, sizeof(part));
        if (got < 0 && errno != EINTR)
            PDR_TRY(PDR_FAIL(err, FILE_FAILED, "cannot read '%s': %s", path,
                             strerror(errno)));
        if (got > 0)
            PDR_TRY(pdr_buf_append(out, pdr_str_n(part, (size_t)got), err));
    } while (got != 0);
    *is_there = true;
done:
    if (fd >= 0)
        (void)close(fd);
    if (dir >= 0)
        (void)close(dir);
    return rc;
}

/* A file, appended; from where it is. */
static pdr_rc file_read(pdr_buf *out, bool *is_there, struct pdr__exchange *x,
                        pdr_str name, pdr_err *err)
{
    if (x->server->opts.ui_dir != NULL)
        return disk_read(out, is_there, x->server->opts.ui_dir, name,
                         &x->memory, err);
    *is_there = false;
    for (size_t i = 0; i < pdr__web_count && !*is_there; i++) {
        *is_there = pdr_str_equal(name, pdr_str_c(pdr__web[i].name));
        if (*is_there)
            return pdr_buf_append(
                out, pdr_str_n(pdr__web[i].bytes, pdr__web[i].len), err);
    }
    return PDR_OK;
}

static const char *hash_of(const struct pdr__exchange *x)
{
    return x->server->opts.ui_dir != NULL ? HASH_OF_DIR : pdr__web_hash;
}

pdr_rc pdr__ui_folder_check(const char *folder, pdr_err *err)
{
    char shown[PDR_SHOWN];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return PDR_FAIL(err, FILE_FAILED, "cannot open the folder '%s': %s",
                        pdr__shown(shown, pdr_str_c(folder)), strerror(errno));
    (void)close(fd);
    return PDR_OK;
}

/* --- routes ----------------------------------------------------------------
 */

pdr_rc pdr__ui_redirect(struct pdr__exchange *x, pdr_err *err)
{
    (void)err;
    pdr__reply_text(x, 308, PDR_TYPE_TEXT, PDR_LIT("see /ui/\n"));
    pdr__reply_header(x, "Location", PDR_LIT("/ui/"));
    return PDR_OK;
}

pdr_rc pdr__ui_index(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_str hash = pdr_str_c(hash_of(x)), mark = HASH_MARK;
    pdr_buf page = PDR_BUF_INIT(SIZE_MAX);
    char etag[40];
    pdr_str rest = {NULL, 0};
    bool is_there = false;
    pdr_rc rc = PDR_OK;

    (void)snprintf(etag, sizeof(etag), "\"%s\"", hash.ptr);
    headers_put(x, "no-cache");
    if (x->server->opts.ui_dir == NULL) {
        pdr__reply_header(x, "ETag", pdr_str_c(etag));
        if (pdr__etags_have(pdr__header(x, "If-None-Match"), etag, true)) {
            pdr__reply_begin(x, 304, NULL);
            return PDR_OK;
        }
    }
    PDR_TRY(file_read(&page, &is_there, x, PDR_LIT(INDEX), err));
    if (!is_there) {
        pdr__reply_refuse(x, 404,
                          "there is no '" INDEX "' in the folder that "
                          "--ui-dir names");
        goto done;
    }
    rest = pdr_buf_str(&page);
    while (rest.len > 0) {
        const char *at = memmem(rest.ptr, rest.len, mark.ptr, mark.len);
        size_t len = at != NULL ? (size_t)(at - rest.ptr) : rest.len;

        PDR_TRY(pdr_buf_append(&x->reply.body, pdr_str_n(rest.ptr, len), err));
        if (at != NULL) {
            PDR_TRY(pdr_buf_append(&x->reply.body, hash, err));
            len += mark.len;
        }
        rest = pdr_str_n(rest.ptr + len, rest.len - len);
    }
    pdr__reply_begin(x, 200, type_of(PDR_LIT(INDEX)));
done:
    pdr_buf_dispose(&page);
    return rc;
}

pdr_rc pdr__ui_file(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_str name = x->args[1];
    const char *type = type_of(name);
    bool is_there = false;
    pdr_rc rc = PDR_OK;

    if (type != NULL && pdr_str_equal(x->args[0], pdr_str_c(hash_of(x))))
        PDR_TRY(file_read(&x->reply.body, &is_there, x, name, err));
    if (!is_there) {
        pdr__reply_refuse(x, 404,
                          "there is no such file, or not any more: "
                          "load the page again");
        return PDR_OK;
    }
    headers_put(x, "public, max-age=31536000, immutable");
    pdr__reply_begin(x, 200, type);
done:
    return rc;
}

/* --- who is let in ---------------------------------------------------------
 */

static void cookie_put(struct pdr__exchange *x, pdr_str value, int seconds)
{
    const pdr_str outside = pdr__header(x, "X-Forwarded-Proto");
    const bool is_tls =
        outside.len >= 5 && strncasecmp(outside.ptr, "https", 5) == 0;
    char text[256];

    (void)snprintf(text, sizeof(text),
                   PDR_UI_COOKIE "=%.*s; HttpOnly; SameSite=Strict; Path=/; "
                                 "Max-Age=%d%s",
                   (int)value.len, value.ptr, seconds,
                   is_tls ? "; Secure" : "");
    pdr__reply_header(x, "Set-Cookie", pdr_str_c(text));
}

pdr_rc pdr__ui_login(struct pdr__exchange *x, pdr_err *err)
{
    static const char *const known[] = {"key", NULL};
    pdr_buf cookie = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *body = NULL;
    pdr_str key = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__body_read(&body, x, known, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__body_text(&key, x, body, "key", err));
    if (x->reply.status != 0)
        goto done;
    if (key.ptr == NULL) {
        pdr__reply_refuse(x, 400, "the body has no 'key'");
        goto done;
    }
    if (x->server->auth != NULL)
        PDR_TRY(pdr__auth_login(&cookie, x, key, err));
    if (x->reply.status != 0)
        goto done;
    if (cookie.len > 0) /* else nobody needs one */
        cookie_put(x, pdr_buf_str(&cookie), PDR_UI_SECONDS);
    pdr__reply_begin(x, 204, NULL);
done:
    pdr_buf_dispose(&cookie);
    pdr_value_free(body);
    return rc;
}

pdr_rc pdr__ui_logout(struct pdr__exchange *x, pdr_err *err)
{
    (void)err;
    cookie_put(x, PDR_LIT(""), 0);
    pdr__reply_begin(x, 204, NULL);
    return PDR_OK;
}
