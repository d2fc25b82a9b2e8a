/*
 * fold.c - pieces of an answer become messages.
 *
 * WHY  A model answers in pieces: a few letters, half a thought, a call, at the
 *      end a count of tokens. History holds messages. Which piece begins a new
 *      message, and which contents belong together, is decided here, alike for
 *      every client.
 *
 *      piece ─► the last message, or a new one if author, id or role differ
 *      text text text  call  text text  ─►  text  call  text
 *
 * INVARIANTS
 *   F1  A piece costs what it is long: contents are gathered as they come, and
 *       joined once, at the end (join.c). Only the fragments of a call are put
 *       together at once, because it has to be known when it is whole.
 *   F2  Usage is a sum beside the messages, never a content.
 *   F3  What a piece does not say leaves what was there.
 */
#include <strings.h>

#include "agent.h"

#include <perdure/doc.h>

void pdr__fold_init(struct pdr__fold *fold, pdr_shape shape)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);

    *fold = (struct pdr__fold){.shape = shape,
                               .finish_reason = none,
                               .response_id = none,
                               .agent_id = none,
                               .model = none};
}

void pdr__fold_dispose(struct pdr__fold *fold)
{
    for (size_t i = 0; i < fold->count; i++) {
        struct pdr__folded *m = &fold->messages[i];

        for (size_t k = 0; k < m->count; k++)
            pdr_value_free(m->contents[k]);
        pdr__free(m->contents);
        for (size_t k = 0; k < m->open_count; k++)
            pdr_buf_dispose(&m->open[k].arguments);
        pdr__free(m->open);
        pdr_value_free(m->properties);
        pdr_buf_dispose(&m->role);
        pdr_buf_dispose(&m->author);
        pdr_buf_dispose(&m->id);
    }
    pdr__free(fold->messages);
    pdr_value_free(fold->properties);
    pdr_value_free(fold->usage);
    pdr_buf_dispose(&fold->finish_reason);
    pdr_buf_dispose(&fold->response_id);
    pdr_buf_dispose(&fold->agent_id);
    pdr_buf_dispose(&fold->model);
}

/* --- usage -----------------------------------------------------------------
 */

/* Counts that .NET has members for; all others are additional. */
static const char *const usage_names[] = {
    "inputTokenCount",       "outputTokenCount",      "totalTokenCount",
    "cachedInputTokenCount", "reasoningTokenCount",   "inputAudioTokenCount",
    "inputTextTokenCount",   "outputAudioTokenCount", "outputTextTokenCount",
};

static bool usage_is_known(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(usage_names); i++) {
        if (pdr_str_equal(name, pdr_str_c(usage_names[i])))
            return true;
    }
    return false;
}

/* A pdr_usage_fn: add a count to the sum. */
static pdr_rc usage_add_count(pdr_str name, int64_t count, pdr_err *err,
                              void *arg)
{
    const pdr_str extra = PDR_LIT("additionalCounts");
    pdr_value **sum = arg, *number = NULL, *counts = NULL;
    bool is_known = usage_is_known(name);
    int64_t before = 0;
    pdr_rc rc = PDR_OK;

    (void)pdr_usage_count(&before, *sum, name);
    if (__builtin_add_overflow(count, before, &count))
        count = INT64_MAX;
    PDR_TRY(pdr_value_new_int64(&number, count, err));
    if (is_known) {
        rc = pdr_value_set(sum, name, number, err);
        goto done;
    }
    counts = pdr_value_get(*sum, extra) != NULL
                 ? pdr_value_ref(pdr_value_get(*sum, extra))
                 : pdr_value_new_object();
    PDR_TRY(pdr_value_set(&counts, name, number, err));
    PDR_TRY(pdr_value_set(sum, extra, counts, err));
done:
    pdr_value_free(counts);
    pdr_value_free(number);
    return rc;
}

pdr_rc pdr__usage_add(pdr_value **io, const pdr_value *more, pdr_err *err)
{
    if (more == NULL)
        return PDR_OK;
    if (*io == NULL)
        *io = pdr_value_new_object();
    return pdr_usage_each(more, err, usage_add_count, io);
}

/* --- pieces ----------------------------------------------------------------
 */

/* Do both say something, and not the same? */
static bool text_differs(const pdr_buf *had, pdr_str has, bool ignore_case)
{
    if (had->len == 0 || has.len == 0)
        return false;
    return had->len != has.len ||
           (ignore_case ? strncasecmp(had->ptr, has.ptr, has.len)
                        : memcmp(had->ptr, has.ptr, has.len)) != 0;
}

pdr_rc pdr__text_set(pdr_buf *to, pdr_str text, pdr_err *err)
{
    if (text.len == 0)
        return PDR_OK;
    pdr_buf_clear(to);
    return pdr_buf_append(to, text, err);
}

pdr_rc pdr__properties_add(pdr_value **io, const pdr_value *more, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (more == NULL)
        return PDR_OK;
    if (*io == NULL)
        *io = pdr_value_new_object();
    pdr_iter_init(&it, more);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        PDR_TRY(pdr__value_sound_text(&name, it.name, &scratch, err));
        PDR_TRY(pdr_value_set(io, name, it.value, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* More of the arguments of a call: are they whole now? Counts brackets instead
 * of reading all of them again. What does not begin with one is whole. */
static bool arguments_end(struct pdr__open_call *call, pdr_str more)
{
    for (size_t i = 0; i < more.len; i++) {
        char c = more.ptr[i];

        if (call->is_escaped) {
            call->is_escaped = false;
        } else if (call->in_string) {
            call->is_escaped = c == '\\';
            call->in_string = c != '"';
        } else if (c == '{' || c == '[') {
            call->depth++;
        } else if (c == '}' || c == ']') {
            call->depth -= call->depth > 0;
            if (call->depth == 0)
                return true;
        } else if (call->depth > 0) {
            call->in_string = c == '"';
        } else if (strchr(" \t\r\n", c) == NULL) {
            return true;
        }
    }
    return false;
}

/* No more fragments of this call: put it where its first one is. */
static pdr_rc call_close(struct pdr__folded *m, struct pdr__open_call *call,
                         pdr_shape shape, pdr_err *err)
{
    const pdr_value *first = m->contents[call->at];
    const pdr_value *id = pdr_content_get(first, shape, PDR_FIELD_CALL_ID);
    const pdr_value *name = pdr_content_get(first, shape, PDR_FIELD_NAME);
    pdr_buf id_room = PDR_BUF_INIT(SIZE_MAX),
            name_room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str id_text = PDR_LIT(""), name_text = PDR_LIT("");
    pdr_value *whole = NULL, *text = NULL;
    pdr_rc rc = PDR_OK;

    if (call->is_joined && shape == PDR_SHAPE_PYTHON) {
        whole = pdr_value_ref(first);
        PDR_TRY(
            pdr_value_new_string(&text, pdr_buf_str(&call->arguments), err));
        PDR_TRY(pdr_value_set(&whole, PDR_LIT("arguments"), text, err));
    } else if (call->is_joined) {
        if (id != NULL)
            PDR_TRY(pdr__value_sound_text(&id_text, id, &id_room, err));
        if (name != NULL)
            PDR_TRY(pdr__value_sound_text(&name_text, name, &name_room, err));
        PDR_TRY(pdr_content_new_call(&whole, shape, id_text, name_text,
                                     pdr_buf_str(&call->arguments), err));
    }
    if (whole != NULL) {
        pdr_value_free(m->contents[call->at]);
        m->contents[call->at] = whole;
        whole = NULL;
    }
    pdr_buf_dispose(&call->arguments);
    *call = m->open[--m->open_count];
done:
    pdr_value_free(whole);
    pdr_value_free(text);
    pdr_buf_dispose(&name_room);
    pdr_buf_dispose(&id_room);
    return rc;
}

/* A call, or more of one: a fragment goes on with the open call of its id; if
 * it has none, with the one directly before it. `*joined`: it did. */
static pdr_rc call_add(bool *joined, struct pdr__folded *m,
                       const pdr_value *fragment, pdr_shape shape, pdr_err *err)
{
    const pdr_value *id = pdr_content_get(fragment, shape, PDR_FIELD_CALL_ID);
    bool has_id = id != NULL && !pdr_value_text_is(id, PDR_LIT(""));
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    struct pdr__open_call *call = NULL;
    bool is_whole = false;
    pdr_rc rc = pdr_content_arguments(&text, fragment, shape, NULL);

    *joined = false;
    if (rc != PDR_OK) /* not a text: nothing goes on with it */
        return rc == PDR_ENOMEM ? pdr__nomem(err) : PDR_OK;
    for (size_t i = m->open_count; i > 0 && call == NULL; i--) {
        size_t at = m->open[i - 1].at;
        const pdr_value *own =
            pdr_content_get(m->contents[at], shape, PDR_FIELD_CALL_ID);

        if (has_id ? own != NULL && pdr__value_same_text(own, id)
                   : at + 1 == m->count)
            call = &m->open[i - 1];
    }
    if (call != NULL) {
        *joined = call->is_joined = true;
        is_whole = arguments_end(call, pdr_buf_str(&text));
        PDR_TRY(pdr_buf_append(&call->arguments, pdr_buf_str(&text), err));
    } else {
        PDR_TRY(pdr__grow((void **)&m->open, &m->open_cap, m->open_count + 1,
                          sizeof(*m->open), err));
        call = &m->open[m->open_count++];
        *call = (struct pdr__open_call){.at = m->count, .arguments = text};
        is_whole = arguments_end(call, pdr_buf_str(&text));
        text = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    }
    if (is_whole && !call->is_joined) {
        pdr_buf_dispose(&call->arguments);
        m->open_count--;
    } else if (is_whole) {
        PDR_TRY(call_close(m, call, shape, err));
    }
done:
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc content_add(struct pdr__fold *fold, struct pdr__folded *m,
                          const pdr_value *content, pdr_err *err)
{
    pdr_content_kind kind = pdr_content_kind_of(content, fold->shape);
    bool joined = false;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_CONTENT_USAGE)
        return pdr__usage_add(
            &fold->usage,
            pdr_content_get(content, fold->shape, PDR_FIELD_USAGE), err);
    if (kind == PDR_CONTENT_CALL)
        PDR_TRY(call_add(&joined, m, content, fold->shape, err));
    if (joined)
        goto done;
    PDR_TRY(pdr__grow((void **)&m->contents, &m->cap, m->count + 1,
                      sizeof(*m->contents), err));
    m->contents[m->count++] = pdr_value_ref(content);
done:
    return rc;
}

pdr_rc pdr__fold_add(struct pdr__fold *fold, const pdr_update *update,
                     pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__folded *m =
        fold->count > 0 ? &fold->messages[fold->count - 1] : NULL;
    pdr_rc rc = PDR_OK;

    if (m == NULL || text_differs(&m->author, update->author, false) ||
        text_differs(&m->id, update->message_id, false) ||
        text_differs(&m->role, update->role, true)) {
        PDR_TRY(pdr__grow((void **)&fold->messages, &fold->cap, fold->count + 1,
                          sizeof(*fold->messages), err));
        m = &fold->messages[fold->count++];
        *m = (struct pdr__folded){.role = none, .author = none, .id = none};
        PDR_TRY(pdr__text_set(&m->role, PDR_LIT("assistant"), err));
    }
    PDR_TRY(pdr__text_set(&m->role, update->role, err));
    PDR_TRY(pdr__text_set(&m->author, update->author, err));
    PDR_TRY(pdr__text_set(&m->id, update->message_id, err));
    PDR_TRY(pdr__text_set(&fold->finish_reason, update->finish_reason, err));
    PDR_TRY(pdr__text_set(&fold->response_id, update->response_id, err));
    PDR_TRY(pdr__text_set(&fold->agent_id, update->agent_id, err));
    PDR_TRY(pdr__text_set(&fold->model, update->model, err));
    if (m->created_at == 0 && update->created_at > PDR_TICKS_UNIX_EPOCH)
        m->created_at = update->created_at;
    if (fold->created_at == 0)
        fold->created_at = m->created_at;
    PDR_TRY(pdr__properties_add(update->message_id.len > 0 ? &m->properties
                                                           : &fold->properties,
                                update->properties, err));
    for (size_t i = 0; i < update->content_count; i++)
        PDR_TRY(content_add(fold, m, update->contents[i], err));
done:
    return rc;
}

/* --- messages --------------------------------------------------------------
 */

pdr_rc pdr__fold_message(pdr_value **out, struct pdr__fold *fold, size_t i,
                         pdr_str author, pdr_err *err)
{
    struct pdr__folded *m = &fold->messages[i];
    pdr_datetime at = pdr_datetime_utc(m->created_at);
    pdr_message_parts parts = {
        .role = pdr_buf_str(&m->role),
        .author = m->author.len > 0 ? pdr_buf_str(&m->author) : author,
        .id = pdr_buf_str(&m->id),
        .properties = m->properties};
    pdr_value *contents = NULL;
    pdr_rc rc = PDR_OK;

    if (m->created_at > 0)
        parts.created_at = &at;
    while (m->open_count > 0) /* the model has stopped in them */
        PDR_TRY(call_close(m, &m->open[0], fold->shape, err));
    PDR_TRY(pdr__contents_join(&contents, (const pdr_value *const *)m->contents,
                               m->count, fold->shape, err));
    parts.contents = contents;
    PDR_TRY(pdr_message_new(out, fold->shape, &parts, err));
done:
    pdr_value_free(contents);
    return rc;
}
