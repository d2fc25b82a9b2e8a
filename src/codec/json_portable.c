/*
 * json_portable.c - the reader for any processor: words of eight bytes.
 */
#include "codec.h"

#define ONES (UINT64_C(0x0101010101010101))

/* The top bit of each byte that is special. Exact: no borrow or carry goes from
 * one byte to the next. */
static inline uint64_t special_bits(uint64_t word)
{
    uint64_t low = word & (ONES * 0x7F);
    uint64_t quote = (low ^ (ONES * '"')) + ONES * 0x7F;
    uint64_t slash = (low ^ (ONES * '\\')) + ONES * 0x7F;
    uint64_t text = low + ONES * 0x60; /* 0x20 and more reach the top bit */

    return (word | ~(quote & slash & text)) & (ONES * 0x80);
}

static inline uint64_t block_mask(const char *p)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < 8; i++) {
        uint64_t word = 0;
        memcpy(&word, p + 8 * i, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        /* The product gathers the eight top bits in the highest byte. */
        uint64_t bits =
            (special_bits(word) >> 7) * UINT64_C(0x0102040810204080) >> 56;
        mask |= bits << (8 * i);
    }
    return mask;
}

#define KERNEL_TARGET
#define KERNEL pdr__json_kernel_portable
#include "json_core.h"
