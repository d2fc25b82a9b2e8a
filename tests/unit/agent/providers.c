/*
 * Providers in a run: in which order they are asked and told, what the model
 * gets of what they add, what is stored, and what happens when a run fails.
 */
#include <perdure.h>
#include <perdure/sys/client.h>

#include "room.h"
#include "test.h"

#define NOW INT64_C(1700000000000)

/* --- a model that notes what it gets ---------------------------------------
 */

struct spy {
    pdr_client base;
    pdr_buf seen; /* "role:text/origin" of each message */
    pdr_buf said; /* instructions */
    size_t tools;
    int calls;
    bool fails;
};

static pdr_rc spy_send(pdr_client *self, const pdr_client_request *request,
                       pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct spy *spy = (struct spy *)self;
    const pdr_value *contents[1];
    pdr_value *answer = NULL;
    pdr_rc rc = PDR_OK;

    spy->calls++;
    spy->tools = request->tool_count;
    pdr_buf_clear(&spy->seen);
    pdr_buf_clear(&spy->said);
    ASSERT_RC(PDR_OK, pdr_buf_append(&spy->said, request->instructions, err));
    for (size_t i = 0; i < request->count; i++) {
        const pdr_request_message *m = &request->messages[i];

        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&spy->seen, err, "%s", i > 0 ? " " : ""));
        ASSERT_RC(PDR_OK,
                  pdr_message_text(&spy->seen, m->value, m->shape, err));
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&spy->seen, err, "/%d", (int)m->origin));
        ASSERT(m->origin != PDR_ORIGIN_CONTEXT || /* it has a mark */
               pdr_value_get_c(pdr_message_properties(m->value, m->shape),
                               "_attribution") != NULL);
    }
    if (spy->fails)
        return pdr_err_set(err, PDR_EMODEL, "model_failed", "no server");
    ASSERT_RC(PDR_OK, pdr_content_new_text(&answer, request->shape,
                                           pdr_str_c("ok"), err));
    contents[0] = answer;
    rc = fn(&(pdr_update){.role = pdr_str_c("assistant"),
                          .contents = contents,
                          .content_count = 1},
            err, arg);
    pdr_value_free(answer);
    return rc;
}

static void spy_free(pdr_client *self)
{
    struct spy *spy = (struct spy *)self;

    pdr_buf_dispose(&spy->seen);
    pdr_buf_dispose(&spy->said);
}

static const pdr_client_ops spy_ops = {PDR_CLIENT_OPS_VERSION, "spy", spy_send,
                                       spy_free};

/* --- providers that note when they are called ------------------------------
 */

static char calls[512]; /* "p1< p2< p2> p1>"; with '!' after a failure */

struct helper {
    const char *name, *instructions, *message, *tool, *wants;
    pdr_rc before, after; /* to fail with */
    bool counts;          /* runs, in the bag */
};

static void note(const char *name, const char *mark)
{
    size_t len = strlen(calls);

    snprintf(calls + len, sizeof(calls) - len, "%s%s%s", len > 0 ? " " : "",
             name, mark);
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

static pdr_rc helper_before(pdr_context *context, const pdr_run_info *run,
                            pdr_err *err, void *self)
{
    const struct helper *h = self;
    pdr_value *message = NULL;
    pdr_rc rc = h->before;

    note(h->name, "<");
    ASSERT_TEXT("clerk", run->agent_name);
    ASSERT_INT(NOW, run->now_ms);
    ASSERT_SIZE(1, run->input_count);
    if (h->wants != NULL)
        ASSERT_TEXT(h->wants, pdr_context_instructions(context));
    if (rc == PDR_OK && h->instructions != NULL)
        rc = pdr_context_add_instructions(context, pdr_str_c(h->instructions),
                                          err);
    if (rc == PDR_OK && h->tool != NULL) {
        const pdr_tool tool = {.name = h->tool, .fn = tool_nothing};

        rc = pdr_context_add_tool(context, &tool, err);
        ASSERT(rc != PDR_OK ||
               pdr_context_has_tool(context, pdr_str_c(h->tool)));
    }
    if (rc == PDR_OK && h->message != NULL) {
        ASSERT_RC(PDR_OK, pdr_message_new_text(&message, PDR_SHAPE_PYTHON,
                                               pdr_str_c("user"),
                                               pdr_str_c(h->message), err));
        rc = pdr_context_add_message(context, message, PDR_SHAPE_PYTHON, err);
        pdr_value_free(message);
    }
    return rc;
}

static pdr_rc helper_after(const pdr_run_info *run,
                           const pdr_run_outcome *outcome, pdr_err *err,
                           void *self)
{
    const struct helper *h = self;
    pdr_bag *bag = run->session != NULL ? pdr_session_bag(run->session) : NULL;
    pdr_value *count = NULL;
    int64_t n = 0;

    note(h->name, outcome->error != NULL ? "!" : ">");
    ASSERT((outcome->error == NULL) == (outcome->answer_count == 1));
    if (outcome->error != NULL)
        ASSERT(outcome->error->code != PDR_OK);
    if (h->counts && bag != NULL) {
        if (pdr_bag_get(&count, bag, pdr_str_c(h->name), NULL) == PDR_OK)
            ASSERT_RC(PDR_OK, pdr_value_int64(&n, count, err));
        pdr_value_free(count);
        ASSERT_RC(PDR_OK, pdr_value_new_int64(&count, n + 1, err));
        ASSERT_RC(PDR_OK, pdr_bag_set(bag, pdr_str_c(h->name), count, err));
        pdr_value_free(count);
    }
    if (h->after != PDR_OK)
        return pdr_err_set(err, h->after, "hook", "the hook fails");
    return PDR_OK;
}

static pdr_provider provider_of(struct helper *h, const char *const *keys)
{
    return (pdr_provider){.name = h->name,
                          .kind = PDR_PROVIDER_CONTEXT,
                          .keys = keys,
                          .self = h,
                          .before = helper_before,
                          .after = helper_after};
}

/* --- a stage ----------------------------------------------------------------
 */

struct stage {
    struct spy spy;
    pdr_agent *agent;
    pdr_session *session;
};

static void stage_begin(struct stage *s, const pdr_provider *providers,
                        size_t count)
{
    const pdr_session_parts parts = {.kind = PDR_SESSION_KIND_CLIENT};
    const pdr_tool tool = {.name = "own", .fn = tool_nothing};
    pdr_err err = PDR_ERR_INIT;

    memset(s, 0, sizeof(*s));
    s->spy.seen = s->spy.said = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    calls[0] = '\0';
    ASSERT_RC(PDR_OK, pdr_client_init(&s->spy.base, &spy_ops, &err));
    const pdr_agent_parts agent = {.name = pdr_str_c("clerk"),
                                   .instructions = pdr_str_c("a"),
                                   .client = &s->spy.base,
                                   .tools = &tool,
                                   .tool_count = 1,
                                   .providers = providers,
                                   .provider_count = count};
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &agent, &err));
    ASSERT_RC(PDR_OK, pdr_session_new(&s->session, &parts, &err));
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->agent);
    pdr_session_free(s->session);
    pdr_client_free(&s->spy.base);
}

static pdr_rc say(struct stage *s, pdr_stored *stored,
                  const pdr_provider *history, pdr_err *err)
{
    const pdr_run run = {.session = stored == NULL ? s->session : NULL,
                         .stored = stored,
                         .text = pdr_str_c("hi"),
                         .history = history,
                         .now_ms = NOW};
    pdr_response *response = NULL;
    pdr_rc rc = pdr_agent_run(&response, s->agent, &run, err);

    pdr_response_free(response);
    return rc;
}

static size_t history_count(struct stage *s)
{
    pdr_value *list = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_session_history(&list, s->session, NULL));
    count = pdr_value_count(list);
    pdr_value_free(list);
    return count;
}

/* --- context -----------------------------------------------------------------
 */

TEST(providers, add_to_what_is_sent_and_not_to_what_is_stored)
{
    struct helper one = {
        .name = "p1", .instructions = "b", .message = "fact", .tool = "extra"};
    struct helper two = {.name = "p2", .instructions = "c", .wants = "a\nb"};
    const pdr_provider list[] = {provider_of(&one, NULL),
                                 provider_of(&two, NULL)};
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-48");
    COVERS("S-49");
    COVERS("S-39");
    stage_begin(&s, list, 2);
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_TEXT("hi/0 fact/2", pdr_buf_str(&s.spy.seen));
    ASSERT_TEXT("a\nb\nc", pdr_buf_str(&s.spy.said));
    ASSERT_SIZE(2, s.spy.tools);
    ASSERT_SIZE(2, history_count(&s));
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_TEXT("hi/1 ok/1 hi/0 fact/2", pdr_buf_str(&s.spy.seen));
    ASSERT_SIZE(4, history_count(&s));
    stage_end(&s);
}

TEST(providers, add_instructions_also_where_the_agent_has_none)
{
    struct helper h = {.name = "p1", .instructions = "b"};
    const pdr_provider list[] = {provider_of(&h, NULL)};
    pdr_response *response = NULL;
    pdr_agent *agent = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-47");
    stage_begin(&s, NULL, 0);
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_TEXT("a", pdr_buf_str(&s.spy.said));
    const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                   .client = &s.spy.base,
                                   .providers = list,
                                   .provider_count = 1};
    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, &err));
    const pdr_run run = {.text = pdr_str_c("hi"), .now_ms = NOW};
    ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent, &run, &err));
    ASSERT_TEXT("b", pdr_buf_str(&s.spy.said));
    pdr_response_free(response);
    pdr_agent_free(agent);
    stage_end(&s);
}

TEST(providers, are_told_in_the_reverse_order)
{
    struct helper one = {.name = "p1"}, two = {.name = "p2"};
    const pdr_provider list[] = {provider_of(&one, NULL),
                                 provider_of(&two, NULL)};
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-54");
    COVERS("S-52");
    stage_begin(&s, list, 2);
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_STR("p1< p2< p2> p1>", calls);
    calls[0] = '\0';
    s.spy.fails = true;
    ASSERT_RC(PDR_EMODEL, say(&s, NULL, NULL, &err));
    ASSERT_STR("p1< p2< p2! p1!", calls);
    ASSERT_STR("model_failed", err.reason);
    ASSERT_SIZE(2, history_count(&s));
    /* What they say of a run that has failed does not hide why. */
    one.after = two.after = PDR_EIO;
    ASSERT_RC(PDR_EMODEL, say(&s, NULL, NULL, NULL));
    stage_end(&s);
}

TEST(providers, that_fail_end_the_run_and_nothing_is_stored)
{
    struct helper one = {.name = "p1"}, two = {.name = "p2"};
    const pdr_provider list[] = {provider_of(&one, NULL),
                                 provider_of(&two, NULL)};
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, list, 2);
    two.before = PDR_EIO;
    ASSERT_RC(PDR_EIO, say(&s, NULL, NULL, &err));
    ASSERT_INT(0, s.spy.calls);
    two.before = PDR_OK;
    one.after = PDR_EIO;
    ASSERT_RC(PDR_EIO, say(&s, NULL, NULL, &err));
    ASSERT_STR("hook", err.reason);
    ASSERT_SIZE(0, history_count(&s));
    one.after = PDR_OK;
    two.tool = "own"; /* the agent has one of this name */
    ASSERT_RC(PDR_EINVALID, say(&s, NULL, NULL, &err));
    ASSERT_STR("tool_clash", err.reason);
    stage_end(&s);
}

TEST(providers, keep_their_state_in_a_stored_session)
{
    static const char *const keys[] = {"count", NULL};
    struct helper h = {.name = "count", .counts = true};
    const pdr_provider list[] = {provider_of(&h, keys)};
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_stored_opts create = {.create = true};
    pdr_store *store = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, list, 1);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    for (int64_t i = 1; i <= 3; i++) {
        pdr_stored *stored = NULL;
        pdr_value *count = NULL;
        int64_t n = 0;

        ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, &create, &err));
        ASSERT_RC(PDR_OK, say(&s, stored, NULL, &err));
        ASSERT_INT(i, pdr_stored_head(stored)->revision);
        ASSERT_RC(PDR_OK,
                  pdr_bag_get(&count,
                              pdr_session_bag(pdr_stored_session(stored)),
                              pdr_str_c("count"), &err));
        ASSERT_RC(PDR_OK, pdr_value_int64(&n, count, &err));
        ASSERT_INT(i, n);
        pdr_value_free(count);
        pdr_stored_close(stored);
    }
    pdr_store_close(store);
    stage_end(&s);
}

/* --- history -----------------------------------------------------------------
 */

/* A history that is kept elsewhere: one list for all sessions. */
struct shelf {
    pdr_value *list;
    pdr_shape shape;
};

static void release_value(void *value)
{
    pdr_value_free(value);
}

static pdr_rc shelf_load(pdr_context *context, const pdr_run_info *run,
                         pdr_err *err, void *self)
{
    struct shelf *shelf = self;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    (void)run;
    pdr_iter_init(&it, shelf->list);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr_context_add_message(context, it.value, shelf->shape, err);
    if (rc == PDR_OK) /* released with the run, or a test finds a leak */
        rc = pdr_context_keep(context, pdr_value_ref(shelf->list),
                              release_value, err);
    return rc;
}

static pdr_rc shelf_store(const pdr_run_info *run,
                          const pdr_run_outcome *outcome, pdr_err *err,
                          void *self)
{
    struct shelf *shelf = self;
    pdr_rc rc = PDR_OK;

    if (outcome->error != NULL)
        return PDR_OK;
    shelf->shape = run->shape;
    for (size_t i = 0; rc == PDR_OK && i < run->input_count; i++)
        rc = pdr_value_append(&shelf->list, run->input[i], err);
    for (size_t i = 0; rc == PDR_OK && i < outcome->answer_count; i++)
        rc = pdr_value_append(&shelf->list, outcome->answers[i], err);
    return rc;
}

static const char *const shelf_keys[] = {"shelf", NULL};

static pdr_provider shelf_of(struct shelf *shelf)
{
    return (pdr_provider){.name = "shelf",
                          .kind = PDR_PROVIDER_HISTORY,
                          .keys = shelf_keys,
                          .self = shelf,
                          .before = shelf_load,
                          .after = shelf_store};
}

TEST(providers, of_history_keep_it_where_they_like)
{
    static const char old[] =
        "[{\"role\":\"user\",\"contents\":[{\"$type\":\"text\",\"text\":"
        "\"old\"}],\"additionalProperties\":{\"k\":1}}]";
    struct shelf shelf = {.shape = PDR_SHAPE_DOTNET};
    struct helper h = {.name = "p", .message = "fact"};
    const pdr_provider list[] = {provider_of(&h, NULL), shelf_of(&shelf)};
    pdr_value *before = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-36");
    COVERS("S-37");
    ASSERT_RC(PDR_OK, pdr_json_read(&shelf.list, pdr_str_c(old), NULL, &err));
    before = pdr_value_ref(pdr_value_at(shelf.list, 0));
    stage_begin(&s, list, 2);
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_TEXT("old/1 hi/1 ok/1 hi/0 fact/2", pdr_buf_str(&s.spy.seen));
    ASSERT_SIZE(0, history_count(&s)); /* none in the session */
    ASSERT_SIZE(5, pdr_value_count(shelf.list));
    /* The mark of a run is not in what is kept. */
    ASSERT(pdr_value_equal(before, pdr_value_at(shelf.list, 0)));
    ASSERT(pdr_message_properties(pdr_value_at(shelf.list, 1), shelf.shape) ==
           NULL);
    s.spy.fails = true;
    ASSERT_RC(PDR_EMODEL, say(&s, NULL, NULL, &err));
    ASSERT_SIZE(5, pdr_value_count(shelf.list));
    stage_end(&s);
    pdr_value_free(before);
    pdr_value_free(shelf.list);
}

TEST(providers, of_history_give_a_window_of_it)
{
    struct shelf shelf = {.list = pdr_value_new_array()};
    struct helper h = {.name = "p", .message = "fact"};
    const pdr_provider list[] = {shelf_of(&shelf), provider_of(&h, NULL)};
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-142");
    stage_begin(&s, list, 2);
    pdr_agent_free(s.agent);
    const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                   .client = &s.spy.base,
                                   .providers = list,
                                   .provider_count = 2,
                                   .window_turns = 1};
    ASSERT_RC(PDR_OK, pdr_agent_new(&s.agent, &parts, &err));
    for (size_t i = 1; i <= 3; i++) {
        ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
        ASSERT_SIZE(2 * i, pdr_value_count(shelf.list));
    }
    ASSERT_TEXT("hi/1 ok/1 hi/0 fact/2", pdr_buf_str(&s.spy.seen));
    stage_end(&s);
    pdr_value_free(shelf.list);
}

TEST(providers, leave_the_history_under_a_key_of_the_agent)
{
    static const char *const keys[] = {"mine", NULL};
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_stored_opts create = {.create = true};
    struct shelf shelf = {.list = NULL};
    struct helper h = {.name = "p"};
    const pdr_provider one = provider_of(&h, keys), other = shelf_of(&shelf);
    pdr_agent_parts parts = {.name = pdr_str_c("clerk"), .history_key = "mine"};
    pdr_agent *none = NULL;
    pdr_value *list = NULL;
    pdr_stored *stored = NULL;
    pdr_store *store = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-46");
    stage_begin(&s, NULL, 0);
    pdr_agent_free(s.agent);
    parts.client = &s.spy.base;
    ASSERT_RC(PDR_OK, pdr_agent_new(&s.agent, &parts, &err));
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_RC(PDR_OK, say(&s, NULL, NULL, &err));
    ASSERT_TEXT("hi/1 ok/1 hi/0", pdr_buf_str(&s.spy.seen));
    ASSERT_RC(PDR_OK, pdr_session_history_at(&list, s.session, "mine", &err));
    ASSERT_SIZE(4, pdr_value_count(list));
    pdr_value_free(list);
    ASSERT(!pdr_bag_has(pdr_session_bag(s.session),
                        pdr_str_c("InMemoryChatHistoryProvider")));
    /* In a store the history is entries, so there is no key to choose. */
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, &create, &err));
    ASSERT_RC(PDR_EINVALID, say(&s, stored, NULL, &err));
    ASSERT_STR("history_key", err.reason);
    ASSERT(strstr(err.message, "mine") != NULL);
    ASSERT_INT(2, s.spy.calls);
    pdr_stored_close(stored);
    pdr_store_close(store);
    /* Nobody else has the key, and it is one. */
    parts.providers = &one;
    parts.provider_count = 1;
    ASSERT_RC(PDR_EINVALID, pdr_agent_new(&none, &parts, &err));
    ASSERT_STR("state_key_clash", err.reason);
    parts.providers = &other;
    ASSERT_RC(PDR_EINVALID, pdr_agent_new(&none, &parts, &err));
    ASSERT_STR("two_histories", err.reason);
    parts.provider_count = 0;
    parts.history_key = " ";
    ASSERT_RC(PDR_EINVALID, pdr_agent_new(&none, &parts, &err));
    ASSERT_STR("key_blank", err.reason);
    stage_end(&s);
}

TEST(providers, of_history_can_be_replaced_for_a_run)
{
    static const char *const keys[] = {"shelf", NULL};
    static const char *const other[] = {"notes", NULL};
    struct shelf own = {.list = pdr_value_new_array()};
    struct shelf shelf = {.list = pdr_value_new_array()};
    struct helper h = {.name = "p"};
    const pdr_provider replaced = shelf_of(&shelf);
    pdr_provider list[] = {provider_of(&h, other), shelf_of(&own)};
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-33");
    COVERS("S-34");
    stage_begin(&s, list, 2);
    ASSERT_RC(PDR_OK, say(&s, NULL, &replaced, &err)); /* the same key */
    ASSERT_SIZE(2, pdr_value_count(shelf.list));
    ASSERT_SIZE(0, pdr_value_count(own.list));
    stage_end(&s);
    list[0] = provider_of(&h, keys);
    stage_begin(&s, list, 1);
    ASSERT_RC(PDR_EINVALID, say(&s, NULL, &replaced, &err));
    ASSERT_STR("state_key_clash", err.reason);
    ASSERT_INT(0, s.spy.calls);
    stage_end(&s);
    pdr_value_free(shelf.list);
    pdr_value_free(own.list);
}

TEST(providers, with_one_key_are_refused_when_the_agent_is_built)
{
    static const char *const one[] = {"a", "same", NULL};
    static const char *const two[] = {"same", NULL};
    static const char *const memory[] = {"InMemoryChatHistoryProvider", NULL};
    static const char *const pending[] = {"_pendingApprovalRequests", NULL};
    static const struct {
        const char *const *first, *const *second;
        const char *key;
    } cases[] = {
        {one, two, "same"},
        {memory, NULL, "InMemoryChatHistoryProvider"},
        {pending, NULL, "_pendingApprovalRequests"},
    };
    struct helper h = {.name = "p"};

    COVERS("S-30");
    COVERS("S-31");
    COVERS("S-35");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pdr_provider list[] = {provider_of(&h, cases[i].first),
                                     provider_of(&h, cases[i].second)};
        struct spy spy = {.calls = 0};
        pdr_agent *agent = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
        const pdr_agent_parts parts = {.client = &spy.base,
                                       .providers = list,
                                       .provider_count =
                                           cases[i].second != NULL ? 2 : 1};
        ASSERT_RC(PDR_EINVALID, pdr_agent_new(&agent, &parts, &err));
        ASSERT_STR("state_key_clash", err.reason);
        ASSERT(strstr(err.message, cases[i].key) != NULL);
        pdr_client_free(&spy.base);
    }
}

TEST(providers, of_context_and_history_may_not_share_a_key)
{
    static const char *const keys[] = {"drawer", NULL};
    struct shelf shelf = {.list = NULL};
    struct helper h = {.name = "helper"};
    pdr_provider history = shelf_of(&shelf);
    struct spy spy = {.calls = 0};

    COVERS("S-32");
    history.keys = keys;
    for (size_t first = 0; first < 2; first++) {
        pdr_provider list[2];
        pdr_agent *agent = NULL;
        pdr_err err = PDR_ERR_INIT;

        list[first] = provider_of(&h, keys);
        list[1 - first] = history;
        ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
        const pdr_agent_parts parts = {
            .client = &spy.base, .providers = list, .provider_count = 2};
        ASSERT_RC(PDR_EINVALID, pdr_agent_new(&agent, &parts, &err));
        ASSERT_STR("state_key_clash", err.reason);
        ASSERT_STR(first == 0 ? "shelf has the key 'drawer', which helper "
                                "uses; give it another one"
                              : "helper has the key 'drawer', which shelf "
                                "uses; give it another one",
                   err.message);
        ASSERT(agent == NULL);
        pdr_client_free(&spy.base);
    }
}

TEST(history, keeps_what_is_said_again)
{
    static const char text[] =
        "{\"role\":\"user\",\"contents\":[{\"$type\":\"text\",\"text\":"
        "\"hi\"}],\"additionalProperties\":{\"k\":1}}";
    pdr_value *message = NULL, *before = NULL;
    const pdr_value *messages[1];
    pdr_run run = {.messages = messages, .count = 1, .shape = PDR_SHAPE_DOTNET};
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-137");
    COVERS("S-147");
    stage_begin(&s, NULL, 0);
    run.session = s.session;
    ASSERT_RC(PDR_OK, pdr_json_read(&message, pdr_str_c(text), NULL, &err));
    ASSERT_RC(PDR_OK, pdr_json_read(&before, pdr_str_c(text), NULL, &err));
    messages[0] = message;
    for (size_t i = 1; i <= 3; i++) { /* the model answers the same, too */
        pdr_response *response = NULL;

        ASSERT_RC(PDR_OK, pdr_agent_run(&response, s.agent, &run, &err));
        ASSERT_SIZE(2 * i, history_count(&s));
        ASSERT(pdr_value_equal(before, message));
        pdr_response_free(response);
    }
    ASSERT_TEXT("hi/1 ok/1 hi/1 ok/1 hi/0", pdr_buf_str(&s.spy.seen));
    pdr_value_free(message);
    pdr_value_free(before);
    stage_end(&s);
}

/* --- wrappers ----------------------------------------------------------------
 */

/* A model that writes down all of a request. */
struct recorder {
    pdr_client base;
    pdr_buf all;
};

static pdr_rc recorder_send(pdr_client *self, const pdr_client_request *request,
                            pdr_err *err, pdr_update_fn fn, void *arg)
{
    pdr_buf *all = &((struct recorder *)self)->all;

    ASSERT_RC(PDR_OK, pdr_buf_append(all, request->instructions, err));
    if (request->options != NULL)
        ASSERT_RC(PDR_OK, pdr_json_write(all, request->options, NULL, err));
    for (size_t i = 0; i < request->count; i++)
        ASSERT_RC(PDR_OK,
                  pdr_json_write(all, request->messages[i].value, NULL, err));
    for (size_t i = 0; i < request->tool_count; i++) {
        ASSERT_RC(PDR_OK, pdr_buf_append(all, request->tools[i].name, err));
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(all, request->tools[i].description, err));
    }
    return fn(&(pdr_update){.role = pdr_str_c("assistant")}, err, arg);
}

static void recorder_free(pdr_client *self)
{
    pdr_buf_dispose(&((struct recorder *)self)->all);
}

static const pdr_client_ops recorder_ops = {PDR_CLIENT_OPS_VERSION, "recorder",
                                            recorder_send, recorder_free};

/* An agent in a wrapper with the property "tenant". */
struct wrapped {
    struct recorder model;
    pdr_agent_wrapper wrapper;
    pdr_value *tenant;
};

static void wrapped_begin(struct wrapped *w)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);
    const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                   .instructions = pdr_str_c("be kind"),
                                   .client = &w->model.base};
    pdr_agent *agent = NULL;

    memset(w, 0, sizeof(*w));
    w->model.all = none;
    ASSERT_RC(PDR_OK, pdr_client_init(&w->model.base, &recorder_ops, NULL));
    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, NULL));
    w->wrapper.agent = agent;
    ASSERT_RC(PDR_OK,
              pdr_value_new_string(&w->tenant, pdr_str_c("acme-4711"), NULL));
    ASSERT_RC(PDR_OK, pdr_properties_new(&w->wrapper.properties, NULL));
    ASSERT_RC(PDR_OK, pdr_properties_set(w->wrapper.properties,
                                         pdr_str_c("tenant"), w->tenant, NULL));
}

static void wrapped_end(struct wrapped *w)
{
    pdr_value_free(w->tenant);
    pdr_properties_free(w->wrapper.properties);
    pdr_agent_free(w->wrapper.agent);
    pdr_client_free(&w->model.base);
}

static void wrapped_say(struct wrapped *w, pdr_session *session,
                        pdr_stored *stored, const pdr_value *options)
{
    const pdr_run run = {.session = session,
                         .stored = stored,
                         .text = pdr_str_c("hi there"),
                         .options = options,
                         .now_ms = NOW};
    pdr_response *response = NULL;

    ASSERT_RC(PDR_OK, pdr_agent_run(&response, w->wrapper.agent, &run, NULL));
    pdr_response_free(response);
}

static bool has_text(const char *bytes, size_t len, const char *text)
{
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

TEST(wrappers, of_agents_reach_no_request_and_no_session)
{
    const pdr_session_parts parts = {.kind = PDR_SESSION_KIND_CLIENT};
    pdr_value *options = pdr_value_new_object(), *document = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_session *session = NULL;
    struct wrapped w;

    COVERS("S-113");
    wrapped_begin(&w);
    ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, NULL));
    wrapped_say(&w, session, NULL, NULL);
    wrapped_say(&w, session, NULL, NULL);
    ASSERT(has_text(w.model.all.ptr, w.model.all.len, "be kind"));
    ASSERT(!has_text(w.model.all.ptr, w.model.all.len, "acme"));
    ASSERT(!has_text(w.model.all.ptr, w.model.all.len, "tenant"));
    /* What the caller copies into the options of a run does get there. */
    ASSERT_RC(PDR_OK,
              pdr_value_set(&options, pdr_str_c("tenant"), w.tenant, NULL));
    wrapped_say(&w, session, NULL, options);
    ASSERT(has_text(w.model.all.ptr, w.model.all.len, "acme-4711"));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&document, session, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&text, document, NULL, NULL));
    ASSERT(has_text(text.ptr, text.len, "hi there"));
    ASSERT(!has_text(text.ptr, text.len, "acme"));
    ASSERT(!has_text(text.ptr, text.len, "tenant"));
    pdr_value_free(document);
    pdr_value_free(options);
    pdr_buf_dispose(&text);
    pdr_session_free(session);
    wrapped_end(&w);
}

TEST(wrappers, of_agents_are_not_in_the_file_of_a_store)
{
    const pdr_stored_opts create = {.create = true};
    const pdr_ref ref = {.id = pdr_str_c("s")};
    pdr_stored *stored = NULL;
    pdr_store *store = NULL;
    struct wrapped w;
    struct room room;
    char *bytes = NULL;
    size_t len = 0;

    COVERS("S-113");
    wrapped_begin(&w);
    room_enter(&room);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, room_path(&room, "s.db"), NULL));
    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, &create, NULL));
    wrapped_say(&w, NULL, stored, NULL);
    wrapped_say(&w, NULL, stored, NULL);
    pdr_stored_close(stored);
    pdr_store_close(store);
    bytes = room_get(&room, "s.db", &len);
    ASSERT(bytes != NULL && has_text(bytes, len, "hi there"));
    ASSERT(!has_text(bytes, len, "acme"));
    free(bytes);
    room_leave(&room);
    wrapped_end(&w);
}

TEST_OOM(providers, clean_up_after_any_failed_allocation)
{
    struct shelf shelf = {.list = pdr_value_new_array()};
    const pdr_tool tool = {.name = "t", .fn = tool_nothing};
    pdr_client *client = NULL;
    pdr_agent *agent = NULL;
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    const pdr_provider list[] = {shelf_of(&shelf)};
    ASSERT_RC(PDR_OK, pdr_client_script(
                          &client,
                          pdr_str_c("{\"replies\":[{\"text\":\"x\"}]}"), &err));
    test_pause_failures(false);
    const pdr_agent_parts parts = {.client = client,
                                   .instructions = pdr_str_c("i"),
                                   .tools = &tool,
                                   .tool_count = 1,
                                   .providers = list,
                                   .provider_count = 1};
    rc = pdr_agent_new(&agent, &parts, &err);
    if (rc == PDR_OK) {
        const pdr_run run = {.text = pdr_str_c("hi"), .history = &list[0]};

        rc = pdr_agent_run(&response, agent, &run, &err);
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_response_free(response);
    pdr_agent_free(agent);
    pdr_client_free(client);
    pdr_value_free(shelf.list);
    test_pause_failures(false);
}
