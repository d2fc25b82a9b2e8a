/*
 * stream.c - events of runs, on their way to the store.
 *
 *      pdr_task_stream ─► events of the task ─┬─► the next commit of the run
 *                                             └─► or, 20 ms later, one of their
 *                                                 own, with those of all runs
 *
 * WHY  A reader gets to see what is stored, so each piece of an answer has to
 *      be stored soon. A commit for each would cost more than the run. So they
 *      wait for 20 ms, and the thread here hands those of all runs to the store
 *      together, which makes them durable in one go.
 *
 * INVARIANTS
 *   V1  Events of a run are stored in the order in which they came: each commit
 *       of it takes those that wait first.
 *   V2  A session has a commit for events at most every 20 ms, and a run that
 *       says more than that can hold waits for the store.
 *   V3  A run that ends has all its events: those of a commit that was refused
 *       are in the next one, and without memory for them there is none, so that
 *       the run is tried again.
 */
#include "engine.h"

#define STREAM_MS    20
#define STREAM_BYTES ((size_t)1024 * 1024) /* that may wait for a commit */
#define STREAM_TASKS 64                    /* in one group of commits */

void pdr__events_dispose(struct pdr__events *events)
{
    for (size_t i = 0; i < events->count; i++)
        pdr__free((void *)(uintptr_t)events->rows[i].body.ptr);
    pdr__free(events->rows);
    *events = (struct pdr__events){.count = 0};
}

pdr_rc pdr__events_take(struct pdr__events *out, pdr_task *task,
                        const pdr_work *more, size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&task->engine->lock);
    if (task->events.is_torn)
        rc = pdr__nomem(err);
    *out = task->events;
    task->events = (struct pdr__events){.is_torn = out->is_torn};
    (void)pthread_mutex_unlock(&task->engine->lock);
    PDR_TRY(rc);
    PDR_TRY(pdr__grow((void **)&out->rows, &out->cap, out->count + count,
                      sizeof(*out->rows), err));
    for (size_t i = 0; i < count; i++)
        out->rows[out->count + i] = more[i]; /* V1; the caller's own texts */
done:
    return rc;
}

void pdr__events_return(pdr_task *task, struct pdr__events *events)
{
    pdr_engine *e = task->engine;
    struct pdr__events *later = &task->events;

    (void)pthread_mutex_lock(&e->lock);
    if (events->count > 0 && !task->is_lost && !e->is_dead) {
        if (pdr__grow((void **)&events->rows, &events->cap,
                      events->count + later->count, sizeof(*events->rows),
                      NULL) == PDR_OK) {
            for (size_t i = 0; i < later->count; i++)
                events->rows[events->count++] = later->rows[i]; /* V1 */
            events->bytes += later->bytes;
            events->since_ms = e->world->now_ms(e->world->ctx);
            pdr__free(later->rows);
            *later = *events;
            *events = (struct pdr__events){.count = 0};
        } else {
            later->is_torn = true; /* V3 */
        }
    }
    (void)pthread_mutex_unlock(&e->lock);
    pdr__events_dispose(events);
}

/* Commit what waits, on the thread of the run. */
static pdr_rc events_flush(pdr_task *task, pdr_err *err)
{
    const pdr_edit nothing = {.revision = PDR_ANY_REVISION};

    return pdr_task_commit(NULL, task, &nothing, err);
}

pdr_rc pdr_task_stream(pdr_task *task, const char *kind, pdr_str data,
                       pdr_err *err)
{
    pdr_engine *e = task->engine;
    struct pdr__events *events = &task->events;
    char *copy = pdr__strndup(data);
    bool is_full = false;
    pdr_rc rc = PDR_OK;

    if (copy == NULL)
        return pdr__nomem(err);
    (void)pthread_mutex_lock(&e->lock);
    rc = pdr__grow((void **)&events->rows, &events->cap, events->count + 1,
                   sizeof(*events->rows), err);
    if (rc == PDR_OK) {
        if (events->count == 0) {
            events->since_ms = e->world->now_ms(e->world->ctx);
            pdr__streamer_start(e);
        }
        events->rows[events->count++] =
            (pdr_work){.kind = pdr_str_c(kind),
                       .correlation_id = task->info.correlation_id,
                       .body = pdr_str_n(copy, data.len)};
        events->bytes += data.len;
        is_full = events->bytes > STREAM_BYTES; /* V2 */
        copy = NULL;
    }
    (void)pthread_mutex_unlock(&e->lock);
    pdr__free(copy);
    return rc == PDR_OK && is_full ? events_flush(task, err) : rc;
}

/* --- the thread -----------------------------------------------------------
 */

struct streaming {
    pdr_task *task;
    struct pdr__events events; /* owned */
    pdr_edit edit;
};

/* Runs whose events have waited long enough, and whose turn to commit it is;
 * `*next_ms` is when the next one has. With the lock held. */
static size_t streams_find(struct streaming *list, int64_t *next_ms,
                           pdr_engine *e, int64_t now_ms)
{
    size_t count = 0;

    *next_ms = PDR_NEVER;
    PDR_MAP_EACH (entry, &e->at_work) {
        pdr_task *task = ((struct pdr__seat *)entry->value)->task;
        int64_t due_ms = 0;

        if (task == NULL || task->events.count == 0 || task->is_finished ||
            task->is_lost)
            continue;
        due_ms = task->events.since_ms + STREAM_MS;
        if (due_ms > now_ms || task->is_busy || count == STREAM_TASKS) {
            if (due_ms <= now_ms)
                due_ms = now_ms + 1; /* its own commit takes them along */
            *next_ms = due_ms < *next_ms ? due_ms : *next_ms;
            continue;
        }
        task->is_busy = true;
        list[count++] =
            (struct streaming){.task = task, .events = task->events};
        task->events = (struct pdr__events){.is_torn = task->events.is_torn};
    }
    return count;
}

static void streams_commit(struct streaming *list, size_t count, pdr_engine *e)
{
    pdr_request requests[STREAM_TASKS];
    int64_t now_ms = pdr_task_now(list[0].task);

    for (size_t i = 0; i < count; i++) {
        struct streaming *s = &list[i];

        s->edit = (pdr_edit){.ref = s->task->info.session,
                             .revision = PDR_ANY_REVISION,
                             .epoch = s->task->info.epoch,
                             .lease = {.fence = s->task->fence},
                             .stream = s->events.rows,
                             .stream_count = s->events.count};
        requests[i] = (pdr_request){.edits = &s->edit,
                                    .count = 1,
                                    .options = {.now_ms = now_ms},
                                    .err = PDR_ERR_INIT};
    }
    pdr_store_commit_all(e->store, requests, count);
    for (size_t i = 0; i < count; i++) {
        if (requests[i].rc != PDR_OK) {
            pdr__task_note(list[i].task, requests[i].rc, &requests[i].err);
            pdr__events_return(list[i].task, &list[i].events);
        }
        pdr__events_dispose(&list[i].events);
        pdr__task_leave(list[i].task);
    }
}

void *pdr__streamer_work(void *arg)
{
    pdr_engine *e = arg;
    struct streaming list[STREAM_TASKS];

    (void)pthread_mutex_lock(&e->lock);
    while (!pdr__engine_is_quiet(e)) {
        int64_t now_ms = e->world->now_ms(e->world->ctx), next_ms = 0;
        size_t count = streams_find(list, &next_ms, e, now_ms);

        if (count > 0) {
            (void)pthread_mutex_unlock(&e->lock);
            streams_commit(list, count, e);
            (void)pthread_mutex_lock(&e->lock);
        } else {
            e->streams_ms = next_ms;
            e->world->wait(e->world->ctx, &e->stream, &e->lock, next_ms);
            e->streams_ms = 0;
        }
    }
    (void)pthread_mutex_unlock(&e->lock);
    return NULL;
}

void pdr__streamer_start(pdr_engine *e)
{
    if (!e->has_streamer)
        e->has_streamer =
            e->world->start(e->world->ctx, &e->streamer, pdr__streamer_work, e);
    else if (e->streams_ms > e->world->now_ms(e->world->ctx) + STREAM_MS)
        e->world->wake(e->world->ctx, &e->stream); /* else it looks in time */
}
