/*
 * state_types.h - types of state for tests. Their objects come from the
 * library's memory, so leaks are found and each allocation can fail.
 */
#ifndef PDR_TEST_STATE_TYPES_H
#define PDR_TEST_STATE_TYPES_H

#include "test.h"

/* "test.Counter": an object with the integer `a`; `b` may be there. */
struct counter {
    int64_t a;
    int64_t b; /* 0: left out */
};
extern const pdr_state_type counter_type;

/* "test.Text": a string; the object is a C string. */
extern const pdr_state_type text_type;

/* "test.Json": anything; the object is a pdr_value. */
extern const pdr_state_type json_type;

/* A type whose functions fail on request; objects are counters. `arg` of the
 * type is one of these. */
struct odd {
    pdr_rc decode, encode, copy; /* what they return; PDR_OK: as a counter */
    unsigned refuse_at;          /* call of encode that fails; 0: none */
    bool is_silent;              /* fails without filling err */
    bool gives_nothing;          /* succeeds, with NULL */
    const char *json;            /* what encode gives; NULL: the counter */
    unsigned decoded, encoded, copied, freed;
    pdr_bag *bag; /* where each function tries to write; may be NULL */
    pdr_rc wrote; /* what that gave */
};
/* A table for `odd`, "test.Odd". */
pdr_state_type odd_type(struct odd *odd);

/* An owned counter, as an initialiser makes it. */
pdr_rc counter_new(void **out, int64_t a, pdr_err *err);
/* An owned text. */
pdr_rc text_new(void **out, const char *text, pdr_err *err);

#endif
