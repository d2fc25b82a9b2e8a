/*
 * perdure/bag.h - the state bag: what providers and callers remember.
 *
 * A bag maps keys to JSON values of any kind, null included. It is a part of a
 * session, or stands alone. A value stays as it was read, byte for byte, until
 * somebody writes it. Who wants an object of a C type instead of JSON describes
 * the type once (pdr_state_type); reading never changes what is stored, and
 * writing replaces only the members that the type knows.
 *
 * Every function is safe from several threads on one bag. Each is one step that
 * others see whole or not at all, also update and get-or-init with their
 * callbacks: while one of these runs, other writers wait, readers do not. So
 * slow work belongs before or behind the call. A callback may read the same
 * bag, and sees it as it was before the call; writing from there gives
 * PDR_EMISUSE (reason "bag_in_update").
 *
 * Keys are UTF-8, 1 to 1,024 bytes, not only white space. Failures of every
 * function with a key: PDR_EINVALID with reason "key_null" (no pointer),
 * "key_blank", "key_too_long" or "bad_utf8"; the bag is as it was. Other keys
 * of a document that was read are kept, and are there in pdr_bag_snapshot().
 */
#ifndef PERDURE_BAG_H
#define PERDURE_BAG_H

#include <perdure/value.h>

PDR_BEGIN_DECLS

typedef struct pdr_bag pdr_bag;

/* --- types --------------------------------------------------------------- */

/* How a C type is made of JSON and back. One `static const` per type; it must
 * outlive every object of it. Two types are the same if they are one table.
 * The functions may be called from any thread, several at once. None may be
 * NULL. */
typedef struct pdr_state_type {
    const char
        *name; /* as in "shop.Cart"; in errors, and the key of metadata */
    /* An owned object for `value`, which is never null. On failure nothing is
     * left in *out; `err` may say what and where (its path is that inside
     * `value`). */
    pdr_rc (*decode)(void **out, const pdr_value *value, pdr_err *err,
                     void *arg);
    /* The owned value of an object: what decode() would take. */
    pdr_rc (*encode)(pdr_value **out, const void *object, pdr_err *err,
                     void *arg);
    /* An owned copy that shares nothing with `object` that can change. */
    pdr_rc (*copy)(void **out, const void *object, pdr_err *err, void *arg);
    void (*free)(void *object, void *arg);
    /* Names that other programs have for the type, the last one NULL; may be
     * NULL. For metadata only. */
    const char *const *aliases;
    void *arg; /* handed to all functions */
} pdr_state_type;

/* An object of a type, counted. It does not change, and lives until its last
 * holder gives it up, whatever happens to the bag. */
typedef struct pdr_object pdr_object;

/** The object itself; NULL gives NULL. @return borrowed from the handle.
 * @thread const @since 0.1 */
PDR_API const void *pdr_object_get(const pdr_object *object);

/** What type it has. @param object  not NULL. @thread const @since 0.1 */
PDR_API const pdr_state_type *pdr_object_type(const pdr_object *object);

/** One more holder. NULL gives NULL. @return owned; release with
 * pdr_object_free(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_object *pdr_object_ref(const pdr_object *object);

/** Give it up. NULL is fine. @thread const @since 0.1 */
PDR_API void pdr_object_free(pdr_object *object);

/* --- the bag as a whole -------------------------------------------------- */

/** An empty bag. @param[out] out  owned; release with pdr_bag_free(). NULL on
 * failure. @return PDR_OK or PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_new(pdr_bag **out, pdr_err *err);

/**
 * A bag with the slots of an object. Nothing is decoded.
 *
 * @param[out] out  owned; NULL on failure.
 * @param value     shared; NULL and null give an empty bag.
 * @return PDR_OK; PDR_EINVALID (reason "bag_not_object"); PDR_ELIMIT with
 *         reason "too_many_slots" (more than 100,000) or "too_deep";
 *         PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_from_value(pdr_bag **out,
                                                 const pdr_value *value,
                                                 pdr_err *err);

/** Release a bag that stands alone; not that of a session. NULL is fine.
 * @thread owner @since 0.1 */
PDR_API void pdr_bag_free(pdr_bag *bag);

/** All slots at one point in time, as an object in the order of insertion.
 * Later changes of the bag do not reach it. Cannot fail. This is how keys are
 * listed and how a bag is written. @return owned. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_value *pdr_bag_snapshot(pdr_bag *bag);

/** How many slots; nulls count, and so does each duplicate that was read.
 * @thread any @since 0.1 */
PDR_API size_t pdr_bag_count(pdr_bag *bag);

/** A number that grows with every change, from 0. @thread any @since 0.1 */
PDR_API uint64_t pdr_bag_generation(pdr_bag *bag);

/** Remove all slots. @return PDR_OK; PDR_EMISUSE (reason "bag_in_update");
 * PDR_EINVALID (reason "bag_sealed"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_clear(pdr_bag *bag, pdr_err *err);

/* --- raw values ---------------------------------------------------------- */

/** Is there a slot `key`, null or not? False also for what is no key.
 * @thread any @since 0.1 */
PDR_API bool pdr_bag_has(pdr_bag *bag, pdr_str key);

/** The value of a slot.
 * @param[out] out  owned; NULL on failure.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_slot"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_get(pdr_value **out, pdr_bag *bag,
                                          pdr_str key, pdr_err *err);

/** Set a slot: the last one of that name keeps its place, a new one goes to the
 * end. Objects that were read from the old value stay valid for their holders.
 * @param value  shared; not NULL.
 * @return PDR_OK; PDR_ELIMIT with reason "too_many_slots" or "too_deep";
 *         PDR_EMISUSE (reason "bag_in_update"); PDR_EINVALID (reason
 *         "bag_sealed") in a session that cannot hold one; PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_set(pdr_bag *bag, pdr_str key,
                                          const pdr_value *value, pdr_err *err);

/** As pdr_bag_set(), if the bag is still at this generation.
 * @return also PDR_ECONFLICT (reason "bag_changed"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_set_if(pdr_bag *bag, uint64_t generation,
                                             pdr_str key,
                                             const pdr_value *value,
                                             pdr_err *err);

/** Remove a slot. @return PDR_OK; PDR_ENOTFOUND (reason "no_slot"); else as
 * pdr_bag_set(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_remove(pdr_bag *bag, pdr_str key,
                                             pdr_err *err);

/** Change the value of a slot. *io is owned: the value, or NULL if there is no
 * such slot. What is there after PDR_OK becomes the value, NULL removes the
 * slot. Anything else than PDR_OK leaves the bag as it was. */
typedef pdr_rc (*pdr_bag_update_fn)(pdr_value **io, pdr_err *err, void *arg);

/** Read, change and write one slot in one step.
 * @param fn  called once, on the caller's thread.
 * @return as pdr_bag_set(), or what `fn` returned. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_update(pdr_bag *bag, pdr_str key,
                                             pdr_err *err, pdr_bag_update_fn fn,
                                             void *arg);

/* --- typed values -------------------------------------------------------- */

/**
 * The value of a slot as an object. The first read decodes; later reads give
 * the same object, until the slot is written. The bag is not changed by it, and
 * several types may read one slot.
 *
 * @param[out] out  owned; release with pdr_object_free(). NULL for a null, and
 *                  on failure.
 * @param type      borrowed, must outlive bag and objects.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_slot"); PDR_EINVALID with reason
 *         "state_decode" if the value does not fit the type (the path says
 *         where, from the bag's root), or "state_type_mismatch" if it was
 *         written or read as another type, and does not fit (the text has both
 *         names); PDR_ENOMEM, also from decode().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_get_typed(pdr_object **out, pdr_bag *bag,
                                                pdr_str key,
                                                const pdr_state_type *type,
                                                pdr_err *err);

typedef enum pdr_overlay {
    PDR_OVERLAY = 0, /* keep what the type does not know, in its place */
    PDR_REPLACE = 1  /* write exactly what the type gives */
} pdr_overlay;

/**
 * Set a slot to an object. It is encoded at once, so what cannot be written
 * fails here. With PDR_OVERLAY, members of the old value that the type does not
 * know keep value and place, and what did not change keeps its spelling; if the
 * old value does not fit the type, it is replaced. For that the old value is
 * decoded and encoded, too.
 *
 * @param object  copied; NULL sets null.
 * @return as pdr_bag_set(); PDR_EINVALID (reason "state_encode").
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_set_typed(pdr_bag *bag, pdr_str key,
                                                const pdr_state_type *type,
                                                const void *object,
                                                pdr_overlay how, pdr_err *err);

/** Change an object. *io is owned, a copy that the callback may change: the
 * object, or NULL if the slot is not there or null. What is there after PDR_OK
 * is written with PDR_OVERLAY, NULL as null. The bag frees it in any case. */
typedef pdr_rc (*pdr_bag_typed_fn)(void **io, pdr_err *err, void *arg);

/** As pdr_bag_update(), with an object.
 * @return as pdr_bag_get_typed() without "no_slot", as pdr_bag_set_typed(), or
 *         what `fn` returned. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_update_typed(pdr_bag *bag, pdr_str key,
                                                   const pdr_state_type *type,
                                                   pdr_err *err,
                                                   pdr_bag_typed_fn fn,
                                                   void *arg);

/** Make the first object of a slot: owned, taken by the bag. NULL is null, and
 * the next call makes one again. */
typedef pdr_rc (*pdr_bag_init_fn)(void **out, pdr_err *err, void *arg);

/**
 * The object of a slot; if there is none, or null, the callback makes it. Of
 * any number of threads, one makes it.
 *
 * @param[out] out  owned; NULL on failure, and if `fn` made none.
 * @return as pdr_bag_get_typed() without "no_slot": what does not fit is not
 *         overwritten; as pdr_bag_set_typed(); what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_bag_get_or_init(
    pdr_object **out, pdr_bag *bag, pdr_str key, const pdr_state_type *type,
    pdr_err *err, pdr_bag_init_fn fn, void *arg);

PDR_END_DECLS

#endif
