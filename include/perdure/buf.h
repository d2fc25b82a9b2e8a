/*
 * perdure/buf.h - a growing run of bytes with a ceiling.
 *
 * The caller has the storage of the struct, the bytes come from the library's
 * allocator. Every buffer has a maximum that its owner chose; there is no
 * default. A call that fails leaves the buffer as it was.
 */
#ifndef PERDURE_BUF_H
#define PERDURE_BUF_H

#include <perdure/errors.h>

PDR_BEGIN_DECLS

typedef struct pdr_buf {
    char *ptr;  /* owned; NULL while nothing was reserved */
    size_t len; /* bytes in use */
    size_t cap; /* bytes reserved */
    size_t max; /* bytes that `len` may reach */
} pdr_buf;

/* clang-format off */
#define PDR_BUF_INIT(max_bytes) {NULL, 0, 0, (max_bytes)}
/* clang-format on */

/** Release the bytes. The buffer can be used again. NULL is fine.
 * @thread owner @since 0.1 */
PDR_API void pdr_buf_dispose(pdr_buf *buf);

/** Forget the content, keep the memory. @thread owner @since 0.1 */
PDR_API void pdr_buf_clear(pdr_buf *buf);

/** View of the content; valid until the buffer changes.
 * @thread owner @since 0.1 */
static inline pdr_str pdr_buf_str(const pdr_buf *buf)
{
    return pdr_str_n(buf->ptr, buf->len);
}

/** Make room for `extra` more bytes.
 * @return PDR_OK, PDR_ENOMEM, PDR_ELIMIT (reason "buffer_full").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_buf_reserve(pdr_buf *buf, size_t extra,
                                              pdr_err *err);

/** Append bytes; `text` must not lie in `buf`. Fails as pdr_buf_reserve().
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_buf_append(pdr_buf *buf, pdr_str text,
                                             pdr_err *err);

/** Append what printf would print. Fails as pdr_buf_reserve(), and with
 * PDR_EINVALID if the format cannot be printed. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_buf_printf(pdr_buf *buf, pdr_err *err,
                                             const char *fmt, ...)
    PDR_PRINTF(3, 4);

PDR_END_DECLS

#endif
