/*
 * client.c - what every client has: holders, checks, and a way to end a run.
 */
#include <time.h>

#include "agent.h"

/* --- clients ---------------------------------------------------------------
 */

pdr_rc pdr_client_init(pdr_client *client, const pdr_client_ops *ops,
                       pdr_err *err)
{
    PDR_REQUIRE(client != NULL && ops != NULL);
    if (ops->version == 0 || ops->version > PDR_CLIENT_OPS_VERSION)
        return PDR_FAIL(err, TABLE_VERSION,
                        "the client '%s' has a table of version %u, this "
                        "library knows %d",
                        ops->name != NULL ? ops->name : "?", ops->version,
                        PDR_CLIENT_OPS_VERSION);
    if (ops->name == NULL || ops->send == NULL || ops->free == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "a client needs a name, send and free");
    client->ops = ops;
    client->holders = 1;
    return PDR_OK;
}

pdr_client *pdr_client_ref(const pdr_client *client)
{
    pdr_client *out = (pdr_client *)(uintptr_t)client;

    if (out != NULL)
        __atomic_add_fetch(&out->holders, 1, __ATOMIC_RELAXED);
    return out;
}

void pdr_client_free(pdr_client *client)
{
    if (client != NULL &&
        __atomic_sub_fetch(&client->holders, 1, __ATOMIC_ACQ_REL) == 0)
        client->ops->free(client);
}

pdr_rc pdr_client_send(pdr_client *client, const pdr_client_request *request,
                       pdr_err *err, pdr_update_fn fn, void *arg)
{
    PDR_REQUIRE(client != NULL && request != NULL && fn != NULL);
    if (pdr_cancel_is_set(request->cancel))
        return PDR_FAIL(err, RUN_CANCELLED, "%s", "the run was cancelled");
    return client->ops->send(client, request, err, fn, arg);
}

/* --- cancelling ------------------------------------------------------------
 */

static int64_t monotonic_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pdr__cancel_init(pdr_cancel *cancel, pdr_cancel *parent,
                      uint32_t timeout_ms)
{
    pthread_condattr_t attributes;

    *cancel = (pdr_cancel){.parent = parent};
    if (timeout_ms > 0)
        cancel->until_ms = monotonic_ms() + timeout_ms;
    (void)pthread_mutex_init(&cancel->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&cancel->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void pdr__cancel_dispose(pdr_cancel *cancel)
{
    pthread_cond_destroy(&cancel->changed);
    pthread_mutex_destroy(&cancel->lock);
}

pdr_rc pdr_cancel_new(pdr_cancel **out, pdr_err *err)
{
    pdr_cancel *cancel = NULL;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    cancel = pdr__calloc(1, sizeof(*cancel));
    if (cancel == NULL)
        return pdr__nomem(err);
    pdr__cancel_init(cancel, NULL, 0);
    *out = cancel;
    return PDR_OK;
}

void pdr_cancel_set(pdr_cancel *cancel)
{
    pthread_mutex_lock(&cancel->lock);
    cancel->is_set = true;
    pthread_cond_broadcast(&cancel->changed);
    for (const struct pdr__cancel_watch *w = cancel->watch; w != NULL;
         w = w->next)
        w->wake(w->arg);
    pthread_mutex_unlock(&cancel->lock);
}

int64_t pdr__cancel_left_ms(const pdr_cancel *cancel, int64_t most)
{
    int64_t now = monotonic_ms();

    for (; cancel != NULL; cancel = cancel->parent) {
        if (cancel->until_ms != 0 && cancel->until_ms - now < most)
            most = cancel->until_ms - now;
    }
    return most > 0 ? most : 0;
}

/* What a run is cancelled with: the caller's, behind those with a deadline. A
 * tool may run another agent with what it was given, so there may be many. */
static pdr_cancel *first_of(pdr_cancel *cancel)
{
    while (cancel != NULL && cancel->parent != NULL)
        cancel = cancel->parent;
    return cancel;
}

void pdr__cancel_watch(pdr_cancel *cancel, struct pdr__cancel_watch *watch)
{
    cancel = first_of(cancel);
    if (cancel == NULL)
        return;
    pthread_mutex_lock(&cancel->lock);
    watch->next = cancel->watch;
    cancel->watch = watch;
    pthread_mutex_unlock(&cancel->lock);
}

void pdr__cancel_unwatch(pdr_cancel *cancel, struct pdr__cancel_watch *watch)
{
    struct pdr__cancel_watch **at = NULL;

    cancel = first_of(cancel);
    if (cancel == NULL)
        return;
    pthread_mutex_lock(&cancel->lock);
    for (at = &cancel->watch; *at != watch; at = &(*at)->next)
        ;
    *at = watch->next;
    pthread_mutex_unlock(&cancel->lock);
}

bool pdr_cancel_is_set(const pdr_cancel *cancel)
{
    pdr_cancel *c = (pdr_cancel *)(uintptr_t)cancel;
    bool is_set = false;

    if (c == NULL)
        return false;
    if (c->until_ms != 0 && monotonic_ms() >= c->until_ms)
        return true;
    if (c->parent != NULL)
        return pdr_cancel_is_set(c->parent);
    pthread_mutex_lock(&c->lock);
    is_set = c->is_set;
    pthread_mutex_unlock(&c->lock);
    return is_set;
}

/* Wait for the caller's own cancel, or until the time is up. */
static void wait_until(pdr_cancel *cancel, int64_t until_ms)
{
    const struct timespec until = {until_ms / 1000,
                                   (long)(until_ms % 1000) * 1000000};
    int code = 0;

    pthread_mutex_lock(&cancel->lock);
    while (!cancel->is_set && code == 0)
        code = pthread_cond_timedwait(&cancel->changed, &cancel->lock, &until);
    pthread_mutex_unlock(&cancel->lock);
}

bool pdr_cancel_wait(pdr_cancel *cancel, uint32_t timeout_ms)
{
    const struct timespec pause = {timeout_ms / 1000,
                                   (long)(timeout_ms % 1000) * 1000000};

    if (cancel == NULL) {
        (void)nanosleep(&pause, NULL);
        return false;
    }
    /* The clock's millisecond has begun already: to the end of the last. */
    wait_until(first_of(cancel),
               monotonic_ms() + 1 + pdr__cancel_left_ms(cancel, timeout_ms));
    return pdr_cancel_is_set(cancel);
}

void pdr_cancel_free(pdr_cancel *cancel)
{
    if (cancel == NULL)
        return;
    pdr__cancel_dispose(cancel);
    pdr__free(cancel);
}
