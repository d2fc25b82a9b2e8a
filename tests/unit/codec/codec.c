/* Whole documents by any codec, and the tables of codecs. */
#include "script_codec.h"
#include "toy.h"
#include "values.h"

#include "base.h"
#include "codec_trip.h"

/* --- tables -------------------------------------------------------------- */

/* All ways into the library that take a table. */
static void assert_refused(pdr_rc rc, const char *reason,
                           const pdr_codec *codec)
{
    struct trip_source source = {pdr_str_c("1"), 1};
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_value *null = pdr_value_new_null(), *value = null;
    pdr_walk *walk = NULL;
    pdr_writer *writer = NULL;
    pdr_format format;
    pdr_err err[6] = {PDR_ERR_INIT};

    ASSERT_RC(rc, pdr_codec_read(&value, codec, pdr_str_c("1"), NULL, &err[0]));
    ASSERT_RC(rc, pdr_codec_write(&out, codec, null, NULL, &err[1]));
    ASSERT_RC(rc,
              pdr_walk_new(&walk, codec, NULL, &err[2], trip_give, &source));
    ASSERT_RC(rc,
              pdr_writer_new(&writer, codec, NULL, &err[3], trip_take, &out));
    ASSERT_RC(rc, pdr_codec_find(&format, &codec, 1, "x", &err[4]));
    ASSERT_RC(rc, pdr_codec_guess(&format, &codec, 1, NULL, pdr_str_c("1"),
                                  true, &err[5]));
    for (size_t i = 0; i < PDR_COUNT(err); i++)
        ASSERT_STR(reason, err[i].reason);
    ASSERT(value == NULL && walk == NULL && writer == NULL);
    ASSERT_SIZE(0, out.len);
}

TEST(codec_table, must_have_every_required_slot)
{
    static const pdr_codec_form no_form = {NULL, NULL, 0};
    pdr_codec t[12];

    for (size_t i = 0; i < PDR_COUNT(t); i++)
        t[i] = *toy_codec();
    t[0].title = NULL;
    t[1].forms = NULL;
    t[2].forms = &no_form;
    t[3].walk_open = NULL;
    t[4].walk_next = NULL;
    t[5].walk_offset = NULL;
    t[6].walk_close = NULL;
    t[7].writer_open = NULL;
    t[8].writer_put = NULL;
    t[9].writer_finish = NULL;
    t[10].writer_close = NULL;
    t[11].guess = NULL;
    for (size_t i = 0; i < PDR_COUNT(t); i++)
        assert_refused(PDR_EMISUSE, "missing_slot", &t[i]);
}

TEST(codec_table, must_have_a_version_that_is_known)
{
    pdr_codec t = *toy_codec();

    t.version = 0;
    assert_refused(PDR_EVERSION, "table_version", &t);
    t.version = PDR_CODEC_VERSION + 1;
    assert_refused(PDR_EVERSION, "table_version", &t);
}

/* --- reading ------------------------------------------------------------- */

static const char toy_text[] = "\xC1\n{\n:\"a\"\n[\n=1.10\n]\n}\n";

TEST(codec_read, reads_a_document_and_says_how_much_it_used)
{
    static const struct {
        const pdr_codec *(*codec)(void);
        const char *text;
    } rows[] = {{pdr_json_codec, "{\"a\":[1.10]}"}, {toy_codec, toy_text}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        size_t used = 0;
        pdr_read_opts opts = {.used = &used};
        pdr_value *value = NULL;
        pdr_str text = pdr_str_c(rows[i].text);

        ASSERT_RC(PDR_OK,
                  pdr_codec_read(&value, rows[i].codec(), text, &opts, NULL));
        ASSERT_JSON("{\"a\":[1.10]}", value);
        ASSERT_SIZE(text.len, used);
        pdr_value_free(value);
        ASSERT_RC(PDR_OK,
                  pdr_codec_read(&value, rows[i].codec(), text, NULL, NULL));
        ASSERT_JSON("{\"a\":[1.10]}", value);
        pdr_value_free(value);
    }
}

TEST(codec_read, leaves_nothing_behind_when_it_fails)
{
    static const char *const texts[] = {"",
                                        "\xC1\n",
                                        "\xC1\n=1\n=2\n",
                                        "\xC1\n=1\n\xC1\n=2\n",
                                        "\xC1\n[\n=1\n",
                                        "\xC1\n[\n=x\n]\n",
                                        "=1\n"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        size_t used = 77;
        pdr_read_opts opts = {.used = &used};
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_read(&value, toy_codec(), pdr_str_c(texts[i]),
                                 &opts, &err));
        ASSERT(value == NULL);
        ASSERT_SIZE(77, used);
        ASSERT_RC(PDR_EINVALID, err.code);
        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_read(&value, toy_codec(), pdr_str_c(texts[i]), NULL,
                                 NULL));
    }
}

TEST(codec_read, counts_all_bytes_of_a_document)
{
    pdr_read_opts opts = {.max_bytes = sizeof(toy_text) - 1};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_str text = pdr_str_c(toy_text);

    ASSERT_RC(PDR_OK, pdr_codec_read(&value, toy_codec(), text, &opts, NULL));
    pdr_value_free(value);
    opts.max_bytes--;
    ASSERT_RC(PDR_ELIMIT,
              pdr_codec_read(&value, toy_codec(), text, &opts, &err));
    ASSERT_STR("too_large", err.reason);
    ASSERT_INT(sizeof(toy_text) - 2, err.offset);
    ASSERT(value == NULL);
}

TEST(codec_read, takes_one_document_from_a_codec_that_gives_more_or_none)
{
    static const struct script_row two[] = {{PDR_SCALAR, "1"},
                                            {PDR_SCALAR, "2"}};
    const pdr_codec codec = script_codec();
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    script_play(two, 2);
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_read(&value, &codec, pdr_str_c("x"), NULL, &err));
    ASSERT_STR("trailing_data", err.reason);
    ASSERT_INT(1, err.offset);
    ASSERT(value == NULL);
    script_play(NULL, 0);
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_read(&value, &codec, pdr_str_c("x"), NULL, &err));
    ASSERT_STR("empty_input", err.reason);
    ASSERT_SIZE(script.opened, script.closed);
}

TEST(codec_read, refuses_limits_above_their_maximum)
{
    static const pdr_read_opts rows[] = {
        {.max_depth = 1025},
        {.max_bytes = (uint64_t)UINT32_MAX + 1},
        {.max_nodes = UINT64_C(1) << 28},
        {.kernel = (pdr_kernel)99}};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < PDR_COUNT(rows); i++) {
            struct trip_source source = {pdr_str_c("1"), 1};
            pdr_value *value = NULL;
            pdr_walk *walk = NULL;
            pdr_err err = PDR_ERR_INIT;

            ASSERT_RC(PDR_EMISUSE,
                      pdr_codec_read(&value, codecs[c], pdr_str_c("1"),
                                     &rows[i], &err));
            ASSERT_STR("bad_option", err.reason);
            ASSERT_RC(PDR_EMISUSE, pdr_walk_new(&walk, codecs[c], &rows[i],
                                                &err, trip_give, &source));
            ASSERT_STR("bad_option", err.reason);
        }
}

/* --- writing ------------------------------------------------------------- */

TEST(codec_write, appends_and_takes_back_what_failed)
{
    pdr_read_opts bare = {.flags = PDR_BARE_TOKENS};
    pdr_value *good = value_of("[1,[2]]"), *bad = NULL;
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    ASSERT_RC(PDR_OK, pdr_json_read(&bad, pdr_str_c("[1,[NaN]]"), &bare, NULL));
    for (size_t i = 0; i < count; i++) {
        pdr_buf out = PDR_BUF_INIT(1000);
        pdr_value *back = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c("abc"), NULL));
        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_write(&out, codecs[i], bad, NULL, &err));
        ASSERT_STR("bare_token", err.reason);
        ASSERT_STR("/1/0", err.path);
        ASSERT_TEXT("abc", pdr_buf_str(&out));
        ASSERT_RC(PDR_OK, pdr_codec_write(&out, codecs[i], good, NULL, NULL));
        ASSERT(memcmp(out.ptr, "abc", 3) == 0);
        ASSERT_RC(PDR_OK, pdr_codec_read(&back, codecs[i],
                                         pdr_str_n(out.ptr + 3, out.len - 3),
                                         NULL, NULL));
        ASSERT_JSON("[1,[2]]", back);
        pdr_value_free(back);
        pdr_buf_dispose(&out);
    }
    pdr_value_free(bad);
    pdr_value_free(good);
}

TEST(codec_write, stops_at_the_limit_of_the_buffer)
{
    pdr_value *value = value_of("[\"a long text, longer than the buffer is\"]");
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count; i++) {
        pdr_buf out = PDR_BUF_INIT(20);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c("abc"), NULL));
        ASSERT_RC(PDR_ELIMIT,
                  pdr_codec_write(&out, codecs[i], value, NULL, &err));
        ASSERT_STR("buffer_full", err.reason);
        ASSERT_TEXT("abc", pdr_buf_str(&out));
        pdr_buf_dispose(&out);
    }
    pdr_value_free(value);
}

TEST(codec_write, refuses_layouts_and_indents_that_are_not_known)
{
    static const pdr_write_opts rows[] = {{.layout = (pdr_layout)3},
                                          {.layout = (pdr_layout)-1},
                                          {.indent = PDR_MAX_INDENT + 1}};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    pdr_value *value = pdr_value_new_null();

    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < PDR_COUNT(rows); i++) {
            pdr_buf out = PDR_BUF_INIT(1000);
            pdr_writer *writer = NULL;
            pdr_err err = PDR_ERR_INIT;

            ASSERT_RC(PDR_EMISUSE,
                      pdr_codec_write(&out, codecs[c], value, &rows[i], &err));
            ASSERT_STR("bad_option", err.reason);
            ASSERT_RC(PDR_EMISUSE, pdr_writer_new(&writer, codecs[c], &rows[i],
                                                  &err, trip_take, &out));
            ASSERT_STR("bad_option", err.reason);
            ASSERT_SIZE(0, out.len);
        }
}

TEST(codec_write, takes_the_largest_indent)
{
    pdr_value *value = value_of("[1]");
    pdr_write_opts opts = {.layout = PDR_PRETTY, .indent = PDR_MAX_INDENT};
    pdr_buf out = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK,
              pdr_codec_write(&out, pdr_json_codec(), value, &opts, NULL));
    ASSERT_TEXT("[\n                1\n]", pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    pdr_value_free(value);
}

TEST(codec_write, says_where_a_bare_token_is_in_a_value_that_was_changed)
{
    pdr_read_opts bare = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL, *one = value_of("1");
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    ASSERT_RC(PDR_OK, pdr_json_read(&value,
                                    pdr_str_c("{\"a\":{\"x\":[0]},"
                                              "\"b\":[[],{\"y\":NaN}]}"),
                                    &bare, NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&value, pdr_str_c("/a/x/0"), one, NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&value, pdr_str_c("/b/1/z"), one, NULL));
    for (size_t i = 0; i < count; i++) {
        pdr_buf out = PDR_BUF_INIT(1000);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_write(&out, codecs[i], value, NULL, &err));
        ASSERT_STR("bare_token", err.reason);
        ASSERT_STR("/b/1/y", err.path);
        ASSERT_SIZE(0, out.len);
        pdr_buf_dispose(&out);
    }
    pdr_value_free(one);
    pdr_value_free(value);
}

/* --- memory -------------------------------------------------------------- */

static const char sample[] =
    "{\"a\":[1.10,\"\\u00E9\",{\"b\":[]}],\"a\":\"\\ud800\"}";

TEST_OOM(codec_read, cleans_up_after_any_failed_allocation)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count; i++) {
        pdr_buf bytes = PDR_BUF_INIT(10000);
        pdr_value *value = NULL, *back = NULL;
        pdr_rc rc = pdr_json_read(&value, pdr_str_c(sample), NULL, NULL);

        if (rc == PDR_OK)
            rc = pdr_codec_write(&bytes, codecs[i], value, NULL, NULL);
        if (rc == PDR_OK)
            rc = pdr_codec_read(&back, codecs[i], pdr_buf_str(&bytes), NULL,
                                NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((back != NULL) == (rc == PDR_OK));
        ASSERT(rc != PDR_OK || pdr_value_equal(value, back));
        pdr_value_free(back);
        pdr_value_free(value);
        pdr_buf_dispose(&bytes);
    }
}

/* --- memory as a stream --------------------------------------------------- */

TEST(read_str, gives_what_is_there_and_then_nothing)
{
    pdr_str rest = pdr_str_c("abcde");
    char into[3] = "";
    size_t got = 0;

    ASSERT_RC(PDR_OK, pdr_read_str(&got, into, 3, NULL, &rest));
    ASSERT_BYTES(pdr_str_c("abc"), pdr_str_n(into, got));
    ASSERT_RC(PDR_OK, pdr_read_str(&got, into, 3, NULL, &rest));
    ASSERT_BYTES(pdr_str_c("de"), pdr_str_n(into, got));
    ASSERT_RC(PDR_OK, pdr_read_str(&got, into, 3, NULL, &rest));
    ASSERT_SIZE(0, got);
    rest = pdr_str_n(NULL, 0);
    ASSERT_RC(PDR_OK, pdr_read_str(&got, into, 3, NULL, &rest));
    ASSERT_SIZE(0, got);
}

TEST(write_buf, appends_up_to_the_maximum)
{
    pdr_buf out = PDR_BUF_INIT(5);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_write_buf(pdr_str_c("abc"), &err, &out));
    ASSERT_RC(PDR_ELIMIT, pdr_write_buf(pdr_str_c("def"), &err, &out));
    ASSERT_STR("buffer_full", err.reason);
    ASSERT_RC(PDR_OK, pdr_write_buf(pdr_str_c("de"), &err, &out));
    ASSERT_TEXT("abcde", pdr_buf_str(&out));
    pdr_buf_dispose(&out);
}
