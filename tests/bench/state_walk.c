/*
 * state_walk.c - our side of the benchmarks of state documents.
 *
 * WHY  Two baselines and the walk after an append are compared with the same
 *      walk. It does what a program does that shows a conversation, and no
 *      less: an answer for every content that says which fields it has.
 */
#include "state_walk.h"

/* The members of each kind that hold text. */
static const struct {
    pdr_content_kind kind;
    pdr_field fields[3];
} texts[] = {
    {PDR_CONTENT_TEXT, {PDR_FIELD_TEXT}},
    {PDR_CONTENT_REASONING, {PDR_FIELD_TEXT}},
    {PDR_CONTENT_CALL, {PDR_FIELD_CALL_ID, PDR_FIELD_NAME}},
    {PDR_CONTENT_RESULT, {PDR_FIELD_CALL_ID, PDR_FIELD_RESULT}},
    {PDR_CONTENT_DATA, {PDR_FIELD_URI, PDR_FIELD_MEDIA_TYPE}},
    {PDR_CONTENT_URI, {PDR_FIELD_URI, PDR_FIELD_MEDIA_TYPE}},
    {PDR_CONTENT_ERROR, {PDR_FIELD_MESSAGE, PDR_FIELD_ERROR_CODE}},
};

static uint64_t text_len(const pdr_value *value, pdr_buf *scratch)
{
    pdr_str text = {NULL, 0};

    if (value == NULL || pdr_value_kind(value) != PDR_STRING ||
        pdr_value_text(&text, value, scratch, NULL) != PDR_OK)
        return 0;
    return text.len;
}

static void walk_content(struct state_sums *sums, const pdr_value *content,
                         pdr_buf *scratch)
{
    pdr_content_kind kind = pdr_content_kind_of(content, PDR_SHAPE_STATE);

    sums->contents++;
    sums->calls += kind == PDR_CONTENT_CALL;
    sums->results += kind == PDR_CONTENT_RESULT;
    if (kind == PDR_CONTENT_CALL)
        sums->members += pdr_value_count(
            pdr_content_get(content, PDR_SHAPE_STATE, PDR_FIELD_ARGUMENTS));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].kind != kind)
            continue;
        for (const pdr_field *field = texts[i].fields; *field != 0; field++)
            sums->text_bytes += text_len(
                pdr_content_get(content, PDR_SHAPE_STATE, *field), scratch);
        return;
    }
}

static void walk_message(struct state_sums *sums, const pdr_value *message,
                         pdr_buf *scratch)
{
    pdr_iter it;

    sums->messages++;
    sums->text_bytes +=
        text_len(pdr_message_role(message, PDR_SHAPE_STATE), scratch) +
        text_len(pdr_message_author(message, PDR_SHAPE_STATE), scratch);
    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it))
        walk_content(sums, it.value, scratch);
}

void state_walk(struct state_sums *sums, const pdr_value *state,
                pdr_buf *scratch)
{
    pdr_iter entry, message;
    pdr_datetime at;

    *sums = (struct state_sums){0};
    pdr_iter_init(&entry, pdr_state_entries(state));
    while (pdr_iter_next(&entry)) {
        pdr_entry_kind kind = pdr_entry_kind_of(entry.value);

        sums->requests += kind == PDR_ENTRY_REQUEST;
        sums->responses += kind == PDR_ENTRY_RESPONSE;
        sums->text_bytes +=
            text_len(pdr_entry_correlation_id(entry.value), scratch);
        if (!pdr_entry_created_at(&at, entry.value))
            bench_fail("an entry without a date");
        pdr_iter_init(&message, pdr_entry_messages(entry.value));
        while (pdr_iter_next(&message))
            walk_message(sums, message.value, scratch);
    }
}

void state_read_and_walk(struct state_sums *sums, const struct bench_text *text,
                         pdr_buf *scratch)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *state = NULL;

    if (pdr_state_read(&state, ours_str(text), NULL, &err) != PDR_OK)
        bench_fail("%s: %s", text->name, err.message);
    state_walk(sums, state, scratch);
    pdr_value_free(state);
}

void state_sums_compare(const char *name, const struct state_sums *ours,
                        const struct state_sums *theirs)
{
    if (ours->contents > 0 && ours->requests == theirs->requests &&
        ours->responses == theirs->responses &&
        ours->messages == theirs->messages &&
        ours->contents == theirs->contents && ours->calls == theirs->calls &&
        ours->results == theirs->results && ours->members == theirs->members &&
        ours->text_bytes == theirs->text_bytes)
        return;
    bench_fail("%s: not the same conversation: ours has %llu contents with "
               "%llu bytes, theirs %llu with %llu",
               name, (unsigned long long)ours->contents,
               (unsigned long long)ours->text_bytes,
               (unsigned long long)theirs->contents,
               (unsigned long long)theirs->text_bytes);
}
