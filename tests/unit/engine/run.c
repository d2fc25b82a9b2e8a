/*
 * What becomes of runs: handed back, tried again, taken over.
 */
#include "toy_engine.h"

#define AT_WORK "running | guard | operation | request"
#define AT_REST "idle | | | request response"

/* Does it stop? It takes no more operations then. */
static bool is_stopping(struct toy *p)
{
    return pdr__engine_alive(p->engine, NULL) != PDR_OK;
}

static int64_t lease_until(pdr_store *store, const char *session)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = ref_of(session)};
    pdr_page *page = NULL;
    int64_t until_ms = 0;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    until_ms = page->head.lease.until_ms;
    pdr_page_free(page);
    return until_ms;
}

/* --- stopping --------------------------------------------------------------
 */

TEST(engine_stop, lets_runs_finish)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    struct caller h = {.p = p, .how = PDR_STOP_FINISH};

    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    sends(p, "toy-1", "answer", "c2"); /* waits, and is left to others */
    AWAIT(atomic_load(&p->at_work) == 1);
    caller_stops(&h);
    AWAIT(is_stopping(p));
    toy_open(p);
    caller_end(&h);
    ASSERT_RC(PDR_OK, h.rc);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    session_is("idle | operation | | request response", store, "toy-1");
    ASSERT_SIZE(0, toy_counts(p).handed_back);
    ASSERT_SIZE(0, atomic_load(&p->heard[PDR_TASK_HANDED_BACK]));
    toys_end();
}

TEST(engine_stop, hands_back_what_does_not_finish_in_time)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);
    ASSERT_RC(PDR_OK, pdr_engine_stop(p->engine, PDR_STOP_FINISH, 1, NULL));
    ASSERT_SIZE(1, atomic_load(&p->heard[PDR_TASK_HANDED_BACK]));
    ASSERT_SIZE(1, toy_counts(p).handed_back);
    ASSERT_SIZE(1, toy_heard(p, "run_handed_back"));
    session_is(AT_WORK, store, "toy-1");
    ASSERT_INT(0, lease_until(store, "toy-1")); /* nobody has it */
    toys_end();
}

/* One step, then hold. Notes the journal that it began with. */
static char journal_seen[400];
static atomic_uint attempt_seen;

static pdr_rc run_steps_and_holds(struct toy *p, pdr_task *task, pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(task);
    size_t len = 0;
    pdr_rc rc = PDR_OK;

    journal_seen[0] = '\0';
    for (size_t i = 0; i < info->journal_count; i++)
        len += (size_t)snprintf(journal_seen + len, sizeof(journal_seen) - len,
                                "%s%.*s%s", i > 0 ? " " : "",
                                (int)info->journal[i].kind.len,
                                info->journal[i].kind.ptr,
                                info->journal[i].body.len > 2 ? "!" : "");
    atomic_store(&attempt_seen, info->attempt);
    rc = toy_step(task, err);
    if (rc != PDR_OK || toy_hold(p, task) != PDR_TASK_GOES_ON)
        return rc;
    return toy_answer(p, task, err);
}

TEST(engine_stop, hands_a_run_back_with_its_journal_and_all_its_attempts)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new(), *r = toy_new();
    struct toy *all[] = {p, q, r};

    for (size_t i = 0; i < PDR_COUNT(all); i++) {
        all[i]->run = run_steps_and_holds;
        all[i]->opts.max_attempts = 1;
        all[i]->is_played = true; /* no time goes by */
    }
    toy_begin(p, store);
    sends(p, "toy-1", "answer", "c1");
    AWAIT(session_looks("running | guard | operation step | request", store,
                        "toy-1"));
    toy_stop(p, PDR_STOP_HAND_BACK);
    ASSERT_SIZE(1, toy_counts(p).handed_back);

    toy_begin(q, store);
    AWAIT(
        session_looks("running | guard | operation step attempt step | request",
                      store, "toy-1"));
    ASSERT_STR("operation! step", journal_seen);
    ASSERT_SIZE(2, atomic_load(&attempt_seen));
    ASSERT_SIZE(1, toy_counts(q).taken_over);
    ASSERT_SIZE(1, toy_heard(q, "run_taken_over"));
    toy_stop(q, PDR_STOP_HAND_BACK);

    toy_open(r);
    toy_begin(r, store);
    ends(PDR_OPERATION_COMPLETED, NULL, r, "toy-1", "c1");
    ASSERT_STR("operation! step attempt! step", journal_seen);
    ASSERT_SIZE(3, atomic_load(&attempt_seen));
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

TEST(engine_stop, hands_over_to_an_engine_that_is_at_work)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();
    struct caller w = {.p = q, .session = "toy-1", .id = "c1"};

    toy_begin(p, store);
    toy_begin(q, store);
    toy_open(q);
    sends(p, "toy-1", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);
    caller_waits(&w);
    toy_stop(p, PDR_STOP_HAND_BACK);
    caller_end(&w);
    ASSERT_RC(PDR_OK, w.rc);
    ASSERT_INT(PDR_OPERATION_COMPLETED, w.state);
    ASSERT_SIZE(1, toy_counts(q).taken_over);
    toys_end();
}

/* The commit that claims waits until the engine stops. */
static pdr_rc claim_waits(pdr_store *store, const pdr_edit *edit, void *arg)
{
    struct toy *p = arg;
    int64_t began_ms = 0;

    (void)store;
    while (edit->lease.verb == PDR_LEASE_TAKE && !is_stopping(p) &&
           toys_waits(&began_ms))
        ;
    return PDR_OK;
}

TEST(engine_stop, waits_for_what_is_just_being_sent)
{
    for (int how = 0; how < 2; how++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new(), *q = toy_new();
        struct caller h = {.p = p, .session = "toy-1", .id = "c1"};

        toys_hook(claim_waits, p);
        toy_begin(p, store);
        caller_sends(&h);
        AWAIT(toy_counts(p).at_work == 1); /* about to be claimed */
        ASSERT_RC(PDR_OK, pdr_engine_stop(p->engine,
                                          how == 0 ? PDR_STOP_FINISH
                                                   : PDR_STOP_HAND_BACK,
                                          TOYS_LONG, NULL));
        caller_end(&h);
        ASSERT_RC(PDR_OK, h.rc);
        toy_begin(q, store);
        ends(PDR_OPERATION_COMPLETED, NULL, q, "toy-1", "c1");
        session_is(AT_REST, store, "toy-1");
        toys_end();
    }
}

TEST(engine_stop, can_be_called_from_several_threads)
{
    size_t rounds = test_times(20, 3);

    for (size_t round = 0; round < rounds; round++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();
        struct caller h[] = {{.p = p, .how = PDR_STOP_HAND_BACK},
                             {.p = p, .how = PDR_STOP_FINISH},
                             {.p = p, .how = PDR_STOP_HAND_BACK}};

        toy_begin(p, store);
        sends(p, "toy-1", "answer", "c1");
        sends(p, "toy-2", "answer", "c1");
        for (size_t i = 0; i < PDR_COUNT(h); i++)
            caller_stops(&h[i]);
        for (size_t i = 0; i < PDR_COUNT(h); i++) {
            caller_end(&h[i]);
            ASSERT_RC(PDR_OK, h[i].rc);
        }
        ASSERT_SIZE(0, toy_counts(p).at_work);
        toys_end();
    }
}

/* --- tried again -----------------------------------------------------------
 */

TEST(task_settle, tries_again_what_failed_and_gives_up_in_the_end)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_ref ref = ref_of("toy-1");
    pdr_ending *ending = NULL;

    p->is_played = true;
    toy_begin(p, store);
    sends(p, "toy-1", "fail", "c1");
    AWAIT(toy_counts(p).retried == 1 && toy_counts(p).at_work == 0);
    sends(p, "toy-2", "answer", "c1"); /* the engine is at work meanwhile */
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-2", "c1");
    ASSERT_SIZE(2, atomic_load(&p->runs));
    AWAIT_PLAYED(has_ended(p, "toy-1", "c1"));
    ASSERT_RC(PDR_OK,
              pdr_engine_wait(&ending, p->engine, &ref, S("c1"), 0, NULL));
    ASSERT_TEXT("{\"state\":\"failed\",\"code\":\"gave_up\"}", ending->outcome);
    pdr_ending_free(ending);
    ASSERT_SIZE(4, atomic_load(&p->runs)); /* three of it, as usual */
    ASSERT_SIZE(3, toy_counts(p).retried);
    ASSERT_SIZE(2, toy_counts(p).taken_over);
    ASSERT_SIZE(1, toy_rested(p).failed);
    ASSERT_SIZE(3, toy_heard(p, "run_retried toy_failed"));
    session_is("idle | | | request", store, "toy-1");
    sends(p, "toy-1", "answer", "c2"); /* nothing is left in its way */
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c2");
    toys_end();
}

TEST(task_settle, counts_attempts_since_the_last_step)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    p->is_played = true;
    p->opts.max_attempts = 2;
    toy_begin(p, store);
    sends(p, "toy-1", "steps", "c1");
    AWAIT_PLAYED(atomic_load(&p->runs) == 7);
    ASSERT(!has_ended(p, "toy-1", "c1"));
    toy_open(p);
    AWAIT_PLAYED(has_ended(p, "toy-1", "c1"));
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

TEST(engine_claim, tries_again_what_could_not_be_claimed)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_operation operation = op_of("toy-1", "answer", "c0");
    pdr_err err = PDR_ERR_INIT;

    p->is_played = true;
    toy_make(p, store);
    sends(p, "toy-1", "answer", "c1");
    atomic_store(&p->fail_claims, 2);
    toy_start(p);
    AWAIT_PLAYED(has_ended(p, "toy-1", "c1"));
    ASSERT_SIZE(2, toy_heard(p, "claim_failed toy_failed"));
    ASSERT_SIZE(3, atomic_load(&p->claims));
    session_is(AT_REST, store, "toy-1");

    /* Who sends is told, if it is to be claimed with the same commit. */
    AWAIT(toy_counts(p).at_work == 0);
    atomic_store(&p->fail_claims, 1);
    ASSERT_RC(PDR_EIO, pdr_engine_send(NULL, p->engine, &operation, &err));
    ASSERT_STR("toy_failed", err.reason);
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

TEST(engine_claim, leaves_to_others_what_it_cannot_run)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();

    atomic_store(&p->is_shy, true);
    toy_begin(p, store);
    sends(p, "toy-1", "answer", "c1");
    sends(p, "toy-2", "answer", "c1");
    AWAIT(toy_counts(p).queued == 0 && toy_counts(p).at_work == 0);
    session_is("idle | operation | |", store, "toy-1");
    toy_begin(q, store);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-2", "c1");
    ASSERT_SIZE(0, atomic_load(&p->claims));
    ASSERT_SIZE(2, toy_counts(q).claimed);
    toys_end();
}

/* --- leases ----------------------------------------------------------------
 */

TEST(keeper, renews_the_leases_of_runs_at_work)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();

    p->is_played = q->is_played = true;
    p->opts.poll_ms = UINT32_MAX; /* that does not keep it from it */
    toy_begin(p, store);
    toy_begin(q, store);
    sends(p, "toy-1", "hold", "c1");
    for (int i = 0; i < 20; i++) {
        toys_move(10000);
        AWAIT(lease_until(store, "toy-1") > toys_now() + 20000);
        session_is(AT_WORK, store, "toy-1");
    }
    toy_open(p);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    ASSERT_SIZE(0, toy_counts(q).claimed);
    toys_end();
}

TEST(engine_claim, takes_over_a_run_whose_lease_has_lapsed)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();
    struct pdr__figures figures;
    char answer[100];

    p->is_played = q->is_played = true;
    p->run = toy_late;
    atomic_store(&p->is_stubborn, true);
    toy_begin(p, store);
    sends(p, "toy-1", "answer", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);

    q->ahead_ms = 30000; /* p sleeps: for it no time goes by */
    toy_begin(q, store);
    ends(PDR_OPERATION_COMPLETED, answer, q, "toy-1", "c1");
    ASSERT_STR("{\"run\":1}", answer);
    ASSERT_SIZE(1, toy_counts(q).taken_over);
    pdr__figures_get(&figures, q->engine, S(PDR_DEFAULT_TENANT));
    ASSERT_SIZE(1, figures.taken_over);
    ASSERT_SIZE(1, figures.completed);
    ASSERT_SIZE(0, figures.failed + figures.cancelled);
    pdr__figures_get(&figures, q->engine, S("other"));
    ASSERT_SIZE(0, figures.taken_over + figures.completed + figures.at_work);
    pdr__figures_get(&figures, p->engine, S(PDR_DEFAULT_TENANT));
    ASSERT_SIZE(1, figures.at_work);
    ASSERT_SIZE(0, figures.queued + figures.completed + figures.taken_over);
    toy_open(p); /* and wakes up */
    AWAIT(toy_counts(p).at_work == 0);
    ASSERT_INT(PDR_EFENCED, atomic_load(&p->rc_seen));
    ASSERT_INT(PDR_TASK_LOST, atomic_load(&p->end_seen));
    ASSERT_SIZE(1, toy_counts(p).lost);
    ASSERT_SIZE(0, toy_rested(p).completed);
    ASSERT_SIZE(1, toy_heard(p, "run_lost lease_lost"));
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

/* Somebody who is no engine takes the lease. */
static void take_by_hand(pdr_store *store, const char *session, int64_t now_ms)
{
    const pdr_edit edit = {.ref = ref_of(session),
                           .revision = PDR_ANY_REVISION,
                           .lease = {.verb = PDR_LEASE_TAKE,
                                     .owner = S("somebody"),
                                     .until_ms = now_ms + 1000}};
    const pdr_commit_options now = {.now_ms = now_ms};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
}

TEST(keeper, notices_that_somebody_else_has_a_run)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    p->is_played = true;
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);
    take_by_hand(store, "toy-1", toys_now() + 30000);
    toys_move(10000); /* time to renew */
    AWAIT(toy_counts(p).lost == 1 && toy_counts(p).at_work == 0);
    ASSERT(atomic_load(&p->heard[PDR_TASK_LOST]) >= 1);
    AWAIT_PLAYED(atomic_load(&p->runs) == 2); /* when that one has lapsed */
    toy_open(p);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

TEST(engine_claim, gives_up_a_run_whose_attempts_are_used_up)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();

    p->is_played = q->is_played = true;
    atomic_store(&p->is_stubborn, true);
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);
    q->ahead_ms = 60000;
    q->opts.max_attempts = 1;
    toy_begin(q, store);
    ends(PDR_OPERATION_FAILED, NULL, q, "toy-1", "c1");
    ASSERT_SIZE(0, atomic_load(&q->runs));
    ASSERT_SIZE(1, toy_rested(q).failed);
    toy_open(p); /* it lives, and is fenced off */
    AWAIT(toy_counts(p).lost == 1);
    session_is("idle | | | request", store, "toy-1");
    sends(q, "toy-1", "answer", "c2");
    ends(PDR_OPERATION_COMPLETED, NULL, q, "toy-1", "c2");
    toys_end();
}

TEST(engine_cancel, ends_a_run_whose_worker_is_gone)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();
    const pdr_ref ref = ref_of("toy-1");

    p->is_played = q->is_played = true;
    atomic_store(&p->is_stubborn, true);
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);
    q->ahead_ms = 60000;
    toy_make(q, store);
    ASSERT_RC(PDR_OK, pdr_engine_cancel(q->engine, &ref, S("c1"), NULL));
    session_is("running | guard cancel | operation | request", store, "toy-1");
    toy_start(q);
    ends(PDR_OPERATION_CANCELLED, NULL, q, "toy-1", "c1");
    ASSERT_SIZE(0, atomic_load(&q->runs));
    ASSERT_SIZE(1, toy_rested(q).cancelled);
    session_is("idle | | | request", store, "toy-1");
    toys_end();
}

/* A run of 16 MiB in the inbox behind it: more than a page of rows has. */
TEST(engine_claim, finds_the_run_behind_large_operations)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();
    size_t len = (size_t)5 << 20;
    char *input = malloc(len + 1), id[10];
    const pdr_ref ref = ref_of("toy-1");

    ASSERT(input != NULL);
    memset(input, 'x', len);
    input[0] = input[len - 1] = '"';
    input[len] = '\0';
    p->is_played = q->is_played = true;
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c0");
    AWAIT(atomic_load(&p->at_work) == 1);
    for (int i = 1; i < 5; i++) {
        pdr_operation operation = op_of("toy-1", "answer", NULL);

        snprintf(id, sizeof(id), "c%d", i);
        operation.correlation_id = S(id);
        operation.input = pdr_str_n(input, len);
        ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &operation, NULL));
    }
    free(input);
    ASSERT_RC(PDR_OK, pdr_engine_cancel(p->engine, &ref, S("c4"), NULL));
    toy_stop(p, PDR_STOP_HAND_BACK);
    toy_open(q);
    toy_begin(q, store);
    AWAIT_PLAYED(has_ended(q, "toy-1", "c3"));
    ends(PDR_OPERATION_COMPLETED, NULL, q, "toy-1", "c0");
    ends(PDR_OPERATION_CANCELLED, NULL, q, "toy-1", "c4");
    toy_ordered("c0 c1 c2 c3", q);
    toys_end();
}

TEST(engine_claim, takes_over_a_journal_of_several_pages)
{
    const pdr_work row = {.kind = S("step"), .body = S("{}")};
    pdr_work rows[PDR_MAX_PAGE_ROWS];
    const pdr_edit steps = {.revision = PDR_ANY_REVISION,
                            .journal = rows,
                            .journal_count = PDR_COUNT(rows)};
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    pdr_task *task = NULL;

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        rows[i] = row;
    p->is_played = true;
    toy_make(p, store);
    sends(p, "toy-1", "answer", "c1");
    ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
    for (int i = 0; i < 2; i++)
        ASSERT_RC(PDR_OK, pdr_task_commit(NULL, task, &steps, NULL));
    toy_leaves(p, task);
    toys_move(30000);
    ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
    ASSERT_SIZE(1 + 2 * PDR_COUNT(rows), task->info.journal_count);
    for (size_t i = 0; i < task->info.journal_count; i++)
        ASSERT(pdr__work_is(&task->info.journal[i],
                            i == 0 ? PDR_WORK_OPERATION : "step"));
    ASSERT_RC(PDR_OK, toy_answer(p, task, NULL));
    toy_leaves(p, task);
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

/* Kinds of sessions that say which state a claim leaves. */
static pdr_rc claim_says(pdr_claim *claim, pdr_err *err, void *self)
{
    claim->edit->set_state = true;
    claim->edit->state = PDR_SESSION_WAITING;
    return toy_ops("toy-")->claim(claim, err, self);
}

TEST(engine_claim, leaves_the_state_that_the_kind_of_session_says)
{
    pdr_entity_ops ops = *toy_ops("toy-");
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    pdr_task *task = NULL;

    ops.prefix = "says-";
    ops.claim = claim_says;
    p->is_played = true;
    p->opts.max_attempts = 1;
    toy_make(p, store);
    ASSERT_RC(PDR_OK, pdr_engine_add(p->engine, &ops, p, NULL));
    sends(p, "says-1", "answer", "c1");
    ASSERT_RC(PDR_OK, toy_claims(&task, p, "says-1", NULL));
    session_is("waiting | guard | operation | request", store, "says-1");
    toy_leaves(p, task);
    toys_move(30000); /* its attempts are used up */
    ASSERT_RC(PDR_OK, toy_claims(&task, p, "says-1", NULL));
    ASSERT(task == NULL);
    session_is("waiting | | | request", store, "says-1");
    toys_end();
}

/* --- the due list ----------------------------------------------------------
 */

TEST(keeper, reads_on_in_a_list_that_is_longer_than_a_look)
{
    const unsigned many = 5 * PDR_MAX_PAGE_ROWS + 10; /* a look is 5 pages */
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    char id[20];

    p->opts.workers = 4;
    toy_make(p, store);
    for (unsigned i = 0; i < many; i++) {
        snprintf(id, sizeof(id), "toy-%u", i);
        sends(p, id, "done", "c1");
    }
    toy_start(p);
    AWAIT(toy_counts(p).completed == many);
    toys_end();
}

TEST(keeper, leaves_alone_what_nobody_here_knows)
{
    const pdr_work work = {.due_ms = 1,
                           .kind = S(PDR_WORK_OPERATION),
                           .correlation_id = S("c1"),
                           .body = S("{\"name\":\"answer\"}")};
    const pdr_edit edit = {
        .ref = ref_of("else-1"), .inbox = &work, .inbox_count = 1};
    const pdr_commit_options now = {.now_ms = TOYS_NOW};
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    toy_make(p, store);
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
    sends(p, "toy-1", "answer", "c1"); /* comes due later: is read later */
    p->world.wake_one = NULL;          /* a world need not have that */
    toy_start(p);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    session_is("idle | operation | |", store, "else-1");
    sends(p, "toy-1", "answer", "c2");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c2");
    toys_end();
}

/* --- commits of a run ------------------------------------------------------
 */

static void *thread_steps(void *arg)
{
    for (int i = 0; i < 20; i++) {
        if (toy_step(arg, NULL) != PDR_OK)
            return NULL;
    }
    return arg;
}

static pdr_rc run_with_threads(struct toy *p, pdr_task *task, pdr_err *err)
{
    const pdr_edit late = {.revision = 1, .set_state = true};
    const pdr_edit work = {.revision = PDR_ANY_REVISION};
    pthread_t threads[3];
    void *good = task;
    pdr_err why = PDR_ERR_INIT;

    for (size_t i = 0; i < PDR_COUNT(threads); i++)
        (void)pthread_create(&threads[i], NULL, thread_steps, task);
    for (size_t i = 0; i < PDR_COUNT(threads); i++) {
        void *one = NULL;

        (void)pthread_join(threads[i], &one);
        good = one != NULL ? good : NULL;
    }
    /* Once somebody changed the session, the writer has to look again. */
    if (good == NULL ||
        pdr_task_finish(NULL, task, &late, PDR_OPERATION_COMPLETED,
                        pdr_str_n(NULL, 0), &why) != PDR_ECONFLICT ||
        strcmp(why.reason, "revision_changed") != 0)
        return pdr_err_set(err, PDR_EIO, "toy_failed", "not as expected");
    if (toy_answer(p, task, err) != PDR_OK)
        return PDR_EIO;
    /* What comes after the end is refused, and changes nothing. */
    atomic_store(&p->rc_seen, pdr_task_commit(NULL, task, &work, NULL));
    return PDR_OK;
}

TEST(task_commit, can_be_called_from_several_threads)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    p->run = run_with_threads;
    p->opts.lease_ms = 100; /* renewed between the steps */
    session_touch(store, "toy-1");
    session_touch(store, "toy-1");
    toy_begin(p, store);
    sends(p, "toy-1", "answer", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    toy_stop(p, PDR_STOP_FINISH); /* its thread has ended, too */
    ASSERT_INT(PDR_EFENCED, atomic_load(&p->rc_seen));
    ASSERT_SIZE(1, atomic_load(&p->runs));
    ASSERT_SIZE(0, toy_counts(p).lost);
    session_is(AT_REST, store, "toy-1");
    toys_end();
}
