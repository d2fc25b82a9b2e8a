/*
 * metadata_page.c - docs/formats/metadata.md tells the truth: its examples are
 * what they are marked as.
 */
#include "test.h"

#define PAGE "../../docs/formats/metadata.md"

static void check_read(const pdr_value *value, pdr_str text)
{
    const pdr_write_opts as_read = {0, PDR_AS_READ, 0, NULL};
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_buf bytes = PDR_BUF_INIT(1u << 16);
    pdr_value *written = NULL;

    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                     NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_wrapper_to_value(&written, &wrapper, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&bytes, written, &as_read, NULL));
    ASSERT_BYTES(text, pdr_buf_str(&bytes));
    pdr_buf_dispose(&bytes);
    pdr_value_free(written);
    pdr_session_wrapper_dispose(&wrapper);
}

/* `expected` is the reason, a space and the path. */
static void check_refused(const pdr_value *value, const char *expected)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_err err = PDR_ERR_INIT;
    char told[256];

    ASSERT(pdr_session_wrapper_from_value(&wrapper, value, NULL, &err, NULL,
                                          NULL) != PDR_OK);
    (void)snprintf(told, sizeof(told), "%s %s", err.reason, err.path);
    ASSERT_STR(expected, told);
}

/* One example; `mark` is what stands behind "```wrapper ". */
static void check_example(const char *mark, pdr_str text)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, text, NULL, NULL));
    if (strncmp(mark, "refused ", 8) == 0) {
        check_refused(value, mark + 8);
    } else {
        ASSERT_STR("read", mark);
        check_read(value, text);
    }
    pdr_value_free(value);
}

TEST(metadata_page, has_examples_that_hold)
{
    size_t len = 0, count = 0;
    char *page = test_read_data(PAGE, &len), *rest = page;

    for (char *at = NULL; (at = strstr(rest, "\n```wrapper ")) != NULL;
         count++) {
        char *mark = at + 12, *text = strchr(mark, '\n') + 1;
        char *end = strstr(text, "\n```");
        assert_non_null(end);
        text[-1] = '\0';
        check_example(mark, pdr_str_n(text, (size_t)(end - text)));
        rest = end + 1;
    }
    ASSERT_SIZE(5, count);
    free(page);
}
