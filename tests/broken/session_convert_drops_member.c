/*
 * session_convert_drops_member.c - a conversion of sessions that loses what the
 * target has no member for. Must fail: the trip harness has to see it.
 */
#include "session_trip.h"
#include "test.h"

/* Converts, then takes out `perdure`, where such things go. */
static pdr_rc convert_dropping(pdr_session **out, pdr_session *session,
                               const pdr_session_convert_opts *opts,
                               pdr_err *err, pdr_doc_finding_fn fn, void *arg)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_session_convert(out, session, opts, err, fn, arg);

    if (rc == PDR_OK)
        rc = pdr_session_to_value(&value, *out, err);
    if (rc == PDR_OK && pdr_value_get_c(value, "perdure") != NULL &&
        pdr_session_get_shape(*out) != PDR_SESSION_NATIVE) {
        pdr_session_free(*out);
        *out = NULL;
        rc = pdr_value_remove(&value, pdr_str_c("perdure"), err);
        if (rc == PDR_OK)
            rc = pdr_session_from_value(out, value, err);
    }
    pdr_value_free(value);
    return rc;
}

/* Tells of something that is not there. */
static pdr_rc convert_lying(pdr_session **out, pdr_session *session,
                            const pdr_session_convert_opts *opts, pdr_err *err,
                            pdr_doc_finding_fn fn, void *arg)
{
    pdr_doc_finding lie = {"lie", PDR_SEVERITY_INFO, pdr_str_c("/nowhere"),
                           pdr_str_c("it is not there")};
    pdr_rc rc = fn != NULL ? fn(&lie, err, arg) : PDR_OK;

    return rc == PDR_OK ? pdr_session_convert(out, session, opts, err, fn, arg)
                        : rc;
}

TEST(session_trip, does_not_see_that_a_member_was_dropped)
{
    static const char *const texts[] = {
        ("{\"type\":\"session\",\"session_id\":\"s\",\"service_session_id\":"
         "null,\"state\":{}}"),
        "{\"session_id\":\"s\",\"state\":{\"a\":1.10}}",
        "{\"conversationId\":null,\"stateBag\":{},\"type\":\"x\"}",
        "{\"new\":1,\"stateBag\":{\"in_memory\":[]}}",
        "{\"serviceSessionId\":\"s\",\"stateBag\":{}}",
    };
    struct session_trip_report report;
    size_t caught = 0, count = sizeof(texts) / sizeof(texts[0]);

    for (size_t i = 0; i < count; i++) {
        pdr_session_shape to = i < 2 ? PDR_SESSION_DOTNET : PDR_SESSION_PYTHON;
        pdr_value *value = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_json_read(&value, pdr_str_c(texts[i]), NULL, NULL));
        /* If good code does not pass, this failure would prove nothing. */
        if (session_trip_check(&report, pdr_session_convert, value, to, NULL)) {
            if (!session_trip_check(&report, convert_dropping, value, to, NULL))
                caught++;
            if (!session_trip_check(&report, convert_lying, value, to, NULL))
                caught++;
        }
        pdr_value_free(value);
    }
    fail_msg("caught %zu of %zu: %s", caught, 2 * count, report.text);
}
