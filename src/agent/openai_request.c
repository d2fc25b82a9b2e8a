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
 *
 * Servers differ in a few members; what one takes is its profile, at the end.
 */
#include <strings.h>

#include "agent.h"

static const pdr_write_opts compact = {.flags = PDR_BARE_TOKENS};

/* A call, and what answers it. */
struct pair {
    size_t message;          /* of the call */
    bool is_ours;            /* to answer; else a server has, or .NET says so
                                of one that it answered */
    const pdr_value *result; /* NULL: none */
    pdr_shape shape;         /* of the result */
    size_t next; /* call of this message with this id, plus 1; 0: none */
    size_t last; /* of them, plus 1; of the first one only */
};

struct body {
    const pdr_client_request *request;
    const struct pdr__openai_profile *profile;
    struct pair *pairs; /* owned; in the order of the calls */
    size_t pair_count, pair_cap;
    size_t pair_at; /* all before it belong to messages that are written */
    struct pdr__map waiting; /* of an id: its first pair that waits, plus 1 */
    pdr_builder *to;         /* owned */
    pdr_buf text, spare;     /* texts on their way */
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

/* The pair of an id that waits for a result, plus 1; 0 if there is none. The id
 * stays in `key`; one that is missing is like an empty one. */
static pdr_rc find_waiting(size_t *out, pdr_str *key, struct body *b,
                           const pdr_value *content, pdr_shape shape)
{
    const pdr_value *id = id_of(content, shape);
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    *key = PDR_LIT("");
    if (id != NULL)
        PDR_TRY(pdr__value_name_bytes(key, id, &b->spare, b->err));
    if (!pdr__map_get(&found, &b->waiting, *key))
        found = NULL;
    *out = (size_t)(uintptr_t)found;
done:
    return rc;
}

/* A call of message `at` waits for its result. A server may use an id again: a
 * call of a message before it gets no result any more. */
static pdr_rc pair_open(struct body *b, size_t at, const pdr_value *call)
{
    pdr_str key = PDR_LIT("");
    size_t first = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        find_waiting(&first, &key, b, call, b->request->messages[at].shape));
    PDR_TRY(pdr__grow((void **)&b->pairs, &b->pair_cap, b->pair_count + 1,
                      sizeof(*b->pairs), b->err));
    b->pair_count++;
    b->pairs[b->pair_count - 1] = (struct pair){
        .message = at,
        .is_ours = pdr__call_is_ours(call, b->request->messages[at].shape),
        .last = b->pair_count};
    if (first == 0 || b->pairs[first - 1].message != at) {
        PDR_TRY(pdr__map_put(NULL, &b->waiting, key,
                             (void *)(uintptr_t)b->pair_count, b->err));
    } else {
        b->pairs[b->pairs[first - 1].last - 1].next = b->pair_count;
        b->pairs[first - 1].last = b->pair_count;
    }
done:
    return rc;
}

/* A result answers the first call with its id that waits. */
static pdr_rc pair_close(struct body *b, const pdr_value *result,
                         pdr_shape shape)
{
    pdr_str key = PDR_LIT("");
    struct pair *pair = NULL;
    size_t first = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(find_waiting(&first, &key, b, result, shape));
    if (first == 0)
        goto done;
    pair = &b->pairs[first - 1];
    pair->result = result;
    pair->shape = shape;
    PDR_TRY(pdr__map_put(NULL, &b->waiting, key, (void *)(uintptr_t)pair->next,
                         b->err));
done:
    return rc;
}

/* Find the result of each call, in one go. */
static pdr_rc find_pairs(struct body *b)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < b->request->count; i++) {
        const pdr_request_message *m = &b->request->messages[i];
        const pdr_value *contents = pdr_message_contents(m->value, m->shape);
        pdr_iter it;

        pdr_iter_init(&it, contents);
        while (pdr_iter_next(&it))
            if (pdr_content_kind_of(it.value, m->shape) == PDR_CONTENT_CALL)
                PDR_TRY(pair_open(b, i, it.value));
        if (b->pair_count == 0)
            continue;
        pdr_iter_init(&it, contents);
        while (pdr_iter_next(&it))
            if (pdr_content_kind_of(it.value, m->shape) == PDR_CONTENT_RESULT)
                PDR_TRY(pair_close(b, it.value, m->shape));
    }
done:
    return rc;
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

static pdr_rc put_result(struct body *b, const pdr_value *call, pdr_shape shape,
                         const struct pair *pair)
{
    pdr_rc rc = PDR_OK;

    pdr_builder_object(b->to);
    put_text(b, "role", PDR_LIT("tool"));
    PDR_TRY(put_string(b, "tool_call_id", id_of(call, shape)));
    if (pair->result != NULL)
        PDR_TRY(put_json(
            b, "content",
            pdr_content_get(pair->result, pair->shape, PDR_FIELD_RESULT)));
    else
        put_text(b, "content",
                 PDR_LIT("Error: The result of this call is not known."));
    pdr_builder_end(b->to);
done:
    return rc;
}

/* --- messages --------------------------------------------------------------
 */

/* What the model thought, for servers that want it back. */
static pdr_rc put_reasoning(struct body *b, const pdr_value *contents,
                            pdr_shape shape)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&b->text);
    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it)) {
        const pdr_value *member = NULL;
        pdr_str text = PDR_LIT("");

        if (pdr_content_kind_of(it.value, shape) != PDR_CONTENT_REASONING)
            continue;
        member = pdr_content_get(it.value, shape, PDR_FIELD_TEXT);
        if (member != NULL)
            PDR_TRY(pdr__value_sound_text(&text, member, &b->spare, b->err));
        PDR_TRY(pdr_buf_append(&b->text, text, b->err));
    }
    if (b->text.len > 0)
        put_text(b, b->profile->reasoning_field, pdr_buf_str(&b->text));
done:
    return rc;
}

/* Is the call sent? One of somebody else only together with its result. */
static bool is_sent(const struct pair *pair)
{
    return pair->is_ours || pair->result != NULL;
}

/* The calls of a message, or the result of each; its first pair is `pair`. */
static pdr_rc put_calls(struct body *b, const pdr_request_message *m,
                        size_t pair, bool results)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
    while (pdr_iter_next(&it)) {
        const struct pair *p = &b->pairs[pair];

        if (pdr_content_kind_of(it.value, m->shape) != PDR_CONTENT_CALL)
            continue;
        pair++;
        if (is_sent(p) && results)
            PDR_TRY(put_result(b, it.value, m->shape, p));
        else if (is_sent(p))
            PDR_TRY(put_call(b, it.value, m->shape));
    }
done:
    return rc;
}

/* What the model said and called, then a result for each call. */
static pdr_rc put_answer(struct body *b, size_t at)
{
    const pdr_request_message *m = &b->request->messages[at];
    size_t calls = 0, first = b->pair_at;
    pdr_rc rc = PDR_OK;

    while (first < b->pair_count && b->pairs[first].message < at)
        first++;
    for (b->pair_at = first;
         b->pair_at < b->pair_count && b->pairs[b->pair_at].message == at;
         b->pair_at++)
        calls += is_sent(&b->pairs[b->pair_at]);
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
    if (b->profile->reasoning_field != NULL)
        PDR_TRY(put_reasoning(b, pdr_message_contents(m->value, m->shape),
                              m->shape));
    if (calls > 0) {
        put_name(b, "tool_calls");
        pdr_builder_array(b->to);
        PDR_TRY(put_calls(b, m, first, false));
        pdr_builder_end(b->to);
    }
    pdr_builder_end(b->to);
    if (calls > 0)
        PDR_TRY(put_calls(b, m, first, true));
done:
    return rc;
}

/* What a content that is somewhere else is sent as. */
enum link { LINK_NONE, LINK_IMAGE, LINK_TEXT };

/* `*uri`: its address. */
static pdr_rc find_link(enum link *out, const pdr_value **uri, struct body *b,
                        const pdr_value *content, pdr_shape shape)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    bool is_uri = kind == PDR_CONTENT_URI;
    pdr_str type = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    *out = LINK_NONE;
    *uri = NULL;
    if (!is_uri && kind != PDR_CONTENT_DATA)
        return PDR_OK;
    rc = pdr_content_media_type(&type, content, shape, &b->spare, b->err);
    if (rc != PDR_OK && rc != PDR_EINVALID) /* a type that cannot be read */
        return rc;
    *uri = pdr_content_get(content, shape, PDR_FIELD_URI);
    if (*uri == NULL)
        return PDR_OK;
    if (rc == PDR_OK && type.len > 6 &&
        strncasecmp(type.ptr, "image/", 6) == 0 &&
        !(is_uri && (b->profile->lacks & PDR_OPENAI_NO_IMAGE_URLS)))
        *out = LINK_IMAGE;
    else if (is_uri)
        *out = LINK_TEXT;
    return PDR_OK;
}

/* Texts, pictures and addresses in their order. */
static pdr_rc put_parts(struct body *b, const pdr_request_message *m)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_builder_array(b->to);
    pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
    while (pdr_iter_next(&it)) {
        const pdr_value *text = NULL;
        enum link link = LINK_NONE;

        PDR_TRY(find_link(&link, &text, b, it.value, m->shape));
        if (pdr_content_kind_of(it.value, m->shape) == PDR_CONTENT_TEXT)
            text = pdr_content_get(it.value, m->shape, PDR_FIELD_TEXT);
        else if (link == LINK_NONE)
            continue;
        pdr_builder_object(b->to);
        if (link == LINK_IMAGE) {
            put_text(b, "type", PDR_LIT("image_url"));
            put_name(b, "image_url");
            pdr_builder_object(b->to);
            PDR_TRY(put_string(b, "url", text));
            pdr_builder_end(b->to);
        } else {
            put_text(b, "type", PDR_LIT("text"));
            PDR_TRY(put_string(b, "text", text));
        }
        pdr_builder_end(b->to);
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
    enum link link = LINK_NONE;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_str_equal(role, PDR_LIT("user"))) {
        pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
        while (link == LINK_NONE && pdr_iter_next(&it))
            PDR_TRY(find_link(&link, &uri, b, it.value, m->shape));
    }
    pdr_buf_clear(&b->text);
    PDR_TRY(pdr_message_text(&b->text, m->value, m->shape, b->err));
    if (link == LINK_NONE && b->text.len == 0)
        goto done;
    pdr_builder_object(b->to);
    put_text(b, "role", role);
    if (link != LINK_NONE) {
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
        put_text(b, "role", pdr_str_c(b->profile->instructions_role));
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

/* What the answer has to be. */
static void put_format(struct body *b)
{
    if (b->request->output_schema == NULL)
        return;
    put_name(b, "response_format");
    pdr_builder_object(b->to);
    put_text(b, "type", PDR_LIT("json_schema"));
    put_name(b, "json_schema");
    pdr_builder_object(b->to);
    put_text(b, "name", PDR_LIT("answer"));
    put_name(b, "schema");
    pdr_builder_value(b->to, b->request->output_schema);
    pdr_builder_end(b->to);
    pdr_builder_end(b->to);
}

/* --- options ---------------------------------------------------------------
 */

static bool is_token_limit(pdr_str name)
{
    return pdr_str_equal(name, PDR_LIT("max_tokens")) ||
           pdr_str_equal(name, PDR_LIT("max_completion_tokens"));
}

static pdr_rc body_remove(pdr_value **body, const char *name, pdr_err *err)
{
    if (pdr_value_get_c(*body, name) == NULL)
        return PDR_OK;
    return pdr_value_remove(body, pdr_str_c(name), err);
}

/* Options win over what was built; null takes a member away, since servers
 * refuse null where a number is expected. */
static pdr_rc merge_options(pdr_value **body, struct body *b)
{
    const struct pdr__openai_profile *profile = b->profile;
    const pdr_value *stream = NULL;
    pdr_iter it;
    bool is_stream = true;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, b->request->options);
    while (pdr_iter_next(&it)) {
        pdr_str name = PDR_LIT("");

        PDR_TRY(pdr__value_sound_text(&name, it.name, &b->spare, b->err));
        if (profile->token_limit_field != NULL && is_token_limit(name))
            name = pdr_str_c(profile->token_limit_field);
        if (pdr_value_kind(it.value) != PDR_NULL)
            PDR_TRY(pdr_value_set(body, name, it.value, b->err));
        else if (pdr_value_get(*body, name) != NULL)
            PDR_TRY(pdr_value_remove(body, name, b->err));
    }
    if (profile->lacks & PDR_OPENAI_NO_TOOL_CHOICE) {
        PDR_TRY(body_remove(body, "tool_choice", b->err));
        PDR_TRY(body_remove(body, "parallel_tool_calls", b->err));
    }
    stream = pdr_value_get_c(*body, "stream");
    if (stream == NULL || pdr_value_bool(&is_stream, stream, NULL) != PDR_OK ||
        !is_stream || /* both or none: servers check it */
        (profile->lacks & PDR_OPENAI_NO_STREAM_OPTIONS))
        PDR_TRY(body_remove(body, "stream_options", b->err));
done:
    return rc;
}

pdr_rc pdr__openai_request(pdr_buf *out, const pdr_client_request *request,
                           pdr_str model,
                           const struct pdr__openai_profile *profile,
                           pdr_err *err)
{
    struct body b = {.request = request,
                     .profile = profile,
                     .waiting = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                     .text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                     .spare = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                     .err = err};
    pdr_value *body = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&b.to, err));
    PDR_TRY(find_pairs(&b));
    pdr_builder_object(b.to);
    put_text(&b, "model", model);
    PDR_TRY(put_messages(&b));
    put_tools(&b);
    put_format(&b);
    put_name(&b, "stream");
    pdr_builder_bool(b.to, true);
    put_name(&b, "stream_options");
    pdr_builder_object(b.to);
    put_name(&b, "include_usage");
    pdr_builder_bool(b.to, true);
    pdr_builder_end(b.to);
    pdr_builder_end(b.to);
    PDR_TRY(pdr_builder_finish(&body, b.to, err));
    PDR_TRY(merge_options(&body, &b));
    PDR_TRY(pdr_json_write(out, body, NULL, err));
done:
    pdr_value_free(body);
    pdr_buf_dispose(&b.spare);
    pdr_buf_dispose(&b.text);
    pdr__map_dispose(&b.waiting);
    pdr__free(b.pairs);
    pdr_builder_free(b.to);
    return rc;
}

/* --- profiles --------------------------------------------------------------
 */

/* The first is for servers that nobody named: what all of them take. */
static const struct pdr__openai_profile profiles[] = {
    {.instructions_role = "system"},
    {"openai", "system", "max_completion_tokens", NULL, 0},
    {"llama.cpp", "system", NULL, NULL, 0},
    {"vllm", "system", NULL, NULL, 0},
    {"ollama", "system", "max_tokens", NULL,
     PDR_OPENAI_NO_TOOL_CHOICE | PDR_OPENAI_NO_IMAGE_URLS},
};

/* The one of `known` that is `given`. */
static pdr_rc choose_name(const char **out, const char *given,
                          const char *const known[2], const char *what,
                          pdr_err *err)
{
    if (given == NULL)
        return PDR_OK; /* as the profile has it */
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(given, known[i]) == 0) {
            *out = known[i];
            return PDR_OK;
        }
    }
    return PDR_FAIL(err, BAD_CLIENT, "the %s must be '%s' or '%s', not '%s'",
                    what, known[0], known[1],
                    pdr__shown((char[PDR_SHOWN]){0}, pdr_str_c(given)));
}

pdr_rc pdr__openai_profile_init(struct pdr__openai_profile *out,
                                const pdr_openai_opts *opts, pdr_err *err)
{
    static const char *const roles[] = {"system", "developer"};
    static const char *const limits[] = {"max_tokens", "max_completion_tokens"};
    static const char *const fields[] = {"reasoning", "reasoning_content"};
    size_t at = 0;
    pdr_rc rc = PDR_OK;

    if (opts->profile != NULL)
        for (at = 1; at < PDR_COUNT(profiles); at++)
            if (strcmp(profiles[at].name, opts->profile) == 0)
                break;
    if (at == PDR_COUNT(profiles))
        return PDR_FAIL(
            err, BAD_CLIENT,
            "no profile is called '%s': there are openai, "
            "llama.cpp, vllm and ollama",
            pdr__shown((char[PDR_SHOWN]){0}, pdr_str_c(opts->profile)));
    *out = profiles[at];
    out->lacks |= opts->lacks;
    PDR_TRY(choose_name(&out->instructions_role, opts->instructions_role, roles,
                        "role of instructions", err));
    PDR_TRY(choose_name(&out->token_limit_field, opts->token_limit_field,
                        limits, "field of the token limit", err));
    PDR_TRY(choose_name(&out->reasoning_field, opts->reasoning_field, fields,
                        "field of reasoning", err));
done:
    return rc;
}
