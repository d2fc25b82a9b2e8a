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
 *   M2  `seen` is in strictly rising order of (tenant, id), `unseen` of
 *       epochs. Reads look at `seen` alone.
 *   M3  `number` is kept together with the rows: a refused write uses none up.
 */
#include "memory.h"

#include "memory_core.h"

/* --- sessions of the store -------------------------------------------------
 */

static const pdr_head *head_of(const struct session *session)
{
    return &session->head->is.head;
}

/* How many sessions stand before `ref`? */
static size_t seen_before(const struct memory *self, const pdr_ref *ref)
{
    size_t low = 0, high = self->seen.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pdr__ref_order(&head_of(self->seen.at[middle])->ref, ref) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many unseen ones stand before `epoch`? There are few. */
static size_t unseen_before(const struct memory *self, uint64_t epoch)
{
    size_t at = 0;

    while (at < self->unseen.count &&
           head_of(self->unseen.at[at])->epoch < epoch)
        at++;
    return at;
}

struct session *pdr__memory_find(const struct memory *self, const pdr_ref *ref)
{
    size_t at = seen_before(self, ref);

    if (at == self->seen.count ||
        pdr__ref_order(&head_of(self->seen.at[at])->ref, ref) != 0)
        return NULL;
    return self->seen.at[at];
}

/* One that is being staged. */
static struct session *find_staged(const struct memory *self, uint64_t epoch)
{
    size_t at = unseen_before(self, epoch);

    if (at == self->unseen.count ||
        head_of(self->unseen.at[at])->epoch != epoch ||
        self->unseen.at[at]->is_cleared)
        return NULL;
    return self->unseen.at[at];
}

/* Room for `extra` more sessions. */
static pdr_rc reserve(struct sessions *list, size_t extra, pdr_err *err)
{
    size_t need = 0, room = 0, size = 0;

    if (!pdr__add_size(&need, list->count, extra))
        return pdr__nomem(err);
    if (need <= list->room)
        return PDR_OK;
    if (!pdr__mul_size(&room, need, 2) ||
        !pdr__mul_size(&size, room, sizeof(struct session *)))
        return pdr__nomem(err);
    void *sessions = pdr__realloc(list->at, size);
    if (sessions == NULL)
        return pdr__nomem(err);
    list->at = sessions;
    list->room = room;
    return PDR_OK;
}

static void put_in(struct sessions *list, size_t at, struct session *session)
{
    for (size_t i = list->count; i > at; i--)
        list->at[i] = list->at[i - 1];
    list->at[at] = session;
    list->count++;
}

static void take_out(struct sessions *list, size_t at)
{
    pdr__session_free(list->at[at]);
    for (size_t i = at + 1; i < list->count; i++)
        list->at[i - 1] = list->at[i];
    list->count--;
}

/* Put `session` at its place, for which there is room, or take the session of
 * `ref` out if it is NULL. The version before is released. */
static void publish(struct memory *self, const pdr_ref *ref,
                    struct session *session)
{
    size_t at = seen_before(self, ref);

    if (pdr__memory_find(self, ref) != NULL)
        take_out(&self->seen, at);
    if (session != NULL)
        put_in(&self->seen, at, session);
}

/* The same for those that nobody sees. */
static void publish_unseen(struct memory *self, uint64_t epoch,
                           struct session *session)
{
    size_t at = unseen_before(self, epoch);

    if (find_staged(self, epoch) != NULL)
        take_out(&self->unseen, at);
    if (session != NULL)
        put_in(&self->unseen, at, session);
}

static void publish_plan(struct memory *self, const pdr_plan *plan,
                         const struct after *after)
{
    if (plan->unseen) {
        publish_unseen(self, plan->next.epoch, after->session);
        return;
    }
    if (plan->shows)
        publish_unseen(self, plan->next.epoch, NULL);
    publish(self, &plan->ref, after->session);
    if (after->gone != NULL)
        publish_unseen(self, plan->gone.epoch, after->gone);
}

/* --- commit ----------------------------------------------------------------
 */

/* The completion under this id; `known` is NULL if there is none. */
static pdr_rc find_completion(const pdr_completion **known, struct memory *self,
                              const struct session *now, const pdr_ref *ref,
                              pdr_str id, pdr_err *err)
{
    const struct row *row = NULL;

    *known = NULL;
    if (now != NULL)
        row = pdr__rows_find(&now->tables[TABLE_COMPLETIONS], 0, id);
    if (row == NULL)
        return PDR_OK;
    *known = &row->is.completion;
    return pdr_completion_check(&self->base, ref, *known, err);
}

static struct before find_before(const struct memory *self,
                                 const pdr_plan *plan)
{
    switch (plan->stage) {
    case PDR_STAGE_BEGIN:
        return (struct before){NULL, NULL};
    case PDR_STAGE_ADD:
    case PDR_STAGE_ABANDON:
        return (struct before){find_staged(self, plan->edit->epoch), NULL};
    case PDR_STAGE_SHOW:
        return (struct before){find_staged(self, plan->edit->epoch),
                               pdr__memory_find(self, &plan->ref)};
    case PDR_STAGE_NONE:
        break;
    }
    return (struct before){pdr__memory_find(self, &plan->ref), NULL};
}

/* The head of a session, checked; NULL if there is none. */
static pdr_rc take_head(const pdr_head **out, struct memory *self,
                        const struct session *session, pdr_err *err)
{
    *out = session != NULL ? head_of(session) : NULL;
    return session != NULL ? pdr_head_check(&self->base, *out, err) : PDR_OK;
}

/* May this edit be done? The plan is told all that it asks for. */
static pdr_rc admit_plan(struct memory *self, pdr_plan *plan,
                         const pdr_write *write, uint64_t *number, pdr_err *err)
{
    struct before before = find_before(self, plan);
    const struct session *now = before.session;
    const pdr_edit *edit = plan->edit;
    const pdr_completion *known = NULL;
    const pdr_head *head = NULL;
    const struct row *last = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(take_head(&head, self, now, err));
    PDR_TRY(pdr_plan_begin(plan, write, head, number, err));
    if (plan->shows) {
        PDR_TRY(take_head(&head, self, before.replaced, err));
        PDR_TRY(pdr_plan_show(plan, write, head, err));
    }
    for (size_t k = 0; k < plan->completion_count; k++) {
        PDR_TRY(find_completion(&known, self, now, &plan->ref,
                                plan->asked[k].correlation_id, err));
        PDR_TRY(pdr_plan_known(plan, write, k, known, err));
    }
    for (size_t k = 0; k < edit->drop_count; k++) {
        PDR_TRY(find_completion(&known, self, now, &plan->ref,
                                edit->drop[k].correlation_id, err));
        PDR_TRY(pdr_plan_drop(plan, k, known, err));
    }
    if (!plan->cuts)
        return PDR_OK;
    last = pdr__rows_find(&now->tables[TABLE_ENTRIES], edit->entries_through,
                          (pdr_str){0});
    if (last == NULL)
        return PDR_FAIL(err, WRONG_COUNT,
                        "an entry is missing that the head counts");
    pdr_plan_cut(plan, last->is.entry.digest);
done:
    return rc;
}

/* Make the next versions of all sessions of a write: `next` has room. */
static pdr_rc prepare_next(struct after *next, uint64_t *number,
                           struct memory *self, const pdr_write *write,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < write->count; i++)
        PDR_TRY(admit_plan(self, &write->plans[i], write, number, err));
    for (size_t i = 0; i < write->count; i++) {
        pdr_plan *plan = &write->plans[i];
        struct before before = find_before(self, plan);

        PDR_TRY(pdr__session_next(&next[i], &before, plan, write, err));
    }
    PDR_TRY(reserve(&self->seen, write->count, err));
    PDR_TRY(reserve(&self->unseen, write->count, err));
done:
    return rc;
}

/* All or nothing; with the lock. */
static pdr_rc write_one(struct memory *self, pdr_write *write, pdr_err *err)
{
    struct after *next = pdr__calloc(write->count, sizeof(*next));
    uint64_t number = self->number;

    if (next == NULL)
        return pdr__nomem(err);
    pdr_rc rc = prepare_next(next, &number, self, write, err);
    for (size_t i = 0; i < write->count; i++) {
        if (rc == PDR_OK) {
            publish_plan(self, &write->plans[i], &next[i]);
            continue;
        }
        pdr__session_free(next[i].session);
        pdr__session_free(next[i].gone);
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

/* --- sweep -----------------------------------------------------------------
 */

static bool is_over(const struct session *session, int64_t now_ms)
{
    return session->is_cleared || head_of(session)->lease.until_ms <= now_ms;
}

/* The first whose time is over, or how many there are. */
static size_t find_over(const struct memory *self, int64_t now_ms)
{
    size_t at = 0;

    while (at < self->unseen.count && !is_over(self->unseen.at[at], now_ms))
        at++;
    return at;
}

static pdr_rc memory_sweep(pdr_store *store, int64_t now_ms,
                           pdr_sweep_report *report, bool *more, pdr_err *err)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);
    size_t at = 0, gone = 0;

    (void)err;
    (void)pthread_mutex_lock(&self->lock);
    at = find_over(self, now_ms);
    if (at < self->unseen.count) {
        gone = pdr__session_shorten(self->unseen.at[at], PDR_SWEEP_ROWS);
        report->rows += gone;
        if (gone < PDR_SWEEP_ROWS) {
            take_out(&self->unseen, at);
            report->sessions++;
        }
    }
    report->left = 0;
    for (size_t i = 0; i < self->unseen.count; i++)
        report->left += !is_over(self->unseen.at[i], now_ms);
    *more = find_over(self, now_ms) < self->unseen.count;
    (void)pthread_mutex_unlock(&self->lock);
    return PDR_OK;
}

/* --- the rest of the table -------------------------------------------------
 */

static void memory_close(pdr_store *store)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);

    while (self->seen.count > 0)
        take_out(&self->seen, self->seen.count - 1);
    while (self->unseen.count > 0)
        take_out(&self->unseen, self->unseen.count - 1);
    pdr__free(self->seen.at);
    pdr__free(self->unseen.at);
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
    out->unseen = self->unseen.count;
    (void)pthread_mutex_unlock(&self->lock);
    return PDR_OK;
}

static pdr_rc memory_count(pdr_store *store, pdr_store_counts *out,
                           pdr_str tenant, pdr_err *err)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);
    const pdr_ref first = {tenant, PDR_LIT("")};

    (void)err;
    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = seen_before(self, &first); i < self->seen.count; i++) {
        const pdr_head *head = head_of(self->seen.at[i]);

        if (!pdr_str_equal(head->ref.tenant, tenant))
            break;
        out->by_state[head->state]++;
    }
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
    .sweep = memory_sweep,
    .count = memory_count,
};
