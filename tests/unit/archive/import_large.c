/* Documents that do not fit into one commit, or not into what is looked at
 * first; what takes the place of a session; limits. */
#include <perdure/archive.h>

#include "flow.h"
#include "frame_model.h"
#include "test.h"

#define NOW INT64_C(1800000000000)
#define DAY INT64_C(86400000)

static const char state_head[] =
    "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[";
#define HUNDRED                                          \
    "01234567890123456789012345678901234567890123456789" \
    "01234567890123456789012345678901234567890123456789"
#define THOUSAND                                                            \
    HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED \
        HUNDRED
static const char entry_text[] =
    "{\"$type\":\"note\",\"messages\":[{\"text\":\"" THOUSAND "\"}]},\n";
static const char string_text[] = "\"" THOUSAND "\",";

static pdr_store *new_store(void)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    return store;
}

static pdr_import_opts opts_for(const char *id)
{
    pdr_import_opts opts = {.now_ms = NOW};

    opts.ref.id = pdr_str_c(id);
    return opts;
}

static pdr_rc import_flow(pdr_import_report *out, pdr_store *store,
                          const struct flow_piece *pieces, pdr_err *err)
{
    pdr_import_opts opts = opts_for("s");
    struct flow flow;

    flow_init(&flow, pieces);
    return pdr_import(out, store, &opts, err, flow_read, &flow);
}

static bool is_there(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    pdr_page_free(page);
    return rc == PDR_OK;
}

/* Nothing is there, and nothing waits to be cleared. */
static void assert_empty(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_ALL};
    pdr_store_info info;
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    ASSERT_SIZE(0, page->count);
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_INT(0, info.unseen);
}

static void assert_comes_back(const struct flow_piece *pieces, pdr_store *store)
{
    const pdr_ref ref = {.id = pdr_str_c("s")};
    size_t len = 0;
    char *text = frame_model_document(&len, store, &ref);

    ASSERT(flow_gives(pieces, pdr_str_n(text, len)));
    free(text);
}

static void assert_refused(const char *reason, const char *path,
                           const struct flow_piece *pieces)
{
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    ASSERT(import_flow(NULL, store, pieces, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    assert_empty(store);
    pdr_store_close(store);
}

/* --- in several commits --------------------------------------------------- */

TEST(import, stages_what_is_large)
{
    static const struct flow_piece pieces[] = {
        {state_head, 1}, {entry_text, 13000}, {"{}\n]},\"x\":[ ]}", 1}, {0}};
    pdr_store *store = new_store();
    pdr_import_report report;

    ASSERT_RC(PDR_OK, import_flow(&report, store, pieces, NULL));
    ASSERT_INT(13001, report.entries);
    ASSERT(report.commits >= 4);
    ASSERT_INT(1, report.revision);
    assert_comes_back(pieces, store);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
}

TEST(import, stages_slots_and_properties)
{
    static const struct flow_piece pieces[] = {
        {"{\"additionalProperties\":{\"p\":\"", 1},
        {HUNDRED, 30000},
        {"\",\"q\":1},\"session\":{\"session_id\":\"s\",\"state\":{\"a\":\"",
         1},
        {HUNDRED, 30000},
        {"\",\"b\":\"", 1},
        {HUNDRED, 70000},
        {"\",\"c\":{}}}}", 1},
        {0}};
    pdr_store *store = new_store();
    pdr_import_report report;

    ASSERT_RC(PDR_OK, import_flow(&report, store, pieces, NULL));
    ASSERT_INT(3, report.slots);
    ASSERT_INT(2, report.properties);
    ASSERT(report.commits >= 3);
    assert_comes_back(pieces, store);
    pdr_store_close(store);
}

TEST(import, keeps_a_long_text_of_unknown_members)
{
    static const struct flow_piece pieces[] = {
        {"{\"conversationId\":\"c\",\"x\":[", 1},
        {"{\"y\":\"\\u0041\" , \"z\":[1,2,3]},\n", 100000},
        {string_text, 6000},
        {"0],\"stateBag\":{\"k\":1}}", 1},
        {0}};
    pdr_store *store = new_store();
    pdr_import_report report;

    ASSERT_RC(PDR_OK, import_flow(&report, store, pieces, NULL));
    ASSERT_INT(1, report.slots);
    assert_comes_back(pieces, store);
    pdr_store_close(store);
}

/* --- while others work ---------------------------------------------------- */

struct bystander {
    pdr_store *store;
    uint64_t commits;
    uint64_t fail_at;
};

/* Commits to another session, and sees nothing of the one that comes. */
static pdr_rc stand_by(uint64_t given, void *arg)
{
    struct bystander *b = arg;
    const pdr_entry entry = {.body = pdr_str_c("{}")};
    const pdr_edit edit = {.ref = {.id = pdr_str_c("other")},
                           .revision = b->commits,
                           .entries = &entry,
                           .entry_count = 1};
    const pdr_commit_options options = {.now_ms = NOW};

    if (b->fail_at != 0 && given >= b->fail_at)
        return PDR_EIO;
    if (given / 1000000 < b->commits)
        return PDR_OK;
    if (is_there(b->store, "s"))
        return PDR_EMISUSE;
    b->commits++;
    return pdr_store_commit(NULL, b->store, &edit, 1, &options, NULL);
}

TEST(import, is_seen_by_nobody_until_it_is_whole)
{
    static const struct flow_piece pieces[] = {
        {state_head, 1}, {entry_text, 13000}, {"{}]}}", 1}, {0}};
    pdr_store *store = new_store();
    struct bystander bystander = {store, 0, 0};
    pdr_import_opts opts = opts_for("s");
    struct flow flow;

    flow_init(&flow, pieces);
    flow.fn = stand_by;
    flow.arg = &bystander;
    ASSERT_RC(PDR_OK, pdr_import(NULL, store, &opts, NULL, flow_read, &flow));
    ASSERT(bystander.commits > 10);
    ASSERT(is_there(store, "s"));
    pdr_store_close(store);
}

TEST(import, leaves_nothing_when_its_stream_fails)
{
    static const struct flow_piece pieces[] = {
        {state_head, 1}, {entry_text, 13000}, {"{}]}}", 1}, {0}};
    static const uint64_t places[] = {1, 7000000, 9000000, 12000000};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        pdr_store *store = new_store();
        struct bystander bystander = {store, 0, places[i]};
        pdr_import_opts opts = opts_for("s");
        pdr_store_info info;
        struct flow flow;

        flow_init(&flow, pieces);
        flow.fn = stand_by;
        flow.arg = &bystander;
        ASSERT_RC(PDR_EIO,
                  pdr_import(NULL, store, &opts, NULL, flow_read, &flow));
        ASSERT(!is_there(store, "s"));
        ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
        ASSERT_INT(0, info.unseen);
        pdr_store_close(store);
    }
}

TEST(import, loses_against_a_session_that_came_first)
{
    static const struct flow_piece pieces[] = {
        {state_head, 1}, {entry_text, 9000}, {"{}]}}", 1}, {0}};
    pdr_store *store = new_store();
    struct bystander bystander = {store, 0, 0};
    pdr_import_opts opts = opts_for("other"); /* made by the bystander */
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;
    struct flow flow;

    flow_init(&flow, pieces);
    flow.fn = stand_by;
    flow.arg = &bystander;
    ASSERT_RC(PDR_EEXISTS,
              pdr_import(NULL, store, &opts, &err, flow_read, &flow));
    ASSERT_STR("session_exists", err.reason);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_INT(0, info.unseen);
    pdr_store_close(store);
}

/* --- in the place of a session -------------------------------------------- */

/* A session with one of everything. */
static void make_old(pdr_store *store)
{
    const pdr_entry entry = {.kind = PDR_ROW_REQUEST,
                             .correlation_id = pdr_str_c("c-old"),
                             .body = pdr_str_c("{}")};
    const pdr_slot slot = {.key = pdr_str_c("k"), .value = pdr_str_c("1")};
    const pdr_property property = {.key = pdr_str_c("p"),
                                   .value = pdr_str_c("\"x\""),
                                   .match = pdr_str_c("tx")};
    const pdr_completion completions[] = {
        {.correlation_id = pdr_str_c("c-1"), .outcome = pdr_str_c("{\"a\":1}")},
        {.correlation_id = pdr_str_c("c-2"), .fingerprint = pdr_str_c("f")}};
    const pdr_work work = {.kind = pdr_str_c("run"), .body = pdr_str_c("{}")};
    pdr_edit edit = {.ref = {.id = pdr_str_c("s")},
                     .entries = &entry,
                     .entry_count = 1,
                     .slots = &slot,
                     .slot_count = 1,
                     .properties = &property,
                     .property_count = 1};
    pdr_commit_options options = {.now_ms = NOW - 2 * DAY};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    memset(&edit, 0, sizeof(edit));
    edit.ref.id = pdr_str_c("s");
    edit.revision = 1;
    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = NOW + DAY;
    edit.completions = completions;
    edit.completion_count = 2;
    edit.inbox = &work;
    edit.inbox_count = 1;
    options.now_ms = NOW - 1000;
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

static pdr_rc replace(pdr_import_report *out, pdr_store *store,
                      const char *text, uint64_t revision, pdr_err *err)
{
    pdr_import_opts opts = opts_for("s");
    pdr_str bytes = pdr_str_c(text);

    opts.replace = true;
    opts.revision = revision;
    return pdr_import(out, store, &opts, err, pdr_read_str, &bytes);
}

static pdr_page *read_rows(pdr_store *store, pdr_read_what what)
{
    const pdr_query query = {.what = what, .ref = {.id = pdr_str_c("s")}};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    return page;
}

TEST(import, replaces_a_session_and_keeps_what_is_not_of_the_document)
{
    static const char text[] =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
        "\"$type\":\"request\",\"correlationId\":\"c-2\"}]}}";
    pdr_store *store = new_store();
    pdr_import_report report;
    pdr_page *page = NULL;

    make_old(store);
    ASSERT_RC(PDR_OK, replace(&report, store, text, 2, NULL));
    ASSERT_INT(3, report.revision);
    ASSERT(report.epoch > 1);
    ASSERT_INT(1, report.properties);
    page = read_rows(store, PDR_READ_ENTRIES);
    ASSERT_SIZE(1, page->count);
    ASSERT_INT(0, page->head.slots);
    ASSERT_INT(1, page->head.inbox);
    ASSERT_INT(NOW + DAY, page->head.expiry_ms);
    ASSERT_TEXT("durable", page->head.kind);
    pdr_page_free(page);
    page = read_rows(store, PDR_READ_PROPERTIES);
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("tx", page->properties[0].match);
    pdr_page_free(page);
    page = read_rows(store, PDR_READ_COMPLETIONS); /* c-old is two days old */
    ASSERT_SIZE(2, page->count);
    ASSERT_TEXT("c-1", page->completions[0].correlation_id);
    ASSERT_TEXT("{\"a\":1}", page->completions[0].outcome);
    ASSERT_INT(0, page->completions[0].first_seq);
    ASSERT_INT(NOW - 1000, page->completions[0].at_ms); /* it gets no younger */
    ASSERT_TEXT("f", page->completions[1].fingerprint);
    ASSERT_INT(1, page->completions[1].first_seq);
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
}

TEST(import, takes_the_properties_of_the_document_if_it_has_some)
{
    pdr_store *store = new_store();
    pdr_page *page = NULL;

    make_old(store);
    ASSERT_RC(PDR_OK, replace(NULL, store,
                              "{\"session\":{\"stateBag\":{}},"
                              "\"additionalProperties\":{\"q\":true}}",
                              0, NULL));
    page = read_rows(store, PDR_READ_PROPERTIES);
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("q", page->properties[0].key);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* An empty list says that there are none, and a name that no row can have is
 * one of the document's own. */
TEST(import, takes_the_document_by_its_word_that_it_has_no_properties)
{
    static const char *const lists[] = {"{}", "{\"\":1}"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        pdr_store *store = new_store();
        pdr_page *page = NULL;
        char text[200];

        make_old(store);
        snprintf(text, sizeof(text),
                 "{\"session\":{\"stateBag\":{}},"
                 "\"additionalProperties\":%s}",
                 lists[i]);
        ASSERT_RC(PDR_OK, replace(NULL, store, text, 0, NULL));
        page = read_rows(store, PDR_READ_PROPERTIES);
        ASSERT_SIZE(0, page->count);
        pdr_page_free(page);
        pdr_store_close(store);
    }
}

TEST(import, replaces_only_the_revision_that_was_named)
{
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECONFLICT, replace(NULL, store, "{}", 1, &err));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT_RC(PDR_OK, replace(NULL, store, "{}", 0, NULL));
    ASSERT_RC(PDR_ECONFLICT, replace(NULL, store, "{}", 7, &err));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT_RC(PDR_OK, replace(NULL, store, "{}", 1, NULL));
    ASSERT_RC(PDR_OK, replace(NULL, store, "{\"stateBag\":{}}", 0, NULL));
    pdr_store_close(store);
}

TEST(import, does_not_replace_a_session_that_was_made_anew)
{
    const pdr_commit_options now = {.now_ms = 1};
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("again");
    pdr_edit gone = {.ref = opts.ref, .revision = 1, .remove = true};
    pdr_import_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_str text = pdr_str_c("{}");

    ASSERT_RC(PDR_OK,
              pdr_import(&report, store, &opts, NULL, pdr_read_str, &text));
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &gone, 1, &now, NULL));
    text = pdr_str_c("{}");
    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, NULL, pdr_read_str, &text));
    opts.replace = true;
    opts.revision = report.revision; /* it is that of the new one, too */
    opts.epoch = report.epoch;
    text = pdr_str_c("{}");
    ASSERT_RC(PDR_ECONFLICT,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &text));
    ASSERT_STR("epoch_changed", err.reason);
    pdr_store_close(store);
}

TEST(import, loses_against_a_change_of_what_it_replaces)
{
    static const struct flow_piece pieces[] = {
        {state_head, 1}, {entry_text, 9000}, {"{}]}}", 1}, {0}};
    pdr_store *store = new_store();
    struct bystander bystander = {store, 0, 0};
    pdr_import_opts opts = opts_for("other");
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;
    struct flow flow;

    ASSERT_RC(PDR_OK, stand_by(0, &bystander));
    flow_init(&flow, pieces);
    flow.fn = stand_by;
    flow.arg = &bystander;
    opts.replace = true;
    ASSERT_RC(PDR_ECONFLICT,
              pdr_import(NULL, store, &opts, &err, flow_read, &flow));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_INT(0, info.unseen);
    pdr_store_close(store);
}

/* --- the order of members ------------------------------------------------- */

TEST(import, says_when_the_members_that_tell_come_too_late)
{
    static const struct flow_piece data_first[] = {
        {"{\"data\":{\"x\":[", 1},
        {entry_text, 9000},
        {"0]},\"schemaVersion\":\"1.1.0\"}", 1},
        {0}};
    static const struct flow_piece python_late[] = {
        {"{\"stateBag\":{\"x\":[", 1},
        {entry_text, 9000},
        {"0]},\"schemaVersion\":\"1.1.0\",\"data\":{}}", 1},
        {0}};
    static const struct flow_piece id_late[] = {
        {"{\"perdure\":{\"version\":\"1.0\"},\"stateBag\":{\"x\":[", 1},
        {entry_text, 9000},
        {"0]},\"perdure\":{\"version\":\"1.0\",\"id\":\"late\"}}", 1},
        {0}};
    static const struct flow_piece bag_twice[] = {{"{\"stateBag\":{\"x\":[", 1},
                                                  {entry_text, 9000},
                                                  {"0]},\"stateBag\":{}}", 1},
                                                  {0}};
    static const struct flow_piece slot_twice[] = {
        {"{\"stateBag\":{\"a/b\":1,\"x\":[", 1},
        {entry_text, 9000},
        {"0],\"a\\/b\":2}}", 1},
        {0}};

    static const struct flow_piece store_late[] = {
        {"{\"storeState\":{},\"x\":[", 1},
        {entry_text, 9000},
        {"0],\"chatHistoryProviderState\":{\"messages\":[]}}", 1},
        {0}};
    static const struct flow_piece bag_late[] = {
        {"{\"conversationId\":\"c\",\"x\":[", 1},
        {entry_text, 9000},
        {"0],\"stateBag\":[]}", 1},
        {0}};

    assert_refused("member_late", "", store_late);
    assert_refused("bag_not_object", "/stateBag", bag_late);
    assert_refused("member_order", "", data_first);
    assert_refused("member_late", "", python_late);
    assert_refused("member_late", "", id_late);
    assert_refused("member_late", "", bag_twice);
    assert_refused("member_late", "/stateBag/a~1b", slot_twice);
}

TEST(import, takes_late_members_that_change_nothing)
{
    static const struct flow_piece pieces[] = {
        {"{\"conversationId\":\"c\",\"stateBag\":{\"a\":1,\"a\":2,\"x\":[", 1},
        {entry_text, 9000},
        {"0],\"late\":2},\"other\":1}", 1},
        {0}};
    static const struct flow_piece bad_end[] = {
        {"{\"conversationId\":\"c\",\"stateBag\":{\"x\":[", 1},
        {entry_text, 9000},
        {"0]},\"conversationId\":5}", 1},
        {0}};
    static const struct flow_piece old_version[] = {
        {"{\"schemaVersion\":\"2.0\",\"data\":{\"x\":[", 1},
        {entry_text, 9000},
        {"0]}}", 1},
        {0}};
    pdr_store *store = new_store();

    ASSERT_RC(PDR_OK, import_flow(NULL, store, pieces, NULL));
    assert_comes_back(pieces, store);
    pdr_store_close(store);
    assert_refused("session_member", "/conversationId", bad_end);
    assert_refused("schema_version_unsupported", "/schemaVersion", old_version);
}

/* --- limits --------------------------------------------------------------- */

TEST(import, refuses_a_row_that_is_too_large)
{
    static const struct flow_piece long_text[] = {{state_head, 1},
                                                  {"{},{\"x\":\"", 1},
                                                  {THOUSAND, 69000},
                                                  {"\"}]}}", 1},
                                                  {0}};
    static const struct flow_piece many_values[] = {
        {"{\"stateBag\":{\"a\":1,\"b~c\":[", 1},
        {string_text, 68000},
        {"0]}}", 1},
        {0}};
    static const struct flow_piece frame[] = {
        {"{\"conversationId\":\"c\",\"x\":[", 1},
        {string_text, 68000},
        {"0]}", 1},
        {0}};

    static const struct flow_piece one_text[] = {
        {"{\"stateBag\":{\"k\" : \"", 1}, {THOUSAND, 69000}, {"\"}}", 1}, {0}};

    assert_refused("row_too_large", "/data/conversationHistory/1", long_text);
    assert_refused("row_too_large", "/stateBag/k", one_text);
    assert_refused("row_too_large", "/stateBag/b~0c", many_values);
    assert_refused("row_too_large", "", frame);
}

/* The end of a long text is not looked for, so its length is not known. */
TEST(import, tells_how_large_a_row_is_that_it_refuses)
{
    static const struct flow_piece long_text[] = {{state_head, 1},
                                                  {"{\"x\":\"", 1},
                                                  {THOUSAND, 69000},
                                                  {"\"}]}}", 1},
                                                  {0}};
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT, import_flow(NULL, store, long_text, &err));
    if (strstr(err.message, "this has more than 67108864 bytes,") == NULL)
        fail_msg("%s", err.message);
    pdr_store_close(store);
}

TEST(import, takes_a_row_at_the_limit)
{
    static char kib[1025];
    static const struct flow_piece pieces[] = {{"{\"stateBag\":{\"k\":\"", 1},
                                               {kib, 64 * 1024 - 1},
                                               {"x", 1021},
                                               {"\"}}", 1},
                                               {0}};
    static const struct flow_piece above[] = {{"{\"stateBag\":{\"k\":\"", 1},
                                              {kib, 64 * 1024 - 1},
                                              {"x", 1022},
                                              {"\"}}", 1},
                                              {0}};
    pdr_store *store = new_store();

    memset(kib, 'x', sizeof(kib) - 1);
    ASSERT_RC(PDR_OK, import_flow(NULL, store, pieces, NULL));
    pdr_store_close(store);
    assert_refused("row_too_large", "/stateBag/k", above);
}

/* A document with `count` slots, or properties. */
static void make_many(pdr_buf *out, bool bag, int count)
{
    ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s",
                                     bag ? "{\"stateBag\":{"
                                         : "{\"session\":{},"
                                           "\"additionalProperties\":{"));
    for (int i = 0; i < count; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s\"k%d\":0",
                                         i > 0 ? "," : "", i));
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("}}"), NULL));
}

TEST(import, counts_slots_and_properties)
{
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("s");

    opts.replace = true;
    for (int round = 0; round < 4; round++) {
        bool bag = round < 2, above = (round & 1) != 0;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;
        pdr_str bytes = {NULL, 0};

        make_many(&text, bag, (bag ? 100000 : 1000) + above);
        bytes = pdr_buf_str(&text);
        ASSERT_RC(above ? PDR_ELIMIT : PDR_OK,
                  pdr_import(NULL, store, &opts, &err, pdr_read_str, &bytes));
        if (above) {
            ASSERT_STR(bag ? "too_many_slots" : "too_many_properties",
                       err.reason);
            ASSERT_STR(bag ? "/stateBag" : "/additionalProperties", err.path);
        }
        pdr_buf_dispose(&text);
    }
    pdr_store_close(store);
}

TEST(import, counts_slots_before_it_takes_them)
{
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("s");
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_str bytes = {NULL, 0};

    make_many(&text, true, 200000);
    bytes = pdr_buf_str(&text);
    ASSERT_RC(PDR_ELIMIT,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &bytes));
    ASSERT_STR("too_many_slots", err.reason);
    pdr_buf_dispose(&text);
    pdr_store_close(store);
}

/* What is a bag in sessions of another shape is text here. */
TEST(import, counts_no_names_that_are_not_slots)
{
    static const char *const heads[] = {
        "{\"stateBag\":{},\"state\":{",
        "{\"session_id\":\"a\",\"additionalProperties\":{"};
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("s");

    opts.replace = true;
    for (size_t i = 0; i < 2; i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_str bytes = {NULL, 0};

        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(heads[i]), NULL));
        for (int k = 0; k < 150000; k++)
            ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s\"k%d\":0",
                                             k > 0 ? "," : "", k));
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("}}"), NULL));
        bytes = pdr_buf_str(&text);
        ASSERT_RC(PDR_OK,
                  pdr_import(NULL, store, &opts, NULL, pdr_read_str, &bytes));
        pdr_buf_dispose(&text);
    }
    pdr_store_close(store);
}

/* Each costs room in the frame, and none counts as a slot. */
TEST(import, counts_names_that_stand_there_again_and_again)
{
    static const struct flow_piece at_limit[] = {
        {"{\"stateBag\":{", 1}, {"\"a\":0,", 100000}, {"\"a\":1}}", 1}, {0}};
    static const struct flow_piece above[] = {
        {"{\"stateBag\":{", 1}, {"\"a\":0,", 100001}, {"\"a\":1}}", 1}, {0}};
    pdr_store *store = new_store();

    ASSERT_RC(PDR_OK, import_flow(NULL, store, at_limit, NULL));
    assert_comes_back(at_limit, store);
    pdr_store_close(store);
    assert_refused("too_many_slots", "", above);
}

/* `depth` brackets around nothing, in a document. */
static pdr_rc import_deep(const char *head, size_t depth, const char *tail,
                          pdr_err *err)
{
    struct flow_piece pieces[] = {
        {head, 1}, {"[", depth}, {"]", depth}, {tail, 1}, {NULL, 0}};
    pdr_store *store = new_store();
    pdr_rc rc = import_flow(NULL, store, pieces, err);

    if (rc == PDR_OK)
        assert_comes_back(pieces, store);
    else
        assert_empty(store);
    pdr_store_close(store);
    return rc;
}

TEST(import, counts_levels_from_the_root_of_the_session)
{
    static const struct {
        const char *head, *tail, *path;
        size_t levels; /* that are left inside */
    } cases[] = {
        {"{\"conversationId\":\"c\",\"x\":", "}", "", 127},
        {"{\"stateBag\":{\"k\":", "}}", "/stateBag/k", 126},
        {"{\"session\":{\"stateBag\":{\"k\":", "}}}", "/session/stateBag/k",
         126},
        {"{\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":[{"
         "\"x\":",
         "}]}}}", "/stateBag/InMemoryChatHistoryProvider/messages/0", 123},
        {"{\"schemaVersion\":\"1.0\",\"data\":{\"conversationHistory\":[{"
         "\"x\":",
         "}]}}", "/data/conversationHistory/0", 124},
        {"{\"perdure\":{\"version\":\"1.0\",\"document\":{\"schemaVersion\":"
         "\"1.0\",\"data\":{\"conversationHistory\":[{\"x\":",
         "}]}}}}", "/perdure/document/data/conversationHistory/0", 124},
        {"{\"storeState\":{\"messages\":[{\"x\":", "}]}}",
         "/storeState/messages/0", 124},
        {"{\"chatHistoryProviderState\":{\"messages\":[{\"x\":", "}]}}",
         "/chatHistoryProviderState/messages/0", 124},
        {"{\"chat_message_store_state\":{\"messages\":[{\"x\":", "}]}}",
         "/chat_message_store_state/messages/0", 124},
        {"{\"session\":{\"storeState\":{\"messages\":[{\"x\":", "}]}}}",
         "/session/storeState/messages/0", 124},
        {"{\"session\":{},\"additionalProperties\":{\"p\":", "}}",
         "/additionalProperties/p", 126},
        {"{\"session\":{},\"x\":", "}", "", 127},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, import_deep(cases[i].head, cases[i].levels,
                                      cases[i].tail, &err));
        ASSERT_RC(PDR_ELIMIT, import_deep(cases[i].head, cases[i].levels + 1,
                                          cases[i].tail, &err));
        ASSERT_STR("too_deep", err.reason);
        ASSERT_STR(cases[i].path, err.path);
    }
}

/* --- memory --------------------------------------------------------------- */

TEST_OOM(import, survives_failed_allocations_while_it_replaces)
{
    static const char text[] =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
        "\"$type\":\"request\",\"correlationId\":\"c-\\u0032\"},{}]}}";
    pdr_store *store = NULL;
    pdr_page *page = NULL;
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c("s")}};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    store = new_store();
    make_old(store);
    test_pause_failures(false);
    rc = replace(NULL, store, text, 0, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    ASSERT_INT(rc == PDR_OK ? 3 : 2, page->head.revision);
    pdr_page_free(page);
    pdr_store_close(store);
    test_pause_failures(false);
}
