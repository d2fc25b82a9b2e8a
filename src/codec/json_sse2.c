/*
 * json_sse2.c - the reader for every x86-64 processor.
 */
#include "codec.h"

#if defined(__x86_64__)

#include <emmintrin.h>

/* A signed comparison finds control characters and bytes of 0x80 or more at
 * once. */
static inline uint64_t part_mask(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i other = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));

    return (uint32_t)_mm_movemask_epi8(
        _mm_or_si128(_mm_or_si128(quote, slash), other));
}

static inline uint64_t block_mask(const char *p)
{
    return part_mask(p) | part_mask(p + 16) << 16 | part_mask(p + 32) << 32 |
           part_mask(p + 48) << 48;
}

#define KERNEL_TARGET
#define KERNEL pdr__json_kernel_sse2
#include "json_core.h"

#else

bool pdr__json_kernel_sse2(struct json_reader *r)
{
    return pdr__json_kernel_portable(r);
}

#endif
