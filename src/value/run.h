/*
 * run.h - children in a row, in chunks that can be shared.
 */
#ifndef PDR_VALUE_RUN_H
#define PDR_VALUE_RUN_H

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
    uint32_t *starts;      /* owned; C2 in run.c */
    uint32_t count, cap;
};

/* All that return a pointer or bool: NULL or false without memory, and then
 * nothing has changed. */

/* Make chunk k one that only this run owns, with room for `room` more items. */
struct chunk *pdr__run_own(struct run *run, uint32_t k, uint32_t room);

/* A last chunk with room for one more `pair` of 1 or 2 items, owned. */
struct chunk *pdr__run_room_at_end(struct run *run, uint32_t pair);

/* The chunk *place, owned, that has room for a new item number `at`, which
 * belongs into *slot. The caller renumbers. */
struct chunk *pdr__run_room_inside(struct run *run, size_t at, uint32_t *place,
                                   uint32_t *slot);

/* The chunk that holds item number `at`, and its slot there. */
uint32_t pdr__run_find(const struct run *run, size_t at, uint32_t *slot);

/* Take the item out of a chunk that is owned; the item itself is the caller's
 * now. An empty chunk goes. */
void pdr__run_erase(struct run *run, uint32_t k, uint32_t slot);

/* Set `starts` from chunk `from` on. */
void pdr__run_renumber(struct run *run, uint32_t from);

/* Let `to`, which is empty, share all chunks of `from`. */
bool pdr__run_share(struct run *to, const struct run *from);

/* Put the chunks of `middle` and `back` behind those of `run`; both are empty
 * afterwards. */
bool pdr__run_join(struct run *run, struct run *middle, struct run *back);

/* Add an owner to each item of each chunk. */
void pdr__run_ref_items(const struct run *run);

/* Release everything; without `items`, the items were not counted yet. */
void pdr__run_drop(struct run *run, bool items);

size_t pdr__run_bytes(const struct run *run);

#endif
