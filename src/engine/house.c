/*
 * house.c - what goes by itself: sessions that expired, events of old runs.
 *
 *      the list by expiry   ─► expired, marked, at rest ─► removed
 *      all sessions, slowly ─► events that nobody needs  ─► removed
 *
 * WHY  Both are found by reading, a page at a time and now and then, so that a
 *      session at rest needs no row, no timer and no memory. An expired session
 *      is found at once, in the order of the list. Events of a run go with the
 *      next turn of the session; the slow walk is for sessions that have none.
 *
 * INVARIANTS
 *   H1  A session goes as it was read: no commit came since. So whoever sends
 *       it something or runs it keeps it.
 *   H2  Only sessions that a run with a time-to-live has marked go: what an
 *       import says of its expiry is data (`has_ttl`).
 */
#include "engine.h"

#define HOUSE_ROWS 100 /* sessions that are looked at in one go */

bool pdr__session_has_expired(const pdr_head *head, int64_t now_ms,
                              int64_t delay_ms)
{
    bool is_at_rest =
        head->inbox == 0 && head->journal_first == head->journal_next &&
        (head->lease.owner.ptr == NULL || head->lease.until_ms <= now_ms);

    return is_at_rest && head->has_ttl && head->expiry_ms <= now_ms &&
           head->changed_ms <= now_ms - delay_ms; /* H2 */
}

bool pdr__stream_is_old(const pdr_head *head, int64_t now_ms, int64_t keep_ms)
{
    uint64_t rows = head->stream_next - head->stream_first;

    return rows > PDR_MAX_STREAM_ROWS ||
           (rows > 0 && head->changed_ms <= now_ms - keep_ms);
}

/* Remove a session, or its events, unless somebody was faster (H1). */
static void session_clean(pdr_engine *e, const pdr_head *head, bool removes,
                          int64_t now_ms)
{
    const pdr_commit_options options = {.now_ms = now_ms};
    pdr_edit edit = {.ref = head->ref,
                     .revision = removes ? head->revision : PDR_ANY_REVISION,
                     .epoch = head->epoch,
                     .commits = head->commits,
                     .stream_through = removes ? 0 : head->stream_next - 1,
                     .remove = removes};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_commit(NULL, e->store, &edit, 1, &options, &why);

    (void)pdr__engine_failed(e, rc, &why);
    if (rc == PDR_OK && removes) {
        (void)pthread_mutex_lock(&e->lock);
        e->counts.expired++;
        (void)pthread_mutex_unlock(&e->lock);
        pdr__engine_event(e, PDR_LOG_INFO, "session_expired", &head->ref,
                          pdr_str_n(NULL, 0), NULL);
    } else if (rc != PDR_OK && rc != PDR_ECONFLICT && rc != PDR_ENOTFOUND &&
               rc != PDR_EUNKNOWN) {
        pdr__engine_event(e, PDR_LOG_ERROR, "cleaning_failed", &head->ref,
                          pdr_str_n(NULL, 0), &why);
    }
}

/* One page of a list; the next look goes on after it, or begins again. */
static void page_clean(pdr_engine *e, pdr_read_what what, pdr_buf *after,
                       int64_t now_ms)
{
    const pdr_query query = {.what = what,
                             .limit = HOUSE_ROWS,
                             .now_ms = now_ms,
                             .after = after->len > 0 ? pdr_buf_str(after)
                                                     : pdr_str_n(NULL, 0)};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(&page, e->store, &query, &why);

    pdr_buf_clear(after);
    if (rc != PDR_OK) {
        pdr__engine_event(e, PDR_LOG_ERROR, "cleaning_failed", NULL,
                          pdr_str_n(NULL, 0), &why);
        return;
    }
    /* Without memory it begins again. */
    if (page->next.ptr != NULL)
        (void)!pdr_buf_append(after, page->next, NULL);
    for (size_t i = 0; i < page->count; i++) {
        const pdr_head *head = &page->sessions[i];

        if (what == PDR_READ_EXPIRED &&
            pdr__session_has_expired(head, now_ms, e->min_delay_ms))
            session_clean(e, head, true, now_ms);
        else if (what == PDR_READ_ALL &&
                 head->journal_first == head->journal_next &&
                 pdr__stream_is_old(head, now_ms, e->opts.stream_keep_ms))
            session_clean(e, head, false, now_ms);
    }
    pdr_page_free(page);
}

void pdr__house_keep(pdr_engine *e, struct pdr__house *house, int64_t now_ms)
{
    page_clean(e, PDR_READ_EXPIRED, &house->expired, now_ms);
    page_clean(e, PDR_READ_ALL, &house->all, now_ms);
}
