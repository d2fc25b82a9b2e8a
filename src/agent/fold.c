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
 *   F1  Pieces are joined only with their neighbours of the same kind; a call
 *       in fragments with the fragments of its id.
 *   F2  Usage is a sum beside the messages, never a content.
 *   F3  What a piece does not say leaves what was there.
 */
#include <strings.h>

#include "agent.h"

#include <perdure/doc.h>

void pdr__fold_init(struct pdr__fold *fold, pdr_shape shape)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);

    *fold = (struct pdr__fold){.shape = shape, .finish_reason = none};
}

void pdr__fold_dispose(struct pdr__fold *fold)
{
    for (size_t i = 0; i < fold->count; i++) {
        struct pdr__folded *m = &fold->messages[i];

        for (size_t k = 0; k < m->count; k++)
            pdr_value_free(m->contents[k]);
        pdr__free(m->contents);
        pdr_value_free(m->properties);
        pdr_buf_dispose(&m->role);
        pdr_buf_dispose(&m->author);
        pdr_buf_dispose(&m->id);
    }
    pdr__free(fold->messages);
    pdr_value_free(fold->properties);
    pdr_value_free(fold->usage);
    pdr_buf_dispose(&fold->finish_reason);
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

static pdr_rc text_set(pdr_buf *to, pdr_str text, pdr_err *err)
{
    if (text.len == 0)
        return PDR_OK;
    pdr_buf_clear(to);
    return pdr_buf_append(to, text, err);
}

/* Later members win. */
static pdr_rc properties_add(pdr_value **io, const pdr_value *more,
                             pdr_err *err)
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

/* The text of the arguments so far, if they are not whole yet. */
static bool call_is_open(pdr_buf *arguments, const pdr_value *call,
                         pdr_shape shape)
{
    pdr_value *whole = NULL;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(arguments);
    if (pdr_content_arguments(arguments, call, shape, NULL) != PDR_OK)
        return false;
    rc = pdr_json_read(&whole, pdr_buf_str(arguments), NULL, NULL);
    pdr_value_free(whole);
    return rc == PDR_EINVALID;
}

/* Join a fragment with the call that it goes on with, if there is one. */
static pdr_rc call_join(bool *joined, struct pdr__folded *m,
                        const pdr_value *fragment, pdr_shape shape,
                        pdr_err *err)
{
    const pdr_value *id = pdr_content_get(fragment, shape, PDR_FIELD_CALL_ID);
    pdr_buf arguments = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf id_text = PDR_BUF_INIT(SIZE_MAX),
            name_text = PDR_BUF_INIT(SIZE_MAX);
    bool is_named = id != NULL && !pdr_value_text_is(id, PDR_LIT(""));
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    *joined = false;
    for (size_t k = m->count; k > 0 && !*joined; k--) {
        const pdr_value *call = m->contents[k - 1];
        const pdr_value *own = pdr_content_get(call, shape, PDR_FIELD_CALL_ID);
        const pdr_value *name = pdr_content_get(call, shape, PDR_FIELD_NAME);
        pdr_str text = {NULL, 0}, name_of = PDR_LIT("");

        if (!is_named && k < m->count)
            break; /* only the one directly before it */
        if (pdr_content_kind_of(call, shape) != PDR_CONTENT_CALL ||
            own == NULL || (is_named && !pdr__value_same_text(own, id)) ||
            !call_is_open(&arguments, call, shape))
            continue;
        PDR_TRY(pdr_content_arguments(&arguments, fragment, shape, err));
        PDR_TRY(pdr__value_sound_text(&text, own, &id_text, err));
        if (name != NULL)
            PDR_TRY(pdr__value_sound_text(&name_of, name, &name_text, err));
        PDR_TRY(pdr_content_new_call(&made, shape, text, name_of,
                                     pdr_buf_str(&arguments), err));
        pdr_value_free(m->contents[k - 1]);
        m->contents[k - 1] = made;
        *joined = true;
    }
done:
    pdr_buf_dispose(&name_text);
    pdr_buf_dispose(&id_text);
    pdr_buf_dispose(&arguments);
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
        PDR_TRY(call_join(&joined, m, content, fold->shape, err));
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
    }
    PDR_TRY(text_set(&m->role, update->role, err));
    PDR_TRY(text_set(&m->author, update->author, err));
    PDR_TRY(text_set(&m->id, update->message_id, err));
    PDR_TRY(text_set(&fold->finish_reason, update->finish_reason, err));
    if (m->created_at == 0 && update->created_at > PDR_TICKS_UNIX_EPOCH)
        m->created_at = update->created_at;
    PDR_TRY(properties_add(update->message_id.len > 0 ? &m->properties
                                                      : &fold->properties,
                           update->properties, err));
    for (size_t i = 0; i < update->content_count; i++)
        PDR_TRY(content_add(fold, m, update->contents[i], err));
done:
    return rc;
}

/* --- messages --------------------------------------------------------------
 */

/* May the next content be joined with this one? */
static bool content_goes_on(const pdr_value *content, pdr_shape shape,
                            pdr_content_kind kind)
{
    if (pdr_content_kind_of(content, shape) != kind)
        return false;
    if (kind == PDR_CONTENT_TEXT)
        return pdr_content_get(content, shape, PDR_FIELD_ANNOTATIONS) == NULL;
    return kind == PDR_CONTENT_REASONING &&
           pdr_content_get(content, shape, PDR_FIELD_PROTECTED) == NULL;
}

/* One content of several: the first one with the text of all. */
static pdr_rc contents_join(pdr_value **out, pdr_value *const *contents,
                            size_t count, pdr_shape shape, pdr_err *err)
{
    const pdr_value *last = contents[count - 1];
    const pdr_value *secret = pdr_content_get(last, shape, PDR_FIELD_PROTECTED);
    pdr_buf all = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *text = NULL;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(contents[0]);
    if (count == 1)
        return PDR_OK;
    for (size_t i = 0; i < count; i++) {
        const pdr_value *part =
            pdr_content_get(contents[i], shape, PDR_FIELD_TEXT);
        pdr_str bytes = {NULL, 0};

        if (part == NULL)
            continue;
        PDR_TRY(pdr__value_name_bytes(&bytes, part, &scratch, err));
        PDR_TRY(pdr__text_encode(&all, bytes, err));
    }
    pdr_buf_clear(&scratch);
    PDR_TRY(pdr_buf_printf(&scratch, err, "\"%.*s\"", (int)all.len, all.ptr));
    PDR_TRY(pdr_json_read_take(&text, &scratch, NULL, err));
    PDR_TRY(pdr_value_set(out, PDR_LIT("text"), text, err));
    if (secret != NULL)
        PDR_TRY(pdr_value_set(out,
                              shape == PDR_SHAPE_PYTHON
                                  ? PDR_LIT("protected_data")
                                  : PDR_LIT("protectedData"),
                              secret, err));
done:
    pdr_value_free(text);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&all);
    return rc;
}

/* Contents that belong together as one each; an owned array. */
static pdr_rc contents_fold(pdr_value **out, const struct pdr__folded *m,
                            pdr_shape shape, pdr_err *err)
{
    pdr_value *list = pdr_value_new_array(), *one = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0, next = 0; i < m->count; i = next) {
        pdr_content_kind kind = pdr_content_kind_of(m->contents[i], shape);

        next = i + 1;
        while (next < m->count &&
               content_goes_on(m->contents[next - 1], shape, kind) &&
               pdr_content_kind_of(m->contents[next], shape) == kind &&
               (kind != PDR_CONTENT_TEXT ||
                content_goes_on(m->contents[next], shape, kind)))
            next++;
        PDR_TRY(contents_join(&one, m->contents + i, next - i, shape, err));
        PDR_TRY(pdr_value_append(&list, one, err));
        pdr_value_free(one);
        one = NULL;
    }
    *out = list;
    list = NULL;
done:
    pdr_value_free(one);
    pdr_value_free(list);
    return rc;
}

pdr_rc pdr__fold_message(pdr_value **out, const struct pdr__fold *fold,
                         size_t i, pdr_str author, pdr_err *err)
{
    const struct pdr__folded *m = &fold->messages[i];
    pdr_datetime at = pdr_datetime_utc(m->created_at);
    pdr_message_parts parts = {
        .role = m->role.len > 0 ? pdr_buf_str(&m->role) : PDR_LIT("assistant"),
        .author = m->author.len > 0 ? pdr_buf_str(&m->author) : author,
        .id = pdr_buf_str(&m->id),
        .properties = m->properties};
    pdr_value *contents = NULL;
    pdr_rc rc = PDR_OK;

    if (m->created_at > 0)
        parts.created_at = &at;
    PDR_TRY(contents_fold(&contents, m, fold->shape, err));
    parts.contents = contents;
    PDR_TRY(pdr_message_new(out, fold->shape, &parts, err));
done:
    pdr_value_free(contents);
    return rc;
}
