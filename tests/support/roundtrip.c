/*
 * roundtrip.c - see roundtrip.h.
 */
#include "roundtrip.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_BYTES ((size_t)UINT32_MAX)

const struct roundtrip_codec roundtrip_ours = {pdr_json_read, pdr_json_write};

/* Everything that one check owns. */
struct trip {
    struct roundtrip_report *report;
    const struct roundtrip_codec *codec;
    const pdr_read_opts *opts;
    pdr_value *first;  /* what `input` was read as */
    pdr_value *second; /* what our text was read back as */
    pdr_buf text;
    pdr_buf again;
};

static bool wrong(struct trip *trip, const char *fmt, ...) PDR_PRINTF(2, 3);

static bool wrong(struct trip *trip, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(trip->report->text, sizeof(trip->report->text), fmt, args);
    va_end(args);
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

pdr_str roundtrip_root(pdr_str input)
{
    size_t begin = 0, end = input.len;

    while (begin < end && is_space(input.ptr[begin]))
        begin++;
    while (end > begin && is_space(input.ptr[end - 1]))
        end--;
    return pdr_str_n(input.ptr + begin, end - begin);
}

/* At most 40 bytes from `at` on, for a report. */
static pdr_str excerpt(pdr_str text, size_t at)
{
    size_t left = text.len - at;

    return pdr_str_n(text.ptr + at, left < 40 ? left : 40);
}

static bool same_text(struct trip *trip, const char *what, pdr_str expected,
                      pdr_str actual)
{
    size_t at = 0;

    if (pdr_str_equal(expected, actual))
        return true;
    while (at < expected.len && at < actual.len &&
           expected.ptr[at] == actual.ptr[at])
        at++;
    pdr_str want = excerpt(expected, at), got = excerpt(actual, at);
    return wrong(trip, "%s differs at byte %zu: expected '%.*s', got '%.*s'",
                 what, at, (int)want.len, want.ptr, (int)got.len, got.ptr);
}

static bool write_text(struct trip *trip, const char *what, pdr_buf *out,
                       const pdr_value *value, pdr_layout layout)
{
    pdr_write_opts opts = {0};
    pdr_err err = PDR_ERR_INIT;

    opts.layout = layout;
    if (trip->opts != NULL)
        opts.flags = trip->opts->flags & PDR_BARE_TOKENS;
    pdr_buf_clear(out);
    if (trip->codec->write(out, value, &opts, &err) == PDR_OK)
        return true;
    return wrong(trip, "%s: not written: %s %s", what, err.reason, err.message);
}

/* Text that we wrote reads back as the same value and writes as `compact`. */
static bool check_back(struct trip *trip, const char *what, pdr_str compact)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_value_free(trip->second);
    trip->second = NULL;
    if (trip->codec->read(&trip->second, pdr_buf_str(&trip->text), trip->opts,
                          &err) != PDR_OK)
        return wrong(trip, "%s: not read back: %s at %lld", what, err.reason,
                     (long long)err.offset);
    if (!pdr_value_equal(trip->first, trip->second))
        return wrong(trip, "%s: reads back as another value", what);
    return write_text(trip, what, &trip->again, trip->second, PDR_COMPACT) &&
           same_text(trip, what, compact, pdr_buf_str(&trip->again));
}

static bool check_raw(struct trip *trip, pdr_str input)
{
    pdr_str root = roundtrip_root(input), raw = {NULL, 0};

    if (!pdr_value_raw(&raw, trip->first))
        return wrong(trip, "the root has no raw span");
    if (!same_text(trip, "raw span", root, raw))
        return false;
    if (pdr_value_offset(trip->first) != root.ptr - input.ptr)
        return wrong(trip, "the root begins at %lld, expected %lld",
                     (long long)pdr_value_offset(trip->first),
                     (long long)(root.ptr - input.ptr));
    return true;
}

static bool check_texts(struct trip *trip, pdr_str input, pdr_str compact)
{
    return same_text(trip, "compact", compact, pdr_buf_str(&trip->text)) &&
           check_back(trip, "compact", compact) &&
           write_text(trip, "as read", &trip->text, trip->first, PDR_AS_READ) &&
           same_text(trip, "as read", input, pdr_buf_str(&trip->text)) &&
           write_text(trip, "pretty", &trip->text, trip->first, PDR_PRETTY) &&
           check_back(trip, "pretty", compact) && check_raw(trip, input);
}

/* `compact` NULL: take our own compact text for it. */
static bool check_all(struct trip *trip, pdr_str input, const pdr_str *compact)
{
    pdr_buf own = PDR_BUF_INIT(MAX_BYTES);
    pdr_err err = PDR_ERR_INIT;
    bool good = false;

    if (trip->codec->read(&trip->first, input, trip->opts, &err) != PDR_OK)
        return wrong(trip, "refused: %s at %lld path '%s': %s", err.reason,
                     (long long)err.offset, err.path, err.message);
    if (!write_text(trip, "compact", &trip->text, trip->first, PDR_COMPACT))
        return false;
    if (compact == NULL &&
        pdr_buf_append(&own, pdr_buf_str(&trip->text), &err) != PDR_OK)
        return wrong(trip, "no memory");
    good = check_texts(trip, input,
                       compact != NULL ? *compact : pdr_buf_str(&own));
    pdr_buf_dispose(&own);
    return good;
}

static bool run(struct roundtrip_report *report,
                const struct roundtrip_codec *codec, pdr_str input,
                const pdr_str *compact, const pdr_read_opts *opts)
{
    struct trip trip = {.report = report, .codec = codec, .opts = opts};
    bool good;

    report->text[0] = '\0';
    trip.text.max = MAX_BYTES;
    trip.again.max = MAX_BYTES;
    good = check_all(&trip, input, compact);
    pdr_buf_dispose(&trip.again);
    pdr_buf_dispose(&trip.text);
    pdr_value_free(trip.second);
    pdr_value_free(trip.first);
    return good;
}

bool roundtrip_check(struct roundtrip_report *report,
                     const struct roundtrip_codec *codec, pdr_str input,
                     pdr_str compact, const pdr_read_opts *opts)
{
    return run(report, codec, input, &compact, opts);
}

bool roundtrip_check_as_read(struct roundtrip_report *report,
                             const struct roundtrip_codec *codec, pdr_str input,
                             const pdr_read_opts *opts)
{
    return run(report, codec, input, NULL, opts);
}
