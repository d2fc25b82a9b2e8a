/*
 * Chats that are saved and restored: the five cases, in every form.
 */
#include "chat_stage.h"

#include "base.h"

static const pdr_chat_form forms[] = {PDR_CHAT_NATIVE, PDR_CHAT_SK,
                                      PDR_CHAT_PLAIN, PDR_CHAT_ENCODED};

/* Who takes part, who has spoken, who is there afterwards, and what comes of
 * it. */
struct restoring {
    const char *before, *spoke, *after;
    const char *report; /* of the native form */
    const char *next;   /* speaks then, and sees this */
    const char *sees;
    const char *reason; /* of the failure; NULL: it succeeds */
};

static const struct restoring cases[] = {
    /* 1 Equivalent */
    {"A", "A", "A", "equivalent: restored chat-history", "A",
     "user:Hi | A:A 1 | A:A 1", NULL},
    {"A B @n", "A n", "@n B A",
     "equivalent: restored x-test.notes | restored chat-history", "B",
     "user:Hi | A:A 1 | n:n 1 | B:B 1", NULL},
    {"A B", "A B", "C",
     "equivalent: restored chat-history | no agent A | no agent B", "C",
     "user:Hi | A:A 1 | B:B 1 | C:C 1", NULL},
    {"@n1 @n2", "n1", "@n7",
     "equivalent: restored x-test.notes | no agent n1 | no agent n2", "n7",
     "user:Hi | n1:n1 1 | n7:n7 1", NULL},
    /* 2 Enhanced */
    {"A @n", "A", "A @n",
     "enhanced: restored chat-history | to create x-test.notes", "n",
     "user:Hi | A:A 1 | n:n 1", NULL},
    {"A @n", "", "A @n",
     "enhanced: to create chat-history | to create x-test.notes", "n",
     "user:Hi | n:n 1", NULL},
    {"@n", "n", "@m @n",
     "enhanced: restored x-test.notes | to create x-test.notes", "m",
     "user:Hi | n:n 1 | m:m 1", NULL},
    /* 3 Reduced */
    {"A @n", "A n", "A",
     "reduced: restored chat-history | parked x-test.notes | no agent n", "A",
     "user:Hi | A:A 1 | n:n 1 | A:A 1", NULL},
    {"A @n", "A n", "@n",
     "reduced: restored x-test.notes | parked chat-history | no agent A", "n",
     "user:Hi | A:A 1 | n:n 1 | n:n 1", NULL},
    /* both */
    {"A", "A", "@n",
     "mixed: to create x-test.notes | parked chat-history | no agent A", "n",
     "user:Hi | A:A 1 | n:n 1", NULL},
    /* 4 Empty */
    {"A", "A", "", NULL, NULL, NULL, "no_agents"},
};

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

static void case_play(const struct restoring *c, pdr_chat_form form)
{
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    chat_begin(&from, c->before);
    chat_says(&from, "Hi");
    words_invoke(&from, c->spoke);
    ASSERT_RC(PDR_OK, pdr_chat_sync(from.chat, NULL, NULL));
    chat_save(&text, &from, form);
    chat_end(&from);
    chat_begin(&to, c->after);
    rc = chat_restore(&report, &to, pdr_buf_str(&text), NULL, &err);
    if (c->reason != NULL) {
        ASSERT(rc != PDR_OK);
        ASSERT_STR(c->reason, err.reason);
        chat_is("", &to);
    } else {
        if (rc != PDR_OK)
            fail_msg("%s -> %s, form %d: %s", c->before, c->after, (int)form,
                     err.message);
        if (form == PDR_CHAT_NATIVE)
            ASSERT_TEXT(c->report, pdr_buf_str(&report));
        chat_invokes(&to, c->next);
        chat_sees(c->sees, &to, c->next);
    }
    chat_end(&to);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

TEST(restore, knows_five_cases_in_every_form)
{
    COVERS("C-80");
    COVERS("C-82");
    COVERS("C-84");
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        for (size_t k = 0; k < PDR_COUNT(forms); k++)
            case_play(&cases[i], forms[k]);
    }
}

/* 5 Invalid: it has begun. */
TEST(restore, leaves_a_chat_alone_that_has_begun)
{
    COVERS("C-86");
    COVERS("C-87");
    for (int how = 0; how < 3; how++) {
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        chat_begin(&from, "A");
        chat_says(&from, "Hi");
        chat_invokes(&from, "A");
        chat_save(&text, &from, PDR_CHAT_NATIVE);
        chat_end(&from);
        chat_begin(&to, how == 2 ? "" : "A");
        if (how != 1)
            chat_says(&to, "mine");
        else
            chat_invokes(&to, "A");
        ASSERT_RC(PDR_EEXISTS,
                  chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err));
        ASSERT_STR("chat_in_use", err.reason);
        chat_is(how != 1 ? "user:mine" : "A:A 1", &to);
        if (how != 2)
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

/* What is parked is saved again, and comes back with its agent. */
TEST(restore, keeps_what_nobody_needs_now)
{
    COVERS("C-83");
    COVERS("C-102");
    struct chat_stage first = {.count = 0}, second = {.count = 0},
                      third = {.count = 0};
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

/* The right agent goes on. */
TEST(restore, knows_whose_turn_it_is)
{
    struct chat_stage from = {.opts = {.max_turns = 2}},
                      to = {.opts = {.max_turns = 2}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    chat_begin(&from, "A B C");
    chat_runs(&from);
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_end(&from);
    chat_begin(&to, "A B C");
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, NULL));
    chat_runs(&to);
    chat_is("A:A 1 | B:B 1 | C:C 1 | A:A 1", &to);
    chat_end(&to);
    pdr_buf_dispose(&text);
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
                              .on_event = save_meanwhile},
                      to = {.count = 0};

    chat_begin(&from, "A @n");
    chat_says(&from, "Hi");
    chat_runs(&from); /* the last save is from the second turn */
    chat_is("user:Hi | A:A 1 | n:n 1", &from);
    chat_end(&from);
    chat_begin(&to, "A @n");
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&saved), NULL, NULL));
    chat_is("user:Hi | A:A 1", &to);
    chat_invokes(&to, "n");
    chat_sees("user:Hi | A:A 1 | n:n 1", &to, "n");
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
