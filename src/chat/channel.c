/*
 * channel.c - how far each channel has got, and what reaches it.
 *
 *      log      1  2  3  4  5  6  7
 *      cursor            ▲              has had 1 to 3
 *                        └─► 4, 5, 6, 7 are delivered before the agent speaks;
 *                            what it says then, the channel has
 *
 * WHY  A queue for each channel has to be saved, retried and emptied, and goes
 *      wrong in each of these. A number does not: what waits is what comes
 * after it, and it moves when a message was taken.
 *
 * INVARIANTS
 *   N1  A message reaches a channel once and in order. Whatever fails, the next
 *       try begins with the message that was not taken.
 *   N2  A channel is in the list when it has had all that was in the log; one
 *       that could not be brought that far is given up.
 */
#include "chat.h"

struct pdr__channel *pdr__channel_find(const pdr_chat *chat, pdr_str key)
{
    for (size_t i = 0; i < chat->channel_count; i++) {
        if (pdr_str_equal(chat->channels[i].key, key))
            return &chat->channels[i];
    }
    return NULL;
}

pdr_chat_agent pdr__agent_of(const struct pdr__member *member)
{
    return (pdr_chat_agent){.agent = member->agent,
                            .session = member->session,
                            .arg = member->kind == &pdr__history_kind
                                       ? (void *)(uintptr_t)&member->reduction
                                       : member->arg};
}

pdr_chat_link pdr__link_of(pdr_chat *chat, struct pdr__channel *channel,
                           const pdr_chat_call *call)
{
    return (pdr_chat_link){.log = chat->log,
                           .end = channel->cursor + 1,
                           .ready = chat->ready,
                           .chat = chat,
                           .channel = channel,
                           .call = call};
}

uint64_t pdr_chat_link_end(const pdr_chat_link *link)
{
    return link->end;
}

pdr_cancel *pdr_chat_link_cancel(const pdr_chat_link *link)
{
    return link->call != NULL ? link->call->cancel : NULL;
}

int64_t pdr_chat_link_now(const pdr_chat_link *link)
{
    return link->call != NULL ? link->call->now_ms : 0;
}

/* --- delivering -----------------------------------------------------------
 */

pdr_rc pdr__channel_sync(struct pdr__channel *channel, pdr_chat *chat,
                         const pdr_chat_call *call, pdr_err *err)
{
    pdr_cancel *cancel = call != NULL ? call->cancel : NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    while (channel->cursor < chat->log_count) {
        const struct pdr__log_entry *entry = &chat->log[channel->cursor];
        const pdr_chat_message message = {.seq = channel->cursor + 1,
                                          .turn = entry->turn,
                                          .origin = entry->origin,
                                          .is_visible = entry->is_visible,
                                          .value = entry->value};

        if (pdr_cancel_is_set(cancel))
            return PDR_FAIL(err, RUN_CANCELLED, "%s",
                            "cancelled while a channel was brought up to "
                            "date; the rest is delivered later");
        rc = channel->kind->receive(channel->self, &message, cancel, &why);
        if (rc != PDR_OK) { /* N1 */
            (void)PDR_FAIL(err, CHANNEL_FAILED,
                           "channel '%.*s' did not take message %llu: %s",
                           (int)channel->key.len, channel->key.ptr,
                           (unsigned long long)message.seq, why.message);
            if (err != NULL)
                err->code = rc;
            return rc;
        }
        channel->cursor++;
    }
    return PDR_OK;
}

/* --- beginning ------------------------------------------------------------
 */

void pdr__saved_channel_dispose(struct pdr__saved_channel *saved)
{
    pdr_value_free(saved->state);
    pdr_value_free(saved->source);
}

/* What is parked under the key of a member; SIZE_MAX: nothing. */
static size_t parked_find(const pdr_chat *chat,
                          const struct pdr__member *member)
{
    for (size_t i = 0; i < chat->parked_count; i++) {
        const struct pdr__saved_channel *saved = &chat->parked[i];

        if (pdr_str_equal(saved->key, member->key) ||
            (saved->key.ptr == NULL && member->sk_key.ptr != NULL &&
             pdr_str_equal(saved->sk_key, member->sk_key)))
            return i;
    }
    return SIZE_MAX;
}

/* Take it from where it is parked; false: it is of no use. */
static bool parked_restore(struct pdr__channel *channel, pdr_chat *chat,
                           const pdr_chat_agent *agent,
                           const struct pdr__saved_channel *saved)
{
    pdr_chat_link link = {.log = chat->log, .ready = chat->ready};
    const bool is_exchange = saved->key.ptr == NULL;

    channel->cursor = saved->has_cursor ? saved->cursor : 0;
    if (channel->cursor > chat->log_count)
        return false;
    link.end = channel->cursor + 1;
    return saved->state != NULL &&
           channel->kind->restore(&channel->self, agent, &link,
                                  saved->state_version, is_exchange,
                                  saved->state, NULL) == PDR_OK;
}

pdr_rc pdr__channel_ready(struct pdr__channel **out, pdr_chat *chat,
                          const struct pdr__member *member,
                          const pdr_chat_call *call, pdr_err *err)
{
    struct pdr__channel *found = pdr__channel_find(chat, member->key);
    struct pdr__channel made = {
        .kind = member->kind, .key = member->key, .sk_key = member->sk_key};
    const pdr_chat_agent agent = pdr__agent_of(member);
    size_t parked = parked_find(chat, member);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (found != NULL && found->kind != member->kind)
        return PDR_FAIL(err, WRONG_CHANNEL,
                        "agent '%.*s' needs a channel of kind '%s', and that "
                        "of its key is of kind '%s'",
                        (int)pdr_agent_id(member->agent).len,
                        pdr_agent_id(member->agent).ptr, member->kind->id,
                        found->kind->id);
    if (found != NULL) {
        rc = pdr__channel_sync(found, chat, call, err);
        if (rc == PDR_OK)
            *out = found;
        return rc;
    }
    if (parked == SIZE_MAX ||
        !parked_restore(&made, chat, &agent, &chat->parked[parked])) {
        made.cursor = 0;
        PDR_TRY(member->kind->create(&made.self, &agent,
                                     call != NULL ? call->cancel : NULL, err));
    }
    rc = pdr__channel_sync(&made, chat, call, err);
    if (rc == PDR_OK)
        rc = pdr__grow((void **)&chat->channels, &chat->channel_cap,
                       chat->channel_count + 1, sizeof(*chat->channels), err);
    if (rc != PDR_OK) { /* N2 */
        if (parked == SIZE_MAX)
            (void)!member->kind->reset(made.self, NULL, NULL);
        member->kind->release(made.self);
        goto done;
    }
    if (parked != SIZE_MAX) {
        pdr__saved_channel_dispose(&chat->parked[parked]);
        chat->parked[parked] = chat->parked[--chat->parked_count];
    }
    chat->channels[chat->channel_count++] = made;
    *out = &chat->channels[chat->channel_count - 1];
done:
    return rc;
}

pdr_rc pdr_chat_sync(pdr_chat *chat, const pdr_chat_call *call, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < chat->channel_count; i++) {
        pdr_err why = PDR_ERR_INIT;
        pdr_rc one = pdr__channel_sync(&chat->channels[i], chat, call, &why);

        if (one != PDR_OK && rc == PDR_OK)
            rc = pdr__err_pass(err, &why);
    }
    pdr__chat_leave(chat);
    return rc;
}

/* --- reading --------------------------------------------------------------
 */

/* Appends to the array `arg`. */
static pdr_rc read_one(const pdr_value *message, pdr_err *err, void *arg)
{
    return pdr_value_append(arg, message, err);
}

pdr_rc pdr_chat_read_as(pdr_value **out, pdr_chat *chat, pdr_str agent_id,
                        bool oldest_first, const pdr_chat_call *call,
                        pdr_err *err)
{
    const struct pdr__member *member = NULL;
    struct pdr__channel *channel = NULL;
    pdr_value *list = pdr_value_new_array(), *turned = pdr_value_new_array();
    pdr_chat_link link;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && chat != NULL);
    *out = NULL;
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        goto out;
    member = pdr__member_find(chat, agent_id);
    if (member != NULL)
        channel = pdr__channel_find(chat, member->key);
    if (channel != NULL) {
        PDR_TRY(pdr__channel_sync(channel, chat, call, err));
        link = pdr__link_of(chat, channel, call);
        PDR_TRY(
            channel->kind->read(channel->self, &link, err, read_one, &list));
    }
    for (size_t i = pdr_value_count(list); !oldest_first && i > 0; i--)
        PDR_TRY(pdr_value_append(&turned, pdr_value_at(list, i - 1), err));
    *out = oldest_first ? list : turned;
    *(oldest_first ? &list : &turned) = NULL;
done:
    pdr__chat_leave(chat);
out:
    pdr_value_free(list);
    pdr_value_free(turned);
    return rc;
}
