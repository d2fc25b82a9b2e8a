/* What .NET does with a document: each rule once, with its place. */
#include "reader_cases.h"

#define DATE  "'2026-02-03T08:15:00+00:00'"
#define ENTRY "'correlationId':'c','createdAt':" DATE
#define CALL  "{'$type':'functionCall','callId':'1','name':'f',"

/* 62 arrays around what stands between. */
#define OPEN_10   "[[[[[[[[[["
#define OPEN      OPEN_10 OPEN_10 OPEN_10 OPEN_10 OPEN_10 OPEN_10 "[["
#define CLOSE_10  "]]]]]]]]]]"
#define CLOSE     CLOSE_10 CLOSE_10 CLOSE_10 CLOSE_10 CLOSE_10 CLOSE_10 "]]"
#define LEVELS_10 "/0/0/0/0/0/0/0/0/0/0"
#define LEVELS \
    LEVELS_10 LEVELS_10 LEVELS_10 LEVELS_10 LEVELS_10 LEVELS_10 "/0/0"

static const struct reader_case cases[] = {
    /* nothing to say */
    {'r', "", true, true, "null"},
    {'d', "", true, true, "null"},
    {'c', "", true, true, "{'$type':'text','text':''}"},
    {'c', "", true, true, "{'$type':'reasoning'}"},
    {'e', "", true, true,
     "{'\\u0024type':'response'," ENTRY ",'messages':[],'x':{'a':1,'a':2}}"},
    {'d', "", true, true,
     "{'conversationHistory':[],'expirationTimeUtc':"
     "'2026-02-03T08:15:00.1234567Z','$id':{'$x':1}}"},
    /* the text and the root */
    {'r', "error dotnet-not-json \n", false, false, ""},
    {'r', "error dotnet-not-json \n", false, false, "{'a':"},
    {'r', "error dotnet-not-json \n", false, false, "{'a':'\xff'}"},
    {'r', "error dotnet-not-object \n", false, false, "[]"},
    {'r',
     "error dotnet-version-missing \n"
     "error dotnet-member-missing \n",
     false, false, "{}"},
    {'r', "error dotnet-version-invalid /schemaVersion\n", false, false,
     "{'schemaVersion':1,'data':null}"},
    {'r', "error dotnet-version-invalid /schemaVersion\n", false, false,
     "{'schemaVersion':null,'data':null}"},
    {'r', "error dotnet-version-invalid /schemaVersion\n", false, false,
     "{'schemaVersion':'1.0.0.0.0','data':null}"},
    {'r', "error dotnet-version-invalid /schemaVersion\n", false, false,
     "{'schemaVersion':'1.-1','data':null}"},
    {'r', "error dotnet-version-unsupported /schemaVersion\n", false, false,
     "{'schemaVersion':'2.0.0','data':null}"},
    {'r', "info dotnet-version-respelled /schemaVersion\n", true, true,
     "{'schemaVersion':' +01. -0 .2','data':null}"},
    {'r', "info dotnet-version-respelled /schemaVersion\n", true, true,
     "{'schemaVersion':'1.0\\u0000','data':null}"},
    {'r', "warning dotnet-root-member /x\n", true, true,
     "{'schemaVersion':'1.0','data':null,'x':['\\ud800']}"},
    {'r', "warning dotnet-duplicate /data\n", true, true,
     "{'schemaVersion':'1.0','data':5,'data':null}"},
    {'d', "error dotnet-wrong-kind @\n", false, false, "[]"},
    {'d', "error dotnet-bare-token @/x\n", false, false,
     "{'conversationHistory':[],'x':NaN}"},
    {'d', "error dotnet-too-deep @/x" LEVELS "\n", false, false,
     "{'conversationHistory':[],'x':" OPEN "[]" CLOSE "}"},
    /* data */
    {'d', "error dotnet-null-list @\n", true, false, "{}"},
    {'d', "error dotnet-null-list @/conversationHistory\n", true, false,
     "{'conversationHistory':null}"},
    {'d', "error dotnet-wrong-kind @/conversationHistory\n", false, false,
     "{'conversationHistory':{}}"},
    {'d', "warning dotnet-deadline-offset @/expirationTimeUtc\n", true, true,
     "{'conversationHistory':[],'expirationTimeUtc':" DATE "}"},
    {'d', "warning dotnet-deadline-local @/expirationTimeUtc\n", true, true,
     "{'conversationHistory':[],'expirationTimeUtc':'2026-02-03'}"},
    {'d',
     "warning dotnet-fraction @/expirationTimeUtc\n"
     "info dotnet-date-respelled @/expirationTimeUtc\n",
     true, true,
     "{'conversationHistory':[],"
     "'expirationTimeUtc':'2026-02-03T08:15:00.12345678Z'}"},
    {'d', "error dotnet-bad-date @/expirationTimeUtc\n", false, false,
     "{'conversationHistory':[],'expirationTimeUtc':'tomorrow'}"},
    {'d', "error dotnet-surrogate-value @/x\n", true, false,
     "{'conversationHistory':[],'x':'\\ud800'}"},
    {'d', "error dotnet-surrogate-value @/x/\xED\xA0\x80\n", true, false,
     "{'conversationHistory':[],'x':{'\\ud800':1}}"},
    {'d', "error dotnet-surrogate-typed @/\xED\xA0\x80\n", false, false,
     "{'conversationHistory':[],'\\ud800':1}"},
    /* entries */
    {'e', "error dotnet-null-item @\n", true, false, "null"},
    {'e', "error dotnet-wrong-kind @\n", false, false, "'x'"},
    {'e', "error dotnet-type-missing @\n", false, false,
     "{" ENTRY ",'messages':[]}"},
    {'e', "error dotnet-type-not-first @/$type\n", false, false,
     "{'correlationId':'c','$type':'request','createdAt':" DATE
     ",'messages':[]}"},
    {'e',
     "warning dotnet-duplicate @/$type\n"
     "error dotnet-type-twice @/$type\n",
     false, false,
     "{'$type':'request'," ENTRY ",'messages':[],'$type':'request'}"},
    {'e', "error dotnet-type-unknown @/$type\n", false, false,
     "{'$type':'note'," ENTRY "}"},
    {'e', "error dotnet-dollar-member @/$id\n", false, false,
     "{'$type':'request'," ENTRY ",'messages':[],'$id':1}"},
    {'e', "error dotnet-member-missing @\n", false, false,
     "{'$type':'request','createdAt':" DATE ",'messages':[]}"},
    {'e', "error dotnet-bad-date @/createdAt\n", false, false,
     "{'$type':'request','correlationId':null,'createdAt':null,'messages':[]}"},
    {'e', "info dotnet-date-respelled @/createdAt\n", true, true,
     "{'$type':'request','correlationId':'c',"
     "'createdAt':'2026-02-03T08:15Z','messages':[]}"},
    {'e', "warning dotnet-date-local @/createdAt\n", true, true,
     "{'$type':'request','correlationId':'c',"
     "'createdAt':'2026-02-03T08:15:00.5','messages':[]}"},
    {'e',
     "warning dotnet-duplicate @/createdAt\n"
     "error dotnet-bad-date @/createdAt\n",
     false, false,
     "{'$type':'request','correlationId':'c','createdAt':'x','createdAt':" DATE
     ",'messages':[]}"},
    {'e', "error dotnet-wrong-kind @/orchestrationId\n", false, false,
     "{'$type':'request'," ENTRY ",'messages':[],'orchestrationId':3}"},
    {'e', "info dotnet-null-dropped @/responseSchema\n", true, true,
     "{'$type':'request'," ENTRY ",'messages':[],'responseSchema':null,"
     "'orchestrationId':null,'responseType':null}"},
    {'e', "error dotnet-bad-count @/usage/inputTokenCount\n", false, false,
     "{'$type':'response'," ENTRY
     ",'messages':[],'usage':{'inputTokenCount':12.0}}"},
    {'e', "error dotnet-bad-count @/usage/inputTokenCount\n", false, false,
     "{'$type':'response'," ENTRY
     ",'messages':[],'usage':{'inputTokenCount':1E2}}"},
    {'e', "error dotnet-bad-count @/usage/totalTokenCount\n", false, false,
     "{'$type':'response'," ENTRY
     ",'messages':[],'usage':{'totalTokenCount':9223372036854775808}}"},
    {'e', "info dotnet-count-respelled @/usage/outputTokenCount\n", true, true,
     "{'$type':'response'," ENTRY
     ",'messages':[],'usage':{'outputTokenCount':-0}}"},
    /* messages */
    {'m', "error dotnet-null-item @\n", true, false, "null"},
    {'m', "error dotnet-wrong-kind @\n", false, false, "[]"},
    {'m', "error dotnet-member-missing @\n", false, false, "{'contents':[]}"},
    {'m', "error dotnet-null-member @/role\n", true, false,
     "{'contents':[],'role':null}"},
    {'m', "error dotnet-blank-member @/role\n", true, false,
     "{'contents':[],'role':' \\t\\u00a0\\u3000'}"},
    {'m', "error dotnet-null-list @\n", true, false, "{'role':'user'}"},
    {'m', "error dotnet-surrogate-typed @/authorName\n", false, false,
     "{'contents':[],'role':'user','authorName':'\\udc00'}"},
    /* contents */
    {'c', "error dotnet-text-null @/text\n", true, true,
     "{'$type':'text','text':null}"},
    {'c', "error dotnet-wrong-kind @/text\n", false, false,
     "{'$type':'text','text':5}"},
    {'c', "error dotnet-data-uri @/uri\n", true, false,
     "{'$type':'data','uri':'http://x/y'}"},
    {'c', "error dotnet-data-uri @/uri\n", true, false,
     "{'$type':'data','uri':'data:text/plain;base64,SGl='}"},
    {'c', "error dotnet-data-uri @/uri\n", true, false,
     "{'$type':'data','uri':'data:bad,x'}"},
    {'c', "error dotnet-data-uri @/uri\n", true, false,
     "{'$type':'data','uri':'data:text/plain'}"},
    {'c', "", true, true, "{'$type':'data','uri':'DATA: text/plain ,x'}"},
    {'c', "error dotnet-media-type @/mediaType\n", true, false,
     "{'$type':'data','uri':'data:,','mediaType':'bad'}"},
    {'c', "error dotnet-bad-uri @/uri\n", false, false,
     "{'$type':'uri','uri':'http://','mediaType':null}"},
    {'c', "error dotnet-null-member @/uri\n", true, false,
     "{'$type':'uri','uri':null,'mediaType':'a/b'}"},
    {'c', "error dotnet-wrong-kind @/details\n", false, false,
     "{'$type':'error','details':{}}"},
    {'c', "error dotnet-null-member @/arguments\n", true, false,
     CALL "'arguments':null}"},
    {'c', "error dotnet-wrong-kind @/arguments\n", false, false,
     CALL "'arguments':[1]}"},
    {'c', "error dotnet-surrogate-typed @/arguments/\xED\xA0\x80\n", false,
     false, CALL "'arguments':{'\\ud800':1}}"},
    {'c', "error dotnet-surrogate-value @/arguments/a\n", true, false,
     CALL "'arguments':{'a':'\\ud800'}}"},
    {'c', "warning dotnet-duplicate @/arguments/a\n", true, true,
     CALL "'arguments':{'a':1,'a':{'b':1,'b':2}}}"},
    {'c', "info dotnet-null-dropped @/result\n", true, true,
     "{'$type':'functionResult','callId':'1','result':null}"},
    {'c', "error dotnet-blank-member @/fileId\n", true, false,
     "{'$type':'hostedFile','fileId':''}"},
    {'c', "error dotnet-null-member @\n", true, false, "{'$type':'usage'}"},
    {'c', "error dotnet-wrong-kind @/usage\n", false, false,
     "{'$type':'usage','usage':5}"},
    {'c', "error dotnet-null-member @/content\n", true, false,
     "{'$type':'unknown','content':null}"},
    {'c', "error dotnet-unknown-content @/content\n", true, false,
     "{'$type':'unknown','content':'s'}"},
};

TEST(dotnet_check, tells_each_rule_with_its_place)
{
    check_cases(cases, PDR_COUNT(cases), PDR_READER_DOTNET);
}

/* --- what is wrapped as unknown ------------------------------------------ */

static void check_wrapped(const char *place, const char *item)
{
    pdr_buf told = PDR_BUF_INIT(1u << 16);
    char text[1000], findings[200];
    struct reader_case c = {'c', "", true, place == NULL, text};

    (void)snprintf(text, sizeof(text), "{'$type':'unknown','content':%s}",
                   item);
    if (place != NULL) {
        (void)snprintf(findings, sizeof(findings),
                       "error dotnet-unknown-content @/content%s\n", place);
        c.findings = findings;
    }
    check_case(&c, PDR_READER_DOTNET, &told);
    pdr_buf_dispose(&told);
}

TEST(dotnet_unknown, runs_with_each_type_that_is_complete)
{
    static const char *const items[] = {
        "{}",
        "{'type':'text_reasoning','text':'r','annotations':[{'a':1},null]}",
        "{'$type':'text'}",
        "{'$type':'reasoning','text':null,'protectedData':'x'}",
        "{'$type':'data','uri':'data:,x','name':'n'}",
        "{'$type':'uri','uri':'rel','mediaType':'a/b'}",
        "{'$type':'error','message':'m'}",
        "{'$type':'functionCall','callId':'','name':'','arguments':{'a':[]},"
        "'informationalOnly':true}",
        "{'$type':'functionResult','callId':'1','result':[1]}",
        "{'$type':'hostedFile','fileId':'f','sizeInBytes':3,"
        "'createdAt':'2026-02-03'}",
        "{'$type':'hostedVectorStore','vectorStoreId':'v'}",
        "{'$type':'usage','details':{'inputTokenCount':1,"
        "'additionalCounts':{'x':2}}}",
        "{'$type':'toolApprovalRequest','requestId':'1','toolCall':"
        "{'$type':'functionCall','callId':'1','name':'f'}}",
        "{'$type':'toolApprovalResponse','requestId':'1','approved':true,"
        "'toolCall':{}}",
        "{'$type':'mcpServerToolCall','callId':'c','name':'n'}",
        "{'$type':'mcpServerToolResult','callId':'c','outputs':"
        "[{'$type':'text','text':'x'},null]}",
        "{'$type':'codeInterpreterToolCall','callId':'c','inputs':[]}",
        "{'$type':'codeInterpreterToolResult','callId':'c'}",
        "{'$type':'imageGenerationToolCall','callId':'c'}",
        "{'$type':'imageGenerationToolResult','callId':'c'}",
        "{'$type':'webSearchToolCall','callId':'c','queries':['q']}",
        "{'$type':'webSearchToolResult','callId':'c'}",
        "{'$type':'toolCall','callId':'c'}",
        "{'$type':'toolResult','callId':'c'}",
    };

    for (size_t i = 0; i < PDR_COUNT(items); i++)
        check_wrapped(NULL, items[i]);
}

TEST(dotnet_unknown, says_where_an_item_is_wrong)
{
    static const char *const items[][2] = {
        {"", "{'$type':'nosuch'}"},
        {"", "{'$type':5}"},
        {"", "{'x':1,'$type':'text'}"},
        {"", "{'$type':'text','$id':1}"},
        {"", "{'$id':1}"},
        {"", "{'$type':'inputRequest','requestId':'1'}"},
        {"", "{'$type':'functionApprovalRequest','id':'1'}"},
        {"", "{'$type':'mcpServerToolCall','callId':'c','toolName':'t'}"},
        {"/callId", "{'$type':'toolCall','callId':null}"},
        {"/text", "{'$type':'text','text':5}"},
        {"/uri", "{'$type':'data','uri':'http://x'}"},
        {"/uri", "{'$type':'uri','uri':'http://','mediaType':'a/b'}"},
        {"/mediaType", "{'$type':'uri','uri':'a','mediaType':'b'}"},
        {"/fileId", "{'$type':'hostedFile','fileId':' '}"},
        {"/sizeInBytes",
         "{'$type':'hostedFile','fileId':'a','sizeInBytes':1.0}"},
        {"/sizeInBytes",
         "{'$type':'hostedFile','fileId':'a','sizeInBytes':1e9}"},
        {"/createdAt", "{'$type':'hostedFile','fileId':'a','createdAt':'x'}"},
        {"/arguments", "{'$type':'functionCall','callId':'1','name':'f',"
                       "'arguments':[]}"},
        {"/toolCall", "{'$type':'toolApprovalRequest','requestId':'1',"
                      "'toolCall':{'$type':'x'}}"},
        {"/details/inputTokenCount",
         "{'$type':'usage','details':{'inputTokenCount':1.5}}"},
        {"/details/additionalCounts/x",
         "{'$type':'usage','details':{'additionalCounts':{'x':null}}}"},
        {"/outputs/1", "{'$type':'mcpServerToolResult','callId':'c',"
                       "'outputs':[{},5]}"},
        {"/queries/0", "{'$type':'webSearchToolCall','callId':'c',"
                       "'queries':[1]}"},
        {"/annotations/0", "{'annotations':['x']}"},
        {"/annotations", "{'annotations':5}"},
        {"/additionalProperties", "{'additionalProperties':[]}"},
    };

    for (size_t i = 0; i < PDR_COUNT(items); i++)
        check_wrapped(items[i][0], items[i][1]);
}

/* --- texts --------------------------------------------------------------- */

TEST(dotnet_uri, fails_only_where_a_host_is_needed)
{
    static const char *const good[] = {
        "",          "rel/path",       "a:b",           "http:x",
        "http:/x",   "https://e.org",  "https://a@e/p", "http://[::1]:80/",
        "http://h:", "ftp://\xC3\xA9", "foo://",        "ws://h:65535?q",
        "httpx://",  "file://",        "data:,x",       "ab:c d"};
    static const char *const bad[] = {
        "http://",       "HTTPS:///x", "http://a@",      "http://a b/",
        "http://h:x/",   "http://[]",  "http://h:65536", "wss://?x",
        "http://[::1]x", "http://[::1"};

    for (size_t i = 0; i < PDR_COUNT(good); i++) {
        if (!pdr__dotnet_uri(pdr_str_c(good[i])))
            fail_msg("%s is no URI", good[i]);
    }
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        if (pdr__dotnet_uri(pdr_str_c(bad[i])))
            fail_msg("%s is a URI", bad[i]);
    }
}

TEST(dotnet_media_type, is_two_tokens_with_parameters)
{
    static const char *const good[] = {"a/b",
                                       " text / plain ",
                                       "image/*",
                                       "text/plain;charset=utf-8",
                                       "a/b; c = \"d;\\\"e\" ; f=g",
                                       "a/b;",
                                       "a/b;c"};
    static const char *const bad[] = {"",       "a",      "/b",        "a/",
                                      "a/b c",  "a/b;c=", "a/b;c=\"d", "a b/c",
                                      "a/b;=c", "a/b/c",  "a/b;c=d e"};

    for (size_t i = 0; i < PDR_COUNT(good); i++) {
        if (!pdr__dotnet_media_type(pdr_str_c(good[i])))
            fail_msg("%s is no media type", good[i]);
    }
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        if (pdr__dotnet_media_type(pdr_str_c(bad[i])))
            fail_msg("%s is a media type", bad[i]);
    }
}

TEST(dotnet_date, is_strict)
{
    static const char *const bad[] = {
        "",
        "2026-02-03T",
        "2026-02-03T08:15:0",
        "2026-02-03T08:15:00+1",
        "2026-02-03T08:15:00+24:00",
        "2026-02-03T08:15:00+05:60",
        "2026-02-03T08:15:00+05:3",
        "2026-02-03T08:15:00ZZ",
        "2026-13-03",
        "2026-00-03",
        "2026-02-03T24:00",
    };

    ASSERT(pdr__dotnet_date(pdr_str_c("2026-02-03T08:15:00.")));
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        if (pdr__dotnet_date(pdr_str_c(bad[i])))
            fail_msg("%s is a date", bad[i]);
    }
}

/* --- levels -------------------------------------------------------------- */

/* `levels` arrays in one another as a member of data, which has two around. */
static void check_levels(size_t levels, bool fits)
{
    pdr_buf text = PDR_BUF_INIT(1u << 16), found = PDR_BUF_INIT(1u << 16);
    pdr_reader_verdict verdict = {false, false};

    ASSERT_RC(PDR_OK,
              pdr_buf_append(&text,
                             pdr_str_c("{\"schemaVersion\":\"1.0\",\"data\":"
                                       "{\"conversationHistory\":[],\"x\":"),
                             NULL));
    for (size_t i = 0; i < 2 * levels; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(
                              &text, pdr_str_c(i < levels ? "[" : "]"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("}}"), NULL));
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_buf_str(&text),
                                             PDR_READER_DOTNET, NULL,
                                             note_finding, &found));
    ASSERT(verdict.loads == fits && verdict.runs == fits);
    if (!fits)
        ASSERT(memcmp(found.ptr, "error dotnet-too-deep /", 23) == 0);
    pdr_buf_dispose(&found);
    pdr_buf_dispose(&text);
}

TEST(dotnet_check, takes_sixty_four_levels)
{
    check_levels(PDR_DOTNET_DEPTH - 2, true);
    check_levels(PDR_DOTNET_DEPTH - 1, false);
    check_levels(1000, false);
}

TEST(dotnet_check, tells_of_a_wrapped_item_that_is_too_deep_once)
{
    pdr_buf text = PDR_BUF_INIT(1u << 16), found = PDR_BUF_INIT(1u << 16);
    struct reader_case c = {'c', "", false, false, NULL};
    pdr_reader_verdict verdict = {true, true};
    char *document = NULL;

    for (int i = 0; i < 60; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&text, pdr_str_c("{'toolCall':"), NULL));
    for (int i = 0; i < 60; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&text, pdr_str_c(i == 0 ? "1}" : "}"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
    char item[2000];
    (void)snprintf(item, sizeof(item), "{'$type':'unknown','content':%s}",
                   text.ptr);
    c.text = item;
    document = case_text(&c);
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_str_c(document),
                                             PDR_READER_DOTNET, NULL,
                                             note_finding, &found));
    ASSERT(!verdict.loads && !verdict.runs);
    ASSERT(memcmp(found.ptr, "error dotnet-too-deep /", 23) == 0);
    ASSERT(memchr(found.ptr, '\n', found.len) == found.ptr + found.len - 1);
    free(document);
    pdr_buf_dispose(&found);
    pdr_buf_dispose(&text);
}

/* --- hostile input ------------------------------------------------------- */

#define EVERYTHING                                                             \
    "{'schemaVersion':' 1.0','x':1e400,'data':{'conversationHistory':[null,5," \
    "{'a':1,'$type':'request','correlationId':null,'createdAt':'x',"           \
    "'messages':[{'role':'\\ud800','contents':[{'$type':'unknown','content':"  \
    "{'$type':'usage','details':{'inputTokenCount':1.5}}},{'$type':'data',"    \
    "'uri':'data:a/b;base64,SGk=','mediaType':'b'},{'$type':'uri','uri':"      \
    "'http://h:1/'}]}]}],'expirationTimeUtc':'2026-02-03T08:15:00+01:00'}}"

TEST(dotnet_check, answers_whatever_the_bytes_are)
{
    check_cuts(EVERYTHING, PDR_READER_DOTNET);
    check_brackets(1u << 20, PDR_READER_DOTNET);
    check_hostile(pdr_str_n(NULL, 0), PDR_READER_DOTNET);
}

TEST(dotnet_check, ends_when_the_callback_says_so)
{
    check_stop(EVERYTHING, PDR_READER_DOTNET);
}

TEST_OOM(dotnet_check, gives_memory_back)
{
    check_memory(11, EVERYTHING, PDR_READER_DOTNET);
}
