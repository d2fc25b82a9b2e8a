/*
 * perdure agent - agents: behaviour that works on sessions.
 *
 * A row here for each verb.
 */
#include "cli.h"

extern const struct cli_command cli_cmd_agent_run, cli_cmd_agent_check;

static const struct cli_command *const verbs[] = {&cli_cmd_agent_run,
                                                  &cli_cmd_agent_check, NULL};

const struct cli_command cli_cmd_agent = {
    .name = "agent",
    .summary = "agents: run one on a session, check",
    .verbs = verbs};
