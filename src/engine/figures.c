/*
 * figures.c - what each tenant has done here since the engine was made.
 *
 * WHY  Whoever looks after one tenant must not learn from figures how busy
 *      another one is. pdr_engine_counts is for whoever looks after the
 * process.
 *
 * A record that there is no memory for is left out: figures are for people.
 * There are as many as tenants, and they stay until the engine goes.
 */
#include "engine.h"

static struct pdr__figures *figures_find(const pdr_engine *e, pdr_str tenant)
{
    void *found = NULL;

    return pdr__map_get(&found, &e->figures, tenant) ? found : NULL;
}

/* With the lock held; NULL: no memory. */
static struct pdr__figures *figures_make(pdr_engine *e, const pdr_ref *session)
{
    const pdr_str tenant = session->tenant.ptr != NULL
                               ? session->tenant
                               : PDR_LIT(PDR_DEFAULT_TENANT);
    struct pdr__figures *f = figures_find(e, tenant);

    if (f != NULL)
        return f;
    f = pdr__calloc(1, sizeof(*f));
    if (f != NULL &&
        pdr__map_put(NULL, &e->figures, tenant, f, NULL) != PDR_OK) {
        pdr__free(f);
        f = NULL;
    }
    return f;
}

void pdr__figures_ended(pdr_engine *e, const pdr_ref *session,
                        pdr_operation_state state)
{
    struct pdr__figures *f = figures_make(e, session);

    e->counts.completed += state == PDR_OPERATION_COMPLETED;
    e->counts.failed += state == PDR_OPERATION_FAILED;
    e->counts.cancelled += state == PDR_OPERATION_CANCELLED;
    if (f == NULL)
        return;
    f->completed += state == PDR_OPERATION_COMPLETED;
    f->failed += state == PDR_OPERATION_FAILED;
    f->cancelled += state == PDR_OPERATION_CANCELLED;
}

void pdr__figures_taken_over(pdr_engine *e, const pdr_ref *session)
{
    struct pdr__figures *f = figures_make(e, session);

    e->counts.taken_over++;
    if (f != NULL)
        f->taken_over++;
}

void pdr__task_tokens(pdr_task *task, uint64_t input, uint64_t output,
                      uint64_t total)
{
    pdr_engine *e = task->engine;
    struct pdr__figures *f = NULL;

    (void)pthread_mutex_lock(&e->lock);
    f = figures_make(e, &task->info.session);
    if (f != NULL) {
        f->input_tokens += input;
        f->output_tokens += output;
        f->total_tokens += total;
    }
    (void)pthread_mutex_unlock(&e->lock);
}

void pdr__figures_get(struct pdr__figures *out, pdr_engine *e, pdr_str tenant)
{
    const struct pdr__figures *f = NULL;
    void *queue = NULL;

    memset(out, 0, sizeof(*out));
    (void)pthread_mutex_lock(&e->lock);
    f = figures_find(e, tenant);
    if (f != NULL)
        *out = *f;
    if (pdr__map_get(&queue, &e->queue.tenants, tenant)) {
        out->at_work = ((const struct pdr__tenant *)queue)->at_work;
        out->queued = ((const struct pdr__tenant *)queue)->count;
    }
    (void)pthread_mutex_unlock(&e->lock);
}

void pdr__figures_dispose(pdr_engine *e)
{
    PDR_MAP_EACH (entry, &e->figures)
        pdr__free(entry->value);
    pdr__map_dispose(&e->figures);
}
