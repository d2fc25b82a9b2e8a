/*
 * Engines without memory, and on stores whose calls fail: nothing is lost, done
 * twice or stuck.
 */
#include "fault_store.h"
#include "toy_engine.h"

#define AT_REST "idle | | | request response"

static bool is_nomem(pdr_rc rc)
{
    return rc == PDR_OK || rc == PDR_ENOMEM;
}

/* --- without memory --------------------------------------------------------
 * On one thread: the engine is not started.
 */

static struct toy *begin_paused(pdr_store **store)
{
    struct toy *p = NULL;

    test_pause_failures(true);
    *store = toys_begin("memory:");
    p = toy_new();
    p->is_played = true;
    toy_make(p, *store);
    return p;
}

static void end_paused(void)
{
    test_pause_failures(true);
    toys_end();
    test_pause_failures(false);
}

TEST_OOM(engine_new, cleans_up_after_any_failed_allocation)
{
    pdr_store *store = NULL;
    pdr_engine *engine = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    test_pause_failures(false);
    rc = pdr_engine_new(&engine, store, NULL, NULL);
    ASSERT(is_nomem(rc));
    ASSERT((engine != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        ASSERT_RC(PDR_OK, pdr_engine_add(engine, toy_ops("toy-"), NULL, NULL));
    pdr_engine_free(engine);
    pdr_store_close(store);
}

TEST_OOM(engine_send, stores_all_or_nothing_without_memory)
{
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    const pdr_operation operation = op_of("toy-1", "answer", "c1");
    pdr_rc first = PDR_OK;

    test_pause_failures(false);
    first = pdr_engine_send(NULL, p->engine, &operation, NULL);
    ASSERT(is_nomem(first));
    ASSERT(is_nomem(pdr_engine_send(NULL, p->engine, &operation, NULL)));
    test_pause_failures(true);
    ASSERT(sends(p, "toy-1", "answer", "c1").is_repeated || first != PDR_OK);
    session_is("idle | operation | |", store, "toy-1");
    end_paused();
}

TEST_OOM(engine_send, runs_what_an_import_brought_without_memory)
{
    const pdr_entry entry = {
        .kind = PDR_ROW_REQUEST, .correlation_id = S("c1"), .body = S("{}")};
    const pdr_edit edit = {
        .ref = ref_of("toy-1"), .entries = &entry, .entry_count = 1};
    const pdr_commit_options now = {.now_ms = TOYS_NOW};
    const pdr_operation operation = op_of("toy-1", "answer", "c1");
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
    test_pause_failures(false);
    ASSERT(is_nomem(pdr_engine_send(NULL, p->engine, &operation, NULL)));
    test_pause_failures(true);
    sends(p, "toy-1", "answer", "c1");
    session_is("idle | operation | | request", store, "toy-1");
    end_paused();
}

TEST_OOM(engine_cancel, takes_it_back_or_leaves_it_without_memory)
{
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    const pdr_ref ref = ref_of("toy-1");
    pdr_rc rc = PDR_OK;

    sends(p, "toy-1", "answer", "c1");
    test_pause_failures(false);
    rc = pdr_engine_cancel(p->engine, &ref, S("c1"), NULL);
    test_pause_failures(true);
    ASSERT(is_nomem(rc));
    session_is(rc == PDR_OK ? "idle | | |" : "idle | operation | |", store,
               "toy-1");
    ASSERT(has_ended(p, "toy-1", "c1") == (rc == PDR_OK));
    end_paused();
}

TEST_OOM(engine_wait, gives_an_ending_or_nothing_without_memory)
{
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    const pdr_operation peek = op_of("toy-1", "peek", NULL);
    const pdr_ref ref = ref_of("toy-1");
    pdr_ending *ending = NULL;
    pdr_rc rc = PDR_OK;

    sends(p, "toy-1", "answer", "c1");
    ASSERT_RC(PDR_OK, pdr_engine_cancel(p->engine, &ref, S("c1"), NULL));
    test_pause_failures(false);
    rc = pdr_engine_wait(&ending, p->engine, &ref, S("c1"), 0, NULL);
    ASSERT(is_nomem(rc));
    ASSERT((ending != NULL) == (rc == PDR_OK));
    pdr_ending_free(ending);
    rc = pdr_engine_call(&ending, NULL, p->engine, &peek, 0, NULL);
    ASSERT(is_nomem(rc));
    ASSERT((ending != NULL) == (rc == PDR_OK));
    pdr_ending_free(ending);
    test_pause_failures(true);
    ASSERT_SIZE(0, toy_counts(p).waiting);
    end_paused();
}

/* Claim, by hand, what is due: once, and once more when its lease has lapsed;
 * and finish it. */
TEST_OOM(engine_claim, claims_and_finishes_or_leaves_it_without_memory)
{
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    pdr_task *task = NULL;
    pdr_rc rc = PDR_OK;

    sends(p, "toy-1", "answer", "c1");
    for (int i = 0; i < 2; i++) {
        test_pause_failures(false);
        rc = toy_claims(&task, p, "toy-1", NULL);
        test_pause_failures(true);
        ASSERT(is_nomem(rc));
        ASSERT((task != NULL) == (rc == PDR_OK));
        if (rc != PDR_OK) {
            session_is(i == 0 ? "idle | operation | |"
                              : "running | guard | operation | request",
                       store, "toy-1");
            ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
        }
        if (i == 0) { /* the worker is gone */
            toy_leaves(p, task);
            toys_move(30000);
        }
    }
    test_pause_failures(false);
    rc = toy_answer(p, task, NULL);
    test_pause_failures(true);
    ASSERT(is_nomem(rc));
    if (rc != PDR_OK)
        ASSERT_RC(PDR_OK, toy_answer(p, task, NULL));
    pdr__task_settle(task, PDR_OK, NULL);
    toy_leaves(p, task);
    session_is(AT_REST, store, "toy-1");
    end_paused();
}

/* The same with texts that are large enough to be allocated one by one: of the
 * operation, its id and a journal. */
TEST_OOM(engine_claim, takes_over_large_rows_or_leaves_them_without_memory)
{
    static char input[6000], id[1001];
    const pdr_work row = {.kind = S("step"),
                          .correlation_id = pdr_str_n(id, sizeof(id) - 1),
                          .body = pdr_str_n(input, sizeof(input))};
    const pdr_edit step = {
        .revision = PDR_ANY_REVISION, .journal = &row, .journal_count = 1};
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    pdr_operation operation = op_of("toy-1", "answer", NULL);
    pdr_task *task = NULL;
    pdr_rc rc = PDR_OK;

    memset(input, 'x', sizeof(input));
    input[0] = input[sizeof(input) - 1] = '"';
    memset(id, 'i', sizeof(id) - 1);
    operation.input = pdr_str_n(input, sizeof(input));
    operation.correlation_id = S(id);
    operation.trace = S("t-1");
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &operation, NULL));
    for (int i = 0; i < 2; i++) {
        test_pause_failures(false);
        rc = toy_claims(&task, p, "toy-1", NULL);
        test_pause_failures(true);
        ASSERT(is_nomem(rc));
        if (rc != PDR_OK)
            ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
        if (i == 0) { /* the worker is gone after two steps */
            ASSERT_RC(PDR_OK, pdr_task_commit(NULL, task, &step, NULL));
            ASSERT_RC(PDR_OK, pdr_task_commit(NULL, task, &step, NULL));
            toy_leaves(p, task);
            toys_move(30000);
        }
    }
    ASSERT_SIZE(3, task->info.journal_count);
    ASSERT_BYTES(row.body, task->info.journal[2].body);
    ASSERT_BYTES(operation.input, task->info.input);
    ASSERT_BYTES(operation.trace, task->info.trace);
    toy_leaves(p, task);
    end_paused();
}

/* Who waits is told of an end, or looks for it. */
TEST_OOM(waiters_tell, leaves_word_or_lets_them_read_without_memory)
{
    static const char *const answers[] = {NULL, "{\"run\":1}"};
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    const pdr_ref ref = ref_of("toy-1");
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, &ref);

    for (size_t i = 0; i < PDR_COUNT(answers); i++) {
        struct pdr__waiter other = {.correlation_id = S("c2")};
        struct pdr__waiter waiter = {.next = &other, .correlation_id = S("c1")};
        pdr_str answer =
            answers[i] != NULL ? S(answers[i]) : pdr_str_n(NULL, 0);

        ASSERT_RC(PDR_OK,
                  pdr__map_put(NULL, &p->engine->waiters, key, &waiter, NULL));
        test_pause_failures(false);
        pdr__waiters_tell(p->engine, key, S("c1"), PDR_OPERATION_COMPLETED,
                          S("{\"state\":\"completed\"}"), answer, 4);
        test_pause_failures(true);
        ASSERT(other.ending == NULL);
        if (waiter.ending != NULL) {
            ASSERT_BYTES(answer, waiter.ending->answer);
            ASSERT_TEXT("{\"state\":\"completed\"}", waiter.ending->outcome);
            ASSERT_INT(4, (int)waiter.ending->entries);
        }
        pdr_ending_free(waiter.ending);
        ASSERT(pdr__map_remove(NULL, &p->engine->waiters, key));
    }
    end_paused();
}

/* A worker on this thread, which ends when there is nothing to do: what it
 * cannot do is still in the store. */
TEST_OOM(worker, leaves_in_the_store_what_it_has_no_memory_for)
{
    pdr_store *store = NULL;
    struct toy *p = begin_paused(&store);
    const pdr_ref ref = ref_of("toy-1");
    bool taken = false;

    sends(p, "toy-1", "answer", "c1");
    ASSERT_RC(PDR_OK, pdr__queue_add(&taken, &p->engine->queue, &ref, NULL));
    p->engine->is_over = true;
    test_pause_failures(false);
    (void)pdr__worker_work(p->engine);
    test_pause_failures(true);
    p->engine->is_over = false;
    ASSERT_SIZE(0, toy_counts(p).at_work);
    if (!session_looks(AT_REST, store, "toy-1")) {
        pdr_task *task = NULL;

        toys_move(30000);
        ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
        ASSERT_RC(PDR_OK, toy_answer(p, task, NULL));
        pdr__task_settle(task, PDR_OK, NULL);
        toy_leaves(p, task);
    }
    session_is(AT_REST, store, "toy-1");
    end_paused();
}

/* --- stores that fail ------------------------------------------------------
 */

static struct toy *begin_faulty(pdr_store **store)
{
    struct toy *p = NULL;

    fault_store_register();
    fault_store_set(&(struct fault_plan){.nth = 0});
    *store = toys_begin("fault:memory:");
    p = toy_new();
    p->is_played = true;
    toy_make(p, *store);
    return p;
}

/* One deed, of which a call may fail; what it left then. */
struct deed {
    void (*prepare)(struct toy *p, pdr_store *store);
    pdr_rc (*act)(struct toy *p);
    const char *before, *after; /* of the session */
};

static void prepare_sent(struct toy *p, pdr_store *store)
{
    (void)store;
    sends(p, "toy-1", "answer", "c1");
}

static void prepare_lapsed(struct toy *p, pdr_store *store)
{
    pdr_task *task = NULL;

    prepare_sent(p, store);
    ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
    toy_leaves(p, task);
    toys_move(30000);
}

/* An import put another session in the place of one with a run. */
static void prepare_replaced(struct toy *p, pdr_store *store)
{
    prepare_lapsed(p, store);
    session_replace(store, "toy-1", true);
}

/* A request that an import brought, and that somebody runs. */
static void prepare_imported(struct toy *p, pdr_store *store)
{
    const pdr_entry entry = {
        .kind = PDR_ROW_REQUEST, .correlation_id = S("c1"), .body = S("{}")};
    const pdr_edit edit = {
        .ref = ref_of("toy-1"), .entries = &entry, .entry_count = 1};
    const pdr_commit_options now = {.now_ms = TOYS_NOW};
    pdr_task *task = NULL;

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
    sends(p, "toy-1", "answer", "c1");
    ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
    toy_leaves(p, task);
}

static pdr_rc act_send(struct toy *p)
{
    const pdr_operation operation = op_of("toy-1", "answer", "c1");

    return pdr_engine_send(NULL, p->engine, &operation, NULL);
}

static pdr_rc act_cancel(struct toy *p)
{
    const pdr_ref ref = ref_of("toy-1");

    return pdr_engine_cancel(p->engine, &ref, S("c1"), NULL);
}

static pdr_rc act_claim(struct toy *p)
{
    pdr_task *task = NULL;
    pdr_rc rc = toy_claims(&task, p, "toy-1", NULL);

    toy_leaves(p, task);
    return rc;
}

/* Claim, and finish; what cannot be finished is given back. */
static pdr_rc act_run(struct toy *p)
{
    pdr_task *task = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = toy_claims(&task, p, "toy-1", &err);

    if (rc != PDR_OK)
        return rc;
    rc = toy_answer(p, task, &err);
    pdr__task_settle(task, rc, &err);
    toy_leaves(p, task);
    return rc;
}

TEST(engine, does_all_or_nothing_when_a_call_of_the_store_fails)
{
    static const struct deed deeds[] = {
        {NULL, act_send, "none", "idle | operation | |"},
        {prepare_sent, act_send, "idle | operation | |",
         "idle | operation | |"},
        {prepare_sent, act_cancel, "idle | operation | |", "idle | | |"},
        {prepare_sent, act_claim, "idle | operation | |",
         "running | guard | operation | request"},
        {prepare_lapsed, act_claim, "running | guard | operation | request",
         "running | guard | operation attempt | request"},
        {prepare_replaced, act_claim,
         "idle | guard | | request response request",
         "idle | | | request response request"},
        {prepare_imported, act_send, "running | guard | operation | request",
         "running | guard | operation | request"},
    };

    for (size_t i = 0; i < PDR_COUNT(deeds); i++) {
        bool failed = true;

        for (size_t nth = 1; failed; nth++) {
            const struct fault_plan plan = {.call = FAULT_ANY, .nth = nth};
            pdr_store *store = NULL;
            struct toy *p = begin_faulty(&store);
            pdr_rc rc = PDR_OK;

            if (deeds[i].prepare != NULL)
                deeds[i].prepare(p, store);
            fault_store_set(&plan);
            rc = deeds[i].act(p);
            failed = fault_store_failed() > 0;
            fault_store_set(&(struct fault_plan){.nth = 0});
            ASSERT_RC(failed ? PDR_EIO : PDR_OK, rc);
            session_is(failed ? deeds[i].before : deeds[i].after, store,
                       "toy-1");
            if (failed)
                ASSERT_RC(PDR_OK, deeds[i].act(p));
            session_is(deeds[i].after, store, "toy-1");
            ASSERT_RC(PDR_OK, pdr_engine_check(p->engine, NULL));
            toys_end();
        }
    }
}

TEST(engine, finds_a_run_again_whose_last_commits_failed)
{
    bool failed = true;

    for (size_t nth = 1; failed; nth++) {
        const struct fault_plan plan = {
            .call = FAULT_ANY, .nth = nth, .for_ever = true};
        pdr_store *store = NULL;
        struct toy *p = begin_faulty(&store);

        prepare_sent(p, store);
        fault_store_set(&plan);
        (void)act_run(p);
        failed = fault_store_failed() > 0;
        fault_store_set(&(struct fault_plan){.nth = 0});
        if (failed) { /* when the lease has lapsed, at the latest */
            toys_move(30000);
            ASSERT_RC(PDR_OK, act_run(p));
        }
        session_is(AT_REST, store, "toy-1");
        toys_end();
    }
}

/* The same at work: which call fails depends on the threads, and each may. */
TEST(engine, carries_out_everything_once_on_a_store_that_fails)
{
    static const char *const sessions[] = {"toy-1", "toy-2", "toy-1"};
    static const char *const ids[] = {"c1", "c2", "c3"};
    size_t most = test_times(40, 15), met = 0;

    for (size_t i = 0; i < 2 * most; i++) {
        const struct fault_plan plan = {
            .call = i % 2 == 0 ? FAULT_COMMIT : FAULT_READ, .nth = i / 2 + 1};
        pdr_store *store = NULL;
        struct toy *p = begin_faulty(&store);

        fault_store_set(&plan);
        while (pdr_engine_start(p->engine, NULL) != PDR_OK)
            ;
        for (size_t n = 0; n < PDR_COUNT(ids); n++) {
            const pdr_operation operation =
                op_of(sessions[n], "answer", ids[n]);
            pdr_rc rc = PDR_EIO;

            for (int tries = 0; tries < 3 && rc != PDR_OK; tries++)
                rc = pdr_engine_send(NULL, p->engine, &operation, NULL);
            ASSERT_RC(PDR_OK, rc);
        }
        for (size_t n = 0; n < PDR_COUNT(ids); n++)
            AWAIT_PLAYED(has_ended(p, sessions[n], ids[n]));
        met += fault_store_failed() > 0;
        fault_store_set(&(struct fault_plan){.nth = 0});
        session_is("idle | | | request response request response", store,
                   "toy-1");
        session_is(AT_REST, store, "toy-2");
        ASSERT_RC(PDR_OK, pdr_engine_check(p->engine, NULL));
        ASSERT_SIZE(3, toy_rested(p).completed);
        toys_end();
    }
    ASSERT(met > 0);
}

TEST(engine, goes_on_when_the_store_is_back)
{
    const struct fault_plan down = {
        .call = FAULT_ANY, .nth = 1, .for_ever = true};
    pdr_store *store = NULL;
    struct toy *p = begin_faulty(&store);
    const pdr_operation operation = op_of("toy-3", "answer", "c3");

    toy_start(p);
    sends(p, "toy-1", "hold", "c1");
    sends(p, "toy-2", "steps", "c2");
    AWAIT(atomic_load(&p->at_work) >= 1);
    fault_store_set(&down);
    AWAIT_PLAYED(toys_now() > TOYS_NOW + 100000); /* all leases lapse */
    ASSERT_RC(PDR_EIO, pdr_engine_send(NULL, p->engine, &operation, NULL));
    AWAIT_PLAYED(toy_heard(p, "due_list_failed file_failed") > 0);
    fault_store_set(&(struct fault_plan){.nth = 0});
    toy_open(p);
    AWAIT_PLAYED(has_ended(p, "toy-1", "c1"));
    AWAIT_PLAYED(has_ended(p, "toy-2", "c2"));
    session_is("none", store, "toy-3");
    session_is(AT_REST, store, "toy-1");
    session_is(AT_REST, store, "toy-2");
    ASSERT_SIZE(1, toy_counts(p).refused);
    toys_end();
}
