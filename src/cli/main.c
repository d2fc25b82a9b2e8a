/*
 * main.c - the table of commands, and the way to one of them.
 *
 * A command is one file and one row here. All that it leaves behind is a file
 * that was written whole, so an interrupt removes what is not (output.c) and
 * ends the process at once; a reader that goes away ends it without a word.
 */
#include "cli.h"

#include <signal.h>
#include <unistd.h>

static const struct cli_command *const commands[] = {
    &cli_cmd_check,  &cli_cmd_convert, &cli_cmd_fmt,   &cli_cmd_diff,
    &cli_cmd_doc,    &cli_cmd_session, &cli_cmd_store, &cli_cmd_agent,
    &cli_cmd_group,  &cli_cmd_run,     &cli_cmd_serve, &cli_cmd_key,
    &cli_cmd_schema, &cli_cmd_version, &cli_cmd_help,
};

static void on_interrupt(int number)
{
    cli_progress_wipe();
    cli_output_discard();
    _exit(CLI_EXIT_SIGNAL + number);
}

/* Ends as if nobody had listened: it is pending until the handler returns. */
static void on_pipe(int number)
{
    cli_output_discard();
    signal(number, SIG_DFL);
    raise(number);
}

static void setup_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt};
    struct sigaction old;

    /* Whoever starts us in the background may have them ignored. */
    for (size_t i = 0; i < CLI_COUNT(ending); i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    /* A file that gets too large is a failure to report, not an end. */
    signal(SIGXFSZ, SIG_IGN);
    /* Some parents ignore it; then every write would fail instead. */
    signal(SIGPIPE, on_pipe);
}

const struct cli_command *const *cli_commands(size_t *count)
{
    *count = CLI_COUNT(commands);
    return commands;
}

int main(int argc, char **argv)
{
    static char version[] = "version", help[] = "help";
    char *list[] = {help, NULL};
    struct cli cli = {.command = NULL};
    struct cli_usage bad;
    int at = 0;

    setup_signals();
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        argv[1] = version;
    at = cli_parse_front(&cli, &bad, argc, argv);
    if (bad.reason != NULL)
        return cli_usage_fail(&cli, &bad);
    if (at < argc)
        return cli_finish(&cli, cli_run(&cli, argc - at, argv + at));
    if (!cli.help)
        return cli_no_command(&cli);
    cli.help = false; /* `perdure --help` is `perdure help` */
    return cli_finish(&cli, cli_run(&cli, 1, list));
}
