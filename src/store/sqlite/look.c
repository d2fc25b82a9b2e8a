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
    PDR_TRY(keep_text(job, &head->agent));
    PDR_TRY(keep_text(job, &head->kind));
    PDR_TRY(keep_text(job, &head->schema_version));
    PDR_TRY(keep_text(job, &head->lease.owner));
done:
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

static pdr_rc find_row(struct pdr__job *job, const pdr_plan *plan,
                       pdr_head *head, bool *found, bool *fits,
                       sqlite3_stmt *stmt)
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
    rc = find_row(job, plan, head, found, &fits, stmt);
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
    rc = find_row(job, plan, head, found, &fits, stmt);
    *found = *found && fits;
    return rc;
}

static pdr_rc take_completion(struct pdr__job *job, const pdr_plan *plan,
                              pdr_completion *row, int64_t *n,
                              sqlite3_stmt *stmt)
{
    pdr_err *err = &job->write->err;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__sqlite_completion(row, n, stmt, err));
    PDR_TRY(pdr_completion_check(&job->store->base, &plan->ref, row, err));
    PDR_TRY(keep_text(job, &row->correlation_id));
    PDR_TRY(keep_text(job, &row->fingerprint));
    PDR_TRY(keep_text(job, &row->outcome));
done:
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

/* Rows of completions that the plan writes, then of those that it drops. */
static pdr_rc find_completions(struct pdr__job *job, pdr_plan *plan,
                               struct pdr__found *found)
{
    const pdr_edit *edit = plan->edit;
    size_t written = plan->completion_count, dropped = edit->drop_count;
    pdr_err *err = &job->write->err;
    void *memory = NULL;
    pdr_completion row;
    pdr_rc rc = PDR_OK;

    if (written + dropped == 0)
        return PDR_OK;
    PDR_TRY(pdr__arena_alloc(&memory, &job->writer->memory,
                             (written + dropped) * sizeof(int64_t), err));
    found->completions = memory;
    found->drop = found->completions + written;
    for (size_t k = 0; k < written; k++) {
        int64_t *n = &found->completions[k];

        PDR_TRY(
            find_completion(job, plan, plan->asked[k].correlation_id, &row, n));
        PDR_TRY(
            pdr_plan_known(plan, job->write, k, *n != 0 ? &row : NULL, err));
    }
    for (size_t k = 0; k < dropped; k++) {
        int64_t *n = &found->drop[k];

        PDR_TRY(
            find_completion(job, plan, edit->drop[k].correlation_id, &row, n));
        PDR_TRY(pdr_plan_drop(plan, k, *n != 0 ? &row : NULL, err));
    }
done:
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

/* Ask the plan, with the head that the edit is about and, if it is shown, the
 * one that stands there. */
static pdr_rc ask_plan(struct pdr__job *job, pdr_plan *plan, pdr_head *own,
                       pdr_head *replaced)
{
    pdr_err *err = &job->write->err;
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (plan->stage == PDR_STAGE_NONE)
        PDR_TRY(find_head(job, plan, own, &found));
    else if (plan->stage != PDR_STAGE_BEGIN)
        PDR_TRY(find_staged(job, plan, own, &found));
    PDR_TRY(pdr_plan_begin(plan, job->write, found ? own : NULL,
                           &job->writer->row.number, err));
    if (!plan->shows)
        return PDR_OK;
    PDR_TRY(find_head(job, plan, replaced, &found));
    PDR_TRY(pdr_plan_show(plan, job->write, found ? replaced : NULL, err));
done:
    return rc;
}

pdr_rc pdr__look(struct pdr__job *job, pdr_plan *plan, struct pdr__found *found)
{
    pdr_head *heads = NULL;
    void *memory = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_alloc(&memory, &job->writer->memory, 2 * sizeof(*heads),
                             &job->write->err));
    heads = memory;
    PDR_TRY(ask_plan(job, plan, &heads[0], &heads[1]));
    if (plan->removes)
        return PDR_OK;
    PDR_TRY(find_completions(job, plan, found));
    PDR_TRY(find_cut(job, plan));
done:
    return rc;
}
