/*
 * object.c - changing the members of an object.
 *
 * WHY  Members keep their place: a new value goes where the old one was, a new
 *      name goes to the end, and duplicates that were read stay. Removing
 *      leaves an empty slot (O3 in overlay.c), so that positions, which the
 *      index of names holds, stay right.
 */
#include "overlay.h"

static pdr_value **member_at(const struct changed *c, uint32_t position)
{
    const uint32_t per_chunk = CHUNK_ITEMS / 2;

    return &c->run.chunks[position / per_chunk]
                ->item[2 * (position % per_chunk)];
}

/* Note that the member at `position` is the last of its name. */
static bool note_name(const struct changed *c, struct names **names,
                      uint32_t position)
{
    const pdr_value *name = member_at(c, position)[0];
    uint64_t hash = 0;
    uint32_t candidate = 0;
    size_t probe = 0, free_probe = 0;

    if (!pdr__names_hash(&hash, name))
        return false;
    while (pdr__names_next(&candidate, &probe, *names, hash)) {
        const pdr_value *there = member_at(c, candidate)[0];
        if (there == NULL) {
            free_probe = probe; /* of a member that was removed */
        } else if (pdr__value_same_text(there, name)) {
            pdr__names_move(*names, probe, hash, position, true);
            return true;
        }
    }
    if (free_probe == 0)
        return pdr__names_put(names, hash, position);
    pdr__names_move(*names, free_probe, hash, position, false);
    return true;
}

/* The index of names, built now if there is none; NULL without memory. */
static struct names *names_of(struct changed *c)
{
    struct names *names = atomic_load_explicit(&c->names, memory_order_acquire);

    if (names != NULL)
        return names;
    names = pdr__names_new(c->slots);
    if (names == NULL)
        return NULL;
    for (uint32_t i = 0; i < c->slots; i++)
        if (member_at(c, i)[0] != NULL && !note_name(c, &names, i)) {
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
    return names;
}

/* Position of the last member called `name`, or UINT32_MAX: without an index.
 */
static uint32_t search_member(const struct changed *c, pdr_str name)
{
    for (uint32_t position = c->slots; position-- > 0;) {
        const pdr_value *there = member_at(c, position)[0];
        if (there != NULL && string_is(there, name))
            return position;
    }
    return UINT32_MAX;
}

/* The same with the index, if there is memory for it. *single gets true if
 * there is surely no other of that name. */
static uint32_t find_indexed(struct changed *c, pdr_str name, bool *single)
{
    struct names *names = names_of(c);
    uint32_t position = 0;
    size_t probe = 0;

    *single = false;
    if (names == NULL)
        return search_member(c, name);
    uint64_t hash = pdr__hash(name);
    while (pdr__names_next(&position, &probe, names, hash)) {
        const pdr_value *there = member_at(c, position)[0];
        if (there == NULL || !pdr__value_has_text(there, name))
            continue;
        *single = !pdr__names_is_repeated(names, probe, hash);
        return position;
    }
    return UINT32_MAX;
}

static uint32_t find_member(struct changed *c, pdr_str name)
{
    bool single = false;

    return c->slots < PDR_INDEX_MIN ? search_member(c, name)
                                    : find_indexed(c, name, &single);
}

const pdr_value *pdr__changed_member(const pdr_value *v, pdr_str name)
{
    struct changed *c = changed_of(v);
    uint32_t position = find_member(c, name);

    return position != UINT32_MAX ? member_at(c, position)[1] : NULL;
}

const pdr_value *pdr__changed_name(const pdr_value *v, pdr_str name)
{
    struct changed *c = changed_of(v);
    uint32_t position = find_member(c, name);

    return position != UINT32_MAX ? member_at(c, position)[0] : NULL;
}

/* The member at `position`, in a chunk that can be changed. */
static pdr_value **own_member(struct changed *c, uint32_t position)
{
    if (pdr__run_own(&c->run, position / (CHUNK_ITEMS / 2), 0) == NULL)
        return NULL;
    return member_at(c, position);
}

/* Add a member at the end; takes `name` and `value` if it succeeds. */
static pdr_rc put_at_end(struct changed *c, pdr_value *name, pdr_value *value,
                         pdr_err *err)
{
    if (c->slots >= PDR_MAX_NODES)
        return PDR_FAIL(err, TOO_MANY_NODES, "an object has at most %u members",
                        PDR_MAX_NODES);
    struct chunk *chunk = pdr__run_room_at_end(&c->run, 2);
    if (chunk == NULL)
        return pdr__nomem(err);
    chunk->item[chunk->count++] = name;
    chunk->item[chunk->count++] = value;
    set_count(c, node_count(&c->node) + 1);
    struct names *names = atomic_load_explicit(&c->names, memory_order_relaxed);
    if (names != NULL) {
        /* Where it cannot be kept, it is built again when it is wanted. */
        bool kept = pdr__names_own(&names);
        atomic_store_explicit(&c->names, names, memory_order_relaxed);
        kept = kept && note_name(c, &names, c->slots);
        atomic_store_explicit(&c->names, names, memory_order_relaxed);
        if (!kept)
            pdr__changed_drop_names(c);
    }
    c->slots++;
    return PDR_OK;
}

/* The same with the text of a name; takes `value` if it succeeds. */
static pdr_rc add_member(struct changed *c, pdr_str name, pdr_value *value,
                         pdr_err *err)
{
    pdr_value *owned_name = NULL;
    pdr_rc rc = pdr_value_new_string(&owned_name, name, err);

    if (rc == PDR_OK)
        rc = put_at_end(c, owned_name, value, err);
    if (rc != PDR_OK)
        pdr_value_free(owned_name);
    return rc;
}

pdr_rc pdr__value_add_member(pdr_value **io, const pdr_value *name,
                             const pdr_value *value, pdr_err *err)
{
    pdr_value *own_name = NULL, *item = NULL;
    struct changed *c = NULL;
    pdr_rc rc = pdr__changed_need(*io, PDR_OBJECT, err);

    if (rc == PDR_OK)
        rc = pdr__changed_adopt(&own_name, *io, name, err);
    if (rc == PDR_OK)
        rc = pdr__changed_adopt(&item, *io, value, err);
    if (rc == PDR_OK) {
        c = pdr__changed_make(io);
        rc = c == NULL ? pdr__nomem(err) : put_at_end(c, own_name, item, err);
    }
    if (rc == PDR_OK) {
        pdr__changed_raise(c, pdr__value_height(item));
        return PDR_OK;
    }
    pdr_value_free(own_name);
    pdr_value_free(item);
    return rc;
}

pdr_rc pdr_value_set(pdr_value **io, pdr_str name, const pdr_value *value,
                     pdr_err *err)
{
    pdr_value *item = NULL;

    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    pdr_rc rc = pdr__changed_need(*io, PDR_OBJECT, err);
    if (rc == PDR_OK && pdr__utf8_valid_len(name) != name.len &&
        pdr_value_get(*io, name) == NULL)
        rc = pdr__utf8_check(name, err); /* it can be found, not added */
    if (rc == PDR_OK)
        rc = pdr__changed_adopt(&item, *io, value, err);
    if (rc != PDR_OK)
        return rc;
    struct changed *c = pdr__changed_make(io);
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
        pdr__changed_raise(c, height);
        item = NULL;
    }
done:
    pdr_value_free(item);
    return rc;
}

/* Where member `index` is: slots of removed ones do not count. */
static uint32_t position_of(const struct changed *c, size_t index)
{
    uint32_t position = 0;

    if (c->empty == 0)
        return (uint32_t)index;
    while (member_at(c, position)[0] == NULL || index-- > 0)
        position++;
    return position;
}

pdr_rc pdr__value_set_member(pdr_value **io, size_t index,
                             const pdr_value *value, pdr_err *err)
{
    pdr_value *item = NULL, **member = NULL;
    pdr_rc rc = pdr__changed_need(*io, PDR_OBJECT, err);

    if (rc == PDR_OK)
        rc = pdr__changed_adopt(&item, *io, value, err);
    if (rc != PDR_OK)
        return rc;
    assert(index < pdr_value_count(*io));
    struct changed *c = pdr__changed_make(io);
    if (c != NULL)
        member = own_member(c, position_of(c, index));
    if (member == NULL) {
        pdr_value_free(item);
        return pdr__nomem(err);
    }
    pdr_value *old = member[1];
    member[1] = item;
    pdr__changed_raise(c, pdr__value_height(item));
    pdr_value_free(old);
    return PDR_OK;
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
        struct chunk *chunk = pdr__run_room_at_end(&run, 2);
        if (chunk == NULL) {
            pdr__run_drop(&run, false);
            return;
        }
        chunk->item[chunk->count++] = member[0];
        chunk->item[chunk->count++] = member[1];
    }
    pdr__run_ref_items(&run);
    pdr__run_drop(&c->run, true);
    pdr__changed_drop_names(c);
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
    pdr_rc rc = pdr__changed_need(*io, PDR_OBJECT, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_get(*io, name) == NULL)
        return PDR_FAIL(err, NO_MEMBER, "no member '%s'",
                        pdr__shown((char[PDR_SHOWN]){0}, name));
    struct changed *c = pdr__changed_make(io);
    if (c == NULL)
        return pdr__nomem(err);
    bool single = false;
    uint32_t last = c->slots < PDR_INDEX_MIN ? search_member(c, name)
                                             : find_indexed(c, name, &single);
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

pdr_rc pdr__value_edit_member(pdr_value ***slot, pdr_value **parent,
                              pdr_str name, uint32_t levels, pdr_err *err)
{
    uint32_t position = UINT32_MAX;

    pdr_rc rc = pdr__changed_check_levels(levels, err);
    if (rc == PDR_OK)
        rc = pdr__changed_need(*parent, PDR_OBJECT, err);
    if (rc != PDR_OK)
        return rc;
    /* A changed object is searched once: its copy has the same positions. */
    bool changed = node_is_changed(*parent);
    if (changed)
        position = find_member(changed_of(*parent), name);
    if (changed ? position == UINT32_MAX : pdr_value_get(*parent, name) == NULL)
        return PDR_FAIL(err, NO_MEMBER, "no member '%s'",
                        pdr__shown((char[PDR_SHOWN]){0}, name));
    struct changed *c = pdr__changed_make(parent);
    if (c == NULL)
        return pdr__nomem(err);
    if (!changed)
        position = find_member(c, name);
    pdr_value **member = own_member(c, position);
    if (member == NULL)
        return pdr__nomem(err);
    pdr__changed_raise(c, levels);
    *slot = &member[1];
    return PDR_OK;
}
