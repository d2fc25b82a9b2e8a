/* SHA-256 and HMAC: published values, and an OpenSSL that fails. */
#define OPENSSL_SUPPRESS_DEPRECATED /* for an algorithm of our own */
#include "test.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base.h"

/* --- memory of OpenSSL that can run out ------------------------------------
 */

static size_t openssl_fail_in; /* 0: never */
static bool openssl_failed;

static bool openssl_must_fail(void)
{
    if (openssl_failed)
        return true;
    if (openssl_fail_in == 0 || --openssl_fail_in > 0)
        return false;
    openssl_failed = true;
    return true;
}

static void *openssl_alloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return openssl_must_fail() ? NULL : malloc(size);
}

static void *openssl_resize(void *ptr, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return openssl_must_fail() ? NULL : realloc(ptr, size);
}

static void openssl_release(void *ptr, const char *file, int line)
{
    (void)file;
    (void)line;
    free(ptr);
}

/* Only before OpenSSL has allocated anything. */
__attribute__((constructor)) static void set_openssl_memory(void)
{
    if (CRYPTO_set_mem_functions(openssl_alloc, openssl_resize,
                                 openssl_release) != 1)
        abort();
}

static void fail_openssl(size_t n)
{
    openssl_fail_in = n;
    openssl_failed = false;
}

/* --- values ----------------------------------------------------------------
 */

static void assert_hex(const char *expected, const uint8_t *digest)
{
    char hex[2 * PDR_SHA256_BYTES + 1];

    pdr__hex(hex, digest, PDR_SHA256_BYTES);
    ASSERT_STR(expected, hex);
}

/* FIPS 180-2 examples. */
#define SHA_EMPTY \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SHA_ABC \
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA_448_BITS \
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
#define SHA_MILLION_A \
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

TEST(sha256, gives_the_published_digests)
{
    uint8_t out[PDR_SHA256_BYTES];

    ASSERT_RC(PDR_OK, pdr__sha256(out, pdr_str_n(NULL, 0), NULL));
    assert_hex(SHA_EMPTY, out);
    ASSERT_RC(PDR_OK, pdr__sha256(out, pdr_str_c("abc"), NULL));
    assert_hex(SHA_ABC, out);
    ASSERT_RC(PDR_OK,
              pdr__sha256(out,
                          pdr_str_c("abcdbcdecdefdefgefghfghighijhijkijkljklmkl"
                                    "mnlmnomnopnopq"),
                          NULL));
    assert_hex(SHA_448_BITS, out);
}

TEST(sha256, is_the_same_in_pieces_and_can_begin_again)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    uint8_t out[PDR_SHA256_BYTES];
    char fill[1000];

    memset(fill, 'a', sizeof(fill));
    ASSERT_RC(PDR_OK, pdr__sha256_init(&digest, NULL));
    for (int i = 0; i < 1000; i++)
        ASSERT_RC(PDR_OK,
                  pdr__sha256_update(&digest, pdr_str_n(fill, 1000), NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_final(out, &digest, NULL));
    assert_hex(SHA_MILLION_A, out);

    ASSERT_RC(PDR_OK, pdr__sha256_init(&digest, NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_update(&digest, pdr_str_c("xx"), NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_init(&digest, NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_update(&digest, pdr_str_n(NULL, 0), NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_update(&digest, pdr_str_c("ab"), NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_update(&digest, pdr_str_c("c"), NULL));
    ASSERT_RC(PDR_OK, pdr__sha256_final(out, &digest, NULL));
    assert_hex(SHA_ABC, out);
    pdr__sha256_dispose(&digest);
    pdr__sha256_dispose(&digest);
}

TEST(hmac_sha256, gives_the_values_of_rfc_4231)
{
    uint8_t out[PDR_SHA256_BYTES];
    char key[131];

    memset(key, 0x0B, 20);
    ASSERT_RC(PDR_OK, pdr__hmac_sha256(out, pdr_str_n(key, 20),
                                       pdr_str_c("Hi There"), NULL));
    assert_hex(
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        out);
    ASSERT_RC(PDR_OK, pdr__hmac_sha256(out, pdr_str_c("Jefe"),
                                       pdr_str_c("what do ya want "
                                                 "for nothing?"),
                                       NULL));
    assert_hex(
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        out);
    memset(key, 0xAA, sizeof(key)); /* longer than a block */
    ASSERT_RC(PDR_OK,
              pdr__hmac_sha256(out, pdr_str_n(key, sizeof(key)),
                               pdr_str_c("Test Using Larger Than Block-Size "
                                         "Key - Hash Key First"),
                               NULL));
    assert_hex(
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        out);
}

TEST(hmac_sha256, takes_an_empty_key_and_an_empty_text)
{
    uint8_t out[PDR_SHA256_BYTES];

    ASSERT_RC(PDR_OK, pdr__hmac_sha256(out, pdr_str_n(NULL, 0),
                                       pdr_str_n(NULL, 0), NULL));
    assert_hex(
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad",
        out);
}

TEST(hmac, gives_the_same_piece_by_piece)
{
    static const size_t key_bytes[] = {0, 1, 63, 64, 65, 131};
    pdr_str text = pdr_str_c("Test Using Larger Than Block-Size Key");
    struct pdr__hmac mac = PDR_HMAC_INIT;
    uint8_t whole[PDR_SHA256_BYTES], out[PDR_SHA256_BYTES];
    char key[131];

    memset(key, 0xAA, sizeof(key));
    for (size_t i = 0; i < PDR_COUNT(key_bytes); i++) {
        pdr_str k = pdr_str_n(key, key_bytes[i]);

        ASSERT_RC(PDR_OK, pdr__hmac_sha256(whole, k, text, NULL));
        ASSERT_RC(PDR_OK, pdr__hmac_begin(&mac, k, NULL));
        for (size_t at = 0; at < text.len; at++)
            ASSERT_RC(PDR_OK, pdr__hmac_update(
                                  &mac, pdr_str_n(text.ptr + at, 1), NULL));
        ASSERT_RC(PDR_OK, pdr__hmac_final(out, &mac, NULL));
        ASSERT(pdr__same_secret(whole, out, sizeof(out)));
        out[31] ^= 1;
        ASSERT(!pdr__same_secret(whole, out, sizeof(out)));
    }
    pdr__hmac_dispose(&mac);
}

TEST(hex, is_lower_case_and_terminated)
{
    static const uint8_t bytes[] = {0x00, 0x0F, 0xA5, 0xFF};
    char out[9] = "xxxxxxxx";

    pdr__hex(out, bytes, sizeof(bytes));
    ASSERT_STR("000fa5ff", out);
    pdr__hex(out, bytes, 0);
    ASSERT_STR("", out);
}

/* --- failures --------------------------------------------------------------
 */

static pdr_rc digest_in_pieces(uint8_t *out, pdr_err *err)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    pdr_rc rc = pdr__sha256_init(&digest, err);

    if (rc == PDR_OK)
        rc = pdr__sha256_update(&digest, pdr_str_c("abc"), err);
    if (rc == PDR_OK)
        rc = pdr__sha256_final(out, &digest, err);
    pdr__sha256_dispose(&digest);
    return rc;
}

/* Each allocation of OpenSSL fails once, with all after it. Either the digest
 * is right or there is an error; and afterwards all is well again. */
TEST(sha256, is_right_or_fails_when_openssl_has_no_memory)
{
    uint8_t out[PDR_SHA256_BYTES];
    pdr_err err = PDR_ERR_INIT;
    size_t failures = 0;

    for (size_t n = 1; n < 1000; n++) {
        fail_openssl(n);
        pdr_rc rc = pdr__sha256(out, pdr_str_c("abc"), &err);
        pdr_rc rc_pieces = digest_in_pieces(out, &err);
        bool was_hit = openssl_failed;
        fail_openssl(0);
        failures += rc != PDR_OK || rc_pieces != PDR_OK;
        if (!was_hit)
            break;
        ASSERT(rc == PDR_OK || rc == PDR_EIO);
        ASSERT(rc_pieces == PDR_OK || rc_pieces == PDR_EIO);
    }
    ASSERT(failures > 0);
    ASSERT_STR("digest_failed", err.reason);
    ASSERT_RC(PDR_OK, digest_in_pieces(out, NULL));
    assert_hex(SHA_ABC, out);
}

static int broken_init(EVP_MD_CTX *ctx)
{
    (void)ctx;
    return 1;
}

static int broken_update(EVP_MD_CTX *ctx, const void *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    return 0;
}

static int broken_final(EVP_MD_CTX *ctx, unsigned char *out)
{
    (void)ctx;
    (void)out;
    return 0;
}

TEST(sha256, passes_on_that_openssl_fails_half_way)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    EVP_MD *broken = EVP_MD_meth_new(NID_undef, NID_undef);
    uint8_t out[PDR_SHA256_BYTES];
    pdr_err err = PDR_ERR_INIT;

    ASSERT(broken != NULL);
    EVP_MD_meth_set_result_size(broken, PDR_SHA256_BYTES);
    EVP_MD_meth_set_init(broken, broken_init);
    EVP_MD_meth_set_update(broken, broken_update);
    EVP_MD_meth_set_final(broken, broken_final);
    ASSERT_RC(PDR_OK, pdr__sha256_init(&digest, NULL));
    ASSERT_INT(1, EVP_DigestInit_ex(digest.ctx, broken, NULL));
    ASSERT_RC(PDR_EIO, pdr__sha256_update(&digest, pdr_str_c("x"), &err));
    ASSERT_STR("OpenSSL cannot go on with a digest", err.message);
    ASSERT_RC(PDR_EIO, pdr__sha256_final(out, &digest, &err));
    ASSERT_STR("OpenSSL cannot end a digest", err.message);
    pdr__sha256_dispose(&digest);
    EVP_MD_meth_free(broken);
}

TEST(hmac_sha256, fails_when_openssl_has_no_memory)
{
    uint8_t out[PDR_SHA256_BYTES];
    pdr_err err = PDR_ERR_INIT;

    fail_openssl(1);
    pdr_rc rc =
        pdr__hmac_sha256(out, pdr_str_c("key"), pdr_str_c("text"), &err);
    fail_openssl(0);
    ASSERT_RC(PDR_EIO, rc);
    ASSERT_STR("digest_failed", err.reason);
    ASSERT_STR("OpenSSL cannot make a keyed digest", err.message);
    ASSERT(ERR_peek_error() == 0); /* nothing left for others to find */
}
