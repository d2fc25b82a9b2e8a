/*
 * terminate.c - rules that say when a conversation is over.
 *
 * WHY  A caller describes a rule with pointers to its own texts and parts,
 * which may be gone when the rule is asked, and with patterns that may be
 * wrong. So a rule is copied and compiled once, when a chat is made, and what
 * is wrong with it is said there.
 *
 *     rule ──► is it for the agent that spoke? ──no──► not over
 *                        │ yes
 *                        ▼
 *          patterns | function | model | all parts | any part
 *                                        └── each a rule, with its own agents
 *
 * INVARIANTS
 *   I1  All parts are asked, whatever the first one said: functions of callers
 *       may count. A failure ends the run, so none is asked after it.
 *   I2  A rule does not change when it is asked.
 *   I3  Rules nest at most PDR_MAX_RULE_LEVELS deep, so recursion is bounded.
 */
#include "chat.h"

struct pdr__ending_rule {
    int kind;                     /* PDR_TERMINATE_... */
    char **agents;                /* owned; ids of those that it is for */
    size_t agent_count;           /* 0: it is for all */
    struct pdr__regex **patterns; /* owned */
    size_t pattern_count;
    pdr_terminate_fn fn; /* borrowed with `arg` */
    void *arg;
    struct pdr__prompt *prompt; /* owned */
    pdr_rc (*parse)(bool *out, pdr_str answer, pdr_err *err, void *arg);
    struct pdr__ending_rule *parts; /* owned */
    size_t part_count;
};

static void rule_dispose(struct pdr__ending_rule *rule)
{
    for (size_t i = 0; i < rule->agent_count; i++)
        pdr__free(rule->agents[i]);
    for (size_t i = 0; i < rule->pattern_count; i++)
        pdr__regex_free(rule->patterns[i]);
    for (size_t i = 0; i < rule->part_count; i++)
        rule_dispose(&rule->parts[i]);
    pdr__prompt_free(rule->prompt);
    pdr__free(rule->agents);
    pdr__free(rule->patterns);
    pdr__free(rule->parts);
}

/* Room for `count` elements, all zero; none needs no memory. */
static pdr_rc list_new(void **out, size_t count, size_t size, pdr_err *err)
{
    *out = count == 0 ? NULL : pdr__calloc(count, size);
    return count == 0 || *out != NULL ? PDR_OK : pdr__nomem(err);
}

static size_t list_count(const char *const *texts)
{
    size_t count = 0;

    while (texts != NULL && texts[count] != NULL)
        count++;
    return count;
}

/* Fill an empty rule, which rule_dispose() releases also if this fails.
 * `levels` is how many may nest. */
static pdr_rc rule_fill(struct pdr__ending_rule *rule,
                        const pdr_termination *from, unsigned levels,
                        pdr_err *err)
{
    char shown[PDR_SHOWN];
    size_t count = 0;
    void *list = NULL;
    pdr_rc rc = PDR_OK;

    if (levels == 0)
        return PDR_FAIL(err, TOO_DEEP,
                        "rules of termination nest at most %u levels",
                        PDR_MAX_RULE_LEVELS);
    rule->kind = (int)from->kind;
    count = list_count(from->agents);
    PDR_TRY(list_new(&list, count, sizeof(*rule->agents), err));
    rule->agents = list;
    for (; rule->agent_count < count; rule->agent_count++) {
        char *id = pdr__strdup(from->agents[rule->agent_count]);
        if (id == NULL)
            return pdr__nomem(err);
        rule->agents[rule->agent_count] = id;
    }

    switch (rule->kind) {
    case PDR_TERMINATE_NEVER:
        break;
    case PDR_TERMINATE_REGEX:
        count = list_count(from->patterns);
        PDR_TRY(list_new(&list, count, sizeof(*rule->patterns), err));
        rule->patterns = list;
        for (; rule->pattern_count < count; rule->pattern_count++) {
            pdr_str text = pdr_str_c(from->patterns[rule->pattern_count]);
            rc =
                pdr__regex_new(&rule->patterns[rule->pattern_count], text, err);
            if (rc != PDR_OK)
                return pdr__wrap(err, rc, "pattern '%s'",
                                 pdr__shown(shown, text));
        }
        break;
    case PDR_TERMINATE_FUNCTION:
        if (from->fn == NULL)
            return PDR_FAIL(err, MISSING_SLOT, "%s",
                            "a rule of termination lacks its function");
        rule->fn = from->fn;
        rule->arg = from->arg;
        break;
    case PDR_TERMINATE_PROMPT:
        if (from->prompt == NULL)
            return PDR_FAIL(err, MISSING_SLOT, "%s",
                            "a rule of termination lacks its prompt");
        PDR_TRY(pdr__prompt_new(&rule->prompt, from->prompt, "_agent_", err));
        rule->parse = from->parse;
        rule->arg = from->arg;
        break;
    case PDR_TERMINATE_ALL:
    case PDR_TERMINATE_ANY:
        PDR_TRY(list_new(&list, from->part_count, sizeof(*rule->parts), err));
        rule->parts = list;
        rule->part_count = from->part_count;
        for (size_t i = 0; i < rule->part_count; i++)
            PDR_TRY(
                rule_fill(&rule->parts[i], &from->parts[i], levels - 1, err));
        break;
    default:
        return PDR_FAIL(err, BAD_OPTION, "%d is not a kind of termination",
                        rule->kind);
    }
done:
    return rc;
}

pdr_rc pdr__rule_new(struct pdr__ending_rule **out,
                     const pdr_termination *parts, pdr_err *err)
{
    struct pdr__ending_rule *rule = pdr__calloc(1, sizeof(*rule));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (rule == NULL)
        return pdr__nomem(err);
    PDR_TRY(rule_fill(rule, parts, PDR_MAX_RULE_LEVELS, err));
    *out = rule;
    rule = NULL;
done:
    pdr__rule_free(rule);
    return rc;
}

void pdr__rule_free(struct pdr__ending_rule *rule)
{
    if (rule == NULL)
        return;
    rule_dispose(rule);
    pdr__free(rule);
}

const pdr_value *pdr__first_text(const pdr_value *message)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        if (pdr_content_kind_of(it.value, PDR_SHAPE_SK) == PDR_CONTENT_TEXT)
            return pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_TEXT);
    }
    return NULL;
}

/* Does one of the patterns match the last message? */
static pdr_rc search_last(bool *out, const struct pdr__ending_rule *rule,
                          const pdr_chat_view *view, pdr_err *err)
{
    const pdr_value *string = NULL;
    struct pdr__searcher *searcher = NULL;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    uint64_t credit = PDR_PATTERN_WORK; /* for all patterns together */
    pdr_chat_message last;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (!pdr_chat_message_at(&last, view->chat, view->message_count))
        return PDR_OK;
    string = pdr__first_text(last.value);
    if (string == NULL)
        return PDR_OK;
    PDR_TRY(pdr__value_sound_text(&text, string, &scratch, err));
    PDR_TRY(pdr__searcher_new(&searcher, err));
    for (size_t i = 0; i < rule->pattern_count && !*out; i++)
        PDR_TRY(pdr__regex_search(out, searcher, rule->patterns[i], text,
                                  &credit, err));
done:
    pdr__searcher_free(searcher);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* What does the model say? */
static pdr_rc model_hear(bool *out, const struct pdr__ending_rule *rule,
                         const pdr_chat_view *view, size_t spoke, pdr_err *err)
{
    const pdr_agent *agent = pdr_chat_agent_at(view->chat, spoke);
    pdr_buf answer = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__prompt_ask(&answer, rule->prompt, view,
                            pdr__agent_called(agent), err));
    *out = rule->parse == NULL;
    if (rule->parse != NULL)
        PDR_TRY(rule->parse(out, pdr_buf_str(&answer), err, rule->arg));
done:
    pdr_buf_dispose(&answer);
    return rc;
}

pdr_rc pdr__rule_ask(bool *out, const struct pdr__ending_rule *rule,
                     const pdr_chat_view *view, size_t spoke, pdr_err *err)
{
    bool is_for = rule->agent_count == 0, all = true, any = false;
    const pdr_agent *agent = NULL;
    pdr_rc rc = PDR_OK;

    *out = false;
    if (!is_for)
        agent = pdr_chat_agent_at(view->chat, spoke);
    for (size_t i = 0; agent != NULL && i < rule->agent_count; i++)
        is_for |=
            pdr_str_equal(pdr_agent_id(agent), pdr_str_c(rule->agents[i]));
    if (!is_for || rule->kind == PDR_TERMINATE_NEVER)
        return PDR_OK;
    if (rule->kind == PDR_TERMINATE_REGEX)
        return search_last(out, rule, view, err);
    if (rule->kind == PDR_TERMINATE_FUNCTION)
        return rule->fn(out, view, spoke, err, rule->arg);
    if (rule->kind == PDR_TERMINATE_PROMPT)
        return model_hear(out, rule, view, spoke, err);

    for (size_t i = 0; i < rule->part_count; i++) {
        bool is_over = false;
        PDR_TRY(pdr__rule_ask(&is_over, &rule->parts[i], view, spoke, err));
        all &= is_over;
        any |= is_over;
    }
    *out = rule->kind == PDR_TERMINATE_ALL ? all : any;
done:
    return rc;
}
