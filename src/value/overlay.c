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
 *      and has chunks for the rest. Any other change first puts all children
 *      into chunks. There is never a changed container on top of another one:
 *      a second edit changes the first one's chunks, in place if its handle is
 *      the only owner, else in a copy that shares all chunks but one. So an
 * edit costs at most a chunk and the list of chunks, in both cases.
 *
 * INVARIANTS
 *   O1  A chunk owns one count for each of its items. A chunk with more than
 *       one owner, or in a container with more than one owner, never changes.
 *   O2  An item that lies in the block of `base` is a child of `base`: values
 *       that come from elsewhere in that block are copied first. The writer
 *       relies on it to find the white space around an item.
 *   O3  In an object, `prefix` is 0 and all chunks but the last are full, so a
 *       position gives chunk and slot at once. A removed member leaves an empty
 *       slot; when these outnumber the members, all are packed anew.
 *   O4  starts[k] is the number of items in the chunks before k.
 *   O5  A child's height is below PDR_MAX_DEPTH, so recursion is bounded.
 *   O6  What may fail comes before what changes something.
 */
#include "core.h"

/* Items of a chunk at most. 4 KB: what one edit copies when the chunk is
 * shared; small against a page of text, large enough that a million elements
 * need only two thousand chunks. */
#define CHUNK_ITEMS 512u

struct chunk {
    atomic_size_t refs;
    uint32_t count; /* items in use */
    uint32_t cap;
    pdr_value *item[]; /* owned; in an object name, value, name, value */
};

/* Chunks in a row. */
struct run {
    struct chunk **chunks; /* owned */
    uint32_t *starts;      /* owned; O4 */
    uint32_t count, cap;
};

struct changed {
    struct block block; /* kind BLOCK_CHANGED; its node follows */
    pdr_value node;
    const pdr_value *base; /* owned; NULL if there is none */
    struct run run;
    uint32_t prefix;  /* children of base that come before the chunks */
    uint32_t slots;   /* object: members and empty slots */
    uint32_t empty;   /* object: empty slots */
    uint32_t doubles; /* object: what `names` saw more than once */
    _Atomic(struct names *) names; /* object: built when it is large */
};

_Static_assert(offsetof(struct changed, node) == sizeof(struct block),
               "the node stands where block_nodes() looks for it");

static struct changed *changed_of(const pdr_value *v)
{
    assert(node_is_changed(v));
    return PDR_CONTAINER_OF((uintptr_t)v, struct changed, node);
}

static bool is_object(const struct changed *c)
{
    return node_kind(&c->node) == NODE_CHANGED_OBJECT;
}

static void set_count(struct changed *c, size_t count)
{
    c->node.info =
        (c->node.info & NODE_KIND_MASK) | (uint32_t)(count << NODE_COUNT_SHIFT);
}

size_t pdr__changed_count(const pdr_value *v)
{
    return node_count(v);
}

const pdr_value *pdr__changed_base(const pdr_value *v)
{
    return changed_of(v)->base;
}

/* --- chunks -------------------------------------------------------------- */

static struct chunk *chunk_new(uint32_t cap)
{
    struct chunk *chunk =
        pdr__alloc(sizeof(*chunk) + cap * sizeof(chunk->item[0]));

    if (chunk == NULL)
        return NULL;
    atomic_init(&chunk->refs, 1);
    chunk->count = 0;
    chunk->cap = cap;
    return chunk;
}

/* Add an owner to each item, neighbours of one block at once. */
static void ref_items(pdr_value *const *item, uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t n = 1;
        if (item[i] == NULL) {
            i++;
            continue;
        }
        struct block *block = node_block(item[i]);
        while (i + n < count && item[i + n] != NULL &&
               node_block(item[i + n]) == block)
            n++;
        pdr__block_ref(block, n);
        i += n;
    }
}

static void unref_items(pdr_value *const *item, uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t n = 1;
        if (item[i] == NULL) {
            i++;
            continue;
        }
        struct block *block = node_block(item[i]);
        while (i + n < count && item[i + n] != NULL &&
               node_block(item[i + n]) == block)
            n++;
        pdr__block_unref(block, n);
        i += n;
    }
}

static void chunk_unref(struct chunk *chunk)
{
    if (atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) != 1)
        return;
    unref_items(chunk->item, chunk->count);
    pdr__free(chunk);
}

static bool chunk_is_shared(const struct chunk *chunk)
{
    return atomic_load_explicit(&chunk->refs, memory_order_acquire) != 1;
}

/* Make chunk k one that only this run owns, with room for `room` more items. */
static struct chunk *own_chunk(struct run *run, uint32_t k, uint32_t room)
{
    struct chunk *old = run->chunks[k];
    uint32_t cap = old->cap;

    assert(old->count + room <= CHUNK_ITEMS);
    while (cap < old->count + room)
        cap *= 2;
    if (chunk_is_shared(old)) {
        struct chunk *copy = chunk_new(cap);
        if (copy == NULL)
            return NULL;
        memcpy(copy->item, old->item, old->count * sizeof(old->item[0]));
        copy->count = old->count;
        ref_items(copy->item, copy->count);
        chunk_unref(old);
        run->chunks[k] = copy;
    } else if (cap > old->cap) {
        struct chunk *grown =
            pdr__realloc(old, sizeof(*old) + cap * sizeof(old->item[0]));
        if (grown == NULL)
            return NULL;
        grown->cap = cap;
        run->chunks[k] = grown;
    }
    return run->chunks[k];
}

/* Room for `extra` more chunks in the list. */
static bool reserve_chunks(struct run *run, uint32_t extra)
{
    uint32_t cap = run->cap;

    if (run->count + extra <= cap)
        return true;
    while (cap < run->count + extra)
        cap = cap * 2 + 2;
    struct chunk **chunks =
        pdr__realloc(run->chunks, cap * sizeof(run->chunks[0]));
    if (chunks == NULL)
        return false;
    run->chunks = chunks;
    uint32_t *starts = pdr__realloc(run->starts, cap * sizeof(run->starts[0]));
    if (starts == NULL)
        return false;
    run->starts = starts;
    run->cap = cap;
    return true;
}

static void renumber(struct run *run, uint32_t from)
{
    for (uint32_t k = from; k < run->count; k++)
        run->starts[k] =
            k == 0 ? 0 : run->starts[k - 1] + run->chunks[k - 1]->count;
}

/* Put a chunk into the list at place k; there is room (O6). */
static void insert_chunk(struct run *run, uint32_t k, struct chunk *chunk)
{
    memmove(&run->chunks[k + 1], &run->chunks[k],
            (run->count - k) * sizeof(run->chunks[0]));
    run->chunks[k] = chunk;
    run->count++;
    renumber(run, k);
}

/* The chunk that holds item number `at`, and its place there. */
static uint32_t find_chunk(const struct run *run, size_t at, uint32_t *slot)
{
    uint32_t low = 0, high = run->count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (run->starts[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    *slot = (uint32_t)(at - run->starts[low]);
    return low;
}

/* Chunks that end with room for one more `pair` of 1 or 2 items. */
static struct chunk *room_at_end(struct run *run, uint32_t pair)
{
    uint32_t last = run->count - 1;

    if (run->count > 0 && run->chunks[last]->count + pair <= CHUNK_ITEMS)
        return own_chunk(run, last, pair);
    if (!reserve_chunks(run, 1))
        return NULL;
    struct chunk *chunk = chunk_new(run->count == 0 ? 8 : CHUNK_ITEMS);
    if (chunk != NULL)
        insert_chunk(run, run->count, chunk);
    return chunk;
}

/* --- containers ---------------------------------------------------------- */

/* Release the list; with `items`, also what the chunks hold. */
static void drop_run(struct run *run, bool items)
{
    for (uint32_t k = 0; k < run->count; k++) {
        if (items)
            chunk_unref(run->chunks[k]);
        else
            pdr__free(run->chunks[k]);
    }
    pdr__free(run->chunks);
    pdr__free(run->starts);
    memset(run, 0, sizeof(*run));
}

static void drop_names(struct changed *c)
{
    pdr__names_free(atomic_load_explicit(&c->names, memory_order_relaxed));
    atomic_store_explicit(&c->names, NULL, memory_order_relaxed);
}

void pdr__changed_destroy(struct block *block)
{
    struct changed *c = (struct changed *)(void *)block;

    drop_run(&c->run, true);
    drop_names(c);
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

/* Put all children of the base into chunks. */
static bool unfold(struct changed *c)
{
    uint32_t pair = is_object(c) ? 2 : 1;
    struct run run = {NULL, NULL, 0, 0};
    pdr_iter it;

    if (c->prefix == 0)
        return true;
    pdr_iter_init(&it, c->base);
    while (pdr_iter_next(&it)) {
        struct chunk *chunk = room_at_end(&run, pair);
        if (chunk == NULL)
            goto fail;
        if (pair == 2)
            chunk->item[chunk->count++] = (pdr_value *)(uintptr_t)it.name;
        chunk->item[chunk->count++] = (pdr_value *)(uintptr_t)it.value;
    }
    if (!reserve_chunks(&run, c->run.count))
        goto fail;
    pdr__block_ref(node_block(c->base), (size_t)c->prefix * pair);
    for (uint32_t k = 0; k < c->run.count; k++)
        run.chunks[run.count++] = c->run.chunks[k];
    c->run.count = 0; /* moved */
    drop_run(&c->run, true);
    c->run = run;
    c->slots = c->prefix;
    c->prefix = 0;
    renumber(&c->run, 0);
    return true;
fail:
    drop_run(&run, false); /* its items were not counted yet */
    return false;
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
    if (object && !unfold(c)) { /* O3 */
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
    if (!reserve_chunks(&c->run, old->run.count)) {
        drop_run(&c->run, true);
        pdr__free(c);
        return NULL;
    }
    for (uint32_t k = 0; k < old->run.count; k++) {
        c->run.chunks[k] = old->run.chunks[k];
        c->run.starts[k] = old->run.starts[k];
        atomic_fetch_add_explicit(&c->run.chunks[k]->refs, 1,
                                  memory_order_relaxed);
    }
    c->run.count = old->run.count;
    c->node.info = old->node.info;
    c->prefix = old->prefix;
    c->slots = old->slots;
    c->empty = old->empty;
    c->base = old->base;
    if (c->base != NULL)
        pdr__block_ref(node_block(c->base), 1);
    pdr__block_unref(&old->block, 1);
    *io = &c->node;
    return c;
}

/* The changed container in *io, owned by that handle alone. */
static struct changed *make_changed(pdr_value **io)
{
    if (!node_is_changed(*io))
        return from_flat(io);
    struct changed *c = changed_of(*io);
    if (atomic_load_explicit(&c->block.refs, memory_order_acquire) == 1)
        return c;
    return from_shared(io);
}

/* An owned handle of `value` to put into the container in `into` (O2, O5). */
static pdr_rc adopt(pdr_value **out, const pdr_value *into,
                    const pdr_value *value, pdr_err *err)
{
    const pdr_value *base =
        node_is_changed(into) ? changed_of(into)->base : into;

    *out = NULL;
    if (pdr__value_height(value) + 1 > PDR_MAX_DEPTH)
        return PDR_FAIL(err, TOO_DEEP, "a value may have at most %d levels",
                        PDR_MAX_DEPTH);
    if (base != NULL && node_block(base) == node_block(value) &&
        node_block(base)->kind != BLOCK_STATIC)
        return pdr__value_copy(out, value, err);
    *out = pdr_value_ref(value);
    return PDR_OK;
}

static void raise_height(struct changed *c, uint32_t child)
{
    if (c->block.height < child + 1)
        c->block.height = child + 1;
}

static pdr_rc need_kind(const pdr_value *v, pdr_kind kind, pdr_err *err)
{
    if (pdr_value_kind(v) == kind)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_KIND, "expected an %s, found %s",
                    pdr_kind_name(kind), pdr_kind_name(pdr_value_kind(v)));
}

/* --- objects ------------------------------------------------------------- */

static pdr_value **member_at(const struct changed *c, uint32_t position)
{
    const uint32_t per_chunk = CHUNK_ITEMS / 2;

    return &c->run.chunks[position / per_chunk]
                ->item[2 * (position % per_chunk)];
}

/* Note that the member at `position` is the last of its name. */
static bool note_name(const struct changed *c, struct names **names,
                      uint32_t position, uint32_t *doubles)
{
    const pdr_value *name = member_at(c, position)[0];
    uint64_t hash = 0;
    uint32_t candidate = 0;
    size_t probe = 0;

    if (!pdr__names_hash(&hash, name))
        return false;
    while (pdr__names_next(&candidate, &probe, *names, hash)) {
        const pdr_value *there = member_at(c, candidate)[0];
        if (there != NULL && pdr__value_same_text(there, name)) {
            pdr__names_move(*names, probe, hash, position);
            ++*doubles;
            return true;
        }
    }
    return pdr__names_put(names, hash, position);
}

/* The index of names, built now if there is none; NULL without memory. */
static struct names *names_of(struct changed *c)
{
    struct names *names = atomic_load_explicit(&c->names, memory_order_acquire);
    uint32_t doubles = 0;

    if (names != NULL)
        return names;
    names = pdr__names_new(c->slots);
    if (names == NULL)
        return NULL;
    for (uint32_t i = 0; i < c->slots; i++)
        if (member_at(c, i)[0] != NULL && !note_name(c, &names, i, &doubles)) {
            pdr__names_free(names);
            return NULL;
        }
    struct names *there = NULL;
    if (!atomic_compare_exchange_strong_explicit(&c->names, &there, names,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire)) {
        pdr__names_free(names); /* another reader was faster */
        return there;
    }
    c->doubles = doubles;
    return names;
}

/* Position of the last member called `name`, or UINT32_MAX. */
static uint32_t find_member(struct changed *c, pdr_str name)
{
    struct names *names = c->slots >= PDR_INDEX_MIN ? names_of(c) : NULL;
    uint32_t position = 0;
    size_t probe = 0;

    if (names != NULL) {
        uint64_t hash = pdr__hash(name);
        while (pdr__names_next(&position, &probe, names, hash)) {
            const pdr_value *there = member_at(c, position)[0];
            if (there != NULL && pdr__value_has_text(there, name))
                return position;
        }
        return UINT32_MAX;
    }
    for (position = c->slots; position-- > 0;) {
        const pdr_value *there = member_at(c, position)[0];
        if (there != NULL && pdr__value_has_text(there, name))
            return position;
    }
    return UINT32_MAX;
}

const pdr_value *pdr__changed_member(const pdr_value *v, pdr_str name)
{
    struct changed *c = changed_of(v);
    uint32_t position = find_member(c, name);

    return position != UINT32_MAX ? member_at(c, position)[1] : NULL;
}

/* The member at `position`, in a chunk that can be changed. */
static pdr_value **own_member(struct changed *c, uint32_t position)
{
    if (own_chunk(&c->run, position / (CHUNK_ITEMS / 2), 0) == NULL)
        return NULL;
    return member_at(c, position);
}

/* Add a member at the end; takes `value` if it succeeds. */
static pdr_rc add_member(struct changed *c, pdr_str name, pdr_value *value,
                         pdr_err *err)
{
    pdr_value *owned_name = NULL;

    if (c->slots >= PDR_MAX_NODES)
        return PDR_FAIL(err, TOO_MANY_NODES, "an object has at most %u members",
                        PDR_MAX_NODES);
    pdr_rc rc = pdr_value_new_string(&owned_name, name, err);
    if (rc != PDR_OK)
        return rc;
    struct chunk *chunk = room_at_end(&c->run, 2);
    if (chunk == NULL) {
        pdr_value_free(owned_name);
        return pdr__nomem(err);
    }
    chunk->item[chunk->count++] = owned_name;
    chunk->item[chunk->count++] = value;
    set_count(c, node_count(&c->node) + 1);
    struct names *names = atomic_load_explicit(&c->names, memory_order_relaxed);
    if (names != NULL && !note_name(c, &names, c->slots, &c->doubles)) {
        drop_names(c); /* it is built again when it is wanted */
    } else {
        atomic_store_explicit(&c->names, names, memory_order_relaxed);
    }
    c->slots++;
    return PDR_OK;
}

pdr_rc pdr_value_set(pdr_value **io, pdr_str name, const pdr_value *value,
                     pdr_err *err)
{
    pdr_value *item = NULL;

    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    pdr_rc rc = need_kind(*io, PDR_OBJECT, err);
    if (rc == PDR_OK)
        rc = adopt(&item, *io, value, err);
    if (rc != PDR_OK)
        return rc;
    struct changed *c = make_changed(io);
    if (c == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    uint32_t position = find_member(c, name);
    uint32_t height = pdr__value_height(item);
    if (position == UINT32_MAX) {
        rc = add_member(c, name, item, err);
    } else {
        pdr_value **member = own_member(c, position);
        if (member == NULL) {
            rc = pdr__nomem(err);
            goto done;
        }
        pdr_value *old = member[1];
        member[1] = item;
        pdr_value_free(old);
    }
    if (rc == PDR_OK) {
        raise_height(c, height);
        item = NULL;
    }
done:
    pdr_value_free(item);
    return rc;
}

/* Put all members into new chunks without empty slots. Without memory they
 * stay as they are for now. */
static void pack(struct changed *c)
{
    struct run run = {NULL, NULL, 0, 0};

    for (uint32_t i = 0; i < c->slots; i++) {
        pdr_value **member = member_at(c, i);
        if (member[0] == NULL)
            continue;
        struct chunk *chunk = room_at_end(&run, 2);
        if (chunk == NULL) {
            drop_run(&run, false);
            return;
        }
        chunk->item[chunk->count++] = member[0];
        chunk->item[chunk->count++] = member[1];
    }
    for (uint32_t k = 0; k < run.count; k++)
        ref_items(run.chunks[k]->item, run.chunks[k]->count);
    drop_run(&c->run, true);
    drop_names(c);
    c->run = run;
    c->slots -= c->empty;
    c->empty = 0;
}

/* Own every chunk that holds a member of this name. */
static bool own_members(struct changed *c, pdr_str name)
{
    for (uint32_t i = 0; i < c->slots; i++) {
        const pdr_value *there = member_at(c, i)[0];
        if (there != NULL && pdr__value_has_text(there, name) &&
            own_member(c, i) == NULL)
            return false;
    }
    return true;
}

static void clear_member(struct changed *c, uint32_t position)
{
    pdr_value **member = member_at(c, position);

    pdr_value_free(member[0]);
    pdr_value_free(member[1]);
    member[0] = member[1] = NULL;
    c->empty++;
    set_count(c, node_count(&c->node) - 1);
}

pdr_rc pdr_value_remove(pdr_value **io, pdr_str name, pdr_err *err)
{
    PDR_REQUIRE(io != NULL && *io != NULL);
    pdr_rc rc = need_kind(*io, PDR_OBJECT, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_get(*io, name) == NULL)
        return PDR_FAIL(err, NO_MEMBER, "no member '%.*s'",
                        name.len < 60 ? (int)name.len : 60, name.ptr);
    struct changed *c = make_changed(io);
    if (c == NULL)
        return pdr__nomem(err);
    uint32_t last = find_member(c, name);
    bool single = c->slots >= PDR_INDEX_MIN && c->doubles == 0 &&
                  atomic_load_explicit(&c->names, memory_order_relaxed) != NULL;
    if (single ? own_member(c, last) == NULL : !own_members(c, name))
        return pdr__nomem(err);
    for (uint32_t i = single ? last : 0; i <= last; i++) {
        const pdr_value *there = member_at(c, i)[0];
        if (there != NULL && pdr__value_has_text(there, name))
            clear_member(c, i);
    }
    if (c->empty > PDR_INDEX_MIN && c->empty > c->slots / 2)
        pack(c);
    return PDR_OK;
}

/* --- arrays -------------------------------------------------------------- */

const pdr_value *pdr__changed_element(const pdr_value *v, size_t position)
{
    const struct changed *c = changed_of(v);
    uint32_t slot = 0;

    if (position < c->prefix)
        return pdr__index_element(c->base, (uint32_t)position);
    uint32_t k = find_chunk(&c->run, position - c->prefix, &slot);
    return c->run.chunks[k]->item[slot];
}

/* Begin to change the array in *io: an owned handle of `value` and the changed
 * container, or a failure that leaves *io as it was. */
static pdr_rc begin_element(struct changed **out, pdr_value **item,
                            pdr_value **io, const pdr_value *value,
                            pdr_err *err)
{
    *out = NULL;
    *item = NULL;
    pdr_rc rc = need_kind(*io, PDR_ARRAY, err);
    if (rc == PDR_OK && value != NULL)
        rc = adopt(item, *io, value, err);
    if (rc != PDR_OK)
        return rc;
    *out = make_changed(io);
    if (*out != NULL)
        return PDR_OK;
    pdr_value_free(*item);
    *item = NULL;
    return pdr__nomem(err);
}

static pdr_rc no_element(size_t index, const pdr_value *array, pdr_err *err)
{
    return PDR_FAIL(err, NO_ELEMENT, "no element %zu in an array of %zu", index,
                    pdr_value_count(array));
}

pdr_rc pdr_value_append(pdr_value **io, const pdr_value *value, pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *item = NULL;

    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    pdr_rc rc = begin_element(&c, &item, io, value, err);
    if (rc != PDR_OK)
        return rc;
    if (node_count(&c->node) >= PDR_MAX_NODES) {
        rc = PDR_FAIL(err, TOO_MANY_NODES, "an array has at most %u elements",
                      PDR_MAX_NODES);
        goto done;
    }
    struct chunk *chunk = room_at_end(&c->run, 1);
    if (chunk == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    raise_height(c, pdr__value_height(item));
    chunk->item[chunk->count++] = item;
    set_count(c, node_count(&c->node) + 1);
    item = NULL;
done:
    pdr_value_free(item);
    return rc;
}

/* Halve chunk k, which is full and owned. */
static bool split_chunk(struct run *run, uint32_t k)
{
    struct chunk *left = run->chunks[k];
    uint32_t half = left->count / 2;

    if (!reserve_chunks(run, 1))
        return false;
    struct chunk *right = chunk_new(CHUNK_ITEMS);
    if (right == NULL)
        return false;
    memcpy(right->item, left->item + half,
           (left->count - half) * sizeof(left->item[0]));
    right->count = left->count - half;
    left->count = half;
    insert_chunk(run, k + 1, right);
    return true;
}

/* The chunk that gets a new item number `at`, with room for it. */
static struct chunk *room_inside(struct run *run, size_t at, uint32_t *place,
                                 uint32_t *slot)
{
    uint32_t k = find_chunk(run, at, slot);

    if (run->chunks[k]->count == CHUNK_ITEMS) {
        if (own_chunk(run, k, 0) == NULL || !split_chunk(run, k))
            return NULL;
        k = find_chunk(run, at, slot);
    }
    *place = k;
    return own_chunk(run, k, 1);
}

pdr_rc pdr_value_insert(pdr_value **io, size_t index, const pdr_value *value,
                        pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *item = NULL;
    uint32_t place = 0, slot = 0;

    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    if (pdr_value_kind(*io) == PDR_ARRAY) {
        if (index == pdr_value_count(*io))
            return pdr_value_append(io, value, err);
        if (index > pdr_value_count(*io))
            return no_element(index, *io, err);
    }
    pdr_rc rc = begin_element(&c, &item, io, value, err);
    if (rc != PDR_OK)
        return rc;
    struct chunk *chunk = node_count(&c->node) < PDR_MAX_NODES && unfold(c)
                              ? room_inside(&c->run, index, &place, &slot)
                              : NULL;
    if (chunk == NULL) {
        pdr_value_free(item);
        return pdr__nomem(err);
    }
    memmove(&chunk->item[slot + 1], &chunk->item[slot],
            (chunk->count - slot) * sizeof(chunk->item[0]));
    raise_height(c, pdr__value_height(item));
    chunk->item[slot] = item;
    chunk->count++;
    set_count(c, node_count(&c->node) + 1);
    renumber(&c->run, place + 1);
    return PDR_OK;
}

/* The handle of element `index`, in a chunk that can be changed. */
static pdr_rc own_element(pdr_value ***out, struct changed *c, size_t index,
                          pdr_err *err)
{
    uint32_t slot = 0;

    if (index < c->prefix && !unfold(c))
        return pdr__nomem(err);
    uint32_t k = find_chunk(&c->run, index - c->prefix, &slot);
    struct chunk *chunk = own_chunk(&c->run, k, 0);
    if (chunk == NULL)
        return pdr__nomem(err);
    *out = &chunk->item[slot];
    return PDR_OK;
}

pdr_rc pdr_value_replace(pdr_value **io, size_t index, const pdr_value *value,
                         pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *item = NULL, **place = NULL;

    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    if (pdr_value_kind(*io) == PDR_ARRAY && index >= pdr_value_count(*io))
        return no_element(index, *io, err);
    pdr_rc rc = begin_element(&c, &item, io, value, err);
    if (rc != PDR_OK)
        return rc;
    rc = own_element(&place, c, index, err);
    if (rc == PDR_OK) {
        pdr_value *old = *place;
        raise_height(c, pdr__value_height(item));
        *place = item;
        item = old;
    }
    pdr_value_free(item);
    return rc;
}

pdr_rc pdr_value_erase(pdr_value **io, size_t index, pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *none = NULL, **place = NULL;
    uint32_t slot = 0;

    PDR_REQUIRE(io != NULL && *io != NULL);
    if (pdr_value_kind(*io) == PDR_ARRAY && index >= pdr_value_count(*io))
        return no_element(index, *io, err);
    pdr_rc rc = begin_element(&c, &none, io, NULL, err);
    if (rc == PDR_OK)
        rc = own_element(&place, c, index, err);
    if (rc != PDR_OK)
        return rc;
    uint32_t k = find_chunk(&c->run, index - c->prefix, &slot);
    struct chunk *chunk = c->run.chunks[k];
    pdr_value_free(*place);
    chunk->count--;
    memmove(&chunk->item[slot], &chunk->item[slot + 1],
            (chunk->count - slot) * sizeof(chunk->item[0]));
    if (chunk->count == 0) {
        chunk_unref(chunk);
        c->run.count--;
        memmove(&c->run.chunks[k], &c->run.chunks[k + 1],
                (c->run.count - k) * sizeof(c->run.chunks[0]));
    }
    set_count(c, node_count(&c->node) - 1);
    renumber(&c->run, k);
    return PDR_OK;
}

/* --- children in place --------------------------------------------------- */

static pdr_rc check_levels(uint32_t levels, pdr_err *err)
{
    if (levels + 1 > PDR_MAX_DEPTH)
        return PDR_FAIL(err, TOO_DEEP, "a value may have at most %d levels",
                        PDR_MAX_DEPTH);
    return PDR_OK;
}

pdr_rc pdr__value_edit_element(pdr_value ***slot, pdr_value **parent,
                               size_t index, uint32_t levels, pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *none = NULL;

    pdr_rc rc = check_levels(levels, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_kind(*parent) == PDR_ARRAY &&
        index >= pdr_value_count(*parent))
        return no_element(index, *parent, err);
    rc = begin_element(&c, &none, parent, NULL, err);
    if (rc == PDR_OK)
        rc = own_element(slot, c, index, err);
    if (rc == PDR_OK)
        raise_height(c, levels);
    return rc;
}

pdr_rc pdr__value_edit_member(pdr_value ***slot, pdr_value **parent,
                              pdr_str name, uint32_t levels, pdr_err *err)
{
    pdr_rc rc = check_levels(levels, err);
    if (rc == PDR_OK)
        rc = need_kind(*parent, PDR_OBJECT, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_get(*parent, name) == NULL)
        return PDR_FAIL(err, NO_MEMBER, "no member '%.*s'",
                        name.len < 60 ? (int)name.len : 60, name.ptr);
    struct changed *c = make_changed(parent);
    if (c == NULL)
        return pdr__nomem(err);
    pdr_value **member = own_member(c, find_member(c, name));
    if (member == NULL)
        return pdr__nomem(err);
    raise_height(c, levels);
    *slot = &member[1];
    return PDR_OK;
}

/* --- walking ------------------------------------------------------------- */

void pdr__changed_iter_init(pdr_iter *it, const pdr_value *v)
{
    const struct changed *c = changed_of(v);

    it->left = node_count(v);
    it->cursor = c->prefix > 0 ? c->base + 1 : NULL;
}

bool pdr__changed_iter_next(pdr_iter *it)
{
    const struct changed *c = changed_of(it->container);

    it->left--;
    if (it->index < c->prefix) { /* only arrays have a prefix (O3) */
        it->value = it->cursor;
        it->cursor = node_next(it->cursor);
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

/* --- memory -------------------------------------------------------------- */

size_t pdr__changed_bytes(const pdr_value *v)
{
    const struct changed *c = changed_of(v);
    size_t total = sizeof(*c) + c->run.cap * (sizeof(c->run.chunks[0]) +
                                              sizeof(c->run.starts[0]));

    for (uint32_t k = 0; k < c->run.count; k++)
        total += sizeof(*c->run.chunks[k]) +
                 c->run.chunks[k]->cap * sizeof(c->run.chunks[k]->item[0]);
    return total + pdr__names_bytes(
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
