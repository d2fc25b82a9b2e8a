/*
 * alloc.c - the one door to memory.
 *
 * WHY  Tests must be able to make any allocation fail and to count what was not
 *      released; programs may bring their own allocator. So nothing in the
 *      library calls malloc() but this file, through a table that is chosen
 *      before the first use and never changes afterwards.
 */
#include <stdlib.h>

#include "base.h"

static void *system_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void *system_resize(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    return realloc(ptr, size);
}

static void system_release(void *ctx, void *ptr)
{
    (void)ctx;
    free(ptr);
}

static const pdr_alloc_ops system_ops = {PDR_ALLOC_OPS_VERSION, system_alloc,
                                         system_resize, system_release, NULL};

/* Set before threads start; `in_use` says that it is too late. */
static pdr_alloc_ops ops = {PDR_ALLOC_OPS_VERSION, system_alloc, system_resize,
                            system_release, NULL};
static atomic_bool in_use;

pdr_rc pdr_alloc_set(const pdr_alloc_ops *table, pdr_err *err)
{
    if (atomic_load_explicit(&in_use, memory_order_relaxed))
        return PDR_FAIL(err, ALLOCATOR_IN_USE,
                        "the allocator must be chosen before the first use");
    if (table == NULL) {
        ops = system_ops;
        return PDR_OK;
    }
    if (table->version != PDR_ALLOC_OPS_VERSION)
        return PDR_FAIL(err, TABLE_VERSION,
                        "allocator table has version %u, this library knows %d",
                        (unsigned)table->version, PDR_ALLOC_OPS_VERSION);
    if (table->alloc == NULL || table->resize == NULL || table->release == NULL)
        return PDR_FAIL(err, MISSING_SLOT,
                        "allocator table lacks alloc, resize or release");
    ops = *table;
    return PDR_OK;
}

static void mark_in_use(void)
{
    /* Mostly a load: a store each time would bounce the cache line. */
    if (PDR_UNLIKELY(!atomic_load_explicit(&in_use, memory_order_relaxed)))
        atomic_store_explicit(&in_use, true, memory_order_relaxed);
}

void *pdr__alloc(size_t size)
{
    mark_in_use();
    return ops.alloc(ops.ctx, size > 0 ? size : 1);
}

void *pdr__calloc(size_t count, size_t size)
{
    size_t total = 0;

    if (!pdr__mul_size(&total, count, size))
        return NULL;
    void *ptr = pdr__alloc(total);
    if (ptr != NULL)
        memset(ptr, 0, total);
    return ptr;
}

void *pdr__realloc(void *ptr, size_t size)
{
    mark_in_use();
    return ops.resize(ops.ctx, ptr, size > 0 ? size : 1);
}

void pdr__free(void *ptr)
{
    if (ptr != NULL)
        ops.release(ops.ctx, ptr);
}

char *pdr__strndup(pdr_str text)
{
    size_t size = 0;

    if (!pdr__add_size(&size, text.len, 1))
        return NULL;
    char *copy = pdr__alloc(size);
    if (copy == NULL)
        return NULL;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

char *pdr__strdup(const char *text)
{
    return pdr__strndup(pdr_str_c(text));
}

pdr_rc pdr__grow(void **list, size_t *cap, size_t want, size_t size,
                 pdr_err *err)
{
    size_t room = *cap > 8 ? *cap : 8, bytes = 0;
    void *grown = NULL;

    if (want <= *cap)
        return PDR_OK;
    while (room < want) {
        if (!pdr__mul_size(&room, room, 2))
            return pdr__nomem(err);
    }
    if (!pdr__mul_size(&bytes, room, size))
        return pdr__nomem(err);
    grown = pdr__realloc(*list, bytes);
    if (grown == NULL)
        return pdr__nomem(err);
    *list = grown;
    *cap = room;
    return PDR_OK;
}
