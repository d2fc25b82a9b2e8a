/*
 * msgpack_walk.c - MessagePack from a stream: events, sequences, records.
 */
#include "msgpack_ways.h"

#include "base.h"

#define RECORDS PDR_RECORDS

/* A stream of bytes, given as they are asked for. */
struct stream {
    pdr_buf bytes;
    size_t at;
    pdr_rc fail; /* given at the end instead of it */
};

static pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct stream *s = arg;
    size_t left = s->bytes.len - s->at;

    (void)err;
    if (left == 0 && s->fail != PDR_OK)
        return s->fail;
    *got = cap < left ? cap : left;
    if (*got > 0)
        memcpy(into, s->bytes.ptr + s->at, *got);
    s->at += *got;
    return PDR_OK;
}

static pdr_walk *walk_of(struct stream *stream, const char *hex,
                         const pdr_read_opts *opts)
{
    pdr_walk *walk = NULL;

    memset(stream, 0, sizeof(*stream));
    stream->bytes.max = SIZE_MAX;
    mp_hex(&stream->bytes, hex);
    ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_msgpack_codec(), opts, NULL, give,
                                   stream));
    return walk;
}

static void end_walk(pdr_walk *walk, struct stream *stream)
{
    pdr_walk_free(walk);
    pdr_buf_dispose(&stream->bytes);
}

/* --- events -------------------------------------------------------------- */

TEST(msgpack_walk, gives_events_with_depth_and_offset)
{
    static const struct {
        pdr_event event;
        size_t depth;
        int64_t offset;
        const char *json;
    } expected[] = {
        {PDR_BEGIN_OBJECT, 1, 0, NULL}, {PDR_NAME, 1, 1, "\"a\""},
        {PDR_BEGIN_ARRAY, 2, 3, NULL},  {PDR_SCALAR, 2, 4, "300"},
        {PDR_SCALAR, 2, 7, "1.50"},     {PDR_END, 1, 13, NULL},
        {PDR_NAME, 1, 13, "\"\\/\""},   {PDR_BEGIN_OBJECT, 2, 17, NULL},
        {PDR_END, 1, 18, NULL},         {PDR_END, 0, 18, NULL},
        {PDR_END_OF_INPUT, 0, 18, NULL}};
    struct stream stream;
    pdr_walk *walk = walk_of(
        &stream, "82 a161 92 cd012c d6 01 312e3530 d5 02 5c2f 80", NULL);

    for (size_t i = 0; i < PDR_COUNT(expected); i++) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_str raw = {NULL, 0};
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
        ASSERT_INT(expected[i].event, event);
        ASSERT_SIZE(expected[i].depth, pdr_walk_depth(walk));
        ASSERT_INT(expected[i].offset, pdr_walk_offset(walk));
        ASSERT((expected[i].json == NULL) == (pdr_walk_value(walk) == NULL));
        if (expected[i].json == NULL)
            continue;
        ASSERT(pdr_value_raw(&raw, pdr_walk_value(walk)));
        ASSERT_TEXT(expected[i].json, raw);
    }
    end_walk(walk, &stream);
}

TEST(msgpack_walk, takes_and_skips_values)
{
    struct stream stream;
    pdr_walk *walk = walk_of(&stream, "93 92 01 a161 81 a16b 90 c3", NULL);
    pdr_event event = PDR_END_OF_INPUT;
    pdr_value *value = NULL;
    pdr_buf text = PDR_BUF_INIT(100);

    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, walk, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, NULL));
    ASSERT_TEXT("[1,\"a\"]", pdr_buf_str(&text));
    pdr_value_free(value);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_INT(PDR_BEGIN_OBJECT, event);
    ASSERT_RC(PDR_OK, pdr_walk_skip(walk, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_INT(PDR_SCALAR, event);
    ASSERT_INT(9, pdr_walk_offset(walk));
    pdr_buf_dispose(&text);
    end_walk(walk, &stream);
}

/* Read, walked event by event, and taken from a walk. */
static void check_extended(bool expected, const char *hex)
{
    bool extended = false;
    pdr_read_opts opts = {.extended = &extended};
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);

    mp_hex(&bytes, hex);
    for (int way = 0; way < 3; way++) {
        struct stream stream = {.bytes = PDR_BUF_INIT(SIZE_MAX)};
        pdr_walk *walk = walk_of(&stream, hex, &opts);
        pdr_event event = PDR_END;
        pdr_value *value = NULL;

        extended = false;
        if (way == 0)
            ASSERT_RC(PDR_OK, pdr_codec_read(&value, pdr_msgpack_codec(),
                                             pdr_buf_str(&bytes), &opts, NULL));
        while (way > 0 && event != PDR_END_OF_INPUT) {
            ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
            if (way == 2 && event != PDR_END_OF_INPUT)
                ASSERT_RC(PDR_OK, pdr_walk_take(&value, walk, NULL));
        }
        pdr_value_free(value);
        end_walk(walk, &stream);
        if (extended != expected)
            fail_msg("way %d: %s: %d", way, hex, extended);
    }
    pdr_buf_dispose(&bytes);
}

TEST(msgpack_walk, says_whether_there_are_extensions_as_reading_does)
{
    check_extended(false, "93 01 a161 cb d601d601d601d601");
    check_extended(false, "82 a161 cd d401 a161 80");
    check_extended(true, "d6 01 312e3530");
    check_extended(true, "91 81 a161 91 d6 01 312e3530");
    check_extended(true, "82 d5 02 5c2f 01 a161 02");
    check_extended(true, "92 c7 01 01 37 00"); /* also if 07 would do */
}

TEST(msgpack_walk, passes_on_what_the_stream_says)
{
    struct stream stream;
    pdr_walk *walk = walk_of(&stream, "92 01", NULL);
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err err = PDR_ERR_INIT;

    stream.fail = PDR_EIO;
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, walk, &err));
    ASSERT_STR("stream_failed", err.reason);
    end_walk(walk, &stream);
    walk = walk_of(&stream, "", NULL);
    stream.fail = PDR_EIO;
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, walk, NULL));
    end_walk(walk, &stream);
    pdr_read_opts records = {.flags = RECORDS};
    walk = walk_of(&stream, "00 00", &records);
    stream.fail = PDR_EIO;
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, walk, NULL));
    end_walk(walk, &stream);
}

TEST(msgpack_walk, goes_over_more_than_a_window)
{
    pdr_buf input = PDR_BUF_INIT(1u << 24), text = PDR_BUF_INIT(1u << 24);

    mp_head(&input, 0xDD, 4, 50);
    mp_byte(&text, '[');
    for (unsigned i = 0; i < 50; i++) {
        size_t len = 1 + i * i * 17;
        mp_head(&input, 0xDB, 4, len);
        mp_bytes(&input, 'a' + i % 26, len);
        mp_byte(&text, '"');
        mp_bytes(&text, 'a' + i % 26, len);
        mp_hex(&text, i < 49 ? "22 2c" : "22 5d 0a 00");
    }
    mp_assert_text(text.ptr, mp_walk(pdr_buf_str(&input), NULL, 1000), __FILE__,
                   __LINE__);
    mp_assert_text(text.ptr, mp_walk(pdr_buf_str(&input), NULL, SIZE_MAX),
                   __FILE__, __LINE__);
    pdr_buf_dispose(&input);
    pdr_buf_dispose(&text);
}

/* A stream that goes on for ever. */
struct flood {
    unsigned char first, rest; /* bytes */
    size_t given;
};

static pdr_rc give_flood(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    struct flood *flood = arg;

    (void)err;
    memset(into, flood->rest, cap);
    if (flood->given == 0)
        *(unsigned char *)into = flood->first;
    *got = cap;
    flood->given += cap;
    return flood->given < (1u << 28) ? PDR_OK : PDR_EIO;
}

static void check_flood(unsigned char first, unsigned char rest, uint64_t nodes,
                        const char *reason)
{
    struct flood flood = {first, rest, 0};
    pdr_read_opts opts = {.max_nodes = nodes};
    pdr_walk *walk = NULL;
    pdr_event event = PDR_END_OF_INPUT;
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_msgpack_codec(), &opts, NULL,
                                   give_flood, &flood));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT(pdr_walk_take(&value, walk, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT(value == NULL);
    ASSERT(flood.given < (1u << 20));
    pdr_walk_free(walk);
}

/* What is wrong early is not waited for. */
TEST(msgpack_walk, takes_no_more_of_a_stream_than_shows_that_it_is_wrong)
{
    check_flood(0x91, 0x91, 0, "too_deep");
    check_flood(0xDD, 0x81, 0, "name_no_string");
    check_flood(0xDD, 0xC1, 0, "reserved_byte");
    check_flood(0xDD, 0xC4, 0, "binary_data");
    check_flood(0xDD, 0xD4, 0, "unknown_extension");
    check_flood(0xDF, 0x01, 0, "name_no_string");
    check_flood(0xDD, 0x01, 1000, "too_many_nodes");
}

/* --- limits -------------------------------------------------------------- */

TEST(msgpack_walk, limits_one_name_or_scalar)
{
    pdr_read_opts opts = {.max_bytes = 4};
    pdr_buf input = PDR_BUF_INIT(100);

    mp_hex(&input, "93 a4 61626364 a4 65666768 d6 01 31323334");
    mp_assert_text("[\"abcd\",\"efgh\",1234]\n",
                   mp_walk_all(pdr_buf_str(&input), &opts), __FILE__, __LINE__);
    pdr_buf_clear(&input);
    mp_hex(&input, "92 a4 61626364 a5 6566676869");
    mp_assert_text("!too_large 6 /1", mp_walk_all(pdr_buf_str(&input), &opts),
                   __FILE__, __LINE__);
    pdr_buf_clear(&input);
    mp_hex(&input, "81 a5 6566676869 00");
    mp_assert_text("!too_large 1", mp_walk_all(pdr_buf_str(&input), &opts),
                   __FILE__, __LINE__);
    pdr_buf_clear(&input);
    mp_hex(&input, "c7 05 01 3132333435");
    mp_assert_text("!too_large 0", mp_walk_all(pdr_buf_str(&input), &opts),
                   __FILE__, __LINE__);
    pdr_buf_dispose(&input);
}

TEST(msgpack_walk, limits_the_depth)
{
    pdr_read_opts opts = {.max_depth = 2};
    pdr_buf input = PDR_BUF_INIT(100);

    mp_hex(&input, "92 90 80");
    mp_assert_text("[[],{}]\n", mp_walk_all(pdr_buf_str(&input), &opts),
                   __FILE__, __LINE__);
    pdr_buf_clear(&input);
    mp_hex(&input, "92 90 91 80");
    mp_assert_text("!too_deep 3 /1/0", mp_walk_all(pdr_buf_str(&input), &opts),
                   __FILE__, __LINE__);
    pdr_buf_dispose(&input);
}

static void check_take(uint64_t nodes, const char *reason)
{
    pdr_read_opts opts = {.max_nodes = nodes};
    struct stream stream;
    pdr_walk *walk = walk_of(&stream, "92 c0 82 a161 01 a162 91 02", &opts);
    pdr_event event = PDR_END_OF_INPUT;
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < 3; i++)
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    pdr_rc rc = pdr_walk_take(&value, walk, &err);
    ASSERT((rc == PDR_OK) == (reason == NULL));
    if (reason != NULL)
        ASSERT_STR(reason, err.reason);
    pdr_value_free(value);
    end_walk(walk, &stream);
}

TEST(msgpack_walk, limits_the_nodes_of_a_value_taken)
{
    check_take(7, NULL);
    check_take(6, NULL);
    check_take(5, "too_many_nodes");
}

TEST(msgpack_walk, takes_only_the_flags_that_it_knows)
{
    pdr_read_opts opts = {.flags = PDR_TRAILING};
    struct stream stream = {PDR_BUF_INIT(1), 0, PDR_OK};
    pdr_walk *walk = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EMISUSE, pdr_walk_new(&walk, pdr_msgpack_codec(), &opts, &err,
                                        give, &stream));
    ASSERT_STR("bad_option", err.reason);
    opts = (pdr_read_opts){.max_depth = 1025};
    ASSERT_RC(PDR_EMISUSE, pdr_walk_new(&walk, pdr_msgpack_codec(), &opts, &err,
                                        give, &stream));
}

/* --- sequences ----------------------------------------------------------- */

TEST(msgpack_sequence, is_documents_with_nothing_between)
{
    ASSERT_MP_WALK("", "", PDR_SEQUENCE);
    ASSERT_MP_WALK("1\n", "01", PDR_SEQUENCE);
    ASSERT_MP_WALK("1\n[2,3]\n{}\n\"a\"\nnull\n", "01 92 02 03 80 a161 c0",
                   PDR_SEQUENCE);
    ASSERT_MP_WALK("NaN\n1\n", "ca7fc00000 01", PDR_SEQUENCE | PDR_BARE_TOKENS);
}

TEST(msgpack_sequence, says_what_is_wrong_counted_from_its_beginning)
{
    ASSERT_MP_WALK("1\n!reserved_byte 1", "01 c1", PDR_SEQUENCE);
    ASSERT_MP_WALK("[1]\n!unexpected_end 5 /1", "91 01 92 01 cd", PDR_SEQUENCE);
    ASSERT_MP_WALK("[1]\n{}\n!bad_utf8 5 /0", "91 01 80 91 a1 ff",
                   PDR_SEQUENCE);
}

/* --- records ------------------------------------------------------------- */

TEST(msgpack_records, have_their_length_in_front)
{
    ASSERT_MP_WALK("", "", RECORDS);
    ASSERT_MP_WALK("{}\n", "00000001 80", RECORDS);
    ASSERT_MP_WALK("{\"a\":1}\n[]\n7\n",
                   "00000004 81 a161 01 00000001 90 00000001 07", RECORDS);
    ASSERT_MP_WALK("{}\n", "00000001 80", RECORDS | PDR_SEQUENCE);
}

/* A record of a history file: a user's message "hej", 100 bytes. */
TEST(msgpack_records, hold_a_message)
{
    const char *message =
        "00000064 84 a474797065 a76d657373616765 a4726f6c65 a475736572 "
        "a8636f6e74656e7473 91 83 a474797065 a474657874 a474657874 a368656a "
        "b56164646974696f6e616c5f70726f70657274696573 80 "
        "b56164646974696f6e616c5f70726f70657274696573 80";

    ASSERT_MP_WALK("{\"type\":\"message\",\"role\":\"user\",\"contents\":[{"
                   "\"type\":\"text\",\"text\":\"hej\",\"additional_"
                   "properties\":{}}],\"additional_properties\":{}}\n",
                   message, RECORDS);
}

TEST(msgpack_records, are_refused_with_their_number)
{
    static const struct {
        const char *expected, *hex, *message;
    } cases[] = {
        {"!bad_record 0", "00000000", "record 1 claims 0 bytes"},
        {"!bad_record 0", "04000001 80", "record 1 claims 67108865 bytes"},
        {"!bad_record 0", "ffffffff 80", "record 1 claims 4294967295 bytes"},
        {"!unexpected_end 1", "00", "record 1 is cut off"},
        {"!unexpected_end 3", "000000", "record 1 is cut off"},
        {"!unexpected_end 4", "00000001", "record 1 is cut off"},
        {"1\n!unexpected_end 8", "00000001 01 000000", "record 2 is cut off"},
        {"1\n!unexpected_end 10 /0", "00000001 01 00000002 91",
         "record 2 is cut off"},
        {"!unexpected_end 7 /a", "00000004 81 a161", "record 1 is cut off"},
        {"!unexpected_end 6", "00000014 a5 61", "record 1 is cut off"},
        {"!bad_record 5 /0", "00000001 91 01",
         "record 1 ends before its document does"},
        {"!bad_record 4", "00000003 a5 6162636465",
         "record 1 ends before its document does"},
        {"1\n!bad_record 9", "00000001 01 00000002 cd 0001",
         "record 2 ends before its document does"},
        {"[1]\n!bad_record 6", "00000003 91 01 02",
         "record 1 goes on behind its document"},
        {"7\n!bad_record 5", "00000002 07 07",
         "record 1 goes on behind its document"},
        {"7\n{}\n!bad_record 10", "00000001 07 00000002 80",
         "record 2 goes on behind its document"},
        {"!binary_data 4", "00000003 c4 01 61", "1 byte of binary data"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_read_opts opts = {.flags = RECORDS};
        struct stream stream;
        pdr_event event = PDR_SCALAR;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        ASSERT_MP_WALK(cases[i].expected, cases[i].hex, RECORDS);
        pdr_walk *walk = walk_of(&stream, cases[i].hex, &opts);
        while (rc == PDR_OK && event != PDR_END_OF_INPUT)
            rc = pdr_walk_next(&event, walk, &err);
        ASSERT(strncmp(cases[i].message, err.message,
                       strlen(cases[i].message)) == 0);
        end_walk(walk, &stream);
    }
}

TEST(msgpack_records, may_have_64_mib)
{
    pdr_read_opts opts = {.flags = RECORDS};
    struct stream stream;
    pdr_walk *walk = walk_of(&stream, "04000000 c6 00000000", &opts);
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err err = PDR_ERR_INIT;

    /* The length is taken; what is in it is not. */
    ASSERT_RC(PDR_EINVALID, pdr_walk_next(&event, walk, &err));
    ASSERT_STR("binary_data", err.reason);
    end_walk(walk, &stream);
}

/* --- guessing ------------------------------------------------------------ */

static const char *guess(const char *path, const char *hex, bool whole)
{
    static char name[32];
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);
    pdr_buf bytes = PDR_BUF_INIT(1000);
    pdr_format format;
    pdr_err err = PDR_ERR_INIT;

    mp_hex(&bytes, hex);
    pdr_rc rc = pdr_codec_guess(&format, codecs, count, path,
                                pdr_buf_str(&bytes), whole, &err);
    snprintf(name, sizeof(name), "%s", rc == PDR_OK ? format.name : err.reason);
    pdr_buf_dispose(&bytes);
    return name;
}

TEST(msgpack_guess, goes_by_the_first_byte)
{
    static const char *const documents[] = {
        "80", "81a161c0", "8f",         "90",       "9f", "a0", "bf",   "c0",
        "c2", "c3",       "c4",         "c7",       "ca", "cb", "cc80", "d0",
        "d9", "dc",       "dd00000001", "df000000", "e0", "ff", "fe"};

    for (size_t i = 0; i < PDR_COUNT(documents); i++)
        ASSERT_STR("msgpack", guess(NULL, documents[i], false));
    ASSERT_STR("unknown_format", guess(NULL, "c1", true));
    ASSERT_STR("unknown_format", guess(NULL, "", true));
    ASSERT_STR("msgpack", guess("a.msgpack", "", true));
}

TEST(msgpack_guess, leaves_text_to_others)
{
    ASSERT_STR("json", guess(NULL, "7b 22 61 22 3a 31 7d", true));
    ASSERT_STR("ambiguous_format", guess(NULL, "5b", true));
    ASSERT_STR("ambiguous_format", guess(NULL, "31", true));
    ASSERT_STR("json", guess(NULL, "31 32", true));
    ASSERT_STR("json", guess(NULL, "31", false));
    ASSERT_STR("msgpack", guess(NULL, "01", true));
    ASSERT_STR("unknown_format", guess(NULL, "01 02", true));
    ASSERT(strcmp("msgpack", guess(NULL, "ef bb bf 7b", true)) != 0);
    ASSERT(strcmp("msgpack", guess(NULL, "ff fe 7b 00", true)) != 0);
    ASSERT(strcmp("msgpack", guess(NULL, "fe ff 00 7b", true)) != 0);
}

TEST(msgpack_guess, knows_records_by_length_and_map)
{
    ASSERT_STR("records", guess(NULL, "00000001 80", true));
    ASSERT_STR("records", guess(NULL, "00000064 84 a4", false));
    ASSERT_STR("records", guess(NULL, "00010000 de 0010", false));
    ASSERT_STR("records", guess(NULL, "04000000 df", false));
    ASSERT_STR("records", guess("history.msgpack", "00000064 84", false));
    ASSERT_STR("msgpack", guess("history.msgpack", "00000064 01", false));
    ASSERT_STR("msgpack", guess("x.MPK", "00000000 84", false));
    ASSERT_STR("unknown_format", guess(NULL, "00000000 80", true));
    ASSERT_STR("unknown_format", guess(NULL, "00000001", true));
    ASSERT_STR("unknown_format", guess(NULL, "00000064 90", true));
    ASSERT_STR("unknown_format", guess(NULL, "04000001 80", true));
}

/* --- memory -------------------------------------------------------------- */

static pdr_rc walk_bytes(struct stream *stream, unsigned flags)
{
    pdr_read_opts opts = {.flags = flags};
    pdr_walk *walk = NULL;
    pdr_event event = PDR_SCALAR;
    pdr_rc rc =
        pdr_walk_new(&walk, pdr_msgpack_codec(), &opts, NULL, give, stream);

    while (rc == PDR_OK && event != PDR_END_OF_INPUT)
        rc = pdr_walk_next(&event, walk, NULL);
    pdr_walk_free(walk);
    return rc;
}

TEST_OOM(msgpack_walk, cleans_up_after_any_failed_allocation)
{
    static char document[] =
        "\x82\xA1\x61\x92\xCD\x01\x2C\xD6\x01\x31\x2E\x35\x30\xD5\x02\x5C\x2F"
        "\xCB\x3F\xF8\x00\x00\x00\x00\x00\x00";
    static char record[] = "\0\0\0\5\x92\xA1\xC3\xC0\xC3";
    struct stream one = {{document, sizeof(document) - 1, 0, 0}, 0, PDR_OK};
    struct stream two = {{record, sizeof(record) - 1, 0, 0}, 0, PDR_OK};
    pdr_rc rc = walk_bytes(&one, 0);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    rc = walk_bytes(&two, RECORDS);
    ASSERT(rc == PDR_EINVALID || rc == PDR_ENOMEM);
}
