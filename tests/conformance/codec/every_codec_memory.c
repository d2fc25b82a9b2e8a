/*
 * every_codec_memory.c - streams of any length in bounded memory, with every
 * codec.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "json_maker.h"
#include "test.h"

/* What a walk or a writer may need beside the values that it gives or gets:
 * windows, and the levels of the deepest document. */
#define MAX_EXTRA ((size_t)512 * 1024)

#define ELEMENTS  ((size_t)100000)
#define DOCUMENTS ((size_t)20000)

static pdr_rc count_bytes(pdr_str bytes, pdr_err *err, void *arg)
{
    (void)err;
    *(size_t *)arg += bytes.len;
    return PDR_OK;
}

/* Walk over all events; gives how many there were. */
static size_t walk_over(const pdr_codec *codec, unsigned flags,
                        const pdr_buf *bytes, bool skip)
{
    struct trip_source source = {pdr_buf_str(bytes), 1000};
    pdr_read_opts opts = {.flags = flags};
    pdr_event event = PDR_SCALAR;
    pdr_walk *walk = NULL;
    size_t events = 0;

    ASSERT_RC(PDR_OK,
              pdr_walk_new(&walk, codec, &opts, NULL, trip_give, &source));
    for (; event != PDR_END_OF_INPUT; events++) {
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
        if (skip && event == PDR_BEGIN_ARRAY)
            ASSERT_RC(PDR_OK, pdr_walk_skip(walk, NULL));
    }
    pdr_walk_free(walk);
    return events;
}

TEST(every_codec, walks_over_a_long_document_in_bounded_memory)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count; i++) {
        pdr_buf json = PDR_BUF_INIT(UINT32_MAX), bytes = json;
        pdr_value *value = NULL;

        json_make_wide(&json, ELEMENTS, false);
        ASSERT_RC(PDR_OK, pdr_json_read_take(&value, &json, NULL, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_codec_write(&bytes, codecs[i], value, NULL, NULL));
        pdr_value_free(value);
        size_t before = test_live_bytes();
        test_reset_peak();
        ASSERT_SIZE(ELEMENTS + 3, walk_over(codecs[i], 0, &bytes, false));
        ASSERT_SIZE(2, walk_over(codecs[i], 0, &bytes, true));
        ASSERT(test_peak_bytes() - before < MAX_EXTRA);
        pdr_buf_dispose(&bytes);
    }
}

/* Write many documents; gives the bytes. */
static size_t write_many(const pdr_codec *codec, unsigned flags,
                         const pdr_value *value, pdr_write_fn fn, void *arg)
{
    pdr_write_opts opts = {.flags = flags};
    pdr_writer *writer = NULL;
    size_t before = test_live_bytes();

    test_reset_peak();
    ASSERT_RC(PDR_OK, pdr_writer_new(&writer, codec, &opts, NULL, fn, arg));
    for (size_t i = 0; i < DOCUMENTS; i++)
        ASSERT_RC(PDR_OK, pdr_writer_put(writer, PDR_SCALAR, value, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_finish(writer, NULL));
    pdr_writer_free(writer);
    return test_peak_bytes() - before;
}

static void check_sequence(const pdr_codec *codec, unsigned flags)
{
    pdr_buf bytes = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *value = NULL;
    size_t total = 0;

    ASSERT_RC(PDR_OK,
              pdr_json_read(&value, pdr_str_c("[1,{\"name\":\"some text\"}]"),
                            NULL, NULL));
    ASSERT(write_many(codec, flags, value, count_bytes, &total) < MAX_EXTRA);
    (void)write_many(codec, flags, value, trip_take, &bytes);
    ASSERT_SIZE(total, bytes.len);
    size_t before = test_live_bytes();
    test_reset_peak();
    ASSERT_SIZE(7 * DOCUMENTS + 1, walk_over(codec, flags, &bytes, false));
    ASSERT(test_peak_bytes() - before < MAX_EXTRA);
    pdr_value_free(value);
    pdr_buf_dispose(&bytes);
}

TEST(every_codec, reads_and_writes_a_long_sequence_in_bounded_memory)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count; i++)
        for (const pdr_codec_form *f = codecs[i]->forms; f->name != NULL; f++)
            if ((f->flags & PDR_SEQUENCE) != 0)
                check_sequence(codecs[i], f->flags);
}
