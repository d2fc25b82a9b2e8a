/*
 * json_simdjson.c - do we read a document faster than simdjson, the fastest
 * reader in Debian, although we keep what it loses?
 *
 * read/session, read/tools   one document to a value, and the value freed,
 *                            against one document to simdjson's DOM
 * read/touch                 the same, then every name and string is decoded
 *                            and copied, every number converted
 *
 * simdjson decodes strings and numbers while it parses, we when they are asked
 * for: `read` shows what that saves, `touch` what it costs if all are.
 *
 * simdjson runs as its authors recommend: one parser used again, padded input
 * that is not copied, the kernel that it chooses itself, -O3.
 */
#include "ours.h"
#include "simdjson_shim.h"

#include <string.h>

struct job {
    struct bench_text text;
    struct shim *shim;
    struct bench_touch ours, theirs;
};

static void read_ours(void *arg)
{
    ours_read(&((struct job *)arg)->text);
}

static void read_theirs(void *arg)
{
    struct job *job = arg;

    if (!shim_parse(job->shim, &job->text))
        bench_fail("simdjson refuses %s", job->text.name);
}

static void touch_ours(void *arg)
{
    struct job *job = arg;

    ours_touch(&job->text, &job->ours);
}

static void touch_theirs(void *arg)
{
    struct job *job = arg;

    read_theirs(job);
    shim_touch(&job->theirs, job->shim);
}

static struct job new_job(const char *file)
{
    struct job job = {.text = bench_load(file)};

    job.shim = shim_new(job.text.len);
    if (job.shim == NULL)
        bench_fail("no memory for simdjson");
    job.ours.text = bench_reserve(job.text.len);
    job.theirs.text = bench_reserve(job.text.len);
    return job;
}

static void compare_sums(const char *name, struct job *job)
{
    struct bench_sums ours = ours_read_sums(&job->text), theirs;

    read_theirs(job);
    shim_sums(&theirs, job->shim);
    bench_sums_compare(name, &ours, &theirs);
}

static void compare_touch(struct job *job)
{
    const struct bench_touch *a = &job->ours, *b = &job->theirs;

    touch_ours(job);
    touch_theirs(job);
    if (a->len != b->len || memcmp(a->text, b->text, a->len) != 0)
        bench_fail("read/touch: the texts differ");
    if (a->number_sum < b->number_sum || a->number_sum > b->number_sum)
        bench_fail("read/touch: the sums differ");
}

static void run_read(const char *name, const char *file)
{
    struct job job = new_job(file);
    struct bench_case c = {.name = name,
                           .baseline = "simdjson",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 1.2};

    compare_sums(name, &job);
    bench_run(&c);
}

static void run_touch(void)
{
    struct job job = new_job("session.json");
    struct bench_case c = {.name = "read/touch",
                           .baseline = "simdjson",
                           .ours = touch_ours,
                           .theirs = touch_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 0.7};

    compare_touch(&job);
    bench_run(&c);
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "json");
    bench_note("baseline_version", shim_version());
    bench_note("baseline_kernel", shim_kernel());
    bench_note("baseline_memory", "the parser is used again");
    run_read("read/session", "session.json");
    run_read("read/tools", "tools.json");
    run_touch();
    return 0;
}
