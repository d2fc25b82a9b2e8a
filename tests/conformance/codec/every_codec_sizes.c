/*
 * every_codec_sizes.c - containers, strings and numbers of every size and depth
 * at which some format changes the way that it writes them.
 */
#include "codec_trip.h"
#include "corpus.h"
#include "json_maker.h"

static void check(const char *name, const pdr_buf *json,
                  const pdr_read_opts *opts)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    struct roundtrip_report report;

    for (size_t i = 0; i < count; i++)
        if (!trip_check(&report, codecs[i], pdr_buf_str(json), opts))
            corpus_complain(name, "round trip", "%s", report.text);
}

static const size_t sizes[] = {0,   1,   15,  16,  17,   31,    32,   33,
                               127, 128, 255, 256, 4096, 65535, 65536};

static void check_sizes(const char *name,
                        void (*make)(pdr_buf *out, size_t size))
{
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        pdr_buf_clear(&json);
        make(&json, sizes[i]);
        check(name, &json, NULL);
    }
    pdr_buf_dispose(&json);
    corpus_assert_no_complaint();
}

static void make_array(pdr_buf *out, size_t size)
{
    json_make_wide(out, size, false);
}

static void make_object(pdr_buf *out, size_t size)
{
    json_make_wide(out, size, true);
}

static void make_long_name(pdr_buf *out, size_t size)
{
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("{"), NULL));
    json_make_long(out, size);
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c(":[]}"), NULL));
}

static void make_long_number(pdr_buf *out, size_t size)
{
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("[7"), NULL));
    for (size_t i = 0; i < size; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("0"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("]"), NULL));
}

TEST(every_codec, gives_containers_of_every_width_back)
{
    check_sizes("array", make_array);
    check_sizes("object", make_object);
}

TEST(every_codec, gives_long_strings_names_and_numbers_back)
{
    check_sizes("string", json_make_long);
    check_sizes("name", make_long_name);
    check_sizes("number", make_long_number);
}

TEST(every_codec, gives_the_deepest_documents_back)
{
    static const struct {
        size_t depth;
        pdr_read_opts opts;
    } rows[] = {{127, {0}}, {128, {0}}, {1024, {.max_depth = 1024}}};
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int objects = 0; objects < 2; objects++) {
            pdr_buf_clear(&json);
            json_make_deep(&json, rows[i].depth, objects != 0);
            check("deep", &json, &rows[i].opts);
        }
    pdr_buf_dispose(&json);
    corpus_assert_no_complaint();
}
