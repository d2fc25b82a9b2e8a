/*
 * index.c - look-ups in large containers in constant time.
 *
 * WHY  Nodes stand in document order, so the n-th element and the member of
 *      some name are found by walking. Below PDR_INDEX_MIN children that is the
 *      fastest way. Above it the first look-up builds an index, so that a loop
 *      of look-ups is not quadratic. Who never looks anything up pays nothing.
 *
 *      A flat block has a table of indexes, keyed by the index of the
 *      container's node:
 *
 *        block.indexes ─► [ · | * | · | · ]
 *                               └─► { container 17, children or names … }
 *
 * INVARIANTS
 *   X1  The table has at least twice as many places as the block has large
 *       containers, so there is always a free one and it never grows.
 *   X2  Table and indexes are published by compare-and-swap and never change
 *       afterwards. Two threads may build the same one; the loser frees it.
 *   X3  Without memory a look-up walks. It never fails.
 *   X4  Hashes are seeded per process: nobody can choose names that collide.
 */
#include "core.h"

struct index {
    uint32_t container; /* index of its node */
    uint32_t mask;      /* names: places - 1; elements: 0 */
    size_t bytes;
    union {
        uint32_t element[1]; /* node of each element */
        struct place {
            uint32_t hash; /* upper half */
            uint32_t node; /* of the name; 0 means free */
        } place[1];
    } u;
};

struct index_table {
    uint32_t mask;
    _Atomic(struct index *) slot[];
};

/* --- table --------------------------------------------------------------- */

static struct index_table *table_of(struct block *block)
{
    struct index_table *table =
        atomic_load_explicit(&block->indexes, memory_order_acquire);
    size_t places = 4;

    if (table != NULL)
        return table;
    while (places < 2 * (size_t)block->large)
        places *= 2;
    table = pdr__calloc(1, sizeof(*table) + places * sizeof(table->slot[0]));
    if (table == NULL)
        return NULL;
    table->mask = (uint32_t)places - 1;
    struct index_table *expected = NULL;
    if (!atomic_compare_exchange_strong_explicit(&block->indexes, &expected,
                                                 table, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        pdr__free(table); /* X2 */
        return expected;
    }
    return table;
}

static size_t first_slot(const struct index_table *table, uint32_t container)
{
    return (container * 2654435769u >> 7) & table->mask;
}

static const struct index *table_get(struct index_table *table,
                                     uint32_t container)
{
    for (size_t i = first_slot(table, container);; i = (i + 1) & table->mask) {
        const struct index *index =
            atomic_load_explicit(&table->slot[i], memory_order_acquire);
        if (index == NULL || index->container == container)
            return index;
    }
}

/* Publish `index`; gives the one that is there afterwards. */
static const struct index *table_put(struct index_table *table,
                                     struct index *index)
{
    for (size_t i = first_slot(table, index->container);;
         i = (i + 1) & table->mask) {
        struct index *there = NULL;
        if (atomic_compare_exchange_strong_explicit(&table->slot[i], &there,
                                                    index, memory_order_acq_rel,
                                                    memory_order_acquire))
            return index;
        if (there->container == index->container) {
            pdr__free(index); /* X2 */
            return there;
        }
    }
}

void pdr__index_free(struct block *block)
{
    struct index_table *table =
        atomic_load_explicit(&block->indexes, memory_order_relaxed);

    if (table == NULL)
        return;
    for (size_t i = 0; i <= table->mask; i++)
        pdr__free(atomic_load_explicit(&table->slot[i], memory_order_relaxed));
    pdr__free(table);
}

size_t pdr__index_bytes(const struct block *block)
{
    struct index_table *table =
        atomic_load_explicit(&block->indexes, memory_order_acquire);
    size_t total = 0;

    if (table == NULL)
        return 0;
    for (size_t i = 0; i <= table->mask; i++) {
        const struct index *index =
            atomic_load_explicit(&table->slot[i], memory_order_acquire);
        total += index != NULL ? index->bytes : 0;
    }
    return total + sizeof(*table) + (table->mask + 1) * sizeof(table->slot[0]);
}

static struct index *index_new(const pdr_value *container, size_t bytes)
{
    struct index *index = pdr__calloc(1, offsetof(struct index, u) + bytes);

    if (index == NULL)
        return NULL;
    index->container = node_index(container);
    index->bytes = offsetof(struct index, u) + bytes;
    return index;
}

/* The index of a container, built by `build` if there is none; NULL without
 * memory (X3). */
static const struct index *index_of(
    const pdr_value *container,
    struct index *(*build)(const pdr_value *container))
{
    struct index_table *table = table_of(node_block(container));

    if (table == NULL)
        return NULL;
    const struct index *index = table_get(table, node_index(container));
    if (index != NULL)
        return index;
    struct index *new = build(container);
    return new != NULL ? table_put(table, new) : NULL;
}

/* --- elements ------------------------------------------------------------ */

static struct index *build_elements(const pdr_value *array)
{
    struct index *index =
        index_new(array, node_count(array) * sizeof(index->u.element[0]));
    const pdr_value *nodes = block_nodes(node_block(array));
    uint32_t *to = NULL;
    pdr_iter it;

    if (index == NULL)
        return NULL;
    to = index->u.element;
    pdr_iter_init(&it, array);
    while (pdr_iter_next(&it))
        *to++ = (uint32_t)(it.value - nodes);
    return index;
}

const pdr_value *pdr__index_element(const pdr_value *array, uint32_t position)
{
    pdr_iter it;

    /* All elements are scalars or empty: they stand side by side. */
    if (node_next(array) == array + 1 + node_count(array))
        return array + 1 + position;
    if (node_count(array) >= PDR_INDEX_MIN) {
        const struct index *index = index_of(array, build_elements);
        const uint32_t *element = index != NULL ? index->u.element : NULL;
        if (element != NULL)
            return block_nodes(node_block(array)) + element[position];
    }
    pdr_iter_init(&it, array);
    while (pdr_iter_next(&it) && it.index < position)
        ;
    return it.value;
}

/* --- names --------------------------------------------------------------- */

bool pdr__names_hash(uint64_t *out, const pdr_value *name)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text;

    if (pdr__value_name_bytes(&text, name, &scratch, NULL) != PDR_OK)
        return false;
    *out = pdr__hash(text);
    pdr_buf_dispose(&scratch);
    return true;
}

/* The place of a name of this hash: its own, or a free one. */
static struct place *place_of(struct index *index, const pdr_value *nodes,
                              const pdr_value *name, uint32_t hash)
{
    struct place *places = index->u.place;

    for (size_t i = hash & index->mask;; i = (i + 1) & index->mask) {
        struct place *place = &places[i];
        if (place->node == 0 ||
            (place->hash == hash &&
             pdr__value_same_text(nodes + place->node, name)))
            return place;
    }
}

static struct index *build_names(const pdr_value *object)
{
    const pdr_value *nodes = block_nodes(node_block(object));
    size_t places = 2 * PDR_INDEX_MIN;
    pdr_iter it;

    while (places < 2 * (size_t)node_count(object))
        places *= 2;
    struct index *index = index_new(object, places * sizeof(struct place));
    if (index == NULL)
        return NULL;
    index->mask = (uint32_t)places - 1;
    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        uint64_t hash = 0;
        if (!pdr__names_hash(&hash, it.name)) {
            pdr__free(index);
            return NULL;
        }
        uint32_t upper = (uint32_t)(hash >> 32);
        struct place *place = place_of(index, nodes, it.name, upper);
        place->hash = upper;
        place->node = (uint32_t)(it.name - nodes); /* the last one stays */
    }
    return index;
}

static const pdr_value *walk_names(const pdr_value *object, pdr_str name)
{
    const pdr_value *found = NULL, *at = object + 1;
    const pdr_value *nodes = block_nodes(node_block(object));

    for (uint32_t left = node_count(object); left > 0; left--) {
        if (string_is(at, name))
            found = at;
        at = node_behind(at + 1, nodes);
    }
    return found;
}

const pdr_value *pdr__index_member(const pdr_value *object, pdr_str name)
{
    if (node_count(object) < PDR_INDEX_MIN)
        return walk_names(object, name);
    const struct index *index = index_of(object, build_names);
    if (index == NULL)
        return walk_names(object, name); /* X3 */
    const pdr_value *nodes = block_nodes(node_block(object));
    const struct place *places = index->u.place;
    uint32_t hash = (uint32_t)(pdr__hash(name) >> 32);
    for (size_t i = hash & index->mask;; i = (i + 1) & index->mask) {
        const struct place *place = &places[i];
        if (place->node == 0)
            return NULL;
        if (place->hash == hash &&
            pdr__value_has_text(nodes + place->node, name))
            return nodes + place->node;
    }
}

/* --- names of changed objects -------------------------------------------- */

/* A name that occurs more than once. Positions have 28 bits. */
#define NAMES_REPEATED (1u << 31)

struct names {
    atomic_size_t refs; /* one that is shared never changes */
    size_t mask, used;
    struct spot {
        uint32_t hash;
        uint32_t position; /* + 1; 0 means free; top bit: NAMES_REPEATED */
    } spot[];
};

struct names *pdr__names_new(size_t expected)
{
    size_t spots = 2 * PDR_INDEX_MIN, size = 0;

    while (spots < 2 * expected + 2)
        spots *= 2;
    if (!pdr__mul_size(&size, spots, sizeof(struct spot)) ||
        !pdr__add_size(&size, size, sizeof(struct names)))
        return NULL;
    struct names *names = pdr__calloc(1, size);
    if (names == NULL)
        return NULL;
    atomic_init(&names->refs, 1);
    names->mask = spots - 1;
    return names;
}

struct names *pdr__names_ref(struct names *names)
{
    if (names != NULL)
        atomic_fetch_add_explicit(&names->refs, 1, memory_order_relaxed);
    return names;
}

void pdr__names_free(struct names *names)
{
    if (names != NULL &&
        atomic_fetch_sub_explicit(&names->refs, 1, memory_order_acq_rel) == 1)
        pdr__free(names);
}

static void names_insert(struct names *names, uint32_t hash, uint32_t position)
{
    size_t i = hash & names->mask;

    while (names->spot[i].position != 0)
        i = (i + 1) & names->mask;
    names->spot[i].hash = hash;
    names->spot[i].position = position;
    names->used++;
}

bool pdr__names_own(struct names **names)
{
    struct names *old = *names;

    if (atomic_load_explicit(&old->refs, memory_order_acquire) == 1)
        return true;
    struct names *copy = pdr__names_new(old->mask / 2);
    if (copy == NULL)
        return false;
    assert(copy->mask == old->mask);
    memcpy(copy->spot, old->spot, (old->mask + 1) * sizeof(old->spot[0]));
    copy->used = old->used;
    pdr__names_free(old);
    *names = copy;
    return true;
}

static bool names_grow(struct names **names)
{
    struct names *old = *names;
    struct names *new = pdr__names_new(2 * old->used);

    if (new == NULL)
        return false;
    for (size_t i = 0; i <= old->mask; i++)
        if (old->spot[i].position != 0)
            names_insert(new, old->spot[i].hash, old->spot[i].position);
    pdr__free(old);
    *names = new;
    return true;
}

bool pdr__names_put(struct names **names, uint64_t hash, uint32_t position)
{
    if (2 * ((*names)->used + 1) > (*names)->mask && !names_grow(names))
        return false;
    names_insert(*names, (uint32_t)(hash >> 32), position + 1);
    return true;
}

void pdr__names_move(struct names *names, size_t probe, uint64_t hash,
                     uint32_t position, bool repeated)
{
    size_t i = ((uint32_t)(hash >> 32) + probe - 1) & names->mask;

    assert(names->spot[i].hash == (uint32_t)(hash >> 32));
    names->spot[i].position = (position + 1) | (repeated ? NAMES_REPEATED : 0);
}

bool pdr__names_is_repeated(const struct names *names, size_t probe,
                            uint64_t hash)
{
    size_t i = ((uint32_t)(hash >> 32) + probe - 1) & names->mask;

    return (names->spot[i].position & NAMES_REPEATED) != 0;
}

bool pdr__names_next(uint32_t *position, size_t *probe,
                     const struct names *names, uint64_t hash)
{
    uint32_t upper = (uint32_t)(hash >> 32);

    for (;;) {
        size_t i = (upper + (*probe)++) & names->mask;
        const struct spot *spot = &names->spot[i];
        if (spot->position == 0)
            return false;
        if (spot->hash == upper) {
            *position = (spot->position & ~NAMES_REPEATED) - 1;
            return true;
        }
    }
}

size_t pdr__names_bytes(const struct names *names)
{
    return names != NULL
               ? sizeof(*names) + (names->mask + 1) * sizeof(names->spot[0])
               : 0;
}
