/*
 * store_call_faults.c - every call of a store fails, once or from then on, and
 * commits in each way that they can.
 */
#include "file_faults.h"

/* Every so many-th call in a normal run; PERDURE_SOAK tries each. */
#define APART 5

static void fail_calls(struct fault_harness *harness, enum fault_call call,
                       enum fault_way way, bool for_ever)
{
    size_t apart = getenv("PERDURE_SOAK") != NULL ? 1 : APART;
    size_t nth = 1;
    bool failed = true;

    for (; failed; nth += apart) {
        struct fault_plan plan = {
            .call = call, .nth = nth, .for_ever = for_ever, .way = way};
        failed = fault_run_call(harness, &plan);
    }
    ASSERT(nth > 1 + apart); /* at least one has failed */
}

TEST(call_faults, are_refused_or_unknown_and_lose_nothing)
{
    struct fault_harness harness;

    fault_init(&harness);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        fail_calls(&harness, FAULT_OPEN, FAULT_REFUSED, for_ever != 0);
        fail_calls(&harness, FAULT_READ, FAULT_REFUSED, for_ever != 0);
        fail_calls(&harness, FAULT_SWEEP, FAULT_REFUSED, for_ever != 0);
        fail_calls(&harness, FAULT_COMMIT, FAULT_REFUSED, for_ever != 0);
        fail_calls(&harness, FAULT_COMMIT, FAULT_UNKNOWN_LOST, for_ever != 0);
        fail_calls(&harness, FAULT_COMMIT, FAULT_UNKNOWN_DONE, for_ever != 0);
    }
    fault_print(&harness.report);
    ASSERT_SIZE(0, fault_mistakes(&harness.report));
    ASSERT(harness.report.opens > 0);
    ASSERT(harness.report.reads > 0);
    ASSERT(harness.report.refusals > 0);
    ASSERT(harness.report.unknowns > 0);
    ASSERT(harness.report.whole > 0);
    ASSERT(harness.report.absent > 0);
    fault_dispose(&harness);
}
