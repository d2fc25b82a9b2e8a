/* Walking streams: events, taking, skipping, memory, failures. */
#include "pieces.h"
#include "values.h"

#include "codec.h"

static pdr_walk *walk_of(struct source *s, unsigned flags)
{
    pdr_read_opts opts = {.flags = flags};
    pdr_walk *w = NULL;

    ASSERT_RC(PDR_OK, pdr_walk_new(&w, pdr_json_codec(), &opts, NULL, give, s));
    return w;
}

TEST(json_walk, gives_the_same_events_for_any_cut_of_the_stream)
{
    static const char json[] =
        " { \"a\" : [ 1 , -2.5e3, \"x\\\"y\" , true,null ] , \"b\":{} } ";

    for (size_t step = 1; step < sizeof(json); step++) {
        struct source s = source_of(pdr_str_c(json), step);
        pdr_walk *w = walk_of(&s, 0);
        char seen[100];
        letters(seen, w, NULL);
        ASSERT_STR("{n[sssss)n{))$", seen);
        pdr_event event;
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(PDR_END_OF_INPUT, event);
        pdr_walk_free(w);
    }
}

TEST(json_walk, gives_names_scalars_depth_and_offset)
{
    struct source s = source_of(pdr_str_c("{\"a\\n\":[7]}"), 3);
    pdr_walk *w = walk_of(&s, 0);
    pdr_event event;
    static const struct {
        pdr_event event;
        size_t depth;
        int64_t offset;
    } rows[] = {{PDR_BEGIN_OBJECT, 1, 0}, {PDR_NAME, 1, 1},
                {PDR_BEGIN_ARRAY, 2, 7},  {PDR_SCALAR, 2, 8},
                {PDR_END, 1, 9},          {PDR_END, 0, 10}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(rows[i].event, event);
        ASSERT_SIZE(rows[i].depth, pdr_walk_depth(w));
        ASSERT_INT(rows[i].offset, pdr_walk_offset(w));
        if (event == PDR_NAME)
            ASSERT(pdr_value_text_is(pdr_walk_value(w), pdr_str_c("a\n")));
        else if (event == PDR_SCALAR)
            ASSERT_JSON("7", pdr_walk_value(w));
        else
            ASSERT(pdr_walk_value(w) == NULL);
    }
    pdr_walk_free(w);
    pdr_walk_free(NULL);
}

TEST(json_walk_take, gives_whole_values_and_goes_on_behind_them)
{
    static const char json[] =
        "[ {\"a\": [1,\"]}\"]} , 5, \"s\", [[2]], {\"last\" : 1.10} ]";

    for (size_t step = 1; step < sizeof(json); step += 3) {
        struct source s = source_of(pdr_str_c(json), step);
        pdr_walk *w = walk_of(&s, 0);
        static const char *const expected[] = {
            "{\"a\":[1,\"]}\"]}", "5", "\"s\"", "[[2]]", "{\"last\":1.10}"};
        pdr_event event;
        pdr_value *v = NULL;
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        for (size_t i = 0; i < PDR_COUNT(expected); i++) {
            ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
            ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, NULL));
            ASSERT_JSON(expected[i], v);
            ASSERT_SIZE(1, pdr_walk_depth(w));
            pdr_value_free(v);
        }
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(PDR_END, event);
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(PDR_END_OF_INPUT, event);
        pdr_walk_free(w);
    }
}

TEST(json_walk_take, is_refused_after_other_events)
{
    struct source s = source_of(pdr_str_c("{\"a\":1}"), 100);
    pdr_walk *w = walk_of(&s, 0);
    pdr_err err = PDR_ERR_INIT;
    pdr_event event;
    pdr_value *v = NULL;

    ASSERT_RC(PDR_EMISUSE, pdr_walk_take(&v, w, &err));
    ASSERT_STR("walk_order", err.reason);
    ASSERT_RC(PDR_EMISUSE, pdr_walk_skip(w, &err));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, &err));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, &err));
    ASSERT_INT(PDR_NAME, event);
    ASSERT_RC(PDR_EMISUSE, pdr_walk_take(&v, w, &err));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, &err));
    ASSERT_RC(PDR_OK, pdr_walk_skip(w, &err));
    ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, &err));
    ASSERT_JSON("1", v);
    pdr_value_free(v);
    pdr_walk_free(w);
}

TEST(json_walk_skip, checks_what_it_skips)
{
    struct source good = source_of(pdr_str_c("[[1,[2,{\"a\":3}]],4]"), 2);
    struct source bad = source_of(pdr_str_c("[[1,[2,{\"a\":x}]],4]"), 2);
    pdr_event event;
    pdr_err err = PDR_ERR_INIT;

    pdr_walk *w = walk_of(&good, 0);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_skip(w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_JSON("4", pdr_walk_value(w));
    pdr_walk_free(w);
    w = walk_of(&bad, 0);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_walk_skip(w, &err));
    ASSERT_STR("unexpected_byte", err.reason);
    ASSERT_STR("/0/1/1/a", err.path);
    ASSERT_INT(12, err.offset);
    ASSERT_RC(PDR_EINVALID, pdr_walk_skip(w, &err));
    pdr_walk_free(w);
}

TEST(json_walk, reads_documents_one_after_another)
{
    struct source s = source_of(pdr_str_c("{\"a\":1}\n[2]\r\n\n3 \"x\"\n"), 4);
    pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
    static const char *const expected[] = {"{\"a\":1}", "[2]", "3", "\"x\""};
    pdr_event event;
    pdr_value *v = NULL;

    for (size_t i = 0; i < PDR_COUNT(expected); i++) {
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, NULL));
        ASSERT_JSON(expected[i], v);
        pdr_value_free(v);
    }
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_INT(PDR_END_OF_INPUT, event);
    pdr_walk_free(w);
}

TEST(json_walk, tells_sequences_from_single_documents)
{
    static const struct {
        const char *text;
        unsigned flags;
        const char *seen, *reason;
    } rows[] = {{"", PDR_SEQUENCE, "$", ""},
                {" \n", PDR_SEQUENCE, "$", ""},
                {"", 0, "!", "empty_input"},
                {"  ", 0, "!", "empty_input"},
                {"{}{}", PDR_SEQUENCE, "{)!", "missing_separator"},
                {"1 2", 0, "s!", "trailing_data"},
                {"1\xEF\xBB\xBF", 0, "s!", "trailing_data"},
                {"\xEF\xBB\xBF{}", 0, "!", "byte_order_mark"},
                {"{\0}", 0, "{!", "unexpected_end"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct source s = source_of(pdr_str_c(rows[i].text), 1);
        pdr_walk *w = walk_of(&s, rows[i].flags);
        pdr_err err = PDR_ERR_INIT;
        char seen[100];
        letters(seen, w, &err);
        ASSERT_STR(rows[i].seen, seen);
        ASSERT_STR(rows[i].reason, err.reason);
        pdr_walk_free(w);
    }
}

TEST(json_walk, reports_place_and_path_as_the_reader_does)
{
    static const char *const rows[] = {"{\"a\":[1,{\"b\":x}]}",
                                       "[1,]",
                                       "{\"a\":1,}",
                                       "{\"a\" 1}",
                                       "[1 2]",
                                       "{\"a\":1 2}",
                                       "[\"\\x\"]",
                                       "[\"\x01\"]",
                                       "[\"\xC0\"]",
                                       "[01]",
                                       "[-]",
                                       "[tru]",
                                       "[1e]",
                                       "[",
                                       "{",
                                       "{\"a\"",
                                       "{\"a\":",
                                       "[1,",
                                       "{\"a\":1,",
                                       "\"abc",
                                       "[nul",
                                       "[\"\\u12",
                                       "{\"a\":{\"\\q\":1}}",
                                       "[NaN]",
                                       "[1.]",
                                       "{1:2}",
                                       "{\"a~/\\n\":[[],x]}",
                                       "[[[[]",
                                       "]",
                                       "}",
                                       "x",
                                       "[}",
                                       "{]",
                                       "[\"a\":1]",
                                       "{\"a\",1}",
                                       "{\"k\":\"v\"",
                                       "[-Infinit",
                                       "[--1]",
                                       "[1-]",
                                       "[+1]"};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_err whole = PDR_ERR_INIT, walked = PDR_ERR_INIT;
        pdr_value *v = NULL;
        char seen[100];
        ASSERT_RC(PDR_EINVALID,
                  pdr_json_read(&v, pdr_str_c(rows[i]), NULL, &whole));
        for (size_t step = 1; step < 9; step++) {
            struct source s = source_of(pdr_str_c(rows[i]), step);
            pdr_walk *w = walk_of(&s, 0);
            letters(seen, w, &walked);
            ASSERT(seen[strlen(seen) - 1] == '!');
            ASSERT_STR(whole.reason, walked.reason);
            ASSERT_STR(whole.path, walked.path);
            ASSERT_INT(whole.offset, walked.offset);
            pdr_event event;
            ASSERT_RC(PDR_EINVALID, pdr_walk_next(&event, w, &walked));
            ASSERT_STR(whole.reason, walked.reason); /* for ever */
            ASSERT_RC(PDR_EINVALID, pdr_walk_take(&v, w, &walked));
            pdr_walk_free(w);
        }
    }
}

TEST(json_walk_take, reports_place_and_path_in_the_stream)
{
    struct source s = source_of(pdr_str_c("{\"a\": [0, {\"b\" : [1, x]}]}"), 5);
    pdr_walk *w = walk_of(&s, 0);
    pdr_err err = PDR_ERR_INIT;
    pdr_event event;
    pdr_value *v = NULL;

    for (int i = 0; i < 5; i++)
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_INT(PDR_BEGIN_OBJECT, event);
    ASSERT_RC(PDR_EINVALID, pdr_walk_take(&v, w, &err));
    ASSERT_STR("unexpected_byte", err.reason);
    ASSERT_STR("/a/1/b/1", err.path);
    ASSERT_INT(21, err.offset);
    ASSERT(v == NULL);
    pdr_walk_free(w);
}

TEST(json_walk, has_limits_of_depth_and_of_the_size_of_a_value)
{
    static const struct {
        const char *text;
        pdr_rc rc;
        const char *reason;
    } rows[] = {{"[[[1]]]", PDR_OK, ""},
                {"[[[[1]]]]", PDR_ELIMIT, "too_deep"},
                {"[\"12345678\"]", PDR_OK, ""},
                {"[\"123456789\"]", PDR_ELIMIT, "too_large"},
                {"[1234567890]", PDR_OK, ""},
                {"[12345678901]", PDR_ELIMIT, "too_large"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct source s = source_of(pdr_str_c(rows[i].text), 1);
        pdr_read_opts opts = {.max_depth = 3, .max_bytes = 10};
        pdr_walk *w = NULL;
        pdr_err err = PDR_ERR_INIT;
        char seen[100];
        ASSERT_RC(PDR_OK,
                  pdr_walk_new(&w, pdr_json_codec(), &opts, NULL, give, &s));
        letters(seen, w, &err);
        ASSERT_RC(rows[i].rc, err.code);
        ASSERT_STR(rows[i].reason, err.reason);
        pdr_walk_free(w);
    }
}

TEST(json_walk_take, counts_the_levels_around_and_the_size)
{
    pdr_read_opts opts = {.max_depth = 3, .max_bytes = 10};
    static const struct {
        const char *text;
        pdr_rc rc;
        const char *reason, *path;
    } rows[] = {{"[[[1]]]", PDR_OK, "", ""},
                {"[[[[1]]]]", PDR_ELIMIT, "too_deep", "/0/0/0"},
                {"[[1,2,3,4] ]", PDR_OK, "", ""},
                {"[[1,2,3,4,56] ]", PDR_ELIMIT, "too_large", "/0"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct source s = source_of(pdr_str_c(rows[i].text), 100);
        pdr_walk *w = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_event event;
        pdr_value *v = NULL;
        ASSERT_RC(PDR_OK,
                  pdr_walk_new(&w, pdr_json_codec(), &opts, NULL, give, &s));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_RC(rows[i].rc, pdr_walk_take(&v, w, &err));
        ASSERT_STR(rows[i].reason, err.reason);
        ASSERT_STR(rows[i].path, err.path);
        pdr_value_free(v);
        pdr_walk_free(w);
    }
}

TEST(json_walk, passes_failures_of_the_stream_on)
{
    static const char json[] = "{\"abc\":[1,2,\"x\"]}";

    for (size_t at = 0; at < sizeof(json) - 1; at++) {
        struct source s = source_of(pdr_str_c(json), 1);
        s.fail_at = at;
        pdr_walk *w = walk_of(&s, 0);
        pdr_err err = PDR_ERR_INIT;
        char seen[100];
        letters(seen, w, &err);
        ASSERT(seen[strlen(seen) - 1] == '!');
        ASSERT_RC(PDR_EIO, err.code);
        ASSERT_STR("line_cut", err.reason);
        pdr_walk_free(w);
    }
    struct source liar = source_of(pdr_str_c(json), 1);
    liar.lies = true;
    pdr_walk *w = walk_of(&liar, 0);
    pdr_err err = PDR_ERR_INIT;
    char seen[100];
    letters(seen, w, &err);
    ASSERT_STR("broken_contract", err.reason);
    pdr_walk_free(w);
}

TEST(json_walk, keeps_a_name_while_the_window_moves)
{
    enum { ROOM = 70000 };
    static char json[ROOM + 100];

    for (size_t blanks = PDR_WALK_WINDOW_BYTES / 2 - 40;
         blanks < PDR_WALK_WINDOW_BYTES / 2 + 10; blanks += 3) {
        char *p = json;
        *p++ = '{';
        memset(p, ' ', blanks);
        p += blanks;
        memcpy(p, "\"abcdefgh\"     :1}", 19);
        struct source s = source_of(pdr_str_c(json), 1);
        pdr_walk *w = walk_of(&s, 0);
        pdr_event event;
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT(pdr_value_text_is(pdr_walk_value(w), pdr_str_c("abcdefgh")));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_JSON("1", pdr_walk_value(w));
        pdr_walk_free(w);
    }
}

TEST(json_walk, gives_a_literal_as_soon_as_it_is_complete)
{
    struct source s = source_of(pdr_str_c("true false null "), 4);
    pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
    pdr_event event;

    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_JSON("true", pdr_walk_value(w));
    ASSERT_SIZE(4, s.at);
    pdr_walk_free(w);
}

static pdr_rc fail_silently(size_t *got, void *into, size_t cap, pdr_err *err,
                            void *arg)
{
    (void)got;
    (void)into;
    (void)cap;
    (void)err;
    (void)arg;
    return PDR_EIO;
}

TEST(json_walk, says_something_for_a_stream_that_says_nothing)
{
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_event event;

    ASSERT_RC(PDR_OK, pdr_walk_new(&w, pdr_json_codec(), NULL, NULL,
                                   fail_silently, NULL));
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, w, &err));
    ASSERT_RC(PDR_EIO, err.code);
    ASSERT_STR("stream_failed", err.reason);
    pdr_walk_free(w);
}

TEST(json_walk_new, refuses_options_that_cannot_be)
{
    pdr_read_opts opts = {.flags = PDR_TRAILING};
    struct source s = source_of(pdr_str_c(""), 1);
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EMISUSE,
              pdr_walk_new(&w, pdr_json_codec(), &opts, &err, give, &s));
    ASSERT_STR("bad_option", err.reason);
    opts.flags = 0;
    opts.max_depth = PDR_MAX_DEPTH + 1;
    ASSERT_RC(PDR_EMISUSE,
              pdr_walk_new(&w, pdr_json_codec(), &opts, &err, give, &s));
    ASSERT(w == NULL);
}

/* A stream of `left` elements that exists nowhere as a whole. */
struct endless {
    size_t left, at;
    bool begun;
};

static pdr_rc give_endless(size_t *got, void *into, size_t cap, pdr_err *err,
                           void *arg)
{
    struct endless *e = arg;
    static const char element[] = "{\"role\":\"user\",\"text\":\"hello\"},\n";
    char *out = into;
    size_t n = 0;

    (void)err;
    if (!e->begun && cap > 0) {
        out[n++] = '[';
        e->begun = true;
    }
    while (e->left > 0 && cap - n >= sizeof(element)) {
        size_t len = sizeof(element) - 1;
        memcpy(out + n, element, len);
        n += len;
        if (--e->left == 0) {
            n -= 2;
            out[n++] = ']';
        }
    }
    *got = n;
    return PDR_OK;
}

TEST(json_walk, of_a_large_document_needs_a_window_only)
{
    struct endless e = {300000, 0, false}; /* 10 MB */
    pdr_walk *w = NULL;
    pdr_event event;
    size_t count = 0;

    test_reset_peak();
    size_t before = test_live_bytes();
    ASSERT_RC(PDR_OK,
              pdr_walk_new(&w, pdr_json_codec(), NULL, NULL, give_endless, &e));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    for (;;) {
        pdr_value *v = NULL;
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        if (event == PDR_END)
            break;
        if (count % 2 == 0)
            ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, NULL));
        else
            ASSERT_RC(PDR_OK, pdr_walk_skip(w, NULL));
        pdr_value_free(v);
        count++;
    }
    ASSERT_SIZE(300000, count);
    ASSERT(test_peak_bytes() - before < 4 * PDR_WALK_WINDOW_BYTES);
    pdr_walk_free(w);
}

TEST(json_walk, keeps_no_name_that_could_not_be_shown)
{
    enum { LEN = 100000 };
    static char json[3 * LEN + 100];
    struct source s;
    pdr_err err = PDR_ERR_INIT;
    char seen[100], *p = json;

    for (int i = 0; i < 3; i++) {
        p += snprintf(p, 64, "{\"");
        memset(p, 'a' + i, LEN);
        p += LEN;
        p += snprintf(p, 64, "\":");
    }
    memcpy(p, "x", sizeof("x"));
    s = source_of(pdr_str_c(json), 1000);
    pdr_walk *w = walk_of(&s, 0);
    letters(seen, w, &err);
    ASSERT_STR("unexpected_byte", err.reason);
    ASSERT(strncmp(err.path, "...cc", 5) == 0);
    ASSERT_SIZE(PDR_ERR_PATH - 1, strlen(err.path));
    pdr_walk_free(w);
}

TEST_OOM(json_walk, cleans_up_after_any_failed_allocation)
{
    struct source s = source_of(pdr_str_c("{\"a\\n\":[1,{\"b\":[2]},x]}"), 3);
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_walk_new(&w, pdr_json_codec(), NULL, &err, give, &s);

    while (rc == PDR_OK) {
        pdr_event event;
        rc = pdr_walk_next(&event, w, &err);
        if (rc == PDR_OK && event == PDR_BEGIN_OBJECT &&
            pdr_walk_depth(w) == 3) {
            pdr_value *v = NULL;
            rc = pdr_walk_take(&v, w, &err);
            pdr_value_free(v);
        }
    }
    ASSERT(rc == PDR_ENOMEM || rc == PDR_EINVALID);
    pdr_walk_free(w);
}
