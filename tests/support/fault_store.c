/*
 * fault_store.c - a backend that hands every call to another one, or fails.
 *
 * The store inside is opened by its own URI. Digests are made with the key of
 * the store that the caller has, so the outer one lends the inner one's.
 */
#include "fault_store.h"

#include <pthread.h>

#include "base.h"

struct fault_store {
    pdr_store base; /* first */
    pdr_store *inner;
    pthread_mutex_t lock;
    bool in_doubt; /* guarded by lock */
};

static struct {
    pthread_mutex_t lock;
    struct fault_plan plan; /* all guarded by lock */
    size_t calls, failed;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the plan --------------------------------------------------------------
 */

const char *fault_call_word(enum fault_call call)
{
    static const char *const words[] = {"open",   "commit",  "read",  "info",
                                        "poll",   "verify",  "sweep", "vacuum",
                                        "backup", "migrate", "any"};

    return words[call];
}

void fault_store_set(const struct fault_plan *plan)
{
    pthread_mutex_lock(&state.lock);
    state.plan = *plan;
    state.calls = state.failed = 0;
    pthread_mutex_unlock(&state.lock);
}

size_t fault_store_calls(void)
{
    pthread_mutex_lock(&state.lock);
    size_t calls = state.calls;
    pthread_mutex_unlock(&state.lock);
    return calls;
}

size_t fault_store_failed(void)
{
    pthread_mutex_lock(&state.lock);
    size_t failed = state.failed;
    pthread_mutex_unlock(&state.lock);
    return failed;
}

/* Count a call. Does it fail, and how? */
static bool must_fail(enum fault_way *way, enum fault_call call)
{
    const struct fault_plan *plan = &state.plan;
    bool fails = false;

    pthread_mutex_lock(&state.lock);
    if (plan->call == FAULT_ANY || plan->call == call) {
        state.calls++;
        fails = plan->nth > 0 && (state.calls == plan->nth ||
                                  (plan->for_ever && state.calls > plan->nth));
        state.failed += fails;
        *way = plan->way;
    }
    pthread_mutex_unlock(&state.lock);
    return fails;
}

static pdr_rc pass(enum fault_call call, pdr_err *err)
{
    enum fault_way way = FAULT_REFUSED;

    if (must_fail(&way, call))
        return PDR_FAIL(err, FILE_FAILED, "the plan lets this call fail");
    return PDR_OK;
}

/* --- the backend -----------------------------------------------------------
 */

static struct fault_store *self_of(pdr_store *store)
{
    return (struct fault_store *)store;
}

static pdr_rc fault_open(pdr_store **out, const char *rest, pdr_err *err);

static void fault_close(pdr_store *store)
{
    struct fault_store *self = self_of(store);

    pdr_store_close(self->inner);
    pthread_mutex_destroy(&self->lock);
    pdr__free(self);
}

static bool is_in_doubt(struct fault_store *self)
{
    pthread_mutex_lock(&self->lock);
    bool in_doubt = self->in_doubt;
    pthread_mutex_unlock(&self->lock);
    return in_doubt;
}

static void fall_in_doubt(struct fault_store *self)
{
    pthread_mutex_lock(&self->lock);
    self->in_doubt = true;
    pthread_mutex_unlock(&self->lock);
}

static void commit_one(struct fault_store *self, pdr_write *write)
{
    enum fault_way way = FAULT_REFUSED;

    if (is_in_doubt(self)) {
        write->rc = PDR_FAIL(&write->err, IN_DOUBT,
                             "a commit ended unknown; open the store again");
        return;
    }
    if (!must_fail(&way, FAULT_COMMIT)) {
        self->inner->ops->commit(self->inner, &write, 1);
        return;
    }
    if (way == FAULT_REFUSED) {
        write->rc = PDR_FAIL(&write->err, FILE_FAILED,
                             "the plan lets this commit fail");
        return;
    }
    if (way == FAULT_UNKNOWN_DONE)
        self->inner->ops->commit(self->inner, &write, 1);
    else
        write->rc = PDR_OK;
    if (write->rc != PDR_OK)
        return; /* it was refused before anything could go wrong */
    fall_in_doubt(self);
    write->rc = PDR_FAIL(&write->err, COMMIT_UNKNOWN,
                         "the plan lets nobody know of this commit; open the "
                         "store again");
}

/* One after the other, so that each can fail alone. */
static void fault_commit(pdr_store *store, pdr_write *const *writes,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        commit_one(self_of(store), writes[i]);
}

static pdr_rc fault_read(pdr_store *store, pdr_page *page,
                         const pdr_query *query, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_READ, err);

    return rc == PDR_OK ? inner->ops->read(inner, page, query, err) : rc;
}

static pdr_rc fault_info(pdr_store *store, pdr_store_info *out, pdr_err *err)
{
    struct fault_store *self = self_of(store);
    pdr_rc rc = pass(FAULT_INFO, err);

    if (rc == PDR_OK)
        rc = self->inner->ops->info(self->inner, out, err);
    if (rc == PDR_OK)
        out->in_doubt = out->in_doubt || is_in_doubt(self);
    return rc;
}

/* Something that a store says of itself: a call of that kind. */
static pdr_rc fault_now(pdr_store *store, int64_t *out, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_INFO, err);

    return rc == PDR_OK ? inner->ops->now(inner, out, err) : rc;
}

static pdr_rc fault_count(pdr_store *store, pdr_store_counts *out,
                          pdr_str tenant, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_INFO, err);

    return rc == PDR_OK ? inner->ops->count(inner, out, tenant, err) : rc;
}

static pdr_rc fault_poll(pdr_store *store, uint64_t *out, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_POLL, err);

    if (rc != PDR_OK)
        return rc;
    if (inner->ops->poll != NULL)
        return inner->ops->poll(inner, out, err);
    *out = 0; /* nobody else can write */
    return PDR_OK;
}

static pdr_rc fault_verify(pdr_store *store, const pdr_ref *ref,
                           pdr_verify_report *report, pdr_verify_fn fn,
                           void *arg, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_VERIFY, err);

    if (rc != PDR_OK || inner->ops->verify == NULL)
        return rc;
    return inner->ops->verify(inner, ref, report, fn, arg, err);
}

static pdr_rc fault_sweep(pdr_store *store, int64_t now_ms,
                          pdr_sweep_report *report, bool *more, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_SWEEP, err);

    if (rc != PDR_OK || inner->ops->sweep == NULL)
        return rc;
    return inner->ops->sweep(inner, now_ms, report, more, err);
}

/* It writes, so it is refused like a commit while the store is in doubt. */
static pdr_rc fault_vacuum(pdr_store *store, pdr_vacuum_report *report,
                           bool *more, pdr_err *err)
{
    struct fault_store *self = self_of(store);
    pdr_store *inner = self->inner;
    pdr_rc rc = pass(FAULT_VACUUM, err);

    if (rc != PDR_OK)
        return rc;
    if (is_in_doubt(self))
        return PDR_FAIL(err, IN_DOUBT,
                        "a commit ended unknown; open the store again");
    if (inner->ops->vacuum == NULL)
        return PDR_FAIL(err, NO_VACUUM, "the store inside has no vacuum");
    return inner->ops->vacuum(inner, report, more, err);
}

static pdr_rc fault_backup(pdr_store *store, const char *file, bool replace,
                           pdr_backup_report *report, pdr_backup_fn fn,
                           void *arg, pdr_err *err)
{
    pdr_store *inner = self_of(store)->inner;
    pdr_rc rc = pass(FAULT_BACKUP, err);

    if (rc != PDR_OK)
        return rc;
    if (inner->ops->backup == NULL)
        return PDR_FAIL(err, NO_BACKUP, "the store inside has no backup");
    return inner->ops->backup(inner, file, replace, report, fn, arg, err);
}

static pdr_rc fault_migrate(const char *rest, pdr_migrate_report *out,
                            pdr_err *err)
{
    pdr_rc rc = pass(FAULT_MIGRATE, err);

    return rc == PDR_OK ? pdr_store_migrate(out, rest, err) : rc;
}

static const pdr_store_ops fault_ops = {.version = PDR_STORE_OPS_VERSION,
                                        .name = "fault",
                                        .open = fault_open,
                                        .close = fault_close,
                                        .commit = fault_commit,
                                        .read = fault_read,
                                        .info = fault_info,
                                        .poll = fault_poll,
                                        .verify = fault_verify,
                                        .sweep = fault_sweep,
                                        .vacuum = fault_vacuum,
                                        .migrate = fault_migrate,
                                        .backup = fault_backup,
                                        .count = fault_count};
/* The same around a store that has a clock. */
static pdr_store_ops clock_ops;

static pdr_rc fault_open(pdr_store **out, const char *rest, pdr_err *err)
{
    struct fault_store *self = NULL;
    pdr_rc rc = pass(FAULT_OPEN, err);

    if (rc != PDR_OK)
        return rc;
    self = pdr__calloc(1, sizeof(*self));
    if (self == NULL)
        return pdr__nomem(err);
    rc = pdr_store_open(&self->inner, rest, err);
    if (rc != PDR_OK) {
        pdr__free(self);
        return rc;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->base.ops = self->inner->ops->now != NULL ? &clock_ops : &fault_ops;
    self->base.capabilities = self->inner->capabilities;
    self->base.key = self->inner->key;
    self->base.key_len = self->inner->key_len;
    *out = &self->base;
    return PDR_OK;
}

void fault_store_register(void)
{
    static bool known;

    clock_ops = fault_ops;
    clock_ops.now = fault_now;
    if (!known)
        ASSERT_RC(PDR_OK, pdr_store_register(&fault_ops, NULL));
    known = true;
}
