/*
 * trick_digest.c - stands in front of the digests of OpenSSL.
 *
 * The program's own functions come before those of a shared library, so the
 * library under test calls these, and they call the real ones.
 */
#include "trick_digest.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static size_t fail_in, ended;
static bool failed;

void trick_digest_fail(size_t n)
{
    fail_in = n;
    failed = false;
}

bool trick_digest_failed(void)
{
    return failed;
}

size_t trick_digest_count(void)
{
    size_t count = ended;

    ended = 0;
    return count;
}

static bool must_fail(void)
{
    if (fail_in == 0 || --fail_in > 0)
        return false;
    failed = true;
    return true;
}

/* `out` is a pointer to a function, which C does not let us cast. */
static void find(void *out, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort();
    memcpy(out, &found, sizeof(found));
}

int EVP_DigestInit_ex2(EVP_MD_CTX *ctx, const EVP_MD *type,
                       const OSSL_PARAM params[])
{
    static int (*real)(EVP_MD_CTX *, const EVP_MD *, const OSSL_PARAM *);

    if (real == NULL)
        find(&real, "EVP_DigestInit_ex2");
    return must_fail() ? 0 : real(ctx, type, params);
}

int EVP_DigestUpdate(EVP_MD_CTX *ctx, const void *bytes, size_t len)
{
    static int (*real)(EVP_MD_CTX *, const void *, size_t);

    if (real == NULL)
        find(&real, "EVP_DigestUpdate");
    return must_fail() ? 0 : real(ctx, bytes, len);
}

int EVP_DigestFinal_ex(EVP_MD_CTX *ctx, unsigned char *out, unsigned int *len)
{
    static int (*real)(EVP_MD_CTX *, unsigned char *, unsigned int *);

    if (real == NULL)
        find(&real, "EVP_DigestFinal_ex");
    ended++;
    return must_fail() ? 0 : real(ctx, out, len);
}

int EVP_Digest(const void *bytes, size_t len, unsigned char *out,
               unsigned int *out_len, const EVP_MD *type, ENGINE *engine)
{
    static int (*real)(const void *, size_t, unsigned char *, unsigned int *,
                       const EVP_MD *, ENGINE *);

    if (real == NULL)
        find(&real, "EVP_Digest");
    ended++;
    return must_fail() ? 0 : real(bytes, len, out, out_len, type, engine);
}
