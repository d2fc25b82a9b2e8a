/* Arenas: alignment, chunks, the ceiling, failures. */
#include "test.h"

#include "base.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

TEST(arena_alloc, gives_aligned_pieces_that_do_not_overlap)
{
    struct pdr__arena arena = PDR_ARENA_INIT(1u << 20);
    unsigned char *pieces[300];

    for (size_t i = 0; i < PDR_COUNT(pieces); i++) {
        void *piece = NULL;
        ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, i, NULL));
        ASSERT(piece != NULL && (uintptr_t)piece % 16 == 0);
        memset(piece, (int)(i & 0xFF), i);
        pieces[i] = piece;
    }
    for (size_t i = 0; i < PDR_COUNT(pieces); i++)
        for (size_t at = 0; at < i; at++)
            ASSERT_INT(i & 0xFF, pieces[i][at]);
    pdr__arena_dispose(&arena);
}

TEST(arena_alloc, stops_at_its_maximum_in_rounded_bytes)
{
    struct pdr__arena arena = PDR_ARENA_INIT(64);
    pdr_err err = PDR_ERR_INIT;
    void *piece = NULL;

    ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 33, &err));
    ASSERT_SIZE(48, arena.used);
    ASSERT_RC(PDR_ELIMIT, pdr__arena_alloc(&piece, &arena, 17, &err));
    ASSERT(piece == NULL);
    ASSERT_STR("arena_full", err.reason);
    ASSERT_STR("17 more bytes do not fit: 48 of at most 64 used", err.message);
    ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 16, &err));
    ASSERT_RC(PDR_ELIMIT, pdr__arena_alloc(&piece, &arena, 0, &err));
    ASSERT_RC(PDR_ELIMIT, pdr__arena_alloc(&piece, &arena, SIZE_MAX, &err));
    pdr__arena_dispose(&arena);
}

TEST(arena_alloc, without_a_ceiling_fails_where_sizes_end)
{
    struct pdr__arena arena = PDR_ARENA_INIT(SIZE_MAX);
    void *piece = NULL;

    ASSERT_RC(PDR_ELIMIT, pdr__arena_alloc(&piece, &arena, SIZE_MAX, NULL));
    ASSERT_RC(PDR_ENOMEM,
              pdr__arena_alloc(&piece, &arena, SIZE_MAX - 16, NULL));
    ASSERT(piece == NULL);
    ASSERT_SIZE(0, arena.used);
    pdr__arena_dispose(&arena);
}

TEST(arena_alloc, asks_for_memory_seldom_in_growing_chunks)
{
    struct pdr__arena arena = PDR_ARENA_INIT(64u << 20);
    size_t before = test_allocations();
    void *piece = NULL;

    if (WITH_ASAN)
        test_skip("with ASan each piece is an allocation of its own");
    ASSERT_SIZE(PDR_ARENA_FIRST_BYTES, arena.next_bytes);
    for (size_t i = 0; i < (16u << 20) / 64; i++)
        ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 64, NULL));
    /* 4 KB doubled eight times is 1 MB, then 15 more. */
    ASSERT(test_allocations() - before <= 8 + 17);
    ASSERT_SIZE(PDR_ARENA_CHUNK_BYTES, arena.next_bytes);
    pdr__arena_dispose(&arena);
}

TEST(arena_alloc, gives_a_large_piece_a_chunk_of_its_own)
{
    struct pdr__arena arena = PDR_ARENA_INIT(64u << 20);
    void *first = NULL, *large = NULL, *second = NULL;

    ASSERT_RC(PDR_OK, pdr__arena_alloc(&first, &arena, 16, NULL));
    ASSERT_RC(PDR_OK, pdr__arena_alloc(&large, &arena, 3u << 20, NULL));
    memset(large, 1, 3u << 20);
    ASSERT_RC(PDR_OK, pdr__arena_alloc(&second, &arena, 16, NULL));
    if (!WITH_ASAN)
        ASSERT((char *)first + 16 == (char *)second);
    pdr__arena_dispose(&arena);
}

TEST(arena_alloc, takes_no_more_memory_than_the_maximum_and_a_head)
{
    struct pdr__arena arena = PDR_ARENA_INIT(160);
    size_t before = test_live_bytes();
    void *piece = NULL;

    ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 1, NULL));
    ASSERT(test_live_bytes() - before <= 160 + 32);
    pdr__arena_dispose(&arena);
}

TEST(arena_strndup, copies_any_bytes_with_a_final_nul)
{
    struct pdr__arena arena = PDR_ARENA_INIT(1000);
    pdr_err err = PDR_ERR_INIT;
    char *copy = NULL;

    ASSERT_RC(PDR_OK,
              pdr__arena_strndup(&copy, &arena, pdr_str_n("a\0b", 3), &err));
    ASSERT(memcmp("a\0b", copy, 4) == 0);
    ASSERT_RC(PDR_OK,
              pdr__arena_strndup(&copy, &arena, pdr_str_n(NULL, 0), &err));
    ASSERT_STR("", copy);
    ASSERT_RC(PDR_ELIMIT, pdr__arena_strndup(&copy, &arena,
                                             pdr_str_n("x", SIZE_MAX), &err));
    ASSERT_STR("arena_full", err.reason);
    ASSERT(copy == NULL);
    pdr__arena_dispose(&arena);
}

TEST(arena_reset, makes_all_room_free_again)
{
    struct pdr__arena arena = PDR_ARENA_INIT(8192);
    void *piece = NULL;

    pdr__arena_reset(&arena);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++)
            ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 1024, NULL));
        ASSERT_RC(PDR_ELIMIT, pdr__arena_alloc(&piece, &arena, 1, NULL));
        pdr__arena_reset(&arena);
        ASSERT_SIZE(0, arena.used);
    }
    pdr__arena_dispose(&arena);
}

TEST(arena_reset, keeps_one_usual_chunk_and_no_large_one)
{
    struct pdr__arena arena = PDR_ARENA_INIT(64u << 20);
    size_t before = test_live_allocations();
    void *piece = NULL;

    if (WITH_ASAN)
        test_skip("with ASan each piece is an allocation of its own");
    for (int i = 0; i < 100; i++)
        ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 1024, NULL));
    pdr__arena_reset(&arena);
    ASSERT_SIZE(before + 1, test_live_allocations());
    pdr__arena_dispose(&arena);
    ASSERT_RC(PDR_OK, pdr__arena_alloc(&piece, &arena, 3u << 20, NULL));
    pdr__arena_reset(&arena);
    ASSERT_SIZE(before, test_live_allocations());
    pdr__arena_dispose(&arena);
}

TEST_OOM(arena_alloc, stays_as_it_was_without_memory)
{
    static const size_t sizes[] = {16, 5000, 100, 3u << 20, 4000, 4000, 4000};
    struct pdr__arena arena = PDR_ARENA_INIT(64u << 20);
    char *copy = NULL;

    for (size_t i = 0; i < PDR_COUNT(sizes); i++) {
        size_t used = arena.used;
        void *piece = NULL;
        pdr_rc rc = pdr__arena_alloc(&piece, &arena, sizes[i], NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((piece != NULL) == (rc == PDR_OK));
        ASSERT(rc == PDR_OK || arena.used == used);
    }
    pdr_rc rc = pdr__arena_strndup(&copy, &arena, pdr_str_c("abc"), NULL);
    ASSERT((copy != NULL) == (rc == PDR_OK));
    pdr__arena_reset(&arena);
    pdr__arena_dispose(&arena);
}
