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
 *   W1  Entries of later revisions than the handle's are not given, nor those
 *       from `history_end` on.
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
static pdr_rc page_fill(struct entries_page *p, uint64_t end, pdr_err *err)
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

        if (row->seq >= end) { /* W1 */
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
    uint64_t end = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = NULL;
    if (query == NULL)
        query = &usual;
    head = &s->view->head;
    end = s->history_end > 0 && s->history_end < head->next_seq
              ? s->history_end
              : head->next_seq;
    p = pdr__calloc(1, sizeof(*p));
    if (p == NULL)
        return pdr__nomem(err);
    PDR_TRY(pdr__stored_alive(s, err));
    if (head->revision > 0 && (s->history_end == 0 || end > head->first_seq)) {
        rows.ref = s->ref;
        rows.limit = query->limit;
        rows.max_bytes = query->max_bytes;
        rows.backwards = query->backwards;
        rows.from = query->from;
        rows.after = query->after;
        rows.key = query->correlation_id;
        if (rows.backwards && rows.after.ptr == NULL &&
            (rows.from == 0 || rows.from >= end))
            rows.from = end - 1; /* W1 */
        rc = pdr_store_read(&p->rows, s->store, &rows, &why);
        if (rc == PDR_OK && p->rows->head.epoch != head->epoch)
            rc = pdr__stored_late(s, &why);
        if (rc != PDR_OK) {
            rc = pdr__err_pass(err, &why);
            goto done;
        }
        PDR_TRY(page_fill(p, end, err));
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
    if (pdr_entry_is_error(entry->body))
        return 0; /* no model is told what went wrong here */
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
    struct place *places;     /* owned; of the messages of `list` */
};

struct place {
    size_t index;  /* in its entry */
    size_t number; /* among the messages that were read */
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
    pdr__free(w->places);
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

/* Room for the messages of its entries. */
static pdr_rc window_reserve(struct window *w, pdr_err *err)
{
    w->list = pdr__calloc(w->messages + 1, sizeof(*w->list));
    w->places = pdr__calloc(w->messages + 1, sizeof(*w->places));
    if (w->list == NULL || w->places == NULL)
        return pdr__nomem(err);
    w->base.messages = w->list;
    return PDR_OK;
}

/* Put message `index` of an entry into the window, in the shape of the handle,
 * unless it has a result whose call is not there (W3). */
static pdr_rc window_add(struct window *w, struct pdr__calls *calls,
                         const pdr_stored_entry *entry, size_t index,
                         pdr_shape shape, pdr_err *err)
{
    const pdr_entry *row = entry->row;
    const pdr_value *message = entry_message_at(entry, index);
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
    w->places[w->base.count++] = (struct place){index, w->seen};
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
    PDR_TRY(window_reserve(w, err));
    if (max_messages > 0 && w->messages > max_messages)
        skip = w->messages - max_messages;
    for (size_t i = w->entry_count; i > 0; i--) {
        const pdr_stored_entry *entry = w->entries[i - 1];
        size_t count = entry_message_count(entry);

        for (size_t k = 0; k < count; k++) {
            if (++w->seen > skip)
                PDR_TRY(
                    window_add(w, &calls, entry, k, pdr_stored_shape(s), err));
        }
    }
    *out = &w->base;
    w = NULL;
done:
    pdr__calls_dispose(&calls);
    pdr_stored_window_free(w != NULL ? &w->base : NULL);
    return rc;
}

/* --- the same messages again ----------------------------------------------
 */

struct pdr__span pdr__window_place(uint64_t *number,
                                   const pdr_stored_window *window, size_t i)
{
    const struct window *w = (const struct window *)window;

    *number = w->places[i].number;
    return (struct pdr__span){w->list[i].seq, w->places[i].index, 1};
}

struct picked {
    const pdr_stored_entry *entry;
    size_t index;
};

/* Messages on the way from the end of the history to its beginning. */
struct picking {
    const struct pdr__span *spans; /* the one that is looked for is the last */
    size_t span_count;
    uint64_t left;       /* of the one that was found last */
    struct picked *list; /* owned */
    size_t count, cap;
};

/* Pick from an entry. A span whose place comes after it is gone. */
static pdr_rc entry_pick(struct picking *p, const pdr_stored_entry *entry,
                         pdr_err *err)
{
    const uint64_t seq = entry->row->seq;
    pdr_rc rc = PDR_OK;

    for (size_t i = entry_message_count(entry); i > 0; i--) {
        while (p->left == 0 && p->span_count > 0) {
            const struct pdr__span *span = &p->spans[p->span_count - 1];

            if (span->seq < seq || (span->seq == seq && span->index < i - 1))
                break;
            if (span->seq == seq && span->index == i - 1)
                p->left = span->count;
            p->span_count--;
        }
        if (p->left == 0)
            continue;
        p->left--;
        PDR_TRY(pdr__grow((void **)&p->list, &p->cap, p->count + 1,
                          sizeof(*p->list), err));
        p->list[p->count++] = (struct picked){entry, i - 1};
    }
done:
    return rc;
}

pdr_rc pdr__stored_pick(pdr_stored_window **out, pdr_stored *s,
                        const struct pdr__span *spans, size_t count,
                        pdr_err *err)
{
    struct picking p = {.spans = spans, .span_count = count};
    pdr_stored_query query = {.backwards = true, .limit = PDR_MAX_PAGE_ROWS};
    struct pdr__calls calls = PDR_CALLS_INIT;
    struct window *w = pdr__calloc(1, sizeof(*w));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (w == NULL)
        return pdr__nomem(err);
    calls.keeps_answered = true;
    query.from = count > 0 ? spans[count - 1].seq : 0;
    while (p.left > 0 || p.span_count > 0) {
        pdr_stored_page *page = NULL;

        PDR_TRY(pdr__grow((void **)&w->pages, &w->page_cap, w->page_count + 1,
                          sizeof(*w->pages), err));
        PDR_TRY(pdr_stored_read(&page, s, &query, err));
        w->pages[w->page_count++] = page;
        for (size_t i = 0; i < page->count; i++)
            PDR_TRY(entry_pick(&p, &page->entries[i], err));
        if (page->next.ptr == NULL)
            break;
        query.after = page->next;
    }
    w->messages = p.count;
    PDR_TRY(window_reserve(w, err));
    for (size_t i = p.count; i > 0; i--) {
        w->seen++;
        PDR_TRY(window_add(w, &calls, p.list[i - 1].entry, p.list[i - 1].index,
                           pdr_stored_shape(s), err));
    }
    *out = &w->base;
    w = NULL;
done:
    pdr__free(p.list);
    pdr__calls_dispose(&calls);
    pdr_stored_window_free(w != NULL ? &w->base : NULL);
    return rc;
}
