/*
 * state_trip.c - see state_trip.h.
 */
#include "state_trip.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct state_ops state_ours = {pdr_state_append, pdr_state_set_expiration,
                                     pdr_state_clear_expiration,
                                     pdr_state_remove_entries};

const char state_client_turn[] =
    "{\"$type\":\"request\",\"responseType\":\"text\",\"correlationId\":"
    "\"trip-1\",\"createdAt\":\"2026-04-05T06:07:08.9+00:00\",\"messages\":"
    "[{\"contents\":[{\"$type\":\"text\",\"text\":\"one more\"}],\"role\":"
    "\"user\"}]}";
const char state_orchestration_turn[] =
    "{\"$type\":\"request\",\"orchestrationId\":\"o-77\",\"correlationId\":"
    "\"trip-2\",\"createdAt\":\"2026-04-05T06:07:08+00:00\",\"messages\":[]}";

/* A part of the bytes that a change may replace. */
struct span {
    size_t start, end;
    const char *put; /* what stands there afterwards; NULL: anything */
};

/* One document and one change of it. */
struct trip {
    struct roundtrip_report *report;
    const struct state_ops *ops;
    pdr_str before;   /* its bytes, without white space around them */
    pdr_value *state; /* owned */
    struct span spans[2];
    size_t count; /* of the spans, in order of their places */
};

static bool wrong(struct roundtrip_report *report, const char *fmt, ...)
    PDR_PRINTF(2, 3);

static bool wrong(struct roundtrip_report *report, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(report->text, sizeof(report->text), fmt, args);
    va_end(args);
    return false;
}

/* --- documents ------------------------------------------------------------ */

static bool begin(struct trip *trip, struct roundtrip_report *report,
                  const struct state_ops *ops, pdr_str text)
{
    pdr_err err = PDR_ERR_INIT;

    *trip = (struct trip){.report = report, .ops = ops};
    report->text[0] = '\0';
    trip->before = roundtrip_root(text);
    if (pdr_state_read(&trip->state, trip->before, NULL, &err) != PDR_OK)
        return wrong(report, "refused: %s", err.message);
    return true;
}

static bool write_as_read(pdr_buf *out, const pdr_value *value)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};

    pdr_buf_clear(out);
    return pdr_json_write(out, value, &opts, NULL) == PDR_OK;
}

static size_t start_of(const pdr_value *value)
{
    return (size_t)pdr_value_offset(value);
}

static size_t end_of(const pdr_value *value)
{
    pdr_str raw = {NULL, 0};

    return pdr_value_raw(&raw, value) ? start_of(value) + raw.len : 0;
}

static void add_span(struct trip *trip, size_t start, size_t end,
                     const char *put)
{
    struct span span = {start, end, put};

    if (trip->count > 0 && start < trip->spans[0].start) {
        trip->spans[1] = trip->spans[0];
        trip->spans[0] = span;
        trip->count++;
    } else {
        trip->spans[trip->count++] = span;
    }
}

/* Behind the last child of a container, or all that is in an empty one. */
static void add_end(struct trip *trip, const pdr_value *container)
{
    const pdr_value *last = NULL;
    pdr_iter it;

    pdr_iter_init(&it, container);
    while (pdr_iter_next(&it))
        last = it.value;
    if (last == NULL)
        add_span(trip, start_of(container) + 1, end_of(container) - 1, NULL);
    else
        add_span(trip, end_of(last), end_of(last), NULL);
}

/* --- comparing ------------------------------------------------------------ */

/* The bytes that came in where anything may stand; false if a byte outside of
 * the spans is not as it was. */
static bool outside_is_equal(struct trip *trip, pdr_str after, pdr_str *came)
{
    size_t gone = 0, known = 0, from = 0, at = 0;

    for (size_t i = 0; i < trip->count; i++) {
        gone += trip->spans[i].end - trip->spans[i].start;
        known += trip->spans[i].put != NULL ? strlen(trip->spans[i].put) : 0;
    }
    if (after.len + gone < trip->before.len + known)
        return wrong(trip->report, "bytes are missing");
    size_t unknown = after.len + gone - trip->before.len - known;
    for (size_t i = 0; i <= trip->count; i++) {
        const struct span *span = i < trip->count ? &trip->spans[i] : NULL;
        size_t to = span != NULL ? span->start : trip->before.len;
        if (after.len - at < to - from ||
            memcmp(after.ptr + at, trip->before.ptr + from, to - from) != 0)
            return wrong(trip->report,
                         "bytes %zu to %zu are not as they were: %.120s", from,
                         to, after.ptr + at);
        at += to - from;
        if (span == NULL)
            break;
        size_t len = span->put != NULL ? strlen(span->put) : unknown;
        if (after.len - at < len)
            return wrong(trip->report, "the end is missing");
        if (span->put == NULL)
            *came = pdr_str_n(after.ptr + at, len);
        else if (memcmp(after.ptr + at, span->put, len) != 0)
            return wrong(trip->report, "expected %s at byte %zu", span->put,
                         at);
        at += len;
        from = span->end;
    }
    return at == after.len || wrong(trip->report, "bytes behind the end");
}

/* Write what became of the document and compare. `came` lives as long as `out`
 * does. */
static bool compare(struct trip *trip, pdr_buf *out, pdr_str *came,
                    const char *what)
{
    struct roundtrip_report inner = {""};

    *came = pdr_str_n(NULL, 0);
    if (!write_as_read(out, trip->state))
        return wrong(trip->report, "%s: cannot be written", what);
    if (outside_is_equal(trip, pdr_buf_str(out), came))
        return true;
    inner = *trip->report;
    return wrong(trip->report, "%s: %.300s", what, inner.text);
}

/* White space, and one comma at most. */
static bool is_gap(pdr_str text)
{
    size_t commas = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (memchr(" \t\r\n,", text.ptr[i], 5) == NULL)
            return false;
        commas += text.ptr[i] == ',';
    }
    return commas <= 1;
}

/* --- checks --------------------------------------------------------------- */

bool state_check_unchanged(struct roundtrip_report *report, pdr_str text)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_str came = {NULL, 0};
    struct trip trip;
    bool good = begin(&trip, report, &state_ours, text) &&
                compare(&trip, &out, &came, "unchanged");

    pdr_buf_dispose(&out);
    pdr_value_free(trip.state);
    return good;
}

/* Where an entry goes; false if there is no place for one. */
static bool plan_append(struct trip *trip, const pdr_value *entry)
{
    static const pdr_schema_version raised = {{1, 1, 0, 0}, 3};
    const pdr_value *data = pdr_value_get_c(trip->state, "data");
    const pdr_value *list = pdr_value_get_c(data, "conversationHistory");
    const pdr_value *version = pdr_value_get_c(trip->state, "schemaVersion");
    pdr_schema_version number;

    if (pdr_value_kind(data) == PDR_NULL)
        add_span(trip, start_of(data), end_of(data), NULL);
    else if (list == NULL)
        add_end(trip, data);
    else if (pdr_value_kind(list) == PDR_NULL)
        add_span(trip, start_of(list), end_of(list), NULL);
    else if (pdr_value_kind(list) == PDR_ARRAY)
        add_end(trip, list);
    else
        return false;
    if (pdr_entry_orchestration_id(entry) != NULL &&
        pdr_state_version(&number, trip->state, NULL) == PDR_OK &&
        pdr_schema_version_compare(&number, &raised) < 0)
        add_span(trip, start_of(version), end_of(version), "\"1.1.0\"");
    return true;
}

static bool append_all(struct trip *trip, const pdr_value *entry, size_t count)
{
    size_t there = pdr_value_count(pdr_state_entries(trip->state));
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < count; i++)
        if (trip->ops->append(&trip->state, entry, &err) != PDR_OK)
            return wrong(trip->report, "append: %s", err.message);
    if (pdr_value_count(pdr_state_entries(trip->state)) != there + count)
        return wrong(trip->report, "append: not %zu entries more", count);
    return true;
}

/* The list is no list: it must be refused, and nothing happens. */
static bool append_is_refused(struct trip *trip, const pdr_value *entry)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_str came = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;
    bool good = trip->ops->append(&trip->state, entry, &err) == PDR_EINVALID &&
                strcmp(err.reason, "wrong_kind") == 0;

    if (!good)
        (void)wrong(trip->report, "append: no list, and not refused");
    good = good && compare(trip, &out, &came, "refused append");
    pdr_buf_dispose(&out);
    return good;
}

/* Did the entry come in, as often as it should? */
static bool came_in(struct trip *trip, pdr_str came, const char *entry,
                    size_t count)
{
    size_t len = strlen(entry), found = 0;

    for (size_t i = 0; i + len <= came.len; i++)
        found += memcmp(came.ptr + i, entry, len) == 0;
    return found == count ||
           wrong(trip->report, "append: %zu of %zu entries came in", found,
                 count);
}

bool state_check_append(struct roundtrip_report *report,
                        const struct state_ops *ops, pdr_str text,
                        const char *entry, size_t count)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_str came = {NULL, 0};
    pdr_value *value = NULL;
    struct trip trip;
    bool good = begin(&trip, report, ops, text) &&
                pdr_json_read(&value, pdr_str_c(entry), NULL, NULL) == PDR_OK;

    if (good && plan_append(&trip, value))
        good = append_all(&trip, value, count) &&
               compare(&trip, &out, &came, "append") &&
               came_in(&trip, came, entry, count);
    else if (good)
        good = append_is_refused(&trip, value);
    pdr_value_free(value);
    pdr_value_free(trip.state);
    pdr_buf_dispose(&out);
    return good;
}

/* How often a member of that name stands in `data`, and the last one. */
static size_t find_all(const pdr_value *data, const char *name,
                       const pdr_value **last)
{
    size_t found = 0;
    pdr_iter it;

    pdr_iter_init(&it, data);
    while (pdr_iter_next(&it)) {
        if (!pdr_value_text_is(it.name, pdr_str_c(name)))
            continue;
        *last = it.value;
        found++;
    }
    return found;
}

static bool set_expiration(struct trip *trip)
{
    const pdr_value *data = pdr_value_get_c(trip->state, "data"), *old = NULL;
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_str came = {NULL, 0};
    pdr_datetime at;

    if (pdr_value_kind(data) == PDR_NULL)
        add_span(trip, start_of(data), end_of(data), NULL);
    else if (find_all(data, "expirationTimeUtc", &old) > 0)
        add_span(trip, start_of(old), end_of(old), NULL);
    else
        add_end(trip, data);
    if (trip->ops->set_expiration(&trip->state, PDR_TICKS_UNIX_EPOCH, NULL) !=
        PDR_OK)
        return wrong(trip->report, "expiry: cannot be set");
    bool good = compare(trip, &out, &came, "expiry") &&
                ((pdr_state_expiration(&at, trip->state) &&
                  at.ticks == PDR_TICKS_UNIX_EPOCH) ||
                 wrong(trip->report, "expiry: not what was set"));
    pdr_buf_dispose(&out);
    return good;
}

/* What stands before and behind child number `first` and `count` - 1 more: the
 * places between which a removal may change something. */
static void add_neighbours(struct trip *trip, const pdr_value *container,
                           size_t first, size_t count)
{
    size_t start = start_of(container) + 1, end = end_of(container) - 1;
    pdr_iter it;

    pdr_iter_init(&it, container);
    while (pdr_iter_next(&it)) {
        if (it.index + 1 == first)
            start = end_of(it.value);
        if (it.index == first + count)
            end = start_of(it.name != NULL ? it.name : it.value);
    }
    add_span(trip, start, end, NULL);
}

static bool clear_expiration(struct trip *trip)
{
    const pdr_value *data = pdr_state_data(trip->state);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_str came = {NULL, 0};
    pdr_iter it;

    pdr_iter_init(&it, data);
    while (pdr_iter_next(&it))
        if (pdr_value_text_is(it.name, pdr_str_c("expirationTimeUtc")))
            add_neighbours(trip, data, it.index, 1);
    if (trip->ops->clear_expiration(&trip->state, NULL) != PDR_OK)
        return wrong(trip->report, "no expiry: cannot be cleared");
    bool good = compare(trip, &out, &came, "no expiry") &&
                (is_gap(came) ||
                 wrong(trip->report, "no expiry: more than a gap is left"));
    pdr_buf_dispose(&out);
    return good;
}

bool state_check_expiration(struct roundtrip_report *report,
                            const struct state_ops *ops, pdr_str text)
{
    const pdr_value *last = NULL;
    struct trip trip;
    bool good = begin(&trip, report, ops, text);
    size_t found =
        good ? find_all(pdr_state_data(trip.state), "expirationTimeUtc", &last)
             : 0;

    good = good && set_expiration(&trip);
    pdr_value_free(trip.state);
    if (!good || found > 1) /* all of several go: more than one span */
        return good;
    good = begin(&trip, report, ops, text) && clear_expiration(&trip);
    pdr_value_free(trip.state);
    return good;
}

static bool check_removed(struct roundtrip_report *report,
                          const struct state_ops *ops, pdr_str text,
                          size_t first, size_t count)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_str came = {NULL, 0};
    struct trip trip;
    bool good = begin(&trip, report, ops, text);

    if (good) {
        const pdr_value *list = pdr_state_entries(trip.state);
        size_t there = pdr_value_count(list);

        if (count == there)
            add_span(&trip, start_of(list), end_of(list), NULL);
        else
            add_neighbours(&trip, list, first, count);
        good =
            (ops->remove_entries(&trip.state, first, count, NULL) == PDR_OK ||
             wrong(report, "removal: refused")) &&
            compare(&trip, &out, &came, "removal") &&
            (count == there ? pdr_str_equal(came, pdr_str_c("[]"))
                            : is_gap(came)) &&
            pdr_value_count(pdr_state_entries(trip.state)) == there - count;
        if (!good && report->text[0] == '\0')
            (void)wrong(report, "removal: more is left than a gap");
    }
    pdr_value_free(trip.state);
    pdr_buf_dispose(&out);
    return good;
}

bool state_check_removal(struct roundtrip_report *report,
                         const struct state_ops *ops, pdr_str text)
{
    struct trip trip;
    bool good = begin(&trip, report, ops, text);
    size_t count = good ? pdr_value_count(pdr_state_entries(trip.state)) : 0;

    pdr_value_free(trip.state);
    for (size_t i = 0; good && i < count && i < 60; i++)
        good = check_removed(report, ops, text, i, 1);
    return good && (count == 0 || check_removed(report, ops, text, 0, count));
}

bool state_check(struct roundtrip_report *report, const struct state_ops *ops,
                 pdr_str text)
{
    return state_check_unchanged(report, text) &&
           state_check_append(report, ops, text, state_client_turn, 1) &&
           state_check_append(report, ops, text, state_client_turn, 10) &&
           state_check_append(report, ops, text, state_orchestration_turn, 1) &&
           state_check_expiration(report, ops, text) &&
           state_check_removal(report, ops, text);
}
