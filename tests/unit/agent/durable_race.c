/*
 * Engines with durable agents, at the moments in between: what somebody else
 * does after one has read and before it commits.
 */
#include <pthread.h>

#include <perdure/durable.h>

#include "agent_stage.h"
#include "hook_store.h"
#include "processes.h"
#include "test.h"

#define ID      "@dafx-clerk@k1"
#define S       pdr_str_c
#define WAIT_MS 60000
#define TURNS   300

static const pdr_ref session = {{NULL, 0}, {ID, sizeof(ID) - 1}};

/* --- two engines ----------------------------------------------------------
 */

/* An engine whose tools stand still until they are let go. */
struct side {
    struct stage_model model;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    int looked, booked;      /* calls that have begun */
    bool may_look, may_book; /* they may end; atomic */
};

static struct side one, other;

static bool is_set(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void set(bool *flag)
{
    __atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
}

/* Wait for something, for a while. Is it so? */
static bool comes_true(bool (*is_so)(void))
{
    int64_t end = monotonic_us() + WAIT_MS * INT64_C(1000);

    while (!is_so() && monotonic_us() < end)
        sleep_us(500);
    return is_so();
}

static void stand_still(const bool *flag)
{
    int64_t end = monotonic_us() + WAIT_MS * INT64_C(1000);

    while (!is_set(flag) && monotonic_us() < end)
        sleep_us(500);
}

static pdr_rc look(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                   void *arg)
{
    struct side *side = arg;
    pdr_rc rc = stage_tool(out, call, err, &side->looked);

    stand_still(&side->may_look);
    return rc;
}

static pdr_rc book(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                   void *arg)
{
    struct side *side = arg;
    pdr_rc rc = stage_tool(out, call, err, &side->booked);

    stand_still(&side->may_book);
    return rc;
}

static void side_begin(struct side *side, pdr_store *store,
                       const char *const *steps, const pdr_engine_opts *opts)
{
    const pdr_tool tools[] = {
        {.name = "look", .fn = look, .arg = side, .is_repeatable = true},
        {.name = "book", .fn = book, .arg = side}};

    memset(side, 0, sizeof(*side));
    stage_model_init(&side->model, steps);
    const pdr_agent_parts parts = {.name = S("clerk"),
                                   .client = &side->model.base,
                                   .tools = tools,
                                   .tool_count = 2};
    ASSERT_RC(PDR_OK, pdr_agent_new(&side->agent, &parts, NULL));
    const pdr_durable_agent agents[] = {{.agent = side->agent}};
    const pdr_durable_opts durable = {.agents = agents, .count = 1};
    ASSERT_RC(PDR_OK, pdr_durable_new(&side->durable, &durable, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_new(&side->engine, store, opts, NULL));
    ASSERT_RC(PDR_OK, pdr_durable_attach(side->engine, side->durable, NULL));
}

static void side_end(struct side *side)
{
    set(&side->may_look);
    set(&side->may_book);
    pdr_engine_free(side->engine);
    pdr_durable_free(side->durable);
    pdr_agent_free(side->agent);
    stage_model_free(&side->model);
}

static pdr_operation run_as(const char *id)
{
    return (pdr_operation){.session = session,
                           .name = S("run"),
                           .input = S("{\"message\":\"Hi\"}"),
                           .correlation_id = S(id)};
}

static void send(struct side *side, const char *id)
{
    const pdr_operation operation = run_as(id);

    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, side->engine, &operation, NULL));
}

static pdr_operation_state await(struct side *side, const char *id)
{
    pdr_ending *ending = NULL;
    pdr_operation_state state = PDR_OPERATION_OPEN;

    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, side->engine, &session, S(id),
                                      WAIT_MS, NULL));
    state = ending->state;
    ASSERT(ending->outcome.ptr != NULL);
    pdr_ending_free(ending);
    return state;
}

static bool one_looks(void)
{
    return __atomic_load_n(&one.looked, __ATOMIC_SEQ_CST) > 0;
}

static bool one_books(void)
{
    return __atomic_load_n(&one.booked, __ATOMIC_SEQ_CST) > 0;
}

static const pdr_engine_opts brief = {.lease_ms = 100, .poll_ms = 20};

/* --- taking over ----------------------------------------------------------
 */

/* The lease of the first one lapses; it goes on when the second one has read
 * its journal and is about to take over. */
static pdr_rc wake_up(pdr_store *store, const pdr_edit *edit, void *arg)
{
    bool *was_woken = arg;

    (void)store;
    if (edit->lease.verb == PDR_LEASE_RENEW && !is_set(was_woken))
        return PDR_EBUSY;
    if (edit->lease.verb != PDR_LEASE_TAKE || edit->journal_count != 1 ||
        !pdr_str_equal(edit->journal[0].kind, S("attempt")) ||
        is_set(was_woken))
        return PDR_OK;
    set(was_woken);
    set(&one.may_look);
    return comes_true(one_books) ? PDR_OK : PDR_EIO;
}

TEST(takeover, sees_what_the_old_worker_did_until_then)
{
    const char *const steps[] = {"call look {}", "call book {}", "say Done",
                                 NULL};
    const char *const rest[] = {"say Done", NULL};
    bool was_woken = false;
    pdr_store *store = hook_open(wake_up, &was_woken);
    pdr_stored *stored = NULL;

    side_begin(&one, store, steps, &brief);
    side_begin(&other, store, rest, &brief);
    set(&other.may_look);
    set(&other.may_book);
    ASSERT_RC(PDR_OK, pdr_engine_start(one.engine, NULL));
    send(&one, "a");
    ASSERT(comes_true(one_looks));
    ASSERT_RC(PDR_OK, pdr_engine_start(other.engine, NULL));
    ASSERT_INT(PDR_OPERATION_COMPLETED, await(&other, "a"));
    ASSERT(is_set(&was_woken));
    ASSERT_INT(1, one.booked + other.booked);
    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &session, NULL, NULL));
    stage_stored_history(
        "user:Hi | assistant:call look | tool:= look did {} | assistant:call "
        "book | tool:= Error: The outcome of this call is unknown: the process "
        "that made it ended before the tool did. Find out what happened before "
        "you call it again. | assistant:Done",
        stored);
    pdr_stored_close(stored);
    side_end(&one);
    side_end(&other);
    pdr_store_close(store);
}

/* --- waiting --------------------------------------------------------------
 */

static _Thread_local int reads; /* of the thread that waits; 0: another one */

static bool one_is_at_rest(void)
{
    pdr_engine_counts counts;

    pdr_engine_counts_get(&counts, one.engine);
    return counts.at_work == 0;
}

/* It ends between the two reads of whoever waits. */
static void end_meanwhile(pdr_store *store, void *arg)
{
    (void)store;
    (void)arg;
    if (reads == 0 || ++reads != 3)
        return;
    set(&one.may_look);
    (void)comes_true(one_is_at_rest);
}

TEST(wait, tells_the_end_of_a_run_that_fails_meanwhile)
{
    const char *const steps[] = {"call look {}", "fail", NULL};
    pdr_store *store = hook_open(NULL, NULL);

    side_begin(&one, store, steps, NULL);
    side_begin(&other, store, steps, NULL);
    ASSERT_RC(PDR_OK, pdr_engine_start(one.engine, NULL));
    send(&one, "a");
    ASSERT(comes_true(one_looks));
    hook_reads(end_meanwhile);
    reads = 1;
    ASSERT_INT(PDR_OPERATION_FAILED, await(&other, "a"));
    reads = 0;
    hook_reads(NULL);
    side_end(&one);
    side_end(&other);
    pdr_store_close(store);
}

/* --- stopping -------------------------------------------------------------
 */

static bool has_stopped;

static void *stop_one(void *arg)
{
    (void)arg;
    if (pdr_engine_stop(one.engine, PDR_STOP_FINISH, WAIT_MS, NULL) == PDR_OK)
        set(&has_stopped);
    return NULL;
}

static bool is_stopped(void)
{
    return is_set(&has_stopped);
}

static bool one_has_stopped(void)
{
    return pdr_engine_cancel(one.engine, &session, S("nobody"), NULL) ==
           PDR_EMISUSE;
}

/* Stop while the first operation is on its way in. */
static pdr_rc stop_meanwhile(pdr_store *store, const pdr_edit *edit, void *arg)
{
    (void)store;
    if (edit->lease.verb != PDR_LEASE_TAKE)
        return PDR_OK;
    if (pthread_create(arg, NULL, stop_one, NULL) != 0)
        return PDR_EIO;
    return comes_true(one_has_stopped) ? PDR_OK : PDR_EIO;
}

TEST(stop, finishes_what_was_claimed_meanwhile)
{
    const char *const steps[] = {"say Done", NULL};
    const pdr_operation next = run_as("b");
    pdr_err err = PDR_ERR_INIT;
    pthread_t thread;
    pdr_store *store = hook_open(stop_meanwhile, &thread);

    has_stopped = false;
    side_begin(&one, store, steps, NULL);
    side_begin(&other, store, steps, NULL);
    ASSERT_RC(PDR_OK, pdr_engine_start(one.engine, NULL));
    send(&one, "a");
    if (!comes_true(is_stopped))
        fail_msg("the engine does not stop");
    ASSERT_INT(0, pthread_join(thread, NULL));
    ASSERT_RC(PDR_EMISUSE, pdr_engine_send(NULL, one.engine, &next, &err));
    ASSERT_STR("engine_stopped", err.reason);
    ASSERT_INT(PDR_OPERATION_COMPLETED, await(&other, "a"));
    side_end(&one);
    side_end(&other);
    pdr_store_close(store);
}

/* --- ending ---------------------------------------------------------------
 */

struct renewal {
    bool is_under_way, is_over; /* atomic */
    bool was_left;              /* the run was gone before it was over */
};

static struct renewal renewal;

static bool renewal_is_under_way(void)
{
    return is_set(&renewal.is_under_way);
}

static bool renewal_is_over(void)
{
    return is_set(&renewal.is_over);
}

static bool one_has_ended(void)
{
    return pdr_engine_check(one.engine, NULL) != PDR_OK;
}

/* The engine ends while the lease of the first session is renewed, and with it
 * the run. */
static pdr_rc end_engine(pdr_store *store, const pdr_edit *edit, void *arg)
{
    int64_t end = 0;

    (void)store;
    (void)arg;
    if (!pdr_str_equal(edit->ref.id, session.id))
        return PDR_EUNKNOWN;
    if (edit->lease.verb != PDR_LEASE_RENEW || renewal_is_under_way())
        return PDR_OK;
    set(&renewal.is_under_way);
    (void)comes_true(one_has_ended);
    set(&one.may_look);
    end = monotonic_us() + 200000; /* longer than it would take */
    while (!one_is_at_rest() && monotonic_us() < end)
        sleep_us(500);
    renewal.was_left = one_is_at_rest();
    set(&renewal.is_over);
    return PDR_OK;
}

/* A model that is asked when the run ends. */
static pdr_rc ask_for_long(void *arg)
{
    set(arg);
    stand_still(&one.may_look);
    return PDR_ECANCELLED;
}

static bool is_asked;

static bool one_asks(void)
{
    return is_set(&is_asked);
}

TEST(end, waits_for_a_renewal_that_is_under_way)
{
    const char *const steps[] = {"say Done", NULL};
    pdr_operation second = run_as("b");
    pdr_store *store = hook_open(end_engine, NULL);

    memset(&renewal, 0, sizeof(renewal));
    second.session.id = S("@dafx-clerk@k2");
    is_asked = false;
    side_begin(&one, store, steps, &brief);
    one.model.hook = ask_for_long;
    one.model.hook_arg = &is_asked;
    ASSERT_RC(PDR_OK, pdr_engine_start(one.engine, NULL));
    send(&one, "a");
    ASSERT(comes_true(one_asks) && comes_true(renewal_is_under_way));
    ASSERT_RC(PDR_EUNKNOWN, pdr_engine_send(NULL, one.engine, &second, NULL));
    ASSERT(comes_true(renewal_is_over));
    ASSERT(!renewal.was_left);
    side_end(&one);
    pdr_store_close(store);
}

/* --- one turn after the other ---------------------------------------------
 */

static pdr_rc count_commit(pdr_store *store, const pdr_edit *edit, void *arg)
{
    (void)store;
    (void)edit;
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
    return PDR_OK;
}

TEST(turn, costs_two_commits_right_after_the_one_before)
{
    const char *const steps[] = {"say Done", NULL};
    int commits = 0;
    pdr_store *store = hook_open(count_commit, &commits);
    char id[16];

    side_begin(&one, store, steps, NULL);
    ASSERT_RC(PDR_OK, pdr_engine_start(one.engine, NULL));
    for (int i = 0; i < TURNS; i++) {
        snprintf(id, sizeof(id), "t%d", i);
        send(&one, id);
        ASSERT_INT(PDR_OPERATION_COMPLETED, await(&one, id));
    }
    /* One that begins to wait when the run has just ended may be faster. */
    ASSERT(commits >= 2 * TURNS && commits <= 2 * TURNS + TURNS / 10);
    side_end(&one);
    pdr_store_close(store);
}
