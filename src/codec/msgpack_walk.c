/*
 * msgpack_walk.c - MessagePack from a stream, event by event.
 *
 * WHY  Besides streams, this is the one place that says what is wrong with a
 *      document: the reader for documents in memory (msgpack_read.c) knows only
 *      that it is, and asks here.
 *
 * RECORDS  With PDR_RECORDS the length of each document stands in front of it,
 *      in four bytes. Nothing is read beyond the end of a record before its
 *      document is complete, and it must end there.
 *
 * A length that a head claims is never believed: only bytes that came take
 * memory.
 */
#include "msgpack.h"

#include "number.h"

struct mp_level {
    uint64_t left; /* names and values that are still to come */
    bool object;
};

struct mp_walk {
    struct read_limits limits;
    bool sequence, records;
    struct window in;
    struct mp_level *levels; /* owned; limits.depth of them */
    uint32_t depth;
    uint64_t documents;  /* begun */
    bool complete;       /* the document begun last is */
    int64_t record_end;  /* offset in the stream; with records */
    pdr_builder *making; /* owned; makes scalars */
};

pdr_rc pdr__mp_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                         pdr_read_fn fn, void *arg)
{
    struct mp_walk *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return pdr__nomem(err);
    *self = w;
    pdr__window_init(&w->in, fn, arg);
    w->sequence = (opts->flags & (PDR_SEQUENCE | PDR_RECORDS)) != 0;
    w->records = (opts->flags & PDR_RECORDS) != 0;
    w->complete = true;
    pdr_rc rc = pdr__read_limits(&w->limits, opts, err);
    if (rc != PDR_OK)
        return rc;
    w->levels = pdr__calloc(w->limits.depth, sizeof(w->levels[0]));
    return w->levels != NULL ? pdr_builder_new(&w->making, err)
                             : pdr__nomem(err);
}

void pdr__mp_walk_close(void *self)
{
    struct mp_walk *w = self;

    pdr__window_dispose(&w->in);
    pdr__free(w->levels);
    pdr_builder_free(w->making);
    pdr__free(w);
}

int64_t pdr__mp_walk_offset(const void *self)
{
    const struct mp_walk *w = self;

    return w->in.base + (int64_t)w->in.event;
}

/* --- bytes --------------------------------------------------------------- */

#define FAIL_HERE(w, reason, err, ...) \
    PDR_FAIL_AT(err, (size_t)pdr__mp_walk_offset(w), reason, __VA_ARGS__)

static const unsigned char *at_event(const struct mp_walk *w)
{
    return (const unsigned char *)w->in.buf.ptr + w->in.event;
}

/* Fill the window until `count` bytes of the event are there; *have is how many
 * are. */
static pdr_rc fetch(struct mp_walk *w, size_t *have, size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && w->in.buf.len - w->in.event < count && !w->in.at_end)
        rc = pdr__window_fill(&w->in, err);
    *have = w->in.buf.len - w->in.event;
    return rc;
}

/* The input ends where more must come. */
static pdr_rc cut_off(const struct mp_walk *w, pdr_err *err)
{
    size_t end = (size_t)w->in.base + w->in.buf.len;

    if (w->records)
        return PDR_FAIL_AT(err, end, UNEXPECTED_END, "record %llu is cut off",
                           (unsigned long long)w->documents);
    return PDR_FAIL_AT(err, end, UNEXPECTED_END,
                       "the document ends before it is complete");
}

/* As fetch(), for bytes that must be there. */
static pdr_rc need(struct mp_walk *w, size_t count, pdr_err *err)
{
    size_t have = 0;

    if (w->records &&
        w->in.base + (int64_t)(w->in.event + count) > w->record_end)
        return FAIL_HERE(w, BAD_RECORD, err,
                         "record %llu ends before its document does",
                         (unsigned long long)w->documents);
    pdr_rc rc = fetch(w, &have, count, err);
    return rc != PDR_OK || have >= count ? rc : cut_off(w, err);
}

/* --- documents ----------------------------------------------------------- */

static pdr_rc begin_record(struct mp_walk *w, pdr_err *err)
{
    size_t have = 0;
    pdr_rc rc = fetch(w, &have, 4, err);

    if (rc != PDR_OK)
        return rc;
    if (have < 4)
        return cut_off(w, err);
    uint32_t len = mp_load32(at_event(w));
    if (len == 0 || len > PDR_MAX_RECORD_BYTES)
        return FAIL_HERE(w, BAD_RECORD, err,
                         "record %llu claims %u bytes; a record has 1 to %u",
                         (unsigned long long)w->documents, len,
                         PDR_MAX_RECORD_BYTES);
    w->in.event = w->in.pos = w->in.event + 4;
    w->record_end = pdr__mp_walk_offset(w) + len;
    return PDR_OK;
}

/* Between documents: is there another one? */
static pdr_rc begin_document(bool *there, struct mp_walk *w, pdr_err *err)
{
    size_t have = 0;

    if (w->records && w->documents > 0 &&
        pdr__mp_walk_offset(w) != w->record_end)
        return FAIL_HERE(w, BAD_RECORD, err,
                         "record %llu goes on behind its document",
                         (unsigned long long)w->documents);
    pdr_rc rc = fetch(w, &have, 1, err);
    *there = have > 0;
    if (rc != PDR_OK)
        return rc;
    if (w->documents > 0 && !w->sequence && *there)
        return FAIL_HERE(w, TRAILING_DATA, err,
                         "there is more behind the document");
    if (w->documents == 0 && !w->sequence && !*there)
        return FAIL_HERE(w, EMPTY_INPUT, err, "the document is empty");
    if (!*there)
        return PDR_OK;
    w->documents++;
    w->complete = false;
    return w->records ? begin_record(w, err) : PDR_OK;
}

/* A name, a scalar or a container is complete. */
static void end_item(struct mp_walk *w)
{
    if (w->depth == 0)
        w->complete = true;
    else
        w->levels[w->depth - 1].left--;
}

/* --- heads --------------------------------------------------------------- */

size_t pdr__mp_head_len(unsigned char first)
{
    static const uint8_t lens[32] = {
        [0xC4 - 0xC0] = 2, [0xC5 - 0xC0] = 3, [0xC6 - 0xC0] = 5,
        [0xC7 - 0xC0] = 3, [0xC8 - 0xC0] = 4, [0xC9 - 0xC0] = 6,
        [0xCA - 0xC0] = 5, [0xCB - 0xC0] = 9, [0xCC - 0xC0] = 2,
        [0xCD - 0xC0] = 3, [0xCE - 0xC0] = 5, [0xCF - 0xC0] = 9,
        [0xD0 - 0xC0] = 2, [0xD1 - 0xC0] = 3, [0xD2 - 0xC0] = 5,
        [0xD3 - 0xC0] = 9, [0xD4 - 0xC0] = 2, [0xD5 - 0xC0] = 2,
        [0xD6 - 0xC0] = 2, [0xD7 - 0xC0] = 2, [0xD8 - 0xC0] = 2,
        [0xD9 - 0xC0] = 2, [0xDA - 0xC0] = 3, [0xDB - 0xC0] = 5,
        [0xDC - 0xC0] = 3, [0xDD - 0xC0] = 5, [0xDE - 0xC0] = 3,
        [0xDF - 0xC0] = 5,
    };

    if (first < 0xC0 || first >= 0xE0 || lens[first - 0xC0] == 0)
        return 1;
    return lens[first - 0xC0];
}

static void take_int(struct mp_token *out, int64_t number)
{
    out->kind = MP_KIND_INT;
    out->number = (uint64_t)number;
}

static void take_uint(struct mp_token *out, uint64_t number)
{
    out->kind = MP_KIND_UINT;
    out->number = number;
}

static void take_size(struct mp_token *out, enum mp_kind kind, uint32_t size)
{
    out->kind = kind;
    out->size = size;
}

static void take_double(struct mp_token *out, double real)
{
    out->kind = MP_KIND_DOUBLE;
    out->real = real;
}

/* Sizes of one, two and four bytes follow three first bytes in a row. */
static uint32_t load_size(const unsigned char *p, unsigned width)
{
    if (width == 0)
        return p[1];
    return width == 1 ? mp_load16(p + 1) : mp_load32(p + 1);
}

static void take_ext(struct mp_token *out, const unsigned char *p)
{
    if (p[0] >= MP_FIXEXT1) {
        take_size(out, MP_KIND_EXT, 1u << (p[0] - MP_FIXEXT1));
        out->type = (int8_t)p[1];
        return;
    }
    take_size(out, MP_KIND_EXT, load_size(p, p[0] - MP_EXT8));
    out->type = (int8_t)p[pdr__mp_head_len(p[0]) - 1];
}

/* Long on purpose: a row for each first byte of the format. */
void pdr__mp_head(struct mp_token *out, const unsigned char *p)
{
    unsigned first = p[0];

    if (first <= MP_FIXINT_MAX) {
        take_uint(out, first);
        return;
    }
    if (first >= MP_NEGATIVE) {
        take_int(out, (int8_t)first);
        return;
    }
    if (first < MP_NIL) {
        if (first < MP_FIXARRAY)
            take_size(out, MP_KIND_MAP, first & 15u);
        else if (first < MP_FIXSTR)
            take_size(out, MP_KIND_ARRAY, first & 15u);
        else
            take_size(out, MP_KIND_STR, first & 31u);
        return;
    }
    switch (first) {
    case MP_NIL:
        out->kind = MP_KIND_NIL;
        return;
    case MP_FALSE:
    case MP_TRUE:
        out->kind = MP_KIND_BOOL;
        out->truth = first == MP_TRUE;
        return;
    case MP_FLOAT32:
        take_double(out, mp_float(mp_load32(p + 1)));
        return;
    case MP_FLOAT64:
        take_double(out, mp_double(mp_load64(p + 1)));
        return;
    case MP_UINT8:
        take_uint(out, p[1]);
        return;
    case MP_UINT16:
        take_uint(out, mp_load16(p + 1));
        return;
    case MP_UINT32:
        take_uint(out, mp_load32(p + 1));
        return;
    case MP_UINT64:
        take_uint(out, mp_load64(p + 1));
        return;
    case MP_INT8:
        take_int(out, (int8_t)p[1]);
        return;
    case MP_INT16:
        take_int(out, (int16_t)mp_load16(p + 1));
        return;
    case MP_INT32:
        take_int(out, (int32_t)mp_load32(p + 1));
        return;
    case MP_INT64:
        take_int(out, (int64_t)mp_load64(p + 1));
        return;
    default:
        break;
    }
    if (first >= MP_MAP16)
        take_size(out, MP_KIND_MAP, load_size(p, first - MP_MAP16 + 1));
    else if (first >= MP_ARRAY16)
        take_size(out, MP_KIND_ARRAY, load_size(p, first - MP_ARRAY16 + 1));
    else if (first >= MP_STR8)
        take_size(out, MP_KIND_STR, load_size(p, first - MP_STR8));
    else if (first >= MP_BIN8 && first <= MP_BIN32)
        take_size(out, MP_KIND_BIN, load_size(p, first - MP_BIN8));
    else if (first != MP_NEVER)
        take_ext(out, p);
    else
        out->kind = MP_KIND_NEVER;
}

/* --- tokens -------------------------------------------------------------- */

/* The bytes that follow a head of `head` bytes, all there. */
static pdr_rc load_body(pdr_str *out, struct mp_walk *w, size_t head,
                        uint32_t size, pdr_err *err)
{
    if (size > w->limits.bytes)
        return FAIL_HERE(w, TOO_LARGE, err,
                         "a string of %u bytes; the limit is %zu", size,
                         w->limits.bytes);
    pdr_rc rc = need(w, head + size, err);
    if (rc != PDR_OK)
        return rc;
    w->in.pos = w->in.event + head + size;
    *out = pdr_str_n(w->in.buf.ptr + w->in.event + head, size);
    return PDR_OK;
}

/* Why a token cannot stand here. */
static pdr_rc refuse(struct mp_walk *w, const struct mp_token *token, bool name,
                     pdr_err *err)
{
    if (token->kind == MP_KIND_NEVER)
        return FAIL_HERE(w, RESERVED_BYTE, err,
                         "byte 0xC1 begins no value: this is no MessagePack");
    if (name)
        return FAIL_HERE(w, NAME_NO_STRING, err,
                         "the name of a member must be a string");
    if (token->kind == MP_KIND_BIN)
        return FAIL_HERE(w, BINARY_DATA, err,
                         "%u byte%s of binary data, which is no JSON value",
                         token->size, token->size == 1 ? "" : "s");
    if (token->type == MP_EXT_TIMESTAMP)
        return FAIL_HERE(w, TIMESTAMP, err,
                         "a timestamp, which is no JSON value");
    return FAIL_HERE(w, UNKNOWN_EXTENSION, err,
                     "extension type %d; only 1 and 2 are known here",
                     token->type);
}

/* Finish the scalar. Offsets of a failure count from its body: make them those
 * of the stream. */
static pdr_rc finish(pdr_value **out, struct mp_walk *w, size_t head,
                     pdr_err *err)
{
    pdr_rc rc = pdr_builder_finish(out, w->making, err);

    if (rc == PDR_EINVALID && err != NULL)
        err->offset = pdr__mp_walk_offset(w) + (int64_t)head +
                      (err->offset > 0 ? err->offset : 0);
    return rc;
}

static pdr_rc make_double(struct mp_walk *w, double real, pdr_err *err)
{
    char text[PDR__NUMBER_DOUBLE_BYTES];
    size_t len = pdr__number_write_double(text, real);

    if (mp_is_finite(real))
        pdr_builder_double(w->making, real);
    else if (w->limits.bare)
        pdr__builder_bare(w->making, pdr_str_n(text, len));
    else
        return FAIL_HERE(w, BARE_TOKEN, err,
                         "%.*s is no JSON; it is read only when asked for",
                         (int)len, text);
    return PDR_OK;
}

/* The body of extension 2 is the inside of a JSON string; if not, why? */
static pdr_rc check_raw(const struct mp_walk *w, size_t head, pdr_str body,
                        pdr_err *err)
{
    const char *p = body.ptr;
    uint32_t info = 0;
    enum text_stop stop = pdr__text_scan(&p, body.ptr + body.len, &info);
    size_t at = (size_t)pdr__mp_walk_offset(w) + head + (size_t)(p - body.ptr);

    switch (stop) {
    case TEXT_END:
        return PDR_OK;
    case TEXT_CONTROL:
        return PDR_FAIL_AT(
            err, at, CONTROL_IN_STRING,
            "a control character without escape in a raw string");
    case TEXT_UTF8:
        return PDR_FAIL_AT(err, at, BAD_UTF8,
                           "a raw string has a byte that is no UTF-8");
    case TEXT_QUOTE:
    case TEXT_ESCAPE:
        break;
    }
    return PDR_FAIL_AT(err, at, BAD_ESCAPE, "a raw string has %s here",
                       stop == TEXT_QUOTE ? "a quote without escape"
                                          : "a backslash without escape");
}

/* A scalar whose bytes stand behind the head: str, or one of our extensions. */
static pdr_rc make_from_body(struct mp_walk *w, const struct mp_token *token,
                             size_t head, pdr_err *err)
{
    pdr_str body = {NULL, 0};
    pdr_rc rc = load_body(&body, w, head, token->size, err);

    if (rc == PDR_OK && token->kind == MP_KIND_EXT &&
        token->type == MP_EXT_STRING)
        rc = check_raw(w, head, body, err);
    if (rc != PDR_OK)
        return rc;
    if (token->kind == MP_KIND_EXT && w->limits.extended != NULL)
        *w->limits.extended = true;
    if (token->kind == MP_KIND_STR)
        pdr_builder_string(w->making, body);
    else if (token->type == MP_EXT_STRING)
        pdr_builder_escaped(w->making, body);
    else
        pdr_builder_number(w->making, body);
    return PDR_OK;
}

static pdr_rc make_scalar(pdr_value **out, struct mp_walk *w,
                          const struct mp_token *token, size_t head,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    w->in.pos = w->in.event + head;
    switch (token->kind) {
    case MP_KIND_NIL:
        pdr_builder_null(w->making);
        break;
    case MP_KIND_BOOL:
        pdr_builder_bool(w->making, token->truth);
        break;
    case MP_KIND_INT:
        pdr_builder_int64(w->making, (int64_t)token->number);
        break;
    case MP_KIND_UINT:
        pdr_builder_uint64(w->making, token->number);
        break;
    case MP_KIND_DOUBLE:
        rc = make_double(w, token->real, err);
        break;
    case MP_KIND_STR:
    case MP_KIND_EXT:
        rc = make_from_body(w, token, head, err);
        break;
    case MP_KIND_BIN:
    case MP_KIND_ARRAY:
    case MP_KIND_MAP:
    case MP_KIND_NEVER:
        assert(false);
    }
    return rc == PDR_OK ? finish(out, w, head, err) : rc;
}

/* --- events -------------------------------------------------------------- */

static pdr_rc open_level(struct mp_walk *w, const struct mp_token *token,
                         size_t head, pdr_err *err)
{
    bool object = token->kind == MP_KIND_MAP;

    if (w->depth == w->limits.depth)
        return FAIL_HERE(w, TOO_DEEP, err, "more than %u levels",
                         w->limits.depth);
    struct mp_level *level = &w->levels[w->depth++];
    level->object = object;
    level->left = object ? (uint64_t)token->size * 2 : token->size;
    w->in.pos = w->in.event + head;
    return PDR_OK;
}

/* May a token of this kind be a name, or a value? */
static bool fits(const struct mp_token *token, bool name)
{
    bool string = token->kind == MP_KIND_STR;

    if (token->kind == MP_KIND_EXT)
        string = token->type == MP_EXT_STRING;
    if (name || string)
        return string;
    if (token->kind == MP_KIND_EXT)
        return token->type == MP_EXT_NUMBER;
    return token->kind != MP_KIND_BIN && token->kind != MP_KIND_NEVER;
}

/* The token at the beginning of the event, and the length of its head. */
static pdr_rc read_head(struct mp_token *out, size_t *head, struct mp_walk *w,
                        pdr_err *err)
{
    pdr_rc rc = need(w, 1, err);

    if (rc != PDR_OK)
        return rc;
    *head = pdr__mp_head_len(*at_event(w));
    rc = need(w, *head, err);
    if (rc == PDR_OK)
        pdr__mp_head(out, at_event(w));
    return rc;
}

static pdr_rc read_item(pdr_event *event, pdr_value **value, struct mp_walk *w,
                        pdr_err *err)
{
    const struct mp_level *level =
        w->depth > 0 ? &w->levels[w->depth - 1] : NULL;
    bool name = level != NULL && level->object && level->left % 2 == 0;
    struct mp_token token = {.kind = MP_KIND_NIL};
    size_t head = 0;
    pdr_rc rc = read_head(&token, &head, w, err);

    if (rc != PDR_OK)
        return rc;
    if (!fits(&token, name))
        return refuse(w, &token, name, err);
    if (token.kind == MP_KIND_ARRAY || token.kind == MP_KIND_MAP) {
        *event = token.kind == MP_KIND_MAP ? PDR_BEGIN_OBJECT : PDR_BEGIN_ARRAY;
        return open_level(w, &token, head, err);
    }
    *event = name ? PDR_NAME : PDR_SCALAR;
    rc = make_scalar(value, w, &token, head, err);
    if (rc == PDR_OK)
        end_item(w);
    return rc;
}

pdr_rc pdr__mp_walk_next(pdr_event *event, pdr_value **value, void *self,
                         pdr_err *err)
{
    struct mp_walk *w = self;
    bool there = true;
    pdr_rc rc = PDR_OK;

    w->in.event = w->in.pos;
    if (w->depth > 0 && w->levels[w->depth - 1].left == 0) {
        *event = PDR_END;
        w->depth--;
        end_item(w);
        return PDR_OK;
    }
    if (w->complete)
        rc = begin_document(&there, w, err);
    if (rc != PDR_OK)
        return rc;
    if (!there) {
        *event = PDR_END_OF_INPUT;
        return PDR_OK;
    }
    return read_item(event, value, w, err);
}

/* --- whole values -------------------------------------------------------- */

/* Looks for the end of the container whose head is the event. */
struct mp_search {
    struct mp_level now; /* the container that the search is in */
    uint32_t depth;      /* levels that are open; those around `now` are kept in
                            w->levels, behind the ones of the walk */
    uint64_t nodes;      /* so far */
    size_t at;           /* bytes from the event on */
};

/* Pass a token, a string with its bytes; false if it cannot stand here, so that
 * no stream is kept for the sake of what is wrong already. */
static bool pass(struct mp_search *s, struct mp_walk *w,
                 const struct mp_token *token)
{
    bool object = token->kind == MP_KIND_MAP;
    bool name = s->now.object && s->now.left % 2 == 0;

    if (!fits(token, name) || ++s->nodes > w->limits.nodes)
        return false;
    s->now.left--;
    if (!object && token->kind != MP_KIND_ARRAY) {
        s->at += token->size;
        return true;
    }
    if (s->depth == w->limits.depth)
        return false;
    w->levels[s->depth++] = s->now;
    s->now.object = object;
    s->now.left = (uint64_t)token->size << object;
    return true;
}

/* Is a token to come? Leaves the containers that are complete. */
static bool goes_on(struct mp_search *s, const struct mp_walk *w)
{
    while (s->now.left == 0 && s->depth > w->depth)
        s->now = w->levels[--s->depth];
    return s->now.left > 0;
}

/* Where the container ends whose head is the event, in bytes from there, and
 * all of them in the window; 0 if it does not end as it should. Only heads are
 * looked at. */
static pdr_rc find_end(size_t *out, struct mp_walk *w, pdr_err *err)
{
    struct mp_search s = {w->levels[w->depth - 1], w->depth, 1,
                          w->in.pos - w->in.event};
    size_t most = w->limits.bytes, have = 0;
    pdr_rc rc = PDR_OK;

    *out = 0;
    if (w->records && w->record_end - pdr__mp_walk_offset(w) < (int64_t)most)
        most = (size_t)(w->record_end - pdr__mp_walk_offset(w));
    while (goes_on(&s, w)) {
        struct mp_token token = {.size = 0};
        rc = fetch(w, &have, s.at + 1, err);
        if (rc != PDR_OK || have <= s.at)
            return rc;
        size_t head = pdr__mp_head_len(at_event(w)[s.at]);
        rc = fetch(w, &have, s.at + head, err);
        if (rc != PDR_OK || have < s.at + head)
            return rc;
        pdr__mp_head(&token, at_event(w) + s.at);
        s.at += head;
        if (!pass(&s, w, &token) || s.at > most)
            return PDR_OK;
    }
    rc = fetch(w, &have, s.at, err);
    if (rc == PDR_OK && have >= s.at)
        *out = s.at;
    return rc;
}

static bool begins_container(unsigned char first)
{
    return (first >= MP_FIXMAP && first < MP_FIXSTR) ||
           (first >= MP_ARRAY16 && first <= MP_MAP32);
}

/* Through the reader, which is faster than events. What it refuses is left to
 * events: they know why. */
pdr_rc pdr__mp_walk_take(pdr_value **out, void *self, pdr_err *err)
{
    struct mp_walk *w = self;
    bool no_memory = false;
    size_t len = 0;

    if (!begins_container(*at_event(w)))
        return PDR_OK;
    pdr_rc rc = find_end(&len, w, err);
    if (rc != PDR_OK || len == 0)
        return rc;
    struct read_limits limits = w->limits;
    limits.depth -= w->depth - 1;
    *out = pdr__mp_read_quickly(pdr_str_n(w->in.buf.ptr + w->in.event, len),
                                &limits, &no_memory);
    if (no_memory)
        return pdr__nomem(err);
    if (*out == NULL)
        return PDR_OK;
    w->in.pos = w->in.event + len;
    w->depth--;
    end_item(w);
    return PDR_OK;
}
