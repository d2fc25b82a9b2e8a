/*
 * open_native.c - native documents: read, and proved to be whole.
 *
 *     {"format":"agentchat","version":1,...,"history":{...},...,"mac":{...}}
 *      └──────────────── what the MAC covers ────────────────┘
 *
 * The version comes first: a newer one may prove itself in another way. Then
 * the MAC, before anything else is believed, and the chain with the messages.
 *
 * NOT HERE  The sums themselves (seal.c); members that we do not know: they
 *           stay in the document, for who writes it again.
 */
#include <limits.h>

#include "document.h"

#define NATIVE_VERSION 1

/* Levels above the history, and above the state of a channel. */
#define ABOVE_HISTORY 1u
#define ABOVE_STATE   3u

enum {
    M_FORMAT,
    M_VERSION,
    M_ID,
    M_EPOCH,
    M_REV,
    M_ENCODING,
    M_PARTICIPANTS,
    M_HISTORY,
    M_CHANNELS,
    M_TURN
};

bool pdr__chat_is_native(const pdr_value *document)
{
    return pdr_value_text_is(pdr_value_get_c(document, "format"),
                             PDR_LIT("agentchat"));
}

/* --- the MAC ---------------------------------------------------------------
 */

/* The bytes of the document up to the comma before member `name`. */
static pdr_str bytes_before(const pdr_value *document, const pdr_value *name)
{
    pdr_str all = node_span(document);
    size_t end = name->start - document->start;

    while (end > 0 && all.ptr[end - 1] != ',')
        end--; /* white space only */
    end -= end > 0;
    while (end > 0 && memchr(" \t\r\n", all.ptr[end - 1], 4) != NULL)
        end--;
    return pdr_str_n(all.ptr, end);
}

/* The key that the document names; NULL if nobody gave it. */
static const pdr_chat_key *find_key(const pdr_chat_open_opts *opts,
                                    const pdr_value *kid)
{
    for (size_t i = 0; i < opts->key_count; i++) {
        if (opts->keys[i].bytes.len > 0 &&
            pdr_value_text_is(kid, opts->keys[i].id))
            return &opts->keys[i];
    }
    return NULL;
}

static pdr_rc compare_mac(struct opening *o, const pdr_value *mac,
                          const pdr_chat_key *key, pdr_str covered)
{
    struct pdr__hmac hmac = PDR_HMAC_INIT;
    pdr_buf given = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    uint8_t sum[PDR_SHA256_BYTES];
    pdr_str text;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_name_bytes(&text, pdr__member(mac, "value", PDR_STRING),
                                  &o->scratch, o->err));
    rc = pdr__base64_decode(&given, text, PDR_BASE64, NULL);
    if (rc == PDR_ENOMEM) {
        rc = pdr__nomem(o->err);
        goto done;
    }
    PDR_TRY(pdr__chat_mac_begin(&hmac, key, o->err));
    PDR_TRY(pdr__hmac_update(&hmac, covered, o->err));
    PDR_TRY(pdr__hmac_final(sum, &hmac, o->err));
    if (given.len != sizeof(sum) ||
        !pdr__same_secret((const uint8_t *)given.ptr, sum, sizeof(sum)))
        rc = PDR_FAIL(o->err, BAD_MAC, "%s",
                      "the MAC does not fit: the chat was changed, or the key "
                      "is another one");
done:
    pdr__hmac_dispose(&hmac);
    pdr_buf_dispose(&given);
    return rc;
}

static pdr_rc check_mac(struct opening *o)
{
    const pdr_value *document = o->state->document;
    const pdr_value *mac = NULL, *name = NULL, *last = NULL;
    char shown[PDR_SHOWN];
    pdr_iter it;

    pdr_iter_init(&it, document);
    while (pdr_iter_next(&it)) {
        last = it.value;
        if (!string_is(it.name, PDR_LIT("mac")))
            continue;
        if (mac != NULL)
            return PDR_FAIL(o->err, BAD_MAC, "%s", "the chat has two MACs");
        name = it.name;
        mac = it.value;
    }
    /* A caller with keys expects one: it may have been removed. */
    if (mac == NULL && (o->opts->needs_mac || o->opts->key_count > 0))
        return PDR_FAIL(o->err, BAD_MAC, "%s", "the chat has no MAC");
    if (mac == NULL)
        return PDR_OK;
    if (mac != last)
        return PDR_FAIL(o->err, BAD_MAC, "%s",
                        "members come after the MAC, which covers only those "
                        "before it");
    const pdr_value *kid = pdr__member(mac, "kid", PDR_STRING);
    if (kid == NULL || pdr__member(mac, "value", PDR_STRING) == NULL ||
        !pdr_value_text_is(pdr_value_get_c(mac, "alg"), PDR_LIT("HMAC-SHA256")))
        return PDR_FAIL(o->err, BAD_MAC, "%s",
                        "expected a MAC with \"alg\":\"HMAC-SHA256\", \"kid\" "
                        "and \"value\"");
    const pdr_chat_key *key = find_key(o->opts, kid);
    if (key == NULL)
        return PDR_FAIL(o->err, BAD_MAC,
                        "the chat has a MAC with the key '%s', which was not "
                        "given",
                        pdr__shown(shown, string_inner(kid)));
    return compare_mac(o, mac, key, bytes_before(document, name));
}

/* --- parts -----------------------------------------------------------------
 */

static pdr_rc check_version(struct opening *o, const struct member *member)
{
    uint64_t version = 0;
    pdr_rc rc = pdr__take_number(&version, o, member, "");

    if (rc != PDR_OK)
        return rc;
    if (version == 0)
        return BAD_CHAT_AT(o->err, "", "%s", "the chat has no version");
    if (version > NATIVE_VERSION)
        return PDR_FAIL(o->err, CHAT_VERSION,
                        "the chat has version %llu, this program reads up to "
                        "%d; use a newer perdure",
                        (unsigned long long)version, NATIVE_VERSION);
    return PDR_OK;
}

/* Elements of a list that may be missing. */
static pdr_rc open_list(pdr_iter *it, struct opening *o,
                        const struct member *member)
{
    place here;

    pdr_iter_init(it, member->value);
    if (!pdr__is_nothing(member->value) &&
        pdr_value_kind(member->value) != PDR_ARRAY)
        return BAD_CHAT_AT(o->err, pdr__place_of(here, "", member),
                           "expected a list, found %s",
                           pdr__kind_phrase(member->value));
    return PDR_OK;
}

pdr_rc pdr__read_participant(struct opening *o,
                             struct pdr__saved_participant *p,
                             const pdr_value *value, const char *here)
{
    struct member m[] = {{.name = "id"},
                         {.name = "name"},
                         {.name = "type"},
                         {.name = "key2"},
                         {.name = "session"}};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, value, false, here));
    PDR_TRY(pdr__take_text(&p->id, o, &m[0], here));
    PDR_TRY(pdr__take_text(&p->name, o, &m[1], here));
    PDR_TRY(pdr__take_text(&p->type, o, &m[2], here));
    PDR_TRY(pdr__take_text(&p->key, o, &m[3], here));
    if (!pdr__is_nothing(m[4].value))
        p->session = pdr_value_ref(m[4].value);
    p->source = pdr_value_ref(value);
done:
    return rc;
}

static pdr_rc read_participants(struct opening *o, const struct member *list)
{
    pdr_chat_state *state = o->state;
    place here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(open_list(&it, o, list));
    PDR_TRY(pdr__grow((void **)&state->participants, &state->participant_cap,
                      pdr_value_count(list->value),
                      sizeof(*state->participants), o->err));
    while (pdr_iter_next(&it)) {
        struct pdr__saved_participant *p =
            &state->participants[state->participant_count];

        memset(p, 0, sizeof(*p));
        PDR_TRY(pdr__read_participant(
            o, p, it.value, pdr__place_at(here, "/participants", it.index)));
        state->participant_count++;
    }
done:
    return rc;
}

/* The value of a member that is in base64 if the document is; *out is owned. */
static pdr_rc open_value(pdr_value **out, struct opening *o,
                         const struct member *member, uint32_t above,
                         const char *where)
{
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (member->value == NULL || !o->state->is_encoded) {
        *out = pdr_value_ref(member->value);
        return PDR_OK;
    }
    PDR_TRY(pdr__take_base64(o, member, where));
    PDR_TRY(pdr__take_json(out, o, PDR_DEFAULT_DEPTH - above, member, where));
done:
    return rc;
}

pdr_rc pdr__read_channel(struct opening *o, struct pdr__saved_channel *c,
                         const pdr_value *value, const char *here)
{
    struct member m[] = {{.name = "key2"},          {.name = "key"},
                         {.name = "kind"},          {.name = "type"},
                         {.name = "state_version"}, {.name = "cursor"},
                         {.name = "state"}};
    uint64_t version = 0;
    pdr_rc rc = PDR_OK;

    c->source = pdr_value_ref(value);
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, value, false, here));
    PDR_TRY(pdr__take_text(&c->key, o, &m[0], here));
    PDR_TRY(pdr__take_text(&c->sk_key, o, &m[1], here));
    if (c->key.ptr == NULL && c->sk_key.ptr == NULL)
        return BAD_CHAT_AT(o->err, here, "%s", "the channel has no key");
    PDR_TRY(pdr__take_key(o, c->key, here));
    PDR_TRY(pdr__take_key(o, c->sk_key, here));
    PDR_TRY(pdr__take_text(&c->kind, o, &m[2], here));
    PDR_TRY(pdr__take_text(&c->type, o, &m[3], here));
    PDR_TRY(pdr__take_number(&version, o, &m[4], here));
    if (version > UINT32_MAX)
        return BAD_CHAT_AT(o->err, here, "%s",
                           "the version of the state is too large");
    c->state_version = (uint32_t)version;
    PDR_TRY(pdr__take_number(&c->cursor, o, &m[5], here));
    c->has_cursor = m[5].value != NULL;
    PDR_TRY(open_value(&c->state, o, &m[6], ABOVE_STATE, here));
done:
    return rc;
}

static pdr_rc read_channels(struct opening *o, const struct member *list)
{
    pdr_chat_state *state = o->state;
    place here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(open_list(&it, o, list));
    PDR_TRY(pdr__grow((void **)&state->channels, &state->channel_cap,
                      pdr_value_count(list->value), sizeof(*state->channels),
                      o->err));
    while (pdr_iter_next(&it)) {
        struct pdr__saved_channel *c = &state->channels[state->channel_count++];

        memset(c, 0, sizeof(*c));
        (void)pdr__place_at(here, "/channels", it.index);
        PDR_TRY(pdr__read_channel(o, c, it.value, here));
    }
done:
    return rc;
}

/* The origin of a message: mostly the key of a channel, of which there is a
 * copy already. */
static pdr_rc take_origin(pdr_str *out, struct opening *o,
                          const struct member *member, const char *where)
{
    void *copy = NULL;
    pdr_str text;

    if (!pdr__is_nothing(member->value) &&
        pdr_value_kind(member->value) == PDR_STRING &&
        pdr_value_text(&text, member->value, &o->scratch, NULL) == PDR_OK &&
        pdr__map_get(&copy, &o->keys, text)) {
        *out = pdr_str_n(copy, text.len);
        return PDR_OK;
    }
    pdr_rc rc = pdr__take_text(out, o, member, where);
    if (rc == PDR_OK && out->ptr != NULL)
        rc = pdr__map_put(NULL, &o->keys, *out, (void *)(uintptr_t)out->ptr,
                          o->err);
    return rc;
}

static pdr_rc read_entry(struct opening *o, struct pdr__log_entry *entry,
                         const pdr_value *value, uint64_t expected,
                         const char *here)
{
    struct member m[] = {{.name = "seq"},
                         {.name = "turn"},
                         {.name = "origin"},
                         {.name = "vis"},
                         {.name = "m"}};
    uint64_t seq = 0;
    pdr_rc rc = PDR_OK;

    *entry = (struct pdr__log_entry){.is_visible = true};
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, value, false, here));
    PDR_TRY(pdr__take_number(&seq, o, &m[0], here));
    PDR_TRY(pdr__take_number(&entry->turn, o, &m[1], here));
    PDR_TRY(take_origin(&entry->origin, o, &m[2], here));
    if (!pdr__is_nothing(m[3].value) &&
        pdr_value_bool(&entry->is_visible, m[3].value, NULL) != PDR_OK)
        return BAD_CHAT_AT(o->err, here, "%s", "'vis' is true or false");
    if (m[4].value == NULL || pdr_value_kind(m[4].value) != PDR_OBJECT)
        return BAD_CHAT_AT(o->err, here, "%s",
                           "the message 'm' is not there, or not an object");
    if (seq != expected)
        return FAIL_PLACE(o->err, here, BAD_CHAIN,
                          "message %llu is in the place of message %llu",
                          (unsigned long long)seq,
                          (unsigned long long)expected);
    entry->value = pdr_value_ref(m[4].value);
done:
    return rc;
}

/* Messages, and the chain through their bytes. */
static pdr_rc read_messages(uint8_t chain[PDR_SHA256_BYTES], struct opening *o,
                            const pdr_value *list)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    pdr_chat_state *state = o->state;
    place here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr__expect_messages(o, pdr_value_count(list), "/history/messages"));
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        struct pdr__log_entry *entry = &state->log[state->log_count];

        (void)pdr__place_at(here, "/history/messages", it.index);
        PDR_TRY(read_entry(o, entry, it.value, it.index + 1, here));
        state->log_count++;
        PDR_TRY(
            pdr__chain_add(chain, &digest, node_span(entry->value), o->err));
    }
done:
    pdr__sha256_dispose(&digest);
    return rc;
}

static pdr_rc read_history(struct opening *o, const struct member *history)
{
    struct member m[] = {
        {.name = "count"}, {.name = "chain"}, {.name = "messages"}};
    uint8_t chain[PDR_SHA256_BYTES] = {0};
    char sum[2 * PDR_SHA256_BYTES + 1];
    pdr_value *value = NULL; /* owned */
    uint64_t count = 0;
    pdr_rc rc = PDR_OK;

    if (history->value == NULL)
        return BAD_CHAT_AT(o->err, "", "%s", "the chat has no history");
    PDR_TRY(open_value(&value, o, history, ABOVE_HISTORY, ""));
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, value, false, "/history"));
    if (m[1].value == NULL || m[2].value == NULL ||
        pdr_value_kind(m[2].value) != PDR_ARRAY) {
        rc = BAD_CHAT_AT(o->err, "/history", "%s",
                         "expected a chain and a list of messages");
        goto done;
    }
    PDR_TRY(pdr__take_number(&count, o, &m[0], "/history"));
    PDR_TRY(read_messages(chain, o, m[2].value));
    pdr__hex(sum, chain, sizeof(chain));
    if (count != o->state->log_count ||
        !pdr_value_text_is(m[1].value, pdr_str_c(sum)))
        rc = FAIL_PLACE(o->err, "/history", BAD_CHAIN, "%s",
                        "the messages are not those that were saved: one was "
                        "changed, moved or removed");
done:
    pdr_value_free(value);
    return rc;
}

bool pdr__is_chosen(const pdr_value *turn)
{
    const pdr_value *chosen = pdr_value_get_c(turn, "chosen");
    bool is_chosen = false;

    return chosen != NULL &&
           pdr_value_bool(&is_chosen, chosen, NULL) == PDR_OK && is_chosen;
}

/* Turns that are over: {"turn":1,"agent":ID,"end":"ended"}. */
static pdr_rc read_records(struct opening *o, const struct member *list)
{
    pdr_chat_state *state = o->state;
    place here;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (!pdr__is_nothing(list->value) &&
        pdr_value_kind(list->value) != PDR_ARRAY)
        return BAD_CHAT_AT(o->err, "/turn/records", "expected a list, found %s",
                           pdr__kind_phrase(list->value));
    PDR_TRY(pdr__grow((void **)&state->turns, &state->turn_cap,
                      pdr_value_count(list->value), sizeof(*state->turns),
                      o->err));
    pdr_iter_init(&it, list->value);
    while (pdr_iter_next(&it)) {
        struct member m[] = {{.name = "turn"},
                             {.name = "agent"},
                             {.name = "end"},
                             {.name = "why"}};
        struct pdr__turn_record *record = &state->turns[state->turn_count];

        *record = (struct pdr__turn_record){.end = PDR_TURN_ENDED};
        (void)pdr__place_at(here, "/turn/records", it.index);
        PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, it.value, false, here));
        PDR_TRY(pdr__take_number(&record->turn, o, &m[0], here));
        PDR_TRY(pdr__take_text(&record->agent, o, &m[1], here));
        if (pdr_value_text_is(m[2].value, PDR_LIT("aborted")))
            record->end = PDR_TURN_ABORTED;
        record->is_chosen = pdr__is_chosen(it.value);
        PDR_TRY(pdr__take_text(&record->why, o, &m[3], here));
        if (record->turn <= (state->turn_count > 0 ? record[-1].turn : 0))
            return BAD_CHAT_AT(o->err, here, "%s",
                               "the turns have no numbers, or are in no order");
        state->turn_count++;
    }
done:
    return rc;
}

/* The turn that was under way is one without an end. */
static pdr_rc note_open_turn(struct opening *o)
{
    pdr_chat_state *state = o->state;
    const pdr_value *open = state->open_turn;
    struct member m[] = {{.name = "turn"}, {.name = "agent"}};
    struct pdr__turn_record record = {.end = PDR_TURN_OPEN};
    pdr_rc rc = PDR_OK;

    if (open == NULL || pdr_value_kind(open) != PDR_OBJECT)
        return PDR_OK; /* it says nothing to us */
    record.is_chosen = pdr__is_chosen(open);
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, open, false, "/turn/open"));
    PDR_TRY(pdr__take_number(&record.turn, o, &m[0], "/turn/open"));
    PDR_TRY(pdr__take_text(&record.agent, o, &m[1], "/turn/open"));
    if (record.turn <=
        (state->turn_count > 0 ? state->turns[state->turn_count - 1].turn : 0))
        return PDR_OK;
    PDR_TRY(pdr__grow((void **)&state->turns, &state->turn_cap,
                      state->turn_count + 1, sizeof(*state->turns), o->err));
    state->turns[state->turn_count++] = record;
done:
    return rc;
}

/* The run of a chat inside of a channel: {"after":3,"said":4,"turns":1}. */
static pdr_rc read_run(struct opening *o, const struct member *member)
{
    struct pdr__run run = {.is_open = true};
    struct member m[] = {
        {.name = "after"}, {.name = "said"}, {.name = "turns"}};
    uint64_t turns = 0;
    pdr_rc rc = PDR_OK;

    if (pdr__is_nothing(member->value))
        return PDR_OK;
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, member->value, false,
                              "/turn/run"));
    PDR_TRY(pdr__take_number(&run.after, o, &m[0], "/turn/run"));
    PDR_TRY(pdr__take_number(&run.said, o, &m[1], "/turn/run"));
    PDR_TRY(pdr__take_number(&turns, o, &m[2], "/turn/run"));
    run.turns = turns < UINT_MAX ? (unsigned)turns : UINT_MAX;
    o->state->run = run;
done:
    return rc;
}

static pdr_rc read_turn(struct opening *o, const struct member *turn)
{
    pdr_chat_state *state = o->state;
    struct member m[] = {{.name = "complete"}, {.name = "iteration"},
                         {.name = "open"},     {.name = "selection"},
                         {.name = "records"},  {.name = "run"}};
    pdr_rc rc = PDR_OK;

    if (pdr__is_nothing(turn->value))
        return PDR_OK;
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, turn->value, false, "/turn"));
    if (m[0].value != NULL &&
        pdr_value_bool(&state->is_complete, m[0].value, NULL) != PDR_OK)
        return BAD_CHAT_AT(o->err, "/turn/complete", "%s",
                           "'complete' is true or false");
    PDR_TRY(pdr__take_number(&state->turn, o, &m[1], "/turn"));
    if (!pdr__is_nothing(m[2].value))
        state->open_turn = pdr_value_ref(m[2].value);
    if (!pdr__is_nothing(m[3].value))
        state->selection = pdr_value_ref(m[3].value);
    PDR_TRY(read_records(o, &m[4]));
    PDR_TRY(note_open_turn(o));
    PDR_TRY(read_run(o, &m[5]));
done:
    return rc;
}

/* No channel has had more messages than there are. */
static pdr_rc check_cursors(const pdr_chat_state *state, pdr_err *err)
{
    place here;

    for (size_t i = 0; i < state->channel_count; i++) {
        if (state->channels[i].cursor > state->log_count)
            return BAD_CHAT_AT(err, pdr__place_at(here, "/channels", i),
                               "the cursor is at %llu, the log has %zu",
                               (unsigned long long)state->channels[i].cursor,
                               state->log_count);
    }
    return PDR_OK;
}

pdr_rc pdr__chat_read_native(struct opening *o)
{
    pdr_chat_state *state = o->state;
    struct member m[] = {
        [M_FORMAT] = {.name = "format"},
        [M_VERSION] = {.name = "version"},
        [M_ID] = {.name = "id"},
        [M_EPOCH] = {.name = "epoch"},
        [M_REV] = {.name = "rev"},
        [M_ENCODING] = {.name = "encoding"},
        [M_PARTICIPANTS] = {.name = "participants"},
        [M_HISTORY] = {.name = "history"},
        [M_CHANNELS] = {.name = "channels"},
        [M_TURN] = {.name = "turn"},
    };
    pdr_rc rc = PDR_OK;

    state->form = PDR_CHAT_NATIVE;
    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), o, state->document, false, ""));
    PDR_TRY(check_version(o, &m[M_VERSION]));
    PDR_TRY(check_mac(o));
    PDR_TRY(pdr__take_text(&state->id, o, &m[M_ID], ""));
    PDR_TRY(pdr__take_number(&state->epoch, o, &m[M_EPOCH], ""));
    PDR_TRY(pdr__take_number(&state->revision, o, &m[M_REV], ""));
    state->is_encoded =
        pdr_value_text_is(m[M_ENCODING].value, PDR_LIT("base64"));
    if (!state->is_encoded && m[M_ENCODING].value != NULL &&
        !pdr_value_text_is(m[M_ENCODING].value, PDR_LIT("none")))
        return BAD_CHAT_AT(o->err, "/encoding", "%s",
                           "expected the encoding \"none\" or \"base64\"");
    PDR_TRY(read_participants(o, &m[M_PARTICIPANTS]));
    PDR_TRY(read_channels(o, &m[M_CHANNELS]));
    PDR_TRY(read_history(o, &m[M_HISTORY]));
    PDR_TRY(check_cursors(state, o->err));
    PDR_TRY(read_turn(o, &m[M_TURN]));
done:
    return rc;
}
