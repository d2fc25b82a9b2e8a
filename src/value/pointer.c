/*
 * pointer.c - JSON Pointer (RFC 6901).
 */
#include "core.h"

pdr_rc pdr_pointer_push(pdr_buf *pointer, pdr_str token, pdr_err *err)
{
    size_t extra = 1 + token.len; /* at most twice what is in memory */

    PDR_REQUIRE(pointer != NULL);
    for (size_t i = 0; i < token.len; i++)
        extra += token.ptr[i] == '~' || token.ptr[i] == '/';
    pdr_rc rc = pdr__buf_room(pointer, extra, err);
    if (rc != PDR_OK)
        return rc;
    char *out = pointer->ptr + pointer->len;
    *out++ = '/';
    for (size_t i = 0; i < token.len; i++) {
        char c = token.ptr[i];
        bool is_special = c == '~' || c == '/';
        *out++ = is_special ? '~' : c;
        if (is_special)
            *out++ = c == '~' ? '0' : '1';
    }
    pointer->len += extra;
    return PDR_OK;
}
