/*
 * send.c - operations come in, or are taken back.
 *
 *      admit ─┬─► done at once
 *             ├─► idle session, free worker: stored and claimed, one commit
 *             └─► else: stored in the inbox
 *
 * INVARIANTS
 *   S1  An operation is stored together with the completion that knows its
 *       correlation id. So whoever sends it again finds it, whatever became of
 *       the first one, and two who send it at once cannot both succeed.
 *   S2  What is refused leaves nothing in the store.
 */
#include <inttypes.h>

#include "engine.h"

#define SEND_TRIES 20 /* to begin anew when somebody else was faster */

/* An operation on its way in. */
struct sending {
    pdr_engine *engine;
    const struct pdr__kind *kind;
    const pdr_operation *operation;
    pdr_admission admission;
    pdr_str correlation_id;
    char made_id[33]; /* if nobody gave one */
    bool is_known;    /* an import brought its request, and nobody ran it */
    uint64_t commits; /* then: of the head when that was seen */
};

/* --- what the store knows of it -------------------------------------------
 */

/* Is an operation with this id waiting or at work? `page` is the inbox. */
static pdr_rc is_under_way(bool *out, struct sending *s, const pdr_page *inbox,
                           pdr_err *err)
{
    const pdr_query query = {
        .what = PDR_READ_JOURNAL, .ref = s->operation->session, .limit = 1};
    pdr_page *journal = NULL;
    pdr_rc rc = PDR_OK;

    *out = false;
    for (size_t i = 0; i < inbox->count; i++)
        *out |= pdr__work_is(&inbox->work[i], PDR_WORK_OPERATION) &&
                pdr_str_equal(inbox->work[i].correlation_id, s->correlation_id);
    if (*out || inbox->head.journal_first == inbox->head.journal_next)
        return PDR_OK;
    PDR_TRY(pdr_store_read(&journal, s->engine->store, &query, err));
    *out = journal->count > 0 &&
           pdr_str_equal(journal->work[0].correlation_id, s->correlation_id);
done:
    pdr_page_free(journal);
    return rc;
}

/* The store has its correlation id: is it the same operation, and what became
 * of it? `*is_new`: an import brought a request that nobody ran; it is to be
 * run now. */
static pdr_rc known_look(pdr_operation_state *state, bool *is_new,
                         struct sending *s, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_COMPLETIONS,
                       .ref = s->operation->session,
                       .key = s->correlation_id};
    const pdr_completion *row = NULL;
    pdr_page *page = NULL, *inbox = NULL;
    pdr_ending *ending = NULL;
    bool under_way = false;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    *is_new = false;
    PDR_TRY(pdr_store_read(&page, s->engine->store, &query, err));
    row = &page->completions[0];
    if (row->fingerprint.ptr != NULL &&
        !pdr_str_equal(row->fingerprint, s->admission.fingerprint))
        PDR_TRY(PDR_FAIL(err, CORRELATION_REUSED,
                         "correlation id '%s' was used for another operation; "
                         "send this one with an id of its own",
                         pdr__shown(shown, s->correlation_id)));
    PDR_TRY(pdr__ending_read(&ending, s->engine, &s->operation->session,
                             s->correlation_id, err));
    *state = ending != NULL ? ending->state : PDR_OPERATION_OPEN;
    if (ending != NULL || row->fingerprint.ptr != NULL)
        goto done;
    query = (pdr_query)PDR_INBOX_QUERY(s->operation->session);
    PDR_TRY(pdr_store_read(&inbox, s->engine->store, &query, err));
    PDR_TRY(is_under_way(&under_way, s, inbox, err));
    *is_new = !under_way;
    s->is_known = true;
    s->commits = inbox->head.commits;
done:
    pdr_ending_free(ending);
    pdr_page_free(inbox);
    pdr_page_free(page);
    return rc;
}

/* --- storing it -----------------------------------------------------------
 */

/* Claim it in the commit that stores it, if a worker is free and nothing else
 * of the session comes first. `*done` says whether that was possible. */
static pdr_rc send_claimed(bool *done, struct sending *s, pdr_err *err)
{
    const pdr_ref *ref = &s->operation->session;
    pdr_engine *e = s->engine;
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, ref);
    pdr_err why = PDR_ERR_INIT;
    struct pdr__memo *kept = NULL;
    pdr_task *task = NULL;
    bool is_free = false, is_again = false;
    pdr_rc rc = PDR_OK;

    *done = false;
    if (s->is_known || !s->kind->ops->can_run(ref, s->kind->self))
        return PDR_OK;
    (void)pthread_mutex_lock(&e->lock);
    is_free = e->is_started && !e->is_stopping && !e->is_dead &&
              e->at_work.count < e->opts.workers && e->queue.items.count == 0 &&
              pdr__seat_take(e, ref, key);
    if (is_free)
        kept = pdr__memo_take(e, key);
    (void)pthread_mutex_unlock(&e->lock);
    if (!is_free)
        return PDR_OK;
    do { /* what is kept may be old: then read, once */
        is_again = kept != NULL;
        why = (pdr_err)PDR_ERR_INIT;
        rc = pdr__claim_sent(&task, e, s->kind, &s->admission, s->operation,
                             s->correlation_id, kept, &why);
        kept = NULL;
    } while (rc == PDR_ECONFLICT && is_again);
    (void)pthread_mutex_lock(&e->lock);
    if (task != NULL) {
        pdr__seat_set(e, task);
        task->next = e->ready;
        e->ready = task;
        pdr__engine_rouse(e);
    } else {
        pdr__seat_leave(e, ref, key);
    }
    (void)pthread_mutex_unlock(&e->lock);
    *done = rc == PDR_OK;
    /* Somebody else was faster, or is at work there: then it waits. One who
     * deleted the session was faster, too. */
    if (rc == PDR_OK || rc == PDR_EBUSY || rc == PDR_ECONFLICT ||
        pdr__err_is(&why, PDR_R_SESSION_EXISTS) ||
        (rc == PDR_ENOTFOUND && !s->admission.needs_session))
        return PDR_OK;
    return pdr__err_pass(err, &why);
}

/* Put it into the inbox. */
static pdr_rc send_queued(struct sending *s, pdr_err *err)
{
    const pdr_operation *operation = s->operation;
    const struct pdr__opbody body = {.name = s->admission.name,
                                     .trace = operation->trace,
                                     .input = s->admission.input,
                                     .is_known = s->is_known};
    const pdr_completion row = {.correlation_id = s->correlation_id,
                                .fingerprint = s->admission.fingerprint};
    pdr_work work = {.due_ms = operation->due_ms,
                     .kind = PDR_LIT(PDR_WORK_OPERATION),
                     .correlation_id = s->correlation_id};
    const pdr_edit edit = {.ref = operation->session,
                           .revision = PDR_ANY_REVISION,
                           .commits = s->is_known ? s->commits : 0,
                           .or_create = !s->admission.needs_session,
                           .agent = s->admission.agent,
                           .kind = s->admission.kind,
                           .completions = s->is_known ? NULL : &row,
                           .completion_count = s->is_known ? 0 : 1,
                           .inbox = &work,
                           .inbox_count = 1,
                           .inbox_most = s->engine->opts.inbox_most};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_engine *e = s->engine;
    pdr_commit_options now = {.now_ms = 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__engine_now(&now.now_ms, e, err));
    PDR_TRY(pdr__opbody_write(&text, &body, err));
    work.body = pdr_buf_str(&text);
    if (work.due_ms == 0)
        work.due_ms = now.now_ms;
    PDR_TRY(pdr_store_commit(NULL, e->store, &edit, 1, &now, err));
    (void)pthread_mutex_lock(&e->lock);
    if (work.due_ms <= now.now_ms) {
        pdr__engine_queue(e, &operation->session);
    } else if (work.due_ms < e->next_ms) {
        e->next_ms = work.due_ms;
        e->world->wake(e->world->ctx, &e->tick);
    }
    (void)pthread_mutex_unlock(&e->lock);
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* Store it, or find that it is stored. */
static pdr_rc send_store(pdr_sent *out, struct sending *s, pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    bool done = false, is_new = true, is_full = false;
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < SEND_TRIES; i++) {
        rc = PDR_OK;
        s->is_known = false; /* what was seen may have changed */
        if (s->operation->due_ms == 0)
            rc = send_claimed(&done, s, &why);
        if (rc == PDR_OK && !done)
            rc = send_queued(s, &why);
        is_full = rc != PDR_OK && pdr__err_is(&why, PDR_R_INBOX_FULL);
        if (rc != PDR_OK &&
            (is_full || pdr__err_is(&why, PDR_R_COMPLETION_EXISTS))) {
            pdr_err full = why;

            why = (pdr_err)PDR_ERR_INIT;
            rc = known_look(&out->state, &is_new, s, &why);
            out->is_repeated = rc == PDR_OK && !is_new;
            if (rc == PDR_OK && is_new)
                rc = send_queued(s, &why);
            if (rc == PDR_ENOTFOUND && is_full) {
                why = full;
                rc = PDR_ELIMIT;
            } else if (rc == PDR_ENOTFOUND) { /* deleted meanwhile */
                continue;
            }
        }
        if (rc != PDR_ECONFLICT || pdr__err_is(&why, PDR_R_CORRELATION_REUSED))
            break;
    }
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

/* --- sending --------------------------------------------------------------
 */

/* The id of the caller, of the input, or a new one. */
static pdr_rc id_choose(struct sending *s, pdr_err *err)
{
    uint8_t bytes[16];
    pdr_rc rc = PDR_OK;

    s->correlation_id = s->operation->correlation_id.ptr != NULL
                            ? s->operation->correlation_id
                            : s->admission.correlation_id;
    if (s->correlation_id.ptr == NULL) {
        PDR_TRY(pdr__rand_fill(bytes, pdr__rand_system(), sizeof(bytes), err));
        pdr__hex(s->made_id, bytes, sizeof(bytes));
        s->correlation_id = pdr_str_c(s->made_id);
    }
    if (s->correlation_id.len == 0 || s->correlation_id.len > PDR_MAX_ID_BYTES)
        return PDR_FAIL(err, BAD_OPERATION,
                        "a correlation id has 1 to %u bytes, this one has %zu",
                        PDR_MAX_ID_BYTES, s->correlation_id.len);
done:
    return rc;
}

/* Carry out an operation that is not stored. */
static pdr_rc send_at_once(pdr_buf *answer, struct sending *s, pdr_err *err)
{
    const pdr_ref *ref = &s->operation->session;
    pdr_operation named = *s->operation;
    struct pdr__memo *kept = NULL;
    char room[PDR_KEY_BYTES];
    int64_t now_ms = 0;
    pdr_rc rc = PDR_OK;

    named.name = s->admission.name;
    PDR_TRY(pdr__engine_now(&now_ms, s->engine, err));
    PDR_TRY(s->kind->ops->at_once(answer, s->engine->store, &named, now_ms, err,
                                  s->kind->self));
    (void)pthread_mutex_lock(&s->engine->lock);
    pdr__waiters_wake(s->engine, pdr__session_key(room, ref));
    kept = pdr__memo_take(s->engine, pdr__session_key(room, ref));
    (void)pthread_mutex_unlock(&s->engine->lock);
    pdr__memo_free(kept); /* it may be deleted */
done:
    return rc;
}

/* Send; what is carried out at once leaves its answer, and `*at_once` says so.
 */
static pdr_rc send_operation(pdr_sent *out, bool *at_once, pdr_buf *answer,
                             pdr_engine *e, const pdr_operation *operation,
                             pdr_err *err)
{
    struct sending s = {.engine = e, .operation = operation};
    const struct pdr__opbody named = {.name = operation->name,
                                      .trace = operation->trace};
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    *at_once = false;
    PDR_TRY(pdr__engine_ref(&operation->session, err));
    PDR_TRY(pdr__engine_alive(e, err));
    PDR_TRY(pdr__opbody_check(&named, err));
    s.kind = pdr__engine_kind(e, operation->session.id);
    if (s.kind == NULL)
        PDR_TRY(PDR_FAIL(err, NO_ENTITY,
                         "session '%s' is of a kind that has no operations "
                         "here",
                         pdr__shown(shown, operation->session.id)));
    PDR_TRY(s.kind->ops->admit(&s.admission, operation, err, s.kind->self));
    PDR_TRY(id_choose(&s, err));
    memcpy(out->correlation_id, s.correlation_id.ptr, s.correlation_id.len);
    if (s.admission.at_once) {
        *at_once = true;
        out->state = PDR_OPERATION_COMPLETED;
        PDR_TRY(send_at_once(answer, &s, err));
    } else {
        PDR_TRY(send_store(out, &s, err));
    }
done:
    if (s.admission.memory != NULL)
        s.kind->ops->release(s.admission.memory, s.kind->self);
    (void)pthread_mutex_lock(&e->lock);
    e->counts.sent += rc == PDR_OK && !out->is_repeated;
    e->counts.repeated += rc == PDR_OK && out->is_repeated;
    e->counts.refused += rc != PDR_OK;
    (void)pthread_mutex_unlock(&e->lock);
    return rc;
}

pdr_rc pdr_engine_send(pdr_sent *out, pdr_engine *engine,
                       const pdr_operation *operation, pdr_err *err)
{
    pdr_buf answer = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_err why = PDR_ERR_INIT;
    pdr_sent own;
    bool at_once = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(engine != NULL && operation != NULL);
    rc = send_operation(&own, &at_once, &answer, engine, operation, &why);
    pdr_buf_dispose(&answer);
    (void)pdr__engine_failed(engine, rc, &why);
    if (out != NULL)
        *out = own;
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

pdr_rc pdr_engine_call(pdr_ending **out, pdr_sent *sent, pdr_engine *engine,
                       const pdr_operation *operation, uint32_t timeout_ms,
                       pdr_err *err)
{
    pdr_buf answer = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_err why = PDR_ERR_INIT;
    pdr_sent own;
    bool at_once = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && engine != NULL && operation != NULL);
    *out = NULL;
    rc = send_operation(&own, &at_once, &answer, engine, operation, &why);
    (void)pdr__engine_failed(engine, rc, &why);
    if (sent != NULL)
        *sent = own;
    if (rc == PDR_OK)
        rc = at_once ? pdr__ending_new(out, &answer, &why)
                     : pdr_engine_wait(out, engine, &operation->session,
                                       pdr_str_c(own.correlation_id),
                                       timeout_ms, &why);
    pdr_buf_dispose(&answer);
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

/* --- taking it back -------------------------------------------------------
 */

/* One try: take it out of the inbox, or leave a word for who runs it. */
static pdr_rc cancel_once(pdr_engine *e, const pdr_ref *session, pdr_str id,
                          pdr_err *err)
{
    const pdr_query query = PDR_INBOX_QUERY(*session);
    pdr_completion row = {.correlation_id = id};
    pdr_work word = {.kind = PDR_LIT(PDR_WORK_CANCEL),
                     .correlation_id = id,
                     .body = PDR_LIT("{}")};
    pdr_edit edit = {.ref = *session, .revision = PDR_ANY_REVISION};
    pdr_buf outcome = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_commit_options now = {.now_ms = 0};
    pdr_page *inbox = NULL;
    bool has_word = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__engine_now(&now.now_ms, e, err));
    PDR_TRY(pdr_store_read(&inbox, e->store, &query, err));
    edit.commits = inbox->head.commits;
    for (size_t i = 0; i < inbox->count; i++) {
        if (!pdr_str_equal(inbox->work[i].correlation_id, id))
            continue;
        has_word |= pdr__work_is(&inbox->work[i], PDR_WORK_CANCEL);
        if (pdr__work_is(&inbox->work[i], PDR_WORK_OPERATION)) {
            edit.settle = &inbox->work[i].n;
            edit.settle_count = 1;
        }
    }
    if (edit.settle_count > 0) {
        PDR_TRY(pdr__outcome_write(&outcome, PDR_OPERATION_CANCELLED,
                                   pdr_str_n(NULL, 0), err));
        row.outcome = pdr_buf_str(&outcome);
        edit.completions = &row;
        edit.completion_count = 1;
    } else if (!has_word) {
        word.due_ms = now.now_ms;
        edit.inbox = &word;
        edit.inbox_count = 1;
    }
    PDR_TRY(pdr_store_commit(NULL, e->store, &edit, 1, &now, err));
done:
    pdr_buf_dispose(&outcome);
    pdr_page_free(inbox);
    return rc;
}

pdr_rc pdr_engine_cancel(pdr_engine *engine, const pdr_ref *session,
                         pdr_str correlation_id, pdr_err *err)
{
    pdr_ending *ending = NULL;
    pdr_task *task = NULL;
    char room[PDR_KEY_BYTES];
    pdr_str key = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    PDR_REQUIRE(engine != NULL && session != NULL);
    PDR_TRY(pdr__engine_ref(session, &why));
    PDR_TRY(pdr__engine_alive(engine, &why));
    key = pdr__session_key(room, session);
    rc = PDR_ECONFLICT;
    for (int i = 0; i < SEND_TRIES && rc == PDR_ECONFLICT; i++) {
        PDR_TRY(
            pdr__ending_read(&ending, engine, session, correlation_id, &why));
        if (ending != NULL)
            goto done;
        rc = cancel_once(engine, session, correlation_id, &why);
    }
    (void)pdr__engine_failed(engine, rc, &why);
    if (rc != PDR_OK)
        goto done;
    (void)pthread_mutex_lock(&engine->lock);
    task = pdr__seat_task(engine, key);
    if (task != NULL &&
        pdr_str_equal(task->info.correlation_id, correlation_id)) {
        task->is_cancelled = true;
        pdr__task_end(task);
    } else {
        pdr__engine_queue(engine, session); /* or what is left stays there */
    }
    pdr__waiters_wake(engine, key);
    (void)pthread_mutex_unlock(&engine->lock);
done:
    pdr_ending_free(ending);
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}
