/*
 * json_roundtrip.c - what we accept we can write, and what we wrote reads back
 * as the same document and writes as the same bytes. In the layout as read, the
 * bytes are those of the input.
 */
#include <perdure.h>

#include "fuzz.h"

static void write_value(pdr_buf *out, const pdr_value *value, pdr_layout layout)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS, .layout = layout};

    MUST(pdr_json_write(out, value, &opts, NULL) == PDR_OK);
}

/* Read what was written in `layout`: the same value, the same compact text. */
static void check_layout(const pdr_value *value, pdr_layout layout,
                         pdr_str compact)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_buf once = PDR_BUF_INIT(UINT32_MAX), twice = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *back = NULL;

    write_value(&once, value, layout);
    MUST(pdr_json_read(&back, pdr_buf_str(&once), &opts, NULL) == PDR_OK);
    MUST(pdr_value_equal(value, back));
    write_value(&twice, back, PDR_COMPACT);
    MUST(pdr_str_equal(compact, pdr_buf_str(&twice)));
    pdr_buf_dispose(&twice);
    pdr_buf_dispose(&once);
    pdr_value_free(back);
}

static void check_value(const pdr_value *value, pdr_str input)
{
    pdr_buf compact = PDR_BUF_INIT(UINT32_MAX);
    pdr_buf as_read = PDR_BUF_INIT(UINT32_MAX);
    pdr_str raw = {NULL, 0};
    int64_t start = pdr_value_offset(value);

    MUST(pdr_value_raw(&raw, value));
    MUST(start >= 0 && (size_t)start + raw.len <= input.len);
    write_value(&as_read, value, PDR_AS_READ);
    MUST(pdr_str_equal(pdr_str_n(input.ptr + start, raw.len), raw));
    MUST(pdr_str_equal(input, pdr_buf_str(&as_read)));
    write_value(&compact, value, PDR_COMPACT);
    check_layout(value, PDR_COMPACT, pdr_buf_str(&compact));
    check_layout(value, PDR_PRETTY, pdr_buf_str(&compact));
    check_layout(value, PDR_AS_READ, pdr_buf_str(&compact));
    pdr_buf_dispose(&as_read);
    pdr_buf_dispose(&compact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str input = {(const char *)data, size};
    pdr_read_opts bare = {.flags = PDR_BARE_TOKENS};
    pdr_value *plain = NULL, *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_json_read(&plain, input, NULL, &err);

    if (pdr_json_read(&value, input, &bare, NULL) == PDR_OK) {
        MUST(rc == PDR_OK || strcmp(err.reason, "bare_token") == 0);
        check_value(value, input);
    } else {
        MUST(rc != PDR_OK && value == NULL && plain == NULL);
        MUST(err.offset >= 0 && (size_t)err.offset <= size);
        MUST(err.message[0] != '\0');
    }
    pdr_value_free(plain);
    pdr_value_free(value);
    return 0;
}
