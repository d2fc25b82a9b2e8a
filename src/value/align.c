/*
 * align.c - which elements of two sequences belong together.
 *
 * WHY  A diff of arrays has to find what stayed before it can say what came or
 *      went. Elements are only known by a key here (a hash); equal keys may be
 *      paired, pairs may not cross, and more pairs mean fewer changes.
 *
 * HOW  A range (a piece of each sequence) is treated like this:
 *        1. Equal keys at its front and its back are pairs.
 *        2. A small rest gets the table of the longest common subsequence.
 *        3. Else anchors are sought: keys that occur once on both sides; the
 *           longest row of them that does not cross become pairs.
 *        4. Few unique keys must not break up many that repeat. So if pairing
 *           the k-th occurrence of each key with its k-th gives a row more
 *           than twice as long, a rest that is not too large gets the table,
 *           and a larger one that row.
 *        5. The ranges between the pairs are treated likewise, up to
 *           PDR_DIFF_ROUNDS times.
 *      The best alignment of long sequences takes quadratic time in general.
 *      We refused it, and also its output-sensitive form (Myers): two arrays
 *      that have little in common would be the slowest, and the input is not
 *      ours.
 *
 * COST  n log n per round, at most PDR_DIFF_ROUNDS rounds; tables take what
 *      `credit` allows.
 *
 * INVARIANTS
 *   A1  Mates ascend: for i < k with mates, mate[i] < mate[k].
 *   A2  Only equal keys become pairs, except in pdr__align_rest().
 */
#include "compare.h"

/* Tables of this size need no allocation: most ranges are tiny. */
#define FEW_CELLS 256u

/* A piece of both sequences: [a, a_end) and [b, b_end). */
struct range {
    size_t a, a_end;
    size_t b, b_end;
};

struct aligner {
    size_t *mate;      /* borrowed */
    const uint64_t *a; /* borrowed */
    const uint64_t *b; /* borrowed */
    size_t *credit;    /* borrowed */
};

static pdr_rc align_range(const struct aligner *al, struct range range,
                          unsigned rounds, pdr_err *err);

static void trim(const struct aligner *al, struct range *range)
{
    while (range->a < range->a_end && range->b < range->b_end &&
           al->a[range->a] == al->b[range->b])
        al->mate[range->a++] = range->b++;
    while (range->a < range->a_end && range->b < range->b_end &&
           al->a[range->a_end - 1] == al->b[range->b_end - 1])
        al->mate[--range->a_end] = --range->b_end;
}

/* --- gaps between pairs -------------------------------------------------- */

/*
 * The next place in `range` where elements lack mates: `gap` gets it, `range`
 * is what follows. One of the sides may be empty. False at the end.
 */
static bool next_gap(struct range *gap, struct range *range, const size_t *mate)
{
    while (range->a < range->a_end && mate[range->a] == range->b) {
        range->a++;
        range->b++;
    }
    if (range->a == range->a_end && range->b == range->b_end)
        return false;
    *gap = (struct range){range->a, range->a, range->b, range->b_end};
    while (gap->a_end < range->a_end && mate[gap->a_end] == PDR__NONE)
        gap->a_end++;
    if (gap->a_end < range->a_end)
        gap->b_end = mate[gap->a_end];
    range->a = gap->a_end;
    range->b = gap->b_end;
    return true;
}

static bool has_both_sides(struct range range)
{
    return range.a < range.a_end && range.b < range.b_end;
}

static pdr_rc align_gaps(const struct aligner *al, struct range range,
                         unsigned rounds, pdr_err *err)
{
    struct range gap;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && next_gap(&gap, &range, al->mate))
        rc = align_range(al, gap, rounds, err);
    return rc;
}

/* --- the table ----------------------------------------------------------- */

static bool can_fill(const struct aligner *al, struct range range, size_t limit)
{
    size_t cells = 0;

    if (!pdr__mul_size(&cells, range.a_end - range.a, range.b_end - range.b))
        return false;
    return cells <= limit && cells <= *al->credit;
}

/* cell[i][j]: length of the longest common subsequence of a from i on and of b
 * from j on. 16 bits are enough: the shorter side has at most 1,024 keys,
 * because the product is at most PDR_DIFF_TABLE_CELLS. */
static void fill_table(uint16_t *cell, const struct aligner *al,
                       struct range range)
{
    size_t rows = range.a_end - range.a, columns = range.b_end - range.b;
    size_t width = columns + 1;

    memset(cell + rows * width, 0, width * sizeof(*cell));
    for (size_t i = rows; i-- > 0;) {
        uint16_t *row = cell + i * width, *below = row + width;
        row[columns] = 0;
        for (size_t j = columns; j-- > 0;) {
            if (al->a[range.a + i] == al->b[range.b + j])
                row[j] = (uint16_t)(below[j + 1] + 1);
            else
                row[j] = below[j] >= row[j + 1] ? below[j] : row[j + 1];
        }
    }
}

static pdr_rc align_by_table(const struct aligner *al, struct range range,
                             pdr_err *err)
{
    size_t rows = range.a_end - range.a, columns = range.b_end - range.b;
    size_t width = columns + 1, cells = (rows + 1) * width;
    uint16_t few[FEW_CELLS], *cell = few;

    if (cells > FEW_CELLS)
        cell = pdr__alloc(cells * sizeof(*cell));
    if (cell == NULL)
        return pdr__nomem(err);
    *al->credit -= rows * columns;
    fill_table(cell, al, range);
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
        if (al->a[range.a + i] == al->b[range.b + j])
            al->mate[range.a + i++] = range.b + j++;
        else if (cell[(i + 1) * width + j] >= cell[i * width + j + 1])
            i++;
        else
            j++;
    }
    if (cell != few)
        pdr__free(cell);
    return PDR_OK;
}

/* --- anchors ------------------------------------------------------------- */

/* Work of one search. Positions count from the beginning of the range. */
struct search {
    const uint64_t *a, *b;
    size_t count_a, count_b;
    void *block;   /* owned; all arrays below lie in it */
    size_t *slot;  /* by key: the first position in b, or PDR__NONE */
    size_t mask;   /* slots - 1 */
    size_t *next;  /* per position in b: the next one with its key */
    size_t *left;  /* per first position in b: the first that is not used */
    size_t *at_a;  /* candidates: pairs in the order of a */
    size_t *at_b;  /* candidates: the other half */
    size_t *tail;  /* last candidate of the best row of each length */
    size_t *prior; /* per candidate: the one before it in its best row */
    size_t pairs;  /* number of candidates */
    uint8_t *seen; /* per first position in b: occurrences in a, 2 for more */
};

static pdr_rc search_init(struct search *s, const struct aligner *al,
                          struct range range, pdr_err *err)
{
    size_t slots = 16, words = 0, bytes = 0;

    *s = (struct search){.a = al->a + range.a,
                         .b = al->b + range.b,
                         .count_a = range.a_end - range.a,
                         .count_b = range.b_end - range.b};
    size_t most = s->count_a < s->count_b ? s->count_a : s->count_b;
    while (slots / 2 < s->count_b)
        slots *= 2; /* cannot overflow: the keys are in memory */
    bool fits = pdr__mul_size(&words, s->count_b, 2) &&
                pdr__add_size(&words, words, slots) &&
                pdr__add_size(&words, words, 4 * most) &&
                pdr__mul_size(&bytes, words, sizeof(size_t)) &&
                pdr__add_size(&bytes, bytes, s->count_b);
    s->block = fits ? pdr__alloc(bytes) : NULL;
    if (s->block == NULL)
        return pdr__nomem(err);
    s->slot = s->block;
    s->mask = slots - 1;
    s->next = s->slot + slots;
    s->left = s->next + s->count_b;
    s->at_a = s->left + s->count_b;
    s->at_b = s->at_a + most;
    s->tail = s->at_b + most;
    s->prior = s->tail + most;
    s->seen = (uint8_t *)(s->prior + most);
    memset(s->seen, 0, s->count_b);
    memset(s->slot, 0xFF, slots * sizeof(*s->slot)); /* PDR__NONE */
    return PDR_OK;
}

static size_t *find_slot(const struct search *s, uint64_t key)
{
    /* Keys are hashes, but nothing promises that their low bits are good. */
    uint64_t mixed = key * 0x9E3779B97F4A7C15u;
    size_t i = (size_t)(mixed ^ (mixed >> 32)) & s->mask;

    while (s->slot[i] != PDR__NONE && s->b[s->slot[i]] != key)
        i = (i + 1) & s->mask;
    return &s->slot[i];
}

/* Enter the keys of b, then count those of a that b has too. */
static void search_index(struct search *s)
{
    for (size_t j = s->count_b; j-- > 0;) {
        size_t *slot = find_slot(s, s->b[j]);
        s->next[j] = *slot;
        s->left[j] = j;
        *slot = j;
    }
    for (size_t i = 0; i < s->count_a; i++) {
        size_t first = *find_slot(s, s->a[i]);
        if (first != PDR__NONE && s->seen[first] < 2)
            s->seen[first]++;
    }
}

static void add_candidate(struct search *s, size_t i, size_t j)
{
    s->at_a[s->pairs] = i;
    s->at_b[s->pairs++] = j;
}

static void collect_unique(struct search *s)
{
    s->pairs = 0;
    for (size_t i = 0; i < s->count_a; i++) {
        size_t first = *find_slot(s, s->a[i]);
        if (first != PDR__NONE && s->next[first] == PDR__NONE &&
            s->seen[first] == 1)
            add_candidate(s, i, first);
    }
}

/* The k-th occurrence of each key with the k-th; only once per search. */
static void collect_all(struct search *s)
{
    s->pairs = 0;
    for (size_t i = 0; i < s->count_a; i++) {
        size_t first = *find_slot(s, s->a[i]);
        if (first == PDR__NONE || s->left[first] == PDR__NONE)
            continue;
        size_t j = s->left[first];
        add_candidate(s, i, j);
        s->left[first] = s->next[j];
    }
}

/* Longest row of candidates that do not cross: the longest ascending
 * subsequence of at_b. tail[k] ends the row of length k + 1 whose end is
 * smallest. @return its length; tail[length - 1] ends it. */
static size_t longest_row(struct search *s)
{
    size_t length = 0;

    for (size_t c = 0; c < s->pairs; c++) {
        size_t low = 0, high = length;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (s->at_b[s->tail[middle]] < s->at_b[c])
                low = middle + 1;
            else
                high = middle;
        }
        s->prior[c] = low > 0 ? s->tail[low - 1] : PDR__NONE;
        s->tail[low] = c;
        length += low == length;
    }
    return length;
}

static void pair_row(const struct aligner *al, struct range range,
                     const struct search *s, size_t length)
{
    size_t c = length > 0 ? s->tail[length - 1] : PDR__NONE;

    for (; c != PDR__NONE; c = s->prior[c])
        al->mate[range.a + s->at_a[c]] = range.b + s->at_b[c];
}

/* @param[out] found  number of anchors; 0 if there is nothing left to find. */
static pdr_rc align_by_anchors(size_t *found, const struct aligner *al,
                               struct range range, pdr_err *err)
{
    struct search s;
    pdr_rc rc = search_init(&s, al, range, err);

    if (rc != PDR_OK)
        return rc;
    search_index(&s);
    collect_unique(&s);
    size_t unique = longest_row(&s);
    collect_all(&s);
    *found = longest_row(&s);
    bool has_table =
        *found > 2 * unique && can_fill(al, range, PDR_DIFF_TABLE_CELLS);
    if (*found <= 2 * unique) {
        collect_unique(&s);
        *found = longest_row(&s);
    }
    if (!has_table)
        pair_row(al, range, &s, *found);
    pdr__free(s.block);
    if (!has_table)
        return PDR_OK;
    *found = 0;
    return align_by_table(al, range, err);
}

/* --- ranges -------------------------------------------------------------- */

static pdr_rc align_range(const struct aligner *al, struct range range,
                          unsigned rounds, pdr_err *err)
{
    size_t found = 0;

    trim(al, &range);
    if (!has_both_sides(range))
        return PDR_OK;
    if (can_fill(al, range, PDR_DIFF_EXACT_CELLS))
        return align_by_table(al, range, err);
    if (rounds == 0)
        return PDR_OK; /* what is left stays open */
    pdr_rc rc = align_by_anchors(&found, al, range, err);
    if (rc != PDR_OK || found == 0)
        return rc;
    return align_gaps(al, range, rounds - 1, err);
}

pdr_rc pdr__align(size_t *mate, const uint64_t *a, size_t count_a,
                  const uint64_t *b, size_t count_b, size_t *credit,
                  pdr_err *err)
{
    const struct aligner al = {mate, a, b, credit};

    return align_gaps(&al, (struct range){0, count_a, 0, count_b},
                      PDR_DIFF_ROUNDS, err);
}

bool pdr__align_has_rest(const size_t *mate, size_t count_a, size_t count_b)
{
    struct range range = {0, count_a, 0, count_b}, gap;

    while (next_gap(&gap, &range, mate))
        if (has_both_sides(gap))
            return true;
    return false;
}

void pdr__align_rest(size_t *mate, size_t count_a, size_t count_b)
{
    struct range range = {0, count_a, 0, count_b}, gap;

    while (next_gap(&gap, &range, mate))
        while (has_both_sides(gap))
            mate[gap.a++] = gap.b++;
}
