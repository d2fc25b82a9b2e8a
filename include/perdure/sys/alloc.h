/*
 * perdure/sys/alloc.h - where the library gets its memory. For programs that
 * bring their own allocator and for tests that make it fail.
 */
#ifndef PERDURE_SYS_ALLOC_H
#define PERDURE_SYS_ALLOC_H

#include <perdure/errors.h>

PDR_BEGIN_DECLS

#define PDR_ALLOC_OPS_VERSION 1

/* All slots are required, are called from any thread, and must return memory
 * that is aligned for every type. */
typedef struct pdr_alloc_ops {
    uint32_t version; /* PDR_ALLOC_OPS_VERSION this table was built for */
    /* `size` bytes, never 0; NULL if there are none. */
    void *(*alloc)(void *ctx, size_t size);
    /* Like realloc: `ptr` may be NULL, `size` is never 0; on failure NULL, and
     * `ptr` stays as it was. */
    void *(*resize)(void *ctx, void *ptr, size_t size);
    /* Like free; `ptr` is never NULL. */
    void (*release)(void *ctx, void *ptr);
    void *ctx; /* handed to each slot */
    /* --- version 1 ends here --- */
} pdr_alloc_ops;

/**
 * Choose the allocator. Only before the library has allocated anything, that
 * is, before the first other call.
 *
 * @param ops  copied; NULL chooses malloc, realloc and free.
 * @return PDR_OK; PDR_EVERSION for a table of another version; PDR_EMISUSE if
 *         a slot is missing or memory was allocated already.
 * @thread owner: before any other thread uses the library  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_alloc_set(const pdr_alloc_ops *ops,
                                            pdr_err *err);

PDR_END_DECLS

#endif
