/*
 * json_self.c - what do the slower kernels, the memory of a value and a long
 * row of edits cost?
 *
 * read-portable/…, read-sse2/…   a document read by that kernel, against the
 *                                one that this machine gets
 * memory/…                       bytes that a value with its text holds, for
 *                                each byte of the document
 * edits/…                        10,000 edits in a row, each visible in the
 *                                next: on an array of a million numbers
 *                                (replaced; inserted and erased) and on the
 *                                texts of the session
 * edits-memory/…                 what is held afterwards, against what the
 *                                document held before
 */
#include "ours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDITS    10000u
#define ELEMENTS 1000000u
#define MESSAGES 2000u

static void must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s: %s", pdr_rc_name(rc), err->message);
}

/* A sequence that is the same in each run. */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* --- kernels -------------------------------------------------------------- */

struct job {
    struct bench_text text;
    pdr_kernel kernel;
};

static pdr_rc read_with(pdr_value **out, const struct job *job, pdr_err *err)
{
    pdr_read_opts opts = {.kernel = job->kernel};

    return pdr_json_read_borrowed(out, ours_str(&job->text), &opts, err);
}

static void read_kernel(void *arg)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;

    must(read_with(&value, arg, &err), &err);
    pdr_value_free(value);
}

static void read_best(void *arg)
{
    ours_read(&((struct job *)arg)->text);
}

static void run_kernel(const char *name, const char *file, pdr_kernel kernel)
{
    struct job job = {bench_load(file), kernel};
    struct bench_case c = {.name = name,
                           .baseline = "best kernel",
                           .ours = read_kernel,
                           .theirs = read_best,
                           .arg = &job,
                           .text = &job.text};
    struct bench_sums best = ours_read_sums(&job.text), sums;
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;
    pdr_rc rc = read_with(&value, &job, &err);

    if (rc == PDR_EUNSUPPORTED)
        return; /* a processor without it has nothing to measure */
    must(rc, &err);
    ours_sums(&sums, value);
    pdr_value_free(value);
    bench_sums_compare(name, &sums, &best);
    bench_run(&c);
}

static void run_kernels(void)
{
    bench_note("kernel", "portable");
    bench_note("baseline_kernel", pdr_kernel_name());
    run_kernel("read-portable/session", "session.json", PDR_KERNEL_PORTABLE);
    run_kernel("read-portable/tools", "tools.json", PDR_KERNEL_PORTABLE);
    bench_note("kernel", "sse2");
    run_kernel("read-sse2/session", "session.json", PDR_KERNEL_SSE2);
    run_kernel("read-sse2/tools", "tools.json", PDR_KERNEL_SSE2);
    bench_note("kernel", pdr_kernel_name());
}

/* --- memory --------------------------------------------------------------- */

static void run_memory(const char *name, const char *file)
{
    struct bench_text text = bench_load(file);
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;
    size_t before = bench_live_bytes();

    must(pdr_json_read(&value, ours_str(&text), NULL, &err), &err);
    size_t held = bench_live_bytes() - before;
    struct bench_figure f = {.name = name,
                             .value = (double)held / (double)text.len,
                             .unit = "bytes/byte",
                             .text = &text};
    char reported[32];
    snprintf(reported, sizeof(reported), "%zu", pdr_value_memory(value));
    bench_note("pdr_value_memory", reported);
    bench_report(&f);
    pdr_value_free(value);
}

/* --- edits ---------------------------------------------------------------- */

static void report_edits(const char *name, const struct bench_text *text,
                         uint64_t ns)
{
    struct bench_figure f = {
        .name = name, .value = (double)ns / 1e6, .unit = "ms", .text = text};

    bench_report(&f);
}

static void report_edits_memory(const char *name, const struct bench_text *text,
                                size_t before, size_t after)
{
    struct bench_figure f = {.name = name,
                             .value = (double)after,
                             .unit = "bytes",
                             .baseline = "before",
                             .baseline_value = (double)before,
                             .text = text,
                             .wanted = 0.5};

    bench_report(&f);
}

static struct bench_text array_text(void)
{
    struct bench_text text = {"[0,1,...,999999]", NULL, 0};
    size_t cap = ELEMENTS * 8;

    text.ptr = bench_reserve(cap);
    for (unsigned i = 0; i < ELEMENTS; i++)
        text.len += (size_t)snprintf(text.ptr + text.len, cap - text.len,
                                     "%c%u", i > 0 ? ',' : '[', i);
    text.ptr[text.len++] = ']';
    return text;
}

static int64_t number_at(const pdr_value *array, size_t at)
{
    pdr_err err = PDR_ERR_INIT;
    int64_t number = 0;

    must(pdr_value_int64(&number, pdr_value_at(array, at), &err), &err);
    return number;
}

/* One edit; returns what it adds to the sum of all elements. */
typedef int64_t (*edit_fn)(pdr_value **io, size_t at, unsigned k);

static int64_t edit_replace(pdr_value **io, size_t at, unsigned k)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *number = NULL;
    int64_t gone = number_at(*io, at);

    must(pdr_value_new_int64(&number, -(int64_t)k, &err), &err);
    must(pdr_value_replace(io, at, number, &err), &err);
    pdr_value_free(number);
    return -(int64_t)k - gone;
}

/* Even edits insert, odd ones erase: the length stays. */
static int64_t edit_shift(pdr_value **io, size_t at, unsigned k)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *number = NULL;

    if (k % 2 == 1) {
        int64_t gone = number_at(*io, at);
        must(pdr_value_erase(io, at, &err), &err);
        return -gone;
    }
    must(pdr_value_new_int64(&number, -(int64_t)k, &err), &err);
    must(pdr_value_insert(io, at, number, &err), &err);
    pdr_value_free(number);
    return -(int64_t)k;
}

static void check_array(const pdr_value *array, int64_t expected)
{
    pdr_err err = PDR_ERR_INIT;
    int64_t number = 0, sum = 0;
    size_t count = 0;
    pdr_iter it;

    pdr_iter_init(&it, array);
    while (pdr_iter_next(&it)) {
        must(pdr_value_int64(&number, it.value, &err), &err);
        sum += number;
        count++;
    }
    if (count != ELEMENTS || pdr_value_count(array) != ELEMENTS)
        bench_fail("the edited array has %zu elements", count);
    if (sum != expected)
        bench_fail("the edited array has another sum");
}

static void run_array_edits(const char *name, const char *memory_name,
                            edit_fn fn)
{
    int64_t sum = (int64_t)ELEMENTS * (ELEMENTS - 1) / 2;
    struct bench_text text = array_text();
    pdr_err err = PDR_ERR_INIT;
    pdr_value *array = NULL;
    uint32_t seed = 7;

    size_t empty = bench_live_bytes();
    must(pdr_json_read(&array, ours_str(&text), NULL, &err), &err);
    size_t before = bench_live_bytes() - empty;
    uint64_t begin = bench_now_ns();
    for (unsigned k = 0; k < EDITS; k++)
        sum += fn(&array, next_random(&seed) % ELEMENTS, k);
    uint64_t ns = bench_now_ns() - begin;
    size_t after = bench_live_bytes() - empty;
    check_array(array, sum);
    report_edits(name, &text, ns);
    report_edits_memory(memory_name, &text, before, after);
    pdr_value_free(array);
    free(text.ptr);
}

static void edit_message(pdr_value **io, unsigned message, unsigned k)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *text = NULL;
    char place[96], words[64];

    snprintf(place, sizeof(place),
             "/state/in_memory/messages/%u/contents/0/text", message);
    snprintf(words, sizeof(words), "Message %u as of edit %u", message, k);
    must(pdr_value_new_string(&text, pdr_str_c(words), &err), &err);
    must(pdr_pointer_set(io, pdr_str_c(place), text, &err), &err);
    pdr_value_free(text);
}

/* Each message has the text of its last edit. */
static void check_messages(const pdr_value *session, const unsigned *last)
{
    pdr_err err = PDR_ERR_INIT;
    const pdr_value *text = NULL;
    char place[96], words[64];

    for (unsigned i = 0; i < MESSAGES; i++) {
        snprintf(place, sizeof(place),
                 "/state/in_memory/messages/%u/contents/0/text", i);
        snprintf(words, sizeof(words), "Message %u as of edit %u", i, last[i]);
        must(pdr_pointer_get(&text, session, pdr_str_c(place), &err), &err);
        if (last[i] > 0 && !pdr_value_text_is(text, pdr_str_c(words)))
            bench_fail("message %u is not as it was edited", i);
    }
}

static void run_session_edits(void)
{
    static unsigned last[MESSAGES];
    struct bench_text text = bench_load("session.json");
    pdr_err err = PDR_ERR_INIT;
    pdr_value *session = NULL;
    uint32_t seed = 7;

    size_t empty = bench_live_bytes();
    must(pdr_json_read(&session, ours_str(&text), NULL, &err), &err);
    size_t before = bench_live_bytes() - empty;
    uint64_t begin = bench_now_ns();
    for (unsigned k = 1; k <= EDITS; k++) {
        unsigned message = next_random(&seed) % MESSAGES;
        edit_message(&session, message, k);
        last[message] = k;
    }
    uint64_t ns = bench_now_ns() - begin;
    size_t after = bench_live_bytes() - empty;
    check_messages(session, last);
    report_edits("edits/session", &text, ns);
    report_edits_memory("edits-memory/session", &text, before, after);
    pdr_value_free(session);
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "json");
    run_kernels();
    run_memory("memory/session", "session.json");
    run_memory("memory/tools", "tools.json");
    bench_note("edits", "10000");
    run_array_edits("edits/array-replace", "edits-memory/array-replace",
                    edit_replace);
    run_array_edits("edits/array-shift", "edits-memory/array-shift",
                    edit_shift);
    run_session_edits();
    return 0;
}
