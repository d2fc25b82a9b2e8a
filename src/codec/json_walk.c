/*
 * json_walk.c - JSON from a stream, event by event, in bounded memory.
 *
 * WHY  A list of sessions or the import of a large one must not need memory for
 *      all of it. The walk keeps a window on the stream that begins with the
 *      last event, and the kinds of the open containers; names, scalars and
 *      values that are taken go through the reader for documents in memory, so
 *      there is one set of rules.
 *
 *           '{' ─► NAME_OR_END ─► (name ':') ─► VALUE ─► COMMA_OR_END ─► …
 *           '[' ─► VALUE_OR_END ─────────────► VALUE ─► COMMA_OR_END ─► …
 *
 * INVARIANTS
 *   W1  After a failure nothing moves; every call gives the same failure.
 */
#include "codec.h"

enum walk_state {
    WANT_DOCUMENT,
    WANT_NAME_OR_END,
    WANT_NAME,
    WANT_VALUE,
    WANT_VALUE_OR_END,
    WANT_COMMA_OR_END,
    WANT_NOTHING
};

struct json_walk {
    struct read_limits limits; /* of tokens: trailing, no limit of bytes */
    size_t max_bytes;          /* of a token or a value taken */
    bool sequence;
    struct window in;
    bool started, spaced;
    enum walk_state state;
    struct route route; /* open containers */
    pdr_value *current; /* owned; borrows the window */
    pdr_event last;
    pdr_rc rc; /* W1 */
    pdr_err err;
};

pdr_rc pdr__json_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                           pdr_read_fn fn, void *arg)
{
    struct read_limits limits;
    pdr_rc rc = pdr__read_limits(&limits, opts, err);

    if (rc != PDR_OK)
        return rc;
    struct json_walk *w = pdr__calloc(1, sizeof(*w));
    if (w == NULL)
        return pdr__nomem(err);
    rc = pdr__route_init(&w->route, limits.depth, err);
    if (rc != PDR_OK) {
        pdr__free(w);
        return rc;
    }
    w->limits = limits;
    w->limits.trailing = true; /* tokens are cut out of the stream */
    w->limits.alone = true;
    w->limits.bytes = PDR_MAX_TEXT_BYTES;
    w->max_bytes = limits.bytes;
    w->sequence = (opts->flags & PDR_SEQUENCE) != 0;
    pdr__window_init(&w->in, fn, arg);
    w->spaced = true;
    w->err = (pdr_err)PDR_ERR_INIT;
    *self = w;
    return PDR_OK;
}

void pdr__json_walk_close(void *self)
{
    struct json_walk *w = self;

    pdr_value_free(w->current);
    pdr__window_dispose(&w->in);
    pdr__route_dispose(&w->route);
    pdr__free(w);
}

int64_t pdr__json_walk_offset(const void *self)
{
    const struct json_walk *w = self;

    return w->in.base + (int64_t)w->in.event;
}

struct window *pdr__json_walk_window(void *self)
{
    struct json_walk *w = self;

    return &w->in;
}

/* Is there a byte at `at`, after reading as much as that takes? */
static bool has_byte(struct json_walk *w, size_t *at)
{
    while (w->rc == PDR_OK && *at >= w->in.buf.len && !w->in.at_end) {
        size_t ahead = *at - w->in.event; /* the window may slide */
        w->rc = pdr__window_fill(&w->in, &w->err);
        *at = w->in.event + ahead;
    }
    return w->rc == PDR_OK && *at < w->in.buf.len;
}

/* --- failures ------------------------------------------------------------ */

/* Put the walk's own place into the detail: `at` in the window, and in front of
 * the path what is open. `inside`: about the value that is being read. */
static pdr_rc place_failure(struct json_walk *w, size_t at, bool inside)
{
    w->err.offset = w->in.base + (int64_t)at;
    pdr__route_put(&w->err, &w->route, inside);
    return w->err.code;
}

#define WALK_FAIL(w, at, inside, reason, ...)            \
    ((w)->rc = PDR_FAIL(&(w)->err, reason, __VA_ARGS__), \
     place_failure((w), (at), (inside)))

static pdr_rc unexpected(struct json_walk *w, size_t at, bool inside,
                         const char *wanted)
{
    if (w->rc != PDR_OK)
        return w->rc; /* the stream failed */
    if (at >= w->in.buf.len)
        return WALK_FAIL(w, at, inside, UNEXPECTED_END,
                         "the document ends before it is complete");
    unsigned char c = (unsigned char)w->in.buf.ptr[at];
    if (c > 0x20 && c < 0x7F)
        return WALK_FAIL(w, at, inside, UNEXPECTED_BYTE,
                         "expected %s, found '%c'", wanted, c);
    return WALK_FAIL(w, at, inside, UNEXPECTED_BYTE,
                     "expected %s, found byte 0x%02X", wanted, c);
}

/* Keep a failure for ever (W1) and hand it out. */
static pdr_rc give_failure(const struct json_walk *w, pdr_err *err)
{
    if (err != NULL)
        *err = w->err;
    return w->rc;
}

/* --- tokens -------------------------------------------------------------- */

/* Pass white space; true if there is a byte behind it. */
static bool pass_space(struct json_walk *w)
{
    while (w->in.event = w->in.pos, has_byte(w, &w->in.pos)) {
        if (!json_is_space(w->in.buf.ptr[w->in.pos]))
            return true;
        w->in.pos++;
        w->spaced = true;
    }
    return false;
}

/* Refuse a token or value that grows over the limit while it is searched. The
 * level of a container that is taken is open already. */
static bool within_limit(struct json_walk *w, size_t at)
{
    if (at - w->in.event <= w->max_bytes)
        return true;
    char first = w->in.buf.ptr[w->in.event];
    if (w->rc == PDR_OK)
        WALK_FAIL(w, w->in.event, first != '{' && first != '[', TOO_LARGE,
                  "a value of more than %zu bytes, which is the limit",
                  w->max_bytes);
    return false;
}

/* The first quote or backslash from `at` on that is in the window, else its
 * end. */
static size_t plain_end(const struct json_walk *w, size_t at)
{
    const char *p = w->in.buf.ptr + at, *end = w->in.buf.ptr + w->in.buf.len;

    while (p < end && *p != '"' && *p != '\\')
        p++;
    return (size_t)(p - w->in.buf.ptr);
}

/* From a quote to behind the closing one, or to the end of the stream. */
static size_t string_end(struct json_walk *w, size_t at)
{
    at++;
    while (has_byte(w, &at) && within_limit(w, at)) {
        at = plain_end(w, at);
        if (at == w->in.buf.len)
            continue;
        if (w->in.buf.ptr[at] == '"') {
            (void)within_limit(w, at); /* else the walk has failed */
            return at + 1;
        }
        at += 2; /* an escape */
    }
    return at < w->in.buf.len ? at : w->in.buf.len;
}

static bool is_number_byte(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' ||
           c == 'e' || c == 'E';
}

/* Letters of the longest literal that begins with this one. */
static size_t literal_len(char first)
{
    switch (first) {
    case 'N':
        return sizeof("NaN") - 1;
    case 'I':
        return sizeof("Infinity") - 1;
    case '-':
        return sizeof("-Infinity") - 1;
    case 'f':
        return sizeof("false") - 1;
    default:
        return sizeof("true") - 1;
    }
}

static bool is_letter(char c)
{
    return (char)(c | 0x20) >= 'a' && (char)(c | 0x20) <= 'z';
}

/* From a scalar to behind it. Of one that is not complete, a byte more if there
 * is one: the reader shall see what cut it off. A literal is complete with its
 * last letter; nobody waits for what may follow on a stream. */
static size_t scalar_end(struct json_walk *w, size_t at)
{
    char first = w->in.buf.ptr[at];
    size_t letters = literal_len(first);

    if (first == '"')
        return string_end(w, at);
    if (first == '-' || (first >= '0' && first <= '9')) {
        while (has_byte(w, &at) && is_number_byte(w->in.buf.ptr[at]) &&
               within_limit(w, at))
            at++;
        if (first != '-' || at - w->in.event > 1)
            return w->rc == PDR_OK && has_byte(w, &at) ? at + 1 : at;
    } else {
        at++;
    }
    while (at - w->in.event < letters && has_byte(w, &at) &&
           is_letter(w->in.buf.ptr[at]))
        at++;
    return at - w->in.event < letters && at < w->in.buf.len ? at + 1 : at;
}

/* From a bracket to behind the one that closes it, or to the end of the
 * stream. Only quotes and brackets count; the reader finds what is wrong. */
static size_t container_end(struct json_walk *w, size_t at)
{
    uint64_t open = 0;

    while (has_byte(w, &at) && within_limit(w, at)) {
        char c = w->in.buf.ptr[at];
        if (c == '"') {
            at = string_end(w, at);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            open++;
        else if ((c == '}' || c == ']') && --open == 0)
            break;
    }
    return at < w->in.buf.len ? at : w->in.buf.len;
}

/* Read what lies from `event` to `end` as one value that borrows the window;
 * pos goes behind it. */
static pdr_rc read_token(struct json_walk *w, pdr_value **out, size_t end,
                         uint32_t levels, bool inside)
{
    size_t used = 0;

    if (w->rc != PDR_OK)
        return w->rc;
    pdr_str text = pdr_str_n(w->in.buf.ptr + w->in.event, end - w->in.event);
    w->rc =
        pdr__json_parse(out, &used, text, false, &w->limits, levels, &w->err);
    if (w->rc != PDR_OK) {
        if (w->rc != PDR_ENOMEM)
            (void)place_failure(
                w,
                w->in.event + (size_t)(w->err.offset < 0 ? 0 : w->err.offset),
                inside);
        return w->rc;
    }
    w->in.pos = w->in.event + used;
    if (within_limit(w, w->in.pos))
        return PDR_OK;
    pdr_value_free(*out);
    *out = NULL;
    return w->rc;
}

/* --- events -------------------------------------------------------------- */

/* A value was read or an open one was closed: what comes next? */
static void after_value(struct json_walk *w)
{
    pdr__route_child(&w->route);
    if (w->route.depth > 0) {
        w->state = WANT_COMMA_OR_END;
        return;
    }
    w->state = w->sequence ? WANT_DOCUMENT : WANT_NOTHING;
    w->spaced = false;
}

static pdr_rc open_level(struct json_walk *w, bool object)
{
    if (w->route.depth == w->limits.depth)
        return WALK_FAIL(w, w->in.pos, true, TOO_DEEP, "more than %u levels",
                         w->limits.depth);
    w->rc = pdr__route_open(&w->route, object, &w->err);
    if (w->rc != PDR_OK)
        return w->rc;
    w->in.pos++;
    w->state = object ? WANT_NAME_OR_END : WANT_VALUE_OR_END;
    w->last = object ? PDR_BEGIN_OBJECT : PDR_BEGIN_ARRAY;
    return PDR_OK;
}

/* Forget the last level and its place in the path. */
static void drop_level(struct json_walk *w)
{
    pdr__route_close(&w->route);
    after_value(w);
}

static pdr_rc close_level(struct json_walk *w)
{
    w->in.pos++;
    w->last = PDR_END;
    drop_level(w);
    return PDR_OK;
}

static pdr_rc begin_value(struct json_walk *w)
{
    char c = w->in.buf.ptr[w->in.pos];

    if (c == '{' || c == '[')
        return open_level(w, c == '{');
    if (c == '\0' || strchr("\"-0123456789tfnNI", c) == NULL)
        return unexpected(w, w->in.pos, true, "a value");
    size_t end = scalar_end(w, w->in.pos);
    pdr_rc rc = read_token(w, &w->current, end, w->route.depth, true);
    if (rc != PDR_OK)
        return rc;
    w->last = PDR_SCALAR;
    after_value(w);
    return PDR_OK;
}

static pdr_rc read_name(struct json_walk *w)
{
    if (w->in.buf.ptr[w->in.pos] != '"')
        return unexpected(w, w->in.pos, false, "a name in double quotes");
    size_t end = string_end(w, w->in.pos);
    pdr_rc rc = read_token(w, &w->current, end, w->route.depth, false);
    if (rc != PDR_OK)
        return rc;
    w->last = PDR_NAME;
    /* The name is kept in the window while the colon is looked for. */
    size_t at = w->in.pos;
    while (has_byte(w, &at) && json_is_space(w->in.buf.ptr[at]))
        at++;
    /* The window may have moved, and the name with it. */
    node_block(w->current)->text = w->in.buf.ptr + w->in.event;
    if (w->rc != PDR_OK || at >= w->in.buf.len || w->in.buf.ptr[at] != ':')
        return unexpected(w, at, false, "':'");
    w->in.pos = at + 1;
    w->state = WANT_VALUE;
    return w->rc = pdr__route_name(&w->route, w->current, &w->err);
}

/* Behind a value in a container: a comma and what follows, or the end. */
static pdr_rc after_comma(struct json_walk *w)
{
    bool object = pdr__route_in_object(&w->route);

    if (w->in.buf.ptr[w->in.pos] == (object ? '}' : ']'))
        return close_level(w);
    if (w->in.buf.ptr[w->in.pos] != ',')
        return unexpected(w, w->in.pos, false,
                          object ? "',' or '}'" : "',' or ']'");
    w->in.pos++;
    if (!pass_space(w))
        return unexpected(w, w->in.pos, !object, "a value");
    return object ? read_name(w) : begin_value(w);
}

static pdr_rc begin_document(struct json_walk *w)
{
    if (!w->spaced)
        return WALK_FAIL(w, w->in.pos, false, MISSING_SEPARATOR,
                         "two documents need white space between them");
    w->started = true;
    return begin_value(w);
}

/* The first bytes tell what is no UTF-8. */
static pdr_rc look_at_beginning(struct json_walk *w)
{
    size_t third = 2;

    (void)has_byte(w, &third);
    if (w->rc == PDR_OK)
        w->rc = pdr__json_check_beginning(pdr_buf_str(&w->in.buf), &w->err);
    return w->rc;
}

static pdr_rc at_end_of_stream(struct json_walk *w)
{
    bool between = w->state == WANT_DOCUMENT || w->state == WANT_NOTHING;

    if (w->rc != PDR_OK)
        return w->rc;
    if (!between)
        return unexpected(
            w, w->in.pos,
            w->state == WANT_VALUE || w->state == WANT_VALUE_OR_END, "");
    if (!w->started && !w->sequence)
        return WALK_FAIL(w, w->in.pos, false, EMPTY_INPUT,
                         "the document is empty");
    w->last = PDR_END_OF_INPUT;
    return PDR_OK;
}

static pdr_rc step(struct json_walk *w)
{
    if (w->in.base == 0 && w->in.pos == 0 && !w->started &&
        look_at_beginning(w) != PDR_OK)
        return w->rc;
    if (!pass_space(w))
        return at_end_of_stream(w);
    char c = w->in.buf.ptr[w->in.pos];
    switch (w->state) {
    case WANT_DOCUMENT:
        return begin_document(w);
    case WANT_NAME_OR_END:
        return c == '}' ? close_level(w) : read_name(w);
    case WANT_NAME:
        return read_name(w);
    case WANT_VALUE_OR_END:
        return c == ']' ? close_level(w) : begin_value(w);
    case WANT_VALUE:
        return begin_value(w);
    case WANT_COMMA_OR_END:
        return after_comma(w);
    case WANT_NOTHING:
        break;
    }
    return WALK_FAIL(w, w->in.pos, false, TRAILING_DATA,
                     "there is more behind the document");
}

pdr_rc pdr__json_walk_next(pdr_event *event, pdr_value **value, void *self,
                           pdr_err *err)
{
    struct json_walk *w = self;

    if (w->rc == PDR_OK)
        w->rc = step(w);
    if (w->rc != PDR_OK)
        return give_failure(w, err);
    *event = w->last;
    *value = w->current;
    w->current = NULL;
    return PDR_OK;
}

/* --- whole values -------------------------------------------------------- */

/* A value of its own from `text`, which lies in the window. */
static pdr_rc own_value(pdr_value **out, size_t *used, struct json_walk *w,
                        pdr_str text, uint32_t levels)
{
    pdr_buf copy = PDR_BUF_INIT(SIZE_MAX);

    pdr_rc rc = pdr_buf_reserve(&copy, text.len + 1, &w->err);
    if (rc == PDR_OK) {
        memcpy(copy.ptr, text.ptr, text.len);
        copy.ptr[text.len] = '\0';
        copy.len = text.len;
        rc = pdr__json_parse(out, used, pdr_buf_str(&copy), true, &w->limits,
                             levels, &w->err);
    }
    if (rc != PDR_OK) {
        pdr_buf_dispose(&copy);
        return rc;
    }
    node_block(*out)->owned = copy.ptr;
    return PDR_OK;
}

pdr_rc pdr__json_walk_take(pdr_value **out, void *self, pdr_err *err)
{
    struct json_walk *w = self;
    bool scalar = w->last == PDR_SCALAR;
    size_t used = 0;
    size_t end = scalar ? w->in.pos : container_end(w, w->in.event);

    if (w->rc != PDR_OK || !within_limit(w, end))
        return give_failure(w, err);
    pdr_str text = pdr_str_n(w->in.buf.ptr + w->in.event, end - w->in.event);
    pdr_rc rc = own_value(out, &used, w, text, scalar ? 0 : w->route.depth - 1);
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err); /* nothing was taken, it can be tried again */
    if (rc != PDR_OK) {
        w->rc = rc;
        (void)place_failure(w, w->in.event + (size_t)w->err.offset, false);
        return give_failure(w, err);
    }
    if (!scalar) {
        w->in.pos = w->in.event + used;
        drop_level(w);
    }
    return PDR_OK;
}
