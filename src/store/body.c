/*
 * body.c - is a body one JSON text, as far as brackets and quotes tell?
 *
 * WHY  A store never parses a body, and still must not keep one that would
 *      break the document around it: an entry `1],"x":[2` would be stored, and
 *      no export could be read again. Every byte of every commit passes here,
 *      so 64 of them are looked at in one go, as bits of a word.
 *
 *          text    { " a " : " \ " ] " }
 *          quotes    1   1   1   .   1      those with a backslash do not count
 *          inside    1 1 .   1 1 1 1 .      all bits below, added without carry
 *
 * INVARIANTS
 *   I1  What is said of a byte depends on bytes before it alone, so the first
 *       mistake in the text is the one that is reported. (UTF-8 comes last, and
 *       only for what is not ASCII.)
 *   I2  Between two blocks only `inside`, `escaped` and the open brackets are
 *       carried on.
 */
#include "store.h"

#if defined(__SSE2__) && !defined(PDR_PLAIN_WORDS)
#include <emmintrin.h>
#else
#include <endian.h>
#endif

#define BLOCK 64u

/* One bit a byte of a block, the lowest for the first. */
struct marks {
    uint64_t quotes;
    uint64_t backslashes;
    uint64_t brackets;
    uint64_t low;  /* below 0x20 */
    uint64_t high; /* above 0x7F */
};

struct scan {
    size_t base;      /* bytes of white space in front */
    size_t last;      /* place of the last byte, behind `base` */
    size_t max_depth; /* brackets that may be open */
    size_t depth;     /* brackets that are */
    bool is_string;   /* the whole text is one string */
    uint64_t inside;  /* all bits: the block before ended in a string */
    uint64_t escaped; /* 1: it ended in a backslash that counts */
    uint64_t high;    /* not 0: something is not ASCII */
    uint64_t curly[PDR_MAX_DEPTH / 64]; /* a bit for each open bracket */
};

/* --- looking at a block ---------------------------------------------------
 */

#if defined(__SSE2__) && !defined(PDR_PLAIN_WORDS)

static uint64_t bits_of(__m128i found)
{
    return (uint64_t)(uint16_t)_mm_movemask_epi8(found);
}

static void look_sse2(struct marks *out, const unsigned char *p)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i bit = _mm_set1_epi8(0x20), below = _mm_set1_epi8(0x1F);

    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i curly = _mm_or_si128(v, bit); /* '[' is '{' without the bit */
        __m128i bracket = _mm_or_si128(_mm_cmpeq_epi8(curly, open),
                                       _mm_cmpeq_epi8(curly, close));
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, below), v);

        out->quotes |= bits_of(_mm_cmpeq_epi8(v, quote)) << i;
        out->backslashes |= bits_of(_mm_cmpeq_epi8(v, slash)) << i;
        out->brackets |= bits_of(bracket) << i;
        out->low |= bits_of(low) << i;
        out->high |= bits_of(v) << i;
    }
}

#else

#define EACH_BYTE(value) ((uint64_t)(value)*UINT64_C(0x0101010101010101))

/* The top bit of each byte that has one, gathered into eight bits. */
static uint64_t gather(uint64_t word)
{
    return ((word & EACH_BYTE(0x80)) >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Exact, other than the shorter ways: no byte is taken for its neighbour's. */
static uint64_t bytes_equal(uint64_t word, unsigned char value)
{
    uint64_t rest = word ^ EACH_BYTE(value);

    return ~(((rest & EACH_BYTE(0x7F)) + EACH_BYTE(0x7F)) | rest);
}

static void look_words(struct marks *out, const unsigned char *p)
{
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < BLOCK; i += 8) {
        uint64_t word = 0;

        memcpy(&word, p + i, sizeof(word));
        word = le64toh(word); /* the first byte is the lowest */
        uint64_t curly = word | EACH_BYTE(0x20);
        uint64_t low = ~(((word & EACH_BYTE(0x7F)) + EACH_BYTE(0x60)) | word);
        out->quotes |= gather(bytes_equal(word, '"')) << i;
        out->backslashes |= gather(bytes_equal(word, '\\')) << i;
        out->brackets |=
            gather(bytes_equal(curly, '{') | bytes_equal(curly, '}')) << i;
        out->low |= gather(low) << i;
        out->high |= gather(word) << i;
    }
}

#endif

static void look(struct marks *out, const unsigned char *p)
{
#if defined(__SSE2__) && !defined(PDR_PLAIN_WORDS)
    look_sse2(out, p);
#else
    look_words(out, p);
#endif
}

static size_t lowest(uint64_t bits)
{
    return (size_t)__builtin_ctzll(bits);
}

/* Each bit becomes the sum, without carry, of itself and all below it. */
static uint64_t sums(uint64_t bits)
{
    for (unsigned step = 1; step < BLOCK; step *= 2)
        bits ^= bits << step;
    return bits;
}

/* The bytes that stand behind a backslash which counts. */
static uint64_t find_escaped(struct scan *s, uint64_t backslashes)
{
    uint64_t escaped = s->escaped;

    s->escaped = 0;
    while (backslashes != 0) {
        uint64_t bit = backslashes & (~backslashes + 1);

        backslashes ^= bit;
        if ((escaped & bit) != 0)
            continue;
        escaped |= bit << 1;
        s->escaped = bit >> (BLOCK - 1); /* I2 */
    }
    return escaped;
}

/* --- rules ----------------------------------------------------------------
 */

static pdr_rc bad_byte(const struct scan *s, size_t at, unsigned char byte,
                       pdr_err *err)
{
    if (byte == '"')
        return PDR_FAIL_AT(err, s->base + at, BAD_BODY,
                           "a body is one JSON text; its string ends at byte "
                           "%zu, and more follows",
                           s->base + at);
    return PDR_FAIL_AT(err, s->base + at, BAD_BODY,
                       "a body is JSON text; byte 0x%02X cannot stand at %zu",
                       (unsigned)byte, s->base + at);
}

/* The bytes that cannot stand where they are. */
static uint64_t find_bad(const struct marks *m, uint64_t inside,
                         const unsigned char *p)
{
    uint64_t bad = (m->low & inside) | ((m->backslashes | m->high) & ~inside);
    uint64_t blank = m->low & ~inside;

    while (blank != 0) {
        size_t i = lowest(blank);

        if (p[i] != '\n' && p[i] != '\t' && p[i] != '\r')
            bad |= UINT64_C(1) << i;
        blank &= blank - 1;
    }
    return bad;
}

static pdr_rc bracket(struct scan *s, size_t at, unsigned char c, pdr_err *err)
{
    size_t place = s->depth - 1;
    uint64_t bit = UINT64_C(1) << (s->depth % 64);

    if (c == '{' || c == '[') {
        if (s->depth == s->max_depth)
            return PDR_FAIL_AT(err, s->base + at, TOO_DEEP,
                               "nested deeper than %zu levels at byte %zu",
                               s->max_depth, s->base + at);
        s->curly[s->depth / 64] &= ~bit;
        s->curly[s->depth / 64] |= c == '{' ? bit : 0;
        s->depth++;
        return PDR_OK;
    }
    bool curly = (s->curly[place / 64] >> (place % 64) & 1u) != 0;
    if (curly != (c == '}'))
        return PDR_FAIL_AT(err, s->base + at, BAD_BODY,
                           "a '%c' at byte %zu closes a '%c'", c, s->base + at,
                           curly ? '{' : '[');
    s->depth--;
    if (s->depth == 0 && at != s->last)
        return PDR_FAIL_AT(err, s->base + at, BAD_BODY,
                           "a body is one JSON text; it ends at byte %zu, and "
                           "more follows",
                           s->base + at);
    return PDR_OK;
}

/* Quotes that end a text which goes on; only a lone string can have some. */
static uint64_t find_early_ends(const struct scan *s, size_t at,
                                uint64_t quotes)
{
    if (!s->is_string)
        return 0;
    if (at == 0)
        quotes &= ~UINT64_C(1);
    if (s->last - at < BLOCK)
        quotes &= ~(UINT64_C(1) << (s->last - at));
    return quotes;
}

static pdr_rc scan_block(struct scan *s, size_t at, const unsigned char *p,
                         pdr_err *err)
{
    struct marks m;

    look(&m, p);
    uint64_t quotes = m.quotes & ~find_escaped(s, m.backslashes);
    uint64_t inside = sums(quotes) ^ s->inside;
    uint64_t brackets = m.brackets & ~inside;
    uint64_t bad = find_early_ends(s, at, quotes);

    s->inside = 0 - (inside >> (BLOCK - 1)); /* I2 */
    s->high |= m.high;
    if (PDR_UNLIKELY(((m.low | m.high | m.backslashes) != 0)))
        bad |= find_bad(&m, inside, p);
    uint64_t before = bad != 0 ? (bad & (~bad + 1)) - 1 : UINT64_MAX; /* I1 */
    for (brackets &= before; brackets != 0; brackets &= brackets - 1) {
        size_t i = lowest(brackets);
        pdr_rc rc = bracket(s, at + i, p[i], err);

        if (PDR_UNLIKELY(rc != PDR_OK))
            return rc;
    }
    if (PDR_UNLIKELY(bad != 0))
        return bad_byte(s, at + lowest(bad), p[lowest(bad)], err);
    return PDR_OK;
}

/* --- whole texts ----------------------------------------------------------
 */

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A number, true, false or null, as far as its letters tell. */
static pdr_rc check_word(const struct scan *s, const unsigned char *text,
                         pdr_err *err)
{
    for (size_t i = 0; i <= s->last; i++) {
        unsigned char c = text[i], small = c | 0x20u;

        if (!((small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '+' || c == '.'))
            return bad_byte(s, i, c, err);
    }
    return PDR_OK;
}

static pdr_rc check_end(const struct scan *s, pdr_err *err)
{
    size_t end = s->base + s->last + 1;

    if (s->inside != 0)
        return PDR_FAIL_AT(err, end, BAD_BODY,
                           "a string is not closed when the body ends");
    if (s->depth != 0)
        return PDR_FAIL_AT(err, end, BAD_BODY,
                           "%zu brackets are not closed when the body ends",
                           s->depth);
    return PDR_OK;
}

static pdr_rc check_blocks(struct scan *s, const unsigned char *text,
                           pdr_err *err)
{
    unsigned char tail[BLOCK];
    size_t len = s->last + 1, at = 0;
    pdr_rc rc = PDR_OK;

    for (; len - at >= BLOCK && rc == PDR_OK; at += BLOCK)
        rc = scan_block(s, at, text + at, err);
    if (rc == PDR_OK && at < len) {
        memset(tail, ' ', sizeof(tail));
        memcpy(tail, text + at, len - at);
        rc = scan_block(s, at, tail, err);
    }
    return rc == PDR_OK ? check_end(s, err) : rc;
}

pdr_rc pdr__body_check(pdr_str body, size_t depth, pdr_err *err)
{
    const unsigned char *text = (const unsigned char *)body.ptr;
    size_t begin = 0, end = body.len;
    struct scan s;
    pdr_rc rc = PDR_OK;

    assert(depth <= PDR_MAX_DEPTH);
    while (begin < end && is_blank(text[begin]))
        begin++;
    while (end > begin && is_blank(text[end - 1]))
        end--;
    if (begin == end)
        return PDR_FAIL_AT(err, 0, BAD_BODY,
                           "a body is one JSON text, this one is empty");
    s.base = begin;
    s.last = end - begin - 1;
    s.max_depth = depth;
    s.depth = 0;
    s.is_string = text[begin] == '"';
    s.inside = s.escaped = s.high = 0;
    if (text[begin] != '{' && text[begin] != '[' && !s.is_string)
        return check_word(&s, text + begin, err);
    rc = check_blocks(&s, text + begin, err);
    if (rc == PDR_OK && s.high != 0) {
        size_t valid = pdr__utf8_valid_len(body);
        if (valid != body.len)
            rc = PDR_FAIL_AT(err, valid, BAD_BODY,
                             "a body is UTF-8; byte 0x%02X at %zu begins no "
                             "character",
                             (unsigned)text[valid], valid);
    }
    return rc;
}
