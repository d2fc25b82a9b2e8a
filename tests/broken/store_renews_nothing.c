/*
 * store_renews_nothing.c - a store that copies a log whose sync has failed as
 * if it were on the disk. Must fail: power that is lost then leaves half a
 * commit.
 *
 * The linker puts the function below in the place of the real one.
 */
#include "doubt_harness.h"
#include "sqlite/vfs.h"

int __real_pdr__log_renew(struct pdr__log_file *log);
int __wrap_pdr__log_renew(struct pdr__log_file *log);

static bool renews = true;

int __wrap_pdr__log_renew(struct pdr__log_file *log)
{
    return renews ? __real_pdr__log_renew(log) : SQLITE_OK;
}

TEST(doubt_harness, does_not_see_that_the_log_is_not_renewed)
{
    struct doubt_report report;

    doubt_run(&report);
    if (report.bad > 0)
        return;
    renews = false;
    doubt_run(&report);
    if (report.bad > 0)
        fail_msg("caught: %zu of %zu images are bad", report.bad,
                 report.images);
}
