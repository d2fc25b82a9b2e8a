/*
 * perdure doc - the documents in which durable agents keep their sessions.
 *
 * A row here for each verb; each is a file of its own.
 */
#include "doc_parts.h"

static const struct cli_command *const verbs[] = {
    &cli_cmd_doc_check,
    &cli_cmd_doc_show,
    &cli_cmd_doc_stats,
    &cli_cmd_doc_diff,
    &cli_cmd_doc_migrate,
    &cli_cmd_doc_repair,
    NULL,
};

const struct cli_command cli_cmd_doc = {
    .name = "doc",
    .summary = "state documents: check, show, stats, diff, migrate, repair",
    .verbs = verbs};
