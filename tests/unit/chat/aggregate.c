/*
 * A chat as one agent of another: what the others hear of it, what fails in it,
 * and how it is saved and comes back.
 */
#include <pthread.h>

#include "chat_stage.h"

#include <perdure/chat_store.h>

#include "base.h"
#include "fault_store.h"

/* --- groups ----------------------------------------------------------------
 * An inner chat that can be made again and again, of the same agents.
 */

struct group {
    struct chat_stage stage; /* its agents, and the options of its chats */
    pdr_aggregate parts;
    pdr_agent *agent;         /* that it is outside */
    struct stage_model model; /* never asked */
    struct group *inside;     /* is in it, too; or NULL */
    pdr_chat *given;          /* instead of a new one; or NULL */
    const char *greeting;     /* is said in a new one; or NULL */
    int fails;                /* so many chats are not made */
    bool gives_nothing;
    int made;
    pdr_chat *chat; /* the last one; borrowed */
};

static pdr_rc group_join(pdr_chat *chat, struct group *g, pdr_err *err)
{
    const pdr_chat_joining joining = {
        .agent = g->agent, .kind = pdr_channel_aggregate(), .arg = &g->parts};

    return pdr_chat_join(chat, &joining, err);
}

static pdr_rc group_make(pdr_chat **out, pdr_err *err, void *arg)
{
    struct group *g = arg;
    pdr_chat *chat = NULL;
    pdr_rc rc = PDR_OK;

    if (g->fails > 0) {
        g->fails--;
        return pdr_err_set(err, PDR_EIO, "toy_failed", "no room for a group");
    }
    if (g->given != NULL || g->gives_nothing) {
        *out = g->given;
        return PDR_OK;
    }
    rc = pdr_chat_new(&chat, &g->stage.opts, err);
    if (rc == PDR_OK)
        rc = chat_join_all(chat, &g->stage, err);
    if (rc == PDR_OK && g->inside != NULL)
        rc = group_join(chat, g->inside, err);
    if (rc == PDR_OK && g->greeting != NULL)
        rc = pdr_chat_add_text(chat, S(g->greeting), pdr_str_n(NULL, 0), err);
    if (rc != PDR_OK) {
        pdr_chat_free(chat);
        return rc;
    }
    g->made++;
    g->chat = *out = chat;
    return PDR_OK;
}

/* A group of these agents, called `name`. */
static void group_begin(struct group *g, const char *name, const char *agents,
                        pdr_aggregate_mode mode)
{
    static const char *const steps[] = {"say never", NULL};
    const pdr_agent_parts parts = {
        .id = S(name), .name = S(name), .client = &g->model.base};

    chat_begin(&g->stage, agents);
    pdr_chat_free(g->stage.chat);
    g->stage.chat = NULL;
    g->parts = (pdr_aggregate){.make = group_make, .arg = g, .mode = mode};
    stage_model_init(&g->model, steps);
    ASSERT_RC(PDR_OK, pdr_agent_new(&g->agent, &parts, NULL));
}

/* After the chat that it is in. */
static void group_end(struct group *g)
{
    ASSERT_INT(0, g->model.asked);
    pdr_agent_free(g->agent);
    stage_model_free(&g->model);
    chat_end(&g->stage);
}

static void outer_begin(struct chat_stage *outer, const char *agents,
                        struct group *g)
{
    pdr_err err = PDR_ERR_INIT;

    chat_begin(outer, agents);
    if (group_join(outer->chat, g, &err) != PDR_OK)
        fail_msg("no group: %s", err.message);
}

/* Its log, as chat_is(). */
static void inner_is(const char *expected, struct group *g)
{
    g->stage.chat = g->chat;
    chat_is(expected, &g->stage);
    g->stage.chat = NULL;
}

static const pdr_aggregate_mode modes[] = {PDR_AGGREGATE_FLAT,
                                           PDR_AGGREGATE_NESTED};

/* --- what the others hear --------------------------------------------------
 */

TEST(aggregate, lets_others_hear_all_or_the_last)
{
    COVERS("C-66");
    static const struct {
        const char *outer, *heard;
    } cases[] = {
        {"user:Hi | A:A 1 | B:B 1 | C:C 1", "A:A 1 | B:B 1 | C:C 1"},
        {"user:Hi | G:C 1", "G:C 1"},
    };

    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        struct group g = {.stage = {.opts = {.max_turns = 3}},
                          .greeting = "Ho"};
        struct chat_stage outer = {.count = 0};

        group_begin(&g, "G", "A B C", modes[i]);
        outer_begin(&outer, "", &g);
        chat_says(&outer, "Hi");
        chat_sees("", &outer, "G"); /* it has no channel */
        ASSERT_INT(0, g.made);
        chat_runs(&outer);
        chat_is(cases[i].outer, &outer);
        ASSERT_STR(cases[i].heard, outer.heard);
        chat_sees("user:Ho | user:Hi | A:A 1 | B:B 1 | C:C 1", &outer, "G");
        inner_is("user:Ho | user:Hi | A:A 1 | B:B 1 | C:C 1", &g);
        chat_end(&outer);
        group_end(&g);
    }
}

TEST(aggregate, speaks_beside_another_one)
{
    COVERS("C-67");
    struct group exec = {.made = 0}, review = {.made = 0};
    struct chat_stage outer = {.opts = {.max_turns = 4}};

    group_begin(&exec, "E", "exec", PDR_AGGREGATE_FLAT);
    group_begin(&review, "R", "review", PDR_AGGREGATE_FLAT);
    outer_begin(&outer, "", &exec);
    ASSERT_RC(PDR_OK, group_join(outer.chat, &review, NULL));
    chat_says(&outer, "Hi");
    chat_runs(&outer);
    chat_is("user:Hi | exec:exec 1 | review:review 1 | exec:exec 2 | "
            "review:review 2",
            &outer);
    ASSERT_INT(1, exec.made);
    ASSERT_INT(1, review.made);
    ASSERT(exec.chat != review.chat);
    inner_is("user:Hi | exec:exec 1 | review:review 1 | exec:exec 2", &exec);
    chat_end(&outer);
    group_end(&exec);
    group_end(&review);
}

/* A model is asked: what has been heard until then? */
static pdr_rc heard_before(void *arg)
{
    const struct chat_stage *outer = arg;

    ASSERT_STR("A:one", outer->heard);
    return PDR_OK;
}

/* What was there before is not heard again, and pieces are in one mode. */
TEST(aggregate, passes_on_each_message_once_in_pieces_or_whole)
{
    COVERS("C-69");
    static const char *const steps[] = {"say o/n/e", "call look {}",
                                        "say t/w/o", NULL};

    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        const bool is_flat = modes[i] == PDR_AGGREGATE_FLAT;
        struct group g = {.stage = {.opts = {.max_turns = 2}},
                          .greeting = "old"};
        struct chat_stage outer = {.count = 0};

        chat_steps(&g.stage, 0, steps);
        group_begin(&g, "G", "A B", modes[i]);
        outer_begin(&outer, "@n", &g);
        g.stage.members[1].model.hook = is_flat ? heard_before : NULL;
        g.stage.members[1].model.hook_arg = &outer;
        chat_says(&outer, "Hi");
        chat_invokes(&outer, "G");
        g.stage.members[1].model.hook = NULL;
        chat_is(is_flat ? "user:Hi | A:one | B:B 1" : "user:Hi | G:B 1",
                &outer);
        ASSERT(is_flat ? outer.pieces >= 3 : outer.pieces == 0);
        chat_invokes(&outer, "n");
        chat_invokes(&outer, "G");
        chat_is(is_flat ? "user:Hi | A:one | B:B 1 | n:n 1 | A:two | B:B 2"
                        : "user:Hi | G:B 1 | n:n 1 | G:B 2",
                &outer);
        inner_is("user:old | user:Hi | A:one | B:B 1 | n:n 1 | (A:call look) | "
                 "(A:= look did {}) | A:two | B:B 2",
                 &g);
        chat_end(&outer);
        group_end(&g);
    }
}

/* --- it is over ------------------------------------------------------------
 */

TEST(aggregate, that_is_over_stays_so)
{
    COVERS("C-68");
    struct group g = {.stage = {.opts = {.ends = {.kind = PDR_TERMINATE_ALL}}}};
    struct chat_stage outer = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "A B", PDR_AGGREGATE_FLAT);
    outer_begin(&outer, "@n", &g);
    chat_says(&outer, "Hi");
    chat_invokes(&outer, "G");
    ASSERT_RC(PDR_EMISUSE, chat_invoke(&outer, "G", &err));
    ASSERT_STR("chat_complete", err.reason);
    ASSERT(strstr(err.message, "in the chat of aggregate 'G'") != NULL);
    chat_is("user:Hi | A:A 1", &outer);
    ASSERT(!pdr_chat_is_complete(outer.chat));
    chat_invokes(&outer, "n"); /* the others go on */
    chat_is("user:Hi | A:A 1 | n:n 1", &outer);
    ASSERT_RC(PDR_OK, pdr_chat_set_complete(g.chat, false, NULL));
    chat_invokes(&outer, "G");
    chat_is("user:Hi | A:A 1 | n:n 1 | B:B 1", &outer);
    chat_end(&outer);
    group_end(&g);
}

TEST(aggregate, that_begins_anew_can_be_over_each_time)
{
    struct group g = {.stage = {.opts = {.ends = {.kind = PDR_TERMINATE_ALL},
                                         .resets_complete = true}}};
    struct chat_stage outer = {.opts = {.max_turns = 2}};

    group_begin(&g, "G", "A B", PDR_AGGREGATE_NESTED);
    outer_begin(&outer, "", &g);
    chat_runs(&outer);
    chat_is("G:A 1 | G:B 1", &outer);
    chat_end(&outer);
    group_end(&g);
}

/* --- chats that are not taken ----------------------------------------------
 */

TEST(aggregate, is_not_the_chat_that_it_is_in)
{
    COVERS("C-71");
    struct group g = {.made = 0};
    struct chat_stage outer = {.count = 0};
    pdr_buf before = PDR_BUF_INIT(SIZE_MAX), after = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "A", PDR_AGGREGATE_FLAT);
    outer_begin(&outer, "@n", &g);
    g.given = outer.chat;
    chat_says(&outer, "Hi");
    chat_invokes(&outer, "n");
    chat_save(&before, &outer, PDR_CHAT_SK);
    ASSERT_RC(PDR_EEXISTS, chat_invoke(&outer, "G", &err));
    ASSERT_STR("chat_in_use", err.reason);
    chat_is("user:Hi | n:n 1", &outer);
    chat_save(&after, &outer, PDR_CHAT_SK);
    ASSERT(pdr_str_equal(pdr_buf_str(&before), pdr_buf_str(&after)));
    chat_invokes(&outer, "n"); /* it can be used */
    g.given = NULL;            /* another one will do */
    chat_invokes(&outer, "G");
    chat_is("user:Hi | n:n 1 | n:n 2 | A:A 1", &outer);
    ASSERT_INT(1, g.made);
    chat_end(&outer);
    group_end(&g);
    pdr_buf_dispose(&before);
    pdr_buf_dispose(&after);
}

TEST(aggregate, is_not_the_chat_around_the_chat_that_it_is_in)
{
    COVERS("C-71");
    struct group middle = {.made = 0}, inner = {.made = 0};
    struct chat_stage outer = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    group_begin(&inner, "I", "", PDR_AGGREGATE_FLAT);
    group_begin(&middle, "M", "", PDR_AGGREGATE_FLAT);
    middle.inside = &inner;
    outer_begin(&outer, "@n", &middle);
    inner.given = outer.chat;
    chat_says(&outer, "Hi");
    ASSERT_RC(PDR_EEXISTS, chat_invoke(&outer, "M", &err));
    ASSERT_STR("chat_in_use", err.reason);
    chat_is("user:Hi", &outer);
    chat_invokes(&outer, "n");
    inner.given = middle.chat; /* it is that of another one already */
    ASSERT_RC(PDR_EEXISTS, chat_invoke(&outer, "M", NULL));
    chat_is("user:Hi | n:n 1", &outer);
    chat_end(&outer);
    group_end(&middle);
    group_end(&inner);
}

/* What `make` gives, and what becomes of it. */
TEST(aggregate, needs_a_chat_of_its_own_with_agents)
{
    struct group g = {.fails = 1}, other = {.made = 0};
    struct chat_stage outer = {.count = 0}, stored = {.count = 0};
    const pdr_chat_home home = {.ref = {.id = S("c")}, .create = true};
    pdr_chat_home at = home;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "A", PDR_AGGREGATE_FLAT);
    group_begin(&other, "O", "B", PDR_AGGREGATE_FLAT);
    outer_begin(&outer, "", &g);
    ASSERT_RC(PDR_OK, group_join(outer.chat, &other, NULL));
    chat_says(&outer, "Hi");
    ASSERT_RC(PDR_EIO, chat_invoke(&outer, "G", &err)); /* it fails */
    ASSERT_STR("toy_failed", err.reason);
    g.gives_nothing = true;
    ASSERT_RC(PDR_EEXISTS, chat_invoke(&outer, "G", &err));
    ASSERT(strstr(err.message, "was given none") != NULL);
    ASSERT_RC(PDR_OK, pdr_chat_new(&g.given, NULL, NULL));
    ASSERT_RC(PDR_ENOTFOUND, chat_invoke(&outer, "G", &err)); /* released */
    ASSERT_STR("no_agents", err.reason);
    chat_invokes(&outer, "O");
    g.given = other.chat;
    ASSERT_RC(PDR_EEXISTS, chat_invoke(&outer, "G", NULL));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    at.store = store;
    chat_begin(&stored, "A");
    ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, stored.chat, &at, NULL, NULL));
    g.given = stored.chat;
    ASSERT_RC(PDR_EEXISTS, chat_invoke(&outer, "G", NULL));
    chat_says(&stored, "still there");
    g.given = NULL;
    g.gives_nothing = false;
    chat_invokes(&outer, "G");
    chat_is("user:Hi | B:B 1 | A:A 1", &outer);
    chat_end(&outer);
    chat_end(&stored);
    group_end(&g);
    group_end(&other);
    pdr_store_close(store);
}

TEST(aggregate, cannot_join_without_a_way_to_make_its_chat)
{
    struct group g = {.made = 0};
    struct chat_stage outer = {.count = 0};
    pdr_chat_joining joining = {.kind = pdr_channel_aggregate()};
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "A", PDR_AGGREGATE_FLAT);
    chat_begin(&outer, "");
    joining.agent = g.agent;
    ASSERT_RC(PDR_EMISUSE, pdr_chat_join(outer.chat, &joining, &err));
    ASSERT_STR("missing_slot", err.reason);
    g.parts.make = NULL;
    ASSERT_RC(PDR_EMISUSE, group_join(outer.chat, &g, NULL));
    ASSERT_SIZE(0, pdr_chat_agent_count(outer.chat));
    chat_end(&outer);
    group_end(&g);
}

/* Eight chats, of which seven are groups. */
TEST(aggregate, is_inside_of_seven_others_at_most)
{
    struct group groups[8];
    struct chat_stage outer = {.count = 0};
    pdr_err err = PDR_ERR_INIT;

    memset(groups, 0, sizeof(groups));
    for (size_t i = 8; i-- > 0;) {
        char name[] = {'G', (char)('1' + i), '\0'};

        group_begin(&groups[i], name, i == 6 ? "A" : "", modes[i % 2]);
        groups[i].inside = i < 6 ? &groups[i + 1] : NULL;
    }
    outer_begin(&outer, "@n", &groups[0]);
    chat_says(&outer, "Hi");
    chat_invokes(&outer, "G1");
    chat_is("user:Hi | G2:A 1", &outer);
    chat_end(&outer);

    groups[6].inside = &groups[7];
    groups[7].inside = &groups[0]; /* which has itself inside */
    groups[6].stage.opts.max_turns = 2;
    outer_begin(&outer, "@n", &groups[0]);
    ASSERT_RC(PDR_ELIMIT, chat_invoke(&outer, "G1", &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_INT(0, groups[7].made);
    chat_invokes(&outer, "n");
    chat_end(&outer);
    for (size_t i = 0; i < 8; i++)
        group_end(&groups[i]);
}

/* --- what fails ------------------------------------------------------------
 */

static void cancel_now(void *arg)
{
    pdr_cancel_set(arg);
}

/* Inside and outside have the same, whatever ended the turn. */
TEST(aggregate, that_fails_half_way_keeps_what_was_said)
{
    static const char *const bad[] = {"fail", "say better", NULL};
    static const struct {
        const char *outer, *inner, *after;
    } cases[] = {
        {"user:Hi | A:A 1", "user:Hi | A:A 1",
         "user:Hi | A:A 1 | n:n 1 | B:better | A:A 2"},
        {"user:Hi", "user:Hi | A:A 1", "user:Hi | n:n 1 | G:A 2"},
    };

    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        struct group g = {.stage = {.opts = {.max_turns = 2}}};
        struct chat_stage outer = {.count = 0};
        pdr_err err = PDR_ERR_INIT;

        chat_steps(&g.stage, 1, bad);
        group_begin(&g, "G", "A B", modes[i]);
        outer_begin(&outer, "@n", &g);
        chat_says(&outer, "Hi");
        ASSERT_RC(PDR_EMODEL, chat_invoke(&outer, "G", &err));
        chat_is(cases[i].outer, &outer);
        ASSERT_STR(i == 0 ? "A:A 1" : "", outer.heard);
        inner_is(cases[i].inner, &g);
        chat_invokes(&outer, "n");
        chat_invokes(&outer, "G");
        chat_is(cases[i].after, &outer);
        inner_is(i == 0 ? cases[i].after
                        : "user:Hi | A:A 1 | n:n 1 | B:better | A:A 2",
                 &g);
        chat_end(&outer);
        group_end(&g);
    }
}

TEST(aggregate, ends_where_nobody_wants_to_hear_more)
{
    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        struct group g = {.stage = {.opts = {.max_turns = 3}}};
        struct chat_stage outer = {.stops = PDR_EIO};

        group_begin(&g, "G", "A B C", modes[i]);
        outer_begin(&outer, "", &g);
        chat_says(&outer, "Hi");
        ASSERT_RC(PDR_EIO, chat_invoke(&outer, "G", NULL));
        ASSERT_STR(i == 0 ? "A:A 1" : "G:C 1", outer.heard);
        chat_is(i == 0 ? "user:Hi | A:A 1" : "user:Hi | G:C 1", &outer);
        inner_is(i == 0 ? "user:Hi | A:A 1" : "user:Hi | A:A 1 | B:B 1 | C:C 1",
                 &g);
        outer.stops = PDR_OK;
        chat_invokes(&outer, "G");
        chat_is(i == 0 ? "user:Hi | A:A 1 | B:B 1 | C:C 1 | A:A 2"
                       : "user:Hi | G:C 1 | G:C 2",
                &outer);
        chat_end(&outer);
        group_end(&g);
    }
}

TEST(aggregate, is_cancelled_with_the_turn_outside)
{
    struct group g = {.stage = {.opts = {.max_turns = 3}}};
    struct chat_stage outer = {.count = 0};
    pdr_chat_call call = {.now_ms = STAGE_NOW};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_cancel_new(&call.cancel, NULL));
    group_begin(&g, "G", "A B C", PDR_AGGREGATE_FLAT);
    g.stage.members[1].model.after_piece = cancel_now;
    g.stage.members[1].model.hook_arg = call.cancel;
    outer_begin(&outer, "", &g);
    ASSERT_RC(PDR_ECANCELLED, pdr_chat_invoke(outer.chat, S("G"), &call, &err));
    ASSERT_INT(0, g.stage.members[2].model.asked);
    ASSERT(!pdr_chat_is_active(g.chat));
    g.stage.members[1].model.after_piece = NULL;
    chat_invokes(&outer, "G");
    ASSERT_INT(pdr_chat_message_count(g.chat),
               pdr_chat_message_count(outer.chat));
    chat_end(&outer);
    group_end(&g);
    pdr_cancel_free(call.cancel);
}

/* A message that no document has room for: only the group does not take it. */
TEST(aggregate, takes_no_message_that_cannot_be_saved)
{
    struct group g = {.made = 0};
    struct chat_stage outer = {.count = 0};
    pdr_buf json = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *message = NULL;
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "A", PDR_AGGREGATE_FLAT);
    for (int levels = 103; levels <= 104; levels++) {
        pdr_buf_clear(&json);
        ASSERT_RC(PDR_OK, pdr_buf_append(
                              &json,
                              S("{\"Role\":{\"Label\":\"user\"},\"Items\":[],"
                                "\"Metadata\":"),
                              NULL));
        for (int i = 1; i < levels; i++)
            ASSERT_RC(PDR_OK, pdr_buf_append(&json, S("{\"a\":"), NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(&json, S("1"), NULL));
        for (int i = 0; i < levels; i++)
            ASSERT_RC(PDR_OK, pdr_buf_append(&json, S("}"), NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(&json, pdr_str_n("", 1), NULL));
        message = stage_json(json.ptr);
        outer_begin(&outer, "@n", &g);
        ASSERT_RC(PDR_OK,
                  pdr_chat_add(outer.chat, (const pdr_value *const *)&message,
                               1, PDR_SHAPE_SK, NULL));
        pdr_value_free(message);
        chat_invokes(&outer, "n");
        ASSERT_RC(levels == 103 ? PDR_OK : PDR_ELIMIT,
                  chat_invoke(&outer, "G", &err));
        chat_invokes(&outer, "n");
        chat_end(&outer);
    }
    ASSERT_STR("channel_failed", err.reason);
    ASSERT(strstr(err.message, "104 levels") != NULL);
    group_end(&g);
    pdr_buf_dispose(&json);
}

TEST(aggregate, is_reset_with_the_chat_around_it)
{
    struct group g = {.stage = {.notes = {.fail_reset = 1}}};
    struct chat_stage outer = {.count = 0};
    pdr_buf left = PDR_BUF_INIT(SIZE_MAX);

    group_begin(&g, "G", "@i", PDR_AGGREGATE_FLAT);
    outer_begin(&outer, "", &g);
    chat_says(&outer, "Hi");
    chat_invokes(&outer, "G");
    ASSERT_RC(PDR_OK, pdr_chat_reset(outer.chat, &left, NULL, NULL));
    ASSERT(memmem(left.ptr, left.len, "thread t1 stays\n", 16) != NULL);
    chat_is("", &outer);
    ASSERT_INT(g.stage.notes.created, g.stage.notes.released);
    chat_says(&outer, "Ho");
    chat_invokes(&outer, "G");
    ASSERT_INT(2, g.made);
    inner_is("user:Ho | i:i 2", &g);
    chat_end(&outer);
    group_end(&g);
    pdr_buf_dispose(&left);
}

/* A chat that cannot be saved does not go on, and can be reset. */
TEST(aggregate, lets_no_secret_of_its_own_out)
{
    static const char *const secrets[] = {"sk-12345678", NULL};
    struct group g = {.stage = {.opts = {.secrets = secrets}}};
    struct chat_stage outer = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "@i", PDR_AGGREGATE_FLAT);
    outer_begin(&outer, "", &g);
    chat_says(&outer, "it is sk-12345678");
    ASSERT_RC(PDR_EINVALID, chat_invoke(&outer, "G", &err));
    ASSERT_STR("literal_secret", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_chat_save(outer.chat, NULL, NULL, pdr_write_buf, &text));
    ASSERT(!pdr_chat_is_active(outer.chat));
    ASSERT_RC(PDR_OK, pdr_chat_reset(outer.chat, NULL, NULL, NULL));
    chat_says(&outer, "Hi");
    chat_invokes(&outer, "G");
    chat_is("user:Hi | i:i 2", &outer);
    chat_end(&outer);
    group_end(&g);
    pdr_buf_dispose(&text);
}

/* --- saved, and back -------------------------------------------------------
 */

static const pdr_chat_save_opts forms[] = {
    {.form = PDR_CHAT_NATIVE},
    {.form = PDR_CHAT_NATIVE, .is_encoded = true},
    {.form = PDR_CHAT_SK},
    {.form = PDR_CHAT_PLAIN},
    {.form = PDR_CHAT_ENCODED}};

static void save_as(pdr_buf *out, struct chat_stage *stage,
                    const pdr_chat_save_opts *opts)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(out);
    if (pdr_chat_save(stage->chat, opts, &err, pdr_write_buf, out) != PDR_OK)
        fail_msg("not saved: %s", err.message);
}

TEST(aggregate, comes_back_in_every_form)
{
    COVERS("C-70");
    for (size_t i = 0; i < PDR_COUNT(forms); i++) {
        struct group g = {.stage = {.opts = {.max_turns = 1}}};
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        group_begin(&g, "G", "A @i", PDR_AGGREGATE_NESTED);
        outer_begin(&from, "", &g);
        chat_says(&from, "Hi");
        chat_runs(&from);
        chat_is("user:Hi | G:A 1", &from);
        save_as(&text, &from, &forms[i]);
        chat_end(&from);
        outer_begin(&to, "", &g);
        if (chat_restore(&report, &to, pdr_buf_str(&text), NULL, &err) !=
            PDR_OK)
            fail_msg("form %zu: %s", i, err.message);
        ASSERT_TEXT("equivalent: restored aggregate | >to create x-test.notes",
                    pdr_buf_str(&report));
        inner_is("user:Hi | A:A 1", &g);
        chat_runs(&to);
        /* who is next inside, only a native one says */
        inner_is(i < 2 ? "user:Hi | A:A 1 | i:i 1" : "user:Hi | A:A 1 | A:A 2",
                 &g);
        ASSERT_INT(3, pdr_chat_message_count(to.chat));
        chat_end(&to);
        group_end(&g);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&report);
    }
}

/* Three levels, tools and all, and that it is over. */
TEST(aggregate, comes_back_with_what_is_inside_of_it)
{
    static const char *const steps[] = {"call look {}", "say deep", NULL};

    for (size_t i = 0; i < PDR_COUNT(forms); i++) {
        struct group inner = {
            .stage = {.opts = {.ends = {.kind = PDR_TERMINATE_ALL}}}};
        struct group middle = {.inside = &inner};
        struct chat_stage from = {.count = 0}, to = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), again = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        chat_steps(&inner.stage, 0, steps);
        group_begin(&inner, "I", "A", PDR_AGGREGATE_FLAT);
        group_begin(&middle, "M", "", PDR_AGGREGATE_NESTED);
        outer_begin(&from, "@n", &middle);
        chat_says(&from, "Hi");
        chat_invokes(&from, "M");
        chat_invokes(&from, "n");
        save_as(&text, &from, &forms[i]);
        chat_end(&from);
        outer_begin(&to, "@n", &middle);
        if (chat_restore(NULL, &to, pdr_buf_str(&text), NULL, &err) != PDR_OK)
            fail_msg("form %zu: %s", i, err.message);
        chat_is("user:Hi | M:deep | n:n 1", &to);
        inner_is("user:Hi | A:deep", &middle);
        inner_is(i < 2 ? "user:Hi | (A:call look) | (A:= look did {}) | A:deep"
                       : "user:Hi | A:call look | A:= look did {} | A:deep",
                 &inner);
        ASSERT_INT(i < 2, pdr_chat_is_complete(inner.chat));
        save_as(&again, &to, &forms[2]);
        if (i == 2)
            ASSERT(pdr_str_equal(pdr_buf_str(&text), pdr_buf_str(&again)));
        ASSERT_RC(i < 2 ? PDR_EMISUSE : PDR_OK, chat_invoke(&to, "M", NULL));
        chat_end(&to);
        group_end(&middle);
        group_end(&inner);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&again);
    }
}

/* The report has what was noticed in chats inside, and where. */
TEST(aggregate, reports_what_is_noticed_inside_of_it)
{
    struct group inner = {.stage = {.opts = {.max_turns = 2}}};
    struct group middle = {.inside = &inner};
    struct group fewer = {.made = 0}, around = {.inside = &fewer};
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);

    group_begin(&inner, "I", "A @n", PDR_AGGREGATE_FLAT);
    group_begin(&middle, "M", "", PDR_AGGREGATE_NESTED);
    outer_begin(&from, "", &middle);
    chat_says(&from, "Hi");
    chat_invokes(&from, "M");
    save_as(&text, &from, &forms[0]);
    chat_end(&from);
    group_begin(&fewer, "I", "A", PDR_AGGREGATE_FLAT);
    group_begin(&around, "M", "", PDR_AGGREGATE_NESTED);
    outer_begin(&to, "", &around);
    ASSERT_RC(PDR_OK,
              chat_restore(&report, &to, pdr_buf_str(&text), NULL, NULL));
    ASSERT_TEXT("equivalent: restored aggregate | >>parked x-test.notes | "
                ">>no agent n",
                pdr_buf_str(&report));
    chat_end(&to);
    group_end(&around);
    group_end(&fewer);
    group_end(&middle);
    group_end(&inner);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* Without its agent it is parked, and saved as it was. */
TEST(aggregate, waits_for_its_agent)
{
    for (size_t i = 0; i < PDR_COUNT(forms); i++) {
        struct group g = {.made = 0};
        struct chat_stage stage = {.count = 0};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);

        group_begin(&g, "G", "A", PDR_AGGREGATE_NESTED);
        outer_begin(&stage, "B", &g);
        chat_says(&stage, "Hi");
        chat_invokes(&stage, "G");
        save_as(&text, &stage, &forms[i]);
        chat_end(&stage);

        chat_begin(&stage, "B");
        ASSERT_RC(PDR_OK, chat_restore(&report, &stage, pdr_buf_str(&text),
                                       NULL, NULL));
        chat_invokes(&stage, "B");
        save_as(&text, &stage, &forms[i]);
        ASSERT_RC(PDR_OK, group_join(stage.chat, &g, NULL)); /* there it is */
        g.fails = 1;
        ASSERT_RC(PDR_EIO, chat_invoke(&stage, "G", NULL)); /* not yet */
        chat_invokes(&stage, "G");
        chat_is("user:Hi | G:A 1 | B:B 1 | G:A 2", &stage);
        inner_is("user:Hi | A:A 1 | B:B 1 | A:A 2", &g);
        chat_end(&stage);

        outer_begin(&stage, "B", &g);
        ASSERT_RC(PDR_OK, chat_restore(&report, &stage, pdr_buf_str(&text),
                                       NULL, NULL));
        /* others do not say that it has not heard B */
        inner_is("user:Hi | A:A 1", &g);
        chat_end(&stage);
        group_end(&g);
        pdr_buf_dispose(&text);
        pdr_buf_dispose(&report);
    }
}

/* All or nothing; and what cannot be used can begin anew. */
TEST(aggregate, is_restored_into_a_new_chat_or_not_at_all)
{
    static const struct {
        const char *reason;
        int fails;
        const char *greeting; /* makes it a used one */
        bool is_empty;
    } cases[] = {{"toy_failed", 1, NULL, false},
                 {"chat_in_use", 0, "mine", false},
                 {"no_agents", 0, NULL, true}};
    struct group g = {.made = 0};
    struct chat_stage stage = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), report = PDR_BUF_INIT(SIZE_MAX);
    const pdr_chat_apply_opts rebuilds = {.rebuilds = true};
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "G", "A", PDR_AGGREGATE_FLAT);
    outer_begin(&stage, "B", &g);
    chat_says(&stage, "Hi");
    chat_invokes(&stage, "G");
    save_as(&text, &stage, &forms[0]);
    chat_end(&stage);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const size_t agents = g.stage.count;

        outer_begin(&stage, "B", &g);
        g.fails = cases[i].fails;
        g.greeting = cases[i].greeting;
        g.stage.count = cases[i].is_empty ? 0 : agents;
        ASSERT(chat_restore(NULL, &stage, pdr_buf_str(&text), NULL, &err) !=
               PDR_OK);
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT(strstr(err.path, "k2:") != NULL);
        chat_is("", &stage);
        g.fails = cases[i].fails;
        ASSERT_RC(PDR_OK, chat_restore(&report, &stage, pdr_buf_str(&text),
                                       &rebuilds, NULL));
        ASSERT(memmem(report.ptr, report.len, "rebuilt aggregate", 17) != NULL);
        g.greeting = NULL;
        g.stage.count = agents;
        chat_invokes(&stage, "G"); /* it gets the log */
        inner_is("user:Hi | A:A 1 | A:A 2", &g);
        g.stage.members[0].model.next = 1;
        chat_end(&stage);
    }
    group_end(&g);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&report);
}

/* The chain of no messages. */
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* States that are not a saved chat. */
TEST(aggregate, refuses_a_state_that_is_not_a_chat)
{
    static const struct {
        const char *state, *reason;
    } cases[] = {
        {"\"thread_1\"", "bad_channel_state"},
        {"[]", "bad_channel_state"},
        {"{}", "bad_channel_state"},
        {"{\"History\":[1],\"Channels\":[]}", "bad_channel_state"},
        {"{\"format\":\"agentchat\",\"version\":2}", "chat_version"},
        {"{\"format\":\"agentchat\",\"version\":1,\"history\":{\"count\":1,"
         "\"chain\":\"00\",\"messages\":[]}}",
         "bad_chain"},
    };
    struct group g = {.made = 0};
    struct chat_stage stage = {.count = 0};
    pdr_chat_state *state = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    group_begin(&g, "Group", "A", PDR_AGGREGATE_FLAT);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_buf_clear(&text);
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(
                      &text, NULL,
                      "{\"History\":[],\"Channels\":[{\"ChannelKey\":"
                      "\"9hOXB1TWUj8A6pLqF+fndaYZCnCNRGd+sUAClZEUBrc=\","
                      "\"ChannelType\":"
                      "\"Microsoft.SemanticKernel.Agents.AggregatorChannel\","
                      "\"ChannelState\":%s}]}",
                      cases[i].state));
        outer_begin(&stage, "", &g);
        if (chat_restore(NULL, &stage, pdr_buf_str(&text), NULL, &err) ==
            PDR_OK)
            fail_msg("%s is taken", cases[i].state);
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_INT(0, g.made);
        chat_end(&stage);
    }
    /* a native one becomes one for others without its agents */
    pdr_str native = S("{\"format\":\"agentchat\",\"version\":1,\"history\":"
                       "{\"count\":0,\"chain\":\"" ZEROS "\",\"messages\":[]}"
                       ",\"channels\":[{\"key2\":\"k2:x\",\"key\":\"y\","
                       "\"kind\":\"aggregate\",\"state\":{}}]}");
    ASSERT_RC(PDR_OK, pdr_chat_open(&state, NULL, NULL, pdr_read_str, &native));
    ASSERT_RC(PDR_EINVALID,
              pdr_chat_state_save(state,
                                  &(pdr_chat_save_opts){.form = PDR_CHAT_SK},
                                  &err, pdr_write_buf, &text));
    ASSERT_STR("bad_channel_state", err.reason);
    pdr_chat_state_free(state);
    group_end(&g);
    pdr_buf_dispose(&text);
}

TEST(aggregate, has_the_keys_of_its_name)
{
    static const struct {
        const char *name, *key;
        pdr_chat_form form;
    } cases[] = {
        {"Group", "k2:tCUWTPGMzIXFeCKsmq-MYiGvqhaAOaBME-JuMe9FuXQ",
         PDR_CHAT_NATIVE},
        {"Group", "9hOXB1TWUj8A6pLqF+fndaYZCnCNRGd+sUAClZEUBrc=", PDR_CHAT_SK},
        {"agent1", "rWwDKVfmcdmJK3+3cd41CfDnN2av6iXSu99yxq3H5V8=", PDR_CHAT_SK},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        for (int is_named = 0; is_named < 2; is_named++) {
            struct group g = {.made = 0};
            struct chat_stage stage = {.count = 0};
            pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
            pdr_chat_state *state = NULL;
            pdr_chat_channel channel;
            pdr_agent_parts parts = {.id = S(cases[i].name),
                                     .client = &g.model.base};

            group_begin(&g, "other", "A", PDR_AGGREGATE_NESTED);
            pdr_agent_free(g.agent);
            if (is_named == 1)
                parts = (pdr_agent_parts){.id = S("other"),
                                          .name = S(cases[i].name),
                                          .client = &g.model.base};
            ASSERT_RC(PDR_OK, pdr_agent_new(&g.agent, &parts, NULL));
            outer_begin(&stage, "", &g);
            chat_runs(&stage);
            chat_is(is_named == 0 ? "assistant:A 1"
                    : i == 2      ? "agent1:A 1"
                                  : "Group:A 1",
                    &stage);
            chat_save(&text, &stage, cases[i].form);
            pdr_str source = pdr_buf_str(&text);
            ASSERT_RC(PDR_OK,
                      pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source));
            ASSERT(pdr_chat_state_channel(&channel, state, 0));
            ASSERT_TEXT(cases[i].key, channel.key);
            pdr_chat_state_free(state);
            chat_end(&stage);
            group_end(&g);
            pdr_buf_dispose(&text);
        }
    }
}

/* --- others at the same time -----------------------------------------------
 */

static void *save_again_and_again(void *arg)
{
    for (size_t i = 0; i < 30; i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK, pdr_chat_save(arg, &forms[i % PDR_COUNT(forms)], NULL,
                                        pdr_write_buf, &text));
        pdr_buf_dispose(&text);
    }
    return NULL;
}

TEST(aggregate, is_saved_beside_its_turns)
{
    struct group inner = {.made = 0}, middle = {.inside = &inner};
    struct chat_stage stage = {.count = 0};
    pthread_t thread;

    group_begin(&inner, "I", "A", PDR_AGGREGATE_FLAT);
    group_begin(&middle, "M", "", PDR_AGGREGATE_FLAT);
    outer_begin(&stage, "", &middle);
    inner.stage.members[0].model.is_deaf = true;
    ASSERT_INT(0,
               pthread_create(&thread, NULL, save_again_and_again, stage.chat));
    for (int i = 0; i < 30; i++) {
        chat_says(&stage, "Hi");
        stage.heard[0] = '\0';
        chat_runs(&stage);
    }
    (void)pthread_join(thread, NULL);
    ASSERT_INT(60, pdr_chat_message_count(inner.chat));
    chat_end(&stage);
    group_end(&middle);
    group_end(&inner);
}

/* --- what others have no place for -----------------------------------------
 */

static pdr_rc finding_note(const pdr_doc_finding *finding, pdr_err *err,
                           void *arg)
{
    return pdr_buf_printf(arg, err, "%.*s\n", (int)finding->pointer.len,
                          finding->pointer.ptr);
}

TEST(aggregate, says_what_is_lost_inside_of_it)
{
    struct group inner = {.made = 0}, middle = {.inside = &inner};
    struct chat_stage stage = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), lost = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_save_opts opts = {
        .form = PDR_CHAT_SK, .fn = finding_note, .arg = &lost};
    pdr_err err = PDR_ERR_INIT;

    group_begin(&inner, "I", "A", PDR_AGGREGATE_FLAT);
    group_begin(&middle, "M", "", PDR_AGGREGATE_FLAT);
    outer_begin(&stage, "", &middle);
    chat_runs(&stage);
    save_as(&text, &stage, &opts);
    ASSERT_TEXT("/channels/0/state/channels/0/state/history\n"
                "/channels/0/state/channels/0/state/turn/selection\n"
                "/channels/0/state/channels/0/state/turn/records\n"
                "/channels/0/state/history\n"
                "/channels/0/state/turn/selection\n"
                "/channels/0/state/turn/records\n"
                "/history\n"
                "/turn/selection\n"
                "/turn/records\n",
                pdr_buf_str(&lost));
    opts.is_strict = true;
    opts.fn = NULL;
    pdr_buf_clear(&text);
    ASSERT_RC(PDR_EINVALID,
              pdr_chat_save(stage.chat, &opts, &err, pdr_write_buf, &text));
    ASSERT_STR("cannot_carry", err.reason);
    ASSERT_SIZE(0, text.len);
    chat_end(&stage);
    group_end(&middle);
    group_end(&inner);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&lost);
}

/* --- in a store -------------------------------------------------------------
 */

#define LEASE_MS 30000

static void attach(struct chat_stage *stage, pdr_store *store, int64_t now_ms)
{
    const pdr_chat_home home = {
        .store = store, .ref = {.id = S("c")}, .create = true};
    const pdr_chat_apply_opts opts = {.now_ms = now_ms};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_chat_attach(NULL, stage->chat, &home, &opts, &err) != PDR_OK)
        fail_msg("not attached: %s", err.message);
}

/* A process ends after so many commits, another one goes on with the run: what
 * ended is not made again, and nothing is heard twice or not at all. "NAME 2"
 * was asked twice, since its first answer was lost. */
TEST(aggregate, goes_on_after_a_crash_at_any_commit)
{
    COVERS("C-105");
    static const struct {
        pdr_aggregate_mode mode;
        size_t commits;            /* that succeed */
        const char *outer, *inner; /* that is stored; NULL: nothing inside */
        const char *end;
    } cases[] = {
        {PDR_AGGREGATE_FLAT, 0, "user:Hi", NULL, "user:Hi | A:A 1 | B:B 1"},
        {PDR_AGGREGATE_FLAT, 1, "user:Hi", NULL, "user:Hi | A:A 2 | B:B 1"},
        {PDR_AGGREGATE_FLAT, 2, "user:Hi", "user:Hi | A:A 1",
         "user:Hi | A:A 1 | B:B 1"}, /* not passed on yet */
        {PDR_AGGREGATE_FLAT, 3, "user:Hi | A:A 1", "user:Hi | A:A 1",
         "user:Hi | A:A 1 | B:B 2"},
        {PDR_AGGREGATE_FLAT, 4, "user:Hi | A:A 1", "user:Hi | A:A 1 | B:B 1",
         "user:Hi | A:A 1 | B:B 1"},
        {PDR_AGGREGATE_FLAT, 5, "user:Hi | A:A 1 | B:B 1",
         "user:Hi | A:A 1 | B:B 1", "user:Hi | A:A 1 | B:B 1"},
        {PDR_AGGREGATE_FLAT, 6, "user:Hi | A:A 1 | B:B 1",
         "user:Hi | A:A 1 | B:B 1",
         "user:Hi | A:A 1 | B:B 1 | A:A 2 | B:B 2"}, /* a new run */
        {PDR_AGGREGATE_NESTED, 0, "user:Hi", NULL, "user:Hi | G:B 1"},
        {PDR_AGGREGATE_NESTED, 1, "user:Hi", NULL, "user:Hi | G:B 1"},
        {PDR_AGGREGATE_NESTED, 2, "user:Hi", "user:Hi | A:A 1",
         "user:Hi | G:B 2"},
        {PDR_AGGREGATE_NESTED, 3, "user:Hi", "user:Hi | A:A 1 | B:B 1",
         "user:Hi | G:B 1"},
        {PDR_AGGREGATE_NESTED, 4, "user:Hi | G:B 1", "user:Hi | A:A 1 | B:B 1",
         "user:Hi | G:B 1 | G:B 2"},
    };

    fault_store_register();
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const struct fault_plan none = {.nth = 0};
        const struct fault_plan crash = {.call = FAULT_COMMIT,
                                         .nth = cases[i].commits + 1,
                                         .for_ever = true};
        struct group g = {.stage = {.opts = {.max_turns = 2}}};
        struct chat_stage one = {.count = 0}, two = {.count = 0};
        pdr_store *store = NULL;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
        group_begin(&g, "G", "A B", cases[i].mode);
        outer_begin(&one, "", &g);
        attach(&one, store, STAGE_NOW);
        chat_says(&one, "Hi");
        fault_store_set(&crash);
        (void)!chat_invoke(&one, "G", NULL);
        ASSERT_SIZE(cases[i].commits,
                    fault_store_calls() - fault_store_failed());
        chat_end(&one);
        fault_store_set(&none);

        outer_begin(&two, "@n", &g);
        g.chat = NULL;
        attach(&two, store, STAGE_NOW + 2 * LEASE_MS);
        chat_is(cases[i].outer, &two);
        ASSERT((g.chat != NULL) == (cases[i].inner != NULL));
        if (cases[i].inner != NULL)
            inner_is(cases[i].inner, &g);
        chat_invokes(&two, "G");
        chat_is(cases[i].end, &two);
        chat_invokes(&two, "n");
        chat_agrees(&two);
        chat_end(&two);
        group_end(&g);
        pdr_store_close(store);
    }
}

/* One that was over when the process ended is not asked to go on. */
TEST(aggregate, that_was_over_before_a_crash_says_what_it_had_to_say)
{
    const struct fault_plan none = {.nth = 0};

    fault_store_register();
    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        const struct fault_plan crash = {
            .call = FAULT_COMMIT, .nth = i == 0 ? 5 : 4, .for_ever = true};
        struct group g = {
            .stage = {.opts = {.ends = {.kind = PDR_TERMINATE_ALL}}}};
        struct chat_stage one = {.count = 0}, two = {.count = 0};
        pdr_err err = PDR_ERR_INIT;
        pdr_store *store = NULL;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
        group_begin(&g, "G", "A B", modes[i]);
        outer_begin(&one, "", &g);
        attach(&one, store, STAGE_NOW);
        chat_says(&one, "Hi");
        fault_store_set(&crash);
        ASSERT_RC(PDR_EIO, chat_invoke(&one, "G", NULL));
        chat_end(&one);
        fault_store_set(&none);

        outer_begin(&two, "", &g);
        attach(&two, store, STAGE_NOW + 2 * LEASE_MS);
        chat_invokes(&two, "G");
        chat_is(i == 0 ? "user:Hi | A:A 1" : "user:Hi | G:A 1", &two);
        ASSERT_RC(PDR_EMISUSE, chat_invoke(&two, "G", &err));
        ASSERT_STR("chat_complete", err.reason);
        chat_end(&two);
        group_end(&g);
        pdr_store_close(store);
    }
}

/* Two levels down a tool has ended, and the process with it. */
TEST(aggregate, knows_after_a_crash_what_a_tool_has_said_in_a_chat_inside_of_it)
{
    static const char *const steps[] = {"call look {}", "say done", "say done",
                                        NULL};
    const struct fault_plan none = {.nth = 0};

    fault_store_register();
    for (size_t commits = 1; commits < 5; commits++) {
        const struct fault_plan crash = {
            .call = FAULT_COMMIT, .nth = commits + 1, .for_ever = true};
        struct group inner = {.made = 0}, middle = {.inside = &inner};
        struct chat_stage one = {.count = 0}, two = {.count = 0};
        pdr_store *store = NULL;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
        chat_steps(&inner.stage, 0, steps);
        group_begin(&inner, "I", "A", modes[commits % 2]);
        group_begin(&middle, "M", "", modes[commits / 2 % 2]);
        outer_begin(&one, "", &middle);
        attach(&one, store, STAGE_NOW);
        chat_says(&one, "Hi");
        fault_store_set(&crash);
        ASSERT_RC(PDR_EIO, chat_invoke(&one, "M", NULL));
        chat_end(&one);
        fault_store_set(&none);

        outer_begin(&two, "", &middle);
        attach(&two, store, STAGE_NOW + 2 * LEASE_MS);
        if (commits ==
            1) { /* the call was not stored, and its tool not asked */
            ASSERT_INT(0, inner.stage.looked);
        } else {
            chat_invokes(&two, "M");
            ASSERT_INT(1, inner.stage.looked);
            inner_is(commits == 2 ? "user:Hi | (A:call look) | A:done"
                                  : "user:Hi | (A:call look) | (A:= look did "
                                    "{}) | A:done",
                     &inner);
        }
        chat_end(&two);
        group_end(&middle);
        group_end(&inner);
        pdr_store_close(store);
    }
}

/* --- without memory ---------------------------------------------------------
 */

static bool is_nomem(pdr_rc rc)
{
    return rc == PDR_OK || rc == PDR_ENOMEM;
}

TEST_OOM(aggregate, goes_on_after_any_failed_allocation)
{
    struct group inner = {.made = 0}, middle = {.inside = &inner};
    struct chat_stage from = {.count = 0}, to = {.count = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    uint64_t count = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    group_begin(&inner, "I", "A", PDR_AGGREGATE_FLAT);
    group_begin(&middle, "M", "", PDR_AGGREGATE_NESTED);
    outer_begin(&from, "", &middle);
    outer_begin(&to, "", &middle);
    inner.stage.members[0].model.is_deaf = true;
    chat_says(&from, "Hi");
    test_pause_failures(false);
    rc = pdr_chat_run(from.chat, NULL, NULL);
    ASSERT(is_nomem(rc) || rc == PDR_EIO); /* not delivered */
    for (int i = 0; i < 2; i++) {
        const pdr_chat_save_opts opts = {.form = i == 0 ? PDR_CHAT_NATIVE
                                                        : PDR_CHAT_SK};
        pdr_str source;

        pdr_buf_clear(&text);
        rc = pdr_chat_save(from.chat, &opts, NULL, pdr_write_buf, &text);
        ASSERT(is_nomem(rc) || rc == PDR_ELIMIT);
        source = pdr_buf_str(&text);
        if (rc == PDR_OK)
            rc = pdr_chat_open(&state, NULL, NULL, pdr_read_str, &source);
        if (rc == PDR_OK && pdr_chat_message_count(to.chat) == 0) {
            rc = pdr_chat_apply(NULL, to.chat, state, NULL, NULL);
            ASSERT(is_nomem(rc));
            count = pdr_chat_message_count(to.chat);
            ASSERT_INT(rc == PDR_OK ? pdr_chat_message_count(from.chat) : 0,
                       count);
        }
        pdr_chat_state_free(state);
        state = NULL;
    }
    test_pause_failures(true);
    ASSERT(!pdr_chat_is_active(from.chat) && !pdr_chat_is_active(to.chat));
    ASSERT_RC(PDR_OK, pdr_chat_run(from.chat, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_run(to.chat, NULL, NULL));
    pdr_buf_dispose(&text);
    chat_end(&from);
    chat_end(&to);
    group_end(&middle);
    group_end(&inner);
    test_pause_failures(false);
}

/* In a store, too: whoever goes on finds what fits together. */
TEST_OOM(aggregate, leaves_a_whole_chat_in_the_store)
{
    static const char *const steps[] = {"call look {}", "say done", "say done",
                                        "say done", NULL};
    const pdr_chat_call call = {.now_ms = STAGE_NOW};
    struct group g = {.made = 0};
    struct chat_stage one = {.count = 0}, two = {.count = 0};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    chat_steps(&g.stage, 0, steps);
    group_begin(&g, "G", "A", PDR_AGGREGATE_FLAT);
    g.stage.members[0].model.is_deaf = true;
    outer_begin(&one, "", &g);
    attach(&one, store, STAGE_NOW);
    chat_says(&one, "Hi");
    test_pause_failures(false);
    rc = pdr_chat_run(one.chat, &call, NULL);
    test_pause_failures(true);
    ASSERT(is_nomem(rc));
    chat_end(&one);
    outer_begin(&two, "", &g);
    attach(&two, store, STAGE_NOW + 2 * LEASE_MS);
    ASSERT_RC(PDR_OK, pdr_chat_run(two.chat, NULL, NULL));
    ASSERT(g.stage.looked <= 1);
    ASSERT(pdr_chat_message_count(two.chat) >= 2);
    chat_end(&two);
    group_end(&g);
    pdr_store_close(store);
    test_pause_failures(false);
}
