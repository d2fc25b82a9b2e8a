/*
 * xml_roundtrip.c - any bytes are refused, or are a value that survives writing
 * and reading in each layout; a walk over pieces of any size gives the same
 * verdict, place and value. Bytes that are JSON survive too. The first byte
 * chooses pieces and options, the rest is the document.
 */
#include <perdure.h>

#include "fuzz.h"
#include "pieces.h"

static pdr_rc walk(pdr_value **out, struct source *source,
                   const pdr_read_opts *opts, pdr_err *err)
{
    pdr_walk *walk = NULL;
    pdr_event event = PDR_END_OF_INPUT;

    MUST(pdr_walk_new(&walk, pdr_xml_codec(), opts, NULL, give, source) ==
         PDR_OK);
    pdr_rc rc = pdr_walk_next(&event, walk, err);
    if (rc == PDR_OK) {
        MUST(event != PDR_END_OF_INPUT && event != PDR_END &&
             event != PDR_NAME);
        rc = pdr_walk_take(out, walk, err);
    }
    if (rc == PDR_OK) {
        MUST(pdr_walk_depth(walk) == 0);
        rc = pdr_walk_next(&event, walk, err);
        MUST(rc != PDR_OK || event == PDR_END_OF_INPUT);
    }
    pdr_walk_free(walk);
    return rc;
}

static void write_json(pdr_buf *out, const pdr_value *value)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};

    MUST(pdr_json_write(out, value, &opts, NULL) == PDR_OK);
}

/* Does a value come back from XML with the same text? */
static void check_layout(const pdr_value *value, pdr_layout layout,
                         pdr_str json)
{
    pdr_write_opts write = {.flags = PDR_BARE_TOKENS, .layout = layout};
    pdr_read_opts read = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};
    pdr_buf xml = PDR_BUF_INIT(UINT32_MAX), again = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *back = NULL;

    MUST(pdr_codec_write(&xml, pdr_xml_codec(), value, &write, NULL) == PDR_OK);
    MUST(pdr_codec_read(&back, pdr_xml_codec(), pdr_buf_str(&xml), &read,
                        NULL) == PDR_OK);
    MUST(pdr_value_equal(value, back));
    write_json(&again, back);
    MUST(pdr_str_equal(json, pdr_buf_str(&again)));
    pdr_value_free(back);
    pdr_buf_dispose(&again);
    pdr_buf_dispose(&xml);
}

static void check_value(const pdr_value *value)
{
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    write_json(&json, value);
    check_layout(value, PDR_COMPACT, pdr_buf_str(&json));
    check_layout(value, PDR_PRETTY, pdr_buf_str(&json));
    pdr_buf_dispose(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t most[] = {1, 2, 3, 7, 16, 64, 1000, SIZE_MAX};
    pdr_value *value = NULL, *walked = NULL;
    pdr_err read_err = PDR_ERR_INIT, walk_err = PDR_ERR_INIT;

    if (size == 0)
        return 0;
    pdr_read_opts opts = {.flags = data[0] & 8 ? PDR_BARE_TOKENS : 0};
    pdr_str text = {(const char *)data + 1, size - 1};
    struct source source = {text, 0, data[0], most[data[0] % 8]};
    pdr_rc rc = pdr_codec_read(&value, pdr_xml_codec(), text, &opts, &read_err);

    MUST(walk(&walked, &source, &opts, &walk_err) == rc);
    if (rc == PDR_OK) {
        MUST(pdr_value_equal(value, walked));
        check_value(value);
        check_value(walked);
    } else {
        MUST(value == NULL);
        MUST(strcmp(read_err.reason, walk_err.reason) == 0);
        MUST(read_err.offset == walk_err.offset);
        MUST(strcmp(read_err.path, walk_err.path) == 0);
    }
    pdr_value_free(walked);
    pdr_value_free(value);
    if (pdr_json_read(&value, text, &opts, NULL) == PDR_OK)
        check_value(value);
    pdr_value_free(value);
    return 0;
}
