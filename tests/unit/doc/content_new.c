/*
 * content_new.c - contents that are made here.
 */
#include "content_table.h"
#include "content_text.h"

static pdr_str str(const char *text)
{
    return pdr_str_c(text);
}

/* --- the usual ones ------------------------------------------------------ */

TEST(content_new_text, gives_the_text_in_every_shape)
{
    static const char *const expected[] = {
        "{'$type':'text','text':'a\\u0000b'}",
        "{'$type':'text','text':'a\\u0000b'}",
        "{'type':'text','text':'a\\u0000b','additional_properties':{}}",
        "{'$type':'TextContent','Text':'a\\u0000b'}",
    };

    for (int s = 0; s < 4; s++) {
        pdr_value *made = NULL;

        ASSERT_RC(PDR_OK, pdr_content_new_text(&made, (pdr_shape)s,
                                               pdr_str_n("a\0b", 3), NULL));
        assert_quoted(expected[s], made);
    }
}

TEST(content_new_text, refuses_bad_utf8)
{
    pdr_value *made = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_content_new_text(&made, PDR_SHAPE_STATE, str("\xff"), &err));
    ASSERT_STR("bad_utf8", err.reason);
    ASSERT(made == NULL);
}

TEST(content_new_call, keeps_an_object_and_the_text_of_anything_else)
{
    COVERS("D-11");
    COVERS("D-12");
    COVERS("D-13");
    static const struct {
        pdr_shape shape;
        const char *arguments, *expected, *sent;
    } cases[] = {
        {PDR_SHAPE_STATE, "",
         "{'$type':'functionCall','arguments':{},'callId':'c','name':'f'}",
         "{}"},
        {PDR_SHAPE_STATE, "{\"a\":1}",
         "{'$type':'functionCall','arguments':{'a':1},'callId':'c',"
         "'name':'f'}",
         "{\"a\":1}"},
        {PDR_SHAPE_STATE, "not json",
         "{'$type':'functionCall','arguments':{},'callId':'c','name':'f',"
         "'argumentsText':'not json'}",
         "not json"},
        {PDR_SHAPE_STATE, "[1,2]",
         "{'$type':'functionCall','arguments':{},'callId':'c','name':'f',"
         "'argumentsText':'[1,2]'}",
         "[1,2]"},
        {PDR_SHAPE_DOTNET, "{ \"a\" : 1.10 }",
         "{'$type':'functionCall','name':'f','arguments':{'a':1.10},"
         "'informationalOnly':false,'callId':'c'}",
         "{\"a\":1.10}"},
        {PDR_SHAPE_DOTNET, "5",
         "{'$type':'functionCall','name':'f','arguments':{},"
         "'informationalOnly':false,'callId':'c','additionalProperties':"
         "{'perdure':{'state':{'members':{'argumentsText':'5'}}}}}",
         "5"},
        {PDR_SHAPE_PYTHON, "{ }",
         "{'type':'function_call','call_id':'c','name':'f',"
         "'arguments':'{ }','hosted':false,'additional_properties':{}}",
         "{ }"},
        {PDR_SHAPE_SK, "{ \"a\" : 1.10 }",
         "{'$type':'FunctionCallContent','Id':'c','FunctionName':'f',"
         "'Arguments':{'a':1.10}}",
         "{\"a\":1.10}"},
        {PDR_SHAPE_SK, "",
         "{'$type':'FunctionCallContent','Id':'c','FunctionName':'f',"
         "'Arguments':{}}",
         "{}"},
        {PDR_SHAPE_SK, "5",
         "{'$type':'FunctionCallContent','Id':'c','FunctionName':'f',"
         "'Arguments':{},'Metadata':{'perdure':{'state':{'members':"
         "{'argumentsText':'5'}}}}}",
         "5"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *made = NULL;
        pdr_buf sent = PDR_BUF_INIT(1000);

        ASSERT_RC(PDR_OK, pdr_content_new_call(&made, cases[i].shape, str("c"),
                                               str("f"),
                                               str(cases[i].arguments), NULL));
        ASSERT_RC(PDR_OK,
                  pdr_content_arguments(&sent, made, cases[i].shape, NULL));
        ASSERT_TEXT(cases[i].sent, pdr_buf_str(&sent));
        pdr_buf_dispose(&sent);
        assert_quoted(cases[i].expected, made);
    }
}

TEST(content_new_call, refuses_bad_utf8_in_each_text)
{
    const char *const texts[][3] = {
        {"\xff", "f", "{}"}, {"c", "\xff", "{}"}, {"c", "f", "\xff"}};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *made = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_content_new_call(
                                    &made, PDR_SHAPE_STATE, str(texts[i][0]),
                                    str(texts[i][1]), str(texts[i][2]), &err));
        ASSERT_STR("bad_utf8", err.reason);
        ASSERT(made == NULL);
    }
}

TEST(content_new_result, holds_any_json_and_leaves_out_null)
{
    COVERS("D-14");
    static const char *const results[] = {"{'a':[1.10]}", "[]",   "-0",
                                          "'s'",          "true", "''"};
    char expected[200];

    for (size_t i = 0; i < PDR_COUNT(results); i++) {
        pdr_value *result = doc_value(results[i]), *made = NULL;

        ASSERT_RC(PDR_OK, pdr_content_new_result(&made, PDR_SHAPE_STATE,
                                                 str("c"), result, NULL));
        snprintf(expected, sizeof(expected),
                 "{'$type':'functionResult','callId':'c','result':%s}",
                 results[i]);
        pdr_value_free(result);
        assert_quoted(expected, made);
    }
    for (int i = 0; i < 2; i++) {
        pdr_value *null = i == 0 ? NULL : pdr_value_new_null(), *made = NULL;

        ASSERT_RC(PDR_OK, pdr_content_new_result(&made, PDR_SHAPE_STATE,
                                                 str("c"), null, NULL));
        assert_quoted("{'$type':'functionResult','callId':'c'}", made);
    }
}

TEST(content_new_result, is_a_text_twice_in_python)
{
    pdr_value *result = json_value("{\"a\": NaN}"), *made = NULL;

    ASSERT_RC(PDR_OK, pdr_content_new_result(&made, PDR_SHAPE_PYTHON, str("c"),
                                             result, NULL));
    pdr_value_free(result);
    assert_json("{\"type\":\"function_result\",\"call_id\":\"c\","
                "\"result\":\"{\\\"a\\\":NaN}\",\"items\":[{\"type\":\"text\","
                "\"text\":\"{\\\"a\\\":NaN}\",\"additional_properties\":{}}],"
                "\"additional_properties\":{}}",
                made);
}

TEST(content_new_result, keeps_a_text_a_text_in_semantic_kernel)
{
    pdr_value *result = json_value("\"$4\""), *made = NULL;

    ASSERT_RC(PDR_OK, pdr_content_new_result(&made, PDR_SHAPE_SK, str("c"),
                                             result, NULL));
    pdr_value_free(result);
    assert_quoted("{'$type':'FunctionResultContent','CallId':'c',"
                  "'Result':'$4'}",
                  made);
}

TEST(content_new_error, leaves_out_what_is_empty)
{
    COVERS("D-10");
    static const struct {
        pdr_shape shape;
        const char *message, *code, *details, *expected;
    } cases[] = {
        {PDR_SHAPE_STATE, "m", "c", "'d'",
         "{'$type':'error','message':'m','errorCode':'c','details':'d'}"},
        {PDR_SHAPE_STATE, "", "", "null", "{'$type':'error'}"},
        {PDR_SHAPE_STATE, "m", "", "{'x':1}",
         "{'$type':'error','message':'m','detailsJson':{'x':1}}"},
        {PDR_SHAPE_DOTNET, "", "c", "[1]",
         "{'$type':'error','message':'','errorCode':'c','additionalProperties'"
         ":{'perdure':{'state':{'members':{'detailsJson':[1]}}}}}"},
        {PDR_SHAPE_PYTHON, "", "", "5",
         "{'type':'error','error_details':5,'additional_properties':{}}"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *details = doc_value(cases[i].details), *made = NULL;

        ASSERT_RC(PDR_OK, pdr_content_new_error(
                              &made, cases[i].shape, str(cases[i].message),
                              str(cases[i].code), details, NULL));
        pdr_value_free(details);
        assert_quoted(cases[i].expected, made);
    }
}

/* --- any kind ------------------------------------------------------------ */

/* Parts from JSON text; owned by the caller, who frees the values. */
static size_t read_parts(pdr_content_part parts[4], const pdr_field fields[4],
                         const char *const texts[4])
{
    size_t count = 0;

    while (count < 4 && texts[count] != NULL) {
        parts[count].field = fields[count];
        parts[count].value = doc_value(texts[count]);
        count++;
    }
    return count;
}

static void free_parts(const pdr_content_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pdr_value_free((pdr_value *)(uintptr_t)parts[i].value);
}

static const struct {
    pdr_shape shape;
    pdr_content_kind kind;
    pdr_field fields[4];
    const char *texts[4];
    const char *expected;
} ordered[] = {
    {PDR_SHAPE_STATE,
     PDR_CONTENT_REASONING,
     {PDR_FIELD_PROTECTED, PDR_FIELD_TEXT, PDR_FIELD_PROPERTIES},
     {"'p'", "'t'", "{'k':1}"},
     "{'$type':'reasoning','text':'t','protectedData':'p',"
     "'additionalProperties':{'k':1}}"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_DATA,
     {PDR_FIELD_NAME, PDR_FIELD_URI},
     {"'n'", "'data:a\\/b;x=y;base64,AA=='"},
     "{'$type':'data','uri':'data:a\\/b;x=y;base64,AA==',"
     "'mediaType':'a/b;x=y','name':'n'}"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_URI,
     {PDR_FIELD_URI},
     {"'u:'"},
     "{'$type':'uri','uri':'u:','mediaType':'application/octet-stream'}"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_FILE,
     {PDR_FIELD_MEDIA_TYPE, PDR_FIELD_FILE_ID},
     {"'a/b'", "'f'"},
     "{'$type':'hostedFile','fileId':'f','mediaType':'a/b'}"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_USAGE,
     {PDR_FIELD_USAGE},
     {"{'inputTokenCount':1}"},
     "{'$type':'usage','usage':{'inputTokenCount':1}}"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_UNKNOWN,
     {PDR_FIELD_CONTENT},
     {"{'type':'x'}"},
     "{'$type':'unknown','content':{'type':'x'}}"},
    {PDR_SHAPE_DOTNET,
     PDR_CONTENT_APPROVAL_RESPONSE,
     {PDR_FIELD_REQUEST_ID, PDR_FIELD_REASON, PDR_FIELD_TOOL_CALL,
      PDR_FIELD_APPROVED},
     {"'r'", "'why'", "{}", "true"},
     "{'$type':'toolApprovalResponse','approved':true,'toolCall':{},"
     "'reason':'why','requestId':'r'}"},
    {PDR_SHAPE_PYTHON,
     PDR_CONTENT_APPROVAL_REQUEST,
     {PDR_FIELD_TOOL_CALL, PDR_FIELD_REQUEST_ID, PDR_FIELD_ANNOTATIONS},
     {"{}", "'r'", "[]"},
     "{'type':'function_approval_request','function_call':{},"
     "'user_input_request':true,'id':'r','additional_properties':{},"
     "'annotations':[]}"},
    {PDR_SHAPE_DOTNET,
     PDR_CONTENT_ERROR,
     {PDR_FIELD_DETAILS, PDR_FIELD_PROPERTIES},
     {"{}", "{'k':1}"},
     "{'$type':'error','message':'','additionalProperties':{'k':1,"
     "'perdure':{'state':{'members':{'detailsJson':{}}}}}}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_CALL,
     {PDR_FIELD_ARGUMENTS, PDR_FIELD_NAME, PDR_FIELD_PLUGIN, PDR_FIELD_CALL_ID},
     {"{}", "'f-g'", "'p'", "'c'"},
     "{'$type':'FunctionCallContent','Id':'c','PluginName':'p',"
     "'FunctionName':'f-g','Arguments':{}}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_CALL,
     {PDR_FIELD_NAME},
     {"'f'"},
     "{'$type':'FunctionCallContent','FunctionName':'f'}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_RESULT,
     {PDR_FIELD_RESULT, PDR_FIELD_NAME, PDR_FIELD_PLUGIN, PDR_FIELD_CALL_ID},
     {"1.10", "'f'", "'p'", "'c'"},
     "{'$type':'FunctionResultContent','CallId':'c','PluginName':'p',"
     "'FunctionName':'f','Result':1.10}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_IMAGE,
     {PDR_FIELD_DATA, PDR_FIELD_PROPERTIES, PDR_FIELD_MEDIA_TYPE},
     {"'AQID'", "{'k':1}", "'image/png'"},
     "{'$type':'ImageContent','MimeType':'image/png','Metadata':{'k':1},"
     "'Data':'AQID'}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_AUDIO,
     {PDR_FIELD_URI},
     {"'https://a.example/b.wav'"},
     "{'$type':'AudioContent','Uri':'https://a.example/b.wav'}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_BINARY,
     {0},
     {NULL},
     "{'$type':'BinaryContent'}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_FILE,
     {PDR_FIELD_FILE_ID},
     {"'f'"},
     "{'$type':'FileReferenceContent','FileId':'f'}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_REASONING,
     {0},
     {NULL},
     "{'$type':'ReasoningContent','Text':''}"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_ACTION,
     {PDR_FIELD_TEXT},
     {"'Go'"},
     "{'$type':'ActionContent','Text':'Go'}"},
};

TEST(content_new, puts_members_into_the_order_of_the_edition)
{
    for (size_t i = 0; i < PDR_COUNT(ordered); i++) {
        pdr_content_part parts[4];
        size_t count = read_parts(parts, ordered[i].fields, ordered[i].texts);
        pdr_value *made = NULL;

        ASSERT_RC(PDR_OK, pdr_content_new(&made, ordered[i].shape,
                                          ordered[i].kind, parts, count, NULL));
        free_parts(parts, count);
        assert_quoted(ordered[i].expected, made);
    }
}

static const struct {
    pdr_shape shape;
    pdr_content_kind kind;
    pdr_field fields[4];
    const char *texts[4];
    const char *reason;
} refused[] = {
    {PDR_SHAPE_STATE, PDR_CONTENT_OTHER, {0}, {NULL}, "no_such_kind"},
    {PDR_SHAPE_STATE, PDR_CONTENT_MCP_CALL, {0}, {NULL}, "no_such_kind"},
    {PDR_SHAPE_PYTHON, PDR_CONTENT_UNKNOWN, {0}, {NULL}, "no_such_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_TEXT,
     {PDR_FIELD_URI},
     {"'u'"},
     "no_such_field"},
    {PDR_SHAPE_DOTNET,
     PDR_CONTENT_DATA,
     {PDR_FIELD_MEDIA_TYPE},
     {"'a/b'"},
     "no_such_field"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_TEXT,
     {PDR_FIELD_TEXT, PDR_FIELD_TEXT},
     {"'a'", "'b'"},
     "no_such_field"},
    {PDR_SHAPE_STATE, PDR_CONTENT_TEXT, {PDR_FIELD_TEXT}, {"5"}, "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_TEXT,
     {PDR_FIELD_TEXT},
     {"'\\ud800'"},
     "lone_surrogate"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_URI,
     {PDR_FIELD_URI},
     {"'rel'"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_DATA,
     {PDR_FIELD_URI},
     {"'data:a/b;base64,!!'"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_URI,
     {PDR_FIELD_URI, PDR_FIELD_MEDIA_TYPE},
     {"'a:b'", "'http://a b'"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_USAGE,
     {PDR_FIELD_USAGE},
     {"{'outputTokenCount':1.0}"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_USAGE,
     {PDR_FIELD_USAGE},
     {"{'totalTokenCount':'x'}"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_CALL,
     {PDR_FIELD_ARGUMENTS},
     {"'{}'"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_RESULT,
     {PDR_FIELD_RESULT},
     {"null"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_DATA,
     {PDR_FIELD_URI},
     {"'https://a.example/'"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_URI,
     {PDR_FIELD_MEDIA_TYPE},
     {"'png'"},
     "wrong_kind"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_FILE,
     {PDR_FIELD_FILE_ID},
     {"'  '"},
     "field_missing"},
    {PDR_SHAPE_STATE, PDR_CONTENT_FILE, {0}, {NULL}, "field_missing"},
    {PDR_SHAPE_STATE, PDR_CONTENT_USAGE, {0}, {NULL}, "field_missing"},
    {PDR_SHAPE_PYTHON, PDR_CONTENT_DATA, {0}, {NULL}, "field_missing"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_CALL,
     {PDR_FIELD_CALL_ID},
     {"'c'"},
     "field_missing"},
    {PDR_SHAPE_DOTNET,
     PDR_CONTENT_APPROVAL_REQUEST,
     {PDR_FIELD_REQUEST_ID},
     {"'r'"},
     "field_missing"},
    {PDR_SHAPE_SK, PDR_CONTENT_DATA, {0}, {NULL}, "no_such_kind"},
    {PDR_SHAPE_SK, PDR_CONTENT_ERROR, {0}, {NULL}, "no_such_kind"},
    {PDR_SHAPE_DOTNET, PDR_CONTENT_IMAGE, {0}, {NULL}, "no_such_kind"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_TEXT,
     {PDR_FIELD_ANNOTATIONS},
     {"[]"},
     "no_such_field"},
    {PDR_SHAPE_STATE,
     PDR_CONTENT_CALL,
     {PDR_FIELD_PLUGIN},
     {"'p'"},
     "no_such_field"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_IMAGE,
     {PDR_FIELD_URI},
     {"'data:image/png;base64,AQID'"},
     "wrong_kind"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_IMAGE,
     {PDR_FIELD_URI},
     {"'a.png'"},
     "wrong_kind"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_IMAGE,
     {PDR_FIELD_DATA},
     {"'AQI'"},
     "wrong_kind"},
    {PDR_SHAPE_SK, PDR_CONTENT_CALL, {0}, {NULL}, "field_missing"},
    {PDR_SHAPE_SK,
     PDR_CONTENT_ACTION,
     {PDR_FIELD_TEXT},
     {"' '"},
     "field_missing"},
    {PDR_SHAPE_SK, PDR_CONTENT_ACTION, {0}, {NULL}, "field_missing"},
    {PDR_SHAPE_SK, PDR_CONTENT_ANNOTATION, {0}, {NULL}, "field_missing"},
    {PDR_SHAPE_SK, PDR_CONTENT_MESSAGE, {0}, {NULL}, "field_missing"},
};

TEST(content_new, refuses_what_a_reader_would_refuse)
{
    for (size_t i = 0; i < PDR_COUNT(refused); i++) {
        pdr_content_part parts[4];
        size_t count = read_parts(parts, refused[i].fields, refused[i].texts);
        pdr_value *made = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_content_new(&made, refused[i].shape, refused[i].kind,
                                  parts, count, &err));
        ASSERT_STR(refused[i].reason, err.reason);
        ASSERT(made == NULL);
        free_parts(parts, count);
    }
}

/* --- without memory ------------------------------------------------------ */

static void done(pdr_rc rc, pdr_value *made)
{
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((made != NULL) == (rc == PDR_OK));
    pdr_value_free(made);
}

TEST_OOM(content_new_call, cleans_up_after_any_failed_allocation)
{
    pdr_value *made = NULL;
    pdr_rc rc = pdr_content_new_call(&made, PDR_SHAPE_STATE, str("c"), str("f"),
                                     str("no"), NULL);

    done(rc, made);
}

TEST_OOM(content_new_call, cleans_up_in_the_shape_of_dotnet)
{
    pdr_value *made = NULL;
    pdr_rc rc = pdr_content_new_call(&made, PDR_SHAPE_DOTNET, str("c"),
                                     str("f"), str("no"), NULL);

    done(rc, made);
}

TEST_OOM(content_new_call, cleans_up_in_the_shape_of_semantic_kernel)
{
    pdr_value *made = NULL;
    pdr_rc rc = pdr_content_new_call(&made, PDR_SHAPE_SK, str("c"), str("f"),
                                     str("no"), NULL);

    done(rc, made);
}

TEST_OOM(content_new_result, cleans_up_after_any_failed_allocation)
{
    pdr_value *made = NULL, *result = pdr_value_new_array();
    pdr_rc rc =
        pdr_content_new_result(&made, PDR_SHAPE_PYTHON, str("c"), result, NULL);

    done(rc, made);
}

TEST_OOM(content_new_error, cleans_up_after_any_failed_allocation)
{
    pdr_value *made = NULL, *details = pdr_value_new_array();
    pdr_rc rc = pdr_content_new_error(&made, PDR_SHAPE_DOTNET, str("m"),
                                      str("c"), details, NULL);

    done(rc, made);
}

TEST_OOM(content_new, cleans_up_after_any_failed_allocation)
{
    pdr_value *made = NULL, *uri = NULL;
    pdr_content_part part = {PDR_FIELD_URI, NULL};
    pdr_rc rc = pdr_json_read(&uri, str("\"data:a\\/b,x\""), NULL, NULL);

    part.value = uri;
    if (rc == PDR_OK)
        rc = pdr_content_new(&made, PDR_SHAPE_STATE, PDR_CONTENT_DATA, &part, 1,
                             NULL);
    pdr_value_free(uri);
    done(rc, made);
}

TEST(content_new_call, leaves_no_error_behind_when_it_keeps_a_text)
{
    pdr_value *call = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_content_new_call(&call, PDR_SHAPE_STATE,
                                           pdr_str_c("1"), pdr_str_c("f"),
                                           pdr_str_c("not json"), &err));
    ASSERT_RC(PDR_OK, err.code);
    ASSERT_STR("", err.reason);
    pdr_value_free(call);
}
