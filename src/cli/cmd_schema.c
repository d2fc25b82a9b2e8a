/*
 * perdure schema - the JSON Schema files of state documents.
 *
 * They are part of the library, so what is printed is what `doc check` uses.
 */
#include "cli.h"

static const struct {
    const char *name, *summary;
    pdr_state_schema which;
} schemas[] = {
    {"strict", "what perdure writes", PDR_STATE_STRICT},
    {"tolerant", "what perdure reads", PDR_STATE_TOLERANT},
};

static void list_objects(const struct cli *cli)
{
    bool is_document = cli->output == CLI_OUTPUT_JSON;

    fputs(is_document ? "{\"schemas\":[\n" : "", stdout);
    for (size_t i = 0; i < CLI_COUNT(schemas); i++)
        printf("{\"name\":\"%s\",\"summary\":\"%s\",\"bytes\":%zu}%s\n",
               schemas[i].name, schemas[i].summary,
               pdr_state_schema_text(schemas[i].which).len,
               is_document && i + 1 < CLI_COUNT(schemas) ? "," : "");
    fputs(is_document ? "]}\n" : "", stdout);
}

static void list(const struct cli *cli)
{
    if (cli_is_json(cli)) {
        list_objects(cli);
        return;
    }
    for (size_t i = 0; i < CLI_COUNT(schemas); i++)
        printf("%s%-10s%s%s\n", cli_on(cli->color_out, CLI_CYAN),
               schemas[i].name, cli_off(cli->color_out), schemas[i].summary);
}

/* The file as it is; on one line for a line of JSON. */
static void print(const struct cli *cli, pdr_str text)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (cli->output != CLI_OUTPUT_JSONL) {
        cli_print(cli, text);
        return;
    }
    cli_must(pdr_json_read_borrowed(&value, text, NULL, &err), &err);
    cli_print_json(cli, value);
    puts("");
    pdr_value_free(value);
}

static int run(struct cli *cli, int argc, char **argv)
{
    static const char *const names[] = {"strict", "tolerant"};
    const char *name = NULL, *near = NULL;
    const struct cli_opt opts[] = {
        CLI_MAY("NAME", &name, "strict or tolerant; none lists them"),
    };
    struct cli_usage bad = {.reason = "bad_value", .why = "no such schema"};

    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (name == NULL) {
        list(cli);
        return 0;
    }
    for (size_t i = 0; i < CLI_COUNT(schemas); i++) {
        if (strcmp(schemas[i].name, name) == 0) {
            print(cli, pdr_state_schema_text(schemas[i].which));
            return 0;
        }
    }
    near = cli_nearest(name, names, CLI_COUNT(names));
    snprintf(bad.what, sizeof(bad.what), "%s", name);
    if (near != NULL)
        snprintf(bad.hint, sizeof(bad.hint),
                 "did you mean 'perdure schema %s'?", near);
    else
        snprintf(bad.hint, sizeof(bad.hint), "choose one of %s, %s",
                 schemas[0].name, schemas[1].name);
    return cli_usage_fail(cli, &bad);
}

const struct cli_command cli_cmd_schema = {
    .name = "schema",
    .summary = "the JSON Schema files of state documents",
    .run = run};
