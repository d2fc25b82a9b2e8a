/*
 * formats.c - statements about sessions in several formats, as far as they are
 * about the formats: documents of the Python edition, its samples, hostile
 * depth, characters that XML cannot hold.
 */
#include "corpus.h"
#include "values.h"

/* Read all documents of a file and write them again, in the same form. */
static pdr_rc rewrite(pdr_buf *out, const pdr_format *format, pdr_str input,
                      pdr_err *err)
{
    pdr_read_opts read = {.flags = format->flags};
    pdr_write_opts write = {.flags = format->flags};
    pdr_event event = PDR_END_OF_INPUT;
    pdr_writer *writer = NULL;
    pdr_walk *walk = NULL;
    pdr_rc rc =
        pdr_walk_new(&walk, format->codec, &read, err, pdr_read_str, &input);

    if (rc == PDR_OK)
        rc = pdr_writer_new(&writer, format->codec, &write, err, pdr_write_buf,
                            out);
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    while (rc == PDR_OK && event != PDR_END_OF_INPUT) {
        pdr_value *document = NULL;
        rc = pdr_walk_take(&document, walk, err);
        if (rc == PDR_OK)
            rc = pdr_writer_put(writer, PDR_SCALAR, document, err);
        pdr_value_free(document);
        if (rc == PDR_OK)
            rc = pdr_walk_next(&event, walk, err);
    }
    if (rc == PDR_OK)
        rc = pdr_writer_finish(writer, err);
    pdr_writer_free(writer);
    pdr_walk_free(walk);
    return rc;
}

static void check_file(const char *path, pdr_str content)
{
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_format format;

    if (pdr_codec_guess(&format, codecs, count, path, content, true, &err) !=
            PDR_OK ||
        rewrite(&out, &format, content, &err) != PDR_OK)
        corpus_complain(path, "read and written", "%s", err.message);
    else if (!pdr_str_equal(content, pdr_buf_str(&out)))
        corpus_complain(path, "read and written", "as %s, bytes differ",
                        format.name);
    if (strstr(path, "history/") != NULL && strcmp(format.name, "records") != 0)
        corpus_complain(path, "guessed", "%s instead of records", format.name);
    pdr_buf_dispose(&out);
}

TEST(formats, messagepack_of_the_python_edition_comes_back_byte_for_byte)
{
    ASSERT(corpus_each_file("python", ".msgpack", check_file) >= 9);
    corpus_assert_no_complaint();
}

TEST(formats, give_the_sample_session_its_size)
{
    COVERS("S-98");
    static const char json[] =
        "{\"type\":\"session\",\"session_id\":\"demo-7\",\"service_session_"
        "id\":null,\"state\":{\"notes\":{\"n\":300,\"ok\":true}},\"version\":"
        "\"1.0\"}";
    static const char packed[] =
        "\x85\xa4type\xa7session\xaasession_id\xa6"
        "demo-7\xb2service_session_id\xc0\xa5state\x81\xa5notes\x82\xa1n\xcd"
        "\x01\x2c\xa2ok\xc3\xa7version\xa3"
        "1.0";
    pdr_value *value = value_of(json);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_SIZE(120, sizeof(json) - 1);
    ASSERT_SIZE(87, sizeof(packed) - 1);
    ASSERT_JSON(json, value);
    ASSERT_RC(PDR_OK,
              pdr_codec_write(&out, pdr_msgpack_codec(), value, NULL, NULL));
    ASSERT_BYTES(pdr_str_n(packed, sizeof(packed) - 1), pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    pdr_value_free(value);
}

/* --- depth --------------------------------------------------------------- */

#define LEVELS 100000

/* What begins a document, and what begins one more array in it. */
static const struct {
    const char *format, *first, *more;
} arrays[] = {
    {"json", "[", "["},
    {"msgpack", "\x91", "\x91"},
    {"xml", "<array xmlns=\"http://www.w3.org/2005/xpath-functions\">",
     "<array>"},
};

static void refuse_levels(const pdr_format *format, pdr_str input)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_ELIMIT,
              pdr_codec_read(&value, format->codec, input, NULL, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT(value == NULL);
    test_reset_peak();
    size_t before = test_live_bytes();
    ASSERT_RC(PDR_ELIMIT, rewrite(&out, format, input, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT(test_peak_bytes() - before < 1000000);
    pdr_buf_dispose(&out);
}

TEST(formats, refuse_a_hundred_thousand_levels)
{
    COVERS("S-22");
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);

    ASSERT_SIZE(count, sizeof(arrays) / sizeof(arrays[0]));
    for (size_t i = 0; i < count; i++) {
        pdr_buf input = PDR_BUF_INIT(SIZE_MAX);
        pdr_format format;

        ASSERT_RC(PDR_OK, pdr_codec_find(&format, codecs, count,
                                         arrays[i].format, NULL));
        for (int level = 0; level < LEVELS; level++)
            ASSERT_RC(PDR_OK,
                      pdr_buf_append(&input,
                                     pdr_str_c(level == 0 ? arrays[i].first
                                                          : arrays[i].more),
                                     NULL));
        refuse_levels(&format, pdr_buf_str(&input));
        pdr_buf_dispose(&input);
    }
}

/* --- characters that XML cannot hold ------------------------------------- */

TEST(formats, carry_null_and_carriage_return_through_xml)
{
    COVERS("S-112");
    static const char *const texts[] = {"\"a\\u0000b\"", "\"a\\rb\"",
                                        "{\"\\u0000\":\"\\r\\n\\r\"}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pdr_value *value = value_of(texts[i]), *back = NULL;
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK,
                  pdr_codec_write(&out, pdr_xml_codec(), value, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_read(&back, pdr_xml_codec(),
                                         pdr_buf_str(&out), NULL, NULL));
        ASSERT_JSON(texts[i], back);
        pdr_value_free(back);
        pdr_value_free(value);
        pdr_buf_dispose(&out);
    }
}
