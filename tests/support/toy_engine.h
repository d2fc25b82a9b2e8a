/*
 * toy_engine.h - engines with a kind of session that does what a test says,
 * in a world whose time the test may move.
 *
 * Sessions whose id begins with "toy-", and those of agents ("@dafx-"), have
 * these operations:
 *
 *     answer   a request with the claim; the run adds a response and ends
 *     hold     the same, once the test opens the gate or the run is to end
 *     end      ends as failed, with code "toy"
 *     fail     the run fails and does not end
 *     steps    each attempt adds a step to the journal and fails, until the
 *              gate is open
 *     done     the claim is all there is
 *     peek     answered at once, not stored
 *     must     as answer; the session must be there
 *     refuse   not admitted
 *
 * A response is {"run":N}: N counts the runs of all processes since
 * toys_begin(). Waits are bounded and wait for a condition, never for a time.
 */
#ifndef PDR_TEST_TOY_ENGINE_H
#define PDR_TEST_TOY_ENGINE_H

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine.h"

#define TOYS_NOW  INT64_C(1700000000000)
#define TOYS_LONG 60000u /* ms: never over unless something is wrong */
#define S         pdr_str_c

/* --- one process -----------------------------------------------------------
 */

struct toy;
typedef pdr_rc (*toy_run_fn)(struct toy *p, pdr_task *task, pdr_err *err);

/* An engine with its world and what its runs have to do with each other. */
struct toy {
    /* Set by the test before toy_begin(). */
    pdr_engine_opts opts;
    int64_t ahead_ms; /* its clock is, of all others */
    bool is_played;   /* its time is toys_move()'s, not the system's */
    toy_run_fn run;   /* in place of the operations above */
    void (*forget)(void *memo); /* what `run` kept */

    pdr_engine *engine;
    struct pdr__world world;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Any thread. */
    atomic_bool is_open;     /* the gate */
    atomic_bool is_shy;      /* can_run says no */
    atomic_int fail_claims;  /* so many fail */
    atomic_bool is_stubborn; /* "hold" waits for the gate alone */
    atomic_int start_after;  /* threads that start before ... */
    atomic_int fail_start;   /* ... so many do not */
    atomic_bool is_frozen;   /* idle workers stay where they are */
    atomic_uint claims, runs, at_work, most_at_work; /* not finished yet */
    atomic_uint heard[4];      /* ends that on_end heard, by pdr_task_end */
    atomic_uint turns;         /* that wait for their turn to commit */
    atomic_llong keeper_until; /* until when the keeper waits */
    atomic_int rc_seen, end_seen;
    char log[4000];        /* events, a line each; guarded by lock */
    char order[1000];      /* ids as they ran; guarded by lock */
    struct waiting *waits; /* guarded by the engine's lock */
};

/* One that has no engine yet; the stage owns it. At most three. */
struct toy *toy_new(void);
/* Make an engine that knows the operations, and start it. */
void toy_begin(struct toy *p, pdr_store *store);
/* The same, without the start. */
void toy_make(struct toy *p, pdr_store *store);
void toy_start(struct toy *p);
/* Open the gate and release the engine. */
void toy_end(struct toy *p);
void toy_stop(struct toy *p, pdr_stop how);

void toy_open(struct toy *p);
pdr_engine_counts toy_counts(struct toy *p);
/* The same once no run is at work: the store may know of an end before the
 * engine has counted it. */
pdr_engine_counts toy_rested(struct toy *p);
/* How often was this told? */
unsigned toy_heard(struct toy *p, const char *event);
void toy_ordered(const char *expected, struct toy *p);

/* For `run`: finish with a response, as the operation "answer" does. */
pdr_rc toy_answer(struct toy *p, pdr_task *task, pdr_err *err);
/* Wait for the gate, or for a reason to end; what pdr_task_ends() says. */
pdr_task_end toy_hold(struct toy *p, pdr_task *task);
/* Wait for the gate, and commit and finish then; `rc_seen` and `end_seen` say
 * what came of it. */
pdr_rc toy_late(struct toy *p, pdr_task *task, pdr_err *err);
/* Add a row of kind "step" to the journal. */
pdr_rc toy_step(pdr_task *task, pdr_err *err);

/* Claim what is due in a session as a worker does, on this thread: `*out` is
 * NULL if there is nothing. Leave it as a worker does that has settled it, or
 * whose process is gone; NULL is fine. */
pdr_rc toy_claims(pdr_task **out, struct toy *p, const char *session,
                  pdr_err *err);
void toy_leaves(struct toy *p, pdr_task *task);

/* The table, for tests that need it; its `self` is the process. */
const pdr_entity_ops *toy_ops(const char *prefix);

/* --- the stage -------------------------------------------------------------
 */

/* A store that the stage owns, and all counts at zero. Ends what a test left
 * that failed. */
pdr_store *toys_begin(const char *uri);
/* The same with a store that was opened; it is the stage's now. */
pdr_store *toys_take(pdr_store *store);
/* End all processes and close the store. */
void toys_end(void);

/* From now on called in front of each commit of the stage's store, on the
 * thread that commits, but for what it commits itself; another code than PDR_OK
 * ends the commit with it. NULL: no more. Set while nobody commits. */
typedef pdr_rc (*toys_commit_fn)(pdr_store *store, const pdr_edit *edit,
                                 void *arg);
void toys_hook(toys_commit_fn fn, void *arg);
/* The store has a clock of its own, so much ahead of played time; INT64_MAX: it
 * fails. First before anybody has the store. */
void toys_skew(int64_t ahead_ms);
/* The time of played processes, and move it for all of them. */
int64_t toys_now(void);
void toys_move(int64_t ms);
/* Real time: how long is it worth to wait for a condition? Waits a little. */
bool toys_waits(int64_t *began_ms);

#define AWAIT(condition)                                   \
    do {                                                   \
        int64_t began_ = 0;                                \
        while (!(condition)) {                             \
            if (!toys_waits(&began_))                      \
                fail_msg("it never came: %s", #condition); \
        }                                                  \
    } while (0)

/* Move the clock in small steps until it holds. */
#define AWAIT_PLAYED(condition)                            \
    do {                                                   \
        int64_t began_ = 0;                                \
        while (!(condition)) {                             \
            toys_move(100);                                \
            if (!toys_waits(&began_))                      \
                fail_msg("it never came: %s", #condition); \
        }                                                  \
    } while (0)

/* --- operations ------------------------------------------------------------
 */

/* "tenant/id", or an id alone. Borrowed from `name`. */
pdr_ref ref_of(const char *name);
pdr_operation op_of(const char *session, const char *name, const char *id);
/* Send; fails the test if it is refused. */
pdr_sent sends(struct toy *p, const char *session, const char *name,
               const char *id);
/* It ends in this state; its answer is in `out`, which may be NULL. */
void ends(pdr_operation_state state, char out[100], struct toy *p,
          const char *session, const char *id);
/* Waiting for it fails with this reason. */
void wait_fails(const char *reason, struct toy *p, const char *session,
                const char *id);
/* Has it ended? For AWAIT. */
bool has_ended(struct toy *p, const char *session, const char *id);

/* A thread that calls an engine; what came of it is there after caller_end().
 */
struct caller {
    struct toy *p;
    const char *session, *id;
    pdr_stop how;
    pdr_rc rc;
    pdr_operation_state state;
    char reason[60];
    pthread_t thread;
};

/* Wait for an operation; the caller is in the engine when this returns. */
void caller_waits(struct caller *caller);
/* Send the operation "answer". */
void caller_sends(struct caller *caller);
void caller_stops(struct caller *caller);
void caller_end(struct caller *caller);

/* What is stored of a session: "state | inbox | journal | entries", with the
 * kinds of rows. "none": there is no such session. */
void session_is(const char *expected, pdr_store *store, const char *session);
bool session_looks(const char *expected, pdr_store *store, const char *session);
/* Somebody else changes it, or makes it. */
void session_touch(pdr_store *store, const char *session);
/* An import puts another session in its place; `known`: one that has the
 * request "c1", too. */
void session_replace(pdr_store *store, const char *session, bool known);
/* Somebody deletes it. */
void session_delete(pdr_store *store, const char *session);
/* The events of its runs are these, with a space between two. */
void session_streams(const char *expected, pdr_store *store,
                     const char *session);
size_t toys_sessions(pdr_store *store);

#endif
