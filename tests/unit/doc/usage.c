/* Counts of tokens, whoever wrote them. */
#include "test.h"
#include "values.h"

#include "base.h"

static const char both[] =
    "{\"inputTokenCount\":5,\"outputTokenCount\":\"7\",\"totalTokenCount\":1.0,"
    "\"cachedInputTokenCount\":null,\"note\":\"x\",\"extensionData\":"
    "{\"cache_read_input_token_count\":4,\"own\":-2,\"reasoningTokenCount\":3},"
    "\"additionalCounts\":{\"audio\":9,\"half\":0.5},\"images\":2}";

static bool count_is(const pdr_value *usage, const char *name, int64_t expected)
{
    int64_t count = -77;

    return pdr_usage_count(&count, usage, pdr_str_c(name)) && count == expected;
}

TEST(usage_count, finds_counts_wherever_they_stand)
{
    pdr_value *usage = value_of(both);

    ASSERT(count_is(usage, "inputTokenCount", 5));
    ASSERT(count_is(usage, "totalTokenCount", 1));
    ASSERT(count_is(usage, "cachedInputTokenCount", 4)); /* Python's name */
    ASSERT(count_is(usage, "reasoningTokenCount", 3));   /* .NET's, nested */
    ASSERT(count_is(usage, "audio", 9));
    ASSERT(count_is(usage, "own", -2));
    ASSERT(count_is(usage, "images", 2));
    pdr_value_free(usage);
}

TEST(usage_count, is_false_for_what_is_no_integer_of_64_bits)
{
    pdr_value *usage = value_of("{\"a\":9223372036854775808,\"b\":1.5,\"c\":[],"
                                "\"extensionData\":3,\"additionalCounts\":[]}");
    pdr_value *list = value_of("[1]");
    int64_t count = 0;

    ASSERT(!pdr_usage_count(&count, usage, pdr_str_c("a")));
    ASSERT(!pdr_usage_count(&count, usage, pdr_str_c("b")));
    ASSERT(!pdr_usage_count(&count, usage, pdr_str_c("c")));
    ASSERT(!pdr_usage_count(&count, usage, pdr_str_c("absent")));
    ASSERT(!pdr_usage_count(&count, usage, pdr_str_c("inputTokenCount")));
    ASSERT(!pdr_usage_count(&count, list, pdr_str_c("0")));
    ASSERT(!pdr_usage_count(&count, NULL, pdr_str_c("inputTokenCount")));
    pdr_value_free(list);
    pdr_value_free(usage);
}

/* --- all of them ---------------------------------------------------------- */

static pdr_rc note(pdr_str name, int64_t count, pdr_err *err, void *arg)
{
    return pdr_buf_printf(arg, err, "%.*s=%lld ", (int)name.len, name.ptr,
                          (long long)count);
}

TEST(usage_each, tells_every_count_with_the_name_of_dotnet)
{
    pdr_value *usage = value_of(both);
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_usage_each(usage, NULL, note, &told));
    ASSERT_TEXT("inputTokenCount=5 totalTokenCount=1 "
                "cachedInputTokenCount=4 own=-2 reasoningTokenCount=3 audio=9 "
                "images=2 ",
                pdr_buf_str(&told));
    pdr_buf_dispose(&told);
    pdr_value_free(usage);
}

TEST(usage_each, keeps_the_order_and_takes_the_last_of_a_name)
{
    pdr_value *usage =
        value_of("{\"extensionData\":{\"lost\":7},\"extensionData\":{\"x\":1,"
                 "\"x\":2},\"inputTokenCount\":2,\"inputTokenCount\":3,"
                 "\"outputTokenCount\":4,\"outputTokenCount\":null}");
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_usage_each(usage, NULL, note, &told));
    ASSERT_TEXT("x=2 inputTokenCount=3 ", pdr_buf_str(&told));
    pdr_buf_dispose(&told);
    pdr_value_free(usage);
}

TEST(usage_each, tells_a_count_once_that_both_editions_wrote)
{
    pdr_value *usage = value_of(
        "{\"extensionData\":{\"cache_read_input_token_count\":9,\"x\":1},"
        "\"cachedInputTokenCount\":4,\"reasoningTokenCount\":null,"
        "\"additionalCounts\":{\"reasoningTokenCount\":3}}");
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_usage_each(usage, NULL, note, &told));
    ASSERT_TEXT("x=1 cachedInputTokenCount=4 reasoningTokenCount=3 ",
                pdr_buf_str(&told));
    pdr_buf_dispose(&told);
    pdr_value_free(usage);
}

TEST(usage_each, passes_names_that_have_no_utf8_form)
{
    pdr_value *usage = value_of("{\"\\ud800\":1,\"\\u0061\":2}");
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_usage_each(usage, NULL, note, &told));
    ASSERT_TEXT("a=2 ", pdr_buf_str(&told));
    pdr_buf_dispose(&told);
    pdr_value_free(usage);
}

TEST(usage_each, has_nothing_to_tell_of_what_is_no_object)
{
    pdr_value *list = value_of("[1,2]");
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_usage_each(list, NULL, note, &told));
    ASSERT_RC(PDR_OK, pdr_usage_each(NULL, NULL, note, &told));
    ASSERT_SIZE(0, told.len);
    pdr_buf_dispose(&told);
    pdr_value_free(list);
}

static pdr_rc stop(pdr_str name, int64_t count, pdr_err *err, void *arg)
{
    (void)name;
    (void)err;
    ++*(int *)arg;
    return count == 4 ? PDR_ECANCELLED : PDR_OK;
}

TEST(usage_each, ends_with_what_the_callback_returned)
{
    pdr_value *usage = value_of(both);
    int calls = 0;

    ASSERT_RC(PDR_ECANCELLED, pdr_usage_each(usage, NULL, stop, &calls));
    ASSERT_INT(3, calls);
    pdr_value_free(usage);
}

TEST_OOM(usage_each, fails_cleanly_without_memory)
{
    pdr_value *usage = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);
    pdr_rc rc = pdr_json_read(
        &usage, pdr_str_c("{\"\\u0061\":1,\"extensionData\":{\"\\u0062\":2}}"),
        NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_usage_each(usage, NULL, note, &told);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc == PDR_OK)
        ASSERT_TEXT("a=1 b=2 ", pdr_buf_str(&told));
    pdr_buf_dispose(&told);
    pdr_value_free(usage);
}
