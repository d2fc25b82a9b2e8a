/*
 * json_jansson.c - how much faster than jansson, the usual C library with a
 * tree and a writer, do we read and write?
 *
 * read/session, read/tools   one document to a tree, and the tree freed
 * write/built                a tree that was built in code, written compactly;
 *                            building is not timed
 *
 * jansson gets our allocator through its hook. It spells doubles with 17
 * digits, so its text is read back and compared as values; ours has to be the
 * document, byte for byte.
 */
#include "ours.h"

#include <jansson.h>
#include <string.h>

struct job {
    struct bench_text text;
    /* write/built only */
    pdr_value *built;
    json_t *tree;
    pdr_buf out;
    char *their_out;
    size_t their_cap, their_len;
};

static json_t *load(const struct bench_text *text)
{
    json_error_t error;
    json_t *root = json_loadb(text->ptr, text->len, 0, &error);

    if (root == NULL)
        bench_fail("jansson refuses %s: %s", text->name, error.text);
    return root;
}

static void read_ours(void *arg)
{
    ours_read(&((struct job *)arg)->text);
}

static void read_theirs(void *arg)
{
    json_decref(load(&((struct job *)arg)->text));
}

static void write_ours(void *arg)
{
    struct job *job = arg;

    ours_write(&job->out, job->built);
}

static void write_theirs(void *arg)
{
    struct job *job = arg;

    job->their_len =
        json_dumpb(job->tree, job->their_out, job->their_cap, JSON_COMPACT);
    if (job->their_len == 0 || job->their_len > job->their_cap)
        bench_fail("jansson cannot write %s", job->text.name);
}

/* --- sums ----------------------------------------------------------------- */

static void sum_node(struct bench_sums *sums, json_t *node);

static void sum_object(struct bench_sums *sums, json_t *object)
{
    const char *name = NULL;
    json_t *child = NULL;

    sums->objects++;
    json_object_foreach(object, name, child)
    {
        sums->names++;
        bench_sums_text(sums, name, strlen(name));
        sum_node(sums, child);
    }
}

static void sum_array(struct bench_sums *sums, json_t *array)
{
    size_t index = 0;
    json_t *child = NULL;

    sums->arrays++;
    json_array_foreach(array, index, child) sum_node(sums, child);
}

static void sum_node(struct bench_sums *sums, json_t *node)
{
    switch (json_typeof(node)) {
    case JSON_OBJECT:
        sum_object(sums, node);
        break;
    case JSON_ARRAY:
        sum_array(sums, node);
        break;
    case JSON_STRING:
        sums->strings++;
        bench_sums_text(sums, json_string_value(node),
                        json_string_length(node));
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        bench_sums_number(sums, json_number_value(node));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        bench_sums_bool(sums, json_is_true(node));
        break;
    case JSON_NULL:
        sums->nulls++;
        break;
    }
}

/* --- cases ---------------------------------------------------------------- */

static void run_read(const char *name, const char *file)
{
    struct job job = {.text = bench_load(file)};
    struct bench_sums ours = ours_read_sums(&job.text), theirs = {0};
    struct bench_case c = {.name = name,
                           .baseline = "jansson",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text};
    json_t *tree = load(&job.text);

    sum_node(&theirs, tree);
    json_decref(tree);
    bench_sums_compare(name, &ours, &theirs);
    bench_run(&c);
}

static void compare_written(struct job *job)
{
    struct bench_text text = {"text of jansson", job->their_out, 0};
    struct bench_sums ours = ours_read_sums(&job->text), theirs;

    write_ours(job);
    if (!pdr_str_equal(ours_str(&job->text), pdr_buf_str(&job->out)))
        bench_fail("write/built: ours is not the document");
    write_theirs(job);
    text.len = job->their_len;
    theirs = ours_read_sums(&text);
    bench_sums_compare("write/built", &ours, &theirs);
}

static void run_write(void)
{
    struct job job = {.text = bench_load("session.json")};
    struct bench_case c = {.name = "write/built",
                           .baseline = "jansson",
                           .ours = write_ours,
                           .theirs = write_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 5};
    pdr_value *read = ours_value(&job.text);

    job.built = ours_build(read);
    pdr_value_free(read);
    job.tree = load(&job.text);
    job.out = ours_buffer(2 * job.text.len);
    job.their_cap = 2 * job.text.len;
    job.their_out = bench_reserve(job.their_cap);
    compare_written(&job);
    bench_run(&c);
    json_decref(job.tree);
    pdr_value_free(job.built);
    pdr_buf_dispose(&job.out);
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "json");
    json_set_alloc_funcs(bench_malloc, bench_free);
    bench_note("baseline_version", jansson_version_str());
    bench_note("baseline_memory", "the same allocator, by its hook");
    run_read("read/session", "session.json");
    run_read("read/tools", "tools.json");
    run_write();
    return 0;
}
