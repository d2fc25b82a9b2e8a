/*
 * memory_core.h - what a store in memory is made of. See README.md.
 */
#ifndef PDR_STORE_MEMORY_MEMORY_CORE_H
#define PDR_STORE_MEMORY_MEMORY_CORE_H

#include <pthread.h>

#include <perdure/sys/store.h>

#include "base.h"

/* --- rows (rows.c) ---------------------------------------------------------
 */

enum cells_kind {
    CELLS_HEAD,
    CELLS_FRAME,
    CELLS_ENTRY,
    CELLS_SLOT,
    CELLS_PROPERTY,
    CELLS_COMPLETION,
    CELLS_WORK
};

struct frame {
    pdr_str text;
    uint8_t digest[PDR_DIGEST_BYTES];
};

/* The columns of a row. */
union cells {
    pdr_head head;
    struct frame frame;
    pdr_entry entry;
    pdr_slot slot;
    pdr_property property;
    pdr_completion completion;
    pdr_work work;
};

/* A row never changes: another one takes its place. So versions of a session
 * share it, and it goes when the last of them does. */
struct row {
    size_t users;   /* versions that hold it; guarded by the store's lock */
    uint64_t n;     /* its number in its table; 0: the table has keys */
    pdr_str key;    /* its key, within `cells`; empty: it has numbers */
    union cells is; /* their texts stand behind this struct */
};

/* A row with one user and texts of its own. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__row_new(struct row **out, const union cells *cells,
                                   enum cells_kind kind, pdr_err *err);
/* One user less; NULL is fine. */
void pdr__row_drop(struct row *row);

/* Rows of one table of one session, in the order of (n, key). */
struct rows {
    struct row **at; /* owned, one use of each row */
    size_t count;
    size_t room;
};

/* `out` gets the same rows, and room for `extra` more. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__rows_copy(struct rows *out, const struct rows *from,
                                     size_t extra, pdr_err *err);
void pdr__rows_dispose(struct rows *rows);
/* The row with this number and key; NULL if there is none. */
struct row *pdr__rows_find(const struct rows *rows, uint64_t n, pdr_str key);
/* Take `row` in, for which there is room; it takes the place of one with the
 * same number and key. Was there none? */
bool pdr__rows_put(struct rows *rows, struct row *row);
/* Take the row out. Was there one? */
bool pdr__rows_remove(struct rows *rows, uint64_t n, pdr_str key);
/* Take out the rows with numbers up to `n`. */
void pdr__rows_remove_through(struct rows *rows, uint64_t n);
/* Take out the last rows, `most` of them or all; gives how many. */
size_t pdr__rows_shorten(struct rows *rows, size_t most);

/* Order of bytes, then of lengths: below, equal or above 0. */
int pdr__str_order(pdr_str a, pdr_str b);
int pdr__ref_order(const pdr_ref *a, const pdr_ref *b);

/* --- sessions (session.c) --------------------------------------------------
 */

enum table {
    TABLE_ENTRIES,
    TABLE_SLOTS,
    TABLE_PROPERTIES,
    TABLE_COMPLETIONS,
    TABLE_JOURNAL,
    TABLE_STREAM,
    TABLE_INBOX,
    TABLE_COUNT
};

/* One version of a session. */
struct session {
    struct row *head;  /* owned */
    struct row *frame; /* owned, or NULL */
    struct rows tables[TABLE_COUNT];
    bool is_cleared; /* unseen, and some of its rows are gone */
};

/* What a plan, which pdr_plan_begin() has passed, starts from. */
struct before {
    const struct session *session;  /* that the edit is about; NULL: none */
    const struct session *replaced; /* that it takes the place of, or NULL */
};

/* What it makes of that; owned by who asked for it. */
struct after {
    struct session *session; /* NULL: it is removed */
    struct session *gone;    /* to be cleared in steps, or NULL */
};

/* Fails with what the plan refuses, or NO_MEMORY; `*out` is empty then. */
PDR_MUST_CHECK pdr_rc pdr__session_next(struct after *out,
                                        const struct before *before,
                                        pdr_plan *plan, const pdr_write *write,
                                        pdr_err *err);
/* Take out some rows, `most` at most; gives how many. Zero: none is left. */
size_t pdr__session_shorten(struct session *session, size_t most);
/* NULL is fine. */
void pdr__session_free(struct session *session);

/* --- the store (memory.c, read.c) ------------------------------------------
 */

struct sessions {
    struct session **at; /* owned */
    size_t count;
    size_t room;
};

struct memory {
    pdr_store base; /* first: what the library has */
    pthread_mutex_t lock;
    /* The rest is guarded by lock. */
    struct sessions seen;   /* in the order of (tenant, id) */
    struct sessions unseen; /* in the order of epochs */
    uint64_t number;        /* the last epoch or fence that was given */
    uint64_t commits;       /* writes that were done */
};

/* The session, or NULL. With the lock. */
struct session *pdr__memory_find(const struct memory *self, const pdr_ref *ref);
/* The slot `read` of the table. With the lock. */
PDR_MUST_CHECK pdr_rc pdr__memory_fill(const struct memory *self,
                                       pdr_page *page, const pdr_query *query,
                                       pdr_err *err);

#endif
