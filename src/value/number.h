/*
 * number.h - decimal text to machine numbers and back. Exact, correctly
 * rounded, the same in every locale and rounding mode. Nothing here allocates.
 *
 * A number is a text of the grammar of RFC 8259, section 6. A bare token is
 * `NaN`, `Infinity` or `-Infinity`, which Python writes beside them.
 */
#ifndef PDR_VALUE_NUMBER_H
#define PDR_VALUE_NUMBER_H

#include "../base/base.h"

/* --- grammar (number.c) -------------------------------------------------- */

/* Bytes of the longest number at the beginning of `text`, 0 if there is none.
 * What follows is not looked at: "01" begins with the number "0". */
size_t pdr__number_prefix(pdr_str text);
bool pdr__number_is_valid(pdr_str text);

/* The same for bare tokens. */
size_t pdr__number_bare_prefix(pdr_str text);
bool pdr__number_is_bare(pdr_str text);

/* --- integers (number.c) ------------------------------------------------- */

/* The exact integer that a number is: `1.0`, `100e-2` and `-0` are integers.
 * Fails with BAD_NUMBER, NOT_INTEGER (bare tokens too) or NUMBER_RANGE. */
pdr_rc pdr__number_int64(int64_t *out, pdr_str text, pdr_err *err);
pdr_rc pdr__number_uint64(uint64_t *out, pdr_str text, pdr_err *err);

/* --- comparing (number.c) ------------------------------------------------ */

/* -1, 0 or 1: order of two exact decimal values, however they are spelled and
 * however long they are; `-0` is `0`. Bare tokens: -Infinity stands before all
 * numbers, Infinity behind them, NaN last and equal to itself. Both texts must
 * be numbers or bare tokens. */
int pdr__number_compare(pdr_str a, pdr_str b);
bool pdr__number_equal_value(pdr_str a, pdr_str b);

/* --- doubles (number_read.c, number_write.c) ----------------------------- */

/* The double nearest to a number, ties to even; 0 or -0 for one too small. A
 * bare token gives itself. Fails with BAD_NUMBER, or NUMBER_RANGE for what
 * rounds beyond the largest double. */
pdr_rc pdr__number_double(double *out, pdr_str text, pdr_err *err);

#define PDR__NUMBER_DOUBLE_BYTES  32 /* 24 are used */
#define PDR__NUMBER_INTEGER_BYTES 24 /* 20 are used */

/* The shortest text that reads back as `x`, and of those the closest to `x`,
 * in the form of Python's repr(); a bare token for what is not finite. Returns
 * its length; there is no final NUL. */
size_t pdr__number_write_double(char out[PDR__NUMBER_DOUBLE_BYTES], double x);

size_t pdr__number_write_int64(char out[PDR__NUMBER_INTEGER_BYTES], int64_t x);
size_t pdr__number_write_uint64(char out[PDR__NUMBER_INTEGER_BYTES],
                                uint64_t x);

/* --- shared by number*.c ------------------------------------------------- */

__extension__ typedef unsigned __int128 pdr__u128;

/* 10^p for p from PDR__POW10_FIRST to PDR__POW10_LAST, cut to its first 128
 * bits: 10^p = (row + d) * 2^(pdr__log2_pow10(p) - 127) with 0 <= d < 1, and
 * d = 0 for p from 0 to PDR__POW10_EXACT. */
struct pdr__pow10 {
    uint64_t high, low;
};
#define PDR__POW10_FIRST (-342)
#define PDR__POW10_LAST  324
#define PDR__POW10_EXACT 55
#define PDR__POW10_COUNT (PDR__POW10_LAST - PDR__POW10_FIRST + 1)
extern const struct pdr__pow10 pdr__pow10_rows[PDR__POW10_COUNT];

/* floor(log2(10^p)); tools/mkpow10 --check proves it for the whole table. */
static inline int pdr__log2_pow10(int p)
{
    return (p * 217706) >> 16;
}

/* The digits that a number keeps at most in one machine word. */
#define PDR__HEAD_DIGITS 19

/* A number cut into its parts; pointers go into its text. */
struct pdr__number {
    bool negative;
    bool exp_negative;
    const char *digits;     /* first digit; may be a zero */
    const char *digits_end; /* behind the last digit of integer or fraction */
    const char *point;      /* the decimal point, or `digits_end` */
    const char *exp;        /* first digit of the exponent, or `exp_end` */
    const char *exp_end;
    /* The value is `head` * 10^`exponent` if `tail` is 0. Otherwise `head` is
     * the first 19 significant digits, and `tail` more follow up to the last
     * that is not zero. The exponent is cut at +-PDR__MAX_EXPONENT. */
    uint64_t head;
    int64_t exponent;
    size_t tail;
};

/* Far beyond what the length of any text could make up for, and small enough
 * that adding such a length cannot overflow. */
#define PDR__MAX_EXPONENT (INT64_MAX / 4)

/* Cut a number into its parts; false if `text` is none. */
bool pdr__number_split(struct pdr__number *out, pdr_str text);

/* The significant digits: from the first to the last that is not zero. */
struct pdr__significant {
    const char *first; /* NULL for zero; a decimal point may lie between */
    const char *last;
    size_t count;
    int64_t lead; /* power of ten of the first one, exponent not counted */
};
void pdr__number_significant(struct pdr__significant *out,
                             const struct pdr__number *number);

/* As a number: up to `count` digits from `*p` on, which then stands behind
 * them. A decimal point is skipped. */
uint64_t pdr__number_digits(const char **p, size_t count);

#endif
