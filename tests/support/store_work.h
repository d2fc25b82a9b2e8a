/*
 * store_work.h - a varied row of commits on a store, and an oracle that knows
 * what must be there afterwards.
 *
 * The oracle is a memory store that gets each commit when it was acknowledged,
 * and the text of everything in it after each of them. The two must agree to
 * the last digest.
 */
#ifndef PDR_TEST_STORE_WORK_H
#define PDR_TEST_STORE_WORK_H

#include "test.h"

#include <perdure/sys/store.h>

#define WORK_REQUESTS 6 /* of one step at most */

/* One step: a commit, or several that are handed over together. */
struct work_step {
    size_t n;         /* which one, from 0 */
    const char *word; /* static */
    pdr_request requests[WORK_REQUESTS];
    size_t count;
    pdr_rc expected[WORK_REQUESTS];
    bool done[WORK_REQUESTS]; /* it has ended as expected */
    bool is_turn;             /* one commit, with a correlation id */
    bool reopens;             /* close and open the store before it */
    bool copies;              /* let it copy its log before it */
    char *memory;             /* owned: texts and rows of it */
    size_t used;
};

/* What no read gives: the session that is being staged. */
struct work_stage {
    uint64_t epoch;    /* 0: none */
    uint64_t next_seq; /* of its entries */
};

struct work {
    pdr_store *oracle;         /* owned */
    size_t next;               /* step */
    char **states;             /* owned: texts after so many commits; 0: none */
    struct work_stage *stages; /* owned: what was staged then */
    struct work_stage stage;   /* and now */
    size_t commits;            /* acknowledged, so the last of the states */
    size_t conflicts;          /* refused as they had to be: late, fenced off */
    size_t refusals;           /* the same for other reasons */
    bool without_states;
};

/* `states`: keep the texts; a run that is compared with another one's need
 * not. */
void work_init(struct work *work, bool states);
void work_dispose(struct work *work);

/* How many steps there are. */
size_t work_steps(void);
/* Make the step that comes next; made again it is the same. */
void work_make(struct work_step *out, struct work *work);
/* All steps, on a store that is gone afterwards: what the states must be. */
void work_all(struct work *work);
/* How many of its commits may yet be done. */
size_t work_possible(const struct work_step *step);
/* Try what is not done of it. Afterwards each request has its `rc`. What was
 * acknowledged is told to the oracle. False if one ended otherwise than
 * expected: nothing is said about those, and their `done` stays false. */
bool work_try(struct work *work, struct work_step *step, pdr_store *store);
/* Fail the test, and say how a request ended that is not done. */
void work_explain(const struct work_step *step);
/* Tell the oracle of a request of the step that was found to be done. */
void work_accept(struct work *work, struct work_step *step, size_t i);
/* All of it is done, or given up: go on. */
void work_end(struct work *work, struct work_step *step);

/* Is the request there, as far as the numbers of its session tell? False with
 * `err` if that cannot be read. */
bool work_is_there(const struct work *work, const struct work_step *step,
                   size_t i, pdr_store *store, pdr_err *err);

/* Is staged in the store what was staged after so many commits? Asks by adding
 * nothing to it, which no reader will ever see. */
bool work_is_staged(const struct work *work, size_t commits, pdr_store *store);

/* The text of everything in a store; owned: release with free(). NULL if a read
 * fails, and `err` says why. */
char *work_text(pdr_store *store, pdr_err *err);
/* The same without what a copy of the sessions in another store has of its own:
 * digests, epochs, leases, and numbers of inbox rows. */
char *work_alike_text(pdr_store *store, pdr_err *err);
/* The same of one session. */
char *work_session_text(pdr_store *store, pdr_str id, pdr_err *err);

/* The same of all pages of one query, without what stands around its rows. */
char *work_query_text(pdr_store *store, const pdr_query *query, pdr_err *err);

/* Entries under a correlation id of a session; SIZE_MAX if a read fails. */
size_t work_entries(pdr_store *store, pdr_str id, pdr_str correlation_id);

/* Let a store of SQLite copy its log into the main file, as it does when the
 * log is long. False if that failed. */
bool work_checkpoint(pdr_store *store);

/* A folder that costs no disk, if there is one; leave with room_leave(). */
struct room;
void work_room(struct room *room);

#endif
