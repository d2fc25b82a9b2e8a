/*
 * sim.h - durable agents in a world that a seed makes.
 *
 *      clients ──► processes: engine, durable agent ──► one store in memory
 *                     │ model, tools                      │ every commit
 *                     └── all by one baton ──────────────►└► sim_check.c
 *
 * WHY  What goes wrong with engines goes wrong between two commits of two
 *      processes, once in a million runs, and never again. Here engine, entity
 *      and run loop are the real ones, and so are their threads; but one of
 *      them holds the baton, and hands it over at each call of the store, the
 *      model, a tool or the clock. Who gets it, what fails and when a process
 *      ends comes from a seed. So a seed is a schedule, and a failing seed is a
 *      bug that comes again.
 *
 * A process is an engine with a way to the store of its own. One that crashes
 * is cut off: its commits and reads fail, its tools do nothing, and nobody
 * listens to what it says from then on.
 *
 * A mistake is printed with the command that plays its seed alone, and ends the
 * program: so seeds are played by a role (see TEST_ROLE).
 */
#ifndef PDR_TEST_SIM_H
#define PDR_TEST_SIM_H

#include <inttypes.h>
#include <pthread.h>

#include <perdure/durable.h>
#include <perdure/sys/client.h>
#include <perdure/sys/store.h>

#include "engine.h"
#include "test.h"

/* --- what may happen ------------------------------------------------------
 * One seed meets a few of these; all seeds together must meet each.
 */
#define SIM_EVENTS(X)                                                       \
    X(CRASH, "a process crashes between two calls")                         \
    X(CRASH_BEFORE_COMMIT, "a process crashes before a commit")             \
    X(CRASH_AFTER_COMMIT, "a process crashes after a commit")               \
    X(CRASH_IN_MODEL, "a process crashes while the model is asked")         \
    X(CRASH_IN_TOOL, "a process crashes while a tool is at work")           \
    X(COMMIT_UNKNOWN_LOST, "a commit ends unknown and is not there")        \
    X(COMMIT_UNKNOWN_DONE, "a commit ends unknown and is there")            \
    X(COMMIT_FAILS, "a commit fails")                                       \
    X(COMMIT_BUSY, "a commit finds the writer busy")                        \
    X(READ_FAILS, "a read fails")                                           \
    X(CLOCK_FAILS, "the clock of the store fails")                          \
    X(SKEW, "a process has another time than the store")                    \
    X(STALL, "a process stands still for a while")                          \
    X(STALL_LONG, "a process stands still for longer than a lease")         \
    X(EARLY_WAKE, "a wait ends early")                                      \
    X(NO_THREAD, "the system has no thread for a worker")                   \
    X(MODEL_SLOW, "the model takes longer than a lease")                    \
    X(MODEL_FAILS, "the model fails for now")                               \
    X(MODEL_REFUSES, "the model fails for good")                            \
    X(TOOL_SLOW, "a tool takes longer than a lease")                        \
    X(TOOL_FAILS, "a tool fails")                                           \
    X(STOP_FINISH, "a process stops and finishes")                          \
    X(STOP_HAND_BACK, "a process stops and hands back")                     \
    X(CLAIMED_SENT, "an operation is claimed by the commit that sends it")  \
    X(CLAIMED_DUE, "an operation is claimed from the inbox")                \
    X(CLAIMED_DONE, "an operation ends with its claim")                     \
    X(RENEWED, "a lease is renewed")                                        \
    X(TAKEN_OVER, "a run is taken over")                                    \
    X(TAKEN_BACK, "a run that was handed back goes on")                     \
    X(HANDED_BACK, "a run is handed back")                                  \
    X(RETRIED, "a run is tried again")                                      \
    X(LOST, "a worker finds that its lease is lost")                        \
    X(FENCED, "a commit is fenced off")                                     \
    X(GIVEN_UP, "a run is given up after all attempts")                     \
    X(ANSWER_REPLAYED, "a run goes on after an answer of the model")        \
    X(RESULT_REPLAYED, "a run goes on after the result of a tool")          \
    X(LOOK_REPEATED, "a repeatable tool is called again")                   \
    X(OUTCOME_UNKNOWN, "nobody knows whether a tool did its work")          \
    X(LATE_CALL, "a tool is called by a worker that lost its lease")        \
    X(SENT_AGAIN, "an operation is sent again")                             \
    X(SENT_AFTER_CRASH, "an operation is sent again since nobody answered") \
    X(ID_REUSED, "a correlation id is used for something else")             \
    X(INBOX_FULL, "an inbox is full")                                       \
    X(DELAYED, "an operation is sent for later")                            \
    X(WAIT_TIMED_OUT, "a wait times out")                                   \
    X(ANSWERED_ELSEWHERE, "a caller waits for what another process ends")   \
    X(CANCELLED_WAITING, "an operation is cancelled while it waits")        \
    X(CANCELLED_RUNNING, "a run is cancelled at work")                      \
    X(CANCELLED_CLAIM, "a run whose worker is gone is cancelled")           \
    X(CANCELLED_LATE, "a cancel comes after the end")                       \
    X(RESET, "a session is reset")                                          \
    X(ANSWER_GONE, "an answer is asked for that a reset removed")           \
    X(EMPTY_RUN, "a run without messages is answered")                      \
    X(GOT, "the document of a session is read")                             \
    X(DELETED, "a session is deleted")                                      \
    X(DELETED_AT_WORK, "a session is deleted with a run at work")           \
    X(EXPIRED, "a session expires")

enum sim_event {
#define X(name, words) SIM_##name,
    SIM_EVENTS(X)
#undef X
        SIM_EVENT_COUNT
};

const char *sim_event_words(enum sim_event event);

/* Stores that make a mistake, which must be found. */
enum sim_variant {
    SIM_SOUND,
    SIM_NO_DEDUP, /* does not see that a correlation id is known */
    SIM_NO_FENCE, /* lets in who has lost the lease */
    SIM_NO_GUARD, /* claims leave no guard */
    SIM_VARIANT_COUNT
};

struct sim_result {
    uint64_t counts[SIM_EVENT_COUNT];
    uint64_t steps, commits, operations;
    uint64_t hash; /* of who did what, in order */
};

#define SIM_STATUS 3 /* of a program that ends with a mistake */

/* What is played. */
struct sim_seed {
    uint64_t seed;
    enum sim_variant variant;
    const char *command; /* that plays it alone */
    FILE *told;          /* a mistake is written there; NULL: to standard error,
                            with the command */
};

/* Play a seed; adds to `out`, but for the hash. A mistake ends the program. */
void sim_play(struct sim_result *out, const struct sim_seed *seed);

/* --- the world (sim_baton.c) ----------------------------------------------
 */

struct sim;
struct sim_process;

struct sim_thread {
    struct sim_thread *next;
    struct sim *sim;
    struct sim_process *process; /* whose; NULL: of none, it never stalls */
    pthread_t thread;
    pthread_cond_t turn; /* it has the baton */
    void *(*fn)(void *);
    void *arg;
    unsigned number;
    bool is_ended;
    bool is_waiting;
    const void *on;   /* what it waits for */
    int64_t until_ms; /* and until when */
};

#define SIM_SESSIONS  3
#define SIM_OPS       8
#define SIM_CALLS     8 /* of tools in a run */
#define SIM_STEPS     4 /* answers of the model in a run */
#define SIM_SLOTS     3 /* processes at once */
#define SIM_CLIENTS   3
#define SIM_PROCESSES 64 /* in a play */

/* What the seed says of how things are. */
struct sim_plan {
    unsigned sessions, ops, slots, clients, workers, attempts, inbox;
    int64_t lease_ms, poll_ms;
    int64_t ttl_ms;                 /* of sessions; 0: they do not expire */
    int64_t skew_ms;                /* between clocks, at most */
    unsigned per_tenant, per_agent; /* at work at once; 0: no limit */
    unsigned switches;              /* of 8 calls so many hand the baton over */
    unsigned rate;                  /* one of so many calls fails */
    bool is_calm;                   /* nothing goes wrong */
    int faults;                     /* so many in all */
    bool crashes, stalls, fails, stops, models, deletes;
};

/* What is known of the call of a tool. */
struct sim_call {
    unsigned began; /* by processes that lived */
    unsigned ended;
};

struct sim_op {
    unsigned number;
    struct sim_session *session;
    bool is_reset, is_empty;
    char id[16];
    char steps[24]; /* what the model does: "lb,b" */
    int64_t due_ms; /* 0: at once */
    bool wants_cancel;
    bool is_acked;     /* somebody was told that it is stored */
    bool was_sent;     /* somebody tried */
    bool is_cancelled; /* somebody asked for that */
    bool is_known;     /* the store had a completion of it */
    bool is_answered;  /* somebody was told how it ended */
    pdr_operation_state state;
    char outcome[256]; /* of the completion, once it has one */
    int64_t known_ms, ended_ms;
    struct sim_process *ended_by;
    uint64_t asked[SIM_STEPS + 1]; /* hash of what the model was asked; 0: it
                                      was not */
    struct sim_call calls[SIM_CALLS];
};

struct sim_session {
    char id[32];
    char tenant[8];
    uint64_t epoch;
    uint64_t first_seq, next_seq;
    bool was_deleted;
    bool is_fenced_off;         /* the commit that is about to be made */
    bool is_at_rest;            /* and has expired, then */
    uint64_t journal;           /* rows that it has */
    unsigned requests[SIM_OPS]; /* entries of each operation */
    unsigned responses[SIM_OPS];
    bool is_gone[SIM_OPS]; /* a reset removed them */
};

enum sim_stop { SIM_RUNS, SIM_STOPS_FINISH, SIM_STOPS_HAND_BACK };

struct sim_process {
    struct sim *sim;
    unsigned number;
    char owner[24];
    struct pdr__world world;
    pdr_store *store;
    pdr_client model;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    bool is_cut;         /* it crashed */
    bool is_in_doubt;    /* a commit ended unknown */
    bool was_disturbed;  /* something of it failed */
    enum sim_stop stops; /* it is told to */
    unsigned calls;      /* of clients, under way */
    int64_t skew_ms;     /* its clock is ahead of that of the store by this */
    int64_t stalled_until_ms;
    int64_t stalled_ms; /* in all */
};

struct sim {
    uint64_t seed, random;
    enum sim_variant variant;
    const char *command;
    FILE *told;
    struct sim_plan plan;
    struct sim_result *result;
    bool is_traced;

    pthread_mutex_t lock; /* of the baton */
    struct sim_thread *threads, *holder;
    unsigned thread_count;
    int64_t now_ms, begin_ms, fault_ms; /* of the last fault */
    uint64_t steps, hash;
    bool is_calm; /* no more faults */
    bool is_over; /* processes end */

    pdr_store *raw;
    struct sim_process *processes[SIM_PROCESSES];
    unsigned process_count;
    struct sim_process *slots[SIM_SLOTS];
    struct sim_session sessions[SIM_SESSIONS];
    struct sim_op ops[SIM_OPS];
    uint64_t commits, fence; /* the last one that was given */
};

unsigned sim_random(struct sim *sim, unsigned below);
/* One of so many times. */
bool sim_chance(struct sim *sim, unsigned one_of);
/* Something that the seed lets go wrong, if it is time for that. */
bool sim_fault(struct sim *sim, bool wanted);
void sim_count(struct sim *sim, enum sim_event event);
void sim_trace(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void sim_mistake(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Perhaps the process stands still for a while. */
void sim_stall(struct sim_process *process);
/* Hand the baton over, perhaps. `what` is a word for the trace; static. */
void sim_step(struct sim *sim, const char *what);
/* Wait until somebody wakes `on`, or until then. */
void sim_wait(struct sim *sim, const void *on, int64_t until_ms);
void sim_wake(struct sim *sim, const void *on);
/* Take as long as this, or until the process is cut. */
void sim_sleep(struct sim *sim, int64_t ms);
struct sim_thread *sim_start(struct sim *sim, struct sim_process *process,
                             void *(*fn)(void *), void *arg);
void sim_join(struct sim *sim, struct sim_thread *thread);
/* The world of an engine. */
void sim_world_init(struct pdr__world *world, struct sim_process *process);
/* The thread that calls is the first, and has the baton; the last. */
void sim_baton_begin(struct sim *sim);
void sim_baton_end(struct sim *sim);

/* --- the store (sim_store.c) ----------------------------------------------
 */

pdr_store *sim_store_open(struct sim_process *process);
/* It crashed, right now. */
void sim_cut(struct sim_process *process, enum sim_event why);

/* --- model and tools (sim_agent.c) ----------------------------------------
 */

void sim_agent_begin(struct sim_process *process);
void sim_agent_end(struct sim_process *process);

/* --- what must hold (sim_check.c) -----------------------------------------
 */

struct sim_session *sim_session_find(struct sim *sim, const pdr_ref *ref);
struct sim_op *sim_op_find(struct sim *sim, pdr_str id);
pdr_ref sim_ref(const struct sim_session *session);
/* A commit is about to be made. `process` wants it. */
void sim_check_before(struct sim_process *process, const pdr_edit *edit);
/* It was made. */
void sim_check_after(struct sim_process *process, const pdr_edit *edit,
                     const pdr_committed *done);
/* The model is asked for the answer number `step`. */
void sim_check_asked(struct sim_process *process, struct sim_op *op,
                     size_t step, uint64_t hash);
/* A tool is called. */
void sim_check_called(struct sim_process *process, struct sim_op *op,
                      size_t call, bool is_repeatable, pdr_str token);
/* A caller was told how it ended. */
void sim_check_ending(struct sim *sim, struct sim_op *op,
                      const pdr_ending *ending);
/* All is quiet, and every operation has ended. */
void sim_check_end(struct sim *sim);

#endif
