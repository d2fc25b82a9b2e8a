/*
 * agent_parts.h - what the agent commands share.
 */
#ifndef PDR_CLI_AGENT_PARTS_H
#define PDR_CLI_AGENT_PARTS_H

#include "session_parts.h"

/* --- definition files (agent_file.c) -------------------------------------- */

/* Load the definition file at `path`; its text, or what there is of it, goes to
 * `text`. Paths in it begin in its folder; other members of `definition` count.
 * Fails as reading does, and as pdr_host_load(). */
pdr_rc agt_load(const pdr_host_agent **out, pdr_host *host, pdr_buf *text,
                const struct cli *cli, const char *path,
                pdr_definition definition, pdr_err *err, pdr_notice_fn fn,
                void *arg);

/* Report why a file cannot be loaded; gives the exit status. */
int agt_fail(const struct cli *cli, const char *path, pdr_str text,
             const pdr_err *err);

/* Append "FILE:2:7: " for a notice. */
void agt_put_place(pdr_buf *out, const char *path, const pdr_notice *notice);

/* --- agents of --agent (agent_make.c) ------------------------------------- */

struct agt_made {
    const char *spec, *key_env; /* the options */
    bool is_served;             /* others are at it: what its tools say is not
                                   for standard error */
    pdr_agent *agent;           /* owned, as what it stands on: */
    pdr_host *host;             /* of a definition file, or NULL */
    pdr_client *client;         /* else */
};

#define AGT_ROWS(made)                                              \
    CLI_TEXT(0, "agent", "SPEC", &(made)->spec,                     \
             "NAME=FILE, NAME=script:FILE, NAME=openai:URL#MODEL"), \
        CLI_TEXT(0, "key-env", "VAR", &(made)->key_env,             \
                 "environment variable with the server's key")

/* Make the agent; exit status. */
int agt_make(struct agt_made *made, struct cli *cli);
void agt_made_free(struct agt_made *made);

/* All of a file, or of standard input for "-". As cli_input_open(). */
pdr_rc agt_read(pdr_buf *out, const struct cli *cli, const char *path,
                pdr_err *err);

/* --- what is said to one (agent_ask.c) ------------------------------------ */

/* What to say, to which agent, on which session. */
struct agt_ask {
    struct cli *cli;
    struct agt_made made;
    struct sto_from from;
    const char *session, *text;
    const char *approve, *reject, *reason;
    const char *correlation; /* of a durable run, or NULL */
    uint64_t lease;          /* of a durable run, in seconds; 0: the usual */
    pdr_buf said;            /* TEXT, or standard input */
    bool at_line_end;        /* of what was printed */
};

/* Print a piece of the answer. */
void agt_print_text(struct agt_ask *ask, pdr_str text);
/* Tell of a call on standard error; what was printed ends its line before. */
void agt_tell_call(struct agt_ask *ask, pdr_str name, pdr_str arguments);
/* "NAME(ARGUMENTS)", cut; appended. */
void agt_put_call(pdr_buf *line, pdr_str name, pdr_str arguments);

/* Tell what waits for a word; `waits`: there is a session that remembers. */
void agt_tell_approvals(const pdr_approvals *approvals, bool waits);
void agt_member_approvals(pdr_builder *to, const pdr_approvals *approvals);

/* What --approve and --reject say to what waits: `*out` is to be released with
 * free(), its texts are those of `waiting`. Each option has to mean a call, or
 * it is PDR_ENOTFOUND (reason "no_approval"). */
pdr_rc agt_answers(pdr_answer **out, size_t *count, const struct agt_ask *ask,
                   const pdr_approvals *waiting, pdr_err *err);

/* How long a worker may be silent before others take its runs. */
#define ENG_LEASE_ROW(out)                       \
    CLI_U64(0, "lease", "SECONDS", out, 1, 3600, \
            "after which a dead process loses its runs (default 30)")

/* --- durable runs (agent_durable.c) --------------------------------------- */

/* Send it as a durable run, and print what comes of it. Exit status. */
int agt_run_durable(struct agt_ask *ask);

#endif
