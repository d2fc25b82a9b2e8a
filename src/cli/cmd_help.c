/*
 * perdure help - the commands, and what each takes.
 *
 * With -o json or jsonl it prints the tables of all commands; the check of the
 * man pages reads that.
 */
#include "cli.h"

static const struct cli_command *find(const char *name)
{
    size_t count = 0;
    const struct cli_command *const *all = cli_commands(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* --- finding a command --------------------------------------------------- */

static int unknown(struct cli *cli, const char *name)
{
    const char *names[32];
    size_t count = 0;
    const struct cli_command *const *all = cli_commands(&count);
    const char *near = NULL;
    struct cli_usage bad = {.reason = "unknown_command",
                            .why = "no such command"};

    for (size_t i = 0; i < count && i < CLI_COUNT(names); i++)
        names[i] = all[i]->name;
    near = cli_nearest(name, names, count);
    snprintf(bad.what, sizeof(bad.what), "%s", name);
    if (near != NULL)
        snprintf(bad.hint, sizeof(bad.hint), "did you mean 'perdure %s'?",
                 near);
    cli->command = NULL;
    return cli_usage_fail(cli, &bad);
}

int cli_run(struct cli *cli, int argc, char **argv)
{
    const struct cli_command *command = find(argv[0]);

    if (command == NULL) {
        cli_parse_rest(cli, argc, argv);
        return unknown(cli, argv[0]);
    }
    cli->command = command;
    return command->run(cli, argc, argv);
}

int cli_no_command(struct cli *cli)
{
    const struct cli_usage bad = {"missing_argument", "COMMAND",
                                  "an argument is missing", ""};

    return cli_usage_fail(cli, &bad);
}

/* --- the command --------------------------------------------------------- */

/* What `command --help` prints. */
static int help_of(struct cli *cli, const struct cli_command *command)
{
    char name[32];
    char *argv[] = {name, NULL};

    snprintf(name, sizeof(name), "%s", command->name);
    cli->command = command;
    cli->help = true;
    return command->run(cli, 1, argv);
}

static void describe_all(struct cli *cli)
{
    size_t count = 0;
    const struct cli_command *const *all = cli_commands(&count);
    const struct cli_command *self = cli->command;
    bool document = cli->output == CLI_OUTPUT_JSON;
    char *argv[] = {NULL};

    cli->describe = true;
    fputs(document ? "{\"commands\":[\n" : "", stdout);
    for (size_t i = 0; i < count; i++) {
        cli->command = all[i];
        all[i]->run(cli, 0, argv);
        fputs(document && i + 1 < count ? ",\n" : "\n", stdout);
    }
    fputs(document ? "]}\n" : "", stdout);
    cli->describe = false;
    cli->command = self;
}

static void list_all(const struct cli *cli)
{
    size_t count = 0;
    const struct cli_command *const *all = cli_commands(&count);
    bool colored = cli->color_out;

    printf("%sperdure%s - durable, versioned, portable sessions for AI agents\n"
           "\nUsage: perdure COMMAND [OPTIONS] [ARGUMENTS]\n\n%sCommands%s\n",
           cli_on(colored, CLI_BOLD), cli_off(colored),
           cli_on(colored, CLI_BOLD), cli_off(colored));
    for (size_t i = 0; i < count; i++)
        printf("  %s%-10s%s%s\n", cli_on(colored, CLI_CYAN), all[i]->name,
               cli_off(colored), all[i]->summary);
    printf("\n'perdure help COMMAND' shows what a command takes; "
           "the manual is perdure(1).\n");
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *name = NULL;
    const struct cli_command *command = NULL;
    const struct cli_opt opts[] = {
        CLI_MAY("COMMAND", &name, "command to explain; none lists them all"),
    };

    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (name == NULL) {
        if (cli_is_json(cli))
            describe_all(cli);
        else
            list_all(cli);
        return 0;
    }
    command = find(name);
    if (command == NULL)
        return unknown(cli, name);
    return help_of(cli, command);
}

const struct cli_command cli_cmd_help = {
    .name = "help", .summary = "the commands, and what each takes", .run = run};
