/*
 * likeness.c - hashes that tell which elements of two arrays are alike.
 *
 * WHY  To align two arrays one has to ask "is this element that one?" very
 *      often. A hash of each answers it in one step. Elements that are equal
 *      but for the order of members get the same hash, so that a document whose
 *      members were sorted by another program still aligns. Two weaker hashes
 *      find elements that were changed inside: a message keeps its `$type` and
 *      its id when its text is edited.
 *
 * COST  Hashing an element means to hash all that is inside. The arrays inside
 *      may be aligned later, so the hashes of their containers are kept: each
 *      node is hashed once in a diff, not once per level. That takes two words
 *      for each container that is an element of an array.
 *
 * INVARIANTS
 *   L1  Values that pdr_value_equal_unordered() calls equal have one
 *       LIKE_SAME hash. The other direction is only likely: whoever pairs by
 *       a hash compares the pair.
 *   L2  The hash of a container does not change while the table lives, for
 *       values do not change and the caller holds them.
 *
 * RECURSION  As deep as the values, which PDR_MAX_DEPTH bounds.
 */
#include "compare.h"

#define FIRST_SLOTS 64u

void pdr__likes_init(struct pdr__likes *likes, pdr_buf *scratch)
{
    *likes = (struct pdr__likes){.scratch = scratch};
}

void pdr__likes_dispose(struct pdr__likes *likes)
{
    pdr__free(likes->slot);
    likes->slot = NULL;
    likes->count = 0;
    likes->cap = 0;
}

/* Bijective in each argument, so that no difference gets lost in it; and not
 * the same when they are exchanged. */
static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash = (((hash << 27) | (hash >> 37)) ^ more) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    hash *= 0xD1342543DE82EF95u;
    return hash ^ (hash >> 32);
}

/* --- what is known ------------------------------------------------------- */

static struct pdr__like *find(const struct pdr__likes *likes,
                              const pdr_value *container)
{
    size_t i = (size_t)mix(0, (uintptr_t)container) & (likes->cap - 1);

    while (likes->slot[i].container != NULL &&
           likes->slot[i].container != container)
        i = (i + 1) & (likes->cap - 1);
    return &likes->slot[i];
}

static pdr_rc grow(struct pdr__likes *likes, pdr_err *err)
{
    struct pdr__likes old = *likes;
    size_t cap = old.cap > 0 ? 2 * old.cap : FIRST_SLOTS;

    struct pdr__like *slot = pdr__calloc(cap, sizeof(*slot));
    if (slot == NULL)
        return pdr__nomem(err);
    likes->slot = slot;
    likes->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].container != NULL)
            *find(likes, old.slot[i].container) = old.slot[i];
    pdr__free(old.slot);
    return PDR_OK;
}

static pdr_rc remember(struct pdr__likes *likes, const pdr_value *container,
                       uint64_t hash, pdr_err *err)
{
    if (likes->count >= likes->cap / 2) {
        pdr_rc rc = grow(likes, err);
        if (rc != PDR_OK)
            return rc;
    }
    struct pdr__like *like = find(likes, container);
    likes->count += like->container == NULL;
    *like = (struct pdr__like){container, hash};
    return PDR_OK;
}

/* --- equal but for the order --------------------------------------------- */

static bool is_container(const pdr_value *value)
{
    return pdr_value_count(value) > 0;
}

static pdr_rc hash_scalar(uint64_t *out, struct pdr__likes *likes,
                          const pdr_value *value, pdr_err *err)
{
    pdr_kind kind = pdr_value_kind(value);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (kind == PDR_STRING)
        rc = pdr__value_name_bytes(&text, value, likes->scratch, err);
    else if (kind != PDR_ARRAY && kind != PDR_OBJECT)
        (void)pdr_value_raw(&text, value);
    if (rc == PDR_OK)
        *out = mix(pdr__hash(text), (uint64_t)kind);
    return rc;
}

static pdr_rc hash_value(uint64_t *out, struct pdr__likes *likes,
                         const pdr_value *value, pdr_err *err);

/* A member's hash has its name in it; an element's is remembered. */
static pdr_rc hash_child(uint64_t *out, struct pdr__likes *likes,
                         const pdr_iter *it, pdr_err *err)
{
    uint64_t name = 0;

    pdr_rc rc = hash_value(out, likes, it->value, err);
    if (rc != PDR_OK)
        return rc;
    if (it->name == NULL)
        return is_container(it->value) ? remember(likes, it->value, *out, err)
                                       : PDR_OK;
    rc = hash_scalar(&name, likes, it->name, err);
    *out = mix(name, *out);
    return rc;
}

static pdr_rc hash_value(uint64_t *out, struct pdr__likes *likes,
                         const pdr_value *value, pdr_err *err)
{
    uint64_t child = 0;
    pdr_iter it;

    if (!is_container(value))
        return hash_scalar(out, likes, value, err);
    *out = (uint64_t)pdr_value_kind(value);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        pdr_rc rc = hash_child(&child, likes, &it, err);
        if (rc != PDR_OK)
            return rc;
        /* A sum forgets the order of members, a chain keeps that of
         * elements. */
        *out = it.name != NULL ? *out + child : mix(*out, child);
    }
    *out = mix(*out, pdr_value_count(value));
    return PDR_OK;
}

static pdr_rc hash_same(uint64_t *out, struct pdr__likes *likes,
                        const pdr_value *element, pdr_err *err)
{
    if (likes->cap > 0 && is_container(element)) {
        const struct pdr__like *like = find(likes, element);
        if (like->container != NULL) {
            *out = like->hash;
            return PDR_OK;
        }
    }
    return hash_value(out, likes, element, err);
}

/* --- alike --------------------------------------------------------------- */

/* Names and scalars of the first `count` members, as far as they are there. */
static pdr_rc hash_front(uint64_t *out, struct pdr__likes *likes,
                         const pdr_value *object, size_t count, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = (uint64_t)PDR_OBJECT;
    pdr_iter_init(&it, object);
    while (rc == PDR_OK && count-- > 0 && pdr_iter_next(&it)) {
        uint64_t name = 0, scalar = 0;
        rc = hash_scalar(&name, likes, it.name, err);
        if (rc == PDR_OK && !is_container(it.value))
            rc = hash_scalar(&scalar, likes, it.value, err);
        *out = mix(mix(*out, name), scalar);
    }
    return rc;
}

static pdr_rc hash_element(uint64_t *out, struct pdr__likes *likes,
                           const pdr_value *element,
                           enum pdr__likeness likeness, pdr_err *err)
{
    bool is_object =
        pdr_value_kind(element) == PDR_OBJECT && is_container(element);

    if (likeness == PDR__LIKE_CLOSE && is_object)
        return hash_front(out, likes, element, 2, err);
    if (likeness != PDR__LIKE_LOOSE)
        return hash_same(out, likes, element, err);
    if (is_object)
        return hash_front(out, likes, element, 1, err);
    *out = (uint64_t)pdr_value_kind(element);
    return PDR_OK;
}

pdr_rc pdr__likes_hash(uint64_t *out, struct pdr__likes *likes,
                       const pdr_value *array, enum pdr__likeness likeness,
                       pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, array);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = hash_element(&out[it.index], likes, it.value, likeness, err);
    return rc;
}
