/*
 * Summaries of what is left out: which messages they are made of, what they
 * leave, and that they stay with the channel.
 */
#include "chat_stage.h"

#include <perdure/chat_store.h>

#include "chat.h"
#include "fault_store.h"
#include "values.h"

/* --- lists ------------------------------------------------------------------
 * Words, a message each: s of system, u of user, a of assistant, with the word
 * as its text; c1 with call 1 and r1 with its result.
 */

#define MOST 64

struct list {
    pdr_value *messages[MOST]; /* owned */
    size_t count;
};

static void list_add(struct list *list, const char *words)
{
    static const char *const roles[] = {"system", "user", "assistant",
                                        "assistant", "tool"};
    char json[200], word[8];
    int len = 0;

    for (; sscanf(words, " %7s%n", word, &len) == 1; words += len) {
        const char *role = roles[strchr("suacr", word[0]) - "suacr"];

        ASSERT(list->count < MOST);
        if (word[0] == 'c' || word[0] == 'r')
            snprintf(json, sizeof(json),
                     "{\"Role\":{\"Label\":\"%s\"},\"Items\":[{\"$type\":"
                     "\"Function%sContent\",\"%s\":\"%s\"}]}",
                     role, word[0] == 'c' ? "Call" : "Result",
                     word[0] == 'c' ? "Id" : "CallId", word + 1);
        else
            snprintf(json, sizeof(json),
                     "{\"Role\":{\"Label\":\"%s\"},\"Items\":[{\"$type\":"
                     "\"TextContent\",\"Text\":\"%s\"}]}",
                     role, word);
        list->messages[list->count++] = value_of(json);
    }
}

static void list_add_many(struct list *list, size_t count)
{
    char word[8];

    for (size_t i = 0; i < count; i++) {
        snprintf(word, sizeof(word), "a%zu", list->count);
        list_add(list, word);
    }
}

static void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        pdr_value_free(list->messages[i]);
    list->count = 0;
}

/* Reduce, in place. */
static pdr_rc list_reduce(struct list *list, const pdr_reduction *reduction,
                          pdr_cancel *cancel, pdr_err *err)
{
    struct pdr__cut cut;
    struct list fresh = {.count = 0};
    pdr_rc rc = pdr__reduce(&cut, (const pdr_value *const *)list->messages,
                            list->count, reduction, cancel, err);

    for (size_t i = 0; i < cut.before_count; i++)
        fresh.messages[fresh.count++] = pdr_value_ref(cut.before[i]);
    for (size_t i = cut.index; i < list->count; i++)
        fresh.messages[fresh.count++] = pdr_value_ref(list->messages[i]);
    list_free(list);
    *list = fresh;
    pdr__cut_dispose(&cut);
    return rc;
}

/* The first `count` messages are these: their texts, those of summaries in
 * brackets. */
static void list_begins(const char *expected, const struct list *list,
                        size_t count)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < list->count && i < count; i++) {
        const pdr_value *message = list->messages[i], *mark = NULL;
        bool is_summary =
            pdr_property_get(&mark,
                             pdr_message_properties(message, PDR_SHAPE_SK),
                             S("__summary__"), NULL) == PDR_OK;
        const char *between = i > 0 ? " " : "";

        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s%s", between,
                                         is_summary ? "[" : ""));
        if (pdr__is_tool_traffic(message))
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S("-"), NULL));
        ASSERT_RC(PDR_OK, pdr_message_text(&text, message, PDR_SHAPE_SK, NULL));
        if (is_summary)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S("]"), NULL));
    }
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static void list_is(const char *expected, const struct list *list)
{
    list_begins(expected, list, SIZE_MAX);
}

TEST(reduce, sums_up_with_the_numbers_of_semantic_kernel)
{
    COVERS("C-61");
    static const char *const steps[] = {"say S1", "say S2", "say S3", NULL};
    static const struct {
        bool is_series;
        const char *system, *once, *twice; /* what the list begins with */
        size_t count;
    } rows[] = {
        {false, "", "[S1] a10 a11 a12", "[S2] a21 a22 a23", 11},
        {true, "", "[S1] a10 a11 a12", "[S1] [S2] a21 a22", 12},
        {false, "s", "s [S1] a12 a13", "s [S2] a22 a23", 11},
        {true, "s", "s [S1] a12 a13", "s [S1] [S2] a22", 12},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct stage_model model;
        struct list list = {.count = 0};
        pdr_reduction reduction = {.target = 10,
                                   .client = &model.base,
                                   .instructions = "Short.",
                                   .is_series = rows[i].is_series};

        stage_model_init(&model, steps);
        list_add(&list, rows[i].system);
        list_add_many(&list, 20);
        for (int again = 0; again < 2; again++) {
            ASSERT_RC(PDR_OK, list_reduce(&list, &reduction, NULL, NULL));
            ASSERT_SIZE(11, list.count);
            list_begins(rows[i].once, &list, 4);
            ASSERT_SIZE(1, model.asked); /* without new messages: not again */
        }
        list_add_many(&list, 20);
        for (int again = 0; again < 2; again++) {
            ASSERT_RC(PDR_OK, list_reduce(&list, &reduction, NULL, NULL));
            ASSERT_SIZE(rows[i].count, list.count);
            list_begins(rows[i].twice, &list, 4);
            ASSERT_SIZE(2, model.asked);
        }
        list_free(&list);
        stage_model_free(&model);
    }
}

TEST(reduce, tells_the_model_what_is_left_out)
{
    static const char *const steps[] = {"say S1", "say S2", NULL};
    static const struct {
        const char *words, *more; /* which are added after the first summary */
        unsigned target;
        bool is_series;
        const char *once, *twice; /* what stays */
        const char *asked;
    } rows[] = {
        {"u1 a2 u3 a4", "u5 a6", 2, false, "[S1] u3 a4", "[S2] u5 a6",
         "user:u1 | assistant:a2 | user:u3 | system:Short.\n"
         "assistant:S1 | user:u3 | assistant:a4 | user:u5 | system:Short.\n"},
        {"u1 a2 u3 a4", "u5 a6", 2, true, "[S1] u3 a4", "[S1] [S2] u5 a6",
         "user:u1 | assistant:a2 | user:u3 | system:Short.\n"
         "user:u3 | assistant:a4 | user:u5 | system:Short.\n"},
        /* No traffic with tools; a call and its result stay together. */
        {"u1 c1 r1 a2 u3 c2 r2 a4", "", 2, false, "[S1] u3 - - a4",
         "[S1] u3 - - a4",
         "user:u1 | assistant:a2 | user:u3 | system:Short.\n"},
        /* Once, though the list gets no shorter by it. */
        {"u1 c1 r1 c2 r2 c3 r3", "", 2, false, "[S1] u1 - - - - - -",
         "[S1] u1 - - - - - -", "user:u1 | system:Short.\n"},
        {"s u1 c1 r1 c2 r2 c3 r3", "", 3, true, "s [S1] u1 - - - - - -",
         "s [S1] u1 - - - - - -", "user:u1 | system:Short.\n"},
        /* The system message stays, and is there once. */
        {"s u1 a2 u3", "u4 u5", 1, false, "s [S1]", "s [S2]",
         "system:s | user:u1 | assistant:a2 | user:u3 | system:Short.\n"
         "system:s | assistant:S1 | user:u4 | user:u5 | system:Short.\n"},
        {"s u1 a2", "", 3, false, "s u1 a2", "s u1 a2", ""},
        /* Nothing that can be said. */
        {"s c1 r1", "", 1, true, "s", "s", ""},
        {"s c1 r1 c2 r2", "", 2, false, "s - - - -", "s - - - -", ""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct stage_model model;
        struct list list = {.count = 0};
        pdr_reduction reduction = {.target = rows[i].target,
                                   .client = &model.base,
                                   .instructions = "Short.",
                                   .is_series = rows[i].is_series};

        stage_model_init(&model, steps);
        list_add(&list, rows[i].words);
        ASSERT_RC(PDR_OK, list_reduce(&list, &reduction, NULL, NULL));
        list_is(rows[i].once, &list);
        list_add(&list, rows[i].more);
        ASSERT_RC(PDR_OK, list_reduce(&list, &reduction, NULL, NULL));
        list_is(rows[i].twice, &list);
        ASSERT_TEXT(rows[i].asked, pdr_buf_str(&model.all));
        list_free(&list);
        stage_model_free(&model);
    }
}

TEST(reduce, fails_or_leaves_the_list_alone)
{
    COVERS("C-62");
    static const char *const steps[] = {"half S", "say ", NULL};
    struct stage_model model;
    pdr_reduction reduction = {
        .target = 2, .client = &model.base, .instructions = "Short."};
    struct list list = {.count = 0};
    pdr_cancel *cancel = NULL;

    stage_model_init(&model, steps);
    list_add(&list, "u1 a2 u3 a4");
    for (size_t i = 0; i < 4; i++) { /* it fails, it says nothing */
        pdr_err err = PDR_ERR_INIT;

        reduction.may_fail = i >= 2;
        ASSERT_RC(i >= 2 ? PDR_OK : PDR_EMODEL,
                  list_reduce(&list, &reduction, NULL, &err));
        if (i < 2)
            ASSERT_STR("model_failed", err.reason);
        list_is("u1 a2 u3 a4", &list);
        ASSERT_SIZE(i + 1, model.asked);
    }
    ASSERT_RC(PDR_OK, pdr_cancel_new(&cancel, NULL));
    pdr_cancel_set(cancel);
    ASSERT_RC(PDR_ECANCELLED, list_reduce(&list, &reduction, cancel, NULL));
    list_is("u1 a2 u3 a4", &list);
    ASSERT_SIZE(4, model.asked);
    pdr_cancel_free(cancel);
    list_free(&list);
    stage_model_free(&model);
}

TEST_OOM(reduce, survives_any_failed_allocation)
{
    static const char *const steps[] = {"say S1", NULL};
    struct stage_model model;
    const pdr_reduction reduction = {.target = 2,
                                     .client = &model.base,
                                     .instructions = "Short.",
                                     .may_fail = true};
    struct list list = {.count = 0};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stage_model_init(&model, steps);
    model.is_deaf = true;
    list_add(&list, "s u1 a2 u3 a4");
    test_pause_failures(false);
    rc = list_reduce(&list, &reduction, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    list_is(rc == PDR_OK ? "s [S1] a4" : "s u1 a2 u3 a4", &list);
    test_pause_failures(false);
    list_free(&list);
    stage_model_free(&model);
}

/* --- channels ----------------------------------------------------------------
 */

TEST(summary, changes_what_one_agent_sees)
{
    COVERS("C-64");
    static const char *const steps[] = {"say S1", NULL};
    struct stage_model model;
    struct chat_stage stage = {
        .members = {{.reduction = {.target = 2, .client = &model.base}}}};

    stage_model_init(&model, steps);
    chat_begin(&stage, "A B");
    for (int i = 0; i < 4; i++)
        chat_says(&stage, i % 2 == 0 ? "even" : "odd");
    chat_invokes(&stage, "A");
    ASSERT_TEXT("assistant:S1 | user:even | user:odd",
                pdr_buf_str(&stage.members[0].model.seen));
    chat_sees("assistant:S1 | user:even | user:odd | A:A 1", &stage, "A");
    chat_invokes(&stage, "B");
    chat_sees("user:even | user:odd | user:even | user:odd | A:A 1 | B:B 1",
              &stage, "B");
    chat_is("user:even | user:odd | user:even | user:odd | A:A 1 | B:B 1",
            &stage);
    ASSERT_SIZE(1, model.asked);
    chat_end(&stage);
    stage_model_free(&model);
}

TEST(summary, that_fails_fails_the_turn)
{
    COVERS("C-62");
    static const char *const steps[] = {"fail", "say S1", NULL};
    struct stage_model model;
    struct chat_stage stage = {
        .members = {{.reduction = {.target = 1, .client = &model.base}}}};
    pdr_err err = PDR_ERR_INIT;

    stage_model_init(&model, steps);
    chat_begin(&stage, "A");
    chat_says(&stage, "1");
    chat_says(&stage, "2");
    ASSERT_RC(PDR_EMODEL, chat_invoke(&stage, "A", &err));
    ASSERT_STR("model_failed", err.reason);
    ASSERT_SIZE(0, stage.members[0].model.asked);
    chat_sees("user:1 | user:2", &stage, "A");
    chat_invokes(&stage, "A");
    chat_is("user:1 | user:2 | A:A 1", &stage);
    chat_sees("assistant:S1 | user:2 | A:A 1", &stage, "A");
    chat_end(&stage);
    stage_model_free(&model);
}

/* Whether it was saved or is in a store: it is a summary. */
TEST(summary, is_one_after_a_restore)
{
    COVERS("C-63");
    static const char *const steps[] = {"say S1", "say S2", NULL};
    struct stage_model model;
    const pdr_reduction reduction = {
        .target = 2, .client = &model.base, .is_series = true};
    pdr_store *store = NULL;
    const pdr_chat_home home = {.ref = {.id = S("c")}, .create = true};

    stage_model_init(&model, steps);
    for (int in_store = 0; in_store < 2; in_store++) {
        struct chat_stage one = {.members = {{.reduction = reduction}}};
        struct chat_stage two = {.members = {{.reduction = reduction}}};
        pdr_chat_home at = home;
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        at.store = store;
        model.asked = model.next = 0;
        chat_begin(&one, "A");
        if (in_store)
            ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, one.chat, &at, NULL, NULL));
        for (int i = 0; i < 4; i++)
            chat_says(&one, "x");
        chat_invokes(&one, "A");
        chat_save(&text, &one, PDR_CHAT_NATIVE);
        chat_end(&one);

        chat_begin(&two, "A");
        if (in_store)
            ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, two.chat, &at, NULL, NULL));
        else
            ASSERT_RC(PDR_OK,
                      chat_restore(NULL, &two, pdr_buf_str(&text), NULL, NULL));
        chat_sees("assistant:S1 | user:x | user:x | A:A 1", &two, "A");
        chat_says(&two, "y");
        chat_invokes(&two, "A"); /* one more to sum up: the series grows */
        chat_sees("assistant:S1 | assistant:S2 | A:A 1 | user:y | A:A 1", &two,
                  "A");
        ASSERT_SIZE(2, model.asked);
        chat_end(&two);
        pdr_buf_dispose(&text);
        pdr_store_close(store);
    }
    stage_model_free(&model);
}

/* It is in the slot of its channel before the agent is asked: a turn that fails
 * and a process that dies leave it there. */
TEST(summary, is_kept_when_its_turn_fails)
{
    const struct fault_plan none = {.nth = 0};
    const struct fault_plan crash = {
        .call = FAULT_COMMIT, .nth = 3, .for_ever = true};
    static const char *const sums[] = {"say S1", NULL};
    static const char *const steps[] = {"fail", "say done", NULL};

    fault_store_register();
    for (int dies = 0; dies < 2; dies++) {
        const pdr_chat_apply_opts later = {.now_ms = STAGE_NOW + 60000};
        struct stage_model model;
        const pdr_reduction reduction = {.target = 1, .client = &model.base};
        struct chat_stage one = {.members = {{.reduction = reduction}}};
        struct chat_stage two = {.members = {{.reduction = reduction}}};
        pdr_chat_home home = {.ref = {.id = S("c")}, .create = true};

        ASSERT_RC(PDR_OK, pdr_store_open(&home.store, "fault:memory:", NULL));
        stage_model_init(&model, sums);
        chat_steps(&one, 0, steps + dies);
        chat_begin(&one, "A");
        ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, one.chat, &home, NULL, NULL));
        chat_says(&one, "1");
        chat_says(&one, "2");
        fault_store_set(dies ? &crash : &none);
        ASSERT_RC(dies ? PDR_EIO : PDR_EMODEL, chat_invoke(&one, "A", NULL));
        fault_store_set(&none);
        chat_end(&one);
        chat_begin(&two, "A");
        ASSERT_RC(PDR_OK, pdr_chat_attach(NULL, two.chat, &home, &later, NULL));
        chat_sees("assistant:S1 | user:2", &two, "A");
        chat_invokes(&two, "A");
        ASSERT_SIZE(1, model.asked);
        chat_is("user:1 | user:2 | A:A 1", &two);
        chat_end(&two);
        pdr_store_close(home.store);
        stage_model_free(&model);
    }
}

TEST(summary, decides_who_shares_a_channel)
{
    struct stage_model one, two;
    const pdr_reduction usual = {.target = 2, .client = &one.base};
    const struct {
        pdr_reduction other;
        bool is_shared;
    } rows[] = {
        {{.target = 2, .client = &one.base}, true},
        {{.target = 2, .client = &two.base, .may_fail = true}, true},
        {{.target = 2}, false},
        {{.target = 3, .client = &one.base}, false},
        {{.target = 2, .threshold = 1, .client = &one.base}, false},
        {{.target = 2, .client = &one.base, .is_series = true}, false},
        {{.target = 2, .client = &one.base, .instructions = "Short."}, false},
    };

    stage_model_init(&one, NULL);
    stage_model_init(&two, NULL);
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct chat_stage stage = {
            .members = {{.reduction = usual}, {.reduction = rows[i].other}}};

        chat_begin(&stage, "A B");
        ASSERT_INT(rows[i].is_shared,
                   pdr_str_equal(stage.chat->members[0].key,
                                 stage.chat->members[1].key));
        chat_end(&stage);
    }
    stage_model_free(&one);
    stage_model_free(&two);
}
