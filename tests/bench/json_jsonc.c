/*
 * json_jsonc.c - how much faster than json-c, the library that most packages
 * of a Linux system link, do we read?
 *
 * read/session, read/tools   one document to a tree, and the tree freed
 *
 * json-c has no hook for an allocator: it uses malloc, which the harness tells
 * to keep its memory. Its tokener is used again. It checks no UTF-8 by default.
 */
#include "ours.h"

#include <json.h>
#include <string.h>

struct job {
    struct bench_text text;
    json_tokener *tokener;
};

static json_object *parse(struct job *job)
{
    json_tokener_reset(job->tokener);
    json_object *root =
        json_tokener_parse_ex(job->tokener, job->text.ptr, (int)job->text.len);

    if (root == NULL)
        bench_fail("json-c refuses %s", job->text.name);
    return root;
}

static void read_ours(void *arg)
{
    ours_read(&((struct job *)arg)->text);
}

static void read_theirs(void *arg)
{
    json_object_put(parse(arg));
}

static void sum_node(struct bench_sums *sums, json_object *node);

static void sum_children(struct bench_sums *sums, json_object *node)
{
    if (json_object_is_type(node, json_type_array)) {
        sums->arrays++;
        for (size_t i = 0; i < json_object_array_length(node); i++)
            sum_node(sums, json_object_array_get_idx(node, i));
        return;
    }
    sums->objects++;
    json_object_object_foreach(node, name, child)
    {
        sums->names++;
        bench_sums_text(sums, name, strlen(name));
        sum_node(sums, child);
    }
}

static void sum_node(struct bench_sums *sums, json_object *node)
{
    switch (json_object_get_type(node)) {
    case json_type_object:
    case json_type_array:
        sum_children(sums, node);
        break;
    case json_type_string:
        sums->strings++;
        bench_sums_text(sums, json_object_get_string(node),
                        (size_t)json_object_get_string_len(node));
        break;
    case json_type_int:
    case json_type_double:
        bench_sums_number(sums, json_object_get_double(node));
        break;
    case json_type_boolean:
        bench_sums_bool(sums, json_object_get_boolean(node));
        break;
    case json_type_null:
        sums->nulls++;
        break;
    }
}

static void run_read(const char *name, const char *file)
{
    struct job job = {.text = bench_load(file), .tokener = json_tokener_new()};
    struct bench_sums ours = ours_read_sums(&job.text), theirs = {0};
    struct bench_case c = {.name = name,
                           .baseline = "json-c",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text};

    if (job.tokener == NULL)
        bench_fail("no memory for json-c");
    json_object *tree = parse(&job);
    sum_node(&theirs, tree);
    json_object_put(tree);
    bench_sums_compare(name, &ours, &theirs);
    bench_run(&c);
    json_tokener_free(job.tokener);
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "json");
    bench_note("baseline_version", json_c_version());
    bench_note("baseline_memory", "malloc, which keeps its memory; no hook");
    run_read("read/session", "session.json");
    run_read("read/tools", "tools.json");
    return 0;
}
