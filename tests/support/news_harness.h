/*
 * news_harness.h - commits of every kind at random, to sessions that a watcher
 * watches, is about to watch or does not watch any more: is it told what they
 * are at?
 */
#ifndef PDR_TEST_NEWS_HARNESS_H
#define PDR_TEST_NEWS_HARNESS_H

#include <perdure/store.h>

struct news_plan {
    pdr_store *here;      /* that the watcher belongs to */
    pdr_store *elsewhere; /* another handle on the same store; NULL: none */
    unsigned seed, rounds;
    unsigned sessions;    /* that are watched and never change, besides */
    unsigned patience_ms; /* for what others did; 0: 10 seconds */
};

struct news_report {
    size_t told;    /* news of sessions */
    size_t listed;  /* of tenants, LIST included */
    size_t lost;    /* sessions that are at another place than was told */
    size_t untrue;  /* news that was none: told twice, or not watched */
    size_t unheard; /* sessions of the tenant that were changed untold */
};

void news_run(struct news_report *out, const struct news_plan *plan);

#endif
