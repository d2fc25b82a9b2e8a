/*
 * Chats that live in a store: what is committed when, what a crash leaves, and
 * what two processes can do to each other.
 */
#include "chat_stage.h"

#include <perdure/chat_store.h>
#include <perdure/json.h>

#include "base.h"
#include "chat.h"
#include "fault_store.h"
#include "hook_store.h"

#define LEASE_MS 30000
/* A lease has lapsed, on a slow machine too. */
#define LATER (STAGE_NOW + 2 * LEASE_MS)

static pdr_ref ref_of(const char *id)
{
    return (pdr_ref){.id = S(id)};
}

static pdr_rc attach_at(pdr_buf *report, struct chat_stage *stage,
                        pdr_store *store, const char *id, int64_t now_ms,
                        pdr_err *err)
{
    const pdr_chat_home home = {
        .store = store, .ref = ref_of(id), .create = true};
    const pdr_chat_apply_opts opts = {.now_ms = now_ms};
    pdr_chat_report *told = NULL;
    pdr_rc rc = pdr_chat_attach(&told, stage->chat, &home, &opts, err);

    if (report != NULL)
        chat_report(report, told);
    pdr_chat_report_free(told);
    return rc;
}

static void attach(struct chat_stage *stage, pdr_store *store, const char *id)
{
    pdr_err err = PDR_ERR_INIT;

    if (attach_at(NULL, stage, store, id, STAGE_NOW, &err) != PDR_OK)
        fail_msg("not attached: %s", err.message);
}

static void record_describe(pdr_buf *out, const pdr_value *record)
{
    static const char *const names[] = {"what", "agent", "why"};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        const pdr_value *member = pdr_value_get_c(record, names[i]);
        pdr_str text = {NULL, 0};

        if (member == NULL)
            continue;
        ASSERT_RC(PDR_OK, pdr_value_text(&text, member, &scratch, NULL));
        ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s%.*s", i > 0 ? " " : "[",
                                         (int)text.len, text.ptr));
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(out, S("]"), NULL));
    pdr_buf_dispose(&scratch);
}

/* What the store has: "user:Hi | [begin A] | A:A 1 | [end] | ...". */
static void rows_are(const char *expected, pdr_store *store, const char *id)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = ref_of(id), .limit = 200};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    for (size_t i = 0; i < page->count; i++) {
        const pdr_entry *row = &page->entries[i];
        pdr_value *body = NULL;

        ASSERT_RC(PDR_OK, pdr_json_read(&body, row->body, NULL, NULL));

        if (i > 0)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S(" | "), NULL));
        if (row->kind == PDR_ROW_MESSAGE)
            chat_describe(&text, body);
        else
            record_describe(&text, body);
        pdr_value_free(body);
    }
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_page_free(page);
    pdr_buf_dispose(&text);
}

static pdr_store *store_open(void)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    return store;
}

TEST(chat_home, commits_each_step_and_is_whole_again)
{
    COVERS("C-103");
    struct chat_stage from = {.opts = {.max_turns = 2}};
    struct chat_stage to = {.opts = {.max_turns = 1}};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = store_open();

    chat_begin(&from, "A @n B");
    attach(&from, store, "c");
    chat_says(&from, "Hi");
    rows_are("user:Hi", store, "c");
    chat_runs(&from);
    rows_are("user:Hi | [begin A] | A:A 1 | [end] | [begin n] | n:n 1 | [end]",
             store, "c");
    chat_is("user:Hi | A:A 1 | n:n 1", &from);
    chat_end(&from);

    chat_begin(&to, "A @n B");
    ASSERT_RC(PDR_OK, attach_at(&report, &to, store, "c", STAGE_NOW, NULL));
    ASSERT_TEXT("equivalent: restored chat-history | restored x-test.notes",
                pdr_buf_str(&report));
    chat_is("user:Hi | A:A 1 | n:n 1", &to);
    chat_runs(&to); /* whoever is next */
    chat_is("user:Hi | A:A 1 | n:n 1 | B:B 1", &to);
    chat_sees("user:Hi | A:A 1 | n:n 1 | B:B 1", &to, "n");
    chat_end(&to);
    pdr_store_close(store);
    pdr_buf_dispose(&report);
}

/* --- two that have the same chat -------------------------------------------
 */

TEST(chat_home, refuses_who_is_late)
{
    COVERS("C-107");
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    pdr_store *store = store_open();
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&one, "A");
    attach(&one, store, "c");
    chat_begin(&two, "A");
    attach(&two, store, "c");
    chat_says(&one, "Hi");
    ASSERT_RC(PDR_ECONFLICT,
              pdr_chat_add_text(two.chat, S("late"), pdr_str_n(NULL, 0), &err));
    ASSERT_STR("chat_changed", err.reason);
    ASSERT_RC(PDR_ECONFLICT, chat_invoke(&two, "A", &err));
    ASSERT_STR("chat_changed", err.reason);
    ASSERT_INT(0, two.members[0].model.asked);
    chat_is("", &two);
    chat_invokes(&one, "A");
    chat_is("user:Hi | A:A 1", &one);
    rows_are("user:Hi | [begin A] | A:A 1 | [end]", store, "c");
    chat_end(&one);
    chat_end(&two);
    pdr_store_close(store);
}

/* The model of the first chat is asked: the second one tries its luck. */
struct meanwhile {
    struct chat_stage *other;
    pdr_store *store;
    int64_t now_ms;
    pdr_rc rc;
    pdr_err err;
    int count;
};

static pdr_rc attach_meanwhile(void *arg)
{
    struct meanwhile *m = arg;

    if (m->count++ == 0)
        m->rc = attach_at(NULL, m->other, m->store, "c", m->now_ms, &m->err);
    return PDR_OK;
}

TEST(chat_home, lets_one_process_at_a_time_take_a_turn)
{
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    struct meanwhile m = {.other = &two,
                          .store = store_open(),
                          .now_ms = STAGE_NOW + LEASE_MS / 2,
                          .err = PDR_ERR_INIT};

    chat_begin(&one, "A");
    attach(&one, m.store, "c");
    chat_says(&one, "Hi");
    chat_begin(&two, "A");
    one.members[0].model.hook = attach_meanwhile;
    one.members[0].model.hook_arg = &m;
    chat_invokes(&one, "A");
    ASSERT_RC(PDR_EBUSY, m.rc);
    ASSERT_STR("chat_busy", m.err.reason);
    attach(&two, m.store, "c"); /* it is free again */
    chat_is("user:Hi | A:A 1", &two);
    chat_end(&one);
    chat_end(&two);
    pdr_store_close(m.store);
}

TEST(chat_home, gives_up_the_turn_of_a_process_that_sleeps)
{
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    struct meanwhile m = {.other = &two,
                          .store = store_open(),
                          .now_ms = LATER,
                          .err = PDR_ERR_INIT};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&one, "A");
    attach(&one, m.store, "c");
    chat_says(&one, "Hi");
    chat_begin(&two, "A");
    one.members[0].model.hook = attach_meanwhile;
    one.members[0].model.hook_arg = &m;
    ASSERT_RC(PDR_ECONFLICT, chat_invoke(&one, "A", &err));
    ASSERT_STR("chat_changed", err.reason);
    ASSERT_STR("", one.heard); /* nobody hears of what is not stored */
    ASSERT_RC(PDR_OK, m.rc);
    chat_invokes(&two, "A");
    rows_are("user:Hi | [begin A] | [abort the process that made the turn "
             "ended in it] | [begin A] | A:A 1 | [end]",
             m.store, "c");
    chat_end(&one);
    chat_end(&two);
    pdr_store_close(m.store);
}

/* Somebody makes the session right before the first commit. */
struct faster {
    struct chat_stage other;
    int count;
};

static pdr_rc make_first(pdr_store *store, const pdr_edit *edit, void *arg)
{
    struct faster *f = arg;

    (void)edit;
    if (f->count++ > 0)
        return PDR_OK;
    chat_begin(&f->other, "A");
    attach(&f->other, store, "c");
    chat_says(&f->other, "Hi");
    chat_end(&f->other);
    return PDR_OK;
}

TEST(chat_home, goes_on_with_what_somebody_else_has_just_made)
{
    struct faster f = {.count = 0};
    struct chat_stage one = {.count = 0};
    pdr_store *store = hook_open(make_first, &f);

    chat_begin(&one, "A");
    attach(&one, store, "c");
    chat_is("user:Hi", &one);
    chat_invokes(&one, "A");
    rows_are("user:Hi | [begin A] | A:A 1 | [end]", store, "c");
    chat_end(&one);
    pdr_store_close(store);
}

/* --- a crash at each commit -------------------------------------------------
 */

TEST(chat_home, goes_on_after_a_crash_at_any_commit)
{
    COVERS("C-105");
    static const char *const first[] = {"call look {\"x\":1}", "say done",
                                        NULL};
    static const char *const again[] = {"say once more", NULL};
    static const struct {
        size_t commits; /* that succeed */
        const char *rows, *report, *seen, *after;
        int looked; /* calls of the tool, by both */
    } cases[] = {
        {0, "user:Hi", "enhanced: to create chat-history", "user:Hi",
         "user:Hi | A:once more", 0},
        {1, "user:Hi | [begin A]", "enhanced: to create chat-history | open A",
         "user:Hi", "user:Hi | A:once more", 0},
        {2, "user:Hi | [begin A] | A:call look",
         "enhanced: to create chat-history | open A | dangling c1",
         "user:Hi | assistant:call look | tool:= Error: This call was interrupted, and "
         "its outcome is unknown. Find out what happened before you make it "
         "again.",
         "user:Hi | (A:call look) | A:once more", 1},
        {3, "user:Hi | [begin A] | A:call look | A:= look did {\"x\":1}",
         "enhanced: to create chat-history | open A",
         "user:Hi | assistant:call look | tool:= look did {\"x\":1}",
         "user:Hi | (A:call look) | (A:= look did {\"x\":1}) | A:once more", 1},
        {4,
         "user:Hi | [begin A] | A:call look | A:= look did {\"x\":1} | A:done | "
         "[end]",
         "equivalent: restored chat-history",
         "user:Hi | assistant:call look | tool:= look did {\"x\":1} | "
         "assistant:done",
         "user:Hi | (A:call look) | (A:= look did {\"x\":1}) | A:done | A:once "
         "more",
         1},
    };

    fault_store_register();
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const struct fault_plan none = {.nth = 0};
        const struct fault_plan crash = {.call = FAULT_COMMIT,
                                         .nth = cases[i].commits + 1,
                                         .for_ever = true};
        struct chat_stage one = {.count = 0}, two = {.count = 0};
        pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
        pdr_store *store = NULL;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
        chat_steps(&one, 0, first);
        chat_begin(&one, "A");
        attach(&one, store, "c");
        chat_says(&one, "Hi");
        fault_store_set(&crash);
        ASSERT_RC(cases[i].commits < 4 ? PDR_EIO : PDR_OK,
                  chat_invoke(&one, "A", NULL));
        ASSERT_STR(cases[i].commits < 4 ? "" : "A:done", one.heard);
        chat_end(&one);
        fault_store_set(&none);
        rows_are(cases[i].rows, store, "c");

        chat_steps(&two, 0, again);
        chat_begin(&two, "A");
        ASSERT_RC(PDR_OK, attach_at(&report, &two, store, "c", LATER, NULL));
        ASSERT_TEXT(cases[i].report, pdr_buf_str(&report));
        chat_runs(&two); /* A again */
        ASSERT_TEXT(cases[i].seen, pdr_buf_str(&two.members[0].model.seen));
        chat_is(cases[i].after, &two);
        ASSERT_INT(cases[i].looked, one.looked + two.looked);
        chat_end(&two);
        pdr_store_close(store);
        pdr_buf_dispose(&report);
    }
}

#define CUT_OFF                                                             \
    "tool:= Error: This call was interrupted, and its outcome is unknown. " \
    "Find out what happened before you make it again."

/* A call of A that is stored, and whose result is not. */
static void call_cut_off(pdr_store *store)
{
    static const char *const steps[] = {"call look {\"x\":1}", NULL};
    const struct fault_plan none = {.nth = 0};
    const struct fault_plan crash = {
        .call = FAULT_COMMIT, .nth = 3, .for_ever = true};
    struct chat_stage stage = {.count = 0};

    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A");
    attach(&stage, store, "c");
    chat_says(&stage, "Hi");
    fault_store_set(&crash);
    ASSERT_RC(PDR_EIO, chat_invoke(&stage, "A", NULL));
    fault_store_set(&none);
    chat_end(&stage);
}

/* Servers that number their calls begin anew with the next answer. */
TEST(chat_home, tells_a_call_from_a_later_one_with_its_id)
{
    static const char *const steps[] = {"call look {\"x\":2}", "say done",
                                        "say more", NULL};
    struct chat_stage stage = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = NULL;

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    call_cut_off(store);
    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, attach_at(NULL, &stage, store, "c", LATER, NULL));
    chat_invokes(&stage, "A");
    chat_invokes(&stage, "A");
    chat_is("user:Hi | (A:call look) | (A:call look) | (A:= look did "
            "{\"x\":2}) | A:done | A:more",
            &stage);
    ASSERT_TEXT("user:Hi | assistant:call look | " CUT_OFF
                " | assistant:call look | tool:= look did {\"x\":2} | "
                "assistant:done",
                pdr_buf_str(&stage.members[0].model.seen));
    chat_end(&stage);
    pdr_store_close(store);

    /* What was the last message has no result, whatever came before it. */
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, chat_restore(
                          &report, &stage,
                          S("{\"history\":[{\"role\":\"assistant\",\"items\":[{"
                            "\"$type\":\"FunctionCallContent\",\"Id\":\"c1\","
                            "\"FunctionName\":\"look\"}]},{\"role\":"
                            "\"assistant\",\"items\":[{\"$type\":"
                            "\"FunctionCallContent\",\"Id\":\"c1\","
                            "\"FunctionName\":\"look\"}]},{\"role\":\"tool\","
                            "\"items\":[{\"$type\":\"FunctionResultContent\","
                            "\"CallId\":\"c1\",\"Result\":1}]}],"
                            "\"channels\":[]}"),
                          NULL, NULL));
    ASSERT_TEXT("enhanced: to create chat-history | dangling c1",
                pdr_buf_str(&report));
    chat_end(&stage);
    pdr_buf_dispose(&report);
}

/* Who knows what came of the call says so. */
TEST(chat_home, takes_the_result_of_a_call_that_was_cut_off)
{
    COVERS("C-105");
    static const char *const steps[] = {"say done", NULL};
    struct chat_stage stage = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = NULL;
    pdr_value *result =
        stage_json("{\"Role\":{\"Label\":\"tool\"},\"Items\":[{\"$type\":"
                   "\"FunctionResultContent\",\"CallId\":\"c1\",\"Result\":"
                   "\"seven\"}]}");

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    call_cut_off(store);
    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, attach_at(&report, &stage, store, "c", LATER, NULL));
    ASSERT_TEXT("enhanced: to create chat-history | open A | dangling c1",
                pdr_buf_str(&report));
    ASSERT_RC(PDR_OK,
              pdr_chat_add(stage.chat, (const pdr_value *const *)&result, 1,
                           PDR_SHAPE_SK, NULL));
    chat_runs(&stage);
    ASSERT_TEXT("user:Hi | assistant:call look | tool:= seven",
                pdr_buf_str(&stage.members[0].model.seen));
    ASSERT_INT(0, stage.looked);
    chat_end(&stage);
    pdr_store_close(store);
    pdr_value_free(result);
    pdr_buf_dispose(&report);
}

/* A model chose who speaks, and is not asked again. */
TEST(chat_home, lets_speak_who_was_chosen_before_a_crash)
{
    COVERS("C-105");
    static const char *const choices[] = {"say B", "say A", NULL};
    struct stage_model chooser;
    const pdr_chat_prompt prompt = {.client = &chooser.base, .text = "Who?"};
    const struct fault_plan none = {.nth = 0};

    fault_store_register();
    for (size_t commits = 1; commits < 3; commits++) { /* begun, or ended */
        const struct fault_plan crash = {
            .call = FAULT_COMMIT, .nth = commits + 1, .for_ever = true};
        struct chat_stage one = {.opts = {.select_prompt = &prompt}};
        struct chat_stage two = {.opts = {.select_prompt = &prompt}};
        pdr_store *store = NULL;

        stage_model_init(&chooser, choices);
        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
        chat_begin(&one, "A B");
        attach(&one, store, "c");
        chat_says(&one, "Hi");
        fault_store_set(&crash);
        ASSERT_RC(commits == 1 ? PDR_EIO : PDR_OK, chat_run(&one, NULL));
        fault_store_set(&none);
        chat_end(&one);

        chat_begin(&two, "A B");
        ASSERT_RC(PDR_OK, attach_at(NULL, &two, store, "c", LATER, NULL));
        chat_runs(&two);
        chat_is(commits == 1 ? "user:Hi | B:B 1" : "user:Hi | B:B 1 | A:A 1",
                &two);
        ASSERT_SIZE(commits, chooser.asked);
        chat_runs(&two);
        ASSERT_SIZE(commits + 1, chooser.asked);
        chat_end(&two);
        pdr_store_close(store);
        stage_model_free(&chooser);
    }
}

/* The slots are those of the last turn that ended; the numbers go on. */
TEST(chat_home, numbers_turns_on_after_one_was_given_up)
{
    struct chat_stage stages[3] = {{.count = 0}};
    const struct fault_plan none = {.nth = 0};
    const struct fault_plan crash = {
        .call = FAULT_COMMIT, .nth = 2, .for_ever = true};
    pdr_store *store = NULL;
    pdr_chat_state *state = NULL;
    const pdr_ref ref = ref_of("c");
    pdr_chat_turn turn;

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    for (int i = 0; i < 3; i++) { /* crashes, gives it up and ends, goes on */
        chat_begin(&stages[i], "A");
        ASSERT_RC(PDR_OK, attach_at(NULL, &stages[i], store, "c",
                                    STAGE_NOW + i * (LATER - STAGE_NOW), NULL));
        if (i == 0)
            fault_store_set(&crash);
        if (i != 1)
            ASSERT_RC(i == 0 ? PDR_EIO : PDR_OK,
                      chat_invoke(&stages[i], "A", NULL));
        fault_store_set(&none);
        chat_end(&stages[i]);
    }
    ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &ref, NULL));
    ASSERT_SIZE(2, pdr_chat_state_turn_count(state));
    for (size_t i = 0; pdr_chat_state_turn(&turn, state, i); i++) {
        ASSERT_SIZE(i + 1, turn.number);
        ASSERT(turn.end == (i == 0 ? PDR_TURN_ABORTED : PDR_TURN_ENDED));
    }
    pdr_chat_state_free(state);
    pdr_store_close(store);
}

TEST(chat_home, is_over_when_the_store_says_so)
{
    const struct fault_plan none = {.nth = 0};
    const struct fault_plan last = {.call = FAULT_COMMIT, .nth = 3};
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    pdr_store *store = NULL;

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    chat_begin(&one, "A");
    attach(&one, store, "c");
    ASSERT_RC(PDR_OK, pdr_chat_set_complete(one.chat, true, NULL));
    fault_store_set(&last); /* the turn has ended, and nothing ends the chat */
    ASSERT_RC(PDR_EIO, chat_invoke(&one, "A", NULL));
    fault_store_set(&none);
    ASSERT(pdr_chat_is_complete(one.chat));
    chat_begin(&two, "A");
    attach(&two, store, "c");
    ASSERT(pdr_chat_is_complete(two.chat));
    chat_end(&one);
    chat_end(&two);
    pdr_store_close(store);
}

/* --- each call of the store fails -------------------------------------------
 */

/* What an agent that takes notes sees is the log; anybody can speak. */
static void home_is_sound(pdr_store *store)
{
    const pdr_chat_call later = {.now_ms = LATER};
    struct chat_stage stage = {.count = 0};
    pdr_buf log = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    const pdr_ref ref = ref_of("c");
    pdr_chat_message message;
    pdr_str rest;

    chat_begin(&stage, "A @n");
    ASSERT_RC(PDR_OK, attach_at(NULL, &stage, store, "c", LATER, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_invoke(stage.chat, S("n"), &later, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_invoke(stage.chat, S("A"), &later, NULL));
    for (uint64_t seq = 1; pdr_chat_message_at(&message, stage.chat, seq);
         seq++) {
        if (seq > 1)
            ASSERT_RC(PDR_OK, pdr_buf_append(&log, S(" | "), NULL));
        chat_describe(&log, message.value);
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(&log, pdr_str_n("", 1), NULL));
    chat_sees(log.ptr, &stage, "n");
    ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &ref, NULL));
    ASSERT_RC(PDR_OK,
              pdr_chat_state_save(state, NULL, NULL, pdr_write_buf, &text));
    pdr_chat_state_free(state);
    rest = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK, pdr_chat_open(&state, NULL, NULL, pdr_read_str, &rest));
    pdr_chat_state_free(state);
    chat_end(&stage);
    pdr_buf_dispose(&log);
    pdr_buf_dispose(&text);
}

static const pdr_chat_call call_now = {.now_ms = STAGE_NOW};

static pdr_rc deed_attach(struct chat_stage *stage, pdr_store *store)
{
    struct chat_stage other = {.count = 0};
    pdr_rc rc = PDR_OK;

    (void)stage;
    chat_begin(&other, "A @n");
    rc = attach_at(NULL, &other, store, "c", STAGE_NOW, NULL);
    ASSERT_INT(rc == PDR_OK ? 3 : 0, pdr_chat_message_count(other.chat));
    chat_end(&other);
    return rc;
}

static pdr_rc deed_make(struct chat_stage *stage, pdr_store *store)
{
    struct chat_stage other = {.count = 0};
    pdr_rc rc = PDR_OK;

    (void)stage;
    chat_begin(&other, "A @n");
    rc = attach_at(NULL, &other, store, "other", STAGE_NOW, NULL);
    chat_end(&other);
    return rc;
}

static pdr_rc deed_add(struct chat_stage *stage, pdr_store *store)
{
    (void)store;
    return pdr_chat_add_text(stage->chat, S("more"), pdr_str_n(NULL, 0), NULL);
}

static pdr_rc deed_run(struct chat_stage *stage, pdr_store *store)
{
    (void)store;
    return chat_run(stage, NULL);
}

static pdr_rc deed_sync(struct chat_stage *stage, pdr_store *store)
{
    (void)store;
    return pdr_chat_sync(stage->chat, &call_now, NULL);
}

static pdr_rc deed_read(struct chat_stage *stage, pdr_store *store)
{
    pdr_value *list = NULL;
    pdr_rc rc =
        pdr_chat_read_as(&list, stage->chat, S("n"), true, &call_now, NULL);

    (void)store;
    ASSERT((list != NULL) == (rc == PDR_OK));
    pdr_value_free(list);
    return rc;
}

static pdr_rc deed_end(struct chat_stage *stage, pdr_store *store)
{
    pdr_rc rc = pdr_chat_set_complete(stage->chat, true, NULL);

    (void)store;
    ASSERT((rc == PDR_OK) == pdr_chat_is_complete(stage->chat));
    return rc;
}

static pdr_rc deed_reset(struct chat_stage *stage, pdr_store *store)
{
    (void)store;
    return pdr_chat_reset(stage->chat, NULL, NULL, NULL);
}

static pdr_rc deed_replace(struct chat_stage *stage, pdr_store *store)
{
    const pdr_ref ref = ref_of("c");
    pdr_chat_state *state = NULL;
    pdr_rc rc = pdr_chat_load(&state, store, &ref, NULL);

    (void)stage;
    if (rc == PDR_OK)
        rc = pdr_chat_state_store(state, store, &ref, true, STAGE_NOW, NULL);
    pdr_chat_state_free(state);
    return rc;
}

/* Call number `nth` of a kind fails; false: there was no such call. */
static bool deed_try(pdr_rc (*deed)(struct chat_stage *stage, pdr_store *store),
                     const struct fault_plan *plan)
{
    const struct fault_plan none = {.nth = 0};
    struct chat_stage stage = {.opts = {.max_turns = 2}};
    pdr_store *store = NULL;
    size_t failed = 0;
    pdr_rc rc = PDR_OK;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    chat_begin(&stage, "A @n");
    attach(&stage, store, "c");
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "n");
    chat_says(&stage, "Ho");
    fault_store_set(plan);
    rc = deed(&stage, store);
    failed = fault_store_failed();
    fault_store_set(&none);
    ASSERT(failed > 0 || rc == PDR_OK);
    ASSERT(!pdr_chat_is_active(stage.chat));
    chat_end(&stage);
    home_is_sound(store);
    pdr_store_close(store);
    return failed > 0;
}

TEST(chat_home, goes_on_whichever_call_of_the_store_fails)
{
    COVERS("C-103");
    pdr_rc (*const deeds[])(struct chat_stage * stage, pdr_store * store) = {
        deed_attach, deed_make, deed_add,   deed_run,    deed_sync,
        deed_read,   deed_end,  deed_reset, deed_replace};
    static const enum fault_call calls[] = {FAULT_COMMIT, FAULT_READ};
    size_t tried = 0;

    fault_store_register();
    for (size_t i = 0; i < PDR_COUNT(deeds); i++) {
        for (size_t k = 0; k < 2 * PDR_COUNT(calls); k++) {
            struct fault_plan plan = {.call = calls[k / 2],
                                      .for_ever = k % 2 == 1};

            do
                plan.nth++;
            while (deed_try(deeds[i], &plan));
            tried += plan.nth - 1;
        }
    }
    ASSERT(tried >= 40);
}

/* A turn that cannot be finished is one that nobody finished. */
TEST_OOM(chat_home, goes_on_without_memory)
{
    static const char *const steps[] = {"call look {}", "say done", NULL};
    struct chat_stage stage = {.count = 0};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;
    uint64_t told = 0;

    test_pause_failures(true);
    store = store_open();
    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A");
    stage.members[0].model.is_deaf = true;
    attach(&stage, store, "c");
    test_pause_failures(false);
    rc = pdr_chat_add_text(stage.chat, S("Hi"), pdr_str_n(NULL, 0), NULL);
    told += rc == PDR_OK;
    if (rc == PDR_OK)
        rc = pdr_chat_invoke(stage.chat, S("A"), &call_now, NULL);
    told += rc == PDR_OK ? 3 : 0;
    if (rc == PDR_OK)
        rc = pdr_chat_reset(stage.chat, NULL, NULL, NULL);
    told = rc == PDR_OK ? 0 : told;
    test_pause_failures(true);
    chat_end(&stage);
    stage = (struct chat_stage){.count = 0};
    chat_begin(&stage, "A @n");
    ASSERT_RC(PDR_OK, attach_at(NULL, &stage, store, "c", LATER, NULL));
    ASSERT(pdr_chat_message_count(stage.chat) >= told);
    chat_end(&stage);
    home_is_sound(store);
    pdr_store_close(store);
    test_pause_failures(false);
}

/* --- what a message costs ----------------------------------------------------
 */

/* A hook_fn: bytes of rows. */
static pdr_rc bytes_count(pdr_store *store, const pdr_edit *edit, void *arg)
{
    size_t *bytes = arg;

    (void)store;
    for (size_t i = 0; i < edit->entry_count; i++)
        *bytes += edit->entries[i].body.len;
    for (size_t i = 0; i < edit->slot_count; i++)
        *bytes += edit->slots[i].key.len + edit->slots[i].value.len;
    return PDR_OK;
}

TEST(chat_home, writes_as_much_for_the_last_message_as_for_the_first)
{
    COVERS("C-106");
    static const size_t sizes[] = {10, 100000};
    size_t added[2] = {0}, spoken[2] = {0}, bytes = 0;

    for (size_t i = 0; i < PDR_COUNT(sizes); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_store *store = hook_open(bytes_count, &bytes);
        pdr_value *message = NULL;
        const pdr_value *batch[1000];
        size_t count = sizes[i] < 1000 ? sizes[i] : 1000;

        stage.members[0].reduction = (pdr_reduction){.target = 5};
        chat_begin(&stage, "A");
        attach(&stage, store, "c");
        ASSERT_RC(PDR_OK, pdr_message_new_text(&message, PDR_SHAPE_SK,
                                               S("user"), S("Hi"), NULL));
        for (size_t k = 0; k < count; k++)
            batch[k] = message;
        for (size_t k = 0; k < sizes[i]; k += count)
            ASSERT_RC(PDR_OK, pdr_chat_add(stage.chat, batch, count,
                                           PDR_SHAPE_SK, NULL));
        pdr_value_free(message);
        chat_invokes(&stage, "A");
        bytes = 0;
        chat_says(&stage, "one more");
        added[i] = bytes;
        bytes = 0;
        chat_invokes(&stage, "A");
        spoken[i] = bytes;
        chat_end(&stage);
        pdr_store_close(store);
    }
    ASSERT_SIZE(added[0], added[1]);
    ASSERT(spoken[1] <= spoken[0] + 16); /* digits of its numbers */
}

/* --- the rest ----------------------------------------------------------------
 */

TEST(chat_home, is_reset_with_its_rows)
{
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    pdr_store *store = store_open();

    chat_begin(&one, "A @n");
    attach(&one, store, "c");
    chat_says(&one, "Hi");
    chat_invokes(&one, "n");
    ASSERT_RC(PDR_OK, pdr_chat_set_complete(one.chat, true, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_reset(one.chat, NULL, NULL, NULL));
    rows_are("", store, "c");
    chat_says(&one, "Again");
    chat_invokes(&one, "n");
    chat_end(&one);
    chat_begin(&two, "A @n");
    attach(&two, store, "c");
    ASSERT(!pdr_chat_is_complete(two.chat));
    chat_is("user:Again | n:n 2", &two);
    chat_sees("user:Again | n:n 2", &two, "n");
    chat_end(&two);
    pdr_store_close(store);
}

TEST(chat_home, keeps_who_is_missing_until_they_join)
{
    struct chat_stage one = {.count = 0}, two = {.count = 0},
                      three = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = store_open();

    chat_begin(&one, "A @n");
    attach(&one, store, "c");
    chat_says(&one, "Hi");
    chat_invokes(&one, "n");
    chat_invokes(&one, "A");
    chat_end(&one);
    chat_begin(&two, "A");
    ASSERT_RC(PDR_OK, attach_at(&report, &two, store, "c", STAGE_NOW, NULL));
    ASSERT_TEXT("reduced: restored chat-history | parked x-test.notes | no "
                "agent n",
                pdr_buf_str(&report));
    chat_invokes(&two, "A");
    chat_end(&two);
    chat_begin(&three, "A @n");
    ASSERT_RC(PDR_OK, attach_at(&report, &three, store, "c", STAGE_NOW, NULL));
    ASSERT_TEXT("equivalent: restored chat-history | restored x-test.notes",
                pdr_buf_str(&report));
    chat_sees("user:Hi | n:n 1 | A:A 1 | A:A 1", &three, "n");
    chat_end(&three);
    pdr_store_close(store);
    pdr_buf_dispose(&report);
}

/* --- what providers remember ------------------------------------------------
 * An agent "M" whose provider counts its runs, in the session that the agent
 * has in the chat.
 */

static int64_t memo_found; /* at the beginning of the last run; 0: nothing */

static pdr_rc memo_before(pdr_context *context, const pdr_run_info *run,
                          pdr_err *err, void *self)
{
    pdr_bag *bag = pdr_session_bag(run->session);
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    (void)context;
    (void)self;
    memo_found = 0;
    if (pdr_bag_get(&value, bag, S("memo"), NULL) == PDR_OK)
        rc = pdr_value_int64(&memo_found, value, err);
    pdr_value_free(value);
    value = NULL;
    if (rc == PDR_OK)
        rc = pdr_value_new_int64(&value, memo_found + 1, err);
    if (rc == PDR_OK)
        rc = pdr_bag_set(bag, S("memo"), value, err);
    pdr_value_free(value);
    return rc;
}

/* It has the model of the first agent. */
static void memo_join(struct chat_stage *stage)
{
    const pdr_provider provider = {.name = "memo",
                                   .kind = PDR_PROVIDER_CONTEXT,
                                   .keys = (const char *const[]){"memo", NULL},
                                   .before = memo_before};
    const pdr_agent_parts parts = {.id = S("M"),
                                   .name = S("M"),
                                   .client = &stage->members[0].model.base,
                                   .providers = &provider,
                                   .provider_count = 1};
    pdr_chat_joining joining = {.agent = NULL};

    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage->chat, &joining, NULL));
    pdr_agent_free(joining.agent);
}

static void memo_finds(int64_t expected, struct chat_stage *stage)
{
    chat_invokes(stage, "M");
    ASSERT_INT(expected, memo_found);
}

/* From what the last one left to the next one; in a document if there is no
 * store. */
static void memo_next(pdr_buf *text, struct chat_stage *from,
                      struct chat_stage *to, pdr_store *store, bool has_memo)
{
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);

    if (from != NULL && store == NULL) {
        pdr_buf_clear(text);
        chat_save(text, from, PDR_CHAT_NATIVE);
    }
    if (from != NULL)
        chat_end(from);
    chat_begin(to, "A");
    if (has_memo)
        memo_join(to);
    if (store != NULL)
        ASSERT_RC(PDR_OK, attach_at(&report, to, store, "c", STAGE_NOW, NULL));
    else if (from != NULL)
        ASSERT_RC(PDR_OK,
                  chat_restore(&report, to, pdr_buf_str(text), NULL, NULL));
    ASSERT((report.len > 0 &&
            memmem(report.ptr, report.len, "no agent M", 10) != NULL) ==
           (from != NULL && !has_memo));
    pdr_buf_dispose(&report);
}

TEST(chat_home, keeps_what_providers_remember)
{
    static const char *const steps[] = {"say 5", "fail", "say 7", "say 8",
                                        NULL};

    for (int in_store = 0; in_store < 2; in_store++) {
        struct chat_stage one = {.count = 0}, two = {.count = 0},
                          three = {.count = 0}, four = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_store *store = in_store ? store_open() : NULL;

        memo_next(&text, NULL, &one, store, true);
        chat_says(&one, "Hi");
        memo_finds(0, &one);
        chat_invokes(&one, "A"); /* nothing of it is another one's */
        memo_finds(1, &one);
        memo_next(&text, &one, &two, store, false);
        chat_invokes(&two, "A");
        chat_steps(&three, 0, steps);
        memo_next(&text, &two, &three, store, true);
        memo_finds(2, &three);
        ASSERT_RC(PDR_EMODEL, chat_invoke(&three, "M", NULL));
        ASSERT_INT(3, memo_found);
        memo_next(&text, &three, &four, store, true);
        memo_finds(4, &four); /* what it wrote in a turn that failed is there */
        ASSERT_RC(PDR_OK, pdr_chat_reset(four.chat, NULL, NULL, NULL));
        memo_finds(0, &four);
        chat_end(&four);
        pdr_store_close(store);
        pdr_buf_dispose(&text);
    }
}

/* A pdr_doc_finding_fn: appends the pointers. */
static pdr_rc pointer_note(const pdr_doc_finding *finding, pdr_err *err,
                           void *arg)
{
    return pdr_buf_printf(arg, err, "%.*s ", (int)finding->pointer.len,
                          finding->pointer.ptr);
}

TEST(chat_home, says_that_other_forms_forget_what_providers_remember)
{
    pdr_buf lost = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_save_opts opts = {
        .form = PDR_CHAT_SK, .fn = pointer_note, .arg = &lost};
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&from, "A");
    memo_join(&from);
    chat_says(&from, "Hi");
    memo_finds(0, &from);
    ASSERT_RC(PDR_OK,
              pdr_chat_save(from.chat, &opts, NULL, pdr_write_buf, &text));
    ASSERT(memmem(lost.ptr, lost.len, "/participants/1/session ", 24) != NULL);
    ASSERT(memmem(lost.ptr, lost.len, "/participants/0/", 16) == NULL);
    opts.is_strict = true;
    ASSERT_RC(PDR_EINVALID, pdr_chat_save(from.chat, &opts, &err, pdr_write_buf,
                                          &(pdr_buf)PDR_BUF_INIT(SIZE_MAX)));
    ASSERT_STR("cannot_carry", err.reason);
    chat_begin(&to, "A");
    memo_join(&to);
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, NULL));
    memo_finds(0, &to);
    chat_end(&from);
    chat_end(&to);
    pdr_buf_dispose(&lost);
    pdr_buf_dispose(&text);
}

/* --- what is not ours --------------------------------------------------------
 */

TEST(chat_home, keeps_members_that_nobody_knows)
{
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = store_open();
    const pdr_ref ref = ref_of("c");
    pdr_chat_state *state = NULL;
    pdr_str rest;

    chat_begin(&one, "A");
    chat_says(&one, "Hi");
    chat_invokes(&one, "A");
    chat_save(&text, &one, PDR_CHAT_NATIVE);
    chat_end(&one);
    chat_replace(&text, "{\"format\"", "{\"x-top\":1,\"format\"");
    chat_replace(&text, "{\"id\":\"A\"", "{\"x-who\":2,\"id\":\"A\"");
    chat_replace(&text, "{\"key2\"", "{\"x-channel\":3,\"key2\"");
    rest = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK, pdr_chat_open(&state, NULL, NULL, pdr_read_str, &rest));
    ASSERT_RC(PDR_OK,
              pdr_chat_state_store(state, store, &ref, false, STAGE_NOW, NULL));
    pdr_chat_state_free(state);
    chat_begin(&two, "A");
    attach(&two, store, "c");
    chat_says(&two, "more");
    chat_invokes(&two, "A");
    chat_save(&text, &two, PDR_CHAT_NATIVE);
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
    for (int i = 0; i < 2;
         i++) { /* as the chat says, and as the store has it */
        ASSERT(strstr(text.ptr, "\"x-top\":1") != NULL);
        ASSERT(strstr(text.ptr, "\"x-who\":2") != NULL);
        ASSERT(strstr(text.ptr, "\"x-channel\":3") != NULL);
        pdr_buf_clear(&text);
        ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &ref, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_chat_state_save(state, NULL, NULL, pdr_write_buf, &text));
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
        pdr_chat_state_free(state);
    }
    chat_end(&two);
    pdr_store_close(store);
    pdr_buf_dispose(&text);
}

TEST(chat_store, takes_the_place_of_what_was_read_and_of_nothing_else)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = ref_of("c")};
    struct chat_stage one = {.opts = {.max_turns = 1}};
    pdr_store *store = store_open();
    pdr_chat_state *state = NULL;
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&one, "A");
    attach(&one, store, "c");
    chat_says(&one, "Hi");
    ASSERT_RC(PDR_OK, pdr_chat_load(&state, store, &query.ref, NULL));
    ASSERT_RC(PDR_EEXISTS, pdr__chat_state_store(state, store, &query.ref, NULL,
                                                 STAGE_NOW, &err));
    ASSERT_STR("session_exists", err.reason);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    chat_says(&one, "Ho");
    ASSERT_RC(PDR_ECONFLICT,
              pdr__chat_state_store(state, store, &query.ref, &page->head,
                                    STAGE_NOW, &err));
    rows_are("user:Hi | user:Ho", store, "c");
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    ASSERT_RC(PDR_OK, pdr__chat_state_store(state, store, &query.ref,
                                            &page->head, STAGE_NOW, &err));
    rows_are("user:Hi", store, "c");
    pdr_page_free(page);
    pdr_chat_state_free(state);
    chat_end(&one);
    pdr_store_close(store);
}
