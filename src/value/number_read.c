/*
 * number_read.c - the double that is nearest to a number.
 *
 * WHY  Everybody who reads the same text must get the same bits, in every
 *      locale, on every processor, in every rounding mode. So only integers
 *      are used here, and each step either knows the answer or says that it
 *      does not.
 *
 *   1. A number is head * 10^q with at most 19 digits in the head, or lies
 *      between that and (head + 1) * 10^q.
 *   2. The head times a 128-bit power of ten gives the first 128 bits of the
 *      value with an error below 2 in the last (Eisel and Lemire). A double
 *      needs 53 of them; nearly always the rest is clearly below or above one
 *      half, and that decides.
 *   3. Else the value is compared with the middle of the two doubles around
 *      it, in exact integers of up to BIG_LIMBS words.
 *
 * INVARIANTS
 *   I1  Step 2 answers only if every value within its error rounds alike.
 *   I2  When it does not answer, one middle lies within its error, and the
 *       double below that middle is the one it found.
 *   I3  The middle of two doubles has at most 768 significant digits. What
 *       follows the first PDR_MAX_EXACT_DIGITS can only break a tie.
 *
 * NOT HERE  The grammar (number.c), writing (number_write.c).
 */
#include "number_split.h"

const struct pdr__pow10 pdr__pow10_rows[PDR__POW10_COUNT] = {
#include "pow10.h"
};

#define MIN_EXPONENT  (-1074) /* of the smallest double */
#define MANTISSA_BITS 53      /* the leading one included */
#define MAX_INTEGER   ((uint64_t)1 << MANTISSA_BITS) /* all below are doubles */
#define INFINITY_BITS 0x7FF0000000000000u            /* exponent all ones */
#define NAN_BITS      0x7FF8000000000000u
#define SIGN_BIT      0x8000000000000000u

/* Outside of these powers, 19 digits are always 0 or always infinite. */
#define MIN_POWER (-342)
#define MAX_POWER 308

/* A double cut off below: m * 2^e, and how the rest rounds. */
enum rounding { ROUND_DOWN, ROUND_UP, ROUND_UNSURE };
struct binary {
    uint64_t m;
    int e;
    enum rounding rounding;
};

/* The bits of a rounded double. A mantissa that became 2^53 carries into the
 * exponent, a subnormal one has the exponent 0: both by this one addition. */
static inline uint64_t to_bits(const struct binary *b)
{
    return ((uint64_t)(b->e - MIN_EXPONENT) << (MANTISSA_BITS - 1)) + b->m +
           (b->rounding == ROUND_UP);
}

/* --- step 2: 128 bits ---------------------------------------------------- */

/* Cut `n` bits off the high half of a product, 10 or 11 of them. False if the
 * low half could matter, in about 2 of 1024 cases. */
static inline bool cut_quickly(struct binary *b, uint64_t high, int n, int e)
{
    const uint64_t half = (uint64_t)1 << (n - 1);
    const uint64_t rest = high & (2 * half - 1);

    b->m = high >> n;
    b->e = e;
    b->rounding = rest > half ? ROUND_UP : ROUND_DOWN;
    return rest > half || rest + 1 < half;
}

/* Cut `n` bits off the product. It has no error if it is `exact`; else the true
 * one lies in [product, product + 2). */
static struct binary cut(pdr__u128 product, int n, int e, bool exact)
{
    const pdr__u128 half = (pdr__u128)1 << (n - 1);
    const pdr__u128 rest = product & ((half << 1) - 1);
    struct binary b = {(uint64_t)(product >> (n - 1) >> 1), e, ROUND_DOWN};

    if (rest > half)
        b.rounding = ROUND_UP;
    else if (rest + 2 > half && !exact)
        b.rounding = ROUND_UNSURE;
    else if (rest == half && (b.m & 1) != 0)
        b.rounding = ROUND_UP; /* a tie: to the even one */
    return b;
}

/* w * 10^q as a double, for w > 0 and MIN_POWER <= q <= MAX_POWER. */
static inline struct binary approximate(uint64_t w, int q)
{
    const struct pdr__pow10 *row = &pdr__pow10_rows[q - PDR__POW10_FIRST];
    const int zeros = __builtin_clzll(w);

    w <<= zeros;
    pdr__u128 low = (pdr__u128)w * row->low;
    pdr__u128 product = (pdr__u128)w * row->high + (uint64_t)(low >> 64);
    /* Both factors have their top bit set: 127 or 128 bits. */
    int n = 128 - MANTISSA_BITS - (int)(~(uint64_t)(product >> 64) >> 63);
    int e = n + pdr__log2_pow10(q) - 127 - zeros + 64;
    struct binary b;
    if (PDR_LIKELY(e >= MIN_EXPONENT)) {
        if (PDR_LIKELY(cut_quickly(&b, (uint64_t)(product >> 64), n - 64, e)))
            return b;
    } else {
        n += MIN_EXPONENT - e;
        e = MIN_EXPONENT;
        if (n > 128) /* below half of the smallest double */
            return (struct binary){0, e, ROUND_DOWN};
    }
    bool exact = q >= 0 && q <= PDR__POW10_EXACT && (uint64_t)low == 0;
    return cut(product, n, e, exact);
}

/* --- step 3: exact integers ---------------------------------------------- */

/* The digits (10^800) and the middle times its power of five (2^54 * 5^1123)
 * have fewer than 2,700 bits; a shift makes one about as long as the other. */
#define BIG_LIMBS 44

struct big {
    uint64_t limb[BIG_LIMBS]; /* lowest first */
    size_t count;             /* the last one is not zero */
};

/* x = x * factor + summand */
static void big_multiply_add(struct big *x, uint64_t factor, uint64_t summand)
{
    uint64_t carry = summand;

    for (size_t i = 0; i < x->count; i++) {
        pdr__u128 v = (pdr__u128)x->limb[i] * factor + carry;
        x->limb[i] = (uint64_t)v;
        carry = (uint64_t)(v >> 64);
    }
    if (carry != 0) {
        assert(x->count < BIG_LIMBS);
        x->limb[x->count++] = carry;
    }
}

static void big_multiply_pow5(struct big *x, int power)
{
    const uint64_t pow5_27 = 7450580596923828125u; /* the last that fits */

    for (; power >= 27; power -= 27)
        big_multiply_add(x, pow5_27, 0);
    uint64_t factor = 1;
    for (; power > 0; power--)
        factor *= 5;
    big_multiply_add(x, factor, 0);
}

static void big_shift(struct big *x, int bits)
{
    size_t limbs = (size_t)bits / 64;

    big_multiply_add(x, (uint64_t)1 << (bits % 64), 0);
    assert(x->count + limbs <= BIG_LIMBS);
    memmove(x->limb + limbs, x->limb, x->count * sizeof(x->limb[0]));
    memset(x->limb, 0, limbs * sizeof(x->limb[0]));
    x->count += limbs;
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (size_t i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* `count` digits from `p` on. */
static void big_read(struct big *x, const char *p, size_t count)
{
    x->count = 0;
    while (count > 0) {
        size_t some = count < PDR__HEAD_DIGITS ? count : PDR__HEAD_DIGITS;
        uint64_t factor = 1;
        for (size_t i = 0; i < some; i++)
            factor *= 10;
        big_multiply_add(x, factor, pdr__number_digits(&p, some));
        count -= some;
    }
}

/* The first digits of a number as an integer, all of them if it is short. The
 * integer times 10^`*q` is the number but for digits that were left out. */
static bool big_from_number(struct big *x, int *q, const struct pdr__number *n)
{
    struct pdr__significant s;
    size_t count = 0;

    *q = (int)n->exponent;
    if (n->tail == 0) {
        x->count = 0;
        big_multiply_add(x, 0, n->head);
        return false;
    }
    pdr__number_significant(&s, n);
    count = s.count;
    if (count > PDR_MAX_EXACT_DIGITS)
        count = PDR_MAX_EXACT_DIGITS;
    big_read(x, s.first, count);
    *q += PDR__HEAD_DIGITS - (int)count;
    return s.count > count; /* the last of them is not zero */
}

/* Round `below` by comparing the number with the middle above it, which is
 * (2 m + 1) * 2^(e - 1). What would be a divisor on one side becomes a factor
 * on the other. */
static void round_exactly(struct binary *below, const struct pdr__number *n)
{
    struct big value, middle = {{2 * below->m + 1}, 1};
    int q = 0;

    bool more = big_from_number(&value, &q, n);
    big_multiply_pow5(q >= 0 ? &value : &middle, q >= 0 ? q : -q);
    int shift = q - (below->e - 1);
    big_shift(shift >= 0 ? &value : &middle, shift >= 0 ? shift : -shift);
    int order = big_compare(&value, &middle);
    bool tie_goes_up = more || (below->m & 1) != 0;
    bool up = order > 0 || (order == 0 && tie_goes_up);
    below->rounding = up ? ROUND_UP : ROUND_DOWN;
}

/* --- all steps ----------------------------------------------------------- */

static inline double from_bits(uint64_t bits)
{
    double x = 0;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint64_t bits_of(double x)
{
    uint64_t bits = 0;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Beyond the powers of the table; `*bits` is 0 or infinity then. */
static inline bool is_extreme(uint64_t *bits, uint64_t head, int64_t exponent)
{
    *bits = exponent > MAX_POWER ? INFINITY_BITS : 0;
    if (head == 0)
        *bits = 0;
    return head == 0 || exponent < MIN_POWER || exponent > MAX_POWER;
}

/* The bits of the absolute value of any number; infinity if it is too large. */
static uint64_t nearest(const struct pdr__number *n)
{
    uint64_t bits = 0;

    if (is_extreme(&bits, n->head, n->exponent))
        return bits;
    struct binary low = approximate(n->head, (int)n->exponent);
    if (n->tail > 0 && low.rounding != ROUND_UNSURE) {
        struct binary high = approximate(n->head + 1, (int)n->exponent);
        if (high.rounding == ROUND_UNSURE || to_bits(&high) != to_bits(&low))
            low.rounding = ROUND_UNSURE;
    }
    if (low.rounding == ROUND_UNSURE)
        round_exactly(&low, n);
    return to_bits(&low);
}

/* The same for a short number; false if only nearest() can tell. */
static inline bool nearest_short(uint64_t *bits, const struct short_number *n)
{
    if (n->exponent == 0 && n->head <= MAX_INTEGER) {
        *bits = bits_of((double)n->head); /* exact: nothing is rounded */
        return true;
    }
    if (is_extreme(bits, n->head, n->exponent))
        return true;
    struct binary b = approximate(n->head, n->exponent);
    *bits = to_bits(&b);
    return b.rounding != ROUND_UNSURE;
}

static double bare_token(pdr_str token)
{
    if (token.ptr[0] == 'N')
        return from_bits(NAN_BITS);
    return from_bits(INFINITY_BITS | (token.ptr[0] == '-' ? SIGN_BIT : 0));
}

/* Any text, short or long. Not inline: its frame is large. */
__attribute__((noinline)) static pdr_rc read_any(double *out, pdr_str text,
                                                 pdr_err *err)
{
    struct pdr__number n;

    if (!pdr__number_split(&n, text)) {
        if (!pdr__number_is_bare(text))
            return PDR_FAIL(err, BAD_NUMBER, "this is not a number");
        *out = bare_token(text);
        return PDR_OK;
    }
    uint64_t bits = nearest(&n);
    if (bits >= INFINITY_BITS)
        return PDR_FAIL(err, NUMBER_RANGE,
                        "the number is larger than any double");
    *out = from_bits(bits | (n.negative ? SIGN_BIT : 0));
    return PDR_OK;
}

pdr_rc pdr__number_double(double *out, pdr_str text, pdr_err *err)
{
    struct short_number n;
    uint64_t bits = 0;

    *out = 0;
    if (PDR_UNLIKELY(!split_short(&n, text) || !nearest_short(&bits, &n) ||
                     bits >= INFINITY_BITS))
        return read_any(out, text, err);
    *out = from_bits(bits | (n.negative ? SIGN_BIT : 0));
    return PDR_OK;
}
