/*
 * perdure session - what agents remember of their conversations.
 *
 * A row here for each verb; `bag` has verbs of its own.
 */
#include "session_parts.h"

static const struct cli_command *const bag_verbs[] = {
    &cli_cmd_session_bag_keys,
    &cli_cmd_session_bag_get,
    &cli_cmd_session_bag_set,
    &cli_cmd_session_bag_rm,
    NULL,
};

const struct cli_command cli_cmd_session_bag = {
    .name = "session bag",
    .summary = "the state bag of a session: keys, get, set, rm",
    .verbs = bag_verbs};

static const struct cli_command *const verbs[] = {
    &cli_cmd_session_list,   &cli_cmd_session_show,   &cli_cmd_session_log,
    &cli_cmd_session_tail,   &cli_cmd_session_bag,    &cli_cmd_session_convert,
    &cli_cmd_session_export, &cli_cmd_session_import, &cli_cmd_session_delete,
    &cli_cmd_session_trim,   &cli_cmd_session_verify, NULL,
};

const struct cli_command cli_cmd_session = {
    .name = "session",
    .summary = "sessions: list, show, log, bag, export, import and more",
    .verbs = verbs};
