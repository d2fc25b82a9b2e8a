/*
 * text_sse2.h - text in steps of 16 bytes, for processors with SSE2. See
 * text_plain.h.
 */
#ifndef PDR_VALUE_TEXT_SSE2_H
#define PDR_VALUE_TEXT_SSE2_H

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

#endif
