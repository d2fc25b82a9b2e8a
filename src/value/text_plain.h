/*
 * text_plain.h - runs of text that stand in a JSON string as they are.
 *
 * Plain is ASCII from space on, without the quote and the backslash. Nearly all
 * text is, so it is searched and copied in steps of 32, 16 or 8 bytes: with
 * AVX2 if the file that includes this says so (TEXT_AVX2, for functions that
 * are called on such processors only), with SSE2 where the compiler has it,
 * else, or with TEXT_WORDS, with plain words.
 */
#ifndef PDR_VALUE_TEXT_PLAIN_H
#define PDR_VALUE_TEXT_PLAIN_H

#include "base.h"

static inline bool text_is_plain(char c)
{
    return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

/* Bytes that the search compares with, in memory and not as constants of the
 * code: so they are operands, and are not made anew for each string. Defined in
 * text.c, where no compiler sees both. */
struct text_steps {
    _Alignas(32) char two[32], low[32], slash[32];
};
extern const struct text_steps pdr__text_steps;

/*
 * Each has TEXT_STEP, TEXT_TARGET, and
 *   text_step(to, from)  copy a step; a mask of what is not plain, 0 if all is.
 *   text_first(mask, n)  the mask of the first n bytes, n <= TEXT_STEP.
 *   text_count(mask)     plain bytes before the first that is not.
 *
 * Exclusive-or with 2 swaps the quote with the space, so that a byte below 0x21
 * is a control character, a quote or, as a signed number, 0x80 and more. The
 * difference keeps its sign because it saturates.
 */
#if defined(TEXT_AVX2)

#include <immintrin.h>

#define TEXT_STEP   32
#define TEXT_TARGET __attribute__((target("avx2,bmi,bmi2")))
typedef uint32_t text_mask;

TEXT_TARGET static inline __m256i text_load(const char *bytes)
{
    return _mm256_load_si256((const __m256i *)(const void *)bytes);
}

TEXT_TARGET static inline text_mask text_step(char *to, const char *from)
{
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)from);
    __m256i low = _mm256_subs_epi8(
        _mm256_xor_si256(bytes, text_load(pdr__text_steps.two)),
        text_load(pdr__text_steps.low));
    __m256i slash = _mm256_cmpeq_epi8(bytes, text_load(pdr__text_steps.slash));

    _mm256_storeu_si256((__m256i *)(void *)to, bytes);
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(low, slash));
}

TEXT_TARGET static inline text_mask text_first(text_mask mask, size_t count)
{
    return count < TEXT_STEP ? mask & ((1u << count) - 1u) : mask;
}

TEXT_TARGET static inline size_t text_count(text_mask mask)
{
    return (size_t)__builtin_ctz(mask);
}

#elif defined(__SSE2__) && !defined(TEXT_WORDS)

#include <emmintrin.h>

#define TEXT_STEP 16
#define TEXT_TARGET
typedef uint32_t text_mask;

static inline text_mask text_step(char *to, const char *from)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    __m128i low = _mm_subs_epi8(_mm_xor_si128(bytes, _mm_set1_epi8(2)),
                                _mm_set1_epi8(0x21));
    __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));

    _mm_storeu_si128((__m128i *)(void *)to, bytes);
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(low, slash));
}

static inline text_mask text_first(text_mask mask, size_t count)
{
    return mask & ((1u << count) - 1u);
}

static inline size_t text_count(text_mask mask)
{
    return (size_t)__builtin_ctz(mask);
}

#else

#define TEXT_STEP 8
#define TEXT_TARGET
typedef uint64_t text_mask;

/* The high bit of each byte that is not plain; behind the first one there may
 * be wrong ones. */
static inline text_mask text_step(char *to, const char *from)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t bytes = 0;

    memcpy(&bytes, from, 8);
    memcpy(to, &bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    uint64_t low = (bytes ^ ones * 2) - ones * 0x21;
    uint64_t slash = (bytes ^ ones * '\\') - ones;
    return (bytes | low | slash) & ones << 7;
}

static inline text_mask text_first(text_mask mask, size_t count)
{
    return count < TEXT_STEP ? mask & ((UINT64_C(1) << 8 * count) - 1) : mask;
}

static inline size_t text_count(text_mask mask)
{
    return (size_t)__builtin_ctzll(mask) / 8;
}

#endif

/* Copy the plain beginning of `len` bytes; gives its length. Up to TEXT_STEP
 * bytes behind `from + len` may be read, and behind `to + len` be written. */
TEXT_TARGET static inline size_t text_copy_plain(char *to, const char *from,
                                                 size_t len)
{
    size_t at = 0;

    for (; len - at > 2 * TEXT_STEP; at += 2 * TEXT_STEP) {
        text_mask one = text_step(to + at, from + at);
        text_mask two = text_step(to + at + TEXT_STEP, from + at + TEXT_STEP);
        if (PDR_UNLIKELY((one | two) != 0))
            return at +
                   (one != 0 ? text_count(one) : TEXT_STEP + text_count(two));
    }
    for (; len - at > TEXT_STEP; at += TEXT_STEP) {
        text_mask mask = text_step(to + at, from + at);
        if (PDR_UNLIKELY(mask != 0))
            return at + text_count(mask);
    }
    /* A branch and not a minimum: where the text goes on must not wait for the
     * search in it. */
    text_mask mask = text_first(text_step(to + at, from + at), len - at);
    return PDR_LIKELY(mask == 0) ? len : at + text_count(mask);
}

/* The same, where nothing but `len` bytes may be touched. */
TEXT_TARGET static inline size_t text_copy_plain_exactly(char *to,
                                                         const char *from,
                                                         size_t len)
{
    size_t at = 0;

    for (; len - at >= TEXT_STEP; at += TEXT_STEP) {
        text_mask mask = text_step(to + at, from + at);
        if (PDR_UNLIKELY(mask != 0))
            return at + text_count(mask);
    }
    while (at < len && text_is_plain(from[at])) {
        to[at] = from[at];
        at++;
    }
    return at;
}

/* Copy up to 31 bytes and see whether all are plain. 32 bytes are read and
 * written, however few count. */
TEXT_TARGET static inline bool text_copy_short(char *to, const char *from,
                                               size_t len)
{
#if TEXT_STEP == 32
    return (text_step(to, from) & ((1u << len) - 1u)) == 0;
#elif TEXT_STEP == 16
    text_mask mask = text_step(to, from) | text_step(to + 16, from + 16) << 16;

    return (mask & ((1u << len) - 1u)) == 0;
#else
    return text_copy_plain(to, from, len) == len;
#endif
}

#endif
