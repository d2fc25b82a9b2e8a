/*
 * datetime.c - date-times as documents spell them.
 *
 * WHY  Each edition spells dates in its own way, and people write more. We read
 *      RFC 3339 and a little more, so that no stored document is refused for
 *      its dates, and write exactly what each edition writes. The spelling that
 *      was read stays with the caller; this file knows instants.
 *
 *     YYYY-MM-DD [ (T|t|space) hh:mm [ :ss [ . digits* ] ] [ offset ] ]
 *     offset:  Z  z  +hh  +hhmm  +hh:mm, or with "-"
 *
 *      No offset means UTC, no time midnight, second 60 is read as 59. Digits
 *      beyond 100 ns are read and cut.
 *
 * INVARIANTS
 *   D1  An instant lies in the years 0001 to 9999, in UTC and at its offset.
 *   D2  What was read is the whole text: one byte too many is an error.
 *   D3  Days count from 0001-01-01 in the Gregorian calendar, before 1582 too,
 *       as .NET and Python do.
 */
#include "base.h"

#define TICKS_PER_MINUTE (60 * PDR_TICKS_PER_SECOND)
#define TICKS_PER_DAY    (24 * 60 * TICKS_PER_MINUTE)

#define DAYS_PER_400_YEARS 146097
#define DAYS_PER_100_YEARS 36524 /* without the leap day of the 400th */
#define DAYS_PER_4_YEARS   1461

/* --- calendar ------------------------------------------------------------ */

struct date {
    int year, month, day;
};

/* Days of a year before its n-th month; the 13th stands for the end. */
static const int days_before_month[2][14] = {
    {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
    {0, 0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366}};

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
    const int *before = days_before_month[is_leap(year)];

    return before[month + 1] - before[month];
}

/* Days since 0001-01-01. */
static int day_number(struct date date)
{
    int years = date.year - 1;

    return 365 * years + years / 4 - years / 100 + years / 400 +
           days_before_month[is_leap(date.year)][date.month] + date.day - 1;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static struct date date_of_day(int days)
{
    struct date date = {1 + 400 * (days / DAYS_PER_400_YEARS), 1, 1};

    days %= DAYS_PER_400_YEARS;
    /* The last century and the last year of four are a day longer. */
    int centuries = min_int(days / DAYS_PER_100_YEARS, 3);
    days -= centuries * DAYS_PER_100_YEARS;
    date.year += 100 * centuries + 4 * (days / DAYS_PER_4_YEARS);
    days %= DAYS_PER_4_YEARS;
    int years = min_int(days / 365, 3);
    days -= 365 * years;
    date.year += years;
    const int *before = days_before_month[is_leap(date.year)];
    while (days >= before[date.month + 1])
        date.month++;
    date.day = days - before[date.month] + 1;
    return date;
}

static bool is_in_range(int64_t ticks)
{
    return ticks >= 0 && ticks <= PDR_MAX_TICKS;
}

/* --- reading ------------------------------------------------------------- */

struct cursor {
    pdr_str text;
    size_t at;
    pdr_err *err;
};

/* The byte at the cursor, or NUL at the end: no form has a NUL. */
static char peek(const struct cursor *c)
{
    return c->at < c->text.len ? c->text.ptr[c->at] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static pdr_rc expect(struct cursor *c, char wanted, const char *where)
{
    if (peek(c) != wanted)
        return PDR_FAIL_AT(c->err, c->at, BAD_DATETIME,
                           "date-time: expected '%c' %s", wanted, where);
    c->at++;
    return PDR_OK;
}

/* A number of exactly `width` digits, from `min` to `max`. */
static pdr_rc read_number(int *out, struct cursor *c, int width, int min,
                          int max, const char *what)
{
    size_t start = c->at;
    int value = 0;

    for (int i = 0; i < width; i++, c->at++) {
        if (!is_digit(peek(c)))
            return PDR_FAIL_AT(c->err, c->at, BAD_DATETIME,
                               "date-time: the %s needs %d digits", what,
                               width);
        value = 10 * value + (peek(c) - '0');
    }
    if (value < min || value > max)
        return PDR_FAIL_AT(c->err, start, BAD_DATETIME,
                           "date-time: the %s is %d, not %d to %d", what, value,
                           min, max);
    *out = value;
    return PDR_OK;
}

static pdr_rc read_date(struct date *out, struct cursor *c)
{
    pdr_rc rc = read_number(&out->year, c, 4, 0, 9999, "year");
    if (rc == PDR_OK && out->year == 0)
        return PDR_FAIL_AT(c->err, 0, DATETIME_RANGE,
                           "date-time: years go from 0001 to 9999");
    if (rc == PDR_OK)
        rc = expect(c, '-', "after the year");
    if (rc == PDR_OK)
        rc = read_number(&out->month, c, 2, 1, 12, "month");
    if (rc == PDR_OK)
        rc = expect(c, '-', "after the month");
    if (rc == PDR_OK)
        rc = read_number(&out->day, c, 2, 1,
                         days_of_month(out->year, out->month), "day");
    return rc;
}

/* Ticks of any number of digits; those beyond the seventh are passed. */
static int64_t read_fraction(struct cursor *c)
{
    int64_t unit = PDR_TICKS_PER_SECOND / 10;
    int64_t ticks = 0;

    for (; is_digit(peek(c)); c->at++) {
        ticks += unit * (peek(c) - '0');
        unit /= 10;
    }
    return ticks;
}

static pdr_rc read_time(int64_t *ticks, struct cursor *c)
{
    int hour = 0, minute = 0, second = 0;
    int64_t fraction = 0;

    pdr_rc rc = read_number(&hour, c, 2, 0, 23, "hour");
    if (rc == PDR_OK)
        rc = expect(c, ':', "after the hour");
    if (rc == PDR_OK)
        rc = read_number(&minute, c, 2, 0, 59, "minute");
    if (rc == PDR_OK && peek(c) == ':') {
        c->at++;
        rc = read_number(&second, c, 2, 0, 60, "second");
        if (rc == PDR_OK && peek(c) == '.') {
            c->at++;
            fraction = read_fraction(c);
        }
    }
    *ticks = (int64_t)(60 * hour + minute) * TICKS_PER_MINUTE +
             min_int(second, 59) * PDR_TICKS_PER_SECOND + fraction;
    return rc;
}

static pdr_rc read_offset(pdr_datetime *out, struct cursor *c)
{
    char sign = peek(c);
    int hours = 0, minutes = 0;

    if (sign != 'Z' && sign != 'z' && sign != '+' && sign != '-')
        return PDR_OK;
    out->has_offset = true;
    c->at++;
    if (sign == 'Z' || sign == 'z')
        return PDR_OK;
    pdr_rc rc = read_number(&hours, c, 2, 0, 23, "hour of the offset");
    if (rc == PDR_OK && (peek(c) == ':' || is_digit(peek(c)))) {
        c->at += peek(c) == ':';
        rc = read_number(&minutes, c, 2, 0, 59, "minute of the offset");
    }
    int offset = 60 * hours + minutes;
    out->offset_min = (int16_t)(sign == '-' ? -offset : offset);
    return rc;
}

static pdr_rc read_all(pdr_datetime *out, struct cursor *c)
{
    struct date date = {1, 1, 1};
    int64_t time = 0;

    pdr_rc rc = read_date(&date, c);
    if (rc != PDR_OK)
        return rc;
    char separator = peek(c);
    if (separator == 'T' || separator == 't' || separator == ' ') {
        c->at++;
        out->has_time = true;
        rc = read_time(&time, c);
        if (rc == PDR_OK)
            rc = read_offset(out, c);
        if (rc != PDR_OK)
            return rc;
    }
    if (c->at < c->text.len)
        return PDR_FAIL_AT(
            c->err, c->at, BAD_DATETIME, "date-time: expected %s",
            !out->has_time    ? "'T', a space or the end after the date"
            : out->has_offset ? "the end after the offset"
                              : "an offset or the end after the time");
    out->ticks = (int64_t)day_number(date) * TICKS_PER_DAY + time -
                 out->offset_min * TICKS_PER_MINUTE;
    return PDR_OK;
}

pdr_rc pdr_datetime_read(pdr_datetime *out, pdr_str text, pdr_err *err)
{
    pdr_datetime value = {0, 0, false, false};
    struct cursor c = {text, 0, err};

    PDR_REQUIRE(out != NULL);
    pdr_rc rc = read_all(&value, &c);
    if (rc != PDR_OK)
        return rc;
    if (!is_in_range(value.ticks))
        return PDR_FAIL_AT(err, 0, DATETIME_RANGE,
                           "date-time: in UTC this is not in the years 0001 to "
                           "9999");
    *out = value;
    return PDR_OK;
}

/* --- writing ------------------------------------------------------------- */

/* What the forms differ in. */
static const struct form {
    int digits;         /* of the fraction, at most */
    bool trimmed;       /* without zeros at its end; else all digits or none */
    bool in_utc;        /* else at the offset of the value */
    bool with_z;        /* instead of +00:00 */
    bool naive;         /* no offset if the value has none */
    int max_offset_min; /* that its readers take */
} forms[] = {
    [PDR_DATETIME_OURS] = {6, true, true, false, false, 0},
    [PDR_DATETIME_OURS_Z] = {6, true, true, true, false, 0},
    [PDR_DATETIME_DOTNET_OFFSET] = {7, true, false, false, false, 14 * 60},
    [PDR_DATETIME_DOTNET_UTC] = {7, true, true, true, false, 0},
    [PDR_DATETIME_PYTHON] = {6, false, false, false, true, 24 * 60 - 1},
};

static char *put_number(char *to, int width, int64_t value)
{
    for (int i = width - 1; i >= 0; i--, value /= 10)
        to[i] = (char)('0' + value % 10);
    return to + width;
}

static char *put_date(char *to, struct date date)
{
    to = put_number(to, 4, date.year);
    *to++ = '-';
    to = put_number(to, 2, date.month);
    *to++ = '-';
    return put_number(to, 2, date.day);
}

/* `ticks` since midnight. */
static char *put_time(char *to, int64_t ticks, const struct form *form)
{
    int64_t seconds = ticks / PDR_TICKS_PER_SECOND;
    int64_t fraction = ticks % PDR_TICKS_PER_SECOND;
    int digits = form->digits;

    to = put_number(to, 2, seconds / 3600);
    *to++ = ':';
    to = put_number(to, 2, seconds / 60 % 60);
    *to++ = ':';
    to = put_number(to, 2, seconds % 60);
    for (int i = form->digits; i < 7; i++)
        fraction /= 10;
    if (fraction == 0)
        return to;
    for (; form->trimmed && fraction % 10 == 0; digits--)
        fraction /= 10;
    *to++ = '.';
    return put_number(to, digits, fraction);
}

static char *put_offset(char *to, int offset_min)
{
    int minutes = offset_min < 0 ? -offset_min : offset_min;

    *to++ = offset_min < 0 ? '-' : '+';
    to = put_number(to, 2, minutes / 60);
    *to++ = ':';
    return put_number(to, 2, minutes % 60);
}

pdr_rc pdr_datetime_write(pdr_buf *out, const pdr_datetime *value,
                          pdr_datetime_form form, pdr_err *err)
{
    char text[sizeof("9999-12-31T23:59:59.9999999+23:59")];
    const struct form *f = &forms[form];

    PDR_REQUIRE(out != NULL && value != NULL);
    int offset = f->in_utc ? 0 : value->offset_min;
    if (offset > f->max_offset_min || offset < -f->max_offset_min)
        return PDR_FAIL(err, DATETIME_RANGE,
                        "date-time: an offset of %d minutes is beyond %d",
                        offset, f->max_offset_min);
    if (!is_in_range(value->ticks) ||
        !is_in_range(value->ticks + offset * TICKS_PER_MINUTE))
        return PDR_FAIL(err, DATETIME_RANGE,
                        "date-time: not in the years 0001 to 9999");
    int64_t ticks = value->ticks + offset * TICKS_PER_MINUTE;
    char *to = put_date(text, date_of_day((int)(ticks / TICKS_PER_DAY)));
    *to++ = 'T';
    to = put_time(to, ticks % TICKS_PER_DAY, f);
    if (f->with_z)
        *to++ = 'Z';
    else if (value->has_offset || !f->naive)
        to = put_offset(to, offset);
    return pdr_buf_append(out, pdr_str_n(text, (size_t)(to - text)), err);
}
