/*
 * simdjson_shim.h - the few calls of simdjson that the benchmark needs, for C.
 */
#ifndef PDR_BENCH_SIMDJSON_SHIM_H
#define PDR_BENCH_SIMDJSON_SHIM_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

struct shim; /* one parser, used again for each document */

/* Static texts. */
const char *shim_version(void);
const char *shim_kernel(void);

/* A parser with room for documents of `capacity` bytes; NULL if there is no
 * memory. It lives until the program ends. */
struct shim *shim_new(size_t capacity);

/* Parse into the parser's own document. False if the text is refused. */
bool shim_parse(struct shim *shim, const struct bench_text *text);

/* What the document parsed last holds. */
void shim_sums(struct bench_sums *sums, const struct shim *shim);

/* Copy the text of each name and string, convert each number. */
void shim_touch(struct bench_touch *touch, const struct shim *shim);

#ifdef __cplusplus
}
#endif

#endif
