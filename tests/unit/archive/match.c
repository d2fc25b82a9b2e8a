/* One text for each value that lists compare. */
#include <perdure/archive.h>
#include <perdure/json.h>

#include "test.h"

/* The match of a JSON text; "" if there is none. */
static const char *match_of(const char *json)
{
    static char text[2048];
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    bool found = true;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c("-"), NULL));
    ASSERT_RC(PDR_OK, pdr_property_match(&out, &found, value, NULL));
    ASSERT(found == (out.len > 1));
    memset(text, 0, sizeof(text));
    memcpy(text, out.ptr + 1, out.len - 1);
    pdr_buf_dispose(&out);
    pdr_value_free(value);
    return text;
}

TEST(match, has_one_text_for_equal_numbers)
{
    static const char *const ones[] = {"1",    "1.0",      "1e0",    "10e-1",
                                       "1E+0", "0.001e3",  "1.000",  "100e-2",
                                       "1e00", "0.1E+001", "1e-000", "1.0e-0"};
    static const char *const zeros[] = {"0",      "-0",    "0.00",
                                        "-0.0e5", "0e-99", "0E+3"};

    for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)
        ASSERT_STR("n1", match_of(ones[i]));
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++)
        ASSERT_STR("n0", match_of(zeros[i]));
    ASSERT_STR("n-125e-1", match_of("-12.50"));
    ASSERT_STR("n-125e-1", match_of("-0.125e2"));
    ASSERT_STR("n1e2", match_of("100"));
    ASSERT_STR("n1001", match_of("1001.0"));
}

TEST(match, tells_neighbours_apart)
{
    ASSERT_STR("n9007199254740993", match_of("9007199254740993"));
    ASSERT_STR("n9007199254740992", match_of("9007199254740992.0"));
    ASSERT_STR("n1180591620717411303424", match_of("1180591620717411303424"));
    ASSERT_STR("n1e99999999999999999", match_of("1e99999999999999999"));
}

TEST(match, has_texts_and_booleans)
{
    ASSERT_STR("tx", match_of("\"x\""));
    ASSERT_STR("t", match_of("\"\""));
    ASSERT_STR("ttrue", match_of("\"true\""));
    ASSERT_STR("btrue", match_of("true"));
    ASSERT_STR("bfalse", match_of("false"));
    ASSERT_STR("tA", match_of("\"\\u0041\""));
}

TEST(match, leaves_out_what_no_list_finds)
{
    char text[1200];

    ASSERT_STR("", match_of("null"));
    ASSERT_STR("", match_of("[]"));
    ASSERT_STR("", match_of("{}"));
    ASSERT_STR("", match_of("\"\\ud800\""));
    ASSERT_STR("", match_of("\"\\u0000\""));
    ASSERT_STR("", match_of("1e999999999999999999"));
    memset(text, 'x', sizeof(text));
    text[0] = text[1024] = '"';
    text[1025] = '\0';
    ASSERT_SIZE(1024, strlen(match_of(text))); /* 1,023 and the letter */
    text[1024] = 'x';
    text[1025] = '"';
    text[1026] = '\0';
    ASSERT_STR("", match_of(text));
    memset(text, '7', sizeof(text));
    text[1023] = '\0';
    ASSERT_SIZE(1024, strlen(match_of(text)));
    text[1023] = '7';
    text[1024] = '\0';
    ASSERT_STR("", match_of(text));
    text[1024] = '7';
    text[1030] = '\0';
    ASSERT_STR("", match_of(text));
}

TEST(match, knows_no_bare_tokens)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    static const char *const tokens[] = {"NaN", "Infinity", "-Infinity"};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < 3; i++) {
        pdr_value *value = NULL;
        bool found = true;

        ASSERT_RC(PDR_OK,
                  pdr_json_read(&value, pdr_str_c(tokens[i]), &opts, NULL));
        ASSERT_RC(PDR_OK, pdr_property_match(&out, &found, value, NULL));
        ASSERT(!found);
        pdr_value_free(value);
    }
    pdr_buf_dispose(&out);
}

TEST_OOM(match, survives_failed_allocations)
{
    static const char *const values[] = {"\"\\u0041\"", "12.5", "true"};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < 3; i++) {
        pdr_value *value = NULL;
        bool found = false;
        pdr_rc rc = pdr_json_read(&value, pdr_str_c(values[i]), NULL, NULL);

        if (rc == PDR_OK)
            rc = pdr_property_match(&out, &found, value, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT(found == (rc == PDR_OK));
        pdr_value_free(value);
    }
    pdr_buf_dispose(&out);
}
