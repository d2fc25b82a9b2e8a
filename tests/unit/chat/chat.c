/*
 * Chats: what is said, who hears of it, and what becomes of it when something
 * fails.
 */
#include "chat_stage.h"

#include "base.h"

/* --- one operation at a time -----------------------------------------------
 */

TEST(chat, begins_with_nothing)
{
    COVERS("C-8");
    struct chat_stage stage = {.count = 0};
    pdr_chat_message message;

    chat_begin(&stage, "A @n");
    ASSERT(!pdr_chat_is_active(stage.chat));
    ASSERT(!pdr_chat_is_complete(stage.chat));
    ASSERT_INT(0, pdr_chat_message_count(stage.chat));
    ASSERT(!pdr_chat_message_at(&message, stage.chat, 1));
    ASSERT(!pdr_chat_message_at(&message, stage.chat, 0));
    chat_says(&stage, "Hi");
    chat_sees("", &stage, "A");
    chat_sees("", &stage, "n");
    chat_sees("", &stage, "nobody");
    ASSERT_INT(0, stage.notes.created);
    chat_end(&stage);
}

static void add_meanwhile(struct chat_stage *stage)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_chat_is_active(stage->chat));
    ASSERT_RC(PDR_EBUSY, pdr_chat_add_text(stage->chat, S("me too"),
                                           pdr_str_n(NULL, 0), &err));
    ASSERT_STR("chat_busy", err.reason);
    ASSERT_RC(PDR_EBUSY, pdr_chat_run(stage->chat, NULL, NULL));
    ASSERT_RC(PDR_EBUSY, pdr_chat_reset(stage->chat, NULL, NULL, NULL));
    ASSERT_RC(PDR_EBUSY, pdr_chat_set_complete(stage->chat, true, NULL));
}

TEST(chat, lets_nobody_in_while_a_turn_is_under_way)
{
    COVERS("C-10");
    struct chat_stage stage = {.on_event = add_meanwhile};

    chat_begin(&stage, "A");
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "A");
    ASSERT_STR("A:A 1", stage.heard);
    chat_is("user:Hi | A:A 1", &stage);
    chat_says(&stage, "me too");
    chat_end(&stage);
}

TEST(chat, goes_on_when_a_listener_has_had_enough)
{
    COVERS("C-11");
    struct chat_stage stage = {.stops = PDR_ECANCELLED};

    chat_begin(&stage, "A");
    chat_says(&stage, "Hi");
    ASSERT_RC(PDR_ECANCELLED, chat_invoke(&stage, "A", NULL));
    chat_is("user:Hi | A:A 1", &stage); /* it is in the log */
    stage.stops = PDR_OK;
    chat_invokes(&stage, "A");
    chat_is("user:Hi | A:A 1 | A:A 2", &stage);
    chat_end(&stage);
}

/* --- adding -----------------------------------------------------------------
 */

TEST(chat_add, takes_a_batch_or_nothing)
{
    COVERS("C-12");
    COVERS("C-14");
    COVERS("C-15");
    static const struct {
        const char *role;
        pdr_rc rc;
    } cases[] = {{"system", PDR_EINVALID}, {"SyStEm", PDR_EINVALID},
                 {"developer", PDR_OK},    {"tool", PDR_OK},
                 {"x-custom", PDR_OK},     {"user", PDR_OK}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_value *batch[3] = {NULL};
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&stage, "A");
        for (size_t k = 0; k < 3; k++)
            ASSERT_RC(PDR_OK,
                      pdr_message_new_text(&batch[k], PDR_SHAPE_SK,
                                           S(k == 1 ? cases[i].role : "user"),
                                           S("x"), NULL));
        ASSERT_RC(cases[i].rc,
                  pdr_chat_add(stage.chat, (const pdr_value *const *)batch, 3,
                               PDR_SHAPE_SK, &err));
        ASSERT_INT(cases[i].rc == PDR_OK ? 3 : 0,
                   pdr_chat_message_count(stage.chat));
        if (cases[i].rc != PDR_OK)
            ASSERT_STR("system_message", err.reason);
        ASSERT(!pdr_chat_is_active(stage.chat));
        chat_says(&stage, "next");
        for (size_t k = 0; k < 3; k++)
            pdr_value_free(batch[k]);
        chat_end(&stage);
    }
}

TEST(chat_add, does_nothing_with_nothing_and_trims_authors)
{
    COVERS("C-16");
    COVERS("C-17");
    struct chat_stage stage = {.count = 0};
    pdr_chat_message message;

    chat_begin(&stage, "@n");
    chat_invokes(&stage, "n");
    ASSERT_RC(PDR_OK, pdr_chat_add(stage.chat, NULL, 0, PDR_SHAPE_SK, NULL));
    ASSERT_INT(0, stage.notes.received);
    ASSERT_RC(PDR_OK, pdr_chat_add_text(stage.chat, S("x"), S("  "), NULL));
    ASSERT(pdr_chat_message_at(&message, stage.chat, 2));
    ASSERT(pdr_message_author(message.value, PDR_SHAPE_SK) == NULL);
    chat_end(&stage);
}

/* --- turns ------------------------------------------------------------------
 */

TEST(turn, has_the_whole_log_before_it)
{
    COVERS("C-18");
    COVERS("C-20");
    COVERS("C-22");
    struct chat_stage stage = {.count = 0};

    chat_begin(&stage, "A @n @m");
    chat_says(&stage, "1");
    chat_says(&stage, "2");
    chat_says(&stage, "3");
    chat_invokes(&stage, "A");
    chat_is("user:1 | user:2 | user:3 | A:A 1", &stage);
    chat_sees("user:1 | user:2 | user:3 | A:A 1", &stage, "A");
    chat_invokes(&stage, "A");
    ASSERT_INT(5, pdr_chat_message_count(stage.chat));
    ASSERT_TEXT("user:1 | user:2 | user:3 | assistant:A 1",
                pdr_buf_str(&stage.members[0].model.seen));
    chat_invokes(&stage, "n");
    chat_invokes(&stage, "m");
    chat_invokes(&stage, "n");
    ASSERT_STR("user:1 | user:2 | user:3 | A:A 1 | A:A 2\n"
               "user:1 | user:2 | user:3 | A:A 1 | A:A 2 | n:n 1\n"
               "user:1 | user:2 | user:3 | A:A 1 | A:A 2 | n:n 1 | m:m 1\n",
               stage.notes.asked);
    chat_end(&stage);
}

TEST(turn, keeps_traffic_with_tools_from_callers)
{
    COVERS("C-23");
    COVERS("C-109");
    const char *const steps[] = {"call look {}", "say done", NULL};
    struct chat_stage stage = {.count = 0};

    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A @n");
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "A");
    chat_is("user:Hi | (A:call look) | (A:= look did {}) | A:done", &stage);
    ASSERT_STR("A:done", stage.heard);
    chat_invokes(&stage, "n");
    ASSERT_INT(4, stage.notes.received);
    chat_end(&stage);
}

TEST(turn, that_fails_keeps_what_was_said)
{
    COVERS("C-25");
    const char *const steps[] = {"call look {}", "fail", "say better", NULL};
    struct chat_stage stage = {.count = 0};

    chat_steps(&stage, 0, steps);
    chat_begin(&stage, "A @n");
    chat_says(&stage, "Hi");
    ASSERT_RC(PDR_EMODEL, chat_invoke(&stage, "A", NULL));
    chat_is("user:Hi | (A:call look) | (A:= look did {})", &stage);
    chat_invokes(&stage, "n");
    ASSERT_INT(3, stage.notes.received);
    chat_invokes(&stage, "A");
    chat_sees("user:Hi | A:call look | A:= look did {} | n:n 1 | A:better",
              &stage, "A");
    chat_end(&stage);
}

TEST(turn, needs_an_agent_that_takes_part)
{
    struct chat_stage stage = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A");
    ASSERT_RC(PDR_ENOTFOUND, chat_invoke(&stage, "B", &err));
    ASSERT_STR("no_agent", err.reason);
    chat_is("", &stage);
    chat_end(&stage);
}

/* --- delivering -------------------------------------------------------------
 */

TEST(delivery, goes_on_with_the_message_that_was_not_taken)
{
    COVERS("C-38");
    COVERS("C-39");
    COVERS("C-40");
    struct chat_stage stage = {.notes = {.fail_at = 0}};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A @n");
    chat_invokes(&stage, "n"); /* n 1 */
    for (int i = 0; i < 5; i++)
        chat_says(&stage, "x"); /* 2 to 6 */
    stage.notes.fail_at = 4;
    stage.notes.fail_left = 2;
    for (int i = 0; i < 2; i++) {
        ASSERT_RC(PDR_EIO, chat_invoke(&stage, "n", &err));
        ASSERT_STR("channel_failed", err.reason);
        ASSERT(strstr(err.message, "not this one") != NULL);
        ASSERT_INT(2, stage.notes.received);
    }
    chat_invokes(&stage, "A"); /* the others go on */
    ASSERT_RC(PDR_OK, pdr_chat_sync(stage.chat, NULL, NULL));
    ASSERT_INT(6, stage.notes.received);
    chat_sees("n:n 1 | user:x | user:x | user:x | user:x | user:x | A:A 1",
              &stage, "n");
    chat_end(&stage);
}

TEST(delivery, that_fails_at_the_beginning_begins_again)
{
    COVERS("C-21");
    struct chat_stage stage = {.notes = {.fail_at = 2, .fail_left = 1}};

    chat_begin(&stage, "@n");
    chat_says(&stage, "1");
    chat_says(&stage, "2");
    ASSERT_RC(PDR_EIO, chat_invoke(&stage, "n", NULL));
    chat_sees("", &stage, "n"); /* it has no channel */
    chat_invokes(&stage, "n");
    chat_sees("user:1 | user:2 | n:n 1", &stage, "n");
    chat_end(&stage);
}

TEST(delivery, reaches_each_channel_once)
{
    COVERS("C-42");
    struct chat_stage stage = {.count = 0};

    chat_begin(&stage, "@a @b @c @d @e @f @g @h @i @j");
    for (size_t i = 0; i < stage.count; i++)
        chat_invokes(&stage, stage.members[i].name);
    ASSERT_RC(PDR_OK, pdr_chat_sync(stage.chat, NULL, NULL));
    stage.notes.received = 0;
    chat_says(&stage, "x");
    ASSERT_RC(PDR_OK, pdr_chat_sync(stage.chat, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_sync(stage.chat, NULL, NULL));
    ASSERT_INT(10, stage.notes.received);
    chat_end(&stage);
}

/* --- runs -------------------------------------------------------------------
 */

TEST(run, lets_agents_speak_in_order)
{
    COVERS("C-30");
    COVERS("C-34");
    static const struct {
        unsigned turns;
        bool none;
        const char *log;
    } cases[] = {{0, false, "user:Hi | A:A 1"},
                 {0, true, "user:Hi"},
                 {7, false,
                  "user:Hi | A:A 1 | B:B 1 | C:C 1 | A:A 2 | B:B 2 | C:C 2 | "
                  "A:A 3"}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage stage = {
            .opts = {.max_turns = cases[i].turns, .no_turns = cases[i].none}};

        chat_begin(&stage, "A B C");
        chat_says(&stage, "Hi");
        chat_runs(&stage);
        chat_is(cases[i].log, &stage);
        ASSERT(!pdr_chat_is_complete(stage.chat));
        chat_end(&stage);
    }
}

static const char *const patterns[] = {"A 2", NULL};

TEST(run, ends_when_it_is_over)
{
    COVERS("C-31");
    COVERS("C-32");
    struct chat_stage stage = {
        .opts = {.ends = {.kind = PDR_TERMINATE_REGEX, .patterns = patterns}}};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A B");
    chat_runs(&stage);
    chat_is("A:A 1 | B:B 1 | A:A 2", &stage);
    ASSERT(pdr_chat_is_complete(stage.chat));
    ASSERT_RC(PDR_EMISUSE, chat_run(&stage, &err));
    ASSERT_STR("chat_complete", err.reason);
    chat_invokes(&stage, "B"); /* one that is asked speaks */
    ASSERT(!pdr_chat_is_complete(stage.chat));
    ASSERT_RC(PDR_OK, pdr_chat_set_complete(stage.chat, true, NULL));
    ASSERT(pdr_chat_is_complete(stage.chat));
    chat_end(&stage);
}

static pdr_rc select_late(size_t *out, const pdr_chat_view *view, pdr_err *err,
                          void *arg)
{
    *out = view->message_count < 2 ? 1 : 9;
    if (arg != NULL && view->message_count >= 2)
        return pdr_err_set(err, PDR_EMODEL, "toy_failed", "no idea");
    return PDR_OK;
}

TEST(run, needs_somebody_to_speak)
{
    COVERS("C-35");
    COVERS("C-49");
    static char yes;
    struct chat_stage nobody = {.count = 0}, others = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&others, "A B");
    for (int has_first = 0; has_first < 2; has_first++) {
        const pdr_chat_joining joinings[] = {
            {.agent = others.members[0].agent},
            {.agent = others.members[1].agent}};

        nobody.opts.first = has_first ? S("B") : pdr_str_n(NULL, 0);
        chat_begin(&nobody, "");
        ASSERT_RC(PDR_ENOTFOUND, chat_run(&nobody, &err));
        ASSERT_STR("no_agents", err.reason);
        chat_is("", &nobody);
        for (size_t i = 0; i < PDR_COUNT(joinings); i++)
            ASSERT_RC(PDR_OK, pdr_chat_join(nobody.chat, &joinings[i], NULL));
        chat_runs(&nobody);
        chat_is(has_first ? "B:B 1" : "A:A 1", &nobody);
        chat_end(&nobody);
    }
    chat_end(&others);
    for (int fails = 0; fails < 2; fails++) {
        struct chat_stage stage = {.opts = {.select = select_late,
                                            .select_arg = fails ? &yes : NULL,
                                            .max_turns = 5}};

        chat_begin(&stage, "A B");
        ASSERT_RC(PDR_EINVALID, chat_run(&stage, &err));
        ASSERT_STR("bad_selection", err.reason);
        chat_is("B:B 1 | B:B 2", &stage);
        chat_end(&stage);
    }
}

/* --- reading and resetting --------------------------------------------------
 */

TEST(reset, leaves_nothing_but_the_agents)
{
    COVERS("C-45");
    COVERS("C-46");
    COVERS("C-47");
    struct chat_stage stage = {.opts = {.max_turns = 3},
                               .notes = {.fail_reset = 1}};
    pdr_buf left = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&stage, "A @n");
    chat_says(&stage, "Hi");
    chat_runs(&stage);
    chat_says(&stage, "waits");
    ASSERT_RC(PDR_OK, pdr_chat_reset(stage.chat, &left, NULL, NULL));
    ASSERT(memmem(left.ptr, left.len, "thread t1 stays", 15) != NULL);
    chat_is("", &stage);
    ASSERT(!pdr_chat_is_complete(stage.chat));
    ASSERT_INT(2, pdr_chat_agent_count(stage.chat));
    chat_runs(&stage);
    chat_is("A:A 3 | n:n 2 | A:A 4", &stage); /* A speaks first again */
    chat_sees("A:A 3 | n:n 2 | A:A 4", &stage, "n");
    ASSERT(strstr(stage.notes.asked, "waits") == NULL);
    pdr_buf_dispose(&left);
    chat_end(&stage);
}

TEST(read, gives_the_newest_first)
{
    COVERS("C-44");
    struct chat_stage stage = {.count = 0};
    pdr_value *lists[2] = {NULL, NULL};

    chat_begin(&stage, "A");
    chat_says(&stage, "1");
    chat_says(&stage, "2");
    chat_invokes(&stage, "A");
    for (int i = 0; i < 2; i++)
        ASSERT_RC(PDR_OK, pdr_chat_read_as(&lists[i], stage.chat, S("A"),
                                           i == 1, NULL, NULL));
    ASSERT_SIZE(3, pdr_value_count(lists[0]));
    for (size_t i = 0; i < 3; i++)
        ASSERT(pdr_value_equal(pdr_value_at(lists[0], i),
                               pdr_value_at(lists[1], 2 - i)));
    pdr_value_free(lists[0]);
    pdr_value_free(lists[1]);
    chat_end(&stage);
}

/* --- reducing ---------------------------------------------------------------
 */

/* One that sees the last messages only; nobody else is touched. */
TEST(reduction, changes_what_one_agent_sees)
{
    COVERS("C-64");
    struct chat_stage stage = {.members = {{.reduction = {.target = 2}}}};

    chat_begin(&stage, "A B");
    for (int i = 0; i < 6; i++)
        chat_says(&stage, i % 2 == 0 ? "even" : "odd");
    chat_invokes(&stage, "A");
    ASSERT_TEXT("user:even | user:odd",
                pdr_buf_str(&stage.members[0].model.seen));
    chat_invokes(&stage, "B");
    chat_invokes(&stage, "A");
    ASSERT_TEXT("assistant:A 1 | assistant:B 1",
                pdr_buf_str(&stage.members[0].model.seen));
    ASSERT_INT(9, pdr_chat_message_count(stage.chat));
    chat_sees("user:even | user:odd | user:even | user:odd | user:even | "
              "user:odd | A:A 1 | B:B 1 | A:A 2",
              &stage, "B");
    chat_end(&stage);
}

/* A file of others may have a system message: it stays before the rest. */
TEST(reduction, keeps_the_system_message_that_was_restored)
{
    static const char saved[] =
        "{\"history\":[{\"role\":\"system\",\"items\":[{\"$type\":"
        "\"TextContent\",\"Text\":\"Be kind.\"}]},"
        "{\"role\":\"user\",\"items\":[{\"$type\":\"TextContent\","
        "\"Text\":\"1\"}]},{\"role\":\"user\",\"items\":[{\"$type\":"
        "\"TextContent\",\"Text\":\"2\"}]},{\"role\":\"user\","
        "\"items\":[{\"$type\":\"TextContent\",\"Text\":\"3\"}]}],"
        "\"channels\":[]}";
    struct chat_stage stage = {.members = {{.reduction = {.target = 2}}}};
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "A");
    if (chat_restore(NULL, &stage, S(saved), NULL, &err) != PDR_OK)
        fail_msg("%s", err.message);
    for (int i = 0; i < 2; i++) { /* also from what was cut before */
        chat_invokes(&stage, "A");
        ASSERT_TEXT(i == 0 ? "system:Be kind. | user:3"
                           : "system:Be kind. | assistant:A 1",
                    pdr_buf_str(&stage.members[0].model.seen));
    }
    chat_end(&stage);
}

/* --- secrets ----------------------------------------------------------------
 */

TEST(secret, is_in_no_key_and_in_no_document)
{
    COVERS("C-7");
    static const char *const secrets[] = {"sk-12345678", NULL};
    struct chat_stage stage = {.opts = {.secrets = secrets}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&stage, "@n");
    const pdr_agent_parts parts = {.id = S("x"),
                                   .name = S("sk-12345678x"),
                                   .client = &stage.members[0].model.base};
    pdr_chat_joining joining = {.kind = &chat_notes_kind, .arg = &stage.notes};
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_chat_join(stage.chat, &joining, &err));
    ASSERT_STR("literal_secret", err.reason);
    ASSERT_INT(1, pdr_chat_agent_count(stage.chat));
    pdr_agent_free(joining.agent);
    chat_says(&stage, "my key is sk-12345678");
    chat_invokes(&stage, "n"); /* its notes have it now */
    ASSERT_RC(PDR_EINVALID,
              pdr_chat_save(stage.chat, NULL, &err, pdr_write_buf, &text));
    ASSERT_STR("literal_secret", err.reason);
    ASSERT_SIZE(0, text.len);
    chat_invokes(&stage, "n"); /* it can go on */
    pdr_buf_dispose(&text);
    chat_end(&stage);
}
