/*
 * Turns of tenants: one that has sent ten thousand operations does not keep
 * another one waiting for its single one. Counted in claims, not in time.
 */
#include <pthread.h>

#include <perdure/sys/engine.h>

#include "test.h"

/* With several, a worker that has taken the one may be held up by the system
 * while the others go on: that is not what is counted here. */
#define WORKERS 1
#define MANY    test_times(10000, 2000)

/* A kind of session whose runs wait for a gate, and which counts claims. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    size_t claims; /* of any tenant */
    size_t before; /* those before the one of the second tenant */
    bool is_claimed;
};

static pdr_rc gate_admit(pdr_admission *out, const pdr_operation *operation,
                         pdr_err *err, void *self)
{
    (void)err;
    (void)self;
    out->name = operation->name;
    out->kind = pdr_str_c("gate");
    out->fingerprint = operation->name;
    return PDR_OK;
}

static bool gate_can_run(const pdr_ref *session, void *self)
{
    (void)session;
    (void)self;
    return true;
}

static pdr_rc gate_claim(pdr_claim *claim, pdr_err *err, void *self)
{
    struct gate *gate = self;

    (void)err;
    pthread_mutex_lock(&gate->lock);
    if (pdr_str_equal(claim->session.tenant, pdr_str_c("few"))) {
        gate->before = gate->claims;
        gate->is_claimed = true;
    }
    gate->claims++;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    return PDR_OK;
}

static void gate_release(void *memory, void *self)
{
    (void)memory;
    (void)self;
}

static pdr_rc gate_run(pdr_task *task, pdr_err *err, void *self)
{
    const pdr_edit nothing = {.revision = PDR_ANY_REVISION};
    struct gate *gate = self;

    pthread_mutex_lock(&gate->lock);
    while (!gate->is_open && pdr_task_ends(task) == PDR_TASK_GOES_ON)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    return pdr_task_finish(NULL, task, &nothing, PDR_OPERATION_COMPLETED,
                           pdr_str_n(NULL, 0), err);
}

static const pdr_entity_ops gate_ops = {.version = PDR_ENTITY_OPS_VERSION,
                                        .prefix = "gate-",
                                        .admit = gate_admit,
                                        .can_run = gate_can_run,
                                        .claim = gate_claim,
                                        .release = gate_release,
                                        .run = gate_run};

static void operation_send(pdr_engine *engine, const char *tenant,
                           size_t number)
{
    pdr_operation operation = {.session = {.tenant = pdr_str_c(tenant)},
                               .name = pdr_str_c("go"),
                               .correlation_id = pdr_str_c("only")};
    pdr_err err = PDR_ERR_INIT;
    char id[32];

    snprintf(id, sizeof(id), "gate-%zu", number);
    operation.session.id = pdr_str_c(id);
    if (pdr_engine_send(NULL, engine, &operation, &err) != PDR_OK)
        fail_msg("sending: %s", err.message);
}

static void gate_open(struct gate *gate, bool is_open)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_open = is_open;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* Wait until so many were claimed, or that of the second tenant was. */
static void gate_wait(struct gate *gate, size_t claims, bool or_few)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->claims < claims && !(or_few && gate->is_claimed))
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

TEST(tenants, take_turns_however_much_one_of_them_wants)
{
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    const pdr_engine_opts opts = {.workers = WORKERS};
    pdr_engine *engine = NULL;
    pdr_store *store = NULL;
    pdr_engine_counts counts;
    size_t claims = 0, many = MANY;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_engine_new(&engine, store, &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_add(engine, &gate_ops, &gate, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_start(engine, NULL));
    for (size_t i = 0; i < many; i++)
        operation_send(engine, "many", i);
    gate_wait(&gate, WORKERS, false);
    pdr_engine_counts_get(&counts, engine);
    ASSERT_SIZE(many, counts.sent);
    claims = gate.claims; /* all workers stand at the gate */
    ASSERT_SIZE(WORKERS, claims);
    operation_send(engine, "few", 0);
    gate_open(&gate, true);
    gate_wait(&gate, SIZE_MAX, true);
    printf("claimed after %zu others\n", gate.before - claims);
    ASSERT(gate.before - claims <= (size_t)2 * WORKERS);
    pdr_engine_free(engine);
    pdr_store_close(store);
}
