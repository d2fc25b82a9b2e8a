/*
 * What Chat Completions servers answer, with everything that they do
 * differently, becomes pieces of an answer.
 */
#include "agent.h"
#include "fake_rand.h"
#include "json_text.h"
#include "net.h"
#include "test.h"

/* A pdr_update_fn: contents as text, then "=" and the finish reason. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    pdr_buf *out = arg;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < update->content_count; i++) {
        PDR_TRY(pdr_json_write(out, update->contents[i], NULL, err));
        PDR_TRY(pdr_buf_append(out, PDR_LIT("\n"), err));
    }
    if (update->finish_reason.len > 0) {
        PDR_TRY(pdr_buf_append(out, PDR_LIT("="), err));
        PDR_TRY(pdr_buf_append(out, update->finish_reason, err));
    }
done:
    return rc;
}

static pdr_str hidden[] = {{"sk-1", 4}, {"tok", 3}, {"token-2", 7}};
static const struct pdr__secrets secrets = {hidden, PDR_COUNT(hidden), 0};

#define CHUNKS 10

/* Read chunks up to NULL, then the end. */
static pdr_rc read_chunks(pdr_buf *out, const char *const chunks[CHUNKS],
                          pdr_shape shape, pdr_err *err)
{
    const pdr_client_request request = {.shape = shape};
    struct pdr__openai_answer answer;
    struct fake_rand source;
    pdr_rc rc = PDR_OK;

    fake_rand_init(&source, 1);
    pdr__openai_answer_init(&answer, &request, &secrets, on_update, out);
    answer.rand = &source.base;
    for (size_t i = 0; i < CHUNKS && chunks[i] != NULL; i++)
        PDR_TRY(pdr__openai_chunk(&answer, pdr_str_c(chunks[i]), false, err));
    PDR_TRY(pdr__openai_end(&answer, err));
done:
    pdr__openai_answer_dispose(&answer);
    return rc;
}

#define D(delta) "{\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}"
#define TC(call) D("\"tool_calls\":[{" call "}]")
#define FN(name, arguments) \
    "\"function\":{\"name\":\"" name "\",\"arguments\":\"" arguments "\"}"
#define ARGS(arguments) "\"function\":{\"arguments\":\"" arguments "\"}"
#define END(reason)                                                       \
    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason \
    "\"}]}"
#define TEXT(text) "{\"$type\":\"text\",\"text\":\"" text "\"}\n"
#define CALL(id, name, arguments)                  \
    "{\"$type\":\"functionCall\",\"name\":\"" name \
    "\",\"arguments\":" arguments                  \
    ",\"informationalOnly\":false,\"callId\":\"" id "\"}\n"

struct row {
    const char *chunks[CHUNKS];
    const char *updates;
};

/* clang-format off */
static const struct row texts[] = {
    /* Texts at once; empty, repeated and strange members. */
    {{D("\"role\":\"assistant\",\"content\":\"\""),
      D("\"role\":\"assistant\",\"content\":\"a\",\"obfuscation\":\"xx\""),
      D("\"role\":\"assistant\",\"content\":\"b\""), END("stop"), "[DONE]",
      "not read any more"},
     TEXT("a") TEXT("b") "=stop"},
    /* Null deltas, no choices, other choices, timings. */
    {{"{\"choices\":[{\"index\":0,\"delta\":null}]}", "{\"timings\":{}}",
      "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}",
      "{\"choices\":[7,{\"delta\":{\"content\":null}}],\"error\":null}",
      "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
      "\"finish_reason\":\"length\"}],\"usage\":null,\"__verbose\":{}}"},
     TEXT("a") "=length"},
    /* Reasoning under both of its names. */
    {{D("\"reasoning_content\":\"h\""), D("\"reasoning\":\"m\""),
      D("\"content\":\"a\""), END("stop")},
     "{\"$type\":\"reasoning\",\"text\":\"h\"}\n"
     "{\"$type\":\"reasoning\",\"text\":\"m\"}\n" TEXT("a") "=stop"},
    /* [DONE] without a reason, an unknown reason, an old one. */
    {{D("\"content\":\"a\""), "[DONE]"}, TEXT("a") "=stop"},
    {{D("\"content\":\"a\""), END("eos")}, TEXT("a") "=stop"},
    {{D("\"content\":\"a\""), END("content_filter")},
     TEXT("a") "=content_filter"},
    /* A refusal. */
    {{D("\"refusal\":\"I \""), D("\"refusal\":\"can not\""), END("stop")},
     "{\"$type\":\"error\",\"message\":\"I can not\",\"errorCode\":\"Refusal\""
     "}\n=stop"},
    /* Usage: the last one wins, what is missing stays missing. */
    {{D("\"content\":\"a\""), END("stop"),
      "{\"choices\":[],\"usage\":{\"prompt_tokens\":1}}",
      "{\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,"
      "\"total_tokens\":12,\"prompt_tokens_details\":{\"cached_tokens\":3},"
      "\"completion_tokens_details\":{\"reasoning_tokens\":2}}}", "[DONE]"},
     TEXT("a") "{\"$type\":\"usage\",\"details\":{\"inputTokenCount\":5,"
     "\"outputTokenCount\":7,\"totalTokenCount\":12,"
     "\"cachedInputTokenCount\":3,\"reasoningTokenCount\":2}}\n=stop"},
    {{"{\"usage\":{\"prompt_tokens\":-1,\"total_tokens\":4,"
      "\"prompt_tokens_details\":null}}", END("stop")},
     "{\"$type\":\"usage\",\"details\":{\"totalTokenCount\":4}}\n=stop"},
};

static const struct row calls[] = {
    {{TC("\"index\":0,\"id\":\"c\"," FN("f", "{}")), END("function_call")},
     CALL("c", "f", "{}") "=tool_calls"},
    /* The usual call, with "stop" at its end. */
    {{TC("\"index\":0,\"id\":\"c1\",\"type\":\"function\"," FN("f", "")),
      TC("\"index\":0," ARGS("{\\\"a\\\"")), TC("\"index\":0," ARGS(":1}")),
      END("stop")},
     CALL("c1", "f", "{\"a\":1}") "=tool_calls"},
    /* Two calls, fragments in turn. */
    {{TC("\"index\":0,\"id\":\"c1\"," FN("f", "{\\\"a\\\"")),
      TC("\"index\":1,\"id\":\"c2\"," FN("g", "{\\\"b\\\"")),
      TC("\"index\":0," ARGS(":1}")), TC("\"index\":1," ARGS(":2}")),
      END("tool_calls")},
     CALL("c1", "f", "{\"a\":1}") CALL("c2", "g", "{\"b\":2}") "=tool_calls"},
    /* Index 0 for every call. */
    {{TC("\"index\":0,\"id\":\"c1\"," FN("f", "{}")),
      TC("\"index\":0,\"id\":\"c2\"," FN("g", "{")),
      TC("\"index\":0," ARGS("}")), END("tool_calls")},
     CALL("c1", "f", "{}") CALL("c2", "g", "{}") "=tool_calls"},
    /* No index at all. */
    {{TC("\"id\":\"c1\"," FN("f", "{")), TC(ARGS("}")),
      TC("\"id\":\"c2\"," FN("g", "{")), TC(ARGS("}")), END("tool_calls")},
     CALL("c1", "f", "{}") CALL("c2", "g", "{}") "=tool_calls"},
    /* No index, told apart by id. */
    {{TC("\"id\":\"c1\"," FN("f", "{")), TC("\"id\":\"c2\"," FN("g", "{")),
      TC("\"id\":\"c1\"," ARGS("}")), TC("\"id\":\"c2\"," ARGS("}")),
      END("tool_calls")},
     CALL("c1", "f", "{}") CALL("c2", "g", "{}") "=tool_calls"},
    /* A fresh id on every fragment; a name that is repeated. */
    {{TC("\"index\":0,\"id\":\"c1\"," FN("f", "{")),
      TC("\"index\":0,\"id\":\"x2\"," ARGS("}")), END("tool_calls")},
     CALL("c1", "f", "{}") "=tool_calls"},
    {{TC("\"index\":0,\"id\":\"c1\"," FN("f", "{")),
      TC("\"index\":0,\"id\":\"c1\"," FN("f", "}")), END("tool_calls")},
     CALL("c1", "f", "{}") "=tool_calls"},
    /* An id, then an index that was not seen; an index out of range. */
    {{TC("\"index\":3,\"id\":\"c1\"," FN("f", "")),
      TC("\"index\":3,\"id\":\"\"," FN("", "{}")),
      TC("\"index\":4711,\"id\":\"c2\"," FN("g", "{")),
      TC("\"index\":-1," ARGS("}")), END("tool_calls")},
     CALL("c1", "f", "{}") CALL("c2", "g", "{}") "=tool_calls"},
};

static const struct row wholes[] = {
    /* Arguments: none, an object, half. */
    {{TC("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\"}"),
      TC("\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"g\","
         "\"arguments\":{ \"a\" : 1 }}"),
      TC("\"index\":2,\"id\":\"c3\"," FN("h", "{\\\"a")), END("tool_calls")},
     CALL("c1", "f", "{}") CALL("c2", "g", "{\"a\":1}")
     "{\"$type\":\"functionCall\",\"name\":\"h\",\"arguments\":{},"
     "\"informationalOnly\":false,\"callId\":\"c3\",\"additionalProperties\":"
     "{\"perdure\":{\"state\":{\"members\":{\"argumentsText\":\"{\\\"a\"}}}}}"
     "\n=tool_calls"},
    /* A fragment of nothing. */
    {{D("\"tool_calls\":[7]"), D("\"tool_calls\":null"),
      TC("\"id\":\"c1\"," ARGS("{}")), END("tool_calls")},
     CALL("c1", "", "{}") "=tool_calls"},
    /* A whole answer. */
    {{"{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{"
      "\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{\"id\":\"c1\","
      "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}"
      "},{\"id\":\"c2\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
      "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1}}"},
     TEXT("a") CALL("c1", "f", "{}") CALL("c2", "f", "{}")
     "{\"$type\":\"usage\",\"details\":{\"inputTokenCount\":1}}\n=tool_calls"},
    /* Half a surrogate pair. */
    {{D("\"content\":\"\\ud83d\""), END("stop")},
     TEXT("\xEF\xBF\xBD") "=stop"},
};
/* clang-format on */

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK,
                  read_chunks(&out, rows[i].chunks, PDR_SHAPE_DOTNET, &err));
        ASSERT_TEXT(rows[i].updates, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
    }
}

TEST(openai_answer, has_texts_reasoning_and_usage_of_any_server)
{
    COVERS("P-10");
    COVERS("P-11");
    check_rows(texts, PDR_COUNT(texts));
}

TEST(openai_answer, has_the_calls_that_the_fragments_of_any_server_mean)
{
    COVERS("P-4");
    COVERS("P-5");
    COVERS("P-6");
    check_rows(calls, PDR_COUNT(calls));
}

TEST(openai_answer, takes_arguments_as_they_come_and_whole_answers)
{
    COVERS("P-7");
    check_rows(wholes, PDR_COUNT(wholes));
}

/* clang-format off */
static const struct {
    const char *chunks[CHUNKS];
    const char *reason, *message;
} failures[] = {
    {{NULL}, "model_protocol", "the answer of the model has no choices"},
    {{"[DONE]"}, "model_protocol", "the answer of the model has no choices"},
    {{"{\"detail\":\"x\"}"}, "model_protocol",
     "the answer of the model has no choices"},
    {{D("\"content\":\"a\"")}, "model_truncated",
     "the answer of the model ends in the middle"},
    {{TC("\"index\":0,\"id\":\"c\"," FN("f", "{"))}, "model_truncated",
     "the answer of the model ends in the middle"},
    {{D("\"content\":\"a\""), "{\"choices\":"}, "model_protocol",
     "the answer of the model is not valid JSON: unexpected_end"},
    {{D("\"content\":\"\xFF\"")}, "model_protocol",
     "the answer of the model is not valid JSON: bad_utf8"},
    {{"{\"error\":\"boom\"}"}, "model_protocol",
     "the model server answered with an error: boom"},
    {{D("\"content\":\"a\""), "{\"error\":{\"message\":\"key sk-1\\nbad\","
      "\"code\":503}}"}, "model_server",
     "the model server failed (HTTP 503): key *** bad"},
    {{"{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}"},
     "model_context_length", "the conversation is too long for the model: x"},
    {{D("\"content\":\"a\""), "{\"error\":{\"message\":\"out\",\"code\":7}}"},
     "model_protocol", "the model server answered with an error: out"},
    {{"{\"error\":{\"message\":\"\\ud800 \\u007f\",\"code\":\"x\"}}"},
     "model_protocol",
     "the model server answered with an error: \xEF\xBF\xBD ?"},
};
/* clang-format on */

TEST(openai_answer, says_what_is_wrong_with_an_answer)
{
    COVERS("P-15");
    for (size_t i = 0; i < PDR_COUNT(failures); i++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EMODEL, read_chunks(&out, failures[i].chunks,
                                          PDR_SHAPE_DOTNET, &err));
        ASSERT_STR(failures[i].reason, err.reason);
        ASSERT_STR(failures[i].message, err.message);
        pdr_buf_dispose(&out);
    }
}

TEST(openai_answer, has_a_class_for_every_failed_status)
{
    static const struct {
        int status;
        const char *body, *reason;
    } statuses[] = {
        {400, "{\"error\":{\"message\":\"bad\",\"type\":null}}",
         "model_request"},
        {404, "not found", "model_request"},
        {405, "", "model_request"},
        {302, "", "model_request"},
        {501, "", "model_request"},
        {400, "{\"error\":{\"type\":\"exceed_context_size_error\"}}",
         "model_context_length"},
        {400, "{\"message\":\"the maximum context length is 5\"}",
         "model_context_length"},
        {401, "{\"error\":{\"message\":\"no sk-1\"}}", "model_auth"},
        {403, "<html>", "model_auth"},
        {408, "", "model_transient"},
        {409, "", "model_transient"},
        {425, "", "model_transient"},
        {429, "{\"error\":{\"code\":\"insufficient_quota\"}}", "model_quota"},
        {429, "{\"error\":{\"type\":\"billing_hard_limit\"}}", "model_quota"},
        {429, "{\"error\":{\"code\":\"slow\"}}", "model_rate_limit"},
        {500, "{\"detail\":\"x\"}", "model_server"},
        {503, "sk-1", "model_server"},
        {524, "", "model_server"},
        {204, "", "model_protocol"},
    };

    for (size_t i = 0; i < PDR_COUNT(statuses); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EMODEL, pdr__openai_fail(statuses[i].status,
                                               pdr_str_c(statuses[i].body),
                                               &secrets, &err));
        ASSERT_STR(statuses[i].reason, err.reason);
        ASSERT(strstr(err.message, "sk-1") == NULL);
    }
}

/* 199 times "x", then this. */
#define LONG_PAGE(end) \
    "<html>" X50 X50 X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" end
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

TEST(openai_answer, shows_the_first_200_characters_of_a_page)
{
    COVERS("P-16");
    static const struct {
        const char *body, *end;
    } pages[] = {
        {LONG_PAGE("yz</html>"), "xy"},
        {LONG_PAGE("\n</html>"), "x "},
        {LONG_PAGE("\xFFz"), "x?"},
        {LONG_PAGE("\xC3\xA4z"), "xx"}, /* half a character is none */
        {LONG_PAGE("sk-1"), "xx"},      /* nor is there half a key */
        {"<html>token-2,tok-2 sk-", "<html>***,***-2 sk-"},
    };

    for (size_t i = 0; i < PDR_COUNT(pages); i++) {
        pdr_err err = PDR_ERR_INIT;
        size_t len = 0;

        ASSERT_RC(PDR_EMODEL, pdr__openai_fail(502, pdr_str_c(pages[i].body),
                                               &secrets, &err));
        ASSERT_STR("model_server", err.reason);
        ASSERT(strncmp("the model server failed (HTTP 502): <html>",
                       err.message, 42) == 0);
        len = strlen(err.message);
        ASSERT(len <= 36 + 200);
        ASSERT_STR(pages[i].end, err.message + len - strlen(pages[i].end));
    }
}

TEST(openai_answer, names_calls_that_have_no_id)
{
    static const char *const chunks[CHUNKS] = {
        TC("\"index\":0," FN("f", "{")), TC("\"index\":0," ARGS("}")),
        TC("\"index\":1," FN("g", "{}")), END("tool_calls")};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    const char *first = NULL, *second = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, read_chunks(&out, chunks, PDR_SHAPE_DOTNET, &err));
    ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_n("", 1), &err));
    first = strstr(out.ptr, "\"callId\":\"call_");
    ASSERT(first != NULL);
    second = strstr(first + 1, "\"callId\":\"call_");
    ASSERT(second != NULL);
    ASSERT(first[15 + 24] == '"' && second[15 + 24] == '"');
    ASSERT(memcmp(first, second, 15 + 24) != 0);
    pdr_buf_dispose(&out);
}

TEST(openai_answer, has_contents_in_every_shape)
{
    static const char *const chunks[CHUNKS] = {
        D("\"reasoning\":\"h\",\"content\":\"a\""),
        TC("\"index\":0,\"id\":\"c\"," FN("f", "{\\\"a\\\":1}")),
        END("tool_calls")};
    static const struct {
        pdr_shape shape;
        const char *updates;
    } shapes[] = {
        {PDR_SHAPE_STATE,
         "{\"$type\":\"reasoning\",\"text\":\"h\"}\n" TEXT(
             "a") "{\"$type\":\"functionCall\",\"arguments\":{\"a\":1},"
                  "\"callId\":\"c\",\"name\":\"f\"}\n=tool_calls"},
        {PDR_SHAPE_PYTHON,
         "{\"type\":\"text_reasoning\",\"text\":\"h\",\"additional_"
         "properties\":{}}\n"
         "{\"type\":\"text\",\"text\":\"a\",\"additional_properties\":{}}\n"
         "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\","
         "\"arguments\":\"{\\\"a\\\":1}\",\"hosted\":false,"
         "\"additional_properties\":{}}\n=tool_calls"},
    };

    for (size_t i = 0; i < PDR_COUNT(shapes); i++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, read_chunks(&out, chunks, shapes[i].shape, &err));
        ASSERT_TEXT(shapes[i].updates, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
    }
}

/* A pdr_update_fn: what a piece says of the answer it belongs to. */
static pdr_rc on_update_facts(const pdr_update *update, pdr_err *err, void *arg)
{
    (void)err;
    (void)arg;
    ASSERT_TEXT("assistant", update->role);
    ASSERT_TEXT("r1", update->message_id);
    ASSERT_TEXT("r1", update->response_id);
    ASSERT_TEXT("m1", update->model);
    ASSERT_INT(PDR_TICKS_UNIX_EPOCH + 1700000000 * PDR_TICKS_PER_SECOND,
               update->created_at);
    return PDR_OK;
}

TEST(openai_answer, says_which_answer_and_model_a_piece_is_of)
{
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    struct pdr__openai_answer answer;
    pdr_err err = PDR_ERR_INIT;

    pdr__openai_answer_init(&answer, &request, &secrets, on_update_facts, NULL);
    ASSERT_RC(PDR_OK, pdr__openai_chunk(&answer,
                                        PDR_LIT("{\"id\":\"\",\"created\":0,"
                                                "\"choices\":[]}"),
                                        false, &err));
    ASSERT(!answer.has_given);
    ASSERT_RC(PDR_OK,
              pdr__openai_chunk(
                  &answer,
                  PDR_LIT("{\"id\":\"r1\",\"created\":1700000000,\"model\":"
                          "\"m1\",\"choices\":[{\"delta\":{\"content\":\"a\"},"
                          "\"finish_reason\":\"stop\"}]}"),
                  false, &err));
    ASSERT(answer.has_given);
    ASSERT_RC(PDR_OK, pdr__openai_end(&answer, &err));
    pdr__openai_answer_dispose(&answer);
}

TEST(openai_answer, refuses_an_endless_row_of_calls)
{
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    struct pdr__openai_answer answer;
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    size_t count = 0;

    pdr__openai_answer_init(&answer, &request, &secrets, on_update, &out);
    for (; rc == PDR_OK && count < 5000; count++)
        rc = pdr__openai_chunk(&answer, pdr_str_c(TC(FN("f", "{}"))), false,
                               &err);
    ASSERT_RC(PDR_EMODEL, rc);
    ASSERT_SIZE(1025, count);
    ASSERT_STR("model_protocol", err.reason);
    pdr__openai_answer_dispose(&answer);
    pdr_buf_dispose(&out);
}

/* --- as a stream -----------------------------------------------------------
 */

static pdr_rc on_event(const struct pdr__sse_event *event, pdr_err *err,
                       void *arg)
{
    return event->is_keepalive
               ? PDR_OK
               : pdr__openai_chunk(arg, event->data, event->is_cut, err);
}

static const char stream[] =
    ": hi\r\ndata: " D("\"content\":\"\xC3\xA4\"") "\r\n\r\ndata: " TC(
        "\"index\":0,\"id\":\"c1\"," FN("f", "{}")) "\n\ndata: " END("stop");

/* Read the first `len` bytes of the stream, cut in two. */
static pdr_rc read_stream(pdr_buf *out, size_t len, size_t cut, pdr_err *err)
{
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    struct pdr__openai_answer answer;
    struct pdr__sse sse;
    pdr_rc rc = PDR_OK;

    pdr__openai_answer_init(&answer, &request, &secrets, on_update, out);
    pdr__sse_init(&sse, on_event, &answer);
    PDR_TRY(pdr__sse_feed(&sse, pdr_str_n(stream, cut), err));
    PDR_TRY(pdr__sse_feed(&sse, pdr_str_n(stream + cut, len - cut), err));
    PDR_TRY(pdr__sse_end(&sse, err));
    PDR_TRY(pdr__openai_end(&answer, err));
done:
    pdr__sse_dispose(&sse);
    pdr__openai_answer_dispose(&answer);
    return rc;
}

TEST(openai_answer, is_the_same_however_a_stream_is_split)
{
    for (size_t cut = 0; cut < sizeof(stream); cut++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, read_stream(&out, sizeof(stream) - 1, cut, &err));
        ASSERT_TEXT(TEXT("\xC3\xA4") CALL("c1", "f", "{}") "=tool_calls",
                    pdr_buf_str(&out));
        pdr_buf_dispose(&out);
    }
}

TEST(openai_answer, is_never_taken_for_whole_when_a_stream_is_cut_off)
{
    for (size_t len = 0; len < sizeof(stream) - 1; len++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EMODEL, read_stream(&out, len, 0, &err));
        ASSERT(out.len == 0 || strcmp("model_truncated", err.reason) == 0);
        pdr_buf_dispose(&out);
    }
}

TEST_OOM(openai_answer, cleans_up_after_any_failed_allocation)
{
    const struct row *const chosen[] = {&texts[2], &texts[6],  &texts[7],
                                        &calls[2], &wholes[0], &wholes[2]};

    for (size_t i = 0; i < PDR_COUNT(chosen); i++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_rc rc =
            read_chunks(&out, chosen[i]->chunks, PDR_SHAPE_DOTNET, NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        pdr_buf_dispose(&out);
    }
    ASSERT(pdr__openai_fail(500, PDR_LIT("{\"error\":\"a\\nb\"}"), &secrets,
                            NULL) == PDR_EMODEL);
}
