/*
 * buf.c - growing bytes with a ceiling.
 */
#include <stdio.h>

#include "base.h"

void pdr_buf_dispose(pdr_buf *buf)
{
    if (buf == NULL)
        return;
    pdr__free(buf->ptr);
    buf->ptr = NULL;
    buf->len = 0;
    buf->cap = 0;
}

void pdr_buf_clear(pdr_buf *buf)
{
    buf->len = 0;
}

pdr_rc pdr_buf_reserve(pdr_buf *buf, size_t extra, pdr_err *err)
{
    size_t need = 0;

    PDR_REQUIRE(buf != NULL);
    if (!pdr__add_size(&need, buf->len, extra) || need > buf->max)
        return PDR_FAIL(err, BUFFER_FULL,
                        "%zu more bytes do not fit: %zu of at most %zu used",
                        extra, buf->len, buf->max);
    if (need <= buf->cap)
        return PDR_OK;
    /* Half as much again, so that appending byte by byte stays linear. */
    size_t cap = buf->cap + buf->cap / 2;
    if (cap < need)
        cap = need;
    if (cap < 64)
        cap = 64;
    if (cap > buf->max)
        cap = buf->max;
    char *ptr = pdr__realloc(buf->ptr, cap);
    if (ptr == NULL)
        return pdr__nomem(err);
    buf->ptr = ptr;
    buf->cap = cap;
    return PDR_OK;
}

pdr_rc pdr_buf_append(pdr_buf *buf, pdr_str text, pdr_err *err)
{
    PDR_REQUIRE(buf != NULL);
    pdr_rc rc = pdr__buf_room(buf, text.len, err);
    if (rc != PDR_OK)
        return rc;
    if (text.len > 0)
        memcpy(buf->ptr + buf->len, text.ptr, text.len);
    buf->len += text.len;
    return PDR_OK;
}

pdr_rc pdr_buf_printf(pdr_buf *buf, pdr_err *err, const char *fmt, ...)
{
    va_list args, again;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(buf != NULL && fmt != NULL);
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0) {
        rc = PDR_FAIL(err, BAD_FORMAT, "cannot print the format '%s'", fmt);
        goto done;
    }
    rc = pdr_buf_reserve(buf, (size_t)len, err);
    if (rc != PDR_OK)
        goto done;
    /* vsnprintf() wants room for a NUL that is no part of the content. */
    pdr_buf grown = *buf;
    grown.max = buf->max < SIZE_MAX ? buf->max + 1 : buf->max;
    rc = pdr_buf_reserve(&grown, (size_t)len + 1, err);
    buf->ptr = grown.ptr;
    buf->cap = grown.cap;
    if (rc != PDR_OK)
        goto done;
    (void)vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
    buf->len += (size_t)len;
done:
    va_end(again);
    return rc;
}
