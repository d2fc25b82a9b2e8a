/*
 * store_view.h - all that is in a store, as the judge wants it: numbers and the
 * names of deeds.
 *
 * Each row that a writer of this harness makes has a body of one form, a note
 * that says whose it is and what its writer knew. So the rows alone tell which
 * deeds were carried out, and in which order.
 */
#ifndef PDR_TEST_STORE_VIEW_H
#define PDR_TEST_STORE_VIEW_H

#include "store_oracle.h"

struct note {
    deed_id id;
    unsigned part;    /* of rows of one kind, the how-manieth; from 0 */
    deed_id after;    /* a turn: the last one that its writer saw */
    deed_id settles;  /* a turn: whose inbox row it settles */
    uint64_t through; /* a turn: the last journal row that it removes */
    unsigned journal; /* a turn: how many rows it adds of each kind */
    unsigned stream;
    unsigned inbox;
    uint64_t fence; /* of the lease that it was written under; 0: none */
};

#define NOTE_TEXT 400 /* bytes without padding */

/* The note as JSON, with `pad` letters more. Returns its length; `out` has room
 * for NOTE_TEXT + pad. */
size_t note_write(char *out, const struct note *note, size_t pad);
bool note_read(struct note *out, pdr_str body);

struct view_row {
    uint64_t n;    /* its number; completions: first_seq */
    uint64_t last; /* completions: last_seq */
    deed_id key;   /* slots, properties: the writer's own, 0 for "last";
                      completions: the correlation id */
    bool ended;    /* completions: it has an outcome */
    struct note note;
};

struct view_rows {
    struct view_row *rows; /* owned */
    size_t count, cap;
};

struct view_session {
    bool is_there;
    uint64_t epoch, revision, commits;
    uint64_t next_seq, journal_first, journal_next;
    uint64_t fence; /* of its lease */
    deed_id owner;  /* that holds it; 0: nobody */
    deed_id frame;
    struct view_rows entries, slots, properties, completions;
    struct view_rows journal, stream, inbox;
};

struct view {
    struct view_session sessions[DEED_SESSIONS];
};

/* A zero view is empty. */
void view_dispose(struct view *view);
/* Add a row; it is given back to be filled in. */
struct view_row *view_add(struct view_rows *rows);

/* "s7"; the ids of the sessions that writers use. */
const char *session_name(char out[DEED_TEXT], unsigned session);

/* Read all sessions of a store. False with a complaint on stderr. */
bool view_load(struct view *out, pdr_store *store);

#endif
