/*
 * write.c - saved chats, in the forms that other programs read.
 *
 * WHY  A chat leaves in the form that its reader knows. What that form has no
 *      place for is reported first (loss.c), what its reader could not read is
 *      refused first (check_parts()); so a failed save has written nothing.
 *
 *        Semantic Kernel  as its serializer writes it, byte for byte: two
 *                         spaces a level outside, messages and states in one
 *                         line each, the escapes of .NET
 *        plain, encoded   as its decision record sketches them
 *
 *      Messages and states that were read are written as they were read, and so
 *      is a whole file of Semantic Kernel that still says what the chat says:
 *      its options may have been others than those that we write with.
 *
 * NOT HERE  The native form (write_native.c), single messages
 *           (write_message.c), pieces and base64 (out.c).
 */
#include <perdure/json.h>

#include "document.h"

/* Levels of our own reader above a message and above a state. */
#define ABOVE_MESSAGE        2u
#define ABOVE_NATIVE_MESSAGE 4u
#define ABOVE_NATIVE_PART    3u

/* --- names ----------------------------------------------------------------
 */

static const char *const document_foreign[] = {"participants", "history",
                                               "channels", NULL};
static const char *const document_native[] = {
    "format", "version", "id", "epoch", "rev", "encoding", "turn", "mac", NULL};
static const char *const participant_foreign[] = {"id", "name", "type", NULL};
static const char *const participant_native[] = {"key2", "session", NULL};
static const char *const channel_foreign[] = {"channelkey", "channeltype",
                                              "channelstate", NULL};
static const char *const channel_native[] = {
    "key2", "key", "kind", "type", "state_version", "cursor", "state", NULL};

const struct known pdr__known_document = {document_foreign, document_native};
const struct known pdr__known_participant = {participant_foreign,
                                             participant_native};
const struct known pdr__known_channel = {channel_foreign, channel_native};

bool pdr__is_known(const pdr_value *name, const struct known *known,
                   bool is_native)
{
    for (const char *const *at = known->foreign; *at != NULL; at++) {
        if (pdr__is_folded(name, pdr_str_c(*at)))
            return true;
    }
    return is_native && pdr__is_one_of(name, known->native);
}

bool pdr__is_one_of(const pdr_value *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (string_is(name, pdr_str_c(*names)))
            return true;
    }
    return false;
}

bool pdr__keeps_unknown(const pdr_chat_state *state, pdr_chat_form form)
{
    return form == PDR_CHAT_NATIVE ||
           (form == PDR_CHAT_SK && state->form == PDR_CHAT_SK);
}

void pdr__put_unknown(struct out *out, bool *is_first, const pdr_value *object,
                      const struct known *known, const struct layout *layout)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr__is_known(it.name, known, layout->is_native))
            continue;
        pdr__put_c(out, *is_first ? "" : ",");
        pdr__put_c(out, layout->gap);
        pdr__put_value(out, it.name);
        pdr__put_c(out, layout->colon);
        pdr__put_value(out, it.value);
        *is_first = false;
    }
}

/* --- what cannot be written ------------------------------------------------
 */

static pdr_rc too_deep(pdr_err *err, const char *where, size_t levels,
                       size_t most)
{
    return FAIL_PLACE(err, where, TOO_DEEP,
                      "%zu levels; the reader of this form takes %zu here",
                      levels, most);
}

static pdr_rc check_levels(const pdr_value *value, size_t most, pdr_err *err,
                           const char *where)
{
    size_t levels = value != NULL ? pdr__levels(value) : 0;

    return levels > most ? too_deep(err, where, levels, most) : PDR_OK;
}

static pdr_rc bad_state(pdr_err *err, const char *where, const char *why)
{
    return FAIL_PLACE(err, where, BAD_CHANNEL_STATE,
                      "the state of a channel %s", why);
}

/* Does Semantic Kernel take this text for JSON, and write it so? */
static bool looks_like_json(pdr_str text)
{
    return text.len >= 2 &&
           ((text.ptr[0] == '[' && text.ptr[text.len - 1] == ']') ||
            (text.ptr[0] == '{' && text.ptr[text.len - 1] == '}'));
}

/* Text that looks like JSON has to be JSON, or Semantic Kernel cannot read it.
 */
static pdr_rc check_sk_text(const pdr_value *state, pdr_err *err,
                            const char *where)
{
    pdr_read_opts opts = {.max_depth = PDR_SK_STATE_LEVELS};
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *value = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_str text;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_name_bytes(&text, state, &scratch, err));
    if (!looks_like_json(text))
        goto done;
    rc = pdr_json_read_borrowed(&value, text, &opts, &why);
    pdr_value_free(value);
    if (pdr__err_is(&why, PDR_R_TOO_DEEP))
        rc = too_deep(err, where, PDR_SK_STATE_LEVELS + 1, PDR_SK_STATE_LEVELS);
    else if (rc == PDR_EINVALID)
        rc = bad_state(err, where,
                       "is text that looks like JSON and is not: Semantic "
                       "Kernel cannot hold it");
    else if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc check_state(const pdr_value *state, pdr_chat_form form,
                          pdr_err *err, const char *where)
{
    size_t most = form == PDR_CHAT_SK ? PDR_SK_STATE_LEVELS
                                      : PDR_DEFAULT_DEPTH - ABOVE_NATIVE_PART;

    if (state == NULL)
        return PDR_OK;
    pdr_kind kind = pdr_value_kind(state);
    if (form == PDR_CHAT_SK && kind == PDR_STRING)
        return check_sk_text(state, err, where);
    if (form != PDR_CHAT_NATIVE && kind != PDR_STRING && kind != PDR_ARRAY &&
        kind != PDR_OBJECT)
        return bad_state(err, where, "is neither text, array nor object");
    if (form == PDR_CHAT_ENCODED && pdr_value_has_lone_surrogate(state))
        return bad_state(err, where, "has half a surrogate pair");
    return check_levels(state, most, err, where);
}

/* Is it JSON, in which there is no NaN? */
static pdr_rc check_json(const pdr_value *value, pdr_buf *scratch, pdr_err *err)
{
    pdr_str text;

    return value != NULL ? pdr__value_json(&text, value, scratch, err) : PDR_OK;
}

/* Is everything such that the reader of the form will read it? */
static pdr_rc check_parts(const pdr_chat_state *state, pdr_chat_form form,
                          pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    size_t most = PDR_DEFAULT_DEPTH - ABOVE_MESSAGE;
    place here;
    pdr_rc rc = PDR_OK;

    if (form == PDR_CHAT_SK)
        most = PDR_SK_HISTORY_LEVELS - 1;
    if (form == PDR_CHAT_NATIVE)
        most = PDR_DEFAULT_DEPTH - ABOVE_NATIVE_MESSAGE;
    for (size_t i = 0; i < state->log_count; i++) {
        const pdr_value *message = state->log[i].value;

        (void)pdr__place_at(here, "/history/messages", i);
        PDR_TRY(check_levels(message, most, err, here));
        PDR_TRY(check_json(message, &scratch, err));
        if (form == PDR_CHAT_SK)
            PDR_TRY(pdr__sk_message_check(message,
                                          state->form != PDR_CHAT_NATIVE &&
                                              value_was_read(message),
                                          err, here));
    }
    for (size_t i = 0; i < state->channel_count; i++) {
        const struct pdr__saved_channel *c = &state->channels[i];

        assert(c->key.ptr != NULL || c->sk_key.ptr != NULL);
        if (form == PDR_CHAT_SK && c->sk_key.ptr == NULL)
            continue; /* left out */
        (void)pdr__place_at(here, "/channels", i);
        PDR_TRY(check_state(c->state, form, err, here));
        PDR_TRY(check_json(c->state, &scratch, err));
    }
    if (form != PDR_CHAT_NATIVE)
        goto done;
    most = PDR_DEFAULT_DEPTH - ABOVE_NATIVE_PART;
    for (size_t i = 0; i < state->participant_count; i++)
        PDR_TRY(check_levels(state->participants[i].session, most, err,
                             pdr__place_at(here, "/participants", i)));
    PDR_TRY(check_levels(state->open_turn, most, err, "/turn/open"));
    PDR_TRY(check_levels(state->selection, most, err, "/turn/selection"));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- Semantic Kernel -------------------------------------------------------
 */

#define SK_GAP "\n      "

/* White space, unless the document is inside of another one. */
static void put_gap(struct out *out, const char *gap)
{
    pdr__put_c(out, out->is_compact ? "" : gap);
}

static void put_sk_name(struct out *out, const char *gap, const char *name)
{
    put_gap(out, gap);
    pdr__put_c(out, "\"");
    pdr__put_c(out, name);
    pdr__put_c(out, "\":");
    put_gap(out, " ");
}

static void put_sk_text(struct out *out, bool *is_first, const char *name,
                        pdr_str text)
{
    if (text.ptr == NULL)
        return;
    pdr__put_c(out, *is_first ? "" : ",");
    put_sk_name(out, SK_GAP, name);
    pdr__put_net_text(out, text, false);
    *is_first = false;
}

/* A list that was made: of messages, some of them as they were read. */
static void put_sk_list(struct out *out, const pdr_value *list, bool is_theirs)
{
    pdr_iter it;

    pdr__put_c(out, "[");
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (it.index > 0)
            pdr__put_c(out, ",");
        if (pdr_value_kind(it.value) == PDR_OBJECT)
            pdr__put_sk_message(out, it.value,
                                is_theirs && value_was_read(it.value));
        else
            pdr__put_net_value(out, it.value);
    }
    pdr__put_c(out, "]");
}

/* Text as text, or raw if it looks like JSON; JSON as it was read. */
static void put_sk_state(struct out *out, const pdr_value *state,
                         bool is_theirs)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text;

    pdr__put_c(out, ",");
    put_sk_name(out, SK_GAP, "ChannelState");
    if (pdr_value_kind(state) == PDR_ARRAY && !value_was_read(state)) {
        put_sk_list(out, state, is_theirs);
        return;
    }
    if (pdr_value_kind(state) != PDR_STRING) {
        if (value_was_read(state))
            pdr__put_value(out, state);
        else
            pdr__put_net_value(out, state);
        return;
    }
    if (out->rc == PDR_OK)
        out->rc = pdr__value_name_bytes(&text, state, &scratch, out->err);
    if (out->rc == PDR_OK) {
        if (looks_like_json(text))
            pdr__put(out, text);
        else
            pdr__put_net_text(out, text, false);
    }
    pdr_buf_dispose(&scratch);
}

/* The messages of a history, without its brackets. */
static void put_messages(struct out *out, const pdr_chat_state *state,
                         pdr_chat_form form)
{
    for (size_t i = 0; i < state->log_count && out->rc == PDR_OK; i++) {
        const pdr_value *message = state->log[i].value;

        if (i > 0)
            pdr__put_c(out, ",");
        if (form == PDR_CHAT_SK)
            pdr__put_sk_message(out, message,
                                state->form != PDR_CHAT_NATIVE &&
                                    value_was_read(message));
        else if (form == PDR_CHAT_PLAIN)
            pdr__put_sketch(out, message);
        else
            pdr__put_value(out, message);
    }
}

static void put_sk(struct out *out, const pdr_chat_state *state)
{
    const bool is_compact = out->is_compact;
    const struct layout none = {false, "", ":"};
    const struct layout inside =
        is_compact ? none : (struct layout){false, SK_GAP, ": "};
    const struct layout outside =
        is_compact ? none : (struct layout){false, "\n  ", ": "};
    bool keeps = pdr__keeps_unknown(state, PDR_CHAT_SK), is_first = true;
    size_t written = 0;

    pdr__put_c(out, "{");
    put_sk_name(out, "\n  ", "Participants");
    pdr__put_c(out, "[");
    for (size_t i = 0; i < state->participant_count; i++) {
        const struct pdr__saved_participant *p = &state->participants[i];

        pdr__put_c(out, i > 0 ? "," : "");
        put_gap(out, "\n    ");
        pdr__put_c(out, "{");
        is_first = true;
        put_sk_text(out, &is_first, "Id", p->id);
        put_sk_text(out, &is_first, "Name", p->name);
        put_sk_text(out, &is_first, "Type", p->type);
        pdr__put_unknown(out, &is_first, keeps ? p->source : NULL,
                         &pdr__known_participant, &inside);
        put_gap(out, "\n    ");
        pdr__put_c(out, "}");
    }
    put_gap(out, state->participant_count > 0 ? "\n  " : "");
    pdr__put_c(out, "],");
    put_sk_name(out, "\n  ", "History");
    pdr__put_c(out, "[");
    put_messages(out, state, PDR_CHAT_SK);
    pdr__put_c(out, "],");
    put_sk_name(out, "\n  ", "Channels");
    pdr__put_c(out, "[");
    for (size_t i = 0; i < state->channel_count; i++) {
        const struct pdr__saved_channel *c = &state->channels[i];

        if (c->sk_key.ptr == NULL)
            continue; /* reported */
        pdr__put_c(out, written++ > 0 ? "," : "");
        put_gap(out, "\n    ");
        pdr__put_c(out, "{");
        is_first = true;
        put_sk_text(out, &is_first, "ChannelKey", c->sk_key);
        put_sk_text(out, &is_first, "ChannelType", c->type);
        if (c->state != NULL)
            put_sk_state(out, c->state, state->form != PDR_CHAT_NATIVE);
        pdr__put_unknown(out, &is_first, keeps ? c->source : NULL,
                         &pdr__known_channel, &inside);
        put_gap(out, "\n    ");
        pdr__put_c(out, "}");
    }
    put_gap(out, written > 0 ? "\n  " : "");
    pdr__put_c(out, "]");
    is_first = false;
    pdr__put_unknown(out, &is_first, keeps ? state->document : NULL,
                     &pdr__known_document, &outside);
    put_gap(out, "\n");
    pdr__put_c(out, "}");
}

/* --- plain and encoded -----------------------------------------------------
 */

/* The text of a state: of JSON its bytes. */
static void put_state_text(struct out *out, const pdr_value *state,
                           bool is_encoded)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    bool is_text = pdr_value_kind(state) == PDR_STRING;
    pdr_str text;

    if (is_text && !is_encoded) {
        pdr__put_value(out, state);
        return;
    }
    if (out->rc == PDR_OK)
        out->rc = is_text
                      ? pdr__value_name_bytes(&text, state, &scratch, out->err)
                      : pdr__value_json(&text, state, &scratch, out->err);
    if (out->rc == PDR_OK && is_encoded) {
        pdr__put_base64_begin(out);
        pdr__put(out, text);
        pdr__put_base64_end(out);
    } else if (out->rc == PDR_OK) {
        pdr__put_text(out, text);
    }
    pdr_buf_dispose(&scratch);
}

static void put_plain(struct out *out, const pdr_chat_state *state,
                      bool is_encoded)
{
    size_t written = 0;

    pdr__put_c(out, "{\"history\":");
    if (is_encoded)
        pdr__put_base64_begin(out);
    pdr__put_c(out, "[");
    put_messages(out, state, is_encoded ? PDR_CHAT_ENCODED : PDR_CHAT_PLAIN);
    pdr__put_c(out, "]");
    if (is_encoded)
        pdr__put_base64_end(out);
    pdr__put_c(out, ",\"channels\":[");
    for (size_t i = 0; i < state->channel_count; i++) {
        const struct pdr__saved_channel *c = &state->channels[i];

        pdr__put_c(out,
                   written++ > 0 ? ",{\"channelkey\":" : "{\"channelkey\":");
        pdr__put_text(out, c->sk_key.ptr != NULL ? c->sk_key : c->key);
        if (c->state != NULL) {
            pdr__put_c(out, ",\"channelstate\":");
            put_state_text(out, c->state, is_encoded);
        }
        pdr__put_c(out, "}");
    }
    pdr__put_c(out, "]}");
}

/* --- as it was read --------------------------------------------------------
 */

static bool is_same_text(pdr_str a, pdr_str b)
{
    return (a.ptr == NULL) == (b.ptr == NULL) && pdr_str_equal(a, b);
}

/* Does one say what the other says, but for what the form leaves out? */
static bool is_same_chat(const pdr_chat_state *a, const pdr_chat_state *b)
{
    bool same = a->participant_count == b->participant_count &&
                a->log_count == b->log_count &&
                a->channel_count == b->channel_count;

    for (size_t i = 0; same && i < a->participant_count; i++)
        same = is_same_text(a->participants[i].id, b->participants[i].id) &&
               is_same_text(a->participants[i].name, b->participants[i].name) &&
               is_same_text(a->participants[i].type, b->participants[i].type);
    for (size_t i = 0; same && i < a->log_count; i++)
        same = pdr_value_equal(a->log[i].value, b->log[i].value);
    for (size_t i = 0; same && i < a->channel_count; i++)
        same = is_same_text(a->channels[i].sk_key, b->channels[i].sk_key) &&
               is_same_text(a->channels[i].type, b->channels[i].type) &&
               pdr_value_equal(a->channels[i].state, b->channels[i].state);
    return same;
}

/* Is the chat what a file of Semantic Kernel says that it was read from?
 * Without memory it is spelled anew. */
static bool is_as_read(const pdr_chat_state *state)
{
    pdr_chat_state *read = NULL;
    bool same = state->form == PDR_CHAT_SK && state->document != NULL &&
                value_was_read(state->document) &&
                pdr__chat_open_value(&read, state->document, NULL) == PDR_OK &&
                read->form == PDR_CHAT_SK && is_same_chat(state, read);

    pdr_chat_state_free(read);
    return same;
}

/* --- all of it -------------------------------------------------------------
 */

static pdr_rc check_key(const pdr_chat_save_opts *opts, pdr_err *err)
{
    const pdr_chat_key *key = &opts->key;

    if (key->bytes.len == 0)
        return PDR_OK;
    if (opts->form != PDR_CHAT_NATIVE)
        return PDR_FAIL(err, BAD_OPTION, "%s",
                        "a key is given, but only native chats have a MAC");
    if (key->bytes.len < PDR_MIN_CHAT_KEY_BYTES || key->id.len == 0 ||
        key->id.len > PDR_MAX_CHAT_KEY_ID ||
        pdr__utf8_valid_len(key->id) != key->id.len)
        return PDR_FAIL(err, BAD_OPTION,
                        "a key has %u bytes or more, and a name of 1 to %u",
                        PDR_MIN_CHAT_KEY_BYTES, PDR_MAX_CHAT_KEY_ID);
    return PDR_OK;
}

static pdr_rc write_all(const pdr_chat_state *state,
                        const pdr_chat_save_opts *opts, bool is_compact,
                        pdr_err *err, pdr_write_fn fn, void *arg)
{
    static const pdr_chat_save_opts native;
    struct pdr__hmac mac = PDR_HMAC_INIT;
    struct out out;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(state != NULL && fn != NULL);
    if (opts == NULL)
        opts = &native;
    pdr__out_init(&out, err, fn, arg);
    out.is_compact = is_compact;
    PDR_TRY(check_key(opts, err));
    PDR_TRY(check_parts(state, opts->form, err));
    PDR_TRY(pdr__report_loss(state, opts, err));
    if (opts->key.bytes.len > 0) {
        PDR_TRY(pdr__chat_mac_begin(&mac, &opts->key, err));
        out.mac = &mac;
    }
    switch (opts->form) {
    case PDR_CHAT_NATIVE:
        pdr__put_native(&out, state, opts);
        break;
    case PDR_CHAT_SK:
        if (!is_compact && is_as_read(state))
            pdr__put_value(&out, state->document);
        else
            put_sk(&out, state);
        break;
    case PDR_CHAT_PLAIN:
    case PDR_CHAT_ENCODED:
        put_plain(&out, state, opts->form == PDR_CHAT_ENCODED);
        break;
    }
    pdr__out_flush(&out);
    rc = out.rc;
done:
    pdr__out_dispose(&out);
    pdr__hmac_dispose(&mac);
    return rc;
}

pdr_rc pdr__chat_write(const pdr_chat_state *state,
                       const pdr_chat_save_opts *opts, pdr_err *err,
                       pdr_write_fn fn, void *arg)
{
    return write_all(state, opts, false, err, fn, arg);
}

pdr_rc pdr__chat_write_inside(const pdr_chat_state *state,
                              const pdr_chat_save_opts *opts, pdr_err *err,
                              pdr_write_fn fn, void *arg)
{
    return write_all(state, opts, true, err, fn, arg);
}
