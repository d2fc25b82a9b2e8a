/*
 * look.c - what stands in the store under the keys of a commit.
 *
 * WHY  Everything that can refuse a commit is asked before its first row is
 *      written (write.c tells why). Here is the asking: heads, completions and
 *      the entry in front of a cut are found, checked, and told to the plan.
 *
 * INVARIANTS
 *   L1  Nothing is copied that the caller holds until the commit has ended;
 *       texts of rows that were found are copied, since SQLite takes them back.
 *   L2  No statement is left running: each is reset in the function that runs
 *       it.
 */
#include "write.h"

static pdr_rc keep_text(struct pdr__job *job, pdr_str *text)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (text->ptr == NULL)
        return PDR_OK;
    rc = pdr__arena_strndup(&copy, &job->writer->memory, *text,
                            &job->write->err); /* L1 */
    text->ptr = copy;
    return rc;
}

static pdr_rc keep_head(struct pdr__job *job, const pdr_plan *plan,
                        pdr_head *head)
{
    pdr_rc rc = PDR_OK;

    head->ref = plan->ref;
    rc = keep_text(job, &head->agent);
    if (rc == PDR_OK)
        rc = keep_text(job, &head->kind);
    if (rc == PDR_OK)
        rc = keep_text(job, &head->schema_version);
    if (rc == PDR_OK)
        rc = keep_text(job, &head->lease.owner);
    return rc;
}

/* The head in the present row of `stmt`; `*fits`: it is that of the plan's
 * session. */
static pdr_rc take_head(struct pdr__job *job, const pdr_plan *plan,
                        pdr_head *head, bool *fits, sqlite3_stmt *stmt)
{
    pdr_err *err = &job->write->err;
    pdr_rc rc = pdr__sqlite_head(head, stmt, err);

    if (rc == PDR_OK)
        rc = pdr_head_check(&job->store->base, head, err);
    if (rc != PDR_OK)
        return rc;
    *fits = pdr_str_equal(head->ref.tenant, plan->ref.tenant) &&
            pdr_str_equal(head->ref.id, plan->ref.id);
    return *fits ? keep_head(job, plan, head) : PDR_OK;
}

static pdr_rc find(struct pdr__job *job, const pdr_plan *plan, pdr_head *head,
                   bool *found, bool *fits, sqlite3_stmt *stmt)
{
    int code = sqlite3_step(stmt);
    pdr_rc rc = PDR_OK;

    *found = code == SQLITE_ROW;
    *fits = false;
    if (*found)
        rc = take_head(job, plan, head, fits, stmt);
    else if (code != SQLITE_DONE)
        rc = pdr__job_failed(job, code);
    (void)sqlite3_reset(stmt);
    return rc;
}

/* The head, if there is one. */
static pdr_rc find_head(struct pdr__job *job, const pdr_plan *plan,
                        pdr_head *head, bool *found)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_GET_HEAD];
    bool fits = false;
    pdr_rc rc = PDR_OK;

    pdr__bind_text(stmt, 1, plan->ref.tenant);
    pdr__bind_text(stmt, 2, plan->ref.id);
    rc = find(job, plan, head, found, &fits, stmt);
    if (rc == PDR_OK && *found && !fits)
        rc = PDR_FAIL(&job->write->err, STORE_DAMAGED, "%s",
                      "an index of table 'sessions' leads to another session; "
                      "verify the store and restore a backup");
    return rc;
}

/* The head of what is staged for the session under the epoch of the edit. */
static pdr_rc find_staged(struct pdr__job *job, const pdr_plan *plan,
                          pdr_head *head, bool *found)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_GET_UNSEEN];
    bool fits = false;
    pdr_rc rc = PDR_OK;

    pdr__bind_int(stmt, 1, (int64_t)plan->edit->epoch);
    rc = find(job, plan, head, found, &fits, stmt);
    *found = *found && fits;
    return rc;
}

static pdr_rc take_completion(struct pdr__job *job, const pdr_plan *plan,
                              pdr_completion *row, int64_t *n,
                              sqlite3_stmt *stmt)
{
    pdr_err *err = &job->write->err;
    pdr_rc rc = pdr__sqlite_completion(row, n, stmt, err);

    if (rc == PDR_OK)
        rc = pdr_completion_check(&job->store->base, &plan->ref, row, err);
    if (rc == PDR_OK)
        rc = keep_text(job, &row->correlation_id);
    if (rc == PDR_OK)
        rc = keep_text(job, &row->fingerprint);
    if (rc == PDR_OK)
        rc = keep_text(job, &row->outcome);
    return rc;
}

/* The completion under an id of the plan; `*n` is 0 if there is none. */
static pdr_rc find_completion(struct pdr__job *job, const pdr_plan *plan,
                              pdr_str id, pdr_completion *row, int64_t *n)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_GET_COMPLETION];
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    *n = 0;
    if (pdr__pack_holds(job->writer, plan->next.epoch)) {
        code = pdr__pack_flush(job->writer); /* of a write before this one */
        if (code != SQLITE_OK)
            return pdr__job_failed(job, code);
    }
    pdr__bind_int(stmt, 1, (int64_t)plan->next.epoch);
    pdr__bind_text(stmt, 2, id);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        rc = take_completion(job, plan, row, n, stmt);
    else if (code != SQLITE_DONE)
        rc = pdr__job_failed(job, code);
    (void)sqlite3_reset(stmt);
    return rc;
}

static pdr_rc room_for(int64_t **out, struct pdr__job *job, size_t count)
{
    void *memory = NULL;
    pdr_rc rc = PDR_OK;

    if (count > 0)
        rc = pdr__arena_alloc(&memory, &job->writer->memory,
                              count * sizeof(int64_t), &job->write->err);
    *out = memory;
    return rc;
}

static pdr_rc find_completions(struct pdr__job *job, pdr_plan *plan,
                               struct pdr__found *found)
{
    pdr_rc rc = room_for(&found->completions, job, plan->completion_count);

    for (size_t k = 0; k < plan->completion_count && rc == PDR_OK; k++) {
        int64_t *n = &found->completions[k];
        pdr_completion row;

        rc = find_completion(job, plan, plan->asked[k].correlation_id, &row, n);
        if (rc == PDR_OK)
            rc = pdr_plan_known(plan, job->write, k, *n != 0 ? &row : NULL,
                                &job->write->err);
    }
    return rc;
}

static pdr_rc find_drop(struct pdr__job *job, pdr_plan *plan,
                        struct pdr__found *found)
{
    const pdr_edit *edit = plan->edit;
    pdr_rc rc = room_for(&found->drop, job, edit->drop_count);

    for (size_t k = 0; k < edit->drop_count && rc == PDR_OK; k++) {
        int64_t *n = &found->drop[k];
        pdr_completion row;

        rc = find_completion(job, plan, edit->drop[k].correlation_id, &row, n);
        if (rc == PDR_OK)
            rc =
                pdr_plan_drop(plan, k, *n != 0 ? &row : NULL, &job->write->err);
    }
    return rc;
}

/* The last entry that goes, which may have come with a write before this one.
 */
static pdr_rc find_cut(struct pdr__job *job, pdr_plan *plan)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_GET_DIGEST];
    int code = SQLITE_OK;
    pdr_rc rc = PDR_OK;

    if (!plan->cuts)
        return PDR_OK;
    code = pdr__pack_flush(job->writer);
    if (code != SQLITE_OK)
        return pdr__job_failed(job, code);
    pdr__bind_int(stmt, 1, (int64_t)plan->next.epoch);
    pdr__bind_int(stmt, 2, (int64_t)plan->edit->entries_through);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) == PDR_DIGEST_BYTES)
        pdr_plan_cut(plan, sqlite3_column_blob(stmt, 0));
    else if (code == SQLITE_ROW || code == SQLITE_DONE)
        rc = PDR_FAIL(&job->write->err, BROKEN_CHAIN, "%s",
                      "an entry that the head counts is damaged, or not there; "
                      "verify the store and restore a backup");
    else
        rc = pdr__job_failed(job, code);
    (void)sqlite3_reset(stmt);
    return rc;
}

/* The head that the edit is about. */
static pdr_rc find_own(struct pdr__job *job, const pdr_plan *plan,
                       pdr_head *head, bool *found)
{
    *found = false;
    if (plan->stage == PDR_STAGE_BEGIN)
        return PDR_OK;
    return plan->stage == PDR_STAGE_NONE ? find_head(job, plan, head, found)
                                         : find_staged(job, plan, head, found);
}

static pdr_rc ask_plan(struct pdr__job *job, pdr_plan *plan, pdr_head *own,
                       pdr_head *replaced)
{
    pdr_err *err = &job->write->err;
    bool found = false;
    pdr_rc rc = find_own(job, plan, own, &found);

    if (rc == PDR_OK)
        rc = pdr_plan_begin(plan, job->write, found ? own : NULL,
                            &job->writer->row.number, err);
    if (rc != PDR_OK || !plan->shows)
        return rc;
    rc = find_head(job, plan, replaced, &found);
    if (rc == PDR_OK)
        rc = pdr_plan_show(plan, job->write, found ? replaced : NULL, err);
    return rc;
}

pdr_rc pdr__look(struct pdr__job *job, pdr_plan *plan, struct pdr__found *found)
{
    pdr_head *heads = NULL;
    void *memory = NULL;
    pdr_rc rc = pdr__arena_alloc(&memory, &job->writer->memory,
                                 2 * sizeof(*heads), &job->write->err);

    if (rc != PDR_OK)
        return rc;
    heads = memory;
    rc = ask_plan(job, plan, &heads[0], &heads[1]);
    if (rc != PDR_OK || plan->removes)
        return rc;
    rc = find_completions(job, plan, found);
    if (rc == PDR_OK)
        rc = find_drop(job, plan, found);
    if (rc == PDR_OK)
        rc = find_cut(job, plan);
    return rc;
}
