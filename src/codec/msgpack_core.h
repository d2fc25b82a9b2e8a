/*
 * msgpack_core.h - the reader's loop, compiled once per kernel. See
 * msgpack_read.c for what it works on and for M1 to M3.
 *
 * The file that includes it defines
 *
 *   KERNEL      the name of the function
 *   TEXT_AVX2   if it is called on processors with AVX2 only (text_plain.h)
 *   TEXT_WORDS  if it is to use nothing but plain words
 */
#include "number.h"
#include "text_plain.h"

/* --- text that is not plain ---------------------------------------------- */

/* The rest of a string from `from` on, which is not plain: UTF-8, and what
 * needs an escape. There is room for all of it as it is, and `slack` bytes of
 * input lie behind it. *info gets NODE_FLAG for an escape. */
TEXT_TARGET static __attribute__((noinline)) bool copy_special(
    struct mp_reader *r, const char *from, const char *end, size_t slack,
    uint32_t *info)
{
    const char *p = from;
    char *to = r->to;

    while (p < end) {
        if ((unsigned char)*p >= 0x80) {
            size_t len = pdr__utf8_len(p, end);
            if (len == 0)
                return false;
            if (PDR_LIKELY(slack >= PDR_UTF8_MAX)) /* at once, whatever len */
                memcpy(to, p, PDR_UTF8_MAX);
            else
                memcpy(to, p, len);
            to += len;
            p += len;
        } else if (text_is_plain(*p)) {
            size_t plain =
                slack >= TEXT_STEP
                    ? text_copy_plain(to, p, (size_t)(end - p))
                    : text_copy_plain_exactly(to, p, (size_t)(end - p));
            to += plain;
            p += plain;
        } else {
            r->to = to; /* room for the escape and for the rest as it is */
            if (!mp_room_for_text(r, 6 + (size_t)(end - p)))
                return false;
            to = r->to + pdr__text_encode_byte(r->to, (unsigned char)*p++);
            *info |= NODE_FLAG;
        }
    }
    r->to = to;
    return true;
}

/* --- the loop ------------------------------------------------------------ */

/* What one item takes at most, that is a name and a value, if both are read
 * quickly: heads of one byte, strings of up to 31 bytes of which 32 are copied,
 * with quotes and separators. */
#define ITEM_INPUT 66
#define ITEM_TEXT  70
#define SHORT_MAX  31

/* Hand the loop's variables to a function that works on `r`, and take them
 * back. */
#define SAVE() (r->p = p, r->to = to, r->count = count)
#define LOAD()                                               \
    (p = r->p, to = r->to, text = r->text, nodes = r->nodes, \
     node = nodes + count)

#define PUT_NODE(start_, len_, bits_)                               \
    do {                                                            \
        node_put(node, (uint64_t)(start_) | (uint64_t)(len_) << 32, \
                 (uint64_t)(bits_) | (uint64_t)count << 32);        \
        node++;                                                     \
        count++;                                                    \
    } while (0)

/* The short string at p, if it is plain: write it with two bytes behind it,
 * then go on at `then`. */
#define TAKE_SHORT(behind_, then_)                                       \
    do {                                                                 \
        size_t short_ = *p & SHORT_MAX;                                  \
        if (PDR_LIKELY(                                                  \
                text_copy_short(to + 1, (const char *)p + 1, short_))) { \
            PUT_NODE(to - text, short_ + 2, NODE_STRING);                \
            *to = '"';                                                   \
            memcpy(to + 1 + short_, behind_, 2);                         \
            p += 1 + short_;                                             \
            to += 3 + short_;                                            \
            goto then_;                                                  \
        }                                                                \
    } while (0)

/* Items that can be read quickly before anything has to be looked at again. */
static inline size_t budget_of(const struct mp_reader *r)
{
    size_t input = (size_t)(r->end - r->p) / ITEM_INPUT;
    size_t text = r->to < r->room ? (size_t)(r->room - r->to) / ITEM_TEXT : 0;
    size_t nodes = (r->cap - r->count) / 2;
    size_t least = input < text ? input : text;

    return least < nodes ? least : nodes;
}

/* Long on purpose: a state machine whose states are labels. Cut into functions,
 * its variables would travel through memory at every token, because what is
 * written could be any of them for all the compiler knows. */
TEXT_TARGET bool KERNEL(struct mp_reader *r)
{
    const unsigned char *p = r->p, *const end = r->end;
    char *text = r->text, *to = text;
    pdr_value *nodes = r->nodes, *node = nodes; /* the next one to write */
    uint32_t count = 0;                         /* nodes so far */
    uint32_t open = MP_NONE;                    /* innermost open container */
    uint32_t left = 1; /* its children that did not come yet; or the root */
    uint32_t depth = 0, height = 0, size = 0, info = 0;
    const uint32_t max_depth = r->limits.depth;
    bool in_object = false, is_name = false, object = false;
    struct mp_token token;
    size_t budget = 0, start = 0;

item: /* the next one of a container, or the root */
    if (PDR_UNLIKELY(budget == 0)) {
        SAVE();
        if (r->cap - count < 2 && !pdr__mp_grow_nodes(r))
            return false;
        if (!mp_room_for_text(r, ITEM_TEXT))
            return false;
        budget = budget_of(r);
        LOAD();
        if (budget == 0) { /* near the end of the input */
            is_name = in_object;
            goto any;
        }
    }
    budget--;
    if (in_object) {
        if (PDR_LIKELY((*p & 0xE0u) == MP_FIXSTR))
            TAKE_SHORT("\":", value);
        is_name = true;
        goto any;
    }

value: /* with as much left as the budget promised */
    if ((*p & 0xE0u) == MP_FIXSTR)
        TAKE_SHORT("\",", next);
    is_name = false;
    start = (size_t)(to - text);
    if (*p >= MP_FIXMAP && *p < MP_FIXSTR) {
        object = *p < MP_FIXARRAY;
        size = *p++ & 15u;
        if (PDR_UNLIKELY(depth == max_depth))
            return false;
        if (size > 0)
            goto container;
        height = depth >= height ? depth + 1 : height;
        PUT_NODE(start, 2, object ? NODE_OBJECT : NODE_ARRAY);
        memcpy(to, object ? "{}," : "[],", 3);
        to += 3;
        goto next;
    }
    switch (*p) {
    case MP_FALSE:
        p++;
        memcpy(to, "false,", 6);
        to += 6;
        PUT_NODE(start, 5, NODE_BOOL);
        goto next;
    case MP_TRUE:
        p++;
        memcpy(to, "true,", 5);
        to += 5;
        PUT_NODE(start, 4, NODE_BOOL | NODE_FLAG);
        goto next;
    case MP_UINT16:
        to += pdr__number_write_uint64(to, mp_load16(p + 1));
        p += 3;
        info = NODE_NUMBER;
        goto scalar;
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
    start = (size_t)(to - text);
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
    if (depth == max_depth || size > PDR_MAX_NODES ||
        (size_t)size << object > (size_t)(end - p)) /* M3 */
        return false;
    r->large += size >= PDR_INDEX_MIN;
    if (size > 0)
        goto container;
    height = depth >= height ? depth + 1 : height;
    info = object ? NODE_OBJECT : NODE_ARRAY;
    memcpy(to, object ? "{}" : "[]", 2);
    to += 2;

scalar:
    PUT_NODE(start, (size_t)(to - text) - start, info);
    if (is_name) {
        *to++ = ':';
        is_name = false;
        goto any; /* a long name may have used up what was promised */
    }
    *to++ = ',';
next: /* behind a value and a comma */
    if (PDR_LIKELY(--left > 0))
        goto item;
    to--;
    if (PDR_UNLIKELY(open == MP_NONE))
        goto done;

close : {
    pdr_value *closed = &nodes[open];
    uint32_t around = closed->link;

    *to++ = in_object ? '}' : ']';
    closed->len = (uint32_t)((size_t)(to - text) - closed->start);
    closed->link = count;
    depth--;
    open = around;
    if (PDR_UNLIKELY(open == MP_NONE))
        goto done;
    if (PDR_UNLIKELY(to > r->room)) { /* a row of brackets */
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
    *to++ = ',';
    goto item;
}

container: /* that has children */
    if (PDR_LIKELY(open != MP_NONE))
        nodes[open].len = left - 1; /* M2 */
    depth++;
    height = depth > height ? depth : height;
    node_put(node, start,
             ((object ? NODE_OBJECT : NODE_ARRAY) | size << NODE_COUNT_SHIFT) |
                 (uint64_t)open << 32);
    *to++ = object ? '{' : '[';
    open = count++;
    node++;
    left = size;
    in_object = object;
    goto item;

string : {
    size_t rest = (size_t)(end - p), plain = 0;

    if (PDR_UNLIKELY(size > rest)) /* M3 */
        return false;
    if (PDR_UNLIKELY(r->room - to < (ptrdiff_t)size)) {
        SAVE();
        if (!pdr__mp_grow_text(r, size))
            return false;
        LOAD();
    }
    info = NODE_STRING;
    *to++ = '"';
    rest -= size;
    if (PDR_LIKELY(rest >= TEXT_STEP))
        plain = text_copy_plain(to, (const char *)p, size);
    else
        plain = text_copy_plain_exactly(to, (const char *)p, size);
    to += plain;
    if (plain < size) {
        SAVE();
        if (!copy_special(r, (const char *)p + plain, (const char *)p + size,
                          rest, &info))
            return false;
        LOAD();
    }
    p += size;
    *to++ = '"';
    budget = 0;
    goto scalar;
}

done:
    SAVE();
    r->height = height;
    return p == end;
}
