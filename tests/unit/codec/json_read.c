/* Options, limits and failures of the reader; the grammar is in the corpus. */
#include "values.h"

#include "codec.h"

static pdr_rc read_with(const char *json, const pdr_read_opts *opts,
                        pdr_err *err)
{
    pdr_value *v = NULL;
    pdr_rc rc = pdr_json_read(&v, pdr_str_c(json), opts, err);

    ASSERT((v != NULL) == (rc == PDR_OK));
    pdr_value_free(v);
    return rc;
}

TEST(json_read, stops_at_the_depth_that_was_set)
{
    pdr_read_opts opts = {.max_depth = 3};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, read_with("[{\"a\":[1]}]", &opts, &err));
    ASSERT_RC(PDR_ELIMIT, read_with("[{\"a\":[[1]]}]", &opts, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_STR("more than 3 levels", err.message);
    ASSERT_STR("/0/a/0", err.path);
    ASSERT_INT(7, err.offset);
}

static char *nested(size_t levels)
{
    char *json = malloc(2 * levels + 1);

    memset(json, '[', levels);
    memset(json + levels, ']', levels);
    json[2 * levels] = '\0';
    return json;
}

TEST(json_read, takes_128_levels_and_no_more_by_default)
{
    static const struct {
        size_t levels;
        uint32_t max;
        pdr_rc rc;
    } rows[] = {{PDR_DEFAULT_DEPTH, 0, PDR_OK},
                {PDR_DEFAULT_DEPTH + 1, 0, PDR_ELIMIT},
                {PDR_MAX_DEPTH, PDR_MAX_DEPTH, PDR_OK},
                {PDR_MAX_DEPTH + 1, PDR_MAX_DEPTH, PDR_ELIMIT},
                {100000, 0, PDR_ELIMIT}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_read_opts opts = {.max_depth = rows[i].max};
        char *json = nested(rows[i].levels);
        ASSERT_RC(rows[i].rc, read_with(json, &opts, NULL));
        free(json);
    }
}

TEST(json_read, stops_at_the_size_that_was_set)
{
    pdr_read_opts opts = {.max_bytes = 5};
    pdr_err err = PDR_ERR_INIT;
    pdr_buf text = PDR_BUF_INIT(100);
    pdr_value *v = NULL;

    ASSERT_RC(PDR_OK, read_with("[1,2]", &opts, &err));
    ASSERT_RC(PDR_ELIMIT, read_with("[1,23]", &opts, &err));
    ASSERT_STR("too_large", err.reason);
    ASSERT_STR("6 bytes, the limit is 5", err.message);
    ASSERT_RC(PDR_ELIMIT,
              pdr_json_read_borrowed(&v, pdr_str_c("[1,23]"), &opts, &err));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("[1,23]"), NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_json_read_take(&v, &text, &opts, &err));
    ASSERT(text.ptr == NULL); /* taken, also on failure */
}

TEST(json_read, stops_at_the_number_of_nodes_that_was_set)
{
    pdr_read_opts opts = {.max_nodes = 5};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, read_with("{\"a\":1,\"b\":2}", &opts, &err));
    ASSERT_RC(PDR_ELIMIT, read_with("{\"a\":1,\"b\":[2]}", &opts, &err));
    ASSERT_STR("too_many_nodes", err.reason);
    ASSERT_STR("more than 5 names and values", err.message);
    ASSERT_STR("/b/0", err.path);
    ASSERT_RC(PDR_ELIMIT, read_with("{\"a\":1,\"b\":2,\"c\":3}", &opts, &err));
    ASSERT_STR("", err.path);
}

TEST(json_read, grows_beyond_its_first_guess)
{
    char *json = malloc(200002);
    pdr_value *v = NULL;

    for (size_t i = 0; i < 100000; i++)
        memcpy(json + 2 * i, i == 0 ? "[1" : ",1", 2);
    json[200000] = ']';
    json[200001] = '\0';
    v = value_of(json);
    ASSERT_SIZE(100000, pdr_value_count(v));
    pdr_value_free(v);
    free(json);
}

TEST(json_read, refuses_options_that_cannot_be)
{
    static const pdr_read_opts rows[] = {
        {.flags = 0x100},
        {.kernel = (pdr_kernel)9},
        {.max_depth = PDR_MAX_DEPTH + 1},
        {.max_bytes = (uint64_t)PDR_MAX_TEXT_BYTES + 1},
        {.max_nodes = (uint64_t)PDR_MAX_NODES + 1}};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_EMISUSE, read_with("1", &rows[i], &err));
        ASSERT_STR("bad_option", err.reason);
    }
}

TEST(json_read, says_which_kernel_it_uses)
{
    static const char *const names[] = {"portable", "sse2", "avx2"};
    bool known = false;

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        pdr_read_opts opts = {.kernel = (pdr_kernel)(i + 1)};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = read_with("[1]", &opts, &err);
        known = known || strcmp(names[i], pdr_kernel_name()) == 0;
        ASSERT(rc == PDR_OK || rc == PDR_EUNSUPPORTED);
        if (rc == PDR_EUNSUPPORTED)
            ASSERT_STR("no_kernel", err.reason);
    }
    ASSERT(known);
}

TEST(json_read, tells_where_a_document_ended_when_more_follows)
{
    size_t used = 0;
    pdr_read_opts opts = {.flags = PDR_TRAILING, .used = &used};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, read_with(" [1] {}", &opts, &err));
    ASSERT_SIZE(4, used);
    ASSERT_RC(PDR_OK, read_with("1", &opts, &err));
    ASSERT_SIZE(1, used);
    opts.flags = 0;
    ASSERT_RC(PDR_EINVALID, read_with(" [1] {}", &opts, &err));
    ASSERT_STR("trailing_data", err.reason);
    ASSERT_INT(5, err.offset);
    ASSERT_RC(PDR_OK, read_with(" [1] \n", &opts, &err));
    ASSERT_SIZE(4, used);
}

TEST(json_read, keeps_bare_tokens_when_asked)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *v = NULL;
    double number = 0;

    ASSERT_RC(PDR_OK, pdr_json_read(&v, pdr_str_c("[NaN,Infinity,-Infinity]"),
                                    &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_value_double(&number, pdr_value_at(v, 0), NULL));
    ASSERT(number != number);
    ASSERT_RC(PDR_OK, pdr_value_double(&number, pdr_value_at(v, 2), NULL));
    ASSERT(number < -1e308);
    pdr_value_free(v);
    ASSERT_RC(PDR_EINVALID, read_with("[NaN]", NULL, NULL));
    ASSERT_RC(PDR_EINVALID, read_with("[Nan]", &opts, NULL));
}

TEST(json_read_borrowed, points_into_the_callers_text)
{
    char text[] = "[\"abc\"]";
    pdr_value *v = NULL;
    pdr_str inside;

    ASSERT_RC(PDR_OK, pdr_json_read_borrowed(&v, pdr_str_n(text, strlen(text)),
                                             NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_value_text(&inside, pdr_value_at(v, 0), NULL, NULL));
    ASSERT(inside.ptr == text + 2);
    pdr_value_free(v);
}

TEST(json_read, says_what_is_wrong_and_what_helps)
{
    static const struct {
        const char *json, *message;
    } rows[] = {
        {"[1,]", "expected a value, found ']'; no comma may stand before a "
                 "closing bracket"},
        {"{\"a\":1,}", "expected a name in double quotes, found '}'; no comma "
                       "may stand before a closing bracket"},
        {"{\"a\":}", "expected a value, found '}'"},
        {"['a']", "expected a value, found '''; strings stand in double "
                  "quotes"},
        {"[1] // x", "there is more behind the document"},
        {"[/*", "expected a value, found '/'; JSON has no comments"},
        {"[True]", "expected a value, found 'T'; the literals are true, false "
                   "and null"},
        {"[01]", "expected ',' or ']', found '1'; a number has no leading "
                 "zeros"},
        {"{\"a\" 1}", "expected ':', found '1'"},
        {"[1 2]", "expected ',' or ']', found '2'"},
        {"{\"a\":1 2}", "expected ',' or '}', found '2'"},
        {"[\x80]", "expected a value, found byte 0x80"},
        {"[-x]", "expected a digit, found 'x'"},
        {"[\"\t\"]", "byte 0x09 must be escaped in a string"},
        {"[\"\xC3\x28\"]", "byte 0xC3 does not begin a UTF-8 sequence"},
        {"[\"\\x\"]", "no escape: a backslash stands before one of \"\\/bfnrt "
                      "or u and four hex digits"},
        {"[1", "the document ends before it is complete"}};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_EINVALID, read_with(rows[i].json, NULL, &err));
        ASSERT_STR(rows[i].message, err.message);
    }
}

TEST(json_read, names_the_path_of_what_is_wrong)
{
    static const struct {
        const char *json, *path;
    } rows[] = {{"{\"a\":[1,{\"b\":x}]}", "/a/1/b"},
                {"{\"a~/\\n\\ud800\\u00e9\":x}", "/a~0~1\\n\\ud800\xC3\xA9"},
                {"[[],[[]],x", "/2"},
                {"{\"a\":{\"b\":1} x}", ""},
                {"{\"a\":{\"b\":1 x}}", "/a"},
                {"[[1,2],[3,4 x]]", "/1"},
                {"{\"a\":1,b", ""},
                {"{\"a\":{\"\\x\":1}}", "/a"}};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_EINVALID, read_with(rows[i].json, NULL, &err));
        ASSERT_STR(rows[i].path, err.path);
    }
}

TEST(json_read, cuts_a_long_path_at_the_front)
{
    pdr_read_opts opts = {.max_depth = PDR_MAX_DEPTH};
    pdr_err err = PDR_ERR_INIT;
    char json[2000] = "";
    char *p = json;

    for (int i = 0; i < 300; i++)
        p += snprintf(p, 64, "[1,");
    memcpy(p, "{\"last\":x", sizeof("{\"last\":x"));
    ASSERT_RC(PDR_EINVALID, read_with(json, &opts, &err));
    ASSERT_SIZE(PDR_ERR_PATH - 1, strlen(err.path));
    ASSERT(strncmp(err.path, "...", 3) == 0);
    ASSERT_STR("/1/1/last", err.path + strlen(err.path) - 9);
}

TEST_OOM(json_read, cleans_up_after_any_failed_allocation)
{
    static const char *const rows[] = {
        "{\"a\":[1,2,3],\"b\\n\":\"x\"}", "{\"a\\n\":[1,{\"b\":x",
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *v = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_json_read(&v, pdr_str_c(rows[i]), NULL, &err);
        ASSERT(rc == PDR_ENOMEM || rc == (i == 1 ? PDR_EINVALID : PDR_OK));
        ASSERT((v != NULL) == (rc == PDR_OK));
        pdr_value_free(v);
    }
}
