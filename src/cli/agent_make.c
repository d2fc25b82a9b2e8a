/*
 * agent_make.c - the agent that --agent describes.
 */
#include "agent_parts.h"

#include <stdlib.h>

pdr_rc agt_read(pdr_buf *out, const struct cli *cli, const char *path,
                pdr_err *err)
{
    const struct cli_limits limits = {.max_bytes = 0};
    struct cli_input in;
    pdr_rc rc = cli_input_open(&in, cli, path, err);

    if (rc != PDR_OK)
        return rc;
    rc = cli_input_rest(out, &in, &limits, err);
    cli_input_close(&in);
    return rc;
}

/* The part of SPEC behind "NAME=" and a scheme; NULL if it has another one. */
static const char *spec_rest(const char *spec, const char *scheme)
{
    const char *equals = spec != NULL ? strchr(spec, '=') : NULL;

    if (equals == NULL || equals == spec ||
        strncmp(equals + 1, scheme, strlen(scheme)) != 0 ||
        equals[1 + strlen(scheme)] == '\0')
        return NULL;
    return equals + 1 + strlen(scheme);
}

/* A client for "URL#MODEL"; exit status. */
static int make_openai(struct agt_made *made, struct cli *cli, const char *rest)
{
    const char *mark = strrchr(rest, '#');
    const struct cli_about about = {.name = "--agent"};
    pdr_openai_opts opts = {.model = mark != NULL ? mark + 1 : ""};
    pdr_buf url = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (opts.model[0] == '\0')
        return doc_usage(cli, "--agent", "names no model",
                         "write --agent helper=openai:http://localhost:11434/"
                         "v1#qwen3:8b");
    if (made->key_env != NULL) {
        opts.api_key = getenv(made->key_env);
        if (opts.api_key == NULL || opts.api_key[0] == '\0')
            return doc_usage(cli, "--key-env",
                             "names a variable that is not set",
                             "set and export it, or leave the option out");
    }
    cli_must(pdr_buf_append(&url, pdr_str_n(rest, (size_t)(mark - rest)), &err),
             &err);
    cli_must(pdr_buf_append(&url, pdr_str_n("", 1), &err), &err);
    opts.base_url = url.ptr;
    if (pdr_client_openai(&made->client, &opts, &err) != PDR_OK)
        status = cli_fail(cli, &about, &err);
    pdr_buf_dispose(&url);
    return status;
}

/* A client for a file of replies; exit status. */
static int make_script(struct agt_made *made, struct cli *cli, const char *file)
{
    struct cli_about about = {.name = file};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    CLI_TRY(agt_read(&text, cli, file, &err));
    about.input = pdr_buf_str(&text);
    CLI_TRY(pdr_client_script(&made->client, pdr_buf_str(&text), &err));
done:
    if (rc != PDR_OK)
        status = cli_fail(cli, &about, &err);
    pdr_buf_dispose(&text);
    return status;
}

struct noticing {
    const struct cli *cli;
    const char *file;
};

/* A pdr_notice_fn: what is not as it was perhaps meant. */
static pdr_rc on_notice(const pdr_notice *notice, pdr_err *err, void *arg)
{
    const struct noticing *n = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    if (notice->severity == PDR_SEVERITY_WARNING && !n->cli->quiet) {
        agt_put_place(&line, n->file, notice);
        cli_show(&line, notice->text, CLI_TEXT_LINE);
        cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    }
    pdr_buf_dispose(&line);
    return PDR_OK;
}

/* A pdr_tool_fn: the model hears that a program failed, the user also why. */
static pdr_rc run_command(pdr_value **out, const pdr_tool_call *call,
                          pdr_err *err, void *arg)
{
    pdr_rc rc = pdr_command_run(out, call, err, arg);
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (rc != PDR_OK && rc != PDR_ECANCELLED) {
        cli_show(&line, call->name, CLI_TEXT_LINE);
        cli_putf(&line, " failed: ");
        cli_show(&line, pdr_str_c(err->message), CLI_TEXT_LINE);
        cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    }
    pdr_buf_dispose(&line);
    return rc;
}

/* The agent of a definition file; exit status. */
static int make_defined(struct agt_made *made, struct cli *cli,
                        const char *file, pdr_str name)
{
    const pdr_definition definition = {
        .name = name,
        .id = name,
        .command = made->is_served ? NULL : run_command};
    struct noticing noticing = {cli, file};
    const pdr_host_agent *agent = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (made->key_env != NULL)
        return doc_usage(cli, "--key-env", "is not for a definition file",
                         "the file names it: apiKey: =Env.VAR");
    cli_must(pdr_host_new(&made->host, &err), &err);
    if (agt_load(&agent, made->host, &text, cli, file, definition, &err,
                 on_notice, &noticing) == PDR_OK)
        made->agent = pdr_agent_ref(agent->agent);
    else
        status = agt_fail(cli, file, pdr_buf_str(&text), &err);
    pdr_buf_dispose(&text);
    return status;
}

int agt_make(struct agt_made *made, struct cli *cli)
{
    const char *script = spec_rest(made->spec, "script:");
    const char *server = spec_rest(made->spec, "openai:");
    const char *file = spec_rest(made->spec, "");
    const struct cli_about about = {.name = "--agent"};
    pdr_agent_parts parts = {.name = {NULL, 0}};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (file == NULL || strcmp(file, "script:") == 0 ||
        strcmp(file, "openai:") == 0)
        return doc_usage(cli, "--agent",
                         made->spec == NULL ? "is missing"
                                            : "is not NAME=FILE, "
                                              "NAME=script:FILE or "
                                              "NAME=openai:URL#MODEL",
                         "write --agent helper=helper.yaml");
    parts.name = pdr_str_n(made->spec, (size_t)(file - 1 - made->spec));
    if (script == NULL && server == NULL)
        return make_defined(made, cli, file, parts.name);
    parts.id = parts.name; /* the same in any process, as a chat needs it */
    status = script != NULL ? make_script(made, cli, script)
                            : make_openai(made, cli, server);
    if (status != 0)
        return status;
    parts.client = made->client;
    if (pdr_agent_new(&made->agent, &parts, &err) != PDR_OK)
        status = cli_fail(cli, &about, &err);
    return status;
}

void agt_made_free(struct agt_made *made)
{
    pdr_agent_free(made->agent);
    pdr_host_free(made->host);
    pdr_client_free(made->client);
}
