/*
 * exchange.c - one request, from its first line to the end of its reply.
 *
 *      target ─► route ─► body ─► step ─┬─► reply
 *                                ▲      │
 *                                └──────┴─ wait
 *
 * INVARIANTS
 *   X1  One thread at a time has an exchange: the library's, one of the pool,
 *       or nobody while it waits.
 *   X2  The target is taken as it came. What is decoded is one part of the
 *       path, so that "%2F" is a character of an id and never a border.
 *   X3  A request whose end two readers could see at two places is refused, and
 *       its connection closed: none of its bytes become another request.
 *
 * NOT HERE  Sockets (glue.c), who does the work (live.c).
 */
#include <stdio.h>

#include "http.h"

#define MAX_PARTS 8 /* of a path; no route has more */

/* --- text of the target ----------------------------------------------------
 */

bool pdr__number_read(uint64_t *out, pdr_str text)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c < '0' || c > '9' || *out > (UINT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(c - '0');
    }
    return text.len > 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = pdr__ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

pdr_str pdr__percent_decode(struct pdr__arena *memory, pdr_str text,
                            bool is_form)
{
    const pdr_str absent = {NULL, 0};
    void *room = NULL;
    char *out = NULL;
    size_t len = 0;

    if (pdr__arena_alloc(&room, memory, text.len + 1, NULL) != PDR_OK)
        return absent;
    out = room;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '%') {
            int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;

            if (low < 0)
                return absent;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_form) {
            c = ' ';
        }
        if (c == '\0')
            return absent;
        out[len++] = c;
    }
    out[len] = '\0';
    if (pdr__utf8_valid_len(pdr_str_n(out, len)) != len)
        return absent;
    return pdr_str_n(out, len);
}

/* The part before the next `mark`; moves on behind it. */
static pdr_str part_next(pdr_str *rest, char mark)
{
    const char *end = memchr(rest->ptr, mark, rest->len);
    pdr_str part = *rest;

    if (end == NULL) {
        *rest = pdr_str_n(NULL, 0);
        return part;
    }
    part.len = (size_t)(end - part.ptr);
    *rest = pdr_str_n(end + 1, rest->len - part.len - 1);
    return part;
}

/* Spaces end a target, and control characters are in none. */
static bool is_target(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7F)
            return false;
    }
    return text.len > 0 && text.ptr[0] == '/';
}

static bool query_split(struct pdr__exchange *x, pdr_str text)
{
    pdr_str rest = text;
    size_t count = 1;
    void *room = NULL;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '&';
    if (pdr__arena_alloc(&room, &x->memory, count * sizeof(*x->query), NULL) !=
        PDR_OK)
        return false;
    x->query = room;
    while (rest.len > 0) {
        pdr_str part = part_next(&rest, '&');
        pdr_str name = part_next(&part, '=');
        struct pdr__param param = {
            pdr__percent_decode(&x->memory, name, true),
            part.ptr != NULL ? pdr__percent_decode(&x->memory, part, true)
                             : PDR_LIT("")};

        if (param.name.ptr == NULL || param.value.ptr == NULL)
            return false;
        if (param.name.len > 0)
            x->query[x->query_count++] = param;
    }
    return true;
}

pdr_str pdr__query_get(const struct pdr__exchange *x, const char *name)
{
    for (size_t i = 0; i < x->query_count; i++) {
        if (pdr_str_equal(x->query[i].name, pdr_str_c(name)))
            return x->query[i].value;
    }
    return pdr_str_n(NULL, 0);
}

/* --- headers ---------------------------------------------------------------
 */

static bool text_folds_to(pdr_str text, pdr_str small)
{
    if (text.len != small.len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (pdr__ascii_lower(text.ptr[i]) != small.ptr[i])
            return false;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

pdr_str pdr__text_trim(pdr_str text)
{
    while (text.len > 0 && is_space(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

bool pdr__is_blank_text(pdr_str text)
{
    return pdr__text_trim(text).len == 0;
}

bool pdr__accepts(const struct pdr__exchange *x, const char *type)
{
    pdr_str rest = pdr__header(x, "Accept");

    while (rest.len > 0) {
        pdr_str one = part_next(&rest, ',');

        if (text_folds_to(pdr__text_trim(part_next(&one, ';')),
                          pdr_str_c(type)))
            return true;
    }
    return false;
}

pdr_rc pdr__media_type(pdr_str *out, struct pdr__exchange *x, pdr_err *err)
{
    pdr_str text = pdr__header(x, "Content-Type");
    char *folded = NULL;
    pdr_rc rc = PDR_OK;

    *out = pdr_str_n(NULL, 0);
    if (text.ptr == NULL)
        return PDR_OK;
    text = pdr__text_trim(part_next(&text, ';'));
    PDR_TRY(pdr__arena_strndup(&folded, &x->memory, text, err));
    for (size_t i = 0; i < text.len; i++)
        folded[i] = pdr__ascii_lower(folded[i]);
    *out = pdr_str_n(folded, text.len);
done:
    return rc;
}

/* Can it be said where the request ends (X3)? The library takes the last of
 * two lengths, and a length beside an encoding; a proxy may not. */
static bool has_one_end(const struct pdr__exchange *x,
                        const struct pdr__framing *f)
{
    pdr_str length = {NULL, 0};

    if (f->is_odd)
        return false;
    if (f->lengths + f->encodings == 0)
        return true;
    if (f->lengths + f->encodings > 1)
        return false;
    length = pdr__header(x, "Content-Length");
    for (size_t i = 0; i < length.len; i++) {
        if (length.ptr[i] < '0' || length.ptr[i] > '9')
            return false;
    }
    if (f->lengths == 1 && (length.len == 0 || length.len > 18))
        return false;
    return f->encodings == 0 ||
           text_folds_to(pdr__header(x, "Transfer-Encoding"),
                         PDR_LIT("chunked"));
}

/* Is it meant for us? A page of a stranger whose name was made to lead here
 * sends its own name. */
static bool host_is_ours(const struct pdr__exchange *x,
                         const struct pdr__framing *f)
{
    static const char *const usual[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *const *hosts = x->server->opts.hosts;
    pdr_str host = pdr__header(x, "Host");
    const char *port = NULL;

    if (x->is_local) /* a unix socket: whoever may open it, may */
        return true;
    if (f->hosts != 1)
        return false;
    if (x->is_open && (hosts == NULL || *hosts == NULL))
        return true; /* a page of a stranger has no key */
    host = pdr__text_trim(host);
    port = host.len > 0 ? memrchr(host.ptr, ':', host.len) : NULL;
    if (port != NULL &&
        memchr(port, ']', host.len - (size_t)(port - host.ptr)) == NULL)
        host.len = (size_t)(port - host.ptr);
    for (size_t i = 0; i < PDR_COUNT(usual); i++) {
        if (text_folds_to(host, pdr_str_c(usual[i])))
            return true;
    }
    for (; hosts != NULL && *hosts != NULL; hosts++) {
        if (text_folds_to(host, pdr_str_c(*hosts)))
            return true;
    }
    return false;
}

bool pdr__origin_check(struct pdr__exchange *x)
{
    const pdr_str host = pdr__text_trim(pdr__header(x, "Host"));
    pdr_str origin = pdr__header(x, "Origin");
    const char *mark = origin.ptr != NULL ? strstr(origin.ptr, "://") : NULL;
    bool is_ours = origin.ptr == NULL; /* not a browser, or not a page */

    if (x->verb == PDR_VERB_GET) /* changes nothing, and cannot be read */
        return true;
    if (mark != NULL) {
        origin = pdr__text_trim(pdr_str_c(mark + 3));
        is_ours = origin.len > 0 && origin.len == host.len &&
                  strncasecmp(origin.ptr, host.ptr, host.len) == 0;
    }
    if (is_ours &&
        !text_folds_to(pdr__header(x, "Sec-Fetch-Site"), PDR_LIT("cross-site")))
        return true;
    pdr__reply_refuse(x, 403,
                      "a page of another origin may not do this: the header "
                      "Origin has to name the same host and port as Host");
    return false;
}

/* --- routes ----------------------------------------------------------------
 */

/* Does the path fit? Variables go to `args`, not decoded. */
static bool path_fits(pdr_str args[PDR_ROUTE_ARGS], const char *pattern,
                      const pdr_str *parts, size_t count)
{
    pdr_str rest = pdr_str_c(pattern);
    size_t at = 0, arg = 0;

    while (rest.ptr != NULL) {
        pdr_str want = part_next(&rest, '/');

        if (at == count)
            return false;
        if (want.len > 0 && want.ptr[0] == '{')
            args[arg++] = parts[at];
        else if (!pdr_str_equal(want, parts[at]))
            return false;
        at++;
    }
    return at == count;
}

static const char *const verb_names[PDR_VERB_COUNT] = {"GET", "POST", "PUT",
                                                       "PATCH", "DELETE"};

/* The route; NULL: none. `allowed` gets the methods that the path has. */
static const struct pdr__route *route_find(struct pdr__exchange *x,
                                           pdr_str path, pdr_buf *allowed,
                                           bool knows_verb)
{
    pdr_str base = x->server->base, parts[MAX_PARTS], below = path;
    const struct pdr__route *found = NULL;
    bool is_below = path.len >= base.len &&
                    memcmp(path.ptr, base.ptr, base.len) == 0 &&
                    (path.len == base.len || path.ptr[base.len] == '/');

    if (is_below)
        below = pdr_str_n(path.ptr + base.len, path.len - base.len);
    for (size_t i = 0; i < pdr__route_count() && found == NULL; i++) {
        const struct pdr__route *route = pdr__route_at(i);
        pdr_str rest = route->has_base ? below : path, args[PDR_ROUTE_ARGS];
        size_t count = 0;

        if ((route->has_base && !is_below) || rest.len < 1)
            continue;
        rest = pdr_str_n(rest.ptr + 1, rest.len - 1);
        while (rest.ptr != NULL && count < MAX_PARTS)
            parts[count++] = part_next(&rest, '/');
        memset(args, 0, sizeof(args));
        if (rest.ptr != NULL || !path_fits(args, route->path, parts, count))
            continue;
        if (knows_verb && route->verb == x->verb) {
            found = route;
            memcpy(x->args, args, sizeof(args));
        } else {
            (void)!pdr_buf_printf(allowed, NULL, "%s%s",
                                  allowed->len > 0 ? ", " : "",
                                  verb_names[route->verb]);
        }
    }
    return found;
}

/* Refuse it. Whoever sends what is malformed, or is not for us, may mean
 * another request by the bytes that follow. */
static bool begin_refuse(struct pdr__exchange *x, unsigned status,
                         const char *text)
{
    pdr__reply_refuse(x, status, text);
    x->reply.closes = status == 400 || status == 421;
    return false;
}

/* The variables of the path. A browser takes "." and ".." for folders, however
 * they are spelled, so that an empty part stands for what the query has under
 * the name of the variable. False: one is malformed. */
static bool args_decode(struct pdr__exchange *x)
{
    const char *name = x->route->path;

    for (size_t i = 0; i < PDR_ROUTE_ARGS && x->args[i].ptr != NULL; i++) {
        pdr_str said = {NULL, 0};
        char text[32];

        name = strchr(name, '{') + 1;
        (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, "}"),
                       name);
        said = pdr__query_get(x, text);
        if (x->args[i].len == 0 && said.ptr != NULL)
            x->args[i] = said; /* decoded */
        else
            x->args[i] = pdr__percent_decode(&x->memory, x->args[i], false);
        if (x->args[i].ptr == NULL)
            return false;
    }
    return true;
}

bool pdr__exchange_begin(struct pdr__exchange *x, pdr_str method)
{
    pdr_str path = x->target, query = {NULL, 0};
    pdr_buf allowed = PDR_BUF_INIT(256);
    const struct pdr__framing framing = pdr__glue_framing(x, method);
    bool knows_verb = false;

    query = path;
    path = part_next(&query, '?');
    x->is_head = pdr_str_equal(method, PDR_LIT("HEAD"));
    if (x->is_head)
        method = PDR_LIT("GET");
    for (int v = 0; v < PDR_VERB_COUNT; v++) {
        if (pdr_str_equal(method, pdr_str_c(verb_names[v]))) {
            x->verb = (enum pdr__verb)v;
            knows_verb = true;
        }
    }
    x->has_verb = knows_verb;
    x->is_last = framing.encodings > 0;
    if (!has_one_end(x, &framing))
        return begin_refuse(x, 400,
                            "the head of the request is malformed, or says in "
                            "more than one way where the request ends");
    if (!host_is_ours(x, &framing))
        return begin_refuse(x, 421,
                            "this server is not called what the header Host "
                            "says; 'perdure serve --host NAME' lets it be");
    if (!is_target(x->target) || (query.ptr != NULL && !query_split(x, query)))
        return begin_refuse(x, 400, "the target of the request is malformed");
    x->route = route_find(x, path, &allowed, knows_verb);
    if (x->route == NULL && allowed.len > 0) {
        (void)begin_refuse(x, 405, "the path does not have this method");
        pdr__reply_header(x, "Allow", pdr_buf_str(&allowed));
    } else if (x->route == NULL) {
        (void)begin_refuse(x, 404, "there is no such path");
    }
    pdr_buf_dispose(&allowed);
    if (x->route != NULL && !pdr__auth_check(x, &framing))
        return false;
    if (x->route != NULL && !args_decode(x))
        return begin_refuse(x, 400, "the path is malformed");
    return x->route != NULL;
}

/* --- steps -----------------------------------------------------------------
 */

/* What failed was a call of this process. What a stored run failed with is
 * told, too, and says nothing of the store. */
void pdr__exchange_failed(const struct pdr__exchange *x, pdr_rc rc,
                          const pdr_err *err)
{
    pdr_engine *engine = pdr_service_engine(x->server->service);

    if (engine != NULL)
        (void)!pdr__engine_failed(engine, rc, err);
}

bool pdr__exchange_step(struct pdr__exchange *x)
{
    const bool is_timed = x->route->is_away && x->verb == PDR_VERB_GET;
    const int64_t begun_ms =
        is_timed ? pdr__monotonic_ms(pdr__clock_system()) : 0;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    x->wait.is_set = false;
    rc = x->route->run(x, &err);
    if (rc != PDR_OK) {
        pdr__exchange_failed(x, rc, &err);
        pdr__reply_error(x, &err);
    }
    if (is_timed)
        pdr__quick_note(x, begun_ms);
    if (x->reply.status == 0 && x->wait.is_set)
        return false;
    if (x->reply.status == 0) /* a handler that forgot itself */
        pdr__reply_refuse(x, 500, "the server gave no answer");
    return true;
}

void pdr__exchange_free(struct pdr__exchange *x)
{
    if (x == NULL)
        return;
    if (x->state != NULL)
        x->state_free(x->state);
    pdr_buf_dispose(&x->body);
    pdr_buf_dispose(&x->reply.headers);
    pdr_buf_dispose(&x->reply.body);
    pdr__arena_dispose(&x->memory);
    pdr__free(x);
}
