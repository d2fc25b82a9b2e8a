/*
 * builder.c - values made in code, in the same form as values that were read.
 *
 * WHY  A builder writes compact JSON text and the nodes that point into it, so
 *      that what was built is written by one copy and read like anything else.
 *
 *            object/array         end
 *     EMPTY --------------> OPEN -----> … -----> DONE --finish--> EMPTY
 *       \______________ scalar or value _________/
 *
 * INVARIANTS
 *   B1  While a container is open its node's `link` is the index of the open
 *       container around it, and `info` has the number of children so far.
 *   B2  After the first failure nothing changes until finish or free.
 */
#include "core.h"

#include "number.h"
#include "text_plain.h"

#define NONE       UINT32_MAX
#define SHORT_TEXT 64 /* bytes that are copied before anybody looks at them */

struct pdr_builder {
    struct block *block; /* owned; NULL before the first node */
    uint32_t cap;        /* nodes that fit into block */
    uint32_t count;      /* nodes so far */
    uint32_t open;       /* innermost open container, or NONE */
    uint32_t depth;      /* open containers */
    uint32_t height;
    uint32_t large;
    bool has_bare;
    bool named; /* in an object: the name is there, its value is not */
    pdr_buf text;
    pdr_rc rc;   /* first failure */
    pdr_err err; /* last: set with rc only, so reset() need not clear it */
};

static pdr_value *node_at(const struct pdr_builder *b, uint32_t index)
{
    return block_nodes(b->block) + index;
}

static bool in_object(const struct pdr_builder *b)
{
    return b->open != NONE && node_kind(node_at(b, b->open)) == NODE_OBJECT;
}

static void reset(struct pdr_builder *b)
{
    if (b->block != NULL)
        pdr__block_unref(b->block, 1);
    pdr_buf_dispose(&b->text);
    memset(b, 0, offsetof(struct pdr_builder, err));
    b->open = NONE;
    b->text.max = PDR_MAX_TEXT_BYTES;
}

pdr_rc pdr_builder_new(pdr_builder **out, pdr_err *err)
{
    PDR_REQUIRE(out != NULL);
    *out = pdr__alloc(sizeof(**out));
    if (*out == NULL)
        return pdr__nomem(err);
    memset(*out, 0, offsetof(struct pdr_builder, err));
    reset(*out);
    return PDR_OK;
}

void pdr_builder_free(pdr_builder *builder)
{
    if (builder == NULL)
        return;
    reset(builder);
    pdr__free(builder);
}

static void misuse(struct pdr_builder *b, const char *what)
{
    b->rc = PDR_FAIL(&b->err, BUILDER_ORDER, "%s", what);
}

/* Room for `nodes` more nodes. */
static bool room_for_nodes(struct pdr_builder *b, uint32_t nodes)
{
    if (b->cap - b->count >= nodes)
        return true;
    if (nodes > PDR_MAX_NODES - b->count) {
        b->rc =
            PDR_FAIL(&b->err, TOO_MANY_NODES,
                     "a value has at most %u names and values", PDR_MAX_NODES);
        return false;
    }
    uint32_t cap = b->cap + b->cap / 2 + 16;
    if (cap < b->count + nodes)
        cap = b->count + nodes;
    struct block *block = b->block == NULL ? pdr__block_new(cap, 0)
                                           : pdr__block_resize(b->block, cap);
    if (block == NULL) {
        b->rc = pdr__nomem(&b->err);
        return false;
    }
    b->block = block;
    b->cap = cap;
    return true;
}

static inline void put(struct pdr_builder *b, pdr_str text)
{
    if (b->rc != PDR_OK)
        return;
    b->rc = pdr__buf_room(&b->text, text.len, &b->err);
    if (b->rc != PDR_OK || text.len == 0)
        return;
    memcpy(b->text.ptr + b->text.len, text.ptr, text.len);
    b->text.len += text.len;
}

/* Before a value: is one expected here? Writes the comma. */
static bool begin_value(struct pdr_builder *b)
{
    if (b->rc != PDR_OK)
        return false;
    if (b->open == NONE && b->count > 0) {
        misuse(b, "the value is complete, finish it first");
        return false;
    }
    if (in_object(b)) {
        if (!b->named)
            misuse(b, "a value in an object needs a name");
        b->named = false;
    } else if (b->open != NONE && node_count(node_at(b, b->open)) > 0) {
        put(b, PDR_LIT(","));
    }
    return b->rc == PDR_OK && room_for_nodes(b, 1);
}

/* After a value: it counts for what holds it. */
static void end_value(struct pdr_builder *b)
{
    if (b->open != NONE)
        node_at(b, b->open)->info += 1u << NODE_COUNT_SHIFT;
}

static void add_node(struct pdr_builder *b, size_t start, uint32_t info)
{
    pdr_value *node = node_at(b, b->count);

    node->start = (uint32_t)start;
    node->len = (uint32_t)(b->text.len - start);
    node->info = info;
    node->link = b->count++;
}

static void scalar(struct pdr_builder *b, pdr_str text, uint32_t info)
{
    if (!begin_value(b))
        return;
    size_t start = b->text.len;
    put(b, text);
    if (b->rc != PDR_OK)
        return;
    add_node(b, start, info);
    end_value(b);
}

void pdr__builder_expect(pdr_builder *builder, uint32_t nodes, size_t bytes)
{
    struct pdr_builder *b = builder;

    assert(b->block == NULL && nodes <= PDR_MAX_NODES);
    if (pdr_buf_reserve(&b->text, bytes, NULL) != PDR_OK)
        return;
    b->block = pdr__block_new(nodes, 0);
    b->cap = b->block != NULL ? nodes : 0;
}

/* --- containers ---------------------------------------------------------- */

static void open_container(struct pdr_builder *b, uint32_t kind)
{
    if (!begin_value(b))
        return;
    if (b->depth == PDR_MAX_DEPTH) {
        b->rc = PDR_FAIL(&b->err, TOO_DEEP, "a value has at most %d levels",
                         PDR_MAX_DEPTH);
        return;
    }
    size_t start = b->text.len;
    put(b, kind == NODE_OBJECT ? PDR_LIT("{") : PDR_LIT("["));
    if (b->rc != PDR_OK)
        return;
    add_node(b, start, kind);
    node_at(b, b->count - 1)->link = b->open; /* B1 */
    b->open = b->count - 1;
    b->depth++;
    if (b->depth > b->height)
        b->height = b->depth;
}

void pdr_builder_object(pdr_builder *builder)
{
    open_container(builder, NODE_OBJECT);
}

void pdr_builder_array(pdr_builder *builder)
{
    open_container(builder, NODE_ARRAY);
}

void pdr_builder_end(pdr_builder *builder)
{
    struct pdr_builder *b = builder;

    if (b->rc != PDR_OK)
        return;
    if (b->open == NONE || b->named) {
        misuse(b, b->named ? "a name without a value" : "nothing is open");
        return;
    }
    put(b, in_object(b) ? PDR_LIT("}") : PDR_LIT("]"));
    if (b->rc != PDR_OK)
        return;
    pdr_value *node = node_at(b, b->open);
    uint32_t around = node->link;
    node->len = (uint32_t)(b->text.len - node->start);
    node->link = node_count(node) > 0 ? b->count : b->open;
    b->large += node_count(node) >= PDR_INDEX_MIN;
    b->open = around;
    b->depth--;
    end_value(b);
}

/* --- strings ------------------------------------------------------------- */

/* As put_text(), for text that is all plain: it needs no check and no escape.
 * False if it is not, or if there is no room to spare; then nothing is there.
 * In a short text the search looks at the copy, because it may touch some bytes
 * behind it; in a long one it ends where the copy would be in vain. */
static inline bool put_plain(struct pdr_builder *b, pdr_str text)
{
    size_t start = b->text.len;

    if (text.len == 0 || text.len > b->text.max - start ||
        pdr__buf_room(&b->text, text.len + 2 + TEXT_STEP, NULL) != PDR_OK)
        return false;
    char *to = b->text.ptr + start;
    to[0] = '"';
    if (text.len > SHORT_TEXT) {
        if (text_copy_plain_exactly(to + 1, text.ptr, text.len) != text.len)
            return false;
    } else {
        memcpy(to + 1, text.ptr, text.len);
        if (text_copy_plain(to + 1, to + 1, text.len) != text.len)
            return false;
    }
    to[text.len + 1] = '"';
    b->text.len += text.len + 2;
    add_node(b, start, NODE_STRING);
    return true;
}

/* Append a string from UTF-8 and its node. */
static void put_text(struct pdr_builder *b, pdr_str text)
{
    size_t start = b->text.len;

    if (put_plain(b, text))
        return;
    b->rc = pdr__utf8_check(text, &b->err);
    if (b->rc != PDR_OK)
        return;
    put(b, PDR_LIT("\""));
    if (b->rc == PDR_OK)
        b->rc = pdr__text_encode(&b->text, text, &b->err);
    put(b, PDR_LIT("\""));
    if (b->rc != PDR_OK)
        return;
    bool escaped = b->text.len - start != text.len + 2;
    add_node(b, start, NODE_STRING | (escaped ? NODE_FLAG : 0));
}

/* Append a string from what stands between its quotes, and its node. */
static void put_escaped(struct pdr_builder *b, pdr_str json)
{
    const char *p = json.ptr;
    uint32_t info = NODE_STRING;
    size_t start = b->text.len;

    if (json.len > 0 &&
        pdr__text_scan(&p, json.ptr + json.len, &info) != TEXT_END) {
        b->rc = PDR_FAIL_AT(&b->err, (size_t)(p - json.ptr), BAD_ESCAPE,
                            "not the inside of a JSON string at byte %zu",
                            (size_t)(p - json.ptr));
        return;
    }
    put(b, PDR_LIT("\""));
    put(b, json);
    put(b, PDR_LIT("\""));
    if (b->rc == PDR_OK)
        add_node(b, start, info);
}

/* Before a name: is one expected here? Writes the comma. */
static bool begin_name(struct pdr_builder *b)
{
    if (b->rc != PDR_OK)
        return false;
    if (!in_object(b) || b->named) {
        misuse(b,
               b->named ? "a name after a name" : "a name outside an object");
        return false;
    }
    if (node_count(node_at(b, b->open)) > 0)
        put(b, PDR_LIT(","));
    return b->rc == PDR_OK && room_for_nodes(b, 1);
}

static void end_name(struct pdr_builder *b)
{
    put(b, PDR_LIT(":"));
    b->named = true;
}

void pdr_builder_name(pdr_builder *builder, pdr_str name)
{
    if (!begin_name(builder))
        return;
    put_text(builder, name);
    end_name(builder);
}

void pdr_builder_escaped_name(pdr_builder *builder, pdr_str json)
{
    if (!begin_name(builder))
        return;
    put_escaped(builder, json);
    end_name(builder);
}

void pdr_builder_string(pdr_builder *builder, pdr_str text)
{
    if (!begin_value(builder))
        return;
    put_text(builder, text);
    end_value(builder);
}

void pdr_builder_escaped(pdr_builder *builder, pdr_str json)
{
    if (!begin_value(builder))
        return;
    put_escaped(builder, json);
    end_value(builder);
}

/* --- other scalars ------------------------------------------------------- */

void pdr_builder_null(pdr_builder *builder)
{
    scalar(builder, PDR_LIT("null"), NODE_NULL);
}

void pdr_builder_bool(pdr_builder *builder, bool truth)
{
    if (truth)
        scalar(builder, PDR_LIT("true"), NODE_BOOL | NODE_FLAG);
    else
        scalar(builder, PDR_LIT("false"), NODE_BOOL);
}

void pdr_builder_int64(pdr_builder *builder, int64_t number)
{
    char text[24];

    scalar(builder, pdr_str_n(text, pdr__number_write_int64(text, number)),
           NODE_NUMBER);
}

void pdr_builder_uint64(pdr_builder *builder, uint64_t number)
{
    char text[24];

    scalar(builder, pdr_str_n(text, pdr__number_write_uint64(text, number)),
           NODE_NUMBER);
}

void pdr_builder_double(pdr_builder *builder, double number)
{
    char text[32];

    if (builder->rc == PDR_OK && number - number != 0) {
        builder->rc = PDR_FAIL(&builder->err, NOT_FINITE,
                               "NaN and infinities are no JSON");
        return;
    }
    scalar(builder, pdr_str_n(text, pdr__number_write_double(text, number)),
           NODE_NUMBER);
}

void pdr_builder_number(pdr_builder *builder, pdr_str text)
{
    if (builder->rc != PDR_OK)
        return;
    if (!pdr__number_is_valid(text)) {
        builder->rc =
            PDR_FAIL(&builder->err, BAD_NUMBER, "not a JSON number: '%s'",
                     pdr__shown((char[PDR_SHOWN]){0}, text));
        return;
    }
    scalar(builder, text, NODE_NUMBER);
}

void pdr__builder_span(pdr_builder *builder, pdr_str span, uint32_t info)
{
    scalar(builder, span, info);
    if ((info & (NODE_KIND_MASK | NODE_FLAG)) == (NODE_NUMBER | NODE_FLAG))
        builder->has_bare = true;
}

void pdr__builder_bare(pdr_builder *builder, pdr_str token)
{
    assert(pdr__number_is_bare(token));
    pdr__builder_span(builder, token, NODE_NUMBER | NODE_FLAG);
}

/* --- copies -------------------------------------------------------------- */

static void copy_value(struct pdr_builder *b, const pdr_value *v);

void pdr__builder_name_span(pdr_builder *builder, pdr_str span, uint32_t info)
{
    struct pdr_builder *b = builder;

    if (!begin_name(b))
        return;
    size_t start = b->text.len;
    put(b, span);
    if (b->rc == PDR_OK)
        add_node(b, start, info);
    end_name(b);
}

void pdr__builder_name_value(pdr_builder *builder, const pdr_value *name)
{
    assert(node_kind(name) == NODE_STRING);
    pdr__builder_name_span(builder, node_span(name), name->info);
}

static void copy_children(struct pdr_builder *b, const pdr_value *v)
{
    pdr_iter it;

    open_container(b,
                   pdr_value_kind(v) == PDR_OBJECT ? NODE_OBJECT : NODE_ARRAY);
    pdr_iter_init(&it, v);
    while (b->rc == PDR_OK && pdr_iter_next(&it)) {
        if (it.name != NULL)
            pdr__builder_name_value(b, it.name);
        copy_value(b, it.value);
    }
    pdr_builder_end(b);
}

/* A compact flat subtree: its text and its nodes as they are, moved. */
static void copy_flat(struct pdr_builder *b, const pdr_value *v)
{
    uint32_t first = node_index(v);
    uint32_t count = (uint32_t)(node_next(v) - v);

    if (!begin_value(b) || !room_for_nodes(b, count))
        return;
    size_t start = b->text.len;
    put(b, node_span(v));
    if (b->rc != PDR_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        pdr_value *to = node_at(b, b->count + i);
        *to = v[i];
        to->start = (uint32_t)(v[i].start - v->start + start);
        to->link = v[i].link - first + b->count;
        if (node_is_container(to))
            b->large += node_count(to) >= PDR_INDEX_MIN;
        else if (node_kind(to) == NODE_NUMBER && (to->info & NODE_FLAG))
            b->has_bare = true;
    }
    b->count += count;
    end_value(b);
}

static void copy_value(struct pdr_builder *b, const pdr_value *v)
{
    bool spaced = node_is_container(v) && (v->info & NODE_FLAG) != 0;

    if (b->rc != PDR_OK)
        return;
    if (node_is_changed(v) || spaced)
        copy_children(b, v);
    else
        copy_flat(b, v);
}

void pdr_builder_value(pdr_builder *builder, const pdr_value *value)
{
    struct pdr_builder *b = builder;

    if (b->rc != PDR_OK)
        return;
    uint32_t levels = b->depth + pdr__value_height(value);
    if (levels > PDR_MAX_DEPTH) {
        b->rc = PDR_FAIL(&b->err, TOO_DEEP, "a value has at most %d levels",
                         PDR_MAX_DEPTH);
        return;
    }
    if (levels > b->height)
        b->height = levels;
    copy_value(b, value);
}

/* --- the end ------------------------------------------------------------- */

pdr_rc pdr_builder_finish(pdr_value **out, pdr_builder *builder, pdr_err *err)
{
    struct pdr_builder *b = builder;

    PDR_REQUIRE(out != NULL && builder != NULL);
    *out = NULL;
    if (b->rc == PDR_OK && (b->open != NONE || b->count == 0))
        misuse(b, b->count == 0 ? "nothing was built" : "not all is ended");
    if (b->rc != PDR_OK) {
        pdr_rc rc = b->rc;
        if (err != NULL)
            *err = b->err;
        reset(b);
        return rc;
    }
    struct block *block = b->block;
    struct block *fitting = pdr__block_resize(block, b->count);
    if (fitting != NULL)
        block = fitting; /* else it stays larger than it needs to be */
    block->node_count = b->count;
    block->text = block->owned = b->text.ptr;
    block->text_len = b->text.len;
    block->height = b->height;
    block->large = b->large;
    block->has_bare = b->has_bare;
    block->is_built = 1;
    b->block = NULL;
    b->text.ptr = NULL;
    b->text.cap = 0;
    reset(b);
    *out = block_nodes(block);
    return PDR_OK;
}

pdr_rc pdr__value_copy(pdr_value **out, const pdr_value *v, pdr_err *err)
{
    struct pdr_builder b;

    memset(&b, 0, offsetof(struct pdr_builder, err));
    reset(&b);
    pdr_builder_value(&b, v);
    return pdr_builder_finish(out, &b, err);
}

pdr_rc pdr_value_new_string(pdr_value **out, pdr_str text, pdr_err *err)
{
    struct pdr_builder b;

    PDR_REQUIRE(out != NULL);
    memset(&b, 0, offsetof(struct pdr_builder, err));
    reset(&b);
    pdr_builder_string(&b, text);
    return pdr_builder_finish(out, &b, err);
}
