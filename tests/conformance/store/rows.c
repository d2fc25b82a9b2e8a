/* Slots, properties, the frame, and the three lists of what is in progress. */
#include "suite.h"

/* --- slots ---------------------------------------------------------------- */

static void set_slots(pdr_store *store, uint64_t revision,
                      const pdr_slot *slots, size_t count)
{
    pdr_edit edit = EDIT("s", revision);

    edit.slots = slots;
    edit.slot_count = count;
    (void)must_commit(store, &edit);
}

TEST(slots, are_set_replaced_and_removed)
{
    pdr_store *store = suite_open();
    const pdr_slot set[] = {{.key = S("a"), .value = S("1")},
                            {.key = S("b"), .value = S("2")},
                            {.key = S("c"), .value = S("3")}};
    const pdr_slot change[] = {{.key = S("a")}, /* goes */
                               {.key = S("b"), .value = S("{\"x\":[]}")},
                               {.key = S("d"), .value = S("4")},
                               {.key = S("never")}};
    const pdr_query query = {.what = PDR_READ_SLOTS, .ref = {.id = S("s")}};

    set_slots(store, 0, set, COUNT(set));
    ASSERT_INT(3, head_of(store, "s").slots);
    set_slots(store, 1, change, COUNT(change));
    ASSERT_INT(3, head_of(store, "s").slots);
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(3, page->count);
    ASSERT_TEXT("b", page->slots[0].key);
    ASSERT_TEXT("{\"x\":[]}", page->slots[0].value);
    ASSERT_TEXT("c", page->slots[1].key);
    ASSERT_TEXT("3", page->slots[1].value);
    ASSERT_TEXT("d", page->slots[2].key);
    pdr_page_free(page);
    suite_close(store);
}

TEST(slots, are_found_by_their_key)
{
    pdr_store *store = suite_open();
    const pdr_slot set[] = {{.key = S("a"), .value = S("1")},
                            {.key = S(""), .value = S("2")},
                            {.key = S("\\u0000"), .value = S("3")}};
    pdr_query query = {.what = PDR_READ_SLOTS, .ref = {.id = S("s")}};

    set_slots(store, 0, set, COUNT(set));
    for (size_t i = 0; i < COUNT(set); i++) {
        query.key = set[i].key;
        pdr_page *page = must_read(store, &query);
        ASSERT_SIZE(1, page->count);
        ASSERT_BYTES(set[i].key, page->slots[0].key);
        ASSERT_BYTES(set[i].value, page->slots[0].value);
        ASSERT(page->next.ptr == NULL);
        pdr_page_free(page);
    }
    query.key = S("A");
    must_not_read(PDR_ENOTFOUND, "no_slot", store, &query);
    suite_close(store);
}

TEST(slots, come_in_pages_in_the_order_of_bytes)
{
    pdr_store *store = suite_open();
    pdr_slot set[30];
    char keys[30][8];

    memset(set, 0, sizeof(set));
    for (size_t i = 0; i < COUNT(set); i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%02zu", (i * 7) % 30);
        set[i].key = pdr_str_c(keys[i]);
        set[i].value = S("0");
    }
    set_slots(store, 0, set, COUNT(set));
    pdr_query query = {
        .what = PDR_READ_SLOTS, .ref = {.id = S("s")}, .limit = 13};
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(13, page->count);
    ASSERT_TEXT("k00", page->slots[0].key);
    ASSERT_TEXT("k12", page->slots[12].key);
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    ASSERT_TEXT("k13", next->slots[0].key);
    ASSERT_TEXT("k25", next->slots[12].key);
    pdr_page_free(page);
    pdr_page_free(next);
    query.after = pdr_str_n(NULL, 0);
    for (size_t limit = 1; limit < 32; limit += 3)
        ASSERT_SIZE(30, read_all(store, &query, limit, NULL, NULL));
    suite_close(store);
}

TEST(slots, that_change_between_two_pages_do_not_stop_the_reader)
{
    pdr_store *store = suite_open();
    const pdr_slot set[] = {{.key = S("a"), .value = S("1")},
                            {.key = S("c"), .value = S("1")},
                            {.key = S("e"), .value = S("1")}};
    const pdr_slot change[] = {
        {.key = S("a")}, {.key = S("c")}, {.key = S("d"), .value = S("1")}};
    pdr_query query = {
        .what = PDR_READ_SLOTS, .ref = {.id = S("s")}, .limit = 2};

    set_slots(store, 0, set, COUNT(set));
    pdr_page *page = must_read(store, &query);
    set_slots(store, 1, change, COUNT(change));
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    ASSERT_SIZE(2, next->count); /* behind "c", which is gone */
    ASSERT_TEXT("d", next->slots[0].key);
    ASSERT_TEXT("e", next->slots[1].key);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(slots, are_named_once_in_a_commit)
{
    pdr_store *store = suite_open();
    const pdr_slot twice[] = {{.key = S("a"), .value = S("1")},
                              {.key = S("a"), .value = S("2")}};
    pdr_edit edit = EDIT("s", 0);
    edit.slots = twice;
    edit.slot_count = 2;

    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    suite_close(store);
}

/* --- properties ----------------------------------------------------------- */

TEST(properties, are_set_replaced_and_removed)
{
    pdr_store *store = suite_open();
    const pdr_property set[] = {
        {.key = S("topic"), .value = S("\"x\""), .match = S("x")},
        {.key = S("size"), .value = S("7"), .match = S("7")},
        {.key = S("deep"), .value = S("{\"a\":1}")}};
    const pdr_property change[] = {
        {.key = S("topic"), .value = S("\"y\""), .match = S("")},
        {.key = S("size")},
        {.key = S("never")}};
    pdr_query query = {.what = PDR_READ_PROPERTIES, .ref = {.id = S("s")}};
    pdr_edit edit = EDIT("s", 0);

    edit.properties = set;
    edit.property_count = COUNT(set);
    (void)must_commit(store, &edit);
    ASSERT_INT(3, head_of(store, "s").properties);
    edit.revision = 1;
    edit.properties = change;
    edit.property_count = COUNT(change);
    (void)must_commit(store, &edit);
    ASSERT_INT(2, head_of(store, "s").properties);

    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(2, page->count);
    ASSERT_TEXT("deep", page->properties[0].key);
    ASSERT(page->properties[0].match.ptr == NULL);
    ASSERT_TEXT("topic", page->properties[1].key);
    ASSERT_TEXT("\"y\"", page->properties[1].value);
    ASSERT(page->properties[1].match.ptr != NULL);
    ASSERT_SIZE(0, page->properties[1].match.len);
    pdr_page_free(page);
    query.key = S("topic");
    page = must_read(store, &query);
    ASSERT_SIZE(1, page->count);
    pdr_page_free(page);
    query.key = S("size");
    must_not_read(PDR_ENOTFOUND, "no_property", store, &query);
    suite_close(store);
}

/* --- the frame ------------------------------------------------------------ */

TEST(frame, is_kept_until_another_comes)
{
    pdr_store *store = suite_open();
    const pdr_query query = {.what = PDR_READ_FRAME, .ref = {.id = S("s")}};
    pdr_edit edit = EDIT("s", 1);

    (void)must_create(store, "s");
    must_not_read(PDR_ENOTFOUND, "no_frame", store, &query);
    edit.frame = S("{ \"schemaVersion\" : 1 }");
    (void)must_commit(store, &edit);
    ASSERT(head_of(store, "s").has_frame);
    (void)must_append(store, "s", 2, 0, 1);
    pdr_page *page = must_read(store, &query);
    ASSERT_TEXT("{ \"schemaVersion\" : 1 }", page->frame);
    ASSERT_INT(3, page->head.revision);
    pdr_page_free(page);
    edit.revision = 3;
    edit.frame = S("[]");
    (void)must_commit(store, &edit);
    page = must_read(store, &query);
    ASSERT_TEXT("[]", page->frame);
    pdr_page_free(page);
    suite_close(store);
}

/* What an edit of a session that is there says, and the version that it has
 * afterwards. */
TEST(frame, brings_a_schema_version_along)
{
    static const struct {
        const char *frame, *version; /* or NULL */
        pdr_expiry_verb expiry;
        uint64_t revision;
        const char *then;
    } changes[] = {
        {NULL, "1.1.0", PDR_EXPIRY_KEEP, 1, "1.0.0"}, /* ignored */
        {NULL, "1.1.0", PDR_EXPIRY_CLEAR, 2, "1.0.0"},
        {"{}", NULL, PDR_EXPIRY_KEEP, 3, "1.0.0"},
        {"[]", "1.1.0", PDR_EXPIRY_KEEP, 4, "1.1.0"},
        {"[]", "1.2.0", PDR_EXPIRY_SET, 5, "1.2.0"},
        {NULL, NULL, PDR_EXPIRY_CLEAR, 6, "1.2.0"},
        {"[]", "1.0.0", PDR_EXPIRY_KEEP, 7, "1.0.0"}, /* nobody compares */
    };
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = S("s")}};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 0);
    pdr_page *page = NULL;

    edit.agent = S("guide");
    edit.kind = S("durable");
    edit.schema_version = S("1.0.0");
    (void)must_commit(store, &edit);
    for (size_t i = 0; i < COUNT(changes); i++) {
        char version[8] = ""; /* borrowed for the call alone */

        edit = (pdr_edit)EDIT("s", head_of(store, "s").revision);
        edit.agent = edit.kind = S("other");
        if (changes[i].frame != NULL)
            edit.frame = pdr_str_c(changes[i].frame);
        if (changes[i].version != NULL) {
            snprintf(version, sizeof(version), "%s", changes[i].version);
            edit.schema_version = pdr_str_c(version);
        }
        edit.expiry = changes[i].expiry;
        edit.expiry_ms = NOW + 5;
        ASSERT_INT(changes[i].revision, must_commit(store, &edit).revision);
        memset(version, 'x', sizeof(version));
        if ((suite_backend.capabilities & PDR_CAN_PERSIST) != 0)
            store = suite_reopen(store);
        page = must_read(store, &query);
        ASSERT_TEXT(changes[i].then, page->head.schema_version);
        ASSERT_TEXT("guide", page->head.agent);
        ASSERT_TEXT("durable", page->head.kind);
        pdr_page_free(page);
    }
    suite_close(store); /* verifies it */
}

TEST(frame, brings_no_version_that_is_none)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 1);
    char long_version[129];

    (void)must_create(store, "s");
    memset(long_version, '1', sizeof(long_version));
    edit.frame = S("{}");
    edit.schema_version = S("");
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.schema_version = pdr_str_n(long_version, sizeof(long_version));
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.schema_version = S("1\xff");
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.schema_version = S("2.0.0");
    edit.revision = 2; /* late */
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    edit.revision = PDR_ANY_REVISION;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    suite_close(store);
}

/* --- work ----------------------------------------------------------------- */

static const pdr_work steps[] = {
    {.due_ms = PDR_NEVER,
     .kind = S_INIT("model"),
     .correlation_id = S_INIT("c-1"),
     .body = S_INIT("{\"k\":1}")},
    {.due_ms = PDR_NEVER, .kind = S_INIT("tool"), .body = S_INIT("{\"k\":2}")},
    {.due_ms = PDR_NEVER, .kind = S_INIT("tool"), .body = S_INIT("{\"k\":3}")}};

static pdr_edit add_steps(void)
{
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);

    edit.or_create = true;
    edit.journal = edit.stream = steps;
    edit.journal_count = edit.stream_count = COUNT(steps);
    return edit;
}

/* Numbers of the rows, as in "3 4 5". */
static const char *numbers(pdr_store *store, pdr_read_what what, bool backwards,
                           uint64_t from)
{
    static char text[200];
    const pdr_query query = {.what = what,
                             .ref = {.id = S("s")},
                             .backwards = backwards,
                             .from = from};
    pdr_page *page = must_read(store, &query);
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < page->count; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d",
                                i > 0 ? " " : "", (int)page->work[i].n);
    pdr_page_free(page);
    return text;
}

TEST(work, is_numbered_apart_in_each_list)
{
    pdr_store *store = suite_open();
    pdr_edit edit = add_steps();
    pdr_committed done = must_commit(store, &edit);

    ASSERT_INT(1, done.journal_n);
    ASSERT_INT(1, done.stream_n);
    edit.journal_count = 1;
    done = must_commit(store, &edit);
    ASSERT_INT(4, done.journal_n);
    ASSERT_INT(4, done.stream_n);
    pdr_head head = head_of(store, "s");
    ASSERT_INT(1, head.journal_first);
    ASSERT_INT(5, head.journal_next);
    ASSERT_INT(1, head.stream_first);
    ASSERT_INT(7, head.stream_next);
    ASSERT_STR("1 2 3 4", numbers(store, PDR_READ_JOURNAL, false, 0));
    ASSERT_STR("6 5 4 3 2 1", numbers(store, PDR_READ_STREAM, true, 0));
    ASSERT_STR("5 6", numbers(store, PDR_READ_STREAM, false, 5));
    ASSERT_STR("2 1", numbers(store, PDR_READ_STREAM, true, 2));
    suite_close(store);
}

TEST(work, keeps_all_its_columns)
{
    pdr_store *store = suite_open();
    pdr_edit edit = add_steps();
    const pdr_query query = {.what = PDR_READ_JOURNAL, .ref = edit.ref};

    (void)must_commit(store, &edit);
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(3, page->count);
    ASSERT_TEXT("model", page->work[0].kind);
    ASSERT_TEXT("c-1", page->work[0].correlation_id);
    ASSERT_TEXT("{\"k\":1}", page->work[0].body);
    ASSERT(page->work[0].due_ms == PDR_NEVER);
    ASSERT_TEXT("tool", page->work[1].kind);
    ASSERT(page->work[1].correlation_id.ptr == NULL);
    pdr_page_free(page);
    suite_close(store);
}

TEST(work, has_a_time_only_in_the_inbox)
{
    pdr_store *store = suite_open();
    const pdr_work row = {.due_ms = 5, .kind = S("k"), .body = S("1")};
    pdr_edit edit = EDIT("s", 0);
    edit.journal = edit.stream = edit.inbox = &row;
    edit.journal_count = edit.stream_count = edit.inbox_count = 1;

    (void)must_commit(store, &edit);
    for (int what = PDR_READ_JOURNAL; what <= PDR_READ_INBOX; what++) {
        const pdr_query query = {.what = (pdr_read_what)what, .ref = edit.ref};
        pdr_page *page = must_read(store, &query);
        ASSERT_INT(what == PDR_READ_INBOX ? 5 : PDR_NEVER,
                   page->work[0].due_ms);
        pdr_page_free(page);
    }
    suite_close(store);
}

TEST(work, is_removed_up_to_a_number_before_more_is_added)
{
    pdr_store *store = suite_open();
    pdr_edit edit = add_steps();

    (void)must_commit(store, &edit);
    edit.journal_through = 2;
    edit.stream_through = 3;
    pdr_committed done = must_commit(store, &edit);
    ASSERT_INT(4, done.journal_n); /* numbers are never used again */
    ASSERT_STR("3 4 5 6", numbers(store, PDR_READ_JOURNAL, false, 0));
    ASSERT_STR("4 5 6", numbers(store, PDR_READ_STREAM, false, 0));
    edit.journal_through = edit.stream_through = 6;
    edit.journal_count = edit.stream_count = 0;
    (void)must_commit(store, &edit);
    ASSERT_STR("", numbers(store, PDR_READ_JOURNAL, false, 0));
    ASSERT_STR("", numbers(store, PDR_READ_STREAM, true, 0));
    ASSERT_INT(7, head_of(store, "s").journal_first);
    edit.journal_through = 2; /* gone already */
    edit.stream_through = 0;
    edit.journal_count = 1;
    ASSERT_INT(7, must_commit(store, &edit).journal_n);
    ASSERT_STR("7", numbers(store, PDR_READ_JOURNAL, false, 0));
    suite_close(store);
}

TEST(work, that_is_not_there_yet_cannot_be_removed_in_advance)
{
    pdr_store *store = suite_open();
    pdr_edit edit = add_steps();

    (void)must_commit(store, &edit);
    edit.journal_through = 100;
    ASSERT_INT(4, must_commit(store, &edit).journal_n);
    ASSERT_STR("4 5 6", numbers(store, PDR_READ_JOURNAL, false, 0));
    suite_close(store);
}

TEST(work, comes_in_pages)
{
    pdr_store *store = suite_open();
    pdr_edit edit = add_steps();
    pdr_query query = {.what = PDR_READ_STREAM, .ref = edit.ref};

    for (size_t i = 0; i < 5; i++)
        (void)must_commit(store, &edit);
    for (size_t limit = 1; limit < 17; limit++) {
        query.backwards = !query.backwards;
        ASSERT_SIZE(15, read_all(store, &query, limit, NULL, NULL));
    }
    suite_close(store);
}

/* --- inbox ---------------------------------------------------------------- */

static pdr_edit add_inbox(const pdr_work *rows, size_t count)
{
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);

    edit.or_create = true;
    edit.inbox = rows;
    edit.inbox_count = count;
    return edit;
}

TEST(inbox, is_settled_row_by_row)
{
    pdr_store *store = suite_open();
    const pdr_work rows[] = {{.kind = S("run"), .due_ms = 5, .body = S("1")},
                             {.kind = S("run"), .due_ms = 3, .body = S("2")},
                             {.kind = S("run"), .due_ms = 4, .body = S("3")}};
    const uint64_t settle[] = {3, 1};
    pdr_edit edit = add_inbox(rows, COUNT(rows));

    ASSERT_INT(1, must_commit(store, &edit).inbox_n);
    edit.settle = settle;
    edit.settle_count = 2;
    edit.inbox_count = 1;
    ASSERT_INT(4, must_commit(store, &edit).inbox_n);
    ASSERT_STR("2 4", numbers(store, PDR_READ_INBOX, false, 0));
    ASSERT_STR("4 2", numbers(store, PDR_READ_INBOX, true, 0));
    ASSERT_INT(2, head_of(store, "s").inbox);
    ASSERT_INT(5, head_of(store, "s").inbox_next);
    suite_close(store);
}

TEST(inbox, row_that_is_gone_is_a_conflict)
{
    pdr_store *store = suite_open();
    const pdr_work row[] = {{.kind = S("run"), .due_ms = 5, .body = S("1")}};
    const pdr_entry entry[] = {{.body = S("{}")}};
    const uint64_t settle[] = {1, 2};
    pdr_edit edit = add_inbox(row, 1), turn = EDIT("s", 1);

    (void)must_commit(store, &edit);
    turn.entries = entry;
    turn.entry_count = 1;
    turn.settle = settle;
    turn.settle_count = 2; /* the second is not there */
    must_refuse(PDR_ECONFLICT, "not_in_inbox", store, &turn);
    turn.settle_count = 1;
    (void)must_commit(store, &turn);
    turn.revision = 2; /* who settles it twice does nothing twice */
    must_refuse(PDR_ECONFLICT, "not_in_inbox", store, &turn);
    suite_close(store);
}

TEST(inbox, row_is_not_settled_by_the_commit_that_adds_it)
{
    pdr_store *store = suite_open();
    const pdr_work row[] = {{.kind = S("run"), .due_ms = 5, .body = S("1")}};
    const uint64_t settle[] = {1, 2};
    pdr_edit edit = add_inbox(row, 1);

    edit.settle = settle;
    edit.settle_count = 1;
    must_refuse(PDR_ECONFLICT, "not_in_inbox", store, &edit);
    ASSERT(!is_there(store, "s"));
    edit.settle_count = 0;
    (void)must_commit(store, &edit);
    edit.settle_count = 2; /* the second one would be the new row */
    must_refuse(PDR_ECONFLICT, "not_in_inbox", store, &edit);
    suite_close(store);
}

TEST(inbox, tells_where_it_goes_on_while_rows_are_settled)
{
    pdr_store *store = suite_open();
    const pdr_work row[] = {{.kind = S("run"), .due_ms = 5, .body = S("1")}};
    const uint64_t settle[] = {2, 3};
    pdr_edit edit = add_inbox(row, 1);
    pdr_query query = {.what = PDR_READ_INBOX, .ref = edit.ref, .limit = 2};

    for (size_t i = 0; i < 5; i++)
        (void)must_commit(store, &edit);
    pdr_page *page = must_read(store, &query);
    edit.settle = settle;
    edit.settle_count = 2;
    (void)must_commit(store, &edit);
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    ASSERT_SIZE(2, next->count);
    ASSERT_INT(4, next->work[0].n);
    ASSERT_INT(5, next->work[1].n);
    ASSERT(next->next.ptr != NULL);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(inbox, takes_no_more_rows_than_the_sender_allows)
{
    static const pdr_work rows[4] = {
        {.kind = S_INIT("run"), .due_ms = 5, .body = S_INIT("1")},
        {.kind = S_INIT("run"), .due_ms = 5, .body = S_INIT("2")},
        {.kind = S_INIT("run"), .due_ms = 5, .body = S_INIT("3")},
        {.kind = S_INIT("run"), .due_ms = 5, .body = S_INIT("4")}};
    static const struct {
        size_t add, settle; /* the first that are there */
        uint32_t most;
        uint64_t then; /* rows; 0: refused */
    } sends[] = {
        {3, 0, 2, 0}, /* makes no session */
        {2, 0, 2, 2}, /* just so many */
        {1, 0, 2, 0}, {1, 0, 1, 0}, {4, 0, 5, 0},
        {1, 0, 3, 3}, {1, 1, 3, 3}, /* one goes, one comes */
        {2, 1, 3, 0}, {4, 3, 3, 0}, {3, 3, 3, 3},
        {1, 0, 0, 4}, /* no bound: any number */
        {1, 1, 3, 0}, /* still too many */
        {0, 1, 2, 3}, /* none comes: not refused */
        {0, 0, 2, 3}, {2, 3, 2, 2}, {1, 0, UINT32_MAX, 3},
    };
    pdr_store *store = suite_open();
    uint64_t first = 1, next = 1; /* numbers that are there, without gaps */

    for (size_t i = 0; i < COUNT(sends); i++) {
        uint64_t settle[4] = {first, first + 1, first + 2, first + 3};
        pdr_edit edit = add_inbox(rows, sends[i].add);

        edit.settle = settle;
        edit.settle_count = sends[i].settle;
        edit.inbox_most = sends[i].most;
        if (sends[i].then == 0) {
            must_refuse(PDR_ELIMIT, "inbox_full", store, &edit);
            ASSERT(is_there(store, "s") == (i > 0));
            continue;
        }
        ASSERT_INT(next, must_commit(store, &edit).inbox_n);
        ASSERT_INT(sends[i].then, head_of(store, "s").inbox);
        first += sends[i].settle;
        next += sends[i].add;
    }
    suite_close(store);
}

TEST(inbox, that_is_full_refuses_the_whole_commit_and_no_other)
{
    const pdr_work row = {.kind = S("run"), .due_ms = 5, .body = S("1")};
    const pdr_slot slot = {.key = S("k"), .value = S("1")};
    const uint64_t none = 1;
    pdr_store *store = suite_open();
    pdr_edit send = add_inbox(&row, 1), turn = EDIT("other", 1);
    pdr_edit both[2];
    pdr_request requests[3];

    send.inbox_most = 1;
    (void)must_create(store, "other");
    (void)must_commit(store, &send);
    turn.slots = &slot;
    turn.slot_count = 1;
    both[0] = turn;
    both[1] = send;
    both[1].lease.verb = PDR_LEASE_TAKE; /* gives no number away */
    both[1].lease.owner = S("w");
    must_refuse_all(PDR_ELIMIT, "inbox_full", store, both, 2);

    memset(requests, 0, sizeof(requests)); /* handed over together */
    requests[0].edits = requests[2].edits = &send;
    requests[1].edits = &turn;
    for (size_t i = 0; i < COUNT(requests); i++) {
        requests[i].count = 1;
        requests[i].options.now_ms = NOW;
    }
    pdr_store_commit_all(store, requests, COUNT(requests));
    ASSERT_RC(PDR_ELIMIT, requests[0].rc);
    ASSERT_RC(PDR_OK, requests[1].rc);
    ASSERT_RC(PDR_ELIMIT, requests[2].rc);
    ASSERT_INT(1, head_of(store, "s").inbox);
    ASSERT_INT(2, head_of(store, "other").revision);

    send.settle = &none;
    send.settle_count = 1;
    (void)must_commit(store, &send);
    must_refuse(PDR_ECONFLICT, "not_in_inbox", store, &send); /* it is gone */
    pdr_edit removal = EDIT("s", 1);
    removal.remove = true;
    removal.inbox_most = 1;
    (void)must_commit(store, &removal);
    suite_close(store);
}
