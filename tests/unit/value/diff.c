/* Structural differences: exact reports, a second opinion, large arrays. */
#include "test.h"

#include <pthread.h>

#include "core.h"
#include "diff_model.h"
#include "json_text.h"

static pdr_rc put_value(pdr_buf *out, const pdr_value *value, pdr_err *err)
{
    return value != NULL ? pdr_json_write(out, value, NULL, err) : PDR_OK;
}

/* One line a change: sign, pointer, values. */
static pdr_rc note(const pdr_change *change, pdr_err *err, void *arg)
{
    static const char signs[] = "?+-~%";
    pdr_buf *out = arg;

    pdr_rc rc = pdr_buf_printf(out, err, "%c %.*s", signs[change->kind],
                               (int)change->pointer.len, change->pointer.ptr);
    if (rc == PDR_OK && change->kind != PDR_REORDERED) {
        rc = pdr_buf_printf(out, err, "%s", ": ");
        if (rc == PDR_OK)
            rc = put_value(out, change->before, err);
        if (rc == PDR_OK && change->kind == PDR_CHANGED)
            rc = pdr_buf_printf(out, err, "%s", " > ");
        if (rc == PDR_OK)
            rc = put_value(out, change->after, err);
    }
    return rc == PDR_OK ? pdr_buf_printf(out, err, "%s", "\n") : rc;
}

static void check_values(const char *expected, const pdr_value *a,
                         const pdr_value *b)
{
    pdr_buf found = PDR_BUF_INIT(1u << 20);

    ASSERT_RC(PDR_OK, pdr_value_diff(a, b, NULL, note, &found));
    ASSERT_TEXT(expected, pdr_buf_str(&found));
    pdr_buf_dispose(&found);
}

static void check(const char *expected, const char *text_a, const char *text_b)
{
    pdr_value *a = json(text_a), *b = json(text_b);

    check_values(expected, a, b);
    pdr_value_free(a);
    pdr_value_free(b);
}

/* --- scalars and objects ------------------------------------------------- */

TEST(value_diff, reports_nothing_for_equal_values)
{
    check("", "null", "null");
    check("", "[1,{\"a\":\"\\u0062\"}]", " [ 1 , { \"\\u0061\" : \"b\" } ] ");
    check("", "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}");
}

TEST(value_diff, reports_a_scalar_that_changed)
{
    check("~ : 1 > 1.0\n", "1", "1.0");
    check("~ : [] > {}\n", "[]", "{}");
    check("~ /a: null > false\n", "{\"a\":null}", "{\"a\":false}");
    check("~ /a/b/0: \"x\" > \"y\"\n", "{\"a\":{\"b\":[\"x\"]}}",
          "{\"a\":{\"b\":[\"y\"]}}");
    check("~ /a: {\"b\":1} > 1\n", "{\"a\":{\"b\":1}}", "{\"a\":1}");
}

TEST(value_diff, reports_members_that_came_and_went_where_they_stand)
{
    check("+ /b: 2\n", "{\"a\":1}", "{\"a\":1,\"b\":2}");
    check("- /a: 1\n", "{\"a\":1}", "{}");
    check("- /old: 1\n+ /new: 1\n~ /z: 2 > 3\n", "{\"x\":0,\"old\":1,\"z\":2}",
          "{\"x\":0,\"new\":1,\"z\":3}");
    check("+ /a: 0\n- /c: 3\n+ /d: 4\n", "{\"b\":2,\"c\":3}",
          "{\"a\":0,\"b\":2,\"d\":4}");
    check("+ /m~0n~1o/\xED\xA0\x80: []\n", "{\"m~n/o\":{}}",
          "{\"m~n/o\":{\"\\ud800\":[]}}");
}

TEST(value_diff, pairs_duplicates_first_with_first)
{
    check("~ /a: 2 > 3\n", "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":3}");
    check("- /a: 2\n", "{\"a\":1,\"a\":2}", "{\"a\":1}");
    check("+ /a: 2\n", "{\"a\":1}", "{\"a\":1,\"a\":2}");
    check("% \n~ /a: 1 > 2\n~ /a: 2 > 1\n", "{\"a\":1,\"b\":0,\"a\":2}",
          "{\"a\":2,\"a\":1,\"b\":0}");
}

TEST(value_diff, reports_another_order_once_and_before_the_members)
{
    check("% \n", "{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"b\":2,\"a\":1}");
    check("% /x\n~ /x/a: 1 > 9\n", "{\"x\":{\"a\":1,\"b\":2}}",
          "{\"x\":{\"b\":2,\"a\":9}}");
    check("% \n- /old: 0\n+ /new: 0\n% /b\n",
          "{\"a\":1,\"old\":0,\"b\":{\"x\":1,\"y\":1}}",
          "{\"b\":{\"y\":1,\"x\":1},\"new\":0,\"a\":1}");
    /* Who came and went does not make an order. */
    check("- /a: 1\n+ /a2: 1\n", "{\"a\":1,\"b\":2}", "{\"b\":2,\"a2\":1}");
}

/* --- arrays -------------------------------------------------------------- */

TEST(value_diff, aligns_elements)
{
    check("+ /0: 0\n", "[1,2,3]", "[0,1,2,3]");
    check("- /0: 1\n", "[1,2,3]", "[2,3]");
    check("+ /3: 4\n", "[1,2,3]", "[1,2,3,4]");
    check("~ /1: 2 > 9\n", "[1,2,3]", "[1,9,3]");
    check("- /2: 2\n", "[1,2,2,3]", "[1,2,3]");
    check("+ /1: 7\n- /2: 3\n", "[1,2,3,4]", "[1,7,2,4]");
    check("~ /0: 1 > 4\n~ /1: 2 > 5\n- /2: 3\n", "[1,2,3]", "[4,5]");
    check("- /0: 1\n- /1: 2\n", "[1,2]", "[]");
    check("+ /0: 1\n+ /1: 2\n", "[]", "[1,2]");
}

TEST(value_diff, reports_a_moved_element_as_removed_and_added)
{
    check("- /0: \"x\"\n+ /4: \"x\"\n", "[\"x\",1,1,1,1]", "[1,1,1,1,\"x\"]");
    check("+ /0: 5\n- /4: 5\n", "[1,2,3,4,5]", "[5,1,2,3,4]");
}

TEST(value_diff, gives_the_whole_pointer_in_b_for_what_was_added)
{
    check("+ /0: 0\n- /0/0/x: 1\n+ /1/0/y: 1\n~ /0/0/z/0: 1 > 2\n"
          "+ /1/0/z/1: 3\n",
          "[[{\"i\":7,\"x\":1,\"z\":[1]}]]",
          "[0,[{\"i\":7,\"y\":1,\"z\":[2,3]}]]");
}

TEST(value_diff, goes_into_elements_that_changed_inside)
{
    check("~ /1/text: \"b\" > \"c\"\n",
          "[{\"id\":1,\"text\":\"a\"},{\"id\":2,\"text\":\"b\"}]",
          "[{\"id\":1,\"text\":\"a\"},{\"id\":2,\"text\":\"c\"}]");
    /* By their first member, although the position moved. */
    check("- /0: {\"id\":1,\"text\":\"a\"}\n~ /1/text: \"b\" > \"c\"\n",
          "[{\"id\":1,\"text\":\"a\"},{\"id\":2,\"text\":\"b\"}]",
          "[{\"id\":2,\"text\":\"c\"}]");
    /* By their first two, although the first alone would mislead. */
    check("+ /0: {\"$type\":\"q\",\"id\":\"0\",\"n\":[]}\n"
          "~ /0/n/0: 1 > 2\n",
          "[{\"$type\":\"q\",\"id\":\"1\",\"n\":[1]}]",
          "[{\"$type\":\"q\",\"id\":\"0\",\"n\":[]},"
          "{\"$type\":\"q\",\"id\":\"1\",\"n\":[2]}]");
    /* By kind. */
    check("+ /0: 5\n~ /0/a/0: 1 > 2\n", "[{\"a\":[1]}]", "[5,{\"a\":[2]}]");
    check("- /0: 1\n~ /1: \"x\" > \"y\"\n", "[1,\"x\"]", "[\"y\"]");
    check("~ /0: 1 > \"x\"\n", "[1]", "[\"x\"]");
    check("~ /0/0/0: 1 > 2\n", "[[[1]]]", "[[[2]]]");
}

TEST(value_diff, aligns_elements_whose_members_are_in_another_order)
{
    check("+ /0: {\"x\":0}\n% /0\n% /1/c/0\n",
          "[{\"a\":1,\"b\":2},{\"c\":[{\"d\":1,\"e\":2}]}]",
          "[{\"x\":0},{\"b\":2,\"a\":1},{\"c\":[{\"e\":2,\"d\":1}]}]");
}

TEST(value_diff, compares_values_that_were_changed)
{
    pdr_value *a = json("{\"a\":[1,2,3],\"b\":{\"c\":1}}");
    pdr_value *b = pdr_value_ref(a), *nine = json("9");

    ASSERT_RC(PDR_OK, pdr_pointer_insert(&b, pdr_str_c("/a/0"), nine, NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&b, pdr_str_c("/b/d"), nine, NULL));
    check_values("+ /a/0: 9\n+ /b/d: 9\n", a, b);
    check_values("- /a/0: 9\n- /b/d: 9\n", b, a);
    pdr_value_free(a);
    pdr_value_free(b);
    pdr_value_free(nine);
}

/* --- a second opinion ---------------------------------------------------- */

TEST(value_diff, says_how_to_make_one_document_of_the_other)
{
    struct diff_verdict verdict;
    size_t pairs = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        pairs += diff_check_random(&verdict, seed, 100, false);
        if (!verdict.is_applied)
            fail_msg("seed %d, pair %zu: %s", (int)seed, pairs, verdict.text);
    }
    ASSERT_SIZE(4000, pairs);
}

/* --- large values -------------------------------------------------------- */

/* Documents take longer to make than to compare: few are that large. */
enum { MILLION = 1000000, MANY = 200000 };

struct count {
    size_t by_kind[5];
    size_t calls;
    size_t stop_at; /* 0 for never */
    char first[64]; /* pointer of the first change */
};

static pdr_rc count_changes(const pdr_change *change, pdr_err *err, void *arg)
{
    struct count *count = arg;

    if (count->calls++ == 0)
        snprintf(count->first, sizeof(count->first), "%.*s",
                 (int)change->pointer.len, change->pointer.ptr);
    count->by_kind[change->kind]++;
    if (count->calls == count->stop_at)
        return pdr_err_set(err, PDR_ECANCELLED, "enough", "enough changes");
    return PDR_OK;
}

static void count_diff(struct count *count, const pdr_value *a,
                       const pdr_value *b, size_t most_allocations)
{
    *count = (struct count){.calls = 0};
    size_t before = test_allocations();
    ASSERT_RC(PDR_OK, pdr_value_diff(a, b, NULL, count_changes, count));
    size_t made = test_allocations() - before;
    if (made > most_allocations)
        fail_msg("%zu allocations", made);
}

/* `count` elements, each printed by `format` with its number modulo `cycle`. */
static pdr_value *large_array(const char *front, size_t count, size_t cycle)
{
    pdr_buf text = TEXT_INIT;

    PUT(&text, "[%s", front);
    for (size_t i = 0; i < count; i++)
        PUT(&text, "%s%zu", i > 0 || front[0] != '\0' ? "," : "", i % cycle);
    PUT(&text, "]");
    return json_take(&text);
}

TEST(value_diff, sees_one_element_put_before_a_million)
{
    const size_t cycles[] = {MILLION, 1};
    struct count count;

    for (size_t i = 0; i < PDR_COUNT(cycles); i++) {
        pdr_value *a = large_array("", MILLION, cycles[i]);
        pdr_value *b = large_array("\"new\"", MILLION, cycles[i]);
        count_diff(&count, a, b, 20);
        ASSERT_SIZE(1, count.calls);
        ASSERT_SIZE(1, count.by_kind[PDR_ADDED]);
        ASSERT_STR("/0", count.first);
        count_diff(&count, b, a, 20);
        ASSERT_SIZE(1, count.calls);
        ASSERT_SIZE(1, count.by_kind[PDR_REMOVED]);
        pdr_value_free(a);
        pdr_value_free(b);
    }
}

/* Many elements, each tenth of which is `odd`; the others count. */
static pdr_value *sprinkled(const char *odd, size_t offset)
{
    pdr_buf text = TEXT_INIT;

    for (size_t i = 0; i < MANY; i++) {
        if ((i + offset) % 10 == 0)
            PUT(&text, "%c%s", i == 0 ? '[' : ',', odd);
        else
            PUT(&text, "%c%zu", i == 0 ? '[' : ',', i);
    }
    PUT(&text, "]");
    return json_take(&text);
}

TEST(value_diff, sees_each_of_many_changes)
{
    pdr_value *a = sprinkled("null", 5), *b = sprinkled("true", 5);
    struct count count;

    count_diff(&count, a, b, 500);
    ASSERT_SIZE(20000, count.calls);
    ASSERT_SIZE(20000, count.by_kind[PDR_CHANGED]);
    ASSERT_STR("/5", count.first);
    pdr_value_free(a);
    pdr_value_free(b);
}

/* Nothing in common, or all in reverse: the cases that are slow for aligners
 * that look for the best. */
TEST(value_diff, takes_many_elements_with_little_in_common)
{
    pdr_value *a = large_array("", MANY, MANY);
    pdr_value *b = sprinkled("\"x\"", 0);
    pdr_buf text = TEXT_INIT;
    struct count count;

    count_diff(&count, a, b, 500);
    ASSERT(count.calls >= 20000 && count.calls <= 60000);
    pdr_value_free(b);
    for (size_t i = MANY; i-- > 0;)
        PUT(&text, "%c%zu", i == MANY - 1 ? '[' : ',', i);
    PUT(&text, "]");
    b = json_take(&text);
    count_diff(&count, a, b, 500);
    ASSERT(count.calls > 0);
    pdr_value_free(a);
    pdr_value_free(b);
}

TEST(value_diff, takes_a_million_members_in_another_order)
{
    pdr_buf text[2] = {TEXT_INIT, TEXT_INIT};
    pdr_value *value[2] = {NULL, NULL};
    struct count count;

    for (size_t v = 0; v < 2; v++) {
        for (size_t i = 0; i < MILLION; i++)
            PUT(&text[v], "%c\"%zu\":%zu", i == 0 ? '{' : ',',
                v == 0 ? i : MILLION - i, i == 999 ? v : 7);
        PUT(&text[v], "}");
        value[v] = json_take(&text[v]);
    }
    count_diff(&count, value[0], value[1], 20);
    ASSERT_SIZE(1, count.by_kind[PDR_REORDERED]);
    ASSERT_SIZE(1, count.by_kind[PDR_REMOVED]);
    ASSERT_SIZE(1, count.by_kind[PDR_ADDED]);
    ASSERT_SIZE(2, count.by_kind[PDR_CHANGED]);
    pdr_value_free(value[0]);
    pdr_value_free(value[1]);
}

/* A long array in an array in an array …; only its last element differs. Each
 * level that hashed or compared it anew would cost a thousandfold. */
static pdr_value *nested(size_t levels, size_t elements, int last)
{
    pdr_buf text = TEXT_INIT;

    for (size_t i = 0; i < levels; i++)
        PUT(&text, "[");
    for (size_t i = 0; i < elements; i++)
        PUT(&text, "[%zu],", i);
    PUT(&text, "%d", last);
    for (size_t i = 0; i < levels; i++)
        PUT(&text, "]");
    return json_take(&text);
}

TEST(value_diff, hashes_what_is_nested_deep_only_once)
{
    pdr_value *a = nested(PDR_MAX_DEPTH - 1, 300000, 1);
    pdr_value *b = nested(PDR_MAX_DEPTH - 1, 300000, 2);
    struct count count;

    count_diff(&count, a, b, 10000);
    ASSERT_SIZE(1, count.calls);
    ASSERT_SIZE(1, count.by_kind[PDR_CHANGED]);
    pdr_value_free(a);
    pdr_value_free(b);
}

/* --- depth --------------------------------------------------------------- */

/* All that goes down two values and gets the work of one thread. */
static void *go_down(void *arg)
{
    pdr_value **value = arg;
    struct count count = {.stop_at = 0};
    bool is_equal = true;

    if (pdr_value_diff(value[0], value[1], NULL, count_changes, &count) !=
            PDR_OK ||
        pdr_value_equal_unordered(&is_equal, value[0], value[1], NULL) !=
            PDR_OK)
        return NULL;
    return count.calls == 1 && !is_equal ? value : NULL;
}

static pdr_value *deep_objects(int bottom)
{
    pdr_buf text = TEXT_INIT;

    for (size_t i = 0; i < PDR_MAX_DEPTH; i++)
        PUT(&text, "{\"a\":");
    PUT(&text, "%d", bottom);
    for (size_t i = 0; i < PDR_MAX_DEPTH; i++)
        PUT(&text, "}");
    return json_take(&text);
}

TEST(value_diff, needs_little_stack_for_the_deepest_values)
{
#if TEST_SANITIZED || !defined(__OPTIMIZE__)
    const size_t stack_bytes = 4u << 20; /* frames are several times as large */
#else
    const size_t stack_bytes = 512u << 10;
#endif
    pdr_value *value[2] = {NULL, NULL};
    pthread_attr_t attr;
    pthread_t thread;
    void *done = NULL;

    ASSERT_INT(0, pthread_attr_init(&attr));
    ASSERT_INT(0, pthread_attr_setstacksize(&attr, stack_bytes));
    for (int kind = 0; kind < 2; kind++) {
        for (int v = 0; v < 2; v++)
            value[v] =
                kind == 0 ? deep_objects(v) : nested(PDR_MAX_DEPTH, 0, v);
        ASSERT_INT(0, pthread_create(&thread, &attr, go_down, value));
        ASSERT_INT(0, pthread_join(thread, &done));
        ASSERT(done == value);
        pdr_value_free(value[0]);
        pdr_value_free(value[1]);
    }
    ASSERT_INT(0, pthread_attr_destroy(&attr));
}

/* --- failures ------------------------------------------------------------ */

TEST(value_diff, ends_with_what_the_callback_returns)
{
    static const struct {
        const char *a, *b;
        size_t changes;
    } cases[] = {
        {"[1,2,3,4]", "[]", 4},
        {"[]", "[1,2,3,4]", 4},
        {"[1,2]", "[3,4]", 2},
        {"{\"a\":1,\"b\":2,\"c\":[1]}", "{\"c\":[2],\"b\":3,\"d\":1}", 5},
        {"[[{\"a\":1}]]", "[[{\"a\":2}]]", 1},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *a = json(cases[i].a), *b = json(cases[i].b);
        for (size_t stop = 1; stop <= cases[i].changes; stop++) {
            struct count count = {.stop_at = stop};
            pdr_err err = PDR_ERR_INIT;
            ASSERT_RC(PDR_ECANCELLED,
                      pdr_value_diff(a, b, &err, count_changes, &count));
            ASSERT_STR("enough", err.reason);
            ASSERT_SIZE(stop, count.calls);
        }
        struct count all = {.stop_at = 0};
        ASSERT_RC(PDR_OK, pdr_value_diff(a, b, NULL, count_changes, &all));
        ASSERT_SIZE(cases[i].changes, all.calls);
        pdr_value_free(a);
        pdr_value_free(b);
    }
}

TEST_OOM(value_diff, reports_that_memory_ran_out)
{
    pdr_value *a = json("{\"x\":[1,[2,3],{\"id\":1,\"a\":[\"\\u0061\"]}],"
                        "\"\\u0062\":1,\"c\":2,\"y\":[[[1]],2]}");
    pdr_value *b = json("{\"x\":[[2,4],{\"id\":1,\"a\":[5,6]},7],\"c\":2,"
                        "\"d\":1,\"b\":3,\"y\":[[[3]],2]}");
    struct count count = {.stop_at = 0};

    if (a != NULL && b != NULL) {
        pdr_rc rc = pdr_value_diff(a, b, NULL, count_changes, &count);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        if (rc == PDR_OK)
            ASSERT_SIZE(9, count.calls);
    }
    pdr_value_free(a);
    pdr_value_free(b);
}
