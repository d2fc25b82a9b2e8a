/*
 * walk.c - events from any codec: the part that all walks share.
 *
 * WHY  A codec knows how its bytes become events. Everything else is here,
 *      once: the order of calls, depth, paths of failures, whole values.
 *
 * INVARIANTS
 *   W1  After a failure the codec is not asked again; every call gives the same
 *       failure.
 *   W2  `value` belongs to the last event and goes with it.
 */
#include "codec.h"

struct pdr_walk {
    const pdr_codec *codec; /* borrowed */
    void *self;             /* owned; of the codec */
    struct read_limits limits;
    struct route route; /* used if keeps_route() */
    size_t depth;
    pdr_event last;
    bool can_take;
    pdr_value *value; /* owned, W2 */
    pdr_rc rc;        /* W1 */
    pdr_err err;
};

/* A codec that has paths itself needs none from here, unless whole values are
 * put together here: then this is where their limits are. */
static bool keeps_route(const pdr_codec *codec)
{
    return !codec->has_paths || codec->walk_take == NULL;
}

static pdr_rc open_codec(pdr_walk *w, const pdr_read_opts *opts, pdr_err *err,
                         pdr_read_fn fn, void *arg)
{
    pdr_rc rc = PDR_OK;

    if (keeps_route(w->codec))
        rc = pdr__route_init(&w->route, w->limits.depth, err);
    if (rc == PDR_OK)
        rc = w->codec->walk_open(&w->self, opts, err, fn, arg);
    return rc;
}

pdr_rc pdr_walk_new(pdr_walk **out, const pdr_codec *codec,
                    const pdr_read_opts *opts, pdr_err *err, pdr_read_fn fn,
                    void *arg)
{
    static const pdr_read_opts none;
    struct read_limits limits;

    PDR_REQUIRE(out != NULL && codec != NULL && fn != NULL);
    *out = NULL;
    if (opts == NULL)
        opts = &none;
    pdr_rc rc = pdr__codec_check(codec, opts->flags, codec->walk_flags, err);
    if (rc == PDR_OK)
        rc = pdr__read_limits(&limits, opts, err);
    if (rc != PDR_OK)
        return rc;
    pdr_walk *w = pdr__calloc(1, sizeof(*w));
    if (w == NULL)
        return pdr__nomem(err);
    w->codec = codec;
    w->limits = limits;
    w->err = (pdr_err)PDR_ERR_INIT;
    rc = open_codec(w, opts, err, fn, arg);
    if (rc != PDR_OK) {
        pdr_walk_free(w);
        return rc;
    }
    *out = w;
    return PDR_OK;
}

void pdr_walk_free(pdr_walk *walk)
{
    if (walk == NULL)
        return;
    pdr_value_free(walk->value);
    if (walk->self != NULL)
        walk->codec->walk_close(walk->self);
    pdr__route_dispose(&walk->route);
    pdr__free(walk);
}

const pdr_value *pdr_walk_value(const pdr_walk *walk)
{
    return walk->value;
}

size_t pdr_walk_depth(const pdr_walk *walk)
{
    return walk->depth;
}

int64_t pdr_walk_offset(const pdr_walk *walk)
{
    return walk->codec->walk_offset(walk->self);
}

struct window *pdr__walk_window(pdr_walk *walk)
{
    assert(walk->codec == &pdr__json_codec);
    return pdr__json_walk_window(walk->self);
}

/* Hand out the failure that is kept (W1). */
static pdr_rc give_failure(const pdr_walk *w, pdr_err *err)
{
    if (err != NULL)
        *err = w->err;
    return w->rc;
}

/* --- events -------------------------------------------------------------- */

static pdr_rc too_deep(pdr_walk *w)
{
    pdr_rc rc =
        PDR_FAIL(&w->err, TOO_DEEP, "more than %u levels", w->limits.depth);

    w->err.offset = pdr_walk_offset(w);
    return rc;
}

/* Keep track of the place. */
static pdr_rc follow(pdr_walk *w, pdr_event event)
{
    switch (event) {
    case PDR_BEGIN_OBJECT:
    case PDR_BEGIN_ARRAY:
        if (w->route.depth == w->route.max)
            return too_deep(w);
        return pdr__route_open(&w->route, event == PDR_BEGIN_OBJECT, &w->err);
    case PDR_NAME:
        return pdr__route_name(&w->route, w->value, &w->err);
    case PDR_END:
        pdr__route_close(&w->route);
        pdr__route_child(&w->route);
        return PDR_OK;
    case PDR_SCALAR:
        pdr__route_child(&w->route);
        return PDR_OK;
    case PDR_END_OF_INPUT:
        break;
    }
    return PDR_OK;
}

/* A codec that miscounts would send those who wait for an end round for ever.
 */
static pdr_rc check_end(pdr_walk *w, pdr_event event)
{
    if (event == PDR_END && w->depth == 0)
        return PDR_FAIL(&w->err, BROKEN_CONTRACT,
                        "the codec ended what was not begun");
    if (event == PDR_END_OF_INPUT && w->depth > 0)
        return PDR_FAIL(&w->err, BROKEN_CONTRACT,
                        "the codec found no end of what was begun");
    return PDR_OK;
}

static pdr_rc next(pdr_walk *w)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = w->codec->walk_next(&event, &w->value, w->self, &w->err);

    if (rc == PDR_OK)
        rc = check_end(w, event);
    if (rc == PDR_OK && keeps_route(w->codec))
        rc = follow(w, event);
    if (rc != PDR_OK) {
        if (!w->codec->has_paths && w->err.path[0] == '\0')
            pdr__route_put(&w->err, &w->route, true);
        return rc;
    }
    bool begins = event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY;
    w->depth = w->depth + begins - (event == PDR_END);
    w->can_take = begins || event == PDR_SCALAR;
    w->last = event;
    return PDR_OK;
}

pdr_rc pdr_walk_next(pdr_event *out, pdr_walk *walk, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && walk != NULL);
    pdr_value_free(walk->value);
    walk->value = NULL;
    if (walk->rc == PDR_OK)
        walk->rc = next(walk);
    if (walk->rc != PDR_OK)
        return give_failure(walk, err);
    *out = walk->last;
    return PDR_OK;
}

/* --- whole values -------------------------------------------------------- */

/* The last event begins a value that was not taken yet. */
static pdr_rc check_order(const pdr_walk *w, pdr_err *err)
{
    if (w->can_take)
        return PDR_OK;
    return PDR_FAIL(err, WALK_ORDER,
                    "a value is taken right after its beginning");
}

/* The value began at `begin` and inside `outside` containers. */
static pdr_rc check_limits(pdr_walk *w, int64_t begin, size_t outside,
                           uint64_t nodes)
{
    pdr_rc rc = PDR_OK;

    if ((uint64_t)(pdr_walk_offset(w) - begin) > w->limits.bytes)
        rc = PDR_FAIL(&w->err, TOO_LARGE,
                      "a value of more than %zu bytes, which is the limit",
                      w->limits.bytes);
    else if (nodes > w->limits.nodes)
        rc = PDR_FAIL(&w->err, TOO_MANY_NODES,
                      "more than %u names and values, which is the limit",
                      w->limits.nodes);
    if (rc == PDR_OK)
        return PDR_OK;
    w->err.offset = begin;
    /* What ended last may have been the value itself, but its level is still
     * there. */
    if (keeps_route(w->codec))
        pdr__err_path(&w->err, pdr_str_n(w->route.text.ptr,
                                         w->route.levels[outside].path_len));
    return rc;
}

/* Put the container that begins here together from events. */
static pdr_rc take_by_events(pdr_value **out, pdr_walk *w)
{
    size_t outside = w->depth - 1;
    int64_t begin = pdr_walk_offset(w);
    uint64_t nodes = 1;
    pdr_builder *b = NULL;

    w->rc = pdr_builder_new(&b, &w->err);
    if (w->rc != PDR_OK)
        return w->rc;
    pdr__builder_put(b, w->last, NULL);
    while (w->rc == PDR_OK && w->depth > outside) {
        pdr_event event = PDR_END_OF_INPUT;
        w->rc = pdr_walk_next(&event, w, &w->err);
        if (w->rc != PDR_OK)
            break;
        pdr__builder_put(b, event, w->value);
        nodes += event != PDR_END;
        w->rc = check_limits(w, begin, outside, nodes);
    }
    if (w->rc == PDR_OK)
        w->rc = pdr_builder_finish(out, b, &w->err);
    pdr_builder_free(b);
    return w->rc;
}

/* Let the codec give the value, and follow it. It may leave it to events. */
static pdr_rc take_by_codec(pdr_value **out, pdr_walk *w, pdr_err *err)
{
    pdr_err detail = PDR_ERR_INIT;
    pdr_rc rc = w->codec->walk_take(out, w->self, &detail);

    if (rc == PDR_ENOMEM)
        return pdr__nomem(err); /* it can be tried again */
    if (rc != PDR_OK) {
        w->rc = rc;
        w->err = detail;
        if (!w->codec->has_paths && detail.path[0] == '\0')
            pdr__route_put(&w->err, &w->route, false);
        return give_failure(w, err);
    }
    if (w->last == PDR_SCALAR || *out == NULL)
        return PDR_OK;
    w->depth--;
    w->last = PDR_END;
    return keeps_route(w->codec) ? follow(w, PDR_END) : PDR_OK;
}

pdr_rc pdr_walk_take(pdr_value **out, pdr_walk *walk, pdr_err *err)
{
    pdr_walk *w = walk;

    PDR_REQUIRE(out != NULL && walk != NULL);
    *out = NULL;
    if (w->rc != PDR_OK)
        return give_failure(w, err);
    pdr_rc rc = check_order(w, err);
    if (rc != PDR_OK)
        return rc;
    if (w->codec->walk_take != NULL)
        rc = take_by_codec(out, w, err);
    if (rc != PDR_OK)
        return rc;
    if (*out == NULL && w->last == PDR_SCALAR) {
        *out = w->value;
        w->value = NULL; /* handed over */
    } else if (*out == NULL && take_by_events(out, w) != PDR_OK) {
        return give_failure(w, err);
    }
    pdr_value_free(w->value);
    w->value = NULL;
    w->can_take = false;
    return PDR_OK;
}

pdr_rc pdr_walk_skip(pdr_walk *walk, pdr_err *err)
{
    PDR_REQUIRE(walk != NULL);
    if (walk->rc != PDR_OK)
        return give_failure(walk, err);
    pdr_rc rc = check_order(walk, err);
    if (rc != PDR_OK || walk->last == PDR_SCALAR)
        return rc;
    size_t outside = walk->depth - 1;
    while (walk->depth > outside) {
        pdr_event event = PDR_END_OF_INPUT;
        rc = pdr_walk_next(&event, walk, err);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}
