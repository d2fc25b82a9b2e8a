/* Two allocations, the second of which fails once: whoever then forgets the
 * first leaks only on that path, and TEST_OOM must walk it. */
#include "test.h"

#include "base.h"

TEST_OOM(oom_leak, is_found_by_the_harness)
{
    char *a = pdr__alloc(8);
    char *b = pdr__alloc(8);

    if (b == NULL)
        return;
    pdr__free(a);
    pdr__free(b);
}
