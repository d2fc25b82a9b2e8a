/* Watchers: news of any number of sessions. */
#include <pthread.h>
#include <stdatomic.h>

#include "news_harness.h"
#include "suite.h"

#define LONG_MS 20000u /* never over unless something is wrong */
#define NONE    pdr_str_n(NULL, 0)

static const pdr_work row = {
    .due_ms = PDR_NEVER, .kind = S_INIT("row"), .body = S_INIT("1")};

static pdr_watcher *watcher_of(pdr_store *store)
{
    pdr_watcher *watcher = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_watcher_open(&watcher, store, &err));
    return watcher;
}

static void add(pdr_watcher *watcher, const char *id, uint64_t tag)
{
    const pdr_ref ref = {.id = id != NULL ? pdr_str_c(id) : NONE};

    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, NULL, tag, NULL));
}

static pdr_news must_tell(pdr_watcher *watcher)
{
    pdr_news news;
    size_t count = 0;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_watcher_wait(&news, 1, &count, watcher, 0, &err));
    ASSERT_SIZE(1, count);
    return news;
}

static void must_stay_quiet(pdr_watcher *watcher)
{
    pdr_news news;
    size_t count = 1;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ETIMEOUT,
              pdr_watcher_wait(&news, 1, &count, watcher, 0, &err));
    ASSERT_STR("nothing_changed", err.reason);
    ASSERT_SIZE(0, count);
}

TEST(watcher, tells_what_a_session_is_at)
{
    pdr_store *store = suite_open();
    pdr_watcher *watcher = watcher_of(store);
    pdr_edit rows = EDIT("s", PDR_ANY_REVISION), gone = EDIT("s", 2);

    add(watcher, "s", 7);
    must_stay_quiet(watcher); /* it is not there, and was not */
    pdr_committed made = must_create(store, "s");
    pdr_news news = must_tell(watcher);
    ASSERT_INT(PDR_NEWS_SESSION, news.kind);
    ASSERT_INT(7, news.tag);
    ASSERT_RC(PDR_OK, news.rc);
    ASSERT(pdr_str_equal(S("default"), news.ref.tenant));
    ASSERT(pdr_str_equal(S("s"), news.ref.id));
    ASSERT_INT(made.epoch, news.seen.epoch);
    ASSERT_INT(1, news.seen.commits);
    ASSERT_INT(1, news.revision);
    ASSERT_INT(1, news.stream_next);
    must_stay_quiet(watcher);
    rows.stream = &row; /* rows that are no change of the session */
    rows.stream_count = 1;
    (void)must_commit(store, &rows);
    (void)must_append(store, "s", 1, 0, 2);
    news = must_tell(watcher); /* of both */
    ASSERT_INT(3, news.seen.commits);
    ASSERT_INT(2, news.revision);
    ASSERT_INT(2, news.stream_next);
    gone.remove = true;
    (void)must_commit(store, &gone);
    news = must_tell(watcher);
    ASSERT_INT(0, news.seen.epoch);
    ASSERT_INT(0, news.revision);
    must_stay_quiet(watcher);
    (void)must_create(store, "other");
    must_stay_quiet(watcher);
    made = must_create(store, "s");
    ASSERT_INT(made.epoch, must_tell(watcher).seen.epoch);
    pdr_watcher_close(watcher);
    suite_close(store);
}

TEST(watcher, tells_at_once_what_its_caller_has_not_seen)
{
    pdr_store *store = suite_open();
    const pdr_ref ref = {.id = S("s")};
    pdr_watcher *watcher = watcher_of(store);

    (void)must_create(store, "s");
    pdr_head head = head_of(store, "s");
    pdr_seen seen = {head.epoch, head.commits};
    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, &seen, 1, NULL));
    must_stay_quiet(watcher);
    (void)must_append(store, "s", 1, 0, 1); /* between a read and the add */
    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, &seen, 2, NULL));
    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, &seen, 1, NULL));
    ASSERT_INT(3, must_tell(watcher).tag + must_tell(watcher).tag);
    must_stay_quiet(watcher);
    ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, NULL, 3, NULL));
    ASSERT_INT(3, must_tell(watcher).tag);
    seen.commits = 2; /* whoever read it says so, and is not told */
    (void)must_append(store, "s", 2, 1, 1);
    seen.commits = 3;
    for (uint64_t tag = 1; tag <= 3; tag++)
        ASSERT_RC(PDR_OK, pdr_watcher_add(watcher, &ref, &seen, tag, NULL));
    must_stay_quiet(watcher);
    pdr_watcher_close(watcher);
    suite_close(store);
}

TEST(watcher, tells_nothing_of_what_was_removed)
{
    pdr_store *store = suite_open();
    const pdr_ref ref = {.id = S("s")}, all = {.tenant = S("default")};
    pdr_watcher *watcher = watcher_of(store), *other = watcher_of(store);

    add(watcher, "s", 1);
    add(watcher, "s", 2);
    add(watcher, NULL, 1);
    add(other, "s", 1);
    (void)must_create(store, "s");
    pdr_watcher_remove(watcher, &ref, 1);
    pdr_watcher_remove(watcher, &all, 1);
    pdr_watcher_remove(watcher, &ref, 5); /* never added */
    ASSERT_INT(2, must_tell(watcher).tag);
    must_stay_quiet(watcher);
    pdr_watcher_remove(watcher, &ref, 2);
    (void)must_append(store, "s", 1, 0, 1);
    must_stay_quiet(watcher);
    ASSERT_INT(2, must_tell(other).seen.commits);
    pdr_watcher_close(watcher);
    pdr_watcher_close(other);
    pdr_watcher_close(NULL);
    suite_close(store);
}

TEST(watcher, tells_which_sessions_of_a_tenant_changed)
{
    pdr_store *store = suite_open();
    pdr_watcher *watcher = watcher_of(store);
    pdr_edit edits[] = {EDIT("b", 0), EDIT("a", 0)};
    pdr_edit rows = EDIT("b", PDR_ANY_REVISION);
    const pdr_commit_options options = {.now_ms = NOW};

    add(watcher, NULL, 4);
    edits[1].ref.tenant = S("north");
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, edits, 2, &options, NULL));
    (void)must_create(store, "c");
    rows.stream = &row;
    rows.stream_count = 1;
    (void)must_commit(store, &rows);
    pdr_news news = must_tell(watcher);
    ASSERT_INT(PDR_NEWS_TENANT, news.kind);
    ASSERT_INT(4, news.tag);
    ASSERT(pdr_str_equal(S("b"), news.ref.id));
    ASSERT(pdr_str_equal(S("default"), news.ref.tenant));
    ASSERT(pdr_str_equal(S("c"), must_tell(watcher).ref.id));
    must_stay_quiet(watcher);
    pdr_watcher_close(watcher);
    suite_close(store);
}

/* More than a follower keeps: he has to list, and nothing is kept for him. */
TEST(watcher, says_that_there_is_more_than_it_keeps)
{
    static char ids[1100][8];
    static pdr_edit edits[100];
    pdr_store *store = suite_open();
    pdr_watcher *watcher = watcher_of(store);
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_news news[200];
    size_t count = 0;

    add(watcher, NULL, 1);
    for (size_t i = 0; i < COUNT(ids); i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "s%zu", i);
        edits[i % 100] = (pdr_edit){.ref.id = pdr_str_c(ids[i])};
        if (i % 100 == 99)
            ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, edits, 100,
                                               &options, NULL));
    }
    ASSERT_RC(PDR_OK,
              pdr_watcher_wait(news, COUNT(news), &count, watcher, 0, NULL));
    ASSERT(count < 200);
    ASSERT_INT(PDR_NEWS_LIST, news[0].kind);
    ASSERT(news[0].ref.id.ptr == NULL);
    for (size_t i = 1; i < count; i++)
        ASSERT_INT(PDR_NEWS_TENANT, news[i].kind);
    must_stay_quiet(watcher);
    pdr_watcher_close(watcher);
    suite_close(store);
}

TEST(watcher, takes_as_much_as_there_is_room_for)
{
    pdr_store *store = suite_open();
    pdr_watcher *watcher = watcher_of(store);
    pdr_news news[3];
    size_t count = 0, told = 0;

    for (int i = 0; i < 8; i++) {
        char id[2] = {(char)('a' + i), '\0'};

        (void)must_create(store, id);
        add(watcher, id, (uint64_t)i);
    }
    for (; told < 8; told += count)
        ASSERT_RC(PDR_OK, pdr_watcher_wait(news, COUNT(news), &count, watcher,
                                           LONG_MS, NULL));
    ASSERT_SIZE(8, told);
    must_stay_quiet(watcher);
    pdr_watcher_close(watcher);
    suite_close(store);
}

TEST(watcher, is_woken_once_for_each_time_it_was_told_to)
{
    pdr_store *store = suite_open();
    pdr_watcher *watcher = watcher_of(store);
    pdr_news news;
    size_t count = 1;

    pdr_watcher_wake(watcher);
    pdr_watcher_wake(watcher);
    ASSERT_RC(PDR_OK,
              pdr_watcher_wait(&news, 1, &count, watcher, LONG_MS, NULL));
    ASSERT_SIZE(0, count);
    must_stay_quiet(watcher);
    pdr_watcher_close(watcher);
    suite_close(store);
}

TEST(watcher, refuses_what_cannot_be_a_session)
{
    const pdr_ref bad[] = {{.id = S("")},
                           {.id = S("\xff")},
                           {.tenant = S(""), .id = S("a")},
                           {.tenant = S("\xff")}};
    pdr_store *store = suite_open();
    pdr_watcher *watcher = watcher_of(store);

    for (size_t i = 0; i < COUNT(bad); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_watcher_add(watcher, &bad[i], NULL, 1, &err));
        ASSERT_STR("bad_ref", err.reason);
        pdr_watcher_remove(watcher, &bad[i], 1);
    }
    pdr_watcher_close(watcher);
    suite_close(store);
}

/* --- at random -------------------------------------------------------------
 */

static void must_lose_nothing(const struct news_plan *plan)
{
    struct news_report report;

    news_run(&report, plan);
    print_message("%zu told, %zu of tenants\n", report.told, report.listed);
    ASSERT_SIZE(0, report.lost);
    ASSERT_SIZE(0, report.untrue);
    ASSERT_SIZE(0, report.unheard);
    ASSERT(report.told > plan->rounds / 2);
}

TEST(watcher, loses_nothing_and_tells_nothing_twice)
{
    pdr_store *store = suite_open();
    const struct news_plan plan = {.here = store, .seed = 5, .rounds = 300};

    must_lose_nothing(&plan);
    suite_close(store);
}

/* With few sessions each is looked at, with many those that run and a slice. */
TEST(watcher, hears_of_commits_through_another_handle)
{
    static const unsigned sessions[] = {0, 100};

    if ((suite_backend.capabilities & PDR_CAN_SHARE) == 0)
        test_skip("this store is not shared");
    for (size_t i = 0; i < COUNT(sessions); i++) {
        pdr_store *store = suite_open(), *other = suite_open_again();
        const struct news_plan plan = {.here = store,
                                       .elsewhere = other,
                                       .seed = 9,
                                       .rounds = 25,
                                       .sessions = sessions[i]};

        must_lose_nothing(&plan);
        pdr_store_close(other);
        suite_close(store);
    }
}

/* --- threads ---------------------------------------------------------------
 */

#define WRITERS 3u
#define COMMITS 60u

struct crowd {
    pdr_store *store;
    pdr_watcher *watcher;
    atomic_uint next;
    atomic_bool over;
};

static void *write_often(void *arg)
{
    struct crowd *crowd = arg;
    char id[2] = {(char)('a' + (int)atomic_fetch_add(&crowd->next, 1)), '\0'};

    for (size_t i = 0; i < COMMITS; i++) {
        pdr_edit edit = {.ref.id = pdr_str_c(id),
                         .revision = PDR_ANY_REVISION,
                         .or_create = true,
                         .stream = &row,
                         .stream_count = 1};

        (void)must_commit(crowd->store, &edit);
    }
    return NULL;
}

static void *add_often(void *arg)
{
    struct crowd *crowd = arg;

    for (unsigned i = 0; !atomic_load(&crowd->over); i++) {
        char id[2] = {(char)('a' + (int)(i % 6)), '\0'};
        const pdr_ref ref = {.id = i % 5 == 0 ? NONE : pdr_str_c(id)};

        ASSERT_RC(PDR_OK, pdr_watcher_add(crowd->watcher, &ref, NULL, 9, NULL));
        pdr_watcher_remove(crowd->watcher, &ref, 9);
    }
    pdr_watcher_wake(crowd->watcher);
    return NULL;
}

TEST(watcher, serves_one_thread_while_others_add_and_commit)
{
    struct crowd crowd = {.store = suite_open()};
    pthread_t writers[WRITERS], adder;
    uint64_t at[WRITERS] = {0};
    pdr_news news[4];
    size_t count = 0, done = 0;

    crowd.watcher = watcher_of(crowd.store);
    for (unsigned i = 0; i < WRITERS; i++) {
        char id[2] = {(char)('a' + (int)i), '\0'};

        add(crowd.watcher, id, i);
    }
    ASSERT_INT(0, pthread_create(&adder, NULL, add_often, &crowd));
    for (size_t i = 0; i < WRITERS; i++)
        ASSERT_INT(0, pthread_create(&writers[i], NULL, write_often, &crowd));
    while (done < WRITERS) {
        ASSERT_RC(PDR_OK, pdr_watcher_wait(news, COUNT(news), &count,
                                           crowd.watcher, LONG_MS, NULL));
        for (size_t i = 0; i < count; i++) {
            if (news[i].kind != PDR_NEWS_SESSION || news[i].tag >= WRITERS)
                continue;
            ASSERT(news[i].stream_next > at[news[i].tag]);
            at[news[i].tag] = news[i].stream_next;
            done += news[i].stream_next == COMMITS + 1;
        }
    }
    atomic_store(&crowd.over, true);
    for (size_t i = 0; i < WRITERS; i++)
        ASSERT_INT(0, pthread_join(writers[i], NULL));
    ASSERT_INT(0, pthread_join(adder, NULL));
    pdr_watcher_close(crowd.watcher);
    suite_close(crowd.store);
}
