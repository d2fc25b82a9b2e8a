/*
 * every_codec_made.c - documents from seeds through every codec. A complaint
 * names the seed, which makes the same document again.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "corpus.h"
#include "json_maker.h"

static uint64_t seeds(void)
{
    return test_times(1000, 100);
}

static void check(const char *name, const pdr_buf *json)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    struct roundtrip_report report;

    for (size_t i = 0; i < count; i++)
        if (!trip_check(&report, codecs[i], pdr_buf_str(json), NULL))
            corpus_complain(name, "round trip", "%s", report.text);
}

/* What was made is compact, so that the check compares with it. */
static void assert_compact(const char *name, const pdr_buf *json)
{
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&value, pdr_buf_str(json), NULL, &err) != PDR_OK)
        fail_msg("%s: %s at %d", name, err.reason, (int)err.offset);
    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, NULL));
    ASSERT_BYTES(pdr_buf_str(json), pdr_buf_str(&text));
    pdr_value_free(value);
    pdr_buf_dispose(&text);
}

static void check_seeds(void (*make)(pdr_buf *out, uint64_t seed))
{
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        char name[32];
        snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
        pdr_buf_clear(&json);
        make(&json, seed);
        assert_compact(name, &json);
        check(name, &json);
    }
    pdr_buf_dispose(&json);
    corpus_assert_no_complaint();
}

TEST(every_codec, gives_made_documents_back)
{
    check_seeds(json_make);
}

TEST(every_codec, gives_made_strings_back)
{
    check_seeds(json_make_string);
}

TEST(every_codec, gives_made_numbers_back)
{
    check_seeds(json_make_number);
}

TEST(every_codec, gives_made_documents_back_with_every_kernel)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    struct corpus_kernel kernels[4];
    size_t count = trip_codecs(codecs), kernel_count = corpus_kernels(kernels);
    struct roundtrip_report report;
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    for (uint64_t seed = 1; seed <= seeds() / 5; seed++) {
        pdr_buf_clear(&json);
        json_make(&json, seed);
        for (size_t i = 0; i < count * kernel_count; i++) {
            pdr_read_opts opts = {.kernel = kernels[i / count].kernel};
            if (!trip_check(&report, codecs[i % count], pdr_buf_str(&json),
                            &opts))
                corpus_complain(kernels[i / count].name, "round trip",
                                "seed %llu: %s", (unsigned long long)seed,
                                report.text);
        }
    }
    pdr_buf_dispose(&json);
    corpus_assert_no_complaint();
}

TEST(every_codec, gives_made_documents_to_every_other_codec)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    struct roundtrip_report report;
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        size_t from = seed % count, to = seed / count % count;
        pdr_buf_clear(&json);
        json_make(&json, seed);
        if (!trip_check_pair(&report, codecs[from], codecs[to],
                             pdr_buf_str(&json), NULL))
            corpus_complain(codecs[from]->title, codecs[to]->title,
                            "seed %llu: %s", (unsigned long long)seed,
                            report.text);
    }
    pdr_buf_dispose(&json);
    corpus_assert_no_complaint();
}

/* --- values that were changed -------------------------------------------- */

/* Change a container somewhere: take away from it or add to it. */
static void change(pdr_value **io, uint64_t seed)
{
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *added = NULL;
    pdr_rc rc = PDR_OK;

    json_make(&text, seed * 31 + 7);
    ASSERT_RC(PDR_OK, pdr_json_read(&added, pdr_buf_str(&text), NULL, NULL));
    if (pdr_value_kind(*io) == PDR_ARRAY && seed % 3 == 0)
        rc = pdr_value_insert(io, 0, added, NULL);
    else if (pdr_value_kind(*io) == PDR_ARRAY && pdr_value_count(*io) > 0 &&
             seed % 3 == 1)
        rc = pdr_value_replace(io, seed % pdr_value_count(*io), added, NULL);
    else if (pdr_value_kind(*io) == PDR_ARRAY)
        rc = pdr_value_append(io, added, NULL);
    else if (pdr_value_kind(*io) == PDR_OBJECT)
        rc = pdr_value_set(io, pdr_str_c(seed % 2 == 0 ? "a" : "new\n"), added,
                           NULL);
    ASSERT_RC(PDR_OK, rc);
    pdr_value_free(added);
    pdr_buf_dispose(&text);
}

/* Written whole, and put whole into a writer. */
static void check_changed(const char *name, const pdr_codec *codec,
                          const pdr_value *value, pdr_str expected)
{
    pdr_buf whole = PDR_BUF_INIT(UINT32_MAX), put = whole, text = whole;
    pdr_writer *writer = NULL;
    pdr_value *back = NULL;

    ASSERT_RC(PDR_OK, pdr_codec_write(&whole, codec, value, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_writer_new(&writer, codec, NULL, NULL, trip_take, &put));
    ASSERT_RC(PDR_OK, pdr_writer_put(writer, PDR_SCALAR, value, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_finish(writer, NULL));
    ASSERT_BYTES(pdr_buf_str(&whole), pdr_buf_str(&put));
    ASSERT_RC(PDR_OK,
              pdr_codec_read(&back, codec, pdr_buf_str(&whole), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, back, NULL, NULL));
    if (!pdr_str_equal(expected, pdr_buf_str(&text)))
        corpus_complain(name, codec->title,
                        "a changed value comes back as %.*s",
                        (int)(text.len < 200 ? text.len : 200), text.ptr);
    pdr_value_free(back);
    pdr_writer_free(writer);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&put);
    pdr_buf_dispose(&whole);
}

TEST(every_codec, gives_values_that_were_changed_back)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        pdr_buf json = PDR_BUF_INIT(UINT32_MAX), text = json;
        pdr_value *value = NULL;
        char name[32];

        snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
        json_make(&json, seed);
        ASSERT_RC(PDR_OK,
                  pdr_json_read(&value, pdr_buf_str(&json), NULL, NULL));
        for (uint64_t i = 0; i < 4; i++)
            change(&value, seed * 4 + i);
        ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, NULL));
        for (size_t c = 0; c < count; c++)
            check_changed(name, codecs[c], value, pdr_buf_str(&text));
        pdr_value_free(value);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&json);
    }
    corpus_assert_no_complaint();
}
