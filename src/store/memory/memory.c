/*
 * memory.c - the store "memory:", which all others are compared with.
 *
 * WHY  The simplest code that can be right. One lock, and for each session a
 *      version that does not change. A write makes the next version of each of
 *      its sessions and then publishes them all:
 *
 *         find ──► plan ──► next versions ──► room ──► publish
 *         └───────────── can fail ──────────────┘      cannot fail
 *
 * INVARIANTS
 *   M1  Nothing that a reader can see changes before the last step, and nothing
 *       can fail in it.
 *   M2  `sessions` is in strictly rising order of (tenant, id).
 *   M3  `number` is kept together with the rows: a refused write uses none up.
 */
#include "memory.h"

#include "memory_core.h"

/* --- sessions of the store -------------------------------------------------
 */

/* How many sessions stand before `ref`? */
static size_t sessions_before(const struct memory *self, const pdr_ref *ref)
{
    size_t low = 0, high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const pdr_head *head = &self->sessions[middle]->head->is.head;
        if (pdr__ref_order(&head->ref, ref) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct session *pdr__memory_find(const struct memory *self, const pdr_ref *ref)
{
    size_t at = sessions_before(self, ref);

    if (at == self->count ||
        pdr__ref_order(&self->sessions[at]->head->is.head.ref, ref) != 0)
        return NULL;
    return self->sessions[at];
}

/* Room for `extra` more sessions. */
static pdr_rc reserve(struct memory *self, size_t extra, pdr_err *err)
{
    size_t need = 0, room = 0, size = 0;

    if (!pdr__add_size(&need, self->count, extra))
        return pdr__nomem(err);
    if (need <= self->room)
        return PDR_OK;
    if (!pdr__mul_size(&room, need, 2) ||
        !pdr__mul_size(&size, room, sizeof(struct session *)))
        return pdr__nomem(err);
    void *sessions = pdr__realloc(self->sessions, size);
    if (sessions == NULL)
        return pdr__nomem(err);
    self->sessions = sessions;
    self->room = room;
    return PDR_OK;
}

/* Put `session` at its place, for which there is room, or take the session of
 * `ref` out if it is NULL. The version before is released. */
static void publish(struct memory *self, const pdr_ref *ref,
                    struct session *session)
{
    struct session *before = pdr__memory_find(self, ref);
    size_t at = sessions_before(self, ref);

    if (before == NULL && session != NULL) {
        for (size_t i = self->count; i > at; i--)
            self->sessions[i] = self->sessions[i - 1];
        self->count++;
    }
    if (session != NULL)
        self->sessions[at] = session;
    if (before != NULL && session == NULL) {
        for (size_t i = at + 1; i < self->count; i++)
            self->sessions[i - 1] = self->sessions[i];
        self->count--;
    }
    pdr__session_free(before);
}

/* --- commit ----------------------------------------------------------------
 */

/* Tell the plan which of its completions are there. */
static pdr_rc tell_completions(struct memory *self, const struct session *now,
                               pdr_plan *plan, const pdr_write *write,
                               pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t k = 0; k < plan->completion_count && rc == PDR_OK; k++) {
        const struct row *row = NULL;
        const pdr_completion *known = NULL;
        if (now != NULL)
            row = pdr__rows_find(&now->tables[TABLE_COMPLETIONS], 0,
                                 plan->asked[k].correlation_id);
        if (row != NULL) {
            known = &row->is.completion;
            rc = pdr_completion_check(&self->base, &plan->ref, known, err);
        }
        if (rc == PDR_OK)
            rc = pdr_plan_known(plan, write, k, known, err);
    }
    return rc;
}

/* May this edit be done? */
static pdr_rc admit(struct memory *self, pdr_plan *plan, const pdr_write *write,
                    uint64_t *number, pdr_err *err)
{
    const struct session *now = pdr__memory_find(self, &plan->ref);
    const pdr_head *head = NULL;
    pdr_rc rc = PDR_OK;

    if (now != NULL) {
        head = &now->head->is.head;
        rc = pdr_head_check(&self->base, head, err);
    }
    if (rc == PDR_OK)
        rc = pdr_plan_begin(plan, write, head, number, err);
    if (rc == PDR_OK)
        rc = tell_completions(self, now, plan, write, err);
    return rc;
}

/* Make the next versions of all sessions of a write: `next` has room. */
static pdr_rc prepare(struct session **next, uint64_t *number,
                      struct memory *self, const pdr_write *write, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < write->count && rc == PDR_OK; i++)
        rc = admit(self, &write->plans[i], write, number, err);
    for (size_t i = 0; i < write->count && rc == PDR_OK; i++) {
        pdr_plan *plan = &write->plans[i];
        const struct session *now = pdr__memory_find(self, &plan->ref);
        rc = pdr__session_next(&next[i], now, plan, write, err);
    }
    if (rc == PDR_OK)
        rc = reserve(self, write->count, err);
    return rc;
}

/* All or nothing; with the lock. */
static pdr_rc write_one(struct memory *self, pdr_write *write, pdr_err *err)
{
    struct session **next = pdr__calloc(write->count, sizeof(*next));
    uint64_t number = self->number;

    if (next == NULL)
        return pdr__nomem(err);
    pdr_rc rc = prepare(next, &number, self, write, err);
    for (size_t i = 0; i < write->count; i++) {
        if (rc == PDR_OK)
            publish(self, &write->plans[i].ref, next[i]);
        else
            pdr__session_free(next[i]);
    }
    if (rc == PDR_OK) {
        self->number = number;
        self->commits++;
    }
    pdr__free(next);
    return rc;
}

static void memory_commit(pdr_store *store, pdr_write *const *writes,
                          size_t count)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);

    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < count; i++)
        writes[i]->rc = write_one(self, writes[i], &writes[i]->err);
    (void)pthread_mutex_unlock(&self->lock);
}

/* --- the rest of the table -------------------------------------------------
 */

static void memory_close(pdr_store *store)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);

    for (size_t i = 0; i < self->count; i++)
        pdr__session_free(self->sessions[i]);
    pdr__free(self->sessions);
    (void)pthread_mutex_destroy(&self->lock);
    pdr__free(self);
}

static pdr_rc memory_open(pdr_store **out, const char *rest, pdr_err *err)
{
    *out = NULL;
    if (rest[0] != '\0')
        return PDR_FAIL(err, BAD_URI,
                        "nothing may stand behind \"memory:\": such a store "
                        "has no file and no settings");
    struct memory *self = pdr__calloc(1, sizeof(*self));
    if (self == NULL || pthread_mutex_init(&self->lock, NULL) != 0) {
        pdr__free(self);
        return pdr__nomem(err);
    }
    self->base.ops = &pdr__memory_ops;
    *out = &self->base;
    return PDR_OK;
}

static pdr_rc memory_read(pdr_store *store, pdr_page *page,
                          const pdr_query *query, pdr_err *err)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);

    (void)pthread_mutex_lock(&self->lock);
    pdr_rc rc = pdr__memory_fill(self, page, query, err);
    (void)pthread_mutex_unlock(&self->lock);
    return rc;
}

static pdr_rc memory_info(pdr_store *store, pdr_store_info *out, pdr_err *err)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);

    (void)err;
    (void)pthread_mutex_lock(&self->lock);
    out->commits = self->commits;
    out->groups = self->commits;
    (void)pthread_mutex_unlock(&self->lock);
    return PDR_OK;
}

const pdr_store_ops pdr__memory_ops = {
    .version = PDR_STORE_OPS_VERSION,
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .commit = memory_commit,
    .read = memory_read,
    .info = memory_info,
};
