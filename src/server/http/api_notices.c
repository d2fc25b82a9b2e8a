/*
 * api_notices.c - /api/v1/events: which sessions of the tenant changed.
 *
 *      commits ─► watcher of the stream ─► every 250 ms: a notice for each
 *                                          session, however often it changed
 *
 * WHY  A page of sessions wants to be up to date, and to redraw a few times in
 *      a second, not with each piece of each answer. A notice says what the
 *      session is at now, so none has to be kept, and none has a number: who
 *      comes back lists the sessions again, by the time of their change. That
 *      is what the first event tells, too, and each one after the watcher had
 *      more to tell than it keeps.
 */
#include "http.h"

#define PAUSE_MS 250
#define NEWS     64 /* that are taken at once */

struct noticing {
    pdr_watcher *watcher; /* owned */
    struct pdr__metrics *metrics;
    bool is_lines;
    int64_t next_ms; /* monotonic: then the watcher is asked again */
    int64_t ping_ms; /* then there has to be a sign of life */
    pdr_buf out;     /* to be sent */
    size_t sent;     /* of it */
};

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

static void noticing_free(void *state)
{
    struct noticing *n = state;

    if (n->watcher != NULL)
        pdr__metrics_stream(n->metrics, -1);
    pdr_watcher_close(n->watcher);
    pdr_buf_dispose(&n->out);
    pdr__free(n);
}

static pdr_rc event_put(struct noticing *n, const char *kind, pdr_str data,
                        pdr_err *err)
{
    if (n->is_lines)
        return pdr_buf_printf(&n->out, err,
                              "{\"event\":\"%s\",\"data\":%.*s}\n", kind,
                              (int)data.len, data.ptr);
    return pdr_buf_printf(&n->out, err, "event: %s\ndata: %.*s\n\n", kind,
                          (int)data.len, data.ptr);
}

/* What a session is at; it may have been deleted. */
static pdr_rc notice_put(struct noticing *n, struct pdr__exchange *x,
                         const pdr_ref *ref, pdr_err *err)
{
    pdr_buf data = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__json j = {.out = &data, .err = err};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__head_read(&page, x, ref, &why);

    if (rc != PDR_OK && rc != PDR_ENOTFOUND) {
        rc = pdr__err_pass(err, &why);
        goto done;
    }
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", ref->id);
    pdr__json_number(&j, "revision", page != NULL ? page->head.revision : 0);
    pdr__json_text(&j, "state",
                   page != NULL ? pdr_str_c(pdr__state_word(page->head.state))
                                : PDR_LIT("deleted"));
    pdr__json_end(&j, '}');
    PDR_TRY(j.rc);
    PDR_TRY(event_put(n, "session", pdr_buf_str(&data), err));
done:
    pdr_page_free(page);
    pdr_buf_dispose(&data);
    return rc;
}

/* All that the watcher has to tell. */
static pdr_rc notices_gather(struct noticing *n, struct pdr__exchange *x,
                             pdr_err *err)
{
    static const size_t room = NEWS;
    pdr_news news[NEWS];
    pdr_err why = PDR_ERR_INIT;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    do {
        rc = pdr_watcher_wait(news, room, &count, n->watcher, 0, &why);
        if (rc == PDR_ETIMEOUT)
            return PDR_OK;
        if (rc != PDR_OK)
            return pdr__err_pass(err, &why);
        for (size_t i = 0; i < count; i++) {
            if (news[i].kind == PDR_NEWS_LIST)
                PDR_TRY(event_put(n, "list", PDR_LIT("{}"), err));
            else
                PDR_TRY(notice_put(n, x, &news[i].ref, err));
        }
    } while (count == room);
done:
    return rc;
}

/* A pdr__pull_fn. What fails ends it: the client comes back, and lists. */
static ssize_t notices_pull(struct pdr__exchange *x, char *out, size_t room)
{
    struct noticing *n = x->state;
    const int64_t now = now_ms();
    size_t count = 0;

    if (n->sent == n->out.len) {
        n->sent = 0;
        pdr_buf_clear(&n->out);
        if (pdr__live_is_stopping(x->server->live))
            return -1;
        if (now >= n->next_ms && notices_gather(n, x, NULL) != PDR_OK)
            return -1;
        if (now >= n->next_ms)
            n->next_ms = now + PAUSE_MS;
        if (n->out.len == 0 && now >= n->ping_ms)
            (void)!pdr_buf_append(
                &n->out, n->is_lines ? PDR_LIT("\n") : PDR_LIT(": ping\n\n"),
                NULL);
        if (n->out.len > 0)
            n->ping_ms = now + x->server->opts.ping_ms;
    }
    count = n->out.len - n->sent;
    count = count < room ? count : room;
    if (count == 0)
        pdr__wait_until(x, n->next_ms);
    else
        memcpy(out, n->out.ptr + n->sent, count);
    n->sent += count;
    return (ssize_t)count;
}

pdr_rc pdr__api_notices(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref all = {.tenant = x->tenant};
    struct noticing *n = pdr__calloc(1, sizeof(*n));
    pdr_rc rc = PDR_OK;

    if (n == NULL)
        return pdr__nomem(err);
    n->metrics = x->server->metrics;
    n->out = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    n->is_lines = pdr__accepts(x, "application/x-ndjson") ||
                  pdr__accepts(x, "application/jsonl");
    x->state = n;
    x->state_free = noticing_free;
    PDR_TRY(pdr_watcher_open(&n->watcher, pdr__api_store(x), err));
    pdr__metrics_stream(n->metrics, 1);
    PDR_TRY(pdr_watcher_add(n->watcher, &all, NULL, 0, err));
    if (!n->is_lines)
        PDR_TRY(pdr_buf_append(&n->out, PDR_LIT("retry: 2000\n\n"), err));
    PDR_TRY(event_put(n, "list", PDR_LIT("{}"), err));
    pdr__reply_begin(x, 200, n->is_lines ? PDR_TYPE_NDJSON : PDR_TYPE_SSE);
    pdr__reply_header(x, "X-Accel-Buffering", PDR_LIT("no"));
    x->reply.pull = notices_pull;
done:
    return rc;
}
