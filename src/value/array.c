/*
 * array.c - changing the elements of an array.
 *
 * WHY  Most changes are one append, or one edit in one place. Neither visits
 *      the other elements: the first change splits the base in two around its
 *      place, and only a change elsewhere puts all elements into chunks.
 */
#include "overlay.h"

const pdr_value *pdr__changed_element(const pdr_value *v, size_t position)
{
    const struct changed *c = changed_of(v);
    uint32_t slot = 0;

    if (position < c->prefix)
        return pdr__index_element(c->base, (uint32_t)position);
    size_t at = position - c->prefix;
    if (at >= run_items(c)) {
        uint32_t first = node_count(c->base) - c->suffix;
        return pdr__index_element(c->base,
                                  first + (uint32_t)(at - run_items(c)));
    }
    uint32_t k = pdr__run_find(&c->run, at, &slot);
    return c->run.chunks[k]->item[slot];
}

/* Are the elements still just those of the base, so that it can be split? */
static bool is_whole(const struct changed *c)
{
    return c->prefix > 0 && c->prefix == node_count(c->base) &&
           run_items(c) == 0;
}

/* Let the prefix end before element `index`, which is `child`, and the suffix
 * begin with it (`keep`) or behind it. */
static void split_base(struct changed *c, size_t index, const pdr_value *child,
                       bool keep)
{
    c->suffix = c->prefix - (uint32_t)index - (keep ? 0 : 1);
    c->prefix = (uint32_t)index;
    c->split = child;
    c->after = c->suffix == 0 ? NULL : keep ? child : node_next(child);
}

/* Bring element `index` into a chunk; false without memory. */
static bool expose(struct changed *c, size_t index)
{
    if (index >= c->prefix && index - c->prefix < run_items(c))
        return true;
    if (!is_whole(c))
        return pdr__changed_unfold(c);
    const pdr_value *child = pdr__index_element(c->base, (uint32_t)index);
    struct chunk *chunk = pdr__run_room_at_end(&c->run, 1);
    if (chunk == NULL)
        return false;
    chunk->item[chunk->count++] = pdr_value_ref(child);
    split_base(c, index, child, false);
    return true;
}

/* A chunk with room for a new element before `index`, which is below the
 * count; NULL without memory. */
static struct chunk *room_before(struct changed *c, size_t index,
                                 uint32_t *place, uint32_t *slot)
{
    if (is_whole(c))
        split_base(c, index, pdr__index_element(c->base, (uint32_t)index),
                   true);
    if ((index < c->prefix || index - c->prefix > run_items(c)) &&
        !pdr__changed_unfold(c))
        return NULL;
    size_t at = index - c->prefix;
    if (at < run_items(c))
        return pdr__run_room_inside(&c->run, at, place, slot);
    struct chunk *chunk = pdr__run_room_at_end(&c->run, 1);
    *place = c->run.count - 1;
    *slot = chunk != NULL ? chunk->count : 0;
    return chunk;
}

/* Begin to change the array in *io: an owned handle of `value` and the changed
 * container, or a failure that leaves *io as it was. */
static pdr_rc begin_element(struct changed **out, pdr_value **item,
                            pdr_value **io, const pdr_value *value,
                            pdr_err *err)
{
    *out = NULL;
    *item = NULL;
    pdr_rc rc = pdr__changed_need(*io, PDR_ARRAY, err);
    if (rc == PDR_OK && value != NULL)
        rc = pdr__changed_adopt(item, *io, value, err);
    if (rc != PDR_OK)
        return rc;
    *out = pdr__changed_make(io);
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

static pdr_rc check_room(const pdr_value *array, pdr_err *err)
{
    if (pdr_value_count(array) < PDR_MAX_NODES)
        return PDR_OK;
    return PDR_FAIL(err, TOO_MANY_NODES, "an array has at most %u elements",
                    PDR_MAX_NODES);
}

pdr_rc pdr_value_append(pdr_value **io, const pdr_value *value, pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *item = NULL;

    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    pdr_rc rc = check_room(*io, err);
    if (rc == PDR_OK)
        rc = begin_element(&c, &item, io, value, err);
    if (rc != PDR_OK)
        return rc;
    struct chunk *chunk = c->suffix == 0 || pdr__changed_unfold(c)
                              ? pdr__run_room_at_end(&c->run, 1)
                              : NULL;
    if (chunk == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    pdr__changed_raise(c, pdr__value_height(item));
    chunk->item[chunk->count++] = item;
    set_count(c, node_count(&c->node) + 1);
    item = NULL;
done:
    pdr_value_free(item);
    return rc;
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
    pdr_rc rc = check_room(*io, err);
    if (rc == PDR_OK)
        rc = begin_element(&c, &item, io, value, err);
    if (rc != PDR_OK)
        return rc;
    struct chunk *chunk = room_before(c, index, &place, &slot);
    if (chunk == NULL) {
        pdr_value_free(item);
        return pdr__nomem(err);
    }
    memmove(&chunk->item[slot + 1], &chunk->item[slot],
            (chunk->count - slot) * sizeof(chunk->item[0]));
    pdr__changed_raise(c, pdr__value_height(item));
    chunk->item[slot] = item;
    chunk->count++;
    set_count(c, node_count(&c->node) + 1);
    pdr__run_renumber(&c->run, place + 1);
    return PDR_OK;
}

/* The handle of element `index`, in a chunk that can be changed. */
static pdr_rc own_element(pdr_value ***out, struct changed *c, size_t index,
                          pdr_err *err)
{
    uint32_t slot = 0;

    if (!expose(c, index))
        return pdr__nomem(err);
    uint32_t k = pdr__run_find(&c->run, index - c->prefix, &slot);
    struct chunk *chunk = pdr__run_own(&c->run, k, 0);
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
        pdr__changed_raise(c, pdr__value_height(item));
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
    uint32_t k = pdr__run_find(&c->run, index - c->prefix, &slot);
    pdr_value_free(*place);
    pdr__run_erase(&c->run, k, slot);
    set_count(c, node_count(&c->node) - 1);
    return PDR_OK;
}

pdr_rc pdr__value_edit_element(pdr_value ***slot, pdr_value **parent,
                               size_t index, uint32_t levels, pdr_err *err)
{
    struct changed *c = NULL;
    pdr_value *none = NULL;

    pdr_rc rc = pdr__changed_check_levels(levels, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_kind(*parent) == PDR_ARRAY &&
        index >= pdr_value_count(*parent))
        return no_element(index, *parent, err);
    rc = begin_element(&c, &none, parent, NULL, err);
    if (rc == PDR_OK)
        rc = own_element(slot, c, index, err);
    if (rc == PDR_OK)
        pdr__changed_raise(c, levels);
    return rc;
}
