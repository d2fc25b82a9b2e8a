/* Equality, in order and in any order: what counts, what it costs. */
#include "test.h"

#include "core.h"
#include "json_text.h"

static bool equal_unordered(const pdr_value *a, const pdr_value *b)
{
    bool is_equal = false, is_equal_back = false;

    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&is_equal, a, b, NULL));
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&is_equal_back, b, a, NULL));
    ASSERT(is_equal == is_equal_back);
    return is_equal;
}

struct pair {
    const char *a, *b;
    bool is_equal, is_equal_unordered;
};

static void check_pairs(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pdr_value *a = json(pairs[i].a), *b = json(pairs[i].b);
        size_t before = test_allocations();
        bool is_equal = pdr_value_equal(a, b);
        bool is_equal_back = pdr_value_equal(b, a);
        ASSERT_SIZE(before, test_allocations());
        if (is_equal != pairs[i].is_equal || is_equal_back != is_equal ||
            equal_unordered(a, b) != pairs[i].is_equal_unordered)
            fail_msg("%s against %s", pairs[i].a, pairs[i].b);
        pdr_value_free(a);
        pdr_value_free(b);
    }
}

TEST(value_equal, compares_scalars_by_kind_spelling_and_text)
{
    static const struct pair pairs[] = {
        {"null", "null", true, true},
        {"true", "true", true, true},
        {"true", "false", false, false},
        {"null", "false", false, false},
        {"1", "1", true, true},
        {"1", "1.0", false, false},
        {"0", "-0", false, false},
        {"1e2", "1E2", false, false},
        {"1", "\"1\"", false, false},
        {"\"a\"", "\"a\"", true, true},
        {"\"a\"", "\"b\"", false, false},
        {"\"a\"", "\"aa\"", false, false},
        {"\"a\"", "\"\\u0061\"", true, true},
        {"\"/\"", "\"\\/\"", true, true},
        {"\"\\u00e9\"", "\"\xC3\xA9\"", true, true},
        {"\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\"", true, true},
        {"\"\\ud83d\"", "\"\\uD83D\"", true, true},
        {"\"\\ud83d\"", "\"\\ude00\"", false, false},
        {"\"\\ud83d\"", "\"\\ud83d\\u0061\"", false, false},
        {"\"\\u0000\"", "\"\"", false, false},
        {"\"\"", "[]", false, false},
    };

    check_pairs(pairs, PDR_COUNT(pairs));
}

TEST(value_equal, compares_containers_with_all_that_is_inside)
{
    static const struct pair pairs[] = {
        {"[]", "[ ]", true, true},
        {"[]", "{}", false, false},
        {"[1,2]", " [ 1 , 2 ] ", true, true},
        {"[1,2]", "[2,1]", false, false},
        {"[1,2]", "[1]", false, false},
        {"[[1]]", "[[1],1]", false, false},
        {"{\"a\":1}", "{ \"a\" : 1 }", true, true},
        {"{\"a\":1}", "{\"\\u0061\":1}", true, true},
        {"{\"a\":1}", "{\"b\":1}", false, false},
        {"{\"a\":1}", "{\"a\":2}", false, false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", false, true},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2,\"c\":3}", false, false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false, false},
        {"[{\"a\":{\"x\":1,\"y\":[]},\"b\":2}]",
         "[{\"b\":2,\"a\":{\"y\":[],\"x\":1}}]", false, true},
        {"[{\"a\":[1,2]}]", "[{\"a\":[2,1]}]", false, false},
    };

    check_pairs(pairs, PDR_COUNT(pairs));
}

TEST(value_equal, compares_duplicates_first_with_first)
{
    static const struct pair pairs[] = {
        {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}", true, true},
        {"{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}", false, false},
        {"{\"a\":1,\"a\":1}", "{\"a\":1}", false, false},
        {"{\"a\":1,\"b\":0,\"a\":2}", "{\"b\":0,\"a\":1,\"a\":2}", false, true},
        {"{\"a\":1,\"b\":0,\"a\":2}", "{\"b\":0,\"a\":2,\"a\":1}", false,
         false},
        {"{\"a\":1,\"a\":1,\"b\":1}", "{\"a\":1,\"b\":1,\"b\":1}", false,
         false},
    };

    check_pairs(pairs, PDR_COUNT(pairs));
}

TEST(value_equal, takes_null_pointers)
{
    pdr_value *null = pdr_value_new_null();

    ASSERT(pdr_value_equal(NULL, NULL));
    ASSERT(!pdr_value_equal(NULL, null));
    ASSERT(!pdr_value_equal(null, NULL));
    pdr_value_free(null);
}

TEST(value_equal, does_not_see_whether_a_value_was_read_or_changed)
{
    pdr_value *read = json("{\"a\":[1,2],\"b\":\"x\"}");
    pdr_value *changed = json("{ \"a\" : [ 1 ] , \"b\":0}");
    pdr_value *two = json("2"), *x = json("\"\\u0078\"");

    ASSERT_RC(PDR_OK, pdr_pointer_set(&changed, pdr_str_c("/a/-"), two, NULL));
    ASSERT(!pdr_value_equal(read, changed));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&changed, pdr_str_c("/b"), x, NULL));
    ASSERT(pdr_value_equal(read, changed));
    ASSERT(pdr_value_equal(changed, read));
    ASSERT(equal_unordered(read, changed));
    pdr_value_free(read);
    pdr_value_free(changed);
    pdr_value_free(two);
    pdr_value_free(x);
}

static pdr_value *nest(char bottom)
{
    pdr_buf text = TEXT_INIT;

    for (size_t i = 0; i < PDR_MAX_DEPTH; i++)
        PUT(&text, "[");
    PUT(&text, "%c", bottom);
    for (size_t i = 0; i < PDR_MAX_DEPTH; i++)
        PUT(&text, "]");
    return json_take(&text);
}

TEST(value_equal, reaches_the_bottom_of_the_deepest_value)
{
    pdr_value *a = nest('1'), *b = nest('1'), *c = nest('2');

    ASSERT(equal_unordered(a, b));
    ASSERT(!pdr_value_equal(a, c));
    ASSERT(!equal_unordered(a, c));
    pdr_value_free(a);
    pdr_value_free(b);
    pdr_value_free(c);
}

/* --- large objects ------------------------------------------------------- */

enum { MILLION = 1000000 };

/* A million names in steps of `step`; all values are 0 but the last. */
static pdr_value *different_names(size_t step, int last)
{
    pdr_buf text = TEXT_INIT;

    for (size_t i = 0; i < MILLION; i++)
        PUT(&text, "%c\"%zu\":%d", i == 0 ? '{' : ',', i * step % MILLION,
            i + 1 < MILLION ? 0 : last);
    PUT(&text, "}");
    return json_take(&text);
}

TEST(value_equal_unordered, takes_a_million_names_in_another_order)
{
    pdr_value *a = different_names(1, 0);
    pdr_value *b = different_names(999983, 0); /* a prime */
    pdr_value *c = different_names(999983, 1);
    size_t before = test_allocations();

    ASSERT(equal_unordered(a, b));
    ASSERT(!equal_unordered(a, c));
    /* A table or two for each of the four comparisons. */
    ASSERT(test_allocations() - before < 20);
    pdr_value_free(a);
    pdr_value_free(b);
    pdr_value_free(c);
}

/* A million members called "n" with "x" before or behind them; the value of
 * member `odd` is 0, that of the others their number. */
static pdr_value *equal_names(bool x_first, size_t odd)
{
    pdr_buf text = TEXT_INIT;

    PUT(&text, "%s", x_first ? "{\"x\":0," : "{");
    for (size_t i = 0; i < MILLION; i++)
        PUT(&text, "%s\"n\":%zu", i > 0 ? "," : "", i == odd ? 0 : i);
    PUT(&text, "%s", x_first ? "}" : ",\"x\":0}");
    return json_take(&text);
}

TEST(value_equal_unordered, pairs_a_million_duplicates_in_their_order)
{
    pdr_value *a = equal_names(true, 0);
    pdr_value *b = equal_names(false, 0);
    pdr_value *c = equal_names(false, 999999);

    ASSERT(equal_unordered(a, b));
    ASSERT(!equal_unordered(a, c));
    pdr_value_free(a);
    pdr_value_free(b);
    pdr_value_free(c);
}

/* --- without memory ------------------------------------------------------ */

TEST_OOM(value_equal_unordered, reports_that_memory_ran_out)
{
    static const char forth[] =
        "{\"\\u0061\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,"
        "\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,"
        "\"p\":1,\"q\":{\"a\":1,\"b\":2}}";
    static const char back[] =
        "{\"q\":{\"b\":2,\"a\":1},\"p\":1,\"o\":1,\"n\":1,\"m\":1,\"l\":1,"
        "\"k\":1,\"j\":1,\"i\":1,\"h\":1,\"g\":1,\"f\":1,\"e\":1,\"d\":1,"
        "\"c\":1,\"b\":1,\"a\":1}";
    pdr_value *a = json(forth), *b = json(back);
    bool is_equal = false;

    if (a != NULL && b != NULL) {
        pdr_rc rc = pdr_value_equal_unordered(&is_equal, a, b, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT(is_equal == (rc == PDR_OK));
    }
    pdr_value_free(a);
    pdr_value_free(b);
}
