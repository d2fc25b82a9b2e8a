/*
 * cli_linear.c - does the command take twice the time for twice the input?
 *
 * The value is the time on a core per megabyte of input, the baseline the same
 * for half of the input. What looks at everything once per finding, entry or
 * call would show a ratio near a half.
 *
 * warnings/line  check, with a warning for each of 200,000 members of one line
 * entries/show   doc show of entries whose correlation ids are all alike
 * entries/diff   doc diff of the same
 * large/check    check of 50 MB
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WANTED 0.7
#define RUNS   3 /* the fastest counts */

static void put_line(FILE *file, size_t count)
{
    fputs("{\"\xc3\xa4\":0", file);
    for (size_t i = 0; i < count; i++)
        fputs(",\"\xc3\xa4\":1", file);
    fputs("}", file);
}

static void put_entries(FILE *file, size_t count)
{
    fputs("{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[",
          file);
    for (size_t i = 0; i < count; i++)
        fprintf(file,
                "%s{\"$type\":\"%s\",\"correlationId\":\"same\",\"createdAt\":"
                "\"2026-01-01T00:00:00Z\",\"messages\":[{\"role\":\"user\","
                "\"contents\":[{\"$type\":\"functionCall\",\"callId\":\"c\","
                "\"name\":\"tool%zu\",\"arguments\":{}}]}]}",
                i > 0 ? "," : "", i < count / 2 ? "request" : "response", i);
    fputs("]}}", file);
}

static void put_rows(FILE *file, size_t count)
{
    fputs("[", file);
    for (size_t i = 0; i < count; i++)
        fprintf(file,
                "%s{\"id\":%zu,\"text\":\"some words of a turn, and some more "
                "words of it\",\"n\":[1.5,true,null]}",
                i > 0 ? "," : "", i);
    fputs("]", file);
}

static const struct linear {
    const char *name;
    void (*put)(FILE *file, size_t count);
    size_t count, quick;
    const char *args[4]; /* the file stands where a "%" is */
} cases[] = {
    {"warnings/line",
     put_line,
     200000,
     2000,
     {"check", "--max-warnings=0", "%"}},
    {"entries/show", put_entries, 20000, 200, {"doc", "show", "%"}},
    {"entries/diff", put_entries, 20000, 200, {"doc", "diff", "%", "%"}},
    {"large/check", put_rows, 500000, 500, {"check", "%"}},
};

static double megabytes(const char *path, const struct linear *c, size_t count)
{
    FILE *file = fopen(path, "w");
    long bytes = 0;

    if (file == NULL)
        bench_fail("%s: %s", path, strerror(errno));
    c->put(file, count);
    bytes = ftell(file);
    if (fclose(file) != 0)
        bench_fail("%s: %s", path, strerror(errno));
    return (double)bytes / 1e6;
}

/* Microseconds on a core. */
static double run_command(const char *path, const struct linear *c)
{
    const char *argv[6] = {BENCH_COMMAND};
    struct rusage used;
    int status = 0;
    pid_t child = 0;

    for (size_t i = 0; i < 4 && c->args[i] != NULL; i++)
        argv[i + 1] = strcmp(c->args[i], "%") == 0 ? path : c->args[i];
    child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);

        (void)dup2(nowhere, STDOUT_FILENO);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child ||
        !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("%s: the command failed, status %d", c->name, status);
    return ((double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec) * 1e6 +
           (double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec;
}

static double cost(const char *path, const struct linear *c, size_t count)
{
    double size = megabytes(path, c, count), best = run_command(path, c);

    for (int i = 1; i < RUNS && !bench_is_quick(); i++) {
        double us = run_command(path, c);

        best = us < best ? us : best;
    }
    (void)unlink(path);
    return best / size;
}

int main(int argc, char **argv)
{
    char path[600];

    bench_start(argc, argv, "cli");
    bench_path(path, sizeof(path), "linear.json");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct linear *c = &cases[i];
        size_t count = bench_is_quick() ? c->quick : c->count;
        double half = cost(path, c, count / 2);

        bench_report(&(struct bench_figure){.name = c->name,
                                            .value = cost(path, c, count),
                                            .unit = "us/MB",
                                            .baseline = "half of it",
                                            .baseline_value = half,
                                            .wanted = WANTED});
    }
    return 0;
}
