/*
 * The channel of threads at a service, with a service that forgets, fails and
 * takes messages without saying so.
 */
#include "chat_stage.h"

#include <perdure/chat_store.h>
#include <perdure/json.h>

#include "base.h"
#include "chat.h"
#include "fault_store.h"

/* --- the service -------------------------------------------------------------
 */

struct service {
    int threads;       /* made so far: t1, t2, ... */
    char gone[20];     /* a thread that is not there */
    char text[4000];   /* what was added: "u:PARTS META\n" */
    char tokens[2000]; /* of all messages, a line each */
    int says;          /* messages in a turn; 0: 1 */
    bool fail_run;     /* a turn ends badly after them */
    int runs;          /* r1, r2, ... */
    bool forgets_runs; /* none of them can be adopted */
    char settled[200]; /* "adopt r1 after 0;" or "cancel r1;" of each */
    int added;
    int fail_before; /* appends that fail, and add nothing */
    int fail_after;  /* appends that add it, and fail */
    bool finds;      /* it can tell by the token */
    int removed;
    int fail_remove;
};

static pdr_rc service_create(pdr_buf *thread, pdr_cancel *cancel, pdr_err *err,
                             void *self)
{
    struct service *s = self;

    (void)cancel;
    return pdr_buf_printf(thread, err, "t%d", ++s->threads);
}

static pdr_rc service_check(pdr_str thread, pdr_err *err, void *self)
{
    const struct service *s = self;

    return pdr_str_equal(thread, S(s->gone))
               ? pdr_err_set(err, PDR_ENOTFOUND, "toy_failed", "no thread")
               : PDR_OK;
}

static pdr_rc service_append(pdr_str thread, const pdr_remote_message *message,
                             pdr_cancel *cancel, pdr_err *err, void *self)
{
    struct service *s = self;
    pdr_buf parts = PDR_BUF_INIT(SIZE_MAX);
    size_t len = strlen(s->text);

    (void)thread;
    (void)cancel;
    if (s->fail_before > 0) {
        s->fail_before--;
        return pdr_err_set(err, PDR_EIO, "toy_failed", "not now");
    }
    ASSERT_RC(PDR_OK, pdr_json_write(&parts, message->parts, NULL, NULL));
    if (message->metadata != NULL)
        ASSERT_RC(PDR_OK,
                  pdr_json_write(&parts, message->metadata, NULL, NULL));
    snprintf(s->text + len, sizeof(s->text) - len, "%s:%.*s\n",
             message->is_user ? "u" : "a", (int)parts.len, parts.ptr);
    len = strlen(s->tokens);
    snprintf(s->tokens + len, sizeof(s->tokens) - len, "%.*s\n",
             (int)message->token.len, message->token.ptr);
    pdr_buf_dispose(&parts);
    s->added++;
    if (s->fail_after > 0) {
        s->fail_after--;
        return pdr_err_set(err, PDR_ETIMEOUT, "toy_failed", "no answer");
    }
    return PDR_OK;
}

static pdr_rc service_find(bool *found, pdr_str thread, pdr_str token,
                           pdr_err *err, void *self)
{
    const struct service *s = self;

    (void)thread;
    (void)err;
    *found = s->finds &&
             memmem(s->tokens, strlen(s->tokens), token.ptr, token.len) != NULL;
    return PDR_OK;
}

/* "yes 1", "yes 2", ... */
static pdr_rc answers_say(const struct service *s, int first,
                          pdr_chat_link *link, pdr_err *err)
{
    const int count = s->says > 0 ? s->says : 1;
    pdr_rc rc = PDR_OK;

    for (int i = first; rc == PDR_OK && i < count; i++) {
        pdr_value *message = NULL;
        char text[20];

        snprintf(text, sizeof(text), count > 1 ? "yes %d" : "yes", i + 1);
        rc = pdr_message_new_text(&message, PDR_SHAPE_SK, S("Assistant"),
                                  S(text), err);
        if (rc == PDR_OK)
            rc = pdr_chat_link_say(link, message, err);
        pdr_value_free(message);
    }
    return rc;
}

static pdr_rc service_run(pdr_str thread, const pdr_agent *agent,
                          pdr_chat_link *link, pdr_err *err, void *self)
{
    struct service *s = self;
    char run[20];
    pdr_rc rc = PDR_OK;

    (void)thread;
    (void)agent;
    snprintf(run, sizeof(run), "r%d", ++s->runs);
    rc = pdr_remote_began(link, S(run), err);
    if (rc == PDR_OK)
        rc = answers_say(s, 0, link, err);
    if (rc == PDR_OK && s->fail_run)
        rc = pdr_err_set(err, PDR_EMODEL, "toy_run_failed",
                         "run r7 ended as 'expired': the thread is too long");
    return rc;
}

static pdr_rc service_settle(bool *adopted, pdr_str thread, pdr_str run,
                             uint64_t said, pdr_chat_link *link, pdr_err *err,
                             void *self)
{
    struct service *s = self;
    size_t len = strlen(s->settled);

    (void)thread;
    snprintf(s->settled + len, sizeof(s->settled) - len, "%s %.*s after %d;",
             link != NULL ? "adopt" : "cancel", (int)run.len, run.ptr,
             (int)said);
    *adopted = link != NULL && !s->forgets_runs;
    return *adopted ? answers_say(s, (int)said, link, err) : PDR_OK;
}

static pdr_rc service_read(pdr_str thread, pdr_err *err, void *self,
                           pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                        void *arg),
                           void *arg)
{
    (void)thread;
    (void)err;
    (void)self;
    (void)fn;
    (void)arg;
    return PDR_OK;
}

static pdr_rc service_remove(pdr_str thread, pdr_cancel *cancel, pdr_err *err,
                             void *self)
{
    struct service *s = self;

    (void)thread;
    (void)cancel;
    if (s->fail_remove > 0)
        return pdr_err_set(err, PDR_EIO, "toy_failed", "it stays");
    s->removed++;
    return PDR_OK;
}

static const pdr_remote_ops ops = {.version = PDR_REMOTE_OPS_VERSION,
                                   .create = service_create,
                                   .check = service_check,
                                   .append = service_append,
                                   .find = service_find,
                                   .run = service_run,
                                   .settle = service_settle,
                                   .read = service_read,
                                   .remove = service_remove};

static struct service service;
static const pdr_remote remote = {
    .ops = &ops, .self = &service, .service = "https://contoso.example/"};

static void remote_begin(struct chat_stage *stage)
{
    struct chat_member *m = &stage->members[1];
    pdr_agent_parts parts = {.id = S("R"), .name = S("R")};
    static const char *const steps[] = {"say never", NULL};

    service = (struct service){.finds = true};
    chat_begin(stage, "A");
    stage_model_init(&m->model, steps);
    parts.client = &m->model.base;
    ASSERT_RC(PDR_OK, pdr_agent_new(&m->agent, &parts, NULL));
    const pdr_chat_joining joining = {.agent = m->agent,
                                      .kind = pdr_channel_remote(),
                                      .arg = (void *)(uintptr_t)&remote};
    ASSERT_RC(PDR_OK, pdr_chat_join(stage->chat, &joining, NULL));
    stage->count = 2;
}

static void add_json(struct chat_stage *stage, const char *json)
{
    pdr_value *message = stage_json(json);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_chat_add(stage->chat, (const pdr_value *const *)&message, 1,
                     PDR_SHAPE_SK, &err) != PDR_OK)
        fail_msg("%s: %s", json, err.message);
    pdr_value_free(message);
}

/* --- what a thread gets ----------------------------------------------------
 */

#define MESSAGE(role, items)                                                   \
    "{\"AuthorName\":null,\"Role\":{\"Label\":\"" role "\"},\"Items\":[" items \
    "]}"
#define TEXT(text) "{\"$type\":\"TextContent\",\"Text\":\"" text "\"}"
#define CALL \
    "{\"$type\":\"FunctionCallContent\",\"Id\":\"c\",\"FunctionName\":\"f\"}"
#define RESULT(json) \
    "{\"$type\":\"FunctionResultContent\",\"CallId\":\"c\",\"Result\":" json "}"
#define PART(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

TEST(thread, gets_what_it_can_take)
{
    COVERS("C-99");
    COVERS("C-100");
    static const struct {
        const char *message, *sent;
    } cases[] = {
        {MESSAGE("user", TEXT("1")), "u:[" PART("1") "]\n"},
        {MESSAGE("USER", TEXT("1") "," TEXT(" ") "," TEXT("2")),
         "u:[" PART("1") "," PART("2") "]\n"},
        {MESSAGE("tool", TEXT("1")), "a:[" PART("1") "]\n"},
        {MESSAGE("developer", TEXT("1")), "a:[" PART("1") "]\n"},
        {MESSAGE("assistant", TEXT("1") "," CALL), ""},
        {MESSAGE("user", TEXT("  ")), ""},
        {MESSAGE("user", ""), ""},
        {MESSAGE("tool", RESULT("\"$4\"")), "a:[" PART("$4") "]\n"},
        {MESSAGE("tool", RESULT("{\"a\":1}")),
         "a:[" PART("{\\\"a\\\":1}") "]\n"},
        {MESSAGE("tool", TEXT("1") "," RESULT("\"x\"")), "a:[" PART("1") "]\n"},
        {MESSAGE("tool", RESULT("null")), ""},
        {MESSAGE("tool",
                 RESULT("{\"$type\":\"ImageContent\",\"Uri\":\"https://i/\"}")),
         "a:[" PART(
             "tool result is an image; not supported by this channel") "]\n"},
        {MESSAGE("user", TEXT("1") ",{\"$type\":\"ImageContent\",\"Uri\":"
                                   "\"https://img.example/a.png\"},{\"$type\":"
                                   "\"FileReferenceContent\",\"FileId\":"
                                   "\"file-9\"}"),
         "u:[" PART("1") ",{\"type\":\"image_url\",\"image_url\":{\"url\":"
                         "\"https://img.example/a.png\"}},{\"type\":"
                         "\"image_file\",\"image_file\":{\"file_id\":"
                         "\"file-9\"}}]\n"},
        {MESSAGE("user", "{\"$type\":\"ReasoningContent\",\"Text\":\"hm\"}"),
         ""},
        {"{\"AuthorName\":null,\"Role\":{\"Label\":\"user\"},\"Items\":[" TEXT(
             "1") "],\"Metadata\":{\"a\":1,\"b\":null}}",
         "u:[" PART("1") "]{\"a\":\"1\",\"b\":\"\"}\n"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_err err = PDR_ERR_INIT;

        remote_begin(&stage);
        add_json(&stage, cases[i].message);
        if (chat_invoke(&stage, "R", &err) != PDR_OK)
            fail_msg("%s: %s", cases[i].message, err.message);
        if (strcmp(cases[i].sent, service.text) != 0)
            fail_msg("%s\nis sent as\n%s", cases[i].message, service.text);
        chat_end(&stage);
    }
}

TEST(thread, gets_a_message_once_whatever_the_service_says)
{
    static const struct {
        int before, after;
        bool finds;
        int tries, added;
    } cases[] = {
        {0, 0, true, 1, 2},  {1, 0, true, 2, 2},
        {0, 1, true, 2, 2},  /* it was there */
        {0, 1, false, 2, 3}, /* nobody can know */
        {2, 0, true, 3, 2},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {.count = 0};
        int tries = 1;

        remote_begin(&stage);
        chat_invokes(&stage, "R"); /* it has a thread */
        chat_says(&stage, "1");
        chat_says(&stage, "2");
        service.fail_before = cases[i].before;
        service.fail_after = cases[i].after;
        service.finds = cases[i].finds;
        while (chat_invoke(&stage, "R", NULL) != PDR_OK)
            ASSERT(++tries < 9);
        ASSERT_INT(cases[i].tries, tries);
        ASSERT_INT(cases[i].added, service.added);
        chat_end(&stage);
    }
}

/* A message that may be there is remembered over a restore. */
TEST(thread, is_asked_by_whoever_goes_on)
{
    COVERS("C-88");
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
    struct service old;
    pdr_err err = PDR_ERR_INIT;

    remote_begin(&from);
    chat_invokes(&from, "R");
    chat_says(&from, "1");
    service.fail_after = 1;
    ASSERT_RC(PDR_ETIMEOUT, chat_invoke(&from, "R", &err));
    ASSERT_STR("channel_failed", err.reason);
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_end(&from);
    old = service;
    remote_begin(&to);
    service = old;
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &to, pdr_buf_str(&text), NULL, NULL));
    chat_invokes(&to, "R");
    ASSERT_INT(1, service.added);
    chat_end(&to);

    /* a thread that is gone: refused, or made anew */
    remote_begin(&to);
    snprintf(service.gone, sizeof(service.gone), "t1");
    ASSERT_RC(PDR_ENOTFOUND,
              chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
    ASSERT_STR("channel of kind 'remote-thread': no thread", err.message);
    ASSERT(pdr_str_equal(to.chat->members[1].key, S(err.path)));
    chat_is("", &to);
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &to, pdr_buf_str(&text),
                           &(pdr_chat_apply_opts){.rebuilds = true}, NULL));
    chat_invokes(&to, "R");
    ASSERT_STR("a:[" PART("yes") "]\nu:[" PART("1") "]\n", service.text);
    chat_end(&to);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* What the service says of it is what the caller is told. */
TEST(thread, whose_run_ends_badly_keeps_what_it_said)
{
    struct chat_stage stage = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    remote_begin(&stage);
    chat_says(&stage, "1");
    service.fail_run = true;
    ASSERT_RC(PDR_EMODEL, chat_invoke(&stage, "R", &err));
    ASSERT_STR("toy_run_failed", err.reason);
    ASSERT_STR("run r7 ended as 'expired': the thread is too long",
               err.message);
    chat_is("user:1 | Assistant:yes", &stage);
    ASSERT_SIZE(1, stage.chat->turn_count);
    ASSERT(stage.chat->turns[0].end == PDR_TURN_ABORTED);
    ASSERT_TEXT(err.message, stage.chat->turns[0].why);
    chat_invokes(&stage, "A"); /* the others have it */
    chat_sees("user:1 | Assistant:yes | A:A 1", &stage, "A");
    service.fail_run = false;
    chat_invokes(&stage, "R");
    chat_is("user:1 | Assistant:yes | A:A 1 | Assistant:yes", &stage);
    chat_end(&stage);
}

static void attach(struct chat_stage *stage, pdr_store *store, int64_t now_ms)
{
    const pdr_chat_home home = {
        .store = store, .ref = {.id = S("c")}, .create = true};
    const pdr_chat_apply_opts opts = {.now_ms = now_ms};

    ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, stage->chat, &home, &opts, NULL));
}

/* A process that dies has sent what waits, and cannot say so. */
TEST(thread, gets_nothing_twice_after_a_crash)
{
    COVERS("C-104");
    const struct fault_plan none = {.nth = 0};
    const struct fault_plan crash = {
        .call = FAULT_COMMIT, .nth = 3, .for_ever = true};
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_store *store = NULL;
    struct service old;

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    remote_begin(&from);
    attach(&from, store, STAGE_NOW);
    chat_invokes(&from, "R");
    chat_says(&from, "1");
    chat_says(&from, "2");
    service.says = 2;
    fault_store_set(&crash); /* the first answer is there, the second not */
    ASSERT_RC(PDR_EIO, chat_invoke(&from, "R", NULL));
    fault_store_set(&none);
    ASSERT_INT(2, service.added);
    chat_end(&from);

    old = service;
    remote_begin(&to);
    service = old;
    attach(&to, store, STAGE_NOW + 60000);
    chat_says(&to, "3");
    chat_invokes(&to, "R");
    ASSERT_STR("u:[" PART("1") "]\nu:[" PART("2") "]\nu:[" PART("3") "]\n",
               service.text);
    ASSERT_INT(1, service.threads);
    chat_end(&to);
    pdr_store_close(store);
}

#define ANSWERED "user:Hi | Assistant:yes 1 | Assistant:yes 2"

/* A process dies after so many commits of a turn: its run goes on without it.
 */
TEST(thread, whose_run_outlives_its_process_is_settled)
{
    static const struct {
        size_t commits;
        bool forgets, adds;
        const char *settled, *log;
        int runs;
    } cases[] = {
        {1, false, false, "", ANSWERED, 1}, /* it was not begun */
        {2, false, false, "adopt r1 after 0;", ANSWERED, 1},
        {3, false, false, "adopt r1 after 1;", ANSWERED, 1},
        {2, true, false, "adopt r1 after 0;", ANSWERED, 2},
        {3, false, true, "cancel r1 after 0;",
         "user:Hi | Assistant:yes 1 | user:more | Assistant:yes 1 | "
         "Assistant:yes 2",
         2},
    };

    fault_store_register();
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const struct fault_plan none = {.nth = 0};
        const struct fault_plan crash = {.call = FAULT_COMMIT,
                                         .nth = cases[i].commits + 1,
                                         .for_ever = true};
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_store *store = NULL;
        struct service old;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
        remote_begin(&from);
        attach(&from, store, STAGE_NOW);
        chat_says(&from, "Hi");
        service.says = 2;
        fault_store_set(&crash);
        ASSERT_RC(PDR_EIO, chat_invoke(&from, "R", NULL));
        fault_store_set(&none);
        chat_end(&from);

        old = service;
        remote_begin(&to);
        service = old;
        service.forgets_runs = cases[i].forgets;
        service.runs = cases[i].commits > 1; /* one that is not in the store
                                                was not begun */
        attach(&to, store, STAGE_NOW + 60000);
        if (cases[i].adds)
            chat_says(&to, "more");
        chat_invokes(&to, "R");
        ASSERT_STR(cases[i].settled, service.settled);
        ASSERT_INT(cases[i].runs, service.runs);
        chat_is(cases[i].log, &to);
        service.settled[0] = '\0';
        chat_invokes(&to, "R"); /* that one ended well */
        ASSERT_STR("", service.settled);
        chat_end(&to);
        pdr_store_close(store);
    }
}

TEST(thread, is_not_restored_from_a_run_without_a_turn)
{
    static const char *const states[] = {
        "{\"thread\":\"t1\",\"run\":\"r1\"}",
        "{\"thread\":\"t1\",\"run\":\"r1\",\"turn\":-1}",
        "{\"thread\":\"t1\",\"run\":1,\"turn\":1}", "{\"thread\":\"\"}", "{}"};
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < PDR_COUNT(states); i++) {
        pdr_err err = PDR_ERR_INIT;

        remote_begin(&from);
        chat_invokes(&from, "R");
        pdr_buf_clear(&text);
        chat_save(&text, &from, PDR_CHAT_NATIVE);
        chat_replace(&text, "{\"thread\":\"t1\"}", states[i]);
        chat_end(&from);
        remote_begin(&to);
        ASSERT_RC(PDR_EINVALID,
                  chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
        ASSERT_STR("bad_channel_state", err.reason);
        chat_end(&to);
    }
    pdr_buf_dispose(&text);
}

/* The same number is another message there. */
TEST(thread, gets_what_is_new_after_an_older_document_was_restored)
{
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct service old;

    remote_begin(&from);
    chat_invokes(&from, "R");
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_says(&from, "1");
    chat_invokes(&from, "R");
    chat_end(&from);
    old = service;
    remote_begin(&to);
    service = old;
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, NULL));
    chat_says(&to, "another");
    chat_invokes(&to, "R");
    ASSERT_STR("u:[" PART("1") "]\nu:[" PART("another") "]\n", service.text);
    chat_end(&to);
    pdr_buf_dispose(&text);
}

TEST(thread, is_deleted_when_the_chat_is_reset)
{
    struct chat_stage stage = {.count = 0};
    pdr_buf left = PDR_BUF_INIT(SIZE_MAX);

    remote_begin(&stage);
    chat_invokes(&stage, "R");
    ASSERT_RC(PDR_OK, pdr_chat_reset(stage.chat, &left, NULL, NULL));
    ASSERT_INT(1, service.removed);
    ASSERT_SIZE(0, left.len);
    chat_invokes(&stage, "R");
    ASSERT_INT(2, service.threads);
    chat_end(&stage);
    pdr_buf_dispose(&left);
}

/* Two tables that call themselves the same. */
TEST(channel, is_not_that_of_another_kind)
{
    COVERS("C-26");
    static pdr_channel_kind other;
    struct chat_stage stage = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    other = chat_notes_kind;
    chat_begin(&stage, "@n1 @m");
    chat_invokes(&stage, "n1");
    const pdr_agent_parts parts = {
        .id = S("n2"), .name = S("n2"), .client = &stage.members[0].model.base};
    pdr_chat_joining joining = {.kind = &other, .arg = &stage.notes};
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage.chat, &joining, NULL));
    ASSERT_RC(PDR_EINVALID, chat_invoke(&stage, "n2", &err));
    ASSERT_STR("wrong_channel", err.reason);
    chat_is("n1:n1 1", &stage);
    pdr_agent_free(joining.agent);
    chat_end(&stage);
}
