/*
 * claim.c - one worker takes an operation, in one commit.
 *
 *      inbox: operation ──► journal: operation     the lease is ours,
 *                           inbox: guard           due when it lapses
 *
 *      guard is due     ──► journal: attempt       the lease is ours,
 *                           inbox: guard           the run goes on
 *
 * WHY  A worker may die at any moment, and nobody is told. So a claim leaves a
 *      row in the inbox that comes due when the lease lapses: whoever looks for
 *      work finds it, and there is nothing else to look for.
 *
 * INVARIANTS
 *   C1  A session with a journal has a run; it is taken over before any other
 *       operation of the session is claimed.
 *   C2  Two workers that claim at once cannot both succeed: one of them finds
 *       the lease held, the row settled or the revision changed.
 *   C3  A run is given up after `max_attempts` attempts that brought it no step
 *       further. One that was handed back has used up none.
 *   C4  A run is taken over with the journal that it has at that moment: a
 *       worker whose lease has lapsed may write until somebody else has it.
 */
#include "engine.h"

/* What is claimed, while the commit is put together. */
struct claiming {
    pdr_engine *engine;
    const struct pdr__kind *kind;
    pdr_claim claim;
    pdr_edit edit;
    struct pdr__opbody body;
    pdr_str text;        /* of the operation row */
    pdr_completion done; /* how it ended, or that it is known from now on */
    pdr_buf outcome;     /* of `done` */
    uint64_t settle[PDR_MAX_PAGE_ROWS];
    pdr_work journal, guard; /* rows that are added */
    pdr_task *task;          /* owned; what comes of it */
    struct pdr__memo *kept;  /* owned; of the session, or NULL */
};

/* --- putting it together --------------------------------------------------
 */

static pdr_rc arena_text(pdr_str *io, struct pdr__arena *memory, pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (io->ptr == NULL)
        return PDR_OK;
    rc = pdr__arena_strndup(&copy, memory, *io, err);
    if (rc == PDR_OK)
        io->ptr = copy;
    return rc;
}

/* The task that the claim makes, with copies of all texts. */
static pdr_rc task_make(struct claiming *c, pdr_err *err)
{
    pdr_task *task = pdr__calloc(1, sizeof(*task));
    struct pdr__opbody body;
    char room[PDR_KEY_BYTES];
    pdr_str text = c->text;
    pdr_rc rc = PDR_OK;

    if (task == NULL)
        return pdr__nomem(err);
    c->task = task;
    task->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    (void)pthread_cond_init(&task->turn, NULL);
    task->engine = c->engine;
    task->kind = c->kind;
    task->key = pdr__session_key(room, &c->claim.session);
    PDR_TRY(arena_text(&task->key, &task->memory, err));
    PDR_TRY(arena_text(&text, &task->memory, err));
    PDR_TRY(pdr__opbody_read(&body, text, err));
    task->info = (pdr_task_info){.store = c->engine->store,
                                 .name = body.name,
                                 .input = body.input,
                                 .trace = body.trace,
                                 .correlation_id = c->claim.correlation_id,
                                 .now_ms = c->claim.now_ms,
                                 .attempt = 1};
    PDR_TRY(arena_text(&task->info.correlation_id, &task->memory, err));
    task->info.session.tenant = pdr_str_c(task->key.ptr);
    task->info.session.id =
        pdr_str_n(task->key.ptr + task->info.session.tenant.len + 1,
                  c->claim.session.id.len);
done:
    return rc;
}

/* Take the lease, and leave a guard. */
static void claim_lease(struct claiming *c)
{
    int64_t until_ms = c->claim.now_ms + c->engine->opts.lease_ms;

    c->guard = (pdr_work){.due_ms = until_ms,
                          .kind = PDR_LIT(PDR_WORK_GUARD),
                          .correlation_id = c->claim.correlation_id,
                          .body = PDR_LIT("{}")};
    c->edit.lease = (pdr_lease_edit){.verb = PDR_LEASE_TAKE,
                                     .owner = pdr_str_c(c->engine->owner),
                                     .until_ms = until_ms};
    c->edit.inbox = &c->guard;
    c->edit.inbox_count = 1;
    c->edit.journal = &c->journal;
    c->edit.journal_count = 1;
}

/* Ask the entity what the commit does beside that. */
static pdr_rc claim_prepare(struct claiming *c, pdr_err *err)
{
    const pdr_head *head = c->claim.head;
    pdr_rc rc = PDR_OK;

    c->edit.ref = c->claim.session;
    c->edit.revision = head != NULL ? head->revision : 0;
    c->edit.epoch = head != NULL ? head->epoch : 0;
    if (head != NULL && pdr__stream_is_old(head, c->claim.now_ms,
                                           c->engine->opts.stream_keep_ms))
        c->edit.stream_through = head->stream_next - 1;
    c->claim.store = c->engine->store;
    c->claim.edit = &c->edit;
    c->claim.name = c->body.name;
    c->claim.input = c->body.input;
    c->claim.is_known = c->body.is_known;
    c->claim.kept = c->kept != NULL ? c->kept->value : NULL;
    PDR_TRY(c->kind->ops->claim(&c->claim, err, c->kind->self));
    if (c->claim.is_done) {
        PDR_TRY(pdr__outcome_write(&c->outcome, c->claim.state, c->claim.more,
                                   err));
        c->done.correlation_id = c->claim.correlation_id;
        c->done.outcome = pdr_buf_str(&c->outcome);
    } else {
        c->journal = (pdr_work){.kind = PDR_LIT(PDR_WORK_OPERATION),
                                .correlation_id = c->claim.correlation_id,
                                .body = c->text};
        claim_lease(c);
        if (!c->edit.set_state) {
            c->edit.set_state = true;
            c->edit.state = PDR_SESSION_RUNNING;
        }
        PDR_TRY(task_make(c, err));
    }
    if (c->done.correlation_id.ptr != NULL) {
        c->edit.completions = &c->done;
        c->edit.completion_count = 1;
    }
done:
    return rc;
}

/* Commit; what was claimed is a task then. */
static pdr_rc claim_commit(struct claiming *c, pdr_err *err)
{
    const pdr_commit_options now = {.now_ms = c->claim.now_ms};
    pdr_engine *e = c->engine;
    pdr_committed done = {.revision = 0};
    pdr_task *task = c->task;
    char room[PDR_KEY_BYTES];
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_store_commit(&done, e->store, &c->edit, 1, &now, err));
    (void)pthread_mutex_lock(&e->lock);
    if (c->claim.is_done) {
        pdr__figures_ended(e, &c->claim.session, c->claim.state);
        pdr__waiters_wake(e, pdr__session_key(room, &c->claim.session));
    }
    e->counts.claimed += task != NULL;
    if (task != NULL && task->is_takeover)
        pdr__figures_taken_over(e, &task->info.session);
    (void)pthread_mutex_unlock(&e->lock);
    if (task != NULL) {
        task->info.epoch = done.epoch;
        task->info.head = done.head;
        if (c->edit.frame.ptr == NULL && c->edit.slot_count == 0 &&
            c->edit.property_count == 0 && c->edit.entries_through == 0) {
            task->kept = c->kept;
            c->kept = NULL;
        }
        if (c->edit.entry_count > 0)
            task->info.first_seq = done.first_seq;
        task->fence = done.fence;
        task->guard = done.inbox_n;
        task->journal_last = done.journal_n;
        task->until_ms = c->edit.lease.until_ms;
    }
done:
    return rc;
}

static void claiming_dispose(struct claiming *c)
{
    if (c->claim.memory != NULL)
        c->kind->ops->release(c->claim.memory, c->kind->self);
    pdr_buf_dispose(&c->outcome);
    pdr__task_free(c->task);
    pdr__memo_free(c->kept);
}

/* --- taking over ----------------------------------------------------------
 */

/* Copy the journal into the task; it has one operation, the first row. */
static pdr_rc journal_read(struct claiming *c, pdr_page **first, pdr_err *err)
{
    const pdr_head *head = c->claim.head;
    pdr_query query = {.what = PDR_READ_JOURNAL,
                       .ref = c->claim.session,
                       .limit = PDR_MAX_PAGE_ROWS};
    size_t room = (size_t)(head->journal_next - head->journal_first), n = 0;
    pdr_work *rows = NULL;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    do {
        PDR_TRY(pdr_store_read(&page, c->engine->store, &query, err));
        if (page->head.epoch != head->epoch || page->count == 0 ||
            page->head.journal_next != head->journal_next) {
            rc = PDR_FAIL(err, REVISION_CHANGED, "%s",
                          "the run went on while it was read");
            goto done;
        }
        if (*first == NULL) {
            c->text = page->work[0].body;
            c->claim.correlation_id = page->work[0].correlation_id;
            PDR_TRY(pdr__opbody_read(&c->body, c->text, err));
            PDR_TRY(task_make(c, err));
            PDR_TRY(pdr__arena_alloc((void **)&rows, &c->task->memory,
                                     room * sizeof(*rows), err));
        }
        for (size_t i = 0; i < page->count && n < room; i++, n++) {
            rows[n] = page->work[i];
            rows[n].session = c->task->info.session;
            PDR_TRY(arena_text(&rows[n].kind, &c->task->memory, err));
            PDR_TRY(arena_text(&rows[n].correlation_id, &c->task->memory, err));
            PDR_TRY(arena_text(&rows[n].body, &c->task->memory, err));
        }
        query.from = rows[n - 1].n + 1;
        if (*first == NULL)
            *first = page;
        else
            pdr_page_free(page);
        page = NULL;
    } while (n < room);
    c->task->info.journal = rows;
    c->task->info.journal_count = n;
done:
    pdr_page_free(page);
    return rc;
}

/* Attempts since the run came one step further (C3). */
static unsigned attempts_count(const pdr_task_info *info)
{
    unsigned count = 1;

    for (size_t i = 0; i < info->journal_count; i++) {
        const pdr_work *row = &info->journal[i];

        if (!pdr__work_is(row, PDR_WORK_ATTEMPT))
            count = 1; /* a step, or the operation itself */
        else if (pdr_str_equal(row->body, PDR_LIT("{}")))
            count++;
    }
    return count;
}

/* Go on with a run whose worker is gone. */
static pdr_rc claim_takeover(struct claiming *c, bool handed_back, pdr_err *err)
{
    pdr_page *journal = NULL;
    unsigned attempts = 0;
    pdr_rc rc = PDR_OK;

    c->claim.is_takeover = true;
    PDR_TRY(journal_read(c, &journal, err));
    attempts = attempts_count(&c->task->info);
    c->task->is_takeover = true;
    for (size_t i = 0; i < c->task->info.journal_count; i++)
        c->task->info.attempt +=
            pdr__work_is(&c->task->info.journal[i], PDR_WORK_ATTEMPT);
    c->task->info.attempt++;
    if (!handed_back && !c->claim.cancelled &&
        attempts >= c->engine->opts.max_attempts)
        c->claim.gives_up = true;
    if (c->claim.gives_up || c->claim.cancelled) {
        pdr__task_free(c->task);
        c->task = NULL;
        PDR_TRY(claim_prepare(c, err));
        assert(c->claim.is_done);
        /* The old worker may live: its fence ends here, and ours at once. */
        c->edit.lease = (pdr_lease_edit){.verb = PDR_LEASE_TAKE,
                                         .owner = pdr_str_c(c->engine->owner),
                                         .until_ms = c->claim.now_ms};
        c->edit.journal_through = c->claim.head->journal_next - 1;
        if (!c->edit.set_state) {
            c->edit.set_state = true;
            c->edit.state = PDR_SESSION_IDLE;
        }
    } else {
        c->edit.ref = c->claim.session;
        c->edit.revision = PDR_ANY_REVISION;
        c->edit.epoch = c->claim.head->epoch;
        c->journal =
            (pdr_work){.kind = PDR_LIT(PDR_WORK_ATTEMPT),
                       .correlation_id = c->claim.correlation_id,
                       .body = handed_back ? PDR_LIT("{\"handed_back\":true}")
                                           : PDR_LIT("{}")};
        claim_lease(c);
    }
    /* The old worker may have come one step further since (C4). */
    c->edit.commits = c->claim.head->commits;
    PDR_TRY(claim_commit(c, err));
done:
    pdr_page_free(journal);
    return rc;
}

/* --- what is due ----------------------------------------------------------
 */

/* A guard without a journal, and cancels of what has ended: the session was
 * replaced, or the run ended first. Whoever waits for the run hears of it. */
static pdr_rc leftovers_settle(struct claiming *c, const pdr_page *inbox,
                               pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_COMPLETIONS, .ref = c->claim.session};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < inbox->count; i++) {
        const pdr_work *row = &inbox->work[i];

        if (pdr__work_is(row, PDR_WORK_OPERATION) ||
            row->due_ms > c->claim.now_ms)
            continue;
        c->settle[c->edit.settle_count++] = row->n;
        if (!pdr__work_is(row, PDR_WORK_GUARD) ||
            c->edit.completion_count > 0 || row->correlation_id.ptr == NULL)
            continue;
        query.key = row->correlation_id;
        rc = pdr_store_read(&page, c->engine->store, &query, &why);
        if (rc != PDR_OK && rc != PDR_ENOTFOUND) {
            (void)pdr__err_pass(err, &why);
            goto done;
        }
        if (rc == PDR_OK && page->completions[0].outcome.ptr == NULL) {
            c->claim.is_done = true;
            c->claim.state = PDR_OPERATION_FAILED;
            PDR_TRY(pdr__outcome_write(
                &c->outcome, PDR_OPERATION_FAILED,
                PDR_LIT("\"code\":\"session_replaced\",\"message\":\"the "
                        "session was replaced while the run was at work\""),
                err));
            c->done.correlation_id = row->correlation_id;
            c->done.outcome = pdr_buf_str(&c->outcome);
            c->edit.completions = &c->done;
            c->edit.completion_count = 1;
        }
        pdr_page_free(page);
        page = NULL;
    }
    rc = PDR_OK;
    if (c->edit.settle_count == 0)
        goto done;
    c->edit.ref = c->claim.session;
    c->edit.revision = PDR_ANY_REVISION;
    PDR_TRY(claim_commit(c, err));
done:
    pdr_page_free(page);
    return rc;
}

/* The row to begin with: the guard of a run, or the first operation. Settles
 * it, and what cancels it. NULL: there is none. */
static const pdr_work *row_choose(struct claiming *c, const pdr_page *inbox)
{
    const pdr_head *head = &inbox->head;
    bool has_run = head->journal_first < head->journal_next; /* C1 */
    const pdr_work *chosen = NULL;

    for (size_t i = 0; i < inbox->count; i++) {
        const pdr_work *row = &inbox->work[i];

        if (pdr__work_is(row, has_run ? PDR_WORK_GUARD : PDR_WORK_OPERATION) &&
            row->due_ms <= c->claim.now_ms &&
            (chosen == NULL || row->due_ms < chosen->due_ms))
            chosen = row;
    }
    if (chosen != NULL)
        c->settle[c->edit.settle_count++] = chosen->n;
    for (size_t i = 0; chosen != NULL && i < inbox->count; i++) {
        const pdr_work *row = &inbox->work[i];

        if (pdr__work_is(row, PDR_WORK_CANCEL) &&
            pdr_str_equal(row->correlation_id, chosen->correlation_id)) {
            c->claim.cancelled = true;
            c->settle[c->edit.settle_count++] = row->n;
        }
    }
    return chosen;
}

/* Has the session been changed since this was kept? */
static bool kept_is_old(const struct pdr__memo *kept, const pdr_head *head)
{
    return kept->head->epoch != head->epoch ||
           kept->head->revision != head->revision;
}

pdr_rc pdr__claim_due(pdr_task **out, pdr_engine *engine, const pdr_ref *ref,
                      struct pdr__memo *kept, pdr_err *err)
{
    const pdr_query query = PDR_INBOX_QUERY(*ref);
    struct claiming c = {.engine = engine,
                         .kind = pdr__engine_kind(engine, ref->id),
                         .claim = {.session = *ref},
                         .kept = kept,
                         .outcome = PDR_BUF_INIT(PDR_MAX_ROW_BYTES)};
    const pdr_work *row = NULL;
    pdr_page *inbox = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr__engine_now(&c.claim.now_ms, engine, err));
    PDR_TRY(pdr_store_read(&inbox, engine->store, &query, err));
    c.claim.head = &inbox->head;
    if (c.kept != NULL && kept_is_old(c.kept, &inbox->head)) {
        pdr__memo_free(c.kept);
        c.kept = NULL;
    }
    c.edit.settle = c.settle;
    if (inbox->head.lease.owner.ptr != NULL &&
        inbox->head.lease.until_ms > c.claim.now_ms)
        PDR_TRY(PDR_FAIL(err, LEASE_HELD, "%s",
                         "another worker is at work on the session"));
    row = row_choose(&c, inbox);
    if (row == NULL && inbox->head.journal_first == inbox->head.journal_next) {
        rc = leftovers_settle(&c, inbox, err);
    } else if (row != NULL && pdr__work_is(row, PDR_WORK_GUARD)) {
        rc = claim_takeover(&c, !pdr_str_equal(row->body, PDR_LIT("{}")), err);
    } else if (row != NULL) {
        c.text = row->body;
        c.claim.correlation_id = row->correlation_id;
        PDR_TRY(pdr__opbody_read(&c.body, c.text, err));
        PDR_TRY(claim_prepare(&c, err));
        PDR_TRY(claim_commit(&c, err));
    }
    if (rc == PDR_OK) {
        *out = c.task;
        c.task = NULL;
    }
done:
    claiming_dispose(&c);
    pdr_page_free(inbox);
    return rc;
}

/* --- what is sent ---------------------------------------------------------
 */

/* A completion that has its outcome may be of an operation that is known and
 * has not ended: so look, and let nobody come between. One without an outcome
 * must be new, which the store sees. */
static pdr_rc sent_is_new(struct claiming *c, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = c->claim.session,
                             .key = c->claim.correlation_id,
                             .limit = 1};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr_store_read(&page, c->engine->store, &query, &why);

    pdr_page_free(page);
    if (rc == PDR_OK)
        return PDR_FAIL(err, COMPLETION_EXISTS,
                        "correlation id '%s' is known already",
                        pdr__shown(shown, c->claim.correlation_id));
    c->edit.commits = c->claim.head->commits;
    return rc == PDR_ENOTFOUND ? PDR_OK : pdr__err_pass(err, &why);
}

pdr_rc pdr__claim_sent(pdr_task **out, pdr_engine *engine,
                       const struct pdr__kind *kind,
                       const pdr_admission *admission,
                       const pdr_operation *operation, pdr_str correlation_id,
                       struct pdr__memo *kept, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = operation->session};
    struct claiming c = {.engine = engine,
                         .kind = kind,
                         .claim = {.session = operation->session,
                                   .correlation_id = correlation_id},
                         .body = {.name = admission->name,
                                  .trace = operation->trace,
                                  .input = admission->input},
                         .done = {.correlation_id = correlation_id,
                                  .fingerprint = admission->fingerprint},
                         .kept = kept,
                         .outcome = PDR_BUF_INIT(PDR_MAX_ROW_BYTES)};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_err why = PDR_ERR_INIT;
    const pdr_head *head = NULL;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr__engine_now(&c.claim.now_ms, engine, err));
    if (kept == NULL)
        rc = pdr_store_read(&page, engine->store, &query, &why);
    if (rc != PDR_OK && (rc != PDR_ENOTFOUND || admission->needs_session)) {
        rc = pdr__err_pass(err, &why);
        goto done;
    }
    head = kept != NULL ? kept->head : page != NULL ? &page->head : NULL;
    if (head != NULL &&
        (head->inbox > 0 || head->journal_first < head->journal_next ||
         (head->lease.owner.ptr != NULL &&
          head->lease.until_ms > c.claim.now_ms)))
        PDR_TRY(PDR_FAIL(err, LEASE_HELD, "%s",
                         "other operations of the session come first"));
    c.claim.head = head;
    if (kept != NULL)
        c.edit.commits = head->commits;
    c.edit.agent = admission->agent;
    c.edit.kind = admission->kind;
    PDR_TRY(pdr__opbody_write(&text, &c.body, err));
    c.text = pdr_buf_str(&text);
    PDR_TRY(claim_prepare(&c, err));
    if (c.claim.is_done && head != NULL)
        PDR_TRY(sent_is_new(&c, err));
    PDR_TRY(claim_commit(&c, err));
    *out = c.task;
    c.task = NULL;
done:
    claiming_dispose(&c);
    pdr_page_free(page);
    pdr_buf_dispose(&text);
    return rc;
}
