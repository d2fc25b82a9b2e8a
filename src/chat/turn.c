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
 *   T4  Calls and results are where they outlive the process as soon as they
 *       are said; an answer is with the end of its turn at the latest.
 */
#include "chat.h"

/* --- what an agent says ---------------------------------------------------
 */

/* Commit what was said. A chat inside of the channel has it too, and goes with
 * it: neither is without the other. */
static pdr_rc said_commit(pdr_chat_link *link, pdr_err *err)
{
    const struct pdr__step hold = {.lease = PDR_STEP_HOLD};

    return link->channel->kind == pdr_channel_aggregate()
               ? pdr__home_keep(link->chat, err)
               : pdr__home_commit(link->chat, &hold, err);
}

pdr_rc pdr__link_tell(pdr_chat_link *link, bool is_last, pdr_err *err)
{
    pdr_chat *chat = link->chat;
    const pdr_chat_call *call = link->call;
    pdr_chat_message message;
    pdr_chat_event event = {.message = &message};
    pdr_rc rc = PDR_OK;

    if (!link->has_held)
        return PDR_OK;
    link->has_held = false;
    event.turn = chat->turn;
    event.agent_id = pdr_agent_id(link->member->agent);
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
    if (pdr__home_waits(chat))
        PDR_TRY(said_commit(link, err));
    PDR_TRY(call->fn(&event, err, call->arg));
done:
    return rc;
}

pdr_rc pdr_chat_link_say(pdr_chat_link *link, const pdr_value *message,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(link != NULL && link->chat != NULL && message != NULL);
    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "a message is an object, this is %s",
                        pdr__kind_phrase(message));
    PDR_TRY(pdr__link_tell(link, false, err));
    PDR_TRY(pdr__log_reserve(link->chat, 1, err));
    pdr__log_append(link->chat, pdr_value_ref(message), link->chat->turn,
                    link->channel->key);
    link->has_held = true; /* T1 */
    link->log = link->chat->log;
    link->ready = link->chat->ready;
    link->end = link->chat->log_count + 1;
    link->channel->cursor = link->chat->log_count; /* it has what it said */
    if (pdr__is_tool_traffic(message))             /* T4 */
        PDR_TRY(said_commit(link, err));
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

static bool has_chooser(const pdr_chat *chat)
{
    return chat->select != NULL || chat->select_prompt != NULL;
}

static pdr_rc turn_begin(pdr_chat *chat, const struct pdr__member *member,
                         bool is_chosen, pdr_err *err)
{
    const struct pdr__turn_record record = {
        .turn = chat->turn + 1,
        .agent = pdr_agent_id(member->agent),
        .is_chosen = is_chosen && has_chooser(chat)};
    const struct pdr__step begin = {
        .begins = &record, .origin = member->key, .lease = PDR_STEP_TAKE};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__channel_fits(chat, member, err));
    (void)pthread_mutex_lock(&chat->lock);
    rc = pdr__grow((void **)&chat->turns, &chat->turn_cap, chat->turn_count + 1,
                   sizeof(*chat->turns), err);
    (void)pthread_mutex_unlock(&chat->lock);
    if (rc != PDR_OK)
        goto done;
    PDR_TRY(pdr__home_commit(chat, &begin, err));
    (void)pthread_mutex_lock(&chat->lock);
    chat->turn++;
    chat->turns[chat->turn_count++] = record;
    chat->revision++;
    (void)pthread_mutex_unlock(&chat->lock);
done:
    return rc;
}

/* Note how it ended, for `why` if it failed; `holds`: another one follows. */
static pdr_rc turn_end(pdr_chat *chat, const struct pdr__selection *selection,
                       const pdr_err *why, bool holds, pdr_err *err)
{
    struct pdr__turn_record *record = &chat->turns[chat->turn_count - 1];
    struct pdr__step end = {.ends = record,
                            .lease = holds ? PDR_STEP_HOLD : PDR_STEP_GIVE};
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (why != NULL)
        text = pdr_str_c(why->message);
    (void)pthread_mutex_lock(&chat->lock);
    record->end = why == NULL ? PDR_TURN_ENDED : PDR_TURN_ABORTED;
    if (pdr__arena_keep(&text, &chat->memory, NULL) == PDR_OK)
        record->why = text;
    (void)pthread_mutex_unlock(&chat->lock);
    chat->run.turns += why == NULL;
    if (why == NULL && selection != NULL)
        chat->selection = *selection; /* T3 */
    PDR_TRY(boundary_renew(chat, err));
    end.boundary = chat->boundary;
    PDR_TRY(pdr__home_commit(chat, &end, err));
done:
    if (rc != PDR_OK)
        pdr__home_spoil(chat);
    return rc;
}

/* With the token. If it succeeds, `selection`, which may be NULL, is that of
 * the chat. */
static pdr_rc turn_make(pdr_chat *chat, const struct pdr__member *member,
                        const struct pdr__selection *selection, bool holds,
                        const pdr_chat_call *call, pdr_err *err)
{
    const pdr_chat_agent agent = pdr__agent_of(chat, member);
    struct pdr__channel *channel = NULL;
    pdr_chat_link link = {.has_held = false};
    pdr_err why = PDR_ERR_INIT, late = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK, ended = PDR_OK;

    PDR_TRY(turn_begin(chat, member, selection != NULL, err));
    rc = pdr__channel_ready(&channel, chat, member, call, &why);
    if (rc == PDR_OK) {
        link = pdr__link_of(chat, channel, call);
        link.member = member;
        rc = channel->kind->invoke(channel->self, &agent, &link, &why);
    }
    ended = turn_end(chat, selection, rc == PDR_OK ? NULL : &why,
                     holds && rc == PDR_OK, &late);
    if (rc == PDR_OK && ended != PDR_OK)
        rc = pdr__err_pass(err, &late);
    else if (rc == PDR_OK)
        rc = pdr__link_tell(&link, true, err);
    if (rc != PDR_OK && why.code != PDR_OK) {
        if (ended == PDR_OK)
            (void)!pdr__link_tell(&link, false, NULL);
        rc = pdr__err_pass(err, &why);
    }
done:
    return rc;
}

static void complete_set(pdr_chat *chat, bool is_complete)
{
    (void)pthread_mutex_lock(&chat->lock);
    chat->is_complete = is_complete;
    (void)pthread_mutex_unlock(&chat->lock);
}

/* Is it over, now that this one has spoken? */
static pdr_rc over_ask(pdr_chat *chat, const struct pdr__member *member,
                       const pdr_chat_call *call, pdr_err *err)
{
    const pdr_chat_view view = {.chat = chat,
                                .agent_count = chat->member_count,
                                .message_count = chat->log_count,
                                .cancel = call != NULL ? call->cancel : NULL};
    struct pdr__step step = {.lease = PDR_STEP_GIVE};
    bool is_over = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__rule_ask(&is_over, chat->ends, &view,
                          (size_t)(member - chat->members), err));
    if (is_over == chat->is_complete)
        goto done;
    complete_set(chat, is_over);
    if (chat->home == NULL && chat->around == NULL)
        goto done;
    rc = boundary_renew(chat, err);
    step.boundary = chat->boundary;
    if (rc == PDR_OK)
        rc = pdr__home_commit(chat, &step, err);
    if (rc != PDR_OK)
        complete_set(chat, !is_over);
done:
    return rc;
}

pdr_rc pdr_chat_invoke(pdr_chat *chat, pdr_str agent_id,
                       const pdr_chat_call *call, pdr_err *err)
{
    const struct pdr__member *member = NULL;
    char shown[PDR_SHOWN];
    pdr_chat_call room;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    call = pdr__home_enter(chat, &room, call);
    member = pdr__member_find(chat, agent_id);
    if (member == NULL)
        PDR_TRY(PDR_FAIL(err, NO_AGENT, "agent '%s' does not take part",
                         pdr__shown(shown, agent_id)));
    PDR_TRY(turn_make(chat, member, NULL, false, call, err));
    PDR_TRY(over_ask(chat, member, call, err));
done:
    rc = pdr__home_leave(chat, rc, err);
    pdr__chat_leave(chat);
    return rc;
}

/* --- a run ----------------------------------------------------------------
 */

/* The one who was chosen for a turn that was aborted: chosen again, a model
 * would be asked again (T3). Once: a second time somebody else may do better.
 * NULL: there is none. */
static const struct pdr__member *chosen_before(const pdr_chat *chat)
{
    const struct pdr__turn_record *last =
        chat->turn_count > 0 ? &chat->turns[chat->turn_count - 1] : NULL;

    if (last == NULL || last->end != PDR_TURN_ABORTED || !last->is_chosen)
        return NULL;
    if (chat->turn_count > 1 && last[-1].end == PDR_TURN_ABORTED &&
        last[-1].is_chosen && pdr_str_equal(last[-1].agent, last->agent))
        return NULL;
    return pdr__member_find(chat, last->agent);
}

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
    const struct pdr__member *before = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (chat->member_count == 0)
        return PDR_FAIL(err, NO_AGENTS, "%s",
                        "nobody takes part: let agents join first");
    if (!has_chooser(chat) || (!selection->has_selected && first != NULL)) {
        *out = pdr__select_next(selection, chat->member_count, first_index);
        return PDR_OK;
    }
    before = chosen_before(chat);
    if (before != NULL)
        *out = (size_t)(before - chat->members);
    else
        rc = chat->select_prompt != NULL
                 ? pdr__select_asked(out, chat->select_prompt, &view,
                                     chat->falls_back ? first_index : -1, &why)
                 : chat->select(out, &view, &why, chat->select_arg);
    if (rc == PDR_ECANCELLED || rc == PDR_ENOMEM) {
        (void)pdr__err_pass(err, &why);
        return rc;
    }
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

/* A new one, not one that another process began inside of a channel. */
static pdr_rc run_begin(pdr_chat *chat, pdr_err *err)
{
    if (chat->is_complete && !chat->resets_complete)
        return PDR_FAIL(err, CHAT_COMPLETE, "%s",
                        "the conversation is over: say that it is not, or "
                        "reset it");
    complete_set(chat, false);
    chat->run = (struct pdr__run){.is_open = chat->around != NULL,
                                  .after = chat->log_count,
                                  .said = chat->log_count};
    return PDR_OK;
}

pdr_rc pdr_chat_run(pdr_chat *chat, const pdr_chat_call *call, pdr_err *err)
{
    pdr_chat_call room;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    call = pdr__home_enter(chat, &room, call);
    if (!chat->run.is_open)
        PDR_TRY(run_begin(chat, err));
    while (chat->run.turns < chat->max_turns && !chat->is_complete) {
        struct pdr__selection selection = chat->selection;
        const struct pdr__member *member = NULL;
        size_t index = 0;

        if (call != NULL && pdr_cancel_is_set(call->cancel))
            PDR_TRY(PDR_FAIL(err, RUN_CANCELLED, "%s",
                             "cancelled between two turns"));
        PDR_TRY(next_choose(&index, &selection, chat, call, err));
        member = &chat->members[index];
        PDR_TRY(turn_make(chat, member, &selection,
                          chat->run.turns + 1 < chat->max_turns, call, err));
        PDR_TRY(over_ask(chat, member, call, err));
    }
done:
    chat->run.is_open = false;
    rc = pdr__home_leave(chat, rc, err);
    pdr__chat_leave(chat);
    return rc;
}
