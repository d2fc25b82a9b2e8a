/*
 * session_convert.c - any bytes are refused, or what converts comes back equal,
 * and what is told of it is there. The first byte chooses the target, the rest
 * is the document.
 */
#include <perdure.h>

#include "fuzz.h"
#include "session_trip.h"

/* Does the document have an id of its own? */
static bool has_id(const pdr_session *session)
{
    return pdr_session_id(session).len > 0;
}

static bool is_sentinel(const pdr_value *document)
{
    const pdr_value *id = pdr_value_get_c(document, "conversationId");

    return pdr_value_text_is(id, pdr_str_c("_agent_local_chat_history")) ||
           pdr_value_text_is(
               id, pdr_str_c("agent_framework_local_history_persistence"));
}

/* What comes back: the document as it is written for its own edition. */
static pdr_value *own_form(const pdr_value *value, const pdr_session *session)
{
    struct session_trip_report report;
    pdr_session_shape shape = pdr_session_get_shape(session);

    if (shape == PDR_SESSION_NATIVE && !has_id(session))
        return is_sentinel(value) ? NULL : pdr_value_ref(value);
    return session_trip_to(&report, pdr_session_convert, value, shape);
}

static void check(const pdr_value *value, pdr_session_shape to)
{
    struct session_trip_report report;
    pdr_session *session = NULL;
    pdr_value *own = NULL, *made = NULL;
    pdr_session_shape from = PDR_SESSION_NATIVE;

    if (pdr_session_from_value(&session, value, NULL) != PDR_OK)
        return;
    from = pdr_session_get_shape(session);
    made = session_trip_to(&report, pdr_session_convert, value, to);
    /* There is no way back to thread-era documents. */
    if (from <= PDR_SESSION_PYTHON)
        own = own_form(value, session);
    /* What is too deep was refused, and a native session without an id gets
     * one. */
    if (made != NULL && own != NULL &&
        (from != to || from != PDR_SESSION_NATIVE || has_id(session))) {
        bool same =
            session_trip_check(&report, pdr_session_convert, value, to, own);

        if (!same)
            fprintf(stderr, "%s\n", report.text);
        MUST(same);
    }
    pdr_value_free(own);
    pdr_value_free(made);
    pdr_session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;

    if (size < 1)
        return 0;
    pdr_str text = {(const char *)data + 1, size - 1};
    if (pdr_json_read(&value, text, &opts, NULL) == PDR_OK)
        check(value, (pdr_session_shape)(data[0] % 4));
    pdr_value_free(value);
    return 0;
}
