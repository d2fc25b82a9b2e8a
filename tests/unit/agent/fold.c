/*
 * Pieces of an answer become messages: which piece begins a new one, which
 * contents are joined, and what the real .NET code made of the same pieces.
 */
#include <perdure.h>

#include "agent.h"
#include "test.h"

/* --- updates as .NET writes them -------------------------------------------
 */

static pdr_str text_of(const pdr_value *object, const char *name, pdr_buf *room)
{
    const pdr_value *value = pdr_value_get_c(object, name);
    pdr_str text = {NULL, 0};

    if (value != NULL)
        ASSERT_RC(PDR_OK, pdr_value_text(&text, value, room, NULL));
    return text;
}

/* Fold an array of updates; `author` is for messages that name none. */
static void fold_all(struct pdr__fold *fold, const pdr_value *updates,
                     pdr_shape shape)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    pdr__fold_init(fold, shape);
    pdr_iter_init(&it, updates);
    while (pdr_iter_next(&it)) {
        pdr_buf rooms[4];
        const pdr_value *contents[8];
        pdr_datetime at;
        pdr_update update;
        pdr_iter inner;

        for (size_t i = 0; i < 4; i++)
            rooms[i] = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
        memset(&update, 0, sizeof(update));
        update.role = text_of(it.value, "role", &rooms[0]);
        update.author = text_of(it.value, "authorName", &rooms[1]);
        update.message_id = text_of(it.value, "messageId", &rooms[2]);
        update.finish_reason = text_of(it.value, "finishReason", &rooms[3]);
        update.properties = pdr_value_get_c(it.value, "additionalProperties");
        if (pdr__read_datetime(&at, pdr_value_get_c(it.value, "createdAt")))
            update.created_at = at.ticks;
        pdr_iter_init(&inner, pdr_value_get_c(it.value, "contents"));
        while (pdr_iter_next(&inner))
            contents[update.content_count++] = inner.value;
        update.contents = contents;
        ASSERT_RC(PDR_OK, pdr__fold_add(fold, &update, &err));
        for (size_t i = 0; i < 4; i++)
            pdr_buf_dispose(&rooms[i]);
    }
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
    pdr_buf_dispose(&text);
    pdr__fold_dispose(&fold);
    pdr_value_free(list);
    pdr_value_free(value);
}

#define T(text) "{\"$type\":\"text\",\"text\":\"" text "\"}"
#define R(text) "{\"$type\":\"reasoning\",\"text\":\"" text "\"}"

TEST(fold, makes_of_streamed_updates_what_dotnet_made)
{
    size_t len = 0;
    char *updates =
        test_read_data("dotnet/sessions/updates-streamed.json", &len);
    char *folded = NULL;
    pdr_value *value = NULL, *wanted = NULL, *message = NULL;
    struct pdr__fold fold;
    size_t folded_len = 0;
    pdr_err err = PDR_ERR_INIT;

    folded =
        test_read_data("dotnet/sessions/response-folded.json", &folded_len);
    ASSERT_RC(PDR_OK,
              pdr_json_read(&value, pdr_str_n(updates, len), NULL, &err));
    ASSERT_RC(PDR_OK, pdr_json_read(&wanted, pdr_str_n(folded, folded_len),
                                    NULL, &err));
    fold_all(&fold, value, PDR_SHAPE_DOTNET);
    ASSERT_SIZE(1, fold.count);
    ASSERT_RC(PDR_OK, pdr__fold_message(&message, &fold, 0, PDR_LIT(""), &err));
    ASSERT(pdr_value_equal(pdr_value_at(pdr_value_get_c(wanted, "messages"), 0),
                           message));
    ASSERT(pdr_value_equal(pdr_value_get_c(wanted, "usage"), fold.usage));
    ASSERT_TEXT("stop", pdr_buf_str(&fold.finish_reason));
    pdr_value_free(message);
    pdr_value_free(wanted);
    pdr_value_free(value);
    pdr__fold_dispose(&fold);
    free(folded);
    free(updates);
}

TEST(fold, begins_a_message_where_author_id_or_role_differ)
{
    COVERS("S-126");
    expect_fold(
        "[{\"createdAt\":\"2026-01-01T00:00:00+00:00\",\"role\":"
        "\"assistant\",\"contents\":[" T(
            "Hello") "],\"messageId\":"
                     "\"1\"},{\"authorName\":\"S\",\"createdAt\":\"2026-01-02T00:00:"
                     "00+00:00\",\"role\":\"human\",\"contents\":[" T(
                         ", world!") "]}]",
        "[{\"role\":\"assistant\",\"messageId\":\"1\",\"createdAt\":"
        "\"2026-01-01T00:00:00Z\",\"contents\":[" T(
            "Hello") "]},"
                     "{\"role\":\"human\",\"authorName\":\"S\",\"contents\":[" T(
                         ", ") "],\"additionalProperties\":{\"a\":\"b\"}},"
                               "{\"contents\":[" T(
                                   "world!") "],\"createdAt\":"
                                             "\"2026-01-02T00:00:00Z\"},{\"contents\":[{\"$type\":\"usage\","
                                             "\"details\":{\"inputTokenCount\":1,\"outputTokenCount\":2}}]},"
                                             "{\"contents\":[{\"$type\":\"usage\",\"details\":{"
                                             "\"inputTokenCount\":4,\"outputTokenCount\":5}}]}]",
        PDR_SHAPE_DOTNET);
    expect_fold(
        "[{\"authorName\":\"A\",\"role\":\"assistant\",\"contents\":[" T(
            "1") "]},{\"authorName\":\"B\",\"role\":\"assistant\","
                 "\"contents\":[" T("2") "]}]",
        "[{\"authorName\":\"A\",\"contents\":[" T(
            "1") "]},"
                 "{\"authorName\":\"B\",\"contents\":[" T("2") "]}]",
        PDR_SHAPE_DOTNET);
    expect_fold("[{\"role\":\"ASSISTANT\",\"contents\":[" T("12") "]}]",
                "[{\"role\":\"Assistant\",\"contents\":[" T(
                    "1") "]},"
                         "{\"role\":\"ASSISTANT\",\"contents\":[" T("2") "]}]",
                PDR_SHAPE_DOTNET);
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

TEST(fold, puts_the_fragments_of_a_call_together)
{
    static const struct {
        const char *updates;
        size_t calls;
        const char *arguments; /* of the first */
    } cases[] = {
        {"[{\"contents\":[" C("1", "{\\\"a\\\"") "]},{\"contents\":[" C(
             "1", ":1}") "]}]",
         1, "{\"a\":1}"},
        {"[{\"contents\":[" C("1", "{\\\"a\\\"") "," C(
             "2", "{}") "]},"
                        "{\"contents\":[" C("1", ":1}") "]}]",
         2, "{\"a\":1}"},
        {"[{\"contents\":[" C("1", "{\\\"a\\\"") "," C("", ":1}") "]}]", 1,
         "{\"a\":1}"},
        {"[{\"contents\":[" C("1", "{\\\"a\\\":1}") "," C("1", "{}") "]}]", 2,
         "{\"a\":1}"}, /* two whole calls with one id */
    };

    COVERS("S-125");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *value = NULL;
        struct pdr__fold fold;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(cases[i].updates),
                                        NULL, &err));
        fold_all(&fold, value, PDR_SHAPE_PYTHON);
        ASSERT_SIZE(cases[i].calls, fold.messages[0].count);
        ASSERT_RC(PDR_OK,
                  pdr_content_arguments(&text, fold.messages[0].contents[0],
                                        PDR_SHAPE_PYTHON, &err));
        ASSERT_TEXT(cases[i].arguments, pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        pdr__fold_dispose(&fold);
        pdr_value_free(value);
    }
}
