/*
 * doc_python.c - how much faster than the Python library do we get from the
 * text of a state document to every content of its conversation?
 *
 * walk/typed   the text read, then each content of each message looked at, and
 *              the document freed. The library makes its own types of all of
 *              it, which is how its programs get at a content.
 *
 * The library runs in a process of its own on the same core, see peer.h and
 * state_python.py.
 */
#include "peer.h"
#include "state_walk.h"

#include <string.h>

struct job {
    struct bench_text text;
    pdr_buf scratch;
    struct state_sums sums;
    struct peer library;
};

/* --- the case --------------------------------------------------------------
 */

static void read_ours(void *arg)
{
    struct job *job = arg;

    state_read_and_walk(&job->sums, &job->text, &job->scratch);
}

static void read_theirs(void *arg)
{
    struct job *job = arg;
    char line[16];

    peer_ask(&job->library, "walk", line, sizeof(line));
    if (strcmp(line, "done") != 0)
        bench_fail("the Python library says '%s'", line);
}

static void compare(struct job *job)
{
    char theirs[120], ours[120];

    read_ours(job);
    peer_ask(&job->library, "count", theirs, sizeof(theirs));
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
    peer_start(&job.library, BENCH_SCRIPT, path, NULL);
    peer_hear(&job.library, version, sizeof(version));
    bench_note("baseline_version", version);
    bench_note("baseline_memory", "its own");
    compare(&job);
    bench_run(&c);
    peer_stop(&job.library);
    return 0;
}
