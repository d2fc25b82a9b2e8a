/*
 * msgpack_write.c - values to MessagePack, byte by byte.
 */
#include "msgpack_ways.h"
#include "values.h"

#include "base.h"

/* A value whose JSON may have bare tokens. */
static pdr_value *bare_value(const char *json)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), &opts, NULL));
    return value;
}

/* Written so, and read back as the same text. */
static void check(const char *hex, const char *json, int line)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = bare_value(json);
    pdr_buf bytes = PDR_BUF_INIT(1u << 20), expected = PDR_BUF_INIT(1u << 20);

    mp_hex(&expected, hex);
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&bytes, pdr_msgpack_codec(), value, &opts, NULL));
    test_assert_bytes(pdr_buf_str(&expected), pdr_buf_str(&bytes), __FILE__,
                      line);
    mp_assert_text(json, mp_read(pdr_buf_str(&bytes), &mp_bare_tokens),
                   __FILE__, line);
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&expected);
    pdr_value_free(value);
}

#define ASSERT_WRITES(hex, json) check(hex, json, __LINE__)

/* --- scalars ------------------------------------------------------------- */

TEST(msgpack_write, gives_each_kind_its_bytes)
{
    ASSERT_WRITES("c0", "null");
    ASSERT_WRITES("c2", "false");
    ASSERT_WRITES("c3", "true");
    ASSERT_WRITES("a0", "\"\"");
    ASSERT_WRITES("90", "[]");
    ASSERT_WRITES("80", "{}");
    ASSERT_WRITES("93 c0 c2 c3", "[null,false,true]");
    ASSERT_WRITES("82 a161 91 01 a162 80", "{\"a\":[1],\"b\":{}}");
}

TEST(msgpack_write, gives_integers_the_shortest_form)
{
    static const char *const cases[][2] = {
        {"00", "0"},
        {"7f", "127"},
        {"cc80", "128"},
        {"ccff", "255"},
        {"cd0100", "256"},
        {"cdffff", "65535"},
        {"ce00010000", "65536"},
        {"ceffffffff", "4294967295"},
        {"cf0000000100000000", "4294967296"},
        {"cf0de0b6b3a763ffff", "999999999999999999"},
        {"cf0de0b6b3a7640000", "1000000000000000000"},
        {"cf7fffffffffffffff", "9223372036854775807"},
        {"cf8000000000000000", "9223372036854775808"},
        {"cfffffffffffffffff", "18446744073709551615"},
        {"ff", "-1"},
        {"e0", "-32"},
        {"d0df", "-33"},
        {"d080", "-128"},
        {"d1ff7f", "-129"},
        {"d18000", "-32768"},
        {"d2ffff7fff", "-32769"},
        {"d280000000", "-2147483648"},
        {"d3ffffffff7fffffff", "-2147483649"},
        {"d38000000000000000", "-9223372036854775808"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++)
        ASSERT_WRITES(cases[i][0], cases[i][1]);
}

TEST(msgpack_write, gives_doubles_that_are_spelled_as_we_would)
{
    static const char *const cases[][2] = {
        {"cb3ff0000000000000", "1.0"},
        {"cb3fb999999999999a", "0.1"},
        {"cb3ff8000000000000", "1.5"},
        {"cb8000000000000000", "-0.0"},
        {"cb0000000000000000", "0.0"},
        {"cb4341c37937e08000", "1e+16"},
        {"cb430c6bf526340000", "1000000000000000.0"},
        {"cb0000000000000001", "5e-324"},
        {"cb7fefffffffffffff", "1.7976931348623157e+308"},
        {"cb3fd5555555555555", "0.3333333333333333"},
        {"cb3ee4f8b588e368f1", "1e-05"},
        {"cb7ff8000000000000", "NaN"},
        {"cb7ff0000000000000", "Infinity"},
        {"cbfff0000000000000", "-Infinity"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++)
        ASSERT_WRITES(cases[i][0], cases[i][1]);
}

/* The spelling would be lost: extension 1 with the text. */
TEST(msgpack_write, keeps_other_spellings_of_numbers)
{
    static const char *const texts[] = {
        "-0",
        "1.50",
        "1e2",
        "1E5",
        "1e16",
        "1.0e+16",
        "10000000000000000.0",
        "0.10",
        "1e-5",
        "0.00001",
        "-0e0",
        "0e0",
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "-1e400",
        "1e-400",
        "0.1000000000000000055511151231257827",
        "123456789012345678901234567890",
        "3.0000000000000000",
        "100e-2",
        "1.7976931348623157e308",
        "1.7976931348623159e+308",
        "2.5E-1",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_buf hex = PDR_BUF_INIT(1000);
        size_t len = strlen(texts[i]);
        bool fixed = len == 1 || len == 2 || len == 4 || len == 8 || len == 16;
        unsigned form = 0;
        while (fixed && len > (size_t)1 << form)
            form++;
        if (fixed)
            ASSERT_RC(PDR_OK,
                      pdr_buf_printf(&hex, NULL, "%02x01", 0xD4 + form));
        else
            ASSERT_RC(PDR_OK,
                      pdr_buf_printf(&hex, NULL, "c7%02x01", (unsigned)len));
        for (size_t k = 0; k < len; k++)
            ASSERT_RC(PDR_OK, pdr_buf_printf(&hex, NULL, "%02x", texts[i][k]));
        mp_byte(&hex, 0);
        ASSERT_WRITES(hex.ptr, texts[i]);
        pdr_buf_dispose(&hex);
    }
}

/* --- strings ------------------------------------------------------------- */

TEST(msgpack_write, gives_strings_that_are_spelled_as_we_would)
{
    ASSERT_WRITES("a3 c3a961", "\"\xC3\xA9\x61\"");
    ASSERT_WRITES("a7 08090a0c0d225c", "\"\\b\\t\\n\\f\\r\\\"\\\\\"");
    ASSERT_WRITES("a3 001f7f", "\"\\u0000\\u001f\x7F\"");
    ASSERT_WRITES("81 a10a a10a", "{\"\\n\":\"\\n\"}");
    ASSERT_WRITES("a4 f09f9880", "\"\xF0\x9F\x98\x80\"");
}

TEST(msgpack_write, keeps_other_spellings_of_strings)
{
    ASSERT_WRITES("d5 02 5c2f", "\"\\/\"");
    ASSERT_WRITES("c7 06 02 5c7530306539", "\"\\u00e9\"");
    ASSERT_WRITES("c7 06 02 5c7530303431", "\"\\u0041\"");
    ASSERT_WRITES("c7 06 02 5c7530303146", "\"\\u001F\"");
    ASSERT_WRITES("c7 06 02 5c7530303061", "\"\\u000a\"");
    ASSERT_WRITES("c7 06 02 5c7530303232", "\"\\u0022\"");
    ASSERT_WRITES("c7 06 02 5c7564383030", "\"\\ud800\"");
    ASSERT_WRITES("c7 06 02 5c7564633030", "\"\\udc00\"");
    ASSERT_WRITES("c7 0c 02 5c75643833645c7564653030", "\"\\ud83d\\ude00\"");
    ASSERT_WRITES("d6 02 5c6e5c2f", "\"\\n\\/\"");
    ASSERT_WRITES("81 d5 02 5c2f d5 02 5c2f", "{\"\\/\":\"\\/\"}");
    ASSERT_WRITES("83 a161 01 a162 02 a161 03", "{\"a\":1,\"b\":2,\"a\":3}");
}

/* --- lengths ------------------------------------------------------------- */

/* A string of `len` bytes, plain or raw. */
static void check_string(size_t len, const char *head, bool raw)
{
    pdr_buf json = PDR_BUF_INIT(1u << 20), bytes = PDR_BUF_INIT(1u << 20);
    pdr_buf expected = PDR_BUF_INIT(1u << 20);
    pdr_value *value = NULL;

    mp_hex(&expected, head);
    mp_byte(&json, '"');
    for (pdr_buf *buf = &json; buf != NULL;
         buf = buf == &json ? &expected : NULL) {
        if (raw)
            mp_hex(buf, "5c2f");
        mp_bytes(buf, 't', raw ? len - 2 : len);
    }
    mp_byte(&json, '"');
    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_buf_str(&json), NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&bytes, pdr_msgpack_codec(), value, NULL, NULL));
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&bytes));
    pdr_value_free(value);
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&json);
}

TEST(msgpack_write, gives_strings_the_shortest_head)
{
    check_string(1, "a1", false);
    check_string(31, "bf", false);
    check_string(32, "d9 20", false);
    check_string(255, "d9 ff", false);
    check_string(256, "da 0100", false);
    check_string(65535, "da ffff", false);
    check_string(65536, "db 00010000", false);
}

TEST(msgpack_write, gives_extensions_the_shortest_head)
{
    check_string(2, "d5 02", true);
    check_string(3, "c7 03 02", true);
    check_string(4, "d6 02", true);
    check_string(8, "d7 02", true);
    check_string(15, "c7 0f 02", true);
    check_string(16, "d8 02", true);
    check_string(17, "c7 11 02", true);
    check_string(32, "c7 20 02", true);
    check_string(255, "c7 ff 02", true);
    check_string(256, "c8 0100 02", true);
    check_string(65535, "c8 ffff 02", true);
    check_string(65536, "c9 00010000 02", true);
}

static void check_container(size_t count, bool object, const char *head)
{
    pdr_buf json = PDR_BUF_INIT(1u << 21), bytes = PDR_BUF_INIT(1u << 20);
    pdr_buf expected = PDR_BUF_INIT(1u << 20);
    pdr_value *value = NULL;

    mp_hex(&expected, head);
    mp_byte(&json, object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        mp_hex(&json, object ? "22 22 3a 37 2c" : "37 2c");
        mp_hex(&expected, object ? "a0 07" : "07");
    }
    json.len -= count > 0;
    mp_byte(&json, object ? '}' : ']');
    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_buf_str(&json), NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&bytes, pdr_msgpack_codec(), value, NULL, NULL));
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&bytes));
    pdr_value_free(value);
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&json);
}

TEST(msgpack_write, gives_containers_the_shortest_head)
{
    check_container(0, false, "90");
    check_container(15, false, "9f");
    check_container(16, false, "dc 0010");
    check_container(65535, false, "dc ffff");
    check_container(65536, false, "dd 00010000");
    check_container(0, true, "80");
    check_container(15, true, "8f");
    check_container(16, true, "de 0010");
    check_container(65535, true, "de ffff");
    check_container(65536, true, "df 00010000");
}

/* --- values that were changed, parts, layouts ---------------------------- */

/* The same bytes as those of its compact copy; takes the value. */
static void check_changed(pdr_value *value, const char *json)
{
    pdr_value *copy = pdr_value_ref(value);
    pdr_buf before = PDR_BUF_INIT(10000), after = PDR_BUF_INIT(10000);

    ASSERT_JSON(json, value);
    ASSERT_RC(PDR_OK, pdr_value_compact(&copy, NULL));
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&before, pdr_msgpack_codec(), value, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&after, pdr_msgpack_codec(), copy, NULL, NULL));
    ASSERT_BYTES(pdr_buf_str(&after), pdr_buf_str(&before));
    mp_assert_text(json, mp_read(pdr_buf_str(&before), NULL), __FILE__,
                   __LINE__);
    pdr_buf_dispose(&before);
    pdr_buf_dispose(&after);
    pdr_value_free(copy);
    pdr_value_free(value);
}

TEST(msgpack_write, writes_changed_values_as_their_compact_copies)
{
    pdr_value *object =
        value_of("{\"a\" : 1.50, \"\\/\": [ 1, {\"k\":\"\\n\"}]}");
    pdr_value *array = value_of("[1, \"\\u0041\", {\"z\": []}]");
    pdr_value *part = value_of(" {\"q\": [1e2, \"\xC3\xA9\"]} ");
    pdr_value *inner = NULL;

    ASSERT_RC(PDR_OK, pdr_value_set(&object, PDR_LIT("new\n"), part, NULL));
    ASSERT_RC(PDR_OK, pdr_value_remove(&object, PDR_LIT("a"), NULL));
    ASSERT_RC(PDR_OK, pdr_value_append(&array, part, NULL));
    ASSERT_RC(PDR_OK, pdr_value_insert(&array, 0, object, NULL));
    ASSERT_RC(PDR_OK, pdr_value_erase(&array, 1, NULL));
    inner = pdr_value_ref(pdr_value_at(array, 2));
    ASSERT_RC(PDR_OK, pdr_value_set(&inner, PDR_LIT("y"), part, NULL));
    ASSERT_RC(PDR_OK, pdr_value_replace(&array, 2, inner, NULL));
    check_changed(object, "{\"\\/\":[1,{\"k\":\"\\n\"}],\"new\\n\":{\"q\":[1e2,"
                          "\"\xC3\xA9\"]}}");
    check_changed(array,
                  "[{\"\\/\":[1,{\"k\":\"\\n\"}],\"new\\n\":{\"q\":[1e2,"
                  "\"\xC3\xA9\"]}},\"\\u0041\",{\"z\":[],\"y\":{\"q\":[1e2,"
                  "\"\xC3\xA9\"]}},{\"q\":[1e2,\"\xC3\xA9\"]}]");
    pdr_value_free(inner);
    pdr_value_free(part);
}

TEST(msgpack_write, grows_a_container_over_the_borders_of_its_head)
{
    pdr_value *array = pdr_value_new_array(), *seven = number_of(7);
    char hex[100];

    for (int i = 0; i < 17; i++)
        ASSERT_RC(PDR_OK, pdr_value_append(&array, seven, NULL));
    mp_write_hex(hex, sizeof(hex), array, NULL);
    ASSERT_STR("dc00110707070707070707070707070707070707", hex);
    ASSERT_RC(PDR_OK, pdr_value_erase(&array, 0, NULL));
    ASSERT_RC(PDR_OK, pdr_value_erase(&array, 0, NULL));
    mp_write_hex(hex, sizeof(hex), array, NULL);
    ASSERT_STR("9f070707070707070707070707070707", hex);
    pdr_value_free(seven);
    pdr_value_free(array);
}

TEST(msgpack_write, writes_parts_and_values_with_white_space)
{
    pdr_value *value = value_of("\n[ {\"a\" : [ 1 , \"b\" ] } , 2 ]\n");
    char hex[100];

    mp_write_hex(hex, sizeof(hex), value, NULL);
    ASSERT_STR("9281a1619201a16202", hex);
    mp_write_hex(hex, sizeof(hex), pdr_value_at(value, 0), NULL);
    ASSERT_STR("81a1619201a162", hex);
    mp_write_hex(
        hex, sizeof(hex),
        pdr_value_at(pdr_value_get(pdr_value_at(value, 0), PDR_LIT("a")), 1),
        NULL);
    ASSERT_STR("a162", hex);
    pdr_value_free(value);
}

/* Strings near the end of the text are copied with care. */
TEST(msgpack_write, copies_no_byte_behind_the_text)
{
    for (size_t len = 0; len < 70; len++)
        for (size_t behind = 0; behind < 3; behind++) {
            pdr_buf json = PDR_BUF_INIT(1000);
            pdr_value *value = NULL;
            char hex[400];
            mp_hex(&json, "5b 22");
            mp_bytes(&json, 'm', len);
            mp_byte(&json, '"');
            for (size_t i = 0; i < behind; i++)
                mp_hex(&json, "2c 22 22");
            mp_byte(&json, ']');
            ASSERT_RC(PDR_OK,
                      pdr_json_read(&value, pdr_buf_str(&json), NULL, NULL));
            mp_write_hex(hex, sizeof(hex), value, NULL);
            ASSERT_SIZE(2 * (1 + (len < 32 ? 1u : 2u) + len + behind),
                        strlen(hex));
            pdr_value_free(value);
            pdr_buf_dispose(&json);
        }
}

/* --- refusals ------------------------------------------------------------ */

TEST(msgpack_write, refuses_bare_tokens_unless_asked)
{
    pdr_value *value = bare_value("{\"a\":[1,{\"b/c\":NaN}]}");
    pdr_value *alone = bare_value("-Infinity");
    pdr_buf out = PDR_BUF_INIT(100);
    char text[100];

    mp_write_hex(text, sizeof(text), value, NULL);
    ASSERT_STR("!bare_token -1 /a/1/b~1c", text);
    mp_write_hex(text, sizeof(text), alone, NULL);
    ASSERT_STR("!bare_token -1", text);
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_write(&out, pdr_msgpack_codec(), alone, NULL, NULL));
    pdr_value_free(alone);
    pdr_value_free(value);
    pdr_buf_dispose(&out);
}

TEST(msgpack_write, leaves_the_buffer_as_it_was_when_it_fails)
{
    pdr_value *value = bare_value("[1,2,3,\"four\",NaN]");
    pdr_buf out = PDR_BUF_INIT(100);

    mp_hex(&out, "aabb");
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_write(&out, pdr_msgpack_codec(), value, NULL, NULL));
    ASSERT_BYTES(PDR_LIT("\xAA\xBB"), pdr_buf_str(&out));
    pdr_value_free(value);
    pdr_buf_dispose(&out);
}

/* The ceiling of a buffer counts what is written, not what is reserved. */
TEST(msgpack_write, fills_a_buffer_to_its_last_byte)
{
    static const char *const texts[] = {
        "null", "[1,2,3]", "\"twelve bytes\"", "1.50",
        "{\"name\":\"a string that is longer than a short one is\"}"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *value = value_of(texts[i]);
        pdr_buf all = PDR_BUF_INIT(1000);
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_OK, pdr_codec_write(&all, pdr_msgpack_codec(), value,
                                          NULL, NULL));
        for (size_t max = 0; max <= all.len; max++) {
            pdr_buf out = PDR_BUF_INIT(max);
            pdr_rc rc =
                pdr_codec_write(&out, pdr_msgpack_codec(), value, NULL, &err);
            ASSERT_RC(max < all.len ? PDR_ELIMIT : PDR_OK, rc);
            ASSERT_SIZE(max < all.len ? 0 : max, out.len);
            ASSERT(out.cap <= max && out.max == max);
            pdr_buf_dispose(&out);
        }
        ASSERT_STR("buffer_full", err.reason);
        pdr_buf_dispose(&all);
        pdr_value_free(value);
    }
}

TEST(msgpack_write, takes_only_the_options_that_it_knows)
{
    static const unsigned others[] = {PDR_TRAILING, PDR_SEQUENCE, PDR_RECORDS,
                                      1u << 20};
    pdr_value *value = value_of("1");
    pdr_buf out = PDR_BUF_INIT(100);
    pdr_write_opts opts = {.layout = PDR_PRETTY, .indent = 17};

    for (size_t i = 0; i < PDR_COUNT(others); i++) {
        pdr_write_opts flagged = {.flags = others[i]};
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_EMISUSE, pdr_codec_write(&out, pdr_msgpack_codec(), value,
                                               &flagged, &err));
        ASSERT_STR("bad_option", err.reason);
    }
    ASSERT_RC(PDR_EMISUSE,
              pdr_codec_write(&out, pdr_msgpack_codec(), value, &opts, NULL));
    opts.indent = 4;
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&out, pdr_msgpack_codec(), value, &opts, NULL));
    ASSERT_BYTES(PDR_LIT("\x01"), pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    pdr_value_free(value);
}

/* --- piece by piece ------------------------------------------------------ */

static pdr_rc collect(pdr_str bytes, pdr_err *err, void *arg)
{
    return pdr_buf_append(arg, bytes, err);
}

/* Events: `{` `[` `]` (an end), `n` name "k", `s` scalar, `w` whole value,
 * `f` finish. */
static pdr_rc put_event(pdr_writer *writer, char event, const pdr_value *name,
                        const pdr_value *scalar, const pdr_value *whole,
                        pdr_err *err)
{
    switch (event) {
    case '{':
        return pdr_writer_put(writer, PDR_BEGIN_OBJECT, NULL, err);
    case '[':
        return pdr_writer_put(writer, PDR_BEGIN_ARRAY, NULL, err);
    case ']':
        return pdr_writer_put(writer, PDR_END, NULL, err);
    case 'n':
        return pdr_writer_put(writer, PDR_NAME, name, err);
    case 's':
        return pdr_writer_put(writer, PDR_SCALAR, scalar, err);
    case 'w':
        return pdr_writer_put(writer, PDR_SCALAR, whole, err);
    default:
        return pdr_writer_finish(writer, err);
    }
}

/* The bytes of these events as text, or the verdict. */
static void write_events(char out[200], const char *events, unsigned flags,
                         pdr_write_report *report)
{
    pdr_write_opts opts = {.flags = flags, .report = report};
    pdr_value *name = value_of("\"k\""), *scalar = value_of("1.50");
    pdr_value *whole = value_of("[ 1, {\"\\/\": 2} ]");
    pdr_buf bytes = PDR_BUF_INIT(1000);
    pdr_writer *writer = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    ASSERT_RC(PDR_OK, pdr_writer_new(&writer, pdr_msgpack_codec(), &opts, NULL,
                                     collect, &bytes));
    for (; *events != '\0' && rc == PDR_OK; events++)
        rc = put_event(writer, *events, name, scalar, whole, &err);
    out[0] = '\0';
    for (size_t i = 0; i < bytes.len; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned char)bytes.ptr[i]);
    if (rc != PDR_OK)
        mp_verdict(out, 200, &err);
    pdr_writer_free(writer);
    pdr_buf_dispose(&bytes);
    pdr_value_free(whole);
    pdr_value_free(scalar);
    pdr_value_free(name);
}

static void check_events(const char *expected, const char *events,
                         unsigned flags)
{
    char actual[200];

    write_events(actual, events, flags, NULL);
    ASSERT_STR(expected, actual);
}

TEST(msgpack_writer, writes_a_document_in_pieces)
{
    check_events("80", "{]f", 0);
    check_events("d601312e3530", "sf", 0);
    check_events("920181d5025c2f02", "wf", 0);
    check_events("82a16b91d601312e3530a16b920181d5025c2f02", "{n[s]nw]f", 0);
    check_events("", "{ns", 0); /* kept until its end */
    check_events("!writer_order -1", "f", 0);
    check_events("!writer_order -1", "sfs", 0);
}

TEST(msgpack_writer, writes_sequences_and_records)
{
    check_events("", "f", PDR_SEQUENCE);
    check_events("d601312e353080920181d5025c2f02", "s{]wf", PDR_SEQUENCE);
    check_events("", "f", PDR_RECORDS);
    check_events("00000006d601312e3530000000018000000008920181d5025c2f02",
                 "s{]wf", PDR_RECORDS);
    check_events("00000001800000000190", "{][]f", PDR_RECORDS | PDR_SEQUENCE);
}

TEST(msgpack_writer, writes_for_exchange_and_counts_all_documents)
{
    pdr_write_report report = {10, 20};
    char actual[200];

    write_events(actual, "s[sw]f", PDR_EXCHANGE | PDR_SEQUENCE, &report);
    ASSERT_STR("cb3ff8000000000000"
               "92cb3ff8000000000000920181a12f02",
               actual);
    ASSERT_INT(12, report.numbers);
    ASSERT_INT(21, report.strings);
    write_events(actual, "{nsns]f", PDR_EXCHANGE, &report);
    ASSERT_STR("!duplicate_name -1 /k", actual);
    ASSERT_INT(12, report.numbers);
}

/* A record that a reader takes, and one that has a byte too many. */
TEST(msgpack_writer, refuses_a_record_that_no_reader_takes)
{
    const size_t around = strlen("\"\\/\""), head = 1 + 2 + 5;

    for (size_t more = 0; more < 2; more++) {
        size_t len = PDR_MAX_RECORD_BYTES - head + more;
        pdr_buf json = PDR_BUF_INIT(SIZE_MAX), bytes = PDR_BUF_INIT(SIZE_MAX);
        pdr_write_report report = {0, 0};
        pdr_write_opts opts = {.flags = PDR_RECORDS | PDR_EXCHANGE,
                               .report = &report};
        pdr_writer *writer = NULL;
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_buf_reserve(&json, len + around + 5, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&json, pdr_str_c("[\"\\/\",\""), NULL));
        memset(json.ptr + json.len, 'x', len);
        json.len += len;
        ASSERT_RC(PDR_OK, pdr_buf_append(&json, pdr_str_c("\"]"), NULL));
        ASSERT_RC(PDR_OK, pdr_json_read_take(&value, &json, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_writer_new(&writer, pdr_msgpack_codec(), &opts,
                                         NULL, collect, &bytes));
        ASSERT_RC(more == 0 ? PDR_OK : PDR_ELIMIT,
                  pdr_writer_put(writer, PDR_SCALAR, value, &err));
        ASSERT_STR(more == 0 ? "" : "too_large", err.reason);
        ASSERT_INT(more == 0 ? 1 : 0, report.strings);
        ASSERT_SIZE(more == 0 ? PDR_MAX_RECORD_BYTES + 4 : 0, bytes.len);
        pdr_writer_free(writer);
        pdr_value_free(value);
        pdr_buf_dispose(&bytes);
    }
}

TEST(msgpack_writer, passes_on_what_the_stream_says)
{
    pdr_buf full = PDR_BUF_INIT(0);
    pdr_value *value = value_of("[1,2]");
    pdr_writer *writer = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_writer_new(&writer, pdr_msgpack_codec(), NULL, NULL,
                                     collect, &full));
    ASSERT_RC(PDR_OK, pdr_writer_put(writer, PDR_SCALAR, value, NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_writer_finish(writer, &err));
    ASSERT_STR("buffer_full", err.reason);
    pdr_writer_free(writer);
    pdr_value_free(value);
}

TEST(msgpack_writer, hands_out_much_before_the_end)
{
    pdr_buf bytes = PDR_BUF_INIT(1u << 20), text = PDR_BUF_INIT(1u << 20);
    pdr_write_opts opts = {.flags = PDR_SEQUENCE};
    pdr_writer *writer = NULL;
    pdr_value *value = NULL;

    mp_bytes(&text, 'l', 100000);
    ASSERT_RC(PDR_OK, pdr_value_new_string(&value, pdr_buf_str(&text), NULL));
    ASSERT_RC(PDR_OK, pdr_writer_new(&writer, pdr_msgpack_codec(), &opts, NULL,
                                     collect, &bytes));
    ASSERT_RC(PDR_OK, pdr_writer_put(writer, PDR_SCALAR, value, NULL));
    ASSERT_SIZE(100005, bytes.len);
    pdr_writer_free(writer);
    pdr_value_free(value);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&bytes);
}

TEST(msgpack_writer, refuses_a_record_of_more_than_64_mib)
{
    for (size_t extra = 0; extra < 2; extra++) {
        pdr_write_opts opts = {.flags = PDR_RECORDS};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), bytes = PDR_BUF_INIT(SIZE_MAX);
        pdr_writer *writer = NULL;
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        mp_byte(&text, '"');
        mp_bytes(&text, 'r', 64u * 1024u * 1024u - 5 + extra);
        mp_byte(&text, '"');
        ASSERT_RC(PDR_OK, pdr_json_read_take(&value, &text, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_writer_new(&writer, pdr_msgpack_codec(), &opts,
                                         NULL, collect, &bytes));
        pdr_rc rc = pdr_writer_put(writer, PDR_SCALAR, value, &err);
        ASSERT_RC(extra == 0 ? PDR_OK : PDR_ELIMIT, rc);
        if (extra > 0)
            ASSERT_STR("too_large", err.reason);
        ASSERT_SIZE(extra == 0 ? 64u * 1024u * 1024u + 4 : 0, bytes.len);
        pdr_writer_free(writer);
        pdr_value_free(value);
        pdr_buf_dispose(&bytes);
        pdr_buf_dispose(&text);
    }
}

/* --- memory -------------------------------------------------------------- */

static const char sample[] =
    "{\"a\":[1.50,\"\\n\",\"\\/\",123456789012345678901234567890],"
    "\"b\":\"a string of more than thirty-two bytes, to be copied\"}";

TEST_OOM(msgpack_write, cleans_up_after_any_failed_allocation)
{
    pdr_value *value = NULL;
    pdr_buf out = PDR_BUF_INIT(1000);

    if (pdr_json_read(&value, pdr_str_c(sample), NULL, NULL) != PDR_OK)
        return;
    pdr_rc rc = pdr_codec_write(&out, pdr_msgpack_codec(), value, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out.len > 0) == (rc == PDR_OK));
    pdr_buf_dispose(&out);
    pdr_value_free(value);
}

TEST_OOM(msgpack_writer, cleans_up_after_any_failed_allocation)
{
    pdr_write_opts opts = {.flags = PDR_RECORDS};
    pdr_value *value = NULL;
    pdr_writer *writer = NULL;
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(sample), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_writer_new(&writer, pdr_msgpack_codec(), &opts, NULL, collect,
                            &out);
    if (rc == PDR_OK)
        rc = pdr_writer_put(writer, PDR_BEGIN_ARRAY, NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_writer_put(writer, PDR_SCALAR, value, NULL);
    if (rc == PDR_OK)
        rc = pdr_writer_put(writer, PDR_END, NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_writer_finish(writer, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_writer_free(writer);
    pdr_value_free(value);
    pdr_buf_dispose(&out);
}
