/*
 * sim_store.c - "sim:", the way of one process to the store that all share.
 *
 * Every call hands the baton over, before and after. A commit may fail, end
 * unknown, or be the last thing that a process does. What is committed is
 * checked at once (sim_check.c), before anybody else can do something.
 *
 * The mistakes of enum sim_variant are made here, behind the back of the
 * engine.
 */
#include "sim.h"

#include "../../src/store/memory/memory.h"
#include "store.h"

struct sim_store {
    pdr_store base; /* first */
    struct sim_process *process;
};

static struct sim_process *opening; /* by sim_store_open() */

static struct sim_process *process_of(pdr_store *store)
{
    return ((struct sim_store *)store)->process;
}

void sim_cut(struct sim_process *p, enum sim_event why)
{
    sim_count(p->sim, why);
    p->is_cut = true;
    sim_wake(p->sim, p);
    sim_wake(p->sim, &p->stops);
}

/* --- mistakes -------------------------------------------------------------
 */

/* The present head; false: there is no such session. */
static bool head_read(pdr_page **page, struct sim *sim, const pdr_ref *ref,
                      pdr_read_what what)
{
    const pdr_query query = {
        .what = what, .ref = *ref, .limit = PDR_MAX_PAGE_ROWS};

    *page = NULL;
    return pdr_store_read(page, sim->raw, &query, NULL) == PDR_OK;
}

/* Leave out the rows to settle that are not there. */
static void settle_lies(pdr_edit *edit, uint64_t *room, const pdr_page *inbox)
{
    size_t count = 0;

    for (size_t i = 0; i < edit->settle_count; i++) {
        for (size_t k = 0; k < inbox->count; k++) {
            if (inbox->work[k].n == edit->settle[i])
                room[count++] = edit->settle[i];
        }
    }
    edit->settle = room;
    edit->settle_count = count;
}

/* What the store does in place of the edit. */
static void edit_break(pdr_edit *edit, uint64_t *room, struct sim *sim)
{
    pdr_page *inbox = NULL;

    if (sim->variant == SIM_NO_DEDUP && edit->completion_count > 0 &&
        edit->completions[0].outcome.ptr == NULL)
        edit->completion_count = 0; /* nobody looks whether it is known */
    if (!head_read(&inbox, sim, &edit->ref, PDR_READ_INBOX))
        return;
    if (sim->variant == SIM_NO_FENCE && edit->lease.fence != 0 &&
        edit->lease.fence != inbox->head.lease.fence) {
        edit->lease.fence = inbox->head.lease.fence;
        if (edit->revision != PDR_ANY_REVISION)
            edit->revision = inbox->head.revision;
        settle_lies(edit, room, inbox);
    }
    if (sim->variant == SIM_NO_GUARD) {
        settle_lies(edit, room, inbox);
        if (edit->lease.verb == PDR_LEASE_TAKE)
            edit->inbox_count = 0;
    }
    pdr_page_free(inbox);
}

/* --- commits --------------------------------------------------------------
 */

/* Make the commit, and look at what came of it. */
static void commit_make(struct sim_process *p, pdr_write *write)
{
    struct sim *sim = p->sim;
    const pdr_edit *asked = write->plans[0].edit;
    uint64_t room[PDR_MAX_PAGE_ROWS];
    pdr_edit edit = *asked;
    pdr_write told;

    if (write->count != 1)
        sim_mistake(sim, "a commit of several sessions");
    sim_check_before(p, asked);
    if (sim->variant != SIM_SOUND) {
        edit_break(&edit, room, sim);
        write->plans[0].edit = &edit;
    }
    sim->raw->ops->commit(sim->raw, &write, 1);
    if (write->rc == PDR_EFENCED)
        sim_count(sim, SIM_FENCED);
    if (write->rc != PDR_OK) {
        sim_trace(sim, "refused: %s", write->err.message);
        return;
    }
    sim->commits++;
    sim_check_after(p, asked, &write->plans[0].committed);
    told = *write;
    for (unsigned i = 0; i < sim->process_count; i++) {
        told.store = sim->processes[i]->store;
        if (told.store != NULL && told.store != write->store)
            pdr__watches_fire(&told);
    }
}

static void commit_fail(pdr_write *write, struct sim_process *p)
{
    if (p->is_cut || p->is_in_doubt)
        write->rc = PDR_FAIL(&write->err, IN_DOUBT, "%s",
                             "a commit ended unknown; open the store again");
    else if (sim_chance(p->sim, 2))
        write->rc = PDR_FAIL(&write->err, FILE_FAILED, "%s", "by the seed");
    else
        write->rc = PDR_FAIL(&write->err, WRITER_BUSY, "%s", "by the seed");
    p->was_disturbed = true;
}

/* It ended unknown, and so does the engine. */
static void commit_forget(pdr_write *write, struct sim_process *p)
{
    write->rc = PDR_FAIL(&write->err, COMMIT_UNKNOWN, "%s", "by the seed");
    p->is_in_doubt = p->was_disturbed = true;
    sim_wake(p->sim, &p->stops);
}

static void commit_one(struct sim_process *p, pdr_write *write)
{
    struct sim *sim = p->sim;
    bool crashes = false, is_unknown = false;

    sim_step(sim, "commit");
    if (p->is_cut || p->is_in_doubt) {
        commit_fail(write, p);
        return;
    }
    if (sim_fault(sim, sim->plan.crashes)) {
        crashes = sim_chance(sim, 2);
        if (!crashes) {
            sim_cut(p, SIM_CRASH_BEFORE_COMMIT);
            commit_fail(write, p);
            return;
        }
    } else if (sim_fault(sim, sim->plan.crashes && sim_chance(sim, 2))) {
        is_unknown = sim_chance(sim, 2);
        if (!is_unknown) {
            sim_count(sim, SIM_COMMIT_UNKNOWN_LOST);
            commit_forget(write, p);
            return;
        }
    } else if (sim_fault(sim, sim->plan.fails)) {
        commit_fail(write, p);
        sim_count(sim,
                  write->rc == PDR_EBUSY ? SIM_COMMIT_BUSY : SIM_COMMIT_FAILS);
        return;
    }
    commit_make(p, write);
    if (write->rc == PDR_OK && crashes) {
        sim_cut(p, SIM_CRASH_AFTER_COMMIT);
        commit_forget(write, p);
    } else if (write->rc == PDR_OK && is_unknown) {
        sim_count(sim, SIM_COMMIT_UNKNOWN_DONE);
        commit_forget(write, p);
    }
    sim_step(sim, "committed");
}

static void sim_commit(pdr_store *store, pdr_write *const *writes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        commit_one(process_of(store), writes[i]);
}

/* --- the rest -------------------------------------------------------------
 */

static pdr_rc pass(struct sim_process *p, enum sim_event event, pdr_err *err)
{
    struct sim *sim = p->sim;

    sim_step(sim, event == SIM_READ_FAILS ? "read" : "now");
    if (p->is_cut)
        return PDR_FAIL(err, FILE_FAILED, "%s", "the process crashed");
    if (!sim_fault(sim, sim->plan.fails && sim_chance(sim, 4)))
        return PDR_OK;
    sim_count(sim, event);
    p->was_disturbed = true;
    return PDR_FAIL(err, FILE_FAILED, "%s", "by the seed");
}

static pdr_rc sim_read(pdr_store *store, pdr_page *page, const pdr_query *query,
                       pdr_err *err)
{
    struct sim_process *p = process_of(store);
    pdr_rc rc = pass(p, SIM_READ_FAILS, err);

    return rc == PDR_OK ? p->sim->raw->ops->read(p->sim->raw, page, query, err)
                        : rc;
}

static pdr_rc sim_now(pdr_store *store, int64_t *out, pdr_err *err)
{
    struct sim_process *p = process_of(store);
    pdr_rc rc = pass(p, SIM_CLOCK_FAILS, err);

    if (rc == PDR_OK)
        *out = p->sim->now_ms;
    return rc;
}

static pdr_rc sim_info(pdr_store *store, pdr_store_info *out, pdr_err *err)
{
    struct sim_process *p = process_of(store);

    return p->sim->raw->ops->info(p->sim->raw, out, err);
}

static void sim_close(pdr_store *store)
{
    free(store);
}

static pdr_rc sim_open(pdr_store **out, const char *rest, pdr_err *err);

static const pdr_store_ops sim_ops = {.version = PDR_STORE_OPS_VERSION,
                                      .name = "sim",
                                      .open = sim_open,
                                      .close = sim_close,
                                      .commit = sim_commit,
                                      .read = sim_read,
                                      .info = sim_info,
                                      .now = sim_now};

static pdr_rc sim_open(pdr_store **out, const char *rest, pdr_err *err)
{
    struct sim_store *self = calloc(1, sizeof(*self));

    (void)rest;
    (void)err;
    if (self == NULL)
        abort();
    self->base.ops = &sim_ops;
    self->process = opening;
    *out = &self->base;
    return PDR_OK;
}

pdr_store *sim_store_open(struct sim_process *process)
{
    static bool is_known;
    pdr_store *store = NULL;

    if (!is_known && pdr_store_register(&sim_ops, NULL) != PDR_OK)
        abort();
    is_known = true;
    opening = process;
    if (pdr_store_open(&store, "sim:", NULL) != PDR_OK)
        abort();
    return store;
}
