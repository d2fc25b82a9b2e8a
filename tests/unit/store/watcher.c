/* Watchers: what they cost, and what becomes of failures. That nothing is lost
 * is a rule of the conformance suite of stores. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "watch_world.h"

#define LONG_MS 20000u /* never over unless something is wrong */
#define MANY    1000u
#define ROOM    2000u

static pdr_watcher *watcher;
static pdr_news news[ROOM];

static pdr_watcher *open_watcher(bool with_poll)
{
    world_open(with_poll);
    ASSERT_RC(PDR_OK, pdr_watcher_open(&watcher, world.store, NULL));
    return watcher;
}

static void close_all(void)
{
    pdr_watcher_close(watcher);
    world_close();
}

static void add(const char *id, uint64_t tag)
{
    const pdr_ref ref = world_ref(id);

    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, NULL, tag, NULL));
}

/* Many sessions that were never there, under the tag 0. */
static void add_many(void)
{
    for (unsigned i = 0; i < MANY; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "s%u", i);
        add(id, 0);
    }
}

static size_t hear(uint32_t timeout_ms)
{
    size_t count = 0;
    pdr_rc rc = pdr_watcher_wait(news, ROOM, &count, watcher, timeout_ms, NULL);

    ASSERT(rc == PDR_OK || (rc == PDR_ETIMEOUT && count == 0));
    return count;
}

/* --- cost ------------------------------------------------------------------
 */

TEST(watcher, reads_nothing_for_a_commit_of_this_process)
{
    open_watcher(true);
    add_many();
    commit_here("s7");
    ASSERT_SIZE(1, hear(0));
    unsigned reads = atomic_load(&world.reads);
    for (unsigned i = 0; i < 50; i++) {
        commit_here("s7");
        commit_here("nobody's");
        ASSERT_SIZE(1, hear(0));
    }
    ASSERT_INT(reads, atomic_load(&world.reads));
    close_all();
}

/* The list has it, so it is told with the first look; the slices that are
 * looked at besides are as large as they are. */
TEST(watcher, finds_who_runs_elsewhere_without_reading_the_others)
{
    open_watcher(true);
    add_many();
    state_elsewhere("s7", PDR_SESSION_RUNNING);
    while (hear(LONG_MS) != 1 || news[0].revision != 1)
        continue;
    while (hear(PDR_WATCH_POLL_MS * 20) > 0)
        continue; /* all were looked at */
    for (unsigned i = 0; i < 3; i++) {
        unsigned polls = atomic_load(&world.polls);
        unsigned reads = atomic_load(&world.reads);

        if (i < 2)
            commit_elsewhere("s7");
        else
            state_elsewhere("s7", PDR_SESSION_IDLE);
        ASSERT_SIZE(1, hear(LONG_MS));
        ASSERT_INT(i + 2, news[0].seen.commits);
        polls = atomic_load(&world.polls) - polls;
        reads = atomic_load(&world.reads) - reads;
        ASSERT(reads <= (PDR_WATCH_SLICE + 2) * (polls + 1));
    }
    close_all();
}

TEST(watcher, comes_to_all_that_others_changed)
{
    open_watcher(true);
    commit_elsewhere("s999");
    add_many();
    ASSERT_SIZE(1, hear(LONG_MS));
    while (hear(PDR_WATCH_POLL_MS * 20) > 0)
        continue;
    unsigned reads = atomic_load(&world.reads);
    for (unsigned i = 0; i < 3; i++) {
        commit_elsewhere(i < 2 ? "s999" : "s0");
        ASSERT_SIZE(1, hear(LONG_MS));
    }
    while (hear(PDR_WATCH_POLL_MS * 20) > 0)
        continue;
    reads = atomic_load(&world.reads) - reads;
    ASSERT(reads >= MANY && reads <= 4 * (MANY + 10));
    reads = atomic_load(&world.reads); /* and then rests */
    ASSERT_SIZE(0, hear(PDR_WATCH_POLL_MS * 4));
    ASSERT_INT(reads, atomic_load(&world.reads));
    close_all();
}

TEST(watcher, reads_no_list_for_a_few)
{
    open_watcher(true);
    for (unsigned i = 0; i < PDR_WATCH_SLICE; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "s%u", i);
        add(id, 0);
    }
    state_elsewhere("s3", PDR_SESSION_RUNNING);
    ASSERT_SIZE(1, hear(LONG_MS));
    commit_elsewhere("s3");
    ASSERT_SIZE(1, hear(LONG_MS));
    ASSERT_INT(0, atomic_load(&world.lists));
    close_all();
}

/* More than a page of them, of several tenants. */
TEST(watcher, lists_all_that_run)
{
    size_t told = 0;

    open_watcher(true);
    for (unsigned i = 0; i < 500; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "s%u", i);
        state_elsewhere(id, PDR_SESSION_RUNNING);
    }
    add_many();
    while (told < 500)
        told += hear(LONG_MS);
    for (unsigned i = 0; i < 10; i++) {
        const pdr_ref ref = {{"t", 1}, {"s1", 2}};

        ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, NULL, i, NULL));
        commit_elsewhere("s499"); /* the last of the last page */
        ASSERT_SIZE(1, hear(LONG_MS));
        pdr_watcher_remove(watcher, &ref, i);
    }
    ASSERT(atomic_load(&world.lists) >= 3);
    close_all();
}

/* --- failures --------------------------------------------------------------
 */

TEST(watcher, tells_of_the_one_whose_head_cannot_be_read)
{
    open_watcher(false);
    add("a", 1);
    atomic_store(&world.read_fails, true);
    ASSERT_SIZE(1, hear(LONG_MS));
    ASSERT_RC(PDR_EIO, news[0].rc);
    ASSERT_SIZE(0, hear(0));
    commit_here("a");
    ASSERT_SIZE(1, hear(LONG_MS));
    ASSERT_RC(PDR_EIO, news[0].rc);
    atomic_store(&world.read_fails, false);
    add("a", 1);
    ASSERT_SIZE(1, hear(LONG_MS));
    ASSERT_RC(PDR_OK, news[0].rc);
    ASSERT_INT(1, news[0].revision);
    close_all();
}

/* The slices come to it in any case. */
TEST(watcher, goes_on_when_a_list_fails)
{
    open_watcher(true);
    add_many();
    (void)hear(LONG_MS / 100);
    atomic_store(&world.list_fails, true);
    state_elsewhere("s7", PDR_SESSION_RUNNING);
    ASSERT_SIZE(1, hear(LONG_MS));
    ASSERT(atomic_load(&world.lists) > 0);
    close_all();
}

TEST(watcher, gives_the_failure_of_a_poll_and_goes_on_after_it)
{
    pdr_watcher *other = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t count = 1;

    open_watcher(true);
    add("a", 1);
    (void)hear(0);
    atomic_store(&world.poll_fails, true);
    ASSERT_RC(PDR_EIO,
              pdr_watcher_wait(news, ROOM, &count, watcher, LONG_MS, &err));
    ASSERT_STR("the poll failed", err.message);
    ASSERT_SIZE(0, count);
    ASSERT_RC(PDR_EIO, pdr_watcher_open(&other, world.store, &err));
    ASSERT(other == NULL);
    atomic_store(&world.poll_fails, false);
    commit_elsewhere("a");
    ASSERT_SIZE(1, hear(LONG_MS));
    close_all();
}

static pdr_rc call_all(void)
{
    const pdr_ref refs[] = {
        world_ref("a"), {{NULL, 0}, {NULL, 0}}, world_ref("b")};
    size_t count = 0;
    pdr_rc rc = pdr_watcher_open(&watcher, world.store, NULL);

    for (size_t i = 0; i < PDR_COUNT(refs) && rc == PDR_OK; i++)
        rc = pdr_watcher_add(watcher, &refs[i], NULL, 1, NULL);
    if (rc != PDR_OK)
        return rc;
    test_pause_failures(true);
    commit_here("a");
    test_pause_failures(false);
    rc = pdr_watcher_wait(news, ROOM, &count, watcher, 0, NULL);
    return rc == PDR_ETIMEOUT ? PDR_OK : rc;
}

TEST_OOM(watcher, cleans_up_after_any_failed_allocation)
{
    pdr_rc rc = PDR_OK;

    watcher = NULL;
    test_pause_failures(true);
    world_open(true);
    test_pause_failures(false);
    rc = call_all();
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    if (watcher != NULL && rc == PDR_ENOMEM) {
        size_t told = 0;

        add("a", 1);
        add("b", 1);
        while ((rc = pdr_watcher_wait(news, ROOM, &told, watcher, 0, NULL)) ==
               PDR_OK)
            continue;
        ASSERT_RC(PDR_ETIMEOUT, rc);
    }
    close_all();
    test_pause_failures(false);
}

/* A feed that has no memory for a name says that there is more. */
TEST_OOM(watcher, forgets_nothing_untold_without_memory)
{
    const pdr_ref all = {{NULL, 0}, {NULL, 0}};

    test_pause_failures(true);
    open_watcher(false);
    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &all, NULL, 1, NULL));
    commit_to(&world.other, "a");
    pdr_plan plan = {.ref = {{"default", 7}, {"a", 1}}};
    const pdr_write write = {.store = world.store, .plans = &plan, .count = 1};
    test_pause_failures(false);
    pdr__watches_fire(&write);
    test_pause_failures(true);
    ASSERT_SIZE(1, hear(0));
    ASSERT(news[0].kind == PDR_NEWS_LIST || news[0].ref.id.len == 1);
    close_all();
    test_pause_failures(false);
}

TEST(watcher, is_nothing_in_another_process)
{
    const pdr_ref ref = world_ref("a");
    int status = -1;

    open_watcher(true);
    pid_t child = fork();
    if (child == 0) {
        pdr_watcher *own = NULL;
        pdr_err err = PDR_ERR_INIT;
        size_t count = 0;
        bool refused =
            pdr_watcher_wait(news, ROOM, &count, watcher, 0, &err) ==
                PDR_EMISUSE &&
            strcmp(err.reason, "after_fork") == 0 &&
            pdr_watcher_add(watcher, &ref, NULL, 1, &err) == PDR_EMISUSE &&
            pdr_watcher_open(&own, world.store, &err) == PDR_EMISUSE &&
            own == NULL;

        pdr_watcher_remove(watcher, &ref, 1);
        pdr_watcher_wake(watcher);
        pdr_watcher_close(watcher);
        _exit(refused ? 0 : 1);
    }
    ASSERT(child > 0);
    ASSERT_INT(child, waitpid(child, &status, 0));
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close_all();
}

/* --- threads ---------------------------------------------------------------
 */

static void *wait_once(void *arg)
{
    size_t *count = arg;

    if (pdr_watcher_wait(news, ROOM, count, watcher, LONG_MS, NULL) != PDR_OK)
        *count = ROOM + 1;
    return NULL;
}

/* A watch and a watcher wait; whichever looks leaves first. */
TEST(watcher, takes_the_looking_over_from_a_watch)
{
    for (unsigned round = 0; round < 20; round++) {
        pdr_watch *watch = NULL;
        const pdr_ref ref = world_ref("b");
        pthread_t thread;
        size_t count = 0;

        open_watcher(true);
        add("a", 1);
        ASSERT_SIZE(0, hear(0));
        ASSERT_RC(PDR_OK, pdr_watch_open(&watch, world.store, &ref, NULL));
        ASSERT_INT(0, pthread_create(&thread, NULL, wait_once, &count));
        ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(watch, round % 5, NULL));
        commit_elsewhere("a");
        ASSERT_INT(0, pthread_join(thread, NULL));
        ASSERT_SIZE(1, count);
        commit_elsewhere("b");
        ASSERT_RC(PDR_OK, pdr_watch_wait(watch, LONG_MS, NULL));
        pdr_watch_close(watch);
        close_all();
    }
}

TEST(watcher, is_woken_by_a_commit_an_add_and_a_wake)
{
    for (unsigned way = 0; way < 3; way++) {
        pthread_t thread;
        size_t count = 0;

        open_watcher(way % 2 == 0);
        commit_here("b");
        add("a", 1);
        ASSERT_SIZE(0, hear(0));
        ASSERT_INT(0, pthread_create(&thread, NULL, wait_once, &count));
        if (way == 0)
            commit_here("a");
        else if (way == 1)
            add("b", 2);
        else
            pdr_watcher_wake(watcher);
        ASSERT_INT(0, pthread_join(thread, NULL));
        ASSERT_SIZE(way == 2 ? 0 : 1, count);
        close_all();
    }
}
