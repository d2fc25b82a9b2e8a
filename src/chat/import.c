/*
 * import.c - a saved chat, into a store.
 *
 *      begin, add, add, … show: nobody sees half of it
 */
#include <inttypes.h>

#include <perdure/sys/store.h>

#include "document.h"

#define BATCH_ROWS    5000
#define BATCH_BYTES   ((size_t)4 << 20)
#define STAGE_TIME_MS ((int64_t)600000)

/* Rows on their way. */
struct import {
    const pdr_chat_state *state;
    pdr_store *store;
    pdr_stage stage;
    pdr_show_opts show;
    pdr_commit_options options;
    pdr_entry *entries; /* owned; bodies have a length, and lie in `bodies` */
    size_t entry_count, entry_cap;
    pdr_slot *slots; /* owned; of these key and value, one after the other */
    size_t slot_count, slot_cap;
    pdr_buf bodies, texts;
    size_t next_record;                  /* of the turns of the state */
    const struct pdr__turn_record *turn; /* that is open; or NULL */
    pdr_err *err;
};

/* Texts get their places when nothing moves any more. */
static void rows_place(struct import *m)
{
    size_t at = 0;

    for (size_t i = 0; i < m->entry_count; i++) {
        m->entries[i].body.ptr = m->bodies.ptr + at;
        at += m->entries[i].body.len;
    }
    at = 0;
    for (size_t i = 0; i < m->slot_count; i++) {
        m->slots[i].key.ptr = m->texts.ptr + at;
        at += m->slots[i].key.len;
        m->slots[i].value.ptr = m->texts.ptr + at;
        at += m->slots[i].value.len;
    }
}

/* Commit the rows that wait. */
static pdr_rc rows_send(struct import *m, bool shows)
{
    const pdr_rows rows = {.entries = m->entries,
                           .entry_count = m->entry_count,
                           .slots = m->slots,
                           .slot_count = m->slot_count};
    pdr_rc rc = PDR_OK;

    rows_place(m);
    if (shows)
        rc = pdr_stage_show(NULL, m->store, &m->stage, &rows, &m->show,
                            &m->options, m->err);
    else if (m->stage.epoch == 0)
        rc = pdr_stage_begin(NULL, m->store, &m->stage, &rows, &m->options,
                             m->err);
    else
        rc = pdr_stage_add(NULL, m->store, &m->stage, &rows, &m->options,
                           m->err);
    m->entry_count = m->slot_count = 0;
    pdr_buf_clear(&m->bodies);
    pdr_buf_clear(&m->texts);
    return rc;
}

/* One more entry, whose body was appended to `bodies` from `at` on. */
static pdr_rc entry_add(struct import *m, pdr_row_kind kind, size_t at)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&m->entries, &m->entry_cap, m->entry_count + 1,
                      sizeof(*m->entries), m->err));
    m->entries[m->entry_count++] =
        (pdr_entry){.kind = kind,
                    .shape = PDR_ROW_SK,
                    .created_ms = PDR_NO_TIME,
                    .body = {NULL, m->bodies.len - at}};
    if (m->entry_count >= BATCH_ROWS || m->bodies.len >= BATCH_BYTES)
        PDR_TRY(rows_send(m, false));
done:
    return rc;
}

static pdr_rc record_add(struct import *m, const struct pdr__turn_record *turn,
                         pdr_turn_end end, pdr_str origin)
{
    struct pdr__turn_record record = *turn;
    size_t at = m->bodies.len;
    pdr_rc rc = PDR_OK;

    record.end = end;
    PDR_TRY(pdr__record_write(&m->bodies, &record, origin, m->err));
    PDR_TRY(entry_add(m, PDR_ROW_RECORD, at));
done:
    return rc;
}

static pdr_rc turn_close(struct import *m)
{
    const struct pdr__turn_record *turn = m->turn;

    m->turn = NULL;
    return turn == NULL || turn->end == PDR_TURN_OPEN
               ? PDR_OK
               : record_add(m, turn, turn->end, pdr_str_n(NULL, 0));
}

/* The records before a message of turn `next`: of turns that said nothing, and
 * of its own; 0: it has none. */
static pdr_rc records_add(struct import *m, uint64_t next, pdr_str origin)
{
    const pdr_chat_state *state = m->state;
    pdr_rc rc = PDR_OK;

    if (m->turn != NULL && m->turn->turn == next)
        return PDR_OK;
    PDR_TRY(turn_close(m));
    while (next > 0 && m->turn == NULL && m->next_record < state->turn_count &&
           state->turns[m->next_record].turn <= next) {
        m->turn = &state->turns[m->next_record++];
        PDR_TRY(
            record_add(m, m->turn, PDR_TURN_OPEN,
                       m->turn->turn == next ? origin : pdr_str_n(NULL, 0)));
        if (m->turn->turn != next)
            PDR_TRY(turn_close(m));
    }
done:
    return rc;
}

/* Does the message say something else than its place does? */
static pdr_rc mark_add(struct import *m, size_t index, pdr_str origin)
{
    const struct pdr__log_entry *entry = &m->state->log[index];
    const bool is_last = index + 1 == m->state->log_count ||
                         m->state->log[index + 1].turn != entry->turn;
    size_t at = m->bodies.len;
    bool is_visible = true;
    pdr_rc rc = PDR_OK;

    if (m->turn != NULL)
        is_visible = !pdr__is_tool_traffic(entry->value) ||
                     (is_last && m->turn->end == PDR_TURN_ENDED);
    if (entry->turn == (m->turn != NULL ? m->turn->turn : 0) &&
        pdr_str_equal(entry->origin, origin) && entry->is_visible == is_visible)
        return PDR_OK;
    PDR_TRY(pdr_buf_printf(&m->bodies, m->err,
                           "{\"what\":\"mark\",\"turn\":%" PRIu64 ",\"vis\":%s",
                           entry->turn, entry->is_visible ? "true" : "false"));
    if (entry->origin.ptr != NULL) {
        PDR_TRY(pdr_buf_append(&m->bodies, PDR_LIT(",\"origin\":\""), m->err));
        PDR_TRY(pdr__text_encode(&m->bodies, entry->origin, m->err));
        PDR_TRY(pdr_buf_append(&m->bodies, PDR_LIT("\""), m->err));
    }
    PDR_TRY(pdr_buf_append(&m->bodies, PDR_LIT("}"), m->err));
    PDR_TRY(entry_add(m, PDR_ROW_RECORD, at));
done:
    return rc;
}

static pdr_rc log_add(struct import *m)
{
    const pdr_chat_state *state = m->state;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str origin = {NULL, 0}, text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < state->log_count; i++) {
        const struct pdr__log_entry *entry = &state->log[i];
        const struct pdr__turn_record *before = m->turn;
        size_t at = 0;

        PDR_TRY(records_add(m, entry->turn, entry->origin));
        if (m->turn == NULL)
            origin = pdr_str_n(NULL, 0);
        else if (m->turn != before)
            origin = entry->origin;
        PDR_TRY(mark_add(m, i, origin));
        at = m->bodies.len;
        PDR_TRY(pdr__value_json(&text, entry->value, &scratch, m->err));
        PDR_TRY(pdr_buf_append(&m->bodies, text, m->err));
        PDR_TRY(entry_add(m, PDR_ROW_MESSAGE, at));
    }
    PDR_TRY(records_add(m, UINT64_MAX, pdr_str_n(NULL, 0)));
    PDR_TRY(turn_close(m));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* A pdr__chat_slot_fn. */
static pdr_rc slot_add(pdr_str key, pdr_str value, pdr_err *err, void *arg)
{
    struct import *m = arg;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&m->slots, &m->slot_cap, m->slot_count + 1,
                      sizeof(*m->slots), err));
    PDR_TRY(pdr_buf_append(&m->texts, key, err));
    PDR_TRY(pdr_buf_append(&m->texts, value, err));
    m->slots[m->slot_count++] =
        (pdr_slot){.key = {NULL, key.len}, .value = {NULL, value.len}};
done:
    return rc;
}

/* Members of the document that we do not know. */
static pdr_rc unknown_add(struct import *m)
{
    const struct layout compact = {m->state->form == PDR_CHAT_NATIVE, "", ":"};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct out out;
    bool is_first = true;
    pdr_rc rc = PDR_OK;

    pdr__out_init(&out, m->err, pdr_write_buf, &text);
    pdr__put_c(&out, "{");
    pdr__put_unknown(&out, &is_first, m->state->document, &pdr__known_document,
                     &compact);
    pdr__put_c(&out, "}");
    pdr__out_flush(&out);
    rc = out.rc;
    pdr__out_dispose(&out);
    if (rc == PDR_OK && !is_first)
        rc = slot_add(PDR_LIT("more"), pdr_buf_str(&text), m->err, m);
    pdr_buf_dispose(&text);
    return rc;
}

/* Nobody may be at work on the session that it takes the place of. */
static pdr_rc old_check(struct import *m, const pdr_head *old)
{
    if (old == NULL)
        return PDR_OK;
    m->show.revision = old->revision;
    m->show.commits = old->commits;
    if (old->lease.owner.ptr != NULL && old->lease.until_ms > m->options.now_ms)
        return PDR_FAIL(m->err, CHAT_BUSY, "%s",
                        "somebody is at work on the session that is there: "
                        "wait for it");
    return PDR_OK;
}

pdr_rc pdr__chat_state_store(const pdr_chat_state *state, pdr_store *store,
                             const pdr_ref *ref, const pdr_head *old,
                             int64_t now_ms, pdr_err *err)
{
    struct import m = {.state = state,
                       .store = store,
                       .stage = {.ref = *ref,
                                 .kind = PDR_LIT("chat"),
                                 .until_ms = now_ms + STAGE_TIME_MS},
                       .options = {.now_ms = now_ms},
                       .bodies = PDR_BUF_INIT(SIZE_MAX),
                       .texts = PDR_BUF_INIT(SIZE_MAX),
                       .err = err};
    pdr_rc rc = PDR_OK;

    PDR_TRY(old_check(&m, old));
    PDR_TRY(log_add(&m));
    PDR_TRY(pdr__slots_write(state, err, slot_add, &m));
    PDR_TRY(unknown_add(&m));
    if (m.show.revision > 0 && m.stage.epoch == 0)
        PDR_TRY(rows_send(&m, false)); /* what is there goes with the last */
    PDR_TRY(rows_send(&m, true));
done:
    if (m.stage.epoch != 0)
        (void)!pdr_stage_abandon(store, &m.stage, &m.options, NULL);
    pdr__free(m.entries);
    pdr__free(m.slots);
    pdr_buf_dispose(&m.bodies);
    pdr_buf_dispose(&m.texts);
    return rc;
}

pdr_rc pdr_chat_state_store(const pdr_chat_state *state, pdr_store *store,
                            const pdr_ref *ref, bool replace, int64_t now_ms,
                            pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(state != NULL && store != NULL && ref != NULL);
    query.ref = *ref;
    rc = pdr_store_read(&page, store, &query, &why);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        return pdr__err_pass(err, &why);
    if (page != NULL && !replace)
        rc = PDR_FAIL(err, SESSION_EXISTS,
                      "there is a session '%s' already: replace it, or choose "
                      "another id",
                      pdr__shown(shown, ref->id));
    else
        rc = pdr__chat_state_store(
            state, store, ref, page != NULL ? &page->head : NULL, now_ms, err);
    pdr_page_free(page);
    return rc;
}
