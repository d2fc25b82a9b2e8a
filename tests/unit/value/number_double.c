/*
 * Doubles: reading and writing, against CPython (golden files), against glibc
 * and against their own definition; once more in a locale with a decimal comma
 * and in every rounding mode.
 */
#include "test.h"

#include <inttypes.h>
#include <locale.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "number.h"

static uint64_t bits_of(double x)
{
    uint64_t bits = 0;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits)
{
    double x = 0;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* xorshift64*: the same numbers on every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static double random_finite(uint64_t *state)
{
    for (;;) {
        double x = double_of(next_random(state));
        if (x - x == 0)
            return x;
    }
}

/* strtod() of the C locale, whatever the process has set. */
static double reference(const char *text)
{
    static locale_t c;

    if (c == (locale_t)0)
        c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return strtod_l(text, NULL, c);
}

/* --- golden files -------------------------------------------------------- */

static void check_read(uint64_t bits, pdr_str text)
{
    double x = 0;

    ASSERT_RC(PDR_OK, pdr__number_double(&x, text, NULL));
    if (bits != bits_of(x))
        fail_msg("%.*s: expected %016" PRIx64 ", got %016" PRIx64,
                 (int)(text.len < 60 ? text.len : 60), text.ptr, bits,
                 bits_of(x));
}

static void check_range(pdr_str text)
{
    double x = 77;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__number_double(&x, text, &err));
    ASSERT_STR("number_range", err.reason);
    ASSERT(x == 0);
}

/* The next line of a golden file: its first word, and the rest. */
static bool next_line(pdr_str *word, pdr_str *rest, char **p)
{
    char *blank = strchr(*p, ' ');

    if (blank == NULL)
        return false;
    char *end = strchr(blank, '\n');
    assert_non_null(end);
    *word = pdr_str_n(*p, (size_t)(blank - *p));
    *rest = pdr_str_n(blank + 1, (size_t)(end - blank - 1));
    *p = end + 1;
    return true;
}

static void check_golden_read(void)
{
    size_t len = 0, lines = 0;
    char *file = test_read_data("numbers/read.txt", &len), *p = file;
    pdr_str word, text;

    for (; next_line(&word, &text, &p); lines++) {
        if (pdr_str_equal(word, PDR_LIT("range")))
            check_range(text);
        else
            check_read(strtoull(word.ptr, NULL, 16), text);
    }
    free(file);
    ASSERT(lines > 150);
}

static void check_golden_repr(void)
{
    size_t len = 0, lines = 0;
    char *file = test_read_data("numbers/repr.txt", &len), *p = file;
    char out[PDR__NUMBER_DOUBLE_BYTES];
    pdr_str word, text;

    for (; next_line(&word, &text, &p); lines++) {
        uint64_t bits = strtoull(word.ptr, NULL, 16);
        size_t n = pdr__number_write_double(out, double_of(bits));
        ASSERT_BYTES(text, pdr_str_n(out, n));
        check_read(bits, text);
    }
    free(file);
    ASSERT(lines >= 3000);
}

TEST(number_double, is_the_one_that_cpython_reads)
{
    check_golden_read();
}

TEST(number_write_double, is_the_repr_of_cpython)
{
    check_golden_repr();
}

/* --- reading ------------------------------------------------------------- */

TEST(number_double, takes_bare_tokens_as_themselves)
{
    double x = 0;

    ASSERT_RC(PDR_OK, pdr__number_double(&x, PDR_LIT("NaN"), NULL));
    ASSERT(x != x);
    ASSERT_RC(PDR_OK, pdr__number_double(&x, PDR_LIT("Infinity"), NULL));
    ASSERT(bits_of(x) == 0x7FF0000000000000u);
    ASSERT_RC(PDR_OK, pdr__number_double(&x, PDR_LIT("-Infinity"), NULL));
    ASSERT(bits_of(x) == 0xFFF0000000000000u);
}

TEST(number_double, refuses_what_is_no_number)
{
    static const char *const texts[] = {
        "",    "-",   "+1",  "01",    "1.", ".5", "1e",        "1e+",  "1x",
        "1,5", "nan", "inf", "0x1p3", " 1", "1 ", "Infinityx", "1e5.5"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        double x = 77;
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_EINVALID,
                  pdr__number_double(&x, pdr_str_c(texts[i]), &err));
        ASSERT_STR("bad_number", err.reason);
        ASSERT(x == 0);
    }
}

TEST(number_double, sees_a_digit_behind_a_million)
{
    /* The middle of 1 and the next double: 2^-53 has 53 decimals. */
    static const char middle[] =
        "1.00000000000000011102230246251565404236316680"
        "908203125";
    const size_t zeros = 1000000, len = sizeof(middle) - 1;
    char *text = malloc(len + zeros + 1);

    assert_non_null(text);
    memcpy(text, middle, len);
    memset(text + len, '0', zeros);
    check_read(0x3FF0000000000000u, pdr_str_n(text, len + zeros));
    text[len + zeros] = '1';
    check_read(0x3FF0000000000001u, pdr_str_n(text, len + zeros + 1));
    free(text);
}

/* Each digit behind the middle, one by one across the limit of exact digits. */
TEST(number_double, sees_a_digit_around_the_limit_of_exact_digits)
{
    char text[PDR_MAX_EXACT_DIGITS + 40];
    static const char middle[] = "9007199254740993";
    const size_t len = sizeof(middle) - 1;

    memset(text, '0', sizeof(text));
    memcpy(text, middle, len);
    text[len] = '.';
    for (size_t at = PDR_MAX_EXACT_DIGITS - 20; at < sizeof(text); at++) {
        text[at] = '1';
        check_read(0x4340000000000001u, pdr_str_n(text, at + 1));
        text[at] = '0';
        check_read(0x4340000000000000u, pdr_str_n(text, at + 1));
    }
}

/* Digits, perhaps a point, perhaps an exponent. */
static void random_decimal(char out[80], uint64_t *state)
{
    int count = 1 + (int)(next_random(state) % 40);
    int point = (int)(next_random(state) % 44);
    char *p = out;

    if (next_random(state) % 4 == 0)
        *p++ = '-';
    for (int i = 0; i < count; i++) {
        if (i == point && i > 0)
            *p++ = '.';
        uint64_t digit = next_random(state) % 10;
        if (i == 0 && digit == 0)
            digit = 1;
        *p++ = (char)('0' + digit);
    }
    *p = '\0';
    if (next_random(state) % 4 != 0)
        snprintf(p, 8, "e%d", (int)(next_random(state) % 660) - 345);
}

static void check_like_strtod(const char *text)
{
    double expected = reference(text);

    if (expected - expected == 0)
        check_read(bits_of(expected), pdr_str_c(text));
    else
        check_range(pdr_str_c(text));
}

TEST(number_double, is_what_strtod_gives_for_random_decimals)
{
    uint64_t state = 20261115;
    char text[80];

    for (int i = 0; i < 200000; i++) {
        random_decimal(text, &state);
        check_like_strtod(text);
    }
}

/* 16 to 30 digits of a double lie close to it or to a middle beside it. */
TEST(number_double, is_what_strtod_gives_for_digits_of_doubles)
{
    uint64_t state = 4711;
    char text[80];

    for (int i = 0; i < 60000; i++) {
        double x = random_finite(&state);
        snprintf(text, sizeof(text), "%.*e", 15 + i % 15, x);
        check_like_strtod(text);
    }
}

TEST(number_double, rounds_integers_of_64_bits)
{
    uint64_t state = 99;
    char text[32];

    for (int i = 0; i < 50000; i++) {
        uint64_t u = next_random(&state) >> (i % 12);
        u = i % 3 == 0 ? u & ~(uint64_t)0x3FF : u | 0x400; /* ties too */
        snprintf(text, sizeof(text), "%" PRIu64 "%s", u, i % 2 ? ".0" : "");
        check_like_strtod(text);
    }
}

/* --- writing ------------------------------------------------------------- */

static void check_text(const char *expected, double x)
{
    char out[PDR__NUMBER_DOUBLE_BYTES];

    ASSERT_TEXT(expected, pdr_str_n(out, pdr__number_write_double(out, x)));
}

static void check_known_texts(void)
{
    check_text("0.0", 0.0);
    check_text("-0.0", -0.0);
    check_text("1.0", 1.0);
    check_text("-1.5", -1.5);
    check_text("0.1", 0.1);
    check_text("0.0001", 1e-4);
    check_text("1e-05", 1e-5);
    check_text("123456.0", 123456.0);
    check_text("9007199254740992.0", 9007199254740992.0);
    check_text("1e+16", 1e16);
    check_text("1.2345678901234568e+17", 123456789012345678.0);
    check_text("1e+23", 1e23);
    check_text("1e+100", 1e100);
    check_text("5e-324", 5e-324);
    check_text("-2.2250738585072014e-308", -2.2250738585072014e-308);
    check_text("1.7976931348623157e+308", 1.7976931348623157e308);
}

TEST(number_write_double, has_one_canonical_form)
{
    check_known_texts();
}

TEST(number_write_double, names_what_is_not_finite)
{
    check_text("NaN", double_of(0x7FF8000000000000u));
    check_text("NaN", double_of(0xFFF0000000000001u));
    check_text("Infinity", double_of(0x7FF0000000000000u));
    check_text("-Infinity", double_of(0xFFF0000000000000u));
}

static void check_round_trip(double x)
{
    char out[PDR__NUMBER_DOUBLE_BYTES];
    size_t len = pdr__number_write_double(out, x);
    double back = 0;

    if (len > 24 || pdr__number_double(&back, pdr_str_n(out, len), NULL) != 0 ||
        bits_of(back) != bits_of(x))
        fail_msg("%a was written as %.*s", x, (int)len, out);
}

TEST(number_write_double, reads_back_as_the_same_bits)
{
    uint64_t state = 7;

    for (int i = 0; i < 1000000; i++)
        check_round_trip(random_finite(&state));
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next_random(&state);
        check_round_trip(double_of(bits >> (12 + i % 52))); /* subnormal */
        check_round_trip((double)(bits % 1000000) / 100);
    }
    for (uint64_t e = 0; e < 0x7FF; e++)
        for (uint64_t i = 0; i < 6; i++)
            check_round_trip(double_of((e << 52) + i - (e > 0 ? 3 : 0)));
}

/* The significant digits of a text of ours, and how many there are. */
static size_t digits_of(char out[20], pdr_str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len && text.ptr[i] != 'e'; i++)
        if (text.ptr[i] >= '0' && text.ptr[i] <= '9' &&
            (n > 0 || text.ptr[i] != '0'))
            out[n++] = text.ptr[i];
    while (n > 1 && out[n - 1] == '0')
        n--;
    out[n] = '\0';
    return n;
}

/* Does d.ddde+X with these `n` digits, or with the last one raised by one, read
 * back as x? They are the two neighbours of x with so many digits. */
static bool has_text_of(size_t n, double x)
{
    char many[64], text[64];
    long power = 0;

    snprintf(many, sizeof(many), "%.40e", x);
    power = strtol(strchr(many, 'e') + 1, NULL, 10) - (long)n + 1;
    memmove(many + 1, many + 2, 40); /* without the point */
    many[n] = '\0';
    for (unsigned long long i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%llue%ld", strtoull(many, NULL, 10) + i,
                 power);
        if (reference(text) == x)
            return true;
    }
    return false;
}

static void check_shortest(double x)
{
    char out[PDR__NUMBER_DOUBLE_BYTES], ours[20], rounded[64], theirs[20];
    pdr_str text = pdr_str_n(out, pdr__number_write_double(out, x));
    size_t n = digits_of(ours, text);

    if (n > 1 && has_text_of(n - 1, x))
        fail_msg("%.*s is not the shortest", (int)text.len, out);
    /* With so many digits the closest is the rounded one, if it reads back. */
    snprintf(rounded, sizeof(rounded), "%.*e", (int)n - 1, x);
    if (reference(rounded) == x) {
        digits_of(theirs, pdr_str_c(rounded));
        ASSERT_STR(theirs, ours);
    }
}

TEST(number_write_double, is_the_shortest_and_closest)
{
    uint64_t state = 12345;

    for (int i = 0; i < 20000; i++) {
        double x = random_finite(&state);
        check_shortest(x < 0 ? -x : x);
        uint64_t bits = next_random(&state);
        check_shortest(double_of((bits >> (14 + i % 48)) | 1));
        check_shortest((double)(bits % 100000000 + 1) / 1000);
    }
    for (uint64_t e = 1; e < 0x7FF; e++)
        check_shortest(double_of(e << 52));
}

/* --- locale, rounding mode ----------------------------------------------- */

static void check_everything(void)
{
    int64_t integer = 0;

    check_known_texts();
    check_golden_read();
    check_golden_repr();
    ASSERT_RC(PDR_OK, pdr__number_int64(&integer, PDR_LIT("1.5e3"), NULL));
    ASSERT_INT(1500, integer);
    ASSERT_SIZE(0, pdr__number_compare(PDR_LIT("1.10"), PDR_LIT("1.1")));
    ASSERT_SIZE(1, pdr__number_prefix(PDR_LIT("1,5")));
}

TEST(number_locale, with_a_decimal_comma_changes_nothing)
{
    char probe[16];

    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        fail_msg("the locale de_DE.UTF-8 is not installed: run tools/setup");
    snprintf(probe, sizeof(probe), "%.1f", 0.5);
    ASSERT_STR("0,5", probe); /* else this test could not fail */
    check_everything();
    setlocale(LC_ALL, "C");
}

#if defined(__x86_64__)
TEST(number_rounding_mode, changes_nothing)
{
    static const unsigned modes[] = {_MM_ROUND_DOWN, _MM_ROUND_UP,
                                     _MM_ROUND_TOWARD_ZERO};
    volatile double third = 0;

    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        _MM_SET_ROUNDING_MODE(modes[i]);
        third = 1.0;
        third /= 3.0;
        check_everything();
        _MM_SET_ROUNDING_MODE(_MM_ROUND_NEAREST);
        /* The mode was there: 1/3 is rounded up in one of the three only. */
        ASSERT((third > 1.0 / 3.0) == (modes[i] == _MM_ROUND_UP));
    }
}
#endif

/* --- the table ----------------------------------------------------------- */

#define LIMBS 48 /* of 32 bits: 5^342 times 128 bits has 923 */
struct big {
    uint32_t limb[LIMBS];
};

static void big_multiply(struct big *x, uint32_t factor)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        carry += (uint64_t)x->limb[i] * factor;
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    ASSERT(carry == 0);
}

static struct big big_of(uint64_t high, uint64_t low)
{
    struct big x = {{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                     (uint32_t)(high >> 32)}};

    return x;
}

static int big_compare(const struct big *a, const struct big *b)
{
    for (size_t i = LIMBS; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* a * 2^|p| * 5^|p| or a * 2^shift, as the comparison below needs it. */
static struct big big_scaled(struct big a, int fives, int twos)
{
    for (; fives > 0; fives--)
        big_multiply(&a, 5);
    for (; twos >= 16; twos -= 16)
        big_multiply(&a, 1u << 16);
    big_multiply(&a, 1u << twos);
    return a;
}

/* row * 2^e <= 10^p < (row + 1) * 2^e, without division. */
TEST(number_powers, are_the_first_128_bits_of_each)
{
    for (int p = PDR__POW10_FIRST; p <= PDR__POW10_LAST; p++) {
        struct pdr__pow10 row = pdr__pow10_rows[p - PDR__POW10_FIRST];
        int e = pdr__log2_pow10(p) - 127;
        int fives = p < 0 ? -p : 0, twos = e > p ? e - p : 0;
        struct big below = big_scaled(big_of(row.high, row.low), fives, twos);
        uint64_t low = row.low + 1;
        struct big above =
            big_scaled(big_of(row.high + (low == 0), low), fives, twos);
        struct big power =
            big_scaled(big_of(0, 1), p < 0 ? 0 : p, e > p ? 0 : p - e);
        ASSERT(row.high >> 63 == 1);
        int order = big_compare(&below, &power);
        ASSERT(order == 0 || (order < 0 && (p < 0 || p > PDR__POW10_EXACT)));
        ASSERT_INT(1, big_compare(&above, &power));
    }
}

/* --- one or two digits behind the point ----------------------------------- */

/* The text of n hundredths as people write it, without zeros at the end. */
static size_t hundredths_text(char *out, size_t cap, uint64_t n)
{
    int len = snprintf(out, cap, "%llu.%02llu", (unsigned long long)(n / 100),
                       (unsigned long long)(n % 100));

    ASSERT(len > 0 && (size_t)len < cap);
    return (size_t)len - (n % 10 == 0);
}

/* The next double of a positive one, above (1) or below (-1). */
static double neighbour(double x, int side)
{
    uint64_t bits = 0;

    memcpy(&bits, &x, sizeof(bits));
    bits += (uint64_t)(int64_t)side;
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

/* The double nearest to n hundredths has that text, its neighbours have others,
 * and read back as themselves. */
static void check_hundredths(uint64_t n)
{
    char text[40], written[PDR__NUMBER_DOUBLE_BYTES];
    size_t len = hundredths_text(text, sizeof(text), n);
    double x = 0, back = 0;

    ASSERT_RC(PDR_OK, pdr__number_double(&x, pdr_str_n(text, len), NULL));
    size_t got = pdr__number_write_double(written, x);
    ASSERT_BYTES(pdr_str_n(text, len), pdr_str_n(written, got));
    for (int side = -1; side <= 1; side += 2) {
        double next = neighbour(x, side);
        got = pdr__number_write_double(written, next);
        ASSERT(!pdr_str_equal(pdr_str_n(text, len), pdr_str_n(written, got)));
        ASSERT_RC(PDR_OK,
                  pdr__number_double(&back, pdr_str_n(written, got), NULL));
        ASSERT(memcmp(&back, &next, sizeof(back)) == 0);
    }
}

TEST(number_write_double, has_one_or_two_digits_where_these_are_enough)
{
    uint64_t seed = 12345;

    for (uint64_t n = 1; n < 100000; n++)
        if (n % 100 != 0)
            check_hundredths(n);
    for (int i = 0; i < 200000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t n = seed >> (12 + i % 50);
        if (n % 100 != 0 && n < UINT64_C(1) << 51)
            check_hundredths(n);
    }
    /* Around powers of two the neighbours below are nearer. */
    for (int power = 0; power < 44; power++)
        for (uint64_t n = 1; n < 100; n++)
            check_hundredths((UINT64_C(100) << power) + n);
}
