/*
 * Saved chats that Semantic Kernel wrote, restored with agents that fit, and
 * written again.
 */
#include "chat_stage.h"

#include "base.h"

/* --- a channel that keeps a text --------------------------------------------
 * The agents of these files that are neither chat agents nor assistants.
 */

static pdr_rc handle_key(pdr_buf *out, const pdr_chat_agent *agent,
                         pdr_err *err)
{
    const char *key = agent->arg;

    return pdr_buf_append(out, pdr_str_n(key, strlen(key) + 1), err);
}

static pdr_rc handle_sk_key(pdr_buf *out, const pdr_chat_agent *agent,
                            pdr_err *err)
{
    pdr_rc rc =
        pdr_buf_append(out, pdr_str_n("Example.Chat.HandleChannel", 27), err);

    return rc == PDR_OK ? handle_key(out, agent, err) : rc;
}

static pdr_rc handle_create(void **self, const pdr_chat_agent *agent,
                            pdr_cancel *cancel, pdr_err *err)
{
    pdr_value *text = NULL;

    (void)agent;
    (void)cancel;
    ASSERT_RC(PDR_OK, pdr_value_new_string(&text, S("new"), err));
    *self = text;
    return PDR_OK;
}

static pdr_rc handle_restore(void **self, const pdr_chat_agent *agent,
                             const pdr_chat_link *link, uint32_t state_version,
                             bool is_exchange, const pdr_value *state,
                             pdr_err *err)
{
    (void)agent;
    (void)link;
    (void)state_version;
    (void)is_exchange;
    (void)err;
    *self = pdr_value_ref(state);
    return PDR_OK;
}

static pdr_rc handle_receive(void *self, const pdr_chat_message *message,
                             pdr_cancel *cancel, pdr_err *err)
{
    (void)self;
    (void)message;
    (void)cancel;
    (void)err;
    return PDR_OK;
}

static pdr_rc handle_invoke(void *self, const pdr_chat_agent *agent,
                            pdr_chat_link *link, pdr_err *err)
{
    (void)self;
    (void)agent;
    (void)link;
    (void)err;
    return PDR_OK;
}

static pdr_rc handle_read(void *self, const pdr_chat_link *link, pdr_err *err,
                          pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                       void *arg),
                          void *arg)
{
    (void)self;
    (void)link;
    (void)err;
    (void)fn;
    (void)arg;
    return PDR_OK;
}

static pdr_rc handle_save(pdr_value **out, void *self,
                          const pdr_chat_link *link, pdr_err *err)
{
    (void)link;
    (void)err;
    *out = pdr_value_ref(self);
    return PDR_OK;
}

static pdr_rc handle_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    (void)self;
    (void)cancel;
    (void)err;
    return PDR_OK;
}

static void handle_release(void *self)
{
    pdr_value_free(self);
}

static const pdr_channel_kind handle_kind = {
    .version = PDR_CHANNEL_KIND_VERSION,
    .id = "x-test.handle",
    .state_version = 1,
    .key = handle_key,
    .exchange_key = handle_sk_key,
    .agent_type = "Example.Chat.HandleAgent",
    .channel_type = "Example.Chat.HandleChannel",
    .create = handle_create,
    .restore = handle_restore,
    .receive = handle_receive,
    .invoke = handle_invoke,
    .read = handle_read,
    .save = handle_save,
    .reset = handle_reset,
    .release = handle_release,
};

/* An assistant is a text, too: that of its thread. Its key cannot be known. */
static pdr_channel_kind assistant_kind;

/* --- the files
 * ----------------------------------------------------------------
 */

/* Agents by the number of the participant: 'c' chat agent, 'r' one with a
 * reducer, 'h' one with a text under the next of `keys`, 'a' an assistant, 'g'
 * an aggregate of `inside`, '-' nobody. */
struct file {
    const char *path;
    const char *agents;
    const char *keys;
    bool is_other; /* it doubles agents, or some are missing: not as it was */
    const char *report;
    const pdr_aggregate *inside;
};

/* Agents of a chat inside. */
struct inner {
    const char *id, *name;
    char kind;
    void *arg;
};

static pdr_rc inner_make(pdr_chat **out, pdr_err *err, void *arg);

static struct inner desk[] = {{"agent-writer", "Writer", 'c', NULL},
                              {"agent-editor", "Editor", 'c', NULL},
                              {NULL, NULL, '-', NULL}};
static struct inner innermost[] = {{"agent-leaf", "Leaf", 'c', NULL},
                                   {"agent-till", "Till", 'h', "till"},
                                   {NULL, NULL, '-', NULL}};
static pdr_aggregate of_innermost = {.make = inner_make, .arg = innermost};
static struct inner middle[] = {{"agent-inner", "Inner", 'g', &of_innermost},
                                {"agent-side", "Side", 'c', NULL},
                                {NULL, NULL, '-', NULL}};
static const pdr_aggregate of_desk = {.make = inner_make, .arg = desk};
static const pdr_aggregate of_middle = {.make = inner_make, .arg = middle};

static const struct file files[] = {
    {"02-history-only.json", "cc", "", false, "enhanced: to create ", NULL},
    {"03-one-channel-two-agents.json", "cc", "", false, "equivalent: ", NULL},
    {"04-history-and-thread.json", "ca", "", false, "equivalent: ", NULL},
    {"05-thread-only.json", "a", "", false, "equivalent: ", NULL},
    {"06-tool-calls.json", "c", "", false, "equivalent: ", NULL},
    {"07-contents.json", "c", "", false, "equivalent: ", NULL},
    {"08-authors-and-roles.json", "cccc", "", true, "equivalent: ", NULL},
    {"09-metadata.json", "c", "", false, "equivalent: ", NULL},
    {"10-escapes.json", "c", "", false, "equivalent: ", NULL},
    {"11-truncated-channel.json", "rc", "", false, "equivalent: ", NULL},
    {"12-summarised-channel.json", "r", "", false, "equivalent: ", NULL},
    {"13-aggregator-nested.json", "-c", "", true, "reduced: ", NULL},
    {"14-aggregator-flat.json", "-c", "", true, "reduced: ", NULL},
    {"13-aggregator-nested.json", "gc", "", false, "equivalent: ", &of_desk},
    {"14-aggregator-flat.json", "gc", "", false, "equivalent: ", &of_desk},
    {"15-chat-in-chat-in-chat.json", "g", "", false,
     "equivalent: ", &of_middle},
    {"16-after-streaming.json", "c", "", false, "equivalent: ", NULL},
    {"17-state-forms.json", "hhhhhhhhh",
     "plain base64 number empty quoted open padded array object", false,
     "equivalent: ", NULL},
    {"18-camel-compact.json", "ch", "handle", false, "equivalent: ", NULL},
    {"19-relaxed-encoder.json", "ch", "handle", false, "equivalent: ", NULL},
    {"20-saved-inside-a-turn.json", "ch", "handle", false,
     "equivalent: ", NULL},
    {"21-several-messages-in-a-turn.json", "c", "", false,
     "equivalent: ", NULL},
};

/* From which message on a channel of these is not what the log says; 0: it is,
 * or its beginning was reduced. */
static const struct {
    const char *path;
    uint64_t seq;
} syncs[] = {{"07-contents.json", 0},
             {"08-authors-and-roles.json", 0},
             {"11-truncated-channel.json", 0},
             {"12-summarised-channel.json", 0},
             {"20-saved-inside-a-turn.json", 3},
             {"21-several-messages-in-a-turn.json", 4}};

static pdr_client *client;

static void participant_join(pdr_chat *chat, const pdr_chat_participant *who,
                             char kind, void *arg)
{
    pdr_agent_parts parts = {.id = who->id, .client = client};
    pdr_chat_joining joining = {.arg = arg};

    if (who->name.ptr != NULL)
        parts.name = who->name;
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    if (kind == 'h')
        joining.kind = &handle_kind;
    if (kind == 'a')
        joining.kind = &assistant_kind;
    if (kind == 'g')
        joining.kind = pdr_channel_aggregate();
    if (kind == 'r')
        joining.reduction = (pdr_reduction){.target = 3};
    if (kind != '-')
        ASSERT_RC(PDR_OK, pdr_chat_join(chat, &joining, NULL));
    pdr_agent_free(joining.agent);
}

static pdr_rc inner_make(pdr_chat **out, pdr_err *err, void *arg)
{
    pdr_rc rc = pdr_chat_new(out, NULL, err);

    for (struct inner *at = arg; at->id != NULL && rc == PDR_OK; at++)
        participant_join(
            *out, &(pdr_chat_participant){.id = S(at->id), .name = S(at->name)},
            at->kind, at->arg);
    return rc;
}

static void sync_check(const char *path, const pdr_chat_report *report)
{
    uint64_t seq = 0;

    for (size_t i = 0; i < report->count; i++) {
        if (report->rows[i].what == PDR_CHAT_OUT_OF_SYNC)
            seq = report->rows[i].seq;
    }
    for (size_t i = 0; i < PDR_COUNT(syncs); i++) {
        if (strcmp(path, syncs[i].path) == 0)
            ASSERT_INT(syncs[i].seq, seq);
    }
}

static void file_play(const struct file *file)
{
    static const pdr_channel_kind *const kinds[] = {&handle_kind, NULL};
    const pdr_chat_opts opts = {.kinds = kinds};
    const pdr_chat_save_opts sk = {.form = PDR_CHAT_SK, .is_strict = true};
    char path[100], keys[200], *key = keys;
    struct chat_stage stage = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX), out = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_participant who;
    pdr_chat_state *state = NULL;
    pdr_chat_report *told = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool is_same = false;
    size_t len = 0;

    snprintf(path, sizeof(path), "dotnet/chat/%s", file->path);
    snprintf(keys, sizeof(keys), "%s", file->keys);
    char *text = test_read_data(path, &len);
    pdr_str source = pdr_str_n(text, len);
    if (pdr_chat_open(&state, NULL, &err, pdr_read_str, &source) != PDR_OK)
        fail_msg("%s: %s", path, err.message);
    ASSERT_RC(PDR_OK, pdr_chat_new(&stage.chat, &opts, NULL));
    for (size_t i = 0; pdr_chat_state_participant(&who, state, i); i++) {
        char kind = file->agents[i], *next = strchr(key, ' ');

        if (next != NULL)
            *next = '\0';
        participant_join(stage.chat, &who, kind,
                         kind == 'g'   ? (void *)(uintptr_t)file->inside
                         : kind == 'a' ? keys + strlen(keys)
                                       : key);
        if (kind == 'h' && next != NULL)
            key = next + 1;
        else if (next != NULL)
            *next = ' ';
    }
    if (pdr_chat_apply(&told, stage.chat, state, NULL, &err) != PDR_OK)
        fail_msg("%s: %s", path, err.message);
    chat_report(&report, told);
    sync_check(file->path, told);
    pdr_chat_report_free(told);
    if (memmem(report.ptr, report.len, file->report, strlen(file->report)) !=
        report.ptr)
        fail_msg("%s: %.*s", path, (int)report.len, report.ptr);
    ASSERT_INT(pdr_chat_state_message_count(state),
               pdr_chat_message_count(stage.chat));
    if (pdr_chat_save(stage.chat, &sk, &err, pdr_write_buf, &out) != PDR_OK)
        fail_msg("%s: %s", path, err.message);
    is_same = out.len == len && memcmp(out.ptr, text, len) == 0;
    if (is_same == file->is_other)
        fail_msg("%s: it is written as\n%.*s", path, (int)out.len, out.ptr);
    pdr_chat_free(stage.chat);
    pdr_chat_state_free(state);
    pdr_buf_dispose(&report);
    pdr_buf_dispose(&out);
    free(text);
}

static void kinds_begin(void)
{
    assistant_kind = handle_kind;
    assistant_kind.id = "x-test.assistant";
    assistant_kind.exchange_key = NULL;
    assistant_kind.agent_type =
        "Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantAgent";
    assistant_kind.channel_type =
        "Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantChannel";
    ASSERT_RC(PDR_OK,
              pdr_client_script(&client, S("{\"replies\":[{\"text\":\"x\"}]}"),
                                NULL));
}

TEST(file, of_semantic_kernel_is_restored_and_written_as_it_was)
{
    COVERS("C-111");
    COVERS("C-113");

    kinds_begin();
    for (size_t i = 0; i < PDR_COUNT(files); i++)
        file_play(&files[i]);
    pdr_client_free(client);
}

/* Keys that nobody can compute: the channel comes back with the one agent that
 * can have it, also if that joins later. */
TEST(file, gives_a_channel_to_an_agent_that_joins_later)
{
    static const struct {
        const char *path, *before, *later; /* agents; 'A': an assistant, too */
        const char *key; /* of the channel, as far as it goes */
        size_t channels; /* then */
    } rows[] = {{"04-history-and-thread.json", "c", "a", "QVPVnCN6X", 2},
                {"04-history-and-thread.json", "c", "aA", "QVPVnCN6X", 4},
                {"04-history-and-thread.json", "caA", "", "QVPVnCN6X", 4},
                {"11-truncated-channel.json", "c", "r", "0jYbzPiUv", 2},
                {"12-summarised-channel.json", "h", "r", "5aiV5QmsA", 1}};

    kinds_begin();
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_chat_channel channel;
        pdr_chat_state *state = NULL;
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        size_t len = 0, channels = 0;
        char path[100], kinds[8];
        pdr_str source;

        snprintf(path, sizeof(path), "dotnet/chat/%s", rows[i].path);
        snprintf(kinds, sizeof(kinds), "%s%s", rows[i].before, rows[i].later);
        char *text = test_read_data(path, &len);
        ASSERT_RC(PDR_OK, pdr_chat_new(&stage.chat, NULL, NULL));
        for (size_t k = 0; kinds[k] != '\0'; k++) {
            const pdr_chat_participant who = {.id = pdr_str_n(&kinds[k], 1)};

            if (k == strlen(rows[i].before))
                ASSERT_RC(PDR_OK,
                          chat_restore(NULL, &stage, pdr_str_n(text, len), NULL,
                                       NULL));
            participant_join(stage.chat, &who, kinds[k] == 'A' ? 'a' : kinds[k],
                             kinds[k] == 'A' ? "A" : "a");
        }
        if (rows[i].later[0] == '\0')
            ASSERT_RC(PDR_OK, chat_restore(NULL, &stage, pdr_str_n(text, len),
                                           NULL, NULL));
        for (size_t k = 0; kinds[k] != '\0'; k++) {
            if (kinds[k] != 'h')
                ASSERT_RC(PDR_OK,
                          pdr_chat_invoke(stage.chat, pdr_str_n(&kinds[k], 1),
                                          NULL, NULL));
        }
        chat_save(&out, &stage, PDR_CHAT_SK);
        if (memmem(out.ptr, out.len, rows[i].key, 9) == NULL)
            fail_msg("%s, %s: %.*s", path, kinds, (int)out.len, out.ptr);
        chat_save(&out, &stage, PDR_CHAT_NATIVE);
        source = pdr_buf_str(&out);
        ASSERT_RC(PDR_OK,
                  pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source));
        while (pdr_chat_state_channel(&channel, state, channels))
            channels++;
        if (channels != rows[i].channels)
            fail_msg("%s, %s: %zu channels", path, kinds, channels);
        pdr_chat_state_free(state);
        pdr_chat_free(stage.chat);
        pdr_buf_dispose(&out);
        free(text);
    }
    pdr_client_free(client);
}

/* Nobody takes part in the first file; so nobody is missing, and yet nobody is
 * there. */
TEST(file, without_agents_is_restored_when_somebody_is_there)
{
    COVERS("C-85");
    struct chat_stage empty = {.count = 0}, stage = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_joining joining = {.agent = NULL};
    pdr_err err = PDR_ERR_INIT;
    size_t len = 0;
    char *text = test_read_data("dotnet/chat/01-empty.json", &len);

    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, pdr_chat_new(&empty.chat, NULL, NULL));
    ASSERT_RC(PDR_ENOTFOUND,
              chat_restore(NULL, &empty, pdr_str_n(text, len), NULL, &err));
    ASSERT_STR("no_agents", err.reason);
    ASSERT_INT(0, pdr_chat_message_count(empty.chat));
    ASSERT_SIZE(0, pdr_chat_agent_count(empty.chat));
    ASSERT(!pdr_chat_is_active(empty.chat));
    joining.agent = stage.members[0].agent;
    ASSERT_RC(PDR_OK, pdr_chat_join(empty.chat, &joining, NULL));
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &empty, pdr_str_n(text, len), NULL, NULL));
    ASSERT_TEXT("enhanced: to create chat-history", pdr_buf_str(&report));
    chat_says(&empty, "Hi");
    chat_runs(&empty);
    chat_is("user:Hi | A:A 1", &empty);
    pdr_chat_free(empty.chat);
    chat_end(&stage);
    pdr_buf_dispose(&report);
    free(text);
}
