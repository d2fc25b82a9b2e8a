/*
 * sim_check.c - what must hold after every commit, and when all is quiet.
 *
 * Rows are read from the store itself, past the processes and without handing
 * the baton over, so that nothing happens meanwhile.
 *
 *   K1  A commit that names a fence is made under that fence; fences only grow.
 *   K2  A session with a journal has one guard, of the same operation, which
 *       comes due with the lease. One without has none.
 *   K3  An operation that is known and has not ended is in the inbox or in the
 *       journal, once. One that was acknowledged is known.
 *   K4  An operation has at most one request and one response, and the response
 *       comes with the outcome, which never changes.
 *   K5  Entries go by a reset alone.
 *   K6  The model is not asked for what the journal has, and is asked the same
 *       each time. Tools likewise; one that may not be repeated is called once.
 *   K7  The events of a run that ended are those of one attempt: what an
 * attempt made void is left out, then each call and result is there once, the
 *       text is that of the answer, and the end is the last.
 */
#include "sim.h"

#include "base.h"

#define PACE_MS 1000 /* that an operation takes, at most, if all goes well */
#define UNKNOWN "outcome of this call is unknown"

/* --- finding --------------------------------------------------------------
 */

pdr_ref sim_ref(const struct sim_session *s)
{
    return (pdr_ref){pdr_str_c(s->tenant), pdr_str_c(s->id)};
}

struct sim_session *sim_session_find(struct sim *sim, const pdr_ref *ref)
{
    for (unsigned i = 0; i < sim->plan.sessions; i++) {
        struct sim_session *s = &sim->sessions[i];

        if (pdr_str_equal(pdr_str_c(s->id), ref->id) &&
            pdr_str_equal(pdr_str_c(s->tenant), ref->tenant))
            return s;
    }
    sim_mistake(sim, "there is no session '%.*s'", (int)ref->id.len,
                ref->id.ptr);
}

struct sim_op *sim_op_find(struct sim *sim, pdr_str id)
{
    for (unsigned i = 0; i < sim->plan.ops; i++) {
        if (pdr_str_equal(pdr_str_c(sim->ops[i].id), id))
            return &sim->ops[i];
    }
    return NULL;
}

static struct sim_op *op_of(struct sim *sim, pdr_str id)
{
    struct sim_op *op = sim_op_find(sim, id);

    if (op == NULL)
        sim_mistake(sim, "nobody sent operation '%.*s'", (int)id.len, id.ptr);
    return op;
}

static bool has_text(pdr_str text, const char *part)
{
    return text.ptr != NULL &&
           memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* All rows of one kind; owned by the caller. NULL: there is no such session. */
static pdr_page *rows_read(struct sim *sim, const struct sim_session *s,
                           pdr_read_what what, uint64_t from)
{
    const pdr_query query = {
        .what = what, .ref = sim_ref(s), .from = from, .limit = 200};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(&page, sim->raw, &query, &err);

    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        sim_mistake(sim, "the store says: %s", err.message);
    if (page != NULL && page->next.ptr != NULL)
        sim_mistake(sim, "a session has more than 200 rows of a kind");
    return page;
}

/* --- before a commit ------------------------------------------------------
 */

void sim_check_before(struct sim_process *p, const pdr_edit *edit)
{
    struct sim *sim = p->sim;
    struct sim_session *s = sim_session_find(sim, &edit->ref);
    pdr_page *head = rows_read(sim, s, PDR_READ_HEAD, 0);
    const pdr_lease none = {.fence = 0};
    const pdr_lease *lease = head != NULL ? &head->head.lease : &none;

    /* K1: may the commit be made? It is looked at when it was. */
    s->is_fenced_off =
        edit->lease.fence != 0 &&
        (lease->owner.ptr == NULL || lease->fence != edit->lease.fence);
    s->is_at_rest = head != NULL && head->head.inbox == 0 &&
                    head->head.journal_first == head->head.journal_next &&
                    head->head.expiry_ms <= sim->now_ms;
    pdr_page_free(head);
}

/* --- what the commit did --------------------------------------------------
 */

static bool kind_is(const pdr_work *row, const char *kind)
{
    return pdr_str_equal(row->kind, pdr_str_c(kind));
}

static void count_claim(struct sim *sim, const pdr_edit *edit)
{
    pdr_page *journal = NULL;
    bool has_answer = false, has_result = false;

    if (edit->journal_count == 0) /* it ended with the takeover */
        return;
    if (kind_is(&edit->journal[0], PDR_WORK_OPERATION)) {
        sim_count(sim,
                  edit->settle_count > 0 ? SIM_CLAIMED_DUE : SIM_CLAIMED_SENT);
        return;
    }
    sim_count(sim, pdr_str_equal(edit->journal[0].body, PDR_LIT("{}"))
                       ? SIM_TAKEN_OVER
                       : SIM_TAKEN_BACK);
    journal =
        rows_read(sim, sim_session_find(sim, &edit->ref), PDR_READ_JOURNAL, 0);
    for (size_t i = 0; i < journal->count; i++) {
        has_answer |= kind_is(&journal->work[i], "answer");
        has_result |= kind_is(&journal->work[i], "result");
    }
    if (has_answer)
        sim_count(sim, SIM_ANSWER_REPLAYED);
    if (has_result)
        sim_count(sim, SIM_RESULT_REPLAYED);
    pdr_page_free(journal);
}

/* An operation ended: in which way? */
static void count_end(struct sim *sim, const pdr_edit *edit, pdr_str outcome)
{
    const pdr_lease_verb verb = edit->lease.verb;

    if (has_text(outcome, "\"cancelled\""))
        sim_count(sim, verb == PDR_LEASE_RELEASE ? SIM_CANCELLED_RUNNING
                       : verb == PDR_LEASE_TAKE  ? SIM_CANCELLED_CLAIM
                                                 : SIM_CANCELLED_WAITING);
    else if (has_text(outcome, "max_attempts"))
        sim_count(sim, SIM_GIVEN_UP);
    else if (verb == PDR_LEASE_KEEP)
        sim_count(sim, SIM_CLAIMED_DONE);
    if (edit->entries_through > 0)
        sim_count(sim, SIM_RESET);
    if (edit->entry_count == 2)
        sim_count(sim, SIM_EMPTY_RUN);
}

static void count_commit(struct sim *sim, const pdr_edit *edit)
{
    if (edit->lease.verb == PDR_LEASE_RENEW)
        sim_count(sim, SIM_RENEWED);
    if (edit->lease.verb == PDR_LEASE_TAKE)
        count_claim(sim, edit);
    for (size_t i = 0; i < edit->completion_count; i++) {
        if (edit->completions[i].outcome.ptr != NULL)
            count_end(sim, edit, edit->completions[i].outcome);
    }
    for (size_t i = 0; i < edit->journal_count; i++) {
        if (has_text(edit->journal[i].body, UNKNOWN))
            sim_count(sim, SIM_OUTCOME_UNKNOWN);
    }
}

static void trace_commit(struct sim *sim, const pdr_edit *edit,
                         const pdr_committed *done)
{
    static const char *const verbs[] = {"", " take", " renew", " release"};

    if (!sim->is_traced)
        return;
    sim_trace(sim,
              "commit %.*s%s fence %" PRIu64 ": -%zu +%zu inbox, +%zu%s "
              "journal, +%zu entries, %zu completions",
              (int)edit->ref.id.len, edit->ref.id.ptr, verbs[edit->lease.verb],
              done->fence, edit->settle_count, edit->inbox_count,
              edit->journal_count, edit->journal_through > 0 ? " -all" : "",
              edit->entry_count, edit->completion_count);
    for (size_t i = 0; i < edit->inbox_count; i++)
        sim_trace(sim, "  inbox %.*s of %.*s due %" PRId64,
                  (int)edit->inbox[i].kind.len, edit->inbox[i].kind.ptr,
                  (int)edit->inbox[i].correlation_id.len,
                  edit->inbox[i].correlation_id.ptr,
                  edit->inbox[i].due_ms - sim->begin_ms);
    for (size_t i = 0; i < edit->journal_count; i++)
        sim_trace(sim, "  journal %.*s of %.*s", (int)edit->journal[i].kind.len,
                  edit->journal[i].kind.ptr,
                  (int)edit->journal[i].correlation_id.len,
                  edit->journal[i].correlation_id.ptr);
    for (size_t i = 0; i < edit->completion_count; i++)
        sim_trace(sim, "  completion %.*s %.*s",
                  (int)edit->completions[i].correlation_id.len,
                  edit->completions[i].correlation_id.ptr,
                  (int)edit->completions[i].outcome.len,
                  edit->completions[i].outcome.ptr != NULL
                      ? edit->completions[i].outcome.ptr
                      : "");
}

/* --- after a commit -------------------------------------------------------
 */

/* It is gone with all that was known of it. */
static void session_forget(struct sim *sim, struct sim_session *s)
{
    bool is_expired = sim->holder->fn == pdr__keeper_work;

    if (is_expired && !s->is_at_rest)
        sim_mistake(sim, "%s expired while it was needed", s->id);
    sim_count(sim, is_expired       ? SIM_EXPIRED
                   : s->journal > 0 ? SIM_DELETED_AT_WORK
                                    : SIM_DELETED);
    s->was_deleted = true;
    s->epoch = s->journal = 0;
    s->next_seq = s->first_seq = 1;
    for (unsigned i = 0; i < sim->plan.ops; i++) {
        struct sim_op *op = &sim->ops[i];

        if (op->session != s)
            continue;
        op->is_acked = op->is_known = op->is_answered = false;
        op->outcome[0] = '\0';
        memset(op->asked, 0, sizeof(op->asked));
        memset(op->calls, 0, sizeof(op->calls));
        s->requests[i] = s->responses[i] = 0;
        s->is_gone[i] = false;
    }
}

/* K2, and what the journal itself must be. */
static void check_journal(struct sim *sim, struct sim_session *s,
                          const pdr_page *inbox, const pdr_page *journal)
{
    const pdr_lease *lease = &inbox->head.lease;
    unsigned guards = 0, started[SIM_CALLS] = {0}, ended[SIM_CALLS] = {0};

    s->journal = journal->count;
    for (size_t i = 0; i < inbox->count; i++) {
        const pdr_work *row = &inbox->work[i];

        if (!kind_is(row, PDR_WORK_GUARD))
            continue;
        guards++;
        if (journal->count > 0 &&
            !pdr_str_equal(row->correlation_id,
                           journal->work[0].correlation_id))
            sim_mistake(sim, "a guard is of another operation than the run");
        if (row->due_ms == PDR_NEVER ||
            (lease->owner.ptr != NULL && row->due_ms != lease->until_ms))
            sim_mistake(sim, "a guard does not come due with the lease");
    }
    if (guards != (journal->count > 0))
        sim_mistake(sim, "%s: %u guards, and %zu rows of a journal", s->id,
                    guards, journal->count);
    if ((inbox->head.state == PDR_SESSION_RUNNING) != (journal->count > 0))
        sim_mistake(sim, "%s: its state does not say whether it has a run",
                    s->id);
    for (size_t i = 0; i < journal->count; i++) {
        const pdr_work *row = &journal->work[i];
        bool is_call = kind_is(row, "started") || kind_is(row, "result");
        size_t n = is_call ? strtoul(row->body.ptr + 8, NULL, 10) : 0;

        if ((i == 0) != kind_is(row, PDR_WORK_OPERATION) ||
            !pdr_str_equal(row->correlation_id,
                           journal->work[0].correlation_id) ||
            n >= SIM_CALLS)
            sim_mistake(sim, "%s: the journal is of several runs", s->id);
        if (is_call &&
            (kind_is(row, "result") ? ended[n]++ || !started[n] : started[n]++))
            sim_mistake(sim,
                        "%s: call %zu is in the journal twice, or ended "
                        "before it started",
                        s->id, n);
    }
}

/* K3, for one operation. */
static void check_place(struct sim *sim, const struct sim_op *op,
                        const pdr_page *inbox, const pdr_page *journal)
{
    pdr_str id = pdr_str_c(op->id);
    unsigned waits = 0;
    bool runs = journal->count > 0 &&
                pdr_str_equal(journal->work[0].correlation_id, id);

    for (size_t i = 0; i < inbox->count; i++)
        waits += kind_is(&inbox->work[i], PDR_WORK_OPERATION) &&
                 pdr_str_equal(inbox->work[i].correlation_id, id);
    if (!op->is_known && (waits > 0 || runs || op->is_acked))
        sim_mistake(sim, "%s: %s, and there is no completion", op->id,
                    runs        ? "it runs"
                    : waits > 0 ? "it waits"
                                : "it was acknowledged");
    if (op->is_known && waits + runs != (op->outcome[0] == '\0'))
        sim_mistake(sim, "%s: it %s, waits %u times and %s", op->id,
                    op->outcome[0] == '\0' ? "has not ended" : "has ended",
                    waits, runs ? "runs" : "does not run");
    if (runs && op->due_ms > sim->now_ms)
        sim_mistake(sim, "%s runs before its time", op->id);
}

/* K4, for one operation. */
static void check_entries(struct sim *sim, const struct sim_op *op,
                          const pdr_page *journal)
{
    const struct sim_session *s = op->session;
    unsigned requests = s->requests[op->number];
    unsigned responses = s->responses[op->number];
    bool runs =
        journal->count > 0 &&
        pdr_str_equal(journal->work[0].correlation_id, pdr_str_c(op->id));
    bool is_cancelled = has_text(pdr_str_c(op->outcome), "\"cancelled\"");

    if (requests > 1 || responses > requests)
        sim_mistake(sim, "%s has %u requests and %u responses", op->id,
                    requests, responses);
    if (op->is_reset ? requests > 0
        : op->outcome[0] == '\0'
            ? responses > 0 || requests != runs
            : responses != requests || (requests == 0 && !is_cancelled))
        sim_mistake(sim, "%s %s and has %u requests and %u responses", op->id,
                    runs                     ? "runs"
                    : op->outcome[0] == '\0' ? "waits"
                                             : "ended",
                    requests, responses);
}

/* Is this event void, by one of the attempts after it? */
static bool is_void(const pdr_page *events, size_t at)
{
    for (size_t i = at + 1; i < events->count; i++) {
        const pdr_work *row = &events->work[i];
        const char *counts = NULL;

        if (!kind_is(row, "attempt") ||
            !pdr_str_equal(row->correlation_id,
                           events->work[at].correlation_id))
            continue;
        counts = memmem(row->body.ptr, row->body.len, "\"counts\":", 9);
        if (events->work[at].n > strtoull(counts + 9, NULL, 10))
            return true;
    }
    return false;
}

/* K7, of an operation that has just ended with a response. */
static void check_events(struct sim *sim, const struct sim_op *op)
{
    pdr_page *events = rows_read(sim, op->session, PDR_READ_STREAM, 0);
    bool is_done = has_text(pdr_str_c(op->outcome), "\"completed\"");
    unsigned calls = 0, results = 0, texts = 0, ends = 0, expected = 0;
    char done[32];

    snprintf(done, sizeof(done), "done %s ", op->id);
    for (const char *c = op->steps; !op->is_empty && *c != '\0'; c++)
        expected += *c != ',' && *c != '.';
    for (size_t i = 0; i < events->count; i++) {
        const pdr_work *row = &events->work[i];

        if (!pdr_str_equal(row->correlation_id, pdr_str_c(op->id)) ||
            is_void(events, i))
            continue;
        if (ends > 0)
            sim_mistake(sim, "%s: something is said after its end", op->id);
        calls += kind_is(row, "tool_call");
        results += kind_is(row, "tool_result");
        texts += kind_is(row, "message") && has_text(row->body, done);
        ends += kind_is(row, is_done ? "done" : "error");
    }
    if (ends != 1 || (is_done && (calls != expected || results != expected ||
                                  texts != !op->is_empty)))
        sim_mistake(sim,
                    "%s: its events have %u calls, %u results of %u, %u "
                    "texts and %u ends",
                    op->id, calls, results, expected, texts, ends);
    pdr_page_free(events);
}

/* Where nothing goes wrong nobody has to wait for a poll or a lease. */
static void check_pace(struct sim *sim, const struct sim_op *op)
{
    int64_t since_ms = op->known_ms > op->due_ms ? op->known_ms : op->due_ms;

    if (sim->plan.is_calm && sim->plan.slots == 1 &&
        sim->now_ms - since_ms > PACE_MS)
        sim_mistake(sim, "%s took %d ms", op->id,
                    (int)(sim->now_ms - since_ms));
}

/* Take over what the store has of completions. */
static void completions_take(struct sim *sim, struct sim_session *s,
                             struct sim_process *p)
{
    pdr_page *page = rows_read(sim, s, PDR_READ_COMPLETIONS, 0);

    for (size_t i = 0; i < page->count; i++) {
        const pdr_completion *row = &page->completions[i];
        struct sim_op *op = op_of(sim, row->correlation_id);

        if (!op->is_known)
            op->known_ms = sim->now_ms;
        op->is_known = true;
        if (op->outcome[0] != '\0' &&
            !pdr_str_equal(pdr_str_c(op->outcome), row->outcome))
            sim_mistake(sim, "%s ended in another way than before", op->id);
        if (row->outcome.ptr == NULL || op->outcome[0] != '\0')
            continue;
        snprintf(op->outcome, sizeof(op->outcome), "%.*s",
                 (int)row->outcome.len, row->outcome.ptr);
        op->ended_ms = sim->fault_ms = sim->now_ms; /* it gets on */
        op->ended_by = p;
        check_pace(sim, op);
    }
    pdr_page_free(page);
}

/* The same of entries (K5). */
static void entries_take(struct sim *sim, struct sim_session *s,
                         const pdr_edit *edit)
{
    pdr_page *page = rows_read(sim, s, PDR_READ_ENTRIES, s->next_seq);
    const pdr_head *head = &page->head;

    if (head->first_seq != s->first_seq &&
        head->first_seq != edit->entries_through + 1)
        sim_mistake(sim, "%s: entries are gone", s->id);
    for (unsigned i = 0; head->first_seq != s->first_seq && i < sim->plan.ops;
         i++)
        s->is_gone[i] |= s->requests[i] > 0;
    if (head->next_seq != s->next_seq + page->count)
        sim_mistake(sim,
                    "%s: %zu entries were added, and next is %" PRIu64
                    " after %" PRIu64,
                    s->id, page->count, head->next_seq, s->next_seq);
    s->first_seq = head->first_seq;
    s->next_seq = head->next_seq;
    for (size_t i = 0; i < page->count; i++) {
        const pdr_entry *row = &page->entries[i];
        struct sim_op *op = op_of(sim, row->correlation_id);

        if (op->session != s)
            sim_mistake(sim, "%s is in another session", op->id);
        if (row->kind == PDR_ROW_REQUEST)
            s->requests[op->number]++;
        else
            s->responses[op->number]++;
    }
    pdr_page_free(page);
}

void sim_check_after(struct sim_process *p, const pdr_edit *edit,
                     const pdr_committed *done)
{
    struct sim *sim = p->sim;
    struct sim_session *s = sim_session_find(sim, &edit->ref);
    pdr_page *inbox = NULL, *journal = NULL;
    unsigned responses[SIM_OPS];

    memcpy(responses, s->responses, sizeof(responses));
    trace_commit(sim, edit, done);
    if (s->is_fenced_off)
        sim_mistake(sim,
                    "%s: a commit with fence %" PRIu64
                    " was made, which is not that of its lease",
                    s->id, edit->lease.fence);
    if (edit->remove) {
        session_forget(sim, s);
        return;
    }
    inbox = rows_read(sim, s, PDR_READ_INBOX, 0);
    journal = rows_read(sim, s, PDR_READ_JOURNAL, 0);
    if (s->epoch != 0 && inbox->head.epoch != s->epoch)
        sim_mistake(sim, "%s is another session now", s->id);
    s->epoch = inbox->head.epoch;
    if (edit->lease.verb == PDR_LEASE_TAKE) { /* K1 */
        if (inbox->head.lease.fence <= sim->fence)
            sim_mistake(sim, "%s: a fence did not grow", s->id);
        sim->fence = inbox->head.lease.fence;
    }
    count_commit(sim, edit);
    completions_take(sim, s, p);
    entries_take(sim, s, edit);
    check_journal(sim, s, inbox, journal);
    for (unsigned i = 0; i < sim->plan.ops; i++) {
        if (sim->ops[i].session == s) {
            check_place(sim, &sim->ops[i], inbox, journal);
            check_entries(sim, &sim->ops[i], journal);
            if (s->responses[i] > responses[i])
                check_events(sim, &sim->ops[i]);
        }
    }
    pdr_page_free(inbox);
    pdr_page_free(journal);
}

/* --- model and tools ------------------------------------------------------
 */

/* The journal, if this process has the lease and the run is of `op`; owned by
 * the caller. NULL: a worker is late that does not know it yet. */
static pdr_page *own_journal(struct sim_process *p, const struct sim_op *op)
{
    pdr_page *journal = rows_read(p->sim, op->session, PDR_READ_JOURNAL, 0);

    if (journal != NULL && journal->count > 0 &&
        pdr_str_equal(journal->head.lease.owner, pdr_str_c(p->owner)) &&
        pdr_str_equal(journal->work[0].correlation_id, pdr_str_c(op->id)))
        return journal;
    pdr_page_free(journal);
    return NULL;
}

void sim_check_asked(struct sim_process *p, struct sim_op *op, size_t step,
                     uint64_t hash)
{
    struct sim *sim = p->sim;
    pdr_page *journal = own_journal(p, op);
    size_t answers = 0;

    sim_trace(sim, "the model is asked for answer %zu of %s", step, op->id);
    if (journal == NULL)
        return;
    for (size_t i = 0; i < journal->count; i++)
        answers += kind_is(&journal->work[i], "answer");
    if (step > SIM_STEPS || answers != step)
        sim_mistake(sim,
                    "%s: the model is asked for answer %zu, the journal "
                    "has %zu",
                    op->id, step, answers);
    if (op->asked[step] != 0 && op->asked[step] != hash)
        sim_mistake(sim,
                    "%s: the model is asked something else than before "
                    "for answer %zu",
                    op->id, step);
    op->asked[step] = hash;
    pdr_page_free(journal);
}

void sim_check_called(struct sim_process *p, struct sim_op *op, size_t call,
                      bool is_repeatable, pdr_str token)
{
    struct sim *sim = p->sim;
    pdr_page *journal = own_journal(p, op);
    bool is_started = false, has_result = false;
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "%s/%s/c%zu", op->session->id, op->id,
             call);
    if (!pdr_str_equal(pdr_str_c(wanted), token))
        sim_mistake(sim, "a call has the token '%.*s', not '%s'",
                    (int)token.len, token.ptr, wanted);
    if (op->calls[call].began > 0 && !is_repeatable &&
        !op->session->was_deleted)
        sim_mistake(sim, "%s: book is called twice for c%zu", op->id, call);
    if (op->calls[call].began > 0)
        sim_count(sim, SIM_LOOK_REPEATED);
    if (journal == NULL) {
        sim_count(sim, SIM_LATE_CALL);
        return;
    }
    for (size_t i = 0; i < journal->count; i++) {
        const pdr_work *row = &journal->work[i];

        if (!kind_is(row, "started") && !kind_is(row, "result"))
            continue;
        if (strtoul(row->body.ptr + 8, NULL, 10) != call)
            continue;
        is_started = true;
        has_result |= kind_is(row, "result");
    }
    if (!is_started || has_result)
        sim_mistake(sim, "%s: c%zu is called, and the journal %s", op->id, call,
                    has_result ? "has its result" : "does not know of it");
    pdr_page_free(journal);
}

/* --- how it ended ---------------------------------------------------------
 */

void sim_check_ending(struct sim *sim, struct sim_op *op,
                      const pdr_ending *ending)
{
    bool is_gone = op->session->is_gone[op->number];
    char done[32];

    if (op->session->was_deleted)
        return;
    snprintf(done, sizeof(done), "done %s ", op->id);
    if (op->outcome[0] == '\0' ||
        !pdr_str_equal(pdr_str_c(op->outcome), ending->outcome))
        sim_mistake(sim, "%s: a caller is told %.*s, the store has %s", op->id,
                    (int)ending->outcome.len, ending->outcome.ptr, op->outcome);
    if (op->is_answered && ending->state != op->state)
        sim_mistake(sim, "%s: two callers are told different things", op->id);
    if (ending->state == PDR_OPERATION_CANCELLED && !op->is_cancelled)
        sim_mistake(sim, "%s: nobody has cancelled it", op->id);
    if (ending->state == PDR_OPERATION_FAILED &&
        !has_text(ending->outcome, "max_attempts") &&
        !has_text(ending->outcome, "model_failed"))
        sim_mistake(sim, "%s failed: %s", op->id, op->outcome);
    if (ending->is_gone && !is_gone)
        sim_mistake(sim, "%s: its answer is gone", op->id);
    if (ending->state == PDR_OPERATION_COMPLETED && !op->is_reset &&
        !ending->is_gone && !has_text(ending->answer, done) && !op->is_empty)
        sim_mistake(sim, "%s: the answer is %.*s", op->id,
                    (int)ending->answer.len, ending->answer.ptr);
    if (ending->is_gone)
        sim_count(sim, SIM_ANSWER_GONE);
    op->is_answered = true;
    op->state = ending->state;
}

/* --- the end --------------------------------------------------------------
 */

/* Does the response have what the tools did? */
static void check_response(struct sim *sim, const struct sim_op *op,
                           pdr_str body)
{
    size_t number = 0;

    for (const char *letter = op->steps; *letter != '\0' && !op->is_empty;
         letter++) {
        const struct sim_call *call = &op->calls[number];
        char done[32];

        if (*letter == ',' || *letter == '.')
            continue;
        snprintf(done, sizeof(done), "%s %s/c%zu #",
                 *letter == 'b' ? "book" : "look", op->id, number);
        if (*letter == 'b' && has_text(body, done) &&
            (call->began != 1 || call->ended != 1))
            sim_mistake(sim, "%s: the history has a call that was not made",
                        op->id);
        if (*letter == 'b' && !has_text(body, done) && !has_text(body, UNKNOWN))
            sim_mistake(sim, "%s: c%zu has no result", op->id, number);
        if (*letter == 'l' && (!has_text(body, done) || call->ended == 0))
            sim_mistake(sim, "%s: c%zu has no result", op->id, number);
        if (*letter == 'f' && !has_text(body, "Error: Function failed"))
            sim_mistake(sim, "%s: c%zu has not failed", op->id, number);
        number++;
    }
}

static void check_session_end(struct sim *sim, struct sim_session *s)
{
    pdr_page *page = rows_read(sim, s, PDR_READ_ENTRIES, 0);
    const pdr_head *head = NULL;

    if (page == NULL)
        return; /* it was deleted, or nobody sent anything */
    head = &page->head;
    if (head->inbox > 0 || head->journal_first != head->journal_next ||
        (head->lease.owner.ptr != NULL && head->lease.until_ms > sim->now_ms) ||
        head->state != PDR_SESSION_IDLE)
        sim_mistake(sim,
                    "%s: %" PRIu64 " rows wait, %" PRIu64
                    " are in the journal, in the end",
                    s->id, head->inbox,
                    head->journal_next - head->journal_first);
    for (size_t i = 0; i < page->count && !s->was_deleted; i++) {
        const pdr_entry *row = &page->entries[i];
        struct sim_op *op = op_of(sim, row->correlation_id);

        if (row->kind == PDR_ROW_RESPONSE &&
            has_text(pdr_str_c(op->outcome), "\"completed\""))
            check_response(sim, op, row->body);
    }
    pdr_page_free(page);
}

void sim_check_end(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.sessions; i++)
        check_session_end(sim, &sim->sessions[i]);
    for (unsigned i = 0; i < sim->plan.ops; i++) {
        if (sim->ops[i].is_acked && sim->ops[i].outcome[0] == '\0')
            sim_mistake(sim, "%s was acknowledged and has not ended",
                        sim->ops[i].id);
    }
}
