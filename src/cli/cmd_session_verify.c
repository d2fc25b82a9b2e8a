/*
 * perdure session verify - is a stored session what was committed?
 */
#include "session_parts.h"

static int run_verify(struct cli *cli, int argc, char **argv)
{
    struct sto_from from = {.uri = NULL};
    const char *id = NULL;
    pdr_ref ref;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &id, "session of the store"),
        SES_STORE_ROWS(&from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = ses_store_check(cli, &from);
    if (status != 0)
        return status;
    ref = sto_ref(&from, id);
    return sto_verify(cli, &from, &ref);
}

const struct cli_command cli_cmd_session_verify = {
    .name = "session verify",
    .summary = "check every digest and count of a stored session",
    .usage = "[OPTIONS] [--store URI] ID",
    .run = run_verify};
