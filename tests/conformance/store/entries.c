/* Pages of entries: from either end, by number, by correlation id. */
#include <inttypes.h>

#include "suite.h"

#define ENTRIES 25

static pdr_store *open_with_entries(void)
{
    pdr_store *store = suite_open();

    (void)must_append(store, "s", 0, 1, ENTRIES);
    return store;
}

static const pdr_query all = {.what = PDR_READ_ENTRIES,
                              .ref = {.id = S_INIT("s")}};

/* Does the page hold entries `first`, first + step, ...? */
static void check_page(const pdr_page *page, uint64_t first, int step,
                       size_t count)
{
    ASSERT_SIZE(count, page->count);
    for (size_t i = 0; i < count; i++) {
        uint64_t n = first + (uint64_t)((int64_t)step * (int64_t)i);
        char body[32];
        snprintf(body, sizeof(body), "{\"n\":%" PRIu64 "}", n);
        ASSERT_INT(n, page->entries[i].seq);
        ASSERT_TEXT(body, page->entries[i].body);
        ASSERT_INT(NOW + (int64_t)n, page->entries[i].created_ms);
        ASSERT_INT((n - 1) % 2, page->entries[i].kind);
    }
}

TEST(entries, are_numbered_from_one_without_gaps)
{
    pdr_store *store = suite_open();

    ASSERT_INT(1, must_append(store, "s", 0, 1, 2).first_seq);
    ASSERT_INT(3, must_append(store, "s", 1, 3, 3).first_seq);
    pdr_head head = head_of(store, "s");
    ASSERT_INT(1, head.first_seq);
    ASSERT_INT(6, head.next_seq);
    pdr_page *page = must_read(store, &all);
    check_page(page, 1, 1, 5);
    assert_memory_equal(head.chain, page->entries[4].digest, PDR_DIGEST_BYTES);
    ASSERT(memcmp(head.chain, head.anchor, PDR_DIGEST_BYTES) != 0);
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, keep_all_their_columns)
{
    pdr_store *store = suite_open();
    const pdr_entry rows[] = {{.seq = 77, /* ignored */
                               .kind = PDR_ROW_RECORD,
                               .shape = PDR_ROW_PYTHON,
                               .created_ms = -5,
                               .correlation_id = S("c"),
                               .separator = S(" ,\n "),
                               .body = S(" [1, 2 ] ")},
                              {.kind = PDR_ROW_OTHER,
                               .shape = PDR_ROW_DOTNET,
                               .separator = S(""),
                               .body = S("null")},
                              {.kind = PDR_ROW_MESSAGE,
                               .created_ms = PDR_NO_TIME,
                               .body = S("\"\"")}};
    /* Without a time, it has that of the commit. */
    const int64_t times[] = {-5, NOW, PDR_NO_TIME};
    pdr_edit edit = EDIT("s", 0);
    edit.entries = rows;
    edit.entry_count = COUNT(rows);
    (void)must_commit(store, &edit);

    pdr_page *page = must_read(store, &all);
    ASSERT_SIZE(3, page->count);
    for (size_t i = 0; i < 3; i++) {
        const pdr_entry *row = &page->entries[i];
        ASSERT_INT(i + 1, row->seq);
        ASSERT_INT(rows[i].kind, row->kind);
        ASSERT_INT(rows[i].shape, row->shape);
        ASSERT_INT(times[i], row->created_ms);
        ASSERT_BYTES(rows[i].body, row->body);
        ASSERT_BYTES(rows[i].separator, row->separator);
        ASSERT((rows[i].separator.ptr == NULL) == (row->separator.ptr == NULL));
        ASSERT((rows[i].correlation_id.ptr == NULL) ==
               (row->correlation_id.ptr == NULL));
    }
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, come_page_after_page_from_the_beginning)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;
    pdr_page *page = NULL, *next = NULL;

    query.limit = 10;
    page = must_read(store, &query);
    check_page(page, 1, 1, 10);
    query.after = page->next;
    next = must_read(store, &query);
    check_page(next, 11, 1, 10);
    pdr_page_free(page);
    query.after = next->next;
    page = must_read(store, &query);
    check_page(page, 21, 1, 5);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, come_page_after_page_from_the_end)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;
    pdr_page *page = NULL, *next = NULL;

    query.limit = 20;
    query.backwards = true;
    page = must_read(store, &query);
    check_page(page, 25, -1, 20);
    query.after = page->next;
    next = must_read(store, &query);
    check_page(next, 5, -1, 5);
    ASSERT(next->next.ptr == NULL);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, are_whole_with_pages_of_any_size)
{
    pdr_store *store = open_with_entries();

    for (size_t limit = 1; limit <= ENTRIES + 2; limit++) {
        pdr_query query = all;
        ASSERT_SIZE(ENTRIES, read_all(store, &query, limit, NULL, NULL));
        query.backwards = true;
        ASSERT_SIZE(ENTRIES, read_all(store, &query, limit, NULL, NULL));
    }
    suite_close(store);
}

TEST(entries, begin_at_a_number)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;
    pdr_page *page = NULL;

    query.from = 20;
    page = must_read(store, &query);
    check_page(page, 20, 1, 6);
    pdr_page_free(page);
    query.backwards = true;
    page = must_read(store, &query);
    check_page(page, 20, -1, 20);
    pdr_page_free(page);
    query.limit = 3;
    page = must_read(store, &query);
    check_page(page, 20, -1, 3);
    query.after = page->next;
    query.from = 0; /* the cursor knows */
    pdr_page *next = must_read(store, &query);
    check_page(next, 17, -1, 3);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, begin_where_there_are_some)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;
    pdr_page *page = NULL;

    query.from = ENTRIES + 1;
    page = must_read(store, &query);
    ASSERT_SIZE(0, page->count);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(page);
    query.from = UINT64_MAX;
    query.backwards = true;
    query.limit = 2;
    page = must_read(store, &query);
    check_page(page, 25, -1, 2);
    pdr_page_free(page);
    query.from = 1;
    page = must_read(store, &query);
    check_page(page, 1, -1, 1);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, of_a_correlation_id_come_from_either_end)
{
    pdr_store *store = suite_open();
    pdr_entry rows[12];
    char ids[3][8] = {"c-0", "c-1", "c-2"};
    pdr_edit edit = EDIT("s", 0);

    memset(rows, 0, sizeof(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        rows[i].body = S("{}");
        if (i % 4 != 3) /* 1 2 3 none, 1 2 3 none, ... */
            rows[i].correlation_id = pdr_str_c(ids[i % 4]);
    }
    edit.entries = rows;
    edit.entry_count = COUNT(rows);
    (void)must_commit(store, &edit);

    pdr_query query = all;
    query.key = S("c-1");
    query.limit = 2;
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(2, page->count);
    ASSERT_INT(2, page->entries[0].seq);
    ASSERT_INT(6, page->entries[1].seq);
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    ASSERT_SIZE(1, next->count);
    ASSERT_INT(10, next->entries[0].seq);
    ASSERT(next->next.ptr == NULL);
    pdr_page_free(next);
    pdr_page_free(page);

    query.after = pdr_str_n(NULL, 0);
    query.backwards = true;
    page = must_read(store, &query);
    ASSERT_INT(10, page->entries[0].seq);
    ASSERT_INT(6, page->entries[1].seq);
    pdr_page_free(page);
    ASSERT_SIZE(3, read_all(store, &query, 1, NULL, NULL));
    suite_close(store);
}

TEST(entries, stop_when_a_page_has_bytes_enough)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;
    pdr_page *page = NULL;

    query.max_bytes = 1; /* the first comes in any case */
    page = must_read(store, &query);
    check_page(page, 1, 1, 1);
    ASSERT(page->next.ptr != NULL);
    pdr_page_free(page);
    query.max_bytes = 7 * 3; /* {"n":1} has seven */
    page = must_read(store, &query);
    check_page(page, 1, 1, 3);
    pdr_page_free(page);
    query.max_bytes = 7 * 3 + 1;
    page = must_read(store, &query);
    check_page(page, 1, 1, 4);
    pdr_page_free(page);
    query.max_bytes = 20;
    ASSERT_SIZE(ENTRIES, read_all(store, &query, 0, NULL, NULL));
    query.backwards = true;
    ASSERT_SIZE(ENTRIES, read_all(store, &query, 0, NULL, NULL));
    suite_close(store);
}

TEST(entries, that_are_appended_between_two_pages_come_at_the_end)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;

    query.limit = 20;
    pdr_page *page = must_read(store, &query);
    (void)must_append(store, "s", 1, ENTRIES + 1, 3);
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    check_page(next, 21, 1, 8);
    ASSERT_INT(2, next->head.revision); /* each page is of its own moment */
    ASSERT_INT(1, page->head.revision);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(entries, of_a_removed_session_are_not_given_by_an_old_cursor)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;
    pdr_edit removal = EDIT("s", 1);
    removal.remove = true;

    query.limit = 5;
    pdr_page *page = must_read(store, &query);
    query.after = page->next;
    (void)must_commit(store, &removal);
    must_not_read(PDR_ENOTFOUND, "no_session", store, &query);
    pdr_page_free(page);
    suite_close(store);
}

TEST(page, has_at_most_two_hundred_rows)
{
    pdr_store *store = suite_open();
    pdr_query query = all;

    (void)must_append(store, "s", 0, 1, 250);
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(50, page->count); /* by default */
    pdr_page_free(page);
    query.limit = 200;
    page = must_read(store, &query);
    ASSERT_SIZE(200, page->count);
    pdr_page_free(page);
    query.limit = 201;
    must_not_read(PDR_EINVALID, "bad_query", store, &query);
    suite_close(store);
}

TEST(page, goes_on_only_with_a_cursor_of_its_own)
{
    pdr_store *store = open_with_entries();
    pdr_query query = all;

    query.limit = 5;
    pdr_page *page = must_read(store, &query);
    char *cursor = strndup(page->next.ptr, page->next.len);
    pdr_page_free(page);

    query.after = S("nonsense");
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.after = S("");
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.after = pdr_str_c(cursor);
    query.backwards = true;
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.backwards = false;
    query.what = PDR_READ_JOURNAL;
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.what = PDR_READ_ENTRIES;
    cursor[9] = cursor[9] == 'A' ? 'B' : 'A';
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    free(cursor);
    suite_close(store);
}

TEST(page, of_no_session_says_so)
{
    pdr_store *store = suite_open();
    static const pdr_read_what kinds[] = {
        PDR_READ_HEAD,       PDR_READ_ENTRIES,     PDR_READ_SLOTS,
        PDR_READ_PROPERTIES, PDR_READ_COMPLETIONS, PDR_READ_FRAME,
        PDR_READ_JOURNAL,    PDR_READ_STREAM,      PDR_READ_INBOX};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        const pdr_query query = {.what = kinds[i], .ref = {.id = S("nobody")}};
        must_not_read(PDR_ENOTFOUND, "no_session", store, &query);
    }
    suite_close(store);
}

TEST(page, does_not_change_with_what_the_caller_does_to_its_texts)
{
    COVERS("S-100");
    pdr_store *store = suite_open();
    char id[] = "s", body[] = "{\"n\":1}", key[] = "k", value[] = "[1]";
    const pdr_entry entry = {.body = pdr_str_c(body)};
    const pdr_slot slot = {.key = pdr_str_c(key), .value = pdr_str_c(value)};
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                     .entries = &entry,
                     .entry_count = 1,
                     .slots = &slot,
                     .slot_count = 1};

    (void)must_commit(store, &edit);
    id[0] = key[0] = 'x';
    memset(body, 'x', sizeof(body));
    memset(value, 'x', sizeof(value));
    pdr_page *page = must_read(store, &all);
    ASSERT_TEXT("{\"n\":1}", page->entries[0].body);

    /* Nor does a page change with what is committed later. */
    (void)must_append(store, "s", 1, 5, 2);
    ASSERT_SIZE(1, page->count);
    ASSERT_INT(1, page->head.revision);
    memset((void *)(uintptr_t)page->entries[0].body.ptr, 'y', 3);
    pdr_page *again = must_read(store, &all);
    ASSERT_TEXT("{\"n\":1}", again->entries[0].body);
    pdr_page_free(again);
    pdr_page_free(page);
    const pdr_query slots = {.what = PDR_READ_SLOTS, .ref = all.ref};
    page = must_read(store, &slots);
    ASSERT_TEXT("k", page->slots[0].key);
    ASSERT_TEXT("[1]", page->slots[0].value);
    pdr_page_free(page);
    suite_close(store);
}
