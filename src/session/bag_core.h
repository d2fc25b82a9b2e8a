/*
 * bag_core.h - what a bag is made of, for the files that read and write it.
 *
 *   bag ─► value   { "prefs":{…}, "notes":null, … }   the truth, all raw
 *    │
 *    └───► views   "prefs" ─► object as A ─► object as B
 *
 * INVARIANTS
 *   B1  `value` is an object that holds every slot, in order. Nobody but the
 *       bag edits it, and in place only while the bag is its one owner: who
 *       holds a snapshot never sees a change.
 *   B2  A view is an object that was decoded from, or encoded to, the value
 *       that its slot has now. Whoever changes a slot drops its views in the
 *       same step. A null slot has none.
 *   B3  The lock is held for a few steps at a time, never across a function of
 *       a caller. What a caller's functions could hear of (objects to free) is
 *       moved out and released behind the lock.
 *   B4  A claim makes all other writers wait, and no reader. Its holder runs
 *       the functions of the caller, then takes the lock for the one change.
 */
#ifndef PDR_BAG_CORE_H
#define PDR_BAG_CORE_H

#include "session.h"

/* An object that a slot was read or written as. */
struct view {
    struct view *next;  /* owned; as another type */
    pdr_object *object; /* owned */
};

struct pdr_bag {
    pthread_mutex_t lock;
    pthread_cond_t released; /* there is no claim any more */
    pdr_value *value;        /* owned; guarded by lock; B1 */
    struct pdr__map views;   /* key to owned views; guarded by lock; B2 */
    struct pdr__map owners;  /* key to owned name; guarded by lock */
    uint64_t generation;     /* guarded by lock */
    const char *sealed;      /* why; NULL if not; static; guarded by lock */
    bool is_claimed;         /* guarded by lock; B4 */
    pthread_t claimant;      /* if claimed; guarded by lock */
    size_t levels;           /* of a slot; set before the bag is shared */
};

/* What a change left over, to be released when the lock is not held. */
struct leftovers {
    pdr_value *value;   /* owned */
    struct view *views; /* owned */
};

/* --- claims (bag_lock.c) ------------------------------------------------- */

/* Take the claim. Fails with BAG_IN_UPDATE, BAG_SEALED. */
PDR_MUST_CHECK pdr_rc pdr__bag_claim(pdr_bag *bag, pdr_err *err);
/* Give it back; the lock is not held. */
void pdr__bag_release(pdr_bag *bag);

/* --- slots (bag.c) ------------------------------------------------------- */

/* Fails with TOO_DEEP and the path. */
PDR_MUST_CHECK pdr_rc pdr__slot_check(const pdr_bag *bag, pdr_str key,
                                      const pdr_value *value, pdr_err *err);
/* The lock is held: set a slot, with `view` as its only one, which may be NULL
 * and is taken on success. Fails as pdr_bag_set(); then nothing changed. */
PDR_MUST_CHECK pdr_rc pdr__slot_put(struct leftovers *left, pdr_bag *bag,
                                    pdr_str key, const pdr_value *value,
                                    struct view *view, pdr_err *err);
void pdr__leftovers_free(struct leftovers *left);
/* With all behind it. */
void pdr__views_free(struct view *view);

/* Put the path of a slot into `err`, with a path inside it behind. */
void pdr__slot_path(pdr_err *err, pdr_str key, const char *inside);

/* As pdr__typed_encode(), where the object that `raw` decodes to is known;
 * `known` may be NULL. */
PDR_MUST_CHECK pdr_rc pdr__typed_encode_over(
    pdr_value **out, const pdr_state_type *type, const void *object,
    const pdr_value *raw, const pdr_object *known, pdr_err *err);

#endif
