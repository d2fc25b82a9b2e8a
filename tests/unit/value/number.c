/* Numbers: grammar, exact integers, exact comparison, integers as text. */
#include "test.h"

#include "number.h"

/* --- grammar ------------------------------------------------------------- */

TEST(number_prefix, is_the_longest_number_of_the_grammar)
{
    static const struct {
        size_t len;
        const char *text;
    } rows[] = {
        {0, ""},         {0, "-"},    {0, "+1"},      {0, ".5"},
        {0, "-.5"},      {0, "x"},    {0, "-x"},      {0, "NaN"},
        {0, "Infinity"}, {0, " 1"},   {1, "0"},       {2, "-0"},
        {1, "01"},       {2, "-01"},  {1, "1."},      {1, "1.x"},
        {1, "1.e5"},     {1, "1e"},   {1, "1e+"},     {1, "1E-x"},
        {3, "1.5e"},     {3, "1.5"},  {3, "0.0"},     {3, "1e5"},
        {4, "1E+5"},     {4, "1e-5"}, {5, "1e-05"},   {9, "-12.34e56"},
        {3, "123,"},     {3, "123]"}, {1, "0x10"},    {3, "1.1.1"},
        {2, "10f"},      {3, "0e0"},  {5, "0.1e1e1"}, {1, "1/"},
        {1, "1:"},       {3, "1.0/"}, {4, "1e00:"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_str text = pdr_str_c(rows[i].text);
        ASSERT_SIZE(rows[i].len, pdr__number_prefix(text));
        ASSERT(pdr__number_is_valid(text) ==
               (text.len > 0 && rows[i].len == text.len));
    }
    ASSERT_SIZE(0, pdr__number_prefix(pdr_str_n(NULL, 0)));
    ASSERT_SIZE(2, pdr__number_prefix(pdr_str_n("123", 2)));
}

TEST(number_bare, tokens_are_known_exactly)
{
    static const struct {
        size_t len;
        const char *text;
    } rows[] = {{3, "NaN"},       {8, "Infinity"},  {9, "-Infinity"},
                {3, "NaNs"},      {8, "Infinity,"}, {0, "nan"},
                {0, "-NaN"},      {0, "Infinit"},   {0, "-Infinit"},
                {0, "+Infinity"}, {0, ""},          {0, "1"},
                {0, "INFINITY"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_str text = pdr_str_c(rows[i].text);
        ASSERT_SIZE(rows[i].len, pdr__number_bare_prefix(text));
        ASSERT(pdr__number_is_bare(text) ==
               (text.len > 0 && rows[i].len == text.len));
    }
    ASSERT(!pdr__number_is_bare(pdr_str_n(NULL, 0)));
}

/* --- integers ------------------------------------------------------------ */

TEST(number_int64, is_exact_however_it_is_spelled)
{
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {0, "-0"},
        {0, "0.0"},
        {0, "-0.000e-5"},
        {0, "0e999999999999"},
        {0, "0e-9999999999999999999999999999999999999"},
        {0, "0.00000000000000000000000000000000000000000"},
        {1, "1"},
        {-1, "-1"},
        {1, "1.0"},
        {1, "100e-2"},
        {1, "1.000000000000000000000000000000"},
        {1, "0.000000000000000000000000000001e30"},
        {1, "10000000000000000000000000000000000000000e-40"},
        {100, "1e2"},
        {100, "1E+2"},
        {-150, "-1.5e2"},
        {1230, "0.0123e5"},
        {999999999999999999, "999999999999999999"},
        {1000000000000000000, "1000000000000000000"},
        {1000000000000000000, "1e18"},
        {9223372036854775807, "9223372036854775807"},
        {9223372036854775807, "9223372036854775807.0"},
        {9223372036854775807, "9.223372036854775807e18"},
        {9223372036854775807, "9.2233720368547758070000000e18"},
        {-9223372036854775807, "-9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
        {INT64_MIN, "-922337203685477580800000e-5"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        int64_t out = 77;
        ASSERT_RC(PDR_OK,
                  pdr__number_int64(&out, pdr_str_c(rows[i].text), NULL));
        ASSERT_INT(rows[i].value, out);
    }
}

TEST(number_uint64, is_exact_up_to_its_last_value)
{
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {0, "-0"},
        {0, "-0.0"},
        {5, "5"},
        {9223372036854775808u, "9223372036854775808"},
        {9999999999999999999u, "9999999999999999999"},
        {10000000000000000000u, "10000000000000000000"},
        {10000000000000000000u, "1e19"},
        {18446744073709551615u, "18446744073709551615"},
        {18446744073709551615u, "18446744073709551615.000"},
        {18446744073709551615u, "1.8446744073709551615e19"},
        {18446744073709551610u, "1844674407370955161e1"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        uint64_t out = 77;
        ASSERT_RC(PDR_OK,
                  pdr__number_uint64(&out, pdr_str_c(rows[i].text), NULL));
        ASSERT(rows[i].value == out);
    }
}

static void check_refused(const char *reason, const char *text, bool is_signed)
{
    int64_t i = 77;
    uint64_t u = 77;
    pdr_err err = PDR_ERR_INIT;

    if (is_signed) {
        ASSERT_RC(PDR_EINVALID, pdr__number_int64(&i, pdr_str_c(text), &err));
        ASSERT_INT(0, i);
    } else {
        ASSERT_RC(PDR_EINVALID, pdr__number_uint64(&u, pdr_str_c(text), &err));
        ASSERT(u == 0);
    }
    ASSERT_STR(reason, err.reason);
    ASSERT(err.message[0] != '\0');
}

TEST(number_integer, refuses_what_has_a_fraction)
{
    static const char *const texts[] = {
        "0.5",
        "1.5",
        "-1.5",
        "1e-1",
        "12e-2",
        "1e-9999999999999999999999",
        "123456789012345678901234567890e-1000",
        "1234567890123456789.5",
        "12345678901234567890.5",
        "123456789012345678901234567890.000000001",
        "NaN",
        "Infinity",
        "-Infinity",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        check_refused("not_integer", texts[i], true);
        check_refused("not_integer", texts[i], false);
    }
}

TEST(number_integer, refuses_what_does_not_fit)
{
    static const char *const both[] = {
        "18446744073709551616",
        "18446744073709551620",
        "1e20",
        "1e400",
        "1e99999999999999999999999999999999999",
        "2e19",
        "99999999999999999999",
        "123456789012345678901",
        "1234567890123456789012345678901234567890",
        "12345678901234567891e1",
        "-1e30",
    };
    static const char *const signed_only[] = {
        "9223372036854775808", "-9223372036854775809", "1e19",
        "18446744073709551615", "-18446744073709551615"};
    static const char *const unsigned_only[] = {"-1", "-1e2",
                                                "-9223372036854775808"};

    for (size_t i = 0; i < PDR_COUNT(both); i++) {
        check_refused("number_range", both[i], true);
        check_refused("number_range", both[i], false);
    }
    for (size_t i = 0; i < PDR_COUNT(signed_only); i++)
        check_refused("number_range", signed_only[i], true);
    for (size_t i = 0; i < PDR_COUNT(unsigned_only); i++)
        check_refused("number_range", unsigned_only[i], false);
}

TEST(number_integer, refuses_what_is_no_number)
{
    static const char *const texts[] = {
        "",    "-",    "+1",   "01",   "1.",        ".1",       "1e",
        "1e+", "1x",   "1.0x", "1e5x", "--1",       "1 ",       " 1",
        "nan", "0x1F", "1_0",  "-01",  "12345678x", "1e12345x", "1.5.5"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        check_refused("bad_number", texts[i], true);
        check_refused("bad_number", texts[i], false);
    }
}

/* A text of `count` times `c` between two others; release with free(). */
static char *long_text(const char *front, char c, size_t count,
                       const char *back)
{
    size_t len = strlen(front);
    char *text = malloc(len + count + strlen(back) + 1);

    assert_non_null(text);
    memcpy(text, front, len);
    memset(text + len, c, count);
    memcpy(text + len + count, back, strlen(back) + 1);
    return text;
}

TEST(number_integer, may_have_a_million_digits)
{
    int64_t out = 0;
    char *text = long_text("1", '0', 1000000, "e-1000000");

    ASSERT_RC(PDR_OK, pdr__number_int64(&out, pdr_str_c(text), NULL));
    ASSERT_INT(1, out);
    free(text);
    text = long_text("0.", '0', 1000000, "42e1000002");
    ASSERT_RC(PDR_OK, pdr__number_int64(&out, pdr_str_c(text), NULL));
    ASSERT_INT(42, out);
    free(text);
    text = long_text("7e", '0', 1000000, "1");
    ASSERT_RC(PDR_OK, pdr__number_int64(&out, pdr_str_c(text), NULL));
    ASSERT_INT(70, out);
    free(text);
    text = long_text("1e", '9', 1000000, "");
    check_refused("number_range", text, true);
    free(text);
}

/* --- comparing ----------------------------------------------------------- */

static void check_order(int expected, const char *a, const char *b)
{
    pdr_str x = pdr_str_c(a), y = pdr_str_c(b);

    ASSERT_INT(expected, pdr__number_compare(x, y));
    ASSERT_INT(-expected, pdr__number_compare(y, x));
    ASSERT(pdr__number_equal_value(x, y) == (expected == 0));
}

TEST(number_compare, finds_equal_values_in_any_spelling)
{
    static const char *const rows[][2] = {
        {"1.10", "1.1"},
        {"1E2", "100"},
        {"-0", "0"},
        {"-0.0e7", "0e-999999999999999999999999"},
        {"0.001", "1e-3"},
        {"123.456e-3", "0.123456"},
        {"1e0000000000000000000000000000000000000005", "100000"},
        {"1e99999999999999999999", "10e99999999999999999998"},
        {"0.1e100000000000000000000", "1e99999999999999999999"},
        {"1e-100000000000000000000", "0.1e-99999999999999999999"},
        {"-1.5e+1", "-15"},
        {"100.001", "1.00001e2"},
        {"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
        {"NaN", "NaN"},
        {"Infinity", "Infinity"},
        {"-Infinity", "-Infinity"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        check_order(0, rows[i][0], rows[i][1]);
}

TEST(number_compare, orders_different_values)
{
    /* Ascending. */
    static const char *const rows[] = {
        "-Infinity",
        "-1e100000000000000000000",
        "-1e99999999999999999999",
        "-2",
        "-1.5",
        "-1.49999999999999999999999999999999",
        "-1e-5",
        "-1e-99999999999999999999",
        "0",
        "1e-100000000000000000000",
        "1e-99999999999999999999",
        "0.1",
        "0.10000000000000000000000000000000001",
        "1",
        "1.01",
        "1.1",
        "9.99",
        "10",
        "101",
        "101.5",
        "110",
        "1e3",
        "12345678901234567890123456789012345678901",
        "12345678901234567890123456789012345678901.5",
        "12345678901234567890123456789012345678902",
        "1e99999999999999999999",
        "1e100000000000000000000",
        "Infinity",
        "NaN",
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        for (size_t k = 0; k < i; k++)
            check_order(1, rows[i], rows[k]);
}

TEST(number_compare, takes_numbers_of_any_length)
{
    char *zeros = long_text("1", '0', 1000000, "");
    char *more = long_text("1", '0', 1000000, ".000001");
    char *exponent = long_text("1e-", '9', 1000000, "");

    check_order(0, zeros, "1e1000000");
    check_order(0, zeros, "1000000e999994");
    check_order(1, more, zeros);
    check_order(1, "1e-99999999", exponent);
    check_order(1, exponent, "0");
    free(exponent);
    free(more);
    free(zeros);
}

/* --- integers as text ---------------------------------------------------- */

TEST(number_write, gives_the_digits_of_an_integer)
{
    char out[PDR__NUMBER_INTEGER_BYTES], expected[32];
    uint64_t power = 1;

    for (int i = 0; i < 20; i++, power *= 10) {
        const uint64_t near[] = {power - 1, power, power + 1, power * 3};
        for (size_t k = 0; k < PDR_COUNT(near); k++) {
            int64_t s = (int64_t)near[k];
            snprintf(expected, sizeof(expected), "%llu",
                     (unsigned long long)near[k]);
            ASSERT_TEXT(expected,
                        pdr_str_n(out, pdr__number_write_uint64(out, near[k])));
            snprintf(expected, sizeof(expected), "%lld", (long long)s);
            ASSERT_TEXT(expected,
                        pdr_str_n(out, pdr__number_write_int64(out, s)));
            snprintf(expected, sizeof(expected), "%lld",
                     (long long)(0 - near[k]));
            s = (int64_t)(0 - near[k]);
            ASSERT_TEXT(expected,
                        pdr_str_n(out, pdr__number_write_int64(out, s)));
        }
    }
    ASSERT_TEXT("18446744073709551615",
                pdr_str_n(out, pdr__number_write_uint64(out, UINT64_MAX)));
    ASSERT_TEXT("-9223372036854775808",
                pdr_str_n(out, pdr__number_write_int64(out, INT64_MIN)));
    ASSERT_TEXT("9223372036854775807",
                pdr_str_n(out, pdr__number_write_int64(out, INT64_MAX)));
}

TEST(number_write, of_an_integer_reads_back)
{
    uint64_t state = 1;
    char out[PDR__NUMBER_INTEGER_BYTES];

    for (int i = 0; i < 100000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t u = state >> (i % 64), u_back = 0;
        int64_t s = (int64_t)(state ^ (state << 7)) >> (i % 64), s_back = 0;
        size_t len = pdr__number_write_uint64(out, u);
        ASSERT_RC(PDR_OK,
                  pdr__number_uint64(&u_back, pdr_str_n(out, len), NULL));
        ASSERT(u == u_back);
        len = pdr__number_write_int64(out, s);
        ASSERT_RC(PDR_OK,
                  pdr__number_int64(&s_back, pdr_str_n(out, len), NULL));
        ASSERT_INT(s, s_back);
    }
}
