/*
 * watch.c - wait until something was committed: one session, or any.
 *
 * WHY  Those who stream a session, and workers that look for work, must hear of
 *      a commit at once and cost nothing while there is none. A commit of this
 *      process wakes the watches that it concerns, and no others. Of another
 *      process nobody tells us, so somebody has to look; that is one of the
 *      threads that wait, and no thread of our own.
 *
 *                        fire                       poll says: changed
 *      commit here ────────────► its watches     ◄────────────────────── poller
 *                                suspect, woken                    every 20 ms
 *
 *      A watch that is woken is only suspicious: it reads the head and compares
 *      it with what it told last. So nothing is told twice, and nothing is
 *      missed that came between two calls.
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  `suspect` is set after the commit can be read, and cleared before the
 *       head is read. What comes in between sets it again.
 *   I2  While a thread waits on a store with `poll`, one of those that wait is
 *       the poller. When it leaves, it wakes the next.
 *   I3  A watch stands in the list before it reads its first head, so a commit
 *       either is in that head or fires.
 *   I4  No lock is held across a call of the backend.
 */
#include "watch.h"

struct pdr_watch {
    pdr_store *store; /* borrowed, see pdr_watch_open() */
    char *key;        /* owned: tenant, NUL, id; empty: all sessions */
    size_t key_len;
    pdr_ref ref; /* borrowed from `key` */
    struct pdr__waiter waiter;
    pdr_watch *next, *before; /* of all; guarded by lock */
    pdr_watch *same;          /* next one with this key; guarded by lock */
    bool suspect;             /* guarded by lock */
    bool stopped;             /* guarded by lock */
    uint64_t epoch, commits;  /* told last; of the thread that waits */
};

int64_t pdr__watch_now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

/* --- the hub ---------------------------------------------------------------
 */

pdr_rc pdr__watches_new(pdr_store *store, pdr_err *err)
{
    struct pdr__hub *hub = pdr__calloc(1, sizeof(*hub));

    store->watches = hub;
    if (hub == NULL)
        return pdr__nomem(err);
    (void)pthread_mutex_init(&hub->lock, NULL);
    hub->by_key = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    pdr__board_init(&hub->board);
    return PDR_OK;
}

void pdr__watches_free(pdr_store *store)
{
    struct pdr__hub *hub = store->watches;

    if (hub == NULL)
        return;
    assert(hub->all == NULL);
    pdr__board_dispose(&hub->board);
    pdr__map_dispose(&hub->by_key);
    (void)pthread_mutex_destroy(&hub->lock);
    pdr__free(hub);
    store->watches = NULL;
}

/* Tenant and id hold no NUL. */
pdr_str pdr__watch_key(char *room, const pdr_ref *ref)
{
    pdr_str tenant = ref->tenant;

    if (tenant.ptr == NULL)
        tenant = PDR_LIT(PDR_DEFAULT_TENANT);
    memcpy(room, tenant.ptr, tenant.len);
    room[tenant.len] = '\0';
    memcpy(room + tenant.len + 1, ref->id.ptr, ref->id.len);
    return pdr_str_n(room, tenant.len + 1 + ref->id.len);
}

/* Under the lock. */
static void suspect(pdr_watch *watch)
{
    watch->suspect = true;
    pdr__waiter_wake(&watch->waiter);
}

static void suspect_key(struct pdr__hub *hub, pdr_str key)
{
    void *first = NULL;

    if (!pdr__map_get(&first, &hub->by_key, key))
        return;
    for (pdr_watch *watch = first; watch != NULL; watch = watch->same)
        suspect(watch);
}

void pdr__watches_fire(const pdr_write *write)
{
    struct pdr__hub *hub = write->store->watches;
    char room[PDR_WATCH_KEY_ROOM];

    if (hub == NULL || atomic_load(&hub->count) == 0)
        return;
    (void)pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < write->count; i++) {
        const pdr_plan *plan = &write->plans[i];

        if (plan->stage != PDR_STAGE_NONE && plan->stage != PDR_STAGE_SHOW)
            continue; /* nobody can see it */
        suspect_key(hub, PDR_LIT(""));
        suspect_key(hub, pdr__watch_key(room, &plan->ref));
        pdr__board_fire(hub, write, i);
    }
    (void)pthread_mutex_unlock(&hub->lock);
}

/* Another process has committed something, if `value` is a new one. Under the
 * lock. */
static void take_poll(struct pdr__hub *hub, uint64_t value)
{
    bool moved = hub->polled != value;

    hub->polled = value;
    pdr__board_polled(hub, moved);
    for (pdr_watch *watch = moved ? hub->all : NULL; watch != NULL;
         watch = watch->next)
        suspect(watch);
}

/* --- who waits, and who looks ----------------------------------------------
 * All under the lock, which is given up while the backend works (I4).
 */

void pdr__waiter_init(struct pdr__waiter *waiter, bool is_watcher)
{
    pthread_condattr_t attr;

    memset(waiter, 0, sizeof(*waiter));
    waiter->is_watcher = is_watcher;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&waiter->woken, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void pdr__waiter_dispose(struct pdr__waiter *waiter)
{
    assert(waiter->ring.next == NULL);
    (void)pthread_cond_destroy(&waiter->woken);
}

void pdr__waiter_wake(struct pdr__waiter *waiter)
{
    if (waiter->ring.next != NULL)
        (void)pthread_cond_signal(&waiter->woken);
}

pdr_rc pdr__hub_settle(struct pdr__hub *hub, pdr_store *store, pdr_err *err)
{
    uint64_t value = 0;
    pdr_rc rc = PDR_OK;

    if (store->ops->poll == NULL)
        return PDR_OK;
    rc = store->ops->poll(store, &value, err);
    (void)pthread_mutex_lock(&hub->lock);
    if (rc == PDR_OK)
        take_poll(hub, value);
    (void)pthread_mutex_unlock(&hub->lock);
    return rc;
}

void pdr__hub_enter(struct pdr__hub *hub, struct pdr__waiter *waiter)
{
    assert(waiter->ring.next == NULL);
    pdr__ring_put(&hub->waiting, &waiter->ring);
    hub->waiting_count++;
}

/* Who leaves hands the looking on (I2). So does one that was meant to take it
 * over and leaves instead: then there is no poller, either. */
void pdr__hub_leave(struct pdr__hub *hub, const pdr_store *store,
                    struct pdr__waiter *waiter)
{
    pdr__ring_take(&hub->waiting, &waiter->ring);
    hub->waiting_count--;
    if (hub->poller == waiter)
        hub->poller = NULL;
    if (hub->poller == NULL && hub->waiting != NULL && store->ops->poll != NULL)
        pdr__waiter_wake(
            PDR_CONTAINER_OF(hub->waiting, struct pdr__waiter, ring));
}

pdr_rc pdr__hub_poll(bool *polled, struct pdr__hub *hub, pdr_store *store,
                     int64_t now, pdr_err *err)
{
    uint64_t value = 0;
    pdr_rc rc = PDR_OK;

    *polled = store->ops->poll != NULL && !hub->polling && now >= hub->next_ms;
    if (!*polled)
        return PDR_OK;
    hub->polling = true;
    hub->next_ms = now + PDR_WATCH_POLL_MS;
    (void)pthread_mutex_unlock(&hub->lock);
    rc = store->ops->poll(store, &value, err);
    (void)pthread_mutex_lock(&hub->lock);
    hub->polling = false;
    if (rc == PDR_OK)
        take_poll(hub, value);
    return rc;
}

void pdr__hub_rest(struct pdr__hub *hub, const pdr_store *store,
                   struct pdr__waiter *waiter, int64_t now, int64_t end)
{
    struct timespec until;
    int64_t until_ms = end;

    if (store->ops->poll != NULL &&
        (hub->poller == NULL || hub->poller == waiter)) {
        int64_t look_ms = hub->polling ? now + PDR_WATCH_POLL_MS : hub->next_ms;

        hub->poller = waiter; /* I2 */
        until_ms = look_ms < end ? look_ms : end;
    }
    until = (struct timespec){(time_t)(until_ms / 1000),
                              (long)(until_ms % 1000) * 1000000};
    (void)pthread_cond_timedwait(&waiter->woken, &hub->lock, &until);
}

/* --- opening and closing ---------------------------------------------------
 */

static pdr_rc make_key(pdr_watch *watch, const pdr_ref *ref, pdr_err *err)
{
    pdr_ref checked;
    pdr_rc rc = pdr__ref_check(&checked, ref, err);

    if (rc != PDR_OK)
        return rc;
    watch->key = pdr__alloc(checked.tenant.len + 1 + checked.id.len);
    if (watch->key == NULL)
        return pdr__nomem(err);
    watch->key_len = pdr__watch_key(watch->key, &checked).len;
    watch->ref.tenant = pdr_str_n(watch->key, checked.tenant.len);
    watch->ref.id =
        pdr_str_n(watch->key + checked.tenant.len + 1, checked.id.len);
    return PDR_OK;
}

static pdr_rc watch_new(pdr_watch **out, pdr_store *store, const pdr_ref *ref,
                        pdr_err *err)
{
    pdr_watch *watch = pdr__calloc(1, sizeof(*watch));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (watch == NULL)
        return pdr__nomem(err);
    watch->store = store;
    if (ref != NULL)
        rc = make_key(watch, ref, err);
    if (rc != PDR_OK) {
        pdr__free(watch);
        return rc;
    }
    pdr__waiter_init(&watch->waiter, false);
    *out = watch;
    return PDR_OK;
}

static void watch_free(pdr_watch *watch)
{
    pdr__waiter_dispose(&watch->waiter);
    pdr__free(watch->key);
    pdr__free(watch);
}

static pdr_str key_of(const pdr_watch *watch)
{
    return pdr_str_n(watch->key != NULL ? watch->key : "", watch->key_len);
}

/* Under the lock. */
static pdr_rc put_in(struct pdr__hub *hub, pdr_watch *watch, pdr_err *err)
{
    void *same = NULL;
    pdr_rc rc = pdr__map_put(&same, &hub->by_key, key_of(watch), watch, err);

    if (rc != PDR_OK)
        return rc;
    watch->same = same;
    watch->next = hub->all;
    if (hub->all != NULL)
        hub->all->before = watch;
    hub->all = watch;
    atomic_fetch_add(&hub->count, 1);
    return PDR_OK;
}

static void take_out(struct pdr__hub *hub, pdr_watch *watch)
{
    void *first = NULL;
    pdr_watch *at = NULL;

    (void)pdr__map_get(&first, &hub->by_key, key_of(watch));
    at = first;
    if (at == watch && watch->same == NULL) {
        (void)pdr__map_remove(NULL, &hub->by_key, key_of(watch));
    } else if (at == watch) {
        /* Cannot fail: the key is known, so nothing is allocated. */
        pdr_rc rc =
            pdr__map_put(NULL, &hub->by_key, key_of(watch), watch->same, NULL);
        assert(rc == PDR_OK);
        (void)rc;
    } else {
        while (at->same != watch)
            at = at->same;
        at->same = watch->same;
    }
    if (watch->before != NULL)
        watch->before->next = watch->next;
    else
        hub->all = watch->next;
    if (watch->next != NULL)
        watch->next->before = watch->before;
    atomic_fetch_sub(&hub->count, 1);
}

/* Is the session at another place than the one that was told last? Then that
 * one is told now. */
static pdr_rc look(bool *moved, pdr_watch *watch, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = watch->ref};
    uint64_t epoch = 0, commits = 0; /* of a session that is not there */
    pdr_err detail = PDR_ERR_INIT;
    pdr_page *page = NULL;

    *moved = true;
    if (watch->key == NULL)
        return PDR_OK;
    pdr_rc rc = pdr_store_read(&page, watch->store, &query, &detail);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND) {
        if (err != NULL)
            *err = detail;
        return rc;
    }
    if (page != NULL) {
        epoch = page->head.epoch;
        commits = page->head.commits;
    }
    pdr_page_free(page);
    *moved = epoch != watch->epoch || commits != watch->commits;
    watch->epoch = epoch;
    watch->commits = commits;
    return PDR_OK;
}

pdr_rc pdr_watch_open(pdr_watch **out, pdr_store *store, const pdr_ref *ref,
                      pdr_err *err)
{
    pdr_watch *watch = NULL;
    bool moved = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL);
    *out = NULL;
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK)
        rc = watch_new(&watch, store, ref, err);
    if (rc != PDR_OK)
        return rc;
    struct pdr__hub *hub = store->watches;
    rc = pdr__hub_settle(hub, store, err);
    if (rc == PDR_OK) {
        (void)pthread_mutex_lock(&hub->lock);
        rc = put_in(hub, watch, err);
        (void)pthread_mutex_unlock(&hub->lock);
    }
    if (rc != PDR_OK) {
        watch_free(watch);
        return rc;
    }
    rc = look(&moved, watch, err); /* I3 */
    if (rc == PDR_OK)
        *out = watch;
    else
        pdr_watch_close(watch);
    return rc;
}

/* In a child of the process that opened it nothing is touched, here and below:
 * a thread of the parent may have held the lock. */
void pdr_watch_close(pdr_watch *watch)
{
    struct pdr__hub *hub = NULL;

    if (watch == NULL || pdr__store_here(watch->store, NULL) != PDR_OK)
        return;
    hub = watch->store->watches;
    (void)pthread_mutex_lock(&hub->lock);
    take_out(hub, watch);
    (void)pthread_mutex_unlock(&hub->lock);
    watch_free(watch);
}

void pdr_watch_stop(pdr_watch *watch)
{
    struct pdr__hub *hub = watch->store->watches;

    if (pdr__store_here(watch->store, NULL) != PDR_OK)
        return;
    (void)pthread_mutex_lock(&hub->lock);
    watch->stopped = true;
    pdr__waiter_wake(&watch->waiter);
    (void)pthread_mutex_unlock(&hub->lock);
}

/* --- waiting ---------------------------------------------------------------
 * All under the lock, which is given up while the backend works (I4).
 */

static pdr_rc look_once(bool *moved, struct pdr__hub *hub, pdr_watch *watch,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    watch->suspect = false; /* I1 */
    (void)pthread_mutex_unlock(&hub->lock);
    rc = look(moved, watch, err);
    (void)pthread_mutex_lock(&hub->lock);
    if (rc != PDR_OK)
        watch->suspect = true; /* it has not told anything yet */
    return rc;
}

static pdr_rc wait_for_news(struct pdr__hub *hub, pdr_watch *watch, int64_t end,
                            pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    while (!watch->stopped) {
        bool moved = false, polled = false;
        int64_t now = pdr__watch_now_ms();

        if (watch->suspect) {
            rc = look_once(&moved, hub, watch, err);
            if (rc != PDR_OK || moved)
                return rc;
            continue;
        }
        rc = pdr__hub_poll(&polled, hub, watch->store, now, err);
        if (rc != PDR_OK)
            return rc;
        if (!polled && now >= end)
            return PDR_FAIL(err, NOTHING_CHANGED,
                            "nothing was committed in the given time");
        if (!polled)
            pdr__hub_rest(hub, watch->store, &watch->waiter, now, end);
    }
    return PDR_FAIL(err, WATCH_STOPPED, "the watch was stopped");
}

pdr_rc pdr_watch_wait(pdr_watch *watch, uint32_t timeout_ms, pdr_err *err)
{
    struct pdr__hub *hub = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(watch != NULL);
    rc = pdr__store_here(watch->store, err);
    if (rc != PDR_OK)
        return rc;
    hub = watch->store->watches;
    (void)pthread_mutex_lock(&hub->lock);
    pdr__hub_enter(hub, &watch->waiter);
    rc = wait_for_news(hub, watch, pdr__watch_now_ms() + (int64_t)timeout_ms,
                       err);
    pdr__hub_leave(hub, watch->store, &watch->waiter);
    (void)pthread_mutex_unlock(&hub->lock);
    return rc;
}
