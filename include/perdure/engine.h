/*
 * perdure/engine.h - operations on sessions, each carried out once.
 *
 *     pdr_engine_new ──► pdr_engine_add     a kind of session (sys/engine.h)
 *                    ──► pdr_engine_start   work off what is due
 *                    ──► pdr_engine_send    an operation: stored, then run
 *                    ──► pdr_engine_wait    for how it ended
 *                    ──► pdr_engine_stop    finish, or hand back
 *
 * An operation is stored before pdr_engine_send() returns. One worker, in this
 * or another process with the same store, carries it out, and what it did is
 * stored by the commit that settles it. A process that dies leaves its
 * operations to the others, or to its successor: they go on when the lease has
 * lapsed.
 *
 * An operation is known by its correlation id. Sent again with the same id it
 * is not run again: whoever sends it gets what came of it. An id that was used
 * for something else is refused.
 *
 * Operations of one session are carried out one after the other, in the order
 * in which they came due; those of several sessions at the same time.
 *
 * Times are milliseconds since 1970 (UTC).
 */
#ifndef PERDURE_ENGINE_H
#define PERDURE_ENGINE_H

#include <perdure/log.h>
#include <perdure/store.h>

PDR_BEGIN_DECLS

typedef struct pdr_engine pdr_engine;

/* Sessions may go as soon as they have expired. */
#define PDR_NO_DELAY UINT32_MAX

/* How an engine works. Zero means the default. */
typedef struct pdr_engine_opts {
    unsigned workers;         /* runs at once, a thread each; 64 */
    unsigned most_per_tenant; /* of these, of one tenant; no limit */
    unsigned most_per_agent;  /* of these, of one agent of a tenant; no limit */
    unsigned inbox_most;      /* operations that may wait for a session; 32 */
    unsigned max_attempts;    /* to take a run one step further; 3 */
    uint32_t lease_ms;        /* after which a dead worker's runs are taken
                                 over; 30,000. 100 at least */
    uint32_t poll_ms;         /* how often it looks for the work of other
                                 processes; 200 */
    uint32_t min_delay_ms;    /* that a session lives after its last run, also
                                 if it has expired: at most 300,000, which is
                                 the default, or PDR_NO_DELAY */
    uint32_t stream_keep_ms;  /* that events of a run are kept (stream.h);
                                 600,000. 1 is as good as none */
    size_t keep_bytes;        /* of memory, for sessions that have just run: so
                             that their next run need not read them;
                             64 MiB. 1 is as good as none */
    const char *owner;        /* copied; what the holder of a lease is called,
                                 1 to 128 bytes; host name and process */
    pdr_log_fn log;           /* borrowed with `log_arg`, must outlive it; NULL:
                                 nobody listens */
    void *log_arg;
} pdr_engine_opts;

/**
 * Make an engine. It does nothing before it is started, but can send.
 *
 * @param[out] out  owned; release with pdr_engine_free(). NULL on failure.
 * @param store     borrowed; must outlive the engine.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_EINVALID ("bad_engine": an option out of its range);
 *         PDR_EIO ("no_randomness"); PDR_ENOMEM. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_new(pdr_engine **out, pdr_store *store,
                                             const pdr_engine_opts *opts,
                                             pdr_err *err);

/** Begin to carry out what is due: what other processes left, too.
 * @return PDR_OK; PDR_EIO ("no_thread"); PDR_EMISUSE if it was stopped.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_start(pdr_engine *engine,
                                               pdr_err *err);

/* What becomes of runs at work when an engine stops. */
typedef enum pdr_stop {
    PDR_STOP_FINISH = 0,   /* they end as if nothing had happened */
    PDR_STOP_HAND_BACK = 1 /* they end at their next step, and another process,
                              or the next engine, goes on there at once */
} pdr_stop;

/**
 * Take no more work, and wait until all runs have ended. Those that have not
 * after `timeout_ms` are handed back.
 *
 * @return PDR_OK; the error that ended the engine before, if one did.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_stop(pdr_engine *engine, pdr_stop how,
                                              uint32_t timeout_ms,
                                              pdr_err *err);

/** Release an engine, as if it was told to hand back first. No call may be
 * under way. NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_engine_free(pdr_engine *engine);

/* --- operations ----------------------------------------------------------- */

/* Something to do with a session. All borrowed for the call. */
typedef struct pdr_operation {
    pdr_ref session;
    pdr_str name;           /* as in "run"; the kind of session says which */
    pdr_str input;          /* JSON; absent: none */
    pdr_str correlation_id; /* absent: that of the input, or a new one */
    int64_t due_ms;         /* not before; 0: now */
    pdr_str trace;          /* trace id of the caller, kept with the run: up to
                               128 bytes, or absent */
} pdr_operation;

typedef enum pdr_operation_state {
    PDR_OPERATION_OPEN = 0,      /* it has not ended */
    PDR_OPERATION_COMPLETED = 1, /* done */
    PDR_OPERATION_FAILED = 2,    /* it ended with an error, which is stored */
    PDR_OPERATION_CANCELLED = 3  /* by pdr_engine_cancel() */
} pdr_operation_state;

/* What became of sending one. */
typedef struct pdr_sent {
    char correlation_id[1025];
    bool is_repeated; /* the store knew it: nothing was added */
    pdr_operation_state state;
} pdr_sent;

/**
 * Store an operation, to be carried out.
 *
 * @param[out] out   may be NULL.
 * @param operation  borrowed for the call.
 * @return PDR_OK; PDR_ECONFLICT ("correlation_reused": this id was used for
 *         something else); PDR_ELIMIT ("inbox_full"); PDR_EINVALID
 *         ("no_entity": nobody knows this kind of session; "bad_ref", and what
 *         the kind of session says of the operation: nothing is stored then);
 *         PDR_EMISUSE ("engine_stopped"); the error that ended the engine; as
 *         pdr_store_commit(). @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_send(pdr_sent *out, pdr_engine *engine,
                                              const pdr_operation *operation,
                                              pdr_err *err);

/* How an operation ended. Owned by the caller; release with
 * pdr_ending_free(). */
typedef struct pdr_ending {
    pdr_operation_state state;
    pdr_str outcome; /* JSON: {"state": ...} with what the kind of session adds,
                        as "code" and "message" of a failure; absent for what an
                        import brought */
    pdr_str answer;  /* JSON: body of its last entry, a response, or what an
                        operation gave that is not stored; absent: it has none,
                        or none any more */
    bool is_gone;    /* it had an answer, which reset or retention removed */
    uint64_t entries; /* that the session had with its last one; 0: it has
                         none, or none any more */
} pdr_ending;

/**
 * Wait until an operation has ended, here or in another process.
 *
 * @param[out] out    owned; NULL on failure.
 * @param timeout_ms  0: do not wait.
 * @return PDR_OK; PDR_ETIMEOUT ("response_timeout"): it goes on; PDR_ENOTFOUND
 *         ("no_session", "no_completion"): nobody sent it, or the session was
 *         deleted; PDR_EMISUSE ("engine_stopped") while waiting for one that
 *         has not ended; the error that ended the engine; as pdr_store_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_engine_wait(pdr_ending **out, pdr_engine *engine, const pdr_ref *session,
                pdr_str correlation_id, uint32_t timeout_ms, pdr_err *err);

/** Send an operation and wait for its end: pdr_engine_send(), then
 * pdr_engine_wait(). What is answered at once has its answer without a wait.
 * @param[out] sent  may be NULL; filled unless sending failed.
 * @return as these two. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_call(pdr_ending **out, pdr_sent *sent,
                                              pdr_engine *engine,
                                              const pdr_operation *operation,
                                              uint32_t timeout_ms,
                                              pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_ending_free(pdr_ending *ending);

/**
 * End an operation: one that waits is taken out of the inbox, a run at work,
 * here or in another process, ends at its next step. One that has ended stays
 * as it is.
 *
 * @return PDR_OK: it will have ended soon, wait for it; PDR_ENOTFOUND
 *         ("no_session", "no_completion"); as pdr_store_commit().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_cancel(pdr_engine *engine,
                                                const pdr_ref *session,
                                                pdr_str correlation_id,
                                                pdr_err *err);

/* --- seen from outside ---------------------------------------------------- */

/* Since the engine was made; the first three are of this moment. */
typedef struct pdr_engine_counts {
    uint64_t at_work;    /* runs */
    uint64_t queued;     /* sessions with work that a worker will take */
    uint64_t waiting;    /* callers in pdr_engine_wait() */
    uint64_t sent;       /* operations that were stored */
    uint64_t repeated;   /* that the store knew */
    uint64_t refused;    /* that were not stored */
    uint64_t claimed;    /* runs that were begun here */
    uint64_t taken_over; /* of these, begun by somebody else */
    uint64_t completed;  /* operations that ended here */
    uint64_t failed;     /* with an error that was stored */
    uint64_t cancelled;
    uint64_t handed_back; /* runs that go on elsewhere */
    uint64_t lost;        /* runs whose lease somebody else took */
    uint64_t retried;     /* runs that will be tried again */
    uint64_t expired;     /* sessions that were deleted */
} pdr_engine_counts;

/** @thread any @since 0.1 */
PDR_API void pdr_engine_counts_get(pdr_engine_counts *out, pdr_engine *engine);

/** What ended the engine. @return PDR_OK if nothing did. @thread any
 * @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_check(pdr_engine *engine,
                                               pdr_err *err);

PDR_END_DECLS

#endif
