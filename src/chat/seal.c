/*
 * seal.c - what proves that a native document is as it was written.
 *
 * WHY  A chain of digests goes through the messages of the log: one that is
 *      changed, moved or missing gives another end. Anybody can compute it, so
 *      it finds damage. A MAC needs a key and covers every byte before it, so
 *      it finds changes that somebody wanted, also of what we do not know.
 *
 *        c(0) = 32 zero bytes
 *        c(i) = SHA-256("agentchat-log-v1", c(i-1), length, bytes of message i)
 *        mac  = HMAC-SHA-256(key, "agentchat-mac-v1", document before it)
 *
 *      The length has 8 bytes, the highest first. No canonical JSON is needed:
 *      both take the bytes as they are in the document.
 */
#include "document.h"

pdr_rc pdr__chain_add(uint8_t chain[PDR_SHA256_BYTES],
                      struct pdr__sha256 *digest, pdr_str message, pdr_err *err)
{
    char len[8];
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < 8; i++)
        len[i] = (char)((uint64_t)message.len >> (56 - 8 * i));
    PDR_TRY(pdr__sha256_init(digest, err));
    PDR_TRY(pdr__sha256_update(digest, PDR_LIT("agentchat-log-v1"), err));
    PDR_TRY(pdr__sha256_update(
        digest, pdr_str_n((const char *)chain, PDR_SHA256_BYTES), err));
    PDR_TRY(pdr__sha256_update(digest, pdr_str_n(len, sizeof(len)), err));
    PDR_TRY(pdr__sha256_update(digest, message, err));
    PDR_TRY(pdr__sha256_final(chain, digest, err));
done:
    return rc;
}

pdr_rc pdr__chat_mac_begin(struct pdr__hmac *mac, const pdr_chat_key *key,
                           pdr_err *err)
{
    pdr_rc rc = pdr__hmac_begin(mac, key->bytes, err);

    if (rc == PDR_OK)
        rc = pdr__hmac_update(mac, PDR_LIT("agentchat-mac-v1"), err);
    return rc;
}
