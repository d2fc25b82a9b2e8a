/*
 * digest.c - SHA-256 and HMAC, the only file that knows OpenSSL.
 *
 * WHY  Stored rows are chained by digests and optionally signed. OpenSSL has
 *      the fastest code for every processor, and is on every system.
 *
 * Its memory is its own: it does not go through pdr__alloc(), so running out of
 * it is DIGEST_FAILED. Errors that it queues for the thread are removed, since
 * other code of the thread would take them for its own.
 */
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base.h"

static pdr_rc failed(pdr_err *err, const char *what)
{
    ERR_clear_error();
    return PDR_FAIL(err, DIGEST_FAILED, "OpenSSL cannot %s", what);
}

/* Looking an algorithm up costs more than a small digest, so it is done once
 * and kept until the process ends. */
static const EVP_MD *algorithm(void)
{
    static _Atomic(EVP_MD *) kept;
    EVP_MD *none = NULL;
    EVP_MD *md = atomic_load_explicit(&kept, memory_order_acquire);

    if (md != NULL)
        return md;
    md = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (md == NULL || atomic_compare_exchange_strong(&kept, &none, md))
        return md;
    EVP_MD_free(md); /* another thread came first */
    return none;
}

pdr_rc pdr__sha256_init(struct pdr__sha256 *digest, pdr_err *err)
{
    PDR_REQUIRE(digest != NULL);
    digest->running = false;
    if (digest->ctx == NULL)
        digest->ctx = EVP_MD_CTX_new();
    const EVP_MD *md = algorithm();
    if (digest->ctx == NULL || md == NULL ||
        EVP_DigestInit_ex2(digest->ctx, md, NULL) != 1)
        return failed(err, "begin a digest");
    digest->running = true;
    return PDR_OK;
}

pdr_rc pdr__sha256_update(struct pdr__sha256 *digest, pdr_str bytes,
                          pdr_err *err)
{
    PDR_REQUIRE(digest != NULL && digest->running);
    if (EVP_DigestUpdate(digest->ctx, bytes.ptr, bytes.len) != 1)
        return failed(err, "go on with a digest");
    return PDR_OK;
}

pdr_rc pdr__sha256_final(uint8_t out[PDR_SHA256_BYTES],
                         struct pdr__sha256 *digest, pdr_err *err)
{
    PDR_REQUIRE(digest != NULL && digest->running);
    digest->running = false;
    if (EVP_DigestFinal_ex(digest->ctx, out, NULL) != 1)
        return failed(err, "end a digest");
    return PDR_OK;
}

void pdr__sha256_dispose(struct pdr__sha256 *digest)
{
    EVP_MD_CTX_free(digest->ctx);
    digest->ctx = NULL;
    digest->running = false;
}

pdr_rc pdr__sha256(uint8_t out[PDR_SHA256_BYTES], pdr_str bytes, pdr_err *err)
{
    const EVP_MD *md = algorithm();

    if (md == NULL ||
        EVP_Digest(bytes.ptr, bytes.len, out, NULL, md, NULL) != 1)
        return failed(err, "make a digest");
    return PDR_OK;
}

pdr_rc pdr__hmac_sha256(uint8_t out[PDR_SHA256_BYTES], pdr_str key,
                        pdr_str bytes, pdr_err *err)
{
    size_t len = 0;
    /* A null key would mean "the key set before". */
    const char *key_ptr = key.len > 0 ? key.ptr : "";

    if (EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key_ptr, key.len,
                  (const unsigned char *)bytes.ptr, bytes.len, out,
                  PDR_SHA256_BYTES, &len) == NULL)
        return failed(err, "make a keyed digest");
    assert(len == PDR_SHA256_BYTES);
    return PDR_OK;
}

/* Begin a digest with the key, each byte of it combined with `pad`. */
static pdr_rc begin_padded(struct pdr__hmac *mac, uint8_t pad, pdr_err *err)
{
    char block[sizeof(mac->key)];

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)(mac->key[i] ^ pad);
    pdr_rc rc = pdr__sha256_init(&mac->digest, err);
    if (rc == PDR_OK)
        rc = pdr__sha256_update(&mac->digest, pdr_str_n(block, sizeof(block)),
                                err);
    OPENSSL_cleanse(block, sizeof(block));
    return rc;
}

pdr_rc pdr__hmac_begin(struct pdr__hmac *mac, pdr_str key, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(mac != NULL);
    memset(mac->key, 0, sizeof(mac->key));
    if (key.len > sizeof(mac->key))
        PDR_TRY(pdr__sha256(mac->key, key, err));
    else if (key.len > 0)
        memcpy(mac->key, key.ptr, key.len);
    PDR_TRY(begin_padded(mac, 0x36, err));
done:
    return rc;
}

pdr_rc pdr__hmac_update(struct pdr__hmac *mac, pdr_str bytes, pdr_err *err)
{
    return pdr__sha256_update(&mac->digest, bytes, err);
}

pdr_rc pdr__hmac_final(uint8_t out[PDR_SHA256_BYTES], struct pdr__hmac *mac,
                       pdr_err *err)
{
    uint8_t inner[PDR_SHA256_BYTES];
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__sha256_final(inner, &mac->digest, err));
    PDR_TRY(begin_padded(mac, 0x5C, err));
    PDR_TRY(pdr__sha256_update(
        &mac->digest, pdr_str_n((const char *)inner, sizeof(inner)), err));
    PDR_TRY(pdr__sha256_final(out, &mac->digest, err));
done:
    return rc;
}

void pdr__hmac_dispose(struct pdr__hmac *mac)
{
    pdr__sha256_dispose(&mac->digest);
    OPENSSL_cleanse(mac->key, sizeof(mac->key));
}

bool pdr__same_secret(const uint8_t *a, const uint8_t *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

void pdr__hex(char *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 0x0Fu];
    }
    *out = '\0';
}
