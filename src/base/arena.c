/*
 * arena.c - memory that is released at once.
 *
 * WHY  A parse, a build or a request makes many small pieces that live equally
 *      long. An arena makes a piece cost an addition, and cleaning up one call.
 *      Its owner sets a maximum, so that hostile input cannot take all memory.
 *
 *     newest                          older, full or of one piece
 *     +------+------------+------+    +------+---------------+
 *     | head | pieces     | free |--->| head | pieces        |---> ...
 *     +------+------------+------+    +------+---------------+
 *
 * INVARIANTS
 *   A1  Each piece is 16-byte aligned.
 *   A2  `used` counts what was handed out, rounded up to 16, and never passes
 *       `max`. It does not depend on the chunks, so a limit holds alike in all
 *       builds.
 *   A3  Usual chunks double from PDR_ARENA_FIRST_BYTES to
 *       PDR_ARENA_CHUNK_BYTES. A piece that does not fit such a chunk gets one
 *       of its own, behind the newest, whose free space stays in use.
 *
 * With AddressSanitizer each piece is a chunk of its own and of its exact size,
 * so that an overrun by one byte is seen.
 */
#include "base.h"

#if defined(__SANITIZE_ADDRESS__)
#define ONE_PIECE_PER_CHUNK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_PIECE_PER_CHUNK 1
#endif
#endif
#ifndef ONE_PIECE_PER_CHUNK
#define ONE_PIECE_PER_CHUNK 0
#endif

#define ALIGNMENT ((size_t)16)

struct pdr__arena_chunk {
    _Alignas(16) struct pdr__arena_chunk *older; /* owned */
    size_t size;                                 /* bytes after this head */
    size_t used;                                 /* of them */
};

static char *chunk_bytes(struct pdr__arena_chunk *chunk)
{
    return (char *)(chunk + 1);
}

static struct pdr__arena_chunk *chunk_new(size_t size)
{
    size_t total = 0;

    if (!pdr__add_size(&total, size, sizeof(struct pdr__arena_chunk)))
        return NULL;
    struct pdr__arena_chunk *chunk = pdr__alloc(total);
    if (chunk == NULL)
        return NULL;
    chunk->older = NULL;
    chunk->size = size;
    chunk->used = 0;
    return chunk;
}

/* A chunk for one piece, behind the newest (A3). */
static struct pdr__arena_chunk *add_single(struct pdr__arena *arena,
                                           size_t size)
{
    struct pdr__arena_chunk *chunk = chunk_new(size);

    if (chunk == NULL)
        return NULL;
    if (arena->newest == NULL) {
        arena->newest = chunk;
    } else {
        chunk->older = arena->newest->older;
        arena->newest->older = chunk;
    }
    return chunk;
}

#if !ONE_PIECE_PER_CHUNK
/* A chunk for this piece and those to come; never more than `max` allows. */
static struct pdr__arena_chunk *add_usual(struct pdr__arena *arena)
{
    size_t left = arena->max - arena->used;
    size_t size = arena->next_bytes < left ? arena->next_bytes : left;
    struct pdr__arena_chunk *chunk = chunk_new(size);

    if (chunk == NULL)
        return NULL;
    chunk->older = arena->newest;
    arena->newest = chunk;
    if (arena->next_bytes < PDR_ARENA_CHUNK_BYTES)
        arena->next_bytes *= 2;
    return chunk;
}
#endif

/* The chunk that has `need` bytes free. `size` is `need` before rounding. */
static struct pdr__arena_chunk *find_chunk(struct pdr__arena *arena,
                                           size_t size, size_t need)
{
#if ONE_PIECE_PER_CHUNK
    (void)need;
    return add_single(arena, size);
#else
    (void)size;
    if (arena->newest != NULL &&
        arena->newest->size - arena->newest->used >= need)
        return arena->newest;
    if (need > arena->next_bytes)
        return add_single(arena, need);
    return add_usual(arena);
#endif
}

pdr_rc pdr__arena_alloc(void **out, struct pdr__arena *arena, size_t size,
                        pdr_err *err)
{
    size_t need = 0;

    PDR_REQUIRE(out != NULL && arena != NULL);
    *out = NULL;
    bool fits = pdr__add_size(&need, size > 0 ? size : 1, ALIGNMENT - 1);
    need &= ~(ALIGNMENT - 1);
    if (!fits || need > arena->max - arena->used)
        return PDR_FAIL(err, ARENA_FULL,
                        "%zu more bytes do not fit: %zu of at most %zu used",
                        size, arena->used, arena->max);
    struct pdr__arena_chunk *chunk = find_chunk(arena, size, need);
    if (chunk == NULL)
        return pdr__nomem(err);
    *out = chunk_bytes(chunk) + chunk->used;
    chunk->used += need;
    arena->used += need;
    return PDR_OK;
}

pdr_rc pdr__arena_strndup(char **out, struct pdr__arena *arena, pdr_str text,
                          pdr_err *err)
{
    void *copy = NULL;
    size_t size = 0;

    PDR_REQUIRE(out != NULL && arena != NULL);
    *out = NULL;
    if (!pdr__add_size(&size, text.len, 1))
        size = SIZE_MAX; /* refused below */
    pdr_rc rc = pdr__arena_alloc(&copy, arena, size, err);
    if (rc != PDR_OK)
        return rc;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    *out = copy;
    (*out)[text.len] = '\0';
    return PDR_OK;
}

pdr_rc pdr__arena_keep(pdr_str *io, struct pdr__arena *arena, pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (io->ptr == NULL)
        return PDR_OK;
    rc = pdr__arena_strndup(&copy, arena, *io, err);
    if (rc == PDR_OK)
        io->ptr = copy;
    return rc;
}

static void free_chunks(struct pdr__arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct pdr__arena_chunk *older = chunk->older;
        pdr__free(chunk);
        chunk = older;
    }
}

void pdr__arena_reset(struct pdr__arena *arena)
{
    struct pdr__arena_chunk *newest = arena->newest;

    if (ONE_PIECE_PER_CHUNK || newest == NULL ||
        newest->size > PDR_ARENA_CHUNK_BYTES) {
        pdr__arena_dispose(arena);
        return;
    }
    free_chunks(newest->older);
    newest->older = NULL;
    newest->used = 0;
    arena->used = 0;
}

void pdr__arena_dispose(struct pdr__arena *arena)
{
    free_chunks(arena->newest);
    arena->newest = NULL;
    arena->used = 0;
    arena->next_bytes = PDR_ARENA_FIRST_BYTES;
}
