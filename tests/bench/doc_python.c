/*
 * doc_python.c - how much faster than the Python library do we get from the
 * text of a state document to every content of its conversation?
 *
 * walk/typed   the text read, then each content of each message looked at, and
 *              the document freed. The library makes its own types of all of
 *              it, which is how its programs get at a content.
 *
 * The library runs in a process of its own on the same core, see
 * state_python.py, and works while we wait for its line; a line through a pipe
 * takes microseconds, its work milliseconds.
 */
#include "state_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    struct bench_text text;
    pdr_buf scratch;
    struct state_sums sums;
    FILE *to, *from; /* the library */
    pid_t pid;
};

/* --- the other process -----------------------------------------------------
 */

static void start(struct job *job, const char *document)
{
    int to[2], from[2];

    if (access(BENCH_PYTHON, X_OK) != 0)
        bench_fail("there is no %s: make bench installs it", BENCH_PYTHON);
    if (pipe(to) != 0 || pipe(from) != 0)
        bench_fail("cannot make a pipe");
    job->pid = fork();
    if (job->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        execl(BENCH_PYTHON, BENCH_PYTHON, BENCH_SCRIPT, document, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    job->to = fdopen(to[1], "w");
    job->from = fdopen(from[0], "r");
    if (job->pid < 0 || job->to == NULL || job->from == NULL)
        bench_fail("cannot start %s", BENCH_PYTHON);
}

/* Its next line, without the line end. */
static void hear(struct job *job, char *line, size_t cap)
{
    if (fgets(line, (int)cap, job->from) == NULL)
        bench_fail("the Python library ended; its own message is above");
    line[strcspn(line, "\n")] = '\0';
}

static void ask(struct job *job, const char *work, char *line, size_t cap)
{
    fprintf(job->to, "%s\n", work);
    fflush(job->to);
    hear(job, line, cap);
}

static void stop(struct job *job)
{
    int status = 0;

    fclose(job->to);
    fclose(job->from);
    if (waitpid(job->pid, &status, 0) != job->pid || status != 0)
        bench_fail("the Python library ended with status %d", status);
}

/* --- the case --------------------------------------------------------------
 */

static void read_ours(void *arg)
{
    struct job *job = arg;

    state_read_and_walk(&job->sums, &job->text, &job->scratch);
}

static void read_theirs(void *arg)
{
    char line[16];

    ask(arg, "walk", line, sizeof(line));
    if (strcmp(line, "done") != 0)
        bench_fail("the Python library says '%s'", line);
}

static void compare(struct job *job)
{
    char theirs[120], ours[120];

    read_ours(job);
    ask(job, "count", theirs, sizeof(theirs));
    snprintf(ours, sizeof(ours), "%llu %llu %llu %llu",
             (unsigned long long)job->sums.requests,
             (unsigned long long)job->sums.responses,
             (unsigned long long)job->sums.messages,
             (unsigned long long)job->sums.contents);
    if (strcmp(ours, theirs) != 0)
        bench_fail("walk/typed: not the same conversation: ours has %s "
                   "requests, responses, messages, contents; theirs %s",
                   ours, theirs);
}

int main(int argc, char **argv)
{
    static struct job job;
    struct bench_case c = {.name = "walk/typed",
                           .baseline = "python",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 20};
    char version[80], path[512];

    ours_start(argc, argv, "doc");
    job.text = bench_load("tools-short.json");
    job.scratch = ours_buffer(job.text.len);
    bench_path(path, sizeof(path), job.text.name);
    start(&job, path);
    hear(&job, version, sizeof(version));
    bench_note("baseline_version", version);
    bench_note("baseline_memory", "its own");
    compare(&job);
    bench_run(&c);
    stop(&job);
    return 0;
}
