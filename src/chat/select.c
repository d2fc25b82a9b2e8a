/*
 * select.c - who speaks next: one after the other, or whom a model names.
 *
 * WHY  The order goes on after the agent that speaks first: if B of A B C
 *      begins, it is B C A B. Semantic Kernel goes back to the beginning of the
 *      list there (B A B C), so that one agent speaks twice in three turns.
 *
 *      A model answers "Writer:" or `writer` for the agent Writer. So what is
 *      around a name is taken off, and its letter case counts only if there are
 *      several.
 *
 * NOT HERE  Strategies of callers (turn.c), how a model is asked (prompt.c).
 */
#include "chat.h"

/* --- one after the other --------------------------------------------------
 */

size_t pdr__select_next(struct pdr__selection *selection, size_t agents,
                        long first)
{
    assert(agents > 0);
    if (!selection->has_selected && first >= 0) {
        assert((size_t)first < agents);
        selection->index = first;
    } else { /* the list may be shorter now than it was */
        selection->index = (selection->index + 1) % (long)agents;
    }
    selection->has_selected = true;
    return (size_t)selection->index;
}

/* --- whom a model names ---------------------------------------------------
 */

/* The agent of this name, the first one; -1: there is none. In any letter case
 * if `folds`, and then none if there are several. */
static long name_find(const pdr_chat_view *view, pdr_str name, bool folds)
{
    long found = -1;

    for (size_t i = 0; i < view->agent_count; i++) {
        pdr_str own = pdr__agent_called(pdr_chat_agent_at(view->chat, i));

        if (!folds && pdr_str_equal(own, name))
            return (long)i;
        if (folds && pdr__is_same_name(own, name)) {
            if (found >= 0)
                return -1;
            found = (long)i;
        }
    }
    return found;
}

/* The agent that an answer names; -1: it names none. */
static long answer_match(const pdr_chat_view *view, pdr_str answer)
{
    while (answer.len > 0 && memchr(" \t\r\n\"'`", answer.ptr[0], 7) != NULL)
        answer = pdr_str_n(answer.ptr + 1, answer.len - 1);
    for (int folds = 0; folds < 2; folds++) {
        /* A name may itself end with what is taken off. */
        for (pdr_str name = answer; name.len > 0; name.len--) {
            long found = name_find(view, name, folds == 1);

            if (found >= 0)
                return found;
            if (memchr(" \t\r\n\"'`:.", name.ptr[name.len - 1], 9) == NULL)
                break;
        }
    }
    return -1;
}

pdr_rc pdr__select_asked(size_t *out, const struct pdr__prompt *prompt,
                         const pdr_chat_view *view, long fallback, pdr_err *err)
{
    pdr_buf names = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf answer = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES);
    char shown[PDR_SHOWN];
    long found = -1;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < view->agent_count; i++) {
        if (i > 0)
            PDR_TRY(pdr_buf_append(&names, PDR_LIT(","), err));
        PDR_TRY(pdr_buf_append(
            &names, pdr__agent_called(pdr_chat_agent_at(view->chat, i)), err));
    }
    PDR_TRY(pdr__prompt_ask(&answer, prompt, view, pdr_buf_str(&names), err));
    found = answer_match(view, pdr_buf_str(&answer));
    if (found < 0)
        found = fallback;
    if (found < 0)
        PDR_TRY(PDR_FAIL(err, BAD_SELECTION,
                         "the model answered '%s', which names no agent",
                         pdr__shown(shown, pdr_buf_str(&answer))));
    *out = (size_t)found;
done:
    pdr_buf_dispose(&answer);
    pdr_buf_dispose(&names);
    return rc;
}

/* --- what is saved --------------------------------------------------------
 */

pdr_rc pdr__selection_save(pdr_value **out, const struct pdr__selection *s,
                           pdr_str agent, pdr_err *err)
{
    pdr_builder *builder = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr_builder_new(&builder, err));
    pdr_builder_object(builder);
    pdr_builder_name(builder, PDR_LIT("kind"));
    pdr_builder_string(builder, PDR_LIT("seq"));
    pdr_builder_name(builder, PDR_LIT("index"));
    pdr_builder_int64(builder, s->index);
    if (agent.ptr != NULL) {
        pdr_builder_name(builder, PDR_LIT("agent"));
        pdr_builder_string(builder, agent);
    }
    pdr_builder_name(builder, PDR_LIT("has_selected"));
    pdr_builder_bool(builder, s->has_selected);
    pdr_builder_end(builder);
    PDR_TRY(pdr_builder_finish(out, builder, err));
done:
    pdr_builder_free(builder);
    return rc;
}

void pdr__selection_restore(struct pdr__selection *out, const pdr_value *state)
{
    const pdr_value *index = pdr_value_get_c(state, "index");
    const pdr_value *has_selected = pdr_value_get_c(state, "has_selected");
    int64_t place = 0;
    bool has = false;

    *out = (struct pdr__selection){-1, false};
    if (!pdr_value_text_is(pdr_value_get_c(state, "kind"), PDR_LIT("seq")) ||
        index == NULL || pdr_value_int64(&place, index, NULL) != PDR_OK ||
        place < -1 || place >= INT32_MAX || has_selected == NULL ||
        pdr_value_bool(&has, has_selected, NULL) != PDR_OK)
        return;
    *out = (struct pdr__selection){(long)place, has};
}
