/*
 * openai_request.c - a request as the body of a Chat Completions call.
 *
 * WHY  A session holds what was said in the shape of its edition, with gaps: a
 *      process may have died between a call and its result. Servers refuse a
 *      conversation in which a call has no result, two of them, or one that
 *      comes late. So this file does not translate message by message: it
 *      looks for the result of each call and puts it directly after the call.
 *
 *      history      assistant(call a, call b), user(hi), tool(result b, c)
 *      sent         assistant(a, b), tool(a: not known), tool(b), user(hi)
 *
 * The history itself is never changed: a result that was made up is in the
 * request only. Contents that this protocol has no place for are left out.
 */
#include "agent.h"

static const pdr_write_opts compact = {.flags = PDR_BARE_TOKENS};

struct body {
    const pdr_client_request *request;
    pdr_builder *to;     /* owned */
    pdr_buf text, spare; /* texts on their way */
    pdr_err *err;
};

/* --- texts -----------------------------------------------------------------
 */

static void put_name(struct body *b, const char *name)
{
    pdr_builder_name(b->to, pdr_str_c(name));
}

static void put_text(struct body *b, const char *name, pdr_str text)
{
    put_name(b, name);
    pdr_builder_string(b->to, text);
}

/* A string of a session, halves of surrogate pairs replaced; NULL is "". */
static pdr_rc put_string(struct body *b, const char *name,
                         const pdr_value *string)
{
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (string != NULL)
        rc = pdr__value_sound_text(&text, string, &b->spare, b->err);
    if (rc == PDR_OK)
        put_text(b, name, text);
    return rc;
}

/* The same for any JSON: what is not a string is sent as its text. */
static pdr_rc put_json(struct body *b, const char *name, const pdr_value *value)
{
    pdr_rc rc = PDR_OK;

    if (value == NULL || pdr_value_kind(value) == PDR_STRING)
        return put_string(b, name, value);
    pdr_buf_clear(&b->text);
    rc = pdr_json_write(&b->text, value, &compact, b->err);
    if (rc == PDR_OK)
        put_text(b, name, pdr_buf_str(&b->text));
    return rc;
}

/* --- calls and results -----------------------------------------------------
 */

static const pdr_value *id_of(const pdr_value *content, pdr_shape shape)
{
    return pdr_content_get(content, shape, PDR_FIELD_CALL_ID);
}

static bool id_is(const pdr_value *a, const pdr_value *b)
{
    return a == NULL || b == NULL ? a == b : pdr__value_same_text(a, b);
}

/* Contents of a kind with this id in the contents of a message, before `end`.
 */
static size_t count_of(const pdr_request_message *m, pdr_content_kind kind,
                       const pdr_value *id, const pdr_value *end)
{
    size_t count = 0;
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
    while (pdr_iter_next(&it) && it.value != end)
        count += pdr_content_kind_of(it.value, m->shape) == kind &&
                 id_is(id_of(it.value, m->shape), id);
    return count;
}

/* The result of a call of message `at`; NULL if there is none. A server may use
 * an id again, so the search ends at the next call that has it. */
static const pdr_value *find_result(const pdr_client_request *request,
                                    size_t at, const pdr_value *call,
                                    pdr_shape *shape)
{
    const pdr_request_message *own = &request->messages[at];
    const pdr_value *id = id_of(call, own->shape);
    size_t before = count_of(own, PDR_CONTENT_CALL, id, call);

    for (size_t i = at; i < request->count; i++) {
        const pdr_request_message *m = &request->messages[i];
        pdr_iter it;

        if (i > at && count_of(m, PDR_CONTENT_CALL, id, NULL) > 0)
            return NULL;
        pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
        while (pdr_iter_next(&it)) {
            if (pdr_content_kind_of(it.value, m->shape) != PDR_CONTENT_RESULT ||
                !id_is(id_of(it.value, m->shape), id) || before-- > 0)
                continue;
            *shape = m->shape;
            return it.value;
        }
    }
    return NULL;
}

static pdr_rc put_call(struct body *b, const pdr_value *call, pdr_shape shape)
{
    const pdr_value *arguments = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    pdr_builder_object(b->to);
    PDR_TRY(put_string(b, "id", id_of(call, shape)));
    put_text(b, "type", PDR_LIT("function"));
    put_name(b, "function");
    pdr_builder_object(b->to);
    PDR_TRY(
        put_string(b, "name", pdr_content_get(call, shape, PDR_FIELD_NAME)));
    pdr_buf_clear(&b->text);
    rc = pdr_content_arguments(&b->text, call, shape, &why);
    if (rc == PDR_EINVALID) { /* half a pair, or a NaN: as well as it can be */
        arguments = pdr_content_get(call, shape, PDR_FIELD_ARGUMENTS);
        PDR_TRY(put_json(b, "arguments", arguments));
    } else {
        if (rc != PDR_OK)
            PDR_TRY(pdr__err_pass(b->err, &why));
        put_text(b, "arguments", pdr_buf_str(&b->text));
    }
    pdr_builder_end(b->to);
    pdr_builder_end(b->to);
done:
    return rc;
}

static pdr_rc put_result(struct body *b, size_t at, const pdr_value *call)
{
    pdr_shape shape = PDR_SHAPE_STATE;
    const pdr_value *result = find_result(b->request, at, call, &shape);
    pdr_rc rc = PDR_OK;

    pdr_builder_object(b->to);
    put_text(b, "role", PDR_LIT("tool"));
    PDR_TRY(put_string(b, "tool_call_id",
                       id_of(call, b->request->messages[at].shape)));
    if (result != NULL)
        PDR_TRY(put_json(b, "content",
                         pdr_content_get(result, shape, PDR_FIELD_RESULT)));
    else
        put_text(b, "content",
                 PDR_LIT("Error: The result of this call is not known."));
    pdr_builder_end(b->to);
done:
    return rc;
}

/* --- messages --------------------------------------------------------------
 */

/* What the model said and called, then a result for each call. */
static pdr_rc put_answer(struct body *b, size_t at)
{
    const pdr_request_message *m = &b->request->messages[at];
    const pdr_value *contents = pdr_message_contents(m->value, m->shape);
    size_t calls = 0;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it))
        calls += pdr__call_is_ours(it.value, m->shape);
    pdr_buf_clear(&b->text);
    PDR_TRY(pdr_message_text(&b->text, m->value, m->shape, b->err));
    if (b->text.len == 0 && calls == 0)
        goto done;
    pdr_builder_object(b->to);
    put_text(b, "role", PDR_LIT("assistant"));
    put_name(b, "content");
    if (b->text.len > 0)
        pdr_builder_string(b->to, pdr_buf_str(&b->text));
    else
        pdr_builder_null(b->to);
    if (calls > 0) {
        put_name(b, "tool_calls");
        pdr_builder_array(b->to);
        pdr_iter_init(&it, contents);
        while (pdr_iter_next(&it))
            if (pdr__call_is_ours(it.value, m->shape))
                PDR_TRY(put_call(b, it.value, m->shape));
        pdr_builder_end(b->to);
    }
    pdr_builder_end(b->to);
    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it))
        if (pdr__call_is_ours(it.value, m->shape))
            PDR_TRY(put_result(b, at, it.value));
done:
    return rc;
}

/* The URI of a picture; NULL if the content is none. */
static pdr_rc find_image(const pdr_value **out, struct body *b,
                         const pdr_value *content, pdr_shape shape)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    pdr_str type = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (kind != PDR_CONTENT_DATA && kind != PDR_CONTENT_URI)
        return PDR_OK;
    rc = pdr_content_media_type(&type, content, shape, &b->spare, b->err);
    if (rc == PDR_OK && type.len > 6 && strncasecmp(type.ptr, "image/", 6) == 0)
        *out = pdr_content_get(content, shape, PDR_FIELD_URI);
    return rc == PDR_EINVALID ? PDR_OK : rc; /* a type that cannot be read */
}

/* Texts and pictures in their order. */
static pdr_rc put_parts(struct body *b, const pdr_request_message *m)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_builder_array(b->to);
    pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
    while (pdr_iter_next(&it)) {
        const pdr_value *uri = NULL;

        PDR_TRY(find_image(&uri, b, it.value, m->shape));
        if (uri != NULL) {
            pdr_builder_object(b->to);
            put_text(b, "type", PDR_LIT("image_url"));
            put_name(b, "image_url");
            pdr_builder_object(b->to);
            PDR_TRY(put_string(b, "url", uri));
            pdr_builder_end(b->to);
            pdr_builder_end(b->to);
        } else if (pdr_content_kind_of(it.value, m->shape) ==
                   PDR_CONTENT_TEXT) {
            pdr_builder_object(b->to);
            put_text(b, "type", PDR_LIT("text"));
            PDR_TRY(put_string(
                b, "text",
                pdr_content_get(it.value, m->shape, PDR_FIELD_TEXT)));
            pdr_builder_end(b->to);
        }
    }
    pdr_builder_end(b->to);
done:
    return rc;
}

/* What somebody said to the model. */
static pdr_rc put_said(struct body *b, const pdr_request_message *m,
                       pdr_str role)
{
    const pdr_value *uri = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_str_equal(role, PDR_LIT("user"))) {
        pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
        while (uri == NULL && pdr_iter_next(&it))
            PDR_TRY(find_image(&uri, b, it.value, m->shape));
    }
    pdr_buf_clear(&b->text);
    PDR_TRY(pdr_message_text(&b->text, m->value, m->shape, b->err));
    if (uri == NULL && b->text.len == 0)
        goto done;
    pdr_builder_object(b->to);
    put_text(b, "role", role);
    if (uri != NULL) {
        put_name(b, "content");
        PDR_TRY(put_parts(b, m));
    } else {
        put_text(b, "content", pdr_buf_str(&b->text));
    }
    pdr_builder_end(b->to);
done:
    return rc;
}

static pdr_rc put_messages(struct body *b)
{
    const pdr_client_request *request = b->request;
    pdr_rc rc = PDR_OK;

    put_name(b, "messages");
    pdr_builder_array(b->to);
    if (request->instructions.len > 0) {
        pdr_builder_object(b->to);
        put_text(b, "role", PDR_LIT("system"));
        put_text(b, "content", request->instructions);
        pdr_builder_end(b->to);
    }
    for (size_t i = 0; i < request->count; i++) {
        const pdr_request_message *m = &request->messages[i];
        const pdr_value *role = pdr_message_role(m->value, m->shape);

        if (role != NULL && pdr__is_folded(role, PDR_LIT("assistant")))
            PDR_TRY(put_answer(b, i));
        else if (role != NULL && pdr__is_folded(role, PDR_LIT("system")))
            PDR_TRY(put_said(b, m, PDR_LIT("system")));
        else if (role != NULL && pdr__is_folded(role, PDR_LIT("developer")))
            PDR_TRY(put_said(b, m, PDR_LIT("developer")));
        else if (role == NULL || !pdr__is_folded(role, PDR_LIT("tool")))
            PDR_TRY(put_said(b, m, PDR_LIT("user")));
    }
    pdr_builder_end(b->to);
done:
    return rc;
}

static void put_tools(struct body *b)
{
    const pdr_client_request *request = b->request;

    if (request->tool_count == 0)
        return;
    put_name(b, "tools");
    pdr_builder_array(b->to);
    for (size_t i = 0; i < request->tool_count; i++) {
        const pdr_tool_info *tool = &request->tools[i];

        pdr_builder_object(b->to);
        put_text(b, "type", PDR_LIT("function"));
        put_name(b, "function");
        pdr_builder_object(b->to);
        put_text(b, "name", tool->name);
        if (tool->description.len > 0)
            put_text(b, "description", tool->description);
        if (tool->parameters != NULL) {
            put_name(b, "parameters");
            pdr_builder_value(b->to, tool->parameters);
        }
        pdr_builder_end(b->to);
        pdr_builder_end(b->to);
    }
    pdr_builder_end(b->to);
}

/* --- options ---------------------------------------------------------------
 */

static pdr_rc body_remove(pdr_value **body, pdr_str name, pdr_err *err)
{
    if (pdr_value_get(*body, name) == NULL)
        return PDR_OK;
    return pdr_value_remove(body, name, err);
}

/* Options win over what was built; null takes a member away, since servers
 * refuse null where a number is expected. */
static pdr_rc merge_options(pdr_value **body, const pdr_value *options,
                            struct body *b)
{
    const pdr_value *stream = NULL;
    pdr_iter it;
    bool is_stream = true;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, options);
    while (pdr_iter_next(&it)) {
        pdr_str name = PDR_LIT("");

        PDR_TRY(pdr__value_sound_text(&name, it.name, &b->spare, b->err));
        if (pdr_value_kind(it.value) == PDR_NULL)
            PDR_TRY(body_remove(body, name, b->err));
        else
            PDR_TRY(pdr_value_set(body, name, it.value, b->err));
    }
    stream = pdr_value_get_c(*body, "stream");
    if (stream == NULL || pdr_value_bool(&is_stream, stream, NULL) != PDR_OK ||
        !is_stream) /* both or none: servers check it */
        rc = body_remove(body, PDR_LIT("stream_options"), b->err);
done:
    return rc;
}

pdr_rc pdr__openai_request(pdr_buf *out, const pdr_client_request *request,
                           pdr_str model, pdr_err *err)
{
    struct body b = {.request = request,
                     .text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                     .spare = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                     .err = err};
    pdr_value *body = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&b.to, err));
    pdr_builder_object(b.to);
    put_text(&b, "model", model);
    PDR_TRY(put_messages(&b));
    put_tools(&b);
    put_name(&b, "stream");
    pdr_builder_bool(b.to, true);
    put_name(&b, "stream_options");
    pdr_builder_object(b.to);
    put_name(&b, "include_usage");
    pdr_builder_bool(b.to, true);
    pdr_builder_end(b.to);
    pdr_builder_end(b.to);
    PDR_TRY(pdr_builder_finish(&body, b.to, err));
    PDR_TRY(merge_options(&body, request->options, &b));
    PDR_TRY(pdr_json_write(out, body, NULL, err));
done:
    pdr_value_free(body);
    pdr_buf_dispose(&b.spare);
    pdr_buf_dispose(&b.text);
    pdr_builder_free(b.to);
    return rc;
}
