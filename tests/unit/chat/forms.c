/*
 * What a saved chat has, and what must not be in it, in every form.
 */
#include "chat_stage.h"

#include "base.h"

static const pdr_chat_save_opts forms[] = {
    {.form = PDR_CHAT_NATIVE},  {.form = PDR_CHAT_NATIVE, .is_encoded = true},
    {.form = PDR_CHAT_SK},      {.form = PDR_CHAT_PLAIN},
    {.form = PDR_CHAT_ENCODED},
};

static pdr_chat_state *state_saved(struct chat_stage *stage,
                                   const pdr_chat_save_opts *opts)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_str source;

    if (pdr_chat_save(stage->chat, opts, &err, pdr_write_buf, &text) != PDR_OK)
        fail_msg("not saved: %s", err.message);
    source = pdr_buf_str(&text);
    if (pdr_chat_open(&state, NULL, &err, pdr_read_str, &source) != PDR_OK)
        fail_msg("not opened: %s", err.message);
    pdr_buf_dispose(&text);
    return state;
}

TEST(save, of_two_agents_and_one_turn_has_one_channel)
{
    COVERS("C-74");
    for (size_t i = 0; i < PDR_COUNT(forms); i++) {
        const bool has_people =
            forms[i].form == PDR_CHAT_NATIVE || forms[i].form == PDR_CHAT_SK;
        struct chat_stage stage = {.count = 0};
        pdr_chat_state *state = NULL;
        pdr_chat_channel channel;

        chat_begin(&stage, "A B");
        chat_says(&stage, "Hi");
        chat_invokes(&stage, "A");
        state = state_saved(&stage, &forms[i]);
        ASSERT_SIZE(has_people ? 2 : 0,
                    pdr_chat_state_participant_count(state));
        ASSERT_INT(2, pdr_chat_state_message_count(state));
        ASSERT_SIZE(1, pdr_chat_state_channel_count(state));
        ASSERT(pdr_chat_state_channel(&channel, state, 0));
        ASSERT_INT(2, channel.cursor);
        pdr_chat_state_free(state);
        chat_end(&stage);
    }
}

/* --- what is never in it ----------------------------------------------------
 */

#define ENDPOINT "https://models.secret.example/v1"
#define SECRET   "sk-0123456789abcdef"

static const char *const never[] = {
    "You are the harbour master", /* instructions */
    "Counts the ships",           /* description of a tool */
    "count_ships",                /* its name */
    "how_many",                   /* its parameters */
    "Knows each berth",           /* description of the agent */
    "models.secret.example",      /* the service of its model */
    SECRET,
};

static pdr_rc tool_none(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    (void)call;
    (void)arg;
    return pdr_value_new_int64(out, 1, err);
}

/* An agent that has all of that, and the model of A. */
static void master_join(struct chat_stage *stage)
{
    const pdr_openai_opts openai = {
        .base_url = ENDPOINT, .model = "m", .api_key = SECRET};
    pdr_value *parameters = stage_json(
        "{\"type\":\"object\",\"properties\":{\"how_many\":{\"type\":"
        "\"integer\"}}}");
    const pdr_tool tool = {.name = "count_ships",
                           .description = "Counts the ships",
                           .parameters = parameters,
                           .fn = tool_none};
    pdr_agent_parts parts = {.id = S("master"),
                             .name = S("master"),
                             .description = S("Knows each berth"),
                             .instructions = S("You are the harbour master"),
                             .tools = &tool,
                             .tool_count = 1,
                             .client = &stage->members[0].model.base};
    pdr_chat_joining joining = {.agent = NULL};

    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage->chat, &joining, NULL));
    pdr_agent_free(joining.agent);
    ASSERT_RC(PDR_OK, pdr_client_openai(&parts.client, &openai, NULL));
    parts.id = S("far");
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage->chat, &joining, NULL));
    pdr_agent_free(joining.agent);
    pdr_client_free(parts.client);
    pdr_value_free(parameters);
}

TEST(save, has_nothing_of_what_agents_are)
{
    COVERS("C-77");
    static const char *const secrets[] = {SECRET, NULL};
    static const pdr_chat_save_opts clear = {.form = PDR_CHAT_NATIVE};
    struct chat_stage stage = {.opts = {.secrets = secrets}};

    chat_begin(&stage, "A @n");
    master_join(&stage);
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "master");
    chat_invokes(&stage, "n");
    ASSERT(memmem(stage.members[0].model.seen.ptr,
                  stage.members[0].model.seen.len, "Hi", 2) != NULL);
    for (size_t i = 0; i < PDR_COUNT(forms); i++) {
        /* As it is read back: base64 hides nothing from this. */
        pdr_chat_state *state = state_saved(&stage, &forms[i]);
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), plain = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK,
                  pdr_chat_state_write(state, NULL, pdr_write_buf, &text));
        ASSERT_RC(PDR_OK, pdr_chat_state_save(state, &clear, NULL,
                                              pdr_write_buf, &plain));
        ASSERT(memmem(plain.ptr, plain.len, "\"Hi\"", 4) != NULL);
        for (size_t k = 0; k < PDR_COUNT(never); k++) {
            ASSERT(memmem(text.ptr, text.len, never[k], strlen(never[k])) ==
                   NULL);
            ASSERT(memmem(plain.ptr, plain.len, never[k], strlen(never[k])) ==
                   NULL);
        }
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&plain);
        pdr_chat_state_free(state);
    }
    chat_end(&stage);
}
