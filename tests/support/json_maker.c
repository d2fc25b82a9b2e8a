/*
 * json_maker.c - see json_maker.h.
 */
#include "json_maker.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_LEVELS   6
#define MAX_CHILDREN 5
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct maker {
    pdr_buf *out;
    uint64_t state;
};

/* splitmix64: every seed gives a good sequence. */
static uint64_t draw(struct maker *m)
{
    uint64_t x = m->state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static size_t below(struct maker *m, size_t n)
{
    return (size_t)(draw(m) % n);
}

/* Without memory there is no test. */
static void put(struct maker *m, const char *text)
{
    if (pdr_buf_append(m->out, pdr_str_c(text), NULL) != PDR_OK)
        abort();
}

static void put_times(struct maker *m, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        put(m, text);
}

/* --- strings ------------------------------------------------------------- */

/* clang-format off */
static const char *const pieces[] = {
    /* what a writer escapes, in each of its spellings */
    "\\\"", "\\u0022", "\\\\", "\\u005c", "\\u005C", "\\/", "/", "\\u002f",
    "\\b", "\\u0008", "\\f", "\\u000c", "\\u000C", "\\n", "\\u000a", "\\u000A",
    "\\r", "\\u000d", "\\r\\n", "\\t", "\\u0009", "\\u0000", "\\u0001",
    "\\u000b", "\\u001f", "\\u001F", "\\u0020", "\\u007f", "\\u007F", "\x7F",
    /* plain text, and the same text escaped */
    "a", "b", "z", "0", "\\u0061", "\\u0041", "A", " ", "  ",
    "\xC3\xA9", "\\u00e9", "\\u00E9", "\\u00Ee",
    "\xF0\x9F\x98\x80", "\\ud83d\\ude00", "\\uD83D\\uDE00", "\\uD83d\\uDe00",
    /* controls and non-characters beyond ASCII */
    "\xC2\x80", "\xC2\x85", "\\u0085", "\xC2\x9F", "\xC2\xA0",
    "\xE2\x80\xA8", "\\u2028", "\xE2\x80\xA9", "\xEF\xBB\xBF", "\\ufeff",
    "\xEF\xBF\xBE", "\xEF\xBF\xBF", "\\uFFFE", "\\uffff", "\xEF\xB7\x90",
    "\xEF\xBF\xBD", "\xEE\x80\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF",
    "\xF0\x90\x80\x80", "\\udbff\\udfff", "\xF0\x9F\xBF\xBE",
    /* halves of pairs */
    "\\ud800", "\\uD800", "\\udfff", "\\uDC00", "\\ude00\\ud83d",
    "\\ud83d\\ud83d\\ude00", "\\uD83Dx\\uDE00",
    /* what means something to a neighbour */
    "<", "&", ">", "]]>", "&amp;", "&#0;", "<!--", "'", "=", ":", "{", "}",
    "[", "]", ",", "\xC3\x81", "\\u00c1", "null", "NaN", "\\\\u0041",
};
/* clang-format on */

static void make_string(struct maker *m)
{
    put(m, "\"");
    for (size_t left = below(m, 6); left > 0; left--)
        put(m, pieces[below(m, COUNT(pieces))]);
    put(m, "\"");
}

/* Few names, so that duplicates are frequent; some differ in spelling only. */
static void make_name(struct maker *m)
{
    static const char *const names[] = {
        "\"a\"",       "\"\\u0061\"",  "\"b\"",       "\"\"",  "\"a b\"",
        "\"\\u00e9\"", "\"\xC3\xA9\"", "\"key\"",     "\"/\"", "\"\\/\"",
        "\"~0\"",      "\"\\u0000\"",  "\"\\ud800\"", "\"1\"", "\"\\n\""};

    if (below(m, 3) == 0)
        make_string(m);
    else
        put(m, names[below(m, COUNT(names))]);
}

/* --- numbers ------------------------------------------------------------- */

/* clang-format off */
static const char *const numbers[] = {
    "0", "-0", "0.0", "-0.0", "0e0", "0E0", "0e-0", "-0e+0", "0.000",
    "1", "-1", "1.0", "1.10", "1.1", "1e2", "1E2", "1e+2", "1E+2", "1e-2",
    "100", "100.0", "1.00e2", "0.1", "0.10", "0.2", "0.3",
    "0.30000000000000004", "0.1000000000000000055511151231257827",
    "3.141592653589793", "3.14159265358979323846264338327950288",
    "127", "128", "-31", "-32", "-33", "-127", "-128", "-129", "255", "256",
    "32767", "32768", "-32768", "-32769", "65535", "65536", "2147483647",
    "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
    "9007199254740991", "9007199254740992", "9007199254740993",
    "-9007199254740993", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "-18446744073709551615",
    "340282366920938463463374607431768211456",
    "1e22", "1e23", "1e21", "123456789012345680000", "1.2345678901234568e+29",
    "5e-324", "4.9e-324", "2.2250738585072014e-308", "2.225073858507201e-308",
    "1.7976931348623157e308", "1.7976931348623157e+308",
    "1.7976931348623159e308", "1e400", "-1e400", "1e-400", "1e1000000000",
    "1e-99999999999999999999", "0e999999999999", "1.5e300", "16777217",
    "0.5", "-0.5", "1e0", "1e00", "1e+00", "1E-00", "12e1", "1.2e1",
};
/* clang-format on */

static void make_digits(struct maker *m, size_t count)
{
    char digit[2] = {0};

    for (size_t i = 0; i < count; i++) {
        digit[0] = (char)('0' + below(m, 10));
        put(m, digit);
    }
}

/* An integer beside a power of two, where widths change. */
static void make_near_power(struct maker *m)
{
    uint64_t power = UINT64_C(1) << below(m, 64);
    char text[32];

    (void)snprintf(text, sizeof(text), "%s%llu", below(m, 2) == 0 ? "-" : "",
                   (unsigned long long)(power - 2 + below(m, 5)));
    put(m, strcmp(text, "-0") == 0 ? "0" : text);
}

/* A double of any bits that is finite, in one of printf's spellings. */
static void make_double(struct maker *m)
{
    static const char *const formats[] = {"%.17g", "%.16g", "%.6g", "%.3e",
                                          "%.1E"};
    uint64_t bits = draw(m);
    double number = 0;
    char text[64];

    memcpy(&number, &bits, sizeof(number));
    if (!(number <= DBL_MAX && number >= -DBL_MAX))
        number = 1.5;
    (void)snprintf(text, sizeof(text), formats[below(m, COUNT(formats))],
                   number);
    put(m, text);
}

static void make_number(struct maker *m)
{
    switch (below(m, 5)) {
    case 0:
        make_near_power(m);
        return;
    case 1:
        make_double(m);
        return;
    case 2:
        put(m, below(m, 2) == 0 ? "-7" : "7");
        make_digits(m, below(m, 40));
        if (below(m, 2) == 0) {
            put(m, ".");
            make_digits(m, 1 + below(m, 40));
        }
        return;
    default:
        put(m, numbers[below(m, COUNT(numbers))]);
    }
}

/* --- values -------------------------------------------------------------- */

static void make_scalar(struct maker *m)
{
    static const char *const words[] = {"null", "true", "false"};

    switch (below(m, 4)) {
    case 0:
        put(m, words[below(m, COUNT(words))]);
        return;
    case 1:
        make_number(m);
        return;
    default:
        make_string(m);
    }
}

static void make_value(struct maker *m, size_t level)
{
    bool object = below(m, 2) == 0;

    if (level == MAX_LEVELS || below(m, level == 0 ? 8 : 2) == 0) {
        if (below(m, 3) == 0)
            make_number(m);
        else
            make_scalar(m);
        return;
    }
    put(m, object ? "{" : "[");
    for (size_t i = 0, count = below(m, MAX_CHILDREN); i < count; i++) {
        put(m, i > 0 ? "," : "");
        if (object) {
            make_name(m);
            put(m, ":");
        }
        make_value(m, level + 1);
    }
    put(m, object ? "}" : "]");
}

void json_make(pdr_buf *out, uint64_t seed)
{
    struct maker m = {out, seed};

    make_value(&m, 0);
}

void json_make_string(pdr_buf *out, uint64_t seed)
{
    struct maker m = {out, seed};

    make_string(&m);
}

void json_make_number(pdr_buf *out, uint64_t seed)
{
    struct maker m = {out, seed};

    make_number(&m);
}

void json_make_deep(pdr_buf *out, size_t depth, bool objects)
{
    struct maker m = {out, 0};

    put_times(&m, objects ? "{\"a\":" : "[", depth);
    put(&m, "null");
    put_times(&m, objects ? "}" : "]", depth);
}

void json_make_wide(pdr_buf *out, size_t count, bool object)
{
    struct maker m = {out, 0};

    put(&m, object ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        char text[48];
        put(&m, i > 0 ? "," : "");
        if (object)
            (void)snprintf(text, sizeof(text), "\"m%zu\":", i);
        put(&m, object ? text : "");
        (void)snprintf(text, sizeof(text), "%zu", i);
        put(&m, text);
    }
    put(&m, object ? "}" : "]");
}

void json_make_long(pdr_buf *out, size_t len)
{
    struct maker m = {out, 0};

    put(&m, "\"");
    put_times(&m, "x", len);
    put(&m, "\"");
}
