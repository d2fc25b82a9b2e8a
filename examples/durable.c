/*
 * durable.c - a durable agent with a tool: killed anywhere, it goes on.
 *
 *     durable STORE
 *
 * Asks the agent "clerk" for a sum, on its session "desk" in STORE, and prints
 * the answer, an entry of the session's state document. Run it again, and the
 * conversation goes on; kill it, and the next one finishes what was begun.
 */
#include <perdure.h>
#include <stdio.h>

/* The answers of the model: docs/formats/script.md. */
static const char script[] =
    "{\"replies\":[{\"after\":\"add\",\"text\":\"That is {result}.\"},"
    "{\"calls\":[{\"name\":\"add\",\"arguments\":{\"a\":40,\"b\":2}}]}]}";

/* The result is stored before the model gets it: so a call that has ended is
 * never made again. Of one that was begun, `call->token` tells. */
static pdr_rc add(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                  void *arg)
{
    int64_t a = 0, b = 0;
    pdr_rc rc = pdr_value_int64(&a, pdr_value_get_c(call->arguments, "a"), err);

    (void)arg;
    if (rc == PDR_OK)
        rc = pdr_value_int64(&b, pdr_value_get_c(call->arguments, "b"), err);
    return rc == PDR_OK ? pdr_value_new_int64(out, a + b, err) : rc;
}

int main(int argc, char **argv)
{
    const pdr_tool tool = {.name = "add", .fn = add};
    pdr_agent_parts parts = {
        .name = pdr_str_c("clerk"), .tools = &tool, .tool_count = 1};
    pdr_durable_agent agent = {.ttl_ms = PDR_NEVER};
    const pdr_durable_opts opts = {.agents = &agent, .count = 1};
    const pdr_operation run = {.session = {.id = pdr_str_c("@dafx-clerk@desk")},
                               .name = pdr_str_c("run"),
                               .input =
                                   pdr_str_c("{\"message\":\"The sum?\"}")};
    const pdr_query head = {.what = PDR_READ_HEAD, .ref = run.session};
    pdr_durable *durable = NULL;
    pdr_engine *engine = NULL;
    pdr_ending *ending = NULL;
    pdr_store *store = NULL;
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc != 2)
        return fprintf(stderr, "usage: durable STORE\n"), 2;
    rc = pdr_client_script(&parts.client, pdr_str_c(script), &err);
    if (rc == PDR_OK)
        rc = pdr_agent_new(&agent.agent, &parts, &err);
    if (rc == PDR_OK)
        rc = pdr_durable_new(&durable, &opts, &err);
    if (rc == PDR_OK)
        rc = pdr_store_open(&store, argv[1], &err);
    if (rc == PDR_OK)
        rc = pdr_engine_new(&engine, store, NULL, &err);
    if (rc == PDR_OK)
        rc = pdr_durable_attach(engine, durable, &err);
    if (rc == PDR_OK) /* from now on it also works off what others left */
        rc = pdr_engine_start(engine, &err);
    if (rc == PDR_OK)
        rc = pdr_engine_call(&ending, NULL, engine, &run, 60000, &err);
    if (rc == PDR_OK)
        rc = pdr_store_read(&page, store, &head, &err);
    if (rc == PDR_OK)
        printf("%.*s\n%d entries\n", (int)ending->answer.len,
               ending->answer.ptr,
               (int)(page->head.next_seq - page->head.first_seq));
    else
        fprintf(stderr, "durable: %s\n", err.message);
    pdr_page_free(page);
    pdr_ending_free(ending);
    pdr_engine_free(engine);
    pdr_store_close(store);
    pdr_durable_free(durable);
    pdr_agent_free(agent.agent);
    pdr_client_free(parts.client);
    return pdr_rc_exit_status(rc);
}
