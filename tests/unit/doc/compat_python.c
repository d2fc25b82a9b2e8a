/* What Python does with a document: each rule once, with its place. */
#include "reader_cases.h"

#define DATE  "'2026-02-03T08:15:00+00:00'"
#define ENTRY "'correlationId':'c','createdAt':" DATE
#define KEPT  "{'conversationHistory':[],'extensionData':"

/* 974 levels take a text of their own: see below. */
static const struct reader_case cases[] = {
    /* nothing to say */
    {'d', "", true, true, "{}"},
    {'r', "", true, true, "{'schemaVersion':'1.9'}"},
    {'d', "", true, true,
     KEPT "{'a':[1.5,100.0,1e+16,1e-05,-7,true,null,'\\ud800']}}"},
    {'c', "", true, true,
     "{'$type':'functionCall','callId':'1','name':'f','arguments':'[1]'}"},
    {'c', "", true, true, "{'$type':'text','text':5}"},
    {'e', "", true, true,
     "{'messages':[],'$type':'response'," ENTRY
     ",'usage':{'inputTokenCount':1,'extensionData':[]}}"},
    /* the text and the root */
    {'r', "error python-starts-anew \n", false, true, ""},
    {'r', "error python-starts-anew \n", false, true, "[]"},
    {'r', "error python-starts-anew \n", false, true, "''"},
    {'r', "error python-not-json \n", false, false, " "},
    {'r', "error python-not-json \n", false, false, "{'a':1,}"},
    {'r', "error python-not-object \n", false, false, "null"},
    {'r', "error python-not-object \n", false, false, "'ab'"},
    {'r', "error python-not-object \n", false, false, "[1]"},
    {'r', "error python-not-object \n", false, false, "['abc']"},
    {'r', "error python-not-object \n", false, false, "[[[],1]]"},
    {'r', "error python-not-object \n", false, false, "[{'a':1}]"},
    {'r', "error python-not-object \n", false, false, "[{'a':1,'b':2,'c':3}]"},
    {'r', "error python-not-object \n", false, false,
     "[['schemaVersion','1.0'],['data',null]]"},
    {'r', "error python-pairs \n", false, true,
     "[['schemaVersion','1.0'],['data',{}],[1,2],'\\u00e9b']"},
    {'r', "error python-not-object \n", false, false,
     "[{'a':1,'__durabletask_autoobject__':2}]"},
    {'r', "error python-pairs \n", false, true,
     "[{'schemaVersion':1,'x':2,'schemaVersion':3,'x':4}]"},
    {'r', "error python-resets \n", true, true, "{}"},
    {'r', "error python-resets /schemaVersion\n", true, true,
     "{'schemaVersion':null,'data':5,'x':[1.10]}"},
    {'r', "warning python-version-ignored /schemaVersion\n", true, true,
     "{'schemaVersion':'2.0.0','data':{}}"},
    {'r',
     "warning python-version-ignored /schemaVersion\n"
     "info python-number-respelled /schemaVersion\n",
     true, true, "{'schemaVersion':1.10}"},
    {'r', "warning python-member-dropped /x\n", true, true,
     "{'schemaVersion':'1.0','x':{'a':1.10,'a':2}}"},
    {'r', "warning python-duplicate /data\n", true, true,
     "{'schemaVersion':'1.0','data':null,'data':{}}"},
    /* data */
    {'d', "error python-data-kind @\n", false, false, "null"},
    {'d', "error python-data-kind @\n", false, false, "[]"},
    {'d', "error python-list-kind @/conversationHistory\n", false, false,
     "{'conversationHistory':null}"},
    {'d', "error python-list-kind @/conversationHistory\n", false, false,
     "{'conversationHistory':1}"},
    {'d', "warning python-list-emptied @/conversationHistory\n", true, true,
     "{'conversationHistory':{'a':1}}"},
    {'d', "warning python-list-emptied @/conversationHistory\n", true, true,
     "{'conversationHistory':'x'}"},
    {'d', "warning python-deadline-dropped @/expirationTimeUtc\n", true, true,
     "{'expirationTimeUtc':'2026-02-03T08:15:00Z'}"},
    {'d', "info python-null-dropped @/expirationTimeUtc\n", true, true,
     "{'expirationTimeUtc':null}"},
    {'d', "info python-number-respelled @/extensionData\n", true, true,
     KEPT "1.10}"},
    {'d', "info python-number-respelled @/extensionData\n", true, true,
     KEPT "-0}"},
    {'d', "warning python-number-rounded @/extensionData\n", true, true,
     KEPT "9007199254740993.0}"},
    {'d', "error python-number-infinite @/extensionData\n", true, true,
     KEPT "1e400}"},
    {'d', "info python-bare-token @/extensionData\n", true, true,
     KEPT "-Infinity}"},
    {'d',
     "warning python-marker @/extensionData/0/__durabletask_autoobject__\n",
     true, true, KEPT "[{'__durabletask_autoobject__':true}]}"},
    {'d', "warning python-duplicate @/extensionData/a\n", true, true,
     KEPT "{'a':1.10,'a':2}}"},
    /* entries */
    {'e', "warning python-item-dropped @\n", true, true, "null"},
    {'e', "warning python-item-dropped @\n", true, true, "[1.10]"},
    {'e', "error python-entry-type @\n", false, false, "{}"},
    {'e', "error python-entry-type @\n", false, false,
     "{'$type':'note','json_type':'request'," ENTRY "}"},
    {'e', "error python-entry-type @\n", false, false,
     "{'$type':['request']," ENTRY "}"},
    {'e',
     "info python-json-type @/$type\n"
     "info python-json-type @/json_type\n",
     true, true, "{'$type':0.0,'json_type':'request'," ENTRY ",'messages':[]}"},
    {'e', "info python-json-type @/json_type\n", true, true,
     "{'json_type':'response'," ENTRY ",'messages':[]}"},
    {'e', "warning python-member-dropped @/json_type\n", true, true,
     "{'$type':'request','json_type':'response'," ENTRY ",'messages':[]}"},
    {'e', "warning python-date-missing @\n", true, true,
     "{'$type':'request','correlationId':5,'messages':[]}"},
    {'e', "warning python-date-missing @/createdAt\n", true, true,
     "{'$type':'request','createdAt':null,'messages':[]}"},
    {'e', "warning python-date-missing @/createdAt\n", true, true,
     "{'$type':'request','createdAt':1.5,'messages':[]}"},
    {'e', "warning python-date-guessed @/createdAt\n", true, true,
     "{'$type':'request','createdAt':'yesterday','messages':[]}"},
    {'e', "warning python-date-guessed @/createdAt\n", true, true,
     "{'$type':'request','createdAt':'2026-02-03T08:15:60Z','messages':[]}"},
    {'e', "warning python-date-guessed @/createdAt\n", true, true,
     "{'$type':'request','createdAt':'202602030815','messages':[]}"},
    {'e', "error python-date-digits @/createdAt\n", false, false,
     "{'$type':'request','createdAt':'1767225600000','messages':[]}"},
    {'e', "error python-date-digits @/createdAt\n", false, false,
     "{'$type':'request','createdAt':'-1767225600000.25','messages':[]}"},
    {'e', "warning python-date-guessed @/createdAt\n", true, true,
     "{'$type':'request','createdAt':'1767225600000ms','messages':[]}"},
    {'e', "warning python-date-guessed @/createdAt\n", true, true,
     "{'$type':'request','createdAt':'2026-02-03T08:15:00+2x:00',"
     "'messages':[]}"},
    {'e', "error python-date-offset @/createdAt\n", true, false,
     "{'$type':'request','createdAt':'2026-02-03 08:15 +23:60',"
     "'messages':[]}"},
    {'e', "error python-date-offset @/createdAt\n", true, false,
     "{'$type':'request','createdAt':'2026-02-03T08:15:00+24:00',"
     "'messages':[]}"},
    {'e', "error python-date-offset @/createdAt\n", true, false,
     "{'$type':'request','createdAt':'2026-02-03T08:15:00-2400',"
     "'messages':[]}"},
    {'e',
     "warning python-date-fraction @/createdAt\n"
     "info python-date-respelled @/createdAt\n",
     true, true,
     "{'$type':'request','createdAt':'2026-02-03T08:15:00.1234567Z',"
     "'messages':[]}"},
    {'e', "info python-date-respelled @/createdAt\n", true, true,
     "{'$type':'request','createdAt':'2026-02-03T08:15:00.1234560Z',"
     "'messages':[]}"},
    {'e',
     "info python-null-dropped @/orchestrationId\n"
     "info python-null-dropped @/responseSchema\n",
     true, true,
     "{'$type':'request'," ENTRY ",'messages':[],'orchestrationId':null,"
     "'responseSchema':null}"},
    {'e', "warning python-usage-dropped @/usage\n", true, true,
     "{'$type':'response'," ENTRY ",'messages':[],'usage':{}}"},
    {'e', "warning python-usage-client @/usage/extensionData\n", true, true,
     "{'$type':'response'," ENTRY
     ",'messages':[],'usage':{'extensionData':'x'}}"},
    {'e', "warning python-member-dropped @/usage/cached\n", true, true,
     "{'$type':'response'," ENTRY ",'messages':[],'usage':{'cached':1}}"},
    /* messages */
    {'m', "warning python-text-made @\n", true, true, "{}"},
    {'m', "warning python-member-dropped @/createdAt\n", true, true,
     "{'role':null,'createdAt':''}"},
    {'m', "warning python-date-guessed @/createdAt\n", true, true,
     "{'role':'user','createdAt':{'a':1}}"},
    {'m', "warning python-member-dropped @/extensionData\n", true, true,
     "{'role':'user','extensionData':[['a',1],'bc']}"},
    {'m',
     "error python-extension-kind @/extensionData\n"
     "warning python-member-dropped @/extensionData\n",
     true, false, "{'role':'user','extensionData':false}"},
    {'m',
     "error python-extension-kind @/extensionData\n"
     "warning python-member-dropped @/extensionData\n",
     true, false, "{'role':'user','extensionData':['abc']}"},
    {'m', "error python-list-kind @/contents\n", false, false,
     "{'role':'user','contents':false}"},
    /* contents */
    {'c', "warning python-item-dropped @\n", true, true, "'x'"},
    {'c',
     "error python-content-emptied @\n"
     "warning python-member-dropped @/frames\n",
     true, false, "{'$type':'hologram','frames':12}"},
    {'c', "warning python-content-retyped @\n", true, true,
     "{'$type':'hologram','content':{'a':1}}"},
    {'c', "error python-unknown-empty @\n", true, false, "{'$type':'unknown'}"},
    {'c', "error python-unknown-empty @/content\n", true, false,
     "{'$type':'unknown','content':''}"},
    {'c',
     "error python-unknown-empty @/content\n"
     "warning python-marker @/content/__durabletask_autoobject__\n",
     true, false,
     "{'$type':'unknown','content':{'__durabletask_autoobject__':1}}"},
    {'c', "error python-bad-uri @\n", true, false, "{'$type':'data'}"},
    {'c', "error python-bad-uri @/uri\n", true, false,
     "{'$type':'data','uri':'rel/path'}"},
    {'c', "error python-bad-uri @/uri\n", true, false,
     "{'$type':'data','uri':'data:x'}"},
    {'c', "error python-bad-uri @/uri\n", true, false,
     "{'$type':'data','uri':'data:text/plain;base64;a=b,x'}"},
    {'c', "error python-bad-uri @/uri\n", true, false,
     "{'$type':'data','uri':'data:;x,y'}"},
    {'c', "", true, true, "{'$type':'data','uri':'data:;;a=b;base64,y;z'}"},
    {'c',
     "warning python-text-made @/uri\n"
     "error python-bad-uri @/uri\n",
     true, false, "{'$type':'uri','uri':[5,{}],'mediaType':''}"},
    {'c', "warning python-text-made @/uri\n", true, true,
     "{'$type':'uri','uri':[[':']],'mediaType':''}"},
    {'c', "warning python-text-made @/uri\n", true, true,
     "{'$type':'uri','uri':{'a':1},'mediaType':''}"},
    {'c', "warning python-text-made @/mediaType\n", true, true,
     "{'$type':'uri','uri':'a:b','mediaType':null}"},
    {'c', "warning python-text-made @\n", true, true, "{'$type':'hostedFile'}"},
    {'c', "warning python-usage-dropped @\n", true, true, "{'$type':'usage'}"},
    {'c', "warning python-usage-dropped @/usage\n", true, true,
     "{'$type':'usage','usage':5}"},
    {'c', "error python-extension-kind @/usage/extensionData\n", true, false,
     "{'$type':'usage','usage':{'extensionData':'x'}}"},
};

/* Document with `count` times `c` in extensionData, `close` as often. */
static void check_long(const char *findings, size_t count, char c, char close)
{
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    size_t room = 2 * count + 200;
    char *text = malloc(room), *p = text;
    pdr_reader_verdict verdict = {false, false};

    ASSERT(text != NULL);
    p += snprintf(p, room,
                  "{\"schemaVersion\":\"1.0\",\"data\":"
                  "{\"extensionData\":");
    memset(p, c, count);
    p += count;
    memset(p, close, close != '\0' ? count : 0);
    p += close != '\0' ? count : 0;
    memcpy(p, "}}", 2);
    ASSERT_RC(PDR_OK, pdr_state_check_reader(
                          &verdict, pdr_str_n(text, (size_t)(p + 2 - text)),
                          PDR_READER_PYTHON, NULL, note_finding, &found));
    ASSERT_BYTES(pdr_str_c(findings),
                 pdr_str_n(found.ptr, strlen(findings) < found.len
                                          ? strlen(findings)
                                          : found.len));
    ASSERT(verdict.loads == (findings[0] == '\0'));
    ASSERT(verdict.runs == verdict.loads);
    pdr_buf_dispose(&found);
    free(text);
}

TEST(python_check, knows_the_borders_of_numbers_and_levels)
{
    check_long("", 4300, '9', '\0');
    check_long("error python-long-integer /data/extensionData\n", 4301, '9',
               '\0');
    check_long("", 973, '[', ']');
    check_long("error python-too-deep /data/extensionData/0", 974, '[', ']');
    check_long("error python-too-deep \n", 5000, '[', ']');
}

TEST(python_check, tells_each_rule_with_its_place)
{
    static struct reader_case all[PDR_COUNT(cases) + 2];
    static char digits[4400], levels[2200];

    memcpy(all, cases, sizeof(cases));
    memset(digits, '9', 4301);
    memcpy(digits + 4301, "}", 2);
    memmove(digits + strlen(KEPT), digits, strlen(digits) + 1);
    memcpy(digits, KEPT, strlen(KEPT));
    all[PDR_COUNT(cases)] =
        (struct reader_case){'d', "error python-long-integer @/extensionData\n",
                             false, false, digits};
    memset(levels, '[', 1050);
    memset(levels + 1050, ']', 1050);
    all[PDR_COUNT(cases) + 1] = (struct reader_case){
        'r', "error python-too-deep \n", false, false, levels};
    check_cases(all, PDR_COUNT(all), PDR_READER_PYTHON);
}

#define EVERYTHING                                                          \
    "{'schemaVersion':2.0,'x':1e400,'data':{'conversationHistory':[null,5," \
    "{'a':1,'json_type':'request','correlationId':null,'createdAt':'x',"    \
    "'messages':[{'extensionData':['ab'],'contents':[{'$type':'unknown',"   \
    "'content':{'__durabletask_autoobject__':1.10}},{'$type':'data','uri':" \
    "'data:a;b=c,SGk='},{'$type':'uri','uri':{'a':1}}]}]},{'$type':"        \
    "'response','createdAt':'2026-02-03T08:15:00+01:00','usage':"           \
    "{'extensionData':[['a',1]]}}],'expirationTimeUtc':0}}"

TEST(python_check, answers_whatever_the_bytes_are)
{
    check_cuts(EVERYTHING, PDR_READER_PYTHON);
    check_cuts("[['schemaVersion','1.0'],{'data':1,'b':2}]", PDR_READER_PYTHON);
    check_brackets(1u << 20, PDR_READER_PYTHON);
    check_hostile(pdr_str_n(NULL, 0), PDR_READER_PYTHON);
}

TEST(python_check, ends_when_the_callback_says_so)
{
    check_stop(EVERYTHING, PDR_READER_PYTHON);
}

TEST_OOM(python_check, gives_memory_back)
{
    check_memory(15, EVERYTHING, PDR_READER_PYTHON);
    check_memory(1, "[['schemaVersion','1.0'],['data',{'a':'\\u00e9'}]]",
                 PDR_READER_PYTHON);
}

/* --- rules --------------------------------------------------------------- */

TEST(compat_rules, have_a_name_and_a_severity_by_their_effect)
{
    static const struct {
        enum compat_effect effect;
        const char *name;
        pdr_severity severity;
    } effects[] = {
        {COMPAT_NOTES, "notes", PDR_SEVERITY_INFO},
        {COMPAT_CHANGES, "changes", PDR_SEVERITY_WARNING},
        {COMPAT_LOSES, "loses", PDR_SEVERITY_WARNING},
        {COMPAT_DAMAGES, "damages", PDR_SEVERITY_ERROR},
        {COMPAT_RESETS, "resets", PDR_SEVERITY_ERROR},
        {COMPAT_FAILS_CLIENT, "fails-client", PDR_SEVERITY_ERROR},
        {COMPAT_FAILS_RUN, "fails-run", PDR_SEVERITY_ERROR},
        {COMPAT_FAILS_LOAD, "fails-load", PDR_SEVERITY_ERROR},
    };

    for (size_t i = 0; i < PDR_COUNT(effects); i++) {
        ASSERT_STR(effects[i].name, pdr__compat_effect_name(effects[i].effect));
        ASSERT_INT(effects[i].severity,
                   pdr__compat_severity(effects[i].effect));
    }
    ASSERT_STR("?", pdr__compat_effect_name((enum compat_effect)99));
}
