/*
 * select.c - agents speak one after the other.
 *
 * WHY  The order goes on after the agent that speaks first: if B of A B C
 *      begins, it is B C A B. Semantic Kernel goes back to the beginning of the
 *      list there (B A B C), so that one agent speaks twice in three turns.
 *
 * NOT HERE  Strategies of callers; who speaks first if nobody takes part yet.
 */
#include "chat.h"

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

pdr_rc pdr__selection_save(pdr_value **out, const struct pdr__selection *s,
                           pdr_err *err)
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
