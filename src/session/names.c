/*
 * names.c - from the key of a session to the name of its file, and back.
 *
 * WHY  Keys are any text; names must be safe on every file system, and must
 *      never make one file of two keys. The Python edition has had two ways to
 *      spell them, and its folders hold both:
 *
 *                       releases 1.13 to 1.17       1.18 and later
 *         as it is      a-z A-Z 0-9 . _ -           a-z 0-9 . _ -
 *         else          ~session- base64url         ~session- base32, lower
 *         too long      ~session-sha256- hex        the same
 *
 * INVARIANTS, tried by tests/fuzz/names.c
 *   N1  A stem has no slash, is neither "." nor "..", and no name of a device.
 *   N2  A new stem that is no hash has one key, also if case is folded.
 *   N3  pdr__stem_key() undoes pdr__stem(), hashes apart.
 */
#include <string.h>

#include "folder.h"

#define PREFIX      "~session-"
#define HASH_PREFIX PREFIX "sha256-"
#define MAX_ENCODED 180 /* characters of a stem with its prefix */

static const char digits32[] = "abcdefghijklmnopqrstuvwxyz234567";

/* --- as it is ------------------------------------------------------------ */

/* What Windows takes for a device, whatever stands behind the first point. */
static bool is_device(pdr_str key)
{
    static const char *const plain[] = {"con", "prn", "aux", "nul"};
    const char *point = key.len > 0 ? memchr(key.ptr, '.', key.len) : NULL;
    size_t len = point != NULL ? (size_t)(point - key.ptr) : key.len;
    char name[4];

    if (len != 3 && len != 4)
        return false;
    for (size_t i = 0; i < len; i++)
        name[i] = pdr__ascii_lower(key.ptr[i]);
    for (size_t i = 0; len == 3 && i < PDR_COUNT(plain); i++)
        if (memcmp(name, plain[i], 3) == 0)
            return true;
    return len == 4 && name[3] >= '1' && name[3] <= '9' &&
           (memcmp(name, "com", 3) == 0 || memcmp(name, "lpt", 3) == 0);
}

static bool is_literal(pdr_str key, bool old)
{
    if (key.len == 0 || key.ptr[0] == '.' || key.ptr[key.len - 1] == '.' ||
        is_device(key))
        return false;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    c == '.' || c == '_' || c == '-' ||
                    (old && c >= 'A' && c <= 'Z');
        if (!fits)
            return false;
    }
    return true;
}

/* --- base32 -------------------------------------------------------------- */

static pdr_rc encode32(pdr_buf *out, pdr_str bytes, pdr_err *err)
{
    uint32_t bits = 0;
    unsigned count = 0;
    pdr_rc rc = pdr_buf_reserve(out, bytes.len / 5 * 8 + 8, err);

    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (unsigned char)bytes.ptr[i];
        for (count += 8; count >= 5; count -= 5)
            out->ptr[out->len++] = digits32[bits >> (count - 5) & 31u];
    }
    if (count > 0)
        out->ptr[out->len++] = digits32[bits << (5 - count) & 31u];
    return PDR_OK;
}

/* False if it is not how encode32() spells any bytes. */
static bool decode32(pdr_buf *out, pdr_str text)
{
    uint32_t bits = 0;
    unsigned count = 0;

    for (size_t i = 0; i < text.len; i++) {
        const char *digit = memchr(digits32, text.ptr[i], 32);
        if (digit == NULL)
            return false;
        bits = bits << 5 | (uint32_t)(digit - digits32);
        count += 5;
        if (count >= 8) {
            count -= 8;
            out->ptr[out->len++] = (char)(bits >> count & 0xFFu);
        }
    }
    return count < 5 && (bits & ((1u << count) - 1u)) == 0;
}

/* --- stems --------------------------------------------------------------- */

static pdr_rc encode(pdr_buf *out, pdr_str key, bool old, pdr_err *err)
{
    size_t start = out->len;
    uint8_t digest[PDR_SHA256_BYTES];
    char hex[2 * PDR_SHA256_BYTES + 1];
    pdr_rc rc = pdr_buf_append(out, PDR_LIT(PREFIX), err);

    if (rc == PDR_OK && old)
        rc = pdr__base64_encode(out, key, PDR_BASE64_URL, false, err);
    else if (rc == PDR_OK)
        rc = encode32(out, key, err);
    if (rc == PDR_OK && out->len - start <= MAX_ENCODED)
        return PDR_OK;
    out->len = start;
    if (rc == PDR_OK)
        rc = pdr__sha256(digest, key, err);
    if (rc != PDR_OK)
        return rc;
    pdr__hex(hex, digest, sizeof(digest));
    return pdr_buf_printf(out, err, HASH_PREFIX "%s", hex);
}

pdr_rc pdr__stem(pdr_buf *out, pdr_str key, bool old, pdr_err *err)
{
    if (key.len == 0)
        return PDR_FAIL(err, FOLDER_KEY, "the key of a session is empty");
    if (pdr__utf8_valid_len(key) < key.len)
        return PDR_FAIL(err, FOLDER_KEY, "the key of a session is no UTF-8");
    if (is_literal(key, old))
        return pdr_buf_append(out, key, err);
    return encode(out, key, old, err);
}

pdr_rc pdr__folder_key_check(pdr_str key, pdr_err *err)
{
    size_t count = 0;

    if (key.len == 0)
        return PDR_FAIL(err, FOLDER_KEY, "the key of a session is empty");
    if (pdr__utf8_valid_len(key) < key.len)
        return PDR_FAIL(err, FOLDER_KEY, "the key of a session is no UTF-8");
    for (size_t i = 0; i < key.len; i++)
        count += ((unsigned char)key.ptr[i] & 0xC0u) != 0x80u;
    if (count > PDR_MAX_FOLDER_KEY)
        return PDR_FAIL(err, FOLDER_KEY,
                        "the key of a session in a folder has at most %u "
                        "characters, this one has %zu",
                        PDR_MAX_FOLDER_KEY, count);
    return PDR_OK;
}

pdr_rc pdr_folder_stem(pdr_buf *out, pdr_str key, bool old, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    rc = pdr__folder_key_check(key, err);
    return rc == PDR_OK ? pdr__stem(out, key, old, err) : rc;
}

/* --- and back ------------------------------------------------------------ */

static bool starts_with(pdr_str text, pdr_str with)
{
    return text.len >= with.len && memcmp(text.ptr, with.ptr, with.len) == 0;
}

bool pdr__stem_is_hash(pdr_str stem)
{
    size_t front = sizeof(HASH_PREFIX) - 1;

    if (stem.len != front + 2 * PDR_SHA256_BYTES ||
        !starts_with(stem, PDR_LIT(HASH_PREFIX)))
        return false;
    for (size_t i = front; i < stem.len; i++) {
        char c = stem.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

/* The bytes that stand behind the prefix; false for none. */
static pdr_rc decode(pdr_buf *out, bool *fits, pdr_str text, bool old,
                     pdr_err *err)
{
    pdr_rc rc = pdr_buf_reserve(out, text.len, err);

    *fits = false;
    if (rc != PDR_OK)
        return rc;
    if (!old) {
        *fits = decode32(out, text);
        return PDR_OK;
    }
    rc = pdr__base64_decode(out, text, PDR_BASE64_URL, err);
    *fits = rc == PDR_OK;
    return rc == PDR_EINVALID ? PDR_OK : rc;
}

pdr_rc pdr__stem_key(pdr_buf *out, bool *known, pdr_str stem, bool old,
                     pdr_err *err)
{
    pdr_buf again = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(out);
    *known = is_literal(stem, old);
    if (*known)
        return pdr_buf_append(out, stem, err);
    if (!starts_with(stem, PDR_LIT(PREFIX)) || pdr__stem_is_hash(stem))
        return PDR_OK;
    stem.ptr += sizeof(PREFIX) - 1;
    stem.len -= sizeof(PREFIX) - 1;
    rc = decode(out, known, stem, old, err);
    if (rc != PDR_OK || !*known)
        return rc;
    /* A key that needs no encoding, is too long or no text has another stem. */
    if (out->len == 0 || pdr__utf8_valid_len(pdr_buf_str(out)) < out->len) {
        *known = false;
        return PDR_OK;
    }
    rc = pdr__stem(&again, pdr_buf_str(out), old, err);
    *known = rc == PDR_OK && again.len == stem.len + sizeof(PREFIX) - 1 &&
             memcmp(again.ptr + sizeof(PREFIX) - 1, stem.ptr, stem.len) == 0;
    pdr_buf_dispose(&again);
    return rc;
}
