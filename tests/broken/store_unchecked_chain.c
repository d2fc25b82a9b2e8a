/*
 * store_unchecked_chain.c - a store that hands out entries without a look at
 * their digests and their chain. Must fail: changed rows have to be seen.
 *
 * The linker puts the function below in the place of the real one.
 */
#include "row_damage.h"
#include "store.h"

static bool unchecked;

pdr_rc __real_pdr__page_finish(struct pdr__page *page, const pdr_store *store,
                               pdr_err *err);
pdr_rc __wrap_pdr__page_finish(struct pdr__page *page, const pdr_store *store,
                               pdr_err *err);

pdr_rc __wrap_pdr__page_finish(struct pdr__page *page, const pdr_store *store,
                               pdr_err *err)
{
    if (unchecked && page->query->what == PDR_READ_ENTRIES)
        return PDR_OK;
    return __real_pdr__page_finish(page, store, err);
}

TEST(damage_harness, does_not_see_that_the_chain_is_not_checked)
{
    struct damage_report report;

    damage_entries(&report);
    if (report.seen < report.tried)
        return;
    unchecked = true;
    damage_entries(&report);
    if (report.unseen > 0)
        fail_msg("caught: %zu of %zu changes were read", report.unseen,
                 report.tried);
}
