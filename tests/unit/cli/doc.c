/* Parts of state documents, as the verbs of `perdure doc` see them. */
#include "test.h"

#include "doc_parts.h"

static pdr_value *read_value(const char *json)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), NULL, NULL));
    return value;
}

/* --- keys ---------------------------------------------------------------- */

TEST(keys, are_found_by_text_and_taken_in_order)
{
    struct doc_keys keys = DOC_KEYS_INIT;

    doc_keys_add(&keys, pdr_str_c("b"), 3);
    doc_keys_add(&keys, pdr_str_c("a"), 2);
    doc_keys_add(&keys, pdr_str_c(""), 9);
    doc_keys_add(&keys, pdr_str_c("b"), 1);
    doc_keys_sort(&keys);
    ASSERT_SIZE(1, doc_keys_find(&keys, pdr_str_c("b"))->order);
    ASSERT_SIZE(9, doc_keys_find(&keys, pdr_str_c(""))->order);
    ASSERT(doc_keys_find(&keys, pdr_str_c("c")) == NULL);
    ASSERT(doc_keys_find(&keys, pdr_str_c("ab")) == NULL);
    ASSERT_SIZE(1, doc_keys_take(&keys, pdr_str_c("b"))->order);
    ASSERT_SIZE(3, doc_keys_take(&keys, pdr_str_c("b"))->order);
    ASSERT(doc_keys_take(&keys, pdr_str_c("b")) == NULL);
    ASSERT_SIZE(2, doc_keys_take(&keys, pdr_str_c("a"))->order);
    ASSERT(doc_keys_take(&keys, pdr_str_c("a")) == NULL);
    doc_keys_free(&keys);
}

TEST(keys, none_are_none)
{
    struct doc_keys keys = DOC_KEYS_INIT;

    doc_keys_sort(&keys);
    ASSERT(doc_keys_find(&keys, pdr_str_c("")) == NULL);
    doc_keys_free(&keys);
}

/* --- errors -------------------------------------------------------------- */

#define HISTORY(entries)                                                       \
    "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[" entries \
    "]}}"
#define LOST_CALL                                                    \
    "{\"$type\":\"response\",\"messages\":[{\"role\":\"assistant\"," \
    "\"contents\":[{\"$type\":\"functionCall\",\"callId\":\"1\","    \
    "\"name\":\"f\",\"arguments\":{\"n\":1e400}}]}]}"

static void check_errors(size_t ours, size_t readers, pdr_reader reader,
                         const char *json)
{
    pdr_value *value = read_value(json);
    struct doc_errors found = doc_errors_of(value, reader);

    ASSERT_SIZE(ours, found.ours);
    ASSERT_SIZE(readers, found.readers);
    pdr_value_free(value);
}

TEST(errors, are_counted_for_us_and_for_a_reader)
{
    check_errors(0, 0, PDR_READER_ANY, "null");
    check_errors(0, 0, PDR_READER_PYTHON, HISTORY(""));
    check_errors(1, 0, PDR_READER_ANY, HISTORY(LOST_CALL));
    check_errors(1, 1, PDR_READER_PYTHON,
                 "{\"data\":{\"conversationHistory\":[]}}");
    check_errors(1, 0, PDR_READER_ANY, "{\"schemaVersion\":\"2.0.0\"}");
}

TEST(set_aside, is_a_list_with_something_in_it)
{
    static const struct {
        const char *json;
        size_t count;
    } rows[] = {{"{}", 0},
                {"{\"orphanResults\":[]}", 0},
                {"{\"orphanResults\":{\"a\":1}}", 0},
                {"{\"orphanResults\":[1,2]}", 2}};

    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        pdr_value *message = read_value(rows[i].json);
        ASSERT_SIZE(rows[i].count, pdr_value_count(doc_set_aside(message)));
        pdr_value_free(message);
    }
}

/* --- turns --------------------------------------------------------------- */

/* "1:0+3 2:1 0:2": number of each turn and its entries; "!" for a failed one,
 * "?" for one without a response. */
static const char *turns_of(const char *history)
{
    static char out[256];
    char json[2048];
    pdr_buf text = PDR_BUF_INIT(sizeof(out) - 1);
    struct doc_turns turns;
    pdr_value *state = NULL;

    snprintf(json, sizeof(json),
             "{\"schemaVersion\":\"1.1.0\",\"data\":{"
             "\"conversationHistory\":[%s]}}",
             history);
    state = read_value(json);
    doc_turns_find(&turns, state);
    for (size_t i = 0; i < turns.count; i++) {
        const struct doc_turn *turn = &turns.items[i];
        cli_putf(&text, "%s%zu:", i > 0 ? " " : "", turn->number);
        for (size_t e = turn->first; e != DOC_NONE; e = turns.next[e])
            cli_putf(&text, "%s%zu", e != turn->first ? "+" : "", e);
        cli_put(&text, turn->is_error ? "!" : "");
        cli_put(&text, turn->number > 0 && !turn->has_response ? "?" : "");
    }
    snprintf(out, sizeof(out), "%.*s", (int)text.len, text.ptr);
    doc_turns_free(&turns);
    pdr_value_free(state);
    pdr_buf_dispose(&text);
    return out;
}

#define REQ(id)  "{\"$type\":\"request\",\"correlationId\":\"" id "\"}"
#define RESP(id) "{\"$type\":\"response\",\"correlationId\":\"" id "\"}"
#define NOTE     "{\"$type\":\"note\"}"

TEST(turns, put_responses_to_their_requests)
{
    ASSERT_STR("", turns_of(""));
    ASSERT_STR("1:0+1 2:2+3",
               turns_of(REQ("a") "," RESP("a") "," REQ("b") "," RESP("b")));
    ASSERT_STR(
        "1:0+3 2:1+4 0:2",
        turns_of(REQ("a") "," REQ("b") "," NOTE "," RESP("a") "," RESP("b")));
}

TEST(turns, take_strange_documents_as_they_are)
{
    /* no answer, no question, an id twice, no ids, no entries at all */
    ASSERT_STR("1:0? 2:1", turns_of(REQ("a") "," RESP("b")));
    ASSERT_STR("1:0+1 2:2+3",
               turns_of(REQ("a") "," RESP("a") "," REQ("a") "," RESP("a")));
    ASSERT_STR("1:0+1+2", turns_of(REQ("a") "," RESP("a") "," RESP("a")));
    ASSERT_STR("1:0 2:1?", turns_of(RESP("a") "," REQ("a")));
    ASSERT_STR("1:0+1", turns_of("{\"$type\":\"request\"},{\"$type\":"
                                 "\"response\",\"correlationId\":null}"));
    ASSERT_STR("0:0 0:1 0:2", turns_of("null,[],7"));
    ASSERT_STR("1:0+1", turns_of(REQ("\\u0061") "," RESP("a")));
    ASSERT_STR("1:0+1", turns_of(REQ("\\ud800") "," RESP("\\ud800")));
}

TEST(turns, know_which_failed)
{
    ASSERT_STR("1:0+1!",
               turns_of(REQ("a") ",{\"$type\":\"response\",\"correlationId\":"
                                 "\"a\",\"isError\":true}"));
}

TEST(results, go_to_calls_by_id_and_in_order)
{
    static const char json[] =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
        "\"$type\":\"response\",\"correlationId\":\"a\",\"messages\":[{"
        "\"role\":\"tool\",\"contents\":["
        "{\"$type\":\"functionResult\",\"callId\":\"c1\",\"result\":1},"
        "{\"$type\":\"text\",\"text\":\"x\"},"
        "{\"$type\":\"functionResult\",\"callId\":\"c2\",\"result\":2},"
        "{\"$type\":\"functionResult\",\"callId\":\"c1\",\"result\":3},"
        "{\"$type\":\"functionCall\",\"callId\":\"c9\",\"name\":\"n\"}"
        "]}]}]}}";
    pdr_value *state = read_value(json), *id = read_value("\"c1\"");
    struct doc_turns turns;
    struct doc_results results;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    doc_turns_find(&turns, state);
    doc_results_find(&results, &turns, &turns.items[0]);
    for (int i = 1; i <= 3; i += 2) {
        struct doc_content c = doc_content_of(doc_results_take(&results, id));
        char digit[] = {(char)('0' + i), '\0'};
        ASSERT_TEXT(digit, doc_result(&c, &scratch));
    }
    ASSERT(doc_results_take(&results, id) == NULL);
    ASSERT(doc_results_take(&results, NULL) == NULL);
    ASSERT(doc_results_pass(&results));
    ASSERT(!doc_results_pass(&results));
    ASSERT(doc_results_pass(&results));
    ASSERT(!doc_results_has_call(&results, id));
    ASSERT(!doc_results_is_asked(&results, id));
    doc_results_free(&results);
    doc_turns_free(&turns);
    pdr_buf_dispose(&scratch);
    pdr_value_free(id);
    pdr_value_free(state);
}

/* --- contents ------------------------------------------------------------ */

TEST(content, comes_out_of_the_unknown_that_wraps_it)
{
    static const struct {
        const char *json;
        enum doc_part part;
    } rows[] = {
        {"{\"$type\":\"text\",\"text\":\"x\"}", DOC_PART_TEXT},
        {"{\"$type\":\"hologram\"}", DOC_PART_UNKNOWN},
        {"7", DOC_PART_UNKNOWN},
        {"{\"$type\":\"unknown\"}", DOC_PART_UNKNOWN},
        {"{\"$type\":\"unknown\",\"content\":{\"$type\":\"hologram\"}}",
         DOC_PART_UNKNOWN},
        {"{\"$type\":\"unknown\",\"content\":{\"$type\":"
         "\"mcpServerToolCall\"}}",
         DOC_PART_CALL},
        {"{\"$type\":\"unknown\",\"content\":{\"type\":"
         "\"mcp_server_tool_result\"}}",
         DOC_PART_RESULT},
        {"{\"$type\":\"unknown\",\"content\":{\"type\":"
         "\"function_approval_request\"}}",
         DOC_PART_APPROVAL},
    };

    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        pdr_value *value = read_value(rows[i].json);
        ASSERT_INT(rows[i].part, doc_content_of(value).part);
        pdr_value_free(value);
    }
    ASSERT_INT(DOC_PART_UNKNOWN, doc_content_of(NULL).part);
}

TEST(data_bytes, are_those_behind_the_coding)
{
    static const struct {
        const char *uri;
        int64_t bytes; /* -1: no data URI */
    } rows[] = {
        {"data:image/png;base64,AQI=", 2},
        {"data:;base64,AQID", 3},
        {"data:;base64,AQ==", 1},
        {"data:;base64,AQ", 1},
        {"data:;base64,", 0},
        {"data:,hello", 5},
        {"DATA:;BASE64,AQID", 3},
        {"data:;base64,====", 0},
        {"data:;base64", -1},
        {"https://a.example/x,y", -1},
        {"", -1},
        {",", -1},
    };

    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        uint64_t bytes = 0;
        bool is_data = doc_data_bytes(&bytes, pdr_str_c(rows[i].uri));
        ASSERT(is_data == (rows[i].bytes >= 0));
        if (is_data)
            ASSERT_INT(rows[i].bytes, (int64_t)bytes);
    }
}

TEST(json_spaced, puts_spaces_between_tokens_and_not_into_strings)
{
    pdr_value *value = read_value("{\"a,b:c\":[1,2.50,\"\\\",:\"],\"d\":{}}");
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_TEXT("{\"a,b:c\": [1, 2.50, \"\\\",:\"], \"d\": {}}",
                doc_json_spaced(value, &scratch));
    pdr_buf_dispose(&scratch);
    pdr_value_free(value);
}

TEST(count_name, is_short_for_what_everybody_has)
{
    ASSERT_TEXT("in", doc_count_name(pdr_str_c("inputTokenCount")));
    ASSERT_TEXT("cached", doc_count_name(pdr_str_c("cachedInputTokenCount")));
    ASSERT_TEXT("audio", doc_count_name(pdr_str_c("audio")));
}

TEST(time, is_told_to_the_second_in_utc)
{
    char out[32];
    pdr_datetime when;

    ASSERT_RC(PDR_OK,
              pdr_datetime_read(
                  &when, pdr_str_c("2026-05-06T09:14:02.9999999+02:00"), NULL));
    ASSERT_STR("2026-05-06 07:14:02", doc_time(out, &when));
}

TEST(text, of_a_lone_surrogate_is_its_escape)
{
    pdr_value *value = read_value("[\"a\\ud800\",7,\"\\u00e4\"]");
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_TEXT("a\\ud800", doc_text(pdr_value_at(value, 0), &scratch));
    ASSERT_SIZE(0, doc_text(pdr_value_at(value, 1), &scratch).len);
    ASSERT_TEXT("ä", doc_text(pdr_value_at(value, 2), &scratch));
    ASSERT_SIZE(0, doc_text(NULL, &scratch).len);
    pdr_buf_dispose(&scratch);
    pdr_value_free(value);
}

TEST(hint, says_what_a_document_looks_like)
{
    static const struct {
        const char *json, *hint;
    } rows[] = {
        {"{\"stateBag\":{}}", "it looks like a session"},
        {"{\"session_id\":\"s\"}", "it looks like a session"},
        {"{\"messages\":[]}", "it looks like a message"},
        {"{\"conversationHistory\":[]}", "this is what belongs into"},
        {"[]", "a state document is one object"},
        {"{}", "a state document has the members"},
        {"{\"data\":{}}", "nobody can tell what it is"},
        {"{\"schemaVersion\":7,\"data\":{}}", "the version is a string"},
        {"{\"schemaVersion\":\"2.0.0\",\"data\":{}}", "only major version 1"},
        {"{\"schemaVersion\":\"1.0.0\"}", "the entries are in"},
        {"{\"schemaVersion\":\"1.0.0\",\"data\":7}", "the entries are in"},
    };

    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        pdr_value *value = read_value(rows[i].json);
        pdr_err err = PDR_ERR_INIT;
        const char *hint = NULL;
        ASSERT(pdr_state_gate(value, &err) != PDR_OK);
        hint = doc_hint(value, &err);
        ASSERT(strncmp(rows[i].hint, hint, strlen(rows[i].hint)) == 0);
        pdr_value_free(value);
    }
}
