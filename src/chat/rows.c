/*
 * rows.c - a chat as rows of a store, and back.
 *
 *      entry     MESSAGE  a message, in the shape of the log
 *                RECORD   {"turn":5,"what":"begin","agent":ID,"origin":KEY,
 *                          "chosen":true}
 *                         {"turn":5,"what":"end"}
 *                         {"turn":5,"what":"abort","why":TEXT}
 *                         {"what":"mark","turn":5,"origin":KEY,"vis":false}
 *      slot      chat            who is next, is it over, which turn
 *                participant:N   as in a native document, and so is
 *                channel:N
 *                more            members of a document that we do not know
 *
 * WHY  What a turn adds is a few rows, however long the conversation is. What a
 *      message is in a document beside its text - its turn, its channel, may it
 *      be seen - follows from the records around it. Where a document says
 *      something else, a mark before the message does.
 *
 * NOT HERE  The commits of a chat at work (home.c).
 */
#include <inttypes.h>

#include <perdure/json.h>
#include <perdure/sys/store.h>

#include "document.h"

#define ROWS_VERSION 1
#define LOAD_TRIES   20 /* while others commit */

static const char *const prefixes[2] = {"participant:", "channel:"};

/* --- writing ---------------------------------------------------------------
 */

static pdr_rc text_member(pdr_buf *out, const char *name, pdr_str text,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (text.ptr == NULL)
        return PDR_OK;
    PDR_TRY(pdr_buf_printf(out, err, ",\"%s\":\"", name));
    PDR_TRY(pdr__text_encode(out, text, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("\""), err));
done:
    return rc;
}

pdr_rc pdr__record_write(pdr_buf *out, const struct pdr__turn_record *turn,
                         pdr_str origin, pdr_err *err)
{
    static const char *const words[] = {"begin", "end", "abort"};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(out, err, "{\"turn\":%" PRIu64 ",\"what\":\"%s\"",
                           turn->turn, words[turn->end]));
    if (turn->end == PDR_TURN_OPEN) {
        PDR_TRY(text_member(out, "agent", turn->agent, err));
        PDR_TRY(text_member(out, "origin", origin, err));
        if (turn->is_chosen)
            PDR_TRY(pdr_buf_append(out, PDR_LIT(",\"chosen\":true"), err));
    }
    if (turn->end == PDR_TURN_ABORTED)
        PDR_TRY(text_member(out, "why", turn->why, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("}"), err));
done:
    return rc;
}

/* The slot that is the chat itself. */
static void put_chat(struct out *out, const pdr_chat_state *state)
{
    pdr__put_c(out, "{\"version\":");
    pdr__put_number(out, ROWS_VERSION);
    if (state->id.ptr != NULL) {
        pdr__put_c(out, ",\"id\":");
        pdr__put_text(out, state->id);
    }
    pdr__put_c(out, ",\"epoch\":");
    pdr__put_number(out, state->epoch);
    pdr__put_c(out, state->is_complete ? ",\"complete\":true"
                                       : ",\"complete\":false");
    pdr__put_c(out, ",\"iteration\":");
    pdr__put_number(out, state->turn);
    if (state->form != PDR_CHAT_NATIVE) {
        pdr__put_c(out, ",\"form\":");
        pdr__put_number(out, state->form);
    }
    if (state->selection != NULL) {
        pdr__put_c(out, ",\"selection\":");
        pdr__put_value(out, state->selection);
    }
    pdr__put_c(out, "}");
}

pdr_rc pdr__slots_write(const pdr_chat_state *state, pdr_err *err,
                        pdr__chat_slot_fn fn, void *arg)
{
    const size_t counts[] = {state->participant_count, state->channel_count, 1};
    pdr_buf key = PDR_BUF_INIT(SIZE_MAX), value = PDR_BUF_INIT(SIZE_MAX);
    struct out out;
    pdr_rc rc = PDR_OK;

    for (size_t what = 0; what < PDR_COUNT(counts); what++) {
        for (size_t i = 0; i < counts[what]; i++) {
            pdr_buf_clear(&key);
            pdr_buf_clear(&value);
            if (what < PDR_COUNT(prefixes))
                PDR_TRY(pdr_buf_printf(&key, err, "%s%zu", prefixes[what], i));
            else
                PDR_TRY(pdr_buf_append(&key, PDR_LIT("chat"), err));
            pdr__out_init(&out, err, pdr_write_buf, &value);
            if (what == 0)
                pdr__put_participant(&out, &state->participants[i]);
            else if (what == 1)
                pdr__put_channel(&out, &state->channels[i], false);
            else
                put_chat(&out, state);
            pdr__out_flush(&out);
            rc = out.rc;
            pdr__out_dispose(&out);
            if (rc == PDR_OK)
                rc = fn(pdr_buf_str(&key), pdr_buf_str(&value), err, arg);
            if (rc != PDR_OK)
                goto done;
        }
    }
done:
    pdr_buf_dispose(&key);
    pdr_buf_dispose(&value);
    return rc;
}

/* --- reading ---------------------------------------------------------------
 */

/* What the records before a message say of it. */
struct reading {
    struct opening o;
    struct pdr__turn_record *turn; /* that is open; NULL: none */
    pdr_str origin;                /* of its channel */
    size_t turn_first;             /* of the messages, its first one */
    bool has_mark;
    struct pdr__log_entry mark; /* of the next message */
};

static void reading_dispose(struct reading *r)
{
    pdr_chat_state_free(r->o.state);
    pdr__map_dispose(&r->o.keys);
    pdr_buf_dispose(&r->o.scratch);
}

static pdr_rc row_bad(struct reading *r, const char *what, pdr_str row)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(r->o.err, BAD_CHAT, "%s of the chat cannot be read: %s",
                    what, pdr__shown(shown, row));
}

static pdr_rc record_text(pdr_str *out, struct reading *r,
                          const pdr_value *record, const char *name)
{
    const struct member member = {name, NULL, pdr_value_get_c(record, name)};

    return pdr__take_text(out, &r->o, &member, "");
}

static pdr_rc turn_begin(struct reading *r, uint64_t turn,
                         const pdr_value *record)
{
    pdr_chat_state *state = r->o.state;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&state->turns, &state->turn_cap,
                      state->turn_count + 1, sizeof(*state->turns), r->o.err));
    r->turn = &state->turns[state->turn_count];
    *r->turn = (struct pdr__turn_record){.turn = turn,
                                         .is_chosen = pdr__is_chosen(record)};
    state->turn_count++;
    if (turn > state->turn) /* the slots are those of the last one that ended */
        state->turn = turn;
    PDR_TRY(record_text(&r->turn->agent, r, record, "agent"));
    PDR_TRY(record_text(&r->origin, r, record, "origin"));
    r->turn_first = state->log_count;
done:
    return rc;
}

static pdr_rc record_read(struct reading *r, pdr_str body)
{
    pdr_value *record = NULL;
    const pdr_value *what = NULL, *number = NULL;
    pdr_chat_state *state = r->o.state;
    uint64_t turn = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_json_read(&record, body, NULL, r->o.err));
    if (pdr_value_kind(record) == PDR_OBJECT) {
        what = pdr_value_get_c(record, "what");
        number = pdr_value_get_c(record, "turn");
    }
    if (what == NULL || number == NULL ||
        pdr_value_uint64(&turn, number, NULL) != PDR_OK)
        PDR_TRY(row_bad(r, "a record", body));
    if (pdr_value_text_is(what, PDR_LIT("mark"))) {
        r->has_mark = true;
        r->mark = (struct pdr__log_entry){.turn = turn, .is_visible = true};
        PDR_TRY(record_text(&r->mark.origin, r, record, "origin"));
        if (pdr_value_get_c(record, "vis") != NULL &&
            pdr_value_bool(&r->mark.is_visible, pdr_value_get_c(record, "vis"),
                           NULL) != PDR_OK)
            PDR_TRY(row_bad(r, "a record", body));
    } else if (pdr_value_text_is(what, PDR_LIT("begin"))) {
        PDR_TRY(turn_begin(r, turn, record));
    } else if (r->turn != NULL && r->turn->turn == turn) {
        bool ends = pdr_value_text_is(what, PDR_LIT("end"));

        r->turn->end = ends ? PDR_TURN_ENDED : PDR_TURN_ABORTED;
        PDR_TRY(record_text(&r->turn->why, r, record, "why"));
        if (ends && state->log_count > r->turn_first)
            state->log[state->log_count - 1].is_visible = true;
        r->turn = NULL;
    } else {
        PDR_TRY(row_bad(r, "a record", body));
    }
done:
    pdr_value_free(record);
    return rc;
}

static pdr_rc entry_read(struct reading *r, const pdr_entry *row)
{
    pdr_chat_state *state = r->o.state;
    struct pdr__log_entry entry = {.is_visible = true};
    pdr_rc rc = PDR_OK;

    if (row->kind == PDR_ROW_RECORD)
        return record_read(r, row->body);
    if (row->kind != PDR_ROW_MESSAGE || row->shape != PDR_ROW_SK)
        return row_bad(r, "an entry", row->body);
    PDR_TRY(pdr_json_read(&entry.value, row->body, NULL, r->o.err));
    if (pdr_value_kind(entry.value) != PDR_OBJECT) {
        pdr_value_free(entry.value);
        return row_bad(r, "a message", row->body);
    }
    if (r->has_mark) {
        r->mark.value = entry.value;
        entry = r->mark;
        r->has_mark = false;
    } else if (r->turn != NULL) {
        entry.turn = r->turn->turn;
        entry.origin = r->origin;
        entry.is_visible = !pdr__is_tool_traffic(entry.value);
    }
    rc = pdr__grow((void **)&state->log, &state->log_cap, state->log_count + 1,
                   sizeof(*state->log), r->o.err);
    if (rc != PDR_OK) {
        pdr_value_free(entry.value);
        return rc;
    }
    state->log[state->log_count++] = entry;
done:
    return rc;
}

/* {"version":1,...}, as put_chat() writes it. */
static pdr_rc chat_slot_read(struct reading *r, const pdr_value *slot)
{
    pdr_chat_state *state = r->o.state;
    struct member m[] = {{.name = "version"},   {.name = "id"},
                         {.name = "epoch"},     {.name = "complete"},
                         {.name = "iteration"}, {.name = "form"},
                         {.name = "selection"}};
    uint64_t version = 0, form = PDR_CHAT_NATIVE;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__find_members(m, PDR_COUNT(m), &r->o, slot, false, "/chat"));
    PDR_TRY(pdr__take_number(&version, &r->o, &m[0], "/chat"));
    if (version > ROWS_VERSION)
        return PDR_FAIL(r->o.err, CHAT_VERSION,
                        "the chat has version %" PRIu64 ", this program reads "
                        "up to %d; use a newer perdure",
                        version, ROWS_VERSION);
    PDR_TRY(pdr__take_text(&state->id, &r->o, &m[1], "/chat"));
    PDR_TRY(pdr__take_number(&state->epoch, &r->o, &m[2], "/chat"));
    if (m[3].value != NULL &&
        pdr_value_bool(&state->is_complete, m[3].value, NULL) != PDR_OK)
        return BAD_CHAT_AT(r->o.err, "/chat/complete", "%s",
                           "'complete' is true or false");
    PDR_TRY(pdr__take_number(&state->turn, &r->o, &m[4], "/chat"));
    PDR_TRY(pdr__take_number(&form, &r->o, &m[5], "/chat"));
    if (form > PDR_CHAT_ENCODED)
        return BAD_CHAT_AT(r->o.err, "/chat/form", "%s", "no form of a chat");
    state->form = (pdr_chat_form)form;
    if (!pdr__is_nothing(m[6].value))
        state->selection = pdr_value_ref(m[6].value);
done:
    return rc;
}

/* The number in "participant:12"; false: it is not one of these. */
static bool slot_number(size_t *out, pdr_str key, const char *prefix,
                        size_t count)
{
    size_t len = strlen(prefix), number = 0;

    if (key.len <= len || key.len > len + 9 ||
        memcmp(key.ptr, prefix, len) != 0)
        return false;
    for (size_t i = len; i < key.len; i++) {
        if (key.ptr[i] < '0' || key.ptr[i] > '9')
            return false;
        number = number * 10 + (size_t)(key.ptr[i] - '0');
    }
    *out = number;
    return number < count; /* there are not more slots than that */
}

/* Only what nobody knows is to be written again, whatever form that is in: a
 * slot has our names, which other forms do not know. */
static pdr_rc source_strip(pdr_value **source, const struct known *known,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (const char *const *name = known->native; *name != NULL; name++) {
        if (pdr_value_get_c(*source, *name) != NULL)
            PDR_TRY(pdr_value_remove(source, pdr_str_c(*name), err));
    }
done:
    return rc;
}

static pdr_rc slot_read(struct reading *r, const pdr_slot *slot, size_t count)
{
    pdr_chat_state *state = r->o.state;
    pdr_value *value = NULL;
    place here;
    size_t i = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_json_read(&value, slot->value, NULL, r->o.err));
    if (pdr_str_equal(slot->key, PDR_LIT("chat"))) {
        PDR_TRY(chat_slot_read(r, value));
    } else if (pdr_str_equal(slot->key, PDR_LIT("more"))) {
        state->document = pdr_value_ref(value);
    } else if (slot_number(&i, slot->key, prefixes[0], count)) {
        PDR_TRY(pdr__grow((void **)&state->participants,
                          &state->participant_cap, i + 1,
                          sizeof(*state->participants), r->o.err));
        for (; state->participant_count <= i; state->participant_count++)
            state->participants[state->participant_count] =
                (struct pdr__saved_participant){.source = NULL};
        PDR_TRY(pdr__read_participant(&r->o, &state->participants[i], value,
                                      pdr__place_at(here, "/participants", i)));
        PDR_TRY(source_strip(&state->participants[i].source,
                             &pdr__known_participant, r->o.err));
    } else if (slot_number(&i, slot->key, prefixes[1], count)) {
        PDR_TRY(pdr__grow((void **)&state->channels, &state->channel_cap, i + 1,
                          sizeof(*state->channels), r->o.err));
        for (; state->channel_count <= i; state->channel_count++)
            state->channels[state->channel_count] =
                (struct pdr__saved_channel){.source = NULL};
        PDR_TRY(pdr__read_channel(&r->o, &state->channels[i], value,
                                  pdr__place_at(here, "/channels", i)));
        PDR_TRY(source_strip(&state->channels[i].source, &pdr__known_channel,
                             r->o.err));
    }
done:
    pdr_value_free(value);
    return rc;
}

/* Is all of it there, and does it fit together? */
static pdr_rc chat_check(struct reading *r)
{
    pdr_chat_state *state = r->o.state;
    place here;

    for (size_t i = 0; i < state->participant_count; i++) {
        if (state->participants[i].source == NULL)
            return BAD_CHAT_AT(r->o.err,
                               pdr__place_at(here, "/participants", i), "%s",
                               "this participant is missing");
    }
    for (size_t i = 0; i < state->channel_count; i++) {
        const struct pdr__saved_channel *c = &state->channels[i];

        if (c->source == NULL || c->cursor > state->log_count)
            return BAD_CHAT_AT(r->o.err, pdr__place_at(here, "/channels", i),
                               "%s",
                               "this channel is missing, or ahead of the log");
    }
    return PDR_OK;
}

/* Read slots and entries, all of one revision: `*is_late` if somebody
 * committed meanwhile. */
static pdr_rc rows_read(struct reading *r, bool *is_late, pdr_head *head,
                        pdr_store *store, const pdr_ref *ref)
{
    pdr_query query = {.ref = *ref, .limit = PDR_MAX_PAGE_ROWS};
    static const pdr_read_what parts[] = {PDR_READ_SLOTS, PDR_READ_ENTRIES};
    pdr_page *page = NULL;
    pdr_buf next = PDR_BUF_INIT(SIZE_MAX);
    bool is_first = true;
    pdr_rc rc = PDR_OK;

    *is_late = false;
    for (size_t part = 0; part < PDR_COUNT(parts); part++) {
        query.what = parts[part];
        query.after = pdr_str_n(NULL, 0);
        do {
            PDR_TRY(pdr_store_read(&page, store, &query, r->o.err));
            if (is_first && !pdr_str_equal(page->head.kind, PDR_LIT("chat")))
                PDR_TRY(PDR_FAIL(r->o.err, SESSION_KIND,
                                 "this session is of kind '%.*s', not a chat",
                                 (int)page->head.kind.len,
                                 page->head.kind.ptr));
            if (is_first)
                *head = page->head;
            is_first = false;
            *is_late = page->head.revision != head->revision ||
                       page->head.epoch != head->epoch;
            for (size_t i = 0; !*is_late && i < page->count; i++) {
                if (part == 1)
                    PDR_TRY(entry_read(r, &page->entries[i]));
                else
                    PDR_TRY(slot_read(r, &page->slots[i], (size_t)head->slots));
            }
            pdr_buf_clear(&next);
            PDR_TRY(pdr_buf_append(&next, page->next, r->o.err));
            query.after = page->next.ptr != NULL ? pdr_buf_str(&next)
                                                 : pdr_str_n(NULL, 0);
            pdr_page_free(page);
            page = NULL;
        } while (!*is_late && query.after.ptr != NULL);
    }
done:
    pdr_page_free(page);
    pdr_buf_dispose(&next);
    return rc;
}

pdr_rc pdr__chat_load(pdr_chat_state **out, pdr_head *head, pdr_store *store,
                      const pdr_ref *ref, pdr_err *err)
{
    static const pdr_chat_open_opts usual;
    struct reading r = {.o = {.opts = &usual, .err = err}};
    bool is_late = true;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    for (int i = 0; is_late && i < LOAD_TRIES; i++) {
        reading_dispose(&r);
        r = (struct reading){.o = {.opts = &usual,
                                   .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                                   .keys = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                                   .err = err}};
        PDR_TRY(pdr__chat_state_new(&r.o.state, err));
        PDR_TRY(rows_read(&r, &is_late, head, store, ref));
    }
    if (is_late)
        PDR_TRY(PDR_FAIL(err, CHAT_BUSY, "%s",
                         "the chat changes faster than it can be read: try "
                         "again later"));
    PDR_TRY(chat_check(&r));
    if (r.turn != NULL)
        PDR_TRY(pdr__open_turn(&r.o.state->open_turn, r.turn, err));
    r.o.state->revision = head->revision;
    head->ref = (pdr_ref){.tenant = {NULL, 0}}; /* its texts are gone */
    head->agent = head->kind = head->schema_version = pdr_str_n(NULL, 0);
    head->lease.owner = pdr_str_n(NULL, 0);
    *out = r.o.state;
    r.o.state = NULL;
done:
    reading_dispose(&r);
    return rc;
}

pdr_rc pdr_chat_load(pdr_chat_state **out, pdr_store *store, const pdr_ref *ref,
                     pdr_err *err)
{
    pdr_head head;

    PDR_REQUIRE(out != NULL && store != NULL && ref != NULL);
    return pdr__chat_load(out, &head, store, ref, err);
}
