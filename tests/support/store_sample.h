/*
 * store_sample.h - a small store with every kind of row, always the same.
 *
 * Files that older versions wrote stay in tests/data/store: what this version
 * makes of the sample is compared with them, and they must read as this.
 */
#ifndef PDR_TEST_STORE_SAMPLE_H
#define PDR_TEST_STORE_SAMPLE_H

#include <perdure/store.h>

/* Fill an empty store. Asserts that all goes well. */
void store_sample_fill(pdr_store *store);

/* Does the store hold the sample, and nothing else? Asserts it. */
void store_sample_check(pdr_store *store);

/* Can one go on with it? Adds a turn to each session. */
void store_sample_go_on(pdr_store *store);

#endif
