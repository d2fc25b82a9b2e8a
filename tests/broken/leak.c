/* A test that forgets to release what it allocated: the harness must say so. */
#include "test.h"

#include "base.h"

TEST(leak, is_found_by_the_harness)
{
    ASSERT(pdr__alloc(24) != NULL);
}
