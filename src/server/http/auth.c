/*
 * auth.c - who may do what.
 *
 *      Authorization, or
 *      cookie of a page ─► key ─┬─► its scopes: is that of the route among
 * them? └─► its tenant: that of everything the request touches
 *
 * INVARIANTS
 *   A1  With a file of keys, a request without a right key gets no further than
 *       its head: no body of it is kept, no handler runs.
 *   A2  Handlers read and write sessions of `x->tenant` only. So a session of
 *       somebody else and one that is not there get the same reply.
 *   A3  A file that is broken changes nothing: the keys before go on.
 *   A4  What a browser adds by itself, a cookie or that it runs on this
 * machine, is not enough for a change: pages of other origins are refused.
 *
 * NOT HERE  The file, and how a secret is compared (keys.c).
 */
#include "http.h"

#include <stdio.h>

struct pdr__auth {
    char *path; /* owned */
    pthread_mutex_t lock;
    pdr_keys *keys;      /* owned; guarded by lock */
    atomic_uint version; /* grows with each new `keys` */
};

pdr_rc pdr__auth_new(struct pdr__auth **out, const char *path, pdr_err *err)
{
    struct pdr__auth *auth = pdr__calloc(1, sizeof(*auth));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (auth == NULL)
        return pdr__nomem(err);
    (void)pthread_mutex_init(&auth->lock, NULL);
    auth->path = pdr__strdup(path);
    rc = auth->path != NULL ? pdr_keys_read(&auth->keys, path, err)
                            : pdr__nomem(err);
    if (rc == PDR_OK)
        *out = auth;
    else
        pdr__auth_free(auth);
    return rc;
}

void pdr__auth_free(struct pdr__auth *auth)
{
    if (auth == NULL)
        return;
    pdr_keys_free(auth->keys);
    (void)pthread_mutex_destroy(&auth->lock);
    pdr__free(auth->path);
    pdr__free(auth);
}

pdr_rc pdr__auth_reload(struct pdr__auth *auth, pdr_err *err)
{
    pdr_keys *keys = NULL, *old = NULL;
    pdr_rc rc = pdr_keys_read(&keys, auth->path, err);

    if (rc != PDR_OK) /* A3 */
        return rc;
    (void)pthread_mutex_lock(&auth->lock);
    old = auth->keys;
    auth->keys = keys;
    atomic_fetch_add(&auth->version, 1);
    (void)pthread_mutex_unlock(&auth->lock);
    pdr_keys_free(old);
    return PDR_OK;
}

/* What stands behind "Bearer"; absent if there is none, or more than one. */
static pdr_str bearer_read(const struct pdr__exchange *x,
                           const struct pdr__framing *f)
{
    static const char word[] = "bearer ";
    const size_t len = sizeof(word) - 1;
    pdr_str text = pdr__header(x, "Authorization");

    if (text.len < len || f->keys != 1)
        return pdr_str_n(NULL, 0);
    for (size_t i = 0; i < len; i++) {
        if (pdr__ascii_lower(text.ptr[i]) != word[i])
            return pdr_str_n(NULL, 0);
    }
    return pdr__text_trim(pdr_str_n(text.ptr + len, text.len - len));
}

/* The cookie of a page that says of itself that it is ours (A4); absent. A
 * header with a key, right or wrong, counts more. */
static pdr_str cookie_read(const struct pdr__exchange *x,
                           const struct pdr__framing *f)
{
    static const char name[] = PDR_UI_COOKIE "=";
    const size_t len = sizeof(name) - 1;
    pdr_str rest = pdr__header(x, "Cookie");

    if (f->keys != 0 ||
        !pdr_str_equal(pdr__text_trim(pdr__header(x, PDR_UI_HEADER)),
                       PDR_LIT("1")))
        return pdr_str_n(NULL, 0);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, ';', rest.len);
        size_t part = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
        pdr_str one = pdr__text_trim(pdr_str_n(rest.ptr, part));

        if (one.len > len && memcmp(one.ptr, name, len) == 0)
            return pdr_str_n(one.ptr + len, one.len - len);
        part += end != NULL;
        rest = pdr_str_n(rest.ptr + part, rest.len - part);
    }
    return pdr_str_n(NULL, 0);
}

/* Guessing begins with a new connection each time. */
static bool key_refuse(struct pdr__exchange *x, bool has_one)
{
    pdr__reply_refuse(x, 401,
                      has_one ? "this is not a key of this server"
                              : "a key is needed: Authorization: Bearer KEY");
    pdr__reply_header(x, "WWW-Authenticate",
                      has_one ? PDR_LIT("Bearer realm=\"perdure\", "
                                        "error=\"invalid_token\"")
                              : PDR_LIT("Bearer realm=\"perdure\""));
    x->reply.closes = true;
    return false;
}

static bool scope_refuse(struct pdr__exchange *x)
{
    char text[120];
    const char *scope = pdr_scope_name(x->route->scope);

    (void)snprintf(text, sizeof(text),
                   "the key may not do this: it needs the scope '%s'", scope);
    pdr__reply_refuse(x, 403, text);
    (void)snprintf(text, sizeof(text),
                   "Bearer realm=\"perdure\", error=\"insufficient_scope\", "
                   "scope=\"%s\"",
                   scope);
    pdr__reply_header(x, "WWW-Authenticate", pdr_str_c(text));
    return false;
}

static bool scope_is_among(const struct pdr__exchange *x, const pdr_key *key)
{
    return (key->scopes & ((unsigned)x->route->scope | PDR_SCOPE_ADMIN)) != 0;
}

bool pdr__auth_check(struct pdr__exchange *x, const struct pdr__framing *f)
{
    struct pdr__auth *auth = x->server->auth;
    pdr_str text = {NULL, 0}, cookie = {NULL, 0};
    const pdr_key *key = NULL;
    bool is_enough = false;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (auth == NULL || x->route->scope == PDR_SCOPE_NONE)
        return pdr__origin_check(x);
    text = bearer_read(x, f);
    cookie = cookie_read(x, f);
    if (text.len == 0 && cookie.len == 0)
        return key_refuse(x, false);
    if (cookie.len > 0 && !pdr__origin_check(x))
        return false;
    (void)pthread_mutex_lock(&auth->lock);
    if (cookie.len > 0)
        PDR_TRY(pdr__cookie_find(&key, &x->until_s, auth->keys, cookie,
                                 pdr__wall_ms() / 1000, &err));
    else
        PDR_TRY(pdr__keys_find(&key, auth->keys, text, &err));
    if (key != NULL) { /* until here it is the lock's */
        is_enough = scope_is_among(x, key);
        x->key = key->id;
        x->tenant = key->tenant;
        x->scopes = key->scopes;
        x->keys_version = atomic_load(&auth->version);
        PDR_TRY(pdr__arena_keep(&x->key, &x->memory, &err));
        PDR_TRY(pdr__arena_keep(&x->tenant, &x->memory, &err));
    }
done:
    (void)pthread_mutex_unlock(&auth->lock);
    if (rc != PDR_OK) {
        pdr__reply_error(x, &err);
        return false;
    }
    if (key == NULL)
        return key_refuse(x, true);
    return is_enough || scope_refuse(x);
}

pdr_rc pdr__auth_login(pdr_buf *out, struct pdr__exchange *x, pdr_str text,
                       pdr_err *err)
{
    struct pdr__auth *auth = x->server->auth;
    const pdr_key *key = NULL;
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&auth->lock);
    PDR_TRY(pdr__keys_find(&key, auth->keys, text, err));
    if (key != NULL)
        PDR_TRY(pdr__cookie_write(out, auth->keys, key->id,
                                  pdr__wall_ms() / 1000 + PDR_UI_SECONDS, err));
done:
    (void)pthread_mutex_unlock(&auth->lock);
    if (rc == PDR_OK && key == NULL)
        (void)key_refuse(x, true);
    return rc;
}

bool pdr__auth_holds(struct pdr__exchange *x)
{
    struct pdr__auth *auth = x->server->auth;
    const pdr_key *key = NULL;
    bool holds = false;

    if (x->until_s != 0 && pdr__wall_ms() / 1000 >= x->until_s)
        return false;
    if (x->key.ptr == NULL || x->keys_version == atomic_load(&auth->version))
        return true;
    (void)pthread_mutex_lock(&auth->lock);
    key = pdr__keys_get(auth->keys, x->key);
    holds = key != NULL && scope_is_among(x, key) &&
            pdr_str_equal(key->tenant, x->tenant);
    x->keys_version = atomic_load(&auth->version);
    (void)pthread_mutex_unlock(&auth->lock);
    return holds;
}
