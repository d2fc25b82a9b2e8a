/*
 * flow.h - a long stream, told by a few texts and how often each comes.
 */
#ifndef PDR_TEST_FLOW_H
#define PDR_TEST_FLOW_H

#include "test.h"

struct flow_piece {
    const char *text;
    size_t times;
};

/* Called with the bytes given so far, before more are given. */
typedef pdr_rc (*flow_fn)(uint64_t given, void *arg);

struct flow {
    const struct flow_piece *pieces; /* borrowed; the last has no text */
    size_t piece, time, at;          /* where it stands */
    uint64_t given;
    flow_fn fn; /* or NULL */
    void *arg;
};

void flow_init(struct flow *flow, const struct flow_piece *pieces);
/* A pdr_read_fn; `arg` is a struct flow. */
pdr_rc flow_read(size_t *got, void *into, size_t cap, pdr_err *err, void *arg);
/* Is `text` what the pieces give? */
bool flow_gives(const struct flow_piece *pieces, pdr_str text);

/* A pdr_write_fn that compares what is written with what a flow gives: `arg` is
 * a struct flow. PDR_EINVALID at the first difference. */
pdr_rc flow_compare(pdr_str bytes, pdr_err *err, void *arg);
/* Was all of it written? */
bool flow_is_over(struct flow *flow);

#endif
