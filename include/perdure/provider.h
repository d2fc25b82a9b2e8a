/*
 * perdure/provider.h - providers: behaviour whose state is in the session.
 *
 * A provider belongs to an agent and serves any number of sessions at once. So
 * it keeps nothing of a session in its own fields; what it has to remember goes
 * into the bag of the session, under a key of its own. Clients, files and
 * connections stay in the provider; the bag holds what finds them again.
 */
#ifndef PERDURE_PROVIDER_H
#define PERDURE_PROVIDER_H

#include <perdure/session.h>

PDR_BEGIN_DECLS

/* --- state of a provider ------------------------------------------------- */

/* The way from a provider to its state in any session. Immutable. */
typedef struct pdr_provider_state pdr_provider_state;

/** Make the first state for a session: owned, taken by the bag.
 * @param session  the session, or NULL; may be read only. */
typedef pdr_rc (*pdr_provider_init_fn)(void **out, pdr_session *session,
                                       pdr_err *err, void *arg);

/**
 * @param[out] out  owned; release with pdr_provider_state_free(). NULL on
 *                  failure.
 * @param owner     copied; what the provider is called, in errors: "history".
 * @param key       copied; the key in the bag. Two instances of one provider
 *                  need two keys.
 * @param type      borrowed, must outlive everything made from it.
 * @param init      borrowed with `arg`, must outlive the state.
 * @return PDR_OK; PDR_EINVALID with reason "no_initialiser", "key_null",
 *         "key_blank", "key_too_long", "bad_utf8"; PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_provider_state_new(pdr_provider_state **out, const char *owner,
                       const char *key, const pdr_state_type *type,
                       pdr_err *err, pdr_provider_init_fn init, void *arg);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_provider_state_free(pdr_provider_state *state);

/** @return borrowed from `state`. @thread const @since 0.1 */
PDR_API const char *pdr_provider_state_key(const pdr_provider_state *state);

/** The state in a session, made if it is not there or null. Without a session,
 * it is made each time and kept nowhere.
 * @param[out] out  owned; release with pdr_object_free(). NULL on failure.
 * @param session   may be NULL.
 * @return as pdr_bag_get_or_init(); PDR_EINVALID (reason "state_key_clash",
 *         with both names) if a provider of another name used the key in this
 *         session before. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_provider_state_get(pdr_object **out, const pdr_provider_state *state,
                       pdr_session *session, pdr_err *err);

/** Write a changed state. Without a session nothing happens.
 * @param object  copied; NULL writes null.
 * @return as pdr_bag_set_typed(), and "state_key_clash" as above.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_provider_state_save(const pdr_provider_state *state, pdr_session *session,
                        const void *object, pdr_err *err);

/** Change the state in one step: made first, if need be. Without a session, a
 * new state is made, changed and dropped.
 * @return as pdr_provider_state_get(), pdr_bag_update_typed(), or what `fn`
 *         returned. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_provider_state_update(const pdr_provider_state *state, pdr_session *session,
                          pdr_err *err, pdr_bag_typed_fn fn, void *arg);

/* --- sets of providers --------------------------------------------------- */

typedef enum pdr_provider_kind {
    PDR_PROVIDER_CONTEXT = 1, /* adds messages, instructions, tools */
    PDR_PROVIDER_HISTORY = 2  /* loads and stores messages */
} pdr_provider_kind;

/* What a run is going to send, while providers add to it. For the hooks of a
 * run; only during the call. */
typedef struct pdr_context pdr_context;

/** Add a message. It is sent with a mark of who added it: that of a provider of
 * history before what the caller says, as far as the agent's window goes; any
 * other after it, and it is not stored.
 * @param message  shared; an object in this shape.
 * @return PDR_OK; PDR_EINVALID (reason "wrong_kind"); PDR_ENOMEM.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_context_add_message(pdr_context *context,
                                                      const pdr_value *message,
                                                      pdr_shape shape,
                                                      pdr_err *err);

/** Release something when the run is over, as a window of a store that has the
 * messages which were added.
 * @param thing  taken, also on failure. @param release  called with it.
 * @return PDR_OK; PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_context_keep(pdr_context *context,
                                               void *thing,
                                               void (*release)(void *thing),
                                               pdr_err *err);

/** Add instructions, on a line of their own after those that are there.
 * @return PDR_OK; PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_context_add_instructions(pdr_context *context,
                                                           pdr_str text,
                                                           pdr_err *err);

/** The instructions so far: the agent's and what providers added.
 * @return borrowed until more is added. @thread owner @since 0.1 */
PDR_API pdr_str pdr_context_instructions(const pdr_context *context);

/* What hooks are told of a run. All borrowed for the call. */
typedef struct pdr_run_info {
    pdr_str agent_id, agent_name;
    pdr_session *session;          /* NULL: the run has none */
    const pdr_value *const *input; /* what the caller says */
    size_t input_count;
    pdr_shape shape; /* of all messages here */
    int64_t now_ms;
} pdr_run_info;

/* How it ended. */
typedef struct pdr_run_outcome {
    const pdr_value *const *answers; /* messages that the run made */
    size_t answer_count;
    const pdr_err *error; /* NULL on success; on failure there are no answers */
} pdr_run_outcome;

/* What a set knows of a provider. */
typedef struct pdr_provider {
    const char *name; /* copied; what it is called, as "todo" */
    pdr_provider_kind kind;
    const char *const *keys; /* copied; its keys in the bag, the last one NULL;
                                NULL: it keeps no state */
    void *self;              /* borrowed; the provider itself */
    /* Called before the model is asked, in the order of the set. One of kind
     * HISTORY adds the history, oldest first. A failure ends the run. May be
     * NULL. */
    pdr_rc (*before)(pdr_context *context, const pdr_run_info *run,
                     pdr_err *err, void *self);
    /* Called when the run is over, in the reverse order, before anything is
     * stored. One of kind HISTORY comes last, and stores input and answers,
     * unless there is an error. A failure ends the run, and nothing is stored;
     * that of a run which has failed already is not looked at. May be NULL. */
    pdr_rc (*after)(const pdr_run_info *run, const pdr_run_outcome *outcome,
                    pdr_err *err, void *self);
} pdr_provider;

/* The providers of an agent, in the order of their calls. Immutable. */
typedef struct pdr_provider_set pdr_provider_set;

/**
 * @param[out] out   owned; release with pdr_provider_set_free(). NULL on
 *                   failure.
 * @param providers  copied; `count` of them, at most one of kind HISTORY. If
 *                   there is none, the history in the session itself counts as
 *                   one, with its keys.
 * @return PDR_OK; PDR_EINVALID with reason "state_key_clash" if two providers
 *         have one key, one has it twice, or it is reserved for something else
 *         (the text has the key and both names), "two_histories", "key_blank",
 *         "key_too_long", "bad_utf8"; PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_provider_set_new(pdr_provider_set **out, const pdr_provider *providers,
                     size_t count, pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_provider_set_free(pdr_provider_set *set);

/** @thread const @since 0.1 */
PDR_API size_t pdr_provider_set_count(const pdr_provider_set *set);

/** Provider `index`. @return borrowed from `set`; NULL if there is none.
 * @thread const @since 0.1 */
PDR_API const pdr_provider *pdr_provider_set_at(const pdr_provider_set *set,
                                                size_t index);

/** The first provider called `name`. @return borrowed from `set`, or NULL.
 * @thread const @since 0.1 */
PDR_API const pdr_provider *pdr_provider_set_find(const pdr_provider_set *set,
                                                  const char *name);

PDR_END_DECLS

#endif
