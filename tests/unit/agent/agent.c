/*
 * An agent itself: what it is, how its parts are found, and the sessions that
 * it makes, writes and reads.
 */
#include <perdure.h>
#include <perdure/sys/client.h>

#include "test.h"

static pdr_value *json(const char *text)
{
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&out, pdr_str_c(text), NULL, NULL));
    return out;
}

static void expect_json(const char *expected, const pdr_value *value)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, NULL, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

/* --- an agent with three providers -----------------------------------------
 */

static int todo, notes, store, other;

struct stage {
    pdr_client *client;
    pdr_agent *agent;
};

static void stage_begin(struct stage *s)
{
    static const char *const todo_keys[] = {"todo", "todo2", NULL};
    static const char *const store_keys[] = {"kept", NULL};
    pdr_provider providers[] = {
        {.name = "empty", .kind = PDR_PROVIDER_CONTEXT},
        {.name = "todo",
         .kind = PDR_PROVIDER_CONTEXT,
         .keys = todo_keys,
         .self = &todo},
        {.name = "backend",
         .kind = PDR_PROVIDER_HISTORY,
         .keys = store_keys,
         .self = &store},
        {.name = "notes", .kind = PDR_PROVIDER_CONTEXT, .self = &notes}};
    char name[] = "clerk";
    pdr_agent_parts parts = {.id = pdr_str_c("a-1"),
                             .name = pdr_str_c(name),
                             .description = pdr_str_c("answers the door"),
                             .providers = providers,
                             .provider_count = 4};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_client_script(&s->client,
                                pdr_str_c("{\"replies\":[{\"text\":\"hi\"}]}"),
                                &err));
    parts.client = s->client;
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, &err));
    name[0] = 'X'; /* what the caller does later does not count */
    providers[1].self = &other;
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->agent);
    pdr_client_free(s->client);
}

TEST(agent, keeps_what_it_was_made_of)
{
    pdr_agent_parts parts = {.name = pdr_str_c("")};
    pdr_agent *agent = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s);
    ASSERT_TEXT("a-1", pdr_agent_id(s.agent));
    ASSERT_TEXT("clerk", pdr_agent_name(s.agent));
    ASSERT_TEXT("answers the door", pdr_agent_description(s.agent));
    parts.client = s.client;
    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, &err));
    ASSERT_SIZE(32, pdr_agent_id(agent).len);
    ASSERT_SIZE(32, strspn(pdr_agent_id(agent).ptr, "0123456789abcdef"));
    ASSERT_SIZE(0, pdr_agent_description(agent).len);
    pdr_agent_free(agent);
    stage_end(&s);
}

TEST(agent_new, takes_an_object_of_options_and_nothing_else)
{
    static const struct {
        const char *options;
        pdr_rc rc;
    } cases[] = {{"{\"temperature\":0}", PDR_OK}, {"[]", PDR_EINVALID}};
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < 2; i++) {
        pdr_value *options = json(cases[i].options);
        const pdr_agent_parts parts = {.client = s.client, .options = options};
        pdr_agent *agent = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(cases[i].rc, pdr_agent_new(&agent, &parts, &err));
        if (cases[i].rc != PDR_OK)
            ASSERT_STR("wrong_kind", err.reason);
        pdr_value_free(options);
        pdr_agent_free(agent);
    }
    ASSERT(pdr_agent_ref(NULL) == NULL);
    stage_end(&s);
}

TEST_OOM(agent_new, cleans_up_the_texts_after_any_failed_allocation)
{
    static char text[5000]; /* more than one piece of memory each */
    pdr_agent *agent = NULL;
    struct stage s;
    pdr_rc rc = PDR_OK;

    memset(text, 'x', sizeof(text));
    test_pause_failures(true);
    stage_begin(&s);
    test_pause_failures(false);
    const pdr_agent_parts parts = {.name = pdr_str_n(text, sizeof(text)),
                                   .description = pdr_str_n(text, sizeof(text)),
                                   .instructions =
                                       pdr_str_n(text, sizeof(text)),
                                   .client = s.client};
    rc = pdr_agent_new(&agent, &parts, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((agent != NULL) == (rc == PDR_OK));
    test_pause_failures(true);
    pdr_agent_free(agent);
    stage_end(&s);
    test_pause_failures(false);
}

TEST(agent_get_service, gives_the_first_part_that_matches)
{
    struct stage s;

    stage_begin(&s);
    const struct {
        const char *kind, *key;
        void *expected;
    } cases[] = {
        {"agent", NULL, s.agent},    {"agent", "todo", NULL},
        {"client", NULL, s.client},  {"client", "any", s.client},
        {"script", NULL, s.client},  {"openai", NULL, NULL},
        {"context", NULL, &todo}, /* the one before has no `self` */
        {"context", "todo2", &todo}, {"context", "kept", NULL},
        {"history", NULL, &store},   {"history", "kept", &store},
        {"history", "todo", NULL},   {"todo", NULL, &todo},
        {"todo", "todo", &todo},     {"todo", "kept", NULL},
        {"notes", NULL, &notes},     {"notes", "todo", NULL},
        {"backend", "kept", &store}, {"empty", NULL, NULL},
        {"Todo", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (pdr_agent_get_service(s.agent, cases[i].kind, cases[i].key) !=
            cases[i].expected)
            fail_msg("%s, %s", cases[i].kind, cases[i].key);
    }
    stage_end(&s);
}

/* --- sessions --------------------------------------------------------------
 */

/* Write a session through the agent and without it. */
static void expect_same_bytes(const pdr_agent *agent,
                              const pdr_session_wrapper *wrapper)
{
    pdr_value *ours = NULL, *plain = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_agent_serialize(&ours, agent, wrapper, NULL, NULL));
    ASSERT_RC(PDR_OK,
              wrapper->properties != NULL
                  ? pdr_session_wrapper_to_value(&plain, wrapper, NULL)
                  : pdr_session_to_value(&plain, wrapper->session, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, plain, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
    expect_json(text.ptr, ours);
    pdr_buf_dispose(&text);
    pdr_value_free(plain);
    pdr_value_free(ours);
}

TEST(agent_sessions, are_made_as_the_agent_can_use_them)
{
    static const struct {
        pdr_session_parts parts;
        pdr_session_kind kind;
    } cases[] = {
        {{.shape = PDR_SESSION_NATIVE}, PDR_SESSION_KIND_CLIENT},
        {{.shape = PDR_SESSION_DOTNET}, PDR_SESSION_KIND_CLIENT},
        {{.shape = PDR_SESSION_PYTHON}, PDR_SESSION_KIND_PYTHON},
        {{.kind = PDR_SESSION_KIND_DURABLE, .agent = {"a", 1}},
         PDR_SESSION_KIND_DURABLE},
    };
    pdr_session_wrapper made = PDR_SESSION_WRAPPER_INIT;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ASSERT_RC(PDR_OK, pdr_agent_create_session(&made.session, s.agent,
                                                   &cases[i].parts, &err));
        if (cases[i].parts.shape != PDR_SESSION_DOTNET)
            ASSERT_INT(cases[i].kind, pdr_session_get_kind(made.session));
        expect_same_bytes(s.agent, &made);
        pdr_session_free(made.session);
    }
    ASSERT_RC(PDR_OK,
              pdr_agent_create_session(&made.session, s.agent, NULL, &err));
    ASSERT_INT(PDR_SESSION_KIND_CLIENT, pdr_session_get_kind(made.session));
    pdr_session_free(made.session);
    ASSERT_RC(PDR_EINVALID,
              pdr_agent_create_session(
                  &made.session, s.agent,
                  &(pdr_session_parts){.id = pdr_str_c("@")}, &err));
    ASSERT_STR("bad_id", err.reason);
    stage_end(&s);
}

TEST(agent_sessions, of_another_kind_are_refused_by_name)
{
    static const struct {
        const char *document;
        const char *named; /* what the text says of it */
    } cases[] = {
        {"{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"a2a\",\"id\":\"1\"},"
         "\"stateBag\":{}}",
         "kind a2a"},
        {"{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"workflow\",\"id\":"
         "\"1\"},\"stateBag\":{}}",
         "kind workflow"},
        {"{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"chat\",\"id\":\"1\"},"
         "\"stateBag\":{}}",
         "kind chat"},
        {"{\"sessionId\":\"x\",\"stateBag\":{}}", "kind github-copilot"},
        {"{\"contextId\":\"x\",\"stateBag\":{}}", "kind a2a"},
        {"{\"storeState\":{\"messages\":[]}}", "shape dotnet-thread"},
        {"{\"conversationId\":\"c-1\",\"stateBag\":{}}", "kept by a service"},
    };
    struct stage s;

    COVERS("S-66");
    stage_begin(&s);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
        pdr_value *value = json(cases[i].document), *out = NULL;
        pdr_response *response = NULL;

        ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                         NULL, NULL, NULL));
        const pdr_run run = {.session = wrapper.session,
                             .text = pdr_str_c("hi")};
        for (int way = 0; way < 3; way++) {
            pdr_session_wrapper copy = PDR_SESSION_WRAPPER_INIT;
            pdr_err err = PDR_ERR_INIT;
            pdr_rc rc =
                way == 0 ? pdr_agent_run(&response, s.agent, &run, &err)
                : way == 1
                    ? pdr_agent_serialize(&out, s.agent, &wrapper, NULL, &err)
                    : pdr_agent_deserialize(&copy, s.agent, value, NULL, &err);

            ASSERT_RC(PDR_EINVALID, rc);
            ASSERT_STR("session_kind", err.reason);
            if (strstr(err.message, cases[i].named) == NULL)
                fail_msg("'%s' does not name %s", err.message, cases[i].named);
            ASSERT(response == NULL && out == NULL && copy.session == NULL);
        }
        pdr_session_wrapper_dispose(&wrapper);
        pdr_value_free(value);
    }
    stage_end(&s);
}

TEST(agent_sessions, with_a_service_are_not_made)
{
    const pdr_session_parts parts = {.service_id = pdr_str_c("conv-1")};
    pdr_session *session = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s);
    ASSERT_RC(PDR_EINVALID,
              pdr_agent_create_session(&session, s.agent, &parts, &err));
    ASSERT_STR("session_kind", err.reason);
    ASSERT(session == NULL);
    stage_end(&s);
}

/* The session has a count, a note and nothing; beside it is a level. */
#define WRAPPED(count, level)                                         \
    "{\"session\":{\"stateBag\":{\"count\":" count ",\"note\":\"n\"," \
    "\"nothing\":null}},\"additionalProperties\":{\"int64\":" level "}}"

TEST(agent_sessions, are_checked_by_the_types_that_the_caller_has)
{
    static const struct {
        const char *document, *reason, *named;
    } cases[] = {
        {WRAPPED("\"42\"", "7"), NULL, NULL},
        {WRAPPED("1.50e1", "null"), NULL, NULL},
        {WRAPPED("\"many\"", "7"), "state_decode", "count"},
        {WRAPPED("1", "\"high\""), "meta_decode", "int64"},
        {"{\"stateBag\":{\"count\":5}}", NULL, NULL},
        {"{\"stateBag\":{}}", NULL, NULL},
        {"{\"stateBag\":{\"count\":[]}}", "state_decode", "count"},
        {"[]", "session_not_object", ""},
    };
    const pdr_slot_type slots[] = {
        {pdr_str_c("count"), pdr_type_int64()},
        {pdr_str_c("note"), pdr_type_string()},
        {pdr_str_c("nothing"), pdr_type_int64()},
    };
    const pdr_state_type *const properties[] = {pdr_type_int64(),
                                                pdr_type_bool()};
    const pdr_session_types types = {slots, 3, {properties, 2}};
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_session_wrapper read = PDR_SESSION_WRAPPER_INIT;
        pdr_value *value = json(cases[i].document), *out = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_agent_deserialize(&read, s.agent, value, &types, &err);

        if (cases[i].reason != NULL) {
            ASSERT_RC(PDR_EINVALID, rc);
            ASSERT_STR(cases[i].reason, err.reason);
            ASSERT(strstr(err.message, cases[i].named) != NULL ||
                   strstr(err.path, cases[i].named) != NULL);
            ASSERT(read.session == NULL && read.properties == NULL);
        } else {
            ASSERT_RC(PDR_OK, rc);
            ASSERT(err.reason == NULL || err.reason[0] == '\0');
            ASSERT_RC(PDR_OK,
                      pdr_agent_serialize(&out, s.agent, &read, &types, &err));
            expect_json(cases[i].document, out);
            expect_same_bytes(s.agent, &read);
        }
        pdr_session_wrapper_dispose(&read);
        pdr_value_free(out);
        pdr_value_free(value);
    }
    stage_end(&s);
}

TEST(agent_serialize, writes_an_object_as_its_type_does)
{
    const pdr_slot_type slots[] = {{pdr_str_c("count"), pdr_type_int64()}};
    const pdr_session_types types = {slots, 1, {NULL, 0}};
    const pdr_session_parts parts = {.shape = PDR_SESSION_DOTNET};
    pdr_session_wrapper made = PDR_SESSION_WRAPPER_INIT;
    int64_t count = 3;
    pdr_value *out = NULL, *text = json("\"x\"");
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s);
    ASSERT_RC(PDR_OK,
              pdr_agent_create_session(&made.session, s.agent, &parts, &err));
    ASSERT_RC(PDR_OK, pdr_bag_set_typed(pdr_session_bag(made.session),
                                        pdr_str_c("count"), pdr_type_int64(),
                                        &count, PDR_OVERLAY, &err));
    ASSERT_RC(PDR_OK, pdr_agent_serialize(&out, s.agent, &made, &types, &err));
    expect_json("{\"stateBag\":{\"count\":3}}", out);
    pdr_value_free(out);
    /* Somebody writes what does not fit: it does not get out. */
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(made.session),
                                  pdr_str_c("count"), text, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_agent_serialize(&out, s.agent, &made, &types, &err));
    ASSERT(out == NULL);
    ASSERT_STR("/count", err.path);
    pdr_value_free(text);
    pdr_session_wrapper_dispose(&made);
    stage_end(&s);
}

TEST_OOM(agent_sessions, clean_up_after_any_failed_allocation)
{
    const pdr_slot_type slots[] = {{pdr_str_c("count"), pdr_type_int64()}};
    const pdr_state_type *const properties[] = {pdr_type_int64()};
    const pdr_session_types types = {slots, 1, {properties, 1}};
    pdr_session_wrapper read = PDR_SESSION_WRAPPER_INIT;
    pdr_session *session = NULL;
    pdr_value *value = NULL, *out = NULL;
    struct stage s;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stage_begin(&s);
    value = json(WRAPPED("1", "7"));
    test_pause_failures(false);
    rc = pdr_agent_create_session(&session, s.agent, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((session != NULL) == (rc == PDR_OK));
    rc = pdr_agent_deserialize(&read, s.agent, value, &types, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((read.session != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK) {
        rc = pdr_agent_serialize(&out, s.agent, &read, &types, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((out != NULL) == (rc == PDR_OK));
    }
    test_pause_failures(true);
    pdr_value_free(out);
    pdr_session_wrapper_dispose(&read);
    pdr_session_free(session);
    pdr_value_free(value);
    stage_end(&s);
    test_pause_failures(false);
}
