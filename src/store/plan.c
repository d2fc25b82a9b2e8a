/*
 * plan.c - what a commit means, for every backend.
 *
 * WHY  Stores differ in where they keep rows, not in who may write them. All
 *      decisions stand here and in plan_*.c, on values, without I/O: a backend
 *      hands in the head that it found and gets the head that it has to write,
 *      or the refusal.
 *
 *          BEGIN ──► unseen ──► ADD … ──► SHOW ──► stands under its ref
 *                      │                   └──► who stood there is gone:
 *                      ├ ABANDON: sweep         at once, or unseen ─► sweep
 *                      └ its time is over: sweep
 *
 * INVARIANTS  I1..I7 in plan.h.
 *
 * NOT HERE  Who may write (plan_admit.c), completions (plan_completion.c),
 *           what is different for a copy of a session of another store
 *           (plan_copy.c), digests (seal.c), what needs no head (check.c).
 */
#include <inttypes.h>

#include "plan.h"

/* --- refusals ------------------------------------------------------------ */

pdr_rc pdr_plan_not_in_inbox(const pdr_plan *plan, uint64_t n, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NOT_IN_INBOX,
                    "session '%s': inbox row %" PRIu64
                    " is not there; somebody else settled it",
                    pdr__shown(shown, plan->ref.id), n);
}

/* --- what it does -------------------------------------------------------- */

bool pdr__edit_moves(const pdr_edit *edit)
{
    return edit->set_state || edit->expiry != PDR_EXPIRY_KEEP ||
           edit->set_ttl || edit->frame.ptr != NULL ||
           edit->entries_through > 0 || edit->entry_count > 0 ||
           edit->slot_count > 0 || edit->property_count > 0;
}

/* --- the head ------------------------------------------------------------ */

static pdr_rc new_head(pdr_plan *plan, const pdr_write *write, uint64_t *number,
                       struct pdr__seal *seal, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    pdr_head *head = &plan->now;
    pdr_rc rc = PDR_OK;

    memset(head, 0, sizeof(*head));
    head->ref = plan->ref;
    head->agent = edit->agent;
    if (edit->agent.ptr == NULL && plan->origin == NULL)
        head->agent = pdr__durable_agent(plan->ref.id);
    head->kind = edit->kind.ptr != NULL ? edit->kind : PDR_LIT("unstated");
    head->schema_version = edit->schema_version;
    head->epoch = ++*number;
    head->created_ms = head->changed_ms = write->now_ms;
    head->expiry_ms = PDR_NEVER;
    head->first_seq = head->next_seq = 1;
    head->journal_first = head->journal_next = 1;
    head->stream_first = head->stream_next = 1;
    head->inbox_next = 1;
    rc = pdr__seal_anchor(head->anchor, seal, write->store, &head->ref,
                          head->epoch, err);
    memcpy(head->chain, head->anchor, sizeof(head->chain));
    return rc;
}

static pdr_rc move_lease(pdr_plan *plan, const pdr_write *write,
                         uint64_t *number, pdr_err *err)
{
    const pdr_lease_edit *asked = &plan->edit->lease;
    pdr_lease *lease = &plan->next.lease;
    char id[PDR_SHOWN], owner[PDR_SHOWN];

    switch (asked->verb) {
    case PDR_LEASE_KEEP:
        return PDR_OK;
    case PDR_LEASE_TAKE:
        if (lease->owner.ptr != NULL && lease->until_ms > write->now_ms)
            return PDR_FAIL(
                err, LEASE_HELD,
                "session '%s': '%s' holds the lease for another %" PRIu64 " ms",
                pdr__shown(id, plan->ref.id), pdr__shown(owner, lease->owner),
                (uint64_t)lease->until_ms - (uint64_t)write->now_ms);
        lease->owner = asked->owner;
        lease->fence = ++*number; /* I3 */
        lease->until_ms = asked->until_ms;
        return PDR_OK;
    case PDR_LEASE_RENEW:
        lease->until_ms = asked->until_ms;
        return PDR_OK;
    case PDR_LEASE_RELEASE:
        lease->owner = pdr_str_n(NULL, 0);
        lease->until_ms = 0;
        return PDR_OK;
    }
    return PDR_FAIL(err, BAD_EDIT, "%d is no verb for a lease", asked->verb);
}

/* A list [first, next) after rows up to `through` are gone and `count` came. */
static void move_list(uint64_t *first, uint64_t *next, uint64_t through,
                      size_t count)
{
    if (through >= *first)
        *first = through < *next ? through + 1 : *next;
    *next += count;
}

static bool can_sweep(const pdr_write *write)
{
    const pdr_store_ops *ops = write->store->ops;

    return ops != NULL && ops->sweep != NULL;
}

/* The session `head` goes: at once, or, if it has more rows than a commit
 * removes while all others wait, in steps. Who cannot sweep removes any number.
 * Few rows may be large ones: so a backend may find out later that steps are
 * better. */
static void let_go(pdr_plan *plan, const pdr_write *write, const pdr_head *head)
{
    uint64_t rows = head->next_seq - head->first_seq;

    rows += head->completions + head->slots + head->properties + head->inbox;
    rows += head->journal_next - head->journal_first;
    rows += head->stream_next - head->stream_first;
    plan->hides = can_sweep(write) && rows > PDR_REMOVE_ROWS;
    plan->gone = *head; /* as it stands among the unseen ones */
    plan->gone.state = PDR_SESSION_UNSEEN;
    plan->gone.lease.owner = pdr_str_n(NULL, 0);
    plan->gone.lease.until_ms = PDR_GONE_MS; /* I6 */
}

static void move_head(pdr_plan *plan, const pdr_write *write)
{
    const pdr_edit *edit = plan->edit;
    pdr_head *next = &plan->next;

    next->commits++;
    if (plan->creates || pdr__edit_moves(edit)) {
        next->revision++;
        next->changed_ms = write->now_ms;
    }
    if (edit->set_state)
        next->state = edit->state;
    if (edit->expiry != PDR_EXPIRY_KEEP)
        next->expiry_ms =
            edit->expiry == PDR_EXPIRY_SET ? edit->expiry_ms : PDR_NEVER;
    if (edit->set_ttl)
        next->has_ttl = true;
    if (edit->frame.ptr != NULL)
        next->has_frame = true;
    if (edit->frame.ptr != NULL && edit->schema_version.ptr != NULL &&
        plan->stage == PDR_STAGE_NONE) /* a stage has that of its beginning */
        next->schema_version = edit->schema_version;
    next->next_seq += edit->entry_count;
    move_list(&next->journal_first, &next->journal_next, edit->journal_through,
              edit->journal_count);
    move_list(&next->stream_first, &next->stream_next, edit->stream_through,
              edit->stream_count);
    next->inbox += edit->inbox_count;
    next->inbox_next += edit->inbox_count;
    if (plan->unseen) { /* I6 */
        next->state = PDR_SESSION_UNSEEN;
        next->lease.until_ms =
            plan->stage == PDR_STAGE_ABANDON ? PDR_GONE_MS : plan->until_ms;
    }
}

/* --- rows ---------------------------------------------------------------- */

/* The digests of rows that have a number. */
static pdr_rc seal_rows(pdr_plan *plan, const pdr_write *write, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    const pdr_head *now = &plan->now;
    const struct {
        pdr_digest *out;
        const pdr_work *rows;
        size_t count;
        uint64_t first;
    } parts[] = {
        [PDR_PART_JOURNAL] = {plan->journal, edit->journal, edit->journal_count,
                              now->journal_next},
        [PDR_PART_STREAM] = {plan->stream, edit->stream, edit->stream_count,
                             now->stream_next},
        [PDR_PART_INBOX] = {plan->inbox, edit->inbox, edit->inbox_count,
                            now->inbox_next},
    };
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < edit->entry_count; i++) {
        PDR_TRY(pdr__seal_link(plan->entries[i], write->seal, write->store,
                               plan->next.chain, plan->seals->entries[i],
                               plan->next.epoch, now->next_seq + i, err));
        memcpy(plan->next.chain, plan->entries[i], PDR_DIGEST_BYTES);
    }
    for (size_t part = 0; part < PDR_COUNT(parts); part++) {
        for (size_t i = 0; i < parts[part].count; i++) {
            pdr_work row = parts[part].rows[i];

            if (part != PDR_PART_INBOX)
                row.due_ms = PDR_NEVER; /* what is kept of it */
            PDR_TRY(pdr__seal_work(parts[part].out[i], write->seal,
                                   write->store, &plan->ref, (pdr_part)part,
                                   parts[part].first + i, &row, err));
        }
    }
done:
    return rc;
}

static void fill_committed(pdr_plan *plan)
{
    pdr_committed *told = &plan->committed;

    memset(told, 0, sizeof(*told));
    if (plan->removes)
        return;
    told->revision = plan->next.revision;
    told->epoch = plan->next.epoch;
    told->first_seq = plan->now.next_seq;
    told->journal_n = plan->next.journal_next - plan->edit->journal_count;
    told->stream_n = plan->next.stream_next - plan->edit->stream_count;
    told->inbox_n = plan->next.inbox_next - plan->edit->inbox_count;
    told->inbox = plan->next.inbox;
    if (plan->next.lease.owner.ptr != NULL)
        told->fence = plan->next.lease.fence;
    told->head = plan->next;
    told->head.ref = (pdr_ref){.id = {NULL, 0}}; /* the edit's, or the head's */
    told->head.agent = told->head.kind = told->head.schema_version =
        told->head.lease.owner = pdr_str_n(NULL, 0);
}

/* --- the plan ------------------------------------------------------------ */

/* Which of the ways it is. A plan may begin again (I5). */
static void choose_way(pdr_plan *plan, const pdr_write *write,
                       const pdr_head *head)
{
    const pdr_edit *edit = plan->edit;

    plan->creates = head == NULL;
    plan->removes = edit->remove;
    plan->shows = plan->stage == PDR_STAGE_SHOW;
    plan->unseen = plan->stage != PDR_STAGE_NONE && !plan->shows;
    plan->replaces = plan->inherits = plan->hides = false;
    plan->cuts = head != NULL && edit->entries_through >= head->first_seq;
    plan->changes_head =
        plan->creates || plan->stage != PDR_STAGE_NONE ||
        pdr__edit_moves(edit) || edit->lease.verb != PDR_LEASE_KEEP ||
        edit->completion_count > 0 || edit->drop_count > 0 ||
        edit->journal_through > 0 || edit->stream_through > 0 ||
        edit->settle_count > 0 || edit->journal_count > 0 ||
        edit->stream_count > 0 || edit->inbox_count > 0;
    if (plan->removes && head != NULL)
        let_go(plan, write, head);
}

/* Stores keep counters as signed numbers of 64 bits: one beyond these could not
 * be read again. Nobody counts that far, but a file can be made so. */
static pdr_rc check_counters(const pdr_plan *plan, uint64_t number,
                             pdr_err *err)
{
    const pdr_head *next = &plan->next;
    const uint64_t counters[] = {
        number,           next->revision,     next->commits,
        next->next_seq,   next->journal_next, next->stream_next,
        next->inbox_next, next->lease.fence};
    char shown[PDR_SHOWN];

    for (size_t i = 0; i < PDR_COUNT(counters); i++) {
        if (counters[i] > INT64_MAX)
            return PDR_FAIL(err, COUNTER_LIMIT,
                            "session '%s': a counter is at its end; export the "
                            "session and import it into a new store",
                            pdr__shown(shown, plan->ref.id));
    }
    return PDR_OK;
}

/* Is there room for what the edit adds? All that it settles is there, or it is
 * refused later: so this is known before the first row is written, and a sender
 * that is turned away costs the other commits of its group nothing. */
static pdr_rc check_inbox(const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    uint64_t settled = edit->settle_count, rows = plan->next.inbox;
    char shown[PDR_SHOWN];

    if (edit->inbox_most == 0 || edit->inbox_count == 0 ||
        rows <= edit->inbox_most + settled)
        return PDR_OK;
    return PDR_FAIL(err, INBOX_FULL,
                    "session '%s': its inbox may have %" PRIu32
                    " rows, and this would be %" PRIu64 "; send again later",
                    pdr__shown(shown, plan->ref.id), edit->inbox_most,
                    rows - settled);
}

pdr_rc pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                      const pdr_head *head, uint64_t *number, pdr_err *err)
{
    const pdr_edit *edit = NULL;
    uint64_t counter = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL && number != NULL);
    PDR_REQUIRE(head == NULL || plan->stage != PDR_STAGE_BEGIN);
    edit = plan->edit;
    counter = *number; /* a refusal gives no number away */
    choose_way(plan, write, head);
    PDR_TRY(pdr__plan_admit(plan, head, err));
    if (plan->creates)
        PDR_TRY(new_head(plan, write, &counter, write->seal, err));
    else
        plan->now = *head;
    if (plan->origin != NULL)
        pdr__plan_begin_copy(&plan->now, plan->origin);
    plan->next = plan->now;
    /* who settles a number that was not given yet would take the rows that the
     * same edit adds */
    for (size_t i = 0; i < edit->settle_count; i++) {
        if (edit->settle[i] >= plan->now.inbox_next)
            return pdr_plan_not_in_inbox(plan, edit->settle[i], err);
    }
    PDR_TRY(move_lease(plan, write, &counter, err));
    PDR_TRY(seal_rows(plan, write, err));
    if (plan->changes_head)
        move_head(plan, write);
    PDR_TRY(check_counters(plan, counter, err));
    PDR_TRY(check_inbox(plan, err));
    *number = counter;
done:
    return rc;
}

/* The staged session takes the place of `head`. Unless it is a copy it goes on
 * where that stood: who reads on with a number that it had (a revision, an
 * event id, an inbox row) is not led astray (I3). */
static void replace_session(pdr_plan *plan, const pdr_write *write,
                            const pdr_head *head)
{
    pdr_head *next = &plan->next;

    plan->replaces = true;
    plan->replaced = *head;
    let_go(plan, write, head);
    next->commits = head->commits;
    next->lease.fence = head->lease.fence;
    if (plan->origin != NULL)
        return;
    plan->inherits = true;
    plan->gone.inbox = 0; /* they go over */
    next->revision = head->revision;
    next->journal_first = next->journal_next = head->journal_next;
    next->stream_first = next->stream_next = head->stream_next;
    next->inbox = head->inbox;
    next->inbox_next = head->inbox_next;
    if (plan->edit->expiry == PDR_EXPIRY_KEEP) {
        next->expiry_ms = head->expiry_ms;
        next->has_ttl = head->has_ttl;
    }
}

pdr_rc pdr_plan_show(pdr_plan *plan, const pdr_write *write,
                     const pdr_head *head, pdr_err *err)
{
    pdr_head *next = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL && plan->shows);
    PDR_TRY(pdr__plan_admit_work(plan, err));
    PDR_TRY(pdr__plan_admit_show(plan, head, err));
    if (head != NULL && plan->origin != NULL)
        PDR_TRY(pdr__plan_admit_copy(plan, head, err));
    next = &plan->next;
    next->lease = (pdr_lease){{NULL, 0}, 0, 0};
    next->revision = next->commits = 0; /* of how it was staged: nobody saw */
    if (head != NULL)
        replace_session(plan, write, head);
    next->revision++;
    next->commits++;
    next->changed_ms = write->now_ms;
    if (!plan->edit->set_state)
        next->state = PDR_SESSION_IDLE; /* I6 */
    PDR_TRY(check_counters(plan, 0, err));
done:
    return rc;
}

void pdr_plan_cut(pdr_plan *plan, const pdr_digest digest)
{
    uint64_t first = plan->edit->entries_through + 1;

    assert(plan->cuts);
    plan->next.first_seq = first;
    memcpy(plan->next.anchor,
           first == plan->now.next_seq ? plan->now.chain : digest,
           PDR_DIGEST_BYTES);
}

pdr_rc pdr__plan_move_count(uint64_t *count, int64_t moved,
                            const pdr_plan *plan, const char *rows,
                            pdr_err *err)
{
    uint64_t removed = moved < 0 ? 0 - (uint64_t)moved : 0;
    char shown[PDR_SHOWN];

    if (removed > *count)
        return PDR_FAIL(err, WRONG_COUNT,
                        "session '%s': its head counts %" PRIu64
                        " %s, and %" PRIu64 " of them were removed; verify the "
                        "store and restore a backup",
                        pdr__shown(shown, plan->ref.id), *count, rows, removed);
    *count += (uint64_t)moved;
    return PDR_OK;
}

pdr_rc pdr_plan_finish(pdr_plan *plan, const pdr_write *write, int64_t slots,
                       int64_t properties, pdr_err *err)
{
    pdr_head *next = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL);
    next = &plan->next;
    PDR_TRY(pdr__plan_move_count(&next->slots, slots, plan, "slots", err));
    PDR_TRY(pdr__plan_move_count(&next->properties, properties, plan,
                                 "properties", err));
    PDR_TRY(pdr__plan_move_count(&next->inbox,
                                 -(int64_t)plan->edit->settle_count, plan,
                                 "inbox rows", err));
    if (slots > 0 && next->slots > PDR_MAX_SLOTS)
        return PDR_FAIL(err, TOO_MANY_SLOTS,
                        "a session has at most %u slots, this would be "
                        "%" PRIu64,
                        PDR_MAX_SLOTS, next->slots);
    if (properties > 0 && next->properties > PDR_MAX_PROPERTIES)
        return PDR_FAIL(err, TOO_MANY_PROPERTIES,
                        "a session has at most %u properties, this would be "
                        "%" PRIu64,
                        PDR_MAX_PROPERTIES, next->properties);
    if (plan->origin != NULL && !plan->unseen)
        PDR_TRY(pdr__plan_finish_copy(plan, err));
    if (!plan->removes)
        PDR_TRY(
            pdr__seal_head(next->digest, write->seal, write->store, next, err));
    if ((plan->removes || plan->replaces) && can_sweep(write))
        PDR_TRY(pdr__seal_head(plan->gone.digest, write->seal, write->store,
                               &plan->gone, err));
    fill_committed(plan);
done:
    return rc;
}

/* --- checks for backends ------------------------------------------------- */

pdr_rc pdr__head_check(struct pdr__seal *seal, const pdr_store *store,
                       const pdr_head *head, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_digest wanted;
    pdr_rc rc = pdr__seal_head(wanted, seal, store, head, err);

    if (rc == PDR_OK && memcmp(wanted, head->digest, sizeof(wanted)) != 0)
        rc = PDR_FAIL(err, BAD_DIGEST,
                      "session '%s': its head does not fit its digest; verify "
                      "the store and restore a backup",
                      pdr__shown(shown, head->ref.id));
    return rc;
}

pdr_rc pdr_head_check(pdr_store *store, const pdr_head *head, pdr_err *err)
{
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_rc rc = pdr__head_check(&seal, store, head, err);

    pdr__seal_dispose(&seal);
    return rc;
}
