/* Date-times: every form that is read, what each edition writes. */
#include "test.h"

#include "base.h"
#include "fake_rand.h"

static void assert_written(const char *expected, const pdr_datetime *value,
                           pdr_datetime_form form)
{
    pdr_buf text = PDR_BUF_INIT(40);

    ASSERT_RC(PDR_OK, pdr_datetime_write(&text, value, form, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static pdr_datetime read_ok(const char *text)
{
    pdr_datetime value;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_datetime_read(&value, pdr_str_c(text), &err) != PDR_OK)
        fail_msg("'%s': %s", text, err.message);
    return value;
}

/* --- reading ------------------------------------------------------------- */

enum { DATE_ONLY, NAIVE, OFFSET };

/* What is read, the instant in UTC, minutes of offset, what was there. */
static const struct good {
    const char *text;
    const char *utc;
    int offset_min;
    int parts;
} good[] = {
    /* a date alone */
    {"2026-02-03", "2026-02-03T00:00:00Z", 0, DATE_ONLY},
    {"0001-01-01", "0001-01-01T00:00:00Z", 0, DATE_ONLY},
    {"9999-12-31", "9999-12-31T00:00:00Z", 0, DATE_ONLY},
    {"2024-02-29", "2024-02-29T00:00:00Z", 0, DATE_ONLY},
    {"2000-02-29", "2000-02-29T00:00:00Z", 0, DATE_ONLY},
    {"1970-01-01", "1970-01-01T00:00:00Z", 0, DATE_ONLY},
    /* no offset */
    {"2026-02-03T08:15", "2026-02-03T08:15:00Z", 0, NAIVE},
    {"2026-02-03T08:15:00", "2026-02-03T08:15:00Z", 0, NAIVE},
    {"2026-02-03T08:15:00.5", "2026-02-03T08:15:00.5Z", 0, NAIVE},
    {"2026-02-03T08:15:00.", "2026-02-03T08:15:00Z", 0, NAIVE},
    {"2026-02-03 08:15:00", "2026-02-03T08:15:00Z", 0, NAIVE},
    {"2026-02-03t08:15", "2026-02-03T08:15:00Z", 0, NAIVE},
    {"2026-02-03T00:00:00", "2026-02-03T00:00:00Z", 0, NAIVE},
    {"2026-02-03T23:59:59", "2026-02-03T23:59:59Z", 0, NAIVE},
    /* Z in both cases */
    {"2026-02-03T08:15Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03t08:15:00Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03t08:15:00z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03 08:15:00Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03 08:15z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00.Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    /* offsets in three spellings */
    {"2026-02-03T08:15:00+00:00", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00-00:00", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00+05", "2026-02-03T03:15:00Z", 300, OFFSET},
    {"2026-02-03T08:15:00-05", "2026-02-03T13:15:00Z", -300, OFFSET},
    {"2026-02-03T08:15:00+0530", "2026-02-03T02:45:00Z", 330, OFFSET},
    {"2026-02-03T08:15:00-0530", "2026-02-03T13:45:00Z", -330, OFFSET},
    {"2026-02-03T08:15:00+05:30", "2026-02-03T02:45:00Z", 330, OFFSET},
    {"2026-02-03T08:15:00-08:00", "2026-02-03T16:15:00Z", -480, OFFSET},
    {"2026-02-03T08:15+01:00", "2026-02-03T07:15:00Z", 60, OFFSET},
    {"2026-02-03T08:15-01", "2026-02-03T09:15:00Z", -60, OFFSET},
    {"2026-02-03T08:15:00.25+0100", "2026-02-03T07:15:00.25Z", 60, OFFSET},
    {"2026-02-03T08:15:00.+01", "2026-02-03T07:15:00Z", 60, OFFSET},
    {"2026-02-03T08:15:00+14:00", "2026-02-02T18:15:00Z", 840, OFFSET},
    {"2026-02-03T08:15:00+14:01", "2026-02-02T18:14:00Z", 841, OFFSET},
    {"2026-02-03T08:15:00+23:59", "2026-02-02T08:16:00Z", 1439, OFFSET},
    {"2026-02-03T08:15:00-23:59", "2026-02-04T08:14:00Z", -1439, OFFSET},
    {"2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00Z", -60, OFFSET},
    {"2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z", 60, OFFSET},
    {"2100-03-01T00:30:00+01:00", "2100-02-28T23:30:00Z", 60, OFFSET},
    /* fractions; digits beyond 100 ns are cut, never rounded */
    {"2026-02-03T08:15:00.1Z", "2026-02-03T08:15:00.1Z", 0, OFFSET},
    {"2026-02-03T08:15:00.10Z", "2026-02-03T08:15:00.1Z", 0, OFFSET},
    {"2026-02-03T08:15:00.0Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00.0000000Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00.123456Z", "2026-02-03T08:15:00.123456Z", 0, OFFSET},
    {"2026-02-03T08:15:00.1234567Z", "2026-02-03T08:15:00.1234567Z", 0, OFFSET},
    {"2026-02-03T08:15:00.12345678Z", "2026-02-03T08:15:00.1234567Z", 0,
     OFFSET},
    {"2026-02-03T08:15:00.1234567999Z", "2026-02-03T08:15:00.1234567Z", 0,
     OFFSET},
    {"2026-02-03T08:15:00.12345678901234567Z", "2026-02-03T08:15:00.1234567Z",
     0, OFFSET},
    {"2026-02-03T08:15:00.0000001Z", "2026-02-03T08:15:00.0000001Z", 0, OFFSET},
    {"2026-02-03T08:15:00.00000009Z", "2026-02-03T08:15:00Z", 0, OFFSET},
    {"2026-02-03T08:15:00.99999999999999999999999999999999999999Z",
     "2026-02-03T08:15:00.9999999Z", 0, OFFSET},
    /* leap second */
    {"2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z", 0, OFFSET},
    {"2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.5Z", 0, OFFSET},
    {"2026-02-03T08:15:60", "2026-02-03T08:15:59Z", 0, NAIVE},
    /* both ends of time */
    {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", 0, OFFSET},
    {"0001-01-01T00:00:00-01:00", "0001-01-01T01:00:00Z", -60, OFFSET},
    {"0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00Z", 60, OFFSET},
    {"9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z", 0, OFFSET},
    {"9999-12-31T23:59:59.99999999Z", "9999-12-31T23:59:59.9999999Z", 0,
     OFFSET},
    {"9999-12-31T22:59:59.9999999-01:00", "9999-12-31T23:59:59.9999999Z", -60,
     OFFSET},
};

TEST(datetime_read, takes_every_form_of_the_table)
{
    for (size_t i = 0; i < PDR_COUNT(good); i++) {
        const struct good *row = &good[i];
        pdr_datetime value = read_ok(row->text);

        assert_written(row->utc, &value, PDR_DATETIME_DOTNET_UTC);
        ASSERT_INT(row->offset_min, value.offset_min);
        ASSERT_INT(row->parts != DATE_ONLY, value.has_time);
        ASSERT_INT(row->parts == OFFSET, value.has_offset);
    }
}

TEST(datetime_read, takes_any_number_of_digits)
{
    char text[2000] = "2026-02-03T08:15:00.";
    pdr_datetime value;
    size_t len = strlen(text);

    memset(text + len, '1', sizeof(text) - len);
    text[sizeof(text) - 1] = 'Z';
    ASSERT_RC(PDR_OK,
              pdr_datetime_read(&value, pdr_str_n(text, sizeof(text)), NULL));
    assert_written("2026-02-03T08:15:00.1111111Z", &value,
                   PDR_DATETIME_DOTNET_UTC);
}

#define END_OF_TIME "date-time: in UTC this is not in the years 0001 to 9999"
#define YEARS       "date-time: years go from 0001 to 9999"

static const struct bad {
    const char *text;
    int64_t offset;
    const char *message;
} bad[] = {
    /* the date */
    {"", 0, "date-time: the year needs 4 digits"},
    {"2", 1, "date-time: the year needs 4 digits"},
    {"202-02-03", 3, "date-time: the year needs 4 digits"},
    {"-2026-02-03", 0, "date-time: the year needs 4 digits"},
    {"+2026-02-03", 0, "date-time: the year needs 4 digits"},
    {" 2026-02-03", 0, "date-time: the year needs 4 digits"},
    {"Tuesday", 0, "date-time: the year needs 4 digits"},
    {"10000-01-01", 4, "date-time: expected '-' after the year"},
    {"20260203", 4, "date-time: expected '-' after the year"},
    {"20260203T081500Z", 4, "date-time: expected '-' after the year"},
    {"2026/02/03", 4, "date-time: expected '-' after the year"},
    {"2026", 4, "date-time: expected '-' after the year"},
    {"1767225600", 4, "date-time: expected '-' after the year"},
    {"2026-2-3T08:15:00Z", 6, "date-time: the month needs 2 digits"},
    {"2026-", 5, "date-time: the month needs 2 digits"},
    {"2026-00-03", 5, "date-time: the month is 0, not 1 to 12"},
    {"2026-13-03", 5, "date-time: the month is 13, not 1 to 12"},
    {"2026-02", 7, "date-time: expected '-' after the month"},
    {"2026-034", 7, "date-time: expected '-' after the month"},
    {"2026-02-", 8, "date-time: the day needs 2 digits"},
    {"2026-02-3", 9, "date-time: the day needs 2 digits"},
    {"2026-02-00", 8, "date-time: the day is 0, not 1 to 28"},
    {"2026-02-29", 8, "date-time: the day is 29, not 1 to 28"},
    {"2024-02-30", 8, "date-time: the day is 30, not 1 to 29"},
    {"1900-02-29", 8, "date-time: the day is 29, not 1 to 28"},
    {"2100-02-29", 8, "date-time: the day is 29, not 1 to 28"},
    {"2000-02-30", 8, "date-time: the day is 30, not 1 to 29"},
    {"2026-01-32", 8, "date-time: the day is 32, not 1 to 31"},
    {"2026-04-31", 8, "date-time: the day is 31, not 1 to 30"},
    {"2026-12-32", 8, "date-time: the day is 32, not 1 to 31"},
    {"2026-02-03Z", 10,
     "date-time: expected 'T', a space or the end after the date"},
    {"2026-02-03+01:00", 10,
     "date-time: expected 'T', a space or the end after the date"},
    {"2026-02-03_08:15", 10,
     "date-time: expected 'T', a space or the end after the date"},
    {"2026-02-031", 10,
     "date-time: expected 'T', a space or the end after the date"},
    /* the time */
    {"2026-02-03T", 11, "date-time: the hour needs 2 digits"},
    {"2026-02-03 ", 11, "date-time: the hour needs 2 digits"},
    {"2026-02-03  08:15", 11, "date-time: the hour needs 2 digits"},
    {"2026-02-03T8:15", 12, "date-time: the hour needs 2 digits"},
    {"2026-02-03T24:00:00Z", 11, "date-time: the hour is 24, not 0 to 23"},
    {"2026-02-03T08", 13, "date-time: expected ':' after the hour"},
    {"2026-02-03T0815", 13, "date-time: expected ':' after the hour"},
    {"2026-02-03T08:1", 15, "date-time: the minute needs 2 digits"},
    {"2026-02-03T08:60", 14, "date-time: the minute is 60, not 0 to 59"},
    {"2026-02-03T08:15:", 17, "date-time: the second needs 2 digits"},
    {"2026-02-03T08:15:0", 18, "date-time: the second needs 2 digits"},
    {"2026-02-03T08:15:61Z", 17, "date-time: the second is 61, not 0 to 60"},
    {"2026-02-03T08:15.5Z", 16,
     "date-time: expected an offset or the end after the time"},
    {"2026-02-03T08:15:00,5Z", 19,
     "date-time: expected an offset or the end after the time"},
    {"2026-02-03T08:15:00 Z", 19,
     "date-time: expected an offset or the end after the time"},
    {"2026-02-03T08:15:00.1.2", 21,
     "date-time: expected an offset or the end after the time"},
    {"2026-02-03T08:15:00 UTC", 19,
     "date-time: expected an offset or the end after the time"},
    {"2026-02-03T08:15:00\n", 19,
     "date-time: expected an offset or the end after the time"},
    /* the offset */
    {"2026-02-03T08:15:00+", 20,
     "date-time: the hour of the offset needs 2 digits"},
    {"2026-02-03T08:15:00+5", 21,
     "date-time: the hour of the offset needs 2 digits"},
    {"2026-02-03T08:15:00+5:30", 21,
     "date-time: the hour of the offset needs 2 digits"},
    {"2026-02-03T08:15:00+24:00", 20,
     "date-time: the hour of the offset is 24, not 0 to 23"},
    {"2026-02-03T08:15:00+05:", 23,
     "date-time: the minute of the offset needs 2 digits"},
    {"2026-02-03T08:15:00+05:3", 24,
     "date-time: the minute of the offset needs 2 digits"},
    {"2026-02-03T08:15:00+053", 23,
     "date-time: the minute of the offset needs 2 digits"},
    {"2026-02-03T08:15:00-05:60", 23,
     "date-time: the minute of the offset is 60, not 0 to 59"},
    {"2026-02-03T08:15:00+05:30:00", 25,
     "date-time: expected the end after the offset"},
    {"2026-02-03T08:15:00ZZ", 20,
     "date-time: expected the end after the offset"},
    {"2026-02-03T08:15:00Z ", 20,
     "date-time: expected the end after the offset"},
    {"2026-02-03T08:15:00Z+01:00", 20,
     "date-time: expected the end after the offset"},
    {"2026-02-03T08:15:00\xE2\x88\x92"
     "05:00",
     19, "date-time: expected an offset or the end after the time"},
};

TEST(datetime_read, refuses_every_form_of_the_table_and_says_where)
{
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        pdr_datetime value;
        pdr_err err = PDR_ERR_INIT;

        if (pdr_datetime_read(&value, pdr_str_c(bad[i].text), &err) == PDR_OK)
            fail_msg("'%s' was read", bad[i].text);
        ASSERT_STR(bad[i].message, err.message);
        ASSERT_STR("bad_datetime", err.reason);
        ASSERT_INT(PDR_EINVALID, err.code);
        ASSERT_INT(bad[i].offset, err.offset);
    }
}

TEST(datetime_read, refuses_instants_outside_of_its_years)
{
    static const char *const rows[][2] = {
        {"0000-01-01", YEARS},
        {"0000-12-31T23:59:59-01:00", YEARS},
        {"0001-01-01T00:00:00+00:01", END_OF_TIME},
        {"0001-01-01T00:59:59.9999999+01:00", END_OF_TIME},
        {"9999-12-31T23:59:59-00:01", END_OF_TIME},
        {"9999-12-31T23:00:00-01:00", END_OF_TIME},
        {"9999-12-31T23:59:60.9-23:59", END_OF_TIME},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_datetime value;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_datetime_read(&value, pdr_str_c(rows[i][0]), &err));
        ASSERT_STR("datetime_range", err.reason);
        ASSERT_STR(rows[i][1], err.message);
        ASSERT_INT(0, err.offset);
    }
}

TEST(datetime_read, sees_a_nul_as_a_byte_too_many)
{
    pdr_datetime value;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_datetime_read(&value, pdr_str_n("2026-02-03\0", 11), &err));
    ASSERT_INT(10, err.offset);
    ASSERT_RC(
        PDR_EINVALID,
        pdr_datetime_read(&value, pdr_str_n("2026-02-03T08:15Z\0", 18), NULL));
}

TEST(datetime_read, counts_ticks_from_year_one)
{
    ASSERT_INT(0, read_ok("0001-01-01").ticks);
    ASSERT_INT(1, read_ok("0001-01-01T00:00:00.0000001").ticks);
    ASSERT_INT(PDR_TICKS_UNIX_EPOCH, read_ok("1970-01-01T00:00:00Z").ticks);
    ASSERT_INT(PDR_MAX_TICKS, read_ok("9999-12-31T23:59:59.9999999Z").ticks);
    ASSERT_INT(PDR_TICKS_UNIX_EPOCH +
                   INT64_C(1770106500) * PDR_TICKS_PER_SECOND,
               read_ok("2026-02-03T08:15:00Z").ticks);
}

/* --- writing ------------------------------------------------------------- */

TEST(datetime_write, gives_back_what_dotnet_wrote)
{
    /* From documents that the .NET edition wrote. */
    static const char *const offsets[] = {
        "2026-02-03T08:15:01+00:00",
        "2026-02-03T08:15:02.1+00:00",
        "2026-02-03T08:15:03.12-08:00",
        "2026-02-03T08:15:04.123+05:30",
        "2026-02-03T08:15:05.1234+14:00",
        "2026-02-03T08:15:06.12345-12:00",
        "2026-02-03T08:15:07.123456+01:00",
        "2026-02-03T08:15:08.1234567+00:00",
        "2026-02-03T08:15:09.0000007+00:00",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59.9999999+00:00",
        "2026-04-01T12:00:00.0000001-07:00",
        "2026-02-28T23:59:59.123+05:30",
        "2026-02-03T08:00:03.47008+00:00",
    };
    static const char *const utc[] = {
        "2026-02-17T08:15:09.000005Z", "2026-11-29T20:35:32.1868424Z",
        "2026-03-10T08:00:00Z", "2026-11-29T20:35:32.1912469Z"};

    for (size_t i = 0; i < PDR_COUNT(offsets); i++) {
        pdr_datetime value = read_ok(offsets[i]);
        assert_written(offsets[i], &value, PDR_DATETIME_DOTNET_OFFSET);
    }
    for (size_t i = 0; i < PDR_COUNT(utc); i++) {
        pdr_datetime value = read_ok(utc[i]);
        assert_written(utc[i], &value, PDR_DATETIME_DOTNET_UTC);
    }
}

TEST(datetime_write, turns_other_spellings_into_what_dotnet_makes_of_them)
{
    static const char *const rows[][2] = {
        {"2026-02-03", "2026-02-03T00:00:00+00:00"},
        {"2026-02-03T08:15+05", "2026-02-03T08:15:00+05:00"},
        {"2026-02-03T08:15:00.123456789012345Z",
         "2026-02-03T08:15:00.1234567+00:00"},
        {"2026-02-03T08:15:00.100000+05:30", "2026-02-03T08:15:00.1+05:30"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_datetime value = read_ok(rows[i][0]);
        assert_written(rows[i][1], &value, PDR_DATETIME_DOTNET_OFFSET);
    }
}

TEST(datetime_write, gives_back_what_python_wrote)
{
    /* From documents that the Python edition wrote. */
    static const char *const rows[] = {
        "2026-02-03T08:15:00",
        "2026-02-03T08:15:00.100000+05:30",
        "2026-02-03T08:15:02.123456-08:00",
        "2026-02-03T08:15:00+00:00",
        "2026-02-03T00:00:00",
        "2026-02-03T08:15:00.120400+00:00",
        "2026-02-03T13:24:00.010368+00:00",
        "2026-02-03T08:20:00.500000+00:00",
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_datetime value = read_ok(rows[i]);
        assert_written(rows[i], &value, PDR_DATETIME_PYTHON);
    }
}

TEST(datetime_write, turns_other_spellings_into_what_python_makes_of_them)
{
    static const char *const rows[][2] = {
        {"2026-02-03", "2026-02-03T00:00:00"},
        {"2026-02-03T08:15:10.47008Z", "2026-02-03T08:15:10.470080+00:00"},
        {"2026-02-03T08:15:00.1234567Z", "2026-02-03T08:15:00.123456+00:00"},
        {"2026-02-03T08:15:00.0000007Z", "2026-02-03T08:15:00+00:00"},
        {"2026-02-03T08:15:00-23:59", "2026-02-03T08:15:00-23:59"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_datetime value = read_ok(rows[i][0]);
        assert_written(rows[i][1], &value, PDR_DATETIME_PYTHON);
    }
}

TEST(datetime_write, writes_ours_in_utc_with_up_to_six_digits)
{
    static const char *const rows[][2] = {
        {"2026-02-03T08:15:00", "2026-02-03T08:15:00"},
        {"2026-02-03T08:15:00.1204+05:30", "2026-02-03T02:45:00.1204"},
        {"2026-02-03T08:15:00.1234567Z", "2026-02-03T08:15:00.123456"},
        {"2026-02-03T08:15:00.1000009-01:00", "2026-02-03T09:15:00.1"},
        {"2026-02-03T08:15:00.0000009+23:59", "2026-02-02T08:16:00"},
        {"9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_datetime value = read_ok(rows[i][0]);
        char expected[64];

        snprintf(expected, sizeof(expected), "%s+00:00", rows[i][1]);
        assert_written(expected, &value, PDR_DATETIME_OURS);
        snprintf(expected, sizeof(expected), "%sZ", rows[i][1]);
        assert_written(expected, &value, PDR_DATETIME_OURS_Z);
    }
}

TEST(datetime_write, refuses_an_offset_that_dotnet_cannot_read)
{
    static const struct {
        const char *text;
        pdr_rc rc;
    } rows[] = {{"2026-02-03T08:15:00+14:00", PDR_OK},
                {"2026-02-03T08:15:00+14:01", PDR_EINVALID},
                {"2026-02-03T08:15:00-14:00", PDR_OK},
                {"2026-02-03T08:15:00-14:01", PDR_EINVALID}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_datetime value = read_ok(rows[i].text);
        pdr_buf text = PDR_BUF_INIT(40);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].rc,
                  pdr_datetime_write(&text, &value, PDR_DATETIME_DOTNET_OFFSET,
                                     &err));
        ASSERT_STR(rows[i].rc == PDR_OK ? "" : "datetime_range", err.reason);
        ASSERT_SIZE(rows[i].rc == PDR_OK ? 25 : 0, text.len);
        pdr_buf_dispose(&text);
    }
}

TEST(datetime_write, refuses_what_lies_outside_of_its_years)
{
    const pdr_datetime rows[] = {
        {-1, 0, true, true},         {PDR_MAX_TICKS + 1, 0, true, true},
        {INT64_MAX, 60, true, true}, {INT64_MIN, -60, true, true},
        {0, -1, true, true},         {PDR_MAX_TICKS, 1, true, true},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf text = PDR_BUF_INIT(40);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_datetime_write(&text, &rows[i],
                                                   PDR_DATETIME_PYTHON, &err));
        ASSERT_STR("datetime_range", err.reason);
        ASSERT_SIZE(0, text.len);
        pdr_buf_dispose(&text);
    }
}

TEST(datetime_write, keeps_to_the_maximum_of_the_buffer)
{
    pdr_datetime value = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH);
    pdr_buf fits = PDR_BUF_INIT(20), small = PDR_BUF_INIT(19);

    ASSERT_RC(PDR_OK,
              pdr_datetime_write(&fits, &value, PDR_DATETIME_OURS_Z, NULL));
    ASSERT_TEXT("1970-01-01T00:00:00Z", pdr_buf_str(&fits));
    ASSERT_RC(PDR_ELIMIT,
              pdr_datetime_write(&small, &value, PDR_DATETIME_OURS_Z, NULL));
    ASSERT_SIZE(0, small.len);
    pdr_buf_dispose(&fits);
    pdr_buf_dispose(&small);
}

TEST(datetime_compare, goes_by_the_instant)
{
    pdr_datetime a = read_ok("2026-02-03T08:15:00+05:30");
    pdr_datetime b = read_ok("2026-02-03T02:45:00");
    pdr_datetime c = read_ok("2026-02-03T02:45:00.0000001");
    pdr_datetime d = read_ok("2026-02-03T02:45:00.00000019");

    ASSERT_INT(0, pdr_datetime_compare(&a, &b));
    ASSERT(pdr_datetime_compare(&b, &c) < 0);
    ASSERT(pdr_datetime_compare(&c, &b) > 0);
    ASSERT_INT(0, pdr_datetime_compare(&c, &d));
}

/* --- calendar ------------------------------------------------------------ */

TEST(datetime, every_day_of_all_years_comes_after_the_one_before)
{
    int days_of[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t ticks = 0;
    char text[40];

    for (int year = 1; year <= 9999; year++) {
        days_of[1] =
            year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) ? 29 : 28;
        /* All days of some years, the ends of the months of all others. */
        bool all = year % 97 == 0 || year <= 8 || year > 9990;
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= days_of[month - 1]; day++) {
                if (all || day == 1 || day == days_of[month - 1]) {
                    snprintf(text, sizeof(text), "%04d-%02d-%02d", year, month,
                             day);
                    pdr_datetime value = read_ok(text);
                    ASSERT_INT(ticks, value.ticks);
                    pdr_buf out = PDR_BUF_INIT(40);
                    ASSERT_RC(PDR_OK,
                              pdr_datetime_write(&out, &value,
                                                 PDR_DATETIME_PYTHON, NULL));
                    ASSERT_TEXT(text, pdr_str_n(out.ptr, 10));
                    pdr_buf_dispose(&out);
                }
                ticks += INT64_C(864000000000);
            }
    }
    ASSERT_INT(PDR_MAX_TICKS + 1, ticks);
}

TEST(datetime, any_instant_and_offset_survive_writing_and_reading)
{
    struct fake_rand rand;

    fake_rand_init(&rand, 17);
    for (int i = 0; i < 20000; i++) {
        int64_t day = INT64_C(864000000000);
        uint64_t span = (uint64_t)(PDR_MAX_TICKS - 2 * day);
        pdr_datetime value, back;
        pdr_buf text = PDR_BUF_INIT(40);

        value = pdr_datetime_utc(day + (int64_t)(fake_rand_next(&rand) % span));
        value.offset_min = (int16_t)((int)(fake_rand_next(&rand) % 1681) - 840);
        ASSERT_RC(PDR_OK, pdr_datetime_write(&text, &value,
                                             PDR_DATETIME_DOTNET_OFFSET, NULL));
        ASSERT_RC(PDR_OK, pdr_datetime_read(&back, pdr_buf_str(&text), NULL));
        ASSERT_INT(value.ticks, back.ticks);
        ASSERT_INT(value.offset_min, back.offset_min);
        pdr_buf_dispose(&text);
    }
}

TEST_OOM(datetime_write, writes_nothing_without_memory)
{
    pdr_datetime value = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH);
    pdr_buf text = PDR_BUF_INIT(40);
    pdr_rc rc = pdr_datetime_write(&text, &value, PDR_DATETIME_OURS, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_SIZE(rc == PDR_OK ? 25 : 0, text.len);
    pdr_buf_dispose(&text);
}
