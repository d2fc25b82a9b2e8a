/* Repair for Python: what it needs, and what is refused instead. */
#include "repair_text.h"

static void check(const char *findings, const char *after, const char *before)
{
    check_repair(PDR_READER_PYTHON, findings, after, before);
}

static void refused(const char *path, const char *document)
{
    check_refused(PDR_READER_PYTHON, PDR_EINVALID, "cannot_repair", path,
                  document);
}

#define HEAD                                   \
    "{'$type':'response','correlationId':'a'," \
    "'createdAt':'2026-02-03T08:15:00Z','messages':["
#define SAYS(contents) HEAD "{'role':'user','contents':[" contents "]}]}"
#define ITEM           AT "/0/messages/0/contents/0"

TEST(repair_for_python, leaves_alone_what_python_takes)
{
    static const char same[] =
        DOC("null,{'json_type':'response','createdAt':'soon'}," SAYS(
            "null,{'text':5,'$type':'text'},{'$type':'functionResult',"
            "'callId':'1','result':1e400,'$x':1}"));
    static const char kept[] =
        DOC("null,{'json_type':'response','createdAt':'soon'}," HEAD
            "{'role':'user','contents':[null,{'text':5,'$type':'text'}],"
            "'orphanResults':[{'$type':'functionResult','callId':'1',"
            "'result':1e400,'$x':1}]}]}");

    check("info result-removed " AT "/2/messages/0/contents/2\n"
          "info orphan-results-added " AT "/2/messages/0/orphanResults\n",
          kept, same);
    check("", "{'schemaVersion':'1.1.0','data':{ }}",
          "{'schemaVersion':'1.1.0','data':{ }}");
}

TEST(repair_for_python, fills_lists_and_data_that_are_null)
{
    check("info data-filled /data\n",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':[]}}",
          "{'schemaVersion':'1.1.0','data':null}");
    check(
        "info list-filled " AT "\n",
        "{'schemaVersion':'1.1.0','data':{'conversationHistory':[],'k':0}}",
        "{'schemaVersion':'1.1.0','data':{'conversationHistory':null,'k':0}}");
    check("info list-filled " AT "/0/messages\n",
          DOC("{'$type':'response','messages':[]}"),
          DOC("{'$type':'response','messages':null}"));
    check("info list-filled " AT "/0/messages/0/contents\n",
          DOC(HEAD "{'contents':[]},{'role':'u'}]}"),
          DOC(HEAD "{'contents':null},{'role':'u'}]}"));
}

TEST(repair_for_python, wraps_contents_that_python_would_empty)
{
    check("info content-wrapped " ITEM "\n"
          "info content-wrapped " AT "/0/messages/0/contents/1\n"
          "info content-wrapped " AT "/0/messages/0/contents/2\n"
          "info content-wrapped " AT "/0/messages/0/contents/3\n"
          "info content-wrapped " AT "/0/messages/0/contents/5\n",
          DOC(SAYS("{'$type':'unknown','content':{'$type':'hologram','n':1.0}}"
                   ",{'$type':'unknown','content':{'item':{}}},"
                   "{'$type':'unknown','content':7},"
                   "{'$type':'unknown','content':{'$type':'x','content':{"
                   "'type':'text'}}},"
                   "{'$type':'unknown','content':{'type':'y'}},"
                   "{'$type':'unknown','content':{'item':{}},'side':1}")),
          DOC(SAYS("{'$type':'hologram','n':1.0},{},7,"
                   "{'$type':'x','content':{'type':'text'}},"
                   "{'$type':'unknown','content':{'type':'y'}},"
                   "{'$type':'unknown','content':{},'side':1}")));
}

TEST(repair_for_python, spells_a_leap_second_as_it_is_read)
{
    check("info date-respelled " AT "/0/createdAt\n"
          "info date-respelled " AT "/0/messages/0/createdAt\n",
          DOC("{'$type':'response','createdAt':'2026-02-03T08:15:59.5+00:00',"
              "'messages':[{'createdAt':'2026-02-03T08:15:59+01:00'}]}"),
          DOC("{'$type':'response','createdAt':'2026-02-03T08:15:60.5Z',"
              "'messages':[{'createdAt':'2026-02-03T08:15:60+01:00'}]}"));
}

TEST(repair_for_python, refuses_what_would_have_to_be_made_up)
{
    refused(AT "/0", DOC("{'$type':'annotation'}"));
    refused(ITEM "/uri", DOC(SAYS("{'$type':'uri','uri':'rel/path'}")));
    refused(AT "/1/messages/0/contents/0/uri",
            DOC("{'$type':'request','correlationId':'q'}," SAYS(
                "{'$type':'data','uri':null}")));
}

/* Wrapped, it would be deeper than we read. */
TEST(repair_for_python, refuses_a_result_that_is_too_deep)
{
    char document[1000], args[400] = "";
    size_t levels = 128 - 8;
    pdr_value *value = NULL, *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    memset(args, '[', levels);
    memset(args + levels, ']', levels);
    (void)snprintf(document, sizeof(document),
                   DOC(SAYS("{'$type':'hologram','k':%s}")), args);
    value = doc_value(document);
    ASSERT_RC(PDR_ELIMIT, pdr_state_repair(&out, value, PDR_READER_PYTHON, NOW,
                                           &err, NULL, NULL));
    ASSERT_STR("too_deep", err.reason);
    ASSERT(out == NULL);
    pdr_value_free(value);
}

TEST(repair_for_python, keeps_bare_tokens)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    char *text = quoted(DOC(SAYS("{'$type':'text','text':'','k':NaN}")));
    pdr_value *value = NULL, *out = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(text), &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_state_repair(&out, value, PDR_READER_PYTHON, NOW,
                                       NULL, NULL, NULL));
    ASSERT(pdr_value_equal(value, out));
    pdr_value_free(out);
    pdr_value_free(value);
    free(text);
}

TEST_OOM(repair_for_python, cleans_up_after_any_failed_allocation)
{
    check_repair_oom(PDR_READER_PYTHON,
                     DOC("{'$type':'response','createdAt':"
                         "'2026-02-03T08:15:60Z','messages':[{'contents':null}"
                         ",{'contents':[{'$type':'hologram'},{'$type':"
                         "'unknown'}]}]}"));
}

TEST_OOM(repair_for_python, cleans_up_after_filling_the_data)
{
    check_repair_oom(PDR_READER_PYTHON,
                     "{'schemaVersion':'1.1.0','data':null}");
}
