/*
 * store.c - the calls of store.h: check, seal, hand to the backend, check
 * again.
 *
 *     caller ─► check.c ─► seal.c ─► backend ─► plan.c ─► rows
 *     caller ◄─ page.c  ◄─ rows   ◄─ backend
 *
 * Everything that costs time and needs no lock is done here, on the caller's
 * thread: who commits for others only fills in what depends on the head.
 */
#include <unistd.h>

#include "store.h"

/* --- opening ------------------------------------------------------------- */

pdr_rc pdr__store_here(const pdr_store *store, pdr_err *err)
{
    if (PDR_LIKELY(store->process == (int64_t)getpid()))
        return PDR_OK;
    return PDR_FAIL(err, AFTER_FORK,
                    "the store was opened by another process; close it before "
                    "fork(), and open it again in each");
}

/* HMAC takes the digest of a key that is longer than a block. Taking it once,
 * and not for each row, saves two digests of the key a row. */
static pdr_rc shorten_key(pdr_store *store, pdr_err *err)
{
    pdr_str key = {(const char *)store->key, store->key_len};
    pdr_digest digest;
    pdr_rc rc = PDR_OK;

    if (key.ptr == NULL || key.len <= PDR_HMAC_BLOCK_BYTES)
        return PDR_OK;
    rc = pdr__sha256(digest, key, err);
    if (rc != PDR_OK)
        return rc;
    memset(store->key, 0, store->key_len);
    memcpy(store->key, digest, sizeof(digest));
    store->key_len = sizeof(digest);
    return PDR_OK;
}

struct pdr__life {
    int32_t holders;
    bool is_over; /* the store is closed */
};

struct pdr__life *pdr__life_of(pdr_store *store)
{
    struct pdr__life *life = store->life;

    if (life != NULL)
        __atomic_add_fetch(&life->holders, 1, __ATOMIC_RELAXED);
    return life;
}

bool pdr__life_is_over(const struct pdr__life *life)
{
    return life != NULL && __atomic_load_n(&life->is_over, __ATOMIC_ACQUIRE);
}

void pdr__life_free(struct pdr__life *life)
{
    if (life != NULL &&
        __atomic_sub_fetch(&life->holders, 1, __ATOMIC_ACQ_REL) == 0)
        pdr__free(life);
}

pdr_rc pdr_store_open(pdr_store **out, const char *uri, pdr_err *err)
{
    struct pdr__life *life = NULL;
    const pdr_store_ops *ops = NULL;
    char *rest = NULL;
    char shown[PDR_SHOWN];
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && uri != NULL);
    *out = NULL;
    rc = pdr__backend_find(&ops, &rest, uri, err);
    if (rc != PDR_OK)
        return rc;
    rc = ops->open(&store, rest, err);
    pdr__free(rest);
    if (rc != PDR_OK)
        return pdr__wrap(err, rc, "store '%s'",
                         pdr__shown(shown, pdr_str_c(uri)));
    store->process = (int64_t)getpid();
    PDR_TRY(shorten_key(store, err));
    life = pdr__calloc(1, sizeof(*life));
    if (life == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    life->holders = 1;
    PDR_TRY(pdr__watches_new(store, err));
    store->life = life;
    life = NULL;
    *out = store;
    store = NULL;
done:
    pdr__free(life);
    if (store != NULL)
        ops->close(store);
    return rc;
}

pdr_rc pdr_store_migrate(pdr_migrate_report *out, const char *uri, pdr_err *err)
{
    pdr_migrate_report report = {0, 0};
    const pdr_store_ops *ops = NULL;
    char *rest = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(uri != NULL);
    rc = pdr__backend_find(&ops, &rest, uri, err);
    if (rc != PDR_OK)
        return rc;
    rc = ops->migrate != NULL
             ? ops->migrate(rest, &report, err)
             : PDR_FAIL(err, NO_MIGRATION,
                        "stores of this kind have one version; there is "
                        "nothing to migrate");
    pdr__free(rest);
    if (rc != PDR_OK)
        return pdr__wrap(err, rc, "store '%s'",
                         pdr__shown(shown, pdr_str_c(uri)));
    if (out != NULL)
        *out = report;
    return PDR_OK;
}

/* In a child of the process that opened it nothing is touched: the files, locks
 * and threads behind it are the parent's. */
void pdr_store_close(pdr_store *store)
{
    if (store == NULL || pdr__store_here(store, NULL) != PDR_OK)
        return;
    pdr__watches_free(store);
    if (store->life != NULL)
        __atomic_store_n(&((struct pdr__life *)store->life)->is_over, true,
                         __ATOMIC_RELEASE);
    pdr__life_free(store->life);
    store->ops->close(store);
}

pdr_rc pdr_store_info_get(pdr_store_info *out, pdr_store *store, pdr_err *err)
{
    pdr_store_info info;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL);
    memset(&info, 0, sizeof(info));
    info.backend = store->ops->name;
    info.capabilities = store->capabilities;
    info.keyed = store->key != NULL;
    PDR_TRY(pdr__store_here(store, err));
    PDR_TRY(store->ops->info(store, &info, err));
    *out = info;
done:
    return rc;
}

pdr_rc pdr_store_now(int64_t *out, pdr_store *store, int64_t now_ms,
                     pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL);
    PDR_TRY(pdr__store_here(store, err));
    if (store->ops->version >= 2 && store->ops->now != NULL)
        PDR_TRY(store->ops->now(store, &now_ms, err));
    *out = now_ms;
done:
    return rc;
}

pdr_rc pdr_store_count(pdr_store_counts *out, pdr_store *store, pdr_str tenant,
                       pdr_err *err)
{
    pdr_store_counts counts = {.by_state = {0}};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL);
    PDR_TRY(pdr__store_here(store, err));
    if (store->ops->version < 3 || store->ops->count == NULL)
        PDR_TRY(PDR_FAIL(err, NO_COUNT,
                         "a store of this kind cannot count its sessions"));
    if (tenant.ptr == NULL)
        tenant = PDR_LIT(PDR_DEFAULT_TENANT);
    PDR_TRY(store->ops->count(store, &counts, tenant, err));
    *out = counts;
done:
    return rc;
}

/* --- keeping house ------------------------------------------------------- */

pdr_rc pdr_store_vacuum(pdr_vacuum_report *out, pdr_store *store, pdr_err *err,
                        pdr_vacuum_fn fn, void *arg)
{
    pdr_vacuum_report report;
    bool more = true;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL);
    memset(&report, 0, sizeof(report));
    PDR_TRY(pdr__store_here(store, err));
    if (store->ops->vacuum == NULL)
        PDR_TRY(PDR_FAIL(err, NO_VACUUM,
                         "a store of this kind has no file that could become "
                         "shorter"));
    while (more) {
        PDR_TRY(store->ops->vacuum(store, &report, &more, err));
        if (more && fn != NULL)
            PDR_TRY(fn(arg, &report, err));
    }
done:
    if (out != NULL)
        *out = report;
    return rc;
}

pdr_rc pdr_store_backup(pdr_backup_report *out, pdr_store *store,
                        const char *file, bool replace, pdr_err *err,
                        pdr_backup_fn fn, void *arg)
{
    pdr_backup_report report;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && file != NULL);
    memset(&report, 0, sizeof(report));
    PDR_TRY(pdr__store_here(store, err));
    if (store->ops->backup == NULL)
        PDR_TRY(PDR_FAIL(err, NO_BACKUP,
                         "a store of this kind has no file that could be "
                         "copied"));
    PDR_TRY(store->ops->backup(store, file, replace, &report, fn, arg, err));
done:
    if (out != NULL)
        *out = report;
    return rc;
}

/* --- a write ------------------------------------------------------------- */

/* One commit while it is under way. */
struct job {
    pdr_write write;
    pdr_edit staged; /* what a step of a stage writes */
    struct pdr__arena memory;
    struct pdr__seal seal;
};

static pdr_rc take_room(void **out, struct job *job, size_t count, size_t size,
                        pdr_err *err)
{
    size_t bytes = 0;

    *out = NULL;
    if (count == 0)
        return PDR_OK;
    if (!pdr__mul_size(&bytes, count, size))
        return pdr__nomem(err);
    return pdr__arena_alloc(out, &job->memory, bytes, err);
}

static pdr_rc take_digests(pdr_digest **out, struct job *job, size_t count,
                           pdr_err *err)
{
    void *memory = NULL;
    pdr_rc rc = take_room(&memory, job, count, sizeof(pdr_digest), err);

    *out = memory;
    return rc;
}

/* --- correlation ids -------------------------------------------------------
 * Each once: those that the edit names, then those of its entries. Not a
 * pdr__map: that copies each key, and a batch of an import has thousands.
 */

struct ids {
    pdr_completion *rows;
    size_t count;
    uint32_t *table; /* of places in `rows` from 1 on, 0: free */
    size_t mask;
};

/* The row of the id; it is made if there is none. */
static pdr_completion *take_id(struct ids *ids, pdr_str id)
{
    size_t at = (size_t)pdr__hash(id) & ids->mask;
    pdr_completion *row = NULL;

    while (ids->table[at] != 0) {
        row = &ids->rows[ids->table[at] - 1];
        if (pdr_str_equal(row->correlation_id, id))
            return row;
        at = (at + 1) & ids->mask;
    }
    row = &ids->rows[ids->count++];
    memset(row, 0, sizeof(*row));
    row->correlation_id = id;
    ids->table[at] = (uint32_t)ids->count;
    return row;
}

static pdr_rc plan_completions(pdr_plan *plan, struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    struct ids ids = {NULL, 0, NULL, 0};
    size_t most = edit->completion_count, slots = 4;
    void *rows = NULL, *table = NULL, *written = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < edit->entry_count && plan->origin == NULL; i++)
        most += edit->entries[i].correlation_id.ptr != NULL;
    if (most == 0)
        return PDR_OK;
    while (slots < 2 * most)
        slots *= 2;
    PDR_TRY(take_room(&rows, job, most, sizeof(pdr_completion), err));
    PDR_TRY(take_room(&table, job, slots, sizeof(uint32_t), err));
    memset(table, 0, slots * sizeof(uint32_t));
    ids = (struct ids){rows, 0, table, slots - 1};
    for (size_t i = 0; i < edit->completion_count; i++) {
        const pdr_completion *from = &edit->completions[i];
        pdr_completion *row = take_id(&ids, from->correlation_id);

        row->fingerprint = from->fingerprint;
        row->outcome = from->outcome;
        row->at_ms = from->at_ms; /* counts for a stage */
        if (plan->origin != NULL)
            *row = *from;
    }
    for (size_t i = 0; i < edit->entry_count && plan->origin == NULL; i++) {
        pdr_completion *row = NULL;

        if (edit->entries[i].correlation_id.ptr == NULL)
            continue;
        row = take_id(&ids, edit->entries[i].correlation_id);
        if (row->first_seq == 0)
            row->first_seq = i + 1;
        row->last_seq = i + 1;
    }
    PDR_TRY(take_room(&written, job, ids.count, sizeof(pdr_completion), err));
    memcpy(written, ids.rows, ids.count * sizeof(pdr_completion));
    plan->asked = ids.rows;
    plan->completions = written; /* with the ids, which backends look up */
    plan->completion_count = ids.count;
done:
    return rc;
}

/* --- digests ---------------------------------------------------------------
 */

/* What needs no head: the digests of what the caller brings. */
static pdr_rc seal_edit(pdr_plan *plan, struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    const pdr_store *store = job->write.store;
    pdr_digest *entries = NULL, *slots = NULL, *properties = NULL;
    void *memory = NULL;
    pdr_seals *seals = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(take_room(&memory, job, 1, sizeof(pdr_seals), err));
    PDR_TRY(take_digests(&entries, job, edit->entry_count, err));
    PDR_TRY(take_digests(&slots, job, edit->slot_count, err));
    PDR_TRY(take_digests(&properties, job, edit->property_count, err));
    for (size_t i = 0; i < edit->entry_count; i++)
        PDR_TRY(pdr__seal_entry(entries[i], &job->seal, store,
                                &edit->entries[i], err));
    for (size_t i = 0; i < edit->slot_count; i++) {
        memset(slots[i], 0, sizeof(slots[i]));
        if (edit->slots[i].value.ptr != NULL)
            PDR_TRY(pdr__seal_slot(slots[i], &job->seal, store, &plan->ref,
                                   &edit->slots[i], err));
    }
    for (size_t i = 0; i < edit->property_count; i++) {
        memset(properties[i], 0, sizeof(properties[i]));
        if (edit->properties[i].value.ptr != NULL)
            PDR_TRY(pdr__seal_property(properties[i], &job->seal, store,
                                       &plan->ref, &edit->properties[i], err));
    }
    seals = memory;
    *seals = (pdr_seals){.entries = (const pdr_digest *)entries,
                         .slots = (const pdr_digest *)slots,
                         .properties = (const pdr_digest *)properties};
    if (edit->frame.ptr != NULL)
        PDR_TRY(pdr__seal_frame(seals->frame, &job->seal, store, &plan->ref,
                                edit->frame, err));
    plan->seals = seals;
done:
    return rc;
}

/* An entry that is appended without a time has that of the commit. A copy has
 * what its origin has. */
static pdr_rc date_entries(pdr_plan *plan, struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    void *memory = NULL, *entries = NULL;
    pdr_edit *dated = NULL;
    pdr_entry *rows = NULL;
    size_t first = 0;
    pdr_rc rc = PDR_OK;

    while (first < edit->entry_count && edit->entries[first].created_ms != 0)
        first++;
    if (first == edit->entry_count || plan->origin != NULL)
        return PDR_OK;
    PDR_TRY(take_room(&memory, job, 1, sizeof(*dated), err));
    PDR_TRY(take_room(&entries, job, edit->entry_count, sizeof(*rows), err));
    dated = memory;
    rows = entries;
    memcpy(rows, edit->entries, edit->entry_count * sizeof(*rows));
    for (size_t i = first; i < edit->entry_count; i++) {
        if (rows[i].created_ms == 0)
            rows[i].created_ms = job->write.now_ms;
    }
    *dated = *edit;
    dated->entries = rows;
    plan->edit = dated;
done:
    return rc;
}

static pdr_rc plan_edit(pdr_plan *plan, struct job *job, const pdr_edit *edit,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    plan->edit = edit;
    PDR_TRY(pdr__ref_check(&plan->ref, &edit->ref, err));
    PDR_TRY(date_entries(plan, job, err));
    /* what it will fill when the head is known */
    PDR_TRY(take_digests(&plan->entries, job, edit->entry_count, err));
    PDR_TRY(take_digests(&plan->journal, job, edit->journal_count, err));
    PDR_TRY(take_digests(&plan->stream, job, edit->stream_count, err));
    PDR_TRY(take_digests(&plan->inbox, job, edit->inbox_count, err));
    PDR_TRY(plan_completions(plan, job, err));
    PDR_TRY(seal_edit(plan, job, err));
done:
    return rc;
}

static pdr_rc job_begin(struct job *job, pdr_store *store,
                        const pdr_request *request, pdr_err *err)
{
    uint32_t timeout = request->options.timeout_ms;
    const pdr_edit *edits = request->edits;
    size_t count = request->count;
    pdr_write *write = &job->write;
    void *plans = NULL;
    pdr_rc rc = PDR_OK;

    memset(job, 0, sizeof(*job));
    job->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    write->store = store;
    write->seal = &job->seal;
    write->now_ms = request->options.now_ms;
    write->deadline_ms =
        pdr__monotonic_ms(pdr__clock_system()) +
        (int64_t)(timeout != 0 ? timeout : PDR_COMMIT_TIMEOUT_MS);
    write->rc = PDR_EUNKNOWN; /* until the backend says something else */
    write->err = (pdr_err)PDR_ERR_INIT;
    if (request->verb == PDR_STAGE_NONE) {
        PDR_REQUIRE(edits != NULL || count == 0);
        PDR_TRY(pdr__edits_check(&write->bytes, edits, count, err));
    } else {
        PDR_REQUIRE(request->stage != NULL);
        PDR_TRY(pdr__step_check(&job->staged, &write->bytes, request, err));
        edits = &job->staged;
        count = 1;
    }
    PDR_TRY(take_room(&plans, job, count, sizeof(pdr_plan), err));
    memset(plans, 0, count * sizeof(pdr_plan));
    write->plans = plans;
    write->count = count;
    if (request->verb != PDR_STAGE_NONE) {
        bool is_whole = request->verb == PDR_STAGE_SHOW && edits->epoch == 0;

        write->plans->stage = is_whole ? PDR_STAGE_NONE : request->verb;
        write->plans->until_ms = request->stage->until_ms;
        if (request->verb != PDR_STAGE_ABANDON)
            write->plans->origin = request->stage->origin;
    }
    for (size_t i = 0; i < count; i++)
        PDR_TRY(plan_edit(&write->plans[i], job, &edits[i], err));
done:
    return rc;
}

static void job_dispose(struct job *job)
{
    pdr__seal_dispose(&job->seal);
    pdr__arena_dispose(&job->memory);
}

/* Tell the caller and those who watch. A commit whose outcome is not known may
 * have happened, so it wakes them, too. */
static pdr_rc job_end(pdr_committed *out, struct job *job, pdr_err *err)
{
    pdr_rc rc = job->write.rc;

    if (rc == PDR_EUNKNOWN && job->write.err.code == PDR_OK)
        rc = PDR_FAIL(&job->write.err, COMMIT_UNKNOWN,
                      "the store did not say how the commit ended; open it "
                      "again and look");
    if (rc != PDR_OK && err != NULL)
        *err = job->write.err;
    if (rc == PDR_OK || rc == PDR_EUNKNOWN)
        pdr__watches_fire(&job->write);
    for (size_t i = 0; rc == PDR_OK && out != NULL && i < job->write.count; i++)
        out[i] = job->write.plans[i].committed;
    return rc;
}

/* --- clearing ------------------------------------------------------------ */

static pdr_rc sweep_store(pdr_sweep_report *report, pdr_store *store,
                          int64_t now_ms, pdr_err *err)
{
    bool more = store->ops->sweep != NULL;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && more) {
        more = false;
        rc = store->ops->sweep(store, now_ms, report, &more, err);
    }
    return rc;
}

pdr_rc pdr_store_sweep(pdr_sweep_report *out, pdr_store *store, int64_t now_ms,
                       pdr_err *err)
{
    pdr_sweep_report report = {0, 0, 0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL);
    PDR_TRY(pdr__store_here(store, err));
    PDR_TRY(sweep_store(&report, store, now_ms, err));
done:
    if (out != NULL)
        *out = report;
    return rc;
}

/* After a commit that hid sessions or gave a stage up their rows go. It is done
 * whatever becomes of that: what is left is cleared by the next one, or by who
 * sweeps. At this time nothing is over but what was removed. */
static void clear_hidden(const struct job *job)
{
    pdr_sweep_report report = {0, 0, 0};
    bool hid = false;

    for (size_t i = 0; i < job->write.count; i++)
        hid = hid || job->write.plans[i].hides ||
              job->write.plans[i].stage == PDR_STAGE_ABANDON;
    if (hid && job->write.rc == PDR_OK)
        (void)sweep_store(&report, job->write.store, INT64_MIN, NULL);
}

/* --- commits ------------------------------------------------------------- */

static pdr_rc commit_one(pdr_store *store, const pdr_request *request,
                         pdr_err *err)
{
    struct job job;
    pdr_write *write = &job.write;
    pdr_rc rc = pdr__store_here(store, err);

    if (rc != PDR_OK)
        return rc;
    PDR_TRY(job_begin(&job, store, request, err));
    store->ops->commit(store, &write, 1);
    rc = job_end(request->committed, &job, err);
    clear_hidden(&job);
done:
    job_dispose(&job);
    return rc;
}

pdr_rc pdr_store_commit(pdr_committed *out, pdr_store *store,
                        const pdr_edit *edits, size_t count,
                        const pdr_commit_options *options, pdr_err *err)
{
    PDR_REQUIRE(store != NULL && edits != NULL && options != NULL);
    const pdr_request request = {
        .edits = edits, .count = count, .options = *options, .committed = out};

    return commit_one(store, &request, err);
}

void pdr_store_commit_all(pdr_store *store, pdr_request *requests, size_t count)
{
    struct job *jobs = NULL;
    pdr_write **writes = NULL;
    size_t good = 0;
    pdr_err why = PDR_ERR_INIT, *err = &why;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__store_here(store, err));
    jobs = pdr__calloc(count, sizeof(*jobs));
    writes = pdr__calloc(count, sizeof(pdr_write *));
    if (jobs == NULL || writes == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = 0; i < count; i++) {
        pdr_request *request = &requests[i];

        request->err = (pdr_err)PDR_ERR_INIT;
        request->rc = job_begin(&jobs[i], store, request, &request->err);
        if (request->rc == PDR_OK)
            writes[good++] = &jobs[i].write;
    }
    if (good > 0)
        store->ops->commit(store, writes, good);
    for (size_t i = 0; i < count; i++) {
        if (requests[i].rc == PDR_OK)
            requests[i].rc =
                job_end(requests[i].committed, &jobs[i], &requests[i].err);
    }
    for (size_t i = 0; i < count; i++) {
        clear_hidden(&jobs[i]);
        job_dispose(&jobs[i]);
    }
done:
    for (size_t i = 0; rc != PDR_OK && i < count; i++) {
        requests[i].rc = rc;
        requests[i].err = why;
    }
    pdr__free(writes);
    pdr__free(jobs);
}

/* --- stages -------------------------------------------------------------- */

/* The epoch of the stage afterwards: that of what is still unseen. */
static pdr_rc commit_step(pdr_committed *out, pdr_store *store,
                          pdr_stage *stage, pdr_request *request, pdr_err *err)
{
    pdr_committed done;
    pdr_rc rc = PDR_OK;

    request->stage = stage;
    request->committed = &done;
    rc = commit_one(store, request, err);
    if (rc != PDR_OK)
        return rc;
    stage->epoch =
        request->verb == PDR_STAGE_BEGIN || request->verb == PDR_STAGE_ADD
            ? done.epoch
            : 0;
    if (out != NULL)
        *out = done;
    return PDR_OK;
}

pdr_rc pdr_stage_begin(pdr_committed *out, pdr_store *store, pdr_stage *stage,
                       const pdr_rows *rows, const pdr_commit_options *options,
                       pdr_err *err)
{
    PDR_REQUIRE(store != NULL && stage != NULL && options != NULL);
    pdr_request request = {
        .verb = PDR_STAGE_BEGIN, .rows = rows, .options = *options};

    return commit_step(out, store, stage, &request, err);
}

pdr_rc pdr_stage_add(pdr_committed *out, pdr_store *store, pdr_stage *stage,
                     const pdr_rows *rows, const pdr_commit_options *options,
                     pdr_err *err)
{
    PDR_REQUIRE(store != NULL && stage != NULL && options != NULL);
    pdr_request request = {
        .verb = PDR_STAGE_ADD, .rows = rows, .options = *options};

    return commit_step(out, store, stage, &request, err);
}

pdr_rc pdr_stage_show(pdr_committed *out, pdr_store *store, pdr_stage *stage,
                      const pdr_rows *rows, const pdr_show_opts *show,
                      const pdr_commit_options *options, pdr_err *err)
{
    PDR_REQUIRE(store != NULL && stage != NULL && options != NULL);
    pdr_request request = {.verb = PDR_STAGE_SHOW,
                           .rows = rows,
                           .show = show,
                           .options = *options};

    return commit_step(out, store, stage, &request, err);
}

pdr_rc pdr_stage_abandon(pdr_store *store, pdr_stage *stage,
                         const pdr_commit_options *options, pdr_err *err)
{
    PDR_REQUIRE(store != NULL && stage != NULL && options != NULL);
    pdr_request request = {.verb = PDR_STAGE_ABANDON, .options = *options};

    return stage->epoch == 0 ? PDR_OK
                             : commit_step(NULL, store, stage, &request, err);
}

/* --- reads --------------------------------------------------------------- */

pdr_rc pdr_store_read(pdr_page **out, pdr_store *store, const pdr_query *query,
                      pdr_err *err)
{
    struct pdr__page *page = NULL;
    pdr_query checked;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL && query != NULL);
    *out = NULL;
    PDR_TRY(pdr__store_here(store, err));
    PDR_TRY(pdr__query_check(&checked, query, err));
    PDR_TRY(pdr__page_new(&page, &checked, err));
    PDR_TRY(store->ops->read(store, &page->page, &checked, err));
    PDR_TRY(pdr__page_finish(page, store, err));
    *out = &page->page;
    page = NULL;
done:
    if (page != NULL)
        pdr_page_free(&page->page);
    return rc;
}
