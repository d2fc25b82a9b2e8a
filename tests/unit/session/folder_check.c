/* Could a folder hold a session? Asked before anything is written. */
#include "folder_text.h"

static pdr_rc check(pdr_folder_format format, const char *key, const char *text,
                    pdr_err *err)
{
    const pdr_read_opts bare = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;
    pdr_session *session = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), &bare, err);

    if (rc == PDR_OK)
        rc = pdr_session_from_value(&session, value, err);
    if (rc == PDR_OK)
        rc = pdr_folder_check(format, pdr_str_c(key), session, err);
    pdr_session_free(session);
    pdr_value_free(value);
    return rc;
}

TEST(folder_check, takes_what_a_folder_can_hold)
{
    pdr_err err = PDR_ERR_INIT;

    for (int format = 0; format < 2; format++) {
        pdr_folder_format to = (pdr_folder_format)format;
        ASSERT_RC(PDR_OK, check(to, "a", FILE_OF("a", "{}"), &err));
        ASSERT_RC(PDR_OK, check(to, "b", "{\"session_id\":\"a\"}", &err));
    }
    ASSERT_RC(PDR_OK,
              check(PDR_FOLDER_JSON, "a", FILE_OF("a", "{\"k\":1e999}"), NULL));
}

TEST(folder_check, refuses_what_set_refuses)
{
    static const struct {
        const char *key, *text, *reason, *path;
    } rows[] = {
        {"", FILE_OF("a", "{}"), "folder_key", ""},
        {"a", "{\"stateBag\":{}}", "session_kind", ""},
        {"a", "{\"session_id\":\"a\",\"service_session_id\":5,\"state\":{}}",
         "envelope", "/service_session_id"},
        {"a", FILE_OF("a", "{\"k\":NaN}"), "bare_token", "/state/k"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int format = 0; format < 2; format++) {
            pdr_err err = PDR_ERR_INIT;
            ASSERT_RC(PDR_EINVALID, check((pdr_folder_format)format,
                                          rows[i].key, rows[i].text, &err));
            ASSERT_STR(rows[i].reason, err.reason);
            ASSERT_STR(rows[i].path, err.path);
            ASSERT_RC(PDR_EINVALID, check((pdr_folder_format)format,
                                          rows[i].key, rows[i].text, NULL));
        }
}

TEST(folder_check, refuses_a_number_that_only_json_can_hold)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, check(PDR_FOLDER_MSGPACK, "a",
                                  FILE_OF("a", "{\"k\":1e999}"), &err));
    ASSERT_STR("number_range", err.reason);
}

TEST_OOM(folder_check, cleans_up_after_any_failed_allocation)
{
    pdr_rc rc = check(PDR_FOLDER_MSGPACK, "a", "{\"session_id\":\"a\"}", NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
}
