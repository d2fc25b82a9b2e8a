/*
 * json_text.h - values from literals and back, for tests.
 */
#ifndef PDR_TEST_JSON_TEXT_H
#define PDR_TEST_JSON_TEXT_H

#include "test.h"

/* An owned value; NULL only if an allocation was made to fail. */
static inline pdr_value *json(const char *text)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, &err);

    if (rc != PDR_OK && rc != PDR_ENOMEM)
        fail_msg("%s at %d in %s", err.message, (int)err.offset, text);
    return value;
}

/* Is this the compact text of `value`? */
static inline void assert_json(const char *expected, const pdr_value *value,
                               const char *file, int line)
{
    pdr_buf text = PDR_BUF_INIT(1u << 20);

    if (pdr_json_write(&text, value, NULL, NULL) != PDR_OK)
        _fail(file, line);
    test_assert_text(expected, pdr_buf_str(&text), file, line);
    pdr_buf_dispose(&text);
}

/* Text that grows, for documents too large for a literal; then its value. */
#define TEXT_INIT      PDR_BUF_INIT(1u << 30)
#define PUT(text, ...) put_text(text, __VA_ARGS__)

/* pdr_buf_printf() would print twice: too slow for millions of calls. */
static inline PDR_PRINTF(2, 3) void put_text(pdr_buf *text, const char *fmt,
                                             ...)
{
    char part[64];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(part, sizeof(part), fmt, args);
    va_end(args);
    ASSERT(len >= 0 && (size_t)len < sizeof(part));
    ASSERT_RC(PDR_OK, pdr_buf_append(text, pdr_str_n(part, (size_t)len), NULL));
}

static inline pdr_value *json_take(pdr_buf *text)
{
    pdr_read_opts opts = {.max_depth = 1024};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read_take(&value, text, &opts, NULL));
    return value;
}

#define ASSERT_JSON(expected, value) \
    assert_json(expected, value, __FILE__, __LINE__)

#endif
