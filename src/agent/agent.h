/*
 * agent.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_AGENT_AGENT_H
#define PDR_AGENT_AGENT_H

#include <pthread.h>

#include <perdure/agent.h>
#include <perdure/jsonschema.h>
#include <perdure/sys/client.h>

#include "doc.h"

/* --- folding (fold.c, join.c) ----------------------------------------------
 * Pieces of an answer become messages (docs/formats/responses.md).
 */

/* A call whose arguments are not whole yet. */
struct pdr__open_call {
    size_t at;         /* of its first fragment, among the contents */
    pdr_buf arguments; /* so far */
    size_t depth;      /* brackets that are open in them */
    bool in_string, is_escaped;
    bool is_joined; /* of more than one fragment */
};

struct pdr__folded {
    pdr_buf role, author, id;
    int64_t created_at;    /* ticks; 0: none */
    pdr_value *properties; /* owned; NULL: none */
    pdr_value **contents;  /* owned */
    size_t count, cap;
    struct pdr__open_call *open; /* owned */
    size_t open_count, open_cap;
};

struct pdr__fold {
    pdr_shape shape; /* of contents and messages */
    struct pdr__folded *messages;
    size_t count, cap;
    /* What is said of the response. */
    pdr_buf finish_reason, response_id, agent_id, model;
    int64_t created_at;    /* ticks; 0: none */
    pdr_value *properties; /* owned; NULL: none */
    pdr_value *usage;      /* owned; NULL: none */
};

void pdr__fold_init(struct pdr__fold *fold, pdr_shape shape);
void pdr__fold_dispose(struct pdr__fold *fold);
/* One more piece. Takes time for the piece, not for what is there. Fails with
 * NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__fold_add(struct pdr__fold *fold,
                                    const pdr_update *update, pdr_err *err);
/* Message `i` as a value, contents joined where they belong together; owned.
 * `author` is for one that names none. */
PDR_MUST_CHECK pdr_rc pdr__fold_message(pdr_value **out, struct pdr__fold *fold,
                                        size_t i, pdr_str author, pdr_err *err);
/* Set a text, unless the new one is empty. */
PDR_MUST_CHECK pdr_rc pdr__text_set(pdr_buf *to, pdr_str text, pdr_err *err);
/* Set the members of `more` in `*io`; either may be NULL. */
PDR_MUST_CHECK pdr_rc pdr__properties_add(pdr_value **io, const pdr_value *more,
                                          pdr_err *err);
/* Contents of one message as an array, those that belong together as one each;
 * owned. */
PDR_MUST_CHECK pdr_rc pdr__contents_join(pdr_value **out,
                                         const pdr_value *const *contents,
                                         size_t count, pdr_shape shape,
                                         pdr_err *err);
/* Add the counts of `more` to `*io`; either may be NULL. */
PDR_MUST_CHECK pdr_rc pdr__usage_add(pdr_value **io, const pdr_value *more,
                                     pdr_err *err);

/* --- tools (tool.c) --------------------------------------------------------
 */

struct pdr__tool {
    char *name, *description; /* owned */
    pdr_value *parameters;    /* owned; NULL: any object */
    pdr_schema *schema;       /* owned; of them */
    bool needs_approval, is_repeatable;
    pdr_tool_fn fn;
    void *arg;
};

PDR_MUST_CHECK pdr_rc pdr__tool_init(struct pdr__tool *out,
                                     const pdr_tool *parts, pdr_err *err);
void pdr__tool_dispose(struct pdr__tool *tool);

/* --- histories (choose.c) --------------------------------------------------
 */

/* What a model gets of a history. */
struct pdr__history {
    pdr_request_message *messages; /* owned; the values are not */
    size_t count, cap;
    pdr_stored_window *window; /* owned; of a stored session */
    pdr_value *list;           /* owned; of a plain one */
};

/* Load what the agent wants of the history in a session; neither: none. Fails
 * with HISTORY_KEY, as pdr_session_history() and pdr_stored_messages(). */
PDR_MUST_CHECK pdr_rc pdr__history_load(struct pdr__history *history,
                                        const pdr_agent *agent,
                                        pdr_session *session,
                                        pdr_stored *stored, pdr_err *err);
/* One more message, which must outlive it. */
PDR_MUST_CHECK pdr_rc pdr__history_add(struct pdr__history *history,
                                       const pdr_value *message,
                                       pdr_shape shape, pdr_err *err);
/* Leave out what the agent does not want. If `is_whole` is false, there may be
 * more before the first message; then `*is_sure` says whether that plays no
 * part, and if it may, nothing is left out. */
PDR_MUST_CHECK pdr_rc pdr__history_choose(bool *is_sure,
                                          struct pdr__history *history,
                                          bool is_whole, const pdr_agent *agent,
                                          pdr_err *err);
void pdr__history_dispose(struct pdr__history *history);

/* --- what providers add (context.c) ----------------------------------------
 */

/* What is released with a context. */
struct pdr__kept {
    void *thing;
    void (*release)(void *thing);
};

struct pdr_context {
    const pdr_agent *agent;
    pdr_shape shape;  /* of its messages */
    const char *from; /* name of the provider that adds now */
    pdr_origin origin;
    pdr_request_message *messages; /* owned, with the values */
    size_t count, cap;
    pdr_buf instructions;    /* of the agent, and what was added */
    struct pdr__tool *tools; /* owned; that were added */
    size_t tool_count, tool_cap;
    struct pdr__kept *kept; /* owned */
    size_t kept_count, kept_cap;
};

PDR_MUST_CHECK pdr_rc pdr__context_init(struct pdr_context *context,
                                        const pdr_agent *agent, pdr_shape shape,
                                        pdr_err *err);
void pdr__context_dispose(struct pdr_context *context);
/* Let a provider add. */
PDR_MUST_CHECK pdr_rc pdr__context_ask(struct pdr_context *context,
                                       const pdr_provider *provider,
                                       const pdr_run_info *info, pdr_err *err);
/* What the agent wants of the history that a provider added. */
PDR_MUST_CHECK pdr_rc pdr__context_history(struct pdr__history *history,
                                           const struct pdr_context *context,
                                           pdr_err *err);
/* The tool of a name, added or the agent's; NULL if there is none. */
struct pdr__tool *pdr__context_tool(const struct pdr_context *context,
                                    pdr_str name);
/* What a model is told of all tools, in arena; the agent's first. */
PDR_MUST_CHECK pdr_rc pdr__context_infos(const pdr_tool_info **out,
                                         size_t *count,
                                         const struct pdr_context *context,
                                         struct pdr__arena *memory,
                                         pdr_err *err);

/* --- agents (agent.c) ------------------------------------------------------
 */

struct pdr_agent {
    int32_t holders;
    struct pdr__arena memory; /* of the texts */
    pdr_str id, name, description, instructions;
    pdr_client *client;      /* owned */
    struct pdr__tool *tools; /* owned */
    pdr_tool_info *infos;    /* owned; of the tools */
    size_t tool_count;
    pdr_provider_set *providers; /* owned */
    pdr_value *options;          /* owned; NULL: none */
    struct pdr__output *output;  /* owned; NULL: any text will do */
    size_t window_messages, window_bytes, window_turns;
    const char *history_key; /* in arena; NULL: the session's */
    pdr_history_filter_fn history_filter;
    void *history_arg;
    unsigned max_calls, max_failures, parallel_calls;
    bool stores_each_call, tells_errors;
    pdr_log log;
    /* An agent around another one (wrap.c) has these, and the texts of the one
     * inside, which it keeps alive; of the rest it has nothing. */
    pdr_agent *inner; /* owned; NULL: it is none */
    pdr_agent_layer layer;
};

/* Can this agent work on the session? Fails with SESSION_KIND, or NO_MEMORY.
 * `has_store`: one of kind durable is fine, because its history is there. */
PDR_MUST_CHECK pdr_rc pdr__agent_accepts(const pdr_agent *agent,
                                         pdr_session *session, bool has_store,
                                         pdr_err *err);

/* The tool of a name; NULL if there is none. */
struct pdr__tool *pdr__agent_tool(const pdr_agent *agent, pdr_str name);
/* The provider of its history; NULL: it is in the session. */
const pdr_provider *pdr__history_of(const pdr_provider_set *set);
/* What a model is told of a tool. */
pdr_tool_info pdr__tool_info(const struct pdr__tool *tool);

/* --- structured output (output.c) ------------------------------------------
 */

/* What an answer has to be. */
struct pdr__output {
    pdr_value *sent;    /* owned; the schema that the model gets, of an object
                         */
    pdr_schema *schema; /* owned; of the answer itself */
    bool is_wrapped;    /* the answer is the member "data" of what is sent */
};

PDR_MUST_CHECK pdr_rc pdr__output_new(struct pdr__output **out,
                                      const pdr_value *schema, pdr_err *err);
void pdr__output_free(struct pdr__output *output);
/* The value that this text of a model is. Fails with BAD_OUTPUT, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__output_read(pdr_value **out,
                                       const struct pdr__output *output,
                                       pdr_str text, pdr_err *err);

/* --- cancelling (client.c) -------------------------------------------------
 */

/* Somebody to wake when a run is cancelled. `wake` is called with a lock held:
 * it may not cancel, watch or wait. */
struct pdr__cancel_watch {
    void (*wake)(void *arg);
    void *arg;
    struct pdr__cancel_watch *next; /* the list's */
};

struct pdr_cancel {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_set;                     /* guarded by lock */
    struct pdr__cancel_watch *watch; /* guarded by lock; a list */
    pdr_cancel *parent; /* borrowed; ends this one, too; NULL: none */
    int64_t until_ms;   /* monotonic; it is set from then on; 0: never */
};

/* One that is set when `parent`, which may be NULL, is, or time is over. */
void pdr__cancel_init(pdr_cancel *cancel, pdr_cancel *parent,
                      uint32_t timeout_ms);
void pdr__cancel_dispose(pdr_cancel *cancel);
/* Milliseconds until it is set by itself, at most `most`; NULL never is. */
int64_t pdr__cancel_left_ms(const pdr_cancel *cancel, int64_t most);
/* `watch` is borrowed until pdr__cancel_unwatch(); NULL `cancel`: nothing. One
 * that is set already, or because its time is over, wakes nobody. */
void pdr__cancel_watch(pdr_cancel *cancel, struct pdr__cancel_watch *watch);
void pdr__cancel_unwatch(pdr_cancel *cancel, struct pdr__cancel_watch *watch);

/* --- runs (run.c) -----------------------------------------------------
 */

/* Does this program have to answer the content? Only a call, and not one that
 * the model's server has answered itself. */
bool pdr__call_is_ours(const pdr_value *content, pdr_shape shape);

/* --- responses (response.c) ------------------------------------------------
 */

struct pdr_response {
    pdr_shape shape;
    pdr_value **messages; /* owned */
    size_t count, cap;
    size_t stored;              /* of them, from the first on */
    pdr_approvals *approvals;   /* owned */
    pdr_agent *agent;           /* owned; whose output it is */
    struct pdr__output *output; /* owned; of the run; NULL: the agent's */
    pdr_value *usage;           /* owned; NULL: none */
    pdr_buf finish_reason, id, agent_id, model;
    int64_t created_at;    /* ticks; 0: none */
    pdr_value *properties; /* owned; NULL: none */
    pdr_value *source;     /* owned; that it was read from; NULL: none */
};

/* One without messages. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__response_new(pdr_response **out, pdr_shape shape,
                                        pdr_str agent_id, pdr_err *err);
/* What an answer says of itself, its usage too; not its messages. Fails with
 * NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__response_add(pdr_response *response,
                                        const struct pdr__fold *fold,
                                        pdr_err *err);

/* --- events (events.c) -----------------------------------------------------
 * One line each, where it happens. `since_ms` is pdr__event_time() at the
 * beginning; sessions and errors may be NULL.
 */

int64_t pdr__event_time(const pdr_log *log);
void pdr__event_run_started(const pdr_agent *agent, const pdr_session *session);
void pdr__event_run_ended(const pdr_agent *agent, const pdr_session *session,
                          int64_t since_ms, pdr_rc rc, const pdr_err *err);
void pdr__event_model_asked(const pdr_client_request *request);
/* `usage` is that of the answer, or NULL. */
void pdr__event_model_answered(const pdr_log *log, int64_t since_ms,
                               const pdr_value *usage, pdr_rc rc,
                               const pdr_err *err);
/* For clients, before they wait: why, and how long. */
void pdr__event_request_retried(const pdr_log *log, int64_t wait_ms,
                                const pdr_err *err);
/* `tool` NULL: the model called one that there is not. */
void pdr__event_tool_called(const pdr_log *log, int64_t since_ms,
                            const struct pdr__tool *tool, bool failed);

/* --- Chat Completions (openai_request.c, openai_answer.c) ------------------
 */

/* What a server takes; all texts are static. */
struct pdr__openai_profile {
    const char *name;              /* NULL: any server */
    const char *instructions_role; /* never NULL */
    const char *token_limit_field; /* NULL: as the caller names it */
    const char *reasoning_field;   /* NULL: reasoning is not sent back */
    unsigned lacks;                /* PDR_OPENAI_NO_* */
};

/* The profile that options ask for. Fails with BAD_CLIENT. */
PDR_MUST_CHECK pdr_rc pdr__openai_profile_init(struct pdr__openai_profile *out,
                                               const pdr_openai_opts *opts,
                                               pdr_err *err);
/* Append the body of a request to this model. Fails with NO_MEMORY, or what
 * does not fit into a document. */
PDR_MUST_CHECK pdr_rc pdr__openai_request(
    pdr_buf *out, const pdr_client_request *request, pdr_str model,
    const struct pdr__openai_profile *profile, pdr_err *err);

/* Texts that must not get into a message. */
struct pdr__secrets {
    pdr_str *texts;
    size_t count, cap;
};

#define PDR_SERVER_TEXT                                   \
    201 /* bytes of a server's text in a message, and NUL \
         */

/* Milliseconds that a server asks to wait: a number of `unit` milliseconds
 * each, with decimals, or a date. -1 if it is neither. (client_http.c) */
int64_t pdr__retry_delay(pdr_str value, int64_t unit,
                         const struct pdr__clock *clock);
/* A text of a server, fit for a message: one line, cut, without secrets. */
const char *pdr__openai_shown(char out[PDR_SERVER_TEXT], pdr_str text,
                              const struct pdr__secrets *secrets);

/* A call that is being put together. */
struct pdr__openai_slot {
    pdr_buf id, name, arguments;
};

/* An answer that is being read. */
struct pdr__openai_answer {
    const pdr_client_request *request;
    const struct pdr__secrets *secrets; /* borrowed */
    pdr_update_fn fn;
    void *arg;
    const struct pdr__rand *rand;   /* of ids for calls without one */
    struct pdr__openai_slot *slots; /* owned */
    size_t count, cap;
    size_t last;            /* the slot that was touched last */
    uint16_t by_index[128]; /* slot of an index, plus 1; 0: none */
    pdr_value *usage;       /* owned; NULL: none yet */
    pdr_buf finish, id, model, refusal, scratch;
    int64_t created_at; /* ticks; 0: none yet */
    bool has_choice, is_done;
    bool has_given; /* something was handed over */
};

/* `request`, `secrets`, `fn` and `arg` are borrowed until dispose. */
void pdr__openai_answer_init(struct pdr__openai_answer *answer,
                             const pdr_client_request *request,
                             const struct pdr__secrets *secrets,
                             pdr_update_fn fn, void *arg);
void pdr__openai_answer_dispose(struct pdr__openai_answer *answer);
/* One chunk or whole answer, or "[DONE]"; `is_cut`: the text may not be whole.
 * Fails with MODEL_TRUNCATED, MODEL_PROTOCOL, as pdr__openai_fail() for an
 * error inside, with NO_MEMORY, or what `fn` returned. */
PDR_MUST_CHECK pdr_rc pdr__openai_chunk(struct pdr__openai_answer *answer,
                                        pdr_str text, bool is_cut,
                                        pdr_err *err);
/* The answer is over: hand over calls, usage and finish reason. Fails as
 * pdr__openai_chunk(), with NO_RANDOMNESS too. */
PDR_MUST_CHECK pdr_rc pdr__openai_end(struct pdr__openai_answer *answer,
                                      pdr_err *err);
/* Fail with what an answer of this HTTP status and body means. */
PDR_MUST_CHECK pdr_rc pdr__openai_fail(int status, pdr_str body,
                                       const struct pdr__secrets *secrets,
                                       pdr_err *err);

/* --- streams (stream.c) ----------------------------------------------------
 */

struct pdr_stream;
/* The head of its session when it was read last: what came since is new. */
void pdr__stream_seen(uint64_t *epoch, uint64_t *commits,
                      const struct pdr_stream *stream);
/* The number of the last event that was given or passed over. */
uint64_t pdr__stream_at(const struct pdr_stream *stream);
/* Leave out pieces of the answer that a later attempt made void, where that is
 * stored when they are read: for readers that cannot take back what they have.
 */
void pdr__stream_skip_void(struct pdr_stream *stream);

#endif
