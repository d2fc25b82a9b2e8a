/*
 * script_codec.h - a codec that does what a test wrote down.
 *
 * The library promises things to a codec (an order of events, their places, one
 * close for each open) and survives one that breaks its own promises. Neither
 * shows with a codec that works, so this one plays rows and writes down what it
 * is given. One walk and one writer at a time.
 */
#ifndef PDR_TEST_SCRIPT_CODEC_H
#define PDR_TEST_SCRIPT_CODEC_H

#include <perdure/sys/codec.h>

#include "test.h"

struct script_row {
    pdr_event event;
    const char *json; /* of the value; NULL if there is none */
};

struct script {
    const struct script_row *rows; /* what the walk gives, then the end */
    size_t count, at;
    pdr_rc next_rc; /* what it gives instead of the end */
    pdr_rc open_rc; /* of walk and writer; with it they are open and fail */
    /* walk_take: how many rows it passes, what it gives. */
    size_t take_rows;
    const char *take_json;
    pdr_rc take_rc;
    /* The writer. */
    pdr_rc put_rc, finish_rc;
    const char *put_path; /* of the failure */
    char seen[400]; /* depth, in object or array, index, event of each put */
    size_t finished;
    size_t opened, closed; /* of both */
};
extern struct script script;

/* Forget everything; play these rows. */
void script_play(const struct script_row *rows, size_t count);

/* The table: required slots only, no paths. Yours to change. */
pdr_codec script_codec(void);

/* The optional slot. */
pdr_rc script_take(pdr_value **out, void *self, pdr_err *err);

#endif
