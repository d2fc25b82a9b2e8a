/*
 * retain_tears_calls.c - retention that does not look for results of calls that
 * go. Must fail: the model has to see it.
 */
#include "past.h"
#include "retain.h"

pdr_rc __wrap_pdr__calls_read(uint64_t *back, struct pdr__calls *calls,
                              const pdr_entry *row, const pdr_value *body,
                              uint64_t turn, pdr_err *err);

pdr_rc __wrap_pdr__calls_read(uint64_t *back, struct pdr__calls *calls,
                              const pdr_entry *row, const pdr_value *body,
                              uint64_t turn, pdr_err *err)
{
    (void)calls;
    (void)row;
    (void)body;
    (void)turn;
    (void)err;
    *back = PDR_NO_TURN;
    return PDR_OK;
}

TEST(retain_model, does_not_see_that_results_lose_their_calls)
{
    const struct past_rule rule = {.keep_turns = 1};

    /* If it failed without calls, too, this would prove nothing. */
    if (past_try("u a u a", PDR_ROW_DOTNET, &rule) != NULL)
        return;
    if (past_try_random(1, 300, false) > 20)
        fail_msg("caught: results without a call");
}
