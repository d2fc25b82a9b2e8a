/*
 * copy_loses_rows.c - copies that lose something: a slot, a completion, a step
 * of the journal, an event, an operation that waits, the time of the last
 * change, the expiry, a session. Must fail: the harness for copies has to see
 * all of them.
 */
#include "copy_trip.h"
#include "trick_store.h"

static const pdr_completion done = {.correlation_id = {"done", 4},
                                    .at_ms = TRICK_NOW_MS};
static const pdr_slot slot = {.key = {"b", 1}};
static const uint64_t waiting = 2; /* numbers of a copy have no gaps */

static const pdr_edit mistakes[] = {
    {.revision = 2, .slots = &slot, .slot_count = 1},
    {.revision = PDR_ANY_REVISION, .drop = &done, .drop_count = 1},
    {.revision = PDR_ANY_REVISION, .journal_through = 3},
    {.revision = PDR_ANY_REVISION, .stream_through = 2},
    {.revision = PDR_ANY_REVISION, .settle = &waiting, .settle_count = 1},
    {.revision = 2, .set_state = true},
    {.revision = 2, .expiry = PDR_EXPIRY_CLEAR},
    {.revision = 2, .remove = true},
};
#define MISTAKES (sizeof(mistakes) / sizeof(mistakes[0]))

static size_t mistake; /* which one is made */

/* A copy, and then one edit of it. */
static pdr_rc copy_badly(pdr_copy_report *out, pdr_store *to, pdr_store *from,
                         const pdr_copy_opts *opts, pdr_err *err,
                         pdr_copy_fn fn, void *arg)
{
    const pdr_commit_options options = {.now_ms = opts->now_ms};
    pdr_edit edit = mistakes[mistake];
    pdr_rc rc = pdr_copy(out, to, from, opts, err, fn, arg);

    edit.ref = trick_ref();
    return rc == PDR_OK ? pdr_store_commit(NULL, to, &edit, 1, &options, err)
                        : rc;
}

TEST(copy_harness, does_not_see_that_something_was_lost)
{
    pdr_store *from = copy_trip_source(), *to = NULL;
    size_t caught = 0;
    char why[200];
    bool good = false;

    ASSERT_RC(PDR_OK, pdr_store_open(&to, "memory:", NULL));
    good = copy_trip(why, pdr_copy, to, from);
    pdr_store_close(to);
    for (mistake = 0; mistake < MISTAKES; mistake++) {
        ASSERT_RC(PDR_OK, pdr_store_open(&to, "memory:", NULL));
        caught += !copy_trip(why, copy_badly, to, from);
        if (strstr(why, "' and not '") == NULL) /* it did not come so far */
            fail_msg("mistake %zu was not made: %s", mistake, why);
        pdr_store_close(to);
    }
    pdr_store_close(from);
    /* If good code does not pass, this failure would prove nothing. */
    if (good && caught == MISTAKES)
        fail_msg("caught %zu of 8: %s", caught, why);
}
