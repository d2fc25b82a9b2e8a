/*
 * value.c - blocks and their owners, kinds, iteration, typed reading.
 *
 * WHY  A value is a node in a block; the block is what is counted. Reading a
 *      part of a document costs no allocation, and holding a part keeps the
 *      whole block, which pdr_value_compact() can end.
 *
 * NOT HERE  Look-ups in large containers (index.c), strings (text.c), numbers
 *           (number.c), changed containers (overlay.c).
 */
#include "core.h"

#include "number.h"

_Static_assert(sizeof(struct pdr_value) == 16, "a node has 16 bytes");
_Static_assert(sizeof(struct block) % 16 == 0, "nodes follow aligned");

/* --- blocks -------------------------------------------------------------- */

static bool block_bytes(size_t *out, uint32_t nodes, size_t inline_bytes)
{
    size_t size = 0;

    return pdr__mul_size(&size, nodes, sizeof(pdr_value)) &&
           pdr__add_size(&size, size, sizeof(struct block)) &&
           pdr__add_size(out, size, inline_bytes);
}

struct block *pdr__block_new(uint32_t nodes, size_t inline_bytes)
{
    size_t size = 0;

    if (!block_bytes(&size, nodes, inline_bytes))
        return NULL;
    struct block *block = pdr__alloc(size);
    if (block == NULL)
        return NULL;
    memset(block, 0, sizeof(*block));
    atomic_init(&block->refs, 1);
    atomic_init(&block->indexes, NULL);
    block->kind = BLOCK_FLAT;
    block->node_count = nodes;
    block->text_len = inline_bytes;
    block->text = (const char *)(block_nodes(block) + nodes);
    return block;
}

struct block *pdr__block_resize(struct block *block, uint32_t nodes)
{
    size_t size = 0;

    if (!block_bytes(&size, nodes, 0))
        return NULL;
    return pdr__realloc(block, size);
}

void pdr__block_ref(struct block *block, size_t n)
{
    if (block->kind != BLOCK_STATIC)
        atomic_fetch_add_explicit(&block->refs, n, memory_order_relaxed);
}

void pdr__block_unref(struct block *block, size_t n)
{
    if (block->kind == BLOCK_STATIC)
        return;
    size_t before =
        atomic_fetch_sub_explicit(&block->refs, n, memory_order_release);
    assert(before >= n);
    if (before != n)
        return;
    /* Everything other owners did happened before the memory goes. */
    (void)atomic_load_explicit(&block->refs, memory_order_acquire);
    if (block->kind == BLOCK_CHANGED)
        pdr__changed_destroy(block);
    pdr__index_free(block);
    pdr__free(block->owned);
    pdr__free(block);
}

pdr_value *pdr_value_ref(const pdr_value *value)
{
    if (value != NULL)
        pdr__block_ref(node_block(value), 1);
    return (pdr_value *)(uintptr_t)value;
}

void pdr_value_free(pdr_value *value)
{
    if (value != NULL)
        pdr__block_unref(node_block(value), 1);
}

/* --- kinds --------------------------------------------------------------- */

const char *pdr_kind_name(pdr_kind kind)
{
    static const char *const names[] = {"null",   "boolean", "number",
                                        "string", "array",   "object"};

    return (unsigned)kind < PDR_COUNT(names) ? names[kind] : "?";
}

pdr_kind pdr_value_kind(const pdr_value *value)
{
    uint32_t kind = value->info & NODE_KIND_MASK;

    /* A changed container counts as what it was before. */
    return (pdr_kind)(kind >= NODE_CHANGED_ARRAY ? kind - 2 : kind);
}

size_t pdr_value_count(const pdr_value *value)
{
    if (value == NULL || !node_is_container(value))
        return 0;
    return node_count(value);
}

/* --- walking ------------------------------------------------------------- */

void pdr_iter_init(pdr_iter *it, const pdr_value *container)
{
    memset(it, 0, sizeof(*it));
    it->container = container;
    it->index = SIZE_MAX; /* the first step makes it 0 */
    if (container == NULL || !node_is_container(container))
        return;
    if (node_is_changed(container)) {
        pdr__changed_iter_init(it, container);
        return;
    }
    it->left = node_count(container);
    it->cursor = container + 1;
    it->nodes = block_nodes(node_block(container));
}

bool pdr_iter_next(pdr_iter *it)
{
    if (it->left == 0)
        return false;
    it->index++;
    if (node_is_changed(it->container))
        return pdr__changed_iter_next(it);
    it->left--;
    if (node_kind(it->container) == NODE_OBJECT)
        it->name = it->cursor++;
    it->value = it->cursor;
    it->cursor = node_behind(it->cursor, it->nodes);
    return true;
}

const pdr_value *pdr_value_at(const pdr_value *array, size_t index)
{
    if (pdr_value_count(array) <= index || pdr_value_kind(array) != PDR_ARRAY)
        return NULL;
    if (node_is_changed(array))
        return pdr__changed_element(array, index);
    return pdr__index_element(array, (uint32_t)index);
}

const pdr_value *pdr_value_get(const pdr_value *object, pdr_str name)
{
    if (object == NULL)
        return NULL;
    if (node_kind(object) == NODE_CHANGED_OBJECT)
        return pdr__changed_member(object, name);
    if (node_kind(object) != NODE_OBJECT)
        return NULL;
    const pdr_value *found = pdr__index_member(object, name);
    return found != NULL ? found + 1 : NULL;
}

bool pdr__iter_is_last(const pdr_iter *it, pdr_str name)
{
    return it->name == (node_is_changed(it->container)
                            ? pdr__changed_name(it->container, name)
                            : pdr__index_member(it->container, name));
}

/* --- typed reading ------------------------------------------------------- */

static pdr_rc wrong_kind(const pdr_value *value, const char *wanted,
                         pdr_err *err)
{
    return PDR_FAIL(err, WRONG_KIND, "expected a %s, found %s", wanted,
                    pdr_kind_name(pdr_value_kind(value)));
}

pdr_rc pdr_value_bool(bool *out, const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && value != NULL);
    if (node_kind(value) != NODE_BOOL)
        return wrong_kind(value, "boolean", err);
    *out = (value->info & NODE_FLAG) != 0;
    return PDR_OK;
}

pdr_rc pdr_value_int64(int64_t *out, const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && value != NULL);
    if (node_kind(value) != NODE_NUMBER)
        return wrong_kind(value, "number", err);
    return pdr__number_int64(out, node_span(value), err);
}

pdr_rc pdr_value_uint64(uint64_t *out, const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && value != NULL);
    if (node_kind(value) != NODE_NUMBER)
        return wrong_kind(value, "number", err);
    return pdr__number_uint64(out, node_span(value), err);
}

pdr_rc pdr_value_double(double *out, const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && value != NULL);
    if (node_kind(value) != NODE_NUMBER)
        return wrong_kind(value, "number", err);
    return pdr__number_double(out, node_span(value), err);
}

bool pdr_value_raw(pdr_str *out, const pdr_value *value)
{
    *out = pdr_str_n(NULL, 0);
    if (node_is_changed(value))
        return false;
    *out = node_span(value);
    return true;
}

int64_t pdr_value_offset(const pdr_value *value)
{
    return node_is_changed(value) ? -1 : (int64_t)value->start;
}

/* --- height -------------------------------------------------------------- */

/* Exact height of a flat value: one pass over its nodes. */
static uint32_t flat_height(const pdr_value *v)
{
    uint32_t ends[PDR_MAX_DEPTH + 1];
    uint32_t depth = 0, height = 0;
    const pdr_value *nodes = block_nodes(node_block(v));
    uint32_t at = node_index(v);
    uint32_t end = at + (uint32_t)(node_next(v) - v);

    for (; at < end; at++) {
        while (depth > 0 && ends[depth - 1] <= at)
            depth--;
        if (!node_is_container(&nodes[at]))
            continue;
        ends[depth++] = node_is_filled(&nodes[at]) ? nodes[at].link : at + 1;
        if (depth > height)
            height = depth;
    }
    return height;
}

uint32_t pdr__value_height(const pdr_value *v)
{
    if (!node_is_container(v))
        return 0;
    struct block *block = node_block(v);
    if (node_is_changed(v) || block->height <= PDR_DEFAULT_DEPTH)
        return block->height;
    return flat_height(v);
}

/* --- making -------------------------------------------------------------- */

/* Values without content exist once and are never freed. */
struct static_value {
    struct block block;
    pdr_value node;
};

/* clang-format off */
#define STATIC_VALUE(literal, levels, bits)                                    \
    {.block = {.text = (literal), .text_len = sizeof(literal) - 1,             \
               .node_count = 1, .height = (levels), .kind = BLOCK_STATIC},     \
     .node = {.start = 0, .len = sizeof(literal) - 1, .info = (bits)}}
/* clang-format on */

static struct static_value static_null = STATIC_VALUE("null", 0, NODE_NULL);
static struct static_value static_false = STATIC_VALUE("false", 0, NODE_BOOL);
static struct static_value static_true =
    STATIC_VALUE("true", 0, NODE_BOOL | NODE_FLAG);
static struct static_value static_array = STATIC_VALUE("[]", 1, NODE_ARRAY);
static struct static_value static_object = STATIC_VALUE("{}", 1, NODE_OBJECT);

pdr_value *pdr_value_new_null(void)
{
    return &static_null.node;
}

pdr_value *pdr_value_new_bool(bool truth)
{
    return truth ? &static_true.node : &static_false.node;
}

pdr_value *pdr_value_new_array(void)
{
    return &static_array.node;
}

pdr_value *pdr_value_new_object(void)
{
    return &static_object.node;
}

/* A block with one scalar and its text inside. */
pdr_rc pdr__value_new_span(pdr_value **out, pdr_str span, uint32_t info,
                           pdr_err *err)
{
    struct block *block = pdr__block_new(1, span.len);
    if (block == NULL)
        return pdr__nomem(err);
    pdr_value *node = block_nodes(block);
    memcpy(node + 1, span.ptr, span.len);
    block->has_bare =
        (info & (NODE_KIND_MASK | NODE_FLAG)) == (NODE_NUMBER | NODE_FLAG);
    node->start = 0;
    node->len = (uint32_t)span.len;
    node->info = info;
    node->link = 0;
    *out = node;
    return PDR_OK;
}

pdr_rc pdr_value_new_number(pdr_value **out, pdr_str text, pdr_err *err)
{
    PDR_REQUIRE(out != NULL);
    *out = NULL;
    if (text.len > PDR_MAX_TEXT_BYTES)
        return PDR_FAIL(err, TOO_LARGE, "a number of %zu bytes", text.len);
    if (!pdr__number_is_valid(text))
        return PDR_FAIL(err, BAD_NUMBER, "not a JSON number: '%s'",
                        pdr__shown((char[PDR_SHOWN]){0}, text));
    return pdr__value_new_span(out, text, NODE_NUMBER, err);
}

pdr_rc pdr_value_new_int64(pdr_value **out, int64_t number, pdr_err *err)
{
    char text[24];

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    size_t len = pdr__number_write_int64(text, number);
    return pdr__value_new_span(out, pdr_str_n(text, len), NODE_NUMBER, err);
}

pdr_rc pdr_value_new_double(pdr_value **out, double number, pdr_err *err)
{
    char text[32];

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    if (number - number != 0)
        return PDR_FAIL(err, NOT_FINITE, "NaN and infinities are no JSON");
    size_t len = pdr__number_write_double(text, number);
    return pdr__value_new_span(out, pdr_str_n(text, len), NODE_NUMBER, err);
}

/* --- memory -------------------------------------------------------------- */

/* The blocks that a value keeps alive: a set. */
struct owners {
    struct block **slot; /* owned; cap of them, a power of two */
    size_t count, cap;
};

static size_t owner_slot(const struct owners *owners, const struct block *block)
{
    size_t i = ((uintptr_t)block >> 4) * (size_t)0x9E3779B97F4A7C15u;

    for (i = (i >> 20) & (owners->cap - 1);
         owners->slot[i] != NULL && owners->slot[i] != block;
         i = (i + 1) & (owners->cap - 1))
        ;
    return i;
}

static bool grow_owners(struct owners *owners)
{
    struct owners more = {NULL, owners->count,
                          owners->cap > 0 ? 2 * owners->cap : 64};

    more.slot = pdr__calloc(more.cap, sizeof(more.slot[0]));
    if (more.slot == NULL)
        return false;
    for (size_t i = 0; i < owners->cap; i++)
        if (owners->slot[i] != NULL)
            more.slot[owner_slot(&more, owners->slot[i])] = owners->slot[i];
    pdr__free(owners->slot);
    *owners = more;
    return true;
}

/* True if the block was not there yet; also false without memory. */
static bool add_owner(struct owners *owners, struct block *block)
{
    if (2 * owners->count >= owners->cap && !grow_owners(owners))
        return false;
    size_t i = owner_slot(owners, block);
    if (owners->slot[i] != NULL)
        return false;
    owners->slot[i] = block;
    owners->count++;
    return true;
}

static void collect(struct owners *owners, const pdr_value *v)
{
    pdr_iter it;

    if (!add_owner(owners, node_block(v)) || !node_is_changed(v))
        return;
    if (pdr__changed_base(v) != NULL)
        (void)add_owner(owners, node_block(pdr__changed_base(v)));
    pdr_iter_init(&it, v);
    while (pdr_iter_next(&it)) {
        if (it.name != NULL)
            (void)add_owner(owners, node_block(it.name));
        collect(owners, it.value);
    }
}

static size_t bytes_of_block(const struct block *block)
{
    const pdr_value *first = block_nodes(block);

    if (block->kind == BLOCK_STATIC)
        return 0;
    if (block->kind == BLOCK_CHANGED)
        return pdr__changed_bytes(first);
    size_t text =
        block->owned != NULL ||
                block->text == (const char *)(first + block->node_count)
            ? block->text_len
            : 0;
    return sizeof(*block) + block->node_count * sizeof(*first) + text +
           pdr__index_bytes(block);
}

size_t pdr_value_memory(const pdr_value *value)
{
    struct owners owners = {NULL, 0, 0};
    size_t total = 0;

    if (value == NULL)
        return 0;
    collect(&owners, value);
    for (size_t i = 0; i < owners.cap; i++)
        if (owners.slot[i] != NULL)
            total += bytes_of_block(owners.slot[i]);
    pdr__free(owners.slot);
    return total;
}

/* --- invariants ---------------------------------------------------------- */

/* N1 to N3 for the flat value at `v`; returns the node behind it. */
static const pdr_value *check_flat(const pdr_value *v,
                                   const struct block *block)
{
    const pdr_value *child = v + 1;
    size_t children = node_is_container(v) ? node_count(v) : 0;
    uint32_t from = v->start, end = v->start + v->len;

    assert(!node_is_changed(v));
    assert(node_block(v) == block);
    assert((size_t)v->start + v->len <= block->text_len && v->len > 0);
    if (node_kind(v) == NODE_OBJECT)
        children *= 2;
    for (size_t i = 0; i < children; i++) {
        assert(child->start > from && child->start + child->len < end);
        from = child->start + child->len - 1;
        child = check_flat(child, block);
    }
    assert(child == node_next(v));
    (void)from;
    (void)end;
    (void)block;
    return child;
}

void pdr__value_check(const pdr_value *v)
{
    pdr_iter it;

    if (!node_is_changed(v)) {
        (void)check_flat(v, node_block(v));
        return;
    }
    pdr__changed_check(v);
    pdr_iter_init(&it, v);
    while (pdr_iter_next(&it)) {
        if (it.name != NULL)
            pdr__value_check(it.name);
        pdr__value_check(it.value);
        assert(pdr__value_height(it.value) < PDR_MAX_DEPTH);
    }
}
