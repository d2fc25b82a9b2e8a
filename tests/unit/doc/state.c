/* The document as a whole: made, read, changed; and what a failure leaves. */
#include "json_text.h"
#include "test.h"

#include "doc.h"

#define FRAME(version, data) \
    "{\"schemaVersion\":\"" version "\",\"data\":" data "}"
#define EMPTY FRAME("1.1.0", "{\"conversationHistory\":[]}")

/* --- making and reading --------------------------------------------------- */

TEST(state_new, makes_an_empty_document)
{
    pdr_value *state = NULL;

    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    ASSERT_JSON(EMPTY, state);
    ASSERT_RC(PDR_OK, pdr_state_gate(state, NULL));
    pdr_value_free(state);
}

TEST_OOM(state_new, cleans_up_after_any_failed_allocation)
{
    pdr_value *state = NULL;
    pdr_rc rc = pdr_state_new(&state, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((state != NULL) == (rc == PDR_OK));
    pdr_value_free(state);
}

TEST(state_read, gives_a_new_document_for_null)
{
    pdr_value *state = NULL;

    ASSERT_RC(PDR_OK, pdr_state_read(&state, pdr_str_c(" null\n"), NULL, NULL));
    ASSERT_JSON(EMPTY, state);
    pdr_value_free(state);
}

static void check_refused(const char *text, const pdr_read_opts *opts,
                          pdr_rc rc, const char *reason, int64_t offset)
{
    pdr_value *state = (pdr_value *)(uintptr_t)text;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_state_read(&state, pdr_str_c(text), opts, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_INT(offset, err.offset);
    ASSERT(state == NULL);
    ASSERT_RC(rc, pdr_state_read(&state, pdr_str_c(text), opts, NULL));
}

TEST(state_read, says_what_it_refuses_and_where)
{
    pdr_read_opts shallow = {.max_depth = 2}, small = {.max_bytes = 10};

    check_refused("", NULL, PDR_EINVALID, "state_not_json", 0);
    check_refused("{\"schemaVersion\":\"1.1.0\",", NULL, PDR_EINVALID,
                  "state_not_json", 25);
    check_refused("{\"a\":NaN}", NULL, PDR_EINVALID, "state_not_json", 5);
    check_refused(" []", NULL, PDR_EINVALID, "state_not_json", 1);
    check_refused("{}", NULL, PDR_EINVALID, "schema_version_missing", 0);
    check_refused(FRAME("2.0", "{}"), NULL, PDR_EVERSION,
                  "schema_version_unsupported", 17);
    check_refused(FRAME("1.0", "5"), NULL, PDR_EINVALID, "data_invalid", 30);
    check_refused(EMPTY, &shallow, PDR_ELIMIT, "too_deep", 55);
    check_refused(EMPTY, &small, PDR_ELIMIT, "too_large", 10);
}

TEST_OOM(state_read, cleans_up_after_any_failed_allocation)
{
    pdr_value *state = NULL;
    pdr_rc rc = pdr_state_read(&state, pdr_str_c(FRAME("\\u0031.1", "null")),
                               NULL, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((state != NULL) == (rc == PDR_OK));
    pdr_value_free(state);
    state = NULL;
    rc = pdr_state_read(&state, pdr_str_c("null"), NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(state);
}

TEST(state, is_read_by_its_members)
{
    pdr_value *state = json(FRAME("1.0", "{\"conversationHistory\":[{},null],"
                                         "\"expirationTimeUtc\":"
                                         "\"2026-01-01t00:00:00z\"}"));
    pdr_datetime at;

    ASSERT_SIZE(2, pdr_value_count(pdr_state_entries(state)));
    ASSERT_SIZE(2, pdr_value_count(pdr_state_data(state)));
    ASSERT(pdr_state_expiration(&at, state));
    pdr_value_free(state);
}

TEST(state, takes_nothing_and_strange_things_for_not_there)
{
    static const char *const strange[] = {
        "[]",
        "{}",
        FRAME("1.1.0", "null"),
        FRAME("1.1.0", "{}"),
        FRAME("1.1.0", "{\"conversationHistory\":{},\"expirationTimeUtc\":5}"),
        FRAME("1.1.0", "{\"conversationHistory\":null,\"expirationTimeUtc\":"
                       "\"soon\"}"),
        FRAME("1.1.0", "{\"conversationHistory\":\"\",\"expirationTimeUtc\":"
                       "\"\\ud800\"}"),
    };
    pdr_datetime at;
    size_t index = 7;

    for (size_t i = 0; i < PDR_COUNT(strange); i++) {
        pdr_value *state = json(strange[i]);
        ASSERT(pdr_state_entries(state) == NULL);
        ASSERT(!pdr_state_expiration(&at, state));
        ASSERT(pdr_state_find_response(&index, state, pdr_str_c("")) == NULL);
        pdr_value_free(state);
    }
    ASSERT(pdr_state_data(NULL) == NULL);
    ASSERT(pdr_state_entries(NULL) == NULL);
    ASSERT(!pdr_state_expiration(&at, NULL));
    ASSERT(pdr_state_find_response(NULL, NULL, pdr_str_c("c")) == NULL);
    ASSERT_SIZE(7, index);
}

TEST(state_find_response, gives_the_first_response_of_that_id)
{
    pdr_value *state = json(FRAME(
        "1.1.0", "{\"conversationHistory\":[{\"$type\":\"request\","
                 "\"correlationId\":\"c\"},{\"$type\":\"response\","
                 "\"correlationId\":\"C\"},{\"$type\":\"note\","
                 "\"correlationId\":\"c\"},{\"correlationId\":\"\\u0063\","
                 "\"json_type\":\"response\",\"first\":1},{\"$type\":"
                 "\"response\",\"correlationId\":\"c\"},{\"$type\":"
                 "\"response\",\"correlationId\":5}]}"));
    size_t index = 0;
    const pdr_value *found =
        pdr_state_find_response(&index, state, pdr_str_c("c"));

    ASSERT_SIZE(3, index);
    ASSERT(pdr_value_get_c(found, "first") != NULL);
    ASSERT(pdr_state_find_response(NULL, state, pdr_str_c("c")) == found);
    ASSERT(pdr_state_find_response(&index, state, pdr_str_c("5")) == NULL);
    ASSERT(pdr_state_find_response(&index, state, pdr_str_c("")) == NULL);
    pdr_value_free(state);
}

/* --- append --------------------------------------------------------------- */

/* Append `entry` to the document in `before`; gives what comes out. */
static void check_append(const char *before, const char *entry,
                         const char *after)
{
    pdr_value *state = json(before), *value = json(entry);

    ASSERT_RC(PDR_OK, pdr_state_append(&state, value, NULL));
    ASSERT_JSON(after, state);
    pdr_value_free(value);
    pdr_value_free(state);
}

TEST(state_append, makes_the_list_where_there_is_none)
{
    check_append(EMPTY, "{\"a\":1}",
                 FRAME("1.1.0", "{\"conversationHistory\":[{\"a\":1}]}"));
    check_append(FRAME("1.1.0", "null"), "{}",
                 FRAME("1.1.0", "{\"conversationHistory\":[{}]}"));
    check_append(FRAME("1.1.0", "{\"x\":1}"), "{}",
                 FRAME("1.1.0", "{\"x\":1,\"conversationHistory\":[{}]}"));
    check_append(FRAME("1.1.0", "{\"conversationHistory\":null,\"x\":1}"), "{}",
                 FRAME("1.1.0", "{\"conversationHistory\":[{}],\"x\":1}"));
}

TEST(state_append, raises_an_older_version_only_for_an_orchestration)
{
#define REQUEST "{\"$type\":\"request\",\"orchestrationId\":\"o\"}"
#define WITH(version, entry) \
    FRAME(version, "{\"conversationHistory\":[" entry "]}")
    check_append(WITH("1.0.0", ""), REQUEST, WITH("1.1.0", REQUEST));
    check_append(FRAME("1.0", "null"), REQUEST, WITH("1.1.0", REQUEST));
    check_append(WITH("1.1", ""), REQUEST, WITH("1.1", REQUEST));
    check_append(WITH("1.7.3", ""), REQUEST, WITH("1.7.3", REQUEST));
    check_append(WITH("1.0.0", ""), "{\"$type\":\"request\"}",
                 WITH("1.0.0", "{\"$type\":\"request\"}"));
    check_append(
        WITH("1.0.0", ""), "{\"$type\":\"request\",\"orchestrationId\":null}",
        WITH("1.0.0", "{\"$type\":\"request\",\"orchestrationId\":null}"));
    check_append(
        WITH("1.0.0", ""), "{\"$type\":\"response\",\"orchestrationId\":\"o\"}",
        WITH("1.0.0", "{\"$type\":\"response\",\"orchestrationId\":\"o\"}"));
}

TEST(state_append, leaves_other_owners_alone)
{
    pdr_value *state = json(EMPTY), *other = pdr_value_ref(state);
    pdr_value *entry = json("{}");

    for (int i = 0; i < 3; i++)
        ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
    ASSERT_JSON(EMPTY, other);
    pdr_value *third = pdr_value_ref(state);
    ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
    ASSERT_SIZE(3, pdr_value_count(pdr_state_entries(third)));
    ASSERT_SIZE(4, pdr_value_count(pdr_state_entries(state)));
    pdr_value_free(third);
    pdr_value_free(entry);
    pdr_value_free(other);
    pdr_value_free(state);
}

TEST(state_append, takes_a_part_of_the_document_itself)
{
    pdr_value *state =
        json(FRAME("1.1.0", "{\"conversationHistory\":[{\"a\":1}]}"));

    ASSERT_RC(PDR_OK,
              pdr_state_append(
                  &state, pdr_value_at(pdr_state_entries(state), 0), NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(&state, state, NULL));
    ASSERT_SIZE(3, pdr_value_count(pdr_state_entries(state)));
    ASSERT_JSON(
        FRAME("1.1.0", "{\"conversationHistory\":[{\"a\":1},{\"a\":1}]}"),
        pdr_value_at(pdr_state_entries(state), 2));
    pdr_value_free(state);
}

TEST(state_append, takes_what_it_is_going_to_change)
{
    pdr_value *state = json(EMPTY), *entry = json("{\"a\":1}");

    for (int i = 0; i < 2; i++) { /* as it was read, and changed */
        ASSERT_RC(PDR_OK,
                  pdr_state_append(&state, pdr_state_data(state), NULL));
        ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
    }
    ASSERT_JSON(FRAME("1.1.0",
                      "{\"conversationHistory\":[{\"conversationHistory\":[]},"
                      "{\"a\":1},{\"conversationHistory\":["
                      "{\"conversationHistory\":[]},{\"a\":1}]},{\"a\":1}]}"),
                state);
    ASSERT_RC(PDR_OK, pdr_state_append(&state, state, NULL));
    ASSERT_SIZE(5, pdr_value_count(pdr_state_entries(state)));
    ASSERT_SIZE(4, pdr_value_count(pdr_state_entries(
                       pdr_value_at(pdr_state_entries(state), 4))));
    pdr_value_free(entry);
    pdr_value_free(state);
}

static void check_append_refused(const char *before, const char *entry,
                                 pdr_rc rc, const char *reason,
                                 const char *path)
{
    pdr_value *state = json(before), *value = json(entry);
    const pdr_value *same = state;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_state_append(&state, value, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT(state == same);
    ASSERT_JSON(before, state);
    pdr_value_free(value);
    pdr_value_free(state);
}

TEST(state_append, refuses_and_leaves_the_document_as_it_was)
{
    check_append_refused("{}", "{}", PDR_EINVALID, "schema_version_missing",
                         "");
    check_append_refused(FRAME("2.0", "{}"), "{}", PDR_EVERSION,
                         "schema_version_unsupported", "/schemaVersion");
    check_append_refused("{\"schemaVersion\":\"1.0\"}", "{}", PDR_EINVALID,
                         "data_missing", "");
    check_append_refused(FRAME("1.0", "7"), "{}", PDR_EINVALID, "data_invalid",
                         "/data");
    check_append_refused(EMPTY, "[]", PDR_EINVALID, "wrong_kind", "");
    check_append_refused(EMPTY, "null", PDR_EINVALID, "wrong_kind", "");
    check_append_refused(FRAME("1.0", "{\"conversationHistory\":{}}"), REQUEST,
                         PDR_EINVALID, "wrong_kind",
                         "/data/conversationHistory");
    check_append_refused(FRAME("1.0", "{\"conversationHistory\":\"[]\"}"), "{}",
                         PDR_EINVALID, "wrong_kind",
                         "/data/conversationHistory");
}

/* {"a":[[...]]} with so many levels. */
static pdr_value *deep_entry(size_t levels)
{
    pdr_buf text = PDR_BUF_INIT(1000);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT("{\"a\":"), NULL));
    for (size_t i = 1; i < levels; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT("["), NULL));
    for (size_t i = 1; i < levels; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT("]"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT("}"), NULL));
    pdr_read_opts opts = {.max_depth = 200};
    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_buf_str(&text), &opts, NULL));
    pdr_buf_dispose(&text);
    return value;
}

TEST(state_append, refuses_what_would_make_the_document_too_deep)
{
    pdr_value *state = json(EMPTY), *fits = deep_entry(125);
    pdr_value *deeper = deep_entry(126), *read = NULL;
    pdr_buf text = PDR_BUF_INIT(10000);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_SIZE(125, pdr__levels(fits));
    ASSERT_SIZE(0, pdr__levels(pdr_value_get_c(state, "schemaVersion")));
    ASSERT_RC(PDR_ELIMIT, pdr_state_append(&state, deeper, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_JSON(EMPTY, state);
    ASSERT_RC(PDR_OK, pdr_state_append(&state, fits, &err));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, state, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_state_read(&read, pdr_buf_str(&text), NULL, NULL));
    pdr_value_free(read);
    pdr_buf_dispose(&text);
    pdr_value_free(deeper);
    pdr_value_free(fits);
    pdr_value_free(state);
}

TEST(state_append, counts_the_levels_of_an_entry_out_of_a_deep_document)
{
    pdr_value *state = json(EMPTY);
    pdr_value *deep = deep_entry(130), *entry = json("{\"b\":{}}");

    /* A changed object remembers the height that it once had. */
    ASSERT_RC(PDR_OK, pdr_value_set(&entry, pdr_str_c("b"), deep, NULL));
    ASSERT_RC(PDR_OK, pdr_value_remove(&entry, pdr_str_c("b"), NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
    pdr_value_free(entry);
    pdr_value_free(deep);
    pdr_value_free(state);
}

/* One change of a document under failing memory: it happens, or the document is
 * as it was. */
static void check_oom(const char *before,
                      pdr_rc (*change)(pdr_value **io, const pdr_value *entry))
{
    pdr_value *state = json(before), *same = json(before);
    pdr_value *entry = json(REQUEST);

    if (state != NULL && same != NULL && entry != NULL) {
        pdr_rc rc = change(&state, entry);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT(pdr_value_equal(same, state) == (rc != PDR_OK));
    }
    pdr_value_free(entry);
    pdr_value_free(same);
    pdr_value_free(state);
}

static pdr_rc change_append(pdr_value **io, const pdr_value *entry)
{
    return pdr_state_append(io, entry, NULL);
}

TEST_OOM(state_append, leaves_the_document_as_it_was_without_memory)
{
    check_oom(FRAME("1.0.0", "{\"conversationHistory\":[{},{}]}"),
              change_append);
}

TEST_OOM(state_append, makes_a_list_or_nothing_without_memory)
{
    check_oom(FRAME("1.0.0", "null"), change_append);
}

TEST_OOM(state_append, adds_a_list_or_nothing_without_memory)
{
    check_oom(FRAME("1.1.0", "{\"x\":1}"), change_append);
}

/* --- expiration ----------------------------------------------------------- */

static void check_expiration(const char *before, const char *after,
                             const char *cleared)
{
    pdr_value *state = json(before);

    ASSERT_RC(PDR_OK, pdr_state_set_expiration(
                          &state, PDR_TICKS_UNIX_EPOCH + 1234567, NULL));
    ASSERT_JSON(after, state);
    ASSERT_RC(PDR_OK, pdr_state_clear_expiration(&state, NULL));
    ASSERT_JSON(cleared, state);
    ASSERT_RC(PDR_OK, pdr_state_clear_expiration(&state, NULL));
    ASSERT_JSON(cleared, state);
    pdr_value_free(state);
}

#define DATE "\"expirationTimeUtc\":\"1970-01-01T00:00:00.123456Z\""

TEST(state_set_expiration, sets_replaces_and_clears_one_member)
{
    check_expiration(FRAME("1.0.0", "{}"), FRAME("1.0.0", "{" DATE "}"),
                     FRAME("1.0.0", "{}"));
    check_expiration(FRAME("1.0.0", "{\"expirationTimeUtc\":null,\"x\":1}"),
                     FRAME("1.0.0", "{" DATE ",\"x\":1}"),
                     FRAME("1.0.0", "{\"x\":1}"));
    check_expiration(FRAME("1.0.0", "null"),
                     FRAME("1.0.0", "{\"conversationHistory\":[]," DATE "}"),
                     FRAME("1.0.0", "{\"conversationHistory\":[]}"));
}

TEST(state_set_expiration, clears_every_one_of_several)
{
    check_expiration(
        FRAME("1.0.0", "{\"expirationTimeUtc\":1,\"x\":2,"
                       "\"expirationTimeUtc\":3}"),
        FRAME("1.0.0", "{\"expirationTimeUtc\":1,\"x\":2," DATE "}"),
        FRAME("1.0.0", "{\"x\":2}"));
}

TEST(state_set_expiration, refuses_what_is_no_instant_or_no_document)
{
    pdr_value *state = json(EMPTY), *none = json("{}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_state_set_expiration(&state, PDR_MAX_TICKS + 1, &err));
    ASSERT_STR("datetime_range", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_state_set_expiration(&state, -1, &err));
    ASSERT_STR("datetime_range", err.reason);
    ASSERT_JSON(EMPTY, state);
    ASSERT_RC(PDR_EINVALID, pdr_state_set_expiration(&none, 0, &err));
    ASSERT_STR("schema_version_missing", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_state_clear_expiration(&none, &err));
    ASSERT_STR("schema_version_missing", err.reason);
    pdr_value_free(none);
    pdr_value_free(state);
}

TEST(state_clear_expiration, has_nothing_to_do_without_data)
{
    pdr_value *state = json(FRAME("1.0.0", "null"));

    ASSERT_RC(PDR_OK, pdr_state_clear_expiration(&state, NULL));
    ASSERT_JSON(FRAME("1.0.0", "null"), state);
    pdr_value_free(state);
}

static pdr_rc change_expiration(pdr_value **io, const pdr_value *entry)
{
    (void)entry;
    return pdr_state_set_expiration(io, 0, NULL);
}

TEST_OOM(state_set_expiration, leaves_the_document_as_it_was_without_memory)
{
    check_oom(EMPTY, change_expiration);
}

TEST_OOM(state_set_expiration, makes_data_or_nothing_without_memory)
{
    check_oom(FRAME("1.0.0", "null"), change_expiration);
}

static pdr_rc change_clear(pdr_value **io, const pdr_value *entry)
{
    (void)entry;
    return pdr_state_clear_expiration(io, NULL);
}

TEST_OOM(state_clear_expiration, leaves_the_document_as_it_was_without_memory)
{
    check_oom(FRAME("1.0.0", "{\"expirationTimeUtc\":1,\"x\":1}"),
              change_clear);
}

/* --- removing entries ----------------------------------------------------- */

static void check_removal(size_t first, size_t count, const char *left)
{
    pdr_value *state =
        json(FRAME("1.1.0", "{\"a\":0,\"conversationHistory\":[{\"n\":0},1,"
                            "{\"n\":2},null],\"b\":1}"));
    char after[300];

    ASSERT_RC(PDR_OK, pdr_state_remove_entries(&state, first, count, NULL));
    snprintf(after, sizeof(after),
             FRAME("1.1.0", "{\"a\":0,\"conversationHistory\":[%s],\"b\":1}"),
             left);
    ASSERT_JSON(after, state);
    pdr_value_free(state);
}

TEST(state_remove_entries, removes_a_row_of_entries_and_nothing_else)
{
    check_removal(0, 0, "{\"n\":0},1,{\"n\":2},null");
    check_removal(4, 0, "{\"n\":0},1,{\"n\":2},null");
    check_removal(0, 1, "1,{\"n\":2},null");
    check_removal(3, 1, "{\"n\":0},1,{\"n\":2}");
    check_removal(1, 2, "{\"n\":0},null");
    check_removal(0, 4, "");
}

TEST(state_remove_entries, refuses_what_is_not_there)
{
    pdr_value *state = json(FRAME("1.1.0", "{\"conversationHistory\":[1]}"));
    pdr_value *list = json(FRAME("1.1.0", "{\"conversationHistory\":{}}"));
    pdr_value *none = json("[]");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND, pdr_state_remove_entries(&state, 0, 2, &err));
    ASSERT_STR("no_element", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, pdr_state_remove_entries(&state, 2, 0, &err));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_state_remove_entries(&state, 1, SIZE_MAX, &err));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_state_remove_entries(&state, SIZE_MAX, SIZE_MAX, &err));
    ASSERT_RC(PDR_ENOTFOUND, pdr_state_remove_entries(&list, 0, 1, &err));
    ASSERT_RC(PDR_OK, pdr_state_remove_entries(&list, 0, 0, &err));
    ASSERT_RC(PDR_EINVALID, pdr_state_remove_entries(&none, 0, 0, &err));
    ASSERT_STR("state_not_json", err.reason);
    ASSERT_JSON(FRAME("1.1.0", "{\"conversationHistory\":[1]}"), state);
    pdr_value_free(none);
    pdr_value_free(list);
    pdr_value_free(state);
}

static pdr_rc change_remove(pdr_value **io, const pdr_value *entry)
{
    (void)entry;
    return pdr_state_remove_entries(io, 1, 2, NULL);
}

TEST_OOM(state_remove_entries, leaves_the_document_as_it_was_without_memory)
{
    check_oom(FRAME("1.0.0", "{\"conversationHistory\":[{},1,2,3]}"),
              change_remove);
}

static pdr_rc change_remove_all(pdr_value **io, const pdr_value *entry)
{
    (void)entry;
    return pdr_state_remove_entries(io, 0, 2, NULL);
}

TEST_OOM(state_remove_entries, removes_all_or_nothing_without_memory)
{
    check_oom(FRAME("1.0.0", "{\"conversationHistory\":[{},1]}"),
              change_remove_all);
}

/* --- dates ---------------------------------------------------------------- */

TEST(member_datetime, reads_any_number_of_digits)
{
    static const char head[] = "{\"at\":\"2026-01-01T00:00:00.5";
    char text[600];
    pdr_datetime at;

    memset(text, '0', sizeof(text));
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + 500, "Z\"}", 4);
    pdr_value *object = json(text);
    ASSERT(pdr__member_datetime(&at, object, "at"));
    ASSERT_INT(5000000, at.ticks % PDR_TICKS_PER_SECOND);
    pdr_value_free(object);
}

TEST(member_datetime, reads_texts_with_and_without_escapes)
{
    static const struct {
        const char *json;
        bool read;
    } cases[] = {
        {"{\"at\":\"2026-01-01\"}", true},
        {"{\"at\":\"\\u0032026-01-01T00:00:00Z\"}", true},
        {"{\"at\":\"\"}", false},
        {"{\"at\":\"2026-13-01\"}", false},
        {"{\"at\":7}", false},
        {"{\"at\":\"\\udc00\"}", false},
        {"{}", false},
        {"[]", false},
    };
    pdr_datetime at;

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *object = json(cases[i].json);
        if (pdr__member_datetime(&at, object, "at") != cases[i].read)
            fail_msg("%s", cases[i].json);
        pdr_value_free(object);
    }
    ASSERT(!pdr__member_datetime(&at, NULL, "at"));
}
