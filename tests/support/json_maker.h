/*
 * json_maker.h - JSON documents from a seed, in their compact text.
 *
 * They hold what is easily lost: every spelling of numbers and of escapes, text
 * that another format cannot carry, duplicate names and names that differ only
 * in their spelling. Text is made, not values: so it is known what has to come
 * back without asking the code under test.
 */
#ifndef PDR_TEST_JSON_MAKER_H
#define PDR_TEST_JSON_MAKER_H

#include <perdure/buf.h>

/* A document that fits into the default limits. The same seed gives the same
 * document. */
void json_make(pdr_buf *out, uint64_t seed);

/* One string, quotes included, and one number. */
void json_make_string(pdr_buf *out, uint64_t seed);
void json_make_number(pdr_buf *out, uint64_t seed);

/* Arrays or objects around a null, `depth` of them. */
void json_make_deep(pdr_buf *out, size_t depth, bool objects);

/* `count` elements or members in one container. */
void json_make_wide(pdr_buf *out, size_t count, bool object);

/* A string of `len` characters. */
void json_make_long(pdr_buf *out, size_t len);

#endif
