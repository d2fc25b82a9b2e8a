/*
 * doc_turns.c - which entries belong together.
 *
 * WHY  A turn is a request and what answered it, by correlation id. Mostly one
 *      follows the other, but a document may come from anywhere: ids occur
 *      twice, answers come late or without a question, and there may be a
 *      million of each. So ids are sorted, not searched for.
 *
 *      entries   req a   req b   note   resp a   resp b   resp c
 *      turns     1---------------------- 1
 *                        2--------------------------2
 *                                (0)                        3
 */
#include "doc_parts.h"

#include <stdlib.h>

/* --- keys ---------------------------------------------------------------- */

void doc_keys_add(struct doc_keys *keys, pdr_str text, size_t order)
{
    pdr_err err = PDR_ERR_INIT;

    if (keys->count == keys->cap) {
        keys->cap = keys->cap > 0 ? keys->cap * 2 : 64;
        keys->items =
            cli_realloc(keys->items, keys->cap, sizeof(keys->items[0]));
    }
    cli_must(pdr_buf_append(&keys->texts, text, &err), &err);
    /* The buffer may still move: only the length is known for good. */
    keys->items[keys->count++] =
        (struct doc_key){pdr_str_n(NULL, text.len), order, 0};
}

static int compare_texts(pdr_str a, pdr_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_keys(const void *left, const void *right)
{
    const struct doc_key *a = left, *b = right;
    int order = compare_texts(a->text, b->text);

    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

void doc_keys_sort(struct doc_keys *keys)
{
    /* Where all texts are empty, there is no buffer. */
    const char *at = keys->texts.ptr != NULL ? keys->texts.ptr : "";

    for (size_t i = 0; i < keys->count; i++) {
        keys->items[i].text.ptr = at;
        at += keys->items[i].text.len;
    }
    if (keys->count > 1)
        qsort(keys->items, keys->count, sizeof(keys->items[0]), compare_keys);
}

struct doc_key *doc_keys_find(const struct doc_keys *keys, pdr_str text)
{
    size_t low = 0, high = keys->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_texts(keys->items[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < keys->count && compare_texts(keys->items[low].text, text) == 0
               ? &keys->items[low]
               : NULL;
}

struct doc_key *doc_keys_take(const struct doc_keys *keys, pdr_str text)
{
    struct doc_key *first = doc_keys_find(keys, text), *key = NULL;

    if (first == NULL)
        return NULL;
    key = first + first->taken;
    if (key == keys->items + keys->count || compare_texts(key->text, text) != 0)
        return NULL;
    first->taken++;
    return key;
}

void doc_keys_free(struct doc_keys *keys)
{
    free(keys->items);
    pdr_buf_dispose(&keys->texts);
    memset(keys, 0, sizeof(*keys));
}

/* --- turns --------------------------------------------------------------- */

static void list_entries(struct doc_turns *t, const pdr_value *state)
{
    pdr_iter it;

    t->entry_count = pdr_value_count(pdr_state_entries(state));
    t->entries = cli_realloc(NULL, t->entry_count, sizeof(t->entries[0]));
    t->next = cli_realloc(NULL, t->entry_count, sizeof(t->next[0]));
    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it)) {
        t->entries[it.index] = it.value;
        t->next[it.index] = DOC_NONE;
    }
}

/* Requests and responses by correlation id; what has none has the id "". */
static void list_ids(struct doc_keys *keys, const struct doc_turns *t)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < t->entry_count; i++)
        if (pdr_entry_kind_of(t->entries[i]) != PDR_ENTRY_OTHER)
            doc_keys_add(
                keys,
                doc_text(pdr_entry_correlation_id(t->entries[i]), &scratch), i);
    doc_keys_sort(keys);
    pdr_buf_dispose(&scratch);
}

/* Chain the responses behind their requests. `follows` gets a mark for each
 * entry that is not the first of its turn. */
static void chain(struct doc_turns *t, const struct doc_keys *keys,
                  bool *follows)
{
    size_t last = DOC_NONE; /* entry of the turn in progress */

    for (size_t i = 0; i < keys->count; i++) {
        const struct doc_key *key = &keys->items[i];
        bool is_response =
            pdr_entry_kind_of(t->entries[key->order]) == PDR_ENTRY_RESPONSE;

        if (i == 0 || compare_texts(keys->items[i - 1].text, key->text) != 0)
            last = DOC_NONE;
        if (is_response && last != DOC_NONE) {
            t->next[last] = key->order;
            follows[key->order] = true;
        }
        last = key->order;
    }
}

static struct doc_turn turn_at(struct doc_turns *t, size_t first)
{
    struct doc_turn turn = {.first = first};

    for (size_t i = first; i != DOC_NONE; i = t->next[i]) {
        pdr_entry_kind kind = pdr_entry_kind_of(t->entries[i]);
        turn.has_request = turn.has_request || kind == PDR_ENTRY_REQUEST;
        turn.has_response = turn.has_response || kind == PDR_ENTRY_RESPONSE;
        if (kind == PDR_ENTRY_RESPONSE)
            turn.is_error = pdr_entry_is_error(t->entries[i]);
    }
    if (turn.has_request || turn.has_response)
        turn.number = ++t->numbered;
    return turn;
}

void doc_turns_find(struct doc_turns *out, const pdr_value *state)
{
    struct doc_keys keys = DOC_KEYS_INIT;
    bool *follows = NULL;

    memset(out, 0, sizeof(*out));
    list_entries(out, state);
    list_ids(&keys, out);
    follows = cli_realloc(NULL, out->entry_count, sizeof(follows[0]));
    memset(follows, 0, out->entry_count * sizeof(follows[0]));
    chain(out, &keys, follows);
    out->items = cli_realloc(NULL, out->entry_count, sizeof(out->items[0]));
    for (size_t i = 0; i < out->entry_count; i++)
        if (!follows[i])
            out->items[out->count++] = turn_at(out, i);
    free(follows);
    doc_keys_free(&keys);
}

void doc_turns_free(struct doc_turns *turns)
{
    free(turns->items);
    free(turns->entries);
    free(turns->next);
    memset(turns, 0, sizeof(*turns));
}

/* --- results ------------------------------------------------------------- */

static void add_result(struct doc_results *r, const pdr_value *content,
                       const struct doc_content *c, pdr_buf *scratch)
{
    if (r->count == r->cap) {
        r->cap = r->cap > 0 ? r->cap * 2 : 16;
        r->items = cli_realloc(r->items, r->cap, sizeof(r->items[0]));
    }
    doc_keys_add(&r->keys, doc_text(doc_field(c, PDR_FIELD_CALL_ID), scratch),
                 r->count);
    r->items[r->count++] = (struct doc_result){content, false};
}

/* The call of an approval, or NULL. */
static const pdr_value *asked_id(const struct doc_content *c)
{
    struct doc_content call =
        doc_content_in(doc_field(c, PDR_FIELD_TOOL_CALL), c->shape);

    return doc_field(&call, PDR_FIELD_CALL_ID);
}

static void add_content(struct doc_results *r, const pdr_value *content,
                        pdr_buf *scratch)
{
    struct doc_content c = doc_content_of(content);

    if (c.part == DOC_PART_RESULT)
        add_result(r, content, &c, scratch);
    else if (c.part == DOC_PART_CALL && doc_field(&c, PDR_FIELD_CALL_ID))
        doc_keys_add(&r->calls,
                     doc_text(doc_field(&c, PDR_FIELD_CALL_ID), scratch), 0);
    else if (doc_is_asking(&c))
        doc_keys_add(&r->asked, doc_text(asked_id(&c), scratch), 0);
}

static void add_results(struct doc_results *r, const pdr_value *entry,
                        pdr_buf *scratch)
{
    pdr_iter message, content;

    pdr_iter_init(&message, pdr_entry_messages(entry));
    while (pdr_iter_next(&message)) {
        pdr_iter_init(&content,
                      pdr_message_contents(message.value, PDR_SHAPE_STATE));
        while (pdr_iter_next(&content))
            add_content(r, content.value, scratch);
    }
}

/* A result may stand before its call: that it will be told there has to be
 * known when the walk comes to it. */
static void mark_told(struct doc_results *r)
{
    for (size_t i = 0; i < r->calls.count; i++) {
        const struct doc_key *key =
            doc_keys_take(&r->keys, r->calls.items[i].text);
        if (key != NULL)
            r->items[key->order].is_told = true;
    }
    for (size_t i = 0; i < r->keys.count; i++)
        r->keys.items[i].taken = 0;
}

void doc_results_find(struct doc_results *out, const struct doc_turns *turns,
                      const struct doc_turn *turn)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    *out = (struct doc_results){
        .keys = DOC_KEYS_INIT, .calls = DOC_KEYS_INIT, .asked = DOC_KEYS_INIT};
    for (size_t i = turn->first; i != DOC_NONE; i = turns->next[i])
        add_results(out, turns->entries[i], &scratch);
    doc_keys_sort(&out->keys);
    doc_keys_sort(&out->calls);
    doc_keys_sort(&out->asked);
    mark_told(out);
    pdr_buf_dispose(&scratch);
}

static bool has_id(const struct doc_keys *keys, const pdr_value *id)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    bool found =
        id != NULL && doc_keys_find(keys, doc_text(id, &scratch)) != NULL;

    pdr_buf_dispose(&scratch);
    return found;
}

bool doc_results_has_call(const struct doc_results *r, const pdr_value *call_id)
{
    return has_id(&r->calls, call_id);
}

bool doc_results_is_asked(const struct doc_results *r, const pdr_value *call_id)
{
    return has_id(&r->asked, call_id);
}

const pdr_value *doc_results_take(struct doc_results *r,
                                  const pdr_value *call_id)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    const struct doc_key *key =
        call_id != NULL ? doc_keys_take(&r->keys, doc_text(call_id, &scratch))
                        : NULL;

    pdr_buf_dispose(&scratch);
    if (key == NULL)
        return NULL;
    r->items[key->order].is_told = true;
    return r->items[key->order].content;
}

bool doc_results_pass(struct doc_results *r)
{
    return r->items[r->passed++].is_told;
}

void doc_results_free(struct doc_results *r)
{
    free(r->items);
    doc_keys_free(&r->keys);
    doc_keys_free(&r->calls);
    doc_keys_free(&r->asked);
}
