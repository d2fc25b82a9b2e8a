/*
 * summary.c - what is left out is summed up.
 *
 *      system  s1 s2 │ a b c │ d e f        s: earlier summaries
 *                    └───┬───┴─┘
 *                      model
 *                        ▼
 *      system  s1 s2     s3    d e f        a series, or
 *      system            s3    d e f        one, of s1 and s2 too
 *
 * WHY  A summary costs a question to a model, and it is made while an agent
 *      waits to speak. So nothing is summed up twice for the same cut: a list
 *      that is asked for again, without new messages, stays as it is.
 *
 * INVARIANTS
 *   U1  A system message at the beginning and the summaries after it are what
 *       earlier cuts left. If there are summaries, and the next cut would leave
 *       out nothing else, there is none.
 *   U2  A list changes as a whole or, if anything fails, not at all.
 *   U3  Calls and results are not told to the model: their ids mean nothing
 *       there, and a call could come without its result.
 *
 * The first message that stays is summed up, too: as in Semantic Kernel, the
 * summary and what comes after it overlap by one.
 *
 * NOT HERE  Where the list is cut (reduce.c), where it is kept (history.c).
 */
#include "chat.h"

#define MARK "__summary__"

/* A digest of this text is in the keys of saved channels: a change would part
 * agents from their channels. */
#define INSTRUCTIONS                                                          \
    "Sum up the whole conversation above in at most five sentences, so that " \
    "it can go on from your summary alone. Include what people and "          \
    "assistants said, the details of earlier summaries, and what has been "   \
    "decided or is still open. Do not judge, correct or interpret, and add "  \
    "nothing that was not said. Answer with the summary only."

/* --- asking a model -------------------------------------------------------
 */

/* A pdr_update_fn: the texts go into the buffer `arg`. */
static pdr_rc answer_take(const pdr_update *update, pdr_err *err, void *arg)
{
    const pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < update->content_count; i++) {
        const pdr_value *content = update->contents[i], *value = NULL;
        pdr_str text = {NULL, 0};

        if (pdr_content_kind_of(content, shape) != PDR_CONTENT_TEXT)
            continue;
        value = pdr_content_get(content, shape, PDR_FIELD_TEXT);
        if (value == NULL)
            continue;
        PDR_TRY(pdr__value_sound_text(&text, value, &scratch, err));
        PDR_TRY(pdr_buf_append(arg, text, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr__model_ask(pdr_buf *out, pdr_client *client,
                      const pdr_request_message *messages, size_t count,
                      pdr_cancel *cancel, pdr_err *err)
{
    const pdr_client_request request = {.messages = messages,
                                        .count = count,
                                        .shape = PDR_SHAPE_DOTNET,
                                        .cancel = cancel};

    return pdr_client_send(client, &request, err, answer_take, out);
}

/* --- reducers -------------------------------------------------------------
 */

pdr_rc pdr__reduction_copy(pdr_reduction *out, const pdr_reduction *reduction,
                           struct pdr__arena *memory, pdr_err *err)
{
    pdr_str text = reduction->instructions != NULL
                       ? pdr_str_c(reduction->instructions)
                       : PDR_LIT(INSTRUCTIONS);
    pdr_rc rc = PDR_OK;

    *out = *reduction;
    out->client = pdr_client_ref(reduction->client);
    out->instructions = NULL;
    if (out->client == NULL)
        return PDR_OK;
    PDR_TRY(pdr__utf8_check(text, err));
    PDR_TRY(pdr__arena_keep(&text, memory, err));
    out->instructions = text.ptr;
done:
    return rc;
}

static bool is_summary(const pdr_value *message)
{
    const pdr_value *properties = pdr_message_properties(message, PDR_SHAPE_SK);
    const pdr_value *mark = NULL;
    bool is = false;

    return pdr_property_get(&mark, properties, PDR_LIT(MARK), NULL) == PDR_OK &&
           pdr_value_bool(&is, mark, NULL) == PDR_OK && is;
}

/* A summary as a message with its mark; owned. */
static pdr_rc summary_new(pdr_value **out, pdr_str text, pdr_err *err)
{
    pdr_message_parts parts = {.role = PDR_LIT("assistant")};
    pdr_value *contents = pdr_value_new_array(), *content = NULL;
    pdr_value *properties = pdr_value_new_object();
    pdr_value *mark = pdr_value_new_bool(true);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_content_new_text(&content, PDR_SHAPE_SK, text, err));
    PDR_TRY(pdr_value_append(&contents, content, err));
    PDR_TRY(pdr_value_set(&properties, PDR_LIT(MARK), mark, err));
    parts.contents = contents;
    parts.properties = properties;
    PDR_TRY(pdr_message_new(out, PDR_SHAPE_SK, &parts, err));
done:
    pdr_value_free(mark);
    pdr_value_free(properties);
    pdr_value_free(content);
    pdr_value_free(contents);
    return rc;
}

/* Let the model sum up `count` messages; NULL: there is nothing to sum up. */
static pdr_rc summary_ask(pdr_value **out, const pdr_value *const *messages,
                          size_t count, const pdr_reduction *reduction,
                          pdr_cancel *cancel, pdr_err *err)
{
    const pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_request_message *asked = pdr__calloc(count + 1, sizeof(*asked));
    pdr_value *value = NULL;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES);
    size_t used = 0;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (asked == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (pdr__is_tool_traffic(messages[i])) /* U3 */
            continue;
        PDR_TRY(
            pdr_message_convert(&value, messages[i], PDR_SHAPE_SK, shape, err));
        asked[used++] = (pdr_request_message){value, shape, PDR_ORIGIN_HISTORY};
    }
    if (used == 0)
        goto done;
    PDR_TRY(pdr_message_new_text(&value, shape, PDR_LIT("system"),
                                 pdr_str_c(reduction->instructions), err));
    asked[used++] = (pdr_request_message){value, shape, PDR_ORIGIN_CALLER};
    PDR_TRY(pdr__model_ask(&text, reduction->client, asked, used, cancel, err));
    if (text.len == 0)
        PDR_TRY(PDR_FAIL(err, MODEL_FAILED, "%s", "the answer is empty"));
    PDR_TRY(summary_new(out, pdr_buf_str(&text), err));
done:
    for (size_t i = 0; i < used; i++)
        pdr_value_free((pdr_value *)(uintptr_t)asked[i].value);
    pdr__free(asked);
    pdr_buf_dispose(&text);
    return rc;
}

void pdr__cut_dispose(struct pdr__cut *cut)
{
    for (size_t i = 0; i < cut->before_count; i++)
        pdr_value_free(cut->before[i]);
    pdr__free(cut->before);
    *cut = (struct pdr__cut){.index = 0};
}

pdr_rc pdr__reduce(struct pdr__cut *out, const pdr_value *const *messages,
                   size_t count, const pdr_reduction *reduction,
                   pdr_cancel *cancel, pdr_err *err)
{
    const bool sums_up = reduction->client != NULL;
    bool has_system =
        count > 0 && pdr__has_role(messages[0], PDR_LIT("system"));
    size_t first = has_system ? 1 : 0, offset = 0, from = 0, end = 0;
    struct pdr__cut cut = {.index = 0};
    pdr_value *summary = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    long index = 0;

    *out = cut;
    for (offset = first; sums_up && offset < count; offset++) {
        if (!is_summary(messages[offset]))
            break;
    }
    index = pdr__reduce_find(&has_system, messages, count, sums_up ? offset : 0,
                             reduction);
    if (sums_up ? index < (long)(offset > first ? offset + 1 : offset) /* U1 */
                : index <= 0)
        return PDR_OK;
    cut.index = (size_t)index;
    if (sums_up) {
        from = reduction->is_series ? offset : 0;
        end = cut.index < count ? cut.index + 1 : count;
        rc = summary_ask(&summary, messages + from, end - from, reduction,
                         cancel, &why);
        if (rc != PDR_OK && reduction->may_fail && rc != PDR_ENOMEM &&
            rc != PDR_ECANCELLED)
            return PDR_OK; /* U2 */
        if (rc != PDR_OK) {
            (void)pdr__err_pass(err, &why);
            return pdr__wrap(err, rc, "no summary of %zu messages", end - from);
        }
    }
    cut.before = pdr__calloc(offset + 2, sizeof(*cut.before));
    if (cut.before == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = 0; i < (reduction->is_series ? offset : first); i++)
        cut.before[cut.before_count++] = pdr_value_ref(messages[i]);
    if (summary != NULL)
        cut.before[cut.before_count++] = summary;
    summary = NULL;
    *out = cut;
done:
    pdr_value_free(summary);
    return rc;
}
