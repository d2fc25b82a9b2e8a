/*
 * wrapper.c - sessions with metadata, read and written.
 */
#include "metadata.h"

#include "card.h"
#include "doc_text.h"
#include "values.h"

static const pdr_state_type card_type = CARD_TYPE(NULL);
static const pdr_state_type *const card_types[] = {&card_type};
static const pdr_type_set cards = {card_types, 1};

static pdr_session_wrapper wrapper_of(const char *json)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = value_of(json);

    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                     NULL, NULL, NULL));
    pdr_value_free(value);
    return wrapper;
}

#define ASSERT_WRITTEN(expected, wrapper)                                  \
    do {                                                                   \
        pdr_value *written_ = NULL;                                        \
        ASSERT_RC(PDR_OK,                                                  \
                  pdr_session_wrapper_to_value(&written_, wrapper, NULL)); \
        ASSERT_AS_READ(expected, written_);                                \
        pdr_value_free(written_);                                          \
    } while (0)

/* --- one wrapper --------------------------------------------------------- */

TEST(session_wrapper, is_written_as_it_was_read)
{
    static const char *const documents[] = {
        "{\"session\":{\"stateBag\":{}}}",
        "{\"session\":{\"stateBag\":{}},\"additionalProperties\":{}}",
        "{\"session\":{\"stateBag\":{}},\"additionalProperties\":null}",
        "{ \"note\" : [1.0] ,\n \"additionalProperties\":{\"b\":1e0, \"a\" : "
        "\"\\u0061\"},\"session\" : { \"conversationId\":\"c\",\"x\":1, "
        "\"stateBag\": {\"k\" : null} } , \"note\":2}",
        "{\"session\":{\"type\":\"session\",\"session_id\":\"s\","
        "\"service_session_id\":null,\"state\":{}},\"additionalProperties\":"
        "{\"tenant\":\"t\"}}",
        "{\"session\":{}}",
        "{\"stateBag\":{}}",
        "{ \"session_id\":\"s\", \"session\":{\"stateBag\":{}} }",
        "{}",
    };

    for (size_t i = 0; i < PDR_COUNT(documents); i++) {
        pdr_session_wrapper wrapper = wrapper_of(documents[i]);

        ASSERT_WRITTEN(documents[i], &wrapper);
        pdr_session_wrapper_dispose(&wrapper);
        ASSERT(wrapper.session == NULL && wrapper.properties == NULL &&
               wrapper.frame == NULL);
    }
}

TEST(session_wrapper, tells_absent_and_empty_properties_apart)
{
    pdr_session_wrapper absent = wrapper_of("{\"session\":{}}");
    pdr_session_wrapper null =
        wrapper_of("{\"session\":{},\"additionalProperties\":null}");
    pdr_session_wrapper empty =
        wrapper_of("{\"session\":{},\"additionalProperties\":{}}");

    ASSERT(absent.properties == NULL);
    ASSERT(null.properties == NULL);
    ASSERT(empty.properties != NULL);
    pdr_properties_free(empty.properties);
    empty.properties = NULL;
    ASSERT_WRITTEN("{\"session\":{}}", &empty);
    ASSERT_RC(PDR_OK, pdr_properties_new(&absent.properties, NULL));
    ASSERT_WRITTEN("{\"session\":{},\"additionalProperties\":{}}", &absent);
    ASSERT_RC(PDR_OK, pdr_properties_new(&null.properties, NULL));
    ASSERT_WRITTEN("{\"session\":{},\"additionalProperties\":{}}", &null);
    pdr_session_wrapper_dispose(&empty);
    pdr_session_wrapper_dispose(&null);
    pdr_session_wrapper_dispose(&absent);
}

TEST(session_wrapper, is_made_around_a_new_session)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_session_parts parts = {0};
    pdr_value *value = value_of("\"t\"");

    parts.shape = PDR_SESSION_DOTNET;
    ASSERT_RC(PDR_OK, pdr_session_new(&wrapper.session, &parts, NULL));
    ASSERT_WRITTEN("{\"session\":{\"stateBag\":{}}}", &wrapper);
    ASSERT_RC(PDR_OK, pdr_properties_new(&wrapper.properties, NULL));
    ASSERT_RC(PDR_OK, pdr_properties_set(wrapper.properties,
                                         pdr_str_c("tenant"), value, NULL));
    ASSERT_WRITTEN("{\"session\":{\"stateBag\":{}},\"additionalProperties\":"
                   "{\"tenant\":\"t\"}}",
                   &wrapper);
    pdr_value_free(value);
    pdr_session_wrapper_dispose(&wrapper);
}

TEST(session_wrapper, makes_a_bare_session_one_with_properties)
{
    pdr_session_wrapper wrapper = wrapper_of("{\"stateBag\":{}}");

    ASSERT_RC(PDR_OK, pdr_properties_new(&wrapper.properties, NULL));
    ASSERT_WRITTEN(
        "{\"session\":{\"stateBag\":{}},\"additionalProperties\":{}}",
        &wrapper);
    pdr_session_wrapper_dispose(&wrapper);
}

TEST(session_wrapper, changes_nothing_but_what_was_changed)
{
    pdr_session_wrapper wrapper = wrapper_of(
        "{ \"x\" : 1, \"additionalProperties\" : { \"a\" : 1.0, \"b\" : 2 }, "
        "\"session\" : { \"stateBag\" : { \"k\" : 1, \"l\" : 2.0 } } }");
    pdr_value *value = number_of(5);

    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(wrapper.session),
                                  pdr_str_c("k"), value, NULL));
    ASSERT_WRITTEN(
        "{ \"x\" : 1, \"additionalProperties\" : { \"a\" : 1.0, \"b\" : 2 }, "
        "\"session\" : { \"stateBag\" : { \"k\" : 5, \"l\" : 2.0 } } }",
        &wrapper);
    ASSERT_RC(PDR_OK, pdr_properties_set(wrapper.properties, pdr_str_c("B"),
                                         value, NULL));
    ASSERT_WRITTEN(
        "{ \"x\" : 1, \"additionalProperties\" : { \"a\" : 1.0, \"b\" : 5 }, "
        "\"session\" : { \"stateBag\" : { \"k\" : 5, \"l\" : 2.0 } } }",
        &wrapper);
    pdr_value_free(value);
    pdr_session_wrapper_dispose(&wrapper);
}

static void assert_no_wrapper(const char *reason, const char *path,
                              const char *json)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = value_of(json);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_session_wrapper_from_value(
                                &wrapper, value, NULL, &err, NULL, NULL));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT(wrapper.session == NULL && wrapper.properties == NULL &&
           wrapper.frame == NULL);
    pdr_value_free(value);
}

TEST(session_wrapper, refuses_what_is_none)
{
    assert_no_wrapper("session_not_object", "", "[42]");
    assert_no_wrapper("session_not_object", "/session", "{\"session\":7}");
    assert_no_wrapper("session_not_object", "/session", "{\"session\":null}");
    assert_no_wrapper("session_unknown_shape", "/session",
                      "{\"session\":{\"hello\":1}}");
    assert_no_wrapper("session_member", "/session/conversationId",
                      "{\"session\":{\"conversationId\":1,\"stateBag\":{}}}");
    assert_no_wrapper("session_unknown_shape", "",
                      "{\"additionalProperties\":{}}");
    assert_no_wrapper("wrong_kind", "/additionalProperties",
                      "{\"session\":{},\"additionalProperties\":[]}");
}

TEST(session_wrapper, refuses_too_many_properties)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = value_of("{\"session\":{}}"), *null = value_of("null");
    pdr_value *members = pdr_value_new_object();
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < 1001; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "p%d", i);
        ASSERT_RC(PDR_OK, pdr_value_set(&members, pdr_str_c(name), null, NULL));
    }
    ASSERT_RC(PDR_OK, pdr_value_set(&value, pdr_str_c("additionalProperties"),
                                    members, NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                         &err, NULL, NULL));
    ASSERT_STR("too_many_properties", err.reason);
    ASSERT_STR("/additionalProperties", err.path);
    pdr_value_free(members);
    pdr_value_free(null);
    pdr_value_free(value);
}

/* --- with types ---------------------------------------------------------- */

static void read_with_cards(pdr_session_wrapper *out, pdr_buf *told,
                            const char *json)
{
    pdr_value *value = value_of(json);

    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(out, value, &cards, NULL,
                                                     note_finding, told));
    pdr_value_free(value);
}

TEST(session_wrapper, decodes_what_has_the_name_of_a_type)
{
    size_t calls = 0;
    pdr_state_type type = CARD_TYPE(&calls);
    const pdr_state_type *const types[] = {&type, pdr_type_int64()};
    const pdr_type_set set = {types, 2};
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value =
        value_of("{\"session\":{},\"additionalProperties\":{\"Shop.Card\":"
                 "{\"size\":4}}}");
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, &set,
                                                     NULL, NULL, NULL));
    ASSERT_SIZE(1, calls);
    ASSERT_RC(PDR_OK, pdr_properties_get_typed(&object, wrapper.properties,
                                               &type, NULL));
    ASSERT_SIZE(1, calls);
    pdr_object_free(object);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_value_free(value);
}

TEST(session_wrapper, reports_what_does_not_fit_and_keeps_it)
{
    const char *text = "{\"session\":{},\"additionalProperties\":{\"SHOP/card\""
                       ":[1],\"a\":1}}";
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_buf told = PDR_BUF_INIT(1000);

    read_with_cards(&wrapper, &told, text);
    ASSERT_TEXT("warning meta-decode /additionalProperties/SHOP~1card\n",
                pdr_buf_str(&told));
    ASSERT_WRITTEN(text, &wrapper);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_buf_dispose(&told);
}

TEST(session_wrapper, says_nothing_of_absent_and_null_properties)
{
    static const char *const quiet[] = {
        "{\"session\":{}}",
        "{\"session\":{},\"additionalProperties\":{}}",
        "{\"session\":{},\"additionalProperties\":{\"shop/card\":null}}",
        /* Nobody knows which of the two it is. */
        ("{\"session\":{},\"additionalProperties\":{\"Shop/card\":1,"
         "\"SHOP/card\":2}}"),
    };

    for (size_t i = 0; i < PDR_COUNT(quiet); i++) {
        pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
        pdr_buf told = PDR_BUF_INIT(1000);

        read_with_cards(&wrapper, &told, quiet[i]);
        ASSERT_TEXT("", pdr_buf_str(&told));
        pdr_session_wrapper_dispose(&wrapper);
        pdr_buf_dispose(&told);
    }
}

static pdr_rc stop(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding;
    (void)arg;
    return pdr_err_set(err, PDR_ECANCELLED, "enough", "enough");
}

TEST(session_wrapper, ends_when_the_listener_says_so)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value =
        value_of("{\"session\":{},\"additionalProperties\":{\"shop/card\":1}}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECANCELLED, pdr_session_wrapper_from_value(
                                  &wrapper, value, &cards, &err, stop, NULL));
    ASSERT_STR("enough", err.reason);
    ASSERT(wrapper.session == NULL);
    pdr_value_free(value);
}

/* --- agents -------------------------------------------------------------- */

TEST(agent_wrapper, leaves_the_agent_alone)
{
    char agent[] = "an agent is whatever its maker says";
    pdr_agent_wrapper wrapper = {agent, NULL};
    pdr_value *value = number_of(1);

    ASSERT_RC(PDR_OK, pdr_properties_new(&wrapper.properties, NULL));
    ASSERT_RC(PDR_OK, pdr_properties_set(wrapper.properties, pdr_str_c("a"),
                                         value, NULL));
    ASSERT(wrapper.agent == agent);
    ASSERT_STR("an agent is whatever its maker says", agent);
    pdr_properties_free(wrapper.properties);
    pdr_value_free(value);
}

/* --- lists --------------------------------------------------------------- */

TEST(session_wrappers, are_written_as_they_were_read)
{
    static const char *const lists[] = {
        "[]",
        "[{\"session\":{\"stateBag\":{}},\"additionalProperties\":{\"a\":1}},"
        "{\"stateBag\":{\"k\":1.0}},null,{\"x\":1,\"session\":{\"session_id\":"
        "\"s\",\"state\":{}}}]",
    };

    for (size_t i = 0; i < PDR_COUNT(lists); i++) {
        pdr_value *value = value_of(lists[i]), *written = NULL;
        pdr_session_wrapper *wrappers = NULL;
        size_t count = 9;

        ASSERT_RC(PDR_OK,
                  pdr_session_wrappers_from_value(&wrappers, &count, value,
                                                  NULL, NULL, NULL, NULL));
        ASSERT(wrappers != NULL);
        ASSERT_SIZE(pdr_value_count(value), count);
        ASSERT_RC(PDR_OK, pdr_session_wrappers_to_value(&written, wrappers,
                                                        count, NULL));
        ASSERT_JSON(lists[i], written);
        pdr_value_free(written);
        pdr_session_wrappers_free(wrappers, count);
        pdr_value_free(value);
    }
    pdr_session_wrappers_free(NULL, 0);
}

static void assert_no_wrappers(const char *reason, const char *path,
                               const char *json)
{
    pdr_session_wrapper *wrappers = NULL;
    pdr_value *value = value_of(json);
    pdr_err err = PDR_ERR_INIT;
    size_t count = 9;

    ASSERT_RC(PDR_EINVALID,
              pdr_session_wrappers_from_value(&wrappers, &count, value, NULL,
                                              &err, NULL, NULL));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT(wrappers == NULL);
    ASSERT_SIZE(0, count);
    pdr_value_free(value);
}

TEST(session_wrappers, refuse_what_is_no_list_of_them)
{
    assert_no_wrappers("wrong_kind", "", "{\"session\":{}}");
    assert_no_wrappers("session_not_object", "/2", "[{},{\"session\":{}},7]");
    assert_no_wrappers("session_not_object", "/1/session",
                       "[{},{\"session\":[]}]");
    assert_no_wrappers("wrong_kind", "/0/additionalProperties",
                       "[{\"session\":{},\"additionalProperties\":1}]");
}

TEST(session_wrappers, say_which_element_is_wrong)
{
    pdr_session_wrapper *wrappers = NULL;
    pdr_value *value = value_of("[null,{\"session\":[]}]");
    pdr_err err = PDR_ERR_INIT;
    size_t count = 0;

    ASSERT_RC(PDR_EINVALID,
              pdr_session_wrappers_from_value(&wrappers, &count, value, NULL,
                                              &err, NULL, NULL));
    ASSERT(strncmp(err.message, "element 1: ", 11) == 0);
    pdr_value_free(value);
}

TEST(session_wrappers, report_with_the_index)
{
    pdr_value *value =
        value_of("[{},{\"session\":{},\"additionalProperties\":{\"shop/card\":"
                 "1}}]");
    pdr_buf told = PDR_BUF_INIT(1000);
    pdr_session_wrapper *wrappers = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK,
              pdr_session_wrappers_from_value(&wrappers, &count, value, &cards,
                                              NULL, note_finding, &told));
    ASSERT_TEXT("warning meta-decode /1/additionalProperties/shop~1card\n",
                pdr_buf_str(&told));
    pdr_session_wrappers_free(wrappers, count);
    pdr_buf_dispose(&told);
    pdr_value_free(value);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(session_wrapper, cleans_up)
{
    const char *text = "{\"session\":{\"stateBag\":{\"a\":1}},"
                       "\"additionalProperties\":{\"Shop.Card\":{\"size\":1},"
                       "\"int64\":\"x\"},\"x\":1}";
    const pdr_state_type *const types[] = {&card_type, pdr_type_int64()};
    const pdr_type_set set = {types, 2};
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = NULL, *written = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK) {
        rc = pdr_session_wrapper_from_value(&wrapper, value, &set, NULL,
                                            note_finding, &told);
        ASSERT((wrapper.session != NULL) == (rc == PDR_OK));
    }
    if (rc == PDR_OK)
        rc =
            pdr_properties_set(wrapper.properties, pdr_str_c("a"), value, NULL);
    if (rc == PDR_OK)
        rc = pdr_bag_set(pdr_session_bag(wrapper.session), pdr_str_c("b"),
                         value, NULL);
    if (rc == PDR_OK) {
        rc = pdr_session_wrapper_to_value(&written, &wrapper, NULL);
        ASSERT((written != NULL) == (rc == PDR_OK));
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(written);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_buf_dispose(&told);
    pdr_value_free(value);
}

TEST_OOM(session_wrappers, clean_up)
{
    const char *text = "[{\"session\":{},\"additionalProperties\":{\"a\":1}},"
                       "null,{}]";
    pdr_session_wrapper *wrappers = NULL;
    pdr_value *value = NULL, *written = NULL;
    size_t count = 0;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK) {
        rc = pdr_session_wrappers_from_value(&wrappers, &count, value, &cards,
                                             NULL, NULL, NULL);
        ASSERT((wrappers != NULL) == (rc == PDR_OK));
    }
    if (rc == PDR_OK) {
        rc = pdr_session_wrappers_to_value(&written, wrappers, count, NULL);
        ASSERT((written != NULL) == (rc == PDR_OK));
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(written);
    pdr_session_wrappers_free(wrappers, count);
    pdr_value_free(value);
}
