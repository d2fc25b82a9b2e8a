#include "agent_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* --- the model -------------------------------------------------------------
 */

static pdr_rc give(pdr_value *const *contents, size_t count, const char *finish,
                   pdr_err *err, pdr_update_fn fn, void *arg)
{
    const pdr_update update = {.contents = (const pdr_value *const *)contents,
                               .content_count = count,
                               .finish_reason = pdr_str_c(finish)};

    return fn(&update, err, arg);
}

static pdr_rc say(struct stage_model *model, const char *text, pdr_shape shape,
                  pdr_err *err, pdr_update_fn fn, void *arg)
{
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && *text != '\0') {
        size_t len = strcspn(text, "/");
        pdr_value *content = NULL;

        rc = pdr_content_new_text(&content, shape, pdr_str_n(text, len), err);
        if (rc == PDR_OK)
            rc = give(&content, 1, "", err, fn, arg);
        pdr_value_free(content);
        if (rc == PDR_OK && model->after_piece != NULL)
            model->after_piece(model->hook_arg);
        text += len + (text[len] == '/');
    }
    return rc;
}

static pdr_rc make_call(pdr_value **out, struct stage_model *model,
                        const char *text, size_t len, pdr_shape shape,
                        pdr_err *err)
{
    const char *blank = memchr(text, ' ', len);
    size_t name = blank != NULL ? (size_t)(blank - text) : len;
    char id[16];

    snprintf(id, sizeof(id), "c%u", ++model->ids);
    return pdr_content_new_call(
        out, shape, pdr_str_c(id), pdr_str_n(text, name),
        blank != NULL ? pdr_str_n(blank + 1, len - name - 1) : pdr_str_c("{}"),
        err);
}

static pdr_rc call(struct stage_model *model, const char *text, pdr_shape shape,
                   pdr_err *err, pdr_update_fn fn, void *arg)
{
    pdr_value *calls[8] = {NULL};
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && *text != '\0') {
        size_t len = strcspn(text, ";");

        rc = make_call(&calls[count++], model, text, len, shape, err);
        text += len + (text[len] == ';');
    }
    if (rc == PDR_OK)
        rc = give(calls, count, "tool_calls", err, fn, arg);
    for (size_t i = 0; i < count; i++)
        pdr_value_free(calls[i]);
    return rc;
}

static void note(struct stage_model *m, const pdr_client_request *request)
{
    pdr_buf_clear(&m->seen);
    for (size_t i = 0; i < request->count; i++)
        stage_describe(&m->seen, request->messages[i].value,
                       request->messages[i].shape);
    ASSERT_RC(PDR_OK, pdr_buf_append(&m->all, pdr_buf_str(&m->seen), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&m->all, pdr_str_c("\n"), NULL));
}

static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct stage_model *m = (struct stage_model *)self;
    const char *step = m->steps[m->next];
    pdr_rc rc = PDR_OK;

    if (!m->is_deaf)
        note(m, request);
    m->asked++;
    m->tools = request->tool_count;
    m->schema = request->output_schema;
    m->next = m->steps[m->next + 1] != NULL ? m->next + 1 : 0;
    if (m->hook != NULL)
        rc = m->hook(m->hook_arg);
    if (rc != PDR_OK)
        return rc;
    if (strncmp(step, "say ", 4) == 0) {
        rc = say(m, step + 4, request->shape, err, fn, arg);
        return rc == PDR_OK ? give(NULL, 0, "stop", err, fn, arg) : rc;
    }
    if (strncmp(step, "call ", 5) == 0)
        return call(m, step + 5, request->shape, err, fn, arg);
    if (strncmp(step, "half ", 5) == 0)
        rc = say(m, step + 5, request->shape, err, fn, arg);
    return rc == PDR_OK
               ? pdr_err_set(err, PDR_EMODEL, "model_failed", "as planned")
               : rc;
}

static void model_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "stage",
                                         model_send, model_free};

void stage_model_init(struct stage_model *model, const char *const *steps)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);

    memset(model, 0, sizeof(*model));
    model->steps = steps;
    model->seen = model->all = none;
    ASSERT_RC(PDR_OK, pdr_client_init(&model->base, &model_ops, NULL));
}

void stage_model_free(struct stage_model *model)
{
    pdr_buf_dispose(&model->seen);
    pdr_buf_dispose(&model->all);
}

/* --- a tool ----------------------------------------------------------------
 */

pdr_rc stage_tool(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                  void *arg)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
    if (pdr_value_get_c(call->arguments, "fail") != NULL)
        return pdr_err_set(err, PDR_EIO, "any", "the secret reason");
    if (pdr_value_get_c(call->arguments, "cancel") != NULL)
        return pdr_err_set(err, PDR_ECANCELLED, "run_cancelled", "by a tool");
    rc = pdr_buf_printf(&text, err, "%.*s did ", (int)call->name.len,
                        call->name.ptr);
    if (rc == PDR_OK)
        rc = pdr_json_write(&text, call->arguments, NULL, err);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(out, pdr_buf_str(&text), err);
    pdr_buf_dispose(&text);
    return rc;
}

/* --- sessions --------------------------------------------------------------
 */

pdr_value *stage_json(const char *text)
{
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&out, pdr_str_c(text), NULL, NULL));
    return out;
}

pdr_session *stage_session(pdr_session_shape shape)
{
    const pdr_session_parts parts = {.shape = shape,
                                     .kind = shape == PDR_SESSION_PYTHON
                                                 ? PDR_SESSION_KIND_PYTHON
                                                 : PDR_SESSION_KIND_CLIENT};
    pdr_session *out = NULL;

    ASSERT_RC(PDR_OK, pdr_session_new(&out, &parts, NULL));
    return out;
}

pdr_session *stage_session_read(const char *path)
{
    pdr_value *value = NULL;
    pdr_session *out = NULL;
    size_t len = 0;
    char *text = test_read_data(path, &len);

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_n(text, len), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&out, value, NULL));
    pdr_value_free(value);
    free(text);
    return out;
}

/* --- describing ------------------------------------------------------------
 */

static void put_value(pdr_buf *out, const char *before, const pdr_value *value)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};

    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c(before), NULL));
    if (value != NULL && pdr_value_kind(value) == PDR_STRING) {
        ASSERT_RC(PDR_OK, pdr_value_text(&text, value, &scratch, NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(out, text, NULL));
    } else if (value != NULL) {
        ASSERT_RC(PDR_OK, pdr_json_write(out, value, NULL, NULL));
    }
    pdr_buf_dispose(&scratch);
}

static void describe_content(pdr_buf *out, const pdr_value *content,
                             pdr_shape shape)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    pdr_value *inner = NULL;
    bool yes = false;

    if (kind == PDR_CONTENT_UNKNOWN) { /* of a state document */
        ASSERT_RC(PDR_OK, pdr_content_convert(&inner, content, shape,
                                              PDR_SHAPE_DOTNET, NULL));
        describe_content(out, inner, PDR_SHAPE_DOTNET);
        pdr_value_free(inner);
    } else if (kind == PDR_CONTENT_CALL) {
        put_value(out, "call ",
                  pdr_content_get(content, shape, PDR_FIELD_NAME));
    } else if (kind == PDR_CONTENT_RESULT) {
        put_value(out, "= ", pdr_content_get(content, shape, PDR_FIELD_RESULT));
    } else if (kind == PDR_CONTENT_APPROVAL_REQUEST ||
               kind == PDR_CONTENT_APPROVAL_RESPONSE) {
        const pdr_value *approved =
            pdr_content_get(content, shape, PDR_FIELD_APPROVED);

        if (approved != NULL)
            ASSERT_RC(PDR_OK, pdr_value_bool(&yes, approved, NULL));
        put_value(out,
                  kind == PDR_CONTENT_APPROVAL_REQUEST ? "ask "
                  : yes                                ? "yes "
                                                       : "no ",
                  pdr_content_get(
                      pdr_content_get(content, shape, PDR_FIELD_TOOL_CALL),
                      shape, PDR_FIELD_NAME));
    } else {
        put_value(out, "", pdr_content_get(content, shape, PDR_FIELD_TEXT));
    }
}

void stage_describe(pdr_buf *out, const pdr_value *message, pdr_shape shape)
{
    const pdr_value *properties = pdr_message_properties(message, shape);
    const pdr_value *mark = NULL;
    pdr_iter it;

    put_value(out, out->len > 0 ? " | " : "", pdr_message_role(message, shape));
    if (properties != NULL &&
        pdr_property_get(&mark, properties, pdr_str_c("_incomplete"), NULL) ==
            PDR_OK)
        put_value(out, "!", NULL);
    put_value(out, ":", NULL);
    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it)) {
        put_value(out, it.index > 0 ? "+" : "", NULL);
        describe_content(out, it.value, shape);
    }
}

void stage_history(const char *expected, pdr_session *session)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *list = NULL;
    pdr_iter it;

    ASSERT_RC(PDR_OK, pdr_session_history(&list, session, NULL));
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        stage_describe(&text, it.value, pdr_session_message_shape(session));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_value_free(list);
    pdr_buf_dispose(&text);
}

void stage_stored_history(const char *expected, pdr_stored *stored)
{
    pdr_stored_window *window = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, stored, 0, 0, NULL));
    for (size_t i = 0; i < window->count; i++)
        stage_describe(&text, window->messages[i].value,
                       pdr_stored_shape(stored));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_stored_window_free(window);
    pdr_buf_dispose(&text);
}
