/*
 * Runs that end badly after something happened that must not be lost, or must
 * not happen again: approved calls, messages from outside, histories that a
 * provider keeps.
 */
#include "agent_stage.h"
#include "fault_store.h"
#include "test.h"

/* --- small steps ---------------------------------------------------------- */

struct stage {
    struct stage_model model;
    pdr_agent *agent;
    int ran, safe; /* of "pay", which needs approval, and of "look" */
};

static void stage_begin(struct stage *s, const char *const *steps,
                        const pdr_agent_parts *more)
{
    const pdr_tool tools[] = {
        {.name = "pay",
         .needs_approval = true,
         .fn = stage_tool,
         .arg = &s->ran},
        {.name = "look", .fn = stage_tool, .arg = &s->safe}};
    pdr_agent_parts parts = {.client = NULL};

    if (more != NULL)
        parts = *more;
    s->ran = s->safe = 0;
    stage_model_init(&s->model, steps);
    parts.client = &s->model.base;
    if (parts.tools == NULL) {
        parts.tools = tools;
        parts.tool_count = 2;
    }
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, NULL));
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->agent);
    stage_model_free(&s->model);
}

static void go(struct stage *s, pdr_rc expected, const pdr_run *run)
{
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_agent_run(&response, s->agent, run, &err);

    if (rc != expected)
        fail_msg("expected %d, is %d: %s", expected, rc, err.message);
    pdr_response_free(response);
}

static void inject(pdr_session *session, const char *text)
{
    pdr_value *message = NULL;

    ASSERT_RC(PDR_OK,
              pdr_message_new_text(&message, PDR_SHAPE_DOTNET,
                                   pdr_str_c("user"), pdr_str_c(text), NULL));
    ASSERT_RC(PDR_OK,
              pdr_inject(session, NULL, (const pdr_value *const *)&message, 1,
                         PDR_SHAPE_DOTNET, NULL));
    pdr_value_free(message);
}

static void expect_pending(size_t count, pdr_session *session,
                           pdr_stored *stored)
{
    pdr_approvals *list = NULL;

    ASSERT_RC(PDR_OK, pdr_approvals_pending(&list, session, stored, NULL));
    ASSERT_SIZE(count, list->count);
    pdr_approvals_free(list);
}

static pdr_stored *open_stored(pdr_store **store, const char *uri)
{
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_stored_opts create = {.create = true};
    pdr_stored *out = NULL;

    fault_store_register();
    fault_store_set(&(struct fault_plan){.nth = 0});
    ASSERT_RC(PDR_OK, pdr_store_open(store, uri, NULL));
    ASSERT_RC(PDR_OK, pdr_stored_open(&out, *store, &ref, &create, NULL));
    return out;
}

static const pdr_agent_parts each_call = {.stores_each_call = true};
static const pdr_answer yes = {{"ficc_c1", 7}, true, {NULL, 0}};

#define PAY  "call pay {\"n\":1}"
#define PAID "user:go | assistant:ask pay"
#define DID  "tool:= pay did {\"n\":1}"
#define DONE PAID " | user:yes pay | assistant:call pay | " DID

/* --- approved calls -------------------------------------------------------
 */

TEST(rescue, does_not_bring_back_an_approval_that_was_stored_before)
{
    static const char *const steps[] = {PAY, "call look {}",
                                        "call pay {\"n\":2}", "say so", NULL};
    pdr_store *store = NULL;
    pdr_stored *stored = open_stored(&store, "fault:memory:");
    pdr_run run = {
        .stored = stored, .text = pdr_str_c("go"), .now_ms = STAGE_NOW};
    struct stage s;

    stage_begin(&s, steps, &each_call);
    go(&s, PDR_OK, &run);
    run.text = pdr_str_c("");
    run.answers = &yes;
    run.answer_count = 1;
    /* The result is stored with the first answer, the second is not. */
    fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 2});
    go(&s, PDR_EIO, &run);
    ASSERT_INT(1, s.ran);
    expect_pending(0, NULL, stored);
    go(&s, PDR_OK, &run);
    ASSERT_INT(1, s.ran);
    pdr_stored_close(stored);
    pdr_store_close(store);
    stage_end(&s);
}

TEST(rescue, forgets_what_a_failed_run_asked_for)
{
    static const char *const steps[] = {
        PAY, "call look {\"cancel\":1};pay {\"n\":2}", "say so", NULL};
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_run run = {.session = session, .text = pdr_str_c("go")};
    struct stage s;

    stage_begin(&s, steps, NULL);
    go(&s, PDR_OK, &run);
    run.text = pdr_str_c("");
    run.answers = &yes;
    run.answer_count = 1;
    go(&s, PDR_ECANCELLED, &run);
    stage_history(DONE, session);
    expect_pending(0, session, NULL);
    pdr_session_free(session);
    stage_end(&s);
}

/* A tool that ends the run and does not say why. */
static pdr_rc end_it(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                     void *arg)
{
    (void)call;
    (void)err;
    (void)arg;
    *out = NULL;
    return PDR_ECANCELLED;
}

TEST(rescue, keeps_an_approval_of_a_tool_that_ends_the_run_silently)
{
    static const char *const steps[] = {PAY, "say so", NULL};
    const pdr_tool tools[] = {
        {.name = "pay", .needs_approval = true, .fn = end_it}};
    const pdr_agent_parts parts = {.tools = tools, .tool_count = 1};
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_run run = {.session = session, .text = pdr_str_c("go")};
    struct stage s;

    stage_begin(&s, steps, &parts);
    go(&s, PDR_OK, &run);
    run.text = pdr_str_c("");
    run.answers = &yes;
    run.answer_count = 1;
    go(&s, PDR_ECANCELLED, &run);
    stage_history(PAID, session);
    expect_pending(1, session, NULL);
    pdr_session_free(session);
    stage_end(&s);
}

/* A tool whose result has as many levels as it was asked for. */
static pdr_rc dig(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                  void *arg)
{
    const pdr_value *levels = pdr_value_get_c(call->arguments, "n");
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    int64_t n = 0;

    ++*(int *)arg;
    ASSERT_RC(PDR_OK, pdr_value_int64(&n, levels, err));
    for (int64_t i = 0; i < 2 * n; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&text, pdr_str_c(i < n ? "[" : "]"), err));
    ASSERT_RC(PDR_OK, pdr_json_read(out, pdr_buf_str(&text), NULL, err));
    pdr_buf_dispose(&text);
    return PDR_OK;
}

/* What cannot be stored would let it run with each answer. */
TEST(rescue, runs_a_call_once_though_its_result_is_too_deep)
{
    static const char *const steps[] = {"call dig {\"n\":100}", "say so",
                                        "call dig {\"n\":125}", "say so", NULL};
    static const pdr_session_shape shapes[] = {PDR_SESSION_NATIVE,
                                               PDR_SESSION_PYTHON};
    int ran = 0;
    const pdr_tool tools[] = {
        {.name = "dig", .needs_approval = true, .fn = dig, .arg = &ran}};
    const pdr_agent_parts parts = {.tools = tools, .tool_count = 1};

    for (size_t i = 0; i < 8; i++) {
        pdr_store *store = NULL;
        pdr_stored *stored =
            i / 2 % 2 > 0 ? open_stored(&store, "memory:") : NULL;
        pdr_session *session =
            stored == NULL ? stage_session(shapes[i % 2]) : NULL;
        pdr_approvals *list = NULL;
        pdr_answer answer = {.approved = true};
        pdr_run run = {.session = session,
                       .stored = stored,
                       .text = pdr_str_c("go"),
                       .now_ms = STAGE_NOW};
        struct stage s;

        ran = 0;
        stage_begin(&s, steps, &parts);
        s.model.next = i / 4 * 2;
        s.model.is_deaf = true;
        go(&s, PDR_OK, &run);
        ASSERT_RC(PDR_OK, pdr_approvals_pending(&list, session, stored, NULL));
        answer.id = list->items[0].id;
        run.answers = &answer;
        run.answer_count = 1;
        go(&s, PDR_OK, &run);
        ASSERT_INT(1, ran);
        expect_pending(0, session, stored);
        pdr_approvals_free(list);
        pdr_session_free(session);
        pdr_stored_close(stored);
        pdr_store_close(store);
        stage_end(&s);
    }
}

/* --- messages from outside ------------------------------------------------
 */

TEST(rescue, loses_no_message_that_was_put_in_after_an_approved_call)
{
    static const char *const steps[] = {PAY, "fail", "say so", NULL};
    pdr_session *session = stage_session(PDR_SESSION_NATIVE);
    pdr_run run = {.session = session, .text = pdr_str_c("go")};
    struct stage s;

    stage_begin(&s, steps, NULL);
    go(&s, PDR_OK, &run);
    inject(session, "and hurry");
    run.text = pdr_str_c("");
    run.answers = &yes;
    run.answer_count = 1;
    go(&s, PDR_EMODEL, &run);
    stage_history(DONE, session);
    go(&s, PDR_OK, &run);
    stage_history(DONE " | user:and hurry | assistant:so", session);
    pdr_session_free(session);
    stage_end(&s);
}

TEST(rescue, puts_no_message_back_that_was_stored_before)
{
    static const char *const steps[] = {"call look {}", "say so", NULL};
    pdr_store *store = NULL;
    pdr_stored *stored = open_stored(&store, "fault:memory:");
    pdr_run run = {
        .stored = stored, .text = pdr_str_c("go"), .now_ms = STAGE_NOW};
    struct stage s;

    stage_begin(&s, steps, &each_call);
    inject(pdr_stored_session(stored), "and hurry");
    fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 2});
    go(&s, PDR_EIO, &run);
    s.model.next = 1;
    run.text = pdr_str_c("well?");
    go(&s, PDR_OK, &run);
    stage_stored_history("user:go | user:and hurry | assistant:call look | "
                         "user:well? | assistant:so",
                         stored);
    pdr_stored_close(stored);
    pdr_store_close(store);
    stage_end(&s);
}

/* --- providers ------------------------------------------------------------
 */

/* A history that is kept elsewhere, as a line. */
static pdr_rc keep(const pdr_run_info *run, const pdr_run_outcome *outcome,
                   pdr_err *err, void *self)
{
    (void)err;
    for (size_t i = 0; outcome->error == NULL && i < run->input_count; i++)
        stage_describe(self, run->input[i], run->shape);
    for (size_t i = 0; i < outcome->answer_count; i++)
        stage_describe(self, outcome->answers[i], run->shape);
    return PDR_OK;
}

/* A provider that does not like what it is told. */
static pdr_rc complain(const pdr_run_info *run, const pdr_run_outcome *outcome,
                       pdr_err *err, void *self)
{
    (void)run;
    (void)self;
    return outcome->error != NULL
               ? PDR_OK
               : pdr_err_set(err, PDR_EIO, "any", "not this");
}

TEST(rescue, tells_a_history_elsewhere_no_message_twice)
{
    static const char *const steps[] = {"call look {}", "say so", NULL};
    static const char all[] = "user:go | assistant:call look | "
                              "tool:= look did {} | assistant:so";
    static const struct {
        pdr_partial on_partial;
        bool each_call;
        const char *kept;
    } cases[] = {
        {PDR_PARTIAL_DISCARD, false, ""},
        {PDR_PARTIAL_CALLS, false, all},
        {PDR_PARTIAL_ALL, false, all},
        {PDR_PARTIAL_DISCARD, true, ""},
        {PDR_PARTIAL_CALLS, true, "user:go | assistant:call look"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_session *session = stage_session(PDR_SESSION_NATIVE);
        pdr_buf kept = PDR_BUF_INIT(SIZE_MAX);
        const pdr_provider providers[] = {
            {.name = "critic", .kind = PDR_PROVIDER_CONTEXT, .after = complain},
            {.name = "shelf",
             .kind = PDR_PROVIDER_HISTORY,
             .self = &kept,
             .after = keep}};
        const pdr_agent_parts parts = {.providers = providers,
                                       .provider_count = 2,
                                       .stores_each_call = cases[i].each_call};
        struct stage s;

        stage_begin(&s, steps, &parts);
        go(&s, PDR_EIO,
           &(pdr_run){.session = session,
                      .text = pdr_str_c("go"),
                      .on_partial = cases[i].on_partial});
        ASSERT_TEXT(cases[i].kept, pdr_buf_str(&kept));
        pdr_buf_dispose(&kept);
        pdr_session_free(session);
        stage_end(&s);
    }
}

TEST(rescue, tells_a_history_elsewhere_no_message_twice_without_a_session)
{
    static const char *const steps[] = {"call look {}", "say so", NULL};
    pdr_buf kept = PDR_BUF_INIT(SIZE_MAX);
    const pdr_provider providers[] = {{.name = "shelf",
                                       .kind = PDR_PROVIDER_HISTORY,
                                       .self = &kept,
                                       .after = keep}};
    const pdr_agent_parts parts = {
        .providers = providers, .provider_count = 1, .stores_each_call = true};
    struct stage s;

    stage_begin(&s, steps, &parts);
    go(&s, PDR_OK, &(pdr_run){.text = pdr_str_c("go")});
    ASSERT_TEXT("user:go | assistant:call look | tool:= look did {} | "
                "assistant:so",
                pdr_buf_str(&kept));
    pdr_buf_dispose(&kept);
    stage_end(&s);
}

/* --- without memory -------------------------------------------------------
 */

/* How often a text occurs in a value. */
static size_t count_in(const pdr_value *value, const char *text)
{
    pdr_buf all = PDR_BUF_INIT(SIZE_MAX);
    const char *at = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_json_write(&all, value, NULL, NULL));
    for (at = all.ptr; at != NULL; count += at != NULL) {
        at = memmem(at, all.len - (size_t)(at - all.ptr), text, strlen(text));
        at = at != NULL ? at + 1 : NULL;
    }
    pdr_buf_dispose(&all);
    return count;
}

/* A request waits or its result is there, never both or neither; and each
 * message from outside is in one place. */
static void expect_all_once(pdr_session *session, pdr_stored *stored)
{
    pdr_value *bag = pdr_bag_snapshot(pdr_session_bag(session));
    size_t said = count_in(bag, "and hurry");
    size_t done = count_in(bag, "\"result\":\"pay did");
    pdr_stored_window *window = NULL;
    pdr_approvals *list = NULL;

    if (stored != NULL)
        ASSERT_RC(PDR_OK, pdr_stored_messages(&window, stored, 0, 0, NULL));
    for (size_t i = 0; window != NULL && i < window->count; i++) {
        said += count_in(window->messages[i].value, "and hurry");
        done += count_in(window->messages[i].value, "\"result\":\"pay did");
    }
    ASSERT_RC(PDR_OK, pdr_approvals_pending(&list, session, NULL, NULL));
    ASSERT_SIZE(9, said);
    ASSERT_SIZE(1, done + list->count);
    pdr_approvals_free(list);
    pdr_stored_window_free(window);
    pdr_value_free(bag);
}

/* Approve a call, with messages from outside, while allocation `n` fails; true
 * if there were not so many. */
static bool approve_without_memory(pdr_session *own, pdr_stored *stored,
                                   const pdr_run *how, bool each, size_t n)
{
    static const char *const steps[] = {PAY, "call look {}", "say so", NULL};
    const pdr_agent_parts parts = {.stores_each_call = each};
    pdr_session *session = own != NULL ? own : pdr_stored_session(stored);
    pdr_answer answer = {.approved = true};
    pdr_response *response = NULL;
    pdr_approvals *list = NULL;
    pdr_run run = *how;
    size_t before = 0;
    struct stage s;
    pdr_rc rc = PDR_OK;

    run.session = own;
    run.stored = stored;
    stage_begin(&s, steps, &parts);
    s.model.is_deaf = true;
    go(&s, PDR_OK, &run);
    for (int i = 0; i < 9; i++)
        inject(session, "and hurry");
    ASSERT_RC(PDR_OK, pdr_approvals_pending(&list, session, NULL, NULL));
    answer.id = list->items[0].id;
    run.text = pdr_str_c("");
    run.answers = &answer;
    run.answer_count = 1;
    before = test_allocations();
    test_fail_allocation(n, false);
    rc = pdr_agent_run(&response, s.agent, &run, NULL);
    test_fail_allocation(0, false);
    before = test_allocations() - before;
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    expect_all_once(session, stored);
    pdr_response_free(response);
    pdr_approvals_free(list);
    stage_end(&s);
    return before < n;
}

TEST(rescue, leaves_nothing_half_done_after_any_failed_allocation)
{
    static const pdr_session_shape shapes[] = {PDR_SESSION_NATIVE,
                                               PDR_SESSION_PYTHON};

    for (size_t i = 0; i < 12; i++) {
        const pdr_run how = {.text = pdr_str_c("go"),
                             .now_ms = STAGE_NOW,
                             .on_partial = i / 6 > 0 ? PDR_PARTIAL_ALL
                                                     : PDR_PARTIAL_DISCARD};
        bool is_over = false;

        for (size_t n = 1; !is_over; n++) {
            pdr_store *store = NULL;
            pdr_stored *stored = NULL;
            pdr_session *session = NULL;

            if (i % 3 < 2)
                session = stage_session(shapes[i % 3]);
            else
                stored = open_stored(&store, "memory:");
            is_over =
                approve_without_memory(session, stored, &how, i / 3 % 2 > 0, n);
            pdr_session_free(session);
            pdr_stored_close(stored);
            pdr_store_close(store);
        }
    }
}
