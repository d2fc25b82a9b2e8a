/*
 * pointer.c - a pointer that was pushed together finds what it was made for,
 * and any other text gives a clean verdict and changes nothing when it fails.
 * The input is both: names, separated by bytes 0xFF, and a pointer.
 */
#include <perdure.h>

#include "fuzz.h"

#define MAX_TOKENS 60 /* below the depth that values may have */

/* {"one":{"two":7}} for the tokens one and two; false if one is no UTF-8. */
static bool build_nested(pdr_value **out, const pdr_str *tokens, size_t count)
{
    pdr_builder *builder = NULL;
    bool built;

    MUST(pdr_builder_new(&builder, NULL) == PDR_OK);
    for (size_t i = 0; i < count; i++) {
        pdr_builder_object(builder);
        pdr_builder_name(builder, tokens[i]);
    }
    pdr_builder_int64(builder, 7);
    for (size_t i = 0; i < count; i++)
        pdr_builder_end(builder);
    built = pdr_builder_finish(out, builder, NULL) == PDR_OK;
    pdr_builder_free(builder);
    return built;
}

static size_t split(pdr_str tokens[MAX_TOKENS], pdr_str text)
{
    size_t count = 0, begin = 0;

    for (size_t i = 0; i <= text.len && count < MAX_TOKENS; i++) {
        if (i < text.len && (unsigned char)text.ptr[i] != 0xFFu)
            continue;
        tokens[count++] = pdr_str_n(text.ptr + begin, i - begin);
        begin = i + 1;
    }
    return count;
}

static void check_push(pdr_str text)
{
    pdr_str tokens[MAX_TOKENS];
    size_t count = split(tokens, text);
    pdr_buf pointer = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *value = NULL;
    const pdr_value *found = NULL;
    int64_t number = 0;

    if (build_nested(&value, tokens, count)) {
        for (size_t i = 0; i < count; i++)
            MUST(pdr_pointer_push(&pointer, tokens[i], NULL) == PDR_OK);
        MUST(pdr_pointer_get(&found, value, pdr_buf_str(&pointer), NULL) ==
             PDR_OK);
        MUST(pdr_value_int64(&number, found, NULL) == PDR_OK && number == 7);
    }
    pdr_buf_dispose(&pointer);
    pdr_value_free(value);
}

static void check_set(const pdr_value *root, pdr_str pointer, bool found)
{
    pdr_value *edited = pdr_value_ref(root), *truth = pdr_value_new_bool(true);
    const pdr_value *now = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_pointer_set(&edited, pointer, truth, &err);

    if (found)
        MUST(rc == PDR_OK &&
             pdr_pointer_get(&now, edited, pointer, NULL) == PDR_OK &&
             pdr_value_equal(truth, now));
    if (rc != PDR_OK) {
        MUST(rc == PDR_ENOTFOUND || rc == PDR_EINVALID);
        MUST(pdr_value_equal(root, edited));
    }
    pdr_value_free(edited);
    edited = pdr_value_ref(root);
    rc = pdr_pointer_remove(&edited, pointer, NULL);
    MUST((rc == PDR_OK) == (found && pointer.len > 0));
    if (rc != PDR_OK)
        MUST(pdr_value_equal(root, edited));
    pdr_value_free(truth);
    pdr_value_free(edited);
}

static void check_any(pdr_str pointer)
{
    static const char document[] =
        "{\"a\":[1,[2,{\"b\":3}],\"\"],\"\":{\"\":4},\"0\":5,\"-\":6,"
        "\"a/b\":7,\"m~n\":8,\"\\u00e9\":9,\"\\ud800\":10,\"a\":[0,[1,2]]}";
    pdr_value *root = NULL;
    const pdr_value *found = NULL;
    pdr_err err = PDR_ERR_INIT;

    MUST(pdr_json_read(&root, pdr_str_n(document, sizeof(document) - 1), NULL,
                       NULL) == PDR_OK);
    pdr_rc rc = pdr_pointer_get(&found, root, pointer, &err);
    MUST(rc == PDR_OK || rc == PDR_ENOTFOUND || rc == PDR_EINVALID);
    MUST((found != NULL) == (rc == PDR_OK));
    MUST(rc == PDR_OK || err.code == rc);
    if (pointer.len > 0 && pointer.ptr[0] != '/')
        MUST(rc == PDR_EINVALID && strcmp(err.reason, "bad_pointer") == 0);
    check_set(root, pointer, rc == PDR_OK);
    pdr_value_free(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str text = {(const char *)data, size};

    check_push(text);
    check_any(text);
    return 0;
}
