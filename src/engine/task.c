/*
 * task.c - a run at work: its commits, and how it ends.
 *
 *      claimed ─► at work ─┬─► finished: effect, outcome, lease in one commit
 *                          ├─► handed back: another worker goes on at once
 *                          ├─► failed for now: tried again after a while
 *                          └─► lost: somebody else has the lease
 *
 * INVARIANTS
 *   T1  Every commit for a task carries its fence, so that a worker that slept
 *       through its lease changes nothing.
 *   T2  Those who commit for a task, its worker and the keeper that renews the
 *       lease, take turns: both move the guard row.
 *   T3  As long as a run is not finished its session has a guard row in the
 *       inbox, which comes due when the lease lapses. So whatever happens to
 *       this process, somebody finds the run.
 */
#include "engine.h"

#define RETRY_MS 1000    /* before a run that failed for now is tried again */
#define MAX_TOLD 0x10000 /* bytes of an answer that are copied, not read */

const pdr_task_info *pdr_task_info_get(const pdr_task *task)
{
    return &task->info;
}

int64_t pdr_task_now(pdr_task *task)
{
    pdr_engine *e = task->engine;
    int64_t now_ms = 0;

    if (pdr__engine_now(&now_ms, e, NULL) == PDR_OK)
        return now_ms;
    (void)pthread_mutex_lock(&e->lock);
    now_ms = pdr__engine_time(e);
    (void)pthread_mutex_unlock(&e->lock);
    return now_ms;
}

void pdr__task_free(pdr_task *task)
{
    if (task == NULL)
        return;
    (void)pthread_cond_destroy(&task->turn);
    pdr__events_dispose(&task->events);
    pdr__arena_dispose(&task->memory);
    pdr__free(task);
}

/* --- being told to end ----------------------------------------------------
 */

/* With the lock held. */
static pdr_task_end task_ends(const pdr_task *task)
{
    if (task->is_lost || task->engine->is_dead)
        return PDR_TASK_LOST;
    if (task->is_cancelled)
        return PDR_TASK_CANCELLED;
    return task->is_handed_back ? PDR_TASK_HANDED_BACK : PDR_TASK_GOES_ON;
}

void pdr__task_end(pdr_task *task)
{
    if (task->on_end != NULL)
        task->on_end(task_ends(task), task->on_end_arg);
}

void pdr__task_lose(pdr_task *task)
{
    task->is_lost = true;
    pdr__task_end(task);
    pdr__waiters_wake(task->engine, task->key); /* it may end elsewhere */
}

pdr_task_end pdr_task_ends(pdr_task *task)
{
    pdr_task_end end = PDR_TASK_GOES_ON;

    (void)pthread_mutex_lock(&task->engine->lock);
    end = task_ends(task);
    (void)pthread_mutex_unlock(&task->engine->lock);
    return end;
}

void pdr_task_on_end(pdr_task *task, pdr_task_end_fn fn, void *arg)
{
    (void)pthread_mutex_lock(&task->engine->lock);
    task->on_end = fn;
    task->on_end_arg = arg;
    if (task_ends(task) != PDR_TASK_GOES_ON)
        pdr__task_end(task);
    (void)pthread_mutex_unlock(&task->engine->lock);
}

/* --- commits --------------------------------------------------------------
 */

pdr_rc pdr__task_enter(pdr_task *task, pdr_err *err)
{
    pdr_engine *e = task->engine;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&e->lock);
    while (task->is_busy) /* T2 */
        e->world->wait(e->world->ctx, &task->turn, &e->lock, PDR_NEVER);
    if (e->is_dead)
        rc = pdr__err_pass(err, &e->why);
    else if (task->is_lost)
        rc = PDR_FAIL(err, LEASE_LOST,
                      "session '%s': another worker has taken over",
                      pdr__shown(shown, task->info.session.id));
    task->is_busy = rc == PDR_OK;
    (void)pthread_mutex_unlock(&e->lock);
    return rc;
}

void pdr__task_leave(pdr_task *task)
{
    pdr_engine *e = task->engine;

    (void)pthread_mutex_lock(&e->lock);
    task->is_busy = false;
    e->world->wake(e->world->ctx, &task->turn);
    (void)pthread_mutex_unlock(&e->lock);
}

/* What a commit that has this code means for the task. */
void pdr__task_note(pdr_task *task, pdr_rc rc, const pdr_err *why)
{
    pdr_engine *e = task->engine;

    if (rc == PDR_EFENCED || rc == PDR_ENOTFOUND ||
        pdr__err_is(why, PDR_R_EPOCH_CHANGED)) {
        (void)pthread_mutex_lock(&e->lock);
        pdr__task_lose(task);
        (void)pthread_mutex_unlock(&e->lock);
    }
    (void)pdr__engine_failed(e, rc, why);
}

/* One commit of the task, whose turn it is. */
static pdr_rc task_write(pdr_committed *out, pdr_task *task, pdr_edit *edit,
                         pdr_err *err)
{
    pdr_commit_options options = {.now_ms = 0};
    pdr_committed done = {.revision = 0};
    struct pdr__events events = {.count = 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__events_take(&events, task, edit->stream, edit->stream_count,
                             &why));
    edit->stream = events.rows;
    edit->stream_count += events.count;
    edit->ref = task->info.session;
    edit->epoch = task->info.epoch;
    edit->lease.fence = task->fence; /* T1 */
    PDR_TRY(pdr__engine_now(&options.now_ms, task->engine, &why));
    PDR_TRY(
        pdr_store_commit(&done, task->engine->store, edit, 1, &options, &why));
    if (edit->journal_count > 0)
        task->journal_last = done.journal_n + edit->journal_count - 1;
    if (out != NULL)
        *out = done;
done:
    if (rc != PDR_OK) {
        pdr__task_note(task, rc, &why);
        pdr__events_return(task, &events);
        (void)pdr__err_pass(err, &why);
    }
    pdr__events_dispose(&events);
    return rc;
}

pdr_rc pdr_task_commit(pdr_committed *out, pdr_task *task, const pdr_edit *edit,
                       pdr_err *err)
{
    pdr_edit own;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(task != NULL && edit != NULL);
    own = *edit;
    rc = pdr__task_enter(task, err);
    if (rc != PDR_OK)
        return rc;
    rc = task_write(out, task, &own, err);
    pdr__task_leave(task);
    return rc;
}

/* Let those who wait know how it ended, as they would read it. With the lock
 * held. */
static void task_tell(pdr_task *task, const pdr_edit *edit,
                      pdr_operation_state state, const pdr_head *head)
{
    const pdr_entry *last =
        edit->entry_count > 0 ? &edit->entries[edit->entry_count - 1] : NULL;

    if (last != NULL && last->kind == PDR_ROW_RESPONSE &&
        last->body.len <= MAX_TOLD &&
        pdr_str_equal(last->correlation_id, task->info.correlation_id))
        pdr__waiters_tell(task->engine, task->key, last->correlation_id, state,
                          edit->completions[0].outcome, last->body,
                          head->next_seq - head->first_seq);
}

/* The run is over as far as the store is concerned. */
static void task_finished(pdr_task *task, const pdr_edit *edit,
                          pdr_operation_state state, const pdr_committed *done)
{
    pdr_engine *e = task->engine;

    (void)pthread_mutex_lock(&e->lock);
    task_tell(task, edit, state, &done->head);
    task->is_finished = true;
    task->has_more = done->inbox > 0; /* perhaps from another process */
    pdr__figures_ended(e, &task->info.session, state);
    (void)pthread_mutex_unlock(&e->lock);
}

/* The session is at rest, and what is kept of it in its place, before those who
 * wait are woken: one that sends the next operation then finds it so, and can
 * claim it at once. */
static void task_leave(pdr_task *task, struct pdr__memo *kept)
{
    pdr_engine *e = task->engine;

    (void)pthread_mutex_lock(&e->lock);
    if (kept != NULL)
        kept = pdr__memo_put(e, kept);
    task->is_left = true;
    pdr__seat_leave(e, &task->info.session, task->key);
    if (task->has_more)
        pdr__engine_queue(e, &task->info.session);
    pdr__waiters_wake(e, task->key);
    (void)pthread_mutex_unlock(&e->lock);
    pdr__memo_free(kept);
}

void *pdr_task_take_kept(pdr_task *task)
{
    void *memo = task->kept != NULL ? task->kept->value : NULL;

    if (memo != NULL)
        task->kept->value = NULL;
    return memo;
}

void pdr_task_keep(pdr_task *task, void *memo, const pdr_head *head,
                   size_t bytes)
{
    struct pdr__memo *kept = pdr__memo_new(task, memo, head, bytes);

    assert(task->is_finished && !task->is_left);
    if (kept == NULL)
        task->kind->ops->forget(memo, task->kind->self);
    task_leave(task, kept);
}

pdr_rc pdr_task_finish(pdr_committed *out, pdr_task *task, const pdr_edit *edit,
                       pdr_operation_state state, pdr_str more, pdr_err *err)
{
    pdr_buf outcome = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_completion row = {.correlation_id = {NULL, 0}};
    pdr_committed done = {.revision = 0};
    pdr_edit own;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(task != NULL && edit != NULL && state != PDR_OPERATION_OPEN);
    own = *edit;
    rc = pdr__task_enter(task, err);
    if (rc != PDR_OK)
        return rc;
    PDR_TRY(pdr__outcome_write(&outcome, state, more, err));
    row.correlation_id = task->info.correlation_id;
    row.outcome = pdr_buf_str(&outcome);
    own.completions = &row;
    own.completion_count = 1;
    own.settle = &task->guard;
    own.settle_count = 1;
    own.journal_through = task->journal_last;
    own.lease.verb = PDR_LEASE_RELEASE;
    if (!own.set_state) {
        own.set_state = true;
        own.state = PDR_SESSION_IDLE;
    }
    PDR_TRY(task_write(&done, task, &own, err));
    task_finished(task, &own, state, &done);
    if (out != NULL)
        *out = done;
done:
    pdr__task_leave(task);
    pdr_buf_dispose(&outcome);
    return rc;
}

/* --- what was not finished ------------------------------------------------
 */

/* Give the session back: the guard comes due at `due_ms`. */
static void task_give_back(pdr_task *task, int64_t due_ms, bool was_ours)
{
    const pdr_work guard = {.due_ms = due_ms,
                            .kind = PDR_LIT(PDR_WORK_GUARD),
                            .correlation_id = task->info.correlation_id,
                            .body = was_ours ? PDR_LIT("{\"handed_back\":true}")
                                             : PDR_LIT("{}")};
    pdr_edit edit = {.revision = PDR_ANY_REVISION,
                     .lease = {.verb = PDR_LEASE_RELEASE},
                     .settle = &task->guard,
                     .settle_count = 1,
                     .inbox = &guard,
                     .inbox_count = 1};

    if (pdr__task_enter(task, NULL) != PDR_OK)
        return;
    /* If it cannot be written, the lease lapses, and the old guard is due. */
    (void)!task_write(NULL, task, &edit, NULL);
    pdr__task_leave(task);
}

void pdr__task_settle(pdr_task *task, pdr_rc rc, const pdr_err *why)
{
    pdr_engine *e = task->engine;
    const char *event = NULL;
    bool handed_back = false, lost = false, over = false;

    if (task->is_finished && !task->is_left)
        task_leave(task, NULL);
    pdr__memo_free(task->kept);
    task->kept = NULL;
    (void)pthread_mutex_lock(&e->lock);
    task->on_end = NULL;
    over = task->is_finished || e->is_dead;
    lost = task->is_lost;
    handed_back = task->is_handed_back;
    if (!over) {
        e->counts.lost += lost;
        e->counts.handed_back += handed_back && !lost;
        e->counts.retried += !handed_back && !lost;
        event = lost          ? "run_lost"
                : handed_back ? "run_handed_back"
                              : "run_retried";
    }
    (void)pthread_mutex_unlock(&e->lock);
    if (over)
        return;
    pdr__engine_event(e, PDR_LOG_WARNING, event, &task->info.session,
                      task->info.correlation_id, rc != PDR_OK ? why : NULL);
    if (!lost)
        task_give_back(task, pdr_task_now(task) + (handed_back ? 0 : RETRY_MS),
                       handed_back);
}
