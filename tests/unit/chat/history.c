/*
 * What chat agents see of a chat: which messages, in whose words, under which
 * key, and what becomes of it when it is restored.
 */
#include "chat_stage.h"

#include <perdure/json.h>

#include "base.h"

#define MESSAGE(author, role, items)                         \
    "{\"AuthorName\":" author ",\"Role\":{\"Label\":\"" role \
    "\"},\"Items\":[" items "]}"
#define TEXT(text) "{\"$type\":\"TextContent\",\"Text\":\"" text "\"}"
#define FILE_9     "{\"$type\":\"FileReferenceContent\",\"FileId\":\"file-9\"}"
#define CALL \
    "{\"$type\":\"FunctionCallContent\",\"Id\":\"c\",\"FunctionName\":\"f\"}"
#define RESULT \
    "{\"$type\":\"FunctionResultContent\",\"CallId\":\"c\",\"Result\":\"r\"}"
#define IMAGE \
    "{\"$type\":\"ImageContent\",\"Uri\":\"https://img.example/a.png\"}"
#define STRANGE "{\"$type\":\"HologramContent\",\"Beam\":1.50}"

static void add_json(struct chat_stage *stage, const char *json)
{
    pdr_value *message = stage_json(json);

    ASSERT_RC(PDR_OK,
              pdr_chat_add(stage->chat, (const pdr_value *const *)&message, 1,
                           PDR_SHAPE_SK, NULL));
    pdr_value_free(message);
}

static pdr_rc restore_text(pdr_buf *report, struct chat_stage *stage,
                           const char *text, pdr_err *err)
{
    pdr_rc rc = chat_restore(report, stage, S(text), NULL, err);

    if (rc != PDR_OK)
        print_message("%s\n", err->message);
    return rc;
}

/* --- keys -----------------------------------------------------------------
 */

/* The same in any process and on any machine: the keys are written down here.
 */
TEST(key, says_who_shares_a_channel)
{
    COVERS("C-5");
    COVERS("C-6");
    static const struct {
        pdr_reduction reduction;
        pdr_chat_adapter adapter;
        const char *key;
    } cases[] = {
        {.key = "k2:5-GlugHHdTQr6TS8PcNamK1hA8_NCBxtSNPVCbZCCM4"},
        {.key = "k2:5-GlugHHdTQr6TS8PcNamK1hA8_NCBxtSNPVCbZCCM4"},
        {.reduction = {.target = 10, .threshold = 5},
         .key = "k2:V0TpzIjcwQRMFGyomTkZyjAg2m2KBfWuIAhWvSOgcII"},
        {.reduction = {.target = 10, .threshold = 5},
         .key = "k2:V0TpzIjcwQRMFGyomTkZyjAg2m2KBfWuIAhWvSOgcII"},
        {.reduction = {.target = 11, .threshold = 5},
         .key = "k2:sJemRtLPkEDKsH5TMQnT8B_S5Qv3h4R4dO97efOezmo"},
        {.reduction = {.target = 10, .threshold = 6},
         .key = "k2:MxtGBroBAYRj5rqvs5wenQF51In52-rmk6Rn-8weTls"},
        {.adapter = {.others_as_user = true},
         .key = "k2:bCvII1nVbVZooj4fXpOZxeoX5r3uhDWghWb89GDWaUw"},
    };
    struct chat_stage stage = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    pdr_chat_participant who;

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        stage.members[i].reduction = cases[i].reduction;
        stage.members[i].adapter = cases[i].adapter;
    }
    chat_begin(&stage, "A B C D E F G");
    for (size_t i = 0; i < stage.count; i++)
        chat_invokes(&stage, stage.members[i].name);
    chat_save(&text, &stage, PDR_CHAT_NATIVE);
    pdr_str source = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK, pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source));
    ASSERT_SIZE(5, pdr_chat_state_channel_count(state));
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        ASSERT(pdr_chat_state_participant(&who, state, i));
        ASSERT_TEXT(cases[i].key, who.key);
    }
    pdr_chat_state_free(state);
    pdr_buf_dispose(&text);
    chat_end(&stage);
}

/* --- which messages ---------------------------------------------------------
 */

TEST(history, has_what_a_model_can_use)
{
    COVERS("C-98");
    static const struct {
        const char *items;
        size_t kept; /* items that are seen; 0: the message is not */
    } cases[] = {
        {"", 0},
        {TEXT(""), 0},
        {TEXT(" "), 1},
        {FILE_9, 0},
        {TEXT("see") "," FILE_9, 2},
        {CALL, 1},
        {RESULT, 1},
        {IMAGE, 1},
        {TEXT("") "," TEXT("second"), 2},
        {"{\"$type\":\"ReasoningContent\",\"Text\":\"hm\"}", 0},
        {STRANGE, 0},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *list = NULL, *added = NULL;

        chat_begin(&stage, "A");
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s%s%s%c",
                                         "{\"AuthorName\":null,\"Role\":{"
                                         "\"Label\":\"user\"},\"Items\":[",
                                         cases[i].items, "]}", 0));
        add_json(&stage, text.ptr);
        added = stage_json(text.ptr);
        chat_invokes(&stage, "A");
        ASSERT_RC(PDR_OK, pdr_chat_read_as(&list, stage.chat, S("A"), true,
                                           NULL, NULL));
        if (pdr_value_count(list) != (cases[i].kept > 0) + 1u)
            fail_msg("%s: %zu messages", cases[i].items, pdr_value_count(list));
        ASSERT_INT(2, pdr_chat_message_count(stage.chat)); /* it is there */
        if (cases[i].kept > 0) /* whole, as it was said */
            ASSERT(pdr_value_equal(added, pdr_value_at(list, 0)));
        ASSERT_INT(cases[i].kept > 0, stage.members[0].model.seen.len > 0);
        pdr_value_free(list);
        pdr_value_free(added);
        pdr_buf_dispose(&text);
        chat_end(&stage);
    }
}

TEST(history, carries_what_nobody_knows)
{
    COVERS("C-96");
    static const char saved[] =
        "{\n  \"Participants\": [],\n  \"History\": "
        "[" MESSAGE("null", "user", STRANGE) "," MESSAGE(
            "null", "user",
            TEXT("look") "," STRANGE) "],\n  \"Channels\": []\n}";
    struct chat_stage stage = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, restore_text(NULL, &stage, saved, &err));
    chat_invokes(&stage, "A");
    ASSERT(memmem(stage.members[0].model.seen.ptr,
                  stage.members[0].model.seen.len, "user:look",
                  9) == stage.members[0].model.seen.ptr);
    for (int native = 0; native < 2; native++) {
        chat_save(&text, &stage, native ? PDR_CHAT_NATIVE : PDR_CHAT_SK);
        ASSERT(memmem(text.ptr, text.len, MESSAGE("null", "user", STRANGE),
                      sizeof(MESSAGE("null", "user", STRANGE)) - 1) != NULL);
        ASSERT(memmem(text.ptr, text.len, TEXT("look") "," STRANGE,
                      sizeof(TEXT("look") "," STRANGE) - 1) != NULL);
    }
    pdr_buf_dispose(&text);
    chat_end(&stage);
}

/* --- in whose words ---------------------------------------------------------
 */

struct telling {
    pdr_chat_adapter adapter;
    const char *seen; /* by A, when it speaks for the second time */
};

TEST(adapter, tells_an_agent_what_others_said)
{
    COVERS("C-101");
    static const struct telling cases[] = {
        {{.traffic = PDR_TRAFFIC_KEEP},
         "user:Hi | assistant:A 1 | assistant:call look | "
         "tool:= look did {} | assistant:done | assistant:C 1"},
        {{.others_as_user = true},
         "user:Hi | assistant:A 1 | assistant:call look | "
         "tool:= look did {} | user:done | user:C 1"},
        {{.others_as_user = true, .traffic = PDR_TRAFFIC_TEXT},
         "user:Hi | assistant:A 1 | user:done | user:C 1"},
        {{.traffic = PDR_TRAFFIC_DROP, .has_names = true},
         "user:Hi | assistant:A 1 | assistant:B: done | assistant:C: C 1"},
    };
    static const char *const steps[] = {"call look {}", "say done", NULL};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {.count = 0};

        chat_steps(&stage, 1, steps);
        stage.members[0].adapter = cases[i].adapter;
        chat_begin(&stage, "A B C");
        chat_says(&stage, "Hi");
        chat_invokes(&stage, "A");
        chat_invokes(&stage, "B");
        chat_invokes(&stage, "C");
        chat_invokes(&stage, "A");
        ASSERT_TEXT(cases[i].seen, pdr_buf_str(&stage.members[0].model.seen));
        chat_is("user:Hi | A:A 1 | (B:call look) | (B:= look did {}) | B:done "
                "| C:C 1 | A:A 2",
                &stage);
        chat_end(&stage);
    }
}

/* A model that notes whose messages it gets. */
struct noting {
    pdr_client base;
    pdr_client *inner;
    char names[200];
};

static pdr_rc names_note(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct noting *n = (struct noting *)self;

    n->names[0] = '\0';
    for (size_t i = 0; i < request->count; i++) {
        const pdr_value *author = pdr_message_author(
            request->messages[i].value, request->messages[i].shape);
        pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
        size_t len = strlen(n->names);
        pdr_str name = S("-");

        if (author != NULL)
            ASSERT_RC(PDR_OK, pdr_value_text(&name, author, &scratch, NULL));
        snprintf(n->names + len, sizeof(n->names) - len, "%.*s ", (int)name.len,
                 name.ptr);
        pdr_buf_dispose(&scratch);
    }
    return n->inner->ops->send(n->inner, request, err, fn, arg);
}

static void client_nothing(pdr_client *self)
{
    (void)self;
}

TEST(adapter, sends_the_names_of_others)
{
    COVERS("C-101");
    static const pdr_client_ops ops = {.version = PDR_CLIENT_OPS_VERSION,
                                       .name = "noting",
                                       .send = names_note,
                                       .free = client_nothing};
    struct chat_stage stage = {.count = 0};
    struct noting noting = {.inner = NULL};
    pdr_chat_joining joining = {.adapter = {.others_as_user = true}};

    chat_begin(&stage, "A B");
    ASSERT_RC(PDR_OK, pdr_client_init(&noting.base, &ops, NULL));
    noting.inner = &stage.members[0].model.base;
    const pdr_agent_parts parts = {
        .id = S("N"), .name = S("N"), .client = &noting.base};
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage.chat, &joining, NULL));
    pdr_agent_free(joining.agent);
    chat_invokes(&stage, "B");
    chat_invokes(&stage, "N");
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "N");
    ASSERT_STR("B N - ", noting.names);
    pdr_client_free(&noting.base);
    ASSERT_TEXT("user:B 1 | assistant:A 1 | user:Hi",
                pdr_buf_str(&stage.members[0].model.seen));
    chat_end(&stage);
}

TEST(adapter, is_refused_if_there_is_no_such)
{
    struct chat_stage stage = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A");
    pdr_chat_joining joining = {.agent = stage.members[0].agent};
    joining.adapter.traffic = 3;
    ASSERT_RC(PDR_EMISUSE, pdr_chat_join(stage.chat, &joining, &err));
    ASSERT_STR("bad_option", err.reason);
    chat_end(&stage);
}

/* Agents with and without one are restored to channels of their own. */
TEST(adapter, is_there_after_a_restore)
{
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    from.members[1].adapter.others_as_user = true;
    to.members[0].adapter.others_as_user = true;
    chat_begin(&from, "A B");
    chat_invokes(&from, "A");
    chat_invokes(&from, "B");
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_begin(&to, "B A");
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &to, pdr_buf_str(&text), NULL, &err));
    ASSERT_TEXT("equivalent: restored chat-history | restored chat-history",
                pdr_buf_str(&report));
    chat_invokes(&to, "B");
    ASSERT_TEXT("user:A 1 | assistant:B 1",
                pdr_buf_str(&to.members[0].model.seen));
    chat_end(&from);
    chat_end(&to);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* --- restored ---------------------------------------------------------------
 */

#define SK(history, key, type, state)                                     \
    "{\"Participants\":[],\"History\":[" history                          \
    "],\"Channels\":[{\"ChannelKey\":\"" key "\",\"ChannelType\":\"" type \
    "\",\"ChannelState\":" state "}]}"
#define CHAT_KEY  "Vdx37EnWT9BS+kkCkEgFCg9uHvHNw1+hXMA4sgNMKs4="
#define CHAT_TYPE "Microsoft.SemanticKernel.Agents.ChatHistoryChannel"
#define OTHER_TYPE \
    "Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantChannel"
#define ONE   MESSAGE("null", "user", TEXT("1"))
#define TWO   MESSAGE("\"A\"", "assistant", TEXT("2"))
#define THREE MESSAGE("null", "user", TEXT("3"))

TEST(history, that_is_not_what_the_log_says_is_kept)
{
    COVERS("C-113");
    static const struct {
        const char *name, *saved, *sees;
        bool is_in_sync;
    } cases[] = {
        {"equal", SK(ONE "," TWO, CHAT_KEY, CHAT_TYPE, "[" ONE "," TWO "]"),
         "user:1 | A:2", true},
        {"doubled",
         SK(ONE "," TWO, CHAT_KEY, CHAT_TYPE, "[" ONE "," TWO "," TWO "]"),
         "user:1 | A:2 | A:2", false},
        {"lost",
         SK(ONE "," TWO "," THREE, CHAT_KEY, CHAT_TYPE, "[" ONE "," THREE "]"),
         "user:1 | user:3", false},
        {"ahead", SK(ONE, CHAT_KEY, CHAT_TYPE, "[" ONE "," TWO "]"),
         "user:1 | A:2", false},
        {"swapped",
         SK(ONE "," THREE, CHAT_KEY, CHAT_TYPE, "[" THREE "," ONE "]"),
         "user:3 | user:1", false},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&stage, "A");
        ASSERT_RC(PDR_OK, restore_text(&report, &stage, cases[i].saved, &err));
        chat_sees(cases[i].sees, &stage, "A");
        if ((memmem(report.ptr, report.len, " | out ", 7) == NULL) !=
            cases[i].is_in_sync)
            fail_msg("%s: %.*s", cases[i].name, (int)report.len, report.ptr);
        chat_invokes(&stage, "A"); /* it goes on from there */
        pdr_buf_dispose(&report);
        chat_end(&stage);
    }
}

/* The key of an object is equal by accident: the type of the channel tells, or
 * the channel itself. */
TEST(channel, of_another_kind_is_not_used)
{
    COVERS("C-108");
    static const char saved[] =
        SK(ONE "," TWO, CHAT_KEY, OTHER_TYPE, "\"thread_1\"");
    struct chat_stage stage = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, restore_text(&report, &stage, saved, &err));
    ASSERT_TEXT("mixed: to create chat-history | parked " OTHER_TYPE,
                pdr_buf_str(&report));
    chat_invokes(&stage, "A");
    chat_sees("user:1 | A:2 | A:A 1", &stage, "A");
    chat_save(&text, &stage, PDR_CHAT_NATIVE);
    ASSERT(memmem(text.ptr, text.len, "\"thread_1\"", 10) != NULL);
    chat_save(&text, &stage, PDR_CHAT_SK); /* it keeps its key there */
    chat_end(&stage);
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &stage, pdr_buf_str(&text), NULL, &err));
    ASSERT_TEXT("mixed: to create chat-history | parked " OTHER_TYPE,
                pdr_buf_str(&report));
    chat_is("user:1 | A:2 | A:A 1", &stage);
    chat_end(&stage);
    pdr_buf_dispose(&report);
    pdr_buf_dispose(&text);
}

TEST(channel, that_its_kind_does_not_confirm_is_not_used)
{
    COVERS("C-108");
    static const char saved[] =
        SK(ONE "," TWO, "CqL5ZUjjrDyc66LfB/AINj57gXWcKxe+EQbhLW6uaCo=",
           "Example.Chat.HandleChannel", "[" ONE "]");
    const pdr_chat_apply_opts rebuilds = {.rebuilds = true};
    struct chat_stage stage = {.notes = {.fail_restore = 2}};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "@n");
    ASSERT_RC(PDR_EIO, chat_restore(NULL, &stage, S(saved), NULL, &err));
    chat_is("", &stage);
    ASSERT_RC(PDR_OK, chat_restore(&report, &stage, S(saved), &rebuilds, &err));
    ASSERT_TEXT("equivalent: rebuilt x-test.notes", pdr_buf_str(&report));
    chat_invokes(&stage, "n");
    chat_sees("user:1 | A:2 | n:n 1", &stage, "n");
    chat_end(&stage);
    pdr_buf_dispose(&report);
}

/* --- without memory ---------------------------------------------------------
 */

TEST_OOM(adapter, fails_or_tells_without_memory)
{
    static const char *const steps[] = {"call look {}", "say done", NULL};
    struct chat_stage stage = {.count = 0};
    pdr_chat_joining joining = {.adapter = {.traffic = PDR_TRAFFIC_TEXT,
                                            .others_as_user = true,
                                            .has_names = true}};
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    chat_steps(&stage, 1, steps);
    chat_begin(&stage, "A B");
    chat_invokes(&stage, "A");
    chat_invokes(&stage, "B");
    const pdr_agent_parts parts = {
        .id = S("N"), .name = S("N"), .client = &stage.members[0].model.base};
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    stage.members[0].model.is_deaf = true;
    count = (size_t)pdr_chat_message_count(stage.chat);
    test_pause_failures(false);

    rc = pdr_chat_join(stage.chat, &joining, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc == PDR_OK)
        rc = pdr_chat_invoke(stage.chat, S("N"), NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(pdr_chat_message_count(stage.chat) <= count + 1);

    test_pause_failures(true);
    stage.members[0].model.is_deaf = false;
    ASSERT_RC(PDR_OK, pdr_chat_join(stage.chat, &joining, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_invoke(stage.chat, S("N"), NULL, NULL));
    ASSERT(memmem(stage.members[0].model.seen.ptr,
                  stage.members[0].model.seen.len, "user:A: A 1 | user:B: done",
                  26) != NULL);
    pdr_agent_free(joining.agent);
    chat_end(&stage);
    test_pause_failures(false);
}
