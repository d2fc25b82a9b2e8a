/* Any bytes are refused and leave nothing, or become a session that is exported
 * as the same bytes; and it is all the same how they come. */
#include <perdure.h>

#include "fuzz.h"

/* A stream that gives a few bytes at a time. */
struct drip {
    pdr_str left;
    size_t step;
};

static pdr_rc drip(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct drip *d = arg;

    (void)err;
    d->step = d->step % 7 + 1;
    *got = d->left.len < d->step ? d->left.len : d->step;
    if (*got > cap)
        *got = cap;
    if (*got > 0)
        memcpy(into, d->left.ptr, *got);
    d->left = pdr_str_n(d->left.ptr + *got, d->left.len - *got);
    return PDR_OK;
}

static void check_export(pdr_store *store, const pdr_ref *ref, pdr_str wanted)
{
    pdr_export_opts opts = {.ref = *ref};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    MUST(pdr_export(NULL, store, &opts, NULL, pdr_write_buf, &out) == PDR_OK);
    MUST(pdr_str_equal(wanted, pdr_buf_str(&out)));
    pdr_buf_dispose(&out);
}

static void check_empty(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_ALL};
    pdr_page *page = NULL;

    MUST(pdr_store_read(&page, store, &query, NULL) == PDR_OK);
    MUST(page->count == 0);
    pdr_page_free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pdr_str bytes = {(const char *)data, size};
    pdr_import_opts opts = {.ref = {.id = pdr_str_c("s")}, .now_ms = 1};
    struct drip slow = {bytes, 0};
    pdr_str fast = bytes;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    MUST(pdr_store_open(&store, "memory:", NULL) == PDR_OK);
    rc = pdr_import(NULL, store, &opts, NULL, pdr_read_str, &fast);
    if (rc == PDR_OK)
        check_export(store, &opts.ref, bytes);
    else
        check_empty(store);
    opts.ref.id = pdr_str_c("t");
    MUST(pdr_import(NULL, store, &opts, NULL, drip, &slow) == rc);
    if (rc == PDR_OK)
        check_export(store, &opts.ref, bytes);
    MUST(pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL) == PDR_OK);
    pdr_store_close(store);
    return 0;
}
