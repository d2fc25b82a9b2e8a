/* Entries: what is read of them, and what we make. */
#include "json_text.h"
#include "test.h"

#include "base.h"

static const char request[] =
    "{\"messages\":[],\"correlationId\":\"c\\u0031\",\"$type\":\"request\","
    "\"createdAt\":\"2026-02-03 08:20\",\"orchestrationId\":\"o-1\","
    "\"responseType\":\"json\",\"responseSchema\":{\"type\":\"object\"},"
    "\"usage\":{}}";
static const char response[] =
    "{\"$type\":\"response\",\"usage\":{\"totalTokenCount\":3},\"messages\":[],"
    "\"orchestrationId\":\"o-1\",\"responseType\":\"json\","
    "\"responseSchema\":{}}";

/* --- reading -------------------------------------------------------------- */

TEST(entry, is_read_by_its_members)
{
    pdr_value *entry = json(request);
    pdr_datetime at;

    ASSERT_INT(PDR_ENTRY_REQUEST, pdr_entry_kind_of(entry));
    ASSERT(pdr_value_text_is(pdr_entry_correlation_id(entry), pdr_str_c("c1")));
    ASSERT_SIZE(0, pdr_value_count(pdr_entry_messages(entry)));
    ASSERT(pdr_entry_messages(entry) != NULL);
    ASSERT(pdr_entry_created_at(&at, entry));
    ASSERT(!at.has_offset && at.has_time);
    ASSERT_JSON("\"o-1\"", pdr_entry_orchestration_id(entry));
    ASSERT_JSON("\"json\"", pdr_entry_response_type(entry));
    ASSERT_JSON("{\"type\":\"object\"}", pdr_entry_response_schema(entry));
    ASSERT(pdr_entry_usage(entry) == NULL);
    ASSERT(!pdr_entry_is_error(entry));
    pdr_value_free(entry);
}

TEST(entry, has_only_the_members_of_its_kind)
{
    pdr_value *entry = json(response);

    ASSERT_INT(PDR_ENTRY_RESPONSE, pdr_entry_kind_of(entry));
    ASSERT_JSON("{\"totalTokenCount\":3}", pdr_entry_usage(entry));
    ASSERT(pdr_entry_orchestration_id(entry) == NULL);
    ASSERT(pdr_entry_response_type(entry) == NULL);
    ASSERT(pdr_entry_response_schema(entry) == NULL);
    pdr_value_free(entry);
}

TEST(entry_kind_of, looks_at_json_type_only_without_a_type)
{
    static const struct {
        const char *json;
        pdr_entry_kind kind;
    } cases[] = {
        {"{\"json_type\":\"request\"}", PDR_ENTRY_REQUEST},
        {"{\"$type\":null,\"json_type\":\"response\"}", PDR_ENTRY_RESPONSE},
        {"{\"json_type\":\"response\",\"$type\":\"\"}", PDR_ENTRY_RESPONSE},
        {"{\"$type\":\"note\",\"json_type\":\"response\"}", PDR_ENTRY_OTHER},
        {"{\"$type\":5,\"json_type\":\"response\"}", PDR_ENTRY_OTHER},
        {"{\"$type\":\"Request\"}", PDR_ENTRY_OTHER},
        {"{\"$type\":\"\\u0072equest\"}", PDR_ENTRY_REQUEST},
        {"{\"$type\":\"request\",\"$type\":\"response\"}", PDR_ENTRY_RESPONSE},
        {"{}", PDR_ENTRY_OTHER},
        {"[\"$type\",\"request\"]", PDR_ENTRY_OTHER},
        {"null", PDR_ENTRY_OTHER},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *entry = json(cases[i].json);
        ASSERT_INT(cases[i].kind, pdr_entry_kind_of(entry));
        pdr_value_free(entry);
    }
    ASSERT_INT(PDR_ENTRY_OTHER, pdr_entry_kind_of(NULL));
}

TEST(entry, takes_nothing_for_not_there)
{
    pdr_datetime at;

    ASSERT(pdr_entry_correlation_id(NULL) == NULL);
    ASSERT(pdr_entry_messages(NULL) == NULL);
    ASSERT(!pdr_entry_created_at(&at, NULL));
    ASSERT(pdr_entry_orchestration_id(NULL) == NULL);
    ASSERT(pdr_entry_response_type(NULL) == NULL);
    ASSERT(pdr_entry_response_schema(NULL) == NULL);
    ASSERT(pdr_entry_usage(NULL) == NULL);
    ASSERT(!pdr_entry_is_error(NULL));
}

TEST(entry_is_error, goes_by_the_mark_or_by_contents_that_are_all_errors)
{
    static const struct {
        const char *json;
        bool error;
    } cases[] = {
        {"{\"$type\":\"response\",\"isError\":true}", true},
        {"{\"$type\":\"response\",\"isError\":false}", false},
        {"{\"$type\":\"response\",\"isError\":\"true\"}", false},
        {"{\"$type\":\"request\",\"isError\":true}", false},
        {"{\"$type\":\"response\",\"messages\":[]}", false},
        {"{\"$type\":\"response\",\"messages\":[{\"contents\":[]}]}", false},
        {"{\"$type\":\"response\",\"messages\":[{\"contents\":[{\"$type\":"
         "\"error\"}]},{\"contents\":[{\"$type\":\"error\"}]}]}",
         true},
        {"{\"$type\":\"response\",\"isError\":false,\"messages\":[{\"contents\""
         ":[{\"$type\":\"error\"}]}]}",
         true},
        {"{\"$type\":\"response\",\"messages\":[{\"contents\":[{\"$type\":"
         "\"error\"},{\"$type\":\"text\"}]}]}",
         false},
        {"{\"$type\":\"response\",\"messages\":[{\"contents\":[{\"$type\":"
         "\"error\"},null]}]}",
         false},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *entry = json(cases[i].json);
        if (pdr_entry_is_error(entry) != cases[i].error)
            fail_msg("%s", cases[i].json);
        pdr_value_free(entry);
    }
}

/* --- making --------------------------------------------------------------- */

TEST(entry_new, makes_a_request_in_the_order_of_dotnet)
{
    pdr_value *messages = json("[ {\"contents\" : [ ], \"role\" : \"user\"} ]");
    pdr_value *schema = json("{\"type\":\"object\"}");
    pdr_entry_parts parts = {.kind = PDR_ENTRY_REQUEST,
                             .correlation_id = pdr_str_c("c \"1\""),
                             .created_at = PDR_TICKS_UNIX_EPOCH + 15000000,
                             .messages = messages,
                             .orchestration_id = pdr_str_c("o"),
                             .response_type = pdr_str_c("json"),
                             .response_schema = schema};
    pdr_value *entry = NULL;

    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
    ASSERT_JSON("{\"$type\":\"request\",\"orchestrationId\":\"o\","
                "\"responseType\":\"json\",\"responseSchema\":{\"type\":"
                "\"object\"},\"correlationId\":\"c \\\"1\\\"\",\"createdAt\":"
                "\"1970-01-01T00:00:01.5+00:00\",\"messages\":[{\"contents\":"
                "[],\"role\":\"user\"}]}",
                entry);
    pdr_value_free(entry);
    pdr_value_free(schema);
    pdr_value_free(messages);
}

TEST(entry_new, leaves_out_what_is_not_there)
{
    pdr_entry_parts parts = {.kind = PDR_ENTRY_RESPONSE,
                             .correlation_id = pdr_str_c("c"),
                             .created_at = 10};
    pdr_value *usage = json("{\"totalTokenCount\":1}"), *entry = NULL;

    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
    ASSERT_JSON("{\"$type\":\"response\",\"correlationId\":\"c\",\"createdAt\":"
                "\"0001-01-01T00:00:00.000001+00:00\",\"messages\":[]}",
                entry);
    pdr_value_free(entry);
    parts.usage = usage;
    parts.is_error = true;
    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
    ASSERT_JSON("{\"$type\":\"response\",\"usage\":{\"totalTokenCount\":1},"
                "\"correlationId\":\"c\",\"createdAt\":"
                "\"0001-01-01T00:00:00.000001+00:00\",\"messages\":[],"
                "\"isError\":true}",
                entry);
    pdr_value_free(entry);
    pdr_value_free(usage);
}

static void check_refused(pdr_entry_parts parts, pdr_rc rc, const char *reason)
{
    pdr_value *entry = (pdr_value *)&parts;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_entry_new(&entry, &parts, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(entry == NULL);
}

TEST(entry_new, refuses_parts_that_do_not_fit)
{
    const pdr_entry_parts good = {.kind = PDR_ENTRY_REQUEST,
                                  .correlation_id = pdr_str_c("c"),
                                  .created_at = 1};
    const pdr_entry_parts other = {.kind = PDR_ENTRY_RESPONSE,
                                   .correlation_id = pdr_str_c("c"),
                                   .created_at = 1};
    static char long_id[1025];
    pdr_value *object = json("{}"), *array = json("[]");
    pdr_entry_parts parts;

#define REFUSED(from, member, value, reason) \
    parts = from;                            \
    parts.member = value;                    \
    check_refused(parts, PDR_EINVALID, reason)
    memset(long_id, 'x', sizeof(long_id));
    REFUSED(good, kind, PDR_ENTRY_OTHER, "no_such_kind");
    REFUSED(good, kind, (pdr_entry_kind)7, "no_such_kind");
    REFUSED(good, correlation_id, pdr_str_n(NULL, 0), "field_missing");
    REFUSED(good, correlation_id, pdr_str_n(long_id, 1025), "bad_id");
    REFUSED(good, correlation_id, pdr_str_c("\xff"), "bad_utf8");
    REFUSED(good, orchestration_id, pdr_str_c("\xc0\x80"), "bad_utf8");
    REFUSED(good, created_at, 0, "field_missing");
    REFUSED(good, response_type, pdr_str_c("Text"), "no_such_kind");
    REFUSED(good, messages, object, "wrong_kind");
    REFUSED(good, response_schema, array, "wrong_kind");
    REFUSED(good, usage, object, "no_such_field");
    REFUSED(good, is_error, true, "no_such_field");
    REFUSED(other, usage, array, "wrong_kind");
    REFUSED(other, orchestration_id, pdr_str_c("o"), "no_such_field");
    REFUSED(other, response_type, pdr_str_c("text"), "no_such_field");
    REFUSED(other, response_schema, object, "no_such_field");
    REFUSED(other, created_at, PDR_MAX_TICKS + 1, "datetime_range");
    REFUSED(other, created_at, -1, "datetime_range");
#undef REFUSED
    pdr_value_free(array);
    pdr_value_free(object);
}

TEST(entry_new, takes_an_id_of_1024_bytes)
{
    static char id[1024];
    pdr_entry_parts parts = {.kind = PDR_ENTRY_REQUEST,
                             .correlation_id = pdr_str_n(id, sizeof(id)),
                             .created_at = 1};
    pdr_value *entry = NULL;

    memset(id, 'x', sizeof(id));
    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
    pdr_value_free(entry);
}

TEST_OOM(entry_new, cleans_up_after_any_failed_allocation)
{
    pdr_value *messages = json("[{\"contents\":[],\"role\":\"user\"}]");
    pdr_entry_parts parts = {.kind = PDR_ENTRY_REQUEST,
                             .correlation_id = pdr_str_c("c"),
                             .messages = messages,
                             .orchestration_id = pdr_str_c("o"),
                             .created_at = 1};
    pdr_value *entry = NULL;

    if (messages == NULL)
        return;
    pdr_rc rc = pdr_entry_new(&entry, &parts, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((entry != NULL) == (rc == PDR_OK));
    pdr_value_free(entry);
    pdr_value_free(messages);
}
