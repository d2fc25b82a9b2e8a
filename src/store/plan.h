/*
 * plan.h - what always holds of a commit, for the files that decide about it.
 *
 * INVARIANTS, cited in plan.c and plan_*.c as I1..I7
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
 *       kept until PDR_GONE_MS is being cleared and takes no rows any more.
 *   I7  A copy that nobody touched since says so: its lease has no owner and
 *       counts the commits, in place of a time. Each commit moves that count,
 *       so the mark ends with the first one, and no commit has to end it.
 */
#ifndef PDR_STORE_PLAN_H
#define PDR_STORE_PLAN_H

#include "store.h"

/* A time that is always over. */
#define PDR_GONE_MS INT64_MIN

/* A count after rows came and went: `moved` more, or fewer. Fails with
 * WRONG_COUNT, which names `rows`, if more went than were counted. */
PDR_MUST_CHECK pdr_rc pdr__plan_move_count(uint64_t *count, int64_t moved,
                                           const pdr_plan *plan,
                                           const char *rows, pdr_err *err);

/* --- who may write (plan_admit.c) ---------------------------------------- */

/* May the writer change `head`, which is the one that the edit is about? NULL:
 * none is there. Fails with the refusal. */
PDR_MUST_CHECK pdr_rc pdr__plan_admit(const pdr_plan *plan,
                                      const pdr_head *head, pdr_err *err);

/* May what was staged stand where `head` does? NULL: nobody does. */
PDR_MUST_CHECK pdr_rc pdr__plan_admit_show(const pdr_plan *plan,
                                           const pdr_head *head, pdr_err *err);

/* --- copies of sessions of another store (plan_copy.c) -------------------- */

/* Lists of a copy that are empty so far begin where those of the origin do. */
void pdr__plan_begin_copy(pdr_head *now, const pdr_head *origin);

/* May the origin of the plan take the place of `head`? Fails with
 * AHEAD_OF_ORIGIN. */
PDR_MUST_CHECK pdr_rc pdr__plan_admit_copy(const pdr_plan *plan,
                                           const pdr_head *head, pdr_err *err);

/* May what was staged be shown, as far as its work tells? Fails with BAD_EDIT
 * if it was staged as a copy, with work, and is not shown as one. */
PDR_MUST_CHECK pdr_rc pdr__plan_admit_work(const pdr_plan *plan, pdr_err *err);

/* A row as its origin has it. `known` as in pdr_plan_known(); fails with
 * COMPLETION_EXISTS if there is one. */
PDR_MUST_CHECK pdr_rc pdr__plan_copy_completion(pdr_completion *row,
                                                const pdr_plan *plan,
                                                const pdr_completion *known,
                                                pdr_err *err);

/* In the commit with which a copy stands there: what the plan has made of the
 * head is that of its origin. Fails with BAD_EDIT if the copy has not all that
 * its origin counts. */
PDR_MUST_CHECK pdr_rc pdr__plan_finish_copy(pdr_plan *plan, pdr_err *err);

#endif
