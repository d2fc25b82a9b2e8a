/*
 * durable_actor.h - a process with an engine and one durable agent, whose model
 * and tools write down what they were asked, so that a kill loses nothing.
 *
 * What the user says is what the agent does: "look book/book" lets the model
 * call `look` and `book`, then `book`, then say "Done". One that begins with
 * "-" calls nothing. The n-th call of a run, from 0, has the id "cN", and its
 * result is "did TOKEN".
 *
 *     look   may be repeated
 *     book   may not
 *     wait   may not; lasts until the test lets it go on
 *
 * A line for each event is in the file "events" of the folder:
 *
 *     PART asked TEXT STEP     of the model
 *     PART begin TOKEN         of a tool
 *     PART end TOKEN
 *     PART known ID            the store knows this correlation id
 *     PART answer ID           an answer of the model is in its journal
 *     PART started ID N        call N is in its journal, with its result
 *     PART result ID N
 *     PART done ID             it has ended
 */
#ifndef PDR_TEST_DURABLE_ACTOR_H
#define PDR_TEST_DURABLE_ACTOR_H

#include "point_store.h"
#include "test.h"

#include <perdure/durable.h>
#include <perdure/sys/client.h>

#define ACTOR_AGENT   "clerk"
#define ACTOR_WAIT_MS 60000 /* no wait of a test takes longer */

struct actor;

struct actor_opts {
    const char *folder; /* with "a.db" and "events" */
    const char *part;   /* what its lines begin with */
    unsigned parallel;  /* calls of tools at once */
    unsigned workers;
    uint32_t lease_ms;
    uint32_t poll_ms;
    unsigned max_attempts;
    unsigned tool_us; /* how long a tool takes */
    bool is_client;   /* sends, and runs nothing */
    struct point_plan point;
    bool (*goes_on)(struct actor *actor); /* may what stands still go on?
                                             NULL: at once */
};

struct actor {
    pdr_client model; /* first */
    struct actor_opts opts;
    int events; /* file */
    pdr_store *store;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    void *arg; /* of whoever made it */
};

/* Open all; what fails says so on standard error. No assertions in here: it is
 * for roles. */
bool actor_begin(struct actor *actor, const struct actor_opts *opts);
void actor_end(struct actor *actor);

/* Write one line, at once. */
void actor_note(const struct actor *actor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An operation of a session, with texts in `room`. `text` NULL: "reset". */
struct actor_room {
    char id[80], input[200];
};
pdr_operation actor_operation(struct actor_room *room, const char *key,
                              const char *correlation_id, const char *text);

/* What a text lets the agent do: the name of call `n`, or NULL; calls of all
 * steps, or of those before `step`; steps that have calls. */
const char *actor_call(char room[16], const char *text, size_t n);
size_t actor_calls_before(const char *text, size_t step);
size_t actor_steps(const char *text);
/* May it be called again? */
bool actor_is_repeatable(const char *tool);

#endif
