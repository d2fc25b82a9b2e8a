/*
 * store_judge.h - compare a store, at rest, with what its writers were told.
 */
#ifndef PDR_TEST_STORE_JUDGE_H
#define PDR_TEST_STORE_JUDGE_H

#include "store_view.h"

struct judgement {
    size_t lost;    /* acknowledged, and not there */
    size_t doubled; /* there twice, or under two numbers */
    size_t forked;  /* not behind what its writer had seen, or fenced off and
                       there all the same */
    size_t half;    /* some rows of a commit without the others */
    size_t ghosts;  /* there, but refused or never asked for */
};

size_t judgement_sum(const struct judgement *judgement);

/* Compare; complaints go to stderr, the first few of them. Marks the deeds. */
void store_judge(struct judgement *out, const struct view *view,
                 struct oracle *oracles, size_t count);

#endif
