/*
 * json_avx2.c - the reader for processors with AVX2.
 */
#include "codec.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* An attribute, not a pragma: gcc and clang both take it, and nothing else in
 * the library may use these instructions. */
#define KERNEL_TARGET __attribute__((target("avx2,bmi,bmi2")))

/* As in json_sse2.c. */
KERNEL_TARGET static inline uint64_t part_mask(const char *p)
{
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
    __m256i slash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
    __m256i other = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes);

    return (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_or_si256(quote, slash), other));
}

KERNEL_TARGET static inline uint64_t block_mask(const char *p)
{
    return part_mask(p) | part_mask(p + 32) << 32;
}

#define KERNEL pdr__json_kernel_avx2
#include "json_core.h"

#else

bool pdr__json_kernel_avx2(struct json_reader *r)
{
    return pdr__json_kernel_portable(r);
}

#endif
