/*
 * perdure/client.h - clients: the way to a model.
 *
 * A client sends one request to a model and gives its answer in pieces
 * (updates). It keeps nothing of a conversation: a request has all messages.
 * One client serves any number of agents, sessions and threads.
 *
 *     script   answers from a small file, for demos and tests
 *     openai   any server that speaks Chat Completions, over HTTP
 *
 * Programs can add clients of their own: perdure/sys/client.h.
 */
#ifndef PERDURE_CLIENT_H
#define PERDURE_CLIENT_H

#include <perdure/content.h>
#include <perdure/log.h>

PDR_BEGIN_DECLS

typedef struct pdr_client pdr_client;

/** One more holder. NULL gives NULL. @return owned; release with
 * pdr_client_free(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_client *pdr_client_ref(const pdr_client *client);

/** Give it up. NULL is fine. @thread any @since 0.1 */
PDR_API void pdr_client_free(pdr_client *client);

/* --- cancelling ----------------------------------------------------------- */

/* A run that can be ended from any thread. */
typedef struct pdr_cancel pdr_cancel;

/** @param[out] out  owned; release with pdr_cancel_free() when no run uses it.
 * NULL on failure. @return PDR_OK, PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_cancel_new(pdr_cancel **out, pdr_err *err);

/** End every run that has this, at its next step. @thread any @since 0.1 */
PDR_API void pdr_cancel_set(pdr_cancel *cancel);

/** Was it set? NULL never is. @thread any @since 0.1 */
PDR_API bool pdr_cancel_is_set(const pdr_cancel *cancel);

/** Wait until it is set, or the time is over. Is it set?
 * @param cancel  NULL: just wait. @thread any @since 0.1 */
PDR_API bool pdr_cancel_wait(pdr_cancel *cancel, uint32_t timeout_ms);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_cancel_free(pdr_cancel *cancel);

/* --- requests ------------------------------------------------------------- */

/* Who supplied a message of a request. */
typedef enum pdr_origin {
    PDR_ORIGIN_CALLER = 0,  /* input of the run */
    PDR_ORIGIN_HISTORY = 1, /* loaded from the session */
    PDR_ORIGIN_CONTEXT = 2, /* added by a context provider */
    PDR_ORIGIN_MODEL = 3    /* made in this run: answers and tool results */
} pdr_origin;

typedef struct pdr_request_message {
    const pdr_value *value; /* an object in this shape */
    pdr_shape shape;        /* not SK: a run converts those */
    pdr_origin origin;
} pdr_request_message;

/* A tool that the model may call. */
typedef struct pdr_tool_info {
    pdr_str name;
    pdr_str description;         /* or empty */
    const pdr_value *parameters; /* a JSON Schema; NULL: it takes none */
} pdr_tool_info;

/* What is sent. All borrowed for the call. */
typedef struct pdr_client_request {
    const pdr_request_message *messages; /* the oldest first */
    size_t count;
    pdr_str instructions; /* or empty */
    const pdr_tool_info *tools;
    size_t tool_count;
    const pdr_value *options;       /* an object of model options, or NULL */
    const pdr_value *output_schema; /* a JSON Schema of an object that the
                                       answer has to be, or NULL */
    pdr_shape shape;    /* of the contents that the answer is to have */
    pdr_cancel *cancel; /* or NULL */
    const pdr_log *log; /* for pdr_log_emit(); NULL: nobody listens */
} pdr_client_request;

/* --- answers -------------------------------------------------------------- */

/* One piece of an answer. All borrowed for the call; what is empty, NULL or 0
 * says nothing. */
typedef struct pdr_update {
    pdr_str role, author;
    pdr_str message_id, response_id, model;
    pdr_str agent_id;   /* of the agent that runs; clients do not say it */
    int64_t created_at; /* ticks, see datetime.h */
    const pdr_value *const *contents;
    size_t content_count;
    const pdr_value *properties; /* an object */
    pdr_str finish_reason;       /* "stop", "length", "tool_calls", ... */
} pdr_update;

/* Called for each piece, on the thread that sends. Another code than PDR_OK
 * ends the request with it. */
typedef pdr_rc (*pdr_update_fn)(const pdr_update *update, pdr_err *err,
                                void *arg);

/**
 * Send one request and hand over the answer as it comes.
 *
 * @param request  borrowed for the call.
 * @param fn       borrowed with `arg` for the call.
 * @return PDR_OK; PDR_EMODEL ("model_failed", or a reason of the client) when
 *         the model or its server fails; PDR_ECANCELLED ("run_cancelled"); what
 * `fn` returned; PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_client_send(pdr_client *client,
                                              const pdr_client_request *request,
                                              pdr_err *err, pdr_update_fn fn,
                                              void *arg);

/* --- script --------------------------------------------------------------- */

/**
 * A client whose answers are written down: docs/formats/script.md.
 *
 * @param[out] out  owned; release with pdr_client_free(). NULL on failure.
 * @param script    borrowed for the call; a JSON text.
 * @return PDR_OK; PDR_EINVALID ("bad_script" with the path of what is wrong,
 *         or what pdr_json_read() gives); PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_client_script(pdr_client **out,
                                                pdr_str script, pdr_err *err);

/* --- openai --------------------------------------------------------------- */

/* What a server does not take (pdr_openai_opts, `lacks`). */
#define PDR_OPENAI_NO_STREAM_OPTIONS 1u
#define PDR_OPENAI_NO_TOOL_CHOICE    2u /* nor parallel_tool_calls */
#define PDR_OPENAI_NO_IMAGE_URLS     4u /* pictures only inside the request */

/* A server that speaks Chat Completions: OpenAI's, llama.cpp, vLLM, Ollama and
 * others. All borrowed for the call; NULL and 0 mean the default. */
typedef struct pdr_openai_opts {
    const char *base_url; /* "http://localhost:11434/v1": what comes before
                             "/chat/completions"; http or https */
    const char *model;    /* its name at the server */
    const char *api_key;  /* goes to the server only; NULL: none is sent */
    const char *const *headers;  /* more headers, "Name: value", up to a NULL;
                                    values go to the server only */
    uint32_t connect_timeout_ms; /* default 10,000 */
    uint32_t first_byte_timeout_ms; /* default 600,000: a local server may have
                                       to load the model first */
    uint32_t idle_timeout_ms;       /* between two bytes; default 120,000 */
    int max_retries;                /* default 2; below 0: none */
    uint32_t retry_budget_ms; /* after this time a request is not begun again;
                                 default 300,000 */

    /* Where servers differ. The profile of a known server ("openai",
     * "llama.cpp", "vllm", "ollama") sets the rest of the members; NULL: what
     * all of them take. A member that is given wins, `lacks` is added. */
    const char *profile;
    const char *instructions_role; /* "system" or "developer" */
    const char *token_limit_field; /* name to send `max_tokens` and
                                      `max_completion_tokens` under; NULL: as
                                      the options have it */
    const char *reasoning_field;   /* "reasoning" or "reasoning_content": where
                                      what a model thought is sent back; NULL:
                                      it is not */
    unsigned lacks;                /* PDR_OPENAI_NO_* */
} pdr_openai_opts;

/**
 * A client for such a server. Options of a request are members of its body and
 * win over what the client puts there; null takes a member away. A server that
 * refuses `stream_options` is asked without them from then on.
 *
 * Sending fails with PDR_EMODEL and reason "model_request", "model_auth",
 * "model_quota" or "model_context_length" for what another try will not mend;
 * "model_rate_limit", "model_transient", "model_server" or "model_network" for
 * what it may; "model_truncated" for half an answer; "model_protocol" for one
 * that cannot be understood. As long as nothing was handed over, the client has
 * tried again before it says so, and waited as the server wishes.
 *
 * @param[out] out  owned; release with pdr_client_free(). NULL on failure.
 * @param opts      borrowed for the call; base_url and model are not NULL.
 * @return PDR_OK; PDR_EINVALID ("bad_client") for an address, a model, a key, a
 *         header or a profile that cannot be used; PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_client_openai(pdr_client **out,
                                                const pdr_openai_opts *opts,
                                                pdr_err *err);

PDR_END_DECLS

#endif
