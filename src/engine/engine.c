/*
 * engine.c - an engine as a whole: made, started, stopped.
 *
 *                   ┌────────── keeper: reads what is due, renews leases
 *      sends ──► queue ──► workers, a thread for each run at work
 *                   ▲            │ claim, run, finish
 *                   └── more ◄───┘
 *
 * WHY  The store has the truth: what waits, what runs, until when. Everything
 *      in memory here is a hint that saves reading, and may be lost at any
 *      moment. So a start has nothing to restore, and several processes on one
 *      store need not know of each other.
 *
 * INVARIANTS
 *   E1  No lock is held across a call of the store, an entity or the log.
 *   E2  A session has at most one worker in this process (`at_work`), and the
 *       lease sees to it that no other process has one.
 *   E3  After a commit that ended unknown nothing more is committed: only a new
 *       process, or a store that was opened again, can find out.
 *
 * NOT HERE  Who is next (queue.c), claims (claim.c), what a run commits
 *           (task.c), waiting callers (wait.c), what has to be done now and
 *           then (keeper.c).
 */
#include <stdio.h>
#include <unistd.h>

#include "engine.h"

#define DEFAULT_WORKERS  64
#define MAX_WORKERS      4096
#define DEFAULT_INBOX    32
#define DEFAULT_ATTEMPTS 3
#define DEFAULT_LEASE_MS 30000
#define MIN_LEASE_MS     100
#define DEFAULT_POLL_MS  200
#define DEFAULT_KEEP_MS  600000
#define MAX_DELAY_MS     300000
#define DEFAULT_KEEP     ((size_t)64 * 1024 * 1024)

/* --- making ---------------------------------------------------------------
 */

pdr_rc pdr__owner_name(char out[PDR_MAX_OWNER_BYTES + 1], const char *owner,
                       pdr_err *err)
{
    char host[65] = "";
    uint32_t number = 0;
    pdr_rc rc = PDR_OK;

    if (owner != NULL) {
        (void)snprintf(out, PDR_MAX_OWNER_BYTES + 1, "%s", owner);
        return PDR_OK;
    }
    PDR_TRY(pdr__rand_fill(&number, pdr__rand_system(), sizeof(number), err));
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof(host), "localhost");
    (void)snprintf(out, PDR_MAX_OWNER_BYTES + 1, "%s/%ld/%08x", host,
                   (long)getpid(), number);
done:
    return rc;
}

static pdr_rc opts_check(const pdr_engine_opts *opts, pdr_err *err)
{
    if (opts->workers > MAX_WORKERS)
        return PDR_FAIL(err, BAD_ENGINE, "an engine has at most %d workers",
                        MAX_WORKERS);
    if (opts->inbox_most > PDR_MAX_PAGE_ROWS - 2)
        return PDR_FAIL(err, BAD_ENGINE,
                        "at most %d operations can wait for a session",
                        (int)PDR_MAX_PAGE_ROWS - 2);
    if (opts->lease_ms != 0 && opts->lease_ms < MIN_LEASE_MS)
        return PDR_FAIL(err, BAD_ENGINE, "a lease has at least %d ms",
                        MIN_LEASE_MS);
    if (opts->min_delay_ms > MAX_DELAY_MS && opts->min_delay_ms != PDR_NO_DELAY)
        return PDR_FAIL(err, BAD_ENGINE,
                        "a session that expired lives at most %d ms longer",
                        MAX_DELAY_MS);
    if (opts->owner != NULL &&
        (opts->owner[0] == '\0' || strlen(opts->owner) > PDR_MAX_OWNER_BYTES))
        return PDR_FAIL(err, BAD_ENGINE, "an owner has 1 to %u bytes",
                        PDR_MAX_OWNER_BYTES);
    return PDR_OK;
}

pdr_rc pdr__engine_new(pdr_engine **out, pdr_store *store,
                       const pdr_engine_opts *opts,
                       const struct pdr__world *world, pdr_err *err)
{
    const pdr_engine_opts usual = {.workers = 0};
    pdr_engine *e = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL);
    *out = NULL;
    if (opts == NULL)
        opts = &usual;
    rc = opts_check(opts, err);
    if (rc != PDR_OK)
        return rc;
    e = pdr__calloc(1, sizeof(*e));
    if (e == NULL)
        return pdr__nomem(err);
    e->store = store;
    e->world = world;
    e->opts = *opts;
    e->log = (pdr_log){opts->log, opts->log_arg};
#define DEFAULT(name, value) \
    if (e->opts.name == 0)   \
    e->opts.name = (value)
    DEFAULT(workers, DEFAULT_WORKERS);
    DEFAULT(inbox_most, DEFAULT_INBOX);
    DEFAULT(max_attempts, DEFAULT_ATTEMPTS);
    DEFAULT(lease_ms, DEFAULT_LEASE_MS);
    DEFAULT(poll_ms, DEFAULT_POLL_MS);
    DEFAULT(min_delay_ms, MAX_DELAY_MS);
    DEFAULT(stream_keep_ms, DEFAULT_KEEP_MS);
    DEFAULT(keep_bytes, DEFAULT_KEEP);
#undef DEFAULT
    if (e->opts.min_delay_ms != PDR_NO_DELAY)
        e->min_delay_ms = e->opts.min_delay_ms;
    if (e->opts.poll_ms > e->opts.lease_ms / 4) /* leases are renewed then */
        e->opts.poll_ms = e->opts.lease_ms / 4;
    e->queue = (struct pdr__queue){.tenants = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                                   .items = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                                   .agents = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                                   .most_per_tenant = opts->most_per_tenant,
                                   .most_per_agent = opts->most_per_agent};
    e->at_work = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    e->later = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    e->figures = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    e->endings = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    e->waiters = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    e->memos.by_key = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    (void)pthread_mutex_init(&e->lock, NULL);
    (void)pthread_cond_init(&e->work, NULL);
    (void)pthread_cond_init(&e->tick, NULL);
    (void)pthread_cond_init(&e->stream, NULL);
    (void)pthread_cond_init(&e->quiet, NULL);
    PDR_TRY(pdr__owner_name(e->owner, opts->owner, err));
    *out = e;
    e = NULL;
done:
    pdr_engine_free(e);
    return rc;
}

pdr_rc pdr_engine_new(pdr_engine **out, pdr_store *store,
                      const pdr_engine_opts *opts, pdr_err *err)
{
    return pdr__engine_new(out, store, opts, pdr__world_system(), err);
}

pdr_rc pdr_engine_add(pdr_engine *e, const pdr_entity_ops *ops, void *self,
                      pdr_err *err)
{
    PDR_REQUIRE(e != NULL && ops != NULL && !e->is_started);
    if (ops->version == 0 || ops->version > PDR_ENTITY_OPS_VERSION)
        return PDR_FAIL(err, TABLE_VERSION,
                        "this library knows tables of entities up to version "
                        "%d, this one has version %u",
                        PDR_ENTITY_OPS_VERSION, ops->version);
    if (ops->prefix == NULL || ops->admit == NULL || ops->can_run == NULL ||
        ops->claim == NULL || ops->release == NULL || ops->run == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "the table of an entity lacks a required function");
    for (size_t i = 0; i < e->kind_count; i++) {
        if (strcmp(e->kinds[i].ops->prefix, ops->prefix) == 0)
            return PDR_FAIL(err, ENTITY_EXISTS,
                            "the engine knows sessions that begin with '%s'",
                            ops->prefix);
    }
    if (e->kind_count == PDR_MAX_KINDS)
        return PDR_FAIL(err, TOO_MANY_ENTITIES,
                        "an engine knows at most %d kinds of sessions",
                        PDR_MAX_KINDS);
    e->kinds[e->kind_count++] = (struct pdr__kind){ops, self};
    return PDR_OK;
}

const struct pdr__kind *pdr__engine_kind(const pdr_engine *e, pdr_str id)
{
    const struct pdr__kind *found = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < e->kind_count; i++) {
        size_t len = strlen(e->kinds[i].ops->prefix);

        if (len <= id.len && (found == NULL || len > longest) &&
            memcmp(id.ptr, e->kinds[i].ops->prefix, len) == 0) {
            found = &e->kinds[i];
            longest = len;
        }
    }
    return found;
}

/* --- at work --------------------------------------------------------------
 */

pdr_rc pdr__engine_now(int64_t *out, pdr_engine *e, pdr_err *err)
{
    return pdr_store_now(out, e->store, e->world->now_ms(e->world->ctx), err);
}

int64_t pdr__engine_time(const pdr_engine *e)
{
    return e->world->now_ms(e->world->ctx) - e->ahead_ms;
}

bool pdr__engine_is_quiet(const pdr_engine *e)
{
    return e->is_dead || (e->is_over && e->at_work.count == 0);
}

pdr_rc pdr__engine_ref(const pdr_ref *ref, pdr_err *err)
{
    if (ref->tenant.len > PDR_MAX_TENANT_BYTES || ref->id.ptr == NULL ||
        ref->id.len == 0 || ref->id.len > PDR_MAX_ID_BYTES)
        return PDR_FAIL(err, BAD_REF,
                        "the id of a session has 1 to %u bytes, that of a "
                        "tenant 1 to %u",
                        PDR_MAX_ID_BYTES, PDR_MAX_TENANT_BYTES);
    return PDR_OK;
}

pdr_rc pdr__engine_alive(pdr_engine *e, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&e->lock);
    if (e->is_dead)
        rc = pdr__err_pass(err, &e->why);
    else if (e->is_over || e->is_stopping)
        rc = PDR_FAIL(err, ENGINE_STOPPED, "%s", "the engine was stopped");
    (void)pthread_mutex_unlock(&e->lock);
    return rc;
}

pdr_rc pdr_engine_check(pdr_engine *e, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(e != NULL);
    (void)pthread_mutex_lock(&e->lock);
    if (e->is_dead)
        rc = pdr__err_pass(err, &e->why);
    (void)pthread_mutex_unlock(&e->lock);
    return rc;
}

pdr_rc pdr__engine_failed(pdr_engine *e, pdr_rc rc, const pdr_err *err)
{
    bool ends = false;

    if (rc != PDR_EUNKNOWN &&
        !(rc == PDR_EIO && pdr__err_is(err, PDR_R_IN_DOUBT)))
        return rc;
    (void)pthread_mutex_lock(&e->lock);
    ends = !e->is_dead;
    if (ends) { /* E3 */
        e->is_dead = true;
        e->why = *err;
        (void)pdr__wrap(&e->why, rc, "the engine has ended");
        PDR_MAP_EACH (entry, &e->at_work) {
            pdr_task *task = ((struct pdr__seat *)entry->value)->task;

            if (task != NULL)
                pdr__task_end(task);
        }
        pdr__waiters_wake_all(e);
        e->world->wake(e->world->ctx, &e->work);
        e->world->wake(e->world->ctx, &e->tick);
        e->world->wake(e->world->ctx, &e->stream);
        e->world->wake(e->world->ctx, &e->quiet);
    }
    (void)pthread_mutex_unlock(&e->lock);
    if (ends)
        pdr__engine_event(e, PDR_LOG_ERROR, "engine_ended", NULL,
                          pdr_str_n(NULL, 0), err);
    return rc;
}

void pdr__engine_rouse(pdr_engine *e)
{
    if (e->is_over) /* stop gives back what has no worker */
        e->world->wake(e->world->ctx, &e->quiet);
    if (!e->is_started || e->is_over)
        return;
    if (e->idle == 0 && e->thread_count < e->opts.workers &&
        pdr__grow((void **)&e->threads, &e->thread_cap, e->thread_count + 1,
                  sizeof(*e->threads), NULL) == PDR_OK &&
        e->world->start(e->world->ctx, &e->threads[e->thread_count],
                        pdr__worker_work, e))
        e->thread_count++; /* without one the others take longer */
    else if (e->idle > 0 && e->world->wake_one != NULL)
        e->world->wake_one(e->world->ctx, &e->work);
    else if (e->idle > 0)
        e->world->wake(e->world->ctx, &e->work);
}

void pdr__engine_queue(pdr_engine *e, const pdr_ref *ref)
{
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, ref);
    void *seat = NULL;
    bool taken = false;

    if (!e->is_started || e->is_stopping || e->is_dead)
        return; /* the store has it */
    if (pdr__map_get(&seat, &e->at_work, key)) {
        ((struct pdr__seat *)seat)->has_more = true;
        return;
    }
    /* Without memory it is found in the due list. */
    if (pdr__queue_add(&taken, &e->queue, ref, NULL) == PDR_OK && taken)
        pdr__engine_rouse(e);
}

bool pdr__seat_take(pdr_engine *e, const pdr_ref *ref, pdr_str key)
{
    struct pdr__seat *seat = NULL;

    if (pdr__map_get(NULL, &e->at_work, key) ||
        !pdr__queue_admits(&e->queue, ref) ||
        pdr__queue_begin(&e->queue, ref, NULL) != PDR_OK)
        return false;
    seat = pdr__calloc(1, sizeof(*seat));
    if (seat != NULL &&
        pdr__map_put(NULL, &e->at_work, key, seat, NULL) == PDR_OK)
        return true;
    pdr__free(seat);
    pdr__queue_end(&e->queue, ref);
    return false;
}

void pdr__seat_leave(pdr_engine *e, const pdr_ref *ref, pdr_str key)
{
    void *found = NULL;
    bool has_more = false;

    (void)pdr__map_remove(&found, &e->at_work, key);
    has_more = ((struct pdr__seat *)found)->has_more;
    if (((struct pdr__seat *)found)->has_news)
        pdr__waiters_wake(e, key);
    pdr__free(found);
    pdr__queue_end(&e->queue, ref);
    if (has_more)
        pdr__engine_queue(e, ref);
    e->world->wake(e->world->ctx, &e->quiet);
}

void pdr__seat_set(pdr_engine *e, pdr_task *task)
{
    void *seat = NULL;

    (void)pdr__map_get(&seat, &e->at_work, task->key);
    ((struct pdr__seat *)seat)->task = task;
    task->is_handed_back = e->is_over;
}

pdr_task *pdr__seat_task(const pdr_engine *e, pdr_str key)
{
    void *seat = NULL;

    return pdr__map_get(&seat, &e->at_work, key)
               ? ((struct pdr__seat *)seat)->task
               : NULL;
}

void pdr_engine_counts_get(pdr_engine_counts *out, pdr_engine *e)
{
    (void)pthread_mutex_lock(&e->lock);
    *out = e->counts;
    out->at_work = e->at_work.count;
    out->queued = e->queue.items.count;
    (void)pthread_mutex_unlock(&e->lock);
}

/* --- starting and stopping ------------------------------------------------
 */

pdr_rc pdr_engine_start(pdr_engine *e, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(e != NULL);
    rc = pdr__engine_alive(e, err);
    if (rc != PDR_OK || e->is_started)
        return rc;
    PDR_TRY(pdr_watch_open(&e->watch, e->store, NULL, err));
    (void)pthread_mutex_lock(&e->lock);
    e->is_started = e->has_keeper =
        e->world->start(e->world->ctx, &e->keeper, pdr__keeper_work, e);
    (void)pthread_mutex_unlock(&e->lock);
    if (!e->is_started) {
        pdr_watch_close(e->watch);
        e->watch = NULL;
        rc = PDR_FAIL(err, NO_THREAD, "%s",
                      "the system has no thread for an engine");
    }
done:
    return rc;
}

/* Let all runs know that they go on elsewhere. With the lock held. */
static void runs_hand_back(pdr_engine *e)
{
    PDR_MAP_EACH (entry, &e->at_work) {
        pdr_task *task = ((struct pdr__seat *)entry->value)->task;

        if (task != NULL) {
            task->is_handed_back = true;
            pdr__task_end(task);
        }
    }
}

pdr_rc pdr_engine_stop(pdr_engine *e, pdr_stop how, uint32_t timeout_ms,
                       pdr_err *err)
{
    const struct pdr__world *world = NULL;
    int64_t end_ms = 0;

    PDR_REQUIRE(e != NULL);
    world = e->world;
    end_ms = world->now_ms(world->ctx) + timeout_ms;
    (void)pthread_mutex_lock(&e->lock);
    e->is_stopping = true;
    while (how == PDR_STOP_FINISH && e->at_work.count > 0 && !e->is_dead &&
           world->now_ms(world->ctx) < end_ms)
        world->wait(world->ctx, &e->quiet, &e->lock, end_ms);
    runs_hand_back(e);
    e->is_over = true;
    world->wake(world->ctx, &e->work);
    world->wake(world->ctx, &e->tick);
    pdr__waiters_wake_all(e);
    while (e->at_work.count > 0) {
        if (e->ready != NULL) /* it may be that no worker is left for it */
            pdr__ready_give_back(e);
        else
            world->wait(world->ctx, &e->quiet, &e->lock, PDR_NEVER);
    }
    world->wake(world->ctx, &e->tick);
    world->wake(world->ctx, &e->stream);
    while (e->is_joining) /* a thread is joined once */
        world->wait(world->ctx, &e->quiet, &e->lock, PDR_NEVER);
    e->is_joining = true;
    (void)pthread_mutex_unlock(&e->lock);
    while (e->thread_count > 0)
        world->join(world->ctx, e->threads[--e->thread_count]);
    if (e->has_keeper)
        world->join(world->ctx, e->keeper);
    if (e->has_streamer)
        world->join(world->ctx, e->streamer);
    pdr_watch_close(e->watch);
    e->watch = NULL;
    (void)pthread_mutex_lock(&e->lock);
    e->has_keeper = e->has_streamer = e->is_joining = false;
    world->wake(world->ctx, &e->quiet);
    (void)pthread_mutex_unlock(&e->lock);
    return pdr_engine_check(e, err);
}

void pdr_engine_free(pdr_engine *e)
{
    if (e == NULL)
        return;
    if (e->is_started || e->has_streamer)
        (void)!pdr_engine_stop(e, PDR_STOP_HAND_BACK, 0, NULL);
    pdr__queue_dispose(&e->queue);
    PDR_MAP_EACH (entry, &e->later)
        pdr__free(entry->value);
    pdr__map_dispose(&e->later);
    pdr__figures_dispose(e);
    pdr__map_dispose(&e->at_work);
    pdr__map_dispose(&e->waiters);
    pdr__memo_free(pdr__memo_take_all(e));
    pdr__map_dispose(&e->memos.by_key);
    pdr__free(e->threads);
    (void)pthread_cond_destroy(&e->work);
    (void)pthread_cond_destroy(&e->tick);
    (void)pthread_cond_destroy(&e->stream);
    (void)pthread_cond_destroy(&e->quiet);
    (void)pthread_mutex_destroy(&e->lock);
    pdr__free(e);
}
