/*
 * message.c - messages: reading and making.
 */
#include "content_text.h"

static const pdr_datetime at = {PDR_TICKS_UNIX_EPOCH + 5, 60, true, true};

TEST(message, gives_its_parts_in_every_shape)
{
    static const char *const texts[] = {
        "{'authorName':'A','createdAt':'1970-01-01T00:00:00Z','contents':[1],"
        "'role':'user','messageId':'m','additionalProperties':{'a':1}}",
        "{'authorName':'A','createdAt':'1970-01-01T01:00:00+01:00',"
        "'role':'user','contents':[1],'messageId':'m',"
        "'additionalProperties':{'a':1}}",
        "{'role':'user','contents':[1],'author_name':'A','message_id':'m',"
        "'additional_properties':{'a':1},'type':'message'}",
        "{'AuthorName':'A','Role':{'Label':'user'},'Items':[1],"
        "'Metadata':{'a':1}}",
    };

    for (int s = 0; s < 4; s++) {
        pdr_shape shape = (pdr_shape)s;
        pdr_value *message = doc_value(texts[s]);
        pdr_datetime when = {0, 0, false, false};

        ASSERT(pdr_value_text_is(pdr_message_role(message, shape),
                                 pdr_str_c("user")));
        ASSERT(pdr_value_text_is(pdr_message_author(message, shape),
                                 pdr_str_c("A")));
        ASSERT(shape == PDR_SHAPE_SK
                   ? pdr_message_id(message, shape) == NULL
                   : pdr_value_text_is(pdr_message_id(message, shape),
                                       pdr_str_c("m")));
        ASSERT_SIZE(1, pdr_value_count(pdr_message_contents(message, shape)));
        ASSERT_SIZE(1, pdr_value_count(pdr_message_properties(message, shape)));
        ASSERT_INT(shape < PDR_SHAPE_PYTHON,
                   pdr_message_created_at(&when, message, shape));
        if (shape < PDR_SHAPE_PYTHON)
            ASSERT_INT(PDR_TICKS_UNIX_EPOCH, when.ticks);
        pdr_value_free(message);
    }
}

/* As the serializer of .NET writes them without the framework's options. */
TEST(message, of_dotnet_gives_its_parts_whatever_the_case_of_their_names)
{
    size_t len = 0;
    char *text = test_read_data(
        "dotnet/sessions/messages-default-serializer.json", &len);
    pdr_value *messages = json_value(text), *old = NULL;
    const pdr_value *first = pdr_value_at(messages, 0), *content = NULL;
    pdr_datetime when = {0, 0, false, false};

    ASSERT(pdr_value_text_is(pdr_message_role(first, PDR_SHAPE_DOTNET),
                             pdr_str_c("assistant")));
    ASSERT(pdr_value_text_is(pdr_message_author(first, PDR_SHAPE_DOTNET),
                             pdr_str_c("Frontdesk")));
    ASSERT(pdr_value_text_is(pdr_message_id(first, PDR_SHAPE_DOTNET),
                             pdr_str_c("m-1")));
    ASSERT(pdr_message_properties(first, PDR_SHAPE_DOTNET) == NULL);
    content = pdr_value_at(pdr_message_contents(first, PDR_SHAPE_DOTNET), 1);
    ASSERT(pdr_value_text_is(
        pdr_content_get(content, PDR_SHAPE_DOTNET, PDR_FIELD_MEDIA_TYPE),
        pdr_str_c("text/html")));
    ASSERT(pdr_message_role(first, PDR_SHAPE_STATE) == NULL);
    ASSERT(pdr_message_contents(first, PDR_SHAPE_STATE) == NULL);
    ASSERT(pdr_content_get(content, PDR_SHAPE_STATE, PDR_FIELD_URI) == NULL);

    old = doc_value("{'CreatedAt':'1970-01-01T00:00:00Z','role':'user',"
                    "'ROLE':'tool','messageId':'m','MessageId':5}");
    ASSERT(pdr_message_created_at(&when, old, PDR_SHAPE_DOTNET));
    ASSERT(!pdr_message_created_at(&when, old, PDR_SHAPE_STATE));
    ASSERT(pdr_value_text_is(pdr_message_role(old, PDR_SHAPE_DOTNET),
                             pdr_str_c("tool")));
    ASSERT(pdr_message_id(old, PDR_SHAPE_DOTNET) == NULL);
    pdr_value_free(old);
    pdr_value_free(messages);
    free(text);
}

TEST(message, has_nothing_where_another_kind_stands)
{
    pdr_value *message = doc_value(
        "{'role':{'value':'x'},'authorName':1,'messageId':null,'contents':{},"
        "'additionalProperties':[],'createdAt':'soon'}");
    pdr_datetime when;

    ASSERT(pdr_message_role(message, PDR_SHAPE_STATE) == NULL);
    ASSERT(pdr_message_author(message, PDR_SHAPE_STATE) == NULL);
    ASSERT(pdr_message_id(message, PDR_SHAPE_DOTNET) == NULL);
    ASSERT(pdr_message_contents(message, PDR_SHAPE_STATE) == NULL);
    ASSERT(pdr_message_properties(message, PDR_SHAPE_STATE) == NULL);
    ASSERT(!pdr_message_created_at(&when, message, PDR_SHAPE_STATE));
    ASSERT(pdr_message_role(NULL, PDR_SHAPE_PYTHON) == NULL);
    pdr_value_free(message);
}

TEST(message_role, stands_in_an_object_in_older_python)
{
    pdr_value *message =
        doc_value("{'role':{'type':'role','value':'assistant'}}");
    pdr_value *odd = doc_value("{'role':{'value':5}}");

    ASSERT(pdr_value_text_is(pdr_message_role(message, PDR_SHAPE_PYTHON),
                             pdr_str_c("assistant")));
    ASSERT(pdr_message_role(odd, PDR_SHAPE_PYTHON) == NULL);
    pdr_value_free(odd);
    pdr_value_free(message);
}

/* How it is spelled, and what is read: role, author, texts of the contents. */
TEST(message, of_semantic_kernel_is_read_in_its_own_and_other_spellings)
{
    static const struct {
        const char *text, *role, *author, *said;
    } cases[] = {
        {"{'AuthorName':'A','Role':{'Label':'Assistant'},'Items':["
         "{'$type':'TextContent','Text':'a'},{'Text':'b','$type':"
         "'TextContent'},{'$type':'Hologram','Text':'c'}]}",
         "Assistant", "A", "ab"},
        {"{'name':'A','role':'user','items':[{'$type':'TextContent',"
         "'Text':'a'}]}",
         "user", "A", "a"},
        {"{'Role':{'label':'user'},'AuthorName':null}", "user", NULL, ""},
        {"{'Role':'tool','role':'user','AuthorName':'A','name':'B',"
         "'Items':[],'items':[{'$type':'TextContent','Text':'a'}]}",
         "tool", "A", ""},
        {"{'Role':{'Label':null,'label':'user'},'AUTHORNAME':'A'}", NULL, NULL,
         ""},
        {"{'Role':5,'AuthorName':5,'Items':{}}", NULL, NULL, ""},
        {"{'Role':{'Label':['user']},'Items':[null,5,[]]}", NULL, NULL, ""},
        {"{'authorName':'A','contents':[{'$type':'text','text':'a'}]}", NULL,
         NULL, ""},
        {"{'Role':{'Label':'user'},'Items':[{'$type':'TextContent','Text':"
         "'\\ud800'},{'$type':'TextContent','$type':'ActionContent','Text':"
         "'b'},{'$type':'TextContent','Text':null}]}",
         "user", NULL, "\xEF\xBF\xBD"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *message = doc_value(cases[i].text);
        const pdr_value *role = pdr_message_role(message, PDR_SHAPE_SK);
        const pdr_value *author = pdr_message_author(message, PDR_SHAPE_SK);
        pdr_buf said = PDR_BUF_INIT(1000);

        ASSERT((role == NULL) == (cases[i].role == NULL));
        ASSERT((author == NULL) == (cases[i].author == NULL));
        if (role != NULL)
            ASSERT(pdr_value_text_is(role, pdr_str_c(cases[i].role)));
        if (author != NULL)
            ASSERT(pdr_value_text_is(author, pdr_str_c(cases[i].author)));
        ASSERT_RC(PDR_OK, pdr_message_text(&said, message, PDR_SHAPE_SK, NULL));
        ASSERT_TEXT(cases[i].said, pdr_buf_str(&said));
        pdr_buf_dispose(&said);
        pdr_value_free(message);
    }
}

TEST(message_new, has_the_order_of_the_edition)
{
    static const char *const expected[] = {
        "{'authorName':'A','createdAt':'1970-01-01T00:00:00+00:00',"
        "'contents':[],'role':'user','messageId':'m',"
        "'additionalProperties':{'k':1}}",
        "{'authorName':'A','createdAt':'1970-01-01T00:00:00.0000005+00:00',"
        "'role':'user','contents':[],'messageId':'m',"
        "'additionalProperties':{'k':1}}",
        "{'role':'user','contents':[],'author_name':'A','message_id':'m',"
        "'additional_properties':{'k':1,'perdure':{'members':{'createdAt':"
        "'1970-01-01T00:00:00+00:00'}}},'type':'message'}",
        "{'AuthorName':'A','Role':{'Label':'user'},'Items':[],"
        "'Metadata':{'k':1,'perdure':{'members':{'createdAt':"
        "'1970-01-01T00:00:00+00:00','messageId':'m'}}}}",
    };
    pdr_value *properties = doc_value("{'k':1}");
    pdr_message_parts parts = {.role = {"user", 4},
                               .author = {"A", 1},
                               .id = {"m", 1},
                               .created_at = &at,
                               .properties = properties};

    for (int s = 0; s < 4; s++) {
        pdr_value *made = NULL;

        ASSERT_RC(PDR_OK, pdr_message_new(&made, (pdr_shape)s, &parts, NULL));
        assert_quoted(expected[s], made);
    }
    pdr_value_free(properties);
}

TEST(message_new, of_semantic_kernel_is_that_of_a_saved_chat)
{
    pdr_message_parts parts = {.role = {"user", 4}};
    pdr_value *made = NULL;

    ASSERT_RC(PDR_OK, pdr_message_new(&made, PDR_SHAPE_SK, &parts, NULL));
    assert_quoted("{'AuthorName':null,'Role':{'Label':'user'},'Items':[]}",
                  made);
    parts.model_id = pdr_str_c("m");
    parts.media_type = pdr_str_c("text/plain");
    ASSERT_RC(PDR_OK, pdr_message_new(&made, PDR_SHAPE_SK, &parts, NULL));
    assert_quoted("{'AuthorName':null,'Role':{'Label':'user'},'Items':[],"
                  "'ModelId':'m','MimeType':'text/plain'}",
                  made);
    ASSERT_RC(PDR_OK,
              pdr_message_new_text(&made, PDR_SHAPE_SK, pdr_str_c("x-own"),
                                   pdr_str_c("a"), NULL));
    assert_quoted("{'AuthorName':null,'Role':{'Label':'x-own'},'Items':["
                  "{'$type':'TextContent','Text':'a'}]}",
                  made);
}

TEST(message_new, without_contents_has_an_empty_list)
{
    COVERS("D-15");
    pdr_message_parts parts = {.role = {"assistant", 9}};
    pdr_entry_parts entry_parts = {0};
    pdr_value *messages = pdr_value_new_array(), *made = NULL, *entry = NULL;
    pdr_value *state = NULL;

    ASSERT_RC(PDR_OK, pdr_message_new(&made, PDR_SHAPE_STATE, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_value_append(&messages, made, NULL));
    entry_parts.kind = PDR_ENTRY_RESPONSE;
    entry_parts.correlation_id = pdr_str_c("c");
    entry_parts.created_at = PDR_TICKS_UNIX_EPOCH;
    entry_parts.messages = messages;
    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &entry_parts, NULL));
    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
    pdr_value_free(entry);
    pdr_value_free(messages);
    pdr_value_free(made);
    assert_quoted("{'schemaVersion':'1.1.0','data':{'conversationHistory':["
                  "{'$type':'response','correlationId':'c','createdAt':"
                  "'1970-01-01T00:00:00+00:00','messages':[{'contents':[],"
                  "'role':'assistant'}]}]}}",
                  state);
}

TEST(message_new, refuses_what_is_no_message)
{
    pdr_value *object = pdr_value_new_object(), *array = pdr_value_new_array();
    const struct {
        pdr_message_parts parts;
        const char *reason;
    } cases[] = {
        {{.role = {"", 0}}, "field_missing"},
        {{.role = {"r", 1}, .contents = object}, "wrong_kind"},
        {{.role = {"r", 1}, .properties = array}, "wrong_kind"},
        {{.role = {"r", 1}, .author = {"\xff", 1}}, "bad_utf8"},
        {{.role = {"r", 1}, .model_id = {"m", 1}}, "no_such_field"},
        {{.role = {"r", 1}, .media_type = {"a/b", 3}}, "no_such_field"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_value *made = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_message_new(&made, PDR_SHAPE_STATE,
                                                &cases[i].parts, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT(made == NULL);
    }
}

static void message_oom(pdr_shape shape)
{
    pdr_message_parts parts = {.role = {"user", 4},
                               .author = {"A", 1},
                               .id = {"m", 1},
                               .created_at = &at};
    pdr_value *made = NULL;
    pdr_rc rc = pdr_message_new(&made, shape, &parts, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((made != NULL) == (rc == PDR_OK));
    pdr_value_free(made);
}

TEST_OOM(message_new, cleans_up_after_any_failed_allocation)
{
    message_oom(PDR_SHAPE_PYTHON);
}

TEST_OOM(message_new, cleans_up_in_the_shape_of_semantic_kernel)
{
    message_oom(PDR_SHAPE_SK);
}
