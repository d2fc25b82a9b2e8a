/*
 * msgpack_roundtrip.c - any bytes are refused or give a value that survives.
 *
 * The reader with each kernel and the walk agree: the same value, or the same
 * reason, offset and path. A value comes back from MessagePack with the same
 * compact JSON text. What is written for exchange has native types only and
 * reads back as an equal value, spelling aside.
 */
#include <perdure.h>

#include "codec.h"
#include "fuzz.h"
#include "number.h"

#define NO_LIMIT PDR_BUF_INIT(SIZE_MAX)

static void put_json(pdr_buf *out, const pdr_value *value)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};

    MUST(pdr_json_write(out, value, &opts, NULL) == PDR_OK);
}

static bool same_json(const pdr_value *a, const pdr_value *b)
{
    pdr_buf left = NO_LIMIT, right = NO_LIMIT;

    put_json(&left, a);
    put_json(&right, b);
    bool same = pdr_str_equal(pdr_buf_str(&left), pdr_buf_str(&right));
    pdr_buf_dispose(&left);
    pdr_buf_dispose(&right);
    return same;
}

/* --- all ways agree ------------------------------------------------------ */

struct result {
    pdr_rc rc;
    pdr_value *value; /* owned */
    pdr_err err;
};

static void must_agree(const struct result *a, struct result *b)
{
    MUST(a->rc == b->rc);
    MUST((a->value != NULL) == (a->rc == PDR_OK));
    MUST((b->value != NULL) == (b->rc == PDR_OK));
    if (a->rc == PDR_OK) {
        MUST(same_json(a->value, b->value));
    } else {
        MUST(strcmp(a->err.reason, b->err.reason) == 0);
        MUST(a->err.offset == b->err.offset);
        MUST(strcmp(a->err.path, b->err.path) == 0);
    }
    pdr_value_free(b->value);
}

static struct result read_with(pdr_str input, unsigned flags, pdr_kernel kernel)
{
    pdr_read_opts opts = {.flags = flags, .kernel = kernel};
    struct result result = {PDR_OK, NULL, PDR_ERR_INIT};

    result.rc = pdr_codec_read(&result.value, pdr_msgpack_codec(), input, &opts,
                               &result.err);
    return result;
}

/* Bytes one by one, so that each is seen at the end of what is there. */
static pdr_rc give_byte(size_t *got, void *into, size_t cap, pdr_err *err,
                        void *arg)
{
    pdr_str *rest = arg;

    (void)cap;
    (void)err;
    *got = rest->len > 0;
    if (*got == 0)
        return PDR_OK;
    memcpy(into, rest->ptr++, 1);
    rest->len--;
    return PDR_OK;
}

/* Event by event: values that are taken whole go through the reader again. */
static struct result read_by_walk(pdr_str input, unsigned flags)
{
    pdr_read_opts opts = {.flags = flags};
    struct result result = {PDR_OK, NULL, PDR_ERR_INIT};
    pdr_event event = PDR_END;
    pdr_walk *walk = NULL;
    pdr_builder *b = NULL;

    MUST(pdr_builder_new(&b, NULL) == PDR_OK);
    MUST(pdr_walk_new(&walk, pdr_msgpack_codec(), &opts, NULL, give_byte,
                      &input) == PDR_OK);
    while (result.rc == PDR_OK && event != PDR_END_OF_INPUT) {
        result.rc = pdr_walk_next(&event, walk, &result.err);
        if (result.rc == PDR_OK)
            pdr__builder_put(b, event, pdr_walk_value(walk));
    }
    if (result.rc == PDR_OK)
        MUST(pdr_builder_finish(&result.value, b, NULL) == PDR_OK);
    pdr_walk_free(walk);
    pdr_builder_free(b);
    return result;
}

/* --- back again ---------------------------------------------------------- */

static void check_round_trip(const pdr_value *value)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_buf bytes = NO_LIMIT, again = NO_LIMIT;

    MUST(pdr_codec_write(&bytes, pdr_msgpack_codec(), value, &opts, NULL) ==
         PDR_OK);
    struct result back =
        read_with(pdr_buf_str(&bytes), PDR_BARE_TOKENS, PDR_KERNEL_BEST);
    MUST(back.rc == PDR_OK);
    MUST(same_json(value, back.value));
    MUST(pdr_codec_write(&again, pdr_msgpack_codec(), back.value, &opts,
                         NULL) == PDR_OK);
    MUST(pdr_str_equal(pdr_buf_str(&bytes), pdr_buf_str(&again)));
    pdr_value_free(back.value);
    pdr_buf_dispose(&again);
    pdr_buf_dispose(&bytes);
}

/* --- exchange ------------------------------------------------------------ */

static bool same_text(const pdr_value *a, const pdr_value *b)
{
    pdr_buf left = NO_LIMIT, right = NO_LIMIT;
    pdr_str x = {NULL, 0}, y = {NULL, 0};

    MUST(pdr_value_text(&x, a, &left, NULL) == PDR_OK);
    MUST(pdr_value_text(&y, b, &right, NULL) == PDR_OK);
    bool same = pdr_str_equal(x, y);
    pdr_buf_dispose(&left);
    pdr_buf_dispose(&right);
    return same;
}

static bool same_scalar(const pdr_value *a, const pdr_value *b)
{
    pdr_str x = {NULL, 0}, y = {NULL, 0};

    if (pdr_value_kind(a) == PDR_STRING)
        return same_text(a, b);
    MUST(pdr_value_raw(&x, a) && pdr_value_raw(&y, b));
    if (pdr_value_kind(a) == PDR_NUMBER)
        return pdr__number_equal_value(x, y) &&
               (x.ptr[0] == '-') == (y.ptr[0] == '-');
    return pdr_str_equal(x, y);
}

/* Equal but for the spelling. */
static bool same_value(const pdr_value *a, const pdr_value *b)
{
    pdr_iter x, y;

    if (pdr_value_kind(a) != pdr_value_kind(b))
        return false;
    if (pdr_value_kind(a) != PDR_ARRAY && pdr_value_kind(a) != PDR_OBJECT)
        return same_scalar(a, b);
    if (pdr_value_count(a) != pdr_value_count(b))
        return false;
    pdr_iter_init(&x, a);
    pdr_iter_init(&y, b);
    while (pdr_iter_next(&x) && pdr_iter_next(&y))
        if ((x.name != NULL && !same_text(x.name, y.name)) ||
            !same_value(x.value, y.value))
            return false;
    return true;
}

static void check_refusal(const pdr_err *err)
{
    static const char *const reasons[] = {"number_range", "inexact_number",
                                          "lone_surrogate", "duplicate_name"};
    bool known = false;

    for (size_t i = 0; i < 4; i++)
        known |= strcmp(reasons[i], err->reason) == 0;
    MUST(known);
}

static void check_exchange(const pdr_value *value)
{
    pdr_write_report report = {0, 0}, none = {0, 0};
    pdr_write_opts opts = {.flags = PDR_EXCHANGE | PDR_BARE_TOKENS,
                           .report = &report};
    pdr_buf bytes = NO_LIMIT;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_codec_write(&bytes, pdr_msgpack_codec(), value, &opts, &err) !=
        PDR_OK) {
        check_refusal(&err);
        MUST(bytes.len == 0 && report.numbers == 0 && report.strings == 0);
        pdr_buf_dispose(&bytes);
        return;
    }
    struct result back =
        read_with(pdr_buf_str(&bytes), PDR_BARE_TOKENS, PDR_KERNEL_BEST);
    MUST(back.rc == PDR_OK);
    MUST(same_value(value, back.value));
    MUST(same_json(value, back.value) ==
         (report.numbers == 0 && report.strings == 0));
    opts.report = &none; /* what came back has nothing left to give up */
    bytes.len = 0;
    MUST(pdr_codec_write(&bytes, pdr_msgpack_codec(), back.value, &opts,
                         NULL) == PDR_OK);
    MUST(none.numbers == 0 && none.strings == 0);
    pdr_value_free(back.value);
    pdr_buf_dispose(&bytes);
}

/* --- one input ----------------------------------------------------------- */

static struct result check_reading(pdr_str input, unsigned flags)
{
    static const pdr_kernel others[] = {PDR_KERNEL_PORTABLE, PDR_KERNEL_SSE2,
                                        PDR_KERNEL_AVX2};
    struct result result = read_with(input, flags, PDR_KERNEL_BEST);
    struct result other = read_by_walk(input, flags);

    must_agree(&result, &other);
    for (size_t i = 0; i < 3; i++) {
        other = read_with(input, flags, others[i]);
        if (other.rc != PDR_EUNSUPPORTED)
            must_agree(&result, &other);
    }
    if (result.rc != PDR_OK) {
        MUST(result.err.offset >= 0 && (size_t)result.err.offset <= input.len);
        MUST(result.err.message[0] != '\0');
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str input = {(const char *)data, size};
    struct result plain = check_reading(input, 0);
    struct result bare = check_reading(input, PDR_BARE_TOKENS);

    if (bare.rc == PDR_OK) {
        MUST(plain.rc == PDR_OK || strcmp(plain.err.reason, "bare_token") == 0);
        check_round_trip(bare.value);
        check_exchange(bare.value);
    } else {
        MUST(plain.rc != PDR_OK);
    }
    pdr_value_free(plain.value);
    pdr_value_free(bare.value);
    return 0;
}
