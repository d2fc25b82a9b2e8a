/*
 * One run of an agent: what the model gets, what tools do, what is stored, and
 * what is left when something fails.
 */
#include "agent_stage.h"
#include "fault_store.h"
#include "test.h"

/* --- small steps ---------------------------------------------------------- */

/* What a tool was called with, as a text. */
static pdr_rc tool_echo(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    int *calls = arg;

    (void)err;
    *calls += 1;
    *out = pdr_value_ref(call->arguments);
    return PDR_OK;
}

static pdr_rc tool_fail(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    (void)call;
    *out = NULL;
    return pdr_err_set(err, *(pdr_rc *)arg, "any", "the secret reason");
}

static pdr_rc tool_nothing(pdr_value **out, const pdr_tool_call *call,
                           pdr_err *err, void *arg)
{
    (void)call;
    (void)err;
    (void)arg;
    *out = NULL;
    return PDR_OK;
}

/* An agent with a script and some tools. */
struct stage {
    pdr_client *client;
    pdr_agent *agent;
    pdr_value *schema;
    int echoed;
    pdr_rc fails_with;
};

static void stage_begin(struct stage *s, const char *script, size_t window)
{
    pdr_err err = PDR_ERR_INIT;

    memset(s, 0, sizeof(*s));
    s->fails_with = PDR_EIO;
    s->schema =
        stage_json("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
                   "\"integer\"}},\"required\":[\"n\"]}");
    const pdr_tool tools[] = {
        {.name = "echo",
         .fn = tool_echo,
         .arg = &s->echoed,
         .parameters = s->schema},
        {.name = "broken", .fn = tool_fail, .arg = &s->fails_with},
        {.name = "quiet", .description = "says nothing", .fn = tool_nothing}};
    if (pdr_client_script(&s->client, pdr_str_c(script), &err) != PDR_OK)
        fail_msg("script: %s", err.message);
    const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                   .instructions = pdr_str_c("Be brief."),
                                   .client = s->client,
                                   .tools = tools,
                                   .tool_count = 3,
                                   .window_messages = window,
                                   .max_calls = 3};
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, &err));
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->agent);
    pdr_client_free(s->client);
    pdr_value_free(s->schema);
}

static pdr_rc say(struct stage *s, pdr_session *session, pdr_stored *stored,
                  const char *text, pdr_response **out, pdr_err *err)
{
    const pdr_run run = {.session = session,
                         .stored = stored,
                         .text = pdr_str_c(text),
                         .correlation_id = pdr_str_c("turn-1"),
                         .now_ms = STAGE_NOW};

    return pdr_agent_run(out, s->agent, &run, err);
}

static void expect_text(const char *expected, const pdr_response *response)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_response_text(&text, response, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

/* --- runs ----------------------------------------------------------------- */

#define WEATHER                                                                \
    "{\"replies\":[{\"after\":\"echo\",\"text\":[\"It \",\"is {result}\"],"    \
    "\"usage\":{\"inputTokenCount\":3,\"outputTokenCount\":2}},"               \
    "{\"user\":\"go\",\"calls\":[{\"name\":\"echo\",\"arguments\":{\"n\":7}}]" \
    ",\"usage\":{\"inputTokenCount\":1,\"outputTokenCount\":1}},"              \
    "{\"text\":\"You said: {user}\"}]}"

TEST(agent_run, stores_what_was_said_in_every_shape)
{
    static const pdr_session_shape shapes[] = {
        PDR_SESSION_NATIVE, PDR_SESSION_DOTNET, PDR_SESSION_PYTHON};

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        pdr_session *session = NULL;
        pdr_response *response = NULL;
        struct stage s;
        int64_t tokens = 0;
        pdr_err err = PDR_ERR_INIT;

        stage_begin(&s, WEATHER, 0);
        session = stage_session(shapes[i]);
        ASSERT_RC(PDR_OK, say(&s, session, NULL, "hello", &response, &err));
        expect_text("You said: hello", response);
        ASSERT_TEXT("stop", pdr_response_finish_reason(response));
        ASSERT(pdr_response_usage(response) == NULL);
        pdr_response_free(response);
        if (say(&s, session, NULL, "go on", &response, &err) != PDR_OK)
            fail_msg("%s", err.message);
        expect_text("It is {\"n\":7}", response);
        ASSERT_SIZE(3, pdr_response_count(response));
        ASSERT_INT(1, s.echoed);
        ASSERT(pdr_usage_count(&tokens, pdr_response_usage(response),
                               pdr_str_c("inputTokenCount")));
        ASSERT_INT(4, tokens);
        stage_history("user:hello | assistant:You said: hello | user:go on | "
                      "assistant:call echo | tool:= {\"n\":7} | "
                      "assistant:It is {\"n\":7}",
                      session);
        pdr_response_free(response);
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(agent_run, tells_the_model_what_went_wrong_with_a_call)
{
    static const struct {
        const char *call, *result;
    } cases[] = {
        {"{\"name\":\"nobody\"}",
         "Error: Requested function \"nobody\" not found."},
        {"{\"name\":\"broken\"}", "Error: Function failed."},
        {"{\"name\":\"quiet\"}", "Success: Function completed."},
        {"{\"name\":\"echo\",\"arguments\":{\"n\":\"x\"}}",
         "Error: Argument parsing failed. at '/n': this is string, where an "
         "integer must stand: change it"},
        {"{\"name\":\"echo\",\"arguments\":{}}",
         "Error: Argument parsing failed. the member 'n' is missing: add it"},
        {"{\"name\":\"echo\",\"arguments\":\"{\\\"n\\\":\"}",
         "Error: Argument parsing failed. the document ends before it is complete"},
        {"{\"name\":\"echo\",\"arguments\":\"[1]\"}",
         "Error: Argument parsing failed. they are not an object"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char script[512];
        pdr_session *session = stage_session(PDR_SESSION_NATIVE);
        pdr_response *response = NULL;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        struct stage s;
        pdr_err err = PDR_ERR_INIT;

        snprintf(script, sizeof(script),
                 "{\"replies\":[{\"user\":\"go\",\"calls\":[%s]},{\"text\":"
                 "\"{result}\"}]}",
                 cases[i].call);
        stage_begin(&s, script, 0);
        if (say(&s, session, NULL, "go", &response, &err) != PDR_OK)
            fail_msg("%s", err.message);
        ASSERT_RC(PDR_OK, pdr_response_text(&text, response, NULL));
        ASSERT_TEXT(cases[i].result, pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        pdr_response_free(response);
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(agent_run, that_fails_leaves_the_history_as_it_was)
{
    static const struct {
        const char *script;
        pdr_rc tool, rc;
    } cases[] = {
        {"{\"replies\":[{\"fail\":\"no server\"}]}", PDR_EIO, PDR_EMODEL},
        {"{\"replies\":[{\"text\":\"half\",\"fail\":\"cut off\"}]}", PDR_EIO,
         PDR_EMODEL},
        {"{\"replies\":[{\"user\":\"other\",\"text\":\"x\"}]}", PDR_EIO,
         PDR_EMODEL},
        {"{\"replies\":[{\"after\":\"quiet\",\"fail\":\"second call\"},"
         "{\"calls\":[{\"name\":\"quiet\"}]}]}",
         PDR_EIO, PDR_EMODEL},
        {"{\"replies\":[{\"calls\":[{\"name\":\"broken\"}]}]}", PDR_ECANCELLED,
         PDR_ECANCELLED},
    };

    COVERS("S-40");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_session *session = stage_session(PDR_SESSION_NATIVE);
        pdr_response *response = NULL;
        struct stage s;
        pdr_err err = PDR_ERR_INIT;

        stage_begin(&s, cases[i].script, 0);
        s.fails_with = cases[i].tool;
        ASSERT_RC(cases[i].rc, say(&s, session, NULL, "go", &response, &err));
        if (response != NULL) /* what it made is not stored */
            ASSERT_SIZE(0, pdr_response_stored(response));
        pdr_response_free(response);
        if (cases[i].rc == PDR_EMODEL)
            ASSERT_STR("model_failed", err.reason);
        stage_history("", session);
        /* It is free again, and a run without input fails alike. */
        ASSERT_RC(cases[i].rc, say(&s, session, NULL, "", &response, &err));
        pdr_response_free(response);
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(agent_run, ends_a_loop_with_an_answer_without_tools)
{
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_response *response = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, "{\"replies\":[{\"calls\":[{\"name\":\"quiet\"}]}]}", 0);
    ASSERT_RC(PDR_OK, say(&s, session, NULL, "go", &response, &err));
    /* Three calls with their results, and the last one alone. */
    ASSERT_SIZE(7, pdr_response_count(response));
    pdr_response_free(response);
    pdr_session_free(session);
    stage_end(&s);
}

TEST(agent_run, without_a_session_leaves_no_trace)
{
    pdr_response *response = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-68");
    stage_begin(&s, WEATHER, 0);
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, "hi", &response, &err));
    expect_text("You said: hi", response);
    pdr_response_free(response);
    stage_end(&s);
}

TEST(agent_run, refuses_a_session_of_another_kind)
{
    static const pdr_session_kind kinds[] = {
        PDR_SESSION_KIND_A2A, PDR_SESSION_KIND_COPILOT_STUDIO,
        PDR_SESSION_KIND_WORKFLOW, PDR_SESSION_KIND_DURABLE};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const pdr_session_parts parts = {
            .kind = kinds[i],
            .agent =
                pdr_str_c(kinds[i] == PDR_SESSION_KIND_DURABLE ? "a" : "")};
        pdr_session *session = NULL;
        pdr_response *response = NULL;
        struct stage s;
        pdr_err err = PDR_ERR_INIT;

        stage_begin(&s, WEATHER, 0);
        ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, &err));
        ASSERT_RC(PDR_EINVALID, say(&s, session, NULL, "hi", &response, &err));
        ASSERT_STR("session_kind", err.reason);
        ASSERT(strstr(err.message, pdr_session_kind_name(kinds[i])) != NULL);
        pdr_session_free(session);
        stage_end(&s);
    }
}

/* --- in a store ----------------------------------------------------------- */

static pdr_stored *open_stored(pdr_store *store, const char *id)
{
    const pdr_ref ref = {.id = pdr_str_c(id)};
    const pdr_stored_opts opts = {.create = true};
    pdr_stored *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_stored_open(&out, store, &ref, &opts, &err) != PDR_OK)
        fail_msg("%s", err.message);
    return out;
}

TEST(agent_run, on_a_stored_session_is_one_commit)
{
    static const char *const ids[] = {"s", "@dafx-clerk@k"};

    for (size_t i = 0; i < 2; i++) {
        pdr_store *store = NULL;
        pdr_stored *stored = NULL;
        pdr_response *response = NULL;
        pdr_stored_window *window = NULL;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        struct stage s;
        pdr_err err = PDR_ERR_INIT;

        stage_begin(&s, WEATHER, 0);
        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
        stored = open_stored(store, ids[i]);
        if (say(&s, NULL, stored, "go", &response, &err) != PDR_OK)
            fail_msg("%s", err.message);
        expect_text("It is {\"n\":7}", response);
        pdr_response_free(response);
        ASSERT_INT(1, pdr_stored_head(stored)->revision);
        ASSERT_INT(i == 0 ? 4 : 2, pdr_stored_head(stored)->next_seq - 1);
        ASSERT_RC(PDR_OK, pdr_stored_messages(&window, stored, 0, 0, &err));
        for (size_t k = 0; k < window->count; k++) {
            stage_describe(&text, window->messages[k].value,
                           pdr_stored_shape(stored));
            ASSERT_TEXT("turn-1", window->messages[k].correlation_id);
        }
        ASSERT_TEXT("user:go | assistant:call echo | tool:= {\"n\":7} | "
                    "assistant:It is {\"n\":7}",
                    pdr_buf_str(&text));
        pdr_stored_window_free(window);
        pdr_buf_dispose(&text);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

TEST(agent_run, that_comes_late_gives_its_answer_with_the_conflict)
{
    pdr_store *store = NULL;
    pdr_stored *first = NULL, *late = NULL;
    pdr_response *response = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, WEATHER, 0);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    first = open_stored(store, "s");
    late = open_stored(store, "s");
    ASSERT_RC(PDR_OK, say(&s, NULL, first, "one", &response, &err));
    pdr_response_free(response);
    ASSERT_RC(PDR_ECONFLICT, say(&s, NULL, late, "two", &response, &err));
    expect_text("You said: two", response);
    pdr_response_free(response);
    ASSERT_RC(PDR_OK, pdr_stored_reload(late, &err));
    ASSERT_INT(3, pdr_stored_head(late)->next_seq);
    pdr_stored_close(late);
    pdr_stored_close(first);
    pdr_store_close(store);
    stage_end(&s);
}

TEST(agent_run, whose_commit_fails_leaves_nothing_for_the_next_one)
{
    static const char *const ids[] = {"s", "@dafx-clerk@k"};

    fault_store_register();
    for (size_t i = 0; i < 2; i++) {
        pdr_store *store = NULL;
        pdr_stored *stored = NULL;
        pdr_response *response = NULL;
        struct stage s;
        pdr_err err = PDR_ERR_INIT;

        stage_begin(&s, WEATHER, 0);
        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", &err));
        stored = open_stored(store, ids[i]);
        fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 1});
        ASSERT_RC(PDR_EIO, say(&s, NULL, stored, "one", &response, &err));
        expect_text("You said: one", response);
        pdr_response_free(response);
        ASSERT_RC(PDR_OK, say(&s, NULL, stored, "two", &response, &err));
        pdr_response_free(response);
        ASSERT_INT(2, pdr_stored_head(stored)->next_seq - 1);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

/* --- what the model gets ---------------------------------------------------
 */

/* A client that notes what it is asked, and answers with one word. */
struct spy {
    pdr_client base;
    pdr_buf seen;
    size_t tools;
    const char *author;   /* of its answers; NULL: it says none */
    pdr_session *session; /* to run on while it is asked */
    pdr_agent *agent;
    pdr_rc rc_inside;
    pdr_err inside;
};

static pdr_rc spy_send(pdr_client *self, const pdr_client_request *request,
                       pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct spy *spy = (struct spy *)self;
    const pdr_update update = {
        .author = pdr_str_c(spy->author != NULL ? spy->author : ""),
        .finish_reason = pdr_str_c("stop")};

    pdr_buf_clear(&spy->seen);
    for (size_t i = 0; i < request->count; i++)
        stage_describe(&spy->seen, request->messages[i].value,
                       request->messages[i].shape);
    spy->tools = request->tool_count;
    ASSERT_TEXT("Be brief.", request->instructions);
    if (spy->session != NULL) {
        const pdr_run run = {.session = spy->session};
        pdr_response *response = NULL;

        spy->rc_inside =
            pdr_agent_run(&response, spy->agent, &run, &spy->inside);
    }
    return fn(&update, err, arg);
}

static void spy_free(pdr_client *self)
{
    pdr_buf_dispose(&((struct spy *)self)->seen);
}

static const pdr_client_ops spy_ops = {PDR_CLIENT_OPS_VERSION, "spy", spy_send,
                                       spy_free};

TEST(agent_run, sends_a_window_of_the_history_and_never_half_a_call)
{
    static const struct {
        size_t window;
        const char *seen;
    } cases[] = {
        {0, "user:a | assistant:call x | tool:= 1 | assistant:b | user:now"},
        {4, "user:a | assistant:call x | tool:= 1 | assistant:b | user:now"},
        {3, "assistant:call x | tool:= 1 | assistant:b | user:now"},
        {2, "assistant:b | user:now"},
        {1, "assistant:b | user:now"},
    };
    static const char text[] =
        "{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"client\",\"id\":\"s\"},"
        "\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":[null,"
        "{\"role\":\"user\",\"contents\":[{\"$type\":\"text\",\"text\":\"a\"}]}"
        ",{\"role\":\"assistant\",\"contents\":[{\"$type\":\"functionCall\","
        "\"callId\":\"1\",\"name\":\"x\",\"arguments\":{}}]},{\"role\":\"tool\""
        ",\"contents\":[{\"$type\":\"functionResult\",\"callId\":\"1\","
        "\"result\":1}]},{\"role\":\"assistant\",\"contents\":[{\"$type\":"
        "\"text\",\"text\":\"b\"}]}]}}}";

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct spy spy = {.seen = PDR_BUF_INIT(SIZE_MAX)};
        pdr_value *value = stage_json(text);
        const pdr_run run = {.text = pdr_str_c("now")};
        pdr_run on = run;
        pdr_response *response = NULL;
        pdr_agent *agent = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
        const pdr_agent_parts parts = {.instructions = pdr_str_c("Be brief."),
                                       .client = &spy.base,
                                       .window_messages = cases[i].window};
        ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, &err));
        ASSERT_RC(PDR_OK, pdr_session_from_value(&on.session, value, &err));
        ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent, &on, &err));
        ASSERT_TEXT(cases[i].seen, pdr_buf_str(&spy.seen));
        pdr_response_free(response);
        pdr_session_free(on.session);
        pdr_value_free(value);
        pdr_agent_free(agent);
        pdr_client_free(&spy.base);
    }
}

TEST(agent_run, gives_answers_without_an_author_the_name_of_the_agent)
{
    static const char *const authors[][2] = {{NULL, "clerk"},
                                             {"other", "other"}};

    COVERS("S-67");
    for (size_t i = 0; i < 2; i++) {
        struct spy spy = {.seen = PDR_BUF_INIT(SIZE_MAX),
                          .author = authors[i][0]};
        const pdr_run run = {.text = pdr_str_c("hi")};
        pdr_response *response = NULL;
        pdr_agent *agent = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
        const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                       .instructions = pdr_str_c("Be brief."),
                                       .client = &spy.base};
        ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, &err));
        ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent, &run, &err));
        ASSERT(pdr_value_text_is(
            pdr_message_author(pdr_response_message(response, 0),
                               pdr_response_shape(response)),
            pdr_str_c(authors[i][1])));
        pdr_response_free(response);
        pdr_agent_free(agent);
        pdr_client_free(&spy.base);
    }
}

TEST(agent_run, refuses_a_second_run_on_a_session_at_work)
{
    struct spy spy = {.seen = PDR_BUF_INIT(SIZE_MAX)};
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    const pdr_run run = {.session = session};
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-70");
    ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
    const pdr_agent_parts parts = {.instructions = pdr_str_c("Be brief."),
                                   .client = &spy.base};
    ASSERT_RC(PDR_OK, pdr_agent_new(&spy.agent, &parts, &err));
    spy.session = session;
    ASSERT_RC(PDR_OK, pdr_agent_run(&response, spy.agent, &run, &err));
    ASSERT_RC(PDR_EBUSY, spy.rc_inside);
    ASSERT_STR("session_busy", spy.inside.reason);
    pdr_response_free(response);
    pdr_session_free(session);
    pdr_agent_free(spy.agent);
    pdr_client_free(&spy.base);
}

/* --- updates and cancelling ------------------------------------------------
 */

static pdr_rc count_pieces(const pdr_update *update, pdr_err *err, void *arg)
{
    int *left = arg;

    (void)err;
    (void)update;
    return --*left == 0 ? PDR_ECANCELLED : PDR_OK;
}

TEST(agent_run, stops_when_the_listener_says_so)
{
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_response *response = NULL;
    struct stage s;
    int left = 100;
    pdr_run run = {.session = session,
                   .text = pdr_str_c("x"),
                   .fn = count_pieces,
                   .arg = &left};
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, "{\"replies\":[{\"text\":[\"a\",\"b\",\"c\"]}]}", 0);
    ASSERT_RC(PDR_OK, pdr_agent_run(&response, s.agent, &run, &err));
    ASSERT_INT(96, left); /* three pieces and the end */
    expect_text("abc", response);
    pdr_response_free(response);
    left = 2;
    ASSERT_RC(PDR_ECANCELLED, pdr_agent_run(&response, s.agent, &run, &err));
    stage_history("user:x | assistant:abc", session);
    pdr_session_free(session);
    stage_end(&s);
}

TEST(agent_run, that_is_cancelled_ends_at_its_next_step)
{
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_response *response = NULL;
    pdr_cancel *cancel = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_cancel_new(&cancel, &err));
    ASSERT(!pdr_cancel_wait(cancel, 1));
    pdr_cancel_set(cancel);
    ASSERT(pdr_cancel_wait(cancel, 100000));
    const pdr_run run = {
        .session = session, .text = pdr_str_c("x"), .cancel = cancel};
    stage_begin(&s, "{\"replies\":[{\"text\":\"a\",\"delay_ms\":3600000}]}", 0);
    ASSERT_RC(PDR_ECANCELLED, pdr_agent_run(&response, s.agent, &run, &err));
    ASSERT_STR("run_cancelled", err.reason);
    stage_history("", session);
    pdr_session_free(session);
    pdr_cancel_free(cancel);
    stage_end(&s);
}

/* --- building --------------------------------------------------------------
 */

TEST(agent_new, refuses_tools_that_no_model_could_call)
{
    static const struct {
        const char *names[2], *schema, *reason;
    } cases[] = {
        {{"", NULL}, NULL, "bad_tool"},
        {{"no blanks", NULL}, NULL, "bad_tool"},
        {{"a23456789a123456789a123456789a123456789a123456789a123456789a12345",
          NULL},
         NULL,
         "bad_tool"},
        {{"same", "same"}, NULL, "tool_clash"},
        {{"t", NULL}, "{\"type\":\"any\"}", "bad_schema"},
        {{"t", NULL}, "{\"pattern\":\"(\"}", "bad_pattern"},
    };
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_client_script(
                          &client,
                          pdr_str_c("{\"replies\":[{\"text\":\"x\"}]}"), &err));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *schema =
            cases[i].schema != NULL ? stage_json(cases[i].schema) : NULL;
        const pdr_tool tools[] = {
            {.name = cases[i].names[0],
             .parameters = schema,
             .fn = tool_nothing},
            {.name = cases[i].names[1], .fn = tool_nothing}};
        const pdr_agent_parts parts = {.client = client,
                                       .tools = tools,
                                       .tool_count =
                                           cases[i].names[1] != NULL ? 2 : 1};
        pdr_agent *agent = NULL;

        ASSERT_RC(PDR_EINVALID, pdr_agent_new(&agent, &parts, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT(agent == NULL);
        pdr_value_free(schema);
    }
    pdr_client_free(client);
}

TEST(client_script, fills_in_its_marks_and_leaves_other_braces)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{user}{user}", "hihi"},
        {"{{user}}", "{hi}"},
        {"{use} {user {", "{use} {user {"},
        {"a{result}b", "ab"},
        {"", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char script[128];
        pdr_response *response = NULL;
        struct stage s;

        snprintf(script, sizeof(script), "{\"replies\":[{\"text\":\"%s\"}]}",
                 cases[i].text);
        stage_begin(&s, script, 0);
        ASSERT_RC(PDR_OK, say(&s, NULL, NULL, "hi", &response, NULL));
        expect_text(cases[i].said, response);
        pdr_response_free(response);
        stage_end(&s);
    }
}

TEST(client_script, refuses_what_it_does_not_understand)
{
    static const struct {
        const char *script, *path;
    } cases[] = {
        {"[]", ""},
        {"{\"replies\":[]}", "/replies"},
        {"{\"replies\":[1]}", "/replies/0"},
        {"{\"replies\":[{}]}", "/replies/0"},
        {"{\"replies\":[{\"text\":1}]}", "/replies/0"},
        {"{\"replies\":[{\"text\":\"a\"},{\"txt\":\"a\"}]}", "/replies/1"},
        {"{\"replies\":[{\"text\":[\"a\",1]}]}", "/replies/0/text/1"},
        {"{\"replies\":[{\"calls\":[{}]}]}", "/replies/0/calls/0"},
        {"{\"replies\":[{\"text\":\"a\",\"delay_ms\":-1}]}", "/replies/0"},
        {"{\"replies\":[{\"text\":\"a\"}],\"more\":1}", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_client *client = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_client_script(&client, pdr_str_c(cases[i].script), &err));
        ASSERT_STR("bad_script", err.reason);
        ASSERT_STR(cases[i].path, err.path);
    }
}

TEST_OOM(agent, cleans_up_after_any_failed_allocation)
{
    pdr_response *response = NULL;
    pdr_session *session = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stage_begin(&s, WEATHER, 0);
    session = stage_session(PDR_SESSION_NATIVE);
    test_pause_failures(false);
    rc = say(&s, session, NULL, "go", &response, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (response != NULL)
        ASSERT((pdr_response_stored(response) > 0) == (rc == PDR_OK));
    ASSERT(response != NULL || rc != PDR_OK);
    test_pause_failures(true);
    stage_history(rc == PDR_OK ? "user:go | assistant:call echo | "
                                 "tool:= {\"n\":7} | assistant:It is {\"n\":7}"
                               : "",
                  session);
    pdr_response_free(response);
    pdr_session_free(session);
    stage_end(&s);
    test_pause_failures(false);
}

TEST_OOM(agent_new, cleans_up_after_any_failed_allocation)
{
    const pdr_tool tools[] = {
        {.name = "t", .description = "d", .fn = tool_nothing}};
    pdr_client *client = NULL;
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_client_script(
        &client, pdr_str_c("{\"replies\":[{\"text\":\"x\"}]}"), &err);

    if (rc == PDR_OK) {
        const pdr_agent_parts parts = {
            .client = client, .tools = tools, .tool_count = 1};

        rc = pdr_agent_new(&agent, &parts, &err);
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_agent_free(agent);
    pdr_client_free(client);
}
