/* Repair: calls, results and turns; and what must hold for every repair. */
#include "repair_text.h"

#include "repair.h"

#define REQUEST(id)                           \
    "{'$type':'request','correlationId':'" id \
    "','createdAt':'2026-02-03T08:15:00Z','messages':[]}"
#define RESPONSE(id, messages)                 \
    "{'$type':'response','correlationId':'" id \
    "','createdAt':'2026-02-03T08:15:01Z','messages':[" messages "]}"
#define TURN(id, messages)   REQUEST(id) "," RESPONSE(id, messages)
#define SAYS(role, contents) "{'role':'" role "','contents':[" contents "]}"
#define TOOL(contents)       "{'contents':[" contents "],'role':'tool'}"
#define CALL(id) \
    "{'$type':'functionCall','callId':'" id "','name':'f','arguments':{}}"
#define RESULT(id) "{'$type':'functionResult','callId':'" id "','result':1}"
#define LOST(id) \
    "{'$type':'functionResult','callId':'" id "','result':" UNKNOWN_OUTCOME "}"
#define FAILED(id)                                                        \
    "{'$type':'response','correlationId':'" id                            \
    "','createdAt':'2026-02-03T08:15:00+00:00','messages':[{'contents':[" \
    "{'$type':'error','message':'The run did not finish','errorCode':"    \
    "'run_not_finished'}],'role':'assistant'}],'isError':true}"
static void check(const char *findings, const char *after, const char *before)
{
    check_repair(PDR_READER_ANY, findings, after, before);
}

TEST(state_repair, changes_nothing_where_nothing_is_wrong)
{
    check("", "{'schemaVersion':'1.1.0', 'data':null }",
          "{'schemaVersion':'1.1.0', 'data':null }");
    check("", "{'schemaVersion':'1.9','data':{ 'conversationHistory':7 }}",
          "{'schemaVersion':'1.9','data':{ 'conversationHistory':7 }}");
    check(
        "",
        DOC("null, {'$type':'note'}, " TURN(
            "a", SAYS("assistant", CALL("1")) " , " SAYS("tool", RESULT("1")))),
        DOC("null, {'$type':'note'}, " TURN(
            "a",
            SAYS("assistant", CALL("1")) " , " SAYS("tool", RESULT("1")))));
}

TEST(state_repair, answers_calls_without_a_result)
{
    check("info tool-message-added " AT "/1/messages/1\n",
          DOC(TURN("a", SAYS("assistant", CALL("1")) "," TOOL(LOST("1")))),
          DOC(TURN("a", SAYS("assistant", CALL("1")))));
    check(
        "info tool-message-added " AT "/1/messages/1\n"
        "info tool-message-added " AT "/1/messages/4\n",
        DOC(TURN(
            "a",
            SAYS("assistant", CALL("1") "," CALL("2") "," CALL("3")) "," TOOL(
                LOST("1") "," LOST(
                    "3")) "," SAYS("tool",
                                   RESULT(
                                       "2")) "," SAYS("assistant",
                                                      CALL(
                                                          "4")) "," TOOL(LOST("4")))),
        DOC(TURN(
            "a",
            SAYS("assistant", CALL("1") "," CALL("2") "," CALL("3")) "," SAYS(
                "tool", RESULT("2")) "," SAYS("assistant", CALL("4")))));
    /* The id is copied as it is spelled; one that is none becomes empty. */
    check(
        "info tool-message-added " AT "/1/messages/1\n",
        DOC(TURN(
            "a",
            SAYS("assistant", CALL("\\u0041") ",{'$type':'functionCall'}") "," TOOL(
                LOST("\\u0041") "," LOST("")))),
        DOC(TURN("a", SAYS("assistant",
                           CALL("\\u0041") ",{'$type':'functionCall'}"))));
}

TEST(state_repair, leaves_calls_alone_that_wait_for_approval)
{
#define WAITS                                                           \
    DOC(TURN("a", SAYS("assistant",                                     \
                       CALL("1") ",{'$type':'unknown','content':"       \
                                 "{'type':'function_approval_request'," \
                                 "'function_call':{'call_id':'1'}}}")))
    check("", WAITS, WAITS);
}

TEST(state_repair, keeps_results_that_no_call_waits_for)
{
    check(
        "info result-removed " AT "/1/messages/0/contents/0\n"
        "info result-removed " AT "/1/messages/0/contents/2\n"
        "info orphan-results-added " AT "/1/messages/0/orphanResults\n",
        DOC(TURN("a", "{'role':'tool','contents':[{'$type':'text','text':"
                      "'x'}],'k':1,'orphanResults':[" RESULT("1") "," RESULT(
                          "2") "]}")),
        DOC(TURN("a", "{'role':'tool','contents':[" RESULT(
                          "1") ",{'$type':"
                               "'text','text':'x'}," RESULT("2") "],'k':1}")));
    check("info result-removed " AT "/1/messages/1/contents/1\n"
          "info orphan-results-extended " AT "/1/messages/1/orphanResults\n",
          DOC(TURN("a",
                   SAYS("assistant", CALL("1")) ",{'orphanResults':[7," RESULT(
                       "1") "],'role':'tool','contents':[" RESULT("1") "]}")),
          DOC(TURN("a", SAYS("assistant",
                             CALL("1")) ",{'orphanResults':[7],"
                                        "'role':'tool','contents':[" RESULT(
                                            "1") "," RESULT("1") "]}")));
}

TEST(state_repair, moves_a_result_behind_its_call)
{
    check("info result-moved " AT "/1/messages/0/contents/0\n"
          "info tool-message-added " AT "/1/messages/2\n",
          DOC(TURN("a", SAYS("tool", "") "," SAYS(
                            "assistant",
                            CALL("1") "," CALL(
                                "2")) "," TOOL(RESULT("1") "," LOST("2")))),
          DOC(TURN("a", SAYS("tool", RESULT("1")) "," SAYS(
                            "assistant", CALL("1") "," CALL("2")))));
}

TEST(state_repair, ends_turns_that_did_not_finish)
{
    check("info response-added " AT "/1\ninfo response-added " AT "/5\n",
          DOC(REQUEST("a") "," FAILED("a") ",{'$type':'note'}," REQUEST(
              "b") "," REQUEST("b") "," FAILED("b") "," TURN("c", "")),
          DOC(REQUEST("a") ",{'$type':'note'}," REQUEST("b") "," REQUEST(
              "b") "," TURN("c", "")));
    /* A request without an id cannot be answered. */
    check("", DOC("{'$type':'request','correlationId':null}"),
          DOC("{'$type':'request','correlationId':null}"));
    /* A response without an id may be its answer. */
    check("", DOC(REQUEST("a") ",{'$type':'note'}," RESPONSE("", "")),
          DOC(REQUEST("a") ",{'$type':'note'}," RESPONSE("", "")));
    check("info response-added " AT "/2\n",
          DOC(RESPONSE("", "") "," REQUEST("a") "," FAILED("a")),
          DOC(RESPONSE("", "") "," REQUEST("a")));
}

TEST(state_repair, puts_no_response_before_its_request)
{
#define ASKED(at) \
    "{'$type':'request','correlationId':'a','createdAt':'" at "','messages':[]}"
#define UNFINISHED(at)                                                        \
    "{'$type':'response','correlationId':'a','createdAt':'" at                \
    "','messages':[{'contents':[{'$type':'error','message':'The run did not " \
    "finish','errorCode':'run_not_finished'}],'role':'assistant'}],"          \
    "'isError':true}"
    check("info response-added " AT "/1\n",
          DOC(ASKED("2026-02-03 11:15:00.25+02:00") "," UNFINISHED(
              "2026-02-03T09:15:00.25+00:00")),
          DOC(ASKED("2026-02-03 11:15:00.25+02:00")));
    check("info response-added " AT "/1\n",
          DOC(ASKED("soon") "," UNFINISHED("2026-02-03T08:15:00+00:00")),
          DOC(ASKED("soon")));
}

/* --- texts --------------------------------------------------------------- */

static pdr_rc note_text(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    pdr_rc rc = pdr_buf_append(arg, finding->text, err);

    return rc == PDR_OK ? pdr_buf_append(arg, pdr_str_c("\n"), err) : rc;
}

/* The repair says `texts`. */
static void check_texts(pdr_reader reader, const char *texts,
                        const char *document)
{
    pdr_value *value = doc_value(document);
    pdr_buf found = PDR_BUF_INIT(1u << 16);

    ASSERT_RC(PDR_OK, pdr_state_repair(NULL, value, reader, NOW, NULL,
                                       note_text, &found));
    ASSERT_TEXT(texts, pdr_buf_str(&found));
    pdr_buf_dispose(&found);
    pdr_value_free(value);
}

#define ANSWERS \
    "a tool message answers the calls before it that had no result: "

TEST(state_repair, names_the_calls_that_it_answers)
{
    check_texts(PDR_READER_ANY, ANSWERS "'f' (1)\n",
                DOC(TURN("a", SAYS("assistant", CALL("1")))));
    check_texts(
        PDR_READER_ANY, ANSWERS "'f' (1), 'f' (A), '' (), 'f' (\"\\ud800\")\n",
        DOC(TURN("a",
                 SAYS("assistant",
                      CALL("1") "," CALL("2") "," CALL(
                          "\\u0041") ","
                                     "{'$type':'functionCall','name':7}," CALL(
                                         "\\ud800")) "," SAYS("tool",
                                                              RESULT("2")))));
    check_texts(
        PDR_READER_ANY,
        ANSWERS
        "'f' (1), 'f' (2), 'f' (3), 'f' (4), 'f' (5), 'f' (6), 'f' (7), "
        "'f' (8) and others\n",
        DOC(TURN(
            "a",
            SAYS(
                "assistant",
                CALL("1") "," CALL("2") "," CALL("3") "," CALL("4") "," CALL(
                    "5") "," CALL("6") "," CALL("7") "," CALL("8") "," CALL("9")))));
}

TEST(state_repair, says_how_a_date_is_spelled_now)
{
    check_texts(PDR_READER_DOTNET,
                "the same instant, spelled as the reader needs it: "
                "2026-02-03T06:45:00Z\n",
                "{'schemaVersion':'1.1.0','data':{'conversationHistory':[],"
                "'expirationTimeUtc':'2026-02-03T08:15:00+01:30'}}");
}

TEST_OOM(state_repair_texts, clean_up_after_any_failed_allocation)
{
    char *text = quoted(DOC(TURN("a", SAYS("assistant", CALL("\\u0041")))));
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    free(text);
    if (rc == PDR_OK)
        rc = pdr_state_repair(NULL, value, PDR_READER_ANY, NOW, NULL, note_text,
                              &found);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&found);
    pdr_value_free(value);
}

TEST(state_repair, keeps_every_other_byte)
{
    check(
        "info tool-message-added " AT "/1/messages/1\n"
        "info response-added " AT "/3\n",
        "{ 'x' : 1.0, 'schemaVersion':'1.1.0' ,\n 'data' : {\n"
        "  'conversationHistory' : [\n    " REQUEST(
            "a") ",\n"
                 "    { 'k':1e2,'$type':'response', 'correlationId':'a', 'messages': "
                 "[ {'role':'assistant', 'contents':[ " CALL("1") " ] }," TOOL(LOST(
                     "1")) " ] },\n    " REQUEST("b") ",\n    " FAILED("b") "\n"
                                                                            "  ],'z':-0 } }",
        "{ 'x' : 1.0, 'schemaVersion':'1.1.0' ,\n 'data' : {\n"
        "  'conversationHistory' : [\n    " REQUEST(
            "a") ",\n"
                 "    { 'k':1e2,'$type':'response', 'correlationId':'a', 'messages': "
                 "[ {'role':'assistant', 'contents':[ " CALL(
                     "1") " ] } ] },\n    " REQUEST("b") "\n  ],'z':-0 } }");
}

/* All that a repair adds is named in the strict schema. */
TEST(state_repair, writes_what_the_strict_schema_names)
{
    pdr_value *value = doc_value(
        DOC("{'$type':'request','correlationId':'a','createdAt':"
            "'2026-02-03T08:15:00+00:00','messages':[" SAYS(
                "assistant", CALL("1")) "," SAYS("tool", RESULT("2")) "]}"));
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_state_repair(&out, value, PDR_READER_ANY, NOW, NULL,
                                       note_finding, &found));
    ASSERT_TEXT("info tool-message-added " AT "/0/messages/1\n"
                "info result-removed " AT "/0/messages/1/contents/0\n"
                "info orphan-results-added " AT "/0/messages/2/orphanResults\n"
                "info response-added " AT "/1\n",
                pdr_buf_str(&found));
    pdr_buf_clear(&found);
    ASSERT_RC(PDR_OK, pdr_state_check_structure(out, PDR_STATE_STRICT, NULL,
                                                note_finding, &found));
    ASSERT_TEXT("", pdr_buf_str(&found));
    pdr_buf_dispose(&found);
    pdr_value_free(out);
    pdr_value_free(value);
}

TEST(state_repair, refuses_cleanly)
{
    check_refused(PDR_READER_ANY, PDR_EINVALID, "schema_version_missing", "",
                  "{'data':null}");
    check_refused(PDR_READER_ANY, PDR_EVERSION, "schema_version_unsupported",
                  "/schemaVersion", "{'schemaVersion':'2.0.0','data':null}");
    check_refused(PDR_READER_ANY, PDR_EINVALID, "cannot_repair",
                  AT "/1/messages/0/orphanResults",
                  DOC(TURN("a", "{'role':'tool','contents':[" RESULT(
                                    "1") "],"
                                         "'orphanResults':'mine'}")));
}

/* .NET cannot write this one. */
#define HALF "{'$type':'functionResult','callId':'z','result':'\\ud800'}"

static void check_place(const char *path, const char *document)
{
    check_refused(PDR_READER_DOTNET, PDR_EINVALID, "cannot_repair", path,
                  document);
}

TEST(state_repair, says_where_a_refused_part_was)
{
    /* Of results that no call waits for, with and without some there. */
    check_place(AT "/1/messages/0/contents/1/result",
                DOC(TURN("a", SAYS("tool", RESULT("1") "," HALF))));
    check_place(AT "/1/messages/0/contents/0/result",
                DOC(TURN("a", "{'role':'tool','contents':[" HALF
                              "],'orphanResults':[7]}")));
    check_place(AT "/1/messages/0/orphanResults/1/result",
                DOC(TURN("a", "{'role':'tool','contents':[" RESULT(
                                  "1") "],'orphanResults':[7," HALF "]}")));
    /* Of results that stood before their call. */
    check_place(AT "/1/messages/0/contents/0/result",
                DOC(TURN("a", SAYS("tool", HALF "," CALL("z")))));
    check_place(AT "/1/messages/0/contents/1/result",
                DOC(TURN("a", SAYS("tool", RESULT("y") "," HALF) "," SAYS(
                                  "assistant",
                                  CALL("y") "," CALL("x") "," CALL("z")))));
    /* Of what was kept beside itself. */
    check_place(
        AT "/1/messages/0/contents/0/arguments",
        DOC(TURN("a", SAYS("tool", "{'$type':'functionCall','callId':'a',"
                                   "'name':'f','arguments':'\\ud800'}"))));
    check_place(AT "/1/messages/0/contents/0/details/0/a",
                DOC(TURN("a", SAYS("tool", "{'$type':'error','details':"
                                           "[{'a':'\\ud800'}]}"))));
}

TEST(state_repair, refuses_a_time_out_of_range)
{
    pdr_value *value = doc_value(DOC("")), *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_state_repair(&out, value, PDR_READER_ANY, -1,
                                             &err, NULL, NULL));
    ASSERT_STR("datetime_range", err.reason);
    pdr_value_free(value);
}

static pdr_rc stop(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding, (void)err, (void)arg;
    return PDR_ECONFLICT;
}

TEST(state_repair, ends_with_what_the_callback_returns)
{
    pdr_value *value = doc_value(DOC(REQUEST("a"))), *out = NULL;

    ASSERT_RC(PDR_ECONFLICT, pdr_state_repair(&out, value, PDR_READER_ANY, NOW,
                                              NULL, stop, NULL));
    ASSERT(out == NULL);
    pdr_value_free(value);
}

TEST(state_repair, stays_fast_on_hostile_sizes)
{
    pdr_value *state = NULL, *out = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    for (int i = 0; i < 50000; i++) {
        char entry[300];
        char *text = NULL;
        pdr_value *value = NULL;

        (void)snprintf(entry, sizeof(entry),
                       "{'$type':'request','correlationId':'c%d','createdAt':"
                       "'2026-01-01','messages':[{'role':'a','contents':["
                       "{'$type':'functionCall','callId':'%d','name':'f'}]}]}",
                       i, i);
        text = quoted(entry);
        ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(text), NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_state_append(&state, value, NULL));
        pdr_value_free(value);
        free(text);
    }
    pdr_buf found = PDR_BUF_INIT(UINT32_MAX);
    ASSERT_RC(PDR_OK, pdr_state_repair(&out, state, PDR_READER_ANY, NOW, NULL,
                                       note_finding, &found));
    for (size_t i = 0; i < found.len; i++)
        count += found.ptr[i] == '\n';
    ASSERT_SIZE(100000, count);
    ASSERT_SIZE(100000, pdr_value_count(pdr_state_entries(out)));
    pdr_buf_dispose(&found);
    pdr_value_free(out);
    pdr_value_free(state);
}

/* --- the list of changes ------------------------------------------------- */

static void check_before(const char *expected, const struct told_list *told,
                         const char *after)
{
    pdr_buf out = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK,
              pdr__told_pointer_before(&out, told, pdr_str_c(after), NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&out));
    pdr_buf_dispose(&out);
}

TEST(told_list, finds_where_a_place_was_before)
{
    struct told_list told = PDR_TOLD_INIT;
    size_t none = PDR_NONE;

    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_NULL_REMOVED,
                                    (struct place){0, none, none}, "", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_RESPONSE_ADDED,
                                    (struct place){1, none, none}, "", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_NULL_REMOVED,
                                    (struct place){2, 1, none}, "", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_MESSAGE_ADDED,
                                    (struct place){2, 1, none}, "", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_RESULT_REMOVED,
                                    (struct place){2, 2, 0}, "", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_MEMBER_ADDED,
                                    (struct place){2, 0, 0}, "/x", NULL));
    check_before("/schemaVersion", &told, "/schemaVersion");
    check_before(AT "/1/correlationId", &told, AT "/1/correlationId");
    check_before(AT "/1", &told, AT "/1/messages/0/role");
    check_before(AT "/2/messages/0", &told, AT "/2/messages/1/role");
    check_before("/data/conversationHistory", &told,
                 "/data/conversationHistory");
    check_before("/data/conversationHistory/x", &told,
                 "/data/conversationHistory/x");
    check_before(AT "/1/a", &told, AT "/0/a");
    check_before(AT "/2", &told, AT "/2");
    check_before(AT "/2/messages/0/contents/3/x", &told,
                 AT "/2/messages/0/contents/3/x");
    check_before(AT "/2/messages/2/contents/1", &told,
                 AT "/2/messages/2/contents/0");
    check_before(AT "/3/messages/1", &told, AT "/3/messages/1");
    pdr__told_dispose(&told);
}

TEST(told_list, finds_where_a_result_was_before)
{
    struct told_list told = PDR_TOLD_INIT;
    size_t none = PDR_NONE;

    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_ORPHANS_ADDED,
                                    (struct place){0, 0, none},
                                    "/orphanResults", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_MESSAGE_ADDED,
                                    (struct place){0, 1, none}, "", NULL));
    ASSERT_RC(PDR_OK,
              pdr__told_add(&told, REPAIR_KEPT_ADDED, (struct place){1, 0, 0},
                            "/detailsJson", NULL));
    ASSERT_RC(PDR_OK, pdr__told_add(&told, REPAIR_KEPT_ADDED,
                                    (struct place){1, 0, 1}, "/other", NULL));
    ASSERT_RC(PDR_OK,
              pdr__told_move(&told,
                             (struct moved){{0, 0, 0}, true, {0, 0, 3}, false},
                             NULL));
    ASSERT_RC(PDR_OK,
              pdr__told_move(&told,
                             (struct moved){{0, 1, 0}, false, {0, 0, 2}, true},
                             NULL));
    ASSERT_RC(PDR_OK,
              pdr__told_move(&told,
                             (struct moved){{0, 1, 1}, false, {0, 0, 1}, false},
                             NULL));
    check_before(AT "/0/messages/0", &told, AT "/0/messages/0/orphanResults");
    check_before(AT "/0/messages/0/contents/3/result", &told,
                 AT "/0/messages/0/orphanResults/0/result");
    check_before(AT "/0/messages/0", &told, AT "/0/messages/1");
    check_before(AT "/0/messages/0/contents/2", &told,
                 AT "/0/messages/1/contents/0/result");
    check_before(AT "/0/messages/0/contents/2/callId", &told,
                 AT "/0/messages/1/contents/0/callId");
    check_before(AT "/0/messages/0/contents/1/result", &told,
                 AT "/0/messages/1/contents/1/result");
    check_before(AT "/0/messages/0", &told, AT "/0/messages/1/contents/2");
    check_before(AT "/1/messages/0/contents/0/details/x", &told,
                 AT "/1/messages/0/contents/0/detailsJson/x");
    check_before(AT "/1/messages/0/contents/0/detailsJsonx", &told,
                 AT "/1/messages/0/contents/0/detailsJsonx");
    check_before(AT "/1/messages/0/contents/1/other", &told,
                 AT "/1/messages/0/contents/1/other");
    pdr__told_dispose(&told);
}

/* --- the page of findings ------------------------------------------------ */

static const struct {
    const char *name, *effect, *text;
} rules[] = {
#define ROW(id, name, effect, text) {name, #effect, text},
    PDR_REPAIR_MAP(ROW)
#undef ROW
};

TEST(findings_page, has_a_row_for_each_change_of_a_repair)
{
    char path[4096];
    char *page = calloc(1, 1u << 20);
    const char *from = NULL;
    size_t rows = 0;
    FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "%s/../../docs/formats/findings.md",
                   test_data_folder());
    file = fopen(path, "rb");
    ASSERT(file != NULL && page != NULL);
    ASSERT(fread(page, 1, (1u << 20) - 1, file) > 0);
    (void)fclose(file);
    from = strstr(page, "<!-- repair -->");
    ASSERT(from != NULL);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const char *where =
            strcmp(rules[i].effect, "ADDED") == 0 ? "result" : "original";
        char row[400];

        (void)snprintf(row, sizeof(row), "\n| `%s` | %s | %s |", rules[i].name,
                       where, rules[i].text);
        if (strstr(from, row) == NULL)
            fail_msg("findings.md has no row %s", row);
        /* The name says in which document the pointer is. */
        ASSERT((strstr(rules[i].name, "-added") != NULL) ==
               (strcmp(where, "result") == 0));
    }
    for (const char *at = from; (at = strstr(at, "\n| `")) != NULL; at++)
        rows += at < strstr(from, "<!-- end -->");
    ASSERT_SIZE(sizeof(rules) / sizeof(rules[0]), rows);
    free(page);
}

/* --- failures ------------------------------------------------------------ */

TEST_OOM(state_repair, cleans_up_after_any_failed_allocation)
{
    check_repair_oom(
        PDR_READER_ANY,
        DOC(TURN("a",
                 SAYS("tool", RESULT("1") "," RESULT("9")) "," SAYS(
                     "assistant", CALL("1") "," CALL("2"))) "," REQUEST("b")));
    check_repair_oom(PDR_READER_ANY,
                     DOC("{'$type':'request','correlationId':'b','createdAt':"
                         "'2027-01-01','messages':[]}"));
}
