/*
 * store_file_faults.c - every file operation below a store fails, once or from
 * then on.
 *
 * At scale 1 each operation fails but for reads, writes and locks of shared
 * memory: the work has hundreds of each, nine in ten of all. Of these about 20
 * of a kind fail, spread over the work, as trying each takes minutes.
 */
#include "file_faults.h"

#define FEW    200 /* each is tried of a kind that the work has fewer of */
#define SPREAD 20  /* so many of each other kind */

/* Fail operation `nth` of a kind, in both ways. */
static void fail_both(struct fault_harness *harness, enum shim_op op,
                      size_t nth)
{
    struct shim_fault fault = {.op = op, .nth = nth};

    /* Every second failing write says that the disk is full. */
    fault.full = nth % 2 == 0;
    ASSERT(fault_run(harness, &fault));
    fault.for_ever = true;
    ASSERT(fault_run(harness, &fault));
}

static void fail_kind(struct fault_harness *harness, enum shim_op op,
                      size_t count, size_t step)
{
    for (size_t nth = 1; nth <= count; nth += step)
        fail_both(harness, op, nth);
}

TEST(file_faults, are_refused_or_unknown_and_lose_nothing)
{
    struct fault_harness harness;
    size_t counts[SHIM_OPS];

    fault_init(&harness);
    fault_count(counts);
    for (int op = 0; op < SHIM_OPS; op++) {
        size_t step = counts[op] < FEW ? 1 : 1 + counts[op] / SPREAD;

        fail_kind(&harness, (enum shim_op)op, counts[op], test_every(step));
    }
    fault_print(&harness.report);
    ASSERT_SIZE(0, fault_mistakes(&harness.report));
    fault_check_met(&harness.report);
    ASSERT(test_scale() < 1 ||
           2 * counts[SHIM_SYNC] == harness.report.reached[SHIM_SYNC]);
    for (int op = 0; op < SHIM_OPS; op++)
        ASSERT(counts[op] == 0 || harness.report.reached[op] > 0);
    ASSERT(harness.report.reached[SHIM_SYNC] > 0);
    ASSERT(harness.report.reached[SHIM_WRITE] > 0);
    fault_dispose(&harness);
}
