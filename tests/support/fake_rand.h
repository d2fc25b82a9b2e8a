/*
 * fake_rand.h - randomness that is the same in every run, and can run dry.
 */
#ifndef PDR_FAKE_RAND_H
#define PDR_FAKE_RAND_H

#include "base.h"

struct fake_rand {
    struct pdr__rand base; /* hand this to the code under test */
    uint64_t state;
    size_t fail_in; /* calls until one fails; 0: none will */
};

/* Equal seeds give equal bytes. `rand` must not move in memory afterwards. */
void fake_rand_init(struct fake_rand *rand, uint64_t seed);

/* Let the n-th call from now fail (1 is the next); 0 turns it off. */
void fake_rand_fail(struct fake_rand *rand, size_t n);

/* The next number, for tests that need one themselves. */
uint64_t fake_rand_next(struct fake_rand *rand);

#endif
