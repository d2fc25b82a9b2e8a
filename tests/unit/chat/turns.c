/*
 * What a turn, a run and a delivery promise beyond the straight way: who may do
 * what meanwhile, who waits for whom, and what a failure leaves.
 */
#include "chat_stage.h"

#include <perdure/chat_store.h>

#include "base.h"

/* --- while a run is under way ----------------------------------------------
 */

static struct chat_stage *asked; /* the chat that is asked meanwhile */
static int refused;

static void add_refused(void)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EBUSY, pdr_chat_add_text(asked->chat, S("me too"),
                                           pdr_str_n(NULL, 0), &err));
    ASSERT_STR("chat_busy", err.reason);
    refused++;
}

static pdr_rc select_first(size_t *out, const pdr_chat_view *view, pdr_err *err,
                           void *arg)
{
    (void)view;
    (void)err;
    (void)arg;
    add_refused();
    *out = 0;
    return PDR_OK;
}

static pdr_rc terminate_after(bool *out, const pdr_chat_view *view,
                              size_t spoke, pdr_err *err, void *arg)
{
    const int *messages = arg;

    (void)spoke;
    (void)err;
    add_refused();
    *out = view->message_count >= (uint64_t)*messages;
    return PDR_OK;
}

TEST(run, lets_nobody_in_between_turns)
{
    COVERS("C-13");
    int messages = 2;
    struct chat_stage stage = {.opts = {.select = select_first,
                                        .ends = {.kind = PDR_TERMINATE_FUNCTION,
                                                 .fn = terminate_after,
                                                 .arg = &messages}}};

    asked = &stage;
    refused = 0;
    chat_begin(&stage, "A B");
    chat_runs(&stage);
    ASSERT_INT(4, refused); /* two turns, each chosen and asked about */
    chat_is("A:A 1 | A:A 2", &stage);
    chat_says(&stage, "me too");
    chat_end(&stage);
}

/* --- delivering -------------------------------------------------------------
 */

TEST(chat_add, leaves_delivering_to_who_needs_it)
{
    COVERS("C-19");
    struct chat_stage stage = {.count = 0};

    chat_begin(&stage, "@n");
    chat_invokes(&stage, "n");
    stage.notes.fail_at = 2;
    stage.notes.fail_left = -1; /* it will never work */
    chat_says(&stage, "1");
    chat_says(&stage, "2");
    ASSERT_INT(0, stage.notes.tried);
    chat_is("n:n 1 | user:1 | user:2", &stage);
    chat_end(&stage);
}

TEST(sync, does_nothing_when_nothing_waits)
{
    COVERS("C-37");
    struct chat_stage stage = {.count = 0};
    pdr_chat_call call = {.cancel = NULL};

    chat_begin(&stage, "@n");
    chat_says(&stage, "1");
    chat_invokes(&stage, "n");
    stage.notes.tried = 0;
    ASSERT_RC(PDR_OK, pdr_cancel_new(&call.cancel, NULL));
    pdr_cancel_set(call.cancel); /* any wait would end with this */
    ASSERT_RC(PDR_OK, pdr_chat_sync(stage.chat, &call, NULL));
    ASSERT_INT(0, stage.notes.tried);
    pdr_cancel_free(call.cancel);
    chat_end(&stage);
}

TEST(sync, tries_what_fails_once)
{
    COVERS("C-41");
    struct chat_stage stage = {.notes = {.fail_at = 2, .fail_left = -1}};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "@n");
    chat_invokes(&stage, "n");
    chat_says(&stage, "1");
    for (int i = 1; i <= 3; i++) {
        ASSERT_RC(PDR_EIO, pdr_chat_sync(stage.chat, NULL, &err));
        ASSERT_STR("channel_failed", err.reason);
        ASSERT_INT(i, stage.notes.tried);
        ASSERT(!pdr_chat_is_active(stage.chat));
    }
    chat_end(&stage);
}

/* Cancels with the second message. */
static pdr_rc cancel_second(void *arg, pdr_cancel *cancel)
{
    const struct chat_stage *stage = arg;

    if (stage->notes.tried == 2)
        pdr_cancel_set(cancel);
    return PDR_OK;
}

TEST(sync, that_is_cancelled_leaves_the_rest_waiting)
{
    COVERS("C-43");
    struct chat_stage stage = {.count = 0};
    pdr_chat_call call = {.cancel = NULL};

    chat_begin(&stage, "@n");
    chat_invokes(&stage, "n");
    for (int i = 0; i < 4; i++)
        chat_says(&stage, "x");
    stage.notes.hook = cancel_second;
    stage.notes.hook_arg = &stage;
    ASSERT_RC(PDR_OK, pdr_cancel_new(&call.cancel, NULL));
    ASSERT_RC(PDR_ECANCELLED, pdr_chat_sync(stage.chat, &call, NULL));
    ASSERT_INT(1, stage.notes.received);
    ASSERT_RC(PDR_ECANCELLED, pdr_chat_sync(stage.chat, &call, NULL));
    ASSERT_INT(2, stage.notes.tried); /* it did not begin */
    ASSERT_RC(PDR_OK, pdr_chat_sync(stage.chat, NULL, NULL));
    ASSERT_INT(4, stage.notes.received); /* each once */
    chat_sees("n:n 1 | user:x | user:x | user:x | user:x", &stage, "n");
    pdr_cancel_free(call.cancel);
    chat_end(&stage);
}

/* --- what is to be seen -----------------------------------------------------
 */

/* A layer that ends the run after a call and its result. */
static pdr_rc layer_stop(pdr_response **out, pdr_agent *inner,
                         const pdr_run *run, pdr_err *err, void *arg)
{
    pdr_value *answer = stage_json(
        "{\"messages\":[{\"role\":\"assistant\","
        "\"authorName\":\"L\",\"contents\":[{\"$type\":\"functionCall\","
        "\"callId\":\"c\",\"name\":\"look\",\"arguments\":{}}]},{\"role\":"
        "\"tool\",\"authorName\":\"L\",\"contents\":[{\"$type\":"
        "\"functionResult\",\"callId\":\"c\",\"result\":\"rain\"}]}]}");
    pdr_rc rc = pdr_response_from_value(out, answer, err);

    (void)inner;
    (void)run;
    (void)arg;
    pdr_value_free(answer);
    return rc;
}

TEST(turn, that_ends_with_a_result_shows_it)
{
    COVERS("C-24");
    const pdr_agent_layer layer = {.name = "stop", .run = layer_stop};
    struct chat_stage stage = {.count = 0};
    pdr_chat_joining joining = {.agent = NULL};
    pdr_agent *inner = NULL;

    chat_begin(&stage, "A");
    const pdr_agent_parts parts = {
        .id = S("L"), .name = S("L"), .client = &stage.members[0].model.base};
    ASSERT_RC(PDR_OK, pdr_agent_new(&inner, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_agent_wrap(&joining.agent, inner, &layer, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage.chat, &joining, NULL));
    chat_invokes(&stage, "L");
    chat_is("(L:call look) | L:= rain", &stage);
    ASSERT_STR("L:= rain", stage.heard);
    pdr_agent_free(joining.agent);
    pdr_agent_free(inner);
    chat_end(&stage);
}

/* --- who joins in mid-chat --------------------------------------------------
 */

static void agent_join(struct chat_stage *stage, const char *id,
                       pdr_client *client)
{
    const pdr_agent_parts parts = {
        .id = S(id), .name = S(id), .client = client};
    pdr_chat_joining joining = {.agent = NULL};

    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage->chat, &joining, NULL));
    pdr_agent_free(joining.agent);
}

TEST(turn, of_a_guest_makes_it_the_last_in_the_list)
{
    COVERS("C-27");
    struct chat_stage stage = {.opts = {.max_turns = 4}};
    struct stage_model guest;
    static const char *const steps[] = {"fail", "say D 1", "say D 2", NULL};
    const pdr_agent *third = NULL;

    stage_model_init(&guest, steps);
    chat_begin(&stage, "A B C");
    chat_says(&stage, "Hi");
    chat_runs(&stage);
    agent_join(&stage, "D", &guest.base);
    ASSERT_RC(PDR_EMODEL, chat_invoke(&stage, "D", NULL));
    ASSERT_INT(4, pdr_chat_agent_count(stage.chat)); /* also though it failed */
    ASSERT_TEXT("D", pdr_agent_id(pdr_chat_agent_at(stage.chat, 3)));
    ASSERT_TEXT("user:Hi | assistant:A 1 | assistant:B 1 | assistant:C 1 | "
                "assistant:A 2",
                pdr_buf_str(&guest.seen));
    third = pdr_chat_agent_at(stage.chat, 2);
    agent_join(&stage, "C", &guest.base); /* it takes part already */
    ASSERT_INT(4, pdr_chat_agent_count(stage.chat));
    ASSERT(pdr_chat_agent_at(stage.chat, 2) == third);
    chat_invokes(&stage, "D");
    chat_runs(&stage); /* the order goes on after A */
    chat_is("user:Hi | A:A 1 | B:B 1 | C:C 1 | A:A 2 | D:D 1 | B:B 2 | C:C 2 | "
            "D:D 2 | A:A 3",
            &stage);
    chat_end(&stage);
    stage_model_free(&guest);
}

/* --- pieces -----------------------------------------------------------------
 */

/* The same script, heard in pieces or by nobody, gives the same chat. */
TEST(turn, is_the_same_in_pieces_and_in_one)
{
    COVERS("C-28");
    static const char *const whole[] = {"call look {}", "say one two", NULL};
    static const char *const cut[] = {"call look {}", "say one/ /two", NULL};
    pdr_buf saved[3] = {PDR_BUF_INIT(SIZE_MAX), PDR_BUF_INIT(SIZE_MAX),
                        PDR_BUF_INIT(SIZE_MAX)};

    for (size_t i = 0; i < 3; i++) { /* whole, in pieces, heard by nobody */
        struct chat_stage stage = {.opts = {.id = S("c")}};

        chat_steps(&stage, 0, i == 0 ? whole : cut);
        chat_begin(&stage, "A @n");
        chat_says(&stage, "Hi");
        if (i < 2)
            chat_invokes(&stage, "A");
        else
            ASSERT_RC(PDR_OK, pdr_chat_invoke(stage.chat, S("A"), NULL, NULL));
        chat_invokes(&stage, "n");
        ASSERT(i != 1 || stage.pieces > 3);
        chat_is("user:Hi | (A:call look) | (A:= look did {}) | A:one two | "
                "n:n 1",
                &stage);
        chat_save(&saved[i], &stage, PDR_CHAT_NATIVE);
        chat_end(&stage);
        ASSERT_BYTES(pdr_buf_str(&saved[0]), pdr_buf_str(&saved[i]));
    }
    for (size_t i = 0; i < 3; i++)
        pdr_buf_dispose(&saved[i]);
}

TEST(turn, that_breaks_off_leaves_no_piece)
{
    COVERS("C-29");
    static const char *const steps[] = {"half I thi/nk", "say better", NULL};
    struct chat_stage stage = {.count = 0};
    pdr_store *store = NULL;
    pdr_chat_state *state = NULL;
    pdr_chat_turn turn;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    const pdr_chat_home home = {
        .store = store, .ref = {.id = S("c")}, .create = true};
    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, stage.chat, &home, NULL, NULL));
    chat_says(&stage, "Hi");
    ASSERT_RC(PDR_EMODEL, chat_invoke(&stage, "A", NULL));
    ASSERT(stage.pieces > 0);
    ASSERT_STR("", stage.heard);
    chat_is("user:Hi", &stage);
    chat_sees("user:Hi", &stage, "A");
    ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &home.ref, NULL));
    ASSERT_SIZE(1, pdr_chat_state_turn_count(state));
    ASSERT(pdr_chat_state_turn(&turn, state, 0));
    ASSERT_INT(PDR_TURN_ABORTED, turn.end);
    ASSERT_TEXT("A", turn.agent_id);
    ASSERT(turn.why.len > 0);
    chat_invokes(&stage, "A");
    chat_is("user:Hi | A:better", &stage);
    pdr_chat_state_free(state);
    chat_end(&stage);
    pdr_store_close(store);
}

/* --- endings ----------------------------------------------------------------
 */

static pdr_rc terminate_always(bool *out, const pdr_chat_view *view,
                               size_t spoke, pdr_err *err, void *arg)
{
    (void)view;
    (void)spoke;
    *out = true;
    return arg != NULL && *(const bool *)arg
               ? pdr_err_set(err, PDR_EMODEL, "toy_failed", "no idea")
               : PDR_OK;
}

TEST(turn, of_one_agent_says_whether_it_is_over)
{
    COVERS("C-33");
    struct chat_stage stage = {.opts = {.ends = {.kind = PDR_TERMINATE_FUNCTION,
                                                 .fn = terminate_always}}};
    struct stage_model guest;
    static const char *const steps[] = {"say G 1", "say G 2", NULL};

    stage_model_init(&guest, steps);
    chat_begin(&stage, "");
    agent_join(&stage, "G", &guest.base);
    chat_invokes(&stage, "G");
    ASSERT(pdr_chat_is_complete(stage.chat));
    chat_invokes(&stage, "G"); /* who is asked speaks, over or not */
    ASSERT(pdr_chat_is_complete(stage.chat));
    chat_is("G:G 1 | G:G 2", &stage);
    chat_end(&stage);
    stage_model_free(&guest);
}

/* The question whether it is over fails: the turn was one all the same. */
TEST(turn, stays_when_nobody_knows_whether_it_is_over)
{
    COVERS("C-36");
    for (int complete = 0; complete < 2; complete++) {
        bool fails = false;
        struct chat_stage stage = {
            .opts = {.ends = {.kind = PDR_TERMINATE_FUNCTION,
                              .fn = terminate_always,
                              .arg = &fails}}};
        pdr_store *store = NULL;
        pdr_chat_state *state = NULL;
        pdr_chat_turn turn;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        const pdr_chat_home home = {
            .store = store, .ref = {.id = S("c")}, .create = true};
        chat_begin(&stage, "A");
        ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, stage.chat, &home, NULL, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_chat_set_complete(stage.chat, complete == 1, NULL));
        fails = true;
        ASSERT_RC(PDR_EMODEL, chat_invoke(&stage, "A", &err));
        ASSERT_STR("toy_failed", err.reason);
        ASSERT_INT(complete, pdr_chat_is_complete(stage.chat));
        chat_is("A:A 1", &stage);
        ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &home.ref, NULL));
        ASSERT_INT(1, pdr_chat_state_message_count(state));
        ASSERT(pdr_chat_state_turn(&turn, state, 0));
        ASSERT_INT(PDR_TURN_ENDED, turn.end);
        pdr_chat_state_free(state);
        chat_end(&stage);

        chat_begin(&stage, "A"); /* as another process finds it */
        ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, stage.chat, &home, NULL, NULL));
        chat_is("A:A 1", &stage);
        ASSERT_INT(complete, pdr_chat_is_complete(stage.chat));
        chat_end(&stage);
        pdr_store_close(store);
    }
}
