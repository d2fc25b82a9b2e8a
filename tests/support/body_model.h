/*
 * body_model.h - what pdr__body_check() must say, byte by byte.
 *
 * The plain way to do it, slow and easy to believe; tests and a fuzz target
 * compare the fast one with it.
 */
#ifndef PDR_TEST_BODY_MODEL_H
#define PDR_TEST_BODY_MODEL_H

#include "store.h"

enum body_verdict { BODY_GOOD, BODY_BAD, BODY_TOO_DEEP };

struct body_model {
    enum body_verdict verdict;
    size_t offset; /* of the first mistake */
};

struct body_model body_model_check(pdr_str body, size_t depth);

/* pdr__body_check() as processors without SSE2 have it. */
pdr_rc plain_body_check(pdr_str body, size_t depth, pdr_err *err);

#endif
