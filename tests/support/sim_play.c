/*
 * sim_play.c - one play: processes that are started again when they end, and
 * clients that want their operations to end.
 *
 *      supervisor of a slot    start ─► crash, doubt, told to stop ─► stop
 *                                ▲──────────── a while ◄───────────────┘
 *      client                  send, again, wait, cancel, ... until answered
 *
 * Then no more goes wrong: each operation is sent again, and must be known; all
 * processes stop, and nothing may be left to do.
 */
#include "sim.h"

#include "base.h"

#define PROMPT_MS 2000 /* in which a waiter hears of an end, at the latest */

/* --- processes ------------------------------------------------------------
 */

/* From now on the thread is one of this process. */
static void enter(struct sim_process *p)
{
    p->sim->holder->process = p;
}

static void leave(struct sim *sim)
{
    sim->holder->process = NULL;
}

static struct sim_process *process_begin(struct sim *sim)
{
    struct sim_process *p = calloc(1, sizeof(*p));
    pdr_engine_opts opts = {.workers = sim->plan.workers,
                            .inbox_most = sim->plan.inbox,
                            .max_attempts = sim->plan.attempts,
                            .lease_ms = (uint32_t)sim->plan.lease_ms,
                            .poll_ms = (uint32_t)sim->plan.poll_ms,
                            .most_per_tenant = sim->plan.per_tenant,
                            .most_per_agent = sim->plan.per_agent,
                            .min_delay_ms = PDR_NO_DELAY};
    pdr_err err = PDR_ERR_INIT;

    if (p == NULL || sim->process_count == SIM_PROCESSES)
        abort();
    p->sim = sim;
    p->number = sim->process_count + 1;
    snprintf(p->owner, sizeof(p->owner), "p%u", p->number);
    opts.owner = p->owner;
    sim_world_init(&p->world, p);
    if (sim->plan.skew_ms > 0) {
        p->skew_ms = (int64_t)sim_random(sim, (unsigned)sim->plan.skew_ms) -
                     sim->plan.skew_ms / 2;
        sim_count(sim, SIM_SKEW);
    }
    sim->processes[sim->process_count++] = p;
    p->store = sim_store_open(p);
    sim_agent_begin(p);
    if (pdr__engine_new(&p->engine, p->store, &opts, &p->world, &err) !=
            PDR_OK ||
        pdr_durable_attach(p->engine, p->durable, &err) != PDR_OK ||
        pdr_engine_start(p->engine, &err) != PDR_OK)
        sim_mistake(sim, "an engine does not start: %s", err.message);
    return p;
}

/* A process that was told to stop has given all back. */
static void check_stopped(struct sim_process *p)
{
    struct sim *sim = p->sim;
    pdr_engine_counts counts;

    pdr_engine_counts_get(&counts, p->engine);
    sim->result->counts[SIM_HANDED_BACK] += counts.handed_back;
    sim->result->counts[SIM_RETRIED] += counts.retried;
    sim->result->counts[SIM_LOST] += counts.lost;
    if (counts.at_work > 0 || counts.waiting > 0)
        sim_mistake(sim, "an engine that was stopped is at work");
    for (unsigned i = 0; i < sim->plan.sessions; i++) {
        const pdr_query query = {.what = PDR_READ_HEAD,
                                 .ref = sim_ref(&sim->sessions[i])};
        pdr_page *page = NULL;

        if (pdr_store_read(&page, sim->raw, &query, NULL) != PDR_OK)
            continue;
        if (!p->is_cut && !p->was_disturbed &&
            page->head.lease.until_ms > sim->now_ms &&
            pdr_str_equal(page->head.lease.owner, pdr_str_c(p->owner)))
            sim_mistake(sim, "%s: an engine that was stopped has its lease",
                        sim->sessions[i].id);
        pdr_page_free(page);
    }
}

static void process_end(struct sim_process *p, bool is_gentle)
{
    struct sim *sim = p->sim;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (is_gentle && !p->is_cut)
        sim_count(sim, SIM_STOP_FINISH);
    else if (!p->is_cut && !p->is_in_doubt)
        sim_count(sim, SIM_STOP_HAND_BACK);
    rc = pdr_engine_stop(p->engine,
                         is_gentle ? PDR_STOP_FINISH : PDR_STOP_HAND_BACK,
                         is_gentle ? sim_random(sim, 3000) : 0, &err);
    if (rc != PDR_OK && !p->is_cut && !p->is_in_doubt)
        sim_mistake(sim, "an engine does not stop: %s", err.message);
    leave(sim);
    while (p->calls > 0)
        sim_wait(sim, &p->calls, PDR_NEVER);
    check_stopped(p);
    pdr_engine_free(p->engine);
    p->engine = NULL;
    sim_agent_end(p);
    pdr_store_close(p->store);
    p->store = NULL;
    sim_trace(sim, "process %u has ended", p->number);
}

struct slot {
    struct sim *sim;
    unsigned number;
};

/* Keeps a process alive. */
static void *supervise(void *arg)
{
    const struct slot *slot = arg;
    struct sim *sim = slot->sim;

    while (!sim->is_over) {
        struct sim_process *p = process_begin(sim);

        sim->slots[slot->number] = p;
        while (!sim->is_over && !p->is_cut && !p->is_in_doubt &&
               p->stops == SIM_RUNS)
            sim_wait(sim, &p->stops, PDR_NEVER);
        sim->slots[slot->number] = NULL;
        enter(p);
        process_end(p, sim->is_over || p->stops == SIM_STOPS_FINISH);
        if (!sim->is_over)
            sim_wait(sim, sim->slots,
                     sim->now_ms +
                         sim_random(sim, (unsigned)sim->plan.lease_ms * 2));
    }
    return NULL;
}

/* --- calls ----------------------------------------------------------------
 */

/* A process that takes calls; NULL: none does. */
static struct sim_process *process_pick(struct sim *sim)
{
    unsigned first = sim_random(sim, SIM_SLOTS);

    for (unsigned i = 0; i < SIM_SLOTS; i++) {
        struct sim_process *p = sim->slots[(first + i) % SIM_SLOTS];

        if (p != NULL)
            return p;
    }
    return NULL;
}

static void call_begin(struct sim_process *p)
{
    p->calls++;
    enter(p);
    sim_step(p->sim, "call");
}

/* @return true: somebody hears what the process says. */
static bool call_end(struct sim_process *p)
{
    leave(p->sim);
    p->calls--;
    sim_wake(p->sim, &p->calls);
    return !p->is_cut;
}

/* May a call of this process fail in such a way? */
static bool is_excused(const struct sim_process *p, pdr_rc rc)
{
    bool is_over = p->stops != SIM_RUNS || p->sim->is_over || p->is_in_doubt;

    return (p->was_disturbed &&
            (rc == PDR_EIO || rc == PDR_EBUSY || rc == PDR_EUNKNOWN)) ||
           (is_over && rc == PDR_EMISUSE);
}

static pdr_operation operation_make(char room[128], const struct sim_op *op,
                                    bool is_other)
{
    pdr_operation operation = {.session = sim_ref(op->session),
                               .name =
                                   pdr_str_c(op->is_reset ? "reset" : "run"),
                               .correlation_id = pdr_str_c(op->id),
                               .due_ms = op->due_ms};

    if (op->is_reset && is_other) {
        operation.name = pdr_str_c("run");
    }
    if (op->is_empty && !is_other)
        snprintf(room, 128, "{\"messages\":[]}");
    else
        snprintf(room, 128, "{\"message\":\"%s %s\"}", op->id,
                 is_other ? "other" : op->steps);
    if (!op->is_reset || is_other)
        operation.input = pdr_str_c(room);
    return operation;
}

/* What was so before an operation was sent. */
struct sending {
    bool was_known;   /* the store had it */
    bool had_session; /* and its session */
    bool is_other;    /* it is another one under the same id */
};

static struct sending sending_begin(struct sim_op *op, bool is_other)
{
    op->was_sent = true;
    return (struct sending){op->is_known, op->session->epoch != 0, is_other};
}

/* What sending came to. @return true: it was acknowledged. */
static bool sent_check(struct sim_process *p, struct sim_op *op,
                       const struct sending *before, const pdr_sent *sent,
                       pdr_rc rc, const pdr_err *err)
{
    struct sim *sim = p->sim;
    bool is_reused =
        err->reason != NULL && strcmp(err->reason, "correlation_reused") == 0;

    if (rc == PDR_OK) {
        if (before->is_other && !op->session->was_deleted)
            sim_mistake(sim, "%s was taken for something else", op->id);
        if (before->was_known && !sent->is_repeated &&
            !op->session->was_deleted)
            sim_mistake(sim, "%s was taken a second time", op->id);
        if (sent->is_repeated)
            sim_count(sim, SIM_SENT_AGAIN);
        if (op->due_ms > sim->now_ms && !sent->is_repeated)
            sim_count(sim, SIM_DELAYED);
        if (!op->is_known && !op->session->was_deleted)
            sim_mistake(sim, "%s was acknowledged and is not stored", op->id);
        op->is_acked = op->is_known;
        return true;
    }
    if (rc == PDR_ECONFLICT && is_reused && before->is_other) {
        sim_count(sim, SIM_ID_REUSED);
    } else if (rc == PDR_ELIMIT) {
        sim_count(sim, SIM_INBOX_FULL);
    } else if (!is_excused(p, rc) &&
               (rc != PDR_ENOTFOUND || !op->is_reset ||
                (before->had_session && !op->session->was_deleted))) {
        sim_mistake(sim, "sending %s: %s: %s", op->id, pdr_rc_name(rc),
                    err->message);
    }
    return false;
}

/* @return true: it was acknowledged. */
static bool call_send(struct sim_process *p, struct sim_op *op, bool is_other)
{
    char room[128];
    pdr_operation operation = operation_make(room, op, is_other);
    pdr_err err = PDR_ERR_INIT;
    struct sending before;
    pdr_sent sent;
    pdr_rc rc = PDR_OK;

    call_begin(p);
    if (op->was_sent && !op->is_acked && !is_other)
        sim_count(p->sim, SIM_SENT_AFTER_CRASH);
    before = sending_begin(op, is_other);
    rc = pdr_engine_send(&sent, p->engine, &operation, &err);
    if (!call_end(p))
        return false;
    return sent_check(p, op, &before, &sent, rc, &err);
}

/* How waiting ended. @return true: the caller knows how it ended. */
static bool wait_check(struct sim_process *p, struct sim_op *op,
                       pdr_ending *ending, pdr_rc rc, const pdr_err *err,
                       int64_t begin_ms, bool was_acked)
{
    struct sim *sim = p->sim;
    int64_t since_ms = op->ended_ms > begin_ms ? op->ended_ms : begin_ms;
    bool is_over = op->outcome[0] != '\0' && !op->session->was_deleted;

    if (is_over && !p->was_disturbed && p->stalled_ms == 0 &&
        sim->now_ms - since_ms > PROMPT_MS)
        sim_mistake(sim, "%s ended %d ms ago, and a waiter hears it now",
                    op->id, (int)(sim->now_ms - since_ms));
    if (rc == PDR_OK) {
        if (op->ended_by != p && op->ended_ms > begin_ms)
            sim_count(sim, SIM_ANSWERED_ELSEWHERE);
        sim_check_ending(sim, op, ending);
        pdr_ending_free(ending);
        return true;
    }
    if (rc == PDR_ETIMEOUT)
        sim_count(sim, SIM_WAIT_TIMED_OUT);
    else if (rc == PDR_ENOTFOUND && was_acked && !op->session->was_deleted)
        sim_mistake(sim, "waiting for %s: %s", op->id, err->message);
    else if (rc != PDR_ENOTFOUND && !is_excused(p, rc))
        sim_mistake(sim, "waiting for %s: %s: %s", op->id, pdr_rc_name(rc),
                    err->message);
    return false;
}

static bool call_wait(struct sim_process *p, struct sim_op *op,
                      uint32_t timeout_ms)
{
    pdr_ref ref = sim_ref(op->session);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool was_acked = op->is_acked;
    int64_t begin_ms = p->sim->now_ms;
    pdr_rc rc = PDR_OK;

    call_begin(p);
    rc = pdr_engine_wait(&ending, p->engine, &ref, pdr_str_c(op->id),
                         timeout_ms, &err);
    if (!call_end(p)) {
        pdr_ending_free(ending);
        return false;
    }
    return wait_check(p, op, ending, rc, &err, begin_ms, was_acked);
}

/* Send and wait, as one. */
static bool call_call(struct sim_process *p, struct sim_op *op,
                      uint32_t timeout_ms)
{
    char room[128];
    pdr_operation operation = operation_make(room, op, false);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct sending before;
    pdr_sent sent;
    int64_t begin_ms = p->sim->now_ms;
    pdr_rc rc = PDR_OK;

    call_begin(p);
    before = sending_begin(op, false);
    rc = pdr_engine_call(&ending, &sent, p->engine, &operation, timeout_ms,
                         &err);
    if (!call_end(p)) {
        pdr_ending_free(ending);
        return false;
    }
    if (rc == PDR_OK || rc == PDR_ETIMEOUT) {
        (void)sent_check(p, op, &before, &sent, PDR_OK, &err);
        return wait_check(p, op, ending, rc, &err, begin_ms, true);
    }
    if (rc != PDR_ENOTFOUND)
        (void)sent_check(p, op, &before, &sent, rc, &err);
    return false;
}

static void call_cancel(struct sim_process *p, struct sim_op *op)
{
    pdr_ref ref = sim_ref(op->session);
    pdr_err err = PDR_ERR_INIT;
    bool had_ended = false, was_known = false;
    pdr_rc rc = PDR_OK;

    call_begin(p);
    had_ended = op->outcome[0] != '\0';
    was_known = op->is_known;
    op->is_cancelled = true;
    rc = pdr_engine_cancel(p->engine, &ref, pdr_str_c(op->id), &err);
    if (!call_end(p))
        return;
    if (rc == PDR_OK && had_ended)
        sim_count(p->sim, SIM_CANCELLED_LATE);
    if (rc != PDR_OK && !is_excused(p, rc) &&
        (rc != PDR_ENOTFOUND || (was_known && !op->session->was_deleted)))
        sim_mistake(p->sim, "cancelling %s: %s: %s", op->id, pdr_rc_name(rc),
                    err.message);
}

/* An operation that is not stored: "get" or "delete". */
static void call_at_once(struct sim_process *p, struct sim_op *op,
                         const char *name)
{
    pdr_operation operation = {.session = sim_ref(op->session),
                               .name = pdr_str_c(name)};
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool was_there = false;
    pdr_rc rc = PDR_OK;

    call_begin(p);
    was_there = op->session->epoch != 0;
    rc = pdr_engine_call(&ending, NULL, p->engine, &operation, 0, &err);
    pdr_ending_free(ending);
    if (!call_end(p))
        return;
    if (rc == PDR_OK && strcmp(name, "get") == 0)
        sim_count(p->sim, SIM_GOT);
    if (rc != PDR_OK && !is_excused(p, rc) &&
        (rc != PDR_ENOTFOUND || (was_there && !op->session->was_deleted)))
        sim_mistake(p->sim, "%s of %s: %s: %s", name, op->session->id,
                    pdr_rc_name(rc), err.message);
}

/* --- clients --------------------------------------------------------------
 */

/* One thing that a client does about its operation. @return true: it knows how
 * the operation ended. */
static bool client_act(struct sim_process *p, struct sim_op *op, bool *sent)
{
    struct sim *sim = p->sim;
    uint32_t timeout_ms = sim_chance(sim, 3) ? sim_random(sim, 300) : 30000;

    if (!*sent && sim_chance(sim, 3))
        return call_call(p, op, timeout_ms);
    if (!*sent || sim_chance(sim, 6))
        *sent |= call_send(p, op, false);
    else if (op->wants_cancel && sim_chance(sim, 2))
        call_cancel(p, op);
    else if (op->is_acked && !sim->plan.deletes && sim_chance(sim, 10))
        (void)call_send(p, op, true);
    else if (sim_chance(sim, 12))
        call_at_once(p, op, "get");
    else if (sim->plan.deletes && !sim->is_calm && sim_chance(sim, 8))
        call_at_once(p, op, "delete");
    else
        return call_wait(p, op, timeout_ms);
    return false;
}

struct client {
    struct sim *sim;
    unsigned number;
};

static void *client_work(void *arg)
{
    const struct client *client = arg;
    struct sim *sim = client->sim;

    for (unsigned i = 0; i < sim->plan.ops; i++) {
        struct sim_op *op = &sim->ops[i];
        bool sent = false;

        if (i % sim->plan.clients != client->number && !sim_chance(sim, 3))
            continue;
        sim_sleep(sim, sim_random(sim, 100));
        for (;;) {
            struct sim_process *p = process_pick(sim);

            if (p != NULL && client_act(p, op, &sent))
                break;
            if (op->is_reset && op->session->was_deleted)
                break; /* there may be none any more */
            if (op->session->was_deleted && !op->is_acked)
                sent = false;
            sim_sleep(sim, sim_random(sim, 40));
        }
    }
    return NULL;
}

/* --- a play ---------------------------------------------------------------
 */

static void plan_make(struct sim *sim)
{
    struct sim_plan *plan = &sim->plan;
    unsigned troubles = 0;

    plan->sessions = 1 + sim_random(sim, SIM_SESSIONS);
    plan->ops = 2 + sim_random(sim, SIM_OPS - 1);
    plan->slots = sim_chance(sim, 2) ? 2 + sim_random(sim, 2) : 1;
    plan->clients = 1 + sim_random(sim, SIM_CLIENTS);
    plan->workers = 1 + sim_random(sim, 3);
    plan->attempts = 1 + sim_random(sim, 3);
    plan->inbox = sim_chance(sim, 4) ? 2 + sim_random(sim, 2) : 0;
    plan->lease_ms = 300 + sim_random(sim, 1200);
    plan->poll_ms = 20 + sim_random(sim, 200);
    plan->skew_ms = sim_chance(sim, 4) ? 1 + sim_random(sim, 100000) : 0;
    plan->per_tenant = sim_chance(sim, 8);
    plan->per_agent = sim_chance(sim, 8);
    plan->switches = 1 + sim_random(sim, 8);
    plan->rate = 4u << sim_random(sim, 6);
    plan->faults = (int)sim_random(sim, sim_chance(sim, 8) ? 40 : 10);
    troubles = sim_random(sim, 64);
    plan->crashes = troubles & 1;
    plan->stalls = troubles & 2;
    plan->fails = troubles & 4;
    plan->stops = troubles & 8;
    plan->models = troubles & 16;
    plan->is_calm = plan->faults == 0 && !plan->fails;
    plan->deletes = (troubles & 32) != 0 && sim_chance(sim, 4);
    plan->ttl_ms = plan->deletes ? 500 + sim_random(sim, 2000) : 0;
}

static void ops_make(struct sim *sim)
{
    static const char *const steps[] = {".",   "l",    "b",   "lb",    "bl,l",
                                        "l,b", "bb,b", "f,b", "lf,l,b"};

    for (unsigned i = 0; i < sim->plan.sessions; i++) {
        struct sim_session *s = &sim->sessions[i];

        snprintf(s->id, sizeof(s->id), "@dafx-clerk@s%u", i);
        snprintf(s->tenant, sizeof(s->tenant), "t%u", sim_random(sim, 2));
        s->first_seq = s->next_seq = 1;
    }
    for (unsigned i = 0; i < sim->plan.ops; i++) {
        struct sim_op *op = &sim->ops[i];

        op->number = i;
        op->session = &sim->sessions[i % sim->plan.sessions];
        op->is_reset = i >= sim->plan.sessions && sim_chance(sim, 6);
        op->is_empty = !op->is_reset && sim_chance(sim, 12);
        op->wants_cancel = sim_chance(sim, 5);
        op->due_ms =
            sim_chance(sim, 5) ? sim->now_ms + 1 + sim_random(sim, 2000) : 0;
        snprintf(op->id, sizeof(op->id), "op%u", i);
        snprintf(op->steps, sizeof(op->steps), "%s",
                 steps[sim_random(sim, PDR_COUNT(steps))]);
    }
}

/* Nothing goes wrong any more: each operation is known to whoever sends it. */
static void audit(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.ops; i++) {
        struct sim_op *op = &sim->ops[i];
        bool is_known = false, is_answered = false;

        while (op->is_known && (!is_known || !is_answered)) {
            struct sim_process *p = process_pick(sim);

            if (p != NULL && !is_known)
                is_known = call_send(p, op, false);
            else if (p != NULL)
                is_answered = call_wait(p, op, 30000);
            else
                sim_sleep(sim, 20);
        }
    }
}

/* Is there nothing left to do? */
static bool is_quiet(struct sim *sim)
{
    bool is_quiet = true;

    for (unsigned i = 0; i < sim->plan.sessions; i++) {
        const pdr_query query = {.what = PDR_READ_HEAD,
                                 .ref = sim_ref(&sim->sessions[i])};
        pdr_page *page = NULL;

        if (pdr_store_read(&page, sim->raw, &query, NULL) == PDR_OK)
            is_quiet &= page->head.inbox == 0;
        pdr_page_free(page);
    }
    return is_quiet;
}

/* The driver, on the first thread. */
static void play(struct sim *sim)
{
    struct sim_thread *threads[SIM_SLOTS], *clients[SIM_CLIENTS];
    struct slot slots[SIM_SLOTS];
    struct client people[SIM_CLIENTS];

    for (unsigned i = 0; i < sim->plan.slots; i++) {
        slots[i] = (struct slot){sim, i};
        threads[i] = sim_start(sim, NULL, supervise, &slots[i]);
    }
    for (unsigned i = 0; i < sim->plan.clients; i++) {
        people[i] = (struct client){sim, i};
        clients[i] = sim_start(sim, NULL, client_work, &people[i]);
    }
    for (unsigned i = 0; i < sim->plan.clients; i++)
        sim_join(sim, clients[i]);
    sim->is_calm = true;
    audit(sim);
    while (!is_quiet(sim))
        sim_sleep(sim, 50);
    sim->is_over = true;
    for (unsigned i = 0; i < SIM_SLOTS; i++) {
        if (sim->slots[i] != NULL)
            sim_wake(sim, &sim->slots[i]->stops);
    }
    sim_wake(sim, sim->slots);
    for (unsigned i = 0; i < sim->plan.slots; i++)
        sim_join(sim, threads[i]);
}

void sim_play(struct sim_result *out, const struct sim_seed *seed)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    size_t before = test_live_allocations();

    if (sim == NULL)
        abort();
    sim->seed = sim->random = sim->hash = seed->seed;
    sim->variant = seed->variant;
    sim->command = seed->command;
    sim->told = seed->told;
    sim->result = out;
    sim->is_traced = getenv("SIM_TRACE") != NULL;
    sim_baton_begin(sim);
    plan_make(sim);
    ops_make(sim);
    if (pdr_store_open(&sim->raw, "memory:", NULL) != PDR_OK)
        abort();
    play(sim);
    sim_check_end(sim);
    pdr_store_close(sim->raw);
    if (test_live_allocations() != before)
        sim_mistake(sim, "%zu allocations were not released",
                    test_live_allocations() - before);
    for (unsigned i = 0; i < sim->process_count; i++)
        free(sim->processes[i]);
    out->steps += sim->steps;
    out->commits += sim->commits;
    out->operations += sim->plan.ops;
    out->hash = sim->hash;
    sim_baton_end(sim);
    free(sim);
}
