/*
 * store_bare.h - the benchmark turn on SQLite, written by hand.
 *
 * The baseline of the store: one thread, prepared statements, the tables of the
 * library with the same rows and digests in them, the same page size, sync and
 * checkpoints. Nothing else: no lock between processes, no hand-over between
 * threads, no check of arguments, no retry. The library can read what it wrote,
 * and the benchmark has it verified.
 */
#ifndef PDR_BENCH_STORE_BARE_H
#define PDR_BENCH_STORE_BARE_H

#include "store_fill.h"

struct bare;

enum bare_use {
    BARE_TURNS,   /* write all rows of a turn */
    BARE_ENTRIES, /* write its two entries and the head, and nothing else */
    BARE_READS    /* with as much memory for pages as a reader of ours has */
};

/* Open a store that the library made. */
struct bare *bare_open(const struct fill *fill, enum bare_use use);

/* One transaction: a turn of each of these sessions. */
void bare_turns(struct bare *bare, struct turn_session *const *sessions,
                struct turn *turns, size_t count);

/* Copy the log into the main file, and close. */
void bare_close(struct bare *bare);

/* The last `count` entries of a session, as texts: one SELECT, and their
 * digests and chain checked. Gives back the bytes of the texts. */
size_t bare_last(struct bare *bare, const char *id, size_t count);

/* How it is configured, for the settings of the lines. */
const char *bare_settings(enum bare_use use);

#endif
