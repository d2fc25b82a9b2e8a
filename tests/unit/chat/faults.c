/*
 * What goes wrong in a chat: wherever it does, log and channels agree
 * afterwards, and the next turn works.
 *
 * Each failure of a chat has a test that shows it:
 *
 *     AC_E_BUSY       chat_busy          chat: lets nobody in while a turn ...
 *     AC_E_ROLE       system_message     chat_add: takes a batch or nothing
 *     AC_E_COMPLETE   chat_complete      run: ends when it is over
 *     AC_E_NOAGENT    no_agents          run: needs somebody to speak
 *     AC_E_SELECT     bad_selection      run: needs somebody to speak
 *     AC_E_BINDING    wrong_channel      channel: is not that of another kind
 *     AC_E_SYNC       channel_failed     delivery: goes on with the message ...
 *     AC_E_REMOTE     the service's      thread: gets a message once ...
 *     AC_E_NOTSUP     table_version,     join: refuses kinds that cannot take
 *                     missing_slot       part (here)
 *     AC_E_INUSE      chat_in_use        restore: leaves a chat alone ...
 *     AC_E_EMPTY      no_agents          restore: tries again after nobody ...
 *     AC_E_FORMAT     bad_chat           chat_open: refuses what is not ...
 *     AC_E_VERSION    chat_version       chat_open_native: refuses newer ...
 *     AC_E_INTEGRITY  bad_mac            chat_mac: covers every byte before it
 *                     bad_chain          chat_chain: finds messages ...
 *     AC_E_STATE      bad_channel_state  restore: refuses states ... (here)
 *                                        chat_write: refuses states ...
 *     AC_E_LIMIT      too_deep           chat_open: reads 128 levels ...
 *                     too_large          chat_open: obeys the limits ...
 *     AC_E_CANCELED   run_cancelled      trouble: ... (here)
 *     AC_E_CONFLICT   chat_changed       chat_home: refuses who is late
 */
#include <pthread.h>

#include "chat_stage.h"

#include <perdure/chat_store.h>

#include "base.h"

/* --- trouble at each point of a run ----------------------------------------
 */

/* A run whose n-th callback sets its cancel, or fails. */
struct trouble {
    struct chat_stage stage;
    bool fails;   /* the callback does; else it cancels */
    size_t point; /* that it comes at; 0: never */
    size_t count; /* points that were passed */
};

static struct trouble trouble; /* of callbacks without an argument */

static pdr_rc point_pass(void)
{
    struct trouble *t = &trouble;

    if (++t->count != t->point)
        return PDR_OK;
    if (!t->fails)
        pdr_cancel_set(t->stage.cancel);
    return t->fails ? PDR_EMODEL : PDR_OK;
}

static pdr_rc point_model(void *arg)
{
    (void)arg;
    return point_pass();
}

static void point_event(struct chat_stage *stage)
{
    stage->stops = point_pass();
}

/* A piece cannot fail. */
static void point_piece(struct chat_stage *stage)
{
    (void)stage;
    if (!trouble.fails)
        (void)point_pass();
}

static pdr_rc point_channel(void *arg, pdr_cancel *cancel)
{
    (void)arg;
    (void)cancel;
    return point_pass();
}

static pdr_rc point_select(size_t *out, const pdr_chat_view *view, pdr_err *err,
                           void *arg)
{
    pdr_rc rc = point_pass();

    (void)arg;
    *out = view->message_count % view->agent_count;
    return rc != PDR_OK ? pdr_err_set(err, rc, "toy_failed", "no idea") : rc;
}

static pdr_rc point_terminate(bool *out, const pdr_chat_view *view,
                              size_t spoke, pdr_err *err, void *arg)
{
    pdr_rc rc = point_pass();

    (void)view;
    (void)spoke;
    (void)arg;
    *out = false;
    return rc != PDR_OK ? pdr_err_set(err, rc, "toy_failed", "no idea") : rc;
}

/* What the store has is what the chat has, and no turn is open. */
static void store_agrees(struct chat_stage *stage, pdr_store *store)
{
    const pdr_ref ref = {.id = S("c")};
    pdr_chat_state *state = NULL;
    pdr_chat_turn turn;

    ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &ref, NULL));
    ASSERT_INT(pdr_chat_message_count(stage->chat),
               pdr_chat_state_message_count(state));
    for (size_t i = 0; pdr_chat_state_turn(&turn, state, i); i++)
        ASSERT(turn.end != PDR_TURN_OPEN);
    pdr_chat_state_free(state);
}

static const char *const tool_steps[] = {"call look {}", "say o/ne", NULL};

/* A run of an agent with a tool and of two that share and have a channel.
 * Returns whether there was trouble. */
static bool trouble_play(size_t point, bool fails, pdr_store *store)
{
    struct chat_stage *stage = &trouble.stage;
    const pdr_chat_home home = {
        .store = store, .ref = {.id = S("c")}, .create = true};
    const pdr_chat_apply_opts opts = {.now_ms = STAGE_NOW};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    trouble = (struct trouble){
        .stage = {.opts = {.max_turns = 4,
                           .select = point_select,
                           .ends = {.kind = PDR_TERMINATE_FUNCTION,
                                    .fn = point_terminate}},
                  .on_event = point_event,
                  .on_piece = point_piece,
                  .notes = {.hook = point_channel}},
        .fails = fails,
        .point = point};
    chat_steps(stage, 0, tool_steps);
    ASSERT_RC(PDR_OK, pdr_cancel_new(&stage->cancel, NULL));
    chat_begin(stage, "A @n B @m");
    if (store != NULL)
        ASSERT_RC(PDR_OK,
                  pdr_chat_attach(NULL, stage->chat, &home, &opts, NULL));
    for (size_t i = 0; i < stage->count; i++)
        stage->members[i].model.hook = point_model;
    chat_says(stage, "Hi");
    rc = chat_run(stage, &err);
    if (trouble.count < point || point == 0)
        ASSERT_RC(PDR_OK, rc);
    else if (fails)
        ASSERT(rc == PDR_EMODEL || rc == PDR_EINVALID);
    else /* it may come when nothing is left to be done */
        ASSERT(rc == PDR_ECANCELLED || rc == PDR_OK);
    bool had = trouble.count >= point;

    trouble.point = 0;
    stage->stops = PDR_OK;
    pdr_cancel_free(stage->cancel);
    stage->cancel = NULL;
    ASSERT(!pdr_chat_is_active(stage->chat));
    chat_agrees(stage);
    if (store != NULL)
        store_agrees(stage, store);
    chat_says(stage, "go on");
    chat_runs(stage);
    for (size_t i = 0; i < stage->count; i++)
        chat_invokes(stage, stage->members[i].name);
    chat_agrees(stage);
    if (store != NULL)
        store_agrees(stage, store);
    chat_end(stage);
    return had;
}

TEST(trouble, at_any_point_of_a_run_leaves_a_chat_that_goes_on)
{
    for (int how = 0; how < 4; how++) { /* cancelled or failed, both homes */
        size_t point = 1;
        bool had = true;

        for (; had; point++) {
            pdr_store *store = NULL;

            if (how >= 2)
                ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
            had = trouble_play(point, how % 2 == 1, store);
            pdr_store_close(store);
        }
        ASSERT(point > 20);
    }
}

/* --- a channel that fails or hangs ------------------------------------------
 */

TEST(delivery, that_fails_at_any_message_goes_on_there)
{
    for (int k = 1; k <= 9; k++) {
        struct chat_stage stage = {.opts = {.max_turns = 3}};
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&stage, "A @n @m");
        for (int i = 0; i < 3; i++)
            chat_says(&stage, "x");
        stage.notes.fail_at = k;
        stage.notes.fail_left = 1;
        if (chat_run(&stage, &err) != PDR_OK)
            ASSERT_STR("channel_failed", err.reason);
        (void)!pdr_chat_sync(stage.chat, NULL, NULL);
        chat_agrees(&stage);
        for (size_t i = 0; i < stage.count; i++)
            (void)!chat_invoke(&stage, stage.members[i].name, NULL);
        (void)!pdr_chat_sync(stage.chat, NULL, NULL);
        ASSERT_INT(0, stage.notes.fail_left); /* it was met */
        chat_agrees(&stage);
        for (size_t i = 0; i < stage.count; i++)
            chat_invokes(&stage, stage.members[i].name);
        chat_agrees(&stage);
        chat_end(&stage);
    }
}

/* Hangs until somebody has had enough. */
static pdr_rc hook_hang(void *arg, pdr_cancel *cancel)
{
    (void)arg;
    return pdr_cancel_wait(cancel, 60000) ? PDR_ECANCELLED : PDR_OK;
}

static void *thread_cancel(void *arg)
{
    pdr_cancel_set(arg);
    return NULL;
}

TEST(delivery, that_hangs_ends_when_it_is_cancelled)
{
    struct chat_stage stage = {.notes = {.hook = hook_hang}};
    pthread_t thread;

    chat_begin(&stage, "A @n");
    chat_says(&stage, "Hi");
    ASSERT_RC(PDR_OK, pdr_cancel_new(&stage.cancel, NULL));
    ASSERT_INT(0, pthread_create(&thread, NULL, thread_cancel, stage.cancel));
    ASSERT_RC(PDR_ECANCELLED, chat_invoke(&stage, "n", NULL));
    (void)pthread_join(thread, NULL);
    pdr_cancel_free(stage.cancel);
    stage.cancel = NULL;
    stage.notes.hook = NULL;
    chat_is("user:Hi", &stage);
    chat_invokes(&stage, "A");
    chat_invokes(&stage, "n");
    chat_sees("user:Hi | A:A 1 | n:n 1", &stage, "n");
    chat_end(&stage);
}

/* --- who cannot take part ---------------------------------------------------
 */

TEST(join, refuses_kinds_that_cannot_take_part)
{
    struct chat_stage stage = {.count = 0};
    pdr_channel_kind kinds[4] = {chat_notes_kind, chat_notes_kind,
                                 chat_notes_kind, chat_notes_kind};
    const char *const reasons[] = {"table_version", "table_version",
                                   "missing_slot", "missing_slot"};

    kinds[0].version = 0;
    kinds[1].version = PDR_CHANNEL_KIND_VERSION + 1;
    kinds[2].invoke = NULL;
    kinds[3].id = "";
    chat_begin(&stage, "A");
    for (size_t i = 0; i < PDR_COUNT(kinds); i++) {
        const pdr_agent_parts parts = {.id = S("x"),
                                       .client = &stage.members[0].model.base};
        pdr_chat_joining joining = {.kind = &kinds[i], .arg = &stage.notes};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
        ASSERT(pdr_chat_join(stage.chat, &joining, &err) != PDR_OK);
        ASSERT_STR(reasons[i], err.reason);
        ASSERT_INT(1, pdr_chat_agent_count(stage.chat));
        pdr_agent_free(joining.agent);
    }
    chat_invokes(&stage, "A");
    chat_end(&stage);
}

/* --- documents --------------------------------------------------------------
 */

/* A native document of "A" and "@n", which have both spoken. */
static pdr_buf document_make(const pdr_chat_save_opts *opts)
{
    struct chat_stage stage = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&stage, "A @n");
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "A");
    chat_invokes(&stage, "n");
    ASSERT_RC(PDR_OK,
              pdr_chat_save(stage.chat, opts, NULL, pdr_write_buf, &text));
    chat_end(&stage);
    return text;
}

/* The chat is as it was: nothing is in it, and it can be used. */
static void untouched(struct chat_stage *stage)
{
    chat_is("", stage);
    ASSERT_INT(2, pdr_chat_agent_count(stage->chat));
    chat_says(stage, "mine");
    chat_invokes(stage, "A");
    chat_is("user:mine | A:A 1", stage);
}

/* What a document may say that is not so. */
static const struct {
    const char *old, *fresh;
    const char *reason; /* NULL: it is taken */
} wrong[] = {
    /* states */
    {"\"state\":{\"from\":1}", "\"state\":{\"from\":0}", "bad_channel_state"},
    {"\"state\":{\"from\":1}", "\"state\":{\"from\":99}", "bad_channel_state"},
    {"\"state\":{\"from\":1}", "\"state\":{\"from\":18446744073709551615}",
     "bad_channel_state"},
    {"\"state\":{\"from\":1}", "\"state\":[]", "bad_channel_state"},
    {"\"state\":{\"from\":1}", "\"state\":{\"from\":1,\"insert\":5}",
     "bad_channel_state"},
    {"\"state\":{\"from\":1}", "\"state\":{\"from\":1,\"insert\":[5]}",
     "bad_channel_state"},
    {"\"state_version\":1", "\"state_version\":2", "bad_channel_state"},
    {"\"cursor\":3", "\"cursor\":4", "bad_chat"},
    {"\"cursor\":3", "\"cursor\":18446744073709551615", "bad_chat"},
    {"\"cursor\":3", "\"cursor\":-1", "bad_chat"},
    /* counts and numbers */
    {"\"count\":3", "\"count\":999999999999999999", "bad_chain"},
    {"\"seq\":2", "\"seq\":18446744073709551615", "bad_chain"},
    {"\"index\":-1", "\"index\":9223372036854775807", NULL},
    {"\"iteration\":2", "\"iteration\":1e999", "bad_chat"},
};

TEST(restore, refuses_states_and_numbers_that_cannot_be)
{
    for (size_t i = 0; i < PDR_COUNT(wrong); i++) {
        pdr_buf text = document_make(NULL);
        struct chat_stage stage = {.count = 0};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        chat_replace(&text, wrong[i].old, wrong[i].fresh);
        chat_begin(&stage, "A @n");
        rc = chat_restore(NULL, &stage, pdr_str_n(text.ptr, strlen(text.ptr)),
                          NULL, &err);
        if (strcmp(wrong[i].reason != NULL ? wrong[i].reason : "",
                   rc == PDR_OK ? "" : err.reason) != 0)
            fail_msg("%s: %s (%s)", wrong[i].fresh, err.reason, err.message);
        if (rc != PDR_OK)
            untouched(&stage);
        else
            chat_runs(&stage);
        if (rc != PDR_OK && strcmp(err.reason, "bad_channel_state") == 0)
            ASSERT(strstr(err.path, "k2:") != NULL);
        chat_end(&stage);
        pdr_buf_dispose(&text);
    }
}

/* Kept for who can read it: an agent that cannot does not take its place. */
TEST(restore, keeps_the_parked_state_of_a_newer_kind)
{
    pdr_buf text = document_make(NULL);
    struct chat_stage stage = {.count = 0};
    pdr_chat_joining joining = {.kind = &chat_notes_kind, .arg = &stage.notes};
    pdr_err err = PDR_ERR_INIT;

    chat_replace(&text,
                 "\"kind\":\"x-test.notes\",\"type\":\"Example.Chat."
                 "HandleChannel\",\"state_version\":1",
                 "\"kind\":\"x-test.notes\",\"state_version\":2");
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK,
              chat_restore(NULL, &stage, pdr_str_n(text.ptr, strlen(text.ptr)),
                           NULL, &err));
    const pdr_agent_parts parts = {
        .id = S("n"), .name = S("n"), .client = &stage.members[0].model.base};
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage.chat, &joining, NULL));
    ASSERT_RC(PDR_EINVALID, chat_invoke(&stage, "n", &err));
    ASSERT_STR("bad_channel_state", err.reason);
    chat_invokes(&stage, "A");
    chat_save(&text, &stage, PDR_CHAT_NATIVE);
    ASSERT(memmem(text.ptr, text.len, "\"state_version\":2", 17) != NULL);
    pdr_agent_free(joining.agent);
    pdr_buf_dispose(&text);
    chat_end(&stage);
}

/* More levels than a reader takes, in a text that hides them. */
TEST(restore, refuses_what_is_too_deep_in_base64)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), inner = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf coded = PDR_BUF_INIT(SIZE_MAX);
    struct chat_stage stage = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < 100000; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&inner, S("["), NULL));
    ASSERT_RC(PDR_OK, pdr__base64_encode(&coded, pdr_buf_str(&inner),
                                         PDR_BASE64, true, NULL));
    ASSERT_RC(PDR_OK,
              pdr_buf_printf(&text, NULL,
                             "{\"format\":\"agentchat\",\"version\":1,"
                             "\"encoding\":\"base64\",\"history\":\"%.*s\"}",
                             (int)coded.len, coded.ptr));
    chat_begin(&stage, "A @n");
    ASSERT_RC(PDR_ELIMIT,
              chat_restore(NULL, &stage, pdr_buf_str(&text), NULL, &err));
    ASSERT_STR("too_deep", err.reason);
    untouched(&stage);
    chat_end(&stage);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&inner);
    pdr_buf_dispose(&coded);
}

#define KEY_BYTES "an example of 32 bytes, no more."

static pdr_rc open_apply(struct chat_stage *stage, pdr_str text,
                         const pdr_chat_open_opts *opts, pdr_err *err)
{
    pdr_chat_state *state = NULL;
    pdr_rc rc = pdr_chat_open(&state, opts, err, pdr_read_str, &text);

    if (rc == PDR_OK)
        rc = pdr_chat_apply(NULL, stage->chat, state, NULL, err);
    pdr_chat_state_free(state);
    return rc;
}

/* Base64 hides a changed byte from people; the MAC does not. */
TEST(restore, takes_no_byte_that_was_changed)
{
    COVERS("C-92");
    const pdr_chat_key key = {S("k"), S(KEY_BYTES)};
    const pdr_chat_save_opts sealed = {.is_encoded = true, .key = key};
    const pdr_chat_save_opts coded = {.form = PDR_CHAT_ENCODED};
    const pdr_chat_open_opts needs = {
        .keys = &key, .key_count = 1, .needs_mac = true};
    const pdr_chat_open_opts has_keys = {.keys = &key, .key_count = 1};
    pdr_buf text = document_make(&sealed), bare = document_make(&coded);
    struct chat_stage stage = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A @n");
    for (size_t i = 0; i < 2 * text.len; i++) {
        char *byte = &text.ptr[i / 2];
        const char was = *byte;

        *byte = (char)((unsigned char)was ^ (1u << (i / 2 % 8)));
        ASSERT(open_apply(&stage, pdr_buf_str(&text),
                          i % 2 == 0 ? &needs : &has_keys, &err) != PDR_OK);
        ASSERT_INT(0, pdr_chat_message_count(stage.chat));
        *byte = was;
    }
    /* a form that has no place for a MAC */
    ASSERT_RC(PDR_ECORRUPT,
              open_apply(&stage, pdr_buf_str(&bare), &needs, &err));
    ASSERT_STR("bad_mac", err.reason);
    untouched(&stage);
    chat_end(&stage);
    chat_begin(&stage, "A @n");
    ASSERT_RC(PDR_OK, open_apply(&stage, pdr_buf_str(&bare), &has_keys, &err));
    chat_end(&stage);
    chat_begin(&stage, "A @n"); /* what was not changed */
    ASSERT_RC(PDR_OK, open_apply(&stage, pdr_buf_str(&text), &needs, &err));
    chat_is("user:Hi | A:A 1 | n:n 1", &stage);
    chat_end(&stage);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&bare);
}
