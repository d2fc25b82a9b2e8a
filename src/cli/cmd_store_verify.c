/*
 * perdure store verify - is everything in a store what was committed?
 */
#include "session_parts.h"

static int run(struct cli *cli, int argc, char **argv)
{
    struct sto_from from = {.uri = NULL};
    int status = 0;

    const struct cli_opt opts[] = {STO_ROWS(&from)};
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = sto_from_check(cli, &from);
    return status == 0 ? sto_verify(cli, &from, NULL) : status;
}

const struct cli_command cli_cmd_store_verify = {
    .name = "store verify",
    .summary = "check every digest, count and index of a store",
    .usage = "[OPTIONS] [STORE]",
    .run = run};
