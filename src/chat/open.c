/*
 * open.c - saved chats, from bytes to what they hold.
 *
 * WHY  A chat comes back in whatever form somebody saved it, and a wrong guess
 *      would take a thread id for base64 or a message for a chat. So the form
 *      is decided once, by rules without a second look:
 *
 *        not an object ───────────────► refused, with what it seems to be
 *        "format":"agentchat" ────────► native (open_native.c)
 *        "history" is a list ─────────► plain, or Semantic Kernel
 *                  a text with "[" ───► the same, the list as text
 *                  another text ──────► encoded: base64
 *
 *      Plain and Semantic Kernel read alike. It is the latter if a name that we
 *      know has a capital letter, or a channel has a type.
 *
 * INVARIANTS
 *   O1  Messages and states are parts of what was read, with its spelling. Only
 *       texts that the chat compares are decoded and copied.
 *   O2  The state of a channel is never looked into: text stays text.
 *   O3  Nothing here knows a chat.
 */
#include <perdure/json.h>

#include "document.h"

#define READ_BYTES ((size_t)64 * 1024)

/* Levels above the history and the list of participants: those of the document,
 * whether they are inside of a text or not. */
#define ABOVE_LISTS 1u

/* --- states ----------------------------------------------------------------
 */

pdr_rc pdr__chat_state_new(pdr_chat_state **out, pdr_err *err)
{
    pdr_chat_state *state = pdr__calloc(1, sizeof(*state));

    *out = state;
    if (state == NULL)
        return pdr__nomem(err);
    state->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    return PDR_OK;
}

void pdr_chat_state_free(pdr_chat_state *state)
{
    if (state == NULL)
        return;
    for (size_t i = 0; i < state->participant_count; i++) {
        pdr_value_free(state->participants[i].session);
        pdr_value_free(state->participants[i].source);
    }
    for (size_t i = 0; i < state->log_count; i++)
        pdr_value_free(state->log[i].value);
    for (size_t i = 0; i < state->channel_count; i++) {
        pdr_value_free(state->channels[i].state);
        pdr_value_free(state->channels[i].source);
    }
    pdr__free(state->participants);
    pdr__free(state->log);
    pdr__free(state->channels);
    pdr__free(state->turns);
    pdr_value_free(state->open_turn);
    pdr_value_free(state->selection);
    pdr_value_free(state->document);
    pdr__arena_dispose(&state->memory);
    pdr__free(state);
}

pdr_chat_form pdr_chat_state_form(const pdr_chat_state *state)
{
    return state->form;
}

void pdr_chat_state_info(pdr_chat_info *out, const pdr_chat_state *state)
{
    *out = (pdr_chat_info){.id = state->id,
                           .epoch = state->epoch,
                           .revision = state->revision,
                           .turn = state->turn,
                           .is_complete = state->is_complete};
}

size_t pdr_chat_state_participant_count(const pdr_chat_state *state)
{
    return state->participant_count;
}

bool pdr_chat_state_participant(pdr_chat_participant *out,
                                const pdr_chat_state *state, size_t index)
{
    if (index >= state->participant_count)
        return false;
    const struct pdr__saved_participant *p = &state->participants[index];
    *out = (pdr_chat_participant){p->id, p->name, p->type, p->key};
    return true;
}

uint64_t pdr_chat_state_message_count(const pdr_chat_state *state)
{
    return state->log_count;
}

bool pdr_chat_state_message(pdr_chat_message *out, const pdr_chat_state *state,
                            uint64_t seq)
{
    if (seq == 0 || seq > state->log_count)
        return false;
    const struct pdr__log_entry *entry = &state->log[seq - 1];
    *out = (pdr_chat_message){seq, entry->turn, entry->origin,
                              entry->is_visible, entry->value};
    return true;
}

size_t pdr_chat_state_turn_count(const pdr_chat_state *state)
{
    return state->turn_count;
}

bool pdr_chat_state_turn(pdr_chat_turn *out, const pdr_chat_state *state,
                         size_t index)
{
    if (index >= state->turn_count)
        return false;
    *out = (pdr_chat_turn){.number = state->turns[index].turn,
                           .agent_id = state->turns[index].agent,
                           .end = state->turns[index].end,
                           .why = state->turns[index].why};
    return true;
}

size_t pdr_chat_state_channel_count(const pdr_chat_state *state)
{
    return state->channel_count;
}

bool pdr_chat_state_channel(pdr_chat_channel *out, const pdr_chat_state *state,
                            size_t index)
{
    const struct pdr__saved_channel *c = NULL;

    if (index >= state->channel_count)
        return false;
    c = &state->channels[index];
    *out = (pdr_chat_channel){.key = c->key.ptr != NULL ? c->key : c->sk_key,
                              .kind = c->kind.ptr != NULL ? c->kind : c->type,
                              .cursor =
                                  c->has_cursor ? c->cursor : state->log_count};
    return true;
}

pdr_rc pdr_chat_state_write(const pdr_chat_state *state, pdr_err *err,
                            pdr_write_fn fn, void *arg)
{
    const struct block *block = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(state != NULL && state->document != NULL && fn != NULL);
    block = node_block(state->document);
    if (state->has_mark)
        PDR_TRY(fn(PDR_LIT("\xEF\xBB\xBF"), err, arg));
    PDR_TRY(fn(pdr_str_n(block->text, block->text_len), err, arg));
done:
    return rc;
}

/* --- bytes -----------------------------------------------------------------
 */

static pdr_rc read_bytes(pdr_buf *out, size_t max, pdr_err *err, pdr_read_fn fn,
                         void *arg)
{
    size_t got = 1;
    pdr_rc rc = PDR_OK;

    while (got > 0) {
        /* There is always room for one more: for a NUL, or the byte that is
         * too much. */
        PDR_TRY(pdr_buf_reserve(out, READ_BYTES + 1, err));
        PDR_TRY(fn(&got, out->ptr + out->len, READ_BYTES, err, arg));
        out->len += got;
        if (out->len > max)
            return PDR_FAIL(err, TOO_LARGE, "the chat has more than %zu bytes",
                            max);
    }
done:
    return rc;
}

/* A byte order mark is skipped; it is written again with the rest. */
static bool drop_mark(pdr_buf *bytes)
{
    if (bytes->len < 3 || memcmp(bytes->ptr, "\xEF\xBB\xBF", 3) != 0)
        return false;
    bytes->len -= 3;
    memmove(bytes->ptr, bytes->ptr + 3, bytes->len);
    return true;
}

/* --- what it is not --------------------------------------------------------
 */

/* What a document without a chat in it seems to be; NULL if nobody knows. */
static const char *seems(const pdr_value *document)
{
    const pdr_value *one = document;
    bool is_list = pdr_value_kind(document) == PDR_ARRAY;

    if (is_list)
        one = pdr_value_at(document, 0);
    if (pdr_value_get_c(one, "ChoiceIndex") != NULL)
        return is_list ? "a list of fragments of a stream"
                       : "a fragment of a stream";
    if (pdr_value_get_c(one, "Items") != NULL ||
        pdr_value_get_c(one, "items") != NULL)
        return is_list ? "a history without a chat around it" : "one message";
    if (pdr_value_get_c(one, "$type") != NULL)
        return is_list ? "a list of contents" : "one content";
    return NULL;
}

static pdr_rc refuse(const pdr_value *document, pdr_err *err)
{
    const char *what = seems(document);

    if (what != NULL)
        return BAD_CHAT_AT(err, "", "not a saved chat: it seems to be %s",
                           what);
    if (pdr_value_kind(document) != PDR_OBJECT)
        return BAD_CHAT_AT(err, "",
                           "not a saved chat: expected an object, found %s",
                           pdr__kind_phrase(document));
    return BAD_CHAT_AT(err, "", "%s",
                       "not a saved chat: it has no member 'history'");
}

/* --- the forms of others ---------------------------------------------------
 */

/* The elements of a member that is a list; NULL and null are none if they
 * `may_miss`. */
static pdr_rc check_list(const struct member *member, bool may_miss,
                         struct opening *o)
{
    place here;

    if (may_miss && pdr__is_nothing(member->value))
        return PDR_OK;
    if (member->value != NULL && pdr_value_kind(member->value) == PDR_ARRAY)
        return PDR_OK;
    return BAD_CHAT_AT(o->err, pdr__place_of(here, "", member),
                       "a saved chat has a list '%s', here is %s", member->name,
                       member->value == NULL ? "none"
                                             : pdr__kind_phrase(member->value));
}

/* The list of messages, also if it is inside of a text; *out is owned. */
static pdr_rc open_history(pdr_value **out, bool *is_encoded, struct opening *o,
                           struct member *history)
{
    pdr_str text;
    size_t at = 0;
    pdr_rc rc = PDR_OK;

    *is_encoded = false;
    if (history->value == NULL ||
        pdr_value_kind(history->value) != PDR_STRING) {
        PDR_TRY(check_list(history, false, o));
        *out = pdr_value_ref(history->value);
        return PDR_OK;
    }
    PDR_TRY(pdr__value_name_bytes(&text, history->value, &o->scratch, o->err));
    while (at < text.len && memchr(" \t\r\n", text.ptr[at], 4) != NULL)
        at++;
    *is_encoded = at == text.len || text.ptr[at] != '[';
    if (*is_encoded)
        PDR_TRY(pdr__take_base64(o, history, ""));
    else if (text.ptr != o->scratch.ptr) {
        pdr_buf_clear(&o->scratch);
        PDR_TRY(pdr_buf_append(&o->scratch, text, o->err));
    }
    PDR_TRY(
        pdr__take_json(out, o, PDR_DEFAULT_DEPTH - ABOVE_LISTS, history, ""));
    history->value = *out;
    PDR_TRY(check_list(history, false, o));
done:
    return rc;
}

static pdr_rc read_history(bool *is_encoded, struct opening *o,
                           struct member *history)
{
    pdr_chat_state *state = o->state;
    pdr_value *list = NULL;
    place above, here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    (void)pdr__place_of(above, "", history);
    PDR_TRY(open_history(&list, is_encoded, o, history));
    PDR_TRY(pdr__expect_messages(o, pdr_value_count(list), above));
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_OBJECT) {
            rc = BAD_CHAT_AT(o->err, pdr__place_at(here, above, it.index),
                             "a message is an object, here is %s",
                             pdr__kind_phrase(it.value));
            goto done;
        }
        state->log[state->log_count++] = (struct pdr__log_entry){
            .is_visible = true, .value = pdr_value_ref(it.value)};
    }
done:
    pdr_value_free(list);
    return rc;
}

static pdr_rc read_participants(struct opening *o, struct member *list,
                                bool is_encoded)
{
    pdr_chat_state *state = o->state;
    pdr_value *decoded = NULL;
    place above, here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    (void)pdr__place_of(above, "", list);
    if (is_encoded && !pdr__is_nothing(list->value) &&
        pdr_value_kind(list->value) == PDR_STRING) {
        PDR_TRY(pdr__take_base64(o, list, ""));
        PDR_TRY(pdr__take_json(&decoded, o, PDR_DEFAULT_DEPTH - ABOVE_LISTS,
                               list, ""));
        list->value = decoded;
    }
    PDR_TRY(check_list(list, true, o));
    PDR_TRY(pdr__grow((void **)&state->participants, &state->participant_cap,
                      pdr_value_count(list->value),
                      sizeof(*state->participants), o->err));
    pdr_iter_init(&it, list->value);
    while (pdr_iter_next(&it)) {
        struct member m[] = {
            {.name = "id"}, {.name = "name"}, {.name = "type"}};
        struct pdr__saved_participant *p =
            &state->participants[state->participant_count];

        (void)pdr__place_at(here, above, it.index);
        PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, it.value, true, here));
        memset(p, 0, sizeof(*p));
        PDR_TRY(pdr__take_text(&p->id, o, &m[0], here));
        PDR_TRY(pdr__take_text(&p->name, o, &m[1], here));
        PDR_TRY(pdr__take_text(&p->type, o, &m[2], here));
        p->source = pdr_value_ref(it.value);
        state->participant_count++;
    }
done:
    pdr_value_free(decoded);
    return rc;
}

/* Text, or raw JSON (O2); *out is owned. */
static pdr_rc read_channel_state(pdr_value **out, struct opening *o,
                                 const struct member *member, bool is_encoded,
                                 const char *where)
{
    place here;
    pdr_rc rc = PDR_OK;

    if (member->value == NULL)
        return PDR_OK;
    pdr_kind kind = pdr_value_kind(member->value);
    (void)pdr__place_of(here, where, member);
    if (is_encoded) {
        PDR_TRY(pdr__take_base64(o, member, where));
        rc = pdr_value_new_string(out, pdr_buf_str(&o->scratch), o->err);
        if (rc == PDR_EINVALID)
            rc = BAD_CHAT_AT(o->err, here, "%s", "the state is not UTF-8");
    } else if (kind == PDR_STRING || kind == PDR_ARRAY || kind == PDR_OBJECT) {
        *out = pdr_value_ref(member->value);
    } else {
        rc = BAD_CHAT_AT(o->err, here,
                         "the state of a channel is a text, an array or an "
                         "object, here is %s",
                         pdr__kind_phrase(member->value));
    }
done:
    return rc;
}

static pdr_rc read_channels(bool *has_type, struct opening *o,
                            struct member *list, bool is_encoded)
{
    pdr_chat_state *state = o->state;
    place above, here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    (void)pdr__place_of(above, "", list);
    PDR_TRY(check_list(list, false, o));
    PDR_TRY(pdr__grow((void **)&state->channels, &state->channel_cap,
                      pdr_value_count(list->value), sizeof(*state->channels),
                      o->err));
    pdr_iter_init(&it, list->value);
    while (pdr_iter_next(&it)) {
        struct member m[] = {{.name = "channelkey"},
                             {.name = "channeltype"},
                             {.name = "channelstate"}};
        struct pdr__saved_channel *c = &state->channels[state->channel_count];

        (void)pdr__place_at(here, above, it.index);
        PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, it.value, true, here));
        memset(c, 0, sizeof(*c));
        state->channel_count++;
        c->source = pdr_value_ref(it.value);
        PDR_TRY(pdr__take_text(&c->sk_key, o, &m[0], here));
        if (c->sk_key.ptr == NULL) {
            rc = BAD_CHAT_AT(o->err, here, "%s", "the channel has no key");
            goto done;
        }
        PDR_TRY(pdr__take_key(o, c->sk_key, here));
        PDR_TRY(pdr__take_text(&c->type, o, &m[1], here));
        PDR_TRY(read_channel_state(&c->state, o, &m[2], is_encoded, here));
        *has_type = *has_type || m[1].node != NULL;
    }
done:
    return rc;
}

/* A key of ours, in a form that has a place for one key only. */
static void sort_keys(pdr_chat_state *state)
{
    for (size_t i = 0; i < state->channel_count; i++) {
        struct pdr__saved_channel *c = &state->channels[i];

        if (c->sk_key.len == PDR_CHANNEL_KEY &&
            memcmp(c->sk_key.ptr, "k2:", 3) == 0) {
            c->key = c->sk_key;
            c->sk_key = pdr_str_n(NULL, 0);
        }
    }
}

static pdr_rc read_foreign(struct opening *o)
{
    pdr_chat_state *state = o->state;
    struct member m[] = {
        {.name = "history"}, {.name = "channels"}, {.name = "participants"}};
    bool is_encoded = false, has_type = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, state->document, true, ""));
    if (m[0].node == NULL)
        return refuse(state->document, o->err);
    PDR_TRY(read_history(&is_encoded, o, &m[0]));
    PDR_TRY(read_participants(o, &m[2], is_encoded));
    PDR_TRY(read_channels(&has_type, o, &m[1], is_encoded));
    if (is_encoded)
        state->form = PDR_CHAT_ENCODED;
    else
        state->form = o->has_capital || has_type ? PDR_CHAT_SK : PDR_CHAT_PLAIN;
    if (state->form != PDR_CHAT_SK)
        sort_keys(state);
done:
    return rc;
}

/* --- all of it -------------------------------------------------------------
 */

static const pdr_chat_open_opts usual;

/* What the document of the state says. */
static pdr_rc read_document(struct opening *o)
{
    if (pdr_value_kind(o->state->document) != PDR_OBJECT)
        return refuse(o->state->document, o->err);
    if (pdr__chat_is_native(o->state->document))
        return pdr__chat_read_native(o);
    if (o->opts->needs_mac)
        return PDR_FAIL(o->err, BAD_MAC, "%s",
                        "the chat has no MAC: only native ones can have one");
    return read_foreign(o);
}

pdr_rc pdr__chat_open_value(pdr_chat_state **out, const pdr_value *document,
                            pdr_err *err)
{
    struct opening o = {.opts = &usual,
                        .max_messages = PDR_MAX_CHAT_MESSAGES,
                        .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                        .keys = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                        .err = err};
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr__chat_state_new(&o.state, err));
    o.state->document = pdr_value_ref(document);
    PDR_TRY(read_document(&o));
    *out = o.state;
    o.state = NULL; /* moved to the caller */
done:
    pdr__map_dispose(&o.keys);
    pdr_buf_dispose(&o.scratch);
    pdr_chat_state_free(o.state);
    return rc;
}

pdr_rc pdr_chat_open(pdr_chat_state **out, const pdr_chat_open_opts *opts,
                     pdr_err *err, pdr_read_fn fn, void *arg)
{
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);
    struct opening o = {.scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                        .keys = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                        .err = err};
    size_t max = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && fn != NULL);
    *out = NULL;
    o.opts = opts != NULL ? opts : &usual;
    max = o.opts->max_bytes != 0 ? o.opts->max_bytes : PDR_MAX_CHAT_BYTES;
    o.max_messages = o.opts->max_messages != 0 ? o.opts->max_messages
                                               : PDR_MAX_CHAT_MESSAGES;
    PDR_TRY(pdr__chat_state_new(&o.state, err));
    PDR_TRY(read_bytes(&bytes, max, err, fn, arg));
    o.state->has_mark = drop_mark(&bytes);
    rc = pdr_json_read_take(&o.state->document, &bytes, NULL, err);
    if (rc != PDR_OK && err != NULL && err->offset >= 0 && o.state->has_mark)
        err->offset += 3;
    if (rc != PDR_OK)
        goto done;
    PDR_TRY(read_document(&o));
    *out = o.state;
    o.state = NULL; /* moved to the caller */
done:
    pdr__map_dispose(&o.keys);
    pdr_buf_dispose(&o.scratch);
    pdr_buf_dispose(&bytes);
    pdr_chat_state_free(o.state);
    return rc;
}
