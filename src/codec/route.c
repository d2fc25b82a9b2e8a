/*
 * route.c - where a walk or a writer stands in a document.
 *
 * WHY  Every refusal names the place as a JSON Pointer. A stream is not in
 *      memory any more when that is asked for, so the names on the way are kept
 *      as they are passed. Only the end of a pointer fits into a detail: of a
 *      long name, its end is enough.
 *
 * INVARIANT
 *   L1  `text` is the printable pointer of the innermost open container, or
 *       with the name of its next member behind it.
 */
#include "codec.h"

pdr_rc pdr__route_init(struct route *route, uint32_t max, pdr_err *err)
{
    memset(route, 0, sizeof(*route));
    route->text.max = SIZE_MAX;
    route->max = max;
    route->levels = pdr__calloc(max, sizeof(route->levels[0]));
    return route->levels != NULL ? PDR_OK : pdr__nomem(err);
}

void pdr__route_dispose(struct route *route)
{
    pdr__free(route->levels);
    pdr_buf_dispose(&route->text);
}

static struct level *innermost(const struct route *route)
{
    return route->depth > 0 ? &route->levels[route->depth - 1] : NULL;
}

pdr_rc pdr__route_open(struct route *route, bool object, pdr_err *err)
{
    const struct level *around = innermost(route);
    pdr_rc rc = PDR_OK;

    assert(route->depth < route->max);
    if (around != NULL && !around->object)
        rc = pdr_buf_printf(&route->text, err, "/%llu",
                            (unsigned long long)around->children);
    if (rc != PDR_OK)
        return rc;
    struct level *level = &route->levels[route->depth++];
    level->object = object;
    level->children = 0;
    level->path_len = route->text.len;
    return PDR_OK;
}

pdr_rc pdr__route_name(struct route *route, const pdr_value *name, pdr_err *err)
{
    pdr_buf token = PDR_BUF_INIT(SIZE_MAX);
    size_t from = 0;
    pdr_rc rc = pdr__json_push_token(&token, string_inner(name));

    if (rc != PDR_OK) {
        pdr_buf_dispose(&token);
        return pdr__nomem(err);
    }
    if (token.len > 2 * PDR_ERR_PATH)
        from = token.len - 2 * PDR_ERR_PATH;
    rc = pdr_buf_append(&route->text,
                        pdr_str_n(token.ptr + from, token.len - from), err);
    pdr_buf_dispose(&token);
    return rc;
}

void pdr__route_close(struct route *route)
{
    route->depth--;
}

void pdr__route_child(struct route *route)
{
    struct level *level = innermost(route);

    route->text.len = level != NULL ? level->path_len : 0;
    if (level != NULL)
        level->children++;
}

void pdr__route_put(pdr_err *err, const struct route *route, bool inside)
{
    const struct level *level = innermost(route);
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);

    if (err == NULL || err->path[0] == '.')
        return; /* it lost its front already */
    pdr_rc rc = pdr_buf_append(&path, pdr_buf_str(&route->text), NULL);
    if (rc == PDR_OK && inside && level != NULL && !level->object)
        rc = pdr_buf_printf(&path, NULL, "/%llu",
                            (unsigned long long)level->children);
    if (rc == PDR_OK)
        rc = pdr_buf_append(&path, pdr_str_c(err->path), NULL);
    if (rc == PDR_OK)
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
}
