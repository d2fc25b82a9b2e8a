/*
 * msgpack_ways.c - see msgpack_ways.h.
 */
#include "msgpack_ways.h"

#include "codec.h"
#include "corpus.h"

const pdr_read_opts mp_bare_tokens = {.flags = PDR_BARE_TOKENS};

/* --- bytes --------------------------------------------------------------- */

void mp_bytes(pdr_buf *out, unsigned byte, size_t count)
{
    ASSERT_RC(PDR_OK, pdr_buf_reserve(out, count, NULL));
    if (count > 0)
        memset(out->ptr + out->len, (int)byte, count);
    out->len += count;
}

void mp_byte(pdr_buf *out, unsigned byte)
{
    mp_bytes(out, byte, 1);
}

void mp_head(pdr_buf *out, unsigned first, unsigned width, uint64_t n)
{
    mp_byte(out, first);
    while (width-- > 0)
        mp_byte(out, (unsigned)(n >> 8 * width) & 0xFFu);
}

void mp_hex(pdr_buf *out, const char *hex)
{
    unsigned byte = 0;
    int used = 0;

    while (sscanf(hex, " %2x%n", &byte, &used) == 1) {
        mp_byte(out, byte);
        hex += used;
    }
    if (hex[strspn(hex, " ")] != '\0')
        fail_msg("no hexadecimal digits: %s", hex);
}

/* --- results as text ----------------------------------------------------- */

void mp_verdict(char *out, size_t cap, const pdr_err *err)
{
    snprintf(out, cap, "!%s %lld%s%s", err->reason, (long long)err->offset,
             err->path[0] != '\0' ? " " : "", err->path);
}

/* The text and a NUL, released with free(). */
static char *text_of(pdr_str text)
{
    char *copy = malloc(text.len + 1);

    ASSERT(copy != NULL);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

static char *text_of_failure(const pdr_err *err)
{
    char verdict[PDR_ERR_PATH + 200];

    ASSERT(err->message[0] != '\0');
    mp_verdict(verdict, sizeof(verdict), err);
    return text_of(pdr_str_c(verdict));
}

static void put_value(pdr_buf *out, const pdr_value *value)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};

    ASSERT_RC(PDR_OK, pdr_json_write(out, value, &opts, NULL));
}

/* Takes the value. */
static char *text_of_result(pdr_rc rc, pdr_value *value, const pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT((rc == PDR_OK) == (value != NULL));
    if (rc != PDR_OK)
        return text_of_failure(err);
    put_value(&text, value);
    char *copy = text_of(pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_value_free(value);
    return copy;
}

/* --- walking ------------------------------------------------------------- */

struct pieces {
    pdr_str rest;
    size_t piece;
};

static pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct pieces *source = arg;
    size_t len = source->piece < cap ? source->piece : cap;

    (void)err;
    *got = len < source->rest.len ? len : source->rest.len;
    if (*got == 0)
        return PDR_OK;
    memcpy(into, source->rest.ptr, *got);
    source->rest.ptr += *got;
    source->rest.len -= *got;
    return PDR_OK;
}

/* The value that begins here, by its events or as a whole. */
static pdr_rc put_part(pdr_builder *builder, pdr_walk *walk, pdr_event event,
                       bool whole, pdr_err *err)
{
    pdr_value *part = NULL;

    if (!whole) {
        pdr__builder_put(builder, event, pdr_walk_value(walk));
        return PDR_OK;
    }
    pdr_rc rc = pdr_walk_take(&part, walk, err);
    if (rc == PDR_OK)
        pdr_builder_value(builder, part);
    pdr_value_free(part);
    return rc;
}

/* Build events until the walk ends; finished documents go to `out`. Each
 * `every`-th container is taken whole, none if it is 0. */
static pdr_rc collect(pdr_buf *out, pdr_walk *walk, pdr_builder *builder,
                      size_t every, pdr_err *err)
{
    pdr_event event = PDR_END_OF_INPUT;

    for (size_t containers = 0;;) {
        pdr_value *document = NULL;
        pdr_rc rc = pdr_walk_next(&event, walk, err);
        if (rc != PDR_OK || event == PDR_END_OF_INPUT)
            return rc;
        bool begins = event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY;
        containers += begins;
        rc = put_part(builder, walk, event,
                      begins && every > 0 && containers % every == 0, err);
        if (rc != PDR_OK)
            return rc;
        if (pdr_walk_depth(walk) > 0)
            continue;
        ASSERT_RC(PDR_OK, pdr_builder_finish(&document, builder, NULL));
        put_value(out, document);
        mp_byte(out, '\n');
        pdr_value_free(document);
    }
}

/* What failed once stays failed, with the same detail. */
static void assert_fails_again(pdr_walk *walk, const pdr_err *first)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(first->code, pdr_walk_next(&event, walk, &err));
    ASSERT_STR(first->reason, err.reason);
    ASSERT_INT(first->offset, err.offset);
}

static char *walk_taking(pdr_str input, const pdr_read_opts *opts, size_t piece,
                         size_t every)
{
    struct pieces source = {input, piece};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *builder = NULL;
    pdr_walk *walk = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_builder_new(&builder, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_msgpack_codec(), opts, NULL, give,
                                   &source));
    if (collect(&text, walk, builder, every, &err) != PDR_OK) {
        char *verdict = text_of_failure(&err);
        assert_fails_again(walk, &err);
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(verdict), NULL));
        free(verdict);
    }
    char *result = text_of(pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_walk_free(walk);
    pdr_builder_free(builder);
    return result;
}

char *mp_walk(pdr_str input, const pdr_read_opts *opts, size_t piece)
{
    return walk_taking(input, opts, piece, 0);
}

static void assert_same(const char *way, const char *expected, char *actual,
                        pdr_str input)
{
    if (strcmp(expected, actual) != 0) {
        fprintf(stderr, "input:");
        for (size_t i = 0; i < input.len && i < 400; i++)
            fprintf(stderr, " %02x", (unsigned char)input.ptr[i]);
        fail_msg("%s gives %.300s, expected %.300s", way, actual, expected);
    }
    free(actual);
}

char *mp_walk_all(pdr_str input, const pdr_read_opts *opts)
{
    char *whole = mp_walk(input, opts, SIZE_MAX);

    assert_same("bytes", whole, mp_walk(input, opts, 1), input);
    assert_same("pieces of 3", whole, mp_walk(input, opts, 3), input);
    return whole;
}

/* Values taken whole must be those that events give. */
static void assert_takes_the_same(const char *expected, pdr_str input,
                                  const pdr_read_opts *opts)
{
    assert_same("taking all", expected, walk_taking(input, opts, 3, 1), input);
    assert_same("taking some", expected, walk_taking(input, opts, SIZE_MAX, 2),
                input);
    assert_same("taking a few", expected, walk_taking(input, opts, 1, 3),
                input);
}

/* --- reading ------------------------------------------------------------- */

static char *read_with(pdr_str input, const pdr_read_opts *opts,
                       pdr_kernel kernel)
{
    pdr_read_opts with = *opts;
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t used = SIZE_MAX;

    with.kernel = kernel;
    with.used = &used;
    pdr_rc rc = pdr_codec_read(&value, pdr_msgpack_codec(), input, &with, &err);
    ASSERT_SIZE(rc == PDR_OK ? input.len : SIZE_MAX, used);
    return text_of_result(rc, value, &err);
}

static char *read_by_walk(pdr_str input, const pdr_read_opts *opts)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc =
        pdr__codec_read_by_walk(&value, pdr_msgpack_codec(), input, opts, &err);

    return text_of_result(rc, value, &err);
}

/* The last line of a walk over one document is its result. */
static char *last_line(char *text)
{
    size_t len = strlen(text);

    if (len > 0 && text[len - 1] == '\n')
        text[len - 1] = '\0';
    const char *line = strrchr(text, '\n');
    if (line != NULL)
        memmove(text, line + 1, strlen(line));
    return text;
}

/* Limits on whole documents mean something else for single events. */
static bool is_about_the_whole(const char *text)
{
    return strncmp(text, "!too_large", 10) == 0 ||
           strncmp(text, "!too_many_nodes", 15) == 0;
}

char *mp_read(pdr_str input, const pdr_read_opts *opts)
{
    static const pdr_read_opts none;
    struct corpus_kernel kernels[4];
    size_t count = corpus_kernels(kernels);
    char *block = text_of(input); /* so that a sanitizer sees its end */
    char *exact = realloc(block, input.len > 0 ? input.len : 1);

    ASSERT(exact != NULL);
    input.ptr = exact;
    if (opts == NULL)
        opts = &none;
    char *result = read_with(input, opts, kernels[0].kernel);
    for (size_t i = 1; i < count; i++)
        assert_same(kernels[i].name, result,
                    read_with(input, opts, kernels[i].kernel), input);
    assert_same("the walk", result, read_by_walk(input, opts), input);
    if (!is_about_the_whole(result)) {
        char *events = mp_walk_all(input, opts);
        assert_takes_the_same(events, input, opts);
        assert_same("events", result, last_line(events), input);
    }
    free(exact);
    return result;
}

/* --- assertions ---------------------------------------------------------- */

void mp_assert_text(const char *expected, char *actual, const char *file,
                    int line)
{
    test_assert_text(expected, pdr_str_c(actual), file, line);
    free(actual);
}

void mp_assert_reads(const char *expected, const char *hex,
                     const pdr_read_opts *opts, const char *file, int line)
{
    pdr_buf input = PDR_BUF_INIT(SIZE_MAX);

    mp_hex(&input, hex);
    char *actual = mp_read(pdr_buf_str(&input), opts);
    pdr_buf_dispose(&input);
    mp_assert_text(expected, actual, file, line);
}

void mp_assert_walks(const char *expected, const char *hex, unsigned flags,
                     const char *file, int line)
{
    pdr_read_opts opts = {.flags = flags};
    pdr_buf input = PDR_BUF_INIT(SIZE_MAX);

    mp_hex(&input, hex);
    char *actual = mp_walk_all(pdr_buf_str(&input), &opts);
    assert_takes_the_same(actual, pdr_buf_str(&input), &opts);
    pdr_buf_dispose(&input);
    mp_assert_text(expected, actual, file, line);
}

/* --- writing ------------------------------------------------------------- */

void mp_write_hex(char *out, size_t cap, const pdr_value *value,
                  const pdr_write_opts *opts)
{
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_codec_write(&bytes, pdr_msgpack_codec(), value, opts, &err);

    ASSERT(cap > 0);
    out[0] = '\0';
    if (rc != PDR_OK)
        mp_verdict(out, cap, &err);
    else
        ASSERT(bytes.len * 2 < cap);
    for (size_t i = 0; i < bytes.len; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned char)bytes.ptr[i]);
    pdr_buf_dispose(&bytes);
}
