/*
 * Durable runs without memory at any one place, on the thread of the test:
 * nothing leaks, each is carried out in the end, and what must not be repeated
 * is not.
 */
#include <perdure/durable.h>
#include <perdure/sys/client.h>

#include "agent_stage.h"
#include "engine.h"
#include "test.h"

#define S pdr_str_c

static const char script[] =
    "{\"replies\":[{\"after\":\"added\",\"reasoning\":\"hm\",\"text\":[\"so \","
    "\"{result}\"],\"usage\":{\"inputTokenCount\":7}},"
    "{\"after\":\"look\",\"calls\":[{\"name\":\"book\",\"id\":\"1\"}]},"
    "{\"after\":\"book\",\"calls\":[{\"name\":\"added\",\"id\":\"1\"}]},"
    "{\"user\":\"go\",\"text\":\"Let me see.\",\"reasoning\":\"first look\","
    "\"calls\":[{\"name\":\"look\",\"arguments\":{\"n\":1}}],"
    "\"usage\":{\"inputTokenCount\":5}},{\"text\":\"Hi.\"}]}";

static const pdr_ref session = {{NULL, 0}, {"@dafx-clerk@k1", 14}};

/* A process without threads. Its model fails for now when it is asked for the
 * n-th time. */
struct scene {
    pdr_client base; /* first */
    pdr_client *script;
    unsigned asked, fails_at;
    int looked, booked, added;
    int64_t now_ms;
    struct pdr__world world;
    pdr_store *store;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
};

static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct scene *s = (struct scene *)self;

    if (++s->asked == s->fails_at)
        return pdr_err_set(err, PDR_EIO, "scene_failed", "for now");
    return pdr_client_send(s->script, request, err, fn, arg);
}

static void model_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "scene",
                                         model_send, model_free};

/* A provider that adds one of each, and counts runs in the bag. */
static pdr_rc add_all(pdr_context *context, const pdr_run_info *run,
                      pdr_err *err, void *self)
{
    struct scene *s = self;
    const pdr_tool tool = {.name = "added",
                           .description = "more of it",
                           .fn = stage_tool,
                           .arg = &s->added,
                           .is_repeatable = true};
    pdr_value *message = NULL, *count = NULL;
    pdr_rc rc = pdr_message_new_text(&message, PDR_SHAPE_PYTHON, S("user"),
                                     S("what the provider knows of it"), err);

    if (rc == PDR_OK)
        rc = pdr_context_add_message(context, message, PDR_SHAPE_PYTHON, err);
    if (rc == PDR_OK)
        rc = pdr_context_add_instructions(context, S("Be kind to them."), err);
    if (rc == PDR_OK)
        rc = pdr_context_add_tool(context, &tool, err);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(&count, S("once"), err);
    if (rc == PDR_OK)
        rc = pdr_bag_set(pdr_session_bag(run->session), S("adder"), count, err);
    pdr_value_free(count);
    pdr_value_free(message);
    return rc;
}

static bool world_start(void *ctx, pthread_t *out, void *(*fn)(void *),
                        void *arg)
{
    (void)ctx;
    (void)out;
    (void)fn;
    (void)arg;
    return false;
}

static int64_t world_now(void *ctx)
{
    return ((struct scene *)ctx)->now_ms;
}

static void scene_begin(struct scene *s)
{
    static const char *const keys[] = {"adder", NULL};
    const pdr_engine_opts opts = {.max_attempts = 1000};
    pdr_value *schema = stage_json(
        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}");
    pdr_value *options = stage_json("{\"temperature\":1,\"seed\":42}");

    memset(s, 0, sizeof(*s));
    s->now_ms = STAGE_NOW;
    s->world = *pdr__world_system();
    s->world.ctx = s;
    s->world.now_ms = world_now;
    s->world.start = world_start;
    const pdr_tool tools[] = {
        {.name = "look",
         .description = "looks at it",
         .parameters = schema,
         .fn = stage_tool,
         .arg = &s->looked,
         .is_repeatable = true},
        {.name = "book", .fn = stage_tool, .arg = &s->booked}};
    const pdr_provider providers[] = {{.name = "adder",
                                       .kind = PDR_PROVIDER_CONTEXT,
                                       .keys = keys,
                                       .self = s,
                                       .before = add_all}};
    const pdr_agent_parts parts = {.name = S("Clerk"),
                                   .instructions = S("Be brief."),
                                   .client = &s->base,
                                   .tools = tools,
                                   .tool_count = 2,
                                   .providers = providers,
                                   .provider_count = 1,
                                   .options = options};
    ASSERT_RC(PDR_OK, pdr_client_script(&s->script, S(script), NULL));
    ASSERT_RC(PDR_OK, pdr_client_init(&s->base, &model_ops, NULL));
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, NULL));
    const pdr_durable_agent agents[] = {{.agent = s->agent}};
    const pdr_durable_opts durable = {.agents = agents, .count = 1};
    ASSERT_RC(PDR_OK, pdr_durable_new(&s->durable, &durable, NULL));
    ASSERT_RC(PDR_OK, pdr_store_open(&s->store, "memory:", NULL));
    ASSERT_RC(PDR_OK,
              pdr__engine_new(&s->engine, s->store, &opts, &s->world, NULL));
    ASSERT_RC(PDR_OK, pdr_durable_attach(s->engine, s->durable, NULL));
    pdr_value_free(options);
    pdr_value_free(schema);
}

static void scene_end(struct scene *s)
{
    pdr_engine_free(s->engine);
    pdr_store_close(s->store);
    pdr_durable_free(s->durable);
    pdr_agent_free(s->agent);
    pdr_client_free(s->script);
}

static pdr_rc scene_send(struct scene *s, const char *name, const char *id,
                         const char *input)
{
    const pdr_operation operation = {.session = session,
                                     .name = S(name),
                                     .input = S(input),
                                     .correlation_id = S(id)};

    return pdr_engine_send(NULL, s->engine, &operation, NULL);
}

/* Claim what is due, and run it, as a worker does; what it leaves is settled
 * with memory. */
static pdr_rc scene_work(struct scene *s)
{
    const struct pdr__kind *kind = pdr__engine_kind(s->engine, session.id);
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, &session);
    pdr_task *task = NULL;
    pdr_err why = PDR_ERR_INIT;
    bool is_seated = pdr__seat_take(s->engine, &session, key);
    pdr_rc rc = PDR_ENOMEM;

    if (is_seated)
        rc = pdr__claim_due(&task, s->engine, &session, &why);
    if (task != NULL) {
        pdr__seat_set(s->engine, task);
        rc = kind->ops->run(task, &why, kind->self);
    }
    test_pause_failures(true);
    if (task != NULL)
        pdr__task_settle(task, rc, &why);
    if (is_seated && (task == NULL || !task->is_finished))
        pdr__seat_leave(s->engine, &session, key);
    pdr__task_free(task);
    s->now_ms += 30000; /* whatever it has left is due */
    return rc;
}

/* The run has ended, and the history is this or that. */
static void scene_is(struct scene *s, const char *id, const char *history,
                     const char *or_that)
{
    pdr_ending *ending = NULL;
    pdr_stored *stored = NULL;
    pdr_stored_window *window = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK,
              pdr_engine_wait(&ending, s->engine, &session, S(id), 0, NULL));
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    pdr_ending_free(ending);
    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, s->store, &session, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, stored, 0, 0, NULL));
    for (size_t i = 0; i < window->count; i++)
        stage_describe(&text, window->messages[i].value,
                       pdr_stored_shape(stored));
    if (or_that == NULL || !pdr_str_equal(S(or_that), pdr_buf_str(&text)))
        ASSERT_TEXT(history, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_stored_window_free(window);
    pdr_stored_close(stored);
}

#define GO "{\"message\":\"go\",\"response_format\":null,\"more\":[1]}"
#define WENT(book)                                                            \
    "user:go | assistant:first look+Let me see.+call look | tool:= look did " \
    "{\"n\":1} | assistant:call book | tool:= " book                          \
    " | assistant:call added | tool:= added did {} | assistant:hm+so added "  \
    "did {}"
#define UNKNOWN                                                             \
    "Error: The outcome of this call is unknown: the process that made it " \
    "ended before the tool did. Find out what happened before you call it " \
    "again."

/* --- the tests -------------------------------------------------------------
 */

TEST_OOM(durable_memory, of_what_is_sent_and_run)
{
    struct scene s;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    scene_begin(&s);
    test_pause_failures(false);
    rc = scene_send(&s, "run", "c1", GO);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, scene_send(&s, "run", "c1", GO));
    test_pause_failures(false);
    rc = scene_work(&s);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, scene_work(&s));
    ASSERT(s.booked <= 1); /* it may have ended in between */
    scene_is(&s, "c1", WENT("book did {}"), WENT(UNKNOWN));
    scene_end(&s);
    test_pause_failures(false);
}

TEST_OOM(durable_memory, of_a_run_that_is_taken_over)
{
    struct scene s;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    scene_begin(&s);
    ASSERT_RC(PDR_OK, scene_send(&s, "run", "c0", "{\"message\":\"Hello\"}"));
    ASSERT_RC(PDR_OK, scene_work(&s));
    ASSERT_RC(PDR_OK, scene_send(&s, "run", "c1", GO));
    s.fails_at = s.asked + 3; /* the calls of "look" and "book" have ended */
    ASSERT_RC(PDR_EIO, scene_work(&s));
    test_pause_failures(false);
    rc = scene_work(&s);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, scene_work(&s));
    scene_is(&s, "c1", "user:Hello | assistant:Hi. | " WENT("book did {}"),
             NULL);
    ASSERT_INT(1, s.looked);
    ASSERT_INT(1, s.booked);
    scene_end(&s);
    test_pause_failures(false);
}
