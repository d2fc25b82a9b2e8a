/*
 * builtin.c - the list of backends, and which of them a URI means.
 *
 * The only file that knows their names. Programs may add some before their
 * threads start; after that the list only is read, and needs no lock.
 */
#include "memory/memory.h"
#include "store.h"

extern const pdr_store_ops pdr__sqlite_ops; /* its header brings sqlite3.h */

static const pdr_store_ops *const builtin[] = {&pdr__memory_ops,
                                               &pdr__sqlite_ops};

static const pdr_store_ops *registered[PDR_MAX_BACKENDS];
static size_t registered_count;

/* What a URI may write in front of its colon (RFC 3986), in small letters. */
static bool is_scheme(pdr_str text)
{
    if (text.len == 0 || text.ptr[0] < 'a' || text.ptr[0] > 'z')
        return false;
    for (size_t i = 1; i < text.len; i++) {
        char c = text.ptr[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '+' &&
            c != '-' && c != '.')
            return false;
    }
    return true;
}

static const pdr_store_ops *find_name(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(builtin); i++) {
        if (pdr_str_equal(pdr_str_c(builtin[i]->name), name))
            return builtin[i];
    }
    for (size_t i = 0; i < registered_count; i++) {
        if (pdr_str_equal(pdr_str_c(registered[i]->name), name))
            return registered[i];
    }
    return NULL;
}

/* --- finding ---------------------------------------------------------------
 */

/* A file name as a backend reads it from a URI: owned by the caller. */
static pdr_rc escape(char **out, const char *file, pdr_err *err)
{
    size_t len = strlen(file), room = 0, used = 0;
    char *to = NULL;

    *out = NULL;
    if (pdr__mul_size(&room, len, 3) && pdr__add_size(&room, room, 1))
        to = pdr__alloc(room);
    if (to == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < len; i++) {
        if (file[i] == '%' || file[i] == '?') {
            memcpy(to + used, file[i] == '%' ? "%25" : "%3F", 3);
            used += 3;
        } else {
            to[used++] = file[i];
        }
    }
    to[used] = '\0';
    *out = to;
    return PDR_OK;
}

pdr_rc pdr__backend_find(const pdr_store_ops **out, char **rest,
                         const char *uri, pdr_err *err)
{
    pdr_str scheme = pdr_str_n(uri, strcspn(uri, ":"));
    char shown[PDR_SHOWN];

    *out = NULL;
    *rest = NULL;
    if (uri[0] == '\0')
        return PDR_FAIL(err, BAD_URI,
                        "the URI of a store is empty; write sqlite:FILE or "
                        "memory:");
    if (uri[scheme.len] != ':' || !is_scheme(scheme)) {
        *out = &pdr__sqlite_ops;
        return escape(rest, uri, err);
    }
    const pdr_store_ops *ops = find_name(scheme);
    if (ops == NULL)
        return PDR_FAIL(err, BAD_URI,
                        "no kind of store is called '%s'; there are sqlite: "
                        "and memory:, and a file with such a name is written "
                        "with ./ in front",
                        pdr__shown(shown, scheme));
    *rest = pdr__strdup(uri + scheme.len + 1);
    if (*rest == NULL)
        return pdr__nomem(err);
    *out = ops;
    return PDR_OK;
}

/* --- adding ----------------------------------------------------------------
 */

pdr_rc pdr_store_register(const pdr_store_ops *ops, pdr_err *err)
{
    PDR_REQUIRE(ops != NULL);
    if (ops->version == 0 || ops->version > PDR_STORE_OPS_VERSION)
        return PDR_FAIL(err, TABLE_VERSION,
                        "a store of version %u; this library knows %u",
                        (unsigned)ops->version, PDR_STORE_OPS_VERSION);
    if (ops->name == NULL || !is_scheme(pdr_str_c(ops->name)) ||
        ops->open == NULL || ops->close == NULL || ops->commit == NULL ||
        ops->read == NULL || ops->info == NULL)
        return PDR_FAIL(err, MISSING_SLOT,
                        "the store lacks something that is required: a name "
                        "of small letters, open, close, commit, read or info");
    if (find_name(pdr_str_c(ops->name)) != NULL)
        return PDR_FAIL(err, BACKEND_EXISTS,
                        "there is a store called '%s' already", ops->name);
    if (registered_count == PDR_COUNT(registered))
        return PDR_FAIL(err, TOO_MANY_BACKENDS,
                        "%zu stores are registered, and no more can be",
                        registered_count);
    registered[registered_count++] = ops;
    return PDR_OK;
}
