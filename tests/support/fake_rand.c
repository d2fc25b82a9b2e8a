#include "fake_rand.h"

/* SplitMix64: any seed will do, also 0. */
uint64_t fake_rand_next(struct fake_rand *rand)
{
    rand->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = rand->state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static pdr_rc fill(void *ctx, void *out, size_t len, pdr_err *err)
{
    struct fake_rand *rand = ctx;
    unsigned char *bytes = out;

    if (rand->fail_in > 0 && --rand->fail_in == 0)
        return PDR_FAIL(err, NO_RANDOMNESS, "the test wants no randomness");
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(fake_rand_next(rand) >> 56);
    return PDR_OK;
}

void fake_rand_init(struct fake_rand *rand, uint64_t seed)
{
    rand->base = (struct pdr__rand){fill, rand};
    rand->state = seed;
    rand->fail_in = 0;
}

void fake_rand_fail(struct fake_rand *rand, size_t n)
{
    rand->fail_in = n;
}
