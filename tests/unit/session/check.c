/*
 * check.c - what a session holds that no edition knows.
 */
#include "session.h"
#include "session_text.h"
#include "test.h"

/* A pdr_doc_finding_fn: a line for each. */
static pdr_rc on_finding(const pdr_doc_finding *finding, pdr_err *err,
                         void *arg)
{
    return pdr_buf_printf(arg, err, "%s %.*s\n", finding->rule,
                          (int)finding->pointer.len, finding->pointer.ptr);
}

static void check(const char *expected, const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_buf told = PDR_BUF_INIT(4096);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr__session_check_members(value, &err, on_finding, &told));
    ASSERT_TEXT(expected, told.len > 0 ? pdr_buf_str(&told) : PDR_LIT(""));
    pdr_buf_dispose(&told);
    pdr_value_free(value);
}

TEST(session_check, knows_what_the_editions_write)
{
    check("", "{'stateBag':{'notes':{'x':1},'InMemoryChatHistoryProvider':{"
              "'messages':[{'role':'user','authorName':'Ann','messageId':'m',"
              "'contents':[{'$type':'text','text':'a'},{'$type':'functionCall',"
              "'callId':'c','name':'n','arguments':{'x':1}}]}]}}}");
    check("", "{'type':'session','session_id':'s','service_session_id':null,"
              "'state':{'in_memory':{'messages':[{'type':'message','role':"
              "'tool','contents':[{'type':'function_result','call_id':'c',"
              "'result':'r','items':[]}]}]}}}");
    check("", "{'conversationId':'c','stateBag':{}}");
    check("", "{'perdure':{'version':'1.0.0','id':'a'},'stateBag':{}}");
}

TEST(session_check, tells_of_members_that_nobody_knows)
{
    check("member-unknown /wea~1ther\n",
          "{'conversationId':'c','wea/ther':{'a':1},'stateBag':{}}");
    check("member-unknown /messages\n", "{'session_id':'s','messages':[]}");
    check("member-unknown "
          "/state/in_memory/messages/1/mood\n"
          "member-unknown "
          "/state/in_memory/messages/1/contents/0/colour\n"
          "content-kind-unknown /state/in_memory/messages/1/contents/1\n"
          "content-kind-unknown /state/in_memory/messages/1/contents/2\n",
          "{'session_id':'s','state':{'todo':{'mood':1},'in_memory':{"
          "'messages':[null,{'role':'user','mood':1,'contents':[{'type':'text',"
          "'text':'a','colour':'red'},{'type':'hologram'},5]}]}}}");
    check("member-unknown "
          "/stateBag/InMemoryChatHistoryProvider/messages/0/Contents/0/x\n",
          "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'Role':"
          "'user','Contents':[{'$type':'text','Text':'a','x':1}]}]}}}");
}

TEST(session_check, refuses_what_is_no_session)
{
    pdr_value *value = doc_value("{'messages':[]}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr__session_check_members(value, &err, NULL, NULL));
    pdr_value_free(value);
}
