/*
 * net.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_NET_H
#define PDR_NET_H

#include "base.h"

/* --- event streams (sse.c) -------------------------------------------------
 */

struct pdr__sse_event {
    pdr_str event;     /* its type, or empty */
    pdr_str id;        /* the last one that the stream gave, or empty */
    pdr_str data;      /* its data lines, joined with LF */
    bool is_keepalive; /* a comment: no event, but the sender is alive */
    bool is_cut;       /* the stream ended before the blank line after it */
};

/* All borrowed for the call. Another code than PDR_OK ends the feeding. */
typedef pdr_rc (*pdr__sse_fn)(const struct pdr__sse_event *event, pdr_err *err,
                              void *arg);

struct pdr__sse {
    pdr__sse_fn fn;
    void *arg;
    pdr_buf line;            /* the line so far */
    pdr_buf data, event, id; /* of the event so far */
    bool has_data;           /* of the event so far */
    bool after_cr;           /* a LF now belongs to the CR before it */
    bool is_begun;           /* the first line is over */
};

/* `fn` and `arg` are borrowed until pdr__sse_dispose(). */
void pdr__sse_init(struct pdr__sse *sse, pdr__sse_fn fn, void *arg);
/* Some more bytes. Fails with BUFFER_FULL for a line or an event that is too
 * long, NO_MEMORY, or what `fn` returned; then it takes no more. */
PDR_MUST_CHECK pdr_rc pdr__sse_feed(struct pdr__sse *sse, pdr_str bytes,
                                    pdr_err *err);
/* The stream is over: what is left is given. Fails as pdr__sse_feed(). */
PDR_MUST_CHECK pdr_rc pdr__sse_end(struct pdr__sse *sse, pdr_err *err);
void pdr__sse_dispose(struct pdr__sse *sse);

#endif
