/*
 * stream.c - the events of a session, for whoever wants to know.
 *
 *      rows after the last number ─► given, one after the other
 *      none, and the run is over  ─► what the history has of it, as one event
 *      none, and it is not        ─► wait for a commit
 *
 * INVARIANT  The watch is opened before a read, when it is first needed: so an
 *      event is in what is read, or wakes the reader. Who never waits here has
 *      none.
 */
#include <inttypes.h>
#include <pthread.h>

#include <perdure/doc.h>
#include <perdure/json.h>
#include <perdure/stream.h>

#include "agent.h"
#include "core.h"
#include "stored.h"

struct pdr_stream {
    pdr_store *store;
    struct pdr__arena memory; /* of the texts of `opts` */
    pdr_stream_opts opts;
    uint64_t after;   /* the last number that was given or passed over */
    uint64_t epoch;   /* of the session */
    uint64_t commits; /* of its head, as it was read last */
    pthread_mutex_t lock;
    pdr_watch *watch; /* owned; NULL: nobody waited yet; guarded by lock */
    bool is_stopped;  /* guarded by lock */
    pdr_page *page;   /* owned; rows that were read */
    size_t next;      /* of these */
    /* Of a run whose last events are gone. */
    pdr_page *completion, *response; /* owned */
    pdr_buf text;                    /* made of it */
    bool has_events;                 /* it has had some: the text is known */
    bool is_over;
    /* For readers that leave out void pieces. */
    bool skips_void;
    uint64_t scanned;         /* up to this event it is known which are */
    uint64_t counts, attempt; /* those between these numbers */
};

/* Are the events after the last one all there? */
static pdr_rc cursor_check(const pdr_stream *s, const pdr_head *head,
                           pdr_err *err)
{
    if (s->after >= head->stream_next)
        return PDR_FAIL(err, BAD_CURSOR,
                        "there is no event %" PRIu64 " yet, the next one is "
                        "%" PRIu64,
                        s->after, head->stream_next);
    if (s->after != 0 && s->after + 1 < head->stream_first)
        return PDR_FAIL(err, CURSOR_GONE,
                        "events after %" PRIu64 " are not kept any more, the "
                        "first one is %" PRIu64
                        "; begin again without a cursor",
                        s->after, head->stream_first);
    return PDR_OK;
}

pdr_rc pdr_stream_open(pdr_stream **out, pdr_store *store,
                       const pdr_stream_opts *opts, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_stream *s = NULL;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL && opts != NULL);
    *out = NULL;
    s = pdr__calloc(1, sizeof(*s));
    if (s == NULL)
        return pdr__nomem(err);
    s->store = store;
    (void)pthread_mutex_init(&s->lock, NULL);
    s->memory = (struct pdr__arena)PDR_ARENA_SMALL;
    s->text = (pdr_buf)PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    s->opts = *opts;
    s->after = opts->after;
    s->has_events = opts->after > 0; /* those of the run before it are kept, or
                                        were: else the number is refused */
    PDR_TRY(pdr__arena_keep(&s->opts.session.tenant, &s->memory, err));
    PDR_TRY(pdr__arena_keep(&s->opts.session.id, &s->memory, err));
    PDR_TRY(pdr__arena_keep(&s->opts.correlation_id, &s->memory, err));
    query.ref = s->opts.session;
    if (s->opts.correlation_id.ptr != NULL) {
        query.what = PDR_READ_COMPLETIONS;
        query.key = s->opts.correlation_id;
    }
    PDR_TRY(pdr_store_read(&page, store, &query, err));
    s->epoch = page->head.epoch;
    s->commits = page->head.commits;
    PDR_TRY(cursor_check(s, &page->head, err));
    *out = s;
    s = NULL;
done:
    pdr_page_free(page);
    pdr_stream_close(s);
    return rc;
}

void pdr_stream_stop(pdr_stream *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->is_stopped = true;
    if (s->watch != NULL)
        pdr_watch_stop(s->watch);
    (void)pthread_mutex_unlock(&s->lock);
}

void pdr__stream_seen(uint64_t *epoch, uint64_t *commits, const pdr_stream *s)
{
    *epoch = s->epoch;
    *commits = s->commits;
}

uint64_t pdr__stream_at(const pdr_stream *s)
{
    return s->after;
}

void pdr__stream_skip_void(pdr_stream *s)
{
    s->skips_void = true;
}

void pdr_stream_close(pdr_stream *s)
{
    if (s == NULL)
        return;
    pdr_watch_close(s->watch);
    pdr_page_free(s->page);
    pdr_page_free(s->completion);
    pdr_page_free(s->response);
    pdr_buf_dispose(&s->text);
    pdr__arena_dispose(&s->memory);
    (void)pthread_mutex_destroy(&s->lock);
    pdr__free(s);
}

/* --- reading --------------------------------------------------------------
 */

/* Read on; `s->page` has no rows if there are none yet. */
static pdr_rc rows_read(pdr_stream *s, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_STREAM,
                             .ref = s->opts.session,
                             .from = s->after + 1,
                             .limit = PDR_MAX_PAGE_ROWS};
    pdr_rc rc = PDR_OK;

    pdr_page_free(s->page);
    s->page = NULL;
    s->next = 0;
    PDR_TRY(pdr_store_read(&s->page, s->store, &query, err));
    if (s->page->head.epoch != s->epoch) { /* replaced: its numbers go on */
        s->epoch = s->page->head.epoch;
        s->after = s->page->head.stream_first - 1;
    }
    s->commits = s->page->head.commits;
    PDR_TRY(cursor_check(s, &s->page->head, err));
    if (s->page->count == 0) { /* whatever was there is gone */
        s->after = s->page->head.stream_next - 1;
        pdr_page_free(s->page);
        s->page = NULL;
    }
done:
    return rc;
}

/* The next row of the page that this reader wants. */
static bool row_take(pdr_stream_event *out, pdr_stream *s)
{
    while (s->page != NULL && s->next < s->page->count) {
        const pdr_work *row = &s->page->work[s->next++];

        s->after = row->n;
        if (s->opts.correlation_id.ptr != NULL &&
            !pdr_str_equal(row->correlation_id, s->opts.correlation_id))
            continue;
        *out = (pdr_stream_event){row->n, row->kind, row->correlation_id,
                                  row->body};
        s->has_events = true;
        return true;
    }
    return false;
}

/* Find the next attempt after the row that was taken, among those stored. */
static pdr_rc attempt_find(pdr_stream *s, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_STREAM,
                       .ref = s->opts.session,
                       .limit = PDR_MAX_PAGE_ROWS};
    const pdr_page *at = s->page;
    pdr_page *more = NULL;
    pdr_value *data = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = s->next - 1;; i++) {
        if (i == at->count && s->scanned + 1 >= at->head.stream_next)
            break;
        if (i == at->count) {
            query.from = s->scanned + 1;
            pdr_page_free(more);
            more = NULL;
            PDR_TRY(pdr_store_read(&more, s->store, &query, err));
            at = more;
            i = 0;
        }
        if (at->count == 0)
            break;
        s->scanned = at->work[i].n;
        if (!pdr_str_equal(at->work[i].kind, PDR_LIT("attempt")))
            continue;
        PDR_TRY(pdr_json_read(&data, at->work[i].body, NULL, err));
        PDR_TRY(
            pdr_value_uint64(&s->counts, pdr_value_get_c(data, "counts"), err));
        s->attempt = s->scanned;
        break;
    }
done:
    pdr_value_free(data);
    pdr_page_free(more);
    return rc;
}

/* Is this a piece that a later attempt made void? */
static pdr_rc void_check(bool *out, pdr_stream *s,
                         const pdr_stream_event *event, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *out = false;
    if (!s->skips_void || !pdr_str_equal(event->kind, PDR_LIT("message")))
        return PDR_OK;
    if (event->n > s->scanned)
        PDR_TRY(attempt_find(s, err));
    *out = event->n > s->counts && event->n < s->attempt;
done:
    return rc;
}

/* Has the run ended although no event says so? Then its events are gone, and
 * the history has what it said. */
static pdr_rc end_look(pdr_stream *s, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_COMPLETIONS,
                       .ref = s->opts.session,
                       .key = s->opts.correlation_id,
                       .limit = 1};
    const pdr_completion *row = NULL;
    pdr_page *page = NULL, *entries = NULL;
    pdr_err why = PDR_ERR_INIT;
    bool has_response = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_store_read(&page, s->store, &query, err));
    row = &page->completions[0];
    if (page->head.stream_next > s->after + 1)
        goto done; /* its last events came just now */
    query.what = PDR_READ_ENTRIES;
    query.backwards = true;
    if (row->first_seq != 0) {
        rc = pdr_store_read(&entries, s->store, &query, &why);
        if (rc != PDR_OK && rc != PDR_ENOTFOUND) {
            (void)pdr__err_pass(err, &why);
            goto done;
        }
        rc = PDR_OK;
        has_response = entries != NULL && entries->count > 0 &&
                       entries->entries[0].kind == PDR_ROW_RESPONSE;
    }
    if (row->outcome.ptr == NULL &&
        (row->fingerprint.ptr != NULL || !has_response))
        goto done; /* not yet; an import brings no outcome */
    s->completion = page;
    page = NULL;
    if (has_response && !s->has_events) {
        s->response = entries;
        entries = NULL;
    }
done:
    pdr_page_free(entries);
    pdr_page_free(page);
    return rc;
}

/* The whole text of the response, as one event. */
static pdr_rc text_make(pdr_stream_event *out, pdr_stream *s, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *entry = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&s->text);
    PDR_TRY(pdr_json_read(&entry, s->response->entries[0].body,
                          &pdr__stored_reading, err));
    pdr_iter_init(&it, pdr_entry_messages(entry));
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_message_text(&text, it.value, PDR_SHAPE_STATE, err));
    if (text.len > 0) {
        PDR_TRY(pdr_buf_append(&s->text, PDR_LIT("{\"text\":\""), err));
        PDR_TRY(pdr__text_encode(&s->text, pdr_buf_str(&text), err));
        PDR_TRY(pdr_buf_append(&s->text, PDR_LIT("\"}"), err));
        *out = (pdr_stream_event){.kind = PDR_LIT("message"),
                                  .correlation_id = s->opts.correlation_id,
                                  .data = pdr_buf_str(&s->text)};
    }
done:
    pdr_value_free(entry);
    pdr_buf_dispose(&text);
    return rc;
}

/* What is given of a run whose events are gone: its text, then its end. */
static pdr_rc end_take(pdr_stream_event *out, pdr_stream *s, pdr_err *err)
{
    const pdr_str outcome = s->completion->completions[0].outcome;
    const bool is_good =
        outcome.ptr == NULL || memmem(outcome.ptr, outcome.len,
                                      "{\"state\":\"completed\"", 20) != NULL;
    pdr_rc rc = PDR_OK;

    if (s->response != NULL && is_good) {
        PDR_TRY(text_make(out, s, err));
        pdr_page_free(s->response);
        s->response = NULL;
        if (out->kind.ptr != NULL)
            goto done;
    }
    s->is_over = true;
    *out =
        (pdr_stream_event){.kind = is_good ? PDR_LIT("done") : PDR_LIT("error"),
                           .correlation_id = s->opts.correlation_id,
                           .data = is_good ? PDR_LIT("{}") : outcome};
done:
    return rc;
}

static pdr_rc watch_begin(pdr_stream *s, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&s->lock);
    rc = pdr_watch_open(&s->watch, s->store, &s->opts.session, err);
    if (rc == PDR_OK && s->is_stopped)
        pdr_watch_stop(s->watch);
    (void)pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Does the stream of a run end with this event? */
static bool event_ends(const pdr_stream *s, const pdr_stream_event *event)
{
    return s->opts.correlation_id.ptr != NULL &&
           (pdr_str_equal(event->kind, PDR_LIT("done")) ||
            pdr_str_equal(event->kind, PDR_LIT("error")));
}

pdr_rc pdr_stream_next(pdr_stream_event *out, pdr_stream *s,
                       uint32_t timeout_ms, pdr_err *err)
{
    int64_t end_ms = 0, left_ms = 0;
    bool is_void = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = (pdr_stream_event){.n = 0};
    end_ms = pdr__monotonic_ms(pdr__clock_system()) + timeout_ms;
    while (!s->is_over) {
        if (row_take(out, s)) {
            PDR_TRY(void_check(&is_void, s, out, err));
            if (is_void)
                continue;
            s->is_over = event_ends(s, out);
            goto done;
        }
        PDR_TRY(rows_read(s, err));
        if (s->page != NULL)
            continue;
        if (s->opts.correlation_id.ptr != NULL && s->completion == NULL)
            PDR_TRY(end_look(s, err));
        if (s->completion != NULL) {
            rc = end_take(out, s, err);
            goto done;
        }
        if (timeout_ms == 0)
            PDR_TRY(
                PDR_FAIL(err, NOTHING_CHANGED, "%s", "there is no event yet"));
        if (s->watch == NULL) { /* now it is watched: look once more */
            PDR_TRY(watch_begin(s, err));
            continue;
        }
        left_ms = end_ms - pdr__monotonic_ms(pdr__clock_system());
        PDR_TRY(
            pdr_watch_wait(s->watch, left_ms > 0 ? (uint32_t)left_ms : 0, err));
    }
done:
    return rc;
}
