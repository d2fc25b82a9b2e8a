/* Sessions that were made in the store: which documents they become, and that
 * our own readers take these. */
#include "archive_hand.h"

#define MESSAGE \
    "{\"role\":\"user\",\"contents\":[{\"$type\":\"text\",\"text\":\"hi\"}]}"

static pdr_value *read_exported(pdr_store *store, const char *id)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, hand_export(&out, store, id, false, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_buf_str(&out), NULL, NULL));
    pdr_buf_dispose(&out);
    return value;
}

/* The document is a session of the native shape and this kind, with this id,
 * so many slots and so many messages. */
static void expect_session(const struct hand *hand, pdr_session_kind kind,
                           const char *id, size_t slots, size_t messages)
{
    pdr_store *store = hand_store(hand);
    pdr_value *value = read_exported(store, hand->id);
    pdr_session *session = NULL;
    const pdr_value *history = NULL;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    ASSERT_INT(PDR_SESSION_NATIVE, pdr_session_get_shape(session));
    ASSERT_INT(kind, pdr_session_get_kind(session));
    ASSERT(pdr_value_text_is(
        pdr_value_get_c(pdr_value_get_c(value, "perdure"), "id"),
        pdr_str_c(id)));
    ASSERT_SIZE(slots, pdr_value_count(pdr_value_get_c(value, "stateBag")));
    history =
        pdr_value_get_c(pdr_value_get_c(pdr_value_get_c(value, "stateBag"),
                                        "InMemoryChatHistoryProvider"),
                        "messages");
    ASSERT_SIZE(messages, pdr_value_count(history));
    pdr_session_free(session);
    pdr_value_free(value);
    pdr_store_close(store);
}

TEST(export_native, writes_a_session_of_every_kind)
{
    for (int kind = 0; kind <= PDR_SESSION_KIND_CHAT; kind++) {
        const struct hand hand = {
            .id = "6f1c \"\x7f",
            .kind = pdr_session_kind_name((pdr_session_kind)kind),
            .entries = {{MESSAGE, PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL}},
            .slots = {{"a", "1"}, {"Z\\ud800", "{}"}}};

        if (kind != PDR_SESSION_KIND_DURABLE)
            expect_session(&hand, (pdr_session_kind)kind, hand.id, 3, 1);
    }
}

TEST(export_native, is_compact_and_has_no_history_without_entries)
{
    const struct hand none = {.id = "s"};
    const struct hand some = {
        .id = "s",
        .kind = "client",
        .entries = {{MESSAGE, PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL}},
        .slots = {{"b", "[]"}, {"B", "[ ]"}}};

    hand_expect("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"unstated\","
                "\"id\":\"s\"},\"stateBag\":{}}",
                &none);
    hand_expect("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"client\","
                "\"id\":\"s\"},\"stateBag\":{\"InMemoryChatHistoryProvider\":"
                "{\"messages\":[" MESSAGE "]},\"B\":[ ],\"b\":[]}}",
                &some);
    expect_session(&some, PDR_SESSION_KIND_CLIENT, "s", 3, 1);
}

TEST(export_native, converts_entries_of_runs)
{
    const struct hand hand = {
        .id = "s",
        .kind = "client",
        .entries = {
            {"{\"$type\":\"request\",\"messages\":[{\"role\":\"user\","
             "\"contents\":[{\"$type\":\"text\",\"text\":\"hi\"}]}]}",
             PDR_ROW_REQUEST, PDR_ROW_STATE, NULL},
            {"{\"type\":\"message\",\"role\":\"assistant\",\"contents\":[]}",
             PDR_ROW_MESSAGE, PDR_ROW_PYTHON, NULL},
            {"{\"Role\":{\"Label\":\"user\"},\"Items\":[]}", PDR_ROW_MESSAGE,
             PDR_ROW_SK, NULL}}};

    expect_session(&hand, PDR_SESSION_KIND_CLIENT, "s", 1, 3);
}

TEST(export_native, writes_a_durable_session_as_a_state_document)
{
    const struct hand none = {.id = "@dafx-a@k", .kind = "durable"};
    const struct hand some = {
        .id = "@dafx-a@k",
        .kind = "durable",
        .schema_version = "1.0",
        .expiry_ms = 1773568802250,
        .entries = {{"{\"$type\":\"request\",\"messages\":[]}", PDR_ROW_REQUEST,
                     PDR_ROW_STATE, NULL},
                    {"{\"$type\":\"response\"}", PDR_ROW_RESPONSE,
                     PDR_ROW_STATE, NULL}}};
    pdr_store *store = hand_store(&some);
    pdr_value *value = read_exported(store, some.id);
    pdr_datetime expiry;

    hand_expect("{\"schemaVersion\":\"1.1.0\",\"data\":{"
                "\"conversationHistory\":[]}}",
                &none);
    hand_expect("{\"schemaVersion\":\"1.0\",\"data\":{"
                "\"conversationHistory\":[{\"$type\":\"request\","
                "\"messages\":[]},{\"$type\":\"response\"}],"
                "\"expirationTimeUtc\":\"2026-03-15T10:00:02.25Z\"}}",
                &some);
    ASSERT_RC(PDR_OK, pdr_state_gate(value, NULL));
    ASSERT_SIZE(2, pdr_value_count(pdr_state_entries(value)));
    ASSERT(pdr_state_expiration(&expiry, value));
    pdr_value_free(value);
    pdr_store_close(store);
}

TEST(export_native, leaves_out_an_expiry_that_no_calendar_has)
{
    const struct hand early = {
        .id = "@dafx-a@k", .kind = "durable", .expiry_ms = INT64_MIN};
    const struct hand late = {
        .id = "@dafx-a@k", .kind = "durable", .expiry_ms = INT64_MAX - 1};

    hand_expect("{\"schemaVersion\":\"1.1.0\",\"data\":{"
                "\"conversationHistory\":[]}}",
                &early);
    hand_expect("{\"schemaVersion\":\"1.1.0\",\"data\":{"
                "\"conversationHistory\":[]}}",
                &late);
}

TEST(export_native, writes_a_durable_session_with_a_bag_as_a_bundle)
{
    const struct hand hand = {
        .id = "@dafx-a@k", .kind = "durable", .slots = {{"m", "1"}}};
    pdr_store *store = hand_store(&hand);
    pdr_value *value = read_exported(store, hand.id);
    pdr_session *session = NULL;

    hand_expect("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"durable\","
                "\"document\":{\"schemaVersion\":\"1.1.0\",\"data\":{"
                "\"conversationHistory\":[]}}},\"sessionId\":\"@dafx-a@k\","
                "\"stateBag\":{\"m\":1}}",
                &hand);
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    ASSERT_INT(PDR_SESSION_NATIVE, pdr_session_get_shape(session));
    ASSERT_INT(PDR_SESSION_KIND_DURABLE, pdr_session_get_kind(session));
    ASSERT_RC(PDR_OK,
              pdr_state_gate(pdr_value_get_c(pdr_value_get_c(value, "perdure"),
                                             "document"),
                             NULL));
    pdr_session_free(session);
    pdr_value_free(value);
    pdr_store_close(store);
}

TEST(export_native, wraps_what_has_properties)
{
    const struct hand plain = {.id = "s", .properties = {{"k", "1"}}};
    const struct hand durable = {.id = "@dafx-a@k",
                                 .kind = "durable",
                                 .slots = {{"m", "1"}},
                                 .properties = {{"k", "[1 ,2]"}}};
    const struct hand *hands[] = {&plain, &durable};

    hand_expect("{\"session\":{\"perdure\":{\"version\":\"1.0.0\",\"kind\":"
                "\"unstated\",\"id\":\"s\"},\"stateBag\":{}},"
                "\"additionalProperties\":{\"k\":1}}",
                &plain);
    for (size_t i = 0; i < 2; i++) {
        pdr_store *store = hand_store(hands[i]);
        pdr_value *value = read_exported(store, hands[i]->id);
        pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;

        ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                         NULL, NULL, NULL));
        ASSERT_SIZE(1, pdr_properties_count(wrapper.properties));
        pdr_session_wrapper_dispose(&wrapper);
        pdr_value_free(value);
        pdr_store_close(store);
    }
}

TEST(export_native, refuses_what_no_reader_would_take)
{
    const struct hand version = {
        .id = "@dafx-a@k", .kind = "durable", .schema_version = "newest"};
    const struct hand kind = {.id = "s", .kind = "something-new"};
    const struct hand slot = {
        .id = "s",
        .entries = {{MESSAGE, PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL}},
        .slots = {{"InMemoryChatHistoryProvider", "1"}}};

    hand_refused("cannot_export", &version);
    hand_refused("cannot_export", &kind);
    hand_refused("cannot_export", &slot);
}

TEST(export_native, keeps_a_durable_id_in_a_session_of_another_kind)
{
    const struct hand hand = {.id = "@dafx-a@k", .kind = "client"};

    hand_expect("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"client\","
                "\"id\":\"@dafx-a@k\"},\"stateBag\":{}}",
                &hand);
}

TEST(export_native, takes_any_id_for_a_durable_session_with_a_bag)
{
    const struct hand hand = {
        .id = "plain", .kind = "durable", .slots = {{"m", "1"}}};
    pdr_store *store = hand_store(&hand);
    pdr_value *value = read_exported(store, hand.id);
    pdr_session *session = NULL;

    hand_expect("{\"perdure\":{\"version\":\"1.0.0\",\"id\":\"plain\","
                "\"document\":{\"schemaVersion\":\"1.1.0\",\"data\":{"
                "\"conversationHistory\":[]}}},\"stateBag\":{\"m\":1}}",
                &hand);
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    ASSERT_TEXT("plain", pdr_session_id(session));
    pdr_session_free(session);
    pdr_value_free(value);
    pdr_store_close(store);
}
