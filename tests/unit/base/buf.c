/* Buffers: growth, ceilings, failures. */
#include "test.h"

#include "base.h"

TEST(buf_append, grows_up_to_its_maximum_and_not_beyond)
{
    pdr_buf buf = PDR_BUF_INIT(5);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_c("abcd"), &err));
    ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_c("e"), &err));
    ASSERT_RC(PDR_ELIMIT, pdr_buf_append(&buf, pdr_str_c("f"), &err));
    ASSERT_STR("buffer_full", err.reason);
    ASSERT_STR("1 more bytes do not fit: 5 of at most 5 used", err.message);
    ASSERT_TEXT("abcde", pdr_buf_str(&buf));
    pdr_buf_dispose(&buf);
}

TEST(buf_append, takes_the_empty_text)
{
    pdr_buf buf = PDR_BUF_INIT(0);

    ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_n(NULL, 0), NULL));
    ASSERT_SIZE(0, buf.len);
    pdr_buf_dispose(&buf);
}

TEST(buf_reserve, refuses_a_size_that_overflows)
{
    pdr_buf buf = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_c("x"), NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_buf_reserve(&buf, SIZE_MAX, NULL));
    pdr_buf_dispose(&buf);
}

TEST(buf_append, byte_by_byte_costs_few_allocations)
{
    pdr_buf buf = PDR_BUF_INIT(1u << 20);
    size_t before = test_allocations();

    for (int i = 0; i < (1 << 20); i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_c("x"), NULL));
    ASSERT(test_allocations() - before < 40);
    pdr_buf_dispose(&buf);
}

TEST(buf_printf, appends_what_printf_prints)
{
    pdr_buf buf = PDR_BUF_INIT(8);

    ASSERT_RC(PDR_OK, pdr_buf_printf(&buf, NULL, "%d-", 42));
    ASSERT_RC(PDR_OK, pdr_buf_printf(&buf, NULL, "%s", "abcde"));
    ASSERT_TEXT("42-abcde", pdr_buf_str(&buf));
    ASSERT_RC(PDR_ELIMIT, pdr_buf_printf(&buf, NULL, "%c", 'x'));
    ASSERT_TEXT("42-abcde", pdr_buf_str(&buf));
    pdr_buf_dispose(&buf);
}

TEST(buf_printf, refuses_what_cannot_be_printed)
{
    static const wchar_t no_character[] = {0x7FFFFFFF, 0};
    pdr_buf buf = PDR_BUF_INIT(100);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_c("abc"), NULL));
    ASSERT_RC(PDR_EINVALID, pdr_buf_printf(&buf, &err, "%ls", no_character));
    ASSERT_STR("bad_format", err.reason);
    ASSERT_TEXT("abc", pdr_buf_str(&buf));
    pdr_buf_dispose(&buf);
}

TEST(buf_clear, keeps_the_memory)
{
    pdr_buf buf = PDR_BUF_INIT(100);

    ASSERT_RC(PDR_OK, pdr_buf_append(&buf, pdr_str_c("abc"), NULL));
    size_t cap = buf.cap;
    pdr_buf_clear(&buf);
    ASSERT_SIZE(0, buf.len);
    ASSERT_SIZE(cap, buf.cap);
    pdr_buf_dispose(&buf);
    pdr_buf_dispose(NULL);
}

TEST_OOM(buf_append, keeps_its_content_when_memory_runs_out)
{
    pdr_buf buf = PDR_BUF_INIT(1000);
    char fill[100];

    memset(fill, 'x', sizeof(fill));
    for (size_t n = 1; n <= 10; n++) {
        size_t len = buf.len;
        pdr_rc rc = pdr_buf_append(&buf, pdr_str_n(fill, sizeof(fill)), NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT_SIZE(rc == PDR_OK ? len + sizeof(fill) : len, buf.len);
    }
    pdr_rc rc = pdr_buf_printf(&buf, NULL, "%s", "");
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&buf);
}
