/* When a state document expires, and when its session does: one thing, wherever
 * it was said last. */
#include "archive_hand.h"

#define ID    "@dafx-a@k"
#define LATER INT64_C(4102444800000)
#define DATE  "\"2100-01-01T00:00:00Z\""
#define ENTRY "{\"$type\":\"request\",\"correlationId\":\"c\"}"
#define NAME  "\"expirationTimeUtc\":"

static pdr_store *store;

static void begin(void)
{
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
}

static void end(void)
{
    pdr_store_close(store);
    store = NULL;
}

static void import_text(pdr_str text)
{
    pdr_import_opts opts = {
        .ref = {.id = pdr_str_c(ID)}, .replace = true, .now_ms = 1000};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_import(NULL, store, &opts, &err, pdr_read_str, &text) != PDR_OK)
        fail_msg("%s", err.message);
}

/* A state document with this as its data; static. */
static const char *document(const char *data)
{
    static char text[512];

    (void)snprintf(text, sizeof(text),
                   "{\"schemaVersion\":\"1.1.0\", \"data\" :%s}", data);
    return text;
}

static pdr_head read_head(void)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = pdr_str_c(ID)}};
    pdr_page *page = NULL;
    pdr_head head;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    head = page->head;
    pdr_page_free(page);
    return head;
}

static void expire(int64_t ms)
{
    pdr_edit edit = {.ref = {.id = pdr_str_c(ID)},
                     .revision = read_head().revision,
                     .expiry =
                         ms == PDR_NEVER ? PDR_EXPIRY_CLEAR : PDR_EXPIRY_SET,
                     .expiry_ms = ms};
    pdr_commit_options options = {.now_ms = 1000};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

static void append(void)
{
    pdr_entry entry = {.kind = PDR_ROW_REQUEST,
                       .shape = PDR_ROW_STATE,
                       .created_ms = 1,
                       .correlation_id = pdr_str_c("c"),
                       .body = pdr_str_c(ENTRY)};

    hand_append(store, ID, &entry);
}

static void expect(const char *data)
{
    hand_expect_in(document(data), store, ID);
}

/* --- what a document says ------------------------------------------------- */

/* What is imported, when it expires, and what is exported of it after its
 * session got another expiry, and then none. */
struct row {
    const char *data;
    int64_t ms;
    const char *set;
    const char *cleared;
};

static void check_row(const struct row *row)
{
    begin();
    import_text(pdr_str_c(document(row->data)));
    ASSERT_INT(row->ms, read_head().expiry_ms);
    expect(row->data);
    expire(LATER);
    expect(row->set);
    expire(PDR_NEVER);
    expect(row->cleared);
    expire(row->ms);
    expect(row->data);
    end();
}

TEST(expiry, is_that_of_the_document)
{
    static const struct row rows[] = {
        {"{\"conversationHistory\":[ ]," NAME " \"2026-03-15t10:00:02.2500009"
         "\\u002b00\" ,\"n\":1}",
         1773568802250,
         "{\"conversationHistory\":[ ]," NAME " " DATE " ,\"n\":1}",
         "{\"conversationHistory\":[ ]," NAME " null ,\"n\":1}"},
        {"{" NAME "null , \"conversationHistory\":[]}", PDR_NEVER,
         "{" NAME DATE " , \"conversationHistory\":[]}",
         "{" NAME "null , \"conversationHistory\":[]}"},
        /* Of two, the last one counts. */
        {"{" NAME "\"2026-03-15\",\"expirationTime\\u0055tc\":\"1970-01-01\"}",
         0, "{" NAME "\"2026-03-15\",\"expirationTime\\u0055tc\":" DATE "}",
         "{" NAME "\"2026-03-15\",\"expirationTime\\u0055tc\":null}"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

TEST(expiry, has_a_place_in_every_document)
{
    static const struct row rows[] = {
        {"{\"conversationHistory\":[ ] }", PDR_NEVER,
         "{\"conversationHistory\":[ ]," NAME DATE " }",
         "{\"conversationHistory\":[ ] }"},
        {"{\"conversationHistory\": null,\"n\":1}", PDR_NEVER,
         "{\"conversationHistory\": null,\"n\":1," NAME DATE "}",
         "{\"conversationHistory\": null,\"n\":1}"},
        {"{\"n\":1\n}", PDR_NEVER, "{\"n\":1," NAME DATE "\n}", "{\"n\":1\n}"},
        {"{ }", PDR_NEVER, "{" NAME DATE " }", "{ }"},
        {" null", PDR_NEVER, " {" NAME DATE "}", " null"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

TEST(expiry, is_text_where_it_cannot_be_read)
{
    static const char *const texts[] = {
        "{" NAME "5}",     "{" NAME "\"soon\"}",
        "{" NAME "[ 1 ]}", "{" NAME "{\"expirationTimeUtc\":\"2026-03-15\"}}",
        "{" NAME "true}",  "{" NAME "\"\\ud800\"}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct row row = {texts[i], PDR_NEVER, texts[i], texts[i]};

        check_row(&row);
    }
}

TEST(expiry, stands_behind_entries_that_came_later)
{
    static const char *const rows[][3] = {
        {"{ }", "{\"conversationHistory\":[" ENTRY "]," NAME DATE " }",
         "{\"conversationHistory\":[" ENTRY "] }"},
        {"null", "{\"conversationHistory\":[" ENTRY "]," NAME DATE "}",
         "{\"conversationHistory\":[" ENTRY "]}"},
        {"{\"n\":1}",
         "{\"n\":1,\"conversationHistory\":[" ENTRY "]," NAME DATE "}",
         "{\"n\":1,\"conversationHistory\":[" ENTRY "]}"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin();
        import_text(pdr_str_c(document(rows[i][0])));
        append();
        expect(rows[i][2]);
        expire(LATER);
        expect(rows[i][1]);
        expire(INT64_MIN); /* no calendar has it */
        expect(rows[i][2]);
        end();
    }
}

/* --- other documents ------------------------------------------------------ */

#define BUNDLE(date)                                                         \
    "{\"session\":{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"durable\"," \
    "\"document\":{\"schemaVersion\":\"1.1.0\",\"data\":{" NAME date         \
    "}}},\"sessionId\":\"" ID "\",\"stateBag\":{}},"                         \
    "\"additionalProperties\":{\"p\":1}}"

TEST(expiry, is_that_of_the_document_in_a_bundle)
{
    begin();
    import_text(pdr_str_c(BUNDLE("\"2026-03-15\"")));
    ASSERT_INT(1773532800000, read_head().expiry_ms);
    hand_expect_in(BUNDLE("\"2026-03-15\""), store, ID);
    expire(LATER);
    hand_expect_in(BUNDLE(DATE), store, ID);
    end();
}

TEST(expiry, goes_into_a_bundle_that_the_export_makes)
{
    begin();
    import_text(pdr_str_c("{\"schemaVersion\":\"1.1.0\",\"data\":{}}"));
    hand_set(store, ID, "m", pdr_str_c("1"));
    expire(LATER);
    hand_expect_in(
        "{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"durable\","
        "\"document\":{\"schemaVersion\":\"1.1.0\",\"data\":{" NAME DATE
        "}}},\"sessionId\":\"" ID "\",\"stateBag\":{\"m\":1}}",
        store, ID);
    end();
}

TEST(expiry, is_no_matter_of_other_sessions)
{
    static const char text[] =
        "{\"stateBag\":{},\"data\":{" NAME "\"2026-03-15\"}}";

    begin();
    import_text(pdr_str_c(text));
    ASSERT_INT(PDR_NEVER, read_head().expiry_ms);
    expire(LATER);
    hand_expect_in(text, store, ID);
    end();
}

TEST(expiry, is_left_alone_by_frames_that_have_no_place_for_it)
{
    static const char frame[] =
        "{\"frame\":1,\"shape\":\"state\",\"pieces\":[\"{\\\"data\\\":{"
        "\\\"expirationTimeUtc\\\":\\\"2026-03-15\\\","
        "\\\"conversationHistory\\\":\",{\"entries\":{\"open\":\"[\","
        "\"first\":\"\",\"usual\":\",\",\"close\":\"]\",\"empty\":\"[]\"}},"
        "\"}}\"]}";
    const struct hand hand = {
        .id = ID, .kind = "durable", .frame = frame, .expiry_ms = LATER};

    hand_expect("{\"data\":{" NAME "\"2026-03-15\",\"conversationHistory\":"
                "[]}}",
                &hand);
}

/* --- replacing ------------------------------------------------------------ */

TEST(expiry, is_replaced_by_a_document_that_has_one)
{
    begin();
    import_text(pdr_str_c(document("{}")));
    expire(LATER);
    import_text(pdr_str_c(document("{\"n\":2}")));
    ASSERT_INT(LATER, read_head().expiry_ms);
    expect("{\"n\":2," NAME DATE "}");
    import_text(pdr_str_c(document("{" NAME "7}")));
    ASSERT_INT(LATER, read_head().expiry_ms);
    expect("{" NAME "7}");
    import_text(pdr_str_c(document("{" NAME "\"2026-03-15\"}")));
    ASSERT_INT(1773532800000, read_head().expiry_ms);
    expect("{" NAME "\"2026-03-15\"}");
    import_text(pdr_str_c(document("{" NAME "null}")));
    ASSERT_INT(PDR_NEVER, read_head().expiry_ms);
    expect("{" NAME "null}");
    end();
}

/* Several commits, and the expiry behind all that is looked at before. */
TEST(expiry, may_stand_at_the_end_of_a_long_document)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), out = PDR_BUF_INIT(SIZE_MAX);

    begin();
    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL,
                                     "{\"schemaVersion\":\"1.1.0\",\"data\":{"
                                     "\"conversationHistory\":["));
    for (int i = 0; i < 10; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s{\"n\":\"%*d\"}",
                                         i > 0 ? "," : "", 1000000, i));
    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "],%s%s}}", NAME, DATE));
    import_text(pdr_buf_str(&text));
    ASSERT_INT(LATER, read_head().expiry_ms);
    ASSERT_RC(PDR_OK, hand_export(&out, store, ID, false, NULL, NULL));
    ASSERT(pdr_str_equal(pdr_buf_str(&text), pdr_buf_str(&out)));
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&out);
    end();
}

/* --- memory --------------------------------------------------------------- */

static void survive(const char *data)
{
    pdr_import_opts opts = {.ref = {.id = pdr_str_c(ID)}, .now_ms = 1000};
    char room[256];
    pdr_buf out = {room, 0, sizeof(room), sizeof(room)};
    pdr_str text = pdr_str_c(document(data));
    pdr_rc rc = pdr_store_open(&store, "memory:", NULL);

    if (rc == PDR_OK)
        rc = pdr_import(NULL, store, &opts, NULL, pdr_read_str, &text);
    if (rc == PDR_OK) {
        test_pause_failures(true);
        expire(LATER);
        test_pause_failures(false);
        rc = hand_export(&out, store, ID, false, NULL, NULL);
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    end();
}

TEST_OOM(expiry, survives_failed_allocations)
{
    survive("null");
}

TEST_OOM(expiry_of_a_document, survives_failed_allocations)
{
    survive("{" NAME "\"2026-03-15\"}");
}
