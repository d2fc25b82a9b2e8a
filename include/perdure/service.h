/*
 * perdure/service.h - a store, an engine and agents, put together once.
 *
 *     pdr_service_new ──► pdr_service_start ──► pdr_service_stop
 *
 * What a server, a command or a program of yours needs to run durable agents:
 * the engine carries out what is sent to it, the agents are found by their
 * names.
 */
#ifndef PERDURE_SERVICE_H
#define PERDURE_SERVICE_H

#include <perdure/durable.h>

PDR_BEGIN_DECLS

typedef struct pdr_service pdr_service;

/* An agent of a service. All shared or copied. */
typedef struct pdr_service_agent {
    pdr_durable_agent durable;
    const char *type;          /* of it, for people: "script", "openai"; NULL:
                                  "agent" */
    const pdr_value *metadata; /* shared; an object, or NULL */
} pdr_service_agent;

typedef struct pdr_service_opts {
    pdr_store *store; /* borrowed; must outlive the service */
    const pdr_service_agent *agents;
    size_t count;
    pdr_str first;          /* agent that is meant where none is named; absent:
                               the only one, if there is one */
    pdr_engine_opts engine; /* with the log of the service */
    int64_t ttl_ms;         /* as in pdr_durable_opts */
    pdr_ref only;
} pdr_service_opts;

/**
 * @param[out] out  owned; release with pdr_service_free(). NULL on failure.
 * @param opts      borrowed for the call.
 * @return as pdr_engine_new(), pdr_durable_new() and pdr_durable_attach();
 *         PDR_ENOTFOUND ("no_agent": there is none called `first`).
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_service_new(pdr_service **out,
                                              const pdr_service_opts *opts,
                                              pdr_err *err);

/** As if it was told to hand back first. NULL is fine. @thread owner
 * @since 0.1 */
PDR_API void pdr_service_free(pdr_service *service);

/** Begin to carry out what is due. @return as pdr_engine_start(). @thread owner
 * @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_service_start(pdr_service *service,
                                                pdr_err *err);

/** @return borrowed, as long as the service lives. @thread const @since 0.1 */
PDR_API pdr_store *pdr_service_store(const pdr_service *service);
PDR_API pdr_engine *pdr_service_engine(const pdr_service *service);

/** Its agents, in the order in which they came. @thread const @since 0.1 */
PDR_API size_t pdr_service_count(const pdr_service *service);
/** @return borrowed; NULL if there is none. @thread const @since 0.1 */
PDR_API const pdr_service_agent *pdr_service_at(const pdr_service *service,
                                                size_t index);
/** By its name, in any case of ASCII letters. @return borrowed; NULL if there
 * is none. @thread const @since 0.1 */
PDR_API const pdr_service_agent *pdr_service_find(const pdr_service *service,
                                                  pdr_str name);
/** The one that is meant where none is named. @return borrowed; NULL: there is
 * none. @thread const @since 0.1 */
PDR_API const pdr_service_agent *pdr_service_first(const pdr_service *service);

PDR_END_DECLS

#endif
