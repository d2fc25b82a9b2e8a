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

extern const pdr_ref session; /* ID */

struct process {
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
    int64_t ttl_ms, agent_ttl_ms;
    int64_t now_ms;           /* if not 0: the time, which the test moves */
    const char *name;         /* of the agent; NULL: "Clerk" */
    struct pdr__world *world; /* owned */
};

/* Holds up a model until the test lets it go on. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int waiting; /* that came so far */
};

pdr_store *store_new(void);
void process_begin(struct process *p, pdr_store *store,
                   const char *const *steps);
void process_finish(struct process *p);
/* Let time pass, where it is the test's. */
void process_pass(struct process *p, int64_t ms);
pdr_rc call_as(pdr_ending **out, pdr_sent *sent, struct process *p,
               const char *name, const char *input, pdr_err *err);
void run_says(const char *expected, struct process *p, const char *input);
void history_is(const char *expected, pdr_store *store);
pdr_value *document(struct process *p);
void document_has(const char *expected, struct process *p, const char *pointer);
bool has_session(pdr_store *store);
pdr_session_state state_of(pdr_store *store);
/* When it expires. */
int64_t expiry_of(pdr_store *store);
void gate_init(struct gate *gate);
pdr_rc gate_pass(void *arg);
void gate_await(struct gate *gate, int count);
void gate_open(struct gate *gate);
void import_file(pdr_store *store, const char *path);

#endif
