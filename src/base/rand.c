/*
 * rand.c - the only place that asks the system for randomness.
 *
 * Everybody else takes a struct pdr__rand, so a test can say which bytes come
 * and when there are none.
 */
#include <errno.h>
#include <sys/random.h>

#include "base.h"

static pdr_rc system_fill(void *ctx, void *out, size_t len, pdr_err *err)
{
    char *next = out;

    (void)ctx;
    while (len > 0) {
        ssize_t got = getrandom(next, len, 0);
        if (got < 0) {
            int sys = errno;
            if (sys == EINTR)
                continue;
            pdr_rc rc =
                PDR_FAIL(err, NO_RANDOMNESS,
                         "the system gives no random bytes (errno %d)", sys);
            if (err != NULL)
                err->sys = sys;
            return rc;
        }
        next += got;
        len -= (size_t)got;
    }
    return PDR_OK;
}

const struct pdr__rand *pdr__rand_system(void)
{
    static const struct pdr__rand source = {system_fill, NULL};

    return &source;
}
