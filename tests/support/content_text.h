/*
 * content_text.h - values from and to JSON text, for tests with short
 * documents.
 */
#ifndef PDR_TEST_CONTENT_TEXT_H
#define PDR_TEST_CONTENT_TEXT_H

#include "doc_text.h"

/* The value of a text; owned. Bare tokens are taken. */
static inline pdr_value *json_value(const char *text)
{
    pdr_read_opts opts = {0};
    pdr_value *out = NULL;

    opts.flags = PDR_BARE_TOKENS;
    if (pdr_json_read(&out, pdr_str_c(text), &opts, NULL) != PDR_OK)
        fail_msg("cannot read %s", text);
    return out;
}

/* The compact text of `value` is `expected`; `value` is taken. */
static inline void assert_json(const char *expected, pdr_value *value)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(1 << 24);

    ASSERT(value != NULL);
    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, &opts, NULL));
    pdr_value_free(value);
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

/* The same, with ' for each " of the expected text. */
static inline void assert_quoted(const char *expected, pdr_value *value)
{
    char *text = quoted(expected);

    assert_json(text, value);
    free(text);
}

#endif
