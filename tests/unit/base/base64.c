/* base64 and base64url: both ways, and what is refused. */
#include "test.h"

#include "base.h"

TEST(base64_encode, gives_the_examples_of_rfc_4648)
{
    static const char *const rows[][3] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xFB\xFF\xFE", "+//+", "-__-"}, /* letters that differ */
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf text = PDR_BUF_INIT(100), url = PDR_BUF_INIT(100);
        pdr_str bytes = pdr_str_c(rows[i][0]);

        ASSERT_RC(PDR_OK,
                  pdr__base64_encode(&text, bytes, PDR_BASE64, true, NULL));
        ASSERT_TEXT(rows[i][1], pdr_buf_str(&text));
        ASSERT_RC(PDR_OK,
                  pdr__base64_encode(&url, bytes, PDR_BASE64_URL, false, NULL));
        ASSERT_TEXT(rows[i][2], pdr_buf_str(&url));
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&url);
    }
}

TEST(base64_encode, pads_both_alphabets_or_none_as_asked)
{
    pdr_buf text = PDR_BUF_INIT(100);

    ASSERT_RC(PDR_OK, pdr__base64_encode(&text, pdr_str_c("\xFF"),
                                         PDR_BASE64_URL, true, NULL));
    ASSERT_RC(PDR_OK, pdr__base64_encode(&text, pdr_str_c("\xFF\xFF"),
                                         PDR_BASE64, false, NULL));
    ASSERT_TEXT("_w==//8", pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

TEST(base64_encode, keeps_to_the_maximum_of_the_buffer)
{
    pdr_buf eight = PDR_BUF_INIT(8), seven = PDR_BUF_INIT(7);
    pdr_err err = PDR_ERR_INIT;
    pdr_str bytes = pdr_str_c("abcde");

    ASSERT_RC(PDR_OK,
              pdr__base64_encode(&eight, bytes, PDR_BASE64, true, &err));
    ASSERT_RC(PDR_ELIMIT,
              pdr__base64_encode(&seven, bytes, PDR_BASE64, true, &err));
    ASSERT_STR("buffer_full", err.reason);
    ASSERT_SIZE(0, seven.len);
    ASSERT_RC(PDR_OK,
              pdr__base64_encode(&seven, bytes, PDR_BASE64, false, &err));
    pdr_buf_dispose(&eight);
    pdr_buf_dispose(&seven);
}

TEST(base64_encode, refuses_a_size_that_overflows)
{
    pdr_buf text = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_ELIMIT, pdr__base64_encode(&text, pdr_str_n("x", SIZE_MAX),
                                             PDR_BASE64, true, NULL));
    pdr_buf_dispose(&text);
}

TEST(base64_decode, gives_back_every_length_and_every_byte)
{
    char bytes[260];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7 + 3);
    for (size_t len = 0; len <= sizeof(bytes); len++)
        for (unsigned way = 0; way < 4; way++) {
            enum pdr__base64 kind = way < 2 ? PDR_BASE64_URL : PDR_BASE64;
            bool padded = way != 0;
            pdr_str in = pdr_str_n(bytes, len);
            pdr_buf text = PDR_BUF_INIT(1000), back = PDR_BUF_INIT(1000);

            ASSERT_RC(PDR_OK,
                      pdr__base64_encode(&text, in, kind, padded, NULL));
            ASSERT_RC(PDR_OK, pdr__base64_decode(&back, pdr_buf_str(&text),
                                                 kind, NULL));
            ASSERT_BYTES(in, pdr_buf_str(&back));
            pdr_buf_dispose(&text);
            pdr_buf_dispose(&back);
        }
}

TEST(base64_decode, appends_and_keeps_to_the_maximum)
{
    pdr_buf out = PDR_BUF_INIT(6);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c("ab"), NULL));
    ASSERT_RC(PDR_OK,
              pdr__base64_decode(&out, pdr_str_c("Zm9v"), PDR_BASE64, &err));
    ASSERT_TEXT("abfoo", pdr_buf_str(&out));
    ASSERT_RC(PDR_ELIMIT,
              pdr__base64_decode(&out, pdr_str_c("Zm8="), PDR_BASE64, &err));
    ASSERT_TEXT("abfoo", pdr_buf_str(&out));
    ASSERT_RC(PDR_OK,
              pdr__base64_decode(&out, pdr_str_c("Zg=="), PDR_BASE64, &err));
    ASSERT_TEXT("abfoof", pdr_buf_str(&out));
    pdr_buf_dispose(&out);
}

static const struct bad {
    const char *text;
    enum pdr__base64 kind;
    int64_t offset;
    const char *message;
} bad_texts[] = {
    {"Zg", PDR_BASE64, 2, "0 times '=' where 2 belong"},
    {"Zg=", PDR_BASE64, 3, "1 times '=' where 2 belong"},
    {"Zg=", PDR_BASE64_URL, 3, "1 times '=' where 2 belong"},
    {"Zg===", PDR_BASE64, 4, "3 times '=' where 2 belong"},
    {"Zg===", PDR_BASE64_URL, 4, "3 times '=' where 2 belong"},
    {"Zm8", PDR_BASE64, 3, "0 times '=' where 1 belong"},
    {"Zm8==", PDR_BASE64, 4, "2 times '=' where 1 belong"},
    {"Zm9v=", PDR_BASE64, 4, "1 times '=' where 0 belong"},
    {"====", PDR_BASE64, 0, "4 times '=' where 0 belong"},
    {"=", PDR_BASE64_URL, 0, "1 times '=' where 0 belong"},
    {"Z", PDR_BASE64, 1, "one letter after the last group of four"},
    {"Z===", PDR_BASE64, 1, "one letter after the last group of four"},
    {"Zm9vZ", PDR_BASE64_URL, 5, "one letter after the last group of four"},
    {"Zh==", PDR_BASE64, 1, "the last letter has bits that belong to no byte"},
    {"Zm9", PDR_BASE64_URL, 2,
     "the last letter has bits that belong to no byte"},
    {"Zm9=", PDR_BASE64, 2, "the last letter has bits that belong to no byte"},
    {"Zg==Zg==", PDR_BASE64, 2, "byte 0x3D is no letter of base64"},
    {"Zm9v\n", PDR_BASE64, 4, "byte 0x0A is no letter of base64"},
    {" Zm9v", PDR_BASE64, 0, "byte 0x20 is no letter of base64"},
    {"Zm-v", PDR_BASE64, 2, "byte 0x2D is no letter of base64"},
    {"Zm_v", PDR_BASE64, 2, "byte 0x5F is no letter of base64"},
    {"Zm+v", PDR_BASE64_URL, 2, "byte 0x2B is no letter of base64url"},
    {"Zm/v", PDR_BASE64_URL, 2, "byte 0x2F is no letter of base64url"},
    {"Zm9v\xC3\xA9==", PDR_BASE64, 4, "byte 0xC3 is no letter of base64"},
};

TEST(base64_decode, says_which_byte_is_wrong_and_writes_nothing)
{
    for (size_t i = 0; i < PDR_COUNT(bad_texts); i++) {
        const struct bad *row = &bad_texts[i];
        pdr_buf out = PDR_BUF_INIT(100);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr__base64_decode(&out, pdr_str_c(row->text),
                                                   row->kind, &err));
        ASSERT_STR("bad_base64", err.reason);
        ASSERT_STR(row->message, err.message);
        ASSERT_INT(row->offset, err.offset);
        ASSERT_SIZE(0, out.len);
        pdr_buf_dispose(&out);
    }
}

TEST(base64_decode, takes_exactly_sixty_four_letters)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        size_t taken = 0;
        for (int c = 0; c < 256; c++) {
            char text[4] = {'A', 'A', 'A', (char)c};
            pdr_buf out = PDR_BUF_INIT(3);

            taken += c != '=' &&
                     pdr__base64_decode(&out, pdr_str_n(text, 4),
                                        (enum pdr__base64)kind, NULL) == PDR_OK;
            pdr_buf_dispose(&out);
        }
        ASSERT_SIZE(64, taken);
    }
}

TEST_OOM(base64, leaves_the_buffer_as_it_was_without_memory)
{
    pdr_buf text = PDR_BUF_INIT(100), bytes = PDR_BUF_INIT(100);
    pdr_rc rc =
        pdr__base64_encode(&text, pdr_str_c("foobar"), PDR_BASE64, true, NULL);

    ASSERT(rc == PDR_OK || (rc == PDR_ENOMEM && text.len == 0));
    rc = pdr__base64_decode(&bytes, pdr_str_c("Zm9v"), PDR_BASE64, NULL);
    ASSERT(rc == PDR_OK || (rc == PDR_ENOMEM && bytes.len == 0));
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&bytes);
}
