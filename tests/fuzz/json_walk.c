/*
 * json_walk.c - a walk over a stream that comes in pieces of any size gives
 * what the reader gives: the same verdict, place and path, the same document.
 * The first byte chooses pieces and ways, the rest is the document.
 */
#include <perdure.h>

#include "fuzz.h"
#include "pieces.h"

static void build(pdr_builder *builder, pdr_event event, const pdr_value *value)
{
    pdr_str raw = {NULL, 0};

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
        MUST(value != NULL && pdr_value_raw(&raw, value) && raw.len >= 2);
        pdr_builder_escaped_name(builder, pdr_str_n(raw.ptr + 1, raw.len - 2));
        return;
    case PDR_SCALAR:
        MUST(value != NULL);
        pdr_builder_value(builder, value);
        return;
    case PDR_END_OF_INPUT:
        return;
    }
}

/* Event by event; a value is taken instead where `take_at` events went by. */
static pdr_rc walk(pdr_value **out, struct source *source, unsigned take_at,
                   pdr_err *err)
{
    pdr_walk *walk = NULL;
    pdr_builder *builder = NULL;
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc;

    MUST(pdr_walk_new(&walk, pdr_json_codec(), NULL, NULL, give, source) ==
         PDR_OK);
    MUST(pdr_builder_new(&builder, NULL) == PDR_OK);
    for (unsigned n = 0;; n++) {
        rc = pdr_walk_next(&event, walk, err);
        if (rc != PDR_OK || event == PDR_END_OF_INPUT)
            break;
        if (n == take_at && event != PDR_END && event != PDR_NAME) {
            pdr_value *part = NULL;
            rc = pdr_walk_take(&part, walk, err);
            if (rc != PDR_OK)
                break;
            pdr_builder_value(builder, part);
            pdr_value_free(part);
        } else {
            build(builder, event, pdr_walk_value(walk));
        }
    }
    if (rc == PDR_OK)
        MUST(pdr_builder_finish(out, builder, NULL) == PDR_OK);
    pdr_builder_free(builder);
    pdr_walk_free(walk);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t most[] = {1, 2, 3, 7, 16, 64, 1000, SIZE_MAX};
    pdr_value *read = NULL, *walked = NULL;
    pdr_err read_err = PDR_ERR_INIT, walk_err = PDR_ERR_INIT;

    if (size == 0)
        return 0;
    pdr_str text = {(const char *)data + 1, size - 1};
    struct source source = {text, 0, data[0], most[data[0] % 8]};
    pdr_rc rc = pdr_json_read(&read, text, NULL, &read_err);

    MUST(walk(&walked, &source, data[0] / 8u, &walk_err) == rc);
    if (rc == PDR_OK) {
        pdr_buf a = PDR_BUF_INIT(UINT32_MAX), b = PDR_BUF_INIT(UINT32_MAX);
        MUST(pdr_value_equal(read, walked));
        MUST(pdr_json_write(&a, read, NULL, NULL) == PDR_OK);
        MUST(pdr_json_write(&b, walked, NULL, NULL) == PDR_OK);
        MUST(pdr_str_equal(pdr_buf_str(&a), pdr_buf_str(&b)));
        pdr_buf_dispose(&b);
        pdr_buf_dispose(&a);
    } else {
        MUST(strcmp(read_err.reason, walk_err.reason) == 0);
        MUST(read_err.offset == walk_err.offset);
        MUST(strcmp(read_err.path, walk_err.path) == 0);
    }
    pdr_value_free(walked);
    pdr_value_free(read);
    return 0;
}
