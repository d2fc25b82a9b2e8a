/*
 * text_avx2.h - text in steps of 32 bytes, for processors with AVX2. See
 * text_plain.h.
 */
#ifndef PDR_VALUE_TEXT_AVX2_H
#define PDR_VALUE_TEXT_AVX2_H

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

#endif
