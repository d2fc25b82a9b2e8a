/* Lists of sessions, of what is due and of what has expired. */
#include "suite.h"

/* --- helpers -------------------------------------------------------------- */

struct names {
    char text[4000];
    size_t len;
};

static void add_name(struct names *names, const pdr_ref *ref, uint64_t n)
{
    bool other = !pdr_str_equal(ref->tenant, S("default"));

    names->len += (size_t)snprintf(
        names->text + names->len, sizeof(names->text) - names->len,
        "%s%.*s%s%.*s", names->len > 0 ? " " : "",
        other ? (int)ref->tenant.len : 0, ref->tenant.ptr, other ? "/" : "",
        (int)ref->id.len, ref->id.ptr);
    if (n > 0)
        names->len +=
            (size_t)snprintf(names->text + names->len,
                             sizeof(names->text) - names->len, "#%d", (int)n);
}

static void add_names(void *arg, const pdr_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (page->sessions != NULL)
            add_name(arg, &page->sessions[i].ref, 0);
        else
            add_name(arg, &page->work[i].session, page->work[i].n);
    }
}

/* The list, which must be the same with pages of any size. */
static void must_list(const char *expected, pdr_store *store,
                      const pdr_query *query)
{
    for (size_t limit = 1; limit < 9; limit++) {
        struct names names = {{0}, 0};
        (void)read_all(store, query, limit, add_names, &names);
        ASSERT_STR(expected, names.text);
    }
}

struct made {
    const char *id;
    const char *tenant;
    const char *agent;
    int64_t changed_ms;
    pdr_session_state state;
    int64_t expiry_ms; /* 0: none */
};

static void make(pdr_store *store, const struct made *made)
{
    const pdr_edit edit = {
        .ref = {pdr_str_c(made->tenant), pdr_str_c(made->id)},
        .agent = pdr_str_c(made->agent),
        .set_state = true,
        .state = made->state,
        .expiry = made->expiry_ms != 0 ? PDR_EXPIRY_SET : PDR_EXPIRY_KEEP,
        .expiry_ms = made->expiry_ms};

    (void)must_commit_at(store, &edit, made->changed_ms);
}

static const struct made some[] = {
    {"a", NULL, "guide", 50, PDR_SESSION_IDLE, 300},
    {"b", NULL, "guide", 10, PDR_SESSION_RUNNING, 0},
    {"c", NULL, NULL, 30, PDR_SESSION_WAITING, 100},
    {"d", NULL, "other", 30, PDR_SESSION_EXPIRED, 100},
    {"e", NULL, "guide", 30, PDR_SESSION_RUNNING, 200},
    {"f", NULL, "Guide", 20, PDR_SESSION_IDLE, 0},
    {"a", "north", "guide", 40, PDR_SESSION_RUNNING, 100},
    {"z", "north", NULL, 60, PDR_SESSION_IDLE, 50}};

static pdr_store *open_with_some(void)
{
    pdr_store *store = suite_open();

    for (size_t i = 0; i < COUNT(some); i++)
        make(store, &some[i]);
    return store;
}

/* --- sessions ------------------------------------------------------------- */

TEST(list, has_the_last_changed_first_and_then_the_last_id)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS};

    must_list("a e d c f b", store, &query);
    query.ref.tenant = S("north");
    must_list("north/z north/a", store, &query);
    query.ref.tenant = S("south");
    must_list("", store, &query);
    suite_close(store);
}

TEST(list, filters_by_agent)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS};

    query.filter.agent = S("guide");
    must_list("a e b", store, &query);
    query.filter.agent = S("Guide");
    must_list("f", store, &query);
    query.filter.agent = S("nobody");
    must_list("", store, &query);
    suite_close(store);
}

TEST(list, finds_a_durable_session_by_the_agent_in_its_id)
{
    static const struct made durable[] = {
        {"@dafx-desk@7", NULL, NULL, 70, PDR_SESSION_IDLE, 0},
        {"@dafx-desk@a@b", NULL, NULL, 71, PDR_SESSION_IDLE, 0},
        {"@dafx-Desk@7", NULL, NULL, 72, PDR_SESSION_IDLE, 0},
        {"@dafx-desk@8", NULL, "guide", 73, PDR_SESSION_IDLE, 0},
        {"desk", NULL, NULL, 74, PDR_SESSION_IDLE, 0}};
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS};

    for (size_t i = 0; i < COUNT(durable); i++)
        make(store, &durable[i]);
    query.filter.agent = S("desk");
    must_list("@dafx-desk@a@b @dafx-desk@7", store, &query);
    query.filter.agent = S("guide"); /* as given */
    must_list("@dafx-desk@8 a e b", store, &query);
    suite_close(store);
}

TEST(list, filters_by_state)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS, .filter = {.by_state = true}};
    static const char *const lists[] = {"a f", "e b", "c", "d"};

    for (int state = 0; state < 4; state++) {
        query.filter.state = (pdr_session_state)state;
        must_list(lists[state], store, &query);
    }
    suite_close(store);
}

static void must_count(const char *wanted, pdr_store *store, const char *tenant)
{
    pdr_store_counts c;
    char seen[100];

    ASSERT_RC(PDR_OK, pdr_store_count(&c, store, pdr_str_c(tenant), NULL));
    snprintf(seen, sizeof(seen), "%d %d %d %d", (int)c.by_state[0],
             (int)c.by_state[1], (int)c.by_state[2], (int)c.by_state[3]);
    ASSERT_STR(wanted, seen);
}

TEST(count, is_of_the_sessions_of_a_tenant_by_their_states)
{
    pdr_store *store = open_with_some();
    const pdr_commit_options now = {.now_ms = NOW};
    pdr_edit edit = EDIT("a", 0);

    must_count("2 2 1 1", store, NULL);
    must_count("2 2 1 1", store, PDR_DEFAULT_TENANT);
    must_count("1 1 0 0", store, "north");
    must_count("0 0 0 0", store, "nobody");
    /* Names between which others would sort. */
    static const char *const others[] = {"defaul", "default2", "a", "z"};
    for (size_t i = 0; i < COUNT(others); i++) {
        edit.ref.tenant = pdr_str_c(others[i]);
        ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
        must_count("1 0 0 0", store, others[i]);
    }
    must_count("2 2 1 1", store, NULL);
    edit = (pdr_edit)EDIT("a", 1);
    edit.remove = true;
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
    must_count("1 2 1 1", store, NULL);
    suite_close(store);
}

TEST(list, filters_by_time_of_change)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS};

    query.filter.changed_from_ms = 20;
    query.filter.changed_to_ms = 50; /* not included */
    must_list("e d c f", store, &query);
    query.filter.changed_from_ms = 31;
    must_list("", store, &query);
    query.filter.changed_from_ms = -1;
    query.filter.changed_to_ms = 21;
    must_list("f b", store, &query);
    suite_close(store);
}

TEST(list, filters_by_all_that_is_set)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS,
                       .filter = {.agent = S("guide"),
                                  .by_state = true,
                                  .state = PDR_SESSION_RUNNING}};

    must_list("e b", store, &query);
    query.filter.changed_from_ms = 20;
    query.filter.changed_to_ms = 40;
    must_list("e", store, &query);
    query.ref.tenant = S("north");
    query.filter.changed_to_ms = 41;
    must_list("north/a", store, &query);
    suite_close(store);
}

TEST(list, moves_a_session_to_the_front_when_it_changes)
{
    pdr_store *store = open_with_some();
    const pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_edit edit = EDIT("b", 1);
    const pdr_work inbox[] = {{.kind = S("run"), .due_ms = 1, .body = S("1")}};

    edit.set_state = true;
    (void)must_commit_at(store, &edit, 70);
    must_list("b a e d c f", store, &query);
    edit = (pdr_edit)EDIT("c", PDR_ANY_REVISION); /* this is no change */
    edit.inbox = inbox;
    edit.inbox_count = 1;
    (void)must_commit_at(store, &edit, 80);
    must_list("b a e d c f", store, &query);
    edit = (pdr_edit)EDIT("a", 1);
    edit.remove = true;
    (void)must_commit_at(store, &edit, 90);
    must_list("b e d c f", store, &query);
    suite_close(store);
}

TEST(list, goes_on_at_its_place_while_sessions_change)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 2};
    pdr_edit moved = EDIT("d", 1), removed = EDIT("e", 1);
    struct names names = {{0}, 0};

    pdr_page *page = must_read(store, &query);
    add_names(&names, page); /* a e */
    moved.set_state = true;
    (void)must_commit_at(store, &moved, 99); /* in front of the place */
    removed.remove = true;
    (void)must_commit_at(store, &removed, 99); /* the place itself */
    make(store, &(struct made){.id = "new", .changed_ms = 25});
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    add_names(&names, next);
    pdr_page_free(page);
    query.after = next->next;
    page = must_read(store, &query);
    add_names(&names, page);
    ASSERT_STR("a e c new f b", names.text);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(list, refuses_the_cursor_of_another_list)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 2};
    pdr_page *page = must_read(store, &query);

    query.after = page->next;
    query.filter.agent = S("guide");
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.filter.agent = pdr_str_n(NULL, 0);
    query.ref.tenant = S("north");
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.ref.tenant = pdr_str_n(NULL, 0);
    query.what = PDR_READ_ALL;
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    pdr_page_free(page);
    suite_close(store);
}

TEST(list, of_all_tenants_is_in_the_order_of_bytes)
{
    pdr_store *store = open_with_some();
    const pdr_query query = {.what = PDR_READ_ALL};

    make(store, &(struct made){.id = "A", .tenant = "ab", .changed_ms = 1});
    make(store, &(struct made){.id = "bA", .tenant = "a", .changed_ms = 1});
    must_list("a/bA ab/A a b c d e f north/a north/z", store, &query);
    suite_close(store);
}

TEST(list, by_property_is_in_the_order_of_ids)
{
    pdr_store *store = open_with_some();
    static const char *const ids[] = {"e", "a", "d", "f"};
    const pdr_property topic[] = {
        {.key = S("topic"), .value = S("\"x\""), .match = S("x")},
        {.key = S("kind"), .value = S("\"x\""), .match = S("y")}};
    pdr_query query = {.what = PDR_READ_SESSIONS,
                       .filter = {.property = S("topic"), .match = S("x")}};

    must_list("", store, &query);
    for (size_t i = 0; i < COUNT(ids); i++) {
        const pdr_edit edit = {.ref = {.id = pdr_str_c(ids[i])},
                               .revision = 1,
                               .properties = topic,
                               .property_count = 2};
        (void)must_commit_at(store, &edit, 100 + (int64_t)i);
    }
    must_list("a d e f", store, &query);
    query.filter.agent = S("guide");
    must_list("a e", store, &query);
    query.filter.agent = pdr_str_n(NULL, 0);
    query.filter.match = S("X");
    must_list("", store, &query);
    query.filter.match = S("y");
    must_list("", store, &query);
    query.filter.property = S("kind");
    must_list("a d e f", store, &query);
    query.ref.tenant = S("north");
    must_list("", store, &query);
    suite_close(store);
}

/* Characters that are special elsewhere, and such as end in the highest byte
 * that texts have in its place. */
static const char *const odd_ids[] = {"pa",
                                      "p",
                                      "p%",
                                      "p%1",
                                      "p_",
                                      "px1",
                                      "P",
                                      "q",
                                      "p\xc3\xbf",
                                      "p\xc3\xbfz",
                                      "pz",
                                      "p\xc4\x80",
                                      "\xf4\x8f\xbf\xbf",
                                      "\xf4\x8f\xbf\xbfz",
                                      "o",
                                      "p 1",
                                      "p\xf0\x9f\x8d\x85"};

TEST(list, by_prefix_is_in_the_order_of_ids)
{
    static const struct {
        const char *prefix, *expected;
    } cases[] = {
        {"p", "p p 1 p% p%1 p_ pa px1 pz p\xc3\xbf p\xc3\xbfz p\xc4\x80 "
              "p\xf0\x9f\x8d\x85"},
        {"p%", "p% p%1"},
        {"p_", "p_"},
        {"p ", "p 1"},
        {"P", "P"},
        {"p\xc3\xbf", "p\xc3\xbf p\xc3\xbfz"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf \xf4\x8f\xbf\xbfz"},
        {"px1", "px1"},
        {"px12", ""},
        {"", "P o p p 1 p% p%1 p_ pa px1 pz p\xc3\xbf p\xc3\xbfz p\xc4\x80 "
             "p\xf0\x9f\x8d\x85 q \xf4\x8f\xbf\xbf \xf4\x8f\xbf\xbfz"}};
    pdr_store *store = suite_open();
    pdr_query query = {.what = PDR_READ_SESSIONS};

    for (size_t i = 0; i < COUNT(odd_ids); i++)
        make(store, &(struct made){.id = odd_ids[i], .changed_ms = (int)i});
    make(store, &(struct made){.id = "pa", .tenant = "p", .changed_ms = 1});
    for (size_t i = 0; i < COUNT(cases); i++) {
        query.filter.id_prefix = pdr_str_c(cases[i].prefix);
        must_list(cases[i].expected, store, &query);
    }
    suite_close(store);
}

TEST(list, by_prefix_takes_the_other_filters)
{
    pdr_store *store = open_with_some();
    const pdr_property topic[] = {
        {.key = S("topic"), .value = S("\"x\""), .match = S("x")}};
    pdr_query query = {.what = PDR_READ_SESSIONS};

    for (size_t i = 0; i < 4; i++) {
        char id[3] = {'b', (char)('4' - i), '\0'};
        pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                         .agent = i % 2 == 0 ? S("guide") : S("other"),
                         .properties = topic,
                         .property_count = 1};

        edit.set_state = true;
        edit.state = i < 3 ? PDR_SESSION_RUNNING : PDR_SESSION_IDLE;
        (void)must_commit_at(store, &edit, 60 + (int64_t)i);
    }
    query.filter.id_prefix = S("b");
    must_list("b b1 b2 b3 b4", store, &query);
    query.filter.agent = S("guide");
    must_list("b b2 b4", store, &query);
    query.filter.by_state = true;
    query.filter.state = PDR_SESSION_RUNNING;
    query.filter.changed_from_ms = 20;
    query.filter.changed_to_ms = 62;
    must_list("b4", store, &query);
    query.filter = (pdr_filter){
        .property = S("topic"), .match = S("x"), .id_prefix = S("b")};
    must_list("b1 b2 b3 b4", store, &query);
    query.filter.id_prefix = S("b3");
    must_list("b3", store, &query);
    query.filter.id_prefix = S("c");
    must_list("", store, &query);
    suite_close(store);
}

TEST(list, by_prefix_goes_on_where_its_last_session_was)
{
    pdr_store *store = suite_open();
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 2};
    pdr_edit removed = EDIT("ab", 1);
    struct names names = {{0}, 0};

    for (int i = 0; i < 5; i++) {
        char id[3] = {'a', (char)('a' + i), '\0'};

        make(store, &(struct made){.id = id, .changed_ms = i});
    }
    query.filter.id_prefix = S("a");
    pdr_page *page = must_read(store, &query);
    add_names(&names, page);
    removed.remove = true;
    (void)must_commit(store, &removed); /* the place itself */
    make(store, &(struct made){.id = "abc", .changed_ms = 9});
    query.after = page->next;
    pdr_page *next = must_read(store, &query);
    add_names(&names, next);
    ASSERT_STR("aa ab abc ac", names.text);
    query.filter.id_prefix = S("aa");
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    query.filter.id_prefix = pdr_str_n(NULL, 0);
    must_not_read(PDR_EINVALID, "bad_cursor", store, &query);
    pdr_page_free(page);
    pdr_page_free(next);
    suite_close(store);
}

TEST(list, refuses_a_prefix_that_no_id_can_have)
{
    static char longest[1024 + 1]; /* than an id */
    const pdr_str bad[] = {S("a\xff"), S("\xc3"), S("a\0"),
                           pdr_str_n(longest, sizeof(longest))};
    pdr_store *store = suite_open();
    pdr_query query = {.what = PDR_READ_SESSIONS};

    memset(longest, 'x', sizeof(longest));
    for (size_t i = 0; i < COUNT(bad); i++) {
        query.filter.id_prefix = bad[i];
        must_not_read(PDR_EINVALID, "bad_query", store, &query);
    }
    query.filter.id_prefix = pdr_str_n(longest, sizeof(longest) - 1);
    must_list("", store, &query);
    query.what = PDR_READ_ALL;
    must_not_read(PDR_EINVALID, "bad_query", store, &query);
    suite_close(store);
}

TEST(list, by_property_is_not_moved_by_a_turn)
{
    pdr_store *store = suite_open();
    const pdr_property topic[] = {
        {.key = S("topic"), .value = S("\"x\""), .match = S("x")}};
    const pdr_query query = {
        .what = PDR_READ_SESSIONS,
        .filter = {.property = S("topic"), .match = S("x")}};

    for (int i = 0; i < 3; i++) {
        char id[2] = {(char)('c' - i), '\0'};
        const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                               .properties = topic,
                               .property_count = 1};
        (void)must_commit(store, &edit);
    }
    must_list("a b c", store, &query);
    (void)must_append(store, "b", 1, 0, 2);
    must_list("a b c", store, &query);

    const pdr_property others[] = {
        {.key = S("topic"), .value = S("\"z\""), .match = S("z")},
        {.key = S("topic"), .value = S("\"x\"")}, /* no list finds it */
        {.key = S("topic")}};
    const char *const left[] = {"b c", "c", ""};
    for (size_t i = 0; i < 3; i++) {
        char id[2] = {(char)('a' + (int)i), '\0'};
        const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                               .revision = i == 1 ? 2 : 1,
                               .properties = &others[i],
                               .property_count = 1};
        (void)must_commit(store, &edit);
        must_list(left[i], store, &query);
    }
    suite_close(store);
}

TEST(list, has_heads_as_they_are)
{
    pdr_store *store = open_with_some();
    const pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_page *page = must_read(store, &query);

    for (size_t i = 0; i < page->count; i++) {
        const pdr_query one = {.what = PDR_READ_HEAD,
                               .ref = page->sessions[i].ref};
        pdr_page *alone = must_read(store, &one);
        assert_memory_equal(page->sessions[i].digest, alone->head.digest,
                            PDR_DIGEST_BYTES);
        ASSERT_BYTES(page->sessions[i].agent, alone->head.agent);
        pdr_page_free(alone);
    }
    pdr_page_free(page);
    suite_close(store);
}

/* --- expired -------------------------------------------------------------- */

TEST(expired, sessions_come_in_the_order_of_their_time)
{
    pdr_store *store = open_with_some();
    pdr_query query = {.what = PDR_READ_EXPIRED, .now_ms = 200};

    must_list("north/z c d north/a e", store, &query);
    query.now_ms = 100;
    must_list("north/z c d north/a", store, &query);
    query.now_ms = 99;
    must_list("north/z", store, &query);
    query.now_ms = 49;
    must_list("", store, &query);
    suite_close(store);
}

TEST(expired, follows_the_expiry_that_is_set)
{
    pdr_store *store = open_with_some();
    const pdr_query query = {.what = PDR_READ_EXPIRED, .now_ms = 1000};
    pdr_edit edit = EDIT("c", 1);

    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = 999;
    (void)must_commit(store, &edit);
    must_list("north/z d north/a e a c", store, &query);
    edit.revision = 2;
    edit.expiry = PDR_EXPIRY_CLEAR;
    (void)must_commit(store, &edit);
    must_list("north/z d north/a e a", store, &query);
    ASSERT(head_of(store, "c").expiry_ms == PDR_NEVER);
    suite_close(store);
}

/* --- due ------------------------------------------------------------------ */

static void deliver(pdr_store *store, const char *tenant, const char *id,
                    int64_t due_ms)
{
    const pdr_work row = {.kind = S("run"), .due_ms = due_ms, .body = S("{}")};
    const pdr_edit edit = {.ref = {pdr_str_c(tenant), pdr_str_c(id)},
                           .revision = PDR_ANY_REVISION,
                           .or_create = true,
                           .inbox = &row,
                           .inbox_count = 1};

    (void)must_commit(store, &edit);
}

TEST(due, rows_of_all_sessions_come_in_the_order_of_their_time)
{
    pdr_store *store = suite_open();
    pdr_query query = {.what = PDR_READ_DUE, .now_ms = 30};

    deliver(store, NULL, "b", 20);
    deliver(store, NULL, "b", 10);
    deliver(store, NULL, "a", 20);
    deliver(store, "north", "a", 10);
    deliver(store, NULL, "b", 20);
    deliver(store, NULL, "a", 31);
    deliver(store, NULL, "a", PDR_NEVER);
    must_list("b#2 north/a#1 b#1 b#3 a#1", store, &query);
    query.now_ms = 10;
    must_list("b#2 north/a#1", store, &query);
    query.now_ms = 31;
    must_list("b#2 north/a#1 b#1 b#3 a#1 a#2", store, &query);
    query.now_ms = 9;
    must_list("", store, &query);
    suite_close(store);
}

TEST(due, rows_go_when_they_are_settled)
{
    pdr_store *store = suite_open();
    const pdr_query query = {.what = PDR_READ_DUE, .now_ms = 30};
    const uint64_t settle[] = {1};
    pdr_edit edit = EDIT("a", PDR_ANY_REVISION);

    deliver(store, NULL, "a", 5);
    deliver(store, NULL, "a", 6);
    edit.settle = settle;
    edit.settle_count = 1;
    (void)must_commit(store, &edit);
    must_list("a#2", store, &query);
    edit = (pdr_edit)EDIT("a", 1);
    edit.remove = true;
    (void)must_commit(store, &edit);
    must_list("", store, &query);
    suite_close(store);
}

TEST(due, rows_are_not_skipped_when_the_last_session_of_a_page_goes)
{
    pdr_store *store = suite_open();
    pdr_query query = {.what = PDR_READ_DUE, .now_ms = 30, .limit = 2};
    pdr_edit removal = EDIT("b", 1);
    struct names names = {{0}, 0};

    deliver(store, NULL, "c", 5);
    deliver(store, NULL, "b", 5);
    deliver(store, NULL, "a", 5);
    deliver(store, NULL, "d", 6);
    pdr_page *page = must_read(store, &query);
    add_names(&names, page);
    removal.remove = true;
    (void)must_commit(store, &removal);
    query.after = page->next;
    query.limit = 9;
    pdr_page *next = must_read(store, &query);
    add_names(&names, next);
    ASSERT_STR("c#1 b#1 a#1 d#1", names.text);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

/* --- between two pages ---------------------------------------------------- */

/* A session with a row that is due, and an expiry, at this time. */
static void make_timed(pdr_store *store, const char *id, int64_t ms)
{
    const pdr_work row = {
        .due_ms = ms, .kind = S("operation"), .body = S("{}")};
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)}};

    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = ms;
    edit.inbox = &row;
    edit.inbox_count = 1;
    (void)must_commit(store, &edit);
}

/* Removed, and made again as it was. */
static void make_again(pdr_store *store)
{
    pdr_edit removal = EDIT("c", 1);

    removal.remove = true;
    (void)must_commit(store, &removal);
    make_timed(store, "c", 5);
}

/* Replaced by one that was staged, which keeps the row and the expiry. */
static void replace(pdr_store *store)
{
    struct store_step step = step_of("c", PDR_STAGE_BEGIN, 0, NOW + 1000);

    step.stage.epoch = must_step(store, &step).epoch;
    step.verb = PDR_STAGE_SHOW;
    step.show.revision = head_of(store, "c").revision;
    (void)must_step(store, &step);
}

/* A list of four, of which three have the same time; behind its first page
 * something happens to the session that ended it. */
static void must_go_on(const char *expected, pdr_read_what what,
                       void (*happens)(pdr_store *store))
{
    pdr_store *store = suite_open();
    pdr_query query = {.what = what, .now_ms = 30, .limit = 1};
    struct names names = {{0}, 0};

    make_timed(store, "c", 5);
    make_timed(store, "b", 5);
    make_timed(store, "a", 5);
    make_timed(store, "d", 6);
    pdr_page *page = must_read(store, &query);
    add_names(&names, page);
    happens(store);
    query.after = page->next;
    query.limit = 9;
    pdr_page *next = must_read(store, &query);
    add_names(&names, next);
    ASSERT_STR(expected, names.text);
    pdr_page_free(next);
    pdr_page_free(page);
    suite_close(store);
}

TEST(due, rows_are_not_skipped_when_the_last_session_of_a_page_is_replaced)
{
    must_go_on("c#1 b#1 a#1 c#1 d#1", PDR_READ_DUE, replace);
}

TEST(due, rows_are_not_skipped_when_the_last_session_of_a_page_is_made_again)
{
    must_go_on("c#1 b#1 a#1 c#1 d#1", PDR_READ_DUE, make_again);
}

TEST(expired, sessions_are_not_skipped_when_the_last_of_a_page_is_replaced)
{
    must_go_on("c b a c d", PDR_READ_EXPIRED, replace);
}

TEST(expired, sessions_are_not_skipped_when_the_last_of_a_page_is_made_again)
{
    must_go_on("c b a c d", PDR_READ_EXPIRED, make_again);
}

TEST(due, rows_tell_the_epoch_of_their_session)
{
    pdr_store *store = suite_open();
    pdr_query query = {.what = PDR_READ_DUE, .now_ms = 30};

    make_timed(store, "b", 5);
    make_timed(store, "c", 5);
    make_again(store);
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(2, page->count);
    ASSERT(page->work[0].epoch == head_of(store, "b").epoch);
    ASSERT(page->work[1].epoch == head_of(store, "c").epoch);
    pdr_page_free(page);
    query = (pdr_query){.what = PDR_READ_INBOX, .ref = {.id = S("c")}};
    page = must_read(store, &query);
    ASSERT_SIZE(1, page->count);
    ASSERT(page->work[0].epoch == page->head.epoch);
    pdr_page_free(page);
    suite_close(store);
}
