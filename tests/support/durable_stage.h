/*
 * durable_stage.h - a process with one durable agent, for tests: an engine on a
 * store that outlives it, a model that says what is written down
 * (agent_stage.h) and two tools.
 */
#ifndef TESTS_DURABLE_STAGE_H
#define TESTS_DURABLE_STAGE_H

#include <pthread.h>

#include <perdure/durable.h>

#include "agent_stage.h"
#include "test.h"

#define ID "@dafx-clerk@k1"
#define S  pdr_str_c

extern const pdr_ref durable_session; /* ID */

struct durable_process {
    struct stage_model model;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    pdr_store *store;
    int looked, booked; /* calls of the tools */
    char token[256];    /* of the last call */
    const char *instructions;
    bool lacks_book;     /* the agent has one tool only */
    bool needs_approval; /* the tool "book" does */
    uint32_t lease_ms, stream_keep_ms, min_delay_ms;
    size_t keep_bytes, window; /* of the engine, of the agent */
    int64_t ttl_ms, agent_ttl_ms;
    int64_t now_ms;           /* if not 0: the time, which the test moves */
    pdr_agent_layer layer;    /* around the agent, if it has a `run` */
    const char *name;         /* of the agent; NULL: "Clerk" */
    pdr_ref only;             /* that it is for; none: for all */
    struct pdr__world *world; /* owned */
};

/* Holds up a model until the test lets it go on. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int waiting; /* that came so far */
};

pdr_store *durable_store(void);
void durable_begin(struct durable_process *p, pdr_store *store,
                   const char *const *steps);
void durable_end(struct durable_process *p);
/* Let time pass, where it is the test's. */
void durable_pass(struct durable_process *p, int64_t ms);
pdr_rc durable_call(pdr_ending **out, pdr_sent *sent, struct durable_process *p,
                    const char *name, const char *input, pdr_err *err);
void durable_says(const char *expected, struct durable_process *p,
                  const char *input);
void durable_history(const char *expected, pdr_store *store);
pdr_value *durable_document(struct durable_process *p);
void durable_document_has(const char *expected, struct durable_process *p,
                          const char *pointer);
bool durable_is_there(pdr_store *store);
pdr_session_state durable_state(pdr_store *store);
/* When it expires. */
int64_t durable_expiry(pdr_store *store);
void gate_init(struct gate *gate);
pdr_rc gate_pass(void *arg);
void gate_await(struct gate *gate, int count);
void gate_open(struct gate *gate);
void durable_import(pdr_store *store, const char *path);

#endif
