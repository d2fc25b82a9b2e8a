/*
 * Durable runs without memory at any one place, on the thread of the test:
 * nothing leaks, each is carried out in the end, and what must not be repeated
 * is not.
 */
#include <perdure/durable.h>
#include <perdure/stream.h>
#include <perdure/sys/client.h>

#include "agent_stage.h"
#include "engine.h"
#include "fault_store.h"
#include "test.h"

#define S pdr_str_c

/* More than a buffer has room for at first. */
#define LONG                                                                \
    "It is a long story, and whoever tells it to somebody needs more than " \
    "a few words, and more than one breath, to come to its end. So be it."

static const char script[] =
    "{\"replies\":[{\"after\":\"added\",\"reasoning\":\"hm\",\"text\":[\"so \","
    "\"{result}\"],\"usage\":{\"inputTokenCount\":7},\"finish\":\"length\"},"
    "{\"after\":\"look\",\"calls\":[{\"name\":\"book\",\"id\":\"1\"}]},"
    "{\"after\":\"book\",\"calls\":[{\"name\":\"added\",\"id\":\"1\"}]},"
    "{\"user\":\"go\",\"text\":\"Let me see.\",\"reasoning\":\"first look\","
    "\"calls\":[{\"name\":\"look\",\"arguments\":{\"n\":1}}],"
    "\"usage\":{\"inputTokenCount\":5}},{\"user\":\"long\",\"text\":"
    "\"" LONG "\"},{\"user\":\"bad\",\"fail\":"
    "\"it will not do\"},{\"user\":\"slow\",\"text\":\"at last\","
    "\"delay_ms\":3600000},{\"text\":\"Hi.\"}]}";

static const pdr_ref session = {{NULL, 0}, {"@dafx-clerk@k1", 14}};

/* A process without threads. Its model fails for now when it is asked for the
 * n-th time; or the process dies in the tool "book", as far as the store is
 * concerned. */
struct scene {
    pdr_client base; /* first */
    pdr_client *script;
    unsigned asked, fails_at;
    bool fails_late; /* after its answer */
    bool dies_in_book;
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

    pdr_rc rc = PDR_OK;

    s->asked++;
    if (s->asked != s->fails_at || s->fails_late)
        rc = pdr_client_send(s->script, request, err, fn, arg);
    if (s->asked == s->fails_at)
        rc = pdr_err_set(err, PDR_EIO, "scene_failed", "for now");
    return rc;
}

static void model_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "scene",
                                         model_send, model_free};

static pdr_rc tool_book(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    struct scene *s = arg;

    if (s->dies_in_book)
        fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 1});
    s->dies_in_book = false;
    return stage_tool(out, call, err, &s->booked);
}

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
        rc = pdr_context_add_instructions(context, S(LONG), err);
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

static void scene_begin(struct scene *s, unsigned max_attempts,
                        uint32_t timeout_ms)
{
    static const char *const keys[] = {"adder", NULL};
    const pdr_engine_opts opts = {.max_attempts = max_attempts};
    pdr_value *schema = stage_json(
        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}");
    pdr_value *options = stage_json("{\"temperature\":1,\"seed\":42}");

    memset(s, 0, sizeof(*s));
    s->now_ms = STAGE_NOW;
    s->world = *pdr__world_system();
    s->world.ctx = s;
    s->world.now_ms = world_now;
    s->world.start = world_start;
    const pdr_tool tools[] = {{.name = "look",
                               .description = "looks at it",
                               .parameters = schema,
                               .fn = stage_tool,
                               .arg = &s->looked,
                               .is_repeatable = true},
                              {.name = "book", .fn = tool_book, .arg = s}};
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
    const pdr_durable_agent agents[] = {
        {.agent = s->agent, .timeout_ms = timeout_ms}};
    const pdr_durable_opts durable = {.agents = agents, .count = 1};
    ASSERT_RC(PDR_OK, pdr_durable_new(&s->durable, &durable, NULL));
    fault_store_register();
    fault_store_set(&(struct fault_plan){.nth = 0});
    ASSERT_RC(PDR_OK, pdr_store_open(&s->store, "fault:memory:", NULL));
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
        rc = pdr__claim_due(&task, s->engine, &session,
                            pdr__memo_take(s->engine, key), &why);
    if (task != NULL) {
        pdr__seat_set(s->engine, task);
        rc = kind->ops->run(task, &why, kind->self);
    }
    test_pause_failures(true);
    if (task != NULL)
        pdr__task_settle(task, rc, &why);
    if (is_seated && (task == NULL || !task->is_left))
        pdr__seat_leave(s->engine, &session, key);
    pdr__task_free(task);
    s->now_ms += 30000; /* whatever it has left is due */
    return rc;
}

/* A run has ended so. */
static void scene_ended(struct scene *s, const char *id,
                        pdr_operation_state state)
{
    pdr_ending *ending = NULL;

    ASSERT_RC(PDR_OK,
              pdr_engine_wait(&ending, s->engine, &session, S(id), 0, NULL));
    ASSERT_INT(state, ending->state);
    ASSERT(ending->answer.ptr != NULL);
    pdr_ending_free(ending);
}

/* The history is this or that. */
static void scene_is(struct scene *s, const char *history, const char *or_that)
{
    pdr_stored *stored = NULL;
    pdr_stored_window *window = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

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

#define GO                                                                   \
    "{\"message\":\"go\",\"enableToolNames\":[\"look\",\"book\",\"added\"]," \
    "\"more\":[1]}"
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
    scene_begin(&s, 1000, 0);
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
    scene_ended(&s, "c1", PDR_OPERATION_COMPLETED);
    scene_is(&s, WENT("book did {}"), WENT(UNKNOWN));
    scene_end(&s);
    test_pause_failures(false);
}

#define BEFORE "user:Hello | assistant:Hi. | "

/* Somebody took a run over, which had come to the third question, or died in
 * the tool "book". */
static void taken_over(bool dies_in_book)
{
    struct scene s;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    scene_begin(&s, 1000, 0);
    ASSERT_RC(PDR_OK, scene_send(&s, "run", "c0", "{\"message\":\"Hello\"}"));
    ASSERT_RC(PDR_OK, scene_work(&s));
    ASSERT_RC(PDR_OK, scene_send(&s, "run", "c1", GO));
    s.fails_at = dies_in_book ? 0 : s.asked + 3;
    s.dies_in_book = dies_in_book;
    ASSERT_RC(PDR_EIO, scene_work(&s));
    test_pause_failures(false);
    rc = scene_work(&s);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, scene_work(&s));
    scene_ended(&s, "c1", PDR_OPERATION_COMPLETED);
    scene_is(&s,
             dies_in_book ? BEFORE WENT(UNKNOWN) : BEFORE WENT("book did {}"),
             NULL);
    ASSERT_INT(1, s.looked);
    ASSERT_INT(1, s.booked);
    scene_end(&s);
    test_pause_failures(false);
}

TEST_OOM(durable_memory, of_a_run_that_is_taken_over)
{
    taken_over(false);
}

TEST_OOM(durable_memory, of_a_run_that_died_in_a_tool)
{
    taken_over(true);
}

/* Runs that end with an error, in the claim or later. */
TEST_OOM(durable_memory, of_runs_that_fail)
{
    static const struct {
        const char *input;
        unsigned fails_at, max_attempts;
        uint32_t timeout_ms;
        bool is_cancelled;
        pdr_operation_state state;
    } cases[] = {
        {"{\"message\":\"bad\"}", 0, 1000, 0, false, PDR_OPERATION_FAILED},
        {"{\"message\":\"slow\"}", 0, 1000, 1, false, PDR_OPERATION_FAILED},
        {"{\"message\":\"go\"}", 2, 1, 0, false, PDR_OPERATION_FAILED},
        {"{\"message\":\"go\"}", 2, 9, 0, true, PDR_OPERATION_CANCELLED},
        {"{\"messages\":[]}", 0, 1000, 0, false, PDR_OPERATION_COMPLETED},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct scene s;
        pdr_rc rc = PDR_OK;

        test_pause_failures(true);
        scene_begin(&s, cases[i].max_attempts, cases[i].timeout_ms);
        ASSERT_RC(PDR_OK, scene_send(&s, "run", "c1", cases[i].input));
        s.fails_at = cases[i].fails_at;
        if (s.fails_at > 0)
            ASSERT_RC(PDR_EIO, scene_work(&s));
        if (cases[i].is_cancelled)
            ASSERT_RC(PDR_OK,
                      pdr_engine_cancel(s.engine, &session, S("c1"), NULL));
        test_pause_failures(false);
        rc = scene_work(&s);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        if (rc != PDR_OK)
            ASSERT_RC(PDR_OK, scene_work(&s));
        scene_ended(&s, "c1", cases[i].state);
        scene_end(&s);
        test_pause_failures(false);
        if (rc != PDR_OK)
            break; /* the others are as they were when nothing failed */
    }
}

/* Sent, and carried out, or nothing has changed. */
static void scene_does(struct scene *s, const char *name, const char *id)
{
    pdr_rc rc = PDR_OK;

    test_pause_failures(false);
    rc = scene_send(s, name, id, "null");
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, scene_send(s, name, id, "null"));
}

TEST_OOM(durable_memory, of_other_operations)
{
    struct scene s;
    pdr_stored *stored = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    scene_begin(&s, 1000, 0);
    ASSERT_RC(PDR_OK, scene_send(&s, "run", "c1", GO));
    ASSERT_RC(PDR_OK, scene_work(&s));
    scene_does(&s, "get", "c2");
    scene_does(&s, "reset", "c3");
    test_pause_failures(false);
    rc = scene_work(&s);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, scene_work(&s));
    scene_is(&s, "", NULL);
    scene_does(&s, "delete", "c4");
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_stored_open(&stored, s.store, &session, NULL, NULL));
    scene_end(&s);
    test_pause_failures(false);
}

TEST_OOM(durable_memory, of_the_table_of_agents)
{
    struct scene s;
    pdr_durable *durable = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    scene_begin(&s, 1000, 0);
    const pdr_durable_agent agents[] = {{.agent = s.agent}};
    const pdr_durable_opts opts = {
        .agents = agents, .count = 1, .only = {S("tenant"), session.id}};
    test_pause_failures(false);
    rc = pdr_durable_new(&durable, &opts, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((durable != NULL) == (rc == PDR_OK));
    pdr_durable_free(durable);
    test_pause_failures(true);
    scene_end(&s);
    test_pause_failures(false);
}

/* --- events ----------------------------------------------------------------
 */

/* All events of a run. */
static pdr_rc stream_text(pdr_buf *out, struct scene *s)
{
    const pdr_stream_opts opts = {.session = session,
                                  .correlation_id = S("c1")};
    pdr_stream *stream = NULL;
    pdr_stream_event event = {.kind = S("none")};
    pdr_rc rc = pdr_stream_open(&stream, s->store, &opts, NULL);

    while (rc == PDR_OK && event.kind.ptr != NULL) {
        rc = pdr_stream_next(&event, stream, 0, NULL);
        if (rc == PDR_ENOMEM) { /* once more, with memory */
            test_pause_failures(true);
            rc = pdr_stream_next(&event, stream, 0, NULL);
        }
        if (rc == PDR_OK && event.kind.ptr != NULL)
            rc = pdr_buf_printf(out, NULL, "%.*s %.*s\n", (int)event.kind.len,
                                event.kind.ptr, (int)event.data.len,
                                event.data.ptr);
    }
    pdr_stream_close(stream);
    return rc;
}

TEST_OOM(durable_memory, of_a_reader_of_events)
{
    for (int are_gone = 0; are_gone < 2; are_gone++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        struct scene s;
        pdr_rc rc = PDR_OK;

        test_pause_failures(true);
        scene_begin(&s, 1000, 0);
        ASSERT_RC(PDR_OK,
                  scene_send(&s, "run", "c1", "{\"message\":\"long\"}"));
        ASSERT_RC(PDR_OK, scene_work(&s));
        if (are_gone) {
            struct pdr__house house = {PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                                       PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};

            pdr__house_keep(s.engine, &house, s.now_ms + 3600000);
        }
        test_pause_failures(false);
        rc = stream_text(&text, &s);
        test_pause_failures(true);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        if (rc != PDR_OK) {
            pdr_buf_clear(&text);
            ASSERT_RC(PDR_OK, stream_text(&text, &s));
        }
        ASSERT_TEXT("message {\"text\":\"" LONG "\"}\ndone {}\n",
                    pdr_buf_str(&text));
        pdr_buf_dispose(&text);
        scene_end(&s);
        test_pause_failures(false);
    }
}

/* --- attempts --------------------------------------------------------------
 */

/* A run says more than a page of events has, and then it has to begin again. */
TEST(attempt, makes_void_all_that_was_said_before)
{
    static const char piece[] = "message {\"text\":\"a\"}\n";
    const size_t pieces = 2 * PDR_MAX_PAGE_ROWS + 50, len = strlen(piece);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), expected = PDR_BUF_INIT(SIZE_MAX);
    struct scene s;

    scene_begin(&s, 1000, 0);
    pdr_client_free(s.script);
    for (size_t i = 0; i < pieces; i++) {
        ASSERT_RC(PDR_OK, pdr_buf_append(&text,
                                         i == 0 ? S("{\"replies\":[{\"text\":["
                                                    "\"a\"")
                                                : S(",\"a\""),
                                         NULL));
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&expected, pdr_str_n(piece, len), NULL));
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, S("]}]}"), NULL));
    ASSERT_RC(PDR_OK, pdr_client_script(&s.script, pdr_buf_str(&text), NULL));
    ASSERT_RC(PDR_OK, scene_send(&s, "run", "c1", "{\"message\":\"x\"}"));
    s.fails_at = 1;
    s.fails_late = true;
    ASSERT_RC(PDR_EIO, scene_work(&s));
    ASSERT_RC(PDR_OK, scene_work(&s));
    pdr_buf_clear(&text);
    ASSERT_RC(PDR_OK, stream_text(&text, &s));
    ASSERT_RC(PDR_OK, pdr_buf_append(
                          &expected,
                          S("attempt {\"attempt\":2,\"counts\":0}\n"), NULL));
    for (size_t i = 0; i < pieces; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&expected, pdr_str_n(piece, len), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&expected, S("done {}\n"), NULL));
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&text));
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&text);
    scene_end(&s);
}
