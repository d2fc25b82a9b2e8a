/*
 * agent.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_AGENT_AGENT_H
#define PDR_AGENT_AGENT_H

#include <perdure/agent.h>
#include <perdure/jsonschema.h>
#include <perdure/sys/client.h>

#include "doc.h"

/* --- folding (fold.c) ------------------------------------------------------
 * Pieces of an answer become messages (docs/formats/responses.md).
 */

struct pdr__folded {
    pdr_buf role, author, id;
    int64_t created_at;    /* ticks; 0: none */
    pdr_value *properties; /* owned; NULL: none */
    pdr_value **contents;  /* owned */
    size_t count, cap;
};

struct pdr__fold {
    pdr_shape shape; /* of contents and messages */
    struct pdr__folded *messages;
    size_t count, cap;
    pdr_value *properties; /* owned; of the response, NULL: none */
    pdr_value *usage;      /* owned; NULL: none */
    pdr_buf finish_reason;
};

void pdr__fold_init(struct pdr__fold *fold, pdr_shape shape);
void pdr__fold_dispose(struct pdr__fold *fold);
/* One more piece. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__fold_add(struct pdr__fold *fold,
                                    const pdr_update *update, pdr_err *err);
/* Message `i` as a value, contents joined where they belong together; owned.
 * `author` is for one that names none. */
PDR_MUST_CHECK pdr_rc pdr__fold_message(pdr_value **out,
                                        const struct pdr__fold *fold, size_t i,
                                        pdr_str author, pdr_err *err);
/* Add the counts of `more` to `*io`; either may be NULL. */
PDR_MUST_CHECK pdr_rc pdr__usage_add(pdr_value **io, const pdr_value *more,
                                     pdr_err *err);

/* --- tools (tool.c) --------------------------------------------------------
 */

struct pdr__tool {
    char *name, *description; /* owned */
    pdr_value *parameters;    /* owned; NULL: any object */
    pdr_schema *schema;       /* owned; of them */
    pdr_tool_fn fn;
    void *arg;
};

PDR_MUST_CHECK pdr_rc pdr__tool_init(struct pdr__tool *out,
                                     const pdr_tool *parts, pdr_err *err);
void pdr__tool_dispose(struct pdr__tool *tool);
/* Run a call of a model, whatever becomes of it: the content with its result.
 * `tool` NULL: there is none of that name. Fails with NO_MEMORY, or as a tool
 * that ends the run. */
PDR_MUST_CHECK pdr_rc pdr__tool_call(pdr_value **out, struct pdr__tool *tool,
                                     const pdr_value *call, pdr_shape shape,
                                     const pdr_run *run, pdr_err *err);

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
    size_t window_messages, window_bytes, window_turns;
    const char *history_key; /* in arena; NULL: the session's */
    pdr_history_filter_fn history_filter;
    void *history_arg;
    unsigned max_calls;
};

/* The tool of a name; NULL if there is none. */
struct pdr__tool *pdr__agent_tool(const pdr_agent *agent, pdr_str name);
/* The provider of its history; NULL: it is in the session. */
const pdr_provider *pdr__history_of(const pdr_provider_set *set);
/* What a model is told of a tool. */
pdr_tool_info pdr__tool_info(const struct pdr__tool *tool);

/* --- runs (run.c) -----------------------------------------------------
 */

/* Does this program have to answer the content? Only a call, and not one that
 * the model's server has answered itself. */
bool pdr__call_is_ours(const pdr_value *content, pdr_shape shape);

struct pdr_response {
    pdr_shape shape;
    pdr_value **messages; /* owned */
    size_t count, cap;
    pdr_value *usage; /* owned; NULL: none */
    pdr_buf finish_reason;
};

/* --- Chat Completions (openai_request.c, openai_answer.c) ------------------
 */

/* Append the body of a request to this model. Fails with NO_MEMORY, or what
 * does not fit into a document. */
PDR_MUST_CHECK pdr_rc pdr__openai_request(pdr_buf *out,
                                          const pdr_client_request *request,
                                          pdr_str model, pdr_err *err);

/* A call that is being put together. */
struct pdr__openai_slot {
    pdr_buf id, name, arguments;
};

/* An answer that is being read. */
struct pdr__openai_answer {
    const pdr_client_request *request;
    pdr_str secret; /* borrowed; never in a message */
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

/* `request`, `secret`, `fn` and `arg` are borrowed until dispose. */
void pdr__openai_answer_init(struct pdr__openai_answer *answer,
                             const pdr_client_request *request, pdr_str secret,
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
PDR_MUST_CHECK pdr_rc pdr__openai_fail(int status, pdr_str body, pdr_str secret,
                                       pdr_err *err);

#endif
