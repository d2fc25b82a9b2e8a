/*
 * aggregate.c - the channel of a chat that takes part in another one as one
 * agent.
 *
 *      outer log ──► receive ──► inner log ◄──► inner agents
 *          ▲                         │ run
 *          └── flat: what is to be ──┤
 *              seen, as it is said   │
 *          └── nested: the last of it ┘
 *
 * WHY  A group that works something out is one voice to the others. The channel
 *      is the inner chat itself, which lives in memory: its state is a saved
 *      chat inside of the saved chat around it, so it comes back with that one,
 *      or not at all. In a store, that state is committed with each step of the
 *      inner chat: whoever goes on after a crash finds the run as far as it
 *      got, and makes what is left of it.
 *
 * INVARIANTS
 *   G1  A chat is the channel of one aggregate at most, and not at work when it
 *       becomes that. All chats around are at work then, so none of them can be
 *       inside of itself.
 *   G2  Flat: what inner agents said and is to be seen is in the outer log once
 *       and in order, also if the run fails half way. Without memory for a
 *       message it is in the inner log alone.
 *   G3  Nested: a run that fails says nothing. What it has is in the inner log,
 *       and the next run goes on there.
 *   G4  What the outer log has from the inner one, the inner one knows in the
 *       same commit: after a crash the rest is passed on, and nothing twice.
 */
#include "chat.h"

#include <perdure/json.h>

#define SK_CHANNEL "Microsoft.SemanticKernel.Agents.AggregatorChannel"

/* --- keys -----------------------------------------------------------------
 */

static pdr_str name_of(const pdr_chat_agent *agent)
{
    const pdr_str name = pdr_agent_name(agent->agent);

    return name.len > 0 ? name : pdr_agent_id(agent->agent);
}

static pdr_rc aggregate_key(pdr_buf *out, const pdr_chat_agent *agent,
                            pdr_err *err)
{
    const pdr_aggregate *parts = agent->arg;
    pdr_rc rc = PDR_OK;

    if (parts == NULL || parts->make == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "an aggregate needs a function that makes its chat");
    PDR_TRY(pdr_buf_append(out, name_of(agent), err));
    PDR_TRY(pdr_buf_append(out, pdr_str_n("", 1), err));
done:
    return rc;
}

static pdr_rc aggregate_sk_key(pdr_buf *out, const pdr_chat_agent *agent,
                               pdr_err *err)
{
    pdr_rc rc =
        pdr_buf_append(out, pdr_str_n(SK_CHANNEL, sizeof(SK_CHANNEL)), err);

    return rc == PDR_OK ? aggregate_key(out, agent, err) : rc;
}

/* --- making ---------------------------------------------------------------
 */

/* Take the chat that somebody gave, if nobody else has it (G1). */
static bool inner_claim(pdr_chat *inner, const pdr_chat *outer)
{
    bool is_free = false;

    (void)pthread_mutex_lock(&inner->lock);
    is_free = !inner->is_active && inner->outer == NULL && inner->home == NULL;
    if (is_free)
        inner->outer = outer;
    (void)pthread_mutex_unlock(&inner->lock);
    return is_free;
}

static pdr_rc inner_make(pdr_chat **out, const pdr_chat_agent *agent,
                         pdr_err *err)
{
    const pdr_aggregate *parts = agent->arg;
    pdr_chat *inner = NULL;
    char shown[PDR_SHOWN];
    size_t levels = 1;
    pdr_rc rc = PDR_OK;

    for (const pdr_chat *at = agent->chat; at != NULL; at = at->outer)
        levels++;
    if (levels > PDR_MAX_CHAT_LEVELS)
        return PDR_FAIL(err, TOO_DEEP,
                        "chats are inside of each other, more than %u",
                        PDR_MAX_CHAT_LEVELS);
    rc = parts->make(&inner, err, parts->arg);
    if (rc != PDR_OK)
        return rc;
    if (inner == NULL || !inner_claim(inner, agent->chat))
        return PDR_FAIL(err, CHAT_IN_USE,
                        "aggregate '%s' needs a chat of its own, and was given "
                        "%s",
                        pdr__shown(shown, name_of(agent)),
                        inner == NULL ? "none"
                                      : "one that is at work, in another chat "
                                        "or in a store");
    *out = inner;
    return PDR_OK;
}

static pdr_rc aggregate_create(void **self, const pdr_chat_agent *agent,
                               pdr_cancel *cancel, pdr_err *err)
{
    pdr_chat *inner = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    (void)cancel;
    PDR_TRY(inner_make(&inner, agent, err));
    if (pdr_chat_agent_count(inner) == 0)
        PDR_TRY(PDR_FAIL(err, NO_AGENTS,
                         "nobody takes part in the chat of aggregate '%s'",
                         pdr__shown(shown, name_of(agent))));
    *self = inner;
    inner = NULL;
done:
    pdr_chat_free(inner);
    return rc;
}

static void aggregate_release(void *self)
{
    pdr_chat_free(self);
}

/* --- what others said -----------------------------------------------------
 */

/* Of a message: what a document has room for in the innermost chat. */
#define MAX_LEVELS (PDR_MAX_RESULT_LEVELS + 3)

/* As it is: a message of one log may be in another, whatever its role is. */
static pdr_rc aggregate_receive(void *self, const pdr_chat_message *message,
                                pdr_cancel *cancel, pdr_err *err)
{
    const pdr_str nobody = {NULL, 0};
    pdr_chat *inner = self;
    pdr_rc rc = PDR_OK;

    (void)cancel;
    if (pdr__levels(message->value) > MAX_LEVELS)
        return PDR_FAIL(err, TOO_DEEP,
                        "%zu levels; inside of a chat there is room for %u",
                        pdr__levels(message->value), MAX_LEVELS);
    rc = pdr__chat_enter(inner, false, err);
    if (rc != PDR_OK)
        return rc;
    PDR_TRY(pdr__log_reserve(inner, 1, err));
    pdr__log_append(inner, pdr_value_ref(message->value), 0, nobody);
done:
    pdr__chat_leave(inner);
    return rc;
}

static pdr_rc aggregate_read(
    void *self, const pdr_chat_link *link, pdr_err *err,
    pdr_rc (*fn)(const pdr_value *message, pdr_err *err, void *arg), void *arg)
{
    pdr_chat_message message;
    pdr_rc rc = PDR_OK;

    (void)link;
    for (uint64_t seq = 1; pdr_chat_message_at(&message, self, seq); seq++)
        PDR_TRY(fn(message.value, err, arg));
done:
    return rc;
}

/* --- what inner agents say ------------------------------------------------
 */

struct hearing {
    pdr_chat *inner;
    pdr_chat_link *link;
};

/* Pass a message on. The next one may take long. Traffic with tools has to wait
 * for it: it is to be seen if it is the last one outside, too. */
static pdr_rc flat_pass(const struct hearing *h,
                        const pdr_chat_message *message, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    h->inner->run.said = message->seq; /* G4 */
    PDR_TRY(pdr_chat_link_say(h->link, message->value, err));
    if (!pdr__is_tool_traffic(message->value))
        PDR_TRY(pdr__link_tell(h->link, false, err));
done:
    return rc;
}

/* A listener of the inner chat. */
static pdr_rc flat_hear(const pdr_chat_event *event, pdr_err *err, void *arg)
{
    const struct hearing *h = arg;

    return event->update != NULL
               ? pdr_chat_link_update(h->link, event->update, err)
               : flat_pass(h, event->message, err);
}

static pdr_rc flat_run(const struct hearing *h, const pdr_chat_call *call,
                       pdr_err *err)
{
    pdr_chat_message message;
    pdr_rc rc = PDR_OK;

    /* What a process that died had not passed on. */
    for (uint64_t seq = h->inner->run.said + 1;
         h->inner->run.is_open && pdr_chat_message_at(&message, h->inner, seq);
         seq++) {
        if (message.turn > 0 && message.is_visible)
            PDR_TRY(flat_pass(h, &message, err));
    }
    PDR_TRY(pdr_chat_run(h->inner, call, err));
done:
    return rc;
}

static pdr_rc nested_run(const struct hearing *h, const pdr_chat_call *call,
                         pdr_str name, pdr_err *err)
{
    pdr_chat *inner = h->inner;
    const uint64_t before =
        inner->run.is_open ? inner->run.after : pdr_chat_message_count(inner);
    uint64_t seq = 0;
    pdr_chat_message message = {.value = NULL};
    pdr_value *last = NULL, *author = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_chat_run(inner, call, err));
    for (seq = pdr_chat_message_count(inner); seq > before; seq--) {
        if (pdr_chat_message_at(&message, inner, seq) && message.turn > 0 &&
            message.is_visible)
            break;
    }
    if (seq <= before)
        goto done; /* nobody said anything */
    last = pdr_value_ref(message.value);
    if (name.len > 0)
        PDR_TRY(pdr_value_new_string(&author, name, err));
    else
        author = pdr_value_new_null();
    PDR_TRY(pdr_value_set(&last, PDR_LIT("AuthorName"), author, err));
    PDR_TRY(pdr_chat_link_say(h->link, last, err));
done:
    pdr_value_free(author);
    pdr_value_free(last);
    return rc;
}

static pdr_rc aggregate_invoke(void *self, const pdr_chat_agent *agent,
                               pdr_chat_link *link, pdr_err *err)
{
    const pdr_aggregate *parts = agent->arg;
    const bool is_flat = parts->mode == PDR_AGGREGATE_FLAT;
    struct hearing hearing = {.inner = self, .link = link};
    const pdr_chat_call call = {.cancel = pdr_chat_link_cancel(link),
                                .now_ms = pdr_chat_link_now(link),
                                .fn = is_flat ? flat_hear : NULL,
                                .arg = &hearing};
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    hearing.inner->around = link->chat;
    rc = is_flat
             ? flat_run(&hearing, &call, err)
             : nested_run(&hearing, &call, pdr_agent_name(agent->agent), err);
    hearing.inner->around = NULL;
    if (rc != PDR_OK)
        rc = pdr__wrap(err, rc, "in the chat of aggregate '%s'",
                       pdr__shown(shown, name_of(agent)));
    return rc;
}

/* --- saving, restoring ----------------------------------------------------
 */

static pdr_rc aggregate_save(pdr_value **out, void *self,
                             const pdr_chat_link *link, pdr_err *err)
{
    (void)link;
    return pdr__chat_to_value(out, self, err);
}

/* A saved chat, of any form; in the encoded one it is inside of a text. */
static pdr_rc state_open(pdr_chat_state **out, const pdr_value *state,
                         pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *read = NULL;
    pdr_str text = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(state) == PDR_STRING) {
        rc = pdr_value_text(&text, state, &scratch, &why);
        if (rc == PDR_OK)
            rc = pdr_json_read(&read, text, NULL, &why);
    }
    if (rc == PDR_OK)
        rc = pdr__chat_open_value(out, read != NULL ? read : state, &why);
    if (rc == PDR_EINVALID)
        rc = PDR_FAIL(err, BAD_CHANNEL_STATE,
                      "the state of an aggregate is a saved chat: %s",
                      why.message);
    else if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
    pdr_value_free(read);
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc aggregate_restore(void **self, const pdr_chat_agent *agent,
                                const pdr_chat_link *link,
                                uint32_t state_version, bool is_exchange,
                                const pdr_value *state, pdr_err *err)
{
    pdr_chat_state *saved = NULL;
    pdr_chat *inner = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    (void)state_version;
    (void)is_exchange;
    PDR_TRY(state_open(&saved, state, err));
    PDR_TRY(inner_make(&inner, agent, err));
    rc = pdr_chat_apply(link->inside, inner, saved, link->applying, err);
    if (rc != PDR_OK)
        PDR_TRY(pdr__wrap(err, rc, "in the chat of aggregate '%s'",
                          pdr__shown(shown, name_of(agent))));
    *self = inner;
    inner = NULL;
done:
    pdr_chat_free(inner);
    pdr_chat_state_free(saved);
    return rc;
}

static pdr_rc aggregate_exchange(pdr_value **out, const pdr_value *state,
                                 const pdr_chat_link *link, pdr_err *err)
{
    pdr_chat_state *saved = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(state_open(&saved, state, err));
    PDR_TRY(pdr__chat_exchange(out, saved, link, err));
done:
    pdr_chat_state_free(saved);
    return rc;
}

static pdr_rc aggregate_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    const pdr_chat_call call = {.cancel = cancel};
    pdr_buf left = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_chat_reset(self, &left, &call, err));
    if (left.len > 0)
        rc = PDR_FAIL(err, CHANNEL_FAILED, "inside of it, %.*s",
                      (int)left.len - 1, left.ptr);
done:
    pdr_buf_dispose(&left);
    return rc;
}

const pdr_channel_kind *pdr_channel_aggregate(void)
{
    static const pdr_channel_kind kind = {
        .version = PDR_CHANNEL_KIND_VERSION,
        .id = "aggregate",
        .state_version = 1,
        .key = aggregate_key,
        .exchange_key = aggregate_sk_key,
        .agent_type = "Microsoft.SemanticKernel.Agents.AggregatorAgent",
        .channel_type = SK_CHANNEL,
        .create = aggregate_create,
        .restore = aggregate_restore,
        .receive = aggregate_receive,
        .invoke = aggregate_invoke,
        .read = aggregate_read,
        .save = aggregate_save,
        .exchange = aggregate_exchange,
        .reset = aggregate_reset,
        .release = aggregate_release,
    };

    return &kind;
}
