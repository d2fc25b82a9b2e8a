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
static __attribute__((noinline)) bool copy_special(struct mp_reader *r,
                                                   const char *from,
                                                   const char *end,
                                                   size_t slack, uint32_t *info)
{
    const char *p = from;
    char *to = r->to;

    while (p < end) {
        if ((unsigned char)*p >= 0x80) {
            size_t len = pdr__utf8_len(p, end);
            if (len == 0)
                return false;
            for (size_t i = 0; i < len; i++)
                to[i] = p[i];
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

/* Bytes of a string whose length is in its first byte, and bytes of input that
 * lie behind that when it is read quickly. */
#define SHORT_MAX  31
#define SHORT_ROOM 32

/* Hand the loop's variables to a function that works on `r`, and take them
 * back. */
#define SAVE() (r->p = p, r->to = to, r->count = (uint32_t)(own >> 32))
#define LOAD()                                                               \
    (p = r->p, to = r->to, text = r->text, room = r->room, nodes = r->nodes, \
     node = nodes + (own >> 32), room_end = nodes + r->cap)

#define ONE_NODE (UINT64_C(1) << 32)

#define PUT_NODE(start_, len_, bits_)                               \
    do {                                                            \
        node_put(node, (uint64_t)(start_) | (uint64_t)(len_) << 32, \
                 own | (bits_));                                    \
        node++;                                                     \
        own += ONE_NODE;                                            \
    } while (0)

/* The short string at p, if it is one and plain: write it with two bytes behind
 * it, then go on at `then`. */
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

/* Long on purpose: a state machine whose states are labels. Cut into functions,
 * its variables would travel through memory at every token, because what is
 * written could be any of them for all the compiler knows. */
TEXT_TARGET bool KERNEL(struct mp_reader *r)
{
    const unsigned char *p = r->p, *const end = r->end;
    char *text = r->text, *to = text, *room = r->room;
    pdr_value *nodes = r->nodes, *node = nodes, *room_end = nodes + r->cap;
    uint64_t own = 0;        /* index of the next node, where a node keeps it */
    uint32_t open = MP_NONE; /* innermost open container */
    uint32_t left = 1; /* its children that did not come yet; or the root */
    uint32_t depth = 0, height = 0, large = 0, size = 0, info = 0;
    bool in_object = false, is_name = false, object = false;
    struct mp_token token;
    size_t start = 0;

item: /* the next one of a container, or the root */
    if (PDR_UNLIKELY(room_end - node < 2 || to > room)) {
        SAVE();
        if ((room_end - node < 2 && !pdr__mp_grow_nodes(r)) ||
            !mp_room_for_text(r, 0))
            return false;
        LOAD();
    }
    if (!in_object)
        goto value;
    if (PDR_LIKELY(end - p > SHORT_ROOM && (*p & 0xE0u) == MP_FIXSTR))
        TAKE_SHORT("\":", value);
    is_name = true;
    goto any;

value:
    if (PDR_UNLIKELY(end - p <= SHORT_ROOM)) {
        is_name = false;
        goto any;
    }
    if ((*p & 0xE0u) == MP_FIXSTR) {
        TAKE_SHORT("\",", next);
    } else if (*p >= MP_FIXMAP && *p < MP_FIXSTR) {
        object = *p < MP_FIXARRAY;
        size = *p++ & 15u;
        goto container;
    }
    is_name = false;
    start = (size_t)(to - text);
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

any: /* a name or a value */
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
    if (object || token.kind == MP_KIND_ARRAY)
        goto container;

scalar:
    PUT_NODE(start, (size_t)(to - text) - start, info);
    if (is_name) {
        *to++ = ':';
        goto value;
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
    closed->link = (uint32_t)(own >> 32);
    depth--;
    open = around;
    if (PDR_UNLIKELY(open == MP_NONE))
        goto done;
    left = nodes[open].len;
    in_object = node_kind(&nodes[open]) == NODE_OBJECT;
    if (left > 0) {
        *to++ = ',';
        goto item;
    }
    if (PDR_UNLIKELY(to > room)) { /* a row of brackets */
        SAVE();
        if (!pdr__mp_grow_text(r, 0))
            return false;
        LOAD();
    }
    goto close;
}

string : {
    size_t rest = (size_t)(end - p), plain = 0;

    if (PDR_UNLIKELY(size > rest)) /* M3 */
        return false;
    if (PDR_UNLIKELY(room - to < (ptrdiff_t)size)) {
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
    if (PDR_UNLIKELY(plain < size)) {
        SAVE();
        if (!copy_special(r, (const char *)p + plain, (const char *)p + size,
                          rest, &info))
            return false;
        LOAD();
    }
    p += size;
    *to++ = '"';
    goto scalar;
}

container:
    if (PDR_UNLIKELY(depth == r->limits.depth || size > PDR_MAX_NODES ||
                     (size_t)size << object > (size_t)(end - p))) /* M3 */
        return false;
    height = depth >= height ? depth + 1 : height;
    if (size == 0) {
        PUT_NODE(to - text, 2, object ? NODE_OBJECT : NODE_ARRAY);
        memcpy(to, object ? "{}," : "[],", 3);
        to += 3;
        goto next;
    }
    if (PDR_LIKELY(open != MP_NONE))
        nodes[open].len = left - 1; /* M2 */
    depth++;
    large += size >= PDR_INDEX_MIN;
    node_put(node, (uint64_t)(to - text),
             ((object ? NODE_OBJECT : NODE_ARRAY) | size << NODE_COUNT_SHIFT) |
                 (uint64_t)open << 32);
    *to++ = object ? '{' : '[';
    open = (uint32_t)(own >> 32);
    node++;
    own += ONE_NODE;
    left = size;
    in_object = object;
    goto item;

done:
    SAVE();
    r->height = height;
    r->large = large;
    return p == end;
}
