/*
 * perdure agent check - can this definition file be used, and what is it?
 *
 * WHY  A definition is written by hand and read by several programs. What keeps
 *      it from being used, what is not used of it, and what another loader does
 *      with it is said here, with the line, before a model is asked.
 */
#include "agent_parts.h"
#include "doc_parts.h"

struct agent_check {
    struct cli *cli;
    const char *path;
    size_t warnings;   /* of this file */
    pdr_builder *list; /* notices for JSON output, else NULL */
};

/* A pdr_notice_fn. */
static pdr_rc on_notice(const pdr_notice *notice, pdr_err *err, void *arg)
{
    struct agent_check *c = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    const char *severity = pdr_severity_name(notice->severity);

    (void)err;
    c->warnings += notice->severity == PDR_SEVERITY_WARNING;
    if (c->list != NULL) {
        pdr_builder_object(c->list);
        cli_member_text(c->list, "severity", pdr_str_c(severity));
        cli_member_count(c->list, "line", notice->line);
        cli_member_count(c->list, "column", notice->column);
        cli_member_text(c->list, "text", notice->text);
        pdr_builder_end(c->list);
        return PDR_OK;
    }
    if (c->cli->output != CLI_OUTPUT_TABLE)
        return PDR_OK;
    agt_put_place(&line, c->path, notice);
    cli_putf(&line, "%s%s%s: ",
             cli_on(c->cli->color_out, notice->severity == PDR_SEVERITY_WARNING
                                           ? CLI_YELLOW
                                           : CLI_CYAN),
             severity, cli_off(c->cli->color_out));
    cli_show(&line, notice->text, CLI_TEXT_LINE);
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
    return PDR_OK;
}

/* --- what it is ----------------------------------------------------------- */

/* Append a member of the definition, as it is written. */
static void put_member(pdr_buf *out, const char *before, const pdr_value *of,
                       const char *name)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str raw = {NULL, 0};
    const pdr_value *value = pdr_value_get_c(of, name);

    if (value != NULL && pdr_value_kind(value) == PDR_STRING)
        raw = doc_text(value, &scratch);
    else if (value != NULL)
        (void)pdr_value_raw(&raw, value); /* `id: 5` */
    if (raw.len > 0) {
        cli_put(out, before);
        cli_show(out, raw, CLI_TEXT_LINE);
    }
    pdr_buf_dispose(&scratch);
}

static void print_agent(const struct agent_check *c,
                        const pdr_host_agent *agent)
{
    const pdr_value *model = pdr_value_get_c(agent->definition, "model");
    const pdr_value *tools = pdr_value_get_c(agent->definition, "tools");
    bool colored = c->cli->color_out;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&line, pdr_str_c(cli_input_name(c->path)), CLI_TEXT_LINE);
    cli_putf(&line, ": %sgood%s: agent ", cli_on(colored, CLI_GREEN),
             cli_off(colored));
    if (agent->name.len > 0)
        cli_show(&line, agent->name, CLI_TEXT_LINE);
    else
        cli_put(&line, "without a name");
    put_member(&line, ", model ", model, "id");
    put_member(&line, ", provider ", model, "provider");
    for (size_t i = 0; i < pdr_value_count(tools); i++)
        put_member(&line, i == 0 ? ", tools " : " ", pdr_value_at(tools, i),
                   "name");
    if (c->warnings > 0)
        cli_putf(&line, ", %s%zu warning%s%s", cli_on(colored, CLI_YELLOW),
                 c->warnings, c->warnings == 1 ? "" : "s", cli_off(colored));
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static void print_object(const struct agent_check *c,
                         const pdr_host_agent *agent, pdr_str text,
                         const pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_value *list = NULL, *object = NULL;
    pdr_err bug = PDR_ERR_INIT;

    pdr_builder_end(c->list);
    cli_must(pdr_builder_finish(&list, c->list, &bug), &bug);
    cli_must(pdr_builder_new(&to, &bug), &bug);
    pdr_builder_object(to);
    cli_member_text(to, "file", pdr_str_c(cli_input_name(c->path)));
    cli_member_bool(to, "good", agent != NULL);
    if (agent != NULL) {
        cli_member_text(to, "name", agent->name);
        pdr_builder_name(to, pdr_str_c("definition"));
        pdr_builder_value(to, agent->definition);
    } else {
        struct cli_place place = {err->path, 0, err->offset, 0, 0};

        pdr_err_locate(&place.line, &place.column, text, err->offset);
        pdr_builder_name(to, pdr_str_c("error"));
        pdr_builder_object(to);
        cli_member_text(to, "reason", pdr_str_c(err->reason));
        cli_member_text(to, "message",
                        pdr_str_c(cli_message(err, place.line, place.column)));
        if (err->offset >= 0)
            cli_member_place(to, &place);
        pdr_builder_end(to);
    }
    pdr_builder_name(to, pdr_str_c("notices"));
    pdr_builder_value(to, list);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &bug), &bug);
    cli_print_json(c->cli, object);
    pdr_value_free(object);
    pdr_value_free(list);
    pdr_builder_free(to);
}

/* --- the command ---------------------------------------------------------- */

static int check_one(struct agent_check *c)
{
    const pdr_host_agent *agent = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    const pdr_definition definition = {.folder = NULL};
    bool is_json = cli_is_json(c->cli);

    cli_must(pdr_host_new(&host, &err), &err);
    if (is_json) {
        cli_must(pdr_builder_new(&c->list, &err), &err);
        pdr_builder_array(c->list);
    }
    rc = agt_load(&agent, host, &text, c->cli, c->path, definition, &err,
                  on_notice, c);
    if (is_json)
        print_object(c, agent, pdr_buf_str(&text), &err);
    else if (rc == PDR_OK && c->cli->output == CLI_OUTPUT_RAW)
        printf("%.*s\n", (int)agent->name.len, agent->name.ptr);
    else if (rc == PDR_OK && !c->cli->quiet)
        print_agent(c, agent);
    if (rc != PDR_OK && !is_json) {
        fflush(stdout);
        (void)agt_fail(c->cli, c->path, pdr_buf_str(&text), &err);
    }
    pdr_builder_free(c->list);
    pdr_host_free(host);
    pdr_buf_dispose(&text);
    return pdr_rc_exit_status(rc);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct cli_args files = {NULL, 0};
    const struct cli_opt opts[] = {
        CLI_ARGS("FILE", &files, "definition file; - is standard input"),
    };
    int status = 0;

    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    bool is_list = files.count > 1 && cli->output == CLI_OUTPUT_JSON;
    for (size_t i = 0; i < files.count; i++) {
        struct agent_check c = {.cli = cli, .path = files.items[i]};
        int one = 0;

        if (is_list)
            fputs(i == 0 ? "[" : ",\n", stdout);
        one = check_one(&c);
        if (cli_is_json(cli) && !is_list)
            puts("");
        status = one > status ? one : status;
    }
    if (is_list)
        puts("]");
    return status;
}

const struct cli_command cli_cmd_agent_check = {
    .name = "agent check",
    .summary = "can a definition file be used, and what is it?",
    .run = run};
