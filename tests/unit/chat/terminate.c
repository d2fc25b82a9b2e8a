/*
 * Rules that end a conversation. The chat is a double: an array of messages,
 * and two agents, A and B.
 */
#include "chat.h"
#include "values.h"

static const char *const ids[] = {"A", "B"};

pdr_agent *pdr_chat_agent_at(const pdr_chat *chat, size_t index)
{
    (void)chat;
    return index < 2 ? (pdr_agent *)(uintptr_t)ids[index] : NULL;
}

pdr_str pdr_agent_id(const pdr_agent *agent)
{
    return pdr_str_c((const char *)agent);
}

pdr_str pdr_agent_name(const pdr_agent *agent)
{
    return pdr_str_c((const char *)agent);
}

bool pdr_chat_message_at(pdr_chat_message *out, const pdr_chat *chat,
                         uint64_t seq)
{
    const pdr_value *messages = (const pdr_value *)chat;

    if (seq == 0 || seq > pdr_value_count(messages))
        return false;
    *out = (pdr_chat_message){.seq = seq,
                              .value = pdr_value_at(messages, (size_t)seq - 1)};
    return true;
}

static pdr_chat_view view_of(const pdr_value *messages)
{
    return (pdr_chat_view){(const pdr_chat *)messages, 2,
                           pdr_value_count(messages), NULL};
}

/* Make a rule, ask it once and release it. */
static pdr_rc ask_once(bool *out, const pdr_termination *says,
                       const pdr_value *messages, size_t spoke, pdr_err *err)
{
    struct pdr__ending_rule *rule = NULL;
    pdr_chat_view view = view_of(messages);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__rule_new(&rule, says, err));
    PDR_TRY(pdr__rule_ask(out, rule, &view, spoke, err));
done:
    pdr__rule_free(rule);
    return rc;
}

static bool is_over(const pdr_termination *says, const pdr_value *messages,
                    size_t spoke)
{
    bool out = true;

    ASSERT_RC(PDR_OK, ask_once(&out, says, messages, spoke, NULL));
    return out;
}

/* A function that counts how often it was asked, and what it says. */
struct answer {
    bool truth;
    pdr_rc rc;
    unsigned asked;
};

static pdr_rc give(bool *out, const pdr_chat_view *view, size_t spoke,
                   pdr_err *err, void *arg)
{
    struct answer *answer = arg;

    (void)spoke;
    ASSERT_SIZE(2, view->agent_count);
    answer->asked++;
    *out = answer->truth;
    return answer->rc == PDR_OK ? PDR_OK
                                : pdr_err_set(err, answer->rc, "mine", "no");
}

#define ASKS(answer) .kind = PDR_TERMINATE_FUNCTION, .fn = give, .arg = (answer)

/* --- patterns ------------------------------------------------------------- */

#define TEXT(text)  "{\"$type\":\"TextContent\",\"Text\":" text "}"
#define SAID(items) "{\"Role\":{\"Label\":\"assistant\"},\"Items\":[" items "]}"

TEST(rule_ask, searches_the_first_text_of_the_last_message)
{
    COVERS("C-56");
    static const struct {
        const char *messages;
        const char *patterns[3];
        bool expected;
    } rows[] = {
        {"[" SAID(TEXT("\"a test it is\"")) "]", {"\\btest\\b"}, true},
        {"[" SAID(TEXT("\"a test it is\"")) "]", {"fred"}, false},
        {"[" SAID(TEXT("\"a test it is\"")) "]", {"fred", "test"}, true},
        {"[" SAID(TEXT("\"a test it is\"")) "]", {NULL}, false},
        {"[" SAID(TEXT("\"a t\\u0065st\"")) "]", {"test"}, true},
        {"[" SAID(TEXT("\"test \\ud800\"")) "]", {"^test .$"}, true},
        {"[" SAID(TEXT("\"\"")) "]", {"^$"}, true},
        /* Only the first text, and only of the last message. */
        {"[" SAID(TEXT("\"x\"") "," TEXT("\"test\"")) "]", {"test"}, false},
        {"[" SAID(TEXT("null") "," TEXT("\"test\"")) "]", {"test"}, false},
        {"[" SAID("{\"$type\":\"ReasoningContent\",\"Text\":\"no\"}," TEXT(
             "\"test\"")) "]",
         {"test"},
         true},
        {"[" SAID(TEXT("\"test\"")) "," SAID(TEXT("\"x\"")) "]",
         {"test"},
         false},
        {"[" SAID(TEXT("\"x\"")) "," SAID(TEXT("\"test\"")) "]",
         {"test"},
         true},
        /* No text. */
        {"[" SAID("{\"$type\":\"ImageContent\",\"Uri\":\"x:test\"}") "]",
         {""},
         false},
        {"[" SAID("") "]", {""}, false},
        {"[{\"Items\":null}]", {""}, false},
        {"[{}]", {""}, false},
        {"[]", {""}, false},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *messages = value_of(rows[i].messages);
        pdr_termination says = {.kind = PDR_TERMINATE_REGEX,
                                .patterns = rows[i].patterns};

        if (is_over(&says, messages, 0) != rows[i].expected)
            fail_msg("%s in %s", rows[i].patterns[0], rows[i].messages);
        pdr_value_free(messages);
    }
}

TEST(rule_ask, fails_when_a_search_takes_too_long)
{
    static const char *const patterns[] = {"^(a|aa)+$", NULL};
    pdr_termination says = {.kind = PDR_TERMINATE_REGEX, .patterns = patterns};
    pdr_value *messages = value_of("[" SAID(
        TEXT("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"")) "]");
    pdr_err err = PDR_ERR_INIT;
    bool out = true;

    ASSERT_RC(PDR_ELIMIT, ask_once(&out, &says, messages, 0, &err));
    ASSERT_STR("pattern_limit", err.reason);
    pdr_value_free(messages);
}

/* --- functions and parts -------------------------------------------------- */

TEST(rule_ask, does_not_ask_about_agents_that_it_is_not_for)
{
    COVERS("C-54");
    static const char *const only_a[] = {"A", NULL};
    static const char *const both[] = {"B", "A", NULL};
    static const char *const nobody[] = {NULL};
    static const struct {
        const char *const *agents;
        size_t spoke;
        bool expected;
    } rows[] = {
        {NULL, 1, true},    {nobody, 1, true}, {only_a, 0, true},
        {only_a, 1, false}, {both, 0, true},   {both, 1, true},
        {both, 2, false}, /* nobody has this place */
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct answer answer = {.truth = true};
        pdr_termination says = {ASKS(&answer), .agents = rows[i].agents};

        ASSERT_INT(rows[i].expected, is_over(&says, NULL, rows[i].spoke));
        ASSERT_INT(rows[i].expected ? 1 : 0, answer.asked);
    }
}

TEST(rule_ask, asks_all_parts_and_joins_what_they_say)
{
    COVERS("C-55");
    for (unsigned count = 0; count <= 3; count++) {
        for (unsigned truths = 0; truths < 1u << count; truths++) {
            struct answer answers[3] = {{0}};
            pdr_termination parts[3] = {{0}};
            pdr_termination all = {
                .kind = PDR_TERMINATE_ALL, .parts = parts, .part_count = count};
            pdr_termination any = all;

            any.kind = PDR_TERMINATE_ANY;
            for (unsigned i = 0; i < count; i++) {
                answers[i].truth = (truths >> i & 1) != 0;
                parts[i] = (pdr_termination){ASKS(&answers[i])};
            }
            ASSERT_INT(truths == (1u << count) - 1, is_over(&all, NULL, 0));
            ASSERT_INT(truths != 0, is_over(&any, NULL, 0));
            for (unsigned i = 0; i < count; i++)
                ASSERT_INT(2, answers[i].asked);
        }
    }
}

TEST(rule_ask, filters_outside_first_and_each_part_by_itself)
{
    COVERS("C-55");
    static const char *const only_a[] = {"A", NULL};
    static const char *const only_b[] = {"B", NULL};
    static const struct {
        const char *const *outer, *const *inner;
        size_t spoke;
        unsigned asked_inner, asked_other;
        bool any, all;
    } rows[] = {
        {only_a, NULL, 1, 0, 0, false, false},
        {only_a, NULL, 0, 1, 1, true, true},
        {NULL, only_b, 0, 0, 1, true, false},
        {NULL, only_b, 1, 1, 1, true, true},
        {only_a, only_b, 1, 0, 0, false, false},
        {only_a, only_b, 0, 0, 1, true, false},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct answer inner = {.truth = true}, other = {.truth = true};
        pdr_termination parts[] = {
            {ASKS(&inner), .agents = rows[i].inner},
            {ASKS(&other)},
        };
        pdr_termination says = {.kind = PDR_TERMINATE_ANY,
                                .parts = parts,
                                .part_count = 2,
                                .agents = rows[i].outer};

        ASSERT_INT(rows[i].any, is_over(&says, NULL, rows[i].spoke));
        ASSERT_INT(rows[i].asked_inner, inner.asked);
        ASSERT_INT(rows[i].asked_other, other.asked);
        says.kind = PDR_TERMINATE_ALL;
        ASSERT_INT(rows[i].all, is_over(&says, NULL, rows[i].spoke));
    }
}

TEST(rule_ask, gives_the_failure_of_a_function)
{
    struct answer bad = {.truth = true, .rc = PDR_EIO}, next = {0};
    pdr_termination parts[] = {{ASKS(&bad)}, {ASKS(&next)}};
    pdr_termination says = {
        .kind = PDR_TERMINATE_ANY, .parts = parts, .part_count = 2};
    pdr_err err = PDR_ERR_INIT;
    bool out = true;

    ASSERT_RC(PDR_EIO, ask_once(&out, &says, NULL, 0, &err));
    ASSERT_STR("mine", err.reason);
    ASSERT(!out);
    ASSERT_INT(0, next.asked);
}

TEST(rule_ask, is_never_over_without_a_rule)
{
    pdr_termination says = {0};

    ASSERT(!is_over(&says, NULL, 0));
}

/* --- making --------------------------------------------------------------- */

TEST(rule_new, refuses_what_cannot_be_asked)
{
    static const char *const broken[] = {"fine", "(", NULL};
    static const char *const no_utf8[] = {"\xFF", NULL};
    static const struct {
        pdr_termination says;
        pdr_rc rc;
        const char *reason;
    } rows[] = {
        {{.kind = PDR_TERMINATE_REGEX, .patterns = broken},
         PDR_EINVALID,
         "bad_pattern"},
        {{.kind = PDR_TERMINATE_REGEX, .patterns = no_utf8},
         PDR_EINVALID,
         "bad_pattern"},
        {{.kind = PDR_TERMINATE_FUNCTION}, PDR_EMISUSE, "missing_slot"},
        {{.kind = PDR_TERMINATE_PROMPT}, PDR_EMISUSE, "missing_slot"},
        {{.kind = 6}, PDR_EMISUSE, "bad_option"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_termination outer = {
            .kind = PDR_TERMINATE_ALL, .parts = &rows[i].says, .part_count = 1};
        struct pdr__ending_rule *rule = (void *)&outer;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].rc, pdr__rule_new(&rule, &rows[i].says, &err));
        ASSERT_STR(rows[i].reason, err.reason);
        ASSERT(rule == NULL);
        ASSERT_RC(rows[i].rc, pdr__rule_new(&rule, &outer, NULL));
    }
}

TEST(rule_new, says_which_pattern_is_wrong)
{
    static const char *const patterns[] = {"fine", "a(b", NULL};
    pdr_termination says = {.kind = PDR_TERMINATE_REGEX, .patterns = patterns};
    struct pdr__ending_rule *rule = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__rule_new(&rule, &says, &err));
    ASSERT(strncmp(err.message, "pattern 'a(b': byte ", 20) == 0);
}

TEST(rule_new, takes_eight_levels)
{
    struct answer answer = {.truth = true};
    pdr_termination levels[PDR_MAX_RULE_LEVELS + 1] = {{ASKS(&answer)}};
    struct pdr__ending_rule *rule = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 1; i < PDR_COUNT(levels); i++)
        levels[i] = (pdr_termination){.kind = i % 2 == 0 ? PDR_TERMINATE_ALL
                                                         : PDR_TERMINATE_ANY,
                                      .parts = &levels[i - 1],
                                      .part_count = 1};
    ASSERT(is_over(&levels[PDR_MAX_RULE_LEVELS - 1], NULL, 0));
    ASSERT_RC(PDR_ELIMIT,
              pdr__rule_new(&rule, &levels[PDR_MAX_RULE_LEVELS], &err));
    ASSERT_STR("too_deep", err.reason);
}

TEST(rule_new, copies_what_it_is_given)
{
    char pattern[] = "test", agent[] = "A";
    const char *patterns[] = {pattern, NULL}, *agents[] = {agent, NULL};
    pdr_termination part = {
        .kind = PDR_TERMINATE_REGEX, .patterns = patterns, .agents = agents};
    pdr_termination says = {
        .kind = PDR_TERMINATE_ALL, .parts = &part, .part_count = 1};
    struct pdr__ending_rule *rule = NULL;
    pdr_value *messages = value_of("[" SAID(TEXT("\"test\"")) "]");
    pdr_chat_view view = view_of(messages);
    bool out = false;

    ASSERT_RC(PDR_OK, pdr__rule_new(&rule, &says, NULL));
    pattern[0] = agent[0] = 'x';
    patterns[0] = agents[0] = NULL;
    part = says = (pdr_termination){0};
    for (int i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK, pdr__rule_ask(&out, rule, &view, 0, NULL));
        ASSERT(out);
    }
    pdr__rule_free(rule);
    pdr__rule_free(NULL);
    pdr_value_free(messages);
}

TEST_OOM(rule_ask, survives_any_failed_allocation)
{
    static const char *const patterns[] = {"fred", "test", NULL};
    static const char *const agents[] = {"B", "A", NULL};
    struct answer answer = {.truth = true};
    pdr_termination parts[] = {
        {.kind = PDR_TERMINATE_REGEX, .patterns = patterns, .agents = agents},
        {ASKS(&answer)}};
    pdr_termination says = {
        .kind = PDR_TERMINATE_ALL, .parts = parts, .part_count = 2};
    pdr_value *messages = NULL;
    pdr_rc rc = PDR_OK;
    bool out = false;

    test_pause_failures(true);
    messages = value_of("[" SAID(TEXT("\"a t\\u0065st\"")) "]");
    test_pause_failures(false);
    rc = ask_once(&out, &says, messages, 0, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(out == (rc == PDR_OK));
    pdr_value_free(messages);
}
