/*
 * perdure/store.h - where sessions live: open by URI, commit, read, watch.
 *
 *     pdr_store_open ──► pdr_store_commit   the only write
 *                    ──► pdr_store_read     one page of rows at a time
 *                    ──► pdr_watch_wait     woken by commits
 *                    ──► pdr_watcher_wait   the same for many sessions at once
 *                    ──► pdr_store_verify   every digest, count and index
 *                    ──► pdr_store_sweep    clear what no reader sees
 *                    ──► pdr_store_vacuum   give free room back
 *                    ──► pdr_store_backup   copy it while others write
 *
 * A session in a store is a head, a frame, entries, bag slots, properties,
 * completions, and what is in progress: journal, stream, inbox. A commit
 * changes any of them, for one session or for several, all or nothing, and is
 * durable when it returns. It names the revision that the writer read; who is
 * late gets a conflict, and who lost the lease is fenced off.
 *
 * The store never looks into a body: entries, slots, frames and the rest are
 * JSON texts whose brackets and quotes it counts, and no more.
 *
 * Times are milliseconds since 1970 (UTC), and always the caller's; where
 * several machines share a store, pdr_store_now() tells which to give. No
 * function here reads the clock of the system to decide anything; it only
 * measures how long a commit waits.
 */
#ifndef PERDURE_STORE_H
#define PERDURE_STORE_H

#include <perdure/errors.h>
#include <perdure/types.h>

PDR_BEGIN_DECLS

typedef struct pdr_store pdr_store;

#define PDR_DEFAULT_TENANT "default"
#define PDR_DIGEST_BYTES   32 /* SHA-256, or HMAC with SHA-256 */

#define PDR_NEVER   INT64_MAX /* a time that does not come */
#define PDR_NO_TIME INT64_MIN /* of an entry: nobody knows its time */

/* What a store can do, as bits. */
typedef enum pdr_capability {
    PDR_CAN_PERSIST = 1,   /* what is acknowledged outlives the process */
    PDR_CAN_SHARE = 2,     /* several processes may have it open */
    PDR_CAN_KEY = 4,       /* its digests can have a key */
    PDR_CAN_READ_ONLY = 8, /* can be opened for reading only */
    PDR_CAN_GROUP = 16     /* commits that wait are made durable together */
} pdr_capability;

/* Which session. */
typedef struct pdr_ref {
    pdr_str tenant; /* 1 to 128 bytes; without a pointer: "default" */
    pdr_str id;     /* 1 to 1,024 bytes */
} pdr_ref;

/* --- rows ------------------------------------------------------------------
 * What commits write and reads give. In a commit all texts are borrowed for the
 * call; in a page they live as long as the page. A text without a pointer is
 * absent, which is not the same as an empty one.
 */

typedef enum pdr_session_state {
    PDR_SESSION_IDLE = 0,
    PDR_SESSION_RUNNING = 1,
    PDR_SESSION_WAITING = 2,
    PDR_SESSION_EXPIRED = 3
} pdr_session_state;
#define PDR_SESSION_STATES 4 /* how many there are */

typedef enum pdr_row_kind {
    PDR_ROW_REQUEST = 0,
    PDR_ROW_RESPONSE = 1,
    PDR_ROW_MESSAGE = 2, /* one message of an imported history */
    PDR_ROW_RECORD = 3,  /* begin or end of a turn of a chat */
    PDR_ROW_OTHER = 4    /* of a kind that this library does not know */
} pdr_row_kind;

typedef enum pdr_row_shape {
    PDR_ROW_STATE = 0, /* as in a durable state document */
    PDR_ROW_DOTNET = 1,
    PDR_ROW_PYTHON = 2,
    PDR_ROW_SK = 3 /* of Semantic Kernel, as in a saved chat */
} pdr_row_shape;

/* One step of the conversation. */
typedef struct pdr_entry {
    uint64_t seq; /* its place; given by the commit, ignored in one */
    pdr_row_kind kind;
    pdr_row_shape shape;    /* of the body */
    int64_t created_ms;     /* in a commit, 0: the time of the commit. An
                               imported entry that does not say when it was
                               made has PDR_NO_TIME */
    pdr_str correlation_id; /* 1 to 1,024 bytes, or absent */
    pdr_str separator;      /* text in front of it: white space and at most
                               one comma; absent: the usual one */
    pdr_str body;           /* JSON */
    uint8_t digest[PDR_DIGEST_BYTES]; /* ignored in a commit */
} pdr_entry;

/* One value of the bag. */
typedef struct pdr_slot {
    pdr_str key;   /* as JSON escapes it, without quotes */
    pdr_str value; /* JSON; in a commit, absent: remove the slot */
    uint8_t digest[PDR_DIGEST_BYTES];
} pdr_slot;

/* One additional property of the session's wrapper. */
typedef struct pdr_property {
    pdr_str key;   /* 1 to 1,024 bytes */
    pdr_str value; /* JSON; in a commit, absent: remove the property */
    pdr_str match; /* what lists compare, at most 1,024 bytes; absent: no
                      list finds it by this property */
    uint8_t digest[PDR_DIGEST_BYTES];
} pdr_property;

/* How a correlation id ended, and where its entries stand. A commit that
 * appends an entry with a correlation id makes or extends this row by itself.
 */
typedef struct pdr_completion {
    pdr_str correlation_id;
    pdr_str fingerprint; /* of the request: at most 64 bytes of any kind, or
                            absent */
    pdr_str outcome;     /* JSON; absent: it has not ended */
    int64_t at_ms;       /* of the commit that wrote it last; ignored in one,
                            but for `drop` and stages (sys/store.h) */
    uint64_t epoch;      /* of the entries; 0: it has none */
    uint64_t first_seq;  /* of its first and last entry; 0: it has none */
    uint64_t last_seq;
    uint8_t digest[PDR_DIGEST_BYTES];
} pdr_completion;

/* What is in progress: three lists with numbers of their own. */
typedef enum pdr_part {
    PDR_PART_JOURNAL = 0, /* steps of the run */
    PDR_PART_STREAM = 1,  /* deltas of the run; the number is the event id */
    PDR_PART_INBOX = 2    /* operations that wait */
} pdr_part;

typedef struct pdr_work {
    pdr_ref session;        /* reading what is due: whose row it is */
    uint64_t epoch;         /* of that session; ignored in a commit */
    uint64_t n;             /* from 1, never used again; given by the commit */
    int64_t due_ms;         /* inbox: not before; elsewhere PDR_NEVER, and
                               ignored in a commit */
    pdr_str kind;           /* 1 to 128 bytes, the caller's word for it */
    pdr_str correlation_id; /* or absent */
    pdr_str body;           /* JSON */
    uint8_t digest[PDR_DIGEST_BYTES];
} pdr_work;

/* Who may write. The fence only grows, over the whole store. */
typedef struct pdr_lease {
    pdr_str owner;    /* for people to read; absent: nobody holds it */
    uint64_t fence;   /* of the holder, or of the last one; 0: never held */
    int64_t until_ms; /* then somebody else may take it */
} pdr_lease;

/* The small row that stands for a session. */
typedef struct pdr_head {
    pdr_ref ref;
    pdr_str agent;          /* or absent */
    pdr_str kind;           /* "client", "durable", ...: as in documents */
    pdr_str schema_version; /* of its state document, or absent */
    pdr_session_state state;
    uint64_t revision; /* from 1; one more with each change of its state */
    uint64_t commits;  /* from 1; one more with each commit that touched it */
    uint64_t epoch;    /* of its entries and slots; never used again */
    int64_t created_ms;
    int64_t changed_ms; /* of the commit that made the revision */
    int64_t expiry_ms;  /* PDR_NEVER: none */
    uint64_t first_seq; /* entries: first_seq <= seq < next_seq */
    uint64_t next_seq;
    uint64_t slots;         /* how many there are */
    uint64_t properties;    /* how many there are */
    uint64_t completions;   /* how many there are */
    uint64_t journal_first; /* journal: journal_first <= n < journal_next */
    uint64_t journal_next;
    uint64_t stream_first; /* stream: stream_first <= n < stream_next */
    uint64_t stream_next;
    uint64_t inbox; /* how many wait */
    uint64_t inbox_next;
    bool has_frame;
    bool has_ttl; /* an edit said `set_ttl` once */
    pdr_lease lease;
    uint8_t anchor[PDR_DIGEST_BYTES]; /* before the first entry */
    uint8_t chain[PDR_DIGEST_BYTES];  /* of the last entry, or the anchor */
    uint8_t digest[PDR_DIGEST_BYTES]; /* of the head itself */
} pdr_head;

/* --- opening ------------------------------------------------------------- */

/**
 * Open a store, and make it if it is not there.
 *
 *     memory:                      for tests; gone when closed
 *     sqlite:FILE[?NAME=VALUE&...] one file; "%41" stands for "A"
 *         mode=rwc   make it if it is not there (the default)
 *         mode=rw    it must be there
 *         mode=ro    read only; commits are refused
 *         key=FILE   the key of its digests: 32 bytes or more
 *         sums=off   with mode=ro: take pages of the file, and what SQLite
 *                    takes of the log, without a look at their sums, to rescue
 *                    a store that another program has written to; digests and
 *                    counts of rows are checked as always, and no backup is
 *                    made of it
 *         secure_delete=off  leave what is deleted in the file until its
 *                    room is used again; else it is overwritten
 *         vfs=NAME   a VFS that the program registered with SQLite
 *     FILE                         the same as sqlite:FILE, taken as it is; one
 *                                  that begins like a scheme needs "./"
 *
 * @param[out] out  owned; release with pdr_store_close(). NULL on failure.
 * @param uri       borrowed for the call.
 * @return PDR_OK; PDR_EINVALID (reasons "bad_uri", "not_a_store",
 *         "bad_key_file"); PDR_ENOTFOUND ("no_store", "no_key_file");
 *         PDR_EVERSION ("store_version"); PDR_EDENIED ("wrong_key",
 *         "unsafe_file"); PDR_EBUSY ("store_locked"); PDR_ECORRUPT
 *         ("store_damaged"); PDR_EIO ("file_failed"); PDR_ENOMEM; PDR_EMISUSE
 *         ("after_fork": this process was forked while its parent had it open).
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_open(pdr_store **out, const char *uri,
                                             pdr_err *err);

/** Release a store, after its watches and with no call under way. NULL is fine.
 * What was acknowledged is safe in any case. @thread owner @since 0.1 */
PDR_API void pdr_store_close(pdr_store *store);

/* What a store says of itself. */
typedef struct pdr_store_info {
    const char *backend;   /* "sqlite", "memory"; static */
    uint32_t capabilities; /* bits of pdr_capability */
    uint32_t schema;       /* version of its tables; 0: it has none */
    bool keyed;            /* its digests have a key */
    bool read_only;
    bool in_doubt;       /* a commit ended unknown: open it again */
    uint64_t file_bytes; /* of the main file */
    uint64_t free_bytes; /* in it, to be used again */
    uint64_t log_bytes;  /* written and not yet in the main file */
    int64_t pinned_by;   /* process that keeps the log from shrinking, or 0 */
    uint64_t unseen;     /* sessions that are being staged or cleared */
    uint64_t commits;    /* through this handle, since it was opened */
    uint64_t groups;     /* batches that they and refused ones came in */
} pdr_store_info;

/** @return PDR_OK; PDR_EVERSION ("store_version": another process migrated it,
 * open it again); PDR_EIO, PDR_EMISUSE (after fork). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_info_get(pdr_store_info *out,
                                                 pdr_store *store,
                                                 pdr_err *err);

/**
 * The time that leases of this store go by: of the clock that it has, or, if it
 * has none, the caller's. Whoever takes, renews or judges a lease commits with
 * this one.
 *
 * @param[out] out  untouched unless PDR_OK.
 * @param now_ms    the caller's time.
 * @return PDR_OK; PDR_EMISUSE (after fork); or what the store's clock reports.
 *         Of "memory:" and "sqlite:", which have none, only the first two.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_now(int64_t *out, pdr_store *store,
                                            int64_t now_ms, pdr_err *err);

/* How many sessions of a tenant are in which state, all of one moment. */
typedef struct pdr_store_counts {
    uint64_t by_state[PDR_SESSION_STATES]; /* a pdr_session_state each */
} pdr_store_counts;

/**
 * Count the sessions of a tenant; their heads are not read, so it is fast also
 * for many.
 *
 * @param[out] out  untouched unless PDR_OK.
 * @param tenant    absent: PDR_DEFAULT_TENANT.
 * @return PDR_OK; PDR_EUNSUPPORTED ("no_count"); PDR_EVERSION
 *         ("store_version"); PDR_ECORRUPT; PDR_EIO; PDR_EMISUSE (after fork).
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_count(pdr_store_counts *out,
                                              pdr_store *store, pdr_str tenant,
                                              pdr_err *err);

/* --- commit -------------------------------------------------------------- */

#define PDR_ANY_REVISION UINT64_MAX

typedef enum pdr_lease_verb {
    PDR_LEASE_KEEP = 0,
    PDR_LEASE_TAKE = 1,   /* if it is free, or lapsed at `now_ms` */
    PDR_LEASE_RENEW = 2,  /* needs `fence`; also if lapsed and not taken */
    PDR_LEASE_RELEASE = 3 /* needs `fence` */
} pdr_lease_verb;

/* The writer's lease, and what becomes of it. */
typedef struct pdr_lease_edit {
    pdr_lease_verb verb;
    uint64_t fence;   /* of the lease that the writer holds; 0: it is bound by
                         the revision alone */
    pdr_str owner;    /* PDR_LEASE_TAKE: 1 to 128 bytes */
    int64_t until_ms; /* PDR_LEASE_TAKE, PDR_LEASE_RENEW */
} pdr_lease_edit;

typedef enum pdr_expiry_verb {
    PDR_EXPIRY_KEEP = 0,
    PDR_EXPIRY_SET = 1,
    PDR_EXPIRY_CLEAR = 2
} pdr_expiry_verb;

/* What a commit does to one session. All zero but `ref` and `revision` changes
 * nothing, and still checks both. The revision and `changed_ms` move when an
 * edit sets the state, the expiry, `has_ttl`, the frame, entries, slots or
 * properties, or cuts entries; completions, work and leases do not move them.
 */
typedef struct pdr_edit {
    pdr_ref ref;

    /* Bounds of the writer. */
    uint64_t revision; /* the one that it read; 0: there is no such session,
                          make it; PDR_ANY_REVISION: only for edits of work,
                          completions and leases */
    uint64_t epoch;    /* the one that it read, so that a session deleted and
                          made again is noticed; 0: whichever */
    uint64_t commits;  /* that it knows of, so that one of work, completions or
                          a lease is noticed, too; 0: whichever */
    bool or_create;    /* with PDR_ANY_REVISION: make it if there is none */
    pdr_lease_edit lease;

    /* Head. The first three count when the session is made, and are ignored
     * later, but for a version that comes with the frame. */
    pdr_str agent;          /* absent: that of a durable id, else none */
    pdr_str kind;           /* absent: "unstated" */
    pdr_str schema_version; /* 1 to 128 bytes; with `frame`, later, too: the
                               session has this one from then on. Absent: as it
                               is */
    bool set_state;
    pdr_session_state state;
    pdr_expiry_verb expiry;
    int64_t expiry_ms;
    bool set_ttl; /* `has_ttl` of the head is true from then on, whatever
                     becomes of the expiry; false: as it is */

    /* What the session is. */
    pdr_str frame;            /* JSON; absent: as it is */
    uint64_t entries_through; /* remove entries up to this one, from the
                                 beginning; what is appended comes after. One
                                 that is gone changes nothing, one that is not
                                 there yet is refused with PDR_EINVALID */
    const pdr_entry *entries;
    size_t entry_count;
    const pdr_slot *slots; /* set or remove */
    size_t slot_count;
    const pdr_property *properties; /* set or remove */
    size_t property_count;

    /* Completions. One without an outcome must be new; one that has an outcome
     * is never written again. Both are refused with PDR_EEXISTS. */
    const pdr_completion *completions;
    size_t completion_count;
    /* Completions to remove: `correlation_id`, and `at_ms` as it was read. One
     * that is gone or has changed since is refused with PDR_ECONFLICT, one
     * whose entries are still there with PDR_EINVALID. */
    const pdr_completion *drop;
    size_t drop_count;

    /* Work. Removals come first. */
    uint64_t journal_through; /* remove rows with n up to this one */
    uint64_t stream_through;
    const uint64_t *settle; /* numbers of inbox rows to remove */
    size_t settle_count;
    const pdr_work *journal;
    size_t journal_count;
    const pdr_work *stream;
    size_t stream_count;
    const pdr_work *inbox;
    size_t inbox_count;
    uint32_t inbox_most; /* rows that may be in the inbox when these are added,
                            after what is settled; more are refused with
                            PDR_ELIMIT. 0: any number. An edit that adds none
                            is not refused for it */

    bool remove; /* delete the session; nothing else may be asked for. One
                    with many rows, or large ones, is gone for readers at once;
                    its rows go in steps, before the commit returns or by
                    pdr_store_sweep(). Others wait for it and for each step,
                    some milliseconds that rows of many MiB make longer */
} pdr_edit;

/* What became of one edit. */
typedef struct pdr_committed {
    uint64_t revision;  /* now; 0: it was deleted */
    uint64_t epoch;     /* of its entries and slots */
    uint64_t first_seq; /* of the entries that were appended */
    uint64_t journal_n; /* numbers of the first rows that were added */
    uint64_t stream_n;
    uint64_t inbox_n;
    uint64_t inbox; /* rows that wait there after the commit */
    uint64_t fence; /* of the lease after the commit; 0: nobody holds it */
    pdr_head head;  /* after the commit; its texts are absent */
} pdr_committed;

typedef struct pdr_commit_options {
    int64_t now_ms;      /* the caller's time */
    uint32_t timeout_ms; /* to wait for the writer lock; 0: 10 seconds */
} pdr_commit_options;

/**
 * Write, all or nothing. It ends in one of three ways:
 *   - PDR_OK: done, and durable.
 *   - PDR_EUNKNOWN: the system failed between writing and acknowledging. The
 *     commit is there as a whole or not at all. The store refuses commits
 *     ("in_doubt") until it has been opened again; then look for the
 *     correlation id or the revision.
 *   - anything else: refused. Nothing changed, and nothing will.
 *
 * @param[out] out  room for `count`; may be NULL. Untouched unless PDR_OK.
 * @param edits   borrowed for the call; `count` of them, 1 or more, and at most
 *                one for each session.
 * @param options borrowed for the call; not NULL.
 * @return as above, refused with: PDR_ECONFLICT ("revision_changed",
 *         "epoch_changed", "not_in_inbox", "completion_changed"); PDR_EFENCED
 *         ("lease_lost"); PDR_EBUSY ("lease_held"; "writer_busy" when the
 *         time-out is over); PDR_EEXISTS ("session_exists",
 *         "completion_exists"); PDR_ENOTFOUND ("no_session"); PDR_EINVALID
 *         ("bad_ref", "bad_body", "bad_edit"); PDR_ELIMIT ("row_too_large",
 *         "too_deep", "too_many_slots", "inbox_full", ...); PDR_EDENIED
 *         ("read_only"); PDR_EIO ("in_doubt", "file_failed"); PDR_ECORRUPT
 *         ("store_damaged"); PDR_ENOMEM; PDR_EMISUSE (after fork).
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_store_commit(pdr_committed *out, pdr_store *store, const pdr_edit *edits,
                 size_t count, const pdr_commit_options *options, pdr_err *err);

/* --- reading ------------------------------------------------------------- */

typedef enum pdr_read_what {
    PDR_READ_HEAD = 0,    /* only the head */
    PDR_READ_ENTRIES = 1, /* in order of `seq` */
    PDR_READ_SLOTS = 2,   /* in order of the bytes of their keys */
    PDR_READ_PROPERTIES = 3,
    PDR_READ_COMPLETIONS = 4,
    PDR_READ_FRAME = 5,
    PDR_READ_JOURNAL = 6, /* these three in order of `n` */
    PDR_READ_STREAM = 7,
    PDR_READ_INBOX = 8,
    PDR_READ_SESSIONS = 9, /* heads, the last changed first */
    /* These two are of all tenants; what has the same time comes in the order
     * of epochs. What keeps its time while page after page is read is told,
     * whatever happens to other sessions; one that is made anew meanwhile may
     * come again. */
    PDR_READ_EXPIRED = 10, /* heads, the first expired first */
    PDR_READ_DUE = 11,     /* inbox rows, the first due first */
    PDR_READ_ALL = 12      /* heads of all tenants, in order of the bytes of
                              tenant and id: a walk that no commit disturbs */
} pdr_read_what;

/* Which sessions to list. Everything that is set must hold. */
typedef struct pdr_filter {
    pdr_str agent;
    bool by_state;
    pdr_session_state state;
    int64_t changed_from_ms; /* from <= changed < to; both 0: any time */
    int64_t changed_to_ms;   /* without an end: PDR_NEVER */
    /* With one of these the list is in the order of the bytes of ids. */
    pdr_str property; /* has this key with this `match` */
    pdr_str match;
    pdr_str id_prefix; /* its id begins with this text; at most as long as an
                          id, and may be empty */
} pdr_filter;

typedef struct pdr_query {
    pdr_read_what what;
    pdr_ref ref;       /* whose; for PDR_READ_SESSIONS its tenant alone; not
                          for PDR_READ_EXPIRED, _DUE and _ALL */
    size_t limit;      /* rows at most, 1 to 200; 0: 50 */
    size_t max_bytes;  /* stop when the rows have more; 0: 8 MiB. The first
                          row is given in any case */
    bool backwards;    /* entries and work: the last one first */
    uint64_t from;     /* entries and work: begin at this number */
    pdr_str after;     /* go on behind a page: its `next` */
    pdr_str key;       /* slots, properties: only this one; entries,
                          completions: only this correlation id */
    int64_t now_ms;    /* expired, due: up to this time */
    pdr_filter filter; /* sessions */
} pdr_query;

/* One page of rows, all of one moment. Owned by the caller. */
typedef struct pdr_page {
    pdr_head head; /* of the session that was asked for, at that moment */
    size_t count;  /* rows below; of the arrays only one is there */
    const pdr_entry *entries;
    const pdr_slot *slots;
    const pdr_property *properties;
    const pdr_completion *completions;
    const pdr_work *work;     /* journal, stream, inbox, due */
    const pdr_head *sessions; /* sessions, expired, all */
    pdr_str frame;
    pdr_str next; /* cursor to go on with; absent: these were the last */
} pdr_page;

/**
 * Read one page. What it gives is exactly what was acknowledged, or the call
 * fails: digests, the chain of entries and the counts of the head are checked.
 *
 * @param[out] out  owned; release with pdr_page_free(). NULL on failure.
 * @param query     borrowed for the call.
 * @return PDR_OK; PDR_ENOTFOUND ("no_session", "no_slot", "no_property",
 *         "no_completion", "no_frame"); PDR_EINVALID ("bad_ref", "bad_cursor",
 *         "bad_query"); PDR_ECORRUPT ("bad_digest", "broken_chain",
 *         "wrong_count", "store_damaged"); PDR_EVERSION ("store_version":
 *         another process migrated it, open it again); PDR_ECONFLICT
 *         ("store_changed": it is on a medium that can only be read here, and
 *         somebody writes to it elsewhere; open it again); PDR_EIO; PDR_ENOMEM;
 *         PDR_EMISUSE (after fork).
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_read(pdr_page **out, pdr_store *store,
                                             const pdr_query *query,
                                             pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_page_free(pdr_page *page);

/* --- watching ------------------------------------------------------------ */

typedef struct pdr_watch pdr_watch;

/**
 * Watch a session, which need not exist yet, or all sessions.
 *
 * @param[out] out  owned; release with pdr_watch_close(). NULL on failure.
 * @param store     borrowed; must outlive the watch.
 * @param ref       copied; NULL: all sessions of all tenants.
 * @return PDR_OK, PDR_EINVALID ("bad_ref"), PDR_ENOMEM, or as pdr_store_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_watch_open(pdr_watch **out, pdr_store *store,
                                             const pdr_ref *ref, pdr_err *err);

/**
 * Wait until something was committed that this watch has not told: since it was
 * opened, or since the last call. Commits of this process are told at once,
 * those of others within 50 ms; several may be told as one. A watch of all
 * sessions may tell a commit of this process a second time.
 *
 * @param timeout_ms  0: do not wait.
 * @return PDR_OK; PDR_ETIMEOUT ("nothing_changed"); PDR_ECANCELLED
 *         ("watch_stopped"); or as pdr_store_read().
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_watch_wait(pdr_watch *watch,
                                             uint32_t timeout_ms, pdr_err *err);

/** End the waiting, now and for ever. @thread any @since 0.1 */
PDR_API void pdr_watch_stop(pdr_watch *watch);

/** NULL is fine; nobody may wait. @thread owner @since 0.1 */
PDR_API void pdr_watch_close(pdr_watch *watch);

/* What a caller has seen of a session: two members of its head, both 0 if it
 * was not there. */
typedef struct pdr_seen {
    uint64_t epoch;
    uint64_t commits;
} pdr_seen;

typedef enum pdr_news_kind {
    PDR_NEWS_SESSION = 0, /* a watched session is not at what was seen of it */
    PDR_NEWS_TENANT = 1,  /* this process committed to a session of a tenant */
    PDR_NEWS_LIST = 2     /* others may have, or there is more than is kept:
                             list the tenant's sessions by time of change */
} pdr_news_kind;

typedef struct pdr_news {
    pdr_news_kind kind;
    pdr_ref ref;  /* PDR_NEWS_LIST: without an id */
    uint64_t tag; /* as it was added with */
    /* Of a watched session alone: */
    pdr_rc rc;     /* PDR_OK, or why its head cannot be read */
    pdr_seen seen; /* what it is at now; both 0: it is not there */
    uint64_t revision;
    uint64_t stream_next;
} pdr_news;

typedef struct pdr_watcher pdr_watcher;

/**
 * One object for any number of sessions, so that one thread serves them all.
 *
 * @param[out] out  owned; release with pdr_watcher_close(). NULL on failure.
 * @param store     borrowed; must outlive the watcher.
 * @return PDR_OK, PDR_ENOMEM, or as pdr_store_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_watcher_open(pdr_watcher **out,
                                               pdr_store *store, pdr_err *err);

/**
 * Watch one more session, which need not exist, or follow a tenant. Also while
 * another thread waits. What was added already gets `seen` anew.
 *
 * @param ref   copied; without an id: all sessions of its tenant.
 * @param seen  what the caller knows of the session, from the head of a page
 *              that it has read: pdr_watcher_wait() tells whatever comes after
 *              that, also if it came before this call. NULL: nothing.
 * @param tag   comes back in the news. The same session may be added again
 *              under another tag.
 * @return PDR_OK, PDR_EINVALID ("bad_ref"), PDR_ENOMEM, PDR_EMISUSE (after
 *         fork).
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_watcher_add(pdr_watcher *watcher,
                                              const pdr_ref *ref,
                                              const pdr_seen *seen,
                                              uint64_t tag, pdr_err *err);

/** Take back what was added; nothing if it was not. News of it may have been
 * told to another thread already. @thread any @since 0.1 */
PDR_API void pdr_watcher_remove(pdr_watcher *watcher, const pdr_ref *ref,
                                uint64_t tag);

/**
 * Wait until there is news, and take up to `room` of it. Every commit that
 * touches a session is news, also one of stream rows alone; several may be told
 * as one. What was told is seen.
 *
 * Commits of this process are told at once. Of those of others, sessions that
 * run, or did when they were looked at last, are told within 50 ms, more if
 * thousands run; all that is watched is looked at once after a commit of
 * others, 64 sessions every 20 ms.
 *
 * @param[out] out    texts live until the next call, or the close.
 * @param[out] count  of what was told; 0 with PDR_OK if pdr_watcher_wake()
 *                    was called.
 * @param timeout_ms  0: do not wait.
 * @return PDR_OK; PDR_ETIMEOUT ("nothing_changed"); PDR_ENOMEM; or why the
 *         store cannot be asked for commits of others, as pdr_store_read().
 *         After a failure nothing is lost.
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_watcher_wait(pdr_news *out, size_t room,
                                               size_t *count,
                                               pdr_watcher *watcher,
                                               uint32_t timeout_ms,
                                               pdr_err *err);

/** End the present wait, or the next one. @thread any @since 0.1 */
PDR_API void pdr_watcher_wake(pdr_watcher *watcher);

/** NULL is fine; nobody may wait. @thread owner @since 0.1 */
PDR_API void pdr_watcher_close(pdr_watcher *watcher);

/* --- verifying ----------------------------------------------------------- */

typedef struct pdr_verify_report {
    uint64_t sessions; /* looked at */
    uint64_t entries;
    uint64_t rows; /* of all other kinds */
    uint64_t bad;  /* findings */
} pdr_verify_report;

/* One finding: "table", key of the row in words, what is wrong. Called on the
 * thread of pdr_store_verify(); may not call the store. */
typedef void (*pdr_verify_fn)(void *arg, const char *table, const char *row,
                              const char *what);

/**
 * Read everything and check it: digests, chains, counts, and every index
 * against its table; of a whole store every page of its file, too (table
 * "file", row "page 7"). Others may go on to write.
 *
 * @param[out] out  counts; may be NULL. Filled as far as it came.
 * @param ref       one session; NULL: the whole store.
 * @param fn        may be NULL; called for each finding.
 * @return PDR_OK: nothing found; PDR_ECORRUPT with the first finding; or as
 *         pdr_store_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_verify(pdr_verify_report *out,
                                               pdr_store *store,
                                               const pdr_ref *ref, pdr_err *err,
                                               pdr_verify_fn fn, void *arg);

/* --- keeping house -------------------------------------------------------- */

typedef struct pdr_sweep_report {
    uint64_t sessions; /* unseen ones that were cleared */
    uint64_t rows;     /* that they had */
    uint64_t left;     /* unseen ones that are still being staged */
} pdr_sweep_report;

/**
 * Clear what no reader sees: sessions whose staging was given up or killed
 * (their time is over at `now_ms`), and what is left of removed ones. In steps
 * that other commits come between.
 *
 * @param[out] out  may be NULL. Filled as far as it came.
 * @return PDR_OK; or as pdr_store_commit() without an edit.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_sweep(pdr_sweep_report *out,
                                              pdr_store *store, int64_t now_ms,
                                              pdr_err *err);

typedef struct pdr_vacuum_report {
    uint64_t before_bytes; /* of the main file */
    uint64_t after_bytes;
    uint64_t free_bytes; /* in it, to be used again; what the last step left */
    uint64_t steps;
    uint64_t longest_us; /* that a step held the writer lock */
} pdr_vacuum_report;

/* Called between two steps, with the report so far; another code than PDR_OK
 * ends the vacuum with it. May call the store. */
typedef pdr_rc (*pdr_vacuum_fn)(void *arg, const pdr_vacuum_report *report,
                                pdr_err *err);

/**
 * Give the room that removed rows left in the file back to the file system. In
 * steps that hold the writer lock for 100 ms at most and let other commits come
 * between; stopped at any moment, what was given back stays given back. The
 * first step may copy what others left in the log, up to 48 MB: on a disk that
 * needs longer for that, it takes as long as that.
 *
 * @param[out] out  may be NULL. Filled as far as it came.
 * @param fn        may be NULL.
 * @return PDR_OK; PDR_EUNSUPPORTED ("no_vacuum") if the store has no file; or
 *         as pdr_store_commit() without an edit, or what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_vacuum(pdr_vacuum_report *out,
                                               pdr_store *store, pdr_err *err,
                                               pdr_vacuum_fn fn, void *arg);

typedef struct pdr_backup_report {
    uint64_t bytes;      /* of the copy when it is whole */
    uint64_t done_bytes; /* of it that were copied so far */
    uint64_t steps;
} pdr_backup_report;

/* Called between two steps, with the report so far; another code than PDR_OK
 * ends the backup with it. May call the store. */
typedef pdr_rc (*pdr_backup_fn)(void *arg, const pdr_backup_report *report,
                                pdr_err *err);

/**
 * Copy a store into a file, as it is at one moment of this call, while this and
 * other processes go on to commit. All that was acknowledged before the call is
 * in the copy, and each commit as a whole or not at all. The copy has the same
 * version and key, stands alone, and may be opened like any store.
 *
 * Every page is checked when it is read: of a damaged store there is no copy.
 * The file gets its name when it is whole and on the disk; until then it is
 * called FILE-unfinished, and what is there under its name stays. Stopped, it
 * leaves nothing; killed, it leaves FILE-unfinished to the next backup.
 *
 * No writer waits for it. The log of the store cannot be begun anew meanwhile:
 * it grows by what is committed, and shrinks afterwards.
 *
 * @param[out] out  may be NULL. Filled as far as it came.
 * @param file      borrowed for the call; a path, taken as it is. Only its
 *                  owner may read the new file.
 * @param replace   a file that is there is replaced, whatever it is; else it is
 *                  refused. A store that somebody has open never is.
 * @param fn        may be NULL.
 * @return PDR_OK; PDR_EUNSUPPORTED ("no_backup") if the store has no file;
 *         PDR_EEXISTS ("file_exists"); PDR_EINVALID ("bad_uri": sums=off;
 *         "bad_target": a folder, the store itself, a name that a file beside
 *         a store has); PDR_ENOTFOUND ("no_folder"); PDR_EBUSY
 *         ("store_locked": somebody has the file open, or is at work on
 *         another backup to it); PDR_EDENIED ("read_only"; "unsafe_file": a
 *         log that belongs to another store lies beside it); PDR_ECORRUPT
 *         ("store_damaged"); PDR_EIO ("disk_full", "file_failed"); PDR_ENOMEM;
 *         PDR_EMISUSE (after fork); or what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_backup(pdr_backup_report *out,
                                               pdr_store *store,
                                               const char *file, bool replace,
                                               pdr_err *err, pdr_backup_fn fn,
                                               void *arg);

typedef struct pdr_migrate_report {
    uint32_t from; /* version of its tables before */
    uint32_t to;   /* and now */
} pdr_migrate_report;

/**
 * Bring a store that an older library made to the version of this one. Until
 * then it can only be read (mode=ro). Killed at any moment it is of the old
 * version or of the new one, whole, and can be migrated again. Nobody else may
 * have it open; who only reads it is not seen, and has to open it again.
 *
 * @param[out] out  may be NULL.
 * @param uri       borrowed for the call; as for pdr_store_open(), not mode=ro.
 * @return PDR_OK, also if there was nothing to do; PDR_EBUSY ("store_locked")
 *         if somebody has it open; PDR_EVERSION ("no_migration"); or as
 *         pdr_store_open().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_store_migrate(pdr_migrate_report *out,
                                                const char *uri, pdr_err *err);

PDR_END_DECLS

#endif
