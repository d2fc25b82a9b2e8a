/*
 * json_corpus.c - every case of tests/data/json, through every kernel and every
 * constructor of the reader. json_corpus_walk.c does the same for the walk.
 */
#include "corpus.h"
#include "roundtrip.h"

/* --- the three constructors ---------------------------------------------- */

/* Texts that borrowed values point into, until the case is over. */
static char *lent[8];
static size_t lent_count;

static void release_lent(void)
{
    while (lent_count > 0)
        free(lent[--lent_count]);
}

static pdr_rc read_borrowed(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err)
{
    char *copy = malloc(text.len > 0 ? text.len : 1);

    assert_non_null(copy);
    assert_true(lent_count < sizeof(lent) / sizeof(lent[0]));
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    lent[lent_count++] = copy;
    return pdr_json_read_borrowed(out, pdr_str_n(copy, text.len), opts, err);
}

static pdr_rc read_take(pdr_value **out, pdr_str text,
                        const pdr_read_opts *opts, pdr_err *err)
{
    pdr_buf buf = PDR_BUF_INIT(UINT32_MAX);

    if (pdr_buf_append(&buf, text, err) != PDR_OK)
        fail_msg("no memory");
    pdr_rc rc = pdr_json_read_take(out, &buf, opts, err);
    assert_null(buf.ptr);
    assert_int_equal(0, buf.len);
    return rc;
}

static const struct {
    const char *name;
    struct roundtrip_codec codec;
} ways[] = {{"copy", {pdr_json_read, pdr_json_write}},
            {"borrowed", {read_borrowed, pdr_json_write}},
            {"take", {read_take, pdr_json_write}}};
#define WAY_COUNT (sizeof(ways) / sizeof(ways[0]))

/* Call `fn` for each case with each kernel and constructor. */
typedef void (*case_fn)(const struct corpus_case *c, const char *way,
                        const struct roundtrip_codec *codec,
                        const pdr_read_opts *opts);

static size_t each_way(const char *folder, const char *file, case_fn fn)
{
    struct corpus corpus;
    struct corpus_kernel kernels[4];
    size_t kernel_count = corpus_kernels(kernels);

    corpus_load(&corpus, folder, file);
    for (size_t i = 0; i < corpus.count; i++) {
        const struct corpus_case *c = &corpus.cases[i];
        for (size_t k = 0; k < kernel_count * WAY_COUNT; k++) {
            const struct corpus_kernel *kernel = &kernels[k / WAY_COUNT];
            pdr_read_opts opts = {.flags = c->flags, .kernel = kernel->kernel};
            char way[40];

            snprintf(way, sizeof(way), "%s, %s", kernel->name,
                     ways[k % WAY_COUNT].name);
            fn(c, way, &ways[k % WAY_COUNT].codec, &opts);
            release_lent();
        }
    }
    size_t count = corpus.count;
    corpus_free(&corpus);
    return count;
}

/* --- valid --------------------------------------------------------------- */

static void check_valid(const struct corpus_case *c, const char *way,
                        const struct roundtrip_codec *codec,
                        const pdr_read_opts *opts)
{
    struct roundtrip_report report;

    if (!roundtrip_check(&report, codec, c->input, c->expected, opts))
        corpus_complain(c->name, way, "%s", report.text);
}

TEST(json_read, takes_every_valid_case_and_loses_nothing)
{
    ASSERT(each_way("json/valid", "output", check_valid) >= 100);
    corpus_assert_no_complaint();
}

/* --- invalid ------------------------------------------------------------- */

static void check_invalid(const struct corpus_case *c, const char *way,
                          const struct roundtrip_codec *codec,
                          const pdr_read_opts *opts)
{
    struct corpus_error expected = corpus_expected_error(c);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = codec->read(&value, c->input, opts, &err);

    if (rc == PDR_OK || value != NULL)
        corpus_complain(c->name, way, "was read, expected %s", expected.reason);
    else if (err.code != rc)
        corpus_complain(c->name, way, "returned %s, detail says %s",
                        pdr_rc_name(rc), pdr_rc_name(err.code));
    else
        (void)corpus_error_is(c, way, &expected, &err);
    pdr_value_free(value);
}

TEST(json_read, refuses_every_invalid_case_with_reason_and_place)
{
    ASSERT(each_way("json/invalid", "error", check_invalid) >= 150);
    corpus_assert_no_complaint();
}

TEST(json_corpus, has_a_case_for_every_reason_a_document_can_give)
{
    static const char *const reasons[] = {
        "empty_input",    "byte_order_mark",   "utf16_input",
        "unexpected_end", "unexpected_byte",   "trailing_data",
        "bad_number",     "control_in_string", "bad_escape",
        "bad_utf8",       "bare_token",        "too_deep"};
    struct corpus corpus;

    corpus_load(&corpus, "json/invalid", "error");
    for (size_t r = 0; r < sizeof(reasons) / sizeof(reasons[0]); r++) {
        size_t count = 0;
        for (size_t i = 0; i < corpus.count; i++)
            count +=
                strcmp(reasons[r],
                       corpus_expected_error(&corpus.cases[i]).reason) == 0;
        if (count == 0)
            corpus_complain(reasons[r], "all cases", "never expected");
    }
    corpus_free(&corpus);
    corpus_assert_no_complaint();
}

/* Without the detail, the verdict is the same. */
static void check_no_detail(const struct corpus_case *c, const char *way,
                            const struct roundtrip_codec *codec,
                            const pdr_read_opts *opts)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc with = codec->read(&value, c->input, opts, &err);
    pdr_rc without = codec->read(&value, c->input, opts, NULL);

    if (with != without)
        corpus_complain(c->name, way, "%s with detail, %s without",
                        pdr_rc_name(with), pdr_rc_name(without));
    pdr_value_free(value);
}

TEST(json_read, gives_the_same_code_when_nobody_wants_the_detail)
{
    (void)each_way("json/invalid", "error", check_no_detail);
    corpus_assert_no_complaint();
}

/* --- options ------------------------------------------------------------- */

static void check_bare_writing(const struct corpus_case *c, const char *way,
                               const struct roundtrip_codec *codec,
                               const pdr_read_opts *opts)
{
    pdr_value *value = NULL;
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_err err = PDR_ERR_INIT;
    bool has_bare = strncmp(c->name, "bare-", 5) == 0 &&
                    strcmp(c->name, "bare-option-changes-nothing") != 0;

    if (codec->read(&value, c->input, opts, &err) != PDR_OK) {
        corpus_complain(c->name, way, "refused: %s", err.reason);
        return;
    }
    for (int layout = PDR_COMPACT; layout <= PDR_AS_READ; layout++) {
        pdr_write_opts plain = {.layout = (pdr_layout)layout};
        pdr_rc rc = codec->write(&text, value, &plain, &err);

        if ((rc == PDR_OK) == has_bare)
            corpus_complain(c->name, way, "layout %d gives %s", layout,
                            pdr_rc_name(rc));
        else if (has_bare &&
                 (strcmp("bare_token", err.reason) != 0 || text.len != 0))
            corpus_complain(c->name, way, "layout %d: %s, %zu bytes written",
                            layout, err.reason, text.len);
        pdr_buf_clear(&text);
    }
    pdr_buf_dispose(&text);
    pdr_value_free(value);
}

TEST(json_write, refuses_bare_tokens_that_were_not_asked_for)
{
    (void)each_way("json/valid", "output", check_bare_writing);
    corpus_assert_no_complaint();
}
