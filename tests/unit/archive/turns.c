/* Where a history may be cut, and which calls wait: on entries alone. */
#include "past.h"
#include "retain.h"

/* The cuts of a history under a rule, as "3 6"; static. */
static const char *cuts_as(const char *text, pdr_row_shape shape,
                           uint64_t keep_turns, int64_t before_ms)
{
    static char out[200];
    struct pdr__survey survey;
    struct past past;
    uint64_t turns = 0;
    size_t len = 0;

    past_read(&past, text, shape);
    pdr__survey_init(&survey, 1);
    survey.by_age = before_ms != 0;
    survey.before_ms = before_ms;
    for (size_t i = past.count; i-- > 0 && keep_turns > 0;) {
        pdr_value *body = NULL;
        ASSERT_RC(PDR_OK, pdr__row_body(&body, &past.rows[i], NULL));
        turns += pdr__turn_begins(&past.rows[i], body);
        pdr_value_free(body);
        if (turns == keep_turns) {
            survey.count_limit = past.rows[i].seq;
            break;
        }
    }
    for (size_t i = 0; i < past.count; i++)
        ASSERT_RC(PDR_OK, pdr__survey_add(&survey, &past.rows[i], NULL));
    ASSERT_RC(PDR_OK, pdr__survey_end(&survey, NULL));
    out[0] = '\0';
    for (size_t i = 0; i < survey.count; i++)
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%d",
                                i == 0 ? "" : " ", (int)survey.cuts[i].seq);
    pdr__survey_dispose(&survey);
    past_dispose(&past);
    return out;
}

static const char *cuts(const char *text, uint64_t keep_turns)
{
    return cuts_as(text, PDR_ROW_PYTHON, keep_turns, 0);
}

#define EACH_SHAPE(shape)                                          \
    for (pdr_row_shape shape = PDR_ROW_STATE; shape <= PDR_ROW_SK; \
         shape = (pdr_row_shape)(shape + 1))

/* --- turns -----------------------------------------------------------------
 */

TEST(turns, go_from_a_request_to_the_next_one)
{
    ASSERT_STR("3 5", cuts("q r q r q r", 1));
    ASSERT_STR("3", cuts("q r q r q r", 2));
    ASSERT_STR("", cuts("q r q r q r", 3));
    ASSERT_STR("", cuts("q r q r q r", 4));
    ASSERT_STR("", cuts("", 1));
}

TEST(turns, of_messages_go_from_a_user_to_the_next_one)
{
    EACH_SHAPE(shape)
    {
        ASSERT_STR("4 6", cuts_as("u a a u a u", shape, 1, 0));
        ASSERT_STR("4", cuts_as("u a t u a u", shape, 2, 0));
    }
}

TEST(turns, have_what_stands_before_the_first_one)
{
    ASSERT_STR("4", cuts("s u a u a", 1));
    ASSERT_STR("4", cuts("r q r q r", 1));
    ASSERT_STR("", cuts("s u a", 1));
    ASSERT_STR("", cuts("r r a", 1));
}

TEST(turns, have_responses_that_nobody_asked_for)
{
    ASSERT_STR("5", cuts("q r r r q", 1));
}

TEST(turns, have_records_and_what_nobody_knows)
{
    ASSERT_STR("5 9", cuts("c q r c q o r c q", 1));
}

TEST(turns, of_mixed_histories_begin_with_either)
{
    ASSERT_STR("3 5 7", cuts("u a q r u a q r", 1));
}

TEST(turns, begin_with_a_user_however_that_is_spelled)
{
    static const struct {
        pdr_row_shape shape;
        const char *body;
        bool begins;
    } cases[] = {
        {PDR_ROW_DOTNET, "{\"role\":\"user\"}", true},
        {PDR_ROW_DOTNET, "{\"Role\":\"User\"}", true},
        {PDR_ROW_STATE, "{\"role\":\"user\"}", true},
        {PDR_ROW_PYTHON, "{\"role\":\"us\\u0065r\"}", true},
        {PDR_ROW_PYTHON, "{\"role\":{\"type\":\"role\",\"value\":\"user\"}}",
         true},
        {PDR_ROW_PYTHON, "{\"role\":{\"type\":\"role\",\"value\":\"tool\"}}",
         false},
        {PDR_ROW_SK, "{\"Role\":{\"Label\":\"USER\"}}", true},
        {PDR_ROW_SK, "{\"Role\":{\"Label\":\"tool\"}}", false},
        {PDR_ROW_SK, "{\"Role\":{\"Label\":null}}", false},
        {PDR_ROW_DOTNET, "{\"role\":\"users\"}", false},
        {PDR_ROW_DOTNET, "{\"role\":null}", false},
        {PDR_ROW_DOTNET, "[]", false},
        {PDR_ROW_DOTNET, "{a}", false}, /* a store takes it; no JSON */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pdr_entry row = {.kind = PDR_ROW_MESSAGE,
                               .shape = cases[i].shape,
                               .body = pdr_str_c(cases[i].body)};
        pdr_value *body = NULL;
        ASSERT_RC(PDR_OK, pdr__row_body(&body, &row, NULL));
        ASSERT_INT(cases[i].begins, pdr__turn_begins(&row, body));
        pdr_value_free(body);
    }
}

/* --- age -------------------------------------------------------------------
 */

static const char *older(const char *text, int64_t before_ms)
{
    return cuts_as(text, PDR_ROW_DOTNET, 0, before_ms);
}

TEST(turns, go_by_age_when_all_of_them_is_older)
{
    ASSERT_STR("3", older("q@1 r@2 q@3 r@4 q@5 r@6", 4));
    ASSERT_STR("3 5", older("q@1 r@2 q@3 r@4 q@5 r@6", 5));
    ASSERT_STR("3 5 7", older("q@1 r@2 q@3 r@4 q@5 r@6", 7));
    ASSERT_STR("", older("q@1 r@2 q@3 r@4 q@5 r@6", 2));
    ASSERT_STR("", older("", 2));
}

TEST(turns, by_age_stop_at_the_first_that_is_not)
{
    ASSERT_STR("3", older("q@1 r@2 q@3 r@9 q@5 r@6 q@9", 7));
    ASSERT_STR("", older("q@9 r@2 q@3 r@3", 7));
}

TEST(turns, go_if_either_rule_says_so)
{
    ASSERT_STR("3 5", cuts_as("q@1 r@1 q@2 r@2 q@9 r@9", PDR_ROW_STATE, 2, 5));
    ASSERT_STR("3 5 7",
               cuts_as("q@1 r@1 q@2 r@2 q@9 r@9 q@9", PDR_ROW_STATE, 1, 2));
    ASSERT_STR("3 5", cuts_as("q@1 r@1 q@2 r@2", PDR_ROW_STATE, 5, 9));
    ASSERT_STR("3", cuts_as("q@9 r@1 q@2 r@2", PDR_ROW_STATE, 1, 5));
}

/* --- calls -----------------------------------------------------------------
 */

TEST(calls, stay_with_their_results)
{
    EACH_SHAPE(shape)
    {
        ASSERT_STR("3 7", cuts_as("u a u a+x u t-x u a", shape, 1, 0));
        ASSERT_STR("3", cuts_as("u a u a+x u a u t-x", shape, 1, 0));
        ASSERT_STR("", cuts_as("u a+x u a u a u t-x", shape, 1, 0));
        ASSERT_STR("", cuts_as("u a?x u a u!x", shape, 1, 0));
        ASSERT_STR("3", cuts_as("u a u a?x u t-call=x", shape, 1, 0));
    }
    ASSERT_STR("3", cuts("q r q r+x q-x r q r", 2));
}

/* As new entries are of a session whose history is a .NET or Python one. */
TEST(calls, of_requests_and_responses_of_one_message_stay_with_their_results)
{
    EACH_SHAPE(shape)
    {
        ASSERT_STR("", cuts_as("Q R+x Q R-x", shape, 1, 0));
        ASSERT_STR("3", cuts_as("Q R Q R+x Q-x R Q R", shape, 2, 0));
        ASSERT_STR("", cuts_as("Q R?x Q!x R", shape, 1, 0));
        ASSERT_STR("5", cuts_as("Q R+x u t-x Q R", shape, 1, 0));
        ASSERT_STR("3", cuts_as("Q R u a+x q-x r", shape, 1, 0));
        ASSERT_STR("3 5", cuts_as("Q R+x Q R Q R", shape, 1, 0));
    }
}

TEST(calls, that_chain_are_all_kept)
{
    /* One correction leads to the next. */
    ASSERT_STR("3", cuts("u a u a+x u t-x+y u t-y+z u t-z", 1));
    ASSERT_STR("3 9", cuts("u a u a+x u t-x+y u t-y u a", 1));
}

TEST(calls, without_a_result_hold_nothing_back)
{
    ASSERT_STR("3 5 7", cuts("u a+x u a+y u a u a", 1));
}

TEST(calls, that_never_were_hold_nothing_back)
{
    ASSERT_STR("3 5 7", cuts("u a u t-x u t-y u t-x", 1));
}

TEST(calls, with_an_id_that_is_used_again_are_others)
{
    ASSERT_STR("3 7", cuts("u a+x u a+x u t-x u a", 1));
    ASSERT_STR("4 7", cuts("u a+x t-x u a+x t-x u a+x t-x", 1));
    ASSERT_STR("4 7", cuts("u a+x t-x u a t-x u a+x t-x", 1));
}

TEST(calls, of_one_message_may_share_an_id)
{
    ASSERT_STR("", cuts("u a+x+x u t-x u t-x", 1));
    ASSERT_STR("5", cuts("u a+x+x u t-x-x u t-x", 1));
    ASSERT_STR("5", cuts("q r+x|+x q-x r q-x r", 1));
}

TEST(calls, without_an_id_go_with_each_other)
{
    ASSERT_STR("3", cuts("u a u a+ u t-", 1));
    EACH_SHAPE(shape)
    ASSERT_STR("5", cuts_as("u a+ u t- u a", shape, 1, 0));
}

TEST(calls, in_what_no_model_sees_do_not_count)
{
    ASSERT_STR("3 5", cuts("u o+x u t-x u a", 1));
    ASSERT_STR("3 5", cuts("u a+x u c-x u a", 1));
}

TEST(calls, and_requests_have_ids_of_their_own)
{
    ASSERT_STR("3", cuts("u a+x u a!x", 1));
    ASSERT_STR("3", cuts("u a?x u t-x", 1));
}

/* One pair of contents, two turns apart, of a shape. */
static void check_pair(pdr_row_shape shape, const char *call,
                       const char *result, bool is_pair)
{
    static char bodies[2][600];
    const pdr_entry rows[] = {
        {.seq = 1, .kind = PDR_ROW_MESSAGE, .shape = shape},
        {.seq = 2, .kind = PDR_ROW_MESSAGE, .shape = shape}};
    struct pdr__calls calls = PDR_CALLS_INIT;
    const char *const contents[] = {call, result};
    uint64_t back = 0;

    for (size_t i = 0; i < 2; i++) {
        pdr_entry row = rows[i];
        pdr_value *body = NULL;
        snprintf(bodies[i], sizeof(bodies[i]),
                 "{\"role\":\"assistant\",\"%s\":[7,%s]}",
                 shape == PDR_ROW_SK ? "Items" : "contents", contents[i]);
        row.body = pdr_str_c(bodies[i]);
        ASSERT_RC(PDR_OK, pdr__row_body(&body, &row, NULL));
        ASSERT(body != NULL);
        ASSERT_RC(PDR_OK, pdr__calls_read(&back, &calls, &row, body,
                                          row.seq * 10, NULL));
        if (i == 0)
            ASSERT_INT(PDR_NO_TURN, back);
        pdr_value_free(body);
    }
    if (is_pair != (back == 10))
        fail_msg("%s and %s", call, result);
    pdr__calls_dispose(&calls);
}

static const struct {
    pdr_row_shape shape;
    const char *call, *result;
} call_pairs[] = {
    {PDR_ROW_DOTNET, "{\"$type\":\"mcpServerToolCall\",\"callId\":\"1\"}",
     "{\"$type\":\"mcpServerToolResult\",\"callId\":\"1\"}"},
    {PDR_ROW_DOTNET, "{\"$type\":\"functionCall\",\"CallId\":\"\\u0031\"}",
     "{\"$type\":\"functionResult\",\"callID\":\"1\"}"},
    {PDR_ROW_DOTNET, "{\"$type\":\"codeInterpreterToolCall\",\"callId\":\"1\"}",
     "{\"$type\":\"codeInterpreterToolResult\",\"callId\":\"1\"}"},
    {PDR_ROW_DOTNET, "{\"$type\":\"toolCall\",\"callId\":\"1\"}",
     "{\"$type\":\"toolResult\",\"callId\":\"1\"}"},
    {PDR_ROW_DOTNET, "{\"$type\":\"inputRequest\",\"requestId\":\"1\"}",
     "{\"$type\":\"inputResponse\",\"requestId\":\"1\"}"},
    {PDR_ROW_DOTNET, "{\"$type\":\"functionApprovalRequest\",\"id\":\"1\"}",
     "{\"$type\":\"functionApprovalResponse\",\"id\":\"1\"}"},
    {PDR_ROW_DOTNET,
     "{\"$type\":\"mcpServerToolApprovalRequest\",\"id\":\"1\"}",
     "{\"$type\":\"mcpServerToolApprovalResponse\",\"id\":\"1\"}"},
    {PDR_ROW_PYTHON,
     "{\"type\":\"image_generation_tool_call\",\"image_id\":\"1\"}",
     "{\"type\":\"image_generation_tool_result\",\"image_id\":\"1\"}"},
    {PDR_ROW_PYTHON, "{\"type\":\"search_tool_call\",\"call_id\":\"1\"}",
     "{\"type\":\"search_tool_result\",\"call_id\":\"1\"}"},
    {PDR_ROW_PYTHON, "{\"type\":\"shell_tool_call\",\"call_id\":\"1\"}",
     "{\"type\":\"shell_tool_result\",\"call_id\":\"1\"}"},
    {PDR_ROW_PYTHON, "{\"type\":\"computer_tool_call\",\"call_id\":\"1\"}",
     "{\"type\":\"computer_tool_result\",\"call_id\":\"1\"}"},
    {PDR_ROW_STATE, "{\"$type\":\"functionCall\",\"callId\":\"\\ud800\"}",
     "{\"$type\":\"functionResult\",\"callId\":\"\\ud800\"}"},
    /* In a state document of another library, also as a repair puts it. */
    {PDR_ROW_STATE,
     "{\"$type\":\"unknown\",\"content\":{\"item\":{\"$type\":"
     "\"mcpServerToolCall\",\"callId\":\"1\"}}}",
     "{\"$type\":\"unknown\",\"content\":{\"type\":"
     "\"mcp_server_tool_result\",\"call_id\":\"1\"}}"},
    {PDR_ROW_STATE,
     "{\"$type\":\"unknown\",\"content\":{\"type\":"
     "\"function_approval_request\",\"id\":\"7\",\"function_call\":{"
     "\"type\":\"function_call\",\"call_id\":\"1\"}}}",
     "{\"$type\":\"functionResult\",\"callId\":\"1\"}"},
    /* In another shape than the one that has the kind. */
    {PDR_ROW_DOTNET,
     "{\"additionalProperties\":{\"perdure\":{\"shape\":\"python\","
     "\"content\":{\"type\":\"shell_tool_call\",\"call_id\":\"1\"}}}}",
     "{\"additionalProperties\":{\"perdure\":{\"shape\":\"python\","
     "\"content\":{\"type\":\"shell_tool_result\",\"call_id\":\"1\"}}}}"},
    {PDR_ROW_PYTHON,
     "{\"type\":\"unknown\",\"additional_properties\":{\"perdure\":{"
     "\"shape\":\"dotnet\",\"content\":{\"$type\":\"toolCall\",\"callId\":"
     "\"1\"}}}}",
     "{\"type\":\"function_result\",\"call_id\":\"1\"}"},
    {PDR_ROW_SK, "{\"$type\":\"FunctionCallContent\",\"Id\":\"1\"}",
     "{\"$type\":\"FunctionResultContent\",\"CallId\":\"1\"}"},
    {PDR_ROW_SK,
     "{\"$type\":\"TextContent\",\"Text\":\"\",\"Metadata\":{"
     "\"perdure\":{\"shape\":\"dotnet\",\"content\":{\"$type\":"
     "\"toolCall\",\"callId\":\"1\"}}}}",
     "{\"$type\":\"FunctionResultContent\",\"CallId\":\"1\"}"},
};

TEST(calls, are_known_in_every_spelling)
{
    for (size_t i = 0; i < sizeof(call_pairs) / sizeof(call_pairs[0]); i++) {
        check_pair(call_pairs[i].shape, call_pairs[i].call,
                   call_pairs[i].result, true);
        check_pair(call_pairs[i].shape, call_pairs[i].result,
                   call_pairs[i].call, false);
    }
    check_pair(PDR_ROW_STATE, "{\"$type\":\"unknown\"}",
               "{\"$type\":\"unknown\",\"content\":3}", false);
    check_pair(PDR_ROW_DOTNET, "{\"$type\":\"text\",\"text\":\"x\"}",
               "{\"$type\":\"functionResult\",\"callId\":\"1\"}", false);
    check_pair(PDR_ROW_PYTHON, "{\"type\":\"oauth_consent_request\"}",
               "{\"type\":\"newer\"}", false);
}

/* --- the survey ------------------------------------------------------------
 */

TEST(survey, is_done_when_no_call_waits)
{
    struct pdr__survey survey;
    struct past past;

    past_read(&past, "u a+x u a t-x u a", PDR_ROW_PYTHON);
    pdr__survey_init(&survey, 1);
    survey.count_limit = 3;
    for (size_t i = 0; i < past.count; i++) {
        ASSERT_INT(i > 4, pdr__survey_is_done(&survey));
        ASSERT_RC(PDR_OK, pdr__survey_add(&survey, &past.rows[i], NULL));
        ASSERT_INT(i + 2, survey.next);
    }
    ASSERT_SIZE(0, survey.count); /* the result took it back */
    pdr__survey_dispose(&survey);
    past_dispose(&past);
}

TEST(survey, hears_of_results_that_come_later)
{
    struct pdr__survey survey;
    struct past past;

    past_read(&past, "u a u a+x u a t-x", PDR_ROW_PYTHON);
    pdr__survey_init(&survey, 1);
    survey.count_limit = 5;
    for (size_t i = 0; i < 6; i++)
        ASSERT_RC(PDR_OK, pdr__survey_add(&survey, &past.rows[i], NULL));
    ASSERT_RC(PDR_OK, pdr__survey_end(&survey, NULL));
    ASSERT(!pdr__survey_is_done(&survey));
    ASSERT_SIZE(2, survey.count);
    ASSERT_RC(PDR_OK, pdr__survey_add(&survey, &past.rows[6], NULL));
    ASSERT(pdr__survey_is_done(&survey));
    ASSERT_SIZE(1, survey.count);
    ASSERT_INT(3, survey.cuts[0].seq);
    ASSERT_INT(1, survey.cuts[0].turns);
    pdr__survey_dispose(&survey);
    past_dispose(&past);
}

TEST(survey, lets_a_result_come_too_late)
{
    struct pdr__survey survey;
    struct past past;

    past_read(&past, "u a+x u a u a t-x", PDR_ROW_PYTHON);
    pdr__survey_init(&survey, 1);
    survey.count_limit = 5;
    for (size_t i = 0; i < 6; i++)
        ASSERT_RC(PDR_OK, pdr__survey_add(&survey, &past.rows[i], NULL));
    survey.first = 3; /* its call is gone */
    ASSERT_RC(PDR_OK, pdr__survey_add(&survey, &past.rows[6], NULL));
    ASSERT_SIZE(2, survey.count);
    pdr__survey_dispose(&survey);
    past_dispose(&past);
}

TEST_OOM(survey, cleans_up_after_any_failed_allocation)
{
    struct pdr__survey survey;
    struct past past;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    past_read(&past, "q r+x?z q-x+\\u0061b r?y q!y r q-x", PDR_ROW_PYTHON);
    pdr__survey_init(&survey, 1);
    survey.count_limit = 9;
    for (size_t i = 0; i < past.count && rc == PDR_OK; i++)
        rc = pdr__survey_add(&survey, &past.rows[i], &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_RC(rc, err.code);
    pdr__survey_dispose(&survey);
    past_dispose(&past);
}
