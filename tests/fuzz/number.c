/*
 * What is a number is decided by the grammar. For a number: the double is the
 * one of strtod() in the C locale; what we write for it reads back; the integer
 * is exact; the same value in another spelling is equal, another value is not.
 */
#include "fuzz.h"

#include <locale.h>

#include "number.h"

/* --- grammar, once more and as plain as possible -------------------------- */

static size_t skip(const char *p, size_t i, size_t len)
{
    while (i < len && p[i] >= '0' && p[i] <= '9')
        i++;
    return i;
}

static size_t reference_prefix(const char *p, size_t len)
{
    size_t i = len > 0 && p[0] == '-', k = 0;

    if (i < len && p[i] == '0')
        k = i + 1;
    else
        k = skip(p, i, len);
    if (k == i)
        return 0;
    if (k < len && p[k] == '.' && skip(p, k + 1, len) > k + 1)
        k = skip(p, k + 1, len);
    if (k >= len || (p[k] != 'e' && p[k] != 'E'))
        return k;
    i = k + 1;
    if (i < len && (p[i] == '+' || p[i] == '-'))
        i++;
    return skip(p, i, len) > i ? skip(p, i, len) : k;
}

/* --- doubles -------------------------------------------------------------- */

static uint64_t bits_of(double x)
{
    uint64_t bits = 0;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* `text` ends with a NUL. */
static void check_double(const char *text, size_t len)
{
    static locale_t c;
    char out[PDR__NUMBER_DOUBLE_BYTES];
    double x = 0, back = 0;

    if (c == (locale_t)0)
        c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double expected = strtod_l(text, NULL, c);
    pdr_rc rc = pdr__number_double(&x, pdr_str_n(text, len), NULL);
    MUST((rc == PDR_OK) == (expected - expected == 0));
    if (rc != PDR_OK)
        return;
    MUST(bits_of(x) == bits_of(expected));
    pdr_str written = pdr_str_n(out, pdr__number_write_double(out, x));
    MUST(pdr__number_is_valid(written) && written.len <= 24);
    MUST(pdr__number_double(&back, written, NULL) == PDR_OK);
    MUST(bits_of(x) == bits_of(back));
}

/* Any bits are a double too. */
static void check_bits(const uint8_t *data, size_t size)
{
    char out[PDR__NUMBER_DOUBLE_BYTES];
    double x = 0, back = 0;

    if (size < sizeof(x))
        return;
    memcpy(&x, data, sizeof(x));
    pdr_str written = pdr_str_n(out, pdr__number_write_double(out, x));
    MUST(pdr__number_double(&back, written, NULL) == PDR_OK);
    MUST(bits_of(x) == bits_of(back) || (x != x && back != back));
}

/* --- the same value in another spelling ----------------------------------- */

struct digits {
    char *text;     /* owned: digits between the zeros at both ends */
    size_t count;   /* 0 for zero */
    long long lead; /* power of ten of the first */
    bool negative;
    bool known; /* the exponent is short enough to be computed with */
};

static void digits_of(struct digits *out, const char *text, size_t len)
{
    long long before_point = 0, exponent = 0;
    bool point = false;
    size_t i = text[0] == '-';

    *out = (struct digits){.text = malloc(len + 1), .negative = i == 1};
    MUST(out->text != NULL);
    for (; i < len && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        if (out->count > 0 || text[i] != '0')
            out->text[out->count++] = text[i];
        if (point)
            before_point -= out->count == 0;
        else
            before_point += out->count > 0;
    }
    while (out->count > 0 && out->text[out->count - 1] == '0')
        out->count--;
    out->known = len - i < 16;
    if (out->known && i < len)
        exponent = strtoll(text + i + 1, NULL, 10);
    out->lead = before_point - 1 + exponent;
}

/* d.ddd000e<lead> into `out`; returns the length. */
static size_t respell(char *out, size_t cap, const struct digits *d)
{
    if (d->count == 0)
        return (size_t)snprintf(out, cap, "-0.00e-12345678901234567890");
    return (size_t)snprintf(out, cap, "%s%.1s.%.*s000E%+lld",
                            d->negative ? "-" : "", d->text, (int)d->count - 1,
                            d->text + 1, d->lead);
}

static void check_spelling(pdr_str text, struct digits *d)
{
    size_t cap = text.len + 64;
    char *other = malloc(cap);

    MUST(other != NULL);
    size_t len = respell(other, cap, d);
    MUST(pdr__number_is_valid(pdr_str_n(other, len)));
    MUST(pdr__number_compare(text, pdr_str_n(other, len)) == 0);
    MUST(pdr__number_equal_value(pdr_str_n(other, len), text));
    if (d->count > 0) {
        /* Another last digit, 9 becomes 8, gives another value. */
        char *last = &d->text[d->count - 1], kept = *last;
        *last = kept == '9' ? '8' : (char)(kept + 1);
        len = respell(other, cap, d);
        int order = (kept == '9') == d->negative ? 1 : -1;
        MUST(pdr__number_compare(pdr_str_n(other, len), text) == order);
        *last = kept;
    }
    free(other);
}

/* --- integers ------------------------------------------------------------- */

/* The value by its digits, with no thought of speed. */
static void check_integer(pdr_str text, const struct digits *d)
{
    int64_t s = 0;
    uint64_t u = 0, expected = 0;
    bool whole = d->count == 0 || d->lead >= (long long)d->count - 1;
    bool fits = whole && (d->count == 0 || d->lead < 20);
    pdr_err err = PDR_ERR_INIT;

    if (fits && d->count > 0)
        for (long long i = 0; i <= d->lead; i++) {
            uint64_t digit =
                i < (long long)d->count ? (uint64_t)(d->text[i] - '0') : 0;
            fits = fits && !__builtin_mul_overflow(expected, 10u, &expected) &&
                   !__builtin_add_overflow(expected, digit, &expected);
        }
    bool fits_u = fits && (!d->negative || expected == 0);
    bool fits_s = fits && expected <= (uint64_t)INT64_MAX + d->negative;
    MUST((pdr__number_uint64(&u, text, &err) == PDR_OK) == fits_u);
    MUST(!fits_u || u == expected);
    MUST(fits_u || !strcmp(err.reason, whole ? "number_range" : "not_integer"));
    MUST((pdr__number_int64(&s, text, &err) == PDR_OK) == fits_s);
    MUST(!fits_s || (uint64_t)s == (d->negative ? 0 - expected : expected));
    MUST(fits_s || !strcmp(err.reason, whole ? "number_range" : "not_integer"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of its own, so that reading behind the end is seen. */
    char *text = malloc(size + 1), *exact = malloc(size > 0 ? size : 1);
    struct digits d;
    double x = 0;

    MUST(text != NULL && exact != NULL);
    if (size > 0) {
        memcpy(text, data, size);
        memcpy(exact, data, size);
    }
    text[size] = '\0';
    check_bits(data, size);
    pdr_str whole = pdr_str_n(exact, size);
    size_t len = pdr__number_prefix(whole);
    MUST(len == reference_prefix(text, size));
    MUST(pdr__number_is_valid(whole) == (len == size && size > 0));
    if (len != size || size == 0)
        MUST((pdr__number_double(&x, whole, NULL) == PDR_OK) ==
             pdr__number_is_bare(whole));
    if (len > 0) {
        text[len] = '\0';
        pdr_str number = pdr_str_n(exact, len);
        check_double(text, len);
        digits_of(&d, text, len);
        if (d.known) {
            check_spelling(number, &d);
            check_integer(number, &d);
        }
        free(d.text);
    }
    free(exact);
    free(text);
    return 0;
}
