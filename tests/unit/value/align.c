/* Alignment of two sequences of keys: pairs, their number, their cost. */
#include "test.h"

#include "compare.h"
#include "diff_model.h"

#define MOST 64

static void no_mates(size_t *mate, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mate[i] = PDR__NONE;
}

/* Number of pairs; fails if they cross, or pair keys that differ. */
static size_t count_pairs(const size_t *mate, const uint64_t *a, size_t count_a,
                          const uint64_t *b, size_t count_b)
{
    size_t pairs = 0, next = 0;

    for (size_t i = 0; i < count_a; i++) {
        if (mate[i] == PDR__NONE)
            continue;
        ASSERT(mate[i] >= next && mate[i] < count_b);
        ASSERT(a[i] == b[mate[i]]);
        next = mate[i] + 1;
        pairs++;
    }
    return pairs;
}

/* Align texts, a letter a key: "abc" and "xbc" give ".12". */
static void check(const char *expected, const char *text_a, const char *text_b)
{
    uint64_t a[MOST], b[MOST];
    size_t mate[MOST], count_a = strlen(text_a), count_b = strlen(text_b);
    size_t credit = PDR_DIFF_TABLE_CELLS;
    char found[MOST + 1] = "";

    for (size_t i = 0; i < count_a; i++)
        a[i] = (uint64_t)text_a[i];
    for (size_t i = 0; i < count_b; i++)
        b[i] = (uint64_t)text_b[i];
    no_mates(mate, count_a);
    ASSERT_RC(PDR_OK, pdr__align(mate, a, count_a, b, count_b, &credit, NULL));
    (void)count_pairs(mate, a, count_a, b, count_b);
    for (size_t i = 0; i < count_a; i++)
        found[i] = mate[i] == PDR__NONE ? '.' : (char)('0' + mate[i]);
    ASSERT_STR(expected, found);
}

TEST(align, pairs_as_much_as_it_can)
{
    check("", "", "");
    check("", "", "abc");
    check("...", "abc", "");
    check("012", "abc", "abc");
    check(".12", "abc", "xbc");
    check("01.", "abc", "abx");
    check("123", "abc", "xabc");
    check(".01", "abc", "bc");
    check("0.2", "abc", "axc");
    check(".0123", "xaaaa", "aaaax");
    check("0.1", "aba", "aa");
    check("...", "abc", "xyz");
    check("0.13", "abcd", "acxd");
}

TEST(align, keeps_pairs_that_are_there)
{
    const uint64_t a[] = {1, 2, 3, 1}, b[] = {1, 9, 2, 3, 1};
    size_t mate[] = {PDR__NONE, 1, PDR__NONE, PDR__NONE};
    size_t credit = PDR_DIFF_TABLE_CELLS;

    ASSERT_RC(PDR_OK, pdr__align(mate, a, 4, b, 5, &credit, NULL));
    ASSERT_SIZE(0, mate[0]);
    ASSERT_SIZE(1, mate[1]); /* not equal, but it was there */
    ASSERT_SIZE(3, mate[2]);
    ASSERT_SIZE(4, mate[3]);
}

TEST(align_rest, pairs_by_position_between_pairs)
{
    size_t mate[] = {PDR__NONE, 2, PDR__NONE, PDR__NONE, 4, PDR__NONE};

    ASSERT(pdr__align_has_rest(mate, 6, 6));
    pdr__align_rest(mate, 6, 6);
    ASSERT_SIZE(0, mate[0]);
    ASSERT_SIZE(2, mate[1]);
    ASSERT_SIZE(3, mate[2]);
    ASSERT(mate[3] == PDR__NONE);
    ASSERT_SIZE(4, mate[4]);
    ASSERT_SIZE(5, mate[5]);
    ASSERT(!pdr__align_has_rest(mate, 6, 6));
    ASSERT(!pdr__align_has_rest(mate, 0, 6));
    ASSERT(!pdr__align_has_rest(mate, 6, 8)); /* only b has more */
}

/* The longest common subsequence, the plain way. */
static size_t best_pairs(const uint64_t *a, size_t count_a, const uint64_t *b,
                         size_t count_b)
{
    static size_t best[MOST + 1][MOST + 1];

    memset(best, 0, sizeof(best));
    for (size_t i = 1; i <= count_a; i++)
        for (size_t j = 1; j <= count_b; j++) {
            best[i][j] = best[i - 1][j] > best[i][j - 1] ? best[i - 1][j]
                                                         : best[i][j - 1];
            if (a[i - 1] == b[j - 1] && best[i - 1][j - 1] + 1 > best[i][j])
                best[i][j] = best[i - 1][j - 1] + 1;
        }
    return best[count_a][count_b];
}

TEST(align, finds_the_best_for_small_sequences)
{
    struct dice dice = {1};
    uint64_t a[MOST], b[MOST];
    size_t mate[MOST];

    for (int round = 0; round < 2000; round++) {
        size_t count_a = dice_roll(&dice, MOST),
               count_b = dice_roll(&dice, MOST);
        uint32_t letters = 1 + dice_roll(&dice, 40);
        size_t credit = PDR_DIFF_TABLE_CELLS;

        for (size_t i = 0; i < count_a; i++)
            a[i] = dice_roll(&dice, letters);
        for (size_t i = 0; i < count_b; i++)
            b[i] = dice_roll(&dice, letters);
        no_mates(mate, count_a);
        ASSERT_RC(PDR_OK,
                  pdr__align(mate, a, count_a, b, count_b, &credit, NULL));
        ASSERT_SIZE(best_pairs(a, count_a, b, count_b),
                    count_pairs(mate, a, count_a, b, count_b));
    }
}

/* --- large sequences ----------------------------------------------------- */

enum { LARGE = 200000 };

struct large {
    uint64_t *a, *b;
    size_t *mate;
    size_t count_b;
};

static struct large large_new(void)
{
    struct large l = {malloc(LARGE * sizeof(uint64_t)),
                      malloc(2 * LARGE * sizeof(uint64_t)),
                      malloc(LARGE * sizeof(size_t)), 0};

    assert_true(l.a != NULL && l.b != NULL && l.mate != NULL);
    no_mates(l.mate, LARGE);
    return l;
}

/* Align; no more than `credit` cells are spent. @return the pairs. */
static size_t large_align(struct large *l, size_t credit)
{
    ASSERT_RC(PDR_OK, pdr__align(l->mate, l->a, LARGE, l->b, l->count_b,
                                 &credit, NULL));
    return count_pairs(l->mate, l->a, LARGE, l->b, l->count_b);
}

static void large_free(struct large *l)
{
    free(l->a);
    free(l->b);
    free(l->mate);
}

TEST(align, finds_each_of_many_changes_without_a_table)
{
    struct large l = large_new();
    size_t common = 0;

    for (size_t i = 0; i < LARGE; i++) {
        l.a[i] = i;
        if (i % 7 == 3)
            l.b[l.count_b++] = LARGE + i; /* one more */
        if (i % 11 != 5) {
            l.b[l.count_b++] = i;
            common++;
        }
    }
    ASSERT_SIZE(common, large_align(&l, 0));
    large_free(&l);
}

TEST(align, is_not_misled_by_keys_that_repeat)
{
    struct large l = large_new();

    /* Two of three keys are the same on both sides and everywhere. */
    for (size_t i = 0; i < LARGE; i++)
        l.a[i] = i % 3 == 0 ? i : 1;
    l.b[l.count_b++] = 1;
    for (size_t i = 0; i < LARGE; i++)
        l.b[l.count_b++] = l.a[i];
    l.b[l.count_b++] = 2;
    ASSERT_SIZE(LARGE, large_align(&l, 0));
    large_free(&l);
}

TEST(align, is_not_misled_by_a_unique_key_that_moved)
{
    struct large l = large_new();

    for (size_t i = 0; i < LARGE; i++) {
        l.a[i] = i == 0 ? 7 : i % 5;
        l.b[i] = i == LARGE - 1 ? 7 : (i + 1) % 5;
    }
    l.count_b = LARGE;
    ASSERT_SIZE(LARGE - 1, large_align(&l, 0));
    large_free(&l);
}

TEST(align, finds_keys_that_came_between_equal_ones)
{
    struct large l = large_new();

    for (size_t i = 0; i < LARGE; i++) {
        l.a[i] = 0;
        if (i % 1000 == 500)
            l.b[l.count_b++] = 1;
        l.b[l.count_b++] = 0;
    }
    ASSERT_SIZE(LARGE, large_align(&l, 0));
    large_free(&l);
}

TEST(align, uses_the_table_where_anchors_say_little)
{
    /* 1,000 by 1,000: too large for the table at once, small enough later. */
    enum { ROWS = 1000 };
    struct large l = large_new();
    struct dice dice = {5};
    size_t with = PDR_DIFF_TABLE_CELLS, without = 0;

    for (size_t i = 0; i < ROWS; i++) {
        l.a[i] = dice_roll(&dice, 4);
        l.b[i] = dice_roll(&dice, 4);
    }
    ASSERT_RC(PDR_OK, pdr__align(l.mate, l.a, ROWS, l.b, ROWS, &without, NULL));
    size_t few = count_pairs(l.mate, l.a, ROWS, l.b, ROWS);
    no_mates(l.mate, ROWS);
    ASSERT_RC(PDR_OK, pdr__align(l.mate, l.a, ROWS, l.b, ROWS, &with, NULL));
    size_t many = count_pairs(l.mate, l.a, ROWS, l.b, ROWS);
    ASSERT(many > few);
    ASSERT(with < PDR_DIFF_TABLE_CELLS);
    ASSERT_SIZE(0, without);
    large_free(&l);
}

TEST(align, finds_nothing_where_nothing_is_common)
{
    struct large l = large_new();

    for (size_t i = 0; i < LARGE; i++) {
        l.a[i] = 2 * i;
        l.b[i] = 2 * i + 1;
    }
    l.count_b = LARGE;
    ASSERT_SIZE(0, large_align(&l, PDR_DIFF_TABLE_CELLS));
    large_free(&l);
}

/* Keys that only become unique round by round. Without an end to the rounds a
 * long sequence of that sort could ask for one per key; so some are left open,
 * and a second call, with rounds of its own, finds them. */
TEST(align, ends_when_each_round_finds_little)
{
    static const char text_a[] =
        "8Q<7<45:55:@B:<08B3@2;>3:148<6<658=2Q>18=Q7<B80>=645:9:65650";
    static const char text_b[] = "A>47A=<384:9=27@7A224>Q97<2>4Q=QQ<;8:54A;15<"
                                 "3319Q2@A>Q7B<A>>B>99:95@60@";
    uint64_t a[sizeof(text_a) - 1], b[sizeof(text_b) - 1];
    size_t mate[PDR_COUNT(a)], pairs[2], credit = 0;

    for (size_t i = 0; i < PDR_COUNT(a); i++)
        a[i] = (uint64_t)text_a[i];
    for (size_t i = 0; i < PDR_COUNT(b); i++)
        b[i] = (uint64_t)text_b[i];
    no_mates(mate, PDR_COUNT(a));
    for (size_t call = 0; call < 2; call++) {
        ASSERT_RC(PDR_OK, pdr__align(mate, a, PDR_COUNT(a), b, PDR_COUNT(b),
                                     &credit, NULL));
        pairs[call] = count_pairs(mate, a, PDR_COUNT(a), b, PDR_COUNT(b));
    }
    ASSERT(pairs[0] > 0 && pairs[0] < pairs[1]);
}

TEST_OOM(align, reports_that_memory_ran_out)
{
    enum { COUNT = 300 };
    uint64_t a[COUNT], b[COUNT];
    size_t mate[COUNT], credit = PDR_DIFF_TABLE_CELLS;

    for (size_t i = 0; i < COUNT; i++) {
        a[i] = i;
        b[i] = i % 100 < 50 ? i : (i * 7) % 50;
    }
    no_mates(mate, COUNT);
    mate[0] = 0;
    pdr_rc rc = pdr__align(mate, a, COUNT, b, COUNT, &credit, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
}

/* --- likeness ------------------------------------------------------------ */

static void check_alike(enum pdr__likeness likeness, bool expected,
                        const char *text_a, const char *text_b)
{
    pdr_buf scratch = PDR_BUF_INIT(1000);
    struct pdr__likes likes;
    uint64_t hash[2] = {0, 0};
    char text[400];
    pdr_value *array = NULL;

    snprintf(text, sizeof(text), "[%s,%s]", text_a, text_b);
    ASSERT_RC(PDR_OK, pdr_json_read(&array, pdr_str_c(text), NULL, NULL));
    pdr__likes_init(&likes, &scratch);
    ASSERT_RC(PDR_OK, pdr__likes_hash(hash, &likes, array, likeness, NULL));
    if ((hash[0] == hash[1]) != expected)
        fail_msg("%s", text);
    pdr__likes_dispose(&likes);
    pdr_buf_dispose(&scratch);
    pdr_value_free(array);
}

TEST(likeness, is_the_same_for_what_is_equal_in_any_order)
{
    const enum pdr__likeness same = PDR__LIKE_SAME;

    check_alike(same, true, "{\"a\":1,\"b\":[2,\"x\"]}",
                "{ \"b\" : [ 2 , \"\\u0078\" ] , \"a\" : 1 }");
    check_alike(same, false, "1", "1.0");
    check_alike(same, false, "1", "\"1\"");
    check_alike(same, false, "null", "\"null\"");
    check_alike(same, false, "true", "false");
    check_alike(same, false, "[]", "{}");
    check_alike(same, false, "[]", "\"\"");
    check_alike(same, false, "[1,2]", "[2,1]");
    check_alike(same, false, "[[1],2]", "[[1,2]]");
    check_alike(same, false, "[[]]", "[]");
    check_alike(same, false, "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}");
    check_alike(same, false, "{\"a\":\"b\"}", "{\"b\":\"a\"}");
    check_alike(same, false, "{\"a\":{\"b\":1}}", "{\"a\":[\"b\",1]}");
    check_alike(same, false, "{\"a\":1}", "{\"a\":1,\"a\":1}");
}

TEST(likeness, sees_only_the_front_of_an_object_if_asked)
{
    check_alike(PDR__LIKE_CLOSE, true, "{\"a\":1,\"b\":2,\"c\":3}",
                "{\"a\":1,\"b\":2,\"c\":4}");
    check_alike(PDR__LIKE_CLOSE, false, "{\"a\":1,\"b\":2}",
                "{\"a\":1,\"b\":3}");
    check_alike(PDR__LIKE_CLOSE, true, "{\"a\":1,\"b\":[2]}",
                "{\"a\":1,\"b\":[3]}");
    check_alike(PDR__LIKE_CLOSE, false, "[1]", "[2]");
    check_alike(PDR__LIKE_CLOSE, false, "1", "2");
    check_alike(PDR__LIKE_LOOSE, true, "{\"a\":1,\"b\":2}",
                "{\"a\":1,\"c\":3}");
    check_alike(PDR__LIKE_LOOSE, false, "{\"a\":1}", "{\"a\":2}");
    check_alike(PDR__LIKE_LOOSE, false, "{}", "{\"a\":2}");
    check_alike(PDR__LIKE_LOOSE, true, "[1]", "[2]");
    check_alike(PDR__LIKE_LOOSE, true, "1", "2");
    check_alike(PDR__LIKE_LOOSE, false, "1", "\"1\"");
}

/* Steps cannot be counted, so the remembered hash is replaced: if it comes
 * back, nothing was hashed again. */
TEST(likeness, hashes_what_is_inside_an_element_only_once)
{
    pdr_buf scratch = PDR_BUF_INIT(1000);
    struct pdr__likes likes;
    uint64_t outer[1], inner[3], own = 0;
    pdr_value *array = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&array, pdr_str_c("[[[1,2],{\"a\":1},3]]"),
                                    NULL, NULL));
    pdr__likes_init(&likes, &scratch);
    ASSERT_RC(PDR_OK,
              pdr__likes_hash(outer, &likes, array, PDR__LIKE_SAME, NULL));
    ASSERT_SIZE(2, likes.count);
    const pdr_value *element = pdr_value_at(array, 0);
    for (size_t i = 0; i < likes.cap; i++)
        if (likes.slot[i].container == pdr_value_at(element, 1)) {
            own = likes.slot[i].hash;
            likes.slot[i].hash = own + 1;
        }
    ASSERT_RC(PDR_OK,
              pdr__likes_hash(inner, &likes, element, PDR__LIKE_SAME, NULL));
    ASSERT(inner[1] == own + 1);
    ASSERT_SIZE(2, likes.count);
    pdr__likes_dispose(&likes);
    pdr_buf_dispose(&scratch);
    pdr_value_free(array);
}
