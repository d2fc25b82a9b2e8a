/*
 * number.c - the grammar of numbers, exact integers, exact comparison.
 *
 * WHY  A document keeps its numbers as text. Whoever wants a machine number or
 *      wants to know whether two spellings mean the same must get the exact
 *      answer, also for text that an attacker wrote: a million digits, or an
 *      exponent of a hundred digits.
 *
 * INVARIANTS
 *   I1  Every function takes time linear in the length of its texts and a
 *       fixed amount of memory.
 *   I2  A machine exponent is cut at +-PDR__MAX_EXPONENT. No text is long
 *       enough to bring a cut exponent back into the range of any machine
 *       number, so a cut one is as good as the true one. Comparing does not
 *       use it, it works on the digits of the exponents.
 *   I3  Significant digits begin and end with a digit that is not zero. So two
 *       values are equal if and only if sign, power of the first digit and
 *       digits are.
 *
 * NOT HERE  Doubles (number_read.c, number_write.c).
 */
#include "number_split.h"

/* --- grammar ------------------------------------------------------------- */

static const char *skip_digits(const char *p, const char *end)
{
    while (p != end && is_digit(*p))
        p++;
    return p;
}

/* Behind the exponent that begins at `p`, or `p` if none begins there. */
static const char *skip_exponent(const char *p, const char *end)
{
    const char *q = p;

    if (q == end || (*q | 0x20) != 'e')
        return p;
    q++;
    if (q != end && (*q == '+' || *q == '-'))
        q++;
    const char *digits = q;
    q = skip_digits(q, end);
    return q != digits ? q : p;
}

size_t pdr__number_prefix(pdr_str text)
{
    if (text.len == 0)
        return 0; /* the pointer may be NULL, and NULL + 0 is not defined */
    const char *p = text.ptr, *end = text.ptr + text.len;
    p += *p == '-';
    if (p == end || !is_digit(*p))
        return 0;
    p = *p == '0' ? p + 1 : skip_digits(p, end);
    if (end - p >= 2 && p[0] == '.' && is_digit(p[1]))
        p = skip_digits(p + 1, end);
    return (size_t)(skip_exponent(p, end) - text.ptr);
}

bool pdr__number_is_valid(pdr_str text)
{
    return text.len > 0 && pdr__number_prefix(text) == text.len;
}

size_t pdr__number_bare_prefix(pdr_str text)
{
    static const pdr_str tokens[] = {
        {"NaN", 3}, {"Infinity", 8}, {"-Infinity", 9}};

    for (size_t i = 0; i < PDR_COUNT(tokens); i++)
        if (text.len >= tokens[i].len &&
            memcmp(text.ptr, tokens[i].ptr, tokens[i].len) == 0)
            return tokens[i].len;
    return 0;
}

bool pdr__number_is_bare(pdr_str text)
{
    return text.len > 0 && pdr__number_bare_prefix(text) == text.len;
}

/* --- parts --------------------------------------------------------------- */

/* The exponent as a machine number, cut as in I2. */
static int64_t exponent_value(const struct pdr__number *n)
{
    int64_t value = 0;

    for (const char *p = n->exp; p != n->exp_end; p++) {
        if (value < PDR__MAX_EXPONENT / 10)
            value = value * 10 + (*p - '0');
        else
            value = PDR__MAX_EXPONENT;
    }
    return n->exp_negative ? -value : value;
}

void pdr__number_significant(struct pdr__significant *out,
                             const struct pdr__number *n)
{
    const char *first = n->digits, *last = n->digits_end;

    *out = (struct pdr__significant){0};
    while (first != n->digits_end && (*first == '0' || *first == '.'))
        first++;
    if (first == n->digits_end)
        return;
    do
        last--;
    while (*last == '0' || *last == '.');
    out->first = first;
    out->last = last;
    bool around_point = first < n->point && n->point < last;
    out->count = (size_t)(last - first) + 1 - around_point;
    out->lead = n->point - first - (first < n->point);
}

uint64_t pdr__number_digits(const char **p, size_t count)
{
    const char *q = *p;
    uint64_t value = 0;

    for (; count > 0; q++) {
        if (*q == '.')
            continue;
        value = value * 10 + (uint64_t)(*q - '0');
        count--;
    }
    *p = q;
    return value;
}

/* Head, tail and exponent out of the digits. Some of them may be zeros that do
 * not count. */
static void set_head(struct pdr__number *n)
{
    struct pdr__significant s;

    pdr__number_significant(&s, n);
    n->head = 0;
    n->exponent = 0;
    n->tail = 0;
    if (s.first == NULL)
        return;
    size_t count = s.count < PDR__HEAD_DIGITS ? s.count : PDR__HEAD_DIGITS;
    const char *p = s.first;
    n->head = pdr__number_digits(&p, count);
    n->exponent = exponent_value(n) + s.lead - (int64_t)count + 1;
    n->tail = s.count - count;
}

bool pdr__number_split(struct pdr__number *n, pdr_str text)
{
    if (!pdr__number_is_valid(text))
        return false;
    const char *p = text.ptr, *end = text.ptr + text.len;
    n->negative = *p == '-';
    p += n->negative;
    n->digits = p;
    n->point = p = skip_digits(p, end);
    if (p != end && *p == '.')
        p = skip_digits(p + 1, end);
    n->digits_end = p;
    n->exp_negative = p != end && p[1] == '-';
    if (p != end)
        p += is_digit(p[1]) ? 1 : 2;
    n->exp = p;
    n->exp_end = end;
    set_head(n);
    return true;
}

/* --- integers ------------------------------------------------------------ */

static pdr_rc not_integer(pdr_err *err)
{
    return PDR_FAIL(err, NOT_INTEGER, "the number is not an integer");
}

static pdr_rc out_of_range(pdr_err *err, const char *type)
{
    return PDR_FAIL(err, NUMBER_RANGE, "the integer does not fit into %s",
                    type);
}

/* A number with more than 19 significant digits. Only one of exactly 20 that
 * ends at the ones can be an integer of 64 bits. */
static pdr_rc long_magnitude(uint64_t *out, const struct pdr__number *n,
                             const char *type, pdr_err *err)
{
    struct pdr__significant s;

    /* The last digit that is not zero stands below the ones. */
    if (n->exponent < (int64_t)n->tail)
        return not_integer(err);
    if (n->tail > 1 || n->exponent > 1)
        return out_of_range(err, type);
    pdr__number_significant(&s, n);
    if (__builtin_mul_overflow(n->head, 10u, out) ||
        __builtin_add_overflow(*out, (uint64_t)(*s.last - '0'), out))
        return out_of_range(err, type);
    return PDR_OK;
}

/* The absolute value of an integer. */
static pdr_rc magnitude(uint64_t *out, const struct pdr__number *n,
                        const char *type, pdr_err *err)
{
    uint64_t value = n->head;
    int64_t exponent = n->exponent;

    *out = 0;
    if (n->tail > 0)
        return long_magnitude(out, n, type, err);
    if (value == 0)
        return PDR_OK;
    if (exponent < 0) /* and the head does not end with a zero (I3) */
        return not_integer(err);
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(value, 10u, &value))
            return out_of_range(err, type);
    *out = value;
    return PDR_OK;
}

/* The absolute value of any number, and whether it has a minus. */
static pdr_rc read_integer(uint64_t *out, bool *negative, pdr_str text,
                           const char *type, pdr_err *err)
{
    struct pdr__number n;

    if (pdr__number_split(&n, text)) {
        *negative = n.negative;
        return magnitude(out, &n, type, err);
    }
    if (pdr__number_is_bare(text))
        return not_integer(err);
    return PDR_FAIL(err, BAD_NUMBER, "this is not a number");
}

/* Any text, short or long. */
static pdr_rc read_int64(int64_t *out, pdr_str text, pdr_err *err)
{
    uint64_t value = 0;
    bool negative = false;

    pdr_rc rc = read_integer(&value, &negative, text, "int64", err);
    if (rc != PDR_OK)
        return rc;
    if (value > (uint64_t)INT64_MAX + negative)
        return out_of_range(err, "int64");
    /* -2^63 has no positive counterpart, so the sign is not simply changed. */
    if (negative && value > 0)
        *out = -(int64_t)(value - 1) - 1;
    else
        *out = (int64_t)value;
    return PDR_OK;
}

pdr_rc pdr__number_int64(int64_t *out, pdr_str text, pdr_err *err)
{
    struct short_number n;

    *out = 0;
    if (PDR_UNLIKELY(!split_short(&n, text) || n.exponent != 0 ||
                     n.head > INT64_MAX))
        return read_int64(out, text, err);
    *out = n.negative ? -(int64_t)n.head : (int64_t)n.head;
    return PDR_OK;
}

static pdr_rc read_uint64(uint64_t *out, pdr_str text, pdr_err *err)
{
    uint64_t value = 0;
    bool negative = false;

    pdr_rc rc = read_integer(&value, &negative, text, "uint64", err);
    if (rc != PDR_OK)
        return rc;
    if (negative && value > 0)
        return out_of_range(err, "uint64");
    *out = value;
    return PDR_OK;
}

pdr_rc pdr__number_uint64(uint64_t *out, pdr_str text, pdr_err *err)
{
    struct short_number n;

    *out = 0;
    if (PDR_UNLIKELY(!split_short(&n, text) || n.exponent != 0 || n.negative))
        return read_uint64(out, text, err);
    *out = n.head;
    return PDR_OK;
}

/* --- comparing ----------------------------------------------------------- */

/* Place of a text in the order: -Infinity, numbers, Infinity, NaN. */
static int rank(struct pdr__number *n, pdr_str text)
{
    if (pdr__number_split(n, text))
        return 1;
    assert(pdr__number_is_bare(text)); /* the caller checked its texts */
    if (text.ptr[0] == '-')
        return 0;
    return text.ptr[0] == 'I' ? 2 : 3;
}

/* Digit of an exponent with its sign; zeros stand in front of a short one.
 * `place` counts from the last digit. */
static int exponent_digit(const struct pdr__number *n, size_t place)
{
    if (place >= (size_t)(n->exp_end - n->exp))
        return 0;
    int digit = n->exp_end[-1 - (ptrdiff_t)place] - '0';
    return n->exp_negative ? -digit : digit;
}

/* Exponent of `a` minus exponent of `b`, cut as in I2. One step changes the
 * difference from d to 10 d + c with |c| <= 18: once |d| passed 2 it only
 * grows, so it can be cut without looking at the rest. */
static int64_t exponent_difference(const struct pdr__number *a,
                                   const struct pdr__number *b)
{
    size_t places = (size_t)(a->exp_end - a->exp);
    int64_t d = 0;

    if ((size_t)(b->exp_end - b->exp) > places)
        places = (size_t)(b->exp_end - b->exp);
    while (places-- > 0) {
        d = d * 10 + exponent_digit(a, places) - exponent_digit(b, places);
        if (d >= PDR__MAX_EXPONENT / 16 || d <= -PDR__MAX_EXPONENT / 16)
            return d > 0 ? PDR__MAX_EXPONENT : -PDR__MAX_EXPONENT;
    }
    return d;
}

/* Order of two runs of significant digits with the same power in front. */
static int compare_digits(const struct pdr__significant *a,
                          const struct pdr__significant *b)
{
    const char *p = a->first, *q = b->first;

    for (;; p++, q++) {
        if (p <= a->last && *p == '.')
            p++;
        if (q <= b->last && *q == '.')
            q++;
        if (p > a->last || q > b->last)
            return (p <= a->last) - (q <= b->last);
        if (*p != *q)
            return *p < *q ? -1 : 1;
    }
}

/* Order of the absolute values of two numbers, both not zero. */
static int compare_magnitudes(const struct pdr__number *a,
                              const struct pdr__significant *sa,
                              const struct pdr__number *b,
                              const struct pdr__significant *sb)
{
    int64_t powers = exponent_difference(a, b) + (sa->lead - sb->lead);

    if (powers != 0)
        return powers < 0 ? -1 : 1;
    return compare_digits(sa, sb);
}

int pdr__number_compare(pdr_str text_a, pdr_str text_b)
{
    struct pdr__number a, b;
    struct pdr__significant sa, sb;

    int rank_a = rank(&a, text_a), rank_b = rank(&b, text_b);
    if (rank_a != rank_b || rank_a != 1)
        return (rank_a > rank_b) - (rank_a < rank_b);
    pdr__number_significant(&sa, &a);
    pdr__number_significant(&sb, &b);
    int sign_a = sa.first == NULL ? 0 : a.negative ? -1 : 1;
    int sign_b = sb.first == NULL ? 0 : b.negative ? -1 : 1;
    if (sign_a != sign_b || sign_a == 0)
        return (sign_a > sign_b) - (sign_a < sign_b);
    return sign_a * compare_magnitudes(&a, &sa, &b, &sb);
}

bool pdr__number_equal_value(pdr_str a, pdr_str b)
{
    return pdr__number_compare(a, b) == 0;
}
