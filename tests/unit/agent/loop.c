/*
 * The limits of a run, calls side by side, answers that are values, and
 * sessions that others left in a bad state.
 */
#include <dirent.h>
#include <pthread.h>

#include "agent_stage.h"
#include "test.h"

/* --- small steps ---------------------------------------------------------- */

struct stage {
    struct stage_model model;
    pdr_agent *agent;
    int ran;
};

static void stage_begin(struct stage *s, const char *const *steps,
                        const pdr_agent_parts *more)
{
    const pdr_tool tools[] = {
        {.name = "look", .fn = stage_tool, .arg = &s->ran}};
    pdr_agent_parts parts = {.client = NULL};

    if (more != NULL)
        parts = *more;
    s->ran = 0;
    stage_model_init(&s->model, steps);
    parts.client = &s->model.base;
    if (parts.tools == NULL) {
        parts.tools = tools;
        parts.tool_count = 1;
    }
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, NULL));
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->agent);
    stage_model_free(&s->model);
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

/* --- limits --------------------------------------------------------------- */

TEST(agent_loop, has_to_do_without_tools_that_only_fail)
{
    static const char *const steps[] = {
        "call look {\"fail\":1};look {\"fail\":2}", "call nobody",
        "call look {\"fail\":1};look {}", "call look {\"fail\":3}", NULL};
    static const struct {
        unsigned max;
        size_t asked; /* the last time without tools */
    } cases[] = {{1, 2}, {2, 3}, {0, 7}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pdr_agent_parts parts = {.max_failures = cases[i].max};
        struct stage s;

        stage_begin(&s, steps, &parts);
        pdr_response_free(go(&s, PDR_OK, &(pdr_run){.text = pdr_str_c("x")}));
        ASSERT_SIZE(cases[i].asked, s.model.asked);
        ASSERT_SIZE(0, s.model.tools);
        stage_end(&s);
    }
}

TEST(agent_loop, tells_the_reason_of_a_failure_only_if_it_may)
{
    static const char *const steps[] = {"call look {\"fail\":1}", "say so",
                                        NULL};
    static const struct {
        bool tells;
        const char *seen;
    } cases[] = {
        {false,
         "user:x | assistant:call look | tool:= Error: Function failed."},
        {true, "user:x | assistant:call look | tool:= Error: Function failed. "
               "Exception: the secret reason"},
    };

    for (size_t i = 0; i < 2; i++) {
        const pdr_agent_parts parts = {.tells_errors = cases[i].tells};
        struct stage s;

        stage_begin(&s, steps, &parts);
        pdr_response_free(go(&s, PDR_OK, &(pdr_run){.text = pdr_str_c("x")}));
        ASSERT_TEXT(cases[i].seen, pdr_buf_str(&s.model.seen));
        stage_end(&s);
    }
}

TEST(agent_loop, takes_an_object_of_options_and_nothing_else)
{
    static const char *const steps[] = {"say so", NULL};
    pdr_value *options = stage_json("[1]"), *own = stage_json("{\"a\":1}");
    const pdr_agent_parts parts = {.options = own};
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct stage s;

    stage_begin(&s, steps, &parts);
    const pdr_run run = {.text = pdr_str_c("x"), .options = options};
    ASSERT_RC(PDR_EINVALID, pdr_agent_run(&response, s.agent, &run, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_SIZE(0, s.model.asked);
    pdr_value_free(own);
    pdr_value_free(options);
    stage_end(&s);
}

/* A tool that waits until the run is over. */
static pdr_rc wait_for_the_end(pdr_value **out, const pdr_tool_call *call,
                               pdr_err *err, void *arg)
{
    (void)arg;
    *out = NULL;
    if (pdr_cancel_wait(call->cancel, 600000))
        return pdr_err_set(err, PDR_ECANCELLED, "run_cancelled", "over");
    return PDR_OK;
}

static void *cancel_it(void *arg)
{
    pdr_cancel_set(arg);
    return NULL;
}

TEST(agent_loop, ends_when_its_time_is_over)
{
    static const char *const steps[] = {"call wait", NULL};
    const pdr_tool tools[] = {{.name = "wait", .fn = wait_for_the_end}};
    const pdr_agent_parts parts = {.tools = tools, .tool_count = 1};

    for (int i = 0; i < 3; i++) {
        pdr_cancel *cancel = NULL;
        pdr_response *response = NULL;
        pdr_err err = PDR_ERR_INIT;
        pthread_t thread;
        struct stage s;

        ASSERT_RC(PDR_OK, pdr_cancel_new(&cancel, &err));
        stage_begin(&s, steps, &parts);
        /* Alone, beside a cancel that is not set, and beside one that is. */
        const pdr_run run = {.cancel = i > 0 ? cancel : NULL,
                             .timeout_ms = i < 2 ? 20 : 600000};
        if (i == 2)
            ASSERT_INT(0, pthread_create(&thread, NULL, cancel_it, cancel));
        ASSERT_RC(i < 2 ? PDR_ETIMEOUT : PDR_ECANCELLED,
                  pdr_agent_run(&response, s.agent, &run, &err));
        ASSERT_STR(i < 2 ? "run_timeout" : "run_cancelled", err.reason);
        if (i == 2)
            ASSERT_INT(0, pthread_join(thread, NULL));
        pdr_response_free(response);
        pdr_cancel_free(cancel);
        stage_end(&s);
    }
}

/* --- side by side --------------------------------------------------------- */

/* A tool that ends when as many are at work as there are calls. */
struct meeting {
    pthread_barrier_t all;
};

static pdr_rc meet(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                   void *arg)
{
    struct meeting *meeting = arg;

    (void)err;
    (void)pthread_barrier_wait(&meeting->all);
    *out = pdr_value_ref(call->arguments);
    return PDR_OK;
}

TEST(agent_loop, runs_calls_side_by_side_and_keeps_their_order)
{
    static const char *const steps[] = {
        "call meet {\"n\":1};meet {\"n\":2};meet {\"n\":3}", "say met", NULL};
    struct meeting meeting;
    const pdr_tool tools[] = {{.name = "meet", .fn = meet, .arg = &meeting}};
    const pdr_agent_parts parts = {
        .tools = tools, .tool_count = 1, .parallel_calls = 200};
    struct stage s;

    ASSERT_INT(0, pthread_barrier_init(&meeting.all, NULL, 3));
    stage_begin(&s, steps, &parts);
    pdr_response_free(go(&s, PDR_OK, &(pdr_run){.text = pdr_str_c("x")}));
    ASSERT_TEXT("user:x | assistant:call meet+call meet+call meet | tool:= "
                "{\"n\":1}+= {\"n\":2}+= {\"n\":3}",
                pdr_buf_str(&s.model.seen));
    ASSERT_INT(0, pthread_barrier_destroy(&meeting.all));
    stage_end(&s);
}

TEST(agent_loop, ends_with_the_first_call_that_ends_it)
{
    static const char *const steps[] = {
        "call look {\"cancel\":1};look {};look {};look {}", NULL};
    static const unsigned parallel[] = {0, 1, 2, 8};

    for (size_t i = 0; i < 4; i++) {
        const pdr_agent_parts parts = {.parallel_calls = parallel[i]};
        struct stage s;

        stage_begin(&s, steps, &parts);
        pdr_response_free(
            go(&s, PDR_ECANCELLED, &(pdr_run){.text = pdr_str_c("x")}));
        ASSERT(s.ran >= 1 && s.ran <= 4 && (i > 1 || s.ran == 1));
        ASSERT_SIZE(1, s.model.asked);
        stage_end(&s);
    }
}

/* --- answers that are values -----------------------------------------------
 */

TEST(agent_output, is_the_first_value_of_the_answer_and_fits_its_schema)
{
    static const char array[] = "{\"type\":\"array\"}";
    static const char object[] =
        "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{"
        "\"type\":\"integer\"}}}";
    static const struct {
        const char *schema, *say, *value; /* NULL: "bad_output" */
    } cases[] = {
        {array, "say {\"data\":[1,2]}", "[1,2]"},
        {array, "say [1,2]", "[1,2]"},
        {array, "say {\"data\":[1]} {\"data\":[2]}", "[1]"},
        {array, "say {\"data\":null}", NULL},
        {array, "say {\"other\":[1]}", NULL},
        {array, "say {}", NULL},
        {object, "say {\"a\":1}{\"a\":2}", "{\"a\":1}"},
        {object, "say {\"a\":1} and that is it", "{\"a\":1}"},
        {object, "say {\"a\":\"x\"}", NULL},
        {object, "say {\"data\":{\"a\":1}}", NULL},
        {object, "say null", NULL},
        {object, "say sorry", NULL},
        {object, "say ", NULL},
        {"{\"type\":\"string\"}", "say \"x\"", "\"x\""},
        {"true", "say {\"data\":7}", "7"},
    };

    COVERS("S-127");
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const steps[] = {cases[i / 2].say, NULL};
        pdr_value *schema = stage_json(cases[i / 2].schema);
        pdr_value *other = stage_json("{\"type\":\"number\"}");
        pdr_value *value = NULL, *expected = NULL;
        pdr_response *response = NULL;
        pdr_err err = PDR_ERR_INIT;
        struct stage s;

        /* That of the agent, or that of the run in its place. */
        const pdr_agent_parts parts = {.output_schema =
                                           i % 2 == 0 ? schema : other};
        stage_begin(&s, steps, &parts);
        response = go(&s, PDR_OK,
                      &(pdr_run){.output_schema = i % 2 == 0 ? NULL : schema});
        if (cases[i / 2].value == NULL) {
            ASSERT_RC(PDR_EMODEL, pdr_response_output(&value, response, &err));
            ASSERT_STR("bad_output", err.reason);
        } else {
            expected = stage_json(cases[i / 2].value);
            ASSERT_RC(PDR_OK, pdr_response_output(&value, response, &err));
            ASSERT(pdr_value_equal(expected, value));
        }
        pdr_value_free(expected);
        pdr_value_free(value);
        pdr_response_free(response);
        pdr_value_free(other);
        pdr_value_free(schema);
        stage_end(&s);
    }
}

TEST(agent_output, is_asked_for_with_a_schema_of_an_object)
{
    static const char *const steps[] = {"say {\"data\":[]}", NULL};
    /* What it refers to has to be where it looks for it. */
    static const char *const schemas[] = {
        "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/a\"},\"$defs\":{"
        "\"a\":{\"type\":\"object\"}}}",
        "{\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/a\"},"
        "\"definitions\":{\"a\":{\"type\":\"object\"}}}",
        "{\"type\":\"array\"}",
        "true",
    };
    static const char *const names[] = {"$defs", "definitions"};

    for (size_t i = 0; i < 4; i++) {
        pdr_value *schema = stage_json(schemas[i]);
        const pdr_agent_parts parts = {.output_schema = schema};
        struct stage s;

        stage_begin(&s, steps, &parts);
        pdr_response_free(go(&s, PDR_OK, &(pdr_run){.text = pdr_str_c("x")}));
        ASSERT(pdr_value_text_is(pdr_value_get_c(s.model.schema, "type"),
                                 pdr_str_c("object")));
        ASSERT_SIZE(i < 2 ? 6 : 5, pdr_value_count(s.model.schema));
        if (i < 2)
            ASSERT(pdr_value_equal(pdr_value_get_c(schema, names[i]),
                                   pdr_value_get_c(s.model.schema, names[i])));
        pdr_value_free(schema);
        stage_end(&s);
    }
}

TEST(agent_output, is_in_the_last_message_that_says_something)
{
    static const char *const steps[] = {"call look {}", "say {\"a\":1}", NULL};
    pdr_value *schema = stage_json("{\"type\":\"object\"}"), *value = NULL;
    pdr_value *said = stage_json("{\"a\":1}");
    const pdr_agent_parts parts = {.output_schema = schema};
    pdr_response *response = NULL;
    struct stage s;

    stage_begin(&s, steps, &parts);
    response = go(&s, PDR_OK, &(pdr_run){.text = pdr_str_c("{\"a\":0}")});
    ASSERT_RC(PDR_OK, pdr_response_output(&value, response, NULL));
    ASSERT(pdr_value_equal(said, value));
    pdr_value_free(said);
    pdr_value_free(value);
    pdr_response_free(response);
    pdr_value_free(schema);
    stage_end(&s);
}

TEST(agent_output, has_a_schema_that_is_checked_when_the_agent_is_built)
{
    static const char *const steps[] = {"say x", NULL};
    pdr_value *schema = stage_json("{\"type\":\"any\"}");
    struct stage_model model;
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;

    stage_model_init(&model, steps);
    const pdr_agent_parts parts = {.client = &model.base,
                                   .output_schema = schema};
    ASSERT_RC(PDR_EINVALID, pdr_agent_new(&agent, &parts, &err));
    ASSERT_STR("bad_schema", err.reason);
    stage_model_free(&model);
    pdr_value_free(schema);
}

TEST_OOM(agent_output, cleans_up_after_any_failed_allocation)
{
    static const char *const steps[] = {"say {\"data\":[1]}", NULL};
    pdr_value *schema = NULL, *value = NULL;
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct stage s;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    schema = stage_json("{\"type\":\"array\"}");
    stage_begin(&s, steps, NULL);
    s.model.is_deaf = true;
    test_pause_failures(false);
    const pdr_run run = {.output_schema = schema};
    rc = pdr_agent_run(&response, s.agent, &run, &err);
    if (rc == PDR_OK)
        rc = pdr_response_output(&value, response, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(value);
    pdr_response_free(response);
    test_pause_failures(true);
    pdr_value_free(schema);
    stage_end(&s);
    test_pause_failures(false);
}

/* --- sessions in a bad state -----------------------------------------------
 */

#define DOTNET(slot)   "{\"stateBag\":{\"InMemoryChatHistoryProvider\":" slot "}}"
#define SAID(contents) "{\"role\":\"user\",\"contents\":[" contents "]}"

/* Levels of arrays around a number. */
#define DEEP_8(x)   "[[[[[[[[" x "]]]]]]]]"
#define DEEP_32(x)  DEEP_8(DEEP_8(DEEP_8(DEEP_8(x))))
#define DEEP_56(x)  DEEP_32(DEEP_8(DEEP_8(DEEP_8(x))))
#define DEEP_112(x) DEEP_56(DEEP_56(x))
#define DEEP_CALL(x)                                                     \
    "{\"role\":\"assistant\",\"contents\":[{\"$type\":\"functionCall\"," \
    "\"callId\":\"1\",\"name\":\"look\",\"arguments\":{\"a\":" x "}}]}"

/* A session that runs, is stored, and still has every byte that it had: `rest`
 * is what follows the messages that came. */
TEST(agent_loop, runs_on_whatever_a_session_holds)
{
    static const char *const steps[] = {"say fine", NULL};
    static const struct {
        const char *session, *kept;
    } cases[] = {
        {DOTNET("null"), ""},
        {DOTNET("{\"messages\":null}"), ""},
        {DOTNET("{\"messages\":null,\"more\":1}"), "\"more\":1"},
        {DOTNET("{\"messages\":[]}"), ""},
        {DOTNET("{\"messages\":[null,null]}"), "[null,null,"},
        {DOTNET("{\"messages\":[{\"role\":\"user\"}]}"),
         "[{\"role\":\"user\"},"},
        {DOTNET("{\"messages\":[{}]}"), "[{},"},
        {DOTNET("{\"messages\":[{\"role\":null,\"contents\":null}]}"),
         "[{\"role\":null,\"contents\":null},"},
        {DOTNET("{\"messages\":[" SAID("null,7,\"x\"") "]}"), "[null,7,\"x\"]"},
        {DOTNET("{\"messages\":[" SAID(
             "{\"$type\":\"fromTheFuture\",\"x\":[1]}") "]}"),
         "{\"$type\":\"fromTheFuture\",\"x\":[1]}"},
        {DOTNET("{\"messages\":[" SAID(
             "{\"$type\":\"text\",\"text\":\"a\\ud800b\"}") "]}"),
         "a\\ud800b"},
        {DOTNET("{\"messages\":[{\"role\":\"assistant\",\"contents\":[{"
                "\"$type\":\"functionCall\",\"callId\":\"c\",\"name\":\"look\","
                "\"arguments\":{}}]}]}"),
         "\"callId\":\"c\""},
        {DOTNET("{\"messages\":[{\"role\":\"tool\",\"contents\":[{\"$type\":"
                "\"functionResult\",\"callId\":\"c\",\"result\":1}]}]}"),
         "\"callId\":\"c\""},
        {DOTNET("{\"messages\":[" DEEP_CALL(DEEP_56("1")) "]}"), DEEP_56("1")},
        {DOTNET("{\"messages\":[" DEEP_CALL(DEEP_112("1")) "]}"),
         DEEP_112("1")},
        {"{\"type\":\"session\",\"session_id\":\"p\",\"service_session_id\":"
         "null,\"state\":{\"in_memory\":null}}",
         ""},
        {"{\"type\":\"session\",\"session_id\":\"p\",\"service_session_id\":"
         "null,\"state\":{\"in_memory\":{}}}",
         ""},
        {"{\"type\":\"session\",\"session_id\":\"p\",\"service_session_id\":"
         "null,\"state\":{\"in_memory\":{\"messages\":[{\"role\":\"user\","
         "\"contents\":\"one text\"}]}}}",
         "\"contents\":\"one text\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *value = stage_json(cases[i].session), *after = NULL;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_session *session = NULL;
        struct stage s;

        ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
        stage_begin(&s, steps, NULL);
        s.model.is_deaf = true;
        const pdr_run run = {.session = session, .text = pdr_str_c("go")};
        pdr_response_free(go(&s, PDR_OK, &run));
        ASSERT_RC(PDR_OK, pdr_session_to_value(&after, session, NULL));
        ASSERT_RC(PDR_OK, pdr_json_write(&text, after, NULL, NULL));
        if (memmem(text.ptr, text.len, cases[i].kept, strlen(cases[i].kept)) ==
                NULL ||
            memmem(text.ptr, text.len, "\"fine\"", 6) == NULL)
            fail_msg("case %zu: %.*s", i, (int)text.len, text.ptr);
        pdr_value_free(after);
        pdr_value_free(value);
        pdr_buf_dispose(&text);
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(agent_loop, counts_the_bytes_of_a_message_that_no_json_has)
{
    static const char *const steps[] = {"say fine", NULL};
    static const char text[] = DOTNET("{\"messages\":[" DEEP_CALL("NaN") "]}");
    const pdr_read_opts bare = {.flags = PDR_BARE_TOKENS};
    const pdr_agent_parts parts = {.window_bytes = 10000};
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    struct stage s;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(text), &bare, NULL));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    stage_begin(&s, steps, &parts);
    const pdr_run run = {.session = session, .text = pdr_str_c("go")};
    pdr_response_free(go(&s, PDR_OK, &run));
    ASSERT_TEXT("assistant:call look | user:go", pdr_buf_str(&s.model.seen));
    pdr_session_free(session);
    pdr_value_free(value);
    stage_end(&s);
}

/* --- every recorded session ------------------------------------------------
 */

/* The history of a document; NULL if it has none. */
static pdr_value *history_of(pdr_str document)
{
    pdr_value *value = NULL, *list = NULL;
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, document, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    ASSERT_RC(PDR_OK, pdr_session_history(&list, session, NULL));
    pdr_session_free(session);
    pdr_value_free(value);
    return list;
}

/* Import it, run twice, export it: what it had is there, byte by byte, and then
 * the two turns. */
static void run_on_recording(const char *path)
{
    static const char *const steps[] = {"call look {}", "say fine", NULL};
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_import_opts in = {.ref = ref, .now_ms = STAGE_NOW};
    const pdr_export_opts out = {.ref = ref};
    size_t len = 0;
    char *text = test_read_data(path, &len);
    pdr_str rest = pdr_str_n(text, len);
    pdr_value *before = history_of(rest), *after = NULL;
    pdr_buf exported = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf was = PDR_BUF_INIT(SIZE_MAX), is = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = NULL;
    pdr_stored *stored = NULL;
    struct stage s;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_import(NULL, store, &in, NULL, pdr_read_str, &rest));
    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, NULL, NULL));
    stage_begin(&s, steps, NULL);
    s.model.is_deaf = true;
    for (int i = 0; i < 2; i++)
        pdr_response_free(go(&s, PDR_OK,
                             &(pdr_run){.stored = stored,
                                        .text = pdr_str_c("go"),
                                        .now_ms = STAGE_NOW}));
    ASSERT_RC(PDR_OK,
              pdr_export(NULL, store, &out, NULL, pdr_write_buf, &exported));
    after = history_of(pdr_buf_str(&exported));
    for (size_t i = 0; before != NULL && i < pdr_value_count(before); i++) {
        pdr_buf_clear(&was);
        pdr_buf_clear(&is);
        ASSERT_RC(PDR_OK,
                  pdr_json_write(&was, pdr_value_at(before, i), NULL, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_json_write(&is, pdr_value_at(after, i), NULL, NULL));
        if (!pdr_str_equal(pdr_buf_str(&was), pdr_buf_str(&is)))
            fail_msg("%s: message %zu has changed", path, i);
    }
    if (pdr_value_count(after) < 8)
        fail_msg("%s: %zu messages", path, pdr_value_count(after));
    pdr_value_free(after);
    pdr_value_free(before);
    pdr_buf_dispose(&is);
    pdr_buf_dispose(&was);
    pdr_buf_dispose(&exported);
    pdr_stored_close(stored);
    pdr_store_close(store);
    stage_end(&s);
    free(text);
}

TEST(agent_loop, goes_on_with_every_recorded_session)
{
    static const char *const folders[] = {"dotnet/sessions", "python/sessions"};
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        char path[300];
        DIR *dir = NULL;
        struct dirent *entry = NULL;

        snprintf(path, sizeof(path), "%s/%s", test_data_folder(), folders[i]);
        dir = opendir(path);
        ASSERT(dir != NULL);
        while ((entry = readdir(dir)) != NULL) {
            const char *name = entry->d_name;

            /* Those of a service have their history there, and a file in a
             * store of the Python package is an envelope. */
            if (strncmp(name, "session-", 8) != 0 ||
                strstr(name, ".json") == NULL ||
                strstr(name, "service-") != NULL ||
                strstr(name, "conversation-id") != NULL ||
                strstr(name, "-store.json") != NULL)
                continue;
            snprintf(path, sizeof(path), "%s/%s", folders[i], name);
            run_on_recording(path);
            count++;
        }
        (void)closedir(dir);
    }
    ASSERT(count >= 30);
}

/* --- tools that are the caller's -------------------------------------------
 */

TEST(agent_loop, hands_the_call_of_a_declared_tool_to_the_caller)
{
    static const char *const steps[] = {"call theirs {\"n\":1};look {}",
                                        "say so it is", NULL};
    struct stage s;
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_value *result = stage_json(
        "{\"role\":\"tool\",\"contents\":[{\"$type\":\"functionResult\","
        "\"callId\":\"c1\",\"result\":\"done by hand\"}]}");
    const pdr_tool tools[] = {
        {.name = "theirs", .needs_approval = true},
        {.name = "look", .fn = stage_tool, .arg = &s.ran}};
    const pdr_agent_parts parts = {.tools = tools, .tool_count = 2};

    COVERS("P-71");
    stage_begin(&s, steps, &parts);
    pdr_response_free(
        go(&s, PDR_OK, &(pdr_run){.session = session, .text = pdr_str_c("x")}));
    ASSERT_SIZE(1, s.model.asked);
    stage_history("user:x | assistant:call theirs+call look | "
                  "tool:= look did {}",
                  session);
    pdr_response_free(
        go(&s, PDR_OK,
           &(pdr_run){.session = session,
                      .messages = (const pdr_value *const *)&result,
                      .count = 1,
                      .shape = PDR_SHAPE_DOTNET}));
    stage_history("user:x | assistant:call theirs+call look | "
                  "tool:= look did {} | tool:= done by hand | "
                  "assistant:so it is",
                  session);
    pdr_value_free(result);
    pdr_session_free(session);
    stage_end(&s);
}
