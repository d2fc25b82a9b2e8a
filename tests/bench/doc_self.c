/*
 * doc_self.c - what does it cost to keep a conversation as a value that others
 * can share, instead of as a struct?
 *
 * append/10k         10,000 entries of 1.1 KB, built beforehand, appended to a
 *                    new document, which is then written; against writing that
 *                    same document once more
 * walk/after-append  every content of that document through the typed view;
 *                    against the same walk over its text, freshly read. Reading
 *                    is not timed
 *
 * Freeing is not timed on either side.
 */
#include "state_walk.h"

#include <stdio.h>
#include <string.h>

#define ENTRIES     10000
#define ENTRY_BYTES 1100

struct job {
    pdr_value *entries[ENTRIES]; /* owned */
    pdr_value *appended;         /* owned; all of them in one document */
    pdr_value *last;             /* owned; the same, of the last timed call */
    pdr_value *fresh;            /* owned; the same, read from its text */
    struct bench_text text;      /* of the same */
    pdr_buf out, scratch;
    struct state_sums sums;
};

static void must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s: %s", pdr_rc_name(rc), err->message);
}

/* --- entries -------------------------------------------------------------- */

/* One message with a text of `len` bytes, in the shape of a state document. */
static pdr_value *messages_of(bool request, size_t len)
{
    char text[ENTRY_BYTES + 200], filler[ENTRY_BYTES];
    pdr_err err = PDR_ERR_INIT;
    pdr_value *messages = NULL;

    memset(filler, 'x', sizeof(filler));
    snprintf(text, sizeof(text),
             "[{\"contents\":[{\"$type\":\"text\",\"text\":\"%.*s\"}],"
             "\"role\":\"%s\"}]",
             (int)len, filler, request ? "user" : "assistant");
    must(pdr_json_read(&messages, pdr_str_c(text), NULL, &err), &err);
    return messages;
}

/* An entry whose message has a text of `len` bytes. */
static pdr_value *entry_of(unsigned number, size_t len)
{
    pdr_err err = PDR_ERR_INIT;
    bool request = number % 2 == 0;
    pdr_value *messages = messages_of(request, len), *entry = NULL;
    char id[40];
    pdr_entry_parts parts = {
        .kind = request ? PDR_ENTRY_REQUEST : PDR_ENTRY_RESPONSE,
        .created_at =
            PDR_TICKS_UNIX_EPOCH + (int64_t)number * PDR_TICKS_PER_SECOND,
        .messages = messages};

    snprintf(id, sizeof(id), "turn-%u", number / 2);
    parts.correlation_id = pdr_str_c(id);
    must(pdr_entry_new(&entry, &parts, &err), &err);
    pdr_value_free(messages);
    return entry;
}

/* An entry of ENTRY_BYTES. */
static pdr_value *build_entry(unsigned number)
{
    pdr_value *entry = entry_of(number, 0);
    pdr_str raw = {NULL, 0};
    size_t empty = 0;

    (void)pdr_value_raw(&raw, entry);
    empty = raw.len;
    pdr_value_free(entry);
    entry = entry_of(number, ENTRY_BYTES - empty);
    (void)pdr_value_raw(&raw, entry);
    if (raw.len != ENTRY_BYTES)
        bench_fail("an entry of %zu bytes", raw.len);
    return entry;
}

/* --- cases ---------------------------------------------------------------- */

static pdr_value *append_all(struct job *job)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *state = NULL;

    must(pdr_state_new(&state, &err), &err);
    for (size_t i = 0; i < ENTRIES; i++)
        must(pdr_state_append(&state, job->entries[i], &err), &err);
    return state;
}

static void append_and_write(void *arg)
{
    struct job *job = arg;

    job->last = append_all(job);
    ours_write(&job->out, job->last);
}

static void free_last(void *arg)
{
    struct job *job = arg;

    pdr_value_free(job->last);
}

static void write_again(void *arg)
{
    struct job *job = arg;

    ours_write(&job->out, job->appended);
}

static void walk_appended(void *arg)
{
    struct job *job = arg;

    state_walk(&job->sums, job->appended, &job->scratch);
}

static void walk_fresh(void *arg)
{
    struct job *job = arg;

    state_walk(&job->sums, job->fresh, &job->scratch);
}

/* Does what was appended to hold what its text holds? */
static void compare(struct job *job)
{
    struct state_sums appended;
    pdr_err err = PDR_ERR_INIT;

    append_and_write(job);
    free_last(job);
    if (!pdr_str_equal(ours_str(&job->text), pdr_buf_str(&job->out)))
        bench_fail("append/10k: two documents from the same entries differ");
    must(pdr_state_read(&job->fresh, ours_str(&job->text), NULL, &err), &err);
    walk_appended(job);
    appended = job->sums;
    walk_fresh(job);
    if (appended.contents != ENTRIES)
        bench_fail("walk/after-append: %llu contents",
                   (unsigned long long)appended.contents);
    state_sums_compare("walk/after-append", &appended, &job->sums);
}

static void build(struct job *job)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        job->entries[i] = build_entry(i);
    job->appended = append_all(job);
    job->out = ours_buffer((ENTRIES + 1) * (ENTRY_BYTES + 1));
    job->scratch = ours_buffer(ENTRY_BYTES);
    ours_write(&job->out, job->appended);
    job->text = (struct bench_text){.name = "10,000 entries",
                                    .ptr = bench_reserve(job->out.len),
                                    .len = job->out.len};
    memcpy(job->text.ptr, job->out.ptr, job->out.len);
}

int main(int argc, char **argv)
{
    static struct job job;
    struct bench_case append = {.name = "append/10k",
                                .baseline = "one write",
                                .ours = append_and_write,
                                .theirs = write_again,
                                .after = free_last,
                                .arg = &job,
                                .text = &job.text,
                                .wanted = 0.5};
    struct bench_case walk = {.name = "walk/after-append",
                              .baseline = "fresh parse",
                              .ours = walk_appended,
                              .theirs = walk_fresh,
                              .arg = &job,
                              .text = &job.text,
                              .wanted = 0.75};

    ours_start(argc, argv, "doc");
    bench_note("entries", "10000 of 1100 bytes");
    build(&job);
    compare(&job);
    bench_run(&append);
    bench_run(&walk);
    return 0;
}
