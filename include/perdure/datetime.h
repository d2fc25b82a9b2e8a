/*
 * perdure/datetime.h - instants, and the ways in which documents spell them.
 *
 * A tick is 100 ns. Ticks of an instant count from 0001-01-01T00:00:00Z, in
 * the Gregorian calendar.
 */
#ifndef PERDURE_DATETIME_H
#define PERDURE_DATETIME_H

#include <perdure/buf.h>

PDR_BEGIN_DECLS

#define PDR_TICKS_PER_MS     INT64_C(10000)
#define PDR_TICKS_PER_SECOND (1000 * PDR_TICKS_PER_MS)
#define PDR_TICKS_UNIX_EPOCH INT64_C(621355968000000000)  /* 1970-01-01 */
#define PDR_MAX_TICKS        INT64_C(3155378975999999999) /* end of 9999 */

typedef struct pdr_datetime {
    int64_t ticks;      /* the instant, 0 to PDR_MAX_TICKS */
    int16_t offset_min; /* minutes east of UTC; 0 without an offset */
    bool has_offset;    /* false: none was written, taken for UTC */
    bool has_time;      /* false: a date alone, taken for midnight */
} pdr_datetime;

/* Who wants to read the text. */
typedef enum pdr_datetime_form {
    PDR_DATETIME_OURS = 0,          /* UTC as +00:00, up to 6 digits, trimmed */
    PDR_DATETIME_OURS_Z = 1,        /* the same with Z */
    PDR_DATETIME_DOTNET_OFFSET = 2, /* DateTimeOffset: up to 7 digits, trimmed
                                     */
    PDR_DATETIME_DOTNET_UTC = 3,    /* DateTime in UTC: the same with Z */
    PDR_DATETIME_PYTHON = 4         /* isoformat(): 6 digits or none */
} pdr_datetime_form;

/** The system's time, in ticks: for callers. Nothing in the library that works
 * with a document asks for it. @thread any @since 0.1 */
PDR_API int64_t pdr_now(void);

/** An instant in UTC. @thread any @since 0.1 */
static inline pdr_datetime pdr_datetime_utc(int64_t ticks)
{
    pdr_datetime out;

    out.ticks = ticks;
    out.offset_min = 0;
    out.has_offset = true;
    out.has_time = true;
    return out;
}

/** Which instant comes first? Below, at or above 0; offsets play no part.
 * @thread any @since 0.1 */
static inline int pdr_datetime_compare(const pdr_datetime *a,
                                       const pdr_datetime *b)
{
    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

/** Read a date-time: RFC 3339 in either case and a little more (a date alone, a
 * space for the T, no seconds, any number of digits, Z, +hh, +hhmm, +hh:mm).
 * All of `text` is used.
 * @return PDR_OK, or PDR_EINVALID with the offset: reason "bad_datetime", or
 *         "datetime_range" if it is not in the years 0001 to 9999.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_datetime_read(pdr_datetime *out, pdr_str text,
                                                pdr_err *err);

/** Append the text. Digits that the form has no room for are cut.
 * @return as pdr_buf_reserve(), or PDR_EINVALID (reason "datetime_range") if
 *         the form cannot hold the value: .NET has no offset beyond 14 hours.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_datetime_write(pdr_buf *out,
                                                 const pdr_datetime *value,
                                                 pdr_datetime_form form,
                                                 pdr_err *err);

PDR_END_DECLS

#endif
