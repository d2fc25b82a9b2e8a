/*
 * run.c - children in a row, in chunks that can be shared.
 *
 * WHY  A changed container points at its children. If it had one array of
 *      pointers, an edit of a container that others hold would copy all of it.
 *      So there are chunks of limited size with an owner count: a copy shares
 *      all chunks, and an edit copies the one that it changes.
 *
 * INVARIANTS
 *   C1  A chunk owns one count for each of its items. A chunk with more than
 *       one owner never changes.
 *   C2  starts[k] is the number of items in the chunks before k.
 *   C3  What may fail comes before what changes something.
 */
#include "run.h"

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

/* Call `fn` with the block of each item, once for neighbours in one block. */
static void each_block(const struct chunk *chunk,
                       void (*fn)(struct block *block, size_t n))
{
    for (uint32_t i = 0; i < chunk->count;) {
        struct block *block =
            chunk->item[i] != NULL ? node_block(chunk->item[i]) : NULL;
        uint32_t n = 1;
        while (block != NULL && i + n < chunk->count &&
               chunk->item[i + n] != NULL &&
               node_block(chunk->item[i + n]) == block)
            n++;
        if (block != NULL)
            fn(block, n);
        i += n;
    }
}

static void chunk_unref(struct chunk *chunk)
{
    if (atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) != 1)
        return;
    each_block(chunk, pdr__block_unref);
    pdr__free(chunk);
}

static bool chunk_is_shared(const struct chunk *chunk)
{
    return atomic_load_explicit(&chunk->refs, memory_order_acquire) != 1;
}

struct chunk *pdr__run_own(struct run *run, uint32_t k, uint32_t room)
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
        each_block(copy, pdr__block_ref);
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
static bool reserve(struct run *run, uint32_t extra)
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

void pdr__run_renumber(struct run *run, uint32_t from)
{
    for (uint32_t k = from; k < run->count; k++)
        run->starts[k] =
            k == 0 ? 0 : run->starts[k - 1] + run->chunks[k - 1]->count;
}

/* Put a chunk into the list at place k; there is room (C3). */
static void insert_chunk(struct run *run, uint32_t k, struct chunk *chunk)
{
    memmove(&run->chunks[k + 1], &run->chunks[k],
            (run->count - k) * sizeof(run->chunks[0]));
    run->chunks[k] = chunk;
    run->count++;
    pdr__run_renumber(run, k);
}

uint32_t pdr__run_find(const struct run *run, size_t at, uint32_t *slot)
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

struct chunk *pdr__run_room_at_end(struct run *run, uint32_t pair)
{
    uint32_t last = run->count - 1;

    if (run->count > 0 && run->chunks[last]->count + pair <= CHUNK_ITEMS)
        return pdr__run_own(run, last, pair);
    if (!reserve(run, 1))
        return NULL;
    struct chunk *chunk = chunk_new(run->count == 0 ? 8 : CHUNK_ITEMS);
    if (chunk != NULL)
        insert_chunk(run, run->count, chunk);
    return chunk;
}

/* Halve chunk k, which is full and owned. */
static bool split_chunk(struct run *run, uint32_t k)
{
    struct chunk *left = run->chunks[k];
    uint32_t half = left->count / 2;

    if (!reserve(run, 1))
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

struct chunk *pdr__run_room_inside(struct run *run, size_t at, uint32_t *place,
                                   uint32_t *slot)
{
    uint32_t k = pdr__run_find(run, at, slot);

    if (run->chunks[k]->count == CHUNK_ITEMS) {
        if (pdr__run_own(run, k, 0) == NULL || !split_chunk(run, k))
            return NULL;
        k = pdr__run_find(run, at, slot);
    }
    *place = k;
    return pdr__run_own(run, k, 1);
}

void pdr__run_erase(struct run *run, uint32_t k, uint32_t slot)
{
    struct chunk *chunk = run->chunks[k];

    chunk->count--;
    memmove(&chunk->item[slot], &chunk->item[slot + 1],
            (chunk->count - slot) * sizeof(chunk->item[0]));
    if (chunk->count == 0) {
        chunk_unref(chunk);
        run->count--;
        memmove(&run->chunks[k], &run->chunks[k + 1],
                (run->count - k) * sizeof(run->chunks[0]));
    }
    pdr__run_renumber(run, k);
}

bool pdr__run_share(struct run *to, const struct run *from)
{
    if (!reserve(to, from->count))
        return false;
    for (uint32_t k = 0; k < from->count; k++) {
        to->chunks[k] = from->chunks[k];
        to->starts[k] = from->starts[k];
        atomic_fetch_add_explicit(&to->chunks[k]->refs, 1,
                                  memory_order_relaxed);
    }
    to->count = from->count;
    return true;
}

static void move_chunks(struct run *to, struct run *from)
{
    for (uint32_t k = 0; k < from->count; k++)
        to->chunks[to->count++] = from->chunks[k];
    from->count = 0;
    pdr__run_drop(from, true);
}

bool pdr__run_join(struct run *run, struct run *middle, struct run *back)
{
    uint32_t first = run->count;

    if (!reserve(run, middle->count + back->count))
        return false;
    move_chunks(run, middle);
    move_chunks(run, back);
    pdr__run_renumber(run, first);
    return true;
}

void pdr__run_ref_items(const struct run *run)
{
    for (uint32_t k = 0; k < run->count; k++)
        each_block(run->chunks[k], pdr__block_ref);
}

void pdr__run_drop(struct run *run, bool items)
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

size_t pdr__run_bytes(const struct run *run)
{
    size_t total = run->cap * (sizeof(run->chunks[0]) + sizeof(run->starts[0]));

    for (uint32_t k = 0; k < run->count; k++)
        total += sizeof(*run->chunks[k]) +
                 run->chunks[k]->cap * sizeof(run->chunks[k]->item[0]);
    return total;
}
