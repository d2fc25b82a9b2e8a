/* perdure version - which command, which library, which reading code. */
#include "cli.h"

static void print_object(const struct cli *cli)
{
    pdr_builder *to = NULL;
    pdr_value *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "command", pdr_str_c(PDR_VERSION));
    cli_member_text(to, "library", pdr_str_c(pdr_version()));
    cli_member_text(to, "kernel", pdr_str_c(pdr_kernel_name()));
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    cli_print_json(cli, object);
    puts("");
    pdr_value_free(object);
    pdr_builder_free(to);
}

static int run(struct cli *cli, int argc, char **argv)
{
    if (!cli_parse(cli, NULL, 0, argc, argv))
        return cli->status;
    if (cli_is_json(cli))
        print_object(cli);
    else if (cli->output == CLI_OUTPUT_RAW)
        puts(pdr_version());
    else
        printf("perdure %s\nlibrary %s\nkernel  %s\n", PDR_VERSION,
               pdr_version(), pdr_kernel_name());
    return 0;
}

const struct cli_command cli_cmd_version = {
    .name = "version",
    .summary = "which command, which library, which reading code",
    .run = run};
