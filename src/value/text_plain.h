/*
 * text_plain.h - runs of text that stand in a JSON string as they are.
 *
 * Plain is ASCII from space on, without the quote and the backslash. Nearly all
 * text is, so it is searched and copied 16 bytes at a time where the processor
 * can (every x86-64 can), and 8 at a time elsewhere.
 */
#ifndef PDR_VALUE_TEXT_PLAIN_H
#define PDR_VALUE_TEXT_PLAIN_H

#include "base.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline bool text_is_plain(char c)
{
    return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

#if defined(__SSE2__)

#define TEXT_STEP 16

/* One bit for each of the 16 bytes that is not plain. As a signed number, a
 * byte of 0x80 or more is below a space, as a control character is. */
static inline unsigned text_step_mask(const char *from, char *to)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    __m128i special = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));

    special = _mm_or_si128(special, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    special = _mm_or_si128(special, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
    return (unsigned)_mm_movemask_epi8(special);
}

static inline size_t text_step_plain(unsigned mask)
{
    return (size_t)__builtin_ctz(mask);
}

#else

#define TEXT_STEP 8

/* The high bit of each of the 8 bytes that is not plain; behind the first one
 * there may be wrong ones. */
static inline uint64_t text_step_mask(const char *from, char *to)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t bytes = 0;

    memcpy(&bytes, from, 8);
    memcpy(to, &bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    uint64_t quote = bytes ^ ones * '"', slash = bytes ^ ones * '\\';
    return (bytes | (bytes - ones * 0x20) | (quote - ones) | (slash - ones)) &
           high;
}

static inline size_t text_step_plain(uint64_t mask)
{
    return (size_t)__builtin_ctzll(mask) / 8;
}

#endif

/* Copy the plain beginning of `len` bytes; gives its length. Up to TEXT_STEP -
 * 1 bytes behind `from + len` may be read, and behind `to + len` be written. */
static inline size_t text_copy_plain(char *to, const char *from, size_t len)
{
    for (size_t at = 0; at < len; at += TEXT_STEP) {
        __auto_type mask = text_step_mask(from + at, to + at);
        if (PDR_UNLIKELY(mask != 0)) {
            size_t plain = at + text_step_plain(mask);
            return plain < len ? plain : len;
        }
    }
    return len;
}

/* The same, where nothing but `len` bytes may be touched. */
static inline size_t text_copy_plain_exactly(char *to, const char *from,
                                             size_t len)
{
    size_t at = len - len % TEXT_STEP;

    at = text_copy_plain(to, from, at);
    while (at < len && text_is_plain(from[at])) {
        to[at] = from[at];
        at++;
    }
    return at;
}

#endif
