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
} pdr_tool_call;

/* Do what a tool does. Called on the thread of the run. *out is owned: any JSON
 * value, NULL for none. A failure becomes the result that the model gets, and
 * the run goes on; PDR_ENOMEM and PDR_ECANCELLED end it. */
typedef pdr_rc (*pdr_tool_fn)(pdr_value **out, const pdr_tool_call *call,
                              pdr_err *err, void *arg);

/* A function that a model may call. */
typedef struct pdr_tool {
    const char *name;            /* copied; letters, digits, '_' and '-', 1 to
                                    64 of them */
    const char *description;     /* copied; what the model reads, or NULL */
    const pdr_value *parameters; /* shared; a JSON Schema of the arguments;
                                    NULL: an object of any kind */
    pdr_tool_fn fn;              /* borrowed with `arg`, must outlive the agent
                                  */
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
    const char *const *env;  /* its whole environment, "NAME=VALUE", the last
                                one NULL; NULL: PATH alone */
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

/** Its id and name. @return borrowed from `agent`. @thread const @since 0.1 */
PDR_API pdr_str pdr_agent_id(const pdr_agent *agent);
PDR_API pdr_str pdr_agent_name(const pdr_agent *agent);

/* --- runs ----------------------------------------------------------------- */

/* One run. All borrowed for the call. */
typedef struct pdr_run {
    pdr_session
        *session;       /* at most one of these two; neither: the run leaves */
    pdr_stored *stored; /* no trace. A stored one has no other changes that
                           wait: the run commits */
    const pdr_value *const *messages; /* what the caller says, in `shape` */
    size_t count;
    pdr_shape shape;
    pdr_str text;                /* one more message of the user, or empty */
    pdr_str correlation_id;      /* of entries in a store, or absent */
    const pdr_value *options;    /* an object; wins over the agent's, or NULL */
    const pdr_provider *history; /* in place of the agent's, for this run; or
                                    NULL */
    pdr_cancel *cancel;          /* or NULL */
    int64_t now_ms;              /* the caller's time */
    pdr_update_fn fn; /* hears of each piece as it comes; another code than
                         PDR_OK stops the run there. May be NULL */
    void *arg;
} pdr_run;

/**
 * Run an agent: ask the model, call the tools that it wants, until it answers.
 *
 * On success the input and all that came of it are in the history: of a plain
 * session at once, of a stored one by one commit. A run that fails leaves
 * nothing.
 *
 * @param[out] out  owned; release with pdr_response_free(). NULL on failure,
 *                  but for PDR_ECONFLICT: then it has the answer that was not
 *                  stored.
 * @return PDR_OK; PDR_EMODEL ("model_failed"); PDR_EBUSY ("session_busy": two
 *         runs at once on one session); PDR_ECONFLICT as pdr_stored_commit();
 *         PDR_ECANCELLED ("run_cancelled");
 *         PDR_EINVALID ("session_kind": a session that this agent cannot use;
 *         "history_shape"; "history_key": a stored session, and the agent has
 *         a key of its own;
 *         "state_key_clash": `history` has the key of a context provider);
 *         PDR_ENOMEM; what `fn` or a provider returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_agent_run(pdr_response **out,
                                            pdr_agent *agent,
                                            const pdr_run *run, pdr_err *err);

/* --- responses ------------------------------------------------------------ */

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

/** Why the model ended, "stop" or any other; empty if it did not say. @return
 * borrowed. @thread const @since 0.1 */
PDR_API pdr_str pdr_response_finish_reason(const pdr_response *response);

PDR_END_DECLS

#endif
