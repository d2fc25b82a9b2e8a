/* Findings: duplicates and lone surrogates, where and in which order. */
#include "test.h"

#include "core.h"
#include "json_text.h"

/* Writes "D pointer" or "S pointer" and a line end for each finding. */
static pdr_rc note(const pdr_finding *finding, pdr_err *err, void *arg)
{
    pdr_buf *out = arg;
    pdr_rc rc = pdr_buf_append(
        out, pdr_str_c(finding->kind == PDR_FOUND_DUPLICATE ? "D " : "S "),
        err);

    ASSERT(pdr_value_kind(finding->value) == PDR_STRING);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, finding->pointer, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, pdr_str_c("\n"), err);
    return rc;
}

static void check(const char *expected, const char *document)
{
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    pdr_value *value = json(document);

    ASSERT_RC(PDR_OK, pdr_value_inspect(value, NULL, note, &found));
    ASSERT_TEXT(expected, pdr_buf_str(&found));
    pdr_buf_dispose(&found);
    pdr_value_free(value);
}

TEST(value_inspect, finds_nothing_where_nothing_is)
{
    check("", "null");
    check("", "\"\\ud83d\\ude00 \\u0000\"");
    check("", "{\"a\":{\"a\":[{\"a\":1},{\"a\":1}]},\"b\":{\"a\":1}}");
    check("", "{\"a\":1,\"A\":1,\"aa\":1,\"\":1,\"a\\u0000\":1}");
}

TEST(value_inspect, reports_each_duplicate_but_the_first)
{
    check("D /a\n", "{\"a\":1,\"a\":2}");
    check("D /a\nD /a\n", "{\"a\":1,\"a\":2,\"a\":2}");
    check("D /a\n", "{\"a\":1,\"\\u0061\":2}");
    check("D /\n", "{\"\":1,\"\":2}");
    check("D /x/1/m~0n~1o\n", "{\"x\":[0,{\"m~n/o\":1,\"m~n\\/o\":2}]}");
}

TEST(value_inspect, reports_lone_surrogates_in_names_and_strings)
{
    check("S \n", "\"\\ud800\"");
    check("S /0\nS /2/a\n", "[\"\\udfff\",\"\",{\"a\":\"x\\ud83d\"}]");
    check("S /\xED\xA0\x80\n", "{\"\\ud800\":1}");
    check("S /\xED\xA0\x80\nS /\xED\xA0\x80/0\n",
          "{\"\\ud800\":[\"\\ud800\"]}");
}

TEST(value_inspect, keeps_the_order_of_the_document)
{
    /* A member's duplicate name, its surrogate, then its value. */
    check("D /a\nS /a/0\nS /\xED\xB0\x80\nS /\xED\xB0\x80\n"
          "D /\xED\xB0\x80\nS /\xED\xB0\x80\nD /z\n",
          "{\"z\":0,\"a\":[],\"a\":[\"\\ud800\"],\"\\udc00\":\"\\udc00\","
          "\"\\uDC00\":1,\"z\":[]}");
}

TEST(value_inspect, finds_the_same_in_an_object_that_was_changed)
{
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    pdr_value *value = json("{\"a\":1,\"b\":2,\"a\":3}");
    pdr_value *text = json("\"\\ud800\"");

    ASSERT_RC(PDR_OK, pdr_value_set(&value, pdr_str_c("b"), text, NULL));
    ASSERT_RC(PDR_OK, pdr_value_inspect(value, NULL, note, &found));
    ASSERT_TEXT("S /b\nD /a\n", pdr_buf_str(&found));
    pdr_buf_dispose(&found);
    pdr_value_free(value);
    pdr_value_free(text);
}

/* --- large objects ------------------------------------------------------- */

struct count {
    size_t duplicates, surrogates;
    pdr_rc answer; /* what the callback returns */
};

static pdr_rc count_findings(const pdr_finding *finding, pdr_err *err,
                             void *arg)
{
    struct count *count = arg;

    if (finding->kind == PDR_FOUND_DUPLICATE)
        count->duplicates++;
    else
        count->surrogates++;
    if (count->answer != PDR_OK)
        return pdr_err_set(err, count->answer, "enough", "enough found");
    return PDR_OK;
}

/* A million members; each name stands `repeat` times. */
static void check_million(size_t repeat, size_t duplicates)
{
    enum { MILLION = 1000000 };
    pdr_buf text = TEXT_INIT;
    struct count count = {0};

    for (size_t i = 0; i < MILLION; i++)
        PUT(&text, "%c\"%zu\":0", i == 0 ? '{' : ',', i % (MILLION / repeat));
    PUT(&text, "}");
    pdr_value *value = json_take(&text);
    size_t before = test_allocations();
    ASSERT_RC(PDR_OK, pdr_value_inspect(value, NULL, count_findings, &count));
    ASSERT(test_allocations() - before < 10);
    ASSERT_SIZE(duplicates, count.duplicates);
    ASSERT_SIZE(0, count.surrogates);
    pdr_value_free(value);
}

TEST(value_inspect, takes_a_million_names_of_all_sorts)
{
    check_million(1, 0);
    check_million(2, 500000);
    check_million(1000000, 999999);
}

/* One below and one above the size from which on names are hashed. */
TEST(value_inspect, finds_duplicates_in_small_and_large_objects_alike)
{
    for (size_t members = PDR_INDEX_MIN - 1; members <= PDR_INDEX_MIN + 2;
         members++) {
        pdr_buf text = TEXT_INIT;
        struct count count = {0};

        PUT(&text, "{");
        for (size_t i = 0; i + 1 < members; i++)
            PUT(&text, "\"%zu\":0,", i);
        PUT(&text, "\"\\u0030\":1}");
        pdr_value *value = json_take(&text);
        ASSERT_SIZE(members, pdr_value_count(value));
        ASSERT_RC(PDR_OK,
                  pdr_value_inspect(value, NULL, count_findings, &count));
        ASSERT_SIZE(1, count.duplicates);
        pdr_value_free(value);
    }
}

/* --- failures ------------------------------------------------------------ */

TEST(value_inspect, ends_with_what_the_callback_returns)
{
    pdr_value *value = json("[\"\\ud800\",\"\\ud800\",{\"a\":1,\"a\":1}]");
    struct count count = {.answer = PDR_ECANCELLED};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECANCELLED,
              pdr_value_inspect(value, &err, count_findings, &count));
    ASSERT_STR("enough", err.reason);
    ASSERT_SIZE(1, count.surrogates);
    ASSERT_SIZE(0, count.duplicates);
    pdr_value_free(value);
}

TEST(value_inspect, refuses_a_pointer_that_is_too_long)
{
    struct count count = {0};
    pdr_err err = PDR_ERR_INIT;

    for (size_t more = 0; more <= 1; more++) {
        size_t len = PDR_MAX_POINTER_BYTES - 1 + more; /* the slash counts */
        pdr_buf text = TEXT_INIT;
        PUT(&text, "{\"");
        ASSERT_RC(PDR_OK, pdr_buf_reserve(&text, len, NULL));
        memset(text.ptr + text.len, 'n', len);
        text.len += len;
        PUT(&text, "\":\"\\ud800\"}");
        pdr_value *value = json_take(&text);
        ASSERT_RC(more == 0 ? PDR_OK : PDR_ELIMIT,
                  pdr_value_inspect(value, &err, count_findings, &count));
        pdr_value_free(value);
    }
    ASSERT_SIZE(1, count.surrogates);
    ASSERT_STR("buffer_full", err.reason);
}

TEST_OOM(value_inspect, reports_that_memory_ran_out)
{
    static const char document[] =
        "{\"a\":{\"b\":1,\"b\":1},\"\\u0062\":[\"\\ud800\"],\"c\":1,"
        "\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,"
        "\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1,\"a\":1}";
    pdr_value *value = json(document);
    struct count count = {0};

    if (value == NULL)
        return;
    pdr_rc rc = pdr_value_inspect(value, NULL, count_findings, &count);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc == PDR_OK)
        ASSERT_SIZE(3, count.duplicates + count.surrogates);
    pdr_value_free(value);
}
