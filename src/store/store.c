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

pdr_rc pdr_store_open(pdr_store **out, const char *uri, pdr_err *err)
{
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
    rc = shorten_key(store, err);
    if (rc == PDR_OK)
        rc = pdr__watches_new(store, err);
    if (rc == PDR_OK)
        *out = store;
    else
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
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK)
        rc = store->ops->info(store, &info, err);
    if (rc == PDR_OK)
        *out = info;
    return rc;
}

/* --- keeping house ------------------------------------------------------- */

static pdr_rc vacuum(pdr_vacuum_report *report, pdr_store *store, pdr_err *err,
                     pdr_vacuum_fn fn, void *arg)
{
    bool more = true;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && more) {
        rc = store->ops->vacuum(store, report, &more, err);
        if (rc == PDR_OK && more && fn != NULL)
            rc = fn(arg, report, err);
    }
    return rc;
}

pdr_rc pdr_store_vacuum(pdr_vacuum_report *out, pdr_store *store, pdr_err *err,
                        pdr_vacuum_fn fn, void *arg)
{
    pdr_vacuum_report report;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL);
    memset(&report, 0, sizeof(report));
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK && store->ops->vacuum == NULL)
        rc = PDR_FAIL(err, NO_VACUUM,
                      "a store of this kind has no file that could become "
                      "shorter");
    if (rc == PDR_OK)
        rc = vacuum(&report, store, err, fn, arg);
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
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK && store->ops->backup == NULL)
        rc = PDR_FAIL(err, NO_BACKUP,
                      "a store of this kind has no file that could be copied");
    if (rc == PDR_OK)
        rc = store->ops->backup(store, file, replace, &report, fn, arg, err);
    if (out != NULL)
        *out = report;
    return rc;
}

/* --- a write ------------------------------------------------------------- */

/* One commit while it is under way. */
struct job {
    pdr_write write;
    struct pdr__arena memory;
    struct pdr__seal seal;
};

static pdr_rc room(void **out, struct job *job, size_t count, size_t size,
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

static pdr_rc digest_room(pdr_digest **out, struct job *job, size_t count,
                          pdr_err *err)
{
    void *memory = NULL;
    pdr_rc rc = room(&memory, job, count, sizeof(pdr_digest), err);

    *out = memory;
    return rc;
}

/* --- correlation ids -------------------------------------------------------
 * Each once: those that the edit names, then those of its entries. A turn has
 * one or two, so few are compared one by one; for many there is a table.
 */

#define FEW_IDS 16u

struct ids {
    pdr_completion *rows;
    size_t count;
    uint32_t *table; /* of places in `rows` from 1 on, 0: free; NULL: few */
    size_t mask;
};

/* How many there can be. */
static size_t count_ids(const pdr_edit *edit)
{
    size_t count = edit->completion_count;

    if (edit->origin != NULL)
        return count;
    for (size_t i = 0; i < edit->entry_count; i++)
        count += edit->entries[i].correlation_id.ptr != NULL;
    return count;
}

static pdr_rc ids_room(struct ids *ids, struct job *job, size_t most,
                       pdr_err *err)
{
    size_t slots = FEW_IDS;
    void *rows = NULL, *table = NULL;
    pdr_rc rc = room(&rows, job, most, sizeof(pdr_completion), err);

    while (slots < 2 * most)
        slots *= 2;
    if (rc == PDR_OK && most > FEW_IDS)
        rc = room(&table, job, slots, sizeof(uint32_t), err);
    if (table != NULL)
        memset(table, 0, slots * sizeof(uint32_t));
    *ids = (struct ids){rows, 0, table, slots - 1};
    return rc;
}

static size_t find_few(const struct ids *ids, pdr_str id)
{
    size_t i = ids->count;

    while (i > 0 && !pdr_str_equal(ids->rows[i - 1].correlation_id, id))
        i--;
    return i > 0 ? i - 1 : ids->count;
}

/* The slot where the id stands, or where it would stand. */
static uint32_t *find_slot(const struct ids *ids, pdr_str id)
{
    size_t at = (size_t)pdr__hash(id) & ids->mask;

    while (ids->table[at] != 0 &&
           !pdr_str_equal(ids->rows[ids->table[at] - 1].correlation_id, id))
        at = (at + 1) & ids->mask;
    return &ids->table[at];
}

/* The row of the id; it is made if there is none. */
static pdr_completion *take_id(struct ids *ids, pdr_str id)
{
    uint32_t *slot = ids->table != NULL ? find_slot(ids, id) : NULL;
    size_t at = 0;

    if (slot == NULL)
        at = find_few(ids, id);
    else
        at = *slot != 0 ? *slot - 1 : ids->count;
    if (at < ids->count)
        return &ids->rows[at];
    memset(&ids->rows[at], 0, sizeof(*ids->rows));
    ids->rows[at].correlation_id = id;
    ids->count++;
    if (slot != NULL)
        *slot = (uint32_t)ids->count;
    return &ids->rows[at];
}

static void take_ids(struct ids *ids, const pdr_edit *edit)
{
    for (size_t i = 0; i < edit->completion_count; i++) {
        const pdr_completion *from = &edit->completions[i];
        pdr_completion *row = take_id(ids, from->correlation_id);

        row->fingerprint = from->fingerprint;
        row->outcome = from->outcome;
        row->at_ms = from->at_ms; /* counts for a stage */
    }
    for (size_t i = 0; i < edit->entry_count; i++) {
        pdr_completion *row = NULL;

        if (edit->entries[i].correlation_id.ptr == NULL)
            continue;
        row = take_id(ids, edit->entries[i].correlation_id);
        if (row->first_seq == 0)
            row->first_seq = i + 1;
        row->last_seq = i + 1;
    }
}

/* Those of a copy: all are known, and checked to be there once. */
static void copy_ids(struct ids *ids, const pdr_edit *edit)
{
    for (size_t i = 0; i < edit->completion_count; i++)
        ids->rows[i] = edit->completions[i];
    ids->count = edit->completion_count;
}

static pdr_rc plan_completions(pdr_plan *plan, struct job *job, pdr_err *err)
{
    struct ids ids = {NULL, 0, NULL, 0};
    size_t most = count_ids(plan->edit);
    void *written = NULL;
    pdr_rc rc = PDR_OK;

    if (most == 0)
        return PDR_OK;
    rc = ids_room(&ids, job, most, err);
    if (rc != PDR_OK)
        return rc;
    if (plan->edit->origin != NULL)
        copy_ids(&ids, plan->edit);
    else
        take_ids(&ids, plan->edit);
    rc = room(&written, job, ids.count, sizeof(pdr_completion), err);
    if (rc != PDR_OK)
        return rc;
    memcpy(written, ids.rows, ids.count * sizeof(pdr_completion));
    plan->asked = ids.rows;
    plan->completions = written; /* with the ids, which backends look up */
    plan->completion_count = ids.count;
    return PDR_OK;
}

/* --- digests ---------------------------------------------------------------
 */

static pdr_rc seal_entries(pdr_seals *seals, const pdr_plan *plan,
                           struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    pdr_digest *digests = NULL;
    pdr_rc rc = digest_room(&digests, job, edit->entry_count, err);

    for (size_t i = 0; i < edit->entry_count && rc == PDR_OK; i++)
        rc = pdr__seal_entry(digests[i], &job->seal, job->write.store,
                             &edit->entries[i], err);
    seals->entries = (const pdr_digest *)digests;
    return rc;
}

static pdr_rc seal_slots(pdr_seals *seals, const pdr_plan *plan,
                         struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    pdr_digest *digests = NULL;
    pdr_rc rc = digest_room(&digests, job, edit->slot_count, err);

    for (size_t i = 0; i < edit->slot_count && rc == PDR_OK; i++) {
        if (edit->slots[i].value.ptr == NULL)
            memset(digests[i], 0, sizeof(digests[i]));
        else
            rc = pdr__seal_slot(digests[i], &job->seal, job->write.store,
                                &plan->ref, &edit->slots[i], err);
    }
    seals->slots = (const pdr_digest *)digests;
    return rc;
}

static pdr_rc seal_properties(pdr_seals *seals, const pdr_plan *plan,
                              struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    pdr_digest *digests = NULL;
    pdr_rc rc = digest_room(&digests, job, edit->property_count, err);

    for (size_t i = 0; i < edit->property_count && rc == PDR_OK; i++) {
        if (edit->properties[i].value.ptr == NULL)
            memset(digests[i], 0, sizeof(digests[i]));
        else
            rc = pdr__seal_property(digests[i], &job->seal, job->write.store,
                                    &plan->ref, &edit->properties[i], err);
    }
    seals->properties = (const pdr_digest *)digests;
    return rc;
}

static pdr_rc seal_edit(pdr_plan *plan, struct job *job, pdr_err *err)
{
    void *memory = NULL;
    pdr_seals *seals = NULL;
    pdr_rc rc = room(&memory, job, 1, sizeof(pdr_seals), err);

    if (rc != PDR_OK)
        return rc;
    seals = memory;
    memset(seals, 0, sizeof(*seals));
    rc = seal_entries(seals, plan, job, err);
    if (rc == PDR_OK)
        rc = seal_slots(seals, plan, job, err);
    if (rc == PDR_OK)
        rc = seal_properties(seals, plan, job, err);
    if (rc == PDR_OK && plan->edit->frame.ptr != NULL)
        rc = pdr__seal_frame(seals->frame, &job->seal, job->write.store,
                             &plan->ref, plan->edit->frame, err);
    plan->seals = seals;
    return rc;
}

/* What the plan will fill when the head is known. */
static pdr_rc plan_room(pdr_plan *plan, struct job *job, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    pdr_rc rc = digest_room(&plan->entries, job, edit->entry_count, err);

    if (rc == PDR_OK)
        rc = digest_room(&plan->journal, job, edit->journal_count, err);
    if (rc == PDR_OK)
        rc = digest_room(&plan->stream, job, edit->stream_count, err);
    if (rc == PDR_OK)
        rc = digest_room(&plan->inbox, job, edit->inbox_count, err);
    if (rc == PDR_OK)
        rc = plan_completions(plan, job, err);
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
    if (first == edit->entry_count || edit->origin != NULL)
        return PDR_OK;
    rc = room(&memory, job, 1, sizeof(*dated), err);
    if (rc == PDR_OK)
        rc = room(&entries, job, edit->entry_count, sizeof(*rows), err);
    if (rc != PDR_OK)
        return rc;
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
    return PDR_OK;
}

static pdr_rc plan_edits(struct job *job, const pdr_edit *edits, size_t count,
                         pdr_err *err)
{
    void *plans = NULL;
    pdr_rc rc = room(&plans, job, count, sizeof(pdr_plan), err);

    if (rc != PDR_OK)
        return rc;
    memset(plans, 0, count * sizeof(pdr_plan));
    job->write.plans = plans;
    job->write.count = count;
    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        pdr_plan *plan = &job->write.plans[i];

        plan->edit = &edits[i];
        rc = pdr__ref_check(&plan->ref, &edits[i].ref, err);
        if (rc == PDR_OK)
            rc = date_entries(plan, job, err);
        if (rc == PDR_OK)
            rc = plan_room(plan, job, err);
        if (rc == PDR_OK)
            rc = seal_edit(plan, job, err);
    }
    return rc;
}

static pdr_rc job_begin(struct job *job, pdr_store *store,
                        const pdr_edit *edits, size_t count,
                        const pdr_commit_options *options, pdr_err *err)
{
    uint32_t timeout =
        options->timeout_ms != 0 ? options->timeout_ms : PDR_COMMIT_TIMEOUT_MS;
    pdr_rc rc = PDR_OK;

    memset(job, 0, sizeof(*job));
    PDR_REQUIRE(edits != NULL || count == 0);
    job->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    job->write.store = store;
    job->write.seal = &job->seal;
    job->write.now_ms = options->now_ms;
    job->write.deadline_ms =
        pdr__monotonic_ms(pdr__clock_system()) + (int64_t)timeout;
    job->write.rc = PDR_EUNKNOWN; /* until the backend says something else */
    job->write.err = (pdr_err)PDR_ERR_INIT;
    rc = pdr__edits_check(&job->write.bytes, edits, count, err);
    return rc == PDR_OK ? plan_edits(job, edits, count, err) : rc;
}

static void job_dispose(struct job *job)
{
    pdr__seal_dispose(&job->seal);
    pdr__arena_dispose(&job->memory);
}

/* Tell the caller and those who watch. A commit whose outcome is not known may
 * have happened, so it wakes them, too. */
static pdr_rc job_end(pdr_committed *out, struct job *job,
                      const pdr_edit *edits, pdr_err *err)
{
    pdr_rc rc = job->write.rc;

    if (rc == PDR_EUNKNOWN && job->write.err.code == PDR_OK)
        rc = PDR_FAIL(&job->write.err, COMMIT_UNKNOWN,
                      "the store did not say how the commit ended; open it "
                      "again and look");
    if (rc != PDR_OK && err != NULL)
        *err = job->write.err;
    if (rc == PDR_OK || rc == PDR_EUNKNOWN)
        pdr__watches_fire(job->write.store, edits, job->write.count);
    for (size_t i = 0; rc == PDR_OK && out != NULL && i < job->write.count; i++)
        out[i] = job->write.plans[i].committed;
    return rc;
}

/* --- clearing ------------------------------------------------------------ */

static pdr_rc sweep(pdr_sweep_report *report, pdr_store *store, int64_t now_ms,
                    pdr_err *err)
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
    pdr_sweep_report report;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL);
    memset(&report, 0, sizeof(report));
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK)
        rc = sweep(&report, store, now_ms, err);
    if (out != NULL)
        *out = report;
    return rc;
}

/* After a commit that hid sessions their rows go. It is done whatever becomes
 * of that: what is left is cleared by the next one, or by who sweeps. At this
 * time nothing is over but what was removed. */
static void clear_hidden(const struct job *job)
{
    pdr_sweep_report report = {0, 0, 0};
    bool hid = false;

    for (size_t i = 0; i < job->write.count; i++)
        hid = hid || job->write.plans[i].hides;
    if (hid && job->write.rc == PDR_OK)
        (void)sweep(&report, job->write.store, INT64_MIN, NULL);
}

/* --- commits ------------------------------------------------------------- */

pdr_rc pdr_store_commit(pdr_committed *out, pdr_store *store,
                        const pdr_edit *edits, size_t count,
                        const pdr_commit_options *options, pdr_err *err)
{
    struct job job;
    pdr_write *write = &job.write;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && edits != NULL && options != NULL);
    rc = pdr__store_here(store, err);
    if (rc != PDR_OK)
        return rc;
    rc = job_begin(&job, store, edits, count, options, err);
    if (rc == PDR_OK) {
        store->ops->commit(store, &write, 1);
        rc = job_end(out, &job, edits, err);
        clear_hidden(&job);
    }
    job_dispose(&job);
    return rc;
}

/* Those that pass the check go to the backend in one go. */
static void commit_good(pdr_store *store, pdr_request *requests,
                        struct job *jobs, pdr_write **writes, size_t count)
{
    size_t good = 0;

    for (size_t i = 0; i < count; i++) {
        pdr_request *request = &requests[i];

        request->err = (pdr_err)PDR_ERR_INIT;
        request->rc = job_begin(&jobs[i], store, request->edits, request->count,
                                &request->options, &request->err);
        if (request->rc == PDR_OK)
            writes[good++] = &jobs[i].write;
    }
    if (good > 0)
        store->ops->commit(store, writes, good);
    for (size_t i = 0; i < count; i++) {
        if (requests[i].rc == PDR_OK)
            requests[i].rc = job_end(requests[i].committed, &jobs[i],
                                     requests[i].edits, &requests[i].err);
    }
    for (size_t i = 0; i < count; i++) {
        clear_hidden(&jobs[i]);
        job_dispose(&jobs[i]);
    }
}

static void refuse_all(pdr_request *requests, size_t count, pdr_rc rc,
                       const pdr_err *err)
{
    for (size_t i = 0; i < count; i++) {
        requests[i].rc = rc;
        requests[i].err = *err;
    }
}

void pdr_store_commit_all(pdr_store *store, pdr_request *requests, size_t count)
{
    struct job *jobs = NULL;
    pdr_write **writes = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__store_here(store, &err);

    if (rc == PDR_OK) {
        jobs = pdr__calloc(count, sizeof(*jobs));
        writes = pdr__calloc(count, sizeof(pdr_write *));
        if (jobs == NULL || writes == NULL)
            rc = pdr__nomem(&err);
    }
    if (rc == PDR_OK)
        commit_good(store, requests, jobs, writes, count);
    else
        refuse_all(requests, count, rc, &err);
    pdr__free(writes);
    pdr__free(jobs);
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
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK)
        rc = pdr__query_check(&checked, query, err);
    if (rc == PDR_OK)
        rc = pdr__page_new(&page, &checked, err);
    if (rc == PDR_OK)
        rc = store->ops->read(store, &page->page, &checked, err);
    if (rc == PDR_OK)
        rc = pdr__page_finish(page, store, err);
    if (rc == PDR_OK)
        *out = &page->page;
    else if (page != NULL)
        pdr_page_free(&page->page);
    return rc;
}
