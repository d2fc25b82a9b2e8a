/*
 * engine_run.c - runs as the store has them.
 *
 *      inbox: operation   it waits for its turn, or for its time
 *      inbox: guard       it is at work, as long as the lease holds
 *      neither            it has ended, or an import brought its request
 */
#include "engine_parts.h"

const char *eng_work_state(const pdr_work *row, int64_t now_ms)
{
    if (pdr_str_equal(row->kind, pdr_str_c("operation")))
        return row->due_ms <= now_ms ? "queued" : "delayed";
    if (pdr_str_equal(row->kind, pdr_str_c("guard")))
        return row->due_ms <= now_ms ? "interrupted" : "running";
    return NULL;
}

/* What the inbox says of it. */
static pdr_rc look_at_inbox(struct eng_run *out, pdr_store *store,
                            const pdr_ref *session, pdr_str run, pdr_err *err)
{
    const pdr_query query = {
        .what = PDR_READ_INBOX, .ref = *session, .limit = 200};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_store_read(&page, store, &query, err));
    for (size_t i = 0; i < page->count && out->state == NULL; i++) {
        const pdr_work *row = &page->work[i];

        if (!pdr_str_equal(row->correlation_id, run))
            continue;
        out->state = eng_work_state(row, sto_now_ms());
        out->due_ms = row->due_ms;
    }
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc eng_run_read(struct eng_run *out, const struct eng *e,
                    const pdr_ref *session, pdr_str run, pdr_err *err)
{
    const pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = *session, .key = run, .limit = 1};
    pdr_ending *ending = NULL;
    pdr_rc rc = PDR_OK;

    /* The end is looked for last: a run that ends meanwhile has one then. */
    CLI_TRY(look_at_inbox(out, e->store, session, run, err));
    CLI_TRY(pdr_store_read(&out->page, e->store, &query, err));
    if (out->state != NULL && strcmp(out->state, "running") == 0 &&
        out->page->head.lease.owner.ptr == NULL)
        out->state = "interrupted"; /* to be tried again soon */
    rc = pdr_engine_wait(&ending, e->engine, session, run, 0, err);
    if (rc == PDR_OK) {
        CLI_TRY(eng_end_take(&out->end, ending, err));
        out->state = eng_state_name(out->end.state);
    } else if (rc == PDR_ETIMEOUT) {
        rc = PDR_OK;
        if (out->state == NULL) /* an import brought it, and nobody ran it */
            out->state = "open";
    }
done:
    return rc;
}

void eng_run_free(struct eng_run *run)
{
    eng_end_free(&run->end);
    pdr_page_free(run->page);
}

pdr_str eng_run_owner(const struct eng_run *run)
{
    return strcmp(run->state, "running") == 0 ? run->page->head.lease.owner
                                              : pdr_str_n(NULL, 0);
}

void eng_run_members(pdr_builder *to, const pdr_ref *session, pdr_str id,
                     const struct eng_run *run)
{
    const pdr_completion *row = &run->page->completions[0];
    pdr_str owner = eng_run_owner(run);

    cli_member_text(to, "session", session->id);
    cli_member_text(to, "run", id);
    if (run->end.state == PDR_OPERATION_OPEN)
        cli_member_text(to, "state", pdr_str_c(run->state));
    sto_member_time(to, "since", row->at_ms);
    if (strcmp(run->state, "delayed") == 0)
        sto_member_time(to, "due", run->due_ms);
    if (owner.ptr != NULL) {
        cli_member_text(to, "owner", owner);
        sto_member_time(to, "leaseUntil", run->page->head.lease.until_ms);
    }
}
