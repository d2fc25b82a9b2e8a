/*
 * past.h - histories for tests of retention, written as short texts.
 *
 *     "q#1 r+x|-x q-y u a"
 *
 * One word is one entry. Its letter says what it is: q request, r response; Q R
 * the same as one message, in the shape of the messages; u a t s message of a
 * user, an assistant, a tool, the system; c record, o of another kind. Behind
 * it, in any order: #id correlation id, @n created, +id call, -id result, ?id
 * request for an approval (of the call "call=id"), !id response to it, | next
 * message (q and r alone).
 */
#ifndef PDR_TEST_PAST_H
#define PDR_TEST_PAST_H

#include "test.h"

#include <perdure/store.h>

enum past_type { PAST_CALL, PAST_RESULT, PAST_REQUEST, PAST_RESPONSE };

/* One content, for a model. */
struct past_item {
    enum past_type type;
    size_t entry, message; /* from 0 */
    char id[24];
};

struct past {
    pdr_entry *rows; /* owned; `seq` from 1 */
    size_t count;
    struct past_item *items; /* owned; in order */
    size_t item_count;
    char *memory; /* owned: texts of the rows */
};

/* `shape` of the messages; q and r are of the state shape. */
void past_read(struct past *out, const char *text, pdr_row_shape shape);
void past_dispose(struct past *past);

/* Commit all of it to session "s" of the default tenant, at `now_ms` and in
 * steps of `step` entries, 0: at once. Fails the test if it cannot be. Gives
 * the revision. */
uint64_t past_commit(pdr_store *store, const struct past *past, int64_t now_ms,
                     size_t step);

/* A long history: turns of three messages; some calls are answered up to five
 * turns later. The id of a call is the index of its entry. */
void past_long(struct past *out, int turns);
/* Would such a history without the entries up to `through` have a result and
 * not its call? */
bool past_long_is_torn(const struct past *past, uint64_t through);

/* --- the model -------------------------------------------------------------
 * What retention must leave, found by comparing everything with everything.
 */

struct past_rule {
    uint64_t keep_turns;
    int64_t before_ms;
};
/* Index of the first entry that stays; `turns` that go before it. */
size_t past_expected(uint64_t *turns, const struct past *past,
                     const struct past_rule *rule);

/* A random history and rule, as a text; the same for the same seed. */
void past_random(char *out, size_t room, struct past_rule *rule, uint64_t seed);

/* Apply a rule to a history in a store, and compare. NULL: as expected; else
 * what is wrong, static. */
const char *past_try(const char *text, pdr_row_shape shape,
                     const struct past_rule *rule);
/* The same for `count` seeds; gives how many of them came out wrong, and says
 * so on stderr if `loud`. */
size_t past_try_random(uint64_t seed, size_t count, bool loud);

#endif
