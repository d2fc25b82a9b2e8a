/*
 * sqlite_memory.h - the memory that SQLite allocates for itself, which fails on
 * demand. Ours is that of test.h.
 */
#ifndef PDR_TEST_SQLITE_MEMORY_H
#define PDR_TEST_SQLITE_MEMORY_H

#include "fail_each.h"

/* Stand in front of SQLite's allocator, before anything of SQLite is open. From
 * then on each allocation can be met: there are none from stocks that it makes
 * at the start of a connection. */
void sqlite_memory_enter(void);

/* Let the nth allocation from now fail (1 is the next), and with `for_ever` all
 * behind it; 0: none. */
void sqlite_memory_fail(size_t nth, bool for_ever);
/* Those that failed since. */
size_t sqlite_memory_failed(void);
/* Bytes that SQLite has now. */
int64_t sqlite_memory_used(void);

/* Do a deed again and again, each time with another allocation of SQLite that
 * fails: every `step`th of them once, then with all behind it. */
void sqlite_memory_each(const struct fail_deed *deed, void *arg, size_t step);

#endif
