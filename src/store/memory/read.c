/*
 * read.c - pages of what the store "memory:" holds.
 *
 * WHY  Every read here is the words of store.h and no more: look at every row,
 *      leave out what was not asked for, go in the order that was promised.
 *      There is no index that could be wrong.
 *
 * NOT HERE  Room of a page, cursors, checks of digests: the library has them.
 */
#include "memory_core.h"
#include "store.h"

/* --- rows of one session ---------------------------------------------------
 */

static pdr_rc add_row(pdr_page *page, enum table table, const struct row *row,
                      pdr_err *err)
{
    switch (table) {
    case TABLE_ENTRIES:
        return pdr_page_add_entry(page, &row->is.entry, err);
    case TABLE_SLOTS:
        return pdr_page_add_slot(page, &row->is.slot, err);
    case TABLE_PROPERTIES:
        return pdr_page_add_property(page, &row->is.property, err);
    case TABLE_COMPLETIONS:
        return pdr_page_add_completion(page, &row->is.completion, err);
    case TABLE_JOURNAL:
    case TABLE_STREAM:
    case TABLE_INBOX:
    case TABLE_COUNT:
        break;
    }
    return pdr_page_add_work(page, &row->is.work, err);
}

/* Does the query want this row of a table with numbers? */
static bool wants_number(const pdr_query *query, const pdr_list_place *place,
                         enum table table, const struct row *row)
{
    if (table == TABLE_ENTRIES && query->key.ptr != NULL &&
        (row->is.entry.correlation_id.ptr == NULL ||
         !pdr_str_equal(row->is.entry.correlation_id, query->key)))
        return false;
    if (!place->begins)
        return query->backwards ? row->n < place->n : row->n > place->n;
    if (query->from == 0)
        return true;
    return query->backwards ? row->n <= query->from : row->n >= query->from;
}

/* Does it want this row of a table with keys? */
static bool wants_key(const pdr_query *query, const pdr_list_place *place,
                      const struct row *row)
{
    if (query->key.ptr != NULL && !pdr_str_equal(row->key, query->key))
        return false;
    return place->begins || pdr__str_order(row->key, place->key) > 0;
}

static bool has_numbers(enum table table)
{
    return table == TABLE_ENTRIES || table >= TABLE_JOURNAL;
}

static pdr_rc fill_table(pdr_page *page, const struct rows *rows,
                         enum table table, const pdr_query *query, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(page);
    bool turned = has_numbers(table) && query->backwards;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < rows->count && rc == PDR_OK; i++) {
        size_t at = turned ? rows->count - 1 - i : i;
        const struct row *row = rows->at[at];
        if (has_numbers(table) ? !wants_number(query, place, table, row)
                               : !wants_key(query, place, row))
            continue;
        if (!pdr_page_has_room(page)) {
            pdr_page_more(page);
            return PDR_OK;
        }
        rc = add_row(page, table, row, err);
        if (rc == PDR_OK && table == TABLE_ENTRIES && at > 0)
            pdr_page_before(page, rows->at[at - 1]->is.entry.digest);
    }
    return rc;
}

static pdr_rc fill_frame(pdr_page *page, const struct session *session,
                         pdr_err *err)
{
    if (session->frame == NULL)
        return PDR_OK;
    const struct frame *frame = &session->frame->is.frame;
    return pdr_page_set_frame(page, frame->text, frame->digest, err);
}

/* What is not there is left out; the library tells the caller. */
static pdr_rc fill_session(pdr_page *page, const struct memory *self,
                           const pdr_query *query, pdr_err *err)
{
    static const enum table tables[] = {
        [PDR_READ_ENTRIES] = TABLE_ENTRIES,
        [PDR_READ_SLOTS] = TABLE_SLOTS,
        [PDR_READ_PROPERTIES] = TABLE_PROPERTIES,
        [PDR_READ_COMPLETIONS] = TABLE_COMPLETIONS,
        [PDR_READ_JOURNAL] = TABLE_JOURNAL,
        [PDR_READ_STREAM] = TABLE_STREAM,
        [PDR_READ_INBOX] = TABLE_INBOX,
    };
    const struct session *session = pdr__memory_find(self, &query->ref);

    if (session == NULL)
        return PDR_OK;
    pdr_rc rc = pdr_page_head(page, &session->head->is.head, err);
    if (rc != PDR_OK || query->what == PDR_READ_HEAD)
        return rc;
    if (query->what == PDR_READ_FRAME)
        return fill_frame(page, session, err);
    enum table table = tables[query->what];
    return fill_table(page, &session->tables[table], table, query, err);
}

/* --- lists -----------------------------------------------------------------
 */

/* One thing that a list can hold, and what it is ordered by. */
struct spot {
    const struct session *session; /* NULL: none */
    const struct row *work;        /* what is due; NULL in other lists */
    int64_t ms;
    pdr_ref ref;
    uint64_t epoch;
    uint64_t n;
};

/* Is the list in the order of tenants and ids alone? */
static bool is_by_id(const pdr_query *query)
{
    return query->what == PDR_READ_ALL ||
           (query->what == PDR_READ_SESSIONS &&
            pdr__filter_is_by_id(&query->filter));
}

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Below 0 if `a` comes before `b`. */
static int spot_order(const pdr_query *query, const struct spot *a,
                      const struct spot *b)
{
    int order = (a->ms > b->ms) - (a->ms < b->ms);

    if (is_by_id(query))
        return pdr__ref_order(&a->ref, &b->ref);
    if (query->what == PDR_READ_SESSIONS) /* downwards */
        return order != 0 ? -order : pdr__ref_order(&b->ref, &a->ref);
    if (order == 0)
        order = number_order(a->epoch, b->epoch);
    return order != 0 ? order : number_order(a->n, b->n);
}

static bool has_property(const struct session *session,
                         const pdr_filter *filter)
{
    const struct row *row =
        pdr__rows_find(&session->tables[TABLE_PROPERTIES], 0, filter->property);

    return row != NULL && row->is.property.match.ptr != NULL &&
           pdr_str_equal(row->is.property.match, filter->match);
}

static bool passes(const struct session *session, const pdr_query *query)
{
    const pdr_head *head = &session->head->is.head;
    const pdr_filter *filter = &query->filter;

    if (!pdr_str_equal(head->ref.tenant, query->ref.tenant))
        return false;
    if (filter->agent.ptr != NULL &&
        (head->agent.ptr == NULL || !pdr_str_equal(head->agent, filter->agent)))
        return false;
    if (filter->by_state && head->state != filter->state)
        return false;
    if (!pdr__filter_takes_id(filter, head->ref.id))
        return false;
    if ((filter->changed_from_ms != 0 || filter->changed_to_ms != 0) &&
        (head->changed_ms < filter->changed_from_ms ||
         head->changed_ms >= filter->changed_to_ms))
        return false;
    return filter->property.ptr == NULL || has_property(session, filter);
}

static bool has_come(int64_t ms, int64_t now_ms)
{
    return ms != PDR_NEVER && ms <= now_ms;
}

/* `best` becomes `spot` if that comes behind `after` and before `best`. */
static void offer(struct spot *best, const struct spot *spot,
                  const struct spot *after, const pdr_query *query)
{
    if (after != NULL && spot_order(query, spot, after) <= 0)
        return;
    if (best->session == NULL || spot_order(query, spot, best) < 0)
        *best = *spot;
}

/* Offer what the list can take of one session. */
static void offer_session(struct spot *best, const struct session *session,
                          const struct spot *after, const pdr_query *query)
{
    const pdr_head *head = &session->head->is.head;
    struct spot spot = {
        .session = session, .ref = head->ref, .epoch = head->epoch};

    if (query->what == PDR_READ_ALL) {
        offer(best, &spot, after, query);
        return;
    }
    if (query->what == PDR_READ_SESSIONS) {
        spot.ms = head->changed_ms;
        if (passes(session, query))
            offer(best, &spot, after, query);
        return;
    }
    if (query->what == PDR_READ_EXPIRED) {
        spot.ms = head->expiry_ms;
        if (has_come(spot.ms, query->now_ms))
            offer(best, &spot, after, query);
        return;
    }
    const struct rows *inbox = &session->tables[TABLE_INBOX];
    for (size_t i = 0; i < inbox->count; i++) {
        spot.work = inbox->at[i];
        spot.ms = spot.work->is.work.due_ms;
        spot.n = spot.work->n;
        if (has_come(spot.ms, query->now_ms))
            offer(best, &spot, after, query);
    }
}

static pdr_rc add_spot(pdr_page *page, const struct spot *spot, pdr_err *err)
{
    if (spot->work == NULL)
        return pdr_page_add_session(page, &spot->session->head->is.head, err);
    pdr_work work = spot->work->is.work;
    work.session = spot->ref;
    work.epoch = spot->epoch;
    return pdr_page_add_work(page, &work, err);
}

/* Look for the next one again and again. */
static pdr_rc fill_list(pdr_page *page, const struct memory *self,
                        const pdr_query *query, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(page);
    struct spot last = {.ms = place->ms,
                        .ref = place->ref,
                        .epoch = place->epoch,
                        .n = place->n};
    const struct spot *after = place->begins ? NULL : &last;

    for (;;) {
        struct spot best = {0};
        for (size_t i = 0; i < self->seen.count; i++)
            offer_session(&best, self->seen.at[i], after, query);
        if (best.session == NULL)
            return PDR_OK;
        if (!pdr_page_has_room(page)) {
            pdr_page_more(page);
            return PDR_OK;
        }
        pdr_rc rc = add_spot(page, &best, err);
        if (rc != PDR_OK)
            return rc;
        last = best;
        after = &last;
    }
}

pdr_rc pdr__memory_fill(const struct memory *self, pdr_page *page,
                        const pdr_query *query, pdr_err *err)
{
    switch (query->what) {
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_DUE:
    case PDR_READ_ALL:
        return fill_list(page, self, query, err);
    case PDR_READ_HEAD:
    case PDR_READ_ENTRIES:
    case PDR_READ_SLOTS:
    case PDR_READ_PROPERTIES:
    case PDR_READ_COMPLETIONS:
    case PDR_READ_FRAME:
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
        break;
    }
    return fill_session(page, self, query, err);
}
