/*
 * session_history.c - the messages that a session itself keeps.
 */
#include "session_text.h"

static void assert_history(const char *expected, const char *text)
{
    pdr_session *s = session_of(text);
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_history(&list, s, &err) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
    if (list == NULL)
        ASSERT_STR(expected, "-");
    else
        assert_value(expected, list, PDR_COMPACT);
    pdr_value_free(list);
    pdr_session_free(s);
}

#define SLOT "InMemoryChatHistoryProvider"

TEST(session_history, is_the_list_of_the_slot_of_its_own_dialect)
{
    assert_history("-", "{}");
    assert_history("-", "{'stateBag':{'" SLOT "':null}}");
    assert_history("-", "{'stateBag':{'" SLOT "':{}}}");
    assert_history("-", "{'stateBag':{'" SLOT "':{'messages':null}}}");
    assert_history("[]", "{'stateBag':{'" SLOT "':{'messages':[]}}}");
    assert_history("[{'role':'user'},7]",
                   "{'stateBag':{'" SLOT
                   "':{'messages':[{'role':'user'},7]},'in_memory':{"
                   "'messages':[1]}}}");
    assert_history("[1]", "{'session_id':'s','state':{'" SLOT
                          "':{'messages':[2]},'in_memory':{'messages':[1]}}}");
    assert_history("[3]", "{'perdure':{'version':'1.0.0'},'stateBag':{'" SLOT
                          "':{'messages':[3]}}}");
    assert_history("-", "{'session_id':'s'}");
}

TEST(session_history, of_a_thread_stands_in_the_state_of_its_store)
{
    assert_history("[1]", "{'storeState':{'messages':[1]}}");
    assert_history("[1]", "{'conversationId':'c','chatHistoryProviderState':"
                          "{'messages':[1]}}");
    assert_history("[1]", "{'type':'agent_thread_state','service_thread_id':"
                          "null,'chat_message_store_state':{'type':"
                          "'chat_message_store_state','messages':[1]}}");
    assert_history("-", "{'storeState':'key-of-a-store'}");
    assert_history("-", "{'aiContextProviderState':{'messages':[1]}}");
    assert_history("-", "{'chat_message_store_state':null}");
}

static void assert_bad_history(const char *path, const char *text)
{
    pdr_session *s = session_of(text);
    pdr_value *list = NULL;
    pdr_value *message = doc_value("{'role':'user'}");
    const pdr_value *messages[] = {message};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_session_history(&list, s, &err));
    ASSERT_STR("history_shape", err.reason);
    ASSERT_STR(path, err.path);
    ASSERT(list == NULL);
    err = (pdr_err)PDR_ERR_INIT;
    ASSERT_RC(PDR_EINVALID, pdr_session_add_messages(s, messages, 1, &err));
    if (pdr_session_get_shape(s) <= PDR_SESSION_PYTHON) {
        ASSERT_STR("history_shape", err.reason);
        ASSERT_STR(path, err.path);
    } else {
        ASSERT_STR("bag_sealed", err.reason);
    }
    ASSERT_SESSION(text, s);
    pdr_value_free(message);
    pdr_session_free(s);
}

TEST(session_history, is_refused_with_its_path_if_it_is_none)
{
    assert_bad_history("/stateBag/" SLOT, "{'stateBag':{'" SLOT "':[1]}}");
    assert_bad_history("/stateBag/" SLOT, "{'stateBag':{'" SLOT "':'x'}}");
    assert_bad_history("/stateBag/" SLOT "/messages",
                       "{'stateBag':{'" SLOT "':{'messages':{}}}}");
    assert_bad_history("/state/in_memory",
                       "{'session_id':'s','state':{'in_memory':7}}");
    assert_bad_history("/storeState/messages",
                       "{'storeState':{'messages':'x'}}");
}

TEST(session_history, can_be_under_another_key)
{
    pdr_session *s = session_of("{'stateBag':{'a/b':{'messages':null,'x':1}}}");
    pdr_value *message = doc_value("{'role':'user'}");
    pdr_value *empty = doc_value("[]"), *bad = doc_value("[1]");
    const pdr_value *messages[] = {message};
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-44");
    COVERS("S-45");
    COVERS("S-46");
    /* None, null, and empty. */
    ASSERT_RC(PDR_OK, pdr_session_history_at(&list, s, "none", &err));
    ASSERT(list == NULL);
    ASSERT_RC(PDR_OK, pdr_session_history_at(&list, s, "a/b", &err));
    ASSERT(list == NULL);
    ASSERT_RC(PDR_OK, pdr_session_set_history(s, "a/b", empty, &err));
    ASSERT_RC(PDR_OK, pdr_session_history_at(&list, s, "a/b", &err));
    assert_value("[]", list, PDR_COMPACT);
    pdr_value_free(list);
    ASSERT_RC(PDR_OK, pdr_session_history_at(&list, NULL, "a/b", &err));
    assert_value("[]", list, PDR_COMPACT);
    pdr_value_free(list);
    ASSERT_RC(PDR_OK, pdr_session_add_messages_at(s, "a/b", messages, 1, &err));
    assert_session("{'stateBag':{'a/b':{'messages':[{'role':'user'}],'x':1}}}",
                   s, PDR_AS_READ);
    /* What is not a list of messages. */
    ASSERT_RC(PDR_EINVALID, pdr_session_set_history(s, "a/b", NULL, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_session_set_history(s, "a/b", message, &err));
    ASSERT_RC(PDR_EINVALID, pdr_session_set_history(s, "a/b", bad, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_session_set_history(s, " ", empty, &err));
    ASSERT_STR("key_blank", err.reason);
    ASSERT_RC(PDR_OK,
              pdr_bag_set(pdr_session_bag(s), pdr_str_c("a/b"), empty, &err));
    ASSERT_RC(PDR_EINVALID, pdr_session_history_at(&list, s, "a/b", &err));
    ASSERT_STR("history_shape", err.reason);
    ASSERT_STR("/stateBag/a~1b", err.path);
    ASSERT_RC(PDR_EINVALID, pdr_session_history_at(&list, s, "a/b", NULL));
    /* Set replaces that, too, and without a key it is the session's own. */
    ASSERT_RC(PDR_OK, pdr_session_set_history(s, "a/b", empty, &err));
    ASSERT_RC(PDR_OK, pdr_session_set_history(s, NULL, empty, &err));
    assert_session("{'stateBag':{'a/b':{'messages':[]},'" SLOT
                   "':{'messages':[]}}}",
                   s, PDR_AS_READ);
    pdr_value_free(message);
    pdr_value_free(empty);
    pdr_value_free(bad);
    pdr_session_free(s);
}

/* Add two messages. */
static void assert_added(const char *expected, const char *text)
{
    pdr_session *s = session_of(text);
    pdr_value *message = doc_value("{'role':'user','n':1.0}");
    pdr_value *other = doc_value("{'role':'tool'}");
    const pdr_value *messages[] = {message, other};

    ASSERT_RC(PDR_OK, pdr_session_add_messages(s, messages, 0, NULL));
    ASSERT_SESSION(text, s);
    ASSERT_RC(PDR_OK, pdr_session_add_messages(s, messages, 2, NULL));
    assert_session(expected, s, PDR_AS_READ);
    pdr_value_free(message);
    pdr_value_free(other);
    pdr_session_free(s);
}

#define ADDED "{'role':'user','n':1.0},{'role':'tool'}"

TEST(session_add_messages, makes_what_is_not_there_and_keeps_the_rest)
{
    assert_added("{'stateBag':{'" SLOT "':{'messages':[" ADDED "]}}}", "{}");
    assert_added("{'stateBag':{'" SLOT "':{'messages':[" ADDED "]},'x':1}}",
                 "{'stateBag':{'" SLOT "':null,'x':1}}");
    assert_added("{'stateBag':{'" SLOT "':{'a':1,'messages':[" ADDED
                 "],'b':2}}}",
                 "{'stateBag':{'" SLOT "':{'a':1,'messages':null,'b':2}}}");
    assert_added("{'stateBag':{'" SLOT "':{'a':1,'messages':[" ADDED "]}}}",
                 "{'stateBag':{'" SLOT "':{'a':1}}}");
    assert_added("{'session_id':'s','state':{'in_memory':{'messages':[1.50,"
                 "'\\u0041'," ADDED "]}}}",
                 "{'session_id':'s','state':{'in_memory':{'messages':[1.50,"
                 "'\\u0041']}}}");
}

TEST(session_add_messages, refuses_what_is_no_object)
{
    pdr_session *s = session_of("{'stateBag':{}}");
    pdr_value *message = doc_value("{'role':'user'}");
    pdr_value *text = doc_value("'hello'");
    const pdr_value *messages[] = {message, text};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_session_add_messages(s, messages, 2, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT(strstr(err.message, "number 2 is a string") != NULL);
    ASSERT_SESSION("{'stateBag':{}}", s);
    pdr_value_free(message);
    pdr_value_free(text);
    pdr_session_free(s);
}

/* A session with so many messages, and what one more costs. */
static size_t cost_of_one(size_t count, size_t *allocations, bool write)
{
    pdr_buf text = TEXT_INIT;
    pdr_session *s = NULL;
    size_t bytes = 0;

    PUT(&text, "{\"stateBag\":{\"" SLOT "\":{\"messages\":[{\"n\":0}");
    for (size_t i = 1; i < count; i++)
        PUT(&text, ",{\"n\":%zu}", i);
    PUT(&text, "]}}}");
    pdr_value *value = json_take(&text);
    pdr_value *message = doc_value("{'role':'user'}");
    const pdr_value *messages[] = {message};
    ASSERT_RC(PDR_OK, pdr_session_from_value(&s, value, NULL));
    for (int i = 0; i < 40; i++) { /* the first ones set up the tail */
        pdr_value *document = NULL;

        test_reset_peak();
        bytes = test_live_bytes();
        *allocations = test_allocations();
        ASSERT_RC(PDR_OK, pdr_session_add_messages(s, messages, 1, NULL));
        if (write)
            ASSERT_RC(PDR_OK, pdr_session_to_value(&document, s, NULL));
        *allocations = test_allocations() - *allocations;
        bytes = test_peak_bytes() - bytes;
        pdr_value_free(document);
    }
    pdr_value_free(message);
    pdr_value_free(value);
    pdr_session_free(s);
    return bytes;
}

TEST(session_add_messages, costs_the_same_for_10_and_20000_messages)
{
    for (int write = 0; write < 2; write++) {
        size_t few_allocations = 0, many_allocations = 0;
        size_t few = cost_of_one(10, &few_allocations, write != 0);
        size_t many = cost_of_one(20000, &many_allocations, write != 0);

        ASSERT_SIZE(few_allocations, many_allocations);
        if (many > few + few / 10)
            fail_msg("%zu bytes, then %zu", few, many);
    }
}

TEST(message_shape, follows_the_shape_of_the_session)
{
    pdr_session *net = session_of("{}");
    pdr_session *python = session_of("{'session_id':'s'}");
    pdr_session *thread = session_of("{'type':'agent_thread_state'}");

    ASSERT_INT(PDR_SHAPE_DOTNET, pdr_session_message_shape(net));
    ASSERT_INT(PDR_SHAPE_PYTHON, pdr_session_message_shape(python));
    ASSERT_INT(PDR_SHAPE_PYTHON, pdr_session_message_shape(thread));
    ASSERT_STR(SLOT, pdr_session_history_key(net));
    ASSERT_STR("in_memory", pdr_session_history_key(python));
    pdr_session_free(net);
    pdr_session_free(python);
    pdr_session_free(thread);
}

TEST_OOM(session_add_messages, adds_or_is_out_of_memory)
{
    pdr_value *value = json("{\"stateBag\":{\"" SLOT "\":{\"messages\":[1]}}}");
    pdr_value *message = json("{\"role\":\"user\"}");
    const pdr_value *messages[] = {message};
    pdr_session *s = NULL;
    pdr_value *list = NULL;

    if (value != NULL && message != NULL &&
        pdr_session_from_value(&s, value, NULL) == PDR_OK) {
        pdr_rc rc = pdr_session_add_messages(s, messages, 1, NULL);

        if (pdr_session_history(&list, s, NULL) == PDR_OK)
            ASSERT_SIZE(rc == PDR_OK ? 2 : 1, pdr_value_count(list));
    }
    pdr_value_free(list);
    pdr_value_free(value);
    pdr_value_free(message);
    pdr_session_free(s);
}
