/*
 * number_split.h - read a short number. Inline, because here a call and a
 * struct in memory would cost as much as the work. What is not short is left
 * to pdr__number_split().
 */
#ifndef PDR_VALUE_NUMBER_SPLIT_H
#define PDR_VALUE_NUMBER_SPLIT_H

#include "number.h"

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* The next eight bytes, the first one lowest. */
static inline uint64_t load_eight(const char *p)
{
    uint64_t v = 0;

    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* A byte is a digit if its high half is 3 and stays 3 when 6 is added. */
static inline bool are_eight_digits(uint64_t v)
{
    const uint64_t high = 0xF0F0F0F0F0F0F0F0u;
    const uint64_t three = 0x3030303030303030u;

    return (((v & high) ^ three) |
            (((v + 0x0606060606060606u) & high) ^ three)) == 0;
}

/* Pairs, then fours, then all eight: three multiplications instead of eight. */
static inline uint64_t eight_digits(uint64_t v)
{
    v -= 0x3030303030303030u;
    v = (v * 10 + (v >> 8)) & 0x00FF00FF00FF00FFu;
    v = (v * 100 + (v >> 16)) & 0x0000FFFF0000FFFFu;
    return (v * 10000 + (v >> 32)) & 0xFFFFFFFFu;
}

/* Add the digits at `p` to `*sum`, which wraps if there are too many. Returns
 * the first byte that is no digit. */
static inline const char *add_digits(uint64_t *sum, const char *p,
                                     const char *end)
{
    uint64_t v = *sum;

    while (end - p >= 8) {
        uint64_t eight = load_eight(p);
        if (!are_eight_digits(eight))
            break;
        v = v * 100000000 + eight_digits(eight);
        p += 8;
    }
    for (; p != end && is_digit(*p); p++)
        v = v * 10 + (uint64_t)(*p - '0');
    *sum = v;
    return p;
}

/* A number as most of them are: its value is +-head * 10^exponent. */
struct short_number {
    bool negative;
    int exponent;
    uint64_t head;
};

/* The exponent from `p` to `end`, which must be `e`, a sign or none, and one to
 * four digits. */
static inline bool split_short_exponent(int *out, const char *p,
                                        const char *end)
{
    uint64_t value = 0;
    bool negative = false;

    if ((*p | 0x20) != 'e')
        return false;
    p++;
    if (p != end && (*p == '+' || *p == '-')) {
        negative = *p == '-';
        p++;
    }
    if (p == end || end - p > 4 || add_digits(&value, p, end) != end)
        return false;
    *out += negative ? -(int)value : (int)value;
    return true;
}

/* False if `text` is no number, has more than 19 digits or an exponent of more
 * than four: pdr__number_split() knows. */
static inline bool split_short(struct short_number *n, pdr_str text)
{
    uint64_t head = 0;

    if (text.len == 0)
        return false; /* the pointer may be NULL, and NULL + 0 is not defined */
    const char *p = text.ptr, *end = text.ptr + text.len;
    n->negative = *p == '-';
    p += n->negative;
    const char *digits = p;
    p = add_digits(&head, p, end);
    ptrdiff_t count = p - digits, fraction = 0;
    if (count == 0 || (count > 1 && *digits == '0'))
        return false;
    if (p != end && *p == '.') {
        const char *begin = p + 1;
        p = add_digits(&head, begin, end);
        fraction = p - begin;
        if (fraction == 0)
            return false;
    }
    if (PDR_UNLIKELY(count + fraction > PDR__HEAD_DIGITS))
        return false;
    n->head = head;
    n->exponent = -(int)fraction;
    return p == end || split_short_exponent(&n->exponent, p, end);
}

#endif
