/*
 * engine.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_ENGINE_ENGINE_H
#define PDR_ENGINE_ENGINE_H

#include <pthread.h>

#include <perdure/sys/engine.h>
#include <perdure/sys/store.h>

#include "base.h"

/* --- the world (world.c) ---------------------------------------------------
 * Time and threads, so that a simulation can play both.
 */

struct pdr__world {
    int64_t (*now_ms)(void *ctx); /* since 1970 */
    /* Wait until `cond` is woken or the time is over, with `lock` held; may
     * return early. */
    void (*wait)(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                 int64_t until_ms);
    void (*wake)(void *ctx, pthread_cond_t *cond); /* all that wait on it */
    bool (*start)(void *ctx, pthread_t *out, void *(*fn)(void *), void *arg);
    void (*join)(void *ctx, pthread_t thread);
    void *ctx;
    /* Wake one of those that wait on it, or more. NULL: `wake` does. */
    void (*wake_one)(void *ctx, pthread_cond_t *cond);
};

/* That of the system. Static. */
const struct pdr__world *pdr__world_system(void);

/* --- sessions with work (queue.c) ------------------------------------------
 * Whoever calls these holds the lock of the engine.
 */

#define PDR_KEY_BYTES (PDR_MAX_TENANT_BYTES + 1 + PDR_MAX_ID_BYTES)

/* A session that a worker is to look at. */
struct pdr__item {
    struct pdr__item *next;
    pdr_str key; /* tenant, NUL, id; in the same piece of memory */
    pdr_ref ref; /* borrowed from `key` */
};

struct pdr__tenant {
    struct pdr__tenant *next, *before; /* a ring */
    struct pdr__item *first, *last;    /* owned */
    size_t count;                      /* of these */
    size_t at_work;
    pdr_str name; /* in the same piece of memory */
};

struct pdr__queue {
    struct pdr__map tenants;  /* name to an owned struct pdr__tenant */
    struct pdr__map items;    /* key to its item */
    struct pdr__map agents;   /* tenant, NUL, agent to how many are at work */
    struct pdr__tenant *turn; /* whose turn it is; NULL: there are none */
    size_t most_per_tenant, most_per_agent; /* at work; 0: no limit */
};

void pdr__queue_dispose(struct pdr__queue *queue);
/* "tenant NUL id" in `room`, which has PDR_KEY_BYTES. */
pdr_str pdr__session_key(char *room, const pdr_ref *ref);
/* A session has work; one that is queued stays where it is. False: there is no
 * room for more of this tenant, so the due list has to tell again. Fails with
 * NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__queue_add(bool *taken, struct pdr__queue *queue,
                                     const pdr_ref *ref, pdr_err *err);
bool pdr__queue_has(const struct pdr__queue *queue, pdr_str key);
/* The next session, one tenant after the other; owned by the caller. NULL:
 * there is none that may run now. */
struct pdr__item *pdr__queue_take(struct pdr__queue *queue);
/* May one more of this tenant and agent run? */
bool pdr__queue_admits(const struct pdr__queue *queue, const pdr_ref *ref);
/* One more is at work, or one less. The first fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__queue_begin(struct pdr__queue *queue,
                                       const pdr_ref *ref, pdr_err *err);
void pdr__queue_end(struct pdr__queue *queue, const pdr_ref *ref);

/* --- runs (task.c) ---------------------------------------------------------
 */

/* Events that wait to be stored. */
struct pdr__events {
    pdr_work *rows; /* owned, with the bodies of the first `count` */
    size_t count, cap, bytes;
    int64_t since_ms; /* when the first one came */
    bool is_torn;     /* some of the run are lost */
};

struct pdr_task {
    pdr_engine *engine;
    const struct pdr__kind *kind;
    struct pdr__arena memory; /* of texts and rows */
    pdr_str key;              /* in arena */
    pdr_task_info info;       /* texts in arena */
    pdr_task *next;           /* of those that are claimed and have no worker
                                 yet */
    uint64_t fence;
    bool is_takeover;       /* somebody else began it */
    struct pdr__memo *kept; /* owned, or NULL */
    /* Guarded by the lock of the engine; those who commit for the task take
     * turns (`is_busy`). */
    uint64_t guard;        /* number of its guard row */
    uint64_t journal_last; /* of its last journal row */
    int64_t until_ms;      /* of the lease */
    bool is_busy;          /* a commit is under way */
    bool is_finished;      /* its end is committed */
    bool is_left;          /* and its seat is free, and those who wait know */
    bool has_more;         /* then: more operations wait */
    bool is_lost, is_cancelled, is_handed_back;
    struct pdr__events events;
    pdr_task_end_fn on_end;
    void *on_end_arg;
    pthread_cond_t turn;
};

/* A session that somebody here is at work on: from before it is claimed until
 * the commit that ends its run. */
struct pdr__seat {
    pdr_task *task; /* borrowed; NULL while it is claimed */
    bool has_more;  /* operations came meanwhile: look again */
    bool has_news;  /* somebody else committed meanwhile: who waits for the run
                       looks when it is left */
};

/* What the store says of work. */
#define PDR_WORK_OPERATION "operation" /* inbox, journal */
#define PDR_WORK_GUARD     "guard"     /* inbox: whose lease has lapsed then */
#define PDR_WORK_CANCEL    "cancel"    /* inbox: end the run */
#define PDR_WORK_ATTEMPT   "attempt"   /* journal: somebody took over */

/* All of an inbox: who looks for a row must not miss it behind large ones. */
#define PDR_INBOX_QUERY(session)                                              \
    {                                                                         \
        .what = PDR_READ_INBOX, .ref = (session), .limit = PDR_MAX_PAGE_ROWS, \
        .max_bytes = SIZE_MAX                                                 \
    }

/* What an operation is, as it waits in the inbox and is kept in the journal:
 * {"name":...,"known":true,"trace":...,"input":...}. */
struct pdr__opbody {
    pdr_str name, trace, input;
    bool is_known;
};

/* Fails with BAD_OPERATION: names and traces are plain ASCII. */
PDR_MUST_CHECK pdr_rc pdr__opbody_check(const struct pdr__opbody *body,
                                        pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__opbody_write(pdr_buf *out,
                                        const struct pdr__opbody *body,
                                        pdr_err *err);
/* Borrowed from `text`. Fails with BAD_OPERATION for what pdr__opbody_write()
 * does not write. */
PDR_MUST_CHECK pdr_rc pdr__opbody_read(struct pdr__opbody *out, pdr_str text,
                                       pdr_err *err);
/* The outcome of an operation. */
PDR_MUST_CHECK pdr_rc pdr__outcome_write(pdr_buf *out,
                                         pdr_operation_state state,
                                         pdr_str more, pdr_err *err);
pdr_operation_state pdr__outcome_state(pdr_str outcome);

/* Is it a row of this kind, as PDR_WORK_GUARD? */
bool pdr__work_is(const pdr_work *row, const char *kind);

void pdr__task_free(pdr_task *task);
/* It is to end: let it know. With the lock of the engine held. */
void pdr__task_end(pdr_task *task);
/* Somebody else has the session. With the lock of the engine held. */
void pdr__task_lose(pdr_task *task);
/* It is the caller's turn to commit for the task. Fails with LEASE_LOST,
 * ENGINE_STOPPED. */
PDR_MUST_CHECK pdr_rc pdr__task_enter(pdr_task *task, pdr_err *err);
void pdr__task_leave(pdr_task *task);
/* A commit for the task ended with this code. */
void pdr__task_note(pdr_task *task, pdr_rc rc, const pdr_err *why);
/* `run` has returned: what was not finished is handed back or tried again. */
void pdr__task_settle(pdr_task *task, pdr_rc rc, const pdr_err *why);

/* --- events of runs (stream.c) ---------------------------------------------
 */

/* Those that wait, and then `count` of the caller's, whose texts stay his;
 * disposed in any case. */
PDR_MUST_CHECK pdr_rc pdr__events_take(struct pdr__events *out, pdr_task *task,
                                       const pdr_work *more, size_t count,
                                       pdr_err *err);
void pdr__events_dispose(struct pdr__events *events);
/* A commit with these was refused: the next one has them, before those that
 * came since. They are disposed. */
void pdr__events_return(pdr_task *task, struct pdr__events *events);
/* Some wait: see to it that they are stored. With the lock held. */
void pdr__streamer_start(pdr_engine *engine);
void *pdr__streamer_work(void *arg);

/* --- what is kept (memo.c) -------------------------------------------------
 */

/* What an entity keeps of a session. */
struct pdr__memo {
    struct pdr__memo *newer, *older;
    const struct pdr__kind *kind;
    void *value;          /* owned; the entity's. NULL: it was taken */
    const pdr_head *head; /* of the session; borrowed from `value` */
    size_t bytes;
    pdr_str key;
    char room[]; /* of `key` */
};

struct pdr__memos {
    struct pdr__map by_key; /* to an owned struct pdr__memo */
    struct pdr__memo *newest, *oldest;
    size_t bytes; /* of all */
};

/* NULL: no memory. */
struct pdr__memo *pdr__memo_new(const pdr_task *task, void *value,
                                const pdr_head *head, size_t bytes);
/* What is kept of a session; owned by the caller then. NULL: nothing. With the
 * lock held. */
struct pdr__memo *pdr__memo_take(pdr_engine *engine, pdr_str key);
struct pdr__memo *pdr__memo_take_all(pdr_engine *engine);
/* Keep it; gives those that have to go for it. With the lock held. */
struct pdr__memo *pdr__memo_put(pdr_engine *engine, struct pdr__memo *kept);
/* Forget it, and those after it. Without the lock. */
void pdr__memo_free(struct pdr__memo *kept);

/* --- claiming (claim.c) ----------------------------------------------------
 */

/* Claim what is due in a session: `*out` is a task to run, owned, or NULL if
 * there is nothing to run, now or any more. `kept` is taken; it may be NULL.
 * Fails as the store. */
PDR_MUST_CHECK pdr_rc pdr__claim_due(pdr_task **out, pdr_engine *engine,
                                     const pdr_ref *ref, struct pdr__memo *kept,
                                     pdr_err *err);
/* Store an operation and claim it, in one commit. `admission` names it; `kept`
 * as above, in place of reading the session. */
PDR_MUST_CHECK pdr_rc pdr__claim_sent(pdr_task **out, pdr_engine *engine,
                                      const struct pdr__kind *kind,
                                      const pdr_admission *admission,
                                      const pdr_operation *operation,
                                      pdr_str correlation_id,
                                      struct pdr__memo *kept, pdr_err *err);

/* --- waiting (wait.c) ------------------------------------------------------
 */

#define PDR_WAIT_POLL_MS 50 /* to notice what another process committed */

/* Has it ended? `*out` stays NULL if it has not. Fails as the store. */
PDR_MUST_CHECK pdr_rc pdr__ending_read(pdr_ending **out, pdr_engine *engine,
                                       const pdr_ref *session,
                                       pdr_str correlation_id, pdr_err *err);
/* One of an operation that was answered at once; the answer is taken. */
PDR_MUST_CHECK pdr_rc pdr__ending_new(pdr_ending **out, pdr_buf *answer,
                                      pdr_err *err);

struct pdr__waiter {
    struct pdr__waiter *next; /* of the same session */
    pdr_str correlation_id;   /* borrowed; what it waits for */
    pdr_ending *ending;       /* owned; if who ended it left it here */
    pthread_cond_t woken;
    bool is_woken;
    /* Called when it is woken, with the lock of the engine held: it may only
     * hand on that it was. NULL: a thread waits. */
    void (*fn)(void *arg);
    void *arg;
};

/* Wait without a thread: join the list before the operation is sent, look each
 * time `fn` was called, and leave it. `key` of the three is that of
 * pdr__session_key() and, as the correlation id, borrowed until the last. */
PDR_MUST_CHECK pdr_rc pdr__waiter_join(pdr_engine *engine,
                                       struct pdr__waiter *waiter, pdr_str key,
                                       pdr_err *err);
/* How it ended; NULL: it has not, `fn` will be called. Fails as
 * pdr_engine_wait(). */
PDR_MUST_CHECK pdr_rc pdr__waiter_look(pdr_ending **out, pdr_engine *engine,
                                       struct pdr__waiter *waiter,
                                       const pdr_ref *session, pdr_err *err);
void pdr__waiter_leave(pdr_engine *engine, struct pdr__waiter *waiter,
                       pdr_str key);

/* Leave word of an end, so that those who wait for it need not read it. With
 * the lock held; without memory they read. */
void pdr__waiters_tell(pdr_engine *engine, pdr_str key, pdr_str correlation_id,
                       pdr_operation_state state, pdr_str outcome,
                       pdr_str answer, uint64_t entries);

/* Wake those who wait for something of this session; for what nobody here is at
 * work on; all. With the lock held. */
void pdr__waiters_wake(pdr_engine *engine, pdr_str key);
void pdr__waiters_wake_others(pdr_engine *engine);
void pdr__waiters_wake_all(pdr_engine *engine);

/* --- figures (figures.c) ---------------------------------------------------
 */

/* Of one tenant, as in pdr_engine_counts. */
struct pdr__figures {
    uint64_t at_work, queued; /* of this moment */
    uint64_t completed, failed, cancelled, taken_over;
    uint64_t input_tokens, output_tokens, total_tokens; /* of answers */
};

void pdr__figures_get(struct pdr__figures *out, pdr_engine *engine,
                      pdr_str tenant);
/* An operation ended; a run was begun by somebody else. With the lock held. */
void pdr__figures_ended(pdr_engine *engine, const pdr_ref *session,
                        pdr_operation_state state);
void pdr__figures_taken_over(pdr_engine *engine, const pdr_ref *session);
/* The answer of a run, which was stored, took these. */
void pdr__task_tokens(pdr_task *task, uint64_t input, uint64_t output,
                      uint64_t total);
void pdr__figures_dispose(pdr_engine *engine);

/* How runs ended here, of all tenants. */
struct pdr__endings {
    uint64_t by_state[3]; /* completed, failed, cancelled */
};

/* Count those of the entities with this name, "NAME" of "@NAME@KEY", from now
 * on; absent: of all that nobody asked for. */
PDR_MUST_CHECK pdr_rc pdr__endings_follow(pdr_engine *engine, pdr_str name,
                                          pdr_err *err);
/* Zeros if nobody asked for them. */
void pdr__endings_get(struct pdr__endings *out, pdr_engine *engine,
                      pdr_str name);

/* --- the engine (engine.c) -------------------------------------------------
 */

#define PDR_MAX_KINDS 8

struct pdr__kind {
    const pdr_entity_ops *ops;
    void *self;
};

struct pdr_engine {
    pdr_store *store;
    const struct pdr__world *world;
    pdr_engine_opts opts; /* with the defaults in place of zeros */
    int64_t min_delay_ms; /* of `opts`, in milliseconds */
    char owner[PDR_MAX_OWNER_BYTES + 1];
    pdr_log log;
    struct pdr__kind kinds[PDR_MAX_KINDS];
    size_t kind_count;

    pthread_mutex_t lock;
    /* All guarded by lock. */
    pthread_cond_t work;   /* for workers: there is some */
    pthread_cond_t stream; /* for the streamer: events wait */
    pthread_cond_t tick;   /* for the keeper: look at once */
    pthread_cond_t quiet;  /* for stop: a run has ended */
    struct pdr__queue queue;
    struct pdr__map at_work; /* key to an owned struct pdr__seat */
    struct pdr__map later;   /* key to a boxed time: not to be claimed before */
    struct pdr__memos memos; /* of sessions that have just run */
    pdr_task *ready;         /* claimed when they were sent */
    struct pdr__map waiters; /* key to the first struct pdr__waiter */
    pthread_t *threads;      /* owned */
    size_t thread_count, thread_cap, idle;
    pthread_t keeper;
    pthread_t streamer;
    bool has_keeper, has_streamer;
    bool is_started, is_stopping, is_over;
    bool is_joining; /* one that stops it waits for the threads */
    bool is_dead;    /* a commit ended unknown: `why` */
    pdr_err why;
    int64_t next_ms;    /* the keeper is to look at what is due by then */
    int64_t asleep_ms;  /* until when it sleeps; 0: it is awake */
    int64_t streams_ms; /* until when the streamer sleeps; 0: it is awake */
    int64_t ahead_ms;   /* the clock of this process is ahead of that of the
                           store by this */
    pdr_watch *watch;   /* of all sessions; the keeper's */
    pdr_engine_counts counts;
    struct pdr__map figures; /* tenant to an owned struct pdr__figures */
    struct pdr__map endings; /* name of entities to an owned struct
                                pdr__endings; "": the others */
};

/* An engine in another world. */
PDR_MUST_CHECK pdr_rc pdr__engine_new(pdr_engine **out, pdr_store *store,
                                      const pdr_engine_opts *opts,
                                      const struct pdr__world *world,
                                      pdr_err *err);
/* Who holds a lease, for people: host, process, and a number, since a process
 * may have several and its number comes again; or `owner`, if that is not
 * NULL. */
PDR_MUST_CHECK pdr_rc pdr__owner_name(char out[PDR_MAX_OWNER_BYTES + 1],
                                      const char *owner, pdr_err *err);
/* Fails with BAD_REF for what cannot name a session, so that keys have room. */
PDR_MUST_CHECK pdr_rc pdr__engine_ref(const pdr_ref *ref, pdr_err *err);
/* The time by which leases go. */
PDR_MUST_CHECK pdr_rc pdr__engine_now(int64_t *out, pdr_engine *engine,
                                      pdr_err *err);
/* The same without asking the store: near enough for a pause, or if the store
 * does not say. With the lock held. */
int64_t pdr__engine_time(const pdr_engine *engine);
/* Who knows this kind of session; NULL: nobody. */
const struct pdr__kind *pdr__engine_kind(const pdr_engine *engine, pdr_str id);
/* A call of the store failed: if that ends the engine, it ends. Gives `rc`. */
pdr_rc pdr__engine_failed(pdr_engine *engine, pdr_rc rc, const pdr_err *err);
/* Is there nothing more to see to: it is dead, or stopped and no run is at
 * work? With the lock held. */
bool pdr__engine_is_quiet(const pdr_engine *engine);
/* Fails with what ended the engine. */
PDR_MUST_CHECK pdr_rc pdr__engine_alive(pdr_engine *engine, pdr_err *err);
/* Make sure that somebody takes what is queued or ready. With the lock held. */
void pdr__engine_rouse(pdr_engine *engine);
/* A session is to be looked at: put it into the queue, or let who is at work on
 * it look again. With the lock held. */
void pdr__engine_queue(pdr_engine *engine, const pdr_ref *ref);
/* Begin to work on a session; false: somebody is, it may not run now, or there
 * is no memory. End it: what came meanwhile is queued. With the lock held. */
bool pdr__seat_take(pdr_engine *engine, const pdr_ref *ref, pdr_str key);
void pdr__seat_leave(pdr_engine *engine, const pdr_ref *ref, pdr_str key);
/* Its task, from now on. With the lock held. */
void pdr__seat_set(pdr_engine *engine, pdr_task *task);
/* NULL: nobody is at work on it, or it is being claimed. With the lock held. */
pdr_task *pdr__seat_task(const pdr_engine *engine, pdr_str key);
/* The thread that keeps house (keeper.c). */
void *pdr__keeper_work(void *arg);
/* A worker (worker.c). */
void *pdr__worker_work(void *arg);
/* Give back one of those that were claimed and have no worker, `ready`, which
 * is not NULL. With the lock held, but for the time of the commit. */
void pdr__ready_give_back(pdr_engine *e);

/* --- what goes by itself (house.c) -----------------------------------------
 */

/* Events that a session may keep of runs before, however young they are. */
#define PDR_MAX_STREAM_ROWS 10000u

/* Where the lists go on; empty: at the beginning. */
struct pdr__house {
    pdr_buf expired, all;
};

/* Is its time over, and nobody at work on it? */
bool pdr__session_has_expired(const pdr_head *head, int64_t now_ms,
                              int64_t delay_ms);
/* Does nobody need the events that it has? */
bool pdr__stream_is_old(const pdr_head *head, int64_t now_ms, int64_t keep_ms);
/* Look at some sessions. */
void pdr__house_keep(pdr_engine *engine, struct pdr__house *house,
                     int64_t now_ms);

/* --- events (events.c) -----------------------------------------------------
 */

void pdr__engine_event(pdr_engine *engine, pdr_log_level level,
                       const char *event, const pdr_ref *session,
                       pdr_str correlation_id, const pdr_err *err);

#endif
