/*
 * state_drops_member.c - changes of a state document that also lose a member
 * which nobody knows, at one level each time. Must fail: the harness for state
 * documents has to see it at every level, for every kind of change.
 */
#include "state_trip.h"
#include "test.h"

/* The members of tests/data/state/unknown-members.json that nobody knows. */
#define ENTRY "/data/conversationHistory/0"
static const char *const levels[] = {
    "/rootExtra",
    "/data/dataExtra",
    ENTRY "/entryExtra",
    ENTRY "/messages/0/messageExtra",
    ENTRY "/messages/0/contents/0/contentExtra",
    ENTRY "/usage/usageExtra",
    "/data/extensionData/kept",
};
static const char *dropped; /* what is lost now */

static pdr_rc drop(pdr_value **io, pdr_rc rc, pdr_err *err)
{
    return rc == PDR_OK ? pdr_pointer_remove(io, pdr_str_c(dropped), err) : rc;
}

static pdr_rc append(pdr_value **io, const pdr_value *entry, pdr_err *err)
{
    const pdr_value *part = NULL;
    pdr_rc rc = pdr_state_append(io, entry, err);

    /* Gone after the first of several. */
    if (pdr_pointer_get(&part, *io, pdr_str_c(dropped), NULL) != PDR_OK)
        return rc;
    return drop(io, rc, err);
}

static pdr_rc set_expiration(pdr_value **io, int64_t ticks, pdr_err *err)
{
    return drop(io, pdr_state_set_expiration(io, ticks, err), err);
}

static pdr_rc clear_expiration(pdr_value **io, pdr_err *err)
{
    return drop(io, pdr_state_clear_expiration(io, err), err);
}

static pdr_rc remove_entries(pdr_value **io, size_t first, size_t count,
                             pdr_err *err)
{
    const pdr_value *part = NULL;
    pdr_rc rc = pdr_state_remove_entries(io, first, count, err);

    if (pdr_pointer_get(&part, *io, pdr_str_c(dropped), NULL) != PDR_OK)
        return rc;
    return drop(io, rc, err);
}

TEST(state_harness, does_not_see_that_a_member_was_dropped)
{
    static const struct state_ops broken = {append, set_expiration,
                                            clear_expiration, remove_entries};
    struct roundtrip_report report;
    size_t len = 0, caught = 0;
    char *file = test_read_data("state/unknown-members.json", &len);
    pdr_str text = pdr_str_n(file, len);

    /* If good code does not pass, this failure would prove nothing. */
    if (!state_check(&report, &state_ours, text))
        return;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        dropped = levels[i];
        caught +=
            !state_check_append(&report, &broken, text, state_client_turn, 10);
        caught += !state_check_expiration(&report, &broken, text);
        caught += !state_check_removal(&report, &broken, text);
    }
    free(file);
    if (caught == 21)
        fail_msg("caught 21 of 21: %s", report.text);
}
