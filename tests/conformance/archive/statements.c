/* What is said of documents that are stored and come back, where they are
 * stored in a store. */
#include "archive_trip.h"
#include "corpus.h"
#include "test.h"

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

static pdr_rc put_in(const char *id, pdr_str text, pdr_err *err)
{
    pdr_import_opts opts = {
        .ref = {.id = pdr_str_c(id)}, .replace = true, .now_ms = 1000};

    return pdr_import(NULL, store, &opts, err, pdr_read_str, &text);
}

static void take_out(pdr_buf *out, const char *id)
{
    pdr_export_opts opts = {.ref = {.id = pdr_str_c(id)}};

    pdr_buf_clear(out);
    ASSERT_RC(PDR_OK, pdr_export(NULL, store, &opts, NULL, pdr_write_buf, out));
}

static void check_kept(const char *text)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = put_in("kept", pdr_str_c(text), &err);

    if (rc != PDR_OK)
        print_message("%s\n", err.message);
    ASSERT_RC(PDR_OK, rc);
    take_out(&out, "kept");
    ASSERT_TEXT(text, pdr_buf_str(&out));
    pdr_buf_dispose(&out);
}

/* --- whole documents ------------------------------------------------------ */

static size_t checked;

static void check_same(const char *path, pdr_str content)
{
    struct roundtrip_report report;

    checked++;
    if (!archive_check_unchanged(&report, &archive_ours, store, content))
        corpus_complain(path, "store", "%s", report.text);
}

static void check_state(const char *path, pdr_str content)
{
    pdr_value *value = NULL;

    if (pdr_state_read(&value, content, NULL, NULL) == PDR_OK)
        check_same(path, content);
    pdr_value_free(value);
}

static void check_session(const char *path, pdr_str content)
{
    pdr_session *session = NULL;
    pdr_value *value = NULL;

    if (pdr_json_read(&value, content, NULL, NULL) == PDR_OK &&
        pdr_session_from_value(&session, value, NULL) == PDR_OK)
        check_same(path, content);
    pdr_session_free(session);
    pdr_value_free(value);
}

TEST(stored_state_documents, come_back_byte_for_byte)
{
    COVERS("D-101");
    begin();
    checked = 0;
    (void)corpus_each_file("dotnet/durable", ".json", check_state);
    (void)corpus_each_file("python/durable", ".json", check_state);
    ASSERT_SIZE(53, checked);
    corpus_assert_no_complaint();
    end();
}

TEST(stored_sessions, come_back_byte_for_byte)
{
    begin();
    checked = 0;
    (void)corpus_each_file("dotnet/sessions", ".json", check_session);
    ASSERT(checked >= 30);
    corpus_assert_no_complaint();
    end();
}

/* --- state documents ------------------------------------------------------ */

TEST(first_document_of_a_session, has_its_version_first)
{
    COVERS("D-1");
    COVERS("D-17");
    pdr_edit edit = {.ref = {.id = pdr_str_c("@dafx-desk@k")},
                     .kind = pdr_str_c("durable"),
                     .expiry = PDR_EXPIRY_SET,
                     .expiry_ms = 1773568802000};
    pdr_commit_options options = {.now_ms = 1};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    pdr_iter it;

    begin();
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    take_out(&out, "@dafx-desk@k");
    ASSERT_RC(PDR_OK, pdr_state_read(&value, pdr_buf_str(&out), NULL, NULL));
    pdr_iter_init(&it, value);
    ASSERT(pdr_iter_next(&it));
    ASSERT(pdr_value_text_is(it.name, pdr_str_c("schemaVersion")));
    ASSERT(pdr_value_text_is(it.value, pdr_str_c("1.1.0")));
    ASSERT(pdr_iter_next(&it));
    ASSERT(pdr_value_text_is(it.name, pdr_str_c("data")));
    ASSERT(pdr_value_text_is(pdr_value_get_c(it.value, "expirationTimeUtc"),
                             pdr_str_c("2026-03-15T10:00:02Z")));
    pdr_value_free(value);
    pdr_buf_dispose(&out);
    end();
}

/* Give a session that came in another expiry; 0 ends it. */
static void move_expiry(const char *id, uint64_t revision, int64_t ms)
{
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                     .revision = revision,
                     .expiry = ms != 0 ? PDR_EXPIRY_SET : PDR_EXPIRY_CLEAR,
                     .expiry_ms = ms};
    pdr_commit_options options = {.now_ms = 1};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

TEST(stored_state_document, says_when_its_session_expires)
{
    COVERS("D-17");
    static const char *const texts[][3] = {
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"expirationTimeUtc\":"
         "\"2026-03-01T00:00:00+00:00\",\"conversationHistory\":[]}}",
         "{\"schemaVersion\":\"1.1.0\",\"data\":{\"expirationTimeUtc\":"
         "\"2026-03-15T10:00:02.25Z\",\"conversationHistory\":[]}}",
         "{\"schemaVersion\":\"1.1.0\",\"data\":{\"expirationTimeUtc\":"
         "null,\"conversationHistory\":[]}}"},
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{}}",
         "{\"schemaVersion\":\"1.1.0\",\"data\":{\"expirationTimeUtc\":"
         "\"2026-03-15T10:00:02.25Z\"}}",
         "{\"schemaVersion\":\"1.1.0\",\"data\":{}}"}};
    static const char *const ids[] = {"@dafx-desk@1", "@dafx-desk@2"};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    begin();
    for (size_t i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK, put_in(ids[i], pdr_str_c(texts[i][0]), NULL));
        take_out(&out, ids[i]);
        ASSERT_TEXT(texts[i][0], pdr_buf_str(&out));
        move_expiry(ids[i], 1, 1773568802250);
        take_out(&out, ids[i]);
        ASSERT_TEXT(texts[i][1], pdr_buf_str(&out));
        move_expiry(ids[i], 2, 0);
        take_out(&out, ids[i]);
        ASSERT_TEXT(texts[i][2], pdr_buf_str(&out));
    }
    pdr_buf_dispose(&out);
    end();
}

/* Append a turn to the stored session, and to the document. */
static void add_turn(const char *id, pdr_value **state)
{
    static const char *const bodies[] = {
        "{\"$type\":\"request\",\"correlationId\":\"new\",\"createdAt\":"
        "\"2026-03-01T10:00:00+00:00\",\"messages\":[]}",
        "{\"$type\":\"response\",\"correlationId\":\"new\",\"createdAt\":"
        "\"2026-03-01T10:00:01+00:00\",\"messages\":[]}"};
    pdr_entry entries[2];
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                     .revision = 1,
                     .entries = entries,
                     .entry_count = 2};
    pdr_commit_options options = {.now_ms = 2};

    memset(entries, 0, sizeof(entries));
    for (size_t i = 0; i < 2; i++) {
        pdr_value *entry = NULL;

        entries[i].kind = i == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
        entries[i].correlation_id = pdr_str_c("new");
        entries[i].body = pdr_str_c(bodies[i]);
        ASSERT_RC(PDR_OK, pdr_json_read(&entry, entries[i].body, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_state_append(state, entry, NULL));
        pdr_value_free(entry);
    }
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* A document with a turn more is what it was, and the turn. */
static void check_turn_more(pdr_str text)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *expected = NULL, *stored = NULL;

    ASSERT_RC(PDR_OK, pdr_state_read(&expected, text, NULL, NULL));
    ASSERT_RC(PDR_OK, put_in("@dafx-desk@k", text, NULL));
    add_turn("@dafx-desk@k", &expected);
    take_out(&out, "@dafx-desk@k");
    ASSERT_RC(PDR_OK, pdr_state_read(&stored, pdr_buf_str(&out), NULL, NULL));
    ASSERT(pdr_value_equal(expected, stored));
    pdr_value_free(expected);
    pdr_value_free(stored);
    pdr_buf_dispose(&out);
}

TEST(stored_sample, keeps_everything_when_a_turn_comes)
{
    COVERS("D-2");
    size_t len = 0;
    char *text = test_read_data("state/sample-c.json", &len);

    begin();
    check_turn_more(pdr_str_n(text, len));
    end();
    free(text);
}

TEST(stored_dates_and_texts, stay_as_they_were_when_a_turn_comes)
{
    COVERS("D-5");
    COVERS("D-20");
    COVERS("D-32");
    static const char text[] =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":["
        "{\"$type\":\"request\",\"correlationId\":\"a\",\"createdAt\":"
        "\"2026-02-03T08:20:01.1234567Z\",\"messages\":[{\"contents\":["
        "{\"$type\":\"text\",\"text\":\"' \\\" \xe2\x80\x99 \xf0\x9f\x98\x80 "
        "\\u0000 \\u0027\"}],\"role\":\"user\"}]},"
        "{\"$type\":\"response\",\"correlationId\":\"a\",\"createdAt\":"
        "\"yesterday\",\"messages\":[]}";
    char whole[1024];
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    (void)snprintf(whole, sizeof(whole), "%s]}}", text);
    begin();
    check_turn_more(pdr_str_c(whole));
    take_out(&out, "@dafx-desk@k");
    ASSERT(out.len > strlen(text));
    ASSERT_BYTES(pdr_str_c(text), pdr_str_n(out.ptr, strlen(text)));
    pdr_buf_dispose(&out);
    end();
}

TEST(stored_state, stays_as_it_was_when_another_is_refused)
{
    static const char good[] =
        "{\"schemaVersion\":\"1.0\",\"data\":{\"x\":1,"
        "\"conversationHistory\":[ {\"$type\":\"request\"} ]}}";
    static const char *const bad[] = {
        "{\"data\":{\"conversationHistory\":[]}}",
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"score\":NaN}}",
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"score\":-Infinity}}",
        "[]",
        "[[\"schemaVersion\",\"1.1.0\"],[\"data\",{}]]",
        "\"text\"",
        "5"};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    begin();
    ASSERT_RC(PDR_OK, put_in("@dafx-desk@k", pdr_str_c(good), NULL));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  put_in("@dafx-desk@k", pdr_str_c(bad[i]), &err));
        ASSERT(err.message[0] != '\0');
        take_out(&out, "@dafx-desk@k");
        ASSERT_TEXT(good, pdr_buf_str(&out));
    }
    pdr_buf_dispose(&out);
    end();
}

/* --- sessions ------------------------------------------------------------- */

TEST(stored_python_session, keeps_its_service_id)
{
    COVERS("S-88");
    begin();
    check_kept("{\"type\":\"session\",\"session_id\":\"a\","
               "\"service_session_id\":null,\"state\":{}}");
    check_kept("{\"type\":\"session\",\"session_id\":\"a\","
               "\"service_session_id\":\"svc\",\"state\":{\"k\":1}}");
    check_kept("{\"type\":\"session\",\"session_id\":\"a\","
               "\"service_session_id\":{\"x\":[1.50 ]},\"state\":{}}");
    end();
}

TEST(stored_session, keeps_what_nobody_knows)
{
    COVERS("S-92");
    COVERS("S-93");
    begin();
    check_kept("{\"owner\":1.0,\"stateBag\":{\"InMemoryChatHistoryProvider\":"
               "{\"messages\":[{\"role\":\"user\",\"mood\":[],\"contents\":["
               "{\"$type\":\"hologram\",\"x\":1},{\"$type\":\"text\",\"text\":"
               "\"\",\"font\":{}}]}],\"more\":0}},\"tenant\":null}");
    check_kept("{\"owner\":1.0,\"session_id\":\"s\",\"state\":{\"in_memory\":"
               "{\"messages\":[{\"role\":\"user\",\"mood\":[],\"contents\":["
               "{\"type\":\"hologram\",\"x\":1},{\"type\":\"text\",\"text\":"
               "\"\",\"font\":{}}]}],\"more\":0}},\"tenant\":null}");
    end();
}

TEST(stored_values, are_data_whatever_their_type_says)
{
    COVERS("S-90");
    begin();
    check_kept("{\"stateBag\":{\"m\":{\"type\":\"message\",\"body\":\"hi\"}}}");
    check_kept("{\"session_id\":\"s\",\"state\":{\"m\":{\"type\":\"message\","
               "\"body\":\"hi\"}}}");
    end();
}
