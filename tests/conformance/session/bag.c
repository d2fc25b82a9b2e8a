/*
 * bag.c - the statements about state bags, by what a caller can see.
 */
#include <pthread.h>

#include "bag_text.h"
#include "state_types.h"

#define THREADS 100

/* --- documents ----------------------------------------------------------- */

/* The session in a JSON text; ' stands for ". */
static pdr_session *load(const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    pdr_value_free(value);
    return session;
}

/* Save it: this text, byte for byte. The session is taken. */
static void assert_saved(const char *expected, pdr_session *session)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_session_to_value(&value, session, NULL));
    assert_value(expected, value, PDR_AS_READ);
    pdr_value_free(value);
    pdr_session_free(session);
}

static void assert_round_trip(const char *text)
{
    assert_saved(text, load(text));
}

/* --- slots --------------------------------------------------------------- */

TEST(bag, is_empty_when_it_is_new)
{
    COVERS("S-1");
    pdr_bag *bag = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_new(&bag, NULL));
    ASSERT_SIZE(0, pdr_bag_count(bag));
    assert_bag("{}", bag);
    pdr_bag_free(bag);
}

TEST(bag, gives_back_what_was_set_every_time_the_same)
{
    COVERS("S-2");
    pdr_bag *bag = bag_of("{}");
    struct counter counter = {5, 0};
    pdr_object *first = NULL, *second = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &counter_type, &counter,
                                        PDR_OVERLAY, NULL));
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&first, bag, KEY("k"), &counter_type, NULL));
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&second, bag, KEY("k"), &counter_type, NULL));
    ASSERT_INT(5, ((const struct counter *)pdr_object_get(first))->a);
    ASSERT(pdr_object_get(first) == pdr_object_get(second));
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_value *one = NULL, *two = NULL, *set = doc_value("{'a':[1]}");
    ASSERT_RC(PDR_OK, pdr_bag_set(bag, KEY("k"), set, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_get(&one, bag, KEY("k"), NULL));
    ASSERT_RC(PDR_OK, pdr_bag_get(&two, bag, KEY("k"), NULL));
    ASSERT(one == two);
    assert_value("{'a':[1]}", one, PDR_COMPACT);
    pdr_value_free(one);
    pdr_value_free(two);
    pdr_value_free(set);
    pdr_bag_free(bag);
}

TEST(bag, says_that_a_slot_is_absent)
{
    COVERS("S-3");
    pdr_bag *bag = bag_of("{'other':1}");
    pdr_value *value = NULL;
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(!pdr_bag_has(bag, KEY("k")));
    ASSERT_RC(PDR_ENOTFOUND, pdr_bag_get(&value, bag, KEY("k"), &err));
    ASSERT_STR("no_slot", err.reason);
    ASSERT(value == NULL);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_bag_get_typed(&object, bag, KEY("k"), &text_type, NULL));
    ASSERT(object == NULL);
    pdr_bag_free(bag);
}

static void check_no_key(pdr_str key, const char *reason)
{
    pdr_bag *bag = bag_of("{'a':1}");
    pdr_value *value = NULL;
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_bag_get(&value, bag, key, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_bag_get_typed(&object, bag, key, &text_type, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_bag_set(bag, key, pdr_value_new_null(), &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_bag_set_typed(bag, key, &text_type, "x", PDR_OVERLAY, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_bag_remove(bag, key, &err));
    ASSERT_STR(reason, err.reason);
    assert_bag("{'a':1}", bag);
    pdr_bag_free(bag);
}

TEST(bag, refuses_keys_that_are_missing_or_blank)
{
    COVERS("S-4");
    check_no_key(pdr_str_c(NULL), "key_null");
    check_no_key(pdr_str_c(""), "key_blank");
    check_no_key(pdr_str_c("   "), "key_blank");
}

TEST(bag, holds_a_null_that_was_set)
{
    COVERS("S-5");
    pdr_bag *bag = bag_of("{}");
    pdr_object *object = (pdr_object *)(uintptr_t)bag;

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &text_type, NULL,
                                        PDR_OVERLAY, NULL));
    ASSERT_SIZE(1, pdr_bag_count(bag));
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("k"), &text_type, NULL));
    ASSERT(object == NULL);
    assert_bag("{'k':null}", bag);
    pdr_bag_free(bag);
}

static void assert_text(const char *expected, pdr_bag *bag, const char *key)
{
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY(key), &text_type, NULL));
    if (expected == NULL)
        ASSERT(object == NULL);
    else
        ASSERT_STR(expected, (const char *)pdr_object_get(object));
    pdr_object_free(object);
}

static void set_text(pdr_bag *bag, const char *key, const char *text)
{
    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY(key), &text_type, text,
                                        PDR_OVERLAY, NULL));
}

TEST(bag, follows_the_last_write)
{
    COVERS("S-6");
    pdr_bag *bag = bag_of("{}");

    set_text(bag, "k", "one");
    assert_text("one", bag, "k");
    set_text(bag, "k", NULL);
    assert_text(NULL, bag, "k");
    set_text(bag, "k", "two");
    assert_text("two", bag, "k");
    assert_bag("{'k':'two'}", bag);
    pdr_bag_free(bag);
}

TEST(bag, removes_one_key_once)
{
    COVERS("S-7");
    COVERS("S-8");
    pdr_bag *bag = bag_of("{'a':'x','b':'y'}");

    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("a"), NULL));
    ASSERT_SIZE(1, pdr_bag_count(bag));
    assert_text("y", bag, "b");
    ASSERT_RC(PDR_ENOTFOUND, pdr_bag_remove(bag, KEY("a"), NULL));
    set_text(bag, "a", "new");
    assert_text("new", bag, "a");
    ASSERT_SIZE(2, pdr_bag_count(bag));
    pdr_bag_free(bag);
}

TEST(bag, tells_both_types_when_a_slot_is_used_as_another)
{
    COVERS("S-9");
    pdr_bag *bag = bag_of("{}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    set_text(bag, "k", "x");
    ASSERT_RC(PDR_EINVALID,
              pdr_bag_get_typed(&object, bag, KEY("k"), &counter_type, &err));
    ASSERT_STR("state_type_mismatch", err.reason);
    ASSERT(strstr(err.message, "test.Text") != NULL);
    ASSERT(strstr(err.message, "test.Counter") != NULL);
    ASSERT(object == NULL);
    assert_text("x", bag, "k");
    pdr_bag_free(bag);
}

TEST(bag, tells_that_a_value_does_not_fit)
{
    COVERS("S-11");
    pdr_session *session = load("{'stateBag':{'k':'\\u0041\\/'}}");
    pdr_bag *bag = pdr_session_bag(session);
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_bag_get_typed(&object, bag, KEY("k"), &counter_type, &err));
    ASSERT_STR("state_decode", err.reason);
    ASSERT(object == NULL);
    assert_text("A/", bag, "k"); /* it was not made anything else */
    assert_saved("{'stateBag':{'k':'\\u0041\\/'}}", session);
}

TEST(bag, gives_null_for_a_restored_null_as_any_type)
{
    COVERS("S-12");
    pdr_session *session = load("{'stateBag':{'k':null}}");
    pdr_bag *bag = pdr_session_bag(session);
    pdr_object *object = (pdr_object *)(uintptr_t)bag;

    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("k"), &text_type, NULL));
    ASSERT(object == NULL);
    object = (pdr_object *)(uintptr_t)bag;
    ASSERT_RC(PDR_OK,
              pdr_bag_get_typed(&object, bag, KEY("k"), &counter_type, NULL));
    ASSERT(object == NULL);
    pdr_session_free(session);
}

/* A counter that does not know `b`. */
static pdr_rc decode_a(void **out, const pdr_value *value, pdr_err *err,
                       void *arg)
{
    pdr_rc rc = counter_type.decode(out, value, err, arg);

    if (rc == PDR_OK)
        ((struct counter *)*out)->b = 0;
    return rc;
}

TEST(bag, loses_nothing_by_reading_or_writing_through_a_type)
{
    COVERS("S-13");
    COVERS("S-14");
    pdr_session *session = load("{'stateBag':{'k':{'a':1,'b':2}}}");
    pdr_bag *bag = pdr_session_bag(session);
    pdr_state_type only_a = counter_type;
    struct counter five = {5, 0};
    pdr_object *object = NULL;

    only_a.decode = decode_a;
    ASSERT_RC(PDR_OK, pdr_bag_get_typed(&object, bag, KEY("k"), &only_a, NULL));
    pdr_object_free(object);
    assert_bag("{'k':{'a':1,'b':2}}", bag);
    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &only_a, &five,
                                        PDR_OVERLAY, NULL));
    assert_saved("{'stateBag':{'k':{'a':5,'b':2}}}", session);
}

TEST(bag, keeps_how_numbers_are_spelled)
{
    COVERS("S-15");
    assert_round_trip("{'stateBag':{'a':1.0,'b':1e3,'c':9007199254740993,"
                      "'d':12345678901234567890123}}");
}

TEST(bag, is_an_object_or_empty)
{
    COVERS("S-16");
    static const char *const refused[] = {"[1]", "'x'"};
    static const char *const empty[] = {
        "{'stateBag':null,'conversationId':'c'}", "{'conversationId':'c'}"};
    pdr_bag *bag = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < 2; i++) {
        pdr_session *session = load(empty[i]);

        ASSERT_SIZE(0, pdr_bag_count(pdr_session_bag(session)));
        pdr_session_free(session);
    }
    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, pdr_value_new_null(), NULL));
    assert_bag("{}", bag);
    pdr_bag_free(bag);
    for (size_t i = 0; i < 2; i++) {
        pdr_value *value = doc_value(refused[i]);

        ASSERT_RC(PDR_EINVALID, pdr_bag_from_value(&bag, value, &err));
        ASSERT_STR("bag_not_object", err.reason);
        ASSERT(bag == NULL);
        pdr_value_free(value);
    }
}

/* --- threads ------------------------------------------------------------- */

/* One thread; what it found goes back, since only the test itself may fail. */
struct worker {
    pthread_t thread;
    pdr_bag *bag;
    size_t number;
    size_t wrong; /* things that must not be */
};

static void run(struct worker workers[], size_t count, pdr_bag *bag,
                void *(*fn)(void *))
{
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++) {
        workers[i] = (struct worker){.bag = bag, .number = i};
        ASSERT_INT(0,
                   pthread_create(&workers[i].thread, NULL, fn, &workers[i]));
    }
    for (size_t i = 0; i < count; i++) {
        ASSERT_INT(0, pthread_join(workers[i].thread, NULL));
        wrong += workers[i].wrong;
    }
    ASSERT_SIZE(0, wrong);
}

static bool set_number(pdr_bag *bag, const char *key, size_t number)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_int64(&value, (int64_t)number, NULL);

    if (rc == PDR_OK)
        rc = pdr_bag_set(bag, KEY(key), value, NULL);
    pdr_value_free(value);
    return rc == PDR_OK;
}

static void *set_own_key(void *arg)
{
    struct worker *worker = arg;
    char key[16];

    (void)snprintf(key, sizeof(key), "key-%zu", worker->number);
    worker->wrong += !set_number(worker->bag, key, worker->number);
    return NULL;
}

TEST(bag, keeps_the_writes_of_100_threads)
{
    COVERS("S-17");
    struct worker workers[THREADS];
    pdr_bag *bag = bag_of("{}");

    run(workers, THREADS, bag, set_own_key);
    ASSERT_SIZE(THREADS, pdr_bag_count(bag));
    for (size_t i = 0; i < THREADS; i++) {
        char key[16], number[16];

        (void)snprintf(key, sizeof(key), "key-%zu", i);
        (void)snprintf(number, sizeof(number), "%zu", i);
        assert_slot(number, bag, key);
    }
    pdr_bag_free(bag);
}

/* A snapshot, written and read again: an object whose `k` is one that some
 * thread wrote. */
static bool is_sound(pdr_bag *bag)
{
    pdr_value *snapshot = pdr_bag_snapshot(bag), *again = NULL;
    pdr_buf text = PDR_BUF_INIT(1u << 20);
    int64_t number = 0;

    pdr_rc rc = pdr_json_write(&text, snapshot, NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_json_read_take(&again, &text, NULL, NULL);
    bool sound =
        rc == PDR_OK && pdr_value_kind(again) == PDR_OBJECT &&
        pdr_value_count(again) == 1 &&
        pdr_value_int64(&number, pdr_value_get_c(again, "k"), NULL) == PDR_OK &&
        number >= 0 && number < THREADS;
    pdr_value_free(again);
    pdr_value_free(snapshot);
    pdr_buf_dispose(&text);
    return sound;
}

static void *set_one_key(void *arg)
{
    struct worker *worker = arg;

    for (size_t i = 0; i < 10; i++) {
        worker->wrong += !set_number(worker->bag, "k", worker->number);
        worker->wrong += !is_sound(worker->bag);
    }
    return NULL;
}

TEST(bag, can_be_written_while_100_threads_set_one_key)
{
    COVERS("S-18");
    struct worker workers[THREADS];
    pdr_bag *bag = bag_of("{}");

    run(workers, THREADS, bag, set_one_key);
    ASSERT(is_sound(bag));
    pdr_bag_free(bag);
}

#define APPENDS 2000

static pdr_rc append_next(pdr_value **io, pdr_err *err, void *arg)
{
    pdr_value *number = NULL;
    pdr_rc rc = pdr_value_new_int64(&number, *(int64_t *)arg, err);

    if (rc == PDR_OK)
        rc = pdr_value_append(io, number, err);
    pdr_value_free(number);
    return rc;
}

/* Does the list hold 0, 1, 2 ...? Its length goes to *count. */
static bool is_prefix(size_t *count, const pdr_value *list)
{
    pdr_iter it;

    *count = pdr_value_count(list);
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        int64_t number = -1;

        if (pdr_value_int64(&number, it.value, NULL) != PDR_OK ||
            (size_t)number != it.index)
            return false;
    }
    return true;
}

/* Worker 0 appends, the others look until all is there. */
static void *append_or_look(void *arg)
{
    struct worker *worker = arg;
    size_t count = 0, before = 0;

    for (int64_t i = 0; worker->number == 0 && i < APPENDS; i++)
        worker->wrong += pdr_bag_update(worker->bag, KEY("list"), NULL,
                                        append_next, &i) != PDR_OK;
    while (worker->wrong == 0 && count < APPENDS) {
        pdr_value *snapshot = pdr_bag_snapshot(worker->bag);
        bool sound = is_prefix(&count, pdr_value_get_c(snapshot, "list"));

        worker->wrong += !sound || count < before;
        before = count;
        pdr_value_free(snapshot);
    }
    return NULL;
}

TEST(bag, shows_a_prefix_of_the_appends_in_each_snapshot)
{
    COVERS("S-19");
    struct worker workers[3];
    pdr_bag *bag = bag_of("{'list':[]}");

    run(workers, 3, bag, append_or_look);
    pdr_bag_free(bag);
}

static void *set_or_remove(void *arg)
{
    struct worker *worker = arg;

    if (worker->number == 0)
        worker->wrong += !set_number(worker->bag, "k", 1);
    else
        worker->wrong += pdr_bag_remove(worker->bag, KEY("k"), NULL) != PDR_OK;
    return NULL;
}

TEST(bag, ends_as_after_a_set_and_a_remove_in_some_order)
{
    COVERS("S-20");
    for (size_t i = 0; i < 300; i++) {
        struct worker workers[2];
        pdr_bag *bag = bag_of("{'k':0,'z':9}");

        /* The slot is there all the time, so the removal always finds it. */
        run(workers, 2, bag, set_or_remove);
        ASSERT_SIZE(2, pdr_bag_generation(bag));
        if (pdr_bag_has(bag, KEY("k")))
            assert_bag("{'z':9,'k':1}", bag); /* removed, then set */
        else
            assert_bag("{'z':9}", bag);
        pdr_bag_free(bag);
    }
}

/* --- what others cannot keep --------------------------------------------- */

TEST(bag, refuses_what_cannot_be_encoded_at_once)
{
    COVERS("S-21");
    struct odd refuses = {.encode = PDR_EINVALID};
    struct odd writes_nan = {.json = "{\"rate\":NaN}"};
    pdr_state_type refusing = odd_type(&refuses), odd = odd_type(&writes_nan);
    pdr_session *session = load("{'stateBag':{'k':{'a':1}}}");
    pdr_bag *bag = pdr_session_bag(session);
    struct counter counter = {5, 0};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_bag_set_typed(bag, KEY("k"), &refusing,
                                              &counter, PDR_OVERLAY, &err));
    ASSERT_STR("state_encode", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_bag_set_typed(bag, KEY("k"), &odd, &counter,
                                              PDR_OVERLAY, &err));
    ASSERT_STR("state_encode", err.reason);
    ASSERT_STR("/k/rate", err.path);
    assert_saved("{'stateBag':{'k':{'a':1}}}", session);
}

TEST(bag, serves_a_null_that_was_reloaded)
{
    COVERS("S-135");
    pdr_session *session = load("{'stateBag':{'k':null,'z':1}}");
    pdr_bag *bag = pdr_session_bag(session);
    pdr_value *value = NULL;

    assert_text(NULL, bag, "k");
    ASSERT_RC(PDR_OK, pdr_bag_get(&value, bag, KEY("k"), NULL));
    ASSERT_INT(PDR_NULL, pdr_value_kind(value));
    pdr_value_free(value);
    set_text(bag, "k", "x");
    assert_text("x", bag, "k");
    assert_saved("{'stateBag':{'k':'x','z':1}}", session);
    session = load("{'stateBag':{'k':null,'z':1}}");
    ASSERT_RC(PDR_OK, pdr_bag_remove(pdr_session_bag(session), KEY("k"), NULL));
    assert_saved("{'stateBag':{'z':1}}", session);
    assert_round_trip("{'stateBag':{'k':null,'z':1}}");
}

TEST(bag, keeps_half_a_surrogate_pair)
{
    COVERS("S-136");
    pdr_session *session = load("{'stateBag':{'\\ud800':1,'k':'\\uDFFF'}}");

    assert_saved("{'stateBag':{'\\ud800':1,'k':'\\uDFFF'}}", session);
    session = load("{'stateBag':{'\\ud800':1,'k':'\\uDFFF'}}");
    bag_put(pdr_session_bag(session), "new", "true"); /* also beside a change */
    assert_saved("{'stateBag':{'\\ud800':1,'k':'\\uDFFF','new':true}}",
                 session);
}
