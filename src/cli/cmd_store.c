/*
 * perdure store - the files that sessions live in.
 *
 * A row here for each verb.
 */
#include "store_parts.h"

static const struct cli_command *const verbs[] = {
    &cli_cmd_store_init,    &cli_cmd_store_info,
    &cli_cmd_store_verify,  &cli_cmd_store_vacuum,
    &cli_cmd_store_copy,    &cli_cmd_store_backup,
    &cli_cmd_store_migrate, NULL,
};

const struct cli_command cli_cmd_store = {
    .name = "store",
    .summary = "stores of sessions: init, info, verify, copy, backup and more",
    .verbs = verbs};
