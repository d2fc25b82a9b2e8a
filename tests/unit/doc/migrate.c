/* Migration: each step and change is told, nothing else changes. */
#include "doc_text.h"

#define AT "/data/conversationHistory"

static void check(const char *findings, const char *after, const char *before,
                  const char *to, bool force)
{
    pdr_value *value = doc_value(before), *out = NULL;
    pdr_buf found = PDR_BUF_INIT(1u << 16), dry = PDR_BUF_INIT(1u << 16);

    ASSERT_RC(PDR_OK, pdr_state_migrate(&out, value, pdr_str_c(to), force, NULL,
                                        note_finding, &found));
    ASSERT_TEXT(findings, pdr_buf_str(&found));
    assert_written(after, out);
    assert_written(before, value);
    ASSERT_RC(PDR_OK, pdr_state_migrate(NULL, value, pdr_str_c(to), force, NULL,
                                        note_finding, &dry));
    ASSERT_BYTES(pdr_buf_str(&found), pdr_buf_str(&dry));
    pdr_buf_dispose(&dry);
    pdr_buf_dispose(&found);
    pdr_value_free(out);
    pdr_value_free(value);
}

static void refused(pdr_rc code, const char *reason, const char *path,
                    const char *document, const char *to)
{
    pdr_value *value = doc_value(document), *out = NULL;
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(code, pdr_state_migrate(&out, value, pdr_str_c(to), false, &err,
                                      note_finding, &found));
    ASSERT(out == NULL);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT_TEXT("", pdr_buf_str(&found));
    ASSERT_RC(code, pdr_state_migrate(NULL, value, pdr_str_c(to), false, NULL,
                                      NULL, NULL));
    assert_written(document, value);
    pdr_buf_dispose(&found);
    pdr_value_free(value);
}

TEST(state_migrate, raises_the_version_alone)
{
    check("info migration-step \ninfo version-set /schemaVersion\n",
          "{ 'x' : 1.0,'schemaVersion': '1.1.0','data':{ } }",
          "{ 'x' : 1.0,'schemaVersion': '1.0.0','data':{ } }", "1.1.0", false);
    check("info migration-step \ninfo version-set /schemaVersion\n",
          "{'schemaVersion':'1.1.0','data':null}",
          "{'schemaVersion':'1.0','data':null}", "1.1", false);
}

TEST(state_migrate, changes_nothing_if_it_has_the_version)
{
    check("info migration-not-needed /schemaVersion\n",
          "{'schemaVersion':'01.0.0.0', 'data':null}",
          "{'schemaVersion':'01.0.0.0', 'data':null}", "1.0.0", false);
    check("info migration-not-needed /schemaVersion\n",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{'$type':"
          "'request','orchestrationId':'o'}]}}",
          "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{'$type':"
          "'request','orchestrationId':'o'}]}}",
          "1.1.0", true);
}

#define BEFORE                                                  \
    "{'schemaVersion':'1.1.0','data':{'conversationHistory':[ " \
    "{'$type':'request', 'orchestrationId':null,'k':1.0} ,\n"   \
    "{'$type':'response','orchestrationId':'mine'},7,"          \
    "{'$type':'request','k':2} ],'z':0}}"
#define AFTER                                                   \
    "{'schemaVersion':'1.0.0','data':{'conversationHistory':[ " \
    "{'$type':'request','k':1.0} ,\n"                           \
    "{'$type':'response','orchestrationId':'mine'},7,"          \
    "{'$type':'request','k':2} ],'z':0}}"

TEST(state_migrate, leaves_out_what_says_nothing_on_the_way_back)
{
    check("info migration-step \ninfo version-set /schemaVersion\n"
          "info orchestration-id-removed " AT "/0/orchestrationId\n",
          AFTER, BEFORE, "1.0.0", false);
    check("info migration-step \ninfo version-set /schemaVersion\n",
          "{'schemaVersion':'1.0.0','data':null}",
          "{'schemaVersion':'1.1.0','data':null}", "1.0.0", false);
}

#define CARRIES                                                         \
    "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{'$type':" \
    "'response'},{'$type':'request','orchestrationId':'o'},{'$type':"   \
    "'request','orchestrationId':5}]}}"

TEST(state_migrate, refuses_what_cannot_be_carried_back)
{
    refused(PDR_EINVALID, "cannot_carry", AT "/1/orchestrationId", CARRIES,
            "1.0.0");
    /* Also an id that a later member hides. */
    refused(PDR_EINVALID, "cannot_carry", AT "/0/orchestrationId",
            "{'schemaVersion':'1.1.0','data':{'conversationHistory':[{'$type':"
            "'request','orchestrationId':'o','orchestrationId':null}]}}",
            "1.0.0");
}

TEST(state_migrate, leaves_out_what_it_must_if_forced)
{
    check("info migration-step \ninfo version-set /schemaVersion\n"
          "info orchestration-id-removed " AT "/1/orchestrationId\n"
          "info orchestration-id-removed " AT "/2/orchestrationId\n",
          "{'schemaVersion':'1.0.0','data':{'conversationHistory':[{'$type':"
          "'response'},{'$type':'request'},{'$type':'request'}]}}",
          CARRIES, "1.0.0", true);
}

TEST(state_migrate, knows_no_way_from_or_to_other_versions)
{
    refused(PDR_EVERSION, "no_migration", "/schemaVersion",
            "{'schemaVersion':'1.7.3','data':null}", "1.1.0");
    refused(PDR_EVERSION, "no_migration", "/schemaVersion",
            "{'schemaVersion':'1.0.5','data':null}", "1.1.0");
    refused(PDR_EVERSION, "no_migration", "",
            "{'schemaVersion':'1.0.0','data':null}", "1.2.0");
    refused(PDR_EINVALID, "schema_version_invalid", "",
            "{'schemaVersion':'1.0.0','data':null}", "new");
    refused(PDR_EVERSION, "schema_version_unsupported", "/schemaVersion",
            "{'schemaVersion':'2.0.0','data':null}", "1.1.0");
    refused(PDR_EINVALID, "data_missing", "", "{'schemaVersion':'1.0.0'}",
            "1.1.0");
}

static pdr_rc stop_at(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding, (void)err;
    return --*(int *)arg == 0 ? PDR_ECONFLICT : PDR_OK;
}

TEST(state_migrate, ends_with_what_the_callback_returns)
{
    for (int at = 1; at <= 3; at++) {
        pdr_value *value = doc_value(BEFORE), *out = NULL;
        int left = at;

        ASSERT_RC(PDR_ECONFLICT,
                  pdr_state_migrate(&out, value, pdr_str_c("1.0.0"), false,
                                    NULL, stop_at, &left));
        ASSERT(out == NULL);
        pdr_value_free(value);
    }
}

TEST_OOM(state_migrate, cleans_up_after_any_failed_allocation)
{
    char *text = quoted(BEFORE);
    pdr_value *value = NULL, *out = NULL;
    size_t live = 0;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    free(text);
    live = test_live_allocations();
    if (rc == PDR_OK)
        rc = pdr_state_migrate(&out, value, pdr_str_c("1.0.0"), false, NULL,
                               NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out != NULL) == (rc == PDR_OK));
    ASSERT(out != NULL || live == test_live_allocations());
    pdr_value_free(out);
    pdr_value_free(value);
}
