/*
 * utf8.c - strict UTF-8, one definition for the whole library.
 *
 * Well-formed is what Unicode table 3-7 allows: no overlong form, no surrogate,
 * nothing above U+10FFFF. Most text is ASCII, so runs of it are passed eight
 * bytes at a time.
 */
#include "base.h"

/* Bytes at the beginning of `text` that are ASCII. */
static size_t ascii_len(const unsigned char *text, size_t len)
{
    const uint64_t high_bits = UINT64_C(0x8080808080808080);
    size_t at = 0;
    uint64_t word = 0;

    while (len - at >= sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        if ((word & high_bits) != 0)
            break;
        at += sizeof(word);
    }
    while (at < len && text[at] < 0x80u)
        at++;
    return at;
}

size_t pdr__utf8_decode(uint32_t *out, pdr_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t len =
        text.len > 0 ? pdr__utf8_len(text.ptr, text.ptr + text.len) : 0;

    *out = 0;
    if (len == 0)
        return 0;
    uint32_t codepoint = len == 1 ? p[0] : p[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        codepoint = codepoint << 6 | (p[i] & 0x3Fu);
    *out = codepoint;
    return len;
}

size_t pdr__utf8_valid_len(pdr_str text)
{
    size_t at = 0;

    while (at < text.len) {
        const char *rest = text.ptr + at;

        at += ascii_len((const unsigned char *)rest, text.len - at);
        if (at == text.len)
            break;
        size_t len = pdr__utf8_len(text.ptr + at, text.ptr + text.len);
        if (len == 0)
            break;
        at += len;
    }
    return at;
}

pdr_rc pdr__utf8_check(pdr_str text, pdr_err *err)
{
    size_t at = pdr__utf8_valid_len(text);

    if (at == text.len)
        return PDR_OK;
    return PDR_FAIL_AT(err, at, BAD_UTF8,
                       "byte 0x%02X begins no UTF-8 sequence",
                       (unsigned)(unsigned char)text.ptr[at]);
}

size_t pdr__wtf8_encode(char out[PDR_UTF8_MAX], uint32_t codepoint)
{
    if (codepoint < 0x80u) {
        out[0] = (char)codepoint;
        return 1;
    }
    if (codepoint < 0x800u) {
        out[0] = (char)(0xC0u | codepoint >> 6);
        out[1] = (char)(0x80u | (codepoint & 0x3Fu));
        return 2;
    }
    if (codepoint < 0x10000u) {
        out[0] = (char)(0xE0u | codepoint >> 12);
        out[1] = (char)(0x80u | (codepoint >> 6 & 0x3Fu));
        out[2] = (char)(0x80u | (codepoint & 0x3Fu));
        return 3;
    }
    if (codepoint > PDR_MAX_CODEPOINT)
        return 0;
    out[0] = (char)(0xF0u | codepoint >> 18);
    out[1] = (char)(0x80u | (codepoint >> 12 & 0x3Fu));
    out[2] = (char)(0x80u | (codepoint >> 6 & 0x3Fu));
    out[3] = (char)(0x80u | (codepoint & 0x3Fu));
    return 4;
}

size_t pdr__utf8_encode(char out[PDR_UTF8_MAX], uint32_t codepoint)
{
    if (codepoint >= 0xD800u && codepoint <= 0xDFFFu)
        return 0;
    return pdr__wtf8_encode(out, codepoint);
}
