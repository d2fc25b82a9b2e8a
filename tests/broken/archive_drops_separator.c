/*
 * archive_drops_separator.c - exports that lose something: the white space of
 * separators, a change that came after the import, an entry that came then, an
 * expiry that was moved. Must fail: the harness for documents in stores has to
 * see all of them.
 */
#include "archive_trip.h"
#include "test.h"

static const char *const documents[] = {
    "{\"stateBag\":{\"k\":1, \"InMemoryChatHistoryProvider\":{\"messages\":"
    "[{\"role\":\"user\",\"contents\":[]}, {\"role\":\"user\"}]}}}",
    "{\"session_id\":\"s\",\"state\":{\"in_memory\":{\"messages\":[{},\n{}]},"
    "\"k\":1}}",
    "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":"
    "[{\"$type\":\"request\"} , {\"$type\":\"response\"}]}}",
};

/* Hand on `text` without the white space around its commas. */
static pdr_rc hand_on(pdr_buf *text, pdr_err *err, pdr_write_fn fn, void *arg)
{
    size_t len = 0;

    for (size_t i = 0; i < text->len; i++) {
        bool space = text->ptr[i] == ' ' || text->ptr[i] == '\n';

        if (space && ((i > 0 && text->ptr[i - 1] == ',') ||
                      (i + 1 < text->len && text->ptr[i + 1] == ',')))
            continue;
        text->ptr[len++] = text->ptr[i];
    }
    return fn(pdr_str_n(text->ptr, len), err, arg);
}

static pdr_rc drop_separators(pdr_export_report *out, pdr_store *store,
                              const pdr_export_opts *opts, pdr_err *err,
                              pdr_write_fn fn, void *arg)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_export(out, store, opts, err, pdr_write_buf, &text);

    if (rc == PDR_OK)
        rc = hand_on(&text, err, fn, arg);
    pdr_buf_dispose(&text);
    return rc;
}

/* What the import saw, whatever came since. */
static pdr_str imported;

static pdr_rc remember(pdr_import_report *out, pdr_store *store,
                       const pdr_import_opts *opts, pdr_err *err,
                       pdr_read_fn fn, void *arg)
{
    imported = *(const pdr_str *)arg;
    return pdr_import(out, store, opts, err, fn, arg);
}

static pdr_rc give_old(pdr_export_report *out, pdr_store *store,
                       const pdr_export_opts *opts, pdr_err *err,
                       pdr_write_fn fn, void *arg)
{
    (void)out;
    (void)store;
    (void)opts;
    return fn(imported, err, arg);
}

/* Entries up to those that the import brought: the last one is taken away
 * before, if there are more than two. */
static pdr_rc drop_new_entry(pdr_export_report *out, pdr_store *store,
                             const pdr_export_opts *opts, pdr_err *err,
                             pdr_write_fn fn, void *arg)
{
    pdr_export_report seen;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_export(&seen, store, opts, err, pdr_write_buf, &text);

    if (out != NULL)
        *out = seen;
    if (rc == PDR_OK)
        rc = fn(seen.entries > 2 ? imported : pdr_buf_str(&text), err, arg);
    pdr_buf_dispose(&text);
    return rc;
}

static bool was_moved(pdr_store *store, const pdr_ref *ref)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};
    pdr_page *page = NULL;
    bool moved = pdr_store_read(&page, store, &query, NULL) == PDR_OK &&
                 page->head.expiry_ms != PDR_NEVER;

    pdr_page_free(page);
    return moved;
}

/* The document as it came in, once its session expires. */
static pdr_rc drop_expiry(pdr_export_report *out, pdr_store *store,
                          const pdr_export_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    return was_moved(store, &opts->ref)
               ? fn(imported, err, arg)
               : pdr_export(out, store, opts, err, fn, arg);
}

TEST(archive_harness, does_not_see_that_something_was_dropped)
{
    static const struct archive_ops spaces = {pdr_import, drop_separators};
    static const struct archive_ops old = {remember, give_old};
    static const struct archive_ops entry = {remember, drop_new_entry};
    static const struct archive_ops expiry = {remember, drop_expiry};
    struct roundtrip_report report;
    pdr_store *store = NULL;
    size_t caught = 0, changes = 0;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        pdr_str text = pdr_str_c(documents[i]);

        /* If good code does not pass, this failure would prove nothing. */
        if (!archive_check_unchanged(&report, &archive_ours, store, text) ||
            !archive_check_changes(&report, &archive_ours, store, text,
                                   &changes))
            return;
        caught += !archive_check_unchanged(&report, &spaces, store, text);
        caught += !archive_check_changes(&report, &old, store, text, &changes);
        caught +=
            !archive_check_changes(&report, &entry, store, text, &changes);
    }
    /* Only the last one is a state document. */
    caught += !archive_check_changes(&report, &expiry, store,
                                     pdr_str_c(documents[2]), &changes);
    pdr_store_close(store);
    if (caught == 10)
        fail_msg("caught 10 of 10: %s", report.text);
}
