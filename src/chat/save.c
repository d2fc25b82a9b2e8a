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
        .cursor = channel->cursor,
        .source =
            channel->source != NULL ? pdr_value_ref(channel->source) : NULL};
    return channel->kind->save(&out->state, channel->self, &link, err);
}

pdr_rc pdr__boundary_new(struct pdr__boundary **out, pdr_chat *chat,
                         pdr_err *err)
{
    struct pdr__boundary *b = pdr__calloc(1, sizeof(*b));
    pdr_str spoke = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (b == NULL)
        return pdr__nomem(err);
    b->log_count = chat->log_count;
    b->turn_count = chat->turn_count;
    b->turn = chat->turn;
    b->is_complete = chat->is_complete;
    b->run = chat->run;
    b->channels = pdr__calloc(chat->channel_count + chat->parked_count + 1,
                              sizeof(*b->channels));
    b->sessions = pdr__calloc(chat->member_count + 1, sizeof(*b->sessions));
    if (b->channels == NULL || b->sessions == NULL)
        PDR_TRY(pdr__nomem(err));
    if (chat->selection.index >= 0 &&
        (size_t)chat->selection.index < chat->member_count)
        spoke = pdr_agent_id(chat->members[chat->selection.index].agent);
    PDR_TRY(pdr__selection_save(&b->selection, &chat->selection, spoke, err));
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

/* A save of a chat inside of a channel, and of the chat around it. */
struct inside {
    const pdr_chat_save_opts *outer;
    size_t index; /* of the channel */
};

/* A pdr_doc_finding_fn: what is lost inside, with its place in all of it. */
static pdr_rc inside_lost(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    const struct inside *inside = arg;
    pdr_buf pointer = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_doc_finding placed = *finding;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&pointer, err, "/channels/%zu/state%.*s",
                           inside->index, (int)finding->pointer.len,
                           finding->pointer.ptr));
    placed.pointer = pdr_buf_str(&pointer);
    PDR_TRY(inside->outer->fn(&placed, err, inside->outer->arg));
done:
    pdr_buf_dispose(&pointer);
    return rc;
}

/* The state of a channel as the forms of others have it. One that is parked is
 * theirs, or stays as it is. */
static pdr_rc channel_exchange(struct pdr__saved_channel *saved,
                               const pdr_channel_kind *const *kinds,
                               const pdr_chat_state *state,
                               const pdr_chat_save_opts *opts, pdr_err *err)
{
    struct inside inside = {opts, (size_t)(saved - state->channels)};
    const pdr_chat_save_opts saving = {.form = PDR_CHAT_SK,
                                       .is_strict = opts->is_strict,
                                       .fn = opts->fn != NULL ? inside_lost
                                                              : NULL,
                                       .arg = &inside};
    const pdr_chat_link link = {.log = state->log,
                                .end = saved->cursor + 1,
                                .saving = &saving,
                                .kinds = kinds};
    const pdr_channel_kind *kind = pdr__kind_find(kinds, saved->kind);
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

/* What was said until then. With the lock held: the chat goes on meanwhile. */
static pdr_rc state_fill_log(pdr_chat_state *state, const pdr_chat *chat,
                             const struct pdr__boundary *b, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&state->log, &state->log_cap, b->log_count,
                      sizeof(*state->log), err));
    for (; state->log_count < b->log_count; state->log_count++) {
        state->log[state->log_count] = chat->log[state->log_count];
        (void)!pdr_value_ref(chat->log[state->log_count].value);
    }
    PDR_TRY(pdr__grow((void **)&state->turns, &state->turn_cap, b->turn_count,
                      sizeof(*state->turns), err));
    for (; state->turn_count < b->turn_count; state->turn_count++)
        state->turns[state->turn_count] = chat->turns[state->turn_count];
done:
    return rc;
}

struct pdr__saved_participant pdr__participant_copy(
    const struct pdr__saved_participant *p)
{
    struct pdr__saved_participant copy = *p;

    copy.session = p->session != NULL ? pdr_value_ref(p->session) : NULL;
    copy.source = p->source != NULL ? pdr_value_ref(p->source) : NULL;
    return copy;
}

pdr_rc pdr__state_fill(pdr_chat_state *state, const pdr_chat *chat,
                       const struct pdr__boundary *b, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    state->form = chat->form;
    state->document =
        chat->document != NULL ? pdr_value_ref(chat->document) : NULL;
    state->id = chat->id;
    state->epoch = chat->epoch;
    state->revision = chat->revision;
    state->is_complete = b->is_complete;
    state->turn = b->turn;
    state->run = b->run;
    state->selection = pdr_value_ref(b->selection);
    PDR_TRY(pdr__grow((void **)&state->participants, &state->participant_cap,
                      b->member_count + chat->absent_count,
                      sizeof(*state->participants), err));
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
                               : NULL,
                .source = m->source != NULL ? pdr_value_ref(m->source) : NULL};
    }
    for (size_t i = 0; i < chat->absent_count; i++)
        state->participants[state->participant_count++] =
            pdr__participant_copy(&chat->absent[i]);
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

pdr_rc pdr__open_turn(pdr_value **out, const struct pdr__turn_record *turn,
                      pdr_err *err)
{
    pdr_builder *builder = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&builder, err));
    pdr_builder_object(builder);
    pdr_builder_name(builder, PDR_LIT("turn"));
    pdr_builder_int64(builder, (int64_t)turn->turn);
    pdr_builder_name(builder, PDR_LIT("agent"));
    pdr_builder_string(builder, turn->agent);
    if (turn->is_chosen) {
        pdr_builder_name(builder, PDR_LIT("chosen"));
        pdr_builder_bool(builder, true);
    }
    pdr_builder_end(builder);
    PDR_TRY(pdr_builder_finish(out, builder, err));
done:
    pdr_builder_free(builder);
    return rc;
}

/* The turn that is under way, and that its last message is one of a turn
 * without an end so far. */
static pdr_rc state_fill_open(pdr_chat_state *state, pdr_err *err)
{
    const struct pdr__turn_record *last =
        state->turn_count > 0 ? &state->turns[state->turn_count - 1] : NULL;
    struct pdr__log_entry *said =
        state->log_count > 0 ? &state->log[state->log_count - 1] : NULL;

    if (last == NULL || last->end == PDR_TURN_ENDED)
        return PDR_OK;
    if (said != NULL && said->turn == last->turn)
        said->is_visible = !pdr__is_tool_traffic(said->value);
    return last->end == PDR_TURN_OPEN
               ? pdr__open_turn(&state->open_turn, last, err)
               : PDR_OK;
}

/* As it is between two turns, or now. */
static pdr_rc state_make(pdr_chat_state **out, pdr_chat *chat, bool is_now,
                         pdr_err *err)
{
    struct pdr__boundary *own = NULL;
    const struct pdr__boundary *boundary = NULL;
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__chat_state_new(&state, err));
    (void)pthread_mutex_lock(&chat->lock);
    while (!is_now && chat->is_active && chat->boundary == NULL)
        (void)pthread_cond_wait(&chat->changed, &chat->lock); /* not long */
    if (is_now || !chat->is_active)
        rc = pdr__boundary_new(&own, chat, err);
    boundary = own != NULL ? own : chat->boundary;
    if (rc == PDR_OK)
        rc = pdr__state_fill(state, chat, boundary, err);
    if (rc == PDR_OK)
        rc = state_fill_log(state, chat, boundary, err);
    if (rc == PDR_OK && is_now)
        rc = state_fill_open(state, err);
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

pdr_rc pdr__states_check(const pdr_chat *chat, const pdr_chat_state *state,
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

/* States of channels become those of the form first. */
static pdr_rc states_exchange(pdr_chat_state *state,
                              const pdr_channel_kind *const *kinds,
                              const pdr_chat_save_opts *opts, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0;
         opts->form != PDR_CHAT_NATIVE && i < state->channel_count; i++)
        PDR_TRY(channel_exchange(&state->channels[i], kinds, state, opts, err));
done:
    return rc;
}

static pdr_rc state_write(pdr_chat_state *state,
                          const pdr_channel_kind *const *kinds,
                          const pdr_chat_save_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(states_exchange(state, kinds, opts, err));
    PDR_TRY(pdr__chat_write(state, opts, err, fn, arg));
done:
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
    PDR_TRY(state_make(&state, chat, false, err));
    PDR_TRY(pdr__states_check(chat, state, err));
    PDR_TRY(state_write(state, chat->kinds, opts, err, fn, arg));
done:
    pdr_chat_state_free(state);
    return rc;
}

pdr_rc pdr_chat_state_save(const pdr_chat_state *state,
                           const pdr_chat_save_opts *opts, pdr_err *err,
                           pdr_write_fn fn, void *arg)
{
    const pdr_chat_save_opts usual = {.form = PDR_CHAT_NATIVE};
    pdr_chat_state own = {.form = PDR_CHAT_NATIVE};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(state != NULL && fn != NULL);
    own = *state; /* but for the states of channels, which may change */
    own.channels = pdr__calloc(state->channel_count + 1, sizeof(*own.channels));
    if (own.channels == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < state->channel_count; i++) {
        own.channels[i] = state->channels[i];
        own.channels[i].state = state->channels[i].state != NULL
                                    ? pdr_value_ref(state->channels[i].state)
                                    : NULL;
    }
    rc = state_write(&own, NULL, opts != NULL ? opts : &usual, err, fn, arg);
    for (size_t i = 0; i < own.channel_count; i++)
        pdr_value_free(own.channels[i].state);
    pdr__free(own.channels);
    return rc;
}

/* --- a chat inside of a channel -------------------------------------------
 */

pdr_rc pdr__chat_to_value(pdr_value **out, pdr_chat *chat, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(state_make(&state, chat, chat->around != NULL, err));
    PDR_TRY(pdr__states_check(chat, state, err));
    PDR_TRY(pdr__chat_write(state, NULL, err, pdr_write_buf, &text));
    PDR_TRY(pdr_json_read_take(out, &text, NULL, err));
done:
    pdr_chat_state_free(state);
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr__chat_exchange(pdr_value **out, pdr_chat_state *state,
                          const pdr_chat_link *link, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    PDR_TRY(states_exchange(state, link->kinds, link->saving, err));
    PDR_TRY(
        pdr__chat_write_inside(state, link->saving, err, pdr_write_buf, &text));
    PDR_TRY(pdr_json_read_take(out, &text, NULL, err));
done:
    pdr_buf_dispose(&text);
    return rc;
}
