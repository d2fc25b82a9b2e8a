/*
 * Documents that we refuse: with which reason, and that nothing happens to
 * them. A refused document can still be read and written as JSON.
 */
#include "json_text.h"
#include "test.h"

#include "base.h"

#define DATA ",\"data\":{\"conversationHistory\":[]}}"

/* No call that changes a document takes it. */
static void check_unchanged_by_all(pdr_value **value)
{
    pdr_value *entry = json("{\"$type\":\"request\"}"), *out = NULL;

    ASSERT(pdr_state_gate(*value, NULL) != PDR_OK);
    ASSERT(pdr_state_append(value, entry, NULL) != PDR_OK);
    ASSERT(pdr_state_set_expiration(value, 10, NULL) != PDR_OK);
    ASSERT(pdr_state_clear_expiration(value, NULL) != PDR_OK);
    ASSERT(pdr_state_remove_entries(value, 0, 0, NULL) != PDR_OK);
    ASSERT(pdr_state_migrate(&out, *value, pdr_str_c("1.0.0"), true, NULL, NULL,
                             NULL) != PDR_OK);
    ASSERT(out == NULL);
    ASSERT(pdr_state_repair(&out, *value, PDR_READER_ANY, 10, NULL, NULL,
                            NULL) != PDR_OK);
    ASSERT(out == NULL);
    pdr_value_free(entry);
}

/* The text is refused with this reason, and a document that was
 * read anyway is changed by nothing: it is written as it was. */
static void check_refused(const char *stored, const char *reason)
{
    pdr_str text = pdr_str_c(stored);
    pdr_value *state = NULL, *value = NULL;
    pdr_write_opts as_read = {.layout = PDR_AS_READ};
    pdr_buf out = PDR_BUF_INIT(10000);
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_state_read(&state, text, NULL, &err) != PDR_OK);
    if (strcmp(reason, err.reason) != 0)
        fail_msg("%s: expected %s, got %s", stored, reason, err.reason);
    ASSERT(state == NULL);
    if (pdr_json_read(&value, text, NULL, NULL) == PDR_OK) {
        check_unchanged_by_all(&value);
        ASSERT_RC(PDR_OK, pdr_json_write(&out, value, &as_read, NULL));
        ASSERT_TEXT(stored, pdr_buf_str(&out));
    }
    pdr_buf_dispose(&out);
    pdr_value_free(value);
}

static void check_taken(const char *text, size_t entries)
{
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_state_read(&state, pdr_str_c(text), NULL, &err) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
    ASSERT_SIZE(entries, pdr_value_count(pdr_state_entries(state)));
    pdr_value_free(state);
}

TEST(document_without_a_version, is_refused_and_not_reset)
{
    COVERS("D-23");
    check_refused("{}", "schema_version_missing");
    check_refused("{\"data\":{\"conversationHistory\":[{\"$type\":\"request\"}"
                  "]}}",
                  "schema_version_missing");
    check_taken("null", 0);
}

TEST(text_that_is_no_version, is_refused)
{
    COVERS("D-24");
    static const char *const versions[] = {"\"hello\"",      "\"\"", "\"1\"",
                                           "\"1.2.0-beta\"", "5",    "null"};

    for (size_t i = 0; i < PDR_COUNT(versions); i++) {
        char text[200];
        snprintf(text, sizeof(text), "{\"schemaVersion\":%s" DATA, versions[i]);
        check_refused(text, "schema_version_invalid");
    }
}

TEST(other_major_version, is_refused_and_can_be_exported)
{
    COVERS("D-25");
    check_refused(
        "{\"schemaVersion\":\"2.0.0\",\"receipts\":{\"c\": 1.10}" DATA,
        "schema_version_unsupported");
    check_refused("{\"schemaVersion\":\"0.9.0\"" DATA,
                  "schema_version_unsupported");
}

TEST(other_spelling_of_the_version, is_taken)
{
    COVERS("D-26");
    check_taken("{\"schemaVersion\":\"1.0\"" DATA, 0);
    check_taken("{\"schemaVersion\":\"1.0.0.0\"" DATA, 0);
    check_taken("{\"schemaVersion\":\"1.99.99\"" DATA, 0);
}

TEST(document_without_data, is_refused_and_null_is_empty)
{
    COVERS("D-27");
    check_refused("{\"schemaVersion\":\"1.0.0\"}", "data_missing");
    check_taken("{\"schemaVersion\":\"1.0.0\",\"data\":null}", 0);
}

TEST(bare_tokens, are_no_json)
{
    COVERS("D-104");
    check_refused("{\"schemaVersion\":\"1.0.0\",\"data\":{\"x\":NaN}}",
                  "state_not_json");
    check_refused("{\"schemaVersion\":\"1.0.0\",\"data\":{\"x\":[Infinity]}}",
                  "state_not_json");
    check_refused("{\"schemaVersion\":\"1.0.0\",\"data\":{\"x\":-Infinity}}",
                  "state_not_json");
}

TEST(root_that_is_no_object, is_no_state)
{
    COVERS("D-109");
    check_refused("[]", "state_not_json");
    check_refused("[[\"schemaVersion\",\"1.1.0\"],[\"data\",{}]]",
                  "state_not_json");
    check_refused("\"{\\\"schemaVersion\\\":\\\"1.1.0\\\"}\"",
                  "state_not_json");
    check_refused("11", "state_not_json");
}

/* --- bad input ------------------------------------------------------------ */

/* `count` bytes of one kind behind the beginning of a document. */
static char *flood(char byte, size_t count, size_t *len)
{
    static const char head[] = "{\"schemaVersion\":\"1.1.0\",\"data\":";
    char *text = malloc(sizeof(head) + count);

    assert_non_null(text);
    memcpy(text, head, sizeof(head) - 1);
    memset(text + sizeof(head) - 1, byte, count);
    *len = sizeof(head) - 1 + count;
    return text;
}

TEST(depth_bomb, is_refused_with_its_place_and_little_memory)
{
    size_t len = 0;
    char *text = flood('[', 16u << 20, &len);
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    test_reset_peak();
    ASSERT_RC(PDR_ELIMIT,
              pdr_state_read(&state, pdr_str_n(text, len), NULL, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_INT(32 + 127, err.offset);
    ASSERT(strncmp(err.path, "/data/0/0", 9) == 0 ||
           strncmp(err.path, "...", 3) == 0);
    ASSERT(state == NULL);
    /* The text is copied, and there is room for as many nodes as such a text
     * has at most; most of that is never touched. */
    ASSERT(test_peak_bytes() < 3 * len + (1u << 20));
    free(text);
}

TEST(document_that_is_too_large, is_refused_before_it_is_copied)
{
    pdr_read_opts opts = {.max_bytes = 1u << 20};
    size_t len = 0;
    char *text = flood('"', 16u << 20, &len);
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    test_reset_peak();
    ASSERT_RC(PDR_ELIMIT,
              pdr_state_read(&state, pdr_str_n(text, len), &opts, &err));
    ASSERT_STR("too_large", err.reason);
    ASSERT(test_peak_bytes() < (4u << 20));
    free(text);
}

/* A document with one string of `count` bytes. */
static char *long_string(size_t count, size_t *len)
{
    static const char tail[] = "\"}}";
    char *text = flood('x', count, len), *room = NULL;
    static const char lead[] = "{\"long\":\"";

    memcpy(text + 32, lead, sizeof(lead) - 1);
    room = realloc(text, *len + sizeof(tail));
    assert_non_null(room);
    memcpy(room + *len, tail, sizeof(tail));
    *len += sizeof(tail) - 1;
    return room;
}

TEST(long_string, takes_memory_in_proportion)
{
    size_t count = test_times(8u << 20, 1u << 20);
    size_t len = 0;
    char *text = long_string(count, &len);
    pdr_value *state = NULL;
    pdr_value *entry = json("{}");
    pdr_err err = PDR_ERR_INIT;

    test_reset_peak();
    ASSERT_RC(PDR_OK, pdr_state_read(&state, pdr_str_n(text, len), NULL, &err));
    ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, &err));
    ASSERT(test_peak_bytes() < 3 * len + (1u << 20));
    pdr_value_free(entry);
    pdr_value_free(state);
    state = NULL;
    /* The same, cut in the middle of the string. */
    ASSERT_RC(PDR_EINVALID,
              pdr_state_read(&state, pdr_str_n(text, len / 2), NULL, &err));
    ASSERT_STR("state_not_json", err.reason);
    ASSERT_STR("/data/long", err.path);
    free(text);
}
