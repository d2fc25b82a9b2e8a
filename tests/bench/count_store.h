/*
 * count_store.h - how often is a store read, and how often committed to?
 */
#ifndef PDR_BENCH_COUNT_STORE_H
#define PDR_BENCH_COUNT_STORE_H

#include <perdure/store.h>

/* Calls that reached the backend since it was wrapped. */
struct count_store {
    double reads, commits;
};

/* Count the calls of this store from now on; of one store at a time, and before
 * threads use it. */
void count_store_wrap(pdr_store *store);

struct count_store count_store_get(void);

#endif
