/* The handle: what it says of itself, who may use it, who is woken. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

/* --- info ----------------------------------------------------------------- */

TEST(info, names_the_backend_and_what_it_can_do)
{
    pdr_store *store = suite_open();
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_STR(suite_backend.name, info.backend);
    ASSERT_INT(suite_backend.capabilities, info.capabilities);
    ASSERT(suite_backend.keyed == info.keyed);
    ASSERT(!info.read_only);
    ASSERT(!info.in_doubt);
    ASSERT_INT(0, info.commits);
    ASSERT((info.schema > 0) ==
           ((suite_backend.capabilities & PDR_CAN_PERSIST) != 0));
    suite_close(store);
}

TEST(info, counts_the_commits_that_were_done)
{
    pdr_store *store = suite_open();
    pdr_store_info info;
    pdr_edit late = EDIT("a", 7);

    (void)must_create(store, "a");
    (void)must_create(store, "b");
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &late);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_INT(2, info.commits);
    ASSERT(info.groups >= 1 && info.groups <= 3);
    suite_close(store);
}

TEST(now, is_the_callers_in_a_store_without_a_clock)
{
    pdr_store *store = suite_open();
    int64_t now = 0;

    ASSERT_RC(PDR_OK, pdr_store_now(&now, store, NOW + 7, NULL));
    ASSERT_INT(NOW + 7, now);
    suite_close(store);
}

/* --- tenants -------------------------------------------------------------- */

TEST(tenant, has_sessions_of_its_own)
{
    pdr_store *store = suite_open();
    static const char *const tenants[] = {"north", "south"};

    for (size_t i = 0; i < 2; i++) {
        const pdr_entry entry = {.correlation_id = S("c"), .body = S("1")};
        pdr_edit edit = {.ref = {pdr_str_c(tenants[i]), S("s")},
                         .agent = pdr_str_c(tenants[i]),
                         .entries = &entry,
                         .entry_count = 1};
        (void)must_commit(store, &edit);
    }
    ASSERT(!is_there(store, "s")); /* in the default tenant */
    const pdr_edit change = {.ref = {S("north"), S("s")},
                             .revision = 1,
                             .set_state = true,
                             .state = PDR_SESSION_RUNNING};
    (void)must_commit(store, &change);
    pdr_query query = {.what = PDR_READ_HEAD, .ref = {S("south"), S("s")}};
    pdr_page *page = must_read(store, &query);
    ASSERT_INT(1, page->head.revision);
    ASSERT_TEXT("south", page->head.agent);
    pdr_page_free(page);
    query = (pdr_query){.what = PDR_READ_SESSIONS,
                        .ref = {.tenant = S("north")},
                        .filter = {.agent = S("south")}};
    page = must_read(store, &query);
    ASSERT_SIZE(0, page->count);
    pdr_page_free(page);

    const pdr_edit removal = {
        .ref = {S("north"), S("s")}, .revision = 2, .remove = true};
    (void)must_commit(store, &removal);
    query = (pdr_query){.what = PDR_READ_ENTRIES, .ref = {S("south"), S("s")}};
    page = must_read(store, &query);
    ASSERT_SIZE(1, page->count);
    pdr_page_free(page);
    suite_close(store);
}

TEST(tenant, and_id_are_not_run_together)
{
    pdr_store *store = suite_open();
    const pdr_edit first = {.ref = {S("ab"), S("c")}};
    const pdr_edit second = {.ref = {S("a"), S("bc")}};

    (void)must_commit(store, &first);
    (void)must_commit(store, &second);
    suite_close(store);
}

TEST(tenant, without_a_name_is_the_default_one)
{
    pdr_store *store = suite_open();
    const pdr_edit named = {.ref = {S("default"), S("s")}};

    (void)must_create(store, "s");
    must_refuse(PDR_EEXISTS, "session_exists", store, &named);
    suite_close(store);
}

/* --- opening -------------------------------------------------------------- */

TEST(opening, gives_stores_that_know_nothing_of_each_other)
{
    pdr_store *one = suite_open(), *two = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&two, "memory:", &err));
    (void)must_create(one, "s");
    ASSERT(!is_there(two, "s"));
    pdr_store_close(two);
    suite_close(one);
}

TEST(opening, refuses_what_is_no_uri)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_store_open(&store, "nonsense:x", &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(store == NULL);
    pdr_store_close(NULL);
}

TEST(opening, gives_a_handle_for_one_process)
{
    pdr_store *store = suite_open();
    int status = 0;

    (void)must_create(store, "s");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const pdr_edit edit = EDIT("t", 0);
        const pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = S("s")}};
        const pdr_commit_options options = {.now_ms = NOW};
        pdr_page *page = NULL;
        pdr_store_counts counts;
        pdr_store_info info;
        int64_t now = 0;
        int bad = 0;
        bad += PDR_EMISUSE !=
               pdr_store_commit(NULL, store, &edit, 1, &options, NULL);
        bad += PDR_EMISUSE != pdr_store_read(&page, store, &query, NULL);
        bad += PDR_EMISUSE != pdr_store_info_get(&info, store, NULL);
        bad += PDR_EMISUSE != pdr_store_count(&counts, store, S("t"), NULL);
        bad += PDR_EMISUSE != pdr_store_now(&now, store, NOW, NULL);
        pdr_store_close(store);
        _exit(bad);
    }
    ASSERT(child > 0);
    ASSERT_INT(child, waitpid(child, &status, 0));
    ASSERT(WIFEXITED(status));
    ASSERT_INT(0, WEXITSTATUS(status));
    ASSERT(is_there(store, "s") && !is_there(store, "t"));
    suite_close(store);
}

TEST(opening, gives_several_handles_on_what_can_be_shared)
{
    pdr_store *one = suite_open();

    if ((suite_backend.capabilities & PDR_CAN_SHARE) == 0) {
        suite_close(one);
        test_skip("this store is not shared");
    }
    pdr_store *two = suite_open_again();
    (void)must_create(one, "s");
    ASSERT(is_there(two, "s"));
    (void)must_append(two, "s", 1, 0, 2);
    pdr_edit late = EDIT("s", 1);
    late.set_state = true;
    must_refuse(PDR_ECONFLICT, "revision_changed", one, &late);
    ASSERT(suite_hash(one) == suite_hash(two));
    pdr_store_close(two);
    suite_close(one);
}

TEST(opening, for_reading_gives_a_handle_that_changes_nothing)
{
    pdr_store *store = suite_open();

    if ((suite_backend.capabilities & PDR_CAN_READ_ONLY) == 0) {
        suite_close(store);
        test_skip("this store is always written to");
    }
    (void)must_append(store, "s", 0, 0, 3);
    pdr_store *reader = suite_open_read_only();
    pdr_store_info info;
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, reader, NULL));
    ASSERT(info.read_only);
    pdr_edit edit = EDIT("s", 1), new = EDIT("t", 0);
    edit.set_state = true;
    must_refuse(PDR_EDENIED, "read_only", reader, &edit);
    must_refuse(PDR_EDENIED, "read_only", reader, &new);
    (void)must_append(store, "s", 1, 3, 2); /* and it sees what comes */
    ASSERT(suite_hash(store) == suite_hash(reader));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, reader, NULL, NULL, NULL, NULL));
    pdr_store_close(reader);
    suite_close(store);
}

/* --- watching ------------------------------------------------------------- */

static pdr_watch *watch(pdr_store *store, const char *id)
{
    const pdr_ref ref = {.id = pdr_str_c(id)};
    pdr_watch *out = NULL;

    ASSERT_RC(PDR_OK,
              pdr_watch_open(&out, store, id != NULL ? &ref : NULL, NULL));
    return out;
}

static void must_stay_quiet(pdr_watch *w)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(w, 0, &err));
    ASSERT_STR("nothing_changed", err.reason);
}

TEST(watch, tells_each_commit_that_touched_its_session)
{
    pdr_store *store = suite_open();
    pdr_watch *w = watch(store, "s"), *all = watch(store, NULL);
    const pdr_work inbox = {.kind = S("run"), .due_ms = 1, .body = S("1")};
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);

    must_stay_quiet(w);
    must_stay_quiet(all);
    (void)must_create(store, "s"); /* it need not exist before */
    ASSERT_RC(PDR_OK, pdr_watch_wait(w, 0, NULL));
    ASSERT_RC(PDR_OK, pdr_watch_wait(all, 0, NULL));
    must_stay_quiet(w);
    edit.inbox = &inbox;
    edit.inbox_count = 1;
    (void)must_commit(store, &edit); /* also if the revision stays */
    ASSERT_RC(PDR_OK, pdr_watch_wait(w, 0, NULL));
    (void)must_create(store, "t");
    must_stay_quiet(w);
    ASSERT_RC(PDR_OK, pdr_watch_wait(all, 0, NULL));
    edit = (pdr_edit)EDIT("s", 1);
    edit.remove = true;
    (void)must_commit(store, &edit);
    ASSERT_RC(PDR_OK, pdr_watch_wait(w, 0, NULL));
    must_stay_quiet(w);
    pdr_watch_close(all);
    pdr_watch_close(w);
    suite_close(store);
}

TEST(watch, does_not_tell_what_was_refused)
{
    pdr_store *store = suite_open();
    (void)must_create(store, "s");
    pdr_watch *w = watch(store, "s");
    pdr_edit late = EDIT("s", 9);

    must_refuse(PDR_ECONFLICT, "revision_changed", store, &late);
    must_stay_quiet(w);
    pdr_watch_close(w);
    suite_close(store);
}

static void *create_later(void *arg)
{
    (void)must_create(arg, "s");
    return NULL;
}

TEST(watch, wakes_who_waits)
{
    pdr_store *store = suite_open();
    pdr_watch *w = watch(store, "s");
    pthread_t thread;

    ASSERT_INT(0, pthread_create(&thread, NULL, create_later, store));
    ASSERT_RC(PDR_OK, pdr_watch_wait(w, 20000, NULL));
    ASSERT_INT(0, pthread_join(thread, NULL));
    ASSERT(is_there(store, "s"));
    pdr_watch_close(w);
    suite_close(store);
}

static void *stop_later(void *arg)
{
    pdr_watch_stop(arg);
    return NULL;
}

TEST(watch, that_is_stopped_ends_for_ever)
{
    pdr_store *store = suite_open();
    pdr_watch *w = watch(store, NULL);
    pdr_err err = PDR_ERR_INIT;
    pthread_t thread;

    ASSERT_INT(0, pthread_create(&thread, NULL, stop_later, w));
    ASSERT_RC(PDR_ECANCELLED, pdr_watch_wait(w, 20000, &err));
    ASSERT_STR("watch_stopped", err.reason);
    ASSERT_INT(0, pthread_join(thread, NULL));
    ASSERT_RC(PDR_ECANCELLED, pdr_watch_wait(w, 20000, NULL));
    pdr_watch_close(w);
    pdr_watch_close(NULL);
    suite_close(store);
}

TEST(watch, hears_of_commits_through_another_handle)
{
    pdr_store *one = suite_open();

    if ((suite_backend.capabilities & PDR_CAN_SHARE) == 0) {
        suite_close(one);
        test_skip("this store is not shared");
    }
    pdr_store *two = suite_open_again();
    pdr_watch *w = watch(two, "s"), *all = watch(two, NULL);
    (void)must_create(one, "s");
    ASSERT_RC(PDR_OK, pdr_watch_wait(w, 20000, NULL));
    ASSERT_RC(PDR_OK, pdr_watch_wait(all, 20000, NULL));
    pdr_watch_close(all);
    pdr_watch_close(w);
    pdr_store_close(two);
    suite_close(one);
}

/* --- verifying ------------------------------------------------------------ */

static void never(void *arg, const char *table, const char *row,
                  const char *what)
{
    (void)arg;
    fail_msg("%s %s: %s", table, row, what);
}

TEST(verify, counts_what_it_looked_at)
{
    pdr_store *store = suite_open();
    const pdr_slot slots[] = {{.key = S("a"), .value = S("1")},
                              {.key = S("b"), .value = S("1")}};
    pdr_verify_report report;
    pdr_edit edit = EDIT("s", 1);

    (void)must_append(store, "s", 0, 0, 7);
    edit.slots = slots;
    edit.slot_count = 2;
    edit.frame = S("{}");
    (void)must_commit(store, &edit);
    (void)must_append(store, "t", 0, 0, 300);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(&report, store, NULL, NULL, never, NULL));
    ASSERT_INT(2, report.sessions);
    ASSERT_INT(307, report.entries);
    ASSERT_INT(3, report.rows);
    ASSERT_INT(0, report.bad);
    const pdr_ref one = {.id = S("s")};
    ASSERT_RC(PDR_OK,
              pdr_store_verify(&report, store, &one, NULL, never, NULL));
    ASSERT_INT(1, report.sessions);
    ASSERT_INT(7, report.entries);
    const pdr_ref nobody = {.id = S("nobody")};
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_store_verify(NULL, store, &nobody, NULL, never, NULL));
    suite_close(store);
}

/* --- threads -------------------------------------------------------------- */

#define THREADS 4
#define TURNS   25

struct worker {
    pdr_store *store;
    size_t done, late;
};

/* Append one entry at a time, reading the revision anew after each conflict. */
static void *work(void *arg)
{
    struct worker *worker = arg;
    const pdr_commit_options options = {.now_ms = NOW};
    const pdr_entry entry = {.body = S("{}")};
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = S("s")}};
    pdr_page *page = NULL;

    while (worker->done < TURNS) {
        if (pdr_store_read(&page, worker->store, &query, NULL) != PDR_OK)
            return NULL;
        const pdr_edit edit = {.ref = query.ref,
                               .revision = page->head.revision,
                               .entries = &entry,
                               .entry_count = 1};
        pdr_page_free(page);
        pdr_rc rc =
            pdr_store_commit(NULL, worker->store, &edit, 1, &options, NULL);
        worker->done += rc == PDR_OK;
        worker->late += rc == PDR_ECONFLICT;
        if (rc != PDR_OK && rc != PDR_ECONFLICT)
            return NULL;
    }
    return NULL;
}

TEST(threads, extend_one_session_without_losing_or_doubling)
{
    pdr_store *store = suite_open();
    struct worker workers[THREADS];
    pthread_t threads[THREADS];

    (void)must_create(store, "s");
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store};
        ASSERT_INT(0, pthread_create(&threads[i], NULL, work, &workers[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(threads[i], NULL));
        ASSERT_SIZE(TURNS, workers[i].done);
    }
    ASSERT_INT(1 + THREADS * TURNS, head_of(store, "s").revision);
    ASSERT_INT(1 + THREADS * TURNS, head_of(store, "s").next_seq);
    suite_close(store);
}

/* --- memory --------------------------------------------------------------- */

/* What hashes and verifies is not what is tried here. */
static uint64_t quiet_hash(pdr_store *store)
{
    test_pause_failures(true);
    uint64_t hash = suite_hash(store);
    test_pause_failures(false);
    return hash;
}

TEST_OOM(commit, is_whole_or_absent_when_memory_runs_out)
{
    const pdr_entry entries[] = {{.correlation_id = S("c"), .body = S("1")},
                                 {.correlation_id = S("d"), .body = S("2")}};
    const pdr_slot slots[] = {{.key = S("k"), .value = S("1")},
                              {.key = S("l")}};
    const pdr_property property = {
        .key = S("p"), .value = S("1"), .match = S("1")};
    const pdr_work work_row = {.kind = S("w"), .due_ms = 1, .body = S("1")};
    const uint64_t settle[] = {1};
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_edit edits[3] = {EDIT("a", 1), EDIT("b", 0), EDIT("c", 1)};
    pdr_edit setup = EDIT("a", 0);

    test_pause_failures(true);
    pdr_store *store = suite_open();
    setup.inbox = &work_row;
    setup.inbox_count = 1;
    (void)must_commit(store, &setup);
    (void)must_create(store, "c");
    uint64_t before = suite_hash(store);
    test_pause_failures(false);

    edits[0].entries = entries;
    edits[0].entry_count = 2;
    edits[0].slots = slots;
    edits[0].slot_count = 2;
    edits[0].properties = &property;
    edits[0].property_count = 1;
    edits[0].settle = settle;
    edits[0].settle_count = 1;
    edits[0].frame = S("{}");
    edits[1].journal = edits[1].stream = edits[1].inbox = &work_row;
    edits[1].journal_count = edits[1].stream_count = edits[1].inbox_count = 1;
    edits[1].lease.verb = PDR_LEASE_TAKE;
    edits[1].lease.owner = S("me");
    edits[2].remove = true;
    pdr_rc rc = pdr_store_commit(NULL, store, edits, 3, &options, NULL);
    uint64_t after = quiet_hash(store);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((before == after) == (rc == PDR_ENOMEM));
    if (rc == PDR_ENOMEM) { /* and it can be tried again */
        test_pause_failures(true);
        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, edits, 3, &options, NULL));
        test_pause_failures(false);
    }
    test_pause_failures(true);
    suite_close(store);
    test_pause_failures(false);
}

TEST_OOM(page, is_whole_or_absent_when_memory_runs_out)
{
    static const pdr_read_what kinds[] = {PDR_READ_ENTRIES, PDR_READ_SLOTS,
                                          PDR_READ_FRAME, PDR_READ_SESSIONS,
                                          PDR_READ_DUE};
    const pdr_slot slot = {.key = S("k"), .value = S("1")};
    const pdr_work inbox = {.kind = S("w"), .due_ms = 1, .body = S("1")};
    pdr_edit edit = EDIT("s", 1);

    test_pause_failures(true);
    pdr_store *store = suite_open();
    (void)must_append(store, "s", 0, 0, 3);
    edit.slots = &slot;
    edit.slot_count = 1;
    edit.frame = S("{}");
    edit.inbox = &inbox;
    edit.inbox_count = 1;
    (void)must_commit(store, &edit);
    test_pause_failures(false);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        pdr_query query = {.what = kinds[i], .limit = 1, .now_ms = NOW};
        pdr_page *page = NULL;
        if (kinds[i] < PDR_READ_SESSIONS)
            query.ref.id = S("s");
        pdr_rc rc = pdr_store_read(&page, store, &query, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((page != NULL) == (rc == PDR_OK));
        pdr_page_free(page);
    }
    test_pause_failures(true);
    suite_close(store);
    test_pause_failures(false);
}
