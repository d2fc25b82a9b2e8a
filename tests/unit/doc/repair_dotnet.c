/* Repair for .NET: what it needs, and what is refused instead. */
#include "repair_text.h"

static void check(const char *findings, const char *after, const char *before)
{
    check_repair(PDR_READER_DOTNET, findings, after, before);
}

static void refused(const char *path, const char *document)
{
    check_refused(PDR_READER_DOTNET, PDR_EINVALID, "cannot_repair", path,
                  document);
}

/* A response with one message, so that nothing else is to be repaired. */
#define HEAD                                   \
    "{'$type':'response','correlationId':'a'," \
    "'createdAt':'2026-02-03T08:15:00Z','messages':["
#define SAYS(contents) HEAD "{'role':'user','contents':[" contents "]}]}"
#define ITEM           AT "/0/messages/0/contents/0"

TEST(repair_for_dotnet, leaves_alone_what_dotnet_takes)
{
    static const char same[] = DOC(
        SAYS("{'$type':'text','text':'x', 'k':[1.0]} ,{'$type':'unknown',"
             "'content':{'$type':'mcpServerToolCall','name':'n','callId':'c'}"
             "}"));

    check("", same, same);
    check("", "{'schemaVersion':'1.1.0','data':null}",
          "{'schemaVersion':'1.1.0','data':null}");
}

TEST(repair_for_dotnet, puts_the_type_first)
{
    COVERS("D-105");
    check("info type-first " AT "/0\n",
          DOC("{'$type':'response','correlationId':'a',"
              "'createdAt':'2026-02-03T08:15:00Z','messages':[ ],'k':1.0}"),
          DOC("{ 'correlationId':'a','createdAt':'2026-02-03T08:15:00Z' ,"
              "'messages':[ ],'$type':'response','k': 1.0}"));
    check("info type-first " ITEM "\n",
          DOC(SAYS("{'$type':'text','text':'a','o':{ 'b' : 1 }}")),
          DOC(SAYS("{'text':'a','$type':'text','o':{ 'b' : 1 }}")));
    /* Once: the last one counts. Other names may occur twice, and keep their
     * spelling. */
    check("info type-first " ITEM "\n",
          DOC(SAYS("{'$type':'text','k':[ 1 ],'text':'a','k':2}")),
          DOC(SAYS("{'$type':'error','k':[ 1 ],'text':'a','$type':'text',"
                   "'k':2}")));
    check("info type-first " ITEM "\n",
          DOC(SAYS("{'$type':'text','\\u006b':{ },'te\\u0078t':'a'}")),
          DOC(SAYS("{'\\u006b':{ },'te\\u0078t':'a','$type':'text'}")));
    check("info type-filled " AT "/0\n",
          DOC("{'$type':'response','json_type':'response','correlationId':'a',"
              "'createdAt':'2026-02-03','messages':[]}"),
          DOC("{'json_type':'response','correlationId':'a',"
              "'createdAt':'2026-02-03','messages':[],'$type':null}"));
}

TEST(repair_for_dotnet, fills_in_what_absence_means)
{
    check("info list-added " AT "\n",
          "{'schemaVersion':'1.1.0','data':{'k':1,'conversationHistory':[]}}",
          "{'schemaVersion':'1.1.0','data':{'k':1}}");
    check("info list-filled " AT "\n",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':[]}}",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':null}}");
    check("info member-added " AT "/0/correlationId\ninfo list-added " AT
          "/0/messages\n",
          DOC("{'$type':'response','createdAt':'2026-02-03',"
              "'correlationId':null,'messages':[]}"),
          DOC("{'$type':'response','createdAt':'2026-02-03'}"));
    check("info list-filled " AT "/0/messages/0/contents\n"
          "info list-added " AT "/0/messages/1/contents\n",
          DOC(HEAD "{'role':'u','contents':[]},{'role':'u','contents':[]}]}"),
          DOC(HEAD "{'role':'u','contents':null},{'role':'u'}]}"));
    check("info member-added " ITEM "/text\n"
          "info member-filled " AT "/0/messages/0/contents/1/text\n"
          "info member-filled " AT "/0/messages/0/contents/2/usage\n"
          "info member-added " AT "/0/messages/0/contents/3/mediaType\n",
          DOC(SAYS("{'$type':'text','text':''},{'$type':'text','text':''},"
                   "{'$type':'usage','usage':{}},{'$type':'uri','uri':"
                   "'http://h/','mediaType':null}")),
          DOC(SAYS("{'$type':'text'},{'$type':'text','text':null},"
                   "{'$type':'usage','usage':null},{'$type':'uri','uri':"
                   "'http://h/'}")));
}

TEST(repair_for_dotnet, removes_nulls_from_lists)
{
    check("info null-removed " AT "/0\n"
          "info null-removed " AT "/1/messages/0\n"
          "info null-removed " AT "/1/messages/1/contents/1\n",
          DOC(SAYS("{'$type':'text','text':'a'},{'$type':'text','text':'b'}")),
          DOC("null," HEAD "null,{'role':'user','contents':[{'$type':'text',"
              "'text':'a'},null,{'$type':'text','text':'b'}]}]}"));
}

#define CALL(arguments) \
    "{'$type':'functionCall','callId':'1','name':'f','arguments':" arguments
#define ANSWER                                                 \
    "]},{'role':'tool','contents':[{'$type':'functionResult'," \
    "'callId':'1','result':1}"

TEST(repair_for_dotnet, keeps_arguments_that_are_no_object_as_text)
{
    check("info arguments-as-text " ITEM "/arguments\n"
          "info kept-value-added " ITEM "/argumentsText\n",
          DOC(SAYS(CALL("{},'argumentsText':'[1.0,{}]'}") ANSWER)),
          DOC(SAYS(CALL("[1.0, {}]}") ANSWER)));
    check("info arguments-as-text " ITEM "/arguments\n"
          "info kept-value-added " ITEM "/argumentsText\n",
          DOC(SAYS(CALL("{},'argumentsText':'not json'}") ANSWER)),
          DOC(SAYS(CALL("'not json'}") ANSWER)));
    check("info member-filled " ITEM "/arguments\n",
          DOC(SAYS(CALL("{}}") ANSWER)), DOC(SAYS(CALL("null}") ANSWER)));
    /* There is a text already: one of them would get lost. */
    refused(ITEM "/arguments",
            DOC(SAYS(CALL("[1],'argumentsText':'x'}") ANSWER)));
}

TEST(repair_for_dotnet, keeps_details_that_are_no_text_beside_their_text)
{
    check("info details-as-text " ITEM "/details\n"
          "info kept-value-added " ITEM "/detailsJson\n",
          DOC(SAYS("{'$type':'error','details':'{\\'a\\':[1.0]}',"
                   "'detailsJson':{'a':[1.0]}}")),
          DOC(SAYS("{'$type':'error','details':{'a': [1.0]}}")));
    refused(ITEM "/details",
            DOC(SAYS("{'$type':'error','details':5,'detailsJson':6}")));
}

TEST(repair_for_dotnet, spells_counts_as_plain_integers)
{
    check("info count-respelled " AT "/0/usage/inputTokenCount\n"
          "info count-respelled " AT "/0/usage/totalTokenCount\n",
          DOC("{'$type':'response','usage':{'inputTokenCount':12,"
              "'totalTokenCount':100,'outputTokenCount':-1,'k':1.0},"
              "'correlationId':'a','createdAt':'2026-02-03','messages':[]}"),
          DOC("{'$type':'response','usage':{'inputTokenCount':12.0,"
              "'totalTokenCount':1e2,'outputTokenCount':-1,'k':1.0},"
              "'correlationId':'a','createdAt':'2026-02-03','messages':[]}"));
    check("info count-respelled " ITEM "/usage/inputTokenCount\n",
          DOC(SAYS("{'$type':'usage','usage':{'inputTokenCount':-3}}")),
          DOC(SAYS("{'$type':'usage','usage':{'inputTokenCount':-3.0}}")));
    refused(ITEM "/usage/inputTokenCount",
            DOC(SAYS("{'$type':'usage','usage':{'inputTokenCount':1.5}}")));
    refused(ITEM "/usage/inputTokenCount",
            DOC(SAYS("{'$type':'usage','usage':{'inputTokenCount':'12'}}")));
}

TEST(repair_for_dotnet, spells_dates_as_dotnet_reads_them)
{
    check("info date-respelled " AT "/0/createdAt\n"
          "info date-respelled " AT "/0/messages/0/createdAt\n",
          DOC("{'$type':'response','correlationId':'a',"
              "'createdAt':'2026-02-03T08:15:00.5+00:00','messages':[{'role':"
              "'u','contents':[],'createdAt':'2026-02-02T18:14:00+00:00'}]}"),
          DOC("{'$type':'response','correlationId':'a',"
              "'createdAt':'2026-02-03 08:15:00.50z','messages':[{'role':"
              "'u','contents':[],'createdAt':'2026-02-03T08:15:00+14:01'}]}"));
#define EXPIRES(text)                                            \
    "{'schemaVersion':'1.1.0','data':{'conversationHistory':[]," \
    "'expirationTimeUtc':" text "}}"
    check("", EXPIRES("null"), EXPIRES("null"));
    check("", EXPIRES("'2026-02-03T08:15:00.10Z'"),
          EXPIRES("'2026-02-03T08:15:00.10Z'"));
    check("info date-respelled /data/expirationTimeUtc\n",
          EXPIRES("'2026-02-03T06:45:00.1234567Z'"),
          EXPIRES("'2026-02-03T08:15:00.1234567+01:30'"));
    refused("/data/expirationTimeUtc", EXPIRES("'never'"));
}

TEST(repair_for_dotnet, wraps_contents_that_dotnet_does_not_know)
{
    check("info content-wrapped " ITEM "\n"
          "info content-wrapped " AT "/0/messages/0/contents/1\n"
          "info content-wrapped " AT "/0/messages/0/contents/2\n"
          "info content-wrapped " AT "/0/messages/0/contents/3\n",
          DOC(SAYS("{'$type':'unknown','content':{'item':{'$type':'hologram',"
                   "'n':1.0}}},{'$type':'unknown','content':{'frames':12}},"
                   "{'$type':'unknown','content':{'item':'x'}},"
                   "{'$type':'unknown','content':{'$type':'toolApprovalRequest"
                   "','requestId':'r','toolCall':{'$type':'functionCall',"
                   "'name':'n','callId':'1'}}}")),
          DOC(SAYS("{'$type':'hologram','n':1.0},{'frames':12},'x',"
                   "{'$type':'toolApprovalRequest','requestId':'r',"
                   "'toolCall':{'$type':'functionCall','name':'n',"
                   "'callId':'1'}}")));
    /* What is wrapped already may have to go deeper. */
    check("info content-wrapped " ITEM "\n"
          "info type-first " AT "/0/messages/0/contents/1\n"
          "info content-wrapped " AT "/0/messages/0/contents/1\n"
          "info content-wrapped " AT "/0/messages/0/contents/2\n",
          DOC(SAYS("{'$type':'unknown','content':{'item':null},'side':9},"
                   "{'$type':'unknown','content':{'item':{'$type':'no'}}},"
                   "{'$type':'unknown','content':{'item':null}}")),
          DOC(SAYS("{'$type':'unknown','content':null,'side':9},"
                   "{'content':{'$type':'no'},'$type':'unknown'},"
                   "{'$type':'unknown'}")));
}

TEST(repair_for_dotnet, still_knows_that_a_wrapped_call_waits)
{
#define OLD_APPROVAL                                              \
    "{'$type':'functionApprovalRequest','id':'1','functionCall':" \
    "{'callId':'1'}}"
    check(
        "info content-wrapped " AT "/0/messages/0/contents/1\n",
        DOC(SAYS(CALL("{}},{'$type':'unknown','content':{'item':" OLD_APPROVAL
                      "}}"))),
        DOC(SAYS(CALL("{}},{'$type':'unknown','content':" OLD_APPROVAL "}"))));
}

TEST(repair_for_dotnet, refuses_what_would_have_to_be_made_up)
{
    static const char *const items[][2] = {
        {"{'$type':'functionCall','callId':null,'name':'f','arguments':{}}",
         "/callId"},
        {"{'$type':'functionCall','callId':'1','name':null,'arguments':{}}",
         "/name"},
        {"{'$type':'hostedFile','fileId':''}", "/fileId"},
        {"{'$type':'uri','uri':null,'mediaType':'a/b'}", "/uri"},
        {"{'$type':'text','text':5}", "/text"},
        {"{'$type':'text','text':'\\ud800'}", "/text"},
        {"{'$type':'text','text':'x','$x':1}", "/$x"},
        {"{'$type':'error','errorCode':5}", "/errorCode"},
    };

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        char document[1000], path[200];

        (void)snprintf(document, sizeof(document), DOC(SAYS("%s")),
                       items[i][0]);
        (void)snprintf(path, sizeof(path), ITEM "%s", items[i][1]);
        refused(path, document);
    }
    refused(AT "/0/$type", DOC("{'$type':'annotation'}"));
    refused(AT "/0", DOC("7"));
    refused(AT "/0/createdAt",
            DOC("{'$type':'response','correlationId':'a','messages':[],"
                "'createdAt':'soon'}"));
    refused(AT "/0/messages/0/role", DOC(HEAD "{'role':null,'contents':[]}]}"));
    refused(AT, "{'schemaVersion':'1.1.0','data':{'conversationHistory':{}}}");
}

TEST(repair_for_dotnet, names_the_place_in_the_original)
{
    /* Before it, an entry is removed, one added, and a message added. */
    refused(AT "/2/messages/2/contents/1/text",
            DOC("null,{'$type':'request','correlationId':'q','createdAt':"
                "'2026-02-03','messages':[]}," HEAD "null,{'role':'u',"
                "'contents':[{'$type':'functionCall','callId':'1','name':'f',"
                "'arguments':{}}]},{'role':'u','contents':[null,"
                "{'$type':'text','text':5}]}]}"));
}

static char *nested(size_t levels)
{
    size_t size = 2 * levels + 500;
    char *text = calloc(1, size), *args = calloc(1, 2 * levels + 1);

    ASSERT(text != NULL && args != NULL);
    memset(args, '[', levels);
    memset(args + levels, ']', levels);
    (void)snprintf(text, size, DOC(SAYS("{'$type':'text','text':'','k':%s}")),
                   args);
    free(args);
    return text;
}

TEST(repair_for_dotnet, refuses_more_than_64_levels)
{
    /* A content stands at level 8. */
    char *good = nested(PDR_DOTNET_DEPTH - 8);
    char *deep = nested(PDR_DOTNET_DEPTH - 7);
    pdr_value *value = doc_value(deep), *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    check("", good, good);
    ASSERT_RC(PDR_EINVALID, pdr_state_repair(&out, value, PDR_READER_DOTNET,
                                             NOW, &err, NULL, NULL));
    ASSERT_STR("cannot_repair", err.reason);
    ASSERT(err.path[0] != '\0');
    pdr_value_free(value);
    free(deep);
    free(good);
}

TEST(repair_for_dotnet, refuses_bare_tokens)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    char *text = quoted(DOC(SAYS("{'$type':'text','text':'','k':NaN}")));
    pdr_value *value = NULL, *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(text), &opts, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_state_repair(&out, value, PDR_READER_DOTNET,
                                             NOW, &err, NULL, NULL));
    ASSERT_STR("cannot_repair", err.reason);
    ASSERT_STR(ITEM "/k", err.path);
    pdr_value_free(value);
    free(text);
}

TEST(repair_for_dotnet, fixes_results_that_it_moves)
{
    check("info result-moved " AT "/0/messages/0/contents/0\n"
          "info tool-message-added " AT "/0/messages/2\n"
          "info type-first " AT "/0/messages/0/contents/0\n",
          DOC(HEAD "{'role':'t','contents':[]},{'role':'u','contents':[" CALL(
              "{}}") "]},{'contents':[{'$type':'functionResult','result':1,"
                     "'callId':'1'}],'role':'tool'}]}"),
          DOC(HEAD "{'role':'t','contents':[{'result':1,'callId':'1','$type':"
                   "'functionResult'}]},{'role':'u','contents':[" CALL(
                       "{}}") "]}]}"));
}

TEST_OOM(repair_for_dotnet, cleans_up_after_any_failed_allocation)
{
    check_repair_oom(
        PDR_READER_DOTNET,
        "{'schemaVersion':'1.1.0','data':{'expirationTimeUtc':'2026-02-03',"
        "'conversationHistory':[null,{'json_type':'response','createdAt':"
        "'2026-02-03 08:15','usage':{'inputTokenCount':1.0}},"
        "{'k':1,'k':2,'$type':'response','correlationId':'a','createdAt':"
        "'2026-02-03','messages':[{'role':'u','contents':[{'$type':"
        "'hologram'},{'$type':'unknown'},{'$type':'error','details':[1]},"
        "{'$type':'text'},{'$type':'uri','uri':'http://h/'},"
        "{'$type':'usage'},{'name':'f','callId':'1','arguments':[1],"
        "'$type':'functionCall'}]},{'role':'u','contents':null}]}]}}");
}
