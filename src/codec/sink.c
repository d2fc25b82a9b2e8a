/*
 * sink.c - output that is handed to a stream in pieces of a good size.
 */
#include "codec.h"

void pdr__sink_init(struct sink *sink, pdr_write_fn fn, void *arg)
{
    memset(sink, 0, sizeof(*sink));
    sink->buf.max = SIZE_MAX;
    sink->fn = fn;
    sink->arg = arg;
}

void pdr__sink_dispose(struct sink *sink)
{
    pdr_buf_dispose(&sink->buf);
}

pdr_rc pdr__sink_flush(struct sink *sink, pdr_err *err)
{
    pdr_err detail = PDR_ERR_INIT;

    if (sink->buf.len == 0)
        return PDR_OK;
    pdr_rc rc = sink->fn(pdr_buf_str(&sink->buf), &detail, sink->arg);
    if (rc != PDR_OK) {
        pdr__stream_failed(&detail, rc);
        if (err != NULL)
            *err = detail;
        return rc;
    }
    pdr_buf_clear(&sink->buf);
    return PDR_OK;
}

pdr_rc pdr__sink_ease(struct sink *sink, pdr_err *err)
{
    return sink->buf.len < PDR_WALK_WINDOW_BYTES ? PDR_OK
                                                 : pdr__sink_flush(sink, err);
}
