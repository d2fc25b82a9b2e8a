/*
 * engine_rows.h - the rows of a durable turn, committed by hand.
 *
 * A turn without tools is two commits: one claims, one finishes. Both are
 * recorded once, as the engine made them, and can then be committed again for
 * any session with nothing around them but pdr_store_commit(): the same rows of
 * the same sizes, with the ids and numbers of that session.
 */
#ifndef PDR_BENCH_ENGINE_ROWS_H
#define PDR_BENCH_ENGINE_ROWS_H

#include <perdure/store.h>

#include "engine_host.h"

#define ROWS_COMMITS 2u

/* What was recorded. All texts are copies that live as long as the program. */
struct rows {
    pdr_edit edits[ROWS_COMMITS];
    size_t count;
};

/* What a writer remembers of a session between two commits. */
struct rows_session {
    size_t number;
    uint64_t revision, commits, epoch, turns;
    uint64_t fence, inbox_n, journal_n; /* of the last claim */
    uint64_t stream_first, stream_last; /* events that were removed, and the
                                           last one */
};

/* From now on the commits to this store are recorded, the last two of them.
 * For one store at a time, and one session. */
void rows_record(struct rows *rows, pdr_store *store);

/* That is all. False: it was another number of commits than two, as when an
 * operation had to wait in the inbox. Ends the program if these are not a claim
 * and its finish. */
bool rows_recorded(const struct rows *rows, pdr_store *store);

/* One turn of a session: both commits. */
void rows_turn(const struct rows *rows, struct rows_session *session,
               pdr_store *store);

/* Leave runs behind whose worker is gone: the first commit alone, with a lease
 * that has lapsed, for `count` sessions. */
void rows_leave(const struct rows *rows, struct rows_session *sessions,
                size_t count, pdr_store *store);

/* The same rows in session `number` of both stores, but for ids and times? Ends
 * the program if not. */
void rows_compare(size_t number, pdr_store *ours, pdr_store *theirs);

#endif
