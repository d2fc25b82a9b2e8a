/* Bodies: one JSON text as far as brackets and quotes tell. Each case stands at
 * many places, because 64 bytes are looked at in one go. */
#include "test.h"

#include "body_model.h"

#define DEEP     8u
#define LONGEST  200u
#define MUTATION 20000u

typedef pdr_rc (*check_fn)(pdr_str body, size_t depth, pdr_err *err);

static const check_fn checks[] = {pdr__body_check, plain_body_check};

/* `body` behind `shift` bytes of white space. */
static pdr_str shifted(char room[LONGEST + 100], pdr_str body, size_t shift)
{
    memset(room, ' ', shift);
    memcpy(room + shift, body.ptr, body.len);
    return pdr_str_n(room, shift + body.len);
}

static void expect(pdr_str body, const char *reason, int64_t offset)
{
    char room[LONGEST + 100];

    for (size_t shift = 0; shift < 70; shift++) {
        for (size_t k = 0; k < PDR_COUNT(checks); k++) {
            pdr_err err = PDR_ERR_INIT;
            pdr_rc rc = checks[k](shifted(room, body, shift), DEEP, &err);

            if (reason[0] == '\0') {
                ASSERT_RC(PDR_OK, rc);
                continue;
            }
            ASSERT(rc != PDR_OK);
            ASSERT_STR(reason, err.reason);
            ASSERT_INT(offset == 0 && body.len == 0 ? 0
                                                    : offset + (int64_t)shift,
                       err.offset);
        }
    }
}

#define GOOD(text)        expect(PDR_LIT(text), "", 0)
#define BAD(offset, text) expect(PDR_LIT(text), "bad_body", offset)

TEST(body_check, takes_what_is_one_json_text)
{
    GOOD("{}");
    GOOD("[]");
    GOOD("0");
    GOOD("-1.5e+10");
    GOOD("null");
    GOOD("NaN");
    GOOD("\"\"");
    GOOD("\"a\"");
    GOOD("{\"a\":[1,{\"b\":\"}]\"}]}");
    GOOD("{\"\\\"\":\"\\\\\",\"\\\\\\\"\":[\"\\\\\\\\\"]}");
    GOOD("[\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"]");
    GOOD("[\t1,\r\n 2]\n");
    GOOD("[\"\x7F\"]");
    GOOD("[\"0123456789012345678901234567890123456789012345678901234567890123"
         "456789012345678901234567890123456789012345678901234567890123\"]");
}

TEST(body_check, refuses_an_empty_text)
{
    for (size_t k = 0; k < PDR_COUNT(checks); k++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, checks[k](pdr_str_n(NULL, 0), DEEP, &err));
        ASSERT_STR("bad_body", err.reason);
        ASSERT_RC(PDR_EINVALID, checks[k](PDR_LIT(" \n\t\r"), DEEP, &err));
        ASSERT_STR("bad_body", err.reason);
    }
}

TEST(body_check, refuses_what_would_break_the_document_around_it)
{
    BAD(1, "{},{}");
    BAD(1, "{}{}");
    BAD(2, "[1]]");
    BAD(0, "]");
    BAD(1, "1,2");
    BAD(1, "1],[2");
    BAD(2, "\"a\",\"b\"");
    BAD(2, "\"a\"]");
    BAD(1, "1 2");
    BAD(1, "1\"a\"");
}

TEST(body_check, refuses_what_is_not_closed)
{
    BAD(1, "{");
    BAD(3, "[[]");
    BAD(1, "\"");
    BAD(3, "[\"]");
    BAD(4, "[\"\\\"");
    BAD(5, "[\"a]}");
}

TEST(body_check, refuses_brackets_that_do_not_fit)
{
    BAD(1, "{]");
    BAD(1, "[}");
    BAD(3, "[{}}");
    BAD(7, "{\"a\":[1}");
}

TEST(body_check, refuses_bytes_that_cannot_stand_there)
{
    BAD(2, "[\"\n\"]");
    BAD(2, "[\"\x1F\"]");
    BAD(2, "[\"\0\"]");
    BAD(1, "[\0]");
    BAD(1, "[\x0B]");
    BAD(1, "[\\n]");
    BAD(1, "[\xC3\xA9]");
    BAD(0, "\xEF\xBB\xBF{}");
    BAD(3, "[\"\\\n\"]");
}

TEST(body_check, refuses_what_is_not_utf8)
{
    BAD(2, "[\"\x80\"]");
    BAD(2, "[\"\xC3\"]");
    BAD(2, "[\"\xED\xA0\x80\"]");
    BAD(2, "[\"\xF4\x90\x80\x80\"]");
}

TEST(body_check, has_a_depth_one_below_and_one_above)
{
    GOOD("[[[[[[[[]]]]]]]]");
    expect(PDR_LIT("[[[[[[[[[]]]]]]]]]"), "too_deep", 8);
    GOOD("[[[[[[[{}],{},[[]]]]]]]]");
    expect(PDR_LIT("[[[[[[[{\"a\":{\"b\":1}}"), "too_deep", 12);
}

TEST(body_check, goes_down_to_the_deepest_level)
{
    char text[2 * PDR_MAX_DEPTH + 2];

    for (size_t depth = 1; depth <= PDR_MAX_DEPTH; depth += 341) {
        for (size_t i = 0; i < depth; i++) {
            text[i] = i % 3 == 0 ? '{' : '[';
            text[2 * depth - 1 - i] = i % 3 == 0 ? '}' : ']';
        }
        for (size_t k = 0; k < PDR_COUNT(checks); k++) {
            pdr_err err = PDR_ERR_INIT;
            pdr_str body = pdr_str_n(text, 2 * depth);

            ASSERT_RC(PDR_OK, checks[k](body, depth, &err));
            ASSERT_RC(PDR_ELIMIT, checks[k](body, depth - 1, &err));
            ASSERT_STR("too_deep", err.reason);
            ASSERT_INT(depth - 1, err.offset);
        }
    }
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void compare(pdr_str body)
{
    struct body_model wanted = body_model_check(body, DEEP);
    const pdr_rc codes[] = {PDR_OK, PDR_EINVALID, PDR_ELIMIT};

    for (size_t k = 0; k < PDR_COUNT(checks); k++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(codes[wanted.verdict], checks[k](body, DEEP, &err));
        if (wanted.verdict != BODY_GOOD)
            ASSERT_INT(wanted.offset, err.offset);
    }
}

/* Texts of the bytes that matter, and good ones with a byte or two changed. */
TEST(body_check, says_the_same_as_the_plain_way)
{
    static const char bytes[] = "{}[]\"\"\"\\\\ \n\x01"
                                "a,:1\xC3\xA9";
    static const char good[] =
        "{\"a\":[\"\\\\\\\"x\",{\"b\":\"\xC3\xA9 and some more text, to get "
        "past one block of 64 bytes\",\"c\":[[],[{}]]}],\"d\":\"\\n\"}\n";
    uint64_t seed = 7;
    size_t goods = 0;
    char room[LONGEST];

    for (unsigned round = 0; round < MUTATION; round++) {
        size_t len = next_random(&seed) % LONGEST;

        for (size_t i = 0; i < len; i++)
            room[i] = bytes[next_random(&seed) % (sizeof(bytes) - 1)];
        compare(pdr_str_n(room, len));
        len = sizeof(good) - 1;
        memcpy(room, good, len);
        for (unsigned n = next_random(&seed) % 3; n > 0; n--)
            room[next_random(&seed) % len] =
                bytes[next_random(&seed) % (sizeof(bytes) - 1)];
        compare(pdr_str_n(room, len));
        goods +=
            body_model_check(pdr_str_n(room, len), DEEP).verdict == BODY_GOOD;
    }
    ASSERT(goods > MUTATION / 10 && goods < MUTATION);
}
