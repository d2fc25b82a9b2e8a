/* A store that carries out the edits of a commit one by one. */
#include "store_broken.h"

static void broken_write(pdr_store *store, pdr_write *write)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < write->count && rc == PDR_OK; i++) {
        pdr_write part = *write, *one = &part;
        part.plans = &write->plans[i];
        part.count = 1;
        pdr__memory_ops.commit(store, &one, 1);
        rc = part.rc;
        write->err = part.err;
    }
    write->rc = rc;
}
