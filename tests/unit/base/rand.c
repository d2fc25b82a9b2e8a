/* The randomness of the system, and the one for tests. */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>

#include "base.h"
#include "fake_rand.h"

TEST(rand_system, fills_all_bytes_and_never_twice_the_same)
{
    unsigned char a[600], b[600], seen[600] = {0};

    /* A byte that nobody writes would stay zero in all twenty rounds. */
    for (int round = 0; round < 20; round++) {
        memset(a, 0, sizeof(a));
        ASSERT_RC(PDR_OK,
                  pdr__rand_fill(a, pdr__rand_system(), sizeof(a), NULL));
        for (size_t i = 0; i < sizeof(a); i++)
            seen[i] |= a[i];
    }
    for (size_t i = 0; i < sizeof(seen); i++)
        ASSERT(seen[i] != 0);
    ASSERT_RC(PDR_OK, pdr__rand_fill(b, pdr__rand_system(), sizeof(b), NULL));
    ASSERT(memcmp(a, b, sizeof(a)) != 0);
    ASSERT_RC(PDR_OK, pdr__rand_fill(b, pdr__rand_system(), 0, NULL));
}

TEST(rand_system, says_why_there_is_none)
{
    pdr_err err = PDR_ERR_INIT;
    void *page =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    /* The system cannot write there, which is an error like any other. */
    ASSERT(page != MAP_FAILED);
    ASSERT_RC(PDR_EIO, pdr__rand_fill(page, pdr__rand_system(), 16, &err));
    ASSERT_STR("no_randomness", err.reason);
    ASSERT_INT(EFAULT, err.sys);
    ASSERT_RC(PDR_EIO, pdr__rand_fill(page, pdr__rand_system(), 16, NULL));
    munmap(page, 4096);
}

TEST(fake_rand, repeats_itself_and_fails_on_request)
{
    struct fake_rand a, b;
    uint8_t x[40], y[40];

    fake_rand_init(&a, 5);
    fake_rand_init(&b, 5);
    ASSERT_RC(PDR_OK, pdr__rand_fill(x, &a.base, sizeof(x), NULL));
    ASSERT_RC(PDR_OK, pdr__rand_fill(y, &b.base, sizeof(y), NULL));
    ASSERT(memcmp(x, y, sizeof(x)) == 0);
    fake_rand_fail(&a, 2);
    ASSERT_RC(PDR_OK, pdr__rand_fill(x, &a.base, 1, NULL));
    ASSERT_RC(PDR_EIO, pdr__rand_fill(x, &a.base, 1, NULL));
    ASSERT_RC(PDR_OK, pdr__rand_fill(x, &a.base, 1, NULL));
}
