/*
 * json_read.c - one JSON document in memory to a value.
 *
 * WHY  The kernels (json_core.h) do the work; here are the options, the choice
 *      of a kernel, and what a caller is told when a document is refused.
 *
 * INVARIANTS
 *   J1  The input is never written to and never read past its end.
 *   J2  All kernels give the same nodes, and the same reason, offset and path.
 */
#include <stdio.h>

#include "codec.h"

/* Texts that are copied onto the stack; most scalars are shorter. */
#define SMALL_TEXT 256

/* Bytes that a document is guessed to have when more follows it: what follows
 * must not cost memory each time. */
#define TRAILING_GUESS 65536u

/* --- options ------------------------------------------------------------- */

static bool has_kernel(pdr_kernel kernel)
{
#if defined(__x86_64__)
    if (kernel == PDR_KERNEL_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    return true;
#else
    return kernel == PDR_KERNEL_PORTABLE;
#endif
}

static pdr_kernel best_kernel(void)
{
    if (has_kernel(PDR_KERNEL_AVX2))
        return PDR_KERNEL_AVX2;
    if (has_kernel(PDR_KERNEL_SSE2))
        return PDR_KERNEL_SSE2;
    return PDR_KERNEL_PORTABLE;
}

static const struct {
    const char *name;
    json_kernel_fn read;
} kernels[] = {
    [PDR_KERNEL_PORTABLE] = {"portable", pdr__json_kernel_portable},
    [PDR_KERNEL_SSE2] = {"sse2", pdr__json_kernel_sse2},
    [PDR_KERNEL_AVX2] = {"avx2", pdr__json_kernel_avx2},
};

const char *pdr_kernel_name(void)
{
    return kernels[best_kernel()].name;
}

/* A limit that the caller gave, or the default; false if it is over the most
 * that there can be. */
static bool take_limit(uint64_t *out, uint64_t given, uint64_t normal,
                       uint64_t most)
{
    *out = given != 0 ? given : normal;
    return *out <= most;
}

pdr_rc pdr__read_limits(struct read_limits *out, const pdr_read_opts *opts,
                        pdr_err *err)
{
    static const pdr_read_opts none;
    uint64_t depth = 0, bytes = 0, nodes = 0;

    if (opts == NULL)
        opts = &none;
    if ((unsigned)opts->kernel >= PDR_COUNT(kernels))
        return PDR_FAIL(err, BAD_OPTION, "no kernel %d", (int)opts->kernel);
    if (!take_limit(&depth, opts->max_depth, PDR_DEFAULT_DEPTH, PDR_MAX_DEPTH))
        return PDR_FAIL(err, BAD_OPTION, "a depth limit is at most %d",
                        PDR_MAX_DEPTH);
    if (!take_limit(&bytes, opts->max_bytes, PDR_MAX_TEXT_BYTES,
                    PDR_MAX_TEXT_BYTES))
        return PDR_FAIL(err, BAD_OPTION, "a size limit is at most %u",
                        PDR_MAX_TEXT_BYTES);
    if (!take_limit(&nodes, opts->max_nodes, PDR_MAX_NODES, PDR_MAX_NODES))
        return PDR_FAIL(err, BAD_OPTION, "a limit of nodes is at most %u",
                        PDR_MAX_NODES);
    out->bare = (opts->flags & PDR_BARE_TOKENS) != 0;
    out->alone = false;
    out->trailing = (opts->flags & PDR_TRAILING) != 0;
    out->depth = (uint32_t)depth;
    out->bytes = (size_t)bytes;
    out->nodes = (uint32_t)nodes;
    out->extended = opts->extended;
    out->kernel =
        opts->kernel != PDR_KERNEL_BEST ? opts->kernel : best_kernel();
    if (!has_kernel(out->kernel))
        return PDR_FAIL(err, NO_KERNEL, "this processor has no %s",
                        kernels[out->kernel].name);
    return PDR_OK;
}

/* --- strings ------------------------------------------------------------- */

uint32_t pdr__json_special(const char *p, const char *end)
{
    uint32_t info = 0;
    size_t len = 0;

    if (*p == '\\') {
        len = pdr__text_escape_len(p, end, &info);
        return len > 0 ? (uint32_t)len | (info | NODE_FLAG) << 8 : 0;
    }
    /* Text in other scripts comes in runs: take what fits into 8 bits. */
    while (len < 240 && p + len < end && (unsigned char)p[len] >= 0x80) {
        size_t one = pdr__utf8_len(p + len, end);
        if (one == 0)
            break; /* reported when it is met first */
        len += one;
    }
    return (uint32_t)len;
}

/* --- room ---------------------------------------------------------------- */

bool pdr__json_grow(struct json_reader *r, uint32_t need)
{
    if (r->max_nodes - r->count < need) {
        r->reason = PDR_R_TOO_MANY_NODES;
        return false;
    }
    uint32_t cap = r->cap < r->max_nodes / 2 ? r->cap * 2 : r->max_nodes;
    struct block *block = pdr__block_resize(r->block, cap);
    if (block == NULL) {
        r->reason = PDR_R_NO_MEMORY;
        return false;
    }
    r->block = block;
    r->nodes = block_nodes(block);
    r->cap = cap;
    return true;
}

/* Nodes to begin with: a scalar has one; documents of agents have one for every
 * 10 bytes or more; others grow, which copies. What is not used is given back.
 * What follows a document in the same text must not cost memory each time. */
static uint32_t first_nodes(pdr_str text, const struct read_limits *limits)
{
    size_t at = 0, bytes = text.len;

    while (at < text.len && json_is_space(text.ptr[at]))
        at++;
    if (at < text.len && text.ptr[at] != '{' && text.ptr[at] != '[')
        return 1;
    if (limits->trailing && !limits->alone && bytes > TRAILING_GUESS)
        bytes = TRAILING_GUESS;
    size_t guess = bytes / 8 + 16;
    return guess < limits->nodes ? (uint32_t)guess : limits->nodes;
}

/* --- what went wrong ----------------------------------------------------- */

/* Is the escape at p cut off by the end of the input, and good up to there? */
static bool escape_is_cut(const char *p, const char *end)
{
    if (end - p < 2)
        return true;
    if (p[1] != 'u' || end - p >= 6)
        return false;
    for (p += 2; p < end; p++) {
        char c = (char)(*p | 0x20);
        if (!((*p >= '0' && *p <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

enum pdr__reason pdr__json_why(const char **at, const char *p, const char *end)
{
    *at = p;
    if (p == end)
        return PDR_R_UNEXPECTED_END;
    if ((unsigned char)*p >= 0x80)
        return PDR_R_BAD_UTF8;
    if (*p != '\\')
        return PDR_R_CONTROL_IN_STRING;
    if (!escape_is_cut(p, end))
        return PDR_R_BAD_ESCAPE;
    *at = end;
    return PDR_R_UNEXPECTED_END;
}

pdr_rc pdr__json_push_token(pdr_buf *path, pdr_str inner)
{
    pdr_buf plain = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf token = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES * UINT64_C(2) + 1);
    pdr_rc rc = pdr_buf_reserve(&plain, inner.len, NULL);

    if (rc == PDR_OK) {
        plain.len = pdr__text_decode(plain.ptr, inner);
        rc = pdr_pointer_push(&token, pdr_buf_str(&plain), NULL);
    }
    if (rc == PDR_OK)
        rc = pdr__text_encode(path, pdr_buf_str(&token), NULL);
    pdr_buf_dispose(&token);
    pdr_buf_dispose(&plain);
    return rc;
}

static pdr_rc push_name(pdr_buf *path, const struct json_reader *r,
                        uint32_t name)
{
    const pdr_value *node = &r->nodes[name];

    return pdr__json_push_token(
        path, pdr_str_n(r->text + node->start + 1, node->len - 2));
}

/* The pointer of what was being read, from the nodes (R2). Only the innermost
 * levels fit into a detail, so only these are put together. */
static void put_path(pdr_err *err, const struct json_reader *r)
{
    uint32_t chain[PDR_ERR_PATH]; /* inside first; a level has 1 byte or more */
    uint32_t levels = 0;
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    for (uint32_t n = r->open; n != JSON_NONE && levels < PDR_COUNT(chain);
         n = r->nodes[n].link)
        chain[levels++] = n;
    while (levels-- > 0 && rc == PDR_OK) {
        const pdr_value *container = &r->nodes[chain[levels]];
        uint32_t child = levels > 0 ? chain[levels - 1] : r->count;
        uint32_t before = levels > 0 ? node_count(container) : r->children;

        if (levels == 0 && !r->at_value)
            break;
        if (node_kind(container) == NODE_OBJECT)
            rc = push_name(&path, r, child - 1);
        else
            rc = pdr_buf_printf(&path, NULL, "/%u", before);
    }
    if (rc == PDR_OK)
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
}

/* How a byte is shown in a message. */
static const char *show_byte(char out[16], unsigned char c)
{
    if (c > 0x20 && c < 0x7F)
        (void)snprintf(out, 16, "'%c'", c);
    else
        (void)snprintf(out, 16, "byte 0x%02X", c);
    return out;
}

static const char *expected_here(const struct json_reader *r)
{
    bool object =
        r->open != JSON_NONE && node_kind(&r->nodes[r->open]) == NODE_OBJECT;

    if (r->at_value)
        return "a value";
    if (r->at_colon)
        return "':'";
    if (!object)
        return "',' or ']'";
    return r->at_name ? "a name in double quotes" : "',' or '}'";
}

static bool follows_comma(const struct json_reader *r)
{
    const char *p = r->at;

    while (p > r->text && json_is_space(p[-1]))
        p--;
    return p > r->text && p[-1] == ',';
}

/* What commonly makes a document wrong at this byte; "" if nothing is known. */
static const char *advice(const struct json_reader *r)
{
    char c = *r->at;

    if (c == '\'')
        return "; strings stand in double quotes";
    if (c == '/' || c == '#')
        return "; JSON has no comments";
    if ((c == ']' || c == '}') && follows_comma(r))
        return "; no comma may stand before a closing bracket";
    if (c == 'T' || c == 'F')
        return "; the literals are true, false and null";
    if (c >= '0' && c <= '9' && r->at > r->text && r->at[-1] == '0')
        return "; a number has no leading zeros";
    return "";
}

static pdr_rc describe(const struct json_reader *r, pdr_err *err)
{
    char byte[16] = "the end";

    if (r->at < r->end)
        (void)show_byte(byte, (unsigned char)*r->at);
    switch ((int)r->reason) {
    case PDR_R_NO_MEMORY:
        return pdr__nomem(err);
    case PDR_R_UNEXPECTED_END:
        return PDR_FAIL(err, UNEXPECTED_END,
                        "the document ends before it is complete");
    case PDR_R_UNEXPECTED_BYTE:
        return PDR_FAIL(err, UNEXPECTED_BYTE, "expected %s, found %s%s",
                        expected_here(r), byte, advice(r));
    case PDR_R_BAD_NUMBER:
        return PDR_FAIL(err, BAD_NUMBER, "expected a digit, found %s", byte);
    case PDR_R_BAD_UTF8:
        return PDR_FAIL(err, BAD_UTF8, "%s does not begin a UTF-8 sequence",
                        byte);
    case PDR_R_CONTROL_IN_STRING:
        return PDR_FAIL(err, CONTROL_IN_STRING,
                        "%s must be escaped in a string", byte);
    case PDR_R_BAD_ESCAPE:
        return PDR_FAIL(err, BAD_ESCAPE,
                        "no escape: a backslash stands before one of "
                        "\"\\/bfnrt or u and four hex digits");
    case PDR_R_BARE_TOKEN:
        return PDR_FAIL(err, BARE_TOKEN,
                        "NaN and infinities are read only when asked for");
    case PDR_R_TOO_DEEP:
        return PDR_FAIL(err, TOO_DEEP, "more than %u levels", r->max_depth);
    default:
        assert(r->reason == PDR_R_TOO_MANY_NODES);
        return PDR_FAIL(err, TOO_MANY_NODES, "more than %u names and values",
                        r->max_nodes);
    }
}

/* Tell the caller why a text of `len` bytes is refused. */
static pdr_rc refuse(const struct json_reader *r, size_t len, pdr_err *err)
{
    pdr_rc rc = describe(r, err);

    if (err != NULL && r->reason != PDR_R_NO_MEMORY) {
        size_t at =
            r->reason == PDR_R_UNEXPECTED_END ? len : (size_t)(r->at - r->text);
        pdr__err_at(err, at);
        put_path(err, r);
    }
    return rc;
}

/* --- before the document ------------------------------------------------- */

static bool begins_with(pdr_str text, const char *bytes, size_t len)
{
    return text.len >= len && memcmp(text.ptr, bytes, len) == 0;
}

pdr_rc pdr__json_check_beginning(pdr_str text, pdr_err *err)
{
    if (begins_with(text, "\xEF\xBB\xBF", 3))
        return PDR_FAIL_AT(err, 0, BYTE_ORDER_MARK,
                           "the document begins with a byte order mark; JSON "
                           "has none, remove the first three bytes");
    if (begins_with(text, "\xFE\xFF", 2) || begins_with(text, "\xFF\xFE", 2) ||
        (text.len >= 2 && (text.ptr[0] == '\0' || text.ptr[1] == '\0')))
        return PDR_FAIL_AT(err, 0, UTF16_INPUT,
                           "the document looks like UTF-16 or UTF-32; convert "
                           "it to UTF-8");
    return PDR_OK;
}

static pdr_rc check_not_empty(pdr_str text, pdr_err *err)
{
    size_t at = 0;

    while (at < text.len && json_is_space(text.ptr[at]))
        at++;
    if (at < text.len)
        return PDR_OK;
    return PDR_FAIL_AT(err, at, EMPTY_INPUT, "the document is empty");
}

/* --- reading ------------------------------------------------------------- */

static pdr_rc check_trailing(pdr_str text, size_t used, pdr_err *err)
{
    while (used < text.len && json_is_space(text.ptr[used]))
        used++;
    if (used == text.len)
        return PDR_OK;
    return PDR_FAIL_AT(err, used, TRAILING_DATA,
                       "there is more behind the document");
}

/* The kernels want a byte at the end that stops them (R1). Almost every text
 * has one: the last bracket. Else a NUL is put behind a copy, in *copy if it is
 * large; nodes hold offsets, so they fit both. */
static pdr_rc put_stop(struct json_reader *r, char small[SMALL_TEXT],
                       pdr_buf *copy, bool must_copy, pdr_err *err)
{
    const char *last = r->end;
    size_t len = (size_t)(r->end - r->text);

    while (last > r->text && json_is_space(last[-1]))
        last--;
    if (!must_copy && last > r->text && (last[-1] == '}' || last[-1] == ']')) {
        r->end = last;
        return PDR_OK;
    }
    char *to = small;
    if (len >= SMALL_TEXT) {
        pdr_rc rc = pdr_buf_reserve(copy, len + 1, err);
        if (rc != PDR_OK)
            return rc;
        to = copy->ptr;
    }
    memcpy(to, r->text, len);
    to[len] = '\0';
    r->text = r->at = to;
    r->end = to + len;
    return PDR_OK;
}

/* Give the nodes that were not needed back, if that is worth it. */
static struct block *fit_block(const struct json_reader *r)
{
    struct block *fitting = NULL;

    if (r->cap - r->count > r->count / 4)
        fitting = pdr__block_resize(r->block, r->count);
    return fitting != NULL ? fitting : r->block;
}

static pdr_rc check_bytes(pdr_str text, const struct read_limits *limits,
                          pdr_err *err)
{
    if (text.len <= limits->bytes)
        return PDR_OK;
    return PDR_FAIL_AT(err, limits->bytes, TOO_LARGE,
                       "%zu bytes, the limit is %zu", text.len, limits->bytes);
}

/* Put the reader before the first byte. */
static void begin(struct json_reader *r, pdr_str text,
                  const struct read_limits *limits)
{
    struct json_reader fresh = {.text = text.ptr,
                                .at = text.ptr,
                                .end = text.ptr + text.len,
                                .block = r->block,
                                .nodes = r->nodes,
                                .cap = r->cap,
                                .levels = r->levels,
                                .depth = r->levels,
                                .height = r->levels,
                                .max_depth = limits->depth,
                                .max_nodes = limits->nodes,
                                .bare = limits->bare};

    *r = fresh;
}

/* Let the kernel read all of `text` into r->block. */
static pdr_rc run_kernel(struct json_reader *r, pdr_str text, bool has_nul,
                         const struct read_limits *limits, pdr_err *err)
{
    pdr_buf copy = PDR_BUF_INIT(SIZE_MAX);
    char small[SMALL_TEXT];
    pdr_rc rc = PDR_OK;

    begin(r, text, limits);
    if (!has_nul)
        rc = put_stop(r, small, &copy, false, err);
    bool good = rc == PDR_OK && kernels[limits->kernel].read(r);
    if (rc == PDR_OK && !good && r->reason == PDR_R_UNEXPECTED_END &&
        !has_nul && copy.ptr == NULL) {
        /* White space behind the last bracket may be what is wrong, inside of
         * a string that was not closed: look again with it. */
        begin(r, text, limits);
        rc = put_stop(r, small, &copy, true, err);
        good = rc == PDR_OK && kernels[limits->kernel].read(r);
    }
    if (rc == PDR_OK && !good)
        rc = refuse(r, text.len, err);
    r->used = (size_t)(r->at - r->text);
    pdr_buf_dispose(&copy);
    if (rc == PDR_OK && !limits->trailing)
        rc = check_trailing(text, r->used, err);
    return rc;
}

pdr_rc pdr__json_parse(pdr_value **out, size_t *used, pdr_str text,
                       bool has_nul, const struct read_limits *limits,
                       uint32_t levels, pdr_err *err)
{
    struct json_reader r;

    *out = NULL;
    memset(&r, 0, sizeof(r));
    r.levels = levels;
    r.cap = first_nodes(text, limits);
    r.block = pdr__block_new(r.cap, 0);
    if (r.block == NULL)
        return pdr__nomem(err);
    r.nodes = block_nodes(r.block);
    pdr_rc rc = run_kernel(&r, text, has_nul, limits, err);
    if (rc != PDR_OK) {
        pdr__free(r.block);
        return rc;
    }
    struct block *block = fit_block(&r);
    block->text = text.ptr;
    block->text_len = limits->trailing ? r.used : text.len;
    block->node_count = r.count;
    block->height = r.height - levels;
    block->large = r.large;
    block->has_bare = r.has_bare;
    *used = r.used;
    *out = block_nodes(block);
    return PDR_OK;
}

/* Everything that is checked before and while a document is read. */
static pdr_rc read_document(pdr_value **out, pdr_str text, bool has_nul,
                            const pdr_read_opts *opts, pdr_err *err)
{
    struct read_limits limits;
    size_t used = 0;

    *out = NULL;
    pdr_rc rc =
        pdr__codec_check(&pdr__json_codec, opts != NULL ? opts->flags : 0,
                         pdr__json_codec.read_flags, err);
    if (rc == PDR_OK)
        rc = pdr__read_limits(&limits, opts, err);
    if (rc == PDR_OK)
        rc = check_bytes(text, &limits, err);
    if (rc == PDR_OK)
        rc = pdr__json_check_beginning(text, err);
    if (rc == PDR_OK)
        rc = check_not_empty(text, err);
    if (rc == PDR_OK)
        rc = pdr__json_parse(out, &used, text, has_nul, &limits, 0, err);
    if (rc == PDR_OK && opts != NULL && opts->used != NULL)
        *opts->used = used;
    return rc;
}

pdr_rc pdr_json_read_borrowed(pdr_value **out, pdr_str text,
                              const pdr_read_opts *opts, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && (text.ptr != NULL || text.len == 0));
    return read_document(out, text, false, opts, err);
}

pdr_rc pdr_json_read_take(pdr_value **out, pdr_buf *text,
                          const pdr_read_opts *opts, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && text != NULL);
    bool has_room = text->cap > text->len;

    if (has_room)
        text->ptr[text->len] = '\0';
    pdr_rc rc = read_document(out, pdr_buf_str(text), has_room, opts, err);
    if (rc != PDR_OK) {
        pdr_buf_dispose(text);
        return rc;
    }
    node_block(*out)->owned = text->ptr;
    text->ptr = NULL;
    text->len = text->cap = 0;
    return PDR_OK;
}

pdr_rc pdr_json_read(pdr_value **out, pdr_str text, const pdr_read_opts *opts,
                     pdr_err *err)
{
    pdr_buf copy = PDR_BUF_INIT(SIZE_MAX);
    struct read_limits limits;

    PDR_REQUIRE(out != NULL && (text.ptr != NULL || text.len == 0));
    *out = NULL;
    pdr_rc rc = pdr__read_limits(&limits, opts, err);
    if (rc == PDR_OK)
        rc = check_bytes(text, &limits, err); /* before it is copied */
    if (rc == PDR_OK)
        rc = pdr_buf_reserve(&copy, text.len + 1, err); /* and a NUL */
    if (rc == PDR_OK)
        rc = pdr_buf_append(&copy, text, err);
    if (rc != PDR_OK)
        return rc;
    return pdr_json_read_take(out, &copy, opts, err);
}
