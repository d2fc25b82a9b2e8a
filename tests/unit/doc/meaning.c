/* The check of meaning: each rule, its place, and the order of findings. */
#include "doc_text.h"

#include "meaning.h"

#define AT "/data/conversationHistory"

static void check_value(const char *expected, pdr_value *value)
{
    pdr_buf found = PDR_BUF_INIT(1u << 20);

    ASSERT_RC(PDR_OK,
              pdr_state_check_meaning(value, NULL, note_finding, &found));
    ASSERT_TEXT(expected, pdr_buf_str(&found));
    pdr_buf_dispose(&found);
    pdr_value_free(value);
}

static void check(const char *expected, const char *document)
{
    check_value(expected, doc_value(document));
}

static void check_entries(const char *expected, const char *entries)
{
    check_value(expected, doc_of(entries));
}

/* A turn around the messages of its response. */
#define REQUEST(id)                                                    \
    "{'$type':'request','correlationId':'" id                          \
    "','createdAt':'2026-02-03T08:15:00Z','messages':[{'role':'user'," \
    "'contents':[{'$type':'text','text':'hi'}]}]}"
#define RESPONSE(id, messages)                 \
    "{'$type':'response','correlationId':'" id \
    "','createdAt':'2026-02-03T08:15:01Z','messages':[" messages "]}"
#define SAYS(role, contents) "{'role':'" role "','contents':[" contents "]}"
#define CALL(id) \
    "{'$type':'functionCall','callId':'" id "','name':'f','arguments':{}}"
#define RESULT(id)         "{'$type':'functionResult','callId':'" id "','result':1}"
#define TURN(id, messages) REQUEST(id) "," RESPONSE(id, messages)

static void check_messages(const char *expected, const char *messages)
{
    size_t size = strlen(messages) + 1000;
    char *text = malloc(size);

    ASSERT(text != NULL);
    (void)snprintf(text, size, REQUEST("c") "," RESPONSE("c", "%s"), messages);
    check_entries(expected, text);
    free(text);
}

TEST(state_check_meaning, finds_nothing_in_a_sound_document)
{
    check_entries("", "");
    check_messages("", SAYS("assistant", CALL("1")) "," SAYS(
                           "tool", RESULT("1")) "," SAYS("assistant", ""));
}

TEST(state_check_meaning, names_what_the_gate_refuses)
{
    check("error root-not-object \n", "[]");
    check("error version-missing \nerror data-missing \n", "{}");
    check("error version-invalid /schemaVersion\nerror data-invalid /data\n",
          "{'schemaVersion':5,'data':[]}");
    check("error version-unsupported /schemaVersion\ninfo data-null /data\n",
          "{'schemaVersion':'2.0.0','data':null}");
    check("info version-newer /schemaVersion\ninfo list-missing /data\n",
          "{'schemaVersion':'1.7.3','data':{}}");
    check("error version-invalid /schemaVersion\n"
          "warning lone-surrogate /schemaVersion\ninfo list-missing /data\n",
          "{'schemaVersion':'\\ud800','data':{}}");
}

TEST(state_check_meaning, reports_lists_and_elements_that_are_none)
{
    check("info list-null " AT "\n",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':null}}");
    check("warning list-invalid " AT "\n",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':{}}}");
    check_entries("warning element-not-object " AT "/0\n"
                  "warning element-not-object " AT "/1\n",
                  "5,null");
    check_messages("warning element-not-object " AT "/1/messages/0\n"
                   "info list-missing " AT "/1/messages/1\n"
                   "info list-null " AT "/1/messages/2/contents\n"
                   "warning element-not-object " AT
                   "/1/messages/3/contents/0\n",
                   "7,{'role':'user'},{'role':'user','contents':null}," SAYS(
                       "user", "'x'"));
    check_entries(
        "info list-missing " AT "/0\nwarning response-without-request " AT
        "/1\nwarning list-invalid " AT "/1/messages\n",
        "{'$type':'request','correlationId':'a','createdAt':'2026-01-01'},"
        "{'$type':'response','correlationId':'b','createdAt':'2026-01-01',"
        "'messages':'x'},{'$type':'response','correlationId':'a',"
        "'createdAt':'2026-01-01','messages':[]}");
}

TEST(state_check_meaning, reports_kinds_that_nobody_knows)
{
    check_entries("info entry-kind-unknown " AT "/0\n"
                  "warning type-not-text " AT "/1/$type\n"
                  "info entry-kind-unknown " AT "/2\n",
                  "{'$type':'annotation','messages':[{}],'createdAt':'x'},"
                  "{'$type':7},{}");
    check_messages("info content-kind-unknown " AT "/1/messages/0/contents/0\n"
                   "warning type-not-text " AT
                   "/1/messages/0/contents/1/$type\n"
                   "info content-kind-unknown " AT "/1/messages/0/contents/2\n",
                   SAYS("user", "{'$type':'hologram'},{'$type':[]},{'a':1}"));
}

TEST(state_check_meaning, reports_calls_without_a_result)
{
    check_messages("error call-without-result " AT "/1/messages/0/contents/1\n",
                   SAYS("assistant",
                        CALL("1") "," CALL("2")) "," SAYS("tool", RESULT("1")));
    /* A client that runs the tools itself sends the result later. */
    check_entries(
        "",
        TURN(
            "a",
            SAYS(
                "assistant",
                CALL(
                    "1"))) ","
                           "{'$type':'request','correlationId':'b','createdAt':"
                           "'2026-02-03T08:16:00Z','messages':[" SAYS(
                               "tool",
                               RESULT(
                                   "1")) "]},"
                                         "{'$type':'response','correlationId':'b','createdAt':"
                                         "'2026-02-03T08:16:00Z','messages':[]}");
}

TEST(state_check_meaning, takes_the_last_unfinished_turn_as_going_on)
{
    check_entries(
        "warning request-without-response " AT "/0\n"
        "warning call-without-result " AT "/0/messages/0/contents/0\n",
        "{'$type':'request','correlationId':'a','createdAt':'2026-02-03',"
        "'messages':[" SAYS("assistant", CALL("1")) "]}");
    check_entries(
        "warning request-without-response " AT "/0\n"
        "error call-without-result " AT "/0/messages/0/contents/0\n",
        "{'$type':'request','correlationId':'a','createdAt':'2026-02-03',"
        "'messages':[" SAYS("assistant", CALL("1")) "]}," TURN("b", ""));
}

TEST(state_check_meaning, knows_calls_that_wait_for_approval)
{
    COVERS("D-112");
    static const char *const requests[] = {
        "{'$type':'toolApprovalRequest','requestId':'r',"
        "'toolCall':{'$type':'functionCall','callId':'1'}}",
        "{'$type':'functionApprovalRequest','id':'r',"
        "'functionCall':{'callId':'1'}}",
        "{'type':'function_approval_request','id':'r',"
        "'function_call':{'type':'function_call','call_id':'1'}}",
    };

    for (size_t i = 0; i < 3; i++) {
        char messages[1000];

        (void)snprintf(
            messages, sizeof(messages),
            SAYS("assistant", CALL("1") ",{'$type':'unknown','content':%s}"),
            requests[i]);
        check_messages("info call-waits-for-approval " AT
                       "/1/messages/0/contents/0\n",
                       messages);
    }
    /* Of another call, in another message, or an answer: no approval. */
    check_messages(
        "error call-without-result " AT "/1/messages/0/contents/0\n",
        SAYS(
            "assistant",
            CALL(
                "1") ",{'$type':'unknown','content':{'type':"
                     "'function_approval_request','function_call':"
                     "{'call_id':'2'}}},{'$type':'unknown','content':"
                     "{'type':'function_approval_response',"
                     "'function_call':{'call_id':'1'}}}") "," SAYS("assistant",
                                                                   "{'$type':'unknown','content':{'type':"
                                                                   "'function_approval_request','function_call':"
                                                                   "{'call_id':'1'}}}"));
}

TEST(state_check_meaning, accepts_the_waiting_call_of_the_real_agent)
{
    size_t len = 0;
    char *text = test_read_data(
        "python/durable/25-approval-request.1.0.0b260922.json", &len);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_n(text, len), NULL, NULL));
    check_value("info call-waits-for-approval " AT "/1/messages/0/contents/0\n"
                "info entries-out-of-order " AT "/2/createdAt\n",
                value);
    free(text);
}

TEST(state_check_meaning, reports_results_in_the_wrong_place)
{
    check_messages("error result-without-call " AT "/1/messages/0/contents/0\n",
                   SAYS("tool", RESULT("1")));
    check_messages("error result-before-call " AT "/1/messages/0/contents/0\n",
                   SAYS("tool", RESULT("1")) "," SAYS("assistant", CALL("1")));
    check_messages("error result-twice " AT "/1/messages/1/contents/1\n",
                   SAYS("assistant", CALL("1")) "," SAYS(
                       "tool", RESULT("1") "," RESULT("1")));
    /* The early one is alone if a later one answers. */
    check_messages("error result-without-call " AT "/1/messages/0/contents/0\n",
                   SAYS("tool", RESULT("1")) "," SAYS(
                       "assistant", CALL("1")) "," SAYS("tool", RESULT("1")));
}

TEST(state_check_meaning, reports_ids_that_name_nothing_or_too_much)
{
    check_messages("warning call-id-twice " AT "/1/messages/0/contents/1\n",
                   SAYS("assistant", CALL("1") "," CALL("1")) "," SAYS(
                       "tool", RESULT("1") "," RESULT("1")));
    check_messages(
        "warning call-id-missing " AT "/1/messages/0/contents/0\n"
        "warning call-id-missing " AT "/1/messages/0/contents/1\n"
        "warning call-id-missing " AT "/1/messages/1/contents/0\n"
        "warning call-id-missing " AT "/1/messages/1/contents/1\n",
        SAYS(
            "assistant",
            CALL(
                "") ",{'$type':'functionCall',"
                    "'callId':null}") "," SAYS("tool",
                                               "{'$type':'functionResult','callId':5}," RESULT(
                                                   "")));
    /* The same id in another turn is no reuse. */
    check_entries(
        "info entries-out-of-order " AT "/2/createdAt\n",
        TURN("a",
             SAYS("assistant", CALL("1")) "," SAYS(
                 "tool",
                 RESULT("1"))) "," TURN("b",
                                        SAYS("assistant", CALL("1")) "," SAYS(
                                            "tool", RESULT("1"))));
}

TEST(state_check_meaning, reports_turns_that_do_not_fit)
{
    check_entries("warning request-without-response " AT "/0\n", REQUEST("a"));
    check_entries("warning response-without-request " AT "/0\n",
                  RESPONSE("a", ""));
    check_entries("warning response-before-request " AT "/0\n"
                  "info entries-out-of-order " AT "/1/createdAt\n",
                  RESPONSE("a", "") "," REQUEST("a"));
    check_entries("warning correlation-id-twice " AT "/2\n"
                  "info entries-out-of-order " AT "/2/createdAt\n"
                  "warning correlation-id-twice " AT "/3\n",
                  TURN("a", "") "," TURN("a", ""));
    check_entries("warning correlation-id-missing " AT "/0\n"
                  "warning correlation-id-missing " AT "/1\n"
                  "warning correlation-id-missing " AT "/2\n",
                  "{'$type':'request','createdAt':'2026-01-01','messages':[]},"
                  "{'$type':'request','createdAt':'2026-01-01','messages':[],"
                  "'correlationId':5}," REQUEST(""));
    check_entries(
        "info error-response " AT "/1\n",
        TURN("a", SAYS("assistant", "{'$type':'error','message':'m'}")));
}

TEST(state_check_meaning, reports_dates_that_do_not_fit)
{
    check_entries("warning date-missing " AT "/0\n"
                  "warning date-unreadable " AT "/1/createdAt\n",
                  "{'$type':'request','correlationId':'a','messages':[]},"
                  "{'$type':'response','correlationId':'a','messages':[],"
                  "'createdAt':'soon'}");
    check_entries("warning response-earlier-than-request " AT "/1/createdAt\n",
                  REQUEST("a") ",{'$type':'response','correlationId':'a',"
                               "'messages':[],'createdAt':'2026-01-01'}");
    check_entries(
        "info message-time-outside " AT "/0/messages/0/createdAt\n"
        "info message-time-outside " AT "/1/messages/0/createdAt\n"
        "warning date-unreadable " AT "/1/messages/1/createdAt\n"
        "warning lone-surrogate " AT "/1/messages/1/createdAt\n"
        "info entry-kind-unknown " AT "/2\n",
        "{'$type':'request','correlationId':'a','createdAt':'2026-02-02',"
        "'messages':[{'createdAt':'2026-02-05','role':'u','contents':[]}]},"
        "{'$type':'response','correlationId':'a','createdAt':'2026-02-03',"
        "'messages':[{'createdAt':'2026-02-01','role':'u','contents':[]},"
        "{'createdAt':'2026-02-01\\ud800x','role':'u','contents':[]}]}"
        ",{'$type':'note'}");
}

TEST(state_check_meaning, looks_at_the_time_of_expiry)
{
#define EXPIRES(text)                                            \
    "{'schemaVersion':'1.1.0','data':{'expirationTimeUtc':" text \
    ",'conversationHistory':[" TURN("a", "") "]}}"
    check("", EXPIRES("null"));
    check("", EXPIRES("'2026-02-17T08:15:00Z'"));
    check("warning expiration-unreadable /data/expirationTimeUtc\n",
          EXPIRES("'never'"));
    check("warning expiration-unreadable /data/expirationTimeUtc\n",
          EXPIRES("5"));
    check("warning expiration-without-z /data/expirationTimeUtc\n",
          EXPIRES("'2026-02-17T08:15:00+00:00'"));
    check("info expiration-past /data/expirationTimeUtc\n",
          EXPIRES("'2026-02-01T08:15:00Z'"));
}

TEST(state_check_meaning, looks_at_counts)
{
    check_entries(
        "info counts-do-not-add-up " AT "/1/usage\n"
        "info count-negative " AT "/1/usage/inputTokenCount\n",
        REQUEST("a") ",{'$type':'response','correlationId':'a',"
                     "'createdAt':'2026-02-04','messages':[],'usage':"
                     "{'inputTokenCount':-1,'outputTokenCount':2,"
                     "'totalTokenCount':3,'cachedInputTokenCount':null}}");
    check_messages(
        "warning count-not-integer " AT "/1/messages/0/contents/0/"
        "usage/totalTokenCount\n"
        "warning usage-not-object " AT "/1/messages/0/contents/1/usage\n",
        SAYS("assistant", "{'$type':'usage','usage':{'totalTokenCount':1.5}},"
                          "{'$type':'usage','usage':5},"
                          "{'$type':'usage','usage':null},"
                          "{'$type':'text','usage':{'totalTokenCount':'x'}}"));
    /* A request has no usage: the name means nothing there. */
    check_entries("warning request-without-response " AT "/0\n",
                  "{'$type':'request','correlationId':'a','createdAt':"
                  "'2026-01-01','messages':[],"
                  "'usage':{'totalTokenCount':'x'}}");
}

TEST(state_check_meaning, looks_at_data_uris)
{
    check_messages("", SAYS("user", "{'$type':'data','uri':'data:,a%20b'},"
                                    "{'$type':'data','uri':'data:a/b;base64,"
                                    "SGk='},{'$type':'data','uri':"
                                    "'data:;base64,'},{'$type':'data','uri':"
                                    "'data:;base64,+/aZ09=='},{'$type':"
                                    "'data','uri':'DATA:a/b;BASE64,SGk='},"
                                    "{'$type':'uri','uri':'x'}"));
    check_messages(
        "warning data-uri-invalid " AT "/1/messages/0/contents/0/uri\n"
        "warning data-uri-invalid " AT "/1/messages/0/contents/1/uri\n"
        "warning data-uri-invalid " AT "/1/messages/0/contents/2/uri\n"
        "warning data-uri-invalid " AT "/1/messages/0/contents/3/uri\n"
        "warning data-uri-invalid " AT "/1/messages/0/contents/4/uri\n"
        "warning data-uri-invalid " AT "/1/messages/0/contents/5/uri\n",
        SAYS("user", "{'$type':'data','uri':'http://x/y'},"
                     "{'$type':'data','uri':'data:text/plain'},"
                     "{'$type':'data','uri':'data:a/b;base64,SGk'},"
                     "{'$type':'data','uri':'data:a/b;base64,!!!!'},"
                     "{'$type':'data','uri':'Data:a/b;Base64,S'},"
                     "{'$type':'data','uri':null}"));
}

TEST(state_check_meaning, reports_names_in_the_order_of_the_document)
{
    check("warning duplicate-name /schemaVersion\n"
          "warning lone-surrogate /x/\xED\xA0\x80\n"
          "info reserved-name /data/session\n"
          "info reserved-name /data/terminalResults\n"
          "warning duplicate-name " AT "\n",
          "{'schemaVersion':'x','schemaVersion':'1.1.0','x':{'\\ud800':1},"
          "'data':{'session':1,'conversationHistory':7,'terminalResults':{},"
          "'conversationHistory':[]}}");
    check("warning duplicate-name /data/r\n",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':[],"
          "'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,'i':1,'j':1,'k':1,"
          "'l':1,'m':1,'n':1,'o':1,'p':1,'q':1,'r':1,'r':2,'s':1}}");
    check_messages("warning role-missing " AT "/1/messages/0\n"
                   "warning lone-surrogate " AT
                   "/1/messages/0/contents/0/text\n",
                   "{'contents':[{'$type':'text','text':'\\udc00'}]}");
}

TEST(state_check_meaning, gives_results_to_the_message_that_used_an_id_last)
{
    check_messages("error call-without-result " AT "/1/messages/0/contents/0\n",
                   SAYS("assistant", CALL("1")) "," SAYS(
                       "assistant",
                       CALL("2") "," CALL(
                           "3")) "," SAYS("tool", RESULT("3") "," RESULT("2")));
    check_entries(
        "error call-without-result " AT "/1/messages/0/contents/0\n"
        "info entries-out-of-order " AT "/2/createdAt\n",
        TURN("a", SAYS("assistant", CALL("1"))) "," TURN(
            "b", SAYS("assistant", CALL("1")) "," SAYS("tool", RESULT("1"))));
}

static pdr_rc stop(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding, (void)err, (void)arg;
    return PDR_ECONFLICT;
}

TEST(state_check_meaning, ends_with_what_the_callback_returns)
{
    static const char *const documents[] = {
        "[]",
        "{}",
        "{'schemaVersion':'1','data':{'conversationHistory':[]}}",
        "{'schemaVersion':'1.1.0','data':null}",
        "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{}]}}",
        "{'schemaVersion':'1.1.0','a':1,'a':2,'data':null}",
        "{'schemaVersion':'1.1.0','\\ud800':2,'data':null}",
        "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{'$type':"
        "'request','messages':null}]}}",
        "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{'$type':"
        "'request','correlationId':'c','createdAt':1,'messages':[5]},{'$type':"
        "'response','correlationId':'c'}]}}",
        "{'schemaVersion':'1.1.0','data':{'conversationHistory':[],"
        "'expirationTimeUtc':'2026-01-01'}}",
    };

    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        pdr_value *value = doc_value(documents[i]);

        ASSERT_RC(PDR_ECONFLICT,
                  pdr_state_check_meaning(value, NULL, stop, NULL));
        ASSERT_RC(PDR_OK, pdr_state_check_meaning(value, NULL, NULL, NULL));
        pdr_value_free(value);
    }
}

/* 100,000 entries, each with a call whose id nobody answers. */
/* An entry that nobody knows, with a name of 17 MB for what is in `inside`, and
 * a member that occurs twice behind it. */
static pdr_value *make_long_name(const char *inside)
{
    const size_t len = 17u << 20;
    char *name = malloc(len + 1);
    pdr_value *entry = doc_value("{'$type':'note'}"), *part = doc_value(inside);
    pdr_value *doc = doc_value("{'schemaVersion':'1.1.0','a':1,'a':2,'data':"
                               "{'conversationHistory':[]}}");

    ASSERT(name != NULL);
    memset(name, 'n', len);
    ASSERT_RC(PDR_OK, pdr_value_set(&entry, pdr_str_n(name, len), part, NULL));
    pdr_value_free(part);
    part = doc_value("{'b':1,'b':2}");
    ASSERT_RC(PDR_OK, pdr_value_set(&entry, pdr_str_c("z"), part, NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(&doc, entry, NULL));
    pdr_value_free(part);
    pdr_value_free(entry);
    free(name);
    return doc;
}

TEST(state_check_meaning, goes_on_behind_a_name_that_no_pointer_can_hold)
{
    pdr_value *doc = make_long_name("{'c':1,'c':2}");
    pdr_buf found = PDR_BUF_INIT(1u << 20);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT,
              pdr_state_check_meaning(doc, &err, note_finding, &found));
    ASSERT_STR("buffer_full", err.reason);
    pdr_buf_dispose(&found);
    pdr_value_free(doc);
    check_value("warning duplicate-name /a\ninfo entry-kind-unknown " AT
                "/0\nwarning duplicate-name " AT "/0/z/b\n",
                make_long_name("{'c':1}"));
}

TEST(state_check_meaning, stays_linear_on_hostile_sizes)
{
    pdr_value *state = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    for (int i = 0; i < 100000; i++) {
        char entry[300];
        char *text = NULL;
        pdr_value *value = NULL;

        (void)snprintf(entry, sizeof(entry),
                       "{'$type':'response','correlationId':'c%d','createdAt':"
                       "'2026-01-01','messages':[{'role':'a','contents':["
                       "{'$type':'functionCall','callId':'%d','name':'f'}]}]}",
                       i, i);
        text = quoted(entry);
        ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(text), NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_state_append(&state, value, NULL));
        pdr_value_free(value);
        free(text);
    }
    pdr_buf found = PDR_BUF_INIT(UINT32_MAX);
    ASSERT_RC(PDR_OK,
              pdr_state_check_meaning(state, NULL, note_finding, &found));
    for (size_t i = 0; i < found.len; i++)
        count += found.ptr[i] == '\n';
    ASSERT_SIZE(200000, count);
    pdr_buf_dispose(&found);
    pdr_value_free(state);
}

/* --- the page of findings ------------------------------------------------ */

static const struct {
    const char *name, *severity, *advice;
} rules[] = {
#define ROW(id, name, severity, advice) {name, #severity, advice},
    PDR_MEANING_MAP(ROW)
#undef ROW
};

static char *read_page(void)
{
    char path[4096];
    char *text = malloc(1u << 20);
    size_t len = 0;
    FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "%s/../../docs/formats/findings.md",
                   test_data_folder());
    file = fopen(path, "rb");
    ASSERT(file != NULL && text != NULL);
    len = fread(text, 1, (1u << 20) - 1, file);
    text[len] = '\0';
    (void)fclose(file);
    return text;
}

TEST(findings_page, has_a_row_for_each_rule_of_meaning)
{
    char *page = read_page();
    const char *row = strstr(page, "<!-- meaning -->");
    size_t rows = 0;

    ASSERT(row != NULL);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        char expected[400];
        char severity[16];
        size_t n = 0;

        for (; rules[i].severity[n] != '\0'; n++)
            severity[n] = (char)(rules[i].severity[n] | 0x20);
        severity[n] = '\0';
        (void)snprintf(expected, sizeof(expected), "\n| `%s` | %s |",
                       rules[i].name, severity);
        if (strstr(row, expected) == NULL)
            fail_msg("findings.md has no row %s", expected);
        if (strstr(row, rules[i].advice) == NULL)
            fail_msg("findings.md does not say: %s", rules[i].advice);
    }
    for (const char *at = row; (at = strstr(at, "\n| `")) != NULL; at++) {
        if (strstr(row, "<!-- end -->") < at)
            break;
        rows++;
    }
    ASSERT_SIZE(sizeof(rules) / sizeof(rules[0]), rows);
    free(page);
}

/* --- failures ------------------------------------------------------------ */

static pdr_rc count_finding(const pdr_doc_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)finding, (void)err;
    ++*(size_t *)arg;
    return PDR_OK;
}

TEST_OOM(state_check_meaning, cleans_up_after_any_failed_allocation)
{
    static pdr_value *value = NULL;
    size_t found = 0;
    pdr_rc rc = PDR_OK;

    char *text =
        quoted("{'schemaVersion':'1.7.0','data':{'conversationHistory':[" TURN(
            "a\\u0041",
            SAYS("assistant", CALL("\\u0041") ",{'$type':"
                                              "'unknown','content':{'type':"
                                              "'function_approval_request',"
                                              "'function_call':{'call_id':"
                                              "'\\u0041'}}}")) "]}}");
    rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);
    free(text);
    if (rc == PDR_OK)
        rc = pdr_state_check_meaning(value, NULL, count_finding, &found);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(rc == PDR_ENOMEM || found == 2);
    pdr_value_free(value);
    value = NULL;
}
