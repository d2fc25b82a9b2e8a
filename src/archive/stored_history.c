/*
 * stored_history.c - the history of a stored session: pages, and a window.
 *
 * WHY  A model gets the last messages of a conversation. They are read from the
 *      end, so that the length of the history plays no part.
 *
 *        entries  ... 91 92 93 94 95 96 97 98 99 100
 *        page 2       ◄────────────┘  ◄───────────┘ page 1
 *        window               [ the last n messages ]
 *                               └ a result whose call is before the window
 *                                 goes, since models refuse one without
 *
 * INVARIANTS
 *   W1  Entries of later revisions than the handle's are not given.
 *   W2  What is read is what is given, rounded up to a page of the store.
 *   W3  No message of a window has a result whose call is not in the window.
 */
#include "retain.h"
#include "stored.h"

#include <perdure/doc.h>
#include <perdure/json.h>

/* --- pages ----------------------------------------------------------------
 */

struct entries_page {
    pdr_stored_page base;
    pdr_page *rows;         /* owned */
    pdr_stored_entry *list; /* owned, with the bodies */
};

void pdr_stored_page_free(pdr_stored_page *page)
{
    struct entries_page *p = (struct entries_page *)page;

    if (p == NULL)
        return;
    for (size_t i = 0; i < p->base.count; i++)
        pdr_value_free((pdr_value *)p->list[i].body);
    pdr__free(p->list);
    pdr_page_free(p->rows);
    pdr__free(p);
}

/* Entries as values. One that is not valid JSON has none: a store counts
 * brackets and quotes only. */
static pdr_rc page_fill(struct entries_page *p, uint64_t next_seq, pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    p->list = pdr__calloc(p->rows->count + 1, sizeof(*p->list));
    if (p->list == NULL)
        return pdr__nomem(err);
    p->base.entries = p->list;
    p->base.next = p->rows->next;
    for (size_t i = 0; i < p->rows->count; i++) {
        const pdr_entry *row = &p->rows->entries[i];
        pdr_value *body = NULL;

        if (row->seq >= next_seq) { /* W1 */
            p->base.next = pdr_str_n(NULL, 0);
            break;
        }
        rc = pdr_json_read_borrowed(&body, row->body, &pdr__stored_reading,
                                    &why);
        if (rc == PDR_ENOMEM)
            return pdr__err_pass(err, &why);
        p->list[p->base.count++] = (pdr_stored_entry){row, body};
    }
    return PDR_OK;
}

pdr_rc pdr_stored_read(pdr_stored_page **out, pdr_stored *s,
                       const pdr_stored_query *query, pdr_err *err)
{
    const pdr_stored_query usual = {.limit = 0};
    const pdr_head *head = NULL;
    struct entries_page *p = NULL;
    pdr_query rows = {.what = PDR_READ_ENTRIES};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = NULL;
    if (query == NULL)
        query = &usual;
    head = &s->view->head;
    p = pdr__calloc(1, sizeof(*p));
    if (p == NULL)
        return pdr__nomem(err);
    PDR_TRY(pdr__stored_alive(s, err));
    if (head->revision > 0) {
        rows.ref = s->ref;
        rows.limit = query->limit;
        rows.max_bytes = query->max_bytes;
        rows.backwards = query->backwards;
        rows.from = query->from;
        rows.after = query->after;
        rows.key = query->correlation_id;
        if (rows.backwards && rows.after.ptr == NULL &&
            (rows.from == 0 || rows.from >= head->next_seq))
            rows.from = head->next_seq - 1; /* W1 */
        rc = pdr_store_read(&p->rows, s->store, &rows, &why);
        if (rc == PDR_OK && p->rows->head.epoch != head->epoch)
            rc = pdr__stored_late(s, &why);
        if (rc != PDR_OK) {
            rc = pdr__err_pass(err, &why);
            goto done;
        }
        PDR_TRY(page_fill(p, head->next_seq, err));
    }
    *out = &p->base;
    p = NULL;
done:
    pdr_stored_page_free(p != NULL ? &p->base : NULL);
    return rc;
}

/* --- messages of an entry -------------------------------------------------
 */

/* Only requests and responses of the state shape hold a list of messages. */
static bool entry_is_list(const pdr_entry *row)
{
    return row->shape == PDR_ROW_STATE && row->kind <= PDR_ROW_RESPONSE;
}

static size_t entry_message_count(const pdr_stored_entry *entry)
{
    const pdr_entry *row = entry->row;

    if (entry->body == NULL || row->kind > PDR_ROW_MESSAGE ||
        row->shape > PDR_ROW_PYTHON)
        return 0;
    if (!entry_is_list(row))
        return pdr_value_kind(entry->body) == PDR_OBJECT ? 1 : 0;
    return pdr_value_count(pdr_entry_messages(entry->body));
}

static const pdr_value *entry_message_at(const pdr_stored_entry *entry,
                                         size_t i)
{
    return entry_is_list(entry->row)
               ? pdr_value_at(pdr_entry_messages(entry->body), i)
               : entry->body;
}

/* --- a window -------------------------------------------------------------
 */

struct window {
    pdr_stored_window base;
    pdr_stored_page **pages; /* owned; the last entries first */
    size_t page_count, page_cap;
    const pdr_stored_entry **entries; /* owned; of these pages, those that are
                                         in the window */
    size_t entry_count, entry_cap;
    size_t messages;          /* that they have */
    size_t seen;              /* of these, so far */
    pdr_stored_message *list; /* owned, with the values */
};

void pdr_stored_window_free(pdr_stored_window *window)
{
    struct window *w = (struct window *)window;

    if (w == NULL)
        return;
    for (size_t i = 0; i < w->base.count; i++)
        pdr_value_free((pdr_value *)w->list[i].value);
    for (size_t i = 0; i < w->page_count; i++)
        pdr_stored_page_free(w->pages[i]);
    pdr__free(w->pages);
    pdr__free(w->entries);
    pdr__free(w->list);
    pdr__free(w);
}

/* Read pages from the end until the window is full. */
static pdr_rc window_read(struct window *w, pdr_stored *s, size_t max_messages,
                          size_t max_bytes, pdr_err *err)
{
    pdr_stored_query query = {.backwards = true};
    size_t bytes = 0;
    pdr_rc rc = PDR_OK;

    for (;;) {
        size_t missing = max_messages - w->messages;
        pdr_stored_page *page = NULL;

        query.limit = max_messages > 0 && missing < PDR_MAX_PAGE_ROWS
                          ? missing
                          : PDR_MAX_PAGE_ROWS;
        query.max_bytes = max_bytes > 0 ? max_bytes - bytes + 1 : 0;
        PDR_TRY(pdr__grow((void **)&w->pages, &w->page_cap, w->page_count + 1,
                          sizeof(*w->pages), err));
        PDR_TRY(pdr_stored_read(&page, s, &query, err));
        w->pages[w->page_count++] = page;
        for (size_t i = 0; i < page->count; i++) {
            size_t len = page->entries[i].row->body.len;

            if (max_bytes > 0 && w->entry_count > 0 && len > max_bytes - bytes)
                return PDR_OK;
            bytes = max_bytes > 0 && len > max_bytes ? max_bytes : bytes + len;
            PDR_TRY(pdr__grow((void **)&w->entries, &w->entry_cap,
                              w->entry_count + 1, sizeof(*w->entries), err));
            w->entries[w->entry_count++] = &page->entries[i];
            w->messages += entry_message_count(&page->entries[i]);
            if (max_messages > 0 && w->messages >= max_messages) {
                w->base.is_whole = w->messages == max_messages &&
                                   i + 1 == page->count &&
                                   page->next.ptr == NULL;
                return PDR_OK;
            }
        }
        if (page->next.ptr == NULL) {
            w->base.is_whole = true;
            return PDR_OK;
        }
        query.after = page->next;
    }
done:
    return rc;
}

/* Put a message into the window, in the shape of the handle, unless it has a
 * result whose call is not there (W3). */
static pdr_rc window_add(struct window *w, struct pdr__calls *calls,
                         const pdr_entry *row, const pdr_value *message,
                         pdr_shape shape, pdr_err *err)
{
    pdr_shape from = pdr__shape_of_row(row->shape);
    pdr_stored_message *to = &w->list[w->base.count];
    pdr_value *made = NULL;
    bool has_orphan = false;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_OK;
    PDR_TRY(pdr__calls_read_message(&has_orphan, calls, message, from, w->seen,
                                    err));
    if (has_orphan)
        goto done;
    if (from == shape)
        made = pdr_value_ref(message);
    else
        PDR_TRY(pdr_message_convert(&made, message, from, shape, err));
    *to = (pdr_stored_message){made, row->seq, row->correlation_id};
    w->base.count++;
done:
    return rc;
}

pdr_rc pdr_stored_messages(pdr_stored_window **out, pdr_stored *s,
                           size_t max_messages, size_t max_bytes, pdr_err *err)
{
    struct pdr__calls calls = PDR_CALLS_INIT;
    struct window *w = NULL;
    size_t skip = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = NULL;
    calls.keeps_answered = true;
    w = pdr__calloc(1, sizeof(*w));
    if (w == NULL)
        return pdr__nomem(err);
    PDR_TRY(window_read(w, s, max_messages, max_bytes, err));
    w->list = pdr__calloc(w->messages + 1, sizeof(*w->list));
    if (w->list == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    w->base.messages = w->list;
    if (max_messages > 0 && w->messages > max_messages)
        skip = w->messages - max_messages;
    for (size_t i = w->entry_count; i > 0; i--) {
        const pdr_stored_entry *entry = w->entries[i - 1];
        size_t count = entry_message_count(entry);

        for (size_t k = 0; k < count; k++) {
            if (++w->seen > skip)
                PDR_TRY(window_add(w, &calls, entry->row,
                                   entry_message_at(entry, k),
                                   pdr_stored_shape(s), err));
        }
    }
    *out = &w->base;
    w = NULL;
done:
    pdr__calls_dispose(&calls);
    pdr_stored_window_free(w != NULL ? &w->base : NULL);
    return rc;
}
