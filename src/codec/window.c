/*
 * window.c - the part of a stream that a walk looks at.
 *
 * WHY  A token may lie across two pieces of a stream, and a value that is taken
 *      across many. The window keeps what is needed and drops the rest.
 *
 * INVARIANT
 *   W1  event <= pos <= buf.len, and one byte behind buf.len is reserved.
 *   W2  base <= hold, unless nothing is held.
 */
#include "codec.h"

void pdr__window_init(struct window *window, pdr_read_fn fn, void *arg)
{
    memset(window, 0, sizeof(*window));
    window->buf.max = SIZE_MAX;
    window->hold = -1;
    window->fn = fn;
    window->arg = arg;
}

void pdr__window_dispose(struct window *window)
{
    pdr_buf_dispose(&window->buf);
}

/* Forget what lies before the last event, and before what is held. */
static void slide(struct window *w)
{
    size_t gone = w->event;

    if (w->hold >= 0 && w->hold - w->base < (int64_t)gone)
        gone = (size_t)(w->hold - w->base); /* W2 */
    if (gone == 0)
        return;
    memmove(w->buf.ptr, w->buf.ptr + gone, w->buf.len - gone);
    w->buf.len -= gone;
    w->pos -= gone;
    w->base += (int64_t)gone;
    w->event -= gone;
}

pdr_str pdr__window_text(const struct window *window, int64_t from, int64_t to)
{
    assert(window->base <= from && from <= to);
    assert(to - window->base <= (int64_t)window->buf.len);
    return pdr_str_n(window->buf.ptr + (from - window->base),
                     (size_t)(to - from));
}

pdr_rc pdr__window_fill(struct window *window, pdr_err *err)
{
    struct window *w = window;
    size_t got = 0;

    if (w->at_end)
        return PDR_OK;
    if (w->buf.cap - w->buf.len < PDR_WALK_WINDOW_BYTES / 2) {
        slide(w);
        pdr_rc rc = pdr_buf_reserve(&w->buf, PDR_WALK_WINDOW_BYTES, err);
        if (rc != PDR_OK)
            return rc;
    }
    size_t room = w->buf.cap - w->buf.len - 1; /* W1 */
    pdr_rc rc = w->fn(&got, w->buf.ptr + w->buf.len, room, err, w->arg);
    if (rc != PDR_OK) {
        pdr__stream_failed(err, rc);
        return rc;
    }
    if (got > room)
        return PDR_FAIL(err, BROKEN_CONTRACT,
                        "the stream gave %zu bytes, asked for at most %zu", got,
                        room);
    w->at_end = got == 0;
    w->buf.len += got;
    return PDR_OK;
}
