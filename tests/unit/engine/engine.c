/*
 * An engine as a whole: made, started, stopped; what it refuses, and how many
 * runs it has at work.
 */
#include "toy_engine.h"

/* --- making ----------------------------------------------------------------
 */

TEST(engine_new, refuses_options_out_of_their_range)
{
    char long_owner[130];
    const pdr_engine_opts bad[] = {{.workers = 4097},
                                   {.inbox_most = 199},
                                   {.lease_ms = 99},
                                   {.owner = ""},
                                   {.owner = long_owner}};
    const pdr_engine_opts good[] = {{.workers = 4096},
                                    {.inbox_most = 198},
                                    {.lease_ms = 100},
                                    {.owner = "o"},
                                    {.owner = long_owner + 1}};
    pdr_store *store = toys_begin("memory:");
    pdr_engine *engine = NULL;

    memset(long_owner, 'o', sizeof(long_owner) - 1);
    long_owner[sizeof(long_owner) - 1] = '\0';
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_engine_new(&engine, store, &bad[i], &err));
        ASSERT_STR("bad_engine", err.reason);
        ASSERT(engine == NULL);
        ASSERT_RC(PDR_OK, pdr_engine_new(&engine, store, &good[i], NULL));
        pdr_engine_free(engine);
    }
    ASSERT_RC(PDR_OK, pdr_engine_new(&engine, store, NULL, NULL));
    pdr_engine_free(engine);
    pdr_engine_free(NULL);
    toys_end();
}

TEST(engine_add, refuses_tables_that_it_cannot_use)
{
    const pdr_entity_ops whole = *toy_ops("toy-");
    pdr_entity_ops tables[8];
    static const char *const reasons[] = {
        "table_version", "table_version", "missing_slot", "missing_slot",
        "missing_slot",  "missing_slot",  "missing_slot", "missing_slot"};
    pdr_store *store = toys_begin("memory:");
    pdr_engine *engine = NULL;

    for (size_t i = 0; i < PDR_COUNT(tables); i++)
        tables[i] = whole;
    tables[0].version = 0;
    tables[1].version = PDR_ENTITY_OPS_VERSION + 1;
    tables[2].prefix = NULL;
    tables[3].admit = NULL;
    tables[4].can_run = NULL;
    tables[5].claim = NULL;
    tables[6].release = NULL;
    tables[7].run = NULL;
    ASSERT_RC(PDR_OK, pdr_engine_new(&engine, store, NULL, NULL));
    for (size_t i = 0; i < PDR_COUNT(tables); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT(pdr_engine_add(engine, &tables[i], NULL, &err) != PDR_OK);
        ASSERT_STR(reasons[i], err.reason);
    }
    pdr_engine_free(engine);
    toys_end();
}

TEST(engine_add, takes_eight_kinds_each_once)
{
    static const char *const prefixes[] = {"a", "b", "c", "d", "e",
                                           "f", "g", "h", "i"};
    pdr_entity_ops tables[PDR_COUNT(prefixes)];
    pdr_store *store = toys_begin("memory:");
    pdr_engine *engine = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_engine_new(&engine, store, NULL, NULL));
    for (size_t i = 0; i < PDR_COUNT(prefixes); i++) {
        tables[i] = *toy_ops("toy-");
        tables[i].prefix = prefixes[i];
        if (i == PDR_MAX_KINDS)
            break;
        tables[i].at_once = NULL; /* need not be there */
        ASSERT_RC(PDR_OK, pdr_engine_add(engine, &tables[i], NULL, NULL));
        ASSERT_RC(PDR_EEXISTS, pdr_engine_add(engine, &tables[0], NULL, &err));
        ASSERT_STR("entity_exists", err.reason);
    }
    ASSERT_RC(PDR_ELIMIT, pdr_engine_add(engine, &tables[8], NULL, &err));
    ASSERT_STR("too_many_entities", err.reason);
    pdr_engine_free(engine);
    toys_end();
}

TEST(engine_kind, is_the_one_with_the_longest_prefix)
{
    pdr_entity_ops all = *toy_ops("toy-"), blue = all;
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    all.prefix = "";
    blue.prefix = "toy-blue-";
    toy_make(p, store);
    ASSERT_RC(PDR_OK, pdr_engine_add(p->engine, &blue, p, NULL));
    ASSERT(pdr__engine_kind(p->engine, S("x")) == NULL);
    ASSERT(pdr__engine_kind(p->engine, S("toy")) == NULL);
    ASSERT_STR("toy-", pdr__engine_kind(p->engine, S("toy-"))->ops->prefix);
    ASSERT_STR("toy-", pdr__engine_kind(p->engine, S("toy-blue"))->ops->prefix);
    ASSERT_STR("toy-blue-",
               pdr__engine_kind(p->engine, S("toy-blue-1"))->ops->prefix);
    ASSERT_RC(PDR_OK, pdr_engine_add(p->engine, &all, p, NULL));
    ASSERT_STR("", pdr__engine_kind(p->engine, S("x"))->ops->prefix);
    ASSERT_STR("toy-", pdr__engine_kind(p->engine, S("toy-1"))->ops->prefix);
    toys_end();
}

/* --- starting and stopping -------------------------------------------------
 */

TEST(engine_start, fails_without_a_thread_and_can_be_tried_again)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();
    pdr_err err = PDR_ERR_INIT;

    atomic_store(&p->fail_start, 1);
    toy_make(p, store);
    ASSERT_RC(PDR_EIO, pdr_engine_start(p->engine, &err));
    ASSERT_STR("no_thread", err.reason);
    sends(p, "toy-1", "answer", "c1"); /* it can send all the same */
    toy_start(p);
    toy_start(p); /* it is started: nothing happens */
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");

    atomic_store(&q->fail_start, 1); /* this one is not tried again */
    toy_make(q, store);
    ASSERT_RC(PDR_EIO, pdr_engine_start(q->engine, &err));
    toys_end();
}

TEST(engine_send, finds_another_way_if_a_worker_does_not_start)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();

    atomic_store(&p->start_after, 1); /* the keeper */
    atomic_store(&p->fail_start, 3);
    toy_begin(p, store);
    sends(p, "toy-1", "answer", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");

    atomic_store(&p->fail_start, 0);
    session_is("idle | | | request response", store, "toy-1");
    toys_end();
}

TEST(engine_stop, ends_an_engine_that_never_gets_a_worker)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new(), *q = toy_new();

    atomic_store(&p->start_after, 1);
    atomic_store(&p->fail_start, 1000000);
    toy_begin(p, store);
    sends(p, "toy-1", "answer", "c1");
    ASSERT_RC(PDR_OK, pdr_engine_stop(p->engine, PDR_STOP_FINISH, 1, NULL));
    ASSERT_SIZE(1, toy_counts(p).handed_back);
    toy_begin(q, store);
    ends(PDR_OPERATION_COMPLETED, NULL, q, "toy-1", "c1");
    toys_end();
}

TEST(engine_stop, refuses_what_comes_later)
{
    static const pdr_stop ways[] = {PDR_STOP_FINISH, PDR_STOP_HAND_BACK};

    for (size_t i = 0; i < 4; i++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();
        const pdr_operation operation = op_of("toy-1", "answer", "c3");
        pdr_ending *ending = NULL;
        pdr_err err = PDR_ERR_INIT;

        toy_make(p, store);
        if (i < 2) { /* one that was never started can be stopped, too */
            toy_start(p);
            sends(p, "toy-1", "answer", "c1");
            ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
        } else {
            sends(p, "toy-1", "answer", "c2");
        }
        toy_stop(p, ways[i % 2]);
        toy_stop(p, ways[i % 2]); /* again: nothing happens */
        ASSERT_RC(PDR_EMISUSE,
                  pdr_engine_send(NULL, p->engine, &operation, &err));
        ASSERT_STR("engine_stopped", err.reason);
        ASSERT_RC(PDR_EMISUSE, pdr_engine_call(&ending, NULL, p->engine,
                                               &operation, 0, &err));
        ASSERT_RC(PDR_EMISUSE, pdr_engine_start(p->engine, &err));
        ASSERT_STR("engine_stopped", err.reason);
        ASSERT_RC(PDR_EMISUSE, pdr_engine_cancel(p->engine, &operation.session,
                                                 S("c1"), &err));
        ASSERT_STR("engine_stopped", err.reason);
        if (i < 2) /* what has ended is told all the same */
            ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
        else
            wait_fails("engine_stopped", p, "toy-1", "c2");
        ASSERT_RC(PDR_OK, pdr_engine_check(p->engine, NULL));
        toys_end();
    }
}

/* --- refused ---------------------------------------------------------------
 */

/* Long on purpose: one table of all that is refused, and why. */
TEST(engine_send, refuses_what_is_wrong_and_stores_nothing)
{
    static char wide[1100];
    static const struct {
        pdr_str tenant, id, name, input, correlation_id, trace;
        pdr_rc rc;
        const char *reason;
    } cases[] = {
#define ID     .id = {"toy-1", 5}
#define ANSWER .name = {"answer", 6}
        {.id = {"else-1", 6},
         ANSWER,
         .rc = PDR_EINVALID,
         .reason = "no_entity"},
        {.id = {"toy", 3}, ANSWER, .rc = PDR_EINVALID, .reason = "no_entity"},
        {ID, .rc = PDR_EINVALID, .reason = "bad_operation"},
        {ID, .name = {"", 0}, .rc = PDR_EINVALID, .reason = "bad_operation"},
        {ID, .name = {"a\"b", 3}, .rc = PDR_EINVALID,
         .reason = "bad_operation"},
        {ID, .name = {wide, 129}, .rc = PDR_EINVALID,
         .reason = "bad_operation"},
        {ID, ANSWER, .trace = {wide, 129}, .rc = PDR_EINVALID,
         .reason = "bad_operation"},
        {ID, ANSWER, .trace = {"\n", 1}, .rc = PDR_EINVALID,
         .reason = "bad_operation"},
        {ID, ANSWER, .correlation_id = {"", 0}, .rc = PDR_EINVALID,
         .reason = "bad_operation"},
        {ID, ANSWER, .correlation_id = {wide, 1025}, .rc = PDR_EINVALID,
         .reason = "bad_operation"},
        {ID, ANSWER, .correlation_id = {"a\0b", 3}, .rc = PDR_EINVALID,
         .reason = "bad_edit"},
        {ANSWER, .rc = PDR_EINVALID, .reason = "bad_ref"},
        {.id = {"", 0}, ANSWER, .rc = PDR_EINVALID, .reason = "bad_ref"},
        {.id = {wide, 1025}, ANSWER, .rc = PDR_EINVALID, .reason = "bad_ref"},
        {.id = {"toy-\0", 5}, ANSWER, .rc = PDR_EINVALID, .reason = "bad_ref"},
        {ID, ANSWER, .tenant = {wide, 129}, .rc = PDR_EINVALID,
         .reason = "bad_ref"},
        {ID, ANSWER, .tenant = {"", 0}, .rc = PDR_EINVALID,
         .reason = "bad_ref"},
        {ID, ANSWER, .tenant = {"a\0b", 3}, .rc = PDR_EINVALID,
         .reason = "bad_ref"},
        {ID, ANSWER, .input = {"{", 1}, .rc = PDR_EINVALID,
         .reason = "bad_body"},
        {ID, .name = {"refuse", 6}, .rc = PDR_EINVALID,
         .reason = "toy_refused"},
        {ID, .name = {"must", 4}, .rc = PDR_ENOTFOUND, .reason = "no_session"},
        {ID, .name = {"peek", 4}, .input = {"\"fail\"", 6}, .rc = PDR_EIO,
         .reason = "toy_failed"},
#undef ID
#undef ANSWER
    };
    pdr_store *store = toys_begin("memory:");
    struct toy *idle = toy_new(), *started = toy_new();

    memset(wide, 't', sizeof(wide));
    toy_make(idle, store);
    toy_begin(started, store);
    for (size_t i = 0; i < 2 * PDR_COUNT(cases); i++) {
        size_t k = i / 2;
        const pdr_operation operation = {
            .session = {cases[k].tenant, cases[k].id},
            .name = cases[k].name,
            .input = cases[k].input,
            .correlation_id = cases[k].correlation_id,
            .trace = cases[k].trace};
        struct toy *p = i % 2 == 0 ? idle : started;
        pdr_err err = PDR_ERR_INIT;
        pdr_sent sent;

        if (pdr_engine_send(&sent, p->engine, &operation, &err) !=
                cases[k].rc ||
            strcmp(err.reason, cases[k].reason) != 0)
            fail_msg("case %zu: %s", k, err.reason);
        ASSERT_SIZE(0, toys_sessions(store));
    }
    ASSERT_SIZE(PDR_COUNT(cases), toy_counts(idle).refused);
    ASSERT_SIZE(PDR_COUNT(cases), toy_counts(started).refused);
    ASSERT_SIZE(0, toy_counts(started).sent);
    ASSERT_SIZE(0, toy_counts(started).claimed);
    toys_end();
}

TEST(engine_send, bounds_the_inbox)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    const pdr_operation third = op_of("toy-1", "answer", "c3");
    pdr_err err = PDR_ERR_INIT;

    p->opts.inbox_most = 2;
    toy_make(p, store);
    sends(p, "toy-1", "answer", "c1");
    sends(p, "toy-1", "answer", "c2");
    ASSERT_RC(PDR_ELIMIT, pdr_engine_send(NULL, p->engine, &third, &err));
    ASSERT_STR("inbox_full", err.reason);
    ASSERT(sends(p, "toy-1", "answer", "c2").is_repeated); /* is there */
    sends(p, "toy-2", "answer", "c1"); /* of each session so many */
    session_is("idle | operation operation | |", store, "toy-1");
    wait_fails("no_completion", p, "toy-1", "c3");

    toy_start(p);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c2");
    sends(p, "toy-1", "answer", "c3");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c3");
    toys_end();
}

/* --- one after the other, and at the same time -----------------------------
 */

TEST(engine_run, takes_operations_of_a_session_one_after_the_other)
{
    COVERS("D-54");
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    char id[10];

    p->opts.workers = 8;
    toy_begin(p, store);
    sends(p, "toy-1", "hold", "c0");
    for (int i = 1; i < 10; i++) {
        snprintf(id, sizeof(id), "c%d", i);
        sends(p, "toy-1", "answer", id);
    }
    toy_open(p);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c9");
    toy_ordered("c0 c1 c2 c3 c4 c5 c6 c7 c8 c9", p);
    ASSERT_SIZE(1, atomic_load(&p->most_at_work));
    toys_end();
}

/* A run that waits until another one is at work, too. */
static pdr_rc run_meets(struct toy *p, pdr_task *task, pdr_err *err)
{
    int64_t began_ms = 0;

    while (atomic_load(&p->most_at_work) < 2 && toys_waits(&began_ms))
        ;
    return toy_answer(p, task, err);
}

TEST(engine_run, takes_operations_of_two_sessions_at_the_same_time)
{
    COVERS("D-54");
    for (int late = 0; late < 2; late++) {
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();

        p->run = run_meets;
        toy_make(p, store);
        if (!late)
            toy_start(p);
        sends(p, "toy-1", "answer", "c1");
        sends(p, "toy-2", "answer", "c2");
        if (late)
            toy_start(p);
        ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
        ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-2", "c2");
        ASSERT_SIZE(2, atomic_load(&p->most_at_work));
        toys_end();
    }
}

/* The commits of two senders wait for each other. */
static atomic_uint senders;

static pdr_rc both_commit(pdr_store *store, const pdr_edit *edit, void *arg)
{
    int64_t began_ms = 0;

    (void)store;
    (void)arg;
    if (edit->lease.verb != PDR_LEASE_TAKE)
        return PDR_OK;
    atomic_fetch_add(&senders, 1);
    while (atomic_load(&senders) < 2 && toys_waits(&began_ms))
        ;
    return PDR_OK;
}

static size_t idle_workers(struct toy *p)
{
    size_t idle = 0;

    (void)pthread_mutex_lock(&p->engine->lock);
    idle = p->engine->idle;
    (void)pthread_mutex_unlock(&p->engine->lock);
    return idle;
}

TEST(engine_send, finds_a_worker_for_each_of_two_senders_at_once)
{
    pdr_store *store = toys_begin("memory:");
    struct toy *p = toy_new();
    pdr_operation queued = op_of("toy-0", "done", "c0");
    struct caller second = {.p = p, .session = "toy-2", .id = "c2"};

    p->run = run_meets;
    p->opts.poll_ms = p->opts.lease_ms = 100000000; /* nobody looks */
    toy_begin(p, store);
    AWAIT(atomic_load(&p->keeper_until) > 0); /* it has looked */
    queued.due_ms = 1;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p->engine, &queued, NULL));
    AWAIT(idle_workers(p) == 1); /* one came for that */

    atomic_store(&p->is_frozen, true); /* it wakes up late */
    atomic_store(&senders, 0);
    toys_hook(both_commit, NULL);
    caller_sends(&second);
    sends(p, "toy-1", "answer", "c1");
    caller_end(&second);
    ASSERT_RC(PDR_OK, second.rc);
    atomic_store(&p->is_frozen, false);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "c1");
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-2", "c2");
    ASSERT_SIZE(2, atomic_load(&p->most_at_work));
    toys_end();
}

TEST(engine_opts, limit_the_runs_at_work)
{
    static const struct {
        unsigned workers, per_tenant, per_agent, most;
        const char *sessions[4];
    } cases[] = {
        {2, 0, 0, 2, {"toy-1", "toy-2", "toy-3", "toy-4"}},
        {8, 1, 0, 2, {"a/toy-1", "a/toy-2", "b/toy-1", "b/toy-2"}},
        {8, 0, 1, 2, {"@dafx-x@1", "@dafx-x@2", "@dafx-y@1", "@dafx-y@2"}},
        {8, 0, 1, 3, {"a/@dafx-x@1", "b/@dafx-x@1", "toy-1", "b/@dafx-x@2"}},
        {8, 2, 1, 2, {"@dafx-x@1", "@dafx-x@2", "@dafx-y@1", "@dafx-z@1"}},
    };

    for (size_t i = 0; i < 2 * PDR_COUNT(cases); i++) {
        bool late = i % 2 == 1;
        size_t k = i / 2;
        pdr_store *store = toys_begin("memory:");
        struct toy *p = toy_new();

        p->opts.workers = cases[k].workers;
        p->opts.most_per_tenant = cases[k].per_tenant;
        p->opts.most_per_agent = cases[k].per_agent;
        toy_make(p, store);
        if (!late)
            toy_start(p);
        for (size_t n = 0; n < 4; n++)
            sends(p, cases[k].sessions[n], "hold", "c1");
        if (late)
            toy_start(p);
        AWAIT(atomic_load(&p->at_work) == cases[k].most &&
              toy_counts(p).queued == 4 - cases[k].most);
        toy_open(p);
        for (size_t n = 0; n < 4; n++)
            ends(PDR_OPERATION_COMPLETED, NULL, p, cases[k].sessions[n], "c1");
        ASSERT_SIZE(cases[k].most, atomic_load(&p->most_at_work));
        toys_end();
    }
}
