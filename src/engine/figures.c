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

/* --- how runs ended --------------------------------------------------------
 */

/* "NAME" of "@NAME@KEY"; "" of any other id. */
static pdr_str entity_of(pdr_str id)
{
    const char *end = id.len > 1 && id.ptr[0] == '@'
                          ? memchr(id.ptr + 1, '@', id.len - 1)
                          : NULL;

    return end != NULL ? pdr_str_n(id.ptr + 1, (size_t)(end - id.ptr) - 1)
                       : PDR_LIT("");
}

static void endings_count(pdr_engine *e, const pdr_ref *session,
                          pdr_operation_state state)
{
    struct pdr__endings *endings = NULL;
    void *found = NULL;

    if (!pdr__map_get(&found, &e->endings, entity_of(session->id)) &&
        !pdr__map_get(&found, &e->endings, PDR_LIT("")))
        return;
    endings = found;
    endings->by_state[0] += state == PDR_OPERATION_COMPLETED;
    endings->by_state[1] += state == PDR_OPERATION_FAILED;
    endings->by_state[2] += state == PDR_OPERATION_CANCELLED;
}

pdr_rc pdr__endings_follow(pdr_engine *e, pdr_str name, pdr_err *err)
{
    struct pdr__endings *made = pdr__calloc(1, sizeof(*made));
    const pdr_str key = name.ptr != NULL ? name : PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (made == NULL)
        return pdr__nomem(err);
    (void)pthread_mutex_lock(&e->lock);
    if (!pdr__map_get(NULL, &e->endings, key)) {
        rc = pdr__map_put(NULL, &e->endings, key, made, err);
        if (rc == PDR_OK)
            made = NULL;
    }
    (void)pthread_mutex_unlock(&e->lock);
    pdr__free(made);
    return rc;
}

void pdr__endings_get(struct pdr__endings *out, pdr_engine *e, pdr_str name)
{
    void *found = NULL;

    memset(out, 0, sizeof(*out));
    (void)pthread_mutex_lock(&e->lock);
    if (pdr__map_get(&found, &e->endings,
                     name.ptr != NULL ? name : PDR_LIT("")))
        *out = *(const struct pdr__endings *)found;
    (void)pthread_mutex_unlock(&e->lock);
}

/* --- tenants ---------------------------------------------------------------
 */

void pdr__figures_ended(pdr_engine *e, const pdr_ref *session,
                        pdr_operation_state state)
{
    struct pdr__figures *f = figures_make(e, session);

    e->counts.completed += state == PDR_OPERATION_COMPLETED;
    e->counts.failed += state == PDR_OPERATION_FAILED;
    e->counts.cancelled += state == PDR_OPERATION_CANCELLED;
    endings_count(e, session, state);
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
    PDR_MAP_EACH (entry, &e->endings)
        pdr__free(entry->value);
    pdr__map_dispose(&e->endings);
}
