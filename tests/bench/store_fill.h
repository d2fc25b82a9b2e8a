/*
 * store_fill.h - a store of SQLite with thousands of sessions to measure in.
 */
#ifndef PDR_BENCH_STORE_FILL_H
#define PDR_BENCH_STORE_FILL_H

#include <perdure/store.h>

#include "turn.h"

#define FILL_SESSIONS 10000u
#define FILL_TURNS    4u   /* of each session: eight entries */
#define FILL_QUICK    200u /* sessions, with --quick */

struct fill {
    char path[512];
    struct turn_session *sessions; /* in the order in which they were made */
    size_t *order;                 /* the same, shuffled by a seed */
    size_t count;
};

/* Make the file in the data folder anew, with `turns` turns in each session,
 * spread over the file, and everything in the main file. */
void fill_make(struct fill *fill, const char *name, size_t count, size_t turns);

/* A place for a store of so many sessions that somebody else makes: no file is
 * there, and the order is shuffled. */
void fill_place(struct fill *fill, const char *name, size_t count);

/* The same bytes in a file of another name. */
void fill_copy(struct fill *to, const struct fill *from, const char *name);

/* Remove the file and those beside it. */
void fill_remove(struct fill *fill);

/* Open it through the VFS that counts. */
pdr_store *fill_open(const struct fill *fill);

/* The session at this place of the shuffled order. */
struct turn_session *fill_pick(const struct fill *fill, size_t place);

/* `turns` turns on each of the sessions, in one order after another; bytes of
 * their entries. */
uint64_t fill_turns(struct turn_session *const *sessions, size_t count,
                    size_t turns, pdr_store *store);

/* Give one session more turns, a commit each. */
void fill_one(struct turn_session *session, size_t turns, pdr_store *store);

/* Give one session more entries, by few commits and without the other rows of
 * their turns. */
void fill_entries(struct turn_session *session, size_t entries,
                  pdr_store *store);

/* Check every row; ends the program if one is wrong. */
void fill_verify(const struct fill *fill);

/* Size of the main file. */
uint64_t fill_bytes(const struct fill *fill);

/* Settings of the lines: SQLite, how it is configured, what the store holds. */
void fill_note(const struct fill *fill);

#endif
