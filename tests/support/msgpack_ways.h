/*
 * msgpack_ways.h - MessagePack read in every way that there is, for tests.
 *
 * The readers in memory (one per kernel) and the walk must agree on every
 * input: the same value, or the same reason, offset and path. So tests read
 * through one function that holds them side by side. Its result is a text: the
 * compact JSON of the value, or "!reason offset path".
 */
#ifndef PDR_TEST_MSGPACK_WAYS_H
#define PDR_TEST_MSGPACK_WAYS_H

#include "test.h"

/* Append the bytes that hexadecimal digits stand for; spaces are skipped. */
void mp_hex(pdr_buf *out, const char *hex);

/* Append a byte, or `count` of them. */
void mp_byte(pdr_buf *out, unsigned byte);
void mp_bytes(pdr_buf *out, unsigned byte, size_t count);

/* Append the first byte, then `width` bytes of `n`, the highest first. */
void mp_head(pdr_buf *out, unsigned first, unsigned width, uint64_t n);

/* The text for a failure. */
void mp_verdict(char *out, size_t cap, const pdr_err *err);

/* Read one document in every way and fail the test if two disagree. Release the
 * text with free(). `opts` may be NULL; its kernel is not used. */
char *mp_read(pdr_str input, const pdr_read_opts *opts);

/* Walk a stream that comes in pieces of `piece` bytes: a line for each complete
 * document, then the verdict if it was refused. Release with free(). */
char *mp_walk(pdr_str input, const pdr_read_opts *opts, size_t piece);

/* The same, in pieces of several sizes that must agree. */
char *mp_walk_all(pdr_str input, const pdr_read_opts *opts);

#define ASSERT_MP_OPTS(expected, hex, opts) \
    mp_assert_reads(expected, hex, opts, __FILE__, __LINE__)
#define ASSERT_MP(expected, hex) ASSERT_MP_OPTS(expected, hex, NULL)
#define ASSERT_MP_BARE(expected, hex) \
    ASSERT_MP_OPTS(expected, hex, &mp_bare_tokens)
#define ASSERT_MP_BYTES(expected, buf)                                  \
    mp_assert_text(expected, mp_read(pdr_buf_str(buf), NULL), __FILE__, \
                   __LINE__)
/* Documents of a sequence, or with `flags`; each ends with a line end. */
#define ASSERT_MP_WALK(expected, hex, flags) \
    mp_assert_walks(expected, hex, flags, __FILE__, __LINE__)

extern const pdr_read_opts mp_bare_tokens;

void mp_assert_reads(const char *expected, const char *hex,
                     const pdr_read_opts *opts, const char *file, int line);
void mp_assert_walks(const char *expected, const char *hex, unsigned flags,
                     const char *file, int line);
/* Releases `actual`. */
void mp_assert_text(const char *expected, char *actual, const char *file,
                    int line);

/* --- writing ------------------------------------------------------------- */

/* The bytes of a value as hexadecimal digits, or the verdict; into `out`. */
void mp_write_hex(char *out, size_t cap, const pdr_value *value,
                  const pdr_write_opts *opts);

#endif
