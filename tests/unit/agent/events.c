/*
 * What a listener hears of a run: each step, how it ended, and nothing of what
 * was said.
 */
#include <perdure.h>

#include "agent.h"
#include "test.h"

#define SECRET "PLANTED-7f3a"

struct heard {
    char text[4096]; /* "event field=value ...; " of all, times as "#" */
    size_t len;
};

static void note(pdr_log_level level, pdr_str event,
                 const pdr_log_field *fields, size_t count, void *arg)
{
    static const char *const letters[] = {"D", "I", "W", "E"};
    struct heard *h = arg;

#define NOTE(...)                                                          \
    h->len += (size_t)snprintf(h->text + h->len, sizeof(h->text) - h->len, \
                               __VA_ARGS__)
    NOTE("%s %.*s", letters[level], (int)event.len, event.ptr);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].text.ptr != NULL)
            NOTE(" %s=%.*s", fields[i].name, (int)fields[i].text.len,
                 fields[i].text.ptr);
        else if (strcmp(fields[i].name, "ms") == 0)
            NOTE(" ms=%s", fields[i].number >= 0 ? "#" : "before the run");
        else
            NOTE(" %s=%lld", fields[i].name, (long long)fields[i].number);
    }
    NOTE("\n");
#undef NOTE
}

static pdr_rc tool_echo(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    (void)err;
    (void)arg;
    *out = pdr_value_ref(call->arguments);
    return PDR_OK;
}

/* Run an agent with this script; what was heard. */
static pdr_rc hear(struct heard *heard, const char *script, bool has_session)
{
    const pdr_tool tool = {
        .name = "echo", .description = SECRET, .fn = tool_echo};
    const pdr_session_parts parts = {.id = pdr_str_c("s-1")};
    pdr_agent_parts agent_parts = {.id = pdr_str_c("a-1"),
                                   .instructions = pdr_str_c(SECRET),
                                   .tools = &tool,
                                   .tool_count = 1,
                                   .log = note,
                                   .log_arg = heard};
    pdr_run run = {.text = pdr_str_c("go " SECRET)};
    pdr_agent *agent = NULL;
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    memset(heard, 0, sizeof(*heard));
    ASSERT_RC(PDR_OK,
              pdr_client_script(&agent_parts.client, pdr_str_c(script), &err));
    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &agent_parts, &err));
    if (has_session)
        ASSERT_RC(PDR_OK,
                  pdr_agent_create_session(&run.session, agent, &parts, &err));
    rc = pdr_agent_run(&response, agent, &run, &err);
    pdr_response_free(response);
    pdr_session_free(run.session);
    pdr_agent_free(agent);
    pdr_client_free(agent_parts.client);
    return rc;
}

TEST(events, tell_each_step_and_nothing_of_what_was_said)
{
    struct heard heard;

    ASSERT_RC(PDR_OK,
              hear(&heard,
                   "{\"replies\":[{\"after\":\"echo\",\"calls\":[{\"name\":"
                   "\"" SECRET "\"}]},{\"after\":\"" SECRET
                   "\",\"text\":\"" SECRET
                   "\",\"usage\":{\"inputTokenCount\":3,\"outputTokenCount\":"
                   "2}},{\"calls\":[{\"name\":\"echo\",\"arguments\":{\"n\":"
                   "\"" SECRET "\"}}]}]}",
                   true));
    ASSERT_STR("I run_started agent=a-1 session=s-1\n"
               "D model_asked messages=1 tools=1\n"
               "D model_answered ms=# input_tokens=0 output_tokens=0 "
               "outcome=ok\n"
               "I tool_called tool=echo ms=# outcome=ok\n"
               "D model_asked messages=3 tools=1\n"
               "D model_answered ms=# input_tokens=0 output_tokens=0 "
               "outcome=ok\n"
               "I tool_called tool=? ms=# outcome=unknown\n"
               "D model_asked messages=5 tools=1\n"
               "D model_answered ms=# input_tokens=3 output_tokens=2 "
               "outcome=ok\n"
               "I run_ended agent=a-1 session=s-1 ms=# outcome=ok\n",
               heard.text);
    ASSERT(strstr(heard.text, SECRET) == NULL);
}

TEST(events, tell_why_a_run_failed)
{
    struct heard heard;

    ASSERT_RC(PDR_EMODEL,
              hear(&heard, "{\"replies\":[{\"fail\":\"" SECRET "\"}]}", false));
    ASSERT_STR("I run_started agent=a-1 session=\n"
               "D model_asked messages=1 tools=1\n"
               "D model_answered ms=# input_tokens=0 output_tokens=0 "
               "outcome=model_failed\n"
               "E run_ended agent=a-1 session= ms=# outcome=model_failed\n",
               heard.text);
}

TEST(events, tell_what_is_known_of_failures)
{
    const struct pdr__tool tool = {.name = (char *)(uintptr_t) "echo"};
    struct heard heard;
    const pdr_log log = {note, &heard};
    const pdr_err why = {.code = PDR_EMODEL, .reason = "model_rate_limit"};

    memset(&heard, 0, sizeof(heard));
    pdr__event_tool_called(&log, pdr__event_time(&log), &tool, true);
    pdr__event_request_retried(&log, 250, &why);
    pdr__event_model_answered(&log, pdr__event_time(&log), NULL, PDR_EIO, NULL);
    ASSERT_STR("I tool_called tool=echo ms=# outcome=failed\n"
               "W request_retried wait_ms=250 reason=model_rate_limit\n"
               "D model_answered ms=# input_tokens=0 output_tokens=0 "
               "outcome=IO\n",
               heard.text);
    ASSERT_INT(0, pdr__event_time(NULL));
}
