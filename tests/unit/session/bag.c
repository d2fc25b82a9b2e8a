/* Slots of raw values, the bag as a whole, and what a failure leaves. */
#include <pthread.h>

#include "bag_text.h"
#include "state_types.h"

#include "session.h"

#define NOTHING "{}"

/* --- making -------------------------------------------------------------- */

TEST(bag_new, is_empty)
{
    pdr_bag *bag = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_new(&bag, NULL));
    ASSERT_SIZE(0, pdr_bag_count(bag));
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    assert_bag(NOTHING, bag);
    pdr_bag_free(bag);
    pdr_bag_free(NULL);
}

TEST_OOM(bag_new, cleans_up_after_any_failed_allocation)
{
    pdr_bag *bag = NULL;
    pdr_rc rc = pdr_bag_new(&bag, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((bag != NULL) == (rc == PDR_OK));
    pdr_bag_free(bag);
}

TEST(bag_from_value, takes_nothing_and_null_for_empty)
{
    pdr_bag *bag = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, NULL, NULL));
    assert_bag(NOTHING, bag);
    pdr_bag_free(bag);
    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, pdr_value_new_null(), NULL));
    assert_bag(NOTHING, bag);
    pdr_bag_free(bag);
}

static void check_refused(const pdr_value *value, pdr_rc rc, const char *reason)
{
    pdr_bag *bag = (pdr_bag *)(uintptr_t)value;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_bag_from_value(&bag, value, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(bag == NULL);
}

TEST(bag_from_value, refuses_what_is_no_object)
{
    static const char *const texts[] = {"[1]", "'x'", "7", "true", "[]"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pdr_value *value = doc_value(texts[i]);

        check_refused(value, PDR_EINVALID, "bag_not_object");
        pdr_value_free(value);
    }
}

TEST(bag_from_value, gives_the_very_value_back_while_nobody_changed_it)
{
    pdr_value *value = doc_value(" { 'a' : 1.0 , 'b' : [ null ] } ");
    pdr_object *object = NULL;
    pdr_bag *bag = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, value, NULL));
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("b"), &json_type, NULL));
    ASSERT_RC(PDR_ENOTFOUND, pdr_bag_remove(bag, KEY("c"), NULL));
    pdr_value *again = pdr_bag_snapshot(bag);
    ASSERT(again == value);
    assert_value(" { 'a' : 1.0 , 'b' : [ null ] } ", again, PDR_AS_READ);
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    pdr_value_free(again);
    pdr_object_free(object);
    pdr_bag_free(bag);
    pdr_value_free(value);
}

/* --- limits -------------------------------------------------------------- */

/* {"n0":0,"n1":1,...}; owned. */
static pdr_value *many_slots(size_t count)
{
    pdr_builder *builder = NULL;
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&builder, NULL));
    pdr_builder_object(builder);
    for (size_t i = 0; i < count; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "n%zu", i);
        pdr_builder_name(builder, pdr_str_c(name));
        pdr_builder_int64(builder, (int64_t)i);
    }
    pdr_builder_end(builder);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&value, builder, NULL));
    pdr_builder_free(builder);
    return value;
}

/* `levels` arrays inside each other, below `members` objects; owned. */
static pdr_value *nested(size_t members, size_t levels)
{
    pdr_builder *builder = NULL;
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&builder, NULL));
    for (size_t i = 0; i < members; i++) {
        pdr_builder_object(builder);
        pdr_builder_name(builder, pdr_str_c("k"));
    }
    for (size_t i = 0; i < levels; i++)
        pdr_builder_array(builder);
    for (size_t i = 0; i < members + levels; i++)
        pdr_builder_end(builder);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&value, builder, NULL));
    pdr_builder_free(builder);
    return value;
}

TEST(bag_from_value, takes_a_hundred_thousand_slots_and_no_more)
{
    pdr_value *most = many_slots(100000), *more = many_slots(100001);
    pdr_bag *bag = NULL;
    pdr_err err = PDR_ERR_INIT;

    check_refused(more, PDR_ELIMIT, "too_many_slots");
    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, most, NULL));
    ASSERT_SIZE(100000, pdr_bag_count(bag));
    ASSERT_RC(PDR_ELIMIT,
              pdr_bag_set(bag, KEY("one more"), pdr_value_new_null(), &err));
    ASSERT_STR("too_many_slots", err.reason);
    ASSERT_RC(PDR_OK, pdr_bag_set(bag, KEY("n7"), pdr_value_new_null(), NULL));
    ASSERT_SIZE(100000, pdr_bag_count(bag));
    assert_slot("null", bag, "n7");
    assert_slot("99999", bag, "n99999");
    pdr_bag_free(bag);
    pdr_value_free(most);
    pdr_value_free(more);
}

TEST(bag_from_value, takes_slots_of_126_levels_and_no_more)
{
    pdr_value *most = nested(1, 126), *more = nested(1, 127);
    pdr_bag *bag = NULL;

    check_refused(more, PDR_ELIMIT, "too_deep");
    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, most, NULL));
    pdr_bag_free(bag);
    pdr_value_free(most);
    pdr_value_free(more);
}

static void check_levels(pdr_bag *bag, size_t most)
{
    pdr_value *fits = nested(0, most), *deep = nested(0, most + 1);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_set(bag, KEY("a/b"), fits, NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_bag_set(bag, KEY("a/b"), deep, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_STR("/a~1b", err.path);
    ASSERT(strstr(err.message, "'a/b'") != NULL);
    pdr_value_free(fits);
    pdr_value_free(deep);
}

TEST(bag_set, refuses_what_its_session_could_not_hold)
{
    pdr_bag *bag = bag_of("{}");

    check_levels(bag, 126);
    pdr__bag_set_levels(bag, 62);
    check_levels(bag, 62);
    pdr_bag_free(bag);
}

TEST(bag_set, counts_the_levels_that_a_value_has_now)
{
    pdr_bag *bag = bag_of("{}");
    pdr_value *value = doc_value("[[[[]]]]");

    /* It was deeper once, and may remember that. */
    pdr__bag_set_levels(bag, 2);
    ASSERT_RC(PDR_ELIMIT, pdr_bag_set(bag, KEY("k"), value, NULL));
    ASSERT_RC(PDR_OK, pdr_value_append(&value, pdr_value_new_array(), NULL));
    ASSERT_RC(PDR_OK, pdr_value_erase(&value, 0, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_set(bag, KEY("k"), value, NULL));
    assert_bag("{'k':[[]]}", bag);
    pdr_value_free(value);
    pdr_bag_free(bag);
}

/* --- keys ---------------------------------------------------------------- */

static pdr_rc no_change(pdr_value **io, pdr_err *err, void *arg)
{
    (void)io;
    (void)err;
    (void)arg;
    return PDR_OK;
}

static pdr_rc no_typed_change(void **io, pdr_err *err, void *arg)
{
    (void)io;
    (void)err;
    (void)arg;
    return PDR_OK;
}

/* Each function with a key refuses this one in the same way. */
static void check_key(pdr_str key, const char *reason)
{
    pdr_bag *bag = bag_of("{'a':1}");
    pdr_value *value = (pdr_value *)(uintptr_t)reason;
    pdr_object *object = (pdr_object *)(uintptr_t)reason;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc[8];

    ASSERT(!pdr_bag_has(bag, key));
    ASSERT_RC(PDR_EINVALID, pdr_bag_get(&value, bag, key, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(value == NULL);
    rc[0] = pdr_bag_set(bag, key, pdr_value_new_null(), NULL);
    rc[1] = pdr_bag_set_if(bag, 0, key, pdr_value_new_null(), NULL);
    rc[2] = pdr_bag_remove(bag, key, NULL);
    rc[3] = pdr_bag_update(bag, key, NULL, no_change, NULL);
    rc[4] = pdr_bag_get_typed(&object, bag, key, &text_type, NULL);
    ASSERT(object == NULL);
    rc[5] = pdr_bag_set_typed(bag, key, &text_type, "x", PDR_OVERLAY, NULL);
    rc[6] =
        pdr_bag_update_typed(bag, key, &text_type, NULL, no_typed_change, NULL);
    rc[7] = pdr_bag_get_or_init(&object, bag, key, &text_type, NULL,
                                no_typed_change, NULL);
    for (size_t i = 0; i < 8; i++)
        ASSERT_RC(PDR_EINVALID, rc[i]);
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    assert_bag("{'a':1}", bag);
    pdr_bag_free(bag);
}

TEST(bag_key, must_be_there_and_visible)
{
    check_key(pdr_str_n(NULL, 0), "key_null");
    check_key(pdr_str_n(NULL, 3), "key_null");
    check_key(pdr_str_c(""), "key_blank");
    check_key(pdr_str_c("  \t\r\n"), "key_blank");
    check_key(pdr_str_c("\xC2\xA0\xE3\x80\x80"), "key_blank");
    check_key(pdr_str_c("a\xFF"), "bad_utf8");
    check_key(pdr_str_c("\xED\xA0\x80"), "bad_utf8"); /* half a pair */
}

TEST(bag_key, has_up_to_1024_bytes)
{
    char longest[1025];

    memset(longest, 'k', sizeof(longest));
    check_key(pdr_str_n(longest, 1025), "key_too_long");
    ASSERT_RC(PDR_OK, pdr__key_check(pdr_str_n(longest, 1024), NULL));
}

TEST(bag_key, may_look_like_anything_else)
{
    static const char *const keys[] = {
        "\xE2\x80\x8B", " a ", "a/b~c", "-", "\x01", "\xF0\x9F\x98\x80"};
    pdr_bag *bag = bag_of("{}");

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        bag_put(bag, keys[i], "[1]");
        ASSERT(pdr_bag_has(bag, KEY(keys[i])));
        assert_slot("[1]", bag, keys[i]);
    }
    ASSERT_RC(PDR_OK, pdr_bag_set(bag, pdr_str_n("a\0b", 3),
                                  pdr_value_new_null(), NULL));
    ASSERT(pdr_bag_has(bag, pdr_str_n("a\0b", 3)));
    ASSERT(!pdr_bag_has(bag, KEY("a")));
    pdr_bag_free(bag);
}

TEST(bag_key, of_a_document_stays_whatever_it_is)
{
    pdr_bag *bag = bag_of("{'':1,' ':2,'\\ud800':3,'a':4}");

    bag_put(bag, "a", "5");
    assert_bag("{'':1,' ':2,'\\ud800':3,'a':5}", bag);
    ASSERT_SIZE(4, pdr_bag_count(bag));
    pdr_bag_free(bag);
}

/* --- one slot ------------------------------------------------------------ */

TEST(bag_set, takes_every_kind_and_keeps_the_order)
{
    pdr_bag *bag = bag_of("{'z':0}");

    bag_put(bag, "n", "null");
    bag_put(bag, "t", "true");
    bag_put(bag, "i", "1e3");
    bag_put(bag, "s", "'x'");
    bag_put(bag, "a", "[1,2]");
    bag_put(bag, "o", "{'p':1.0}");
    bag_put(bag, "n", "7");
    assert_bag("{'z':0,'n':7,'t':true,'i':1e3,'s':'x','a':[1,2],"
               "'o':{'p':1.0}}",
               bag);
    ASSERT_SIZE(7, pdr_bag_generation(bag));
    pdr_bag_free(bag);
}

TEST(bag_set, changes_the_last_of_several_slots_of_a_name)
{
    pdr_bag *bag = bag_of("{'a':1,'b':2,'a':3}");

    ASSERT_SIZE(3, pdr_bag_count(bag));
    assert_slot("3", bag, "a");
    bag_put(bag, "a", "4");
    assert_bag("{'a':1,'b':2,'a':4}", bag);
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("a"), NULL));
    assert_bag("{'b':2}", bag);
    pdr_bag_free(bag);
}

TEST(bag_set, touches_no_other_byte)
{
    pdr_value *value = doc_value("{ 'a' : 1.0 ,\n 'b' : [ 1 ] , 'c' : {  } }");
    pdr_bag *bag = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, value, NULL));
    pdr_value_free(value);
    bag_put(bag, "b", "'x'");
    value = pdr_bag_snapshot(bag);
    assert_value("{ 'a' : 1.0 ,\n 'b' : 'x' , 'c' : {  } }", value,
                 PDR_AS_READ);
    pdr_value_free(value);
    pdr_bag_free(bag);
}

TEST(bag_get, tells_a_null_from_nothing)
{
    pdr_bag *bag = bag_of("{'k':null}");
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_bag_has(bag, KEY("k")));
    ASSERT_RC(PDR_OK, pdr_bag_get(&value, bag, KEY("k"), NULL));
    ASSERT_INT(PDR_NULL, pdr_value_kind(value));
    pdr_value_free(value);
    ASSERT_RC(PDR_ENOTFOUND, pdr_bag_get(&value, bag, KEY("K"), &err));
    ASSERT_STR("no_slot", err.reason);
    ASSERT_STR("the bag has no slot 'K'", err.message);
    ASSERT(value == NULL);
    pdr_bag_free(bag);
}

TEST(bag_remove, says_whether_there_was_one)
{
    pdr_bag *bag = bag_of("{'a':1,'b':null}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("b"), NULL));
    ASSERT_SIZE(1, pdr_bag_generation(bag));
    ASSERT_RC(PDR_ENOTFOUND, pdr_bag_remove(bag, KEY("b"), &err));
    ASSERT_STR("no_slot", err.reason);
    ASSERT_SIZE(1, pdr_bag_generation(bag));
    assert_bag("{'a':1}", bag);
    pdr_bag_free(bag);
}

TEST(bag_clear, removes_all_and_counts_only_a_change)
{
    pdr_bag *bag = bag_of("{'a':1,'b':'x'}");
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("b"), &text_type, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_clear(bag, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_clear(bag, NULL));
    ASSERT_SIZE(1, pdr_bag_generation(bag));
    assert_bag(NOTHING, bag);
    ASSERT_STR("x", (const char *)pdr_object_get(object));
    pdr_object_free(object);
    bag_put(bag, "c", "1");
    assert_bag("{'c':1}", bag);
    pdr_bag_free(bag);
}

TEST(bag_set_if, writes_only_at_the_generation_that_was_read)
{
    pdr_bag *bag = bag_of("{'a':1}");
    pdr_value *two = doc_value("2");
    uint64_t generation = pdr_bag_generation(bag);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_set_if(bag, generation, KEY("a"), two, NULL));
    ASSERT_RC(PDR_ECONFLICT,
              pdr_bag_set_if(bag, generation, KEY("a"), two, &err));
    ASSERT_STR("bag_changed", err.reason);
    ASSERT_STR("the bag is at generation 1, not at 0: read it again",
               err.message);
    assert_bag("{'a':2}", bag);
    pdr_value_free(two);
    pdr_bag_free(bag);
}

TEST(bag_snapshot, does_not_see_later_changes)
{
    pdr_bag *bag = bag_of("{'a':1,'b':2}");

    bag_put(bag, "c", "3"); /* from here on the bag edits in place */
    pdr_value *before = pdr_bag_snapshot(bag);
    bag_put(bag, "a", "[]");
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("b"), NULL));
    assert_value("{'a':1,'b':2,'c':3}", before, PDR_COMPACT);
    assert_bag("{'a':[],'c':3}", bag);
    pdr_value_free(before);
    pdr_bag_free(bag);
}

/* --- seals --------------------------------------------------------------- */

TEST(bag_seal, refuses_every_change_with_its_reason)
{
    pdr_bag *bag = bag_of("{'a':'x'}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc[7];

    pdr__bag_seal(bag, "convert it first");
    ASSERT_RC(PDR_EINVALID,
              pdr_bag_set(bag, KEY("a"), pdr_value_new_null(), &err));
    ASSERT_STR("bag_sealed", err.reason);
    ASSERT_STR("convert it first", err.message);
    rc[0] = pdr_bag_set_if(bag, 0, KEY("a"), pdr_value_new_null(), NULL);
    rc[1] = pdr_bag_remove(bag, KEY("a"), NULL);
    rc[2] = pdr_bag_clear(bag, NULL);
    rc[3] = pdr_bag_update(bag, KEY("a"), NULL, no_change, NULL);
    rc[4] =
        pdr_bag_set_typed(bag, KEY("a"), &text_type, "y", PDR_REPLACE, NULL);
    rc[5] = pdr_bag_update_typed(bag, KEY("a"), &text_type, NULL,
                                 no_typed_change, NULL);
    rc[6] = pdr_bag_get_or_init(&object, bag, KEY("new"), &text_type, NULL,
                                no_typed_change, NULL);
    for (size_t i = 0; i < 7; i++)
        ASSERT_RC(PDR_EINVALID, rc[i]);
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("a"), &text_type, NULL));
    pdr_object_free(object);
    assert_bag("{'a':'x'}", bag);
    pdr__bag_seal(bag, NULL);
    bag_put(bag, "a", "2");
    assert_bag("{'a':2}", bag);
    pdr_bag_free(bag);
}

/* --- owners -------------------------------------------------------------- */

TEST(bag_own, refuses_a_second_owner_of_a_key_for_ever)
{
    pdr_bag *bag = bag_of("{}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__bag_own(bag, KEY("k"), "todo", NULL));
    ASSERT_RC(PDR_OK, pdr__bag_own(bag, KEY("k"), "todo", NULL));
    ASSERT_RC(PDR_OK, pdr__bag_own(bag, KEY("K"), "mode", NULL));
    ASSERT_RC(PDR_OK, pdr_bag_clear(bag, NULL));
    ASSERT_RC(PDR_EINVALID, pdr__bag_own(bag, KEY("k"), "mode", &err));
    ASSERT_STR("state_key_clash", err.reason);
    ASSERT(strstr(err.message, "'k'") != NULL);
    ASSERT(strstr(err.message, "todo") != NULL);
    ASSERT(strstr(err.message, "mode") != NULL);
    ASSERT_STR("/k", err.path);
    pdr_bag_free(bag);
}

/* --- updates ------------------------------------------------------------- */

/* What an update does, and what it saw. */
struct change {
    const char *expected; /* what *io must be; NULL: nothing */
    const char *put;      /* what becomes of it; NULL: nothing */
    bool keeps;           /* leaves it as it is */
    pdr_rc rc;            /* what it returns */
    unsigned calls;
};

static pdr_rc make_change(pdr_value **io, pdr_err *err, void *arg)
{
    struct change *change = arg;

    change->calls++;
    ASSERT((*io == NULL) == (change->expected == NULL));
    if (*io != NULL)
        assert_value(change->expected, *io, PDR_COMPACT);
    if (!change->keeps) {
        pdr_value_free(*io);
        *io = change->put != NULL ? doc_value(change->put) : NULL;
    }
    if (change->rc != PDR_OK)
        return pdr_err_set(err, change->rc, "mine", "as I like");
    return PDR_OK;
}

TEST(bag_update, puts_changes_and_removes)
{
    struct change adds = {.put = "{'n':1}"};
    struct change changes = {.expected = "{'n':1}", .put = "[2]"};
    struct change removes = {.expected = "[2]"};
    struct change leaves = {.keeps = true};
    pdr_bag *bag = bag_of("{'a':0}");

    ASSERT_RC(PDR_OK, pdr_bag_update(bag, KEY("k"), NULL, make_change, &adds));
    assert_bag("{'a':0,'k':{'n':1}}", bag);
    ASSERT_RC(PDR_OK,
              pdr_bag_update(bag, KEY("k"), NULL, make_change, &changes));
    assert_bag("{'a':0,'k':[2]}", bag);
    ASSERT_RC(PDR_OK,
              pdr_bag_update(bag, KEY("k"), NULL, make_change, &removes));
    assert_bag("{'a':0}", bag);
    ASSERT_SIZE(3, pdr_bag_generation(bag));
    ASSERT_RC(PDR_OK,
              pdr_bag_update(bag, KEY("k"), NULL, make_change, &leaves));
    leaves.expected = "0";
    ASSERT_RC(PDR_OK,
              pdr_bag_update(bag, KEY("a"), NULL, make_change, &leaves));
    ASSERT_SIZE(3, pdr_bag_generation(bag));
    ASSERT_INT(1, adds.calls);
    pdr_bag_free(bag);
}

TEST(bag_update, leaves_the_bag_as_it_was_if_the_callback_fails)
{
    struct change fails = {.expected = "0", .put = "1", .rc = PDR_ECANCELLED};
    pdr_bag *bag = bag_of("{'a':0}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECANCELLED,
              pdr_bag_update(bag, KEY("a"), &err, make_change, &fails));
    ASSERT_STR("mine", err.reason);
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    assert_bag("{'a':0}", bag);
    bag_put(bag, "a", "2"); /* the claim is gone */
    pdr_bag_free(bag);
}

static pdr_rc put_deep(pdr_value **io, pdr_err *err, void *arg)
{
    (void)err;
    pdr_value_free(*io);
    *io = pdr_value_ref(arg);
    return PDR_OK;
}

TEST(bag_update, refuses_what_its_session_could_not_hold)
{
    pdr_bag *bag = bag_of("{'a':0}");
    pdr_value *deep = nested(0, 127);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT, pdr_bag_update(bag, KEY("a"), &err, put_deep, deep));
    ASSERT_STR("too_deep", err.reason);
    assert_bag("{'a':0}", bag);
    pdr_value_free(deep);
    pdr_bag_free(bag);
}

/* Tries everything on the bag that it is called for. */
static pdr_rc use_bag(pdr_value **io, pdr_err *err, void *arg)
{
    pdr_bag *bag = arg;
    pdr_object *object = NULL;
    pdr_err inner = PDR_ERR_INIT;
    pdr_rc rc[7];

    (void)err;
    pdr_value_free(*io);
    *io = doc_value("'after'");
    assert_slot("'before'", bag, "k"); /* reading does not wait */
    ASSERT(pdr_bag_has(bag, KEY("k")));
    ASSERT_SIZE(1, pdr_bag_count(bag));
    assert_bag("{'k':'before'}", bag);
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("k"), &text_type, NULL));
    ASSERT_STR("before", (const char *)pdr_object_get(object));
    pdr_object_free(object);
    rc[0] = pdr_bag_set(bag, KEY("x"), *io, &inner);
    ASSERT_STR("bag_in_update", inner.reason);
    rc[1] = pdr_bag_set_if(bag, 0, KEY("x"), *io, NULL);
    rc[2] = pdr_bag_remove(bag, KEY("k"), NULL);
    rc[3] = pdr_bag_clear(bag, NULL);
    rc[4] = pdr_bag_update(bag, KEY("x"), NULL, no_change, NULL);
    rc[5] =
        pdr_bag_set_typed(bag, KEY("x"), &text_type, "y", PDR_OVERLAY, NULL);
    rc[6] = pdr_bag_get_or_init(&object, bag, KEY("x"), &text_type, NULL,
                                no_typed_change, NULL);
    for (size_t i = 0; i < 7; i++)
        ASSERT_RC(PDR_EMISUSE, rc[i]);
    return PDR_OK;
}

TEST(bag_update, lets_its_callback_read_and_not_write)
{
    pdr_bag *bag = bag_of("{'k':'before'}");

    ASSERT_RC(PDR_OK, pdr_bag_update(bag, KEY("k"), NULL, use_bag, bag));
    assert_bag("{'k':'after'}", bag);
    ASSERT_SIZE(1, pdr_bag_generation(bag));
    pdr_bag_free(bag);
}

/* --- what it costs ------------------------------------------------------- */

static pdr_rc append_one(pdr_value **io, pdr_err *err, void *arg)
{
    return pdr_value_append(io, arg, err);
}

/* Bytes that 100 appends allocate at most at once, beyond what was there, in a
 * slot with `count` elements of which a reader holds every version. */
static size_t append_cost(size_t count)
{
    pdr_bag *bag = bag_of("{'list':[]}");
    pdr_value *one = doc_value("{'role':'user'}"), *held = NULL;

    for (size_t i = 0; i < count; i++)
        ASSERT_RC(PDR_OK,
                  pdr_bag_update(bag, KEY("list"), NULL, append_one, one));
    size_t before = test_live_bytes(), most = 0;
    for (size_t i = 0; i < 100; i++) {
        pdr_value_free(held);
        held = pdr_bag_snapshot(bag);
        test_reset_peak();
        size_t now = test_live_bytes();
        ASSERT_RC(PDR_OK,
                  pdr_bag_update(bag, KEY("list"), NULL, append_one, one));
        if (test_peak_bytes() - now > most)
            most = test_peak_bytes() - now;
    }
    ASSERT(test_live_bytes() < before + 64u * 1024u);
    pdr_value_free(held);
    pdr_value_free(one);
    pdr_bag_free(bag);
    return most;
}

TEST(bag_update, appends_to_a_long_list_for_the_price_of_a_short_one)
{
    size_t small = append_cost(600), large = append_cost(60000);

    /* A chunk of the list (4 KB) and the list of chunks (12 bytes for each 512
     * elements), for the bag and for the slot. */
    ASSERT(small < 16u * 1024u);
    ASSERT(large < small + 12u * 60000u / 512u * 2u);
}

TEST(bag_set, does_not_copy_the_bag)
{
    pdr_bag *bag = bag_of("{}");
    pdr_value *one = doc_value("1");
    size_t most = 0;

    for (size_t i = 0; i < 100000; i++) {
        char key[32];

        (void)snprintf(key, sizeof(key), "key-%zu", i);
        size_t before = test_allocations();
        ASSERT_RC(PDR_OK, pdr_bag_set(bag, KEY(key), one, NULL));
        size_t made = test_allocations() - before;
        most = made > most ? made : most;
    }
    ASSERT_SIZE(100000, pdr_bag_count(bag));
    ASSERT(most < 10);
    ASSERT(test_live_bytes() < 100000u * 400u);
    pdr_value_free(one);
    pdr_bag_free(bag);
}

/* --- failures of memory -------------------------------------------------- */

static void check_state(pdr_bag *bag, pdr_rc rc, const char *before,
                        const char *after)
{
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    assert_bag(rc == PDR_OK ? after : before, bag);
    ASSERT_SIZE(rc == PDR_OK ? 1 : 0, pdr_bag_generation(bag));
    bag_put(bag, "free", "1"); /* nobody holds a claim */
}

TEST_OOM(bag_set, leaves_the_bag_as_it_was_without_memory)
{
    pdr_bag *bag = bag_of("{'a':1}");

    check_state(bag, pdr_bag_set(bag, KEY("b"), pdr_value_new_bool(true), NULL),
                "{'a':1}", "{'a':1,'b':true}");
    pdr_bag_free(bag);
}

TEST_OOM(bag_remove, leaves_the_bag_as_it_was_without_memory)
{
    pdr_bag *bag = bag_of("{'a':1,'b':2}");

    check_state(bag, pdr_bag_remove(bag, KEY("a"), NULL), "{'a':1,'b':2}",
                "{'b':2}");
    pdr_bag_free(bag);
}

TEST_OOM(bag_update, leaves_the_bag_as_it_was_without_memory)
{
    pdr_bag *bag = bag_of("{'a':[1],'b':2}");
    pdr_value *two = doc_value("2");

    check_state(bag, pdr_bag_update(bag, KEY("a"), NULL, append_one, two),
                "{'a':[1],'b':2}", "{'a':[1,2],'b':2}");
    pdr_value_free(two);
    pdr_bag_free(bag);
}

TEST_OOM(bag_own, notes_nothing_without_memory)
{
    pdr_bag *bag = bag_of("{}");

    if (pdr__bag_own(bag, KEY("k"), "a", NULL) != PDR_OK) {
        test_pause_failures(true);
        ASSERT_RC(PDR_OK, pdr__bag_own(bag, KEY("k"), "b", NULL));
        test_pause_failures(false);
    }
    pdr_bag_free(bag);
}

TEST_OOM(bag_set, tells_of_depth_also_without_memory_for_the_path)
{
    pdr_bag *bag = bag_of("{}");
    pdr_err err = PDR_ERR_INIT;

    pdr__bag_set_levels(bag, 0);
    ASSERT_RC(PDR_ELIMIT,
              pdr_bag_set(bag, KEY("k"), pdr_value_new_array(), &err));
    ASSERT(strcmp(err.path, "/k") == 0 || err.path[0] == '\0');
    pdr_bag_free(bag);
}
