/*
 * doc_jansson.c - how much faster than with jansson does a C program get from
 * the text of a state document to every content of its conversation?
 *
 * walk/typed   the text read, then each content of each message looked at, and
 *              the document freed. Ours goes through the typed view, version
 *              gate and dates included; the baseline looks the same members up
 *              by hand.
 */
#include "state_walk.h"

#include <jansson.h>
#include <string.h>

struct job {
    struct bench_text text;
    pdr_buf scratch;
    struct state_sums ours, theirs;
};

static uint64_t text_len(json_t *object, const char *name)
{
    json_t *member = json_object_get(object, name);

    return json_is_string(member) ? json_string_length(member) : 0;
}

static bool text_is(json_t *object, const char *name, const char *text)
{
    const char *found = json_string_value(json_object_get(object, name));

    return found != NULL && strcmp(found, text) == 0;
}

static void walk_content(struct state_sums *sums, json_t *content)
{
    sums->contents++;
    if (text_is(content, "$type", "text") ||
        text_is(content, "$type", "reasoning")) {
        sums->text_bytes += text_len(content, "text");
    } else if (text_is(content, "$type", "functionCall")) {
        sums->calls++;
        sums->text_bytes +=
            text_len(content, "callId") + text_len(content, "name");
        sums->members +=
            json_object_size(json_object_get(content, "arguments"));
    } else if (text_is(content, "$type", "functionResult")) {
        sums->results++;
        sums->text_bytes +=
            text_len(content, "callId") + text_len(content, "result");
    } else if (text_is(content, "$type", "data") ||
               text_is(content, "$type", "uri")) {
        sums->text_bytes +=
            text_len(content, "uri") + text_len(content, "mediaType");
    } else if (text_is(content, "$type", "error")) {
        sums->text_bytes +=
            text_len(content, "message") + text_len(content, "errorCode");
    }
}

static void walk_message(struct state_sums *sums, json_t *message)
{
    size_t index = 0;
    json_t *content = NULL;

    sums->messages++;
    sums->text_bytes +=
        text_len(message, "role") + text_len(message, "authorName");
    json_array_foreach(json_object_get(message, "contents"), index, content)
        walk_content(sums, content);
}

static void walk(struct state_sums *sums, json_t *root)
{
    json_t *data = json_object_get(root, "data"), *entry = NULL;
    json_t *message = NULL;
    size_t index = 0, at = 0;

    *sums = (struct state_sums){0};
    json_array_foreach(json_object_get(data, "conversationHistory"), index,
                       entry)
    {
        sums->requests += text_is(entry, "$type", "request");
        sums->responses += text_is(entry, "$type", "response");
        sums->text_bytes += text_len(entry, "correlationId");
        json_array_foreach(json_object_get(entry, "messages"), at, message)
            walk_message(sums, message);
    }
}

static void read_ours(void *arg)
{
    struct job *job = arg;

    state_read_and_walk(&job->ours, &job->text, &job->scratch);
}

static void read_theirs(void *arg)
{
    struct job *job = arg;
    json_error_t error;
    json_t *root = json_loadb(job->text.ptr, job->text.len, 0, &error);

    if (root == NULL)
        bench_fail("jansson refuses %s: %s", job->text.name, error.text);
    walk(&job->theirs, root);
    json_decref(root);
}

int main(int argc, char **argv)
{
    static struct job job;
    struct bench_case c = {.name = "walk/typed",
                           .baseline = "jansson",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 3};

    ours_start(argc, argv, "doc");
    json_set_alloc_funcs(bench_malloc, bench_free);
    bench_note("baseline_version", jansson_version_str());
    bench_note("baseline_memory", "the same allocator, by its hook");
    job.text = bench_load("tools-short.json");
    job.scratch = ours_buffer(job.text.len);
    read_ours(&job);
    read_theirs(&job);
    state_sums_compare("walk/typed", &job.ours, &job.theirs);
    bench_run(&c);
    return 0;
}
