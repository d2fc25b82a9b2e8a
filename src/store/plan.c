/*
 * plan.c - what a commit means, for every backend.
 *
 * WHY  Stores differ in where they keep rows, not in who may write them. All
 *      decisions stand here, on values, without I/O: a backend hands in the
 *      head that it found and gets the head that it has to write, or the
 *      refusal.
 *
 *          BEGIN ──► unseen ──► ADD … ──► SHOW ──► stands under its ref
 *                      │                   └──► who stood there is gone:
 *                      └ given up: sweep        at once, or unseen ─► sweep
 *
 * INVARIANTS, cited below as I1..I7
 *   I1  A writer that names a fence is let in only while that fence holds the
 *       lease. Time plays no part in it: a lapsed lease that nobody took still
 *       holds, and one that was taken never comes back.
 *   I2  A writer that changes what the session is names the revision that it
 *       read, and is let in only at that revision.
 *   I3  Numbers (seq, n, epoch, fence) only grow; those of rows have no gaps.
 *   I4  An outcome never changes. Entries that come later (a document that is
 *       imported again has them) extend the row and leave the outcome.
 *   I5  Nothing is decided twice in two ways: running a plan again on the same
 *       head gives the same rows, so that a group can be run again.
 *   I6  What no reader sees has the state PDR_SESSION_UNSEEN, and nothing else
 *       has. Its lease has no owner and says until when it is kept; what is
 *       kept until GONE_MS is being cleared and takes no rows any more.
 *   I7  A copy that nobody touched since says so: its lease has no owner and
 *       counts the commits, in place of a time. Each commit moves that count,
 *       so the mark ends with the first one, and no commit has to end it.
 */
#include <inttypes.h>

#include "store.h"

/* A time that is always over. */
#define GONE_MS INT64_MIN

/* What the lease of a copy counts its commits from (I7): no clock tells such a
 * time. */
#define COPIED_MS (INT64_MIN / 2)

/* --- refusals -------------------------------------------------------------
 */

static pdr_rc no_session(const pdr_plan *plan, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NO_SESSION,
                    "session '%s' is not in the store; to make it, commit with "
                    "revision 0",
                    pdr__shown(shown, plan->ref.id));
}

static pdr_rc lease_lost(const pdr_plan *plan, const pdr_head *head,
                         pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (head == NULL || head->lease.owner.ptr == NULL)
        return PDR_FAIL(err, LEASE_LOST,
                        "session '%s': nobody holds its lease, the writer has "
                        "fence %" PRIu64 "; take the lease again",
                        pdr__shown(shown, plan->ref.id), plan->edit->fence);
    return PDR_FAIL(err, LEASE_LOST,
                    "session '%s': the lease went on to fence %" PRIu64
                    ", the writer has %" PRIu64 "; take the lease again",
                    pdr__shown(shown, plan->ref.id), head->lease.fence,
                    plan->edit->fence);
}

static pdr_rc lease_held(const pdr_plan *plan, const pdr_lease *lease,
                         int64_t now_ms, pdr_err *err)
{
    char id[PDR_SHOWN], owner[PDR_SHOWN];

    return PDR_FAIL(
        err, LEASE_HELD,
        "session '%s': '%s' holds the lease for another %" PRIu64 " ms",
        pdr__shown(id, plan->ref.id), pdr__shown(owner, lease->owner),
        (uint64_t)lease->until_ms - (uint64_t)now_ms);
}

static pdr_rc no_stage(const pdr_plan *plan, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NO_STAGE,
                    "session '%s': nothing is staged under epoch %" PRIu64
                    "; it was shown, or cleared when its time was over: stage "
                    "it again",
                    pdr__shown(shown, plan->ref.id), plan->edit->epoch);
}

static pdr_rc ahead_of_origin(const pdr_plan *plan, const pdr_head *head,
                              pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, AHEAD_OF_ORIGIN,
                    "session '%s' is at revision %" PRIu64
                    " here and %s, so its origin, at %" PRIu64
                    ", does not go on from that; delete it here first if the "
                    "origin is the one to keep",
                    pdr__shown(shown, plan->ref.id), head->revision,
                    pdr__head_is_copy(head) ? "newer"
                                            : "no copy that nobody touched",
                    plan->edit->origin->revision);
}

pdr_rc pdr_plan_not_in_inbox(const pdr_plan *plan, uint64_t n, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NOT_IN_INBOX,
                    "session '%s': inbox row %" PRIu64
                    " is not there; somebody else settled it",
                    pdr__shown(shown, plan->ref.id), n);
}

/* --- who may write ------------------------------------------------------- */

bool pdr__edit_moves(const pdr_edit *edit)
{
    return edit->set_state || edit->expiry != PDR_EXPIRY_KEEP ||
           edit->frame.ptr != NULL || edit->entries_through > 0 ||
           edit->entry_count > 0 || edit->slot_count > 0 ||
           edit->property_count > 0;
}

/* Does it do anything at all? */
static bool touches(const pdr_edit *edit)
{
    return pdr__edit_moves(edit) || edit->stage != PDR_STAGE_NONE ||
           edit->lease != PDR_LEASE_KEEP || edit->completion_count > 0 ||
           edit->drop_count > 0 || edit->journal_through > 0 ||
           edit->stream_through > 0 || edit->settle_count > 0 ||
           edit->journal_count > 0 || edit->stream_count > 0 ||
           edit->inbox_count > 0;
}

static pdr_rc admit_new(const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;

    if (edit->fence != 0)
        return lease_lost(plan, NULL, err);
    if (edit->revision == 0 ||
        (edit->revision == PDR_ANY_REVISION && edit->or_create))
        return PDR_OK;
    return no_session(plan, err);
}

/* Is it the session that the writer read, and may the writer still write? */
static pdr_rc admit_known(const pdr_plan *plan, const pdr_head *head,
                          pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    char shown[PDR_SHOWN];

    if (edit->revision == 0)
        return PDR_FAIL(err, SESSION_EXISTS,
                        "session '%s' is in the store already, at revision "
                        "%" PRIu64,
                        pdr__shown(shown, plan->ref.id), head->revision);
    if (edit->fence != 0 && (head->lease.owner.ptr == NULL ||
                             head->lease.fence != edit->fence)) /* I1 */
        return lease_lost(plan, head, err);
    if (edit->stage != PDR_STAGE_SHOW && edit->epoch != 0 &&
        edit->epoch != head->epoch)
        return PDR_FAIL(
            err, EPOCH_CHANGED,
            "session '%s': it was replaced since the writer read "
            "it (epoch %" PRIu64 ", now %" PRIu64 "); read it again",
            pdr__shown(shown, plan->ref.id), edit->epoch, head->epoch);
    if (edit->revision != PDR_ANY_REVISION &&
        edit->revision != head->revision) /* I2 */
        return PDR_FAIL(err, REVISION_CHANGED,
                        "session '%s': at revision %" PRIu64
                        ", the writer read %" PRIu64 "; read it again",
                        pdr__shown(shown, plan->ref.id), head->revision,
                        edit->revision);
    if (edit->commits != 0 && edit->commits != head->commits)
        return PDR_FAIL(err, REVISION_CHANGED,
                        "session '%s': %" PRIu64 " commits, the writer knows "
                        "of %" PRIu64 "; read it again",
                        pdr__shown(shown, plan->ref.id), head->commits,
                        edit->commits);
    return PDR_OK;
}

/* Is it being staged, for this session, and not being cleared? */
static pdr_rc admit_staged(const pdr_plan *plan, const pdr_head *head,
                           pdr_err *err)
{
    if (head == NULL || head->state != PDR_SESSION_UNSEEN ||
        head->epoch != plan->edit->epoch ||
        !pdr_str_equal(head->ref.tenant, plan->ref.tenant) ||
        !pdr_str_equal(head->ref.id, plan->ref.id) ||
        head->lease.until_ms == GONE_MS) /* I6 */
        return no_stage(plan, err);
    return PDR_OK;
}

/* What is cut is there: a writer that read the revision knows what is. */
static pdr_rc admit_cut(const pdr_plan *plan, const pdr_head *head,
                        pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (plan->edit->entries_through < head->next_seq)
        return PDR_OK;
    return PDR_FAIL(err, BAD_EDIT,
                    "session '%s': entries cannot be removed through %" PRIu64
                    ", the next one is %" PRIu64,
                    pdr__shown(shown, plan->ref.id),
                    plan->edit->entries_through, head->next_seq);
}

/* `head` is the one that the edit is about; NULL: none is there. */
static pdr_rc admit(const pdr_plan *plan, const pdr_head *head, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    switch (plan->edit->stage) {
    case PDR_STAGE_BEGIN:
        return PDR_OK;
    case PDR_STAGE_ADD:
    case PDR_STAGE_SHOW:
        return admit_staged(plan, head, err);
    case PDR_STAGE_NONE:
        break;
    }
    if (head == NULL)
        rc = admit_new(plan, err);
    else if (head->state == PDR_SESSION_UNSEEN) /* I6 */
        rc = no_session(plan, err);
    else
        rc = admit_known(plan, head, err);
    if (rc == PDR_OK && head != NULL)
        rc = admit_cut(plan, head, err);
    return rc;
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
    const pdr_edit *edit = plan->edit;
    pdr_lease *lease = &plan->next.lease;

    switch (edit->lease) {
    case PDR_LEASE_KEEP:
        return PDR_OK;
    case PDR_LEASE_TAKE:
        if (lease->owner.ptr != NULL && lease->until_ms > write->now_ms)
            return lease_held(plan, lease, write->now_ms, err);
        lease->owner = edit->lease_owner;
        lease->fence = ++*number; /* I3 */
        lease->until_ms = edit->lease_until_ms;
        return PDR_OK;
    case PDR_LEASE_RENEW:
        lease->until_ms = edit->lease_until_ms;
        return PDR_OK;
    case PDR_LEASE_RELEASE:
        lease->owner = pdr_str_n(NULL, 0);
        lease->until_ms = 0;
        return PDR_OK;
    }
    return PDR_FAIL(err, BAD_EDIT, "%d is no verb for a lease", edit->lease);
}

/* Lists of a copy that are empty so far begin where those of the origin do. The
 * inbox may have gaps there: here its rows have the last numbers (I3). */
static void begin_copy(pdr_head *now, const pdr_head *origin)
{
    if (now->first_seq == now->next_seq)
        now->first_seq = now->next_seq = origin->first_seq;
    if (now->journal_first == now->journal_next)
        now->journal_first = now->journal_next = origin->journal_first;
    if (now->stream_first == now->stream_next)
        now->stream_first = now->stream_next = origin->stream_first;
    if (now->inbox == 0)
        now->inbox_next = origin->inbox_next - origin->inbox;
}

/* A list [first, next) after rows up to `through` are gone and `count` came. */
static void move_list(uint64_t *first, uint64_t *next, uint64_t through,
                      size_t count)
{
    if (through >= *first)
        *first = through < *next ? through + 1 : *next;
    *next += count;
}

/* As `head` stands among the unseen ones while its rows are cleared. */
static pdr_head gone_head(const pdr_head *head)
{
    pdr_head gone = *head;

    gone.state = PDR_SESSION_UNSEEN;
    gone.lease.owner = pdr_str_n(NULL, 0);
    gone.lease.until_ms = GONE_MS; /* I6 */
    return gone;
}

/* More rows than a commit removes while all others wait? Who cannot sweep
 * removes any number. */
static bool is_large(const pdr_head *head, const pdr_write *write)
{
    const pdr_store_ops *ops = write->store->ops;
    uint64_t rows = head->next_seq - head->first_seq;

    rows += head->completions + head->slots + head->properties + head->inbox;
    rows += head->journal_next - head->journal_first;
    rows += head->stream_next - head->stream_first;
    return ops != NULL && ops->sweep != NULL && rows > PDR_REMOVE_ROWS;
}

/* The session `head` goes, at once or in steps. */
static void let_go(pdr_plan *plan, const pdr_write *write, const pdr_head *head)
{
    plan->hides = is_large(head, write);
    if (plan->hides)
        plan->gone = gone_head(head);
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
    if (edit->frame.ptr != NULL)
        next->has_frame = true;
    next->next_seq += edit->entry_count;
    move_list(&next->journal_first, &next->journal_next, edit->journal_through,
              edit->journal_count);
    move_list(&next->stream_first, &next->stream_next, edit->stream_through,
              edit->stream_count);
    next->inbox += edit->inbox_count;
    next->inbox_next += edit->inbox_count;
    if (plan->unseen) { /* I6 */
        next->state = PDR_SESSION_UNSEEN;
        next->lease.until_ms = edit->lease_until_ms;
    }
}

/* --- rows ---------------------------------------------------------------- */

static pdr_rc link_entries(pdr_plan *plan, const pdr_write *write,
                           struct pdr__seal *seal, pdr_err *err)
{
    uint64_t seq = plan->now.next_seq;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < plan->edit->entry_count && rc == PDR_OK; i++) {
        rc = pdr__seal_link(plan->entries[i], seal, write->store,
                            plan->next.chain, plan->seals->entries[i],
                            plan->next.epoch, seq + i, err);
        if (rc == PDR_OK)
            memcpy(plan->next.chain, plan->entries[i], PDR_DIGEST_BYTES);
    }
    return rc;
}

static pdr_rc seal_work(pdr_digest *out, const pdr_plan *plan,
                        const pdr_write *write, struct pdr__seal *seal,
                        pdr_part part, const pdr_work *rows, size_t count,
                        uint64_t n, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        pdr_work row = rows[i];

        if (part != PDR_PART_INBOX)
            row.due_ms = PDR_NEVER; /* what is kept of it */
        rc = pdr__seal_work(out[i], seal, write->store, &plan->ref, part, n + i,
                            &row, err);
    }
    return rc;
}

static pdr_rc seal_all_work(pdr_plan *plan, const pdr_write *write,
                            struct pdr__seal *seal, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    const pdr_head *now = &plan->now;
    pdr_rc rc =
        seal_work(plan->journal, plan, write, seal, PDR_PART_JOURNAL,
                  edit->journal, edit->journal_count, now->journal_next, err);

    if (rc == PDR_OK)
        rc = seal_work(plan->stream, plan, write, seal, PDR_PART_STREAM,
                       edit->stream, edit->stream_count, now->stream_next, err);
    if (rc == PDR_OK)
        rc = seal_work(plan->inbox, plan, write, seal, PDR_PART_INBOX,
                       edit->inbox, edit->inbox_count, now->inbox_next, err);
    return rc;
}

static void tell(pdr_plan *plan)
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
    if (plan->next.lease.owner.ptr != NULL)
        told->fence = plan->next.lease.fence;
}

/* Numbers that were not given yet; who settles them would take the rows that
 * the same edit adds. */
static pdr_rc check_settle(const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;

    for (size_t i = 0; i < edit->settle_count; i++) {
        if (edit->settle[i] >= plan->now.inbox_next)
            return pdr_plan_not_in_inbox(plan, edit->settle[i], err);
    }
    return PDR_OK;
}

/* --- the plan ------------------------------------------------------------ */

/* Which of the ways it is. A plan may begin again (I5). */
static void choose(pdr_plan *plan, const pdr_write *write, const pdr_head *head)
{
    const pdr_edit *edit = plan->edit;

    plan->creates = head == NULL;
    plan->removes = edit->remove;
    plan->unseen =
        edit->stage == PDR_STAGE_BEGIN || edit->stage == PDR_STAGE_ADD;
    plan->shows = edit->stage == PDR_STAGE_SHOW;
    plan->replaces = plan->inherits = plan->hides = false;
    plan->cuts = head != NULL && edit->entries_through >= head->first_seq;
    plan->changes_head = plan->creates || touches(edit);
    if (plan->removes && head != NULL)
        let_go(plan, write, head);
}

static pdr_rc begin(pdr_plan *plan, const pdr_write *write,
                    const pdr_head *head, uint64_t *number,
                    struct pdr__seal *seal, pdr_err *err)
{
    pdr_rc rc = admit(plan, head, err);

    choose(plan, write, head);
    if (rc == PDR_OK && plan->creates)
        rc = new_head(plan, write, number, seal, err);
    else if (rc == PDR_OK)
        plan->now = *head;
    if (rc != PDR_OK)
        return rc;
    if (plan->edit->origin != NULL)
        begin_copy(&plan->now, plan->edit->origin);
    plan->next = plan->now;
    rc = check_settle(plan, err);
    if (rc == PDR_OK)
        rc = move_lease(plan, write, number, err);
    if (rc == PDR_OK)
        rc = link_entries(plan, write, seal, err);
    if (rc == PDR_OK)
        rc = seal_all_work(plan, write, seal, err);
    if (rc == PDR_OK && plan->changes_head)
        move_head(plan, write);
    return rc;
}

pdr_rc pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                      const pdr_head *head, uint64_t *number, pdr_err *err)
{
    uint64_t counter = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL && number != NULL);
    PDR_REQUIRE(head == NULL || plan->edit->stage != PDR_STAGE_BEGIN);
    counter = *number; /* a refusal gives no number away */
    rc = begin(plan, write, head, &counter, write->seal, err);
    if (rc == PDR_OK)
        *number = counter;
    return rc;
}

/* The new one goes on where the old one stood: who reads on with a number that
 * it had (a revision, an event id, an inbox row) is not led astray (I3). */
static void inherit(pdr_plan *plan, const pdr_head *head)
{
    pdr_head *next = &plan->next;

    plan->inherits = true;
    plan->gone.inbox = 0; /* they go over */
    next->revision = head->revision;
    next->journal_first = next->journal_next = head->journal_next;
    next->stream_first = next->stream_next = head->stream_next;
    next->inbox = head->inbox;
    next->inbox_next = head->inbox_next;
    if (plan->edit->expiry == PDR_EXPIRY_KEEP)
        next->expiry_ms = head->expiry_ms;
}

bool pdr__head_is_copy(const pdr_head *head)
{
    return head->lease.owner.ptr == NULL &&
           head->lease.until_ms == COPIED_MS + (int64_t)head->commits;
}

/* Is the origin what became of `head`? Only of a copy that nobody touched can
 * that be told. It goes on with the numbers of its origin, and none that was
 * given here may come again (I3). */
static bool goes_on(const pdr_head *origin, const pdr_head *head)
{
    return pdr__head_is_copy(head) &&
           (origin->revision > head->revision ||
            (origin->revision == head->revision &&
             origin->changed_ms == head->changed_ms)) &&
           origin->journal_next >= head->journal_next &&
           origin->stream_next >= head->stream_next &&
           origin->inbox_next >= head->inbox_next;
}

static pdr_rc replace(pdr_plan *plan, const pdr_write *write,
                      const pdr_head *head, pdr_err *err)
{
    const pdr_head *origin = plan->edit->origin;

    if (origin != NULL && !goes_on(origin, head))
        return ahead_of_origin(plan, head, err);
    plan->replaces = true;
    plan->replaced = *head;
    let_go(plan, write, head);
    plan->next.commits = head->commits;
    plan->next.lease.fence = head->lease.fence;
    if (origin == NULL)
        inherit(plan, head);
    return PDR_OK;
}

/* Only a copy has work while it is staged, and it is shown as one: else its
 * numbers would meet those that the session here has given (I3). */
static pdr_rc admit_work(const pdr_plan *plan, pdr_err *err)
{
    const pdr_head *staged = &plan->now;
    char shown[PDR_SHOWN];

    if (plan->edit->origin != NULL ||
        (staged->inbox == 0 && staged->journal_next == staged->journal_first &&
         staged->stream_next == staged->stream_first))
        return PDR_OK;
    return PDR_FAIL(err, BAD_EDIT,
                    "session '%s' was staged as a copy, with work; show it "
                    "with its origin",
                    pdr__shown(shown, plan->ref.id));
}

pdr_rc pdr_plan_show(pdr_plan *plan, const pdr_write *write,
                     const pdr_head *head, pdr_err *err)
{
    pdr_head *next = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL && plan->shows);
    rc = admit_work(plan, err);
    if (rc == PDR_OK)
        rc = head == NULL ? admit_new(plan, err) : admit_known(plan, head, err);
    if (rc != PDR_OK)
        return rc;
    next = &plan->next;
    next->lease = (pdr_lease){{NULL, 0}, 0, 0};
    next->revision = next->commits = 0; /* of how it was staged: nobody saw */
    if (head != NULL)
        rc = replace(plan, write, head, err);
    if (rc != PDR_OK)
        return rc;
    next->revision++;
    next->commits++;
    next->changed_ms = write->now_ms;
    if (!plan->edit->set_state)
        next->state = PDR_SESSION_IDLE; /* I6 */
    return PDR_OK;
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

/* What an id that is asked for gets from the row that stands there. */
static void merge(pdr_completion *row, const pdr_completion *known,
                  uint64_t epoch)
{
    if (row->fingerprint.ptr == NULL)
        row->fingerprint = known->fingerprint;
    if (row->outcome.ptr == NULL)
        row->outcome = known->outcome;
    if (row->first_seq == 0) {
        row->epoch = known->epoch;
        row->first_seq = known->first_seq;
        row->last_seq = known->last_seq;
    } else if (known->first_seq != 0 && known->epoch == epoch) {
        row->first_seq = known->first_seq;
    }
}

/* Who names an id that is there must end it, and nobody ends it twice (I4). */
static pdr_rc admit_completion(const pdr_completion *asked,
                               const pdr_completion *known, pdr_err *err)
{
    bool has_ended = known->outcome.ptr != NULL;
    char shown[PDR_SHOWN];

    if (!has_ended && asked->outcome.ptr != NULL)
        return PDR_OK;
    return PDR_FAIL(err, COMPLETION_EXISTS,
                    "correlation id '%s' is known already, and has %s",
                    pdr__shown(shown, asked->correlation_id),
                    has_ended ? "ended" : "not ended");
}

/* A row as its origin has it; no copy has it already. */
static pdr_rc copy_completion(pdr_completion *row, const pdr_plan *plan,
                              const pdr_completion *known, pdr_err *err)
{
    char shown[PDR_SHOWN];

    row->epoch = row->first_seq != 0 ? plan->next.epoch : 0;
    if (known == NULL)
        return PDR_OK;
    return PDR_FAIL(err, COMPLETION_EXISTS,
                    "correlation id '%s' is in the copy already",
                    pdr__shown(shown, row->correlation_id));
}

/* One that a stage keeps of the session that goes has its time from there. */
static bool keeps_time(const pdr_completion *row, const pdr_plan *plan,
                       const pdr_write *write)
{
    return plan->edit->stage != PDR_STAGE_NONE && row->at_ms != 0 &&
           row->at_ms < write->now_ms;
}

static void place_completion(pdr_completion *row, const pdr_plan *plan,
                             const pdr_write *write)
{
    if (row->first_seq != 0) {
        row->epoch = plan->next.epoch;
        row->first_seq += plan->now.next_seq - 1;
        row->last_seq += plan->now.next_seq - 1;
    }
    if (!keeps_time(row, plan, write))
        row->at_ms = write->now_ms;
}

pdr_rc pdr_plan_known(pdr_plan *plan, const pdr_write *write, size_t k,
                      const pdr_completion *known, pdr_err *err)
{
    pdr_completion *row = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL && k < plan->completion_count);
    row = &plan->completions[k];
    *row = plan->asked[k];
    if (plan->edit->origin != NULL)
        rc = copy_completion(row, plan, known, err);
    else if (known != NULL && k < plan->edit->completion_count)
        rc = admit_completion(row, known, err);
    if (rc != PDR_OK)
        return rc;
    if (plan->edit->origin == NULL)
        place_completion(row, plan, write);
    if (known != NULL)
        merge(row, known, plan->next.epoch);
    else
        plan->next.completions++;
    return pdr__seal_completion(row->digest, write->seal, write->store,
                                &plan->ref, row, err);
}

/* A count after rows came and went. */
static pdr_rc move_count(uint64_t *count, int64_t moved, const pdr_plan *plan,
                         const char *rows, pdr_err *err)
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

/* An entry with a correlation id has its completion, so that it can be found:
 * the completion goes with the entry or after it. */
static pdr_rc check_entries_gone(const pdr_plan *plan,
                                 const pdr_completion *known, pdr_err *err)
{
    char shown[PDR_SHOWN];
    uint64_t first = plan->now.first_seq;

    if (plan->cuts)
        first = plan->edit->entries_through + 1;
    if (known->first_seq == 0 || known->last_seq < first)
        return PDR_OK;
    return PDR_FAIL(err, BAD_EDIT,
                    "completion '%s' cannot be dropped while entry %" PRIu64
                    " has its correlation id; remove the entry first",
                    pdr__shown(shown, known->correlation_id), known->last_seq);
}

pdr_rc pdr_plan_drop(pdr_plan *plan, size_t k, const pdr_completion *known,
                     pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && k < plan->edit->drop_count);
    if (known == NULL || known->at_ms != plan->edit->drop[k].at_ms)
        return PDR_FAIL(
            err, COMPLETION_CHANGED,
            "completion '%s' %s since the writer read it; read it again",
            pdr__shown(shown, plan->edit->drop[k].correlation_id),
            known == NULL ? "was removed" : "has changed");
    rc = check_entries_gone(plan, known, err);
    if (rc == PDR_OK)
        rc = move_count(&plan->next.completions, -1, plan, "completions", err);
    return rc;
}

/* Does the copy have all that its origin counts? */
static pdr_rc check_whole(const pdr_plan *plan, pdr_err *err)
{
    const pdr_head *copy = &plan->next, *origin = plan->edit->origin;
    const struct {
        const char *rows;
        uint64_t here, there;
    } counts[] = {
        {"entries", copy->next_seq - copy->first_seq,
         origin->next_seq - origin->first_seq},
        {"slots", copy->slots, origin->slots},
        {"properties", copy->properties, origin->properties},
        {"completions", copy->completions, origin->completions},
        {"journal rows", copy->journal_next - copy->journal_first,
         origin->journal_next - origin->journal_first},
        {"stream rows", copy->stream_next - copy->stream_first,
         origin->stream_next - origin->stream_first},
        {"inbox rows", copy->inbox, origin->inbox},
        {"frames", copy->has_frame, origin->has_frame},
    };
    char shown[PDR_SHOWN];

    for (size_t i = 0; i < PDR_COUNT(counts); i++) {
        if (counts[i].here != counts[i].there)
            return PDR_FAIL(err, BAD_EDIT,
                            "session '%s': the copy has %" PRIu64
                            " %s, its origin %" PRIu64,
                            pdr__shown(shown, plan->ref.id), counts[i].here,
                            counts[i].rows, counts[i].there);
    }
    return PDR_OK;
}

/* What the plan has made of the head is that of its origin. */
static pdr_rc finish_copy(pdr_plan *plan, pdr_err *err)
{
    const pdr_head *origin = plan->edit->origin;
    pdr_head *next = &plan->next;
    pdr_rc rc = check_whole(plan, err);

    if (rc != PDR_OK)
        return rc;
    next->revision = origin->revision;
    if (next->commits < origin->commits)
        next->commits = origin->commits;
    next->state = origin->state;
    next->created_ms = origin->created_ms;
    next->changed_ms = origin->changed_ms;
    next->expiry_ms = origin->expiry_ms;
    next->lease.until_ms = COPIED_MS + (int64_t)next->commits; /* I7 */
    return PDR_OK;
}

static bool ends_copy(const pdr_plan *plan)
{
    return plan->edit->origin != NULL && !plan->unseen && !plan->removes;
}

pdr_rc pdr_plan_finish(pdr_plan *plan, const pdr_write *write, int64_t slots,
                       int64_t properties, pdr_err *err)
{
    pdr_head *next = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(plan != NULL && write != NULL);
    next = &plan->next;
    rc = move_count(&next->slots, slots, plan, "slots", err);
    if (rc == PDR_OK)
        rc = move_count(&next->properties, properties, plan, "properties", err);
    if (rc == PDR_OK)
        rc = move_count(&next->inbox, -(int64_t)plan->edit->settle_count, plan,
                        "inbox rows", err);
    if (rc == PDR_OK && slots > 0 && next->slots > PDR_MAX_SLOTS)
        rc = PDR_FAIL(err, TOO_MANY_SLOTS,
                      "a session has at most %u slots, this would be "
                      "%" PRIu64,
                      PDR_MAX_SLOTS, next->slots);
    if (rc == PDR_OK && properties > 0 && next->properties > PDR_MAX_PROPERTIES)
        rc = PDR_FAIL(err, TOO_MANY_PROPERTIES,
                      "a session has at most %u properties, this would be "
                      "%" PRIu64,
                      PDR_MAX_PROPERTIES, next->properties);
    if (rc == PDR_OK && ends_copy(plan))
        rc = finish_copy(plan, err);
    if (rc == PDR_OK && !plan->removes)
        rc = pdr__seal_head(next->digest, write->seal, write->store, next, err);
    if (rc == PDR_OK && plan->hides)
        rc = pdr__seal_head(plan->gone.digest, write->seal, write->store,
                            &plan->gone, err);
    if (rc == PDR_OK)
        tell(plan);
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

pdr_rc pdr_completion_check(pdr_store *store, const pdr_ref *ref,
                            const pdr_completion *row, pdr_err *err)
{
    struct pdr__seal seal = PDR_SEAL_INIT;
    char shown[PDR_SHOWN];
    pdr_digest wanted;
    pdr_rc rc = pdr__seal_completion(wanted, &seal, store, ref, row, err);

    pdr__seal_dispose(&seal);
    if (rc == PDR_OK && memcmp(wanted, row->digest, sizeof(wanted)) != 0)
        rc = PDR_FAIL(err, BAD_DIGEST,
                      "completion '%s' does not fit its digest; verify the "
                      "store and restore a backup",
                      pdr__shown(shown, row->correlation_id));
    return rc;
}
