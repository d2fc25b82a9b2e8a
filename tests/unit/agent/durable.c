/*
 * Durable agents: what is asked, stored and answered, and how a run goes on in
 * another process.
 */
#include "durable_stage.h"
#include "fault_store.h"
#include "room.h"

/* --- turns ----------------------------------------------------------------
 */

TEST(run, is_a_request_and_a_response)
{
    COVERS("D-46");
    COVERS("D-47");
    const char *const steps[] = {"say Hello", "say Again", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Hello", &p, "{\"message\":\"Hi\",\"correlationId\":\"c1\"}");
    durable_says("Again", &p, "{\"message\":\"Ho\",\"correlationId\":\"c2\"}");
    durable_history("user:Hi | assistant:Hello | user:Ho | assistant:Again",
                    store);
    ASSERT_TEXT("user:Hi | assistant:Hello | user:Ho",
                pdr_buf_str(&p.model.seen));
    const char *const rows[][2] = {
        {"/data/conversationHistory/0/$type", "\"request\""},
        {"/data/conversationHistory/0/correlationId", "\"c1\""},
        {"/data/conversationHistory/1/$type", "\"response\""},
        {"/data/conversationHistory/1/correlationId", "\"c1\""},
        {"/data/conversationHistory/2/correlationId", "\"c2\""},
        {"/data/conversationHistory/3/correlationId", "\"c2\""},
        {"/data/conversationHistory/4", ""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        durable_document_has(rows[i][1], &p, rows[i][0]);
    ASSERT_INT(PDR_SESSION_IDLE, durable_state(store));
    durable_end(&p);
    pdr_store_close(store);
}

TEST(run, calls_tools_with_a_token)
{
    const char *const steps[] = {"call look {};book {\"n\":2}",
                                 "call book {\"n\":3}", "say Done", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Done", &p, "{\"message\":\"Hi\",\"correlationId\":\"c\"}");
    durable_history(
        "user:Hi | assistant:call look+call book | tool:= look did "
        "{}+= book did {\"n\":2} | assistant:call book | tool:= book "
        "did {\"n\":3} | assistant:Done",
        store);
    ASSERT_INT(1, p.looked);
    ASSERT_INT(2, p.booked);
    ASSERT_STR(ID "/c/c3", p.token);
    durable_end(&p);
    pdr_store_close(store);
}

/* Names of operations, and what becomes of them. */
TEST(operation, is_known_by_any_of_its_names)
{
    COVERS("D-42");
    COVERS("D-111");
    static const char *const good[] = {"run", "Run", "RunAgentAsync",
                                       "run_agent"};
    static const char *const bad[] = {"ToString",  "persist_state",
                                      "set_state", "get_state",
                                      "__dir__",   "schedule_new_orchestration",
                                      "ru",        "runn"};
    const char *const steps[] = {"say Yes", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    durable_begin(&p, store, steps);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, durable_call(&ending, NULL, &p, bad[i],
                                             "{\"message\":\"x\"}", &err));
        ASSERT_STR("bad_operation", err.reason);
        ASSERT(!durable_is_there(store));
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, good[i],
                                       "{\"message\":\"x\"}", NULL));
        pdr_ending_free(ending);
        ASSERT_SIZE(i + 1, p.model.asked);
    }
    durable_end(&p);
    pdr_store_close(store);
}

TEST(run, gives_back_the_id_that_it_made)
{
    COVERS("D-44");
    const char *const steps[] = {"say Yes", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    pdr_sent sent;

    durable_begin(&p, store, steps);
    ASSERT_RC(PDR_OK,
              durable_call(&ending, &sent, &p, "run",
                           "{\"message\":\"x\",\"role\":\"user\"}", NULL));
    pdr_ending_free(ending);
    ASSERT_SIZE(32, strspn(sent.correlation_id, "0123456789abcdef"));
    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, p.engine, &durable_session,
                                      S(sent.correlation_id), 0, NULL));
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    pdr_ending_free(ending);
    durable_end(&p);
    pdr_store_close(store);
}

/* --- the same request again -----------------------------------------------
 */

struct caller {
    struct durable_process *process;
    pdr_ending *ending;
    pdr_rc rc;
};

static void *caller_run(void *arg)
{
    struct caller *c = arg;

    c->rc = durable_call(&c->ending, NULL, c->process, "run",
                         "{\"message\":\"Hi\",\"correlationId\":\"c\"}", NULL);
    return NULL;
}

TEST(repeat, finds_the_recorded_answer)
{
    COVERS("D-50");
    const char *const steps[] = {"say One", "say Two", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    struct caller callers[4];
    pthread_t threads[4];

    durable_begin(&p, store, steps);
    for (size_t i = 0; i < 4; i++) {
        callers[i] = (struct caller){.process = &p};
        pthread_create(&threads[i], NULL, caller_run, &callers[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ASSERT_RC(PDR_OK, callers[i].rc);
        ASSERT_BYTES(callers[0].ending->answer, callers[i].ending->answer);
    }
    for (size_t i = 0; i < 4; i++)
        pdr_ending_free(callers[i].ending);
    durable_says("One", &p,
                 "{ \"correlationId\":\"c\", \"messages\":[{\"contents\""
                 ":[{\"$type\":\"text\",\"text\":\"Hi\"}]}]}");
    ASSERT_SIZE(1, p.model.asked);
    durable_history("user:Hi | assistant:One", store);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(repeat, of_another_request_is_refused)
{
    static const char *const others[] = {
        "{\"message\":\"Ho\",\"correlationId\":\"c\"}",
        "{\"message\":\"Hi\",\"correlationId\":\"c\",\"role\":\"system\"}",
        "{\"message\":\"Hi\",\"correlationId\":\"c\",\"enableToolCalls\":false}"};
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    durable_begin(&p, store, steps);
    durable_says("One", &p, "{\"message\":\"Hi\",\"correlationId\":\"c\"}");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_ECONFLICT,
                  durable_call(&ending, NULL, &p, "run", others[i], &err));
        ASSERT_STR("correlation_reused", err.reason);
    }
    durable_history("user:Hi | assistant:One", store);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(repeat, after_a_reset_is_told_that_the_answer_is_gone)
{
    COVERS("D-60");
    const char *const steps[] = {"say One", "say Two", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    durable_begin(&p, store, steps);
    durable_says("One", &p, "{\"message\":\"Hi\",\"correlationId\":\"c\"}");
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "reset", NULL, NULL));
    pdr_ending_free(ending);
    durable_history("", store);
    ASSERT_RC(PDR_OK,
              durable_call(&ending, NULL, &p, "run",
                           "{\"message\":\"Hi\",\"correlationId\":\"c\"}",
                           NULL));
    ASSERT(ending->is_gone && ending->answer.ptr == NULL);
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    pdr_ending_free(ending);
    ASSERT_SIZE(1, p.model.asked);
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "Delete", NULL, NULL));
    pdr_ending_free(ending);
    ASSERT(!durable_is_there(store));
    durable_says("Two", &p, "{\"message\":\"Hi\",\"correlationId\":\"c\"}");
    durable_history("user:Hi | assistant:Two", store);
    durable_end(&p);
    pdr_store_close(store);
}

/* --- what a request says --------------------------------------------------
 */

TEST(request, without_messages_ends_at_once)
{
    COVERS("D-53");
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("\"messages\":[]", &p,
                 "{\"messages\":[],\"correlationId\":\"c\"}");
    ASSERT_SIZE(0, p.model.asked);
    durable_document_has("\"response\"", &p,
                         "/data/conversationHistory/1/$type");
    durable_says("\"messages\":[]", &p,
                 "{\"message\":\"\",\"correlationId\":\"d\"}");
    ASSERT_SIZE(0, p.model.asked);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(request, may_leave_nothing_if_it_is_empty)
{
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    durable_begin(&p, store, steps);
    ASSERT_RC(PDR_OK,
              durable_call(&ending, NULL, &p, "run",
                           "{\"messages\":[],\"skipEmpty\":true}", NULL));
    ASSERT(ending->answer.ptr == NULL && !ending->is_gone);
    pdr_ending_free(ending);
    durable_history("", store);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(request, chooses_the_tools)
{
    COVERS("D-55");
    static const struct {
        const char *member;
        size_t tools;
    } rows[] = {{"", 2},
                {",\"enableToolCalls\":true", 2},
                {",\"enableToolCalls\":false", 0},
                {",\"enable_tool_calls\":false", 0},
                {",\"enableToolNames\":[]", 2},
                {",\"enableToolNames\":[\"look\"]", 1},
                {",\"enableToolNames\":[\"look\",\"nobody\"]", 1},
                {",\"enableToolNames\":[\"Look\"]", 0}};
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    char input[256];

    durable_begin(&p, store, steps);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(input, sizeof(input), "{\"message\":\"%zu\"%s}", i,
                 rows[i].member);
        durable_says("One", &p, input);
        ASSERT_SIZE(rows[i].tools, p.model.tools);
    }
    durable_end(&p);
    pdr_store_close(store);
}

TEST(request, keeps_out_a_tool_that_the_model_calls_all_the_same)
{
    const char *const steps[] = {"call book {}", "say Done", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Done", &p,
                 "{\"message\":\"Hi\",\"enableToolNames\":[\"look\"]}");
    ASSERT_INT(0, p.booked);
    durable_history("user:Hi | assistant:call book | tool:= Error: Requested "
                    "function \"book\" not found. | assistant:Done",
                    store);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(request, is_stored_with_all_that_it_says)
{
    COVERS("D-56");
    COVERS("D-57");
    COVERS("D-58");
    static const struct {
        const char *input, *pointer, *expected;
    } rows[] = {
        {"{\"message\":\"a\",\"orchestrationId\":\"o-1\"}", "/orchestrationId",
         "\"o-1\""},
        {"{\"message\":\"a\"}", "/orchestrationId", ""},
        {"{\"message\":\"a\"}", "/responseType", "\"text\""},
        {"{\"message\":\"a\"}", "/responseSchema", ""},
        {"{\"message\":\"a\",\"request_response_format\":\"json\"}",
         "/responseType", "\"json\""},
        {"{\"message\":\"a\",\"request_response_format\":\"json\"}",
         "/responseSchema", ""},
        {"{\"message\":\"a\",\"responseFormat\":{\"$type\":\"json\",\"schema\":"
         "{\"type\":\"object\"}}}",
         "/responseSchema", "{\"type\":\"object\"}"},
        {"{\"message\":\"a\",\"responseFormat\":{\"$type\":\"json\",\"schema\":"
         "{\"type\":\"object\"}}}",
         "/responseType", "\"json\""},
        {"{\"messages\":[{\"role\":\"user\",\"createdAt\":\"2026-02-03T10:00:"
         "00Z\",\"contents\":[{\"$type\":\"text\",\"text\":\"a\"}]},{\"role\":"
         "\"user\",\"createdAt\":\"2026-02-03T09:59:00Z\",\"contents\":[{\"$"
         "type\":\"text\",\"text\":\"b\"}]}]}",
         "/createdAt", "\"2026-02-03T09:59:00+00:00\""}};
    const char *const steps[] = {"say {}", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    char pointer[80];

    durable_begin(&p, store, steps);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        durable_says("", &p, rows[i].input);
        snprintf(pointer, sizeof(pointer), "/data/conversationHistory/%zu%s",
                 2 * i, rows[i].pointer);
        durable_document_has(rows[i].expected, &p, pointer);
    }
    durable_end(&p);
    pdr_store_close(store);
}

TEST(request, that_is_bad_leaves_nothing)
{
    static const struct {
        const char *input, *reason;
    } rows[] = {
        {NULL, "invalid_request"},
        {"", "invalid_request"},
        {"null", "invalid_request"},
        {"5", "invalid_request"},
        {"[]", "invalid_request"},
        {"{}", "invalid_request"},
        {"{\"message\":5}", "invalid_request"},
        {"{\"messages\":5}", "invalid_request"},
        {"{\"messages\":[5]}", "invalid_request"},
        {"{\"message\":\"a\",\"correlationId\":7}", "invalid_request"},
        {"{\"message\":\"a\",\"enableToolCalls\":\"no\"}", "invalid_request"},
        {"{\"message\":\"a\",\"enableToolNames\":\"look\"}", "invalid_request"},
        {"{\"message\":\"a\",\"responseFormat\":{\"$type\":\"json\",\"schema\":"
         "{\"type\":7}}}",
         "bad_schema"},
        {"{\"message\":\"a", "invalid_request"}};
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_ending *ending = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  durable_call(&ending, NULL, &p, "run", rows[i].input, &err));
        ASSERT_STR(rows[i].reason, err.reason);
        ASSERT(!durable_is_there(store));
    }
    ASSERT_SIZE(0, p.model.asked);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(request, for_another_agent_is_refused)
{
    COVERS("D-39");
    COVERS("D-59");
    static const struct {
        const char *id;
        pdr_rc rc;
        const char *reason;
    } rows[] = {{"@dafx-poet@k", PDR_ENOTFOUND, "no_agent"},
                {"@clerk@k", PDR_EINVALID, "bad_id"},
                {"@dafx-CLERK@k", PDR_EINVALID, "bad_id"},
                {"@dafx-clerk@", PDR_EINVALID, "bad_id"},
                {"clerk", PDR_EINVALID, "no_entity"}};
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps); /* the agent is called "Clerk" */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const pdr_operation operation = {.session = {.id = S(rows[i].id)},
                                         .name = S("run"),
                                         .input = S("{\"message\":\"a\"}")};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].rc,
                  pdr_engine_send(NULL, p.engine, &operation, &err));
        ASSERT_STR(rows[i].reason, err.reason);
        if (i == 0)
            ASSERT(strstr(err.message, "'poet'") != NULL);
    }
    durable_says("One", &p, "{\"message\":\"a\"}");
    durable_end(&p);
    pdr_store_close(store);
}

TEST(session, of_another_kind_is_left_as_it_is)
{
    const char *const steps[] = {"say One", NULL};
    const pdr_edit edit = {
        .ref = durable_session, .kind = S("client"), .agent = S("clerk")};
    const pdr_commit_options now = {.now_ms = 1};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
    durable_begin(&p, store, steps);
    if (durable_call(&ending, NULL, &p, "run", "{\"message\":\"a\"}", &err) !=
        PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
    ASSERT_TEXT("{\"state\":\"failed\",\"code\":\"session_kind\",\"message\":"
                "\"the session is of kind 'client', not a durable one\"}",
                ending->outcome);
    ASSERT(ending->answer.ptr == NULL);
    ASSERT_SIZE(0, p.model.asked);
    pdr_ending_free(ending);
    durable_end(&p);
    pdr_store_close(store);
}

/* A process may be for one session, or for the sessions of one tenant. */
TEST(process, leaves_sessions_alone_that_it_is_not_for)
{
    const struct {
        pdr_ref only;
        bool runs;
    } rows[] = {
        {{.id = {NULL, 0}}, true},        {{.id = S(ID)}, true},
        {{.tenant = S("default")}, true}, {{S("default"), S(ID)}, true},
        {{.id = S(ID "2")}, false},       {{.tenant = S("other")}, false},
        {{S("other"), S(ID)}, false}};
    const char *const steps[] = {"say One", NULL};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct durable_process p = {.only = rows[i].only};
        pdr_store *store = durable_store();
        const pdr_operation operation = {.session = durable_session,
                                         .name = S("run"),
                                         .correlation_id = S("c"),
                                         .input = S("{\"message\":\"a\"}")};
        pdr_ending *ending = NULL;

        durable_begin(&p, store, steps);
        ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p.engine, &operation, NULL));
        ASSERT_RC(rows[i].runs ? PDR_OK : PDR_ETIMEOUT,
                  pdr_engine_wait(&ending, p.engine, &durable_session, S("c"),
                                  rows[i].runs ? 60000 : 300, NULL));
        pdr_ending_free(ending);
        durable_end(&p);
        pdr_store_close(store);
    }
}

/* --- what goes wrong ------------------------------------------------------
 */

TEST(failure, is_recorded_and_not_sent_to_a_model)
{
    COVERS("D-48");
    const char *const steps[] = {"fail", "say Fine", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    durable_begin(&p, store, steps);
    for (int i = 0; i < 2; i++) { /* the second time it is only found */
        ASSERT_RC(PDR_OK,
                  durable_call(&ending, NULL, &p, "run",
                               "{\"message\":\"Hi\",\"correlationId\":\"c\"}",
                               NULL));
        ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
        ASSERT_TEXT("{\"state\":\"failed\",\"code\":\"model_failed\","
                    "\"message\":\"as planned\"}",
                    ending->outcome);
        pdr_ending_free(ending);
    }
    durable_document_has("true", &p, "/data/conversationHistory/1/isError");
    durable_document_has("[{\"$type\":\"error\",\"message\":\"as planned\","
                         "\"errorCode\":\"model_failed\"}]",
                         &p, "/data/conversationHistory/1/messages/0/contents");
    durable_says("Fine", &p, "{\"message\":\"Ho\"}");
    ASSERT_TEXT("user:Hi | user:Ho", pdr_buf_str(&p.model.seen));
    durable_end(&p);
    pdr_store_close(store);
}

TEST(waiting, ends_with_the_callers_patience_and_the_run_goes_on)
{
    COVERS("D-61");
    const char *const steps[] = {"say Late", NULL};
    const pdr_operation operation = {
        .session = durable_session,
        .name = S("run"),
        .input = S("{\"message\":\"Hi\",\"correlationId\":\"c\"}")};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct gate gate;

    gate_init(&gate);
    durable_begin(&p, store, steps);
    p.model.hook = gate_pass;
    p.model.hook_arg = &gate;
    ASSERT_RC(PDR_ETIMEOUT,
              pdr_engine_call(&ending, NULL, p.engine, &operation, 1, &err));
    ASSERT_STR("response_timeout", err.reason);
    gate_open(&gate);
    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, p.engine, &durable_session,
                                      S("c"), 60000, NULL));
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    pdr_ending_free(ending);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(cancel, is_recorded_as_an_error)
{
    const char *const steps[] = {"call look {}", "say Done", NULL};
    const pdr_operation operation = {
        .session = durable_session,
        .name = S("run"),
        .input = S("{\"message\":\"Hi\",\"correlationId\":\"c\"}")};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    struct gate gate;

    gate_init(&gate);
    durable_begin(&p, store, steps);
    p.model.hook = gate_pass;
    p.model.hook_arg = &gate;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p.engine, &operation, NULL));
    gate_await(&gate, 1);
    ASSERT_RC(PDR_OK,
              pdr_engine_cancel(p.engine, &durable_session, S("c"), NULL));
    gate_open(&gate);
    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, p.engine, &durable_session,
                                      S("c"), 60000, NULL));
    ASSERT_INT(PDR_OPERATION_CANCELLED, ending->state);
    pdr_ending_free(ending);
    ASSERT_INT(0, p.looked);
    durable_document_has(
        "\"run_cancelled\"", &p,
        "/data/conversationHistory/1/messages/0/contents/0/errorCode");
    durable_end(&p);
    pdr_store_close(store);
}

/* --- going on elsewhere ---------------------------------------------------
 */

/* A run whose process ends with its `nth` commit, which the store has or has
 * not; another process goes on with it. */
struct broken_run {
    const char *const *steps, *const *more; /* of the first and the second */
    size_t nth;
    enum fault_way way;
    const char *history; /* afterwards */
    int looked, booked;  /* by both */
    size_t asked, tools; /* by the second */
};

static void broken_run(const struct broken_run *row, bool lacks_book)
{
    const struct fault_plan plan = {.call = FAULT_COMMIT,
                                    .nth = row->nth,
                                    .for_ever = true,
                                    .way = row->way};
    const struct fault_plan none = {.nth = 0};
    const pdr_operation operation = {
        .session = durable_session,
        .name = S("run"),
        .input = S("{\"message\":\"Hi\",\"correlationId\":\"c\"}")};
    struct durable_process first = {.lease_ms = 200};
    struct durable_process second = {.lease_ms = 200,
                                     .instructions = "Be verbose.",
                                     .lacks_book = lacks_book};
    struct room room;
    char uri[700];
    pdr_store *store = NULL;
    pdr_ending *ending = NULL;

    room_enter(&room);
    snprintf(uri, sizeof(uri), "fault:sqlite:%s", room_path(&room, "s.db"));
    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    durable_begin(&first, store, row->steps);
    fault_store_set(&plan);
    ASSERT_RC(PDR_EUNKNOWN, pdr_engine_call(&ending, NULL, first.engine,
                                            &operation, 60000, NULL));
    durable_end(&first);
    fault_store_set(&none);
    pdr_store_close(store);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, room_path(&room, "s.db"), NULL));
    durable_begin(&second, store, row->more);
    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, second.engine, &durable_session,
                                      S("c"), 60000, NULL));
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    pdr_ending_free(ending);
    durable_history(row->history, store);
    ASSERT_INT(row->looked, first.looked + second.looked);
    ASSERT_INT(row->booked, first.booked + second.booked);
    ASSERT_SIZE(row->asked, second.model.asked);
    ASSERT_SIZE(row->tools, second.model.tools);
    durable_end(&second);
    pdr_store_close(store);
    room_leave(&room);
}

#define BEGINS "user:Hi | assistant:call look+call book | tool:= look did {}+= "

TEST(broken_run, goes_on_after_the_last_step)
{
    const char *const both[] = {"call look {};book {\"n\":1}", "say Done",
                                NULL};
    const char *const rest[] = {"say Done", NULL};
    const struct broken_run rows[] = {
        /* 1: the claim. Nothing but the request is there. */
        {both, both, 1, FAULT_UNKNOWN_DONE,
         BEGINS "book did {\"n\":1} | assistant:Done", 1, 1, 2, 2},
        /* 2: the answer of the model, and that "look" starts. */
        {both, both, 2, FAULT_UNKNOWN_LOST,
         BEGINS "book did {\"n\":1} | assistant:Done", 1, 1, 2, 2},
        {both, rest, 2, FAULT_UNKNOWN_DONE,
         BEGINS "book did {\"n\":1} | assistant:Done", 1, 1, 1, 2},
        /* 3: the result of "look", and that "book" starts. */
        {both, rest, 3, FAULT_UNKNOWN_LOST,
         BEGINS "book did {\"n\":1} | assistant:Done", 2, 1, 1, 2},
        {both, rest, 3, FAULT_UNKNOWN_DONE,
         BEGINS "Error: The outcome of this call is unknown: the process that "
                "made it ended before the tool did. Find out what happened "
                "before you call it again. | assistant:Done",
         1, 0, 1, 2},
        /* 4: the result of "book", which may not be called twice. */
        {both, rest, 4, FAULT_UNKNOWN_LOST,
         BEGINS "Error: The outcome of this call is unknown: the process that "
                "made it ended before the tool did. Find out what happened "
                "before you call it again. | assistant:Done",
         1, 1, 1, 2},
        {both, rest, 4, FAULT_UNKNOWN_DONE,
         BEGINS "book did {\"n\":1} | assistant:Done", 1, 1, 1, 2},
        /* 5: the end. */
        {both, rest, 5, FAULT_UNKNOWN_LOST,
         BEGINS "book did {\"n\":1} | assistant:Done", 1, 1, 1, 2},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        broken_run(&rows[i], false);
}

/* The agent of the second process has one tool less: the model hears of both,
 * as before, and the one that is gone fails. */
TEST(broken_run, goes_on_as_it_was_begun)
{
    const char *const both[] = {"call look {};book {\"n\":1}", "say Done",
                                NULL};
    const char *const rest[] = {"say Done", NULL};
    const struct broken_run row = {
        both,
        rest,
        2,
        FAULT_UNKNOWN_DONE,
        BEGINS "Error: Requested function \"book\" not found. | assistant:Done",
        1,
        0,
        1,
        2};

    broken_run(&row, true);
}

/* --- approvals ------------------------------------------------------------
 */

TEST(approval, ends_the_turn_and_is_answered_by_the_next_request)
{
    const char *const steps[] = {"call book {\"n\":1}", "say Booked", NULL};
    struct durable_process p = {.needs_approval = true};
    pdr_store *store = durable_store();
    pdr_approvals *waiting = NULL;
    pdr_stored *stored = NULL;
    char input[512];

    durable_begin(&p, store, steps);
    durable_says("", &p, "{\"message\":\"Hi\"}");
    ASSERT_INT(PDR_SESSION_WAITING, durable_state(store));
    ASSERT_INT(0, p.booked);
    ASSERT_RC(PDR_OK,
              pdr_stored_open(&stored, store, &durable_session, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_approvals_pending(&waiting, NULL, stored, NULL));
    ASSERT_SIZE(1, waiting->count);
    snprintf(
        input, sizeof(input),
        "{\"messages\":[{\"role\":\"user\",\"contents\":[{\"$type\":"
        "\"toolApprovalResponse\",\"approved\":true,\"toolCall\":{\"$type\":"
        "\"functionCall\",\"callId\":\"c1\",\"name\":\"book\",\"arguments\":"
        "{\"n\":1}},\"requestId\":\"%.*s\"}]}]}",
        (int)waiting->items[0].id.len, waiting->items[0].id.ptr);
    pdr_approvals_free(waiting);
    pdr_stored_close(stored);
    durable_says("Booked", &p, input);
    ASSERT_INT(1, p.booked);
    ASSERT_INT(PDR_SESSION_IDLE, durable_state(store));
    durable_end(&p);
    pdr_store_close(store);
}

/* --- imported documents ---------------------------------------------------
 */

TEST(import, of_version_1_0_0_is_raised_by_an_orchestration)
{
    const char *const steps[] = {"say Yes", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_import(store, "dotnet/durable/22-version-1-0-0.in.json");
    durable_begin(&p, store, steps);
    durable_says("Yes", &p, "{\"message\":\"a\"}");
    durable_document_has("\"1.0.0\"", &p, "/schemaVersion");
    durable_says("Yes", &p, "{\"message\":\"a\",\"orchestrationId\":\"o\"}");
    durable_document_has("\"1.1.0\"", &p, "/schemaVersion");
    durable_document_has("\"o\"", &p,
                         "/data/conversationHistory/4/orchestrationId");
    durable_end(&p);
    pdr_store_close(store);
}

static void import_text(pdr_store *store, const char *text)
{
    const pdr_import_opts opts = {.ref = durable_session, .now_ms = STAGE_NOW};
    pdr_str source = S(text);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_import(NULL, store, &opts, &err, pdr_read_str, &source) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
}

#define TURN_OF(contents)                                                     \
    "{\"$type\":\"request\",\"correlationId\":\"a\",\"createdAt\":\"2026-01-" \
    "01T00:00:00Z\",\"messages\":[{\"role\":\"user\",\"contents\":[" contents \
    "]}]}"
#define STATE_OF(entries)                                                      \
    "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[" entries \
    "]}}"

/* Runs on documents with what nobody knows: it stays, and the model gets the
 * rest (D-29, D-30, D-33, D-102, D-107). */
TEST(import, of_what_nobody_knows_is_run_and_kept)
{
    static const struct {
        const char *state, *seen; /* by the model in the first turn */
        const char *kept[6];      /* in the document after ten turns */
    } rows[] = {
        {STATE_OF("{\"$type\":\"annotation\",\"note\":1}," TURN_OF(
             "{\"$type\":\"text\",\"text\":\"x\"}")),
         "user:x | user:0",
         {"[{\"$type\":\"annotation\",\"note\":1},{"}},
        {STATE_OF(TURN_OF("{\"$type\":\"hologram\",\"rays\":[1]},{\"$type\":"
                          "\"text\",\"text\":\"x\"}")),
         "user:+x | user:0",
         {"{\"$type\":\"hologram\",\"rays\":[1]}"}},
        {STATE_OF(TURN_OF("{\"$type\":\"unknown\",\"content\":{\"$type\":"
                          "\"nobody\",\"a\":1}},{\"$type\":\"text\",\"text\":"
                          "\"x\"}")),
         "user:+x | user:0",
         {"{\"$type\":\"nobody\",\"a\":1}"}},
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{}}",
         "user:0",
         {"\"conversationHistory\":[{"}},
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":null}}",
         "user:0",
         {"\"conversationHistory\":[{"}},
        {"{\"schemaVersion\":\"1.1.0\",\"data\":null}",
         "user:0",
         {"\"conversationHistory\":[{"}},
        {STATE_OF("{\"$type\":\"request\",\"correlationId\":\"a\",\"messages\":"
                  "null}"),
         "user:0",
         {"\"messages\":null"}},
        {"{\"schemaVersion\":\"1.1.0\",\"x0\":0,\"data\":{\"x1\":1,"
         "\"conversationHistory\":[{\"$type\":\"response\",\"correlationId\":"
         "\"a\",\"createdAt\":\"2026-01-01T00:00:00Z\",\"x2\":2,\"usage\":{"
         "\"x3\":3},\"messages\":[{\"x4\":4,\"role\":\"assistant\",\"contents\":"
         "[{\"$type\":\"text\",\"text\":\"y\",\"x5\":5}]}]}]}}",
         "assistant:y | user:0",
         {"\"x0\":0", "\"x1\":1", "\"x2\":2", "\"x3\":3", "\"x4\":4",
          "\"x5\":5"}},
    };
    const char *const steps[] = {"say Yes", NULL};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct durable_process p = {.store = NULL};
        pdr_store *store = durable_store();
        pdr_ending *ending = NULL;
        char input[40];

        import_text(store, rows[i].state);
        durable_begin(&p, store, steps);
        for (int turn = 0; turn < 10; turn++) {
            snprintf(input, sizeof(input), "{\"message\":\"%d\"}", turn);
            durable_says("Yes", &p, input);
            if (turn == 0)
                ASSERT_TEXT(rows[i].seen, pdr_buf_str(&p.model.seen));
        }
        ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "get", NULL, NULL));
        for (size_t k = 0; k < 6 && rows[i].kept[k] != NULL; k++) {
            if (memmem(ending->answer.ptr, ending->answer.len, rows[i].kept[k],
                       strlen(rows[i].kept[k])) == NULL)
                fail_msg("%s is not in %.*s", rows[i].kept[k],
                         (int)ending->answer.len, ending->answer.ptr);
        }
        pdr_ending_free(ending);
        durable_end(&p);
        pdr_store_close(store);
    }
}

/* Arguments that are not JSON are kept as they are, and sent again (D-12). */
TEST(run, keeps_arguments_that_are_not_json)
{
    const char *const steps[] = {"call look not json", "say Yes", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Yes", &p, "{\"message\":\"a\"}");
    durable_document_has(
        "\"not json\"", &p,
        "/data/conversationHistory/1/messages/0/contents/0/argumentsText");
    durable_document_has(
        "{}", &p,
        "/data/conversationHistory/1/messages/0/contents/0/arguments");
    durable_end(&p);
    pdr_store_close(store);
}

/* A version that is not ours: the operation fails, and the document stays. */
TEST(import, of_another_version_is_not_run)
{
    static const char state[] =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[]}}";
    const char *const steps[] = {"say Yes", NULL};
    const pdr_query query = {.what = PDR_READ_FRAME, .ref = durable_session};
    const pdr_commit_options now = {.now_ms = STAGE_NOW};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    pdr_page *page = NULL;

    import_text(store, state);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    const pdr_edit edit = {.ref = durable_session,
                           .revision = page->head.revision,
                           .frame = page->frame,
                           .schema_version = S("2.0.0")};
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
    pdr_page_free(page);
    durable_begin(&p, store, steps);
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "run",
                                   "{\"message\":\"a\"}", NULL));
    ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
    ASSERT(memmem(ending->outcome.ptr, ending->outcome.len,
                  "schema_version_unsupported", 26) != NULL);
    pdr_ending_free(ending);
    ASSERT_SIZE(0, p.model.asked);
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "get", NULL, NULL));
    ASSERT_TEXT(state, ending->answer);
    pdr_ending_free(ending);
    durable_end(&p);
    pdr_store_close(store);
}

/* A journal that no loop wrote ends the run with an error, not the process. */
TEST(journal, that_is_damaged_is_given_up)
{
    static const struct {
        const char *kind, *body;
    } rows[] = {{"started", "{\"call\":99999999999}"},
                {"context", "{\"tools\":7,\"history\":7,\"messages\":7}"},
                {"answer", "[]"},
                {"bag", "{\"a\":7}"},
                {"result", "{\"call\":0}"}};
    const char *const steps[] = {"call look {}", "say Yes", NULL};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const pdr_work journal[] = {
            {.kind = S("operation"),
             .correlation_id = S("c"),
             .body = S("{\"name\":\"run\",\"input\":{\"message\":\"Hi\"}}")},
            {.kind = S(rows[i].kind),
             .correlation_id = S("c"),
             .body = S(rows[i].body)}};
        const pdr_work guard = {.due_ms = STAGE_NOW,
                                .kind = S("guard"),
                                .correlation_id = S("c"),
                                .body = S("{}")};
        const pdr_completion known = {.correlation_id = S("c"),
                                      .fingerprint = S("r")};
        const pdr_edit edit = {.ref = durable_session,
                               .kind = S("durable"),
                               .completions = &known,
                               .completion_count = 1,
                               .journal = journal,
                               .journal_count = 2,
                               .inbox = &guard,
                               .inbox_count = 1};
        const pdr_commit_options now = {.now_ms = STAGE_NOW};
        struct durable_process p = {.now_ms = STAGE_NOW};
        pdr_store *store = durable_store();
        pdr_ending *ending = NULL;
        pdr_rc rc = PDR_ETIMEOUT;

        ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
        durable_begin(&p, store, steps);
        while (rc == PDR_ETIMEOUT) { /* it is tried again after a second */
            durable_pass(&p, 500);
            rc = pdr_engine_wait(&ending, p.engine, &durable_session, S("c"), 1,
                                 NULL);
        }
        ASSERT_RC(PDR_OK, rc);
        if (i == 0) {
            ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
            ASSERT(memmem(ending->outcome.ptr, ending->outcome.len,
                          "bad_journal", 11) != NULL);
        }
        pdr_ending_free(ending);
        durable_end(&p);
        pdr_store_close(store);
    }
}

/* --- layers ---------------------------------------------------------------
 */

/* A layer that has the result of a run elsewhere, and runs nothing. */
static pdr_rc layer_answer(pdr_response **out, pdr_agent *inner,
                           const pdr_run *run, pdr_err *err, void *arg)
{
    (void)inner;
    (void)run;
    return pdr_response_from_value(out, arg, err);
}

/* A layer that runs what is inside twice. */
static pdr_rc layer_twice(pdr_response **out, pdr_agent *inner,
                          const pdr_run *run, pdr_err *err, void *arg)
{
    pdr_rc rc = pdr_agent_run(out, inner, run, err);

    (void)arg;
    if (rc != PDR_OK)
        return rc;
    pdr_response_free(*out);
    return pdr_agent_run(out, inner, run, err);
}

TEST(layer, passes_on_the_result_of_another_edition)
{
    COVERS("D-108");
    COVERS("D-113");
    static const struct {
        const char *file, *kept[4];
    } rows[] = {
        {"dotnet/durable/32-run-result.json",
         {"\"m1\"", "\"cachedInputTokenCount\":3", "\"protectedData\"", NULL}},
        {"python/durable/32-run-result.json", {NULL}},
        {"python/durable/34-run-result-stock-agent.1.0.0b260922.json",
         {"\"m1\"", "af-call-8cf8e93398824863968578836dec43fc",
          "FunctionInvocationError", NULL}}};
    const char *const steps[] = {"say Never", NULL};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len = 0;
        char *text = test_read_data(rows[i].file, &len);
        pdr_value *result = NULL, *back = NULL;
        pdr_response *response = NULL;
        pdr_ending *ending = NULL;
        pdr_store *store = durable_store();
        struct durable_process p = {
            .layer = {.name = "elsewhere", .run = layer_answer}};

        ASSERT_RC(PDR_OK,
                  pdr_json_read(&result, pdr_str_n(text, len), NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_response_from_value(&response, result, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_response_value(&back, response,
                                     pdr_response_shape(response), NULL));
        ASSERT(pdr_value_equal(result, back));
        pdr_value_free(back);
        pdr_response_free(response);
        p.layer.arg = result;
        durable_begin(&p, store, steps);
        ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "run",
                                       "{\"message\":\"a\"}", NULL));
        ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
        for (size_t k = 0; rows[i].kept[k] != NULL; k++) {
            if (memmem(ending->answer.ptr, ending->answer.len, rows[i].kept[k],
                       strlen(rows[i].kept[k])) == NULL)
                fail_msg("%s is not in %.*s", rows[i].kept[k],
                         (int)ending->answer.len, ending->answer.ptr);
        }
        ASSERT_SIZE(0, p.model.asked);
        pdr_ending_free(ending);
        durable_end(&p);
        pdr_store_close(store);
        pdr_value_free(result);
        free(text);
    }
}

TEST(layer, runs_the_agent_inside_once)
{
    const char *const steps[] = {"say Yes", NULL};
    struct durable_process p = {.layer = {.name = "twice", .run = layer_twice}};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    p.now_ms = STAGE_NOW;
    durable_begin(&p, store, steps);
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "run",
                                   "{\"message\":\"a\"}", NULL));
    ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
    ASSERT(memmem(ending->outcome.ptr, ending->outcome.len, "inside once",
                  11) != NULL);
    pdr_ending_free(ending);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(response, is_not_made_of_what_is_none)
{
    static const char *const bad[] = {"5", "[]", "{\"messages\":5}",
                                      "{\"messages\":[5]}"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pdr_value *value = stage_json(bad[i]);
        pdr_response *response = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_response_from_value(&response, value, &err));
        ASSERT_STR("wrong_kind", err.reason);
        pdr_value_free(value);
    }
}

TEST_OOM(response, of_another_edition_is_read_or_not_without_memory)
{
    static const char *const texts[] = {
        "{\"messages\":[{\"role\":\"assistant\",\"contents\":[{\"$type\":"
        "\"text\",\"text\":\"One\"}]},{\"role\":\"assistant\",\"contents\":["
        "{\"$type\":\"text\",\"text\":\"Two\"}]}],\"responseId\":\"r\","
        "\"agentId\":\"a\",\"finishReason\":\"stop\",\"createdAt\":"
        "\"2026-01-01T00:00:00Z\",\"usage\":{\"inputTokenCount\":1},"
        "\"additionalProperties\":{\"k\":1}}",
        "{\"type\":\"agent_response\",\"messages\":[{\"type\":\"message\","
        "\"role\":\"assistant\",\"contents\":[{\"type\":\"text\",\"text\":"
        "\"One\"}]},{\"type\":\"message\",\"role\":\"assistant\","
        "\"contents\":[{\"type\":\"text\",\"text\":\"Two\"}]}],"
        "\"response_id\":\"r\",\"created_at\":\"2026-01-01T00:00:00Z\","
        "\"usage_details\":{\"input_token_count\":1},"
        "\"additional_properties\":{\"k\":1}}"};

    for (size_t i = 0; i < 2; i++) {
        pdr_value *value = NULL;
        pdr_response *response = NULL;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_rc rc = PDR_OK;

        test_pause_failures(true);
        value = stage_json(texts[i]);
        test_pause_failures(false);
        rc = pdr_response_from_value(&response, value, NULL);
        ASSERT((response != NULL) == (rc == PDR_OK));
        if (rc == PDR_OK)
            rc = pdr_response_text(&text, response, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        if (rc == PDR_OK)
            ASSERT_TEXT("One\nTwo", pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        pdr_response_free(response);
        pdr_value_free(value);
    }
}

/* --- others ---------------------------------------------------------------
 */

/* Somebody sets a property of the session while the model thinks. */
static pdr_rc property_set(pdr_stored *stored, pdr_err *err, void *arg)
{
    return pdr_stored_set_property(stored, S("seen"), arg, err);
}

static pdr_rc others_change(void *arg)
{
    const pdr_commit_options now = {.now_ms = STAGE_NOW};
    pdr_value *one = stage_json("1");
    pdr_stored *stored = NULL;
    pdr_rc rc = pdr_stored_open(&stored, arg, &durable_session, NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_stored_update(stored, &now, NULL, property_set, one);
    pdr_stored_close(stored);
    pdr_value_free(one);
    return rc;
}

TEST(run, ends_in_a_session_that_somebody_changes_meanwhile)
{
    const char *const steps[] = {"say One", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    p.model.hook = others_change;
    p.model.hook_arg = store;
    durable_says("One", &p, "{\"message\":\"Hello\"}");
    durable_history("user:Hello | assistant:One", store);
    ASSERT_SIZE(1, p.model.asked);
    durable_end(&p);
    pdr_store_close(store);
}

/* --- agents ---------------------------------------------------------------
 */

TEST(agents, are_refused_that_cannot_be_durable)
{
    static const char *const names[] = {"", "a@b", "dafx-a", "DAFX-a"};
    const char *const steps[] = {"say Yes", NULL};
    struct stage_model model;
    pdr_durable *durable = NULL;
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;

    stage_model_init(&model, steps);
    for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
        const bool keeps = i == sizeof(names) / sizeof(names[0]);
        const pdr_agent_parts parts = {.name = S(keeps ? "a" : names[i]),
                                       .client = &model.base,
                                       .stores_each_call = keeps};
        ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, NULL));
        const pdr_durable_agent agents[] = {{.agent = agent}};
        const pdr_durable_opts opts = {.agents = agents, .count = 1};

        ASSERT_RC(PDR_EINVALID, pdr_durable_new(&durable, &opts, &err));
        ASSERT_STR("bad_agent", err.reason);
        pdr_agent_free(agent);
    }
    const pdr_agent_parts parts = {.name = S("a"), .client = &model.base};
    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, NULL));
    const pdr_durable_agent twice[] = {{.agent = agent}, {.agent = agent}};
    const pdr_durable_opts opts = {.agents = twice, .count = 2};
    ASSERT_RC(PDR_EEXISTS, pdr_durable_new(&durable, &opts, &err));
    ASSERT_STR("agent_exists", err.reason);
    const pdr_durable_agent early[] = {{.agent = agent, .ttl_ms = -1}};
    const pdr_durable_opts expires = {.agents = early, .count = 1};
    ASSERT_RC(PDR_EINVALID, pdr_durable_new(&durable, &expires, &err));
    ASSERT_STR("bad_agent", err.reason);
    pdr_agent_free(agent);
    stage_model_free(&model);
}
