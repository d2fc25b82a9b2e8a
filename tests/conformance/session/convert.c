/*
 * convert.c - sessions of both editions in the shape of the other, and back.
 *
 * Every session document of tests/data goes to every shape and comes back, and
 * what the report says of it is true.
 */
#include "corpus.h"
#include "doc_text.h"
#include "session_trip.h"

static const struct {
    pdr_session_shape shape;
    const char *name;
} targets[] = {
    {PDR_SESSION_NATIVE, "native"},
    {PDR_SESSION_DOTNET, "dotnet"},
    {PDR_SESSION_PYTHON, "python"},
    {PDR_SESSION_PYTHON_OLD, "python-1.21"},
};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

/* --- every document ------------------------------------------------------ */

typedef void (*session_fn)(const char *path, const pdr_value *session);

static struct {
    session_fn fn;
    size_t count;
} each;

static void each_session(const char *path, const pdr_value *value)
{
    pdr_looks looks = pdr_session_looks(value);
    pdr_iter it;

    if (looks == PDR_LOOKS_SESSION) {
        each.fn(path, value);
        each.count++;
        return;
    }
    if (looks != PDR_LOOKS_LIST && looks != PDR_LOOKS_MAP)
        return;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_NULL)
            each_session(path, it.value);
    }
}

static void read_file(const char *path, pdr_str content)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, content, &opts, NULL));
    each_session(path, value);
    pdr_value_free(value);
}

static size_t run_over(const char *folder, session_fn fn)
{
    each.fn = fn;
    each.count = 0;
    corpus_each_file(folder, ".json", read_file);
    return each.count;
}

/* What a document is once it was written for its own edition. */
static pdr_value *own_form(const pdr_value *document)
{
    struct session_trip_report report;
    pdr_session *session = NULL;
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, document, NULL));
    out = session_trip_to(&report, pdr_session_convert, document,
                          pdr_session_get_shape(session));
    ASSERT_STR("", report.text);
    pdr_session_free(session);
    return out;
}

static bool is_sentinel(const pdr_value *document)
{
    return pdr_value_text_is(pdr_value_get_c(document, "conversationId"),
                             pdr_str_c("_agent_local_chat_history"));
}

static void trip_everywhere(const char *path, const pdr_value *document)
{
    struct session_trip_report report;
    pdr_value *own = own_form(document);

    /* Only a sentinel may not be written again. */
    if (!is_sentinel(document) && !pdr_value_equal(document, own))
        corpus_complain(path, "own shape", "is not the same document");
    for (size_t i = 0; i < TARGETS; i++) {
        if (!session_trip_check(&report, pdr_session_convert, document,
                                targets[i].shape, own))
            corpus_complain(path, targets[i].name, "%s", report.text);
    }
    pdr_value_free(own);
}

TEST(conversion, brings_every_dotnet_session_back_from_every_shape)
{
    COVERS("S-94");
    size_t count = run_over("dotnet/sessions", trip_everywhere);

    ASSERT(count >= 35);
    corpus_assert_no_complaint();
}

TEST(conversion, brings_every_python_session_back_from_every_shape)
{
    size_t count = run_over("python/sessions", trip_everywhere);

    ASSERT(count >= 40);
    corpus_assert_no_complaint();
}

/* --- statements ---------------------------------------------------------- */

static pdr_value *converted(const pdr_value *document, pdr_session_shape to)
{
    struct session_trip_report report;
    pdr_value *out =
        session_trip_to(&report, pdr_session_convert, document, to);

    ASSERT_STR("", report.text);
    return out;
}

static const pdr_value *at(const pdr_value *value, const char *pointer)
{
    const pdr_value *found = NULL;

    ASSERT_RC(PDR_OK, pdr_pointer_get(&found, value, pdr_str_c(pointer), NULL));
    return found;
}

static void assert_json(const char *expected, const pdr_value *value)
{
    char *quotes = quoted(expected);
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);

    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, NULL));
    ASSERT_TEXT(quotes, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    free(quotes);
}

static pdr_value *read_session(const char *path)
{
    size_t len = 0;
    char *text = test_read_data(path, &len);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_n(text, len), NULL, NULL));
    free(text);
    return value;
}

TEST(conversion, keeps_times_results_and_property_names_in_python)
{
    COVERS("S-94");
    pdr_value *source = doc_value(
        "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'createdAt':"
        "'2026-03-09T19:58:02.25+01:00','role':'tool','contents':[{'$type':"
        "'functionResult','result':{'price':89.50},'callId':'c'}],"
        "'additionalProperties':{'Shard':1,'shard':2}}]}}}");
    pdr_value *there = converted(source, PDR_SESSION_PYTHON);
    pdr_value *back = converted(there, PDR_SESSION_DOTNET);

    assert_json("'{\\'price\\':89.50}'",
                at(there, "/state/in_memory/messages/0/contents/0/result"));
    ASSERT(pdr_value_get_c(at(there, "/state/in_memory/messages/0"),
                           "createdAt") == NULL);
    ASSERT(pdr_value_equal(source, back));
    pdr_value_free(back);
    pdr_value_free(there);
    pdr_value_free(source);
}

TEST(conversion, gives_dotnet_the_text_of_arguments_and_gets_it_back)
{
    COVERS("S-95");
    pdr_value *source = doc_value(
        "{'type':'session','session_id':'s','service_session_id':null,'state':"
        "{'in_memory':{'messages':[{'role':'assistant','contents':[{'type':"
        "'function_call','call_id':'c','name':'f','arguments':'{\\'a\\':',"
        "'hosted':false,'additional_properties':{}}],'additional_properties':"
        "{},'type':'message'}]}}}");
    pdr_value *there = converted(source, PDR_SESSION_DOTNET);
    pdr_value *back = converted(there, PDR_SESSION_PYTHON);

    assert_json("{'raw':'{\\'a\\':'}",
                at(there, "/stateBag/InMemoryChatHistoryProvider/messages/0/"
                          "contents/0/arguments"));
    ASSERT(pdr_value_equal(source, back));
    pdr_value_free(back);
    pdr_value_free(there);
    pdr_value_free(source);
}

#define LATE                                                                  \
    "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'role':'user'," \
    "'contents':[{'text':'hi','$type':'text','x':1},{'toolCall':{'callId':"   \
    "'c','$type':'functionCall','name':'f','arguments':{'a':1,'$type':'q'}}," \
    "'$type':'toolApprovalRequest','requestId':'r'}]}]}}}"
#define FIRST                                                                 \
    "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'role':'user'," \
    "'contents':[{'$type':'text','text':'hi','x':1},{'$type':"                \
    "'toolApprovalRequest','toolCall':{'$type':'functionCall','callId':'c',"  \
    "'name':'f','arguments':{'a':1,'$type':'q'}},'requestId':'r'}]}]}}}"

TEST(conversion, puts_the_type_of_a_content_first_for_dotnet_only)
{
    COVERS("S-140");
    pdr_value *source = doc_value(LATE);
    pdr_value *native = converted(source, PDR_SESSION_NATIVE);
    pdr_value *python = converted(source, PDR_SESSION_PYTHON);
    pdr_value *own = converted(source, PDR_SESSION_DOTNET);
    pdr_value *from_native = converted(native, PDR_SESSION_DOTNET);
    pdr_value *from_python = converted(python, PDR_SESSION_DOTNET);
    pdr_session *session = NULL;
    pdr_value *saved = NULL;

    ASSERT(pdr_content_kind_of(at(source, "/stateBag/"
                                          "InMemoryChatHistoryProvider/"
                                          "messages/0/contents/0"),
                               PDR_SHAPE_DOTNET) == PDR_CONTENT_TEXT);
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, source, NULL));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&saved, session, NULL));
    assert_json(LATE, saved);
    assert_json(FIRST, own);
    assert_json(FIRST, from_native);
    assert_json(FIRST, from_python);
    pdr_value_free(saved);
    pdr_session_free(session);
    pdr_value_free(from_python);
    pdr_value_free(from_native);
    pdr_value_free(own);
    pdr_value_free(python);
    pdr_value_free(native);
    pdr_value_free(source);
}

/* Members of that name in contents: in messages, and in tool_approval. */
static size_t count_newer(const pdr_value *value, bool content)
{
    size_t count = 0;
    pdr_iter it;

    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        bool inner = content ||
                     (it.name != NULL &&
                      (pdr_value_text_is(it.name, pdr_str_c("contents")) ||
                       pdr_value_text_is(it.name, pdr_str_c("tool_approval"))));

        if (it.name != NULL &&
            (pdr_value_text_is(it.name, pdr_str_c("arguments")) ||
             pdr_value_text_is(it.name, pdr_str_c("additional_properties"))))
            continue;
        if (content && it.name != NULL &&
            (pdr_value_text_is(it.name, pdr_str_c("hosted")) ||
             pdr_value_text_is(it.name, pdr_str_c("merge_mode"))))
            count++;
        count += count_newer(it.value, inner);
    }
    return count;
}

static size_t newer_members;

static void count_in_both(const char *path, const pdr_value *document)
{
    pdr_value *python = converted(document, PDR_SESSION_PYTHON);
    pdr_value *older = converted(document, PDR_SESSION_PYTHON_OLD);
    size_t count = count_newer(at(older, "/state"), false);

    newer_members += count_newer(at(python, "/state"), false);
    if (count > 0)
        corpus_complain(path, "python-1.21", "%zu newer members", count);
    pdr_value_free(older);
    pdr_value_free(python);
}

TEST(conversion, leaves_out_what_python_before_1_22_refuses)
{
    COVERS("S-144");
    newer_members = 0;
    run_over("dotnet/sessions", count_in_both);
    run_over("python/sessions", count_in_both);
    /* Else there was nothing to leave out. */
    ASSERT(newer_members > 50);
    corpus_assert_no_complaint();
}

/* --- reports ------------------------------------------------------------- */

/* What is told of a document in the way to `to`: "severity rule pointer". */
static void assert_told(const char *path, pdr_session_shape to,
                        const char *expected)
{
    struct session_trip_report report;
    pdr_value *source = read_session(path);
    pdr_value *made = session_trip_to(&report, pdr_session_convert, source, to);

    ASSERT_STR("", report.text);
    ASSERT_STR(expected, report.rules);
    pdr_value_free(made);
    pdr_value_free(source);
}

#define NET     "dotnet/sessions/"
#define PY      "python/sessions/"
#define HISTORY "/stateBag/InMemoryChatHistoryProvider/messages"

TEST(report, says_only_that_there_is_an_id_of_a_plain_session)
{
    assert_told(NET "session-empty.json", PDR_SESSION_PYTHON,
                "info id-minted \n");
    assert_told(NET "session-conversation-id.json", PDR_SESSION_NATIVE,
                "info id-minted \n");
    assert_told(NET "session-two-turns.json", PDR_SESSION_DOTNET, "");
    assert_told(PY "session-two-turns.json", PDR_SESSION_DOTNET,
                "info id-aside /session_id\n");
    assert_told(PY "session-two-turns.json", PDR_SESSION_PYTHON_OLD, "");
    assert_told(PY "session-service-id.json", PDR_SESSION_NATIVE, "");
}

TEST(report, says_what_stands_in_notes)
{
    assert_told(NET "session-two-turns.json", PDR_SESSION_PYTHON,
                "info message-notes " HISTORY "/1\n"
                "info message-notes " HISTORY "/3\n"
                "info id-minted \n");
    assert_told(NET "session-per-service-call.json", PDR_SESSION_PYTHON,
                "info sentinel /conversationId\n"
                "info content-notes " HISTORY "/2/contents/0\n"
                "info id-minted \n");
}

TEST(report, says_what_programs_of_the_target_do_not_read)
{
    assert_told(NET "session-approval-pending.json", PDR_SESSION_PYTHON,
                "warning pending-approvals /stateBag/_pendingApprovalRequests\n"
                "info id-minted \n");
    assert_told(NET "session-injected-messages.json", PDR_SESSION_PYTHON,
                "warning injected-messages "
                "/stateBag/MessageInjectingChatClient.PendingInjectedMessages\n"
                "info id-minted \n");
    assert_told(PY "session-injected-messages.json", PDR_SESSION_DOTNET,
                "warning injected-messages "
                "/state/message_injection.pending_messages\n"
                "info id-aside /session_id\n");
    assert_told(PY "session-service-object.json", PDR_SESSION_DOTNET,
                "warning service-id /service_session_id\n"
                "info id-aside /session_id\n");
    assert_told(PY "session-null-values.json", PDR_SESSION_DOTNET,
                "warning history-shape /state/in_memory\n"
                "info id-aside /session_id\n");
    assert_told(PY "session-several-providers.json", PDR_SESSION_DOTNET,
                "warning provider-slot /state/todo\n"
                "warning provider-slot /state/agent_mode\n"
                "warning provider-slot /state/background_agents\n"
                "info id-aside /session_id\n");
}
