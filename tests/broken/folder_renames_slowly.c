/*
 * folder_renames_slowly.c - a rename that first removes what has the name. Must
 * fail: the harness that kills processes has to see that nothing is there.
 */
#include "folder_harness.h"

TEST(kill_harness, does_not_see_that_no_document_was_there)
{
    struct kill_report good, bad;

    /* If good code does not pass, this failure would prove nothing. */
    folder_kill_each(&good, false, false);
    if (good.missing > 0)
        return;
    folder_kill_each(&bad, false, true);
    if (bad.missing == 1)
        fail_msg("caught 1 of 1 in %zu kills", bad.kills);
}
