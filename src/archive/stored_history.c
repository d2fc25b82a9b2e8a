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
 *   W4  What a handle keeps for its next window are the last entries of the
 *       history, without a gap: so a turn reads none that the turn before had.
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

/* The number behind the last entry of the history. */
static uint64_t history_end(const pdr_stored *s)
{
    const pdr_head *head = &s->view->head;

    return s->history_end > 0 && s->history_end < head->next_seq
               ? s->history_end
               : head->next_seq;
}

/* Read rows of the history that the handle is of. */
static pdr_rc rows_read(pdr_page **out, const pdr_stored *s,
                        const pdr_query *query, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_store_read(out, s->store, query, err));
    if ((*out)->head.epoch != s->view->head.epoch)
        PDR_TRY(pdr__stored_late(s, err));
done:
    return rc;
}

pdr_rc pdr_stored_read(pdr_stored_page **out, pdr_stored *s,
                       const pdr_stored_query *query, pdr_err *err)
{
    const pdr_stored_query usual = {.limit = 0};
    const pdr_head *head = NULL;
    struct entries_page *p = NULL;
    pdr_query rows = {.what = PDR_READ_ENTRIES};
    uint64_t end = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = NULL;
    if (query == NULL)
        query = &usual;
    head = &s->view->head;
    end = history_end(s);
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
        PDR_TRY(rows_read(&p->rows, s, &rows, err));
        PDR_TRY(page_fill(p, end, err));
    }
    *out = &p->base;
    p = NULL;
done:
    pdr_stored_page_free(p != NULL ? &p->base : NULL);
    return rc;
}

/* --- what is kept ---------------------------------------------------------
 */

static void kept_free(struct pdr__kept_entry *entry)
{
    if (entry == NULL)
        return;
    pdr_value_free((pdr_value *)entry->base.body);
    pdr__free(entry);
}

/* Forget the first `count`. */
static void tail_cut(struct pdr__tail *tail, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tail->bytes -= tail->list[i]->row.body.len;
        kept_free(tail->list[i]);
    }
    tail->count -= count;
    if (count > 0 && tail->count > 0)
        memmove(tail->list, tail->list + count,
                tail->count * sizeof(tail->list[0]));
}

void pdr__tail_clear(pdr_stored *s)
{
    tail_cut(&s->tail, s->tail.count);
}

/* An entry with texts of its own; `body` is taken, also on failure. */
static pdr_rc kept_make(struct pdr__kept_entry **out, const pdr_entry *row,
                        pdr_value *body, pdr_err *err)
{
    size_t len = row->correlation_id.len;
    struct pdr__kept_entry *entry = pdr__calloc(1, sizeof(*entry) + len + 1);

    if (entry == NULL) {
        pdr_value_free(body);
        return pdr__nomem(err);
    }
    entry->row = *row;
    entry->row.body.ptr = NULL;
    if (row->correlation_id.ptr != NULL) {
        memcpy(entry->id, row->correlation_id.ptr, len);
        entry->row.correlation_id.ptr = entry->id;
    }
    entry->base = (pdr_stored_entry){&entry->row, body};
    *out = entry;
    return PDR_OK;
}

/* The number behind the last one; 0: there is none. */
static uint64_t tail_end(const struct pdr__tail *tail)
{
    return tail->count > 0 ? tail->list[tail->count - 1]->row.seq + 1 : 0;
}

pdr_rc pdr__tail_push(pdr_stored *s, const pdr_entry *row,
                      const pdr_value *body, pdr_err *err)
{
    struct pdr__tail *tail = &s->tail;
    pdr_rc rc = PDR_OK;

    if (tail_end(tail) != row->seq)
        pdr__tail_clear(s); /* W4 */
    PDR_TRY(pdr__grow((void **)&tail->list, &tail->cap, tail->count + 1,
                      sizeof(*tail->list), err));
    PDR_TRY(kept_make(&tail->list[tail->count], row, pdr_value_ref(body), err));
    tail->bytes += row->body.len;
    tail->count++;
done:
    return rc;
}

/* Read more of what comes before; `*found`: there was some. */
static pdr_rc tail_extend(bool *found, pdr_stored *s, size_t limit,
                          size_t max_bytes, pdr_err *err)
{
    struct pdr__tail *tail = &s->tail;
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = s->ref,
                             .backwards = true,
                             .limit = limit,
                             .max_bytes = max_bytes,
                             .from = tail->count > 0
                                         ? tail->list[0]->row.seq - 1
                                         : s->view->head.next_seq - 1};
    struct pdr__kept_entry **made = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_page *page = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__stored_alive(s, err));
    PDR_TRY(rows_read(&page, s, &query, err));
    *found = page->count > 0;
    made = pdr__calloc(page->count + 1, sizeof(*made));
    if (made == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = page->count; i > 0; i--, count++) {
        const pdr_entry *row = &page->entries[i - 1];
        pdr_value *body = NULL;

        rc = pdr_json_read(&body, row->body, &pdr__stored_reading, &why);
        if (rc == PDR_ENOMEM)
            PDR_TRY(pdr__err_pass(err, &why));
        PDR_TRY(kept_make(&made[count], row, body, err));
    }
    PDR_TRY(pdr__grow((void **)&tail->list, &tail->cap, tail->count + count,
                      sizeof(*tail->list), err));
    if (tail->count > 0)
        memmove(tail->list + count, tail->list,
                tail->count * sizeof(tail->list[0]));
    for (size_t i = 0; i < count; i++) {
        tail->list[i] = made[i];
        tail->bytes += made[i]->row.body.len;
    }
    tail->count += count;
    count = 0;
done:
    for (size_t i = 0; i < count; i++)
        kept_free(made[i]);
    pdr__free(made);
    pdr_page_free(page);
    return rc;
}

size_t pdr__stored_shrink(pdr_stored *s)
{
    const size_t each = 512; /* of an entry, beside its text */
    struct pdr__tail *tail = &s->tail;

    if (tail->count > 2 * tail->used + PDR_MAX_PAGE_ROWS / 8)
        tail_cut(tail, tail->count - tail->used);
    return sizeof(*s) + s->memory.used + 4 * tail->bytes + each * tail->count +
           (s->view->page != NULL ? 2 * s->view->page->frame.len : 0);
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
        row->shape > PDR_ROW_SK)
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
    size_t max_messages, max_bytes; /* 0: any number */
    size_t bytes;                   /* of these entries */
    size_t messages;                /* that they have */
    size_t seen;                    /* of these, so far */
    pdr_stored_message *list;       /* owned, with the values */
    struct place *places;           /* owned; of the messages of `list` */
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

/* What a window may still take: all, if there is no limit. */
static size_t rows_wanted(const struct window *w)
{
    size_t missing = w->max_messages - w->messages;

    return w->max_messages > 0 && missing < PDR_MAX_PAGE_ROWS
               ? missing
               : PDR_MAX_PAGE_ROWS;
}

static size_t bytes_wanted(const struct window *w)
{
    return w->max_bytes > 0 ? w->max_bytes - w->bytes + 1 : 0;
}

/* The entry before those that the window has. `*is_full`: it has no room for
 * more, perhaps not even for this one. */
static pdr_rc window_take(bool *is_full, struct window *w,
                          const pdr_stored_entry *entry, bool is_first,
                          pdr_err *err)
{
    size_t len = entry->row->body.len;
    pdr_rc rc = PDR_OK;

    *is_full = true;
    if (w->max_bytes > 0 && w->entry_count > 0 && len > w->max_bytes - w->bytes)
        return PDR_OK;
    w->bytes =
        w->max_bytes > 0 && len > w->max_bytes ? w->max_bytes : w->bytes + len;
    PDR_TRY(pdr__grow((void **)&w->entries, &w->entry_cap, w->entry_count + 1,
                      sizeof(*w->entries), err));
    w->entries[w->entry_count++] = entry;
    w->messages += entry_message_count(entry);
    *is_full = w->max_messages > 0 && w->messages >= w->max_messages;
    w->base.is_whole =
        is_first && (w->max_messages == 0 || w->messages <= w->max_messages);
done:
    return rc;
}

/* Read pages from the end until the window is full. */
static pdr_rc window_read(struct window *w, pdr_stored *s, pdr_err *err)
{
    pdr_stored_query query = {.backwards = true};
    bool is_full = false;
    pdr_rc rc = PDR_OK;

    do {
        pdr_stored_page *page = NULL;

        query.limit = rows_wanted(w);
        query.max_bytes = bytes_wanted(w);
        PDR_TRY(pdr__grow((void **)&w->pages, &w->page_cap, w->page_count + 1,
                          sizeof(*w->pages), err));
        PDR_TRY(pdr_stored_read(&page, s, &query, err));
        w->pages[w->page_count++] = page;
        query.after = page->next;
        w->base.is_whole = page->count == 0;
        for (size_t i = 0; i < page->count && !is_full; i++)
            PDR_TRY(window_take(&is_full, w, &page->entries[i],
                                i + 1 == page->count && page->next.ptr == NULL,
                                err));
    } while (!is_full && query.after.ptr != NULL);
done:
    return rc;
}

/* The same from what the handle keeps, which reads what it lacks. */
static pdr_rc window_read_tail(struct window *w, pdr_stored *s, pdr_err *err)
{
    const pdr_head *head = &s->view->head;
    struct pdr__tail *tail = &s->tail;
    const uint64_t end = history_end(s);
    uint64_t at = end; /* entries before this are still to be taken */
    bool is_full = false, found = false;
    pdr_rc rc = PDR_OK;

    if (tail_end(tail) != head->next_seq)
        pdr__tail_clear(s); /* W4 */
    w->base.is_whole = head->revision == 0 || at <= head->first_seq;
    while (!is_full && !w->base.is_whole) {
        uint64_t first = tail->count > 0 ? tail->list[0]->row.seq : UINT64_MAX;

        if (at <= first) {
            size_t rows = rows_wanted(w);

            if (tail->count == 0 && rows < PDR_MAX_PAGE_ROWS)
                rows++; /* the request that the window is for */
            PDR_TRY(tail_extend(&found, s, rows, bytes_wanted(w), err));
            w->base.is_whole = !found; /* somebody removed them meanwhile */
            continue;
        }
        at--;
        PDR_TRY(window_take(&is_full, w, &tail->list[at - first]->base,
                            at == head->first_seq, err));
    }
    tail->used = tail->count > 0 ? (size_t)(head->next_seq - at) : 0;
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
    w->max_messages = max_messages;
    w->max_bytes = max_bytes;
    if (s->keeps_tail)
        PDR_TRY(window_read_tail(w, s, err));
    else
        PDR_TRY(window_read(w, s, err));
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
