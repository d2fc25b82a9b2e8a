/* What needs the writer and is no commit: its turn, its time, its end. */
#include "sqlite_room.h"

#include <pthread.h>
#include <sqlite3.h>

#include "shim_vfs.h"
#include "sqlite/sqlite.h"

static struct pdr__sqlite *inside(pdr_store *store)
{
    return PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
}

static int64_t in_ms(int64_t ms)
{
    return pdr__monotonic_ms(pdr__clock_system()) + ms;
}

/* What a task is told to do. */
struct task {
    size_t runs;
    size_t changes;
    bool held;        /* the lock was held each time */
    const char *fail; /* NULL: it succeeds */
    pdr_rc rc;
};

static pdr_rc do_task(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    struct task *task = arg;

    task->runs++;
    task->held = store->line.held;
    if (task->fail != NULL)
        return PDR_FAIL(err, WRONG_COUNT, "%s", task->fail);
    return PDR_OK;
}

/* Inside the transaction. */
static pdr_rc change_rows(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    struct task *task = arg;
    int code =
        sqlite3_exec(store->writer.db, "UPDATE sessions SET agent='changed'",
                     NULL, NULL, NULL);

    if (code != SQLITE_OK)
        return pdr__sqlite_fail(err, store->writer.db, code, "changing rows");
    task->changes += (size_t)sqlite3_changes(store->writer.db);
    return do_task(store, arg, err);
}

static pdr_rc transact(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    return pdr__writer_transact(store, in_ms(20), err, change_rows, arg);
}

TEST(sqlite_task, runs_once_with_the_lock_and_is_no_commit)
{
    struct task task = {.runs = 0};
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK,
              pdr__group_run(inside(store), in_ms(5000), NULL, do_task, &task));
    ASSERT_SIZE(1, task.runs);
    ASSERT(task.held);
    ASSERT(!inside(store)->line.held);
    ASSERT_INT(0, inside(store)->group.commits);
    ASSERT_INT(0, inside(store)->group.groups);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_task, fails_with_what_its_function_fails_with)
{
    struct task task = {.fail = "on purpose"};
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_ECORRUPT,
              pdr__group_run(inside(store), in_ms(5000), &err, do_task, &task));
    ASSERT_STR("wrong_count", err.reason);
    ASSERT_STR("on purpose", err.message);
    ASSERT_RC(PDR_ECORRUPT,
              pdr__group_run(inside(store), in_ms(5000), NULL, do_task, &task));
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_task, is_refused_where_nothing_may_be_written)
{
    struct task task = {.runs = 0};
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    store = store_open(&room, "?mode=ro");
    ASSERT_RC(PDR_EDENIED,
              pdr__group_run(inside(store), in_ms(5000), &err, do_task, &task));
    ASSERT_STR("read_only", err.reason);
    ASSERT_SIZE(0, task.runs);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_task, is_busy_when_its_time_is_over)
{
    struct task task = {.runs = 0};
    pdr_err err = PDR_ERR_INIT;
    struct pdr__line other;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK,
              pdr__line_open(&other, room_path(&room, "s.db-lock"), NULL));
    ASSERT(pdr__line_try(&other));
    ASSERT_RC(PDR_EBUSY,
              pdr__group_run(inside(store), in_ms(20), &err, do_task, &task));
    ASSERT_STR("writer_busy", err.reason);
    ASSERT_SIZE(0, task.runs);
    pdr__line_close(&other);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- transactions -------------------------------------------------------- */

TEST(sqlite_task, keeps_what_its_transaction_changed)
{
    struct task task = {.runs = 0};
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, pdr__group_run(inside(store), in_ms(5000), NULL, transact,
                                     &task));
    ASSERT_SIZE(1, task.changes);
    ASSERT_STR("changed", sql_text(&room, "SELECT agent FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_task, undoes_a_transaction_that_fails)
{
    struct task task = {.fail = "on purpose"};
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_RC(PDR_ECORRUPT, pdr__group_run(inside(store), in_ms(5000), NULL,
                                           transact, &task));
    ASSERT_SIZE(1, task.changes);
    ASSERT_STR("(null)", sql_text(&room, "SELECT agent FROM sessions"));
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_task, is_in_doubt_when_its_transaction_cannot_be_made_durable)
{
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 1};
    struct shim *shim = shim_new("task");
    struct task task = {.runs = 0};
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "?vfs=task");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    shim_fail(shim, &fault);
    ASSERT_RC(PDR_EUNKNOWN, pdr__group_run(inside(store), in_ms(5000), &err,
                                           transact, &task));
    ASSERT_STR("commit_unknown", err.reason);
    ASSERT_RC(PDR_EIO, pdr__group_run(inside(store), in_ms(5000), &err,
                                      transact, &task));
    ASSERT_STR("in_doubt", err.reason);
    ASSERT_SIZE(1, task.runs);
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

TEST(sqlite_task, gives_up_waiting_for_a_program_that_does_not_know_our_lock)
{
    struct task task = {.runs = 0};
    pdr_err err = PDR_ERR_INIT;
    sqlite3 *other = NULL;
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&room, "s.db"), &other));
    (void)sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    ASSERT_RC(PDR_EBUSY, pdr__group_run(inside(store), in_ms(5000), &err,
                                        transact, &task));
    ASSERT_STR("writer_busy", err.reason);
    ASSERT_SIZE(0, task.runs);
    (void)sqlite3_close(other);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- in line ------------------------------------------------------------- */

#define THREADS 6
#define TURNS   30

struct worker {
    pthread_t thread;
    pdr_store *store;
    char id[16];
    bool commits; /* else it has tasks */
    struct task task;
    pdr_rc rc;
};

static void *work(void *arg)
{
    struct worker *worker = arg;

    for (size_t i = 0; i < TURNS && worker->rc == PDR_OK; i++) {
        if (worker->commits)
            worker->rc =
                append_one(worker->store, worker->id, i, NULL, "{}", NULL);
        else
            worker->rc = pdr__group_run(inside(worker->store), in_ms(10000),
                                        NULL, do_task, &worker->task);
    }
    return NULL;
}

TEST(sqlite_task, has_its_turn_among_the_commits_of_other_threads)
{
    static struct worker workers[THREADS];
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .commits = i % 2 == 0};
        (void)snprintf(workers[i].id, sizeof(workers[i].id), "s-%zu", i);
        ASSERT_INT(0,
                   pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(workers[i].thread, NULL));
        ASSERT_RC(PDR_OK, workers[i].rc);
        ASSERT_SIZE(workers[i].commits ? 0 : TURNS, workers[i].task.runs);
        ASSERT(workers[i].commits || workers[i].task.held);
    }
    ASSERT_INT(THREADS / 2 * TURNS, inside(store)->group.commits);
    ASSERT(!inside(store)->group.led);
    pdr_store_close(store);
    room_leave(&room);
}
