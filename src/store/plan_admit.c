/*
 * plan_admit.c - who may write.
 *
 * WHY  A session never has two writers. We cannot ask whether a writer is
 *      alive and up to date, so each one brings what it knows: a fence, an
 *      epoch, a revision, a count of commits. That is compared with the head,
 *      and who is late is refused and told what is different.
 *
 * INVARIANTS  I1..I7 in plan.h, above all I1, I2 and I6.
 *
 * NOT HERE  Who may take the lease (plan.c), whom a copy may replace
 *           (plan_copy.c).
 */
#include <inttypes.h>

#include "plan.h"

/* --- refusals ------------------------------------------------------------ */

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
                        pdr__shown(shown, plan->ref.id),
                        plan->edit->lease.fence);
    return PDR_FAIL(err, LEASE_LOST,
                    "session '%s': the lease went on to fence %" PRIu64
                    ", the writer has %" PRIu64 "; take the lease again",
                    pdr__shown(shown, plan->ref.id), head->lease.fence,
                    plan->edit->lease.fence);
}

/* --- who may write ------------------------------------------------------- */

static pdr_rc admit_new(const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;

    if (edit->lease.fence != 0)
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
    if (edit->lease.fence != 0 &&
        (head->lease.owner.ptr == NULL ||
         head->lease.fence != edit->lease.fence)) /* I1 */
        return lease_lost(plan, head, err);
    if (plan->stage != PDR_STAGE_SHOW && edit->epoch != 0 &&
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
    char shown[PDR_SHOWN];

    if (head != NULL && head->state == PDR_SESSION_UNSEEN &&
        head->epoch == plan->edit->epoch &&
        pdr_str_equal(head->ref.tenant, plan->ref.tenant) &&
        pdr_str_equal(head->ref.id, plan->ref.id) &&
        head->lease.until_ms != PDR_GONE_MS) /* I6 */
        return PDR_OK;
    return PDR_FAIL(err, NO_STAGE,
                    "session '%s': nothing is staged under epoch %" PRIu64
                    "; it was shown, or cleared when its time was over: stage "
                    "it again",
                    pdr__shown(shown, plan->ref.id), plan->edit->epoch);
}

pdr_rc pdr__plan_admit(const pdr_plan *plan, const pdr_head *head, pdr_err *err)
{
    uint64_t through = plan->edit->entries_through;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (plan->stage == PDR_STAGE_BEGIN)
        return PDR_OK;
    if (plan->stage != PDR_STAGE_NONE)
        return admit_staged(plan, head, err);
    if (head == NULL)
        return admit_new(plan, err);
    if (head->state == PDR_SESSION_UNSEEN) /* I6 */
        return no_session(plan, err);
    rc = admit_known(plan, head, err);
    if (rc == PDR_OK && through >= head->next_seq) /* who read it knows */
        rc = PDR_FAIL(err, BAD_EDIT,
                      "session '%s': entries cannot be removed through %" PRIu64
                      ", the next one is %" PRIu64,
                      pdr__shown(shown, plan->ref.id), through, head->next_seq);
    return rc;
}

pdr_rc pdr__plan_admit_show(const pdr_plan *plan, const pdr_head *head,
                            pdr_err *err)
{
    return head == NULL ? admit_new(plan, err) : admit_known(plan, head, err);
}
