/*
 * trick_digest.h - an OpenSSL whose digests fail when a test says so.
 */
#ifndef PDR_TRICK_DIGEST_H
#define PDR_TRICK_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

/* Let the n-th step of a digest from now fail (1 is the next), once; 0 turns it
 * off. A step is a call that begins, goes on with or ends one. */
void trick_digest_fail(size_t n);
/* Did it fail since? */
bool trick_digest_failed(void);
/* Digests that were ended since the last call. */
size_t trick_digest_count(void);

#endif
