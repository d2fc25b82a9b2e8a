/* State documents against the schema files. */
#include <perdure/doc.h>

#include "corpus.h"
#include "test.h"

#include "base.h"

#define AT (PDR_TICKS_UNIX_EPOCH + 17700000005 * PDR_TICKS_PER_SECOND / 10)

static pdr_value *json(const char *text)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&value, pdr_str_c(text), NULL, &err) != PDR_OK)
        fail_msg("%s: %s", err.message, text);
    return value;
}

static pdr_value *read_file(const char *path)
{
    size_t len = 0;
    char *text = test_read_data(path, &len);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_n(text, len), NULL, NULL));
    free(text);
    return value;
}

static pdr_rc write_finding(const pdr_doc_finding *finding, pdr_err *err,
                            void *arg)
{
    ASSERT(finding->severity == PDR_SEVERITY_ERROR);
    ASSERT(finding->text.len > 0);
    return pdr_buf_printf(arg, err, "%s %.*s\n", finding->rule,
                          (int)finding->pointer.len, finding->pointer.ptr);
}

/* The findings, a line each; owned by the caller. */
static pdr_buf findings_of(const pdr_value *value, pdr_state_schema which)
{
    pdr_buf lines = PDR_BUF_INIT(100000);

    ASSERT_RC(PDR_OK, pdr_state_check_structure(value, which, NULL,
                                                write_finding, &lines));
    return lines;
}

static void assert_findings(const char *expected, const char *text,
                            pdr_state_schema which)
{
    pdr_value *value = json(text);
    pdr_buf lines = findings_of(value, which);

    ASSERT_TEXT(expected, pdr_buf_str(&lines));
    pdr_buf_dispose(&lines);
    pdr_value_free(value);
}

/* --- the files ----------------------------------------------------------- */

TEST(state_schema_text, is_the_file_in_the_tree)
{
    static const char *const names[] = {"tolerant", "strict"};
    static const pdr_state_schema which[] = {PDR_STATE_TOLERANT,
                                             PDR_STATE_STRICT};

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        char path[100];
        size_t len = 0;

        snprintf(path, sizeof(path),
                 "../../schemas/durable-agent-state.%s.json", names[i]);
        char *text = test_read_data(path, &len);
        ASSERT_BYTES(pdr_str_n(text, len), pdr_state_schema_text(which[i]));
        free(text);
    }
}

/* --- tolerant ------------------------------------------------------------ */

TEST(tolerant_schema, accepts_the_samples)
{
    COVERS("D-21");
    static const char *const paths[] = {"schemas/sample-a.json",
                                        "schemas/sample-b.json",
                                        "schemas/sample-c.json"};

    for (size_t i = 0; i < PDR_COUNT(paths); i++) {
        pdr_value *value = read_file(paths[i]);
        pdr_buf lines = findings_of(value, PDR_STATE_TOLERANT);

        ASSERT_TEXT("", pdr_buf_str(&lines));
        pdr_buf_dispose(&lines);
        pdr_value_free(value);
    }
}

static size_t accepted;

static void accept_document(const char *path, pdr_str content)
{
    pdr_value *value = NULL;
    const char *name = strrchr(path, '/') + 1;

    if (name[0] > '2') /* payloads, handles, verdicts */
        return;
    ASSERT_RC(PDR_OK, pdr_json_read(&value, content, NULL, NULL));
    if (pdr_state_gate(value, NULL) == PDR_OK) {
        pdr_buf lines = findings_of(value, PDR_STATE_TOLERANT);

        if (lines.len > 0)
            corpus_complain(path, "tolerant", "%.*s", (int)lines.len,
                            lines.ptr);
        pdr_buf_dispose(&lines);
        accepted++;
    }
    pdr_value_free(value);
}

TEST(tolerant_schema, accepts_every_document_of_the_editions_that_we_read)
{
    accepted = 0;
    corpus_each_file("dotnet/durable", ".json", accept_document);
    corpus_each_file("python/durable", ".json", accept_document);
    corpus_assert_no_complaint();
    ASSERT_SIZE(53, accepted);
}

TEST(tolerant_schema, names_what_is_strange)
{
    assert_findings("schema-type \n", "[]", PDR_STATE_TOLERANT);
    assert_findings("schema-required \nschema-required \n", "{}",
                    PDR_STATE_TOLERANT);
    assert_findings("schema-pattern /schemaVersion\n",
                    "{\"schemaVersion\":\"2.0.0\",\"data\":null}",
                    PDR_STATE_TOLERANT);
    assert_findings(
        "schema-type /data/conversationHistory/0\n"
        "schema-type /data/conversationHistory/1/messages/0/contents/0/text\n"
        "schema-type /data/conversationHistory/1/messages/0/contents/1/callId\n"
        "schema-type /data/conversationHistory/1/messages/0/role\n"
        "schema-type /data/conversationHistory/1/usage/totalTokenCount\n",
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[null,"
        "{\"$type\":\"response\",\"messages\":[{\"contents\":[{\"$type\":"
        "\"text\",\"text\":5},{\"$type\":\"functionCall\",\"callId\":null,"
        "\"name\":\"f\",\"arguments\":[1]}],\"role\":7}],\"usage\":{"
        "\"totalTokenCount\":1.5}}]}}",
        PDR_STATE_TOLERANT);
}

TEST(tolerant_schema, lets_what_nobody_knows_be)
{
    assert_findings(
        "",
        "{\"schemaVersion\":\"1.9\",\"new\":1,\"data\":{\"x\":[],"
        "\"conversationHistory\":[{\"$type\":\"note\",\"messages\":5},{},"
        "{\"json_type\":\"response\",\"messages\":null},{\"$type\":\"request\","
        "\"messages\":[{\"role\":\"agent\",\"contents\":[{\"$type\":\"hologram\""
        ",\"text\":5},{},{\"$type\":\"text\"},{\"$type\":\"text\",\"text\":null"
        "}]}]}]}}",
        PDR_STATE_TOLERANT);
}

/* As pdr_entry_kind_of() does. */
TEST(tolerant_schema, looks_at_json_type_only_without_a_type)
{
    assert_findings(
        "schema-type /data/conversationHistory/1/correlationId\n"
        "schema-type /data/conversationHistory/2/correlationId\n"
        "schema-type /data/conversationHistory/3/correlationId\n"
        "schema-type /data/conversationHistory/4/isError\n",
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":["
        "{\"$type\":\"note\",\"json_type\":\"request\",\"correlationId\":5},"
        "{\"json_type\":\"request\",\"correlationId\":5},"
        "{\"$type\":null,\"json_type\":\"response\",\"correlationId\":5},"
        "{\"$type\":\"\",\"json_type\":\"request\",\"correlationId\":5},"
        "{\"$type\":\"response\",\"json_type\":\"request\","
        "\"orchestrationId\":5,\"isError\":5}]}}",
        PDR_STATE_TOLERANT);
}

/* The schema in tests/data that has the facts of the published one. */
static bool passes_published(const pdr_value *value)
{
    pdr_value *source = read_file("schemas/published.json");
    pdr_schema *schema = NULL;
    bool valid = false;

    ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    pdr_schema_free(schema);
    pdr_value_free(source);
    return valid;
}

TEST(tolerant_schema, accepts_nulls_that_the_published_one_refuses)
{
    COVERS("D-22");
    pdr_value *value =
        json("{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
             "\"$type\":\"response\",\"correlationId\":\"5d1e\",\"createdAt\":"
             "\"2026-02-03T08:20:01.000200+00:00\",\"messages\":[{\"role\":"
             "\"assistant\",\"contents\":[{\"$type\":\"error\",\"message\":"
             "\"quota\",\"errorCode\":null,\"details\":null}]}]}]}}");
    pdr_value *sample = read_file("schemas/sample-b.json");
    pdr_buf lines = findings_of(value, PDR_STATE_TOLERANT);

    ASSERT(!passes_published(value));
    ASSERT(passes_published(sample)); /* the same with a text there */
    ASSERT_TEXT("", pdr_buf_str(&lines));
    pdr_buf_dispose(&lines);
    pdr_value_free(sample);
    pdr_value_free(value);
}

/* --- strict -------------------------------------------------------------- */

/* One message with every kind of content, and everything that each can have. */
#define EVERY_CONTENT                                                          \
    "[{\"authorName\":\"A\",\"createdAt\":\"2026-02-03T08:15:00.1204+00:00\"," \
    "\"contents\":[{\"$type\":\"text\",\"text\":\"hi\"},"                      \
    "{\"$type\":\"reasoning\",\"text\":\"so\",\"protectedData\":\"x\"},"       \
    "{\"$type\":\"data\",\"uri\":\"data:,x\",\"mediaType\":\"text/plain\","    \
    "\"name\":\"n\"},"                                                         \
    "{\"$type\":\"uri\",\"uri\":\"http://x\",\"mediaType\":\"image/png\"},"    \
    "{\"$type\":\"error\",\"message\":\"m\",\"errorCode\":\"c\",\"details\":"  \
    "\"d\",\"detailsJson\":[1,null]},"                                         \
    "{\"$type\":\"functionCall\",\"arguments\":{\"a\":null},\"callId\":\"c\"," \
    "\"name\":\"f\",\"argumentsText\":\"[\",\"informationalOnly\":false},"     \
    "{\"$type\":\"functionResult\",\"callId\":\"c\",\"result\":[null]},"       \
    "{\"$type\":\"hostedFile\",\"fileId\":\"f\",\"mediaType\":\"a/b\","        \
    "\"name\":\"n\",\"sizeInBytes\":3,\"createdAt\":\"2026-02-03\","           \
    "\"purpose\":\"p\",\"scope\":\"s\"},"                                      \
    "{\"$type\":\"hostedVectorStore\",\"vectorStoreId\":\"v\"},"               \
    "{\"$type\":\"usage\",\"usage\":{\"inputTokenCount\":1,"                   \
    "\"audioTokenCount\":2}},"                                                 \
    "{\"$type\":\"unknown\",\"content\":null,\"annotations\":[{\"$type\":"     \
    "\"citation\"}],\"additionalProperties\":{\"perdure\":{}}}],"              \
    "\"role\":\"assistant\",\"messageId\":\"m1\",\"additionalProperties\":"    \
    "{\"a\":null}}]"

static void append(pdr_value **state, const pdr_entry_parts *parts)
{
    pdr_value *entry = NULL;

    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, parts, NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(state, entry, NULL));
    pdr_value_free(entry);
}

/* A document with every member that we write. */
static pdr_value *full_document(void)
{
    pdr_value *state = NULL, *messages = json(EVERY_CONTENT);
    pdr_value *schema = json("{\"type\":\"object\"}");
    pdr_value *usage = json("{\"inputTokenCount\":5,\"outputTokenCount\":"
                            "6,\"totalTokenCount\":11,\"cachedInputTokenCount\""
                            ":4,\"reasoningTokenCount\":1,\"x\":0}");

    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    append(&state, &(pdr_entry_parts){.kind = PDR_ENTRY_REQUEST,
                                      .correlation_id = PDR_LIT("c1"),
                                      .created_at = AT,
                                      .messages = messages,
                                      .orchestration_id = PDR_LIT("o"),
                                      .response_type = PDR_LIT("json"),
                                      .response_schema = schema});
    append(&state, &(pdr_entry_parts){.kind = PDR_ENTRY_RESPONSE,
                                      .correlation_id = PDR_LIT("c1"),
                                      .created_at = AT + 1234560,
                                      .messages = messages,
                                      .usage = usage,
                                      .is_error = true});
    append(&state, &(pdr_entry_parts){.kind = PDR_ENTRY_REQUEST,
                                      .correlation_id = PDR_LIT("c2"),
                                      .created_at = 1});
    ASSERT_RC(PDR_OK, pdr_state_set_expiration(&state, AT, NULL));
    pdr_value_free(usage);
    pdr_value_free(schema);
    pdr_value_free(messages);
    return state;
}

TEST(strict_schema, accepts_what_we_make)
{
    COVERS("D-21");
    pdr_value *empty = NULL, *full = full_document();
    pdr_buf lines = findings_of(full, PDR_STATE_STRICT);

    ASSERT_TEXT("", pdr_buf_str(&lines));
    pdr_buf_dispose(&lines);
    ASSERT_RC(PDR_OK, pdr_state_new(&empty, NULL));
    lines = findings_of(empty, PDR_STATE_STRICT);
    ASSERT_TEXT("", pdr_buf_str(&lines));
    pdr_buf_dispose(&lines);
    /* What is strict is tolerable. */
    lines = findings_of(full, PDR_STATE_TOLERANT);
    ASSERT_TEXT("", pdr_buf_str(&lines));
    pdr_buf_dispose(&lines);
    pdr_value_free(empty);
    pdr_value_free(full);
}

/* Put `what` at `pointer` of the full document; the strict schema must find
 * `rule` at `where`, or at `pointer` if that is NULL. */
static void assert_refused(const char *pointer, const char *what,
                           const char *rule, const char *where)
{
    pdr_value *state = full_document(), *value = json(what);
    char expected[300];

    snprintf(expected, sizeof(expected), "%s %s\n", rule,
             where != NULL ? where : pointer);
    ASSERT_RC(PDR_OK, pdr_pointer_set(&state, pdr_str_c(pointer), value, NULL));
    pdr_buf lines = findings_of(state, PDR_STATE_STRICT);
    ASSERT_TEXT(expected, pdr_buf_str(&lines));
    pdr_buf_dispose(&lines);
    pdr_value_free(value);
    pdr_value_free(state);
}

#define ENTRY0   "/data/conversationHistory/0"
#define ENTRY1   "/data/conversationHistory/1"
#define MESSAGE  ENTRY0 "/messages/0"
#define CONTENTS MESSAGE "/contents"

TEST(strict_schema, refuses_a_member_that_it_does_not_name)
{
    static const char *const places[] = {"",
                                         "/data",
                                         ENTRY0,
                                         ENTRY1,
                                         MESSAGE,
                                         CONTENTS "/0",
                                         CONTENTS "/1",
                                         CONTENTS "/2",
                                         CONTENTS "/3",
                                         CONTENTS "/4",
                                         CONTENTS "/5",
                                         CONTENTS "/6",
                                         CONTENTS "/7",
                                         CONTENTS "/8",
                                         CONTENTS "/9",
                                         CONTENTS "/10"};

    for (size_t i = 0; i < PDR_COUNT(places); i++) {
        char pointer[200];

        snprintf(pointer, sizeof(pointer), "%s/newMember", places[i]);
        assert_refused(pointer, "1", "schema-additionalProperties", NULL);
    }
}

TEST(strict_schema, refuses_nulls_other_kinds_and_other_spellings)
{
    static const char *const rows[][3] = {
        {"/schemaVersion", "\"1.2.0\"", "schema-enum"},
        {"/data", "null", "schema-type"},
        {"/data/conversationHistory", "null", "schema-type"},
        {"/data/expirationTimeUtc", "null", "schema-type"},
        {"/data/expirationTimeUtc", "\"2026-02-03T08:15:00+00:00\"",
         "schema-pattern"},
        {ENTRY0, "null", "schema-type"},
        {ENTRY0 "/$type", "\"note\"", "schema-enum"},
        {ENTRY0 "/orchestrationId", "null", "schema-type"},
        {ENTRY0 "/responseType", "\"xml\"", "schema-enum"},
        {ENTRY0 "/responseSchema", "true", "schema-type"},
        {ENTRY0 "/correlationId", "\"\"", "schema-minLength"},
        {ENTRY0 "/createdAt", "\"2026-02-03T08:15:00Z\"", "schema-pattern"},
        {ENTRY0 "/createdAt", "\"2026-02-03T08:15:00.1234567+00:00\"",
         "schema-pattern"},
        {ENTRY0 "/messages", "null", "schema-type"},
        {ENTRY1 "/isError", "false", "schema-const"},
        {ENTRY1 "/usage", "null", "schema-type"},
        {ENTRY1 "/usage/inputTokenCount", "null", "schema-type"},
        {ENTRY1 "/usage/inputTokenCount", "9223372036854775808",
         "schema-maximum"},
        {ENTRY1 "/usage/other", "\"1\"", "schema-type"},
        {ENTRY1 "/usage/snake_Case", "{}", "schema-type"},
        {MESSAGE "/role", "\"\"", "schema-minLength"},
        {MESSAGE "/createdAt", "\"2026-02-03\"", "schema-pattern"},
        {MESSAGE "/createdAt", "\"2026-02-03T08:15:00\"", "schema-pattern"},
        {MESSAGE "/contents", "null", "schema-type"},
        {MESSAGE "/authorName", "null", "schema-type"},
        {CONTENTS "/0/text", "null", "schema-type"},
        {CONTENTS "/0/$type", "\"hologram\"", "schema-enum"},
        {CONTENTS "/2/uri", "\"http://x\"", "schema-pattern"},
        {CONTENTS "/4/details", "{}", "schema-type"},
        {CONTENTS "/5/arguments", "[]", "schema-type"},
        {CONTENTS "/6/result", "null", "schema-not"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        assert_refused(rows[i][0], rows[i][1], rows[i][2], NULL);
}

TEST(strict_schema, wants_what_the_strictest_reader_needs)
{
    static const char *const members[] = {"/schemaVersion",
                                          "/data",
                                          "/data/conversationHistory",
                                          ENTRY0 "/$type",
                                          ENTRY0 "/correlationId",
                                          ENTRY0 "/createdAt",
                                          ENTRY0 "/messages",
                                          ENTRY1 "/correlationId",
                                          ENTRY1 "/createdAt",
                                          ENTRY1 "/messages",
                                          MESSAGE "/role",
                                          MESSAGE "/contents",
                                          CONTENTS "/0/$type",
                                          CONTENTS "/0/text",
                                          CONTENTS "/2/uri",
                                          CONTENTS "/3/uri",
                                          CONTENTS "/3/mediaType",
                                          CONTENTS "/5/callId",
                                          CONTENTS "/5/name",
                                          CONTENTS "/5/arguments",
                                          CONTENTS "/6/callId",
                                          CONTENTS "/7/fileId",
                                          CONTENTS "/8/vectorStoreId",
                                          CONTENTS "/9/usage",
                                          CONTENTS "/10/content"};

    for (size_t i = 0; i < PDR_COUNT(members); i++) {
        pdr_value *state = full_document();
        pdr_buf lines = PDR_BUF_INIT(10000);
        char expected[200];

        snprintf(expected, sizeof(expected), "schema-required %.*s\n",
                 (int)(strrchr(members[i], '/') - members[i]), members[i]);
        ASSERT_RC(PDR_OK,
                  pdr_pointer_remove(&state, pdr_str_c(members[i]), NULL));
        lines = findings_of(state, PDR_STATE_STRICT);
        ASSERT_TEXT(expected, pdr_buf_str(&lines));
        pdr_buf_dispose(&lines);
        pdr_value_free(state);
    }
}

/* --- the call ------------------------------------------------------------ */

static pdr_rc refuse(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding;
    (void)arg;
    return pdr_err_set(err, PDR_ECANCELLED, "mine", "%s", "stop");
}

TEST(state_check_structure, ends_with_what_the_callback_returns)
{
    pdr_value *value = json("{}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECANCELLED, pdr_state_check_structure(value, PDR_STATE_STRICT,
                                                        &err, refuse, NULL));
    ASSERT_STR("mine", err.reason);
    ASSERT_RC(PDR_OK, pdr_state_check_structure(value, PDR_STATE_STRICT, &err,
                                                NULL, NULL));
    pdr_value_free(value);
}

static pdr_rc ignore(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding;
    (void)err;
    (void)arg;
    return PDR_OK;
}

TEST_OOM(state_check_structure, cleans_up_after_any_failed_allocation)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(
        &value, PDR_LIT("{\"schemaVersion\":\"\",\"data\":{}}"), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_state_check_structure(value, PDR_STATE_STRICT, NULL, ignore,
                                       NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(value);
}
