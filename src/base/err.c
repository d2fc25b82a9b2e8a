/*
 * err.c - codes, reasons and the detail of a failure.
 *
 * WHY  A failure is a code that the caller can react to plus a detail that the
 *      caller owns. pdr__fail() is the one place where a detail is filled, so
 *      one breakpoint sees every error.
 *
 * INVARIANTS
 *   E1  On success nobody touches the caller's detail.
 *   E2  Message and path are always terminated and never cut inside a UTF-8
 *       sequence, a path never inside an escape either.
 *   E3  A path that was cut begins with "...", any other with "/" or nothing.
 */
#include <stdio.h>

#include "base.h"

static const struct reason {
    pdr_rc code;
    const char *slug;
} reasons[] = {
#define REASON_ROW(name, code, slug) {PDR_E##code, slug},
    PDR_REASON_MAP(REASON_ROW)
#undef REASON_ROW
};

const char *pdr__reason_slug(enum pdr__reason reason)
{
    return reasons[reason].slug;
}

bool pdr__err_is(const pdr_err *err, enum pdr__reason reason)
{
    return err->code != PDR_OK && err->reason != NULL &&
           strcmp(err->reason, reasons[reason].slug) == 0;
}

pdr_rc pdr__err_pass(pdr_err *err, const pdr_err *why)
{
    if (err != NULL)
        *err = *why;
    return why->code;
}

pdr_rc pdr__reason_rc(enum pdr__reason reason)
{
    return reasons[reason].code;
}

pdr_rc pdr_reason_code(pdr_str reason)
{
    for (size_t i = 0; i < PDR_COUNT(reasons); i++) {
        if (pdr_str_equal(reason, pdr_str_c(reasons[i].slug)))
            return reasons[i].code;
    }
    return PDR_OK;
}

const char *pdr_rc_name(pdr_rc rc)
{
    switch (rc) {
    case PDR_OK:
        return "OK";
#define RC_NAME(name, value, exit_code, text) \
    case PDR_E##name:                         \
        return #name;
        PDR_ERROR_MAP(RC_NAME)
#undef RC_NAME
    }
    return "?";
}

const char *pdr_rc_text(pdr_rc rc)
{
    switch (rc) {
    case PDR_OK:
        return "success";
#define RC_TEXT(name, value, exit_code, text) \
    case PDR_E##name:                         \
        return text;
        PDR_ERROR_MAP(RC_TEXT)
#undef RC_TEXT
    }
    return "no code of this library";
}

int pdr_rc_exit_status(pdr_rc rc)
{
    switch (rc) {
    case PDR_OK:
        return 0;
#define RC_EXIT(name, value, exit_code, text) \
    case PDR_E##name:                         \
        return exit_code;
        PDR_ERROR_MAP(RC_EXIT)
#undef RC_EXIT
    }
    return 1;
}

const char *pdr_version(void)
{
    return PDR_VERSION;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0u) == 0x80u;
}

/* Remove a UTF-8 sequence that snprintf() cut at the end of `text` (E2). */
static void trim_cut_sequence(char *text, size_t len)
{
    size_t start = len;

    while (start > 0 && len - start < 3 && is_continuation(text[start - 1]))
        start--;
    if (start == 0 || (unsigned char)text[start - 1] < 0xC0u)
        return;
    start--;
    unsigned char lead = (unsigned char)text[start];
    size_t need = lead >= 0xF0u ? 4 : lead >= 0xE0u ? 3 : 2;
    if (len - start < need)
        text[start] = '\0';
}

static void fill(pdr_err *err, pdr_rc code, const char *reason,
                 const char *where, const char *fmt, va_list args)
{
    err->code = code;
    err->sys = 0;
    err->offset = -1;
    err->reason = reason;
    err->where = where;
    err->path[0] = '\0';
    int len = vsnprintf(err->message, sizeof(err->message), fmt, args);
    if (len < 0)
        err->message[0] = '\0';
    else if ((size_t)len >= sizeof(err->message))
        trim_cut_sequence(err->message, sizeof(err->message) - 1);
}

void pdr__fail(pdr_err *err, enum pdr__reason reason, const char *where,
               const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return;
    va_start(args, fmt);
    fill(err, reasons[reason].code, reasons[reason].slug, where, fmt, args);
    va_end(args);
}

pdr_rc pdr_err_set(pdr_err *err, pdr_rc code, const char *reason,
                   const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, fmt);
    fill(err, code, reason, "", fmt, args);
    va_end(args);
    return code;
}

void pdr__err_at(pdr_err *err, size_t offset)
{
    if (err != NULL)
        err->offset = (int64_t)offset;
}

pdr_rc pdr__nomem(pdr_err *err)
{
    return PDR_FAIL(err, NO_MEMORY, "out of memory");
}

pdr_rc pdr__wrap(pdr_err *err, pdr_rc rc, const char *fmt, ...)
{
    char whole[2 * PDR_ERR_MESSAGE];
    va_list args;

    if (err == NULL)
        return rc;
    va_start(args, fmt);
    int len = vsnprintf(whole, PDR_ERR_MESSAGE, fmt, args);
    va_end(args);
    if (len < 0)
        return rc;
    size_t used = (size_t)len < PDR_ERR_MESSAGE ? (size_t)len
                                                : (size_t)PDR_ERR_MESSAGE - 1;
    (void)snprintf(whole + used, sizeof(whole) - used, ": %s", err->message);
    size_t total = strlen(whole);
    size_t kept = total < PDR_ERR_MESSAGE ? total : PDR_ERR_MESSAGE - 1;
    memcpy(err->message, whole, kept);
    err->message[kept] = '\0';
    trim_cut_sequence(err->message, kept);
    return rc;
}

/* Where the rest of a path that is cut begins: at `at` or behind it, between
 * two characters (E2). Only from the front can it be told which backslash
 * begins an escape. */
static size_t rest_of_path(pdr_str path, size_t at)
{
    size_t begin = 0;

    while (begin < at && begin < path.len) {
        bool escape = path.ptr[begin] == '\\' && begin + 1 < path.len;

        if (!escape)
            begin++;
        else
            begin += path.ptr[begin + 1] == 'u' ? 6 : 2;
    }
    while (begin < path.len && is_continuation(path.ptr[begin]))
        begin++;
    return begin < path.len ? begin : path.len;
}

void pdr__err_path(pdr_err *err, pdr_str path)
{
    static const char mark[] = "...";
    const size_t room = PDR_ERR_PATH - 1;

    if (err == NULL)
        return;
    if (path.len <= room) {
        if (path.len > 0)
            memcpy(err->path, path.ptr, path.len);
        err->path[path.len] = '\0';
        return;
    }
    size_t begin = rest_of_path(path, path.len - (room - (sizeof(mark) - 1)));
    size_t len = path.len - begin;
    memcpy(err->path, mark, sizeof(mark) - 1);
    memcpy(err->path + sizeof(mark) - 1, path.ptr + begin, len);
    err->path[sizeof(mark) - 1 + len] = '\0';
}

const char *pdr__shown(char out[PDR_SHOWN], pdr_str text)
{
    size_t at = 0, len = 0;

    while (at < text.len) {
        size_t one = pdr__utf8_len(text.ptr + at, text.ptr + text.len);
        unsigned char c = (unsigned char)text.ptr[at];
        if (len + (one > 0 ? one : 1) > PDR_SHOWN - 4)
            break;
        if (one == 0 || c < 0x20 || c == 0x7F) {
            out[len++] = '?';
            at++;
            continue;
        }
        memcpy(out + len, text.ptr + at, one);
        len += one;
        at += one;
    }
    memcpy(out + len, at < text.len ? "..." : "", at < text.len ? 4 : 1);
    return out;
}

void pdr_err_locate(size_t *line, size_t *column, pdr_str input, int64_t offset)
{
    size_t lines = 1, columns = 1;
    size_t end = offset < 0 ? 0 : (size_t)offset;

    if (end > input.len)
        end = input.len;
    for (size_t i = 0; i < end;) {
        char c = input.ptr[i];
        bool cr_before_lf =
            c == '\r' && i + 1 < input.len && input.ptr[i + 1] == '\n';
        size_t len = pdr__utf8_len(input.ptr + i, input.ptr + input.len);

        i += len > 0 ? len : 1;
        if (c == '\n' || (c == '\r' && !cr_before_lf)) {
            lines++;
            columns = 1;
        } else if (i <= end) { /* not in the middle of a character */
            columns++;
        }
    }
    if (line != NULL)
        *line = lines;
    if (column != NULL)
        *column = columns;
}
