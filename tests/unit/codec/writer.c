/* Events into any codec: what all writers share, and the writer of JSON. */
#include "codec_trip.h"
#include "json_maker.h"
#include "script_codec.h"
#include "toy.h"
#include "values.h"

#include "base.h"

/* --- order --------------------------------------------------------------- */

/* Events as letters: { [ begin, } ends, : a name, n a name that is no string,
 * = a scalar, v an array as a whole, $ the end of the input, ? no event at all,
 * ; a name without a value, , a begin with one, ! finish. */
static pdr_rc put_letter(pdr_writer *w, char letter, pdr_err *err)
{
    pdr_value *name = value_of("\"k\""), *one = value_of("1");
    pdr_value *list = value_of("[2,{}]");
    pdr_rc rc = PDR_OK;

    switch (letter) {
    case '{':
        rc = pdr_writer_put(w, PDR_BEGIN_OBJECT, NULL, err);
        break;
    case '[':
        rc = pdr_writer_put(w, PDR_BEGIN_ARRAY, NULL, err);
        break;
    case '}':
        rc = pdr_writer_put(w, PDR_END, NULL, err);
        break;
    case ':':
        rc = pdr_writer_put(w, PDR_NAME, name, err);
        break;
    case 'n':
        rc = pdr_writer_put(w, PDR_NAME, one, err);
        break;
    case ';':
        rc = pdr_writer_put(w, PDR_NAME, NULL, err);
        break;
    case '=':
        rc = pdr_writer_put(w, PDR_SCALAR, one, err);
        break;
    case 'v':
        rc = pdr_writer_put(w, PDR_SCALAR, list, err);
        break;
    case '0':
        rc = pdr_writer_put(w, PDR_SCALAR, NULL, err);
        break;
    case ',':
        rc = pdr_writer_put(w, PDR_BEGIN_ARRAY, one, err);
        break;
    case '$':
        rc = pdr_writer_put(w, PDR_END_OF_INPUT, NULL, err);
        break;
    case '?':
        rc = pdr_writer_put(w, (pdr_event)6, NULL, err);
        break;
    default:
        rc = pdr_writer_finish(w, err);
        break;
    }
    pdr_value_free(list);
    pdr_value_free(one);
    pdr_value_free(name);
    return rc;
}

static pdr_rc put_letters(pdr_writer *w, const char *letters, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (const char *p = letters; *p != '\0' && rc == PDR_OK; p++)
        rc = put_letter(w, *p, err);
    return rc;
}

static pdr_writer *writer_of(pdr_buf *out, const pdr_codec *codec,
                             unsigned flags)
{
    pdr_write_opts opts = {.flags = flags};
    pdr_writer *writer = NULL;

    ASSERT_RC(PDR_OK,
              pdr_writer_new(&writer, codec, &opts, NULL, trip_take, out));
    return writer;
}

TEST(writer_put, takes_events_in_the_order_of_a_document)
{
    static const struct {
        const char *letters;
        unsigned flags;
        const char *text;
    } rows[] = {
        {"=!", 0, "1"},
        {"v!", 0, "[2,{}]"},
        {"{}!", 0, "{}"},
        {"[}!", 0, "[]"},
        {"{:=:v:{}:[=}}!", 0, "{\"k\":1,\"k\":[2,{}],\"k\":{},\"k\":[1]}"},
        {"[=v[}{:[=}}=}!", 0, "[1,[2,{}],[],{\"k\":[1]},1]"},
        {"[}!!", 0, "[]"},
        {"!", PDR_SEQUENCE, ""},
        {"=!", PDR_SEQUENCE, "1\n"},
        {"=[=}v{:=}!", PDR_SEQUENCE, "1\n[1]\n[2,{}]\n{\"k\":1}\n"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf out = PDR_BUF_INIT(1000);
        pdr_writer *w = writer_of(&out, pdr_json_codec(), rows[i].flags);

        ASSERT_RC(PDR_OK, put_letters(w, rows[i].letters, NULL));
        ASSERT_TEXT(rows[i].text, pdr_buf_str(&out));
        pdr_writer_free(w);
        pdr_buf_dispose(&out);
    }
    pdr_writer_free(NULL);
}

TEST(writer_put, refuses_every_other_order_for_ever)
{
    static const struct {
        const char *before; /* which is fine */
        char wrong;
        unsigned flags;
        const char *message, *path;
    } rows[] = {
        {"", '$', 0, "this is no event that can be written", ""},
        {"[=", '$', 0, "this is no event that can be written", "/1"},
        {"", '?', 0, "this is no event that can be written", ""},
        {"", ':', 0, "a name outside an object", ""},
        {"[=", ':', 0, "a name outside an object", ""},
        {"{:[", ':', 0, "a name outside an object", "/k"},
        {"{:", ':', 0, "a name after a name", "/k"},
        {"{", 'n', 0, "a name is a string", ""},
        {"{", ';', 0, "the event needs a value", ""},
        {"[", '0', 0, "the event needs a value", "/0"},
        {"", ',', 0, "the event has no value", ""},
        {"", '}', 0, "nothing is open", ""},
        {"[}", '}', 0, "nothing is open", ""},
        {"{:", '}', 0, "a name without a value", "/k"},
        {"{", '=', 0, "a value in an object needs a name", ""},
        {"{:=", '[', 0, "a value in an object needs a name", ""},
        {"{:=", 'v', 0, "a value in an object needs a name", ""},
        {"=", '=', 0, "the document is complete, and it is to be one", ""},
        {"[}", '{', 0, "the document is complete, and it is to be one", ""},
        {"", '!', 0, "nothing was written", ""},
        {"[", '!', 0, "not all is ended", ""},
        {"{:[=", '!', PDR_SEQUENCE, "not all is ended", ""},
        {"=!", '=', 0, "the writer is finished", ""},
        {"=!", '=', PDR_SEQUENCE, "the writer is finished", ""}};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < PDR_COUNT(rows) * count; i++) {
        size_t row = i / count;
        pdr_buf out = PDR_BUF_INIT(1000);
        const pdr_codec *codec = codecs[i % count];
        if ((rows[row].flags & ~codec->write_flags) != 0)
            continue;
        pdr_writer *w = writer_of(&out, codec, rows[row].flags);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, put_letters(w, rows[row].before, NULL));
        ASSERT_RC(PDR_EMISUSE, put_letter(w, rows[row].wrong, &err));
        for (int again = 0; again < 3; again++) {
            ASSERT_STR("writer_order", err.reason);
            ASSERT_STR(rows[row].message, err.message);
            ASSERT_STR(rows[row].path, err.path);
            err = (pdr_err)PDR_ERR_INIT;
            ASSERT_RC(PDR_EMISUSE, again == 0 ? pdr_writer_finish(w, &err)
                                              : put_letter(w, '=', &err));
        }
        ASSERT_RC(PDR_EMISUSE, pdr_writer_finish(w, NULL));
        pdr_writer_free(w);
        pdr_buf_dispose(&out);
    }
}

/* --- what a codec gets --------------------------------------------------- */

TEST(writer_put, tells_the_codec_the_place_of_each_event)
{
    const pdr_codec codec = script_codec();
    pdr_buf out = PDR_BUF_INIT(10);

    script_play(NULL, 0);
    pdr_writer *w = writer_of(&out, &codec, PDR_SEQUENCE);
    ASSERT_RC(PDR_OK, put_letters(w, "={:[=v}:=}[}!!", NULL));
    ASSERT_STR("0a0= 0a1{ 1o0: 1o0[ 2a0= 2a1= 1a2} 1o1: 1o1= 0o2} 0a2[ 0a0} ",
               script.seen);
    ASSERT_SIZE(1, script.finished);
    pdr_writer_free(w);
    ASSERT_SIZE(1, script.closed);
}

TEST(writer_put, puts_its_path_in_front_of_that_of_the_codec)
{
    static const struct {
        const char *before;
        char letter;
        const char *inner, *path;
    } rows[] = {{"", 'v', "/1/x", "/1/x"},   {"", '=', NULL, ""},
                {"[=", 'v', "/1", "/1/1"},   {"[=", '=', NULL, "/1"},
                {"{:", 'v', "/0", "/k/0"},   {"{:[[==", '=', NULL, "/k/0/2"},
                {"{:=", ':', NULL, ""},      {"{:[=", '}', NULL, "/k"},
                {"{:", 'v', "...x", "...x"}, {"[", '[', NULL, "/0"}};
    const pdr_codec codec = script_codec();

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf out = PDR_BUF_INIT(10);
        pdr_err err = PDR_ERR_INIT;
        script_play(NULL, 0);
        pdr_writer *w = writer_of(&out, &codec, 0);

        ASSERT_RC(PDR_OK, put_letters(w, rows[i].before, NULL));
        script.put_rc = PDR_EINVALID;
        script.put_path = rows[i].inner;
        ASSERT_RC(PDR_EINVALID, put_letter(w, rows[i].letter, &err));
        ASSERT_STR("scripted", err.reason);
        ASSERT_STR(rows[i].path, err.path);
        size_t seen = strlen(script.seen);
        script.put_rc = PDR_OK;
        ASSERT_RC(PDR_EINVALID, put_letter(w, rows[i].letter, &err));
        ASSERT_STR(rows[i].path, err.path);
        ASSERT_SIZE(seen, strlen(script.seen)); /* it was not asked again */
        pdr_writer_free(w);
    }
}

TEST(writer_finish, keeps_a_failure_of_the_codec)
{
    const pdr_codec codec = script_codec();
    pdr_buf out = PDR_BUF_INIT(10);
    pdr_err err = PDR_ERR_INIT;

    script_play(NULL, 0);
    script.finish_rc = PDR_EIO;
    pdr_writer *w = writer_of(&out, &codec, 0);
    ASSERT_RC(PDR_OK, put_letters(w, "=", NULL));
    ASSERT_RC(PDR_EIO, pdr_writer_finish(w, &err));
    ASSERT_STR("scripted", err.reason);
    script.finish_rc = PDR_OK;
    ASSERT_RC(PDR_EIO, pdr_writer_finish(w, NULL));
    ASSERT_RC(PDR_EIO, put_letter(w, '=', &err));
    ASSERT_SIZE(1, script.finished);
    pdr_writer_free(w);
}

TEST(writer_new, closes_a_codec_that_opens_and_fails)
{
    const pdr_codec codec = script_codec();
    pdr_buf out = PDR_BUF_INIT(10);
    pdr_writer *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    script_play(NULL, 0);
    script.open_rc = PDR_EBUSY;
    ASSERT_RC(PDR_EBUSY,
              pdr_writer_new(&w, &codec, NULL, &err, trip_take, &out));
    ASSERT_STR("scripted", err.reason);
    ASSERT(w == NULL);
    ASSERT_SIZE(1, script.closed);
}

/* --- limits -------------------------------------------------------------- */

TEST(writer_put, has_a_limit_of_depth)
{
    pdr_value *list = value_of("[1]"), *deep = value_of("[[1]]");
    pdr_value *one = value_of("1");
    const struct {
        size_t open;
        pdr_event event;
        const pdr_value *value;
        bool fits;
    } rows[] = {{PDR_MAX_DEPTH - 1, PDR_BEGIN_ARRAY, NULL, true},
                {PDR_MAX_DEPTH, PDR_BEGIN_ARRAY, NULL, false},
                {PDR_MAX_DEPTH, PDR_BEGIN_OBJECT, NULL, false},
                {PDR_MAX_DEPTH, PDR_SCALAR, one, true},
                {PDR_MAX_DEPTH - 1, PDR_SCALAR, list, true},
                {PDR_MAX_DEPTH, PDR_SCALAR, list, false},
                {PDR_MAX_DEPTH - 2, PDR_SCALAR, deep, true},
                {PDR_MAX_DEPTH - 1, PDR_SCALAR, deep, false}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf out = PDR_BUF_INIT(100000);
        pdr_writer *w = writer_of(&out, pdr_json_codec(), 0);
        pdr_err err = PDR_ERR_INIT;

        for (size_t k = 0; k < rows[i].open; k++)
            ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_BEGIN_ARRAY, NULL, NULL));
        ASSERT_RC(rows[i].fits ? PDR_OK : PDR_ELIMIT,
                  pdr_writer_put(w, rows[i].event, rows[i].value, &err));
        ASSERT_STR(rows[i].fits ? "" : "too_deep", err.reason);
        pdr_writer_free(w);
        pdr_buf_dispose(&out);
    }
    pdr_value_free(one);
    pdr_value_free(deep);
    pdr_value_free(list);
}

/* --- streams ------------------------------------------------------------- */

/* A stream that counts, and fails after some calls. */
struct bad_sink {
    pdr_buf *out; /* NULL: only count */
    size_t calls, left, bytes;
    bool silent;
};

static pdr_rc take_badly(pdr_str bytes, pdr_err *err, void *arg)
{
    struct bad_sink *s = arg;

    ASSERT(bytes.len > 0);
    s->calls++;
    if (s->left == 0)
        return s->silent ? PDR_EIO
                         : pdr_err_set(err, PDR_EIO, "disk_full", "no room");
    s->left--;
    s->bytes += bytes.len;
    return s->out != NULL ? pdr_buf_append(s->out, bytes, err) : PDR_OK;
}

/* An array of texts, more than one window of them. */
static pdr_rc put_much(pdr_writer *w, pdr_err *err)
{
    pdr_value *text = value_of("\"forty bytes of text, give or take a few\"");
    pdr_rc rc = pdr_writer_put(w, PDR_BEGIN_ARRAY, NULL, err);

    for (size_t i = 0; i < 5000 && rc == PDR_OK; i++)
        rc = pdr_writer_put(w, PDR_SCALAR, text, err);
    if (rc == PDR_OK)
        rc = pdr_writer_put(w, PDR_END, NULL, err);
    if (rc == PDR_OK)
        rc = pdr_writer_finish(w, err);
    pdr_value_free(text);
    return rc;
}

TEST(writer, hands_out_long_output_in_pieces)
{
    pdr_buf out = PDR_BUF_INIT(1000000);
    struct bad_sink sink = {.out = &out, .left = SIZE_MAX};
    pdr_writer *w = NULL;
    pdr_value *back = NULL;

    ASSERT_RC(PDR_OK, pdr_writer_new(&w, pdr_json_codec(), NULL, NULL,
                                     take_badly, &sink));
    ASSERT_RC(PDR_OK, put_much(w, NULL));
    ASSERT(out.len > 3 * PDR_WALK_WINDOW_BYTES);
    ASSERT(sink.calls > 3);
    ASSERT_SIZE(out.len, sink.bytes);
    pdr_writer_free(w);
    ASSERT_RC(PDR_OK, pdr_json_read(&back, pdr_buf_str(&out), NULL, NULL));
    ASSERT_SIZE(5000, pdr_value_count(back));
    pdr_value_free(back);
    pdr_buf_dispose(&out);
}

TEST(writer, keeps_no_more_than_a_window)
{
    struct bad_sink sink = {.left = SIZE_MAX};
    pdr_writer *w = NULL;
    size_t before = test_live_bytes();

    test_reset_peak();
    ASSERT_RC(PDR_OK, pdr_writer_new(&w, pdr_json_codec(), NULL, NULL,
                                     take_badly, &sink));
    ASSERT_RC(PDR_OK, put_much(w, NULL));
    ASSERT(sink.bytes > 3 * PDR_WALK_WINDOW_BYTES);
    ASSERT(test_peak_bytes() - before < 3 * PDR_WALK_WINDOW_BYTES);
    pdr_writer_free(w);
}

TEST(writer, passes_failures_of_the_stream_on_and_keeps_them)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t c = 0; c < count; c++)
        for (size_t way = 0; way < 6; way++) {
            pdr_buf out = PDR_BUF_INIT(10000000);
            struct bad_sink sink = {&out, 0, way / 2, 0, way % 2 == 1};
            pdr_writer *w = NULL;
            pdr_err err = PDR_ERR_INIT;

            ASSERT_RC(PDR_OK, pdr_writer_new(&w, codecs[c], NULL, NULL,
                                             take_badly, &sink));
            pdr_rc rc = put_much(w, &err);
            if (rc == PDR_OK) { /* it hands out fewer pieces */
                ASSERT(sink.calls <= way / 2);
            } else {
                ASSERT_RC(PDR_EIO, rc);
                ASSERT_STR(sink.silent ? "stream_failed" : "disk_full",
                           err.reason);
                ASSERT_RC(PDR_EIO, err.code);
                size_t calls = sink.calls;
                sink.left = SIZE_MAX;
                ASSERT_RC(PDR_EIO, pdr_writer_finish(w, &err));
                ASSERT_RC(PDR_EIO, put_letter(w, '=', NULL));
                ASSERT_SIZE(calls, sink.calls);
            }
            ASSERT(way > 1 || rc == PDR_EIO);
            pdr_writer_free(w);
            pdr_buf_dispose(&out);
        }
}

/* --- JSON ---------------------------------------------------------------- */

TEST(json_writer, writes_events_as_pdr_json_write_does)
{
    static const pdr_write_opts layouts[] = {
        {.layout = PDR_COMPACT},
        {.layout = PDR_PRETTY},
        {.layout = PDR_PRETTY, .indent = 1},
        {.layout = PDR_PRETTY, .indent = 16}};
    const struct trip_end json = {pdr_json_codec(), 0};
    pdr_buf text = PDR_BUF_INIT(1000000), whole = text, pieces = text;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        pdr_value *value = NULL;
        pdr_buf_clear(&text);
        json_make(&text, seed);
        ASSERT_RC(PDR_OK,
                  pdr_json_read(&value, pdr_buf_str(&text), NULL, NULL));
        for (size_t i = 0; i < PDR_COUNT(layouts) * 3; i++) {
            struct trip_way way = {SIZE_MAX, TRIP_TAKE, i % 3};
            const pdr_write_opts *opts = &layouts[i / 3];
            pdr_buf_clear(&whole);
            pdr_buf_clear(&pieces);
            ASSERT_RC(PDR_OK, pdr_json_write(&whole, value, opts, NULL));
            ASSERT_RC(PDR_OK, trip_copy(&pieces, json, opts, json,
                                        pdr_buf_str(&text), way, NULL, NULL));
            ASSERT_BYTES(pdr_buf_str(&whole), pdr_buf_str(&pieces));
        }
        pdr_value_free(value);
    }
    pdr_buf_dispose(&pieces);
    pdr_buf_dispose(&whole);
    pdr_buf_dispose(&text);
}

TEST(json_writer, keeps_white_space_of_whole_values_if_asked)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_value *value = value_of("{ \"a\" : 1 }");
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_writer *w = NULL;

    ASSERT_RC(PDR_OK, pdr_writer_new(&w, pdr_json_codec(), &opts, NULL,
                                     trip_take, &out));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_BEGIN_ARRAY, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_SCALAR, value, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_SCALAR, value, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_END, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_finish(w, NULL));
    ASSERT_TEXT("[{ \"a\" : 1 },{ \"a\" : 1 }]", pdr_buf_str(&out));
    pdr_writer_free(w);
    pdr_buf_dispose(&out);
    pdr_value_free(value);
}

TEST(json_writer, writes_pretty_documents_of_a_sequence_apart)
{
    pdr_write_opts opts = {.layout = PDR_PRETTY, .flags = PDR_SEQUENCE};
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_writer *w = NULL;

    ASSERT_RC(PDR_OK, pdr_writer_new(&w, pdr_json_codec(), &opts, NULL,
                                     trip_take, &out));
    ASSERT_RC(PDR_OK, put_letters(w, "[=}={:=}!", NULL));
    ASSERT_TEXT("[\n  1\n]\n1\n{\n  \"k\": 1\n}\n", pdr_buf_str(&out));
    pdr_writer_free(w);
    pdr_buf_dispose(&out);
}

TEST(json_writer, says_where_a_bare_token_was_put)
{
    pdr_read_opts bare = {.flags = PDR_BARE_TOKENS};
    pdr_value *nan = NULL, *name = value_of("\"a\""), *one = value_of("1");
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_writer *w = writer_of(&out, pdr_json_codec(), 0);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_json_read(&nan, pdr_str_c("NaN"), &bare, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_BEGIN_OBJECT, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_NAME, name, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_BEGIN_ARRAY, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_SCALAR, one, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_writer_put(w, PDR_SCALAR, nan, &err));
    ASSERT_STR("bare_token", err.reason);
    ASSERT_STR("/a/1", err.path);
    pdr_writer_free(w);
    w = writer_of(&out, pdr_json_codec(), PDR_BARE_TOKENS);
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_SCALAR, nan, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_finish(w, NULL));
    ASSERT_TEXT("NaN", pdr_buf_str(&out));
    pdr_writer_free(w);
    pdr_buf_dispose(&out);
    pdr_value_free(one);
    pdr_value_free(name);
    pdr_value_free(nan);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(writer, cleans_up_after_any_failed_allocation)
{
    static const char json[] =
        "{\"a\":[1.10,{\"\\/\":[]}],\"b\":[\"\\ud800\"]}";
    const struct trip_end from = {pdr_json_codec(), 0};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count * 4; i++) {
        const struct trip_end to = {codecs[i / 4], 0};
        const pdr_write_opts layout = {.layout = i % 2 == 0 ? PDR_COMPACT
                                                            : PDR_PRETTY};
        struct trip_way way = {SIZE_MAX, i % 4 < 2 ? TRIP_EVENTS : TRIP_TAKE,
                               1};
        pdr_buf out = PDR_BUF_INIT(10000);
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = trip_copy(&out, to, &layout, from, pdr_str_c(json), way,
                              NULL, &err);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT(rc == PDR_OK || err.code == PDR_ENOMEM);
        pdr_buf_dispose(&out);
    }
}
