/*
 * Operations: sent, known again, waited for, delayed, cancelled.
 */
#include "hook_store.h"
#include "toy_engine.h"

/* --- sent and carried out --------------------------------------------------
 */

/* What a run is told, as a text. */
static char told[400];

static pdr_rc run_notes(struct toy *p, pdr_task *task, pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(task);

#define TEXT(part) (int)info->part.len, info->part.ptr
    snprintf(told, sizeof(told),
             "%.*s/%.*s %.*s %.*s %.*s %.*s attempt %u journal %zu seq %d "
             "epoch %d now %d %d ends %d",
             TEXT(session.tenant), TEXT(session.id), TEXT(name), TEXT(input),
             TEXT(correlation_id), TEXT(trace), info->attempt,
             info->journal_count, (int)info->first_seq, info->epoch > 0,
             (int)(info->now_ms - TOYS_NOW),
             (int)(pdr_task_now(task) - TOYS_NOW), (int)pdr_task_ends(task));
#undef TEXT
    return toy_answer(p, task, err);
}

/* An engine that has a free worker claims with the commit that stores; one that
 * is started later finds it. */
TEST(engine_send, stores_an_operation_and_carries_it_out)
{
    for (int late = 0; late < 2; late++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();
        pdr_operation operation = op_of("acme/toy-1", "answer", "c1");
        pdr_ending *ending = NULL;
        pdr_sent sent;

        p->is_played = true;
        p->run = run_notes;
        operation.input = S("{\"a\":[1]}");
        operation.trace = S("trace-7");
        toy_make(p, store);
        if (!late)
            toy_start(p);
        ASSERT_RC(PDR_OK, pdr_engine_send(&sent, p->engine, &operation, NULL));
        ASSERT_STR("c1", sent.correlation_id);
        ASSERT(!sent.is_repeated);
        ASSERT_INT(PDR_OPERATION_OPEN, sent.state);
        if (late) {
            session_is("idle | operation | |", store, "acme/toy-1");
            toy_start(p);
        }
        ASSERT_RC(PDR_OK,
                  pdr_engine_wait(&ending, p->engine, &operation.session,
                                  S("c1"), TOYS_LONG, NULL));
        ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
        ASSERT_TEXT("{\"state\":\"completed\"}", ending->outcome);
        ASSERT_TEXT("{\"run\":1}", ending->answer);
        ASSERT(!ending->is_gone);
        pdr_ending_free(ending);
        session_is("idle | | | request response", store, "acme/toy-1");
        ASSERT_STR("acme/toy-1 answer {\"a\":[1]} c1 trace-7 attempt 1 "
                   "journal 0 seq 1 epoch 1 now 0 0 ends 0",
                   told);

        AWAIT(toy_counts(p).at_work == 0);
        pdr_engine_counts counts = toy_counts(p);
        ASSERT_SIZE(1, counts.sent);
        ASSERT_SIZE(1, counts.claimed);
        ASSERT_SIZE(1, counts.completed);
        ASSERT_SIZE(0, counts.taken_over + counts.repeated + counts.refused +
                           counts.failed + counts.cancelled + counts.lost +
                           counts.retried + counts.handed_back);
        ASSERT_SIZE(0, counts.queued + counts.waiting);
        ASSERT_SIZE(1, toy_heard(p, "run_claimed"));
        toys_end();
    }
}

TEST(engine_send, makes_an_id_where_nobody_gave_one)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    pdr_operation operation = op_of("toy-1", "answer", NULL);
    pdr_sent one, two;

    toy_begin(p, store);
    one = sends(p, "toy-1", "answer", NULL);
    two = sends(p, "toy-1", "answer", NULL);
    ASSERT_SIZE(32, strlen(one.correlation_id));
    ASSERT(strcmp(one.correlation_id, two.correlation_id) != 0);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", one.correlation_id);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", two.correlation_id);

    operation.input = S("\"named\"");
    ASSERT_RC(PDR_OK, pdr_engine_send(&one, p->engine, &operation, NULL));
    ASSERT_STR("from-input", one.correlation_id);
    operation.correlation_id = S("c1"); /* that of the caller comes first */
    ASSERT_RC(PDR_OK, pdr_engine_send(&one, p->engine, &operation, NULL));
    ASSERT_STR("c1", one.correlation_id);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &operation, NULL));
    toys_end();
}

TEST(engine_send, knows_what_was_sent_before)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();
    const pdr_operation other = op_of("toy-1", "end", "c1");
    char first[100], again[100];
    pdr_err err = PDR_ERR_INIT;
    pdr_sent sent;

    toy_begin(p, store);
    toy_begin(q, store);
    sends(p, "toy-1", "hold", "c1");
    for (int i = 0; i < 2; i++) { /* while it is at work, from anywhere */
        sent = sends(i == 0 ? p : q, "toy-1", "hold", "c1");
        ASSERT(sent.is_repeated);
        ASSERT_INT(PDR_OPERATION_OPEN, sent.state);
        ASSERT_STR("c1", sent.correlation_id);
    }
    toy_open(p);
    ends(PDR_OPERATION_COMPLETED, first, p, "toy-1", "c1");
    for (int i = 0; i < 2; i++) { /* when it has ended */
        struct toy *any = i == 0 ? p : q;

        sent = sends(any, "toy-1", "hold", "c1");
        ASSERT(sent.is_repeated);
        ASSERT_INT(PDR_OPERATION_COMPLETED, sent.state);
        ends(PDR_OPERATION_COMPLETED, again, any, "toy-1", "c1");
        ASSERT_STR(first, again);
        ASSERT_RC(PDR_ECONFLICT,
                  pdr_engine_send(NULL, any->engine, &other, &err));
        ASSERT_STR("correlation_reused", err.reason);
    }
    ASSERT_SIZE(1, atomic_load(&p->runs) + atomic_load(&q->runs));
    ASSERT_SIZE(2, toy_counts(q).repeated);
    ASSERT_SIZE(1, toy_counts(q).refused);
    session_is("idle | | | request response", store, "toy-1");
    sends(p, "toy-2", "end", "c1"); /* of another session: another one */
    ends(PDR_OPERATION_FAILED, NULL, p, "toy-2", "c1");
    toys_end();
}

/* Somebody deletes the session while it is sent: after the store said that it
 * knows the operation, or before the commit that claims it. */
static atomic_bool deletes;

static void delete_before_read(pdr_store *store, void *arg)
{
    (void)arg;
    if (atomic_exchange(&deletes, false))
        session_delete(store, "toy-1");
}

static pdr_rc delete_before_claim(pdr_store *store, const pdr_edit *edit,
                                  void *arg)
{
    (void)arg;
    if (edit->lease.verb == PDR_LEASE_TAKE && atomic_exchange(&deletes, false))
        session_delete(store, "toy-1");
    return PDR_OK;
}

TEST(engine_send, makes_a_session_again_that_is_deleted_meanwhile)
{
    pdr_store *store = toys_take(hook_open(NULL, NULL));
    struct toy *p = toy_new();

    toy_make(p, store);
    sends(p, "toy-1", "answer", "c1");
    hook_reads(delete_before_read);
    atomic_store(&deletes, true);
    ASSERT(!sends(p, "toy-1", "answer", "c1").is_repeated);
    ASSERT(!atomic_load(&deletes));
    session_is("idle | operation | |", store, "toy-1");

    store = toys_begin("memory:");
    p = toy_new();
    session_touch(store, "toy-1");
    toys_hook(delete_before_claim, NULL);
    toy_begin(p, store);
    atomic_store(&deletes, true);
    sends(p, "toy-1", "answer", "c1");
    ASSERT(!atomic_load(&deletes));
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    session_is("idle | | | request response", store, "toy-1");
    toys_end();
}

static void *thread_sends(void *arg)
{
    struct toy *p = arg;
    const pdr_operation operation = op_of("toy-1", "answer", "c1");
    pdr_ending *ending = NULL;
    pdr_rc rc =
        pdr_engine_call(&ending, NULL, p->engine, &operation, TOYS_LONG, NULL);
    bool good = rc == PDR_OK && ending->state == PDR_OPERATION_COMPLETED &&
                pdr_str_equal(ending->answer, S("{\"run\":1}"));

    pdr_ending_free(ending);
    return good ? p : NULL;
}

TEST(engine_send, runs_once_what_several_send_at_once)
{
    size_t rounds = test_times(50, 5);

    for (size_t round = 0; round < rounds; round++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new(), *q = toy_new();
        pthread_t threads[4];
        void *good[4];

        toy_begin(p, store);
        toy_begin(q, store);
        for (size_t i = 0; i < PDR_COUNT(threads); i++)
            ASSERT_INT(0, pthread_create(&threads[i], NULL, thread_sends,
                                         i % 2 == 0 ? p : q));
        for (size_t i = 0; i < PDR_COUNT(threads); i++)
            ASSERT_INT(0, pthread_join(threads[i], &good[i]));
        for (size_t i = 0; i < PDR_COUNT(threads); i++)
            ASSERT(good[i] != NULL);
        ASSERT_SIZE(1, toy_counts(p).sent + toy_counts(q).sent);
        ASSERT_SIZE(3, toy_counts(p).repeated + toy_counts(q).repeated);
        ASSERT_SIZE(1, atomic_load(&p->runs) + atomic_load(&q->runs));
        session_is("idle | | | request response", store, "toy-1");
        toys_end();
    }
}

TEST(engine_claim, ends_at_once_what_has_nothing_to_run)
{
    for (int late = 0; late < 2; late++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();

        toy_make(p, store);
        if (!late)
            toy_start(p);
        sends(p, "toy-1", "done", "c1");
        if (late)
            toy_start(p);
        ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
        session_is("idle | | |", store, "toy-1");
        ASSERT_SIZE(0, atomic_load(&p->runs));
        ASSERT_SIZE(0, toy_counts(p).claimed);
        ASSERT_SIZE(1, toy_rested(p).completed);
        ASSERT(sends(p, "toy-1", "done", "c1").is_repeated);
        toys_end();
    }
}

TEST(task_finish, stores_a_failure)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_operation operation = op_of("toy-1", "end", "c1");
    pdr_ending *ending = NULL;
    pdr_sent sent;

    toy_begin(p, store);
    ASSERT_RC(PDR_OK, pdr_engine_call(&ending, &sent, p->engine, &operation,
                                      TOYS_LONG, NULL));
    ASSERT_STR("c1", sent.correlation_id);
    ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
    ASSERT_TEXT("{\"state\":\"failed\",\"code\":\"toy\"}", ending->outcome);
    pdr_ending_free(ending);
    ASSERT_SIZE(1, toy_rested(p).failed);
    ASSERT_INT(PDR_OPERATION_FAILED, sends(p, "toy-1", "end", "c1").state);
    toys_end();
}

/* A run that ends in the way that its id says. */
static pdr_rc run_ends_so(struct toy *p, pdr_task *task, pdr_err *err)
{
    static char large[70000];
    const pdr_task_info *info = pdr_task_info_get(task);
    pdr_entry entry = {.kind = PDR_ROW_RESPONSE,
                       .correlation_id = info->correlation_id,
                       .body = S("{}")};
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = info->session};
    pdr_edit edit = {.entries = &entry, .entry_count = 1};
    pdr_page *page = NULL;
    pdr_committed done;
    pdr_rc rc = pdr_store_read(&page, info->store, &query, err);

    if (rc != PDR_OK)
        return rc;
    edit.revision = page->head.revision;
    pdr_page_free(page);
    (void)toy_hold(p, task);
    if (pdr_str_equal(info->correlation_id, S("large"))) {
        memset(large, 'x', sizeof(large));
        large[0] = large[sizeof(large) - 1] = '"';
        entry.body = pdr_str_n(large, sizeof(large));
    } else if (pdr_str_equal(info->correlation_id, S("request"))) {
        entry.kind = PDR_ROW_REQUEST;
    } else if (pdr_str_equal(info->correlation_id, S("other"))) {
        entry.correlation_id = S("c2");
    } else {
        edit.entry_count = 0;
    }
    atomic_fetch_sub(&p->at_work, 1);
    return pdr_task_finish(&done, task, &edit, PDR_OPERATION_COMPLETED,
                           pdr_str_n(NULL, 0), err);
}

TEST(task_finish, wakes_those_who_wait_whatever_it_adds)
{
    static const struct {
        const char *id;
        size_t len; /* of the answer */
    } cases[] = {{"none", 0}, {"request", 0}, {"other", 0}, {"large", 70000}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();
        struct caller w = {.p = p, .session = "toy-1", .id = cases[i].id};
        const pdr_ref ref = ref_of("toy-1");
        pdr_ending *ending = NULL;

        p->run = run_ends_so;
        toy_begin(p, store);
        sends(p, "toy-1", "answer", cases[i].id);
        caller_waits(&w);
        toy_open(p);
        caller_end(&w);
        ASSERT_RC(PDR_OK, w.rc);
        ASSERT_INT(PDR_OPERATION_COMPLETED, w.state);
        ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, p->engine, &ref,
                                          S(cases[i].id), 0, NULL));
        ASSERT_SIZE(cases[i].len, ending->answer.len);
        pdr_ending_free(ending);
        toys_end();
    }
}

TEST(engine_call, answers_at_once_what_is_not_stored)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_operation operation = op_of("toy-1", "peek", NULL);
    pdr_ending *ending = NULL;
    pdr_sent sent;

    toy_make(p, store); /* nobody has to be at work for that */
    ASSERT_RC(PDR_OK,
              pdr_engine_call(&ending, &sent, p->engine, &operation, 0, NULL));
    ASSERT_INT(PDR_OPERATION_COMPLETED, sent.state);
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    ASSERT_TEXT("{\"peek\":1}", ending->answer);
    ASSERT_TEXT("{\"state\":\"completed\"}", ending->outcome);
    pdr_ending_free(ending);
    ASSERT_INT(PDR_OPERATION_COMPLETED, sends(p, "toy-1", "peek", NULL).state);
    ASSERT_SIZE(0, toys_sessions(store));
    ASSERT_SIZE(2, toy_counts(p).sent);
    toys_end();
}

/* --- waiting ---------------------------------------------------------------
 */

TEST(engine_wait, tells_why_there_is_nothing)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_ref bad = {{NULL, 0}, {"", 0}};
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    toy_make(p, store);
    wait_fails("no_session", p, "toy-1", "c1");
    sends(p, "toy-1", "answer", "c1");
    wait_fails("response_timeout", p, "toy-1", "c1");
    wait_fails("no_completion", p, "toy-1", "c2");
    ASSERT_RC(PDR_EINVALID,
              pdr_engine_wait(&ending, p->engine, &bad, S("c1"), 0, &err));
    ASSERT_STR("bad_ref", err.reason);
    pdr_ending_free(NULL);
    toys_end();
}

TEST(engine_wait, gives_up_after_its_time_and_finds_the_answer_later)
{
    COVERS("D-61");
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_operation operation = op_of("toy-1", "hold", "c1");
    char answer[100];
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    toy_begin(p, store);
    ASSERT_RC(PDR_ETIMEOUT,
              pdr_engine_call(&ending, NULL, p->engine, &operation, 1, &err));
    ASSERT_STR("response_timeout", err.reason);
    ASSERT(ending == NULL);
    session_is("running | guard | operation | request", store, "toy-1");
    ASSERT_SIZE(0, toy_counts(p).waiting);
    toy_open(p);
    ends(PDR_OPERATION_COMPLETED, answer, p, "toy-1", "c1");
    ASSERT_STR("{\"run\":1}", answer);
    toys_end();
}

TEST(engine_wait, wakes_all_that_wait_here_and_in_other_processes)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new(), *r = toy_new();
    struct caller waiters[] = {
        {.p = p, .session = "toy-1", .id = "c1"},
        {.p = p, .session = "toy-1", .id = "c1"},
        {.p = p, .session = "toy-1", .id = "c1"},
        {.p = q, .session = "toy-1", .id = "c1"},
        {.p = r, .session = "toy-1", .id = "c1"},
    };

    toy_begin(p, store);
    toy_begin(q, store);
    toy_make(r, store); /* not started: it looks for itself */
    sends(p, "toy-1", "hold", "c1");
    for (size_t i = 0; i < PDR_COUNT(waiters); i++)
        caller_waits(&waiters[i]);
    toy_open(p);
    for (size_t i = 0; i < PDR_COUNT(waiters); i++) {
        caller_end(&waiters[i]);
        ASSERT_RC(PDR_OK, waiters[i].rc);
        ASSERT_INT(PDR_OPERATION_COMPLETED, waiters[i].state);
    }
    ASSERT_SIZE(0, toy_counts(p).waiting);
    toys_end();
}

TEST(engine_wait, ends_when_the_engine_stops)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    struct caller w = {.p = p, .session = "toy-1", .id = "c1"};

    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    caller_waits(&w);
    toy_stop(p, PDR_STOP_HAND_BACK);
    caller_end(&w);
    ASSERT_RC(PDR_EMISUSE, w.rc);
    ASSERT_STR("engine_stopped", w.reason);
    toys_end();
}

/* --- later -----------------------------------------------------------------
 */

TEST(engine_send, carries_out_a_delayed_operation_when_it_is_due)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    pdr_operation operation = op_of("toy-1", "answer", "late");

    p->is_played = true;
    toy_begin(p, store);
    operation.due_ms = toys_now() + 60000;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &operation, NULL));
    sends(p, "toy-1", "answer", "now"); /* does not wait for that one */
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "now");
    toys_move(59999);
    sends(p, "toy-2", "answer", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-2", "c1");
    session_is("idle | operation | | request response", store, "toy-1");
    toys_move(1); /* the keeper waits for just that */
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "late");
    toy_ordered("now c1 late", p);

    operation.correlation_id = S("past");
    operation.due_ms = toys_now() - 5000;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &operation, NULL));
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "past");
    toys_end();
}

/* --- cancelling ------------------------------------------------------------
 */

static void cancels(struct toy *p, const char *session, const char *id)
{
    const pdr_ref ref = ref_of(session);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_engine_cancel(p->engine, &ref, S(id), &err) != PDR_OK)
        fail_msg("%s %s: %s", session, id, err.message);
}

static void cancel_fails(const char *reason, struct toy *p, const char *session,
                         const char *id)
{
    const pdr_ref ref = ref_of(session);
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_engine_cancel(p->engine, &ref, S(id), &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
}

TEST(engine_cancel, takes_a_waiting_operation_out_of_the_inbox)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    pdr_operation delayed = op_of("toy-1", "answer", "c2");

    toy_make(p, store);
    sends(p, "toy-1", "answer", "c1");
    delayed.due_ms = INT64_MAX - 1;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &delayed, NULL));
    sends(p, "toy-1", "answer", "c3");
    cancels(p, "toy-1", "c1");
    cancels(p, "toy-1", "c1"); /* it has ended: nothing happens */
    cancels(p, "toy-1", "c2");
    session_is("idle | operation | |", store, "toy-1");
    ends(PDR_OPERATION_CANCELLED, NULL, p, "toy-1", "c1");
    ends(PDR_OPERATION_CANCELLED, NULL, p, "toy-1", "c2");
    ASSERT_INT(PDR_OPERATION_CANCELLED,
               sends(p, "toy-1", "answer", "c1").state);
    toy_start(p);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c3");
    toy_ordered("c3", p);
    toys_end();
}

TEST(engine_cancel, ends_a_run_at_work_here_or_elsewhere)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new(), *q = toy_new();
        struct toy *who = elsewhere ? q : p;

        toy_begin(p, store);
        toy_begin(q, store);
        sends(p, "toy-1", "hold", "c1");
        AWAIT(atomic_load(&p->at_work) == 1);
        cancels(who, "toy-1", "c1");
        cancels(who, "toy-1", "c1"); /* twice is as good as once */
        ends(PDR_OPERATION_CANCELLED, NULL, who, "toy-1", "c1");
        ASSERT(atomic_load(&p->heard[PDR_TASK_CANCELLED]) >= 1);
        ASSERT_SIZE(1, toy_rested(p).cancelled);
        /* the word that ended it goes, too */
        AWAIT(session_looks("idle | | | request response", store, "toy-1"));
        sends(who, "toy-1", "answer", "c2");
        ends(PDR_OPERATION_COMPLETED, NULL, who, "toy-1", "c2");
        toys_end();
    }
}

TEST(engine_cancel, leaves_what_has_ended_and_what_is_unknown)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_ref bad = {{NULL, 0}, {NULL, 0}};
    pdr_err err = PDR_ERR_INIT;

    toy_begin(p, store);
    cancel_fails("no_session", p, "toy-1", "c1");
    sends(p, "toy-1", "answer", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    cancels(p, "toy-1", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    session_is("idle | | | request response", store, "toy-1");
    cancel_fails("no_completion", p, "toy-1", "c2");
    ASSERT_RC(PDR_EINVALID, pdr_engine_cancel(p->engine, &bad, S("c1"), &err));
    ASSERT_STR("bad_ref", err.reason);
    toys_end();
}

TEST(engine_cancel, lets_the_operations_behind_it_go_on)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    sends(p, "toy-1", "answer", "c2");
    sends(p, "toy-1", "answer", "c3");
    cancels(p, "toy-1", "c2");
    cancels(p, "toy-1", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c3");
    ends(PDR_OPERATION_CANCELLED, NULL, p, "toy-1", "c1");
    ends(PDR_OPERATION_CANCELLED, NULL, p, "toy-1", "c2");
    toy_ordered("c1 c3", p);
    AWAIT(session_looks("idle | | | request response request response", store,
                        "toy-1"));
    toys_end();
}
