/*
 * text.c - JSON strings: what stands between the quotes, and what it means.
 *
 * WHY  A value keeps a string as it was spelled. Only when somebody asks is it
 *      decoded, and code points are compared without decoding into memory.
 *
 * Half a surrogate pair has no UTF-8 form. Inside the library it is carried as
 * the three bytes that its number would have (WTF-8), so that names with it can
 * be found and compared; public text accessors refuse it.
 */
#include "core.h"

#include "text_plain.h"

#define EIGHT(c)      c, c, c, c, c, c, c, c
#define THIRTY_TWO(c) EIGHT(c), EIGHT(c), EIGHT(c), EIGHT(c)

const struct text_steps pdr__text_steps = {
    .two = {THIRTY_TWO(2)},
    .low = {THIRTY_TWO(0x21)},
    .slash = {THIRTY_TWO('\\')},
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The number behind `\u`, or -1. */
static int32_t hex4(const char *p)
{
    int32_t number = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

size_t pdr__text_escape_len(const char *p, const char *end, uint32_t *info)
{
    if (end - p < 2)
        return 0;
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return 2;
    case 'u':
        break;
    default:
        return 0;
    }
    int32_t unit = end - p >= 6 ? hex4(p + 2) : -1;
    if (unit < 0)
        return 0;
    if (is_high(unit)) {
        bool pair =
            end - p >= 12 && p[6] == '\\' && p[7] == 'u' && is_low(hex4(p + 8));
        if (pair)
            return 12;
        *info |= NODE_LONE;
    } else if (is_low(unit)) {
        *info |= NODE_LONE;
    }
    return 6;
}

enum text_stop pdr__text_scan(const char **p, const char *end, uint32_t *info)
{
    const char *at = *p;
    enum text_stop stop = TEXT_END;

    while (at < end) {
        unsigned char c = (unsigned char)*at;
        size_t len = 1;

        if (c == '"') {
            stop = TEXT_QUOTE;
            break;
        }
        if (c == '\\') {
            *info |= NODE_FLAG;
            len = pdr__text_escape_len(at, end, info);
            stop = TEXT_ESCAPE;
        } else if (c < 0x20) {
            stop = TEXT_CONTROL;
            break;
        } else if (c >= 0x80) {
            len = pdr__utf8_len(at, end);
            stop = TEXT_UTF8;
        }
        if (len == 0)
            break;
        at += len;
        stop = TEXT_END;
    }
    *p = at;
    return stop;
}

/* Decode the escape at *p, which was checked, into at most four bytes. */
static size_t decode_escape(char *out, const char **p, const char *end)
{
    static const char plain[] = "\"\\/bfnrt";
    static const char meaning[] = "\"\\/\b\f\n\r\t";
    const char *at = *p;

    if (at[1] != 'u') {
        const char *which = strchr(plain, at[1]);
        assert(which != NULL);
        *p = at + 2;
        out[0] = meaning[which - plain];
        return 1;
    }
    int32_t unit = hex4(at + 2);
    at += 6;
    if (is_high(unit) && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        is_low(hex4(at + 2))) {
        unit = 0x10000 + ((unit - 0xD800) << 10) + (hex4(at + 2) - 0xDC00);
        at += 6;
    }
    *p = at;
    return pdr__wtf8_encode(out, (uint32_t)unit);
}

size_t pdr__text_decode(char *out, pdr_str inner)
{
    const char *p = inner.ptr, *end = inner.ptr + inner.len;
    char *to = out;

    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((escape != NULL ? escape : end) - p);
        memcpy(to, p, plain);
        to += plain;
        p += plain;
        if (escape != NULL)
            to += decode_escape(to, &p, end);
    }
    return (size_t)(to - out);
}

/* --- comparing ----------------------------------------------------------- */

/* A place in the inside of a string that gives decoded bytes one by one. */
struct decoder {
    const char *p, *end;
    char pending[4]; /* bytes of the last escape that were not given yet */
    size_t pending_len, pending_at;
};

static struct decoder decoder_of(pdr_str inner)
{
    struct decoder d = {inner.ptr, inner.ptr + inner.len, {0}, 0, 0};

    return d;
}

/* The next decoded byte, or -1 at the end. */
static int decoder_next(struct decoder *d)
{
    if (d->pending_at < d->pending_len)
        return (unsigned char)d->pending[d->pending_at++];
    if (d->p == d->end)
        return -1;
    if (*d->p != '\\')
        return (unsigned char)*d->p++;
    d->pending_len = decode_escape(d->pending, &d->p, d->end);
    d->pending_at = 1;
    return (unsigned char)d->pending[0];
}

bool pdr__value_same_text(const pdr_value *a, const pdr_value *b)
{
    pdr_str left = string_inner(a), right = string_inner(b);

    if (((a->info | b->info) & NODE_FLAG) == 0)
        return pdr_str_equal(left, right);
    struct decoder x = decoder_of(left), y = decoder_of(right);
    for (;;) {
        int byte = decoder_next(&x);
        if (byte != decoder_next(&y))
            return false;
        if (byte < 0)
            return true;
    }
}

bool pdr__value_has_text(const pdr_value *string, pdr_str text)
{
    pdr_str inner = string_inner(string);

    if ((string->info & NODE_FLAG) == 0)
        return pdr_str_equal(inner, text);
    struct decoder d = decoder_of(inner);
    for (size_t i = 0; i < text.len; i++)
        if (decoder_next(&d) != (unsigned char)text.ptr[i])
            return false;
    return decoder_next(&d) < 0;
}

bool pdr_value_text_is(const pdr_value *value, pdr_str text)
{
    return value != NULL && node_kind(value) == NODE_STRING &&
           string_is(value, text);
}

/* --- decoding ------------------------------------------------------------ */

pdr_rc pdr__value_name_bytes(pdr_str *out, const pdr_value *string,
                             pdr_buf *scratch, pdr_err *err)
{
    pdr_str inner = string_inner(string);

    if ((string->info & NODE_FLAG) == 0) {
        *out = inner;
        return PDR_OK;
    }
    pdr_buf_clear(scratch);
    pdr_rc rc = pdr_buf_reserve(scratch, inner.len, err);
    if (rc != PDR_OK)
        return rc;
    scratch->len = pdr__text_decode(scratch->ptr, inner);
    *out = pdr_buf_str(scratch);
    return PDR_OK;
}

pdr_rc pdr__value_sound_text(pdr_str *out, const pdr_value *string,
                             pdr_buf *scratch, pdr_err *err)
{
    pdr_rc rc = pdr__value_name_bytes(out, string, scratch, err);

    if (rc != PDR_OK || !pdr_value_has_lone_surrogate(string))
        return rc;
    /* It has an escape, so that the text is in `scratch`. */
    for (size_t i = pdr__utf8_valid_len(*out); i < out->len;) {
        memcpy(scratch->ptr + i, "\xEF\xBF\xBD", 3);
        i += pdr__utf8_valid_len(pdr_str_n(out->ptr + i, out->len - i));
    }
    return PDR_OK;
}

pdr_rc pdr_value_text(pdr_str *out, const pdr_value *value, pdr_buf *scratch,
                      pdr_err *err)
{
    PDR_REQUIRE(out != NULL && value != NULL);
    *out = pdr_str_n(NULL, 0);
    if (node_kind(value) != NODE_STRING)
        return PDR_FAIL(err, WRONG_KIND, "expected a string, found %s",
                        pdr_kind_name(pdr_value_kind(value)));
    if (value->info & NODE_LONE)
        return PDR_FAIL_AT(err, value->start, LONE_SURROGATE,
                           "the string has half a surrogate pair, which has no "
                           "UTF-8 form");
    if ((value->info & NODE_FLAG) && scratch == NULL)
        return PDR_FAIL(err, SCRATCH_NEEDED,
                        "the string has escapes and needs a scratch buffer");
    return pdr__value_name_bytes(out, value, scratch, err);
}

bool pdr_value_has_lone_surrogate(const pdr_value *value)
{
    return value != NULL && node_kind(value) == NODE_STRING &&
           (value->info & NODE_LONE) != 0;
}

/* --- encoding ------------------------------------------------------------ */

/* Is this the first byte of a surrogate in three bytes? */
static bool is_wtf8_surrogate(const char *p, const char *end)
{
    return (unsigned char)p[0] == 0xED && end - p >= 3 &&
           (unsigned char)p[1] >= 0xA0;
}

size_t pdr__text_encode_byte(char out[6], unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[] = "\bb\tt\nn\ff\rr\"\"\\\\";

    for (size_t i = 0; i + 1 < sizeof(letters); i += 2)
        if ((unsigned char)letters[i] == c) {
            out[0] = '\\';
            out[1] = letters[i + 1];
            return 2;
        }
    memcpy(out, "\\u00", 4);
    out[4] = digits[c >> 4];
    out[5] = digits[c & 15];
    return 6;
}

static size_t encode_surrogate(char out[6], const char *p)
{
    static const char digits[] = "0123456789abcdef";
    unsigned unit =
        0xD000u | ((unsigned)p[1] & 0x3Fu) << 6 | ((unsigned)p[2] & 0x3Fu);

    memcpy(out, "\\u", 2);
    for (int i = 0; i < 4; i++)
        out[2 + i] = digits[unit >> (12 - 4 * i) & 15];
    return 6;
}

/* Bytes of other scripts: those that begin no surrogate. */
static bool is_foreign(const char *p, const char *end)
{
    return (unsigned char)*p >= 0x80 && !is_wtf8_surrogate(p, end);
}

pdr_rc pdr__text_encode(pdr_buf *out, pdr_str text, pdr_err *err)
{
    if (text.len == 0)
        return PDR_OK; /* its pointer may be NULL */
    const char *p = text.ptr, *end = text.ptr + text.len;
    while (p < end) {
        char escape[6];
        size_t left = (size_t)(end - p), len = 0;

        pdr_rc rc = pdr__buf_room(out, left, err);
        if (rc != PDR_OK)
            return rc;
        char *to = out->ptr + out->len;
        size_t plain = text_copy_plain_exactly(to, p, left);
        to += plain;
        p += plain;
        while (p < end && is_foreign(p, end))
            *to++ = *p++;
        out->len = (size_t)(to - out->ptr);
        if (p == end || text_is_plain(*p))
            continue;
        if (is_wtf8_surrogate(p, end)) {
            len = encode_surrogate(escape, p);
            p += 3;
        } else {
            len = pdr__text_encode_byte(escape, (unsigned char)*p++);
        }
        rc = pdr_buf_append(out, pdr_str_n(escape, len), err);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}

bool pdr__text_is_ours(pdr_str inner)
{
    const char *p = inner.ptr, *end = inner.ptr + inner.len;

    while (p < end) {
        char meaning[4], ours[6];
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        if (escape == NULL)
            return true;
        p = escape;
        size_t len = decode_escape(meaning, &p, end);
        if (len != 1 || text_is_plain(meaning[0]))
            return false;
        len = pdr__text_encode_byte(ours, (unsigned char)meaning[0]);
        if (len != (size_t)(p - escape) || memcmp(ours, escape, len) != 0)
            return false;
    }
    return true;
}
