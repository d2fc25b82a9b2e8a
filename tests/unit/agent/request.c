/*
 * Requests for durable agents: what either language sends becomes the same
 * request, which can be stored and told from another one.
 *
 * JSON stands here with ' for ".
 */
#include <perdure.h>

#include "request.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define MAX_JSON    4096

/* What the stored form begins with. */
#define MARKED "{'perdure':{'shape':'state'}"
#define HI     "[{'contents':[{'$type':'text','text':'hi'}],'role':'user'}]"

/* The text with real quotes, in `room`. */
static pdr_str json(char room[MAX_JSON], const char *text)
{
    size_t len = strlen(text);

    ASSERT(len < MAX_JSON);
    for (size_t i = 0; i <= len; i++)
        room[i] = text[i] == '\'' ? '"' : text[i];
    return pdr_str_n(room, len);
}

static void read_ok(struct pdr__request *out, pdr_str input)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr__request_read(out, input, &err) != PDR_OK)
        fail_msg("%.*s: %s", (int)input.len, input.ptr, err.message);
}

static void print_of(uint8_t out[PDR_REQUEST_FINGERPRINT], pdr_str input)
{
    struct pdr__request request;

    read_ok(&request, input);
    ASSERT_RC(PDR_OK, pdr__request_fingerprint(out, &request, NULL));
    pdr__request_dispose(&request);
}

/* Read `input`; it is stored as `expected`, and comes back as it was. */
static void check_stored(const char *expected, pdr_str input)
{
    uint8_t print[PDR_REQUEST_FINGERPRINT], again[PDR_REQUEST_FINGERPRINT];
    pdr_buf once = PDR_BUF_INIT(SIZE_MAX), twice = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__request request, back;
    char room[MAX_JSON];

    read_ok(&request, input);
    ASSERT_RC(PDR_OK, pdr__request_write(&once, &request, NULL));
    ASSERT_BYTES(json(room, expected), pdr_buf_str(&once));
    read_ok(&back, pdr_buf_str(&once));
    ASSERT_RC(PDR_OK, pdr__request_write(&twice, &back, NULL));
    ASSERT_BYTES(pdr_buf_str(&once), pdr_buf_str(&twice));
    ASSERT_INT(request.created_at, back.created_at);
    ASSERT_SIZE(0, back.unknown);
    ASSERT_RC(PDR_OK, pdr__request_fingerprint(print, &request, NULL));
    ASSERT_RC(PDR_OK, pdr__request_fingerprint(again, &back, NULL));
    ASSERT(memcmp(print, again, sizeof(print)) == 0);
    pdr_buf_dispose(&once);
    pdr_buf_dispose(&twice);
    pdr__request_dispose(&back);
    pdr__request_dispose(&request);
}

/* --- what is read ----------------------------------------------------------
 */

TEST(request_read, takes_what_both_editions_write)
{
    static const struct {
        const char *file, *stored;
    } samples[] = {
        {"dotnet/durable/30-run-request.json",
         MARKED ",'correlationId':'0f7a4c2e9b1d4f60a3c85e7712d9be04',"
                "'orchestrationId':'e9d2b1c0a3f44e5f8a7b6c5d4e3f2a10',"
                "'createdAt':'2026-02-03T08:15:00.1204Z',"
                "'messages':[{'authorName':'Kari',"
                "'createdAt':'2026-02-03T08:15:00.1204+00:00','contents':["
                "{'$type':'text','text':'Is <pier 7> open – ~now~?'},"
                "{'$type':'data','uri':'data:image/png;base64,AQID',"
                "'mediaType':'image/png','name':'p.png'}],'role':'user',"
                "'messageId':'m-77','additionalProperties':"
                "{'channel':'radio'}},{'contents':[{'$type':'functionCall',"
                "'arguments':{'a':1},'callId':'c1','name':'f'}],"
                "'role':'assistant'},{'contents':[{'$type':'functionResult',"
                "'callId':'c1','result':{'r':1.50}}],'role':'tool'}],"
                "'responseFormat':{'$type':'json','schema':"
                "{'$schema':'https://json-schema.org/draft/2020-12/schema',"
                "'type':'object','properties':{'name':{'type':'string'},"
                "'depth':{'type':'integer'},'free':{'type':'boolean'}},"
                "'required':['name','depth','free']}},'enableToolCalls':false,"
                "'enableToolNames':['berth_lookup','harbour_clock']}"},
        {"dotnet/durable/31-run-request-minimal.json",
         MARKED ",'correlationId':'c','messages':" HI "}"},
        {"python/durable/30-run-request.json",
         MARKED ",'correlationId':'c1','createdAt':'2026-02-03T08:15:00Z',"
                "'messages':[{'contents':[{'$type':'text',"
                "'text':'Berth as an object'}],'role':'user'}],"
                "'responseFormat':'json'}"},
        {"python/durable/31-run-request-options.json",
         MARKED ",'correlationId':'c','orchestrationId':'o-1',"
                "'createdAt':'2026-02-03T08:15:00.5Z','messages':" HI
                ",'responseFormat':'json','enableToolCalls':false,"
                "'options':{'temperature':0.5}}"},
    };

    for (size_t i = 0; i < COUNT(samples); i++) {
        size_t len = 0;
        char *text = test_read_data(samples[i].file, &len);

        for (size_t k = 0; k < len; k++) /* has no ~, and ' means " here */
            text[k] = text[k] == '\'' ? '~' : text[k];
        check_stored(samples[i].stored, pdr_str_n(text, len));
        free(text);
    }
}

static const struct {
    const char *input, *stored; /* the latter without mark and brackets */
} good_rows[] = {
    /* messages, and one text */
    {"{'messages':[]}", ",'messages':[]"},
    {"{'messages':[],'message':'no'}", ",'messages':[]"},
    {"{'messages':null,'message':'hi'}", ",'messages':" HI},
    {"{'message':'hi'}", ",'messages':" HI},
    {"{'message':''}", ",'messages':[]"},
    {"'{\\'message\\':\\'hi\\'}'", ",'messages':" HI},
    {"{'message':'a','message':'hi'}", ",'messages':" HI},
    {"{'message':'\\ud800'}",
     ",'messages':[{'contents':[{'$type':'text','text':'\\ud800'}],"
     "'role':'user'}]"},
    {"{'messages':[{'type':'message','role':'user','contents':[{"
     "'type':'text','text':'hi','additional_properties':{}}],"
     "'additional_properties':{}}]}",
     ",'messages':" HI},
    {"{'messages':[{},{'role':null,'contents':null}]}",
     ",'messages':[{'contents':[],'role':'user'},"
     "{'contents':[],'role':'user'}]"},
    /* what nobody knows is kept */
    {"{'messages':[{'contents':[{'$type':'later','x':1},{'y':2}]}]}",
     ",'messages':[{'contents':[{'$type':'unknown','content':"
     "{'$type':'later','x':1}},{'$type':'unknown','content':{'y':2}}],"
     "'role':'user'}]"},
    /* ids */
    {"{'message':'','correlationId':'a','orchestrationId':'b'}",
     ",'correlationId':'a','orchestrationId':'b','messages':[]"},
    {"{'message':'','correlation_id':'a','orchestration_id':'b'}",
     ",'correlationId':'a','orchestrationId':'b','messages':[]"},
    {"{'Message':'','CorrelationId':'\\u0061'}",
     ",'correlationId':'a','messages':[]"},
    {"{'message':'','correlationId':null,'orchestration_id':null}",
     ",'messages':[]"},
    /* times */
    {"{'message':'','created_at':'2026-02-03T08:15:00+01:00'}",
     ",'createdAt':'2026-02-03T07:15:00Z','messages':[]"},
    {"{'message':'','createdAt':'yesterday'}", ",'messages':[]"},
    {"{'message':'','createdAt':7}", ",'messages':[]"},
    {"{'createdAt':'2025-01-01T00:00:00Z','messages':["
     "{'createdAt':'2026-01-01T10:00:00Z'},"
     "{'createdAt':'2026-01-01T09:59:00.1234567Z'},{}]}",
     ",'createdAt':'2026-01-01T09:59:00.1234567Z','messages':["
     "{'createdAt':'2026-01-01T10:00:00Z','contents':[],'role':'user'},"
     "{'createdAt':'2026-01-01T09:59:00.1234567Z','contents':[],"
     "'role':'user'},{'contents':[],'role':'user'}]"},
    /* formats */
    {"{'message':'','responseFormat':{'$type':'text'}}", ",'messages':[]"},
    {"{'message':'','response_format':'Text'}", ",'messages':[]"},
    {"{'message':'','responseFormat':null}", ",'messages':[]"},
    {"{'message':'','responseFormat':{'$type':'json'}}",
     ",'messages':[],'responseFormat':'json'"},
    {"{'message':'','response_format':'json'}",
     ",'messages':[],'responseFormat':'json'"},
    {"{'message':'','requestResponseFormat':'JSON'}",
     ",'messages':[],'responseFormat':'json'"},
    {"{'message':'','request_response_format':'text'}", ",'messages':[]"},
    {"{'message':'','response_format':{'__response_schema_type__':"
     "'pydantic_model','module':'m','qualname':'Q'}}",
     ",'messages':[],'responseFormat':'json'"},
    {"{'message':'','responseFormat':{'Schema':{'a':1},'$type':'json',"
     "'schemaName':'S','schemaDescription':'d'}}",
     ",'messages':[],'responseFormat':{'$type':'json','schema':{'a':1}}"},
    {"{'message':'','request_response_format':'text','response_format':"
     "{'type':'array'}}",
     ",'messages':[],'responseFormat':{'$type':'json','schema':"
     "{'type':'array'}}"},
    /* tools */
    {"{'message':'','enableToolCalls':true,'enableToolNames':[]}",
     ",'messages':[]"},
    {"{'message':'','enable_tool_calls':false,'enable_tool_names':['a']}",
     ",'messages':[],'enableToolCalls':false,'enableToolNames':['a']"},
    {"{'message':'','enable_tool_names':null}", ",'messages':[]"},
    /* the rest */
    {"{'message':'','skipEmpty':true,'options':{}}",
     ",'messages':[],'skipEmpty':true"},
    {"{'message':'','skip_empty':false,'options':null}", ",'messages':[]"},
    {"{'message':'','options':{'b':1, 'a':2},'waitForResponse':3}",
     ",'messages':[],'options':{'b':1,'a':2}"},
};

TEST(request_read, takes_each_member_in_either_spelling)
{
    char input[MAX_JSON], stored[MAX_JSON];

    for (size_t i = 0; i < COUNT(good_rows); i++) {
        (void)snprintf(stored, sizeof(stored), MARKED "%s}",
                       good_rows[i].stored);
        check_stored(stored, json(input, good_rows[i].input));
    }
}

TEST(request_read, counts_members_that_nobody_knows)
{
    struct pdr__request request;
    char room[MAX_JSON];

    read_ok(&request, json(room, "{'message':'','x':1,'Wait_For_Response':1,"
                                 "'x':2,'thread_id':'t'}"));
    ASSERT_SIZE(3, request.unknown);
    pdr__request_dispose(&request);
    pdr__request_dispose(&request); /* a second time is fine */
}

TEST(request_read, keeps_roles_trimmed_and_in_lower_case)
{
    static const struct {
        const char *role, *kept;
    } rows[] = {
        {"' SYSTEM '", "system"}, {"'reviewer'", "reviewer"},
        {"null", "user"},         {"''", "user"},
        {"' \\t\\n '", "user"},   {"'\\u0041ssistant'", "assistant"},
        {"'a b'", "a b"},         {"'\xC3\x84\\ud800'", "\xC3\x84\xEF\xBF\xBD"},
    };
    static const char *const shapes[] = {
        "{'message':'hi','role':%s}",
        "{'messages':[{'role':%s,'contents':[{'$type':'text','text':'hi'}]}]}",
        "{'messages':[{'type':'message','role':%s,'contents':[{'type':'text',"
        "'text':'hi','additional_properties':{}}],'additional_properties':{}}"
        "]}",
        MARKED ",'messages':[{'role':%s,'contents':[{'$type':'text',"
               "'text':'hi'}]}]}",
    };

    COVERS("D-45");
    for (size_t i = 0; i < COUNT(rows) * COUNT(shapes); i++) {
        const char *kept = rows[i / COUNT(shapes)].kept;
        char text[MAX_JSON], room[MAX_JSON];
        struct pdr__request request;
        const pdr_value *message = NULL;

        (void)snprintf(text, sizeof(text), shapes[i % COUNT(shapes)],
                       rows[i / COUNT(shapes)].role);
        read_ok(&request, json(room, text));
        message = pdr_value_at(request.messages, 0);
        ASSERT(pdr_value_text_is(pdr_message_role(message, PDR_SHAPE_STATE),
                                 pdr_str_c(kept)));
        pdr__request_dispose(&request);
    }
}

TEST(request_read, makes_one_entry_of_what_both_languages_say)
{
    static const char *const requests[] = {
        "{'messages':[{'role':'user','contents':[{'$type':'text','text':'hi'}]}"
        "],'enableToolCalls':true,'correlationId':'c'}",
        "{'message': 'hi', 'enable_tool_calls': true, 'wait_for_response': "
        "true, 'role': 'user', 'request_response_format': 'text', "
        "'correlationId': 'c1', 'options': {}, 'created_at': "
        "'2026-02-03T08:15:00+00:00'}",
    };
    uint8_t prints[2][PDR_REQUEST_FINGERPRINT];
    pdr_value *entries[2] = {NULL, NULL};
    char room[MAX_JSON];

    COVERS("D-43");
    for (size_t i = 0; i < 2; i++) {
        struct pdr__request request;

        read_ok(&request, json(room, requests[i]));
        const pdr_entry_parts parts = {
            .kind = PDR_ENTRY_REQUEST,
            .correlation_id = pdr_str_c("c"),
            .created_at = 1,
            .messages = request.messages,
            .response_schema = request.schema,
            .response_type = pdr_str_c(request.is_json ? "json" : "text")};
        ASSERT_RC(PDR_OK, pdr_entry_new(&entries[i], &parts, NULL));
        ASSERT_RC(PDR_OK, pdr__request_fingerprint(prints[i], &request, NULL));
        pdr__request_dispose(&request);
    }
    ASSERT(pdr_value_equal(entries[0], entries[1]));
    ASSERT(memcmp(prints[0], prints[1], sizeof(prints[0])) == 0);
    pdr_value_free(entries[0]);
    pdr_value_free(entries[1]);
}

/* --- what is refused -------------------------------------------------------
 */

static const struct {
    const char *input, *path, *text; /* a part of the message */
} bad_rows[] = {
    {"", "", "empty"},
    {"{", "", "not JSON"},
    {"{'message':NaN}", "/message", "not JSON"},
    {"null", "", "expected an object, the request, found null"},
    {"7", "", "found a number"},
    {"[]", "", "found an array"},
    {"'hello'", "", "not JSON"},
    {"'[]'", "", "found an array"},
    {"'\\ud800'", "", "not JSON"},
    {"{}", "", "expected \"messages\" or \"message\", found neither"},
    {"{'correlationId':'c'}", "", "neither"},
    {"{'messages':null,'message':null}", "", "neither"},
    {"{'message':7}", "/message", "expected a string, found a number"},
    {"{'Message':{}}", "/message", "found an object"},
    {"{'message':'a','role':1}", "/role", "a string"},
    {"{'messages':{}}", "/messages", "an array"},
    {"{'messages':['a']}", "/messages/0", "an object, the message"},
    {"{'messages':[{},{'role':1}]}", "/messages/1/role", "a string"},
    {"{'messages':[{'contents':{}}]}", "/messages/0/contents", "array"},
    {"{'messages':[{'contents':[{},'a']}]}", "/messages/0/contents/1",
     "an object, the content"},
    {"{'messages':[{'type':'message','contents':['a']}]}",
     "/messages/0/contents/0", "an object, the content"},
    {"{'message':'','correlationId':1}", "/correlationId", "a string"},
    {"{'message':'','correlation_id':''}", "/correlation_id", "empty"},
    {"{'message':'','correlationId':'\\u0000'}", "/correlationId", "U+0"},
    {"{'message':'','correlationId':'\\udc00'}", "/correlationId", "half"},
    {"{'message':'','orchestration_id':[]}", "/orchestration_id", "string"},
    {"{'message':'','enableToolCalls':1}", "/enableToolCalls", "true or"},
    {"{'message':'','enable_tool_calls':null}", "/enable_tool_calls",
     "expected true or false, found null"},
    {"{'message':'','skip_empty':'yes'}", "/skip_empty", "true or false"},
    {"{'message':'','enableToolNames':'a'}", "/enableToolNames", "array"},
    {"{'message':'','enable_tool_names':['a',1]}", "/enable_tool_names/1",
     "the name of a tool"},
    {"{'message':'','options':[]}", "/options", "an object"},
    {"{'message':'','responseFormat':1}", "/responseFormat", "format"},
    {"{'message':'','response_format':'xml'}", "/response_format", "json"},
    {"{'message':'','responseFormat':{'$type':'xml'}}", "/responseFormat/$type",
     "json"},
    {"{'message':'','responseFormat':{'$type':'json','schema':true}}",
     "/responseFormat/schema", "a JSON Schema"},
    {"{'message':'','request_response_format':'xml'}",
     "/request_response_format", "json"},
    {"{'message':'','requestResponseFormat':1}", "/requestResponseFormat",
     "a string"},
    {"{'message':'','perdure':{'shape':'later'}}", "/perdure", "mark"},
    {"{'message':'','perdure':1}", "/perdure", "an object"},
};

TEST(request_read, refuses_what_it_cannot_understand_and_says_where)
{
    char room[MAX_JSON], text[MAX_JSON];
    struct pdr__request request;

    for (size_t i = 0; i < COUNT(bad_rows); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(
            PDR_EINVALID,
            pdr__request_read(&request, json(room, bad_rows[i].input), &err));
        ASSERT_STR("invalid_request", err.reason);
        ASSERT_STR(bad_rows[i].path, err.path);
        if (strstr(err.message, bad_rows[i].text) == NULL)
            fail_msg("%s: %s", bad_rows[i].input, err.message);
        ASSERT(request.messages == NULL);
        ASSERT_RC(
            PDR_EINVALID,
            pdr__request_read(&request, json(room, bad_rows[i].input), NULL));
    }
    for (int len = 1024; len <= 1025; len++) {
        (void)snprintf(text, sizeof(text),
                       "{'message':'','correlationId':'%0*d'}", len, 0);
        ASSERT_RC(len == 1024 ? PDR_OK : PDR_EINVALID,
                  pdr__request_read(&request, json(room, text), NULL));
        ASSERT_SIZE(len == 1024 ? 1024 : 0, request.correlation_id.len);
        pdr__request_dispose(&request);
    }
}

TEST(request_read, takes_only_what_fits_into_a_state_document)
{
    static const struct {
        const char *before, *after;
        int most; /* brackets between them */
    } rows[] = {
        {"{'messages':[{'contents':[{'$type':'functionResult','callId':'c',"
         "'result':",
         "}]}]}", 120},
        {"{'messages':[{'contents':[{'$type':'later','x':", "}]}]}", 119},
        {"{'message':'','responseFormat':{'a':", "}}", 123},
        {"{'message':'','options':{'a':", "}}", 123},
    };

    for (size_t i = 0; i < COUNT(rows) * 2; i++) {
        const int levels = rows[i / 2].most + (int)(i % 2);
        char text[MAX_JSON], room[MAX_JSON], open[160], close[160];
        struct pdr__request request;
        pdr_err err = PDR_ERR_INIT;

        memset(open, '[', sizeof(open));
        memset(close, ']', sizeof(close));
        (void)snprintf(text, sizeof(text), "%s%.*s%.*s%s", rows[i / 2].before,
                       levels, open, levels, close, rows[i / 2].after);
        ASSERT_RC(i % 2 == 0 ? PDR_OK : PDR_ELIMIT,
                  pdr__request_read(&request, json(room, text), &err));
        if (i % 2 == 1)
            ASSERT_STR("too_deep", err.reason);
        pdr__request_dispose(&request);
    }
}

/* --- fingerprints ----------------------------------------------------------
 */

TEST(request_fingerprint, is_that_of_what_is_asked_and_not_of_its_spelling)
{
#define ASKED                                                               \
    "{'messages':[{'role':'user','contents':[{'$type':'text','text':'hi'}," \
    "{'$type':'functionCall','callId':'c','name':'f','arguments':{'a':[1]," \
    "'b':2}}]}],'enableToolNames':['t'],'responseFormat':{'$type':'json',"  \
    "'schema':{'type':'object','properties':{'a':{},'b':{}}}}}"
    static const char *const same[] = {
        ASKED,
        /* other order, escapes, white space, times, names */
        "{ 'enable_tool_names' : ['\\u0074'],\n'response_format':{'properties':"
        "{'b':{},'\\u0061':{}},'type':'x','type':'object'},'created_at':"
        "'2026-02-03T08:15:00Z','correlation_id':'c','orchestrationId':'o',"
        "'options':{'x':1},'unknown':1,'messages':[{'contents':[{'text':"
        "'h\\u0069','$type':'text'},{'name':'f','arguments':{'b':2,'a':[1]},"
        "'callId':'c','$type':'functionCall','additionalProperties':{'x':1}}],"
        "'authorName':'A','createdAt':'2026-02-03T08:15:00Z','messageId':'m',"
        "'role':' USER','additionalProperties':{'x':1}}]}",
        /* the other language */
        "{'messages':[{'type':'message','role':'user','contents':[{'type':"
        "'text','text':'hi'},{'type':'function_call','call_id':'c','name':'f',"
        "'arguments':'{\\'a\\':[1],\\'b\\':2}'}]}],'enable_tool_names':['t'],"
        "'response_format':{'type':'object','properties':{'a':{},'b':{}}}}",
    };
    /* In the place of what, and what. */
    static const char *const others[][2] = {
        {"'hi'", "'ho'"},
        {"'user'", "'system'"},
        {"[1]", "[1,1]"},
        {"'a':[1],'b':2", "'a':[1],'b':3"},
        {"'b':2", "'c':2"},
        {"['t']", "['u']"},
        {"['t']", "[]"},
        {"['t']", "['t'],'enableToolCalls':false"},
        {"'schema':{", "'schema':{'x':1,"},
        {"'schema':", "'none':"},
        {"'responseFormat':", "'none':"},
        {"}]}],", "}]},{}],"},
        {"},{'$type':'f", "}]},{'contents':[{'$type':'f"},
    };
    uint8_t print[PDR_REQUEST_FINGERPRINT], other[PDR_REQUEST_FINGERPRINT];
    uint8_t seen[COUNT(others)][PDR_REQUEST_FINGERPRINT];
    char text[MAX_JSON], room[MAX_JSON];

    print_of(print, json(room, same[0]));
    for (size_t i = 1; i < COUNT(same); i++) {
        print_of(other, json(room, same[i]));
        if (memcmp(print, other, sizeof(print)) != 0)
            fail_msg("%s is another request", same[i]);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        const char *at = strstr(ASKED, others[i][0]);

        assert_non_null(at);
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - ASKED), ASKED,
                       others[i][1], at + strlen(others[i][0]));
        print_of(seen[i], json(room, text));
        if (memcmp(print, seen[i], sizeof(print)) == 0)
            fail_msg("%s is the same request", text);
        for (size_t k = 0; k < i; k++)
            ASSERT(memcmp(seen[k], seen[i], sizeof(print)) != 0);
    }
#undef ASKED
}

/* --- memory ----------------------------------------------------------------
 */

TEST_OOM(request, cleans_up_after_any_failed_allocation)
{
    static const char *const inputs[] = {
        "{'messages':[{'role':' A','contents':[{'$type':'text','text':"
        "'x'},{'$type':'later','\\u0061':'\\u0062','c':{'d':1}}]}],"
        "'correlationId':'\\u0063','created_at':'2026-02-03T08:15:00Z',"
        "'responseFormat':{'\\u0062':1,'a':2},'options':{'a':1}}",
        "{'message':'hi','role':'\\u0041'}",
    };
    char room[MAX_JSON];

    for (size_t i = 0; i < COUNT(inputs); i++) {
        uint8_t print[PDR_REQUEST_FINGERPRINT];
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        struct pdr__request request;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr__request_read(&request, json(room, inputs[i]), &err);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        if (rc == PDR_OK) {
            rc = pdr__request_write(&text, &request, &err);
            ASSERT(rc == PDR_OK || (rc == PDR_ENOMEM && text.len == 0));
            rc = pdr__request_fingerprint(print, &request, &err);
            ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        }
        pdr_buf_dispose(&text);
        pdr__request_dispose(&request);
    }
}
