/*
 * state_walk.h - our side of the benchmarks of state documents.
 */
#ifndef PDR_BENCH_STATE_WALK_H
#define PDR_BENCH_STATE_WALK_H

#include "ours.h"

/* What a walk over a conversation found. Equal sums, equal conversations. */
struct state_sums {
    uint64_t requests, responses, messages, contents;
    uint64_t calls, results; /* of the contents */
    uint64_t text_bytes;     /* of all members that hold text, decoded */
    uint64_t members;        /* of the arguments of all calls */
};

/* Every content of every message through the typed view: what it is, and the
 * text of its members; of entries and messages what a reader needs to show
 * them. `scratch` holds decoded text. */
void state_walk(struct state_sums *sums, const pdr_value *state,
                pdr_buf *scratch);

/* The timed call: read a document with its version gate, walk, free. */
void state_read_and_walk(struct state_sums *sums, const struct bench_text *text,
                         pdr_buf *scratch);

/* Ends the program if they differ. */
void state_sums_compare(const char *name, const struct state_sums *ours,
                        const struct state_sums *theirs);

#endif
