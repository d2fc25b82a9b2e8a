/*
 * What stays of a run: stored as a whole or call by call, what a failure
 * leaves, and messages that come from outside.
 */
#include <pthread.h>

#include "agent_stage.h"
#include "test.h"

/* --- small steps ---------------------------------------------------------- */

/* A provider that writes down what it is told. */
struct ear {
    pdr_buf heard;
};

static pdr_rc ear_after(const pdr_run_info *run, const pdr_run_outcome *outcome,
                        pdr_err *err, void *self)
{
    struct ear *ear = self;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    for (size_t i = 0; i < run->input_count; i++)
        stage_describe(&line, run->input[i], run->shape);
    ASSERT_RC(PDR_OK, pdr_buf_append(&line, pdr_str_c(" ->"), NULL));
    for (size_t i = 0; i < outcome->answer_count; i++)
        stage_describe(&line, outcome->answers[i], run->shape);
    if (outcome->error != NULL)
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&line, NULL, " %s", outcome->error->reason));
    ASSERT_RC(PDR_OK, pdr_buf_append(&line, pdr_str_c("\n"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&ear->heard, pdr_buf_str(&line), NULL));
    pdr_buf_dispose(&line);
    return PDR_OK;
}

struct stage {
    struct stage_model model;
    struct ear ear;
    pdr_agent *agent;
    int ran;
};

static void stage_begin(struct stage *s, const char *const *steps,
                        const pdr_agent_parts *more)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);
    const pdr_tool tools[] = {
        {.name = "look", .fn = stage_tool, .arg = &s->ran},
        {.name = "pay",
         .fn = stage_tool,
         .arg = &s->ran,
         .needs_approval = true}};
    const pdr_provider ears[] = {{.name = "ear",
                                  .kind = PDR_PROVIDER_CONTEXT,
                                  .self = &s->ear,
                                  .after = ear_after}};
    pdr_agent_parts parts = {.client = NULL};

    if (more != NULL)
        parts = *more;
    s->ran = 0;
    s->ear.heard = none;
    stage_model_init(&s->model, steps);
    parts.name = pdr_str_c("clerk");
    parts.client = &s->model.base;
    parts.tools = tools;
    parts.tool_count = 2;
    parts.providers = ears;
    parts.provider_count = 1;
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, NULL));
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->agent);
    stage_model_free(&s->model);
    pdr_buf_dispose(&s->ear.heard);
}

static pdr_response *go(struct stage *s, pdr_rc expected, const pdr_run *run)
{
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_agent_run(&response, s->agent, run, &err);

    if (rc != expected)
        fail_msg("expected %d, is %d: %s", expected, rc, err.message);
    return response;
}

static pdr_stored *open_stored(pdr_store **store, const char *id)
{
    const pdr_ref ref = {.id = pdr_str_c(id)};
    const pdr_stored_opts create = {.create = true};
    pdr_stored *out = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(store, "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_stored_open(&out, *store, &ref, &create, NULL));
    return out;
}

static const pdr_agent_parts each_call = {.stores_each_call = true};

#define LOOK "call look {\"n\":1}"
#define DID  "tool:= look did {\"n\":1}"

/* --- at the end, or after each call --------------------------------------- */

TEST(agent_keep, has_the_same_history_in_both_modes)
{
    static const char *const steps[] = {LOOK, "say fine", NULL};
    static const struct {
        const pdr_agent_parts *parts;
        const char *heard;
        int64_t commits;
    } cases[] = {
        {NULL, "user:go -> | assistant:call look | " DID " | assistant:fine\n",
         1},
        {&each_call,
         "user:go -> | assistant:call look\n" DID " -> | assistant:fine\n", 2},
    };

    COVERS("S-71");
    COVERS("S-72");
    for (size_t i = 0; i < 2; i++) {
        pdr_store *store = NULL;
        pdr_stored *stored = open_stored(&store, "s");
        pdr_session *session = stage_session(PDR_SESSION_NATIVE);
        struct stage s;

        stage_begin(&s, steps, cases[i].parts);
        for (int k = 0; k < 2; k++) {
            const pdr_run run = {.session = k == 0 ? session : NULL,
                                 .stored = k == 0 ? NULL : stored,
                                 .text = pdr_str_c("go"),
                                 .now_ms = STAGE_NOW};
            pdr_response *response = NULL;

            pdr_buf_clear(&s.ear.heard);
            response = go(&s, PDR_OK, &run);
            ASSERT_SIZE(3, pdr_response_count(response));
            ASSERT_SIZE(3, pdr_response_stored(response));
            ASSERT_TEXT(cases[i].heard, pdr_buf_str(&s.ear.heard));
            pdr_response_free(response);
        }
        stage_history("user:go | assistant:call look | " DID
                      " | assistant:fine",
                      session);
        stage_stored_history(
            "user:go | assistant:call look | " DID " | assistant:fine", stored);
        ASSERT_INT(cases[i].commits, pdr_stored_head(stored)->revision);
        pdr_session_free(session);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

TEST(agent_keep, stores_the_calls_before_one_that_fails)
{
    static const char *const steps[] = {LOOK, "fail", NULL};
    pdr_store *store = NULL;
    pdr_stored *stored = open_stored(&store, "s");
    const pdr_run run = {
        .stored = stored, .text = pdr_str_c("go"), .now_ms = STAGE_NOW};
    pdr_response *response = NULL;
    struct stage s;

    COVERS("S-73");
    stage_begin(&s, steps, &each_call);
    response = go(&s, PDR_EMODEL, &run);
    ASSERT_SIZE(2, pdr_response_count(response));
    ASSERT_SIZE(1, pdr_response_stored(response));
    stage_stored_history("user:go | assistant:call look", stored);
    ASSERT_TEXT("user:go -> | assistant:call look\n" DID " -> model_failed\n",
                pdr_buf_str(&s.ear.heard));
    pdr_response_free(response);
    /* And it goes on from there. */
    s.model.steps = (const char *const[]){"say well", NULL};
    s.model.next = 0;
    pdr_response_free(go(&s, PDR_OK, &run));
    ASSERT_TEXT("user:go | assistant:call look | user:go",
                pdr_buf_str(&s.model.seen));
    pdr_stored_close(stored);
    pdr_store_close(store);
    stage_end(&s);
}

TEST(agent_keep, stores_a_durable_session_turn_by_turn_only)
{
    static const char *const steps[] = {"say x", NULL};
    pdr_store *store = NULL;
    pdr_stored *stored = open_stored(&store, "@dafx-clerk@k");
    const pdr_run run = {.stored = stored, .now_ms = STAGE_NOW};
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct stage s;

    stage_begin(&s, steps, &each_call);
    ASSERT_RC(PDR_EINVALID, pdr_agent_run(&response, s.agent, &run, &err));
    ASSERT_STR("session_kind", err.reason);
    ASSERT_SIZE(0, s.model.asked);
    pdr_stored_close(stored);
    pdr_store_close(store);
    stage_end(&s);
}

/* --- sentinels ------------------------------------------------------------ */

TEST(agent_keep, knows_no_sentinel_as_an_id)
{
    static const char *const steps[] = {LOOK, "say fine", NULL};
    static const char *const texts[] = {
        "{\"conversationId\":\"_agent_local_chat_history\",\"stateBag\":{"
        "\"InMemoryChatHistoryProvider\":{\"messages\":[{\"role\":\"user\","
        "\"contents\":[{\"$type\":\"text\",\"text\":\"before\"}]}]}}}",
        "{\"type\":\"session\",\"session_id\":\"p\",\"service_session_id\":"
        "\"agent_framework_local_history_persistence\",\"state\":{\"in_memory\""
        ":{\"messages\":[{\"type\":\"message\",\"role\":\"user\",\"contents\":["
        "{\"type\":\"text\",\"text\":\"before\"}]}]}}}",
    };

    COVERS("S-74");
    COVERS("S-75");
    for (size_t i = 0; i < 2; i++) {
        pdr_value *value = stage_json(texts[i]), *after = NULL, *id = NULL;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_session *session = NULL;
        struct stage s;

        ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
        stage_begin(&s, steps, &each_call);
        const pdr_run run = {.session = session, .text = pdr_str_c("go")};
        pdr_response_free(go(&s, PDR_OK, &run));
        /* The history was ours, and all of it was sent. */
        ASSERT_TEXT("user:before | user:go | assistant:call look | " DID,
                    pdr_buf_str(&s.model.seen));
        ASSERT_RC(PDR_OK, pdr_session_service_id(&id, session, NULL));
        ASSERT(id == NULL);
        ASSERT_RC(PDR_OK, pdr_session_to_value(&after, session, NULL));
        ASSERT_RC(PDR_OK, pdr_json_write(&text, after, NULL, NULL));
        ASSERT(memmem(text.ptr, text.len, "local_chat_history", 18) == NULL);
        ASSERT(memmem(text.ptr, text.len, "local_history_pers", 18) == NULL);
        ASSERT(memmem(text.ptr, text.len, "\"fine\"", 6) != NULL);
        pdr_value_free(after);
        pdr_value_free(value);
        pdr_buf_dispose(&text);
        pdr_session_free(session);
        stage_end(&s);
    }
}

#define SENTINEL "\"_agent_local_chat_history\""

TEST(agent_keep, takes_the_sentinel_out_of_a_stored_document)
{
    static const char *const steps[] = {"say fine", NULL};
    static const struct {
        const char *document, *after; /* what is there before the history */
    } cases[] = {
        {"{\"conversationId\" : " SENTINEL ",\"stateBag\":{\"k\":1}}",
         "{\"conversationId\" : null,"},
        {"{\n\t\"conversationId\"\r\n:\n\t" SENTINEL "\n,\"stateBag\":{}}",
         "{\n\t\"conversationId\"\r\n:\n\tnull\n,"},
        /* And nothing else, whatever it looks like. */
        {"{\"a\":\"conversationId\",\"b\":\"c\",\"conversationId\":" SENTINEL
         ",\"stateBag\":{}}",
         "{\"a\":\"conversationId\",\"b\":\"c\",\"conversationId\":null,"},
        {"{\"a\":{\"conversationId\":\"mine\"},\"b\":\"\\\"conversationId\\\":"
         "\\\"_agent_local_chat_history\\\"\",\"conversationId\":" SENTINEL
         ",\"stateBag\":{}}",
         "{\"a\":{\"conversationId\":\"mine\"},\"b\":\"\\\"conversationId\\\":"
         "\\\"_agent_local_chat_history\\\"\",\"conversationId\":null,"},
        {"{\"conversationId\":\"old\",\"conversationId\":" SENTINEL
         ",\"stateBag\":{}}",
         "{\"conversationId\":\"old\",\"conversationId\":null,"},
        {"{\"stateBag\":{\"conversationId\":\"x\",\"b\":\"y\"},"
         "\"conversationId\":" SENTINEL "}",
         "{\"stateBag\":{\"conversationId\":\"x\",\"b\":\"y\","},
        /* One that is spelled oddly stays: readers know it. */
        {"{\"conversation\\u0049d\":" SENTINEL ",\"stateBag\":{}}",
         "{\"conversation\\u0049d\":" SENTINEL ","},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pdr_ref ref = {.id = pdr_str_c("s")};
        const pdr_import_opts in = {.ref = ref, .now_ms = STAGE_NOW};
        const pdr_export_opts out = {.ref = ref};
        pdr_str rest = pdr_str_c(cases[i].document);
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *value = NULL;
        pdr_store *store = NULL;
        pdr_stored *stored = NULL;
        struct stage s;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        ASSERT_RC(PDR_OK,
                  pdr_import(NULL, store, &in, NULL, pdr_read_str, &rest));
        ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, NULL, NULL));
        stage_begin(&s, steps, NULL);
        const pdr_run run = {
            .stored = stored, .text = pdr_str_c("go"), .now_ms = STAGE_NOW};
        pdr_response_free(go(&s, PDR_OK, &run));
        ASSERT_RC(PDR_OK,
                  pdr_export(NULL, store, &out, NULL, pdr_write_buf, &text));
        ASSERT_TEXT(cases[i].after,
                    pdr_str_n(text.ptr, strlen(cases[i].after)));
        ASSERT(memmem(text.ptr, text.len, "\"fine\"", 6) != NULL);
        ASSERT_RC(PDR_OK,
                  pdr_json_read(&value, pdr_buf_str(&text), NULL, NULL));
        pdr_value_free(value);
        pdr_buf_dispose(&text);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

/* --- what a failure leaves -------------------------------------------------
 */

/* A pdr_update_fn: stop at the first piece. */
static pdr_rc stop(const pdr_update *update, pdr_err *err, void *arg)
{
    (void)arg;
    if (update->content_count == 0 || update->finish_reason.len > 0)
        return PDR_OK;
    return pdr_err_set(err, PDR_ECANCELLED, "run_cancelled", "enough");
}

static const char *const fails[] = {LOOK, "fail", NULL};
static const char *const half[] = {LOOK, "half it is/ al", NULL};
static const char *const at_once[] = {"half so/ it", NULL};
static const char *const cut[] = {"call look {\"n\":1};look {\"cancel\":1}",
                                  NULL};
static const char *const streamed[] = {"say one/ two/ three", NULL};
static const struct {
    const char *const *steps;
    bool each_call, stops;
    pdr_rc rc;
    const char *left[3]; /* discard, calls, all */
} failures[] = {
    {fails,
     false,
     false,
     PDR_EMODEL,
     {"", "user:go | assistant:call look | " DID,
      "user:go | assistant:call look | " DID}},
    {fails,
     true,
     false,
     PDR_EMODEL,
     {"user:go | assistant:call look", "user:go | assistant:call look | " DID,
      "user:go | assistant:call look | " DID}},
    {half,
     false,
     false,
     PDR_EMODEL,
     {"", "user:go | assistant:call look | " DID,
      "user:go | assistant:call look | " DID " | assistant!:it is al"}},
    {half,
     true,
     false,
     PDR_EMODEL,
     {"user:go | assistant:call look", "user:go | assistant:call look | " DID,
      "user:go | assistant:call look | " DID " | assistant!:it is al"}},
    {at_once, false, false, PDR_EMODEL, {"", "", "user:go | assistant!:so it"}},
    {cut,
     false,
     false,
     PDR_ECANCELLED,
     {"", "user:go | assistant:call look+call look | " DID,
      "user:go | assistant:call look+call look | " DID}},
    {streamed,
     false,
     true,
     PDR_ECANCELLED,
     {"", "", "user:go | assistant!:one"}},
};

TEST(agent_keep, leaves_of_a_failed_run_what_the_caller_wants)
{
    COVERS("S-69");
    for (size_t i = 0; i < 3 * sizeof(failures) / sizeof(failures[0]); i++) {
        pdr_store *store = NULL;
        pdr_stored *stored = open_stored(&store, "s");
        pdr_session *session = stage_session(PDR_SESSION_NATIVE);
        const pdr_agent_parts parts = {.stores_each_call =
                                           failures[i / 3].each_call};
        struct stage s;

        stage_begin(&s, failures[i / 3].steps, &parts);
        for (int k = 0; k < 2; k++) {
            const pdr_run run = {.session = k == 0 ? session : NULL,
                                 .stored = k == 0 ? NULL : stored,
                                 .text = pdr_str_c("go"),
                                 .on_partial = (pdr_partial)(i % 3),
                                 .fn = failures[i / 3].stops ? stop : NULL,
                                 .now_ms = STAGE_NOW};
            pdr_response *response = NULL;

            s.model.next = 0;
            response = go(&s, failures[i / 3].rc, &run);
            /* It says what is in the history. */
            if (response != NULL && i % 3 == 0)
                ASSERT_SIZE(failures[i / 3].each_call ? 1 : 0,
                            pdr_response_stored(response));
            if (response != NULL && i % 3 == 2)
                ASSERT_SIZE(pdr_response_count(response),
                            pdr_response_stored(response));
            pdr_response_free(response);
        }
        stage_history(failures[i / 3].left[i % 3], session);
        stage_stored_history(failures[i / 3].left[i % 3], stored);
        pdr_session_free(session);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

/* --- from outside ----------------------------------------------------------
 */

static void inject(pdr_session *session, pdr_stored *stored, const char *text)
{
    pdr_value *message = NULL;

    ASSERT_RC(PDR_OK,
              pdr_message_new_text(&message, PDR_SHAPE_DOTNET,
                                   pdr_str_c("user"), pdr_str_c(text), NULL));
    ASSERT_RC(PDR_OK,
              pdr_inject(session, stored, (const pdr_value *const *)&message, 1,
                         PDR_SHAPE_DOTNET, NULL));
    pdr_value_free(message);
}

struct injection {
    struct stage *s;
    pdr_session *session;
};

/* With the first question of a run, somebody says something. */
static pdr_rc inject_once(void *arg)
{
    struct injection *in = arg;

    if (in->s->model.asked == 1)
        inject(in->session, NULL, "and hurry");
    return PDR_OK;
}

TEST(agent_inject, puts_a_message_into_a_run_at_work)
{
    static const char *const steps[] = {LOOK, "say fine", "say bye", NULL};
    static const char told[] = "user:go | assistant:call look | " DID
                               " | user:and hurry | assistant:fine";

    COVERS("S-138");
    for (int i = 0; i < 2; i++) {
        pdr_session *session = stage_session(PDR_SESSION_NATIVE);
        struct stage s;
        struct injection in = {&s, session};

        stage_begin(&s, steps, i == 0 ? NULL : &each_call);
        s.model.hook = inject_once;
        s.model.hook_arg = &in;
        const pdr_run run = {.session = session, .text = pdr_str_c("go")};
        pdr_response_free(go(&s, PDR_OK, &run));
        stage_history(told, session);
        ASSERT_TEXT("user:go | assistant:call look | " DID " | user:and hurry",
                    pdr_buf_str(&s.model.seen));
        /* Once: the next run has it from the history. */
        pdr_response_free(go(&s, PDR_OK, &run));
        ASSERT_TEXT("user:go | assistant:call look | " DID
                    " | user:and hurry | assistant:fine | user:go",
                    pdr_buf_str(&s.model.seen));
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(agent_inject, waits_in_the_session_for_a_run_that_succeeds)
{
    static const char *const steps[] = {"fail", "say fine", NULL};
    static const char *const files[] = {
        "dotnet/sessions/session-injected-messages.json",
        "python/sessions/session-injected-messages.json"};
    static const char *const sent[] = {
        "user:go | user:Also: late checkout? | system:Guest is a member.",
        "user:go | user:Also: late arrival. | user:Flight delayed."};

    COVERS("S-82");
    for (size_t i = 0; i < 2; i++) {
        pdr_session *session = stage_session_read(files[i]);
        struct stage s;
        char told[200];

        stage_begin(&s, steps, NULL);
        const pdr_run run = {.session = session, .text = pdr_str_c("go")};
        pdr_response_free(go(&s, PDR_EMODEL, &run));
        stage_history("", session);
        pdr_response_free(go(&s, PDR_OK, &run));
        ASSERT_TEXT(sent[i], pdr_buf_str(&s.model.seen));
        snprintf(told, sizeof(told), "%s | assistant:fine", sent[i]);
        stage_history(told, session);
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(agent_inject, waits_in_a_store_too)
{
    static const char *const steps[] = {"say fine", NULL};
    static const char *const ids[] = {"s", "@dafx-clerk@k"};

    for (size_t i = 0; i < 2; i++) {
        const pdr_commit_options now = {.now_ms = STAGE_NOW};
        const pdr_ref ref = {.id = pdr_str_c(ids[i])};
        pdr_store *store = NULL;
        pdr_stored *stored = open_stored(&store, ids[i]);
        struct stage s;

        stage_begin(&s, steps, NULL);
        inject(NULL, stored, "one");
        ASSERT_RC(PDR_OK, pdr_stored_commit(stored, &now, NULL));
        pdr_stored_close(stored);
        ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, NULL, NULL));
        inject(NULL, stored, "two");
        const pdr_run run = {
            .stored = stored, .text = pdr_str_c("go"), .now_ms = STAGE_NOW};
        pdr_response_free(go(&s, PDR_OK, &run));
        stage_stored_history("user:go | user:one | user:two | assistant:fine",
                             stored);
        pdr_response_free(go(&s, PDR_OK, &run));
        ASSERT_TEXT("user:go | user:one | user:two | assistant:fine | user:go",
                    pdr_buf_str(&s.model.seen));
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

static void *inject_many(void *arg)
{
    for (int i = 0; i < 125; i++)
        inject(arg, NULL, "x");
    return NULL;
}

TEST(agent_inject, loses_none_of_many_at_once)
{
    static const char *const steps[] = {"say fine", NULL};
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pthread_t threads[8];
    pdr_value *history = NULL;
    struct stage s;

    COVERS("S-83");
    for (size_t i = 0; i < 8; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, inject_many, session));
    for (size_t i = 0; i < 8; i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
    stage_begin(&s, steps, NULL);
    const pdr_run run = {.session = session};
    pdr_response_free(go(&s, PDR_OK, &run));
    ASSERT_RC(PDR_OK, pdr_session_history(&history, session, NULL));
    ASSERT_SIZE(1001, pdr_value_count(history));
    pdr_value_free(history);
    pdr_session_free(session);
    stage_end(&s);
}

TEST(agent_inject, refuses_what_is_not_a_message)
{
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_value *number = stage_json("7"), *message = stage_json("{}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_inject(session, NULL, (const pdr_value *const *)&number, 1,
                         PDR_SHAPE_DOTNET, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(session),
                                  pdr_str_c("MessageInjectingChatClient."
                                            "PendingInjectedMessages"),
                                  number, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_inject(session, NULL, (const pdr_value *const *)&message, 1,
                         PDR_SHAPE_DOTNET, &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_value_free(message);
    pdr_value_free(number);
    pdr_session_free(session);
}

TEST_OOM(agent_keep, cleans_up_after_any_failed_allocation)
{
    static const char *const steps[] = {LOOK, "half it is/ al", NULL};
    static const pdr_run runs[] = {{.on_partial = PDR_PARTIAL_DISCARD},
                                   {.on_partial = PDR_PARTIAL_ALL}};

    for (size_t i = 0; i < 4; i++) {
        pdr_store *store = NULL;
        pdr_stored *stored = NULL;
        pdr_session *session = NULL;
        pdr_response *response = NULL;
        pdr_run run = runs[i % 2];
        pdr_err err = PDR_ERR_INIT;
        struct stage s;
        pdr_rc rc = PDR_OK;

        test_pause_failures(true);
        stage_begin(&s, steps, i < 2 ? NULL : &each_call);
        s.model.is_deaf = true;
        stored = open_stored(&store, "s");
        session = pdr_stored_session(stored);
        pdr_agent_free(s.agent); /* its provider takes memory of its own */
        const pdr_agent_parts parts = {.client = &s.model.base,
                                       .stores_each_call = i >= 2};
        ASSERT_RC(PDR_OK, pdr_agent_new(&s.agent, &parts, NULL));
        inject(session, NULL, "one");
        test_pause_failures(false);
        run.stored = stored;
        run.text = pdr_str_c("go");
        rc = pdr_agent_run(&response, s.agent, &run, &err);
        ASSERT(rc == PDR_EMODEL || rc == PDR_ENOMEM);
        pdr_response_free(response);
        test_pause_failures(true);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
        test_pause_failures(false);
    }
}
