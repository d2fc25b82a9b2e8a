/* Layouts, bare tokens and failures of the writer. */
#include "values.h"

#include "codec.h"

TEST(json_write, keeps_every_lexeme_in_every_layout)
{
    static const char json[] =
        "{ \"a\" : [ 1.10 , -0,1E400, 123456789012345678901234567890 ] ,\n"
        " \"\\u0000\\/\":\"\\ud800 \\u00E9\",\"a\":{ },\"e\" : [\t]}";
    pdr_value *v = value_of(json);

    ASSERT_JSON("{\"a\":[1.10,-0,1E400,123456789012345678901234567890],"
                "\"\\u0000\\/\":\"\\ud800 \\u00E9\",\"a\":{},\"e\":[]}",
                v);
    ASSERT_AS_READ(json, v);
    ASSERT_LAYOUT("{\n"
                  "  \"a\": [\n"
                  "    1.10,\n"
                  "    -0,\n"
                  "    1E400,\n"
                  "    123456789012345678901234567890\n"
                  "  ],\n"
                  "  \"\\u0000\\/\": \"\\ud800 \\u00E9\",\n"
                  "  \"a\": {},\n"
                  "  \"e\": []\n"
                  "}",
                  v, PDR_PRETTY);
    pdr_value_free(v);
}

TEST(json_write, indents_as_asked)
{
    pdr_value *v = value_of("[[1]]");
    pdr_write_opts opts = {.layout = PDR_PRETTY, .indent = 1};
    pdr_buf out = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_json_write(&out, v, &opts, NULL));
    ASSERT_TEXT("[\n [\n  1\n ]\n]", pdr_buf_str(&out));
    opts.indent = PDR_MAX_INDENT;
    ASSERT_RC(PDR_OK, pdr_json_write(&out, v, &opts, NULL));
    pdr_buf_dispose(&out);
    pdr_value_free(v);
}

TEST(json_write, refuses_options_that_cannot_be)
{
    static const pdr_write_opts rows[] = {{.flags = PDR_TRAILING},
                                          {.layout = (pdr_layout)3},
                                          {.indent = PDR_MAX_INDENT + 1}};
    pdr_value *v = value_of("1");
    pdr_buf out = PDR_BUF_INIT(10);
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_EMISUSE, pdr_json_write(&out, v, &rows[i], &err));
        ASSERT_STR("bad_option", err.reason);
    }
    pdr_value_free(v);
}

TEST(json_write, needs_the_option_for_bare_tokens_and_names_the_place)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_write_opts allow = {.flags = PDR_BARE_TOKENS};
    static const pdr_layout layouts[] = {PDR_COMPACT, PDR_PRETTY, PDR_AS_READ};
    pdr_value *v = NULL, *null = pdr_value_new_null();
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_json_read(&v, pdr_str_c("{\"a/\":[1,{\"b\":-Infinity}]}"),
                            &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c("before"), NULL));
    for (int changed = 0; changed < 2; changed++) {
        for (size_t i = 0; i < PDR_COUNT(layouts); i++) {
            pdr_write_opts deny = {.layout = layouts[i]};
            ASSERT_RC(PDR_EINVALID, pdr_json_write(&out, v, &deny, &err));
            ASSERT_STR("bare_token", err.reason);
            ASSERT_STR(
                "-Infinity is no JSON; it is written only when asked for",
                err.message);
            ASSERT_STR("/a~1/1/b", err.path);
            ASSERT_TEXT("before", pdr_buf_str(&out));
            ASSERT_RC(PDR_EINVALID, pdr_json_write(&out, v, &deny, NULL));
        }
        if (!changed)
            ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("z"), null, NULL));
    }
    ASSERT_RC(PDR_OK, pdr_json_write(&out, v, &allow, NULL));
    ASSERT_TEXT("before{\"a/\":[1,{\"b\":-Infinity}],\"z\":null}",
                pdr_buf_str(&out));
    ASSERT_RC(PDR_OK, pdr_value_compact(&v, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_json_write(&out, v, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_json_write(&out, pdr_value_get_c(v, "z"), NULL, NULL));
    pdr_buf_dispose(&out);
    pdr_value_free(v);
}

TEST(json_write, leaves_the_buffer_as_it_was_when_it_is_full)
{
    pdr_value *v = value_of("[1,[2,3],{\"a\": 4}]");
    static const pdr_layout layouts[] = {PDR_COMPACT, PDR_PRETTY, PDR_AS_READ};

    ASSERT_RC(PDR_OK, pdr_value_append(&v, pdr_value_at(v, 2), NULL));
    for (size_t i = 0; i < PDR_COUNT(layouts); i++) {
        pdr_write_opts opts = {.layout = layouts[i]};
        for (size_t max = 1;; max++) {
            pdr_buf out = PDR_BUF_INIT(max);
            pdr_rc rc = pdr_json_write(&out, v, &opts, NULL);
            ASSERT_SIZE(rc == PDR_OK ? max : 0, out.len);
            pdr_buf_dispose(&out);
            if (rc == PDR_OK)
                break;
            ASSERT_RC(PDR_ELIMIT, rc);
        }
    }
    pdr_value_free(v);
}

TEST_OOM(json_write, cleans_up_after_any_failed_allocation)
{
    pdr_value *v = NULL;
    pdr_buf out = PDR_BUF_INIT(1000);

    if (pdr_json_read(&v, pdr_str_c("{ \"a\" : [ 1 , 2 ] }"), NULL, NULL) !=
        PDR_OK)
        return;
    pdr_rc rc = pdr_json_write(&out, v, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_SIZE(rc == PDR_OK ? 11 : 0, out.len);
    pdr_buf_dispose(&out);
    pdr_value_free(v);
}
