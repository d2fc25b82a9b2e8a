/*
 * json_corpus_walk.c - every case of tests/data/json as a stream: in pieces of
 * 1 and 7 bytes and at once, event by event and taken as a whole. The verdict
 * is that of the reader, to the byte and the path.
 */
#include "corpus.h"
#include "roundtrip.h"

struct source {
    pdr_str text;
    size_t at;
    size_t piece; /* bytes at a time at most */
};

static pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct source *source = arg;
    size_t left = source->text.len - source->at;
    size_t len = left < source->piece ? left : source->piece;

    (void)err;
    if (len > cap)
        len = cap;
    if (len > 0)
        memcpy(into, source->text.ptr + source->at, len);
    source->at += len;
    *got = len;
    return PDR_OK;
}

/* --- rebuilding ---------------------------------------------------------- */

static void build_name(pdr_builder *builder, const pdr_value *name)
{
    pdr_str raw = {NULL, 0};

    assert_true(name != NULL && pdr_value_raw(&raw, name) && raw.len >= 2);
    pdr_builder_escaped_name(builder, pdr_str_n(raw.ptr + 1, raw.len - 2));
}

static void build_scalar(pdr_builder *builder, const pdr_value *value,
                         unsigned flags)
{
    pdr_str raw = {NULL, 0};
    bool truth = false;

    assert_true(value != NULL && pdr_value_raw(&raw, value));
    switch (pdr_value_kind(value)) {
    case PDR_NULL:
        pdr_builder_null(builder);
        return;
    case PDR_BOOL:
        assert_int_equal(PDR_OK, pdr_value_bool(&truth, value, NULL));
        pdr_builder_bool(builder, truth);
        return;
    case PDR_NUMBER:
        if ((flags & PDR_BARE_TOKENS) != 0)
            pdr_builder_value(builder, value);
        else
            pdr_builder_number(builder, raw);
        return;
    case PDR_STRING:
        assert_true(raw.len >= 2);
        pdr_builder_escaped(builder, pdr_str_n(raw.ptr + 1, raw.len - 2));
        return;
    case PDR_ARRAY:
    case PDR_OBJECT:
        break;
    }
    fail_msg("a scalar event with a container");
}

static void build_event(pdr_builder *builder, const pdr_walk *walk,
                        pdr_event event, unsigned flags)
{
    switch (event) {
    case PDR_BEGIN_OBJECT:
        pdr_builder_object(builder);
        return;
    case PDR_BEGIN_ARRAY:
        pdr_builder_array(builder);
        return;
    case PDR_END:
        pdr_builder_end(builder);
        return;
    case PDR_NAME:
        build_name(builder, pdr_walk_value(walk));
        return;
    case PDR_SCALAR:
        build_scalar(builder, pdr_walk_value(walk), flags);
        return;
    case PDR_END_OF_INPUT:
        return;
    }
}

/* Walk to the end. `builder` may be NULL. */
static pdr_rc walk_events(pdr_builder *builder, pdr_walk *walk, unsigned flags,
                          pdr_err *err)
{
    size_t depth = 0;

    for (;;) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_rc rc = pdr_walk_next(&event, walk, err);

        if (rc != PDR_OK)
            return rc;
        depth += event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY;
        depth -= event == PDR_END;
        assert_int_equal(depth, pdr_walk_depth(walk));
        if (event == PDR_END_OF_INPUT)
            return PDR_OK;
        if (builder != NULL)
            build_event(builder, walk, event, flags);
    }
}

/* The root taken or skipped at once, then the end. */
static pdr_rc walk_whole(pdr_value **out, pdr_walk *walk, bool skip,
                         pdr_err *err)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = pdr_walk_next(&event, walk, err);

    if (rc == PDR_OK)
        rc = skip ? pdr_walk_skip(walk, err) : pdr_walk_take(out, walk, err);
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    if (rc == PDR_OK)
        assert_int_equal(PDR_END_OF_INPUT, event);
    return rc;
}

/* --- ways ---------------------------------------------------------------- */

enum mode { EVENTS, TAKE, SKIP };

struct way {
    char name[48];
    enum mode mode;
    size_t piece;
    pdr_kernel kernel;
};

static size_t list_ways(struct way ways[64])
{
    static const size_t pieces[] = {1, 7, SIZE_MAX};
    static const char *const modes[] = {"events", "take", "skip"};
    struct corpus_kernel kernels[4];
    size_t kernel_count = corpus_kernels(kernels), count = 0;

    for (size_t k = 0; k < kernel_count; k++)
        for (size_t p = 0; p < 3; p++)
            for (size_t m = 0; m < 3; m++) {
                struct way *way = &ways[count++];
                way->mode = (enum mode)m;
                way->piece = pieces[p];
                way->kernel = kernels[k].kernel;
                snprintf(way->name, sizeof(way->name), "%s, %s, %s bytes",
                         kernels[k].name, modes[m],
                         p == 0   ? "1"
                         : p == 1 ? "7"
                                  : "all");
            }
    return count;
}

/* Walk over a case in one way; the value is what was taken or rebuilt. */
static pdr_rc walk_case(pdr_value **out, const struct corpus_case *c,
                        const struct way *way, pdr_err *err)
{
    struct source source = {c->input, 0, way->piece};
    pdr_read_opts opts = {.flags = c->flags, .kernel = way->kernel};
    pdr_walk *walk = NULL;
    pdr_builder *builder = NULL;
    pdr_rc rc;

    assert_int_equal(PDR_OK, pdr_walk_new(&walk, pdr_json_codec(), &opts, err,
                                          give, &source));
    assert_int_equal(PDR_OK, pdr_builder_new(&builder, err));
    if (way->mode == EVENTS)
        rc = walk_events(builder, walk, c->flags, err);
    else
        rc = walk_whole(out, walk, way->mode == SKIP, err);
    if (rc == PDR_OK && way->mode == EVENTS)
        assert_int_equal(PDR_OK, pdr_builder_finish(out, builder, err));
    if (rc != PDR_OK) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_err second = PDR_ERR_INIT;
        if (pdr_walk_next(&event, walk, &second) != rc ||
            second.offset != err->offset ||
            strcmp(second.reason, err->reason) != 0)
            corpus_complain(c->name, way->name, "a second call gives %s",
                            second.reason);
    }
    pdr_builder_free(builder);
    pdr_walk_free(walk);
    return rc;
}

static void check_valid(const struct corpus_case *c, const struct way *way)
{
    pdr_write_opts opts = {.flags = c->flags};
    pdr_value *walked = NULL, *read = NULL;
    pdr_read_opts read_opts = {.flags = c->flags};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_err err = PDR_ERR_INIT;

    if (walk_case(&walked, c, way, &err) != PDR_OK) {
        corpus_complain(c->name, way->name, "refused: %s at %lld", err.reason,
                        (long long)err.offset);
    } else if (walked != NULL) {
        assert_int_equal(PDR_OK,
                         pdr_json_read(&read, c->input, &read_opts, NULL));
        if (!pdr_value_equal(read, walked))
            corpus_complain(c->name, way->name, "another value");
        assert_int_equal(PDR_OK, pdr_json_write(&text, walked, &opts, &err));
        if (!pdr_str_equal(c->expected, pdr_buf_str(&text)))
            corpus_complain(c->name, way->name, "wrote %.*s",
                            (int)(text.len < 200 ? text.len : 200), text.ptr);
    } else if (way->mode != SKIP) {
        corpus_complain(c->name, way->name, "no value");
    }
    pdr_buf_dispose(&text);
    pdr_value_free(read);
    pdr_value_free(walked);
}

static void check_invalid(const struct corpus_case *c, const struct way *way)
{
    struct corpus_error expected = corpus_expected_error(c);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (walk_case(&value, c, way, &err) == PDR_OK)
        corpus_complain(c->name, way->name, "was read, expected %s",
                        expected.reason);
    else
        (void)corpus_error_is(c, way->name, &expected, &err);
    pdr_value_free(value);
}

static void each_way(const char *folder, const char *file,
                     void (*check)(const struct corpus_case *c,
                                   const struct way *way))
{
    struct corpus corpus;
    struct way ways[64];
    size_t way_count = list_ways(ways);

    corpus_load(&corpus, folder, file);
    for (size_t i = 0; i < corpus.count; i++)
        for (size_t w = 0; w < way_count; w++)
            check(&corpus.cases[i], &ways[w]);
    corpus_free(&corpus);
}

TEST(json_walk, rebuilds_and_takes_every_valid_case)
{
    each_way("json/valid", "output", check_valid);
    corpus_assert_no_complaint();
}

TEST(json_walk, refuses_every_invalid_case_as_the_reader_does)
{
    each_way("json/invalid", "error", check_invalid);
    corpus_assert_no_complaint();
}

/* --- a sequence ---------------------------------------------------------- */

/* All valid cases, one after another with a line end between them. */
static void join_cases(pdr_buf *out, size_t *count, const struct corpus *corpus)
{
    *count = 0;
    for (size_t i = 0; i < corpus->count; i++) {
        const struct corpus_case *c = &corpus->cases[i];
        if (c->flags != 0)
            continue;
        assert_int_equal(PDR_OK, pdr_buf_append(out, c->input, NULL));
        assert_int_equal(PDR_OK, pdr_buf_append(out, pdr_str_c("\n"), NULL));
        ++*count;
    }
}

static size_t take_all(const struct corpus *corpus, struct source *source)
{
    pdr_read_opts opts = {.flags = PDR_SEQUENCE};
    pdr_walk *walk = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t at = 0, taken = 0;

    assert_int_equal(PDR_OK, pdr_walk_new(&walk, pdr_json_codec(), &opts, &err,
                                          give, source));
    for (;; taken++) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_value *value = NULL;
        pdr_buf text = PDR_BUF_INIT(UINT32_MAX);

        ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, &err));
        if (event == PDR_END_OF_INPUT)
            break;
        ASSERT_RC(PDR_OK, pdr_walk_take(&value, walk, &err));
        while (corpus->cases[at].flags != 0)
            at++;
        ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, &err));
        ASSERT_BYTES(corpus->cases[at++].expected, pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        pdr_value_free(value);
    }
    pdr_walk_free(walk);
    return taken;
}

TEST(json_walk, takes_all_valid_cases_from_one_sequence)
{
    struct corpus corpus;
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    size_t count = 0;

    corpus_load(&corpus, "json/valid", "output");
    join_cases(&text, &count, &corpus);
    for (size_t piece = 1; piece < 100000; piece = piece * 9 + 1) {
        struct source source = {pdr_buf_str(&text), 0, piece};
        ASSERT_SIZE(count, take_all(&corpus, &source));
    }
    pdr_buf_dispose(&text);
    corpus_free(&corpus);
}

TEST(json_walk, wants_white_space_between_the_documents_of_a_sequence)
{
    static const struct {
        const char *text;
        const char *reason;
        int64_t offset;
    } rows[] = {{"[]{}", "missing_separator", 2},
                {"1 \"a\"\"b\"", "missing_separator", 5},
                {"1 2}", "missing_separator", 3},
                {"1 }", "unexpected_byte", 2},
                {"{} [1", "unexpected_end", 5}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t piece = 1; piece <= 8; piece++) {
            struct source source = {pdr_str_c(rows[i].text), 0, piece};
            pdr_read_opts opts = {.flags = PDR_SEQUENCE};
            pdr_walk *walk = NULL;
            pdr_err err = PDR_ERR_INIT;

            ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_json_codec(), &opts, &err,
                                           give, &source));
            ASSERT_RC(PDR_EINVALID, walk_events(NULL, walk, 0, &err));
            ASSERT_STR(rows[i].reason, err.reason);
            ASSERT_INT(rows[i].offset, err.offset);
            pdr_walk_free(walk);
        }
}

TEST(json_walk, finds_no_document_in_a_sequence_of_white_space)
{
    static const char *const texts[] = {"", " ", "\n\n", "\r\n\t "};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct source source = {pdr_str_c(texts[i]), 0, 1};
        pdr_read_opts opts = {.flags = PDR_SEQUENCE};
        pdr_walk *walk = NULL;
        pdr_event event = PDR_SCALAR;

        ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_json_codec(), &opts, NULL,
                                       give, &source));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
        ASSERT_INT(PDR_END_OF_INPUT, event);
        pdr_walk_free(walk);
    }
}
