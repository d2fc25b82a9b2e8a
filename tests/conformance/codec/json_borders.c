/*
 * json_borders.c - inputs around the widths that vector code works in.
 *
 * WHY  Vector code looks at 16, 32 or 64 bytes at once. Its mistakes sit where
 *      a string, an escape, a sequence of several bytes or the input itself
 *      ends near such a border. So everything that can stand in a string is
 *      put at every place of strings of every length up to beyond 64, and the
 *      input is a block of exactly its size, so that ASan sees a read behind
 *      it.
 */
#include "corpus.h"
#include "roundtrip.h"

#define LONGEST   70
#define MAX_INPUT 512

static struct corpus_kernel kernels[4];
static size_t kernel_count;

/* What may stand in a string; `reason` NULL if it is allowed, else the offset
 * of the wrong byte is that of the piece plus `at`. */
struct piece {
    const char *name;
    const char *text;
    const char *reason;
    size_t at;
};

static const struct piece pieces[] = {
    {"nothing", "", NULL, 0},
    {"escape", "\\n", NULL, 0},
    {"backslash", "\\\\", NULL, 0},
    {"quote", "\\\"", NULL, 0},
    {"two backslashes and a quote", "\\\\\\\\\\\"", NULL, 0},
    {"unicode escape", "\\u00e9", NULL, 0},
    {"pair", "\\ud83d\\ude00", NULL, 0},
    {"lone half", "\\ud83d", NULL, 0},
    {"delete", "\x7f", NULL, 0},
    {"two bytes", "\xC3\xA9", NULL, 0},
    {"three bytes", "\xE6\xBC\xA2", NULL, 0},
    {"four bytes", "\xF0\x9F\x98\x80", NULL, 0},
    {"structure", "{}[]:,", NULL, 0},
    {"control", "\x01", "control_in_string", 0},
    {"line feed", "\n", "control_in_string", 0},
    {"1f", "\x1f", "control_in_string", 0},
    {"bad escape", "\\x", "bad_escape", 0},
    {"bad hex", "\\u00g0", "bad_escape", 0},
    {"stray", "\x80", "bad_utf8", 0},
    {"overlong", "\xC0\x80", "bad_utf8", 0},
    {"surrogate", "\xED\xA0\x80", "bad_utf8", 0},
    {"too high", "\xF4\x90\x80\x80", "bad_utf8", 0},
    {"cut two", "\xC3", "bad_utf8", 0},
    {"cut three", "\xE6\xBC", "bad_utf8", 0},
    {"cut four", "\xF0\x9F\x98", "bad_utf8", 0},
};

#define PIECE_COUNT (sizeof(pieces) / sizeof(pieces[0]))

static void read_exact(const char *name, pdr_str text, const char *reason,
                       size_t offset, const char *path)
{
    char *exact = malloc(text.len > 0 ? text.len : 1);

    assert_non_null(exact);
    memcpy(exact, text.ptr, text.len);
    for (size_t k = 0; k < kernel_count; k++) {
        pdr_read_opts opts = {.kernel = kernels[k].kernel};
        pdr_value *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_json_read_borrowed(&value, pdr_str_n(exact, text.len),
                                           &opts, &err);
        pdr_str raw = {NULL, 0};

        if ((rc == PDR_OK) != (reason == NULL))
            corpus_complain(name, kernels[k].name, "%s: %.*s",
                            rc == PDR_OK ? "was read" : err.reason,
                            (int)text.len, text.ptr);
        else if (rc != PDR_OK &&
                 (strcmp(reason, err.reason) != 0 ||
                  (size_t)err.offset != offset || strcmp(path, err.path) != 0))
            corpus_complain(name, kernels[k].name,
                            "expected %s %zu %s, got %s %lld %s", reason,
                            offset, path, err.reason, (long long)err.offset,
                            err.path);
        else if (rc == PDR_OK && (!pdr_value_raw(&raw, value) ||
                                  !pdr_str_equal(raw, roundtrip_root(text))))
            corpus_complain(name, kernels[k].name, "another span");
        pdr_value_free(value);
    }
    free(exact);
}

static pdr_str fill(char *out, char with, size_t count)
{
    memset(out, with, count);
    return pdr_str_n(out, count);
}

static void add(pdr_buf *buf, pdr_str text)
{
    assert_int_equal(PDR_OK, pdr_buf_append(buf, text, NULL));
}

/* `lead` spaces, then a string with `before` letters, the piece, `after`
 * letters: `["…"` and a number behind it, so that the end must be seen. */
static void check_string(const struct piece *piece, size_t lead, size_t before,
                         size_t after)
{
    char letters[MAX_INPUT];
    pdr_buf text = PDR_BUF_INIT(2 * MAX_INPUT);

    add(&text, fill(letters, ' ', lead));
    add(&text, pdr_str_c("[\""));
    add(&text, fill(letters, 'a', before));
    size_t at = text.len + piece->at;
    add(&text, pdr_str_c(piece->text));
    add(&text, fill(letters, 'b', after));
    add(&text, pdr_str_c("\",1]"));
    read_exact(piece->name, pdr_buf_str(&text), piece->reason, at, "/0");

    if (piece->reason == NULL) { /* cut behind the last letter: no end */
        text.len -= 4;
        read_exact(piece->name, pdr_buf_str(&text), "unexpected_end", text.len,
                   "/0");
    }
    pdr_buf_dispose(&text);
}

TEST(json_borders, every_piece_at_every_place_of_every_length)
{
    kernel_count = corpus_kernels(kernels);
    for (size_t p = 0; p < PIECE_COUNT; p++)
        for (size_t length = 0; length <= LONGEST; length++)
            for (size_t before = 0; before <= length; before++)
                check_string(&pieces[p], 0, before, length - before);
    corpus_assert_no_complaint();
}

TEST(json_borders, every_piece_at_every_distance_from_the_beginning)
{
    kernel_count = corpus_kernels(kernels);
    for (size_t p = 0; p < PIECE_COUNT; p++)
        for (size_t lead = 1; lead <= 2 * LONGEST; lead++)
            for (size_t after = 0; after < 4; after++)
                check_string(&pieces[p], lead, lead % 5, after);
    corpus_assert_no_complaint();
}

static void check_pair(const struct piece *one, const struct piece *two,
                       size_t before)
{
    char letters[MAX_INPUT];
    pdr_buf text = PDR_BUF_INIT(MAX_INPUT);
    const char *reason = one->reason != NULL ? one->reason : two->reason;

    add(&text, pdr_str_c("[\""));
    add(&text, fill(letters, 'a', before));
    size_t offset = text.len + one->at;
    add(&text, pdr_str_c(one->text));
    if (one->reason == NULL)
        offset = text.len + two->at;
    add(&text, pdr_str_c(two->text));
    add(&text, pdr_str_c("z\"]"));
    read_exact(two->name, pdr_buf_str(&text), reason, offset, "/0");
    pdr_buf_dispose(&text);
}

/* What one piece leaves behind (an odd number of backslashes, an open sequence)
 * must not leak into the next block. */
TEST(json_borders, two_pieces_around_each_border)
{
    kernel_count = corpus_kernels(kernels);
    for (size_t p = 0; p < PIECE_COUNT; p++)
        for (size_t q = 0; q < PIECE_COUNT; q++) {
            bool completes = strncmp(pieces[p].name, "cut", 3) == 0 &&
                             strcmp(pieces[q].name, "stray") == 0;
            for (size_t before = 8; before <= 66 && !completes; before++)
                check_pair(&pieces[p], &pieces[q], before);
        }
    corpus_assert_no_complaint();
}

/* `open`, `count` times `middle`, `close`. */
static void check_run(const char *open, char middle, size_t count,
                      const char *close, const char *reason, size_t from_end,
                      const char *path)
{
    char letters[MAX_INPUT];
    pdr_buf text = PDR_BUF_INIT(2 * MAX_INPUT);

    add(&text, pdr_str_c(open));
    add(&text, fill(letters, middle, count));
    add(&text, pdr_str_c(close));
    read_exact(open, pdr_buf_str(&text), reason, text.len - from_end, path);
    pdr_buf_dispose(&text);
}

TEST(json_borders, runs_of_white_space_and_digits_of_every_length)
{
    kernel_count = corpus_kernels(kernels);
    for (size_t n = 0; n <= 4 * LONGEST; n++) {
        check_run("", ' ', n, "1", NULL, 0, "");
        check_run("1", '\n', n, "", NULL, 0, "");
        check_run("[", '\t', n, "]", NULL, 0, "");
        check_run("[", '\r', n, "", "unexpected_end", 0, "/0");
        check_run("[1", ' ', n, "?", "unexpected_byte", 1, "");
        check_run("[", ' ', n, "?", "unexpected_byte", 1, "/0");
        check_run("[1", '7', n, "]", NULL, 0, "");
        check_run("1", '7', n, "", NULL, 0, "");
        check_run("[1.5", '0', n, "]", NULL, 0, "");
        check_run("[1e5", '0', n, "e]", "unexpected_byte", 2, "");
        check_run("[\"", '/', n, "\"]", NULL, 0, "");
    }
    corpus_assert_no_complaint();
}

/* Every document cut at every byte: a number may end there, all else is an end
 * that came too early, at the length of the input. */
TEST(json_borders, a_document_cut_at_any_byte_ends_too_early)
{
    static const char whole[] =
        "{\"name\":\"\xC3\xA9\\u00e9\xF0\x9F\x98\x80 and so on\",\"list\":[1,-2.5e+10,"
        "true,false,null,[],{},\"\"],\"inner\":{\"x\":[[\"deep\"]]}}";

    kernel_count = corpus_kernels(kernels);
    for (size_t len = 1; len < sizeof(whole) - 1; len++)
        for (size_t k = 0; k < kernel_count; k++) {
            pdr_read_opts opts = {.kernel = kernels[k].kernel};
            pdr_value *value = NULL;
            pdr_err err = PDR_ERR_INIT;
            char *exact = malloc(len);
            bool in_sequence = ((unsigned char)whole[len] & 0xC0u) == 0x80u;

            memcpy(exact, whole, len);
            ASSERT_RC(PDR_EINVALID,
                      pdr_json_read_borrowed(&value, pdr_str_n(exact, len),
                                             &opts, &err));
            ASSERT_STR(in_sequence ? "bad_utf8" : "unexpected_end", err.reason);
            if (!in_sequence)
                ASSERT_INT(len, err.offset);
            free(exact);
        }
}
