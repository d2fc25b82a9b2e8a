/*
 * sse.c - event streams (text/event-stream): bytes in, events out.
 *
 * WHY  Model servers send their answers this way. The bytes come in pieces of
 *      any size, so nothing may depend on where a piece ends; and nothing here
 *      reads a socket, so that a test can cut a stream at every byte.
 *
 * Lines end with LF, CRLF or CR, in any mixture. A CR ends its line at once,
 * since a sender may wait for us after it; a LF that comes next is part of it.
 *
 * Unlike a browser, an event without a blank line after it is given at the end
 * of the stream: some servers forget the last one. `is_cut` marks it, and the
 * caller decides whether its data are whole.
 *
 * NOT HERE  Reconnecting: `retry` is ignored. UTF-8: the reader of the data
 *           checks it.
 */
#include <string.h>

#include "net.h"

void pdr__sse_init(struct pdr__sse *sse, pdr__sse_fn fn, void *arg)
{
    *sse = (struct pdr__sse){.fn = fn,
                             .arg = arg,
                             .line = PDR_BUF_INIT(PDR_MAX_SSE_LINE_BYTES),
                             .data = PDR_BUF_INIT(PDR_MAX_SSE_EVENT_BYTES),
                             .event = PDR_BUF_INIT(PDR_MAX_SSE_LINE_BYTES),
                             .id = PDR_BUF_INIT(PDR_MAX_SSE_LINE_BYTES)};
}

void pdr__sse_dispose(struct pdr__sse *sse)
{
    pdr_buf_dispose(&sse->line);
    pdr_buf_dispose(&sse->data);
    pdr_buf_dispose(&sse->event);
    pdr_buf_dispose(&sse->id);
}

/* Give the event so far, if there is one, and begin the next. */
static pdr_rc sse_dispatch(struct pdr__sse *sse, bool is_cut, pdr_err *err)
{
    const struct pdr__sse_event event = {.event = pdr_buf_str(&sse->event),
                                         .id = pdr_buf_str(&sse->id),
                                         .data = pdr_buf_str(&sse->data),
                                         .is_cut = is_cut};
    pdr_rc rc = sse->has_data ? sse->fn(&event, err, sse->arg) : PDR_OK;

    pdr_buf_clear(&sse->event);
    pdr_buf_clear(&sse->data);
    sse->has_data = false;
    return rc;
}

static pdr_rc buf_set(pdr_buf *buf, pdr_str text, pdr_err *err)
{
    pdr_buf_clear(buf);
    return pdr_buf_append(buf, text, err);
}

static pdr_rc sse_add_data(struct pdr__sse *sse, pdr_str value, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (sse->has_data)
        PDR_TRY(pdr_buf_append(&sse->data, PDR_LIT("\n"), err));
    sse->has_data = true;
    rc = pdr_buf_append(&sse->data, value, err);
done:
    return rc == PDR_ELIMIT ? pdr__wrap(err, rc, "an event of the stream") : rc;
}

/* The line in `sse->line` is over. */
static pdr_rc sse_take_line(struct pdr__sse *sse, pdr_err *err)
{
    static const struct pdr__sse_event keepalive = {.is_keepalive = true};
    pdr_str line = pdr_buf_str(&sse->line), name = line, value = PDR_LIT("");
    const char *colon = NULL;

    if (!sse->is_begun && line.len >= 3 &&
        memcmp(line.ptr, "\xEF\xBB\xBF", 3) == 0)
        name = line = pdr_str_n(line.ptr + 3, line.len - 3);
    sse->is_begun = true;
    pdr_buf_clear(&sse->line); /* the bytes stay where they are */
    if (line.len == 0)
        return sse_dispatch(sse, false, err);
    colon = memchr(line.ptr, ':', line.len);
    if (colon == line.ptr)
        return sse->fn(&keepalive, err, sse->arg);
    if (colon != NULL) {
        name.len = (size_t)(colon - line.ptr);
        value = pdr_str_n(colon + 1, line.len - name.len - 1);
        if (value.len > 0 && value.ptr[0] == ' ')
            value = pdr_str_n(value.ptr + 1, value.len - 1);
    }
    if (pdr_str_equal(name, PDR_LIT("data")))
        return sse_add_data(sse, value, err);
    if (pdr_str_equal(name, PDR_LIT("event")))
        return buf_set(&sse->event, value, err);
    if (pdr_str_equal(name, PDR_LIT("id")) &&
        (value.len == 0 || memchr(value.ptr, '\0', value.len) == NULL))
        return buf_set(&sse->id, value, err);
    return PDR_OK; /* nobody knows it, as the standard wants */
}

pdr_rc pdr__sse_feed(struct pdr__sse *sse, pdr_str bytes, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t at = 0, end = 0; at < bytes.len; at = end + 1) {
        bool is_pair = sse->after_cr && bytes.ptr[at] == '\n';

        sse->after_cr = false;
        end = at;
        if (is_pair)
            continue;
        while (end < bytes.len && bytes.ptr[end] != '\n' &&
               bytes.ptr[end] != '\r')
            end++;
        rc = pdr_buf_append(&sse->line, pdr_str_n(bytes.ptr + at, end - at),
                            err);
        if (rc == PDR_ELIMIT)
            rc = pdr__wrap(err, rc, "a line of the stream");
        if (rc != PDR_OK || end == bytes.len)
            return rc;
        sse->after_cr = bytes.ptr[end] == '\r';
        rc = sse_take_line(sse, err);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}

pdr_rc pdr__sse_end(struct pdr__sse *sse, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (sse->line.len > 0)
        rc = sse_take_line(sse, err);
    return rc == PDR_OK ? sse_dispatch(sse, true, err) : rc;
}
