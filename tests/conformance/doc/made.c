/*
 * made.c - everything that we can make, in one document: every kind of entry,
 * message and content with all its parts.
 *
 * WHY  Whoever reads our documents relies on the strict schema: it names every
 *      member that we write. So a member that we begin to write and that it
 *      does not name fails here. The table of contents says itself what there
 *      is to make: a new kind or field takes part without a change here.
 */
#include "json_text.h"
#include "test.h"

#include "base.h"

#define FIELDS (PDR_FIELD_PROPERTIES + 1)

/* --- contents ------------------------------------------------------------- */

/* A value for each field; every other one is a text. */
static const char *const values[FIELDS] = {
    [PDR_FIELD_URI] = "\"data:text/plain;base64,SGk=\"",
    [PDR_FIELD_MEDIA_TYPE] = "\"text/plain\"",
    [PDR_FIELD_ARGUMENTS] = "{\"pier\":7}",
    [PDR_FIELD_RESULT] = "{\"open\":[true,null]}",
    [PDR_FIELD_USAGE] = "{\"inputTokenCount\":1,\"outputTokenCount\":2,"
                        "\"totalTokenCount\":3,\"cachedInputTokenCount\":1}",
    [PDR_FIELD_CONTENT] = "{\"$type\":\"toolCall\",\"callId\":\"k\"}",
    [PDR_FIELD_ANNOTATIONS] = "[{\"$type\":\"citation\",\"title\":\"t\"}]",
    [PDR_FIELD_PROPERTIES] = "{\"lang\":\"en\"}",
};

static pdr_value *value_of_field(pdr_field field)
{
    return json(values[field] != NULL ? values[field] : "\"some text\"");
}

/* Does a content of this kind take the field? */
static bool has_field(pdr_content_kind kind, pdr_field field)
{
    pdr_value *value = value_of_field(field), *content = NULL;
    pdr_content_part part = {field, value};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc =
        pdr_content_new(&content, PDR_SHAPE_STATE, kind, &part, 1, &err);
    bool has = rc == PDR_OK || strcmp(err.reason, "no_such_field") != 0;

    if (rc != PDR_OK && has && strcmp(err.reason, "field_missing") != 0)
        fail_msg("kind %d, field %d: %s", (int)kind, (int)field, err.message);
    pdr_value_free(content);
    pdr_value_free(value);
    return has;
}

/* A content with all fields of its kind. */
static pdr_value *full_content(pdr_content_kind kind)
{
    pdr_content_part parts[FIELDS];
    pdr_value *content = NULL;
    size_t count = 0;
    pdr_err err = PDR_ERR_INIT;

    for (int field = 1; field < FIELDS; field++)
        if (has_field(kind, (pdr_field)field)) {
            parts[count].field = (pdr_field)field;
            parts[count++].value = value_of_field((pdr_field)field);
        }
    if (pdr_content_new(&content, PDR_SHAPE_STATE, kind, parts, count, &err) !=
        PDR_OK)
        fail_msg("kind %d: %s", (int)kind, err.message);
    for (size_t i = 0; i < count; i++)
        pdr_value_free((pdr_value *)(uintptr_t)parts[i].value);
    return content;
}

static void add(pdr_value **list, pdr_value *owned)
{
    assert_non_null(owned);
    ASSERT_RC(PDR_OK, pdr_value_append(list, owned, NULL));
    pdr_value_free(owned);
}

static pdr_value *every_content(void)
{
    pdr_value *list = pdr_value_new_array(), *made = NULL;
    pdr_value *details = json("{\"http\":503}"), *result = json("[1,2.50]");
    size_t kinds = 0;

    for (int kind = 1; kind <= PDR_CONTENT_UNKNOWN; kind++) {
        add(&list, full_content((pdr_content_kind)kind));
        kinds++;
    }
    ASSERT_SIZE(11, kinds);
    ASSERT_RC(PDR_OK, pdr_content_new_text(&made, PDR_SHAPE_STATE,
                                           pdr_str_c(""), NULL));
    add(&list, made);
    ASSERT_RC(PDR_OK, pdr_content_new_call(&made, PDR_SHAPE_STATE,
                                           pdr_str_c("k1"), pdr_str_c("f"),
                                           pdr_str_c("not json"), NULL));
    add(&list, made);
    ASSERT_RC(PDR_OK, pdr_content_new_call(&made, PDR_SHAPE_STATE,
                                           pdr_str_c("k2"), pdr_str_c("f"),
                                           pdr_str_c("{\"a\":1}"), NULL));
    add(&list, made);
    ASSERT_RC(PDR_OK, pdr_content_new_result(&made, PDR_SHAPE_STATE,
                                             pdr_str_c("k1"), result, NULL));
    add(&list, made);
    ASSERT_RC(PDR_OK, pdr_content_new_result(&made, PDR_SHAPE_STATE,
                                             pdr_str_c("k2"), NULL, NULL));
    add(&list, made);
    ASSERT_RC(PDR_OK,
              pdr_content_new_error(&made, PDR_SHAPE_STATE, pdr_str_c("m"),
                                    pdr_str_c("c"), details, NULL));
    add(&list, made);
    pdr_value_free(result);
    pdr_value_free(details);
    return list;
}

/* --- documents ------------------------------------------------------------ */

static pdr_value *every_message(void)
{
    pdr_value *contents = every_content(), *list = pdr_value_new_array();
    pdr_value *properties = json("{\"lang\":\"en\"}"), *message = NULL;
    pdr_datetime at = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH + 1234567);
    pdr_message_parts bare = {.role = pdr_str_c("user")};
    pdr_message_parts full = {.role = pdr_str_c("assistant"),
                              .author = pdr_str_c("Harbour"),
                              .id = pdr_str_c("m-1"),
                              .created_at = &at,
                              .contents = contents,
                              .properties = properties};

    ASSERT_RC(PDR_OK, pdr_message_new(&message, PDR_SHAPE_STATE, &bare, NULL));
    add(&list, message);
    ASSERT_RC(PDR_OK, pdr_message_new(&message, PDR_SHAPE_STATE, &full, NULL));
    add(&list, message);
    pdr_value_free(properties);
    pdr_value_free(contents);
    return list;
}

static pdr_value *every_entry(void)
{
    pdr_value *state = NULL, *entry = NULL, *messages = every_message();
    pdr_value *schema = json("{\"type\":\"object\"}");
    pdr_value *usage = json(values[PDR_FIELD_USAGE]);
    pdr_entry_parts parts[] = {
        {.kind = PDR_ENTRY_REQUEST,
         .correlation_id = pdr_str_c("c1"),
         .created_at = 1},
        {.kind = PDR_ENTRY_RESPONSE,
         .correlation_id = pdr_str_c("c1"),
         .created_at = 2,
         .is_error = true},
        {.kind = PDR_ENTRY_REQUEST,
         .correlation_id = pdr_str_c("c2"),
         .created_at = 15,
         .messages = messages,
         .orchestration_id = pdr_str_c("o"),
         .response_type = pdr_str_c("json"),
         .response_schema = schema},
        {.kind = PDR_ENTRY_RESPONSE,
         .correlation_id = pdr_str_c("c2"),
         .created_at = 30,
         .messages = messages,
         .usage = usage},
    };

    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    for (size_t i = 0; i < PDR_COUNT(parts); i++) {
        ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts[i], NULL));
        ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
        pdr_value_free(entry);
    }
    ASSERT_RC(PDR_OK, pdr_state_set_expiration(&state, 45, NULL));
    pdr_value_free(usage);
    pdr_value_free(schema);
    pdr_value_free(messages);
    return state;
}

/* --- checks --------------------------------------------------------------- */

/* Keeps the first error for the message of a test that fails. */
struct found {
    size_t errors;
    char first[300];
};

static pdr_rc note(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    struct found *found = arg;

    (void)err;
    if (finding->severity == PDR_SEVERITY_ERROR && found->errors++ == 0)
        snprintf(found->first, sizeof(found->first), "%s at %.*s: %.*s",
                 finding->rule, (int)finding->pointer.len, finding->pointer.ptr,
                 (int)finding->text.len, finding->text.ptr);
    return PDR_OK;
}

static struct found structure_of(const pdr_value *state, pdr_state_schema which)
{
    struct found found = {0, ""};

    ASSERT_RC(PDR_OK,
              pdr_state_check_structure(state, which, NULL, note, &found));
    return found;
}

TEST(everything_we_make, is_named_in_the_strict_schema)
{
    pdr_value *state = every_entry();

    ASSERT_STR("", structure_of(state, PDR_STATE_STRICT).first);
    ASSERT_STR("", structure_of(state, PDR_STATE_TOLERANT).first);
    pdr_value_free(state);
}

TEST(strict_schema, finds_a_member_that_it_does_not_name)
{
    static const char *const places[] = {
        "/extra",
        "/data/extra",
        "/data/conversationHistory/2/extra",
        "/data/conversationHistory/3/extra",
        "/data/conversationHistory/3/messages/1/extra",
        "/data/conversationHistory/3/messages/1/contents/0/extra",
        "/data/conversationHistory/3/messages/1/contents/5/extra",
    };

    for (size_t i = 0; i < PDR_COUNT(places); i++) {
        pdr_value *state = every_entry(), *value = json("1");
        ASSERT_RC(PDR_OK,
                  pdr_pointer_set(&state, pdr_str_c(places[i]), value, NULL));
        if (structure_of(state, PDR_STATE_STRICT).errors == 0)
            fail_msg("%s was not found", places[i]);
        pdr_value_free(value);
        pdr_value_free(state);
    }
}

TEST(everything_we_make, comes_back_with_all_its_parts)
{
    pdr_value *state = every_entry(), *read = NULL;
    pdr_buf text = PDR_BUF_INIT(1u << 20);

    ASSERT_RC(PDR_OK, pdr_json_write(&text, state, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_state_read(&read, pdr_buf_str(&text), NULL, NULL));
    ASSERT(pdr_value_equal(state, read));
    pdr_buf_dispose(&text);
    pdr_value_free(read);
    pdr_value_free(state);
}

TEST(everything_we_make, loads_and_runs_in_both_runtimes)
{
    static const pdr_reader readers[] = {PDR_READER_DOTNET, PDR_READER_PYTHON};
    pdr_value *state = every_entry();
    pdr_buf text = PDR_BUF_INIT(1u << 20);

    ASSERT_RC(PDR_OK, pdr_json_write(&text, state, NULL, NULL));
    for (size_t i = 0; i < PDR_COUNT(readers); i++) {
        pdr_reader_verdict verdict = {false, false};
        struct found found = {0, ""};
        ASSERT_RC(PDR_OK,
                  pdr_state_check_reader(&verdict, pdr_buf_str(&text),
                                         readers[i], NULL, note, &found));
        ASSERT(verdict.loads && verdict.runs);
        ASSERT_STR("", found.first);
    }
    pdr_buf_dispose(&text);
    pdr_value_free(state);
}
