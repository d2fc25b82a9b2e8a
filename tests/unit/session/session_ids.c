/*
 * session_ids.c - ids at a service, ids of durable sessions, new sessions.
 */
#include "fake_rand.h"
#include "session_core.h"
#include "session_text.h"

/* --- ids at a service ---------------------------------------------------- */

TEST(service_id, is_where_each_kind_has_it)
{
    static const char *const rows[][2] = {
        {"{'conversationId':'c','stateBag':{}}", "'c'"},
        {"{'serviceSessionId':'s'}", "'s'"},
        {"{'sessionId':'gh','stateBag':{}}", "'gh'"},
        {"{'taskId':'t','contextId':'c','taskState':'working'}",
         "{'contextId':'c','taskId':'t','taskState':'working'}"},
        {"{'contextId':null,'taskId':' ','taskState':2}", "{'taskState':2}"},
        {"{'contextId':null}", "-"},
        {"{'sessionId':'@dafx-a@k','conversationId':'c'}", "-"},
        {"{'lastCheckpoint':{},'sessionId':'w'}", "-"},
        {"{'session_id':'s','service_session_id':'x'}", "'x'"},
        {"{'session_id':'s','service_session_id':{'a':1}}", "{'a':1}"},
        {"{'session_id':'s','service_session_id':{}}", "-"},
        {"{'session_id':'s','service_session_id':null}", "-"},
        {"{'session_id':'s','service_session_id':5}", "-"},
        {"{'session_id':'s','service_session_id':['x']}", "-"},
        {"{'session_id':'s'}", "-"},
        {"{'conversationId':'c','storeState':{}}", "'c'"},
        {"{'type':'agent_thread_state','service_thread_id':'t'}", "'t'"},
        {"{'perdure':{'version':'1.0.0','kind':'python','serviceId':{'a':1}},"
         "'conversationId':'c'}",
         "{'a':1}"},
        {"{'perdure':{'version':'1.0.0','kind':'python','serviceId':7},"
         "'conversationId':'c'}",
         "'c'"},
        {"{'perdure':{'version':'1.0.0','kind':'client','serviceId':{'a':1}}}",
         "-"},
        {"{}", "-"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_session *s = session_of(rows[i][0]);

        assert_service_id(rows[i][1], s);
        ASSERT_SESSION(rows[i][0], s);
        pdr_session_free(s);
    }
}

TEST(service_id, is_none_if_blank_or_a_sentinel_which_stay_in_the_document)
{
    static const char *const ids[] = {
        "''",
        "'  '",
        "'\\u00a0\\t\\u3000'",
        "'_agent_local_chat_history'",
        "'\\u005fagent_local_chat_history'",
        "'agent_framework_local_history_persistence'",
    };

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        char text[120];
        pdr_session *s = NULL;

        (void)snprintf(text, sizeof(text),
                       "{'conversationId':%s,'stateBag':{}}", ids[i]);
        s = session_of(text);
        assert_service_id("-", s);
        bag_put(pdr_session_bag(s), "k", "1");
        (void)snprintf(text, sizeof(text),
                       "{'conversationId':%s,'stateBag':{'k':1}}", ids[i]);
        ASSERT_SESSION(text, s);
        pdr_session_free(s);
    }
}

/* Set an id, and look at the document. */
static void assert_set(const char *expected, const char *text, const char *id)
{
    pdr_session *s = session_of(text);
    pdr_err err = PDR_ERR_INIT;

    if (set_service_id(s, id, &err) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
    ASSERT_SESSION(expected, s);
    pdr_session_free(s);
}

TEST(set_service_id, sets_the_member_in_its_place_or_at_the_end)
{
    assert_set("{'conversationId':'n','stateBag':{}}",
               "{'conversationId':'c','stateBag':{}}", "'n'");
    assert_set("{'conversationId':'n','stateBag':{}}",
               "{'conversationId':'_agent_local_chat_history','stateBag':{}}",
               "'n'");
    assert_set("{'stateBag':{},'conversationId':'n'}", "{'stateBag':{}}",
               "'n'");
    assert_set("{'conversationId':'n'}", "{}", "'n'");
    assert_set("{'serviceSessionId':'n','x':1}",
               "{'serviceSessionId':null,'x':1}", "'n'");
    assert_set("{'sessionId':'n','stateBag':{}}",
               "{'sessionId':'gh','stateBag':{}}", "'n'");
    assert_set("{'session_id':'s','service_session_id':{'a':[1.0]}}",
               "{'session_id':'s'}", "{'a':[1.0]}");
    assert_set("{'session_id':'s','service_session_id':'t','state':{},"
               "'durable_session_id':'@a@k'}",
               "{'session_id':'s','service_session_id':null,'state':{},"
               "'durable_session_id':'@a@k'}",
               "'t'");
    assert_set("{'contextId':'n'}", "{'contextId':'c','taskId':'t'}", "'n'");
    assert_set("{'contextId':null,'taskId':'u'}",
               "{'contextId':'c','taskState':'x'}",
               "{'contextId':null,'taskId':'u'}");
    assert_set("{'stateBag':{'a':1},'perdure':{'version':'1.0.0','kind':"
               "'client'},'conversationId':'n'}",
               "{'stateBag':{'a':1},'perdure':{'version':'1.0.0','kind':"
               "'unstated'}}",
               "'n'");
    assert_set("{'perdure':{'version':'1.0.0'},'conversationId':'n'}",
               "{'perdure':{'version':'1.0.0'}}", "'n'");
}

TEST(set_service_id, has_two_places_in_a_native_session_of_kind_python)
{
    pdr_session *s = session_of(
        "{'perdure':{'version':'1.0.0','kind':'python'},'stateBag':{}}");

    ASSERT_RC(PDR_OK, set_service_id(s, "{'a':1}", NULL));
    ASSERT_SESSION("{'perdure':{'version':'1.0.0','kind':'python','serviceId':"
                   "{'a':1}},'stateBag':{}}",
                   s);
    assert_service_id("{'a':1}", s);
    ASSERT_RC(PDR_OK, set_service_id(s, "'t'", NULL));
    ASSERT_SESSION("{'perdure':{'version':'1.0.0','kind':'python'},'stateBag':"
                   "{},'conversationId':'t'}",
                   s);
    assert_service_id("'t'", s);
    ASSERT_RC(PDR_OK, set_service_id(s, "{'a':2}", NULL));
    assert_service_id("{'a':2}", s);
    ASSERT_SESSION("{'perdure':{'version':'1.0.0','kind':'python','serviceId':"
                   "{'a':2}},'stateBag':{}}",
                   s);
    pdr_session_free(s);
}

TEST(set_service_id, decides_the_kind_of_an_unstated_session)
{
    pdr_session *s = session_of("{'stateBag':{}}");

    ASSERT_INT(PDR_SESSION_KIND_UNSTATED, pdr_session_get_kind(s));
    ASSERT_RC(PDR_OK, set_service_id(s, NULL, NULL));
    ASSERT_RC(PDR_OK, set_service_id(s, "' '", NULL));
    ASSERT_RC(PDR_OK, set_service_id(s, "null", NULL));
    ASSERT_RC(PDR_OK, set_service_id(s, "{}", NULL));
    ASSERT_INT(PDR_SESSION_KIND_UNSTATED, pdr_session_get_kind(s));
    ASSERT_SESSION("{'stateBag':{}}", s);
    ASSERT_RC(PDR_OK, set_service_id(s, "'c'", NULL));
    ASSERT_INT(PDR_SESSION_KIND_CLIENT, pdr_session_get_kind(s));
    pdr_session_free(s);
}

static void assert_not_set(const char *reason, const char *said,
                           const char *text, const char *id)
{
    pdr_session *s = session_of(text);
    pdr_err err = PDR_ERR_INIT;

    ASSERT(set_service_id(s, id, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    if (strstr(err.message, said) == NULL)
        fail_msg("'%s' is not in '%s'", said, err.message);
    ASSERT_SESSION(text, s);
    pdr_session_free(s);
}

TEST(set_service_id, refuses_what_is_no_id_and_changes_nothing)
{
    assert_not_set("service_id", "not become blank",
                   "{'conversationId':'c','stateBag':{}}", NULL);
    assert_not_set("service_id", "not become blank",
                   "{'conversationId':'c','stateBag':{}}", "'\\u2003'");
    assert_not_set("service_id", "history is local", "{}",
                   "'_agent_local_chat_history'");
    assert_not_set("service_id", "history is local", "{'session_id':'s'}",
                   "'agent_framework_local_history_persistence'");
    assert_not_set("service_id", "is a string", "{}", "7");
    assert_not_set("service_id", "is a string", "{'session_id':'s'}", "['x']");
    assert_not_set("service_id", "kind client", "{'conversationId':'c'}",
                   "{'a':1}");
    assert_not_set("service_id", "kind unstated", "{}", "{'a':1}");
    assert_not_set("service_id", "kind a2a", "{'taskId':'t'}", "{'x':'y'}");
    assert_not_set("service_id", "kind a2a", "{'taskId':'t'}", "{'taskId':7}");
    assert_not_set("service_id", "kind durable",
                   "{'session_id':'s','durable_session_id':'@a@k'}", "{'a':1}");
    assert_not_set("service_id", "kind durable has no id",
                   "{'sessionId':'@dafx-a@k'}", "'x'");
    assert_not_set("service_id", "kind workflow has no id",
                   "{'lastCheckpoint':1}", "'x'");
    assert_not_set("bag_sealed", "convert it first", "{'storeState':{}}",
                   "'x'");
    assert_not_set("bag_sealed", "convert it first",
                   "{'type':'agent_thread_state'}", NULL);
}

/* An object in which nothing could be sent is as blank as a blank text. */
TEST(set_service_id, looks_into_the_ids_of_an_agent_protocol)
{
    static const char set[] = "{'contextId':'c','taskId':'t','stateBag':{}}";
    pdr_session *none = session_of("{'contextId':' ','stateBag':{}}");

    assert_not_set("service_id", "not become blank", set, "{'contextId':null}");
    assert_not_set("service_id", "not become blank", set,
                   "{'contextId':' ','taskId':null}");
    assert_not_set("service_id", "history is local", set,
                   "{'contextId':'_agent_local_chat_history'}");
    assert_not_set("service_id", "history is local", set,
                   "{'contextId':'d','taskId':"
                   "'agent_framework_local_history_persistence'}");
    ASSERT_RC(PDR_OK, set_service_id(none, "{'contextId':null}", NULL));
    ASSERT_SESSION("{'contextId':' ','stateBag':{}}", none);
    ASSERT_RC(PDR_OK,
              set_service_id(none, "{'contextId':'d','taskId':null}", NULL));
    assert_service_id("{'contextId':'d'}", none);
    pdr_session_free(none);
}

TEST(set_service_id, refuses_an_id_that_is_too_deep)
{
    pdr_session *s = session_of("{'session_id':'s'}");
    pdr_err err = PDR_ERR_INIT;
    pdr_buf text = TEXT_INIT;

    for (int i = 0; i < 127; i++)
        PUT(&text, "{\"a\":");
    PUT(&text, "1");
    for (int i = 0; i < 127; i++)
        PUT(&text, "}");
    pdr_value *deep = json_take(&text);
    ASSERT_RC(PDR_ELIMIT, pdr_session_set_service_id(s, deep, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_RC(PDR_OK,
              pdr_session_set_service_id(s, pdr_value_get_c(deep, "a"), NULL));
    pdr_value_free(deep);
    pdr_session_free(s);
}

TEST_OOM(service_id, is_set_and_read_or_out_of_memory)
{
    static const char *const texts[] = {
        "{'perdure':{'version':'1.0.0','kind':'unstated'},'stateBag':{}}",
        "{'perdure':{'version':'1.0.0','kind':'python','serviceId':{'a':1}}}",
        "{'taskId':'t','contextId':'\\u0041'}",
    };
    pdr_value *id = json("\"\\u0041bc\"");

    for (size_t i = 0; id != NULL && i < 3; i++) {
        pdr_session *s = NULL;
        pdr_value *back = NULL;
        pdr_value *value = NULL;
        char *text = quoted(texts[i]);

        if (pdr_json_read(&value, pdr_str_c(text), NULL, NULL) == PDR_OK &&
            pdr_session_from_value(&s, value, NULL) == PDR_OK &&
            pdr_session_set_service_id(s, id, NULL) == PDR_OK &&
            pdr_session_service_id(&back, s, NULL) == PDR_OK)
            ASSERT(back != NULL);
        free(text);
        pdr_value_free(value);
        pdr_value_free(back);
        pdr_session_free(s);
    }
    pdr_value_free(id);
}

static void assert_new(const char *expected, const pdr_session_parts *parts)
{
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_new(&s, parts, &err) != PDR_OK)
        fail_msg("%s: %s", expected, err.message);
    ASSERT_INT(parts->shape, pdr_session_get_shape(s));
    ASSERT_SESSION(expected, s);
    pdr_session_free(s);
}

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

/* --- durable ids --------------------------------------------------------- */

static void assert_durable(const char *agent, const char *key, bool prefixed,
                           const char *text)
{
    pdr_str a = {NULL, 0}, k = {NULL, 0};
    bool p = !prefixed;

    ASSERT_RC(PDR_OK, pdr_durable_id_read(&a, &k, &p, pdr_str_c(text), NULL));
    ASSERT_TEXT(agent, a);
    ASSERT_TEXT(key, k);
    ASSERT(p == prefixed);
    ASSERT_RC(PDR_OK, pdr_durable_id_read(&a, &k, NULL, pdr_str_c(text), NULL));
}

TEST(durable_id, is_read_in_both_forms)
{
    assert_durable("desk", "K1", true, "@dafx-desk@K1");
    assert_durable("desk", "K1", true, "@DAFX-desk@K1");
    assert_durable("Desk", "K1", false, "@Desk@K1");
    assert_durable("desk", "@dafx-b@x", true, "@dafx-desk@@dafx-b@x");
    assert_durable("dafx", "k", false, "@dafx@k");
}

/* The id that a store has: both forms of a text are one session. */
static void assert_store_id(const char *expected, const char *agent,
                            const char *key)
{
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_durable_id_write(&id, pdr_str_c(agent),
                                           pdr_str_c(key), NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&id));
    pdr_buf_dispose(&id);
}

TEST(durable_id, is_written_in_one_form)
{
    COVERS("D-34");
    COVERS("D-37");
    COVERS("D-38");
    assert_store_id("@dafx-testagent@12345", "TestAgent", "12345");
    assert_store_id("@dafx-a@k@with@at", "a", "k@with@at");
    assert_store_id("@dafx-a@K", "a", "K");
    assert_store_id("@dafx-a@k", "a", "k");
    assert_store_id("@dafx-agenta@@dafx-agentB@x", "agentA", "@dafx-agentB@x");
    assert_durable("a", "k@with@at", true, "@dafx-a@k@with@at");
    assert_durable("agenta", "@dafx-agentB@x", true,
                   "@dafx-agenta@@dafx-agentB@x");
}

TEST(durable_id, is_the_same_in_every_spelling)
{
    COVERS("D-35");
    static const char *const texts[] = {"@dafx-test-agent@12345",
                                        "@test-agent@12345",
                                        "@DAFX-Test-Agent@12345"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pdr_str agent = {NULL, 0}, key = {NULL, 0};
        pdr_buf id = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK, pdr_durable_id_read(&agent, &key, NULL,
                                              pdr_str_c(texts[i]), NULL));
        ASSERT_RC(PDR_OK, pdr_durable_id_write(&id, agent, key, NULL));
        ASSERT_TEXT("@dafx-test-agent@12345", pdr_buf_str(&id));
        pdr_buf_dispose(&id);
    }
}

TEST(durable_id, has_a_new_key_where_none_is_given)
{
    COVERS("D-40");
    pdr_buf ids[2] = {PDR_BUF_INIT(SIZE_MAX), PDR_BUF_INIT(SIZE_MAX)};

    for (int i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK, pdr_durable_id_write(&ids[i], pdr_str_c("a"),
                                               pdr_str_c(""), NULL));
        ASSERT_SIZE(8 + 32, ids[i].len);
        ASSERT_SIZE(32, strspn(ids[i].ptr + 8, "0123456789abcdef"));
    }
    ASSERT(strcmp(ids[0].ptr, ids[1].ptr) != 0);
    for (int i = 0; i < 2; i++)
        pdr_buf_dispose(&ids[i]);
}

TEST(durable_id, is_not_written_of_what_cannot_be_read)
{
    static const char *const names[] = {"", " ", "a@b", "dafx-a", "DAFX-a"};
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_durable_id_write(&id, pdr_str_c(names[i]),
                                                     pdr_str_c("k"), &err));
        ASSERT_STR("bad_id", err.reason);
    }
    ASSERT_SIZE(0, id.len);
}

TEST(durable_id, is_refused_if_a_part_is_lacking)
{
    COVERS("D-36");
    static const char *const texts[] = {
        "",    "@",        "@@",       "@a",      "@a@",      "@@k",
        "a@k", "dafx-a@k", "@dafx-@k", "@dafx-a", "@dafx-a@", "plain"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pdr_str a = {NULL, 0}, k = {NULL, 0};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_durable_id_read(&a, &k, NULL, pdr_str_c(texts[i]), &err));
        ASSERT_STR("bad_id", err.reason);
    }
}

/* The two handles that the editions wrote. */
TEST(durable_session, is_read_of_the_handles_of_both_editions)
{
    COVERS("D-41");
    static const struct {
        const char *file, *agent, *key;
    } handles[] = {
        {"dotnet/durable/34-session-handle.json", "test-agent", "Key 1 'é' @x"},
        {"python/durable/33-session-handle.json", "TestAgent", "k1"}};
    static const char *const bad[] = {"{\"sessionId\":7,\"stateBag\":{}}",
                                      "{\"stateBag\":{}}"};
    const pdr_session_parts parts = {.shape = PDR_SESSION_DOTNET,
                                     .kind = PDR_SESSION_KIND_DURABLE,
                                     .agent = TEXT("test-agent"),
                                     .key = TEXT("k")};

    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        size_t len = 0;
        char *text = test_read_data(handles[i].file, &len);
        pdr_str agent = {NULL, 0}, key = {NULL, 0};
        pdr_value *value = NULL, *back = NULL;
        pdr_session *s = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_json_read(&value, pdr_str_n(text, len), NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_session_from_value(&s, value, NULL));
        ASSERT(pdr_session_durable_id(&agent, &key, s));
        ASSERT_TEXT(handles[i].agent, agent);
        ASSERT_TEXT(handles[i].key, key);
        ASSERT_RC(PDR_OK, pdr_session_to_value(&back, s, NULL));
        ASSERT(pdr_value_equal(value, back)); /* the bag, too */
        pdr_value_free(back);
        pdr_value_free(value);
        pdr_session_free(s);
        free(text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pdr_value *value = json(bad[i]);
        pdr_session *s = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_session_from_value_as(&s, value, PDR_SESSION_DOTNET,
                                            PDR_SESSION_KIND_DURABLE, &err));
        ASSERT_STR("session_member", err.reason);
        pdr_value_free(value);
    }
    assert_new("{'sessionId':'@dafx-test-agent@k','stateBag':{}}", &parts);
}

TEST(durable_session, tells_agent_and_key)
{
    pdr_session *net = session_of("{'sessionId':'@dafx-desk@K@1'}");
    pdr_session *python =
        session_of("{'session_id':'s','durable_session_id':'@Desk@\\u004b'}");
    pdr_session *plain = session_of("{'session_id':'s'}");
    pdr_str agent = {NULL, 0}, key = {NULL, 0};

    ASSERT(pdr_session_durable_id(&agent, &key, net));
    ASSERT_TEXT("desk", agent);
    ASSERT_TEXT("K@1", key);
    ASSERT_SIZE(0, pdr_session_id(net).len);
    ASSERT(pdr_session_durable_id(&agent, &key, python));
    ASSERT_TEXT("Desk", agent);
    ASSERT_TEXT("K", key);
    ASSERT_TEXT("s", pdr_session_id(python));
    ASSERT(pdr_session_durable_id(NULL, NULL, python));
    ASSERT(!pdr_session_durable_id(&agent, &key, plain));
    pdr_session_free(net);
    pdr_session_free(python);
    pdr_session_free(plain);
}

TEST(session_id, of_dotnet_is_the_one_that_a_conversion_kept)
{
    const char *none[] = {"{'stateBag':{}}", "{'stateBag':{},'perdure':'s'}",
                          "{'stateBag':{},'perdure':{'id':7}}",
                          "{'stateBag':{},'perdure':{'id':null}}",
                          "{'stateBag':{},'perdure':{'id':''}}"};
    pdr_session *s = session_of(
        "{'stateBag':{},'perdure':{'kind':'python','id':'\\u0073'}}");

    ASSERT(pdr_session_get_shape(s) == PDR_SESSION_DOTNET);
    ASSERT_TEXT("s", pdr_session_id(s));
    pdr_session_free(s);
    s = session_of("{'sessionId':'@dafx-a@k','perdure':{'id':'s'}}");
    ASSERT_TEXT("s", pdr_session_id(s));
    ASSERT(pdr_session_durable_id(NULL, NULL, s));
    pdr_session_free(s);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        s = session_of(none[i]);
        ASSERT_SIZE(0, pdr_session_id(s).len);
        ASSERT_SESSION(none[i], s);
        pdr_session_free(s);
    }
}

TEST(session_id, is_three_bytes_where_a_surrogate_stands_alone)
{
    pdr_session *s = session_of("{'session_id':'a\\ud800'}");

    ASSERT_TEXT("a\xED\xA0\x80", pdr_session_id(s));
    ASSERT_SESSION("{'session_id':'a\\ud800'}", s);
    pdr_session_free(s);
}

/* --- new sessions -------------------------------------------------------- */

TEST(session_new, is_what_its_edition_would_write)
{
    assert_new("{'stateBag':{}}",
               &(pdr_session_parts){.shape = PDR_SESSION_DOTNET});
    assert_new("{'conversationId':'c','stateBag':{}}",
               &(pdr_session_parts){.shape = PDR_SESSION_DOTNET,
                                    .service_id = TEXT("c")});
    assert_new("{'contextId':'c','stateBag':{}}",
               &(pdr_session_parts){.shape = PDR_SESSION_DOTNET,
                                    .kind = PDR_SESSION_KIND_A2A,
                                    .service_id = TEXT("c")});
    assert_new("{'sessionId':'gh','stateBag':{}}",
               &(pdr_session_parts){.shape = PDR_SESSION_DOTNET,
                                    .kind = PDR_SESSION_KIND_GITHUB_COPILOT,
                                    .service_id = TEXT("gh")});
    assert_new("{'sessionId':'@dafx-desk@K1','stateBag':{}}",
               &(pdr_session_parts){.shape = PDR_SESSION_DOTNET,
                                    .kind = PDR_SESSION_KIND_DURABLE,
                                    .agent = TEXT("Desk"),
                                    .key = TEXT("K1")});
    assert_new("{'type':'session','session_id':'s','service_session_id':null,"
               "'state':{}}",
               &(pdr_session_parts){.shape = PDR_SESSION_PYTHON,
                                    .id = TEXT("s"),
                                    .service_id = TEXT(" ")});
    assert_new("{'type':'session','session_id':'s','service_session_id':'c',"
               "'state':{},'durable_session_id':'@Desk@K1'}",
               &(pdr_session_parts){.shape = PDR_SESSION_PYTHON,
                                    .kind = PDR_SESSION_KIND_DURABLE,
                                    .id = TEXT("s"),
                                    .service_id = TEXT("c"),
                                    .agent = TEXT("Desk"),
                                    .key = TEXT("K1")});
    assert_new("{'perdure':{'version':'1.0.0','kind':'unstated','id':'s'},"
               "'stateBag':{}}",
               &(pdr_session_parts){.id = TEXT("s")});
    assert_new("{'perdure':{'version':'1.0.0','kind':'client','id':'s'},"
               "'conversationId':'c','stateBag':{}}",
               &(pdr_session_parts){.id = TEXT("s"), .service_id = TEXT("c")});
    assert_new("{'perdure':{'version':'1.0.0','kind':'durable','id':'s'},"
               "'sessionId':'@dafx-desk@K','stateBag':{}}",
               &(pdr_session_parts){.id = TEXT("s"),
                                    .kind = PDR_SESSION_KIND_DURABLE,
                                    .agent = TEXT("desk"),
                                    .key = TEXT("K")});
    assert_new("{'perdure':{'version':'1.0.0','kind':'workflow','id':'s'},"
               "'stateBag':{}}",
               &(pdr_session_parts){.id = TEXT("s"),
                                    .kind = PDR_SESSION_KIND_WORKFLOW});
}

TEST(session_new, takes_ids_later_where_its_edition_has_them)
{
    pdr_session *s = session_new(PDR_SESSION_DOTNET, 0);
    pdr_session *native = session_new(PDR_SESSION_NATIVE, 0);

    bag_put(pdr_session_bag(s), "k", "1");
    ASSERT_RC(PDR_OK, set_service_id(s, "'c'", NULL));
    ASSERT_SESSION("{'conversationId':'c','stateBag':{'k':1}}", s);
    ASSERT_RC(PDR_OK, set_service_id(s, "'d'", NULL));
    ASSERT_SESSION("{'conversationId':'d','stateBag':{'k':1}}", s);
    ASSERT_RC(PDR_OK, set_service_id(native, "'c'", NULL));
    ASSERT_SESSION("{'perdure':{'version':'1.0.0','kind':'client','id':'s-1'},"
                   "'conversationId':'c','stateBag':{}}",
                   native);
    bag_put(pdr_session_bag(native), "k", "1");
    ASSERT_SESSION("{'perdure':{'version':'1.0.0','kind':'client','id':'s-1'},"
                   "'conversationId':'c','stateBag':{'k':1}}",
                   native);
    pdr_session_free(s);
    pdr_session_free(native);
}

TEST(session_new, makes_ids_up)
{
    pdr_session_parts durable = {.shape = PDR_SESSION_DOTNET,
                                 .kind = PDR_SESSION_KIND_DURABLE,
                                 .agent = TEXT("a")};
    pdr_session *a = NULL, *b = NULL;
    pdr_str key = {NULL, 0};

    ASSERT_RC(PDR_OK, pdr_session_new(&a, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_new(&b, NULL, NULL));
    ASSERT_INT(PDR_SESSION_NATIVE, pdr_session_get_shape(a));
    ASSERT_SIZE(36, pdr_session_id(a).len);
    ASSERT(!pdr_str_equal(pdr_session_id(a), pdr_session_id(b)));
    pdr_session_free(a);
    pdr_session_free(b);
    ASSERT_RC(PDR_OK, pdr_session_new(&a, &durable, NULL));
    ASSERT(pdr_session_durable_id(NULL, &key, a));
    ASSERT_SIZE(32, key.len);
    for (size_t i = 0; i < key.len; i++)
        ASSERT(strchr("0123456789abcdef", key.ptr[i]) != NULL);
    pdr_session_free(a);
}

static void assert_not_new(const char *reason, const pdr_session_parts *parts)
{
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_session_new(&s, parts, &err) != PDR_OK);
    ASSERT(s == NULL);
    ASSERT_STR(reason, err.reason);
}

TEST(session_new, refuses_kinds_and_parts_that_do_not_go_together)
{
    assert_not_new("session_kind",
                   &(pdr_session_parts){.kind = PDR_SESSION_KIND_CHAT});
    assert_not_new("session_kind",
                   &(pdr_session_parts){.kind = PDR_SESSION_KIND_PYTHON});
    assert_not_new("session_kind",
                   &(pdr_session_parts){.shape = PDR_SESSION_PYTHON,
                                        .kind = PDR_SESSION_KIND_CLIENT});
    assert_not_new("session_kind",
                   &(pdr_session_parts){.shape = PDR_SESSION_PYTHON_OLD});
    assert_not_new("session_kind",
                   &(pdr_session_parts){.shape = PDR_SESSION_DOTNET_THREAD});
    assert_not_new(
        "session_kind",
        &(pdr_session_parts){.shape = PDR_SESSION_DOTNET, .id = TEXT("s")});
    assert_not_new("session_kind", &(pdr_session_parts){.agent = TEXT("a")});
    assert_not_new("session_kind", &(pdr_session_parts){.key = TEXT("a")});
    assert_not_new("session_kind",
                   &(pdr_session_parts){.kind = PDR_SESSION_KIND_DURABLE,
                                        .agent = TEXT("a"),
                                        .service_id = TEXT("c")});
}

TEST(session_new, refuses_ids_that_are_none)
{
    static char longest[1026];
    pdr_session_parts parts = {.id = {longest, 1024}};
    pdr_session_parts durable = {.kind = PDR_SESSION_KIND_DURABLE,
                                 .agent = {longest, 128},
                                 .key = {longest, 1024}};
    pdr_session *s = NULL;

    memset(longest, 'a', sizeof(longest));
    ASSERT_RC(PDR_OK, pdr_session_new(&s, &parts, NULL));
    pdr_session_free(s);
    ASSERT_RC(PDR_OK, pdr_session_new(&s, &durable, NULL));
    pdr_session_free(s);
    parts.id.len = 1025;
    assert_not_new("bad_id", &parts);
    durable.agent.len = 129;
    assert_not_new("bad_id", &durable);
    durable.agent.len = 0;
    assert_not_new("bad_id", &durable);
    durable.agent.len = 1;
    durable.key.len = 1025;
    assert_not_new("bad_id", &durable);
    durable.key.len = 1;
    durable.agent = pdr_str_c("a@b");
    assert_not_new("bad_id", &durable);
    durable.agent = pdr_str_c("Dafx-a");
    assert_not_new("bad_id", &durable);
    durable.agent = pdr_str_c("a\xff");
    assert_not_new("bad_utf8", &durable);
    assert_not_new("bad_id", &(pdr_session_parts){.id = TEXT("@a")});
    assert_not_new("bad_id", &(pdr_session_parts){.id = TEXT("  ")});
    assert_not_new("bad_utf8", &(pdr_session_parts){.id = TEXT("a\xff")});
    assert_not_new("bad_utf8",
                   &(pdr_session_parts){.service_id = TEXT("a\xff")});
    assert_not_new(
        "bad_id",
        &(pdr_session_parts){.service_id = TEXT("_agent_local_chat_history")});
}

TEST(session_new, fails_without_randomness)
{
    pdr_session_parts durable = {.kind = PDR_SESSION_KIND_DURABLE,
                                 .agent = TEXT("a")};
    pdr_session *s = NULL;
    struct fake_rand rand;

    fake_rand_init(&rand, 7);
    for (size_t n = 1; n <= 2; n++) { /* the id, then the key */
        pdr_err err = PDR_ERR_INIT;

        fake_rand_fail(&rand, n);
        ASSERT_RC(PDR_EIO, pdr__session_new(&s, &durable, &rand.base, &err));
        ASSERT_STR("no_randomness", err.reason);
        ASSERT(s == NULL);
    }
    ASSERT_RC(PDR_OK, pdr__session_new(&s, &durable, &rand.base, NULL));
    pdr_session_free(s);
}

TEST_OOM(session_new, is_made_or_out_of_memory)
{
    pdr_session_parts parts = {.id = TEXT("s"), .service_id = TEXT("c")};
    pdr_session *s = NULL;

    if (pdr_session_new(&s, &parts, NULL) == PDR_OK)
        ASSERT_TEXT("s", pdr_session_id(s));
    else
        ASSERT(s == NULL);
    pdr_session_free(s);
}

TEST_OOM(session_new, gets_an_id_or_stays_as_it_was)
{
    pdr_session_parts parts = {.shape = PDR_SESSION_DOTNET};
    pdr_value *id = json("\"c\"");
    pdr_value *document = NULL;
    pdr_session *s = NULL;

    if (id != NULL && pdr_session_new(&s, &parts, NULL) == PDR_OK) {
        pdr_rc rc = pdr_session_set_service_id(s, id, NULL);

        if (pdr_session_to_value(&document, s, NULL) == PDR_OK)
            ASSERT_SIZE(rc == PDR_OK ? 2 : 1, pdr_value_count(document));
    }
    pdr_value_free(document);
    pdr_value_free(id);
    pdr_session_free(s);
}
