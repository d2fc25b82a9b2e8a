/*
 * session_text.h - sessions from JSON text and back, for tests. ' stands for "
 * in what these functions are given.
 */
#ifndef PDR_TEST_SESSION_TEXT_H
#define PDR_TEST_SESSION_TEXT_H

#include "bag_text.h"
#include "json_text.h"

/* The session of a document; never fails. */
static inline pdr_session *session_of(const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_from_value(&session, value, &err) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
    pdr_value_free(value);
    return session;
}

/* A new session; never fails. */
static inline pdr_session *session_new(pdr_session_shape shape,
                                       pdr_session_kind kind)
{
    pdr_session_parts parts = {0};
    pdr_session *session = NULL;

    parts.shape = shape;
    parts.kind = kind;
    if (shape != PDR_SESSION_DOTNET)
        parts.id = pdr_str_c("s-1");
    ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, NULL));
    return session;
}

/* The text of its document. */
static inline void assert_session(const char *expected, pdr_session *session,
                                  pdr_layout layout)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_session_to_value(&value, session, NULL));
    assert_value(expected, value, layout);
    pdr_value_free(value);
}

#define ASSERT_SESSION(expected, session) \
    assert_session(expected, session, PDR_COMPACT)

/* What a document is refused with. */
static inline void assert_refused(const char *reason, const char *path,
                                  const char *said, const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_session_from_value(&session, value, &err);

    ASSERT(rc != PDR_OK && rc == err.code);
    ASSERT(session == NULL);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    if (strstr(err.message, said) == NULL)
        fail_msg("'%s' is not in '%s'", said, err.message);
    pdr_value_free(value);
}

/* The id at a service as text; "-" if there is none. */
static inline void assert_service_id(const char *expected, pdr_session *session)
{
    pdr_value *id = NULL;

    ASSERT_RC(PDR_OK, pdr_session_service_id(&id, session, NULL));
    if (id == NULL)
        ASSERT_STR(expected, "-");
    else
        assert_value(expected, id, PDR_COMPACT);
    pdr_value_free(id);
}

static inline pdr_rc set_service_id(pdr_session *session, const char *text,
                                    pdr_err *err)
{
    pdr_value *id = text != NULL ? doc_value(text) : NULL;
    pdr_rc rc = pdr_session_set_service_id(session, id, err);

    pdr_value_free(id);
    return rc;
}

#endif
