/* What becomes of a document in a store, row by row, and what is refused. */
#include <perdure/archive.h>

#include "frame_model.h"
#include "test.h"

#define NOW INT64_C(1800000000000)

/* --- importing ------------------------------------------------------------ */

static pdr_store *new_store(void)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    return store;
}

static pdr_import_opts opts_for(const char *id)
{
    pdr_import_opts opts = {.now_ms = NOW};

    if (id != NULL)
        opts.ref.id = pdr_str_c(id);
    return opts;
}

static pdr_rc import_text(pdr_import_report *out, pdr_store *store,
                          const char *id, const char *text, pdr_err *err)
{
    pdr_import_opts opts = opts_for(id);
    pdr_str bytes = pdr_str_c(text);

    return pdr_import(out, store, &opts, err, pdr_read_str, &bytes);
}

static pdr_page *read_rows(pdr_store *store, const char *id, pdr_read_what what)
{
    const pdr_query query = {
        .what = what, .ref = {.id = pdr_str_c(id)}, .limit = 200};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    return page;
}

static void assert_document(const char *expected, pdr_store *store,
                            const char *id)
{
    const pdr_ref ref = {.id = pdr_str_c(id)};
    size_t len = 0;
    char *text = frame_model_document(&len, store, &ref);

    ASSERT_STR(expected, text);
    free(text);
}

static void assert_kept(const char *text)
{
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    if (import_text(NULL, store, "s", text, &err) != PDR_OK)
        fail_msg("%s: %s %s", text, err.reason, err.message);
    assert_document(text, store, "s");
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
}

static void assert_refused(const char *reason, const char *path,
                           const char *text)
{
    pdr_store *store = new_store();
    const pdr_query all = {.what = PDR_READ_ALL};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = import_text(NULL, store, "s", text, &err);

    ASSERT(rc != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &all, NULL));
    ASSERT_SIZE(0, page->count);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* --- rows ----------------------------------------------------------------- */

TEST(import, makes_rows_of_a_state_document)
{
    pdr_store *store = new_store();
    pdr_import_report report;
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK,
              import_text(&report, store, "@dafx-desk@7",
                          "{\"schemaVersion\":\"1.1.0\",\"data\":"
                          "{\"conversationHistory\":[\n {\"$type\":\"request\","
                          "\"correlationId\":\"c-\\u0031\",\"createdAt\":"
                          "\"2026-03-01T10:00:00Z\",\"messages\":[]},\n "
                          "{\"json_type\":\"response\",\"correlationId\":"
                          "\"c-1\"} ,\n {\"$type\":\"note\"}\n]}}",
                          NULL));
    ASSERT_INT(3, report.entries);
    ASSERT_INT(0, report.slots);
    ASSERT_INT(1, report.commits);
    ASSERT_INT(1, report.revision);
    ASSERT_TEXT("@dafx-desk@7", report.ref.id);
    page = read_rows(store, "@dafx-desk@7", PDR_READ_ENTRIES);
    ASSERT_TEXT("desk", page->head.agent);
    ASSERT_TEXT("durable", page->head.kind);
    ASSERT_TEXT("1.1.0", page->head.schema_version);
    ASSERT_SIZE(3, page->count);
    ASSERT_INT(PDR_ROW_REQUEST, page->entries[0].kind);
    ASSERT_INT(PDR_ROW_STATE, page->entries[0].shape);
    ASSERT_TEXT("c-1", page->entries[0].correlation_id);
    ASSERT_INT(INT64_C(1772359200000), page->entries[0].created_ms);
    ASSERT(page->entries[0].separator.ptr == NULL);
    ASSERT_INT(PDR_ROW_RESPONSE, page->entries[1].kind);
    ASSERT_INT(PDR_NO_TIME, page->entries[1].created_ms);
    ASSERT(page->entries[1].separator.ptr == NULL);
    ASSERT_TEXT("{\"json_type\":\"response\",\"correlationId\":\"c-1\"}",
                page->entries[1].body);
    ASSERT_INT(PDR_ROW_OTHER, page->entries[2].kind);
    ASSERT(page->entries[2].correlation_id.ptr == NULL);
    ASSERT_TEXT(" ,\n ", page->entries[2].separator);
    pdr_page_free(page);
    page = read_rows(store, "@dafx-desk@7", PDR_READ_COMPLETIONS);
    ASSERT_SIZE(1, page->count);
    ASSERT_INT(2, page->completions[0].last_seq);
    pdr_page_free(page);
    pdr_store_close(store);
}

TEST(import, takes_no_time_but_that_of_the_entry)
{
    static const struct {
        const char *message;
        int64_t time;
    } cases[] = {
        {"{}", PDR_NO_TIME},
        {"{\"createdAt\":\"2026-03-01T10:00:00Z\"}", INT64_C(1772359200000)},
        {"{\"createdAt\":\"soon\"}", PDR_NO_TIME},
        {"{\"createdAt\":null}", PDR_NO_TIME},
        {"{\"createdAt\":[\"2026-03-01T10:00:00Z\"]}", PDR_NO_TIME},
        {"{\"createdAt\":\"2026-03-01T10:00:00Z\",\"CreatedAt\":7}",
         PDR_NO_TIME},
        {"{\"createdAt\":\"1969-12-31T23:59:59.999Z\"}", -1},
        {"{\"createdAt\":\"1970-01-01T00:00:00Z\"}", 1}, /* 0: the commit's */
        {"{\"contents\":[{\"createdAt\":\"2026-03-01T10:00:00Z\"}]}",
         PDR_NO_TIME},
    };
    const size_t count = sizeof(cases) / sizeof(cases[0]);
    pdr_store *store = new_store();
    char text[2000] =
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":[";
    size_t len = strlen(text);

    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                i == 0 ? "" : ",", cases[i].message);
    snprintf(text + len, sizeof(text) - len, "]}}}");
    ASSERT_RC(PDR_OK, import_text(NULL, store, "s", text, NULL));
    pdr_page *page = read_rows(store, "s", PDR_READ_ENTRIES);
    ASSERT_SIZE(count, page->count);
    for (size_t i = 0; i < count; i++) {
        if (page->entries[i].created_ms != cases[i].time)
            fail_msg("%s: %lld", cases[i].message,
                     (long long)page->entries[i].created_ms);
    }
    pdr_page_free(page);
    pdr_store_close(store);
}

TEST(import, makes_rows_of_a_session)
{
    pdr_store *store = new_store();
    pdr_import_report report;
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK,
              import_text(&report, store, NULL,
                          "{\"session\":{\"type\":\"session\",\"session_id\":"
                          "\"p-1\",\"service_session_id\":null,\"state\":{"
                          "\"a\\u002fb\":[1],\"in_memory\":{\"messages\":["
                          "{\"role\":\"user\",\"created_at\":\"2026-03-01\"},"
                          "{\"role\":\"x\",\"created_at\":\"soon\"}]},"
                          "\"\\u0000\\ud800\":1.0}},\"additionalProperties\":{"
                          "\"n\":1.50,\"t\":\"x\",\"o\":{}}}",
                          NULL));
    ASSERT_TEXT("p-1", report.ref.id);
    ASSERT(report.ref.id.ptr == report.id);
    ASSERT_INT(2, report.entries);
    ASSERT_INT(2, report.slots);
    ASSERT_INT(3, report.properties);
    page = read_rows(store, "p-1", PDR_READ_ENTRIES);
    ASSERT_TEXT("python", page->head.kind);
    ASSERT(page->head.agent.ptr == NULL);
    ASSERT(page->head.schema_version.ptr == NULL);
    ASSERT_INT(PDR_ROW_MESSAGE, page->entries[0].kind);
    ASSERT_INT(PDR_ROW_PYTHON, page->entries[0].shape);
    ASSERT_INT(INT64_C(1772323200000), page->entries[0].created_ms);
    ASSERT_INT(PDR_NO_TIME, page->entries[1].created_ms);
    pdr_page_free(page);
    page = read_rows(store, "p-1", PDR_READ_SLOTS);
    ASSERT_TEXT("\\u0000\\ud800", page->slots[0].key);
    ASSERT_TEXT("1.0", page->slots[0].value);
    ASSERT_TEXT("a/b", page->slots[1].key);
    ASSERT_TEXT("[1]", page->slots[1].value);
    pdr_page_free(page);
    page = read_rows(store, "p-1", PDR_READ_PROPERTIES);
    ASSERT_TEXT("n", page->properties[0].key);
    ASSERT_TEXT("1.50", page->properties[0].value);
    ASSERT_TEXT("n15e-1", page->properties[0].match);
    ASSERT(page->properties[1].match.ptr == NULL);
    ASSERT_TEXT("tx", page->properties[2].match);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* --- what comes back ------------------------------------------------------ */

TEST(import, keeps_every_byte)
{
    static const char *const documents[] = {
        "{}",
        " { } \n",
        "{\"stateBag\":{}}",
        "{\"stateBag\" : { \n } , \"conversationId\":\"c\" }",
        "{\"stateBag\":null}",
        "{\"conversationId\":\"c\"}",
        "{\"x\":[1, 2 ],\"stateBag\":{ \"a\" :1 , \"b\": {\"c\" : 2}\n}\t}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":null}}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{}}}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{ \"x\":1 }}}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":null}}}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":[ ]}}}",
        "{\"stateBag\":{\"a\":1,\"InMemoryChatHistoryProvider\":{\"messages\":"
        "[ {} , {} ,{},\n{}\n],\"z\":0},\"in_memory\":{\"messages\":[1]}}}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":"
        "[\t{}]}}}",
        "{\"session_id\":\"s\"}",
        "{\"session_id\":\"s\",\"state\":{\"in_memory\":{\"messages\":[{}]},"
        "\"InMemoryChatHistoryProvider\":{\"messages\":[7]}}}",
        "{\"schemaVersion\":\"1.0\",\"data\":null}",
        "{\"schemaVersion\":\"1.0\",\"data\":{ }}",
        "{\"schemaVersion\":\"1.0\",\"data\":{\"a\":{}}, \"b\" : [ ] }",
        "{\"schemaVersion\":\"1.0\",\"data\":{\"conversationHistory\":null}}",
        "{\"schemaVersion\":\"1.0\",\"data\":{\"conversationHistory\":[{}]}}",
        "{\"storeState\":{\"messages\":[{},{}]},\"aiContextProviderState\":1}",
        "{\"storeState\":\"key\",\"aiContextProviderState\":1}",
        "{\"storeState\":\"k\",\"chatHistoryProviderState\":{\"messages\":"
        "[{}]}}",
        "{\"storeState\":\"k\",\"chatHistoryProviderState\":5}",
        "{\"storeState\":{},\"chatHistoryProviderState\":{\"messages\":[{}]}}",
        "{\"aiContextProviderState\":{}}",
        "{\"type\":\"agent_thread_state\",\"chat_message_store_state\":null}",
        "{\"type\":\"agent_thread_state\",\"chat_message_store_state\":"
        "{\"type\":\"chat_message_store_state\",\"messages\":[{\"role\":1}]}}",
        "{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"durable\",\"document\":"
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{}]}}}"
        ",\"sessionId\":\"@dafx-a@b\",\"stateBag\":{\"k\":1}}",
        "{\"session\":{\"stateBag\":{\"k\":1}}}",
        "{\"session\":{\"stateBag\":{\"k\":1}} ,\"additionalProperties\":null}",
        "{ \"additionalProperties\" : { } , \"session\" : { } }",
        "{\"note\":1,\"additionalProperties\":{\"\":1,\"\\u0000\":2,\"\\ud800\""
        ":3,\"k\":4},\"session\":{\"session_id\":\"x\"}}",
        "{\"session\":{\"schemaVersion\":\"1.1.0\",\"data\":{}}}",
    };

    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        assert_kept(documents[i]);
}

TEST(import, keeps_names_that_occur_twice)
{
    static const char *const documents[] = {
        "{\"stateBag\":{\"a\":1,\"\\u0061\":[2],\"b\":3,\"a\":4}}",
        "{\"stateBag\":{\"x\":1},\"stateBag\":{\"y\":2}}",
        "{\"stateBag\":5,\"stateBag\":{\"y\":2}}",
        "{\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":[{}]},"
        "\"InMemoryChatHistoryProvider\":{\"messages\":[{},{}],\"messages\":"
        "[{\"b\":1}]}}}",
        "{\"schemaVersion\":\"9.9\",\"data\":[],\"schemaVersion\":\"1.1.0\","
        "\"data\":{\"conversationHistory\":[1],\"conversationHistory\":[{}]}}",
        "{\"session\":1,\"session\":{\"stateBag\":{}},\"additionalProperties\":"
        "{\"p\":1,\"p\":2},\"additionalProperties\":{\"p\":1,\"p\":{}}}",
    };
    pdr_store *store = new_store();
    pdr_page *page = NULL;

    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        assert_kept(documents[i]);
    ASSERT_RC(PDR_OK, import_text(NULL, store, "s", documents[0], NULL));
    page = read_rows(store, "s", PDR_READ_SLOTS);
    ASSERT_SIZE(2, page->count);
    ASSERT_TEXT("a", page->slots[0].key);
    ASSERT_TEXT("4", page->slots[0].value);
    pdr_page_free(page);
    pdr_store_close(store);
}

/* --- what is refused ------------------------------------------------------ */

TEST(import, says_what_is_wrong_and_where)
{
    assert_refused("session_unknown_shape", "", "{\"a\":1}");
    assert_refused("session_not_object", "", "[{}]");
    assert_refused("session_not_object", "", "null");
    assert_refused("empty_input", "", " ");
    assert_refused("session_member", "/conversationId",
                   "{\"conversationId\":5}");
    assert_refused("session_member", "/session/conversationId",
                   "{\"session\":{\"conversationId\":5}}");
    assert_refused("session_version", "/perdure/version",
                   "{\"perdure\":{\"version\":\"2.0\"}}");
    assert_refused("schema_version_unsupported", "/schemaVersion",
                   "{\"schemaVersion\":\"2.0\",\"data\":{}}");
    assert_refused("schema_version_unsupported",
                   "/perdure/document/schemaVersion",
                   "{\"perdure\":{\"version\":\"1.0\",\"document\":"
                   "{\"schemaVersion\":\"2.0\",\"data\":{}}}}");
    assert_refused("bag_not_object", "/stateBag", "{\"stateBag\":[]}");
    assert_refused("wrong_kind", "/additionalProperties",
                   "{\"session\":{},\"additionalProperties\":[]}");
    assert_refused("wrong_kind", "/additionalProperties",
                   "{\"session\":{},\"additionalProperties\":7}");
    assert_refused("history_shape", "/data/conversationHistory",
                   "{\"schemaVersion\":\"1.0\",\"data\":"
                   "{\"conversationHistory\":{}}}");
    assert_refused("history_shape", "/data/conversationHistory/1",
                   "{\"schemaVersion\":\"1.0\",\"data\":"
                   "{\"conversationHistory\":[{},[]]}}");
    assert_refused("history_shape",
                   "/stateBag/InMemoryChatHistoryProvider/messages/0",
                   "{\"stateBag\":{\"InMemoryChatHistoryProvider\":"
                   "{\"messages\":[1]}}}");
    assert_refused("history_shape", "/state/in_memory",
                   "{\"session_id\":\"s\",\"state\":{\"in_memory\":[]}}");
    assert_refused("unexpected_end", "/stateBag", "{\"stateBag\":{\"a\":1");
    assert_refused("trailing_data", "", "{} {}");
}

static void assert_says(const char *said, const char *text)
{
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, import_text(NULL, store, "s", text, &err));
    if (strstr(err.message, said) == NULL)
        fail_msg("%s: %s", text, err.message);
    ASSERT_INT(-1, err.offset);
    pdr_store_close(store);
}

/* Of the document, not of the part of it that tells what it is. */
TEST(import, says_what_a_document_is_that_is_no_session)
{
    assert_says("a list of sessions", "[{\"stateBag\":{}},2]");
    assert_says("an array without any session", "[[{}]]");
    assert_says("an empty array", "[]");
    assert_says("a durable state document that lacks its schemaVersion",
                "{\"data\":{\"conversationHistory\":[{}]}}");
    assert_says("perhaps a state bag", "{\"data\":{\"more\":[1]}}");
    assert_says("an object of sessions",
                "{\"a\":{\"stateBag\":{}},\"b\":{\"stateBag\":{}}}");
}

TEST(import, leaves_the_error_alone_when_all_is_well)
{
    pdr_store *store = new_store();
    const pdr_err none = PDR_ERR_INIT;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, import_text(NULL, store, "s", "{}", &err));
    ASSERT(memcmp(&none, &err, sizeof(err)) == 0);
    pdr_store_close(store);
}

/* What an export makes of a state document that has got a bag. */
TEST(import, takes_a_bundle_for_a_durable_session)
{
    pdr_store *store = new_store();
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK,
              import_text(NULL, store, "s",
                          "{\"perdure\":{\"version\":\"1.0.0\",\"id\":\"s\","
                          "\"document\":{\"schemaVersion\":\"1.1.0\",\"data\":"
                          "{\"conversationHistory\":[]}}},\"stateBag\":{}}",
                          NULL));
    page = read_rows(store, "s", PDR_READ_HEAD);
    ASSERT_TEXT("durable", page->head.kind);
    ASSERT_TEXT("1.1.0", page->head.schema_version);
    pdr_page_free(page);
    pdr_store_close(store);
}

TEST(import, wants_an_id)
{
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, import_text(NULL, store, NULL, "{}", &err));
    ASSERT_STR("no_session_id", err.reason);
    ASSERT_RC(PDR_OK, import_text(NULL, store, "s", "{}", &err));
    ASSERT_RC(PDR_EEXISTS, import_text(NULL, store, "s", "{}", &err));
    ASSERT_STR("session_exists", err.reason);
    pdr_store_close(store);
}

TEST(import, takes_the_id_of_a_durable_session)
{
    pdr_store *store = new_store();
    pdr_import_report report;
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK,
              import_text(&report, store, NULL,
                          "{\"session_id\":\"x\",\"durable_session_id\":"
                          "\"@Desk@9@c\"}",
                          NULL));
    ASSERT_TEXT("@dafx-Desk@9@c", report.ref.id);
    page = read_rows(store, "@dafx-Desk@9@c", PDR_READ_HEAD);
    ASSERT_TEXT("Desk", page->head.agent);
    ASSERT_TEXT("durable", page->head.kind);
    pdr_page_free(page);
    pdr_store_close(store);
}

TEST(import, lists_it_under_the_agent_that_was_named)
{
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("@dafx-desk@7");
    pdr_str bytes = pdr_str_c("{}");
    pdr_page *page = NULL;

    opts.agent = pdr_str_c("porter");
    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, NULL, pdr_read_str, &bytes));
    page = read_rows(store, "@dafx-desk@7", PDR_READ_HEAD);
    ASSERT_TEXT("porter", page->head.agent);
    ASSERT_TEXT("unstated", page->head.kind);
    pdr_page_free(page);
    pdr_store_close(store);
}

#define A16   "aaaaaaaaaaaaaaaa"
#define A128  A16 A16 A16 A16 A16 A16 A16 A16
#define A1024 A128 A128 A128 A128 A128 A128 A128 A128

/* A store lists no agent with so long a name; the document keeps it. */
TEST(import, needs_no_agent_of_the_document_under_another_id)
{
    static const struct {
        const char *id, *agent; /* that are named; NULL: it is not */
        const char *expected;   /* NULL: none */
    } cases[] = {
        {"s", NULL, NULL},
        {"@dafx-desk@7", NULL, "desk"},
        {"s", "porter", "porter"},
    };
    static const char *const texts[] = {
        "{\"sessionId\":\"@dafx-" A128 "a@k\"}",
        "{\"session_id\":\"x\",\"durable_session_id\":\"@" A128 "a@k\"}",
        "{\"session_id\":\"x\",\"durable_session_id\":\"@a\\u0000@k\"}",
        "{\"session_id\":\"x\",\"durable_session_id\":\"@a\\ud800@k\"}",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
            pdr_store *store = new_store();
            pdr_import_opts opts = opts_for(cases[i].id);
            pdr_str bytes = pdr_str_c(texts[k]);
            pdr_page *page = NULL;

            if (cases[i].agent != NULL)
                opts.agent = pdr_str_c(cases[i].agent);
            ASSERT_RC(PDR_OK, pdr_import(NULL, store, &opts, NULL, pdr_read_str,
                                         &bytes));
            page = read_rows(store, cases[i].id, PDR_READ_HEAD);
            if (cases[i].expected == NULL)
                ASSERT(page->head.agent.ptr == NULL);
            else
                ASSERT_TEXT(cases[i].expected, page->head.agent);
            pdr_page_free(page);
            assert_document(texts[k], store, cases[i].id);
            pdr_store_close(store);
        }
    }
}

TEST(import, tells_which_member_has_an_id_that_no_store_can_have)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        {"/sessionId", "{\"sessionId\":\"@dafx-" A128 "a@k\"}"},
        {"/sessionId",
         "{\"perdure\":{\"version\":\"1.0.0\",\"kind\":"
         "\"durable\",\"id\":\"x\"},\"sessionId\":\"@dafx-" A128 "a@k\"}"},
        {"/session/sessionId",
         "{\"session\":{\"sessionId\":\"@dafx-a@" A1024 "\"}}"},
        {"/durable_session_id",
         "{\"session_id\":\"x\",\"durable_session_id\":\"@" A128 "a@k\"}"},
        {"/session_id", "{\"session_id\":\"@x\"}"},
        {"/session_id", "{\"session_id\":\"a\\u0000\"}"},
        {"/perdure/id",
         "{\"perdure\":{\"version\":\"1.0.0\",\"id\":\"" A1024 "a\"}}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_store *store = new_store();
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  import_text(NULL, store, NULL, cases[i].text, &err));
        ASSERT_STR("bad_ref", err.reason);
        ASSERT_STR(cases[i].path, err.path);
        ASSERT(strstr(err.message, "name another id") != NULL);
        /* So it was not what else is wrong. */
        ASSERT_RC(PDR_OK, import_text(NULL, store, "s", cases[i].text, &err));
        pdr_store_close(store);
    }
}

/* --- streams -------------------------------------------------------------- */

static pdr_rc boast(size_t *got, void *into, size_t cap, pdr_err *err,
                    void *arg)
{
    (void)into;
    (void)err;
    (void)arg;
    *got = cap + 1;
    return PDR_OK;
}

TEST(import, believes_no_stream_that_gives_too_much)
{
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("s");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EMISUSE, pdr_import(NULL, store, &opts, &err, boast, NULL));
    ASSERT_STR("broken_contract", err.reason);
    pdr_store_close(store);
}

/* Gives one byte at a time, and fails behind `left` of them. */
struct drip {
    const char *at;
    size_t left;
    bool fails;
};

static pdr_rc drip(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct drip *d = arg;

    (void)cap;
    (void)err;
    *got = 0;
    if (d->left == 0)
        return d->fails ? PDR_EIO : PDR_OK;
    memcpy(into, d->at++, 1);
    d->left--;
    *got = 1;
    return PDR_OK;
}

static const char sample[] =
    "{\"session\":{\"perdure\":{\"version\":\"1.0.0\",\"id\":\"n-1\"},"
    "\"stateBag\":{\"k\":{\"a\":[]},\"InMemoryChatHistoryProvider\":"
    "{\"messages\":[{\"role\":\"user\"},{}]},\"k2\":\"\\u0041\"}},"
    "\"additionalProperties\":{\"p\":true,\"p\":1e2}}";

TEST(import, takes_one_byte_at_a_time)
{
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for(NULL);
    struct drip d = {sample, sizeof(sample) - 1, false};

    ASSERT_RC(PDR_OK, pdr_import(NULL, store, &opts, NULL, drip, &d));
    assert_document(sample, store, "n-1");
    pdr_store_close(store);
}

TEST(import, gives_the_failure_of_a_stream)
{
    pdr_store *store = new_store();
    pdr_import_opts opts = opts_for("s");

    for (size_t i = 0; i < sizeof(sample); i++) {
        struct drip d = {sample, i, true};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EIO, pdr_import(NULL, store, &opts, &err, drip, &d));
        ASSERT_RC(PDR_EIO, err.code);
    }
    pdr_store_close(store);
}

/* --- bare tokens ---------------------------------------------------------- */

TEST(import, takes_bare_tokens_only_if_it_is_told_to)
{
    static const char text[] =
        "{\"session\":{\"session_id\":\"s\",\"x\":NaN,\"state\":{"
        "\"in_memory\":{\"messages\":[{\"role\":\"user\",\"n\":-Infinity}]},"
        "\"k\":[Infinity]}},\"additionalProperties\":{\"p\":NaN}}";
    pdr_import_opts opts = opts_for(NULL);
    pdr_str bytes = pdr_str_c(text);
    pdr_store *store = new_store();
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &bytes));
    ASSERT_STR("bare_token", err.reason);
    ASSERT_STR("/session/x", err.path);
    bytes = pdr_str_c(text);
    opts.bare_tokens = true;
    if (pdr_import(NULL, store, &opts, &err, pdr_read_str, &bytes) != PDR_OK)
        fail_msg("%s at %s", err.message, err.path);
    assert_document(text, store, "s");
    pdr_store_close(store);
}

/* --- memory --------------------------------------------------------------- */

TEST_OOM(import, survives_failed_allocations)
{
    pdr_store *store = NULL;
    pdr_import_opts opts = opts_for(NULL);
    pdr_str bytes = pdr_str_c(sample);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_open(&store, "memory:", NULL);

    if (rc == PDR_OK)
        rc = pdr_import(NULL, store, &opts, &err, pdr_read_str, &bytes);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(rc == PDR_OK || store == NULL || err.code == PDR_ENOMEM);
    pdr_store_close(store);
}
