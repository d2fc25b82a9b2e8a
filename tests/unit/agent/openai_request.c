/*
 * The body of a Chat Completions call, for messages of every shape.
 */
#include "agent.h"
#include "json_text.h"
#include "test.h"

#define HEAD       "{\"model\":\"m\",\"messages\":["
#define TAIL       "],\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define LOST(id)                                        \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"" \
    "content\":\"Error: The result of this call is not known.\"}"
#define CALL(id, name, arguments)                           \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\"" \
    ":{\"name\":\"" name "\",\"arguments\":\"" arguments "\"}}"
#define CALLS(content, calls)                          \
    "{\"role\":\"assistant\",\"content\":" content "," \
    "\"tool_calls\":[" calls "]}"
#define TOOL(id, text) \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"

/* One request: its messages (or null), and options (or null). */
struct row {
    pdr_shape shape;
    const char *messages, *options;
    const char *body;
};

static pdr_rc make_body(pdr_buf *out, const struct row *row,
                        const pdr_openai_opts *opts, pdr_err *err)
{
    pdr_client_request request = {.shape = row->shape};
    struct pdr__openai_profile profile = {.name = NULL};
    pdr_request_message messages[16];
    pdr_value *list = NULL, *options = NULL, *made[16] = {NULL};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__openai_profile_init(&profile, opts, err));
    PDR_TRY(pdr_json_read(&list, pdr_str_c(row->messages), NULL, err));
    PDR_TRY(pdr_json_read(&options, pdr_str_c(row->options), NULL, err));
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        /* As a run does. */
        if (row->shape == PDR_SHAPE_SK)
            PDR_TRY(pdr_message_convert(&made[request.count], it.value,
                                        row->shape, PDR_SHAPE_DOTNET, err));
        messages[request.count] = (pdr_request_message){
            made[request.count] != NULL ? made[request.count] : it.value,
            row->shape == PDR_SHAPE_SK ? PDR_SHAPE_DOTNET : row->shape,
            PDR_ORIGIN_HISTORY};
        request.count++;
    }
    request.messages = messages;
    if (pdr_value_kind(options) == PDR_OBJECT)
        request.options = options;
    rc = pdr__openai_request(out, &request, PDR_LIT("m"), &profile, err);
done:
    for (size_t i = 0; i < request.count; i++)
        pdr_value_free(made[i]);
    pdr_value_free(options);
    pdr_value_free(list);
    return rc;
}

#define DN_CALL(id, name, arguments)                             \
    "{\"$type\":\"functionCall\",\"callId\":\"" id "\",\"name\"" \
    ":\"" name "\",\"arguments\":" arguments "}"
#define DN_RESULT(id, result) \
    "{\"$type\":\"functionResult\",\"callId\":\"" id "\",\"result\":" result "}"
#define DN(role, contents) "{\"role\":\"" role "\",\"contents\":[" contents "]}"
#define DN_TEXT(text)      "{\"$type\":\"text\",\"text\":\"" text "\"}"
#define DN_THOUGHT(text)   "{\"$type\":\"reasoning\",\"text\":\"" text "\"}"
#define LIMITS                                      \
    "{\"max_tokens\":5,\"tool_choice\":\"auto\",\"" \
    "parallel_tool_calls\":true}"
#define PY(role, contents)                                      \
    "{\"type\":\"message\",\"role\":\"" role "\",\"contents\":" \
    "[" contents "]}"

#define SK(role, items)                                      \
    "{\"AuthorName\":null,\"Role\":{\"Label\":\"" role "\"}" \
    ",\"Items\":[" items "]}"

/* clang-format off */
static const struct row rows[] = {
    {PDR_SHAPE_DOTNET, "[]", "null", HEAD TAIL},
    /* The same conversation in each shape. */
    {PDR_SHAPE_DOTNET,
     "[" DN("user", DN_TEXT("hi")) ","
     DN("assistant", DN_TEXT("so") "," DN_CALL("c1", "f", "{\"a\":1}")) ","
     DN("tool", DN_RESULT("c1", "\"ok\"")) "," DN("assistant", DN_TEXT("yes"))
     "]", "null",
     HEAD USER("hi") "," CALLS("\"so\"", CALL("c1", "f", "{\\\"a\\\":1}")) ","
     TOOL("c1", "ok") ",{\"role\":\"assistant\",\"content\":\"yes\"}" TAIL},
    {PDR_SHAPE_STATE,
     "[" DN("user", DN_TEXT("hi")) ","
     DN("assistant", DN_TEXT("so") "," DN_CALL("c1", "f", "{\"a\":1}")) ","
     DN("tool", DN_RESULT("c1", "\"ok\"")) "," DN("assistant", DN_TEXT("yes"))
     "]", "null",
     HEAD USER("hi") "," CALLS("\"so\"", CALL("c1", "f", "{\\\"a\\\":1}")) ","
     TOOL("c1", "ok") ",{\"role\":\"assistant\",\"content\":\"yes\"}" TAIL},
    {PDR_SHAPE_PYTHON,
     "[" PY("user", "{\"type\":\"text\",\"text\":\"hi\"}") ","
     PY("assistant", "{\"type\":\"text\",\"text\":\"so\"},"
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"f\","
        "\"arguments\":\"{\\\"a\\\":1}\"}") ","
     PY("tool", "{\"type\":\"function_result\",\"call_id\":\"c1\","
        "\"result\":\"ok\"}") ","
     PY("assistant", "{\"type\":\"text\",\"text\":\"yes\"}") "]", "null",
     HEAD USER("hi") "," CALLS("\"so\"", CALL("c1", "f", "{\\\"a\\\":1}")) ","
     TOOL("c1", "ok") ",{\"role\":\"assistant\",\"content\":\"yes\"}" TAIL},
    {PDR_SHAPE_SK,
     "[" SK("user", "{\"$type\":\"TextContent\",\"Text\":\"hi\"}") ","
     SK("Assistant", "{\"$type\":\"TextContent\",\"Text\":\"so\"},"
        "{\"$type\":\"FunctionCallContent\",\"Id\":\"c1\",\"PluginName\":"
        "\"menu\",\"FunctionName\":\"price\",\"Arguments\":{\"a\":1}}") ","
     SK("tool", "{\"$type\":\"FunctionResultContent\",\"CallId\":\"c1\","
        "\"PluginName\":\"menu\",\"FunctionName\":\"price\",\"Result\":"
        "\"$4\"}") ","
     SK("user", "{\"$type\":\"ImageContent\",\"MimeType\":\"image/png\","
        "\"Data\":\"AQID\"}") "]", "null",
     HEAD USER("hi") ","
     CALLS("\"so\"", CALL("c1", "menu-price", "{\\\"a\\\":1}")) ","
     TOOL("c1", "$4") ",{\"role\":\"user\",\"content\":[{\"type\":"
     "\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AQID\"}}]}"
     TAIL},
    /* Roles: letter case, unknown ones, none. */
    {PDR_SHAPE_DOTNET,
     "[" DN("System", DN_TEXT("a")) "," DN("developer", DN_TEXT("b")) ","
     DN("human", DN_TEXT("c")) ",{\"contents\":[" DN_TEXT("d") "]}]", "null",
     HEAD "{\"role\":\"system\",\"content\":\"a\"},"
     "{\"role\":\"developer\",\"content\":\"b\"}," USER("c") "," USER("d")
     TAIL},
    /* Texts are joined; what has no place, and what is then empty, goes. */
    {PDR_SHAPE_DOTNET,
     "[" DN("user", DN_TEXT("a") "," DN_TEXT("b")) "," DN("user", "") ","
     DN("assistant", "{\"$type\":\"reasoning\",\"text\":\"hm\"},"
        "{\"$type\":\"usage\",\"details\":{}},{\"$type\":\"new\"}") "]",
     "null", HEAD USER("ab") TAIL},
    /* Results that are not strings; none at all. */
    {PDR_SHAPE_DOTNET,
     "[" DN("assistant", DN_CALL("1", "f", "{}") "," DN_CALL("2", "g", "null")
            "," DN_CALL("3", "h", "{}")) ","
     DN("tool", DN_RESULT("3", "null") "," DN_RESULT("2", "[1, {\"b\":2}]") ","
        DN_RESULT("1", "1.50")) "]", "null",
     HEAD CALLS("null", CALL("1", "f", "{}") "," CALL("2", "g", "{}") ","
                CALL("3", "h", "{}")) ","
     TOOL("1", "1.50") "," TOOL("2", "[1,{\\\"b\\\":2}]") "," TOOL("3", "")
     TAIL},
    /* A call without a result, a result without a call, a late result. */
    {PDR_SHAPE_DOTNET,
     "[" DN("assistant", DN_CALL("a", "f", "{}") "," DN_CALL("b", "f", "{}"))
     "," DN("user", DN_TEXT("hi")) ","
     DN("tool", DN_RESULT("b", "1") "," DN_RESULT("c", "2")) "]", "null",
     HEAD CALLS("null", CALL("a", "f", "{}") "," CALL("b", "f", "{}")) ","
     LOST("a") "," TOOL("b", "1") "," USER("hi") TAIL},
    /* An id that is used again: each call has its own result. */
    {PDR_SHAPE_DOTNET,
     "[" DN("assistant", DN_CALL("a", "f", "{}")) ","
     DN("assistant", DN_CALL("a", "f", "{}") "," DN_CALL("a", "f", "{}")) ","
     DN("tool", DN_RESULT("a", "1") "," DN_RESULT("a", "2") ","
        DN_RESULT("a", "3")) "]", "null",
     HEAD CALLS("null", CALL("a", "f", "{}")) "," LOST("a") ","
     CALLS("null", CALL("a", "f", "{}") "," CALL("a", "f", "{}")) ","
     TOOL("a", "1") "," TOOL("a", "2") TAIL},
    /* A call that somebody else answered, and one whose answer is gone. */
    {PDR_SHAPE_DOTNET,
     "[" DN("assistant", "{\"$type\":\"functionCall\",\"callId\":\"x\","
        "\"name\":\"f\",\"arguments\":{},\"informationalOnly\":true},"
        DN_RESULT("x", "1") "," DN_TEXT("done")) "]", "null",
     HEAD CALLS("\"done\"", CALL("x", "f", "{}")) "," TOOL("x", "1") TAIL},
    {PDR_SHAPE_DOTNET,
     "[" DN("assistant", "{\"$type\":\"functionCall\",\"callId\":\"x\","
        "\"name\":\"f\",\"arguments\":{},\"informationalOnly\":true},"
        DN_TEXT("done")) "]", "null",
     HEAD "{\"role\":\"assistant\",\"content\":\"done\"}" TAIL},
    /* Arguments that never were JSON are given back as they came. */
    {PDR_SHAPE_PYTHON,
     "[" PY("assistant", "{\"type\":\"function_call\",\"call_id\":\"c\","
            "\"name\":\"f\",\"arguments\":\"{half\"}") "]", "null",
     HEAD CALLS("null", CALL("c", "f", "{half")) "," LOST("c") TAIL},
    /* Halves of surrogate pairs. */
    {PDR_SHAPE_PYTHON,
     "[" PY("user", "{\"type\":\"text\",\"text\":\"a\\ud800b\"}") ","
     PY("assistant", "{\"type\":\"function_call\",\"call_id\":\"c\","
        "\"name\":\"f\",\"arguments\":\"\\udc00\"}") ","
     PY("tool", "{\"type\":\"function_result\",\"call_id\":\"c\","
        "\"result\":\"\\ud83d\"}") "]", "null",
     HEAD USER("a\xEF\xBF\xBD" "b") ","
     CALLS("null", CALL("c", "f", "\xEF\xBF\xBD")) ","
     TOOL("c", "\xEF\xBF\xBD") TAIL},
    /* Pictures; other data have no place. */
    {PDR_SHAPE_DOTNET,
     "[" DN("user", DN_TEXT("what?") ",{\"$type\":\"data\",\"uri\":"
            "\"data:image/png;base64,AA==\"},{\"$type\":\"uri\",\"uri\":"
            "\"https://x.test/a.jpg\",\"mediaType\":\"image/jpeg\"},"
            "{\"$type\":\"data\",\"uri\":\"data:text/plain,hi\"},"
            "{\"$type\":\"uri\",\"uri\":\"https://x.test/b.pdf\","
            "\"mediaType\":\"application/pdf\"},{\"$type\":\"uri\"}") "]",
     "null",
     HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"what?\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
     "\"data:image/png;base64,AA==\"}},{\"type\":\"image_url\",\"image_url\":"
     "{\"url\":\"https://x.test/a.jpg\"}},{\"type\":\"text\",\"text\":"
     "\"https://x.test/b.pdf\"}]}" TAIL},
    /* Escapes, in every place that has a text. */
    {PDR_SHAPE_DOTNET,
     "[" DN("system", DN_TEXT("\\u0061")) ","
     DN("developer", DN_TEXT("\\u0062")) ","
     DN("assistant", DN_CALL("\\u0063", "\\u0066", "{\"\\u0061\":1}")) ","
     DN("tool", DN_RESULT("\\u0063", "\"\\u006fk\"")) ","
     DN("user", DN_TEXT("\\u0068i") ",{\"$type\":\"uri\",\"uri\":"
        "\"https:\\/\\/x.test\",\"mediaType\":\"image\\/png\"}") "]",
     "{\"s\\u0065ed\":1,\"m\\u006fdel\":null}",
     "{\"messages\":[{\"role\":\"system\",\"content\":\"a\"},{\"role\":"
     "\"developer\",\"content\":\"b\"}," CALLS("null", CALL("c", "f",
     "{\\\"\\\\u0061\\\":1}")) "," TOOL("c", "ok") ",{\"role\":\"user\","
     "\"content\":[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":"
     "\"image_url\",\"image_url\":{\"url\":\"https://x.test\"}}]}],"
     "\"stream\":true,\"stream_options\":{\"include_usage\":true},"
     "\"seed\":1}"},
    /* Calls where none should be, ids that are missing; half a picture. */
    {PDR_SHAPE_DOTNET,
     "[" DN("user", DN_CALL("a", "f", "{}") "," DN_TEXT("x")
            ",{\"$type\":\"data\",\"uri\":\"data:image/\"}") ","
     DN("assistant", "{\"$type\":\"functionCall\",\"name\":\"g\"}") ","
     DN("tool", "{\"$type\":\"functionResult\",\"result\":\"r\"},"
        DN_RESULT("a", "1")) "]", "null",
     HEAD USER("x") "," CALLS("null", CALL("", "g", "{}")) ","
     TOOL("", "r") TAIL},
    /* Options win; null takes away. */
    {PDR_SHAPE_DOTNET, "[]", "{\"temperature\":0.50,\"model\":\"n\"}",
     "{\"model\":\"n\",\"messages\":[],\"stream\":true,\"stream_options\":"
     "{\"include_usage\":true},\"temperature\":0.50}"},
    {PDR_SHAPE_DOTNET, "[]", "{\"stream_options\":null,\"seed\":null}",
     HEAD "],\"stream\":true}"},
    {PDR_SHAPE_DOTNET, "[]", "{\"stream\":false}", HEAD "],\"stream\":false}"},
    {PDR_SHAPE_DOTNET, "[]", "{\"stream\":null}", HEAD "]}"},
    {PDR_SHAPE_DOTNET, "[]", "{\"stream\":\"no\"}", HEAD "],\"stream\":\"no\"}"},
};

static const struct {
    pdr_openai_opts opts;
    struct row row;
} profiles[] = {
    /* As options have it, then as servers want it. */
    {{.profile = "llama.cpp"},
     {PDR_SHAPE_DOTNET, "[]", LIMITS, HEAD "],\"stream\":true,\"stream_options\""
     ":{\"include_usage\":true},\"max_tokens\":5,\"tool_choice\":\"auto\","
     "\"parallel_tool_calls\":true}"}},
    {{.profile = "openai"},
     {PDR_SHAPE_DOTNET, "[]", LIMITS, HEAD "],\"stream\":true,\"stream_options\""
     ":{\"include_usage\":true},\"max_completion_tokens\":5,\"tool_choice\":"
     "\"auto\",\"parallel_tool_calls\":true}"}},
    {{.profile = "ollama"},
     {PDR_SHAPE_DOTNET,
     "[" DN("user", "{\"$type\":\"uri\",\"uri\":\"https://x.test/a.jpg\","
            "\"mediaType\":\"image/jpeg\"}") "]",
     "{\"max_completion_tokens\":5,\"tool_choice\":\"auto\"}",
     HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"https://x.test/a.jpg\"}]}],\"stream\":true,\"stream_options\":"
     "{\"include_usage\":true},\"max_tokens\":5}"}},
    {{.profile = "vllm", .lacks = PDR_OPENAI_NO_STREAM_OPTIONS},
     {PDR_SHAPE_DOTNET, "[]", "{\"stream_options\":{\"include_usage\":true}}",
     HEAD "],\"stream\":true}"}},
    /* Reasoning goes back only where it is wanted. */
    {{.reasoning_field = "reasoning"},
     {PDR_SHAPE_DOTNET,
     "[" DN("assistant", DN_THOUGHT("\\u0068") "," DN_THOUGHT("m") "," DN_TEXT("a")
            ",{\"$type\":\"reasoning\"}") ","
     DN("assistant", DN_TEXT("b")) "]", "null",
     HEAD "{\"role\":\"assistant\",\"content\":\"a\",\"reasoning\":\"hm\"},"
     "{\"role\":\"assistant\",\"content\":\"b\"}" TAIL}},
};
/* clang-format on */

static const pdr_openai_opts any_server;

static void check_body(const struct row *row, const pdr_openai_opts *opts)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, make_body(&body, row, opts, &err));
    ASSERT_TEXT(row->body, pdr_buf_str(&body));
    pdr_buf_dispose(&body);
}

TEST(openai_request, has_the_conversation_as_servers_want_it)
{
    COVERS("C-95");
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        check_body(&rows[i], &any_server);
}

TEST(openai_request, has_what_this_server_takes)
{
    for (size_t i = 0; i < PDR_COUNT(profiles); i++)
        check_body(&profiles[i].row, &profiles[i].opts);
}

TEST(openai_request, has_instructions_first_and_tools)
{
    pdr_value *schema = json("{\"type\": \"object\"}");
    const pdr_tool_info tools[] = {
        {PDR_LIT("f"), PDR_LIT("does"), schema},
        {PDR_LIT("g"), {NULL, 0}, NULL},
    };
    const pdr_client_request request = {.instructions = PDR_LIT("Be \"brief\""),
                                        .tools = tools,
                                        .tool_count = 2};
    const struct pdr__openai_profile profile = {.instructions_role =
                                                    "developer"};
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__openai_request(&body, &request, PDR_LIT("m"),
                                          &profile, &err));
    ASSERT_TEXT(
        HEAD "{\"role\":\"developer\",\"content\":\"Be \\\"brief\\\"\"}],"
             "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
             "\"description\":\"does\",\"parameters\":{\"type\":\"object\"}}},"
             "{\"type\":\"function\",\"function\":{\"name\":\"g\"}}],"
             "\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
        pdr_buf_str(&body));
    pdr_buf_dispose(&body);
    pdr_value_free(schema);
}

TEST(openai_request, asks_for_an_answer_that_fits_a_schema)
{
    pdr_value *schema = json("{\"type\":\"object\"}");
    const pdr_client_request request = {.output_schema = schema};
    const struct pdr__openai_profile profile = {.instructions_role = "system"};
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr__openai_request(&body, &request, PDR_LIT("m"),
                                          &profile, NULL));
    ASSERT_TEXT(HEAD "],\"response_format\":{\"type\":\"json_schema\","
                     "\"json_schema\":{\"name\":\"answer\",\"schema\":{"
                     "\"type\":\"object\"}}},\"stream\":true,"
                     "\"stream_options\":{\"include_usage\":true}}",
                pdr_buf_str(&body));
    pdr_buf_dispose(&body);
    pdr_value_free(schema);
}

TEST_OOM(openai_request, cleans_up_after_any_failed_allocation)
{
    static const size_t chosen[] = {3, 8, 9, 12, 13, 14, 15, 16, 17};

    for (size_t i = 0; i < PDR_COUNT(chosen) + PDR_COUNT(profiles); i++) {
        size_t at = i - PDR_COUNT(chosen);
        pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
        pdr_rc rc =
            i < PDR_COUNT(chosen)
                ? make_body(&body, &rows[chosen[i]], &any_server, NULL)
                : make_body(&body, &profiles[at].row, &profiles[at].opts, NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        pdr_buf_dispose(&body);
    }
}

/* As many calls as a long session has, none of them answered, or all of them by
 * results that come at the end in the reverse order. */
TEST(openai_request, finds_the_results_of_many_calls)
{
    enum { CALLS = 400 };

    for (int answered = 0; answered < 2; answered++) {
        pdr_buf list = PDR_BUF_INIT(SIZE_MAX), body = PDR_BUF_INIT(SIZE_MAX);
        struct pdr__openai_profile profile = {.instructions_role = "system"};
        pdr_client_request request = {.shape = PDR_SHAPE_DOTNET, .count = 2};
        pdr_request_message messages[2];
        pdr_value *values[2] = {NULL, NULL}, *made = NULL;
        const pdr_value *sent = NULL;
        pdr_err err = PDR_ERR_INIT;

        for (int m = 0; m < 2; m++) {
            pdr_buf_clear(&list);
            ASSERT_RC(PDR_OK, pdr_buf_printf(&list, &err,
                                             "{\"role\":\"%s\",\"contents\":[",
                                             m == 0 ? "assistant" : "tool"));
            for (int i = 0; i < CALLS; i++) {
                if (m == 0)
                    ASSERT_RC(PDR_OK,
                              pdr_buf_printf(&list, &err,
                                             "%s" DN_CALL("c%d", "f", "{}"),
                                             i > 0 ? "," : "", i));
                else
                    ASSERT_RC(PDR_OK,
                              pdr_buf_printf(&list, &err,
                                             "%s" DN_RESULT("%s%d", "\"r%d\""),
                                             i > 0 ? "," : "",
                                             answered ? "c" : "x",
                                             CALLS - 1 - i, CALLS - 1 - i));
            }
            ASSERT_RC(PDR_OK, pdr_buf_append(&list, PDR_LIT("]}"), &err));
            ASSERT_RC(PDR_OK, pdr_json_read(&values[m], pdr_buf_str(&list),
                                            NULL, &err));
            messages[m] = (pdr_request_message){values[m], PDR_SHAPE_DOTNET,
                                                PDR_ORIGIN_HISTORY};
        }
        request.messages = messages;
        ASSERT_RC(PDR_OK, pdr__openai_request(&body, &request, PDR_LIT("m"),
                                              &profile, &err));
        ASSERT_RC(PDR_OK, pdr_json_read(&made, pdr_buf_str(&body), NULL, &err));
        sent = pdr_value_get_c(made, "messages");
        ASSERT_SIZE(CALLS + 1, pdr_value_count(sent));
        for (size_t i = 0; i < CALLS; i++) {
            const pdr_value *one = pdr_value_at(sent, i + 1);
            char id[16], text[64];

            snprintf(id, sizeof(id), "c%zu", i);
            snprintf(text, sizeof(text), "r%zu", i);
            ASSERT(pdr_value_text_is(pdr_value_get_c(one, "tool_call_id"),
                                     pdr_str_c(id)));
            ASSERT(pdr_value_text_is(
                pdr_value_get_c(one, "content"),
                pdr_str_c(
                    answered
                        ? text
                        : "Error: The result of this call is not known.")));
        }
        pdr_value_free(made);
        pdr_value_free(values[0]);
        pdr_value_free(values[1]);
        pdr_buf_dispose(&body);
        pdr_buf_dispose(&list);
    }
}
