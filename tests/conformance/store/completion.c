/* Correlation ids: what is asked twice happens once. */
#include "suite.h"

static pdr_edit with(const pdr_completion *row)
{
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);

    edit.completions = row;
    edit.completion_count = 1;
    return edit;
}

static pdr_page *read_one(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = {.id = S("s")},
                             .key = pdr_str_c(id)};
    pdr_page *page = must_read(store, &query);

    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT(id, page->completions[0].correlation_id);
    return page;
}

TEST(completion, waits_and_then_ends)
{
    pdr_store *store = suite_open();
    pdr_completion row = {.correlation_id = S("c-1"), .fingerprint = S("f1")};
    pdr_edit edit = with(&row);

    (void)must_create(store, "s");
    (void)must_commit_at(store, &edit, NOW + 1);
    pdr_page *page = read_one(store, "c-1");
    ASSERT(page->completions[0].outcome.ptr == NULL);
    ASSERT_TEXT("f1", page->completions[0].fingerprint);
    ASSERT_INT(NOW + 1, page->completions[0].at_ms);
    ASSERT_INT(0, page->completions[0].epoch);
    ASSERT_INT(0, page->completions[0].first_seq);
    ASSERT_INT(0, page->completions[0].last_seq);
    pdr_page_free(page);

    row = (pdr_completion){.correlation_id = S("c-1"), .outcome = S("{}")};
    (void)must_commit_at(store, &edit, NOW + 2);
    page = read_one(store, "c-1");
    ASSERT_TEXT("{}", page->completions[0].outcome);
    ASSERT_TEXT("f1", page->completions[0].fingerprint); /* stays */
    ASSERT_INT(NOW + 2, page->completions[0].at_ms);
    pdr_page_free(page);
    ASSERT_INT(1, head_of(store, "s").completions);
    suite_close(store);
}

TEST(completion, that_is_known_is_refused)
{
    pdr_store *store = suite_open();
    pdr_completion row = {.correlation_id = S("c-1")};
    pdr_edit edit = with(&row);

    (void)must_create(store, "s");
    (void)must_commit(store, &edit);
    must_refuse(PDR_EEXISTS, "completion_exists", store, &edit);
    row.outcome = S("1");
    (void)must_commit(store, &edit);
    must_refuse(PDR_EEXISTS, "completion_exists", store, &edit);
    row.outcome = S("2"); /* it has ended, for good */
    must_refuse(PDR_EEXISTS, "completion_exists", store, &edit);
    row.outcome = pdr_str_n(NULL, 0);
    must_refuse(PDR_EEXISTS, "completion_exists", store, &edit);
    suite_close(store);
}

TEST(completion, that_is_refused_takes_the_whole_turn_with_it)
{
    pdr_store *store = suite_open();
    const pdr_entry entries[] = {{.correlation_id = S("c-1"), .body = S("1")},
                                 {.correlation_id = S("c-1"), .body = S("2")}};
    const pdr_completion row = {.correlation_id = S("c-1"),
                                .outcome = S("\"done\"")};
    pdr_edit turn = EDIT("s", 0);
    turn.entries = entries;
    turn.entry_count = 2;
    turn.completions = &row;
    turn.completion_count = 1;

    (void)must_commit(store, &turn);
    turn.revision = 1; /* the same request, delivered once more */
    must_refuse(PDR_EEXISTS, "completion_exists", store, &turn);
    ASSERT_INT(3, head_of(store, "s").next_seq);
    suite_close(store);
}

TEST(completion, is_made_by_entries_and_tells_where_they_stand)
{
    pdr_store *store = suite_open();
    const pdr_entry first[] = {{.correlation_id = S("c-1"), .body = S("1")},
                               {.body = S("2")},
                               {.correlation_id = S("c-2"), .body = S("3")}};
    const pdr_entry second[] = {{.body = S("4")},
                                {.correlation_id = S("c-1"), .body = S("5")}};
    pdr_edit edit = EDIT("s", 0);
    edit.entries = first;
    edit.entry_count = 3;

    uint64_t epoch = must_commit_at(store, &edit, NOW).epoch;
    pdr_page *page = read_one(store, "c-1");
    ASSERT_INT(1, page->completions[0].first_seq);
    ASSERT_INT(1, page->completions[0].last_seq);
    ASSERT_INT(epoch, page->completions[0].epoch);
    ASSERT(page->completions[0].outcome.ptr == NULL);
    pdr_page_free(page);

    edit.revision = 1;
    edit.entries = second;
    edit.entry_count = 2;
    (void)must_commit_at(store, &edit, NOW + 7);
    page = read_one(store, "c-1");
    ASSERT_INT(1, page->completions[0].first_seq);
    ASSERT_INT(5, page->completions[0].last_seq);
    ASSERT_INT(NOW + 7, page->completions[0].at_ms);
    pdr_page_free(page);
    page = read_one(store, "c-2");
    ASSERT_INT(3, page->completions[0].first_seq);
    ASSERT_INT(3, page->completions[0].last_seq);
    ASSERT_INT(NOW, page->completions[0].at_ms);
    pdr_page_free(page);
    ASSERT_INT(2, head_of(store, "s").completions);
    suite_close(store);
}

TEST(completion, that_ended_is_extended_by_entries_and_keeps_its_outcome)
{
    pdr_store *store = suite_open();
    const pdr_completion row = {
        .correlation_id = S("c-1"), .fingerprint = S("f"), .outcome = S("7")};
    const pdr_entry entry[] = {{.correlation_id = S("c-1"), .body = S("1")}};
    pdr_edit edit = EDIT("s", 0);
    edit.completions = &row;
    edit.completion_count = 1;

    (void)must_commit(store, &edit);
    edit = (pdr_edit)EDIT("s", 1);
    edit.entries = entry;
    edit.entry_count = 1;
    (void)must_commit(store, &edit);
    pdr_page *page = read_one(store, "c-1");
    ASSERT_TEXT("7", page->completions[0].outcome);
    ASSERT_TEXT("f", page->completions[0].fingerprint);
    ASSERT_INT(1, page->completions[0].first_seq);
    pdr_page_free(page);
    suite_close(store);
}

TEST(completion, and_entries_of_one_commit_make_one_row)
{
    pdr_store *store = suite_open();
    const pdr_entry entries[] = {{.correlation_id = S("c-1"), .body = S("1")},
                                 {.correlation_id = S("c-1"), .body = S("2")}};
    const pdr_completion row = {.correlation_id = S("c-1"),
                                .fingerprint = S("print"),
                                .outcome = S("{\"ok\":true}")};
    pdr_edit edit = EDIT("s", 0);
    edit.entries = entries;
    edit.entry_count = 2;
    edit.completions = &row;
    edit.completion_count = 1;

    (void)must_commit(store, &edit);
    ASSERT_INT(1, head_of(store, "s").completions);
    pdr_page *page = read_one(store, "c-1");
    ASSERT_INT(1, page->completions[0].first_seq);
    ASSERT_INT(2, page->completions[0].last_seq);
    ASSERT_TEXT("{\"ok\":true}", page->completions[0].outcome);
    ASSERT_TEXT("print", page->completions[0].fingerprint);
    pdr_page_free(page);
    suite_close(store);
}

TEST(completion, is_found_by_its_exact_bytes)
{
    COVERS("D-62");
    pdr_store *store = suite_open();
    const pdr_entry entries[] = {{.correlation_id = S("abc"), .body = S("1")},
                                 {.correlation_id = S("Abc"), .body = S("2")},
                                 {.correlation_id = S("abc "), .body = S("3")},
                                 {.correlation_id = S("abc"), .body = S("4")}};
    pdr_edit edit = EDIT("s", 0);
    edit.entries = entries;
    edit.entry_count = 4;
    (void)must_commit(store, &edit);

    pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = edit.ref, .key = S("abc")};
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(2, page->count);
    ASSERT_TEXT("1", page->entries[0].body); /* the first match first */
    ASSERT_TEXT("4", page->entries[1].body);
    pdr_page_free(page);
    query.limit = 1;
    page = must_read(store, &query);
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("1", page->entries[0].body);
    pdr_page_free(page);
    page = read_one(store, "Abc");
    ASSERT_INT(2, page->completions[0].first_seq);
    pdr_page_free(page);
    query.key = S("ABC");
    must_not_read(PDR_ENOTFOUND, "no_completion", store, &query);
    query.what = PDR_READ_COMPLETIONS;
    must_not_read(PDR_ENOTFOUND, "no_completion", store, &query);
    suite_close(store);
}

TEST(completion, lists_are_in_the_order_of_bytes)
{
    pdr_store *store = suite_open();
    const pdr_completion rows[] = {
        {.correlation_id = S("b")},  {.correlation_id = S("a")},
        {.correlation_id = S("aa")}, {.correlation_id = S("B")},
        {.correlation_id = S("é")},  {.correlation_id = S("~")}};
    static const char *const order[] = {"B", "a", "aa", "b", "~", "é"};
    pdr_edit edit = EDIT("s", 0);
    edit.completions = rows;
    edit.completion_count = COUNT(rows);
    (void)must_commit(store, &edit);

    const pdr_query query = {.what = PDR_READ_COMPLETIONS, .ref = edit.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(COUNT(order), page->count);
    for (size_t i = 0; i < COUNT(order); i++)
        ASSERT_TEXT(order[i], page->completions[i].correlation_id);
    pdr_page_free(page);
    ASSERT_SIZE(COUNT(order), read_all(store, &query, 1, NULL, NULL));
    ASSERT_SIZE(COUNT(order), read_all(store, &query, 4, NULL, NULL));
    suite_close(store);
}

TEST(completion, is_named_once_in_a_commit)
{
    pdr_store *store = suite_open();
    const pdr_completion rows[] = {{.correlation_id = S("a")},
                                   {.correlation_id = S("a")}};
    pdr_edit edit = EDIT("s", 0);
    edit.completions = rows;
    edit.completion_count = 2;

    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    suite_close(store);
}

TEST(completion, of_one_session_says_nothing_of_another)
{
    pdr_store *store = suite_open();
    const pdr_completion row = {.correlation_id = S("c"), .outcome = S("1")};
    pdr_edit edit = EDIT("s", 0);
    edit.completions = &row;
    edit.completion_count = 1;

    (void)must_commit(store, &edit);
    edit.ref.id = S("t");
    (void)must_commit(store, &edit);
    edit.ref.tenant = S("north");
    (void)must_commit(store, &edit);
    suite_close(store);
}
