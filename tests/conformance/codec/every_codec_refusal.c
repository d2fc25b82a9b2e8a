/*
 * every_codec_refusal.c - what every codec refuses: documents that are cut,
 * damaged, too deep, too large, or hold what nobody asked for.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "corpus.h"
#include "json_maker.h"

static const char *const documents[] = {
    "{}",
    "[]",
    "\"text\"",
    "{\"a\":[1,2.50,{\"b\":null}],\"a\":\"\\u00E9\",\"\":true}",
    "[[],{},\"\",\"\\ud800\",1e400,-0,[false,[0.1]]]",
    "{\"\\u0000\":{\"k\\/\":[\"<&>\"]}}"};
#define DOCUMENT_COUNT (sizeof(documents) / sizeof(documents[0]))

/* Call `check` with each codec. */
#define EACH_CODEC(codec)                       \
    const pdr_codec *codecs_[TRIP_MAX_CODECS];  \
    const pdr_codec *codec = NULL;              \
    size_t codec_count_ = trip_codecs(codecs_); \
    for (size_t c_ = 0; c_ < codec_count_ && (codec = codecs_[c_], 1); c_++)

TEST(every_codec, refuses_every_beginning_of_a_document)
{
    struct roundtrip_report report;

    EACH_CODEC(codec)
    {
        for (size_t i = 0; i < DOCUMENT_COUNT; i++)
            if (!trip_check_cuts(&report, codec, pdr_str_c(documents[i])))
                corpus_complain(documents[i], "cut", "%s", report.text);
    }
    corpus_assert_no_complaint();
}

TEST(every_codec, gives_whole_documents_of_a_sequence_that_is_cut)
{
    static const char lines[] =
        "{\"a\":[1.10,true]}\n[]\n\"s\"\n[\"\\ud800\",{\"b\":null}]\n";
    struct roundtrip_report report;

    EACH_CODEC(codec)
    {
        for (const pdr_codec_form *f = codec->forms; f->name != NULL; f++)
            if ((f->flags & PDR_SEQUENCE) != 0 &&
                !trip_check_sequence_cuts(&report, codec, f->flags,
                                          pdr_str_c(lines)))
                corpus_complain(f->name, "cut", "%s", report.text);
    }
    corpus_assert_no_complaint();
}

TEST(every_codec, refuses_damage_or_reads_a_value_that_survives)
{
    static const char *const small[] = {
        "{\"a\":[1,2.50,null],\"b\\/\":\"x\\u0000\"}", "[-7,true,\"\",{}]",
        "\"\\ud800\"", "-12.0e+3"};
    struct roundtrip_report report;

    EACH_CODEC(codec)
    {
        for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
            if (!trip_check_damage(&report, codec, pdr_str_c(small[i])))
                corpus_complain(small[i], "damage", "%s", report.text);
    }
    corpus_assert_no_complaint();
}

TEST(every_codec, refuses_a_second_document)
{
    EACH_CODEC(codec)
    {
        pdr_buf bytes = PDR_BUF_INIT(UINT32_MAX), tape = bytes;
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        const struct trip_way way = {SIZE_MAX, TRIP_EVENTS, 0};

        ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c("[1]"), NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
        pdr_value_free(value);
        ASSERT_RC(
            PDR_EINVALID,
            pdr_codec_read(&value, codec, pdr_buf_str(&bytes), NULL, &err));
        ASSERT(value == NULL);
        ASSERT_RC(PDR_EINVALID, trip_tape(&tape, codec, pdr_buf_str(&bytes),
                                          NULL, way, &err));
        pdr_buf_dispose(&tape);
        pdr_buf_dispose(&bytes);
    }
}

TEST(every_codec, refuses_nothing_at_all)
{
    EACH_CODEC(codec)
    {
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_read(&value, codec, pdr_str_c(""), NULL, &err));
        ASSERT_STR("empty_input", err.reason);
        ASSERT_INT(0, err.offset);
    }
}

/* --- bare tokens --------------------------------------------------------- */

static const char bare[] = "{\"a\":[1,{\"b\":NaN}],\"c\":[-Infinity,Infinity]}";

static pdr_value *bare_value(void)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(bare), &opts, NULL));
    return value;
}

TEST(every_codec, writes_bare_tokens_only_when_asked_and_says_where)
{
    const struct trip_end json = {pdr_json_codec(), PDR_BARE_TOKENS};
    pdr_value *value = bare_value();

    EACH_CODEC(codec)
    {
        const struct trip_end to = {codec, 0};
        pdr_buf out = PDR_BUF_INIT(UINT32_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_write(&out, codec, value, NULL, &err));
        ASSERT_STR("bare_token", err.reason);
        ASSERT_STR("/a/1/b", err.path);
        ASSERT_SIZE(0, out.len);
        /* Whole, in two halves, and event by event. */
        for (size_t level = 0; level < 4; level++) {
            struct trip_way way = {SIZE_MAX, TRIP_TAKE, level};
            err = (pdr_err)PDR_ERR_INIT;
            ASSERT_RC(PDR_EINVALID,
                      trip_copy(&out, to, NULL, json, pdr_str_c(bare), way,
                                NULL, &err));
            ASSERT_STR("bare_token", err.reason);
            ASSERT_STR("/a/1/b", err.path);
        }
        pdr_buf_dispose(&out);
    }
    pdr_value_free(value);
}

TEST(every_codec, reads_bare_tokens_only_when_asked_and_says_where)
{
    pdr_write_opts write = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = bare_value();

    EACH_CODEC(codec)
    {
        pdr_buf bytes = PDR_BUF_INIT(UINT32_MAX), tape = bytes;
        pdr_value *none = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, &write, NULL));
        ASSERT_RC(
            PDR_EINVALID,
            pdr_codec_read(&none, codec, pdr_buf_str(&bytes), NULL, &err));
        ASSERT_STR("bare_token", err.reason);
        ASSERT_STR("/a/1/b", err.path);
        ASSERT(err.offset > 0 && err.offset < (int64_t)bytes.len);
        for (size_t level = 0; level < 4; level++) {
            struct trip_way way = {7, TRIP_TAKE, level};
            err = (pdr_err)PDR_ERR_INIT;
            ASSERT_RC(PDR_EINVALID, trip_tape(&tape, codec, pdr_buf_str(&bytes),
                                              NULL, way, &err));
            ASSERT_STR("bare_token", err.reason);
            ASSERT_STR("/a/1/b", err.path);
        }
        pdr_buf_dispose(&tape);
        pdr_buf_dispose(&bytes);
    }
    pdr_value_free(value);
}

/* --- limits -------------------------------------------------------------- */

/* Both ways to read a document with these limits. */
static void assert_read(pdr_rc expected, const char *reason,
                        const pdr_codec *codec, const pdr_buf *bytes,
                        const pdr_read_opts *opts)
{
    const struct trip_way way = {SIZE_MAX, TRIP_TAKE, 0};
    pdr_buf tape = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(expected,
              pdr_codec_read(&value, codec, pdr_buf_str(bytes), opts, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT((value != NULL) == (expected == PDR_OK));
    pdr_value_free(value);
    err = (pdr_err)PDR_ERR_INIT;
    ASSERT_RC(expected,
              trip_tape(&tape, codec, pdr_buf_str(bytes), opts, way, &err));
    ASSERT_STR(reason, err.reason);
    pdr_buf_dispose(&tape);
}

/* The bytes of a document of any depth. */
static void bytes_of(pdr_buf *out, const pdr_codec *codec, const pdr_buf *json)
{
    pdr_read_opts opts = {.max_depth = 1024};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_buf_str(json), &opts, NULL));
    pdr_buf_clear(out);
    ASSERT_RC(PDR_OK, pdr_codec_write(out, codec, value, NULL, NULL));
    pdr_value_free(value);
}

TEST(every_codec, has_a_limit_of_depth)
{
    static const struct {
        size_t depth;
        uint32_t max;
        bool fits;
    } rows[] = {{1, 1, true},       {2, 1, false},       {5, 5, true},
                {6, 5, false},      {128, 0, true},      {129, 0, false},
                {1023, 1023, true}, {1024, 1023, false}, {1024, 1024, true}};
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX), bytes = json;

    EACH_CODEC(codec)
    {
        for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
            size_t row = i / 2;
            pdr_read_opts opts = {.max_depth = rows[row].max};
            pdr_buf_clear(&json);
            json_make_deep(&json, rows[row].depth, i % 2 == 1);
            bytes_of(&bytes, codec, &json);
            assert_read(rows[row].fits ? PDR_OK : PDR_ELIMIT,
                        rows[row].fits ? "" : "too_deep", codec, &bytes, &opts);
        }
    }
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&json);
}

TEST(every_codec, writes_as_many_levels_as_a_value_may_have)
{
    EACH_CODEC(codec)
    {
        pdr_buf out = PDR_BUF_INIT(UINT32_MAX);
        pdr_writer *writer = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK,
                  pdr_writer_new(&writer, codec, NULL, NULL, trip_take, &out));
        for (size_t i = 0; i < 1024; i++)
            ASSERT_RC(PDR_OK,
                      pdr_writer_put(writer, PDR_BEGIN_ARRAY, NULL, NULL));
        ASSERT_RC(PDR_ELIMIT,
                  pdr_writer_put(writer, PDR_BEGIN_ARRAY, NULL, &err));
        ASSERT_STR("too_deep", err.reason);
        pdr_writer_free(writer);
        pdr_buf_dispose(&out);
    }
}

TEST(every_codec, has_a_limit_of_nodes)
{
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX), bytes = json;

    EACH_CODEC(codec)
    {
        for (int object = 0; object < 2; object++) {
            uint64_t nodes = object ? 21 : 11;
            pdr_read_opts fits = {.max_nodes = nodes};
            pdr_read_opts small = {.max_nodes = nodes - 1};
            pdr_buf_clear(&json);
            json_make_wide(&json, 10, object);
            bytes_of(&bytes, codec, &json);
            assert_read(PDR_OK, "", codec, &bytes, &fits);
            assert_read(PDR_ELIMIT, "too_many_nodes", codec, &bytes, &small);
        }
    }
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&json);
}

TEST(every_codec, has_a_limit_of_bytes)
{
    static const char *const texts[] = {"[[1,2],\"abcdefgh\",[3,4,5]]",
                                        "\"a string, long enough to matter\""};
    pdr_buf bytes = PDR_BUF_INIT(UINT32_MAX);

    EACH_CODEC(codec)
    {
        for (size_t i = 0; i < 2; i++) {
            pdr_value *value = NULL;
            pdr_err err = PDR_ERR_INIT;
            ASSERT_RC(PDR_OK,
                      pdr_json_read(&value, pdr_str_c(texts[i]), NULL, NULL));
            pdr_buf_clear(&bytes);
            ASSERT_RC(PDR_OK,
                      pdr_codec_write(&bytes, codec, value, NULL, NULL));
            pdr_value_free(value);
            pdr_read_opts opts = {.max_bytes = bytes.len};
            assert_read(PDR_OK, "", codec, &bytes, &opts);
            opts.max_bytes = bytes.len - 1;
            ASSERT_RC(PDR_ELIMIT,
                      pdr_codec_read(&value, codec, pdr_buf_str(&bytes), &opts,
                                     &err));
            ASSERT_STR("too_large", err.reason);
            opts.max_bytes = bytes.len / 4;
            assert_read(PDR_ELIMIT, "too_large", codec, &bytes, &opts);
        }
    }
    pdr_buf_dispose(&bytes);
}

/* Take the value that is two levels deep; it is too large. */
static void assert_untakeable(const char *reason, const pdr_codec *codec,
                              const pdr_buf *bytes, const pdr_read_opts *opts)
{
    struct trip_way way = {SIZE_MAX, TRIP_TAKE, 2};
    pdr_buf tape = PDR_BUF_INIT(UINT32_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT,
              trip_tape(&tape, codec, pdr_buf_str(bytes), opts, way, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(err.offset > 0);
    err.path[strlen("/a/b")] = '\0'; /* or the place where it grew too large */
    ASSERT_STR("/a/b", err.path);
    pdr_buf_dispose(&tape);
}

TEST(every_codec, names_the_value_that_is_too_large_to_be_taken)
{
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX), bytes = json;

    ASSERT_RC(PDR_OK, pdr_buf_append(&json, pdr_str_c("{\"a\":{\"b\":"), NULL));
    json_make_wide(&json, 100, false);
    ASSERT_RC(PDR_OK, pdr_buf_append(&json, pdr_str_c("}}"), NULL));
    EACH_CODEC(codec)
    {
        pdr_read_opts nodes = {.max_nodes = 50}, large = {.max_nodes = 0};
        bytes_of(&bytes, codec, &json);
        large.max_bytes = bytes.len / 2;
        assert_untakeable("too_many_nodes", codec, &bytes, &nodes);
        assert_untakeable("too_large", codec, &bytes, &large);
    }
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&json);
}

/* --- options ------------------------------------------------------------- */

static void assert_bad_option(pdr_rc rc, const pdr_err *err)
{
    ASSERT_RC(PDR_EMISUSE, rc);
    ASSERT_STR("bad_option", err->reason);
}

TEST(every_codec, refuses_each_flag_that_it_does_not_take)
{
    pdr_value *value = pdr_value_new_null();

    EACH_CODEC(codec)
    {
        for (unsigned flag = 1; flag != 0; flag <<= 1) {
            pdr_buf out = PDR_BUF_INIT(UINT32_MAX);
            pdr_read_opts read = {.flags = flag};
            pdr_write_opts write = {.flags = flag};
            struct trip_source source = {pdr_str_c(""), 1};
            pdr_value *none = NULL;
            pdr_walk *walk = NULL;
            pdr_writer *writer = NULL;
            pdr_err err = PDR_ERR_INIT;

            if ((codec->read_flags & flag) == 0)
                assert_bad_option(
                    pdr_codec_read(&none, codec, pdr_str_c("1"), &read, &err),
                    &err);
            if ((codec->walk_flags & flag) == 0)
                assert_bad_option(
                    pdr_walk_new(&walk, codec, &read, &err, trip_give, &source),
                    &err);
            if ((codec->write_flags & flag) == 0)
                assert_bad_option(pdr_writer_new(&writer, codec, &write, &err,
                                                 trip_take, &out),
                                  &err);
            if ((codec->write_flags & flag) == 0 || flag == PDR_SEQUENCE)
                assert_bad_option(
                    pdr_codec_write(&out, codec, value, &write, &err), &err);
            ASSERT(none == NULL && walk == NULL && writer == NULL);
            ASSERT_SIZE(0, out.len);
        }
    }
}

TEST(every_codec, reads_up_to_the_end_of_a_document_if_it_can)
{
    static const char json[] = "{\"a\":[1,\"x\"]}";
    size_t taken = 0;

    EACH_CODEC(codec)
    {
        pdr_buf bytes = PDR_BUF_INIT(UINT32_MAX);
        pdr_value *value = NULL, *again = NULL;
        size_t used = 0;
        pdr_read_opts opts = {.flags = PDR_TRAILING, .used = &used};

        if ((codec->read_flags & PDR_TRAILING) == 0)
            continue;
        ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
        size_t len = bytes.len;
        ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_read(&again, codec, pdr_buf_str(&bytes),
                                         &opts, NULL));
        ASSERT_SIZE(len, used);
        ASSERT(pdr_value_equal(value, again));
        pdr_value_free(again);
        pdr_value_free(value);
        pdr_buf_dispose(&bytes);
        taken++;
    }
    ASSERT(taken >= 1);
}
