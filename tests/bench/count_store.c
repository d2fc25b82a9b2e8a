/*
 * count_store.c - how often is a store read, and how often committed to?
 */
#include "count_store.h"

#include <stdatomic.h>

#include <perdure/sys/store.h>

static const pdr_store_ops *below;
static pdr_store_ops ops;
static atomic_uint_fast64_t reads, commits;

static pdr_rc count_read(pdr_store *store, pdr_page *page,
                         const pdr_query *query, pdr_err *err)
{
    atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
    return below->read(store, page, query, err);
}

static void count_commit(pdr_store *store, pdr_write *const *writes,
                         size_t count)
{
    atomic_fetch_add_explicit(&commits, count, memory_order_relaxed);
    below->commit(store, writes, count);
}

void count_store_wrap(pdr_store *store)
{
    below = store->ops;
    ops = *below;
    ops.read = count_read;
    ops.commit = count_commit;
    store->ops = &ops;
    reads = commits = 0;
}

struct count_store count_store_get(void)
{
    return (struct count_store){(double)reads, (double)commits};
}
