/*
 * Changing values: against a plain model, under sharing, at the limits.
 */
#include "values.h"

#include "core.h"

/* --- tables -------------------------------------------------------------- */

TEST(value_set, replaces_the_last_of_its_name_or_adds)
{
    pdr_value *v = value_of("{\"a\":1,\"b\":2,\"a\":3}"), *nine = number_of(9);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("a"), nine, &err));
    ASSERT_JSON("{\"a\":1,\"b\":2,\"a\":9}", v);
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("c\n"), nine, &err));
    ASSERT_JSON("{\"a\":1,\"b\":2,\"a\":9,\"c\\n\":9}", v);
    ASSERT_RC(PDR_EINVALID, pdr_value_set(&v, pdr_str_c("\xFF"), nine, &err));
    ASSERT_STR("bad_utf8", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_value_set(&nine, pdr_str_c("a"), v, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_STR("expected an object, found number", err.message);
    ASSERT_JSON("{\"a\":1,\"b\":2,\"a\":9,\"c\\n\":9}", v);
    pdr_value_free(nine);
    pdr_value_free(v);
}

/* Add all members of `from`. */
static pdr_rc add_all(pdr_value **io, const pdr_value *from, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, from);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr__value_add_member(io, it.name, it.value, err);
    return rc;
}

TEST(value_add_member, keeps_every_name_as_it_is_spelled)
{
    pdr_value *v = value_of("{\"a\":1}"), *nine = number_of(9);
    pdr_value *from = value_of("{\"\\u0061\":[ 2 ],\"\\ud800\":3,\"a\":4}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, add_all(&v, from, &err));
    pdr_value_free(from);
    ASSERT_JSON("{\"a\":1,\"\\u0061\":[2],\"\\ud800\":3,\"a\":4}", v);
    ASSERT_JSON("4", pdr_value_get_c(v, "a"));
    ASSERT_RC(PDR_EINVALID, add_all(&nine, v, &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_add_member, of_its_own_members_makes_no_circle)
{
    pdr_value *v = value_of("{\"\\u0061\":{\"b\":1}}");
    pdr_value *before = pdr_value_ref(v);

    ASSERT_RC(PDR_OK, add_all(&v, before, NULL));
    ASSERT_JSON("{\"\\u0061\":{\"b\":1},\"\\u0061\":{\"b\":1}}", v);
    pdr_value_free(before);
    pdr_value_free(v);
}

TEST(value_add_member, is_found_in_a_large_object)
{
    pdr_value *v = pdr_value_new_object(), *from = NULL;
    char text[64];

    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof(text), "{\"n%d\":%d}", i / 2, i);
        from = value_of(text);
        ASSERT_RC(PDR_OK, add_all(&v, from, NULL));
        pdr_value_free(from);
        (void)snprintf(text, sizeof(text), "n%d", i / 2);
        int64_t number = -1;
        ASSERT_RC(PDR_OK,
                  pdr_value_int64(&number, pdr_value_get_c(v, text), NULL));
        ASSERT_INT(i, number);
    }
    ASSERT_SIZE(1000, pdr_value_count(v));
    pdr_value_free(v);
}

TEST_OOM(value_add_member, leaves_the_value_as_it_was_without_memory)
{
    pdr_value *v = NULL, *from = NULL;
    pdr_rc rc = pdr_json_read(&v, pdr_str_c("{\"a\":1}"), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_json_read(&from, pdr_str_c("{\"\\u0061\":[2]}"), NULL, NULL);
    if (rc == PDR_OK) {
        rc = add_all(&v, from, NULL);
        ASSERT_SIZE(rc == PDR_OK ? 2 : 1, pdr_value_count(v));
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(from);
    pdr_value_free(v);
}

static pdr_kind kind_of_first(const pdr_value *object)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    ASSERT(pdr_iter_next(&it));
    return pdr_value_kind(it.value);
}

TEST(value_set_member, goes_by_place)
{
    pdr_value *v = value_of("{\"a\":1, \"b\":2,\"\\ud800\":3,\"a\":4}");
    pdr_value *nine = number_of(9), *list = value_of("[1]");
    pdr_value *before = pdr_value_ref(v);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__value_set_member(&v, 0, nine, NULL));
    ASSERT_JSON("{\"a\":9,\"b\":2,\"\\ud800\":3,\"a\":4}", v);
    ASSERT_JSON("{\"a\":1,\"b\":2,\"\\ud800\":3,\"a\":4}", before);
    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("b"), NULL));
    ASSERT_RC(PDR_OK, pdr__value_set_member(&v, 1, before, NULL));
    ASSERT_RC(PDR_OK, pdr__value_set_member(&v, 2, v, NULL));
    ASSERT_JSON("{\"a\":1,\"b\":2,\"\\ud800\":3,\"a\":4}",
                pdr_value_get(v, pdr_str_c("\xed\xa0\x80")));
    ASSERT_JSON("4", pdr_value_get_c(pdr_value_get_c(v, "a"), "a"));
    ASSERT_RC(PDR_EINVALID, pdr__value_set_member(&list, 0, nine, &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_value_free(before);
    pdr_value_free(list);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST_OOM(value_set_member, leaves_the_value_as_it_was_without_memory)
{
    pdr_value *v = NULL;
    pdr_rc rc = pdr_json_read(&v, pdr_str_c("{\"a\":1,\"a\":2}"), NULL, NULL);

    if (rc == PDR_OK) {
        rc = pdr__value_set_member(&v, 0, pdr_value_new_null(), NULL);
        ASSERT_INT(rc == PDR_OK ? PDR_NULL : PDR_NUMBER, kind_of_first(v));
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(v);
}

TEST(value_remove, removes_all_of_a_name)
{
    pdr_value *v = value_of("{\"a\":1,\"b\":2,\"\\u0061\":3}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("a"), &err));
    ASSERT_JSON("{\"b\":2}", v);
    ASSERT_RC(PDR_ENOTFOUND, pdr_value_remove(&v, pdr_str_c("a"), &err));
    ASSERT_STR("no_member", err.reason);
    ASSERT_STR("no member 'a'", err.message);
    pdr_value_free(v);
    v = value_of("[]");
    ASSERT_RC(PDR_EINVALID, pdr_value_remove(&v, pdr_str_c("a"), &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_value_free(v);
}

TEST(value_insert, refuses_what_is_not_there)
{
    pdr_value *v = value_of("[1,2]"), *nine = number_of(9);
    pdr_value *object = value_of("{}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND, pdr_value_insert(&v, 3, nine, &err));
    ASSERT_STR("no_element", err.reason);
    ASSERT_STR("no element 3 in an array of 2", err.message);
    ASSERT_RC(PDR_ENOTFOUND, pdr_value_replace(&v, 2, nine, &err));
    ASSERT_RC(PDR_ENOTFOUND, pdr_value_erase(&v, 2, &err));
    ASSERT_JSON("[1,2]", v);
    ASSERT_RC(PDR_EINVALID, pdr_value_append(&object, nine, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_value_insert(&object, 0, nine, &err));
    ASSERT_RC(PDR_EINVALID, pdr_value_replace(&object, 0, nine, &err));
    ASSERT_RC(PDR_EINVALID, pdr_value_erase(&object, 0, &err));
    ASSERT_RC(PDR_EINVALID, pdr_value_append(&nine, v, &err));
    pdr_value_free(object);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_set, of_a_part_of_itself_makes_no_circle)
{
    pdr_value *v = value_of("{\"a\":{\"b\":1}}");

    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("whole"), v, NULL));
    ASSERT_JSON("{\"a\":{\"b\":1},\"whole\":{\"a\":{\"b\":1}}}", v);
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("whole"), v, NULL));
    ASSERT_JSON("{\"a\":{\"b\":1},\"whole\":{\"a\":{\"b\":1},"
                "\"whole\":{\"a\":{\"b\":1}}}}",
                v);
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("part"),
                                    pdr_value_get_c(v, "a"), NULL));
    ASSERT_JSON("{\"b\":1}", pdr_value_get_c(v, "part"));
    pdr_value_free(v);
}

TEST(value_edit, keeps_white_space_of_what_did_not_change)
{
    pdr_value *v = value_of("{ \"a\" : [ 1 ,\n 2 ] ,\t\"b\" :2 }");
    pdr_value *nine = number_of(9), *list = NULL;

    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("b"), nine, NULL));
    ASSERT_AS_READ("{ \"a\" : [ 1 ,\n 2 ] ,\t\"b\" :9 }", v);
    list = pdr_value_ref(pdr_value_get_c(v, "a"));
    ASSERT_RC(PDR_OK, pdr_value_replace(&list, 0, nine, NULL));
    ASSERT_AS_READ("[ 9 ,\n 2 ]", list);
    ASSERT_RC(PDR_OK, pdr_value_append(&list, nine, NULL));
    ASSERT_AS_READ("[ 9 ,\n 2 ,\n 9 ]", list);
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("a"), list, NULL));
    ASSERT_AS_READ("{ \"a\" : [ 9 ,\n 2 ,\n 9 ] ,\t\"b\" :9 }", v);
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("c"), nine, NULL));
    ASSERT_AS_READ("{ \"a\" : [ 9 ,\n 2 ,\n 9 ] ,\t\"b\" :9 ,\t\"c\" : 9 }", v);
    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("a"), NULL));
    ASSERT_AS_READ("{ \"b\" :9 ,\t\"c\" : 9 }", v);
    pdr_value_free(list);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_edit, takes_a_moved_part_without_its_old_surroundings)
{
    pdr_value *v = value_of("[ {\"x\" :   5 } ,  7 ]");
    const pdr_value *five = pdr_value_get_c(pdr_value_at(v, 0), "x");

    ASSERT_RC(PDR_OK, pdr_value_replace(&v, 1, five, NULL));
    ASSERT_AS_READ("[ {\"x\" :   5 } ,  5 ]", v);
    ASSERT_RC(PDR_OK, pdr_value_append(&v, pdr_value_at(v, 0), NULL));
    ASSERT_AS_READ("[ {\"x\" :   5 } ,  5 ,  {\"x\":5} ]", v);
    pdr_value_free(v);
}

TEST(value_edit, fills_and_empties_containers)
{
    pdr_value *v = value_of("[ ]"), *o = value_of("{ }"), *one = number_of(1);

    ASSERT_RC(PDR_OK, pdr_value_append(&v, one, NULL));
    ASSERT_AS_READ("[1]", v);
    ASSERT_RC(PDR_OK, pdr_value_erase(&v, 0, NULL));
    ASSERT_AS_READ("[]", v);
    ASSERT_RC(PDR_OK, pdr_value_insert(&v, 0, one, NULL));
    ASSERT_AS_READ("[1]", v);
    ASSERT_RC(PDR_OK, pdr_value_set(&o, pdr_str_c("a"), one, NULL));
    ASSERT_AS_READ("{\"a\":1}", o);
    ASSERT_RC(PDR_OK, pdr_value_remove(&o, pdr_str_c("a"), NULL));
    ASSERT_AS_READ("{}", o);
    pdr_value_free(one);
    pdr_value_free(o);
    pdr_value_free(v);
}

TEST(value_edit, elsewhere_after_an_erase_brings_nothing_back)
{
    static const char *const bases[] = {"[1,2,3,4]", "[1, 2, 3, 4]"};

    for (size_t i = 0; i < PDR_COUNT(bases); i++) {
        pdr_value *v = value_of(bases[i]), *nine = number_of(9);
        ASSERT_RC(PDR_OK, pdr_value_erase(&v, 3, NULL));
        ASSERT_RC(PDR_OK, pdr_value_replace(&v, 0, nine, NULL));
        ASSERT_JSON("[9,2,3]", v);
        ASSERT_AS_READ(i == 0 ? "[9,2,3]" : "[9, 2, 3]", v);
        ASSERT_JSON("3", pdr_value_at(v, 2));
        ASSERT_RC(PDR_OK, pdr_value_erase(&v, 2, NULL));
        ASSERT_RC(PDR_OK, pdr_value_insert(&v, 1, nine, NULL));
        ASSERT_JSON("[9,9,2]", v);
        pdr__value_check(v);
        pdr_value_free(nine);
        pdr_value_free(v);
    }
}

TEST(value_edit, of_every_element_keeps_the_gaps_between_them)
{
    pdr_value *v = value_of("[ {\"a\":1},\n\n {\"a\":2},   {\"a\":3} ]");
    pdr_value *nine = number_of(9);

    for (char i = '0'; i < '3'; i++) {
        char pointer[] = {'/', i, '/', 'a', '\0'};
        ASSERT_RC(PDR_OK, pdr_pointer_set(&v, pdr_str_c(pointer), nine, NULL));
    }
    ASSERT_AS_READ("[ {\"a\":9},\n\n {\"a\":9},   {\"a\":9} ]", v);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_append, repeats_no_endless_white_space)
{
    static char json[5000];
    pdr_value *v = NULL, *nine = number_of(9);
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    memset(json, ' ', sizeof(json));
    memcpy(json, "[1,", 3);
    memcpy(json + 4990, "2]", 3);
    v = value_of(json);
    for (int i = 0; i < 100; i++)
        ASSERT_RC(PDR_OK, pdr_value_append(&v, nine, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&out, v, &opts, NULL));
    ASSERT_SIZE(4992 + 200, out.len);
    pdr_buf_dispose(&out);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_set, and_remove_of_one_name_in_a_large_object_takes_steps_not_walks)
{
    pdr_value *v = value_of("{}"), *nine = number_of(9);
    char name[16];

    for (int i = 0; i < 50000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c(name), nine, NULL));
    }
    for (int i = 0; i < 50000; i++) {
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("x"), nine, NULL));
        ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("x"), NULL));
    }
    ASSERT_SIZE(50000, pdr_value_count(v));
    pdr__value_check(v);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_set, of_a_new_name_is_not_seen_by_who_holds_the_old_value)
{
    pdr_value *v = value_of("{}"), *nine = number_of(9);
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c(name), nine, NULL));
    }
    pdr_value *old = pdr_value_ref(v);
    ASSERT(pdr_value_get_c(old, "n39") != NULL); /* the index is there */
    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("n7"), NULL));
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("new"), nine, NULL));
    ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("n7"), nine, NULL));
    ASSERT(pdr_value_get_c(old, "new") == NULL);
    ASSERT(pdr_value_get_c(old, "n7") != NULL);
    ASSERT_SIZE(40, pdr_value_count(old));
    ASSERT_SIZE(41, pdr_value_count(v));
    ASSERT(pdr_value_get_c(v, "n7") != NULL && pdr_value_get_c(v, "new"));
    pdr_value_free(old);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_remove, of_all_members_is_not_slowed_by_one_duplicate)
{
    enum { COUNT = 50000 };
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *v = NULL;
    char name[16];

    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "{\"d\":1,\"d\":2"));
    for (int i = 0; i < COUNT; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, ",\"n%d\":1", i));
    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "}"));
    ASSERT_RC(PDR_OK, pdr_json_read_take(&v, &text, NULL, NULL));
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c(name), NULL));
    }
    ASSERT_JSON("{\"d\":1,\"d\":2}", v);
    ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("d"), NULL));
    ASSERT_JSON("{}", v);
    pdr_value_free(v);
}

TEST(value_set, refuses_a_bad_name_before_anything_changes)
{
    pdr_value *v = value_of("{\"a\": 1}"), *nine = number_of(9);
    pdr_value *before = v;
    pdr_str raw;

    ASSERT_RC(PDR_EINVALID, pdr_value_set(&v, pdr_str_c("\xFF"), nine, NULL));
    ASSERT(v == before && pdr_value_raw(&raw, v));
    pdr_value_free(nine);
    pdr_value_free(v);
}

/* --- depth --------------------------------------------------------------- */

TEST(value_edit, has_a_limit_of_levels)
{
    pdr_value *v = pdr_value_new_array();
    pdr_err err = PDR_ERR_INIT;

    for (int level = 2; level <= PDR_MAX_DEPTH; level++) {
        pdr_value *outer = pdr_value_new_array();
        ASSERT_RC(PDR_OK, pdr_value_append(&outer, v, &err));
        pdr_value_free(v);
        v = outer;
    }
    pdr_value *array = pdr_value_new_array(), *object = pdr_value_new_object();
    ASSERT_RC(PDR_ELIMIT, pdr_value_append(&array, v, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_RC(PDR_ELIMIT, pdr_value_set(&object, pdr_str_c("a"), v, &err));
    pdr_value *name = value_of("\"a\"");
    ASSERT_RC(PDR_ELIMIT, pdr__value_add_member(&object, name, v, &err));
    pdr_value_free(name);
    ASSERT_JSON("[]", array);
    ASSERT_RC(PDR_OK, pdr_value_compact(&v, &err));
    ASSERT_RC(PDR_ELIMIT, pdr_value_append(&array, v, &err));
    ASSERT_RC(PDR_OK, pdr_value_append(&array, pdr_value_at(v, 0), &err));
    ASSERT(same_json(v, array));
    pdr_value_free(object);
    pdr_value_free(array);
    pdr_value_free(v);
}

/* --- against a model ----------------------------------------------------- */

static uint32_t next_random(uint64_t *state)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

enum { MODEL_MAX = 3000, HELD = 4 };

struct model {
    int item[MODEL_MAX];
    size_t count;
};

static void assert_array(const struct model *m, const pdr_value *v)
{
    pdr_iter it;

    ASSERT_SIZE(m->count, pdr_value_count(v));
    pdr_iter_init(&it, v);
    while (pdr_iter_next(&it)) {
        int64_t number = -1;
        ASSERT_RC(PDR_OK, pdr_value_int64(&number, it.value, NULL));
        ASSERT_INT(m->item[it.index], number);
    }
    for (size_t i = 0; i < m->count; i += 97) {
        int64_t number = -1;
        ASSERT_RC(PDR_OK, pdr_value_int64(&number, pdr_value_at(v, i), NULL));
        ASSERT_INT(m->item[i], number);
    }
}

static void edit_both(struct model *m, pdr_value **v, uint64_t *seed)
{
    uint32_t op = next_random(seed) % 10;
    size_t at = m->count > 0 ? next_random(seed) % m->count : 0;
    int n = (int)(next_random(seed) % 1000);
    pdr_value *item = number_of(n);

    if ((op < 5 && m->count < MODEL_MAX) || m->count == 0) {
        if (op < 2)
            at = m->count;
        ASSERT_RC(PDR_OK, pdr_value_insert(v, at, item, NULL));
        memmove(&m->item[at + 1], &m->item[at], (m->count - at) * sizeof(int));
        m->item[at] = n;
        m->count++;
    } else if (op < 7) {
        ASSERT_RC(PDR_OK, pdr_value_replace(v, at, item, NULL));
        m->item[at] = n;
    } else {
        ASSERT_RC(PDR_OK, pdr_value_erase(v, at, NULL));
        memmove(&m->item[at], &m->item[at + 1],
                (m->count - at - 1) * sizeof(int));
        m->count--;
    }
    pdr_value_free(item);
}

TEST(value_edit, of_arrays_does_what_a_plain_array_does_also_when_shared)
{
    static struct model now, held_model[HELD];
    pdr_value *held[HELD] = {NULL};

    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint64_t random = seed;
        pdr_value *v = value_of(seed % 2 ? "[]" : "[ 1, 2, 3 ]");
        now.count = seed % 2 ? 0 : 3;
        for (int i = 0; i < 3; i++)
            now.item[i] = i + 1;
        for (int step = 0; step < 6000; step++) {
            edit_both(&now, &v, &random);
            size_t slot = next_random(&random) % 200;
            if (slot < HELD) { /* hold this version for a while */
                pdr_value_free(held[slot]);
                held[slot] = pdr_value_ref(v);
                held_model[slot] = now;
            }
            if (step % 500 == 0)
                assert_array(&now, v);
        }
        assert_array(&now, v);
        for (size_t i = 0; i < HELD; i++) {
            if (held[i] != NULL)
                assert_array(&held_model[i], held[i]);
            pdr_value_free(held[i]);
            held[i] = NULL;
        }
        pdr__value_check(v);
        pdr_value_free(v);
    }
}

enum { NAMES = 600 };

/* An object as the value of each name, -1 if it is not there, and an order. */
struct members {
    int value[NAMES];
    size_t count;
};

static void assert_object(const struct members *m, const pdr_value *v)
{
    char name[16];

    ASSERT_SIZE(m->count, pdr_value_count(v));
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        const pdr_value *found = pdr_value_get_c(v, name);
        ASSERT((found != NULL) == (m->value[i] >= 0));
        if (found != NULL) {
            int64_t number = -1;
            ASSERT_RC(PDR_OK, pdr_value_int64(&number, found, NULL));
            ASSERT_INT(m->value[i], number);
        }
    }
}

TEST(value_edit, of_objects_does_what_a_plain_table_does_also_when_shared)
{
    static struct members now, held_model;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t random = seed;
        pdr_value *v = value_of("{}"), *held = NULL;
        int span = seed % 2 ? NAMES : 12;
        memset(now.value, -1, sizeof(now.value));
        now.count = 0;
        for (int step = 0; step < 8000; step++) {
            int i = (int)(next_random(&random) % (uint32_t)span);
            int n = (int)(next_random(&random) % 1000);
            char name[16];
            snprintf(name, sizeof(name), "n%d", i);
            if (next_random(&random) % 3 > 0) {
                pdr_value *item = number_of(n);
                ASSERT_RC(PDR_OK,
                          pdr_value_set(&v, pdr_str_c(name), item, NULL));
                now.count += now.value[i] < 0;
                now.value[i] = n;
                pdr_value_free(item);
            } else {
                ASSERT_RC(now.value[i] < 0 ? PDR_ENOTFOUND : PDR_OK,
                          pdr_value_remove(&v, pdr_str_c(name), NULL));
                now.count -= now.value[i] >= 0;
                now.value[i] = -1;
            }
            if (step % 777 == 0) {
                if (held != NULL)
                    assert_object(&held_model, held);
                pdr_value_free(held);
                held = pdr_value_ref(v);
                held_model = now;
                assert_object(&now, v);
            }
        }
        assert_object(&now, v);
        assert_object(&held_model, held);
        pdr_value_free(held);
        pdr_value_free(v);
    }
}

/* --- cost ---------------------------------------------------------------- */

static pdr_value *million(void)
{
    char *json = malloc(1000000 * 2 + 2);
    pdr_value *v = NULL;

    for (size_t i = 0; i < 1000000; i++)
        memcpy(json + 2 * i, i == 0 ? "[1" : ",1", 2);
    json[2000000] = ']';
    ASSERT_RC(PDR_OK, pdr_json_read(&v, pdr_str_n(json, 2000001), NULL, NULL));
    free(json);
    return v;
}

TEST(value_edit, ten_thousand_times_leaves_memory_below_twice_the_document)
{
    pdr_value *v = million(), *nine = number_of(9);
    size_t document = pdr_value_memory(v);
    uint64_t random = 7;

    test_reset_peak();
    size_t before = test_live_bytes();
    for (int i = 0; i < 10000; i++) {
        size_t at = next_random(&random) % 1000000;
        ASSERT_RC(PDR_OK, pdr_value_replace(&v, at, nine, NULL));
        ASSERT_RC(PDR_OK, pdr_value_insert(&v, at / 2, nine, NULL));
        ASSERT_RC(PDR_OK, pdr_value_erase(&v, at / 3, NULL));
    }
    ASSERT_SIZE(1000000, pdr_value_count(v));
    ASSERT(pdr_value_memory(v) < 2 * document);
    ASSERT(test_peak_bytes() < before + document);
    ASSERT_RC(PDR_OK, pdr_value_compact(&v, NULL));
    ASSERT(pdr_value_memory(v) <= document);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_append, to_a_shared_array_copies_no_more_than_a_chunk)
{
    pdr_value *v = million(), *nine = number_of(9), *old = NULL;

    for (int i = 0; i < 2000; i++) {
        pdr_value_free(old);
        old =
            pdr_value_ref(v); /* each version is held while the next is made */
        size_t before = test_live_bytes();
        ASSERT_RC(PDR_OK, pdr_value_append(&v, nine, NULL));
        ASSERT(test_live_bytes() - before < 10000);
        ASSERT_SIZE(1000000 + (size_t)i, pdr_value_count(old));
    }
    ASSERT_JSON("9", pdr_value_at(v, 1001999));
    pdr_value_free(old);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_set, in_a_large_shared_object_copies_no_more_than_a_chunk)
{
    enum { COUNT = 50000 };
    pdr_value *v = value_of("{}"), *nine = number_of(9), *old = NULL;
    char name[16];

    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c(name), nine, NULL));
    }
    for (int i = 0; i < COUNT; i += 25) {
        pdr_value_free(old);
        old =
            pdr_value_ref(v); /* each version is held while the next is made */
        size_t before = test_live_bytes();
        snprintf(name, sizeof(name), "n%d", i);
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c(name), nine, NULL));
        ASSERT(test_live_bytes() - before < 20000);
    }
    ASSERT_SIZE(COUNT, pdr_value_count(v));
    pdr_value_free(old);
    pdr_value_free(nine);
    pdr_value_free(v);
}

TEST(value_set, again_and_again_in_one_place_needs_no_more_memory)
{
    pdr_value *v = value_of("{\"a\":1,\"b\":2}");
    size_t after_first = 0;

    for (int i = 0; i < 10000; i++) {
        pdr_value *n = number_of(i % 10);
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("a"), n, NULL));
        if (i % 3 == 0)
            ASSERT_RC(PDR_OK, pdr_value_remove(&v, pdr_str_c("a"), NULL));
        pdr_value_free(n);
        if (i == 200)
            after_first = test_live_bytes();
    }
    ASSERT(test_live_bytes() <= after_first + 2000);
    pdr_value_free(v);
}

/* --- failures ------------------------------------------------------------ */

TEST_OOM(value_edit, leaves_the_value_as_it_was_without_memory)
{
    static const char json[] = "{\"a\":[1,2,3],\"b\":{\"c\":1},\"b\":null}";
    pdr_value *v = NULL, *n = NULL, *held = NULL, *list = NULL;

    if (pdr_json_read(&v, pdr_str_c(json), NULL, NULL) != PDR_OK)
        return;
    if (pdr_value_new_int64(&n, 9, NULL) != PDR_OK) {
        pdr_value_free(v);
        return;
    }
    held = pdr_value_ref(v);
    list = pdr_value_ref(pdr_value_get_c(v, "a"));
    (void)!pdr_value_set(&v, pdr_str_c("a"), n, NULL);
    (void)!pdr_value_set(&v, pdr_str_c("new"), n, NULL);
    (void)!pdr_value_remove(&v, pdr_str_c("b"), NULL);
    for (size_t i = 0; i < 3; i++) {
        size_t count = pdr_value_count(list);
        pdr_value *before = pdr_value_ref(list);
        pdr_rc rc = i == 0   ? pdr_value_append(&list, n, NULL)
                    : i == 1 ? pdr_value_insert(&list, 1, n, NULL)
                             : pdr_value_erase(&list, 0, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT_SIZE(rc != PDR_OK ? count
                    : i < 2      ? count + 1
                                 : count - 1,
                    pdr_value_count(list));
        ASSERT_SIZE(count, pdr_value_count(before));
        pdr_value_free(before);
    }
    (void)!pdr_value_replace(&list, 0, n, NULL);
    (void)!pdr_value_set(&v, pdr_str_c("a"), list, NULL);
    (void)!pdr_value_compact(&v, NULL);
    ASSERT(pdr_value_count(held) == 3);
    pdr_value_free(list);
    pdr_value_free(held);
    pdr_value_free(n);
    pdr_value_free(v);
}

TEST_OOM(value_edit, of_many_members_survives_any_failed_allocation)
{
    pdr_value *v = NULL, *n = NULL;
    char name[16];

    if (pdr_value_new_int64(&n, 9, NULL) != PDR_OK)
        return;
    v = pdr_value_new_object();
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof(name), "n\n%d", i);
        (void)!pdr_value_set(&v, pdr_str_c(name), n, NULL);
    }
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof(name), "n\n%d", i);
        bool there = pdr_value_get_c(v, name) != NULL;
        pdr_rc rc = pdr_value_remove(&v, pdr_str_c(name), NULL);
        ASSERT(rc == PDR_ENOMEM || (rc == PDR_OK) == there);
    }
    pdr_value_free(n);
    pdr_value_free(v);
}
