/*
 * copy.h - what copy.c and copy_load.c share: a session on its way.
 *
 * INVARIANTS, cited in both as C1..C3
 *   C1  A copy is the session as it was at one moment, `head`. Entries never
 *       change, so they are read first, and others may append meanwhile; then
 *       all the rest is read while the head counts the same commits, or again.
 *   C2  Memory holds PDR_STAGE_BYTES of rows or the one page that is larger,
 *       and as much again that stands in line.
 *   C3  Nobody sees half a copy, and who stood there stays until it is whole.
 */
#ifndef PDR_ARCHIVE_COPY_H
#define PDR_ARCHIVE_COPY_H

#include "archive.h"
#include "store.h"

struct pdr__held_page {
    pdr_read_what what;
    pdr_page *page; /* owned */
};

/* What was read of a session and is not in the other store yet. */
struct pdr__load {
    pdr_page *moment;             /* owned; its head is that of the copy */
    struct pdr__held_page *pages; /* owned */
    size_t count, cap;
    size_t bytes, rows;   /* on them */
    uint64_t next_seq;    /* entries in front of it were read; 0: none */
    bool is_still;        /* no page showed another commit than `moment` */
    bool reads_rest;      /* all entries are there */
    size_t entry_pages;   /* then: pages in front of those that may change */
    pdr_stage stage;      /* what was committed so far, unseen */
    bool staged_the_rest; /* with rows that may have changed since */
    bool refused;         /* the other store did not take what was staged */
    uint64_t old;         /* revision of who stands there; 0: nobody */
};

struct pdr__parcel; /* copy.c: one that waits for its commit */

struct pdr__copier {
    pdr_store *to, *from;
    const pdr_copy_opts *opts;
    int64_t began_ms; /* by the clock that only goes forwards */
    pdr_copy_report report;
    struct pdr__parcel *line; /* owned */
    size_t waiting, waiting_bytes;
    uint64_t *skips; /* borrowed from `report`: where the session that failed
                        is counted, if it may be left out; NULL: it may not */
    pdr_copy_fn fn;
    void *arg;
};

/* --- reading (copy_load.c) ------------------------------------------------ */

/* Of what was read; borrowed from the load. */
static inline const pdr_head *pdr__load_head(const struct pdr__load *load)
{
    return &load->moment->head;
}

/* The head of a session, on a page that the caller owns. Fails with NO_SESSION
 * and what a store fails with. */
PDR_MUST_CHECK pdr_rc pdr__load_read_head(pdr_page **out, pdr_store *store,
                                          const pdr_ref *ref, pdr_err *err);

/* Read the session, all of one moment (C1). What is too much for memory goes
 * through pdr__copy_flush() meanwhile. Fails with SESSION_CHANGED if somebody
 * keeps on writing to it, and as the two stores do. */
PDR_MUST_CHECK pdr_rc pdr__load_session(struct pdr__copier *c,
                                        struct pdr__load *load,
                                        const pdr_ref *ref, pdr_err *err);

/* Its rows were taken: only what is known of the session stays. */
void pdr__load_clear(struct pdr__load *load);
void pdr__load_dispose(struct pdr__load *load);

/* --- commits (copy.c) ----------------------------------------------------- */

/* Stage all rows that wait, and clear them. */
PDR_MUST_CHECK pdr_rc pdr__copy_flush(struct pdr__copier *c,
                                      struct pdr__load *load, pdr_err *err);

/* What was staged and nobody will show is cleared, as far as that works. */
void pdr__copy_give_up(struct pdr__copier *c, struct pdr__load *load);

#endif
