/*
 * codec_trip.c - see codec_trip.h.
 */
#include "codec_trip.h"

#include <perdure/sys/codec.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

#define MAX_BYTES ((size_t)UINT32_MAX)

/* Streams of smaller documents only are cut into single bytes, or at all. */
#define SMALL_BYTES ((size_t)4096)
#define LARGE_BYTES ((size_t)256 * 1024)

static const struct trip_way by_events = {SIZE_MAX, TRIP_EVENTS, 0};

size_t trip_codecs(const pdr_codec *out[TRIP_MAX_CODECS])
{
    size_t count = 0;
    const pdr_codec *const *ours = pdr_codecs(&count);

    if (count >= TRIP_MAX_CODECS)
        abort(); /* raise the number rather than leave one out */
    for (size_t i = 0; i < count; i++)
        out[i] = ours[i];
    out[count] = toy_codec();
    return count + 1;
}

/* --- streams ------------------------------------------------------------- */

pdr_rc trip_give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct trip_source *source = arg;
    size_t len = source->rest.len;

    (void)err;
    if (len > source->piece)
        len = source->piece;
    if (len > cap)
        len = cap;
    *got = len;
    if (len == 0)
        return PDR_OK;
    memcpy(into, source->rest.ptr, len);
    source->rest = pdr_str_n(source->rest.ptr + len, source->rest.len - len);
    return PDR_OK;
}

pdr_rc trip_take(pdr_str bytes, pdr_err *err, void *arg)
{
    return pdr_buf_append(arg, bytes, err);
}

/* --- events -------------------------------------------------------------- */

/* An event, or the value that was taken in its place. */
struct step {
    pdr_event event;
    pdr_value *taken; /* owned */
    bool skipped;
};

/* The next step of a walk. */
static pdr_rc next_step(struct step *out, pdr_walk *walk, struct trip_way way,
                        pdr_err *err)
{
    size_t outside = pdr_walk_depth(walk);
    pdr_rc rc = pdr_walk_next(&out->event, walk, err);

    out->taken = NULL;
    out->skipped = false;
    if (rc != PDR_OK || way.mode == TRIP_EVENTS || outside != way.level)
        return rc;
    if (out->event != PDR_BEGIN_OBJECT && out->event != PDR_BEGIN_ARRAY &&
        out->event != PDR_SCALAR)
        return PDR_OK;
    if (way.mode == TRIP_TAKE)
        return pdr_walk_take(&out->taken, walk, err);
    out->skipped = true;
    return pdr_walk_skip(walk, err);
}

static pdr_rc put_step(pdr_buf *out, const struct step *step,
                       const pdr_walk *walk, pdr_err *err)
{
    const pdr_value *value =
        step->taken != NULL ? step->taken : pdr_walk_value(walk);
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    char mark = "${[}:="[step->event];
    char head[32];

    if (step->taken != NULL)
        mark = '*';
    if (step->skipped) {
        mark = '~';
        value = NULL;
    }
    (void)snprintf(head, sizeof(head), "%zu %c", pdr_walk_depth(walk), mark);
    pdr_rc rc = pdr_buf_append(out, pdr_str_c(head), err);
    if (rc == PDR_OK && value != NULL)
        rc = pdr_json_write(out, value, &opts, err);
    return rc == PDR_OK ? pdr_buf_append(out, pdr_str_c("\n"), err) : rc;
}

pdr_rc trip_tape(pdr_buf *out, const pdr_codec *codec, pdr_str bytes,
                 const pdr_read_opts *opts, struct trip_way way, pdr_err *err)
{
    struct trip_source source = {bytes, way.piece};
    pdr_walk *walk = NULL;
    pdr_rc rc = pdr_walk_new(&walk, codec, opts, err, trip_give, &source);

    for (int ends = 0; rc == PDR_OK && ends < 2;) {
        struct step step = {PDR_END_OF_INPUT, NULL, false};
        rc = next_step(&step, walk, way, err);
        if (rc == PDR_OK)
            rc = put_step(out, &step, walk, err);
        ends += step.event == PDR_END_OF_INPUT;
        pdr_value_free(step.taken);
    }
    pdr_walk_free(walk);
    return rc;
}

static pdr_rc copy_steps(pdr_writer *writer, pdr_walk *walk,
                         struct trip_way way, pdr_err *err)
{
    for (;;) {
        struct step step = {PDR_END_OF_INPUT, NULL, false};
        pdr_rc rc = next_step(&step, walk, way, err);
        if (rc != PDR_OK || step.event == PDR_END_OF_INPUT)
            return rc;
        if (step.taken != NULL)
            rc = pdr_writer_put(writer, PDR_SCALAR, step.taken, err);
        else
            rc = pdr_writer_put(writer, step.event, pdr_walk_value(walk), err);
        pdr_value_free(step.taken);
        if (rc != PDR_OK)
            return rc;
    }
}

pdr_rc trip_copy(pdr_buf *out, struct trip_end to, const pdr_write_opts *layout,
                 struct trip_end from, pdr_str bytes, struct trip_way way,
                 const pdr_read_opts *limits, pdr_err *err)
{
    struct trip_source source = {bytes, way.piece};
    pdr_read_opts read = {0};
    pdr_write_opts write = {0};
    pdr_walk *walk = NULL;
    pdr_writer *writer = NULL;

    if (limits != NULL)
        read = *limits;
    if (layout != NULL)
        write = *layout;
    write.flags |= to.flags | (read.flags & PDR_BARE_TOKENS);
    read.flags |= from.flags;
    pdr_rc rc = pdr_walk_new(&walk, from.codec, &read, err, trip_give, &source);
    if (rc == PDR_OK)
        rc = pdr_writer_new(&writer, to.codec, &write, err, trip_take, out);
    if (rc == PDR_OK)
        rc = copy_steps(writer, walk, way, err);
    if (rc == PDR_OK)
        rc = pdr_writer_finish(writer, err);
    pdr_writer_free(writer);
    pdr_walk_free(walk);
    return rc;
}

/* --- one check ------------------------------------------------------------
 */

/* Everything that a check owns. */
struct trip {
    struct roundtrip_report *report;
    const pdr_codec *codec;
    pdr_read_opts opts;
    pdr_value *value; /* what the JSON text is */
    pdr_buf compact;  /* its compact text, which has to come back */
    pdr_buf bytes;    /* the document in the format of `codec` */
    pdr_buf tape;     /* its events, as JSON gives them */
    pdr_buf scratch;
};

static bool wrong(struct trip *trip, const char *fmt, ...) PDR_PRINTF(2, 3);

static bool wrong(struct trip *trip, const char *fmt, ...)
{
    char text[300];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)snprintf(trip->report->text, sizeof(trip->report->text), "%s: %s",
                   trip->codec->title, text);
    return false;
}

static bool failed(struct trip *trip, const char *what, const pdr_err *err)
{
    return wrong(trip, "%s: %s at %lld path '%s': %s", what, err->reason,
                 (long long)err->offset, err->path, err->message);
}

static bool same(struct trip *trip, const char *what, pdr_str expected,
                 pdr_str actual)
{
    size_t at = 0;

    if (pdr_str_equal(expected, actual))
        return true;
    while (at < expected.len && at < actual.len &&
           expected.ptr[at] == actual.ptr[at])
        at++;
    size_t want = expected.len - at, got = actual.len - at;
    return wrong(trip, "%s differs at byte %zu: expected '%.*s', got '%.*s'",
                 what, at, (int)(want < 40 ? want : 40), expected.ptr + at,
                 (int)(got < 40 ? got : 40), actual.ptr + at);
}

static void begin(struct trip *trip, struct roundtrip_report *report,
                  const pdr_codec *codec, const pdr_read_opts *opts)
{
    memset(trip, 0, sizeof(*trip));
    report->text[0] = '\0';
    trip->report = report;
    trip->codec = codec;
    if (opts != NULL)
        trip->opts = *opts;
    trip->compact.max = trip->bytes.max = MAX_BYTES;
    trip->tape.max = trip->scratch.max = MAX_BYTES;
}

static void end(struct trip *trip)
{
    pdr_value_free(trip->value);
    pdr_buf_dispose(&trip->compact);
    pdr_buf_dispose(&trip->bytes);
    pdr_buf_dispose(&trip->tape);
    pdr_buf_dispose(&trip->scratch);
}

/* Read the JSON text: the value, and what has to come back. */
static bool read_json(struct trip *trip, pdr_str json)
{
    pdr_write_opts write = {.flags = trip->opts.flags};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&trip->value, json, &trip->opts, &err) != PDR_OK)
        return failed(trip, "the JSON text", &err);
    if (pdr_json_write(&trip->compact, trip->value, &write, &err) != PDR_OK)
        return failed(trip, "the compact text", &err);
    return true;
}

static bool write_bytes(struct trip *trip, pdr_buf *out, pdr_layout layout)
{
    pdr_write_opts opts = {.flags = trip->opts.flags, .layout = layout};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(out);
    if (pdr_codec_write(out, trip->codec, trip->value, &opts, &err) != PDR_OK)
        return failed(trip, "not written", &err);
    return true;
}

static bool is_space(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\0' || strchr(" \t\r\n", text.ptr[i]) == NULL)
            return false;
    return true;
}

/* These bytes are a document with the expected text. */
static bool reads_back(struct trip *trip, const char *what, pdr_str bytes)
{
    pdr_write_opts write = {.flags = trip->opts.flags};
    pdr_read_opts opts = trip->opts;
    pdr_buf text = PDR_BUF_INIT(MAX_BYTES);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t used = 0;
    bool good = false;

    opts.used = &used;
    if (pdr_codec_read(&value, trip->codec, bytes, &opts, &err) != PDR_OK)
        good = failed(trip, what, &err);
    else if (pdr_json_write(&text, value, &write, &err) != PDR_OK)
        good = failed(trip, what, &err);
    else if (!is_space(pdr_str_n(bytes.ptr + used, bytes.len - used)))
        good = wrong(trip, "%s: %zu bytes used of %zu", what, used, bytes.len);
    else if (!pdr_value_equal(trip->value, value))
        good = wrong(trip, "%s: comes back as another value", what);
    else
        good =
            same(trip, what, pdr_buf_str(&trip->compact), pdr_buf_str(&text));
    pdr_value_free(value);
    pdr_buf_dispose(&text);
    return good;
}

static bool check_whole(struct trip *trip)
{
    return reads_back(trip, "whole", pdr_buf_str(&trip->bytes)) &&
           write_bytes(trip, &trip->scratch, PDR_PRETTY) &&
           reads_back(trip, "pretty", pdr_buf_str(&trip->scratch)) &&
           write_bytes(trip, &trip->scratch, PDR_AS_READ) &&
           reads_back(trip, "as read", pdr_buf_str(&trip->scratch));
}

/* --- by events -------------------------------------------------------------
 */

/* The events of the bytes are those of the JSON text, in trip->tape. */
static bool check_tape(struct trip *trip, struct trip_way way)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&trip->scratch);
    if (trip_tape(&trip->scratch, trip->codec, pdr_buf_str(&trip->bytes),
                  &trip->opts, way, &err) != PDR_OK)
        return failed(trip, "events", &err);
    return same(trip, "list of events", pdr_buf_str(&trip->tape),
                pdr_buf_str(&trip->scratch));
}

/* Events in: the bytes are those that the whole value gives. */
static bool check_writer(struct trip *trip, pdr_str json, struct trip_way way)
{
    const struct trip_end to = {trip->codec, 0}, from = {pdr_json_codec(), 0};
    static const pdr_layout layouts[] = {PDR_PRETTY, PDR_COMPACT};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = json.len < LARGE_BYTES ? 0 : 1; i < 2; i++) {
        pdr_write_opts layout = {.layout = layouts[i]};
        pdr_buf_clear(&trip->scratch);
        if (trip_copy(&trip->scratch, to, &layout, from, json, way, &trip->opts,
                      &err) != PDR_OK)
            return failed(trip, "piece by piece", &err);
        if (!write_bytes(trip, &trip->bytes, layouts[i]) ||
            !same(trip, "piece by piece", pdr_buf_str(&trip->bytes),
                  pdr_buf_str(&trip->scratch)))
            return false;
    }
    return true;
}

/* Events out, into JSON. */
static bool check_to_json(struct trip *trip, struct trip_way way)
{
    const struct trip_end to = {pdr_json_codec(), 0}, from = {trip->codec, 0};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&trip->scratch);
    if (trip_copy(&trip->scratch, to, NULL, from, pdr_buf_str(&trip->bytes),
                  way, &trip->opts, &err) != PDR_OK)
        return failed(trip, "to JSON", &err);
    return same(trip, "to JSON", pdr_buf_str(&trip->compact),
                pdr_buf_str(&trip->scratch));
}

/* One mode, in pieces of every size. */
static bool check_mode(struct trip *trip, pdr_str json, struct trip_way way)
{
    static const size_t pieces[] = {SIZE_MAX, 7, 1};
    static const size_t limits[] = {SIZE_MAX, LARGE_BYTES, SMALL_BYTES};
    pdr_err err = PDR_ERR_INIT;

    way.piece = SIZE_MAX;
    pdr_buf_clear(&trip->tape);
    if (trip_tape(&trip->tape, pdr_json_codec(), json, &trip->opts, way,
                  &err) != PDR_OK)
        return failed(trip, "events of the JSON text", &err);
    if (way.mode != TRIP_SKIP && !check_writer(trip, json, way))
        return false;
    for (size_t p = 0; p < 3 && json.len < limits[p]; p++) {
        way.piece = pieces[p];
        if (!check_tape(trip, way))
            return false;
        if (way.mode != TRIP_SKIP && !check_to_json(trip, way))
            return false;
    }
    return true;
}

static bool check_ways(struct trip *trip, pdr_str json)
{
    static const struct trip_way ways[] = {
        {SIZE_MAX, TRIP_EVENTS, 0}, {SIZE_MAX, TRIP_TAKE, 0},
        {SIZE_MAX, TRIP_SKIP, 0},   {SIZE_MAX, TRIP_TAKE, 1},
        {SIZE_MAX, TRIP_TAKE, 2},   {SIZE_MAX, TRIP_SKIP, 1}};
    size_t count = json.len < LARGE_BYTES ? sizeof(ways) / sizeof(ways[0]) : 2;

    for (size_t i = 0; i < count; i++)
        if (!check_mode(trip, json, ways[i]))
            return false;
    return true;
}

bool trip_check(struct roundtrip_report *report, const pdr_codec *codec,
                pdr_str json, const pdr_read_opts *opts)
{
    struct trip trip;

    begin(&trip, report, codec, opts);
    bool good = read_json(&trip, json) &&
                write_bytes(&trip, &trip.bytes, PDR_COMPACT) &&
                check_whole(&trip) && check_ways(&trip, json);
    end(&trip);
    return good;
}

bool trip_check_pair(struct roundtrip_report *report, const pdr_codec *a,
                     const pdr_codec *b, pdr_str json,
                     const pdr_read_opts *opts)
{
    const struct trip_end first = {a, 0}, second = {b, 0};
    struct trip trip;
    pdr_err err = PDR_ERR_INIT;

    begin(&trip, report, a, opts);
    bool good =
        read_json(&trip, json) && write_bytes(&trip, &trip.bytes, PDR_COMPACT);
    if (good &&
        trip_copy(&trip.scratch, second, NULL, first, pdr_buf_str(&trip.bytes),
                  by_events, &trip.opts, &err) != PDR_OK)
        good = failed(&trip, b->title, &err);
    trip.codec = b;
    good = good && reads_back(&trip, a->title, pdr_buf_str(&trip.scratch));
    end(&trip);
    return good;
}

/* --- sequences ----------------------------------------------------------- */

/* Lines to a sequence in trip->bytes; compact lines in trip->compact. */
static bool make_sequence(struct trip *trip, unsigned flags, pdr_str lines)
{
    const struct trip_end to = {trip->codec, flags};
    const struct trip_end json = {pdr_json_codec(), PDR_SEQUENCE};
    const struct trip_way taken = {SIZE_MAX, TRIP_TAKE, 0};
    pdr_err err = PDR_ERR_INIT;

    if (trip_copy(&trip->compact, json, NULL, json, lines, by_events,
                  &trip->opts, &err) != PDR_OK)
        return failed(trip, "the JSON lines", &err);
    if (trip_copy(&trip->bytes, to, NULL, json, lines, by_events, &trip->opts,
                  &err) != PDR_OK ||
        trip_copy(&trip->scratch, to, NULL, json, lines, taken, &trip->opts,
                  &err) != PDR_OK)
        return failed(trip, "sequence not written", &err);
    return same(trip, "sequence of whole documents", pdr_buf_str(&trip->bytes),
                pdr_buf_str(&trip->scratch));
}

static bool check_lines(struct trip *trip, unsigned flags, struct trip_way way)
{
    const struct trip_end json = {pdr_json_codec(), PDR_SEQUENCE};
    const struct trip_end from = {trip->codec, flags};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&trip->scratch);
    if (trip_copy(&trip->scratch, json, NULL, from, pdr_buf_str(&trip->bytes),
                  way, &trip->opts, &err) != PDR_OK)
        return failed(trip, "sequence to JSON lines", &err);
    return same(trip, "sequence", pdr_buf_str(&trip->compact),
                pdr_buf_str(&trip->scratch));
}

bool trip_check_sequence(struct roundtrip_report *report,
                         const pdr_codec *codec, unsigned flags, pdr_str lines,
                         const pdr_read_opts *opts)
{
    static const size_t pieces[] = {SIZE_MAX, 7, 1};
    struct trip trip;

    begin(&trip, report, codec, opts);
    bool good = make_sequence(&trip, flags, lines);
    for (size_t p = 0; good && p < 3; p++)
        for (size_t level = 0; good && level < 3; level++) {
            struct trip_way way = {pieces[p], TRIP_TAKE, level};
            good = check_lines(&trip, flags, way);
        }
    end(&trip);
    return good;
}

/* --- what is cut or damaged ------------------------------------------------
 */

/* A refusal says what is wrong, and blames the input. */
static bool is_refusal(struct trip *trip, const char *what, size_t at,
                       pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_EINVALID && rc != PDR_ELIMIT)
        return wrong(trip, "%s %zu: gives %s", what, at, pdr_rc_name(rc));
    if (err->code != rc || err->reason[0] == '\0' || err->message[0] == '\0')
        return wrong(trip, "%s %zu: does not say why", what, at);
    return true;
}

/* The first `len` bytes are refused, or are the whole but for white space. */
static bool check_cut(struct trip *trip, size_t len)
{
    pdr_str all = pdr_buf_str(&trip->bytes), part = pdr_str_n(all.ptr, len);
    const struct trip_way way = {1, TRIP_EVENTS, 0};
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;

    if (is_space(pdr_str_n(all.ptr + len, all.len - len)))
        return true; /* only white space is cut */
    pdr_rc rc = pdr_codec_read(&value, trip->codec, part, NULL, &err);
    pdr_value_free(value);
    if (rc == PDR_OK)
        return wrong(trip, "cut to %zu of %zu bytes, and read", len, all.len);
    if (!is_refusal(trip, "cut to", len, rc, &err))
        return false;
    err = (pdr_err)PDR_ERR_INIT;
    pdr_buf_clear(&trip->tape);
    rc = trip_tape(&trip->tape, trip->codec, part, NULL, way, &err);
    if (rc == PDR_OK)
        return wrong(trip, "cut to %zu of %zu bytes, and walked over", len,
                     all.len);
    return is_refusal(trip, "walk cut to", len, rc, &err);
}

bool trip_check_cuts(struct roundtrip_report *report, const pdr_codec *codec,
                     pdr_str json)
{
    struct trip trip;

    begin(&trip, report, codec, NULL);
    bool good =
        read_json(&trip, json) && write_bytes(&trip, &trip.bytes, PDR_COMPACT);
    for (size_t len = 0; good && len < trip.bytes.len; len++)
        good = check_cut(&trip, len);
    end(&trip);
    return good;
}

/* Of `len` bytes of a sequence come whole documents, or a refusal. */
static bool check_sequence_cut(struct trip *trip, unsigned flags, size_t len)
{
    const struct trip_end json = {pdr_json_codec(), PDR_SEQUENCE};
    const struct trip_end from = {trip->codec, flags};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&trip->scratch);
    pdr_rc rc =
        trip_copy(&trip->scratch, json, NULL, from,
                  pdr_str_n(trip->bytes.ptr, len), by_events, NULL, &err);
    if (rc != PDR_OK)
        return is_refusal(trip, "sequence cut to", len, rc, &err);
    size_t got = trip->scratch.len;
    if (got > trip->compact.len ||
        !pdr_str_equal(pdr_str_n(trip->compact.ptr, got),
                       pdr_buf_str(&trip->scratch)))
        return wrong(trip, "a sequence cut to %zu bytes gives other documents",
                     len);
    return true;
}

bool trip_check_sequence_cuts(struct roundtrip_report *report,
                              const pdr_codec *codec, unsigned flags,
                              pdr_str lines)
{
    struct trip trip;

    begin(&trip, report, codec, NULL);
    bool good = make_sequence(&trip, flags, lines);
    for (size_t len = 0; good && len <= trip.bytes.len; len++)
        good = check_sequence_cut(&trip, flags, len);
    end(&trip);
    return good;
}

/* What was read from damaged bytes is a value like any other. */
static bool check_survivor(struct trip *trip, size_t at)
{
    const struct trip_end to = {pdr_json_codec(), 0}, from = {trip->codec, 0};
    pdr_buf own = PDR_BUF_INIT(MAX_BYTES);
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&trip->compact);
    pdr_buf_clear(&trip->scratch);
    bool good =
        pdr_json_write(&trip->compact, trip->value, NULL, &err) == PDR_OK &&
        write_bytes(trip, &own, PDR_COMPACT) &&
        reads_back(trip, "damaged", pdr_buf_str(&own));
    if (good &&
        trip_copy(&trip->scratch, to, NULL, from, pdr_buf_str(&trip->bytes),
                  by_events, NULL, &err) != PDR_OK)
        good = wrong(trip, "byte %zu damaged: read, but not walked over: %s",
                     at, err.reason);
    good = good && same(trip, "walk over damage", pdr_buf_str(&trip->compact),
                        pdr_buf_str(&trip->scratch));
    pdr_buf_dispose(&own);
    return good;
}

static bool check_damage_at(struct trip *trip, size_t at)
{
    pdr_str bytes = pdr_buf_str(&trip->bytes);
    pdr_err err = PDR_ERR_INIT;

    pdr_value_free(trip->value);
    trip->value = NULL;
    pdr_rc rc = pdr_codec_read(&trip->value, trip->codec, bytes, NULL, &err);
    if (rc == PDR_OK)
        return check_survivor(trip, at);
    if (trip->value != NULL)
        return wrong(trip, "byte %zu damaged: refused with a value", at);
    if (!is_refusal(trip, "damage at", at, rc, &err))
        return false;
    pdr_buf_clear(&trip->tape);
    if (trip_tape(&trip->tape, trip->codec, bytes, NULL, by_events, &err) ==
        PDR_OK)
        return wrong(trip, "byte %zu damaged: walked over, but not read", at);
    return true;
}

bool trip_check_damage(struct roundtrip_report *report, const pdr_codec *codec,
                       pdr_str json)
{
    struct trip trip;

    begin(&trip, report, codec, NULL);
    bool good =
        read_json(&trip, json) && write_bytes(&trip, &trip.bytes, PDR_COMPACT);
    for (size_t at = 0; good && at < trip.bytes.len; at++) {
        char whole = trip.bytes.ptr[at];
        for (int byte = 0; good && byte < 256; byte++) {
            trip.bytes.ptr[at] = (char)byte;
            good = check_damage_at(&trip, at);
        }
        trip.bytes.ptr[at] = whole;
    }
    end(&trip);
    return good;
}
