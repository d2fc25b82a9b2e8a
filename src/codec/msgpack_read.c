/*
 * msgpack_read.c - one MessagePack document in memory to a value.
 *
 * WHY  A value is JSON text and the nodes that point into it. One pass over the
 *      input writes both. Nothing is said here about what is wrong: whatever
 *      does not fit makes the reader give up, and the walk (msgpack_walk.c),
 *      which is slower and knows all reasons, goes over the input again.
 *
 *       input  82 A1 61 01 A1 62 92 C3 C0
 *       text   {"a":1,"b":[true,null]}
 *       nodes  object "a" 1 "b" array true null
 *
 * INVARIANTS
 *   M1  Behind `to` there is room for TEXT_SLACK bytes of text whenever a token
 *       begins: every scalar but a string fits, and the separators of a string.
 *   M2  While a container is open, its node's `link` is the container around
 *       it, and its `len` the children that are still to come behind the one
 *       that is open now. So there is no stack.
 *   M3  Lengths and counts of the input are compared with the bytes that are
 *       left, before anything is done with them.
 */
#include "msgpack.h"

#include "number.h"
#include "text_plain.h"

#define NONE       UINT32_MAX
#define TEXT_SLACK 64

struct mp_reader {
    const unsigned char *p, *end;
    char *text; /* owned */
    char *to;   /* behind what was written */
    char *room; /* `to` may go up to here at the beginning of a token (M1) */
    struct block *block; /* owned */
    pdr_value *nodes;    /* of block */
    uint32_t cap, count;
    uint32_t depth, height, large;
    struct read_limits limits;
    bool has_bare;
    bool no_memory;
};

/* --- room ---------------------------------------------------------------- */

/* Make room for `size` bytes of text behind `to`, and the slack. */
static __attribute__((noinline)) bool grow_text(struct mp_reader *r,
                                                size_t size)
{
    size_t used = (size_t)(r->to - r->text);
    size_t cap = (size_t)(r->room - r->text) + TEXT_SLACK;
    size_t need = 0;

    if (!pdr__add_size(&need, used, size) ||
        !pdr__add_size(&need, need, TEXT_SLACK) || need > PDR_MAX_TEXT_BYTES)
        return false;
    cap = cap + cap / 2 > need ? cap + cap / 2 : need;
    char *text = pdr__realloc(r->text, cap);
    r->no_memory = text == NULL;
    if (text == NULL)
        return false;
    r->text = text;
    r->to = text + used;
    r->room = text + cap - TEXT_SLACK;
    return true;
}

static inline bool room_for_text(struct mp_reader *r, size_t size)
{
    return PDR_LIKELY(r->room - r->to >= (ptrdiff_t)size) || grow_text(r, size);
}

static __attribute__((noinline)) bool grow_nodes(struct mp_reader *r)
{
    uint32_t cap = r->cap < r->limits.nodes / 2 ? r->cap * 2 : r->limits.nodes;

    if (r->count == r->limits.nodes)
        return false;
    struct block *block = pdr__block_resize(r->block, cap);
    r->no_memory = block == NULL;
    if (block == NULL)
        return false;
    r->block = block;
    r->nodes = block_nodes(block);
    r->cap = cap;
    return true;
}

/* The node of a scalar whose text begins at `start` and ends at `to`. */
static inline bool add_node(struct mp_reader *r, size_t start, uint32_t info)
{
    if (PDR_UNLIKELY(r->count == r->cap) && !grow_nodes(r))
        return false;
    pdr_value *node = &r->nodes[r->count];
    node->start = (uint32_t)start;
    node->len = (uint32_t)((size_t)(r->to - r->text) - start);
    node->info = info;
    node->link = r->count++;
    return true;
}

/* --- scalars ------------------------------------------------------------- */

static inline bool put_literal(struct mp_reader *r, pdr_str text, uint32_t info)
{
    size_t start = (size_t)(r->to - r->text);

    memcpy(r->to, text.ptr, text.len);
    r->to += text.len;
    return add_node(r, start, info);
}

static inline bool put_uint(struct mp_reader *r, uint64_t n)
{
    size_t start = (size_t)(r->to - r->text);

    r->to += pdr__number_write_uint64(r->to, n);
    return add_node(r, start, NODE_NUMBER);
}

static bool put_int(struct mp_reader *r, int64_t n)
{
    size_t start = (size_t)(r->to - r->text);

    r->to += pdr__number_write_int64(r->to, n);
    return add_node(r, start, NODE_NUMBER);
}

static bool put_double(struct mp_reader *r, double x)
{
    size_t start = (size_t)(r->to - r->text);
    bool bare = !mp_is_finite(x);

    if (bare && !r->limits.bare)
        return false;
    r->has_bare |= bare;
    r->to += pdr__number_write_double(r->to, x);
    return add_node(r, start, NODE_NUMBER | (bare ? NODE_FLAG : 0));
}

/* Plain text of a string; `slack` bytes of input lie behind it. */
static inline size_t copy_plain(char *to, const char *from, size_t len,
                                size_t slack)
{
    return PDR_LIKELY(slack >= TEXT_STEP)
               ? text_copy_plain(to, from, len)
               : text_copy_plain_exactly(to, from, len);
}

/* Text that is not plain all along: UTF-8, and what needs an escape. */
static __attribute__((noinline)) bool copy_special(struct mp_reader *r,
                                                   const char *p,
                                                   const char *end,
                                                   size_t slack, uint32_t *info)
{
    while (p < end) {
        if ((unsigned char)*p >= 0x80) {
            size_t len = pdr__utf8_len(p, end);
            if (len == 0)
                return false;
            memcpy(r->to, p, len);
            r->to += len;
            p += len;
            continue;
        }
        if (!text_is_plain(*p)) {
            /* Room for the escape and for the rest as it is. */
            if (!room_for_text(r, 6 + (size_t)(end - p)))
                return false;
            r->to += pdr__text_encode_byte(r->to, (unsigned char)*p++);
            *info |= NODE_FLAG;
            continue;
        }
        size_t plain = copy_plain(r->to, p, (size_t)(end - p), slack);
        r->to += plain;
        p += plain;
    }
    return true;
}

/* A string of `size` bytes at p. */
static inline bool put_str(struct mp_reader *r, uint32_t size)
{
    const char *from = (const char *)r->p;
    size_t left = (size_t)(r->end - r->p);
    uint32_t info = NODE_STRING;

    if (PDR_UNLIKELY(size > left) || !room_for_text(r, size)) /* M3 */
        return false;
    size_t start = (size_t)(r->to - r->text);
    *r->to++ = '"';
    size_t plain = copy_plain(r->to, from, size, left - size);
    r->to += plain;
    if (plain < size &&
        !copy_special(r, from + plain, from + size, left - size, &info))
        return false;
    *r->to++ = '"';
    r->p += size;
    return add_node(r, start, info);
}

/* The body of one of our extensions, as it is. */
static bool put_ext(struct mp_reader *r, int type, uint32_t size, bool name)
{
    pdr_str body = pdr_str_n((const char *)r->p, size);
    const char *p = body.ptr;
    uint32_t info = NODE_STRING;

    if (size > (size_t)(r->end - r->p) || !room_for_text(r, size))
        return false;
    size_t start = (size_t)(r->to - r->text);
    if (type == MP_EXT_NUMBER && !name) {
        info = NODE_NUMBER;
        if (!pdr__number_is_valid(body))
            return false;
    } else if (type != MP_EXT_STRING ||
               pdr__text_scan(&p, p + size, &info) != TEXT_END) {
        return false;
    }
    if (info != NODE_NUMBER)
        *r->to++ = '"';
    memcpy(r->to, body.ptr, size);
    r->to += size;
    if (info != NODE_NUMBER)
        *r->to++ = '"';
    r->p += size;
    return add_node(r, start, info);
}

/* --- tokens -------------------------------------------------------------- */

/* Any token that is not handled where it is met first. */
static __attribute__((noinline)) bool put_token(struct mp_reader *r,
                                                struct mp_token *token,
                                                bool name)
{
    size_t head = pdr__mp_head_len(*r->p);

    if (head > (size_t)(r->end - r->p))
        return false;
    pdr__mp_head(token, r->p);
    r->p += head;
    switch (token->kind) {
    case MP_KIND_STR:
        return put_str(r, token->size);
    case MP_KIND_EXT:
        return put_ext(r, token->type, token->size, name);
    case MP_KIND_NIL:
        return !name && put_literal(r, PDR_LIT("null"), NODE_NULL);
    case MP_KIND_BOOL:
        if (name)
            return false;
        return token->truth
                   ? put_literal(r, PDR_LIT("true"), NODE_BOOL | NODE_FLAG)
                   : put_literal(r, PDR_LIT("false"), NODE_BOOL);
    case MP_KIND_INT:
        return !name && put_int(r, (int64_t)token->number);
    case MP_KIND_UINT:
        return !name && put_uint(r, token->number);
    case MP_KIND_DOUBLE:
        return !name && put_double(r, token->real);
    case MP_KIND_ARRAY:
    case MP_KIND_MAP:
        return !name;
    case MP_KIND_BIN:
    case MP_KIND_NEVER:
        break;
    }
    return false;
}

/* A name; short ones are met here. */
static inline bool put_name(struct mp_reader *r)
{
    struct mp_token token;

    if (PDR_UNLIKELY(r->p == r->end) || !room_for_text(r, 0))
        return false;
    if (PDR_LIKELY((*r->p & 0xE0u) == MP_FIXSTR)) {
        uint32_t size = *r->p++ & 31u;
        if (!put_str(r, size))
            return false;
    } else if (!put_token(r, &token, true)) {
        return false;
    }
    *r->to++ = ':';
    return true;
}

/* --- the document -------------------------------------------------------- */

/* Open a container with `size` children; false if it cannot be. */
static inline bool open_container(struct mp_reader *r, uint32_t *open,
                                  bool object, uint32_t size)
{
    size_t least = object ? (size_t)size * 2 : size;

    if (r->depth == r->limits.depth || least > (size_t)(r->end - r->p) ||
        size > PDR_MAX_NODES) /* M3 */
        return false;
    size_t start = (size_t)(r->to - r->text);
    *r->to++ = object ? '{' : '[';
    if (!add_node(r, start,
                  (object ? NODE_OBJECT : NODE_ARRAY) |
                      size << NODE_COUNT_SHIFT))
        return false;
    r->nodes[r->count - 1].link = *open; /* M2 */
    *open = r->count - 1;
    r->depth++;
    r->height = r->depth > r->height ? r->depth : r->height;
    r->large += size >= PDR_INDEX_MIN;
    return true;
}

/* Close the innermost container; gives the one around it. */
static inline uint32_t close_container(struct mp_reader *r, uint32_t open)
{
    pdr_value *node = &r->nodes[open];
    uint32_t around = node->link;

    *r->to++ = node_kind(node) == NODE_OBJECT ? '}' : ']';
    node->len = (uint32_t)((size_t)(r->to - r->text) - node->start);
    node->link = node_count(node) > 0 ? r->count : open;
    r->depth--;
    return around;
}

/* A value that begins at p. `size` and `object` are set for a container, which
 * is not opened yet. */
static inline bool put_value(struct mp_reader *r, bool *container, bool *object,
                             uint32_t *size)
{
    struct mp_token token;

    *container = false;
    if (PDR_UNLIKELY(r->p == r->end) || !room_for_text(r, 0))
        return false;
    unsigned first = *r->p;
    if ((first & 0xE0u) == MP_FIXSTR) {
        r->p++;
        return put_str(r, first & 31u);
    }
    if (first <= MP_FIXINT_MAX) {
        r->p++;
        return put_uint(r, first);
    }
    if (first < MP_FIXSTR) {
        r->p++;
        *container = true;
        *object = first < MP_FIXARRAY;
        *size = first & 15u;
        return true;
    }
    if (!put_token(r, &token, false))
        return false;
    *container = token.kind == MP_KIND_ARRAY || token.kind == MP_KIND_MAP;
    *object = token.kind == MP_KIND_MAP;
    *size = token.size;
    return true;
}

/* The whole document at p; false if anything is wrong. */
static bool read_document(struct mp_reader *r)
{
    uint32_t open = NONE; /* innermost open container */
    uint32_t left = 0;    /* its children that did not come yet */
    bool in_object = false;

    for (;;) {
        bool container = false, object = false;
        uint32_t size = 0;

        if (in_object && !put_name(r))
            return false;
        if (!put_value(r, &container, &object, &size))
            return false;
        if (container) {
            if (open != NONE)
                r->nodes[open].len = left - 1; /* M2 */
            if (!open_container(r, &open, object, size))
                return false;
            left = size;
            in_object = object;
        } else if (open != NONE) {
            left--;
        }
        while (open != NONE && left == 0) {
            open = close_container(r, open);
            if (open == NONE)
                break;
            if (!room_for_text(r, 0)) /* for a row of brackets */
                return false;
            left = r->nodes[open].len;
            in_object = node_kind(&r->nodes[open]) == NODE_OBJECT;
        }
        if (open == NONE)
            return r->p == r->end;
        if (!container || size == 0)
            *r->to++ = ',';
    }
}

/* --- the edge ------------------------------------------------------------ */

/* Nodes and text to begin with; both grow, and what is left over is given back.
 * Documents of agents have a node for every 20 bytes, and as text are a tenth
 * longer. */
static bool begin(struct mp_reader *r, pdr_str input)
{
    size_t nodes = input.len / 12 + 16;
    size_t cap = input.len + input.len / 8 + 2 * TEXT_SLACK;

    r->p = (const unsigned char *)input.ptr;
    r->end = r->p + input.len;
    r->cap = nodes < r->limits.nodes ? (uint32_t)nodes : r->limits.nodes;
    r->block = pdr__block_new(r->cap, 0);
    r->text = r->to = pdr__alloc(cap);
    if (r->block == NULL || r->text == NULL)
        return false;
    r->nodes = block_nodes(r->block);
    r->room = r->text + cap - TEXT_SLACK;
    return true;
}

static void abandon(struct mp_reader *r)
{
    if (r->block != NULL)
        pdr__block_unref(r->block, 1);
    pdr__free(r->text);
}

static pdr_value *finish(struct mp_reader *r)
{
    size_t len = (size_t)(r->to - r->text);
    struct block *block = pdr__block_resize(r->block, r->count);
    char *text = pdr__realloc(r->text, len);

    if (block == NULL)
        block = r->block; /* it stays larger than it needs to be */
    if (text == NULL)
        text = r->text;
    block->node_count = r->count;
    block->text = block->owned = text;
    block->text_len = len;
    block->height = r->height;
    block->large = r->large;
    block->has_bare = r->has_bare;
    return block_nodes(block);
}

/* Let the walk say what is wrong. It is the one to judge: should it find
 * nothing, its value is as good. */
static pdr_rc read_slowly(pdr_value **out, pdr_str input,
                          const pdr_read_opts *opts, pdr_err *err)
{
    return pdr__codec_read_by_walk(out, &pdr__msgpack_codec, input, opts, err);
}

pdr_rc pdr__mp_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                    pdr_err *err)
{
    struct mp_reader r;

    memset(&r, 0, sizeof(r));
    pdr_rc rc = pdr__read_limits(&r.limits, opts, err);
    if (rc != PDR_OK)
        return rc;
    if (input.len > r.limits.bytes)
        return PDR_FAIL(err, TOO_LARGE,
                        "the document has %zu bytes; the limit is %zu",
                        input.len, r.limits.bytes);
    if (!begin(&r, input)) {
        abandon(&r);
        return pdr__nomem(err);
    }
    if (read_document(&r)) {
        *out = finish(&r);
        if (opts->used != NULL)
            *opts->used = input.len;
        return PDR_OK;
    }
    abandon(&r);
    return r.no_memory ? pdr__nomem(err) : read_slowly(out, input, opts, err);
}
