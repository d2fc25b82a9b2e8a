/*
 * chat_tells_early.c - a chat whose listener hears of what is not committed,
 * under processes that are killed. Must fail: what was told of is lost.
 */
#include "chat.h"

pdr_rc __real_pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                               pdr_err *err);
pdr_rc __wrap_pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                               pdr_err *err);

/* It is committed with what comes next. */
pdr_rc __wrap_pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                               pdr_err *err)
{
    if (step->lease == PDR_STEP_HOLD && step->ends == NULL)
        return PDR_OK;
    return __real_pdr__home_commit(chat, step, err);
}
