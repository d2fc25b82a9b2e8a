/* UTF-8: every code point, every kind of ill-formed sequence. */
#include "test.h"

#include "base.h"

static bool is_surrogate(uint32_t codepoint)
{
    return codepoint >= 0xD800 && codepoint <= 0xDFFF;
}

TEST(utf8_encode, and_decode_agree_on_every_code_point)
{
    for (uint32_t cp = 0; cp <= PDR_MAX_CODEPOINT; cp++) {
        char bytes[PDR_UTF8_MAX], wide[PDR_UTF8_MAX];
        uint32_t back = 1;
        size_t len = pdr__utf8_encode(bytes, cp);

        if (is_surrogate(cp)) {
            ASSERT_SIZE(0, len);
            continue;
        }
        ASSERT_SIZE(cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4, len);
        ASSERT_SIZE(len, pdr__utf8_decode(&back, pdr_str_n(bytes, len)));
        ASSERT_INT(cp, back);
        ASSERT_SIZE(len, pdr__utf8_valid_len(pdr_str_n(bytes, len)));
        ASSERT_SIZE(0, pdr__utf8_decode(&back, pdr_str_n(bytes, len - 1)));
        ASSERT_SIZE(len, pdr__wtf8_encode(wide, cp));
        ASSERT(memcmp(bytes, wide, len) == 0);
    }
}

TEST(utf8_encode, has_known_bytes)
{
    char bytes[PDR_UTF8_MAX];

    ASSERT_BYTES(pdr_str_c("\xC3\xA9"),
                 pdr_str_n(bytes, pdr__utf8_encode(bytes, 0xE9)));
    ASSERT_BYTES(pdr_str_c("\xE2\x82\xAC"),
                 pdr_str_n(bytes, pdr__utf8_encode(bytes, 0x20AC)));
    ASSERT_BYTES(pdr_str_c("\xF0\x9F\x98\x80"),
                 pdr_str_n(bytes, pdr__utf8_encode(bytes, 0x1F600)));
    ASSERT_SIZE(0, pdr__utf8_encode(bytes, 0x110000));
    ASSERT_SIZE(0, pdr__wtf8_encode(bytes, 0x110000));
    ASSERT_SIZE(0, pdr__wtf8_encode(bytes, UINT32_MAX));
}

TEST(wtf8_encode, writes_a_surrogate_as_three_bytes_that_are_no_utf8)
{
    char bytes[PDR_UTF8_MAX];

    ASSERT_BYTES(pdr_str_c("\xED\xA0\x80"),
                 pdr_str_n(bytes, pdr__wtf8_encode(bytes, 0xD800)));
    ASSERT_SIZE(0, pdr__utf8_valid_len(pdr_str_n(bytes, 3)));
    ASSERT_BYTES(pdr_str_c("\xED\xBF\xBF"),
                 pdr_str_n(bytes, pdr__wtf8_encode(bytes, 0xDFFF)));
    ASSERT_SIZE(0, pdr__utf8_valid_len(pdr_str_n(bytes, 3)));
}

TEST(utf8_check, names_the_first_bad_sequence)
{
    static const struct {
        const char *text;
        size_t valid;
    } rows[] = {
        {"", 0},
        {"abc", 3},
        {"abcdefgh12345678xyz", 19},
        {"caf\xC3\xA9 na\xC3\xAFve, all is well here", 30},
        {"\x80", 0},                        /* lone continuation */
        {"a\xBF", 1},                       /* the same */
        {"abcdefgh\x80", 8},                /* after a full word */
        {"abcdefghijkl\xFFmnop", 12},       /* inside a word */
        {"\xC0\x80", 0},                    /* overlong NUL */
        {"\xC1\xBF", 0},                    /* overlong DEL */
        {"\xC2\x80", 2},                    /* first of two bytes */
        {"\xDF\xBF", 2},                    /* last of two */
        {"\xE0\x9F\xBF", 0},                /* overlong */
        {"\xE0\xA0\x80", 3},                /* first of three */
        {"\xED\x9F\xBF", 3},                /* last before the surrogates */
        {"\xED\xA0\x80", 0},                /* first surrogate */
        {"\xED\xBF\xBF", 0},                /* last surrogate */
        {"\xEE\x80\x80", 3},                /* first after them */
        {"\xEF\xBF\xBF", 3},                /* last of three */
        {"\xF0\x8F\xBF\xBF", 0},            /* overlong */
        {"\xF0\x90\x80\x80", 4},            /* first of four */
        {"\xF4\x8F\xBF\xBF", 4},            /* U+10FFFF */
        {"\xF4\x90\x80\x80", 0},            /* one above */
        {"\xF5\x80\x80\x80", 0},            /* far above */
        {"\xFE", 0},                        /* no byte of UTF-8 */
        {"x\xC3", 1},                       /* cut */
        {"x\xE2\x82", 1},                   /* cut */
        {"x\xF0\x9F\x98", 1},               /* cut */
        {"\xC3(", 0},                       /* second is no continuation */
        {"\xE2\x82(", 0},                   /* third */
        {"\xF0\x9F\x98(", 0},               /* fourth */
        {"\xE2(\x82", 0},                   /* second of three */
        {"\xC3\xA9\xE2\x82\xAC\xC3", 5},    /* after good ones */
        {"\xC3\xA9\xC3\xA9\xC3\xA9\xA9", 6} /* one too many */
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_str text = pdr_str_c(rows[i].text);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_SIZE(rows[i].valid, pdr__utf8_valid_len(text));
        if (rows[i].valid == text.len) {
            ASSERT_RC(PDR_OK, pdr__utf8_check(text, &err));
            continue;
        }
        ASSERT_RC(PDR_EINVALID, pdr__utf8_check(text, &err));
        ASSERT_STR("bad_utf8", err.reason);
        ASSERT_INT(rows[i].valid, err.offset);
    }
    pdr_err err = PDR_ERR_INIT;
    ASSERT_RC(PDR_EINVALID, pdr__utf8_check(pdr_str_c("ab\xFE"), &err));
    ASSERT_STR("byte 0xFE begins no UTF-8 sequence", err.message);
}

TEST(utf8_valid_len, finds_a_bad_byte_at_every_place_of_a_long_text)
{
    char text[70];

    for (size_t len = 1; len < sizeof(text); len++)
        for (size_t bad = 0; bad < len; bad++) {
            memset(text, 'a', sizeof(text));
            text[bad] = '\xFF';
            ASSERT_SIZE(bad, pdr__utf8_valid_len(pdr_str_n(text, len)));
        }
    memset(text, 0, sizeof(text));
    ASSERT_SIZE(sizeof(text),
                pdr__utf8_valid_len(pdr_str_n(text, sizeof(text))));
}

TEST(utf8_decode, gives_nothing_for_nothing)
{
    uint32_t cp = 7;

    ASSERT_SIZE(0, pdr__utf8_decode(&cp, pdr_str_n(NULL, 0)));
    ASSERT_INT(0, cp);
    ASSERT_SIZE(1, pdr__utf8_decode(&cp, pdr_str_n("\0", 1)));
    ASSERT_SIZE(0, pdr__utf8_valid_len(pdr_str_n(NULL, 0)));
}
