/*
 * apply.c - from a document to a chat, all or nothing.
 *
 *      Invalid?  ─► Empty? ─► stage: log, channels ─► swap in ─► report
 *        fails       fails      fails: nothing of the
 *                               chat was touched
 *
 * WHY  Who restores a chat brings the agents. What they need may be what was
 *      saved (Equivalent), more (Enhanced), less (Reduced), or both; nothing
 *      at all is Empty, and a chat that has begun is Invalid. Only the keys of
 *      channels count for that, not who or how many the agents are.
 *
 * INVARIANTS
 *   A1  Until everything has succeeded the chat is as it was.
 *   A2  A saved channel that nobody needs is parked: saved again as it is, and
 *       there when its agent joins.
 */
#include "chat.h"

#include "session.h"

/* A restore on its way. */
struct applying {
    pdr_chat *chat;
    const pdr_chat_state *state;
    const pdr_chat_apply_opts *opts;
    struct pdr__channel *channels; /* owned until they are swapped in */
    size_t channel_count;
    size_t *places;           /* owned; of these in the document */
    bool *is_used;            /* owned; of the saved channels */
    struct pdr__member **who; /* owned; the saved participants; NULL: missing */
    size_t created;           /* channels that are still to come */
    struct report *report;
};

/* --- the report -----------------------------------------------------------
 */

struct report {
    pdr_chat_report base;
    struct pdr__arena memory; /* of texts */
    pdr_chat_report_row *rows;
    size_t count, cap;
};

void pdr_chat_report_free(pdr_chat_report *report)
{
    struct report *r = (struct report *)report;

    if (r == NULL)
        return;
    pdr__arena_dispose(&r->memory);
    pdr__free(r->rows);
    pdr__free(r);
}

static pdr_rc report_add(struct report *r, pdr_chat_report_row row,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_keep(&row.key, &r->memory, err));
    PDR_TRY(pdr__arena_keep(&row.kind, &r->memory, err));
    PDR_TRY(pdr__arena_keep(&row.why, &r->memory, err));
    PDR_TRY(pdr__arena_keep(&row.inside, &r->memory, err));
    PDR_TRY(pdr__grow((void **)&r->rows, &r->cap, r->count + 1,
                      sizeof(*r->rows), err));
    r->rows[r->count++] = row;
    r->base.rows = r->rows;
    r->base.count = r->count;
done:
    return rc;
}

/* --- which saved channel is it? -------------------------------------------
 */

/* Does an earlier member have the same channel? */
static bool is_later(const pdr_chat *chat, const struct pdr__member *m)
{
    for (const struct pdr__member *at = chat->members; at < m; at++) {
        if (pdr_str_equal(at->key, m->key))
            return true;
    }
    return false;
}

/* --- staging --------------------------------------------------------------
 */

/* Without memory a key that nobody can compute is not saved again. */
static pdr_str kept_sk_key(const struct applying *a,
                           const struct pdr__member *m,
                           const struct pdr__saved_channel *saved)
{
    pdr_str key = pdr__saved_sk_key(saved, m);

    if (pdr__arena_keep(&key, &a->chat->memory, NULL) != PDR_OK)
        key = m->sk_key;
    return key;
}

/* In the order of the document. */
static void channel_insert(struct applying *a, const struct pdr__channel *made,
                           size_t index)
{
    size_t at = a->channel_count++;

    for (; at > 0 && a->places[at - 1] > index; at--) {
        a->places[at] = a->places[at - 1];
        a->channels[at] = a->channels[at - 1];
    }
    a->places[at] = index;
    a->channels[at] = *made;
}

/* What was noticed in the chat that a channel is. */
static pdr_rc inside_report(struct applying *a, const pdr_chat_report *inside,
                            pdr_str key, pdr_err *err)
{
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; inside != NULL && i < inside->count; i++) {
        pdr_chat_report_row row = inside->rows[i];

        if (row.what == PDR_CHAT_RESTORED)
            continue;
        pdr_buf_clear(&path);
        PDR_TRY(pdr_buf_append(&path, key, err));
        if (row.inside.len > 0)
            PDR_TRY(pdr_buf_append(&path, PDR_LIT(" "), err));
        PDR_TRY(pdr_buf_append(&path, row.inside, err));
        row.inside = pdr_buf_str(&path);
        PDR_TRY(report_add(a->report, row, err));
    }
done:
    pdr_buf_dispose(&path);
    return rc;
}

/* Restore one channel, or let it begin anew. */
static pdr_rc channel_stage(struct applying *a, const struct pdr__member *m,
                            size_t index, bool by_kind, pdr_err *err)
{
    const struct pdr__saved_channel *saved = &a->state->channels[index];
    const pdr_chat_agent agent = pdr__agent_of(a->chat, m);
    pdr_chat_report_row row = {.what = by_kind ? PDR_CHAT_MATCHED_BY_KIND
                                               : PDR_CHAT_RESTORED,
                               .key = pdr__saved_name(saved),
                               .kind = pdr_str_c(m->kind->id)};
    struct pdr__channel made = {
        .kind = m->kind,
        .key = m->key,
        .sk_key = m->sk_key,
        .cursor = saved->has_cursor ? saved->cursor : a->state->log_count};
    pdr_chat_report *inside = NULL;
    const pdr_chat_link link = {.log = a->state->log,
                                .end = made.cursor + 1,
                                .applying = a->opts,
                                .inside = &inside};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc =
        pdr__saved_restore(&made.self, saved, m->kind, &agent, &link, &why);

    if (rc != PDR_OK && a->opts->rebuilds && rc != PDR_ENOMEM) {
        row.what = PDR_CHAT_REBUILT;
        row.why = pdr_str_c(why.message);
        rc = report_add(a->report, row, err);
        goto done;
    }
    if (rc != PDR_OK) {
        pdr__err_path(&why, pdr__saved_name(saved));
        (void)pdr__err_pass(err, &why);
        PDR_TRY(pdr__wrap(err, rc, "channel of kind '%s'", m->kind->id));
    }
    made.sk_key = kept_sk_key(a, m, saved);
    made.source = saved->source != NULL ? pdr_value_ref(saved->source) : NULL;
    channel_insert(a, &made, index);
    PDR_TRY(report_add(a->report, row, err));
    PDR_TRY(inside_report(a, inside, pdr__saved_name(saved), err));
    if (m->kind == &pdr__history_kind && pdr__saved_channel_is_foreign(saved)) {
        row.what = pdr__history_compare(&row.seq, made.self);
        if (row.what != PDR_CHAT_RESTORED)
            PDR_TRY(report_add(a->report, row, err));
    }
done:
    pdr_chat_report_free(inside);
    return rc;
}

static pdr_rc channels_stage(struct applying *a, pdr_err *err)
{
    pdr_chat *chat = a->chat;
    pdr_rc rc = PDR_OK;

    for (int by_kind = 0; by_kind < 2; by_kind++) {
        for (size_t i = 0; i < chat->member_count; i++) {
            const struct pdr__member *m = &chat->members[i];
            size_t exact =
                pdr__saved_find(a->state->channels, a->state->channel_count, m);
            size_t index = exact;

            if (is_later(chat, m) || (by_kind == 0) != (exact != SIZE_MAX))
                continue;
            if (by_kind == 1)
                index = pdr__saved_find_kind(a->state->channels,
                                             a->state->channel_count,
                                             a->is_used, chat, m);
            if (index != SIZE_MAX && !a->is_used[index]) {
                a->is_used[index] = true;
                PDR_TRY(channel_stage(a, m, index, by_kind == 1, err));
            } else {
                a->created++;
                PDR_TRY(report_add(
                    a->report,
                    (pdr_chat_report_row){.what = PDR_CHAT_TO_CREATE,
                                          .key = m->key,
                                          .kind = pdr_str_c(m->kind->id)},
                    err));
            }
        }
    }
done:
    return rc;
}

/* --- what is noticed ------------------------------------------------------
 */

/* Several may have an id: each of them is that agent. */
static void participants_match(struct applying *a)
{
    const pdr_chat_state *state = a->state;

    for (size_t i = 0; i < state->participant_count; i++)
        a->who[i] = pdr__member_find(a->chat, state->participants[i].id);
    for (size_t i = 0; i < a->chat->member_count; i++) {
        size_t found =
            pdr__participant_find(state->participants, state->participant_count,
                                  a->chat, a->chat->members[i].agent);

        if (found != SIZE_MAX)
            a->who[found] = &a->chat->members[i];
    }
}

/* Does a message after `seq` have the result of this call? */
static bool has_result(const pdr_chat_state *state, uint64_t seq,
                       const pdr_value *id)
{
    enum pdr__call_news news = PDR_CALL_NOTHING;

    for (; seq < state->log_count && news == PDR_CALL_NOTHING; seq++)
        news = pdr__call_news(state->log[seq].value, id);
    return news == PDR_CALL_ANSWERED;
}

/* Calls in the last messages that have no result. */
static pdr_rc dangling_report(struct applying *a, pdr_err *err)
{
    const pdr_chat_state *state = a->state;
    uint64_t seq = state->log_count;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    while (seq > 0 && pdr__is_tool_traffic(state->log[seq - 1].value))
        seq--;
    for (uint64_t at = seq + 1; at <= state->log_count; at++) {
        const pdr_value *message = state->log[at - 1].value;
        pdr_iter it;

        pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
        while (pdr_iter_next(&it)) {
            pdr_chat_report_row row = {.what = PDR_CHAT_DANGLING_CALL,
                                       .seq = at};
            const pdr_value *id = NULL;

            if (pdr_content_kind_of(it.value, PDR_SHAPE_SK) != PDR_CONTENT_CALL)
                continue;
            id = pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_CALL_ID);
            if (id == NULL || has_result(state, at, id))
                continue;
            PDR_TRY(pdr__value_sound_text(&row.key, id, &scratch, err));
            PDR_TRY(report_add(a->report, row, err));
        }
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc rest_report(struct applying *a, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < a->state->channel_count; i++) {
        const struct pdr__saved_channel *saved = &a->state->channels[i];

        if (!a->is_used[i])
            PDR_TRY(
                report_add(a->report,
                           (pdr_chat_report_row){.what = PDR_CHAT_PARKED,
                                                 .key = pdr__saved_name(saved),
                                                 .kind = saved->kind.ptr != NULL
                                                             ? saved->kind
                                                             : saved->type},
                           err));
    }
    for (size_t i = 0; i < a->state->participant_count; i++) {
        const struct pdr__saved_participant *p = &a->state->participants[i];

        if (a->who[i] == NULL)
            PDR_TRY(report_add(a->report,
                               (pdr_chat_report_row){.what = PDR_CHAT_NO_AGENT,
                                                     .key = p->id,
                                                     .kind = p->name},
                               err));
    }
    if (a->state->turn_count > 0 &&
        a->state->turns[a->state->turn_count - 1].end == PDR_TURN_OPEN) {
        const struct pdr__turn_record *open =
            &a->state->turns[a->state->turn_count - 1];

        PDR_TRY(report_add(a->report,
                           (pdr_chat_report_row){.what = PDR_CHAT_OPEN_TURN,
                                                 .key = open->agent,
                                                 .seq = open->turn},
                           err));
    }
    PDR_TRY(dangling_report(a, err));
done:
    return rc;
}

static pdr_chat_case case_of(const struct applying *a)
{
    bool has_parked = false;

    for (size_t i = 0; i < a->state->channel_count; i++)
        has_parked |= !a->is_used[i];
    if (has_parked)
        return a->created > 0 ? PDR_CHAT_MIXED : PDR_CHAT_REDUCED;
    return a->created > 0 ? PDR_CHAT_ENHANCED : PDR_CHAT_EQUIVALENT;
}

const char *pdr_chat_case_name(pdr_chat_case which)
{
    static const char *const names[] = {[PDR_CHAT_EQUIVALENT] = "equivalent",
                                        [PDR_CHAT_ENHANCED] = "enhanced",
                                        [PDR_CHAT_REDUCED] = "reduced",
                                        [PDR_CHAT_MIXED] = "mixed"};

    return names[which];
}

const char *pdr_chat_finding_name(pdr_chat_finding what)
{
    static const char *const names[] = {
        [PDR_CHAT_RESTORED] = "restored",
        [PDR_CHAT_MATCHED_BY_KIND] = "matched-by-kind",
        [PDR_CHAT_TO_CREATE] = "to-create",
        [PDR_CHAT_PARKED] = "parked",
        [PDR_CHAT_REBUILT] = "rebuilt",
        [PDR_CHAT_OUT_OF_SYNC] = "out-of-sync",
        [PDR_CHAT_SHORTENED] = "shortened",
        [PDR_CHAT_DANGLING_CALL] = "dangling-call",
        [PDR_CHAT_NO_AGENT] = "no-agent",
        [PDR_CHAT_OPEN_TURN] = "open-turn",
    };

    return names[what];
}

/* --- all of it ------------------------------------------------------------
 */

pdr_rc pdr__chat_is_new(const pdr_chat *chat, pdr_err *err)
{
    if (chat->log_count > 0 || chat->channel_count > 0 ||
        chat->parked_count > 0 || chat->home != NULL)
        return PDR_FAIL(err, CHAT_IN_USE, "%s",
                        "the chat has begun: restore into a new one, or reset "
                        "it first");
    if (chat->member_count == 0)
        return PDR_FAIL(err, NO_AGENTS, "%s",
                        "nobody takes part: let agents join, and restore then");
    return PDR_OK;
}

/* Copies of what the document has, in the memory of the chat; what cannot fail
 * comes after it. */
struct staged {
    pdr_str id; /* absent: as it is */
    struct pdr__log_entry *log;
    pdr_value **ready;
    struct pdr__saved_channel *parked;
    size_t parked_count;
    struct pdr__saved_participant *absent;
    size_t absent_count;
    struct pdr__turn_record *turns;
    pdr_session **sessions; /* of the members; NULL: as it is */
};

static void staged_free(struct staged *s, size_t log_count, size_t member_count)
{
    for (size_t i = 0; s->log != NULL && i < log_count; i++)
        pdr_value_free(s->log[i].value);
    for (size_t i = 0; i < s->parked_count; i++)
        pdr__saved_channel_dispose(&s->parked[i]);
    for (size_t i = 0; i < s->absent_count; i++) {
        pdr_value_free(s->absent[i].session);
        pdr_value_free(s->absent[i].source);
    }
    for (size_t i = 0; s->sessions != NULL && i < member_count; i++)
        pdr_session_free(s->sessions[i]);
    pdr__free(s->log);
    pdr__free(s->ready);
    pdr__free(s->parked);
    pdr__free(s->absent);
    pdr__free(s->turns);
    pdr__free(s->sessions);
}

static pdr_rc saved_copy(struct pdr__saved_channel *out,
                         const struct pdr__saved_channel *saved,
                         uint64_t log_count, pdr_chat *chat, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *out = *saved;
    out->state = saved->state != NULL ? pdr_value_ref(saved->state) : NULL;
    out->source = saved->source != NULL ? pdr_value_ref(saved->source) : NULL;
    if (!out->has_cursor) { /* taken as in step */
        out->has_cursor = true;
        out->cursor = log_count;
    }
    PDR_TRY(pdr__arena_keep(&out->key, &chat->memory, err));
    PDR_TRY(pdr__arena_keep(&out->sk_key, &chat->memory, err));
    PDR_TRY(pdr__arena_keep(&out->kind, &chat->memory, err));
    PDR_TRY(pdr__arena_keep(&out->type, &chat->memory, err));
done:
    return rc;
}

/* Somebody who took part and does not now. */
static pdr_rc absent_stage(struct staged *s, const struct applying *a,
                           const struct pdr__saved_participant *p, pdr_err *err)
{
    struct pdr__saved_participant *kept = &s->absent[s->absent_count++];
    pdr_rc rc = PDR_OK;

    *kept = pdr__participant_copy(p);
    PDR_TRY(pdr__arena_keep(&kept->id, &a->chat->memory, err));
    PDR_TRY(pdr__arena_keep(&kept->name, &a->chat->memory, err));
    PDR_TRY(pdr__arena_keep(&kept->type, &a->chat->memory, err));
    PDR_TRY(pdr__arena_keep(&kept->key, &a->chat->memory, err));
done:
    return rc;
}

/* Turns; one that has no end is aborted. */
static pdr_rc turns_stage(struct staged *s, const struct applying *a,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < a->state->turn_count; i++) {
        struct pdr__turn_record *turn = &s->turns[i];

        *turn = a->state->turns[i];
        if (turn->end == PDR_TURN_OPEN) {
            turn->end = PDR_TURN_ABORTED;
            turn->why = PDR_LIT(PDR_INTERRUPTED);
        }
        PDR_TRY(pdr__arena_keep(&turn->agent, &a->chat->memory, err));
        PDR_TRY(pdr__arena_keep(&turn->why, &a->chat->memory, err));
    }
done:
    return rc;
}

/* The sessions of those who took part before. */
static pdr_rc sessions_stage(struct staged *s, const struct applying *a,
                             pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < a->state->participant_count; i++) {
        const struct pdr__saved_participant *p = &a->state->participants[i];
        size_t index = 0;

        if (a->who[i] == NULL)
            PDR_TRY(absent_stage(s, a, p, err));
        if (p->session == NULL || a->who[i] == NULL)
            continue;
        index = (size_t)(a->who[i] - a->chat->members);
        pdr_session_free(s->sessions[index]);
        s->sessions[index] = NULL;
        PDR_TRY(pdr_session_from_value(&s->sessions[index], p->session, err));
    }
done:
    return rc;
}

static pdr_rc stage(struct staged *s, const struct applying *a, pdr_err *err)
{
    const pdr_chat_state *state = a->state;
    pdr_str origin = {NULL, 0}, last = {NULL, 0};
    pdr_rc rc = PDR_OK;

    s->log = pdr__calloc(state->log_count + 1, sizeof(*s->log));
    s->ready = pdr__calloc(state->log_count + 1, sizeof(*s->ready));
    s->parked = pdr__calloc(state->channel_count + 1, sizeof(*s->parked));
    s->absent = pdr__calloc(state->participant_count + 1, sizeof(*s->absent));
    s->turns = pdr__calloc(state->turn_count + 1, sizeof(*s->turns));
    s->sessions = pdr__calloc(a->chat->member_count + 1, sizeof(*s->sessions));
    if (s->log == NULL || s->ready == NULL || s->parked == NULL ||
        s->absent == NULL || s->turns == NULL || s->sessions == NULL)
        return pdr__nomem(err);
    if (!a->chat->has_id && state->id.len > 0)
        s->id = state->id;
    PDR_TRY(pdr__arena_keep(&s->id, &a->chat->memory, err));
    for (size_t i = 0; i < state->log_count; i++) {
        s->log[i] = state->log[i];
        s->log[i].value = pdr_value_ref(state->log[i].value);
        if (state->log[i].origin.ptr == NULL)
            continue;
        if (!pdr_str_equal(last, state->log[i].origin)) {
            last = origin = state->log[i].origin;
            PDR_TRY(pdr__arena_keep(&origin, &a->chat->memory, err));
        }
        s->log[i].origin = origin;
    }
    for (size_t i = 0; i < state->channel_count; i++) {
        if (!a->is_used[i])
            PDR_TRY(saved_copy(&s->parked[s->parked_count++],
                               &state->channels[i], state->log_count, a->chat,
                               err));
    }
    PDR_TRY(sessions_stage(s, a, err));
    PDR_TRY(turns_stage(s, a, err));
done:
    return rc;
}

/* The order goes on after the agent that spoke last, wherever it is now. If it
 * is missing, the first one that came after it and is here is next. */
static void selection_restore(struct pdr__selection *out,
                              const struct applying *a)
{
    const pdr_chat_state *state = a->state;
    const pdr_value *agent = pdr_value_get_c(state->selection, "agent");
    const size_t count = state->participant_count;
    size_t last = 0;

    pdr__selection_restore(out, state->selection);
    if (!out->has_selected || out->index < 0)
        return;
    if (agent == NULL)
        last = (size_t)out->index;
    else
        while (last < count &&
               !pdr_value_text_is(agent, state->participants[last].id))
            last++;
    if (last >= count)
        return; /* the place is all that is known */
    for (size_t i = 0; i < count; i++) {
        const struct pdr__member *m = a->who[(last + i) % count];

        if (m == NULL)
            continue;
        out->index = m - a->chat->members;
        if (i > 0) /* the one before it counts as the last */
            out->index += out->index > 0 ? -1 : (long)a->chat->member_count - 1;
        return;
    }
    *out = (struct pdr__selection){.index = -1};
}

/* Nothing here fails (A1). */
static void swap_in(struct applying *a, struct staged *s)
{
    pdr_chat *chat = a->chat;

    (void)pthread_mutex_lock(&chat->lock);
    pdr__free(chat->log);
    pdr__free(chat->ready);
    pdr__free(chat->parked);
    pdr__free(chat->absent);
    pdr__free(chat->turns);
    pdr__free(chat->channels);
    chat->log = s->log;
    chat->ready = s->ready;
    chat->log_count = a->state->log_count;
    chat->log_cap = chat->ready_cap = a->state->log_count + 1;
    chat->parked = s->parked;
    chat->parked_count = s->parked_count;
    chat->parked_cap = a->state->channel_count + 1;
    chat->absent = s->absent;
    chat->absent_count = s->absent_count;
    chat->turns = s->turns;
    chat->turn_count = a->state->turn_count;
    chat->turn_cap = a->state->turn_count + 1;
    chat->channels = a->channels;
    chat->channel_count = a->channel_count;
    chat->channel_cap = chat->member_count + 1;
    for (size_t i = 0; i < chat->member_count; i++) {
        if (s->sessions[i] == NULL)
            continue;
        pdr_session_free(chat->members[i].session);
        chat->members[i].session = s->sessions[i];
    }
    for (size_t i = 0; i < a->state->participant_count; i++) {
        const struct pdr__saved_participant *p = &a->state->participants[i];

        if (a->who[i] == NULL || p->source == NULL)
            continue;
        pdr_value_free(a->who[i]->source);
        a->who[i]->source = pdr_value_ref(p->source);
    }
    pdr_value_free(chat->document);
    chat->document =
        a->state->document != NULL ? pdr_value_ref(a->state->document) : NULL;
    chat->form = a->state->form;
    chat->turn = a->state->turn;
    if (a->state->epoch > 0)
        chat->epoch = a->state->epoch;
    chat->is_complete = a->state->is_complete;
    chat->rebuilds = a->opts->rebuilds;
    selection_restore(&chat->selection, a);
    chat->run = a->state->run;
    if (s->id.ptr != NULL)
        chat->id = s->id;
    chat->revision++;
    if (chat->revision < a->state->revision)
        chat->revision = a->state->revision;
    (void)pthread_mutex_unlock(&chat->lock);
    pdr__free(s->sessions);
    a->channels = NULL;
    a->channel_count = 0;
    *s = (struct staged){.log = NULL};
}

pdr_rc pdr_chat_apply(pdr_chat_report **out, pdr_chat *chat,
                      const pdr_chat_state *state,
                      const pdr_chat_apply_opts *opts, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL && state != NULL);
    if (out != NULL)
        *out = NULL;
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    rc = pdr__chat_apply(out, chat, state, opts, err, NULL, NULL);
    pdr__chat_leave(chat);
    return rc;
}

pdr_rc pdr__chat_apply(pdr_chat_report **out, pdr_chat *chat,
                       const pdr_chat_state *state,
                       const pdr_chat_apply_opts *opts, pdr_err *err,
                       pdr_rc (*fn)(pdr_err *err, void *arg), void *arg)
{
    const pdr_chat_apply_opts usual = {.rebuilds = false};
    struct applying a = {.chat = chat, .state = state, .opts = opts};
    struct staged staged = {.log = NULL};
    pdr_rc rc = PDR_OK;

    if (opts == NULL)
        a.opts = &usual;
    PDR_TRY(pdr__chat_is_new(chat, err));
    a.report = pdr__calloc(1, sizeof(*a.report));
    a.channels = pdr__calloc(chat->member_count + 1, sizeof(*a.channels));
    a.places = pdr__calloc(chat->member_count + 1, sizeof(*a.places));
    a.is_used = pdr__calloc(state->channel_count + 1, sizeof(*a.is_used));
    a.who =
        pdr__calloc(state->participant_count + 1, sizeof(struct pdr__member *));
    if (a.report == NULL || a.channels == NULL || a.places == NULL ||
        a.is_used == NULL || a.who == NULL)
        PDR_TRY(pdr__nomem(err));
    a.report->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    participants_match(&a);
    PDR_TRY(channels_stage(&a, err));
    PDR_TRY(rest_report(&a, err));
    a.report->base.which = case_of(&a);
    PDR_TRY(stage(&staged, &a, err));
    if (!a.opts->is_dry && fn != NULL)
        PDR_TRY(fn(err, arg));
    if (!a.opts->is_dry)
        swap_in(&a, &staged);
    if (out != NULL) {
        *out = &a.report->base;
        a.report = NULL;
    }
done:
    for (size_t i = 0; i < a.channel_count; i++)
        pdr__channel_dispose(&a.channels[i]);
    staged_free(&staged, state->log_count, chat->member_count);
    pdr__free(a.channels);
    pdr__free(a.places);
    pdr__free(a.is_used);
    pdr__free(a.who);
    pdr_chat_report_free(a.report != NULL ? &a.report->base : NULL);
    return rc;
}
