/* Generations: which bytes a file has. */
#include "test.h"

#include <perdure/snapshot.h>

static const uint8_t digest_of_abc[] = {
    0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
    0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
    0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};

TEST(generation_of, is_the_sha256_of_the_bytes)
{
    pdr_generation found = {.exists = false};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_generation_of(&found, pdr_str_c("abc"), &err));
    ASSERT(found.exists);
    ASSERT(memcmp(digest_of_abc, found.sha256, sizeof(digest_of_abc)) == 0);
    ASSERT_RC(PDR_OK, pdr_generation_of(&found, pdr_str_n("", 0), &err));
    ASSERT(found.exists && found.sha256[0] == 0xe3);
}

TEST(generation_equal, tells_no_file_from_an_empty_one)
{
    pdr_generation none = {.exists = false}, other = {.exists = false};
    pdr_generation empty, abc;

    ASSERT_RC(PDR_OK, pdr_generation_of(&empty, pdr_str_n("", 0), NULL));
    ASSERT_RC(PDR_OK, pdr_generation_of(&abc, pdr_str_c("abc"), NULL));
    other.sha256[0] = 1; /* means nothing without a file */
    ASSERT(pdr_generation_equal(&none, &other));
    ASSERT(!pdr_generation_equal(&none, &empty));
    ASSERT(!pdr_generation_equal(&empty, &none));
    ASSERT(!pdr_generation_equal(&empty, &abc));
    ASSERT(pdr_generation_equal(&abc, &abc));
}

TEST_OOM(generation_of, leaves_the_old_one_after_any_failed_allocation)
{
    pdr_generation found = {.exists = false};
    pdr_rc rc = pdr_generation_of(&found, pdr_str_c("abc"), NULL);

    ASSERT(found.exists == (rc == PDR_OK));
}
