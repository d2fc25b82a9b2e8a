/* SipHash-1-3 against published values, and the key of the process. */
#include "test.h"

#include "base.h"
#include "fake_rand.h"

TEST(hash_keyed, gives_the_published_values_of_siphash_1_3)
{
    /* Key 00 01 ... 0F, input 00 01 ... of 0 to 16 bytes and of 63. */
    static const uint64_t expected[] = {
        0xABAC0158050FC4DCu, 0xC9F49BF37D57CA93u, 0x82CB9B024DC7D44Du,
        0x8BF80AB8E7DDF7FBu, 0xCF75576088D38328u, 0xDEF9D52F49533B67u,
        0xC50D2B50C59F22A7u, 0xD3927D989BB11140u, 0x369095118D299A8Eu,
        0x25A48EB36C063DE4u, 0x79DE85EE92FF097Fu, 0x70C118C1F94DC352u,
        0x78A384B157B4D9A2u, 0x306F760C1229FFA7u, 0x605AA111C0F95D34u,
        0xD320D86D2A519956u, 0xCC4FDD1A7D908B66u};
    struct pdr__hash_key key = {0x0706050403020100u, 0x0F0E0D0C0B0A0908u};
    char input[63];

    for (size_t i = 0; i < sizeof(input); i++)
        input[i] = (char)i;
    for (size_t len = 0; len < PDR_COUNT(expected); len++)
        ASSERT(expected[len] == pdr__hash_keyed(key, pdr_str_n(input, len)));
    ASSERT(0x9D199062B7BBB3A8u ==
           pdr__hash_keyed(key, pdr_str_n(input, sizeof(input))));
}

TEST(hash_keyed, gives_what_python_gives_for_a_key_of_zeros)
{
    struct pdr__hash_key zero = {0, 0};

    ASSERT(5388534906303055366u == pdr__hash_keyed(zero, pdr_str_c("perdure")));
}

TEST(hash_keyed, depends_on_every_bit_of_the_key)
{
    struct pdr__hash_key zero = {0, 0};
    uint64_t base = pdr__hash_keyed(zero, pdr_str_c("abc"));

    for (unsigned bit = 0; bit < 64; bit++) {
        struct pdr__hash_key a = {UINT64_C(1) << bit, 0};
        struct pdr__hash_key b = {0, UINT64_C(1) << bit};
        ASSERT(base != pdr__hash_keyed(a, pdr_str_c("abc")));
        ASSERT(base != pdr__hash_keyed(b, pdr_str_c("abc")));
    }
}

TEST(hash, is_the_same_for_equal_texts_and_has_a_key)
{
    struct pdr__hash_key zero = {0, 0};
    char a[] = "session", b[] = "session";

    ASSERT(pdr__hash(pdr_str_c(a)) == pdr__hash(pdr_str_c(b)));
    ASSERT(pdr__hash(pdr_str_c("a")) != pdr__hash(pdr_str_c("b")));
    ASSERT(pdr__hash(pdr_str_n(NULL, 0)) == pdr__hash(pdr_str_c("")));
    ASSERT(pdr__hash(pdr_str_c(a)) != pdr__hash_keyed(zero, pdr_str_c(a)));
}

TEST(hash_draw_key, takes_the_random_bytes)
{
    struct fake_rand rand, again;
    uint8_t bytes[16];

    fake_rand_init(&rand, 1);
    fake_rand_init(&again, 1);
    ASSERT_RC(PDR_OK, pdr__rand_fill(bytes, &again.base, sizeof(bytes), NULL));
    struct pdr__hash_key key = pdr__hash_draw_key(&rand.base);
    ASSERT(memcmp(bytes, &key, sizeof(bytes)) == 0);
}

TEST(hash_draw_key, finds_a_key_without_randomness_too)
{
    struct fake_rand rand;

    fake_rand_init(&rand, 1);
    fake_rand_fail(&rand, 1);
    struct pdr__hash_key key = pdr__hash_draw_key(&rand.base);
    ASSERT(key.k0 != 0 && key.k1 != 0 && key.k0 != key.k1);
}
