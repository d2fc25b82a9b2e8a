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
    pdr_write_report report;
    pdr_buf scratch;      /* decoded text */
    const pdr_value *bad; /* what was refused, or NULL */
    pdr_rc rc;
    pdr_err *err;
};

/* --- heads --------------------------------------------------------------- */

/* All give the byte behind what they wrote. HEAD_ROOM bytes are there. */
#define HEAD_ROOM 16

static inline char *head8(char *to, unsigned first, unsigned n)
{
    to[0] = (char)first;
    to[1] = (char)n;
    return to + 2;
}

static inline char *head16(char *to, unsigned first, uint64_t n)
{
    to[0] = (char)first;
    to[1] = (char)(n >> 8);
    to[2] = (char)n;
    return to + 3;
}

static inline char *head32(char *to, unsigned first, uint64_t n)
{
    to[0] = (char)first;
    mp_store32(to + 1, (uint32_t)n);
    return to + 5;
}

static char *head64(char *to, unsigned first, uint64_t n)
{
    to[0] = (char)first;
    mp_store32(to + 1, (uint32_t)(n >> 32));
    mp_store32(to + 5, (uint32_t)n);
    return to + 9;
}

static inline char *uint_head(char *to, uint64_t n)
{
    if (n <= MP_FIXINT_MAX) {
        *to = (char)n;
        return to + 1;
    }
    if (n <= UINT8_MAX)
        return head8(to, MP_UINT8, (unsigned)n);
    if (n <= UINT16_MAX)
        return head16(to, MP_UINT16, n);
    return n <= UINT32_MAX ? head32(to, MP_UINT32, n)
                           : head64(to, MP_UINT64, n);
}

static char *int_head(char *to, int64_t n)
{
    uint64_t bits = (uint64_t)n;

    if (n >= 0)
        return uint_head(to, bits);
    if (n >= -32) {
        *to = (char)bits;
        return to + 1;
    }
    if (n >= INT8_MIN)
        return head8(to, MP_INT8, (unsigned)bits & 0xFFu);
    if (n >= INT16_MIN)
        return head16(to, MP_INT16, bits);
    return n >= INT32_MIN ? head32(to, MP_INT32, bits)
                          : head64(to, MP_INT64, bits);
}

static char *double_head(char *to, double x)
{
    uint64_t bits = UINT64_C(0x7FF8000000000000); /* there is one NaN */

    if (x == x)
        memcpy(&bits, &x, 8);
    return head64(to, MP_FLOAT64, bits);
}

static inline char *str_head(char *to, size_t len)
{
    if (len <= UINT8_MAX)
        return head8(to, MP_STR8, (unsigned)len);
    return len <= UINT16_MAX ? head16(to, MP_STR16, len)
                             : head32(to, MP_STR32, len);
}

static char *ext_head(char *to, int type, size_t len)
{
    bool fixed = len > 0 && len <= 16 && (len & (len - 1)) == 0;

    if (fixed)
        *to++ = (char)(MP_FIXEXT1 + __builtin_ctzll(len));
    else if (len <= UINT8_MAX)
        to = head8(to, MP_EXT8, (unsigned)len);
    else if (len <= UINT16_MAX)
        to = head16(to, MP_EXT16, len);
    else
        to = head32(to, MP_EXT32, len);
    *to = (char)type;
    return to + 1;
}

static inline char *container_head(char *to, bool object, size_t count)
{
    if (count < 16) {
        *to = (char)((object ? MP_FIXMAP : MP_FIXARRAY) | count);
        return to + 1;
    }
    return count <= UINT16_MAX
               ? head16(to, object ? MP_MAP16 : MP_ARRAY16, count)
               : head32(to, object ? MP_MAP32 : MP_ARRAY32, count);
}

/* --- bytes --------------------------------------------------------------- */

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

static void put_body(struct mp_writer *w, char *to, pdr_str body)
{
    memcpy(to, body.ptr, body.len);
    advance(w, to + body.len);
}

static void put_str(struct mp_writer *w, pdr_str text)
{
    char *to = room_for(w, text.len);

    if (to == NULL)
        return;
    if (text.len >= 32)
        to = str_head(to, text.len);
    else
        *to++ = (char)(MP_FIXSTR | text.len);
    put_body(w, to, text);
}

static void put_ext(struct mp_writer *w, int type, pdr_str body)
{
    char *to = room_for(w, body.len);

    if (to != NULL)
        put_body(w, ext_head(to, type, body.len), body);
}

static void put_int(struct mp_writer *w, int64_t n)
{
    char *to = room_for(w, 0);

    if (to != NULL)
        advance(w, int_head(to, n));
}

static void put_uint(struct mp_writer *w, uint64_t n)
{
    char *to = room_for(w, 0);

    if (to != NULL)
        advance(w, uint_head(to, n));
}

static void put_double(struct mp_writer *w, double x)
{
    char *to = room_for(w, 0);

    if (to != NULL)
        advance(w, double_head(to, x));
}

/* --- numbers ------------------------------------------------------------- */

static bool is_spelled_integer(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '-' && (text.ptr[i] < '0' || text.ptr[i] > '9'))
            return false;
    return true;
}

/* A natural number of up to 18 digits. No text has leading zeros. */
static inline bool read_natural(uint64_t *out, const char *text, size_t len)
{
    uint64_t n = 0;

    if (len > 18)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (digit > 9)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

/* The spelling is that of an int64, uint64 or double. */
static bool put_as_spelled(struct mp_writer *w, pdr_str text)
{
    char ours[PDR__NUMBER_DOUBLE_BYTES];
    uint64_t n = 0;
    int64_t i = 0;
    double x = 0;

    if (is_spelled_integer(text)) {
        if (pdr_str_equal(text, PDR_LIT("-0")))
            return false; /* no integer here */
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

/* For exchange: a native number of the same value. What readers of JSON take
 * for a double is one, unless its shortest text would have another value. */
static void put_by_value(struct mp_writer *w, const pdr_value *v)
{
    pdr_str text = node_span(v);
    char ours[PDR__NUMBER_DOUBLE_BYTES];
    uint64_t n = 0;
    int64_t i = 0;
    double x = 0;
    bool real = !is_spelled_integer(text) &&
                pdr__number_double(&x, text, NULL) == PDR_OK;
    size_t len = real ? pdr__number_write_double(ours, x) : 0;

    if (real && pdr__number_equal_value(text, pdr_str_n(ours, len)))
        put_double(w, x);
    else if (pdr_str_equal(text, PDR_LIT("-0")))
        put_double(w, -0.0);
    else if (pdr__number_int64(&i, text, NULL) == PDR_OK)
        put_int(w, i);
    else if (pdr__number_uint64(&n, text, NULL) == PDR_OK)
        put_uint(w, n);
    else
        refuse_number(w, v, !real);
    w->report.numbers += w->rc == PDR_OK;
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
    w->report.strings += w->rc == PDR_OK && !ours;
}

/* --- values -------------------------------------------------------------- */

/* Short bodies are copied in one piece of this size, whatever their length. */
#define SHORT_COPY 32

/* Room that is asked for beyond what is filled, at most. */
#define MAX_STEP (HEAD_ROOM + SHORT_COPY)

/* A node that the loop does not handle where it meets it. */
static __attribute__((noinline)) void put_other(struct mp_writer *w,
                                                const pdr_value *v,
                                                pdr_str span)
{
    pdr_str inner = pdr_str_n(span.ptr + 1, span.len - 2);

    if (node_kind(v) == NODE_NUMBER)
        put_number(w, v);
    else if (v->info & NODE_FLAG)
        put_escaped(w, v, inner);
    else
        put_str(w, inner);
}

/* What the loop handles itself: scalars without a body, heads of containers,
 * short strings and short integers. NULL if the node is none of these. Nodes
 * that begin before `safe` have SHORT_COPY bytes of text behind them. */
static inline char *put_quickly(char *to, const pdr_value *v, const char *text,
                                size_t safe)
{
    const char *at = text + v->start;
    size_t len = v->len;
    uint64_t n = 0;

    switch (v->info & (NODE_KIND_MASK | NODE_FLAG)) {
    case NODE_STRING:
        if (PDR_UNLIKELY(len - 2 >= SHORT_COPY || v->start >= safe))
            return NULL;
        *to = (char)(MP_FIXSTR | (len - 2));
        memcpy(to + 1, at + 1, SHORT_COPY);
        return to + len - 1;
    case NODE_NUMBER:
        return read_natural(&n, at, len) ? uint_head(to, n) : NULL;
    case NODE_NULL:
        *to = (char)MP_NIL;
        return to + 1;
    case NODE_BOOL:
        *to = (char)MP_FALSE;
        return to + 1;
    case NODE_BOOL | NODE_FLAG:
        *to = (char)MP_TRUE;
        return to + 1;
    case NODE_ARRAY:
    case NODE_ARRAY | NODE_FLAG:
        return container_head(to, false, node_count(v));
    case NODE_OBJECT:
    case NODE_OBJECT | NODE_FLAG:
        return container_head(to, true, node_count(v));
    default:
        return NULL;
    }
}

/* All nodes of a flat value, one after the other. */
static void put_flat(struct mp_writer *w, const pdr_value *v)
{
    const struct block *block = node_block(v);
    const pdr_value *end = node_next(v);
    size_t safe =
        block->text_len > SHORT_COPY + 1 ? block->text_len - SHORT_COPY - 1 : 0;

    while (v < end) {
        char *to = room_for(w, SHORT_COPY), *behind = to;
        if (to == NULL)
            return;
        char *room = w->out->ptr + w->out->cap - MAX_STEP;

        while (v < end && to <= room) {
            behind = put_quickly(to, v, block->text, safe);
            if (PDR_UNLIKELY(behind == NULL))
                break;
            to = behind;
            v++;
        }
        advance(w, to);
        if (behind == NULL) {
            put_other(w, v, pdr_str_n(block->text + v->start, v->len));
            v++;
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
    char *to = room_for(w, 0);
    if (to != NULL)
        advance(w, container_head(to, pdr_value_kind(v) == PDR_OBJECT,
                                  pdr_value_count(v)));
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

/* --- the edge ------------------------------------------------------------ */

/* All of it, in steps that take more room than they fill. */
static void put_all(struct mp_writer *w, const pdr_value *value)
{
    pdr_buf *out = w->out;
    size_t max = out->max;

    out->max = max < SIZE_MAX - MAX_STEP ? max + MAX_STEP : SIZE_MAX;
    put_value(w, value);
    out->max = max;
    out->cap = out->cap < max ? out->cap : max;
    if (w->rc == PDR_OK && out->len > max)
        w->rc = PDR_FAIL(w->err, BUFFER_FULL,
                         "the document does not fit into %zu bytes", max);
}

pdr_rc pdr__mp_write(pdr_buf *out, const pdr_value *value,
                     const pdr_write_opts *opts, pdr_err *err)
{
    struct mp_writer w = {.out = out,
                          .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                          .rc = PDR_OK,
                          .err = err};

    w.bare = (opts->flags & PDR_BARE_TOKENS) != 0;
    w.exchange = (opts->flags & PDR_EXCHANGE) != 0;
    if (w.exchange)
        w.rc = pdr_value_inspect(value, err, refuse_finding, NULL);
    if (w.rc == PDR_OK)
        put_all(&w, value);
    if (w.bad != NULL)
        pdr__value_place(err, value, w.bad);
    if (w.rc == PDR_OK && opts->report != NULL) {
        opts->report->numbers += w.report.numbers;
        opts->report->strings += w.report.strings;
    }
    pdr_buf_dispose(&w.scratch);
    return w.rc;
}
