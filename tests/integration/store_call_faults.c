/*
 * store_call_faults.c - every call of a store fails, once or from then on, and
 * commits in each way that they can.
 *
 * At scale 1 each call fails but for reads, which are three in four: of them
 * every 23rd does.
 */
#include "file_faults.h"

#define READS_APART 23

static void fail_calls(struct fault_harness *harness, enum fault_call call,
                       enum fault_way way, bool for_ever)
{
    size_t apart = test_every(call == FAULT_READ ? READS_APART : 1);
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
        for (int call = 0; call < FAULT_CALLS; call++)
            fail_calls(&harness, (enum fault_call)call, FAULT_REFUSED,
                       for_ever != 0);
        fail_calls(&harness, FAULT_COMMIT, FAULT_UNKNOWN_LOST, for_ever != 0);
        fail_calls(&harness, FAULT_COMMIT, FAULT_UNKNOWN_DONE, for_ever != 0);
    }
    fault_print(&harness.report);
    ASSERT_SIZE(0, fault_mistakes(&harness.report));
    fault_check_met(&harness.report);
    ASSERT(harness.report.chores > 0);
    fault_dispose(&harness);
}
