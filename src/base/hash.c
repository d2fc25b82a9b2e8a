/*
 * hash.c - SipHash-1-3, keyed once per process.
 *
 * WHY  Names in documents come from anybody. With a hash that an author can
 *      compute, a document can be made in which all names fall on one slot, and
 *      each look-up walks all of them. The key is drawn when the process first
 *      hashes something, so nobody outside can compute collisions.
 *
 * One round per word and three at the end is the variant that other languages
 * use for their tables; it is no message digest (digest.c).
 */
#include <endian.h>
#include <pthread.h>
#include <unistd.h>

#include "base.h"

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t word = 0;

    memcpy(&word, p, sizeof(word));
    return le64toh(word);
}

static inline uint64_t load32(const unsigned char *p)
{
    uint32_t word = 0;

    memcpy(&word, p, sizeof(word));
    return le32toh(word);
}

/* The last 0 to 7 bytes as a little-endian word. Overlapping loads instead of a
 * loop: most names are short, and this is where their time goes. */
static inline uint64_t load_rest(const unsigned char *p, size_t len)
{
    if (len >= 4)
        return load32(p) | load32(p + len - 4) << 8 * (len - 4);
    if (len == 0)
        return 0;
    return (uint64_t)p[0] | (uint64_t)p[len / 2] << 8 * (len / 2) |
           (uint64_t)p[len - 1] << 8 * (len - 1);
}

uint64_t pdr__hash_keyed(struct pdr__hash_key key, pdr_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    struct sip s = {key.k0 ^ UINT64_C(0x736F6D6570736575),
                    key.k1 ^ UINT64_C(0x646F72616E646F6D),
                    key.k0 ^ UINT64_C(0x6C7967656E657261),
                    key.k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = text.len;

    for (; left >= 8; p += 8, left -= 8)
        sip_word(&s, load64(p));
    sip_word(&s, (uint64_t)text.len << 56 | load_rest(p, left));
    s.v2 ^= 0xFFu;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* What differs between processes, without randomness: addresses, the time and
 * the process id. Guessable with effort, but a table must work without it. */
static struct pdr__hash_key weak_key(void)
{
    struct {
        uintptr_t stack, code, library;
        int64_t now_ticks, monotonic_ms, process;
    } mix;
    struct pdr__hash_key key = {UINT64_C(0x70657264757265), 1};

    memset(&mix, 0, sizeof(mix));
    mix.stack = (uintptr_t)&mix;
    mix.code = (uintptr_t)pdr__hash_keyed;
    mix.library = (uintptr_t)memcpy;
    mix.now_ticks = pdr__now_ticks(pdr__clock_system());
    mix.monotonic_ms = pdr__monotonic_ms(pdr__clock_system());
    mix.process = (int64_t)getpid();
    pdr_str bytes = pdr_str_n((const char *)&mix, sizeof(mix));
    uint64_t k0 = pdr__hash_keyed(key, bytes);
    key.k1 = 2;
    return (struct pdr__hash_key){k0, pdr__hash_keyed(key, bytes)};
}

struct pdr__hash_key pdr__hash_draw_key(const struct pdr__rand *source)
{
    struct pdr__hash_key key = {0, 0};

    if (pdr__rand_fill(&key, source, sizeof(key), NULL) != PDR_OK)
        return weak_key();
    return key;
}

/* Written once, under `once`. */
static struct pdr__hash_key process_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void draw_process_key(void)
{
    process_key = pdr__hash_draw_key(pdr__rand_system());
}

uint64_t pdr__hash(pdr_str text)
{
    (void)pthread_once(&once, draw_process_key);
    return pdr__hash_keyed(process_key, text);
}
