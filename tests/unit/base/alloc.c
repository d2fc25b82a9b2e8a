/* The allocator table and the calls behind it. */
#include "test.h"

#include "base.h"

TEST(alloc_set, is_refused_once_memory_is_in_use)
{
    pdr_err err = PDR_ERR_INIT;

    pdr__free(pdr__alloc(1));
    ASSERT_RC(PDR_EMISUSE, pdr_alloc_set(NULL, &err));
    ASSERT_STR("allocator_in_use", err.reason);
}

TEST(calloc, refuses_a_product_that_overflows)
{
    ASSERT(pdr__calloc(SIZE_MAX, 2) == NULL);
    char *zero = pdr__calloc(4, 4);
    ASSERT(zero != NULL && zero[0] == 0 && zero[15] == 0);
    pdr__free(zero);
}

TEST(strdup, copies_with_a_final_nul)
{
    char *a = pdr__strdup("abc");
    char *b = pdr__strndup(pdr_str_n("a\0b", 3));

    ASSERT_STR("abc", a);
    ASSERT(memcmp(b, "a\0b", 4) == 0);
    pdr__free(a);
    pdr__free(b);
    ASSERT(pdr__strndup(pdr_str_n(NULL, SIZE_MAX)) == NULL);
}

TEST(alloc, gives_memory_for_nothing_too)
{
    void *ptr = pdr__alloc(0);

    ASSERT(ptr != NULL);
    ptr = pdr__realloc(ptr, 0);
    ASSERT(ptr != NULL);
    pdr__free(ptr);
    pdr__free(NULL);
}

TEST(size, arithmetic_says_when_it_overflows)
{
    size_t out = 0;

    ASSERT(pdr__add_size(&out, 1, 2) && out == 3);
    ASSERT(!pdr__add_size(&out, SIZE_MAX, 1));
    ASSERT(pdr__mul_size(&out, 3, 4) && out == 12);
    ASSERT(!pdr__mul_size(&out, SIZE_MAX / 2, 3));
}

TEST_OOM(strdup, gives_null_without_memory)
{
    char *a = pdr__strdup("abc");
    void *b = pdr__calloc(1, 8);

    pdr__free(a);
    pdr__free(b);
}
