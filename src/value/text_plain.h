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
#include "text_avx2.h"
#elif defined(__SSE2__) && !defined(TEXT_WORDS)
#include "text_sse2.h"
#else
#include "text_words.h"
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
