/*
 * fail_each.c - see fail_each.h.
 */
#include "fail_each.h"

/* False: there are fewer operations. */
static bool fail_one(const struct fail_deed *deed, void *arg, struct shim *shim,
                     const struct shim_fault *fault)
{
    struct fail_run run = {.err = PDR_ERR_INIT};

    deed->prepare(arg);
    shim_fail(shim, fault);
    run.rc = deed->act(arg, &run.err);
    run.failed = shim_failed(shim) > 0;
    snprintf(run.what, sizeof(run.what), "operation %zu (%s) fails %s",
             fault->nth, shim_op_word(shim_failed_op(shim)),
             fault->for_ever ? "for ever" : "once");
    shim_fail(shim, &(struct shim_fault){.nth = 0});
    deed->check(arg, &run);
    return run.failed;
}

void fail_each(const struct fail_deed *deed, void *arg, size_t step)
{
    struct shim *shim = shim_new("shim");

    for (int way = 0; way < 3; way++) {
        struct shim_fault fault = {.op = way < 2 ? SHIM_ANY : SHIM_WRITE,
                                   .nth = 1,
                                   .for_ever = way == 1,
                                   .full = way == 2};
        while (fail_one(deed, arg, shim, &fault))
            fault.nth += step;
    }
    shim_free(shim);
}
