/*
 * session.c - one session: reading, writing, ids, history.
 */
#include "fake_rand.h"
#include "session_core.h"
#include "session_text.h"

/* --- reading and writing ------------------------------------------------- */

TEST(session_from_value, keeps_the_document_as_it_was_read)
{
    static const char *const texts[] = {
        "{}",
        "{ }",
        "{'stateBag': {}}",
        "{ 'stateBag' : null , 'x' : [ 1.0, 2 ] }",
        "{'stateBag':{},'stateBag':{'a':1.50}, 'a':1,'a':2}",
        "{'session_id':'\\u0041','state':{'k':'\\ud800'},'version':'9'}",
        "{'session_id':'s'}",
        "{'storeState':{'messages':[ ]}}",
        "{'x':0,'perdure':{'version':'1.4.0','new':true},'stateBag':{}}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pdr_value *value = doc_value(texts[i]);
        pdr_value *back = NULL;
        pdr_session *s = NULL;

        ASSERT_RC(PDR_OK, pdr_session_from_value(&s, value, NULL));
        ASSERT_RC(PDR_OK, pdr_session_to_value(&back, s, NULL));
        ASSERT(back == value); /* not even a copy */
        assert_session(texts[i], s, PDR_AS_READ);
        pdr_value_free(back);
        pdr_value_free(value);
        pdr_session_free(s);
    }
}

TEST(session_to_value, changes_one_slot_and_no_other_byte)
{
    pdr_session *s = session_of("{ 'x' : 1.0,\n 'stateBag' : { 'a' : [ 1 ],  "
                                "'b':{'n' : 2} } ,'y':[ ] }");

    bag_put(pdr_session_bag(s), "a", "true");
    assert_session("{ 'x' : 1.0,\n 'stateBag' : { 'a' : true,  'b':{'n' : 2} } "
                   ",'y':[ ] }",
                   s, PDR_AS_READ);
    pdr_session_free(s);
}

TEST(session_to_value, gives_a_document_that_later_changes_do_not_reach)
{
    pdr_session *s = session_of("{'stateBag':{'a':1}}");
    pdr_value *first = NULL, *again = NULL, *second = NULL;

    ASSERT_RC(PDR_OK, pdr_session_to_value(&first, s, NULL));
    bag_put(pdr_session_bag(s), "b", "2");
    ASSERT_RC(PDR_OK, pdr_session_to_value(&second, s, NULL));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&again, s, NULL));
    ASSERT(second == again); /* joined once */
    bag_put(pdr_session_bag(s), "b", "3");
    assert_value("{'stateBag':{'a':1}}", first, PDR_COMPACT);
    assert_value("{'stateBag':{'a':1,'b':2}}", second, PDR_COMPACT);
    ASSERT_SESSION("{'stateBag':{'a':1,'b':3}}", s);
    pdr_value_free(first);
    pdr_value_free(second);
    pdr_value_free(again);
    pdr_session_free(s);
}

TEST(session_to_value, adds_a_bag_only_when_it_gets_a_slot)
{
    pdr_session *s = session_of("{'conversationId':'c'}");
    pdr_session *null = session_of("{'stateBag':null,'x':1}");

    bag_put(pdr_session_bag(s), "a", "1");
    ASSERT_RC(PDR_OK, pdr_bag_remove(pdr_session_bag(s), KEY("a"), NULL));
    ASSERT_SESSION("{'conversationId':'c'}", s);
    bag_put(pdr_session_bag(s), "a", "1");
    ASSERT_SESSION("{'conversationId':'c','stateBag':{'a':1}}", s);
    ASSERT_RC(PDR_OK, pdr_bag_clear(pdr_session_bag(s), NULL));
    ASSERT_SESSION("{'conversationId':'c','stateBag':{}}", s);

    ASSERT_SESSION("{'stateBag':null,'x':1}", null);
    bag_put(pdr_session_bag(null), "a", "1");
    ASSERT_SESSION("{'stateBag':{'a':1},'x':1}", null);
    pdr_session_free(s);
    pdr_session_free(null);
}

TEST(session_to_value, changes_the_bag_that_counts)
{
    pdr_session *s =
        session_of("{'state':{'a':1},'session_id':'s','state':{}}");

    bag_put(pdr_session_bag(s), "b", "2");
    ASSERT_SESSION("{'state':{'a':1},'session_id':'s','state':{'b':2}}", s);
    pdr_session_free(s);
}

TEST(session_from_value, refuses_what_it_cannot_read_with_reason_and_path)
{
    assert_refused("session_not_object", "", "null", "null");
    assert_refused("session_not_object", "", "a number", "7");
    assert_refused("session_not_object", "", "an array without any session",
                   "[42]");
    assert_refused("session_not_object", "", "a list of sessions",
                   "[{'stateBag':{}}]");
    assert_refused("session_unknown_shape", "", "an object of sessions",
                   "{'a':{'stateBag':{}}}");
    assert_refused("session_unknown_shape", "", "a durable state document",
                   "{'schemaVersion':'1.1.0','data':{}}");
    assert_refused("session_unknown_shape", "", "without the text session_id",
                   "{'type':'session','state':{}}");
    assert_refused("session_member", "/session_id", "this is a number",
                   "{'session_id':5}");
    assert_refused("session_member", "/conversationId", "this is a number",
                   "{'conversationId':5,'stateBag':{}}");
    assert_refused("session_member", "/contextId", "an object",
                   "{'contextId':{}}");
    assert_refused("session_member", "/taskId", "an array", "{'taskId':[]}");
    assert_refused("session_member", "/serviceSessionId", "a boolean",
                   "{'serviceSessionId':true}");
    assert_refused("session_member", "/sessionId", "a number",
                   "{'sessionId':1,'stateBag':{}}");
    assert_refused("session_member", "/sessionId", "@dafx-agent@key",
                   "{'sessionId':'@dafx-a','stateBag':{}}");
    assert_refused("session_member", "/durable_session_id", "@agent@key",
                   "{'session_id':'s','durable_session_id':'a@k'}");
    assert_refused("session_member", "/durable_session_id", "as a string",
                   "{'session_id':'s','durable_session_id':7}");
    assert_refused("bag_not_object", "/stateBag", "an array",
                   "{'stateBag':[1]}");
    assert_refused("bag_not_object", "/state", "null",
                   "{'session_id':'s','state':null}");
    assert_refused("bag_not_object", "/state", "an array",
                   "{'session_id':'s','state':[]}");
}

TEST(session_from_value, says_at_which_byte_a_member_is_wrong)
{
    pdr_value *value = doc_value("{'session_id':'s','state':null}");
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_session_from_value(&s, value, &err));
    ASSERT_INT(26, err.offset);
    ASSERT_RC(PDR_EINVALID, pdr_session_from_value(&s, value, NULL));
    pdr_value_free(value);
}

TEST(native_session, is_gated_by_its_version)
{
    pdr_session *s =
        session_of("{'perdure':{'version':'1.9.3','kind':'new-kind','id':'i'},"
                   "'contextId':'c'}");

    ASSERT_INT(PDR_SESSION_KIND_A2A, pdr_session_get_kind(s));
    ASSERT_TEXT("i", pdr_session_id(s));
    pdr_session_free(s);
    s = session_of("{'perdure':{'version':'1.0'},'stateBag':{}}");
    ASSERT_INT(PDR_SESSION_NATIVE, pdr_session_get_shape(s));
    ASSERT_SIZE(0, pdr_session_id(s).len);
    pdr_session_free(s);
    assert_refused("session_version", "/perdure/version", "version 2.0.0",
                   "{'perdure':{'version':'2.0.0'}}");
    assert_refused("session_member", "/perdure/version", "1.0.0",
                   "{'perdure':{'version':'one'}}");
    assert_refused("session_member", "/perdure/kind", "no kind",
                   "{'perdure':{'version':'1.0.0','kind':'zebra'}}");
    assert_refused("session_member", "/perdure/kind", "no kind",
                   "{'perdure':{'version':'1.0.0','kind':7}}");
    assert_refused("session_member", "/perdure/id", "a number",
                   "{'perdure':{'version':'1.0.0','id':7}}");
}

/* `levels` arrays in a slot of a session. */
static pdr_value *deep_session(int levels)
{
    pdr_buf text = TEXT_INIT;

    PUT(&text, "{\"stateBag\":{\"k\":");
    for (int i = 0; i < levels; i++)
        PUT(&text, "[");
    for (int i = 0; i < levels; i++)
        PUT(&text, "]");
    PUT(&text, "}}");
    return json_take(&text);
}

TEST(session_from_value, takes_128_levels_and_refuses_129)
{
    pdr_value *value = deep_session(126);
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&s, value, NULL));
    pdr_session_free(s);
    pdr_value_free(value);
    value = deep_session(127);
    ASSERT_RC(PDR_ELIMIT, pdr_session_from_value(&s, value, &err));
    ASSERT_STR("too_deep", err.reason);
    pdr_value_free(value);
}

TEST(session_bag, keeps_a_dotnet_document_within_64_levels)
{
    pdr_value *fits = deep_session(60), *deep = deep_session(61);
    pdr_session *s = session_of("{'stateBag':{}}");
    pdr_session *native = session_of("{'perdure':{'version':'1.0.0'}}");
    pdr_session *old = NULL;
    pdr_value *there = deep_session(70);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(s), KEY("k"), fits, NULL));
    ASSERT_RC(PDR_ELIMIT,
              pdr_bag_set(pdr_session_bag(s), KEY("k"), deep, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_RC(PDR_OK,
              pdr_bag_set(pdr_session_bag(native), KEY("k"), deep, NULL));
    /* What is too deep for .NET already was not made for it. */
    ASSERT_RC(PDR_OK, pdr_session_from_value(&old, there, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(old), KEY("k"), deep, NULL));
    pdr_session_free(s);
    pdr_session_free(native);
    pdr_session_free(old);
    pdr_value_free(fits);
    pdr_value_free(deep);
    pdr_value_free(there);
}

TEST(session_from_value, refuses_more_than_100000_slots)
{
    pdr_buf text = TEXT_INIT;
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    PUT(&text, "{\"stateBag\":{\"k\":0");
    for (int i = 0; i < 100000; i++)
        PUT(&text, ",\"%d\":0", i);
    PUT(&text, "}}");
    pdr_value *value = json_take(&text);
    ASSERT_RC(PDR_ELIMIT, pdr_session_from_value(&s, value, &err));
    ASSERT_STR("too_many_slots", err.reason);
    ASSERT_STR("/stateBag", err.path);
    pdr_value_free(value);
}

TEST_OOM(session, is_read_changed_and_written_or_out_of_memory)
{
    pdr_value *value = json("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":"
                            "\"durable\",\"id\":\"\\u0041\"},\"sessionId\":"
                            "\"@dafx-\\u0041@k\",\"stateBag\":{\"a\":1}}");
    pdr_session *s = NULL;
    pdr_value *back = NULL, *slot = NULL;

    if (value != NULL && pdr_session_from_value(&s, value, NULL) == PDR_OK) {
        slot = pdr_value_new_bool(true);
        if (pdr_bag_set(pdr_session_bag(s), KEY("b"), slot, NULL) == PDR_OK &&
            pdr_session_to_value(&back, s, NULL) == PDR_OK)
            ASSERT_SIZE(3, pdr_value_count(back));
    }
    pdr_value_free(back);
    pdr_value_free(value);
    pdr_session_free(s);
}

/* --- as a stated shape and kind ------------------------------------------ */

static pdr_rc read_as(pdr_session **out, const char *text,
                      pdr_session_shape shape, pdr_session_kind kind,
                      pdr_err *err)
{
    pdr_value *value = doc_value(text);
    pdr_rc rc = pdr_session_from_value_as(out, value, shape, kind, err);

    pdr_value_free(value);
    return rc;
}

static void assert_kind_as(pdr_session_kind expected, const char *text,
                           pdr_session_shape shape, pdr_session_kind kind)
{
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (read_as(&s, text, shape, kind, &err) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
    ASSERT_INT(shape, pdr_session_get_shape(s));
    ASSERT_INT(expected, pdr_session_get_kind(s));
    ASSERT_SESSION(text, s);
    pdr_session_free(s);
}

TEST(session_from_value_as, takes_what_it_is_told_to_be)
{
    assert_kind_as(PDR_SESSION_KIND_GITHUB_COPILOT, "{'stateBag':{}}",
                   PDR_SESSION_DOTNET, PDR_SESSION_KIND_GITHUB_COPILOT);
    assert_kind_as(PDR_SESSION_KIND_CLIENT, "{'messages':[]}",
                   PDR_SESSION_DOTNET, PDR_SESSION_KIND_CLIENT);
    assert_kind_as(PDR_SESSION_KIND_A2A, "{'contextId':'c'}",
                   PDR_SESSION_DOTNET, PDR_SESSION_KIND_UNSTATED);
    assert_kind_as(PDR_SESSION_KIND_UNSTATED, "{'perdure':{'version':'1.0.0'}}",
                   PDR_SESSION_DOTNET, PDR_SESSION_KIND_UNSTATED);
    assert_kind_as(PDR_SESSION_KIND_PYTHON, "{'session_id':'','stateBag':1}",
                   PDR_SESSION_PYTHON, PDR_SESSION_KIND_UNSTATED);
    assert_kind_as(PDR_SESSION_KIND_DURABLE,
                   "{'session_id':'s','durable_session_id':'@a@k'}",
                   PDR_SESSION_PYTHON, PDR_SESSION_KIND_UNSTATED);
    assert_kind_as(PDR_SESSION_KIND_PYTHON,
                   "{'session_id':'s','durable_session_id':'@a@k'}",
                   PDR_SESSION_PYTHON, PDR_SESSION_KIND_PYTHON);
    assert_kind_as(PDR_SESSION_KIND_CHAT,
                   "{'perdure':{'version':'1.0.0','kind':'chat'}}",
                   PDR_SESSION_NATIVE, PDR_SESSION_KIND_CHAT);
    assert_kind_as(PDR_SESSION_KIND_DURABLE,
                   "{'perdure':{'version':'1.0.0'},'sessionId':'@a@k'}",
                   PDR_SESSION_NATIVE, PDR_SESSION_KIND_DURABLE);
}

static void assert_refused_as(const char *reason, const char *path,
                              const char *text, pdr_session_shape shape,
                              pdr_session_kind kind)
{
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(read_as(&s, text, shape, kind, &err) != PDR_OK);
    ASSERT(s == NULL);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
}

TEST(session_from_value_as, names_the_member_that_is_lacking_or_wrong)
{
    assert_refused_as("session_not_object", "", "[]", PDR_SESSION_DOTNET,
                      PDR_SESSION_KIND_CLIENT);
    assert_refused_as("session_member", "", "{}", PDR_SESSION_PYTHON,
                      PDR_SESSION_KIND_PYTHON);
    assert_refused_as("session_member", "", "{'session_id':'s'}",
                      PDR_SESSION_PYTHON, PDR_SESSION_KIND_DURABLE);
    assert_refused_as("session_member", "", "{'stateBag':{}}",
                      PDR_SESSION_NATIVE, PDR_SESSION_KIND_CLIENT);
    assert_refused_as("session_member", "/perdure/version", "{'perdure':{}}",
                      PDR_SESSION_NATIVE, PDR_SESSION_KIND_CLIENT);
    assert_refused_as("session_member", "", "{'stateBag':{}}",
                      PDR_SESSION_DOTNET, PDR_SESSION_KIND_DURABLE);
    assert_refused_as("session_member", "/perdure/kind",
                      "{'perdure':{'version':'1.0.0','kind':'a2a'}}",
                      PDR_SESSION_NATIVE, PDR_SESSION_KIND_CLIENT);
    assert_refused_as("session_kind", "", "{}", PDR_SESSION_DOTNET,
                      PDR_SESSION_KIND_PYTHON);
    assert_refused_as("session_kind", "", "{}", PDR_SESSION_DOTNET,
                      PDR_SESSION_KIND_CHAT);
    assert_refused_as("session_kind", "", "{}", PDR_SESSION_PYTHON,
                      PDR_SESSION_KIND_CLIENT);
    assert_refused_as("session_kind", "", "{}", PDR_SESSION_PYTHON_THREAD,
                      PDR_SESSION_KIND_PYTHON);
    assert_refused_as("session_kind", "", "{}", PDR_SESSION_NATIVE,
                      (pdr_session_kind)99);
}
