/*
 * perdure/durable.h - durable agents: each session an entity of an engine.
 *
 *     pdr_durable_new ──► pdr_durable_attach ──► pdr_engine_start
 *
 *     pdr_engine_call  "run"     what the caller says, and the answer
 *                      "reset"   the history goes, the session stays
 *                      "get"     the state document
 *                      "delete"  the session goes, with all that waits for it
 *
 * A session of an agent is called "@dafx-NAME@KEY". Its state is a document
 * that programs of the .NET and Python editions read (docs/formats/state.md).
 * A run is stored step by step: killed anywhere, it goes on after the last
 * answer of the model or the last result of a tool, and repeats none of them.
 *
 * Input of "run" is JSON, in the shape of either edition:
 *
 *     {"messages":[{"role":"user","contents":[{"$type":"text","text":"Hi"}]}]}
 *     {"message":"Hi"}
 *
 * with "correlationId", "responseFormat", "enableToolCalls", "enableToolNames"
 * and "orchestrationId" where wanted. The answer is a response entry of the
 * document.
 */
#ifndef PERDURE_DURABLE_H
#define PERDURE_DURABLE_H

#include <perdure/agent.h>
#include <perdure/engine.h>

PDR_BEGIN_DECLS

/* An agent that sessions may have. */
typedef struct pdr_durable_agent {
    pdr_agent *agent;    /* shared; its name, in small letters, is in the ids */
    uint32_t timeout_ms; /* of a run; 0: none */
    int64_t ttl_ms;      /* its sessions live so long after their last run; 0:
                            as `ttl_ms` below; PDR_NEVER: for ever */
} pdr_durable_agent;

typedef struct pdr_durable_opts {
    const pdr_durable_agent *agents; /* copied; no two names alike */
    size_t count;
    int64_t ttl_ms; /* of sessions, if their agent does not say; 0: 14 days;
                       PDR_NEVER: they live for ever */
    pdr_ref only;   /* copied; carry out operations of this session alone, or
                       with a tenant alone those of its sessions; without
                       both those of all */
    pdr_log_fn log; /* borrowed with `log_arg`, must outlive it; NULL: nobody
                       listens */
    void *log_arg;
} pdr_durable_opts;

/* The durable agents of a process. */
typedef struct pdr_durable pdr_durable;

/**
 * Make durable agents of agents.
 *
 * @param[out] out  owned; release with pdr_durable_free(). NULL on failure.
 * @param opts      borrowed for the call.
 * @return PDR_OK; PDR_EINVALID ("bad_agent": without a name that an id can
 *         have, or with a history that is not in the session); PDR_EEXISTS
 *         ("agent_exists"); PDR_ENOMEM. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_durable_new(pdr_durable **out,
                                              const pdr_durable_opts *opts,
                                              pdr_err *err);

/** Release them, after the engine. NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_durable_free(pdr_durable *durable);

/** Let an engine run them. Before it is started.
 * @param durable  borrowed; must outlive the engine.
 * @return as pdr_engine_add(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_durable_attach(pdr_engine *engine,
                                                 pdr_durable *durable,
                                                 pdr_err *err);

PDR_END_DECLS

#endif
