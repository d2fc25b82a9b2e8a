/*
 * properties.c - the map of additional properties.
 */
#include "metadata.h"

#include "card.h"
#include "values.h"

static const pdr_state_type card_type = CARD_TYPE(NULL);

static pdr_properties *properties_of(const char *json)
{
    pdr_value *value = value_of(json);
    pdr_properties *properties = NULL;

    ASSERT_RC(PDR_OK, pdr_properties_from_value(&properties, value, NULL));
    pdr_value_free(value);
    return properties;
}

#define ASSERT_MEMBERS(expected, properties)                       \
    do {                                                           \
        pdr_value *members_ = pdr_properties_to_value(properties); \
        ASSERT_JSON(expected, members_);                           \
        pdr_value_free(members_);                                  \
    } while (0)

/* --- the map as a whole -------------------------------------------------- */

TEST(properties_new, has_none)
{
    pdr_properties *properties = NULL;

    ASSERT_RC(PDR_OK, pdr_properties_new(&properties, NULL));
    ASSERT_SIZE(0, pdr_properties_count(properties));
    ASSERT_MEMBERS("{}", properties);
    pdr_properties_free(properties);
    pdr_properties_free(NULL);
}

TEST(properties_from_value, keeps_everything)
{
    const char *text = "{\"a\":1.0,\"\":null,\"A\":\"\\u0041\",\"a\":{\"x\":"
                       "[]},\" \":1e2,\"\\uD800\":1}";
    pdr_properties *properties = properties_of(text);

    ASSERT_SIZE(6, pdr_properties_count(properties));
    ASSERT_MEMBERS(text, properties);
    pdr_properties_free(properties);
}

static void assert_no_properties(const char *reason, const char *json)
{
    pdr_value *value = value_of(json);
    pdr_properties *properties = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_properties_from_value(&properties, value, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(properties == NULL);
    pdr_value_free(value);
}

TEST(properties_from_value, refuses_what_is_no_object)
{
    assert_no_properties("wrong_kind", "[]");
    assert_no_properties("wrong_kind", "null");
    assert_no_properties("wrong_kind", "\"a\"");
}

/* An object with `count` members p0, p1, … */
static pdr_value *many(size_t count)
{
    pdr_builder *builder = NULL;
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&builder, NULL));
    pdr_builder_object(builder);
    for (size_t i = 0; i < count; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "p%zu", i);
        pdr_builder_name(builder, pdr_str_c(name));
        pdr_builder_null(builder);
    }
    pdr_builder_end(builder);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&value, builder, NULL));
    pdr_builder_free(builder);
    return value;
}

TEST(properties_from_value, takes_a_thousand_and_no_more)
{
    pdr_value *most = many(1000), *more = many(1001);
    pdr_properties *properties = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_properties_from_value(&properties, most, NULL));
    pdr_properties_free(properties);
    ASSERT_RC(PDR_ELIMIT, pdr_properties_from_value(&properties, more, &err));
    ASSERT_STR("too_many_properties", err.reason);
    ASSERT(properties == NULL);
    pdr_value_free(more);
    pdr_value_free(most);
}

TEST(properties_dup, shares_nothing_that_changes)
{
    pdr_properties *one = properties_of("{\"a\":1}"), *two = NULL;
    pdr_value *value = number_of(2);

    ASSERT_RC(PDR_OK, pdr_properties_dup(&two, one, NULL));
    ASSERT_RC(PDR_OK, pdr_properties_set(two, pdr_str_c("a"), value, NULL));
    ASSERT_RC(PDR_OK, pdr_properties_set(one, pdr_str_c("b"), value, NULL));
    ASSERT_MEMBERS("{\"a\":1,\"b\":2}", one);
    ASSERT_MEMBERS("{\"a\":2}", two);
    pdr_value_free(value);
    pdr_properties_free(two);
    pdr_properties_free(one);
}

/* --- by name ------------------------------------------------------------- */

TEST(properties_get, takes_the_exact_name_then_another_case)
{
    pdr_properties *properties =
        properties_of("{\"Tenant\":1,\"tenant\":2,\"Tag\":null}");
    const pdr_value *found = NULL;

    ASSERT_RC(PDR_OK, pdr_properties_get(&found, properties,
                                         pdr_str_c("tenant"), NULL));
    ASSERT_JSON("2", found);
    ASSERT_RC(PDR_OK,
              pdr_properties_get(&found, properties, pdr_str_c("TAG"), NULL));
    ASSERT_JSON("null", found);
    ASSERT(pdr_properties_has(properties, pdr_str_c("tag")));
    ASSERT(pdr_properties_has(properties, pdr_str_c("Tenant")));
    ASSERT(!pdr_properties_has(properties, pdr_str_c("TENANT")));
    ASSERT(!pdr_properties_has(properties, pdr_str_c("ten")));
    ASSERT(!pdr_properties_has(properties, pdr_str_c("")));
    pdr_properties_free(properties);
}

static void assert_not_got(const char *reason, pdr_rc rc,
                           const pdr_properties *properties, pdr_str name)
{
    const pdr_value *found = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_properties_get(&found, properties, name, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(found == NULL);
}

TEST(properties_get, says_why_there_is_none)
{
    pdr_properties *properties =
        properties_of("{\"AB\":1,\"Ab\":2,\"\":3,\"  \":4}");
    static char longest[1025];

    memset(longest, 'x', sizeof(longest));
    assert_not_got("no_property", PDR_ENOTFOUND, properties, pdr_str_c("c"));
    assert_not_got("key_ambiguous", PDR_EINVALID, properties, pdr_str_c("ab"));
    assert_not_got("key_null", PDR_EINVALID, properties, pdr_str_n(NULL, 0));
    assert_not_got("key_blank", PDR_EINVALID, properties, pdr_str_c(""));
    assert_not_got("key_blank", PDR_EINVALID, properties, pdr_str_c("  "));
    assert_not_got("bad_utf8", PDR_EINVALID, properties, pdr_str_c("\xFF"));
    assert_not_got("no_property", PDR_ENOTFOUND, properties,
                   pdr_str_n(longest, 1024));
    assert_not_got("key_too_long", PDR_EINVALID, properties,
                   pdr_str_n(longest, 1025));
    pdr_properties_free(properties);
}

TEST(properties_set, keeps_place_and_spelling_of_a_name)
{
    pdr_properties *properties =
        properties_of("{\"\\u0054ag\":1,\"b\":2,\"c\":3}");
    pdr_value *value = value_of("[4]");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("tag"), value, &err));
    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("b"), value, &err));
    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("New"), value, &err));
    ASSERT_MEMBERS("{\"\\u0054ag\":[4],\"b\":[4],\"c\":3,\"New\":[4]}",
                   properties);
    ASSERT_STR("", err.reason);
    pdr_value_free(value);
    pdr_properties_free(properties);
}

TEST(properties_set, refuses_a_name_that_could_be_two)
{
    pdr_properties *properties = properties_of("{\"AB\":1,\"Ab\":2}");
    pdr_value *value = number_of(3);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_properties_set(properties, pdr_str_c("ab"), value, &err));
    ASSERT_STR("key_ambiguous", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_add(properties, pdr_str_c("ab"), value, &err));
    ASSERT_STR("key_ambiguous", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_remove(properties, pdr_str_c("ab"), &err));
    ASSERT_STR("key_ambiguous", err.reason);
    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("Ab"), value, NULL));
    ASSERT_MEMBERS("{\"AB\":1,\"Ab\":3}", properties);
    pdr_value_free(value);
    pdr_properties_free(properties);
}

TEST(properties_set, stops_at_a_thousand)
{
    pdr_value *members = many(999), *value = number_of(1);
    pdr_properties *properties = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_properties_from_value(&properties, members, NULL));
    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("x"), value, NULL));
    ASSERT_RC(PDR_ELIMIT,
              pdr_properties_set(properties, pdr_str_c("y"), value, &err));
    ASSERT_STR("too_many_properties", err.reason);
    ASSERT_RC(PDR_ELIMIT,
              pdr_properties_add(properties, pdr_str_c("y"), value, &err));
    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("x"), value, NULL));
    ASSERT_SIZE(1000, pdr_properties_count(properties));
    pdr_properties_free(properties);
    pdr_value_free(value);
    pdr_value_free(members);
}

/* Arrays inside each other. */
static pdr_value *nested(size_t levels)
{
    char text[600];

    memset(text, '[', levels);
    memset(text + levels, ']', levels);
    text[2 * levels] = '\0';
    return value_of(text);
}

TEST(properties_set, stops_at_126_levels)
{
    pdr_properties *properties = properties_of("{}");
    pdr_value *most = nested(126), *more = nested(127);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("a"), most, NULL));
    ASSERT_RC(PDR_ELIMIT,
              pdr_properties_set(properties, pdr_str_c("a"), more, &err));
    ASSERT_STR("too_deep", err.reason);
    /* A shallow part of something deep is fine. */
    ASSERT_RC(PDR_OK, pdr_properties_set(properties, pdr_str_c("a"),
                                         pdr_value_at(more, 0), NULL));
    pdr_value_free(more);
    pdr_value_free(most);
    pdr_properties_free(properties);
}

TEST(properties_add, leaves_what_is_there)
{
    pdr_properties *properties = properties_of("{\"Tag\":null}");
    pdr_value *value = number_of(2);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EEXISTS,
              pdr_properties_add(properties, pdr_str_c("tag"), value, &err));
    ASSERT_STR("property_exists", err.reason);
    ASSERT_STR("there is a property 'Tag' already; set it to replace it",
               err.message);
    ASSERT_RC(PDR_OK,
              pdr_properties_add(properties, pdr_str_c("b"), value, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_add(properties, pdr_str_c(" "), value, &err));
    ASSERT_MEMBERS("{\"Tag\":null,\"b\":2}", properties);
    pdr_value_free(value);
    pdr_properties_free(properties);
}

TEST(properties_remove, takes_one_out)
{
    pdr_properties *properties =
        properties_of("{\"a\":1,\"Tag\":2,\"a\":3,\"b\":4}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_properties_remove(properties, pdr_str_c("TAG"), NULL));
    ASSERT_RC(PDR_OK, pdr_properties_remove(properties, pdr_str_c("a"), NULL));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_properties_remove(properties, pdr_str_c("a"), &err));
    ASSERT_STR("no_property", err.reason);
    ASSERT_MEMBERS("{\"b\":4}", properties);
    pdr_properties_free(properties);
}

/* --- by type ------------------------------------------------------------- */

static int64_t size_of(pdr_properties *properties, const pdr_state_type *type)
{
    pdr_object *object = NULL;
    const struct card *card = NULL;
    int64_t size = 0;

    ASSERT_RC(PDR_OK,
              pdr_properties_get_typed(&object, properties, type, NULL));
    ASSERT(pdr_object_type(object) == type);
    card = pdr_object_get(object);
    size = card->size;
    pdr_object_free(object);
    return size;
}

TEST(properties_add_typed, writes_under_the_name_of_the_type)
{
    pdr_properties *properties = properties_of("{\"a\":1}");
    struct card card = {3, "three"};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_properties_add_typed(properties, &card_type, &card, &err));
    ASSERT_STR("", err.reason);
    ASSERT_MEMBERS("{\"a\":1,\"shop/card\":{\"size\":3,\"title\":\"three\"}}",
                   properties);
    ASSERT_INT(3, size_of(properties, &card_type));
    card.size = 4;
    ASSERT_RC(PDR_EEXISTS,
              pdr_properties_add_typed(properties, &card_type, &card, &err));
    ASSERT_STR("property_exists", err.reason);
    ASSERT_INT(3, size_of(properties, &card_type));
    pdr_properties_free(properties);
}

TEST(properties_add_typed, reports_what_cannot_be_encoded)
{
    pdr_properties *properties = properties_of("{\"a\":1}");
    struct card bad = {-1, ""};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_properties_add_typed(properties, &card_type, &bad, &err));
    ASSERT_STR("state_encode", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_set_typed(properties, &card_type, &bad, &err));
    ASSERT_STR("state_encode", err.reason);
    ASSERT_MEMBERS("{\"a\":1}", properties);
    pdr_properties_free(properties);
}

static pdr_rc encode_nan(pdr_value **out, const void *object, pdr_err *err,
                         void *arg)
{
    static const char text[] = "{\"rate\":NaN}";
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};

    (void)object;
    (void)arg;
    return pdr_json_read(out, pdr_str_c(text), &opts, err);
}

TEST(properties_set_typed, says_where_it_cannot_be_encoded)
{
    pdr_properties *properties = properties_of("{\"shop/CARD\":{}}");
    pdr_state_type type = card_type;
    struct card card = {1, ""};
    pdr_err err = PDR_ERR_INIT;

    type.encode = encode_nan;
    type.name = "shop/card";
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_set_typed(properties, &type, &card, &err));
    ASSERT_STR("/shop~1CARD/rate", err.path);
    ASSERT(strstr(err.message, "property 'shop/CARD'") != NULL);
    type.name = "other";
    type.aliases = NULL;
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_add_typed(properties, &type, &card, &err));
    ASSERT_STR("/other/rate", err.path);
    pdr_properties_free(properties);
}

TEST(properties_set_typed, keeps_what_the_type_does_not_know)
{
    pdr_properties *properties = properties_of(
        "{\"Shop.Card\":{\"z\":1.50,\"size\":3.0,\"y\":[],\"title\":\"old\"}}");
    struct card card = {3, "new"};

    ASSERT_RC(PDR_OK,
              pdr_properties_set_typed(properties, &card_type, &card, NULL));
    ASSERT_MEMBERS("{\"Shop.Card\":{\"z\":1.50,\"size\":3.0,\"y\":[],"
                   "\"title\":\"new\"}}",
                   properties);
    card.size = 5;
    ASSERT_RC(PDR_OK,
              pdr_properties_set_typed(properties, &card_type, &card, NULL));
    ASSERT_INT(5, size_of(properties, &card_type));
    pdr_properties_free(properties);
}

TEST(properties_set_typed, replaces_null_and_what_does_not_fit)
{
    static const char *const before[] = {"{\"shop/card\":null}",
                                         "{\"shop/card\":\"x\"}", "{}"};
    struct card card = {1, "a"};

    for (size_t i = 0; i < PDR_COUNT(before); i++) {
        pdr_properties *properties = properties_of(before[i]);

        ASSERT_RC(PDR_OK, pdr_properties_set_typed(properties, &card_type,
                                                   &card, NULL));
        ASSERT_MEMBERS("{\"shop/card\":{\"size\":1,\"title\":\"a\"}}",
                       properties);
        pdr_properties_free(properties);
    }
}

TEST(properties_get_typed, decodes_once_and_changes_nothing)
{
    const char *text = "{\"SHOP/card\":{\"more\":1e0,\"size\":7}}";
    size_t calls = 0;
    pdr_state_type type = CARD_TYPE(&calls);
    pdr_properties *properties = properties_of(text);
    pdr_object *one = NULL, *two = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_properties_get_typed(&one, properties, &type, &err));
    ASSERT_RC(PDR_OK, pdr_properties_get_typed(&two, properties, &type, &err));
    ASSERT(pdr_object_get(one) == pdr_object_get(two));
    ASSERT_SIZE(1, calls);
    ASSERT_STR("", err.reason);
    ASSERT_MEMBERS(text, properties);
    pdr_properties_free(properties);
    ASSERT_INT(7, ((const struct card *)pdr_object_get(one))->size);
    pdr_object_free(one);
    pdr_object_free(two);
}

TEST(properties_get_typed, sees_what_was_written_since)
{
    pdr_properties *properties =
        properties_of("{\"shop/card\":{\"size\":1},\"int64\":\"5\"}");
    pdr_value *value = value_of("{\"size\":2}");
    pdr_object *number = NULL;

    ASSERT_INT(1, size_of(properties, &card_type));
    ASSERT_RC(PDR_OK, pdr_properties_get_typed(&number, properties,
                                               pdr_type_int64(), NULL));
    ASSERT_INT(5, *(const int64_t *)pdr_object_get(number));
    ASSERT_RC(PDR_OK, pdr_properties_set(properties, pdr_str_c("shop/card"),
                                         value, NULL));
    ASSERT_INT(2, size_of(properties, &card_type));
    ASSERT_RC(PDR_OK,
              pdr_properties_remove(properties, pdr_str_c("shop/card"), NULL));
    ASSERT(!pdr_properties_has_typed(properties, &card_type));
    pdr_object_free(number);
    pdr_value_free(value);
    pdr_properties_free(properties);
}

TEST(properties_get_typed, takes_the_name_before_the_aliases)
{
    pdr_properties *properties =
        properties_of("{\"Cards.Card, Old\":{\"size\":1},\"Shop.Card\":"
                      "{\"size\":2},\"shop/card\":{\"size\":3}}");

    ASSERT_INT(3, size_of(properties, &card_type));
    ASSERT_RC(PDR_OK,
              pdr_properties_remove_typed(properties, &card_type, NULL));
    ASSERT_INT(2, size_of(properties, &card_type));
    ASSERT_RC(PDR_OK,
              pdr_properties_remove_typed(properties, &card_type, NULL));
    ASSERT_INT(1, size_of(properties, &card_type));
    ASSERT_RC(PDR_OK,
              pdr_properties_remove_typed(properties, &card_type, NULL));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_properties_remove_typed(properties, &card_type, NULL));
    pdr_properties_free(properties);
}

TEST(properties_get_typed, leaves_an_alias_for_the_name_of_the_type)
{
    pdr_properties *properties = properties_of("{\"Shop.Card\":{\"size\":1}}");
    pdr_value *value = value_of("{\"size\":2}");

    ASSERT_INT(1, size_of(properties, &card_type));
    ASSERT_RC(PDR_OK, pdr_properties_set(properties, pdr_str_c("shop/card"),
                                         value, NULL));
    ASSERT_INT(2, size_of(properties, &card_type));
    pdr_value_free(value);
    pdr_properties_free(properties);
}

static void assert_not_typed(const char *reason, pdr_rc rc, const char *path,
                             const char *json)
{
    pdr_properties *properties = properties_of(json);
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc,
              pdr_properties_get_typed(&object, properties, &card_type, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT(object == NULL);
    ASSERT_MEMBERS(json, properties);
    pdr_properties_free(properties);
}

TEST(properties_get_typed, tells_absent_and_undecodable_apart)
{
    assert_not_typed("no_property", PDR_ENOTFOUND, "", "{}");
    assert_not_typed("no_property", PDR_ENOTFOUND, "", "{\"shop/card\":null}");
    assert_not_typed("meta_decode", PDR_EINVALID, "/shop~1card",
                     "{\"shop/card\":5}");
    assert_not_typed("meta_decode", PDR_EINVALID, "/Shop~1Card/size",
                     "{\"Shop/Card\":{\"size\":\"x\"}}");
    assert_not_typed("key_ambiguous", PDR_EINVALID, "",
                     "{\"Shop/Card\":1,\"SHOP/CARD\":2}");
}

TEST(properties_get_typed, names_property_and_type)
{
    pdr_properties *properties = properties_of("{\"Shop.Card\":{}}");
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_properties_get_typed(&object, properties, &card_type, &err));
    ASSERT_STR("property 'Shop.Card' is not a shop/card: it has no size",
               err.message);
    pdr_properties_free(properties);
}

TEST(properties_typed, refuses_a_type_whose_name_is_no_key)
{
    pdr_properties *properties = properties_of("{\"Shop.Card\":{\"size\":1}}");
    pdr_state_type type = CARD_TYPE(NULL);
    struct card card = {1, ""};
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    type.name = " ";
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_add_typed(properties, &type, &card, &err));
    ASSERT_STR("key_blank", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_set_typed(properties, &type, &card, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_get_typed(&object, properties, &type, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_remove_typed(properties, &type, &err));
    ASSERT(!pdr_properties_has_typed(properties, &type));
    pdr_properties_free(properties);
}

/* --- any name as a type -------------------------------------------------- */

TEST(properties_try_get, gives_what_fits_or_nothing)
{
    pdr_properties *properties = properties_of(
        "{\"fits\":{\"size\":4},\"bad\":[],\"null\":null,\"AB\":1,\"Ab\":1}");
    static const char *const none[] = {"bad", "null", "other"};
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool found = false;

    ASSERT_RC(PDR_OK,
              pdr_properties_try_get(&object, &found, properties,
                                     pdr_str_c("FITS"), &card_type, &err));
    ASSERT(found);
    ASSERT_INT(4, ((const struct card *)pdr_object_get(object))->size);
    pdr_object_free(object);
    for (size_t i = 0; i < PDR_COUNT(none); i++) {
        ASSERT_RC(PDR_OK,
                  pdr_properties_try_get(&object, &found, properties,
                                         pdr_str_c(none[i]), &card_type, &err));
        ASSERT(!found && object == NULL);
    }
    ASSERT_STR("", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_properties_try_get(&object, &found, properties,
                                     pdr_str_c("ab"), &card_type, &err));
    ASSERT_STR("key_ambiguous", err.reason);
    ASSERT(!found && object == NULL);
    pdr_properties_free(properties);
}

/* --- memory -------------------------------------------------------------- */

/* NULL only if an allocation was made to fail. */
static pdr_properties *some_properties(void)
{
    pdr_value *value = NULL;
    pdr_properties *properties = NULL;

    if (pdr_json_read(&value,
                      pdr_str_c("{\"a\":1,\"\\u0054ag\":2,\"shop/card\":"
                                "{\"size\":\"x\",\"z\":1},\"Card\":{\"size\":1,"
                                "\"z\":2}}"),
                      NULL, NULL) == PDR_OK &&
        pdr_properties_from_value(&properties, value, NULL) != PDR_OK)
        ASSERT(properties == NULL);
    pdr_value_free(value);
    return properties;
}

TEST_OOM(properties_new, cleans_up)
{
    pdr_properties *properties = NULL, *copy = NULL;
    pdr_rc rc = pdr_properties_new(&properties, NULL);

    ASSERT((properties != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr_properties_dup(&copy, properties, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((copy != NULL) == (rc == PDR_OK));
    pdr_properties_free(copy);
    pdr_properties_free(properties);
}

TEST_OOM(properties_set, cleans_up)
{
    pdr_properties *properties = some_properties();
    pdr_rc rc = PDR_OK;

    if (properties == NULL)
        return;
    rc = pdr_properties_set(properties, pdr_str_c("tag"), pdr_value_new_null(),
                            NULL);
    if (rc == PDR_OK)
        rc = pdr_properties_add(properties, pdr_str_c("new"),
                                pdr_value_new_null(), NULL);
    if (rc == PDR_OK)
        rc = pdr_properties_remove(properties, pdr_str_c("a"), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_properties_free(properties);
}

TEST_OOM(properties_typed, cleans_up)
{
    static const char *const card_name[] = {"Card", NULL};
    pdr_properties *properties = some_properties();
    pdr_state_type type = CARD_TYPE(NULL);
    struct card card = {2, "two"};
    pdr_object *object = NULL;
    pdr_rc rc = PDR_OK;

    if (properties == NULL)
        return;
    type.name = "other";
    type.aliases = card_name;
    rc = pdr_properties_get_typed(&object, properties, &type, NULL);
    ASSERT((object != NULL) == (rc == PDR_OK));
    pdr_object_free(object);
    if (rc == PDR_OK)
        rc = pdr_properties_set_typed(properties, &type, &card, NULL);
    type.name = "third";
    type.aliases = NULL;
    if (rc == PDR_OK)
        rc = pdr_properties_add_typed(properties, &type, &card, NULL);
    if (rc == PDR_OK)
        rc = pdr_properties_remove_typed(properties, &type, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_properties_free(properties);
}

TEST_OOM(properties_get_typed, tells_a_bad_value_from_no_memory)
{
    pdr_properties *properties = some_properties();
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (properties == NULL)
        return;
    rc = pdr_properties_get_typed(&object, properties, &card_type, &err);
    ASSERT(object == NULL);
    ASSERT_RC(PDR_EINVALID, rc); /* the decoder fails before it allocates */
    rc = pdr_properties_try_get(&object, &found, properties, pdr_str_c("card"),
                                &card_type, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(found == (rc == PDR_OK));
    pdr_object_free(object);
    pdr_properties_free(properties);
}
