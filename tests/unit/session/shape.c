/*
 * shape.c - which documents are sessions, and what the others look like.
 */
#include "shape.h"
#include "session_text.h"

struct known {
    const char *text;
    pdr_session_shape shape;
    pdr_session_kind kind;
};

#define NATIVE   PDR_SESSION_NATIVE
#define DOTNET   PDR_SESSION_DOTNET
#define PYTHON   PDR_SESSION_PYTHON
#define THREAD   PDR_SESSION_DOTNET_THREAD
#define PYTHREAD PDR_SESSION_PYTHON_THREAD

/* One row per question of the order, and where two could claim a document. */
static const struct known sessions[] = {
    {"{}", DOTNET, PDR_SESSION_KIND_UNSTATED},
    {"{'stateBag':{}}", DOTNET, PDR_SESSION_KIND_UNSTATED},
    {"{'stateBag':null}", DOTNET, PDR_SESSION_KIND_UNSTATED},
    {"{'x':1,'stateBag':{}}", DOTNET, PDR_SESSION_KIND_UNSTATED},
    {"{'conversationId':'c'}", DOTNET, PDR_SESSION_KIND_CLIENT},
    {"{'conversationId':null,'stateBag':{}}", DOTNET, PDR_SESSION_KIND_CLIENT},
    {"{'sessionId':'@dafx-a@k','stateBag':{}}", DOTNET,
     PDR_SESSION_KIND_DURABLE},
    {"{'sessionId':'@DAFX-a@k'}", DOTNET, PDR_SESSION_KIND_DURABLE},
    {"{'sessionId':'\\u0040daf\\u0078-a@k'}", DOTNET, PDR_SESSION_KIND_DURABLE},
    {"{'contextId':'c','stateBag':{}}", DOTNET, PDR_SESSION_KIND_A2A},
    {"{'taskId':'c'}", DOTNET, PDR_SESSION_KIND_A2A},
    {"{'taskState':1}", DOTNET, PDR_SESSION_KIND_A2A},
    {"{'serviceSessionId':null}", DOTNET, PDR_SESSION_KIND_COPILOT_STUDIO},
    {"{'lastCheckpoint':null}", DOTNET, PDR_SESSION_KIND_WORKFLOW},
    {"{'checkpointManager':{}}", DOTNET, PDR_SESSION_KIND_WORKFLOW},
    {"{'sessionId':'w','pendingRequests':[],'stateBag':{}}", DOTNET,
     PDR_SESSION_KIND_WORKFLOW},
    {"{'sessionId':'gh','stateBag':{}}", DOTNET,
     PDR_SESSION_KIND_GITHUB_COPILOT},
    {"{'sessionId':'@desk@K1','stateBag':{}}", DOTNET,
     PDR_SESSION_KIND_GITHUB_COPILOT},
    {"{'session_id':'s','stateBag':{}}", DOTNET, PDR_SESSION_KIND_UNSTATED},
    {"{'session_id':'s'}", PYTHON, PDR_SESSION_KIND_PYTHON},
    {"{'session_id':'s','messages':[]}", PYTHON, PDR_SESSION_KIND_PYTHON},
    {"{'type':'zebra','session_id':'s','conversationId':'c'}", PYTHON,
     PDR_SESSION_KIND_PYTHON},
    {"{'session_id':1,'session_id':'s'}", PYTHON, PDR_SESSION_KIND_PYTHON},
    {"{'session_id':'s','durable_session_id':null}", PYTHON,
     PDR_SESSION_KIND_PYTHON},
    {"{'session_id':'s','durable_session_id':'@a@k'}", PYTHON,
     PDR_SESSION_KIND_DURABLE},
    {"{'perdure':{'version':'1.0.0'},'session_id':'s'}", PYTHON,
     PDR_SESSION_KIND_PYTHON},
    {"{'perdure':{'version':'1.0.0'},'messages':[]}", NATIVE,
     PDR_SESSION_KIND_UNSTATED},
    {"{'perdure':{'version':'1.0.0'},'contextId':'c'}", NATIVE,
     PDR_SESSION_KIND_A2A},
    {"{'perdure':{'version':1},'stateBag':{}}", DOTNET,
     PDR_SESSION_KIND_UNSTATED},
    {"{'storeState':{'messages':[]}}", THREAD, PDR_SESSION_KIND_CLIENT},
    {"{'conversationId':'c','chatHistoryProviderState':{}}", THREAD,
     PDR_SESSION_KIND_CLIENT},
    {"{'aiContextProviderState':{}}", THREAD, PDR_SESSION_KIND_CLIENT},
    {"{'storeState':{},'stateBag':{}}", DOTNET, PDR_SESSION_KIND_UNSTATED},
    {"{'type':'agent_thread_state'}", PYTHREAD, PDR_SESSION_KIND_PYTHON},
    {"{'service_thread_id':null}", PYTHREAD, PDR_SESSION_KIND_PYTHON},
    {"{'chat_message_store_state':null}", PYTHREAD, PDR_SESSION_KIND_PYTHON},
};

TEST(shape, is_told_by_the_members_of_the_first_level)
{
    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        const struct known *known = &sessions[i];
        pdr_value *value = doc_value(known->text);
        pdr_session_shape shape = PDR_SESSION_PYTHON_OLD;
        pdr_session_kind kind = PDR_SESSION_KIND_CHAT;

        if (!pdr__session_recognise(&shape, &kind, value))
            fail_msg("not recognised: %s", known->text);
        if (shape != known->shape || kind != known->kind)
            fail_msg("%s: %s, %s", known->text, pdr_session_shape_name(shape),
                     pdr_session_kind_name(kind));
        ASSERT_INT(PDR_LOOKS_SESSION, pdr_session_looks(value));
        ASSERT_STR("a session", pdr_session_looks_text(value));
        pdr_value_free(value);
    }
}

struct other {
    const char *text;
    pdr_looks looks;
    const char *said;
};

static const struct other others[] = {
    {"null", PDR_LOOKS_OTHER, "null"},
    {"7", PDR_LOOKS_OTHER, "a single text, number or boolean"},
    {"[]", PDR_LOOKS_OTHER, "an empty array"},
    {"[1,null]", PDR_LOOKS_OTHER, "an array without any session"},
    {"{'a':1}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'in_memory':{'messages':[]}}", PDR_LOOKS_OTHER,
     "a state bag without its session"},
    {"{'InMemoryChatHistoryProvider':null}", PDR_LOOKS_OTHER,
     "a state bag without its session"},
    {"{'data':{'conversationHistory':[]}}", PDR_LOOKS_OTHER,
     "a durable state document that lacks its schemaVersion"},
    {"{'data':{'conversationHistory':7}}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'sessionId':'gh'}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'schemaVersion':1,'data':2,'stateBag':{}}", PDR_LOOKS_STATE,
     "a durable state document"},
    {"{'session':{}}", PDR_LOOKS_WRAPPER, "a session with metadata"},
    {"{'session':{},'additionalProperties':null}", PDR_LOOKS_WRAPPER,
     "a session with metadata"},
    {"{'session':{'stateBag':{}},'other':1}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'schemaVersion':'1.0.0','a':1}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'messages':[],'responseId':'r'}", PDR_LOOKS_MESSAGES,
     "an agent response"},
    {"{'contents':[],'role':'a','continuationToken':'t'}", PDR_LOOKS_MESSAGES,
     "a response update"},
    {"{'session':null}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"[{'session':{}},{}]", PDR_LOOKS_WRAPPERS,
     "a list of sessions with metadata"},
    {"[null,7,{'stateBag':{}}]", PDR_LOOKS_LIST, "a list of sessions"},
    {"[{'role':'user','contents':[]},{'stateBag':{}}]", PDR_LOOKS_LIST,
     "a list of sessions"},
    {"{'Ann':{'stateBag':{}},'Bob':{'session_id':'b'}}", PDR_LOOKS_MAP,
     "an object of sessions"},
    {"{'Ann':{'stateBag':{}},'Bob':{'schemaVersion':'1','data':{}}}",
     PDR_LOOKS_MAP, "an object of sessions"},
    {"{'Ann':{'data':{},'schemaVersion':'1'}}", PDR_LOOKS_MAP,
     "an object of sessions"},
    {"{'Ann':{'session':{}},'Bob':{'session':{},'additionalProperties':{}}}",
     PDR_LOOKS_MAP, "an object of sessions"},
    {"{'Ann':{'schemaVersion':'1'}}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'Ann':{'schemaVersion':'1','data':{}},'schemaVersion':'1','data':{}}",
     PDR_LOOKS_STATE, "a durable state document"},
    {"{'Ann':{'stateBag':{}},'session_id':{}}", PDR_LOOKS_OTHER,
     "a Python session without the text session_id"},
    {"{'Ann':{'stateBag':{}},'Bob':null}", PDR_LOOKS_OTHER,
     "an object with other members, perhaps a state bag without its session"},
    {"{'session_id':5}", PDR_LOOKS_OTHER,
     "a Python session without the text session_id"},
    {"{'type':'session','state':{'a':1}}", PDR_LOOKS_OTHER,
     "a Python session without the text session_id"},
    {"{'StateBag':null}", PDR_LOOKS_OTHER,
     "a .NET session with names in PascalCase"},
    {"{'role':'user','contents':[]}", PDR_LOOKS_MESSAGES, "a message"},
    {"{'role':'user'}", PDR_LOOKS_MESSAGES, "a message"},
    {"{'type':'message','text':'x'}", PDR_LOOKS_MESSAGES, "a message"},
    {"{'contents':[],'stateBag':{}}", PDR_LOOKS_MESSAGES, "a response update"},
    {"{'contents':[],'role':'a','responseId':'r'}", PDR_LOOKS_MESSAGES,
     "a response update"},
    {"{'contents':[],'role':'a','type':'chat_response_update'}",
     PDR_LOOKS_MESSAGES, "a response update"},
    {"{'messages':[]}", PDR_LOOKS_MESSAGES, "a history of messages"},
    {"{'messages':[],'agentId':'a'}", PDR_LOOKS_MESSAGES, "an agent response"},
    {"{'messages':[],'conversationId':'c','modelId':'m'}", PDR_LOOKS_MESSAGES,
     "a chat response"},
    {"{'type':'chat_response','messages':[]}", PDR_LOOKS_MESSAGES,
     "a chat response"},
    {"[{'role':'user','contents':[]}]", PDR_LOOKS_MESSAGES,
     "a list of messages"},
    {"[7,{'contents':[]}]", PDR_LOOKS_MESSAGES, "a list of response updates"},
    {"[{'messages':[]}]", PDR_LOOKS_MESSAGES, "a list of responses"},
    {"{'Messages':[]}", PDR_LOOKS_MESSAGES,
     "messages with names in PascalCase"},
    {"[{'Contents':[]}]", PDR_LOOKS_MESSAGES,
     "a list of messages with names in PascalCase"},
    {"{'innerToken':'x'}", PDR_LOOKS_TOKEN,
     "the inside of a continuation token"},
    {"{'type':'chatClientAgentContinuationToken'}", PDR_LOOKS_TOKEN,
     "the inside of a continuation token"},
};

TEST(shape, says_what_a_document_looks_like_that_is_no_session)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        pdr_value *value = doc_value(others[i].text);

        if (pdr_session_looks(value) != others[i].looks)
            fail_msg("%s looks like %d", others[i].text,
                     (int)pdr_session_looks(value));
        ASSERT_STR(others[i].said, pdr_session_looks_text(value));
        pdr_value_free(value);
    }
    ASSERT_INT(PDR_LOOKS_OTHER, pdr_session_looks(NULL));
    ASSERT_STR("null", pdr_session_looks_text(NULL));
}

TEST(shape, is_told_without_memory)
{
    pdr_buf text = TEXT_INIT;

    PUT(&text, "{\"perdure\":{\"version\":\"1.0.0\"");
    for (int i = 0; i < 100; i++)
        PUT(&text, ",\"m%d\":{}", i);
    PUT(&text, "}");
    for (int i = 0; i < 100; i++)
        PUT(&text, ",\"m%d\":{}", i);
    PUT(&text, "}");
    pdr_value *value = json_take(&text);
    size_t before = test_allocations();
    ASSERT_INT(PDR_LOOKS_SESSION, pdr_session_looks(value));
    ASSERT_SIZE(before, test_allocations());
    pdr_value_free(value);
}

TEST(shape, has_a_name)
{
    ASSERT_STR("native", pdr_session_shape_name(PDR_SESSION_NATIVE));
    ASSERT_STR("dotnet", pdr_session_shape_name(PDR_SESSION_DOTNET));
    ASSERT_STR("python", pdr_session_shape_name(PDR_SESSION_PYTHON));
    ASSERT_STR("python-1.21", pdr_session_shape_name(PDR_SESSION_PYTHON_OLD));
    ASSERT_STR("dotnet-thread",
               pdr_session_shape_name(PDR_SESSION_DOTNET_THREAD));
    ASSERT_STR("python-thread",
               pdr_session_shape_name(PDR_SESSION_PYTHON_THREAD));
    ASSERT_STR("?", pdr_session_shape_name((pdr_session_shape)6));
    ASSERT_STR("?", pdr_session_shape_name((pdr_session_shape)-1));
}

TEST(kind, has_the_name_that_native_documents_use)
{
    ASSERT_STR("unstated", pdr_session_kind_name(PDR_SESSION_KIND_UNSTATED));
    ASSERT_STR("copilot-studio",
               pdr_session_kind_name(PDR_SESSION_KIND_COPILOT_STUDIO));
    ASSERT_STR("chat", pdr_session_kind_name(PDR_SESSION_KIND_CHAT));
    ASSERT_STR("?", pdr_session_kind_name((pdr_session_kind)9));
}

TEST(session_name, is_one_that_only_sessions_have)
{
    pdr_value *names = doc_value("['stateBag','session_id','type','x']");

    ASSERT(pdr__is_session_name(pdr_value_at(names, 0)));
    ASSERT(pdr__is_session_name(pdr_value_at(names, 1)));
    ASSERT(!pdr__is_session_name(pdr_value_at(names, 2)));
    ASSERT(pdr__is_known_name(pdr_value_at(names, 2)));
    ASSERT(!pdr__is_session_name(pdr_value_at(names, 3)));
    ASSERT(!pdr__is_known_name(pdr_value_at(names, 3)));
    pdr_value_free(names);
}

TEST(text_begins, sees_through_escapes_and_case)
{
    pdr_value *texts =
        doc_value("['@DaFx-a','\\u0040dafx-','@dafx','\\u00e9dafx-','\\n','é',"
                  "7]");

    ASSERT(pdr__text_begins(pdr_value_at(texts, 0), "@dafx-"));
    ASSERT(pdr__text_begins(pdr_value_at(texts, 1), "@dafx-"));
    for (size_t i = 2; i < pdr_value_count(texts); i++)
        ASSERT(!pdr__text_begins(pdr_value_at(texts, i), "@dafx-"));
    ASSERT(!pdr__text_begins(NULL, "@dafx-"));
    pdr_value_free(texts);
}
