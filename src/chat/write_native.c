/*
 * write_native.c - native documents: all that a chat has, in one line.
 *
 * The chain stands before the messages that it covers, so they are gone over
 * twice; nothing of them is kept. The MAC is last, and covers what has left
 * until then (out.c).
 *
 * NOT HERE  What the members mean: docs/formats/chats.md.
 */
#include "document.h"

static const struct layout compact = {true, "", ":"};

static void put_member(struct out *out, bool *is_first, const char *name,
                       pdr_str text)
{
    if (text.ptr == NULL)
        return;
    pdr__put_c(out, *is_first ? "" : ",");
    pdr__put_text(out, pdr_str_c(name));
    pdr__put_c(out, ":");
    pdr__put_text(out, text);
    *is_first = false;
}

void pdr__put_participant(struct out *out,
                          const struct pdr__saved_participant *p)
{
    bool is_first = true;

    pdr__put_c(out, "{");
    put_member(out, &is_first, "id", p->id);
    put_member(out, &is_first, "name", p->name);
    put_member(out, &is_first, "type", p->type);
    put_member(out, &is_first, "key2", p->key);
    if (p->session != NULL) {
        pdr__put_c(out, is_first ? "\"session\":" : ",\"session\":");
        pdr__put_value(out, p->session);
        is_first = false;
    }
    pdr__put_unknown(out, &is_first, p->source, &pdr__known_participant,
                     &compact);
    pdr__put_c(out, "}");
}

/* A value that is in base64 if the document is. */
static void put_value(struct out *out, const pdr_value *value, bool is_encoded)
{
    if (is_encoded)
        pdr__put_base64_begin(out);
    pdr__put_value(out, value);
    if (is_encoded)
        pdr__put_base64_end(out);
}

void pdr__put_channel(struct out *out, const struct pdr__saved_channel *c,
                      bool is_encoded)
{
    bool is_first = true;

    pdr__put_c(out, "{");
    put_member(out, &is_first, "key2", c->key);
    put_member(out, &is_first, "key", c->sk_key);
    put_member(out, &is_first, "kind", c->kind);
    put_member(out, &is_first, "type", c->type);
    if (c->state_version > 0) {
        pdr__put_c(out, ",\"state_version\":");
        pdr__put_number(out, c->state_version);
    }
    if (c->has_cursor) {
        pdr__put_c(out, ",\"cursor\":");
        pdr__put_number(out, c->cursor);
    }
    if (c->state != NULL) {
        pdr__put_c(out, ",\"state\":");
        put_value(out, c->state, is_encoded);
    }
    pdr__put_unknown(out, &is_first, c->source, &pdr__known_channel, &compact);
    pdr__put_c(out, "}");
}

/* The end of the chain through all messages. */
static pdr_rc sum_chain(char hex[2 * PDR_SHA256_BYTES + 1], struct out *out,
                        const pdr_chat_state *state)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    uint8_t chain[PDR_SHA256_BYTES] = {0};
    pdr_str text;
    pdr_rc rc = out->rc;

    for (size_t i = 0; i < state->log_count && rc == PDR_OK; i++) {
        PDR_TRY(pdr__value_json(&text, state->log[i].value, &out->scratch,
                                out->err));
        PDR_TRY(pdr__chain_add(chain, &digest, text, out->err));
    }
done:
    pdr__sha256_dispose(&digest);
    pdr__hex(hex, chain, sizeof(chain));
    return rc;
}

static void put_history(struct out *out, const pdr_chat_state *state)
{
    char chain[2 * PDR_SHA256_BYTES + 1];

    out->rc = sum_chain(chain, out, state);
    pdr__put_c(out, "{\"count\":");
    pdr__put_number(out, state->log_count);
    pdr__put_c(out, ",\"chain\":\"");
    pdr__put_c(out, chain);
    pdr__put_c(out, "\",\"messages\":[");
    for (size_t i = 0; i < state->log_count && out->rc == PDR_OK; i++) {
        const struct pdr__log_entry *entry = &state->log[i];

        pdr__put_c(out, i > 0 ? ",{\"seq\":" : "{\"seq\":");
        pdr__put_number(out, i + 1);
        pdr__put_c(out, ",\"turn\":");
        pdr__put_number(out, entry->turn);
        pdr__put_c(out, ",\"origin\":");
        if (entry->origin.ptr != NULL)
            pdr__put_text(out, entry->origin);
        else
            pdr__put_c(out, "null");
        pdr__put_c(out, entry->is_visible ? ",\"vis\":true,\"m\":"
                                          : ",\"vis\":false,\"m\":");
        pdr__put_value(out, entry->value);
        pdr__put_c(out, "}");
    }
    pdr__put_c(out, "]}");
}

/* The turns that are over. */
static void put_records(struct out *out, const pdr_chat_state *state)
{
    bool is_first = true, is_bare = false;

    for (size_t i = 0; i < state->turn_count; i++) {
        const struct pdr__turn_record *turn = &state->turns[i];

        if (turn->end == PDR_TURN_OPEN)
            continue;
        pdr__put_c(out, is_first ? ",\"records\":[" : ",");
        is_first = false;
        pdr__put_c(out, "{\"turn\":");
        pdr__put_number(out, turn->turn);
        put_member(out, &is_bare, "agent", turn->agent);
        pdr__put_c(out, turn->end == PDR_TURN_ENDED ? ",\"end\":\"ended\""
                                                    : ",\"end\":\"aborted\"");
        put_member(out, &is_bare, "why", turn->why);
        pdr__put_c(out, turn->is_chosen ? ",\"chosen\":true" : "");
        pdr__put_c(out, "}");
    }
    pdr__put_c(out, is_first ? "" : "]");
}

static void put_turn(struct out *out, const pdr_chat_state *state)
{
    const pdr_value *null = pdr_value_new_null();

    if (!state->is_complete && state->turn == 0 && state->open_turn == NULL &&
        state->selection == NULL && !state->run.is_open) {
        pdr__put_c(out, "{}");
        return;
    }
    pdr__put_c(out, state->is_complete ? "{\"complete\":true,\"iteration\":"
                                       : "{\"complete\":false,\"iteration\":");
    pdr__put_number(out, state->turn);
    pdr__put_c(out, ",\"open\":");
    pdr__put_value(out, state->open_turn != NULL ? state->open_turn : null);
    pdr__put_c(out, ",\"selection\":");
    pdr__put_value(out, state->selection != NULL ? state->selection : null);
    put_records(out, state);
    if (state->run.is_open) {
        pdr__put_c(out, ",\"run\":{\"after\":");
        pdr__put_number(out, state->run.after);
        pdr__put_c(out, ",\"said\":");
        pdr__put_number(out, state->run.said);
        pdr__put_c(out, ",\"turns\":");
        pdr__put_number(out, state->run.turns);
        pdr__put_c(out, "}");
    }
    pdr__put_c(out, "}");
}

/* The MAC of all that was put. */
static void put_mac(struct out *out, const pdr_chat_key *key)
{
    uint8_t sum[PDR_SHA256_BYTES];

    pdr__out_flush(out);
    if (out->rc == PDR_OK)
        out->rc = pdr__hmac_final(sum, out->mac, out->err);
    out->mac = NULL;
    if (out->rc != PDR_OK)
        return;
    pdr__put_c(out, ",\"mac\":{\"alg\":\"HMAC-SHA256\",\"kid\":");
    pdr__put_text(out, key->id);
    pdr__put_c(out, ",\"value\":");
    pdr__put_base64_begin(out);
    pdr__put(out, pdr_str_n((const char *)sum, sizeof(sum)));
    pdr__put_base64_end(out);
    pdr__put_c(out, "}");
}

void pdr__put_native(struct out *out, const pdr_chat_state *state,
                     const pdr_chat_save_opts *opts)
{
    bool is_first = false;

    pdr__put_c(out, "{\"format\":\"agentchat\",\"version\":1");
    put_member(out, &is_first, "id", state->id);
    pdr__put_c(out, ",\"epoch\":");
    pdr__put_number(out, state->epoch);
    pdr__put_c(out, ",\"rev\":");
    pdr__put_number(out, state->revision);
    pdr__put_c(out, opts->is_encoded
                        ? ",\"encoding\":\"base64\",\"participants\":["
                        : ",\"encoding\":\"none\",\"participants\":[");
    for (size_t i = 0; i < state->participant_count; i++) {
        pdr__put_c(out, i > 0 ? "," : "");
        pdr__put_participant(out, &state->participants[i]);
    }
    pdr__put_c(out, "],\"history\":");
    if (opts->is_encoded)
        pdr__put_base64_begin(out);
    put_history(out, state);
    if (opts->is_encoded)
        pdr__put_base64_end(out);
    pdr__put_c(out, ",\"channels\":[");
    for (size_t i = 0; i < state->channel_count; i++) {
        pdr__put_c(out, i > 0 ? "," : "");
        pdr__put_channel(out, &state->channels[i], opts->is_encoded);
    }
    pdr__put_c(out, "],\"turn\":");
    put_turn(out, state);
    pdr__put_unknown(out, &is_first, state->document, &pdr__known_document,
                     &compact);
    if (out->mac != NULL)
        put_mac(out, &opts->key);
    pdr__put_c(out, "}");
}
