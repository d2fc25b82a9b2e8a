/*
 * turn.h - the benchmark turn: what one step of a conversation writes.
 *
 * One commit under a lease:
 *     a request entry of 200 to 1,000 and a response entry of 600 to 2,600
 *     bytes of JSON text, both with the turn's correlation id; the head; one
 *     bag slot of 300 bytes replaced; one inbox row settled and one of 600
 *     bytes added; the expiry moved; six journal rows of 256 bytes removed and
 *     six added; one stream row of 400 bytes added and the last turn's removed;
 *     a completion of 64 bytes, which stays. Each session has three properties.
 *
 * It is an edit for pdr_store_commit(), so that every store can be measured
 * with it. Sizes, texts and ids come from a seed: two runs, and two stores,
 * write the same bytes, but for the time of day.
 */
#ifndef PDR_BENCH_TURN_H
#define PDR_BENCH_TURN_H

#include <perdure/store.h>

#include <stddef.h>
#include <stdint.h>

#define TURN_REQUEST_MIN   200u
#define TURN_REQUEST_MAX   1000u
#define TURN_RESPONSE_MIN  600u
#define TURN_RESPONSE_MAX  2600u
#define TURN_SLOT          300u
#define TURN_INBOX         600u
#define TURN_JOURNAL       256u
#define TURN_JOURNAL_ROWS  6u
#define TURN_STREAM        400u
#define TURN_COMPLETION    64u
#define TURN_PROPERTIES    3u
#define TURN_ID_BYTES      40u
#define TURN_TENANT        "bench"
#define TURN_LEASE_MS      (INT64_C(60) * 60 * 1000)
#define TURN_EXPIRY_MS     (INT64_C(14) * 24 * 60 * 60 * 1000)
#define TURN_PROPERTY_ROOM 48u

/* Numbers that look random and are the same in each run. */
struct turn_random {
    uint64_t state;
};
uint64_t turn_random(struct turn_random *random);
/* From `low` to `high`, both included. */
size_t turn_random_between(struct turn_random *random, size_t low, size_t high);
/* Put `count` numbers, 0 and up, into an order of the seed. */
void turn_shuffle(size_t *order, size_t count, uint64_t seed);

/* What a writer remembers of a session between two turns. Holds no pointer, so
 * that a copy of the store goes with a copy of this. */
struct turn_session {
    char id[TURN_ID_BYTES + 1];
    size_t number;
    struct turn_random random;
    uint64_t revision, epoch, fence;
    uint64_t journal_last, stream_last, inbox_n;
    uint64_t turns;
};

/* One edit and all that it borrows. Large: not for the stack of a thread. */
struct turn {
    pdr_edit edit;
    pdr_commit_options options;
    size_t payload;     /* bytes of both entries and the bag value */
    size_t entry_bytes; /* of both entries */
    pdr_entry entries[2];
    pdr_slot slot;
    pdr_completion completion;
    pdr_work inbox, stream, journal[TURN_JOURNAL_ROWS];
    uint64_t settle;
    pdr_property properties[TURN_PROPERTIES];
    char correlation_id[32];
    char request[TURN_REQUEST_MAX], response[TURN_RESPONSE_MAX];
    char slot_text[TURN_SLOT], completion_text[TURN_COMPLETION];
    char inbox_text[TURN_INBOX], stream_text[TURN_STREAM];
    char journal_text[TURN_JOURNAL_ROWS][TURN_JOURNAL];
    char agent[16];
    char property_text[TURN_PROPERTIES][TURN_PROPERTY_ROOM];
};

/* The session with this number, before it is made. */
void turn_session_init(struct turn_session *session, size_t number);

/* The edit that makes it: properties, the lease, and the rows that its first
 * turn replaces, settles and removes. */
void turn_first(struct turn *turn, struct turn_session *session);

/* Its next turn. */
void turn_next(struct turn *turn, struct turn_session *session);

/* The edit was committed. */
void turn_done(struct turn_session *session, const struct turn *turn,
               const pdr_committed *committed);

/* Commit it and remember; ends the program if it is refused. */
void turn_commit(struct turn_session *session, struct turn *turn,
                 pdr_store *store);

/* Commit several turns of different sessions, each by itself, in one call. */
void turn_commit_all(struct turn_session *const *sessions, struct turn *turns,
                     size_t count, pdr_store *store);

#endif
