/*
 * match.c - what lists compare of a property.
 *
 * WHY  A list finds sessions by one property that equals a text, a number or a
 *      boolean, and a store compares bytes. So each value has one text: "t" and
 *      the text itself, "btrue" or "bfalse", or "n" and the number, for which
 *      there is one spelling however it was written:
 *
 *        1, 1.0, 1e0, 10e-1 ─► n1      -12.50 ─► n-125e-1     0, -0.0 ─► n0
 *
 *      Digits are moved and never computed with, so that no number is taken for
 *      its neighbour.
 */
#include "import.h"

/* Digits of an exponent that a 64-bit number surely holds. */
#define EXPONENT_DIGITS 17

/* A number as its digits, without zeros on either side, and a power of ten. */
struct decimal {
    bool negative;
    char digits[PDR_MAX_MATCH_BYTES];
    size_t len;
    int64_t power;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The exponent at `at`, after its letter; false if it is out of all bounds. */
static bool read_exponent(int64_t *out, pdr_str text, size_t at)
{
    bool negative = at < text.len && text.ptr[at] == '-';
    size_t digits = 0;

    *out = 0;
    if (at < text.len && !is_digit(text.ptr[at]))
        at++;
    for (; at < text.len; at++) {
        digits += digits > 0 || text.ptr[at] != '0' ? 1 : 0;
        if (digits > EXPONENT_DIGITS)
            return false;
        *out = *out * 10 + (text.ptr[at] - '0');
    }
    if (negative)
        *out = -*out;
    return true;
}

/* Take a digit. Zeros wait until another digit follows them: then they are
 * written. False if there is no room. */
static bool take_digit(struct decimal *d, size_t *zeros, char digit)
{
    if (digit == '0') {
        *zeros += d->len > 0 ? 1 : 0;
        return true;
    }
    if (*zeros >= sizeof(d->digits) - d->len)
        return false;
    memset(d->digits + d->len, '0', *zeros);
    d->len += *zeros;
    *zeros = 0;
    d->digits[d->len++] = digit;
    return true;
}

static bool read_decimal(struct decimal *d, pdr_str text)
{
    size_t zeros = 0, at = 0;
    int64_t places = 0; /* digits after the point */
    bool point = false;

    memset(d, 0, sizeof(*d));
    d->negative = text.len > 0 && text.ptr[0] == '-';
    for (at = d->negative ? 1 : 0; at < text.len; at++) {
        char c = text.ptr[at];

        if (c == '.') {
            point = true;
            continue;
        }
        if (!is_digit(c))
            break;
        places += point ? 1 : 0;
        if (!take_digit(d, &zeros, c))
            return false;
    }
    if (at < text.len && text.ptr[at] != 'e' && text.ptr[at] != 'E')
        return false; /* a bare token: NaN, Infinity */
    if (at < text.len && !read_exponent(&d->power, text, at + 1))
        return false;
    d->power += (int64_t)zeros - places;
    return true;
}

pdr_rc pdr_property_match(pdr_buf *out, bool *found, const pdr_value *value,
                          pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_kind kind = PDR_NULL;
    pdr_str text = {NULL, 0};
    size_t before = 0;
    struct decimal d;
    bool truth = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && found != NULL && value != NULL);
    before = out->len;
    kind = pdr_value_kind(value);
    *found = false;
    if (kind == PDR_STRING && !pdr_value_has_lone_surrogate(value)) {
        PDR_TRY(pdr_value_text(&text, value, &scratch, err));
        if (text.len >= PDR_MAX_MATCH_BYTES ||
            (text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL))
            goto done; /* no index takes U+0000 */
        PDR_TRY(pdr_buf_append(out, PDR_LIT("t"), err));
        PDR_TRY(pdr_buf_append(out, text, err));
        *found = true;
    } else if (kind == PDR_NUMBER && pdr_value_raw(&text, value) &&
               read_decimal(&d, text)) {
        PDR_TRY(pdr_buf_printf(
            out, err, "n%s%.*s", d.negative && d.len > 0 ? "-" : "",
            d.len > 0 ? (int)d.len : 1, d.len > 0 ? d.digits : "0"));
        if (d.len > 0 && d.power != 0)
            PDR_TRY(pdr_buf_printf(out, err, "e%lld", (long long)d.power));
        *found = out->len - before <= PDR_MAX_MATCH_BYTES;
    } else if (kind == PDR_BOOL) {
        PDR_TRY(pdr_value_bool(&truth, value, err));
        PDR_TRY(pdr_buf_append(
            out, truth ? PDR_LIT("btrue") : PDR_LIT("bfalse"), err));
        *found = true;
    }
done:
    if (!*found)
        out->len = before;
    pdr_buf_dispose(&scratch);
    return rc;
}
