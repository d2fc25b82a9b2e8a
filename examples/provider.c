/*
 * provider.c - a provider of your own, with an agent.
 *
 *     provider TEXT...
 *
 * Says each TEXT to an agent and prints its answers. The provider "notes" keeps
 * what was said in the bag of the session, and gives the model a tool to read
 * it. It has no fields of its own: one serves all sessions.
 */
#include <perdure.h>
#include <stdio.h>

static const char *const keys[] = {"example.notes", NULL};

static pdr_rc read_notes(pdr_value **out, const pdr_tool_call *call,
                         pdr_err *err, void *arg)
{
    (void)arg;
    return pdr_bag_get(out, pdr_session_bag(call->session), pdr_str_c(keys[0]),
                       err);
}

/* Before the model is asked: give it the tool. */
static pdr_rc before(pdr_context *context, const pdr_run_info *run,
                     pdr_err *err, void *self)
{
    const pdr_tool tool = {.name = "notes", .fn = read_notes};

    (void)run;
    (void)self;
    return pdr_context_add_tool(context, &tool, err);
}

/* Called with the slot, which is NULL at first. */
static pdr_rc add_note(pdr_value **io, pdr_err *err, void *arg)
{
    if (*io == NULL)
        *io = pdr_value_new_array();
    return pdr_value_append(io, *(const pdr_value **)arg, err);
}

/* After a run that went well: note what was said. */
static pdr_rc after(const pdr_run_info *run, const pdr_run_outcome *outcome,
                    pdr_err *err, void *self)
{
    const pdr_value *contents = NULL, *text = NULL;

    (void)self;
    if (outcome->error != NULL || run->input_count == 0)
        return PDR_OK;
    contents = pdr_message_contents(run->input[0], run->shape);
    text =
        pdr_content_get(pdr_value_at(contents, 0), run->shape, PDR_FIELD_TEXT);
    if (text == NULL) /* a picture */
        return PDR_OK;
    return pdr_bag_update(pdr_session_bag(run->session), pdr_str_c(keys[0]),
                          err, add_note, &text);
}

int main(int argc, char **argv)
{
    static const char script[] =
        "{\"replies\":[{\"user\":\"?\",\"calls\":[{\"name\":\"notes\"}]},"
        "{\"after\":\"notes\",\"text\":\"You said {result}\"},"
        "{\"text\":\"I see\"}]}";
    const pdr_provider notes = {.name = "notes",
                                .kind = PDR_PROVIDER_CONTEXT,
                                .keys = keys,
                                .before = before,
                                .after = after};
    pdr_agent_parts parts = {.providers = &notes, .provider_count = 1};
    pdr_run run = {.now_ms = 0};
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_client_script(&parts.client, pdr_str_c(script), &err);

    if (rc == PDR_OK)
        rc = pdr_agent_new(&agent, &parts, &err);
    if (rc == PDR_OK)
        rc = pdr_session_new(&run.session, NULL, &err);
    for (int i = 1; rc == PDR_OK && i < argc; i++) {
        pdr_buf text = PDR_BUF_INIT(1 << 20);
        pdr_response *answer = NULL;

        run.text = pdr_str_c(argv[i]);
        rc = pdr_agent_run(&answer, agent, &run, &err);
        if (rc == PDR_OK)
            rc = pdr_response_text(&text, answer, &err);
        printf("%.*s\n", (int)text.len, rc == PDR_OK ? text.ptr : "");
        pdr_response_free(answer);
        pdr_buf_dispose(&text);
    }
    if (rc != PDR_OK)
        fprintf(stderr, "provider: %s\n", err.message);
    pdr_session_free(run.session);
    pdr_agent_free(agent);
    pdr_client_free(parts.client);
    return pdr_rc_exit_status(rc);
}
