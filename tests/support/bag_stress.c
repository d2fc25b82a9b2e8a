/* bag_stress.c - see bag_stress.h. */
#include "bag_stress.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "state_types.h"

#define THREADS 8
#define OPS     3 /* of a thread in a round of bag_check_order() */

pdr_bag *bag_under_stress;

/* What all threads of a run share. */
struct run {
    pdr_bag *bag;
    pthread_barrier_t gate; /* all threads and the one that checks */
    atomic_uint_least64_t clock;
    atomic_uint odd; /* what must not happen in a thread, and did */
    unsigned rounds;
    uint64_t seed;
    struct history *history; /* bag_check_order() */
    uint32_t *sums;          /* bag_check_counts(): one of each update */
};

struct worker {
    pthread_t thread;
    struct run *run;
    unsigned number;
    uint64_t random;
    const void *view; /* what a typed read gave, in bag_check_order() */
};

/* Not a good generator, but one without a lock. */
static uint64_t draw(struct worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random;
}

static void complain(struct bag_verdict *out, const char *text, unsigned round)
{
    if (!out->is_sound)
        return; /* the first one counts */
    out->is_sound = false;
    (void)snprintf(out->text, sizeof(out->text), "round %u: %s", round, text);
}

/* Start all threads; false if the system has none left. */
static bool run_start(struct run *run, struct worker workers[THREADS],
                      const char *slots, void *(*fn)(void *))
{
    pdr_value *value = NULL;

    if (pdr_json_read(&value, pdr_str_c(slots), NULL, NULL) != PDR_OK ||
        pdr_bag_from_value(&run->bag, value, NULL) != PDR_OK ||
        pthread_barrier_init(&run->gate, NULL, THREADS + 1) != 0)
        return false;
    pdr_value_free(value);
    bag_under_stress = run->bag;
    atomic_init(&run->clock, 1);
    atomic_init(&run->odd, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.run = run, .number = i};
        workers[i].random = (run->seed + i + 1) * 0x9E3779B97F4A7C15u;
        if (pthread_create(&workers[i].thread, NULL, fn, &workers[i]) != 0)
            return false;
    }
    return true;
}

static void run_join(struct bag_verdict *out, struct run *run,
                     struct worker workers[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
    if (atomic_load(&run->odd) > 0)
        complain(out, "a call failed that cannot", run->rounds);
}

static void run_dispose(struct run *run)
{
    (void)pthread_barrier_destroy(&run->gate);
    bag_under_stress = NULL;
    pdr_bag_free(run->bag);
}

/* --- slots with a number ------------------------------------------------- */

/* {"a":number}; NULL without memory. */
static pdr_value *value_of(uint32_t number)
{
    struct counter counter = {number, 0};
    pdr_value *value = NULL;

    if (counter_type.encode(&value, &counter, NULL, NULL) != PDR_OK)
        return NULL;
    return value;
}

/* Its number; 0 for nothing. */
static uint32_t number_of(const pdr_value *value)
{
    const pdr_value *a = pdr_value_get_c(value, "a");
    int64_t number = 0;

    if (a == NULL || pdr_value_int64(&number, a, NULL) != PDR_OK)
        return 0;
    return (uint32_t)number;
}

static uint32_t number_of_object(const pdr_object *object)
{
    const struct counter *counter = pdr_object_get(object);

    return counter != NULL ? (uint32_t)counter->a : 0;
}

/* --- order: operations --------------------------------------------------- */

enum op_kind { OP_SET, OP_GET, OP_REMOVE, OP_UPDATE, OP_INIT, OP_KINDS };

struct op {
    enum op_kind kind;
    uint64_t start, end; /* on the clock of the run */
    uint32_t wrote;      /* numbers are unique in a round; 0 is nothing */
    uint32_t saw;        /* before an update; what a read or init gave */
    bool acted;          /* a removal found a slot; an init made an object */
};

struct history {
    struct op ops[THREADS][OPS];
};

static pdr_rc change_raw(pdr_value **io, pdr_err *err, void *arg)
{
    struct op *op = arg;

    (void)err;
    op->saw = number_of(*io);
    (void)sched_yield(); /* let the others come in, if they can */
    pdr_value_free(*io);
    *io = value_of(op->wrote);
    return *io != NULL ? PDR_OK : PDR_ENOMEM;
}

static pdr_rc change_object(void **io, pdr_err *err, void *arg)
{
    struct op *op = arg;
    struct counter *counter = *io;

    op->saw = counter != NULL ? (uint32_t)counter->a : 0;
    (void)sched_yield();
    if (counter == NULL)
        return counter_new(io, op->wrote, err);
    counter->a = op->wrote;
    return PDR_OK;
}

static pdr_rc make_object(void **out, pdr_err *err, void *arg)
{
    struct op *op = arg;

    op->acted = true;
    (void)sched_yield();
    return counter_new(out, op->wrote, err);
}

static pdr_rc set(struct op *op, pdr_bag *bag, pdr_str key, bool typed)
{
    struct counter counter = {op->wrote, 0};

    if (typed)
        return pdr_bag_set_typed(bag, key, &counter_type, &counter, PDR_OVERLAY,
                                 NULL);
    pdr_value *value = value_of(op->wrote);
    pdr_rc rc = pdr_bag_set(bag, key, value, NULL);
    pdr_value_free(value);
    return rc;
}

static pdr_rc get(struct op *op, pdr_bag *bag, pdr_str key, bool typed)
{
    pdr_object *object = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    if (typed) {
        rc = pdr_bag_get_typed(&object, bag, key, &counter_type, NULL);
        op->saw = number_of_object(object);
        pdr_object_free(object);
    } else {
        rc = pdr_bag_get(&value, bag, key, NULL);
        op->saw = number_of(value);
        pdr_value_free(value);
    }
    return rc == PDR_ENOTFOUND ? PDR_OK : rc;
}

static pdr_rc init(struct op *op, pdr_bag *bag, pdr_str key)
{
    pdr_object *object = NULL;
    pdr_rc rc = pdr_bag_get_or_init(&object, bag, key, &counter_type, NULL,
                                    make_object, op);

    op->saw = number_of_object(object);
    pdr_object_free(object);
    return rc;
}

static pdr_rc act(struct op *op, pdr_bag *bag, pdr_str key, bool typed)
{
    pdr_rc rc = PDR_OK;

    switch (op->kind) {
    case OP_SET:
        return set(op, bag, key, typed);
    case OP_GET:
        return get(op, bag, key, typed);
    case OP_REMOVE:
        rc = pdr_bag_remove(bag, key, NULL);
        op->acted = rc == PDR_OK;
        return rc == PDR_ENOTFOUND ? PDR_OK : rc;
    case OP_UPDATE:
        return typed ? pdr_bag_update_typed(bag, key, &counter_type, NULL,
                                            change_object, op)
                     : pdr_bag_update(bag, key, NULL, change_raw, op);
    case OP_INIT:
        return init(op, bag, key);
    case OP_KINDS:
        break;
    }
    return PDR_EMISUSE;
}

static void do_op(struct worker *worker, struct op *op, unsigned i, pdr_str key)
{
    struct run *run = worker->run;
    uint64_t random = draw(worker);

    memset(op, 0, sizeof(*op));
    op->kind = (enum op_kind)(random % OP_KINDS);
    op->wrote = worker->number * OPS + i + 1;
    op->start = atomic_fetch_add(&run->clock, 1);
    if (act(op, run->bag, key, (random >> 8) % 2 == 0) != PDR_OK)
        atomic_fetch_add(&run->odd, 1);
    op->end = atomic_fetch_add(&run->clock, 1);
}

static void *do_rounds(void *arg)
{
    struct worker *worker = arg;
    struct run *run = worker->run;

    for (unsigned round = 0; round < run->rounds; round++) {
        pdr_object *object = NULL;
        char key[16];

        (void)snprintf(key, sizeof(key), "r%u", round);
        (void)pthread_barrier_wait(&run->gate);
        for (unsigned i = 0; i < OPS; i++)
            do_op(worker, &run->history->ops[worker->number][i], i,
                  pdr_str_c(key));
        (void)pthread_barrier_wait(&run->gate); /* now nobody writes */
        if (pdr_bag_get_typed(&object, run->bag, pdr_str_c(key), &counter_type,
                              NULL) != PDR_OK)
            object = NULL;
        worker->view = object;
        (void)pthread_barrier_wait(&run->gate); /* it is looked at */
        (void)pthread_barrier_wait(&run->gate);
        pdr_object_free(object);
    }
    return NULL;
}

/* --- order: the search --------------------------------------------------- */

/* Operations of each thread that are done take two bits, the number in the slot
 * five. */
#define STATES (1u << (2 * THREADS + 5))
_Static_assert(OPS < 4 && THREADS * OPS < 32, "a state has so many bits");

struct search {
    const struct history *history;
    unsigned done[THREADS];
    uint8_t *seen; /* one bit a state: there is no way from there */
};

/* Can `op` come next if the slot holds *now? Then *now is what it holds. */
static bool step(uint32_t *now, const struct op *op)
{
    bool fits = true;

    switch (op->kind) {
    case OP_SET:
        *now = op->wrote;
        break;
    case OP_GET:
        fits = op->saw == *now;
        break;
    case OP_REMOVE:
        fits = op->acted == (*now != 0);
        *now = 0;
        break;
    case OP_UPDATE:
        fits = op->saw == *now;
        *now = op->wrote;
        break;
    case OP_INIT:
        fits = op->acted == (*now == 0);
        *now = op->acted ? op->wrote : *now;
        fits = fits && op->saw == *now;
        break;
    case OP_KINDS:
        break;
    }
    return fits;
}

static size_t state_of(const struct search *s, uint32_t now)
{
    size_t state = now;

    for (unsigned t = 0; t < THREADS; t++)
        state = state << 2 | s->done[t];
    return state;
}

/* The end of the first of the next operations: what begins later waits. */
static uint64_t first_end(const struct search *s)
{
    uint64_t first = UINT64_MAX;

    for (unsigned t = 0; t < THREADS; t++)
        if (s->done[t] < OPS && s->history->ops[t][s->done[t]].end < first)
            first = s->history->ops[t][s->done[t]].end;
    return first;
}

/* Is there an order for the rest that ends with `last` in the slot? */
static bool explain(struct search *s, uint32_t now, uint32_t last)
{
    uint64_t end = first_end(s);
    size_t state = state_of(s, now);

    if (end == UINT64_MAX)
        return now == last;
    if ((s->seen[state / 8] >> (state % 8) & 1) != 0)
        return false;
    s->seen[state / 8] |= (uint8_t)(1u << (state % 8));
    for (unsigned t = 0; t < THREADS; t++) {
        const struct op *op = &s->history->ops[t][s->done[t] % OPS];
        uint32_t next = now;

        if (s->done[t] == OPS || op->start > end || !step(&next, op))
            continue;
        s->done[t]++;
        if (explain(s, next, last))
            return true;
        s->done[t]--;
    }
    return false;
}

static void check_round(struct bag_verdict *out, struct run *run,
                        const struct worker workers[THREADS], unsigned round)
{
    struct search search = {.history = run->history,
                            .seen = calloc(STATES / 8, 1)};
    pdr_value *value = NULL;
    char key[16];

    (void)snprintf(key, sizeof(key), "r%u", round);
    pdr_rc rc = pdr_bag_get(&value, run->bag, pdr_str_c(key), NULL);
    uint32_t last = rc == PDR_OK ? number_of(value) : 0;
    pdr_value_free(value);
    if (search.seen == NULL || !explain(&search, 0, last))
        complain(out, "no serial order explains what the threads saw", round);
    free(search.seen);
    for (unsigned t = 1; t < THREADS; t++)
        if (workers[t].view != workers[0].view)
            complain(out, "two threads read two objects", round);
}

void bag_check_order(struct bag_verdict *out, unsigned rounds, uint64_t seed)
{
    struct history history;
    struct run run = {.rounds = rounds, .seed = seed, .history = &history};
    struct worker workers[THREADS];

    *out = (struct bag_verdict){.is_sound = true};
    if (!run_start(&run, workers, "{}", do_rounds)) {
        complain(out, "the threads did not start", 0);
        return;
    }
    for (unsigned round = 0; round < rounds; round++) {
        (void)pthread_barrier_wait(&run.gate);
        (void)pthread_barrier_wait(&run.gate);
        (void)pthread_barrier_wait(&run.gate);
        check_round(out, &run, workers, round);
        (void)pthread_barrier_wait(&run.gate);
    }
    run_join(out, &run, workers);
    run_dispose(&run);
}

/* --- counts -------------------------------------------------------------- */

static pdr_rc add_raw(pdr_value **io, pdr_err *err, void *arg)
{
    struct op op = {.wrote = number_of(*io) + 1};
    pdr_rc rc = change_raw(io, err, &op);

    *(uint32_t *)arg = op.wrote;
    return rc;
}

static pdr_rc add_object(void **io, pdr_err *err, void *arg)
{
    struct counter *counter = *io;

    (void)err;
    (void)sched_yield();
    counter->a++;
    *(uint32_t *)arg = (uint32_t)counter->a;
    return PDR_OK;
}

/* Read, add and write, as long as somebody else was faster. */
static pdr_rc add_optimistic(uint32_t *sum, pdr_bag *bag)
{
    pdr_rc rc = PDR_ECONFLICT;

    while (rc == PDR_ECONFLICT) {
        uint64_t generation = pdr_bag_generation(bag);
        pdr_value *before = NULL, *after = NULL;

        rc = pdr_bag_get(&before, bag, pdr_str_c("n"), NULL);
        if (rc == PDR_OK) {
            *sum = number_of(before) + 1;
            after = value_of(*sum);
            rc = pdr_bag_set_if(bag, generation, pdr_str_c("n"), after, NULL);
        }
        pdr_value_free(before);
        pdr_value_free(after);
    }
    return rc;
}

static void *count_up(void *arg)
{
    struct worker *worker = arg;
    struct run *run = worker->run;
    pdr_str key = pdr_str_c("n");

    (void)pthread_barrier_wait(&run->gate);
    for (unsigned i = 0; i < run->rounds; i++) {
        uint32_t sum = 0;
        pdr_rc rc = PDR_OK;

        if (i % 3 == 0)
            rc = pdr_bag_update(run->bag, key, NULL, add_raw, &sum);
        else if (i % 3 == 1)
            rc = pdr_bag_update_typed(run->bag, key, &counter_type, NULL,
                                      add_object, &sum);
        else
            rc = add_optimistic(&sum, run->bag);
        if (rc != PDR_OK)
            atomic_fetch_add(&run->odd, 1);
        run->sums[(size_t)worker->number * run->rounds + i] = sum;
    }
    return NULL;
}

/* Each sum from 1 on was seen once, and the last one is in the slot. */
static void check_sums(struct bag_verdict *out, const struct run *run)
{
    size_t count = (size_t)run->rounds * THREADS;
    uint8_t *seen = calloc(count + 1, 1);
    pdr_value *value = NULL;

    for (size_t i = 0; seen != NULL && i < count; i++) {
        if (run->sums[i] == 0 || run->sums[i] > count || seen[run->sums[i]]++)
            complain(out, "two updates made the same sum", run->rounds);
        if (!out->is_sound)
            break;
    }
    pdr_rc rc = pdr_bag_get(&value, run->bag, pdr_str_c("n"), NULL);
    if (rc != PDR_OK || number_of(value) != count)
        complain(out, "an update got lost", run->rounds);
    if (pdr_bag_generation(run->bag) != count)
        complain(out, "the generation did not count each change", run->rounds);
    pdr_value_free(value);
    free(seen);
}

void bag_check_counts(struct bag_verdict *out, unsigned rounds)
{
    struct run run = {.rounds = rounds, .seed = 1};
    struct worker workers[THREADS];

    *out = (struct bag_verdict){.is_sound = true};
    run.sums = calloc((size_t)rounds * THREADS, sizeof(*run.sums));
    if (run.sums == NULL ||
        !run_start(&run, workers, "{\"n\":{\"a\":0}}", count_up)) {
        complain(out, "the threads did not start", 0);
        return;
    }
    (void)pthread_barrier_wait(&run.gate);
    run_join(out, &run, workers);
    check_sums(out, &run);
    run_dispose(&run);
    free(run.sums);
}

/* --- snapshots ----------------------------------------------------------- */

/* Threads 0 and 1 set two slots each, 2 and 3 append to one list, the others
 * look at all of it. */
#define SETTERS 2
#define WRITERS 4
#define HELD    32 /* snapshots that a reader keeps to the end */

static void set_two(struct worker *worker)
{
    struct run *run = worker->run;
    char x[8], y[8];

    (void)snprintf(x, sizeof(x), "x%u", worker->number);
    (void)snprintf(y, sizeof(y), "y%u", worker->number);
    for (uint32_t i = 1; i <= run->rounds; i++) {
        struct op op = {.wrote = i};

        if (set(&op, run->bag, pdr_str_c(x), i % 2 == 0) != PDR_OK ||
            set(&op, run->bag, pdr_str_c(y), i % 2 == 0) != PDR_OK)
            atomic_fetch_add(&run->odd, 1);
    }
}

static pdr_rc append_number(pdr_value **io, pdr_err *err, void *arg)
{
    pdr_value *value = value_of(*(uint32_t *)arg);
    pdr_rc rc = value != NULL ? PDR_OK : PDR_ENOMEM;

    (void)sched_yield();
    if (rc == PDR_OK)
        rc = pdr_value_append(io, value, err);
    pdr_value_free(value);
    return rc;
}

static void append_all(struct worker *worker)
{
    struct run *run = worker->run;

    for (uint32_t i = 0; i < run->rounds; i++) {
        uint32_t number = worker->number * run->rounds + i;

        if (pdr_bag_update(run->bag, pdr_str_c("list"), NULL, append_number,
                           &number) != PDR_OK)
            atomic_fetch_add(&run->odd, 1);
    }
}

/* A setter's first slot is as new as its second, or one ahead. */
static bool is_one_moment(const pdr_value *snapshot)
{
    for (unsigned t = 0; t < SETTERS; t++) {
        char x[8], y[8];

        (void)snprintf(x, sizeof(x), "x%u", t);
        (void)snprintf(y, sizeof(y), "y%u", t);
        uint32_t first = number_of(pdr_value_get_c(snapshot, x));
        uint32_t second = number_of(pdr_value_get_c(snapshot, y));
        if (first != second && first != second + 1)
            return false;
    }
    return true;
}

static bool is_prefix(const pdr_value *list, const pdr_value *whole)
{
    pdr_iter it, of;

    pdr_iter_init(&it, list);
    pdr_iter_init(&of, whole);
    while (pdr_iter_next(&it))
        if (!pdr_iter_next(&of) || number_of(it.value) != number_of(of.value))
            return false;
    return true;
}

/* Look until the writers are done; what was held is compared with the end. */
static void look(struct worker *worker)
{
    struct run *run = worker->run;
    size_t all = (size_t)run->rounds * (WRITERS - SETTERS), count = 0;
    pdr_value *held[HELD] = {NULL}, *last = NULL;

    for (size_t i = 0; count < all; i++) {
        pdr_value_free(last);
        last = pdr_bag_snapshot(run->bag);
        size_t now = pdr_value_count(pdr_value_get_c(last, "list"));
        if (now < count || !is_one_moment(last))
            atomic_fetch_add(&run->odd, 1);
        count = now;
        pdr_value_free(held[i % HELD]);
        held[i % HELD] = pdr_value_ref(last);
        if (atomic_load(&run->odd) > 0)
            break; /* else a broken bag would keep us here */
        (void)sched_yield();
    }
    for (size_t i = 0; i < HELD; i++) {
        if (!is_prefix(pdr_value_get_c(held[i], "list"),
                       pdr_value_get_c(last, "list")))
            atomic_fetch_add(&run->odd, 1);
        pdr_value_free(held[i]);
    }
    pdr_value_free(last);
}

static void *write_or_look(void *arg)
{
    struct worker *worker = arg;

    (void)pthread_barrier_wait(&worker->run->gate);
    if (worker->number < SETTERS)
        set_two(worker);
    else if (worker->number < WRITERS)
        append_all(worker);
    else
        look(worker);
    return NULL;
}

void bag_check_snapshots(struct bag_verdict *out, unsigned rounds)
{
    struct run run = {.rounds = rounds, .seed = 1};
    struct worker workers[THREADS];

    *out = (struct bag_verdict){.is_sound = true};
    if (!run_start(&run, workers, "{\"list\":[]}", write_or_look)) {
        complain(out, "the threads did not start", 0);
        return;
    }
    (void)pthread_barrier_wait(&run.gate);
    run_join(out, &run, workers);
    if (!out->is_sound)
        (void)snprintf(out->text, sizeof(out->text),
                       "a snapshot was no point in time");
    run_dispose(&run);
}
