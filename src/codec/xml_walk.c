/*
 * xml_walk.c - XML from a stream, event by event, in bounded memory.
 *
 * WHY  expat takes bytes as they come and keeps only what it could not finish.
 *      It is given slices of a window, and suspended at each event.
 *
 *        stream ─► window ─► slice ─► expat ─► pending events ─► caller
 *
 * INVARIANTS
 *   W1  In the window, `event` is the first byte of the slice that expat works
 *       on and `pos` the one behind it.
 *   W2  What expat goes over again of a tag stays within a few times its length
 *       and a window, so the time for it grows with its length and not faster.
 */
#include "xml_core.h"

/* Times that each byte of a long tag is gone over because of a ">" in it. Few
 * tags have any in an attribute; for one that does not end with the last of
 * these, it has to double. */
#define MAX_RETRIES 8

struct xml_walk {
    struct xml_parser x;
    struct window in;
    bool sequence, suspended, started, finished;
    unsigned given; /* of x.pending */
    int64_t offset; /* of the last event */
};

pdr_rc pdr__xml_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                          pdr_read_fn fn, void *arg)
{
    struct xml_walk *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return pdr__nomem(err);
    pdr__window_init(&w->in, fn, arg);
    pdr_rc rc = pdr__xml_init(&w->x, opts, err);
    if (rc != PDR_OK) {
        pdr__xml_walk_close(w);
        return rc;
    }
    w->sequence = w->x.one = (opts->flags & PDR_SEQUENCE) != 0;
    w->x.max_scalar = w->x.limits.bytes;
    w->x.max_tag = w->x.limits.bytes + PDR_WALK_WINDOW_BYTES;
    if (w->x.max_tag > PDR_MAX_TAG_BYTES)
        w->x.max_tag = PDR_MAX_TAG_BYTES;
    *self = w;
    return PDR_OK;
}

void pdr__xml_walk_close(void *self)
{
    struct xml_walk *w = self;

    pdr__xml_dispose(&w->x);
    pdr__window_dispose(&w->in);
    pdr__free(w);
}

int64_t pdr__xml_walk_offset(const void *self)
{
    const struct xml_walk *w = self;

    return w->offset;
}

static size_t left_in_window(const struct xml_walk *w)
{
    return w->in.buf.len - w->in.pos;
}

static bool fill(struct xml_walk *w)
{
    w->in.event = w->in.pos; /* expat has what lies before */
    w->x.rc = pdr__window_fill(&w->in, &w->x.err);
    return w->x.rc == PDR_OK;
}

/* Between documents: white space of one byte. UTF-16 is left to expat. */
static bool at_space(const struct xml_walk *w)
{
    const char *p = w->in.buf.ptr + w->in.pos;
    size_t left = left_in_window(w);

    return left > 0 && xml_is_space(p[0]) && !(left > 1 && p[1] == '\0');
}

/* Go to the first byte of a document; two bytes tell what it is. */
static void start_document(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    for (;;) {
        while (left_in_window(w) < 2 && !w->in.at_end)
            if (!fill(w))
                return;
        if (!w->sequence || !at_space(w))
            break;
        x->column++;
        if (w->in.buf.ptr[w->in.pos] == '\n') {
            x->line++;
            x->column = 0;
        }
        w->in.pos++;
    }
    if (w->sequence && left_in_window(w) == 0) {
        w->finished = true;
        return;
    }
    w->in.event = w->in.pos;
    x->base = w->in.base + (int64_t)w->in.pos;
    pdr__xml_begin(x, w->in.buf.ptr + w->in.pos, left_in_window(w));
    w->started = true;
}

/* The root element of one of several documents has ended: forget it. */
static void end_document(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    w->in.event = w->in.pos = (size_t)(x->end - w->in.base);
    w->suspended = w->started = false;
    pdr__xml_reset(x);
}

/* Bytes that expat gets at once: a window, or as many again as it could not
 * finish. So no text or white space is ever longer than a tag may be. */
static size_t slice_bytes(const struct xml_walk *w)
{
    return w->x.unfinished > PDR_WALK_WINDOW_BYTES ? w->x.unfinished
                                                   : PDR_WALK_WINDOW_BYTES;
}

/* May a tag be tried again for each ">" (W2)? */
static bool is_eager(const struct xml_walk *w)
{
    return w->x.retried / MAX_RETRIES <=
           w->x.unfinished + PDR_WALK_WINDOW_BYTES / MAX_RETRIES;
}

/* Have as much as makes it worth while to try again. A tag can have its end
 * only in bytes that have a ">", and who sends it may wait for an answer; but
 * trying a long one for each of them would take time that grows with its
 * square. */
static bool collect(struct xml_walk *w)
{
    bool eager = is_eager(w);
    size_t looked = 0;

    for (;;) {
        size_t left = left_in_window(w);
        const char *fresh = w->in.buf.ptr + w->in.pos + looked;
        if (eager && left > looked && memchr(fresh, '>', left - looked) != NULL)
            return true;
        if (w->in.at_end || left >= slice_bytes(w))
            return true;
        looked = left;
        if (!fill(w))
            return false;
    }
}

static enum xml_status feed(struct xml_walk *w)
{
    size_t left = left_in_window(w), most = slice_bytes(w);
    const char *from = left > 0 ? w->in.buf.ptr + w->in.pos : "";
    size_t len = pdr__xml_piece(&w->x, from, left < most ? left : most);

    w->in.event = w->in.pos;
    w->in.pos += len;
    return pdr__xml_feed(&w->x, from, len, w->in.at_end && len == left);
}

/* What expat could not finish gets a limit, too. */
static void check_progress(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    if (x->rc == PDR_OK && x->unfinished > x->max_tag)
        XML_FAIL(x, TOO_LARGE, "a tag or comment of more than %zu bytes",
                 x->max_tag);
}

/* expat gave up. A sequence may end where no document begins. */
static void stop(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    if (w->sequence && w->in.at_end && pdr__xml_has_nothing(x))
        w->finished = true;
    else
        pdr__xml_refuse(x);
}

/* Let expat go on until there are events, a failure or the end. */
static void advance(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;
    enum xml_status status;

    if (w->sequence && x->done)
        end_document(w);
    if (x->rc == PDR_OK && !w->started)
        start_document(w);
    if (x->rc != PDR_OK || w->finished)
        return;
    if (w->suspended) {
        status = pdr__xml_resume(x);
    } else {
        if (!collect(w))
            return;
        status = feed(w);
    }
    w->suspended = status == XML_SUSPENDED_AT_EVENT;
    if (status == XML_STOPPED) {
        stop(w);
        return;
    }
    check_progress(w);
    if (!w->suspended && w->in.at_end && left_in_window(w) == 0)
        w->finished = true;
}

pdr_rc pdr__xml_walk_next(pdr_event *event, pdr_value **value, void *self,
                          pdr_err *err)
{
    struct xml_walk *w = self;
    struct xml_parser *x = &w->x;

    if (w->given == x->pending_count) {
        w->given = x->pending_count = 0;
        while (x->pending_count == 0 && x->rc == PDR_OK && !w->finished)
            advance(w);
    }
    if (w->given == x->pending_count) {
        if (x->rc != PDR_OK)
            return pdr__xml_give_failure(x, err);
        w->offset = w->in.base + (int64_t)w->in.pos;
        *event = PDR_END_OF_INPUT;
        return PDR_OK;
    }
    const struct xml_event *next = &x->pending[w->given++];
    w->offset = next->offset;
    *event = next->event;
    if (next->event != PDR_NAME && next->event != PDR_SCALAR)
        return PDR_OK;
    return pdr__value_new_span(value, next->span, next->info, err);
}
