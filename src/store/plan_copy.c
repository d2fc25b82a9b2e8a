/*
 * plan_copy.c - what a commit means that copies a session of another store.
 *
 * WHY  A copy goes on where its origin stood: with its revision, times and
 *      numbers, and with work in progress. No other commit takes numbers from
 *      elsewhere, and none that was given here may come again (I3). So a copy
 *      is whole or is not made, and takes only the place of a copy that nobody
 *      touched, if the origin is what became of that.
 *
 *          nobody ──► copy ──────────────► session as any other
 *                     │  ▲    commit          └ the origin comes again:
 *                     └──┘                      refused, ahead_of_origin
 *                     the origin went on
 *
 * INVARIANTS  I1..I7 in plan.h, above all I3 and I7.
 *
 * NOT HERE  The rest of what becomes of a head (plan.c), reading sessions and
 *           handing them over (archive/copy.c).
 */
#include <inttypes.h>

#include "plan.h"

/* What the lease of a copy counts its commits from (I7): no clock tells such a
 * time. */
#define COPIED_MS (INT64_MIN / 2)

/* --- whom it may replace -------------------------------------------------- */

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

pdr_rc pdr__plan_admit_copy(const pdr_plan *plan, const pdr_head *head,
                            pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (goes_on(plan->origin, head))
        return PDR_OK;
    return PDR_FAIL(err, AHEAD_OF_ORIGIN,
                    "session '%s' is at revision %" PRIu64
                    " here and %s, so its origin, at %" PRIu64
                    ", does not go on from that; delete it here first if the "
                    "origin is the one to keep",
                    pdr__shown(shown, plan->ref.id), head->revision,
                    pdr__head_is_copy(head) ? "newer"
                                            : "no copy that nobody touched",
                    plan->origin->revision);
}

/* Only a copy has work while it is staged, and it is shown as one: else its
 * numbers would meet those that the session here has given (I3). */
pdr_rc pdr__plan_admit_work(const pdr_plan *plan, pdr_err *err)
{
    const pdr_head *staged = &plan->now;
    char shown[PDR_SHOWN];

    if (plan->origin != NULL ||
        (staged->inbox == 0 && staged->journal_next == staged->journal_first &&
         staged->stream_next == staged->stream_first))
        return PDR_OK;
    return PDR_FAIL(err, BAD_EDIT,
                    "session '%s' was staged as a copy, with work; show it "
                    "with its origin",
                    pdr__shown(shown, plan->ref.id));
}

/* --- what becomes of it --------------------------------------------------- */

/* The inbox of the origin may have gaps: here its rows have the last numbers
 * (I3). */
void pdr__plan_begin_copy(pdr_head *now, const pdr_head *origin)
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

/* No copy has it already. */
pdr_rc pdr__plan_copy_completion(pdr_completion *row, const pdr_plan *plan,
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

/* Does the copy have all that its origin counts? */
static pdr_rc check_whole(const pdr_plan *plan, pdr_err *err)
{
    const pdr_head *copy = &plan->next, *origin = plan->origin;
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

pdr_rc pdr__plan_finish_copy(pdr_plan *plan, pdr_err *err)
{
    const pdr_head *origin = plan->origin;
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
    next->has_ttl = origin->has_ttl;
    next->lease.until_ms = COPIED_MS + (int64_t)next->commits; /* I7 */
    return PDR_OK;
}
