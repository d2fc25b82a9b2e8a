/*
 * pieces.h - a document as a stream that comes in pieces of random sizes.
 */
#ifndef PDR_FUZZ_PIECES_H
#define PDR_FUZZ_PIECES_H

#include <perdure.h>

#include "fuzz.h"

struct source {
    pdr_str text;
    size_t at;
    uint32_t random;
    size_t most; /* bytes of a piece */
};

static inline pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err,
                          void *arg)
{
    struct source *source = arg;
    size_t left = source->text.len - source->at, len;

    (void)err;
    source->random = source->random * 1664525u + 1013904223u;
    len = 1 + (source->random >> 16) % source->most;
    if (len > left)
        len = left;
    if (len > cap)
        len = cap;
    if (len > 0)
        memcpy(into, source->text.ptr + source->at, len);
    source->at += len;
    *got = len;
    return PDR_OK;
}

#endif
