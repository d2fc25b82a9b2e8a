/*
 * queue.c - which session a worker takes next.
 *
 * WHY  One tenant with ten thousand operations must not keep another waiting
 *      for its single one. So each tenant has a queue of its own, and they take
 *      turns. A queue holds sessions, not operations: a session has one worker
 *      at a time, which finds its operations in the store.
 *
 *      ring of tenants   a: s1 s2 s3 ...    b: s9    c: s4 s5
 *                        ▲ whose turn it is
 *
 * INVARIANTS
 *   Q1  A session is queued once. What is queued is only a hint: the store
 *       knows what is due, so what does not fit here is not lost.
 *   Q2  A tenant is in the ring as long as it has sessions queued or at work.
 *   Q3  A session whose tenant or agent has as many runs as it may have is
 *       passed over and keeps its place.
 */
#include "engine.h"

#include "store.h"

#define MAX_QUEUED 1000 /* sessions of a tenant: the due list has the rest */
#define MAX_PASSED 64   /* sessions of busy agents that are passed over */

pdr_str pdr__session_key(char *room, const pdr_ref *ref)
{
    pdr_str tenant =
        ref->tenant.ptr != NULL ? ref->tenant : PDR_LIT(PDR_DEFAULT_TENANT);

    memcpy(room, tenant.ptr, tenant.len);
    room[tenant.len] = '\0';
    memcpy(room + tenant.len + 1, ref->id.ptr, ref->id.len);
    return pdr_str_n(room, tenant.len + 1 + ref->id.len);
}

static pdr_str tenant_of(const pdr_ref *ref)
{
    return ref->tenant.ptr != NULL ? ref->tenant : PDR_LIT(PDR_DEFAULT_TENANT);
}

/* --- tenants --------------------------------------------------------------
 */

static struct pdr__tenant *tenant_find(const struct pdr__queue *q,
                                       const pdr_ref *ref)
{
    void *found = NULL;

    return pdr__map_get(&found, &q->tenants, tenant_of(ref)) ? found : NULL;
}

/* The tenant, in the ring from now on; NULL: no memory. */
static struct pdr__tenant *tenant_make(struct pdr__queue *q, const pdr_ref *ref)
{
    struct pdr__tenant *t = tenant_find(q, ref);
    pdr_str name = tenant_of(ref);

    if (t != NULL)
        return t;
    t = pdr__calloc(1, sizeof(*t) + name.len + 1);
    if (t == NULL)
        return NULL;
    memcpy(t + 1, name.ptr, name.len);
    t->name = pdr_str_n((char *)(t + 1), name.len);
    if (pdr__map_put(NULL, &q->tenants, t->name, t, NULL) != PDR_OK) {
        pdr__free(t);
        return NULL;
    }
    if (q->turn == NULL) {
        q->turn = t->next = t->before = t;
    } else { /* its turn is after all others' */
        t->next = q->turn;
        t->before = q->turn->before;
        t->before->next = t->next->before = t;
    }
    return t;
}

/* Leave the ring if nothing is left of it (Q2). */
static void tenant_drop(struct pdr__queue *q, struct pdr__tenant *t)
{
    if (t->count > 0 || t->at_work > 0)
        return;
    if (q->turn == t)
        q->turn = t->next != t ? t->next : NULL;
    t->before->next = t->next;
    t->next->before = t->before;
    (void)pdr__map_remove(NULL, &q->tenants, t->name);
    pdr__free(t);
}

/* --- agents ---------------------------------------------------------------
 */

/* How many runs of an agent are at work: counted under "tenant NUL agent". */
static pdr_str agent_key(char room[PDR_KEY_BYTES], const pdr_ref *ref)
{
    const pdr_ref agent = {ref->tenant, pdr__durable_agent(ref->id)};

    return agent.id.ptr != NULL ? pdr__session_key(room, &agent)
                                : pdr_str_n(NULL, 0);
}

static size_t agent_count(const struct pdr__queue *q, const pdr_ref *ref)
{
    char room[PDR_KEY_BYTES];
    pdr_str key = agent_key(room, ref);
    void *count = NULL;

    if (key.ptr != NULL)
        (void)pdr__map_get(&count, &q->agents, key);
    return (size_t)(uintptr_t)count;
}

/* --- at work --------------------------------------------------------------
 */

bool pdr__queue_admits(const struct pdr__queue *q, const pdr_ref *ref)
{
    const struct pdr__tenant *t = tenant_find(q, ref);

    return (q->most_per_tenant == 0 || t == NULL ||
            t->at_work < q->most_per_tenant) &&
           (q->most_per_agent == 0 || agent_count(q, ref) < q->most_per_agent);
}

pdr_rc pdr__queue_begin(struct pdr__queue *q, const pdr_ref *ref, pdr_err *err)
{
    struct pdr__tenant *t = tenant_make(q, ref);
    char room[PDR_KEY_BYTES];
    pdr_str key = agent_key(room, ref);
    pdr_rc rc = PDR_OK;

    if (t == NULL)
        return pdr__nomem(err);
    if (q->most_per_agent > 0 && key.ptr != NULL)
        PDR_TRY(pdr__map_put(NULL, &q->agents, key,
                             (void *)(uintptr_t)(agent_count(q, ref) + 1),
                             err));
    t->at_work++;
done:
    if (rc != PDR_OK)
        tenant_drop(q, t);
    return rc;
}

void pdr__queue_end(struct pdr__queue *q, const pdr_ref *ref)
{
    struct pdr__tenant *t = tenant_find(q, ref);
    size_t count = agent_count(q, ref);
    char room[PDR_KEY_BYTES];
    pdr_str key = agent_key(room, ref);

    if (count == 1)
        (void)pdr__map_remove(NULL, &q->agents, key);
    else if (count > 1) /* a known key needs no memory */
        (void)!pdr__map_put(NULL, &q->agents, key,
                            (void *)(uintptr_t)(count - 1), NULL);
    assert(t != NULL && t->at_work > 0);
    t->at_work--;
    tenant_drop(q, t);
}

/* --- the queue ------------------------------------------------------------
 */

bool pdr__queue_has(const struct pdr__queue *q, pdr_str key)
{
    return pdr__map_get(NULL, &q->items, key);
}

pdr_rc pdr__queue_add(bool *taken, struct pdr__queue *q, const pdr_ref *ref,
                      pdr_err *err)
{
    struct pdr__tenant *t = NULL;
    struct pdr__item *item = NULL;
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, ref), tenant = tenant_of(ref);
    pdr_rc rc = PDR_OK;

    *taken = true;
    if (pdr__queue_has(q, key)) /* Q1 */
        return PDR_OK;
    t = tenant_make(q, ref);
    if (t == NULL)
        return pdr__nomem(err);
    if (t->count >= MAX_QUEUED) {
        *taken = false;
        return PDR_OK;
    }
    item = pdr__calloc(1, sizeof(*item) + key.len + 1);
    if (item == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    memcpy(item + 1, key.ptr, key.len);
    item->key = pdr_str_n((char *)(item + 1), key.len);
    item->ref.tenant = pdr_str_n(item->key.ptr, tenant.len);
    item->ref.id =
        pdr_str_n(item->key.ptr + tenant.len + 1, key.len - tenant.len - 1);
    PDR_TRY(pdr__map_put(NULL, &q->items, item->key, item, err));
    if (t->last != NULL)
        t->last->next = item;
    else
        t->first = item;
    t->last = item;
    t->count++;
    item = NULL;
done:
    pdr__free(item);
    if (rc != PDR_OK)
        tenant_drop(q, t);
    return rc;
}

/* The first session of a tenant that may run (Q3), taken out. */
static struct pdr__item *tenant_take(struct pdr__queue *q,
                                     struct pdr__tenant *t)
{
    struct pdr__item **at = &t->first, *item = NULL, *before = NULL;

    for (size_t passed = 0; *at != NULL && passed < MAX_PASSED; passed++) {
        if (pdr__queue_admits(q, &(*at)->ref)) {
            item = *at;
            *at = item->next;
            if (t->last == item)
                t->last = before;
            t->count--;
            item->next = NULL;
            return item;
        }
        before = *at;
        at = &before->next;
    }
    return NULL;
}

struct pdr__item *pdr__queue_take(struct pdr__queue *q)
{
    struct pdr__tenant *t = q->turn;

    for (size_t i = q->tenants.count; i > 0; i--, t = t->next) {
        struct pdr__item *item = tenant_take(q, t);

        if (item == NULL)
            continue;
        q->turn = t->next;
        (void)pdr__map_remove(NULL, &q->items, item->key);
        tenant_drop(q, t);
        return item;
    }
    return NULL;
}

void pdr__queue_dispose(struct pdr__queue *q)
{
    PDR_MAP_EACH (entry, &q->tenants) {
        struct pdr__tenant *t = entry->value;

        while (t->first != NULL) {
            struct pdr__item *item = t->first;

            t->first = item->next;
            pdr__free(item);
        }
        pdr__free(t);
    }
    pdr__map_dispose(&q->tenants);
    pdr__map_dispose(&q->items);
    pdr__map_dispose(&q->agents);
}
