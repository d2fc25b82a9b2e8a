/*
 * perdure group - chats of several agents, in a store.
 *
 * A row here for each verb.
 */
#include "group_parts.h"

static const struct cli_command *const verbs[] = {
    &cli_cmd_group_new,
    &cli_cmd_group_send,
    &cli_cmd_group_show,
    &cli_cmd_group_restore,
    &cli_cmd_group_export,
    &cli_cmd_group_import,
    NULL,
};

const struct cli_command cli_cmd_group = {
    .name = "group",
    .summary = "chats of several agents, kept in a store",
    .verbs = verbs};
