/*
 * plan_completion.c - what a commit makes of completions, and when they may go.
 *
 * WHY  A request that is sent again must not run again: its correlation id is
 *      known, and what it came to is told. So an id is written once, ended once
 *      and found for as long as an entry has it. A commit may name one that is
 *      there, and entries that a document brings may belong to one; what is in
 *      the row then is decided here, from the row that the backend found.
 *
 *          not there ──► known ──► ended ──► dropped by name and time,
 *              └───────────────────►┘        when its entries are gone
 *
 * INVARIANTS  I1..I7 in plan.h, above all I4.
 */
#include <inttypes.h>

#include "plan.h"

/* --- rows that are written ------------------------------------------------ */

/* What an id that is asked for gets from the row that stands there. */
static void merge_known(pdr_completion *row, const pdr_completion *known,
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

/* Where its entries stand, and when it was written. One that a stage keeps of
 * the session that goes has its time from there. */
static void place_completion(pdr_completion *row, const pdr_plan *plan,
                             const pdr_write *write)
{
    if (row->first_seq != 0) {
        row->epoch = plan->next.epoch;
        row->first_seq += plan->now.next_seq - 1;
        row->last_seq += plan->now.next_seq - 1;
    }
    if (plan->stage == PDR_STAGE_NONE || row->at_ms == 0 ||
        row->at_ms >= write->now_ms)
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
    if (plan->origin != NULL)
        PDR_TRY(pdr__plan_copy_completion(row, plan, known, err));
    else if (known != NULL && k < plan->edit->completion_count)
        PDR_TRY(admit_completion(row, known, err));
    if (plan->origin == NULL)
        place_completion(row, plan, write);
    if (known != NULL)
        merge_known(row, known, plan->next.epoch);
    else
        plan->next.completions++;
    PDR_TRY(pdr__seal_completion(row->digest, write->seal, write->store,
                                 &plan->ref, row, err));
done:
    return rc;
}

/* --- rows that go --------------------------------------------------------- */

pdr_rc pdr_plan_drop(pdr_plan *plan, size_t k, const pdr_completion *known,
                     pdr_err *err)
{
    char shown[PDR_SHOWN];
    uint64_t first = 0; /* of the entries that stay */

    PDR_REQUIRE(plan != NULL && k < plan->edit->drop_count);
    if (known == NULL || known->at_ms != plan->edit->drop[k].at_ms)
        return PDR_FAIL(
            err, COMPLETION_CHANGED,
            "completion '%s' %s since the writer read it; read it again",
            pdr__shown(shown, plan->edit->drop[k].correlation_id),
            known == NULL ? "was removed" : "has changed");
    first = plan->cuts ? plan->edit->entries_through + 1 : plan->now.first_seq;
    /* An entry with a correlation id has its completion, so that it can be
     * found: the completion goes with the entry or after it. */
    if (known->first_seq != 0 && known->last_seq >= first)
        return PDR_FAIL(err, BAD_EDIT,
                        "completion '%s' cannot be dropped while entry %" PRIu64
                        " has its correlation id; remove the entry first",
                        pdr__shown(shown, known->correlation_id),
                        known->last_seq);
    return pdr__plan_move_count(&plan->next.completions, -1, plan,
                                "completions", err);
}

/* --- a check for backends ------------------------------------------------- */

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
