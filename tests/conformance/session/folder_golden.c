/*
 * folder_golden.c - the session of the benchmarks, made through the API and
 * written by a folder: size and digest are those that the Python edition gave.
 */
#include "folder_text.h"

#define MESSAGES 2000
#define OBJECTS  500

static void put_text(pdr_builder *to, const char *name, const char *text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, pdr_str_c(text));
}

static void put_int(pdr_builder *to, const char *name, int number)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_int64(to, number);
}

static void put_nothing(pdr_builder *to)
{
    pdr_builder_name(to, pdr_str_c("additional_properties"));
    pdr_builder_object(to);
    pdr_builder_end(to);
}

static void put_text_content(pdr_builder *to, const char *text)
{
    pdr_builder_object(to);
    put_text(to, "type", "text");
    put_text(to, "text", text);
    put_nothing(to);
    pdr_builder_end(to);
}

static void put_call(pdr_builder *to, int i)
{
    char text[64];

    pdr_builder_object(to);
    put_text(to, "type", "function_call");
    snprintf(text, sizeof(text), "call_%d", i);
    put_text(to, "call_id", text);
    put_text(to, "name", "lookup");
    pdr_builder_name(to, pdr_str_c("arguments"));
    pdr_builder_object(to);
    snprintf(text, sizeof(text), "item-%d", i);
    put_text(to, "query", text);
    put_int(to, "limit", 5);
    pdr_builder_end(to);
    pdr_builder_name(to, pdr_str_c("hosted"));
    pdr_builder_bool(to, false);
    put_nothing(to);
    pdr_builder_end(to);
}

static void put_result(pdr_builder *to, int i)
{
    char found[200], id[32];

    snprintf(id, sizeof(id), "call_%d", i - 1);
    snprintf(found, sizeof(found),
             "{\"items\": [\"result-%d-0\", \"result-%d-1\", \"result-%d-2\", "
             "\"result-%d-3\", \"result-%d-4\"]}",
             i, i, i, i, i);
    pdr_builder_object(to);
    put_text(to, "type", "function_result");
    put_text(to, "call_id", id);
    put_text(to, "result", found);
    pdr_builder_name(to, pdr_str_c("items"));
    pdr_builder_array(to);
    put_text_content(to, found);
    pdr_builder_end(to);
    put_nothing(to);
    pdr_builder_end(to);
}

static pdr_value *make_message(pdr_builder *to, int i)
{
    pdr_value *message = NULL;
    char text[700];
    int len = snprintf(text, sizeof(text),
                       "Message %d: benchmark conversation text with Unicode "
                       "café 東京. Payload=",
                       i);

    memset(text + len, 'x', 432);
    text[len + 432] = '\0';
    pdr_builder_object(to);
    put_text(to, "role", i % 2 != 0 ? "assistant" : "user");
    pdr_builder_name(to, pdr_str_c("contents"));
    pdr_builder_array(to);
    put_text_content(to, text);
    if (i % 20 == 5)
        put_call(to, i);
    if (i % 20 == 6)
        put_result(to, i);
    pdr_builder_end(to);
    snprintf(text, sizeof(text), "participant-%d", i % 7);
    put_text(to, "author_name", text);
    pdr_builder_name(to, pdr_str_c("additional_properties"));
    pdr_builder_object(to);
    put_int(to, "sequence", i);
    pdr_builder_name(to, pdr_str_c("trace"));
    pdr_builder_object(to);
    snprintf(text, sizeof(text), "span-%d", i);
    put_text(to, "span", text);
    pdr_builder_name(to, pdr_str_c("sampled"));
    pdr_builder_bool(to, i % 3 == 0);
    pdr_builder_end(to);
    pdr_builder_end(to);
    put_text(to, "type", "message");
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&message, to, NULL));
    return message;
}

static pdr_value *make_plain(pdr_builder *to)
{
    pdr_value *plain = NULL;
    char text[64];

    pdr_builder_object(to);
    pdr_builder_name(to, pdr_str_c("flags"));
    pdr_builder_array(to);
    pdr_builder_bool(to, true);
    pdr_builder_bool(to, false);
    pdr_builder_null(to);
    pdr_builder_end(to);
    pdr_builder_name(to, pdr_str_c("numbers"));
    pdr_builder_array(to);
    for (int i = 0; i < OBJECTS; i++)
        pdr_builder_int64(to, i);
    pdr_builder_end(to);
    pdr_builder_name(to, pdr_str_c("nested"));
    pdr_builder_object(to);
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(text, sizeof(text), "key_%d", i);
        pdr_builder_name(to, pdr_str_c(text));
        pdr_builder_object(to);
        put_int(to, "value", i);
        snprintf(text, sizeof(text), "plain-state-%d", i);
        put_text(to, "text", text);
        pdr_builder_name(to, pdr_str_c("tags"));
        pdr_builder_array(to);
        for (int tag = 0; tag < 5; tag++) {
            snprintf(text, sizeof(text), "tag-%d", tag);
            pdr_builder_string(to, pdr_str_c(text));
        }
        pdr_builder_end(to);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&plain, to, NULL));
    return plain;
}

/* The shortest text, and ".0" behind one without fraction. */
static void put_score(pdr_builder *to, double score)
{
    pdr_value *value = NULL;
    pdr_str text = {0};
    char full[64];

    ASSERT_RC(PDR_OK, pdr_value_new_double(&value, score, NULL));
    ASSERT(pdr_value_raw(&text, value) && text.len < sizeof(full) - 2);
    snprintf(full, sizeof(full), "%.*s%s", (int)text.len, text.ptr,
             memchr(text.ptr, '.', text.len) != NULL ? "" : ".0");
    pdr_builder_number(to, pdr_str_c(full));
    pdr_value_free(value);
}

static pdr_value *make_classes(pdr_builder *to)
{
    pdr_value *classes = NULL;
    char text[64];

    pdr_builder_array(to);
    for (int i = 0; i < OBJECTS; i++) {
        pdr_builder_object(to);
        put_int(to, "item_id", i);
        snprintf(text, sizeof(text), "class-state-%d", i);
        put_text(to, "label", text);
        pdr_builder_name(to, pdr_str_c("scores"));
        pdr_builder_array(to);
        for (int part = 10; part <= 30; part += 10)
            put_score(to, (double)i / part);
        pdr_builder_end(to);
        pdr_builder_name(to, pdr_str_c("attributes"));
        pdr_builder_object(to);
        snprintf(text, sizeof(text), "category-%d", i % 11);
        put_text(to, "category", text);
        snprintf(text, sizeof(text), "partition-%d", i % 17);
        put_text(to, "partition", text);
        pdr_builder_end(to);
        put_text(to, "type", "benchmark_class_state");
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&classes, to, NULL));
    return classes;
}

static pdr_value *make_profiles(pdr_builder *to)
{
    pdr_value *profiles = NULL;
    char text[64];

    pdr_builder_array(to);
    for (int i = 0; i < OBJECTS / 10; i++) {
        pdr_builder_object(to);
        snprintf(text, sizeof(text), "user-%d", i);
        put_text(to, "user_id", text);
        pdr_builder_name(to, pdr_str_c("preferences"));
        pdr_builder_object(to);
        put_text(to, "language", "en");
        put_text(to, "theme", i % 2 != 0 ? "dark" : "light");
        snprintf(text, sizeof(text), "UTC+%d", i % 12);
        put_text(to, "timezone", text);
        pdr_builder_end(to);
        pdr_builder_name(to, pdr_str_c("counters"));
        pdr_builder_array(to);
        for (int times = 1; times <= 3; times++)
            pdr_builder_int64(to, times * i);
        pdr_builder_end(to);
        put_text(to, "type", "benchmark_profile_state");
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&profiles, to, NULL));
    return profiles;
}

static void put_slot(pdr_session *session, const char *key, pdr_value *value)
{
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(session), pdr_str_c(key),
                                  value, NULL));
    pdr_value_free(value);
}

static pdr_session *make_session(void)
{
    pdr_session_parts parts = {.shape = PDR_SESSION_PYTHON};
    pdr_value *messages[MESSAGES], *id = NULL;
    const pdr_value *shared[MESSAGES];
    pdr_session *session = NULL;
    pdr_builder *to = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&to, NULL));
    parts.id = pdr_str_c("serialization-benchmark");
    ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, NULL));
    pdr_builder_object(to);
    put_text(to, "conversation_id", "benchmark-conversation");
    put_text(to, "response_id", "benchmark-response");
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&id, to, NULL));
    ASSERT_RC(PDR_OK, pdr_session_set_service_id(session, id, NULL));
    pdr_value_free(id);
    for (int i = 0; i < MESSAGES; i++)
        shared[i] = messages[i] = make_message(to, i);
    ASSERT_RC(PDR_OK,
              pdr_session_add_messages(session, shared, MESSAGES, NULL));
    for (int i = 0; i < MESSAGES; i++)
        pdr_value_free(messages[i]);
    put_slot(session, "plain", make_plain(to));
    put_slot(session, "classes", make_classes(to));
    put_slot(session, "profiles", make_profiles(to));
    pdr_builder_free(to);
    return session;
}

TEST(folder_set, writes_the_golden_session_byte_for_byte)
{
    static const struct {
        const char *name;
        size_t bytes;
        const char *sha256;
    } golden[] = {
        {"golden.json", 1646312,
         "ceb209d1e16c8191a1e65f1cd4edcee463e61137d6aab2fad228fa218afb14fa"},
        {"golden.msgpack", 1516906,
         "a192230b6fa2e8cbbef98bc38f27cc3b9790326b0609279409e6bec14b29af80"},
    };
    pdr_session *session = make_session();

    for (int format = 0; format < 2; format++) {
        pdr_generation written;
        struct room room;
        pdr_folder *folder = NULL;
        char hex[65], *bytes = NULL;
        size_t len = 0;
        room_enter(&room);
        folder = folder_of(&room, (pdr_folder_format)format, NULL);
        ASSERT_RC(PDR_OK, pdr_folder_set(&written, folder, pdr_str_c("golden"),
                                         NULL, session, NULL, NULL, NULL));
        bytes = room_get(&room, golden[format].name, &len);
        ASSERT_SIZE(golden[format].bytes, len);
        pdr__hex(hex, written.sha256, sizeof(written.sha256));
        ASSERT_STR(golden[format].sha256, hex);
        ASSERT_RC(PDR_OK,
                  pdr__sha256(written.sha256, pdr_str_n(bytes, len), NULL));
        pdr__hex(hex, written.sha256, sizeof(written.sha256));
        ASSERT_STR(golden[format].sha256, hex);
        free(bytes);
        pdr_folder_close(folder);
        room_leave(&room);
    }
    pdr_session_free(session);
}
