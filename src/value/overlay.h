/*
 * overlay.h - changed containers, for the files that change them.
 */
#ifndef PDR_VALUE_OVERLAY_H
#define PDR_VALUE_OVERLAY_H

#include "run.h"

struct changed {
    struct block block; /* kind BLOCK_CHANGED; its node follows */
    pdr_value node;
    const pdr_value *base; /* owned; NULL if there is none */
    struct run run;
    uint32_t prefix; /* array: children of base that come before the chunks */
    uint32_t suffix; /* array: the last children of base, behind the chunks */
    const pdr_value
        *split; /* child of base that followed the prefix, or NULL */
    const pdr_value *after; /* first child of the suffix; NULL if it is empty */
    uint32_t slots;         /* object: members and empty slots */
    uint32_t empty;         /* object: empty slots */
    _Atomic(struct names *) names; /* object: built when it is large */
};

_Static_assert(offsetof(struct changed, node) == sizeof(struct block),
               "the node stands where block_nodes() looks for it");

static inline struct changed *changed_of(const pdr_value *v)
{
    assert(node_is_changed(v));
    return PDR_CONTAINER_OF((uintptr_t)v, struct changed, node);
}

static inline bool is_object(const struct changed *c)
{
    return node_kind(&c->node) == NODE_CHANGED_OBJECT;
}

static inline void set_count(struct changed *c, size_t count)
{
    c->node.info =
        (c->node.info & NODE_KIND_MASK) | (uint32_t)(count << NODE_COUNT_SHIFT);
}

/* Elements of an array that lie in chunks. */
static inline size_t run_items(const struct changed *c)
{
    return (size_t)node_count(&c->node) - c->prefix - c->suffix;
}

/* The changed container in *io, owned by that handle alone; NULL without
 * memory, then *io is as it was. */
struct changed *pdr__changed_make(pdr_value **io);

/* Put all children of the base into chunks; false without memory. */
bool pdr__changed_unfold(struct changed *c);

/* An owned handle of `value` to put into the container `into` (O2, O5). */
pdr_rc pdr__changed_adopt(pdr_value **out, const pdr_value *into,
                          const pdr_value *value, pdr_err *err);

/* Refuse a child that would make a value too deep (O5). */
pdr_rc pdr__changed_check_levels(uint32_t levels, pdr_err *err);

/* Note the height of a child that was put in. */
void pdr__changed_raise(struct changed *c, uint32_t child);

/* Refuse what is not of this kind. */
pdr_rc pdr__changed_need(const pdr_value *v, pdr_kind kind, pdr_err *err);

void pdr__changed_drop_names(struct changed *c);

#endif
