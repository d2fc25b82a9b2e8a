/*
 * stored.h - what the files share that make a session of a store's rows.
 */
#ifndef PDR_ARCHIVE_STORED_H
#define PDR_ARCHIVE_STORED_H

#include <perdure/stored.h>

#include "export.h"
#include "session.h"
#include "store.h"

/* What was read, all of one revision. */
struct pdr__view {
    pdr_page *page;          /* owned; texts of the head and the frame. NULL:
                                the session is not there yet */
    pdr_head head;           /* its own `revision` is 0 then */
    struct pdr__compose doc; /* the frame, and rows while they are loaded */
    pdr_session *session;    /* owned */
    pdr_value *loaded;       /* owned; the bag as it is stored, as far as it was
                                loaded */
    bool is_all;             /* and that is all of it */
    bool is_durable;         /* entries are requests and responses of a state
                                document */

    bool has_history_slot; /* what the document has beside the messages is in
                              the bag; it is not a row */
};

struct pdr__new_entry {
    pdr_row_kind kind;
    pdr_str correlation_id; /* in arena, or absent */
    int64_t created_ms;     /* 0: the time of the commit */
    pdr_value *body;        /* owned */
};

/* What is to be written, beside the slots. */
struct pdr__changes {
    struct pdr__arena memory;
    struct pdr__new_entry *entries; /* owned */
    size_t entry_count, entry_cap;
    struct pdr__map properties; /* key to an owned value; NULL: remove it */
    bool sets_state;
    pdr_session_state state;
    pdr_expiry_verb expiry;
    int64_t expiry_ms;
    pdr_str frame; /* in arena; absent: as it is */
};

/* clang-format off */
#define PDR_CHANGES_INIT                                     \
    {.memory = PDR_ARENA_INIT(SIZE_MAX),                     \
     .properties = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES)}
/* clang-format on */

/* An entry of the history that a handle keeps. */
struct pdr__kept_entry {
    pdr_stored_entry base; /* `row` is the one here; the body is owned */
    pdr_entry row;         /* its body has a length, and no text */
    char id[];             /* the correlation id */
};

/* The last entries of the history, without a gap up to the end. */
struct pdr__tail {
    struct pdr__kept_entry **list; /* owned, with the entries; in order */
    size_t count, cap;
    size_t bytes; /* of their texts */
    size_t used;  /* how many the last window had */
};

struct pdr_stored {
    pdr_store *store;         /* borrowed */
    struct pdr__life *life;   /* owned; of the store */
    struct pdr__arena memory; /* texts of `ref` and `opts` */
    pdr_ref ref;
    pdr_stored_opts opts;
    pdr_value *properties;       /* owned; those of `opts` */
    struct pdr__view *view;      /* owned */
    struct pdr__changes changes; /* owned */
    uint64_t history_end; /* entries from this number on are not part of the
                             history that is read; 0: all are. Of a durable run
                             it is its own request */
    void *journal;   /* borrowed; of the durable run that it is opened for, the
                    agent's; its commit is the entity's then. NULL: none */
    bool keeps_tail; /* windows are taken from `tail`, and what they read goes
                        there: for one run after the other */
    struct pdr__tail tail;
    bool is_stale; /* what is stored is not what was read: open it again for the
                      next run */
};

/* How bodies and slots are read: levels were counted when they came in. */
extern const pdr_read_opts pdr__stored_reading;

/* Fail with STORE_CLOSED if the store is closed. */
PDR_MUST_CHECK pdr_rc pdr__stored_alive(const pdr_stored *s, pdr_err *err);
/* Fail because somebody else wrote since. */
pdr_rc pdr__stored_late(const pdr_stored *s, pdr_err *err);

/* Called for a slot that is not as it was loaded; `value` is NULL if it was
 * removed. Both live for the call. */
typedef pdr_rc (*pdr__slot_fn)(pdr_str name, const pdr_value *value,
                               pdr_err *err, void *arg);
/* What differs between two snapshots of a bag, as in what was loaded and what
 * is there now. */
PDR_MUST_CHECK pdr_rc pdr__slots_compare(const pdr_value *before,
                                         const pdr_value *now, pdr_err *err,
                                         pdr__slot_fn fn, void *arg);
/* A pdr__slot_fn: the same change to the bag `arg`. */
PDR_MUST_CHECK pdr_rc pdr__slot_repeat(pdr_str name, const pdr_value *value,
                                       pdr_err *err, void *arg);

/* --- history (stored_history.c) -------------------------------------------
 */

/* Consecutive messages of the history. Those that models are not sent, of
 * responses that are errors, do not count. The last one says where they are,
 * because old entries are removed from the other end. */
struct pdr__span {
    uint64_t seq;   /* of the entry of the last one */
    uint64_t index; /* of the last one, in its entry */
    uint64_t count;
};

/* Where message `i` of a window is: the span of that one message. `*number`
 * grows by 1 from a message to the next one of the history. */
struct pdr__span pdr__window_place(uint64_t *number,
                                   const pdr_stored_window *window, size_t i);
/* Read these messages, the oldest span first, as pdr_stored_messages() gives
 * them. What is no longer there is left out. */
PDR_MUST_CHECK pdr_rc pdr__stored_pick(pdr_stored_window **out, pdr_stored *s,
                                       const struct pdr__span *spans,
                                       size_t count, pdr_err *err);

/* Keep an entry that was, or is about to be, added to the end. */
PDR_MUST_CHECK pdr_rc pdr__tail_push(pdr_stored *s, const pdr_entry *row,
                                     const pdr_value *body, pdr_err *err);
void pdr__tail_clear(pdr_stored *s);
/* What the handle takes of memory, about; entries that no window needs go
 * first. */
size_t pdr__stored_shrink(pdr_stored *s);
/* A commit of somebody else added entries and nothing else: go on with the head
 * that it made, which has no texts. */
void pdr__stored_follow(pdr_stored *s, const pdr_head *head);

/* --- changes (stored_commit.c) --------------------------------------------
 */

PDR_MUST_CHECK pdr_rc pdr__changes_property(struct pdr__changes *c, pdr_str key,
                                            const pdr_value *value,
                                            pdr_err *err);
void pdr__changes_expiry(struct pdr__changes *c, int64_t expiry_ms);
void pdr__changes_dispose(struct pdr__changes *c);
/* Write null for the sentinel that this member of the document has. */
PDR_MUST_CHECK pdr_rc pdr__stored_clear_sentinel(pdr_stored *s,
                                                 const char *member,
                                                 pdr_err *err);
/* Called with the edit that a commit is; commits it. */
typedef pdr_rc (*pdr__commit_fn)(pdr_committed *out, const pdr_edit *edit,
                                 pdr_err *err, void *arg);
/* As pdr_stored_commit(), but `fn` commits, also if nothing has changed. On
 * REVISION_CHANGED the changes are still there: pdr__stored_rebase() lets them
 * be made to what is there now. */
PDR_MUST_CHECK pdr_rc pdr__stored_commit_by(pdr_stored *s, pdr_err *err,
                                            pdr__commit_fn fn, void *arg);
PDR_MUST_CHECK pdr_rc pdr__stored_rebase(pdr_stored *s, pdr_err *err);
/* Forget the entries that were added after the first `count`. */
void pdr__changes_cut(struct pdr__changes *c, size_t count);

#endif
