/*
 * json_memcpy.c - how near to a plain copy of the bytes is writing a document
 * that did not change, and one of which a single member changed?
 *
 * write/unchanged   a value as it was read, written into a reserved buffer
 * edit/one-member   one text deep inside replaced, then the whole document
 *                   written; the document before the edit is kept, so that
 *                   each call edits the same one
 *
 * The baseline copies the bytes that our call wrote. That is the least that
 * any program has to do which cannot share the memory.
 */
#include "ours.h"

#include <string.h>

#define PLACE "/state/in_memory/messages/1000/contents/0/text"

struct job {
    struct bench_text text; /* the document that was read */
    pdr_value *base;        /* owned */
    pdr_value *change;      /* owned; goes to PLACE */
    pdr_buf out;
    struct bench_text copied; /* what the baseline copies: our result */
    char *copy;
};

/* The compiler knows memcpy and would drop a copy that nobody looks at. */
static void *(*volatile copy_bytes)(void *, const void *, size_t) = memcpy;

static void must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s: %s", pdr_rc_name(rc), err->message);
}

static void write_ours(void *arg)
{
    struct job *job = arg;

    ours_write(&job->out, job->base);
}

static void edit_ours(void *arg)
{
    struct job *job = arg;
    pdr_err err = PDR_ERR_INIT;
    pdr_value *edited = pdr_value_ref(job->base);

    must(pdr_pointer_set(&edited, pdr_str_c(PLACE), job->change, &err), &err);
    ours_write(&job->out, edited);
    pdr_value_free(edited);
}

static void copy_theirs(void *arg)
{
    struct job *job = arg;

    copy_bytes(job->copy, job->copied.ptr, job->copied.len);
}

/* The document with the text at PLACE replaced, made by cutting bytes. */
static struct bench_text splice(const struct job *job, pdr_str with)
{
    struct bench_text text = {"expected", NULL, 0};
    const pdr_value *old = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_str raw = {NULL, 0};

    must(pdr_pointer_get(&old, job->base, pdr_str_c(PLACE), &err), &err);
    if (!pdr_value_raw(&raw, old))
        bench_fail("%s has no text of its own", PLACE);
    size_t before = (size_t)(raw.ptr - job->text.ptr);
    size_t after = job->text.len - before - raw.len;
    text.len = before + with.len + after;
    text.ptr = bench_reserve(text.len);
    memcpy(text.ptr, job->text.ptr, before);
    memcpy(text.ptr + before, with.ptr, with.len);
    memcpy(text.ptr + before + with.len, raw.ptr + raw.len, after);
    return text;
}

static struct job new_job(const char *change)
{
    struct job job = {.text = bench_load("session.json")};
    pdr_err err = PDR_ERR_INIT;

    job.base = ours_value(&job.text);
    must(pdr_value_new_string(&job.change, pdr_str_c(change), &err), &err);
    job.out = ours_buffer(job.text.len + 4096);
    job.copy = bench_reserve(job.text.len + 4096);
    return job;
}

static void free_job(struct job *job)
{
    pdr_value_free(job->base);
    pdr_value_free(job->change);
    pdr_buf_dispose(&job->out);
}

static void compare(const char *name, const struct job *job)
{
    if (!pdr_str_equal(ours_str(&job->copied), pdr_buf_str(&job->out)))
        bench_fail("%s: not the bytes that were expected", name);
}

static void run_unchanged(void)
{
    struct job job = new_job("");
    struct bench_case c = {.name = "write/unchanged",
                           .baseline = "memcpy",
                           .ours = write_ours,
                           .theirs = copy_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 0.7};

    job.copied = job.text;
    write_ours(&job);
    compare(c.name, &job);
    bench_run(&c);
    free_job(&job);
}

static void run_edit(void)
{
    struct job job = new_job("what was said was said differently");
    struct bench_case c = {.name = "edit/one-member",
                           .baseline = "memcpy",
                           .ours = edit_ours,
                           .theirs = copy_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 0.6};

    job.copied =
        splice(&job, pdr_str_c("\"what was said was said differently\""));
    edit_ours(&job);
    compare(c.name, &job);
    bench_run(&c);
    compare(c.name, &job);
    job.copied = job.text;
    write_ours(&job);
    compare("the document before the edit", &job);
    free_job(&job);
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "json");
    bench_note("baseline_memory", "reserved and touched");
    run_unchanged();
    run_edit();
    return 0;
}
