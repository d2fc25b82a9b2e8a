/*
 * store_reads_everything.c - stores that do more, the more sessions they hold:
 * they read more, write more, or keep more in memory. Must fail: the harness of
 * growth has to see each, in the operation that does it.
 *
 * The linker puts the functions below in the place of the real ones.
 */
#include "growth_harness.h"

#include "base.h"
#include "shim_vfs.h"

enum { SOUND, LIST_SCANS, OPEN_SCANS, HEAD_GATHERS, TURN_WRITES, MISTAKES };
static int mistake;
static struct growth growth;

pdr_rc __real_pdr_store_open(pdr_store **out, const char *uri, pdr_err *err);
pdr_rc __wrap_pdr_store_open(pdr_store **out, const char *uri, pdr_err *err);
pdr_rc __real_pdr_store_read(pdr_page **out, pdr_store *store,
                             const pdr_query *query, pdr_err *err);
pdr_rc __wrap_pdr_store_read(pdr_page **out, pdr_store *store,
                             const pdr_query *query, pdr_err *err);
pdr_rc __real_pdr_store_commit(pdr_committed *out, pdr_store *store,
                               const pdr_edit *edits, size_t count,
                               const pdr_commit_options *options, pdr_err *err);
pdr_rc __wrap_pdr_store_commit(pdr_committed *out, pdr_store *store,
                               const pdr_edit *edits, size_t count,
                               const pdr_commit_options *options, pdr_err *err);

/* Walk over all sessions, and hold no more than two pages of them. */
static pdr_rc walk(pdr_store *store, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ALL, .limit = 200};
    pdr_page *page = NULL;
    pdr_rc rc = __real_pdr_store_read(&page, store, &query, err);

    while (rc == PDR_OK && page->next.ptr != NULL) {
        pdr_page *next = NULL;

        query.after = page->next;
        rc = __real_pdr_store_read(&next, store, &query, err);
        pdr_page_free(page);
        page = next;
    }
    pdr_page_free(page);
    return rc;
}

/* About a hundred for each session; finding out costs the same at any size. */
static size_t some_bytes(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    return (size_t)info.file_bytes / 8;
}

pdr_rc __wrap_pdr_store_open(pdr_store **out, const char *uri, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    shim_swallow_syncs(growth.shim, true); /* nothing here is kept */
    rc = __real_pdr_store_open(out, uri, err);
    return rc == PDR_OK && mistake == OPEN_SCANS ? walk(*out, err) : rc;
}

pdr_rc __wrap_pdr_store_read(pdr_page **out, pdr_store *store,
                             const pdr_query *query, pdr_err *err)
{
    void *gathered = NULL;
    pdr_rc rc = PDR_OK;

    if (mistake == LIST_SCANS && query->what == PDR_READ_SESSIONS)
        rc = walk(store, err);
    if (mistake == HEAD_GATHERS && query->what == PDR_READ_HEAD)
        gathered = pdr__alloc(some_bytes(store));
    if (rc == PDR_OK)
        rc = __real_pdr_store_read(out, store, query, err);
    pdr__free(gathered);
    return rc;
}

/* A row that is as large as the store is. */
static pdr_rc add_row(pdr_store *store, const pdr_edit *of,
                      const pdr_commit_options *options, pdr_err *err)
{
    size_t len = some_bytes(store);
    char *body = malloc(len);
    pdr_work work = {.kind = pdr_str_c("copy"), .body = pdr_str_n(body, len)};
    pdr_edit edit = {.ref = of->ref,
                     .revision = PDR_ANY_REVISION,
                     .journal = &work,
                     .journal_count = 1};
    pdr_rc rc = PDR_OK;

    ASSERT(body != NULL && len > 2);
    memset(body, 'c', len);
    body[0] = body[len - 1] = '"';
    rc = __real_pdr_store_commit(NULL, store, &edit, 1, options, err);
    free(body);
    return rc;
}

pdr_rc __wrap_pdr_store_commit(pdr_committed *out, pdr_store *store,
                               const pdr_edit *edits, size_t count,
                               const pdr_commit_options *options, pdr_err *err)
{
    pdr_rc rc = __real_pdr_store_commit(out, store, edits, count, options, err);

    return rc == PDR_OK && mistake == TURN_WRITES
               ? add_row(store, edits, options, err)
               : rc;
}

TEST(growth_harness, does_not_see_that_a_store_does_more)
{
    static const char *const caught_in[MISTAKES] = {
        "", "list by agent, anywhere,", "open the store,", "head of a session,",
        "a turn,"};
    static const size_t sizes[] = {1000, 5000};
    char names[1000];
    int caught = 0;

    /* If good code does not pass, this failure would prove nothing. */
    mistake = SOUND;
    growth_run(&growth, sizes, 2);
    if (growth_judge(&growth, names, sizeof(names)) > 0)
        return;
    for (int i = SOUND + 1; i < MISTAKES; i++) {
        mistake = i;
        growth_run(&growth, sizes, 2);
        caught += growth_judge(&growth, names, sizeof(names)) > 0 &&
                  strstr(names, caught_in[i]) != NULL;
    }
    if (caught > 0)
        fail_msg("caught %d of %d", caught, MISTAKES - 1);
}
