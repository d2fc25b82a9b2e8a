/*
 * response.c - what is said of a response, and its JSON.
 *
 * WHY  One run may ask the model several times. Each answer has an id, a model,
 *      a time and counts of tokens; the caller wants one of each. The rules are
 *      those of pieces within an answer (fold.c): the latest text that says
 *      something, the first time, the sum of the counts.
 */
#include "agent.h"

#include "core.h"

pdr_rc pdr__response_new(pdr_response **out, pdr_shape shape, pdr_str agent_id,
                         pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);
    pdr_response *r = pdr__calloc(1, sizeof(*r));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (r == NULL)
        return pdr__nomem(err);
    r->shape = shape;
    r->finish_reason = r->id = r->agent_id = r->model = none;
    PDR_TRY(pdr_buf_append(&r->agent_id, agent_id, err));
    *out = r;
    r = NULL;
done:
    pdr_response_free(r);
    return rc;
}

pdr_rc pdr__response_add(pdr_response *r, const struct pdr__fold *fold,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__text_set(&r->finish_reason, pdr_buf_str(&fold->finish_reason),
                          err));
    PDR_TRY(pdr__text_set(&r->id, pdr_buf_str(&fold->response_id), err));
    PDR_TRY(pdr__text_set(&r->agent_id, pdr_buf_str(&fold->agent_id), err));
    PDR_TRY(pdr__text_set(&r->model, pdr_buf_str(&fold->model), err));
    if (r->created_at == 0)
        r->created_at = fold->created_at;
    PDR_TRY(pdr__properties_add(&r->properties, fold->properties, err));
    PDR_TRY(pdr__usage_add(&r->usage, fold->usage, err));
done:
    return rc;
}

void pdr_response_free(pdr_response *response)
{
    if (response == NULL)
        return;
    for (size_t i = 0; i < response->count; i++)
        pdr_value_free(response->messages[i]);
    pdr__free(response->messages);
    pdr_value_free(response->usage);
    pdr_approvals_free(response->approvals);
    pdr__output_free(response->output);
    pdr_agent_free(response->agent);
    pdr_value_free(response->properties);
    pdr_value_free(response->source);
    pdr_buf_dispose(&response->finish_reason);
    pdr_buf_dispose(&response->id);
    pdr_buf_dispose(&response->agent_id);
    pdr_buf_dispose(&response->model);
    pdr__free(response);
}

size_t pdr_response_count(const pdr_response *response)
{
    return response->count;
}

const pdr_value *pdr_response_message(const pdr_response *response,
                                      size_t index)
{
    return index < response->count ? response->messages[index] : NULL;
}

pdr_shape pdr_response_shape(const pdr_response *response)
{
    return response->shape;
}

pdr_rc pdr_response_text(pdr_buf *out, const pdr_response *response,
                         pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    bool any = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && response != NULL);
    for (size_t i = 0; i < response->count; i++) {
        pdr_buf_clear(&text);
        PDR_TRY(pdr_message_text(&text, response->messages[i], response->shape,
                                 err));
        if (text.len == 0)
            continue;
        if (any)
            PDR_TRY(pdr_buf_append(out, PDR_LIT("\n"), err));
        PDR_TRY(pdr_buf_append(out, pdr_buf_str(&text), err));
        any = true;
    }
done:
    pdr_buf_dispose(&text);
    return rc;
}

size_t pdr_response_stored(const pdr_response *response)
{
    return response->stored;
}

const pdr_approvals *pdr_response_approvals(const pdr_response *response)
{
    static const pdr_approvals none = {0, NULL};

    return response->approvals != NULL ? response->approvals : &none;
}

pdr_rc pdr_response_output(pdr_value **out, const pdr_response *response,
                           pdr_err *err)
{
    const struct pdr__output *output = NULL;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && response != NULL);
    *out = NULL;
    PDR_REQUIRE(response->output != NULL || response->agent != NULL);
    output =
        response->output != NULL ? response->output : response->agent->output;
    PDR_REQUIRE(output != NULL);
    for (size_t i = response->count; i > 0 && text.len == 0; i--)
        PDR_TRY(pdr_message_text(&text, response->messages[i - 1],
                                 response->shape, err));
    PDR_TRY(pdr__output_read(out, output, pdr_buf_str(&text), err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

const pdr_value *pdr_response_usage(const pdr_response *response)
{
    return response->usage;
}

pdr_str pdr_response_finish_reason(const pdr_response *response)
{
    return pdr_buf_str(&response->finish_reason);
}

pdr_str pdr_response_id(const pdr_response *response)
{
    return pdr_buf_str(&response->id);
}

pdr_str pdr_response_agent_id(const pdr_response *response)
{
    return pdr_buf_str(&response->agent_id);
}

pdr_str pdr_response_model(const pdr_response *response)
{
    return pdr_buf_str(&response->model);
}

int64_t pdr_response_created_at(const pdr_response *response)
{
    return response->created_at;
}

const pdr_value *pdr_response_properties(const pdr_response *response)
{
    return response->properties;
}

/* --- as JSON ---------------------------------------------------------------
 */

static void text_build(pdr_builder *b, const char *name, const pdr_buf *text)
{
    if (text->len == 0)
        return;
    pdr_builder_name(b, pdr_str_c(name));
    pdr_builder_string(b, pdr_buf_str(text));
}

/* The counts as the shape calls them: what it makes of a usage content. */
static pdr_rc usage_build(pdr_builder *b, const char *name,
                          const pdr_response *r, pdr_shape shape, pdr_err *err)
{
    const pdr_content_part part = {PDR_FIELD_USAGE, r->usage};
    pdr_value *content = NULL, *there = NULL;
    pdr_rc rc = PDR_OK;

    if (r->usage == NULL)
        return PDR_OK;
    PDR_TRY(pdr_content_new(&content, PDR_SHAPE_DOTNET, PDR_CONTENT_USAGE,
                            &part, 1, err));
    PDR_TRY(pdr_content_convert(&there, content, PDR_SHAPE_DOTNET, shape, err));
    pdr_builder_name(b, pdr_str_c(name));
    pdr_builder_value(b, pdr_content_get(there, shape, PDR_FIELD_USAGE));
done:
    pdr_value_free(there);
    pdr_value_free(content);
    return rc;
}

pdr_rc pdr_response_value(pdr_value **out, const pdr_response *r,
                          pdr_shape shape, pdr_err *err)
{
    const pdr_datetime at = pdr_datetime_utc(r->created_at);
    bool python = shape == PDR_SHAPE_PYTHON;
    pdr_buf time = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *b = NULL;
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL &&
                (shape == PDR_SHAPE_DOTNET || shape == PDR_SHAPE_PYTHON));
    *out = NULL;
    if (r->source != NULL && r->shape == shape) {
        *out = pdr_value_ref(r->source);
        return PDR_OK;
    }
    if (r->created_at > 0)
        PDR_TRY(pdr_datetime_write(
            &time, &at,
            python ? PDR_DATETIME_OURS_Z : PDR_DATETIME_DOTNET_OFFSET, err));
    PDR_TRY(pdr_builder_new(&b, err));
    pdr_builder_object(b);
    if (python) {
        pdr_builder_name(b, PDR_LIT("type"));
        pdr_builder_string(b, PDR_LIT("agent_response"));
    }
    pdr_builder_name(b, PDR_LIT("messages"));
    pdr_builder_array(b);
    for (size_t i = 0; i < r->count; i++) {
        PDR_TRY(pdr_message_convert(&message, r->messages[i], r->shape, shape,
                                    err));
        pdr_builder_value(b, message);
        pdr_value_free(message);
        message = NULL;
    }
    pdr_builder_end(b);
    if (python)
        text_build(b, "response_id", &r->id);
    text_build(b, python ? "agent_id" : "agentId", &r->agent_id);
    if (!python)
        text_build(b, "responseId", &r->id);
    text_build(b, python ? "created_at" : "createdAt", &time);
    text_build(b, python ? "finish_reason" : "finishReason", &r->finish_reason);
    PDR_TRY(usage_build(b, python ? "usage_details" : "usage", r, shape, err));
    if (r->properties != NULL || python) {
        pdr_builder_name(b, pdr_str_c(python ? "additional_properties"
                                             : "additionalProperties"));
        if (r->properties != NULL) {
            pdr_builder_value(b, r->properties);
        } else {
            pdr_builder_object(b);
            pdr_builder_end(b);
        }
    }
    pdr_builder_end(b);
    PDR_TRY(pdr_builder_finish(out, b, err));
done:
    pdr_value_free(message);
    pdr_builder_free(b);
    pdr_buf_dispose(&time);
    return rc;
}

/* --- from JSON -------------------------------------------------------------
 */

static pdr_rc text_read(pdr_buf *to, const pdr_value *from, const char *name,
                        pdr_err *err)
{
    const pdr_value *value = pdr_value_get_c(from, name);
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (value == NULL || pdr_value_kind(value) != PDR_STRING)
        return PDR_OK;
    pdr_buf_clear(to);
    PDR_TRY(pdr__value_sound_text(&text, value, &room, err));
    PDR_TRY(pdr_buf_append(to, text, err));
done:
    pdr_buf_dispose(&room);
    return rc;
}

/* The counts by their .NET names, as all responses have them. */
static pdr_rc usage_read(pdr_response *r, const pdr_value *usage, pdr_err *err)
{
    const pdr_content_part part = {PDR_FIELD_USAGE, usage};
    pdr_value *content = NULL, *there = NULL;
    pdr_rc rc = PDR_OK;

    if (usage == NULL || pdr_value_kind(usage) != PDR_OBJECT)
        return PDR_OK;
    PDR_TRY(
        pdr_content_new(&content, r->shape, PDR_CONTENT_USAGE, &part, 1, err));
    PDR_TRY(
        pdr_content_convert(&there, content, r->shape, PDR_SHAPE_DOTNET, err));
    r->usage = pdr_value_ref(
        pdr_content_get(there, PDR_SHAPE_DOTNET, PDR_FIELD_USAGE));
done:
    pdr_value_free(there);
    pdr_value_free(content);
    return rc;
}

static pdr_rc messages_read(pdr_response *r, const pdr_value *list,
                            pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (list == NULL || pdr_value_kind(list) == PDR_NULL)
        return PDR_OK;
    if (pdr_value_kind(list) != PDR_ARRAY)
        return PDR_FAIL(err, WRONG_KIND,
                        "the messages of a response are an array, these are %s",
                        pdr__kind_phrase(list));
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_OBJECT)
            PDR_TRY(PDR_FAIL(err, WRONG_KIND,
                             "a message is an object, message %zu is %s",
                             it.index, pdr__kind_phrase(it.value)));
        PDR_TRY(pdr__grow((void **)&r->messages, &r->cap, r->count + 1,
                          sizeof(*r->messages), err));
        r->messages[r->count++] = pdr_value_ref(it.value);
    }
done:
    return rc;
}

pdr_rc pdr_response_from_value(pdr_response **out, const pdr_value *value,
                               pdr_err *err)
{
    const pdr_value *properties = NULL;
    pdr_datetime at;
    pdr_response *r = NULL;
    pdr_buf time = PDR_BUF_INIT(SIZE_MAX);
    bool python = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && value != NULL);
    *out = NULL;
    if (pdr_value_kind(value) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "a response is an object, this is %s",
                        pdr__kind_phrase(value));
    python = pdr_value_get_c(value, "type") != NULL;
    PDR_TRY(pdr__response_new(&r, python ? PDR_SHAPE_PYTHON : PDR_SHAPE_DOTNET,
                              PDR_LIT(""), err));
    r->source = pdr_value_ref(value);
    PDR_TRY(messages_read(r, pdr_value_get_c(value, "messages"), err));
    PDR_TRY(
        text_read(&r->id, value, python ? "response_id" : "responseId", err));
    PDR_TRY(
        text_read(&r->agent_id, value, python ? "agent_id" : "agentId", err));
    PDR_TRY(text_read(&r->finish_reason, value,
                      python ? "finish_reason" : "finishReason", err));
    PDR_TRY(text_read(&time, value, python ? "created_at" : "createdAt", err));
    if (pdr_datetime_read(&at, pdr_buf_str(&time), NULL) == PDR_OK)
        r->created_at = at.ticks;
    PDR_TRY(usage_read(
        r, pdr_value_get_c(value, python ? "usage_details" : "usage"), err));
    properties = pdr_value_get_c(value, python ? "additional_properties"
                                               : "additionalProperties");
    if (properties != NULL && pdr_value_kind(properties) == PDR_OBJECT)
        r->properties = pdr_value_ref(properties);
    *out = r;
    r = NULL;
done:
    pdr_response_free(r);
    pdr_buf_dispose(&time);
    return rc;
}
