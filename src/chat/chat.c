/*
 * chat.c - a chat: who takes part, what was said, one operation at a time.
 *
 *      callers ──► add ──► log ──► channels ──► agents
 *                           ▲                      │ turn
 *                           └──────────────────────┘
 *
 * INVARIANTS
 *   C1  There is one log. A message is in it once, and stays as it is until the
 *       chat is reset.
 *   C2  Who changes a chat has its token. It is given back on every way out.
 *   C3  Reading and saving need no token: readers see whole messages, a save
 *       while a turn is under way what was before that turn.
 *
 * NOT HERE  How messages reach agents (channel.c, history.c), turns (turn.c),
 *           documents (open.c, write.c, save.c, apply.c).
 */
#include "chat.h"

#include "session.h"

#define DEFAULT_TURNS 99 /* of a run that something may end */

/* --- making ---------------------------------------------------------------
 */

static pdr_rc secrets_copy(pdr_chat *chat, const char *const *secrets,
                           pdr_err *err)
{
    void *room = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    while (secrets != NULL && secrets[count] != NULL)
        count++;
    if (count == 0)
        return PDR_OK;
    PDR_TRY(pdr__arena_alloc(&room, &chat->memory,
                             (count + 1) * sizeof(*chat->secrets), err));
    chat->secrets = room;
    for (size_t i = 0; i < count; i++) {
        pdr_str text = pdr_str_c(secrets[i]);

        PDR_TRY(pdr__arena_keep(&text, &chat->memory, err));
        chat->secrets[i] = text.ptr;
    }
    chat->secrets[count] = NULL;
done:
    return rc;
}

pdr_rc pdr_chat_new(pdr_chat **out, const pdr_chat_opts *opts, pdr_err *err)
{
    const pdr_chat_opts usual = {.max_turns = 0};
    struct pdr__uuid uuid;
    char made[PDR_UUID_TEXT];
    pdr_chat *chat = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    if (opts == NULL)
        opts = &usual;
    chat = pdr__calloc(1, sizeof(*chat));
    if (chat == NULL)
        return pdr__nomem(err);
    chat->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    (void)pthread_mutex_init(&chat->lock, NULL);
    (void)pthread_cond_init(&chat->changed, NULL);
    chat->id = opts->id;
    chat->has_id = opts->id.len > 0;
    if (!chat->has_id) {
        PDR_TRY(pdr__uuid_v4(&uuid, pdr__rand_system(), err));
        pdr__uuid_write(made, &uuid);
        chat->id = pdr_str_c(made);
    }
    PDR_TRY(pdr__arena_keep(&chat->id, &chat->memory, err));
    if (opts->first.len > 0) {
        chat->first = opts->first;
        PDR_TRY(pdr__arena_keep(&chat->first, &chat->memory, err));
    }
    PDR_TRY(secrets_copy(chat, opts->secrets, err));
    PDR_TRY(pdr__rule_new(&chat->ends, &opts->ends, err));
    if (opts->select != NULL && opts->select_prompt != NULL)
        PDR_TRY(PDR_FAIL(err, BAD_OPTION, "%s",
                         "a chat has a function and a prompt to select: give "
                         "one of them"));
    if (opts->select_prompt != NULL)
        PDR_TRY(pdr__prompt_new(&chat->select_prompt, opts->select_prompt,
                                "_agents_", err));
    chat->falls_back = opts->falls_back;
    chat->select = opts->select;
    chat->select_arg = opts->select_arg;
    chat->max_turns = opts->max_turns;
    if (chat->max_turns == 0)
        chat->max_turns =
            opts->ends.kind == PDR_TERMINATE_NEVER ? 1 : DEFAULT_TURNS;
    if (opts->no_turns)
        chat->max_turns = 0;
    chat->resets_complete = opts->resets_complete;
    chat->kinds = opts->kinds;
    chat->selection.index = -1;
    chat->epoch = 1;
    *out = chat;
    chat = NULL;
done:
    pdr_chat_free(chat);
    return rc;
}

/* Everything that was said, and what came of it. Channels are released as they
 * are. */
static void chat_clear(pdr_chat *chat)
{
    for (size_t i = 0; i < chat->log_count; i++) {
        pdr_value_free(chat->log[i].value);
        pdr_value_free(chat->ready[i]);
    }
    for (size_t i = 0; i < chat->channel_count; i++)
        pdr__channel_dispose(&chat->channels[i]);
    for (size_t i = 0; i < chat->parked_count; i++)
        pdr__saved_channel_dispose(&chat->parked[i]);
    for (size_t i = 0; i < chat->absent_count; i++) {
        pdr_value_free(chat->absent[i].session);
        pdr_value_free(chat->absent[i].source);
    }
    chat->absent_count = 0;
    chat->log_count = chat->channel_count = chat->parked_count = 0;
    chat->turn_count = 0;
    chat->turn = 0;
    chat->is_complete = false;
    chat->selection = (struct pdr__selection){.index = -1};
    chat->run = (struct pdr__run){.is_open = false};
}

void pdr_chat_free(pdr_chat *chat)
{
    if (chat == NULL)
        return;
    chat_clear(chat);
    for (size_t i = 0; i < chat->member_count; i++) {
        pdr_agent_free(chat->members[i].agent);
        pdr_session_free(chat->members[i].session);
        pdr_value_free(chat->members[i].source);
        pdr_client_free(chat->members[i].reduction.client);
    }
    pdr_value_free(chat->document);
    pdr__home_free(chat->home);
    pdr__boundary_free(chat->boundary);
    pdr__prompt_free(chat->select_prompt);
    pdr__rule_free(chat->ends);
    pdr__free(chat->log);
    pdr__free(chat->ready);
    pdr__free(chat->channels);
    pdr__free(chat->parked);
    pdr__free(chat->absent);
    pdr__free(chat->members);
    pdr__free(chat->turns);
    pdr__arena_dispose(&chat->memory);
    (void)pthread_cond_destroy(&chat->changed);
    (void)pthread_mutex_destroy(&chat->lock);
    pdr__free(chat);
}

pdr_str pdr_chat_id(const pdr_chat *chat)
{
    return chat->id;
}

/* --- the token ------------------------------------------------------------
 */

pdr_rc pdr__chat_enter(pdr_chat *chat, bool is_long, pdr_err *err)
{
    struct pdr__boundary *boundary = NULL;
    bool is_ours = false;
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&chat->lock);
    is_ours = !chat->is_active;
    chat->is_active = true;
    (void)pthread_mutex_unlock(&chat->lock);
    if (!is_ours)
        return PDR_FAIL(err, CHAT_BUSY, "%s",
                        "another operation of the chat is under way: wait for "
                        "it");
    rc = pdr__home_check(chat, err);
    if (rc == PDR_OK && !is_long)
        return PDR_OK;
    if (rc == PDR_OK)
        rc = pdr__boundary_new(&boundary, chat, err);
    if (rc != PDR_OK) {
        pdr__chat_leave(chat);
        return rc;
    }
    (void)pthread_mutex_lock(&chat->lock);
    chat->boundary = boundary;
    (void)pthread_cond_broadcast(&chat->changed); /* who saves can go on */
    (void)pthread_mutex_unlock(&chat->lock);
    return PDR_OK;
}

void pdr__chat_leave(pdr_chat *chat)
{
    struct pdr__boundary *boundary = NULL;

    (void)pthread_mutex_lock(&chat->lock);
    boundary = chat->boundary;
    chat->boundary = NULL;
    chat->is_active = false;
    (void)pthread_cond_broadcast(&chat->changed);
    (void)pthread_mutex_unlock(&chat->lock);
    pdr__boundary_free(boundary);
}

bool pdr_chat_is_active(const pdr_chat *chat)
{
    pdr_chat *own = (pdr_chat *)(uintptr_t)chat;
    bool is_active = false;

    (void)pthread_mutex_lock(&own->lock);
    is_active = chat->is_active;
    (void)pthread_mutex_unlock(&own->lock);
    return is_active;
}

bool pdr_chat_is_complete(const pdr_chat *chat)
{
    pdr_chat *own = (pdr_chat *)(uintptr_t)chat;
    bool is_complete = false;

    (void)pthread_mutex_lock(&own->lock);
    is_complete = chat->is_complete;
    (void)pthread_mutex_unlock(&own->lock);
    return is_complete;
}

pdr_rc pdr_chat_set_complete(pdr_chat *chat, bool is_complete, pdr_err *err)
{
    struct pdr__boundary *boundary = NULL;
    struct pdr__step step = {.lease = PDR_STEP_PLAIN};
    pdr_chat_call room;
    pdr_rc rc = pdr__chat_enter(chat, false, err);

    if (rc != PDR_OK)
        return rc;
    (void)pdr__home_enter(chat, &room, NULL);
    PDR_TRY(pdr__boundary_new(&boundary, chat, err));
    boundary->is_complete = is_complete;
    step.boundary = boundary;
    PDR_TRY(pdr__home_commit(chat, &step, err));
    (void)pthread_mutex_lock(&chat->lock);
    chat->is_complete = is_complete;
    (void)pthread_mutex_unlock(&chat->lock);
done:
    pdr__boundary_free(boundary);
    rc = pdr__home_leave(chat, rc, err);
    pdr__chat_leave(chat);
    return rc;
}

/* --- agents ---------------------------------------------------------------
 */

pdr_rc pdr__secrets_check(const pdr_chat *chat, pdr_str text, const char *what,
                          pdr_err *err)
{
    for (const char **secret = chat->secrets; secret != NULL && *secret != NULL;
         secret++) {
        if (memmem(text.ptr, text.len, *secret, strlen(*secret)) != NULL)
            return PDR_FAIL(err, LITERAL_SECRET, "%s has a secret in it", what);
    }
    return PDR_OK;
}

const pdr_channel_kind *pdr__kind_find(const pdr_channel_kind *const *kinds,
                                       pdr_str id)
{
    const pdr_channel_kind *const ours[] = {&pdr__history_kind,
                                            pdr_channel_remote(),
                                            pdr_channel_aggregate(), NULL};
    const pdr_channel_kind *const *lists[] = {ours, kinds};

    for (size_t i = 0; i < PDR_COUNT(lists); i++) {
        for (size_t k = 0; lists[i] != NULL && lists[i][k] != NULL; k++) {
            if (pdr_str_equal(pdr_str_c(lists[i][k]->id), id))
                return lists[i][k];
        }
    }
    return NULL;
}

static pdr_rc kind_check(const pdr_channel_kind *kind, pdr_err *err)
{
    if (kind->version == 0 || kind->version > PDR_CHANNEL_KIND_VERSION)
        return PDR_FAIL(err, TABLE_VERSION,
                        "this library knows tables of channels up to version "
                        "%d, this one has version %u",
                        PDR_CHANNEL_KIND_VERSION, kind->version);
    if (kind->id == NULL || kind->id[0] == '\0' || kind->key == NULL ||
        kind->create == NULL || kind->restore == NULL ||
        kind->receive == NULL || kind->invoke == NULL || kind->read == NULL ||
        kind->save == NULL || kind->reset == NULL || kind->release == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "the table of a channel lacks a required function");
    return PDR_OK;
}

/* The keys of the channel that the agent needs. */
static pdr_rc member_keys(struct pdr__member *m, pdr_chat *chat, pdr_err *err)
{
    const pdr_chat_agent about = pdr__agent_of(chat, m);
    pdr_buf parts = PDR_BUF_INIT(SIZE_MAX), key = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(
        &parts, pdr_str_n(m->kind->id, strlen(m->kind->id) + 1), err));
    PDR_TRY(m->kind->key(&parts, &about, err));
    PDR_TRY(pdr__secrets_check(chat, pdr_buf_str(&parts),
                               "the key of a channel", err));
    PDR_TRY(pdr__channel_key(&key, pdr_buf_str(&parts), err));
    m->key = pdr_buf_str(&key);
    PDR_TRY(pdr__arena_keep(&m->key, &chat->memory, err));
    if (m->kind->exchange_key == NULL)
        goto done;
    pdr_buf_clear(&parts);
    pdr_buf_clear(&key);
    PDR_TRY(m->kind->exchange_key(&parts, &about, err));
    if (parts.len == 0)
        goto done; /* not this one */
    PDR_TRY(pdr__channel_sk_key(&key, pdr_buf_str(&parts), err));
    m->sk_key = pdr_buf_str(&key);
    PDR_TRY(pdr__arena_keep(&m->sk_key, &chat->memory, err));
done:
    pdr_buf_dispose(&parts);
    pdr_buf_dispose(&key);
    return rc;
}

struct pdr__member *pdr__member_find(const pdr_chat *chat, pdr_str id)
{
    for (size_t i = 0; i < chat->member_count; i++) {
        if (pdr_str_equal(pdr_agent_id(chat->members[i].agent), id))
            return &chat->members[i];
    }
    return NULL;
}

size_t pdr__participant_find(const struct pdr__saved_participant *list,
                             size_t count, const pdr_chat *chat,
                             const pdr_agent *agent)
{
    const pdr_str name = pdr_agent_name(agent);
    size_t found = SIZE_MAX, same = 0;

    for (size_t i = 0; i < count; i++) {
        if (pdr_str_equal(list[i].id, pdr_agent_id(agent)))
            return i;
        if (name.len > 0 && pdr_str_equal(list[i].name, name)) {
            found = i;
            same++;
        }
    }
    for (size_t i = 0; i < chat->member_count; i++) {
        const pdr_agent *other = chat->members[i].agent;

        same += other != agent && pdr_str_equal(pdr_agent_name(other), name);
    }
    if (found == SIZE_MAX || same > 1 ||
        pdr__member_find(chat, list[found].id) != NULL)
        return SIZE_MAX;
    return found;
}

/* The session of an agent: the one that it had in the chat before, as `absent`
 * (SIZE_MAX: it had none), or a new one. */
static pdr_rc member_session(struct pdr__member *m, pdr_chat *chat,
                             size_t absent, pdr_err *err)
{
    const pdr_session_parts parts = {.kind = PDR_SESSION_KIND_CLIENT};

    if (absent != SIZE_MAX && chat->absent[absent].session != NULL)
        return pdr_session_from_value(&m->session, chat->absent[absent].session,
                                      err);
    return pdr_session_new(&m->session, &parts, err);
}

/* It is not absent any more. With the lock held. */
static void absent_drop(pdr_chat *chat, size_t index)
{
    pdr_value_free(chat->absent[index].session);
    memmove(&chat->absent[index], &chat->absent[index + 1],
            (--chat->absent_count - index) * sizeof(*chat->absent));
}

pdr_rc pdr_chat_join(pdr_chat *chat, const pdr_chat_joining *joining,
                     pdr_err *err)
{
    struct pdr__member m = {.kind = &pdr__history_kind};
    size_t absent = SIZE_MAX;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL && joining != NULL && joining->agent != NULL);
    if (joining->kind != NULL)
        m.kind = joining->kind;
    rc = kind_check(m.kind, err);
    if (rc == PDR_OK && (unsigned)joining->adapter.traffic > PDR_TRAFFIC_DROP)
        rc = PDR_FAIL(err, BAD_OPTION, "%s",
                      "traffic of others is kept, its text, or dropped");
    if (rc == PDR_OK)
        rc = pdr__reduction_check(&joining->reduction, err);
    if (rc == PDR_OK)
        rc = pdr__chat_enter(chat, false, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr__member_find(chat, pdr_agent_id(joining->agent)) != NULL)
        goto done;
    m.agent = pdr_agent_ref(joining->agent);
    m.arg = joining->arg;
    PDR_TRY(pdr__reduction_copy(&m.reduction, &joining->reduction,
                                &chat->memory, err));
    m.adapter = joining->adapter;
    PDR_TRY(member_keys(&m, chat, err));
    absent =
        pdr__participant_find(chat->absent, chat->absent_count, chat, m.agent);
    PDR_TRY(member_session(&m, chat, absent, err));
    (void)pthread_mutex_lock(&chat->lock);
    rc = pdr__grow((void **)&chat->members, &chat->member_cap,
                   chat->member_count + 1, sizeof(*chat->members), err);
    if (rc == PDR_OK) {
        if (absent != SIZE_MAX) {
            m.source = chat->absent[absent].source;
            absent_drop(chat, absent);
        }
        chat->members[chat->member_count++] = m;
        m.agent = NULL;
        m.session = NULL;
        m.reduction.client = NULL;
    }
    (void)pthread_mutex_unlock(&chat->lock);
done:
    pdr_agent_free(m.agent);
    pdr_session_free(m.session);
    pdr_client_free(m.reduction.client);
    pdr__chat_leave(chat);
    return rc;
}

size_t pdr_chat_agent_count(const pdr_chat *chat)
{
    pdr_chat *own = (pdr_chat *)(uintptr_t)chat;
    size_t count = 0;

    (void)pthread_mutex_lock(&own->lock);
    count = chat->member_count;
    (void)pthread_mutex_unlock(&own->lock);
    return count;
}

pdr_agent *pdr_chat_agent_at(const pdr_chat *chat, size_t index)
{
    pdr_chat *own = (pdr_chat *)(uintptr_t)chat;
    pdr_agent *agent = NULL;

    (void)pthread_mutex_lock(&own->lock);
    if (index < chat->member_count)
        agent = chat->members[index].agent;
    (void)pthread_mutex_unlock(&own->lock);
    return agent;
}

/* --- the log --------------------------------------------------------------
 */

bool pdr__is_picture(const pdr_value *content, pdr_shape shape)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str type = {NULL, 0};
    bool is_picture = false;

    if (shape == PDR_SHAPE_SK && content != NULL &&
        pdr_value_kind(content) == PDR_OBJECT &&
        pdr_value_get_c(content, "$type") != NULL &&
        pdr_value_text_is(pdr_value_get_c(content, "$type"),
                          PDR_LIT("ImageContent")))
        return true;
    if (pdr_content_media_type(&type, content, shape, &scratch, NULL) == PDR_OK)
        is_picture = type.len >= 6 && memcmp(type.ptr, "image/", 6) == 0;
    pdr_buf_dispose(&scratch);
    return is_picture;
}

pdr_rc pdr__log_reserve(pdr_chat *chat, size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&chat->lock);
    rc = pdr__grow((void **)&chat->log, &chat->log_cap, chat->log_count + count,
                   sizeof(*chat->log), err);
    if (rc == PDR_OK)
        rc = pdr__grow((void **)&chat->ready, &chat->ready_cap,
                       chat->log_count + count, sizeof(*chat->ready), err);
    (void)pthread_mutex_unlock(&chat->lock);
    return rc;
}

void pdr__log_append(pdr_chat *chat, pdr_value *value, uint64_t turn,
                     pdr_str origin)
{
    (void)pthread_mutex_lock(&chat->lock);
    chat->ready[chat->log_count] = NULL;
    chat->log[chat->log_count++] =
        (struct pdr__log_entry){turn, origin, true, value};
    chat->revision++;
    (void)pthread_mutex_unlock(&chat->lock);
}

uint64_t pdr_chat_message_count(const pdr_chat *chat)
{
    pdr_chat *own = (pdr_chat *)(uintptr_t)chat;
    uint64_t count = 0;

    (void)pthread_mutex_lock(&own->lock);
    count = chat->log_count;
    (void)pthread_mutex_unlock(&own->lock);
    return count;
}

static pdr_chat_message message_of(const struct pdr__log_entry *entry,
                                   uint64_t seq)
{
    return (pdr_chat_message){.seq = seq,
                              .turn = entry->turn,
                              .origin = entry->origin,
                              .is_visible = entry->is_visible,
                              .value = entry->value};
}

bool pdr_chat_message_at(pdr_chat_message *out, const pdr_chat *chat,
                         uint64_t seq)
{
    pdr_chat *own = (pdr_chat *)(uintptr_t)chat;
    bool found = false;

    (void)pthread_mutex_lock(&own->lock);
    found = seq > 0 && seq <= chat->log_count;
    if (found)
        *out = message_of(&chat->log[seq - 1], seq);
    (void)pthread_mutex_unlock(&own->lock);
    return found;
}

bool pdr_chat_link_message(pdr_chat_message *out, const pdr_chat_link *link,
                           uint64_t seq)
{
    if (seq == 0 || seq >= link->end)
        return false;
    *out = message_of(&link->log[seq - 1], seq);
    return true;
}

/* A blank name is none: services refuse it. */
static pdr_rc author_trim(pdr_value **io, pdr_err *err)
{
    const pdr_value *author = pdr_message_author(*io, PDR_SHAPE_SK);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *null = NULL;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (author == NULL)
        return PDR_OK;
    PDR_TRY(pdr__value_sound_text(&text, author, &scratch, err));
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ' ' && text.ptr[i] != '\t' && text.ptr[i] != '\n' &&
            text.ptr[i] != '\r')
            goto done;
    }
    null = pdr_value_new_null();
    PDR_TRY(pdr_value_set(io, PDR_LIT("AuthorName"), null, err));
done:
    pdr_value_free(null);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* One message of a caller, in the shape of the log; owned. */
static pdr_rc message_take(pdr_value **out, const pdr_value *message,
                           pdr_shape shape, size_t index, pdr_err *err)
{
    const pdr_value *role = NULL;
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND,
                        "a message is an object, message %zu is %s", index,
                        pdr__kind_phrase(message));
    role = pdr_message_role(message, shape);
    if (role == NULL)
        return PDR_FAIL(err, WRONG_KIND, "message %zu has no role", index);
    if (pdr__is_folded(role, PDR_LIT("system")))
        return PDR_FAIL(err, SYSTEM_MESSAGE,
                        "message %zu has the role 'system': in a chat, "
                        "instructions belong to the agents",
                        index);
    PDR_TRY(pdr_message_convert(&made, message, shape, PDR_SHAPE_SK, err));
    PDR_TRY(author_trim(&made, err));
    *out = made;
    made = NULL;
done:
    pdr_value_free(made);
    return rc;
}

pdr_rc pdr_chat_add(pdr_chat *chat, const pdr_value *const *messages,
                    size_t count, pdr_shape shape, pdr_err *err)
{
    const pdr_str nobody = {NULL, 0};
    struct pdr__step step = {.add_count = count};
    pdr_chat_call room;
    pdr_value **taken = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL && (messages != NULL || count == 0));
    rc = pdr__chat_enter(chat, false, err);
    if (rc != PDR_OK)
        return rc;
    taken = pdr__calloc(count + 1, sizeof(*taken));
    if (taken == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = 0; i < count; i++)
        PDR_TRY(message_take(&taken[i], messages[i], shape, i, err));
    PDR_TRY(pdr__log_reserve(chat, count, err));
    step.adds = (const pdr_value *const *)taken;
    if (count > 0) {
        (void)pdr__home_enter(chat, &room, NULL);
        rc = pdr__home_leave(chat, pdr__home_commit(chat, &step, err), err);
    }
    for (size_t i = 0; rc == PDR_OK && i < count; i++) { /* all, or nothing */
        pdr__log_append(chat, taken[i], 0, nobody);
        taken[i] = NULL;
    }
done:
    for (size_t i = 0; taken != NULL && i < count; i++)
        pdr_value_free(taken[i]);
    pdr__free(taken);
    pdr__chat_leave(chat);
    return rc;
}

pdr_rc pdr_chat_add_text(pdr_chat *chat, pdr_str text, pdr_str author,
                         pdr_err *err)
{
    pdr_message_parts parts = {.role = PDR_LIT("user"), .author = author};
    pdr_value *content = NULL, *contents = pdr_value_new_array();
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_content_new_text(&content, PDR_SHAPE_SK, text, err));
    PDR_TRY(pdr_value_append(&contents, content, err));
    parts.contents = contents;
    PDR_TRY(pdr_message_new(&message, PDR_SHAPE_SK, &parts, err));
    PDR_TRY(pdr_chat_add(chat, (const pdr_value *const *)&message, 1,
                         PDR_SHAPE_SK, err));
done:
    pdr_value_free(message);
    pdr_value_free(content);
    pdr_value_free(contents);
    return rc;
}

/* --- beginning anew -------------------------------------------------------
 */

pdr_rc pdr_chat_reset(pdr_chat *chat, pdr_buf *left, const pdr_chat_call *call,
                      pdr_err *err)
{
    const pdr_session_parts parts = {.kind = PDR_SESSION_KIND_CLIENT};
    const struct pdr__selection nobody = {.index = -1};
    struct pdr__boundary empty = {.member_count = 0};
    const struct pdr__step step = {.boundary = &empty, .clears = true};
    pdr_session **fresh = NULL;
    pdr_chat_call room;
    pdr_err busy = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL);
    rc = pdr__chat_enter(chat, true, &busy);
    if (rc != PDR_OK && !pdr__err_is(&busy, PDR_R_CHAT_BUSY))
        rc = pdr__chat_enter(chat, false, err); /* one that cannot be saved */
    else if (rc != PDR_OK)
        rc = pdr__err_pass(err, &busy);
    if (rc != PDR_OK)
        return rc;
    call = pdr__home_enter(chat, &room, call);
    fresh = pdr__calloc(chat->member_count + 1, sizeof(*fresh));
    if (fresh == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = 0; i < chat->member_count; i++)
        PDR_TRY(pdr_session_new(&fresh[i], &parts, err));
    PDR_TRY(pdr__selection_save(&empty.selection, &nobody, pdr_str_n(NULL, 0),
                                err));
    empty.sessions = pdr__calloc(chat->member_count + 1, sizeof(pdr_value *));
    if (empty.sessions == NULL)
        PDR_TRY(pdr__nomem(err));
    empty.member_count = chat->member_count;
    PDR_TRY(pdr__home_commit(chat, &step, err));
    for (size_t i = 0; i < chat->channel_count; i++) {
        struct pdr__channel *channel = &chat->channels[i];
        pdr_err why = PDR_ERR_INIT;

        if (channel->kind->reset(channel->self,
                                 call != NULL ? call->cancel : NULL,
                                 &why) != PDR_OK &&
            left != NULL)
            (void)!pdr_buf_printf(left, NULL, "%.*s: %s\n",
                                  (int)channel->key.len, channel->key.ptr,
                                  why.message);
    }
    (void)pthread_mutex_lock(&chat->lock);
    chat_clear(chat);
    for (size_t i = 0; i < chat->member_count; i++) {
        pdr_session *old = chat->members[i].session;

        chat->members[i].session = fresh[i];
        fresh[i] = old;
    }
    chat->epoch++;
    chat->revision++;
    (void)pthread_mutex_unlock(&chat->lock);
done:
    for (size_t i = 0; fresh != NULL && i < chat->member_count; i++)
        pdr_session_free(fresh[i]);
    pdr__free(fresh);
    pdr__free(empty.sessions);
    pdr_value_free(empty.selection);
    rc = pdr__home_leave(chat, rc, err);
    pdr__chat_leave(chat);
    return rc;
}
