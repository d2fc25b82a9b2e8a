/*
 * perdure/errors.h - how calls fail: a code to react to, and a detail to show.
 *
 * Every call that can fail returns a pdr_rc and takes a `pdr_err *` as its last
 * argument (before a callback or a format), which may be NULL. The detail
 * belongs to the caller and is plain data: there is no hidden last error, and
 * it may be copied to another thread.
 */
#ifndef PERDURE_ERRORS_H
#define PERDURE_ERRORS_H

#include <perdure/types.h>

PDR_BEGIN_DECLS

/* One row per code: name, number, exit status of the command, meaning. The
 * numbers reach logs and the wire: never renumber. */
#define PDR_ERROR_MAP(X)                                            \
    X(NOMEM, -1, 70, "out of memory")                               \
    X(INVALID, -2, 6, "the input breaks a rule")                    \
    X(LIMIT, -3, 6, "a limit was reached")                          \
    X(NOTFOUND, -4, 3, "no such thing")                             \
    X(EXISTS, -5, 5, "there is one already")                        \
    X(CONFLICT, -6, 5, "another writer came first")                 \
    X(FENCED, -7, 5, "the lease was taken by somebody else")        \
    X(BUSY, -8, 5, "in use right now")                              \
    X(TIMEOUT, -9, 8, "the time is over")                           \
    X(CANCELLED, -10, 130, "cancelled by the caller")               \
    X(CORRUPT, -11, 9, "stored data is damaged")                    \
    X(VERSION, -12, 6, "a version that this library does not read") \
    X(IO, -13, 9, "the system could not read or write")             \
    X(UNKNOWN, -14, 9, "the outcome is not known")                  \
    X(DENIED, -15, 4, "not allowed")                                \
    X(MODEL, -16, 7, "the model server failed")                     \
    X(UNSUPPORTED, -17, 2, "not offered here")                      \
    X(MISUSE, -18, 70, "the caller broke the contract")

typedef enum pdr_rc { /* what the caller can react to */
                      PDR_OK = 0,
#define PDR_ERROR_ENUM(name, value, exit_code, text) PDR_E##name = (value),
                      PDR_ERROR_MAP(PDR_ERROR_ENUM)
#undef PDR_ERROR_ENUM
} pdr_rc;

#define PDR_ERR_PATH    128 /* bytes of a path, the final NUL included */
#define PDR_ERR_MESSAGE 240 /* bytes of a message, the final NUL included */

/* Detail of one failure. Plain data: copy it, queue it, hand it to a thread. */
typedef struct pdr_err {
    pdr_rc code;        /* what the call returned; on success all stays */
    int sys;            /* errno, SQLite or libpq code; 0 if none */
    int64_t offset;     /* byte in the input; -1 if not about input */
    const char *reason; /* stable slug of the exact cause; static */
    const char *where;  /* "file.c:123" that raised it; static */
    /* JSON Pointer into the input, "" for the root or if there is none. What
     * JSON escapes in a string is escaped here, so it can be printed. One that
     * is too long lost its front and begins with "..." instead of "/". */
    char path[PDR_ERR_PATH];
    char message[PDR_ERR_MESSAGE]; /* one line, no final period */
} pdr_err;

/* clang-format off */
#define PDR_ERR_INIT {PDR_OK, 0, -1, "", "", {0}, {0}}
/* clang-format on */

/** Name of a code, as in "NOTFOUND"; "OK" for PDR_OK, "?" for what is no code.
 * Static text. @thread any @since 0.1 */
PDR_API const char *pdr_rc_name(pdr_rc rc);

/** Meaning of a code in a few words. Static text. @thread any @since 0.1 */
PDR_API const char *pdr_rc_text(pdr_rc rc);

/** Exit status that the command gives for a code: 0, 2 to 9, 70 or 130; 1 for
 * what is no code. @thread any @since 0.1 */
PDR_API int pdr_rc_exit_status(pdr_rc rc);

/** The code that goes with a reason, as in "model_failed": for those who read
 * one in a record. @return PDR_OK if the library has no such reason.
 * @thread any @since 0.1 */
PDR_API pdr_rc pdr_reason_code(pdr_str reason);

/**
 * Fill a detail from outside the library, as a callback or plug-in does.
 *
 * @param[out] err  detail to fill; NULL is fine.
 * @param code      what the callback is going to return.
 * @param reason    borrowed, must outlive `err`: a literal slug.
 * @param fmt       printf format of the message.
 * @return `code`, so that a callback can return the call.
 * @thread owner  @since 0.1
 */
PDR_API pdr_rc pdr_err_set(pdr_err *err, pdr_rc code, const char *reason,
                           const char *fmt, ...) PDR_PRINTF(4, 5);

/**
 * Line and column of a byte offset, both counted from 1. Lines end with LF,
 * CR LF or a lone CR; a column is a code point, or a byte where the text is not
 * UTF-8. An offset past the end counts as the end, a negative one as 0.
 *
 * @param[out] line    may be NULL.
 * @param[out] column  may be NULL.
 * @param input        borrowed for the call: the text that `offset` is about.
 * @thread any  @since 0.1
 */
PDR_API void pdr_err_locate(size_t *line, size_t *column, pdr_str input,
                            int64_t offset);

PDR_END_DECLS

#endif
