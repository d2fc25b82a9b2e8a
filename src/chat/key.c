/*
 * key.c - the keys of channels.
 *
 * WHY  Agents with equal keys share a channel, and a saved channel finds its
 *      agents again by its key, in any process. So a key is a digest of texts
 *      that are the same everywhere. There are two:
 *
 *        "k2:..."   each part with its length, so that "a","b" and "a:b" differ
 *        44 bytes   parts with ":" between them, as Semantic Kernel does it
 *
 * NOT HERE  Which parts a kind of channel has (perdure/sys/channel.h).
 */
#include "chat.h"

/* The next part of `*parts`, each of which ends with a NUL; false at the end.
 */
static bool next_part(pdr_str *out, pdr_str *parts)
{
    const char *end = NULL;

    if (parts->len == 0)
        return false;
    end = memchr(parts->ptr, '\0', parts->len);
    assert(end != NULL);
    *out = pdr_str_n(parts->ptr, (size_t)(end - parts->ptr));
    *parts = pdr_str_n(end + 1, parts->len - out->len - 1);
    return true;
}

pdr_rc pdr__channel_key(pdr_buf *out, pdr_str parts, pdr_err *err)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    char sum[PDR_SHA256_BYTES];
    size_t before = out->len;
    pdr_str part;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__sha256_init(&digest, err));
    PDR_TRY(pdr__sha256_update(&digest, PDR_LIT("agentchat-key-v2"), err));
    while (next_part(&part, &parts)) {
        char len[4] = {(char)(part.len >> 24), (char)(part.len >> 16),
                       (char)(part.len >> 8), (char)part.len};

        PDR_TRY(pdr__sha256_update(&digest, pdr_str_n(len, 4), err));
        PDR_TRY(pdr__sha256_update(&digest, part, err));
    }
    PDR_TRY(pdr__sha256_final((uint8_t *)sum, &digest, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("k2:"), err));
    PDR_TRY(pdr__base64_encode(out, pdr_str_n(sum, sizeof(sum)), PDR_BASE64_URL,
                               false, err));
done:
    if (rc != PDR_OK)
        out->len = before;
    pdr__sha256_dispose(&digest);
    return rc;
}

pdr_rc pdr__channel_sk_key(pdr_buf *out, pdr_str parts, pdr_err *err)
{
    struct pdr__sha256 digest = PDR_SHA256_INIT;
    char sum[PDR_SHA256_BYTES];
    bool is_first = true;
    pdr_str part;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__sha256_init(&digest, err));
    for (; next_part(&part, &parts); is_first = false) {
        if (!is_first)
            PDR_TRY(pdr__sha256_update(&digest, PDR_LIT(":"), err));
        PDR_TRY(pdr__sha256_update(&digest, part, err));
    }
    PDR_TRY(pdr__sha256_final((uint8_t *)sum, &digest, err));
    PDR_TRY(pdr__base64_encode(out, pdr_str_n(sum, sizeof(sum)), PDR_BASE64,
                               true, err));
done:
    pdr__sha256_dispose(&digest);
    return rc;
}
