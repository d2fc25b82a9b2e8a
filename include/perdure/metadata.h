/*
 * perdure/metadata.h - what is said about agents and sessions, outside of them.
 *
 * Additional properties describe an agent or a session for lists, filters and
 * protocols. They live in a wrapper that holds the agent or the session, and
 * are no part of it: nothing that a model can see is ever made of them, and
 * every function that runs, writes or stores takes the unwrapped object.
 *
 *     wrapper = { session or agent, properties or none }
 */
#ifndef PERDURE_METADATA_H
#define PERDURE_METADATA_H

#include <perdure/session.h>

PDR_BEGIN_DECLS

/* --- properties ---------------------------------------------------------- */

/*
 * A map from names to JSON values of any kind, in order of insertion, at most
 * 1,000 of them, names of 1 to 1,024 bytes. Names differ by case; a look-up
 * takes the exact name first, then one that differs in the case of ASCII
 * letters only, and if there are several of those gives PDR_EINVALID (reason
 * "key_ambiguous"). Other failures of functions with a name: "key_null",
 * "key_blank", "key_too_long", "bad_utf8". Names of a document that break these
 * rules are kept, and are there in pdr_properties_to_value().
 */
typedef struct pdr_properties pdr_properties;

/** An empty map. @param[out] out  owned; release with pdr_properties_free().
 * NULL on failure. @return PDR_OK or PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_new(pdr_properties **out,
                                                 pdr_err *err);

/** The members of an object, as they are; none is decoded.
 * @param value  shared; not NULL.
 * @return PDR_OK; PDR_EINVALID (reason "wrong_kind"); PDR_ELIMIT (reason
 *         "too_many_properties"); PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_from_value(pdr_properties **out,
                                                        const pdr_value *value,
                                                        pdr_err *err);

/** The members as an object. @return owned; cannot fail.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_value *pdr_properties_to_value(
    const pdr_properties *properties);

/** A copy: a new map that shares the values. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_dup(
    pdr_properties **out, const pdr_properties *properties, pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_properties_free(pdr_properties *properties);

/** How many; each duplicate that was read counts. @thread owner @since 0.1 */
PDR_API size_t pdr_properties_count(const pdr_properties *properties);

/** The value under a name.
 * @param[out] out  borrowed from `properties`; NULL on failure.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_property").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_properties_get(const pdr_value **out, const pdr_properties *properties,
                   pdr_str name, pdr_err *err);

/** Is there one, null or not? False also for a name that is ambiguous, or none.
 * @thread owner @since 0.1 */
PDR_API bool pdr_properties_has(const pdr_properties *properties, pdr_str name);

/** Set or replace. The name that is there keeps its spelling and its place.
 * @param value  shared; not NULL.
 * @return PDR_OK; PDR_ELIMIT with reason "too_many_properties" or "too_deep"
 *         (more than 126 levels); PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_set(pdr_properties *properties,
                                                 pdr_str name,
                                                 const pdr_value *value,
                                                 pdr_err *err);

/** As pdr_properties_set(), but a value that is there stays.
 * @return also PDR_EEXISTS (reason "property_exists").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_add(pdr_properties *properties,
                                                 pdr_str name,
                                                 const pdr_value *value,
                                                 pdr_err *err);

/** @return PDR_OK; PDR_ENOTFOUND (reason "no_property").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_remove(pdr_properties *properties,
                                                    pdr_str name, pdr_err *err);

/*
 * Typed access. The name is that of the type, or one of its aliases; one type
 * has one property. All three take the type's own name first, then the aliases
 * in order.
 */

/** Add an object under the name of its type. It is encoded at once.
 * @param object  copied; not NULL.
 * @return PDR_OK; PDR_EEXISTS (reason "property_exists"): the first one stays;
 *         PDR_EINVALID (reason "state_encode"); as pdr_properties_set().
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_properties_add_typed(pdr_properties *properties, const pdr_state_type *type,
                         const void *object, pdr_err *err);

/** Set or replace, keeping members that the type does not know. Else as above.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_properties_set_typed(pdr_properties *properties, const pdr_state_type *type,
                         const void *object, pdr_err *err);

/** The object of a type, decoded now if it was not before; the value stays as
 * it is, byte for byte.
 * @param[out] out  owned; release with pdr_object_free(). NULL on failure.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_property") if there is none, or
 *         null; PDR_EINVALID (reason "meta_decode", with the name) if the value
 *         does not fit; PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_properties_get_typed(pdr_object **out, pdr_properties *properties,
                         const pdr_state_type *type, pdr_err *err);

/** Is there a property of this type, null or not? @thread owner @since 0.1 */
PDR_API bool pdr_properties_has_typed(const pdr_properties *properties,
                                      const pdr_state_type *type);

/** @return PDR_OK; PDR_ENOTFOUND (reason "no_property").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_remove_typed(
    pdr_properties *properties, const pdr_state_type *type, pdr_err *err);

/** Types for plain values: "int64" (`int64_t`), "double" (`double`), "bool"
 * (`bool`), "string" (`pdr_str`). They take a string where its whole text is
 * one: "42" is 42, "True" is true. Where a string is wanted, a number or
 * boolean is its JSON text. @thread any @since 0.1 */
PDR_API const pdr_state_type *pdr_type_int64(void);
PDR_API const pdr_state_type *pdr_type_double(void);
PDR_API const pdr_state_type *pdr_type_bool(void);
PDR_API const pdr_state_type *pdr_type_string(void);

/** The value under any name as a type; never a mere conversion error: what does
 * not fit is "not there".
 * @param[out] out  owned; NULL if it is false.
 * @return PDR_OK and `*found`; PDR_ENOMEM; "key_ambiguous" and the like.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_properties_try_get(
    pdr_object **out, bool *found, pdr_properties *properties, pdr_str name,
    const pdr_state_type *type, pdr_err *err);

/* --- agents -------------------------------------------------------------- */

/* An agent and its properties. The agent is only pointed at. */
typedef struct pdr_agent_wrapper {
    void *agent;                /* borrowed; not NULL */
    pdr_properties *properties; /* owned by whoever has the wrapper; NULL: none
                                 */
} pdr_agent_wrapper;

/* --- sessions ------------------------------------------------------------ */

/* A session and its properties. Open it to get at either: a wrapper is no
 * session. Absent properties and an empty map are two things. */
typedef struct pdr_session_wrapper {
    pdr_session *session;       /* owned; not NULL */
    pdr_properties *properties; /* owned; NULL: none */
    pdr_value *frame;           /* owned; private: what else was in the document
                                   that it was read from; NULL at first */
} pdr_session_wrapper;

/* clang-format off */
#define PDR_SESSION_WRAPPER_INIT {NULL, NULL, NULL}
/* clang-format on */

/** Release what is inside. @thread owner @since 0.1 */
PDR_API void pdr_session_wrapper_dispose(pdr_session_wrapper *wrapper);

/* Types for reading: a property with the name of one of them, or an alias, is
 * decoded at once by that type, and kept so for pdr_properties_get_typed(). The
 * rest stays JSON; and so does what is written, whatever was decoded. */
typedef struct pdr_type_set {
    const pdr_state_type *const *types; /* borrowed; the types themselves must
                                           outlive the properties */
    size_t count;
} pdr_type_set;

/** Read {"session":…,"additionalProperties":…}; a bare session is one without
 * properties, and so is a wrapper where they are null. Members that stand
 * beside the two are kept, and written again.
 * The levels of the session count from its own root, so read a wrapper with one
 * level more (`max_depth`), and a list of them with two.
 * @param[out] out  disposed by the caller; empty on failure.
 * @param value     shared; not NULL.
 * @param types     borrowed for the call; NULL: none. What does not fit stays
 *                  JSON, is reported to `fn` (rule "meta-decode"), and gives
 *                  "meta_decode" when it is asked for.
 * @return PDR_OK; as pdr_session_from_value(), with the path;
 *         PDR_EINVALID (reason "wrong_kind") for properties that are no object;
 *         as pdr_properties_from_value(); what `fn` returned.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_wrapper_from_value(
    pdr_session_wrapper *out, const pdr_value *value, const pdr_type_set *types,
    pdr_err *err, pdr_doc_finding_fn fn, void *arg);

/** Write it: what did not change is as it was read. A bare session stays one as
 * long as it has no properties.
 * @param[out] out  owned; NULL on failure.
 * @return as pdr_session_to_value(); PDR_ELIMIT (reason "too_deep").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_wrapper_to_value(
    pdr_value **out, const pdr_session_wrapper *wrapper, pdr_err *err);

/** Read an array of wrappers; a bare session in it is one without properties, a
 * null stays empty. White space between the elements is not kept.
 * @param[out] out    owned; release with pdr_session_wrappers_free(). NULL on
 *                    failure.
 * @param[out] count  how many.
 * @return as pdr_session_wrapper_from_value(), with the index in text and path;
 *         PDR_EINVALID (reason "wrong_kind") for what is not an array.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_wrappers_from_value(
    pdr_session_wrapper **out, size_t *count, const pdr_value *value,
    const pdr_type_set *types, pdr_err *err, pdr_doc_finding_fn fn, void *arg);

/** Write an array of wrappers; an empty one is null.
 * @param[out] out  owned; NULL on failure.
 * @return as pdr_session_wrapper_to_value(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_wrappers_to_value(
    pdr_value **out, const pdr_session_wrapper *wrappers, size_t count,
    pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_session_wrappers_free(pdr_session_wrapper *wrappers,
                                       size_t count);

/* --- sessions and wrappers kept together --------------------------------- */

/*
 * Wrappers by the id of their session, for several threads. What is found is a
 * wrapper of the caller's own: it shares the session, which is counted and
 * lives as long as anybody has it, and has a copy of the properties. So others
 * may replace or remove the wrapper meanwhile, and a change of the copy is seen
 * by others after pdr_registry_replace().
 */
typedef struct pdr_registry pdr_registry;

/** @param[out] out  owned; release with pdr_registry_free(). NULL on failure.
 * @return PDR_OK or PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_registry_new(pdr_registry **out,
                                               pdr_err *err);

/** Wrappers that were found stay good. NULL is fine. @thread owner @since 0.1
 */
PDR_API void pdr_registry_free(pdr_registry *registry);

/** @thread any @since 0.1 */
PDR_API size_t pdr_registry_count(pdr_registry *registry);

/** Put a wrapper in, under an id.
 * @param id       copied; 1 to 1,024 bytes; empty: the id of the session.
 * @param wrapper  taken, also on failure: empty afterwards.
 * @return PDR_OK; PDR_EINVALID with reason "bad_id" if there is no id or it is
 *         too long, "bad_utf8"; PDR_EEXISTS (reason "session_registered");
 *         PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_registry_add(pdr_registry *registry,
                                               pdr_str id,
                                               pdr_session_wrapper *wrapper,
                                               pdr_err *err);

/** Put a wrapper in the place of the one that is there; of several threads the
 * last one wins. To change properties, find the wrapper, change its copy, and
 * replace.
 * @param id       of the one that is there; empty: the id of the session.
 * @param wrapper  taken, also on failure: empty afterwards.
 * @return PDR_OK; PDR_ENOTFOUND (reason "not_registered").
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_registry_replace(pdr_registry *registry,
                                                   pdr_str id,
                                                   pdr_session_wrapper *wrapper,
                                                   pdr_err *err);

/** The wrapper of a session.
 * @param[out] out  owned; release with pdr_session_wrapper_dispose(), on any
 *                  thread. Empty on failure.
 * @return PDR_OK; PDR_ENOTFOUND (reason "not_registered"); PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_registry_find(pdr_session_wrapper *out,
                                                pdr_registry *registry,
                                                pdr_str id, pdr_err *err);

/** Take a wrapper out. Those who found it before keep theirs.
 * @param[out] out  owned; release with pdr_session_wrapper_dispose(). Empty on
 *                  failure. NULL: it is disposed at once.
 * @return PDR_OK; PDR_ENOTFOUND (reason "not_registered").
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_registry_remove(pdr_session_wrapper *out,
                                                  pdr_registry *registry,
                                                  pdr_str id, pdr_err *err);

/** Called on the caller's thread for each wrapper that was there when the walk
 * began, in the order in which they came, also if it was removed since. May
 * call the registry. `id` and `wrapper` are borrowed for the call; `wrapper` is
 * as pdr_registry_find() gives it. A return other than PDR_OK ends the walk
 * with that code. */
typedef pdr_rc (*pdr_registry_fn)(pdr_str id, pdr_session_wrapper *wrapper,
                                  pdr_err *err, void *arg);

/** Walk over all wrappers. No lock is held while `fn` runs.
 * @return PDR_OK, PDR_ENOMEM, or what `fn` returned. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_registry_each(pdr_registry *registry,
                                                pdr_err *err,
                                                pdr_registry_fn fn, void *arg);

PDR_END_DECLS

#endif
