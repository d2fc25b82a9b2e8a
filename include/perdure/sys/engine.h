/*
 * perdure/sys/engine.h - for authors of kinds of sessions. May change in a
 * minor release.
 *
 * A kind of session ("entity") says what its operations are and carries them
 * out. The engine keeps the promises: stored first, claimed by one worker, gone
 * on with after a crash, settled in the commit that stores the effect.
 *
 *     send ──► admit ─┬─► stored ──► claim ─┬─► run ──► finish
 *                     │                     └─► done in the claiming commit
 *                     └─► done at once
 */
#ifndef PERDURE_SYS_ENGINE_H
#define PERDURE_SYS_ENGINE_H

#include <perdure/buf.h>
#include <perdure/engine.h>

PDR_BEGIN_DECLS

#define PDR_ENTITY_OPS_VERSION 1

/* What is stored of an operation. Texts are borrowed until `release`. */
typedef struct pdr_admission {
    pdr_str name;           /* of the operation, as it is stored */
    pdr_str input;          /* JSON, as it is stored; absent: none */
    pdr_str correlation_id; /* 1 to 1,024 bytes; absent: the engine makes one */
    pdr_str fingerprint;    /* of what is asked for: at most 64 bytes; two
                               operations with one id must have the same */
    pdr_str agent;          /* of a session that is made; absent: that of its
                               id */
    pdr_str kind;           /* of a session that is made */
    bool needs_session;     /* do not make one */
    bool at_once;           /* it is not stored: `at_once` carries it out */
    void *memory;           /* the entity's; for `release` */
} pdr_admission;

/* One operation that is about to be claimed. All borrowed for the call. */
typedef struct pdr_claim {
    pdr_store *store;
    pdr_ref session;
    const pdr_head *head; /* NULL: there is no such session yet */
    pdr_str name, input, correlation_id;
    int64_t now_ms;
    bool is_known; /* the store had its correlation id before it was sent: from
                      an import, say */
    void *kept; /* what the last run kept, or NULL. If the commit succeeds, the
               session has not changed since; if not, it is forgotten */
    bool is_takeover; /* it was claimed before */
    bool gives_up;    /* its attempts are used up: record that, do not run */
    bool cancelled;   /* it was cancelled before it ran: record that */

    /* Set by the entity. */
    pdr_edit *edit; /* rows and changes of the head for the claiming commit; not
                       work, leases or completions, which are the engine's */
    bool is_done;   /* that is all: there is nothing to run */
    pdr_operation_state state; /* if `is_done`: how it ended */
    pdr_str more;              /* then: members for the outcome, as in
                                  "code":"x"; or absent. Borrowed as the rows
                                  until `release` */
    void *memory;              /* the entity's; for `release` */
} pdr_claim;

/* A run at work. */
typedef struct pdr_task pdr_task;

typedef struct pdr_entity_ops {
    uint32_t version;   /* PDR_ENTITY_OPS_VERSION that it was built for */
    const char *prefix; /* ids of its sessions begin with this; static */

    /* Required. Check an operation, on the thread that sends it. What fails is
     * not stored. */
    pdr_rc (*admit)(pdr_admission *out, const pdr_operation *operation,
                    pdr_err *err, void *self);
    /* Required. Can this process carry out operations of the session? If not,
     * they are left for others. */
    bool (*can_run)(const pdr_ref *session, void *self);
    /* Required. Prepare the claiming commit. A failure leaves the operation
     * where it is, to be tried again. May be called again for the same one. */
    pdr_rc (*claim)(pdr_claim *claim, pdr_err *err, void *self);
    /* Required. Release `memory` of an admission or a claim; not NULL. */
    void (*release)(void *memory, void *self);
    /* Required. Carry it out, on a thread of the engine, and end with
     * pdr_task_finish(). A failure without that is tried again. */
    pdr_rc (*run)(pdr_task *task, pdr_err *err, void *self);
    /* Optional. Carry out an operation that is not stored, on the thread that
     * sends it, and append its answer, JSON, to `answer`. */
    pdr_rc (*at_once)(pdr_buf *answer, pdr_store *store,
                      const pdr_operation *operation, int64_t now_ms,
                      pdr_err *err, void *self);
    /* Required for pdr_task_keep(). Release what was kept. */
    void (*forget)(void *memo, void *self);
    /* --- version 1 ends here --- */
} pdr_entity_ops;

/** Let an engine know a kind of session. Before it is started; at most 8.
 * @param ops   borrowed, must outlive the engine, with `self`.
 * @return PDR_OK; PDR_EVERSION ("table_version"); PDR_EMISUSE
 *         ("missing_slot"); PDR_EEXISTS ("entity_exists"); PDR_ELIMIT
 *         ("too_many_entities"). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_engine_add(pdr_engine *engine,
                                             const pdr_entity_ops *ops,
                                             void *self, pdr_err *err);

/* --- runs ------------------------------------------------------------------
 * For `run`, and the threads that it starts.
 */

/* What a run is about. Borrowed until `run` returns. */
typedef struct pdr_task_info {
    pdr_store *store;
    pdr_ref session;
    pdr_str name, input, correlation_id, trace;
    uint64_t epoch;
    pdr_head head;      /* after the claim; its texts are absent */
    uint64_t first_seq; /* of the entries that the claim appended, if it did */
    int64_t now_ms;     /* when it was claimed */
    unsigned attempt;   /* from 1, of the whole run */
    const pdr_work *journal; /* of the attempts before, in order; kinds of the
                                engine among them: "operation", "attempt" */
    size_t journal_count;
} pdr_task_info;

/** @return borrowed until `run` returns. @thread any @since 0.1 */
PDR_API const pdr_task_info *pdr_task_info_get(const pdr_task *task);

/** The time, by the clock of leases. @thread any @since 0.1 */
PDR_API int64_t pdr_task_now(pdr_task *task);

/**
 * Commit a step, under the lease.
 *
 * @param[out] out  may be NULL.
 * @param edit      the caller's rows and changes, with the revision that it
 *                  read; PDR_ANY_REVISION for work alone. `ref`, `epoch` and
 *                  the lease are set by the engine. What pdr_task_stream()
 *                  was given before goes with it, before its own stream rows.
 * @return as pdr_store_commit(); PDR_EFENCED: somebody else has the session,
 *         end the run; PDR_EMISUSE ("engine_stopped").
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_task_commit(pdr_committed *out,
                                              pdr_task *task,
                                              const pdr_edit *edit,
                                              pdr_err *err);

/**
 * Commit the end: the effect, the settled operation and how it ended, together.
 * The journal goes, the lease is free, and the session is idle unless the edit
 * says another state. Waiters are woken by pdr_task_keep(), or when `run`
 * returns.
 *
 * @param edit   as in pdr_task_commit().
 * @param state  not OPEN.
 * @param more   members for the outcome, as in "code":"x"; or absent.
 * @return as pdr_task_commit(). PDR_ECONFLICT ("revision_changed"): somebody
 *         without the lease changed the session; read its revision and finish
 *         again. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_task_finish(pdr_committed *out,
                                              pdr_task *task,
                                              const pdr_edit *edit,
                                              pdr_operation_state state,
                                              pdr_str more, pdr_err *err);

/** What the last run of the session kept, if it has not changed since but for
 * what the claim appended; else NULL. @return owned: keep it again, or release
 * it. @thread owner @since 0.1 */
PDR_API void *pdr_task_take_kept(pdr_task *task);

/**
 * Keep something in memory for the next run of the session, which begins in
 * this process or not. After pdr_task_finish() succeeded, at most once.
 *
 * @param memo   taken; released by `forget`.
 * @param head   borrowed from `memo`: what pdr_task_finish() gave, with texts.
 * @param bytes  about what it takes.
 * @thread owner  @since 0.1
 */
PDR_API void pdr_task_keep(pdr_task *task, void *memo, const pdr_head *head,
                           size_t bytes);

/**
 * Let readers of the session know something (perdure/stream.h). It is stored
 * within some 20 ms, or with the next commit of the run.
 *
 * @param kind  static; 1 to 128 bytes.
 * @param data  copied; JSON.
 * @return PDR_OK; PDR_ENOMEM; as pdr_task_commit() when much waits to be
 *         stored. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_task_stream(pdr_task *task, const char *kind,
                                              pdr_str data, pdr_err *err);

/* Why a run is to end. */
typedef enum pdr_task_end {
    PDR_TASK_GOES_ON = 0,
    PDR_TASK_CANCELLED = 1,   /* at once; finish it as such */
    PDR_TASK_HANDED_BACK = 2, /* at its next step; just return */
    PDR_TASK_LOST = 3         /* at once: somebody else has it, or the engine
                                 has ended; just return */
} pdr_task_end;

/** @thread any @since 0.1 */
PDR_API pdr_task_end pdr_task_ends(pdr_task *task);

/** Hears that a run is to end. Called on any thread, once or more often; may
 * not call the engine. */
typedef void (*pdr_task_end_fn)(pdr_task_end end, void *arg);

/** Hear when the run is to end; at once, if it is.
 * @param fn  NULL: from now on nobody is called. @thread owner @since 0.1 */
PDR_API void pdr_task_on_end(pdr_task *task, pdr_task_end_fn fn, void *arg);

PDR_END_DECLS

#endif
