/*
 * turn.c - an agent speaks; agents speak one after the other.
 *
 *      select ─► channel brought up to date ─► invoke ─┬─► end
 *         ▲                                   messages │
 *         │                                   into the ├─► failed: aborted,
 * what └──── not over ◄─ terminate ◄──────── log ◄──┘   was said stays
 *
 * INVARIANTS
 *   T1  What an agent said is in the log when its caller hears of it.
 *   T2  A caller hears of a message once it is known whether it is to be seen:
 *       traffic with tools is not, unless it is the last of its turn.
 *   T3  A turn that failed is aborted: it counts as a turn, its messages stay,
 *       and whoever was to speak is to speak next.
 */
#include "chat.h"

/* --- what an agent says ---------------------------------------------------
 */

/* Let the caller hear of the last message, if it is to be seen (T2). */
static pdr_rc held_tell(pdr_chat_link *link, bool is_last, pdr_err *err)
{
    pdr_chat *chat = link->chat;
    const pdr_chat_call *call = link->call;
    pdr_chat_message message;
    pdr_chat_event event = {.turn = chat->turn,
                            .agent_id = pdr_agent_id(link->member->agent),
                            .message = &message};

    if (!link->has_held)
        return PDR_OK;
    link->has_held = false;
    (void)pthread_mutex_lock(&chat->lock);
    struct pdr__log_entry *entry = &chat->log[chat->log_count - 1];
    entry->is_visible = is_last || !pdr__is_tool_traffic(entry->value);
    message = (pdr_chat_message){.seq = chat->log_count,
                                 .turn = entry->turn,
                                 .origin = entry->origin,
                                 .is_visible = entry->is_visible,
                                 .value = entry->value};
    (void)pthread_mutex_unlock(&chat->lock);
    if (!message.is_visible || call == NULL || call->fn == NULL)
        return PDR_OK;
    return call->fn(&event, err, call->arg);
}

pdr_rc pdr_chat_link_say(pdr_chat_link *link, const pdr_value *message,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(link != NULL && link->chat != NULL && message != NULL);
    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "a message is an object, this is %s",
                        pdr__kind_phrase(message));
    PDR_TRY(held_tell(link, false, err));
    PDR_TRY(pdr__log_append(link->chat, pdr_value_ref(message),
                            link->chat->turn, link->channel->key, err));
    link->has_held = true; /* T1 */
    link->log = link->chat->log;
    link->ready = link->chat->ready;
    link->end = link->chat->log_count + 1;
done:
    return rc;
}

pdr_rc pdr_chat_link_update(pdr_chat_link *link, const pdr_update *update,
                            pdr_err *err)
{
    const pdr_chat_call *call = link->call;
    const pdr_chat_event event = {.turn = link->chat->turn,
                                  .agent_id = pdr_agent_id(link->member->agent),
                                  .update = update};

    if (call == NULL || call->fn == NULL)
        return PDR_OK;
    return call->fn(&event, err, call->arg);
}

/* --- one turn -------------------------------------------------------------
 */

/* With the token. */
static pdr_rc turn_make(pdr_chat *chat, const struct pdr__member *member,
                        const pdr_chat_call *call, pdr_err *err)
{
    struct pdr__turn_record record = {.agent = pdr_agent_id(member->agent)};
    const pdr_chat_agent agent = pdr__agent_of(member);
    struct pdr__channel *channel = NULL;
    pdr_chat_link link;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK, told = PDR_OK;

    PDR_TRY(pdr__channel_ready(&channel, chat, member, call, err));
    PDR_TRY(pdr__grow((void **)&chat->turns, &chat->turn_cap,
                      chat->turn_count + 1, sizeof(*chat->turns), err));
    (void)pthread_mutex_lock(&chat->lock);
    record.turn = ++chat->turn;
    chat->revision++;
    (void)pthread_mutex_unlock(&chat->lock);
    link = pdr__link_of(chat, channel, call);
    link.member = member;
    rc = channel->kind->invoke(channel->self, &agent, &link, &why);
    told = held_tell(&link, rc == PDR_OK, rc == PDR_OK ? &why : NULL);
    if (rc == PDR_OK)
        rc = told;
    channel->cursor = link.end - 1;   /* what it said, it has */
    record.is_aborted = rc != PDR_OK; /* T3 */
    (void)pthread_mutex_lock(&chat->lock);
    chat->turns[chat->turn_count++] = record;
    (void)pthread_mutex_unlock(&chat->lock);
    if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
done:
    return rc;
}

/* Is it over, now that this one has spoken? */
static pdr_rc over_ask(pdr_chat *chat, const struct pdr__member *member,
                       const pdr_chat_call *call, pdr_err *err)
{
    const pdr_chat_view view = {.chat = chat,
                                .agent_count = chat->member_count,
                                .message_count = chat->log_count,
                                .cancel = call != NULL ? call->cancel : NULL};
    bool is_over = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__rule_ask(&is_over, chat->ends, &view,
                          (size_t)(member - chat->members), err));
    (void)pthread_mutex_lock(&chat->lock);
    chat->is_complete = is_over;
    (void)pthread_mutex_unlock(&chat->lock);
done:
    return rc;
}

pdr_rc pdr_chat_invoke(pdr_chat *chat, pdr_str agent_id,
                       const pdr_chat_call *call, pdr_err *err)
{
    const struct pdr__member *member = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    member = pdr__member_find(chat, agent_id);
    if (member == NULL)
        PDR_TRY(PDR_FAIL(err, NO_AGENT, "agent '%s' does not take part",
                         pdr__shown(shown, agent_id)));
    PDR_TRY(turn_make(chat, member, call, err));
    PDR_TRY(over_ask(chat, member, call, err));
done:
    pdr__chat_leave(chat);
    return rc;
}

/* --- a run ----------------------------------------------------------------
 */

/* The place of the agent that is next. `selection` moves on. */
static pdr_rc next_choose(size_t *out, struct pdr__selection *selection,
                          const pdr_chat *chat, const pdr_chat_call *call,
                          pdr_err *err)
{
    const pdr_chat_view view = {.chat = chat,
                                .agent_count = chat->member_count,
                                .message_count = chat->log_count,
                                .cancel = call != NULL ? call->cancel : NULL};
    const struct pdr__member *first =
        chat->first.len > 0 ? pdr__member_find(chat, chat->first) : NULL;
    long first_index = first != NULL ? (long)(first - chat->members) : -1;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (chat->member_count == 0)
        return PDR_FAIL(err, NO_AGENTS, "%s",
                        "nobody takes part: let agents join first");
    if (chat->select == NULL || (!selection->has_selected && first != NULL)) {
        *out = pdr__select_next(selection, chat->member_count, first_index);
        return PDR_OK;
    }
    rc = chat->select(out, &view, &why, chat->select_arg);
    if (rc != PDR_OK)
        return PDR_FAIL(err, BAD_SELECTION, "nobody was chosen: %s",
                        why.message);
    if (*out >= chat->member_count)
        return PDR_FAIL(err, BAD_SELECTION,
                        "agent %zu was chosen, and there are %zu", *out,
                        chat->member_count);
    selection->has_selected = true;
    selection->index = (long)*out;
    return PDR_OK;
}

/* Save what is, for those that save during the next turn. */
static pdr_rc boundary_renew(pdr_chat *chat, pdr_err *err)
{
    struct pdr__boundary *fresh = NULL, *old = NULL;
    pdr_rc rc = pdr__boundary_new(&fresh, chat, err);

    if (rc != PDR_OK)
        return rc;
    (void)pthread_mutex_lock(&chat->lock);
    old = chat->boundary;
    chat->boundary = fresh;
    (void)pthread_mutex_unlock(&chat->lock);
    pdr__boundary_free(old);
    return PDR_OK;
}

pdr_rc pdr_chat_run(pdr_chat *chat, const pdr_chat_call *call, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    if (chat->is_complete && !chat->resets_complete)
        PDR_TRY(PDR_FAIL(err, CHAT_COMPLETE, "%s",
                         "the conversation is over: say that it is not, or "
                         "reset it"));
    if (chat->is_complete) {
        (void)pthread_mutex_lock(&chat->lock);
        chat->is_complete = false;
        (void)pthread_mutex_unlock(&chat->lock);
    }
    for (unsigned i = 0; i < chat->max_turns && !chat->is_complete; i++) {
        struct pdr__selection selection = chat->selection;
        const struct pdr__member *member = NULL;
        size_t index = 0;

        if (call != NULL && pdr_cancel_is_set(call->cancel))
            PDR_TRY(PDR_FAIL(err, RUN_CANCELLED, "%s",
                             "cancelled between two turns"));
        if (i > 0)
            PDR_TRY(boundary_renew(chat, err));
        PDR_TRY(next_choose(&index, &selection, chat, call, err));
        member = &chat->members[index];
        PDR_TRY(turn_make(chat, member, call, err));
        chat->selection = selection; /* T3 */
        PDR_TRY(over_ask(chat, member, call, err));
    }
done:
    pdr__chat_leave(chat);
    return rc;
}
