/*
 * hook_store.h - "hook:", a store in memory that lets a test do something right
 * before a commit, or in its place: what others do between a read and a commit.
 */
#ifndef PDR_TEST_HOOK_STORE_H
#define PDR_TEST_HOOK_STORE_H

#include "test.h"

#include <perdure/sys/store.h>

/* Runs before each edit that is committed, on that thread, but for those that
 * it commits itself. Another code than PDR_OK ends the commit with it. */
typedef pdr_rc (*hook_fn)(pdr_store *store, const pdr_edit *edit, void *arg);

/* Open one, with a hook; fails the test if it cannot be. */
pdr_store *hook_open(hook_fn fn, void *arg);

/* From now on called in front of each read, with the same `arg`; what it does
 * to the store calls no hook. */
void hook_reads(void (*fn)(pdr_store *store, void *arg));

/* From now on the clock of the store; without one it has none. */
void hook_now(pdr_rc (*fn)(pdr_store *store, int64_t *out, pdr_err *err));

#endif
