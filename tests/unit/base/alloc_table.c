/* Tables that the library refuses. That is decided before the first use of
 * memory, so it is tried before main() and looked at afterwards. */
#include "test.h"

#include <perdure/sys/alloc.h>

static void *no_memory(void *ctx, size_t size)
{
    (void)ctx;
    (void)size;
    return NULL;
}

static void *no_more(void *ctx, void *ptr, size_t size)
{
    (void)ptr;
    return no_memory(ctx, size);
}

static void no_release(void *ctx, void *ptr)
{
    (void)ctx;
    (void)ptr;
}

static const pdr_alloc_ops good = {PDR_ALLOC_OPS_VERSION, no_memory, no_more,
                                   no_release, NULL};

static struct {
    pdr_rc version, slot[3], system;
    pdr_err version_err, slot_err[3];
} tried;

__attribute__((constructor)) static void try_tables(void)
{
    pdr_alloc_ops table = good;

    table.version = PDR_ALLOC_OPS_VERSION + 1;
    tried.version = pdr_alloc_set(&table, &tried.version_err);
    table = good;
    table.alloc = NULL;
    tried.slot[0] = pdr_alloc_set(&table, &tried.slot_err[0]);
    table = good;
    table.resize = NULL;
    tried.slot[1] = pdr_alloc_set(&table, &tried.slot_err[1]);
    table = good;
    table.release = NULL;
    tried.slot[2] = pdr_alloc_set(&table, &tried.slot_err[2]);
    tried.system = pdr_alloc_set(NULL, NULL);
}

TEST(alloc_set, refuses_a_table_of_another_version)
{
    ASSERT_RC(PDR_EVERSION, tried.version);
    ASSERT_STR("table_version", tried.version_err.reason);
    ASSERT_STR("allocator table has version 2, this library knows 1",
               tried.version_err.message);
}

TEST(alloc_set, refuses_a_table_that_lacks_a_slot)
{
    for (size_t i = 0; i < 3; i++) {
        ASSERT_RC(PDR_EMISUSE, tried.slot[i]);
        ASSERT_STR("missing_slot", tried.slot_err[i].reason);
    }
}

TEST(alloc_set, takes_the_system_back_while_nothing_was_allocated)
{
    ASSERT_RC(PDR_OK, tried.system);
}
