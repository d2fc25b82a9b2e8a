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
 *   M1  Whenever an item begins there is room for the text of one that is read
 *       quickly (ITEM_TEXT_BITS), and behind `room` MP_TEXT_SLACK bytes more:
 *       for every scalar that is no string, for brackets, and for what is
 *       written beside and, in steps, behind a longer string.
 *   M2  While a container is open, its node's `link` is the container around
 *       it, and its `len` the children that are still to come behind the one
 *       that is open now. So there is no stack.
 *   M3  Lengths and counts of the input are compared with the bytes that are
 *       left, before anything is done with them.
 *   M4  As many items as `budget` says can be read quickly, without a look at
 *       the ends of input, text and nodes.
 *   M5  Where an item begins, a quote stands behind the text already: most
 *       items are strings, and what was written before has room for one byte
 *       more.
 *   M6  There is never room for more text than a node can point at: input of
 *       less can be text of more, because a byte becomes an escape of six.
 */
#include "msgpack.h"

#define KERNEL pdr__mp_kernel
#include "msgpack_core.h"

/* --- room ---------------------------------------------------------------- */

size_t pdr__mp_text_cap(size_t cap, size_t need)
{
    if (need > PDR_MAX_TEXT_BYTES)
        return 0;
    if (cap < need)
        return need;
    return cap < PDR_MAX_TEXT_BYTES ? cap : PDR_MAX_TEXT_BYTES;
}

/* Make room for `size` bytes of text behind `to`, and the slack. */
bool pdr__mp_grow_text(struct mp_reader *r, size_t size)
{
    size_t used = (size_t)(r->to - r->text);
    size_t cap = (size_t)(r->room - r->text) + MP_TEXT_SLACK;
    size_t need = 0;

    if (!pdr__add_size(&need, used, size) ||
        !pdr__add_size(&need, need, MP_TEXT_SLACK))
        return false;
    cap = pdr__mp_text_cap(cap + cap / 2, need);
    if (cap == 0)
        return false; /* too large: the walk says so */
    char *text = pdr__realloc(r->text, cap);
    r->no_memory = text == NULL;
    if (text == NULL)
        return false;
    r->text = text;
    r->to = text + used;
    r->room = text + cap - MP_TEXT_SLACK;
    return true;
}

/* Room for two more nodes: a name and its value. */
bool pdr__mp_grow_nodes(struct mp_reader *r)
{
    uint32_t cap = r->cap < r->limits.nodes / 2 ? r->cap * 2 : r->limits.nodes;

    if (r->limits.nodes - r->count < 2)
        return false; /* one may still fit: the walk knows */
    struct block *block = pdr__block_resize(r->block, cap);
    r->no_memory = block == NULL;
    if (block == NULL)
        return false;
    r->block = block;
    r->nodes = block_nodes(block);
    r->cap = cap;
    return true;
}

/* --- tokens that are rare ------------------------------------------------ */

/* The body of one of our extensions, which is in the input, as it is. */
static bool put_ext(struct mp_reader *r, uint32_t *info,
                    const struct mp_token *token, bool name)
{
    pdr_str body = pdr_str_n((const char *)r->p, token->size);
    const char *p = body.ptr;

    if (body.len > (size_t)(r->end - r->p) || !mp_room_for_text(r, body.len))
        return false;
    r->p += body.len;
    if (r->limits.extended != NULL)
        *r->limits.extended = true;
    if (token->type == MP_EXT_NUMBER && !name) {
        *info = NODE_NUMBER;
        memcpy(r->to, body.ptr, body.len);
        r->to += body.len;
        return pdr__number_is_valid(body);
    }
    *info = NODE_STRING;
    if (token->type != MP_EXT_STRING ||
        pdr__text_scan(&p, p + body.len, info) != TEXT_END)
        return false;
    *r->to++ = '"';
    memcpy(r->to, body.ptr, body.len);
    r->to += body.len;
    *r->to++ = '"';
    return true;
}

static bool put_double(struct mp_reader *r, uint32_t *info, double x)
{
    bool bare = !mp_is_finite(x);

    r->has_bare |= bare;
    *info = NODE_NUMBER | (bare ? NODE_FLAG : 0);
    r->to += pdr__number_write_double(r->to, x);
    return !bare || r->limits.bare;
}

static void put_literal(struct mp_reader *r, pdr_str text)
{
    memcpy(r->to, text.ptr, text.len);
    r->to += text.len;
}

static void put_bool(struct mp_reader *r, uint32_t *info, bool truth)
{
    *info = NODE_BOOL | (truth ? NODE_FLAG : 0);
    put_literal(r, truth ? PDR_LIT("true") : PDR_LIT("false"));
}

/* A token that the loop does not handle where it meets it, and that is no name
 * unless it is a string: its head, then its text and flags. Strings and
 * containers are left to the loop, behind their head. */
bool pdr__mp_put_token(struct mp_reader *r, struct mp_token *token,
                       uint32_t *info, bool name)
{
    size_t head = pdr__mp_head_len(*r->p);

    if (head > (size_t)(r->end - r->p))
        return false;
    pdr__mp_head(token, r->p);
    r->p += head;
    if (token->kind == MP_KIND_STR)
        return true;
    if (token->kind == MP_KIND_EXT)
        return put_ext(r, info, token, name);
    if (name)
        return false;
    *info = NODE_NUMBER;
    switch (token->kind) {
    case MP_KIND_NIL:
        *info = NODE_NULL;
        put_literal(r, PDR_LIT("null"));
        return true;
    case MP_KIND_BOOL:
        put_bool(r, info, token->truth);
        return true;
    case MP_KIND_INT:
        r->to += pdr__number_write_int64(r->to, (int64_t)token->number);
        return true;
    case MP_KIND_UINT:
        r->to += pdr__number_write_uint64(r->to, token->number);
        return true;
    case MP_KIND_DOUBLE:
        return put_double(r, info, token->real);
    case MP_KIND_ARRAY:
    case MP_KIND_MAP:
        return true;
    case MP_KIND_STR:
    case MP_KIND_EXT:
    case MP_KIND_BIN:
    case MP_KIND_NEVER:
        break;
    }
    return false;
}

/* --- the edge ------------------------------------------------------------ */

/* Nodes and text to begin with; both grow, and what is left over is given back.
 * Documents of agents have a node for every 20 bytes, and as text are a tenth
 * longer. */
static bool begin(struct mp_reader *r, pdr_str input)
{
    size_t nodes = input.len / 12 + 16;
    size_t cap = pdr__mp_text_cap(input.len + input.len / 8 + 2 * MP_TEXT_SLACK,
                                  MP_TEXT_SLACK);

    r->p = (const unsigned char *)input.ptr;
    r->end = input.len > 0 ? r->p + input.len : r->p; /* p may be NULL */
    r->cap = nodes < r->limits.nodes ? (uint32_t)nodes : r->limits.nodes;
    r->block = pdr__block_new(r->cap, 0);
    r->text = r->to = pdr__alloc(cap);
    if (r->block == NULL || r->text == NULL)
        return false;
    r->nodes = block_nodes(r->block);
    r->room = r->text + cap - MP_TEXT_SLACK;
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

static bool run(struct mp_reader *r)
{
    if (r->limits.kernel == PDR_KERNEL_AVX2)
        return pdr__mp_kernel_avx2(r);
    return r->limits.kernel == PDR_KERNEL_PORTABLE ? pdr__mp_kernel_portable(r)
                                                   : pdr__mp_kernel(r);
}

pdr_value *pdr__mp_read_quickly(pdr_str input, const struct read_limits *limits,
                                bool *no_memory)
{
    struct mp_reader r;

    memset(&r, 0, sizeof(r));
    r.limits = *limits;
    *no_memory = !begin(&r, input);
    if (!*no_memory && run(&r))
        return finish(&r);
    *no_memory |= r.no_memory;
    abandon(&r);
    return NULL;
}

pdr_rc pdr__mp_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                    pdr_err *err)
{
    struct read_limits limits;
    bool no_memory = false;
    pdr_rc rc = pdr__read_limits(&limits, opts, err);

    if (rc != PDR_OK)
        return rc;
    if (input.len > limits.bytes)
        return PDR_FAIL_AT(err, limits.bytes, TOO_LARGE,
                           "%zu bytes, the limit is %zu", input.len,
                           limits.bytes);
    *out = pdr__mp_read_quickly(input, &limits, &no_memory);
    if (*out != NULL && opts->used != NULL)
        *opts->used = input.len;
    if (*out != NULL || no_memory)
        return no_memory ? pdr__nomem(err) : PDR_OK;
    /* Let the walk say what is wrong. It is the one to judge: should it find
     * nothing, its value is as good. */
    return pdr__codec_read_by_walk(out, &pdr__msgpack_codec, input, opts, err);
}
