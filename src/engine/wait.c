/*
 * wait.c - those who wait for the end of an operation.
 *
 * WHY  A caller wants to know at once, and polling a store for every caller
 *      costs more than the runs. What ends in this process wakes those who wait
 *      for the session. What ends in another process is noticed by the keeper,
 *      which looks whether anything was committed and wakes all of them, but
 *      for those who wait for a run that is at work here.
 *
 * INVARIANT  A waiter is in the list before it reads the completion: so an end
 *      is either in what it reads, or wakes it.
 */
#include "engine.h"

/* --- waking ---------------------------------------------------------------
 */

static void waiter_wake(pdr_engine *e, struct pdr__waiter *waiter)
{
    waiter->is_woken = true;
    if (waiter->fn != NULL)
        waiter->fn(waiter->arg);
    else
        e->world->wake(e->world->ctx, &waiter->woken);
}

static void waiters_wake(pdr_engine *e, struct pdr__waiter *waiter)
{
    for (; waiter != NULL; waiter = waiter->next)
        waiter_wake(e, waiter);
}

void pdr__waiters_wake(pdr_engine *e, pdr_str key)
{
    void *first = NULL;

    if (e->waiters.count > 0 && pdr__map_get(&first, &e->waiters, key))
        waiters_wake(e, first);
}

void pdr__waiters_wake_others(pdr_engine *e)
{
    PDR_MAP_EACH (entry, &e->waiters) {
        const pdr_task *task = pdr__seat_task(e, entry->key);
        void *seat = NULL;

        for (struct pdr__waiter *w = entry->value; w != NULL; w = w->next) {
            if (task == NULL || task->is_lost ||
                !pdr_str_equal(task->info.correlation_id, w->correlation_id))
                waiter_wake(e, w);
            else if (pdr__map_get(&seat, &e->at_work, entry->key))
                ((struct pdr__seat *)seat)->has_news = true;
        }
    }
}

void pdr__waiters_wake_all(pdr_engine *e)
{
    PDR_MAP_EACH (entry, &e->waiters)
        waiters_wake(e, entry->value);
}

pdr_rc pdr__waiter_join(pdr_engine *e, struct pdr__waiter *waiter, pdr_str key,
                        pdr_err *err)
{
    void *first = NULL;
    pdr_rc rc = PDR_OK;

    (void)pthread_cond_init(&waiter->woken, NULL);
    (void)pthread_mutex_lock(&e->lock);
    (void)pdr__map_get(&first, &e->waiters, key);
    waiter->next = first;
    rc = pdr__map_put(NULL, &e->waiters, key, waiter, err);
    if (rc == PDR_OK) {
        e->counts.waiting++;
        /* The keeper looks more often while somebody waits. */
        if (e->asleep_ms > e->world->now_ms(e->world->ctx) + PDR_WAIT_POLL_MS)
            e->world->wake(e->world->ctx, &e->tick);
    }
    (void)pthread_mutex_unlock(&e->lock);
    return rc;
}

void pdr__waiter_leave(pdr_engine *e, struct pdr__waiter *waiter, pdr_str key)
{
    struct pdr__waiter *at = NULL;
    void *first = NULL;

    (void)pthread_mutex_lock(&e->lock);
    (void)pdr__map_get(&first, &e->waiters, key);
    if (first == waiter && waiter->next == NULL) {
        (void)pdr__map_remove(NULL, &e->waiters, key);
    } else if (first == waiter) { /* a known key needs no memory */
        (void)!pdr__map_put(NULL, &e->waiters, key, waiter->next, NULL);
    } else {
        for (at = first; at->next != waiter;)
            at = at->next;
        at->next = waiter->next;
    }
    e->counts.waiting--;
    (void)pthread_mutex_unlock(&e->lock);
    (void)pthread_cond_destroy(&waiter->woken);
    pdr_ending_free(waiter->ending);
}

/* --- how it ended ---------------------------------------------------------
 */

struct ending {
    pdr_ending base;
    pdr_page *completion, *entries; /* owned; its texts */
    pdr_buf answer;                 /* owned; of what was not read */
};

void pdr_ending_free(pdr_ending *ending)
{
    struct ending *own = (struct ending *)ending;

    if (own == NULL)
        return;
    pdr_page_free(own->completion);
    pdr_page_free(own->entries);
    pdr_buf_dispose(&own->answer);
    pdr__free(own);
}

pdr_rc pdr__ending_new(pdr_ending **out, pdr_buf *answer, pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    struct ending *own = pdr__calloc(1, sizeof(*own));

    if (own == NULL)
        return pdr__nomem(err);
    own->answer = *answer;
    *answer = none;
    own->base.state = PDR_OPERATION_COMPLETED;
    own->base.outcome = PDR_LIT("{\"state\":\"completed\"}");
    if (own->answer.len > 0)
        own->base.answer = pdr_buf_str(&own->answer);
    *out = &own->base;
    return PDR_OK;
}

/* The last entry of an operation: its answer, once it has one. */
static pdr_rc answer_read(struct ending *own, pdr_engine *e, pdr_query query,
                          pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    query.what = PDR_READ_ENTRIES;
    query.backwards = true;
    rc = pdr_store_read(&own->entries, e->store, &query, &why);
    if (rc == PDR_OK && own->entries->entries[0].kind == PDR_ROW_RESPONSE)
        own->base.answer = own->entries->entries[0].body;
    own->base.is_gone = pdr__err_is(&why, PDR_R_NO_COMPLETION);
    return rc == PDR_OK || own->base.is_gone ? PDR_OK
                                             : pdr__err_pass(err, &why);
}

/* An end that nobody has to read. NULL: no memory. */
static pdr_ending *ending_copy(pdr_operation_state state, pdr_str outcome,
                               pdr_str answer, uint64_t entries)
{
    struct ending *own = pdr__calloc(1, sizeof(*own));

    if (own == NULL)
        return NULL;
    own->answer = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    if (pdr_buf_append(&own->answer, outcome, NULL) != PDR_OK ||
        pdr_buf_append(&own->answer, answer, NULL) != PDR_OK) {
        pdr_ending_free(&own->base);
        return NULL;
    }
    own->base.state = state;
    own->base.entries = entries;
    own->base.outcome = pdr_str_n(own->answer.ptr, outcome.len);
    if (answer.ptr != NULL)
        own->base.answer = pdr_str_n(own->answer.ptr + outcome.len, answer.len);
    return &own->base;
}

void pdr__waiters_tell(pdr_engine *e, pdr_str key, pdr_str correlation_id,
                       pdr_operation_state state, pdr_str outcome,
                       pdr_str answer, uint64_t entries)
{
    struct pdr__waiter *waiter = NULL;
    void *first = NULL;

    if (e->waiters.count > 0 && pdr__map_get(&first, &e->waiters, key))
        waiter = first;
    for (; waiter != NULL; waiter = waiter->next) {
        if (waiter->ending == NULL &&
            pdr_str_equal(waiter->correlation_id, correlation_id))
            waiter->ending = ending_copy(state, outcome, answer, entries);
    }
}

pdr_rc pdr__ending_read(pdr_ending **out, pdr_engine *e, const pdr_ref *session,
                        pdr_str correlation_id, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = *session,
                             .key = correlation_id,
                             .limit = 1};
    struct ending *own = pdr__calloc(1, sizeof(*own));
    pdr_rc rc = PDR_OK;

    if (own == NULL)
        return pdr__nomem(err);
    PDR_TRY(pdr_store_read(&own->completion, e->store, &query, err));
    if (own->completion->completions[0].first_seq != 0)
        PDR_TRY(answer_read(own, e, query, err));
    if (own->base.answer.ptr != NULL &&
        own->completion->completions[0].outcome.ptr == NULL) {
        /* It ended between the two reads, or an import brought it. */
        pdr_page_free(own->completion);
        own->completion = NULL;
        PDR_TRY(pdr_store_read(&own->completion, e->store, &query, err));
    }
    own->base.outcome = own->completion->completions[0].outcome;
    if (own->completion->completions[0].last_seq >=
        own->completion->head.first_seq)
        own->base.entries = own->completion->completions[0].last_seq -
                            own->completion->head.first_seq + 1;
    if (own->base.outcome.ptr != NULL)
        own->base.state = pdr__outcome_state(own->base.outcome);
    else if (own->base.answer.ptr != NULL) /* an import brought it */
        own->base.state = PDR_OPERATION_COMPLETED;
    else
        goto done; /* not yet */
    *out = &own->base;
    own = NULL;
done:
    pdr_ending_free(own != NULL ? &own->base : NULL);
    return rc;
}

/* Is it at work here? Then its end wakes who waits for it, and until then the
 * store has nothing to tell. */
static bool is_at_work(pdr_engine *e, pdr_str key, pdr_str correlation_id)
{
    const pdr_task *task = NULL;
    bool at_work = false;

    (void)pthread_mutex_lock(&e->lock);
    task = pdr__seat_task(e, key);
    at_work = task != NULL && !task->is_lost && !task->is_handed_back &&
              pdr_str_equal(task->info.correlation_id, correlation_id);
    (void)pthread_mutex_unlock(&e->lock);
    return at_work;
}

pdr_rc pdr__waiter_look(pdr_ending **out, pdr_engine *engine,
                        struct pdr__waiter *waiter, const pdr_ref *session,
                        pdr_err *err)
{
    char room[PDR_KEY_BYTES];
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&engine->lock);
    waiter->is_woken = false;
    *out = waiter->ending;
    waiter->ending = NULL;
    (void)pthread_mutex_unlock(&engine->lock);
    if (*out != NULL)
        return PDR_OK;
    if (!is_at_work(engine, pdr__session_key(room, session),
                    waiter->correlation_id))
        PDR_TRY(pdr__ending_read(out, engine, session, waiter->correlation_id,
                                 err));
    if (*out == NULL)
        PDR_TRY(pdr__engine_alive(engine, err));
done:
    return rc;
}

/* Without a keeper nobody hears of other processes: look now and then. */
static int64_t wait_until(const pdr_engine *e, int64_t end_ms)
{
    int64_t soon_ms = e->world->now_ms(e->world->ctx) + PDR_WAIT_POLL_MS;

    return e->has_keeper || end_ms < soon_ms ? end_ms : soon_ms;
}

pdr_rc pdr_engine_wait(pdr_ending **out, pdr_engine *engine,
                       const pdr_ref *session, pdr_str correlation_id,
                       uint32_t timeout_ms, pdr_err *err)
{
    struct pdr__waiter waiter = {.correlation_id = correlation_id};
    char room[PDR_KEY_BYTES], shown[PDR_SHOWN];
    const struct pdr__world *world = NULL;
    int64_t end_ms = 0;
    pdr_str key = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && engine != NULL && session != NULL);
    *out = NULL;
    rc = pdr__engine_ref(session, err);
    if (rc != PDR_OK)
        return rc;
    world = engine->world;
    end_ms = world->now_ms(world->ctx) + timeout_ms;
    key = pdr__session_key(room, session);
    PDR_TRY(pdr__waiter_join(engine, &waiter, key, err));
    for (;;) {
        bool is_late = world->now_ms(world->ctx) >= end_ms;

        /* An end is in the store before it is told: look there at last. */
        if (is_late || !is_at_work(engine, key, correlation_id))
            rc = pdr__ending_read(out, engine, session, correlation_id, err);
        if (rc != PDR_OK || *out != NULL)
            break;
        rc = pdr__engine_alive(engine, err);
        if (rc != PDR_OK)
            break;
        if (is_late) {
            rc = PDR_FAIL(err, RESPONSE_TIMEOUT,
                          "'%s' has not ended after %u ms; it goes on, wait "
                          "for it again",
                          pdr__shown(shown, correlation_id), timeout_ms);
            break;
        }
        (void)pthread_mutex_lock(&engine->lock);
        if (!waiter.is_woken)
            world->wait(world->ctx, &waiter.woken, &engine->lock,
                        wait_until(engine, end_ms));
        waiter.is_woken = false;
        *out = waiter.ending;
        waiter.ending = NULL;
        (void)pthread_mutex_unlock(&engine->lock);
        if (*out != NULL)
            break;
    }
    pdr__waiter_leave(engine, &waiter, key);
done:
    return rc;
}
