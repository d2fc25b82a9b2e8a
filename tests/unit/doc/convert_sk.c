/*
 * convert_sk.c - contents and messages to and from Semantic Kernel.
 */
#include "content_table.h"
#include "content_text.h"
#include "content_trip.h"

#define STATE  PDR_SHAPE_STATE
#define DOTNET PDR_SHAPE_DOTNET
#define PYTHON PDR_SHAPE_PYTHON
#define SK     PDR_SHAPE_SK

/* Source and result; the way back gives the source again, in its order. */
struct pair {
    pdr_shape from, to;
    const char *source, *result;
};

static void check_pairs(const struct pair *pairs, size_t count,
                        content_trip_fn fn)
{
    for (size_t i = 0; i < count; i++) {
        pdr_value *source = doc_value(pairs[i].source);
        pdr_value *result = NULL, *back = NULL;

        ASSERT_RC(PDR_OK,
                  fn(&result, source, pairs[i].from, pairs[i].to, NULL));
        ASSERT_RC(PDR_OK, fn(&back, result, pairs[i].to, pairs[i].from, NULL));
        assert_quoted(pairs[i].result, result);
        pdr_value_free(source);
        assert_quoted(pairs[i].source, back);
    }
}

TEST(convert_sk, gives_known_kinds_the_names_of_the_other_shape)
{
    static const struct pair pairs[] = {
        {STATE, SK, "{'$type':'text','text':'a'}",
         "{'$type':'TextContent','Text':'a'}"},
        {SK, STATE,
         "{'$type':'TextContent','Text':'a','MimeType':'text/x','ModelId':'m',"
         "'Metadata':{'k':1.10}}",
         "{'$type':'text','text':'a','additionalProperties':{'k':1.10,"
         "'perdure':{'sk':{'members':{'MimeType':'text/x','ModelId':'m'}}}}}"},
        {DOTNET, SK, "{'$type':'reasoning','text':'t','protectedData':'p'}",
         "{'$type':'ReasoningContent','Text':'t','Metadata':{'perdure':"
         "{'members':{'protectedData':'p'}}}}"},
        {PYTHON, SK,
         "{'type':'hosted_file','media_type':'a/b','file_id':'f',"
         "'additional_properties':{}}",
         "{'$type':'FileReferenceContent','FileId':'f','MimeType':'a/b'}"},
        {SK, DOTNET,
         "{'$type':'FileReferenceContent','FileId':'f','Tools':['x']}",
         "{'$type':'hostedFile','fileId':'f','additionalProperties':{'perdure':"
         "{'sk':{'members':{'Tools':['x']}}}}}"},
        {SK, SK, "{'$type':'TextContent','Text':5}",
         "{'$type':'TextContent','Text':5}"},
    };

    check_pairs(pairs, PDR_COUNT(pairs), pdr_content_convert);
}

TEST(convert_sk, joins_plugin_and_function_and_takes_them_apart_by_a_note)
{
    static const struct pair pairs[] = {
        {SK, STATE,
         "{'$type':'FunctionCallContent','Id':'c','PluginName':'menu',"
         "'FunctionName':'price-of','Arguments':{'a':1.10}}",
         "{'$type':'functionCall','arguments':{'a':1.10},'callId':'c',"
         "'name':'menu-price-of','additionalProperties':{'perdure':{'sk':"
         "{'members':{'PluginName':'menu','FunctionName':'price-of'}}}}}"},
        {SK, DOTNET, "{'$type':'FunctionCallContent','FunctionName':'f'}",
         "{'$type':'functionCall','name':'f','informationalOnly':false,"
         "'callId':'','additionalProperties':{'perdure':{'sk':{'absent':"
         "['Id']}}}}"},
        {DOTNET, SK,
         "{'$type':'functionCall','name':'menu-price','arguments':{},"
         "'informationalOnly':true,'callId':'c'}",
         "{'$type':'FunctionCallContent','Id':'c','FunctionName':'menu-price',"
         "'Arguments':{},'Metadata':{'perdure':{'members':"
         "{'informationalOnly':true}}}}"},
        {PYTHON, SK,
         "{'type':'function_call','call_id':'c','name':'f','arguments':'no',"
         "'hosted':false,'additional_properties':{}}",
         "{'$type':'FunctionCallContent','Id':'c','FunctionName':'f',"
         "'Arguments':{'raw':'no'},'Metadata':{'perdure':{'python':{'members':"
         "{'arguments':'no'}}}}}"},
        {SK, PYTHON,
         "{'$type':'FunctionCallContent','Id':'c','PluginName':'',"
         "'FunctionName':'\\ud800'}",
         "{'type':'function_call','call_id':'c','name':'\\ud800',"
         "'hosted':false,'additional_properties':{'perdure':{'sk':{'members':"
         "{'PluginName':''}}}}}"},
        {SK, PYTHON,
         "{'$type':'FunctionResultContent','CallId':'c','PluginName':'p',"
         "'FunctionName':'f','Result':'$4'}",
         "{'type':'function_result','call_id':'c','result':'$4','items':["
         "{'type':'text','text':'$4','additional_properties':{}}],"
         "'additional_properties':{'perdure':{'sk':{'members':{'PluginName':"
         "'p','FunctionName':'f'}}}}}"},
        {SK, STATE,
         "{'$type':'FunctionResultContent','CallId':'c','Result':[1.10]}",
         "{'$type':'functionResult','callId':'c','result':[1.10]}"},
    };

    check_pairs(pairs, PDR_COUNT(pairs), pdr_content_convert);
}

TEST(convert_sk, has_bytes_and_addresses_by_their_media_type)
{
    static const struct pair pairs[] = {
        {SK, DOTNET,
         "{'$type':'ImageContent','MimeType':'image/png','Metadata':{'k':1},"
         "'Data':'AQID'}",
         "{'$type':'data','uri':'data:image/png;base64,AQID',"
         "'additionalProperties':{'k':1}}"},
        {SK, STATE,
         "{'$type':'AudioContent','MimeType':'audio/wav',"
         "'Data':'AQID'}",
         "{'$type':'data','uri':'data:audio/wav;base64,AQID',"
         "'mediaType':'audio/wav'}"},
        {SK, DOTNET, "{'$type':'ImageContent','Data':'AQID'}",
         "{'$type':'data','uri':'data:image/*;base64,AQID',"
         "'additionalProperties':{'perdure':{'sk':{'absent':['MimeType']}}}}"},
        {SK, DOTNET,
         "{'$type':'ImageContent','MimeType':'text/plain','Data':'AQID'}",
         "{'$type':'data','uri':'data:text/plain;base64,AQID',"
         "'additionalProperties':{'perdure':{'sk':{'type':'ImageContent'}}}}"},
        {SK, DOTNET, "{'$type':'BinaryContent','MimeType':'a,b','Data':'AQID'}",
         "{'$type':'data','uri':'data:application/octet-stream;base64,AQID',"
         "'additionalProperties':{'perdure':{'sk':{'members':{'MimeType':"
         "'a,b'}}}}}"},
        {SK, PYTHON, "{'$type':'AudioContent','Uri':'https://a.example/b'}",
         "{'type':'uri','uri':'https://a.example/b','media_type':'audio/*',"
         "'additional_properties':{'perdure':{'sk':{'absent':['MimeType']}}}}"},
        {SK, STATE,
         "{'$type':'ImageContent','Uri':'x:y','MimeType':'image/png',"
         "'Data':'AQID'}",
         "{'$type':'data','uri':'data:image/png;base64,AQID','mediaType':"
         "'image/png','additionalProperties':{'perdure':{'sk':{'members':"
         "{'Uri':'x:y'}}}}}"},
        {DOTNET, SK,
         "{'$type':'data','uri':'data:IMAGE/x;a=b;base64,AQID','name':'n'}",
         "{'$type':'ImageContent','MimeType':'IMAGE/x;a=b','Metadata':"
         "{'perdure':{'members':{'name':'n'}}},'Data':'AQID'}"},
        {STATE, SK,
         "{'$type':'data','uri':'data:;base64,AQID','mediaType':'audio/x'}",
         "{'$type':'AudioContent','MimeType':'audio/x','Metadata':{'perdure':"
         "{'state':{'members':{'uri':'data:;base64,AQID'}}}},'Data':'AQID'}"},
        {STATE, SK,
         "{'$type':'uri','uri':'https://a.example/','mediaType':'video/x'}",
         "{'$type':'BinaryContent','Uri':'https://a.example/',"
         "'MimeType':'video/x'}"},
    };

    check_pairs(pairs, PDR_COUNT(pairs), pdr_content_convert);
}

TEST(convert_sk, wraps_what_has_no_place_in_a_kind_that_all_readers_take)
{
    static const struct pair pairs[] = {
        {STATE, SK, "{'$type':'error','message':'m'}",
         "{'$type':'TextContent','Text':'','Metadata':{'perdure':{'shape':"
         "'state','content':{'$type':'error','message':'m'}}}}"},
        {PYTHON, SK, "{'type':'hologram','x':1.10}",
         "{'$type':'TextContent','Text':'','Metadata':{'perdure':{'shape':"
         "'python','content':{'type':'hologram','x':1.10}}}}"},
        {DOTNET, SK, "{'$type':'data','uri':'data:text/plain,a%20b'}",
         "{'$type':'TextContent','Text':'','Metadata':{'perdure':{'shape':"
         "'dotnet','content':{'$type':'data','uri':'data:text/plain,a%20b'}}}"
         "}"},
        {DOTNET, SK, "{'$type':'uri','uri':'rel','mediaType':'a/b'}",
         "{'$type':'TextContent','Text':'','Metadata':{'perdure':{'shape':"
         "'dotnet','content':{'$type':'uri','uri':'rel','mediaType':'a/b'}}}}"},
        {STATE, SK, "{'$type':'unknown','content':{'$type':'toolCall'}}",
         "{'$type':'TextContent','Text':'','Metadata':{'perdure':{'shape':"
         "'dotnet','content':{'$type':'toolCall'}}}}"},
        {SK, STATE, "{'$type':'ActionContent','Text':'Go'}",
         "{'$type':'unknown','content':{'$type':'ActionContent','Text':'Go'},"
         "'additionalProperties':{'perdure':{'shape':'sk'}}}"},
        {SK, DOTNET,
         "{'$type':'AnnotationContent','Kind':{'Label':'x'},'Label':'l',"
         "'ReferenceId':'r','StartIndex':1}",
         "{'additionalProperties':{'perdure':{'shape':'sk','content':{'$type':"
         "'AnnotationContent','Kind':{'Label':'x'},'Label':'l','ReferenceId':"
         "'r','StartIndex':1}}}}"},
        {SK, PYTHON, "{'$type':'Hologram','x':[1.10]}",
         "{'type':'unknown','additional_properties':{'perdure':{'shape':'sk',"
         "'content':{'$type':'Hologram','x':[1.10]}}}}"},
        {SK, DOTNET, "{'$type':'BinaryContent'}",
         "{'additionalProperties':{'perdure':{'shape':'sk','content':{'$type':"
         "'BinaryContent'}}}}"},
        {SK, DOTNET, "{'$type':'ImageContent','Data':'no base64'}",
         "{'additionalProperties':{'perdure':{'shape':'sk','content':{'$type':"
         "'ImageContent','Data':'no base64'}}}}"},
        /* It only looks like a wrapper. */
        {SK, DOTNET,
         "{'$type':'TextContent','Text':'','Metadata':{'perdure':{'shape':"
         "'dotnet','content':{'$type':'text','text':'a'}}}}",
         "{'$type':'text','text':'','additionalProperties':{'perdure':"
         "{'shape':'dotnet','content':{'$type':'text','text':'a'}}}}"},
    };

    check_pairs(pairs, PDR_COUNT(pairs), pdr_content_convert);
}

TEST(convert_sk, keeps_the_parts_of_a_message)
{
    static const struct pair pairs[] = {
        {SK, STATE,
         "{'AuthorName':null,'Role':{'Label':'USER'},'Items':[{'$type':"
         "'TextContent','Text':'a'}],'ModelId':'m','MimeType':'t/p'}",
         "{'contents':[{'$type':'text','text':'a'}],'role':'USER',"
         "'additionalProperties':{'perdure':{'sk':{'members':{'ModelId':'m',"
         "'MimeType':'t/p'}}}}}"},
        {SK, DOTNET, "{'Role':{'Label':'x'},'Items':[]}",
         "{'role':'x','contents':[],'additionalProperties':{'perdure':{'sk':"
         "{'absent':['AuthorName']}}}}"},
        {SK, PYTHON, "{'AuthorName':'A','Items':[],'Metadata':{'k':null}}",
         "{'role':'user','contents':[],'author_name':'A',"
         "'additional_properties':{'k':null,'perdure':{'sk':{'absent':["
         "'Role']}}},'type':'message'}"},
        {STATE, SK,
         "{'authorName':'A','createdAt':'2026-01-01T00:00:00Z','contents':[],"
         "'role':'user','messageId':'m','x':1}",
         "{'AuthorName':'A','Role':{'Label':'user'},'Items':[],'Metadata':"
         "{'perdure':{'members':{'createdAt':'2026-01-01T00:00:00Z',"
         "'messageId':'m'},'state':{'members':{'x':1}}}}}"},
        {PYTHON, SK,
         "{'role':{'type':'role','value':'user'},'contents':['a'],"
         "'message_id':'m','additional_properties':{},'type':'message'}",
         "{'AuthorName':null,'Role':{'Label':'user'},'Items':[{'$type':"
         "'TextContent','Text':'a','Metadata':{'perdure':{'python':{'whole':"
         "'a'}}}}],'Metadata':{'perdure':{'members':{'messageId':'m'},"
         "'python':{'members':{'role':{'type':'role','value':'user'}}}}}}"},
    };

    check_pairs(pairs, PDR_COUNT(pairs), pdr_message_convert);
}

TEST(convert_sk, carries_what_it_has_no_member_for_to_a_third_shape)
{
    pdr_value *state = doc_value("{'createdAt':'2026-01-01T00:00:00Z',"
                                 "'contents':[{'$type':'data','uri':"
                                 "'data:a/b;base64,AQID','name':'n'}],"
                                 "'role':'user','messageId':'m'}");
    pdr_value *sk = NULL, *python = NULL, *dotnet = NULL;

    ASSERT_RC(PDR_OK, pdr_message_convert(&sk, state, STATE, SK, NULL));
    ASSERT_RC(PDR_OK, pdr_message_convert(&python, sk, SK, PYTHON, NULL));
    ASSERT_RC(PDR_OK, pdr_message_convert(&dotnet, sk, SK, DOTNET, NULL));
    pdr_value_free(sk);
    pdr_value_free(state);
    assert_quoted("{'role':'user','contents':[{'type':'data','uri':"
                  "'data:a/b;base64,AQID','media_type':'a/b','name':'n',"
                  "'additional_properties':{'perdure':{'state':{'absent':["
                  "'mediaType']}}}}],'message_id':'m',"
                  "'additional_properties':{'perdure':{'members':{'createdAt':"
                  "'2026-01-01T00:00:00Z'}}},'type':'message'}",
                  python);
    assert_quoted("{'createdAt':'2026-01-01T00:00:00Z','role':'user',"
                  "'contents':[{'$type':'data','uri':'data:a/b;base64,AQID',"
                  "'name':'n','additionalProperties':{'perdure':{'state':"
                  "{'absent':['mediaType']}}}}],'messageId':'m'}",
                  dotnet);
}

/* Without its metadata, where the note stays: somebody else may want it. */
TEST(convert_sk, believes_a_note_only_while_it_fits)
{
    static const struct {
        const char *changed, *result;
    } cases[] = {
        /* Somebody gave the call another name. */
        {"{'$type':'functionCall','name':'other','callId':'c',"
         "'additionalProperties':{'perdure':{'sk':{'members':{'PluginName':"
         "'menu','FunctionName':'price','ModelId':'m'}}}}}",
         "{'$type':'FunctionCallContent','Id':'c','FunctionName':'other',"
         "'ModelId':'m'}"},
        /* A note cannot make a text of data, nor data of a text. */
        {"{'$type':'data','uri':'data:a/b;base64,AQID','additionalProperties':"
         "{'perdure':{'sk':{'type':'TextContent'}}}}",
         "{'$type':'BinaryContent','MimeType':'a/b','Data':'AQID'}"},
        {"{'$type':'text','text':'a','additionalProperties':{'perdure':{'sk':"
         "{'type':'ImageContent'}}}}",
         "{'$type':'TextContent','Text':'a'}"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_value *changed = doc_value(cases[i].changed), *made = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_content_convert(&made, changed, DOTNET, SK, NULL));
        ASSERT_RC(PDR_OK, pdr_value_remove(&made, pdr_str_c("Metadata"), NULL));
        pdr_value_free(changed);
        assert_quoted(cases[i].result, made);
    }
}

/* --- what nobody writes --------------------------------------------------- */

TEST(convert_sk, loses_nothing_of_hostile_messages)
{
    static const char *const texts[] = {
        "{'Role':5,'Items':[]}",
        "{'Role':{'Label':null},'Items':[]}",
        "{'Role':{'Label':''},'Items':[{}]}",
        "{'Role':{'Label':'\\ud800'},'AuthorName':'\\udc00','Items':[]}",
        "{'Role':'user','role':{'Label':'tool'},'Items':[]}",
        "{'role':'user','name':'A','items':[{'$type':'TextContent','Text':"
        "'a'}]}",
        "{'Role':{'Label':'user','x':1},'Items':[],'items':[1]}",
        "{'Role':{'Label':'user'},'Items':{'a':1}}",
        "{'Role':{'Label':'user'},'Items':[null,5,'a',[],{'$type':5}]}",
        "{'Role':{'Label':'user'},'Items':[],'Items':[{'$type':'X'}]}",
        "{'Items':[{'$type':'TextContent','$type':'ImageContent','Data':"
        "'AQID'}]}",
        "{'Items':[{'Text':'a','$type':'TextContent','$id':1}]}",
        "{'Items':[{'$type':'FunctionCallContent','PluginName':'\\ud800',"
        "'FunctionName':'f','Arguments':[1]}]}",
        "{'Items':[{'$type':'ImageContent','Uri':'data:image/png;base64,AQID'"
        "}]}",
        "{'Items':[{'$type':'ImageContent','MimeType':'\\ud800','Data':"
        "'\\ud800'}]}",
        "{'Items':[],'Metadata':[1]}",
        "{'Items':[],'Metadata':{'perdure':{'sk':{'members':{'Items':[1]}}}}}",
        "{'Items':[],'Metadata':{'perdure':{'members':{'createdAt':1,"
        "'annotations':[{}],'role':'x'}}}}",
        "{'Items':[],'additionalProperties':{'a':1},'contents':[1]}",
        "{'AuthorName':null,'AuthorName':'A','Items':[]}",
        "[{}]",
    };
    struct content_trip_report report;

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *message = doc_value(texts[i]);

        for (int to = 0; to < PDR_SHAPE_SK; to++) {
            if (!content_trip_check(&report, pdr_message_convert, message, SK,
                                    (pdr_shape)to))
                fail_msg("%zu to %d: %s", i, to, report.text);
        }
        pdr_value_free(message);
    }
}

/* Metadata as deep as JSON is read, at both levels. */
TEST(convert_sk, carries_deep_metadata)
{
    pdr_buf text = PDR_BUF_INIT(1 << 16);
    struct content_trip_report report;
    pdr_value *message = NULL;

    ASSERT_RC(PDR_OK, pdr_buf_append(&text,
                                     pdr_str_c("{\"Items\":[{\"$type\":"
                                               "\"TextContent\","
                                               "\"Metadata\":"),
                                     NULL));
    for (int i = 0; i < 100; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("{\"a\":"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("1"), NULL));
    for (int i = 0; i < 100; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("}"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("}]}"), NULL));
    ASSERT_RC(PDR_OK, pdr_json_read(&message, pdr_buf_str(&text), NULL, NULL));
    for (int to = 0; to < PDR_SHAPE_SK; to++)
        ASSERT(content_trip_check(&report, pdr_message_convert, message, SK,
                                  (pdr_shape)to));
    pdr_value_free(message);
    pdr_buf_dispose(&text);
}

/* --- without memory ------------------------------------------------------- */

static void convert_oom(const char *text, pdr_shape from, pdr_shape to)
{
    pdr_value *value = NULL, *out = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_message_convert(&out, value, from, to, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out != NULL) == (rc == PDR_OK));
    pdr_value_free(out);
    pdr_value_free(value);
}

TEST_OOM(convert_sk, cleans_up_on_the_way_from_it)
{
    convert_oom("{\"Role\":{\"Label\":\"user\"},\"Items\":[{\"$type\":"
                "\"ImageContent\",\"MimeType\":\"a\\/b\",\"Data\":\"AQ\\/D\"},"
                "{\"$type\":\"FunctionCallContent\",\"PluginName\":\"\\u0070\","
                "\"FunctionName\":\"\\u0066\"},{\"$type\":\"Hologram\"}],"
                "\"ModelId\":\"m\"}",
                SK, PYTHON);
}

TEST_OOM(convert_sk, cleans_up_on_the_way_to_it)
{
    convert_oom("{\"role\":\"user\",\"messageId\":\"m\",\"contents\":[{"
                "\"$type\":\"data\",\"uri\":\"data:a\\/b;base64,AQ\\/D\"},{"
                "\"$type\":\"error\"}]}",
                STATE, SK);
}
