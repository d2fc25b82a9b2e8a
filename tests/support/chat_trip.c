/*
 * chat_trip.c - saved chats, opened and written by tests. See chat_trip.h.
 */
#include "chat_trip.h"

const pdr_chat_key chat_key = {
    {"k1", 2},
    {"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F"
     "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F",
     32}};

const char chat_sk[] =
    "{\n  \"Participants\": [\n"
    "    { \"Id\": \"7d0f7a52-2f8e-4f0e-9a35-1c7a5f5f0a11\", \"Name\": "
    "\"Poet\", \"Type\": "
    "\"Microsoft.SemanticKernel.Agents.ChatCompletionAgent\" },\n"
    "    { \"Id\": \"asst_demo\", \"Name\": \"Counter\", \"Type\": "
    "\"Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantAgent\" }\n"
    "  ],\n  \"History\": " CHAT_HISTORY ",\n  \"Channels\": [\n"
    "    { \"ChannelKey\": \"" CHAT_THREAD_KEY "\", \"ChannelType\": "
    "\"Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantChannel\", "
    "\"ChannelState\": \"thread_demo01\" },\n"
    "    { \"ChannelKey\": \"" CHAT_HISTORY_KEY "\", \"ChannelType\": "
    "\"Microsoft.SemanticKernel.Agents.ChatHistoryChannel\", "
    "\"ChannelState\": " CHAT_HISTORY " }\n  ]\n}\n";

const char chat_encoded[] =
    "{\"history\":\""
    "W3siQXV0aG9yTmFtZSI6bnVsbCwiUm9sZSI6eyJMYWJlbCI6InVzZXIifSwiSXRlbXMiOlt7"
    "IiR0eXBlIjoiVGV4dENvbnRlbnQiLCJUZXh0IjoiMSJ9XX0seyJBdXRob3JOYW1lIjoiQ291"
    "bnRlciIsIlJvbGUiOnsiTGFiZWwiOiJhc3Npc3RhbnQifSwiSXRlbXMiOlt7IiR0eXBlIjoi"
    "VGV4dENvbnRlbnQiLCJUZXh0IjoiMiJ9XX1d\","
    "\"channels\":[{\"channelkey\":\"" CHAT_THREAD_KEY "\","
    "\"channelstate\":\"dGhyZWFkX2RlbW8wMQ==\"}]}";

const char chat_plain[] =
    "{\"history\":[{\"role\":\"user\",\"items\":[{\"$type\":\"TextContent\","
    "\"Text\":\"1\"}]},{\"role\":\"assistant\",\"name\":\"Counter\",\"items\":"
    "[{\"$type\":\"TextContent\",\"Text\":\"2\"}]}],\"channels\":[{"
    "\"channelkey\":\"" CHAT_THREAD_KEY "\",\"channelstate\":"
    "\"thread_demo01\"}]}";

pdr_rc chat_open(pdr_chat_state **out, pdr_str text,
                 const pdr_chat_open_opts *opts, pdr_err *err)
{
    return pdr_chat_open(out, opts, err, pdr_read_str, &text);
}

pdr_chat_state *chat_opened(pdr_str text)
{
    pdr_chat_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (chat_open(&state, text, NULL, &err) != PDR_OK)
        fail_msg("%s: %s (%s)", err.reason, err.message, err.path);
    return state;
}

pdr_chat_state *chat_file(char **text, size_t *len, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "dotnet/chat/%s", name);
    *text = test_read_data(path, len);
    return chat_opened(pdr_str_n(*text, *len));
}

void chat_forget(pdr_chat_state *state)
{
    pdr_value_free(state->document);
    state->document = NULL;
    for (size_t i = 0; i < state->participant_count; i++) {
        pdr_value_free(state->participants[i].source);
        state->participants[i].source = NULL;
    }
    for (size_t i = 0; i < state->channel_count; i++) {
        pdr_value_free(state->channels[i].source);
        state->channels[i].source = NULL;
    }
}

pdr_rc chat_write(pdr_buf *out, const pdr_chat_state *state,
                  const pdr_chat_save_opts *opts, pdr_err *err)
{
    return pdr__chat_write(state, opts, err, pdr_write_buf, out);
}

pdr_buf chat_written(const pdr_chat_state *state, pdr_chat_form form)
{
    pdr_chat_save_opts opts = {.form = form};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    if (chat_write(&out, state, &opts, &err) != PDR_OK)
        fail_msg("%s: %s (%s)", err.reason, err.message, err.path);
    return out;
}

bool chat_has(const pdr_buf *out, const char *text)
{
    return memmem(out->ptr, out->len, text, strlen(text)) != NULL;
}

static void assert_same(pdr_str a, pdr_str b)
{
    ASSERT((a.ptr == NULL) == (b.ptr == NULL));
    ASSERT_BYTES(a, b);
}

void chat_assert_equal(const pdr_chat_state *a, const pdr_chat_state *b)
{
    ASSERT_SIZE(a->participant_count, b->participant_count);
    for (size_t i = 0; i < a->participant_count; i++) {
        assert_same(a->participants[i].id, b->participants[i].id);
        assert_same(a->participants[i].name, b->participants[i].name);
        assert_same(a->participants[i].type, b->participants[i].type);
    }
    ASSERT_SIZE(a->log_count, b->log_count);
    for (size_t i = 0; i < a->log_count; i++)
        ASSERT(pdr_value_equal(a->log[i].value, b->log[i].value));
    ASSERT_SIZE(a->channel_count, b->channel_count);
    for (size_t i = 0; i < a->channel_count; i++) {
        assert_same(a->channels[i].sk_key, b->channels[i].sk_key);
        assert_same(a->channels[i].type, b->channels[i].type);
        ASSERT(pdr_value_equal(a->channels[i].state, b->channels[i].state));
    }
}
