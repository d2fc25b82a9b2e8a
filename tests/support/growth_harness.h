/*
 * growth_harness.h - one store that grows: does an operation cost the same
 * among many sessions as among few?
 *
 * Costs are counted, not timed: pages that SQLite asks the file system for,
 * bytes that it writes, and memory. Each is taken on a store that was opened
 * for it, with nothing in its caches: it is the most that an operation can
 * cost.
 */
#ifndef PDR_TEST_GROWTH_HARNESS_H
#define PDR_TEST_GROWTH_HARNESS_H

#include "room.h"
#include "test.h"

#include <perdure/store.h>

#define GROWTH_SIZES   3  /* at most */
#define GROWTH_ROWS    32 /* kinds of operations, at most */
#define GROWTH_EXPIRED 32 /* sessions that have expired, at each size */

/* What an operation took: the most of all samples, and the time of the middle
 * one. */
struct growth_cost {
    uint64_t reads; /* of files; nearly all are of one page */
    uint64_t bytes_read, bytes_written;
    uint64_t memory; /* at most, with all that the open store has */
    int64_t us;      /* for people to read */
};

struct shim;

struct growth {
    struct room room;
    struct shim *shim;
    char uri[700];
    uint64_t random;
    size_t sessions; /* made so far, but for those that have expired */
    size_t expired;  /* made so far; a purge removes them again */
    size_t size_count;
    size_t sizes[GROWTH_SIZES];
    uint64_t file_bytes[GROWTH_SIZES];
    uint64_t make_memory[GROWTH_SIZES]; /* at most, while they were made */
    double make_s[GROWTH_SIZES];
    struct growth_cost costs[GROWTH_SIZES][GROWTH_ROWS];
};

/* Make a store, let it grow to each of the sizes, and measure there; then
 * remove it. What an operation gives back is checked, too. */
void growth_run(struct growth *growth, const size_t *sizes, size_t count);

/* A table of all that was measured. */
void growth_print(const struct growth *growth);

/* What is not flat, each told on a line; gives how many. `names`, which may be
 * NULL, gets the names of the operations, each once and with a comma behind. */
size_t growth_judge(const struct growth *growth, char *names, size_t room);

/* --- sessions (growth_sessions.c) ------------------------------------------
 */

#define GROWTH_NOW_MS INT64_C(1760000000000)
#define GROWTH_DAY_MS INT64_C(86400000)
/* Changes are spread over so many milliseconds before now. */
#define GROWTH_SPAN_MS (INT64_C(1000003) * 1000)

/* The id and the last change of session `n`: neither is in the order in which
 * they are made. `out` has room for 24 bytes. */
pdr_str growth_id(char *out, size_t n);
int64_t growth_changed(size_t n);
/* Does it have entries? One in four does. */
bool growth_has_entries(size_t n);

/* Make sessions until there are `to`, and GROWTH_EXPIRED among them that have
 * expired. */
void growth_make(struct growth *growth, pdr_store *store, size_t to);

#endif
