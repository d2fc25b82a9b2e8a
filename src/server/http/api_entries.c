/*
 * api_entries.c - what is in a session, part by part: its entries, its runs and
 * the journal of the one at work, its bag.
 */
#include <perdure/json.h>

#include "http.h"

#include "core.h"

/* --- entries and runs ------------------------------------------------------
 */

static void put_entry(struct pdr__json *j, const pdr_entry *entry)
{
    static const char *const kinds[] = {"request", "response", "message",
                                        "record", "other"};
    static const char *const shapes[] = {"state", "dotnet", "python", "sk"};

    pdr__json_begin(j, NULL, '{');
    pdr__json_number(j, "seq", entry->seq);
    pdr__json_text(j, "kind", pdr_str_c(kinds[entry->kind]));
    pdr__json_text(j, "shape", pdr_str_c(shapes[entry->shape]));
    pdr__json_time(j, "created", entry->created_ms);
    pdr__json_text(j, "correlationId", entry->correlation_id);
    pdr__json_digest(j, "digest", entry->digest);
    pdr__json_raw(j, "body", entry->body);
    pdr__list_item_end(j);
}

/* A row of the journal. */
static void put_work(struct pdr__json *j, const pdr_work *row)
{
    pdr__json_begin(j, NULL, '{');
    pdr__json_number(j, "n", row->n);
    pdr__json_text(j, "kind", row->kind);
    pdr__json_text(j, "correlationId", row->correlation_id);
    pdr__json_raw(j, "body", row->body);
    pdr__list_item_end(j);
}

/* A slot: its key and its size. */
static void put_slot(struct pdr__json *j, const pdr_slot *slot)
{
    pdr__json_begin(j, NULL, '{');
    pdr__json_escaped(j, "key", slot->key);
    pdr__json_number(j, "bytes", slot->value.len);
    pdr__json_digest(j, "digest", slot->digest);
    pdr__list_item_end(j);
}

/* A run, as far as its completion tells. */
static void put_run(struct pdr__json *j, const pdr_completion *row)
{
    pdr__json_begin(j, NULL, '{');
    pdr__json_text(j, "id", row->correlation_id);
    pdr__json_time(j, "changed", row->at_ms);
    pdr__json_raw(j, "outcome", row->outcome);
    pdr__json_number(j, "firstSeq", row->first_seq);
    pdr__json_number(j, "lastSeq", row->last_seq);
    pdr__list_item_end(j);
}

static pdr_rc rows_reply(struct pdr__exchange *x, pdr_query *query,
                         pdr_err *err)
{
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    query->ref = pdr__api_ref(x);
    if (!pdr__list_ask(query, x))
        return PDR_OK;
    PDR_TRY(pdr_store_read(&page, pdr__api_store(x), query, err));
    pdr__list_begin(&j, x);
    for (size_t i = 0; i < page->count; i++) {
        if (query->what == PDR_READ_ENTRIES)
            put_entry(&j, &page->entries[i]);
        else if (query->what == PDR_READ_JOURNAL)
            put_work(&j, &page->work[i]);
        else if (query->what == PDR_READ_COMPLETIONS)
            put_run(&j, &page->completions[i]);
        else
            put_slot(&j, &page->slots[i]);
    }
    PDR_TRY(pdr__list_send(&j, x, page->next));
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__api_entries(struct pdr__exchange *x, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ENTRIES,
                       .backwards = pdr__query_is_set(x, "backwards"),
                       .key = pdr__query_get(x, "correlationId")};

    if (!pdr__query_number(&query.from, x, "from"))
        return PDR_OK;
    return rows_reply(x, &query, err);
}

pdr_rc pdr__api_journal(struct pdr__exchange *x, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_JOURNAL};

    if (!pdr__query_number(&query.from, x, "from"))
        return PDR_OK;
    return rows_reply(x, &query, err);
}

/* The run that these rows belong to, if it has not ended. */
static pdr_rc put_open_run(struct pdr__json *j, const struct pdr__exchange *x,
                           const pdr_work *row, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = pdr__api_ref(x),
                             .limit = 1,
                             .key = row->correlation_id};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (row->correlation_id.ptr == NULL)
        return PDR_OK;
    PDR_TRY(pdr_store_read(&page, pdr__api_store(x), &query, err));
    if (page->count > 0 && page->completions[0].outcome.ptr == NULL)
        put_run(j, &page->completions[0]);
done:
    pdr_page_free(page);
    return rc;
}

/* Completions are in the order of their ids, and there may be many: runs that
 * have not ended are found where they are worked on, or wait. */
static pdr_rc open_runs_reply(struct pdr__exchange *x, pdr_err *err)
{
    pdr_query query = {
        .what = PDR_READ_JOURNAL, .ref = pdr__api_ref(x), .limit = 1};
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_store_read(&page, pdr__api_store(x), &query, err));
    pdr__list_begin(&j, x);
    if (page->count > 0)
        PDR_TRY(put_open_run(&j, x, &page->work[0], err));
    pdr_page_free(page);
    page = NULL;
    query.what = PDR_READ_INBOX;
    query.limit = PDR_MAX_PAGE_ROWS;
    PDR_TRY(pdr_store_read(&page, pdr__api_store(x), &query, err));
    for (size_t i = 0; i < page->count; i++) {
        if (pdr_str_equal(page->work[i].kind, PDR_LIT("operation")))
            PDR_TRY(put_open_run(&j, x, &page->work[i], err));
    }
    PDR_TRY(pdr__list_send(&j, x, pdr_str_n(NULL, 0)));
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__api_runs_list(struct pdr__exchange *x, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_COMPLETIONS};

    return pdr__query_is_set(x, "open") ? open_runs_reply(x, err)
                                        : rows_reply(x, &query, err);
}

/* --- the bag ---------------------------------------------------------------
 */

pdr_rc pdr__api_bag_keys(struct pdr__exchange *x, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_SLOTS};

    return rows_reply(x, &query, err);
}

pdr_rc pdr__api_bag_get(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_stored *stored = NULL;
    pdr_value *value = NULL;
    const pdr_head *head = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_stored_open(&stored, pdr__api_store(x), &ref, NULL, err));
    PDR_TRY(pdr_stored_load(stored, &x->args[1], 1, err));
    head = pdr_stored_head(stored);
    if (!pdr__precondition(x, head))
        goto done;
    PDR_TRY(pdr_bag_get(&value, pdr_session_bag(pdr_stored_session(stored)),
                        x->args[1], err));
    if (value == NULL) {
        pdr__reply_refuse(x, 404, "the bag has no such slot");
        goto done;
    }
    pdr__json_value(&j, NULL, value);
    PDR_TRY(pdr__json_send(&j, x, 200));
    pdr__etag_put(x, head->epoch, head->revision);
done:
    pdr_value_free(value);
    pdr_stored_close(stored);
    return rc;
}

struct setting {
    pdr_str key;
    pdr_value *value; /* owned; NULL: remove it */
};

/* A pdr_stored_fn. */
static pdr_rc on_slot(pdr_stored *stored, pdr_err *err, void *arg)
{
    const struct setting *set = arg;
    pdr_bag *bag = pdr_session_bag(pdr_stored_session(stored));
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_stored_check_slot(stored, set->key, set->value == NULL, err));
    PDR_TRY(pdr_stored_load(stored, &set->key, 1, err));
    if (set->value != NULL)
        PDR_TRY(pdr_bag_set(bag, set->key, set->value, err));
    else
        PDR_TRY(pdr_bag_remove(bag, set->key, err));
done:
    return rc;
}

pdr_rc pdr__api_bag_put(struct pdr__exchange *x, pdr_err *err)
{
    struct setting set = {.key = x->args[1]};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_json_read(&set.value, pdr_buf_str(&x->body), NULL, err));
    PDR_TRY(pdr__api_change(x, false, err, on_slot, &set));
done:
    pdr_value_free(set.value);
    return rc;
}

pdr_rc pdr__api_bag_delete(struct pdr__exchange *x, pdr_err *err)
{
    struct setting set = {.key = x->args[1]};

    return pdr__api_change(x, false, err, on_slot, &set);
}
