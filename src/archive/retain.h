/*
 * retain.h - which turns of a session go, decided on entries alone.
 *
 * Entries are handed in one after the other, as they come from a store. The
 * decision is a list of places where the history may be cut.
 */
#ifndef PDR_ARCHIVE_RETAIN_H
#define PDR_ARCHIVE_RETAIN_H

#include <perdure/content.h>

#include "archive.h"

/* Both have the same numbers. */
static inline pdr_shape pdr__shape_of_row(pdr_row_shape shape)
{
    return shape <= PDR_ROW_SK ? (pdr_shape)shape : PDR_SHAPE_STATE;
}

/* The body of an entry that a model gets to see. NULL, with PDR_OK, for other
 * kinds, and for a text that is not JSON after all: nobody can answer a call in
 * there. Owned by the caller; `row` must outlive it. */
PDR_MUST_CHECK pdr_rc pdr__row_body(pdr_value **out, const pdr_entry *row,
                                    pdr_err *err);

/* --- calls (calls.c) -------------------------------------------------------
 * Calls that have no result yet, and requests for an approval that have no
 * response yet, each with the turn that it is in.
 */

#define PDR_NO_TURN UINT64_MAX

struct pdr__calls {
    struct pdr__map open; /* by what it is and id; owned values */
    uint64_t limit;       /* calls of turns from here on are not kept */
    size_t waiting;       /* of turns before `limit` */
    bool keeps_answered;  /* a call stays when it has its result */
    pdr_buf key, scratch;
};

/* clang-format off */
#define PDR_CALLS_INIT                                                         \
    {PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES), PDR_NO_TURN, 0, false,                 \
     PDR_BUF_INIT(PDR_MAX_TEXT_BYTES), PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)}
/* clang-format on */

/* Take the calls and results of an entry. `turn` is the number of the first
 * entry of its turn. `back` gets the first turn with a call that it answers;
 * PDR_NO_TURN: none. `body` may be NULL. */
PDR_MUST_CHECK pdr_rc pdr__calls_read(uint64_t *back, struct pdr__calls *calls,
                                      const pdr_entry *row,
                                      const pdr_value *body, uint64_t turn,
                                      pdr_err *err);
/* Take those of one message, with `keeps_answered`. Does it have a result whose
 * call was not taken? Then its own calls do not count. `place` is the message's
 * own number. */
PDR_MUST_CHECK pdr_rc pdr__calls_read_message(bool *has_orphan,
                                              struct pdr__calls *calls,
                                              const pdr_value *message,
                                              pdr_shape shape, uint64_t place,
                                              pdr_err *err);
/* From now on only calls of turns before `limit` count. */
void pdr__calls_limit(struct pdr__calls *calls, uint64_t limit);
void pdr__calls_dispose(struct pdr__calls *calls);

/* --- turns (turns.c) -------------------------------------------------------
 */

/* Does a turn begin with this entry? */
bool pdr__turn_begins(const pdr_entry *row, const pdr_value *body);

/* A place where the history may be cut. */
struct pdr__cut {
    uint64_t seq;   /* the first entry that stays */
    uint64_t turns; /* that come before it */
};

struct pdr__survey {
    /* The rule. */
    uint64_t first;       /* entry of the history; those before are gone */
    uint64_t count_limit; /* by count, turns before this entry go */
    bool by_age;          /* and turns that are all older than `before_ms` */
    int64_t before_ms;
    bool read_times;  /* rows may have times that nobody wrote: bodies tell */
    bool from_import; /* an entry without a time counts from `import_ms` */
    int64_t import_ms;
    /* Where it is. */
    uint64_t next;    /* entry to look at */
    uint64_t turn;    /* first entry of the turn */
    uint64_t turns;   /* that ended */
    bool begun;       /* the turn has its request, or message of a user */
    bool aging;       /* all so far was older */
    uint64_t untimed; /* entry that ended this, as it has no time; 0: none */
    bool at_end;      /* the last cut is after the last entry, and its turn may
                         go on */
    uint64_t limit; /* nothing from here on goes; PDR_NO_TURN: not known yet */
    struct pdr__calls calls;
    /* What it found, in order. */
    struct pdr__cut *cuts; /* owned */
    size_t count, cap;
};

void pdr__survey_init(struct pdr__survey *survey, uint64_t first);
/* Look at the entry `next`. */
PDR_MUST_CHECK pdr_rc pdr__survey_add(struct pdr__survey *survey,
                                      const pdr_entry *row, pdr_err *err);
/* There are no more entries; more may come later. */
PDR_MUST_CHECK pdr_rc pdr__survey_end(struct pdr__survey *survey, pdr_err *err);
/* Can no further entry change what it found? */
bool pdr__survey_is_done(const struct pdr__survey *survey);
void pdr__survey_dispose(struct pdr__survey *survey);

#endif
