/*
 * perdure/types.h - the few types that every other header uses.
 */
#ifndef PERDURE_TYPES_H
#define PERDURE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define PDR_BEGIN_DECLS extern "C" {
#define PDR_END_DECLS   }
#else
#define PDR_BEGIN_DECLS
#define PDR_END_DECLS
#endif

#if defined(__GNUC__)
#define PDR_API               __attribute__((visibility("default")))
#define PDR_MUST_CHECK        __attribute__((warn_unused_result))
#define PDR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PDR_API
#define PDR_MUST_CHECK
#define PDR_PRINTF(fmt, args)
#endif

PDR_BEGIN_DECLS

/* Text or bytes with a length; may hold NUL, is not terminated. A view: it
 * owns nothing and lives as long as what it was taken from. */
typedef struct pdr_str {
    const char *ptr;
    size_t len; /* bytes */
} pdr_str;

/** A view of `len` bytes at `ptr`. @thread any @since 0.1 */
static inline pdr_str pdr_str_n(const char *ptr, size_t len)
{
    pdr_str s;

    s.ptr = ptr;
    s.len = len;
    return s;
}

/** A view of a NUL-terminated text; NULL gives the empty view.
 * @thread any @since 0.1 */
static inline pdr_str pdr_str_c(const char *text)
{
    return pdr_str_n(text, text != NULL ? strlen(text) : 0);
}

/** Are these the same bytes? @thread any @since 0.1 */
static inline bool pdr_str_equal(pdr_str a, pdr_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

PDR_END_DECLS

#endif
