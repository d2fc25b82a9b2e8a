/*
 * Events of runs on their way to the store, on the thread of the test: there is
 * no thread that stores them by and by.
 */
#include <limits.h>

#include <limits.h>

#include "toy_engine.h"

/* A run of "c1" that was claimed by hand. */
static struct toy *begin_claimed(pdr_task **task, pdr_store **store)
{
    struct toy *p = NULL;

    *store = toys_begin("memory:");
    p = toy_new();
    p->is_played = true;
    atomic_store(&p->fail_start, INT_MAX);
    toy_make(p, *store);
    sends(p, "toy-1", "answer", "c1");
    ASSERT_RC(PDR_OK, toy_claims(task, p, "toy-1", NULL));
    return p;
}

static void run_settle(struct toy *p, pdr_task *task, pdr_rc rc)
{
    pdr_err why = PDR_ERR_INIT;

    why.reason = "toy_failed";
    pdr__task_settle(task, rc, &why);
    toy_leaves(p, task);
}

/* What happens in a commit that is refused: the run says more meanwhile, and
 * there may be no memory for both. */
struct refusal {
    pdr_task *task;
    int more;
    bool lacks_memory;
    int left; /* commits to refuse */
};

static pdr_rc refuse_commit(pdr_store *store, const pdr_edit *edit, void *arg)
{
    struct refusal *r = arg;
    char body[12];

    (void)store;
    (void)edit;
    if (r->left-- <= 0)
        return PDR_OK;
    for (int i = 0; i < r->more; i++) {
        snprintf(body, sizeof(body), "%d", i + 2);
        if (pdr_task_stream(r->task, "piece", S(body), NULL) != PDR_OK)
            return PDR_EMISUSE;
    }
    if (r->lacks_memory)
        test_fail_allocation(1, true);
    return PDR_EIO;
}

TEST(task_stream, keeps_the_events_of_a_commit_that_was_refused)
{
    static const struct {
        int more;
        bool lacks_memory;
        pdr_rc rc; /* of the next commit */
        const char *stream;
    } cases[] = {{0, false, PDR_OK, "1"},
                 {1, false, PDR_OK, "1 2"},
                 {9, false, PDR_OK, "1 2 3 4 5 6 7 8 9 10"},
                 {0, true, PDR_OK, "1"}, /* nothing has to grow */
                 {9, true, PDR_ENOMEM, ""}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_store *store = NULL;
        pdr_task *task = NULL;
        struct toy *p = begin_claimed(&task, &store);
        struct refusal refusal = {.task = task,
                                  .more = cases[i].more,
                                  .lacks_memory = cases[i].lacks_memory,
                                  .left = 1};

        ASSERT_RC(PDR_OK, pdr_task_stream(task, "piece", S("1"), NULL));
        toys_hook(refuse_commit, &refusal);
        ASSERT_RC(PDR_EIO, toy_step(task, NULL));
        test_fail_allocation(0, false);
        session_streams("", store, "toy-1");
        ASSERT_RC(cases[i].rc, toy_answer(p, task, NULL));
        run_settle(p, task, cases[i].rc);
        session_streams(cases[i].stream, store, "toy-1");
        if (cases[i].rc != PDR_OK) { /* it is tried again, from the start */
            ASSERT_SIZE(1, toy_heard(p, "run_retried toy_failed"));
            toys_move(30000);
            ASSERT_RC(PDR_OK, toy_claims(&task, p, "toy-1", NULL));
            ASSERT_RC(PDR_OK, toy_answer(p, task, NULL));
            run_settle(p, task, PDR_OK);
        }
        session_is("idle | | | request response", store, "toy-1");
        toys_end();
    }
}

TEST(task_stream, stores_at_once_what_is_more_than_may_wait)
{
    pdr_store *store = NULL;
    pdr_task *task = NULL;
    struct toy *p = begin_claimed(&task, &store);
    const pdr_query query = {.what = PDR_READ_STREAM, .ref = ref_of("toy-1")};
    static char body[600 * 1024];
    pdr_page *page = NULL;

    memset(body, 'x', sizeof(body));
    body[0] = body[sizeof(body) - 1] = '"';
    for (size_t i = 0; i < 3; i++) {
        ASSERT_RC(PDR_OK, pdr_task_stream(task, "piece",
                                          pdr_str_n(body, sizeof(body)), NULL));
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
        ASSERT_SIZE(i == 0 ? 0 : 2, page->count);
        pdr_page_free(page);
    }
    ASSERT_RC(PDR_OK, toy_answer(p, task, NULL)); /* with the third */
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    ASSERT_SIZE(3, page->count);
    pdr_page_free(page);
    run_settle(p, task, PDR_OK);
    toys_end();
}

/* A run that ends has all of its events. */
TEST_OOM(task_stream, loses_no_event_of_a_run_that_ends_without_memory)
{
    pdr_store *store = NULL;
    pdr_task *task = NULL;
    struct toy *p = NULL;
    const char *stream = "";
    pdr_rc rcs[3];

    test_pause_failures(true);
    p = begin_claimed(&task, &store);
    test_pause_failures(false);
    rcs[0] = pdr_task_stream(task, "piece", S("1"), NULL);
    rcs[1] = pdr_task_stream(task, "piece", S("2"), NULL);
    rcs[2] = toy_answer(p, task, NULL);
    test_pause_failures(true);
    for (size_t i = 0; i < PDR_COUNT(rcs); i++)
        ASSERT(rcs[i] == PDR_OK || rcs[i] == PDR_ENOMEM);
    if (rcs[2] != PDR_OK)
        ASSERT_RC(PDR_OK, toy_answer(p, task, NULL));
    if (rcs[0] == PDR_OK)
        stream = rcs[1] == PDR_OK ? "1 2" : "1";
    else if (rcs[1] == PDR_OK)
        stream = "2";
    session_streams(stream, store, "toy-1");
    run_settle(p, task, PDR_OK);
    toys_end();
    test_pause_failures(false);
}

/* Has somebody taken the events that waited, and committed them? */
static bool are_stored(struct toy *p, const pdr_task *task)
{
    bool out = false;

    (void)pthread_mutex_lock(&p->engine->lock);
    out = task->events.count == 0 && !task->is_busy;
    (void)pthread_mutex_unlock(&p->engine->lock);
    return out;
}

TEST(task_stream, does_not_end_a_run_that_lost_events)
{
    pdr_store *store = NULL;
    pdr_task *task = NULL;
    struct toy *p = begin_claimed(&task, &store);
    struct refusal refusal = {
        .task = task, .more = 9, .lacks_memory = true, .left = 1};

    ASSERT_RC(PDR_OK, pdr_task_stream(task, "piece", S("1"), NULL));
    toys_hook(refuse_commit, &refusal);
    ASSERT_RC(PDR_EIO, toy_step(task, NULL)); /* "1" is lost */
    test_fail_allocation(0, false);
    atomic_store(&p->fail_start, 0); /* now there is a thread for the rest */
    ASSERT_RC(PDR_OK, pdr_task_stream(task, "piece", S("11"), NULL));
    (void)pthread_mutex_lock(&p->engine->lock);
    pdr__streamer_start(p->engine);
    (void)pthread_mutex_unlock(&p->engine->lock);
    toys_move(100);
    AWAIT_PLAYED(are_stored(p, task));
    ASSERT_RC(PDR_ENOMEM, toy_answer(p, task, NULL)); /* V3 */
    run_settle(p, task, PDR_ENOMEM);
    toys_end();
}
