/*
 * text_words.h - text in steps of 8 bytes, for every processor. See
 * text_plain.h.
 */
#ifndef PDR_VALUE_TEXT_WORDS_H
#define PDR_VALUE_TEXT_WORDS_H

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
