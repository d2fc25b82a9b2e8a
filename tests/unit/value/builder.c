/* Values made in code. */
#include "values.h"

#include "core.h"

static pdr_builder *new_builder(void)
{
    pdr_builder *b = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&b, NULL));
    return b;
}

TEST(builder, makes_every_kind_in_compact_form)
{
    pdr_builder *b = new_builder();
    pdr_value *v = NULL, *part = value_of("{ \"x\" : [ 1.10 , {} ] }");

    pdr_builder_object(b);
    pdr_builder_name(b, pdr_str_c("a\"b"));
    pdr_builder_array(b);
    pdr_builder_null(b);
    pdr_builder_bool(b, true);
    pdr_builder_bool(b, false);
    pdr_builder_int64(b, -7);
    pdr_builder_uint64(b, UINT64_MAX);
    pdr_builder_double(b, 1e16);
    pdr_builder_number(b, pdr_str_c("1.10"));
    pdr_builder_string(b, pdr_str_c("x\ty"));
    pdr_builder_escaped(b, pdr_str_c("\\ud800\\/"));
    pdr_builder_end(b);
    pdr_builder_escaped_name(b, pdr_str_c("\\u0041"));
    pdr_builder_object(b);
    pdr_builder_end(b);
    pdr_builder_name(b, pdr_str_c("part"));
    pdr_builder_value(b, part);
    pdr_builder_name(b, pdr_str_c("again"));
    pdr_builder_value(b, pdr_value_get_c(part, "x"));
    pdr_builder_end(b);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&v, b, NULL));
    ASSERT_JSON("{\"a\\\"b\":[null,true,false,-7,18446744073709551615,1e+16,"
                "1.10,\"x\\ty\",\"\\ud800\\/\"],\"\\u0041\":{},"
                "\"part\":{\"x\":[1.10,{}]},\"again\":[1.10,{}]}",
                v);
    pdr__value_check(v);
    ASSERT(pdr_value_has_lone_surrogate(
        pdr_value_at(pdr_value_get_c(v, "a\"b"), 8)));
    ASSERT_JSON("{}", pdr_value_get_c(v, "A"));
    pdr_value_free(v);
    pdr_value_free(part);
    pdr_builder_free(b);
    pdr_builder_free(NULL);
}

/* Whatever its length, and wherever the one character stands that is not as
 * others are: what was put in comes out, escaped where it has to be. */
static void check_text(pdr_builder *b, pdr_str text, size_t escapes)
{
    pdr_value *v = NULL;
    pdr_str found = {NULL, 0};
    pdr_buf scratch = PDR_BUF_INIT(200);

    pdr_builder_object(b);
    pdr_builder_name(b, text);
    pdr_builder_string(b, text);
    pdr_builder_end(b);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&v, b, NULL));
    pdr__value_check(v);
    ASSERT_RC(PDR_OK,
              pdr_value_text(&found, pdr_value_get(v, text), &scratch, NULL));
    ASSERT(pdr_str_equal(text, found));
    ASSERT(pdr_value_raw(&found, v));
    ASSERT_SIZE(2 * (text.len + 2 + escapes) + 3, found.len);
    pdr_value_free(v);
    pdr_buf_dispose(&scratch);
}

TEST(builder_string, keeps_text_of_every_length_around_the_odd_character)
{
    pdr_builder *b = new_builder();
    char text[80];

    for (size_t len = 0; len <= 70; len++) {
        memset(text, 'x', sizeof(text));
        check_text(b, pdr_str_n(text, len), 0);
        for (size_t at = 0; at < len; at++) {
            text[at] = '"';
            check_text(b, pdr_str_n(text, len), 1);
            text[at] = 'x';
        }
        for (size_t at = 0; at + 1 < len; at++) {
            memcpy(text + at, "\xC3\xA9", 2);
            check_text(b, pdr_str_n(text, len), 0);
            memset(text + at, 'x', 2);
        }
    }
    text[69] = '\xC3'; /* the beginning of a character that does not end */
    pdr_builder_string(b, pdr_str_n(text, 70));
    pdr_value *v = NULL;
    ASSERT_RC(PDR_EINVALID, pdr_builder_finish(&v, b, NULL));
    pdr_builder_free(b);
}

TEST(builder, begins_anew_after_each_finish)
{
    pdr_builder *b = new_builder();
    pdr_value *v = NULL;

    for (int64_t i = 0; i < 3; i++) {
        pdr_builder_int64(b, i);
        ASSERT_RC(PDR_OK, pdr_builder_finish(&v, b, NULL));
        int64_t number = -1;
        ASSERT_RC(PDR_OK, pdr_value_int64(&number, v, NULL));
        ASSERT_INT(i, number);
        pdr_value_free(v);
    }
    pdr_builder_array(b); /* never finished */
    pdr_builder_free(b);
}

enum { ORDER_CASES = 8 };

static void out_of_order(pdr_builder *b, int which)
{
    switch (which) {
    case 0: /* nothing */
        break;
    case 1:
        pdr_builder_array(b);
        break;
    case 2:
        pdr_builder_end(b);
        break;
    case 3:
        pdr_builder_null(b);
        pdr_builder_null(b);
        break;
    case 4:
        pdr_builder_object(b);
        pdr_builder_null(b);
        break;
    case 5:
        pdr_builder_object(b);
        pdr_builder_name(b, pdr_str_c("a"));
        pdr_builder_name(b, pdr_str_c("b"));
        break;
    case 6:
        pdr_builder_object(b);
        pdr_builder_name(b, pdr_str_c("a"));
        pdr_builder_end(b);
        break;
    default:
        pdr_builder_array(b);
        pdr_builder_name(b, pdr_str_c("a"));
        break;
    }
}

TEST(builder_finish, refuses_calls_out_of_order_and_recovers)
{
    pdr_builder *b = new_builder();
    pdr_err err = PDR_ERR_INIT;
    pdr_value *v = NULL;

    for (int i = 0; i < ORDER_CASES; i++) {
        out_of_order(b, i);
        ASSERT_RC(PDR_EMISUSE, pdr_builder_finish(&v, b, &err));
        ASSERT_STR("builder_order", err.reason);
        ASSERT(v == NULL);
    }
    pdr_builder_null(b);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&v, b, &err));
    pdr_value_free(v);
    pdr_builder_free(b);
}

TEST(builder_finish, reports_the_first_bad_content)
{
    pdr_builder *b = new_builder();
    pdr_err err = PDR_ERR_INIT;
    pdr_value *v = NULL;

    pdr_builder_string(b, pdr_str_c("a\xFF"));
    pdr_builder_double(b, 0.0 / 0.0);
    ASSERT_RC(PDR_EINVALID, pdr_builder_finish(&v, b, &err));
    ASSERT_STR("bad_utf8", err.reason);
    pdr_builder_double(b, 0.0 / 0.0);
    ASSERT_RC(PDR_EINVALID, pdr_builder_finish(&v, b, &err));
    ASSERT_STR("not_finite", err.reason);
    pdr_builder_number(b, pdr_str_c("0x1"));
    ASSERT_RC(PDR_EINVALID, pdr_builder_finish(&v, b, &err));
    ASSERT_STR("bad_number", err.reason);
    static const char *const bad[] = {"\"", "\\x", "\n", "\xC0", "\\"};
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        pdr_builder_escaped(b, pdr_str_c(bad[i]));
        ASSERT_RC(PDR_EINVALID, pdr_builder_finish(&v, b, &err));
        ASSERT_STR("bad_escape", err.reason);
    }
    pdr_builder_free(b);
}

TEST(builder, has_a_limit_of_levels)
{
    pdr_builder *b = new_builder();
    pdr_err err = PDR_ERR_INIT;
    pdr_value *v = NULL, *deep = NULL;

    for (int extra = 0; extra < 2; extra++) {
        for (int i = 0; i < PDR_MAX_DEPTH + extra; i++)
            pdr_builder_array(b);
        for (int i = 0; i < PDR_MAX_DEPTH + extra; i++)
            pdr_builder_end(b);
        ASSERT_RC(extra ? PDR_ELIMIT : PDR_OK, pdr_builder_finish(&v, b, &err));
        if (!extra)
            deep = v;
    }
    ASSERT_STR("too_deep", err.reason);
    pdr_builder_array(b);
    pdr_builder_value(b, deep);
    pdr_builder_end(b);
    ASSERT_RC(PDR_ELIMIT, pdr_builder_finish(&v, b, &err));
    ASSERT_STR("too_deep", err.reason);
    pdr_builder_array(b);
    pdr_builder_value(b, pdr_value_at(deep, 0));
    pdr_builder_end(b);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&v, b, &err));
    ASSERT(same_json(v, deep));
    pdr_value_free(v);
    pdr_value_free(deep);
    pdr_builder_free(b);
}

TEST_OOM(builder, cleans_up_after_any_failed_allocation)
{
    pdr_value *part = NULL, *v = NULL;
    pdr_builder *b = NULL;

    if (pdr_json_read(&part, pdr_str_c("{ \"a\" : [1, \"x\\n\"] }"), NULL,
                      NULL) != PDR_OK)
        return;
    pdr_rc rc = pdr_builder_new(&b, NULL);
    if (rc == PDR_OK) {
        pdr_builder_object(b);
        for (int i = 0; i < 12; i++) {
            pdr_builder_name(b, pdr_str_c("name\n"));
            pdr_builder_value(b, part);
            pdr_builder_escaped_name(b, pdr_str_c("\\n"));
            pdr_builder_string(b, pdr_str_c("a long text with an \x01 escape"));
        }
        pdr_builder_end(b);
        rc = pdr_builder_finish(&v, b, NULL);
        ASSERT((v != NULL) == (rc == PDR_OK));
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(v);
    pdr_value_free(part);
    pdr_builder_free(b);
}
