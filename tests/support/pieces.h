/*
 * pieces.h - a text as a stream that comes in pieces, for tests of walks.
 */
#ifndef PDR_TEST_PIECES_H
#define PDR_TEST_PIECES_H

#include "test.h"

/* Some bytes at a time; fails at `fail_at`. */
struct source {
    pdr_str text;
    size_t at, step;
    size_t fail_at; /* SIZE_MAX: never */
    bool lies;      /* claims more bytes than were asked for */
};

static inline pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err,
                          void *arg)
{
    struct source *s = arg;
    size_t n = s->text.len - s->at;

    if (s->at >= s->fail_at)
        return pdr_err_set(err, PDR_EIO, "line_cut", "the line was cut");
    if (n > s->step)
        n = s->step;
    if (n > cap)
        n = cap;
    if (n > 0)
        memcpy(into, s->text.ptr + s->at, n);
    s->at += n;
    *got = s->lies ? cap + 1 : n;
    return PDR_OK;
}

static inline struct source source_of(pdr_str text, size_t step)
{
    struct source s = {text, 0, step, SIZE_MAX, false};

    return s;
}

/* All events as one letter each; "!" for a failure. */
static inline void letters(char *out, pdr_walk *w, pdr_err *err)
{
    static const char letter[] = "${[)ns";
    pdr_event event = PDR_END;

    do {
        if (pdr_walk_next(&event, w, err) != PDR_OK) {
            memcpy(out, "!", 2);
            return;
        }
        *out++ = letter[event];
    } while (event != PDR_END_OF_INPUT);
    *out = '\0';
}

#endif
