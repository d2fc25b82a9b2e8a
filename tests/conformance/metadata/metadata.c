/*
 * metadata.c - what callers see of metadata wrappers.
 */
#include "card.h"
#include "codec_trip.h"
#include "doc_text.h"
#include "values.h"

static const pdr_state_type card_type = CARD_TYPE(NULL);

/* A wrapper that went through a codec and back, as a value; owned. */
static pdr_value *trip(const pdr_value *value, const pdr_codec *codec)
{
    pdr_buf bytes = PDR_BUF_INIT(1u << 20);
    pdr_value *back = NULL;

    ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_codec_read(&back, codec, pdr_buf_str(&bytes), NULL, NULL));
    pdr_buf_dispose(&bytes);
    return back;
}

static pdr_properties *properties_of(const char *json)
{
    pdr_value *value = doc_value(json);
    pdr_properties *properties = NULL;

    ASSERT_RC(PDR_OK, pdr_properties_from_value(&properties, value, NULL));
    pdr_value_free(value);
    return properties;
}

static int64_t card_size(pdr_properties *properties)
{
    pdr_object *object = NULL;
    int64_t size = 0;

    ASSERT_RC(PDR_OK,
              pdr_properties_get_typed(&object, properties, &card_type, NULL));
    size = ((const struct card *)pdr_object_get(object))->size;
    pdr_object_free(object);
    return size;
}

/* --- typed access -------------------------------------------------------- */

TEST(metadata, adds_a_type_once)
{
    pdr_properties *properties = properties_of("{}");
    struct card first = {1, "first"}, second = {2, "second"};
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-114");
    ASSERT_RC(PDR_OK,
              pdr_properties_add_typed(properties, &card_type, &first, NULL));
    ASSERT_RC(PDR_EEXISTS,
              pdr_properties_add_typed(properties, &card_type, &second, &err));
    ASSERT_STR("property_exists", err.reason);
    ASSERT_INT(1, card_size(properties));
    ASSERT_SIZE(1, pdr_properties_count(properties));
    pdr_properties_free(properties);
}

TEST(metadata, holds_a_null_that_is_no_value)
{
    pdr_properties *properties = properties_of("{'shop/card':null}");
    pdr_object *object = NULL;
    bool found = true;

    COVERS("S-115");
    ASSERT(pdr_properties_has_typed(properties, &card_type));
    ASSERT_RC(PDR_OK,
              pdr_properties_try_get(&object, &found, properties,
                                     pdr_str_c("shop/card"), &card_type, NULL));
    ASSERT(!found && object == NULL);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_properties_get_typed(&object, properties, &card_type, NULL));
    pdr_properties_free(properties);
}

TEST(metadata, removes_a_type_once)
{
    pdr_properties *properties = properties_of("{'int64':5,'a':1}");
    struct card card = {1, "one"};
    pdr_value *left = NULL;

    COVERS("S-116");
    ASSERT_RC(PDR_OK,
              pdr_properties_add_typed(properties, &card_type, &card, NULL));
    ASSERT_RC(PDR_OK,
              pdr_properties_remove_typed(properties, &card_type, NULL));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_properties_remove_typed(properties, &card_type, NULL));
    ASSERT(pdr_properties_has_typed(properties, pdr_type_int64()));
    left = pdr_properties_to_value(properties);
    ASSERT_JSON("{\"int64\":5,\"a\":1}", left);
    pdr_value_free(left);
    pdr_properties_free(properties);
}

TEST(metadata, reads_the_text_of_a_number)
{
    pdr_properties *properties = properties_of("{'n':'42','x':'x','f':'1e2x'}");
    static const char *const none[] = {"x", "f"};
    pdr_object *object = NULL;
    bool found = false;

    COVERS("S-117");
    ASSERT_RC(PDR_OK,
              pdr_properties_try_get(&object, &found, properties,
                                     pdr_str_c("n"), pdr_type_int64(), NULL));
    ASSERT(found);
    ASSERT_INT(42, *(const int64_t *)pdr_object_get(object));
    pdr_object_free(object);
    for (size_t i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK, pdr_properties_try_get(&object, &found, properties,
                                                 pdr_str_c(none[i]),
                                                 pdr_type_int64(), NULL));
        ASSERT(!found && object == NULL);
    }
    pdr_properties_free(properties);
}

/* --- documents ----------------------------------------------------------- */

#define COMPLEX                                                            \
    "{\"session\":{\"conversationId\":\"c\",\"stateBag\":{\"k\":[1.50]}}," \
    "\"additionalProperties\":{\"shop/card\":{\"more\":{\"deep\":[1e0,"    \
    "null]},\"size\":7.0,\"title\":\"a\\u0062c\"},\"tags\":[\"x\",{}]}}"

TEST(metadata, comes_back_raw_and_typed_through_every_codec)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    const pdr_state_type *const types[] = {&card_type};
    const pdr_type_set set = {types, 1};
    pdr_value *source = value_of(COMPLEX);

    COVERS("S-118");
    for (size_t i = 0; i < count; i++) {
        pdr_value *back = trip(source, codecs[i]), *written = NULL;
        pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
        const pdr_value *raw = NULL, *expected = NULL;

        ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, back, &set,
                                                         NULL, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_properties_get(&raw, wrapper.properties,
                                             pdr_str_c("shop/card"), NULL));
        ASSERT_RC(PDR_OK,
                  pdr_pointer_get(&expected, source,
                                  pdr_str_c("/additionalProperties/shop~1card"),
                                  NULL));
        ASSERT(pdr_value_equal(expected, raw));
        ASSERT_INT(7, card_size(wrapper.properties));
        ASSERT_RC(PDR_OK,
                  pdr_session_wrapper_to_value(&written, &wrapper, NULL));
        ASSERT_JSON(COMPLEX, written);
        pdr_value_free(written);
        pdr_session_wrapper_dispose(&wrapper);
        pdr_value_free(back);
    }
    pdr_value_free(source);
}

/* A decoder that fails on everything. */
static pdr_rc never(void **out, const pdr_value *value, pdr_err *err, void *arg)
{
    (void)out;
    (void)value;
    (void)arg;
    return pdr_err_set(err, PDR_EIO, "broken", "the decoder is out of order");
}

TEST(metadata, loads_a_session_whose_decoder_fails)
{
    pdr_state_type broken = CARD_TYPE(NULL);
    const pdr_state_type *types[] = {&broken, pdr_type_int64()};
    const pdr_type_set set = {types, 2};
    const char *text = "{\"session\":{\"stateBag\":{\"k\":1}},"
                       "\"additionalProperties\":{\"broken\":{\"size\":1},"
                       "\"int64\":\"6\",\"other\":2}}";
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = value_of(text), *written = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);
    pdr_object *object = NULL;
    const pdr_value *raw = NULL;
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-119");
    broken.name = "broken";
    broken.decode = never;
    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(
                          &wrapper, value, &set, NULL, note_finding, &told));
    ASSERT_TEXT("warning meta-decode /additionalProperties/broken\n",
                pdr_buf_str(&told));
    ASSERT(pdr_bag_has(pdr_session_bag(wrapper.session), pdr_str_c("k")));
    ASSERT_RC(PDR_EINVALID, pdr_properties_get_typed(
                                &object, wrapper.properties, &broken, &err));
    ASSERT_STR("meta_decode", err.reason);
    ASSERT_STR("/broken", err.path);
    ASSERT_RC(PDR_OK, pdr_properties_get(&raw, wrapper.properties,
                                         pdr_str_c("broken"), NULL));
    ASSERT_RC(PDR_OK, pdr_properties_get_typed(&object, wrapper.properties,
                                               pdr_type_int64(), NULL));
    ASSERT_INT(6, *(const int64_t *)pdr_object_get(object));
    ASSERT_RC(PDR_OK, pdr_session_wrapper_to_value(&written, &wrapper, NULL));
    ASSERT_JSON(text, written);
    pdr_object_free(object);
    pdr_value_free(written);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_buf_dispose(&told);
    pdr_value_free(value);
}

#define LIST                                                                  \
    "[" COMPLEX ",{\"stateBag\":{}},null,{\"session\":{\"type\":\"session\"," \
    "\"session_id\":\"s\",\"service_session_id\":null,\"state\":{}},"         \
    "\"additionalProperties\":{}},{\"session\":{\"sessionId\":"               \
    "\"@dafx-desk@k\",\"stateBag\":{}},\"tag\":1}]"

TEST(metadata, comes_back_in_lists_through_every_codec)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t codec_count = trip_codecs(codecs);
    pdr_value *source = value_of(LIST);

    for (size_t i = 0; i < codec_count; i++) {
        pdr_value *back = trip(source, codecs[i]), *written = NULL;
        pdr_session_wrapper *wrappers = NULL;
        size_t count = 0;

        ASSERT_RC(PDR_OK, pdr_session_wrappers_from_value(
                              &wrappers, &count, back, NULL, NULL, NULL, NULL));
        ASSERT_SIZE(5, count);
        ASSERT(wrappers[1].properties == NULL && wrappers[2].session == NULL);
        ASSERT(wrappers[3].properties != NULL);
        ASSERT_TEXT("s", pdr_session_id(wrappers[3].session));
        ASSERT_RC(PDR_OK, pdr_session_wrappers_to_value(&written, wrappers,
                                                        count, NULL));
        ASSERT_JSON(LIST, written);
        pdr_value_free(written);
        pdr_session_wrappers_free(wrappers, count);
        pdr_value_free(back);
    }
    pdr_value_free(source);
}

/* --- apart from sessions ------------------------------------------------- */

#define MARKER "PLANTED-7f3a9c"

static void assert_unmarked(const pdr_value *value)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count; i++) {
        pdr_buf bytes = PDR_BUF_INIT(1u << 20);

        ASSERT_RC(PDR_OK,
                  pdr_codec_write(&bytes, codecs[i], value, NULL, NULL));
        ASSERT(bytes.len > 0);
        ASSERT(memmem(bytes.ptr, bytes.len, MARKER, strlen(MARKER)) == NULL);
        pdr_buf_dispose(&bytes);
    }
}

/* Everything that can be written of a session. */
static void assert_session_unmarked(pdr_session *session)
{
    static const pdr_session_shape shapes[] = {
        PDR_SESSION_NATIVE, PDR_SESSION_DOTNET, PDR_SESSION_PYTHON,
        PDR_SESSION_PYTHON_OLD};
    pdr_value *written = NULL;
    pdr_value *bag = pdr_bag_snapshot(pdr_session_bag(session));

    assert_unmarked(bag);
    pdr_value_free(bag);
    ASSERT_RC(PDR_OK, pdr_session_to_value(&written, session, NULL));
    assert_unmarked(written);
    pdr_value_free(written);
    for (size_t i = 0; i < PDR_COUNT(shapes); i++) {
        pdr_session_convert_opts opts = {0};
        pdr_session *converted = NULL;

        opts.to = shapes[i];
        ASSERT_RC(PDR_OK, pdr_session_convert(&converted, session, &opts, NULL,
                                              NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_session_to_value(&written, converted, NULL));
        assert_unmarked(written);
        pdr_value_free(written);
        pdr_session_free(converted);
    }
}

TEST(metadata, reaches_no_document_of_a_session)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value =
        value_of("{\"session\":{\"stateBag\":{\"InMemoryChatHistoryProvider\":"
                 "{\"messages\":[{\"role\":\"user\",\"contents\":[]}]}}},"
                 "\"additionalProperties\":{\"tenant\":\"" MARKER "\",\"" MARKER
                 "\":1}}");
    pdr_value *secret = value_of("{\"k\":\"" MARKER "\"}");
    pdr_value *plain = number_of(1), *written = NULL;

    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                     NULL, NULL, NULL));
    assert_session_unmarked(wrapper.session);
    ASSERT_RC(PDR_OK, pdr_properties_set(wrapper.properties, pdr_str_c("more"),
                                         secret, NULL));
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(wrapper.session),
                                  pdr_str_c("k"), plain, NULL));
    assert_session_unmarked(wrapper.session);
    /* It can be found: the wrapper's own document has it. */
    ASSERT_RC(PDR_OK, pdr_session_wrapper_to_value(&written, &wrapper, NULL));
    pdr_buf bytes = PDR_BUF_INIT(1u << 20);
    ASSERT_RC(PDR_OK, pdr_json_write(&bytes, written, NULL, NULL));
    ASSERT(memmem(bytes.ptr, bytes.len, MARKER, strlen(MARKER)) != NULL);
    pdr_buf_dispose(&bytes);
    pdr_value_free(written);
    pdr_value_free(plain);
    pdr_value_free(secret);
    pdr_value_free(value);
    pdr_session_wrapper_dispose(&wrapper);
}

/* Bytes in use after a session was read, bare or through a wrapper. */
static size_t bytes_of(const pdr_value *value, bool wrapped)
{
    size_t before = test_live_bytes(), bytes = 0;
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;

    if (wrapped)
        ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                         NULL, NULL, NULL));
    else
        ASSERT_RC(PDR_OK,
                  pdr_session_from_value(&wrapper.session, value, NULL));
    bytes = test_live_bytes() - before;
    pdr_session_wrapper_dispose(&wrapper);
    return bytes;
}

TEST(metadata, costs_a_session_nothing)
{
    pdr_value *bare = value_of("{\"stateBag\":{\"k\":1}}");
    pdr_value *wrapped = value_of("{\"session\":{\"stateBag\":{\"k\":1}}}");

    ASSERT_SIZE(bytes_of(bare, false), bytes_of(bare, true));
    ASSERT_SIZE(bytes_of(bare, false), bytes_of(wrapped, true));
    pdr_value_free(wrapped);
    pdr_value_free(bare);
}
