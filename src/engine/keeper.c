/*
 * keeper.c - the thread that does what has to be done now and then.
 *
 *      every poll_ms       read what is due, as far as workers are free
 *      a third of a lease  renew the leases of runs at work
 *      every 50 ms         while callers wait: did another process commit?
 *      every second        remove what has expired (house.c)
 *
 * INVARIANTS
 *   K1  One look costs a bounded number of rows, however many are due: the next
 *       one goes on where it ended, and begins again at the end of the list.
 *   K2  A renewal moves lease and guard in one commit, so that the guard never
 *       comes due while the lease holds.
 *   K3  All times here are those of the store, which leases go by; the clock of
 *       this process, by which a thread waits, may be another one.
 */
#include "engine.h"

#define PAGES_A_LOOK 5
#define LOOKS_A_POLL 20   /* at a list that has no end yet */
#define RENEWALS     64   /* in one group of commits */
#define HOUSE_MS     1000 /* between two looks at what has to go */

struct keeper {
    pdr_engine *engine;
    pdr_buf after;    /* where the due list goes on; empty: at the beginning */
    int64_t due_ms;   /* when to look at it again */
    unsigned looks;   /* one after the other, at a long list */
    int64_t watch_ms; /* when to look whether others committed */
    int64_t house_ms; /* when to look for what has to go */
    struct pdr__house house;
    bool is_stopping; /* only leases count any more */
    bool has_waiters;
    int64_t ahead_ms; /* our clock is ahead of that of the store by this */
};

/* --- leases ---------------------------------------------------------------
 */

struct renewal {
    pdr_task *task;
    pdr_edit edit;
    pdr_work guard;
    pdr_committed done;
};

/* Runs at work whose lease has less than two thirds left, and whose turn to
 * commit it is; they are busy then. */
static size_t renewals_find(struct renewal *list, pdr_engine *e, int64_t now_ms)
{
    int64_t lease_ms = e->opts.lease_ms;
    size_t count = 0;

    (void)pthread_mutex_lock(&e->lock);
    PDR_MAP_EACH (entry, &e->at_work) {
        pdr_task *task = ((struct pdr__seat *)entry->value)->task;

        if (task == NULL || task->is_busy || task->is_finished ||
            task->is_lost || e->is_dead ||
            task->until_ms - now_ms > lease_ms * 2 / 3 || count == RENEWALS)
            continue;
        task->is_busy = true;
        list[count++].task = task;
    }
    (void)pthread_mutex_unlock(&e->lock);
    return count;
}

/* What came of it. */
static void renewal_note(struct renewal *r, pdr_request *request)
{
    pdr_task *task = r->task;
    pdr_engine *e = task->engine;

    (void)pdr__engine_failed(e, request->rc, &request->err);
    (void)pthread_mutex_lock(&e->lock);
    if (request->rc == PDR_OK) {
        task->guard = r->done.inbox_n;
        task->until_ms = r->edit.lease.until_ms;
    } else if (request->rc == PDR_EFENCED || request->rc == PDR_ENOTFOUND) {
        pdr__task_lose(task);
    } /* else the next look tries again */
    task->is_busy = false;
    e->world->wake(e->world->ctx, &task->turn);
    (void)pthread_mutex_unlock(&e->lock);
}

static void leases_renew(pdr_engine *e, int64_t now_ms)
{
    struct renewal list[RENEWALS];
    pdr_request requests[RENEWALS];
    size_t count = renewals_find(list, e, now_ms);

    for (size_t i = 0; i < count; i++) {
        struct renewal *r = &list[i];
        pdr_task *task = r->task;

        r->guard = (pdr_work){.due_ms = now_ms + e->opts.lease_ms,
                              .kind = PDR_LIT(PDR_WORK_GUARD),
                              .correlation_id = task->info.correlation_id,
                              .body = PDR_LIT("{}")};
        r->edit = (pdr_edit){.ref = task->info.session,
                             .revision = PDR_ANY_REVISION,
                             .epoch = task->info.epoch,
                             .lease = {.verb = PDR_LEASE_RENEW,
                                       .fence = task->fence,
                                       .until_ms = r->guard.due_ms},
                             .settle = &task->guard,
                             .settle_count = 1,
                             .inbox = &r->guard,
                             .inbox_count = 1};
        requests[i] = (pdr_request){.edits = &r->edit,
                                    .count = 1,
                                    .options = {.now_ms = now_ms},
                                    .committed = &r->done,
                                    .err = PDR_ERR_INIT};
    }
    if (count > 0)
        pdr_store_commit_all(e->store, requests, count);
    for (size_t i = 0; i < count; i++)
        renewal_note(&list[i], &requests[i]);
}

/* --- what is due ----------------------------------------------------------
 */

/* Is it of no use to look at the session now? With the lock held. */
static bool session_is_deferred(pdr_engine *e, pdr_str key, int64_t now_ms)
{
    void *when = NULL;

    if (!pdr__map_get(&when, &e->later, key))
        return false;
    if (*(int64_t *)when > now_ms)
        return true;
    (void)pdr__map_remove(NULL, &e->later, key);
    pdr__free(when);
    return false;
}

/* A row that is due: its session has work, or its run is cancelled. */
static void row_note(pdr_engine *e, const pdr_work *row, int64_t now_ms)
{
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, &row->session);
    pdr_task *task = NULL;

    if (pdr__engine_kind(e, row->session.id) == NULL)
        return;
    (void)pthread_mutex_lock(&e->lock);
    task = pdr__seat_task(e, key);
    if (task != NULL && pdr__work_is(row, PDR_WORK_CANCEL) &&
        pdr_str_equal(task->info.correlation_id, row->correlation_id)) {
        task->is_cancelled = true;
        pdr__task_end(task);
    } else if (!session_is_deferred(e, key, now_ms)) {
        pdr__engine_queue(e, &row->session);
    }
    (void)pthread_mutex_unlock(&e->lock);
}

/* Read on in the due list; `*next_ms` is when the next row comes due, if the
 * end of what is due was seen. */
static pdr_rc due_read(struct keeper *k, int64_t *next_ms, int64_t now_ms)
{
    pdr_engine *e = k->engine;
    pdr_query query = {
        .what = PDR_READ_DUE, .limit = PDR_MAX_PAGE_ROWS, .now_ms = PDR_NEVER};
    pdr_page *page = NULL;
    bool at_end = false;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < PAGES_A_LOOK && !at_end; i++) { /* K1 */
        query.after =
            k->after.len > 0 ? pdr_buf_str(&k->after) : pdr_str_n(NULL, 0);
        PDR_TRY(pdr_store_read(&page, e->store, &query, &why));
        at_end = page->next.ptr == NULL;
        for (size_t row = 0; row < page->count; row++) {
            if (page->work[row].due_ms > now_ms) {
                *next_ms = page->work[row].due_ms;
                at_end = true;
                break;
            }
            row_note(e, &page->work[row], now_ms);
        }
        pdr_buf_clear(&k->after);
        if (!at_end)
            PDR_TRY(pdr_buf_append(&k->after, page->next, &why));
        pdr_page_free(page);
        page = NULL;
    }
done:
    pdr_page_free(page);
    if (rc != PDR_OK) {
        pdr_buf_clear(&k->after);
        pdr__engine_event(e, PDR_LOG_ERROR, "due_list_failed", NULL,
                          pdr_str_n(NULL, 0), &why);
    }
    return rc;
}

/* --- the thread -----------------------------------------------------------
 */

/* Has anybody committed since the last time? Then those who wait look. */
static void waiters_look(pdr_engine *e)
{
    if (pdr_watch_wait(e->watch, 0, NULL) == PDR_ETIMEOUT)
        return;
    (void)pthread_mutex_lock(&e->lock);
    pdr__waiters_wake_others(e);
    (void)pthread_mutex_unlock(&e->lock);
}

static void keeper_look(struct keeper *k)
{
    pdr_engine *e = k->engine;
    int64_t own_ms = e->world->now_ms(e->world->ctx), now_ms = 0;
    int64_t next_ms = PDR_NEVER, poll_ms = e->opts.poll_ms;

    if (pdr__engine_now(&now_ms, e, NULL) != PDR_OK) {
        k->due_ms = k->watch_ms = own_ms - k->ahead_ms + poll_ms;
        return;
    }
    k->ahead_ms = own_ms - now_ms;
    if (!k->has_waiters)
        k->watch_ms = PDR_NEVER;
    else if (k->watch_ms == PDR_NEVER)
        k->watch_ms = now_ms;
    leases_renew(e, now_ms);
    if (now_ms >= k->due_ms) {
        (void)due_read(k, &next_ms, now_ms);
        k->due_ms = now_ms + poll_ms;
        if (next_ms < k->due_ms && next_ms > now_ms)
            k->due_ms = next_ms;
        k->looks =
            k->after.len > 0 && k->looks < LOOKS_A_POLL ? k->looks + 1 : 0;
        if (k->looks > 0) /* leases first, and then on */
            k->due_ms = now_ms;
    }
    if (now_ms >= k->house_ms && !k->is_stopping) {
        pdr__house_keep(e, &k->house, now_ms);
        k->house_ms = now_ms + HOUSE_MS;
    }
    if (now_ms >= k->watch_ms) {
        waiters_look(e);
        k->watch_ms = now_ms + PDR_WAIT_POLL_MS;
    }
}

void *pdr__keeper_work(void *arg)
{
    pdr_engine *e = arg;
    struct keeper k = {.engine = e,
                       .after = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                       .house = {.expired = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                                 .all = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)}};
    int64_t wake_ms = 0;

    (void)pthread_mutex_lock(&e->lock);
    while (!pdr__engine_is_quiet(e)) { /* leases hold until the last run ends */
        k.has_waiters = e->waiters.count > 0;
        k.is_stopping = e->is_stopping;
        (void)pthread_mutex_unlock(&e->lock);
        keeper_look(&k);
        (void)pthread_mutex_lock(&e->lock);
        e->ahead_ms = k.ahead_ms;
        if (e->idle == 0 && (e->ready != NULL || e->queue.items.count > 0))
            pdr__engine_rouse(e); /* there may have been no thread for it */
        if (e->waiters.count > 0 && k.watch_ms == PDR_NEVER)
            k.watch_ms = pdr__engine_time(e); /* they came meanwhile */
        wake_ms = k.due_ms < k.watch_ms ? k.due_ms : k.watch_ms;
        if (e->next_ms < wake_ms)
            wake_ms = k.due_ms = e->next_ms;
        e->next_ms = PDR_NEVER;
        e->asleep_ms = wake_ms;
        if (wake_ms > pdr__engine_time(e) && !pdr__engine_is_quiet(e))
            e->world->wait(e->world->ctx, &e->tick, &e->lock,
                           wake_ms + e->ahead_ms); /* K3 */
        e->asleep_ms = 0;
    }
    (void)pthread_mutex_unlock(&e->lock);
    pdr_buf_dispose(&k.house.expired);
    pdr_buf_dispose(&k.house.all);
    pdr_buf_dispose(&k.after);
    return NULL;
}
