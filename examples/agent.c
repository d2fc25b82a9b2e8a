/*
 * agent.c - an agent with a tool, on a session that survives.
 *
 *     agent STORE SCRIPT TEXT
 *
 * Says TEXT to an agent and prints its answer. The model is the file SCRIPT
 * (docs/formats/script.md); its tool "add" is the C function below. What was
 * said is in the session "desk" of STORE: run it again, and it goes on.
 */
#include <perdure.h>
#include <stdio.h>

/* {"a":1,"b":2} gives 3. The schema below has checked the arguments. */
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

/* A piece of the answer, as it comes. */
static pdr_rc print_piece(const pdr_update *update, pdr_err *err, void *arg)
{
    for (size_t i = 0; i < update->content_count; i++) {
        const pdr_value *text = pdr_content_get(
            update->contents[i], *(pdr_shape *)arg, PDR_FIELD_TEXT);
        pdr_buf room = PDR_BUF_INIT(1 << 20);
        pdr_str bytes = {NULL, 0};

        if (text != NULL && pdr_value_text(&bytes, text, &room, err) == PDR_OK)
            printf("%.*s", (int)bytes.len, bytes.ptr);
        pdr_buf_dispose(&room);
    }
    return PDR_OK;
}

int main(int argc, char **argv)
{
    static const char schema[] =
        "{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"properties\":"
        "{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}}}";
    const pdr_ref desk = {.id = pdr_str_c("desk")};
    const pdr_stored_opts create = {.create = true};
    pdr_run run = {.now_ms =
                       (pdr_now() - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS};
    pdr_tool tool = {
        .name = "add", .description = "adds two numbers", .fn = add};
    pdr_agent_parts parts = {
        .name = pdr_str_c("clerk"), .tools = &tool, .tool_count = 1};
    pdr_buf script = PDR_BUF_INIT(1 << 20);
    pdr_value *parameters = NULL;
    pdr_response *answer = NULL;
    pdr_agent *agent = NULL;
    pdr_store *store = NULL;
    pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    FILE *file = NULL;

    if (argc != 4)
        return fprintf(stderr, "usage: agent STORE SCRIPT TEXT\n"), 2;
    file = fopen(argv[2], "rb");
    if (file == NULL)
        return perror(argv[2]), 3;
    rc = pdr_buf_reserve(&script, 1 << 16, &err);
    if (rc == PDR_OK)
        script.len = fread(script.ptr, 1, 1 << 16, file);
    fclose(file);
    if (rc == PDR_OK)
        rc = pdr_client_script(&parts.client, pdr_buf_str(&script), &err);
    if (rc == PDR_OK)
        rc = pdr_json_read(&parameters, pdr_str_c(schema), NULL, &err);
    tool.parameters = parameters;
    if (rc == PDR_OK)
        rc = pdr_agent_new(&agent, &parts, &err);
    if (rc == PDR_OK)
        rc = pdr_store_open(&store, argv[1], &err);
    if (rc == PDR_OK)
        rc = pdr_stored_open(&run.stored, store, &desk, &create, &err);
    run.text = pdr_str_c(argv[3]);
    run.fn = print_piece;
    run.arg = &shape;
    if (rc == PDR_OK)
        rc = pdr_agent_run(&answer, agent, &run, &err);
    puts("");
    if (rc != PDR_OK)
        fprintf(stderr, "agent: %s\n", err.message);
    pdr_response_free(answer);
    pdr_stored_close(run.stored);
    pdr_store_close(store);
    pdr_agent_free(agent);
    pdr_client_free(parts.client);
    pdr_value_free(parameters);
    pdr_buf_dispose(&script);
    return pdr_rc_exit_status(rc);
}
