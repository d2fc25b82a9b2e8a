/*
 * sum.c - is a page what was written?
 *
 * WHY  SQLite takes what a disk gives. A digest of ours tells a changed row,
 *      but not a changed key that hides one, nor a page that came back in
 *      another place. So each page has a sum of its own; one that came back
 *      old has an old sum that fits, and stays unseen here. It is the sum that
 *      SQLite has in its log ("Checksum Algorithm" in its description of that
 *      format), which the frames of the log have already: two words of 32
 *      bits, each of which takes in a word and the other one. Whatever happens
 *      to one word of a page changes it.
 *
 *          page of the main file                frame of the log
 *          ┌─────────────────────┬─────┐        ┌───────────┬──────┬──────┐
 *          │ 4088 bytes          │ sum │        │ no., size │ .. sum│ page │
 *          └─────────────────────┴─────┘        └───────────┴──────┴──────┘
 *          begins with the number of            begins with the sum of the
 *          the page, twice                      frame in front of it
 *
 * docs/formats/store-sqlite.md has it byte by byte.
 */
#include "vfs.h"

#if defined(__SSE2__) && !defined(PDR_PLAIN_WORDS)
#include <emmintrin.h>
#endif

struct sum {
    uint32_t a, b;
};

static uint32_t little(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static uint32_t big(const uint8_t *at)
{
    return (uint32_t)at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 |
           (uint32_t)at[0] << 24;
}

/* --- adding -------------------------------------------------------------- */

static void add_little(struct sum *sum, const uint8_t *bytes, size_t len)
{
    struct sum s = *sum;

    for (size_t i = 0; i < len; i += 8) {
        s.a += little(bytes + i) + s.b;
        s.b += little(bytes + i + 4) + s.a;
    }
    *sum = s;
}

static void add_big(struct sum *sum, const uint8_t *bytes, size_t len)
{
    struct sum s = *sum;

    for (size_t i = 0; i < len; i += 8) {
        s.a += big(bytes + i) + s.b;
        s.b += big(bytes + i + 4) + s.a;
    }
    *sum = s;
}

/* Bytes of a quarter of a page, and what becomes of a sum while so many are
 * added: multiplied by a matrix, here the 127th power of (1 1, 1 2), which are
 * three Fibonacci numbers. */
#define LANES  4u
#define LANE   ((size_t)127 * 8)
#define FIB253 0x6b15d189u
#define FIB254 0x9ba1ad59u
#define FIB255 0x06b77ee2u

static struct sum behind(struct sum sum, struct sum lane)
{
    return (struct sum){FIB253 * sum.a + FIB254 * sum.b + lane.a,
                        FIB254 * sum.a + FIB255 * sum.b + lane.b};
}

#if defined(__SSE2__) && !defined(PDR_PLAIN_WORDS)

static __m128i sixteen(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* sum + word + other */
static __m128i added(__m128i sum, __m128i word, __m128i other)
{
    return _mm_add_epi32(_mm_add_epi32(sum, word), other);
}

/* The sums of the quarters, one in each part of `a` and `b`. Four words of each
 * quarter are read and turned into four times a word of each. */
static void add_together(struct sum out[LANES], const uint8_t *bytes)
{
    const size_t whole = LANE - LANE % 16;
    __m128i a = _mm_setzero_si128(), b = a;
    uint32_t as[LANES], bs[LANES];

    for (const uint8_t *at = bytes; at < bytes + whole; at += 16) {
        __m128i p = sixteen(at), q = sixteen(at + LANE);
        __m128i r = sixteen(at + 2 * LANE), s = sixteen(at + 3 * LANE);
        __m128i pq = _mm_unpacklo_epi32(p, q), rs = _mm_unpacklo_epi32(r, s);

        a = added(a, _mm_unpacklo_epi64(pq, rs), b);
        b = added(b, _mm_unpackhi_epi64(pq, rs), a);
        pq = _mm_unpackhi_epi32(p, q);
        rs = _mm_unpackhi_epi32(r, s);
        a = added(a, _mm_unpacklo_epi64(pq, rs), b);
        b = added(b, _mm_unpackhi_epi64(pq, rs), a);
    }
    _mm_storeu_si128((__m128i *)(void *)as, a);
    _mm_storeu_si128((__m128i *)(void *)bs, b);
    for (size_t i = 0; i < LANES; i++) {
        out[i] = (struct sum){as[i], bs[i]};
        add_little(&out[i], bytes + i * LANE + whole, LANE - whole);
    }
}

#define ADD_LANES add_together

#else

static void add_in_turn(struct sum out[LANES], const uint8_t *bytes)
{
    const uint8_t *p = bytes, *q = p + LANE, *r = q + LANE, *s = r + LANE;
    uint32_t pa = 0, qa = 0, ra = 0, sa = 0, pb = 0, qb = 0, rb = 0, sb = 0;

    for (size_t i = 0; i < LANE; i += 8) {
        pa += little(p + i) + pb;
        qa += little(q + i) + qb;
        ra += little(r + i) + rb;
        sa += little(s + i) + sb;
        pb += little(p + i + 4) + pa;
        qb += little(q + i + 4) + qa;
        rb += little(r + i + 4) + ra;
        sb += little(s + i + 4) + sa;
    }
    out[0] = (struct sum){pa, pb};
    out[1] = (struct sum){qa, qb};
    out[2] = (struct sum){ra, rb};
    out[3] = (struct sum){sa, sb};
}

#define ADD_LANES add_in_turn

#endif

/* The same as add_little(). Each step there waits for the one before, so four
 * quarters at once take a third of the time, and a sixth with instructions that
 * add four words; a sum is linear in what was added, so they can be put
 * together afterwards. */
static void add_page(struct sum *sum, const uint8_t *bytes, size_t len)
{
    struct sum lanes[LANES];

    ADD_LANES(lanes, bytes);
    for (size_t i = 0; i < LANES; i++)
        *sum = behind(*sum, lanes[i]);
    add_little(sum, bytes + LANES * LANE, len - LANES * LANE);
}

/* --- the main file ------------------------------------------------------- */

static struct sum sum_of_page(const uint8_t *page, uint32_t number)
{
    struct sum sum = {number, number};

    add_page(&sum, page, PDR_SQLITE_USABLE);
    return sum;
}

void pdr__page_sum(uint8_t out[PDR_SQLITE_RESERVED],
                   const uint8_t page[PDR_SQLITE_PAGE], uint32_t number)
{
    struct sum sum = sum_of_page(page, number);

    for (size_t i = 0; i < 4; i++) {
        out[i] = (uint8_t)(sum.a >> (8 * i));
        out[i + 4] = (uint8_t)(sum.b >> (8 * i));
    }
}

static bool is_blank(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PDR_SQLITE_PAGE - 1) == 0;
}

/* SQLite leaves out pages that are free when it copies the log, so the file can
 * have places where nothing was ever written. It never uses what stands there;
 * as a page of a table zeros are no page at all. */
bool pdr__page_is_sound(const uint8_t page[PDR_SQLITE_PAGE], uint32_t number)
{
    struct sum sum = sum_of_page(page, number);

    return PDR_LIKELY(sum.a == little(page + PDR_SQLITE_USABLE) &&
                      sum.b == little(page + PDR_SQLITE_USABLE + 4)) ||
           is_blank(page);
}

/* --- the log ------------------------------------------------------------- */

static bool has_sum(const uint8_t *frame, const struct sum *sum)
{
    const uint8_t *at = frame + PDR_FRAME_HEADER - PDR_LOG_SUM;

    return sum->a == big(at) && sum->b == big(at + 4);
}

/* A log has the byte order of the machine that wrote it. Which one stands in
 * its header, but trying both needs no look at that. */
bool pdr__frame_is_sound(const uint8_t before[PDR_LOG_SUM],
                         const uint8_t *frame)
{
    const struct sum first = {big(before), big(before + 4)};
    struct sum sum = first;

    add_little(&sum, frame, 8);
    add_page(&sum, frame + PDR_FRAME_HEADER, PDR_SQLITE_PAGE);
    if (PDR_LIKELY(has_sum(frame, &sum)))
        return true;
    sum = first;
    add_big(&sum, frame, 8);
    add_big(&sum, frame + PDR_FRAME_HEADER, PDR_SQLITE_PAGE);
    return has_sum(frame, &sum);
}

/* 0x377f0682, or with 1 in the last bit, by the order of bytes of its sums. */
static bool has_magic(const uint8_t *header)
{
    return header[0] == 0x37 && header[1] == 0x7f && header[2] == 0x06 &&
           (header[3] & 0xfe) == 0x82;
}

bool pdr__log_header_is_sound(const uint8_t header[PDR_LOG_HEADER])
{
    const size_t len = PDR_LOG_HEADER - PDR_LOG_SUM;
    struct sum little_first = {0, 0}, big_first = {0, 0};
    const uint8_t *at = header + len;

    if (!has_magic(header) || big(header + 8) != PDR_SQLITE_PAGE)
        return false;
    add_little(&little_first, header, len);
    add_big(&big_first, header, len);
    return (little_first.a == big(at) && little_first.b == big(at + 4)) ||
           (big_first.a == big(at) && big_first.b == big(at + 4));
}

/* --- notes of the side file ---------------------------------------------- */

static struct sum sum_of_note(const uint8_t *note, size_t len)
{
    struct sum sum = {0, 0};

    add_big(&sum, note, len - PDR_LOG_SUM);
    return sum;
}

void pdr__note_seal(uint8_t *note, size_t len)
{
    struct sum sum = sum_of_note(note, len);
    uint8_t *at = note + len - PDR_LOG_SUM;

    for (size_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)(sum.a >> (24 - 8 * i));
        at[i + 4] = (uint8_t)(sum.b >> (24 - 8 * i));
    }
}

bool pdr__note_is_sound(const uint8_t *note, size_t len)
{
    struct sum sum = sum_of_note(note, len);
    const uint8_t *at = note + len - PDR_LOG_SUM;

    return sum.a == big(at) && sum.b == big(at + 4);
}
