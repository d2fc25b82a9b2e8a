/*
 * codec_trip.h - does a codec lose anything?
 *
 * What every codec has to do, in checks that know no format: values go in and
 * come back as the same JSON text, whole and as events, in one piece and byte
 * by byte. A check reports instead of asserting, so that it also runs on codecs
 * that are broken on purpose and must be caught (tests/broken).
 */
#ifndef PDR_TEST_CODEC_TRIP_H
#define PDR_TEST_CODEC_TRIP_H

#include <perdure/codec.h>

#include "roundtrip.h"

/* The codecs of the library and the toy: all that can be tested at once. */
#define TRIP_MAX_CODECS 8
size_t trip_codecs(const pdr_codec *out[TRIP_MAX_CODECS]);

/* --- streams ------------------------------------------------------------- */

/* Bytes in memory as a stream that gives at most `piece` of them at a time. */
struct trip_source {
    pdr_str rest;
    size_t piece;
};
pdr_rc trip_give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg);

/* A stream into a pdr_buf. */
pdr_rc trip_take(pdr_str bytes, pdr_err *err, void *arg);

/* --- events -------------------------------------------------------------- */

enum trip_mode { TRIP_EVENTS, TRIP_TAKE, TRIP_SKIP };

/* How to walk: pieces of the stream, and what to do with values that have
 * `level` containers around them. */
struct trip_way {
    size_t piece;
    enum trip_mode mode;
    size_t level;
};

/* Append the events of a walk, a line each: how many containers are open, what
 * it is, its JSON text. The end is asked for twice. */
pdr_rc trip_tape(pdr_buf *out, const pdr_codec *codec, pdr_str bytes,
                 const pdr_read_opts *opts, struct trip_way way, pdr_err *err);

/* One end of a copy. */
struct trip_end {
    const pdr_codec *codec;
    unsigned flags; /* for this end only */
};

/* Walk over `bytes` and put every event into a writer; values that are taken
 * are put whole. `layout` and `limits` may be NULL; PDR_BARE_TOKENS in `limits`
 * holds for both ends. */
pdr_rc trip_copy(pdr_buf *out, struct trip_end to, const pdr_write_opts *layout,
                 struct trip_end from, pdr_str bytes, struct trip_way way,
                 const pdr_read_opts *limits, pdr_err *err);

/* --- checks -------------------------------------------------------------- */

/* All take JSON text, and what it takes to read it: PDR_BARE_TOKENS and
 * max_depth; NULL for the defaults. */

/* One document: whole in every layout, as events, taken and skipped; the same
 * bytes and events on every way; back to the same compact text. Large documents
 * go fewer ways. */
bool trip_check(struct roundtrip_report *report, const pdr_codec *codec,
                pdr_str json, const pdr_read_opts *opts);

/* JSON to `a`, from there as a stream to `b`, from there to JSON. */
bool trip_check_pair(struct roundtrip_report *report, const pdr_codec *a,
                     const pdr_codec *b, pdr_str json,
                     const pdr_read_opts *opts);

/* JSON lines to a sequence in the form of `flags` and back. */
bool trip_check_sequence(struct roundtrip_report *report,
                         const pdr_codec *codec, unsigned flags, pdr_str lines,
                         const pdr_read_opts *opts);

/* No beginning of the document passes for one, but for one that only lacks
 * white space behind it. `json` is a container or string: of a number, a
 * beginning may be a number. */
bool trip_check_cuts(struct roundtrip_report *report, const pdr_codec *codec,
                     pdr_str json);

/* The same for a sequence: what passes is a number of whole documents. */
bool trip_check_sequence_cuts(struct roundtrip_report *report,
                              const pdr_codec *codec, unsigned flags,
                              pdr_str lines);

/* Each byte of the document becomes each other byte: what is read is refused,
 * or a value that survives its own round trip; walking agrees with reading. */
bool trip_check_damage(struct roundtrip_report *report, const pdr_codec *codec,
                       pdr_str json);

#endif
