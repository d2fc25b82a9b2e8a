/*
 * perdure help - the commands, and what each takes.
 *
 * With -o json or jsonl it prints the tables of all commands; the check of the
 * man pages reads that.
 */
#include "cli.h"

/* The command or verb that a word names, among those of `group`; NULL is the
 * table of main.c. */
static const struct cli_command *find(const struct cli_command *group,
                                      const char *word)
{
    size_t count = 0;
    const struct cli_command *const *all =
        group != NULL ? group->verbs : cli_commands(&count);

    for (size_t i = 0; group != NULL ? all[i] != NULL : i < count; i++)
        if (strcmp(cli_command_word(all[i]), word) == 0)
            return all[i];
    return NULL;
}

/* --- finding a command --------------------------------------------------- */

#define MAX_NAMES 32 /* of commands, or of the verbs of one */

static size_t list_names(const char *names[MAX_NAMES],
                         const struct cli_command *group)
{
    size_t count = MAX_NAMES, given = 0;
    const struct cli_command *const *all =
        group != NULL ? group->verbs : cli_commands(&count);

    for (; given < count && given < MAX_NAMES && all[given] != NULL; given++)
        names[given] = cli_command_word(all[given]);
    return given;
}

static int unknown(struct cli *cli, const struct cli_command *group,
                   const char *word)
{
    const char *names[MAX_NAMES];
    size_t count = list_names(names, group);
    const char *near = cli_nearest(word, names, count);
    const char *front = group != NULL ? group->name : "";
    const char *gap = group != NULL ? " " : "";
    struct cli_usage bad = {.reason = "unknown_command",
                            .why = "no such command"};

    snprintf(bad.what, sizeof(bad.what), "%s%s%s", front, gap, word);
    if (near != NULL)
        snprintf(bad.hint, sizeof(bad.hint), "did you mean 'perdure %s%s%s'?",
                 front, gap, near);
    cli->command = group;
    return cli_usage_fail(cli, &bad);
}

/* A command with verbs, without one of them: its help, its tables, or a
 * complaint. */
static int run_group(struct cli *cli, int argc, char **argv)
{
    const char *verb = NULL;
    const struct cli_opt opts[] = {CLI_ARG("VERB", &verb, "what to do")};

    (void)cli_parse(cli, opts, CLI_COUNT(opts), argc, argv);
    return cli->status;
}

static int no_verb(struct cli *cli, const struct cli_command *group)
{
    struct cli_usage bad = {.reason = "missing_argument",
                            .what = "VERB",
                            .why = "an argument is missing",
                            .hint = "choose of "};

    for (size_t i = 0; group->verbs[i] != NULL; i++) {
        size_t used = strlen(bad.hint);
        snprintf(bad.hint + used, sizeof(bad.hint) - used, "%s%s",
                 i == 0                        ? ""
                 : group->verbs[i + 1] == NULL ? " and "
                                               : ", ",
                 cli_command_word(group->verbs[i]));
    }
    return cli_usage_fail(cli, &bad);
}

static int run_command(struct cli *cli, const struct cli_command *command,
                       int argc, char **argv)
{
    const struct cli_command *verb = NULL;
    struct cli_usage bad = {.reason = NULL};
    int at = 0;

    cli->command = command;
    if (command->verbs == NULL)
        return command->run(cli, argc, argv);
    if (!cli->describe)
        at = cli_parse_between(cli, &bad, argc, argv);
    if (bad.reason != NULL)
        return cli_usage_fail(cli, &bad);
    if (at >= argc && !cli->describe && !cli->help)
        return no_verb(cli, command);
    if (cli->describe || at >= argc)
        return run_group(cli, cli->describe ? 0 : 1, argv);
    verb = find(command, argv[at]);
    if (verb != NULL)
        return run_command(cli, verb, argc - at, argv + at);
    cli_parse_rest(cli, argc - at, argv + at);
    return unknown(cli, command, argv[at]);
}

int cli_run(struct cli *cli, int argc, char **argv)
{
    const struct cli_command *command = find(NULL, argv[0]);

    if (command != NULL)
        return run_command(cli, command, argc, argv);
    cli_parse_rest(cli, argc, argv);
    return unknown(cli, NULL, argv[0]);
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
    cli->help = true;
    return run_command(cli, command, 1, argv);
}

/* The tables of a command and of its verbs. */
static void describe_one(struct cli *cli, const struct cli_command *command,
                         bool document)
{
    char *argv[] = {NULL};

    run_command(cli, command, 0, argv);
    for (size_t i = 0; command->verbs != NULL && command->verbs[i] != NULL;
         i++) {
        fputs(document ? ",\n" : "\n", stdout);
        describe_one(cli, command->verbs[i], document);
    }
}

static void describe_all(struct cli *cli)
{
    size_t count = 0;
    const struct cli_command *const *all = cli_commands(&count);
    const struct cli_command *self = cli->command;
    bool document = cli->output == CLI_OUTPUT_JSON;

    cli->describe = true;
    fputs(document ? "{\"commands\":[\n" : "", stdout);
    for (size_t i = 0; i < count; i++) {
        describe_one(cli, all[i], document);
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

/* The command that the words name, one below the other. */
static int explain(struct cli *cli, const char *const *words, size_t count)
{
    const struct cli_command *command = NULL;
    struct cli_usage none = {"extra_argument", "", "it has no verbs", ""};

    for (size_t i = 0; i < count && words[i] != NULL; i++) {
        const struct cli_command *group = command;
        if (group != NULL && group->verbs == NULL) {
            snprintf(none.what, sizeof(none.what), "%s", group->name);
            return cli_usage_fail(cli, &none);
        }
        command = find(group, words[i]);
        if (command == NULL)
            return unknown(cli, group, words[i]);
    }
    return help_of(cli, command);
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *words[3] = {NULL, NULL, NULL};
    const struct cli_opt opts[] = {
        CLI_MAY("COMMAND", &words[0],
                "command to explain; none lists them all"),
        CLI_MAY("VERB", &words[1], "verb of that command"),
        CLI_MAY("PART", &words[2], "verb of that verb, if it has some"),
    };

    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (words[0] != NULL)
        return explain(cli, words, CLI_COUNT(words));
    if (cli_is_json(cli))
        describe_all(cli);
    else
        list_all(cli);
    return 0;
}

const struct cli_command cli_cmd_help = {
    .name = "help", .summary = "the commands, and what each takes", .run = run};
