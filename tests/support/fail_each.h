/*
 * fail_each.h - one deed after the other, each with another file operation
 * that fails.
 *
 * The nth operation fails once; it and all behind it fail; and of writes the
 * nth finds the disk full. Each of the three goes on until the deed has fewer
 * operations.
 */
#ifndef PDR_TEST_FAIL_EACH_H
#define PDR_TEST_FAIL_EACH_H

#include "shim_vfs.h"
#include "test.h"

/* What became of one deed. */
struct fail_run {
    bool failed;    /* an operation did; false: there are fewer */
    char what[100]; /* in words: which one, and how */
    pdr_rc rc;      /* of the deed */
    pdr_err err;
};

struct fail_deed {
    /* Make ready; nothing fails yet. Files are opened with vfs=shim. */
    void (*prepare)(void *arg);
    pdr_rc (*act)(void *arg, pdr_err *err);
    /* Nothing fails any more: close, look, count. Called also where nothing
     * failed, and the deed had to succeed. */
    void (*check)(void *arg, const struct fail_run *run);
};

/* Every `step`th operation. */
void fail_each(const struct fail_deed *deed, void *arg, size_t step);

#endif
