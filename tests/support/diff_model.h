/*
 * diff_model.h - a second opinion on what a diff means.
 *
 * Trees that can be changed, with their own rules for pointers and for
 * equality, so that nothing of what is tested helps to test it. A document `a`,
 * changed as a diff of a and b says, must be b but for the order of members.
 */
#ifndef PDR_TEST_DIFF_MODEL_H
#define PDR_TEST_DIFF_MODEL_H

#include <perdure/value.h>

struct tree; /* release with tree_free() */

/* Random numbers from a seed, the same on every machine. */
struct dice {
    uint64_t state;
};
uint32_t dice_roll(struct dice *dice, uint32_t sides); /* 0 … sides - 1 */

/* A random document without duplicate names, and a changed copy of one. */
struct tree *tree_random(struct dice *dice, unsigned depth);
struct tree *tree_mutated(struct dice *dice, const struct tree *tree);
void tree_free(struct tree *tree);

/* Its value, read from a text with random white space and escapes. Owned:
 * release with pdr_value_free(). */
pdr_value *tree_value(struct dice *dice, const struct tree *tree);

/* What to do with the diff of two documents. */
struct diff_verdict {
    size_t changes;  /* reported, REORDERED ones not counted */
    bool is_applied; /* applying them gave b */
    char text[400];  /* what went wrong */
};

/* Diff a and b, apply the changes to a, compare with b. If `drop` is below the
 * number of changes, that one is left out. */
void diff_check(struct diff_verdict *out, struct dice *dice,
                const struct tree *a, const struct tree *b, size_t drop);

/* diff_check() for many random pairs; stops at the first that fails.
 * @return pairs that were checked. */
size_t diff_check_random(struct diff_verdict *out, uint64_t seed, size_t pairs,
                         bool drop_one);

#endif
