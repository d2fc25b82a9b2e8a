/*
 * content.c - kinds of contents, and reading their fields.
 */
#include "content_table.h"
#include "content_text.h"

static const pdr_shape shapes[] = {PDR_SHAPE_STATE, PDR_SHAPE_DOTNET,
                                   PDR_SHAPE_PYTHON, PDR_SHAPE_SK};

#define LAST_KIND PDR_CONTENT_MESSAGE

TEST(content_kind, is_found_by_the_name_of_each_shape)
{
    for (size_t s = 0; s < PDR_COUNT(shapes); s++) {
        for (int k = 1; k <= LAST_KIND; k++) {
            const char *name =
                pdr_content_kind_name((pdr_content_kind)k, shapes[s]);
            char text[100];
            pdr_value *content = NULL;

            if (name[0] == '\0')
                continue;
            snprintf(text, sizeof(text), "{\"a\":1,\"%s\":\"%s\"}",
                     shapes[s] == PDR_SHAPE_PYTHON ? "type" : "$type", name);
            content = json_value(text);
            ASSERT_INT(k, pdr_content_kind_of(content, shapes[s]));
            pdr_value_free(content);
        }
    }
}

TEST(content_kind, is_other_for_what_nobody_knows)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "5",
        "\"text\"",
        "null",
        "{\"$type\":null}",
        "{\"$type\":\"\"}",
        "{\"$type\":\"Text\"}",
        "{\"$type\":\"hologram\"}",
        "{\"$type\":[\"text\"]}",
        "{\"type\":\"text\"}",
        "{\"$type\":\"te\\u0078t2\"}",
        "{\"$type\":\"text_reasoning\"}",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *content = json_value(texts[i]);

        ASSERT_INT(PDR_CONTENT_OTHER,
                   pdr_content_kind_of(content, PDR_SHAPE_STATE));
        pdr_value_free(content);
    }
    ASSERT_INT(PDR_CONTENT_OTHER, pdr_content_kind_of(NULL, PDR_SHAPE_PYTHON));
    ASSERT_STR("", pdr_content_kind_name(PDR_CONTENT_OTHER, PDR_SHAPE_STATE));
}

TEST(content_kind, takes_escapes_and_the_last_of_several)
{
    pdr_value *content = json_value("{\"$type\":\"uri\",\"x\":1,"
                                    "\"\\u0024type\":\"t\\u0065xt\"}");

    ASSERT_INT(PDR_CONTENT_TEXT, pdr_content_kind_of(content, PDR_SHAPE_STATE));
    pdr_value_free(content);
}

/* A value of each JSON kind that a row allows. */
static const char *sample(unsigned json)
{
    if ((json & JSON_TEXT) != 0)
        return "\"data:a/b,x\"";
    if ((json & JSON_MAP) != 0)
        return "{\"a\":1}";
    if ((json & JSON_LIST) != 0)
        return "[1]";
    return (json & JSON_BOOL) != 0 ? "true" : "1";
}

static void check_field(pdr_content_kind kind, pdr_shape shape,
                        const struct content_member *row)
{
    const char *name = row->names[shape];
    const char *type = shape == PDR_SHAPE_PYTHON ? "type" : "$type";
    char text[200];
    pdr_value *content = NULL;
    const pdr_value *got = NULL;

    snprintf(text, sizeof(text), "{\"%s\":\"%s\",\"%s\":%s}", type,
             pdr_content_kind_name(kind, shape), name, sample(row->json));
    content = json_value(text);
    got = pdr_content_get(content, shape, (pdr_field)row->field);
    ASSERT(got != NULL && got == pdr_value_get_c(content, name));
    pdr_value_free(content);

    snprintf(text, sizeof(text), "{\"%s\":\"%s\",\"%s\":null}", type,
             pdr_content_kind_name(kind, shape), name);
    content = json_value(text);
    ASSERT(pdr_content_get(content, shape, (pdr_field)row->field) == NULL);
    pdr_value_free(content);
}

TEST(content_get, finds_every_field_of_the_table)
{
    size_t count = 0;

    for (int k = 1; k <= LAST_KIND; k++) {
        struct content_members rows = pdr__content_members((pdr_content_kind)k);

        for (size_t i = 0; i < rows.count * PDR_COUNT(shapes); i++) {
            const struct content_member *row =
                &rows.rows[i / PDR_COUNT(shapes)];
            pdr_shape shape = shapes[i % PDR_COUNT(shapes)];

            if (row->field == 0 || row->names[shape] == NULL ||
                pdr_content_kind_name((pdr_content_kind)k, shape)[0] == '\0')
                continue;
            check_field((pdr_content_kind)k, shape, row);
            count++;
        }
    }
    ASSERT(count > 100);
}

TEST(content_get, says_nothing_of_fields_that_are_not_there)
{
    pdr_value *content =
        json_value("{\"$type\":\"text\",\"text\":5,\"annotations\":[1],"
                   "\"additionalProperties\":{\"a\":1}}");
    pdr_value *base = json_value("{\"additionalProperties\":{}}");

    ASSERT(pdr_content_get(content, PDR_SHAPE_STATE, PDR_FIELD_TEXT) == NULL);
    ASSERT(pdr_content_get(content, PDR_SHAPE_STATE, PDR_FIELD_URI) == NULL);
    ASSERT(pdr_content_get(content, PDR_SHAPE_PYTHON, PDR_FIELD_TEXT) == NULL);
    ASSERT(pdr_content_get(NULL, PDR_SHAPE_STATE, PDR_FIELD_TEXT) == NULL);
    ASSERT_SIZE(1, pdr_value_count(pdr_content_get(content, PDR_SHAPE_STATE,
                                                   PDR_FIELD_ANNOTATIONS)));
    ASSERT_SIZE(1, pdr_value_count(pdr_content_get(content, PDR_SHAPE_DOTNET,
                                                   PDR_FIELD_PROPERTIES)));
    ASSERT(pdr_content_get(base, PDR_SHAPE_DOTNET, PDR_FIELD_PROPERTIES) !=
           NULL);
    ASSERT(pdr_content_get(base, PDR_SHAPE_DOTNET, PDR_FIELD_TEXT) == NULL);
    pdr_value_free(base);
    pdr_value_free(content);
}

TEST(content_get, gives_details_in_every_form)
{
    static const struct {
        pdr_shape shape;
        const char *text;
        pdr_kind kind; /* PDR_NULL: nothing */
    } cases[] = {
        {PDR_SHAPE_STATE, "{\"$type\":\"error\",\"details\":\"a\"}",
         PDR_STRING},
        {PDR_SHAPE_STATE, "{\"$type\":\"error\",\"details\":{}}", PDR_OBJECT},
        {PDR_SHAPE_STATE, "{\"$type\":\"error\",\"detailsJson\":[]}",
         PDR_ARRAY},
        {PDR_SHAPE_STATE,
         "{\"$type\":\"error\",\"details\":null,\"detailsJson\":1}",
         PDR_NUMBER},
        {PDR_SHAPE_DOTNET, "{\"$type\":\"error\",\"details\":{}}", PDR_NULL},
        {PDR_SHAPE_PYTHON, "{\"type\":\"error\",\"error_details\":{}}",
         PDR_OBJECT},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *content = json_value(cases[i].text);
        const pdr_value *got =
            pdr_content_get(content, cases[i].shape, PDR_FIELD_DETAILS);

        ASSERT_INT(cases[i].kind, got == NULL ? PDR_NULL : pdr_value_kind(got));
        pdr_value_free(content);
    }
}

/* --- media types --------------------------------------------------------- */

TEST(media_type, is_its_own_member_or_that_of_the_uri)
{
    COVERS("D-9");
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{\"$type\":\"data\",\"uri\":\"data:text/plain;base64,SGk=\"}",
         "text/plain"},
        {"{\"$type\":\"data\",\"uri\":\"data:;base64,SGk=\","
         "\"mediaType\":\"text/plain\"}",
         "text/plain"},
        {"{\"$type\":\"data\",\"uri\":\"data:text/plain;charset=utf-8;base64,"
         "SGk=\",\"mediaType\":\"\"}",
         "text/plain;charset=utf-8"},
        {"{\"$type\":\"data\",\"uri\":\"DATA:image/png;BASE64,SGk=\"}",
         "image/png"},
        {"{\"$type\":\"data\",\"uri\":\"data:image\\/png,x\"}", "image/png"},
        {"{\"$type\":\"data\",\"uri\":\"data:,x\"}", ""},
        {"{\"$type\":\"data\",\"uri\":\"data:;charset=utf-8,x\"}", ""},
        {"{\"$type\":\"data\",\"uri\":\"data:text/plain\"}", ""},
        {"{\"$type\":\"data\",\"uri\":\"dat\"}", ""},
        {"{\"$type\":\"data\",\"uri\":\"https://a.example/b,c\"}", ""},
        {"{\"$type\":\"data\",\"uri\":5}", ""},
        {"{\"$type\":\"data\"}", ""},
        {"{\"$type\":\"uri\",\"uri\":\"data:text/plain,x\"}", ""},
        {"{\"$type\":\"uri\",\"uri\":\"u\",\"mediaType\":\"a\\/b\"}", "a/b"},
        {"{\"$type\":\"text\",\"text\":\"x\"}", ""},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_buf scratch = PDR_BUF_INIT(1000);
        pdr_value *content = json_value(cases[i].text);
        pdr_str media = {NULL, 0};

        ASSERT_RC(PDR_OK,
                  pdr_content_media_type(&media, content, PDR_SHAPE_STATE,
                                         &scratch, NULL));
        ASSERT_TEXT(cases[i].expected, media);
        pdr_buf_dispose(&scratch);
        assert_json(cases[i].text, content); /* nothing was changed */
    }
}

TEST(media_type, of_semantic_kernel_is_the_member)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{\"$type\":\"ImageContent\",\"MimeType\":\"image/png\"}",
         "image/png"},
        {"{\"$type\":\"BinaryContent\",\"Data\":\"AQID\"}", ""},
        {"{\"$type\":\"AudioContent\",\"MimeType\":5}", ""},
        {"{\"$type\":\"FileReferenceContent\",\"MimeType\":\"a/b\"}", "a/b"},
        {"{\"$type\":\"TextContent\",\"MimeType\":\"a/b\"}", ""},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_buf scratch = PDR_BUF_INIT(1000);
        pdr_value *content = json_value(cases[i].text);
        pdr_str media = {NULL, 0};

        ASSERT_RC(PDR_OK, pdr_content_media_type(&media, content, PDR_SHAPE_SK,
                                                 &scratch, NULL));
        ASSERT_TEXT(cases[i].expected, media);
        pdr_buf_dispose(&scratch);
        pdr_value_free(content);
    }
}

TEST(media_type, without_a_utf8_form_is_refused)
{
    static const char *const texts[] = {
        "{\"$type\":\"data\",\"uri\":\"data:a/b,\\ud800\"}",
        "{\"$type\":\"uri\",\"uri\":\"a\",\"mediaType\":\"a/\\udc00\"}",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_buf scratch = PDR_BUF_INIT(1000);
        pdr_value *content = json_value(texts[i]);
        pdr_str media = {NULL, 0};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_content_media_type(&media, content, PDR_SHAPE_STATE,
                                         &scratch, &err));
        ASSERT_STR("lone_surrogate", err.reason);
        pdr_buf_dispose(&scratch);
        pdr_value_free(content);
    }
}

TEST_OOM(media_type, cleans_up_after_any_failed_allocation)
{
    static const char text[] = "{\"$type\":\"data\",\"uri\":\"data:a\\/b,x\"}";
    pdr_buf scratch = PDR_BUF_INIT(1000);
    pdr_value *content = NULL;
    pdr_str media = {NULL, 0};
    pdr_rc rc = pdr_json_read(&content, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_content_media_type(&media, content, PDR_SHAPE_STATE, &scratch,
                                    NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&scratch);
    pdr_value_free(content);
}

/* --- arguments ----------------------------------------------------------- */

TEST(arguments, are_what_a_model_gets)
{
    static const struct {
        pdr_shape shape;
        const char *text, *expected;
    } cases[] = {
        {PDR_SHAPE_STATE,
         "{\"$type\":\"functionCall\",\"arguments\":{\"a\": 1.10}}",
         "{\"a\":1.10}"},
        {PDR_SHAPE_STATE, "{\"$type\":\"functionCall\"}", "{}"},
        {PDR_SHAPE_STATE, "{\"$type\":\"functionCall\",\"arguments\":null}",
         "{}"},
        {PDR_SHAPE_STATE, "{\"$type\":\"functionCall\",\"arguments\":[1, 2]}",
         "[1,2]"},
        {PDR_SHAPE_STATE,
         "{\"$type\":\"functionCall\",\"arguments\":{},"
         "\"argumentsText\":\"n\\u006ft\"}",
         "not"},
        {PDR_SHAPE_STATE,
         "{\"$type\":\"functionCall\",\"arguments\":{\"b\":1},"
         "\"argumentsText\":\"old\"}",
         "{\"b\":1}"},
        {PDR_SHAPE_STATE,
         "{\"$type\":\"functionCall\",\"arguments\":{},\"additionalProperties\""
         ":{\"perdure\":{\"python\":{\"members\":{\"arguments\":\"p\"}}}}}",
         "p"},
        {PDR_SHAPE_DOTNET,
         "{\"$type\":\"functionCall\",\"arguments\":{},\"additionalProperties\""
         ":{\"perdure\":{\"state\":{\"members\":{\"argumentsText\":\"q\"}}}}}",
         "q"},
        {PDR_SHAPE_DOTNET,
         "{\"$type\":\"mcpServerToolCall\",\"arguments\":{\"x\":[]}}",
         "{\"x\":[]}"},
        {PDR_SHAPE_PYTHON,
         "{\"type\":\"function_call\",\"arguments\":\"{\\\"a\\\": 1\"}",
         "{\"a\": 1"},
        {PDR_SHAPE_PYTHON,
         "{\"type\":\"function_call\",\"arguments\":{\"a\": 1}}", "{\"a\":1}"},
        {PDR_SHAPE_SK,
         "{\"$type\":\"FunctionCallContent\",\"Arguments\":{\"a\": 1.10}}",
         "{\"a\":1.10}"},
        {PDR_SHAPE_SK, "{\"$type\":\"FunctionCallContent\"}", "{}"},
        {PDR_SHAPE_SK,
         "{\"$type\":\"FunctionCallContent\",\"Arguments\":{\"raw\":\"p\"},"
         "\"Metadata\":{\"perdure\":{\"python\":{\"members\":{\"arguments\":"
         "\"p\"}}}}}",
         "p"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_buf out = PDR_BUF_INIT(1000);
        pdr_value *content = json_value(cases[i].text);

        ASSERT_RC(PDR_OK,
                  pdr_content_arguments(&out, content, cases[i].shape, NULL));
        ASSERT_TEXT(cases[i].expected, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
        pdr_value_free(content);
    }
}

TEST(arguments, without_a_text_are_refused)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"$type\":\"text\"}", "wrong_kind"},
        {"{\"$type\":\"functionCall\",\"argumentsText\":\"\\ud800\"}",
         "lone_surrogate"},
        {"{\"$type\":\"functionCall\",\"arguments\":{\"a\":NaN}}",
         "bare_token"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_buf out = PDR_BUF_INIT(1000);
        pdr_value *content = json_value(cases[i].text);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_content_arguments(&out, content, PDR_SHAPE_STATE, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_SIZE(0, out.len);
        pdr_buf_dispose(&out);
        pdr_value_free(content);
    }
}

TEST_OOM(arguments, clean_up_after_any_failed_allocation)
{
    static const char text[] =
        "{\"$type\":\"functionCall\",\"argumentsText\":\"n\\u006ft\"}";
    pdr_buf out = PDR_BUF_INIT(1000);
    pdr_value *content = NULL;
    pdr_rc rc = pdr_json_read(&content, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_content_arguments(&out, content, PDR_SHAPE_STATE, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&out);
    pdr_value_free(content);
}

/* --- what is surprising -------------------------------------------------- */

TEST(content_text, that_is_no_text_is_empty_and_stays)
{
    COVERS("D-103");
    COVERS("D-110");
    static const char *const texts[] = {
        "{\"$type\":\"text\"}",
        "{\"$type\":\"text\",\"text\":null}",
        "{\"$type\":\"text\",\"text\":5.0}",
        "{\"$type\":\"text\",\"text\":true}",
        "{\"$type\":\"text\",\"text\":[\"a\"]}",
        "{\"$type\":\"text\",\"text\":{\"a\":1}}",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        char text[400];
        pdr_value *state = NULL;
        const pdr_value *entry = NULL, *contents = NULL;

        snprintf(text, sizeof(text),
                 "{\"schemaVersion\":\"1.1.0\",\"data\":{"
                 "\"conversationHistory\":[{\"$type\":\"request\","
                 "\"correlationId\":7,\"createdAt\":\"2026-01-01T00:00:00Z\","
                 "\"messages\":[{\"role\":\"user\",\"contents\":[%s]}]}]}}",
                 texts[i]);
        ASSERT_RC(PDR_OK, pdr_state_read(&state, pdr_str_c(text), NULL, NULL));
        entry = pdr_value_at(pdr_state_entries(state), 0);
        ASSERT(pdr_entry_correlation_id(entry) == NULL);
        contents = pdr_message_contents(
            pdr_value_at(pdr_entry_messages(entry), 0), PDR_SHAPE_STATE);
        ASSERT_SIZE(1, pdr_value_count(contents));
        ASSERT(pdr_content_get(pdr_value_at(contents, 0), PDR_SHAPE_STATE,
                               PDR_FIELD_TEXT) == NULL);
        assert_json(text, state);
    }
}
