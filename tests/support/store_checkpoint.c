/*
 * store_checkpoint.c - the log of a SQLite store goes into the main file now.
 *
 * A log of 32 MB would make every test that needs this long. Only while nobody
 * else commits.
 */
#include "sqlite/sqlite.h"
#include "store_work.h"

bool work_checkpoint(pdr_store *store)
{
    struct pdr__sqlite *self =
        PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
    bool done = false;

    if (store->ops != &pdr__sqlite_ops ||
        pdr__line_wait(&self->line, INT64_MAX, NULL) != PDR_OK)
        return false;
    done = pdr__checkpoint_all(self, false, NULL) == PDR_OK;
    pdr__line_leave(&self->line);
    return done;
}
