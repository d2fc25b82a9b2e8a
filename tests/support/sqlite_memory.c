/* See sqlite_memory.h. */
#include "sqlite_memory.h"

#include <sqlite3.h>
#include <stdatomic.h>

static sqlite3_mem_methods below; /* SQLite's own */
static bool has_entered;

static struct {
    atomic_size_t calls; /* since it was set */
    atomic_size_t failed;
    size_t nth;
    bool for_ever;
} plan;

static bool must_fail(void)
{
    size_t n = atomic_fetch_add(&plan.calls, 1) + 1;
    bool fails =
        plan.nth != 0 && (plan.for_ever ? n >= plan.nth : n == plan.nth);

    if (fails)
        atomic_fetch_add(&plan.failed, 1);
    return fails;
}

static void *allocate(int bytes)
{
    return must_fail() ? NULL : below.xMalloc(bytes);
}

static void *resize(void *old, int bytes)
{
    return must_fail() ? NULL : below.xRealloc(old, bytes);
}

void sqlite_memory_enter(void)
{
    sqlite3_mem_methods ours;

    if (has_entered)
        return;
    ASSERT_INT(SQLITE_OK, sqlite3_shutdown());
    ASSERT_INT(SQLITE_OK, sqlite3_config(SQLITE_CONFIG_GETMALLOC, &below));
    ours = below;
    ours.xMalloc = allocate;
    ours.xRealloc = resize;
    ASSERT_INT(SQLITE_OK, sqlite3_config(SQLITE_CONFIG_MALLOC, &ours));
    ASSERT_INT(SQLITE_OK, sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0));
    ASSERT_INT(SQLITE_OK, sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0));
    ASSERT_INT(SQLITE_OK, sqlite3_initialize());
    has_entered = true;
}

void sqlite_memory_fail(size_t nth, bool for_ever)
{
    plan.nth = nth;
    plan.for_ever = for_ever;
    atomic_store(&plan.calls, 0);
    atomic_store(&plan.failed, 0);
}

size_t sqlite_memory_failed(void)
{
    return atomic_load(&plan.failed);
}

int64_t sqlite_memory_used(void)
{
    return sqlite3_memory_used();
}

/* False: there are fewer allocations. */
static bool fail_one(const struct fail_deed *deed, void *arg, size_t nth,
                     bool for_ever)
{
    struct fail_run run = {.err = PDR_ERR_INIT};

    deed->prepare(arg);
    sqlite_memory_fail(nth, for_ever);
    run.rc = deed->act(arg, &run.err);
    run.failed = sqlite_memory_failed() > 0;
    snprintf(run.what, sizeof(run.what), "allocation %zu of SQLite fails %s",
             nth, for_ever ? "for ever" : "once");
    sqlite_memory_fail(0, false);
    deed->check(arg, &run);
    return run.failed;
}

void sqlite_memory_each(const struct fail_deed *deed, void *arg, size_t step)
{
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (size_t nth = 1; fail_one(deed, arg, nth, for_ever != 0);)
            nth += step;
}
