/*
 * live.c - threads that carry out requests, and one that wakes what waits.
 *
 *      requests ─► lane ─┐
 *      streams  ─► lane ─┼─► a thread of the pool ─┬─► reply, or more of it
 *      long     ─► lane ─┘                         └─► waits
 *                   ▲                                    │
 *                   └────────────────────── the waker ◄──┘
 *
 * WHY  A run takes as long as a model thinks, a stream as long as somebody
 *      reads it: thousands of them at once cannot have a thread each. So what
 *      waits is an entry in a map, and one thread hears of its session.
 *
 *      What the threads have to do waits in lanes, from which they take in
 *      turn: ten thousand streams that are woken at once are not in the way of
 *      a request. Long work, as to check a whole store, has a part of the
 *      threads, and so of what these need: readers of the store.
 *
 * INVARIANTS
 *   L1  An exchange is in a lane, in the map, or with one thread.
 *   L2  What waits says which head it has seen, and goes on when there is
 *       another one: also if that came before it began to wait.
 *   L3  When it stops, nothing waits: what is told to goes on at once. Long
 *       work that has not begun is refused, and what has asks now and then.
 *   L4  Of the threads some are free for requests: a lane of others has as many
 *       as its limit says, whatever is in it.
 */
#include "http.h"

#include <time.h>

#define TICK_MS      100 /* by which a ping may be late */
#define NEWS         256 /* that are taken at once */
#define MAX_LONG     64u /* requests for long work that wait: a minute of it */
#define LONG_SHARE   4u  /* one thread of so many is for long work */
#define STREAM_SHARE 2u  /* the same, for what streams read */

enum lane_name { LANE_REQUESTS, LANE_STREAMS, LANE_LONG, LANES };

/* What waits for a thread of the pool, in order. */
struct lane {
    struct pdr__exchange *first, **end;
    size_t waiting, room; /* requests beyond `room` are refused */
    unsigned at_work, most;
};

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
    struct lane lanes[LANES];
    unsigned turn;           /* lane that is looked at first */
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

/* --- lanes -----------------------------------------------------------------
 * With the lock held.
 */

static struct lane *lane_of(struct pdr__live *live,
                            const struct pdr__exchange *x)
{
    if (x->route->is_long)
        return &live->lanes[LANE_LONG];
    return &live->lanes[x->reply.pull != NULL ? LANE_STREAMS : LANE_REQUESTS];
}

static void lane_put(struct pdr__live *live, struct pdr__exchange *x)
{
    struct lane *lane = lane_of(live, x);

    x->wait.after = NULL;
    *lane->end = x;
    lane->end = &x->wait.after;
    lane->waiting++;
    (void)pthread_cond_signal(&live->changed);
}

/* The next one, and its lane; NULL: there is nothing that may begin. */
static struct pdr__exchange *lane_take(struct lane **out,
                                       struct pdr__live *live)
{
    for (unsigned i = 0; i < LANES; i++) {
        struct lane *lane = &live->lanes[(live->turn + i) % LANES];
        struct pdr__exchange *x = lane->first;

        if (x == NULL || lane->at_work >= lane->most) /* L4 */
            continue;
        lane->first = x->wait.after;
        if (lane->first == NULL)
            lane->end = &lane->first;
        lane->waiting--;
        lane->at_work++;
        live->turn = (live->turn + i + 1) % LANES;
        *out = lane;
        return x;
    }
    return NULL;
}

static bool lanes_are_empty(const struct pdr__live *live)
{
    size_t count = 0;

    for (unsigned i = 0; i < LANES; i++)
        count += live->lanes[i].waiting + live->lanes[i].at_work;
    return count == 0;
}

/* Let it go on. */
static void exchange_wake(struct pdr__live *live, struct pdr__exchange *x)
{
    if (x->reply.pull != NULL && x->reply.fill == NULL)
        pdr__glue_resume(x);
    else
        lane_put(live, x);
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

/* With the lock held. */
static void exchange_wait(struct pdr__live *live, struct pdr__exchange *x)
{
    const pdr_seen seen = {.epoch = x->wait.epoch, .commits = x->wait.commits};
    bool waits = false;

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
}

void pdr__live_wait(struct pdr__live *live, struct pdr__exchange *x)
{
    (void)pthread_mutex_lock(&live->lock);
    exchange_wait(live, x);
    (void)pthread_mutex_unlock(&live->lock);
}

bool pdr__live_hold(struct pdr__live *live, struct pdr__exchange *x)
{
    bool is_held = false;

    (void)pthread_mutex_lock(&live->lock);
    is_held = !live->is_stopping;
    if (is_held) {
        pdr__glue_suspend(x);
        if (x->wait.is_set)
            exchange_wait(live, x);
        else
            lane_put(live, x);
    }
    (void)pthread_mutex_unlock(&live->lock);
    return is_held;
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
    const struct lane *lane = lane_of(live, x);
    bool is_taken = false;

    (void)pthread_mutex_lock(&live->lock);
    is_taken = lane->waiting < lane->room && !live->is_ending;
    if (is_taken)
        lane_put(live, x);
    (void)pthread_mutex_unlock(&live->lock);
    return is_taken;
}

static void *pool_work(void *arg)
{
    struct pdr__live *live = arg;
    struct pdr__exchange *x = NULL;
    struct lane *lane = NULL;
    bool is_late = false;

    (void)pthread_mutex_lock(&live->lock);
    while (true) {
        x = lane_take(&lane, live);
        if (x == NULL && live->is_ending)
            break;
        if (x == NULL) {
            (void)pthread_cond_wait(&live->changed, &live->lock);
            continue;
        }
        is_late = live->is_stopping && x->route->is_long &&
                  x->reply.pull == NULL; /* an export ends by itself */
        (void)pthread_mutex_unlock(&live->lock);
        x->wait.is_set = false;
        if (is_late)
            pdr__reply_refuse(x, 503, "the server stops");
        if (is_late ||
            (x->reply.pull != NULL ? x->reply.fill(x) : pdr__exchange_step(x)))
            pdr__glue_resume(x);
        else
            pdr__live_wait(live, x);
        (void)pthread_mutex_lock(&live->lock);
        lane->at_work--; /* this thread looks again, if it was full */
    }
    (void)pthread_mutex_unlock(&live->lock);
    return NULL;
}

/* --- making and stopping ---------------------------------------------------
 */

static void lanes_make(struct pdr__live *live, unsigned threads)
{
    const size_t max_queue = live->server->opts.max_queue;
    const unsigned shares[LANES] = {1, STREAM_SHARE, LONG_SHARE};
    const size_t rooms[LANES] = {max_queue, SIZE_MAX, MAX_LONG};

    for (unsigned i = 0; i < LANES; i++) {
        struct lane *lane = &live->lanes[i];

        lane->end = &lane->first;
        lane->room = rooms[i];
        lane->most = threads > shares[i] ? threads / shares[i] : 1;
    }
}

pdr_rc pdr__live_new(struct pdr__live **out, pdr_server *server,
                     unsigned threads, pdr_err *err)
{
    struct pdr__live *live = pdr__calloc(1, sizeof(*live));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (live == NULL)
        return pdr__nomem(err);
    live->server = server;
    lanes_make(live, threads);
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

pdr_rc pdr__live_check(struct pdr__live *live, pdr_err *err)
{
    return pdr__live_is_stopping(live)
               ? PDR_FAIL(err, ENGINE_STOPPED, "%s", "the server stops")
               : PDR_OK;
}

void pdr__live_stop(struct pdr__live *live)
{
    bool is_empty = false;

    while (!is_empty) { /* the waker sweeps */
        (void)pthread_mutex_lock(&live->lock);
        live->is_stopping = true;
        is_empty = lanes_are_empty(live) && live->waiting.count == 0;
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
