/*
 * convert.c - contents and messages from shape to shape.
 */
#include <strings.h>

#include "content_table.h"
#include "content_text.h"
#include "content_trip.h"

#define STATE  PDR_SHAPE_STATE
#define DOTNET PDR_SHAPE_DOTNET
#define PYTHON PDR_SHAPE_PYTHON
#define SK     PDR_SHAPE_SK

/* Source and result; the way back gives the source again. */
struct pair {
    pdr_shape from, to;
    const char *source, *result;
};

static void check(const struct pair *pair, content_trip_fn fn)
{
    pdr_value *source = doc_value(pair->source), *result = NULL, *back = NULL;
    bool same = false;

    ASSERT_RC(PDR_OK, fn(&result, source, pair->from, pair->to, NULL));
    ASSERT_RC(PDR_OK, fn(&back, result, pair->to, pair->from, NULL));
    assert_quoted(pair->result, result);
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, source, back, NULL));
    if (!same)
        assert_quoted(pair->source, pdr_value_ref(back));
    pdr_value_free(back);
    pdr_value_free(source);
}

static void check_all(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&pairs[i], pdr_content_convert);
}

TEST(convert, gives_known_kinds_the_names_of_the_other_shape)
{
    static const struct pair pairs[] = {
        {STATE, DOTNET, "{'$type':'text','text':'a'}",
         "{'$type':'text','text':'a'}"},
        {STATE, PYTHON, "{'$type':'text','text':'a'}",
         "{'type':'text','text':'a','additional_properties':{}}"},
        {PYTHON, STATE,
         "{'type':'text_reasoning','text':'t','protected_data':'p',"
         "'additional_properties':{'k':[1.10]}}",
         "{'$type':'reasoning','text':'t','protectedData':'p',"
         "'additionalProperties':{'k':[1.10]}}"},
        {PYTHON, DOTNET, "{'type':'text_reasoning','additional_properties':{}}",
         "{'$type':'reasoning','text':'','additionalProperties':{'perdure':"
         "{'python':{'absent':['text']}}}}"},
        {DOTNET, STATE,
         "{'$type':'functionCall','name':'f','arguments':{'a':1},"
         "'informationalOnly':false,'callId':'c'}",
         "{'$type':'functionCall','arguments':{'a':1},'callId':'c',"
         "'name':'f'}"},
        {DOTNET, PYTHON,
         "{'$type':'functionCall','name':'f','informationalOnly':true,"
         "'callId':'c'}",
         "{'type':'function_call','call_id':'c','name':'f',"
         "'informational_only':true,'hosted':false,"
         "'additional_properties':{}}"},
        {DOTNET, PYTHON,
         "{'$type':'mcpServerToolCall','name':'n','serverName':'s','callId':"
         "'c'}",
         "{'type':'mcp_server_tool_call','call_id':'c','tool_name':'n',"
         "'server_name':'s','additional_properties':{}}"},
        {DOTNET, PYTHON, "{'$type':'hostedVectorStore','vectorStoreId':'v'}",
         "{'type':'hosted_vector_store','vector_store_id':'v',"
         "'additional_properties':{}}"},
        {STATE, PYTHON, "{'$type':'functionResult','callId':'c','result':'r'}",
         "{'type':'function_result','call_id':'c','result':'r','items':["
         "{'type':'text','text':'r','additional_properties':{}}],"
         "'additional_properties':{}}"},
        {STATE, STATE, "{'$type':'text','text':5}",
         "{'$type':'text','text':5}"},
        {STATE, PYTHON, "null", "null"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, keeps_what_the_other_shape_has_no_member_for)
{
    static const struct pair pairs[] = {
        {STATE, DOTNET, "{'$type':'text','text':'a','new':1.10,'new':2}",
         "{'$type':'text','text':'a','additionalProperties':{'perdure':"
         "{'state':{'members':{'new':1.10,'new':2}}}}}"},
        {PYTHON, STATE,
         "{'type':'text_reasoning','text':'t','status':'s','id':'i',"
         "'additional_properties':{}}",
         "{'$type':'reasoning','text':'t','additionalProperties':{'perdure':"
         "{'python':{'members':{'status':'s','id':'i'}}}}}"},
        {PYTHON, STATE,
         "{'type':'function_call','call_id':'c','name':'f','hosted':true}",
         "{'$type':'functionCall','arguments':{},'callId':'c','name':'f',"
         "'informationalOnly':true,'additionalProperties':{'perdure':"
         "{'python':{'members':{'hosted':true},'absent':['arguments',"
         "'informational_only','additional_properties']}}}}"},
        {DOTNET, PYTHON, "{'$type':'hostedFile','fileId':'f','sizeInBytes':12}",
         "{'type':'hosted_file','file_id':'f','additional_properties':"
         "{'perdure':{'members':{'sizeInBytes':12}}}}"},
        {STATE, PYTHON, "{'$type':'text','text':null}",
         "{'type':'text','text':'','additional_properties':{'perdure':"
         "{'state':{'members':{'text':null}}}}}"},
        {STATE, PYTHON,
         "{'$type':'functionResult','callId':'c','result':{'a':1.10}}",
         "{'type':'function_result','call_id':'c','result':'{\\\"a\\\":1.10}',"
         "'items':[{'type':'text','text':'{\\\"a\\\":1.10}',"
         "'additional_properties':{}}],'additional_properties':{'perdure':"
         "{'members':{'result':{'a':1.10}}}}}"},
        {DOTNET, PYTHON,
         "{'$type':'text','text':'a','additionalProperties':{}}",
         "{'type':'text','text':'a','additional_properties':{'perdure':"
         "{'dotnet':{'members':{'additionalProperties':{}}}}}}"},
        {PYTHON, DOTNET, "{'type':'text','additional_properties':null}",
         "{'$type':'text','text':'','additionalProperties':{'perdure':"
         "{'python':{'members':{'additional_properties':null},"
         "'absent':['text']}}}}"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, knows_arguments_and_details_in_every_form)
{
    static const struct pair pairs[] = {
        {PYTHON, STATE,
         "{'type':'function_call','call_id':'c','name':'f','arguments':'no',"
         "'hosted':false,'additional_properties':{}}",
         "{'$type':'functionCall','arguments':{},'callId':'c','name':'f',"
         "'argumentsText':'no'}"},
        {PYTHON, STATE,
         "{'type':'function_call','call_id':'c','name':'f',"
         "'arguments':'{ }','hosted':false,'additional_properties':{}}",
         "{'$type':'functionCall','arguments':{},'callId':'c','name':'f',"
         "'additionalProperties':{'perdure':{'python':{'members':"
         "{'arguments':'{ }'}}}}}"},
        {PYTHON, DOTNET,
         "{'type':'function_call','call_id':'c','name':'f',"
         "'arguments':'\\ud800','hosted':false,'additional_properties':{}}",
         "{'$type':'functionCall','name':'f','arguments':{'raw':'\\ud800'},"
         "'informationalOnly':false,'callId':'c','additionalProperties':"
         "{'perdure':{'python':{'members':{'arguments':'\\ud800'}}}}}"},
        {STATE, PYTHON, "{'$type':'error','detailsJson':[1]}",
         "{'type':'error','error_details':[1],'additional_properties':{}}"},
        {STATE, DOTNET, "{'$type':'error','detailsJson':[1]}",
         "{'$type':'error','message':'','additionalProperties':{'perdure':"
         "{'state':{'members':{'detailsJson':[1]},'absent':['message']}}}}"},
        {STATE, PYTHON, "{'$type':'error','details':[1]}",
         "{'type':'error','error_details':[1],'additional_properties':"
         "{'perdure':{'state':{'members':{'details':[1]},"
         "'absent':['detailsJson']}}}}"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, puts_media_types_where_they_are_looked_for)
{
    static const struct pair pairs[] = {
        {DOTNET, STATE, "{'$type':'data','uri':'data:a/b;c=d;base64,AA=='}",
         "{'$type':'data','uri':'data:a/b;c=d;base64,AA==',"
         "'mediaType':'a/b;c=d'}"},
        {DOTNET, PYTHON, "{'$type':'data','uri':'data:a/b;c=d;base64,AA=='}",
         "{'type':'data','uri':'data:a/b;c=d;base64,AA==','media_type':'a/b',"
         "'additional_properties':{}}"},
        {STATE, DOTNET,
         "{'$type':'data','uri':'data:;base64,AA==','mediaType':'a/b'}",
         "{'$type':'data','uri':'data:a/b;base64,AA==','additionalProperties':"
         "{'perdure':{'state':{'members':{'uri':'data:;base64,AA=='}}}}}"},
        {STATE, DOTNET, "{'$type':'data','uri':'data:,\\ud800'}",
         "{'$type':'data','uri':'data:,\\ud800'}"},
        {PYTHON, STATE,
         "{'type':'uri','uri':'s3://b/k','additional_properties':{}}",
         "{'$type':'uri','uri':'s3://b/k',"
         "'mediaType':'application/octet-stream','additionalProperties':"
         "{'perdure':{'python':{'absent':['media_type']}}}}"},
        {PYTHON, STATE,
         "{'type':'uri','uri':'u','media_type':'png',"
         "'additional_properties':{}}",
         "{'$type':'uri','uri':'u','mediaType':'application/octet-stream',"
         "'additionalProperties':{'perdure':{'python':{'members':"
         "{'media_type':'png'}}}}}"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, maps_counts_and_keeps_odd_ones)
{
    static const struct pair pairs[] = {
        {PYTHON, DOTNET,
         "{'type':'usage','usage_details':{'input_token_count':1,"
         "'cache_read_input_token_count':2,'x.y':3},"
         "'additional_properties':{}}",
         "{'$type':'usage','details':{'inputTokenCount':1,"
         "'cachedInputTokenCount':2,'additionalCounts':{'x.y':3}}}"},
        {STATE, PYTHON,
         "{'$type':'usage','usage':{'inputTokenCount':1,'extensionData':"
         "{'reasoning_output_token_count':2,'input_token_count':9}}}",
         "{'type':'usage','usage_details':{'input_token_count':1,"
         "'reasoning_output_token_count':2},'additional_properties':"
         "{'perdure':{'state':{'members':{'usage':{'inputTokenCount':1,"
         "'extensionData':{'reasoning_output_token_count':2,"
         "'input_token_count':9}}}}}}}"},
        {STATE, DOTNET,
         "{'$type':'usage','usage':{'inputTokenCount':null,'a':1,'a':1,"
         "'outputTextTokenCount':1.5}}",
         "{'$type':'usage','details':{'additionalCounts':{'a':1}},"
         "'additionalProperties':{'perdure':{'state':{'members':{'usage':"
         "{'inputTokenCount':null,'a':1,'a':1,"
         "'outputTextTokenCount':1.5}}}}}}"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, wraps_and_unwraps_kinds_without_a_place)
{
    static const struct pair pairs[] = {
        {DOTNET, STATE, "{'$type':'toolCall','callId':'c'}",
         "{'$type':'unknown','content':{'$type':'toolCall','callId':'c'}}"},
        {PYTHON, STATE, "{'type':'shell_tool_call'}",
         "{'$type':'unknown','content':{'type':'shell_tool_call'}}"},
        {PYTHON, DOTNET, "{'type':'shell_tool_call'}",
         "{'additionalProperties':{'perdure':{'shape':'python',"
         "'content':{'type':'shell_tool_call'}}}}"},
        {DOTNET, PYTHON, "{'$type':'toolCall','callId':'c'}",
         "{'type':'unknown','additional_properties':{'perdure':{'shape':"
         "'dotnet','content':{'$type':'toolCall','callId':'c'}}}}"},
        {DOTNET, STATE, "{}", "{'$type':'unknown','content':{}}"},
        {STATE, DOTNET, "{'$type':'unknown','content':{'type':'hologram'}}",
         "{'additionalProperties':{'perdure':{'shape':'python','content':"
         "{'type':'hologram'}}}}"},
        {STATE, DOTNET, "{'$type':'hologram','x':1,'x':2}",
         "{'additionalProperties':{'perdure':{'shape':'state','content':"
         "{'$type':'hologram','x':1,'x':2}}}}"},
        {STATE, PYTHON,
         "{'$type':'unknown','content':{'$type':'imageGenerationToolCall',"
         "'callId':'c'}}",
         "{'type':'image_generation_tool_call','image_id':'c',"
         "'additional_properties':{'perdure':{'state':"
         "{'wrapped':'dotnet'}}}}"},
        {STATE, DOTNET,
         "{'$type':'unknown','content':{'type':'text_reasoning','text':'t',"
         "'additional_properties':{}}}",
         "{'$type':'reasoning','text':'t','additionalProperties':{'perdure':"
         "{'state':{'wrapped':'python'}}}}"},
        {STATE, PYTHON, "{'$type':'unknown','content':null}",
         "{'type':'unknown','additional_properties':{'perdure':{'shape':"
         "'state','content':{'$type':'unknown','content':null}}}}"},
        {PYTHON, STATE, "{'rows':[1]}",
         "{'$type':'unknown','content':{'rows':[1]},'additionalProperties':"
         "{'perdure':{'shape':'python'}}}"},
        {STATE, DOTNET, "{'$type':'hostedFile','fileId':' '}",
         "{'additionalProperties':{'perdure':{'shape':'state','content':"
         "{'$type':'hostedFile','fileId':' '}}}}"},
        {DOTNET, STATE, "[5]", "{'$type':'unknown','content':[5]}"},
        {PYTHON, STATE, "'words'",
         "{'$type':'text','text':'words','additionalProperties':{'perdure':"
         "{'python':{'whole':'words'}}}}"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, goes_into_nested_contents)
{
    static const struct pair pairs[] = {
        {DOTNET, PYTHON,
         "{'$type':'toolApprovalRequest','toolCall':{'$type':'functionCall',"
         "'name':'f','informationalOnly':false,'callId':'c'},"
         "'requiresConfirmation':true,'requestId':'r'}",
         "{'type':'function_approval_request','function_call':{'type':"
         "'function_call','call_id':'c','name':'f','hosted':false,"
         "'additional_properties':{}},'user_input_request':true,'id':'r',"
         "'additional_properties':{'perdure':{'members':"
         "{'requiresConfirmation':true}}}}"},
        {DOTNET, PYTHON,
         "{'$type':'functionApprovalRequest','id':'r','functionCall':"
         "{'$type':'functionCall','name':'f','informationalOnly':false,"
         "'callId':'c'}}",
         "{'type':'function_approval_request','function_call':{'type':"
         "'function_call','call_id':'c','name':'f','hosted':false,"
         "'additional_properties':{}},'user_input_request':true,'id':'r',"
         "'additional_properties':{'perdure':{'dotnet':{'type':"
         "'functionApprovalRequest'}}}}"},
        {DOTNET, PYTHON,
         "{'$type':'mcpServerToolApprovalResponse','id':'r',"
         "'approved':true}",
         "{'type':'function_approval_response','approved':true,'id':'r',"
         "'additional_properties':{'perdure':{'dotnet':{'type':"
         "'mcpServerToolApprovalResponse'}}}}"},
        {PYTHON, DOTNET,
         "{'type':'image_generation_tool_result','outputs':{'type':'text',"
         "'text':'a','additional_properties':{}},'image_id':'i',"
         "'additional_properties':{}}",
         "{'$type':'imageGenerationToolResult','outputs':[{'$type':'text',"
         "'text':'a'}],'callId':'i','additionalProperties':{'perdure':"
         "{'python':{'single':['outputs']}}}}"},
        {PYTHON, DOTNET,
         "{'type':'mcp_server_tool_result','call_id':'c','output':'text',"
         "'additional_properties':{}}",
         "{'$type':'mcpServerToolResult','callId':'c','additionalProperties':"
         "{'perdure':{'python':{'members':{'output':'text'}}}}}"},
        {PYTHON, DOTNET,
         "{'type':'function_approval_request','id':'r',"
         "'additional_properties':{}}",
         "{'additionalProperties':{'perdure':{'shape':'python','content':"
         "{'type':'function_approval_request','id':'r',"
         "'additional_properties':{}}}}}"},
        {DOTNET, PYTHON,
         "{'$type':'text','text':'a','annotations':[{'$type':'citation',"
         "'fileId':'f','annotatedRegions':[{'$type':'textSpan','start':0,"
         "'end':5},{'$type':'textSpan'}],'new':1}]}",
         "{'type':'text','text':'a','additional_properties':{},'annotations':"
         "[{'type':'citation','file_id':'f','annotated_regions':[{'type':"
         "'text_span','start_index':0,'end_index':5},{'type':'text_span'}],"
         "'additional_properties':{'perdure':{'dotnet':{'members':"
         "{'new':1}}}}}]}"},
        {DOTNET, PYTHON,
         "{'$type':'text','text':'a','annotations':[{'$type':'citation',"
         "'annotatedRegions':[{'$type':'textSpan','start':0,'x':1}]}]}",
         "{'type':'text','text':'a','additional_properties':{},'annotations':"
         "[{'type':'citation','additional_properties':{'perdure':{'dotnet':"
         "{'members':{'annotatedRegions':[{'$type':'textSpan','start':0,"
         "'x':1}]}}}}}]}"},
        {PYTHON, STATE,
         "{'type':'text','text':'a','additional_properties':{},"
         "'annotations':[{'type':'other'}]}",
         "{'$type':'text','text':'a','additionalProperties':{'perdure':"
         "{'python':{'members':{'annotations':[{'type':'other'}]}}}}}"},
    };

    check_all(pairs, PDR_COUNT(pairs));
}

TEST(convert, does_not_trust_a_note_that_no_longer_fits)
{
    pdr_value *item = doc_value(
        "{'type':'text','text':'edited','additional_properties':{'perdure':"
        "{'state':{'members':{'text':null,'new':1}}}}}");
    pdr_value *state = NULL, *back = NULL;
    bool same = false;

    ASSERT_RC(PDR_OK, pdr_content_convert(&state, item, PYTHON, STATE, NULL));
    ASSERT(
        pdr_value_text_is(pdr_value_get_c(state, "text"), pdr_str_c("edited")));
    ASSERT(pdr_value_get_c(state, "new") != NULL);
    ASSERT_RC(PDR_OK, pdr_content_convert(&back, state, STATE, PYTHON, NULL));
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, item, back, NULL));
    ASSERT(same); /* what was wrong about the item is still there */
    pdr_value_free(back);
    pdr_value_free(state);
    pdr_value_free(item);
}

/* --- names in any case --------------------------------------------------- */

/* A refusal of Python, with a note that somebody forged. */
#define REFUSAL(note)                                                      \
    "{'type':'function_approval_response','approved':false,'id':'r',"      \
    "'function_call':{'type':'function_call','call_id':'c','name':'f',"    \
    "'arguments':'{}'},'additional_properties':{'perdure':{'dotnet':" note \
    "}}}"
/* What .NET has for the call of it. */
#define TOOL "'toolCall':{'$type':'functionCall','name':'f','callId':'c'}"

/* The value of the last member that .NET would take for `name`. */
static const pdr_value *as_dotnet_reads(const pdr_value *object,
                                        const char *name)
{
    const pdr_value *found = NULL;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        pdr_buf scratch = PDR_BUF_INIT(1 << 10);
        pdr_str text = {NULL, 0};

        ASSERT_RC(PDR_OK, pdr_value_text(&text, it.name, &scratch, NULL));
        if (text.len == strlen(name) &&
            strncasecmp(text.ptr, name, text.len) == 0)
            found = it.value;
        pdr_buf_dispose(&scratch);
    }
    return found;
}

TEST(convert, makes_no_approval_of_a_refusal_whatever_a_note_says)
{
    static const char *const forged[] = {
        REFUSAL("{'members':{'Approved':true}}"),
        REFUSAL("{'members':{'approved':true}}"),
        REFUSAL("{'members':{'approved':false,'APPROVED':true}}"),
        REFUSAL("{'members':{'\\u0041pproved':true}}"),
        REFUSAL("{'members':{'Approved':true},'absent':['approved']}"),
        REFUSAL("{'whole':{'$type':'toolApprovalResponse','approved':false,"
                "'Approved':true," TOOL ",'requestId':'r'}}"),
        REFUSAL("{'whole':{'$type':'toolApprovalResponse','Approved':true," TOOL
                ",'requestId':'r'}}"),
        REFUSAL("{'type':'functionApprovalResponse','members':"
                "{'Approved':true}}"),
    };

    for (size_t i = 0; i < PDR_COUNT(forged); i++) {
        pdr_value *item = doc_value(forged[i]), *made = NULL, *back = NULL;
        bool truth = true, same = false;

        ASSERT_RC(PDR_OK,
                  pdr_content_convert(&made, item, PYTHON, DOTNET, NULL));
        ASSERT_RC(PDR_OK, pdr_value_bool(
                              &truth, as_dotnet_reads(made, "approved"), NULL));
        ASSERT(!truth);
        ASSERT_RC(PDR_OK,
                  pdr_content_convert(&back, made, DOTNET, PYTHON, NULL));
        ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, item, back, NULL));
        ASSERT(same); /* the note was left where it was */
        pdr_value_free(back);
        pdr_value_free(made);
        pdr_value_free(item);
    }
}

#define APPROVAL \
    "{'$type':'toolApprovalResponse','approved':true," TOOL ",'requestId':'r'}"

TEST(message_convert, takes_no_contents_out_of_a_note)
{
    static const char *const forged[] = {
        "{'members':{'contents':[" APPROVAL "]}}",
        "{'members':{'Contents':[" APPROVAL "]}}",
        "{'members':{'contents':[],'contents':[" APPROVAL "]}}",
        "{'whole':{'role':'user','contents':[],'Contents':[" APPROVAL "]}}",
        "{'whole':{'role':'user','contents':[],'contents':[" APPROVAL "]}}",
        "{'members':{'Contents':[" APPROVAL "]},'absent':['contents']}",
    };

    for (size_t i = 0; i < PDR_COUNT(forged); i++) {
        pdr_buf text = PDR_BUF_INIT(1 << 16);
        pdr_value *item = NULL, *made = NULL;

        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL,
                                         "{'role':'user','contents':[],"
                                         "'additional_properties':{'perdure':"
                                         "{'dotnet':%s}}}",
                                         forged[i]));
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
        item = doc_value(text.ptr);
        ASSERT_RC(PDR_OK,
                  pdr_message_convert(&made, item, PYTHON, DOTNET, NULL));
        ASSERT_SIZE(0, pdr_value_count(as_dotnet_reads(made, "contents")));
        pdr_value_free(made);
        pdr_value_free(item);
        pdr_buf_dispose(&text);
    }
}

TEST(message_convert, drops_no_contents_because_of_a_note)
{
    pdr_value *item = doc_value(
        "{'role':'user','contents':[{'type':'text','text':'no',"
        "'additional_properties':{}}],'additional_properties':{'perdure':"
        "{'dotnet':{'absent':['contents','Contents']}}}}");
    pdr_value *made = NULL;

    ASSERT_RC(PDR_OK, pdr_message_convert(&made, item, PYTHON, DOTNET, NULL));
    ASSERT_SIZE(1, pdr_value_count(as_dotnet_reads(made, "contents")));
    pdr_value_free(made);
    pdr_value_free(item);
}

TEST(convert, unwraps_nothing_that_python_could_have_read)
{
    static const char *const items[] = {
        "{'$type':'toolApprovalResponse','Approved':true,'ToolCall':{'$type':"
        "'functionCall','name':'f','callId':'c'},'requestId':'r'}",
        "{'$type':'toolApprovalResponse','approved':true," TOOL "," TOOL
        ",'requestId':'r'}",
    };

    for (size_t i = 0; i < PDR_COUNT(items); i++) {
        pdr_value *item =
            doc_value("{'type':'unknown','additional_properties':{'perdure':"
                      "{'shape':'dotnet'}}}");
        pdr_value *inner = doc_value(items[i]), *made = NULL;

        ASSERT_RC(
            PDR_OK,
            pdr_pointer_set(&item,
                            pdr_str_c("/additional_properties/perdure/content"),
                            inner, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_content_convert(&made, item, PYTHON, DOTNET, NULL));
        ASSERT_INT(PDR_CONTENT_OTHER, pdr_content_kind_of(made, DOTNET));
        pdr_value_free(made);
        pdr_value_free(inner);
        pdr_value_free(item);
    }
}

TEST(convert, reads_dotnet_names_in_any_case_and_brings_them_back)
{
    static const struct pair pairs[] = {
        {DOTNET, PYTHON, "{'$type':'text','Text':'a'}",
         "{'type':'text','text':'a','additional_properties':{'perdure':"
         "{'dotnet':{'members':{'Text':'a'},'absent':['text']}}}}"},
        {DOTNET, PYTHON, "{'$type':'text','text':'a','TEXT':'b'}",
         "{'type':'text','text':'b','additional_properties':{'perdure':"
         "{'dotnet':{'members':{'text':'a','TEXT':'b'}}}}}"},
        {DOTNET, PYTHON, "{'$type':'text','te\\u0058t':'a'}",
         "{'type':'text','text':'a','additional_properties':{'perdure':"
         "{'dotnet':{'members':{'te\\u0058t':'a'},'absent':['text']}}}}"},
        /* Not so in the others, nor discriminators. */
        {STATE, DOTNET, "{'$type':'text','text':'a','Text':'b'}",
         "{'$type':'text','text':'a','additionalProperties':{'perdure':"
         "{'state':{'members':{'Text':'b'}}}}}"},
        {DOTNET, PYTHON, "{'$TYPE':'text','text':'a'}",
         "{'type':'unknown','additional_properties':{'perdure':{'shape':"
         "'dotnet','content':{'$TYPE':'text','text':'a'}}}}"},
    };
    static const char *const whole[] = {
        "{'$type':'toolApprovalResponse','Approved':true,'ToolCall':{'$type':"
        "'functionCall','Name':'f','CallId':'c'},'RequestId':'r'}",
        "{'$type':'text','Text':'a','AdditionalProperties':{'k':1}}",
        "{'$type':'text','text':'a','additionalProperties':{'k':1},"
        "'ADDITIONALPROPERTIES':null}",
        "{'$type':'uri','Uri':'u:','MediaType':'a/b','Annotations':[{'$type':"
        "'citation','Title':'t'}]}",
    };
    struct content_trip_report report;

    check_all(pairs, PDR_COUNT(pairs));
    for (size_t i = 0; i < PDR_COUNT(whole); i++) {
        pdr_value *item = doc_value(whole[i]);

        if (!content_trip_check(&report, pdr_content_convert, item, DOTNET,
                                PYTHON))
            fail_msg("%s", report.text);
        pdr_value_free(item);
    }
}

TEST(convert, shows_python_what_dotnet_would_read_and_takes_its_answer)
{
    static const char *const approvals[] = {
        "{'$type':'toolApprovalResponse','approved':false,'Approved':true," TOOL
        ",'requestId':'r'}",
        "{'$type':'toolApprovalResponse','Approved':true,'requestId':'r',"
        "'ToolCall':{'$type':'functionCall','name':'f','callId':'c'}}",
        "{'$type':'toolApprovalResponse','approved':false,'approved':true,"
        "'toolCall':null," TOOL ",'requestId':'r','additionalProperties':{},"
        "'AdditionalProperties':{'k':1}}",
    };

    for (size_t i = 0; i < PDR_COUNT(approvals); i++) {
        pdr_value *item = doc_value(approvals[i]), *no = pdr_value_new_bool(0);
        pdr_value *python = NULL, *made = NULL;
        const pdr_value *says = NULL;
        bool truth = false;

        ASSERT_RC(PDR_OK,
                  pdr_content_convert(&python, item, DOTNET, PYTHON, NULL));
        says = pdr_value_get_c(python, "approved");
        ASSERT_RC(PDR_OK, pdr_value_bool(&truth, says, NULL));
        ASSERT(truth);
        ASSERT_RC(PDR_OK,
                  pdr_value_set(&python, pdr_str_c("approved"), no, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_content_convert(&made, python, PYTHON, DOTNET, NULL));
        says = as_dotnet_reads(made, "approved");
        ASSERT_RC(PDR_OK, pdr_value_bool(&truth, says, NULL));
        ASSERT(!truth);
        pdr_value_free(made);
        pdr_value_free(python);
        pdr_value_free(no);
        pdr_value_free(item);
    }
}

TEST(convert, does_not_bring_back_an_older_whole)
{
    pdr_value *item = doc_value(
        "{'$type':'text','text':'edited','additionalProperties':{'perdure':"
        "{'python':{'whole':'words'}}}}");
    pdr_value *python = NULL;

    ASSERT_RC(PDR_OK, pdr_content_convert(&python, item, STATE, PYTHON, NULL));
    ASSERT(pdr_value_text_is(pdr_value_get_c(python, "text"),
                             pdr_str_c("edited")));
    pdr_value_free(python);
    pdr_value_free(item);
}

TEST(convert, takes_each_nested_content_once_whatever_the_notes_say)
{
    /* Of each level, the note is wrong: were all below converted again, this
     * would not end. */
    pdr_value *item = doc_value("{'$type':'functionCall','callId':'c',"
                                "'name':'f','arguments':{}}");
    pdr_value *there = NULL, *back = NULL;
    bool same = false;

    for (int level = 0; level < 60; level++) {
        pdr_value *outer = doc_value(
            "{'$type':'toolApprovalRequest','requestId':'r','toolCall':null,"
            "'additionalProperties':{'perdure':{'python':{'members':"
            "{'id':'stale'}}}}}");

        ASSERT_RC(PDR_OK,
                  pdr_value_set(&outer, pdr_str_c("toolCall"), item, NULL));
        pdr_value_free(item);
        item = outer;
    }
    ASSERT_RC(PDR_OK, pdr_content_convert(&there, item, DOTNET, PYTHON, NULL));
    ASSERT(pdr_value_text_is(pdr_value_get_c(there, "id"), pdr_str_c("r")));
    ASSERT_RC(PDR_OK, pdr_content_convert(&back, there, PYTHON, DOTNET, NULL));
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, item, back, NULL));
    ASSERT(same);
    pdr_value_free(back);
    pdr_value_free(there);
    pdr_value_free(item);
}

TEST(convert, changes_no_value_that_it_hands_on)
{
    /* Spelling of numbers and escapes, duplicates, lone surrogates. */
    static const char text[] =
        "{\"$type\":\"functionCall\",\"arguments\":{\"\\u0061\":1.10,"
        "\"a\":-0,\"s\":\"\\ud800\\/\",\"e\":1E400},\"callId\":\"\\u0063\","
        "\"name\":\"f\",\"x\\ud800\":{\"b\":1,\"b\":2.0}}";

    for (int to = 1; to < 3; to++) {
        pdr_value *item = json_value(text), *there = NULL, *back = NULL;

        ASSERT_RC(PDR_OK, pdr_content_convert(&there, item, STATE,
                                              (pdr_shape)to, NULL));
        ASSERT_RC(PDR_OK, pdr_content_convert(&back, there, (pdr_shape)to,
                                              STATE, NULL));
        pdr_value_free(there);
        pdr_value_free(item);
        assert_json(text, back);
    }
}

/* --- messages ------------------------------------------------------------ */

TEST(message_convert, keeps_the_frame_and_all_contents)
{
    static const struct pair pairs[] = {
        {STATE, PYTHON,
         "{'authorName':'A','createdAt':'2026-01-02T03:04:05+00:00',"
         "'contents':[{'$type':'text','text':'a'},null,{'$type':'new'}],"
         "'role':'user','messageId':'m','x':1}",
         "{'role':'user','contents':[{'type':'text','text':'a',"
         "'additional_properties':{}},null,{'type':'unknown',"
         "'additional_properties':{'perdure':{'shape':'state','content':"
         "{'$type':'new'}}}}],'author_name':'A','message_id':'m',"
         "'additional_properties':{'perdure':{'members':{'createdAt':"
         "'2026-01-02T03:04:05+00:00'},'state':{'members':{'x':1}}}},"
         "'type':'message'}"},
        {STATE, DOTNET, "{'contents':[],'role':'user'}",
         "{'role':'user','contents':[]}"},
        {PYTHON, STATE,
         "{'type':'chat_message','role':{'type':'role','value':'tool'},"
         "'contents':[],'additional_properties':{}}",
         "{'contents':[],'role':'tool','additionalProperties':{'perdure':"
         "{'python':{'members':{'type':'chat_message','role':{'type':'role',"
         "'value':'tool'}}}}}}"},
        {DOTNET, STATE, "{'messageId':'m'}",
         "{'contents':[],'role':'user','messageId':'m',"
         "'additionalProperties':{'perdure':{'dotnet':{'absent':['role',"
         "'contents']}}}}"},
        {DOTNET, PYTHON, "{'role':'user','contents':5}",
         "{'role':'user','contents':[],'additional_properties':{'perdure':"
         "{'dotnet':{'members':{'contents':5}}}},'type':'message'}"},
        {DOTNET, PYTHON, "'no message'", "'no message'"},
        {DOTNET, DOTNET, "{'a':1}", "{'a':1}"},
    };

    for (size_t i = 0; i < PDR_COUNT(pairs); i++)
        check(&pairs[i], pdr_message_convert);
}

TEST(message_convert, takes_no_list_for_the_message_that_was)
{
    pdr_value *message = doc_value(
        "{'role':'user','contents':[],'additional_properties':{'perdure':"
        "{'dotnet':{'whole':[1]}}},'type':'message'}");
    pdr_value *there = NULL, *back = NULL;
    bool same = false;

    ASSERT_RC(PDR_OK,
              pdr_message_convert(&there, message, PYTHON, DOTNET, NULL));
    ASSERT(
        pdr_value_text_is(pdr_value_get_c(there, "role"), pdr_str_c("user")));
    ASSERT_RC(PDR_OK, pdr_message_convert(&back, there, DOTNET, PYTHON, NULL));
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, message, back, NULL));
    ASSERT(same);
    pdr_value_free(back);
    pdr_value_free(there);
    pdr_value_free(message);
}

/* Is what comes of it said to come back, without another try? */
static bool is_sure(const char *text, pdr_shape from, pdr_shape to)
{
    pdr_value *message = doc_value(text), *made = NULL, *back = NULL;
    bool sure = false, again = false;

    ASSERT_RC(PDR_OK, pdr__message_convert_ordered(&made, &sure, message, from,
                                                   to, NULL));
    ASSERT_RC(PDR_OK, pdr__message_convert_ordered(&back, &again, made, to,
                                                   from, NULL));
    ASSERT(!sure || pdr_value_equal(message, back));
    pdr_value_free(back);
    pdr_value_free(made);
    pdr_value_free(message);
    return sure;
}

TEST(message_convert, is_sure_only_of_what_it_tried)
{
    static const char *const plain =
        "{'role':'user','contents':[],'additional_properties':{},"
        "'type':'message'}";

    ASSERT(is_sure(plain, PYTHON, DOTNET));
    ASSERT(is_sure(plain, PYTHON, PYTHON));
    ASSERT(is_sure("'no message'", PYTHON, DOTNET));
    /* Another order: the whole is kept. */
    ASSERT(!is_sure("{'contents':[],'role':'user','additional_properties':{},"
                    "'type':'message'}",
                    PYTHON, DOTNET));
    /* A whole that somebody put there is met first on the way back. */
    ASSERT(!is_sure("{'role':'user','contents':[],'additionalProperties':{"
                    "'perdure':{'dotnet':{'whole':1}}}}",
                    DOTNET, PYTHON));
}

TEST(message_convert, keeps_the_time_on_the_way_over_python)
{
    pdr_value *state =
        doc_value("{'createdAt':'2026-01-02T03:04:05+00:00','contents':["
                  "{'$type':'functionResult','callId':'c','result':[1.10]}],"
                  "'role':'tool'}");
    pdr_value *python = NULL, *dotnet = NULL;

    ASSERT_RC(PDR_OK, pdr_message_convert(&python, state, STATE, PYTHON, NULL));
    ASSERT_RC(PDR_OK,
              pdr_message_convert(&dotnet, python, PYTHON, DOTNET, NULL));
    pdr_value_free(python);
    pdr_value_free(state);
    assert_quoted("{'createdAt':'2026-01-02T03:04:05+00:00','role':'tool',"
                  "'contents':[{'$type':'functionResult','result':[1.10],"
                  "'callId':'c'}]}",
                  dotnet);
}

/* --- made contents ------------------------------------------------------- */

/* A linear congruential generator: the same numbers everywhere. */
static uint32_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static const char *const odd_values[] = {
    "null",
    "5",
    "\"x\"",
    "[]",
    "{}",
    "true",
    "\"\"",
    "{\"a\":1.10}",
    "[{\"$type\":\"text\",\"text\":\"n\",\"z\":1}]",
    "{\"type\":\"text\",\"text\":\"n\"}",
    "\"data:,x\"",
    "\"{\\\"a\\\": 1}\"",
    "\"\\ud800\"",
    "[null,\"s\",[]]",
    "{\"perdure\":5}",
    "{\"perdure\":{}}",
    "{\"perdure\":{\"python\":{\"members\":{\"text\":\"zz\",\"foo\":1}}}}",
    "{\"perdure\":{\"dotnet\":{\"absent\":[\"text\",5]},\"members\":{}}}",
    "{\"perdure\":{\"state\":{\"wrapped\":\"python\"}},\"a\":1}",
    "{\"perdure\":{\"state\":{\"wrapped\":\"dotnet\"}}}",
    "{\"perdure\":{\"shape\":\"python\",\"content\":{\"type\":\"text\"}}}",
    "{\"perdure\":{\"shape\":\"state\",\"content\":{\"$type\":\"z\"}}}",
    "{\"perdure\":{\"python\":{\"whole\":{\"type\":\"text\"}}}}",
    "{\"perdure\":{\"dotnet\":{\"type\":\"functionApprovalRequest\"}}}",
    "{\"server_label\":5}",
    "{\"perdure\":1,\"perdure\":{}}",
    "{\"perdure\":{\"members\":{\"createdAt\":1,\"result\":\"r\"}}}",
    "{\"perdure\":{\"dotnet\":{\"members\":{\"TEXT\":\"zz\",\"Uri\":1}}}}",
    "\"data:a/b;c=d;base64,AAAA\"",
    "\"AAAA\"",
    "\"image/png\"",
    "\"x-y\"",
    "{\"perdure\":{\"sk\":{\"members\":{\"PluginName\":\"a\",\"ModelId\":1}}}}",
    "{\"perdure\":{\"sk\":{\"type\":\"AudioContent\",\"absent\":[\"MimeType\"]}}}",
    "{\"perdure\":{\"shape\":\"sk\",\"content\":{\"$type\":\"ActionContent\"}}}",
    "{\"perdure\":{\"members\":{\"annotations\":[{}],\"hosted\":true}}}",
    "{\"perdure\":{\"members\":{\"informationalOnly\":true}}}",
};

static const char *const odd_names[] = {
    "text",        "$zz",
    "type",        "$type",
    "result",      "items",
    "details",     "argumentsText",
    "annotations", "content",
    "hosted",      "informationalOnly",
    "uri",         "additional_properties",
    "arguments",   "additionalProperties",
    "Text",        "AdditionalProperties",
    "Approved",    "toolcall",
    "ARGUMENTS",   "Annotations",
    "Outputs",     "CALLID",
    "Metadata",    "Data",
    "Uri",         "MimeType",
    "PluginName",  "ModelId",
    "Items",       "items",
    "Role",        "FunctionName",
};

/* A content of any kind whose members are as often odd as they are right. */
static pdr_value *make_content(uint64_t *seed, pdr_shape shape)
{
    pdr_content_kind kind = PDR_CONTENT_OTHER;
    struct content_members rows;
    pdr_builder *to = NULL;
    pdr_value *out = NULL;

    while (pdr_content_kind_name(kind, shape)[0] == '\0')
        kind = (pdr_content_kind)(1 + next(seed) % PDR_CONTENT_MESSAGE);
    rows = pdr__content_members(kind);
    ASSERT_RC(PDR_OK, pdr_builder_new(&to, NULL));
    pdr_builder_object(to);
    pdr_builder_name(to, pdr_str_c(pdr__type_name(shape)));
    pdr_builder_string(to, pdr_str_c(pdr_content_kind_name(kind, shape)));
    for (size_t i = 0; i < rows.count + 3; i++) {
        const char *name = i < rows.count
                               ? rows.rows[i].names[shape]
                               : odd_names[next(seed) % PDR_COUNT(odd_names)];
        pdr_value *value =
            json_value(odd_values[next(seed) % PDR_COUNT(odd_values)]);

        if (name != NULL && next(seed) % 3 != 0) {
            pdr_builder_name(to, pdr_str_c(name));
            if (next(seed) % 2 == 0)
                pdr_builder_value(to, value);
            else
                pdr_builder_string(to, pdr_str_c("data:a/b,x"));
        }
        pdr_value_free(value);
    }
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&out, to, NULL));
    pdr_builder_free(to);
    return out;
}

TEST(convert, loses_nothing_of_made_contents)
{
    struct content_trip_report report;
    uint64_t seed = 7;

    for (int i = 0; i < 12000; i++) {
        pdr_shape from = (pdr_shape)(i % 4);
        pdr_shape to = (pdr_shape)((i + 1 + (i / 4) % 3) % 4);
        pdr_value *value = make_content(&seed, from);

        if (!content_trip_check(&report, pdr_content_convert, value, from, to))
            fail_msg("%d: %s", i, report.text);
        pdr_value_free(value);
    }
}

/* --- limits and memory --------------------------------------------------- */

TEST(convert, of_nested_contents_takes_time_by_size_not_by_depth)
{
    /* 100 levels of approvals of approvals. If a level cost twice the one below
     * it, this test would never end. */
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_read_opts opts = {0};
    pdr_value *deep = NULL, *there = NULL;

    opts.max_depth = 1000;
    for (int i = 0; i < 100; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&text,
                                 pdr_str_c("{\"$type\":\"toolApprovalRequest\","
                                           "\"requestId\":\"r\",\"toolCall\":"),
                                 NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("{}"), NULL));
    for (int i = 0; i < 100; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("}"), NULL));
    ASSERT_RC(PDR_OK, pdr_json_read(&deep, pdr_buf_str(&text), &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_content_convert(&there, deep, DOTNET, PYTHON, NULL));
    pdr_value_free(there);
    pdr_value_free(deep);
    pdr_buf_dispose(&text);
}

/* An object with a great many members: `front`, many times `first` and then
 * many times `second`, each with a number for its %d, and `end`. */
static pdr_value *make_large(const char *front, const char *first,
                             const char *second, const char *end)
{
    enum { MANY = 30000 };
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *made = NULL;
    char one[64];

    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(front), NULL));
    for (int i = 0; i < 2 * MANY; i++) {
        (void)snprintf(one, sizeof(one), i < MANY ? first : second, i);
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(one), NULL));
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(end), NULL));
    for (size_t i = 0; i < text.len; i++)
        text.ptr[i] = text.ptr[i] == '\'' ? '"' : text.ptr[i];
    ASSERT_RC(PDR_OK, pdr_json_read(&made, pdr_buf_str(&text), NULL, NULL));
    pdr_buf_dispose(&text);
    return made;
}

/* There and back, in time: comparing each member with each would take minutes.
 */
static void check_large(pdr_value *large, content_trip_fn fn, pdr_shape from,
                        pdr_shape to)
{
    pdr_value *there = NULL, *back = NULL;
    bool same = false;

    ASSERT_RC(PDR_OK, fn(&there, large, from, to, NULL));
    ASSERT_RC(PDR_OK, fn(&back, there, to, from, NULL));
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, large, back, NULL));
    ASSERT(same);
    pdr_value_free(back);
    pdr_value_free(there);
    pdr_value_free(large);
}

TEST(convert, of_many_members_takes_time_by_their_number)
{
    check_large(
        make_large("{'$type':'text',", "'m%d':0,", "'m%d':1,", "'text':'x'}"),
        pdr_content_convert, DOTNET, PYTHON);
    /* The same name again and again, behind others. */
    check_large(make_large("{'$type':'text',", "'m%d':0,", "'text':'%d',",
                           "'text':'x'}"),
                pdr_content_convert, DOTNET, PYTHON);
    check_large(make_large("{'role':'user',", "'m%d':0,", "'contents':%d,",
                           "'contents':[]}"),
                pdr_message_convert, STATE, PYTHON);
}

TEST(convert, of_a_long_note_takes_time_by_its_length)
{
    check_large(make_large("{'type':'text','text':'x','additional_properties':"
                           "{'perdure':{'dotnet':{'members':{",
                           "'m%d':0,", "'text':'%d',", "'text':'x'}}}}}"),
                pdr_content_convert, PYTHON, DOTNET);
    check_large(make_large("{'role':'user','additional_properties':"
                           "{'perdure':{'state':{'members':{",
                           "'m%d':0,", "'contents':%d,", "'z':0}}}}}"),
                pdr_message_convert, PYTHON, STATE);
    check_large(make_large("{'role':'user','additional_properties':"
                           "{'perdure':{'state':{'absent':[",
                           "'m%d',", "'authorName',", "'z']}}}}"),
                pdr_message_convert, PYTHON, STATE);
}

TEST(convert, of_many_counts_takes_time_by_their_number)
{
    check_large(make_large("{'$type':'usage','usage':{", "'m%d':0,", "'m%d':1,",
                           "'m0':2,'inputTokenCount':3}}"),
                pdr_content_convert, STATE, PYTHON);
    check_large(make_large("{'type':'usage','usage_details':{", "'m%d':0,",
                           "'input_token_count':%d,",
                           "'additionalCounts':{'m0':1,'n':2}}}"),
                pdr_content_convert, PYTHON, DOTNET);
}

static void convert_oom(const char *text, pdr_shape from, pdr_shape to)
{
    pdr_value *value = NULL, *out = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_content_convert(&out, value, from, to, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out != NULL) == (rc == PDR_OK));
    pdr_value_free(out);
    pdr_value_free(value);
}

TEST_OOM(convert, cleans_up_after_a_call_with_text)
{
    convert_oom("{\"type\":\"function_call\",\"call_id\":\"c\","
                "\"arguments\":\"n\\u006f\",\"status\":1}",
                PYTHON, STATE);
}

TEST_OOM(convert, cleans_up_after_a_result)
{
    convert_oom("{\"$type\":\"functionResult\",\"result\":[1],\"x\":1}", STATE,
                PYTHON);
}

TEST_OOM(convert, cleans_up_after_nested_contents)
{
    convert_oom("{\"type\":\"image_generation_tool_result\",\"outputs\":"
                "{\"type\":\"uri\",\"uri\":\"u\",\"annotations\":[{\"type\":"
                "\"citation\",\"annotated_regions\":[{\"type\":\"text_span\","
                "\"start_index\":1}]}]}}",
                PYTHON, DOTNET);
}

TEST_OOM(convert, cleans_up_after_data)
{
    convert_oom("{\"$type\":\"data\",\"uri\":\"data:;base64,\\u0041\","
                "\"mediaType\":\"a\\/b\"}",
                STATE, DOTNET);
}

TEST_OOM(convert, cleans_up_after_counts)
{
    convert_oom("{\"type\":\"usage\",\"usage_details\":{\"x\":1}}", PYTHON,
                DOTNET);
}

TEST_OOM(convert, cleans_up_after_what_was_wrapped)
{
    convert_oom("{\"$type\":\"unknown\",\"content\":{\"type\":"
                "\"text_reasoning\",\"text\":\"t\"}}",
                STATE, DOTNET);
}

TEST_OOM(convert, cleans_up_after_what_is_kept_whole)
{
    convert_oom("{\"type\":\"text\",\"additional_properties\":{\"perdure\":"
                "{\"python\":{\"members\":{}}},\"server_label\":1}}",
                DOTNET, PYTHON);
    convert_oom("{\"$type\":\"text\",\"text\":\"a\",\"additionalProperties\":"
                "{\"perdure\":{\"python\":{\"whole\":\"a\"}}}}",
                STATE, PYTHON);
}

TEST_OOM(message_convert, cleans_up_after_any_failed_allocation)
{
    static const char text[] =
        "{\"role\":\"user\",\"createdAt\":\"x\",\"contents\":[{\"$type\":"
        "\"text\",\"text\":\"a\",\"z\":1}],\"z\":1}";
    pdr_value *value = NULL, *out = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_message_convert(&out, value, STATE, PYTHON, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out != NULL) == (rc == PDR_OK));
    pdr_value_free(out);
    pdr_value_free(value);
}
