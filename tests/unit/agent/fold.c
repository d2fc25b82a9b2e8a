/*
 * Pieces of an answer become messages: which piece begins a new one, which
 * contents are joined, and what the real .NET code made of the same pieces.
 */
#include <perdure.h>

#include "agent.h"
#include "test.h"

/* --- updates as .NET and Python write them ---------------------------------
 */

/* Member `name`, or as Python calls it. */
static const pdr_value *member(const pdr_value *update, const char *name,
                               const char *python)
{
    const pdr_value *value = pdr_value_get_c(update, name);

    return value != NULL ? value : pdr_value_get_c(update, python);
}

static pdr_str text_of(const pdr_value *value, pdr_buf *room)
{
    pdr_str text = {NULL, 0};

    if (value != NULL)
        ASSERT_RC(PDR_OK, pdr_value_text(&text, value, room, NULL));
    return text;
}

/* Fold one update. */
static pdr_rc fold_one(struct pdr__fold *fold, const pdr_value *value,
                       pdr_err *err)
{
    pdr_buf rooms[7];
    const pdr_value *contents[16];
    pdr_update update;
    pdr_datetime at;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    for (size_t i = 0; i < 7; i++)
        rooms[i] = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    memset(&update, 0, sizeof(update));
    update.role = text_of(pdr_value_get_c(value, "role"), &rooms[0]);
    update.author =
        text_of(member(value, "authorName", "author_name"), &rooms[1]);
    update.message_id =
        text_of(member(value, "messageId", "message_id"), &rooms[2]);
    update.finish_reason =
        text_of(member(value, "finishReason", "finish_reason"), &rooms[3]);
    update.response_id =
        text_of(member(value, "responseId", "response_id"), &rooms[4]);
    update.agent_id = text_of(member(value, "agentId", "agent_id"), &rooms[5]);
    update.model = text_of(member(value, "modelId", "model"), &rooms[6]);
    update.properties =
        member(value, "additionalProperties", "additional_properties");
    if (pdr__read_datetime(&at, member(value, "createdAt", "created_at")))
        update.created_at = at.ticks;
    pdr_iter_init(&it, pdr_value_get_c(value, "contents"));
    while (pdr_iter_next(&it))
        contents[update.content_count++] = it.value;
    update.contents = contents;
    test_pause_failures(false);
    rc = pdr__fold_add(fold, &update, err);
    for (size_t i = 0; i < 7; i++)
        pdr_buf_dispose(&rooms[i]);
    return rc;
}

/* Fold an array of updates. */
static void fold_all(struct pdr__fold *fold, const pdr_value *updates,
                     pdr_shape shape)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    pdr__fold_init(fold, shape);
    pdr_iter_init(&it, updates);
    while (pdr_iter_next(&it))
        ASSERT_RC(PDR_OK, fold_one(fold, it.value, &err));
}

/* The response that a fold is. */
static pdr_rc response_of(pdr_response **out, struct pdr__fold *fold,
                          pdr_err *err)
{
    pdr_rc rc = pdr__response_new(out, fold->shape, PDR_LIT(""), err);

    if (rc == PDR_OK)
        rc = pdr__response_add(*out, fold, err);
    for (size_t i = 0; rc == PDR_OK && i < fold->count; i++) {
        rc = pdr__grow((void **)&(*out)->messages, &(*out)->cap, i + 1,
                       sizeof(pdr_value *), err);
        if (rc == PDR_OK)
            rc = pdr__fold_message(&(*out)->messages[i], fold, i, PDR_LIT(""),
                                   err);
        if (rc == PDR_OK)
            (*out)->count++;
    }
    return rc;
}

/* The messages of a fold, as one JSON array. */
static void expect_fold(const char *expected, const char *updates,
                        pdr_shape shape)
{
    pdr_value *value = NULL, *list = pdr_value_new_array();
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__fold fold;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(updates), NULL, &err));
    fold_all(&fold, value, shape);
    for (size_t i = 0; i < fold.count; i++) {
        pdr_value *message = NULL;

        ASSERT_RC(PDR_OK,
                  pdr__fold_message(&message, &fold, i, PDR_LIT(""), &err));
        ASSERT_RC(PDR_OK, pdr_value_append(&list, message, &err));
        pdr_value_free(message);
    }
    ASSERT_RC(PDR_OK, pdr_json_write(&text, list, NULL, &err));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    ASSERT_STR("", err.reason); /* a success leaves it alone */
    pdr_buf_dispose(&text);
    pdr__fold_dispose(&fold);
    pdr_value_free(list);
    pdr_value_free(value);
}

#define T(text) "{\"$type\":\"text\",\"text\":\"" text "\"}"
#define R(text) "{\"$type\":\"reasoning\",\"text\":\"" text "\"}"

static pdr_value *json(const char *text)
{
    pdr_value *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&out, pdr_str_c(text), NULL, &err) != PDR_OK)
        fail_msg("%s: %s", err.message, text);
    return out;
}

static pdr_value *json_of(const char *path)
{
    size_t len = 0;
    char *text = test_read_data(path, &len);
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&out, pdr_str_n(text, len), NULL, NULL));
    free(text);
    return out;
}

/* --- what the real packages made -------------------------------------------
 */

TEST(fold, makes_of_updates_what_dotnet_made_byte_for_byte)
{
    pdr_value *updates = json_of("dotnet/sessions/updates-streamed.json");
    pdr_value *made = NULL;
    pdr_response *response = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    size_t len = 0;
    char *wanted = test_read_data("dotnet/sessions/response-folded.json", &len);
    struct pdr__fold fold;
    pdr_err err = PDR_ERR_INIT;

    fold_all(&fold, updates, PDR_SHAPE_DOTNET);
    ASSERT_RC(PDR_OK, response_of(&response, &fold, &err));
    ASSERT_RC(PDR_OK,
              pdr_response_value(&made, response, PDR_SHAPE_DOTNET, &err));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, made, NULL, &err));
    while (len > 0 && wanted[len - 1] == '\n')
        len--;
    ASSERT_BYTES(pdr_str_n(wanted, len), pdr_buf_str(&text));
    ASSERT_TEXT("r-9", pdr_response_id(response));
    ASSERT_TEXT("agent-7", pdr_response_agent_id(response));
    pdr_buf_dispose(&text);
    pdr_value_free(made);
    pdr_response_free(response);
    pdr__fold_dispose(&fold);
    pdr_value_free(updates);
    free(wanted);
}

static void expect_like(const pdr_value *wanted, const pdr_value *made)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool same = false;

    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, wanted, made, NULL));
    if (!same) {
        ASSERT_RC(PDR_OK, pdr_json_write(&text, made, NULL, NULL));
        fail_msg("%.*s", (int)text.len, text.ptr);
    }
}

/* A response comes back from the updates that an edition made of it, but for
 * its token; Python loses the properties of messages there. */
TEST(fold, makes_a_response_of_its_updates)
{
    static const struct {
        const char *updates, *response;
        pdr_shape shape;
        const char *differ[4]; /* set to null on both sides */
    } cases[] = {
        {"dotnet/sessions/response-updates.json",
         "dotnet/sessions/response.json",
         PDR_SHAPE_DOTNET,
         {"/continuationToken", "/createdAt", "/messages/0/createdAt",
          "/messages/1/createdAt"}},
        {"python/sessions/response-updates.json",
         "python/sessions/response.json",
         PDR_SHAPE_PYTHON,
         {"/continuation_token", "/created_at",
          "/messages/0/additional_properties",
          "/messages/1/additional_properties"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *updates = json_of(cases[i].updates);
        pdr_value *wanted = json_of(cases[i].response), *made = NULL;
        pdr_value *null = pdr_value_new_null();
        pdr_response *response = NULL;
        struct pdr__fold fold;
        pdr_err err = PDR_ERR_INIT;

        fold_all(&fold, updates, cases[i].shape);
        ASSERT_RC(PDR_OK, response_of(&response, &fold, &err));
        ASSERT_RC(PDR_OK,
                  pdr_response_value(&made, response, cases[i].shape, &err));
        for (size_t k = 0; k < 4; k++) {
            pdr_str at = pdr_str_c(cases[i].differ[k]);

            ASSERT_RC(PDR_OK, pdr_pointer_set(&wanted, at, null, &err));
            ASSERT_RC(PDR_OK, pdr_pointer_set(&made, at, null, &err));
        }
        expect_like(wanted, made);
        pdr_value_free(null);
        pdr_value_free(made);
        pdr_value_free(wanted);
        pdr_response_free(response);
        pdr__fold_dispose(&fold);
        pdr_value_free(updates);
    }
}

/* Python's own rules differ for annotations and property maps; all else is the
 * same. */
TEST(fold, makes_of_python_updates_what_both_rules_agree_on)
{
    pdr_value *updates = json_of("python/sessions/updates-streamed.json");
    pdr_value *wanted = json_of("python/sessions/response-folded.json");
    pdr_value *made = NULL;
    pdr_response *response = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__fold fold;
    const pdr_value *ours = NULL, *theirs = NULL;
    pdr_err err = PDR_ERR_INIT;

    fold_all(&fold, updates, PDR_SHAPE_PYTHON);
    ASSERT_RC(PDR_OK, response_of(&response, &fold, &err));
    ASSERT_RC(PDR_OK,
              pdr_response_value(&made, response, PDR_SHAPE_PYTHON, &err));
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"response_id", "created_at"};

        ASSERT(pdr_value_equal(pdr_value_get_c(wanted, names[i]),
                               pdr_value_get_c(made, names[i])));
    }
    ASSERT_RC(PDR_OK, pdr_pointer_get(&theirs, wanted,
                                      PDR_LIT("/messages/0/contents/0"), &err));
    ASSERT_RC(PDR_OK, pdr_pointer_get(&ours, made,
                                      PDR_LIT("/messages/0/contents/0"), &err));
    ASSERT(pdr_value_equal(theirs, ours));
    ASSERT_RC(PDR_OK, pdr_response_text(&text, response, &err));
    ASSERT_TEXT("Two nights, please.", pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_value_free(made);
    pdr_value_free(wanted);
    pdr_response_free(response);
    pdr__fold_dispose(&fold);
    pdr_value_free(updates);
}

TEST(fold, puts_calls_together_as_python_did)
{
    pdr_value *updates = json_of("python/sessions/updates-merge-modes.json");
    pdr_value *wanted = json_of("python/sessions/response-merge-modes.json");
    pdr_response *response = NULL;
    struct pdr__fold fold;
    pdr_err err = PDR_ERR_INIT;

    fold_all(&fold, updates, PDR_SHAPE_PYTHON);
    ASSERT_RC(PDR_OK, response_of(&response, &fold, &err));
    ASSERT_SIZE(2, response->count);
    for (size_t i = 1; i < 3; i++)
        ASSERT(pdr_value_equal(
            pdr_value_at(
                pdr_message_contents(
                    pdr_value_at(pdr_value_get_c(wanted, "messages"), 0),
                    PDR_SHAPE_PYTHON),
                i),
            pdr_value_at(
                pdr_message_contents(response->messages[0], PDR_SHAPE_PYTHON),
                i)));
    expect_like(pdr_value_at(pdr_value_get_c(wanted, "messages"), 1),
                response->messages[1]);
    ASSERT_TEXT("ag-2", pdr_response_agent_id(response));
    pdr_response_free(response);
    pdr__fold_dispose(&fold);
    pdr_value_free(wanted);
    pdr_value_free(updates);
}

/* --- messages and what is said of a response -------------------------------
 */

TEST(fold, keeps_what_updates_say_of_the_response)
{
    pdr_value *updates = json(
        "[{\"role\":\"assistant\",\"messageId\":\"1\",\"createdAt\":"
        "\"2026-01-01T00:00:00Z\",\"agentId\":\"a\",\"responseId\":"
        "\"r-1\",\"modelId\":\"m-1\",\"contents\":[" T(
            "Hello") "]},"
                     "{\"role\":\"human\",\"authorName\":\"S\",\"contents\":[" T(
                         ", ") "],\"additionalProperties\":{\"a\":\"b\"}},"
                               "{\"contents\":[" T(
                                   "world!") "],\"createdAt\":"
                                             "\"2026-01-02T00:00:00Z\",\"additionalProperties\":"
                                             "{\"c\":\"d\"},\"modelId\":\"m-2\"},"
                                             "{\"contents\":[{\"$type\":\"usage\",\"details\":{"
                                             "\"inputTokenCount\":1,\"outputTokenCount\":2}}]},"
                                             "{\"contents\":[{\"$type\":\"usage\",\"details\":{"
                                             "\"inputTokenCount\":4,\"outputTokenCount\":5}}]}]");
    pdr_value *made = NULL;
    pdr_response *response = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__fold fold;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-120");
    fold_all(&fold, updates, PDR_SHAPE_DOTNET);
    ASSERT_RC(PDR_OK, response_of(&response, &fold, &err));
    ASSERT_TEXT("m-2", pdr_response_model(response));
    ASSERT_INT(PDR_TICKS_UNIX_EPOCH +
                   INT64_C(1767225600) * PDR_TICKS_PER_SECOND,
               pdr_response_created_at(response));
    ASSERT_SIZE(2, pdr_value_count(pdr_response_properties(response)));
    ASSERT_RC(PDR_OK,
              pdr_response_value(&made, response, PDR_SHAPE_DOTNET, &err));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, made, NULL, &err));
    ASSERT_TEXT(
        "{\"messages\":[{\"createdAt\":\"2026-01-01T00:00:00+00:00\",\"role\":"
        "\"assistant\",\"contents\":[" T(
            "Hello") "],\"messageId\":\"1\"},"
                     "{\"authorName\":\"S\",\"createdAt\":\"2026-01-02T00:00:00+00:00\""
                     ",\"role\":\"human\",\"contents\":[" T(
                         ", world!") "]}],\"agentId\":\"a\",\"responseId\":\"r-1\","
                                     "\"createdAt\":\"2026-01-01T00:00:00+00:00\",\"usage\":{"
                                     "\"inputTokenCount\":5,\"outputTokenCount\":7},"
                                     "\"additionalProperties\":{\"a\":\"b\",\"c\":\"d\"}}",
        pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_value_free(made);
    pdr_response_free(response);
    pdr__fold_dispose(&fold);
    pdr_value_free(updates);
}

TEST(response_value, of_nothing_has_what_each_edition_always_writes)
{
    static const struct {
        pdr_shape shape;
        const char *expected;
    } cases[] = {
        {PDR_SHAPE_DOTNET, "{\"messages\":[]}"},
        {PDR_SHAPE_PYTHON, "{\"type\":\"agent_response\",\"messages\":[],"
                           "\"additional_properties\":{}}"},
    };

    for (size_t i = 0; i < 2; i++) {
        pdr_response *response = NULL;
        pdr_value *made = NULL;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr__response_new(&response, PDR_SHAPE_STATE,
                                            PDR_LIT(""), &err));
        ASSERT(pdr_response_properties(response) == NULL);
        ASSERT_INT(0, pdr_response_created_at(response));
        ASSERT_RC(PDR_OK,
                  pdr_response_value(&made, response, cases[i].shape, &err));
        ASSERT_RC(PDR_OK, pdr_json_write(&text, made, NULL, &err));
        ASSERT_TEXT(cases[i].expected, pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        pdr_value_free(made);
        pdr_response_free(response);
    }
}

TEST(fold, begins_a_message_where_author_id_or_role_differ)
{
    static const struct {
        const char *first, *second; /* members of two updates */
        size_t messages;
    } cases[] = {
        {"\"authorName\":\"A\"", "\"authorName\":\"B\"", 2},
        {"\"authorName\":\"A\"", "\"authorName\":\"A\"", 1},
        {"\"authorName\":\"A\"", "\"role\":\"assistant\"", 1},
        {"\"messageId\":\"1\"", "\"messageId\":\"2\"", 2},
        {"\"messageId\":\"1\"", "\"authorName\":\"A\"", 1},
        {"\"role\":\"Assistant\"", "\"role\":\"ASSISTANT\"", 1},
        {"\"role\":\"assistant\"", "\"role\":\"tool\"", 2},
        {"\"messageId\":\"1\"", "\"role\":\"tool\"", 2}, /* it was assistant */
    };

    COVERS("S-126");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *updates = NULL;
        struct pdr__fold fold;
        char text[200];

        snprintf(text, sizeof(text), "[{%s},{%s}]", cases[i].first,
                 cases[i].second);
        updates = json(text);
        fold_all(&fold, updates, PDR_SHAPE_DOTNET);
        if (fold.count != cases[i].messages)
            fail_msg("%s: %zu messages", text, fold.count);
        pdr__fold_dispose(&fold);
        pdr_value_free(updates);
    }
}

TEST(fold, sums_usage_and_keeps_what_the_response_says)
{
    pdr_value *value = NULL;
    struct pdr__fold fold;
    int64_t count = 0;

    ASSERT_RC(PDR_OK,
              pdr_json_read(
                  &value,
                  pdr_str_c("[{\"contents\":[{\"$type\":\"usage\",\"details\":{"
                            "\"inputTokenCount\":1,\"outputTokenCount\":2,"
                            "\"additionalCounts\":{\"x\":1}}}],"
                            "\"additionalProperties\":{\"a\":1,\"b\":1}},"
                            "{\"contents\":[{\"$type\":\"usage\",\"details\":{"
                            "\"inputTokenCount\":9223372036854775807,"
                            "\"outputTokenCount\":5,\"additionalCounts\":{"
                            "\"x\":2}}}],\"additionalProperties\":{\"b\":2}}]"),
                  NULL, NULL));
    fold_all(&fold, value, PDR_SHAPE_DOTNET);
    ASSERT(pdr_usage_count(&count, fold.usage, PDR_LIT("outputTokenCount")));
    ASSERT_INT(7, count);
    ASSERT(pdr_usage_count(&count, fold.usage, PDR_LIT("inputTokenCount")));
    ASSERT_INT(INT64_MAX, count);
    ASSERT(pdr_usage_count(&count, fold.usage, PDR_LIT("x")));
    ASSERT_INT(3, count);
    ASSERT_SIZE(2, pdr_value_count(fold.properties));
    ASSERT_RC(PDR_OK, pdr_value_int64(
                          &count, pdr_value_get_c(fold.properties, "b"), NULL));
    ASSERT_INT(2, count);
    pdr__fold_dispose(&fold);
    pdr_value_free(value);
}

TEST(fold, joins_neighbours_of_one_kind_and_no_others)
{
    COVERS("S-121");
    COVERS("S-123");
    COVERS("S-124");
    expect_fold(
        "[{\"role\":\"assistant\",\"contents\":[" T("ABC") "," R("DEF") "," T(
            "GH") "]}]",
        "[{\"contents\":[" T("A") "," T("B") "," T("C") "," R(
            "D") "]},{\"contents\":[" R("E") "," R("F") "," T("G") "]},"
                                                                   "{\"contents\":[" T(
                                                                       "H") "]}]",
        PDR_SHAPE_DOTNET);
    expect_fold(
        "[{\"role\":\"assistant\",\"contents\":[" T(
            "12") ",{\"$type\":\"uri\",\"uri\":\"u:1\",\"mediaType\":"
                  "\"image/png\"}," T("3") "]}]",
        "[{\"contents\":[" T("1") "," T(
            "2") ",{\"$type\":\"uri\","
                 "\"uri\":\"u:1\",\"mediaType\":\"image/png\"}," T("3") "]}]",
        PDR_SHAPE_DOTNET);
    expect_fold(
        "[{\"role\":\"assistant\",\"contents\":[" T(
            "1") ",{\"$type\":\"text\",\"text\":\"2\",\"annotations\":[{"
                 "\"$type\":\"citation\"}]}," T("3") "]}]",
        "[{\"contents\":[" T(
            "1") ",{\"$type\":\"text\",\"text\":\"2\","
                 "\"annotations\":[{\"$type\":\"citation\"}]}," T("3") "]}]",
        PDR_SHAPE_DOTNET);
    /* A thought that ends with what the provider encrypted is whole. */
    expect_fold(
        "[{\"role\":\"assistant\",\"contents\":[{\"$type\":"
        "\"reasoning\",\"text\":\"ab\",\"protectedData\":\"p\"}," R("c") "]}]",
        "[{\"contents\":[" R("a") ",{\"$type\":\"reasoning\",\"text\":"
                                  "\"b\",\"protectedData\":\"p\"}," R(
                                      "c") "]}]",
        PDR_SHAPE_DOTNET);
}

#define DATA(uri, more) "{\"$type\":\"data\",\"uri\":\"" uri "\"" more "}"
#define IMAGE(id, more) \
    "{\"$type\":\"imageGenerationToolResult\"," more "\"callId\":\"" id "\"}"
#define SEARCH(id, more) \
    "{\"$type\":\"webSearchToolCall\"," more "\"callId\":\"" id "\"}"
#define CODE(id, more) \
    "{\"$type\":\"codeInterpreterToolCall\"," more "\"callId\":\"" id "\"}"
#define OUTPUT(id, more) \
    "{\"$type\":\"codeInterpreterToolResult\"," more "\"callId\":\"" id "\"}"
#define NOTED(text)                                                \
    "{\"$type\":\"text\",\"text\":\"" text "\",\"annotations\":[{" \
    "\"$type\":\"citation\"}]}"

static const struct {
    const char *pieces, *joined;
} joins[] = {
    /* text: what the first has beside stays; not across annotations */
    {"{\"$type\":\"text\",\"text\":\"a\",\"additionalProperties\":{"
     "\"k\":1}}," T("b"),
     "{\"$type\":\"text\",\"text\":\"ab\",\"additionalProperties\":{"
     "\"k\":1}}"},
    {NOTED("1") "," NOTED("2"), NOTED("1") "," NOTED("2")},
    {"{\"$type\":\"text\",\"text\":\"a\",\"annotations\":[]}," T("b"),
     "{\"$type\":\"text\",\"text\":\"ab\",\"annotations\":[]}"},
    {"{\"$type\":\"text\"}," T("b"), T("b")},
    {T("\\ud83d") "," T("\\ude00"), T("\\ud83d\\ude00")},
    /* reasoning: not after what the provider encrypted, unless empty */
    {R("a") ",{\"$type\":\"reasoning\",\"text\":\"b\",\"protectedData\":"
            "\"p\",\"additionalProperties\":{}}," R("c") "," R("d"),
     "{\"$type\":\"reasoning\",\"text\":\"ab\",\"protectedData\":\"p\"}," R(
         "cd")},
    {"{\"$type\":\"reasoning\",\"text\":\"a\",\"protectedData\":\"\","
     "\"additionalProperties\":{}}," R("b"),
     "{\"$type\":\"reasoning\",\"text\":\"ab\",\"protectedData\":\"\","
     "\"additionalProperties\":{}}"},
    /* data: bytes of text files of one type and name */
    {DATA("data:text/plain;base64,YQ==",
          "") "," DATA("data:text/plain;base64,YmM=", ""),
     DATA("data:text/plain;base64,YWJj", "")},
    {DATA("data:text/csv;base64,YQ==", ",\"name\":\"n\"") "," DATA(
         "data:text/csv;base64,Yg==",
         ",\"name\":\"n\"") "," DATA("data:text/csv;base64,Yw==",
                                     ",\"name\":\"m\""),
     DATA("data:text/csv;base64,YWI=", ",\"name\":\"n\"") "," DATA(
         "data:text/csv;base64,Yw==", ",\"name\":\"m\"")},
    {DATA("data:text/csv;base64,YQ==",
          ",\"name\":\"n\"") "," DATA("data:text/csv;base64,Yg==", ""),
     DATA("data:text/csv;base64,YQ==",
          ",\"name\":\"n\"") "," DATA("data:text/csv;base64,Yg==", "")},
    {DATA("data:text/csv;base64,YQ==",
          "") "," DATA("data:text/plain;base64,Yg==", ""),
     DATA("data:text/csv;base64,YQ==",
          "") "," DATA("data:text/plain;base64,Yg==", "")},
    {DATA("data:image/png;base64,YQ==",
          "") "," DATA("data:image/png;base64,Yg==", ""),
     DATA("data:image/png;base64,YQ==",
          "") "," DATA("data:image/png;base64,Yg==", "")},
    /* what is not in base64 stays as it is */
    {DATA("data:text/plain,a", "") "," DATA("data:text/plain;base64,Yg==", ""),
     DATA("data:text/plain,a", "") "," DATA("data:text/plain;base64,Yg==", "")},
    {DATA("data:text/plain;base64,YQ==",
          "") "," DATA("data:text/plain;base64,Y", ""),
     DATA("data:text/plain;base64,YQ==",
          "") "," DATA("data:text/plain;base64,Y", "")},
    /* images: the last one of an id, at the place of the first */
    {IMAGE("1", "\"outputs\":[],") "," T("a") "," IMAGE("2", "") "," IMAGE(
         "1", "\"outputs\":[1],") "," T("b"),
     IMAGE("1", "\"outputs\":[1],") "," T("a") "," IMAGE("2", "") "," T("b")},
    {IMAGE("", "") "," IMAGE("", ""), IMAGE("", "") "," IMAGE("", "")},
    {T("a") "," IMAGE("1", "") "," T("b") "," IMAGE("1", "") "," T("c"),
     T("a") "," IMAGE("1", "") "," T("b") "," T("c")},
    {IMAGE("1", "") "," DATA("data:text/csv;base64,YQ==", "") "," IMAGE(
         "1", "") "," DATA("data:text/csv;base64,Yg==", ""),
     IMAGE("1", "") "," DATA("data:text/csv;base64,YWI=", "")},
    /* searches: the queries of all; an image may have the same id */
    {SEARCH("1", "\"queries\":[\"a\"],") "," T("x") "," IMAGE("1", "") "," SEARCH(
         "1", "\"queries\":[\"b\",\"c\"],") "," SEARCH("2",
                                                       "\"queries\":[\"d\"],"),
     SEARCH("1", "\"queries\":[\"a\",\"b\",\"c\"],") "," T("x") "," IMAGE(
         "1", "") "," SEARCH("2", "\"queries\":[\"d\"],")},
    {SEARCH("1", "") "," SEARCH("1", ""), SEARCH("1", "")},
    {SEARCH("1", "") "," SEARCH("1", "\"queries\":[\"b\"],"),
     SEARCH("1", "\"queries\":[\"b\"],")},
    /* code: neighbours of one call; what is in them is joined, too */
    {CODE("1", "\"inputs\":[" T("a") "],") "," CODE(
         "1", "\"inputs\":[" T("b") "," T("c") "],"),
     CODE("1", "\"inputs\":[" T("abc") "],")},
    {CODE("1", "\"inputs\":[" T("a") "," T("b") "],"),
     CODE("1", "\"inputs\":[" T("ab") "],")},
    {CODE("1", "") "," CODE("1", ""), CODE("1", "\"inputs\":[],")},
    {CODE("1", "") "," CODE("2", ""), CODE("1", "") "," CODE("2", "")},
    {CODE("1", "\"inputs\":[" T("a") "],") "," T("x") "," CODE(
         "1", "\"inputs\":[" T("b") "],"),
     CODE("1", "\"inputs\":[" T("a") "],") "," T("x") "," CODE(
         "1", "\"inputs\":[" T("b") "],")},
    {OUTPUT("1", "\"outputs\":[" T("a") "],") "," OUTPUT(
         "1", "\"outputs\":[" T("b") "],") "," CODE("1", ""),
     OUTPUT("1", "\"outputs\":[" T("ab") "],") "," CODE("1", "")},
    {OUTPUT("1", "\"outputs\":5,") "," OUTPUT("1", ""),
     OUTPUT("1", "\"outputs\":5,") "," OUTPUT("1", "")},
    /* half a surrogate pair is not a media type */
    {DATA("data:text/\\ud800;base64,YQ==",
          "") "," DATA("data:text/\\ud800;base64,YQ==", ""),
     DATA("data:text/\\ud800;base64,YQ==",
          "") "," DATA("data:text/\\ud800;base64,YQ==", "")},
    /* nobody knows it */
    {"{\"$type\":\"new\"},{\"$type\":\"new\"},7",
     "{\"$type\":\"new\"},{\"$type\":\"new\"},7"},
};

TEST(fold, joins_contents_by_the_table)
{
    for (size_t i = 0; i < sizeof(joins) / sizeof(joins[0]); i++) {
        char updates[1024], expected[1024];

        snprintf(updates, sizeof(updates), "[{\"contents\":[%s]}]",
                 joins[i].pieces);
        snprintf(expected, sizeof(expected),
                 "[{\"role\":\"assistant\",\"contents\":[%s]}]",
                 joins[i].joined);
        expect_fold(expected, updates, PDR_SHAPE_DOTNET);
    }
}

/* Python has no queries, and its images have ids of their own. */
TEST(fold, joins_contents_of_python_by_the_same_table)
{
#define P "[{\"role\":\"assistant\",\"contents\":["
#define Q "],\"additional_properties\":{},\"type\":\"message\"}]"
    static const char search[] =
        "{\"type\":\"search_tool_call\",\"call_id\":\"1\",\"arguments\":{}}";
    char updates[512], expected[512];

    snprintf(updates, sizeof(updates), "[{\"contents\":[%s,%s]}]", search,
             search);
    snprintf(expected, sizeof(expected), P "%s,%s" Q, search, search);
    expect_fold(expected, updates, PDR_SHAPE_PYTHON);
    expect_fold(
        P "{\"type\":\"image_generation_tool_result\",\"outputs\":[],"
          "\"image_id\":\"1\"}" Q,
        "[{\"contents\":[{\"type\":\"image_generation_tool_result\","
        "\"image_id\":\"1\"},{\"type\":\"image_generation_tool_result\","
        "\"outputs\":[],\"image_id\":\"1\"}]}]",
        PDR_SHAPE_PYTHON);
    expect_fold(P "{\"type\":\"text_reasoning\",\"text\":\"ab\","
                  "\"protected_data\":\"p\",\"id\":\"1\"}" Q,
                "[{\"contents\":[{\"type\":\"text_reasoning\",\"text\":\"a\","
                "\"id\":\"1\"},{\"type\":\"text_reasoning\",\"text\":\"b\","
                "\"protected_data\":\"p\",\"id\":\"1\"}]}]",
                PDR_SHAPE_PYTHON);
}

TEST(fold, keeps_the_first_time_after_1970)
{
    COVERS("S-122");
    expect_fold("[{\"createdAt\":\"2026-01-01T00:00:00+00:00\",\"role\":"
                "\"assistant\",\"contents\":[]}]",
                "[{\"createdAt\":\"1970-01-01T00:00:00Z\",\"contents\":[]},"
                "{\"createdAt\":\"2026-01-01T00:00:00Z\",\"contents\":[]},"
                "{\"createdAt\":\"2026-01-02T00:00:00Z\",\"contents\":[]}]",
                PDR_SHAPE_DOTNET);
}

#define C(id, arguments)                                                 \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"," \
    "\"arguments\":\"" arguments "\"}"
#define A "{\\\"a\\\""

TEST(fold, puts_the_fragments_of_a_call_together)
{
    static const struct {
        const char *pieces;
        size_t calls;
        const char *arguments; /* of the first */
    } cases[] = {
        {C("1", A) "," C("1", ":1}"), 1, "{\"a\":1}"},
        {C("1", "") "," C("1", A) "," C("1", ":1}"), 1, "{\"a\":1}"},
        {C("1", A) "," C("2", "{}") "," C("1", ":1}"), 2, "{\"a\":1}"},
        {C("1", A) "," C("2", A) "," C("1", ":1}") "," C("2", ":2}"), 2,
         "{\"a\":1}"},
        {C("1", A) "," C("", ":1}"), 1, "{\"a\":1}"},
        {C("", A) "," C("", ":1}"), 1, "{\"a\":1}"},
        {C("1", A) "," C("2", "{}") "," C("", ":1}"), 3, "{\"a\""},
        /* brackets and quotes in strings are not counted */
        {C("1", "[\\\"}]\\\\\\\"") "," C("1", "{\\\"]"), 1, "[\"}]\\\"{\"]"},
        /* two whole calls with one id; what is no fragment of anything */
        {C("1", A ":1}") "," C("1", "{}"), 2, "{\"a\":1}"},
        {C("1", " 7") "," C("1", "{}"), 2, " 7"},
        {C("1", "}") "," C("1", "{}"), 2, "}"},
        /* it never ended */
        {C("1", A) "," C("1", ":"), 1, "{\"a\":"},
        {C("1", A), 1, "{\"a\""},
        {C("1", "\\ud800") "," C("1", "{}"), 2, NULL},
    };

    COVERS("S-125");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *updates = NULL, *message = NULL;
        const pdr_value *contents = NULL;
        struct pdr__fold fold;
        char all[600];
        pdr_err err = PDR_ERR_INIT;

        snprintf(all, sizeof(all), "[{\"contents\":[%s]}]", cases[i].pieces);
        updates = json(all);
        fold_all(&fold, updates, PDR_SHAPE_PYTHON);
        ASSERT_RC(PDR_OK,
                  pdr__fold_message(&message, &fold, 0, PDR_LIT(""), &err));
        contents = pdr_message_contents(message, PDR_SHAPE_PYTHON);
        if (pdr_value_count(contents) != cases[i].calls)
            fail_msg("%zu calls of %s", pdr_value_count(contents), all);
        if (cases[i].arguments != NULL) {
            ASSERT_RC(PDR_OK,
                      pdr_content_arguments(&text, pdr_value_at(contents, 0),
                                            PDR_SHAPE_PYTHON, &err));
            ASSERT_TEXT(cases[i].arguments, pdr_buf_str(&text));
        }
        pdr_buf_dispose(&text);
        pdr_value_free(message);
        pdr__fold_dispose(&fold);
        pdr_value_free(updates);
    }
}

/* The same in shapes where arguments are an object: half of one is kept as a
 * text beside them. */
TEST(fold, puts_fragments_together_where_arguments_are_an_object)
{
    static const pdr_shape shapes[] = {PDR_SHAPE_STATE, PDR_SHAPE_DOTNET};

    for (size_t i = 0; i < 2; i++) {
        static const char *const parts[] = {"{\"a\"", ":[1", "]}"};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *message = NULL;
        struct pdr__fold fold;
        const pdr_value *call = NULL;
        pdr_err err = PDR_ERR_INIT;

        pdr__fold_init(&fold, shapes[i]);
        for (size_t k = 0; k < 3; k++) {
            pdr_value *piece = NULL;
            const pdr_value *one[1];

            ASSERT_RC(PDR_OK, pdr_content_new_call(&piece, shapes[i],
                                                   PDR_LIT("c-1"), PDR_LIT("f"),
                                                   pdr_str_c(parts[k]), &err));
            one[0] = piece;
            ASSERT_RC(PDR_OK, pdr__fold_add(&fold,
                                            &(pdr_update){.contents = one,
                                                          .content_count = 1},
                                            &err));
            pdr_value_free(piece);
        }
        ASSERT_RC(PDR_OK,
                  pdr__fold_message(&message, &fold, 0, PDR_LIT("a"), &err));
        call = pdr_value_at(pdr_message_contents(message, shapes[i]), 0);
        ASSERT(pdr_value_text_is(
            pdr_content_get(call, shapes[i], PDR_FIELD_CALL_ID),
            PDR_LIT("c-1")));
        ASSERT(pdr_content_get(call, shapes[i], PDR_FIELD_ARGUMENTS) != NULL);
        ASSERT_RC(PDR_OK, pdr_content_arguments(&text, call, shapes[i], &err));
        ASSERT_TEXT("{\"a\":[1]}", pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        pdr_value_free(message);
        pdr__fold_dispose(&fold);
    }
}

/* What each step takes for a while, all together: grows as the pieces do. A
 * fold that made the whole text anew with each piece would take a thousandfold.
 */
TEST(fold, takes_no_more_for_the_last_piece_than_for_the_first)
{
    enum { PIECES = 20000, BYTES_EACH = 400 };
    static const char *const pieces[] = {T("a"), R("a"),
                                         C("1", "[\\\"text\\\",")};

    for (size_t i = 0; i < 3; i++) {
        pdr_value *piece = json(pieces[i]), *message = NULL;
        const pdr_value *one[] = {piece};
        const pdr_update update = {.contents = one, .content_count = 1};
        size_t taken = 0, before = 0;
        struct pdr__fold fold;
        pdr_err err = PDR_ERR_INIT;

        pdr__fold_init(&fold, i < 2 ? PDR_SHAPE_DOTNET : PDR_SHAPE_PYTHON);
        for (size_t n = 0; n <= PIECES; n++) {
            before = test_live_bytes();
            test_reset_peak();
            ASSERT_RC(PDR_OK, n < PIECES
                                  ? pdr__fold_add(&fold, &update, &err)
                                  : pdr__fold_message(&message, &fold, 0,
                                                      PDR_LIT(""), &err));
            taken += test_peak_bytes() - before;
        }
        if (taken > PIECES * BYTES_EACH)
            fail_msg("%zu bytes a piece of %s", taken / PIECES, pieces[i]);
        ASSERT_SIZE(1, pdr_value_count(pdr_value_get_c(message, "contents")));
        pdr_value_free(message);
        pdr__fold_dispose(&fold);
        pdr_value_free(piece);
    }
}

TEST_OOM(fold, cleans_up_after_any_failed_allocation)
{
    static const char all[] =
        "[{\"role\":\"assistant\",\"messageId\":\"1\",\"createdAt\":"
        "\"2026-01-01T00:00:00Z\",\"agentId\":\"a\",\"responseId\":"
        "\"r-1\",\"modelId\":\"m-1\",\"finishReason\":\"stop\",\"contents\":[" R(
            "a") ",{\"$type\":\"reasoning\",\"text\":\"b\",\"protectedData\":"
                 "\"p\",\"additionalProperties\":{}}," T("a") "," T("b") "," DATA("data:text/plain;base64,YQ==", "") "," DATA(
                     "data:text/plain;base64,YmM=",
                     "") "," IMAGE("1",
                                   "") "," IMAGE("1",
                                                 "") "," SEARCH("1",
                                                                "") "," SEARCH("1",
                                                                               "\"queries\":[\"b\"],") "," CODE("1",
                                                                                                                "") "," CODE("1",
                                                                                                                             "\"inputs\":[" T("b") "," T(
                                                                                                                                 "c") "],") "]},{\"additionalProperties\":{\"a\":1}},"
                                                                                                                                            "{\"contents\":[{\"$type\":\"functionCall\",\"callId\":\"9\",\"name\":"
                                                                                                                                            "\"f\",\"arguments\":{}},{\"$type\":\"usage\",\"details\":{"
                                                                                                                                            "\"inputTokenCount\":1,\"additionalCounts\":{\"x\":1}}}]}]";
    pdr_value *updates = NULL, *made = NULL, *halves[2] = {NULL, NULL};
    pdr_response *response = NULL;
    struct pdr__fold fold;
    pdr_iter it;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    updates = json(all);
    for (size_t i = 0; i < 2; i++)
        ASSERT_RC(PDR_OK,
                  pdr_content_new_call(&halves[i], PDR_SHAPE_DOTNET,
                                       PDR_LIT("c"), PDR_LIT("f"),
                                       pdr_str_c(i == 0 ? "{" : "}"), &err));
    test_pause_failures(false);
    pdr__fold_init(&fold, PDR_SHAPE_DOTNET);
    pdr_iter_init(&it, updates);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = fold_one(&fold, it.value, &err);
    for (size_t i = 0; rc == PDR_OK && i < 2; i++) {
        const pdr_value *one[] = {halves[i]};

        rc = pdr__fold_add(
            &fold, &(pdr_update){.contents = one, .content_count = 1}, &err);
    }
    if (rc == PDR_OK)
        rc = response_of(&response, &fold, &err);
    for (int i = 0; rc == PDR_OK && i < 2; i++) {
        rc = pdr_response_value(&made, response,
                                i == 0 ? PDR_SHAPE_DOTNET : PDR_SHAPE_PYTHON,
                                &err);
        ASSERT((made != NULL) == (rc == PDR_OK));
        pdr_value_free(made);
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_response_free(response);
    pdr__fold_dispose(&fold);
    pdr_value_free(updates);
    pdr_value_free(halves[0]);
    pdr_value_free(halves[1]);
}
