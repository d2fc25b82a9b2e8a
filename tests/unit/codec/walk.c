/* Events from any codec: what all walks share. */
#include "codec_trip.h"
#include "script_codec.h"
#include "toy.h"
#include "values.h"

#include "base.h"

static pdr_walk *walk_of(struct trip_source *source, const pdr_codec *codec,
                         const pdr_read_opts *opts)
{
    pdr_walk *walk = NULL;

    ASSERT_RC(PDR_OK,
              pdr_walk_new(&walk, codec, opts, NULL, trip_give, source));
    return walk;
}

/* --- events -------------------------------------------------------------- */

TEST(walk_next, gives_events_with_depth_offset_and_value)
{
    struct trip_source source = {pdr_str_c("\xC1\n{\n:\"a\"\n[\n=7\n]\n}\n"),
                                 1};
    pdr_walk *w = walk_of(&source, toy_codec(), NULL);
    pdr_event event = PDR_END_OF_INPUT;
    static const struct {
        pdr_event event;
        size_t depth;
        int64_t offset;
        const char *value;
    } rows[] = {
        {PDR_BEGIN_OBJECT, 1, 2, NULL},  {PDR_NAME, 1, 4, "\"a\""},
        {PDR_BEGIN_ARRAY, 2, 9, NULL},   {PDR_SCALAR, 2, 11, "7"},
        {PDR_END, 1, 14, NULL},          {PDR_END, 0, 16, NULL},
        {PDR_END_OF_INPUT, 0, 18, NULL}, {PDR_END_OF_INPUT, 0, 18, NULL}};

    ASSERT(pdr_walk_value(w) == NULL);
    ASSERT_SIZE(0, pdr_walk_depth(w));
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(rows[i].event, event);
        ASSERT_SIZE(rows[i].depth, pdr_walk_depth(w));
        ASSERT_INT(rows[i].offset, pdr_walk_offset(w));
        ASSERT((rows[i].value != NULL) == (pdr_walk_value(w) != NULL));
        if (rows[i].value != NULL)
            ASSERT_JSON(rows[i].value, pdr_walk_value(w));
    }
    pdr_walk_free(w);
    pdr_walk_free(NULL);
}

TEST(walk_next, gives_a_failure_for_ever_and_does_not_ask_again)
{
    static const struct script_row rows[] = {{PDR_BEGIN_OBJECT, NULL},
                                             {PDR_NAME, "\"a\""}};
    const pdr_codec codec = script_codec();
    struct trip_source source = {pdr_str_c(""), 1};
    pdr_event event = PDR_END_OF_INPUT;
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    script_play(rows, PDR_COUNT(rows));
    script.next_rc = PDR_EIO;
    pdr_walk *w = walk_of(&source, &codec, NULL);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, w, NULL));
    ASSERT(pdr_walk_value(w) == NULL);
    script.next_rc = PDR_OK;
    for (int i = 0; i < 3; i++) {
        pdr_err again = PDR_ERR_INIT;
        pdr_rc rc = i == 0   ? pdr_walk_next(&event, w, &again)
                    : i == 1 ? pdr_walk_take(&value, w, &again)
                             : pdr_walk_skip(w, &again);
        ASSERT_RC(PDR_EIO, rc);
        ASSERT_STR("scripted", again.reason);
        ASSERT_STR("/a", again.path);
        ASSERT(value == NULL);
        err = again;
    }
    ASSERT_STR("as it is written", err.message);
    pdr_walk_free(w);
    ASSERT_SIZE(1, script.closed);
}

TEST(walk_next, survives_a_codec_that_miscounts)
{
    static const struct script_row open[] = {{PDR_BEGIN_ARRAY, NULL}};
    static const struct script_row shut[] = {{PDR_SCALAR, "1"},
                                             {PDR_END, NULL}};
    const pdr_codec codec = script_codec();
    struct trip_source source = {pdr_str_c(""), 1};
    pdr_event event = PDR_END_OF_INPUT;

    /* The input ends inside an array: neither way may go on for ever. */
    for (int way = 0; way < 3; way++) {
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        script_play(open, PDR_COUNT(open));
        pdr_walk *w = walk_of(&source, &codec, NULL);
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        pdr_rc rc = way == 0   ? pdr_walk_next(&event, w, &err)
                    : way == 1 ? pdr_walk_take(&value, w, &err)
                               : pdr_walk_skip(w, &err);
        ASSERT_RC(PDR_EMISUSE, rc);
        ASSERT_STR("broken_contract", err.reason);
        ASSERT(value == NULL);
        pdr_walk_free(w);
    }
    pdr_err err = PDR_ERR_INIT;
    script_play(shut, PDR_COUNT(shut));
    pdr_walk *w = walk_of(&source, &codec, NULL);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_EMISUSE, pdr_walk_next(&event, w, &err));
    ASSERT_STR("broken_contract", err.reason);
    ASSERT_SIZE(0, pdr_walk_depth(w));
    pdr_walk_free(w);
}

TEST(walk_new, closes_a_codec_that_opens_and_fails)
{
    const pdr_codec codec = script_codec();
    struct trip_source source = {pdr_str_c(""), 1};
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    script_play(NULL, 0);
    script.open_rc = PDR_EBUSY;
    ASSERT_RC(PDR_EBUSY,
              pdr_walk_new(&w, &codec, NULL, &err, trip_give, &source));
    ASSERT_STR("scripted", err.reason);
    ASSERT(w == NULL);
    ASSERT_SIZE(1, script.closed);
}

/* --- places -------------------------------------------------------------- */

TEST(walk_next, says_where_a_failure_is)
{
    static const struct {
        const char *text, *path, *reason;
        int64_t offset;
    } rows[] = {{"\xC1\n{\n:\"a\"\n[\n=1\n{\n:\"~/\\n\"\n=x\n", "/a/1/~0~1\\n",
                 "unexpected_byte", 25},
                {"\xC1\n[\n=1\n}\n", "/1", "toy_syntax", 7},
                {"\xC1\n=tru\n", "", "unexpected_end", 6},
                {"\xC1\n{\n:\"a\"\n[\n]\n=1\n", "", "toy_syntax", 13},
                {"\xC1\n{\n:\"a\"\n:\"b\"\n", "/a", "toy_syntax", 9},
                {"\xC1\n[\n[\n]\n[\n=1\n", "/1/1", "toy_syntax", 13}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        for (size_t piece = 1; piece < 20; piece += 6) {
            struct trip_source source = {pdr_str_c(rows[i].text), piece};
            pdr_walk *w = walk_of(&source, toy_codec(), NULL);
            pdr_event event = PDR_END_OF_INPUT;
            pdr_err err = PDR_ERR_INIT;

            while (pdr_walk_next(&event, w, &err) == PDR_OK)
                ASSERT(event != PDR_END_OF_INPUT);
            ASSERT_STR(rows[i].reason, err.reason);
            ASSERT_STR(rows[i].path, err.path);
            ASSERT_INT(rows[i].offset, err.offset);
            pdr_walk_free(w);
        }
}

TEST(walk_next, keeps_the_end_of_a_path_that_is_long)
{
    char name[400], text[420];
    struct trip_source source = {{NULL, 0}, SIZE_MAX};
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err err = PDR_ERR_INIT;

    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 5, "end\"", 5);
    name[0] = '"';
    (void)snprintf(text, sizeof(text), "\xC1\n{\n:%s\n=?\n", name);
    source.rest = pdr_str_c(text);
    pdr_walk *w = walk_of(&source, toy_codec(), NULL);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_walk_next(&event, w, &err));
    ASSERT(strncmp(err.path, "...", 3) == 0);
    ASSERT_STR("xend", err.path + strlen(err.path) - 4);
    pdr_walk_free(w);
}

/* --- whole values -------------------------------------------------------- */

static const char tree[] = "\xC1\n{\n:\"a\"\n[\n=1\n{\n:\"b\"\n=2\n}\n[\n]\n]\n"
                           ":\"c\"\n=3\n}\n";

/* Go on until this event. */
static void go_to(pdr_walk *w, pdr_event wanted)
{
    pdr_event event = PDR_END_OF_INPUT;

    do
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    while (event != wanted);
}

TEST(walk_take, gives_whole_values_and_goes_on_behind_them)
{
    struct trip_source source = {pdr_str_c(tree), 3};
    pdr_walk *w = walk_of(&source, toy_codec(), NULL);
    pdr_event event = PDR_END_OF_INPUT;
    pdr_value *value = NULL;

    go_to(w, PDR_BEGIN_ARRAY);
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, w, NULL));
    ASSERT_JSON("[1,{\"b\":2},[]]", value);
    pdr_value_free(value);
    ASSERT_SIZE(1, pdr_walk_depth(w));
    ASSERT(pdr_walk_value(w) == NULL);
    go_to(w, PDR_SCALAR);
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, w, NULL));
    ASSERT_JSON("3", value);
    pdr_value_free(value);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_INT(PDR_END, event);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_INT(PDR_END_OF_INPUT, event);
    pdr_walk_free(w);
}

TEST(walk_take, is_refused_where_no_value_begins_and_does_no_harm)
{
    static const pdr_event rows[] = {PDR_NAME, PDR_END, PDR_END_OF_INPUT};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct trip_source source = {pdr_str_c(tree), 3};
        pdr_walk *w = walk_of(&source, toy_codec(), NULL);
        pdr_event event = PDR_END_OF_INPUT;
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EMISUSE, pdr_walk_take(&value, w, &err));
        ASSERT_STR("walk_order", err.reason);
        ASSERT_RC(PDR_EMISUSE, pdr_walk_skip(w, &err));
        go_to(w, rows[i]);
        ASSERT_RC(PDR_EMISUSE, pdr_walk_take(&value, w, &err));
        ASSERT_STR("walk_order", err.reason);
        ASSERT_RC(PDR_EMISUSE, pdr_walk_skip(w, NULL));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        pdr_walk_free(w);
    }
}

TEST(walk_take, gives_a_value_once)
{
    static const pdr_event rows[] = {PDR_SCALAR, PDR_BEGIN_ARRAY,
                                     PDR_BEGIN_OBJECT};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct trip_source source = {pdr_str_c(tree), 3};
        pdr_walk *w = walk_of(&source, toy_codec(), NULL);
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        go_to(w, rows[i]);
        ASSERT_RC(PDR_OK, pdr_walk_take(&value, w, NULL));
        pdr_value_free(value);
        ASSERT_RC(PDR_EMISUSE, pdr_walk_take(&value, w, &err));
        ASSERT_STR("walk_order", err.reason);
        ASSERT(value == NULL);
        pdr_walk_free(w);
    }
}

TEST(walk_skip, checks_what_it_skips_and_goes_on_behind_it)
{
    struct trip_source good = {pdr_str_c(tree), 3};
    struct trip_source bad = {pdr_str_c("\xC1\n[\n[\n=1\n=x\n"), 3};
    pdr_walk *w = walk_of(&good, toy_codec(), NULL);
    pdr_err err = PDR_ERR_INIT;

    go_to(w, PDR_BEGIN_ARRAY);
    ASSERT_RC(PDR_OK, pdr_walk_skip(w, NULL));
    ASSERT_SIZE(1, pdr_walk_depth(w));
    go_to(w, PDR_SCALAR);
    ASSERT_JSON("3", pdr_walk_value(w));
    ASSERT_RC(PDR_OK, pdr_walk_skip(w, NULL));
    go_to(w, PDR_END_OF_INPUT);
    pdr_walk_free(w);
    w = walk_of(&bad, toy_codec(), NULL);
    go_to(w, PDR_BEGIN_ARRAY);
    ASSERT_RC(PDR_EINVALID, pdr_walk_skip(w, &err));
    ASSERT_STR("/0/1", err.path);
    pdr_walk_free(w);
}

/* --- a codec that takes values itself ------------------------------------ */

static const struct script_row nested[] = {
    {PDR_BEGIN_OBJECT, NULL}, {PDR_NAME, "\"a\""}, {PDR_BEGIN_ARRAY, NULL},
    {PDR_SCALAR, "1"},        {PDR_END, NULL},     {PDR_NAME, "\"b\""},
    {PDR_BEGIN_ARRAY, NULL},  {PDR_SCALAR, "2"}};

TEST(walk_take, keeps_the_place_if_the_codec_takes_the_value)
{
    pdr_codec codec = script_codec();
    struct trip_source source = {pdr_str_c(""), 1};
    pdr_value *value = NULL;
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err err = PDR_ERR_INIT;

    codec.walk_take = script_take;
    script_play(nested, PDR_COUNT(nested));
    script.next_rc = PDR_EINVALID;
    script.take_rows = 2;
    script.take_json = "[1]";
    pdr_walk *w = walk_of(&source, &codec, NULL);
    go_to(w, PDR_BEGIN_ARRAY);
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, w, NULL));
    ASSERT_JSON("[1]", value);
    pdr_value_free(value);
    ASSERT_SIZE(1, pdr_walk_depth(w));
    ASSERT_RC(PDR_EMISUSE, pdr_walk_take(&value, w, &err));
    go_to(w, PDR_SCALAR);
    ASSERT_SIZE(2, pdr_walk_depth(w));
    script.take_rows = 0;
    script.take_json = "2";
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, w, NULL));
    ASSERT_JSON("2", value);
    pdr_value_free(value);
    ASSERT_RC(PDR_EINVALID, pdr_walk_next(&event, w, &err));
    ASSERT_STR("/b/1", err.path);
    pdr_walk_free(w);
}

TEST(walk_take, keeps_a_failure_of_the_codec_unless_memory_was_short)
{
    pdr_codec codec = script_codec();
    struct trip_source source = {pdr_str_c(""), 1};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    codec.walk_take = script_take;
    script_play(nested, PDR_COUNT(nested));
    script.take_rows = 2;
    script.take_json = "[1]";
    script.take_rc = PDR_ENOMEM;
    pdr_walk *w = walk_of(&source, &codec, NULL);
    go_to(w, PDR_BEGIN_ARRAY);
    ASSERT_RC(PDR_ENOMEM, pdr_walk_take(&value, w, &err));
    script.take_rc = PDR_OK;
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, w, NULL));
    pdr_value_free(value);
    go_to(w, PDR_BEGIN_ARRAY);
    script.take_rc = PDR_EINVALID;
    ASSERT_RC(PDR_EINVALID, pdr_walk_take(&value, w, &err));
    ASSERT_STR("scripted", err.reason);
    ASSERT_STR("/b", err.path);
    script.take_rc = PDR_OK;
    ASSERT_RC(PDR_EINVALID, pdr_walk_take(&value, w, NULL));
    ASSERT(value == NULL);
    pdr_walk_free(w);
}

/* --- limits -------------------------------------------------------------- */

TEST(walk_next, has_a_limit_of_depth)
{
    static const char text[] = "\xC1\n[\n{\n:\"a\"\n[\n=1\n]\n}\n]\n";
    struct trip_source source = {pdr_str_c(text), 3};
    pdr_read_opts opts = {.max_depth = 3};
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err err = PDR_ERR_INIT;

    pdr_walk *w = walk_of(&source, toy_codec(), &opts);
    go_to(w, PDR_END_OF_INPUT);
    pdr_walk_free(w);
    source.rest = pdr_str_c(text);
    opts.max_depth = 2;
    w = walk_of(&source, toy_codec(), &opts);
    go_to(w, PDR_NAME);
    ASSERT_RC(PDR_ELIMIT, pdr_walk_next(&event, w, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_STR("/0/a", err.path);
    ASSERT_INT(11, err.offset);
    ASSERT_RC(PDR_ELIMIT, pdr_walk_next(&event, w, NULL));
    pdr_walk_free(w);
}

TEST(walk_take, has_limits_of_size_and_of_nodes_and_says_of_which_value)
{
    static const char text[] =
        "\xC1\n{\n:\"a\"\n[\n=1\n[\n=2\n]\n=345678\n]\n}\n";
    /* The array has 20 bytes up to its end, and 5 values. */
    static const struct {
        pdr_read_opts opts;
        const char *reason;
    } rows[] = {{{.max_bytes = 20}, ""},
                {{.max_bytes = 19}, "too_large"},
                {{.max_nodes = 5}, ""},
                {{.max_nodes = 4}, "too_many_nodes"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct trip_source source = {pdr_str_c(text), 3};
        pdr_walk *w = walk_of(&source, toy_codec(), &rows[i].opts);
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        bool good = rows[i].reason[0] == '\0';

        go_to(w, PDR_BEGIN_ARRAY);
        ASSERT_RC(good ? PDR_OK : PDR_ELIMIT, pdr_walk_take(&value, w, &err));
        ASSERT_STR(rows[i].reason, err.reason);
        ASSERT((value != NULL) == good);
        ASSERT_STR(good ? "" : "/a", err.path);
        ASSERT_INT(good ? -1 : 9, err.offset);
        pdr_value_free(value);
        if (!good)
            ASSERT_RC(PDR_ELIMIT, pdr_walk_take(&value, w, NULL));
        pdr_walk_free(w);
    }
}

/* --- streams ------------------------------------------------------------- */

/* A stream that fails after some bytes. */
struct bad_source {
    struct trip_source good;
    size_t left;
    bool silent, lies;
};

static pdr_rc give_badly(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    struct bad_source *s = arg;

    if (s->left == 0 && s->lies) {
        *got = cap + 1;
        return PDR_OK;
    }
    if (s->left == 0)
        return s->silent
                   ? PDR_EIO
                   : pdr_err_set(err, PDR_EIO, "line_cut", "no connection");
    s->left--;
    return trip_give(got, into, cap, err, &s->good);
}

/* Walk to the failure that has to come. */
static void assert_stream_fails(const pdr_codec *codec,
                                struct bad_source *source, pdr_rc rc,
                                const char *reason)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_walk_new(&w, codec, NULL, NULL, give_badly, source));
    while (pdr_walk_next(&event, w, &err) == PDR_OK)
        ASSERT(event != PDR_END_OF_INPUT);
    for (int i = 0; i < 2; i++) {
        ASSERT_RC(rc, err.code);
        ASSERT_STR(reason, err.reason);
        ASSERT(err.message[0] != '\0');
        source->left = SIZE_MAX; /* it would work again: too late */
        ASSERT_RC(rc, pdr_walk_next(&event, w, &err));
    }
    pdr_walk_free(w);
}

TEST(walk_next, passes_failures_of_the_stream_on)
{
    pdr_value *value = value_of("{\"ab\":[1.50,true,\"x\\/\"]}");
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t c = 0; c < count; c++) {
        pdr_buf bytes = PDR_BUF_INIT(1000);
        ASSERT_RC(PDR_OK,
                  pdr_codec_write(&bytes, codecs[c], value, NULL, NULL));
        for (size_t at = 0; at < bytes.len; at++)
            for (int way = 0; way < 3; way++) {
                static const char *const reasons[] = {
                    "line_cut", "stream_failed", "broken_contract"};
                struct bad_source source = {
                    {pdr_buf_str(&bytes), 1}, at, way == 1, way == 2};
                assert_stream_fails(codecs[c], &source,
                                    way < 2 ? PDR_EIO : PDR_EMISUSE,
                                    reasons[way]);
            }
        pdr_buf_dispose(&bytes);
    }
    pdr_value_free(value);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(walk, cleans_up_after_any_failed_allocation)
{
    static const struct trip_way ways[] = {{5, TRIP_EVENTS, 0},
                                           {5, TRIP_TAKE, 0},
                                           {5, TRIP_TAKE, 1},
                                           {5, TRIP_SKIP, 1}};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count * PDR_COUNT(ways); i++) {
        const pdr_codec *codec = codecs[i / PDR_COUNT(ways)];
        pdr_buf bytes = PDR_BUF_INIT(10000), tape = PDR_BUF_INIT(10000);
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_json_read(
            &value, pdr_str_c("{\"a\":[1.10,{\"\\/\":[]}],\"b\":\"\\ud800\"}"),
            NULL, NULL);

        if (rc == PDR_OK)
            rc = pdr_codec_write(&bytes, codec, value, NULL, NULL);
        if (rc == PDR_OK)
            rc = trip_tape(&tape, codec, pdr_buf_str(&bytes), NULL,
                           ways[i % PDR_COUNT(ways)], &err);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        pdr_value_free(value);
        pdr_buf_dispose(&tape);
        pdr_buf_dispose(&bytes);
    }
}
