/* pdr_store_sweep() above any backend, and stages in memory that runs out. */
#include "test.h"

#include "store_step.h"

#include <perdure/sys/store.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"

#define ROWS (PDR_REMOVE_ROWS + 1)

static pdr_store *open_memory(void)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    return store;
}

static pdr_rc commit(pdr_store *store, const pdr_edit *edit,
                     pdr_committed *done)
{
    const pdr_commit_options options = {.now_ms = 1000};

    return pdr_store_commit(done, store, edit, 1, &options, NULL);
}

/* --- the wrapper --------------------------------------------------------- */

/* Three steps, of which the last fails if it is told to. */
static struct {
    int steps;
    bool fails;
} told;

static pdr_rc step(pdr_store *store, int64_t now_ms, pdr_sweep_report *report,
                   bool *more, pdr_err *err)
{
    (void)store;
    ASSERT_INT(77, now_ms);
    told.steps++;
    if (told.fails && told.steps == 3)
        return PDR_FAIL(err, WRITER_BUSY, "%s", "on purpose");
    report->rows += 10;
    report->left = 4;
    *more = told.steps < 3;
    return PDR_OK;
}

static pdr_store_ops with_steps(const pdr_store *store)
{
    pdr_store_ops ops = *store->ops;

    ops.sweep = step;
    told.steps = 0;
    return ops;
}

TEST(store_sweep, goes_on_while_there_is_more)
{
    pdr_store *store = open_memory();
    const pdr_store_ops *whole = store->ops, ops = with_steps(store);
    pdr_sweep_report report;

    told.fails = false;
    store->ops = &ops;
    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, 77, NULL));
    ASSERT_INT(3, told.steps);
    ASSERT_SIZE(30, report.rows);
    ASSERT_SIZE(4, report.left);
    store->ops = whole;
    pdr_store_close(store);
}

TEST(store_sweep, tells_how_far_it_came)
{
    pdr_store *store = open_memory();
    const pdr_store_ops *whole = store->ops, ops = with_steps(store);
    pdr_sweep_report report;
    pdr_err err = PDR_ERR_INIT;

    told.fails = true;
    store->ops = &ops;
    ASSERT_RC(PDR_EBUSY, pdr_store_sweep(&report, store, 77, &err));
    ASSERT_STR("writer_busy", err.reason);
    ASSERT_SIZE(20, report.rows);
    store->ops = whole;
    pdr_store_close(store);
}

TEST(store_sweep, has_nothing_to_do_where_nothing_is_hidden)
{
    pdr_store *store = open_memory();
    const pdr_store_ops *whole = store->ops;
    pdr_store_ops ops = *whole;
    pdr_sweep_report report = {9, 9, 9};

    ops.sweep = NULL;
    store->ops = &ops;
    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, 77, NULL));
    ASSERT(report.sessions == 0 && report.rows == 0 && report.left == 0);
    store->ops = whole;
    pdr_store_close(store);
}

TEST(store_sweep, is_misuse_after_fork)
{
    pdr_store *store = open_memory();
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_store_sweep(NULL, store, 77, &err);

        _exit(rc == PDR_EMISUSE && strcmp(err.reason, "after_fork") == 0 ? 0
                                                                         : 1);
    }
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pdr_store_close(store);
}

/* --- memory that runs out ------------------------------------------------ */

static const pdr_work *long_journal(void)
{
    static pdr_work rows[ROWS];

    for (size_t i = 0; i < ROWS; i++) {
        rows[i].kind = PDR_LIT("m");
        rows[i].body = PDR_LIT("1");
    }
    return rows;
}

static uint64_t unseen(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    return info.unseen;
}

static bool is_there(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref.id = PDR_LIT("s")};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    pdr_page_free(page);
    return rc == PDR_OK;
}

/* Staged, shown over a long session, and removed: each as a whole or not. */
TEST_OOM(memory_stage, is_whole_or_refused)
{
    const pdr_entry entry = {.correlation_id = PDR_LIT("c"),
                             .body = PDR_LIT("{}")};
    pdr_edit edit = {.ref.id = PDR_LIT("s")};
    struct store_step step;
    pdr_committed done = {0};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    store = open_memory();
    edit.journal = long_journal();
    edit.journal_count = ROWS;
    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    step = step_of("s", PDR_STAGE_BEGIN, 0, 5000);
    step.rows.frame = PDR_LIT("{}");
    step.rows.entries = &entry;
    step.rows.entry_count = 1;
    test_pause_failures(false);
    rc = commit_step(&done, store, &step, 1000, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_SIZE(rc == PDR_OK ? 1 : 0, unseen(store));
    if (rc == PDR_OK) {
        step.verb = PDR_STAGE_SHOW;
        step.stage.epoch = done.epoch;
        step.show.revision = 1;
        step.rows.entry_count = 0;
        rc = commit_step(NULL, store, &step, 1000, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT_SIZE(rc == PDR_OK ? 0 : 1, unseen(store));
    }
    test_pause_failures(true);
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST_OOM(memory_removal, of_a_long_session_is_whole_or_refused)
{
    pdr_edit edit = {.ref.id = PDR_LIT("s")};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    store = open_memory();
    edit.journal = long_journal();
    edit.journal_count = ROWS;
    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    edit = (pdr_edit){.ref.id = PDR_LIT("s"), .revision = 1, .remove = true};
    test_pause_failures(false);
    rc = commit(store, &edit, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(is_there(store) == (rc != PDR_OK));
    ASSERT_SIZE(0, unseen(store));
    pdr_store_close(store);
    test_pause_failures(false);
}
