/*
 * guide.c - the code in docs/guide/keeping.md, compiled and run.
 *
 * Each block of C there is a part of this file, as it stands here.
 */
#include <perdure/archive.h>

#include "past.h"

#define PAGE   "../../docs/guide/keeping.md"
#define SOURCE "../conformance/archive/guide.c"
#define NOW    INT64_C(1700000000000)

static pdr_rc keep_200_turns(pdr_store *store, pdr_str id, int64_t now_ms,
                             pdr_err *err)
{
    const pdr_retain_opts opts = {
        .ref = {.id = id}, .keep_turns = 200, .now_ms = now_ms};

    return pdr_retain(NULL, store, &opts, err);
}

static pdr_rc purge(pdr_store *store, int64_t now_ms, pdr_err *err)
{
    const int64_t day = INT64_C(24) * 60 * 60 * 1000;
    pdr_purge_opts opts = {.expired = true, .now_ms = now_ms};
    pdr_rc rc = pdr_purge(NULL, store, &opts, err);

    opts.expired = false;
    opts.changed_before_ms = now_ms - 90 * day;
    return rc == PDR_OK ? pdr_purge(NULL, store, &opts, err) : rc;
}

TEST(guide, keeps_200_turns_and_purges)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c("s")}};
    pdr_store *store = NULL;
    pdr_page *page = NULL;
    struct past past;
    char text[250 * 4 + 1];

    for (size_t i = 0; i < 250; i++)
        memcpy(text + 4 * i, "u a ", 5);
    past_read(&past, text, PDR_ROW_PYTHON);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    (void)past_commit(store, &past, NOW, 0);
    ASSERT_RC(PDR_OK, keep_200_turns(store, pdr_str_c("s"), NOW, NULL));
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    ASSERT_INT(101, page->head.first_seq);
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, purge(store, NOW + INT64_C(7776000000), NULL));
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, purge(store, NOW + INT64_C(7776000001), NULL));
    ASSERT_RC(PDR_ENOTFOUND, pdr_store_read(&page, store, &query, NULL));
    pdr_store_close(store);
    past_dispose(&past);
}

TEST(guide, shows_code_that_runs)
{
    size_t page_len = 0, source_len = 0, count = 0;
    char *page = test_read_data(PAGE, &page_len);
    char *source = test_read_data(SOURCE, &source_len);
    char *rest = page;

    for (char *at = NULL; (at = strstr(rest, "\n```c\n")) != NULL; count++) {
        char *text = at + 6, *end = strstr(text, "\n```");

        assert_non_null(end);
        *end = '\0';
        if (strstr(source, text) == NULL)
            fail_msg("not in guide.c:\n%s", text);
        rest = end + 1;
    }
    ASSERT_SIZE(2, count);
    free(source);
    free(page);
}
