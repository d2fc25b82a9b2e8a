/*
 * types.c - types of plain values.
 */
#include "metadata.h"

#include "values.h"

/* The object of a value; NULL if it does not fit. */
static void *decoded(const pdr_state_type *type, const char *json)
{
    pdr_value *value = value_of(json);
    void *object = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = type->decode(&object, value, &err, type->arg);

    ASSERT(rc == PDR_OK || rc == PDR_EINVALID);
    ASSERT((object != NULL) == (rc == PDR_OK));
    ASSERT((err.message[0] != '\0') == (rc != PDR_OK));
    pdr_value_free(value);
    return object;
}

static void assert_none(const pdr_state_type *type, const char *json)
{
    if (decoded(type, json) != NULL)
        fail_msg("%s is taken for %s", json, type->name);
}

/* Decode, copy, encode the copy. */
static void assert_trip(const char *expected, const pdr_state_type *type,
                        const char *json)
{
    void *object = decoded(type, json), *copy = NULL;
    pdr_value *value = NULL;

    ASSERT(object != NULL);
    ASSERT_RC(PDR_OK, type->copy(&copy, object, NULL, type->arg));
    type->free(object, type->arg);
    ASSERT_RC(PDR_OK, type->encode(&value, copy, NULL, type->arg));
    type->free(copy, type->arg);
    ASSERT_JSON(expected, value);
    pdr_value_free(value);
}

TEST(type_int64, takes_whole_numbers_and_their_text)
{
    const pdr_state_type *type = pdr_type_int64();

    ASSERT_STR("int64", type->name);
    assert_trip("42", type, "42");
    assert_trip("42", type, "\"42\"");
    assert_trip("-7", type, "\"\\u002d7\"");
    assert_trip("100", type, "1e2");
    assert_trip("9223372036854775807", type, "\"9223372036854775807\"");
    assert_none(type, "\"x\"");
    assert_none(type, "\"\"");
    assert_none(type, "\"42 \"");
    assert_none(type, "\" 42\"");
    assert_none(type, "\"42x\"");
    assert_none(type, "\"4.5\"");
    assert_none(type, "4.5");
    assert_none(type, "9223372036854775808");
    assert_none(type, "true");
    assert_none(type, "[42]");
    assert_none(type, "\"\\uD800\"");
}

TEST(type_double, takes_numbers_and_their_text)
{
    const pdr_state_type *type = pdr_type_double();

    ASSERT_STR("double", type->name);
    assert_trip("0.5", type, "0.50");
    assert_trip("0.5", type, "\"0.5\"");
    assert_trip("-1500.0", type, "\"-1.5e3\"");
    assert_none(type, "\"NaN\"");
    assert_none(type, "\"0,5\"");
    assert_none(type, "1e999");
    assert_none(type, "{}");
}

TEST(type_double, refuses_to_write_what_is_no_number)
{
    const pdr_state_type *type = pdr_type_double();
    pdr_value *value = NULL;
    double none = 0;

    none /= none;
    ASSERT_RC(PDR_EINVALID, type->encode(&value, &none, NULL, type->arg));
    ASSERT(value == NULL);
}

TEST(type_bool, takes_truths_and_their_text)
{
    const pdr_state_type *type = pdr_type_bool();

    ASSERT_STR("bool", type->name);
    assert_trip("true", type, "true");
    assert_trip("false", type, "false");
    assert_trip("true", type, "\"True\"");
    assert_trip("false", type, "\"FALSE\"");
    assert_trip("true", type, "\"tru\\u0065\"");
    assert_none(type, "\"\"");
    assert_none(type, "\"yes\"");
    assert_none(type, "1");
    assert_none(type, "[]");
}

TEST(type_string, takes_texts_and_plain_values)
{
    const pdr_state_type *type = pdr_type_string();
    pdr_str *text = NULL;

    ASSERT_STR("string", type->name);
    assert_trip("\"a\\nb\"", type, "\"a\\u000ab\"");
    assert_trip("\"\"", type, "\"\"");
    assert_trip("\"1.50\"", type, "1.50");
    assert_trip("\"true\"", type, "true");
    assert_none(type, "[]");
    assert_none(type, "{}");
    assert_none(type, "\"\\uD800\"");
    text = decoded(type, "\"a\\u0000b\"");
    ASSERT_SIZE(3, text->len);
    ASSERT(memcmp(text->ptr, "a\0b\0", 4) == 0);
    type->free(text, type->arg);
}

TEST_OOM(types, clean_up)
{
    const pdr_state_type *const types[] = {pdr_type_int64(), pdr_type_double(),
                                           pdr_type_bool(), pdr_type_string()};
    static const char *const texts[] = {"\"\\u0034\"", "\"5e0\"", "\"true\"",
                                        "\"a\\u0062\""};

    for (size_t i = 0; i < PDR_COUNT(types); i++) {
        pdr_value *value = NULL, *back = NULL;
        void *object = NULL, *copy = NULL;
        pdr_rc rc = pdr_json_read(&value, pdr_str_c(texts[i]), NULL, NULL);

        if (rc == PDR_OK)
            rc = types[i]->decode(&object, value, NULL, types[i]->arg);
        if (rc == PDR_OK)
            rc = types[i]->copy(&copy, object, NULL, types[i]->arg);
        if (rc == PDR_OK)
            rc = types[i]->encode(&back, copy, NULL, types[i]->arg);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        types[i]->free(copy, types[i]->arg);
        types[i]->free(object, types[i]->arg);
        pdr_value_free(back);
        pdr_value_free(value);
    }
}
