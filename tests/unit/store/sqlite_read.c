/* Pages of rows of one session, read from SQLite. */
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
