/*
 * engine_host.c - a process with an engine and one durable agent.
 */
#include "engine_host.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"

#define SCRIPT_ROOM 4096u

static char question[TALK_TEXT_ROOM + 32]; /* JSON; written by host_make() */

/* --- the agent ------------------------------------------------------------ */

static pdr_rc tool_answer(pdr_value **out, const pdr_tool_call *call,
                          pdr_err *err, void *arg)
{
    (void)call;
    (void)arg;
    return pdr_value_new_string(out, pdr_str_c("four euros, at seven"), err);
}

static void write_script(char out[SCRIPT_ROOM], enum host_model model)
{
    static const char tools[] =
        "{\"after\":\"fourth\",\"text\":\"%s\"},"
        "{\"after\":\"second\",\"calls\":[{\"name\":\"third\"},"
        "{\"name\":\"fourth\"}]},"
        "{\"calls\":[{\"name\":\"first\"},{\"name\":\"second\"}]}";
    char answer[TALK_TEXT_ROOM], replies[SCRIPT_ROOM - 32];

    (void)talk_text(answer, TALK_ANSWER);
    if (model == HOST_TOOLS)
        snprintf(replies, sizeof(replies), tools, answer);
    else if (model == HOST_SPEAKS)
        snprintf(replies, sizeof(replies),
                 "{\"text\":[\"a \",\"b \",\"c \",\"d \",\"%s\"],"
                 "\"delay_ms\":%u}",
                 answer, HOST_SLEEP_MS);
    else
        snprintf(replies, sizeof(replies), "{\"text\":\"%s\",\"delay_ms\":%u}",
                 answer, model == HOST_SLEEPS ? HOST_SLEEP_MS : 0);
    snprintf(out, SCRIPT_ROOM, "{\"replies\":[%s]}", replies);
}

static pdr_agent *make_agent(enum host_model model)
{
    static const pdr_tool tools[] = {
        {.name = "first", .fn = tool_answer, .is_repeatable = true},
        {.name = "second", .fn = tool_answer, .is_repeatable = true},
        {.name = "third", .fn = tool_answer, .is_repeatable = true},
        {.name = "fourth", .fn = tool_answer, .is_repeatable = true}};
    pdr_agent_parts parts = {
        .name = pdr_str_c("clerk"),
        .instructions = pdr_str_c("You are a helpful clerk."),
        .window_messages = model == HOST_ANSWERS_ALL ? 0 : HOST_WINDOW,
        .tools = tools,
        .tool_count = model == HOST_TOOLS ? 4 : 0};
    char script[SCRIPT_ROOM];
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;

    write_script(script, model);
    talk_must(pdr_client_script(&parts.client, pdr_str_c(script), &err), &err);
    talk_must(pdr_agent_new(&agent, &parts, &err), &err);
    pdr_client_free(parts.client);
    return agent;
}

/* --- the process ---------------------------------------------------------- */

void host_make(struct host *host, const struct fill *fill, pdr_store *store,
               enum host_model model, unsigned workers)
{
    const pdr_engine_opts opts = {.workers = workers};
    char text[TALK_TEXT_ROOM];
    pdr_err err = PDR_ERR_INIT;

    snprintf(question, sizeof(question), "{\"message\":\"%s\"}",
             talk_text(text, TALK_QUESTION));
    *host = (struct host){.store = store != NULL ? store : fill_open(fill),
                          .agent = make_agent(model),
                          .is_ours = store == NULL};
    const pdr_durable_agent agent = {.agent = host->agent};
    const pdr_durable_opts durable = {.agents = &agent, .count = 1};
    talk_must(pdr_durable_new(&host->durable, &durable, &err), &err);
    talk_must(pdr_engine_new(&host->engine, host->store, &opts, &err), &err);
    talk_must(pdr_durable_attach(host->engine, host->durable, &err), &err);
}

void host_start(struct host *host, const struct fill *fill, pdr_store *store,
                enum host_model model, unsigned workers)
{
    pdr_err err = PDR_ERR_INIT;

    host_make(host, fill, store, model, workers);
    talk_must(pdr_engine_start(host->engine, &err), &err);
}

void host_stop(struct host *host)
{
    pdr_err err = PDR_ERR_INIT;

    talk_must(
        pdr_engine_stop(host->engine, PDR_STOP_FINISH, HOST_WAIT_MS, &err),
        &err);
    pdr_engine_free(host->engine);
    pdr_durable_free(host->durable);
    pdr_agent_free(host->agent);
    if (host->is_ours)
        pdr_store_close(host->store);
}

const char *host_id(char out[HOST_ID_ROOM], size_t n)
{
    snprintf(out, HOST_ID_ROOM, "@dafx-clerk@%06zu", n);
    return out;
}

pdr_operation host_question(const char *id, const char *correlation_id)
{
    pdr_operation operation = {.session = {.id = pdr_str_c(id)},
                               .name = pdr_str_c("run"),
                               .input = pdr_str_c(question)};

    if (correlation_id != NULL)
        operation.correlation_id = pdr_str_c(correlation_id);
    return operation;
}

void host_turn(size_t session, void *arg)
{
    struct host *host = arg;
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    char id[HOST_ID_ROOM];
    const pdr_operation operation = host_question(host_id(id, session), NULL);

    talk_must(pdr_engine_call(&ending, NULL, host->engine, &operation,
                              HOST_WAIT_MS, &err),
              &err);
    if (ending->state != PDR_OPERATION_COMPLETED || ending->answer.ptr == NULL)
        bench_fail("a run ended with %.*s", (int)ending->outcome.len,
                   ending->outcome.ptr);
    pdr_ending_free(ending);
}
