/*
 * ours.h - our side of the benchmarks of codecs, the same in each program.
 */
#ifndef PDR_BENCH_OURS_H
#define PDR_BENCH_OURS_H

#include <perdure.h>

#include "bench.h"

/* bench_start(), and notes of kernel and memory. */
void ours_start(int argc, char **argv, const char *bench);

/* The document as a view. */
pdr_str ours_str(const struct bench_text *text);

/* A value that points into the document; ends the program on failure. */
pdr_value *ours_value(const struct bench_text *text);

/* The timed call: read with default options and error detail, free. */
void ours_read(const struct bench_text *text);

/* The timed call: read, copy the text of each name and string, convert each
 * number, free. */
void ours_touch(const struct bench_text *text, struct bench_touch *touch);

/* What a value holds, and what a document holds. */
void ours_sums(struct bench_sums *sums, const pdr_value *value);
struct bench_sums ours_read_sums(const struct bench_text *text);

/* The same content through the builder: decoded strings, integers, doubles. */
pdr_value *ours_build(const pdr_value *value);

/* Write with default options into a buffer that has been reserved. */
void ours_write(pdr_buf *out, const pdr_value *value);

/* The timed call: read a document of any codec; the caller frees the value. */
pdr_value *ours_decode(const pdr_codec *codec, const struct bench_text *text);

/* The timed call: write with default options into a buffer that has been
 * reserved. */
void ours_encode(pdr_buf *out, const pdr_codec *codec, const pdr_value *value);

/* A JSON document in another format; it lives until the program ends. */
struct bench_text ours_recode(const pdr_codec *codec,
                              const struct bench_text *json);

/* An empty buffer with room for `size` bytes, touched. */
pdr_buf ours_buffer(size_t size);

#endif
