/*
 * perdure/sys/store.h - for authors of stores. May change in a minor release.
 *
 * A backend keeps rows and hands them back. What a commit means is decided in
 * one place for all of them: the library checks an edit, seals its rows with
 * digests on the thread of the caller, and gives it to the backend as a
 * pdr_write. The backend finds the present head and asks the plan:
 *
 *     for each edit of a write
 *         find the head, or none           the backend's own way
 *         pdr_plan_begin()                 refused? then nothing was written
 *         for each plan->completions[k]    look for the row
 *             pdr_plan_known()             refused?
 *         for each edit->drop[k]           look for the row
 *             pdr_plan_drop()              refused?
 *         if plan->cuts                    look for entry entries_through
 *             pdr_plan_cut()               refused?
 *     then, for each edit
 *         write or remove the rows, count what was added and removed
 *         pdr_plan_finish()                refused? then undo all of the write
 *         write plan->next, the head
 *
 * What a step of a stage writes comes as an edit, too, with plan->stage beside
 * it. Its head is that of the unseen session edit->epoch (none for
 * PDR_STAGE_BEGIN); unseen sessions stand apart from the others, by epoch. For
 * PDR_STAGE_SHOW the backend also finds the head of the session that stands
 * under `ref`, if there is one, and calls pdr_plan_show().
 *
 * and it fills pages for reads, which the library checks before the caller sees
 * them. A backend is finished when tests/conformance/store passes.
 */
#ifndef PERDURE_SYS_STORE_H
#define PERDURE_SYS_STORE_H

#include <perdure/store.h>

PDR_BEGIN_DECLS

/* Of the table below. One of an older version is taken, and what came after
 * that version is not looked at. */
#define PDR_STORE_OPS_VERSION 3

typedef uint8_t pdr_digest[PDR_DIGEST_BYTES];

/* The digests of the rows of one edit, in their order. Those of entries cover
 * their own columns; the chain comes on top when their place is known. */
typedef struct pdr_seals {
    const pdr_digest *entries;
    const pdr_digest *slots; /* of one that is removed: zero */
    const pdr_digest *properties;
    pdr_digest frame;
} pdr_seals;

/* The state of a head that stands among the unseen ones, in its digest, too: so
 * no such row is taken for a session. */
#define PDR_SESSION_UNSEEN ((pdr_session_state)4)

/* The steps of a stage, see pdr_stage_begin() and so on. */
typedef enum pdr_stage_verb {
    PDR_STAGE_NONE = 0, /* it is not staged */
    PDR_STAGE_BEGIN = 1,
    PDR_STAGE_ADD = 2,
    PDR_STAGE_SHOW = 3,
    PDR_STAGE_ABANDON = 4
} pdr_stage_verb;

/* What becomes of one edit: made by the library, filled by pdr_plan_*(). */
typedef struct pdr_plan {
    const pdr_edit *edit;   /* borrowed */
    pdr_stage_verb stage;   /* the step of a stage that the edit is */
    int64_t until_ms;       /* then: until when it is kept */
    const pdr_head *origin; /* borrowed; the edit is of a copy of this session
                               of another store. NULL: it is not */
    pdr_ref ref;            /* of the edit, with its tenant */
    const pdr_seals *seals; /* borrowed */
    pdr_head now;           /* as found; meaningless if `creates` */
    pdr_head next;          /* to be written; its texts are borrowed from the
                               edit or from the head that was found */
    bool creates;           /* there is no row for the session yet */
    bool removes;           /* the session goes with all its rows; if `hides`,
                               in place of that: */
    bool hides;             /* its head goes to the unseen ones as `gone`, and
                               its rows later, by sweep. A backend that can
                               sweep may set it behind pdr_plan_finish(), when
                               they take long; some may be gone then */
    bool unseen;         /* `next` stands among the unseen, and stays there */
    bool shows;          /* `next` leaves them, and stands under its ref */
    bool replaces;       /* shows, and `replaced` goes: if `hides` as `gone`
                            to the unseen ones, else with all its rows */
    bool inherits;       /* replaces, and the inbox rows of `replaced` go over
                            to `next`, as they are */
    pdr_head replaced;   /* as found */
    pdr_head gone;       /* to be written among the unseen */
    bool cuts;           /* entry edit->entries_through is there */
    bool changes_head;   /* false: `next` need not be written */
    pdr_digest *entries; /* of the rows of entries to append; the first
                            has the number now.next_seq */
    pdr_digest *journal; /* of the rows to add; from now.journal_next on */
    pdr_digest *stream;
    pdr_digest *inbox;
    const pdr_completion *asked; /* as the edit has them; the numbers count
                                    its entries from 1 */
    pdr_completion *completions; /* to be written, each id once */
    size_t completion_count;
    pdr_committed committed; /* for the caller */
} pdr_plan;

/* One commit on its way to a backend. */
typedef struct pdr_write {
    pdr_store *store;
    pdr_plan *plans; /* one for each edit */
    size_t count;
    int64_t now_ms;
    int64_t deadline_ms; /* of the monotonic clock: to have the lock by then */
    size_t bytes;        /* of all texts, to size a group */
    pdr_rc rc;           /* set by the backend: how it ended */
    pdr_err err;
    struct pdr_write *link; /* the backend's own */
    void *seal;             /* the library's own */
} pdr_write;

/**
 * Check an edit against the head, and plan what it writes.
 *
 * @param plan    one of write->plans.
 * @param head    as found and already checked by pdr_head_check(); NULL: there
 *                is no such session. Borrowed until the write has ended.
 * @param number  the store's counter of epochs and fences: the last number that
 *                it gave. Moved if the edit needs new ones; the backend keeps
 *                it, together with the rows.
 * @return PDR_OK, or the refusal. @thread owner @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_plan_begin(pdr_plan *plan,
                                             const pdr_write *write,
                                             const pdr_head *head,
                                             uint64_t *number, pdr_err *err);

/**
 * Tell the plan which row stands under plan->completions[k].correlation_id.
 *
 * @param known  NULL: none. Its digest must have been checked. Its texts are
 *               borrowed until the write has ended.
 * @return PDR_OK: write plan->completions[k]; PDR_EEXISTS
 *         ("completion_exists").
 * @thread owner @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_plan_known(pdr_plan *plan,
                                             const pdr_write *write, size_t k,
                                             const pdr_completion *known,
                                             pdr_err *err);

/**
 * Finish plan->next when the rows are written.
 *
 * @param slots       slots added minus slots removed.
 * @param properties  the same of properties.
 * @return PDR_OK; PDR_ELIMIT ("too_many_slots", "too_many_properties").
 * @thread owner @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_plan_finish(pdr_plan *plan,
                                              const pdr_write *write,
                                              int64_t slots, int64_t properties,
                                              pdr_err *err);

/** Tell a plan with PDR_STAGE_SHOW which head stands under its ref.
 * @param head  as found and checked; NULL: none. Borrowed as in
 *              pdr_plan_begin().
 * @return PDR_OK, or the refusal. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_plan_show(pdr_plan *plan,
                                            const pdr_write *write,
                                            const pdr_head *head, pdr_err *err);

/** Tell a plan which row stands under edit->drop[k].correlation_id.
 * @param known  NULL: none. Its digest must have been checked.
 * @return PDR_OK: remove the row; PDR_ECONFLICT ("completion_changed");
 *         PDR_EINVALID ("bad_edit") while it has entries.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_plan_drop(pdr_plan *plan, size_t k,
                                            const pdr_completion *known,
                                            pdr_err *err);

/** Tell a plan that cuts the digest of the entry edit->entries_through, whose
 * row and all before it the backend removes. @thread owner @since 0.1 */
PDR_API void pdr_plan_cut(pdr_plan *plan, const pdr_digest digest);

/** The refusal of a plan that settles inbox row `n`, which is not there.
 * @return PDR_ECONFLICT. @thread any @since 0.1 */
PDR_API pdr_rc pdr_plan_not_in_inbox(const pdr_plan *plan, uint64_t n,
                                     pdr_err *err);

/** Does the head, or the completion, have the digest that it must have?
 * @return PDR_OK; PDR_ECORRUPT ("bad_digest"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_head_check(pdr_store *store,
                                             const pdr_head *head,
                                             pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_completion_check(pdr_store *store,
                                                   const pdr_ref *ref,
                                                   const pdr_completion *row,
                                                   pdr_err *err);

/* --- pages ----------------------------------------------------------------
 * A backend fills the page that it is given. Rows are added with a copy of
 * their texts; `more` says whether there is room for another one.
 */

/** Take the head of the session that was asked for; its texts are copied.
 * @return PDR_OK, PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_head(pdr_page *page,
                                            const pdr_head *head, pdr_err *err);

/** Add a row; its texts are copied. A row of work that names no session is one
 * of the page's head; one that does has the epoch of that session, too.
 * @return PDR_OK, PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_add_entry(pdr_page *page,
                                                 const pdr_entry *row,
                                                 pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_add_slot(pdr_page *page,
                                                const pdr_slot *row,
                                                pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_add_property(pdr_page *page,
                                                    const pdr_property *row,
                                                    pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_add_completion(pdr_page *page,
                                                      const pdr_completion *row,
                                                      pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_add_work(pdr_page *page,
                                                const pdr_work *row,
                                                pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_add_session(pdr_page *page,
                                                   const pdr_head *row,
                                                   pdr_err *err);
PDR_API PDR_MUST_CHECK pdr_rc pdr_page_set_frame(pdr_page *page, pdr_str frame,
                                                 const pdr_digest digest,
                                                 pdr_err *err);

/** Tell the digest of the entry whose number is one lower than that of the
 * entry that was added last. Needed for each entry that has no such neighbour
 * on the page, unless it is the first of the session. @thread owner @since 0.1
 */
PDR_API void pdr_page_before(pdr_page *page, const pdr_digest digest);

/** Is there room for one more row? If not, and there is one, the backend says
 * so with pdr_page_more(). @thread owner @since 0.1 */
PDR_API bool pdr_page_has_room(const pdr_page *page);

/** There are rows behind the last one that was added. @thread owner
 * @since 0.1 */
PDR_API void pdr_page_more(pdr_page *page);

/* Where a list goes on: the last row of the page before. */
typedef struct pdr_list_place {
    bool begins;   /* there is none: begin at the beginning */
    uint64_t n;    /* entries, work: its number */
    int64_t ms;    /* sessions: changed_ms; expired: expiry_ms; due: due_ms */
    pdr_ref ref;   /* sessions, expired, due, all: whose */
    pdr_str key;   /* slots, properties, completions: its key */
    uint64_t seen; /* rows of the pages before */
    uint64_t commits; /* head.commits at the first page; 0: it began in the
                         middle */
    uint64_t epoch;   /* head.epoch at the first page; expired, due: of the
                         session of that row, which may be another one now */
} pdr_list_place;

/** Where the query that fills this page goes on.
 * @return borrowed from the page. @thread owner @since 0.1 */
PDR_API const pdr_list_place *pdr_page_place(const pdr_page *page);

/* --- the table ------------------------------------------------------------ */

/* What a store must do: one `static const` table a backend. All are called from
 * any thread, several at once, `close` excepted. The wrappers of store.h have
 * checked the arguments before. */
typedef struct pdr_store_ops {
    uint32_t version; /* PDR_STORE_OPS_VERSION that it was built for */
    const char *name; /* scheme of its URIs; static */

    /* Required. Open `rest`, what stands behind the colon of the URI. The
     * backend allocates its object with a pdr_store as first member, sets
     * `ops` and `capabilities`, and `key` if its digests have one. */
    pdr_rc (*open)(pdr_store **out, const char *rest, pdr_err *err);
    /* Required. Release everything, `self` included. */
    void (*close)(pdr_store *self);
    /* Required. Carry out each write alone, all or nothing, durable on return,
     * and set its `rc` and `err`; in one transaction if the backend likes. */
    void (*commit)(pdr_store *self, pdr_write *const *writes, size_t count);
    /* Required. Fill a page with rows of one moment, with the head first if
     * the query is about one session. A session or row that is not there is
     * left out; the library says so to the caller. */
    pdr_rc (*read)(pdr_store *self, pdr_page *page, const pdr_query *query,
                   pdr_err *err);
    /* Required. All but backend, capabilities and keyed. */
    pdr_rc (*info)(pdr_store *self, pdr_store_info *out, pdr_err *err);
    /* Optional. A number that changes when another process has committed, and
     * may when this one has. If NULL, watches hear of this process alone. */
    pdr_rc (*poll)(pdr_store *self, uint64_t *out, pdr_err *err);
    /* Optional. Check what reads cannot see: indexes against tables, rows that
     * belong to nobody. `report` counts; `fn` hears of findings. */
    pdr_rc (*verify)(pdr_store *self, const pdr_ref *ref,
                     pdr_verify_report *report, pdr_verify_fn fn, void *arg,
                     pdr_err *err);
    /* Optional. One step of clearing: remove some rows, PDR_SWEEP_ROWS at most,
     * of one unseen session whose lease is over at `now_ms`, and its head with
     * the last of them. Adds to `report`; sets its `left` to how many there are
     * whose time is not over. `more`: there is another step to do. */
    pdr_rc (*sweep)(pdr_store *self, int64_t now_ms, pdr_sweep_report *report,
                    bool *more, pdr_err *err);
    /* Optional. One step of giving room back; `more` as above. */
    pdr_rc (*vacuum)(pdr_store *self, pdr_vacuum_report *report, bool *more,
                     pdr_err *err);
    /* Optional. Bring a store to the version that `open` wants. */
    pdr_rc (*migrate)(const char *rest, pdr_migrate_report *out, pdr_err *err);
    /* Optional. Copy the store as it is at one moment into a new file; `fn`,
     * which may be NULL, is called between two steps. */
    pdr_rc (*backup)(pdr_store *self, const char *file, bool replace,
                     pdr_backup_report *report, pdr_backup_fn fn, void *arg,
                     pdr_err *err);
    /* --- version 1 ends here --- */
    /* Optional. The time that leases of this store go by, for a store that
     * several machines share. If NULL, it is that of each caller. */
    pdr_rc (*now)(pdr_store *self, int64_t *out, pdr_err *err);
    /* --- version 2 ends here --- */
    /* Optional. Add up the sessions of a tenant; `out` is zero. */
    pdr_rc (*count)(pdr_store *self, pdr_store_counts *out, pdr_str tenant,
                    pdr_err *err);
    /* --- version 3 ends here; later slots go below this line --- */
} pdr_store_ops;

/* The base object; a backend embeds it as its first member. */
struct pdr_store {
    const pdr_store_ops *ops;
    uint32_t capabilities;
    uint8_t *key; /* of its digests; owned by the backend, NULL: none. A long
                     one is replaced by its digest, in place, once open */
    size_t key_len;
    int64_t process; /* that opened it; set by the library */
    void *watches;   /* the library's; owned by it */
    void *life;      /* the library's; shared with handles on sessions */
};

/**
 * Make a backend known under its name. Before threads start; at most 8.
 *
 * @param ops  borrowed for ever.
 * @return PDR_OK; PDR_EVERSION ("table_version"); PDR_EMISUSE
 *         ("missing_slot"); PDR_EEXISTS ("backend_exists"); PDR_ELIMIT.
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_register(const pdr_store_ops *ops,
                                                 pdr_err *err);

/* --- stages ----------------------------------------------------------------
 * A session that comes from elsewhere, a document or another store, comes in
 * several commits and is seen by nobody until it is whole:
 *
 *     pdr_stage_begin ──► pdr_stage_add ... ──► pdr_stage_show
 *                                           └─► pdr_stage_abandon
 *
 * Each of them is one commit, all or nothing, as pdr_store_commit() is.
 */

/* A session while it is staged; for one thread at a time. Its texts and
 * `origin` are borrowed for each call. */
typedef struct pdr_stage {
    pdr_ref ref;
    /* Of the stage, set by the calls below; 0: there is none, or none any
     * more. */
    uint64_t epoch;
    /* Kept until then, or until a later call says another time; then
     * pdr_store_sweep() clears it. Not INT64_MIN. */
    int64_t until_ms;
    pdr_str agent; /* as in a pdr_edit that makes a session */
    pdr_str kind;
    pdr_str schema_version;

    /* This is a copy of a session of another store, and there it has this head;
     * NULL: it is not. The same head with each call. The copy gets the
     * revision, the state, the times, the expiry, `has_ttl` and the numbers of
     * the origin.
     * Completions are taken as they are, and entries make none. Rows of the
     * inbox keep their order, and get the last numbers in front of
     * `inbox_next`. It is shown only with all the rows that the origin counts;
     * what stands there is replaced only if it is a copy that nobody touched
     * since, and the origin goes on from it. */
    const pdr_head *origin;
} pdr_stage;

/* Rows for it; all texts are borrowed for the call. */
typedef struct pdr_rows {
    pdr_str frame; /* JSON; absent: as it is */
    const pdr_entry *entries;
    size_t entry_count;
    const pdr_slot *slots;
    size_t slot_count;
    const pdr_property *properties;
    size_t property_count;
    const pdr_completion *completions; /* one that is kept of an older session
                                          has its `at_ms` */
    size_t completion_count;
    const pdr_work *journal; /* these three only of a copy */
    size_t journal_count;
    const pdr_work *stream;
    size_t stream_count;
    const pdr_work *inbox;
    size_t inbox_count;
} pdr_rows;

/* In whose place it is shown, and how. */
typedef struct pdr_show_opts {
    uint64_t revision; /* of the session that stands there and goes; 0: there is
                          none; PDR_ANY_REVISION: whichever */
    uint64_t commits;  /* of that session; 0: any number */
    uint64_t fence;    /* of its lease; 0: bound by the revision alone */
    bool set_state;    /* a copy has its state and expiry from its origin */
    pdr_session_state state;
    pdr_expiry_verb expiry;
    int64_t expiry_ms;
} pdr_show_opts;

/**
 * Make an unseen session. A session may stand under its ref.
 *
 * @param[out] out  may be NULL. Untouched unless PDR_OK.
 * @param stage     gets its epoch; 0 before.
 * @param rows      borrowed for the call; NULL: none.
 * @return as pdr_store_commit(). @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stage_begin(
    pdr_committed *out, pdr_store *store, pdr_stage *stage,
    const pdr_rows *rows, const pdr_commit_options *options, pdr_err *err);

/** Add rows to it. Parameters as in pdr_stage_begin().
 * @return as pdr_store_commit(); PDR_ENOTFOUND ("no_stage") if it was shown,
 *         abandoned or cleared. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stage_add(pdr_committed *out,
                                            pdr_store *store, pdr_stage *stage,
                                            const pdr_rows *rows,
                                            const pdr_commit_options *options,
                                            pdr_err *err);

/**
 * Add the last rows, and put the session in the place of its ref. It goes on
 * with the revision, the numbers of journal and stream and the inbox of the one
 * that stood there, and, if `show` keeps the expiry, with that and `has_ttl`;
 * all else of that goes, its lease and its completions, too. What was not begun
 * is made by this one commit, if nobody stands there.
 *
 * @param stage  has epoch 0 when this returns PDR_OK.
 * @param show   borrowed for the call; NULL: nobody stands there.
 * @return as pdr_stage_add(); PDR_ECONFLICT ("ahead_of_origin").
 * @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stage_show(pdr_committed *out,
                                             pdr_store *store, pdr_stage *stage,
                                             const pdr_rows *rows,
                                             const pdr_show_opts *show,
                                             const pdr_commit_options *options,
                                             pdr_err *err);

/** Nobody will show it: its rows go, before this returns or by the next
 * pdr_store_sweep() at any time. One that was not begun is left alone.
 * @param stage  only its ref and epoch count; epoch 0 when this returns PDR_OK.
 * @return as pdr_stage_add(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_stage_abandon(pdr_store *store, pdr_stage *stage,
                  const pdr_commit_options *options, pdr_err *err);

/* --- groups ----------------------------------------------------------------
 */

/* One commit of several: edits, or one step of a stage. */
typedef struct pdr_request {
    const pdr_edit *edits;
    size_t count;
    pdr_stage_verb verb;    /* not PDR_STAGE_NONE: of `stage`, and no edits */
    const pdr_stage *stage; /* as in the call for the verb; not written to */
    const pdr_rows *rows;
    const pdr_show_opts *show;
    pdr_commit_options options;
    pdr_committed *committed; /* room for `count` or one stage, or NULL */
    pdr_rc rc;
    pdr_err err;
} pdr_request;

/**
 * Several commits, each on its own, handed over together: a store that groups
 * makes them durable in one go. What pdr_store_commit() and pdr_stage_*() are
 * for one.
 *
 * @param requests  one for each commit; `rc` and `err` tell how it ended.
 * @thread any  @since 0.1
 */
PDR_API void pdr_store_commit_all(pdr_store *store, pdr_request *requests,
                                  size_t count);

PDR_END_DECLS

#endif
