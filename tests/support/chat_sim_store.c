/*
 * chat_sim_store.c - "csim:", the way of one process to the store that all
 * share. A commit may fail, end unknown, or be the last thing that a process
 * does. What is committed is what must be, from then on.
 */
#include "chat_sim.h"

#include "store.h"

struct csim_store {
    pdr_store base; /* first */
    struct csim_process *process;
};

static struct csim_process *opening; /* by csim_store_open() */

static struct csim_process *process_of(pdr_store *store)
{
    return ((struct csim_store *)store)->process;
}

void csim_cut(struct csim_process *p, enum csim_event why)
{
    if (why != CSIM_EVENT_COUNT)
        csim_count(p->world, why);
    csim_trace(p->world, "p%u: is cut off", p->number);
    p->is_cut = true;
}

/* --- what must be ---------------------------------------------------------
 */

static void record_note(struct csim_process *p, const pdr_value *record)
{
    struct csim *w = p->world;
    struct csim_truth *t = &w->truth;
    const pdr_value *what = pdr_value_get_c(record, "what");
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str agent = {NULL, 0};

    if (pdr_value_text_is(what, pdr_str_c("begin"))) {
        if (t->has_open || w->lease_of != p->number)
            csim_mistake(w, "a turn begins inside of another one");
        if (pdr_value_text(&agent, pdr_value_get_c(record, "agent"), &scratch,
                           NULL) != PDR_OK)
            csim_mistake(w, "a turn of nobody begins");
        (void)snprintf(t->open, sizeof(t->open), "%.*s", (int)agent.len,
                       agent.ptr);
        t->has_open = true;
    } else {
        if (!t->has_open)
            csim_mistake(w, "a turn ends that has not begun");
        t->has_open = false;
        if (pdr_value_text_is(what, pdr_str_c("end")) && p->doing == CSIM_RUN) {
            p->selection.has_selected = true;
            memcpy(p->selection.last, t->open, sizeof(t->open));
        }
    }
    pdr_buf_dispose(&scratch);
}

static void row_note(struct csim_process *p, const pdr_entry *row)
{
    struct csim *w = p->world;
    pdr_value *body = NULL;
    struct csim_words words = {.count = 0};

    if (pdr_json_read(&body, row->body, NULL, NULL) != PDR_OK)
        csim_mistake(w, "a row is not JSON");
    if (row->kind == PDR_ROW_MESSAGE) {
        if (w->truth.has_open && w->lease_of != p->number)
            csim_mistake(w, "two processes are in a turn");
        csim_words_of(w, &words, body, PDR_SHAPE_SK);
        for (size_t i = 0; i < words.count; i++) {
            if (csim_word_has(&w->truth.log, words.at[i].text))
                csim_mistake(w, "'%s' is committed again", words.at[i].text);
            csim_word_add(w, &w->truth.log, words.at[i].text,
                          words.at[i].begins);
        }
    } else {
        record_note(p, body);
    }
    pdr_value_free(body);
}

/* Process `p` has made this commit. */
static void commit_note(struct csim_process *p, const pdr_edit *edit,
                        uint64_t revision)
{
    struct csim *w = p->world;
    const bool is_late = p->known != w->commits;

    w->commits += revision != w->revision; /* else there was nothing to do */
    w->revision = revision;
    w->result->commits++;
    if (is_late && edit->entry_count + edit->slot_count > 0)
        csim_mistake(w, "a process that is late has made a commit");
    if (!is_late)
        p->known = w->commits;
    if (edit->lease.verb == PDR_LEASE_TAKE)
        w->lease_of = p->number;
    if (edit->lease.verb == PDR_LEASE_TAKE ||
        edit->lease.verb == PDR_LEASE_RENEW)
        w->lease_until_ms = edit->lease.until_ms;
    if (edit->entries_through > 0) {
        w->truth = (struct csim_truth){.has_open = false};
        p->selection = w->truth.selection;
    }
    for (size_t i = 0; i < edit->entry_count; i++)
        row_note(p, &edit->entries[i]);
    for (size_t i = 0; i < edit->slot_count; i++) {
        const pdr_slot *slot = &edit->slots[i];

        if (!pdr_str_equal(slot->key, pdr_str_c("chat")))
            continue;
        w->truth.selection = p->selection;
        w->truth.is_complete = memmem(slot->value.ptr, slot->value.len,
                                      "\"complete\":true", 15) != NULL;
    }
    if (edit->lease.verb == PDR_LEASE_RELEASE)
        w->lease_of = 0;
}

/* --- commits --------------------------------------------------------------
 */

static void commit_make(struct csim_process *p, pdr_write *write)
{
    struct csim *w = p->world;
    pdr_store *raw = w->raw;

    raw->ops->commit(raw, &write, 1);
    if (write->rc == PDR_OK && !w->is_replacing)
        commit_note(p, write->plans[0].edit,
                    write->plans[0].committed.revision);
}

static void commit_one(struct csim_process *p, pdr_write *write)
{
    bool is_last = false;

    if (p->world->is_replacing) {
        commit_make(p, write);
        return;
    }
    if (p->is_cut || p->is_in_doubt || csim_fault(p, CSIM_COMMIT_FAILS)) {
        write->rc = PDR_FAIL(&write->err, FILE_FAILED, "%s", "by the seed");
        return;
    }
    if (csim_fault(p, CSIM_CRASH_BEFORE_COMMIT)) {
        csim_cut(p, CSIM_EVENT_COUNT);
        write->rc = PDR_FAIL(&write->err, FILE_FAILED, "%s", "by the seed");
        return;
    }
    if (csim_fault(p, CSIM_COMMIT_UNKNOWN_LOST)) {
        p->is_in_doubt = true;
        write->rc = PDR_FAIL(&write->err, COMMIT_UNKNOWN, "%s", "by the seed");
        return;
    }
    is_last = csim_fault(p, CSIM_CRASH_AFTER_COMMIT);
    commit_make(p, write);
    if (write->rc != PDR_OK)
        return;
    if (is_last)
        csim_cut(p, CSIM_EVENT_COUNT);
    if (is_last || csim_fault(p, CSIM_COMMIT_UNKNOWN_DONE)) {
        p->is_in_doubt = true;
        write->rc = PDR_FAIL(&write->err, COMMIT_UNKNOWN, "%s", "by the seed");
    }
}

static void csim_commit(pdr_store *store, pdr_write *const *writes,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        commit_one(process_of(store), writes[i]);
}

/* --- the rest -------------------------------------------------------------
 */

static pdr_rc csim_read(pdr_store *store, pdr_page *page,
                        const pdr_query *query, pdr_err *err)
{
    struct csim_process *p = process_of(store);
    pdr_store *raw = p->world->raw;

    if (p->is_cut || csim_fault(p, CSIM_READ_FAILS))
        return PDR_FAIL(err, FILE_FAILED, "%s", "by the seed");
    return raw->ops->read(raw, page, query, err);
}

static pdr_rc csim_now(pdr_store *store, int64_t *out, pdr_err *err)
{
    (void)err;
    *out = process_of(store)->world->now_ms;
    return PDR_OK;
}

static pdr_rc csim_info(pdr_store *store, pdr_store_info *out, pdr_err *err)
{
    pdr_store *raw = process_of(store)->world->raw;

    return raw->ops->info(raw, out, err);
}

static void csim_close(pdr_store *store)
{
    free(store);
}

static pdr_rc csim_open(pdr_store **out, const char *rest, pdr_err *err);

static const pdr_store_ops csim_ops = {.version = PDR_STORE_OPS_VERSION,
                                       .name = "csim",
                                       .open = csim_open,
                                       .close = csim_close,
                                       .commit = csim_commit,
                                       .read = csim_read,
                                       .info = csim_info,
                                       .now = csim_now};

static pdr_rc csim_open(pdr_store **out, const char *rest, pdr_err *err)
{
    struct csim_store *self = calloc(1, sizeof(*self));

    (void)rest;
    (void)err;
    if (self == NULL)
        abort();
    self->base.ops = &csim_ops;
    self->process = opening;
    *out = &self->base;
    return PDR_OK;
}

pdr_store *csim_store_open(struct csim_process *p)
{
    static bool is_known;
    pdr_store *store = NULL;

    if (!is_known && pdr_store_register(&csim_ops, NULL) != PDR_OK)
        abort();
    is_known = true;
    opening = p;
    if (pdr_store_open(&store, "csim:", NULL) != PDR_OK)
        abort();
    return store;
}
