/*
 * ours.c - our side of the benchmarks of codecs.
 *
 * WHY  Each baseline has a program of its own, because two of them export the
 *      same names. What we do must not differ between the programs, or the
 *      ratios could not be read side by side.
 */
#include "ours.h"

#include <stdlib.h>

void ours_start(int argc, char **argv, const char *bench)
{
    bench_start(argc, argv, bench);
    bench_note("kernel", pdr_kernel_name());
    bench_note("memory", bench_keeps_memory()
                             ? "perdure: freed blocks are kept and used again"
                             : "perdure: malloc as it is");
}

pdr_str ours_str(const struct bench_text *text)
{
    return pdr_str_n(text->ptr, text->len);
}

static void must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s: %s (byte %lld)", pdr_rc_name(rc), err->message,
                   (long long)err->offset);
}

pdr_value *ours_value(const struct bench_text *text)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;

    must(pdr_json_read_borrowed(&value, ours_str(text), NULL, &err), &err);
    return value;
}

void ours_read(const struct bench_text *text)
{
    pdr_value_free(ours_value(text));
}

/* --- touch ---------------------------------------------------------------- */

/* One walk: what it leaves, and what its calls need. */
struct walk {
    struct bench_touch *touch;
    pdr_buf scratch;
    pdr_err err;
};

static void touch_text(struct walk *walk, const pdr_value *value)
{
    struct bench_touch *touch = walk->touch;
    pdr_str text = {NULL, 0};

    must(pdr_value_text(&text, value, &walk->scratch, &walk->err), &walk->err);
    memcpy(touch->text + touch->len, text.ptr, text.len);
    touch->len += text.len;
}

static void touch_value(struct walk *walk, const pdr_value *value)
{
    double number = 0;
    pdr_iter it;

    switch (pdr_value_kind(value)) {
    case PDR_STRING:
        touch_text(walk, value);
        break;
    case PDR_NUMBER:
        must(pdr_value_double(&number, value, &walk->err), &walk->err);
        walk->touch->number_sum += number;
        break;
    case PDR_ARRAY:
    case PDR_OBJECT:
        pdr_iter_init(&it, value);
        while (pdr_iter_next(&it)) {
            if (it.name != NULL)
                touch_text(walk, it.name);
            touch_value(walk, it.value);
        }
        break;
    case PDR_NULL:
    case PDR_BOOL:
        break;
    }
}

void ours_touch(const struct bench_text *text, struct bench_touch *touch)
{
    struct walk walk = {touch, PDR_BUF_INIT(text->len), PDR_ERR_INIT};
    pdr_value *value = ours_value(text);

    touch->len = 0;
    touch->number_sum = 0;
    touch_value(&walk, value);
    pdr_buf_dispose(&walk.scratch);
    pdr_value_free(value);
}

/* --- sums ----------------------------------------------------------------- */

static void sum_text(struct bench_sums *sums, const pdr_value *value,
                     pdr_buf *scratch)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_str text = {NULL, 0};

    must(pdr_value_text(&text, value, scratch, &err), &err);
    bench_sums_text(sums, text.ptr, text.len);
}

static void sum_scalar(struct bench_sums *sums, const pdr_value *value,
                       pdr_buf *scratch)
{
    pdr_err err = PDR_ERR_INIT;
    double number = 0;
    bool truth = false;

    switch (pdr_value_kind(value)) {
    case PDR_STRING:
        sums->strings++;
        sum_text(sums, value, scratch);
        break;
    case PDR_NUMBER:
        must(pdr_value_double(&number, value, &err), &err);
        bench_sums_number(sums, number);
        break;
    case PDR_BOOL:
        must(pdr_value_bool(&truth, value, &err), &err);
        bench_sums_bool(sums, truth);
        break;
    case PDR_NULL:
        sums->nulls++;
        break;
    case PDR_ARRAY:
    case PDR_OBJECT:
        break;
    }
}

static void sum_value(struct bench_sums *sums, const pdr_value *value,
                      pdr_buf *scratch)
{
    pdr_iter it;

    sum_scalar(sums, value, scratch);
    sums->objects += pdr_value_kind(value) == PDR_OBJECT;
    sums->arrays += pdr_value_kind(value) == PDR_ARRAY;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (it.name != NULL) {
            sums->names++;
            sum_text(sums, it.name, scratch);
        }
        sum_value(sums, it.value, scratch);
    }
}

void ours_sums(struct bench_sums *sums, const pdr_value *value)
{
    pdr_buf scratch = PDR_BUF_INIT((size_t)1 << 30);

    *sums = (struct bench_sums){0};
    sum_value(sums, value, &scratch);
    pdr_buf_dispose(&scratch);
}

struct bench_sums ours_read_sums(const struct bench_text *text)
{
    struct bench_sums sums;
    pdr_value *value = ours_value(text);

    ours_sums(&sums, value);
    pdr_value_free(value);
    return sums;
}

/* --- build and write ------------------------------------------------------ */

static void build_number(pdr_builder *builder, const pdr_value *value)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_str raw = {NULL, 0};
    int64_t integer = 0;
    double number = 0;

    pdr_value_raw(&raw, value);
    if (memchr(raw.ptr, '.', raw.len) == NULL) {
        must(pdr_value_int64(&integer, value, &err), &err);
        pdr_builder_int64(builder, integer);
    } else {
        must(pdr_value_double(&number, value, &err), &err);
        pdr_builder_double(builder, number);
    }
}

static void build_scalar(pdr_builder *builder, const pdr_value *value,
                         pdr_buf *scratch)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_str text = {NULL, 0};
    bool truth = false;

    switch (pdr_value_kind(value)) {
    case PDR_STRING:
        must(pdr_value_text(&text, value, scratch, &err), &err);
        pdr_builder_string(builder, text);
        break;
    case PDR_NUMBER:
        build_number(builder, value);
        break;
    case PDR_BOOL:
        must(pdr_value_bool(&truth, value, &err), &err);
        pdr_builder_bool(builder, truth);
        break;
    case PDR_NULL:
        pdr_builder_null(builder);
        break;
    case PDR_ARRAY:
    case PDR_OBJECT:
        break;
    }
}

static void build_value(pdr_builder *builder, const pdr_value *value,
                        pdr_buf *scratch)
{
    pdr_kind kind = pdr_value_kind(value);
    pdr_err err = PDR_ERR_INIT;
    pdr_str name = {NULL, 0};
    pdr_iter it;

    if (kind != PDR_ARRAY && kind != PDR_OBJECT) {
        build_scalar(builder, value, scratch);
        return;
    }
    if (kind == PDR_OBJECT)
        pdr_builder_object(builder);
    else
        pdr_builder_array(builder);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (it.name != NULL) {
            must(pdr_value_text(&name, it.name, scratch, &err), &err);
            pdr_builder_name(builder, name);
        }
        build_value(builder, it.value, scratch);
    }
    pdr_builder_end(builder);
}

pdr_value *ours_build(const pdr_value *value)
{
    pdr_buf scratch = PDR_BUF_INIT((size_t)1 << 30);
    pdr_err err = PDR_ERR_INIT;
    pdr_builder *builder = NULL;
    pdr_value *built = NULL;

    must(pdr_builder_new(&builder, &err), &err);
    build_value(builder, value, &scratch);
    must(pdr_builder_finish(&built, builder, &err), &err);
    pdr_builder_free(builder);
    pdr_buf_dispose(&scratch);
    return built;
}

void ours_write(pdr_buf *out, const pdr_value *value)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(out);
    must(pdr_json_write(out, value, NULL, &err), &err);
}

pdr_value *ours_decode(const pdr_codec *codec, const struct bench_text *text)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;

    must(pdr_codec_read(&value, codec, ours_str(text), NULL, &err), &err);
    return value;
}

void ours_encode(pdr_buf *out, const pdr_codec *codec, const pdr_value *value)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(out);
    must(pdr_codec_write(out, codec, value, NULL, &err), &err);
}

struct bench_text ours_recode(const pdr_codec *codec,
                              const struct bench_text *json)
{
    pdr_buf out = ours_buffer(2 * json->len + BENCH_PADDING);
    pdr_value *value = ours_value(json);
    struct bench_text text = {.name = json->name};

    ours_encode(&out, codec, value);
    pdr_value_free(value);
    text.ptr = out.ptr;
    text.len = out.len;
    return text;
}

pdr_buf ours_buffer(size_t size)
{
    pdr_buf buf = PDR_BUF_INIT(size * 2);
    pdr_err err = PDR_ERR_INIT;

    must(pdr_buf_reserve(&buf, size, &err), &err);
    memset(buf.ptr, 0, size);
    return buf;
}
