/*
 * reader.c - one session after the other from a stream of any length.
 *
 * WHY  A file of a million sessions must not need the memory of a million. A
 *      walk gives the elements of an array one by one, and the documents of a
 *      sequence. What is hard is an object: it may be one session, to be taken
 *      whole, or any number of them by name. Taking it to find out is what must
 *      not happen, and once its first member was read it cannot be taken as a
 *      whole any more. So a second walk, the probe, looks ahead over the same
 *      bytes, as far as the name behind the first member:
 *
 *        source ──► kept bytes ──► walk    gets all of them
 *                        └───────► probe   looks at some before
 *
 * INVARIANTS
 *   P1  The bytes from where the walk stands (`needed`) to where the source was
 *       read are kept, as long as another probe may come.
 *   P2  The probe says "by name" only if the first name tells nothing, its
 *       value is a session by the names of its members, with metadata or
 *       without, or a state document, and the second name tells nothing
 *       either. Everything else is taken whole and looked at then; so a probe
 *       that fails costs memory, never a wrong answer. A later member of an
 *       object by name that would make the object itself one of these is
 *       refused.
 *   P3  After a failure every call gives the same one.
 */
#include "shape.h"

/* Bytes that the probe asks for at once: enough for the names that most often
 * decide. */
#define PROBE_BYTES 512u

struct source {
    pdr_read_fn fn; /* borrowed with `arg` */
    void *arg;
    pdr_buf kept;    /* P1 */
    uint64_t base;   /* place of its first byte in the stream */
    size_t given;    /* of its bytes, how many the walk got */
    uint64_t needed; /* place before which nothing is looked at any more */
    size_t probed;   /* of its bytes, how many the probe got */
    size_t stop;     /* of its bytes, where the probe ends: what goes on so
                        long is more than a value may have */
    bool is_done;    /* no probe will come any more */
    bool is_ended;   /* the stream said so, and is not asked again */
    pdr_rc rc;       /* its failure, which the probe may have met: P3 */
    pdr_err err;
};

enum place {
    AT_TOP,   /* between documents */
    IN_ARRAY, /* of elements that are walked over */
    IN_OBJECT,
    IN_VALUE /* an object of sessions that was taken whole */
};

struct pdr_session_reader {
    const pdr_codec *codec; /* borrowed */
    pdr_read_opts opts;     /* of the walk */
    pdr_walk *walk;         /* owned */
    struct source source;
    size_t levels; /* that a session may have */
    bool tolerant;
    bool has_looked; /* at_top() looked already: */
    pdr_event event; /* what begins there, */
    bool by_name;    /* and whether that is an object of sessions */
    enum place place;
    pdr_value *whole; /* owned; IN_VALUE: the object */
    pdr_iter at;      /* where in it; else where in array or object */
    pdr_value *name;  /* owned; of the last element */
    uint64_t index;   /* of the next element, over the whole stream */
    pdr_rc rc;        /* P3 */
    pdr_err err;
};

/* --- bytes --------------------------------------------------------------- */

/* Forget what nobody will look at again. */
static void forget(struct source *source)
{
    size_t drop = source->given;

    if (!source->is_done && source->needed < source->base + drop)
        drop = source->needed > source->base
                   ? (size_t)(source->needed - source->base)
                   : 0;
    /* Not for every few bytes: moving the rest must pay. */
    if (drop == 0 || (drop < source->kept.len && drop < PDR_WALK_WINDOW_BYTES))
        return;
    memmove(source->kept.ptr, source->kept.ptr + drop, source->kept.len - drop);
    source->kept.len -= drop;
    source->given -= drop;
    source->base += drop;
}

/* More bytes of the stream; `*got` is 0 at its end. */
static pdr_rc read_stream(size_t *got, void *into, struct source *source,
                          size_t cap, pdr_err *err)
{
    *got = 0;
    if (source->rc == PDR_OK && !source->is_ended) {
        source->rc = source->fn(got, into, cap, &source->err, source->arg);
        source->is_ended = *got == 0;
    }
    if (source->rc != PDR_OK && err != NULL)
        *err = source->err;
    return source->rc;
}

/* The same, behind the kept ones. */
static pdr_rc fetch(struct source *source, size_t cap, pdr_err *err)
{
    size_t got = 0;
    pdr_rc rc = pdr_buf_reserve(&source->kept, cap, err);

    if (rc == PDR_OK)
        rc = read_stream(&got, source->kept.ptr + source->kept.len, source, cap,
                         err);
    if (rc == PDR_OK)
        source->kept.len += got;
    return rc;
}

/* Hand out kept bytes from `*from` on. */
static void hand_out(size_t *got, void *into, size_t *from,
                     const struct source *source, size_t cap)
{
    *got = source->kept.len - *from;
    if (*got > cap)
        *got = cap;
    if (*got > 0)
        memcpy(into, source->kept.ptr + *from, *got);
    *from += *got;
}

/* The walk's pdr_read_fn. */
static pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct source *source = arg;
    pdr_rc rc = PDR_OK;

    forget(source);
    if (source->given == source->kept.len) {
        if (source->is_done)
            return read_stream(got, into, source, cap, err);
        rc = fetch(source, cap, err);
    }
    if (rc == PDR_OK)
        hand_out(got, into, &source->given, source, cap);
    return rc;
}

/* The probe's. */
static pdr_rc look(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct source *source = arg;
    pdr_rc rc = PDR_OK;

    *got = 0;
    if (source->probed >= source->stop)
        return PDR_OK;
    if (source->probed == source->kept.len)
        rc = fetch(source, PDR_WALK_WINDOW_BYTES, err);
    if (rc == PDR_OK)
        hand_out(got, into, &source->probed, source,
                 cap < PROBE_BYTES ? cap : PROBE_BYTES);
    return rc;
}

/* --- the probe ----------------------------------------------------------- */

/* The next event; anything wrong counts as the end. */
static pdr_event next_event(pdr_walk *walk)
{
    pdr_event event = PDR_END_OF_INPUT;

    return pdr_walk_next(&event, walk, NULL) == PDR_OK ? event
                                                       : PDR_END_OF_INPUT;
}

/* Is the object that was begun one that stands among sessions by name? A
 * wrapper is known at its end. */
static bool is_element(pdr_walk *walk)
{
    struct seen seen = {.is_session = false};
    pdr_event event = next_event(walk);

    while (event == PDR_NAME) {
        pdr__seen_add(&seen, pdr_walk_value(walk));
        if (pdr__seen_tells(&seen))
            return true;
        event = next_event(walk);
        if (seen.at_session)
            seen.has_session = event == PDR_BEGIN_OBJECT;
        if (event != PDR_SCALAR && pdr_walk_skip(walk, NULL) != PDR_OK)
            return false;
        event = next_event(walk);
    }
    return event == PDR_END && seen.has_session && !seen.has_others;
}

/* Does the second member tell something? Then the whole may be one document,
 * with a first member of whoever wrote it. The walk is inside that one. */
static bool goes_on_as_one(pdr_walk *walk)
{
    pdr_event event = PDR_NAME;

    while (event != PDR_END_OF_INPUT && pdr_walk_depth(walk) > 1)
        event = next_event(walk);
    return next_event(walk) == PDR_NAME &&
           pdr__is_known_name(pdr_walk_value(walk));
}

/* Where a probe ends at the latest: behind the longest value that could be
 * taken, and what stands around it. */
static size_t stop_of(size_t from, uint64_t max_bytes)
{
    size_t stop = max_bytes > 0 ? (size_t)max_bytes : PDR_MAX_TEXT_BYTES;

    return pdr__add_size(&stop, stop, PDR_WALK_WINDOW_BYTES) &&
                   pdr__add_size(&stop, stop, from)
               ? stop
               : SIZE_MAX;
}

/* Is the object at which the walk stands surely one of sessions by name? */
static bool probe(pdr_session_reader *r)
{
    pdr_read_opts opts = r->opts;
    pdr_walk *walk = NULL;
    bool found = false;
    int64_t offset = pdr_walk_offset(r->walk);

    opts.flags &= ~PDR_RECORDS; /* the length is behind us */
    if (offset < 0 || (uint64_t)offset < r->source.base)
        return false;
    r->source.probed = (size_t)((uint64_t)offset - r->source.base);
    r->source.stop = stop_of(r->source.probed, opts.max_bytes);
    if (r->source.probed > r->source.kept.len ||
        pdr_walk_new(&walk, r->codec, &opts, NULL, look, &r->source) != PDR_OK)
        return false;
    if (next_event(walk) == PDR_BEGIN_OBJECT && next_event(walk) == PDR_NAME &&
        !pdr__is_known_name(pdr_walk_value(walk)) &&
        next_event(walk) == PDR_BEGIN_OBJECT)
        found = is_element(walk) && !goes_on_as_one(walk);
    pdr_walk_free(walk);
    return found;
}

/* --- making -------------------------------------------------------------- */

pdr_rc pdr_session_reader_new(pdr_session_reader **out, const pdr_codec *codec,
                              const pdr_read_opts *opts, bool tolerant,
                              pdr_err *err, pdr_read_fn fn, void *arg)
{
    static const pdr_buf no_bytes = PDR_BUF_INIT(SIZE_MAX);
    static const pdr_err no_failure = PDR_ERR_INIT;
    pdr_session_reader *r = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && codec != NULL && fn != NULL);
    *out = NULL;
    r = pdr__calloc(1, sizeof(*r));
    if (r == NULL)
        return pdr__nomem(err);
    if (opts != NULL)
        r->opts = *opts;
    r->codec = codec;
    r->tolerant = tolerant;
    r->levels = r->opts.max_depth > 0 ? r->opts.max_depth : PDR_DEFAULT_DEPTH;
    /* What stands around a session is no level of it. */
    r->opts.max_depth = r->levels < PDR_MAX_DEPTH - PDR_LEVELS_AROUND
                            ? (uint32_t)r->levels + PDR_LEVELS_AROUND
                            : PDR_MAX_DEPTH;
    r->source.fn = fn;
    r->source.arg = arg;
    r->source.kept = no_bytes;
    r->source.err = no_failure;
    rc = pdr_walk_new(&r->walk, codec, &r->opts, err, give, &r->source);
    if (rc == PDR_OK) {
        *out = r;
        r = NULL;
    }
    pdr_session_reader_free(r);
    return rc;
}

void pdr_session_reader_free(pdr_session_reader *reader)
{
    if (reader == NULL)
        return;
    pdr_walk_free(reader->walk);
    pdr_buf_dispose(&reader->source.kept);
    pdr_value_free(reader->whole);
    pdr_value_free(reader->name);
    pdr__free(reader);
}

/* --- elements ------------------------------------------------------------ */

/* The next event, and from where on bytes are needed. */
static pdr_rc step(pdr_event *out, pdr_session_reader *r, pdr_err *err)
{
    pdr_rc rc = pdr_walk_next(out, r->walk, err);
    int64_t offset = pdr_walk_offset(r->walk);

    if (rc == PDR_OK && offset > 0)
        r->source.needed = (uint64_t)offset;
    return rc;
}

/* Begin an array or object whose elements are walked over. */
static void enter(pdr_session_reader *r, enum place place)
{
    r->place = place;
    r->at.index = SIZE_MAX; /* before the first one */
}

/* An object that was taken whole: itself, or what is in it. */
static pdr_rc open_whole(pdr_value **out, pdr_session_reader *r, pdr_err *err)
{
    pdr_rc rc = pdr_walk_take(out, r->walk, err);

    if (rc != PDR_OK || pdr_session_looks(*out) != PDR_LOOKS_MAP)
        return rc;
    r->place = IN_VALUE;
    r->whole = *out;
    *out = NULL;
    pdr_iter_init(&r->at, r->whole);
    return PDR_OK;
}

/* Between documents: what begins there? */
static pdr_rc look_at_top(pdr_session_reader *r, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (r->has_looked)
        return PDR_OK;
    rc = step(&r->event, r, err);
    if (rc != PDR_OK)
        return rc;
    r->by_name = r->event == PDR_BEGIN_OBJECT && probe(r);
    r->source.is_done = (r->opts.flags & PDR_SEQUENCE) == 0;
    r->has_looked = true;
    return PDR_OK;
}

/* Between documents: the next one, or what it holds. */
static pdr_rc at_top(pdr_value **out, bool *end, pdr_session_reader *r,
                     pdr_err *err)
{
    pdr_rc rc = look_at_top(r, err);

    r->at.name = NULL;
    if (rc != PDR_OK)
        return rc;
    r->has_looked = false;
    switch (r->event) {
    case PDR_END_OF_INPUT:
        *end = true;
        return PDR_OK;
    case PDR_BEGIN_ARRAY:
        enter(r, IN_ARRAY);
        return PDR_OK;
    case PDR_BEGIN_OBJECT:
        if (!r->by_name)
            return open_whole(out, r, err);
        enter(r, IN_OBJECT);
        return PDR_OK;
    case PDR_SCALAR:
    case PDR_END:
    case PDR_NAME:
        break; /* the last two cannot stand here */
    }
    return pdr_walk_take(out, r->walk, err);
}

/* The name of the next element; it must not make the whole a session. It is
 * kept while the walk goes on, and what the walk gives lies in its window. */
static pdr_rc read_name(pdr_session_reader *r, pdr_err *err)
{
    const pdr_value *name = pdr_walk_value(r->walk);
    pdr_rc rc = PDR_OK;

    if (pdr__is_root_name(name))
        return PDR_FAIL_AT(err, (size_t)pdr_walk_offset(r->walk),
                           SESSION_UNKNOWN_SHAPE, "%s",
                           "this may be one session or several by name: it "
                           "begins with one and goes on with a member of "
                           "one; read it whole");
    rc = pdr__value_copy(&r->name, name, err);
    r->at.name = r->name;
    return rc;
}

/* The next element of what is walked over. */
static pdr_rc walk_on(pdr_value **out, pdr_session_reader *r, pdr_err *err)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = step(&event, r, err);

    r->at.index++;
    if (rc == PDR_OK && event == PDR_END) {
        r->place = AT_TOP;
        return PDR_OK;
    }
    if (rc == PDR_OK && event == PDR_NAME) {
        rc = read_name(r, err);
        if (rc == PDR_OK)
            rc = step(&event, r, err);
    }
    if (rc == PDR_OK)
        rc = pdr_walk_take(out, r->walk, err);
    return rc;
}

/* The next element of what was taken whole. */
static void go_on(pdr_value **out, pdr_session_reader *r)
{
    if (pdr_iter_next(&r->at)) {
        *out = pdr_value_ref(r->at.value);
        r->name = pdr_value_ref(r->at.name);
        return;
    }
    r->place = AT_TOP;
    pdr_value_free(r->whole);
    r->whole = NULL;
}

/* The next element: none and no end means that there is more to come. */
static pdr_rc advance(pdr_value **out, bool *end, pdr_session_reader *r,
                      pdr_err *err)
{
    pdr_value_free(r->name);
    r->name = NULL;
    if (r->place == AT_TOP)
        return at_top(out, end, r, err);
    if (r->place == IN_VALUE) {
        go_on(out, r);
        return PDR_OK;
    }
    return walk_on(out, r, err);
}

/* The limit of the reader holds for whatever the element is. */
static pdr_rc check_levels(const pdr_session_reader *r, const pdr_value *value,
                           pdr_err *err)
{
    if (pdr__value_height(value) <= r->levels ||
        pdr__element_levels(value) <= r->levels)
        return PDR_OK;
    return PDR_FAIL(err, TOO_DEEP,
                    "a session may have at most %zu levels of objects and "
                    "arrays here",
                    r->levels);
}

/* The session that an element is; none, with PDR_OK, if it may be something
 * else. */
static pdr_rc open_element(pdr_session **out, const pdr_session_reader *r,
                           const pdr_value *value, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NULL)
        return PDR_OK;
    rc = check_levels(r, value, err);
    if (rc == PDR_OK) {
        rc = pdr_session_from_value(out, value, err);
        if (r->tolerant && pdr__is_about_element(rc))
            return PDR_OK;
    }
    /* Offsets in the element are not those of the stream. */
    if (rc != PDR_OK)
        err->offset = pdr_walk_offset(r->walk);
    return rc;
}

/* Remember a failure, and say at which element, once. */
static pdr_rc fail(pdr_session_reader *r, bool in_element, pdr_rc rc,
                   pdr_err *why, pdr_err *err)
{
    bool is_named = in_element && r->place != AT_TOP;

    if (is_named)
        (void)pdr__name_element(&r->at, rc, why);
    if (!is_named || r->at.name != NULL || r->at.index != r->index)
        (void)pdr__wrap(why, rc, "session %llu of the stream",
                        (unsigned long long)r->index);
    r->rc = rc;
    r->err = *why;
    if (err != NULL)
        *err = *why;
    return rc;
}

pdr_rc pdr_session_reader_look(bool *by_name, pdr_session_reader *reader,
                               pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(by_name != NULL && reader != NULL);
    *by_name = reader->place == IN_OBJECT || reader->place == IN_VALUE;
    if (reader->rc != PDR_OK && err != NULL)
        *err = reader->err;
    if (reader->rc != PDR_OK || reader->place != AT_TOP)
        return reader->rc;
    rc = look_at_top(reader, &why);
    if (rc != PDR_OK)
        return fail(reader, false, rc, &why, err);
    *by_name = reader->by_name;
    return PDR_OK;
}

pdr_rc pdr_session_reader_next(pdr_session **out, pdr_session_item *item,
                               bool *end, pdr_session_reader *reader,
                               pdr_err *err)
{
    pdr_session_item none = {0, NULL, NULL};
    pdr_err why = PDR_ERR_INIT;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && end != NULL && reader != NULL);
    *out = NULL;
    *end = false;
    none.index = reader->index;
    if (reader->rc != PDR_OK && err != NULL)
        *err = reader->err;
    if (item != NULL)
        *item = none;
    if (reader->rc != PDR_OK)
        return reader->rc;
    while (rc == PDR_OK && value == NULL && !*end)
        rc = advance(&value, end, reader, &why);
    if (rc != PDR_OK)
        return fail(reader, false, rc, &why, err);
    if (*end)
        return PDR_OK;
    rc = open_element(out, reader, value, &why);
    if (rc != PDR_OK) {
        pdr_value_free(value);
        return fail(reader, true, rc, &why, err);
    }
    if (item != NULL)
        item->name = reader->name;
    if (item != NULL && *out == NULL) {
        item->value = value;
        value = NULL;
    }
    pdr_value_free(value);
    reader->index++;
    return PDR_OK;
}
