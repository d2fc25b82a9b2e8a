/* Watches: told of every commit, once, at once, and idle otherwise. */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#include "watch_world.h"

#define LONG_MS 20000u /* never over unless something is wrong */

static pdr_watch *watch_of(const char *id)
{
    pdr_watch *watch = NULL;
    pdr_ref ref = world_ref(id);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_watch_open(&watch, world.store,
                                     id != NULL ? &ref : NULL, &err));
    return watch;
}

static void tells(pdr_watch *watch)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_watch_wait(watch, LONG_MS, &err));
}

/* Long enough for a poll. */
static void is_silent(pdr_watch *watch)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(watch, PDR_WATCH_POLL_MS + 5, &err));
    ASSERT_STR("nothing_changed", err.reason);
}

/* --- in this process -------------------------------------------------------
 */

TEST(watch_wait, tells_a_commit_once)
{
    world_open(false);
    commit_here("a");
    pdr_watch *watch = watch_of("a");

    is_silent(watch); /* what was there before is not news */
    commit_here("a");
    tells(watch);
    is_silent(watch);
    commit_here("a");
    commit_here("a"); /* two may be told as one */
    tells(watch);
    is_silent(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_wait, tells_that_a_session_was_made_deleted_and_made_again)
{
    pdr_edit removal = {.ref = world_ref("a"), .revision = 1, .remove = true};
    pdr_commit_options options = {.now_ms = 1};
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    pdr_watch *watch = watch_of("a");
    is_silent(watch);
    commit_here("a");
    tells(watch);
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, world.store, &removal, 1, &options, &err));
    tells(watch);
    is_silent(watch);
    commit_here("a"); /* the count of commits begins anew, the epoch does not */
    tells(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_wait, is_not_woken_by_other_sessions)
{
    world_open(false);
    pdr_watch *watch = watch_of("a");
    unsigned reads = atomic_load(&world.reads);

    commit_here("b");
    is_silent(watch);
    ASSERT_INT(reads, atomic_load(&world.reads));
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_wait, keeps_tenants_apart)
{
    pdr_ref ref = {PDR_LIT("t"), PDR_LIT("a")};
    pdr_watch *named = NULL, *other = NULL;
    pdr_err err = PDR_ERR_INIT;

    world_open(false);
    ASSERT_RC(PDR_OK, pdr_watch_open(&other, world.store, &ref, &err));
    ref.tenant = PDR_LIT("default");
    ASSERT_RC(PDR_OK, pdr_watch_open(&named, world.store, &ref, &err));
    commit_here("a"); /* names no tenant */
    tells(named);
    is_silent(other);
    pdr_watch_close(named);
    pdr_watch_close(other);
    world_close();
}

TEST(watch_wait, of_all_sessions_tells_each_commit)
{
    world_open(true);
    commit_here("a");
    pdr_watch *watch = watch_of(NULL);

    is_silent(watch);
    commit_here("a");
    tells(watch);
    commit_here("new");
    tells(watch);
    is_silent(watch);
    commit_elsewhere("a");
    tells(watch);
    is_silent(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_close, leaves_others_of_the_same_session)
{
    const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};

    for (size_t i = 0; i < PDR_COUNT(orders); i++) {
        pdr_watch *watches[3];

        world_open(false);
        for (size_t k = 0; k < 3; k++)
            watches[k] = watch_of("a");
        for (size_t k = 0; k < 3; k++) {
            commit_here("a");
            for (size_t left = k; left < 3; left++)
                tells(watches[orders[i][left]]);
            pdr_watch_close(watches[orders[i][k]]);
        }
        commit_here("a"); /* and nobody is told */
        world_close();
    }
}

/* --- other processes ------------------------------------------------------
 */

TEST(watch_wait, tells_a_commit_of_another_process)
{
    world_open(true);
    pdr_watch *watch = watch_of("a");

    commit_elsewhere("a");
    tells(watch);
    is_silent(watch);
    commit_elsewhere("b"); /* looked at, and not told */
    is_silent(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_wait, sees_another_process_without_waiting)
{
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    pdr_watch *watch = watch_of("a");
    commit_elsewhere("a");
    ASSERT_RC(PDR_OK, pdr_watch_wait(watch, 0, &err));
    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(watch, 0, &err));
    pdr_watch_close(watch);
    world_close();
}

/* A store whose number moves for its own commits, too, is not told twice. */
TEST(watch_wait, tells_once_what_it_hears_twice)
{
    world_open(true);
    pdr_watch *watch = watch_of("a");

    commit_here("a");
    atomic_fetch_add(&world.number, 1);
    tells(watch);
    is_silent(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_open, takes_what_others_did_before_as_known)
{
    world_open(true);
    pdr_watch *first = watch_of(NULL);
    is_silent(first);
    commit_elsewhere("a");
    pdr_watch *second = watch_of(NULL);

    is_silent(second);
    tells(first); /* it was opened before */
    pdr_watch_close(first);
    pdr_watch_close(second);
    world_close();
}

TEST(watch_wait, without_a_poll_hears_of_this_process_alone)
{
    world_open(false);
    pdr_watch *watch = watch_of("a");

    commit_elsewhere("a");
    is_silent(watch);
    commit_here("a");
    tells(watch);
    pdr_watch_close(watch);
    world_close();
}

/* --- failures --------------------------------------------------------------
 */

TEST(watch_wait, gives_the_failure_of_a_poll_and_goes_on_after_it)
{
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    pdr_watch *watch = watch_of("a");
    atomic_store(&world.poll_fails, true);
    ASSERT_RC(PDR_EIO, pdr_watch_wait(watch, LONG_MS, &err));
    ASSERT_STR("the poll failed", err.message);
    atomic_store(&world.poll_fails, false);
    commit_elsewhere("a");
    tells(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_wait, does_not_lose_what_it_could_not_read)
{
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    pdr_watch *watch = watch_of("a");
    commit_here("a");
    atomic_store(&world.read_fails, true);
    ASSERT_RC(PDR_EIO, pdr_watch_wait(watch, LONG_MS, &err));
    ASSERT_STR("the read failed", err.message);
    ASSERT_RC(PDR_EIO, pdr_watch_wait(watch, 0, NULL));
    atomic_store(&world.read_fails, false);
    tells(watch);
    is_silent(watch);
    pdr_watch_close(watch);
    world_close();
}

TEST(watch_open, gives_the_failure_of_a_read_or_a_poll)
{
    pdr_ref ref = world_ref("a");
    pdr_watch *watch = NULL;
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    atomic_store(&world.read_fails, true);
    ASSERT_RC(PDR_EIO, pdr_watch_open(&watch, world.store, &ref, &err));
    ASSERT_STR("the read failed", err.message);
    ASSERT(watch == NULL);
    atomic_store(&world.poll_fails, true);
    ASSERT_RC(PDR_EIO, pdr_watch_open(&watch, world.store, &ref, &err));
    ASSERT_STR("the poll failed", err.message);
    ASSERT(watch == NULL);
    world_close();
}

TEST(watch_open, refuses_what_cannot_be_a_session)
{
    pdr_ref ref = world_ref("");
    pdr_watch *watch = NULL;
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    ASSERT_RC(PDR_EINVALID, pdr_watch_open(&watch, world.store, &ref, &err));
    ASSERT_STR("bad_ref", err.reason);
    ASSERT(watch == NULL);
    pdr_watch_close(NULL);
    world_close();
}

TEST_OOM(watch_open, cleans_up_after_any_failed_allocation)
{
    pdr_ref ref = world_ref("a");
    pdr_watch *first = NULL, *second = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    world_open(true);
    test_pause_failures(false);
    rc = pdr_watch_open(&first, world.store, &ref, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((first != NULL) == (rc == PDR_OK));
    rc = pdr_watch_open(&second, world.store, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((second != NULL) == (rc == PDR_OK));
    pdr_watch_close(first);
    pdr_watch_close(second);
    world_close();
}

TEST(watches, are_nothing_in_another_process)
{
    pdr_ref ref = world_ref("a");
    int status = -1;

    world_open(true);
    pdr_watch *watch = watch_of("a");
    pid_t child = fork();
    if (child == 0) {
        pdr_watch *own = NULL;
        pdr_err err = PDR_ERR_INIT;
        bool refused =
            pdr_watch_wait(watch, 0, &err) == PDR_EMISUSE &&
            strcmp(err.reason, "after_fork") == 0 &&
            pdr_watch_open(&own, world.store, &ref, &err) == PDR_EMISUSE &&
            own == NULL;

        pdr_watch_stop(watch);
        pdr_watch_close(watch);
        _exit(refused ? 0 : 1);
    }
    ASSERT(child > 0);
    ASSERT_INT(child, waitpid(child, &status, 0));
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pdr_watch_close(watch);
    world_close();
}

TEST(watches, of_a_store_that_never_had_any_are_no_trouble)
{
    pdr_store store = {.ops = NULL};
    pdr_plan plan = {.ref = world_ref("a")};
    const pdr_write write = {.store = &store, .plans = &plan, .count = 1};

    pdr__watches_fire(&write);
    pdr__watches_free(&store);
    ASSERT(store.watches == NULL);
}

/* --- threads ---------------------------------------------------------------
 */

#define THREADS 8

struct waiter {
    pthread_t thread;
    pdr_watch *watch;
    uint32_t timeout_ms;
    pdr_rc rc;
    pdr_err err;
};

static void *wait_once(void *arg)
{
    struct waiter *waiter = arg;

    waiter->rc =
        pdr_watch_wait(waiter->watch, waiter->timeout_ms, &waiter->err);
    return NULL;
}

static void start(struct waiter *waiter, const char *id, uint32_t timeout_ms)
{
    waiter->watch = watch_of(id);
    waiter->timeout_ms = timeout_ms;
    waiter->err = (pdr_err)PDR_ERR_INIT;
    ASSERT_INT(0, pthread_create(&waiter->thread, NULL, wait_once, waiter));
}

static void finish(struct waiter *waiter, pdr_rc wanted)
{
    ASSERT_INT(0, pthread_join(waiter->thread, NULL));
    ASSERT_RC(wanted, waiter->rc);
    pdr_watch_close(waiter->watch);
}

static int64_t clock_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

TEST(watch_stop, ends_the_waiting_for_ever)
{
    for (unsigned with_poll = 0; with_poll < 2; with_poll++) {
        struct waiter waiter;
        pdr_err err = PDR_ERR_INIT;

        world_open(with_poll == 1);
        start(&waiter, "a", LONG_MS);
        pdr_watch_stop(waiter.watch);
        ASSERT_INT(0, pthread_join(waiter.thread, NULL));
        ASSERT_RC(PDR_ECANCELLED, waiter.rc);
        ASSERT_STR("watch_stopped", waiter.err.reason);
        commit_here("a");
        ASSERT_RC(PDR_ECANCELLED, pdr_watch_wait(waiter.watch, 0, &err));
        pdr_watch_close(waiter.watch);
        world_close();
    }
}

TEST(watch_wait, wakes_a_thread_by_a_commit)
{
    for (unsigned with_poll = 0; with_poll < 2; with_poll++) {
        struct waiter waiters[2];

        world_open(with_poll == 1);
        start(&waiters[0], "a", LONG_MS);
        start(&waiters[1], NULL, LONG_MS);
        commit_here("a");
        finish(&waiters[0], PDR_OK);
        finish(&waiters[1], PDR_OK);
        world_close();
    }
}

/* How soon says wait/heard of the benchmarks. */
TEST(watch_wait, hears_of_another_process)
{
    struct waiter waiter;

    world_open(true);
    start(&waiter, "a", LONG_MS);
    commit_elsewhere("a");
    finish(&waiter, PDR_OK);
    world_close();
}

TEST(watch_wait, lets_one_thread_look_for_all)
{
    struct waiter waiters[THREADS];
    unsigned polls = 0;

    world_open(true);
    polls = atomic_load(&world.polls);
    int64_t begin = clock_ms();
    for (size_t i = 0; i < THREADS; i++)
        start(&waiters[i], "a", 400);
    for (size_t i = 0; i < THREADS; i++)
        finish(&waiters[i], PDR_ETIMEOUT);
    int64_t most = (clock_ms() - begin) / PDR_WATCH_POLL_MS + 2 + THREADS;
    ASSERT(atomic_load(&world.polls) - polls <= (unsigned)most);
    ASSERT(atomic_load(&world.polls) - polls >= 1);
    world_close();
}

/* Whoever looks is stopped, again and again; the last one still hears. */
TEST(watch_wait, hands_the_looking_on)
{
    struct waiter waiters[THREADS];

    world_open(true);
    for (size_t i = 0; i < THREADS; i++)
        start(&waiters[i], "a", LONG_MS);
    for (size_t i = 0; i + 1 < THREADS; i++) {
        pdr_watch_stop(waiters[i].watch);
        finish(&waiters[i], PDR_ECANCELLED);
    }
    commit_elsewhere("a");
    finish(&waiters[THREADS - 1], PDR_OK);
    world_close();
}

/* All are woken at the same time, and so leave in any order. */
TEST(watch_wait, hands_the_looking_on_when_many_leave_at_once)
{
    for (unsigned round = 0; round < 20; round++) {
        struct waiter waiters[THREADS], last;

        world_open(true);
        for (size_t i = 0; i < THREADS; i++)
            start(&waiters[i], "a", i % 2 == 0 ? LONG_MS : 5);
        start(&last, "b", LONG_MS);
        commit_here("a");
        for (size_t i = 0; i < THREADS; i++) {
            ASSERT_INT(0, pthread_join(waiters[i].thread, NULL));
            ASSERT(waiters[i].rc == PDR_OK ||
                   (i % 2 == 1 && waiters[i].rc == PDR_ETIMEOUT));
            pdr_watch_close(waiters[i].watch);
        }
        commit_elsewhere("b");
        finish(&last, PDR_OK);
        world_close();
    }
}

/* What it costs while nothing happens: a poll every 20 ms, and nothing else.
 * What that is in processor time says wait/idle of the benchmarks. */
TEST(watch_wait, does_nothing_but_poll_when_idle)
{
    pdr_err err = PDR_ERR_INIT;

    world_open(true);
    pdr_watch *watch = watch_of("a");
    unsigned polls = atomic_load(&world.polls);
    unsigned reads = atomic_load(&world.reads);
    int64_t begin = clock_ms();
    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(watch, 500, &err));
    int64_t most = (clock_ms() - begin) / PDR_WATCH_POLL_MS + 1;
    ASSERT(atomic_load(&world.polls) - polls <= (unsigned)most);
    ASSERT_INT(reads, atomic_load(&world.reads));
    pdr_watch_close(watch);
    world_close();
}

/* --- nothing is missed ----------------------------------------------------
 */

#define SESSIONS 4
#define COMMITS  150

static const char *const names[SESSIONS] = {"s0", "s1", "s2", "s3"};

struct writer {
    pthread_t thread;
    unsigned number;
};

static void *write_many(void *arg)
{
    const struct writer *writer = arg;

    for (unsigned i = 0; i < COMMITS; i++) {
        if ((writer->number + i) % 2 == 0)
            commit_here(names[writer->number]);
        else
            commit_elsewhere(names[writer->number]);
    }
    return NULL;
}

struct follower {
    pthread_t thread;
    pdr_watch *watch;
    const char *id;
    unsigned told;
    bool missed;
};

static uint64_t commits_of(const char *id)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = world_ref(id)};
    pdr_page *page = NULL;
    uint64_t commits = 0;

    if (pdr_store_read(&page, world.store, &query, NULL) == PDR_OK)
        commits = page->head.commits;
    pdr_page_free(page);
    return commits;
}

/* Follow the session to its end; a wait that times out has missed one. */
static void *follow(void *arg)
{
    struct follower *follower = arg;

    while (!follower->missed && commits_of(follower->id) < COMMITS) {
        follower->missed =
            pdr_watch_wait(follower->watch, LONG_MS, NULL) != PDR_OK;
        follower->told++;
    }
    return NULL;
}

TEST(watch_wait, misses_nothing_while_others_commit)
{
    struct writer writers[SESSIONS];
    struct follower followers[2 * SESSIONS];

    world_open(true);
    /* Opening one polls, too: all of them before anybody waits. */
    for (unsigned i = 0; i < 2 * SESSIONS; i++)
        followers[i] = (struct follower){
            .id = names[i % SESSIONS], .watch = watch_of(names[i % SESSIONS])};
    for (unsigned i = 0; i < 2 * SESSIONS; i++)
        ASSERT_INT(0, pthread_create(&followers[i].thread, NULL, follow,
                                     &followers[i]));
    for (unsigned i = 0; i < SESSIONS; i++) {
        writers[i].number = i;
        ASSERT_INT(0, pthread_create(&writers[i].thread, NULL, write_many,
                                     &writers[i]));
    }
    for (unsigned i = 0; i < SESSIONS; i++)
        ASSERT_INT(0, pthread_join(writers[i].thread, NULL));
    for (unsigned i = 0; i < 2 * SESSIONS; i++) {
        ASSERT_INT(0, pthread_join(followers[i].thread, NULL));
        ASSERT(!followers[i].missed);
        ASSERT(followers[i].told <= COMMITS);
        pdr_watch_close(followers[i].watch);
    }
    ASSERT_INT(1, atomic_load(&world.together));
    world_close();
}
