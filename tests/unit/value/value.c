/* Kinds, typed reading, look-ups, iteration, counting of owners. */
#include "values.h"

#include "core.h"

TEST(value_kind, is_told_for_each_kind)
{
    static const struct {
        const char *json;
        pdr_kind kind;
        size_t count;
        const char *name;
    } rows[] = {{"null", PDR_NULL, 0, "null"},
                {"true", PDR_BOOL, 0, "boolean"},
                {"-1.5e3", PDR_NUMBER, 0, "number"},
                {"\"x\"", PDR_STRING, 0, "string"},
                {"[]", PDR_ARRAY, 0, "array"},
                {"[1,[2]]", PDR_ARRAY, 2, "array"},
                {"{}", PDR_OBJECT, 0, "object"},
                {"{\"a\":1,\"a\":2}", PDR_OBJECT, 2, "object"}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *v = value_of(rows[i].json);
        ASSERT_INT(rows[i].kind, pdr_value_kind(v));
        ASSERT_SIZE(rows[i].count, pdr_value_count(v));
        ASSERT_STR(rows[i].name, pdr_kind_name(pdr_value_kind(v)));
        pdr__value_check(v);
        pdr_value_free(v);
    }
    ASSERT_STR("?", pdr_kind_name((pdr_kind)99));
    ASSERT_SIZE(0, pdr_value_count(NULL));
}

TEST(value_get, gives_the_last_of_several_members)
{
    pdr_value *v = value_of("{\"a\":1,\"b\":2,\"a\":3,\"\":4}");

    ASSERT_JSON("3", pdr_value_get_c(v, "a"));
    ASSERT_JSON("4", pdr_value_get_c(v, ""));
    ASSERT(pdr_value_get_c(v, "c") == NULL);
    ASSERT(pdr_value_get_c(pdr_value_get_c(v, "a"), "a") == NULL);
    ASSERT(pdr_value_get_c(NULL, "a") == NULL);
    pdr_value_free(v);
}

TEST(value_get, finds_names_however_they_are_escaped)
{
    pdr_value *v = value_of("{\"\\u0061b\":1,\"\\ud800\":2,\"\\u0000\":3,"
                            "\"\\ud83d\\ude00\":4,\"a/b\":5,\"x\\/y\":6}");

    ASSERT_JSON("1", pdr_value_get_c(v, "ab"));
    ASSERT_JSON("2", pdr_value_get_c(v, "\xED\xA0\x80"));
    ASSERT_JSON("3", pdr_value_get(v, pdr_str_n("\0", 1)));
    ASSERT_JSON("4", pdr_value_get_c(v, "\xF0\x9F\x98\x80"));
    ASSERT_JSON("5", pdr_value_get_c(v, "a/b"));
    ASSERT_JSON("6", pdr_value_get_c(v, "x/y"));
    ASSERT(pdr_value_get_c(v, "a") == NULL);
    ASSERT(pdr_value_get_c(v, "abc") == NULL);
    pdr_value_free(v);
}

TEST(value_at, gives_elements_and_nothing_beyond)
{
    pdr_value *v = value_of("[10,[1,[2]],{\"a\":[3]},\"x\"]");

    ASSERT_JSON("10", pdr_value_at(v, 0));
    ASSERT_JSON("[1,[2]]", pdr_value_at(v, 1));
    ASSERT_JSON("{\"a\":[3]}", pdr_value_at(v, 2));
    ASSERT_JSON("\"x\"", pdr_value_at(v, 3));
    ASSERT(pdr_value_at(v, 4) == NULL);
    ASSERT(pdr_value_at(pdr_value_at(v, 0), 0) == NULL);
    ASSERT(pdr_value_at(pdr_value_at(v, 2), 0) == NULL);
    pdr_value_free(v);
}

TEST(iter, goes_over_members_in_document_order)
{
    pdr_value *v = value_of("{\"b\":{\"x\":[1]},\"a\":[],\"b\":null}");
    pdr_iter it;

    pdr_iter_init(&it, v);
    ASSERT(pdr_iter_next(&it) && it.index == 0);
    ASSERT(pdr_value_text_is(it.name, pdr_str_c("b")));
    ASSERT_JSON("{\"x\":[1]}", it.value);
    ASSERT(pdr_iter_next(&it) && it.index == 1);
    ASSERT_JSON("[]", it.value);
    ASSERT(pdr_iter_next(&it) && it.index == 2);
    ASSERT_JSON("null", it.value);
    ASSERT(!pdr_iter_next(&it));
    ASSERT(!pdr_iter_next(&it));
    pdr_iter_init(&it, pdr_value_get_c(v, "b"));
    ASSERT(!pdr_iter_next(&it));
    pdr_iter_init(&it, NULL);
    ASSERT(!pdr_iter_next(&it));
    pdr_value_free(v);
}

TEST(value_bool, reads_booleans_only)
{
    pdr_value *v = value_of("[true,false,0]");
    pdr_err err = PDR_ERR_INIT;
    bool truth = false;

    ASSERT_RC(PDR_OK, pdr_value_bool(&truth, pdr_value_at(v, 0), &err));
    ASSERT(truth);
    ASSERT_RC(PDR_OK, pdr_value_bool(&truth, pdr_value_at(v, 1), &err));
    ASSERT(!truth);
    ASSERT_RC(PDR_EINVALID, pdr_value_bool(&truth, pdr_value_at(v, 2), &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_STR("expected a boolean, found number", err.message);
    pdr_value_free(v);
}

TEST(value_number, reads_exact_integers_and_doubles)
{
    pdr_value *v = value_of("[-9223372036854775808,18446744073709551615,1e2,"
                            "1.5,1e400,\"1\",100000000000000000000,-0]");
    pdr_err err = PDR_ERR_INIT;
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;

    ASSERT_RC(PDR_OK, pdr_value_int64(&i, pdr_value_at(v, 0), &err));
    ASSERT(i == INT64_MIN);
    ASSERT_RC(PDR_OK, pdr_value_uint64(&u, pdr_value_at(v, 1), &err));
    ASSERT(u == UINT64_MAX);
    ASSERT_RC(PDR_EINVALID, pdr_value_int64(&i, pdr_value_at(v, 1), &err));
    ASSERT_STR("number_range", err.reason);
    ASSERT_RC(PDR_OK, pdr_value_int64(&i, pdr_value_at(v, 2), &err));
    ASSERT_INT(100, i);
    ASSERT_RC(PDR_EINVALID, pdr_value_int64(&i, pdr_value_at(v, 3), &err));
    ASSERT_STR("not_integer", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_value_uint64(&u, pdr_value_at(v, 0), &err));
    ASSERT_STR("number_range", err.reason);
    ASSERT_RC(PDR_OK, pdr_value_double(&d, pdr_value_at(v, 3), &err));
    ASSERT(d == 1.5);
    ASSERT_RC(PDR_EINVALID, pdr_value_double(&d, pdr_value_at(v, 4), &err));
    ASSERT_STR("number_range", err.reason);
    for (size_t k = 0; k < 3; k++) {
        const pdr_value *s = pdr_value_at(v, 5);
        pdr_rc rc = k == 0   ? pdr_value_int64(&i, s, &err)
                    : k == 1 ? pdr_value_uint64(&u, s, &err)
                             : pdr_value_double(&d, s, &err);
        ASSERT_RC(PDR_EINVALID, rc);
        ASSERT_STR("wrong_kind", err.reason);
    }
    ASSERT_RC(PDR_OK, pdr_value_int64(&i, pdr_value_at(v, 7), &err));
    ASSERT_INT(0, i);
    pdr_value_free(v);
}

TEST(value_text, decodes_escapes_and_refuses_half_a_pair)
{
    pdr_value *v = value_of("[\"plain\",\"a\\u0000\\n\\\"\\/\\u20ac\","
                            "\"\\ud83d\\ude00\",\"x\\udc00\",1]");
    pdr_buf scratch = PDR_BUF_INIT(100);
    pdr_err err = PDR_ERR_INIT;
    pdr_str text;

    ASSERT_RC(PDR_OK, pdr_value_text(&text, pdr_value_at(v, 0), NULL, &err));
    ASSERT_TEXT("plain", text);
    ASSERT_RC(PDR_OK,
              pdr_value_text(&text, pdr_value_at(v, 1), &scratch, &err));
    ASSERT_BYTES(pdr_str_n("a\0\n\"/\xE2\x82\xAC", 8), text);
    ASSERT_RC(PDR_OK,
              pdr_value_text(&text, pdr_value_at(v, 2), &scratch, &err));
    ASSERT_TEXT("\xF0\x9F\x98\x80", text);
    ASSERT_RC(PDR_EINVALID,
              pdr_value_text(&text, pdr_value_at(v, 3), &scratch, &err));
    ASSERT_STR("lone_surrogate", err.reason);
    ASSERT(pdr_value_has_lone_surrogate(pdr_value_at(v, 3)));
    ASSERT(!pdr_value_has_lone_surrogate(pdr_value_at(v, 2)));
    ASSERT(!pdr_value_has_lone_surrogate(NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_value_text(&text, pdr_value_at(v, 4), &scratch, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EMISUSE,
              pdr_value_text(&text, pdr_value_at(v, 1), NULL, &err));
    ASSERT_STR("scratch_needed", err.reason);
    scratch.max = 3;
    pdr_buf_dispose(&scratch);
    ASSERT_RC(PDR_ELIMIT,
              pdr_value_text(&text, pdr_value_at(v, 1), &scratch, &err));
    pdr_buf_dispose(&scratch);
    pdr_value_free(v);
}

TEST(value_text_is, compares_without_memory)
{
    pdr_value *v = value_of("[\"ab\",\"\\u0061\\u0062\",\"\\ud800\",5]");
    size_t before = test_allocations();

    ASSERT(pdr_value_text_is(pdr_value_at(v, 0), pdr_str_c("ab")));
    ASSERT(pdr_value_text_is(pdr_value_at(v, 1), pdr_str_c("ab")));
    ASSERT(!pdr_value_text_is(pdr_value_at(v, 1), pdr_str_c("a")));
    ASSERT(!pdr_value_text_is(pdr_value_at(v, 1), pdr_str_c("abc")));
    ASSERT(!pdr_value_text_is(pdr_value_at(v, 1), pdr_str_c("ac")));
    ASSERT(pdr_value_text_is(pdr_value_at(v, 2), pdr_str_c("\xED\xA0\x80")));
    ASSERT(!pdr_value_text_is(pdr_value_at(v, 3), pdr_str_c("5")));
    ASSERT(!pdr_value_text_is(NULL, pdr_str_c("")));
    ASSERT_SIZE(before, test_allocations());
    pdr_value_free(v);
}

TEST(value_raw, is_the_text_as_it_was_read)
{
    pdr_value *v = value_of(" {\"a\" : [1 , 2.50]} ");
    pdr_value *one = number_of(1);
    pdr_str raw;

    ASSERT(pdr_value_raw(&raw, v));
    ASSERT_TEXT("{\"a\" : [1 , 2.50]}", raw);
    ASSERT_INT(1, pdr_value_offset(v));
    ASSERT_INT(8, pdr_value_offset(pdr_value_get_c(v, "a")));
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("b"), one, NULL));
    ASSERT(!pdr_value_raw(&raw, v));
    ASSERT_SIZE(0, raw.len);
    ASSERT_INT(-1, pdr_value_offset(v));
    ASSERT(pdr_value_raw(&raw, pdr_value_get_c(v, "a")));
    ASSERT_TEXT("[1 , 2.50]", raw);
    pdr_value_free(one);
    pdr_value_free(v);
}

TEST(value_ref, lets_a_part_outlive_the_whole)
{
    pdr_value *v = value_of("{\"a\":{\"b\":[1,2,3]}}");
    pdr_value *part =
        pdr_value_ref(pdr_value_get_c(pdr_value_get_c(v, "a"), "b"));

    pdr_value_free(v);
    ASSERT_JSON("[1,2,3]", part);
    ASSERT_RC(PDR_OK, pdr_value_compact(&part, NULL));
    ASSERT_JSON("[1,2,3]", part);
    pdr_value_free(part);
    ASSERT(pdr_value_ref(NULL) == NULL);
    pdr_value_free(NULL);
}

TEST(value_memory, counts_shared_parts_once_and_compact_frees_them)
{
    pdr_value *v =
        value_of("{\"big\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "\",\"small\":1}");
    pdr_value *one = number_of(7);
    size_t whole = pdr_value_memory(v);

    ASSERT(whole > 400);
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("small"), one, NULL));
    ASSERT(pdr_value_memory(v) > whole);
    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("big"), NULL));
    ASSERT(pdr_value_memory(v) > whole); /* the base is still there */
    ASSERT_RC(PDR_OK, pdr_value_compact(&v, NULL));
    ASSERT(pdr_value_memory(v) < 200);
    ASSERT_JSON("{\"small\":7}", v);
    ASSERT_SIZE(0, pdr_value_memory(NULL));
    pdr_value *nothing = pdr_value_new_null();
    ASSERT_SIZE(0, pdr_value_memory(nothing));
    pdr_value_free(nothing);
    pdr_value_free(one);
    pdr_value_free(v);
}

TEST(value_new, makes_each_scalar)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *v = NULL;

    ASSERT_RC(PDR_OK, pdr_value_new_string(&v, pdr_str_c("a\"\n\x01/é"), &err));
    ASSERT_JSON("\"a\\\"\\n\\u0001/é\"", v);
    pdr_value_free(v);
    ASSERT_RC(PDR_EINVALID, pdr_value_new_string(&v, pdr_str_c("\xFF"), &err));
    ASSERT_STR("bad_utf8", err.reason);
    ASSERT(v == NULL);
    ASSERT_RC(PDR_OK, pdr_value_new_number(&v, pdr_str_c("1.10"), &err));
    ASSERT_JSON("1.10", v);
    pdr_value_free(v);
    static const char *const bad[] = {"", "01", "1.", "NaN", "1 ", "-", "+1"};
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        ASSERT_RC(PDR_EINVALID,
                  pdr_value_new_number(&v, pdr_str_c(bad[i]), &err));
        ASSERT_STR("bad_number", err.reason);
    }
    ASSERT_RC(PDR_OK, pdr_value_new_int64(&v, INT64_MIN, &err));
    ASSERT_JSON("-9223372036854775808", v);
    pdr_value_free(v);
    ASSERT_RC(PDR_OK, pdr_value_new_double(&v, 0.1, &err));
    ASSERT_JSON("0.1", v);
    pdr_value_free(v);
    ASSERT_RC(PDR_EINVALID, pdr_value_new_double(&v, 1e308 * 10, &err));
    ASSERT_STR("not_finite", err.reason);
    v = pdr_value_new_bool(true);
    ASSERT_JSON("true", v);
    pdr_value_free(v);
    v = pdr_value_new_bool(false);
    ASSERT_JSON("false", v);
    pdr_value_free(v);
    v = pdr_value_new_array();
    ASSERT_RC(PDR_OK, pdr_value_append(&v, v, NULL));
    ASSERT_JSON("[[]]", v);
    pdr_value_free(v);
    v = pdr_value_new_object();
    ASSERT_JSON("{}", v);
    pdr_value_free(v);
}

/* The text of {"k0":0,"k1":1,…} or, with `same`, of equal names. */
static char *many_members(size_t count, bool same)
{
    char *json = malloc(count * 24 + 3), *p = json;

    *p++ = '{';
    for (size_t i = 0; i < count; i++)
        p += snprintf(p, 64, "%s\"k%zu\":%zu", i > 0 ? "," : "", same ? 0 : i,
                      i);
    *p++ = '}';
    *p = '\0';
    return json;
}

TEST(value_get, in_a_million_members_takes_one_index)
{
    enum { COUNT = 1000000 };
    char *json = many_members(COUNT, false), name[24];
    pdr_value *v = value_of(json);
    size_t before = test_allocations();

    for (size_t i = 0; i < COUNT; i++) {
        int64_t number = -1;
        snprintf(name, sizeof(name), "k%zu", i);
        ASSERT_RC(PDR_OK,
                  pdr_value_int64(&number, pdr_value_get_c(v, name), NULL));
        ASSERT_INT(i, number);
    }
    ASSERT(pdr_value_get_c(v, "k") == NULL);
    ASSERT_SIZE(2, test_allocations() - before);
    pdr_value_free(v);
    free(json);
}

TEST(value_get, among_a_million_equal_names_gives_the_last)
{
    enum { COUNT = 1000000 };
    char *json = many_members(COUNT, true);
    pdr_value *v = value_of(json), *one = number_of(-5);

    for (int i = 0; i < 1000; i++) {
        ASSERT_JSON("999999", pdr_value_get_c(v, "k0"));
        ASSERT(pdr_value_get_c(v, "k1") == NULL);
    }
    for (int i = 0; i < 1000; i++)
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("k0"), one, NULL));
    ASSERT_JSON("-5", pdr_value_get_c(v, "k0"));
    ASSERT_SIZE(COUNT, pdr_value_count(v));
    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("k0"), NULL));
    ASSERT_JSON("{}", v);
    pdr_value_free(one);
    pdr_value_free(v);
    free(json);
}

TEST(value_at, in_a_million_arrays_takes_one_index)
{
    enum { COUNT = 1000000 };
    char *json = malloc(COUNT * 12), *p = json;
    int64_t sum = 0;

    *p++ = '[';
    for (size_t i = 0; i < COUNT; i++)
        p += snprintf(p, 64, "%s[%zu]", i > 0 ? "," : "", i);
    memcpy(p, "]", sizeof("]"));
    pdr_value *v = value_of(json);
    size_t before = test_allocations();
    for (size_t i = COUNT; i-- > 0;) {
        int64_t number = 0;
        ASSERT_RC(PDR_OK,
                  pdr_value_int64(&number, pdr_value_at(pdr_value_at(v, i), 0),
                                  NULL));
        sum += number;
    }
    ASSERT_INT(INT64_C(499999500000), sum);
    ASSERT_SIZE(2, test_allocations() - before);
    ASSERT(pdr_value_memory(v) > COUNT * 16);
    pdr_value_free(v);
    free(json);
}

TEST_OOM(value_get, works_without_memory_for_an_index)
{
    static char json[2000];
    if (json[0] == '\0') {
        char *text = many_members(40, false);
        snprintf(json, sizeof(json),
                 "[%s,[0],[1],[2],[3],[4],[5],[6],[7],[8],"
                 "[9],[10],[11],[12],[13],[14],[15]]",
                 text);
        free(text);
    }
    pdr_value *v = NULL;
    pdr_rc rc = pdr_json_read(&v, pdr_str_c(json), NULL, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc == PDR_OK) {
        ASSERT(pdr_value_text_is(pdr_value_at(v, 0), pdr_str_c("")) == false);
        const pdr_value *object = pdr_value_at(v, 0);
        const pdr_value *found = pdr_value_get_c(object, "k39");
        ASSERT(found != NULL && pdr_value_kind(found) == PDR_NUMBER);
        ASSERT(pdr_value_get_c(object, "k40") == NULL);
        ASSERT(pdr_value_kind(pdr_value_at(v, 12)) == PDR_ARRAY);
        (void)pdr_value_memory(v);
    }
    pdr_value_free(v);
}

TEST_OOM(value_new, cleans_up_after_any_failed_allocation)
{
    pdr_value *v[3] = {NULL, NULL, NULL};
    pdr_rc rc = pdr_value_new_string(&v[0], pdr_str_c("a\nb"), NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((v[0] != NULL) == (rc == PDR_OK));
    rc = pdr_value_new_int64(&v[1], 5, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    rc = pdr_value_new_double(&v[2], 5, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    for (size_t i = 0; i < 3; i++)
        pdr_value_free(v[i]);
}
