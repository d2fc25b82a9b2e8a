/*
 * pager.c - long output one screen at a time.
 *
 * WHY  A conversation is longer than a screen. On a terminal it goes through
 *      the reader's own pager; into a pipe or file it goes straight, so that
 *      scripts never meet one.
 *
 * SIGNALS  An interrupt is meant for the pager: if we went away first, pager
 *      and shell would both read the keyboard. So interrupts are ignored until
 *      the pager is done. A pager that goes away early is no failure: what was
 *      not read was not wanted.
 */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LESS "less -FRX"
/* What a shell says of a command that it cannot run, or that is not there. */
#define NOT_RUN   126
#define NOT_FOUND 127

const char *cli_pager_choice(const char *own, const char *general,
                             bool has_less)
{
    const char *chosen = own != NULL ? own : general;

    if (chosen == NULL)
        chosen = has_less ? LESS : "";
    return chosen[0] != '\0' && strcmp(chosen, "cat") != 0 ? chosen : NULL;
}

/* Is there a program of this name in PATH? */
static bool is_in_path(const char *name)
{
    const char *at = getenv("PATH");
    char path[4096];

    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, ":");
        int all = snprintf(path, sizeof(path), "%.*s/%s", (int)len, at, name);
        if (all > 0 && (size_t)all < sizeof(path) && access(path, X_OK) == 0)
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

/* In the child: become the pager. */
static void become_pager(int in, const char *command)
{
    char *const args[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};

    /* Colours as they are, no wait if it fits on a screen; as the user has it
     * if the user has said so. */
    setenv("LESS", "FRX", 0);
    setenv("LESSCHARSET", "utf-8", 0);
    if (dup2(in, STDIN_FILENO) >= 0)
        execv("/bin/sh", args);
    _exit(NOT_FOUND);
}

static void start(struct cli_pager *p, const char *command)
{
    int ends[2] = {-1, -1};
    FILE *out = NULL;
    pid_t pid = 0;

    if (pipe(ends) != 0)
        return;
    out = fdopen(ends[1], "w");
    fflush(stdout);
    pid = out != NULL ? fork() : -1;
    if (pid == 0) {
        close(ends[1]);
        become_pager(ends[0], command);
    }
    close(ends[0]);
    if (pid < 0) { /* then without one */
        if (out != NULL)
            fclose(out);
        else
            close(ends[1]);
        return;
    }
    *p = (struct cli_pager){out, pid, command};
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

void cli_pager_begin(struct cli_pager *p, const struct cli *cli, bool wanted)
{
    const char *command = NULL;

    memset(p, 0, sizeof(*p));
    p->out = stdout;
    if (!wanted || !cli->tty_out || cli->output != CLI_OUTPUT_TABLE)
        return;
    command = cli_pager_choice(getenv("PERDURE_PAGER"), getenv("PAGER"),
                               is_in_path("less"));
    if (command != NULL)
        start(p, command);
}

int cli_pager_end(struct cli_pager *p, const struct cli *cli, int status)
{
    const struct cli_about about = {.name = p->name,
                                    .hint = "--no-pager prints it directly; "
                                            "PERDURE_PAGER names another"};
    pdr_err err = PDR_ERR_INIT;
    int ended = 0;

    if (p->pid == 0)
        return status;
    fclose(p->out);
    while (waitpid(p->pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    p->pid = 0;
    if (!WIFEXITED(ended) ||
        (WEXITSTATUS(ended) != NOT_FOUND && WEXITSTATUS(ended) != NOT_RUN))
        return status;
    pdr_err_set(&err, PDR_EIO, "no_pager", "the pager cannot be started");
    return cli_fail(cli, &about, &err);
}
