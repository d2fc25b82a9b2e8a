/*
 * perdure/agent.h - agents: behaviour that works on any session.
 *
 *     pdr_agent_new ──► pdr_agent_run(agent, session, input) ──► pdr_response
 *
 * An agent is instructions, a model, tools and providers. It never changes and
 * keeps nothing about a session, so that one agent serves any number of
 * sessions and threads. What a conversation needs to go on is in the session:
 * a plain one in memory, or a stored one, on which a run is one commit.
 */
#ifndef PERDURE_AGENT_H
#define PERDURE_AGENT_H

#include <perdure/client.h>
#include <perdure/metadata.h>
#include <perdure/provider.h>
#include <perdure/stored.h>

PDR_BEGIN_DECLS

typedef struct pdr_agent pdr_agent;
typedef struct pdr_response pdr_response;

/* --- tools ---------------------------------------------------------------- */

/* What a tool is called with. All borrowed for the call. */
typedef struct pdr_tool_call {
    pdr_str name;
    pdr_str call_id;
    const pdr_value *arguments; /* an object that its schema accepts */
    pdr_session *session;       /* of the run; NULL: it has none */
    pdr_cancel *cancel;         /* of the run, or NULL */
    pdr_str token; /* of a durable run: the same each time this call is made,
                      "SESSION/CORRELATION/CALL"; else empty */
} pdr_tool_call;

/* Do what a tool does. Called on the thread of the run, or with
 * `parallel_calls` on several at once. *out is owned: any JSON value of at most
 * 100 levels, NULL for none. A failure becomes the result that the model gets,
 * and the run goes on; PDR_ENOMEM and PDR_ECANCELLED end it. */
typedef pdr_rc (*pdr_tool_fn)(pdr_value **out, const pdr_tool_call *call,
                              pdr_err *err, void *arg);

/* A function that a model may call. */
typedef struct pdr_tool {
    const char *name;            /* copied; letters, digits, '_' and '-', 1 to
                                    64 of them */
    const char *description;     /* copied; what the model reads, or NULL */
    const pdr_value *parameters; /* shared; a JSON Schema of the arguments;
                                    NULL: an object of any kind */
    bool needs_approval;         /* the caller is asked before each call */
    bool is_repeatable;          /* a call may be made again with the same
                                    token: it does no harm. A durable run does
                                    so when nobody can know whether it ended */
    pdr_tool_fn fn;              /* borrowed with `arg`, must outlive the agent;
                                    NULL: a call of it ends the run, and the
                                    caller gives the result with the next */
    void *arg;
} pdr_tool;

/** Let a run have one more tool. For `before` of a provider.
 * @param tool  copied as for an agent; its function must outlive the run.
 * @return as pdr_agent_new() for tools. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_context_add_tool(pdr_context *context,
                                                   const pdr_tool *tool,
                                                   pdr_err *err);

/** Does the run have a tool of this name, the agent's or an added one?
 * @thread owner @since 0.1 */
PDR_API bool pdr_context_has_tool(const pdr_context *context, pdr_str name);

/* A program as a tool: it gets the arguments as JSON on standard input, and
 * prints the result: JSON, or else a text. No shell is involved. */
typedef struct pdr_command {
    const char *const *argv; /* program and arguments, the last one NULL */
    const char *folder;      /* to run in; NULL: that of the process */
    const char *const *env;  /* its environment, "NAME=VALUE", the last one
                                NULL; NULL: PATH alone. A call of a durable run
                                adds its token as PERDURE_TOKEN */
    uint32_t timeout_ms;     /* 0: 60 seconds */
    size_t max_bytes;        /* of its output; 0: 1 MiB */
} pdr_command;

/** A pdr_tool_fn that runs a program; `arg` is a pdr_command. A program that is
 * missing, exits with another status than 0, takes too long or prints too much
 * fails; in each case it is gone when the call returns.
 * @return PDR_OK; PDR_EIO ("tool_failed"); PDR_ETIMEOUT ("tool_timeout");
 *         PDR_ELIMIT ("too_large"); PDR_ECANCELLED; PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_command_run(pdr_value **out,
                                              const pdr_tool_call *call,
                                              pdr_err *err, void *arg);

/* --- agents --------------------------------------------------------------- */

/* Is a message of the history sent? Called for what is inside the window, on
 * the thread of the run. A call and its results are sent together, or not. */
typedef bool (*pdr_history_filter_fn)(const pdr_value *message, pdr_shape shape,
                                      void *arg);

/* What an agent is made of. Copied or shared; the caller's may change later. */
typedef struct pdr_agent_parts {
    pdr_str id;           /* empty: 32 random hex digits */
    pdr_str name;         /* author of its answers, or empty */
    pdr_str description;  /* or empty */
    pdr_str instructions; /* or empty */
    pdr_client *client;   /* shared; not NULL */
    const pdr_tool *tools;
    size_t tool_count;
    const pdr_provider *providers; /* in the order of their calls; at most one
                                      of kind HISTORY, without one the history
                                      is in the session */
    size_t provider_count;
    const pdr_value *options; /* shared; an object of model options, or NULL */
    const pdr_value *output_schema; /* shared; a JSON Schema of the answer;
                                       NULL: any text will do */
    /* What a model gets of the history, wherever that is kept: its end within
     * these limits, 0 is none. A call goes with its results and the thoughts
     * beside it; the last such group is sent in any case. System messages are
     * sent and not counted, as far back as the history is read: of a stored
     * session that is not much further than the limits. */
    size_t window_messages;
    size_t window_bytes; /* of messages as JSON */
    size_t window_turns; /* that begin with a message of the user */
    pdr_history_filter_fn history_filter; /* borrowed with `history_arg`, must
                                             outlive the agent; or NULL */
    void *history_arg;
    const char *history_key; /* copied; of the history in a plain session, in
                                place of the session's; NULL: that. A run on a
                                stored session is refused then */
    unsigned max_calls;      /* of the model in one run; 0: 40 */
    unsigned max_failures;   /* answers in a row of which every call failed,
                                before the model has to do without tools; 0: 3
                              */
    unsigned parallel_calls; /* tools at work at once; 0 and 1: one */
    bool stores_each_call;   /* store after each call of the model, not only
                                at the end of the run */
    bool tells_errors;       /* the model hears why a tool failed, not only
                                that it did */
    pdr_log_fn log;          /* borrowed with `log_arg`, must outlive the
                                agent; NULL: nobody listens. See log.h */
    void *log_arg;
} pdr_agent_parts;

/**
 * Build an agent.
 *
 * @param[out] out  owned; release with pdr_agent_free(). NULL on failure.
 * @param parts     borrowed for the call.
 * @return PDR_OK; PDR_EINVALID ("bad_tool": its name or schema, with the path
 *         in the schema; "tool_clash": two tools have one name; "wrong_kind":
 *         the options are not an object; as pdr_provider_set_new()); PDR_EIO
 * ("no_randomness"); PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_agent_new(pdr_agent **out,
                                            const pdr_agent_parts *parts,
                                            pdr_err *err);

/** One more holder. NULL gives NULL. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_agent *pdr_agent_ref(const pdr_agent *agent);

/** Give it up. NULL is fine. @thread any @since 0.1 */
PDR_API void pdr_agent_free(pdr_agent *agent);

/** Its id, name and description. @return borrowed from `agent`.
 * @thread const @since 0.1 */
PDR_API pdr_str pdr_agent_id(const pdr_agent *agent);
PDR_API pdr_str pdr_agent_name(const pdr_agent *agent);
PDR_API pdr_str pdr_agent_description(const pdr_agent *agent);

/**
 * A part of an agent. This is how callers reach providers: a session has none.
 *
 *     kind                          gives
 *     "agent"                       the agent itself, if `key` is NULL
 *     "client", or "script", ...    its pdr_client, whatever `key` is
 *     "context", "history", or the  `self` of the first provider of this kind
 *     name of a provider            or name that has one; if `key` is not NULL,
 *                                   of those that keep state under this key
 *
 * The first match counts. A layer (see pdr_agent_wrap()) answers to "agent" and
 * to its own name, with its `arg`, and passes the rest on to the agent inside.
 *
 * @return borrowed from `agent`; NULL if there is none. @thread const
 * @since 0.1
 */
PDR_API void *pdr_agent_get_service(const pdr_agent *agent, const char *kind,
                                    const char *key);

/* --- sessions of an agent ------------------------------------------------- */

/** A new session that this agent can use.
 * @param[out] out  owned; release with pdr_session_free(). NULL on failure.
 * @param parts     as for pdr_session_new(), or NULL; of no stated kind it is
 *                  one of kind CLIENT.
 * @return as pdr_session_new(); PDR_EINVALID ("session_kind") as
 *         pdr_agent_run(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_agent_create_session(pdr_session **out, const pdr_agent *agent,
                         const pdr_session_parts *parts, pdr_err *err);

/* The type of a slot of the bag. */
typedef struct pdr_slot_type {
    pdr_str key;
    const pdr_state_type *type; /* must outlive the session */
} pdr_slot_type;

/* Types of what is in a session or beside it. Each slot and property with a
 * type, unless it is absent or null, is checked by it: what does not fit is an
 * error that names it. The types change nothing: an object was encoded by its
 * type when it was set. All borrowed for the call; zero: none. */
typedef struct pdr_session_types {
    const pdr_slot_type *slots;
    size_t slot_count;
    pdr_type_set properties;
} pdr_session_types;

/** The document of a session and its properties: byte for byte what
 * pdr_session_wrapper_to_value() gives; of a session alone, what
 * pdr_session_to_value() gives.
 * @param[out] out  owned; NULL on failure.
 * @param wrapper   borrowed for the call.
 * @param types     or NULL.
 * @return as pdr_session_wrapper_to_value(); PDR_EINVALID with reason
 *         "session_kind" for a session that this agent cannot use,
 *         "state_decode" or "state_type_mismatch" with the key of the slot,
 *         "meta_decode" with the name of the property. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_agent_serialize(
    pdr_value **out, const pdr_agent *agent, const pdr_session_wrapper *wrapper,
    const pdr_session_types *types, pdr_err *err);

/** The session of a document, with the properties that are there.
 * @param[out] out  disposed by the caller; empty on failure.
 * @param value     shared; a session or a wrapper of one.
 * @param types     or NULL.
 * @return as pdr_session_wrapper_from_value(), and as pdr_agent_serialize().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_agent_deserialize(
    pdr_session_wrapper *out, const pdr_agent *agent, const pdr_value *value,
    const pdr_session_types *types, pdr_err *err);

/* --- runs ----------------------------------------------------------------- */

/* What stays in the history of a run that failed or was stopped. The result of
 * a tool that ran with approval stays in any case, with its call. */
typedef enum pdr_partial {
    PDR_PARTIAL_DISCARD = 0, /* nothing, but for what was stored before */
    PDR_PARTIAL_CALLS = 1,   /* all answers that were whole, and results */
    PDR_PARTIAL_ALL = 2      /* the unfinished answer too; its properties have
                                "_incomplete": true */
} pdr_partial;

/* What the caller says to a call that waits for approval. */
typedef struct pdr_answer {
    pdr_str id; /* of the approval; one that does not wait is ignored */
    bool approved;
    pdr_str reason; /* for the model, or empty */
} pdr_answer;

/** Hears of a whole message that a run made, as soon as there is one: an answer
 * of the model before its calls run, and the result of each call when that has
 * ended, in a message of its own. Called on any thread, one call at a time.
 * @param message  in `shape`; borrowed for the call. */
typedef pdr_rc (*pdr_said_fn)(const pdr_value *message, pdr_shape shape,
                              pdr_err *err, void *arg);

/* One run. All borrowed for the call. */
typedef struct pdr_run {
    pdr_session
        *session;       /* at most one of these two; neither: the run leaves */
    pdr_stored *stored; /* no trace. A stored one has no other changes that
                           wait: the run commits */
    const pdr_value *const *messages; /* what the caller says, in `shape` */
    size_t count;
    pdr_shape shape;
    pdr_str text;              /* one more message of the user, or empty */
    const pdr_answer *answers; /* to calls that wait for approval */
    size_t answer_count;
    bool trusts_record;     /* act on approval rules, approvals and hidden calls
                               that another program left in the session */
    pdr_str correlation_id; /* of entries in a store, or absent */
    const pdr_value *options; /* an object; wins over the agent's, or NULL */
    const pdr_value *output_schema; /* in place of the agent's, or NULL */
    pdr_partial on_partial;
    uint32_t timeout_ms;         /* of the whole run; 0: none */
    const pdr_provider *history; /* in place of the agent's, for this run; or
                                    NULL */
    pdr_cancel *cancel;          /* or NULL */
    int64_t now_ms;              /* the time of what is stored, since 1970: no
                                    clock is asked. From pdr_now() it is
                                    (t - PDR_TICKS_UNIX_EPOCH) /
                                    PDR_TICKS_PER_MS */
    pdr_update_fn fn; /* hears of each piece as it comes; another code than
                         PDR_OK stops the run there. May be NULL */
    void *arg;
    pdr_said_fn said; /* hears of each whole message; as `fn`. May be NULL */
    void *said_arg;
} pdr_run;

/**
 * Run an agent: ask the model, call the tools that it wants, until it answers.
 *
 * On success the input and all that came of it are in the history: of a plain
 * session at once, of a stored one by one commit. A run that fails leaves
 * nothing there, unless `on_partial` says so. What providers and tools wrote
 * into the bag stays.
 *
 * Where a tool needs approval, the run ends with a success:
 * pdr_response_approvals() has what to ask the user, the session remembers it,
 * and a later run, in any process, gets the `answers`.
 *
 * @param[out] out  owned; release with pdr_response_free(). On failure what
 *                  the run made so far, NULL if that is nothing;
 *                  pdr_response_stored() says what of it is in the history.
 * @return PDR_OK; PDR_EMODEL ("model_failed"); PDR_EBUSY ("session_busy": two
 *         runs at once on one session); PDR_ECONFLICT as pdr_stored_commit();
 *         PDR_ECANCELLED ("run_cancelled"); PDR_ETIMEOUT ("run_timeout");
 *         PDR_EINVALID ("session_kind": a session that this agent cannot use;
 *         "history_shape"; "history_key": a stored session, and the agent has
 *         a key of its own;
 *         "state_key_clash": `history` has the key of a context provider;
 *         "wrong_kind": a message or the options are not an object);
 *         PDR_ENOMEM; what `fn` or a provider returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_agent_run(pdr_response **out,
                                            pdr_agent *agent,
                                            const pdr_run *run, pdr_err *err);

/* --- approvals ------------------------------------------------------------ */

/* A call that waits for a word of the caller. */
typedef struct pdr_approval {
    pdr_str id;        /* to answer it with */
    pdr_str tool;      /* its name */
    pdr_str arguments; /* JSON */
    pdr_str call_id;   /* of the call, as the model said it */
} pdr_approval;

typedef struct pdr_approvals {
    size_t count;
    const pdr_approval *items; /* in the order of the calls */
} pdr_approvals;

/** What waits in a session: exactly what runs once it is approved.
 * @param[out] out  owned; release with pdr_approvals_free(). NULL on failure.
 * @param session   one of these two, the other is NULL.
 * @return PDR_OK; PDR_ENOMEM; as pdr_stored_load(). @thread any, with `stored`
 *         owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_approvals_pending(pdr_approvals **out,
                                                    pdr_session *session,
                                                    pdr_stored *stored,
                                                    pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_approvals_free(pdr_approvals *approvals);

/* --- messages from outside of a run --------------------------------------- */

/** Put messages into a run that is at work, or the next one: the model gets
 * them, once, with its next call, and they are in the history after it. Until
 * then they wait in the bag. Those that come after the last call of a run wait
 * for the next.
 * @param session   one of these two, the other is NULL: a session, also that of
 *                  a handle on which a run is at work,
 * @param stored    or a handle; its next commit stores what waits.
 * @param messages  shared; `count` objects in this shape.
 * @return PDR_OK; PDR_EINVALID ("wrong_kind": a message is not an object, or
 *         the slot that they wait in is not an array); as pdr_bag_set() and
 *         pdr_stored_load(). @thread any, with `stored` owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_inject(pdr_session *session,
                                         pdr_stored *stored,
                                         const pdr_value *const *messages,
                                         size_t count, pdr_shape shape,
                                         pdr_err *err);

/* --- agents in agents ----------------------------------------------------- */

/* What is done around the runs of an agent: to log them, to change what goes
 * in or comes out, to ask somebody first. */
typedef struct pdr_agent_layer {
    const char *name; /* copied; as in "audit" */
    /* As pdr_agent_run(). May run `inner` once, several times, or not at all;
     * called from any thread, several at once. */
    pdr_rc (*run)(pdr_response **out, pdr_agent *inner, const pdr_run *run,
                  pdr_err *err, void *arg);
    void *arg; /* borrowed, must outlive the agent */
} pdr_agent_layer;

/** An agent that runs another one through a layer; else it is that agent, with
 * its id, name, description and sessions. Layers nest.
 * @param[out] out  owned; release with pdr_agent_free(). NULL on failure.
 * @param inner     shared.
 * @param layer     copied; name and run are not NULL.
 * @return PDR_OK; PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_agent_wrap(pdr_agent **out, pdr_agent *inner,
                                             const pdr_agent_layer *layer,
                                             pdr_err *err);

/* --- responses ------------------------------------------------------------ */

/* What a run made. Where the model was asked several times, the later answer
 * says what it is: docs/formats/responses.md has the rules. */

/**
 * The response that JSON of an edition is, as of a run elsewhere: for layers
 * that do not run the agent inside.
 *
 * @param[out] out  owned; release with pdr_response_free(). NULL on failure.
 * @param value     shared; an object as .NET or Python write it ("type":
 *                  "agent_response"). In that shape pdr_response_value() gives
 *                  it back as it is, with what nobody knows.
 * @return PDR_OK; PDR_EINVALID ("wrong_kind": it is not an object, or its
 *         messages are not a list of objects); PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_response_from_value(pdr_response **out,
                                                      const pdr_value *value,
                                                      pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_response_free(pdr_response *response);

/** The messages that the run made: answers, tool results. @thread const
 * @since 0.1 */
PDR_API size_t pdr_response_count(const pdr_response *response);
/** @return borrowed from `response`; NULL if there is none. @thread const
 * @since 0.1 */
PDR_API const pdr_value *pdr_response_message(const pdr_response *response,
                                              size_t index);
/** The shape of its messages: that of the session. @thread const @since 0.1 */
PDR_API pdr_shape pdr_response_shape(const pdr_response *response);

/** Append its text: that of each message, with a line break between those that
 * have one. @return as pdr_message_text(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_response_text(pdr_buf *out,
                                                const pdr_response *response,
                                                pdr_err *err);

/** Tokens of all calls together: an object with the .NET names. @return
 * borrowed; NULL if nobody said. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_response_usage(const pdr_response *response);

/** How many of its messages, from the first on, are in the history.
 * @thread const @since 0.1 */
PDR_API size_t pdr_response_stored(const pdr_response *response);

/** The calls of this run that wait for approval. @return borrowed; never NULL.
 * @thread const @since 0.1 */
PDR_API const pdr_approvals *pdr_response_approvals(
    const pdr_response *response);

/**
 * The answer as a value, where the agent or the run has an `output_schema`: the
 * first JSON value in the last message that has a text, checked.
 *
 * @param[out] out  owned; NULL on failure.
 * @return PDR_OK; PDR_EMODEL ("bad_output": the text is empty, not JSON, null,
 *         or does not fit the schema, with the path); PDR_EMISUSE if there was
 *         no schema; PDR_ENOMEM. @thread const @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_response_output(pdr_value **out,
                                                  const pdr_response *response,
                                                  pdr_err *err);

/** Why the model ended, "stop" or any other; empty if it did not say. @return
 * borrowed. @thread const @since 0.1 */
PDR_API pdr_str pdr_response_finish_reason(const pdr_response *response);

/** The id that the model's server gave it, the agent that gave it, the model
 * that was at work. @return borrowed; empty if nobody said. @thread const
 * @since 0.1 */
PDR_API pdr_str pdr_response_id(const pdr_response *response);
PDR_API pdr_str pdr_response_agent_id(const pdr_response *response);
PDR_API pdr_str pdr_response_model(const pdr_response *response);

/** When it was made, in ticks; 0 if nobody said. @thread const @since 0.1 */
PDR_API int64_t pdr_response_created_at(const pdr_response *response);

/** What else was said of it: an object. @return borrowed; NULL if there is
 * nothing. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_response_properties(const pdr_response *response);

/** The response as the JSON of an edition, its messages too.
 * @param[out] out  owned; NULL on failure.
 * @param shape     DOTNET or PYTHON.
 * @return as pdr_message_convert(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_response_value(pdr_value **out,
                                                 const pdr_response *response,
                                                 pdr_shape shape, pdr_err *err);

PDR_END_DECLS

#endif
