/* What decodes encodes to the same text again, and any bytes come back from
 * their text, in both alphabets. */
#include "fuzz.h"

#include "base.h"

#define MAX_BYTES ((size_t)1 << 24)

static void check_decode(pdr_str text, enum pdr__base64 kind)
{
    pdr_buf bytes = PDR_BUF_INIT(MAX_BYTES), again = PDR_BUF_INIT(MAX_BYTES);
    pdr_err err = PDR_ERR_INIT;

    if (pdr__base64_decode(&bytes, text, kind, &err) == PDR_OK) {
        /* base64url may come without padding; full groups need none. */
        bool padded = text.len > 0 && text.len % 4 == 0;
        MUST(pdr__base64_encode(&again, pdr_buf_str(&bytes), kind, padded,
                                NULL) == PDR_OK);
        MUST(pdr_str_equal(text, pdr_buf_str(&again)));
    } else {
        MUST(strcmp(err.reason, "bad_base64") == 0);
        MUST(err.offset >= 0 && err.offset <= (int64_t)text.len);
        MUST(bytes.len == 0);
    }
    pdr_buf_dispose(&again);
    pdr_buf_dispose(&bytes);
}

static void check_encode(pdr_str bytes, enum pdr__base64 kind, bool padded)
{
    pdr_buf text = PDR_BUF_INIT(MAX_BYTES), back = PDR_BUF_INIT(MAX_BYTES);

    MUST(pdr__base64_encode(&text, bytes, kind, padded, NULL) == PDR_OK);
    bool readable = padded || kind == PDR_BASE64_URL || bytes.len % 3 == 0;
    pdr_rc rc = pdr__base64_decode(&back, pdr_buf_str(&text), kind, NULL);
    MUST(rc == (readable ? PDR_OK : PDR_EINVALID));
    MUST(!readable || pdr_str_equal(bytes, pdr_buf_str(&back)));
    pdr_buf_dispose(&back);
    pdr_buf_dispose(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str input = {(const char *)data, size};

    check_decode(input, PDR_BASE64);
    check_decode(input, PDR_BASE64_URL);
    check_encode(input, PDR_BASE64, true);
    check_encode(input, PDR_BASE64, false);
    check_encode(input, PDR_BASE64_URL, true);
    check_encode(input, PDR_BASE64_URL, false);
    return 0;
}
