/*
 * file_faults.c - the work of store_work.c while a file operation fails, or a
 * call of the store.
 *
 *     try the step ──► as expected ──► the next one
 *          │
 *          ├─► refused: try once more, then close and open
 *          └─► unknown: in doubt? close, lose power, open, look, try again
 *
 * At the end, and wherever the store was closed in doubt, the disk is put down
 * as power loss would leave it: what a failed sync left is in doubt for ever,
 * and what is acknowledged later must not stand on it.
 */
#include "file_faults.h"

#include "room.h"

#define MAX_TRIES   3
#define STEPS_AFTER 4 /* that a run goes on for when the failure is over */

struct run {
    struct fault_harness *harness;
    struct fault_report *report;    /* of the harness */
    const struct shim_fault *fault; /* of a file operation; or ... */
    const struct fault_plan *plan;  /* ... of a call; NULL: the former */
    struct shim *shim;
    struct work work;
    struct room room, image;
    pdr_store *store; /* NULL: it could not be opened */
    bool failed;      /* the operation has failed */
    enum shim_op op;  /* that failed */
    size_t steps;     /* to go on for, once it is over */
};

/* --- the failure -----------------------------------------------------------
 */

static bool has_failed(struct run *run)
{
    if (run->plan != NULL) {
        run->failed = run->failed || fault_store_failed() > 0;
    } else if (shim_failed(run->shim) > 0) {
        run->failed = true;
        run->op = shim_failed_op(run->shim);
    }
    return run->failed;
}

static void disarm(struct run *run)
{
    if (!has_failed(run))
        return;
    shim_fail(run->shim, &(struct shim_fault){.nth = 0});
    fault_store_set(&(struct fault_plan){.nth = 0});
}

static bool is_for_ever(const struct run *run)
{
    return run->plan != NULL ? run->plan->for_ever : run->fault->for_ever;
}

/* When it fails, for people. */
static void describe(char out[100], const struct run *run)
{
    const char *when = is_for_ever(run) ? "for ever from" : "once at";

    if (run->plan != NULL)
        snprintf(out, 100, "%s %zu of call '%s', way %d, step %zu", when,
                 run->plan->nth, fault_call_word(run->plan->call),
                 (int)run->plan->way, run->work.next);
    else
        snprintf(out, 100, "%s %zu of '%s'%s, step %zu", when, run->fault->nth,
                 shim_op_word(run->fault->op), run->fault->full ? ", full" : "",
                 run->work.next);
}

#define COMPLAIN(run, count, ...) \
    complain(run, &(run)->report->count, #count, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static void complain(
    struct run *run, size_t *count, const char *word, const char *format, ...)
{
    char text[400], when[100];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    describe(when, run);
    ++*count;
    if (fault_mistakes(run->report) == 1)
        print_message("first mistake: %s: %s: %s\n", when, word, text);
}

/* --- opening ---------------------------------------------------------------
 */

static const char *uri_of(char out[700], const struct run *run)
{
    snprintf(out, 700, "%ssqlite:%s?vfs=shim",
             run->plan != NULL ? "fault:" : "", room_path(&run->room, "a.db"));
    return out;
}

static pdr_rc open_once(struct run *run, pdr_err *err)
{
    char uri[700];

    return pdr_store_open(&run->store, uri_of(uri, run), err);
}

/* False: the run is over. */
static bool open_store(struct run *run)
{
    pdr_err err = PDR_ERR_INIT;

    if (open_once(run, &err) == PDR_OK)
        return true;
    if (!has_failed(run))
        COMPLAIN(run, causeless, "open: %s", err.message);
    run->report->opens++;
    disarm(run);
    if (open_once(run, &err) == PDR_OK)
        return true;
    COMPLAIN(run, images.stuck, "cannot be opened again: %s", err.message);
    return false;
}

static void close_store(struct run *run)
{
    pdr_store_close(run->store);
    run->store = NULL;
}

/* --- what is there ---------------------------------------------------------
 */

/* Say where the first mistake was made, if it is a file's that was just looked
 * at. */
static void tell_first(struct run *run, size_t before, const char *what)
{
    char when[100];

    if (before > 0 || fault_mistakes(run->report) == 0)
        return;
    describe(when, run);
    print_message("first mistake: %s, %s: %s\n", when, what,
                  run->report->images.first);
}

/* All that was acknowledged is in it. */
static void check_file(struct run *run, const char *path, const char *what)
{
    size_t before = fault_mistakes(run->report);

    image_check(&run->report->images, path, &run->harness->truth,
                run->work.commits, run->work.commits);
    tell_first(run, before, what);
}

static void check_images(struct run *run, const int *losses, size_t count,
                         size_t most)
{
    struct image_report *images = &run->report->images;
    size_t before = fault_mistakes(run->report);

    for (size_t i = 0; i < count; i++) {
        shim_power_loss(run->shim, run->image.path,
                        (uint64_t)losses[i] +
                            10 * SHIM_LOSSES * images->images);
        image_check(images, room_path(&run->image, "a.db"),
                    &run->harness->truth, run->work.commits, most);
    }
    tell_first(run, before, "after power loss");
}

static void check_store(struct run *run)
{
    pdr_err err = PDR_ERR_INIT;
    char *text = work_text(run->store, &err);

    if (text == NULL)
        COMPLAIN(run, images.damaged, "cannot be read: %s", err.message);
    else if (strcmp(text, run->harness->truth.states[run->work.commits]) != 0)
        COMPLAIN(run, images.lost, "it is not state %zu", run->work.commits);
    free(text);
}

/* One session, while operations may fail: right, or an error. */
static void check_read(struct run *run, const struct work_step *step)
{
    pdr_str id = step->requests[0].edits[0].ref.id;
    pdr_err err = PDR_ERR_INIT;
    char *wanted = work_session_text(run->work.oracle, id, NULL);
    char *found = work_session_text(run->store, id, &err);

    if (found == NULL) {
        run->report->reads++;
        if (!has_failed(run))
            COMPLAIN(run, causeless, "read: %s", err.message);
        else if (err.code != PDR_EIO)
            COMPLAIN(run, stale, "read: %s: %s", pdr_rc_name(err.code),
                     err.message);
    } else if (strcmp(wanted, found) != 0) {
        COMPLAIN(run, stale, "read: '%.100s'", found);
    }
    free(found);
    free(wanted);
}

/* --- a step that did not end as expected -----------------------------------
 */

static size_t count_ends(struct run *run, const struct work_step *step)
{
    size_t unknown = 0;

    for (size_t i = 0; i < step->count; i++) {
        const pdr_request *request = &step->requests[i];
        if (step->done[i])
            continue;
        if (request->rc == PDR_OK)
            COMPLAIN(run, forked, "commit %zu passed", i);
        else if (request->rc == PDR_EUNKNOWN)
            unknown++;
        else if (!has_failed(run))
            COMPLAIN(run, causeless, "commit %zu: %s", i, request->err.message);
        else
            run->report->failures++;
    }
    run->report->unknowns += unknown;
    return unknown;
}

/* Behind an unknown commit nothing more is taken. */
static void check_doubt(struct run *run)
{
    pdr_edit edit = {.ref.id = pdr_str_c("too early")};
    pdr_commit_options options = {.now_ms = INT64_C(1800000000000)};
    pdr_err err = PDR_ERR_INIT;
    pdr_store_info info;

    if (pdr_store_commit(NULL, run->store, &edit, 1, &options, &err) !=
            PDR_EIO ||
        strcmp(err.reason, "in_doubt") != 0)
        COMPLAIN(run, sure, "a commit behind an unknown one: %s", err.message);
    if (pdr_store_info_get(&info, run->store, NULL) == PDR_OK && !info.in_doubt)
        COMPLAIN(run, sure, "info does not tell");
}

/* A caller that does not know asks once more, with what it read before and with
 * what it reads now. */
static void ask_again(struct run *run, const struct work_step *step)
{
    const pdr_request *request = &step->requests[0];
    pdr_edit edit = request->edits[0];
    pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
    pdr_page *page = NULL;

    if (pdr_store_commit(NULL, run->store, &edit, 1, &request->options, NULL) ==
        PDR_OK)
        COMPLAIN(run, doubled, "the same commit passed twice");
    ASSERT_RC(PDR_OK, pdr_store_read(&page, run->store, &query, NULL));
    edit.revision = page->head.revision;
    pdr_page_free(page);
    if (pdr_store_commit(NULL, run->store, &edit, 1, &request->options, NULL) !=
        PDR_EEXISTS)
        COMPLAIN(run, doubled, "the same correlation id passed twice");
}

static void settle_unknown(struct run *run, struct work_step *step)
{
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < step->count; i++) {
        if (step->done[i] || step->requests[i].rc != PDR_EUNKNOWN)
            continue;
        if (!work_is_there(&run->work, step, i, run->store, &err)) {
            run->report->absent++;
            continue;
        }
        run->report->whole++;
        if (step->is_turn)
            ask_again(run, step);
        work_accept(&run->work, step, i);
    }
}

/* Close, lose power, open, look. False: the run is over. */
static bool recover(struct run *run, struct work_step *step, size_t unknown)
{
    static const int losses[] = {SHIM_LOSS_ALL, SHIM_LOSS_NONE,
                                 SHIM_LOSS_SECTORS};

    close_store(run);
    disarm(run);
    check_images(run, losses, unknown > 0 ? 3 : 1, run->work.commits + unknown);
    if (!open_store(run))
        return false;
    settle_unknown(run, step);
    check_store(run);
    /* What was found there stays there. */
    check_images(run, losses, 1, run->work.commits);
    return true;
}

static bool mend(struct run *run, struct work_step *step, int tries)
{
    size_t unknown = count_ends(run, step);

    if (unknown > 0)
        check_doubt(run);
    if (unknown == 0 && !is_for_ever(run) && tries == 0)
        return true; /* it must be possible without opening it again */
    return recover(run, step, unknown);
}

/* A failed sync of the commit must not be a refusal: what is on the disk then,
 * nobody knows. */
static void check_sync(struct run *run, const struct work_step *step,
                       bool before)
{
    size_t unknown = 0;

    if (before || !has_failed(run) || run->op != SHIM_SYNC)
        return;
    for (size_t i = 0; i < step->count; i++)
        unknown += step->done[i] || step->requests[i].rc == PDR_EUNKNOWN;
    if (unknown < step->count)
        COMPLAIN(run, sync_refused, "a failed sync, and %zu of %zu refused",
                 step->count - unknown, step->count);
}

/* False: the run is over. */
static bool do_step(struct run *run, struct work_step *step)
{
    bool before = has_failed(run);
    int tries = 0;

    while (!work_try(&run->work, step, run->store)) {
        check_sync(run, step, before);
        if (tries == MAX_TRIES) {
            COMPLAIN(run, images.stuck, "commits: %s",
                     step->requests[0].err.message);
            return false;
        }
        if (!mend(run, step, tries++))
            return false;
    }
    if (tries > 0 && step->is_turn) {
        const pdr_edit *edit = &step->requests[0].edits[0];
        if (work_entries(run->store, edit->ref.id,
                         edit->entries[0].correlation_id) != 2)
            COMPLAIN(run, doubled, "a turn is not one turn");
    }
    check_read(run, step);
    return true;
}

/* --- other calls than commits and reads ------------------------------------
 * One of them behind each step, in turn. They may fail if there is a cause, and
 * change nothing that was acknowledged. Runs in which a commit fails are most,
 * and go without: they would take half as long again.
 */

static bool has_chores(const struct run *run)
{
    return run->plan != NULL && run->plan->call != FAULT_COMMIT;
}

static void check_chore(struct run *run, const char *what, pdr_rc rc,
                        const pdr_err *err)
{
    if (rc == PDR_OK)
        return;
    run->report->chores++;
    if (!has_failed(run))
        COMPLAIN(run, causeless, "%s: %s", what, err->message);
    else if (rc != PDR_EIO)
        COMPLAIN(run, stale, "%s: %s: %s", what, pdr_rc_name(rc), err->message);
}

static pdr_rc do_info(struct run *run, pdr_err *err)
{
    pdr_store_info info;

    return pdr_store_info_get(&info, run->store, err);
}

static pdr_rc do_verify(struct run *run, pdr_err *err)
{
    return pdr_store_verify(NULL, run->store, NULL, err, NULL, NULL);
}

static pdr_rc do_vacuum(struct run *run, pdr_err *err)
{
    return pdr_store_vacuum(NULL, run->store, err, NULL, NULL);
}

/* A copy that was made has all in it that was acknowledged. Looked at only
 * where a copy fails, as that takes long. */
static pdr_rc do_backup(struct run *run, pdr_err *err)
{
    const char *copy = room_path(&run->image, "copy.db");
    pdr_rc rc = pdr_store_backup(NULL, run->store, copy, true, err, NULL, NULL);

    if (rc == PDR_OK && run->plan->call == FAULT_BACKUP)
        check_file(run, copy, "the copy");
    return rc;
}

static pdr_rc do_watch(struct run *run, pdr_err *err)
{
    pdr_watch *watch = NULL;
    pdr_rc rc = pdr_watch_open(&watch, run->store, NULL, err); /* polls */

    pdr_watch_close(watch);
    return rc;
}

static void do_chore(struct run *run)
{
    static const struct {
        const char *word;
        pdr_rc (*fn)(struct run *run, pdr_err *err);
    } chores[] = {{"info", do_info},
                  {"verify", do_verify},
                  {"vacuum", do_vacuum},
                  {"backup", do_backup},
                  {"watch", do_watch}};
    size_t i = run->work.next % (sizeof(chores) / sizeof(chores[0]));
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = chores[i].fn(run, &err);

    check_chore(run, chores[i].word, rc, &err);
}

/* A store of this version stays as it is. Nobody may have it open. */
static void do_migrate(struct run *run)
{
    char uri[700];
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_migrate(NULL, uri_of(uri, run), &err);

    check_chore(run, "migrate", rc, &err);
}

/* --- a run -----------------------------------------------------------------
 */

static void do_steps(struct run *run)
{
    bool goes_on = open_store(run);

    while (goes_on && run->work.next < work_steps() && run->steps > 0) {
        struct work_step step;
        work_make(&step, &run->work);
        if (step.reopens) {
            close_store(run);
            if (has_chores(run))
                do_migrate(run);
            goes_on = open_store(run);
        }
        if (goes_on && step.copies)
            (void)work_checkpoint(run->store);
        if (goes_on)
            goes_on = do_step(run, &step);
        if (goes_on && has_chores(run))
            do_chore(run);
        work_end(&run->work, &step);
        if (has_failed(run))
            run->steps--;
    }
    close_store(run);
}

static void run_begin(struct run *run, struct fault_harness *harness,
                      const struct shim_fault *fault,
                      const struct fault_plan *plan)
{
    memset(run, 0, sizeof(*run));
    run->harness = harness;
    run->report = &harness->report;
    run->fault = fault;
    run->plan = plan;
    run->steps = STEPS_AFTER;
    run->op = SHIM_ANY;
    run->shim = shim_new("shim");
    work_init(&run->work, false);
    work_room(&run->room);
    work_room(&run->image);
    shim_record(run->shim);
    if (plan != NULL)
        fault_store_set(plan);
    else
        shim_fail(run->shim, fault);
}

static void run_end(struct run *run)
{
    run->report->syncs += shim_count(run->shim, SHIM_SYNC);
    run->report->conflicts += run->work.conflicts;
    run->report->refusals += run->work.refusals;
    shim_free(run->shim);
    work_dispose(&run->work);
    room_leave(&run->image);
    room_leave(&run->room);
}

/* All of it. False if nothing failed. */
static bool run_all(struct run *run)
{
    static const int losses[] = {SHIM_LOSS_ALL, SHIM_LOSS_SECTORS};
    struct fault_report *report = run->report;

    do_steps(run);
    disarm(run);
    if (run->failed) {
        report->runs++;
        check_images(run, losses, 2, run->work.commits);
        check_file(run, room_path(&run->room, "a.db"), "at the end");
    }
    run_end(run);
    return run->failed;
}

bool fault_run(struct fault_harness *harness, const struct shim_fault *fault)
{
    struct run run;
    bool failed = false;

    run_begin(&run, harness, fault, NULL);
    failed = run_all(&run);
    if (failed)
        harness->report.reached[run.op]++;
    return failed;
}

bool fault_run_call(struct fault_harness *harness,
                    const struct fault_plan *plan)
{
    struct run run;
    bool failed = false;

    fault_store_register();
    run_begin(&run, harness, NULL, plan);
    failed = run_all(&run);
    if (failed)
        harness->report.calls[plan->call]++;
    return failed;
}

void fault_count(size_t out[SHIM_OPS])
{
    struct fault_harness harness;
    struct run run;

    memset(&harness, 0, sizeof(harness));
    run_begin(&run, &harness, &(struct shim_fault){.nth = 0}, NULL);
    do_steps(&run);
    ASSERT_SIZE(work_steps(), run.work.next);
    for (int op = 0; op < SHIM_OPS; op++)
        out[op] = shim_count(run.shim, (enum shim_op)op);
    run_end(&run);
}

void fault_init(struct fault_harness *harness)
{
    memset(harness, 0, sizeof(*harness));
    work_init(&harness->truth, true);
    work_all(&harness->truth);
}

void fault_dispose(struct fault_harness *harness)
{
    work_dispose(&harness->truth);
}

void fault_check_met(const struct fault_report *report)
{
    ASSERT(report->runs > 0);
    ASSERT(report->syncs > 0);
    ASSERT(report->conflicts > 0);
    ASSERT(report->refusals > 0);
    ASSERT(report->failures > 0);
    ASSERT(report->unknowns > 0);
    ASSERT(report->whole > 0);
    ASSERT(report->absent > 0);
    ASSERT(report->opens > 0);
    ASSERT(report->reads > 0);
}

size_t fault_mistakes(const struct fault_report *report)
{
    return image_mistakes(&report->images) + report->forked + report->doubled +
           report->sure + report->sync_refused + report->stale +
           report->causeless;
}

void fault_print(const struct fault_report *report)
{
    const struct image_report *images = &report->images;

    print_message("faults: %zu runs, %zu syncs, %zu conflicts, %zu refusals; "
                  "commits: %zu failed, %zu unknown (%zu whole, %zu absent); "
                  "%zu opens, %zu reads, %zu other calls failed; %zu images\n",
                  report->runs, report->syncs, report->conflicts,
                  report->refusals, report->failures, report->unknowns,
                  report->whole, report->absent, report->opens, report->reads,
                  report->chores, images->images);
    for (int op = 0; op < SHIM_OPS; op++)
        if (report->reached[op] > 0)
            print_message("  %s %zu", shim_op_word((enum shim_op)op),
                          report->reached[op]);
    for (int call = 0; call < FAULT_CALLS; call++)
        if (report->calls[call] > 0)
            print_message("  %s %zu", fault_call_word((enum fault_call)call),
                          report->calls[call]);
    print_message("\n  lost %zu, damaged %zu, stuck %zu, forked %zu, doubled "
                  "%zu, not in doubt %zu, sync refused %zu, stale %zu, "
                  "causeless %zu\n",
                  images->lost, images->damaged, images->stuck, report->forked,
                  report->doubled, report->sure, report->sync_refused,
                  report->stale, report->causeless);
}
