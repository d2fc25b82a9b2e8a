/*
 * perdure run - durable runs: who is at work on what, and how it ended.
 *
 * A row here for each verb.
 */
#include "engine_parts.h"

static const struct cli_command *const verbs[] = {
    &cli_cmd_run_list,   &cli_cmd_run_show,   &cli_cmd_run_wait,
    &cli_cmd_run_cancel, &cli_cmd_run_resume, NULL,
};

const struct cli_command cli_cmd_run = {
    .name = "run",
    .summary = "durable runs: list, show, wait, cancel, resume",
    .verbs = verbs};
