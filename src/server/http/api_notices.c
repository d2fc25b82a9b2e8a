/*
 * api_notices.c - /api/v1/events: which sessions of the tenant changed.
 *
 *      commits ─► watcher ─► the herald: a beat of ─┬─► stream
 *                            notices, each 250 ms   ├─► stream
 *                            for each tenant        └─► stream
 *
 * WHY  A page of sessions wants to be up to date, and to redraw a few times in
 *      a second, not with each piece of each answer. A notice says what the
 *      session is at now, so none has to be kept, and none has a number: who
 *      comes back lists the sessions again, by the time of their change. That
 *      is what the first event tells, too, and each one after there was more to
 *      tell than is kept.
 *
 *      All pages of a tenant are told the same, so it is read and written once:
 *      one thread, which sleeps while nothing changes or nobody follows. A
 *      stream costs nothing until there is a beat, or a ping is due.
 *
 * INVARIANTS
 *   N1  A stream gets each beat that came after it had begun, or "list".
 *   N2  A beat does not change, and stays while a stream sends it. The last
 *       KEPT_BEATS are kept for those that are slower.
 *   N3  A stream is woken under the lock that it needs to leave, a few at a
 *       time, so that those who are woken do not wait for the others.
 */
#include "http.h"

#include <time.h>

#define PAUSE_MS   250
#define NEWS       64     /* that are taken at once */
#define IDLE_MS    1000   /* that the herald sleeps at most */
#define BEAT_BYTES 65536u /* a page of sessions that is longer is listed */
#define KEPT_BEATS 16u    /* four seconds, for a client that reads slowly */
#define WAKE_MOST  64u    /* streams, with the lock held */

enum form { FORM_SSE, FORM_LINES, FORM_COUNT };

struct beat {
    unsigned refs; /* guarded by lock: of the tenant, and of streams */
    pdr_buf text[FORM_COUNT];
};

/* A tenant that streams follow. */
struct tenant {
    struct noticing *first;         /* of its streams */
    struct noticing *cursor;        /* the next one to be woken; NULL: none */
    struct beat *beats[KEPT_BEATS]; /* by number; NULL: the streams end */
    uint64_t next;                  /* number of the next beat */
    struct beat *gathered;          /* owned; NULL: there is no news */
    bool is_full;                   /* there was more: it becomes "list" */
    bool fails;                     /* it becomes the end of the streams */
    size_t len;
    char name[];
};

struct pdr__notices {
    pdr_server *server;
    pdr_watcher *watcher; /* owned */
    pthread_t herald;
    bool has_herald;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* somebody follows, or it ends */
    /* Guarded by lock, as what is in a tenant. */
    struct pdr__map tenants;
    bool is_ending;
};

struct noticing {
    struct pdr__exchange *x;
    struct tenant *tenant; /* NULL: it has not begun */
    struct noticing *before, *after;
    enum form form;
    uint64_t at;       /* number of the next beat */
    struct beat *beat; /* that is being sent; NULL: `out` is */
    int64_t ping_ms;   /* monotonic; then there has to be a sign of life */
    pdr_buf out;
    size_t sent; /* of the beat, or of `out` */
};

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

/* --- beats -----------------------------------------------------------------
 */

static pdr_rc event_put(pdr_buf *out, enum form form, const char *kind,
                        pdr_str data, pdr_err *err)
{
    return pdr_buf_printf(out, err,
                          form == FORM_LINES
                              ? "{\"event\":\"%s\",\"data\":%.*s}\n"
                              : "event: %s\ndata: %.*s\n\n",
                          kind, (int)data.len, data.ptr);
}

static struct beat *beat_new(void)
{
    struct beat *beat = pdr__calloc(1, sizeof(*beat));

    if (beat == NULL)
        return NULL;
    beat->refs = 1;
    for (int form = 0; form < FORM_COUNT; form++)
        beat->text[form] = (pdr_buf)PDR_BUF_INIT(BEAT_BYTES);
    return beat;
}

/* With the lock held. NULL is fine. */
static void beat_give(struct beat *beat)
{
    if (beat == NULL || --beat->refs > 0)
        return;
    for (int form = 0; form < FORM_COUNT; form++)
        pdr_buf_dispose(&beat->text[form]);
    pdr__free(beat);
}

/* An event, in all forms. False: there is no room for it. */
static bool beat_put(struct beat *beat, const char *kind, pdr_str data)
{
    bool fits = true;

    for (int form = 0; form < FORM_COUNT; form++)
        fits &= event_put(&beat->text[form], (enum form)form, kind, data,
                          NULL) == PDR_OK;
    return fits;
}

/* What was gathered is the next beat. Without memory the streams end, and their
 * clients come back. With the lock held. */
static void beat_end(struct tenant *t)
{
    struct beat **place = &t->beats[t->next % KEPT_BEATS];
    struct beat *beat = t->gathered;

    t->gathered = NULL;
    if (t->is_full && !t->fails) {
        beat_give(beat);
        beat = beat_new();
        if (beat == NULL || !beat_put(beat, "list", PDR_LIT("{}")))
            t->fails = true;
    }
    if (t->fails) {
        beat_give(beat);
        beat = NULL;
    }
    beat_give(*place);
    *place = beat;
    t->next++;
    t->is_full = t->fails = false;
    t->cursor = t->first;
}

/* --- the herald ------------------------------------------------------------
 */

/* What a session is at; it may have been deleted. */
static pdr_rc notice_write(pdr_buf *data, struct pdr__notices *all,
                           const pdr_ref *ref, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};
    struct pdr__json j = {.out = data, .err = err};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(&page, pdr_service_store(all->server->service),
                               &query, &why);

    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        return pdr__err_pass(err, &why);
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", ref->id);
    pdr__json_number(&j, "revision", page != NULL ? page->head.revision : 0);
    pdr__json_text(&j, "state",
                   page != NULL ? pdr_str_c(pdr__state_word(page->head.state))
                                : PDR_LIT("deleted"));
    pdr__json_end(&j, '}');
    pdr_page_free(page);
    return j.rc;
}

/* Add it to what the tenant is told. */
static void news_take(struct pdr__notices *all, const pdr_news *news)
{
    pdr_buf data = PDR_BUF_INIT(SIZE_MAX);
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    if (news->kind == PDR_NEWS_LIST)
        rc = pdr_buf_append(&data, PDR_LIT("{}"), NULL);
    else
        rc = notice_write(&data, all, &news->ref, NULL);
    (void)pthread_mutex_lock(&all->lock);
    if (pdr__map_get(&found, &all->tenants, news->ref.tenant)) {
        struct tenant *t = found;

        if (t->gathered == NULL)
            t->gathered = beat_new();
        t->fails |= rc != PDR_OK || t->gathered == NULL;
        if (!t->is_full && !t->fails)
            t->is_full = !beat_put(
                t->gathered, news->kind == PDR_NEWS_LIST ? "list" : "session",
                pdr_buf_str(&data));
    }
    (void)pthread_mutex_unlock(&all->lock);
    pdr_buf_dispose(&data);
}

/* Sleep until somebody follows; then until something changed. What comes is
 * gathered. */
static void news_gather(struct pdr__notices *all)
{
    static const size_t room = NEWS;
    pdr_news news[NEWS];
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&all->lock);
    while (!all->is_ending && all->tenants.count == 0)
        (void)pthread_cond_wait(&all->changed, &all->lock);
    (void)pthread_mutex_unlock(&all->lock);
    rc = pdr_watcher_wait(news, room, &count, all->watcher, IDLE_MS, NULL);
    while (rc == PDR_OK && count > 0) {
        for (size_t i = 0; i < count; i++)
            news_take(all, &news[i]);
        if (count < room) /* what comes now belongs to the next beat */
            break;
        rc = pdr_watcher_wait(news, room, &count, all->watcher, 0, NULL);
    }
    if (rc == PDR_OK || rc == PDR_ETIMEOUT)
        return;
    (void)pthread_mutex_lock(&all->lock); /* the store is in doubt */
    PDR_MAP_EACH (entry, &all->tenants)
        ((struct tenant *)entry->value)->fails = true;
    (void)pthread_mutex_unlock(&all->lock);
}

/* Wake a few who have a beat to send (N3). False: there are none. */
static bool streams_wake(struct pdr__notices *all, struct tenant *t)
{
    for (unsigned i = 0; i < WAKE_MOST && t->cursor != NULL; i++) {
        struct noticing *n = t->cursor;

        t->cursor = n->after;
        pdr__live_wake(all->server->live, n->x);
    }
    return t->cursor != NULL;
}

/* Let all streams have what was gathered, if there is any. */
static bool beats_send(struct pdr__notices *all)
{
    bool has_any = false, more = true;

    (void)pthread_mutex_lock(&all->lock);
    PDR_MAP_EACH (entry, &all->tenants) {
        struct tenant *t = entry->value;

        if (t->gathered == NULL && !t->fails)
            continue;
        beat_end(t);
        has_any = true;
    }
    (void)pthread_mutex_unlock(&all->lock);
    while (has_any && more) {
        more = false;
        (void)pthread_mutex_lock(&all->lock);
        PDR_MAP_EACH (entry, &all->tenants)
            more |= streams_wake(all, entry->value);
        (void)pthread_mutex_unlock(&all->lock);
    }
    return has_any;
}

/* So that a session that changes all the time is told a few times a second.
 * False: it is over. */
static bool herald_rest(struct pdr__notices *all, bool has_sent)
{
    const int64_t due = now_ms() + PAUSE_MS;
    const struct timespec until = {(time_t)(due / 1000),
                                   (long)(due % 1000) * 1000000};
    bool is_ending = false;
    int code = 0;

    (void)pthread_mutex_lock(&all->lock);
    while (has_sent && !all->is_ending && code == 0)
        code = pthread_cond_timedwait(&all->changed, &all->lock, &until);
    is_ending = all->is_ending;
    (void)pthread_mutex_unlock(&all->lock);
    return !is_ending;
}

static void *herald_work(void *arg)
{
    struct pdr__notices *all = arg;

    do
        news_gather(all);
    while (herald_rest(all, beats_send(all)));
    return NULL;
}

pdr_rc pdr__notices_new(struct pdr__notices **out, pdr_server *server,
                        pdr_err *err)
{
    struct pdr__notices *all = pdr__calloc(1, sizeof(*all));
    pthread_condattr_t attr;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (all == NULL)
        return pdr__nomem(err);
    all->server = server;
    all->tenants = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    (void)pthread_mutex_init(&all->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&all->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    PDR_TRY(pdr_watcher_open(&all->watcher, pdr_service_store(server->service),
                             err));
    all->has_herald = pdr__thread_start(&all->herald, herald_work, all);
    if (!all->has_herald)
        PDR_TRY(PDR_FAIL(err, NO_THREAD, "%s",
                         "the system has no thread for the server"));
    *out = all;
    all = NULL;
done:
    pdr__notices_free(all);
    return rc;
}

void pdr__notices_free(struct pdr__notices *all)
{
    if (all == NULL)
        return;
    (void)pthread_mutex_lock(&all->lock);
    all->is_ending = true;
    (void)pthread_cond_broadcast(&all->changed);
    (void)pthread_mutex_unlock(&all->lock);
    if (all->has_herald) {
        pdr_watcher_wake(all->watcher);
        (void)pthread_join(all->herald, NULL);
    }
    pdr_watcher_close(all->watcher);
    pdr__map_dispose(&all->tenants);
    (void)pthread_cond_destroy(&all->changed);
    (void)pthread_mutex_destroy(&all->lock);
    pdr__free(all);
}

/* --- who follows -----------------------------------------------------------
 * With the lock held.
 */

static void tenant_give(struct pdr__notices *all, struct tenant *t)
{
    const pdr_str name = pdr_str_n(t->name, t->len);
    const pdr_ref ref = {.tenant = name};

    if (t->first != NULL)
        return;
    pdr_watcher_remove(all->watcher, &ref, 0);
    for (size_t i = 0; i < KEPT_BEATS; i++)
        beat_give(t->beats[i]);
    beat_give(t->gathered);
    (void)pdr__map_remove(NULL, &all->tenants, name);
    pdr__free(t);
}

static pdr_rc tenant_take(struct tenant **out, struct pdr__notices *all,
                          pdr_str name, pdr_err *err)
{
    const pdr_ref ref = {.tenant = name};
    struct tenant *t = NULL;
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr__map_get(&found, &all->tenants, name)) {
        *out = found;
        return PDR_OK;
    }
    t = pdr__calloc(1, sizeof(*t) + name.len);
    if (t == NULL)
        return pdr__nomem(err);
    t->len = name.len;
    memcpy(t->name, name.ptr, name.len);
    rc = pdr__map_put(NULL, &all->tenants, name, t, err);
    if (rc != PDR_OK) {
        pdr__free(t);
        return rc;
    }
    rc = pdr_watcher_add(all->watcher, &ref, NULL, 0, err);
    if (rc == PDR_OK)
        *out = t;
    else
        tenant_give(all, t);
    (void)pthread_cond_signal(&all->changed);
    return rc;
}

static pdr_rc follow(struct noticing *n, struct pdr__notices *all,
                     pdr_str tenant, pdr_err *err)
{
    struct tenant *t = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(tenant_take(&t, all, tenant, err));
    n->tenant = t;
    n->at = t->next; /* N1 */
    n->after = t->first;
    if (n->after != NULL)
        n->after->before = n;
    t->first = n;
done:
    return rc;
}

static void noticing_free(void *state)
{
    struct noticing *n = state;
    struct tenant *t = n->tenant;

    if (t != NULL) {
        struct pdr__notices *all = n->x->server->notices;

        (void)pthread_mutex_lock(&all->lock);
        beat_give(n->beat);
        if (t->cursor == n)
            t->cursor = n->after;
        if (n->before != NULL)
            n->before->after = n->after;
        else
            t->first = n->after;
        if (n->after != NULL)
            n->after->before = n->before;
        tenant_give(all, t);
        (void)pthread_mutex_unlock(&all->lock);
        pdr__metrics_stream(n->x->server->metrics, -1);
    }
    pdr_buf_dispose(&n->out);
    pdr__free(n);
}

/* --- a stream --------------------------------------------------------------
 */

/* What was sent is done with; take the next beat, if there is one. False: the
 * stream ends. */
static bool beat_next(struct noticing *n, struct pdr__notices *all)
{
    struct tenant *t = n->tenant;
    bool is_there = true;

    pdr_buf_clear(&n->out);
    n->sent = 0;
    (void)pthread_mutex_lock(&all->lock);
    beat_give(n->beat);
    n->beat = NULL;
    if (t->next - n->at > KEPT_BEATS) { /* it was too slow */
        n->at = t->next;
        is_there =
            event_put(&n->out, n->form, "list", PDR_LIT("{}"), NULL) == PDR_OK;
    } else if (n->at < t->next) {
        n->beat = t->beats[n->at++ % KEPT_BEATS];
        is_there = n->beat != NULL;
        if (is_there)
            n->beat->refs++; /* N2 */
    }
    (void)pthread_mutex_unlock(&all->lock);
    return is_there;
}

static pdr_str sending(const struct noticing *n)
{
    return pdr_buf_str(n->beat != NULL ? &n->beat->text[n->form] : &n->out);
}

/* A pdr__pull_fn. What fails ends it: the client comes back, and lists. */
static ssize_t notices_pull(struct pdr__exchange *x, char *out, size_t room)
{
    struct noticing *n = x->state;
    const int64_t now = now_ms();
    pdr_str text = sending(n);
    size_t count = 0;

    if (n->sent == text.len) {
        if (pdr__live_is_stopping(x->server->live) ||
            !beat_next(n, x->server->notices))
            return -1;
        text = sending(n);
        if (text.len == 0 && now >= n->ping_ms) {
            (void)!pdr_buf_append(&n->out,
                                  n->form == FORM_LINES ? PDR_LIT("\n")
                                                        : PDR_LIT(": ping\n\n"),
                                  NULL);
            text = sending(n);
        }
        if (text.len > 0)
            n->ping_ms = now + x->server->opts.ping_ms;
    }
    count = text.len - n->sent;
    count = count < room ? count : room;
    if (count == 0)
        pdr__wait_until(x, n->ping_ms);
    else
        memcpy(out, text.ptr + n->sent, count);
    n->sent += count;
    return (ssize_t)count;
}

pdr_rc pdr__api_notices(struct pdr__exchange *x, pdr_err *err)
{
    struct pdr__notices *all = x->server->notices;
    struct noticing *n = pdr__calloc(1, sizeof(*n));
    pdr_rc rc = PDR_OK;

    if (n == NULL)
        return pdr__nomem(err);
    n->x = x;
    n->ping_ms = now_ms() + x->server->opts.ping_ms;
    n->out = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    if (pdr__accepts(x, "application/x-ndjson") ||
        pdr__accepts(x, "application/jsonl"))
        n->form = FORM_LINES;
    x->state = n;
    x->state_free = noticing_free;
    if (n->form == FORM_SSE)
        PDR_TRY(pdr_buf_append(&n->out, PDR_LIT("retry: 2000\n\n"), err));
    PDR_TRY(event_put(&n->out, n->form, "list", PDR_LIT("{}"), err));
    (void)pthread_mutex_lock(&all->lock);
    rc = follow(n, all, x->tenant, err);
    (void)pthread_mutex_unlock(&all->lock);
    PDR_TRY(rc);
    pdr__metrics_stream(x->server->metrics, 1);
    pdr__reply_begin(x, 200,
                     n->form == FORM_LINES ? PDR_TYPE_NDJSON : PDR_TYPE_SSE);
    pdr__reply_header(x, "X-Accel-Buffering", PDR_LIT("no"));
    x->reply.pull = notices_pull;
done:
    return rc;
}
