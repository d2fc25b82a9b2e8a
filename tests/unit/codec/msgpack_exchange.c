/*
 * msgpack_exchange.c - MessagePack for other programs: native types only.
 */
#include "msgpack_ways.h"
#include "values.h"

#include "base.h"

static pdr_value *read_bare(const char *json)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), &opts, NULL));
    return value;
}

/* What is written, and what the report says of it. */
static void check(const char *expected, const char *json, unsigned flags,
                  uint64_t numbers, uint64_t strings, int line)
{
    pdr_write_report report = {100, 200};
    pdr_write_opts opts = {.flags = PDR_EXCHANGE | flags, .report = &report};
    pdr_value *value = read_bare(json);
    char actual[1000];

    mp_write_hex(actual, sizeof(actual), value, &opts);
    test_assert_text(expected, pdr_str_c(actual), __FILE__, line);
    pdr_value_free(value);
    if (100 + numbers != report.numbers || 200 + strings != report.strings)
        fail_msg("line %d: %s counts %d numbers and %d strings", line, json,
                 (int)report.numbers - 100, (int)report.strings - 200);
}

#define ASSERT_KEEPS(hex, json)       check(hex, json, 0, 0, 0, __LINE__)
#define ASSERT_GIVES_UP(hex, json, n) check(hex, json, 0, n, 0, __LINE__)
#define ASSERT_RESPELLS(hex, json, n) check(hex, json, 0, 0, n, __LINE__)
#define ASSERT_REFUSES(why, json)     check(why, json, 0, 0, 0, __LINE__)

/* --- numbers ------------------------------------------------------------- */

TEST(msgpack_exchange, keeps_what_has_the_native_spelling)
{
    ASSERT_KEEPS("93c0c2c3", "[null,false,true]");
    ASSERT_KEEPS("07", "7");
    ASSERT_KEEPS("d38000000000000000", "-9223372036854775808");
    ASSERT_KEEPS("cf8000000000000000", "9223372036854775808");
    ASSERT_KEEPS("cfffffffffffffffff", "18446744073709551615");
    ASSERT_KEEPS("cb3ff0000000000000", "1.0");
    ASSERT_KEEPS("cb3fb999999999999a", "0.1");
    ASSERT_KEEPS("cb8000000000000000", "-0.0");
    ASSERT_KEEPS("cb4341c37937e08000", "1e+16");
    ASSERT_KEEPS("81a161a40a22c3a9", "{\"a\":\"\\n\\\"\xC3\xA9\"}");
}

/* What a number becomes for other programs, and as we keep it ourselves. The
 * bytes were made by the package msgpack for Python. */
static const struct {
    const char *json, *exchange, *native;
} spellings[] = {
    /* spelled as we would write it */
    {"100", "64", "64"},
    {"1.0", "cb3ff0000000000000", "cb3ff0000000000000"},
    {"0.1", "cb3fb999999999999a", "cb3fb999999999999a"},
    {"-0.0", "cb8000000000000000", "cb8000000000000000"},
    {"1e+16", "cb4341c37937e08000", "cb4341c37937e08000"},
    {"18446744073709551615", "cfffffffffffffffff", "cfffffffffffffffff"},
    /* a point or an exponent: the double whose shortest text has the value */
    {"1e2", "cb4059000000000000", "c70301316532"},
    {"100.00", "cb4059000000000000", "c706013130302e3030"},
    {"-10e-1", "cbbff0000000000000", "c706012d3130652d31"},
    {"1E5", "cb40f86a0000000000", "c70301314535"},
    {"1e16", "cb4341c37937e08000", "d60131653136"},
    {"1e19", "cb43e158e460913d00", "d60131653139"},
    {"1e22", "cb4480f0cf064dd592", "d60131653232"},
    {"1e23", "cb44b52d02c7e14af6", "d60131653233"},
    {"1e30", "cb46293e5939a08cea", "d60131653330"},
    {"1.50", "cb3ff8000000000000", "d601312e3530"},
    {"15e-1", "cb3ff8000000000000", "c705013135652d31"},
    {"5E-324", "cb0000000000000001", "c7060135452d333234"},
    {"0.00", "cb0000000000000000", "d601302e3030"},
    {"-0.00", "cb8000000000000000", "c705012d302e3030"},
    {"18446744073709552e3", "cb43f0000000000000",
     "c7130131383434363734343037333730393535326533"},
    {"17976931348623157e292", "cb7fefffffffffffff",
     "c71501313739373639333133343836323331353765323932"},
    /* no double's shortest text has the value: an integer */
    {"9007199254740993.0", "cf0020000000000001",
     "c71201393030373139393235343734303939332e30"},
    {"9223372036854775807.0", "cf7fffffffffffffff",
     "c71501393232333337323033363835343737353830372e30"},
    {"9223372036854775808.0", "cf8000000000000000",
     "c71501393232333337323033363835343737353830382e30"},
    {"-9223372036854775808.0", "d38000000000000000",
     "c716012d393232333337323033363835343737353830382e30"},
    {"1844674407370955161.5e1", "cfffffffffffffffff",
     "c71701313834343637343430373337303935353136312e356531"},
    /* an integer stays one, but for a zero with a sign */
    {"-0", "cb8000000000000000", "d5012d30"},
    /* no native number has the value */
    {"1E400", "!number_range -1", "c705013145343030"},
    {"18446744073709551616", "!number_range -1",
     "c714013138343436373434303733373039353531363136"},
    {"9007199254740993.5", "!inexact_number -1",
     "c71201393030373139393235343734303939332e35"},
};

TEST(msgpack_exchange, tries_a_double_first_for_a_point_or_an_exponent)
{
    for (size_t i = 0; i < PDR_COUNT(spellings); i++) {
        const char *exchange = spellings[i].exchange;
        const char *native = spellings[i].native;
        pdr_value *value = value_of(spellings[i].json);
        char actual[100];

        ASSERT_GIVES_UP(exchange, spellings[i].json,
                        exchange[0] != '!' && strcmp(exchange, native) != 0);
        mp_write_hex(actual, sizeof(actual), value, NULL);
        ASSERT_STR(native, actual);
        pdr_value_free(value);
    }
    ASSERT_GIVES_UP("93cb3ff0000000000000cb3ff800000000000002", "[1.00,1.50,2]",
                    2);
}

TEST(msgpack_exchange, refuses_numbers_without_native_value)
{
    ASSERT_REFUSES("!number_range -1", "18446744073709551616");
    ASSERT_REFUSES("!number_range -1", "-9223372036854775809");
    ASSERT_REFUSES("!number_range -1", "100000000000000000000");
    ASSERT_REFUSES("!number_range -1 /a/1",
                   "{\"a\":[1,123456789012345678901234567890]}");
    ASSERT_REFUSES("!number_range -1 /a", "{\"a\":1e400}");
    ASSERT_REFUSES("!number_range -1", "-1e400");
    ASSERT_REFUSES("!inexact_number -1",
                   "0.1000000000000000055511151231257827");
    ASSERT_REFUSES("!inexact_number -1", "1.00000000000000000001");
    ASSERT_REFUSES("!inexact_number -1 /0", "[1e-400]");
    ASSERT_REFUSES("!inexact_number -1 /x~1y/z~0",
                   "{\"x/y\":{\"z~\":3.14159265358979323846}}");
    ASSERT_REFUSES("!inexact_number -1", "18446744073709551616.5");
    /* A double has this value, but its shortest text has another one. */
    ASSERT_REFUSES("!inexact_number -1", "18446744073709551616.0");
    ASSERT_REFUSES("!inexact_number -1", "18446744073709551617e0");
}

TEST(msgpack_exchange, counts_nothing_for_a_document_that_is_refused)
{
    ASSERT_REFUSES("!number_range -1 /2", "[1.50,\"\\/\",1e400]");
    ASSERT_REFUSES("!lone_surrogate -1 /1", "[1.50,\"\\ud800\"]");
}

TEST(msgpack_exchange, writes_bare_tokens_when_asked)
{
    ASSERT_REFUSES("!bare_token -1 /0", "[NaN]");
    check("93cb7ff8000000000000cb7ff0000000000000cbfff0000000000000",
          "[NaN,Infinity,-Infinity]", PDR_BARE_TOKENS, 0, 0, __LINE__);
}

/* --- strings ------------------------------------------------------------- */

TEST(msgpack_exchange, gives_up_the_spelling_of_strings)
{
    ASSERT_RESPELLS("a12f", "\"\\/\"", 1);
    ASSERT_RESPELLS("a2c3a9", "\"\\u00e9\"", 1);
    ASSERT_RESPELLS("a4f09f9880", "\"\\ud83d\\ude00\"", 1);
    ASSERT_RESPELLS("a100", "\"\\u0000\"", 0);
    ASSERT_RESPELLS("a11f", "\"\\u001F\"", 1);
    ASSERT_RESPELLS("81a12fa12f", "{\"\\/\":\"\\/\"}", 2);
    ASSERT_RESPELLS("82a16101a162a10a", "{\"a\":1,\"\\u0062\":\"\\n\"}", 1);
}

TEST(msgpack_exchange, refuses_half_a_surrogate_pair)
{
    ASSERT_REFUSES("!lone_surrogate -1", "\"\\ud800\"");
    ASSERT_REFUSES("!lone_surrogate -1 /a/0", "{\"a\":[\"x\\udfff\"]}");
    ASSERT_REFUSES("!lone_surrogate -1 /\\ud800", "{\"\\ud800\":1}");
}

TEST(msgpack_exchange, refuses_names_that_repeat)
{
    ASSERT_REFUSES("!duplicate_name -1 /a", "{\"a\":1,\"b\":2,\"a\":3}");
    ASSERT_REFUSES("!duplicate_name -1 /o/a",
                   "{\"o\":{\"a\":1,\"\\u0061\":2}}");
    ASSERT_REFUSES("!duplicate_name -1 /1/~1", "[1,{\"/\":1,\"\\/\":2}]");
    ASSERT_REFUSES("!duplicate_name -1 /", "{\"\":1,\"\":2}");
    ASSERT_KEEPS("82a16181a16101a16202", "{\"a\":{\"a\":1},\"b\":2}");
}

/* --- values that were changed -------------------------------------------- */

TEST(msgpack_exchange, names_the_place_in_a_changed_value)
{
    pdr_write_opts opts = {.flags = PDR_EXCHANGE};
    pdr_value *object = value_of("{\"a\":[1,2],\"b\":{}}");
    pdr_value *part = value_of("{\"q\":[0,1e400]}");
    char text[100];

    ASSERT_RC(PDR_OK, pdr_value_set(&object, PDR_LIT("n"), part, NULL));
    mp_write_hex(text, sizeof(text), object, &opts);
    ASSERT_STR("!number_range -1 /n/q/1", text);
    pdr_value_free(part);
    pdr_value_free(object);
}

TEST(msgpack_exchange, works_without_report_and_detail)
{
    pdr_write_opts opts = {.flags = PDR_EXCHANGE};
    pdr_value *fine = value_of("[1.50,\"\\/\"]");
    pdr_value *range = value_of("[1e400]"),
              *twice = value_of("{\"a\":1,\"a\":2}");
    pdr_buf out = PDR_BUF_INIT(100);

    ASSERT_RC(PDR_OK,
              pdr_codec_write(&out, pdr_msgpack_codec(), fine, &opts, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_write(&out, pdr_msgpack_codec(), range, &opts, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_write(&out, pdr_msgpack_codec(), twice, &opts, NULL));
    ASSERT_SIZE(12, out.len);
    pdr_buf_dispose(&out);
    pdr_value_free(twice);
    pdr_value_free(range);
    pdr_value_free(fine);
}

TEST_OOM(msgpack_exchange, cleans_up_after_any_failed_allocation)
{
    static const char *const texts[] = {
        "[1.50,{\"a\":\"\\/\",\"\\u0062\":1e2}]", "[{\"a\":[1e400]}]",
        "{\"a\":1,\"\\u0061\":2}", "{\"a\":\"\\ud800\"}"};
    pdr_write_opts opts = {.flags = PDR_EXCHANGE};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *value = NULL;
        pdr_buf out = PDR_BUF_INIT(1000);
        pdr_err err = PDR_ERR_INIT;
        if (pdr_json_read(&value, pdr_str_c(texts[i]), NULL, NULL) != PDR_OK)
            continue;
        pdr_rc rc =
            pdr_codec_write(&out, pdr_msgpack_codec(), value, &opts, &err);
        ASSERT(rc == PDR_ENOMEM || rc == (i == 0 ? PDR_OK : PDR_EINVALID));
        ASSERT((out.len > 0) == (rc == PDR_OK));
        pdr_buf_dispose(&out);
        pdr_value_free(value);
    }
}
