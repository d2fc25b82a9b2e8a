/*
 * values.h - short ways to make and to look at values in tests.
 */
#ifndef PDR_TEST_VALUES_H
#define PDR_TEST_VALUES_H

#include "test.h"

/* A value from JSON text; fails the test if it does not read. */
static inline pdr_value *value_of(const char *json)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&value, pdr_str_c(json), NULL, &err) != PDR_OK)
        fail_msg("%s: %s", json, err.message);
    return value;
}

static inline pdr_value *number_of(int64_t number)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_value_new_int64(&value, number, NULL));
    return value;
}

/* Expected text of a value in a layout. */
#define ASSERT_LAYOUT(expected, value, how)                               \
    do {                                                                  \
        pdr_buf text_ = PDR_BUF_INIT(SIZE_MAX);                           \
        pdr_write_opts opts_ = {0};                                       \
        opts_.layout = (how);                                             \
        ASSERT_RC(PDR_OK, pdr_json_write(&text_, (value), &opts_, NULL)); \
        ASSERT_TEXT(expected, pdr_buf_str(&text_));                       \
        pdr_buf_dispose(&text_);                                          \
    } while (0)
#define ASSERT_JSON(expected, value) ASSERT_LAYOUT(expected, value, PDR_COMPACT)
#define ASSERT_AS_READ(expected, value) \
    ASSERT_LAYOUT(expected, value, PDR_AS_READ)

/* Do both have the same compact text? */
static inline bool same_json(const pdr_value *a, const pdr_value *b)
{
    pdr_buf left = PDR_BUF_INIT(SIZE_MAX), right = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_json_write(&left, a, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&right, b, NULL, NULL));
    bool same = pdr_str_equal(pdr_buf_str(&left), pdr_buf_str(&right));
    pdr_buf_dispose(&left);
    pdr_buf_dispose(&right);
    return same;
}

#endif
