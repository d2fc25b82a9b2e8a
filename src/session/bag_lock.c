/*
 * bag_lock.c - who may read and who may write a bag right now.
 *
 * WHY  An update reads a slot, runs a function of the caller, and writes.
 *      Others must not write in between, but we hold no mutex while foreign
 *      code runs: it could take a second, or call us. So there are two levels.
 *
 *        the lock    a mutex for a few steps; readers take nothing else
 *        the claim   one writer says "I am about to write" and lets the lock
 *                    go; other writers wait, and if it is the same thread that
 *                    comes again, it would wait for itself: BAG_IN_UPDATE
 *
 *      A writer without foreign code takes the lock when there is no claim, and
 *      keeps it until it is done.
 */
#include "bag_core.h"

void pdr__bag_lock(pdr_bag *bag)
{
    int failed = pthread_mutex_lock(&bag->lock);

    assert(failed == 0);
    (void)failed;
}

void pdr__bag_unlock(pdr_bag *bag)
{
    int failed = pthread_mutex_unlock(&bag->lock);

    assert(failed == 0);
    (void)failed;
}

pdr_rc pdr__bag_begin(pdr_bag *bag, pdr_err *err)
{
    const char *sealed = NULL;
    bool is_mine = false;

    pdr__bag_lock(bag);
    while (bag->is_claimed && !is_mine) {
        is_mine = pthread_equal(bag->claimant, pthread_self()) != 0;
        if (!is_mine)
            (void)pthread_cond_wait(&bag->released, &bag->lock);
    }
    sealed = bag->sealed;
    if (!is_mine && sealed == NULL)
        return PDR_OK;
    pdr__bag_unlock(bag);
    if (is_mine)
        return PDR_FAIL(err, BAG_IN_UPDATE,
                        "a callback of this bag may read it, not change it");
    return PDR_FAIL(err, BAG_SEALED, "%s", sealed);
}

pdr_rc pdr__bag_claim(pdr_bag *bag, pdr_err *err)
{
    pdr_rc rc = pdr__bag_begin(bag, err);

    if (rc != PDR_OK)
        return rc;
    bag->is_claimed = true;
    bag->claimant = pthread_self();
    pdr__bag_unlock(bag);
    return PDR_OK;
}

void pdr__bag_release(pdr_bag *bag)
{
    pdr__bag_lock(bag);
    bag->is_claimed = false;
    (void)pthread_cond_broadcast(&bag->released);
    pdr__bag_unlock(bag);
}
