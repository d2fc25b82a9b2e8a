/*
 * overlay.c - arrays and objects that were changed.
 *
 * WHY  A change must not copy a document, must not touch what others hold, and
 *      must not lose a member that the program does not know. So a changed
 *      container is a node of its own that points at its children, most of
 *      which still lie in the block they were read into:
 *
 *        changed ─► base     the flat container it began as (for its white
 *           │                space, and as the first children of an array)
 *           └─► chunks ─► [ child child child … ] [ child … ] …
 *
 *      An array that only grew keeps its base as the first `prefix` children
 *      and has chunks for the rest. One that was changed in one place keeps
 *      what stands before and behind that place in its base: prefix and
 *      suffix. Any other change first puts all children into chunks. There is
 *      never a changed container on top of another one: a second edit changes
 *      the first one's chunks, in place if its handle is the only owner, else
 *      in a copy that shares all chunks but one, and the index of names. So an
 *      edit costs at most a chunk and the list of chunks; a new name in a large
 *      object that others hold also copies the index.
 *
 * INVARIANTS, asserted by pdr__changed_check()
 *   O1  A container with more than one owner never changes, nor does a chunk
 *       (run.c).
 *   O2  An item that lies in the block of `base` is a child of `base`: values
 *       that come from elsewhere in that block are copied first. The writer
 *       relies on it to find the white space around an item.
 *   O3  In an object, prefix and suffix are 0 and all chunks but the last are
 *       full, so a position gives chunk and slot at once. A removed member
 *       leaves an empty slot; when these outnumber the members, all are packed
 *       anew.
 *   O4  In an array, the prefix are the first children of the base and the
 *       suffix are its last; `after` is the first of the suffix, and `split`
 *       the child that stands behind the prefix in the base.
 *   O5  A child's height is below PDR_MAX_DEPTH, so recursion is bounded.
 *
 * NOT HERE  The changes themselves: object.c, array.c.
 */
#include "overlay.h"

/* What a walk asks for before it gets there; measured, see look_ahead(). */
#define AHEAD      2
#define CACHE_LINE 64
#define NODE_LINES 5
#define TEXT_LINES 4

const pdr_value *pdr__changed_base(const pdr_value *v)
{
    return changed_of(v)->base;
}

/* --- containers ---------------------------------------------------------- */

void pdr__changed_drop_names(struct changed *c)
{
    pdr__names_free(atomic_load_explicit(&c->names, memory_order_relaxed));
    atomic_store_explicit(&c->names, NULL, memory_order_relaxed);
}

void pdr__changed_destroy(struct block *block)
{
    struct changed *c = (struct changed *)(void *)block;

    pdr__run_drop(&c->run, true);
    pdr__changed_drop_names(c);
    if (c->base != NULL)
        pdr__block_unref(node_block(c->base), 1);
}

static struct changed *changed_new(enum node_kind kind, uint32_t height)
{
    struct changed *c = pdr__calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    atomic_init(&c->block.refs, 1);
    atomic_init(&c->block.indexes, NULL);
    atomic_init(&c->names, NULL);
    c->block.kind = BLOCK_CHANGED;
    c->block.height = height;
    c->block.node_count = 1;
    c->node.info = kind;
    return c;
}

/* Put `count` children of the base, from `it` on, into a run that does not
 * count them yet. */
static bool collect(struct run *run, pdr_iter *it, uint32_t count)
{
    while (count-- > 0 && pdr_iter_next(it)) {
        struct chunk *chunk =
            pdr__run_room_at_end(run, it->name != NULL ? 2 : 1);
        if (chunk == NULL)
            return false;
        if (it->name != NULL)
            chunk->item[chunk->count++] = (pdr_value *)(uintptr_t)it->name;
        chunk->item[chunk->count++] = (pdr_value *)(uintptr_t)it->value;
    }
    return true;
}

bool pdr__changed_unfold(struct changed *c)
{
    uint32_t children = c->prefix + c->suffix;
    struct run front = {NULL, NULL, 0, 0}, back = {NULL, NULL, 0, 0};
    pdr_iter it;

    if (children == 0)
        return true;
    pdr_iter_init(&it, c->base);
    bool fits = collect(&front, &it, c->prefix);
    if (c->suffix > 0) {
        it.cursor = c->after;
        it.left = c->suffix;
        fits = fits && collect(&back, &it, c->suffix);
    }
    if (!fits || !pdr__run_join(&front, &c->run, &back)) {
        pdr__run_drop(&front, false); /* its items were not counted yet */
        pdr__run_drop(&back, false);
        return false;
    }
    pdr__block_ref(node_block(c->base),
                   (size_t)children * (is_object(c) ? 2 : 1));
    c->run = front;
    c->slots = c->prefix; /* of an object; arrays have none */
    c->prefix = c->suffix = 0;
    c->split = c->after = NULL;
    return true;
}

/* A changed container that begins as the flat one in *io. */
static struct changed *from_flat(pdr_value **io)
{
    pdr_value *base = *io;
    bool object = node_kind(base) == NODE_OBJECT;
    struct changed *c =
        changed_new(object ? NODE_CHANGED_OBJECT : NODE_CHANGED_ARRAY,
                    pdr__value_height(base));

    if (c == NULL)
        return NULL;
    c->base = base;
    c->prefix = node_count(base);
    set_count(c, c->prefix);
    if (object && !pdr__changed_unfold(c)) { /* O3 */
        pdr__free(c);
        return NULL;
    }
    *io = &c->node; /* the count that *io had on base is c's now */
    return c;
}

/* A changed container that shares the chunks of the one in *io. */
static struct changed *from_shared(pdr_value **io)
{
    struct changed *old = changed_of(*io);
    struct changed *c = changed_new(node_kind(*io), old->block.height);

    if (c == NULL)
        return NULL;
    if (!pdr__run_share(&c->run, &old->run)) {
        pdr__run_drop(&c->run, true);
        pdr__free(c);
        return NULL;
    }
    c->node.info = old->node.info;
    c->prefix = old->prefix;
    c->suffix = old->suffix;
    c->split = old->split;
    c->after = old->after;
    c->slots = old->slots;
    c->empty = old->empty;
    atomic_store_explicit(
        &c->names,
        pdr__names_ref(atomic_load_explicit(&old->names, memory_order_acquire)),
        memory_order_relaxed);
    c->base = old->base;
    if (c->base != NULL)
        pdr__block_ref(node_block(c->base), 1);
    pdr__block_unref(&old->block, 1);
    *io = &c->node;
    return c;
}

struct changed *pdr__changed_make(pdr_value **io)
{
    if (!node_is_changed(*io))
        return from_flat(io);
    struct changed *c = changed_of(*io);
    if (atomic_load_explicit(&c->block.refs, memory_order_acquire) == 1)
        return c;
    return from_shared(io);
}

pdr_rc pdr__changed_check_levels(uint32_t levels, pdr_err *err)
{
    if (levels + 1 > PDR_MAX_DEPTH)
        return PDR_FAIL(err, TOO_DEEP, "a value may have at most %d levels",
                        PDR_MAX_DEPTH);
    return PDR_OK;
}

pdr_rc pdr__changed_adopt(pdr_value **out, const pdr_value *into,
                          const pdr_value *value, pdr_err *err)
{
    const pdr_value *base =
        node_is_changed(into) ? changed_of(into)->base : into;

    *out = NULL;
    pdr_rc rc = pdr__changed_check_levels(pdr__value_height(value), err);
    if (rc != PDR_OK)
        return rc;
    if (base != NULL && node_block(base) == node_block(value) &&
        node_block(base)->kind != BLOCK_STATIC)
        return pdr__value_copy(out, value, err);
    *out = pdr_value_ref(value);
    return PDR_OK;
}

void pdr__changed_raise(struct changed *c, uint32_t child)
{
    if (c->block.height < child + 1)
        c->block.height = child + 1;
}

pdr_rc pdr__changed_need(const pdr_value *v, pdr_kind kind, pdr_err *err)
{
    if (pdr_value_kind(v) == kind)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_KIND, "expected an %s, found %s",
                    pdr_kind_name(kind), pdr_kind_name(pdr_value_kind(v)));
}

/* --- walking ------------------------------------------------------------- */

void pdr__changed_iter_init(pdr_iter *it, const pdr_value *v)
{
    const struct changed *c = changed_of(v);

    it->left = node_count(v);
    if (c->prefix + c->suffix > 0) {
        it->cursor = c->base + 1;
        it->nodes = block_nodes(node_block(c->base));
    }
}

void pdr__changed_iter_chunks(pdr_iter *it, const pdr_value *v)
{
    const struct changed *c = changed_of(v);

    pdr_iter_init(it, v);
    it->index = (size_t)c->prefix - 1; /* the next step makes it the prefix */
    it->left = run_items(c);
}

void pdr__changed_parts(struct changed_parts *out, const pdr_value *v)
{
    const struct changed *c = changed_of(v);

    out->prefix = c->prefix;
    out->suffix = c->suffix;
    out->split = c->split;
    out->after = c->after;
}

/* Ask for the cache lines from `from` on, and for as many more. */
static void prefetch_lines(const char *from, unsigned lines)
{
    for (unsigned i = 0; i < lines; i++)
        __builtin_prefetch(from + i * CACHE_LINE);
}

/* Elements that were put in lie in blocks of their own, anywhere in memory, and
 * a walk over them would wait for each. Who walks will look at the first nodes
 * of an element and at the names that stand at both ends of its text: ask for
 * the nodes of a later one now, and for the text of one whose nodes are there.
 */
static void look_ahead(const struct chunk *chunk, uint32_t slot)
{
    if (slot + 2 * AHEAD < chunk->count) {
        const char *nodes = (const char *)chunk->item[slot + 2 * AHEAD];

        prefetch_lines(nodes - sizeof(struct block), NODE_LINES);
    }
    if (slot + AHEAD < chunk->count) {
        const pdr_value *next = chunk->item[slot + AHEAD];

        if (node_is_changed(next))
            return;
        pdr_str text = node_span(next);
        prefetch_lines(text.ptr, TEXT_LINES);
        __builtin_prefetch(text.ptr + text.len - 1);
    }
}

bool pdr__changed_iter_next(pdr_iter *it)
{
    const struct changed *c = changed_of(it->container);

    it->left--;
    if (!is_object(c) &&
        (it->index < c->prefix || it->index - c->prefix >= run_items(c))) {
        if (it->index == c->prefix + run_items(c))
            it->cursor = c->after;
        it->value = it->cursor;
        it->cursor = node_behind(it->cursor, it->nodes);
        return true;
    }
    for (;;) {
        const struct chunk *chunk = c->run.chunks[it->chunk];
        if (it->slot >= chunk->count) {
            it->chunk++;
            it->slot = 0;
            continue;
        }
        if (!is_object(c)) {
            look_ahead(chunk, it->slot);
            it->value = chunk->item[it->slot++];
            return true;
        }
        it->name = chunk->item[it->slot];
        it->value = chunk->item[it->slot + 1];
        it->slot += 2;
        if (it->name != NULL)
            return true;
    }
}

/* --- invariants ---------------------------------------------------------- */

/* O3 and O4. */
void pdr__changed_check(const pdr_value *v)
{
    const struct changed *c = changed_of(v);
    size_t items = 0;

    for (uint32_t k = 0; k < c->run.count; k++) {
        assert(c->run.starts[k] == items && c->run.chunks[k]->count > 0);
        items += c->run.chunks[k]->count;
    }
    if (is_object(c)) {
        assert(c->prefix == 0 && c->suffix == 0 && items == 2 * c->slots);
        assert(node_count(v) == c->slots - c->empty);
    } else {
        assert(items == run_items(c));
    }
    assert((c->after != NULL) == (c->suffix > 0));
    assert(c->suffix == 0 ||
           c->after ==
               pdr__index_element(c->base, node_count(c->base) - c->suffix));
    assert(c->split == NULL ||
           c->split == pdr__index_element(c->base, c->prefix));
    (void)items;
}

/* --- memory -------------------------------------------------------------- */

size_t pdr__changed_bytes(const pdr_value *v)
{
    const struct changed *c = changed_of(v);

    return sizeof(*c) + pdr__run_bytes(&c->run) +
           pdr__names_bytes(
               atomic_load_explicit(&c->names, memory_order_acquire));
}

pdr_rc pdr_value_compact(pdr_value **io, pdr_err *err)
{
    pdr_value *copy = NULL;

    PDR_REQUIRE(io != NULL && *io != NULL);
    pdr_rc rc = pdr__value_copy(&copy, *io, err);
    if (rc != PDR_OK)
        return rc;
    pdr_value_free(*io);
    *io = copy;
    return PDR_OK;
}
