/* Pages: where they begin and end, and that no damaged row gets through. */
#include "test.h"

#include "trick_digest.h"
#include "trick_store.h"

#define T(text) pdr_str_c(text)
#define NONE    pdr_str_n(NULL, 0)

static pdr_store *filled(void)
{
    pdr_store *store = trick_open("trick:");

    trick_fill(store);
    return store;
}

static pdr_page *read_page(pdr_store *store, const pdr_query *query)
{
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_read(&page, store, query, &err) != PDR_OK)
        fail_msg("%s: %s", err.reason, err.message);
    return page;
}

static pdr_head head_of(pdr_store *store)
{
    pdr_query query = trick_query(PDR_READ_HEAD);
    pdr_page *page = read_page(store, &query);
    pdr_head head = page->head;

    pdr_page_free(page);
    return head;
}

/* --- numbers and keys of pages ---------------------------------------------
 */

static void name_row(char *out, size_t size, const pdr_page *page, size_t i)
{
    pdr_str key = NONE;

    if (page->entries != NULL)
        snprintf(out, size, "%d", (int)page->entries[i].seq);
    else if (page->work != NULL)
        snprintf(out, size, "%d", (int)page->work[i].n);
    else if (page->slots != NULL)
        key = page->slots[i].key;
    else if (page->properties != NULL)
        key = page->properties[i].key;
    else if (page->completions != NULL)
        key = page->completions[i].correlation_id;
    else
        key = page->sessions[i].ref.id;
    if (key.ptr != NULL)
        snprintf(out, size, "%.*s", (int)key.len, key.ptr);
}

/* All pages of a list, as in "1 2|3 4|". */
static void assert_pages(const char *expected, pdr_store *store,
                         const pdr_query *first)
{
    char text[400] = "", name[40];
    pdr_query query = *first;
    pdr_page *page = NULL;
    size_t pages = 0;

    do {
        pdr_page *next = read_page(store, &query);

        for (size_t i = 0; i < next->count; i++) {
            size_t len = strlen(text);

            name_row(name, sizeof(name), next, i);
            snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? " " : "",
                     name);
        }
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "|");
        pdr_page_free(page);
        page = next;
        query.after = page->next;
        ASSERT(++pages < 100);
    } while (page->next.ptr != NULL);
    pdr_page_free(page);
    ASSERT_STR(expected, text);
}

struct list_case {
    pdr_query query;
    const char *expected;
};

static void check_lists(const struct list_case *cases, size_t count)
{
    pdr_store *store = filled();

    for (size_t i = 0; i < count; i++) {
        pdr_query query = cases[i].query;

        if (query.what < PDR_READ_SESSIONS)
            query.ref = trick_ref();
        assert_pages(cases[i].expected, store, &query);
    }
    pdr_store_close(store);
}

TEST(page, gives_entries_from_either_end_and_from_a_number)
{
    const struct list_case cases[] = {
        {{.what = PDR_READ_ENTRIES}, "1 2 3 4 5 6 7 8 9 10|"},
        {{.what = PDR_READ_ENTRIES, .limit = 10}, "1 2 3 4 5 6 7 8 9 10|"},
        {{.what = PDR_READ_ENTRIES, .limit = 4}, "1 2 3 4|5 6 7 8|9 10|"},
        {{.what = PDR_READ_ENTRIES, .limit = 5}, "1 2 3 4 5|6 7 8 9 10|"},
        {{.what = PDR_READ_ENTRIES, .limit = 1}, "1|2|3|4|5|6|7|8|9|10|"},
        {{.what = PDR_READ_ENTRIES, .limit = 4, .backwards = true},
         "10 9 8 7|6 5 4 3|2 1|"},
        {{.what = PDR_READ_ENTRIES, .limit = 5, .backwards = true},
         "10 9 8 7 6|5 4 3 2 1|"},
        {{.what = PDR_READ_ENTRIES, .limit = 2, .from = 8}, "8 9|10|"},
        {{.what = PDR_READ_ENTRIES, .from = 10}, "10|"},
        {{.what = PDR_READ_ENTRIES, .from = 11}, "|"},
        {{.what = PDR_READ_ENTRIES, .from = UINT64_MAX}, "|"},
        {{.what = PDR_READ_ENTRIES, .from = 3, .limit = 2, .backwards = true},
         "3 2|1|"},
        {{.what = PDR_READ_ENTRIES, .from = 1, .backwards = true}, "1|"},
        {{.what = PDR_READ_ENTRIES, .from = 99, .limit = 3, .backwards = true},
         "10 9 8|7 6 5|4 3 2|1|"}};

    check_lists(cases, PDR_COUNT(cases));
}

TEST(page, gives_entries_of_a_correlation_id)
{
    const struct list_case cases[] = {
        {{.what = PDR_READ_ENTRIES, .key = T("odd")}, "1 3 5 7 9|"},
        {{.what = PDR_READ_ENTRIES, .key = T("odd"), .limit = 2}, "1 3|5 7|9|"},
        {{.what = PDR_READ_ENTRIES, .key = T("even"), .limit = 2},
         "2 4|6 8|10|"},
        {{.what = PDR_READ_ENTRIES,
          .key = T("odd"),
          .limit = 3,
          .backwards = true},
         "9 7 5|3 1|"},
        {{.what = PDR_READ_ENTRIES, .key = T("odd"), .from = 4}, "5 7 9|"},
        {{.what = PDR_READ_ENTRIES, .key = T("odd"), .from = 10}, "|"}};

    check_lists(cases, PDR_COUNT(cases));
}

TEST(page, gives_work_from_either_end_and_from_a_number)
{
    const struct list_case cases[] = {
        {{.what = PDR_READ_JOURNAL}, "3 4 5 6 7|"},
        {{.what = PDR_READ_JOURNAL, .limit = 2}, "3 4|5 6|7|"},
        {{.what = PDR_READ_JOURNAL, .limit = 2, .backwards = true},
         "7 6|5 4|3|"},
        {{.what = PDR_READ_JOURNAL, .from = 1, .limit = 3}, "3 4 5|6 7|"},
        {{.what = PDR_READ_JOURNAL, .from = 2, .backwards = true}, "|"},
        {{.what = PDR_READ_STREAM, .from = 4}, "4 5|"},
        {{.what = PDR_READ_STREAM, .limit = 3, .backwards = true}, "5 4 3|2|"},
        {{.what = PDR_READ_INBOX}, "1 3 4|"},
        {{.what = PDR_READ_INBOX, .limit = 1}, "1|3|4|"},
        {{.what = PDR_READ_INBOX, .limit = 2, .backwards = true}, "4 3|1|"},
        {{.what = PDR_READ_INBOX, .limit = 1, .from = 2}, "3|4|"}};

    check_lists(cases, PDR_COUNT(cases));
}

TEST(page, gives_rows_with_keys_in_their_order)
{
    const struct list_case cases[] = {
        {{.what = PDR_READ_SLOTS}, "a b c|"},
        {{.what = PDR_READ_SLOTS, .limit = 2}, "a b|c|"},
        {{.what = PDR_READ_SLOTS, .key = T("b")}, "b|"},
        {{.what = PDR_READ_PROPERTIES, .limit = 1}, "color|size|"},
        {{.what = PDR_READ_PROPERTIES, .key = T("size")}, "size|"},
        {{.what = PDR_READ_COMPLETIONS, .limit = 1}, "done|even|odd|"},
        {{.what = PDR_READ_COMPLETIONS, .key = T("odd")}, "odd|"}};

    check_lists(cases, PDR_COUNT(cases));
}

/* Sessions "a" to "d" beside "s1", changed one after the other, of two tenants.
 */
static void fill_sessions(pdr_store *store)
{
    static const char *const ids[] = {"c", "a", "d", "b"};

    for (size_t i = 0; i < PDR_COUNT(ids); i++) {
        pdr_commit_options options = {.now_ms = (int64_t)i / 2 * 10};
        pdr_work due = {
            .due_ms = (int64_t)i * 100, .kind = T("k"), .body = T("1")};
        pdr_property color = {
            .key = T("color"), .value = T("\"red\""), .match = T("red")};
        pdr_edit edit = {.ref = {T(i == 3 ? "acme" : "default"), T(ids[i])},
                         .agent = T("writer"),
                         .expiry = PDR_EXPIRY_SET,
                         .expiry_ms = (int64_t)(10 - i),
                         .set_state = true,
                         .state = PDR_SESSION_WAITING,
                         .properties = &color,
                         .property_count = 1,
                         .inbox = &due,
                         .inbox_count = 1};

        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    }
}

TEST(page, gives_lists_of_sessions_in_their_order)
{
    const struct list_case cases[] = {
        {{.what = PDR_READ_SESSIONS}, "s1 d c a|"},
        {{.what = PDR_READ_SESSIONS, .limit = 1}, "s1|d|c|a|"},
        {{.what = PDR_READ_SESSIONS,
          .limit = 1,
          .filter = {.property = T("color"), .match = T("red")}},
         "a|c|d|s1|"},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.by_state = true, .state = PDR_SESSION_WAITING}},
         "d c a|"},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.agent = T("writer"), .changed_to_ms = 10}},
         "c a|"},
        {{.what = PDR_READ_SESSIONS, .ref.tenant = T("acme")}, "b|"},
        {{.what = PDR_READ_EXPIRED, .limit = 1, .now_ms = 9}, "b|d|a|"},
        {{.what = PDR_READ_EXPIRED, .now_ms = PDR_NEVER}, "b d a c|"},
        {{.what = PDR_READ_DUE, .limit = 2, .now_ms = 200}, "1 1|1 1|"},
        {{.what = PDR_READ_DUE, .now_ms = -1}, "|"},
        {{.what = PDR_READ_ALL, .limit = 2}, "b a|c d|s1|"}};
    pdr_store *store = filled();

    fill_sessions(store);
    for (size_t i = 0; i < PDR_COUNT(cases); i++)
        assert_pages(cases[i].expected, store, &cases[i].query);
    pdr_store_close(store);
}

TEST(page, gives_head_and_frame)
{
    pdr_store *store = filled();
    pdr_query query = trick_query(PDR_READ_FRAME);
    pdr_page *page = read_page(store, &query);

    ASSERT_TEXT("{}", page->frame);
    ASSERT_SIZE(0, page->count);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(page);
    ASSERT_SIZE(2, head_of(store).revision);
    ASSERT_SIZE(4, head_of(store).commits);
    ASSERT_SIZE(3, head_of(store).inbox);
    pdr_store_close(store);
    pdr_page_free(NULL);
}

/* --- room ------------------------------------------------------------------
 */

/* The bodies are "{}", "[1]", "{"a":"b"}", over and over. Each entry has a
 * correlation id of 3 or 4 bytes: 5, 7 and 12 or 13 bytes and so on. */
TEST(page, ends_when_it_has_bytes_enough)
{
    const struct list_case cases[] = {
        {{.what = PDR_READ_ENTRIES, .max_bytes = 1}, "1|2|3|4|5|6|7|8|9|10|"},
        {{.what = PDR_READ_ENTRIES, .max_bytes = 5}, "1|2|3|4|5|6|7|8|9|10|"},
        {{.what = PDR_READ_ENTRIES, .max_bytes = 6}, "1 2|3|4|5|6|7 8|9|10|"},
        {{.what = PDR_READ_ENTRIES, .max_bytes = SIZE_MAX},
         "1 2 3 4 5 6 7 8 9 10|"},
        {{.what = PDR_READ_SLOTS, .max_bytes = 1}, "a|b|c|"},
        {{.what = PDR_READ_SLOTS, .max_bytes = 3}, "a b|c|"}};

    check_lists(cases, PDR_COUNT(cases));
}

TEST(page_has_room, holds_one_row_however_large_and_no_more_than_the_limit)
{
    pdr_query query = {.what = PDR_READ_SLOTS, .limit = 2, .max_bytes = 1};
    pdr_slot slot = {.key = T("key"), .value = T("value")};
    struct pdr__page *page = NULL;

    ASSERT_RC(PDR_OK, pdr__page_new(&page, &query, NULL));
    ASSERT(pdr_page_has_room(&page->page));
    ASSERT_RC(PDR_OK, pdr_page_add_slot(&page->page, &slot, NULL));
    ASSERT(!pdr_page_has_room(&page->page));
    query.max_bytes = 9;
    ASSERT(pdr_page_has_room(&page->page));
    ASSERT_RC(PDR_OK, pdr_page_add_slot(&page->page, &slot, NULL));
    query.max_bytes = 1000;
    ASSERT(!pdr_page_has_room(&page->page));
    pdr_page_free(&page->page);
}

/* --- damage ----------------------------------------------------------------
 */

typedef void (*damage_fn)(struct pdr__page *page);

/* Read with the damage, and expect it to be seen. */
struct damage {
    pdr_query query;
    damage_fn fn;
    const char *reason;
    const char *message; /* what it begins with, behind "session 's1'" */
};

static void do_damage(struct pdr__page *page, void *arg)
{
    const struct damage *damage = arg;

    damage->fn(page);
}

static void check_damage(pdr_store *store, struct damage *damage, size_t i)
{
    pdr_query query = damage->query;
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (query.what < PDR_READ_SESSIONS)
        query.ref = trick_ref();
    trick_on_read(do_damage, damage);
    pdr_rc rc = pdr_store_read(&page, store, &query, &err);
    trick_on_read(NULL, NULL);
    if (rc == PDR_OK)
        fail_msg("damage %zu was not seen", i);
    ASSERT_STR(damage->reason, err.reason);
    ASSERT_RC(PDR_ECORRUPT, rc);
    ASSERT(page == NULL);
    if (strstr(err.message, damage->message) == NULL)
        fail_msg("damage %zu: %s", i, err.message);
    ASSERT(strstr(err.message, "session 's1'") == err.message);
    ASSERT(strstr(err.message, "verify") != NULL);
}

static void check_damages(struct damage *damages, size_t count)
{
    pdr_store *store = filled();

    for (size_t i = 0; i < count; i++)
        check_damage(store, &damages[i], i);
    pdr_store_close(store);
}

static size_t row_size(const struct pdr__page *page)
{
    const pdr_page *shown = &page->page;

    if (shown->entries != NULL)
        return sizeof(pdr_entry);
    if (shown->work != NULL)
        return sizeof(pdr_work);
    if (shown->slots != NULL)
        return sizeof(pdr_slot);
    if (shown->properties != NULL)
        return sizeof(pdr_property);
    return shown->completions != NULL ? sizeof(pdr_completion)
                                      : sizeof(pdr_head);
}

static void drop(struct pdr__page *page, size_t at)
{
    size_t size = row_size(page), left = page->page.count - at - 1;
    char *row = (char *)page->rows + at * size;

    memmove(row, row + size, left * size);
    if (page->before != NULL)
        memmove(&page->before[at], &page->before[at + 1],
                left * sizeof(*page->before));
    page->page.count--;
}

static void swap(struct pdr__page *page, size_t a, size_t b)
{
    char kept[sizeof(pdr_head)];
    size_t size = row_size(page);
    char *rows = page->rows;
    struct pdr__before before;

    memcpy(kept, rows + a * size, size);
    memcpy(rows + a * size, rows + b * size, size);
    memcpy(rows + b * size, kept, size);
    if (page->before == NULL)
        return;
    before = page->before[a];
    page->before[a] = page->before[b];
    page->before[b] = before;
}

/* The second row stands in the first one's place, too. */
static void repeat(struct pdr__page *page)
{
    size_t size = row_size(page);

    memcpy(page->rows, (char *)page->rows + size, size);
}

/* Give a head that was changed the digest that it needs. */
static void seal(pdr_head *head)
{
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_store plain;

    memset(&plain, 0, sizeof(plain));
    ASSERT_RC(PDR_OK, pdr__seal_head(head->digest, &seal, &plain, head, NULL));
    pdr__seal_dispose(&seal);
}

static void drop_first(struct pdr__page *page)
{
    drop(page, 0);
}

static void drop_third(struct pdr__page *page)
{
    drop(page, 2);
}

static void drop_last(struct pdr__page *page)
{
    drop(page, page->page.count - 1);
}

static void drop_all(struct pdr__page *page)
{
    page->page.count = 0;
}

/* "There is more", and nothing is given. */
static void drop_all_and_promise(struct pdr__page *page)
{
    page->page.count = 0;
    page->more = true;
}

static void promise(struct pdr__page *page)
{
    page->more = true;
}

static void swap_two(struct pdr__page *page)
{
    swap(page, 1, 2);
}

static void swap_first(struct pdr__page *page)
{
    swap(page, 0, 1);
}

static pdr_entry *entry_at(struct pdr__page *page, size_t i)
{
    return (pdr_entry *)page->rows + i;
}

static void bend_body(struct pdr__page *page)
{
    entry_at(page, 2)->body = T("{\"a\":\"B\"}");
}

static void bend_digest(struct pdr__page *page)
{
    entry_at(page, 2)->digest[0] ^= 1;
}

static void bend_last_digest(struct pdr__page *page)
{
    entry_at(page, 9)->digest[31] ^= 0x80;
}

static void bend_before(struct pdr__page *page)
{
    page->before[0].digest[5] ^= 1;
}

static void forget_before(struct pdr__page *page)
{
    page->before[0].known = false;
}

static void bend_anchor(struct pdr__page *page)
{
    page->page.head.anchor[0] ^= 1;
    seal(&page->page.head);
}

static void bend_epoch(struct pdr__page *page)
{
    page->page.head.epoch++;
    seal(&page->page.head);
}

/* An old head, or a newer one: the entries are not those that it knows. */
static void bend_chain(struct pdr__page *page)
{
    page->page.head.chain[0] ^= 1;
    seal(&page->page.head);
}

static void lower_next(struct pdr__page *page)
{
    page->page.head.next_seq = 9;
    memcpy(page->page.head.chain, entry_at(page, 7)->digest, PDR_DIGEST_BYTES);
    seal(&page->page.head);
}

static void raise_next(struct pdr__page *page)
{
    page->page.head.next_seq++;
    seal(&page->page.head);
}

/* The first two were removed, and are there again (read backwards). */
static void raise_first(struct pdr__page *page)
{
    page->page.head.first_seq = 3;
    memcpy(page->page.head.anchor, entry_at(page, 8)->digest, PDR_DIGEST_BYTES);
    seal(&page->page.head);
}

TEST(page_finish, sees_entries_that_are_not_there)
{
    const pdr_query all = {.what = PDR_READ_ENTRIES};
    const pdr_query down = {.what = PDR_READ_ENTRIES, .backwards = true};
    const pdr_query few = {.what = PDR_READ_ENTRIES, .limit = 3};
    const pdr_query from = {.what = PDR_READ_ENTRIES, .from = 5};
    struct damage damages[] = {
        {all, drop_first, "broken_chain", ": entry 1 is not there"},
        {all, drop_third, "broken_chain", ": entry 3 is not there"},
        {all, drop_last, "broken_chain", ": entry 10 is not there"},
        {all, drop_all, "broken_chain", ": entry 1 is not there"},
        {all, drop_all_and_promise, "broken_chain", ": entry 1 is not there"},
        {all, swap_two, "broken_chain", ": entry 2 is not there"},
        {all, repeat, "broken_chain", ": entry 1 is not there"},
        {all, raise_next, "broken_chain", ": entry 11 is not there"},
        {down, drop_first, "broken_chain", ": entry 10 is not there"},
        {down, drop_third, "broken_chain", ": entry 8 is not there"},
        {down, drop_last, "broken_chain", ": entry 1 is not there"},
        {down, drop_all, "broken_chain", ": entry 10 is not there"},
        {few, drop_first, "broken_chain", ": entry 1 is not there"},
        {from, drop_first, "broken_chain", ": entry 5 is not there"},
        {from, drop_all, "broken_chain", ": entry 5 is not there"},
        {from, forget_before, "broken_chain", ": entry 4 is not there"}};

    check_damages(damages, PDR_COUNT(damages));
}

TEST(page_finish, sees_entries_that_are_not_what_was_committed)
{
    const pdr_query all = {.what = PDR_READ_ENTRIES};
    const pdr_query from = {.what = PDR_READ_ENTRIES, .from = 5};
    struct damage damages[] = {
        {all, bend_body, "broken_chain", ": entry 3 does not fit its digest"},
        {all, bend_digest, "broken_chain", ": entry 3 does not fit its digest"},
        {all, bend_last_digest, "broken_chain", ": entry 10 does not fit its "},
        {all, bend_anchor, "broken_chain", ": entry 1 does not fit its digest"},
        {all, bend_epoch, "broken_chain", ": entry 1 does not fit its digest"},
        {all, bend_chain, "broken_chain",
         ": entry 10 is not the last that was committed"},
        {from, bend_before, "broken_chain", ": entry 5 does not fit its"}};

    check_damages(damages, PDR_COUNT(damages));
}

static void raise_first_work(struct pdr__page *page)
{
    page->page.head.journal_first = 5;
    seal(&page->page.head);
}

static void lower_next_work(struct pdr__page *page)
{
    page->page.head.journal_next = 6;
    seal(&page->page.head);
}

/* Rows that were removed, or that were never committed. */
TEST(page_finish, sees_rows_that_should_not_be_there)
{
    const pdr_query all = {.what = PDR_READ_ENTRIES};
    const pdr_query down = {.what = PDR_READ_ENTRIES, .backwards = true};
    const pdr_query up_work = {.what = PDR_READ_JOURNAL};
    const pdr_query down_work = {.what = PDR_READ_JOURNAL, .backwards = true};
    struct damage damages[] = {
        {all, lower_next, "broken_chain", ": entry 9 should not be there"},
        {down, raise_first, "broken_chain", ": entry 2 should not be there"},
        {up_work, lower_next_work, "broken_chain",
         ": journal 6 should not be there"},
        {up_work, raise_first_work, "broken_chain", ": journal 5 is not there"},
        {down_work, raise_first_work, "broken_chain",
         ": journal 4 should not be there"},
        {down_work, lower_next_work, "broken_chain",
         ": journal 5 is not there"}};

    check_damages(damages, PDR_COUNT(damages));
}

static void other_id(struct pdr__page *page)
{
    *entry_at(page, 1) = *entry_at(page, 0);
    entry_at(page, 1)->seq = 2;
}

static void bend_id(struct pdr__page *page)
{
    entry_at(page, 1)->correlation_id = T("even");
}

TEST(page_finish, sees_entries_of_another_correlation_id)
{
    const pdr_query odd = {.what = PDR_READ_ENTRIES, .key = T("odd")};
    const pdr_query down = {
        .what = PDR_READ_ENTRIES, .key = T("odd"), .backwards = true};
    const pdr_query from = {
        .what = PDR_READ_ENTRIES, .key = T("odd"), .from = 5};
    struct damage damages[] = {
        {odd, bend_id, "wrong_index", ": entry 3 is in a list where it does"},
        {odd, swap_two, "wrong_index", ": entry 3 is in a list where it does"},
        {odd, repeat, "wrong_index", ": entry 3 is in a list where it does"},
        {down, swap_two, "wrong_index", ": entry 7 is in a list where it does"},
        {odd, other_id, "broken_chain", ": entry 2 does not fit its digest"},
        {from, forget_before, "broken_chain", ": entry 4 is not there"},
        {from, bend_before, "broken_chain", ": entry 5 does not fit its"}};

    check_damages(damages, PDR_COUNT(damages));
}

/* --- work ------------------------------------------------------------------
 */

static pdr_work *work_at(struct pdr__page *page, size_t i)
{
    return (pdr_work *)page->rows + i;
}

static void bend_kind(struct pdr__page *page)
{
    work_at(page, 1)->kind = T("stop");
}

static void bend_due(struct pdr__page *page)
{
    work_at(page, 0)->due_ms--;
}

static void bend_number(struct pdr__page *page)
{
    work_at(page, 1)->n = 2;
}

TEST(page_finish, sees_work_that_is_not_what_was_committed)
{
    const pdr_query journal = {.what = PDR_READ_JOURNAL};
    const pdr_query stream = {.what = PDR_READ_STREAM, .backwards = true};
    const pdr_query inbox = {.what = PDR_READ_INBOX};
    struct damage damages[] = {
        {journal, drop_first, "broken_chain", ": journal 3 is not there"},
        {journal, drop_third, "broken_chain", ": journal 5 is not there"},
        {journal, drop_last, "broken_chain", ": journal 7 is not there"},
        {journal, drop_all, "broken_chain", ": journal 3 is not there"},
        {journal, bend_kind, "bad_digest", ": journal 4 does not fit its"},
        {stream, drop_first, "broken_chain", ": stream 5 is not there"},
        {stream, drop_last, "broken_chain", ": stream 2 is not there"},
        {stream, bend_kind, "bad_digest", ": stream 4 does not fit its digest"},
        {inbox, bend_due, "bad_digest", ": inbox 1 does not fit its digest"},
        {inbox, bend_number, "bad_digest", ": inbox 2 does not fit its digest"},
        {inbox, drop_first, "wrong_count", ": 2 rows, but its head counts 3"},
        {inbox, drop_all, "wrong_count", ": 0 rows, but its head counts 3"},
        {inbox, drop_all_and_promise, "wrong_count", ": 0 rows, but its head"},
        {inbox, promise, "wrong_count", ": 3 rows, but its head counts 3"},
        {inbox, repeat, "wrong_index", ": inbox 3 is in a list where it"},
        {inbox, swap_two, "wrong_index", ": inbox 3 is in a list where it"}};

    check_damages(damages, PDR_COUNT(damages));
}

/* A row that stands in front of the number that was asked for. */
static void ask_later(struct pdr__page *page)
{
    static pdr_query query;

    query = *page->query;
    query.from = query.backwards ? 3 : 2;
    page->query = &query;
}

TEST(page_finish, sees_rows_in_front_of_the_first_number)
{
    const pdr_query inbox = {.what = PDR_READ_INBOX, .from = 1};
    const pdr_query down = {
        .what = PDR_READ_INBOX, .from = 4, .backwards = true};
    const pdr_query odd = {
        .what = PDR_READ_ENTRIES, .key = T("odd"), .from = 1};
    struct damage damages[] = {
        {inbox, ask_later, "wrong_index", ": inbox 1 is in a list where it"},
        {down, ask_later, "wrong_index", ": inbox 4 is in a list where it"},
        {odd, ask_later, "wrong_index", ": entry 1 is in a list where it"}};

    check_damages(damages, PDR_COUNT(damages));
}

/* The page was made for a later time than it is checked for. */
static void ask_earlier(struct pdr__page *page)
{
    static pdr_query query;

    query = *page->query;
    query.now_ms = 99;
    page->query = &query;
}

TEST(page_finish, sees_what_is_not_due)
{
    const pdr_query due = {.what = PDR_READ_DUE, .now_ms = 300};
    struct damage damages[] = {
        {due, bend_due, "bad_digest", ": inbox 1 does not fit its digest"},
        {due, ask_earlier, "wrong_index", ": inbox 1 is in a list where it"}};

    check_damages(damages, PDR_COUNT(damages));
}

/* --- keys ------------------------------------------------------------------
 */

static void bend_value(struct pdr__page *page)
{
    ((pdr_slot *)page->rows)[1].value = T("9");
}

static void bend_match(struct pdr__page *page)
{
    ((pdr_property *)page->rows)[0].match = T("blue");
}

static void bend_outcome(struct pdr__page *page)
{
    ((pdr_completion *)page->rows)[0].outcome = T("[]");
}

/* Another row than the one that was asked for, and whole in itself. */
static void give_first(struct pdr__page *page)
{
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_store plain;
    pdr_slot *slot = page->rows;

    memset(&plain, 0, sizeof(plain));
    slot->key = T("a");
    slot->value = T("1");
    ASSERT_RC(PDR_OK, pdr__seal_slot(slot->digest, &seal, &plain,
                                     &page->page.head.ref, slot, NULL));
    pdr__seal_dispose(&seal);
}

TEST(page_finish, sees_rows_with_keys_that_are_not_what_was_committed)
{
    const pdr_query slots = {.what = PDR_READ_SLOTS};
    const pdr_query slot = {.what = PDR_READ_SLOTS, .key = T("b")};
    const pdr_query properties = {.what = PDR_READ_PROPERTIES};
    const pdr_query done = {.what = PDR_READ_COMPLETIONS};
    struct damage damages[] = {
        {slots, bend_value, "bad_digest", ": bag slot 'b' does not fit its"},
        {slots, drop_first, "wrong_count", ": 2 rows, but its head counts 3"},
        {slots, drop_last, "wrong_count", ": 2 rows, but its head counts 3"},
        {slots, promise, "wrong_count", ": 3 rows, but its head counts 3"},
        {slots, swap_two, "wrong_index", ": bag slot 'b' is in a list where"},
        {slots, repeat, "wrong_index", ": bag slot 'b' is in a list where"},
        {slot, give_first, "wrong_index", ": bag slot 'a' is in a list where"},
        {properties, bend_match, "bad_digest", ": property 'color' does not"},
        {properties, drop_all, "wrong_count", ": 0 rows, but its head counts"},
        {properties, repeat, "wrong_index", ": property 'size' is in a list"},
        {done, bend_outcome, "bad_digest", ": completion 'done' does not fit"},
        {done, drop_third, "wrong_count", ": 2 rows, but its head counts 3"}};

    check_damages(damages, PDR_COUNT(damages));
}

/* On the second page: rows that stood on the first one. */
TEST(page_finish, sees_rows_of_the_page_before)
{
    pdr_store *store = filled();
    pdr_query query = trick_query(PDR_READ_SLOTS);
    struct damage damage = {query, give_first, "wrong_index",
                            ": bag slot 'a' is in a list where"};

    query.limit = 1;
    pdr_page *page = read_page(store, &query);
    damage.query.limit = 1;
    damage.query.after = page->next;
    check_damage(store, &damage, 0);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* Who writes between two pages changes the count; nobody can tell then. */
TEST(page_finish, compares_counts_only_when_nobody_wrote_between_the_pages)
{
    pdr_store *store = filled();
    pdr_slot added = {.key = T("aa"), .value = T("1")};
    pdr_edit edit = {
        .ref = trick_ref(), .revision = 2, .slots = &added, .slot_count = 1};
    pdr_commit_options options = {.now_ms = 1};
    pdr_query query = trick_query(PDR_READ_SLOTS);
    struct damage damage = {query, drop_last, "wrong_count",
                            ": 2 rows, but its head counts 3"};

    query.limit = 1;
    pdr_page *page = read_page(store, &query);
    damage.query.after = page->next;
    check_damage(store, &damage, 0);
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    query.after = page->next;
    query.limit = 0;
    trick_on_read(do_damage, &damage);
    pdr_page *rest = read_page(store, &query);
    ASSERT_SIZE(2, rest->count);
    pdr_page_free(rest);
    pdr_page_free(page);
    pdr_store_close(store);
}

static void make_slots(pdr_store *store, size_t first, size_t count)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e"};
    pdr_slot slots[5];
    pdr_edit edit = {
        .ref.id = T("t"), .slots = slots + first, .slot_count = count};
    pdr_commit_options options = {.now_ms = 1};

    for (size_t i = 0; i < PDR_COUNT(slots); i++)
        slots[i] = (pdr_slot){.key = T(keys[i]), .value = T("1")};
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* As many commits as before, and still another session. */
TEST(page_finish, compares_no_counts_with_a_session_that_was_made_again)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit remove = {.ref.id = T("t"), .revision = 1, .remove = true};
    pdr_commit_options options = {.now_ms = 1};
    pdr_query query = {.what = PDR_READ_SLOTS, .ref.id = T("t"), .limit = 2};

    make_slots(store, 0, 3);
    pdr_page *page = read_page(store, &query);
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, store, &remove, 1, &options, NULL));
    make_slots(store, 2, 3);
    query.after = page->next;
    query.limit = 5;
    pdr_page *rest = read_page(store, &query);
    ASSERT_SIZE(3, rest->count);
    pdr_page_free(rest);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* The cursor knows that the list began in the middle, who asks need not. */
TEST(page_finish, compares_no_counts_of_a_list_that_began_in_the_middle)
{
    pdr_store *store = filled();
    pdr_query query = trick_query(PDR_READ_INBOX);

    query.from = 2;
    query.limit = 1;
    pdr_page *page = read_page(store, &query);
    ASSERT_SIZE(3, page->work[0].n);
    query.from = 0;
    query.after = page->next;
    pdr_page *rest = read_page(store, &query);
    ASSERT_SIZE(1, rest->count);
    ASSERT_SIZE(4, rest->work[0].n);
    ASSERT(rest->next.ptr == NULL);
    pdr_page_free(rest);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* --- head and frame --------------------------------------------------------
 */

static void bend_head(struct pdr__page *page)
{
    page->page.head.revision++;
}

static void other_head(struct pdr__page *page)
{
    page->page.head.ref.id = T("s2");
    seal(&page->page.head);
}

static void other_tenant(struct pdr__page *page)
{
    page->page.head.ref.tenant = T("acme");
    seal(&page->page.head);
}

static void lose_frame(struct pdr__page *page)
{
    page->page.frame = NONE;
}

static void bend_frame(struct pdr__page *page)
{
    page->page.frame = T("{ }");
}

static void bend_frame_digest(struct pdr__page *page)
{
    page->frame[0] ^= 1;
}

TEST(page_finish, sees_a_head_or_frame_that_is_not_what_was_committed)
{
    struct damage damages[] = {{{.what = PDR_READ_HEAD},
                                bend_head,
                                "bad_digest",
                                ": its head does not fit its digest"},
                               {{.what = PDR_READ_SLOTS},
                                bend_head,
                                "bad_digest",
                                ": its head does not fit its digest"},
                               {{.what = PDR_READ_HEAD},
                                other_head,
                                "wrong_index",
                                ": the store gave another one"},
                               {{.what = PDR_READ_ENTRIES},
                                other_tenant,
                                "wrong_index",
                                ": the store gave another one"},
                               {{.what = PDR_READ_FRAME},
                                lose_frame,
                                "wrong_count",
                                ": its frame is not there"},
                               {{.what = PDR_READ_FRAME},
                                bend_frame,
                                "bad_digest",
                                ": its frame does not fit its digest"},
                               {{.what = PDR_READ_FRAME},
                                bend_frame_digest,
                                "bad_digest",
                                ": its frame does not fit its digest"}};

    check_damages(damages, PDR_COUNT(damages));
}

/* --- lists of sessions ------------------------------------------------------
 */

static pdr_head *session_at(struct pdr__page *page, size_t i)
{
    return (pdr_head *)page->rows + i;
}

static void bend_session_head(struct pdr__page *page)
{
    session_at(page, 0)->revision++;
}

static void bend_session_tenant(struct pdr__page *page)
{
    session_at(page, 0)->ref.tenant = T("acme");
    seal(session_at(page, 0));
}

static void bend_session_agent(struct pdr__page *page)
{
    session_at(page, 0)->agent = T("reader");
    seal(session_at(page, 0));
}

static void lose_session_agent(struct pdr__page *page)
{
    session_at(page, 0)->agent = NONE;
    seal(session_at(page, 0));
}

static void bend_session_state(struct pdr__page *page)
{
    session_at(page, 0)->state = PDR_SESSION_EXPIRED;
    seal(session_at(page, 0));
}

static void bend_session_changed(struct pdr__page *page)
{
    session_at(page, 0)->changed_ms++;
    seal(session_at(page, 0));
}

static void bend_session_changed_down(struct pdr__page *page)
{
    session_at(page, 0)->changed_ms -= 2;
    seal(session_at(page, 0));
}

static void bend_session_expiry(struct pdr__page *page)
{
    session_at(page, 0)->expiry_ms = PDR_NEVER;
    seal(session_at(page, 0));
}

TEST(page_finish, sees_sessions_that_do_not_belong_into_a_list)
{
    static const char belongs[] = " is in a list where it does not belong";
    const pdr_query all = {.what = PDR_READ_SESSIONS};
    const pdr_query agent = {.what = PDR_READ_SESSIONS,
                             .filter.agent = T("writer")};
    const pdr_query state = {.what = PDR_READ_SESSIONS,
                             .filter.by_state = true};
    const pdr_query times = {.what = PDR_READ_SESSIONS,
                             .filter.changed_from_ms = TRICK_NOW_MS - 1,
                             .filter.changed_to_ms = TRICK_NOW_MS + 1};
    struct damage damages[] = {
        {all, bend_session_head, "bad_digest", ": its head does not fit its"},
        {all, bend_session_tenant, "wrong_index", belongs},
        {agent, bend_session_agent, "wrong_index", belongs},
        {agent, lose_session_agent, "wrong_index", belongs},
        {state, bend_session_state, "wrong_index", belongs},
        {times, bend_session_changed, "wrong_index", belongs},
        {times, bend_session_changed_down, "wrong_index", belongs}};

    check_damages(damages, PDR_COUNT(damages));
}

/* Lists of "s1" and what fill_sessions() makes. */
TEST(page_finish, sees_lists_that_are_out_of_order)
{
    struct {
        pdr_query query;
        damage_fn fn;
    } cases[] = {
        {{.what = PDR_READ_SESSIONS}, swap_two},
        {{.what = PDR_READ_SESSIONS}, repeat},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.property = T("color"), .match = T("red")}},
         swap_two},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.property = T("color"), .match = T("red")}},
         repeat},
        {{.what = PDR_READ_EXPIRED, .now_ms = 100}, swap_two},
        {{.what = PDR_READ_EXPIRED, .now_ms = PDR_NEVER}, bend_session_expiry},
        {{.what = PDR_READ_ALL}, swap_two},
        {{.what = PDR_READ_ALL}, repeat},
        {{.what = PDR_READ_DUE, .now_ms = 1000}, swap_first}};
    pdr_store *store = filled();

    fill_sessions(store);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct damage damage = {.fn = cases[i].fn};
        pdr_page *page = NULL;
        pdr_err err = PDR_ERR_INIT;

        trick_on_read(do_damage, &damage);
        if (pdr_store_read(&page, store, &cases[i].query, &err) == PDR_OK)
            fail_msg("damage %zu was not seen", i);
        ASSERT_STR("wrong_index", err.reason);
        ASSERT(strstr(err.message, " is in a list where it does not belong"));
    }
    pdr_store_close(store);
}

/* --- not there --------------------------------------------------------------
 */

TEST(page_finish, says_what_is_not_there)
{
    static const struct {
        pdr_query query;
        const char *reason, *message;
    } cases[] = {
        {{.what = PDR_READ_HEAD, .ref.id = {"s9", 2}},
         "no_session",
         "session 's9' is not in the store"},
        {{.what = PDR_READ_ENTRIES, .ref.id = {"s9", 2}},
         "no_session",
         "session 's9' is not in the store"},
        {{.what = PDR_READ_SLOTS, .ref.id = {"s1", 2}, .key = {"zz", 2}},
         "no_slot",
         "session 's1' has no bag slot 'zz'"},
        {{.what = PDR_READ_PROPERTIES, .ref.id = {"s1", 2}, .key = {"zz", 2}},
         "no_property",
         "session 's1' has no property 'zz'"},
        {{.what = PDR_READ_COMPLETIONS, .ref.id = {"s1", 2}, .key = {"zz", 2}},
         "no_completion",
         "session 's1' has no correlation id 'zz'"},
        {{.what = PDR_READ_ENTRIES, .ref.id = {"s1", 2}, .key = {"done", 4}},
         "no_completion",
         "session 's1' has no entry of correlation id 'done'"},
        {{.what = PDR_READ_FRAME, .ref.id = {"bare", 4}},
         "no_frame",
         "session 'bare' has no frame"}};
    pdr_store *store = filled();
    pdr_edit bare = {.ref.id = T("bare")};
    pdr_commit_options options = {.now_ms = 1};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &bare, 1, &options, NULL));
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_page *page = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_ENOTFOUND,
                  pdr_store_read(&page, store, &cases[i].query, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_STR(cases[i].message, err.message);
        ASSERT(page == NULL);
    }
    pdr_store_close(store);
}

TEST(page, is_empty_where_a_session_has_nothing)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit bare = {.ref.id = T("bare")};
    pdr_commit_options options = {.now_ms = 1};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &bare, 1, &options, NULL));
    for (pdr_read_what what = PDR_READ_ENTRIES; what <= PDR_READ_INBOX;
         what++) {
        pdr_query query = {.what = what, .ref.id = T("bare")};

        if (what == PDR_READ_FRAME)
            continue;
        assert_pages("|", store, &query);
        query.backwards = what == PDR_READ_ENTRIES || what > PDR_READ_FRAME;
        assert_pages("|", store, &query);
    }
    pdr_store_close(store);
}

/* --- digests fail -----------------------------------------------------------
 */

TEST(page_finish, passes_on_that_a_digest_fails_at_any_step)
{
    pdr_store *store = filled();

    for (pdr_read_what what = PDR_READ_HEAD; what <= PDR_READ_ALL; what++) {
        pdr_query query = {.what = what, .now_ms = 1000};
        size_t failures = 0;
        bool failed = true;

        if (what < PDR_READ_SESSIONS)
            query.ref = trick_ref();
        for (; failed; failures++) {
            pdr_page *page = NULL;

            trick_digest_fail(failures + 1);
            pdr_rc rc = pdr_store_read(&page, store, &query, NULL);
            failed = trick_digest_failed();
            trick_digest_fail(0);
            ASSERT_RC(failed ? PDR_EIO : PDR_OK, rc);
            ASSERT((page == NULL) == failed);
            pdr_page_free(page);
        }
        ASSERT(failures > 3 || what == PDR_READ_EXPIRED); /* none is */
    }
    pdr_store_close(store);
}
