/*
 * agent_parts.h - what the agent commands share (agent_file.c).
 */
#ifndef PDR_CLI_AGENT_PARTS_H
#define PDR_CLI_AGENT_PARTS_H

#include "cli.h"

/* Load the definition file at `path`; its text, or what there is of it, goes to
 * `text`. Paths in it begin in its folder. Fails as reading does, and as
 * pdr_host_load(). */
pdr_rc agt_load(const pdr_host_agent **out, pdr_host *host, pdr_buf *text,
                const struct cli *cli, const char *path, pdr_str name,
                pdr_err *err, pdr_notice_fn fn, void *arg);

/* Report why a file cannot be loaded; gives the exit status. */
int agt_fail(const struct cli *cli, const char *path, pdr_str text,
             const pdr_err *err);

/* Append "FILE:2:7: " for a notice. */
void agt_put_place(pdr_buf *out, const char *path, const pdr_notice *notice);

#endif
