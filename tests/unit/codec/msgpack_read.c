/*
 * msgpack_read.c - MessagePack in memory to values. Everything is read in all
 * ways at once, see msgpack_ways.h.
 */
#include "msgpack_ways.h"

#include "base.h"

/* --- first bytes --------------------------------------------------------- */

/* What a document of one byte gives. */
static void expect_lone_byte(char *out, size_t cap, unsigned byte)
{
    if (byte <= 0x7F)
        snprintf(out, cap, "%u", byte);
    else if (byte >= 0xE0)
        snprintf(out, cap, "%d", (int)byte - 256);
    else if (byte == 0x80 || byte == 0x90 || byte == 0xA0)
        snprintf(out, cap, "%s",
                 byte == 0x80   ? "{}"
                 : byte == 0x90 ? "[]"
                                : "\"\"");
    else if (byte == 0xC0)
        snprintf(out, cap, "null");
    else if (byte == 0xC1)
        snprintf(out, cap, "!reserved_byte 0");
    else if (byte == 0xC2 || byte == 0xC3)
        snprintf(out, cap, "%s", byte == 0xC2 ? "false" : "true");
    else
        snprintf(out, cap, "!unexpected_end 1%s",
                 byte > 0x90 && byte < 0xA0 ? " /0" : "");
}

TEST(msgpack_read, knows_every_byte_alone)
{
    for (unsigned byte = 0; byte <= 0xFF; byte++) {
        char expected[64], hex[12];
        expect_lone_byte(expected, sizeof(expected), byte);
        snprintf(hex, sizeof(hex), "%02x", byte);
        ASSERT_MP(expected, hex);
    }
}

/* A document that begins so and is complete; "" if the byte alone is one. */
static const struct {
    unsigned first;
    const char *rest, *json;
} complete[] = {
    {0xC0, "", "null"},
    {0xC1, "", "!reserved_byte 0"},
    {0xC2, "", "false"},
    {0xC3, "", "true"},
    {0xC4, "01 00", "!binary_data 0"},
    {0xC5, "0001 00", "!binary_data 0"},
    {0xC6, "00000001 00", "!binary_data 0"},
    {0xC7, "02 01 3130", "10"},
    {0xC8, "0002 01 3130", "10"},
    {0xC9, "00000002 01 3130", "10"},
    {0xCA, "3fc00000", "1.5"},
    {0xCB, "3ff8000000000000", "1.5"},
    {0xCC, "80", "128"},
    {0xCD, "8000", "32768"},
    {0xCE, "80000000", "2147483648"},
    {0xCF, "8000000000000000", "9223372036854775808"},
    {0xD0, "80", "-128"},
    {0xD1, "8000", "-32768"},
    {0xD2, "80000000", "-2147483648"},
    {0xD3, "8000000000000000", "-9223372036854775808"},
    {0xD4, "01 31", "1"},
    {0xD5, "01 3130", "10"},
    {0xD6, "01 31303030", "1000"},
    {0xD7, "01 3130303030303030", "10000000"},
    {0xD8, "01 31303030303030303030303030303030", "1000000000000000"},
    {0xD9, "01 61", "\"a\""},
    {0xDA, "0001 61", "\"a\""},
    {0xDB, "00000001 61", "\"a\""},
    {0xDC, "0001 c0", "[null]"},
    {0xDD, "00000001 c0", "[null]"},
    {0xDE, "0001 a161 c0", "{\"a\":null}"},
    {0xDF, "00000001 a161 c0", "{\"a\":null}"},
};

TEST(msgpack_read, knows_every_first_byte_of_a_complete_document)
{
    for (size_t i = 0; i < sizeof(complete) / sizeof(complete[0]); i++) {
        char hex[80];
        ASSERT_INT(0xC0 + i, complete[i].first);
        snprintf(hex, sizeof(hex), "%02x %s", complete[i].first,
                 complete[i].rest);
        ASSERT_MP(complete[i].json, hex);
    }
}

/* Far from the end other code is at work than near it. */
TEST(msgpack_read, knows_every_first_byte_far_from_the_end)
{
    for (size_t i = 0; i < sizeof(complete) / sizeof(complete[0]); i++) {
        pdr_buf input = PDR_BUF_INIT(1000);
        char expected[200], tail[61];
        bool refused = complete[i].json[0] == '!';

        memset(tail, 'x', 60);
        tail[60] = '\0';
        mp_byte(&input, 0x92);
        mp_byte(&input, complete[i].first);
        mp_hex(&input, complete[i].rest);
        mp_head(&input, 0xD9, 1, 60);
        mp_bytes(&input, 'x', 60);
        snprintf(expected, sizeof(expected), "[%s,\"%s\"]", complete[i].json,
                 tail);
        if (refused)
            snprintf(expected, sizeof(expected), "%.*s 1 /0",
                     (int)strlen(complete[i].json) - 2, complete[i].json);
        ASSERT_MP_BYTES(expected, &input);
        pdr_buf_dispose(&input);
    }
}

TEST(msgpack_read, takes_lengths_out_of_first_bytes)
{
    for (unsigned n = 0; n < 32; n++) {
        pdr_buf input = PDR_BUF_INIT(1000);
        char expected[64] = "\"";
        memset(expected + 1, 'y', n);
        expected[n + 1] = '"';
        mp_byte(&input, 0xA0 | n);
        mp_bytes(&input, 'y', n);
        ASSERT_MP_BYTES(expected, &input);
        pdr_buf_dispose(&input);
    }
    for (unsigned n = 0; n < 16; n++) {
        pdr_buf input = PDR_BUF_INIT(1000);
        char array[64] = "[", object[160] = "{";
        for (unsigned i = 0; i < n; i++) {
            snprintf(array + strlen(array), 4, "%s7", i > 0 ? "," : "");
            snprintf(object + strlen(object), 9, "%s\"k\":7", i > 0 ? "," : "");
        }
        mp_byte(&input, 0x90 | n);
        mp_bytes(&input, 7, n);
        snprintf(array + strlen(array), 2, "]");
        ASSERT_MP_BYTES(array, &input);
        pdr_buf_clear(&input);
        mp_byte(&input, 0x80 | n);
        for (unsigned i = 0; i < n; i++)
            mp_hex(&input, "a1 6b 07");
        snprintf(object + strlen(object), 2, "}");
        ASSERT_MP_BYTES(object, &input);
        pdr_buf_dispose(&input);
    }
}

/* --- numbers ------------------------------------------------------------- */

TEST(msgpack_read, takes_integers_of_every_width)
{
    static const char *const cases[][2] = {
        {"00", "0"},
        {"7f", "127"},
        {"e0", "-32"},
        {"ff", "-1"},
        {"cc00", "0"},
        {"cc7f", "127"},
        {"ccff", "255"},
        {"cd0000", "0"},
        {"cd00ff", "255"},
        {"cd0100", "256"},
        {"cdffff", "65535"},
        {"ce00000000", "0"},
        {"ce0000ffff", "65535"},
        {"ce00010000", "65536"},
        {"ceffffffff", "4294967295"},
        {"cf0000000000000000", "0"},
        {"cf00000000ffffffff", "4294967295"},
        {"cf0000000100000000", "4294967296"},
        {"cf7fffffffffffffff", "9223372036854775807"},
        {"cfffffffffffffffff", "18446744073709551615"},
        {"d000", "0"},
        {"d07f", "127"},
        {"d0ff", "-1"},
        {"d0e0", "-32"},
        {"d0df", "-33"},
        {"d080", "-128"},
        {"d10000", "0"},
        {"d17fff", "32767"},
        {"d1ffff", "-1"},
        {"d1ff7f", "-129"},
        {"d18000", "-32768"},
        {"d200000000", "0"},
        {"d27fffffff", "2147483647"},
        {"d2ffffffff", "-1"},
        {"d2ffff7fff", "-32769"},
        {"d280000000", "-2147483648"},
        {"d30000000000000000", "0"},
        {"d37fffffffffffffff", "9223372036854775807"},
        {"d3ffffffffffffffff", "-1"},
        {"d3ffffffff7fffffff", "-2147483649"},
        {"d38000000000000000", "-9223372036854775808"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_MP(cases[i][1], cases[i][0]);
}

TEST(msgpack_read, takes_a_float_as_the_double_that_it_is)
{
    ASSERT_MP("0.0", "ca 00000000");
    ASSERT_MP("-0.0", "ca 80000000");
    ASSERT_MP("0.10000000149011612", "ca 3dcccccd");
    ASSERT_MP("3.4028234663852886e+38", "ca 7f7fffff");
    ASSERT_MP("1.401298464324817e-45", "ca 00000001");
    ASSERT_MP("16777216.0", "ca 4b800000");
    ASSERT_MP("0.0", "cb 0000000000000000");
    ASSERT_MP("-0.0", "cb 8000000000000000");
    ASSERT_MP("0.1", "cb 3fb999999999999a");
    ASSERT_MP("1e+16", "cb 4341c37937e08000");
    ASSERT_MP("5e-324", "cb 0000000000000001");
    ASSERT_MP("1.7976931348623157e+308", "cb 7fefffffffffffff");
}

TEST(msgpack_read, refuses_what_is_not_finite_unless_asked)
{
    static const char *const cases[][2] = {
        {"ca 7fc00000", "NaN"},
        {"ca ffc00001", "NaN"},
        {"ca 7f800000", "Infinity"},
        {"ca ff800000", "-Infinity"},
        {"cb 7ff8000000000000", "NaN"},
        {"cb fff0000000000001", "NaN"},
        {"cb 7ff0000000000000", "Infinity"},
        {"cb fff0000000000000", "-Infinity"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char hex[40], json[40];
        ASSERT_MP("!bare_token 0", cases[i][0]);
        ASSERT_MP_BARE(cases[i][1], cases[i][0]);
        snprintf(hex, sizeof(hex), "81 a161 92 05 %s", cases[i][0]);
        snprintf(json, sizeof(json), "{\"a\":[5,%s]}", cases[i][1]);
        ASSERT_MP("!bare_token 5 /a/1", hex);
        ASSERT_MP_BARE(json, hex);
    }
    ASSERT_MP("!name_no_string 1", "81 cb 7ff8000000000000 00");
    ASSERT_MP_BARE("!name_no_string 1", "81 cb 7ff8000000000000 00");
}

/* --- strings ------------------------------------------------------------- */

static const struct {
    unsigned first, width;
} str_heads[] = {{0xD9, 1}, {0xDA, 2}, {0xDB, 4}};

TEST(msgpack_read, takes_strings_at_the_borders_of_each_length)
{
    static const size_t sizes[] = {0,   1,   15,    16,    31,   32,
                                   255, 256, 65535, 65536, 70000};
    pdr_buf input = PDR_BUF_INIT(1u << 20), text = PDR_BUF_INIT(1u << 20);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t form = 0; form < 3; form++) {
            if (sizes[i] >> (8 * str_heads[form].width) > 0)
                continue;
            pdr_buf_clear(&input);
            mp_head(&input, str_heads[form].first, str_heads[form].width,
                    sizes[i]);
            mp_bytes(&input, 's', sizes[i]);
            pdr_buf_clear(&text);
            mp_byte(&text, '"');
            mp_bytes(&text, 's', sizes[i]);
            mp_hex(&text, "22 00");
            ASSERT_MP_BYTES(text.ptr, &input);
        }
    pdr_buf_dispose(&input);
    pdr_buf_dispose(&text);
}

TEST(msgpack_read, escapes_what_json_cannot_hold_as_it_is)
{
    for (unsigned byte = 0; byte < 0x80; byte++) {
        static const char *const named[128] = {
            ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n",  ['\f'] = "\\f",
            ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\",
        };
        char hex[20], spelled[8], expected[20];
        if (named[byte] != NULL)
            snprintf(spelled, sizeof(spelled), "%s", named[byte]);
        else
            snprintf(spelled, sizeof(spelled), byte < 0x20 ? "\\u%04x" : "%c",
                     byte);
        snprintf(hex, sizeof(hex), "a3 61 %02x 7a", byte);
        snprintf(expected, sizeof(expected), "\"a%sz\"", spelled);
        ASSERT_MP(expected, hex);
    }
}

TEST(msgpack_read, takes_the_borders_of_utf8)
{
    ASSERT_MP("\"\x7F\"", "a1 7f");
    ASSERT_MP("\"\xC2\x80\"", "a2 c280");
    ASSERT_MP("\"\xDF\xBF\"", "a2 dfbf");
    ASSERT_MP("\"\xE0\xA0\x80\"", "a3 e0a080");
    ASSERT_MP("\"\xED\x9F\xBF\"", "a3 ed9fbf");
    ASSERT_MP("\"\xEE\x80\x80\"", "a3 ee8080");
    ASSERT_MP("\"\xEF\xBF\xBF\"", "a3 efbfbf");
    ASSERT_MP("\"\xF0\x90\x80\x80\"", "a4 f0908080");
    ASSERT_MP("\"\xF4\x8F\xBF\xBF\"", "a4 f48fbfbf");
}

TEST(msgpack_read, refuses_what_is_no_utf8)
{
    static const char *const wrong[] = {
        "a1 80",       "a1 bf",       "a2 c080",     "a2 c1bf",   "a1 c3",
        "a2 c341",     "a3 e09fbf",   "a2 e0a0",     "a3 eda080", "a3 edbfbf",
        "a4 f08fbfbf", "a4 f4908080", "a4 f5808080", "a1 ff",     "a1 fe",
        "a3 f09080",   "a3 e28228",   "a4 f0288cbc", "a2 c3ff",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ASSERT_MP("!bad_utf8 1", wrong[i]);
    ASSERT_MP("!bad_utf8 1", "a1 e9 90");
}

TEST(msgpack_read, names_the_byte_that_is_no_utf8_wherever_it_stands)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t at = 0; at < sizes[i]; at++) {
            pdr_buf input = PDR_BUF_INIT(1000);
            char expected[64];
            mp_hex(&input, "82 a161 c0 a162 93 07 07");
            mp_head(&input, 0xD9, 1, sizes[i]);
            mp_bytes(&input, 'w', sizes[i]);
            input.ptr[11 + at] = (char)0xFF;
            snprintf(expected, sizeof(expected), "!bad_utf8 %zu /b/2", 11 + at);
            ASSERT_MP_BYTES(expected, &input);
            mp_bytes(&input, 0xC0, 50); /* the same, far from the end */
            ASSERT_MP_BYTES(expected, &input);
            pdr_buf_dispose(&input);
        }
}

/* --- containers ---------------------------------------------------------- */

/* `count` children: a container of one of the three forms. */
static void put_container(pdr_buf *out, bool object, unsigned width,
                          size_t count)
{
    if (width == 0)
        mp_byte(out, (object ? 0x80u : 0x90u) | (unsigned)count);
    else
        mp_head(out, (object ? 0xDEu : 0xDCu) + (width == 4), width, count);
    for (size_t i = 0; i < count; i++)
        mp_hex(out, object ? "a0 c0" : "c0");
}

static void put_json(pdr_buf *out, bool object, size_t count)
{
    mp_byte(out, object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        pdr_str child = object ? PDR_LIT("\"\":null,") : PDR_LIT("null,");
        child.len -= i + 1 == count;
        ASSERT_RC(PDR_OK, pdr_buf_append(out, child, NULL));
    }
    mp_byte(out, object ? '}' : ']');
    mp_byte(out, 0);
}

TEST(msgpack_read, takes_containers_at_the_borders_of_each_count)
{
    static const size_t counts[] = {0, 1, 15, 16, 17, 65535, 65536};
    static const unsigned widths[] = {0, 2, 4};
    pdr_buf input = PDR_BUF_INIT(1u << 24), text = PDR_BUF_INIT(1u << 24);

    for (size_t i = 0; i < 2 * sizeof(counts) / sizeof(counts[0]); i++)
        for (size_t form = 0; form < 3; form++) {
            size_t count = counts[i / 2];
            bool object = i % 2 == 1;
            if ((form == 0 && count > 15) || (form == 1 && count > 65535))
                continue;
            pdr_buf_clear(&input);
            pdr_buf_clear(&text);
            put_container(&input, object, widths[form], count);
            put_json(&text, object, count);
            ASSERT_MP_BYTES(text.ptr, &input);
        }
    pdr_buf_dispose(&input);
    pdr_buf_dispose(&text);
}

TEST(msgpack_read, keeps_order_and_names_that_repeat)
{
    ASSERT_MP("{\"z\":1,\"a\":2,\"z\":[]}", "83 a17a 01 a161 02 a17a 90");
    ASSERT_MP("[[],[{}],{\"a\":{}}]", "93 90 91 80 81 a161 80");
    ASSERT_MP("{\"\":{\"\":{\"\":1}}}", "81 a0 81 a0 81 a0 01");
}

TEST(msgpack_read, takes_the_sample_snapshot)
{
    ASSERT_MP(
        "{\"type\":\"session\",\"session_id\":\"demo-7\",\"service_session_id\":"
        "null,\"state\":{\"notes\":{\"n\":300,\"ok\":true}},\"version\":\"1.0\"}",
        "85 a4 74797065 a7 73657373696f6e aa 73657373696f6e5f6964 a6 "
        "64656d6f2d37 b2 736572766963655f73657373696f6e5f6964 c0 a5 7374617465 "
        "81 a5 6e6f746573 82 a1 6e cd012c a2 6f6b c3 a7 76657273696f6e a3 "
        "312e30");
}

/* --- extensions ---------------------------------------------------------- */

/* The forms that hold a body of `size` bytes; "" where it does not fit. */
static void put_ext(pdr_buf *out, unsigned form, unsigned type, size_t size)
{
    if (form < 3)
        mp_head(out, 0xC7 + form, 1u << form, size);
    else
        mp_byte(out, 0xD4 + form - 3);
    mp_byte(out, type);
}

static bool form_holds(unsigned form, size_t size)
{
    if (form >= 3)
        return size == (size_t)1 << (form - 3);
    return form == 2 || size >> (8u << form) == 0;
}

#define EXT_FORMS 8

TEST(msgpack_read, takes_number_text_from_every_form)
{
    static const size_t sizes[] = {1, 2, 3, 4, 8, 15, 16, 17, 255, 256, 70000};
    pdr_buf input = PDR_BUF_INIT(1u << 20), text = PDR_BUF_INIT(1u << 20);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned form = 0; form < EXT_FORMS; form++) {
            if (!form_holds(form, sizes[i]))
                continue;
            pdr_buf_clear(&input);
            pdr_buf_clear(&text);
            put_ext(&input, form, 1, sizes[i]);
            mp_bytes(&input, '9', sizes[i]);
            mp_bytes(&text, '9', sizes[i]);
            mp_byte(&text, 0);
            ASSERT_MP_BYTES(text.ptr, &input);
        }
    pdr_buf_dispose(&input);
    pdr_buf_dispose(&text);
}

TEST(msgpack_read, takes_raw_strings_and_names_from_every_form)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 8, 16, 17, 255, 256, 70000};
    pdr_buf input = PDR_BUF_INIT(1u << 20), text = PDR_BUF_INIT(1u << 20);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned form = 0; form < EXT_FORMS; form++) {
            size_t escapes = sizes[i] / 2;
            if (!form_holds(form, sizes[i]))
                continue;
            pdr_buf_clear(&input);
            pdr_buf_clear(&text);
            mp_byte(&input, 0x81);
            for (int twice = 0; twice < 2; twice++) {
                put_ext(&input, form, 2, sizes[i]);
                mp_byte(&text, twice ? ':' : '{');
                mp_byte(&text, '"');
                for (size_t k = 0; k < escapes; k++) {
                    mp_hex(&input, "5c 2f");
                    mp_hex(&text, "5c 2f");
                }
                mp_bytes(&input, 'o', sizes[i] % 2);
                mp_bytes(&text, 'o', sizes[i] % 2);
                mp_byte(&text, '"');
            }
            mp_hex(&text, "7d 00");
            ASSERT_MP_BYTES(text.ptr, &input);
        }
    pdr_buf_dispose(&input);
    pdr_buf_dispose(&text);
}

TEST(msgpack_read, keeps_the_spelling_in_extensions)
{
    ASSERT_MP("1.50", "d6 01 312e3530");
    ASSERT_MP("-0", "d5 01 2d30");
    ASSERT_MP("1E400", "c7 05 01 3145343030");
    ASSERT_MP("\"\\ud800\"", "c7 06 02 5c7564383030");
    ASSERT_MP("\"\\u00E9\xC3\xA9\"", "d7 02 5c7530304539c3a9");
    ASSERT_MP("\"plain\"", "c7 05 02 706c61696e");
    ASSERT_MP("{\"\\/\":1}", "81 d5 02 5c2f 01");
    /* What could go natively may stand in an extension all the same. */
    ASSERT_MP("7", "d4 01 37");
}

TEST(msgpack_read, refuses_number_text_that_is_no_number)
{
    static const char *const wrong[] = {
        "c7 00 01",   "d4 01 2d", "d5 01 3031",      "d5 01 312e",
        "d5 01 2b31", "d4 01 20", "d5 01 3120",      "c7 03 01 4e614e",
        "d4 01 78",   "d4 01 00", "c7 03 01 315f30", "d4 01 ff",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char expected[40];
        snprintf(expected, sizeof(expected), "!bad_number %d",
                 wrong[i][0] == 'c' ? 3 : 2);
        ASSERT_MP(expected, wrong[i]);
        ASSERT_MP_BARE(expected, wrong[i]);
    }
    ASSERT_MP("!bad_number 5 /a", "81 a161 d4 01 78");
}

TEST(msgpack_read, refuses_raw_strings_that_are_none)
{
    ASSERT_MP("!bad_escape 2", "d5 02 5c78");
    ASSERT_MP("!bad_escape 3", "d5 02 615c");
    ASSERT_MP("!bad_escape 4", "c7 06 02 615c75303067");
    ASSERT_MP("!bad_escape 3", "d5 02 6122");
    ASSERT_MP("!control_in_string 3", "d5 02 611f");
    ASSERT_MP("!bad_utf8 3", "d5 02 61c3");
    ASSERT_MP("!bad_utf8 2", "d4 02 80");
    ASSERT_MP("!bad_escape 4", "81 d5 02 615c 00");
    ASSERT_MP("!bad_utf8 5 /a", "81 a161 d4 02 ff");
}

TEST(msgpack_read, refuses_other_extensions)
{
    for (unsigned type = 0; type <= 0xFF; type++) {
        char hex[32];
        if (type == 1 || type == 2)
            continue;
        snprintf(hex, sizeof(hex), "d4 %02x 31", type);
        ASSERT_MP(type == 0xFF ? "!timestamp 0" : "!unknown_extension 0", hex);
    }
    ASSERT_MP("!unknown_extension 3 /a", "81 a161 c7 00 03");
    ASSERT_MP("!unknown_extension 0", "c9 00000001 80 00");
}

TEST(msgpack_read, refuses_timestamps_in_their_three_forms)
{
    ASSERT_MP("!timestamp 0", "d6 ff 00000000");
    ASSERT_MP("!timestamp 0", "d7 ff 0000000000000000");
    ASSERT_MP("!timestamp 0", "c7 0c ff 000000000000000000000000");
    ASSERT_MP("!timestamp 5 /t/1", "81 a174 92 c0 d6 ff 00000000");
}

TEST(msgpack_read, refuses_binary_data)
{
    ASSERT_MP("!binary_data 0", "c4 00");
    ASSERT_MP("!binary_data 4 /a/0", "81 a161 91 c4 01 61");
    ASSERT_MP("!binary_data 2 /1", "92 c0 c5 0001 61");
}

TEST(msgpack_read, refuses_names_that_are_no_strings)
{
    static const char *const names[] = {
        "00",          "ff",
        "c0",          "c2",
        "c3",          "90",
        "80",          "c4 01 61",
        "ca 00000000", "cb 0000000000000000",
        "cc 80",       "d0 80",
        "d4 01 31",    "d6 ff 00000000",
        "d4 05 00",    "dc 0000",
        "de 0000",     "cd 0001",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char hex[60];
        snprintf(hex, sizeof(hex), "91 82 a161 c0 %s 00", names[i]);
        ASSERT_MP("!name_no_string 5 /0", hex);
        snprintf(hex, sizeof(hex), "91 82 a161 c0 %s d9 28", names[i]);
        pdr_buf input = PDR_BUF_INIT(1000);
        mp_hex(&input, hex);
        mp_bytes(&input, '-', 40);
        ASSERT_MP_BYTES("!name_no_string 5 /0", &input);
        pdr_buf_dispose(&input);
    }
    ASSERT_MP("!reserved_byte 1", "81 c1 00");
}

/* --- documents that end wrongly ------------------------------------------ */

#define RICH                                                               \
    "de 0009 a5 6669727374 93 c0 c2 c3 a2 c3a9 ca 3fc00000 d9 03 616263 "  \
    "cb 3fb999999999999a da 0002 0a22 cf ffffffffffffffff db 00000001 7a " \
    "d6 01 312e3530 a1 6e dc 0002 cd 0100 d1 ff00 d5 02 5c2f dd 00000001 " \
    "df 00000001 a1 6b 81 a0 90 a1 65 c7 03 02 5c745f a1 66 c8 0001 01 30"

TEST(msgpack_read, takes_a_document_with_everything)
{
    ASSERT_MP("{\"first\":[null,false,true],\"\xC3\xA9\":1.5,\"abc\":0.1,"
              "\"\\n\\\"\":18446744073709551615,\"z\":1.50,\"n\":[256,-256],"
              "\"\\/\":[{\"k\":{\"\":[]}}],\"e\":\"\\t_\",\"f\":0}",
              RICH);
}

TEST(msgpack_read, says_where_input_ends_too_early)
{
    pdr_buf input = PDR_BUF_INIT(1000);

    mp_hex(&input, RICH);
    for (size_t len = 1; len < input.len; len++) {
        char expected[64];
        char *actual = mp_read(pdr_str_n(input.ptr, len), NULL);
        snprintf(expected, sizeof(expected), "!unexpected_end %zu", len);
        ASSERT(strncmp(expected, actual, strlen(expected)) == 0);
        ASSERT(actual[strlen(expected)] == ' ' ||
               actual[strlen(expected)] == '\0');
        free(actual);
    }
    pdr_buf_dispose(&input);
    ASSERT_MP("!unexpected_end 8 /first/0", "81 a5 6669727374 91");
    ASSERT_MP("!unexpected_end 4 /a", "81 a161 cd");
    ASSERT_MP("!unexpected_end 2", "81 a1");
}

TEST(msgpack_read, refuses_what_follows_the_document)
{
    ASSERT_MP("!trailing_data 1", "c0 c0");
    ASSERT_MP("!trailing_data 3", "92 c0 c0 c1");
    ASSERT_MP("!trailing_data 4", "81 a161 80 00");
    ASSERT_MP("!trailing_data 2", "a1 61 0a");
}

TEST(msgpack_read, refuses_empty_input)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_MP("!empty_input 0", "");
    ASSERT_RC(PDR_EINVALID, pdr_codec_read(&value, pdr_msgpack_codec(),
                                           pdr_str_n(NULL, 0), NULL, &err));
    ASSERT_STR("empty_input", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_codec_read(&value, pdr_msgpack_codec(),
                                           pdr_str_n(NULL, 0), NULL, NULL));
}

/* --- mutations ----------------------------------------------------------- */

#define LONG_STRING                                                         \
    "93 d9 28 6161616161616161616161616161616161616161616161616161616161"   \
    "6161616161616161616161 a5 68656c6c6f 82 a161 a3 e69db1 a162 95 01 02 " \
    "03 04 cd 1234"
#define EXTENSIONS                                        \
    "92 d8 01 31323334353637383930313233343536 c7 0c 02 " \
    "5c75643833645c7564653030"

static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % limit;
}

/* Change one byte, or move a part of the input. */
static void mutate(pdr_buf *bytes)
{
    static const unsigned char heads[] = {
        0x81, 0x91, 0x92, 0xA0, 0xA5, 0xBF, 0xC0, 0xC1, 0xC4, 0xC7,
        0xCA, 0xCB, 0xD4, 0xD5, 0xD8, 0xD9, 0xDA, 0xDC, 0xDE, 0xDF};
    size_t at = random_below((uint32_t)bytes->len);
    size_t len = random_below((uint32_t)(bytes->len - at)) + 1;

    switch (random_below(5)) {
    case 0:
        bytes->ptr[at] = (char)random_below(256);
        break;
    case 1:
        bytes->ptr[at] = (char)heads[random_below(sizeof(heads))];
        break;
    case 2: /* twice what stands there */
        if (bytes->len + len <= bytes->cap) {
            memmove(bytes->ptr + at + len, bytes->ptr + at, bytes->len - at);
            bytes->len += len;
        }
        break;
    case 3:
        memmove(bytes->ptr + at, bytes->ptr + at + len, bytes->len - at - len);
        bytes->len -= bytes->len > len ? len : 0;
        break;
    default:
        bytes->ptr[at] = (char)(bytes->ptr[at] ^ 1 << random_below(8));
        break;
    }
}

TEST(msgpack_read, agrees_with_the_walk_on_thousands_of_mutations)
{
    static const char *const seeds[] = {
        RICH,
        LONG_STRING,
        EXTENSIONS,
    };
    size_t rounds = test_times(4000, 400);
    size_t good = 0;

    random_state = 20240607;
    for (size_t round = 0; round < rounds; round++) {
        pdr_buf bytes = PDR_BUF_INIT(4096);
        ASSERT_RC(PDR_OK, pdr_buf_reserve(&bytes, 2048, NULL));
        mp_hex(&bytes, seeds[round % 3]);
        for (uint32_t n = random_below(4) + 1; n > 0; n--)
            mutate(&bytes);
        char *text = mp_read(pdr_buf_str(&bytes),
                             round % 2 == 0 ? &mp_bare_tokens : NULL);
        good += text[0] != '!';
        free(text);
        pdr_buf_dispose(&bytes);
    }
    /* Both must happen, or the mutations are too wild or too tame. */
    ASSERT(good > rounds / 50);
    ASSERT(good < rounds * 9 / 10);
}

/* --- memory -------------------------------------------------------------- */

static size_t put_hex(char *out, const char *hex)
{
    size_t len = 0;
    unsigned byte = 0;
    int used = 0;

    for (; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
        out[len++] = (char)byte;
    return len;
}

static void check_memory(pdr_str input, pdr_rc expected)
{
    pdr_read_opts opts = {.max_depth = 1024};
    pdr_value *value = NULL;
    pdr_rc rc = pdr_codec_read(&value, pdr_msgpack_codec(), input, &opts, NULL);

    ASSERT(rc == PDR_ENOMEM || rc == expected);
    ASSERT((value != NULL) == (rc == PDR_OK));
    pdr_value_free(value);
}

/* Text that grows, then a string without room. */
#define GROWING_TEXT                                                   \
    "92 d9 20 "                                                        \
    "0101010101010101010101010101010101010101010101010101010101010101" \
    "d9 28 2020202020202020202020202020202020202020"                   \
    "2020202020202020202020202020202020202020"
#define GROWING_NODES \
    "dc 0020 9090909090909090909090909090909090909090909090909090909090909090"

TEST_OOM(msgpack_read, cleans_up_after_any_failed_allocation)
{
    static const char *const inputs[] = {
        "92 a2 c3a9 81 a161 dc 0003 c0 d4 01 31 0a",
        GROWING_TEXT,
        GROWING_NODES,
    };
    char bytes[800];

    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        check_memory(pdr_str_n(bytes, put_hex(bytes, inputs[i])), PDR_OK);
    check_memory(PDR_LIT("\x92\x01\xC1"), PDR_EINVALID);
    memset(bytes, 0x91, 700); /* brackets that need room at their ends */
    bytes[700] = 7;
    check_memory(pdr_str_n(bytes, 701), PDR_OK);
}
