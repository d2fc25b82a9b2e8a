/*
 * save.c - from a chat to a document.
 *
 * WHY  A save must not wait for a turn, which may take minutes, nor tear it
 *      apart. Between two turns a chat is whole: so the operation that begins a
 *      turn notes what is there but for the log (a boundary), and the log only
 *      grows.
 */
#include "chat.h"

#include <perdure/json.h>

#include "session.h"

/* --- boundaries -----------------------------------------------------------
 */

void pdr__boundary_free(struct pdr__boundary *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->channel_count; i++)
        pdr__saved_channel_dispose(&b->channels[i]);
    for (size_t i = 0; i < b->member_count; i++)
        pdr_value_free(b->sessions[i]);
    pdr_value_free(b->selection);
    pdr__free(b->channels);
    pdr__free(b->sessions);
    pdr__free(b);
}

static pdr_rc channel_save(struct pdr__saved_channel *out, pdr_chat *chat,
                           struct pdr__channel *channel, pdr_err *err)
{
    const pdr_chat_link link = pdr__link_of(chat, channel, NULL);

    *out = (struct pdr__saved_channel){
        .key = channel->key,
        .sk_key = channel->sk_key,
        .kind = pdr_str_c(channel->kind->id),
        .type = channel->kind->channel_type != NULL
                    ? pdr_str_c(channel->kind->channel_type)
                    : pdr_str_n(NULL, 0),
        .state_version = channel->kind->state_version,
        .has_cursor = true,
        .cursor = channel->cursor};
    return channel->kind->save(&out->state, channel->self, &link, err);
}

pdr_rc pdr__boundary_new(struct pdr__boundary **out, pdr_chat *chat,
                         pdr_err *err)
{
    struct pdr__boundary *b = pdr__calloc(1, sizeof(*b));
    pdr_rc rc = PDR_OK;

    if (b == NULL)
        return pdr__nomem(err);
    b->log_count = chat->log_count;
    b->turn_count = chat->turn_count;
    b->turn = chat->turn;
    b->is_complete = chat->is_complete;
    b->channels = pdr__calloc(chat->channel_count + chat->parked_count + 1,
                              sizeof(*b->channels));
    b->sessions = pdr__calloc(chat->member_count + 1, sizeof(*b->sessions));
    if (b->channels == NULL || b->sessions == NULL)
        PDR_TRY(pdr__nomem(err));
    PDR_TRY(pdr__selection_save(&b->selection, &chat->selection, err));
    for (size_t i = 0; i < chat->channel_count; i++)
        PDR_TRY(channel_save(&b->channels[b->channel_count++], chat,
                             &chat->channels[i], err));
    for (size_t i = 0; i < chat->parked_count; i++) {
        struct pdr__saved_channel *saved = &b->channels[b->channel_count++];

        *saved = chat->parked[i];
        saved->state =
            saved->state != NULL ? pdr_value_ref(saved->state) : NULL;
        saved->source =
            saved->source != NULL ? pdr_value_ref(saved->source) : NULL;
    }
    for (; b->member_count < chat->member_count; b->member_count++) {
        pdr_session *session = chat->members[b->member_count].session;
        pdr_value *bag = pdr_bag_snapshot(pdr_session_bag(session));
        bool is_used = pdr_value_count(bag) > 0;

        pdr_value_free(bag);
        if (is_used)
            PDR_TRY(pdr_session_to_value(&b->sessions[b->member_count], session,
                                         err));
    }
    *out = b;
    b = NULL;
done:
    pdr__boundary_free(b);
    return rc;
}

/* --- the document ---------------------------------------------------------
 */

/* The state of a channel as the forms of others have it. One that is parked is
 * theirs, or stays as it is. */
static pdr_rc channel_exchange(struct pdr__saved_channel *saved,
                               const pdr_chat *chat,
                               const pdr_chat_state *state, pdr_err *err)
{
    const pdr_chat_link link = {.log = state->log, .end = saved->cursor + 1};
    const pdr_channel_kind *kind = pdr__kind_find(chat, saved->kind);
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (saved->key.ptr == NULL || kind == NULL || kind->exchange == NULL ||
        saved->state == NULL || saved->cursor > state->log_count)
        return PDR_OK;
    PDR_TRY(kind->exchange(&made, saved->state, &link, err));
    pdr_value_free(saved->state);
    saved->state = made;
done:
    return rc;
}

/* What was at the boundary. With the lock held: the chat goes on meanwhile. */
static pdr_rc state_fill(pdr_chat_state *state, const pdr_chat *chat,
                         const struct pdr__boundary *b, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    state->form = chat->form;
    state->id = chat->id;
    state->epoch = chat->epoch;
    state->revision = chat->revision;
    state->is_complete = b->is_complete;
    state->turn = b->turn;
    state->selection = pdr_value_ref(b->selection);
    PDR_TRY(pdr__grow((void **)&state->log, &state->log_cap, b->log_count,
                      sizeof(*state->log), err));
    for (; state->log_count < b->log_count; state->log_count++) {
        state->log[state->log_count] = chat->log[state->log_count];
        (void)!pdr_value_ref(chat->log[state->log_count].value);
    }
    PDR_TRY(pdr__grow((void **)&state->participants, &state->participant_cap,
                      b->member_count, sizeof(*state->participants), err));
    for (size_t i = 0; i < b->member_count; i++) {
        const struct pdr__member *m = &chat->members[i];
        const pdr_str name = pdr_agent_name(m->agent);

        state->participants[state->participant_count++] =
            (struct pdr__saved_participant){
                .id = pdr_agent_id(m->agent),
                .name = name.len > 0 ? name : pdr_str_n(NULL, 0),
                .type = m->kind->agent_type != NULL
                            ? pdr_str_c(m->kind->agent_type)
                            : pdr_str_c(m->kind->id),
                .key = m->key,
                .session = b->sessions[i] != NULL
                               ? pdr_value_ref(b->sessions[i])
                               : NULL};
    }
    PDR_TRY(pdr__grow((void **)&state->channels, &state->channel_cap,
                      b->channel_count, sizeof(*state->channels), err));
    for (size_t i = 0; i < b->channel_count; i++) {
        struct pdr__saved_channel *saved =
            &state->channels[state->channel_count++];

        *saved = b->channels[i];
        saved->state =
            saved->state != NULL ? pdr_value_ref(saved->state) : NULL;
        saved->source =
            saved->source != NULL ? pdr_value_ref(saved->source) : NULL;
    }
done:
    return rc;
}

/* As it is between two turns. */
static pdr_rc state_make(pdr_chat_state **out, pdr_chat *chat, pdr_err *err)
{
    struct pdr__boundary *own = NULL;
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__chat_state_new(&state, err));
    (void)pthread_mutex_lock(&chat->lock);
    while (chat->is_active && chat->boundary == NULL) /* not for long */
        (void)pthread_cond_wait(&chat->changed, &chat->lock);
    if (!chat->is_active) {
        rc = pdr__boundary_new(&own, chat, err);
        if (rc == PDR_OK)
            rc = state_fill(state, chat, own, err);
    } else {
        rc = state_fill(state, chat, chat->boundary, err);
    }
    (void)pthread_mutex_unlock(&chat->lock);
    pdr__boundary_free(own);
    if (rc == PDR_OK) {
        *out = state;
        state = NULL;
    }
done:
    pdr_chat_state_free(state);
    return rc;
}

/* No secret leaves the process with the state of a channel. */
static pdr_rc states_check(const pdr_chat *chat, const pdr_chat_state *state,
                           pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; chat->secrets != NULL && i < state->channel_count; i++) {
        pdr_buf_clear(&text);
        if (state->channels[i].state == NULL)
            continue;
        PDR_TRY(pdr_json_write(&text, state->channels[i].state, NULL, err));
        PDR_TRY(pdr__secrets_check(chat, pdr_buf_str(&text),
                                   "the state of a channel", err));
    }
done:
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr_chat_save(pdr_chat *chat, const pdr_chat_save_opts *opts,
                     pdr_err *err, pdr_write_fn fn, void *arg)
{
    const pdr_chat_save_opts usual = {.form = PDR_CHAT_NATIVE};
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL && fn != NULL);
    if (opts == NULL)
        opts = &usual;
    PDR_TRY(state_make(&state, chat, err));
    PDR_TRY(states_check(chat, state, err));
    for (size_t i = 0;
         opts->form != PDR_CHAT_NATIVE && i < state->channel_count; i++)
        PDR_TRY(channel_exchange(&state->channels[i], chat, state, err));
    PDR_TRY(pdr__chat_write(state, opts, err, fn, arg));
done:
    pdr_chat_state_free(state);
    return rc;
}
