/*
 * msgpack_write.c - values to MessagePack.
 *
 * WHY  A flat value is an array of nodes in document order, and MessagePack
 *      needs only heads with counts in that same order: so it is written in one
 *      loop over the nodes, without a stack. Only what was changed is walked.
 *
 * WHAT GOES HOW  A number goes natively if the text that we would write for its
 *      int64, uint64 or double is the text that is there; a string if our
 *      escaping gives the spelling that is there. Else their text goes into an
 *      extension, and nothing is lost. For exchange, the value decides instead
 *      of the spelling, and what has no native value is refused.
 */
#include "msgpack.h"

#include "number.h"

struct mp_writer {
    pdr_buf *out;
    bool bare, exchange;
    pdr_write_report *report; /* not NULL */
    pdr_buf scratch;          /* decoded text */
    const pdr_value *bad;     /* what was refused, or NULL */
    pdr_rc rc;
    pdr_err *err;
};

/* --- bytes --------------------------------------------------------------- */

/* Longest head of a token. */
#define HEAD_ROOM 16

/* Room for a head and `size` bytes; where they go, or NULL. */
static char *room_for(struct mp_writer *w, size_t size)
{
    if (w->rc == PDR_OK)
        w->rc = pdr__buf_room(w->out, size + HEAD_ROOM, w->err);
    return w->rc == PDR_OK ? w->out->ptr + w->out->len : NULL;
}

static void advance(struct mp_writer *w, const char *to)
{
    w->out->len = (size_t)(to - w->out->ptr);
}

static char *put_byte(char *to, unsigned byte)
{
    *to = (char)byte;
    return to + 1;
}

static char *put16(char *to, unsigned first, uint64_t n)
{
    to[0] = (char)first;
    to[1] = (char)(n >> 8);
    to[2] = (char)n;
    return to + 3;
}

static char *put32(char *to, unsigned first, uint64_t n)
{
    to[0] = (char)first;
    mp_store32(to + 1, (uint32_t)n);
    return to + 5;
}

static char *put64(char *to, unsigned first, uint64_t n)
{
    to[0] = (char)first;
    mp_store32(to + 1, (uint32_t)(n >> 32));
    mp_store32(to + 5, (uint32_t)n);
    return to + 9;
}

/* --- numbers ------------------------------------------------------------- */

static void put_uint(struct mp_writer *w, uint64_t n)
{
    char *to = room_for(w, 0);

    if (to == NULL)
        return;
    if (n <= MP_FIXINT_MAX)
        to = put_byte(to, (unsigned)n);
    else if (n <= UINT8_MAX)
        to = put_byte(put_byte(to, MP_UINT8), (unsigned)n);
    else if (n <= UINT16_MAX)
        to = put16(to, MP_UINT16, n);
    else if (n <= UINT32_MAX)
        to = put32(to, MP_UINT32, n);
    else
        to = put64(to, MP_UINT64, n);
    advance(w, to);
}

static void put_int(struct mp_writer *w, int64_t n)
{
    if (n >= 0) {
        put_uint(w, (uint64_t)n);
        return;
    }
    char *to = room_for(w, 0);
    if (to == NULL)
        return;
    if (n >= -32)
        to = put_byte(to, (unsigned)n & 0xFFu);
    else if (n >= INT8_MIN)
        to = put_byte(put_byte(to, MP_INT8), (unsigned)n & 0xFFu);
    else if (n >= INT16_MIN)
        to = put16(to, MP_INT16, (uint64_t)n);
    else if (n >= INT32_MIN)
        to = put32(to, MP_INT32, (uint64_t)n);
    else
        to = put64(to, MP_INT64, (uint64_t)n);
    advance(w, to);
}

static void put_double(struct mp_writer *w, double x)
{
    char *to = room_for(w, 0);
    uint64_t bits = 0;

    if (to == NULL)
        return;
    memcpy(&bits, &x, 8);
    if (x != x)
        bits = UINT64_C(0x7FF8000000000000); /* there is one NaN */
    advance(w, put64(to, MP_FLOAT64, bits));
}

static void put_ext(struct mp_writer *w, int type, pdr_str body)
{
    char *to = room_for(w, body.len);

    if (to == NULL)
        return;
    bool fixed =
        body.len > 0 && body.len <= 16 && (body.len & (body.len - 1)) == 0;
    if (fixed)
        to = put_byte(to, MP_FIXEXT1 + (unsigned)__builtin_ctzll(body.len));
    else if (body.len <= UINT8_MAX)
        to = put_byte(put_byte(to, MP_EXT8), (unsigned)body.len);
    else if (body.len <= UINT16_MAX)
        to = put16(to, MP_EXT16, body.len);
    else
        to = put32(to, MP_EXT32, body.len);
    to = put_byte(to, (unsigned)type);
    memcpy(to, body.ptr, body.len);
    advance(w, to + body.len);
}

static bool is_spelled_integer(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '-' && (text.ptr[i] < '0' || text.ptr[i] > '9'))
            return false;
    return true;
}

/* An integer that is spelled as we would, with few enough digits. */
static bool put_plain_integer(struct mp_writer *w, pdr_str text)
{
    bool negative = text.ptr[0] == '-';
    uint64_t n = 0;

    if (text.len - negative > 18)
        return false;
    for (size_t i = negative; i < text.len; i++) {
        unsigned digit = (unsigned)(text.ptr[i] - '0');
        if (digit > 9)
            return false;
        n = n * 10 + digit;
    }
    if (negative && n == 0)
        return false; /* -0 */
    put_int(w, negative ? -(int64_t)n : (int64_t)n);
    return true;
}

/* The spelling is that of an int64, uint64 or double. */
static bool put_as_spelled(struct mp_writer *w, pdr_str text)
{
    char ours[PDR__NUMBER_DOUBLE_BYTES];
    uint64_t n = 0;
    int64_t i = 0;
    double x = 0;

    if (put_plain_integer(w, text))
        return true;
    if (is_spelled_integer(text)) {
        /* No text has leading zeros, and -0 is no integer here. */
        if (pdr_str_equal(text, PDR_LIT("-0")))
            return false;
        if (pdr__number_int64(&i, text, NULL) == PDR_OK)
            put_int(w, i);
        else if (pdr__number_uint64(&n, text, NULL) == PDR_OK)
            put_uint(w, n);
        else
            return false;
        return true;
    }
    if (text.len > sizeof(ours) || pdr__number_double(&x, text, NULL) != PDR_OK)
        return false;
    size_t len = pdr__number_write_double(ours, x);
    if (!pdr_str_equal(text, pdr_str_n(ours, len)))
        return false;
    put_double(w, x);
    return true;
}

static void refuse_number(struct mp_writer *w, const pdr_value *v, bool range)
{
    char shown[PDR_SHOWN];

    pdr__shown(shown, node_span(v));
    w->bad = v;
    w->rc =
        range ? PDR_FAIL(w->err, NUMBER_RANGE,
                         "%s is beyond the numbers of MessagePack", shown)
              : PDR_FAIL(w->err, INEXACT_NUMBER,
                         "%s would change its value: no double has it", shown);
}

/* For exchange: any native number of the same value. A zero with a sign keeps
 * it, as a double. */
static void put_by_value(struct mp_writer *w, const pdr_value *v)
{
    pdr_str text = node_span(v);
    char ours[PDR__NUMBER_DOUBLE_BYTES];
    uint64_t n = 0;
    int64_t i = 0;
    double x = 0;

    if (pdr__number_int64(&i, text, NULL) == PDR_OK) {
        if (i == 0 && text.ptr[0] == '-')
            put_double(w, -0.0);
        else
            put_int(w, i);
    } else if (pdr__number_uint64(&n, text, NULL) == PDR_OK) {
        put_uint(w, n);
    } else if (is_spelled_integer(text) ||
               pdr__number_double(&x, text, NULL) != PDR_OK) {
        refuse_number(w, v, true);
    } else {
        size_t len = pdr__number_write_double(ours, x);
        if (pdr__number_equal_value(text, pdr_str_n(ours, len)))
            put_double(w, x);
        else
            refuse_number(w, v, false);
    }
    w->report->numbers += w->rc == PDR_OK;
}

static void put_bare(struct mp_writer *w, const pdr_value *v)
{
    pdr_str text = node_span(v);
    double x = 0;

    if (!w->bare) {
        w->bad = v;
        w->rc = PDR_FAIL(w->err, BARE_TOKEN,
                         "%.*s is no JSON; it is written only when asked for",
                         (int)text.len, text.ptr);
        return;
    }
    (void)pdr__number_double(&x, text, NULL); /* a token is always one */
    put_double(w, x);
}

static void put_number(struct mp_writer *w, const pdr_value *v)
{
    if (v->info & NODE_FLAG)
        put_bare(w, v);
    else if (put_as_spelled(w, node_span(v)))
        return;
    else if (w->exchange)
        put_by_value(w, v);
    else
        put_ext(w, MP_EXT_NUMBER, node_span(v));
}

/* --- strings ------------------------------------------------------------- */

static void put_str(struct mp_writer *w, pdr_str text)
{
    char *to = room_for(w, text.len);

    if (to == NULL)
        return;
    if (text.len < 32)
        to = put_byte(to, MP_FIXSTR | (unsigned)text.len);
    else if (text.len <= UINT8_MAX)
        to = put_byte(put_byte(to, MP_STR8), (unsigned)text.len);
    else if (text.len <= UINT16_MAX)
        to = put16(to, MP_STR16, text.len);
    else
        to = put32(to, MP_STR32, text.len);
    memcpy(to, text.ptr, text.len);
    advance(w, to + text.len);
}

/* A string with escapes. */
static void put_escaped(struct mp_writer *w, const pdr_value *v, pdr_str inner)
{
    bool ours = pdr__text_is_ours(inner);
    pdr_str text = inner;

    if (!ours && !w->exchange) {
        put_ext(w, MP_EXT_STRING, inner);
        return;
    }
    assert((v->info & NODE_LONE) == 0); /* not ours; refused for exchange */
    w->rc = pdr__value_name_bytes(&text, v, &w->scratch, w->err);
    put_str(w, text);
    w->report->strings += w->rc == PDR_OK && !ours;
}

/* `text` is that of the block. */
static inline void put_string(struct mp_writer *w, const pdr_value *v,
                              const char *text)
{
    pdr_str inner = pdr_str_n(text + v->start + 1, v->len - 2);

    if (PDR_LIKELY((v->info & NODE_FLAG) == 0))
        put_str(w, inner);
    else
        put_escaped(w, v, inner);
}

/* --- values -------------------------------------------------------------- */

static void put_head(struct mp_writer *w, const pdr_value *v)
{
    size_t count = pdr_value_count(v);
    bool object = pdr_value_kind(v) == PDR_OBJECT;
    char *to = room_for(w, 0);

    if (to == NULL)
        return;
    if (count < 16)
        to = put_byte(to, (object ? MP_FIXMAP : MP_FIXARRAY) | (unsigned)count);
    else if (count <= UINT16_MAX)
        to = put16(to, object ? MP_MAP16 : MP_ARRAY16, count);
    else
        to = put32(to, object ? MP_MAP32 : MP_ARRAY32, count);
    advance(w, to);
}

static void put_one(struct mp_writer *w, unsigned byte)
{
    char *to = room_for(w, 0);

    if (to != NULL)
        advance(w, put_byte(to, byte));
}

/* All nodes of a flat value, one after the other. */
static void put_flat(struct mp_writer *w, const pdr_value *v)
{
    const char *text = node_block(v)->text;

    for (const pdr_value *end = node_next(v); v < end && w->rc == PDR_OK; v++) {
        switch (node_kind(v)) {
        case NODE_STRING:
            put_string(w, v, text);
            break;
        case NODE_NUMBER:
            put_number(w, v);
            break;
        case NODE_NULL:
            put_one(w, MP_NIL);
            break;
        case NODE_BOOL:
            put_one(w, (v->info & NODE_FLAG) != 0 ? MP_TRUE : MP_FALSE);
            break;
        case NODE_ARRAY:
        case NODE_OBJECT:
            put_head(w, v);
            break;
        case NODE_CHANGED_ARRAY:
        case NODE_CHANGED_OBJECT:
            assert(false); /* no node of a flat value */
        }
    }
}

static void put_value(struct mp_writer *w, const pdr_value *v)
{
    pdr_iter it;

    if (!node_is_changed(v)) {
        put_flat(w, v);
        return;
    }
    put_head(w, v);
    pdr_iter_init(&it, v);
    while (w->rc == PDR_OK && pdr_iter_next(&it)) {
        if (it.name != NULL)
            put_flat(w, it.name);
        put_value(w, it.value);
    }
}

/* --- exchange ------------------------------------------------------------ */

/* What other programs cannot hold: see pdr_value_inspect(). */
static pdr_rc refuse_finding(const pdr_finding *finding, pdr_err *err,
                             void *arg)
{
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    (void)arg;
    if (finding->kind == PDR_FOUND_DUPLICATE)
        rc = PDR_FAIL(err, DUPLICATE_NAME,
                      "the object has this name twice, others would keep one");
    else
        rc = PDR_FAIL(err, LONE_SURROGATE,
                      "half a surrogate pair, which has no UTF-8 form");
    if (pdr__text_encode(&path, finding->pointer, NULL) == PDR_OK)
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
    return rc;
}

pdr_rc pdr__mp_write(pdr_buf *out, const pdr_value *value,
                     const pdr_write_opts *opts, pdr_err *err)
{
    pdr_write_report none = {0, 0};
    struct mp_writer w = {.out = out,
                          .report = opts->report ? opts->report : &none,
                          .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                          .rc = PDR_OK,
                          .err = err};

    w.bare = (opts->flags & PDR_BARE_TOKENS) != 0;
    w.exchange = (opts->flags & PDR_EXCHANGE) != 0;
    if (w.exchange)
        w.rc = pdr_value_inspect(value, err, refuse_finding, NULL);
    if (w.rc == PDR_OK)
        put_value(&w, value);
    if (w.bad != NULL)
        pdr__value_place(err, value, w.bad);
    pdr_buf_dispose(&w.scratch);
    return w.rc;
}
