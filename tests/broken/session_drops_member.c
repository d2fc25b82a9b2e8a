/*
 * session_drops_member.c - a session that loses a root member which nobody
 * knows: always, or only when its bag was written. Must fail: the harness for
 * sessions has to see both, in every shape.
 */
#include "session_keep.h"
#include "test.h"

static const char *const documents[] = {
    "{\"owner\":1,\"stateBag\":{\"k\":1}}",
    "{\"session_id\":\"s\",\"state\":{\"k\":1},\"owner\":[1]}",
    "{\"perdure\":{\"version\":\"1.0.0\"},\"owner\":{},\"stateBag\":{\"k\":1}}",
};

/* The member is gone from what is written. */
static pdr_rc drop_always(pdr_value **out, pdr_session *session, pdr_err *err)
{
    pdr_rc rc = pdr_session_to_value(out, session, err);

    return rc == PDR_OK ? pdr_value_remove(out, pdr_str_c("owner"), err) : rc;
}

static pdr_rc drop_if_written(pdr_value **out, pdr_session *session,
                              pdr_err *err)
{
    if (pdr_bag_generation(pdr_session_bag(session)) == 0)
        return pdr_session_to_value(out, session, err);
    return drop_always(out, session, err);
}

TEST(session_harness, does_not_see_that_a_member_was_dropped)
{
    static const struct session_ops always = {pdr_session_from_value,
                                              drop_always};
    static const struct session_ops written = {pdr_session_from_value,
                                               drop_if_written};
    struct roundtrip_report report;
    size_t caught = 0;

    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        pdr_str text = pdr_str_c(documents[i]);

        /* If good code does not pass, this failure would prove nothing. */
        if (!session_check_unchanged(&report, &session_ours, text) ||
            !session_check_slots(&report, &session_ours, text) ||
            !session_check_format(&report, &session_ours, text,
                                  pdr_json_codec()))
            return;
        caught += !session_check_unchanged(&report, &always, text);
        caught += !session_check_slots(&report, &written, text);
    }
    if (caught == 6)
        fail_msg("caught 6 of 6: %s", report.text);
}
