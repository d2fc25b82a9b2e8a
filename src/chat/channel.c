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
 *   N2  A new channel is in the list when it has had all that was in the log;
 *       one that could not be brought that far is given up. One that was parked
 *       goes on from where it is.
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

pdr_chat_agent pdr__agent_of(const pdr_chat *chat,
                             const struct pdr__member *member)
{
    return (pdr_chat_agent){.chat = chat,
                            .agent = member->agent,
                            .session = member->session,
                            .arg = member->kind == &pdr__history_kind
                                       ? (void *)(uintptr_t)member
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

void pdr__channel_dispose(struct pdr__channel *channel)
{
    channel->kind->release(channel->self);
    pdr_value_free(channel->source);
}

bool pdr__saved_channel_fits(const struct pdr__saved_channel *saved,
                             const struct pdr__member *m)
{
    if (saved->type.ptr != NULL && m->kind->channel_type != NULL &&
        !pdr_str_equal(saved->type, pdr_str_c(m->kind->channel_type)))
        return false;
    if (saved->key.ptr != NULL)
        return pdr_str_equal(saved->key, m->key);
    return m->sk_key.ptr != NULL && pdr_str_equal(saved->sk_key, m->sk_key);
}

bool pdr__saved_channel_is_foreign(const struct pdr__saved_channel *saved)
{
    return saved->key.ptr == NULL || saved->kind.ptr == NULL;
}

pdr_rc pdr__saved_restore(void **self, const struct pdr__saved_channel *saved,
                          const pdr_channel_kind *kind,
                          const pdr_chat_agent *agent,
                          const pdr_chat_link *link, pdr_err *err)
{
    pdr_value *empty = NULL;
    pdr_rc rc = PDR_OK;

    if (saved->state_version > kind->state_version)
        return PDR_FAIL(err, BAD_CHANNEL_STATE,
                        "the state of the channel has version %u, and up to "
                        "version %u can be read",
                        saved->state_version, kind->state_version);
    if (saved->state == NULL)
        PDR_TRY(pdr_value_new_string(&empty, PDR_LIT(""), err));
    rc = kind->restore(self, agent, link, saved->state_version,
                       pdr__saved_channel_is_foreign(saved),
                       saved->state != NULL ? saved->state : empty, err);
done:
    pdr_value_free(empty);
    return rc;
}

pdr_str pdr__saved_name(const struct pdr__saved_channel *saved)
{
    return saved->key.ptr != NULL ? saved->key : saved->sk_key;
}

size_t pdr__saved_find(const struct pdr__saved_channel *list, size_t count,
                       const struct pdr__member *m)
{
    for (size_t i = 0; i < count; i++) {
        if (pdr__saved_channel_fits(&list[i], m))
            return i;
    }
    return SIZE_MAX;
}

static bool kind_fits(const struct pdr__saved_channel *saved,
                      const struct pdr__member *m)
{
    if (saved->kind.ptr != NULL)
        return pdr_str_equal(saved->kind, pdr_str_c(m->kind->id));
    return saved->type.ptr != NULL && m->kind->channel_type != NULL &&
           pdr_str_equal(saved->type, pdr_str_c(m->kind->channel_type));
}

size_t pdr__saved_find_kind(const struct pdr__saved_channel *list, size_t count,
                            const bool *is_used, const pdr_chat *chat,
                            const struct pdr__member *m)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        if ((is_used != NULL && is_used[i]) || list[i].key.ptr != NULL ||
            !kind_fits(&list[i], m))
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    for (size_t i = 0; found != SIZE_MAX && i < chat->member_count; i++) {
        const struct pdr__member *other = &chat->members[i];
        const struct pdr__channel *has = pdr__channel_find(chat, other->key);

        if (!pdr_str_equal(other->key, m->key) &&
            kind_fits(&list[found], other) &&
            (has == NULL || has->source == NULL) && /* or it began anew */
            pdr__saved_find(list, count, other) == SIZE_MAX)
            return SIZE_MAX;
    }
    return found;
}

/* Is it the key of chat agents without a reducer? */
static bool is_plain_key(pdr_str sk_key)
{
    struct pdr__member plain = {.kind = &pdr__history_kind};
    const pdr_chat_agent agent = {.arg = &plain};
    pdr_buf parts = PDR_BUF_INIT(SIZE_MAX), key = PDR_BUF_INIT(SIZE_MAX);
    bool is_plain = true; /* without memory nobody can know */

    if (pdr__history_kind.exchange_key(&parts, &agent, NULL) == PDR_OK &&
        pdr__channel_sk_key(&key, pdr_buf_str(&parts), NULL) == PDR_OK)
        is_plain = pdr_str_equal(sk_key, pdr_buf_str(&key));
    pdr_buf_dispose(&parts);
    pdr_buf_dispose(&key);
    return is_plain;
}

pdr_str pdr__saved_sk_key(const struct pdr__saved_channel *saved,
                          const struct pdr__member *m)
{
    return m->sk_key.ptr != NULL || is_plain_key(saved->sk_key) ? m->sk_key
                                                                : saved->sk_key;
}

/* Has a parked channel of another type its key for Semantic Kernel? A file of
 * theirs cannot have both: the one that came from it keeps the key. */
static bool sk_key_is_taken(const pdr_chat *chat,
                            const struct pdr__member *member)
{
    for (size_t i = 0; member->sk_key.ptr != NULL && i < chat->parked_count;
         i++) {
        if (pdr_str_equal(chat->parked[i].sk_key, member->sk_key) &&
            !pdr__saved_channel_fits(&chat->parked[i], member))
            return true;
    }
    return false;
}

/* Take it from where it is parked. If that fails it stays there for the next
 * try; but one of no use begins anew (`*is_back` is false) if the chat was
 * restored so. */
static pdr_rc parked_restore(bool *is_back, struct pdr__channel *channel,
                             pdr_chat *chat, const pdr_chat_agent *agent,
                             const struct pdr__saved_channel *saved,
                             pdr_err *err)
{
    const pdr_chat_apply_opts applying = {.rebuilds = chat->rebuilds};
    pdr_chat_link link = {
        .log = chat->log, .ready = chat->ready, .applying = &applying};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    assert(saved->has_cursor && saved->cursor <= chat->log_count);
    channel->cursor = saved->cursor;
    link.end = channel->cursor + 1;
    rc = pdr__saved_restore(&channel->self, saved, channel->kind, agent, &link,
                            &why);
    *is_back = rc == PDR_OK;
    if (rc == PDR_OK ||
        (chat->rebuilds && (rc == PDR_EINVALID || rc == PDR_ENOTFOUND ||
                            rc == PDR_EVERSION || rc == PDR_ECORRUPT)))
        return PDR_OK;
    pdr__err_path(&why, pdr__saved_name(saved));
    (void)pdr__err_pass(err, &why);
    return pdr__wrap(err, rc, "parked channel of kind '%s'", channel->kind->id);
}

pdr_rc pdr__channel_fits(const pdr_chat *chat, const struct pdr__member *member,
                         pdr_err *err)
{
    const struct pdr__channel *found = pdr__channel_find(chat, member->key);

    if (found == NULL || found->kind == member->kind)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_CHANNEL,
                    "agent '%.*s' needs a channel of kind '%s', and that "
                    "of its key is of kind '%s'",
                    (int)pdr_agent_id(member->agent).len,
                    pdr_agent_id(member->agent).ptr, member->kind->id,
                    found->kind->id);
}

pdr_rc pdr__channel_ready(struct pdr__channel **out, pdr_chat *chat,
                          const struct pdr__member *member,
                          const pdr_chat_call *call, pdr_err *err)
{
    struct pdr__channel *found = pdr__channel_find(chat, member->key);
    struct pdr__channel made = {
        .kind = member->kind, .key = member->key, .sk_key = member->sk_key};
    const pdr_chat_agent agent = pdr__agent_of(chat, member);
    size_t parked = pdr__saved_find(chat->parked, chat->parked_count, member);
    bool is_back = false;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (found != NULL) {
        rc = pdr__channel_sync(found, chat, call, err);
        if (rc == PDR_OK)
            *out = found;
        return rc;
    }
    PDR_TRY(pdr__grow((void **)&chat->channels, &chat->channel_cap,
                      chat->channel_count + 1, sizeof(*chat->channels), err));
    if (sk_key_is_taken(chat, member))
        made.sk_key = pdr_str_n(NULL, 0);
    if (parked == SIZE_MAX)
        parked = pdr__saved_find_kind(chat->parked, chat->parked_count, NULL,
                                      chat, member);
    if (parked != SIZE_MAX && member->sk_key.ptr == NULL)
        made.sk_key = pdr__saved_sk_key(&chat->parked[parked], member);
    if (parked != SIZE_MAX)
        PDR_TRY(parked_restore(&is_back, &made, chat, &agent,
                               &chat->parked[parked], err));
    if (!is_back) {
        made.cursor = 0;
        PDR_TRY(member->kind->create(&made.self, &agent,
                                     call != NULL ? call->cancel : NULL, err));
    }
    rc = pdr__channel_sync(&made, chat, call, err);
    if (rc != PDR_OK && !is_back) { /* N2 */
        (void)!member->kind->reset(made.self, NULL, NULL);
        pdr__channel_dispose(&made);
        goto done;
    }
    if (parked != SIZE_MAX) {
        made.source = chat->parked[parked].source;
        chat->parked[parked].source = NULL;
        pdr__saved_channel_dispose(&chat->parked[parked]);
        chat->parked[parked] = chat->parked[--chat->parked_count];
    }
    chat->channels[chat->channel_count++] = made;
    if (rc == PDR_OK)
        *out = &chat->channels[chat->channel_count - 1];
done:
    return rc;
}

/* Deliver what waits, to one channel or, if that is NULL, to all. */
static pdr_rc channels_deliver(pdr_chat *chat, struct pdr__channel *only,
                               const pdr_chat_call *call, pdr_err *err)
{
    const struct pdr__step take = {.lease = PDR_STEP_TAKE};
    struct pdr__step give = {.lease = PDR_STEP_GIVE};
    struct pdr__boundary *boundary = NULL;
    bool has_taken = false;
    pdr_rc rc = PDR_OK, given = PDR_OK;

    for (size_t i = 0; i < chat->channel_count; i++) {
        struct pdr__channel *channel = &chat->channels[i];
        pdr_err why = PDR_ERR_INIT;
        pdr_rc one = PDR_OK;

        if ((only != NULL && channel != only) ||
            channel->cursor == chat->log_count)
            continue;
        if (!has_taken)
            PDR_TRY(pdr__home_commit(chat, &take, err));
        has_taken = true;
        one = pdr__channel_sync(channel, chat, call, &why);
        if (one != PDR_OK && rc == PDR_OK)
            rc = pdr__err_pass(err, &why);
    }
    if (has_taken && chat->home != NULL) { /* cursors, and what they have */
        given = pdr__boundary_new(&boundary, chat, rc == PDR_OK ? err : NULL);
        give.boundary = boundary;
        if (given == PDR_OK)
            given = pdr__home_commit(chat, &give, rc == PDR_OK ? err : NULL);
        pdr__boundary_free(boundary);
    }
done:
    return rc != PDR_OK ? rc : given;
}

pdr_rc pdr_chat_sync(pdr_chat *chat, const pdr_chat_call *call, pdr_err *err)
{
    pdr_chat_call room;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    call = pdr__home_enter(chat, &room, call);
    rc = channels_deliver(chat, NULL, call, err);
    rc = pdr__home_leave(chat, rc, err);
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
    pdr_chat_call room;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && chat != NULL);
    *out = NULL;
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        goto out;
    call = pdr__home_enter(chat, &room, call);
    member = pdr__member_find(chat, agent_id);
    if (member != NULL)
        channel = pdr__channel_find(chat, member->key);
    if (channel != NULL) {
        PDR_TRY(channels_deliver(chat, channel, call, err));
        link = pdr__link_of(chat, channel, call);
        PDR_TRY(
            channel->kind->read(channel->self, &link, err, read_one, &list));
    }
    for (size_t i = pdr_value_count(list); !oldest_first && i > 0; i--)
        PDR_TRY(pdr_value_append(&turned, pdr_value_at(list, i - 1), err));
    *out = oldest_first ? list : turned;
    *(oldest_first ? &list : &turned) = NULL;
done:
    rc = pdr__home_leave(chat, rc, err);
    pdr__chat_leave(chat);
out:
    pdr_value_free(list);
    pdr_value_free(turned);
    return rc;
}
