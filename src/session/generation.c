/*
 * generation.c - which bytes a file has, so that a writer can say what it read.
 *
 * The folder and the command compare generations; both mean the same by them.
 */
#include "session.h"

#include <perdure/snapshot.h>

pdr_rc pdr_generation_of(pdr_generation *out, pdr_str bytes, pdr_err *err)
{
    pdr_generation found = {.exists = true};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    rc = pdr__sha256(found.sha256, bytes, err);
    if (rc == PDR_OK)
        *out = found;
    return rc;
}

bool pdr_generation_equal(const pdr_generation *a, const pdr_generation *b)
{
    if (!a->exists || !b->exists)
        return a->exists == b->exists;
    return memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
}
