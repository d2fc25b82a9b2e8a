/*
 * members.c - members of objects by name: which belong together, which repeat.
 *
 * WHY  Comparing objects in any order, reporting their differences and finding
 *      duplicates all ask the same: which members have one name? Names may be
 *      escaped in different ways, occur twice, and there may be a million.
 *
 * HOW  Small objects are compared name by name. For large ones the decoded
 *      names are hashed (seeded, so that nobody can plan a collision) into a
 *      table of first occurrences; further ones of a name hang behind their
 *      first in order. A million equal names are one slot and one list, a
 *      million different ones a million slots: linear both ways.
 *
 * INVARIANTS
 *   M1  A slot holds the position of a name's first member, `next` leads to
 *       its later ones in ascending order.
 *   M2  At most half of the slots are in use, so that each search ends.
 */
#include "compare.h"

/* Half of the hash beside the position spares most looks at members. */
struct slot {
    uint32_t tag;
    uint32_t position; /* UINT32_MAX if free */
};

_Static_assert(PDR_MAX_NODES < UINT32_MAX, "each position fits into a slot");

struct index {
    const struct pdr__member *member; /* borrowed */
    struct slot *slot;                /* owned */
    size_t mask;                      /* slots - 1 */
};

static pdr_rc index_init(struct index *index, const struct pdr__member *member,
                         size_t count, pdr_err *err)
{
    size_t slots = 2 * PDR_INDEX_MIN;

    while (slots / 2 < count) /* M2 */
        slots *= 2;
    index->member = member;
    index->mask = slots - 1;
    index->slot = pdr__calloc(slots, sizeof(*index->slot));
    if (index->slot == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < slots; i++)
        index->slot[i].position = UINT32_MAX;
    return PDR_OK;
}

/* The slot of a name: of its first member, or the free one where it belongs. */
static struct slot *index_find(const struct index *index, const pdr_value *name,
                               uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> 32);

    for (size_t i = (size_t)hash & index->mask;; i = (i + 1) & index->mask) {
        struct slot *slot = &index->slot[i];
        if (slot->position == UINT32_MAX)
            return slot;
        if (slot->tag == tag &&
            pdr__value_same_text(index->member[slot->position].name, name))
            return slot;
    }
}

static void slot_put(struct slot *slot, uint64_t hash, size_t position)
{
    slot->tag = (uint32_t)(hash >> 32);
    slot->position = (uint32_t)position;
}

static bool slot_is_free(const struct slot *slot)
{
    return slot->position == UINT32_MAX;
}

static pdr_rc hash_name(uint64_t *out, const pdr_value *name, pdr_buf *scratch,
                        pdr_err *err)
{
    pdr_str text;

    pdr_rc rc = pdr__value_name_bytes(&text, name, scratch, err);
    if (rc == PDR_OK)
        *out = pdr__hash(text);
    return rc;
}

/* --- lists --------------------------------------------------------------- */

void pdr__iter_skip(pdr_iter *it, const pdr_value *container, size_t count)
{
    pdr_iter_init(it, container);
    for (size_t i = 0; i < count; i++)
        (void)pdr_iter_next(it);
}

/* All members of `object` from `first` on; names are hashed if `scratch` is
 * not NULL. */
static pdr_rc load_members(struct pdr__member **out, const pdr_value *object,
                           size_t first, pdr_buf *scratch, pdr_err *err)
{
    size_t count = pdr_value_count(object) - first;
    struct pdr__member *list = pdr__calloc(count, sizeof(*list));
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (list == NULL)
        return pdr__nomem(err);
    pdr__iter_skip(&it, object, first);
    for (size_t i = 0; i < count && rc == PDR_OK && pdr_iter_next(&it); i++) {
        list[i].name = it.name;
        list[i].value = it.value;
        list[i].next = PDR__NONE;
        if (scratch != NULL)
            rc = hash_name(&list[i].hash, it.name, scratch, err);
    }
    if (rc != PDR_OK) {
        pdr__free(list);
        return rc;
    }
    *out = list;
    return PDR_OK;
}

size_t pdr__same_names(const pdr_value *a, const pdr_value *b)
{
    pdr_iter at, bt;
    size_t count = 0;

    pdr_iter_init(&at, a);
    pdr_iter_init(&bt, b);
    while (pdr_iter_next(&at) && pdr_iter_next(&bt) &&
           pdr__value_same_text(at.name, bt.name))
        count++;
    return count;
}

/* --- matching ------------------------------------------------------------ */

static void pair(struct pdr__match *match, size_t position, size_t mate)
{
    match->mate[position] = mate;
    match->b[mate].is_taken = true;
    match->matched++;
}

static void match_small(struct pdr__match *match, pdr_iter *at)
{
    for (size_t i = 0; i < match->count_a && pdr_iter_next(at); i++) {
        size_t j = 0;
        while (j < match->count_b &&
               (match->b[j].is_taken ||
                !pdr__value_same_text(at->name, match->b[j].name)))
            j++;
        if (j < match->count_b)
            pair(match, i, j);
    }
}

static pdr_rc match_large(struct pdr__match *match, pdr_iter *at,
                          pdr_buf *scratch, pdr_err *err)
{
    struct index index;
    pdr_rc rc = index_init(&index, match->b, match->count_b, err);

    if (rc != PDR_OK)
        return rc;
    for (size_t j = match->count_b; j-- > 0;) { /* backwards: M1 */
        struct pdr__member *member = &match->b[j];
        struct slot *slot = index_find(&index, member->name, member->hash);
        member->next = slot_is_free(slot) ? PDR__NONE : slot->position;
        slot_put(slot, member->hash, j);
    }
    for (size_t i = 0; i < match->count_a && pdr_iter_next(at); i++) {
        uint64_t hash = 0;
        rc = hash_name(&hash, at->name, scratch, err);
        if (rc != PDR_OK)
            break;
        struct slot *slot = index_find(&index, at->name, hash);
        if (slot_is_free(slot) || match->b[slot->position].is_taken)
            continue;
        size_t mate = slot->position;
        pair(match, i, mate);
        /* The last of a name stays, so that searches go on past its slot. */
        if (match->b[mate].next != PDR__NONE)
            slot_put(slot, hash, match->b[mate].next);
    }
    pdr__free(index.slot);
    return rc;
}

static bool is_reordered(const struct pdr__match *match)
{
    size_t last = 0;

    for (size_t i = 0; i < match->count_a; i++) {
        if (match->mate[i] == PDR__NONE)
            continue;
        if (match->mate[i] < last)
            return true;
        last = match->mate[i];
    }
    return false;
}

static pdr_rc match_all(struct pdr__match *match, const pdr_value *a,
                        const pdr_value *b, size_t first, pdr_buf *scratch,
                        pdr_err *err)
{
    bool is_large =
        match->count_a > 0 && match->count_b > 0 &&
        (match->count_a > PDR_INDEX_MIN || match->count_b > PDR_INDEX_MIN);
    pdr_iter at;

    match->mate = pdr__calloc(match->count_a, sizeof(*match->mate));
    if (match->mate == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < match->count_a; i++)
        match->mate[i] = PDR__NONE;
    pdr_rc rc =
        load_members(&match->b, b, first, is_large ? scratch : NULL, err);
    if (rc != PDR_OK)
        return rc;
    pdr__iter_skip(&at, a, first);
    if (is_large)
        return match_large(match, &at, scratch, err);
    match_small(match, &at);
    return PDR_OK;
}

pdr_rc pdr__match_members(struct pdr__match *out, const pdr_value *a,
                          const pdr_value *b, size_t first, pdr_buf *scratch,
                          pdr_err *err)
{
    *out = (struct pdr__match){.count_a = pdr_value_count(a) - first,
                               .count_b = pdr_value_count(b) - first};
    pdr_rc rc = match_all(out, a, b, first, scratch, err);
    if (rc != PDR_OK)
        pdr__match_dispose(out);
    else
        out->is_reordered = is_reordered(out);
    return rc;
}

void pdr__match_dispose(struct pdr__match *match)
{
    pdr__free(match->mate);
    pdr__free(match->b);
    *match = (struct pdr__match){0};
}

/* --- repeated names ------------------------------------------------------ */

pdr_rc pdr__repeated_names(uint8_t **out, const pdr_value *object,
                           pdr_buf *scratch, pdr_err *err)
{
    size_t count = pdr_value_count(object);
    struct pdr__member *list = NULL;
    struct index index = {0};
    uint8_t *bits = NULL;

    pdr_rc rc = load_members(&list, object, 0, scratch, err);
    if (rc == PDR_OK)
        rc = index_init(&index, list, count, err);
    if (rc != PDR_OK)
        goto done;
    bits = pdr__calloc(count / 8 + 1, 1);
    if (bits == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = index_find(&index, list[i].name, list[i].hash);
        if (slot_is_free(slot))
            slot_put(slot, list[i].hash, i);
        else
            bits[i / 8] |= (uint8_t)(1u << (i % 8));
    }
    *out = bits;
done:
    pdr__free(index.slot);
    pdr__free(list);
    return rc;
}
