/*
 * bag_stress.h - eight threads on one bag, and whether what they saw can be.
 *
 * Order: in each round all threads do a few operations on one slot, and note
 * when each began and ended and what it saw. A search then looks for a serial
 * order that explains all of it (linearisability: an operation that ended
 * before another began comes first). Counts: updates by several ways must add
 * up, each sum seen once. Snapshots: each is one point in time over all slots.
 *
 * Nothing here fails a test; the verdict says what was wrong.
 */
#ifndef PDR_TEST_BAG_STRESS_H
#define PDR_TEST_BAG_STRESS_H

#include "test.h"

struct bag_verdict {
    bool is_sound;
    char text[200]; /* what is wrong; "" if nothing is */
};

void bag_check_order(struct bag_verdict *out, unsigned rounds, uint64_t seed);
void bag_check_counts(struct bag_verdict *out, unsigned rounds);
void bag_check_snapshots(struct bag_verdict *out, unsigned rounds);

/* The bag that is being checked; for variants that break it. */
extern pdr_bag *bag_under_stress;

#endif
