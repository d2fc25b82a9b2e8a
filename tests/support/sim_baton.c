/*
 * sim_baton.c - threads that take turns, and a clock that only they move.
 *
 *      step ──► somebody who can go on ──► step ──► ...
 *               nobody can: the clock jumps to who waits the shortest
 *
 * INVARIANTS
 *   B1  One thread runs, `holder`; all others wait for their turn. So what is
 * in struct sim needs no lock but for handing over. B2  Whoever hands over
 * holds no lock of an engine. So no thread waits for a lock, and what runs
 * depends on the seed alone. B3  Threads of a process that stands still do not
 * get the baton. Those of one that crashed do: they run to their end.
 */
#include "sim.h"

#include "processes.h"

#define START_MS   INT64_C(1700000000000)
#define MAX_STEPS  400000
#define MAX_QUIET  INT64_C(600000) /* ms without a fault or an end */
#define START_FAIL 24
#define WAKE_EARLY 24

/* --- chance ---------------------------------------------------------------
 */

unsigned sim_random(struct sim *sim, unsigned below)
{
    return random_below(&sim->random, below);
}

bool sim_chance(struct sim *sim, unsigned one_of)
{
    return sim_random(sim, one_of) == 0;
}

bool sim_fault(struct sim *sim, bool wanted)
{
    if (!wanted || sim->is_calm || sim->plan.faults <= 0 ||
        !sim_chance(sim, sim->plan.rate))
        return false;
    sim->plan.faults--;
    sim->fault_ms = sim->now_ms;
    return true;
}

/* --- telling --------------------------------------------------------------
 */

const char *sim_event_words(enum sim_event event)
{
    static const char *const words[] = {
#define X(name, words) words,
        SIM_EVENTS(X)
#undef X
    };

    return words[event];
}

void sim_count(struct sim *sim, enum sim_event event)
{
    sim->result->counts[event]++;
    sim_trace(sim, "%s", sim_event_words(event));
}

void sim_trace(struct sim *sim, const char *format, ...)
{
    const struct sim_thread *me = sim->holder;
    va_list args;

    if (!sim->is_traced)
        return;
    fprintf(stderr, "%7" PRId64 " p%u t%u  ", sim->now_ms - sim->begin_ms,
            me->process != NULL ? me->process->number : 0, me->number);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

_Noreturn void sim_mistake(struct sim *sim, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (sim->told != NULL)
        fprintf(sim->told, "%s\n", text);
    else
        fprintf(stderr,
                "seed %" PRIu64 ", step %" PRIu64 ": %s\n"
                "  play it alone: %s\n",
                sim->seed, sim->steps, text, sim->command);
    fflush(NULL);
    process_leave(SIM_STATUS);
}

/* --- the baton ------------------------------------------------------------
 */

static bool is_still(const struct sim *sim, const struct sim_thread *t)
{
    return t->process != NULL && !t->process->is_cut &&
           t->process->stalled_until_ms > sim->now_ms; /* B3 */
}

static bool can_go_on(const struct sim *sim, const struct sim_thread *t)
{
    return !t->is_ended && !is_still(sim, t) &&
           (!t->is_waiting || t->until_ms <= sim->now_ms);
}

/* When a thread can go on if nobody wakes it. */
static int64_t goes_on_at(const struct sim *sim, const struct sim_thread *t)
{
    int64_t when = t->is_waiting ? t->until_ms : sim->now_ms;

    if (is_still(sim, t) && t->process->stalled_until_ms > when)
        when = t->process->stalled_until_ms;
    return when;
}

/* Nobody can go on: let the time pass until somebody can. */
static void clock_jump(struct sim *sim)
{
    int64_t next_ms = PDR_NEVER;

    for (struct sim_thread *t = sim->threads; t != NULL; t = t->next) {
        if (!t->is_ended && goes_on_at(sim, t) < next_ms)
            next_ms = goes_on_at(sim, t);
    }
    for (struct sim_thread *t = sim->threads; next_ms == PDR_NEVER && t != NULL;
         t = t->next) {
        if (!t->is_ended)
            fprintf(stderr, "thread %u of process %u waits\n", t->number,
                    t->process != NULL ? t->process->number : 0);
    }
    if (next_ms == PDR_NEVER)
        sim_mistake(sim, "all threads wait for each other");
    if (next_ms > sim->now_ms)
        sim->now_ms = next_ms;
}

/* Who is next? */
static struct sim_thread *choose(struct sim *sim)
{
    struct sim_thread *me = sim->holder;
    unsigned count = 0, which = 0;

    if (can_go_on(sim, me) && sim_random(sim, 8) >= sim->plan.switches)
        return me;
    while (count == 0) {
        for (struct sim_thread *t = sim->threads; t != NULL; t = t->next)
            count += can_go_on(sim, t);
        if (count == 0)
            clock_jump(sim);
    }
    which = sim_random(sim, count);
    for (struct sim_thread *t = sim->threads; t != NULL; t = t->next) {
        if (can_go_on(sim, t) && which-- == 0)
            return t;
    }
    sim_mistake(sim, "there is no thread to choose");
}

/* Give the baton to somebody, and wait for it unless we end here. */
static void hand_over(struct sim *sim, struct sim_thread *me)
{
    struct sim_thread *next = choose(sim);

    sim->hash = (sim->hash ^ next->number) * UINT64_C(0x100000001B3);
    if (next == me)
        return;
    (void)pthread_mutex_lock(&sim->lock);
    sim->holder = next;
    (void)pthread_cond_signal(&next->turn);
    while (!me->is_ended && sim->holder != me)
        (void)pthread_cond_wait(&me->turn, &sim->lock);
    (void)pthread_mutex_unlock(&sim->lock);
}

void sim_stall(struct sim_process *p)
{
    struct sim *sim = p->sim;
    int64_t ms = 0;

    if (!sim_fault(sim, sim->plan.stalls))
        return;
    ms = (int64_t)sim_random(sim, (unsigned)sim->plan.lease_ms * 3);
    p->stalled_until_ms = sim->now_ms + ms;
    p->stalled_ms += ms;
    sim_count(sim, ms > sim->plan.lease_ms ? SIM_STALL_LONG : SIM_STALL);
}

/* A step takes a little time, and something may happen to the process. */
static void step_pass(struct sim *sim, const char *what)
{
    struct sim_process *p = sim->holder->process;

    if (++sim->steps > MAX_STEPS || sim->now_ms - sim->fault_ms > MAX_QUIET)
        sim_mistake(sim, "it does not come to an end");
    for (const char *c = what; *c != '\0'; c++)
        sim->hash = (sim->hash ^ (uint8_t)*c) * UINT64_C(0x100000001B3);
    sim->now_ms += sim_chance(sim, 3);
    if (p == NULL || p->is_cut || p->engine == NULL)
        return;
    if (sim_fault(sim, sim->plan.crashes && sim_chance(sim, 4))) {
        sim_cut(p, SIM_CRASH);
    } else if (sim_fault(sim, sim->plan.stops && sim_chance(sim, 4))) {
        p->stops = sim_chance(sim, 2) ? SIM_STOPS_FINISH : SIM_STOPS_HAND_BACK;
        sim_wake(sim, &p->stops);
    } else if (sim_chance(sim, 2)) {
        sim_stall(p);
    }
}

void sim_step(struct sim *sim, const char *what)
{
    step_pass(sim, what);
    hand_over(sim, sim->holder);
}

void sim_wait(struct sim *sim, const void *on, int64_t until_ms)
{
    struct sim_thread *me = sim->holder;

    me->is_waiting = true;
    me->on = on;
    me->until_ms = until_ms;
    step_pass(sim, "wait");
    hand_over(sim, me);
    me->is_waiting = false;
}

void sim_wake(struct sim *sim, const void *on)
{
    for (struct sim_thread *t = sim->threads; t != NULL; t = t->next) {
        if (t->is_waiting && t->on == on)
            t->until_ms = 0;
    }
}

void sim_sleep(struct sim *sim, int64_t ms)
{
    const struct sim_process *p = sim->holder->process;

    sim_wait(sim, p != NULL ? (const void *)p : sim->holder, sim->now_ms + ms);
}

/* --- threads --------------------------------------------------------------
 */

static void *thread_run(void *arg)
{
    struct sim_thread *me = arg;
    struct sim *sim = me->sim;

    (void)pthread_mutex_lock(&sim->lock);
    while (sim->holder != me)
        (void)pthread_cond_wait(&me->turn, &sim->lock);
    (void)pthread_mutex_unlock(&sim->lock);
    (void)me->fn(me->arg);
    me->is_ended = true;
    sim_wake(sim, me);
    hand_over(sim, me);
    return NULL;
}

static struct sim_thread *thread_new(struct sim *sim,
                                     struct sim_process *process)
{
    struct sim_thread *t = calloc(1, sizeof(*t));

    if (t == NULL)
        abort();
    t->sim = sim;
    t->process = process;
    t->number = ++sim->thread_count;
    (void)pthread_cond_init(&t->turn, NULL);
    t->next = sim->threads;
    sim->threads = t;
    return t;
}

struct sim_thread *sim_start(struct sim *sim, struct sim_process *process,
                             void *(*fn)(void *), void *arg)
{
    struct sim_thread *t = thread_new(sim, process);

    t->fn = fn;
    t->arg = arg;
    if (pthread_create(&t->thread, NULL, thread_run, t) != 0)
        abort();
    return t;
}

void sim_join(struct sim *sim, struct sim_thread *thread)
{
    struct sim_thread **at = &sim->threads;

    while (!thread->is_ended)
        sim_wait(sim, thread, PDR_NEVER);
    (void)pthread_join(thread->thread, NULL);
    while (*at != thread)
        at = &(*at)->next;
    *at = thread->next;
    (void)pthread_cond_destroy(&thread->turn);
    free(thread);
}

void sim_baton_begin(struct sim *sim)
{
    (void)pthread_mutex_init(&sim->lock, NULL);
    sim->now_ms = sim->begin_ms = sim->fault_ms = START_MS;
    sim->holder = thread_new(sim, NULL);
}

void sim_baton_end(struct sim *sim)
{
    struct sim_thread *me = sim->holder;

    if (sim->threads != me || me->next != NULL)
        sim_mistake(sim, "a thread was left behind");
    (void)pthread_cond_destroy(&me->turn);
    free(me);
    (void)pthread_mutex_destroy(&sim->lock);
}

/* --- the world of an engine -----------------------------------------------
 */

static int64_t world_now(void *ctx)
{
    const struct sim_process *p = ctx;

    return p->sim->now_ms + p->skew_ms;
}

static void world_wait(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                       int64_t until_ms)
{
    const struct sim_process *p = ctx;
    struct sim *sim = p->sim;

    if (until_ms != PDR_NEVER)
        until_ms -= p->skew_ms;
    if (!sim->is_calm && sim_chance(sim, WAKE_EARLY)) {
        sim_count(sim, SIM_EARLY_WAKE);
        until_ms = sim->now_ms;
    }
    (void)pthread_mutex_unlock(lock); /* B2 */
    sim_wait(sim, cond, until_ms);
    (void)pthread_mutex_lock(lock);
}

static bool sleeps_on(const struct sim *sim, const struct sim_thread *t,
                      const void *on)
{
    return t->is_waiting && t->on == on && t->until_ms > sim->now_ms;
}

static void world_wake(void *ctx, pthread_cond_t *cond)
{
    sim_wake(((struct sim_process *)ctx)->sim, cond);
}

/* One of those that are not awake yet. */
static void world_wake_one(void *ctx, pthread_cond_t *cond)
{
    struct sim *sim = ((struct sim_process *)ctx)->sim;
    unsigned count = 0, which = 0;

    for (struct sim_thread *t = sim->threads; t != NULL; t = t->next)
        count += sleeps_on(sim, t, cond);
    if (count == 0)
        return;
    which = sim_random(sim, count);
    for (struct sim_thread *t = sim->threads; t != NULL; t = t->next) {
        if (sleeps_on(sim, t, cond) && which-- == 0)
            t->until_ms = 0;
    }
}

static bool world_start(void *ctx, pthread_t *out, void *(*fn)(void *),
                        void *arg)
{
    struct sim_process *p = ctx;

    if (fn != pdr__keeper_work && p->sim->plan.fails && !p->sim->is_calm &&
        sim_chance(p->sim, START_FAIL)) {
        sim_count(p->sim, SIM_NO_THREAD);
        return false;
    }
    *out = sim_start(p->sim, p, fn, arg)->thread;
    return true;
}

static void world_join(void *ctx, pthread_t thread)
{
    struct sim *sim = ((struct sim_process *)ctx)->sim;
    struct sim_thread *t = sim->threads;

    while (t->fn == NULL || !pthread_equal(t->thread, thread))
        t = t->next;
    sim_join(sim, t);
}

void sim_world_init(struct pdr__world *world, struct sim_process *process)
{
    *world = (struct pdr__world){.now_ms = world_now,
                                 .wait = world_wait,
                                 .wake = world_wake,
                                 .wake_one = world_wake_one,
                                 .start = world_start,
                                 .join = world_join,
                                 .ctx = process};
}
