/*
 * Runs whose session changes under them, what imports bring, and stores that
 * end unknown or have a clock of their own.
 */
#include "toy_engine.h"

#define AT_REST "idle | | | request response"

/* --- sessions that change under a run --------------------------------------
 */

TEST(engine_run, is_lost_when_an_import_replaces_its_session)
{
    for (int known = 0; known < 2; known++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();
        struct caller w = {.p = p, .session = "toy-1", .id = "c1"};

        p->is_played = true;
        toy_begin(p, store);
        sends(p, "toy-1", "hold", "c1");
        sends(p, "toy-1", "answer", "c2");
        AWAIT(atomic_load(&p->at_work) == 1);
        caller_waits(&w);
        session_replace(store, "toy-1", known);
        toys_move(10000); /* the keeper renews */
        AWAIT(toy_counts(p).lost == 1);
        AWAIT_PLAYED(has_ended(p, "toy-1", "c2")); /* its inbox went over */
        AWAIT_PLAYED(session_looks(
            known ? "idle | | | request response request request response"
                  : "idle | | | request response request response",
            store, "toy-1"));
        caller_end(&w);
        if (known) { /* the import knows the request: then it failed */
            ASSERT_RC(PDR_OK, w.rc);
            ASSERT_INT(PDR_OPERATION_FAILED, w.state);
        } else {
            ASSERT_RC(PDR_ENOTFOUND, w.rc);
            ASSERT_STR("no_completion", w.reason);
        }
        ASSERT_SIZE(1, toy_heard(p, "run_lost"));
        toys_end();
    }
}

TEST(engine_run, is_lost_when_its_session_is_deleted)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    struct caller w = {.p = p, .session = "toy-1", .id = "c1"};

    p->is_played = true;
    p->run = toy_late;
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 1);
    caller_waits(&w);
    session_delete(store, "toy-1");
    toy_open(p); /* no time goes by: its own commit tells it */
    caller_end(&w);
    ASSERT_RC(PDR_ENOTFOUND, w.rc);
    ASSERT_STR("no_session", w.reason);
    AWAIT(toy_counts(p).lost == 1 && toy_counts(p).at_work == 0);
    ASSERT_INT(PDR_EFENCED, atomic_load(&p->rc_seen));
    session_is("none", store, "toy-1");
    p->run = NULL;
    sends(p, "toy-1", "answer", "c1"); /* nobody knows that id any more */
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    toys_end();
}

/* --- what an import brought ------------------------------------------------
 */

/* A session with a request that nobody ran, or one with its answer, too. */
static void import_entries(pdr_store *store, size_t count)
{
    const pdr_entry entries[] = {
        {.kind = PDR_ROW_REQUEST, .correlation_id = S("c1"), .body = S("{}")},
        {.kind = PDR_ROW_RESPONSE,
         .correlation_id = S("c1"),
         .body = S("{\"run\":0}")}};
    const pdr_edit edit = {
        .ref = ref_of("toy-1"), .entries = entries, .entry_count = count};
    const pdr_commit_options now = {.now_ms = TOYS_NOW};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
}

TEST(engine_send, runs_a_request_that_an_import_brought_once)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    char answer[100];

    import_entries(store, 1);
    toy_make(p, store);
    wait_fails("response_timeout", p, "toy-1", "c1");
    ASSERT(!sends(p, "toy-1", "hold", "c1").is_repeated);
    ASSERT(sends(p, "toy-1", "hold", "c1").is_repeated); /* in the inbox */
    session_is("idle | operation | | request", store, "toy-1");
    toy_start(p);
    AWAIT(atomic_load(&p->at_work) == 1);
    ASSERT(sends(p, "toy-1", "hold", "c1").is_repeated); /* at work */
    toy_open(p);
    ends(PDR_OPERATION_COMPLETED, answer, p, "toy-1", "c1");
    ASSERT_STR("{\"run\":1}", answer);
    ASSERT(sends(p, "toy-1", "hold", "c1").is_repeated); /* ended */
    session_is(AT_REST, store, "toy-1");
    ASSERT_SIZE(1, atomic_load(&p->runs));
    toys_end();
}

TEST(engine_send, gives_the_answer_that_an_import_brought)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_ref ref = ref_of("toy-1");
    pdr_ending *ending = NULL;
    pdr_sent sent;

    import_entries(store, 2);
    toy_begin(p, store);
    sent = sends(p, "toy-1", "answer", "c1");
    ASSERT(sent.is_repeated);
    ASSERT_INT(PDR_OPERATION_COMPLETED, sent.state);
    ASSERT_RC(PDR_OK,
              pdr_engine_wait(&ending, p->engine, &ref, S("c1"), 0, NULL));
    ASSERT_TEXT("{\"run\":0}", ending->answer);
    ASSERT(ending->outcome.ptr == NULL);
    pdr_ending_free(ending);
    ASSERT_SIZE(0, atomic_load(&p->runs));
    toys_end();
}

/* Somebody else commits right before the row goes into the inbox, twice. */
static atomic_int others;

static pdr_rc others_commit(pdr_store *store, const pdr_edit *edit, void *arg)
{
    (void)arg;
    if (edit->inbox_count == 1 && edit->commits != 0 &&
        atomic_fetch_sub(&others, 1) > 0)
        session_touch(store, "toy-1");
    return PDR_OK;
}

TEST(engine_send, looks_again_when_somebody_else_was_faster)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    import_entries(store, 1);
    atomic_store(&others, 2);
    toys_hook(others_commit, NULL);
    toy_begin(p, store);
    ASSERT(!sends(p, "toy-1", "answer", "c1").is_repeated);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    ASSERT(atomic_load(&others) <= 0);
    session_is(AT_REST, store, "toy-1");
    toys_end();
}

/* --- a store that ends unknown ---------------------------------------------
 */

/* Which commit of an engine ends unknown, and was it carried out? */
struct doubt {
    pdr_lease_verb verb;
    bool is_done;
    atomic_int left;
};

static pdr_rc doubt_commit(pdr_store *store, const pdr_edit *edit, void *arg)
{
    struct doubt *d = arg;
    const pdr_commit_options now = {.now_ms = toys_now()};

    if (edit->lease.verb != d->verb || atomic_fetch_sub(&d->left, 1) <= 0)
        return PDR_OK;
    if (d->is_done &&
        pdr_store_commit(NULL, store, edit, 1, &now, NULL) != PDR_OK)
        return PDR_EMISUSE;
    return PDR_EUNKNOWN;
}

TEST(engine_check, tells_of_a_commit_that_ended_unknown)
{
    static const pdr_lease_verb verbs[] = {PDR_LEASE_TAKE, PDR_LEASE_RENEW,
                                           PDR_LEASE_RELEASE};

    for (size_t i = 0; i < 2 * PDR_COUNT(verbs); i++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new(), *q = toy_new();
        struct doubt doubt = {.verb = verbs[i / 2], .is_done = i % 2 == 1};
        struct caller w = {.p = p, .session = "toy-1", .id = "c1"};
        const pdr_operation operation = op_of("toy-1", "hold", "c1");
        const pdr_operation later = op_of("toy-2", "answer", "c2");
        pdr_err err = PDR_ERR_INIT;

        p->is_played = q->is_played = true;
        toys_hook(doubt_commit, &doubt);
        toy_begin(p, store);
        atomic_store(&doubt.left, 1);
        if (verbs[i / 2] == PDR_LEASE_TAKE) {
            ASSERT_RC(PDR_EUNKNOWN,
                      pdr_engine_send(NULL, p->engine, &operation, &err));
            ASSERT_STR("hooked", err.reason);
        } else {
            ASSERT_RC(PDR_OK,
                      pdr_engine_send(NULL, p->engine, &operation, NULL));
            AWAIT(atomic_load(&p->at_work) == 1);
            caller_waits(&w);
            if (verbs[i / 2] == PDR_LEASE_RENEW)
                toys_move(10000);
            else
                toy_open(p);
            caller_end(&w);
            if (i != 5) { /* there the store has the end, and may tell it */
                ASSERT_RC(PDR_EUNKNOWN, w.rc);
                ASSERT_STR("hooked", w.reason);
            }
            AWAIT(toy_counts(p).at_work == 0);
        }
        ASSERT_RC(PDR_EUNKNOWN, pdr_engine_check(p->engine, &err));
        ASSERT_STR("hooked", err.reason);
        ASSERT_RC(PDR_EUNKNOWN, pdr_engine_send(NULL, p->engine, &later, &err));
        ASSERT_RC(PDR_EUNKNOWN,
                  pdr_engine_cancel(p->engine, &later.session, S("c2"), &err));
        ASSERT_RC(PDR_EUNKNOWN, pdr_engine_start(p->engine, &err));
        AWAIT(toy_heard(p, "engine_ended hooked") == 1);
        ASSERT_SIZE(0, toy_counts(p).lost + toy_counts(p).retried);
        ASSERT_RC(PDR_EUNKNOWN,
                  pdr_engine_stop(p->engine, PDR_STOP_FINISH, TOYS_LONG, &err));
        session_is("none", store, "toy-2"); /* nothing more was committed */

        q->ahead_ms = 60000; /* another process goes on */
        toy_open(q);
        toy_begin(q, store);
        ASSERT(sends(q, "toy-1", "hold", "c1").is_repeated == (i != 0));
        ends(PDR_OPERATION_COMPLETED, NULL, q, "toy-1", "c1");
        AWAIT(session_looks(AT_REST, store, "toy-1"));
        toys_end();
    }
}

/* What the listener hears while the engine ends: it stays there until the runs
 * are gone, or wait for their turn. */
static void log_slow(pdr_log_level level, pdr_str event,
                     const pdr_log_field *fields, size_t count, void *arg)
{
    struct toy *p = arg;
    int64_t began_ms = 0;

    (void)level;
    (void)fields;
    (void)count;
    while (pdr_str_equal(event, S("engine_ended")) &&
           toy_counts(p).at_work > atomic_load(&p->turns) &&
           toys_waits(&began_ms))
        ;
}

TEST(engine_failed, leaves_runs_alone_that_somebody_commits_for)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    struct doubt doubt = {.verb = PDR_LEASE_RENEW};

    p->is_played = true;
    p->opts.log = log_slow;
    p->opts.log_arg = p;
    atomic_store(&doubt.left, 1);
    toys_hook(doubt_commit, &doubt);
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    sends(p, "toy-2", "hold", "c1");
    sends(p, "toy-3", "hold", "c1");
    AWAIT(atomic_load(&p->at_work) == 3);
    toys_move(10000); /* the leases of all are renewed together */
    AWAIT(toy_counts(p).at_work == 0);
    ASSERT_RC(PDR_EUNKNOWN, pdr_engine_check(p->engine, NULL));
    toys_end();
}

/* --- a store with a clock of its own ---------------------------------------
 */

TEST(keeper, goes_by_the_clock_of_the_store)
{
    static const int64_t ahead_ms[] = {3600000, -3600000};

    for (size_t i = 0; i < PDR_COUNT(ahead_ms); i++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();
        pdr_operation delayed = op_of("toy-2", "answer", "c1");

        p->is_played = true;
        toys_skew(ahead_ms[i]);
        toy_begin(p, store);
        AWAIT(atomic_load(&p->keeper_until) > toys_now());
        ASSERT(atomic_load(&p->keeper_until) <= toys_now() + 1000);
        sends(p, "toy-1", "fail", "c1");
        delayed.due_ms = toys_now() + ahead_ms[i] + 5000;
        ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &delayed, NULL));
        AWAIT_PLAYED(has_ended(p, "toy-1", "c1")); /* tried again */
        AWAIT_PLAYED(has_ended(p, "toy-2", "c1"));
        ASSERT(toys_now() >= TOYS_NOW + 5000);
        toys_end();
    }
}

TEST(keeper, does_not_hurry_a_store_that_cannot_tell_the_time)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    struct caller w = {.p = p, .session = "toy-1", .id = "c1"};

    p->is_played = true;
    toys_skew(0);
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c1");
    caller_waits(&w);
    AWAIT(atomic_load(&p->keeper_until) > toys_now());
    toys_skew(INT64_MAX);
    toys_move(1000);
    AWAIT(atomic_load(&p->keeper_until) > toys_now()); /* it waits again */
    toys_skew(0);
    toy_open(p);
    caller_end(&w);
    ASSERT_RC(PDR_OK, w.rc);
    toys_end();
}
