/*
 * Runs in which everything happens, without memory at any one place: they end
 * with an error, leak nothing, and leave the history whole or as it was.
 */
#include "agent_stage.h"
#include "fault_store.h"
#include "test.h"

static const char script[] =
    "{\"replies\":[{\"after\":\"look\",\"reasoning\":\"hm\",\"text\":[\"so \","
    "\"{result}\"],\"delay_ms\":1,\"finish\":\"length\"},{\"user\":\"go\","
    "\"calls\":[{\"name\":\"look\",\"id\":\"{user}\",\"arguments\":\"{\\\"n\\\""
    ":1}\"},{\"name\":\"look\",\"arguments\":{\"n\":\"x\"}},{\"name\":"
    "\"added\"}]},{\"text\":\"x\"}]}";

/* A provider that adds one of each. */
static pdr_rc add_all(pdr_context *context, const pdr_run_info *run,
                      pdr_err *err, void *self)
{
    const pdr_tool tool = {
        .name = "added", .description = "more", .fn = stage_tool, .arg = self};
    pdr_value *message = NULL;
    pdr_rc rc =
        pdr_message_new_text(&message, PDR_SHAPE_PYTHON, pdr_str_c("user"),
                             pdr_str_c("context"), err);

    (void)run;
    if (rc == PDR_OK)
        rc = pdr_context_add_message(context, message, PDR_SHAPE_PYTHON, err);
    if (rc == PDR_OK)
        rc = pdr_context_add_instructions(context, pdr_str_c("Be kind."), err);
    if (rc == PDR_OK)
        rc = pdr_context_add_tool(context, &tool, err);
    pdr_value_free(message);
    return rc;
}

/* What a run needs; made with all the memory there is. */
struct scene {
    pdr_client *client;
    pdr_value *schema, *options, *own_options, *message;
    pdr_agent *agent;
    pdr_store *store;
    pdr_stored *stored;
    int ran;
};

static void scene_begin(struct scene *s, const char *uri, const char *id)
{
    const pdr_ref ref = {.id = pdr_str_c(id)};
    const pdr_stored_opts create = {.create = true};
    const pdr_commit_options now = {.now_ms = STAGE_NOW};
    const pdr_value *const *list = (const pdr_value *const *)&s->message;
    static const char *const keys[] = {"adder", NULL};

    memset(s, 0, sizeof(*s));
    s->schema = stage_json("{\"type\":\"object\",\"properties\":{\"n\":{"
                           "\"type\":\"integer\"}}}");
    s->options = stage_json("{\"temperature\":1}");
    s->own_options = stage_json("{\"seed\":1}");
    s->message = stage_json("{\"type\":\"message\",\"role\":\"user\","
                            "\"contents\":[{\"type\":\"text\",\"text\":"
                            "\"go first\"}]}");
    const pdr_tool tools[] = {{.name = "look",
                               .description = "looks",
                               .parameters = s->schema,
                               .fn = stage_tool,
                               .arg = &s->ran}};
    const pdr_provider providers[] = {{.name = "adder",
                                       .kind = PDR_PROVIDER_CONTEXT,
                                       .keys = keys,
                                       .self = &s->ran,
                                       .before = add_all}};
    ASSERT_RC(PDR_OK, pdr_client_script(&s->client, pdr_str_c(script), NULL));
    const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                   .instructions = pdr_str_c("Be brief."),
                                   .client = s->client,
                                   .tools = tools,
                                   .tool_count = 1,
                                   .providers = providers,
                                   .provider_count = 1,
                                   .options = s->options,
                                   .window_messages = 10};
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_store_open(&s->store, uri, NULL));
    ASSERT_RC(PDR_OK,
              pdr_stored_open(&s->stored, s->store, &ref, &create, NULL));
    ASSERT_RC(PDR_OK,
              pdr_inject(NULL, s->stored, list, 1, PDR_SHAPE_PYTHON, NULL));
    ASSERT_RC(PDR_OK, pdr_stored_commit(s->stored, &now, NULL));
    pdr_stored_close(s->stored);
    ASSERT_RC(PDR_OK, pdr_stored_open(&s->stored, s->store, &ref, NULL, NULL));
}

static void scene_end(struct scene *s)
{
    pdr_stored_close(s->stored);
    pdr_store_close(s->store);
    pdr_agent_free(s->agent);
    pdr_client_free(s->client);
    pdr_value_free(s->message);
    pdr_value_free(s->own_options);
    pdr_value_free(s->options);
    pdr_value_free(s->schema);
}

static pdr_run scene_run(struct scene *s)
{
    return (pdr_run){.stored = s->stored,
                     .messages = (const pdr_value *const *)&s->message,
                     .count = 1,
                     .shape = PDR_SHAPE_PYTHON,
                     .text = pdr_str_c("go"),
                     .options = s->own_options,
                     .now_ms = STAGE_NOW};
}

/* How many messages the session has now, and how many wait in it. */
static size_t count_stored(struct scene *s, size_t *waiting)
{
    const pdr_str key =
        pdr_str_c("MessageInjectingChatClient.PendingInjectedMessages");
    pdr_stored_window *window = NULL;
    pdr_value *queue = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_stored_reload(s->stored, NULL));
    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s->stored, 0, 0, NULL));
    count = window->count;
    pdr_stored_window_free(window);
    ASSERT_RC(PDR_OK, pdr_stored_load(s->stored, &key, 1, NULL));
    ASSERT_RC(PDR_OK,
              pdr_bag_get(&queue,
                          pdr_session_bag(pdr_stored_session(s->stored)), key,
                          NULL));
    *waiting = pdr_value_count(queue);
    pdr_value_free(queue);
    return count;
}

TEST_OOM(agent_memory, of_a_run_in_which_everything_happens)
{
    static const char *const ids[] = {"s", "@dafx-clerk@k"};

    for (size_t i = 0; i < 2; i++) {
        pdr_response *response = NULL;
        pdr_err err = PDR_ERR_INIT;
        struct scene s;
        size_t count = 0, waiting = 0;
        pdr_rc rc = PDR_OK;

        test_pause_failures(true);
        scene_begin(&s, "memory:", ids[i]);
        test_pause_failures(false);
        const pdr_run run = scene_run(&s);
        rc = pdr_agent_run(&response, s.agent, &run, &err);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        pdr_response_free(response);
        test_pause_failures(true);
        count = count_stored(&s, &waiting);
        if (rc == PDR_OK ? count != 6 || waiting != 0
                         : count != 0 || waiting != 1)
            fail_msg("%s: %d, %zu messages, %zu wait", ids[i], rc, count,
                     waiting);
        scene_end(&s);
        test_pause_failures(false);
    }
}

TEST_OOM(agent_memory, of_a_run_that_cannot_be_stored)
{
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct scene s;
    size_t waiting = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    fault_store_register();
    scene_begin(&s, "fault:memory:", "s");
    fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 1});
    test_pause_failures(false);
    const pdr_run run = scene_run(&s);
    rc = pdr_agent_run(&response, s.agent, &run, &err);
    ASSERT(rc == PDR_EIO || rc == PDR_ENOMEM);
    pdr_response_free(response);
    test_pause_failures(true);
    fault_store_set(&(struct fault_plan){.nth = 0});
    ASSERT_SIZE(0, count_stored(&s, &waiting));
    ASSERT_SIZE(1, waiting);
    scene_end(&s);
    test_pause_failures(false);
}

TEST_OOM(agent_memory, of_messages_from_outside)
{
    const pdr_value *const *list = NULL;
    struct scene s;
    size_t waiting = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    scene_begin(&s, "memory:", "s");
    list = (const pdr_value *const *)&s.message;
    test_pause_failures(false);
    rc = pdr_inject(NULL, s.stored, list, 1, PDR_SHAPE_PYTHON, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    ASSERT_SIZE(0, count_stored(&s, &waiting)); /* was not committed */
    ASSERT_SIZE(1, waiting);
    scene_end(&s);
    test_pause_failures(false);
}

TEST_OOM(agent_memory, of_a_script)
{
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_client_script(&client, pdr_str_c(script), &err);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_client_free(client);
    rc = pdr_client_script(
        &client, pdr_str_c("{\"replies\":[{\"calls\":[{\"x\":1}]}]}"), &err);
    ASSERT(rc == PDR_EINVALID || rc == PDR_ENOMEM);
}
