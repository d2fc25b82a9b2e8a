/*
 * map.c - texts to pointers, in the order of insertion.
 *
 * WHY  Documents have an order of members that must not get lost, and look-ups
 *      must not become slow when somebody sends a million names.
 *
 *     entries   | a | b | - | d | e |   |   |   |     "-" was removed
 *                 ^       ^
 *     slots     | 0 | . | 2 | . | 4 | 1 | . | 3 | ... open addressing
 *
 *      Entries stand in their order. Slots hold positions of entries and are
 *      found by hash. A removed entry stays as a mark until there are many;
 *      then all marks are squeezed out at once.
 *
 * INVARIANTS
 *   M1  Each position below `used` stands in exactly one slot, the removed ones
 *       too: they keep the chains of other keys together.
 *   M2  Slots are at least twice the entries, so each chain has an end.
 *   M3  `first` is the first entry that is not removed, or `used`. So taking
 *       the first one again and again walks the marks only once.
 *   M4  After a removal at most MARKS_MIN marks stand there, or as many as
 *       entries. So a walk is linear in `count`, and squeezing is paid for by
 *       the removals before it.
 */
#include "base.h"

#define FIRST_CAP 8u

/* Marks that are not worth the squeezing. */
#define MARKS_MIN 16u

struct pdr__map_slot {
    uint32_t position; /* of the entry, plus 1; 0 is free */
    uint32_t tag;      /* upper half of its hash: most misses end here */
};

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static void place(struct pdr__map_slot *slots, size_t slot_count,
                  size_t position, uint64_t hash)
{
    size_t mask = slot_count - 1;
    size_t at = (size_t)hash & mask;

    while (slots[at].position != 0)
        at = (at + 1) & mask;
    slots[at].position = (uint32_t)(position + 1);
    slots[at].tag = tag_of(hash);
}

static struct pdr__map_entry *find(const struct pdr__map *map, pdr_str key,
                                   uint64_t hash)
{
    if (map->count == 0)
        return NULL;
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)hash & mask;

    for (; map->slots[at].position != 0; at = (at + 1) & mask) {
        if (map->slots[at].tag != tag_of(hash))
            continue;
        struct pdr__map_entry *entry =
            &map->entries[map->slots[at].position - 1];
        if (entry->key.ptr != NULL && pdr_str_equal(entry->key, key))
            return entry;
    }
    return NULL;
}

/* Take the marks out of the entries and fill the slots anew. */
static void squeeze(struct pdr__map *map)
{
    size_t to = 0;

    memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
    for (size_t from = map->first; from < map->used; from++) {
        if (map->entries[from].key.ptr == NULL)
            continue;
        map->entries[to] = map->entries[from];
        place(map->slots, map->slot_count, to, map->entries[to].hash);
        to++;
    }
    map->used = to;
    map->first = 0;
}

static pdr_rc grow(struct pdr__map *map, pdr_err *err)
{
    size_t cap = map->cap > 0 ? map->cap * 2 : FIRST_CAP;
    size_t bytes = 0;

    if (!pdr__mul_size(&bytes, cap, sizeof(*map->entries)))
        return pdr__nomem(err);
    struct pdr__map_slot *slots = pdr__calloc(cap, 2 * sizeof(*slots));
    if (slots == NULL)
        return pdr__nomem(err);
    struct pdr__map_entry *entries = pdr__realloc(map->entries, bytes);
    if (entries == NULL) {
        pdr__free(slots);
        return pdr__nomem(err);
    }
    pdr__free(map->slots);
    map->entries = entries;
    map->slots = slots;
    map->cap = cap;
    map->slot_count = 2 * cap;
    squeeze(map);
    return PDR_OK;
}

static pdr_rc make_room(struct pdr__map *map, pdr_err *err)
{
    if (map->used < map->cap)
        return PDR_OK;
    /* A quarter of marks is enough to go on with; less would come back here
     * too soon. */
    if (map->cap > 0 && map->used - map->count >= map->cap / 4) {
        squeeze(map);
        return PDR_OK;
    }
    return grow(map, err);
}

static pdr_rc insert(struct pdr__map *map, pdr_str key, uint64_t hash,
                     void *value, pdr_err *err)
{
    if (map->count >= map->max)
        return PDR_FAIL(err, MAP_FULL, "a map holds at most %zu entries",
                        map->max);
    pdr_rc rc = make_room(map, err);
    if (rc != PDR_OK)
        return rc;
    char *copy = pdr__strndup(key);
    if (copy == NULL)
        return pdr__nomem(err);
    struct pdr__map_entry *entry = &map->entries[map->used];
    entry->key = pdr_str_n(copy, key.len);
    entry->value = value;
    entry->hash = hash;
    place(map->slots, map->slot_count, map->used, hash);
    map->used++;
    map->count++;
    return PDR_OK;
}

bool pdr__map_get(void **out, const struct pdr__map *map, pdr_str key)
{
    const struct pdr__map_entry *entry = find(map, key, pdr__hash(key));

    if (out != NULL)
        *out = entry != NULL ? entry->value : NULL;
    return entry != NULL;
}

pdr_rc pdr__map_put(void **old, struct pdr__map *map, pdr_str key, void *value,
                    pdr_err *err)
{
    PDR_REQUIRE(map != NULL && map->max <= PDR_MAX_MAP_ENTRIES);
    uint64_t hash = pdr__hash(key);
    struct pdr__map_entry *entry = find(map, key, hash);

    if (old != NULL)
        *old = entry != NULL ? entry->value : NULL;
    if (entry == NULL)
        return insert(map, key, hash, value, err);
    entry->value = value;
    return PDR_OK;
}

bool pdr__map_remove(void **out, struct pdr__map *map, pdr_str key)
{
    struct pdr__map_entry *entry = find(map, key, pdr__hash(key));

    if (out != NULL)
        *out = entry != NULL ? entry->value : NULL;
    if (entry == NULL)
        return false;
    pdr__free((void *)(uintptr_t)entry->key.ptr);
    entry->key = pdr_str_n(NULL, 0);
    map->count--;
    while (map->first < map->used && map->entries[map->first].key.ptr == NULL)
        map->first++;
    size_t marks = map->used - map->count;
    if (marks > MARKS_MIN && marks > map->count)
        squeeze(map);
    return true;
}

static struct pdr__map_entry *entry_from(const struct pdr__map *map,
                                         size_t position)
{
    while (position < map->used && map->entries[position].key.ptr == NULL)
        position++;
    return position < map->used ? &map->entries[position] : NULL;
}

struct pdr__map_entry *pdr__map_first(const struct pdr__map *map)
{
    return entry_from(map, map->first);
}

struct pdr__map_entry *pdr__map_next(const struct pdr__map *map,
                                     const struct pdr__map_entry *entry)
{
    return entry_from(map, (size_t)(entry - map->entries) + 1);
}

void pdr__map_dispose(struct pdr__map *map)
{
    PDR_MAP_EACH (entry, map)
        pdr__free((void *)(uintptr_t)entry->key.ptr);
    pdr__free(map->entries);
    pdr__free(map->slots);
    *map = (struct pdr__map)PDR_MAP_INIT(map->max);
}
