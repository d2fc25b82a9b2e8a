/*
 * copy_trip.h - is a copy of a store what its origin is?
 */
#ifndef PDR_TEST_COPY_TRIP_H
#define PDR_TEST_COPY_TRIP_H

#include <perdure/archive.h>

#include "test.h"

/* What copies: pdr_copy(), or something with a planted mistake. */
typedef pdr_rc (*copy_trip_fn)(pdr_copy_report *out, pdr_store *to,
                               pdr_store *from, const pdr_copy_opts *opts,
                               pdr_err *err, pdr_copy_fn fn, void *arg);

/* Copy all sessions. Does the copy verify, and hold what the origin holds, to
 * the last row? If not, `why` has room for some words. */
bool copy_trip(char why[200], copy_trip_fn copy, pdr_store *to,
               pdr_store *from);

/* The same question about two stores. */
bool copy_is_alike(char why[200], pdr_store *to, pdr_store *from);

/* A store in memory that can be tricked; owned. It holds
 *     s1          with rows of every kind, see trick_store.h
 *     long        with 11 entries and 11 slots of 400 KB each, at revision 1
 *     @dafx-a@1   of tenant "other", with one entry behind a cut
 *     few-N     with nothing, from 0 on
 */
#define COPY_TRIP_SMALL    70u
#define COPY_TRIP_SESSIONS (COPY_TRIP_SMALL + 3u)
pdr_store *copy_trip_source(void);

#endif
