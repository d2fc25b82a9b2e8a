/* Watches across processes, on a store that processes share: every commit is
 * heard, and while nothing happens a store is looked at once in 20 ms, whoever
 * watches. How soon, and at which cost, say wait/heard and wait/idle of the
 * benchmarks. */
#include <pthread.h>
#include <sys/resource.h>

#include "base.h"
#include "processes.h"
#include "room.h"
#include "test.h"

#define COMMITS 20u
#define LONG_MS 60000u
#define IDLE_MS 1000u

static pdr_rc append(pdr_store *store, const char *id, uint64_t revision)
{
    pdr_entry entry = {.body = pdr_str_c("{}")};
    pdr_edit edit = {.ref = {{NULL, 0}, pdr_str_c(id)},
                     .revision = revision,
                     .entries = &entry,
                     .entry_count = 1};
    pdr_commit_options options = {.now_ms = 1};

    return pdr_store_commit(NULL, store, &edit, 1, &options, NULL);
}

/* URI REVISION: commit to "a" once. */
TEST_ROLE(store_teller)
{
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    if (argc != 2 || pdr_store_open(&store, argv[0], NULL) != PDR_OK)
        return 2;
    rc = append(store, "a", strtoul(argv[1], NULL, 10));
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 1;
}

static pdr_store *open_in(const struct room *room, char uri[300])
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    (void)snprintf(uri, 300, "sqlite:%s", room_path(room, "s.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, &err));
    return store;
}

static pdr_watch *watch_in(pdr_store *store, const char *id)
{
    pdr_ref ref = {{NULL, 0}, pdr_str_c(id)};
    pdr_watch *watch = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_watch_open(&watch, store, id != NULL ? &ref : NULL, &err));
    return watch;
}

static void hear_each(const char *id)
{
    struct room room;
    char uri[300], revision[24];

    room_enter(&room);
    pdr_store *store = open_in(&room, uri);
    pdr_watch *watch = watch_in(store, id);
    for (unsigned i = 0; i < COMMITS; i++) {
        const char *const args[] = {uri, revision, NULL};

        (void)snprintf(revision, sizeof(revision), "%u", i);
        pid_t teller = process_start("store_teller", args);
        ASSERT_RC(PDR_OK, pdr_watch_wait(watch, LONG_MS, NULL));
        ASSERT_INT(PROCESS_DONE, process_end(teller, true));
    }
    pdr_watch_close(watch);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(watch, of_a_session_hears_of_each_commit_of_another_process)
{
    hear_each("a");
}

TEST(watch, of_all_sessions_hears_of_each_commit_of_another_process)
{
    hear_each(NULL);
}

/* --- watchers --------------------------------------------------------------
 * Processes run sessions of their own: a turn begins, streams and ends, again
 * and again, and some sessions are deleted in the end. One thread watches them
 * all, among many that nobody touches.
 */

#define RUNNERS 4u
#define RUNS    3u /* sessions of each */
#define TURNS   8u
#define ROWS    4u
#define IDLE    300u

/* URI NUMBER: run sessions NUMBER.0 and so on. */
TEST_ROLE(store_runner)
{
    const pdr_work row = {
        .due_ms = PDR_NEVER, .kind = PDR_LIT("row"), .body = PDR_LIT("1")};
    const pdr_commit_options options = {.now_ms = 1};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    if (argc != 2 || pdr_store_open(&store, argv[0], NULL) != PDR_OK)
        return 2;
    for (unsigned i = 0; i < RUNS * TURNS * (ROWS + 2) && rc == PDR_OK; i++) {
        unsigned step = i / RUNS % (ROWS + 2), turn = i / RUNS / (ROWS + 2);
        char id[32];
        pdr_edit edit = {.revision = 2 * turn + (step > 0)};

        (void)snprintf(id, sizeof(id), "%s.%u", argv[1], i % RUNS);
        edit.ref.id = pdr_str_c(id);
        if (step > 0 && step <= ROWS) {
            edit.revision = PDR_ANY_REVISION;
            edit.stream = &row;
            edit.stream_count = 1;
        } else if (i % RUNS == 0 && step > 0 && turn == TURNS - 1) {
            edit.remove = true;
        } else {
            edit.set_state = true;
            edit.state = step == 0 ? PDR_SESSION_RUNNING : PDR_SESSION_IDLE;
        }
        rc = pdr_store_commit(NULL, store, &edit, 1, &options, NULL);
    }
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 1;
}

/* Has the session been told as it ends? */
static bool is_over(const pdr_news *news)
{
    return news->tag % RUNS == 0 ? news->seen.epoch == 0 && news->revision == 0
                                 : news->revision == 2 * TURNS;
}

static void watch_runs(pdr_watcher *watcher)
{
    bool over[RUNNERS * RUNS] = {false};
    size_t left = PDR_COUNT(over), told = 0, count = 0;
    pdr_news news[8];

    while (left > 0) {
        ASSERT_RC(PDR_OK, pdr_watcher_wait(news, PDR_COUNT(news), &count,
                                           watcher, LONG_MS, NULL));
        for (size_t i = 0; i < count; i++) {
            if (news[i].kind != PDR_NEWS_SESSION)
                continue;
            ASSERT(news[i].tag < PDR_COUNT(over) && !over[news[i].tag]);
            over[news[i].tag] = is_over(&news[i]);
            left -= over[news[i].tag];
            told++;
        }
    }
    print_message("%zu news of %u commits\n", told,
                  RUNNERS * RUNS * TURNS * (ROWS + 2));
}

TEST(watcher, hears_how_each_session_of_other_processes_ends)
{
    pdr_watcher *watcher = NULL;
    pid_t runners[RUNNERS];
    struct room room;
    char uri[300], id[32];
    const pdr_ref all = {{NULL, 0}, {NULL, 0}};

    room_enter(&room);
    pdr_store *store = open_in(&room, uri);
    ASSERT_RC(PDR_OK, pdr_watcher_open(&watcher, store, NULL));
    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &all, NULL, 0, NULL));
    for (unsigned i = 0; i < RUNNERS * RUNS + IDLE; i++) {
        const pdr_ref ref = {
            .id = pdr_str_n(id, (size_t)snprintf(id, sizeof(id), "%u.%u",
                                                 i / RUNS, i % RUNS))};

        ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, NULL, i, NULL));
    }
    for (unsigned i = 0; i < RUNNERS; i++) {
        const char *const args[] = {uri, id, NULL};

        (void)snprintf(id, sizeof(id), "%u", i);
        runners[i] = process_start("store_runner", args);
    }
    watch_runs(watcher);
    for (unsigned i = 0; i < RUNNERS; i++)
        ASSERT_INT(PROCESS_DONE, process_end(runners[i], true));
    pdr_watcher_close(watcher);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- idle ------------------------------------------------------------------
 */

struct idler {
    pthread_t thread;
    pdr_watch *watch;
    pdr_rc rc;
};

static void *wait_idle(void *arg)
{
    struct idler *idler = arg;

    idler->rc = pdr_watch_wait(idler->watch, IDLE_MS, NULL);
    return NULL;
}

/* Times that a thread went to sleep of its own accord. */
static long sleeps(void)
{
    struct rusage used;

    ASSERT_INT(0, getrusage(RUSAGE_SELF, &used));
    return used.ru_nvcsw;
}

/* A thread that looks goes to sleep once a poll; the others sleep. Some more
 * for what each does in front of and behind it. */
TEST(watch, wakes_up_once_a_poll_when_idle)
{
    struct idler idlers[4];
    struct room room;
    char uri[300];

    room_enter(&room);
    pdr_store *store = open_in(&room, uri);
    ASSERT_RC(PDR_OK, append(store, "a", 0));
    for (size_t i = 0; i < 4; i++)
        idlers[i].watch = watch_in(store, i == 3 ? NULL : "a");
    long before = sleeps();
    int64_t begin = monotonic_us();
    for (size_t i = 0; i < 4; i++)
        ASSERT_INT(
            0, pthread_create(&idlers[i].thread, NULL, wait_idle, &idlers[i]));
    for (size_t i = 0; i < 4; i++) {
        ASSERT_INT(0, pthread_join(idlers[i].thread, NULL));
        ASSERT_RC(PDR_ETIMEOUT, idlers[i].rc);
        pdr_watch_close(idlers[i].watch);
    }
    long slept = sleeps() - before;
    long polls = (long)((monotonic_us() - begin) / 1000 / PDR_WATCH_POLL_MS);
    print_message("%ld wake-ups in %u ms, four threads waiting\n", slept,
                  IDLE_MS);
    ASSERT(slept <=
           2 * polls + 40); /* one that each thread does is twice that */
    pdr_store_close(store);
    room_leave(&room);
}
