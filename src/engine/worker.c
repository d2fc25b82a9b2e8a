/*
 * worker.c - a thread that carries out one run after the other.
 */
#include "engine.h"

#define LATER_MS  1000  /* before a session of others is tried again */
#define MAX_LATER 10000 /* sessions that are remembered for that */

/* Not to be claimed for a while: somebody else has it, or it failed. With the
 * lock held; without memory it is tried too early. */
static void session_defer(pdr_engine *e, pdr_str key)
{
    int64_t *when = NULL;
    void *old = NULL;

    if (e->later.count >= MAX_LATER)
        return;
    when = pdr__alloc(sizeof(*when));
    if (when == NULL)
        return;
    *when = pdr__engine_time(e) + LATER_MS;
    if (pdr__map_put(&old, &e->later, key, when, NULL) != PDR_OK)
        old = when;
    pdr__free(old);
}

/* The task is over. Keeper and streamer may be at a commit for it, and look at
 * it when that is done. With the lock held. */
static void task_dismiss(pdr_engine *e, pdr_task *task)
{
    while (task->is_busy)
        e->world->wait(e->world->ctx, &task->turn, &e->lock, PDR_NEVER);
    if (!task->is_finished)
        pdr__seat_leave(e, &task->info.session, task->key);
    pdr__task_free(task);
}

/* Carry out a task, to whatever end. */
static void task_run(pdr_engine *e, pdr_task *task)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    pdr__engine_event(e, PDR_LOG_INFO,
                      task->is_takeover ? "run_taken_over" : "run_claimed",
                      &task->info.session, task->info.correlation_id, NULL);
    rc = task->kind->ops->run(task, &why, task->kind->self);
    pdr__task_settle(task, rc, &why);
    (void)pthread_mutex_lock(&e->lock);
    task_dismiss(e, task);
    (void)pthread_mutex_unlock(&e->lock);
}

void pdr__ready_give_back(pdr_engine *e)
{
    pdr_task *task = e->ready;

    e->ready = task->next;
    (void)pthread_mutex_unlock(&e->lock);
    pdr__task_settle(task, PDR_OK, NULL);
    (void)pthread_mutex_lock(&e->lock);
    task_dismiss(e, task);
}

/* Claim what is due in a session that was taken from the queue, and run it. */
static void item_run(pdr_engine *e, struct pdr__item *item)
{
    const struct pdr__kind *kind = pdr__engine_kind(e, item->ref.id);
    pdr_err why = PDR_ERR_INIT;
    struct pdr__memo *kept = NULL;
    pdr_task *task = NULL;
    pdr_rc rc = PDR_OK;
    bool can_run = kind != NULL && kind->ops->can_run(&item->ref, kind->self);

    (void)pthread_mutex_lock(&e->lock);
    if (can_run)
        kept = pdr__memo_take(e, item->key);
    (void)pthread_mutex_unlock(&e->lock);
    if (can_run)
        rc = pdr__claim_due(&task, e, &item->ref, kept, &why);
    (void)pdr__engine_failed(e, rc, &why);
    if (rc != PDR_OK && rc != PDR_EBUSY && rc != PDR_ECONFLICT &&
        rc != PDR_ENOTFOUND && rc != PDR_EUNKNOWN)
        pdr__engine_event(e, PDR_LOG_ERROR, "claim_failed", &item->ref,
                          pdr_str_n(NULL, 0), &why);
    (void)pthread_mutex_lock(&e->lock);
    if (task != NULL) {
        pdr__seat_set(e, task);
    } else {
        if (rc == PDR_ECONFLICT) /* somebody was faster */
            pdr__engine_queue(e, &item->ref);
        pdr__seat_leave(e, &item->ref, item->key);
        if (!can_run || (rc != PDR_OK && rc != PDR_ECONFLICT))
            session_defer(e, item->key);
    }
    (void)pthread_mutex_unlock(&e->lock);
    if (task != NULL)
        task_run(e, task);
}

/* What to do next: a task that was claimed when it was sent, or a session of
 * the queue. With the lock held. */
static bool work_take(pdr_task **task, struct pdr__item **item, pdr_engine *e)
{
    *task = e->ready;
    *item = NULL;
    if (*task != NULL) {
        e->ready = (*task)->next;
        return true;
    }
    if (e->is_dead || e->is_stopping)
        return false;
    *item = pdr__queue_take(&e->queue);
    if (*item == NULL)
        return false;
    if (pdr__seat_take(e, &(*item)->ref, (*item)->key))
        return true;
    pdr__free(*item); /* without memory it is found again in the due list */
    *item = NULL;
    return false;
}

void *pdr__worker_work(void *arg)
{
    pdr_engine *e = arg;
    struct pdr__item *item = NULL;
    pdr_task *task = NULL;

    (void)pthread_mutex_lock(&e->lock);
    for (;;) {
        if (work_take(&task, &item, e)) {
            if (e->ready != NULL || e->queue.items.count > 0)
                pdr__engine_rouse(e); /* one rouses the next */
            (void)pthread_mutex_unlock(&e->lock);
            if (task != NULL)
                task_run(e, task);
            else
                item_run(e, item);
            pdr__free(item);
            (void)pthread_mutex_lock(&e->lock);
            continue;
        }
        if (e->is_over || e->is_dead)
            break;
        e->idle++;
        e->world->wait(e->world->ctx, &e->work, &e->lock, PDR_NEVER);
        e->idle--;
    }
    (void)pthread_mutex_unlock(&e->lock);
    return NULL;
}
