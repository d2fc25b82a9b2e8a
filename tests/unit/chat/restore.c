/*
 * Chats that are saved and restored: the five cases, in every form, by a
 * process that did not save them.
 */
#include "chat_stage.h"

#include "base.h"
#include "chat.h"
#include "processes.h"
#include "room.h"

#define KEY_BYTES "an example of 32 bytes, no more."
#define ZEROS     "0000000000000000000000000000000000000000000000000000000000000000"

static const struct shape {
    pdr_chat_save_opts save;
    bool needs_mac;
} shapes[] = {
    {.save = {.form = PDR_CHAT_NATIVE}},
    {.save = {.form = PDR_CHAT_NATIVE, .is_encoded = true}},
    {.save = {.form = PDR_CHAT_NATIVE,
              .key = {{"k", 1}, {KEY_BYTES, sizeof(KEY_BYTES) - 1}}},
     .needs_mac = true},
    {.save = {.form = PDR_CHAT_SK}},
    {.save = {.form = PDR_CHAT_PLAIN}},
    {.save = {.form = PDR_CHAT_ENCODED}},
};

/* Who takes part, who has spoken, who is there afterwards, and what comes of
 * it. */
struct restoring {
    const char *before, *spoke, *after;
    const char *report; /* of the native forms; the others have its case */
    const char *next;   /* speaks then, and sees this */
    const char *sees;
    const char *reason;  /* of the failure; NULL: it succeeds */
    const char *sk_case; /* of Semantic Kernel; NULL: the same */
    const char *begun;   /* who had spoken there; "say": a caller, "fail": the
                            first one, and failed. Its log is `sees` then; NULL:
                            nobody */
};

static const struct restoring cases[] = {
    /* 1 Equivalent */
    {"A", "A", "A", "equivalent: restored chat-history", "A",
     "user:Hi | A:A 1 | A:A 1", NULL, NULL, NULL},
    {"A B @n", "A n", "@n B A",
     "equivalent: restored x-test.notes | restored chat-history", "B",
     "user:Hi | A:A 1 | n:n 1 | B:B 1", NULL, NULL, NULL},
    {"A B", "A", "B A", "equivalent: restored chat-history", "B",
     "user:Hi | A:A 1 | B:B 1", NULL, NULL,
     NULL}, /* B has not spoken, its kind has */
    {"A B", "A B", "C",
     "equivalent: restored chat-history | no agent A | no agent B", "C",
     "user:Hi | A:A 1 | B:B 1 | C:C 1", NULL, NULL, NULL},
    {"@n1 @n2", "n1", "@n7",
     "equivalent: restored x-test.notes | no agent n1 | no agent n2", "n7",
     "user:Hi | n1:n1 1 | n7:n7 1", NULL, NULL, NULL},
    {"A", "A", "A B C D", "equivalent: restored chat-history", "D",
     "user:Hi | A:A 1 | D:D 1", NULL, NULL, NULL},
    {"A:2 B", "A A B A", "B A:2",
     "equivalent: restored chat-history | restored chat-history", "A",
     "B:B 1 | A:A 3 | A:A 1", NULL, "enhanced", NULL},
    {"A +G", "A G", "+G A",
     "equivalent: restored aggregate | restored chat-history", "G",
     "user:Hi | A:A 1 | in:G 1 | in:G 1", NULL, NULL, NULL},
    /* 2 Enhanced */
    {"A @n", "A", "A @n",
     "enhanced: restored chat-history | to create x-test.notes", "n",
     "user:Hi | A:A 1 | n:n 1", NULL, NULL, NULL},
    {"A @n", "", "A @n",
     "enhanced: to create chat-history | to create x-test.notes", "n",
     "user:Hi | n:n 1", NULL, NULL, NULL},
    {"@n", "n", "@m @n",
     "enhanced: restored x-test.notes | to create x-test.notes", "m",
     "user:Hi | n:n 1 | m:m 1", NULL, NULL, NULL},
    {"A", "A", "A B:2",
     "enhanced: restored chat-history | to create chat-history", "B",
     "user:Hi | A:A 1 | B:B 1", NULL, NULL, NULL},
    {"A +G", "A", "A +G",
     "enhanced: restored chat-history | to create aggregate", "G",
     "user:Hi | A:A 1 | in:G 1", NULL, NULL, NULL},
    {"+G", "G", "+H +G", "enhanced: restored aggregate | to create aggregate",
     "H", "user:Hi | G:G 1 | in:H 1", NULL, NULL, NULL},
    /* 3 Reduced */
    {"A @n", "A n", "A",
     "reduced: restored chat-history | parked x-test.notes | no agent n", "A",
     "user:Hi | A:A 1 | n:n 1 | A:A 1", NULL, NULL, NULL},
    {"A @n", "A n", "@n",
     "reduced: restored x-test.notes | parked chat-history | no agent A", "n",
     "user:Hi | A:A 1 | n:n 1 | n:n 1", NULL, NULL, NULL},
    {"A B:2", "A B", "A",
     "reduced: restored chat-history | parked chat-history | no agent B", "A",
     "user:Hi | A:A 1 | B:B 1 | A:A 1", NULL, "equivalent", NULL},
    {"A +G", "A G", "A",
     "reduced: restored chat-history | parked aggregate | no agent G", "A",
     "user:Hi | A:A 1 | G:G 1 | A:A 1", NULL, NULL, NULL},
    {"A +G", "A G", "+G",
     "reduced: restored aggregate | parked chat-history | no agent A", "G",
     "user:Hi | A:A 1 | in:G 1 | in:G 1", NULL, NULL, NULL},
    /* both */
    {"A", "A", "@n",
     "mixed: to create x-test.notes | parked chat-history | no agent A", "n",
     "user:Hi | A:A 1 | n:n 1", NULL, NULL, NULL},
    {"A:2", "A", "A:3", "mixed: to create chat-history | parked chat-history",
     "A", "user:Hi | A:A 1 | A:A 1", NULL, "enhanced", NULL},
    {"A", "A", "+G",
     "mixed: to create aggregate | parked chat-history | no agent A", "G",
     "user:Hi | A:A 1 | in:G 1", NULL, NULL, NULL},
    /* 4 Empty */
    {"A", "A", "", NULL, NULL, "", "no_agents", NULL, NULL},
    {"+G", "G", "", NULL, NULL, "", "no_agents", NULL, NULL},
    /* 5 Invalid */
    {"A", "A", "A", NULL, "A", "user:mine", "chat_in_use", NULL, "say"},
    {"A", "A", "A", NULL, "A", "A:A 1", "chat_in_use", NULL, "A"},
    {"A", "A", "A", NULL, "A", "", "chat_in_use", NULL, "fail"},
    {"A", "A", "", NULL, NULL, "user:mine", "chat_in_use", NULL, "say"},
    {"+G", "G", "+G", NULL, "G", "G:G 1", "chat_in_use", NULL, "G"},
    {"+G", "G", "+G", NULL, "G", "", "chat_in_use", NULL, "fail"},
};

/* What was there before. "fail" leaves a channel, and nothing in the log. */
static void chat_begun(struct chat_stage *to, const char *names,
                       const char *begun)
{
    static const char *const fails[] = {"fail", "say x", NULL};
    const bool has_failed = begun != NULL && strcmp(begun, "fail") == 0;

    if (has_failed)
        chat_steps(to, 0, fails);
    chat_begin(to, names);
    if (has_failed) {
        ASSERT_RC(PDR_EMODEL, chat_invoke(to, to->members[0].name, NULL));
        ASSERT_INT(0, pdr_chat_message_count(to->chat));
    } else if (begun != NULL && strcmp(begun, "say") == 0) {
        chat_says(to, "mine");
    } else if (begun != NULL) {
        chat_invokes(to, begun);
    }
}

static void words_invoke(struct chat_stage *stage, const char *words)
{
    char name[20];

    for (; *words != '\0'; words += strspn(words, " ")) {
        size_t len = strcspn(words, " ");

        snprintf(name, sizeof(name), "%.*s", (int)len, words);
        chat_invokes(stage, name);
        words += len;
    }
}

static const char *name_of(size_t c, size_t shape)
{
    static char name[40];

    snprintf(name, sizeof(name), "%zu-%zu.json", c, shape);
    return name;
}

/* Saves each case in each form, into a folder. */
TEST_ROLE(saver)
{
    struct room room;

    if (argc != 1)
        return 1;
    snprintf(room.path, sizeof(room.path), "%s", argv[0]);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct chat_stage from = {.count = 0};

        chat_begin(&from, cases[i].before);
        chat_says(&from, "Hi");
        words_invoke(&from, cases[i].spoke);
        if (pdr_chat_sync(from.chat, NULL, NULL) != PDR_OK)
            return 1;
        for (size_t k = 0; k < PDR_COUNT(shapes); k++) {
            pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

            if (pdr_chat_save(from.chat, &shapes[k].save, NULL, pdr_write_buf,
                              &text) != PDR_OK)
                return 1;
            room_put(&room, name_of(i, k), pdr_buf_str(&text));
            pdr_buf_dispose(&text);
        }
        chat_end(&from);
    }
    return 0;
}

static pdr_rc shape_restore(pdr_buf *report, struct chat_stage *stage,
                            const struct shape *shape, pdr_str text,
                            pdr_err *err)
{
    const pdr_chat_open_opts opts = {.keys = &shape->save.key,
                                     .key_count = shape->needs_mac,
                                     .needs_mac = shape->needs_mac};
    pdr_chat_state *state = NULL;
    pdr_chat_report *told = NULL;
    pdr_rc rc = pdr_chat_open(&state, &opts, err, pdr_read_str, &text);

    if (rc == PDR_OK)
        rc = pdr_chat_apply(&told, stage->chat, state, NULL, err);
    chat_report(report, told);
    pdr_chat_report_free(told);
    pdr_chat_state_free(state);
    return rc;
}

static void case_play(const struct restoring *c, const struct shape *shape,
                      pdr_str text)
{
    const bool is_native = shape->save.form == PDR_CHAT_NATIVE;
    struct chat_stage to = {.count = 0};
    pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
    const char *which = c->report;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    chat_begun(&to, c->after, c->begun);
    rc = shape_restore(&report, &to, shape, text, &err);
    if (c->reason != NULL) {
        ASSERT(rc != PDR_OK);
        ASSERT_STR(c->reason, err.reason);
        chat_is(c->sees, &to);
        ASSERT_SIZE(0, report.len);
        if (c->next != NULL)
            chat_invokes(&to, c->next);
    } else {
        if (rc != PDR_OK)
            fail_msg("%s -> %s: %s", c->before, c->after, err.message);
        if (is_native)
            ASSERT_TEXT(c->report, pdr_buf_str(&report));
        if (shape->save.form == PDR_CHAT_SK && c->sk_case != NULL)
            which = c->sk_case;
        if (report.len < strcspn(which, ":") ||
            memcmp(which, report.ptr, strcspn(which, ":")) != 0)
            fail_msg("%s -> %s, form %d: %.*s", c->before, c->after,
                     (int)shape->save.form, (int)report.len, report.ptr);
        chat_invokes(&to, c->next);
        chat_sees(c->sees, &to, c->next);
    }
    chat_end(&to);
    pdr_buf_dispose(&report);
}

TEST(restore, knows_five_cases_in_every_form_and_process)
{
    COVERS("C-82");
    COVERS("C-84");
    struct room room;

    room_enter(&room);
    const char *const args[] = {room.path, NULL};
    ASSERT_INT(PROCESS_DONE, process_end(process_start("saver", args), true));
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        for (size_t k = 0; k < PDR_COUNT(shapes); k++) {
            size_t len = 0;
            char *text = room_get(&room, name_of(i, k), &len);

            ASSERT(text != NULL);
            case_play(&cases[i], &shapes[k], pdr_str_n(text, len));
            free(text);
        }
    }
    room_leave(&room);
}

/* Cursors, completion, who is next and all the rest: a second save is the first
 * one, byte for byte; and then the next agent speaks. Plain forms spell
 * messages in channels as they read them. */
TEST(restore, goes_on_as_if_nothing_had_been)
{
    COVERS("C-80");
    for (size_t i = 0; i < PDR_COUNT(shapes); i++) {
        const bool is_native = shapes[i].save.form == PDR_CHAT_NATIVE;
        struct chat_stage from = {.opts = {.max_turns = 1}},
                          to = {.opts = {.max_turns = 1}};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), again = PDR_BUF_INIT(SIZE_MAX);
        pdr_buf report = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&from, "A @n B");
        chat_says(&from, "Hi");
        for (int k = 0; k < 4; k++) /* A n B A: n has two messages to come */
            chat_runs(&from);
        if (!is_native) /* others take channels as up to date */
            ASSERT_RC(PDR_OK, pdr_chat_sync(from.chat, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_chat_set_complete(from.chat, true, NULL));
        ASSERT_RC(PDR_OK, pdr_chat_save(from.chat, &shapes[i].save, &err,
                                        pdr_write_buf, &text));
        chat_begin(&to, "A @n B");
        ASSERT_RC(PDR_OK, shape_restore(&report, &to, &shapes[i],
                                        pdr_buf_str(&text), &err));
        ASSERT(memmem(report.ptr, report.len, "equivalent:", 11) == report.ptr);
        ASSERT_RC(PDR_OK, pdr_chat_save(to.chat, &shapes[i].save, &err,
                                        pdr_write_buf, &again));
        if (shapes[i].save.form <= PDR_CHAT_SK)
            ASSERT_BYTES(pdr_buf_str(&text), pdr_buf_str(&again));
        ASSERT_INT(is_native, pdr_chat_is_complete(to.chat));
        ASSERT_INT(0, to.notes.received);
        ASSERT_RC(PDR_OK, pdr_chat_set_complete(to.chat, false, NULL));
        chat_runs(&to);
        chat_is(is_native ? "user:Hi | A:A 1 | n:n 1 | B:B 1 | A:A 2 | n:n 1"
                          : "user:Hi | A:A 1 | n:n 1 | B:B 1 | A:A 2 | A:A 1",
                &to);
        ASSERT_INT(is_native ? 2 : 0, to.notes.received);
        chat_end(&from);
        chat_end(&to);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&again);
        pdr_buf_dispose(&report);
    }
}

/* A kind that has not spoken, and a chat before its first turn. */
TEST(restore, lets_begin_who_has_not_spoken)
{
    COVERS("C-81");
    static const struct {
        const char *spoke, *report;
    } rows[] = {
        {"A", "enhanced: restored chat-history | to create x-test.notes"},
        {"n", "enhanced: to create chat-history | restored x-test.notes"},
        {"", "enhanced: to create chat-history | to create x-test.notes"}};

    for (size_t i = 0; i < PDR_COUNT(rows) * PDR_COUNT(shapes); i++) {
        const struct shape *shape = &shapes[i / PDR_COUNT(rows)];
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
        const char *expected = rows[i % PDR_COUNT(rows)].report;
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&from, "A @n");
        chat_says(&from, "Hi");
        words_invoke(&from, rows[i % PDR_COUNT(rows)].spoke);
        ASSERT_RC(PDR_OK, pdr_chat_save(from.chat, &shape->save, NULL,
                                        pdr_write_buf, &text));
        chat_begin(&to, "A @n");
        if (shape_restore(&report, &to, shape, pdr_buf_str(&text), &err) !=
            PDR_OK)
            fail_msg("%s", err.message);
        /* Restored channels come first; the two lists may differ in order. */
        ASSERT(memmem(report.ptr, report.len, "enhanced:", 9) == report.ptr);
        if (strncmp(expected, "enhanced: to create chat-history | r", 36) != 0)
            ASSERT_TEXT(expected, pdr_buf_str(&report));
        chat_runs(&to);
        chat_end(&from);
        chat_end(&to);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&report);
    }
}

/* Other agents, of which there may be more and which may do other things. */
TEST(restore, asks_for_channels_and_not_for_agents)
{
    COVERS("C-97");
    static const char *const names[] = {"A", "A B", "X Y Z", "C B A D E"};

    for (size_t i = 0; i < PDR_COUNT(names) * PDR_COUNT(shapes); i++) {
        const struct shape *shape = &shapes[i / PDR_COUNT(names)];
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
        pdr_chat_joining joining = {.agent = NULL};

        chat_begin(&from, "A");
        chat_says(&from, "Hi");
        chat_invokes(&from, "A");
        ASSERT_RC(PDR_OK, pdr_chat_save(from.chat, &shape->save, NULL,
                                        pdr_write_buf, &text));
        chat_begin(&to, names[i % PDR_COUNT(names)]);
        const pdr_agent_parts parts = {
            .id = S("terse"),
            .instructions = S("Answer in one word, as a pirate."),
            .client = &to.members[0].model.base};
        ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
        ASSERT_RC(PDR_OK, pdr_chat_join(to.chat, &joining, NULL));
        ASSERT_RC(PDR_OK,
                  shape_restore(&report, &to, shape, pdr_buf_str(&text), NULL));
        ASSERT(memmem(report.ptr, report.len, "equivalent:", 11) == report.ptr);
        chat_is("user:Hi | A:A 1", &to);
        pdr_agent_free(joining.agent);
        chat_end(&from);
        chat_end(&to);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&report);
    }
}

/* 5 Invalid: it has begun. */
TEST(restore, leaves_a_chat_alone_that_has_begun)
{
    COVERS("C-86");
    COVERS("C-87");
    static const struct {
        const char *agents, *begun, *log;
    } rows[] = {{"A", "say", "user:mine"},
                {"A", "A", "A:A 1"},
                {"", "say", "user:mine"},
                {"A", "fail", ""}}; /* by its channel alone */

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&from, "A");
        chat_says(&from, "Hi");
        chat_invokes(&from, "A");
        chat_save(&text, &from, PDR_CHAT_NATIVE);
        chat_end(&from);
        chat_begun(&to, rows[i].agents, rows[i].begun);
        ASSERT_RC(PDR_EEXISTS,
                  chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
        ASSERT_STR("chat_in_use", err.reason);
        chat_is(rows[i].log, &to);
        if (to.count > 0)
            chat_invokes(&to, "A");
        chat_end(&to);
        pdr_buf_dispose(&text);
    }
}

TEST(restore, tries_again_after_nobody_was_there)
{
    COVERS("C-85");
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&from, "A");
    chat_says(&from, "Hi");
    chat_invokes(&from, "A");
    chat_save(&text, &from, PDR_CHAT_SK);
    chat_begin(&to, "");
    ASSERT_RC(PDR_ENOTFOUND,
              chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
    const pdr_chat_joining joining = {.agent = from.members[0].agent};
    ASSERT_RC(PDR_OK, pdr_chat_join(to.chat, &joining, NULL));
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
    chat_is("user:Hi | A:A 1", &to);
    chat_end(&to);
    chat_end(&from);
    pdr_buf_dispose(&text);
}

TEST(restore, knows_how_often_a_chat_was_reset)
{
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&from, "A");
    ASSERT_RC(PDR_OK, pdr_chat_reset(from.chat, NULL, NULL, NULL));
    chat_says(&from, "Hi");
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_begin(&to, "A");
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, NULL));
    chat_save(&text, &to, PDR_CHAT_NATIVE);
    ASSERT(memmem(text.ptr, text.len, "\"epoch\":2", 9) != NULL);
    chat_end(&to);
    chat_end(&from);
    pdr_buf_dispose(&text);
}

/* A chat that has no id of its own is the one that was saved, and goes on
 * counting where that was. */
TEST(restore, takes_over_id_and_revision)
{
    static const char text[] =
        "{\"format\":\"agentchat\",\"version\":1,\"id\":\"c-42\",\"rev\":17,"
        "\"history\":{\"count\":0,\"chain\":\"" ZEROS "\",\"messages\":[]}}";

    for (size_t i = 0; i < 4; i++) {
        const bool has_own = i % 2 == 1;
        const pdr_chat_home home = {.ref = {.id = S("session")}};
        struct chat_stage to = {.count = 0};
        pdr_chat_home there = home;
        pdr_chat_state *state = NULL;
        pdr_chat_info info;
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_str source = S(text);
        uint64_t before = 17;

        if (has_own)
            to.opts.id = S("own");
        chat_begin(&to, "A");
        ASSERT_RC(PDR_OK, pdr_store_open(&there.store, "memory:", NULL));
        ASSERT_RC(PDR_OK,
                  pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source));
        if (i < 2) {
            ASSERT_RC(PDR_OK, pdr_chat_apply(NULL, to.chat, state, NULL, NULL));
        } else { /* a store counts itself, by its session */
            ASSERT_RC(PDR_OK, pdr_chat_state_store(state, there.store,
                                                   &there.ref, false, 1, NULL));
            ASSERT_RC(PDR_OK,
                      pdr_chat_attach(NULL, to.chat, &there, NULL, NULL));
            before = 1;
        }
        pdr_chat_state_free(state);
        ASSERT_TEXT(has_own ? "own" : "c-42", pdr_chat_id(to.chat));
        for (int k = 0; k < 2; k++) {
            chat_save(&out, &to, PDR_CHAT_NATIVE);
            source = pdr_buf_str(&out);
            ASSERT_RC(PDR_OK,
                      pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source));
            pdr_chat_state_info(&info, state);
            ASSERT_TEXT(has_own ? "own" : "c-42", info.id);
            ASSERT(k == 0 ? info.revision == before : info.revision > before);
            pdr_chat_state_free(state);
            chat_invokes(&to, "A");
        }
        chat_end(&to);
        pdr_store_close(there.store);
        pdr_buf_dispose(&out);
    }
}

/* One that was parked goes on from where it is, also if that fails first. */
TEST(restore, gives_a_parked_channel_each_message_once)
{
    struct chat_stage first = {.count = 0}, second = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&first, "A @n");
    chat_says(&first, "Hi");
    chat_invokes(&first, "n");
    chat_save(&text, &first, PDR_CHAT_NATIVE);
    chat_begin(&second, "A");
    ASSERT_RC(PDR_OK,
              chat_restore(NULL, &second, pdr_buf_str(&text), NULL, NULL));
    for (int i = 0; i < 3; i++)
        chat_says(&second, "Ho");
    const pdr_chat_joining joining = {.agent = first.members[1].agent,
                                      .kind = &chat_notes_kind,
                                      .arg = &second.notes};
    ASSERT_RC(PDR_OK, pdr_chat_join(second.chat, &joining, NULL));
    second.notes.fail_at = 5;
    second.notes.fail_left = 1;
    ASSERT_RC(PDR_EIO, chat_invoke(&second, "n", NULL));
    chat_invokes(&second, "n");
    ASSERT_INT(3, second.notes.received);
    chat_sees("user:Hi | n:n 1 | user:Ho | user:Ho | user:Ho | n:n 2", &second,
              "n");
    chat_end(&second);
    chat_end(&first);
    pdr_buf_dispose(&text);
}

/* A parked state that cannot be used is not lost in silence. */
TEST(restore, keeps_a_parked_state_that_cannot_be_used)
{
    /* What is written in its place, and what is seen if it begins anew. */
    static const char *const changes[][3] = {
        {"\"state\":[", "\"state\":{},\"x\":[", "user:Hi | n:n 1 | n:n 2"},
        {"\"state\":[", "\"x\":[", "user:Hi | n:n 1 | n:n 3"}};
    struct chat_stage from = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&from, "A @n");
    chat_says(&from, "Hi");
    chat_invokes(&from, "n");
    for (int i = 0; i < 4; i++) {
        const char *const *change = changes[i / 2];
        const pdr_chat_apply_opts opts = {.rebuilds = i % 2 == 1};
        struct chat_stage to = {.count = 0};
        const pdr_chat_joining joining = {.agent = from.members[1].agent,
                                          .kind = &chat_notes_kind,
                                          .arg = &to.notes};

        chat_save(&text, &from, PDR_CHAT_NATIVE);
        chat_replace(&text, change[0], change[1]);
        chat_begin(&to, "A");
        ASSERT_RC(PDR_OK,
                  chat_restore(NULL, &to, pdr_str_n(text.ptr, strlen(text.ptr)),
                               &opts, &err));
        ASSERT_RC(PDR_OK, pdr_chat_join(to.chat, &joining, NULL));
        if (opts.rebuilds) {
            chat_invokes(&to, "n");
            chat_sees(change[2], &to, "n");
        } else {
            ASSERT_RC(PDR_EINVALID, chat_invoke(&to, "n", &err));
            ASSERT(strstr(err.message,
                          "parked channel of kind 'x-test.notes': ") != NULL);
            ASSERT(strstr(err.path, "k2:") != NULL);
            chat_save(&text, &to, PDR_CHAT_NATIVE);
            ASSERT(memmem(text.ptr, text.len, change[1], strlen(change[1])) !=
                   NULL);
        }
        chat_end(&to);
    }
    chat_end(&from);
    pdr_buf_dispose(&text);
}

/* A channel that was matched by its kind has a key that is another one's. */
TEST(restore, lets_no_two_channels_have_a_key)
{
    struct chat_stage plain = {.count = 0}, reduced = {.count = 0},
                      again = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&plain, "B");
    chat_says(&plain, "Hi");
    chat_invokes(&plain, "B");
    chat_save(&text, &plain, PDR_CHAT_SK);
    reduced.members[0].reduction.target = 9;
    chat_begin(&reduced, "A");
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &reduced, pdr_buf_str(&text), NULL, NULL));
    ASSERT_TEXT("equivalent: by kind chat-history | no agent B",
                pdr_buf_str(&report));
    const pdr_chat_joining joining = {.agent = plain.members[0].agent};
    ASSERT_RC(PDR_OK, pdr_chat_join(reduced.chat, &joining, NULL));
    chat_invokes(&reduced, "B");
    chat_save(&text, &reduced, PDR_CHAT_NATIVE);
    chat_begin(&again, "A");
    ASSERT_RC(PDR_OK,
              chat_restore(NULL, &again, pdr_buf_str(&text), NULL, NULL));
    chat_end(&again);
    chat_end(&reduced);
    chat_end(&plain);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* What is parked is saved again, and comes back with its agent. The process in
 * the middle does not know that there is such a kind. */
TEST(restore, keeps_what_nobody_needs_now)
{
    COVERS("C-83");
    COVERS("C-102");
    static const pdr_channel_kind *const no_kinds[] = {NULL};
    struct chat_stage first = {.count = 0}, third = {.count = 0};
    struct chat_stage second = {.opts = {.kinds = no_kinds}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&first, "A @n");
    chat_says(&first, "Hi");
    chat_invokes(&first, "A");
    chat_invokes(&first, "n");
    chat_save(&text, &first, PDR_CHAT_NATIVE);
    chat_end(&first);

    chat_begin(&second, "A");
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &second, pdr_buf_str(&text), NULL, NULL));
    chat_says(&second, "Ho");
    chat_invokes(&second, "A");
    chat_save(&text, &second, PDR_CHAT_NATIVE);
    chat_end(&second);

    chat_begin(&third, "A @n");
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &third, pdr_buf_str(&text), NULL, NULL));
    ASSERT_TEXT("equivalent: restored chat-history | restored x-test.notes",
                pdr_buf_str(&report));
    chat_invokes(&third, "n");
    ASSERT_INT(2, third.notes.received); /* "Ho" and the answer alone */
    chat_sees("user:Hi | A:A 1 | n:n 1 | user:Ho | A:A 1 | n:n 1", &third, "n");
    chat_end(&third);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* A channel that cannot be restored. */
TEST(restore, is_all_or_nothing)
{
    COVERS("C-88");
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    const pdr_chat_apply_opts rebuilds = {.rebuilds = true};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    chat_begin(&from, "A @n");
    chat_says(&from, "Hi");
    chat_invokes(&from, "A");
    chat_invokes(&from, "n");
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_end(&from);
    chat_begin(&to, "A @n");
    to.notes.fail_restore = 1;
    ASSERT_RC(PDR_EIO, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
    ASSERT(strstr(err.path, "k2:") != NULL);
    ASSERT(strstr(err.message, "channel of kind 'x-test.notes': ") != NULL);
    chat_is("", &to);
    to.notes.fail_restore = 1;
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &to, pdr_buf_str(&text), &rebuilds, &err));
    ASSERT(memmem(report.ptr, report.len, "rebuilt x-test.notes", 20) != NULL);
    chat_invokes(&to, "n");
    chat_sees("user:Hi | A:A 1 | n:n 1 | n:n 1", &to, "n");
    chat_end(&to);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* The right agent goes on, whoever is there and in which order. An older
 * document names it by its place alone. */
static void order_play(const char *agents, const char *next, int how)
{
    struct chat_stage from = {.opts = {.max_turns = 2}}, to = {.count = 0};
    const pdr_chat_home home = {.ref = {.id = S("c")}, .create = true};
    const pdr_chat_apply_opts opts = {.now_ms = STAGE_NOW};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), log = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_home there = home;

    ASSERT_RC(PDR_OK, pdr_store_open(&there.store, "memory:", NULL));
    chat_begin(&from, "A B C");
    if (how == 2)
        ASSERT_RC(PDR_OK,
                  pdr_chat_attach(NULL, from.chat, &there, &opts, NULL));
    chat_runs(&from);
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_end(&from);
    if (how == 1)
        chat_replace(&text, ",\"agent\":\"B\"", "");
    chat_begin(&to, agents);
    if (how == 2)
        ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, to.chat, &there, &opts, NULL));
    else
        ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_str_n(text.ptr, text.len),
                                       NULL, NULL));
    chat_runs(&to);
    ASSERT_RC(PDR_OK, pdr_buf_printf(&log, NULL, "A:A 1 | B:B 1 | %s:%s 1%c",
                                     next, next, '\0'));
    chat_is(log.ptr, &to);
    chat_end(&to);
    pdr_store_close(there.store);
    pdr_buf_dispose(&log);
    pdr_buf_dispose(&text);
}

TEST(restore, knows_whose_turn_it_is)
{
    static const char *const rows[][2] = {
        {"A B C", "C"}, {"C B A", "A"}, {"C A B", "C"},
        {"B A", "A"},   {"X B A", "A"},               /* B spoke last */
        {"A C", "C"},   {"C A", "C"},   {"X A", "A"}, /* and is missing */
        {"X Y", "X"}};                                /* nobody is left */

    for (size_t i = 0; i < 3 * PDR_COUNT(rows); i++)
        order_play(rows[i / 3][0], rows[i / 3][1], (int)(i % 3));
}

/* --- who is who -------------------------------------------------------------
 */

#define KEPT "\"session\":{\"stateBag\":{\"memo\":{\"n\":1}}},\"x\":7}"

/* "A+ B": who takes part in a document, with "+" what was kept of it. */
static void participants_are(const char *expected, struct chat_stage *stage)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), told = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    pdr_str source;

    chat_save(&text, stage, PDR_CHAT_NATIVE);
    source = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK, pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source));
    for (size_t i = 0; i < state->participant_count; i++) {
        const struct pdr__saved_participant *p = &state->participants[i];
        const bool is_kept = p->session != NULL;

        ASSERT((pdr_value_get_c(p->source, "x") != NULL) == is_kept);
        ASSERT_RC(PDR_OK, pdr_buf_printf(&told, NULL, "%s%.*s%s",
                                         i > 0 ? " " : "", (int)p->id.len,
                                         p->id.ptr, is_kept ? "+" : ""));
    }
    ASSERT_TEXT(expected, pdr_buf_str(&told));
    pdr_chat_state_free(state);
    pdr_buf_dispose(&told);
    pdr_buf_dispose(&text);
}

/* What a participant kept is its agent's, by its id; by its name, if nobody
 * else can be meant; else it stays with the participant. */
TEST(restore, gives_a_participant_to_one_agent_or_keeps_it)
{
    static const struct {
        const char *participants, *agents, *expected;
        const char *later; /* joins afterwards; or NULL */
    } rows[] = {
        {"{\"id\":\"A\"," KEPT, "A B", "A+ B", NULL},
        {"{\"id\":\"a\",\"name\":\"A\"," KEPT, "A B", "A+ B", NULL},
        {"{\"id\":\"a\",\"name\":\"A\"," KEPT, "B", "B A+", "A"},
        {"{\"id\":\"a\",\"name\":\"A\"," KEPT, "B", "B a+", NULL},
        {"{\"id\":\"a\",\"name\":\"A\"," KEPT
         ",{\"id\":\"b\",\"name\":\"A\"," KEPT,
         "A B", "A B a+ b+", NULL},
        {"{\"id\":\"a\",\"name\":\"A\"," KEPT ",{\"id\":\"A\"," KEPT, "A B",
         "A+ B a+", NULL},
        {"{\"id\":\"B\",\"name\":\"A\"," KEPT, "A B", "A B+", NULL},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct chat_stage to = {.count = 0}, other = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_buf_printf(
                              &text, NULL,
                              "{\"format\":\"agentchat\",\"version\":1,"
                              "\"participants\":[%s],\"history\":{\"count\":0"
                              ",\"chain\":\"%064d\",\"messages\":[]},"
                              "\"channels\":[],\"turn\":{}}",
                              rows[i].participants, 0));
        chat_begin(&to, rows[i].agents);
        if (chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err) != PDR_OK)
            fail_msg("%s", err.message);
        if (rows[i].later != NULL) {
            chat_begin(&other, rows[i].later);
            const pdr_chat_joining joining = {.agent = other.members[0].agent};
            ASSERT_RC(PDR_OK, pdr_chat_join(to.chat, &joining, NULL));
        }
        participants_are(rows[i].expected, &to);
        chat_end(&to);
        chat_end(&other);
        pdr_buf_dispose(&text);
    }
}

/* A save while a turn is under way. */
static pdr_buf saved = PDR_BUF_INIT(SIZE_MAX);

static void save_meanwhile(struct chat_stage *stage)
{
    chat_save(&saved, stage, PDR_CHAT_NATIVE);
}

TEST(save, has_what_was_before_the_turn)
{
    COVERS("C-78");
    struct chat_stage from = {.opts = {.max_turns = 2},
                              .on_piece = save_meanwhile},
                      to = {.count = 0};

    chat_begin(&from, "@n A");
    chat_says(&from, "Hi");
    chat_runs(&from); /* the last save is from the second turn */
    chat_is("user:Hi | n:n 1 | A:A 1", &from);
    chat_end(&from);
    chat_begin(&to, "@n A");
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&saved), NULL, NULL));
    chat_is("user:Hi | n:n 1", &to);
    chat_invokes(&to, "A");
    chat_invokes(&to, "n");
    chat_sees("user:Hi | n:n 1 | A:A 1 | n:n 1", &to, "n");
    chat_end(&to);
    pdr_buf_dispose(&saved);
}

/* --- without memory ---------------------------------------------------------
 */

static bool is_nomem(pdr_rc rc)
{
    return rc == PDR_OK || rc == PDR_ENOMEM;
}

/* A turn, a save and a restore, in which some allocation fails: each is done or
 * not, and the chat can go on. */
TEST_OOM(chat, goes_on_after_any_failed_allocation)
{
    static const pdr_chat_form kinds[] = {PDR_CHAT_NATIVE, PDR_CHAT_SK};
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    uint64_t before = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    chat_begin(&from, "A @n");
    chat_begin(&to, "A @n");
    for (size_t i = 0; i < 2; i++)
        from.members[i].model.is_deaf = to.members[i].model.is_deaf = true;
    test_pause_failures(false);
    rc = pdr_chat_add_text(from.chat, S("Hi"), S("me"), NULL);
    ASSERT(is_nomem(rc));
    ASSERT_INT(rc == PDR_OK ? 1 : 0, pdr_chat_message_count(from.chat));
    before = pdr_chat_message_count(from.chat);
    rc = pdr_chat_invoke(from.chat, S("A"), NULL, NULL);
    ASSERT(is_nomem(rc));
    ASSERT(pdr_chat_message_count(from.chat) <= before + 1);
    ASSERT(!pdr_chat_is_active(from.chat));
    for (size_t i = 0; i < PDR_COUNT(kinds); i++) {
        const pdr_chat_save_opts opts = {.form = kinds[i]};
        pdr_str source;

        pdr_buf_clear(&text);
        rc = pdr_chat_save(from.chat, &opts, NULL, pdr_write_buf, &text);
        ASSERT(is_nomem(rc) || rc == PDR_ELIMIT);
        if (rc != PDR_OK)
            continue;
        source = pdr_buf_str(&text);
        rc = pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source);
        ASSERT(is_nomem(rc));
        if (rc != PDR_OK || pdr_chat_message_count(to.chat) > 0) {
            pdr_chat_state_free(state);
            continue;
        }
        before = pdr_chat_message_count(to.chat);
        rc = pdr_chat_apply(NULL, to.chat, state, NULL, NULL);
        ASSERT(is_nomem(rc));
        ASSERT_INT(rc == PDR_OK ? pdr_chat_message_count(from.chat) : before,
                   pdr_chat_message_count(to.chat));
        ASSERT(!pdr_chat_is_active(to.chat));
        pdr_chat_state_free(state);
        state = NULL;
    }
    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_chat_invoke(from.chat, S("A"), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_invoke(to.chat, S("A"), NULL, NULL));
    pdr_buf_dispose(&text);
    chat_end(&from);
    chat_end(&to);
    test_pause_failures(false);
}
