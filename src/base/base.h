/*
 * base.h - what every layer uses. See README.md in this folder.
 */
#ifndef PDR_BASE_H
#define PDR_BASE_H

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <perdure/buf.h>
#include <perdure/datetime.h>
#include <perdure/errors.h>
#include <perdure/sys/alloc.h>
#include <perdure/types.h>
#include <perdure/version.h>

#include "limits.h"
#include "reasons.h"

#define PDR_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PDR_CONTAINER_OF(ptr, type, member) \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define PDR_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PDR_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A literal as a view; for constants inside the library. */
#define PDR_LIT(text)            \
    (pdr_str)                    \
    {                            \
        (text), sizeof(text) - 1 \
    }

/* --- errors (err.c) ------------------------------------------------------ */

#define PDR__STRING2(x) #x
#define PDR__STRING(x)  PDR__STRING2(x)
#define PDR__WHERE      __FILE__ ":" PDR__STRING(__LINE__)

/* Fail with a reason of reasons.h; the value is its code. */
#define PDR_FAIL(err, reason, ...)                              \
    (pdr__fail((err), PDR_R_##reason, PDR__WHERE, __VA_ARGS__), \
     (pdr_rc)PDR_RC_##reason)

/* The same, about byte `at` of the input. */
#define PDR_FAIL_AT(err, at, reason, ...)                       \
    (pdr__fail((err), PDR_R_##reason, PDR__WHERE, __VA_ARGS__), \
     pdr__err_at((err), (at)), (pdr_rc)PDR_RC_##reason)

/* A step that fails leaves through `done`: the normal way reads straight down.
 * In functions that have an `rc`. */
#define PDR_TRY(call)     \
    do {                  \
        rc = (call);      \
        if (rc != PDR_OK) \
            goto done;    \
    } while (0)

/* A broken contract of the caller: stops a debug build, an error otherwise. For
 * functions that have an `err`. */
#ifdef NDEBUG
#define PDR_REQUIRE(condition)                                            \
    do {                                                                  \
        if (PDR_UNLIKELY(!(condition)))                                   \
            return PDR_FAIL(err, BROKEN_CONTRACT, "%s",                   \
                            "the call breaks its contract: " #condition); \
    } while (0)
#else
#define PDR_REQUIRE(condition) assert(condition)
#endif

/* The one place where every error of the library is raised. */
void pdr__fail(pdr_err *err, enum pdr__reason reason, const char *where,
               const char *fmt, ...) PDR_PRINTF(4, 5);
void pdr__err_at(pdr_err *err, size_t offset);
pdr_rc pdr__nomem(pdr_err *err);

/* Put context in front of the message of `err`; returns `rc`. */
pdr_rc pdr__wrap(pdr_err *err, pdr_rc rc, const char *fmt, ...)
    PDR_PRINTF(3, 4);

/* Put a path, escaped as in a JSON string, into `err`; one that is too long
 * loses its front. */
void pdr__err_path(pdr_err *err, pdr_str path);

/* A text from outside, made fit for a message: cut at a character to 60 bytes,
 * with "?" for what cannot be printed. */
#define PDR_SHOWN 64
const char *pdr__shown(char out[PDR_SHOWN], pdr_str text);

/* Is this the reason of a failure? False for one that has none. */
bool pdr__err_is(const pdr_err *err, enum pdr__reason reason);
/* Give a failure that was looked at to the caller, whose `err` may be NULL. */
pdr_rc pdr__err_pass(pdr_err *err, const pdr_err *why);

/* Slug and code of a reason. */
const char *pdr__reason_slug(enum pdr__reason reason);
pdr_rc pdr__reason_rc(enum pdr__reason reason);

/* --- memory (alloc.c, arena.c) ------------------------------------------- */

void *pdr__alloc(size_t size);
void *pdr__calloc(size_t count, size_t size);
void *pdr__realloc(void *ptr, size_t size);
void pdr__free(void *ptr);
char *pdr__strdup(const char *text);
char *pdr__strndup(pdr_str text); /* with a final NUL */

/* Sizes that came from outside: false on overflow. */
static inline bool pdr__add_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool pdr__mul_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Make room for `want` elements of `size` bytes in `*list`, which has room for
 * `*cap`. Fails with NO_MEMORY; the list stays as it was. */
PDR_MUST_CHECK pdr_rc pdr__grow(void **list, size_t *cap, size_t want,
                                size_t size, pdr_err *err);

/* Memory that is released at once. Set up with PDR_ARENA_INIT(max_bytes): the
 * bytes that may be handed out, each piece rounded up to 16. */
struct pdr__arena_chunk;
struct pdr__arena {
    struct pdr__arena_chunk *newest; /* owned, with all before it */
    size_t used;                     /* bytes handed out, rounded up */
    size_t max;                      /* bytes that `used` may reach */
    size_t next_bytes;               /* size of the next usual chunk */
};

/* clang-format off */
#define PDR_ARENA_INIT(max_bytes) {NULL, 0, (max_bytes), PDR_ARENA_FIRST_BYTES}
/* The same for a few short texts, where there are thousands of arenas. */
#define PDR_ARENA_SMALL {NULL, 0, SIZE_MAX, PDR_ARENA_SMALL_BYTES}
/* clang-format on */

/* `size` bytes, not cleared, 16-byte aligned, in arena. Fails with NO_MEMORY
 * or ARENA_FULL; `*out` is NULL then and the arena as it was. */
PDR_MUST_CHECK pdr_rc pdr__arena_alloc(void **out, struct pdr__arena *arena,
                                       size_t size, pdr_err *err);
/* A copy with a final NUL, in arena. Fails as pdr__arena_alloc(). */
PDR_MUST_CHECK pdr_rc pdr__arena_strndup(char **out, struct pdr__arena *arena,
                                         pdr_str text, pdr_err *err);
/* The same for a text that is borrowed elsewhere; an absent one stays absent.
 */
PDR_MUST_CHECK pdr_rc pdr__arena_keep(pdr_str *io, struct pdr__arena *arena,
                                      pdr_err *err);
/* Forget all pieces; may keep one chunk for the next ones. */
void pdr__arena_reset(struct pdr__arena *arena);
/* Release all; the arena can be used again. */
void pdr__arena_dispose(struct pdr__arena *arena);

/* --- buffers (buf.c) ----------------------------------------------------- */

/* Room for `extra` more bytes, inline where there is some. */
static inline pdr_rc pdr__buf_room(pdr_buf *buf, size_t extra, pdr_err *err)
{
    if (PDR_LIKELY(buf->cap - buf->len >= extra))
        return PDR_OK;
    return pdr_buf_reserve(buf, extra, err);
}

/* --- UTF-8 (utf8.c) --------------------------------------------------------
 */

#define PDR_UTF8_MAX      4         /* bytes of a code point */
#define PDR_MAX_CODEPOINT 0x10FFFFu /* the last one that Unicode has */

/* Bytes of the well-formed sequence at p, which is before `end`: 1 to 4; 0 if
 * there is none. Inline for the readers. */
static inline size_t pdr__utf8_len(const char *p, const char *end)
{
    const unsigned char *s = (const unsigned char *)p;
    size_t left = (size_t)(end - p);
    unsigned lead = s[0];

    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || left < 2 || (s[1] & 0xC0u) != 0x80u)
        return 0;
    if (lead < 0xE0)
        return 2;
    if (left < 3 || (s[2] & 0xC0u) != 0x80u)
        return 0;
    if (lead < 0xF0) {
        if ((lead == 0xE0 && s[1] < 0xA0) || (lead == 0xED && s[1] > 0x9F))
            return 0; /* overlong; a surrogate */
        return 3;
    }
    if (left < 4 || (s[3] & 0xC0u) != 0x80u || lead > 0xF4)
        return 0;
    if ((lead == 0xF0 && s[1] < 0x90) || (lead == 0xF4 && s[1] > 0x8F))
        return 0; /* overlong; above U+10FFFF */
    return 4;
}

/* Length of the longest well-formed beginning: `text.len` if all is. */
size_t pdr__utf8_valid_len(pdr_str text);
/* Fails with BAD_UTF8 at the first byte of the first ill-formed sequence. */
PDR_MUST_CHECK pdr_rc pdr__utf8_check(pdr_str text, pdr_err *err);
/* The first code point; gives its bytes, 0 if it is ill-formed or missing. */
size_t pdr__utf8_decode(uint32_t *out, pdr_str text);
/* Gives the bytes written, 0 for what has no UTF-8 form. */
size_t pdr__utf8_encode(char out[PDR_UTF8_MAX], uint32_t codepoint);
/* The same, but a surrogate becomes three bytes (WTF-8). For names inside the
 * library only: pdr__utf8_valid_len() refuses such bytes. */
size_t pdr__wtf8_encode(char out[PDR_UTF8_MAX], uint32_t codepoint);

/* Of an ASCII letter the small one, of anything else itself. Not tolower(),
 * which asks the locale. */
static inline char pdr__ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* --- randomness (rand.c) ---------------------------------------------------
 */

/* Where random bytes come from. */
struct pdr__rand {
    /* Fill `len` bytes; fails with NO_RANDOMNESS. Called from any thread. */
    pdr_rc (*fill)(void *ctx, void *out, size_t len, pdr_err *err);
    void *ctx; /* handed to `fill` */
};

/* The randomness of the system. Static. */
const struct pdr__rand *pdr__rand_system(void);

static inline pdr_rc pdr__rand_fill(void *out, const struct pdr__rand *source,
                                    size_t len, pdr_err *err)
{
    return source->fill(source->ctx, out, len, err);
}

/* --- time (clock.c) --------------------------------------------------------
 */

/* Where the time comes from. Called from any thread. */
struct pdr__clock {
    int64_t (*now_ticks)(void *ctx);    /* UTC, 0 to PDR_MAX_TICKS */
    int64_t (*monotonic_ms)(void *ctx); /* never goes back, any origin */
    void *ctx;                          /* handed to both */
};

/* The clocks of the system. Static. */
const struct pdr__clock *pdr__clock_system(void);

static inline int64_t pdr__now_ticks(const struct pdr__clock *clock)
{
    return clock->now_ticks(clock->ctx);
}

static inline int64_t pdr__monotonic_ms(const struct pdr__clock *clock)
{
    return clock->monotonic_ms(clock->ctx);
}

/* --- hashes of texts (hash.c) ----------------------------------------------
 */

struct pdr__hash_key {
    uint64_t k0, k1;
};

/* SipHash-1-3 with the key of this process. Never write it down: the next
 * process has another key. */
uint64_t pdr__hash(pdr_str text);
uint64_t pdr__hash_keyed(struct pdr__hash_key key, pdr_str text);
/* A key from `source`, or a weaker one if that fails. */
struct pdr__hash_key pdr__hash_draw_key(const struct pdr__rand *source);

/* --- ordered maps (map.c) --------------------------------------------------
 */

struct pdr__map_entry {
    pdr_str key;   /* copy owned by the map; ptr is NULL once removed */
    void *value;   /* the caller's; may be changed in place */
    uint64_t hash; /* of `key` */
};

struct pdr__map_slot;

/* Texts to pointers, in the order of insertion. Set up with
 * PDR_MAP_INIT(max_entries), at most PDR_MAX_MAP_ENTRIES. Read the fields, do
 * not write them. */
struct pdr__map {
    struct pdr__map_entry *entries; /* owned; removed ones included */
    struct pdr__map_slot *slots;    /* owned; finds an entry by hash */
    size_t slot_count;              /* 0 or a power of two */
    size_t cap;                     /* room in `entries` */
    size_t used;                    /* entries in use, removed ones included */
    size_t first;                   /* the first not removed, or `used` */
    size_t count;                   /* entries that are not removed */
    size_t max;                     /* that `count` may reach */
};

/* clang-format off */
#define PDR_MAP_INIT(max_entries) {NULL, NULL, 0, 0, 0, 0, 0, (max_entries)}
/* clang-format on */

/* Is there a value under `key`? It goes to `*out`, which may be NULL. */
bool pdr__map_get(void **out, const struct pdr__map *map, pdr_str key);
/* Set the value of `key` (copied). A new key goes to the end, a known one
 * keeps its place. `*old`, which may be NULL, gets the value before, or NULL.
 * Fails with NO_MEMORY or MAP_FULL; the map stays as it was. */
PDR_MUST_CHECK pdr_rc pdr__map_put(void **old, struct pdr__map *map,
                                   pdr_str key, void *value, pdr_err *err);
/* Take `key` out; its value goes to `*out`, which may be NULL. False if there
 * is none. */
bool pdr__map_remove(void **out, struct pdr__map *map, pdr_str key);
/* Release keys and tables, not the values. The map can be used again. */
void pdr__map_dispose(struct pdr__map *map);
/* In order; NULL at the end. */
struct pdr__map_entry *pdr__map_first(const struct pdr__map *map);
struct pdr__map_entry *pdr__map_next(const struct pdr__map *map,
                                     const struct pdr__map_entry *entry);

/* for each entry in order; no put or remove inside. */
#define PDR_MAP_EACH(entry, map)                                            \
    for (struct pdr__map_entry *entry = pdr__map_first(map); entry != NULL; \
         entry = pdr__map_next(map, entry))

/* --- base64 (base64.c) -----------------------------------------------------
 */

enum pdr__base64 {
    PDR_BASE64,    /* RFC 4648 section 4: '+' and '/' */
    PDR_BASE64_URL /* section 5: '-' and '_' */
};

/* Append the text of `bytes`, with '=' to full groups of four if `padded`.
 * Fails as pdr_buf_reserve(). */
PDR_MUST_CHECK pdr_rc pdr__base64_encode(pdr_buf *out, pdr_str bytes,
                                         enum pdr__base64 kind, bool padded,
                                         pdr_err *err);
/* Append the bytes of `text`. PDR_BASE64 needs its padding, PDR_BASE64_URL may
 * have it; each sequence of bytes has one spelling (and for the latter one
 * without padding). Fails with BAD_BASE64 and the offset, or as
 * pdr_buf_reserve(); `out` stays as it was then. */
PDR_MUST_CHECK pdr_rc pdr__base64_decode(pdr_buf *out, pdr_str text,
                                         enum pdr__base64 kind, pdr_err *err);

/* --- regular expressions (regex.c, regex_syntax.c) -------------------------
 */

/* What the cost of a search depends on. */
struct pdr__regex_shape {
    bool has_long_steps; /* looks around, or refers back to a group */
    size_t copies;       /* product of the least counts, as 3 of {3,5} */
    size_t wide_class;   /* bytes of the longest class beyond ASCII */
};

/* Is it a pattern of ECMA-262? Fails with BAD_PATTERN and the byte. `pattern`
 * has a pointer, also if it is empty. */
PDR_MUST_CHECK pdr_rc pdr__regex_scan(struct pdr__regex_shape *out,
                                      pdr_str pattern, pdr_err *err);

/* A pattern; shared by any number of threads. */
struct pdr__regex;
/* Memory of a row of searches; for one thread. */
struct pdr__searcher;

/* Fails with BAD_PATTERN and the byte, or NO_MEMORY. `pattern` is UTF-8. */
PDR_MUST_CHECK pdr_rc pdr__regex_new(struct pdr__regex **out, pdr_str pattern,
                                     pdr_err *err);
void pdr__regex_free(struct pdr__regex *regex);

PDR_MUST_CHECK pdr_rc pdr__searcher_new(struct pdr__searcher **out,
                                        pdr_err *err);
void pdr__searcher_free(struct pdr__searcher *searcher);

/* Does the pattern match anywhere in `text`, which must be UTF-8? What it costs
 * at most is taken from `credit`, in units of some 100 nanoseconds. Fails with
 * PATTERN_LIMIT when that does not suffice, or NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__regex_search(bool *found,
                                        struct pdr__searcher *searcher,
                                        const struct pdr__regex *regex,
                                        pdr_str text, uint64_t *credit,
                                        pdr_err *err);

/* --- digests (digest.c) ----------------------------------------------------
 */

#define PDR_SHA256_BYTES 32

/* A digest in progress: PDR_SHA256_INIT, then init, any number of updates,
 * final; then init again for the next one, or dispose. All fail with
 * DIGEST_FAILED. */
struct pdr__sha256 {
    void *ctx;    /* owned */
    bool running; /* between init and final */
};

/* clang-format off */
#define PDR_SHA256_INIT {NULL, false}
/* clang-format on */

PDR_MUST_CHECK pdr_rc pdr__sha256_init(struct pdr__sha256 *digest,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sha256_update(struct pdr__sha256 *digest,
                                         pdr_str bytes, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sha256_final(uint8_t out[PDR_SHA256_BYTES],
                                        struct pdr__sha256 *digest,
                                        pdr_err *err);
void pdr__sha256_dispose(struct pdr__sha256 *digest);

/* In one go. */
PDR_MUST_CHECK pdr_rc pdr__sha256(uint8_t out[PDR_SHA256_BYTES], pdr_str bytes,
                                  pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__hmac_sha256(uint8_t out[PDR_SHA256_BYTES],
                                       pdr_str key, pdr_str bytes,
                                       pdr_err *err);

/* The same piece by piece: PDR_HMAC_INIT, begin, any number of updates, final,
 * dispose. All fail with DIGEST_FAILED. */
struct pdr__hmac {
    struct pdr__sha256 digest;
    uint8_t key[64]; /* of a block, padded with zeros */
};

/* clang-format off */
#define PDR_HMAC_INIT {PDR_SHA256_INIT, {0}}
/* clang-format on */

PDR_MUST_CHECK pdr_rc pdr__hmac_begin(struct pdr__hmac *mac, pdr_str key,
                                      pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__hmac_update(struct pdr__hmac *mac, pdr_str bytes,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__hmac_final(uint8_t out[PDR_SHA256_BYTES],
                                      struct pdr__hmac *mac, pdr_err *err);
void pdr__hmac_dispose(struct pdr__hmac *mac);

/* Are these `len` bytes the same? Takes as long for any of them, so that nobody
 * learns from the time how many are right. */
bool pdr__same_secret(const uint8_t *a, const uint8_t *b, size_t len);

/* Two lower-case digits a byte and a final NUL: 2 * len + 1 bytes. */
void pdr__hex(char *out, const uint8_t *bytes, size_t len);

/* --- UUIDs (uuid.c) --------------------------------------------------------
 */

#define PDR_UUID_TEXT 37 /* bytes of the text, the final NUL included */

struct pdr__uuid {
    uint8_t bytes[16];
};

/* Fail as pdr__rand_fill(). Two of version 7 are in the order of their
 * milliseconds; within one millisecond they come in any order. */
PDR_MUST_CHECK pdr_rc pdr__uuid_v4(struct pdr__uuid *out,
                                   const struct pdr__rand *source,
                                   pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__uuid_v7(struct pdr__uuid *out,
                                   const struct pdr__rand *source,
                                   const struct pdr__clock *clock,
                                   pdr_err *err);
/* Lower case with hyphens. */
void pdr__uuid_write(char out[PDR_UUID_TEXT], const struct pdr__uuid *uuid);
/* The form of 36 characters in either case, any version. Fails with BAD_UUID
 * and the offset. */
PDR_MUST_CHECK pdr_rc pdr__uuid_read(struct pdr__uuid *out, pdr_str text,
                                     pdr_err *err);

#endif
