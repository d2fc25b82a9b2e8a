/*
 * number_write.c - machine numbers as decimal text.
 *
 * WHY  A double that was written must read back as the same bits, and people
 *      want to see 0.1, not 0.1000000000000000055. So the text is the shortest
 *      that reads back, and of those the closest to the exact value. There is
 *      one form for the whole library, that of Python's repr().
 *
 * HOW  x is c * 2^e. What reads back as x lies between the middles to its two
 *      neighbours: (c - 1/2) * 2^e and (c + 1/2) * 2^e; the middles themselves
 *      belong to x if c is even. Below a power of two the lower neighbour is
 *      only half as far. Let 10^k be the largest power of ten that is not
 *      longer than this interval. Then it holds at least one multiple of 10^k,
 *      and at most one of 10^(k+1): if there is one, that is the shortest (its
 *      final zeros are dropped), else the closest multiple of 10^k is
 *      (Giulietti's "Schubfach").
 *
 *      x and both middles are divided by 10^k / 4 with the table of powers and
 *      kept as integers whose lowest bit says "and a bit more". With two bits
 *      for the fraction of a multiple of 10^k, every comparison is exact.
 *
 * INVARIANTS
 *   I1  The division is exact in that sense: no double comes closer to an
 *       integer than the error of the table. tools/mkpow10 --check proves it
 *       for every exponent.
 *   I2  Only integers are used, so locale and rounding mode do not matter.
 *
 * NOT HERE  Reading (number_read.c).
 */
#include "number.h"

#define MIN_EXPONENT  (-1074) /* of the smallest double */
#define FRACTION_BITS 52
#define HIDDEN_BIT    ((uint64_t)1 << FRACTION_BITS)

/* Powers of ten between which repr() writes no exponent. */
#define FIRST_PLAIN (-4)
#define LAST_PLAIN  15

/* --- digits -------------------------------------------------------------- */

static const char pairs[] = "00010203040506070809"
                            "10111213141516171819"
                            "20212223242526272829"
                            "30313233343536373839"
                            "40414243444546474849"
                            "50515253545556575859"
                            "60616263646566676869"
                            "70717273747576777879"
                            "80818283848586878889"
                            "90919293949596979899";

static int count_digits(uint64_t x)
{
    /* clang-format off */
    static const uint64_t powers[] = {
        0u, /* not 1: zero has a digit too */
        10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u,
        1000000000u, 10000000000u, 100000000000u, 1000000000000u,
        10000000000000u, 100000000000000u, 1000000000000000u,
        10000000000000000u, 100000000000000000u, 1000000000000000000u,
        10000000000000000000u,
    };
    /* clang-format on */
    /* floor(log10(2^bits)): the digits of x or one less. */
    int guess = ((64 - __builtin_clzll(x | 1)) * 1233) >> 12;

    return guess + (x >= powers[guess]);
}

/* Write `count` digits of `x` so that they end before `end`. */
static void put_digits(char *end, uint64_t x, int count)
{
    for (; count >= 2; count -= 2) {
        end -= 2;
        memcpy(end, pairs + 2 * (x % 100), 2);
        x /= 100;
    }
    if (count > 0)
        end[-1] = (char)('0' + x);
}

static size_t put_integer(char *out, uint64_t x)
{
    int count = count_digits(x);

    put_digits(out + count, x, count);
    return (size_t)count;
}

size_t pdr__number_write_uint64(char out[PDR__NUMBER_INTEGER_BYTES], uint64_t x)
{
    return put_integer(out, x);
}

size_t pdr__number_write_int64(char out[PDR__NUMBER_INTEGER_BYTES], int64_t x)
{
    if (x >= 0)
        return put_integer(out, (uint64_t)x);
    out[0] = '-';
    return 1 + put_integer(out + 1, 0 - (uint64_t)x);
}

/* --- the shortest decimal ------------------------------------------------ */

struct decimal {
    uint64_t digits; /* at most 17 */
    int exponent;    /* the value is digits * 10^exponent */
};

/* n * g / 2^128 as an integer, its lowest bit set if there is a rest. `g` is
 * too large by less than 1, so less than `n` is no rest (I1). */
static inline uint64_t scale(struct pdr__pow10 g, uint64_t n)
{
    pdr__u128 low = (pdr__u128)g.low * n;
    pdr__u128 high = (pdr__u128)g.high * n + (uint64_t)(low >> 64);
    bool rest = (uint64_t)high != 0 || (uint64_t)low >= n;

    return (uint64_t)(high >> 64) | rest;
}

/* 10^p, rounded up where the table cuts it. */
static inline struct pdr__pow10 pow10_above(int p)
{
    struct pdr__pow10 g = pdr__pow10_rows[p - PDR__POW10_FIRST];
    uint64_t up = p < 0 || p > PDR__POW10_EXACT;

    g.low += up;
    g.high += g.low < up; /* the carry */
    return g;
}

/* Is the multiple of 10^k between the middles? All in quarters of 10^k; `out`
 * is 1 if the middles themselves do not belong to x. */
static inline bool is_inside(uint64_t multiple, uint64_t below, uint64_t above,
                             uint64_t out)
{
    return below + out <= 4 * multiple && 4 * multiple + out <= above;
}

static struct decimal shortest(uint64_t c, int e)
{
    const bool lower_is_near = c == HIDDEN_BIT && e > MIN_EXPONENT;
    const uint64_t out = c & 1;
    const int k = (e * 315653 - (lower_is_near ? 131007 : 0)) >> 20;
    const int h = e + pdr__log2_pow10(-k) + 1;
    const struct pdr__pow10 g = pow10_above(-k);
    const uint64_t x = scale(g, (4 * c) << h);
    const uint64_t below = scale(g, (4 * c - 2 + lower_is_near) << h);
    const uint64_t above = scale(g, (4 * c + 2) << h);
    const uint64_t s = x / 4;

    uint64_t ten = s / 10 * 10;
    if (is_inside(ten, below, above, out))
        return (struct decimal){ten, k};
    if (is_inside(ten + 10, below, above, out))
        return (struct decimal){ten + 10, k};
    bool s_inside = is_inside(s, below, above, out);
    bool t_inside = is_inside(s + 1, below, above, out);
    /* Both or one: the closer, at equal distance the even one. */
    bool up = t_inside;
    if (s_inside && t_inside)
        up = x % 4 + (s & 1) > 2;
    return (struct decimal){s + up, k};
}

static inline void drop(struct decimal *d, uint64_t divisor, int zeros)
{
    if (d->digits % divisor == 0) {
        d->digits /= divisor;
        d->exponent += zeros;
    }
}

/* Zeros at the end are no digits. There may be 16 of them, which is what the
 * steps make together. */
static inline void drop_zeros(struct decimal *d)
{
    drop(d, 100000000, 8);
    drop(d, 10000, 4);
    drop(d, 100, 2);
    drop(d, 10, 1);
    drop(d, 10, 1);
}

/* --- the form of repr() -------------------------------------------------- */

/* Without an exponent; the first digit has the power of ten `lead`. */
static size_t put_plain(char *out, const struct decimal *d, int count, int lead)
{
    if (lead < 0) { /* 0.00ddd */
        memcpy(out, "0.000", 5);
        put_digits(out + 1 - lead + count, d->digits, count);
        return (size_t)(1 - lead + count);
    }
    if (count <= lead + 1) { /* ddd00.0 */
        put_digits(out + count, d->digits, count);
        memset(out + count, '0', LAST_PLAIN);
        out[lead + 1] = '.';
        out[lead + 2] = '0';
        return (size_t)(lead + 3);
    }
    /* dd.ddd: written in one piece, then the front moves over the point. */
    put_digits(out + count + 1, d->digits, count);
    memmove(out, out + 1, (size_t)lead + 1);
    out[lead + 1] = '.';
    return (size_t)(count + 1);
}

/* d.ddde+XX with two or three digits in the exponent. */
static size_t put_scientific(char *out, const struct decimal *d, int count,
                             int lead)
{
    size_t len = 1;
    unsigned power = (unsigned)(lead < 0 ? -lead : lead);

    put_digits(out + count + 1, d->digits, count);
    out[0] = out[1];
    if (count > 1) {
        out[1] = '.';
        len = (size_t)count + 1;
    }
    out[len++] = 'e';
    out[len++] = lead < 0 ? '-' : '+';
    int digits = power < 100 ? 2 : 3;
    put_digits(out + len + digits, power, digits);
    return len + (size_t)digits;
}

static size_t put_decimal(char *out, const struct decimal *d)
{
    int count = count_digits(d->digits);
    int lead = d->exponent + count - 1;

    if (lead >= FIRST_PLAIN && lead <= LAST_PLAIN)
        return put_plain(out, d, count, lead);
    return put_scientific(out, d, count, lead);
}

/* A literal of the caller's choice; returns its length. */
static size_t put_text(char *out, const char *text)
{
    size_t len = strlen(text);

    memcpy(out, text, len);
    return len;
}

/* An integer below 2^53 is its own shortest text: every other integer is at
 * least 1 away, and the middles at most 1/2. */
static bool is_small_integer(uint64_t *out, uint64_t c, int e)
{
    if (e > 0 || e < -FRACTION_BITS)
        return false;
    *out = c >> -e;
    return *out << -e == c;
}

/* One or two digits behind the point, which most decimals of people have. Of
 * all multiples of 0.01 at most one is nearer to x than the middles, if these
 * are less than 0.01 apart; and what has more digits behind the point has more
 * digits. With u = 2^e: n / 100 - x is (n * 2^-e - 100 * c) hundredths of u,
 * and the middles are u / 2 away, u / 4 below a power of two. */
static bool is_short_fraction(uint64_t *out, uint64_t c, int e)
{
    if (e > -7 || e < -58)
        return false;
    const uint64_t hundred = 100 * c;
    const uint64_t n = (hundred + (UINT64_C(1) << (-e - 1))) >> -e;
    const uint64_t off = (n << -e) - hundred + 24; /* 0 to 48 is near enough */

    *out = n;
    return n > 0 && off <= 48;
}

/* n hundredths: fewer than 2^53, and no whole number. */
static size_t put_hundredths(char *out, uint64_t n)
{
    size_t len = put_integer(out, n / 100);

    out[len] = '.';
    memcpy(out + len + 1, pairs + 2 * (n % 100), 2);
    return len + 3 - (n % 10 == 0);
}

size_t pdr__number_write_double(char out[PDR__NUMBER_DOUBLE_BYTES], double x)
{
    uint64_t bits = 0, integer = 0;

    memcpy(&bits, &x, sizeof(bits));
    const uint64_t fraction = bits & (HIDDEN_BIT - 1);
    const int biased = (int)(bits >> FRACTION_BITS) & 0x7FF;
    if (biased == 0x7FF && fraction != 0)
        return put_text(out, "NaN");
    size_t sign = bits >> 63;
    out[0] = '-';
    out += sign;
    if (biased == 0x7FF)
        return sign + put_text(out, "Infinity");
    if (biased == 0 && fraction == 0)
        return sign + put_text(out, "0.0");
    const uint64_t c = biased == 0 ? fraction : fraction | HIDDEN_BIT;
    const int e = MIN_EXPONENT + (biased == 0 ? 0 : biased - 1);
    struct decimal d = {0, 0};
    if (is_small_integer(&integer, c, e)) {
        d.digits = integer;
    } else if (is_short_fraction(&integer, c, e)) {
        return sign + put_hundredths(out, integer);
    } else {
        d = shortest(c, e);
        drop_zeros(&d);
    }
    return sign + put_decimal(out, &d);
}
