/*
 * store_takes_old_fence.c - a store that takes commits of a writer whose lease
 * was taken. Must fail: the work of the harnesses has to see it.
 *
 * The linker puts the function below in the place of the real one.
 */
#include "power_harness.h"

static bool ignored;

pdr_rc __real_pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                             const pdr_head *head, uint64_t *number,
                             pdr_err *err);
pdr_rc __wrap_pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                             const pdr_head *head, uint64_t *number,
                             pdr_err *err);

pdr_rc __wrap_pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                             const pdr_head *head, uint64_t *number,
                             pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    pdr_edit without = *edit;
    pdr_rc rc = PDR_OK;

    if (!ignored)
        return __real_pdr_plan_begin(plan, write, head, number, err);
    without.lease.fence = 0;
    plan->edit = &without;
    rc = __real_pdr_plan_begin(plan, write, head, number, err);
    plan->edit = edit;
    return rc;
}

TEST(power_harness, does_not_see_that_a_fence_is_ignored)
{
    struct power_report report;

    power_run(&report, POWER_WHOLE, false);
    if (image_mistakes(&report.images) > 0)
        return;
    ignored = true;
    power_run(&report, POWER_WHOLE, false); /* says what it expected */
}
