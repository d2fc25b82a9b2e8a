/*
 * engine_host.h - a process with an engine and one durable agent, in a file of
 * SQLite: what the benchmarks of engines measure.
 */
#ifndef PDR_BENCH_ENGINE_HOST_H
#define PDR_BENCH_ENGINE_HOST_H

#include <perdure/durable.h>

#include "agent_talk.h"
#include "store_fill.h"

#define HOST_ID_ROOM 32u
#define HOST_WAIT_MS 120000u
#define HOST_WINDOW  10u /* messages that the other models get */

/* What the model of an agent does. */
enum host_model {
    HOST_ANSWERS,     /* at once: one step */
    HOST_ANSWERS_ALL, /* the same, and it gets the whole history */
    HOST_TOOLS,  /* three steps, and two calls of tools after each of the first
                    two; the tools are instant, too */
    HOST_SLEEPS, /* answers after HOST_SLEEP_MS */
    HOST_SPEAKS  /* answers in five pieces, with as long before each */
};

#define HOST_SLEEP_MS 20u

struct host {
    pdr_store *store;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    bool is_ours; /* the store was opened here */
};

/* Make the agent and let an engine run it. `store` is borrowed; NULL opens the
 * one of `fill`. `workers`: 0 for the default. */
void host_start(struct host *host, const struct fill *fill, pdr_store *store,
                enum host_model model, unsigned workers);

/* The engine of host_start() that is not started yet. */
void host_make(struct host *host, const struct fill *fill, pdr_store *store,
               enum host_model model, unsigned workers);

void host_stop(struct host *host);

/* The id of session n. */
const char *host_id(char out[HOST_ID_ROOM], size_t n);

/* The question, to session n; correlation id may be NULL. */
pdr_operation host_question(const char *id, const char *correlation_id);

/* A crew_fn: send the question to the session of this number, and wait for the
 * answer. `arg` is the host. */
void host_turn(size_t session, void *arg);

#endif
