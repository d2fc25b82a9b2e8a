/* Slots as objects of C types: reading, writing, changing, making. */
#include "bag_text.h"
#include "state_types.h"

#include "session.h"

#define LONG_TEXT "a long text with which a message will not fit any more; "

static pdr_object *get(pdr_bag *bag, const char *key,
                       const pdr_state_type *type)
{
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_get_typed(&object, bag, KEY(key), type, NULL));
    return object;
}

static int64_t counter_of(const pdr_object *object)
{
    return ((const struct counter *)pdr_object_get(object))->a;
}

/* --- handles ------------------------------------------------------------- */

TEST(object, knows_what_it_is)
{
    pdr_bag *bag = bag_of("{'k':'x'}");
    pdr_object *object = get(bag, "k", &text_type);
    pdr_object *again = pdr_object_ref(object);

    ASSERT(again == object);
    ASSERT(&text_type == pdr_object_type(object));
    ASSERT_STR("x", (const char *)pdr_object_get(object));
    pdr_object_free(object);
    ASSERT_STR("x", (const char *)pdr_object_get(again));
    pdr_object_free(again);
    ASSERT(pdr_object_get(NULL) == NULL);
    ASSERT(pdr_object_ref(NULL) == NULL);
    pdr_object_free(NULL);
    pdr_bag_free(bag);
}

TEST(object, outlives_its_slot_and_its_bag)
{
    struct counter seven = {7, 0};
    pdr_bag *bag = bag_of("{'s':{'a':1},'r':{'a':2},'b':{'a':3}}");
    pdr_object *set = get(bag, "s", &counter_type);
    pdr_object *removed = get(bag, "r", &counter_type);
    pdr_object *left = get(bag, "b", &counter_type);

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("s"), &counter_type, &seven,
                                        PDR_OVERLAY, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("r"), NULL));
    pdr_bag_free(bag);
    ASSERT_INT(1, counter_of(set));
    ASSERT_INT(2, counter_of(removed));
    ASSERT_INT(3, counter_of(left));
    pdr_object_free(set);
    pdr_object_free(removed);
    pdr_object_free(left);
}

TEST(object, is_freed_once_with_its_last_holder)
{
    struct odd odd = {0};
    pdr_state_type type = odd_type(&odd);
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *object = get(bag, "k", &type);

    bag_put(bag, "k", "2");
    ASSERT_INT(0, odd.freed);
    pdr_object_free(object);
    ASSERT_INT(1, odd.freed);
    pdr_bag_free(bag);
    ASSERT_INT(1, odd.freed);
}

/* --- reading ------------------------------------------------------------- */

TEST(bag_get_typed, decodes_once_and_gives_the_same_object)
{
    struct odd odd = {0};
    pdr_state_type type = odd_type(&odd);
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *first = get(bag, "k", &type);
    pdr_object *second = get(bag, "k", &type);

    ASSERT(first == second);
    ASSERT_INT(1, odd.decoded);
    bag_put(bag, "other", "1"); /* another slot */
    pdr_object *third = get(bag, "k", &type);
    ASSERT(first == third);
    bag_put(bag, "k", "{'a':1}");
    pdr_object *fourth = get(bag, "k", &type);
    ASSERT(first != fourth);
    ASSERT_INT(2, odd.decoded);
    ASSERT_INT(0, odd.encoded);
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_object_free(third);
    pdr_object_free(fourth);
    pdr_bag_free(bag);
}

TEST(bag_get_typed, lets_several_types_read_one_slot)
{
    pdr_bag *bag = bag_of("{'k':'x'}");
    pdr_object *text = get(bag, "k", &text_type);
    pdr_object *json = get(bag, "k", &json_type);
    pdr_object *again = get(bag, "k", &text_type);

    ASSERT(text == again);
    assert_value("'x'", pdr_object_get(json), PDR_COMPACT);
    pdr_object_free(text);
    pdr_object_free(json);
    pdr_object_free(again);
    pdr_bag_free(bag);
}

/* Reading `key` as a counter fails; the message has all of `parts`. */
static void check_unreadable(pdr_bag *bag, const char *key, const char *reason,
                             const char *path, const char *parts[],
                             size_t count)
{
    pdr_object *object = (pdr_object *)(uintptr_t)key;
    pdr_err err = PDR_ERR_INIT;
    uint64_t generation = pdr_bag_generation(bag);
    pdr_rc rc = strcmp(reason, "no_slot") == 0 ? PDR_ENOTFOUND : PDR_EINVALID;

    ASSERT_RC(rc,
              pdr_bag_get_typed(&object, bag, KEY(key), &counter_type, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(rc, err.code);
    ASSERT_STR(path, err.path);
    for (size_t i = 0; i < count; i++)
        if (strstr(err.message, parts[i]) == NULL)
            fail_msg("no %s in: %s", parts[i], err.message);
    ASSERT(object == NULL);
    ASSERT_SIZE(generation, pdr_bag_generation(bag));
}

TEST(bag_get_typed, tells_three_failures_apart)
{
    static const char *decode[] = {"'s'", "test.Counter", "it is no object"};
    static const char *inside[] = {"'d'", "test.Counter", "a is no integer"};
    static const char *other[] = {"'s'", "test.Counter", "test.Text",
                                  "it is no object"};
    static const char *absent[] = {"'x'"};
    pdr_bag *bag = bag_of("{'s':'x','d':{'a':'b'}}");

    check_unreadable(bag, "x", "no_slot", "", absent, 1);
    check_unreadable(bag, "s", "state_decode", "/s", decode, 3);
    check_unreadable(bag, "d", "state_decode", "/d/a", inside, 3);
    pdr_object_free(get(bag, "s", &text_type));
    check_unreadable(bag, "s", "state_type_mismatch", "/s", other, 4);
    assert_bag("{'s':'x','d':{'a':'b'}}", bag);
    bag_put(bag, "s", "'x'"); /* nobody's any more */
    check_unreadable(bag, "s", "state_decode", "/s", decode, 3);
    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("s"), &text_type, "y",
                                        PDR_OVERLAY, NULL));
    check_unreadable(bag, "s", "state_type_mismatch", "/s", other, 4);
    pdr_bag_free(bag);
}

TEST(bag_get_typed, escapes_the_key_in_the_path)
{
    pdr_bag *bag = bag_of("{'a/b~\\n':{'a':'b'}}");

    check_unreadable(bag, "a/b~\n", "state_decode", "/a~1b~0\\n/a", NULL, 0);
    pdr_bag_free(bag);
}

TEST(bag_get_typed, gives_null_for_null_as_any_type)
{
    pdr_bag *bag = bag_of("{'k':null}");

    ASSERT(get(bag, "k", &text_type) == NULL);
    ASSERT(get(bag, "k", &counter_type) == NULL);
    pdr_bag_free(bag);
}

/* What a decoder returned, and what the caller gets. */
static void check_decoder(struct odd odd, pdr_rc rc, const char *reason,
                          const char *message, const char *path)
{
    pdr_state_type type = odd_type(&odd);
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_bag_get_typed(&object, bag, KEY("k"), &type, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(message, err.message);
    ASSERT_STR(path, err.path);
    ASSERT_RC(rc, pdr_bag_get_typed(&object, bag, KEY("k"), &type, NULL));
    ASSERT(object == NULL);
    pdr_bag_free(bag);
}

TEST(bag_get_typed, gives_a_good_error_whatever_the_decoder_does)
{
    check_decoder((struct odd){.decode = PDR_EVERSION}, PDR_EINVALID,
                  "state_decode",
                  "slot 'k' does not fit the type test.Odd: as it was told to",
                  "/k/in/0");
    check_decoder(
        (struct odd){.decode = PDR_EMISUSE, .is_silent = true}, PDR_EINVALID,
        "state_decode",
        "slot 'k' does not fit the type test.Odd: it does not say why", "/k");
    check_decoder(
        (struct odd){.decode = (pdr_rc)99, .is_silent = true}, PDR_EINVALID,
        "state_decode",
        "slot 'k' does not fit the type test.Odd: it does not say why", "/k");
    check_decoder((struct odd){.gives_nothing = true}, PDR_EINVALID,
                  "state_decode",
                  "slot 'k' does not fit the type test.Odd: the decoder of "
                  "test.Odd gave no object",
                  "/k");
    check_decoder((struct odd){.decode = PDR_ENOMEM, .is_silent = true},
                  PDR_ENOMEM, "no_memory", "out of memory", "");
}

TEST(bag_get_typed, keeps_the_end_of_a_path_that_is_too_long)
{
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_bag *bag = bag_of("{}");
    pdr_value *value = doc_value("{'a':'b'}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < 10; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(LONG_TEXT), NULL));
    ASSERT_RC(PDR_OK, pdr_bag_set(bag, pdr_buf_str(&text), value, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_bag_get_typed(&object, bag, pdr_buf_str(&text),
                                              &counter_type, &err));
    ASSERT(strncmp(err.path, "...", 3) == 0);
    ASSERT_STR("/a", err.path + strlen(err.path) - 2);
    pdr_value_free(value);
    pdr_buf_dispose(&text);
    pdr_bag_free(bag);
}

/* A decoder whose own path was cut. */
static pdr_rc cut_decode(void **out, const pdr_value *value, pdr_err *err,
                         void *arg)
{
    (void)out;
    (void)value;
    (void)arg;
    (void)pdr_err_set(err, PDR_EINVALID, "cut", "deep inside");
    (void)snprintf(err->path, sizeof(err->path), ".../deep");
    return PDR_EINVALID;
}

TEST(bag_get_typed, puts_nothing_before_a_path_that_was_cut)
{
    pdr_state_type type = counter_type;
    pdr_bag *bag = bag_of("{'k':1}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    type.decode = cut_decode;
    ASSERT_RC(PDR_EINVALID,
              pdr_bag_get_typed(&object, bag, KEY("k"), &type, &err));
    ASSERT_STR(".../deep", err.path);
    pdr_bag_free(bag);
}

/* A decoder that changes the slot it reads: nothing is claimed by a read. */
TEST(bag_get_typed, does_not_publish_what_is_no_longer_there)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    struct odd odd = {.bag = bag, .wrote = PDR_EIO};
    pdr_state_type type = odd_type(&odd);
    pdr_object *object = get(bag, "k", &type), *again = NULL;

    ASSERT_RC(PDR_OK, odd.wrote); /* it removed the slot */
    ASSERT_INT(1, counter_of(object));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_bag_get_typed(&again, bag, KEY("k"), &type, NULL));
    pdr_object_free(object);
    pdr_bag_free(bag);
}

/* A decoder that reads the same slot as the same type, once. */
static pdr_rc nested_decode(void **out, const pdr_value *value, pdr_err *err,
                            void *arg)
{
    struct odd *odd = arg;
    pdr_state_type *type = (pdr_state_type *)(uintptr_t)odd->json;

    odd->decoded++;
    if (odd->decoded == 1)
        pdr_object_free(get(odd->bag, "k", type));
    return counter_type.decode(out, value, err, NULL);
}

TEST(bag_get_typed, takes_the_object_that_another_reader_published_first)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    struct odd odd = {.bag = bag};
    pdr_state_type type = odd_type(&odd);

    type.decode = nested_decode;
    odd.json = (const char *)&type;
    pdr_object *first = get(bag, "k", &type);
    pdr_object *second = get(bag, "k", &type);
    ASSERT(first == second);
    ASSERT_INT(2, odd.decoded);
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_bag_free(bag);
    ASSERT_INT(2, odd.freed);
}

/* --- writing ------------------------------------------------------------- */

static void set_counter(pdr_bag *bag, int64_t a, int64_t b, pdr_overlay how)
{
    struct counter counter = {a, b};

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &counter_type, &counter,
                                        how, NULL));
}

TEST(bag_set_typed, keeps_what_the_type_does_not_know)
{
    pdr_bag *bag = bag_of("{'k':{'x':[1.0],'a':1.0,'y':null,'b':2},'z':0}");

    set_counter(bag, 1, 2, PDR_OVERLAY); /* no change: spelling too */
    assert_bag("{'k':{'x':[1.0],'a':1.0,'y':null,'b':2},'z':0}", bag);
    set_counter(bag, 1, 3, PDR_OVERLAY);
    assert_bag("{'k':{'x':[1.0],'a':1.0,'y':null,'b':3},'z':0}", bag);
    set_counter(bag, 5, 0, PDR_OVERLAY);
    assert_bag("{'k':{'x':[1.0],'a':5,'y':null},'z':0}", bag);
    set_counter(bag, 5, 7, PDR_REPLACE);
    assert_bag("{'k':{'a':5,'b':7},'z':0}", bag);
    ASSERT_SIZE(3, pdr_bag_generation(bag));
    pdr_bag_free(bag);
}

TEST(bag_set_typed, touches_nothing_if_nothing_changed)
{
    static const char *const parts[] = {"test.Counter", "test.Text"};
    pdr_value *value = doc_value(" { 'k' : { 'a' : 1.0 , 'x' : [ ] } } ");
    pdr_object *text = NULL;
    pdr_bag *bag = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, value, NULL));
    set_counter(bag, 1, 0, PDR_OVERLAY);
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    pdr_value *now = pdr_bag_snapshot(bag);
    ASSERT(value == now);
    /* It was written as a counter all the same. */
    ASSERT_RC(PDR_EINVALID,
              pdr_bag_get_typed(&text, bag, KEY("k"), &text_type, &err));
    ASSERT_STR("state_type_mismatch", err.reason);
    for (size_t i = 0; i < 2; i++)
        ASSERT(strstr(err.message, parts[i]) != NULL);
    pdr_value_free(now);
    pdr_value_free(value);
    pdr_bag_free(bag);
}

TEST(bag_set_typed, replaces_what_does_not_fit)
{
    static const char *const texts[] = {"{}", "{'k':null}", "{'k':'x'}",
                                        "{'k':{'a':'b','x':1}}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pdr_bag *bag = bag_of(texts[i]);

        set_counter(bag, 5, 0, PDR_OVERLAY);
        assert_bag("{'k':{'a':5}}", bag);
        pdr_bag_free(bag);
    }
}

TEST(bag_set_typed, copies_the_object_and_gives_that_copy)
{
    struct counter counter = {1, 0};
    pdr_bag *bag = bag_of("{}");

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &counter_type, &counter,
                                        PDR_OVERLAY, NULL));
    counter.a = 2;
    pdr_object *first = get(bag, "k", &counter_type);
    pdr_object *second = get(bag, "k", &counter_type);
    ASSERT(first == second);
    ASSERT_INT(1, counter_of(first));
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_bag_free(bag);
}

TEST(bag_set_typed, drops_the_views_of_other_types)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *json = get(bag, "k", &json_type);

    set_counter(bag, 2, 0, PDR_OVERLAY);
    pdr_object *again = get(bag, "k", &json_type);
    ASSERT(json != again);
    assert_value("{'a':1}", pdr_object_get(json), PDR_COMPACT);
    assert_value("{'a':2}", pdr_object_get(again), PDR_COMPACT);
    pdr_object_free(json);
    pdr_object_free(again);
    pdr_bag_free(bag);
}

TEST(bag_set_typed, writes_null_for_no_object)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &counter_type, NULL,
                                        PDR_OVERLAY, NULL));
    assert_bag("{'k':null}", bag);
    ASSERT(get(bag, "k", &counter_type) == NULL);
    pdr_bag_free(bag);
}

/* Setting an object of this type fails and leaves everything as it was. */
static void check_encoder(struct odd odd, pdr_rc rc, const char *reason,
                          const char *message, const char *path)
{
    pdr_state_type type = odd_type(&odd);
    struct counter counter = {5, 0};
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *kept = get(bag, "k", &counter_type);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_bag_set_typed(bag, KEY("k"), &type, &counter, PDR_REPLACE,
                                    &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(message, err.message);
    ASSERT_STR(path, err.path);
    ASSERT_RC(rc, pdr_bag_set_typed(bag, KEY("k"), &type, &counter, PDR_REPLACE,
                                    NULL));
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    assert_bag("{'k':{'a':1}}", bag);
    pdr_object *again = get(bag, "k", &counter_type);
    ASSERT(kept == again);
    pdr_object_free(kept);
    pdr_object_free(again);
    bag_put(bag, "k", "1"); /* the claim is gone */
    pdr_bag_free(bag);
}

TEST(bag_set_typed, fails_at_once_with_what_cannot_be_written)
{
    check_encoder(
        (struct odd){.encode = PDR_EINVALID}, PDR_EINVALID, "state_encode",
        "slot 'k': an object of test.Odd cannot be encoded: as it was told to",
        "/k/in/0");
    check_encoder(
        (struct odd){.encode = (pdr_rc)7, .is_silent = true}, PDR_EINVALID,
        "state_encode",
        "slot 'k': an object of test.Odd cannot be encoded: it does not say why",
        "/k");
    check_encoder((struct odd){.encode = PDR_ENOMEM}, PDR_ENOMEM, "no_memory",
                  "out of memory", "");
    check_encoder(
        (struct odd){.json = "{\"v\":[1,NaN]}"}, PDR_EINVALID, "state_encode",
        "slot 'k': the encoder of test.Odd gave NaN, which is no JSON",
        "/k/v/1");
    check_encoder((struct odd){.json = "null"}, PDR_EINVALID, "state_encode",
                  "slot 'k': the encoder of test.Odd gave null for an object",
                  "/k");
}

TEST(bag_set_typed, fails_at_once_with_what_cannot_be_copied)
{
    check_encoder(
        (struct odd){.copy = PDR_EIO}, PDR_EINVALID, "state_encode",
        "slot 'k': an object of test.Odd cannot be copied: as it was told to",
        "/k");
    check_encoder(
        (struct odd){.gives_nothing = true}, PDR_EINVALID, "state_encode",
        "slot 'k': an object of test.Odd cannot be copied: it does not say why",
        "/k");
    check_encoder((struct odd){.copy = PDR_ENOMEM}, PDR_ENOMEM, "no_memory",
                  "out of memory", "");
}

/* An encoder that succeeds and gives nothing. */
static pdr_rc empty_encode(pdr_value **out, const void *object, pdr_err *err,
                           void *arg)
{
    (void)out;
    (void)object;
    (void)err;
    (void)arg;
    return PDR_OK;
}

TEST(bag_set_typed, refuses_an_encoder_that_gives_nothing)
{
    pdr_state_type type = counter_type;
    struct counter counter = {1, 0};
    pdr_bag *bag = bag_of("{}");
    pdr_err err = PDR_ERR_INIT;

    type.encode = empty_encode;
    ASSERT_RC(PDR_EINVALID, pdr_bag_set_typed(bag, KEY("k"), &type, &counter,
                                              PDR_OVERLAY, &err));
    ASSERT_STR("slot 'k': the encoder of test.Counter gave no value",
               err.message);
    pdr_bag_free(bag);
}

/* NaN in a value that was put together from parts. */
static pdr_rc changed_encode(pdr_value **out, const void *object, pdr_err *err,
                             void *arg)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *bare = NULL, *list = pdr_value_new_array();

    (void)object;
    (void)arg;
    pdr_rc rc = pdr_json_read(&bare, pdr_str_c("-Infinity"), &opts, err);
    *out = pdr_value_new_object();
    if (rc == PDR_OK)
        rc = pdr_value_append(&list, bare, err);
    if (rc == PDR_OK)
        rc = pdr_value_set(out, pdr_str_c("a"), pdr_value_new_null(), err);
    if (rc == PDR_OK)
        rc = pdr_value_set(out, pdr_str_c("b"), list, err);
    pdr_value_free(bare);
    pdr_value_free(list);
    return rc;
}

TEST(bag_set_typed, finds_a_bare_token_in_a_changed_value)
{
    pdr_state_type type = counter_type;
    struct counter counter = {1, 0};
    pdr_bag *bag = bag_of("{}");
    pdr_err err = PDR_ERR_INIT;

    type.encode = changed_encode;
    ASSERT_RC(PDR_EINVALID, pdr_bag_set_typed(bag, KEY("k"), &type, &counter,
                                              PDR_OVERLAY, &err));
    ASSERT_STR("state_encode", err.reason);
    ASSERT_STR("/k/b/0", err.path);
    assert_bag("{}", bag);
    pdr_bag_free(bag);
}

TEST(bag_set_typed, keeps_unknown_members_also_if_the_old_value_has_no_encoding)
{
    struct odd odd = {.refuse_at = 2}; /* the decoded old value */
    pdr_state_type type = odd_type(&odd);
    struct counter counter = {5, 0};
    pdr_bag *bag = bag_of("{'k':{'x':7,'a':1}}");

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &type, &counter,
                                        PDR_OVERLAY, NULL));
    ASSERT_INT(2, odd.encoded);
    assert_bag("{'k':{'x':7,'a':5}}", bag);
    pdr_bag_free(bag);
}

TEST(bag_set_typed, refuses_what_is_too_deep)
{
    pdr_bag *bag = bag_of("{'k':1}");
    pdr_value *deep = doc_value("[[[]]]");
    pdr_err err = PDR_ERR_INIT;

    pdr__bag_set_levels(bag, 2);
    ASSERT_RC(PDR_ELIMIT, pdr_bag_set_typed(bag, KEY("k"), &json_type, deep,
                                            PDR_OVERLAY, &err));
    ASSERT_STR("too_deep", err.reason);
    assert_bag("{'k':1}", bag);
    pdr_value_free(deep);
    pdr_bag_free(bag);
}

TEST(bag_set_typed, refuses_its_own_functions_to_write)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    struct odd odd = {.bag = bag};
    pdr_state_type type = odd_type(&odd);
    struct counter counter = {5, 0};

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(bag, KEY("k"), &type, &counter,
                                        PDR_OVERLAY, NULL));
    ASSERT_RC(PDR_EMISUSE, odd.wrote);
    ASSERT_INT(1, odd.decoded);
    ASSERT_INT(2, odd.encoded);
    assert_bag("{'k':{'a':5}}", bag);
    pdr_bag_free(bag);
}

/* --- changing ------------------------------------------------------------ */

struct step {
    int64_t expected; /* INT64_MIN: nothing */
    int64_t put;      /* INT64_MIN: nothing */
    pdr_rc rc;
};

static pdr_rc make_step(void **io, pdr_err *err, void *arg)
{
    const struct step *step = arg;
    struct counter *counter = *io;

    ASSERT((counter == NULL) == (step->expected == INT64_MIN));
    if (counter != NULL)
        ASSERT_INT(step->expected, counter->a);
    if (step->put == INT64_MIN) {
        counter_type.free(counter, NULL);
        *io = NULL;
    } else if (counter != NULL) {
        counter->a = step->put;
    } else {
        pdr_rc rc = counter_new(io, step->put, err);
        if (rc != PDR_OK)
            return rc;
    }
    return step->rc;
}

static pdr_rc update(pdr_bag *bag, int64_t expected, int64_t put, pdr_rc rc,
                     pdr_err *err)
{
    struct step step = {expected, put, rc};

    return pdr_bag_update_typed(bag, KEY("k"), &counter_type, err, make_step,
                                &step);
}

TEST(bag_update_typed, changes_a_copy_and_writes_it_over_the_old_value)
{
    pdr_bag *bag = bag_of("{'k':{'x':1,'a':1}}");
    pdr_object *before = get(bag, "k", &counter_type);

    ASSERT_RC(PDR_OK, update(bag, 1, 2, PDR_OK, NULL));
    assert_bag("{'k':{'x':1,'a':2}}", bag);
    ASSERT_INT(1, counter_of(before));
    pdr_object_free(before);
    ASSERT_RC(PDR_OK, update(bag, 2, INT64_MIN, PDR_OK, NULL));
    assert_bag("{'k':null}", bag);
    ASSERT_RC(PDR_OK, update(bag, INT64_MIN, 3, PDR_OK, NULL));
    assert_bag("{'k':{'a':3}}", bag);
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("k"), NULL));
    ASSERT_RC(PDR_OK, update(bag, INT64_MIN, INT64_MIN, PDR_OK, NULL));
    assert_bag("{'k':null}", bag);
    pdr_bag_free(bag);
}

TEST(bag_update_typed, leaves_the_bag_as_it_was_if_the_callback_fails)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");

    ASSERT_RC(PDR_ECANCELLED, update(bag, 1, 2, PDR_ECANCELLED, NULL));
    ASSERT_RC(PDR_ECANCELLED, update(bag, 1, INT64_MIN, PDR_ECANCELLED, NULL));
    assert_bag("{'k':{'a':1}}", bag);
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    pdr_bag_free(bag);
}

TEST(bag_update_typed, does_not_overwrite_what_does_not_fit)
{
    pdr_bag *bag = bag_of("{'k':'x'}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, update(bag, 1, 2, PDR_OK, &err));
    ASSERT_STR("state_decode", err.reason);
    pdr_object_free(get(bag, "k", &text_type));
    ASSERT_RC(PDR_EINVALID, update(bag, 1, 2, PDR_OK, &err));
    ASSERT_STR("state_type_mismatch", err.reason);
    assert_bag("{'k':'x'}", bag);
    pdr_bag_free(bag);
}

/* --- making -------------------------------------------------------------- */

struct init {
    int64_t a; /* INT64_MIN: nothing */
    pdr_rc rc;
    unsigned calls;
};

static pdr_rc make_first(void **out, pdr_err *err, void *arg)
{
    struct init *init = arg;

    init->calls++;
    if (init->a != INT64_MIN) {
        pdr_rc rc = counter_new(out, init->a, err);
        if (rc != PDR_OK)
            return rc;
    }
    return init->rc;
}

static pdr_rc get_or_init(pdr_object **out, pdr_bag *bag, struct init *init,
                          pdr_err *err)
{
    return pdr_bag_get_or_init(out, bag, KEY("k"), &counter_type, err,
                               make_first, init);
}

TEST(bag_get_or_init, makes_what_is_missing_or_null_once)
{
    static const char *const texts[] = {"{}", "{'k':null}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct init init = {.a = 7};
        pdr_bag *bag = bag_of(texts[i]);
        pdr_object *first = NULL, *second = NULL;

        ASSERT_RC(PDR_OK, get_or_init(&first, bag, &init, NULL));
        ASSERT_RC(PDR_OK, get_or_init(&second, bag, &init, NULL));
        ASSERT(first == second);
        ASSERT_INT(7, counter_of(first));
        ASSERT_INT(1, init.calls);
        assert_bag("{'k':{'a':7}}", bag);
        ASSERT_SIZE(1, pdr_bag_generation(bag));
        pdr_object_free(first);
        pdr_object_free(second);
        pdr_bag_free(bag);
    }
}

TEST(bag_get_or_init, gives_what_is_there)
{
    struct init init = {.a = 7};
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK, get_or_init(&object, bag, &init, NULL));
    ASSERT_INT(1, counter_of(object));
    ASSERT_INT(0, init.calls);
    ASSERT_SIZE(0, pdr_bag_generation(bag));
    pdr_object_free(object);
    pdr_bag_free(bag);
}

TEST(bag_get_or_init, writes_null_for_nothing_and_asks_again)
{
    struct init init = {.a = INT64_MIN};
    pdr_bag *bag = bag_of("{}");
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK, get_or_init(&object, bag, &init, NULL));
    ASSERT(object == NULL);
    assert_bag("{'k':null}", bag);
    ASSERT_RC(PDR_OK, get_or_init(&object, bag, &init, NULL));
    ASSERT_INT(2, init.calls);
    ASSERT_SIZE(1, pdr_bag_generation(bag));
    pdr_bag_free(bag);
}

TEST(bag_get_or_init, keeps_nothing_of_what_failed)
{
    struct init fails = {.a = 7, .rc = PDR_EBUSY};
    struct init empty = {.a = INT64_MIN, .rc = PDR_EBUSY};
    struct odd odd = {.encode = PDR_EINVALID};
    pdr_state_type type = odd_type(&odd);
    pdr_bag *bag = bag_of("{}");
    pdr_object *object = NULL;
    struct init init = {.a = 7};

    ASSERT_RC(PDR_EBUSY, get_or_init(&object, bag, &fails, NULL));
    ASSERT_RC(PDR_EBUSY, get_or_init(&object, bag, &empty, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_bag_get_or_init(&object, bag, KEY("k"), &type,
                                                NULL, make_first, &init));
    ASSERT(object == NULL);
    ASSERT_INT(1, odd.freed);
    assert_bag("{}", bag);
    pdr_bag_free(bag);
}

TEST(bag_get_or_init, does_not_overwrite_what_does_not_fit)
{
    struct init init = {.a = 7};
    pdr_bag *bag = bag_of("{'k':[]}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, get_or_init(&object, bag, &init, &err));
    ASSERT_STR("state_decode", err.reason);
    pdr_object_free(get(bag, "k", &json_type));
    ASSERT_RC(PDR_EINVALID, get_or_init(&object, bag, &init, &err));
    ASSERT_STR("state_type_mismatch", err.reason);
    ASSERT(object == NULL);
    ASSERT_INT(0, init.calls);
    assert_bag("{'k':[]}", bag);
    pdr_bag_free(bag);
}

/* --- failures of memory -------------------------------------------------- */

TEST_OOM(bag_get_typed, gives_nothing_without_memory)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    pdr_object *object = NULL;
    pdr_rc rc = pdr_bag_get_typed(&object, bag, KEY("k"), &counter_type, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((object != NULL) == (rc == PDR_OK));
    pdr_object_free(object);
    pdr_bag_free(bag);
}

TEST_OOM(bag_get_typed, tells_that_it_does_not_fit_also_without_memory)
{
    pdr_bag *bag = bag_of("{'k':'x'}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_bag_get_typed(&object, bag, KEY("k"), &counter_type, &err));
    ASSERT(strcmp(err.path, "/k") == 0 || err.path[0] == '\0');
    pdr_bag_free(bag);
}

/* The bag is as before, or as after. */
static void check_after(pdr_bag *bag, pdr_rc rc, const char *before,
                        const char *after)
{
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    assert_bag(rc == PDR_OK ? after : before, bag);
    ASSERT_SIZE(rc == PDR_OK ? 1 : 0, pdr_bag_generation(bag));
    bag_put(bag, "free", "1"); /* nobody holds a claim */
}

TEST_OOM(bag_set_typed, leaves_the_bag_as_it_was_without_memory)
{
    pdr_bag *bag = bag_of("{'k':{'x':1,'a':1,'b':2}}");
    struct counter counter = {5, 0};

    check_after(bag,
                pdr_bag_set_typed(bag, KEY("k"), &counter_type, &counter,
                                  PDR_OVERLAY, NULL),
                "{'k':{'x':1,'a':1,'b':2}}", "{'k':{'x':1,'a':5}}");
    pdr_bag_free(bag);
}

TEST_OOM(bag_set_typed, keeps_the_old_view_without_memory)
{
    pdr_bag *bag = bag_of("{'k':{'a':1}}");
    struct counter counter = {5, 0};

    test_pause_failures(true);
    pdr_object *before = get(bag, "k", &counter_type);
    test_pause_failures(false);
    if (pdr_bag_set_typed(bag, KEY("k"), &counter_type, &counter, PDR_OVERLAY,
                          NULL) != PDR_OK) {
        test_pause_failures(true);
        pdr_object *after = get(bag, "k", &counter_type);
        ASSERT(before == after);
        pdr_object_free(after);
        test_pause_failures(false);
    }
    pdr_object_free(before);
    pdr_bag_free(bag);
}

TEST_OOM(bag_update_typed, leaves_the_bag_as_it_was_without_memory)
{
    pdr_bag *bag = bag_of("{'k':{'x':1,'a':1}}");

    check_after(bag, update(bag, 1, 2, PDR_OK, NULL), "{'k':{'x':1,'a':1}}",
                "{'k':{'x':1,'a':2}}");
    pdr_bag_free(bag);
}

TEST_OOM(bag_get_or_init, leaves_the_bag_as_it_was_without_memory)
{
    pdr_bag *bag = bag_of("{'k':null}");
    struct init init = {.a = 7};
    pdr_object *object = NULL;
    pdr_rc rc = get_or_init(&object, bag, &init, NULL);

    ASSERT((object != NULL) == (rc == PDR_OK));
    check_after(bag, rc, "{'k':null}", "{'k':{'a':7}}");
    pdr_object_free(object);
    pdr_bag_free(bag);
}
