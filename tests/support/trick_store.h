/*
 * trick_store.h - a store in memory that a test can trick: it damages rows on
 * their way to a reader, or answers commits by itself.
 */
#ifndef PDR_TRICK_STORE_H
#define PDR_TRICK_STORE_H

#include "test.h"

#include "store.h"

/* Runs after the rows of a page were found, before the library checks them. */
typedef void (*trick_read_fn)(struct pdr__page *page, void *arg);
/* Runs in place of a commit. False: go on with the real one. */
typedef bool (*trick_commit_fn)(pdr_write *const *writes, size_t count,
                                void *arg);

/* "trick:" keeps rows as "memory:" does; "trick:key" has a key for its digests,
 * "trick:longkey" one that is longer than a block; "trick:fails" cannot be
 * opened. Known from the first call on. */
pdr_store *trick_open(const char *uri);
/* As trick_open(), but to be used like pdr_store_open(). */
pdr_rc trick_open_any(pdr_store **out, const char *uri, pdr_err *err);
#define TRICK_LONG_KEY 100
uint8_t *trick_long_key(void);
/* NULL: none. */
void trick_on_read(trick_read_fn fn, void *arg);
void trick_on_commit(trick_commit_fn fn, void *arg);
/* Let the next pdr_store_info_get() fail. */
void trick_fail_info(void);

/* --- a session ------------------------------------------------------------ */

/* Make session "s1" with everything in it; it is at revision 2, after 4
 * commits.
 *
 *     entries      1 to 10; the odd ones of correlation id "odd", the others of
 *                  "even"
 *     slots        a b c
 *     properties   color size
 *     completions  done even odd
 *     frame        {}
 *     journal      3 to 7
 *     stream       2 to 5
 *     inbox        1 3 4, due at 100, 300, never
 */
void trick_fill(pdr_store *store);

#define TRICK_NOW_MS 5000 /* when it was made */

/* Its ref, and a query about it. */
pdr_ref trick_ref(void);
pdr_query trick_query(pdr_read_what what);

#endif
