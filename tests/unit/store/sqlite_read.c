/* Pages of rows of one session, read from SQLite. */
#include <pthread.h>

#include "shim_vfs.h"
#include "sqlite_stock.h"

#include "sqlite/reader.h"

#define FULL "full"

/* The numbers of the rows of a page, as "1 2 3", with " +" if there are more.
 */
static const char *numbers(const pdr_page *page)
{
    static char text[400];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < page->count; i++) {
        uint64_t n =
            page->entries != NULL ? page->entries[i].seq : page->work[i].n;

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d",
                                 i > 0 ? " " : "", (int)n);
    }
    if (page->next.ptr != NULL)
        snprintf(text + used, sizeof(text) - used, " +");
    return text;
}

/* Read pages to the end; what each one had. */
static const char *walk(struct stock *stock, pdr_query query)
{
    static char text[1000];
    pdr_page *page = NULL, *next = NULL;
    size_t used = 0;
    pdr_err err = PDR_ERR_INIT;

    text[0] = '\0';
    do {
        if (page != NULL)
            query.after = page->next;
        if (stock_read(&next, stock, query, FULL, &err) != PDR_OK)
            fail_msg("%s", err.message);
        pdr_page_free(page);
        page = next;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 used > 0 ? " | " : "", numbers(page));
    } while (page->next.ptr != NULL && used < 900);
    pdr_page_free(page);
    return text;
}

TEST(sqlite_read, gives_entries_from_either_end_in_pages)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_ENTRIES};

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_STR("1 2 3 4 5", walk(&stock, query));
    query.limit = 2;
    ASSERT_STR("1 2 + | 3 4 + | 5", walk(&stock, query));
    query.backwards = true;
    ASSERT_STR("5 4 + | 3 2 + | 1", walk(&stock, query));
    query.from = 3;
    ASSERT_STR("3 2 + | 1", walk(&stock, query));
    query.from = 99;
    ASSERT_STR("5 4 + | 3 2 + | 1", walk(&stock, query));
    query.backwards = false;
    ASSERT_STR("", walk(&stock, query));
    query.from = 4;
    ASSERT_STR("4 5", walk(&stock, query));
    query.limit = 5;
    query.from = 0;
    query.max_bytes = 1;
    ASSERT_STR("1 + | 2 + | 3 + | 4 + | 5", walk(&stock, query));
    stock_close(&stock);
}

TEST(sqlite_read, gives_every_column_of_an_entry)
{
    struct stock stock;
    pdr_page *page = NULL;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_RC(PDR_OK,
              stock_read(&page, &stock, (pdr_query){.what = PDR_READ_ENTRIES},
                         FULL, NULL));
    ASSERT_INT(PDR_ROW_MESSAGE, page->entries[3].kind);
    ASSERT_INT(PDR_ROW_PYTHON, page->entries[3].shape);
    ASSERT_INT(13, page->entries[3].created_ms);
    ASSERT(page->entries[3].correlation_id.ptr == NULL);
    ASSERT(page->entries[3].separator.ptr == NULL);
    ASSERT_TEXT("{\"n\":4}", page->entries[3].body);
    ASSERT_TEXT("two", page->entries[1].correlation_id);
    ASSERT_TEXT(",\n", page->entries[1].separator);
    ASSERT_INT(PDR_ROW_DOTNET, page->entries[4].shape);
    ASSERT_INT(2, page->head.revision);
    ASSERT_TEXT("helper", page->head.agent);
    ASSERT_TEXT("durable", page->head.kind);
    ASSERT_TEXT("1.1.0", page->head.schema_version);
    ASSERT_INT(PDR_SESSION_RUNNING, page->head.state);
    ASSERT_TEXT("worker", page->head.lease.owner);
    ASSERT_INT(500, page->head.expiry_ms);
    pdr_page_free(page);
    stock_close(&stock);
}

TEST(sqlite_read, gives_the_entries_of_a_correlation_id)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_ENTRIES};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;

    stock_open(&stock);
    stock_fill(&stock);
    query.key = pdr_str_c("one");
    ASSERT_STR("1 3", walk(&stock, query));
    query.key = pdr_str_c("two");
    ASSERT_STR("2 5", walk(&stock, query));
    query.backwards = true;
    ASSERT_STR("5 2", walk(&stock, query));
    query.limit = 1;
    ASSERT_STR("5 + | 2", walk(&stock, query));
    query.backwards = false;
    ASSERT_STR("2 + | 5", walk(&stock, query));
    query.key = pdr_str_c("alone"); /* it has none */
    ASSERT_RC(PDR_ENOTFOUND, stock_read(&page, &stock, query, FULL, &err));
    ASSERT_STR("no_completion", err.reason);
    query.key = pdr_str_c("none");
    ASSERT_RC(PDR_ENOTFOUND, stock_read(&page, &stock, query, FULL, &err));
    stock_close(&stock);
}

/* The keys of a page, as "a b". */
static const char *keys(const pdr_page *page)
{
    static char text[400];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < page->count; i++) {
        pdr_str key = page->slots != NULL ? page->slots[i].key
                      : page->properties != NULL
                          ? page->properties[i].key
                          : page->completions[i].correlation_id;

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s",
                                 i > 0 ? " " : "", (int)key.len, key.ptr);
    }
    return text;
}

static void assert_keys(struct stock *stock, pdr_read_what what,
                        const char *first, const char *second)
{
    pdr_query query = {.what = what, .limit = 1};
    pdr_page *page = NULL, *next = NULL;

    ASSERT_RC(PDR_OK, stock_read(&page, stock, query, FULL, NULL));
    ASSERT_STR(first, keys(page));
    query.after = page->next;
    query.limit = 10;
    ASSERT_RC(PDR_OK, stock_read(&next, stock, query, FULL, NULL));
    ASSERT_STR(second, keys(next));
    ASSERT(next->next.ptr == NULL);
    pdr_page_free(next);
    pdr_page_free(page);
}

TEST(sqlite_read, gives_rows_by_key_in_order_and_alone)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SLOTS, .key = {"a", 1}};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_fill(&stock);
    assert_keys(&stock, PDR_READ_SLOTS, "\\u0000", "a b");
    assert_keys(&stock, PDR_READ_PROPERTIES, "big", "colour");
    assert_keys(&stock, PDR_READ_COMPLETIONS, "alone", "one two");
    ASSERT_RC(PDR_OK, stock_read(&page, &stock, query, FULL, NULL));
    ASSERT_TEXT("{\"x\":1}", page->slots[0].value);
    pdr_page_free(page);
    query.key = pdr_str_c("c");
    ASSERT_RC(PDR_ENOTFOUND, stock_read(&page, &stock, query, FULL, &err));
    ASSERT_STR("no_slot", err.reason);
    query.what = PDR_READ_PROPERTIES;
    ASSERT_RC(PDR_ENOTFOUND, stock_read(&page, &stock, query, FULL, &err));
    ASSERT_STR("no_property", err.reason);
    query.key = pdr_str_c("big");
    ASSERT_RC(PDR_OK, stock_read(&page, &stock, query, FULL, NULL));
    ASSERT(page->properties[0].match.ptr == NULL);
    pdr_page_free(page);
    stock_close(&stock);
}

TEST(sqlite_read, gives_a_slot_whose_key_is_empty)
{
    struct stock stock;
    const pdr_slot slot = {.key = {"", 0}, .value = {"1", 1}};
    pdr_edit edit = {.ref = {.id = {FULL, 4}}, .slots = &slot, .slot_count = 1};

    stock_open(&stock);
    stock_fill(&stock);
    stock_commit(&stock, &edit, 200);
    assert_keys(&stock, PDR_READ_SLOTS, "", "\\u0000 a b");
    stock_close(&stock);
}

TEST(sqlite_read, gives_how_a_correlation_id_ended)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_COMPLETIONS, .key = {"one", 3}};
    pdr_page *page = NULL;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_RC(PDR_OK, stock_read(&page, &stock, query, FULL, NULL));
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("{\"ok\":true}", page->completions[0].outcome);
    ASSERT_TEXT("\x01\x02\x03", page->completions[0].fingerprint);
    ASSERT_INT(1, page->completions[0].first_seq);
    ASSERT_INT(3, page->completions[0].last_seq);
    ASSERT_INT(100, page->completions[0].at_ms);
    pdr_page_free(page);
    stock_close(&stock);
}

TEST(sqlite_read, gives_the_frame_or_says_that_there_is_none)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_FRAME};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_RC(PDR_OK, stock_read(&page, &stock, query, FULL, NULL));
    ASSERT_TEXT("{\"frame\":0}", page->frame);
    pdr_page_free(page);
    ASSERT_RC(PDR_ENOTFOUND, stock_read(&page, &stock, query, "bare", &err));
    ASSERT_STR("no_frame", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, stock_read(&page, &stock, query, "gone", &err));
    ASSERT_STR("no_session", err.reason);
    stock_close(&stock);
}

TEST(sqlite_read, gives_work_from_either_end_in_pages)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_JOURNAL};
    const uint64_t settled = 2;
    pdr_edit edit = {.ref = {.id = {FULL, 4}},
                     .journal_through = 1,
                     .settle = &settled,
                     .settle_count = 1};
    pdr_page *page = NULL;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_STR("1 2 3", walk(&stock, query));
    query.limit = 2;
    query.backwards = true;
    ASSERT_STR("3 2 + | 1", walk(&stock, query));
    query.what = PDR_READ_STREAM;
    ASSERT_STR("2 1", walk(&stock, query));
    query.what = PDR_READ_INBOX;
    ASSERT_STR("3 2 + | 1", walk(&stock, query));
    stock_commit(&stock, &edit, 300);
    ASSERT_STR("3 1", walk(&stock, query));
    query.backwards = false;
    query.limit = 1;
    ASSERT_STR("1 + | 3", walk(&stock, query));
    query.from = 2;
    ASSERT_STR("3", walk(&stock, query));
    query.what = PDR_READ_JOURNAL;
    ASSERT_STR("2 + | 3", walk(&stock, query));
    query.from = 0;
    ASSERT_RC(PDR_OK, stock_read(&page, &stock, query, FULL, NULL));
    ASSERT_TEXT("one", page->work[0].correlation_id);
    ASSERT_TEXT("step", page->work[0].kind);
    ASSERT_INT(PDR_NEVER, page->work[0].due_ms);
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, stock_read(&page, &stock, query, "bare", NULL));
    ASSERT_SIZE(0, page->count);
    pdr_page_free(page);
    stock_close(&stock);
}

/* --- failures ------------------------------------------------------------ */

/* What a failing file may end in; never in a page that lacks something. */
static bool is_failure(pdr_rc rc)
{
    return rc == PDR_EIO || rc == PDR_ENOMEM || rc == PDR_EBUSY ||
           rc == PDR_ECORRUPT || rc == PDR_EDENIED || rc == PDR_EINVALID;
}

/* The nth file operation of the first read of a store fails, then the next
 * one, until none was left to fail. */
static size_t fail_reads(struct stock *stock, struct shim *shim,
                         pdr_query query, size_t rows, bool for_ever)
{
    size_t failed = 1, count = 0;

    for (size_t nth = 1; failed > 0; nth++) {
        struct shim_fault fault = {SHIM_ANY, nth, for_ever, false, false};
        pdr_page *page = NULL;
        pdr_rc rc = PDR_OK;

        stock_reopen(stock, "?vfs=shim-read");
        shim_fail(shim, &fault);
        rc = pdr_store_read(&page, stock->store, &query, NULL);
        failed = shim_failed(shim);
        shim_fail(shim, &(struct shim_fault){SHIM_ANY, 0, false, false, false});
        ASSERT(rc == PDR_OK || is_failure(rc));
        ASSERT((page != NULL) == (rc == PDR_OK));
        ASSERT(page == NULL || page->count == rows);
        pdr_page_free(page);
        ASSERT_RC(PDR_OK, pdr_store_read(&page, stock->store, &query, NULL));
        ASSERT_SIZE(rows, page->count);
        pdr_page_free(page);
        count += rc != PDR_OK;
    }
    return count;
}

TEST(sqlite_read, says_so_when_a_file_fails)
{
    const struct {
        pdr_read_what what;
        size_t rows;
    } cases[] = {{PDR_READ_ENTRIES, 5},
                 {PDR_READ_SESSIONS, 2},
                 {PDR_READ_DUE, 2},
                 {PDR_READ_COMPLETIONS, 3},
                 {PDR_READ_JOURNAL, 3}};
    struct shim *shim = shim_new("shim-read");
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_query query = {.what = cases[i].what, .now_ms = 1000};

        if (query.what != PDR_READ_SESSIONS && query.what != PDR_READ_DUE)
            query.ref.id = pdr_str_c(FULL);
        ASSERT(fail_reads(&stock, shim, query, cases[i].rows, false) > 0);
        ASSERT(fail_reads(&stock, shim, query, cases[i].rows, true) > 3);
    }
    stock_close(&stock);
    shim_free(shim);
}

TEST(sqlite_read, says_so_when_somebody_holds_the_file)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EBUSY,
              pdr__sqlite_fail(&err, NULL, SQLITE_BUSY_RECOVERY, "reading"));
    ASSERT_STR("store_locked", err.reason);
    ASSERT_RC(PDR_EBUSY, pdr__sqlite_fail(&err, NULL, SQLITE_LOCKED, "x"));
}

TEST(sqlite_read, needs_no_right_to_write)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_ENTRIES};
    pdr_edit edit = {.ref = {.id = {FULL, 4}}, .revision = 2};
    pdr_commit_options options = {.now_ms = 1};
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_fill(&stock);
    stock_reopen(&stock, "?mode=ro");
    ASSERT_STR("1 2 3 4 5", walk(&stock, query));
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, stock.store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_EDENIED,
              pdr_store_commit(NULL, stock.store, &edit, 1, &options, &err));
    ASSERT_STR("read_only", err.reason);
    stock_close(&stock);
}

TEST_OOM(sqlite_read, cleans_up_after_any_failed_allocation)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_ENTRIES, .key = {"two", 3}};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stock_open(&stock);
    stock_fill(&stock);
    test_pause_failures(false);
    rc = stock_read(&page, &stock, query, FULL, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((page != NULL) == (rc == PDR_OK));
    pdr_page_free(page);
    stock_close(&stock);
    test_pause_failures(false);
}

/* --- entries that are passed over ---------------------------------------- */

TEST(sqlite_read, does_not_take_a_damaged_correlation_id_for_another)
{
    static const char *const damages[] = {
        /* of the second of the two, which is then passed over */
        "UPDATE log SET correlation_id='one' WHERE key=5",
        /* the one before the first that is passed over is not there */
        "DELETE FROM log WHERE key=3",
    };
    pdr_query query = {.what = PDR_READ_ENTRIES, .key = {"two", 3}};

    for (size_t i = 0; i < 2; i++) {
        struct stock stock;
        pdr_page *page = NULL;
        pdr_err err = PDR_ERR_INIT;

        stock_open(&stock);
        stock_fill(&stock);
        stock_sql(&stock, damages[i]);
        query.backwards = i == 1;
        ASSERT_RC(PDR_ECORRUPT, stock_read(&page, &stock, query, FULL, &err));
        ASSERT_STR("broken_chain", err.reason);
        stock_close(&stock);
    }
}

/* The first entry of a session is passed over: its anchor is in the head. */
TEST(sqlite_read, passes_over_the_first_entry)
{
    const pdr_entry more = {.correlation_id = {"one", 3}, .body = {"1", 1}};
    const pdr_entry mixed[] = {
        {.correlation_id = {"x", 1}, .body = {"1", 1}},
        {.correlation_id = {"y", 1}, .body = {"2", 1}},
        {.correlation_id = {"x", 1}, .body = {"3", 1}},
    };
    struct stock stock;
    pdr_edit edit = {
        .ref = {.id = {FULL, 4}}, .entries = mixed, .entry_count = 3};
    pdr_query query = {.what = PDR_READ_ENTRIES, .key = {"x", 1}, .limit = 1};

    stock_open(&stock);
    stock_commit(&stock, &edit, 1);
    ASSERT_STR("1 + | 3", walk(&stock, query));
    query.backwards = true;
    ASSERT_STR("3 + | 1", walk(&stock, query));
    edit.entries = &more;
    edit.entry_count = 1;
    stock_commit(&stock, &edit, 2);
    query.key = pdr_str_c("y");
    ASSERT_STR("2", walk(&stock, query));
    stock_close(&stock);
}

/* --- threads ------------------------------------------------------------- */

#define THREADS 24 /* more than there are readers */

static void *read_often(void *arg)
{
    struct stock *stock = arg;

    for (int i = 0; i < 20; i++) {
        pdr_query query = {.what = PDR_READ_ENTRIES, .backwards = i % 2 == 0};
        pdr_page *page = NULL;
        uint64_t number = 0;

        if (stock_read(&page, stock, query, FULL, NULL) != PDR_OK ||
            page->count != page->head.next_seq - 1 ||
            stock->store->ops->poll(stock->store, &number, NULL) != PDR_OK) {
            pdr_page_free(page);
            return arg; /* it failed */
        }
        pdr_page_free(page);
    }
    return NULL;
}

TEST(sqlite_read, serves_more_threads_than_it_has_connections)
{
    const pdr_entry entry = {.body = {"1", 1}};
    pdr_edit edit = {
        .ref = {.id = {FULL, 4}}, .entries = &entry, .entry_count = 1};
    pthread_t threads[THREADS];
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    for (size_t i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, read_often, &stock));
    for (int i = 0; i < 5; i++)
        stock_commit(&stock, &edit, 1000 + i);
    for (size_t i = 0; i < THREADS; i++) {
        void *failed = NULL;

        ASSERT_INT(0, pthread_join(threads[i], &failed));
        ASSERT(failed == NULL);
    }
    stock_close(&stock);
}
