/*
 * Models that say who is next and when it is over: what they are told, and what
 * becomes of their answers.
 */
#include "chat_stage.h"

#include "chat.h"
#include "values.h"

#define ITEM(text)       "{\"$type\":\"TextContent\",\"Text\":" text "}"
#define SAID(role, rest) "{\"Role\":{\"Label\":\"" role "\"}," rest "}"

/* --- what was said ----------------------------------------------------------
 */

TEST(history_text, is_what_semantic_kernel_tells)
{
    COVERS("C-58");
    static const struct {
        const char *messages, *expected, *names;
    } rows[] = {
        {"[]", "[]", "[]"},
        {"[" SAID("user", "\"Items\":[" ITEM("\"Name a color.\"") "]") "," SAID(
             "assistant",
             "\"AuthorName\":\"Poet\",\"Items\":[" ITEM("\"Teal\"") "]") "]",
         "[\n"
         "  {\n"
         "    \"Role\": \"user\",\n"
         "    \"Content\": \"Name a color.\"\n"
         "  },\n"
         "  {\n"
         "    \"Role\": \"assistant\",\n"
         "    \"Name\": \"Poet\",\n"
         "    \"Content\": \"Teal\"\n"
         "  }\n"
         "]",
         "[\n  \"user\",\n  \"Poet\"\n]"},
        /* Blank ones are left out; so are those whose first text is. */
        {"[" SAID("user", "\"Items\":[" ITEM("\" \\n\"") "," ITEM("\"x\"") "]") "," SAID(
             "a",
             "\"Items\":[]") "," SAID("tool",
                                      "\"Items\":[{\"$type\":\"FunctionResultContent\","
                                      "\"Result\":\"r\"}]") "]",
         "[]", "[]"},
        /* An empty name is none where only names are told. */
        {"[" SAID("user",
                  "\"AuthorName\":\"\",\"Items\":[" ITEM("\"x\"") "]") "]",
         "[\n  {\n    \"Role\": \"user\",\n    \"Name\": \"\",\n"
         "    \"Content\": \"x\"\n  }\n]",
         "[\n  \"user\"\n]"},
        /* The escapes of .NET. */
        {"[" SAID("user", "\"AuthorName\":\"\\u00e9\",\"Items\":[" ITEM(
                              "\"<a> + 'b' \\\"c\\\"\"") "]") "]",
         "[\n  {\n    \"Role\": \"user\",\n    \"Name\": \"\\u00E9\",\n"
         "    \"Content\": \"\\u003Ca\\u003E \\u002B \\u0027b\\u0027 "
         "\\u0022c\\u0022\"\n  }\n]",
         "[\n  \"\\u00E9\"\n]"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *list = value_of(rows[i].messages);
        const pdr_value *messages[4];
        size_t count = pdr_value_count(list);

        for (size_t k = 0; k < count; k++)
            messages[k] = pdr_value_at(list, k);
        for (int names = 0; names < 2; names++) {
            pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

            ASSERT_RC(PDR_OK, pdr__history_text(&text, messages, count,
                                                names == 1, NULL));
            ASSERT_TEXT(names == 1 ? rows[i].names : rows[i].expected,
                        pdr_buf_str(&text));
            pdr_buf_dispose(&text);
        }
        pdr_value_free(list);
    }
}

/* --- templates --------------------------------------------------------------
 */

TEST(template, that_cannot_be_filled_in_is_refused)
{
    struct stage_model model;
    const pdr_chat_argument about = {"about", "x"}, upper = {"_HISTORY_", "x"},
                            agents = {"_Agents_", "x"}, none = {"x", NULL},
                            other = {"Who", "x"};
    const struct {
        pdr_chat_prompt prompt;
        const char *reason;
    } rows[] = {
        {{.text = "{{$_history_}} {{ $_AGENTS_ }} {{$About}}",
          .arguments = &about,
          .argument_count = 1},
         NULL},
        {{.text = ""}, NULL},
        {{.text = "}} { {"}, NULL},
        {{.text = "{{$_history_}"}, "bad_prompt"},
        {{.text = "{{$about}}"}, "bad_prompt"},
        {{.text = "{{_history_}}"}, "bad_prompt"},
        {{.text = "{{$_agent_}}"}, "bad_prompt"}, /* that of an ending */
        {{.text = "{{}}"}, "bad_prompt"},
        {{.text = "\xFF"}, "bad_utf8"},
        {{.text = "", .arguments = &upper, .argument_count = 1}, "bad_prompt"},
        {{.text = "", .arguments = &agents, .argument_count = 1}, "bad_prompt"},
        {{.text = "", .arguments = &none, .argument_count = 1}, "bad_prompt"},
        {{.text = "",
          .agent_variable = "who",
          .arguments = &other,
          .argument_count = 1},
         "bad_prompt"},
        {{.text = "",
          .agent_variable = "who",
          .arguments = &agents,
          .argument_count = 1},
         NULL},
        {{.text = NULL}, "missing_slot"},
        {{.text = "", .reduction = {.threshold = 1}}, "bad_reduction"},
    };

    stage_model_init(&model, NULL);
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_chat_prompt prompt = rows[i].prompt;
        const pdr_chat_opts opts = {.select_prompt = &prompt};
        pdr_chat *chat = NULL;
        pdr_err err = PDR_ERR_INIT;

        prompt.client = &model.base;
        pdr_rc rc = pdr_chat_new(&chat, &opts, &err);
        if ((rc == PDR_OK) != (rows[i].reason == NULL) ||
            (rc != PDR_OK && strcmp(rows[i].reason, err.reason) != 0))
            fail_msg("row %zu: %s", i, err.message);
        pdr_chat_free(chat);
    }
    stage_model_free(&model);
}

TEST(template, is_filled_in_and_not_looked_into_again)
{
    static const char *const steps[] = {"say A", NULL};
    struct stage_model model;
    const pdr_chat_argument arguments[] = {{"Rule", "{{$_who_}} & co"}};
    const pdr_chat_prompt prompt = {
        .client = &model.base,
        .text = "{{$rule}}: {{$_who_}}? {{ $SAID }}.",
        .arguments = arguments,
        .argument_count = 1,
        .agent_variable = "_who_",
        .history_variable = "said",
        .has_names_only = true,
    };
    struct chat_stage stage = {.opts = {.select_prompt = &prompt}};

    stage_model_init(&model, steps);
    chat_begin(&stage, "A B");
    ASSERT_RC(PDR_OK,
              pdr_chat_add_text(stage.chat, S("Hi"), S("{{$_who_}}"), NULL));
    chat_runs(&stage);
    ASSERT_TEXT("user:{{$_who_}} & co: A,B? [\n  \"{{$_who_}}\"\n].",
                pdr_buf_str(&model.seen));
    chat_end(&stage);
    stage_model_free(&model);
}

/* What is told may be reduced; the log is not. */
TEST(prompt, reduces_a_copy)
{
    static const char *const steps[] = {"say A", NULL};
    static const char *const sums[] = {"say all", NULL};
    struct stage_model model, summer;
    const struct {
        pdr_reduction reduction;
        const char *asked;
    } rows[] = {
        {{.target = 0}, "user:[\n  \"u1\",\n  \"u2\",\n  \"u3\",\n  \"u4\"\n]"},
        {{.target = 2}, "user:[\n  \"u3\",\n  \"u4\"\n]"},
        {{.target = 2, .client = &summer.base},
         "user:[\n  \"assistant\",\n  \"u3\",\n  \"u4\"\n]"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        const pdr_chat_prompt prompt = {.client = &model.base,
                                        .text = "{{$_history_}}",
                                        .has_names_only = true,
                                        .reduction = rows[i].reduction};
        struct chat_stage stage = {.opts = {.select_prompt = &prompt}};
        char name[] = "u0";

        stage_model_init(&model, steps);
        stage_model_init(&summer, sums);
        chat_begin(&stage, "A");
        for (int k = 1; k <= 4; k++) {
            name[1] = (char)('0' + k);
            ASSERT_RC(PDR_OK,
                      pdr_chat_add_text(stage.chat, S("x"), S(name), NULL));
        }
        chat_runs(&stage);
        ASSERT_TEXT(rows[i].asked, pdr_buf_str(&model.seen));
        chat_is("u1:x | u2:x | u3:x | u4:x | A:A 1", &stage);
        chat_sees("u1:x | u2:x | u3:x | u4:x | A:A 1", &stage, "A");
        chat_end(&stage);
        stage_model_free(&model);
        stage_model_free(&summer);
    }
}

/* --- who is next ------------------------------------------------------------
 */

/* Run until two have spoken, with this answer; a first agent speaks before
 * anybody is asked. */
static pdr_rc names_run(struct chat_stage *stage, const char *names,
                        const char *answer, pdr_err *err)
{
    char step[200];
    const char *const steps[] = {step, NULL};
    struct stage_model model;
    const pdr_chat_prompt prompt = {.client = &model.base,
                                    .text = "{{$_agents_}}"};
    pdr_rc rc = PDR_OK;

    snprintf(step, sizeof(step), "say %s", answer);
    stage_model_init(&model, steps);
    stage->opts.select_prompt = &prompt;
    stage->opts.max_turns = stage->opts.first.len > 0 ? 2 : 1;
    chat_begin(stage, names);
    rc = chat_run(stage, err);
    ASSERT_SIZE(1, model.asked);
    stage_model_free(&model);
    return rc;
}

TEST(prompt, chooses_who_is_named)
{
    COVERS("C-53");
    static const struct {
        const char *names, *answer;
        const char *who; /* NULL: nobody */
    } rows[] = {
        {"A B", "B", "B:B 1"},
        {"Writer Critic", " \"Writer\": ", "Writer:Writer 1"},
        {"Writer Critic", "writer", "Writer:Writer 1"},
        {"Writer Critic", "`CRITIC`.\n", "Critic:Critic 1"},
        {"Writer WRITER", "writer", NULL},
        {"Writer WRITER", "WRITER", "WRITER:WRITER 1"},
        {"Writer WRITER", "'WRITER'.", "WRITER:WRITER 1"},
        {"Dr. Dr", "Dr.", "Dr.:Dr. 1"},
        {"Dr. Dr", "Dr:", "Dr:Dr 1"},
        {"A B", "Ask B", NULL},
        {"A B", "C", NULL},
        {"A B", "", NULL},
        {"A B", " \"\": ", NULL},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct chat_stage stage = {.count = 0};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].who != NULL ? PDR_OK : PDR_EINVALID,
                  names_run(&stage, rows[i].names, rows[i].answer, &err));
        if (rows[i].who == NULL)
            ASSERT_STR("bad_selection", err.reason);
        chat_is(rows[i].who != NULL ? rows[i].who : "", &stage);
        chat_end(&stage);
    }
}

TEST(prompt, fails_or_falls_back_if_nobody_is_named)
{
    COVERS("C-51");
    static const struct {
        const char *answer, *first;
        bool falls_back;
        const char *log;
        const char *says; /* NULL: it does not fail */
    } rows[] = {
        {"Zoe", "", false, "", "answered 'Zoe', which"},
        {"Zoe", "B", false, "B:B 1", "answered 'Zoe', which"},
        {"Zoe", "B", true, "B:B 1 | B:B 2", NULL},
        {"Zoe", "", true, "", "answered 'Zoe', which"},
        {"Zoe", "X", true, "", "answered 'Zoe', which"}, /* who is not there */
        {"", "", false, "", "answered '', which"},
        {"", "B", false, "B:B 1", "answered '', which"},
        {"", "B", true, "B:B 1 | B:B 2", NULL},
        {"A", "B", true, "B:B 1 | A:A 1", NULL},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct chat_stage stage = {.opts = {.first = S(rows[i].first),
                                            .falls_back = rows[i].falls_back}};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = names_run(&stage, "A B", rows[i].answer, &err);

        ASSERT_RC(rows[i].says != NULL ? PDR_EINVALID : PDR_OK, rc);
        if (rows[i].says != NULL) {
            ASSERT_STR("bad_selection", err.reason);
            ASSERT(strstr(err.message, rows[i].says) != NULL);
        }
        chat_is(rows[i].log, &stage);
        chat_end(&stage);
    }
}

TEST(prompt, calls_an_agent_without_a_name_by_its_id)
{
    COVERS("C-52");
    static const char *const steps[] = {"say agent-7", NULL};
    struct stage_model model;
    const pdr_chat_prompt prompt = {.client = &model.base,
                                    .text = "{{$_agents_}}"};
    struct chat_stage stage = {.opts = {.select_prompt = &prompt}};
    const pdr_agent_parts parts = {.id = S("agent-7"), .client = &model.base};
    pdr_chat_joining joining = {.agent = NULL};

    stage_model_init(&model, steps);
    chat_begin(&stage, "A");
    ASSERT_RC(PDR_OK, pdr_agent_new(&joining.agent, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_chat_join(stage.chat, &joining, NULL));
    chat_runs(&stage);
    ASSERT(memmem(model.all.ptr, model.all.len, "A,agent-7", 9) != NULL);
    ASSERT_TEXT("agent-7", stage.chat->turns[0].agent);
    pdr_agent_free(joining.agent);
    chat_end(&stage);
    stage_model_free(&model);
}

/* A turn that fails is tried again, and a second time somebody else may be
 * chosen. Who was asked to speak by the caller was not chosen. */
TEST(prompt, is_asked_again_after_a_turn_that_failed_twice)
{
    static const char *const choices[] = {"say B", "say A", NULL};
    static const char *const broken[] = {"fail", NULL};
    struct stage_model model;
    const pdr_chat_prompt prompt = {.client = &model.base, .text = "Who?"};
    struct chat_stage stage = {.opts = {.select_prompt = &prompt}};

    stage_model_init(&model, choices);
    chat_steps(&stage, 1, broken);
    chat_begin(&stage, "A B");
    for (int i = 0; i < 2; i++) {
        ASSERT(chat_run(&stage, NULL) != PDR_OK);
        ASSERT_SIZE(1, model.asked);
    }
    chat_runs(&stage);
    ASSERT_SIZE(2, model.asked);
    chat_is("A:A 1", &stage);
    ASSERT(chat_invoke(&stage, "B", NULL) != PDR_OK);
    ASSERT(chat_run(&stage, NULL) != PDR_OK); /* "B" */
    ASSERT_SIZE(3, model.asked);
    chat_end(&stage);
    stage_model_free(&model);
}

/* A pdr_rc (*)(void *): somebody cancels while the model is asked. */
static pdr_rc cancel_now(void *cancel)
{
    pdr_cancel_set(cancel);
    return PDR_ECANCELLED;
}

TEST(prompt, says_why_nobody_was_chosen)
{
    static const char *const steps[] = {"fail", NULL};
    struct stage_model model;
    const pdr_chat_prompt prompt = {.client = &model.base, .text = ""};
    struct chat_stage stage = {.opts = {.select_prompt = &prompt,
                                        .first = S("A"),
                                        .falls_back = true,
                                        .max_turns = 3}};
    pdr_chat_call call = {.now_ms = STAGE_NOW};
    pdr_err err = PDR_ERR_INIT;

    stage_model_init(&model, steps);
    chat_begin(&stage, "A B");
    ASSERT_RC(PDR_EINVALID, chat_run(&stage, &err)); /* no fall-back for that */
    ASSERT_STR("bad_selection", err.reason);
    ASSERT(strstr(err.message, "as planned") != NULL);
    chat_is("A:A 1", &stage);

    ASSERT_RC(PDR_OK, pdr_cancel_new(&call.cancel, NULL));
    model.hook = cancel_now;
    model.hook_arg = call.cancel;
    ASSERT_RC(PDR_ECANCELLED, pdr_chat_run(stage.chat, &call, &err));
    ASSERT_SIZE(2, model.asked);
    chat_is("A:A 1", &stage);
    pdr_cancel_free(call.cancel);
    chat_end(&stage);
    stage_model_free(&model);
}

TEST(prompt, goes_on_after_a_restore)
{
    static const char *const steps[] = {"say B", "say C", NULL};
    struct stage_model model;
    const pdr_chat_prompt prompt = {.client = &model.base, .text = ""};
    const pdr_chat_opts opts = {.select_prompt = &prompt, .first = S("A")};
    struct chat_stage from = {.opts = opts}, to = {.opts = opts};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    stage_model_init(&model, steps);
    chat_begin(&from, "A B C");
    chat_runs(&from); /* the first one, who was not asked for */
    ASSERT_SIZE(0, model.asked);
    chat_runs(&from);
    chat_save(&text, &from, PDR_CHAT_NATIVE);
    chat_end(&from);
    chat_begin(&to, "A B C");
    ASSERT_RC(PDR_OK, chat_restore(NULL, &to, pdr_buf_str(&text), NULL, NULL));
    chat_runs(&to);
    chat_is("A:A 1 | B:B 1 | C:C 1", &to);
    ASSERT_RC(PDR_OK, pdr_chat_reset(to.chat, NULL, NULL, NULL));
    chat_runs(&to);
    chat_is("A:A 1", &to); /* it begins anew */
    ASSERT_SIZE(2, model.asked);
    chat_end(&to);
    pdr_buf_dispose(&text);
    stage_model_free(&model);
}

static pdr_rc select_none(size_t *out, const pdr_chat_view *view, pdr_err *err,
                          void *arg)
{
    (void)out;
    (void)view;
    (void)arg;
    return pdr_err_set(err, PDR_EIO, "toy_failed", "not today");
}

TEST(chat_new, refuses_two_ways_to_select)
{
    const pdr_chat_prompt prompt = {.text = ""};
    const pdr_chat_opts opts = {.select = select_none,
                                .select_prompt = &prompt};
    pdr_chat *chat = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EMISUSE, pdr_chat_new(&chat, &opts, &err));
    ASSERT_STR("bad_option", err.reason);
    ASSERT(chat == NULL);
}

/* --- when it is over --------------------------------------------------------
 */

static pdr_rc is_yes(bool *out, pdr_str answer, pdr_err *err, void *arg)
{
    size_t *asked = arg;

    (*asked)++;
    if (pdr_str_equal(answer, S("what?")))
        return pdr_err_set(err, PDR_EINVALID, "mine", "neither yes nor no");
    if (pdr_str_equal(answer, S("yes")))
        *out = true; /* it is not, unless it says so */
    return PDR_OK;
}

TEST(prompt, ends_a_run_with_any_answer)
{
    COVERS("C-57");
    static const char *const steps[] = {"say no", NULL};
    struct stage_model model;
    const pdr_chat_prompt prompt = {.client = &model.base,
                                    .text = "{{$_agent_}} {{$_history_}}",
                                    .has_names_only = true};
    struct chat_stage stage = {
        .opts = {.ends = {.kind = PDR_TERMINATE_PROMPT, .prompt = &prompt}}};

    stage_model_init(&model, steps);
    chat_begin(&stage, "A B");
    chat_runs(&stage);
    ASSERT(pdr_chat_is_complete(stage.chat));
    chat_is("A:A 1", &stage);
    ASSERT_TEXT("user:A [\n  \"A\"\n]", pdr_buf_str(&model.seen));
    chat_end(&stage);
    stage_model_free(&model);
}

TEST(prompt, ends_a_run_as_its_answer_is_read)
{
    static const char *const steps[] = {"say no", "say n/o", "say yes", NULL};
    static const char *const only_b[] = {"B", NULL};
    struct stage_model model;
    size_t asked = 0;
    const pdr_chat_prompt prompt = {.client = &model.base, .text = "Over?"};
    const pdr_termination part = {.kind = PDR_TERMINATE_PROMPT,
                                  .prompt = &prompt,
                                  .parse = is_yes,
                                  .arg = &asked,
                                  .agents = only_b};
    struct chat_stage stage = {.opts = {.ends = {.kind = PDR_TERMINATE_ANY,
                                                 .parts = &part,
                                                 .part_count = 1}}};

    stage_model_init(&model, steps);
    chat_begin(&stage, "A B");
    chat_runs(&stage);
    ASSERT(pdr_chat_is_complete(stage.chat));
    ASSERT_INT(6, pdr_chat_message_count(stage.chat));
    ASSERT_SIZE(3, asked); /* A was not asked about */
    ASSERT_SIZE(3, model.asked);
    chat_end(&stage);
    stage_model_free(&model);
}

TEST(prompt, that_fails_keeps_the_turn_before_it)
{
    static const char *const steps[] = {"fail", "say what?", "say yes", NULL};
    static const char *const reasons[] = {"model_failed", "mine"};
    struct stage_model model;
    size_t asked = 0;
    const pdr_chat_prompt prompt = {.client = &model.base, .text = "Over?"};
    struct chat_stage stage = {.opts = {.ends = {.kind = PDR_TERMINATE_PROMPT,
                                                 .prompt = &prompt,
                                                 .parse = is_yes,
                                                 .arg = &asked}}};
    pdr_chat_call call = {.now_ms = STAGE_NOW};

    stage_model_init(&model, steps);
    chat_begin(&stage, "A B");
    for (size_t i = 0; i < 2; i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT(chat_run(&stage, &err) != PDR_OK);
        ASSERT_STR(reasons[i], err.reason);
        ASSERT(!pdr_chat_is_complete(stage.chat));
        chat_is(i == 0 ? "A:A 1" : "A:A 1 | B:B 1", &stage);
    }
    ASSERT_RC(PDR_OK, pdr_cancel_new(&call.cancel, NULL));
    model.hook = cancel_now;
    model.hook_arg = call.cancel;
    ASSERT_RC(PDR_ECANCELLED, pdr_chat_run(stage.chat, &call, NULL));
    chat_is("A:A 1 | B:B 1 | A:A 2", &stage);
    ASSERT(!pdr_chat_is_complete(stage.chat));
    ASSERT_INT(PDR_TURN_ENDED, stage.chat->turns[2].end);
    pdr_cancel_free(call.cancel);
    chat_end(&stage);
    stage_model_free(&model);
}

/* --- without memory ---------------------------------------------------------
 */

TEST_OOM(prompt, survives_any_failed_allocation)
{
    static const char *const who[] = {"say B", NULL};
    static const char *const sums[] = {"say all", NULL};
    struct stage_model model, summer;
    const pdr_chat_argument argument = {"x", "y"};
    const pdr_chat_prompt prompt = {
        .client = &model.base,
        .text = "{{$x}} {{$_agents_}} {{$_history_}}",
        .arguments = &argument,
        .argument_count = 1,
        .reduction = {.target = 1, .client = &summer.base}};
    const pdr_chat_prompt over = {.client = &summer.base, .text = "Over?"};
    struct chat_stage stage = {
        .opts = {.select_prompt = &prompt,
                 .ends = {.kind = PDR_TERMINATE_PROMPT, .prompt = &over}}};
    pdr_chat *chat = NULL;
    pdr_rc rc = pdr_chat_new(&chat, &stage.opts, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((chat != NULL) == (rc == PDR_OK));
    pdr_chat_free(chat);
    test_pause_failures(true);
    stage_model_init(&model, who);
    stage_model_init(&summer, sums);
    chat_begin(&stage, "A B");
    model.is_deaf = summer.is_deaf = true;
    stage.members[1].model.is_deaf = true;
    chat_says(&stage, "1");
    chat_says(&stage, "2");
    test_pause_failures(false);
    rc = pdr_chat_run(stage.chat, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(!pdr_chat_is_active(stage.chat));
    test_pause_failures(true);
    chat_end(&stage);
    stage_model_free(&model);
    stage_model_free(&summer);
    test_pause_failures(false);
}
