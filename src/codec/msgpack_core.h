/*
 * msgpack_core.h - the reader's loop, compiled once per kernel. See
 * msgpack_read.c for what it works on and for M1 to M6.
 *
 * The file that includes it defines
 *
 *   KERNEL      the name of the function
 *   TEXT_AVX2   if it is called on processors with AVX2 only (text_plain.h)
 *   TEXT_WORDS  if it is to use nothing but plain words
 */
#include "number.h"
#include "text_plain.h"

/* --- the loop ------------------------------------------------------------ */

/* What one item takes at most, that is a name and a value, if both are read
 * quickly: heads of one byte, strings of up to 31 bytes of which 32 are copied,
 * with quotes and separators. */
#define ITEM_INPUT_BITS 7 /* 66 bytes, as a power of two */
#define ITEM_TEXT_BITS  7 /* 70 bytes, as a power of two */
#define SHORT_MAX       31

/* Hand the loop's variables to a function that works on `r`, and take them
 * back. */
#define SAVE() (r->p = p, r->to = text + to, r->count = count)
#define LOAD()                                                                \
    (p = r->p, text = r->text, to = (size_t)(r->to - text), nodes = r->nodes, \
     node = nodes + count)

#define PUT_NODE(start_, len_, bits_)     \
    do {                                  \
        node->start = (uint32_t)(start_); \
        node->len = (uint32_t)(len_);     \
        node->info = (uint32_t)(bits_);   \
        node->link = count;               \
        node++;                           \
        count++;                          \
    } while (0)

/* The short string at p, if it is plain: write it with two bytes behind it,
 * then go on at `then`. */
#define TAKE_SHORT(behind_, then_)                                            \
    do {                                                                      \
        if (PDR_LIKELY(                                                       \
                text_copy_short(text + to + 1, (const char *)p + 1, size))) { \
            PUT_NODE(to, size + 2, NODE_STRING);                              \
            to += size + 3;                                                   \
            memcpy(text + to - 2, behind_, 4);                                \
            p += size + 1;                                                    \
            goto then_;                                                       \
        }                                                                     \
    } while (0)

/* A number of up to five digits; gives how many. */
static inline size_t put_small(char *to, unsigned n)
{
    size_t digits = 1u + (n >= 10) + (n >= 100) + (n >= 1000) + (n >= 10000);

    for (size_t at = digits; at-- > 0; n /= 10)
        to[at] = (char)('0' + n % 10);
    return digits;
}

static inline size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Long on purpose: a state machine whose states are labels. Cut into functions,
 * its variables would travel through memory at every token, because what is
 * written could be any of them for all the compiler knows. */
TEXT_TARGET bool KERNEL(struct mp_reader *r)
{
    const unsigned char *p = r->p, *const end = r->end;
    char *text = r->text;
    size_t to = 0;                              /* bytes of text so far */
    pdr_value *nodes = r->nodes, *node = nodes; /* the next one to write */
    uint32_t count = 0;                         /* nodes so far */
    uint32_t open = MP_NONE;                    /* innermost open container */
    uint32_t left = 1; /* its children that did not come yet; or the root */
    uint32_t size = 0, info = 0;
    bool in_object = false, is_name = false, object = false;
    struct mp_token token;
    size_t budget = 0, start = 0;

    text[0] = '"';
item: /* the next one of a container, or the root (M5) */
    if (PDR_UNLIKELY(budget == 0)) {
        if (PDR_UNLIKELY(r->room - (text + to) < 1 << ITEM_TEXT_BITS ||
                         r->cap - count < 2)) {
            SAVE();
            if ((r->cap - count < 2 && !pdr__mp_grow_nodes(r)) ||
                !mp_room_for_text(r, 1 << ITEM_TEXT_BITS))
                return false;
            LOAD();
        }
        budget = least_of((size_t)(r->room - (text + to)) >> ITEM_TEXT_BITS,
                          (r->cap - count) / 2);
        budget = least_of(budget, (size_t)(end - p) >> ITEM_INPUT_BITS);
        if (PDR_UNLIKELY(budget == 0)) { /* near the end of the input */
            is_name = in_object;
            goto any;
        }
    }
    budget--;
    size = (uint32_t)*p - MP_FIXSTR;
    if (in_object) {
        if (PDR_LIKELY(size <= SHORT_MAX))
            TAKE_SHORT("\":\"", value);
        is_name = true;
        goto any;
    }

value: /* with as much left as the budget promised */
    size = (uint32_t)*p - MP_FIXSTR;
    if (size <= SHORT_MAX)
        TAKE_SHORT("\",\"", next);
    is_name = false;
    start = to;
    if (*p <= MP_FIXINT_MAX) {
        to += put_small(text + to, *p++);
        info = NODE_NUMBER;
        goto scalar;
    }
    if (*p < MP_FIXSTR) {
        object = *p < MP_FIXARRAY;
        size = *p++ & 15u;
        if (PDR_UNLIKELY(r->depth == r->limits.depth))
            return false;
        if (size > 0)
            goto container;
        if (r->depth >= r->height)
            r->height = r->depth + 1;
        PUT_NODE(start, 2, object ? NODE_OBJECT : NODE_ARRAY);
        memcpy(text + to, object ? "{},\"" : "[],\"", 4);
        to += 3;
        goto next;
    }
    switch (*p) {
    case MP_FALSE:
        p++;
        memcpy(text + to, "false,\"", 7);
        to += 6;
        PUT_NODE(start, 5, NODE_BOOL);
        goto next;
    case MP_TRUE:
        p++;
        memcpy(text + to, "true,\"", 6);
        to += 5;
        PUT_NODE(start, 4, NODE_BOOL | NODE_FLAG);
        goto next;
    case MP_UINT8:
        to += put_small(text + to, p[1]);
        p += 2;
        info = NODE_NUMBER;
        goto scalar;
    case MP_UINT16:
        to += put_small(text + to, mp_load16(p + 1));
        p += 3;
        info = NODE_NUMBER;
        goto scalar;
    case MP_FLOAT64: {
        double real = mp_double(mp_load64(p + 1));
        if (!mp_is_finite(real))
            break;
        to += pdr__number_write_double(text + to, real);
        p += 9;
        info = NODE_NUMBER;
        goto scalar;
    }
    case MP_STR8:
        size = p[1];
        p += 2;
        goto string;
    case MP_STR16:
        size = mp_load16(p + 1);
        p += 3;
        goto string;
    default:
        break;
    }

any: /* a name or a value, with nothing promised but room for a scalar */
    if (PDR_UNLIKELY(p == end))
        return false;
    SAVE();
    start = to;
    if (!pdr__mp_put_token(r, &token, &info, is_name))
        return false;
    LOAD();
    size = token.size;
    object = token.kind == MP_KIND_MAP;
    if (token.kind == MP_KIND_STR)
        goto string;
    if (token.kind == MP_KIND_EXT)
        budget = 0;
    if (!object && token.kind != MP_KIND_ARRAY)
        goto scalar;
    if (r->depth == r->limits.depth || size > PDR_MAX_NODES ||
        (size_t)size << object > (size_t)(end - p)) /* M3 */
        return false;
    r->large += size >= PDR_INDEX_MIN;
    if (size > 0)
        goto container;
    if (r->depth >= r->height)
        r->height = r->depth + 1;
    info = object ? NODE_OBJECT : NODE_ARRAY;
    memcpy(text + to, object ? "{}" : "[]", 2);
    to += 2;

scalar:
    PUT_NODE(start, to - start, info);
    if (is_name) {
        text[to++] = ':';
        is_name = false;
        goto any; /* a long name may have used up what was promised */
    }
    memcpy(text + to++, ",\"", 2);
next: /* behind a value and a comma */
    if (PDR_LIKELY(--left > 0))
        goto item;
    to--;
    if (PDR_UNLIKELY(open == MP_NONE))
        goto done;

close : {
    pdr_value *closed = &nodes[open];

    text[to++] = in_object ? '}' : ']';
    closed->len = (uint32_t)to - closed->start;
    open = closed->link;
    closed->link = count;
    r->depth--;
    if (PDR_UNLIKELY(open == MP_NONE))
        goto done;
    if (PDR_UNLIKELY(text + to > r->room)) { /* a row of brackets */
        SAVE();
        if (!pdr__mp_grow_text(r, 0))
            return false;
        LOAD();
        budget = 0;
    }
    left = nodes[open].len;
    in_object = node_kind(&nodes[open]) == NODE_OBJECT;
    if (left == 0)
        goto close;
    memcpy(text + to++, ",\"", 2);
    goto item;
}

container: /* that has children */
    if (PDR_LIKELY(open != MP_NONE))
        nodes[open].len = left - 1; /* M2 */
    r->depth++;
    if (r->depth > r->height)
        r->height = r->depth;
    memcpy(text + to++, object ? "{\"" : "[\"", 2);
    node->start = (uint32_t)start;
    node->info = (object ? NODE_OBJECT : NODE_ARRAY) | size << NODE_COUNT_SHIFT;
    node->link = open; /* M2 */
    node++;
    open = count++;
    left = size;
    in_object = object;
    goto item;

string : {
    const char *from = (const char *)p, *const stop = from + size;
    size_t rest = (size_t)(end - p);

    if (PDR_UNLIKELY(size > rest)) /* M3 */
        return false;
    if (PDR_UNLIKELY(r->room - (text + to) < (ptrdiff_t)size)) {
        SAVE();
        if (!pdr__mp_grow_text(r, size))
            return false;
        LOAD();
    }
    info = NODE_STRING;
    text[to++] = '"';
    rest -= size; /* bytes behind it */
    while (from < stop) {
        size_t len = (size_t)(stop - from);
        len = PDR_LIKELY(rest >= TEXT_STEP)
                  ? text_copy_plain(text + to, from, len)
                  : text_copy_plain_exactly(text + to, from, len);
        to += len;
        from += len;
        while (from < stop && (unsigned char)*from >= 0x80) {
            len = pdr__utf8_len(from, stop);
            if (PDR_UNLIKELY(len == 0))
                return false;
            if (PDR_LIKELY(rest >= PDR_UTF8_MAX)) /* whatever its length */
                memcpy(text + to, from, PDR_UTF8_MAX);
            else
                memcpy(text + to, from, len);
            to += len;
            from += len;
        }
        if (from == stop || text_is_plain(*from))
            continue;
        SAVE();
        if (!mp_room_for_text(r, 6 + (size_t)(stop - from)))
            return false;
        LOAD();
        to += pdr__text_encode_byte(text + to, (unsigned char)*from++);
        info |= NODE_FLAG;
    }
    p = (const unsigned char *)stop;
    text[to++] = '"';
    budget = 0;
    goto scalar;
}

done:
    SAVE();
    return p == end;
}
