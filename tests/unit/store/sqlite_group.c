/* Commits of several threads, and commits that fail, on SQLite. */
#include "sqlite_room.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim_vfs.h"
#include "sqlite/sqlite.h"

static struct pdr__sqlite *inside(pdr_store *store)
{
    return PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
}

static pdr_entry entry_of(const char *correlation_id, const char *body)
{
    pdr_entry entry;

    memset(&entry, 0, sizeof(entry));
    entry.created_ms = 1000;
    entry.correlation_id = pdr_str_c(correlation_id);
    entry.body = pdr_str_c(body);
    return entry;
}

static pdr_request request_of(const pdr_edit *edits, size_t count)
{
    pdr_request request;

    memset(&request, 0, sizeof(request));
    request.edits = edits;
    request.count = count;
    request.options.now_ms = 1000;
    request.options.timeout_ms = 5000;
    return request;
}

/* --- one transaction ----------------------------------------------------- */

TEST(sqlite_group, commits_together_what_comes_together)
{
    enum { COUNT = 300 };
    static char ids[COUNT][16];
    static pdr_edit edits[COUNT];
    static pdr_request requests[COUNT];
    pdr_entry entry = entry_of("c", "{\"n\":1}");
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "s-%zu", i);
        edits[i] = edit_of(ids[i], 0);
        edits[i].entries = &entry;
        edits[i].entry_count = 1;
        requests[i] = request_of(&edits[i], 1);
    }
    pdr_store_commit_all(store, requests, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        ASSERT_RC(PDR_OK, requests[i].rc);
    ASSERT_INT(COUNT, inside(store)->group.commits);
    ASSERT_INT(3, inside(store)->group.groups); /* of at most 128 */
    ASSERT_INT(COUNT, sql_int(&room, "SELECT count(*) FROM conversation"));
    ASSERT_INT(COUNT, sql_int(&room, "SELECT count(*) FROM completions"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, ends_a_group_that_has_many_bytes)
{
    static char body[3 * 1024 * 1024];
    pdr_edit edits[3];
    pdr_request requests[3];
    pdr_entry entry = entry_of(NULL, "1");
    static const char *const ids[] = {"a", "b", "c"};
    struct room room;
    pdr_store *store = NULL;

    memset(body, ' ', sizeof(body));
    body[0] = '1';
    entry.body = pdr_str_n(body, sizeof(body));
    room_enter(&room);
    store = store_open(&room, "");
    for (size_t i = 0; i < 3; i++) {
        edits[i] = edit_of(ids[i], 0);
        edits[i].entries = &entry;
        edits[i].entry_count = 1;
        requests[i] = request_of(&edits[i], 1);
    }
    pdr_store_commit_all(store, requests, 3);
    for (size_t i = 0; i < 3; i++)
        ASSERT_RC(PDR_OK, requests[i].rc);
    ASSERT_INT(3, inside(store)->group.groups);
    pdr_store_close(store);
    room_leave(&room);
}

/* Offender: it settles a row, then one that is not there, so that it has
 * written before it is refused. */
static void check_offender_at(size_t place)
{
    static const uint64_t settle[] = {1, 99};
    static const char *const ids[] = {"a", "b", "c"};
    pdr_work row;
    pdr_entry entry = entry_of("c", "{}");
    pdr_edit edits[3], first = edit_of("x", 0);
    pdr_request requests[3];
    struct room room;
    pdr_store *store = NULL;

    memset(&row, 0, sizeof(row));
    row.kind = pdr_str_c("run");
    row.body = pdr_str_c("1");
    room_enter(&room);
    store = store_open(&room, "");
    first.inbox = &row;
    first.inbox_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &first, NULL, NULL));
    for (size_t i = 0; i < 3; i++) {
        edits[i] = edit_of(ids[i], 0);
        edits[i].entries = &entry;
        edits[i].entry_count = 1;
        if (i == place) {
            edits[i] = edit_of("x", PDR_ANY_REVISION);
            edits[i].settle = settle;
            edits[i].settle_count = 2;
            edits[i].lease.verb = PDR_LEASE_TAKE;
            edits[i].lease.owner = pdr_str_c("w");
            edits[i].lease.until_ms = 5000;
        }
        requests[i] = request_of(&edits[i], 1);
    }
    pdr_store_commit_all(store, requests, 3);
    for (size_t i = 0; i < 3; i++)
        ASSERT_RC(i == place ? PDR_ECONFLICT : PDR_OK, requests[i].rc);
    ASSERT_STR("not_in_inbox", requests[place].err.reason);
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM inbox"));
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM conversation"));
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM completions"));
    ASSERT_INT(3, sql_int(&room, "SELECT number FROM store"));
    ASSERT_INT(0, sql_int(&room, "SELECT fence FROM sessions WHERE id='x'"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, leaves_out_one_that_is_refused_after_its_first_row)
{
    for (size_t place = 0; place < 3; place++)
        check_offender_at(place);
}

TEST(sqlite_group, lets_a_commit_see_those_before_it)
{
    pdr_entry entry = entry_of("c", "{}");
    pdr_completion end;
    pdr_edit edits[5];
    pdr_request requests[5];
    struct room room;
    pdr_store *store = NULL;

    memset(&end, 0, sizeof(end));
    end.correlation_id = pdr_str_c("c");
    end.outcome = pdr_str_c("1");
    edits[0] = edit_of("a", 0);
    edits[1] = edit_of("a", 1);
    edits[2] = edit_of("a", 1); /* late */
    edits[3] = edit_of("a", PDR_ANY_REVISION);
    edits[4] = edit_of("a", PDR_ANY_REVISION); /* ended already */
    for (size_t i = 0; i < 5; i++) {
        edits[i].entries = i < 3 ? &entry : NULL;
        edits[i].entry_count = i < 3;
        edits[i].completions = i < 3 ? NULL : &end;
        edits[i].completion_count = i >= 3;
        requests[i] = request_of(&edits[i], 1);
    }
    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_commit_all(store, requests, 5);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_OK, requests[1].rc);
    ASSERT_RC(PDR_ECONFLICT, requests[2].rc);
    ASSERT_RC(PDR_OK, requests[3].rc);
    ASSERT_RC(PDR_EEXISTS, requests[4].rc);
    ASSERT_INT(1, inside(store)->group.groups);
    ASSERT_STR("c|1|2|1", sql_text(&room, "SELECT correlation_id||'|'||"
                                          "first_seq||'|'||last_seq||'|'||"
                                          "outcome FROM completions"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, removes_what_the_same_group_appended)
{
    pdr_entry entry = entry_of("c", "{}");
    pdr_edit edits[3];
    pdr_request requests[3];
    struct room room;
    pdr_store *store = NULL;

    edits[0] = edit_of("a", 0);
    edits[0].entries = &entry;
    edits[0].entry_count = 1;
    edits[1] = edit_of("a", 1);
    edits[1].remove = true;
    edits[2] = edits[0];
    for (size_t i = 0; i < 3; i++)
        requests[i] = request_of(&edits[i], 1);
    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_commit_all(store, requests, 3);
    for (size_t i = 0; i < 3; i++)
        ASSERT_RC(PDR_OK, requests[i].rc);
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM log"));
    ASSERT_INT(2, sql_int(&room, "SELECT no FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, writes_more_rows_than_it_puts_in_order)
{
    enum { COUNT = 700 };
    static pdr_entry entries[COUNT];
    pdr_edit edit = edit_of("a", 0);
    struct room room;
    pdr_store *store = NULL;

    for (size_t i = 0; i < COUNT; i++)
        entries[i] = entry_of(NULL, i % 2 == 0 ? "0" : "11111111");
    edit.entries = entries;
    edit.entry_count = COUNT;
    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    ASSERT_INT(COUNT, sql_int(&room, "SELECT count(*) FROM conversation WHERE "
                                     "body=CASE seq%2 WHEN 1 THEN '0' ELSE "
                                     "'11111111' END"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- several sessions in one commit -------------------------------------- */

TEST(sqlite_group, commits_several_sessions_or_none)
{
    pdr_entry entry = entry_of(NULL, "{}");
    pdr_edit edits[2];
    const pdr_commit_options options = {.now_ms = 1000};
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    edits[0] = edit_of("a", 0);
    edits[1] = edit_of("b", 5);
    edits[0].entries = edits[1].entries = &entry;
    edits[0].entry_count = edits[1].entry_count = 1;
    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_store_commit(NULL, store, edits, 2, &options, &err));
    ASSERT_STR("no_session", err.reason);
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM sessions"));
    ASSERT_INT(0, sql_int(&room, "SELECT number FROM store"));
    edits[1].revision = 0;
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, edits, 2, &options, NULL));
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM conversation"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, checks_a_commit_that_changes_nothing)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_edit edit = edit_of("a", 1);

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    edit.revision = 2;
    ASSERT_RC(PDR_ECONFLICT, commit_one(store, &edit, NULL, NULL));
    ASSERT_INT(1, sql_int(&room, "SELECT commits FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- threads ------------------------------------------------------------- */

#define THREADS 8
#define TURNS   40

struct worker {
    pthread_t thread;
    pdr_store *store;
    char id[16];
    size_t done;
    pdr_rc rc;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    char correlation[32];

    for (size_t i = 0; i < TURNS && worker->rc == PDR_OK; i++) {
        (void)snprintf(correlation, sizeof(correlation), "c-%zu", i);
        worker->rc = append_one(worker->store, worker->id, i, correlation,
                                "{\"n\":1}", NULL);
        worker->done += worker->rc == PDR_OK;
    }
    return NULL;
}

TEST(sqlite_group, carries_out_the_commits_of_all_threads)
{
    static struct worker workers[THREADS];
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .rc = PDR_OK};
        (void)snprintf(workers[i].id, sizeof(workers[i].id), "s-%zu", i);
        ASSERT_INT(0,
                   pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(workers[i].thread, NULL));
        ASSERT_RC(PDR_OK, workers[i].rc);
        ASSERT_SIZE(TURNS, workers[i].done);
    }
    ASSERT_INT(THREADS * TURNS, inside(store)->group.commits);
    ASSERT(inside(store)->group.groups <= THREADS * TURNS);
    ASSERT(!inside(store)->group.led);
    ASSERT_INT(THREADS * TURNS,
               sql_int(&room, "SELECT count(*) FROM conversation"));
    ASSERT_STR("ok", sql_text(&room, "PRAGMA integrity_check"));
    pdr_store_close(store);
    room_leave(&room);
}

/* Calls of several threads that stand in the queue in a known order: while
 * somebody else has the lock, none of them is taken. */
struct call {
    const char *name; /* of its sessions, before their number */
    size_t count;
    pthread_t thread;
    pdr_store *store;
    char (*ids)[32];
    pdr_edit *edits;
    pdr_request *requests;
};

static void *commit_call(void *arg)
{
    struct call *call = arg;

    pdr_store_commit_all(call->store, call->requests, call->count);
    return NULL;
}

/* Returns when it stands in the queue, as the last. */
static void call_start(struct call *call, pdr_store *store)
{
    const struct timespec moment = {0, 1000000};
    struct pdr__group *group = &inside(store)->group;
    const struct pdr__ticket *last = NULL, *before = NULL;

    call->store = store;
    call->ids = calloc(call->count, sizeof(*call->ids));
    call->edits = calloc(call->count, sizeof(*call->edits));
    call->requests = calloc(call->count, sizeof(*call->requests));
    ASSERT(call->ids != NULL && call->edits != NULL && call->requests != NULL);
    for (size_t i = 0; i < call->count; i++) {
        (void)snprintf(call->ids[i], sizeof(*call->ids), "%s-%zu", call->name,
                       i);
        call->edits[i] = edit_of(call->ids[i], 0);
        call->requests[i] = request_of(&call->edits[i], 1);
        call->requests[i].options.timeout_ms = 60000;
    }
    before = group->last; /* nobody moves */
    ASSERT_INT(0, pthread_create(&call->thread, NULL, commit_call, call));
    for (last = before; last == before; (void)nanosleep(&moment, NULL)) {
        pthread_mutex_lock(&group->lock);
        last = group->last;
        pthread_mutex_unlock(&group->lock);
    }
}

static void call_end(struct call *call)
{
    ASSERT_INT(0, pthread_join(call->thread, NULL));
    for (size_t i = 0; i < call->count; i++)
        ASSERT_RC(PDR_OK, call->requests[i].rc);
    free(call->requests);
    free(call->edits);
    free(call->ids);
}

/* Which sessions came first, and in which order the rest of their calls: a
 * session has the number of the commit that made it. */
static void check_calls(struct call *calls, size_t count, const char *order)
{
    struct room room;
    struct pdr__line other;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK,
              pdr__line_open(&other, room_path(&room, "s.db-lock"), NULL));
    ASSERT(pdr__line_try(&other));
    for (size_t i = 0; i < count; i++)
        call_start(&calls[i], store);
    pdr__line_close(&other);
    for (size_t i = 0; i < count; i++)
        call_end(&calls[i]);
    ASSERT_STR(order,
               sql_text(&room, "SELECT group_concat(id||'='||no,' ') FROM "
                               "(SELECT id,no FROM sessions WHERE id IN"
                               "('one-0','two-0','large-0','large-127',"
                               "'large-299') ORDER BY no)"));
    ASSERT_INT(0, sql_int(&room,
                          "SELECT count(*) FROM sessions a, sessions b WHERE "
                          "a.id LIKE 'large-%' AND b.id LIKE 'large-%' AND "
                          "a.no<b.no AND CAST(substr(a.id,7) AS INTEGER)>"
                          "CAST(substr(b.id,7) AS INTEGER)"));
    ASSERT(!inside(store)->group.led);
    ASSERT(inside(store)->group.first == NULL);
    ASSERT(inside(store)->group.last == NULL);
    pdr_store_close(store);
    room_leave(&room);
}

/* The large one is the leader's own. */
TEST(sqlite_group, lets_others_come_between_the_batches_of_a_large_call)
{
    struct call calls[] = {
        {.name = "large", .count = 300},
        {.name = "one", .count = 1},
        {.name = "two", .count = 1},
    };

    check_calls(calls, PDR_COUNT(calls),
                "large-0=1 large-127=128 one-0=129 two-0=130 large-299=302");
}

/* The large one waits, leads last, and has its turn in each batch. */
TEST(sqlite_group, goes_on_with_a_large_call_behind_those_who_came)
{
    struct call calls[] = {
        {.name = "one", .count = 1},
        {.name = "large", .count = 300},
        {.name = "two", .count = 1},
    };

    check_calls(calls, PDR_COUNT(calls),
                "one-0=1 large-0=2 two-0=129 large-127=130 large-299=302");
}

TEST(sqlite_group, does_not_pass_over_a_call_that_found_no_room)
{
    struct call calls[] = {
        {.name = "some", .count = 128},
        {.name = "one", .count = 1},
        {.name = "large", .count = 300},
        {.name = "two", .count = 1},
    };

    check_calls(calls, PDR_COUNT(calls),
                "one-0=129 large-0=130 two-0=257 large-127=258 large-299=430");
}

/* --- time ---------------------------------------------------------------- */

static pdr_rc commit_within(pdr_store *store, uint32_t timeout_ms, pdr_err *err)
{
    pdr_entry entry = entry_of(NULL, "{}");
    pdr_edit edit = edit_of("late", 0);
    const pdr_commit_options options = {.now_ms = 1000,
                                        .timeout_ms = timeout_ms};

    edit.entries = &entry;
    edit.entry_count = 1;
    return pdr_store_commit(NULL, store, &edit, 1, &options, err);
}

struct late {
    pthread_t thread;
    pdr_store *store;
    pdr_rc rc;
};

#define LATE_MS 50

static void *be_late(void *arg)
{
    struct late *late = arg;

    late->rc = commit_within(late->store, LATE_MS, NULL);
    return NULL;
}

/* That they are refused in time says wait/refused of the benchmarks. */
TEST(sqlite_group, is_busy_while_somebody_keeps_the_lock)
{
    static struct late late[THREADS];
    struct room room;
    struct pdr__line other;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    int64_t began = 0;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK,
              pdr__line_open(&other, room_path(&room, "s.db-lock"), NULL));
    ASSERT(pdr__line_try(&other));
    began = pdr__monotonic_ms(pdr__clock_system());
    for (size_t i = 0; i < THREADS; i++) {
        late[i] = (struct late){.store = store};
        ASSERT_INT(0, pthread_create(&late[i].thread, NULL, be_late, &late[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(late[i].thread, NULL));
        ASSERT_RC(PDR_EBUSY, late[i].rc);
    }
    ASSERT(pdr__monotonic_ms(pdr__clock_system()) - began >= LATE_MS);
    ASSERT_RC(PDR_EBUSY, commit_within(store, 10, &err));
    ASSERT_STR("writer_busy", err.reason);
    pdr__line_close(&other);
    ASSERT_RC(PDR_OK, commit_within(store, 5000, NULL));
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, ends_only_the_late_ones_of_a_call)
{
    pdr_edit edits[2];
    pdr_request requests[2];
    struct room room;
    struct pdr__line other;
    pdr_store *store = NULL;

    edits[0] = edit_of("a", 0);
    edits[1] = edit_of("b", 0);
    for (size_t i = 0; i < 2; i++)
        requests[i] = request_of(&edits[i], 1);
    requests[0].options.timeout_ms = 5;
    requests[1].options.timeout_ms = 60;
    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK,
              pdr__line_open(&other, room_path(&room, "s.db-lock"), NULL));
    ASSERT(pdr__line_try(&other));
    pdr_store_commit_all(store, requests, 2);
    ASSERT_RC(PDR_EBUSY, requests[0].rc);
    ASSERT_RC(PDR_EBUSY, requests[1].rc);
    pdr__line_close(&other);
    pdr_store_commit_all(store, requests, 2);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_OK, requests[1].rc);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, waits_for_a_program_that_does_not_know_our_lock)
{
    struct room room;
    pdr_store *store = NULL;
    sqlite3 *other = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&room, "s.db"), &other));
    (void)sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    ASSERT_RC(PDR_EBUSY, commit_within(store, 20, &err));
    ASSERT_STR("writer_busy", err.reason);
    ASSERT(strstr(err.message, "locked") == NULL);
    ASSERT_INT(SQLITE_OK, sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, commit_within(store, 5000, NULL));
    (void)sqlite3_close(other);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- files that go away -------------------------------------------------- */

TEST(sqlite_group, refuses_to_write_to_files_that_nobody_finds)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char path[512], moved[512];

    room_enter(&room);
    store = store_open(&room, "");
    (void)snprintf(path, sizeof(path), "%s", room_path(&room, "s.db"));
    (void)snprintf(moved, sizeof(moved), "%s", room_path(&room, "t.db"));
    ASSERT_INT(0, rename(path, moved));
    ASSERT_RC(PDR_EDENIED, append_one(store, "a", 0, NULL, "{}", &err));
    ASSERT_STR("unsafe_file", err.reason);
    ASSERT_INT(0, rename(moved, path));
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
    ASSERT_RC(PDR_EDENIED, append_one(store, "a", 1, NULL, "{}", &err));
    ASSERT_STR("unsafe_file", err.reason);
    pdr_store_close(store);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, is_misuse_after_fork)
{
    struct room room;
    pdr_store *store = NULL;
    int status = 0;
    pid_t child = 0;

    room_enter(&room);
    store = store_open(&room, "");
    child = fork();
    if (child == 0) {
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = append_one(store, "a", 0, NULL, "{}", &err);

        pdr_store_close(store);
        _exit(rc == PDR_EMISUSE && strcmp(err.reason, "after_fork") == 0 ? 0
                                                                         : 1);
    }
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- disks that fail ----------------------------------------------------- */

TEST(sqlite_group, is_in_doubt_after_a_sync_that_failed)
{
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 1};
    struct shim *shim = shim_new("doubt");
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    int64_t there = 0;
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    store = store_open(&room, "?vfs=doubt");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, "c-0", "{}", NULL));
    shim_fail(shim, &fault);
    ASSERT_RC(PDR_EUNKNOWN, append_one(store, "a", 1, "c-1", "{}", &err));
    ASSERT_STR("commit_unknown", err.reason);
    ASSERT_RC(PDR_EIO, append_one(store, "a", 1, "c-1", "{}", &err));
    ASSERT_STR("in_doubt", err.reason);
    ASSERT_SIZE(1, shim_failed(shim));
    pdr_store_close(store);

    store = store_open(&room, "?vfs=doubt");
    there = sql_int(&room, "SELECT count(*) FROM completions WHERE "
                           "correlation_id='c-1'");
    rc = append_one(store, "a", 1, "c-1", "{}", NULL);
    ASSERT_RC(there == 1 ? PDR_ECONFLICT : PDR_OK, rc);
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM conversation"));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

TEST(sqlite_group, ends_every_commit_of_a_failed_group_unknown_but_the_refused)
{
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 1};
    struct shim *shim = shim_new("doubts");
    pdr_edit edits[3];
    pdr_request requests[3];
    struct room room;
    pdr_store *store = NULL;

    edits[0] = edit_of("a", 0);
    edits[1] = edit_of("b", 7);
    edits[2] = edit_of("c", 0);
    for (size_t i = 0; i < 3; i++)
        requests[i] = request_of(&edits[i], 1);
    room_enter(&room);
    store = store_open(&room, "?vfs=doubts");
    shim_fail(shim, &fault);
    pdr_store_commit_all(store, requests, 3);
    ASSERT_RC(PDR_EUNKNOWN, requests[0].rc);
    ASSERT_RC(PDR_ENOTFOUND, requests[1].rc);
    ASSERT_RC(PDR_EUNKNOWN, requests[2].rc);
    ASSERT_INT(0, inside(store)->group.commits);
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* More than the cache holds goes to the disk before COMMIT, 30 pages at once.
 */
TEST(sqlite_group, refuses_what_the_disk_has_no_room_for)
{
    static char body[24 * 1024 * 1024];
    const struct shim_fault fault = {
        .op = SHIM_WRITE, .nth = 10, .for_ever = true, .full = true};
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    struct shim *shim = shim_new("full");
    pdr_entry entry = entry_of(NULL, "1");
    pdr_edit edits[2];
    pdr_request requests[2];
    struct room room;
    pdr_store *store = NULL;

    memset(body, ' ', sizeof(body));
    body[0] = '1';
    entry.body = pdr_str_n(body, sizeof(body));
    edits[0] = edit_of("large", 0);
    edits[0].entries = &entry;
    edits[0].entry_count = 1;
    edits[1] = edit_of("small", 0);
    for (size_t i = 0; i < 2; i++)
        requests[i] = request_of(&edits[i], 1);
    room_enter(&room);
    store = store_open(&room, "?vfs=full");
    shim_fail(shim, &fault);
    pdr_store_commit_all(store, requests, 1);
    ASSERT_RC(PDR_EIO, requests[0].rc);
    ASSERT_STR("disk_full", requests[0].err.reason);
    shim_fail(shim, &none);
    ASSERT(!atomic_load(&inside(store)->in_doubt));
    pdr_store_commit_all(store, requests, 2);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_OK, requests[1].rc);
    ASSERT_STR("ok", sql_text(&room, "PRAGMA integrity_check"));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* A small commit reaches the disk in COMMIT only. Nothing was synced, and what
 * was written of it lacks the frame that makes it one. */
TEST(sqlite_group, refuses_a_small_commit_that_the_disk_has_no_room_for)
{
    const struct shim_fault fault = {
        .op = SHIM_WRITE, .nth = 1, .for_ever = true, .full = true};
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    struct shim *shim = shim_new("small");
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "?vfs=small");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    shim_fail(shim, &fault);
    ASSERT_RC(PDR_EIO, append_one(store, "a", 1, NULL, "{}", &err));
    ASSERT_STR("disk_full", err.reason);
    ASSERT(shim_failed(shim) > 0);
    shim_fail(shim, &none);
    ASSERT(!atomic_load(&inside(store)->in_doubt));
    ASSERT(pdr__line_has_synced(&inside(store)->line));
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    /* A sync that fails afterwards is no full disk. */
    shim_fail(shim, &(struct shim_fault){.op = SHIM_SYNC, .nth = 1});
    ASSERT_RC(PDR_EUNKNOWN, append_one(store, "a", 2, NULL, "{}", NULL));
    shim_fail(shim, &none);
    pdr_store_close(store);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

TEST(sqlite_group, refuses_when_a_read_of_the_disk_fails)
{
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    struct shim *shim = shim_new("unread");
    struct room room;
    pdr_store *store = NULL;
    size_t failures = 0;

    room_enter(&room);
    store = store_open(&room, "?vfs=unread");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, "c", "{}", NULL));
    pdr_store_close(store);
    for (size_t nth = 1; nth < 40; nth++) {
        struct shim_fault fault = {.op = SHIM_READ, .nth = nth};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        store = store_open(&room, "?vfs=unread");
        ASSERT_RC(PDR_OK, append_one(store, "b", nth - 1, "x", "{}", NULL));
        sql_run(&room, "UPDATE store SET created=created+1;"
                       "UPDATE store SET created=created-1");
        shim_fail(shim, &fault); /* the cache is stale: all is read again */
        rc = append_one(store, "a", 1, "d", "{}", &err);
        shim_fail(shim, &none);
        pdr_store_close(store);
        if (rc == PDR_OK)
            break;
        failures++;
        ASSERT(rc == PDR_EIO || rc == PDR_ECORRUPT);
    }
    ASSERT(failures > 0);
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM conversation WHERE "
                                 "id='a'"));
    room_leave(&room);
    shim_free(shim);
}

/* --- damage -------------------------------------------------------------- */

/* After this was done to the file, a commit on session "a" must fail so, and
 * one on "b" in the same group must not. */
static void check_damage(const char *sql, const char *reason)
{
    static const uint64_t settle[] = {1};
    pdr_work row;
    pdr_entry entry = entry_of("c", "{}");
    pdr_edit edits[2];
    pdr_request requests[2];
    struct room room;
    pdr_store *store = NULL;

    memset(&row, 0, sizeof(row));
    row.kind = pdr_str_c("k");
    row.body = pdr_str_c("1");
    room_enter(&room);
    store = store_open(&room, "");
    edits[0] = edit_of("a", 0);
    edits[0].entries = &entry;
    edits[0].journal = edits[0].inbox = &row;
    edits[0].entry_count = edits[0].journal_count = edits[0].inbox_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, edits, NULL, NULL));
    sql_run(&room, sql);
    edits[0].revision = 1;
    edits[0].journal_through = 1;
    edits[0].settle = settle;
    edits[0].settle_count = 1;
    edits[1] = edit_of("b", 0);
    requests[0] = request_of(&edits[0], 1);
    requests[1] = request_of(&edits[1], 1);
    pdr_store_commit_all(store, requests, 2);
    ASSERT(requests[0].rc != PDR_OK);
    ASSERT_STR(reason, requests[0].err.reason);
    ASSERT_RC(PDR_OK, requests[1].rc);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, refuses_to_build_on_damaged_rows)
{
    check_damage("UPDATE sessions SET next_seq=9 WHERE id='a'", "bad_digest");
    check_damage("UPDATE sessions SET next_seq=-2", "store_damaged");
    check_damage("UPDATE sessions SET state='asleep'", "store_damaged");
    check_damage("UPDATE sessions SET kind=x'00'", "store_damaged");
    check_damage("UPDATE sessions SET digest=x'00'", "store_damaged");
    check_damage("UPDATE sessions SET revision='one'", "store_damaged");
    check_damage("UPDATE log SET last_seq=7 WHERE key='c'", "bad_digest");
    check_damage("UPDATE log SET created='now' WHERE key='c'", "store_damaged");
    check_damage("DELETE FROM parts WHERE part=0", "wrong_count");
    check_damage("INSERT INTO log(session,key,kind) VALUES(1,2,0)",
                 "store_damaged");
}

static void check_all_damaged(const char *sql, const char *reason)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "");
    sql_run(&room, sql);
    ASSERT_RC(PDR_ECORRUPT, append_one(store, "a", 0, NULL, "{}", &err));
    ASSERT_STR(reason, err.reason);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_group, refuses_when_the_counter_is_damaged)
{
    check_all_damaged("UPDATE store SET number=7", "store_damaged");
    check_all_damaged("UPDATE store SET digest=x'00'", "store_damaged");
    check_all_damaged("DELETE FROM store", "store_damaged");
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(sqlite_commit, is_whole_or_refused_when_memory_runs_out)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_entry entry = entry_of("c", "{}");
    pdr_edit edit = edit_of("a", 1);
    int64_t rows = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    room_enter(&room);
    store = store_open(&room, "");
    edit.agent = pdr_str_c("guide");
    edit.revision = 0;
    edit.lease.verb = PDR_LEASE_TAKE;
    edit.lease.owner = pdr_str_c("w");
    edit.lease.until_ms = 2000;
    edit.entries = &entry;
    edit.entry_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    edit.lease.verb = PDR_LEASE_KEEP;
    edit.revision = 1;
    test_pause_failures(false);
    rc = commit_one(store, &edit, NULL, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    rows = sql_int(&room, "SELECT count(*) FROM conversation");
    ASSERT_INT(rc == PDR_OK ? 2 : 1, rows);
    pdr_store_close(store);
    room_leave(&room);
    test_pause_failures(false);
}
