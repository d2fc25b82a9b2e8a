/*
 * convert.c - what a conversion does with each part of a session, and how it
 * fails.
 */
#include "doc_text.h"
#include "session_trip.h"

static pdr_session *open_session(const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    pdr_value_free(value);
    return session;
}

/* Convert `text`; `document` and `report` are what must come of it. Ids that
 * were made are "new". */
static void check_opts(const char *text, const pdr_session_convert_opts *opts,
                       const char *document, const char *findings)
{
    pdr_session *session = open_session(text), *made = NULL;
    pdr_buf told = PDR_BUF_INIT(1 << 20), json = PDR_BUF_INIT(1 << 20);
    char *expected = quoted(document);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_session_convert(&made, session, opts, NULL,
                                          note_finding, &told));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&value, made, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&json, value, NULL, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&json));
    ASSERT_TEXT(findings, pdr_buf_str(&told));
    free(expected);
    pdr_value_free(value);
    pdr_buf_dispose(&json);
    pdr_buf_dispose(&told);
    pdr_session_free(made);
    pdr_session_free(session);
}

static void check(const char *text, pdr_session_shape to, const char *document,
                  const char *findings)
{
    pdr_session_convert_opts opts = {to, pdr_str_c("new"), {NULL, 0}};

    check_opts(text, &opts, document, findings);
}

#define NATIVE PDR_SESSION_NATIVE
#define DOTNET PDR_SESSION_DOTNET
#define PYTHON PDR_SESSION_PYTHON
#define OLDER  PDR_SESSION_PYTHON_OLD

/* What a conversion from .NET notes about an id that it made. */
#define MINTED "'dotnet':{'patch':[{'at':['perdure','id'],'was':'new'}]}"

/* --- ids and kinds ------------------------------------------------------- */

TEST(conversion, gives_every_kind_its_members)
{
    check("{'conversationId':'c','stateBag':{}}", PYTHON,
          "{'type':'session','session_id':'new','service_session_id':'c',"
          "'state':{},'perdure':{'kind':'client'," MINTED "}}",
          "info id-minted \n");
    check("{'sessionId':'@dafx-desk@K1','stateBag':{}}", PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{},'durable_session_id':'@desk@K1','perdure':{" MINTED "}}",
          "info id-minted \n");
    check("{'contextId':'x','taskState':'working','stateBag':{}}", PYTHON,
          "{'type':'session','session_id':'new','service_session_id':{"
          "'context_id':'x','task_state':'working'},'state':{},'perdure':{"
          "'kind':'a2a'," MINTED "}}",
          "info id-minted \n");
    check("{'sessionId':'g','stateBag':{}}", PYTHON,
          "{'type':'session','session_id':'new','service_session_id':'g',"
          "'state':{},'perdure':{'kind':'github-copilot'," MINTED "}}",
          "info kind \ninfo id-minted \n");
    check("{'sessionId':'w','lastCheckpoint':1,'stateBag':{}}", PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{},'sessionId':'w','lastCheckpoint':1,'perdure':{"
          "'kind':'workflow','dotnet':{'patch':[{'at':['perdure','id'],"
          "'was':'new'},{'at':[],'order':['sessionId','lastCheckpoint',"
          "'stateBag']}]}}}",
          "warning kind \ninfo id-minted \n");
}

TEST(conversion, gives_python_sessions_their_place_in_dotnet)
{
    check("{'type':'session','session_id':'s','service_session_id':'c',"
          "'state':{}}",
          DOTNET,
          "{'conversationId':'c','stateBag':{},'perdure':{'kind':'python',"
          "'id':'s'}}",
          "info id-aside /session_id\n");
    check("{'type':'session','session_id':'s','service_session_id':{"
          "'context_id':'x','task_id':'t'},'state':{}}",
          DOTNET,
          "{'contextId':'x','taskId':'t','stateBag':{},'perdure':{"
          "'kind':'python','id':'s'}}",
          "info id-aside /session_id\n");
    check("{'type':'session','session_id':'s','service_session_id':{'k':1},"
          "'state':{}}",
          NATIVE,
          "{'perdure':{'version':'1.0.0','kind':'python','id':'s',"
          "'serviceId':{'k':1}},'stateBag':{}}",
          "");
    check("{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{},'durable_session_id':'@Desk@a@b'}",
          DOTNET,
          "{'sessionId':'@dafx-Desk@a@b','stateBag':{},'perdure':{'id':'s'}}",
          "info id-aside /session_id\n");
}

TEST(conversion, tells_of_an_id_that_dotnet_has_no_member_for)
{
    const char *made = "{'stateBag':{},'perdure':{'kind':'client','id':'s'}}";

    check("{'perdure':{'version':'1.0.0','kind':'client','id':'s'},"
          "'stateBag':{}}",
          DOTNET, made, "info id-aside /perdure/id\n");
    check("{'perdure':{'version':'1.0.0','kind':'client'},'stateBag':{}}",
          DOTNET,
          "{'stateBag':{},'perdure':{'kind':'client','native':{'whole':"
          "'{\\'perdure\\':{\\'version\\':\\'1.0.0\\',\\'kind\\':"
          "\\'client\\'},\\'stateBag\\':{}}'}}}",
          "");
    /* What a note puts there was no id of the source. */
    check("{'perdure':{'version':'1.0.0','kind':'unstated','dotnet':{'patch':["
          "{'at':['perdure','id'],'is':'x'}]}},'stateBag':{}}",
          DOTNET,
          "{'stateBag':{},'perdure':{'id':'x','native':{'patch':[{'at':["
          "'perdure','id'],'was':'x'}]}}}",
          "");
    /* It is there already, or was made on the way here and goes again. */
    check(made, DOTNET, made, "");
    check("{'type':'session','session_id':'new','service_session_id':'c',"
          "'state':{},'perdure':{'kind':'client'," MINTED "}}",
          DOTNET, "{'conversationId':'c','stateBag':{}}", "");
}

TEST(conversion, drops_sentinels_and_remembers_what_they_said)
{
    const char *source =
        "{'conversationId':'_agent_local_chat_history','stateBag':{'a':1}}";

    check(source, DOTNET,
          "{'stateBag':{'a':1},'perdure':{'historyMode':'per-service-call'}}",
          "info sentinel /conversationId\n");
    check(source, PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{'a':1},'perdure':{'kind':'client','historyMode':"
          "'per-service-call'," MINTED "}}",
          "info sentinel /conversationId\ninfo id-minted \n");
    check("{'type':'session','session_id':'s','service_session_id':"
          "'agent_framework_local_history_persistence','state':{}}",
          PYTHON,
          "{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{},'perdure':{'historyMode':'per-service-call'}}",
          "info sentinel /service_session_id\n");
}

TEST(conversion, keeps_the_kind_that_a_session_was_opened_with)
{
    pdr_session_convert_opts opts = {NATIVE, pdr_str_c("n"), {NULL, 0}};
    pdr_value *value = doc_value("{'stateBag':{}}");
    pdr_session *session = NULL, *made = NULL;

    ASSERT_RC(PDR_OK,
              pdr_session_from_value_as(&session, value, DOTNET,
                                        PDR_SESSION_KIND_COPILOT_STUDIO, NULL));
    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, session, &opts, NULL, NULL, NULL));
    ASSERT(pdr_session_get_kind(made) == PDR_SESSION_KIND_COPILOT_STUDIO);
    pdr_session_free(made);
    pdr_session_free(session);
    pdr_value_free(value);
}

TEST(conversion, is_to_the_native_shape_with_a_new_id_by_default)
{
    pdr_session *session = open_session("{'stateBag':{}}"), *made = NULL;

    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, session, NULL, NULL, NULL, NULL));
    ASSERT(pdr_session_get_shape(made) == NATIVE);
    ASSERT_SIZE(36, pdr_session_id(made).len);
    pdr_session_free(made);
    pdr_session_free(session);
}

/* --- members, slots ------------------------------------------------------ */

TEST(conversion, sets_members_aside_whose_name_means_something)
{
    check("{'type':5,'x':1,'VERSION':2,'version':3,'stateBag':{}}", PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{},'x':1,'VERSION':2,'perdure':{'kind':'unstated','dotnet':"
          "{'patch':[{'at':['type'],'is':5},{'at':['version'],'is':3},{'at':["
          "'perdure','id'],'was':'new'},{'at':[],'order':['type','x','VERSION',"
          "'version','stateBag']}]}}}",
          "info member-aside /type\ninfo member-aside /version\n"
          "info id-minted \n");
    check("{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{},'ConversationId':1,'version':'1.0','messages':[]}",
          DOTNET,
          "{'stateBag':{},'version':'1.0','perdure':{'kind':'python','id':'s',"
          "'python':{'patch':[{'at':['ConversationId'],'is':1},{'at':["
          "'version'],'is':'1.0'},{'at':['messages'],'is':[]}]}}}",
          "info member-aside /ConversationId\ninfo member-aside /messages\n"
          "info id-aside /session_id\n");
}

TEST(conversion, sets_the_other_history_aside)
{
    check("{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{'a':1,'InMemoryChatHistoryProvider':7,'in_memory':{}}}",
          DOTNET,
          "{'stateBag':{'a':1,'InMemoryChatHistoryProvider':{}},'perdure':{"
          "'kind':'python','id':'s','python':{'patch':[{'at':['state',"
          "'InMemoryChatHistoryProvider'],'is':7},{'at':['state'],'order':['a',"
          "'InMemoryChatHistoryProvider','in_memory']}]}}}",
          "warning history-aside /state/InMemoryChatHistoryProvider\n"
          "info id-aside /session_id\n");
}

TEST(conversion, does_nothing_that_a_forged_patch_of_many_changes_says)
{
    pdr_buf text = PDR_BUF_INIT(1 << 20);

    ASSERT_RC(PDR_OK,
              pdr_buf_append(&text,
                             pdr_str_c("{'type':'session','session_id':'s',"
                                       "'service_session_id':null,'state':{},"
                                       "'perdure':{'dotnet':{'patch':["),
                             NULL));
    for (int i = 0; i < 257; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s{'at':['x%d'],'is':1}",
                                         i > 0 ? "," : "", i));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("]}}}", 5), NULL));
    check(text.ptr, DOTNET,
          "{'stateBag':{},'perdure':{'kind':'python','id':'s'}}",
          "info id-aside /session_id\n");
    pdr_buf_dispose(&text);
}

/* A session of Python with a note that somebody forged. */
#define FORGED(note)                                               \
    "{'type':'session','session_id':'s','service_session_id':'c'," \
    "'state':{'a':1},'perdure':{'kind':'client','dotnet':" note "}}"

/* .NET reads names in any case, and the last one. */
TEST(conversion, gives_dotnet_no_name_in_another_case_out_of_a_note)
{
    static const char *const sources[] = {
        FORGED("{'patch':[{'at':['StateBag'],'is':{'b':2}}]}"),
        FORGED("{'patch':[{'at':['state\\u0042AG'],'is':{'b':2}}]}"),
        FORGED("{'patch':[{'at':['CONVERSATIONID'],'is':'d'}]}"),
        FORGED("{'patch':[{'at':['SessionId'],'is':'@dafx-a@k'}]}"),
        FORGED("{'patch':[{'at':['ContextID'],'is':'d'},"
               "{'at':['StateBag','x'],'is':1}]}"),
        FORGED("{'whole':'{\\'conversationId\\':\\'c\\',"
               "\\'stateBag\\':{\\'a\\':1},\\'StateBag\\':{}}'}"),
    };

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        check(sources[i], DOTNET,
              "{'conversationId':'c','stateBag':{'a':1},'perdure':{'id':'s'}}",
              "info id-aside /session_id\n");
}

/* A document, and what Python has of it in a member. */
struct read_as {
    const char *source, *pointer, *value;
};

TEST(conversion, reads_dotnet_names_in_any_case_and_brings_them_back)
{
    static const struct read_as cases[] = {
        {"{'stateBag':{'a':1},'StateBag':{'b':2}}", "/state", "{'b':2}"},
        {"{'StateBag':{'b':2},'stateBag':{'a':1}}", "/state", "{'a':1}"},
        {"{'conversationId':'c','STATEBAG':{'b':2}}", "/state", "{'b':2}"},
        {"{'stateBag':{},'ConversationId':'d'}", "/service_session_id", "'d'"},
        {"{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[],'Messages':"
         "[{'role':'user'}]}}}",
         "/state/in_memory/messages/0/role", "'user'"},
        {"{'stateBag':{'InMemoryChatHistoryProvider':{'Messages':[{'Role':"
         "'tool','Contents':[{'$type':'text','Text':'t'}]}]}}}",
         "/state/in_memory/messages/0/contents/0/text", "'t'"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct session_trip_report report;
        pdr_value *source = doc_value(cases[i].source);
        pdr_value *want = doc_value(cases[i].value), *made = NULL;
        const pdr_value *says = NULL;

        if (!session_trip_check(&report, pdr_session_convert, source, PYTHON,
                                NULL))
            fail_msg("%s: %s", cases[i].source, report.text);
        made = session_trip_to(&report, pdr_session_convert, source, PYTHON);
        ASSERT_RC(PDR_OK, pdr_pointer_get(&says, made,
                                          pdr_str_c(cases[i].pointer), NULL));
        ASSERT(pdr_value_equal(want, says));
        pdr_value_free(made);
        pdr_value_free(want);
        pdr_value_free(source);
    }
}

TEST(conversion, gives_dotnet_one_history_only)
{
    static const char *const slots[] = {
        "{'messages':[],'Messages':[{'role':'user'}]}",
        "{'Messages':[{'role':'user'}],'messages':[]}",
        "{'MESSAGES':[{'role':'user'}],'x':1}",
        "{'m\\u0045ssages':[{'role':'user'}],'messages':5}",
    };

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        struct session_trip_report report;
        pdr_value *source = doc_value("{'type':'session','session_id':'s',"
                                      "'service_session_id':null,'state':{}}");
        pdr_value *slot = doc_value(slots[i]), *made = NULL;
        const pdr_value *history = NULL;
        pdr_iter it;

        ASSERT_RC(PDR_OK,
                  pdr_pointer_set(&source, pdr_str_c("/state/in_memory"), slot,
                                  NULL));
        made = session_trip_to(&report, pdr_session_convert, source, DOTNET);
        ASSERT_RC(
            PDR_OK,
            pdr_pointer_get(&history, made,
                            pdr_str_c("/stateBag/InMemoryChatHistoryProvider"),
                            NULL));
        pdr_iter_init(&it, history);
        while (pdr_iter_next(&it))
            ASSERT(pdr_value_count(it.value) == 0);
        ASSERT(session_trip_check(&report, pdr_session_convert, source, DOTNET,
                                  NULL));
        pdr_value_free(made);
        pdr_value_free(slot);
        pdr_value_free(source);
    }
}

/* More members are set aside than a patch has changes. */
TEST(conversion, keeps_the_whole_where_a_patch_would_be_long)
{
    static const char name[] = "pendingrequests";
    pdr_session_convert_opts there = {DOTNET, {NULL, 0}, {NULL, 0}};
    pdr_session_convert_opts home = {PYTHON, {NULL, 0}, {NULL, 0}};
    pdr_session *source = NULL, *made = NULL, *back = NULL;
    pdr_value *before = NULL, *after = NULL;
    pdr_buf text = PDR_BUF_INIT(1 << 20);

    ASSERT_RC(
        PDR_OK,
        pdr_buf_append(&text, pdr_str_c("{'session_id':'s','state':{}"), NULL));
    for (unsigned i = 0; i < 300; i++) {
        char spelled[sizeof(name)];
        for (size_t k = 0; k < sizeof(name); k++)
            spelled[k] =
                (char)(k < 9 && (i >> k & 1u) != 0 ? name[k] - 32 : name[k]);
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, ",'%s':%u", spelled, i));
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("}", 2), NULL));
    source = open_session(text.ptr);
    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, source, &there, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_session_convert(&back, made, &home, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&before, source, NULL));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&after, back, NULL));
    ASSERT(pdr_value_equal(before, after));
    pdr_value_free(before);
    pdr_value_free(after);
    pdr_buf_dispose(&text);
    pdr_session_free(source);
    pdr_session_free(made);
    pdr_session_free(back);
}

TEST(conversion, keeps_what_stands_twice_when_it_gives_an_id)
{
    check("{'perdure':{'x':1},'stateBag':{},'perdure':{'version':'1.0.0'}}",
          NATIVE,
          "{'perdure':{'x':1},'stateBag':{},'perdure':{'version':'1.0.0','id':"
          "'new'}}",
          "info id-minted \n");
}

TEST(conversion, tells_of_data_that_python_takes_for_messages)
{
    const char *source =
        "{'stateBag':{'mail':{'type':'message','body':'hi'},"
        "'n':{'a':[1,{'type':'message'}],'type':'messages'},"
        "'InMemoryChatHistoryProvider':{'type':'message','messages':[]}}}";

    check(source, PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{'mail':{'type':'message','body':'hi'},'n':{'a':[1,{'type':"
          "'message'}],'type':'messages'},'in_memory':{'type':'message',"
          "'messages':[]}},'perdure':{'kind':'unstated'," MINTED "}}",
          "warning message-tag /stateBag/mail\n"
          "warning message-tag /stateBag/n/a/1\n"
          "warning message-tag /stateBag/InMemoryChatHistoryProvider\n"
          "info id-minted \n");
    check(source, NATIVE,
          "{'perdure':{'version':'1.0.0','kind':'unstated','id':'new'," MINTED
          "},'stateBag':{'mail':{'type':'message','body':'hi'},'n':{'a':[1,{"
          "'type':'message'}],'type':'messages'},"
          "'InMemoryChatHistoryProvider':{'type':'message','messages':[]}}}",
          "info id-minted \n");
}

TEST(conversion, takes_half_a_surrogate_pair_for_a_content)
{
    check("{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{'in_memory':{'messages':[{'role':'user','contents':["
          "'\\ud800'],'additional_properties':{},'type':'message'}]}}}",
          DOTNET,
          "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'role':"
          "'user','contents':[{'$type':'text','text':'\\ud800',"
          "'additionalProperties':{'perdure':{'python':{'whole':'\\ud800'}}}}]"
          "}]}},'perdure':{'kind':'python','id':'s'}}",
          "info content-notes /state/in_memory/messages/0/contents/0\n"
          "info id-aside /session_id\n");
}

TEST(conversion, carries_an_odd_history_as_it_is)
{
    static const char *const odd[] = {"null", "[]", "'x'", "{'messages':null}"};

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char source[200], expected[300];

        (void)snprintf(source, sizeof(source),
                       "{'type':'session','session_id':'s',"
                       "'service_session_id':null,'state':{'in_memory':%s}}",
                       odd[i]);
        (void)snprintf(expected, sizeof(expected),
                       "{'stateBag':{'InMemoryChatHistoryProvider':%s},"
                       "'perdure':{'kind':'python','id':'s'}}",
                       odd[i]);
        check(source, DOTNET, expected,
              "warning history-shape /state/in_memory\n"
              "info id-aside /session_id\n");
    }
    check("{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[null,5],"
          "'x':1}}}",
          PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{'in_memory':{'messages':[null,5],'x':1}},'perdure':{"
          "'kind':'unstated'," MINTED "}}",
          "warning history-item "
          "/stateBag/InMemoryChatHistoryProvider/messages/0\n"
          "warning history-item "
          "/stateBag/InMemoryChatHistoryProvider/messages/1\n"
          "info id-minted \n");
}

#define SAYS_FRONT                                                  \
    "{'type':'session','session_id':'s','service_session_id':null," \
    "'state':{'in_memory':{'messages':[{'role':'assistant','contents':["
#define SAYS_END      "],'additional_properties':{},'type':'message'}]}}}"
#define SAYS(content) SAYS_FRONT content SAYS_END
#define CONTENT       "/state/in_memory/messages/0/contents/0"

TEST(conversion, tells_of_contents_that_dotnet_does_not_have)
{
    struct session_trip_report report;
    pdr_value *source = doc_value(
        SAYS("{'type':'shell_tool_call','call_id':'c','additional_properties':"
             "{}},{'type':'function_call','call_id':'c','name':'f',"
             "'arguments':'[','hosted':false,'additional_properties':{}}"));
    pdr_value *made =
        session_trip_to(&report, pdr_session_convert, source, DOTNET);

    ASSERT_STR("", report.text);
    ASSERT_STR("warning content-kind " CONTENT "\n"
               "info arguments-text /state/in_memory/messages/0/contents/1/"
               "arguments\n"
               "info content-notes /state/in_memory/messages/0/contents/1\n"
               "info id-aside /session_id\n",
               report.rules);
    pdr_value_free(made);
    pdr_value_free(source);
}

/* Other programs may have a property of that name; it says nothing of us. */
TEST(conversion, tells_of_contents_that_have_a_property_perdure_of_their_own)
{
    static const char *const own[] = {
        "'x'",
        "null",
        "[1]",
        "{}",
        "{'x':1}",
        "{'content':1}",
        "{'shape':'dotnet','content':{'$type':'text','text':'a'}}",
        "{'dotnet':{'whole':{'$type':'text','text':'a'}}}"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        struct session_trip_report report;
        char text[600];
        pdr_value *source = NULL, *made = NULL;

        (void)snprintf(
            text, sizeof(text),
            SAYS("{'type':'shell_tool_call','call_id':'c',"
                 "'additional_properties':{'perdure':%s}},{'type':'text',"
                 "'text':'a','odd':1,'additional_properties':{'perdure':%s}}"),
            own[i], own[i]);
        source = doc_value(text);
        made = session_trip_to(&report, pdr_session_convert, source, DOTNET);
        ASSERT_STR("", report.text);
        if (strstr(report.rules, "warning content-kind " CONTENT "\n") == NULL)
            fail_msg("%s: %s", own[i], report.rules);
        if (strstr(report.rules, "info content-notes /state/in_memory/messages/"
                                 "0/contents/1\n") == NULL)
            fail_msg("%s: %s", own[i], report.rules);
        ASSERT(strstr(report.rules, "content-kind /state/in_memory/messages/"
                                    "0/contents/1") == NULL);
        pdr_value_free(made);
        pdr_value_free(source);
    }
}

/* --- changes in between -------------------------------------------------- */

static void assert_same(const pdr_value *expected, const pdr_value *value)
{
    pdr_buf want = PDR_BUF_INIT(1 << 20), json = PDR_BUF_INIT(1 << 20);

    ASSERT_RC(PDR_OK, pdr_json_write(&want, expected, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&json, value, NULL, NULL));
    ASSERT_BYTES(pdr_buf_str(&want), pdr_buf_str(&json));
    pdr_buf_dispose(&json);
    pdr_buf_dispose(&want);
}

/* Convert `text` to `to`, set `pointer` to `value` there, convert it back. */
static void check_change(const char *text, pdr_session_shape to,
                         const char *pointer, const char *value,
                         pdr_session_shape from, const char *expected)
{
    struct session_trip_report report;
    pdr_value *source = doc_value(text), *change = doc_value(value);
    pdr_value *there =
        session_trip_to(&report, pdr_session_convert, source, to);
    pdr_value *back = NULL, *want = doc_value(expected);

    ASSERT_STR("", report.text);
    ASSERT_RC(PDR_OK,
              pdr_pointer_set(&there, pdr_str_c(pointer), change, NULL));
    back = session_trip_to(&report, pdr_session_convert, there, from);
    ASSERT_STR("", report.text);
    ASSERT_RC(PDR_OK, pdr_value_compact(&back, NULL));
    assert_same(want, back);
    pdr_value_free(want);
    pdr_value_free(back);
    pdr_value_free(there);
    pdr_value_free(change);
    pdr_value_free(source);
}

TEST(conversion, shows_what_was_changed_in_between)
{
    check_change("{'conversationId':null,'stateBag':{'a':1.0,'b':2}}", PYTHON,
                 "/service_session_id", "'c'", DOTNET,
                 "{'conversationId':'c','stateBag':{'a':1.0,'b':2}}");
    check_change("{'x':1,'stateBag':{'a':1.0,'in_memory':2}}", PYTHON,
                 "/state/a", "1.50", DOTNET,
                 "{'x':1,'stateBag':{'a':1.50,'in_memory':2}}");
    check_change("{'stateBag':{'a':1}}", NATIVE, "/stateBag/c", "3", DOTNET,
                 "{'stateBag':{'a':1,'c':3}}");
    check_change("{'session_id':'s','state':{},'type':'odd'}", DOTNET,
                 "/stateBag/n", "null", PYTHON,
                 "{'session_id':'s','state':{'n':null},'type':'odd'}");
}

/* --- cost ---------------------------------------------------------------- */

/* A session of Python with `count` times this message. */
static pdr_session *long_session(const char *message, size_t count)
{
    pdr_value *document = doc_value("{'type':'session','session_id':'s',"
                                    "'service_session_id':null,'state':{"
                                    "'in_memory':{'messages':[]}}}");
    pdr_value *one = doc_value(message), *list = pdr_value_new_array();
    pdr_session *session = NULL;

    for (size_t i = 0; i < count; i++)
        ASSERT_RC(PDR_OK, pdr_value_append(&list, one, NULL));
    ASSERT_RC(PDR_OK,
              pdr_pointer_set(&document, pdr_str_c("/state/in_memory/messages"),
                              list, NULL));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, document, NULL));
    pdr_value_free(list);
    pdr_value_free(one);
    pdr_value_free(document);
    return session;
}

/* Allocations of one conversion. */
static size_t allocations_of(const char *message, size_t count)
{
    pdr_session_convert_opts opts = {DOTNET, {NULL, 0}, {NULL, 0}};
    pdr_session *session = long_session(message, count), *made = NULL;
    size_t before = test_allocations(), after = 0;

    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, session, &opts, NULL, NULL, NULL));
    after = test_allocations();
    pdr_session_free(made);
    pdr_session_free(session);
    return after - before;
}

static size_t allocations_of_message(const char *message)
{
    pdr_value *source = doc_value(message), *made = NULL;
    size_t before = test_allocations(), after = 0;

    ASSERT_RC(PDR_OK, pdr_message_convert(&made, source, PDR_SHAPE_PYTHON,
                                          PDR_SHAPE_DOTNET, NULL));
    after = test_allocations();
    pdr_value_free(made);
    pdr_value_free(source);
    return after - before;
}

TEST(conversion, goes_back_once_for_each_message)
{
    static const char *const message =
        "{'role':'user','contents':[{'type':'text','text':'hi',"
        "'additional_properties':{}}],'additional_properties':{},"
        "'type':'message'}";
    size_t one = allocations_of_message(message);
    size_t few = allocations_of(message, 100);
    size_t many = allocations_of(message, 500);

    ASSERT((many - few) / 400 < one + one / 4); /* no second time */
}

TEST(conversion, goes_back_a_few_times_for_an_odd_message)
{
    /* Its members stand in another order, so it is kept as a whole. */
    static const char *const message =
        "{'contents':[{'text':'hi','type':'text','additional_properties':{}}],"
        "'additional_properties':{},'type':'message','role':'user'}";
    size_t one = allocations_of_message(message);
    size_t few = allocations_of(message, 100);
    size_t many = allocations_of(message, 500);

    ASSERT((many - few) / 400 < 4 * one);
}

TEST(conversion, stays_a_session_when_a_note_would_leave_nothing)
{
    /* Of `{}` only the note is left, and the new id has no place. */
    check("{'type':'session','session_id':'other','service_session_id':null,"
          "'state':{},'perdure':{'kind':'unstated','dotnet':{'patch':[{'at':["
          "'stateBag'],'was':{}},{'at':['perdure','id'],'was':'s'}]}}}",
          DOTNET, "{'stateBag':{},'perdure':{'id':'other'}}",
          "info id-aside /session_id\n");
}

TEST(conversion, stays_a_session_when_a_note_has_to_be_added)
{
    check("{'type':5,'session_id':'s','service_session_id':null,'state':{},"
          "'perdure':{'kind':'unstated','dotnet':{'patch':[{'at':['stateBag'],"
          "'was':{}},{'at':['perdure','id'],'was':'s'}]}}}",
          DOTNET,
          "{'stateBag':{},'perdure':{'id':'s','python':{'patch':[{'at':["
          "'type'],'was':'session','is':5}]}}}",
          "info id-aside /session_id\n");
}

TEST(conversion, leaves_broken_notes_alone)
{
    static const char *const notes[] = {
        "5",
        "{'patch':5}",
        "{'patch':[5,{},{'at':5},{'at':[5],'is':1},{'at':['a','b','c']}]}",
        "{'patch':[{'at':[5,6],'is':1},{'at':['type','x'],'is':1}]}",
        "{'patch':[{'at':['none','x'],'was':1},{'at':[],'order':5}]}",
        "{'patch':[{'at':[],'order':['stateBag','perdure','x']}]}",
        "{'patch':[{'at':[],'order':['stateBag','stateBag']}]}",
        "{'patch':[{'at':[],'order':[5]},{'at':['z'],'was':1,'is':2}]}",
        "{'whole':5}",
        "{'whole':'{'}",
        "{'whole':'[]'}",
        "{'whole':'{\\'stateBag\\':{}}'}",
        "{'whole':'\\ud800'}",
    };

    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        char source[400];

        (void)snprintf(source, sizeof(source),
                       "{'type':'session','session_id':'s',"
                       "'service_session_id':'c','state':{'a':1},'perdure':{"
                       "'kind':'client','dotnet':%s}}",
                       notes[i]);
        check(source, DOTNET,
              "{'conversationId':'c','stateBag':{'a':1},'perdure':{'id':'s'}}",
              "info id-aside /session_id\n");
    }
}

TEST(conversion, keeps_ids_in_perdure_that_dotnet_would_misread)
{
    check("{'type':'session','session_id':'s','service_session_id':"
          "'@dafx-a@b','state':{},'perdure':{'kind':'github-copilot'}}",
          DOTNET,
          "{'stateBag':{},'perdure':{'kind':'github-copilot','id':'s',"
          "'serviceId':'@dafx-a@b'}}",
          "warning service-id /service_session_id\n"
          "info id-aside /session_id\n");
    check("{'type':'session','session_id':'s','service_session_id':{"
          "'context_id':5},'state':{},'perdure':{'kind':'a2a'}}",
          DOTNET,
          "{'stateBag':{},'perdure':{'kind':'a2a','id':'s','serviceId':{"
          "'context_id':5}}}",
          "warning service-id /service_session_id\n"
          "info id-aside /session_id\n");
}

/* --- older releases of Python -------------------------------------------- */

TEST(conversion, labels_hosted_calls_for_older_releases)
{
    check(SAYS("{'type':'function_call','call_id':'c','name':'f','server_name':"
               "'m','hosted':true,'id':'i','merge_mode':'x',"
               "'additional_properties':{}}"),
          OLDER,
          "{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{'in_memory':{'messages':[{'role':'assistant','contents':[{"
          "'type':'function_call','call_id':'c','name':'f','server_name':'m',"
          "'id':'i','additional_properties':{'server_label':'m','perdure':{"
          "'newer':{'hosted':true,'merge_mode':'x','label':true}}}}],"
          "'additional_properties':{},'type':'message'}]}},'perdure':{'newer':"
          "{}}}",
          "info hosted " CONTENT "\n");
    check(SAYS("{'type':'function_call','hosted':true,'additional_properties':"
               "{'server_label':'own'}},{'type':'computer_tool_call'}"),
          OLDER,
          "{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{'in_memory':{'messages':[{'role':'assistant','contents':[{"
          "'type':'function_call','additional_properties':{'server_label':"
          "'own','perdure':{'newer':{'hosted':true}}}},{'type':"
          "'computer_tool_call'}],'additional_properties':{},'type':'message'}]"
          "}},'perdure':{'newer':{}}}",
          "info hosted " CONTENT "\nwarning computer-content "
          "/state/in_memory/messages/0/contents/1\n");
}

TEST(conversion, leaves_data_alone_that_only_looks_newer)
{
    const char *data =
        "{'type':'session','session_id':'s','service_session_id':null,"
        "'state':{'mine':{'hosted':true,'merge_mode':1,'contents':[{'hosted':"
        "true}]},'tool_approval':{'rules':[{'arguments':{'type':'x','hosted':"
        "'y'}}]}}}";

    check(data, OLDER, data, "");
}

TEST(conversion, changes_messages_and_approvals_wherever_they_are_read)
{
    check("{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{'q':[{'type':'message','contents':[{'type':'function_call',"
          "'hosted':false}]}],'tool_approval':{'p':[{'type':'x','function_call'"
          ":{'type':'function_call','hosted':false}}]}}}",
          OLDER,
          "{'type':'session','session_id':'s','service_session_id':null,"
          "'state':{'q':[{'type':'message','contents':[{'type':'function_call'}"
          "]}],'tool_approval':{'p':[{'type':'x','function_call':{'type':"
          "'function_call'}}]}},'perdure':{'newer':{}}}",
          "");
}

TEST(conversion, keeps_the_whole_where_an_older_release_loses_places)
{
    /* No properties, so the note has to make some; and an odd place. */
    struct session_trip_report report;
    pdr_value *source = doc_value(
        SAYS("{'hosted':true,'type':'function_call','merge_mode':5}"));

    ASSERT(
        session_trip_check(&report, pdr_session_convert, source, OLDER, NULL));
    pdr_value_free(source);
}

/* --- thread-era documents ------------------------------------------------ */

TEST(conversion, makes_sessions_of_dotnet_threads)
{
    pdr_session_convert_opts opts = {DOTNET, {NULL, 0}, pdr_str_c("Memory")};

    check("{'storeState':{'messages':[{'role':'user'}]},"
          "'aiContextProviderState':{'a':1},'new':1}",
          DOTNET,
          "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'role':"
          "'user'}]},'AIContextProvider':{'a':1}},'new':1}",
          "");
    check_opts("{'chatHistoryProviderState':{'messages':[]},"
               "'aiContextProviderState':5}",
               &opts,
               "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[]},"
               "'Memory':5}}",
               "");
    check("{'conversationId':'c','storeState':{'messages':[5]}}", DOTNET,
          "{'conversationId':'c','stateBag':{'InMemoryChatHistoryProvider':{"
          "'messages':[5]}}}",
          "warning thread-history /storeState\n");
    check("{'conversationId':'c','storeState':{'key':5},"
          "'aiContextProviderState':null}",
          DOTNET, "{'conversationId':'c','stateBag':{},'storeState':{'key':5}}",
          "warning thread-store /storeState\n");
    check("{'storeState':{'messages':[5]},'aiContextProviderState':null}",
          NATIVE,
          "{'perdure':{'version':'1.0.0','kind':'client','id':'new','dotnet':{"
          "'patch':[{'at':['perdure','id'],'was':'new'}]}},'stateBag':{"
          "'InMemoryChatHistoryProvider':{'messages':[5]}}}",
          "info id-minted \n");
}

TEST(conversion, makes_sessions_of_python_threads)
{
    check("{'type':'agent_thread_state','service_thread_id':null,"
          "'chat_message_store_state':{'type':'chat_message_store_state',"
          "'messages':[{'type':'chat_message','role':{'type':'role','value':"
          "'user'},'contents':[]},{'role':'tool'},7]}}",
          PYTHON,
          "{'type':'session','session_id':'new','service_session_id':null,"
          "'state':{'in_memory':{'messages':[{'type':'message','role':'user',"
          "'contents':[]},{'role':'tool','type':'message'},7]}}}",
          "info id-minted \n");
    check("{'type':'agent_thread_state','service_thread_id':{'k':1},"
          "'chat_message_store_state':{'messages':[null]}}",
          DOTNET,
          "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[null]}},"
          "'perdure':{'kind':'python','id':'new','serviceId':{'k':1}}}",
          "warning thread-history /chat_message_store_state\n"
          "info id-minted \n"
          "warning history-item /chat_message_store_state/messages/0\n"
          "warning service-id /service_thread_id\n"
          "info id-aside \n");
}

TEST(conversion, refuses_a_key_that_a_provider_cannot_have)
{
    pdr_session_convert_opts opts = {
        DOTNET, {NULL, 0}, pdr_str_c("InMemoryChatHistoryProvider")};
    pdr_session *session = open_session(
        "{'storeState':{'messages':[]},'aiContextProviderState':1}");
    pdr_session *made = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_session_convert(&made, session, &opts, &err, NULL, NULL));
    ASSERT_STR("state_key_clash", err.reason);
    opts.provider_key = pdr_str_c("  ");
    ASSERT_RC(PDR_EINVALID,
              pdr_session_convert(&made, session, &opts, &err, NULL, NULL));
    ASSERT_STR("key_blank", err.reason);
    ASSERT(made == NULL);
    pdr_session_free(session);
}

/* --- failures ------------------------------------------------------------ */

TEST(conversion, refuses_ids_that_are_none)
{
    static const char *const bad[] = {"@dafx-a@b", "\xff"};
    static const char *const reasons[] = {"bad_id", "bad_utf8"};
    pdr_session *session = open_session("{'stateBag':{}}"), *made = NULL;
    pdr_session_convert_opts opts = {PYTHON, {NULL, 0}, {NULL, 0}};
    char text[1026];
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < 2; i++) {
        opts.id = pdr_str_c(bad[i]);
        ASSERT_RC(PDR_EINVALID,
                  pdr_session_convert(&made, session, &opts, &err, NULL, NULL));
        ASSERT_STR(reasons[i], err.reason);
    }
    memset(text, 'x', sizeof(text));
    opts.id = pdr_str_n(text, 1025);
    ASSERT_RC(PDR_EINVALID,
              pdr_session_convert(&made, session, &opts, &err, NULL, NULL));
    ASSERT_STR("bad_id", err.reason);
    opts.id.len = 1024;
    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, session, &opts, &err, NULL, NULL));
    pdr_session_free(made);
    pdr_session_free(session);
}

/* A Python session with a slot of `levels` levels. */
static pdr_session *deep_session(size_t levels)
{
    char text[600];
    size_t used =
        (size_t)snprintf(text, sizeof(text), "{'session_id':'s','state':{'x':");

    for (size_t i = 0; i < levels; i++)
        text[used++] = '[';
    for (size_t i = 0; i < levels; i++)
        text[used++] = ']';
    (void)snprintf(text + used, sizeof(text) - used, "}}");
    return open_session(text);
}

TEST(conversion, refuses_more_levels_than_dotnet_reads)
{
    pdr_session_convert_opts opts = {DOTNET, {NULL, 0}, {NULL, 0}};
    pdr_session *fits = deep_session(62), *deep = deep_session(63);
    pdr_session *made = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, fits, &opts, &err, NULL, NULL));
    pdr_session_free(made);
    ASSERT_RC(PDR_ELIMIT,
              pdr_session_convert(&made, deep, &opts, &err, NULL, NULL));
    ASSERT_STR("too_deep", err.reason);
    ASSERT(strncmp(err.path, "/stateBag/x/0/0/0", 17) == 0 ||
           strstr(err.path, "/0/0/0") != NULL);
    opts.to = NATIVE;
    ASSERT_RC(PDR_OK,
              pdr_session_convert(&made, deep, &opts, &err, NULL, NULL));
    pdr_session_free(made);
    pdr_session_free(deep);
    pdr_session_free(fits);
}

static pdr_rc stop(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)err;
    return strcmp(finding->rule, arg) == 0 ? PDR_ECANCELLED : PDR_OK;
}

TEST(conversion, ends_with_what_the_callback_returns)
{
    static const struct {
        const char *text, *rule;
        pdr_session_shape to;
    } cases[] = {
        {"{'stateBag':{}}", "id-minted", PYTHON},
        {"{'session_id':'s','state':{}}", "id-aside", DOTNET},
        {"{'stateBag':{},'type':1}", "member-aside", PYTHON},
        {"{'stateBag':{'in_memory':1}}", "history-aside", PYTHON},
        {"{'stateBag':{'TodoProvider':{'a':1}}}", "provider-slot", PYTHON},
        {"{'serviceSessionId':'x','stateBag':{}}", "kind", PYTHON},
        {"{'conversationId':'_agent_local_chat_history','stateBag':{}}",
         "sentinel", PYTHON},
        {"{'session_id':'s','state':{'in_memory':5}}", "history-shape", DOTNET},
        {"{'session_id':'s','service_session_id':{'a':1},'state':{}}",
         "service-id", DOTNET},
        {"{'session_id':'s','state':{'in_memory':{'messages':[1]}}}",
         "history-item", DOTNET},
        {SAYS("{'type':'function_call','hosted':true}"), "hosted", OLDER},
        {SAYS("{'type':'computer_tool_call'}"), "computer-content", OLDER},
        {SAYS("{'type':'shell_tool_call'}"), "content-kind", DOTNET},
        {"{'storeState':{'messages':[1]},'conversationId':'c'}",
         "thread-history", DOTNET},
        {"{'storeState':{'m':[1]}}", "thread-store", DOTNET},
        {"{'storeState':{'messages':[1]}}", "history-item", PYTHON},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_session_convert_opts opts = {cases[i].to, {NULL, 0}, {NULL, 0}};
        pdr_session *session = open_session(cases[i].text), *made = NULL;

        ASSERT_RC(PDR_ECANCELLED,
                  pdr_session_convert(&made, session, &opts, NULL, stop,
                                      (void *)(uintptr_t)cases[i].rule));
        ASSERT(made == NULL);
        pdr_session_free(session);
    }
}

/* --- memory -------------------------------------------------------------- */

static pdr_rc ignore(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding, (void)err, (void)arg;
    return PDR_OK;
}

/* Opens, converts there and back; any step may have no memory. */
static void convert_twice(const char *text, pdr_session_shape to,
                          pdr_session_shape back)
{
    pdr_session_convert_opts opts = {to, pdr_str_c("i"), {NULL, 0}};
    pdr_session *session = NULL, *there = NULL, *again = NULL;
    char *copy = quoted(text);
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(copy), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_session_from_value(&session, value, NULL);
    if (rc == PDR_OK)
        rc = pdr_session_convert(&there, session, &opts, NULL, ignore, NULL);
    opts.to = back;
    if (rc == PDR_OK)
        rc = pdr_session_convert(&again, there, &opts, NULL, ignore, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((again != NULL) == (rc == PDR_OK));
    pdr_session_free(again);
    pdr_session_free(there);
    pdr_session_free(session);
    pdr_value_free(value);
    free(copy);
}

TEST_OOM(conversion, cleans_up_on_the_way_from_dotnet_to_python)
{
    convert_twice("{'conversationId':'_agent_local_chat_history','type':1,"
                  "'stateBag':{'in_memory':1,'InMemoryChatHistoryProvider':{"
                  "'messages':[{'role':'user','contents':[{'text':'a','$type':"
                  "'text'}]}]}}}",
                  PYTHON, DOTNET);
}

TEST_OOM(conversion, cleans_up_on_the_way_from_python_to_dotnet)
{
    convert_twice("{'session_id':'s','service_session_id':{'context_id':'x'},"
                  "'state':{'tool_approval':{'a':[1]}},'ConversationId':1,"
                  "'x':1,'x':2,'perdure':{'z':1}}",
                  DOTNET, PYTHON);
    convert_twice("{'session_id':'s','state':{},'durable_session_id':'@a@b'}",
                  NATIVE, PYTHON);
}

TEST_OOM(conversion, cleans_up_on_the_way_to_older_releases)
{
    convert_twice("{'session_id':'s','state':{'m':[{'type':'message',"
                  "'contents':[{'hosted':true,'type':'function_call',"
                  "'merge_mode':'x'}]}]}}",
                  OLDER, PYTHON);
}

TEST_OOM(conversion, cleans_up_on_the_way_from_threads)
{
    convert_twice("{'storeState':{'messages':[1]},'conversationId':'c',"
                  "'aiContextProviderState':1,'new':1}",
                  PYTHON, NATIVE);
    convert_twice("{'type':'agent_thread_state','chat_message_store_state':{"
                  "'messages':[{'role':{'type':'role','value':'user'}}]}}",
                  DOTNET, NATIVE);
}
