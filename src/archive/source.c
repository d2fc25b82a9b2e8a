/*
 * source.c - a stream of JSON: events, and the bytes that they are made of.
 *
 * WHY  What a document is may show only after its largest member, and a stream
 *      comes once. So its first bytes are kept and walked over twice: first to
 *      look, then to take apart. Each walk also feeds a skeleton, which tells
 *      what the document is as far as it was seen.
 */
#include "import.h"

void pdr__source_init(struct pdr__source *source, pdr_read_fn fn, void *arg)
{
    memset(source, 0, sizeof(*source));
    source->fn = fn;
    source->arg = arg;
    source->ahead.max = PDR_LOOK_BYTES + 1; /* and a final NUL */
}

void pdr__source_dispose(struct pdr__source *source)
{
    pdr_walk_free(source->walk);
    pdr_buf_dispose(&source->ahead);
    pdr__skeleton_dispose(&source->skeleton);
}

/* Bytes from the caller. */
static pdr_rc read_stream(size_t *got, struct pdr__source *s, void *into,
                          size_t cap, pdr_err *err)
{
    pdr_rc rc = s->fn(got, into, cap, err, s->arg);

    if (rc != PDR_OK && err != NULL)
        pdr__stream_failed(err, rc);
    if (rc != PDR_OK)
        return rc;
    if (*got > cap)
        return PDR_FAIL(err, BROKEN_CONTRACT,
                        "the stream gave %zu bytes, asked for at most %zu",
                        *got, cap);
    s->bytes += *got;
    return PDR_OK;
}

pdr_rc pdr__source_fill(struct pdr__source *source, pdr_err *err)
{
    pdr_buf *buf = &source->ahead;
    pdr_rc rc = PDR_OK;

    while (!source->whole && buf->len < PDR_LOOK_BYTES) {
        size_t room = PDR_LOOK_BYTES - buf->len, got = 0;

        if (room > PDR_WALK_WINDOW_BYTES)
            room = PDR_WALK_WINDOW_BYTES;
        PDR_TRY(pdr_buf_reserve(buf, room, err));
        PDR_TRY(read_stream(&got, source, buf->ptr + buf->len, room, err));
        buf->len += got;
        source->whole = got == 0;
    }
done:
    return rc;
}

/* For the walk: first what is kept, then the rest. */
static pdr_rc feed_walk(size_t *got, void *into, size_t cap, pdr_err *err,
                        void *arg)
{
    struct pdr__source *s = arg;
    size_t left = s->ahead.len - s->given;

    *got = left < cap ? left : cap;
    if (left > 0) {
        memcpy(into, s->ahead.ptr + s->given, *got);
        s->given += *got;
        return PDR_OK;
    }
    if (s->whole)
        return PDR_OK;
    if (s->looking) {
        s->cut = true;
        return PDR_ECANCELLED; /* nobody sees it */
    }
    pdr_buf_dispose(&s->ahead); /* it was given for the last time */
    s->given = 0;
    return read_stream(got, s, into, cap, err);
}

pdr_rc pdr__source_start(struct pdr__source *source, bool looking, pdr_err *err)
{
    const pdr_read_opts opts = {
        .flags = source->bare_tokens ? PDR_BARE_TOKENS : 0,
        .max_depth = PDR_IMPORT_DEPTH,
        .max_bytes = PDR_MAX_ROW_BYTES,
    };
    pdr_rc rc = PDR_OK;

    pdr_walk_free(source->walk);
    source->walk = NULL;
    pdr__skeleton_dispose(&source->skeleton);
    source->given = 0;
    source->looking = looking;
    source->cut = false;
    source->event = PDR_END_OF_INPUT;
    PDR_TRY(pdr_walk_new(&source->walk, &pdr__json_codec, &opts, err, feed_walk,
                         source));
    source->window = pdr__walk_window(source->walk);
done:
    return rc;
}

pdr_rc pdr__source_next(struct pdr__source *source, pdr_err *err)
{
    struct pdr__source *s = source;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_walk_next(&s->event, s->walk, err));
    s->value = pdr_walk_value(s->walk);
    s->depth = pdr_walk_depth(s->walk);
    s->begin = pdr_walk_offset(s->walk);
    s->end = pdr__window_passed(s->window);
    PDR_TRY(
        pdr__skeleton_feed(&s->skeleton, s->event, s->value, s->depth, err));
done:
    return rc;
}
