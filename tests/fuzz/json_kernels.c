/*
 * json_kernels.c - the portable code and all vector code give the same verdict,
 * the same reason, place and path, and the same document.
 */
#include <perdure.h>

#include "fuzz.h"

struct outcome {
    pdr_rc rc;
    pdr_err err;
    pdr_value *value;
    pdr_buf text;
};

static void read_with(struct outcome *out, pdr_kernel kernel, pdr_str text,
                      unsigned flags)
{
    pdr_read_opts opts = {.flags = flags, .kernel = kernel};
    pdr_write_opts write = {.flags = flags};
    pdr_err none = PDR_ERR_INIT;

    memset(out, 0, sizeof(*out));
    out->err = none;
    out->text.max = UINT32_MAX;
    out->rc = pdr_json_read_borrowed(&out->value, text, &opts, &out->err);
    if (out->rc == PDR_OK)
        MUST(pdr_json_write(&out->text, out->value, &write, NULL) == PDR_OK);
}

static void release(struct outcome *outcome)
{
    pdr_buf_dispose(&outcome->text);
    pdr_value_free(outcome->value);
}

static void compare(const struct outcome *a, const struct outcome *b)
{
    if (b->rc == PDR_EUNSUPPORTED)
        return; /* not on this processor */
    MUST(a->rc == b->rc);
    if (a->rc == PDR_OK) {
        MUST(pdr_str_equal(pdr_buf_str(&a->text), pdr_buf_str(&b->text)));
        MUST(pdr_value_equal(a->value, b->value));
        MUST(pdr_value_offset(a->value) == pdr_value_offset(b->value));
        return;
    }
    MUST(strcmp(a->err.reason, b->err.reason) == 0);
    MUST(a->err.offset == b->err.offset);
    MUST(strcmp(a->err.path, b->err.path) == 0);
    MUST(strcmp(a->err.message, b->err.message) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Exactly sized, so that ASan sees a read behind the end. */
    char *exact = malloc(size > 0 ? size : 1);

    MUST(exact != NULL);
    if (size > 0)
        memcpy(exact, data, size);
    for (unsigned flags = 0; flags <= PDR_BARE_TOKENS; flags++) {
        struct outcome portable;

        read_with(&portable, PDR_KERNEL_PORTABLE, pdr_str_n(exact, size),
                  flags);
        for (int kernel = PDR_KERNEL_BEST; kernel <= PDR_KERNEL_AVX2;
             kernel++) {
            struct outcome other;

            read_with(&other, (pdr_kernel)kernel, pdr_str_n(exact, size),
                      flags);
            compare(&portable, &other);
            release(&other);
        }
        release(&portable);
    }
    free(exact);
    return 0;
}
