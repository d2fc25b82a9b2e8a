/*
 * Statements about documents of one session, by what a caller sees of them.
 */
#include "session_text.h"

static pdr_session *make(pdr_session_shape shape, pdr_session_kind kind,
                         const char *service_id, const char *agent,
                         const char *key)
{
    pdr_session_parts parts = {
        shape,         kind, {NULL, 0}, pdr_str_c(service_id), pdr_str_c(agent),
        pdr_str_c(key)};
    pdr_session *s = NULL;

    ASSERT_RC(PDR_OK, pdr_session_new(&s, &parts, NULL));
    return s;
}

TEST(dotnet_session, has_an_id_only_if_there_is_one)
{
    pdr_session *empty =
        make(PDR_SESSION_DOTNET, PDR_SESSION_KIND_CLIENT, NULL, NULL, NULL);
    pdr_session *with =
        make(PDR_SESSION_DOTNET, PDR_SESSION_KIND_CLIENT, "c", NULL, NULL);

    COVERS("S-84");
    ASSERT_SESSION("{'stateBag':{}}", empty);
    ASSERT_SESSION("{'conversationId':'c','stateBag':{}}", with);
    /* Also if the id comes later. */
    ASSERT_RC(PDR_OK, set_service_id(empty, "'c'", NULL));
    ASSERT_SESSION("{'conversationId':'c','stateBag':{}}", empty);
    pdr_session_free(empty);
    pdr_session_free(with);
}

TEST(session, is_an_object_and_may_be_empty)
{
    pdr_session *s = session_of("{}");

    COVERS("S-85");
    assert_refused("session_not_object", "", "array", "[42]");
    ASSERT_SIZE(0, pdr_bag_count(pdr_session_bag(s)));
    assert_service_id("-", s);
    ASSERT_SESSION("{}", s);
    pdr_session_free(s);
}

TEST(conversation_id, is_none_if_blank_and_never_becomes_blank)
{
    static const char *const texts[] = {"{'conversationId':'','stateBag':{}}",
                                        "{'conversationId':'  ','stateBag':{}"
                                        "}"};
    pdr_session *set = session_of("{'conversationId':'c','stateBag':{}}");
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-86");
    for (size_t i = 0; i < 2; i++) {
        pdr_session *s = session_of(texts[i]);

        assert_service_id("-", s);
        ASSERT_RC(PDR_OK, set_service_id(s, "' '", NULL));
        ASSERT_SESSION(texts[i], s);
        pdr_session_free(s);
    }
    assert_service_id("'c'", set);
    ASSERT_RC(PDR_EINVALID, set_service_id(set, "''", &err));
    ASSERT_STR("service_id", err.reason);
    ASSERT_RC(PDR_EINVALID, set_service_id(set, "'  '", NULL));
    ASSERT_RC(PDR_EINVALID, set_service_id(set, NULL, NULL));
    assert_service_id("'c'", set);
    pdr_session_free(set);
}

TEST(durable_session, has_the_id_that_dotnet_gives_it)
{
    pdr_session *s =
        make(PDR_SESSION_DOTNET, PDR_SESSION_KIND_DURABLE, NULL, "Desk", "K1");
    pdr_session *odd = make(PDR_SESSION_DOTNET, PDR_SESSION_KIND_DURABLE, NULL,
                            "a", "@dafx-b@x");
    pdr_value *bare = doc_value("{'sessionId':'@desk@K1','stateBag':{}}");
    pdr_session *read = NULL;
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    bool prefixed = true;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-87");
    ASSERT_SESSION("{'sessionId':'@dafx-desk@K1','stateBag':{}}", s);
    /* Without the prefix it is no durable session of .NET. */
    ASSERT_RC(PDR_EINVALID,
              pdr_session_from_value_as(&read, bare, PDR_SESSION_DOTNET,
                                        PDR_SESSION_KIND_DURABLE, &err));
    ASSERT_STR("session_member", err.reason);
    ASSERT_STR("/sessionId", err.path);
    /* Who is not told sees another kind. */
    ASSERT_RC(PDR_OK, pdr_session_from_value(&read, bare, NULL));
    ASSERT_INT(PDR_SESSION_KIND_GITHUB_COPILOT, pdr_session_get_kind(read));
    ASSERT_RC(PDR_OK, pdr_durable_id_read(&agent, &key, &prefixed,
                                          pdr_str_c("@desk@K1"), NULL));
    ASSERT_TEXT("desk", agent);
    ASSERT_TEXT("K1", key);
    ASSERT(!prefixed);
    ASSERT_SESSION("{'sessionId':'@dafx-a@@dafx-b@x','stateBag':{}}", odd);
    ASSERT(pdr_session_durable_id(&agent, &key, odd));
    ASSERT_TEXT("a", agent);
    ASSERT_TEXT("@dafx-b@x", key);
    pdr_value_free(bare);
    pdr_session_free(read);
    pdr_session_free(s);
    pdr_session_free(odd);
}

TEST(python_session, keeps_each_form_of_the_service_id)
{
    static const char *const ids[] = {
        "null", "'conv'", "{'context_id':'c','task_id':null,'hops':[1.0]}"};

    COVERS("S-88");
    for (size_t i = 0; i < 3; i++) {
        char text[160];
        pdr_session *s = NULL;

        (void)snprintf(text, sizeof(text),
                       "{'type':'session','session_id':'s',"
                       "'service_session_id':%s,'state':{}}",
                       ids[i]);
        s = session_of(text);
        assert_service_id(i == 0 ? "-" : ids[i], s);
        ASSERT_SESSION(text, s);
        pdr_session_free(s);
    }
}

TEST(python_session, needs_an_id_and_no_state)
{
    pdr_session *s = session_of("{'type':'session','session_id':'s'}");

    COVERS("S-89");
    ASSERT_SIZE(0, pdr_bag_count(pdr_session_bag(s)));
    ASSERT_SESSION("{'type':'session','session_id':'s'}", s);
    assert_refused("session_unknown_shape", "", "session_id",
                   "{'type':'session','state':{}}");
    pdr_session_free(s);
}

TEST(python_session, decodes_nothing_because_of_its_tag)
{
    static const char lookalike[] =
        "{'session_id':'s','state':{'type':'message','body':'hi'}}";
    static const char inside[] =
        "{'session_id':'s','state':{'mail':{'type':'message','body':'hi'},"
        "'plan':{'type':'unknown.kind','steps':[{'type':'step'}]}}}";
    pdr_session *s = session_of(lookalike);
    pdr_session *deep = session_of(inside);

    COVERS("S-90");
    COVERS("S-91");
    ASSERT_SESSION(lookalike, s);
    assert_slot("'hi'", pdr_session_bag(s), "body");
    assert_slot("{'type':'message','body':'hi'}", pdr_session_bag(deep),
                "mail");
    assert_slot("{'type':'unknown.kind','steps':[{'type':'step'}]}",
                pdr_session_bag(deep), "plan");
    ASSERT_SESSION(inside, deep);
    pdr_session_free(s);
    pdr_session_free(deep);
}

/* One message that neither edition could read. */
#define ODD_DOTNET                                                      \
    "{'role':'user','since':1,'contents':[{'$type':'hologram','x':[]}," \
    "{'$type':'text','text':'hi','colour':'red'}]}"
#define ODD_PYTHON                                                           \
    "{'type':'message','role':'user','created_at':'2026','contents':[{'type" \
    "':'hologram'},{'type':'text','text':'hi','colour':'red'}]}"

static void assert_odd(const char *text, const char *before, const char *after)
{
    pdr_session *s = session_of(text);
    pdr_value *message = doc_value("{'role':'user'}");
    const pdr_value *messages[] = {message};
    char expected[600];

    ASSERT_SESSION(text, s);
    ASSERT_RC(PDR_OK, pdr_session_add_messages(s, messages, 1, NULL));
    (void)snprintf(expected, sizeof(expected), "%s,{'role':'user'}%s", before,
                   after);
    ASSERT_SESSION(expected, s);
    pdr_value_free(message);
    pdr_session_free(s);
}

TEST(session, keeps_messages_and_contents_that_nobody_knows)
{
    COVERS("S-92");
    assert_odd(
        "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[" ODD_DOTNET
        "]}}}",
        "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[" ODD_DOTNET,
        "]}}}");
    assert_odd(
        "{'session_id':'s','state':{'in_memory':{'messages':[" ODD_PYTHON
        "]}}}",
        "{'session_id':'s','state':{'in_memory':{'messages':[" ODD_PYTHON,
        "]}}}");
}

TEST(session, keeps_root_members_that_nobody_knows)
{
    static const char *const texts[] = {
        "{'owner':{'n':1.0},'stateBag':{'k':%s},'$type':'x','owner':2}",
        "{'owner':[],'session_id':'s','state':{'k':%s},'version':'9.9'}",
        "{'x':0,'perdure':{'version':'1.0.0','more':1},'stateBag':{'k':%s}}",
    };

    COVERS("S-93");
    for (size_t i = 0; i < 3; i++) {
        char before[120], after[120];
        pdr_session *s = NULL;

        (void)snprintf(before, sizeof(before), texts[i], "1");
        (void)snprintf(after, sizeof(after), texts[i], "[2]");
        s = session_of(before);
        ASSERT_SESSION(before, s);
        bag_put(pdr_session_bag(s), "k", "[2]");
        ASSERT_SESSION(after, s);
        pdr_session_free(s);
    }
}
