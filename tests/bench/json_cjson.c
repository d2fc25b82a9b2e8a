/*
 * json_cjson.c - how much faster than cJSON, the library that small programs
 * take, do we read?
 *
 * read/session, read/tools   one document to a tree, and the tree freed
 *
 * cJSON gets our allocator through its hook. It checks no UTF-8.
 */
#include "ours.h"

#include <cJSON.h>
#include <string.h>

static cJSON *parse(const struct bench_text *text)
{
    cJSON *root = cJSON_ParseWithLength(text->ptr, text->len);

    if (root == NULL)
        bench_fail("cJSON refuses %s", text->name);
    return root;
}

static void read_ours(void *arg)
{
    ours_read(arg);
}

static void read_theirs(void *arg)
{
    cJSON_Delete(parse(arg));
}

static void sum_node(struct bench_sums *sums, const cJSON *node)
{
    const cJSON *child = NULL;

    sums->objects += cJSON_IsObject(node) != 0;
    sums->arrays += cJSON_IsArray(node) != 0;
    sums->nulls += cJSON_IsNull(node) != 0;
    if (cJSON_IsBool(node))
        bench_sums_bool(sums, cJSON_IsTrue(node));
    if (cJSON_IsNumber(node))
        bench_sums_number(sums, node->valuedouble);
    if (cJSON_IsString(node)) {
        sums->strings++;
        bench_sums_text(sums, node->valuestring, strlen(node->valuestring));
    }
    cJSON_ArrayForEach(child, node)
    {
        if (cJSON_IsObject(node)) {
            sums->names++;
            bench_sums_text(sums, child->string, strlen(child->string));
        }
        sum_node(sums, child);
    }
}

static void run_read(const char *name, const char *file)
{
    struct bench_text text = bench_load(file);
    struct bench_sums ours = ours_read_sums(&text), theirs = {0};
    struct bench_case c = {.name = name,
                           .baseline = "cJSON",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &text,
                           .text = &text};
    cJSON *tree = parse(&text);

    sum_node(&theirs, tree);
    cJSON_Delete(tree);
    bench_sums_compare(name, &ours, &theirs);
    bench_run(&c);
}

int main(int argc, char **argv)
{
    cJSON_Hooks hooks = {.malloc_fn = bench_malloc, .free_fn = bench_free};

    ours_start(argc, argv, "json");
    cJSON_InitHooks(&hooks);
    bench_note("baseline_version", cJSON_Version());
    bench_note("baseline_memory", "the same allocator, by its hook");
    run_read("read/session", "session.json");
    run_read("read/tools", "tools.json");
    return 0;
}
