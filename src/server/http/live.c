/*
 * live.c - threads that carry out requests, and one that wakes what waits.
 *
 *      work ─► queue ─► a thread of the pool ─┬─► reply
 *                 ▲                           └─► waits
 *                 │  a handler                     │
 *                 └──────────────── the waker ◄────┘
 *      a stream: the library goes on with it ◄─┘
 *
 * WHY  A run takes as long as a model thinks, a stream as long as somebody
 *      reads it: thousands of them at once cannot have a thread each. So what
 *      waits is an entry in a map, and one thread hears of its session.
 *
 * INVARIANTS
 *   L1  An exchange is in the queue, in the map, or with one thread.
 *   L2  What waits says which head it has seen, and goes on when there is
 *       another one: also if that came before it began to wait.
 *   L3  When it stops, nothing waits: what is told to goes on at once.
 */
#include "http.h"

#include <time.h>

#define TICK_MS   100  /* by which a ping may be late */
#define MAX_QUEUE 4096 /* requests that wait for a thread */
#define NEWS      256  /* that are taken at once */

struct pdr__live {
    pdr_server *server;
    pdr_watcher *watcher; /* owned */
    unsigned thread_count;
    pthread_t *threads; /* owned; of the pool */
    pthread_t waker;
    bool has_waker;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is work, or it stops */
    /* Guarded by lock. */
    struct pdr__exchange *queue, **queue_end;
    size_t queued, at_work;
    struct pdr__map waiting; /* by number of the request */
    bool is_stopping, is_ending;
};

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

void pdr__wait_for(struct pdr__exchange *x, const pdr_ref *ref, uint64_t epoch,
                   uint64_t commits, int64_t due_ms)
{
    x->wait.ref = *ref;
    x->wait.epoch = epoch;
    x->wait.commits = commits;
    x->wait.due_ms = due_ms;
    x->wait.is_told = false;
    x->wait.is_set = true;
}

void pdr__wait_until(struct pdr__exchange *x, int64_t due_ms)
{
    x->wait.due_ms = due_ms;
    x->wait.is_told = x->wait.is_set = true;
}

/* --- the queue -------------------------------------------------------------
 * With the lock held.
 */

static void queue_put(struct pdr__live *live, struct pdr__exchange *x)
{
    x->wait.after = NULL;
    *live->queue_end = x;
    live->queue_end = &x->wait.after;
    live->queued++;
    (void)pthread_cond_signal(&live->changed);
}

static struct pdr__exchange *queue_take(struct pdr__live *live)
{
    struct pdr__exchange *x = live->queue;

    if (x == NULL)
        return NULL;
    live->queue = x->wait.after;
    if (live->queue == NULL)
        live->queue_end = &live->queue;
    live->queued--;
    return x;
}

/* Let it go on. */
static void exchange_wake(struct pdr__live *live, struct pdr__exchange *x)
{
    if (x->reply.pull != NULL)
        pdr__glue_resume(x);
    else
        queue_put(live, x);
}

/* --- those who wait --------------------------------------------------------
 */

/* What the watcher and the map call it. */
static pdr_str key_of(const uint64_t *number)
{
    return pdr_str_n((const char *)number, sizeof(*number));
}

/* It does not wait any more. With the lock held. */
static void waiting_take(struct pdr__live *live, struct pdr__exchange *x)
{
    (void)pdr__map_remove(NULL, &live->waiting, key_of(&x->number));
    if (!x->wait.is_told)
        pdr_watcher_remove(live->watcher, &x->wait.ref, x->number);
    exchange_wake(live, x);
}

/* Wake whatever is due; when it stops, all. With the lock held. */
static void due_sweep(struct pdr__live *live, int64_t now)
{
    struct pdr__exchange *due = NULL;

    PDR_MAP_EACH (entry, &live->waiting) {
        struct pdr__exchange *x = entry->value;

        if (x->wait.due_ms > now && !live->is_stopping)
            continue;
        x->wait.is_due = x->wait.due_ms <= now;
        x->wait.after = due;
        due = x;
    }
    while (due != NULL) {
        struct pdr__exchange *x = due;

        due = x->wait.after;
        waiting_take(live, x);
    }
}

static void *waker_work(void *arg)
{
    struct pdr__live *live = arg;
    static const size_t room = NEWS;
    pdr_news news[NEWS];
    int64_t sweep_ms = 0;
    bool is_ending = false;

    while (!is_ending) {
        size_t count = 0;
        pdr_rc rc =
            pdr_watcher_wait(news, room, &count, live->watcher, TICK_MS, NULL);
        int64_t now = now_ms();

        (void)pthread_mutex_lock(&live->lock);
        for (size_t i = 0; rc == PDR_OK && i < count; i++) {
            void *x = NULL;

            if (pdr__map_get(&x, &live->waiting, key_of(&news[i].tag)))
                waiting_take(live, x);
        }
        if (now >= sweep_ms || live->is_stopping) {
            due_sweep(live, now);
            sweep_ms = now + TICK_MS;
        }
        is_ending = live->is_ending;
        (void)pthread_mutex_unlock(&live->lock);
        if (rc != PDR_OK && rc != PDR_ETIMEOUT)
            pdr__nap(TICK_MS); /* the store is in doubt, or memory is short */
    }
    return NULL;
}

void pdr__live_wait(struct pdr__live *live, struct pdr__exchange *x)
{
    const pdr_seen seen = {.epoch = x->wait.epoch, .commits = x->wait.commits};
    bool waits = false;

    (void)pthread_mutex_lock(&live->lock);
    x->wait.is_due = false;
    if (!live->is_stopping && !x->wait.is_woken) /* L3 */
        waits = pdr__map_put(NULL, &live->waiting, key_of(&x->number), x,
                             NULL) == PDR_OK;
    x->wait.is_woken = false;
    if (!waits) /* without memory it asks again */
        exchange_wake(live, x);
    else if (!x->wait.is_told &&
             pdr_watcher_add(live->watcher, &x->wait.ref, &seen, x->number,
                             NULL) != PDR_OK)
        waiting_take(live, x);
    (void)pthread_mutex_unlock(&live->lock);
}

void pdr__live_wake(struct pdr__live *live, struct pdr__exchange *x)
{
    (void)pthread_mutex_lock(&live->lock);
    if (pdr__map_get(NULL, &live->waiting, key_of(&x->number)))
        waiting_take(live, x);
    else
        x->wait.is_woken = true;
    (void)pthread_mutex_unlock(&live->lock);
}

/* --- the pool --------------------------------------------------------------
 */

bool pdr__live_work(struct pdr__live *live, struct pdr__exchange *x)
{
    bool is_taken = false;

    (void)pthread_mutex_lock(&live->lock);
    is_taken = live->queued < MAX_QUEUE && !live->is_ending;
    if (is_taken)
        queue_put(live, x);
    (void)pthread_mutex_unlock(&live->lock);
    return is_taken;
}

static void *pool_work(void *arg)
{
    struct pdr__live *live = arg;
    struct pdr__exchange *x = NULL;

    (void)pthread_mutex_lock(&live->lock);
    while (true) {
        x = queue_take(live);
        if (x == NULL && live->is_ending)
            break;
        if (x == NULL) {
            (void)pthread_cond_wait(&live->changed, &live->lock);
            continue;
        }
        live->at_work++;
        (void)pthread_mutex_unlock(&live->lock);
        if (pdr__exchange_step(x))
            pdr__glue_resume(x);
        else
            pdr__live_wait(live, x);
        (void)pthread_mutex_lock(&live->lock);
        live->at_work--;
    }
    (void)pthread_mutex_unlock(&live->lock);
    return NULL;
}

/* --- making and stopping ---------------------------------------------------
 */

pdr_rc pdr__live_new(struct pdr__live **out, pdr_server *server,
                     unsigned threads, pdr_err *err)
{
    struct pdr__live *live = pdr__calloc(1, sizeof(*live));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (live == NULL)
        return pdr__nomem(err);
    live->server = server;
    live->queue_end = &live->queue;
    live->waiting = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    (void)pthread_mutex_init(&live->lock, NULL);
    (void)pthread_cond_init(&live->changed, NULL);
    live->threads = pdr__calloc(threads, sizeof(*live->threads));
    if (live->threads == NULL)
        PDR_TRY(pdr__nomem(err));
    PDR_TRY(pdr_watcher_open(&live->watcher, pdr_service_store(server->service),
                             err));
    live->has_waker = pdr__thread_start(&live->waker, waker_work, live);
    while (
        live->has_waker && live->thread_count < threads &&
        pdr__thread_start(&live->threads[live->thread_count], pool_work, live))
        live->thread_count++;
    if (live->thread_count < threads)
        PDR_TRY(PDR_FAIL(err, NO_THREAD, "%s",
                         "the system has no thread for the server"));
    *out = live;
    live = NULL;
done:
    pdr__live_free(live);
    return rc;
}

bool pdr__live_is_stopping(struct pdr__live *live)
{
    bool is_stopping = false;

    (void)pthread_mutex_lock(&live->lock);
    is_stopping = live->is_stopping;
    (void)pthread_mutex_unlock(&live->lock);
    return is_stopping;
}

void pdr__live_stop(struct pdr__live *live)
{
    bool is_empty = false;

    while (!is_empty) { /* the waker sweeps */
        (void)pthread_mutex_lock(&live->lock);
        live->is_stopping = true;
        is_empty = live->queued + live->waiting.count + live->at_work == 0;
        (void)pthread_mutex_unlock(&live->lock);
        if (!is_empty)
            pdr__nap(5);
    }
}

void pdr__live_free(struct pdr__live *live)
{
    if (live == NULL)
        return;
    (void)pthread_mutex_lock(&live->lock);
    live->is_stopping = live->is_ending = true;
    (void)pthread_cond_broadcast(&live->changed);
    (void)pthread_mutex_unlock(&live->lock);
    if (live->watcher != NULL)
        pdr_watcher_wake(live->watcher);
    for (unsigned i = 0; i < live->thread_count; i++)
        (void)pthread_join(live->threads[i], NULL);
    if (live->has_waker)
        (void)pthread_join(live->waker, NULL);
    pdr_watcher_close(live->watcher);
    pdr__map_dispose(&live->waiting);
    pdr__free(live->threads);
    (void)pthread_cond_destroy(&live->changed);
    (void)pthread_mutex_destroy(&live->lock);
    pdr__free(live);
}
