/*
 * msgpack_borders.c - where the reader of MessagePack runs out of room: at its
 * limits, at the end of the input, and at the end of the text and nodes that it
 * has so far.
 */
#include "msgpack_ways.h"

#include "base.h"
#include "corpus.h"
#include "msgpack.h"

/* --- hostile lengths and depths ------------------------------------------ */

TEST(msgpack_read, believes_no_length)
{
    static const char *const cases[][2] = {
        {"db ffffffff 6161616161", "!unexpected_end 10"},
        {"dd ffffffff c0c0c0c0c0", "!unexpected_end 10 /5"},
        {"df ffffffff a0c0a0c0a0", "!unexpected_end 10 /"},
        {"c9 ffffffff 01 31313131", "!unexpected_end 10"},
        {"c9 ffffffff 02 61616161", "!unexpected_end 10"},
        {"c9 ffffffff 05 31313131", "!unknown_extension 0"},
        {"c6 ffffffff 6161616161", "!binary_data 0"},
        {"91 df ffffffff db ffffffff", "!unexpected_end 11 /0"},
        {"dd 0fffffff c0c0c0c0c0", "!unexpected_end 10 /5"},
        {"df 7fffffff c0c0c0c0c0", "!name_no_string 5"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *value = NULL;
        pdr_buf input = PDR_BUF_INIT(100);
        ASSERT_MP(cases[i][1], cases[i][0]);
        mp_hex(&input, cases[i][0]);
        test_reset_peak();
        size_t before = test_live_bytes();
        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_read(&value, pdr_msgpack_codec(),
                                 pdr_buf_str(&input), NULL, NULL));
        ASSERT(test_peak_bytes() - before < 256u * 1024u);
        pdr_buf_dispose(&input);
    }
}

/* 720 MB of control characters are 4.3 GB of text, which no node can hold. */
TEST(msgpack_read, makes_room_for_no_more_text_than_a_node_can_point_at)
{
    const size_t most = PDR_MAX_TEXT_BYTES;

    ASSERT_SIZE(300, pdr__mp_text_cap(300, 200));
    ASSERT_SIZE(400, pdr__mp_text_cap(300, 400));
    ASSERT_SIZE(most, pdr__mp_text_cap(most - 1 + most / 2, most - 1));
    ASSERT_SIZE(most, pdr__mp_text_cap(most + 1, most));
    ASSERT_SIZE(0, pdr__mp_text_cap(most + 1, most + 1));
    ASSERT_SIZE(0, pdr__mp_text_cap(300, most + 1));
}

TEST(msgpack_read, stops_at_its_depth_in_100000_nested_arrays)
{
    static const unsigned firsts[] = {0x91, 0x81};

    for (size_t i = 0; i < 2; i++) {
        pdr_buf input = PDR_BUF_INIT(1u << 20);
        for (size_t level = 0; level < 100000; level++) {
            mp_byte(&input, firsts[i]);
            if (firsts[i] == 0x81)
                mp_byte(&input, 0xA0);
        }
        test_reset_peak();
        size_t before = test_live_bytes();
        char *actual = mp_read(pdr_buf_str(&input), NULL);
        ASSERT(strncmp(i == 0 ? "!too_deep 128 ..." : "!too_deep 256 ", actual,
                       14) == 0);
        ASSERT(test_peak_bytes() - before < (1u << 20));
        free(actual);
        pdr_buf_dispose(&input);
    }
}

/* --- limits -------------------------------------------------------------- */

TEST(msgpack_read, keeps_to_its_depth)
{
    pdr_read_opts three = {.max_depth = 3}, one = {.max_depth = 1};
    pdr_read_opts deepest = {.max_depth = 1024};
    pdr_read_opts too_much = {.max_depth = 1025};
    pdr_buf input = PDR_BUF_INIT(10000);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_MP_OPTS("[[{}],[[]]]", "92 91 80 91 90", &three);
    ASSERT_MP_OPTS("!too_deep 3 /0/0/0", "91 91 91 90", &three);
    ASSERT_MP_OPTS("!too_deep 5 /a/0/0", "81 a161 91 91 80", &three);
    ASSERT_MP_OPTS("!too_deep 1 /0", "91 90", &one);
    ASSERT_MP_OPTS("[7]", "91 07", &one);
    mp_bytes(&input, 0x91, 1023);
    mp_byte(&input, 0x90);
    ASSERT_RC(PDR_OK, pdr_codec_read(&value, pdr_msgpack_codec(),
                                     pdr_buf_str(&input), &deepest, NULL));
    pdr_value_free(value);
    input.ptr[1023] = (char)0x91;
    mp_byte(&input, 0x90);
    ASSERT_RC(PDR_ELIMIT, pdr_codec_read(&value, pdr_msgpack_codec(),
                                         pdr_buf_str(&input), &deepest, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_RC(PDR_EMISUSE,
              pdr_codec_read(&value, pdr_msgpack_codec(), pdr_buf_str(&input),
                             &too_much, &err));
    ASSERT_STR("bad_option", err.reason);
    pdr_buf_dispose(&input);
}

TEST(msgpack_read, keeps_to_its_bytes)
{
    pdr_read_opts six = {.max_bytes = 6};

    ASSERT_MP_OPTS("[\"abc\",1]", "92 a3 616263 01", &six);
    ASSERT_MP_OPTS("!too_large 6", "92 a3 616263 cc 01", &six);
    ASSERT_MP_OPTS("!too_large 6", "a6 616263646566", &six);
    ASSERT_MP_OPTS("\"abcde\"", "a5 6162636465", &six);
}

TEST(msgpack_read, keeps_to_its_nodes)
{
    static const struct {
        const char *hex, *json;
        uint64_t nodes;
    } cases[] = {
        {"c0", "null", 1},
        {"90", "[]", 1},
        {"92 c0 c0", "[null,null]", 3},
        {"81 a161 c0", "{\"a\":null}", 3},
        {"82 a161 91 c0 d4 02 62 07", "{\"a\":[null],\"b\":7}", 6},
        {"9f 000000000000000000000000000000", "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
         16},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_read_opts opts = {.max_nodes = cases[i].nodes};
        ASSERT_MP_OPTS(cases[i].json, cases[i].hex, &opts);
        opts.max_nodes++;
        ASSERT_MP_OPTS(cases[i].json, cases[i].hex, &opts);
        opts.max_nodes -= 2;
        if (opts.max_nodes > 0)
            ASSERT_MP_OPTS("!too_many_nodes 0", cases[i].hex, &opts);
    }
}

/* Nodes are made room for in steps; no step may go over the limit. */
TEST(msgpack_read, keeps_to_its_nodes_however_they_grow)
{
    static const size_t counts[] = {7, 16, 29, 31, 34, 50};

    for (size_t i = 0; i < 2 * PDR_COUNT(counts); i++) {
        pdr_buf input = PDR_BUF_INIT(1000);
        bool object = i % 2 == 1;
        size_t count = counts[i / 2], nodes = 1 + (object ? 2 : 1) * count;
        mp_head(&input, object ? 0xDE : 0xDC, 2, count);
        for (size_t k = 0; k < count; k++)
            mp_hex(&input, object ? "a0 c0" : "c0");
        for (size_t max = 1; max < nodes + 3; max++) {
            pdr_read_opts opts = {.max_nodes = max};
            char *actual = mp_read(pdr_buf_str(&input), &opts);
            if (max < nodes)
                ASSERT_STR("!too_many_nodes 0", actual);
            else
                ASSERT(actual[0] == (object ? '{' : '['));
            free(actual);
        }
        pdr_buf_dispose(&input);
    }
}

TEST(msgpack_read, takes_only_the_flags_that_it_knows)
{
    static const unsigned others[] = {PDR_TRAILING, PDR_SEQUENCE, PDR_RECORDS,
                                      PDR_EXCHANGE, 1u << 20};
    pdr_value *value = NULL;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        pdr_read_opts opts = {.flags = others[i]};
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_EMISUSE, pdr_codec_read(&value, pdr_msgpack_codec(),
                                              pdr_str_c("\x01"), &opts, &err));
        ASSERT_STR("bad_option", err.reason);
    }
}

/* --- text that grows ----------------------------------------------------- */

/* Encode as the simplest code would. */
static void put_spelled(pdr_buf *out, pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        char escape[8];
        if (c >= 0x20 && c != '"' && c != '\\') {
            mp_byte(out, c);
            continue;
        }
        snprintf(escape, sizeof(escape),
                 c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c(escape), NULL));
    }
}

/* Read `[strings..., null]` and compare with the text that is due. */
static void check_strings(size_t count, size_t len, unsigned byte, size_t every)
{
    pdr_buf input = PDR_BUF_INIT(1u << 24), text = PDR_BUF_INIT(1u << 26);
    pdr_buf one = PDR_BUF_INIT(1u << 24);

    for (size_t i = 0; i < len; i++)
        mp_byte(&one, i % every == 0 ? byte : 'p');
    mp_head(&input, 0xDD, 4, count + 1);
    mp_byte(&text, '[');
    for (size_t i = 0; i < count; i++) {
        mp_head(&input, 0xDB, 4, len);
        ASSERT_RC(PDR_OK, pdr_buf_append(&input, pdr_buf_str(&one), NULL));
        mp_byte(&text, '"');
        put_spelled(&text, pdr_buf_str(&one));
        mp_hex(&text, "22 2c");
    }
    mp_byte(&input, 0xC0);
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT("null]\0"), NULL));
    ASSERT_MP_BYTES(text.ptr, &input);
    pdr_buf_dispose(&one);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&input);
}

TEST(msgpack_read, grows_its_text_for_strings_of_escapes)
{
    for (size_t power = 1; power <= 65536; power *= 2)
        for (size_t len = power - 1; len <= power + 1; len++) {
            check_strings(1, len, 0x01, 1);
            check_strings(2, len, '"', 7);
            check_strings(3, len, 0x1F, len + 1);
        }
    for (size_t len = 1; len < 200; len++)
        check_strings(40, len, 0x02, 1);
}

TEST(msgpack_read, grows_its_nodes_and_the_text_of_small_items)
{
    static const unsigned items[] = {0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0};
    static const char *const texts[] = {"{}",   "[]",    "\"\"",
                                        "null", "false", "-32"};

    for (size_t i = 0; i < 6; i++)
        for (size_t count = 1; count < 3000; count = count * 3 / 2 + 1) {
            pdr_buf input = PDR_BUF_INIT(1u << 20);
            pdr_buf text = PDR_BUF_INIT(1u << 20);
            mp_head(&input, 0xDC, 2, count);
            mp_bytes(&input, items[i], count);
            for (size_t n = 0; n < count; n++)
                ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%c%s",
                                                 n > 0 ? ',' : '[', texts[i]));
            mp_hex(&text, "5d 00");
            ASSERT_MP_BYTES(text.ptr, &input);
            pdr_buf_dispose(&input);
            pdr_buf_dispose(&text);
        }
}

TEST(msgpack_read, grows_its_text_for_a_row_of_brackets)
{
    pdr_read_opts opts = {.max_depth = 1024};

    for (size_t depth = 1; depth <= 1024; depth += 31) {
        pdr_buf input = PDR_BUF_INIT(1u << 20), text = PDR_BUF_INIT(1u << 20);
        mp_bytes(&input, 0x91, depth);
        mp_head(&input, 0xD9, 1, 100);
        mp_bytes(&input, 1, 100);
        mp_bytes(&text, '[', depth);
        mp_byte(&text, '"');
        for (size_t i = 0; i < 100; i++)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT("\\u0001"), NULL));
        mp_byte(&text, '"');
        mp_bytes(&text, ']', depth);
        mp_byte(&text, 0);
        mp_assert_text(text.ptr, mp_read(pdr_buf_str(&input), &opts), __FILE__,
                       __LINE__);
        pdr_buf_dispose(&input);
        pdr_buf_dispose(&text);
    }
}

/* --- near the end of the input ------------------------------------------- */

static struct corpus_kernel kernels[4];
static size_t kernel_count;

/* Read with each kernel from a block that ends where the input does. */
static void check_kernels(const pdr_buf *input, const char *expected)
{
    char *block = malloc(input->len);

    ASSERT(block != NULL);
    memcpy(block, input->ptr, input->len);
    for (size_t i = 0; i < kernel_count; i++) {
        pdr_read_opts opts = {.kernel = kernels[i].kernel};
        pdr_buf text = PDR_BUF_INIT(10000);
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        char verdict[PDR_ERR_PATH + 100];
        pdr_rc rc = pdr_codec_read(&value, pdr_msgpack_codec(),
                                   pdr_str_n(block, input->len), &opts, &err);
        mp_verdict(verdict, sizeof(verdict), &err);
        if (rc == PDR_OK)
            ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, NULL));
        if (rc == PDR_OK
                ? !pdr_str_equal(pdr_str_c(expected), pdr_buf_str(&text))
                : strcmp(expected, verdict) != 0)
            fail_msg("%s: expected %s, got %.*s%s", kernels[i].name, expected,
                     (int)text.len, text.len > 0 ? text.ptr : "",
                     rc == PDR_OK ? "" : verdict);
        pdr_buf_dispose(&text);
        pdr_value_free(value);
    }
    free(block);
}

/* What stands in a string of plain bytes: as bytes, and as JSON (NULL: it is
 * refused). */
static const struct {
    const char *bytes, *json;
} guests[] = {
    {"q", "q"},
    {"\"", "\\\""},
    {"\\", "\\\\"},
    {"\x1F", "\\u001f"},
    {"\x7F", "\x7F"},
    {"\xC3\xA9", "\xC3\xA9"},
    {"\xE6\x9D\xB1", "\xE6\x9D\xB1"},
    {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
    {"\x80", NULL},
    {"\xE6\x9D", NULL},
};

/* A string of `len` bytes with a guest at `at`, as bytes and as JSON. */
static void put_guest(pdr_buf *input, pdr_buf *text, size_t guest, size_t len,
                      size_t at)
{
    const char *bytes = guests[guest].bytes;
    size_t rest = len - at - strlen(bytes);

    if (len < 32)
        mp_byte(input, 0xA0 | (unsigned)len);
    else
        mp_head(input, 0xD9, 1, len);
    mp_bytes(input, 'p', at);
    ASSERT_RC(PDR_OK, pdr_buf_append(input, pdr_str_c(bytes), NULL));
    mp_bytes(input, 'p', rest);
    mp_byte(text, '"');
    mp_bytes(text, 'p', at);
    if (guests[guest].json != NULL)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(text, pdr_str_c(guests[guest].json), NULL));
    mp_bytes(text, 'p', rest);
    mp_byte(text, '"');
}

/* `[string, 7, 7, ...]` or `{string: "777..."}`, `tail` bytes behind it. */
static void check_near_end(size_t guest, size_t len, size_t at, size_t tail,
                           bool name)
{
    pdr_buf input = PDR_BUF_INIT(1000), text = PDR_BUF_INIT(1000);
    size_t body = tail < 33 ? tail - 1 : tail - 2;

    if (name)
        mp_byte(&input, 0x81);
    else
        mp_head(&input, 0xDC, 2, tail + 1);
    size_t head = input.len + (len < 32 ? 1 : 2);
    mp_byte(&text, name ? '{' : '[');
    put_guest(&input, &text, guest, len, at);
    if (name && tail < 33)
        mp_byte(&input, 0xA0 | (unsigned)body);
    else if (name)
        mp_head(&input, 0xD9, 1, body);
    mp_bytes(&input, name ? '7' : 7, name ? body : tail);
    if (name)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, PDR_LIT(":\""), NULL));
    for (size_t i = 0; i < (name ? body : tail); i++)
        ASSERT_RC(
            PDR_OK,
            pdr_buf_append(&text, name ? PDR_LIT("7") : PDR_LIT(",7"), NULL));
    ASSERT_RC(
        PDR_OK,
        pdr_buf_append(&text, name ? PDR_LIT("\"}\0") : PDR_LIT("]\0"), NULL));
    if (guests[guest].json == NULL)
        snprintf(text.ptr, text.cap, "!bad_utf8 %zu%s", head + at,
                 name ? "" : " /0");
    check_kernels(&input, text.ptr);
    pdr_buf_dispose(&input);
    pdr_buf_dispose(&text);
}

static void check_all_near_end(size_t len, bool name)
{
    for (size_t guest = 0; guest < sizeof(guests) / sizeof(guests[0]); guest++)
        for (size_t at = 0; at + strlen(guests[guest].bytes) <= len; at++)
            for (size_t tail = name; tail <= 40; tail++)
                check_near_end(guest, len, at, tail, name);
}

TEST(msgpack_read, looks_at_no_byte_behind_the_input)
{
    static const size_t lens[] = {1, 2, 8, 15, 16, 17, 30, 31, 32, 40};

    kernel_count = corpus_kernels(kernels);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        check_all_near_end(lens[i], false);
}

TEST(msgpack_read, looks_at_no_byte_behind_a_name)
{
    static const size_t lens[] = {1, 16, 31, 32};

    kernel_count = corpus_kernels(kernels);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        check_all_near_end(lens[i], true);
}
