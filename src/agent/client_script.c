/*
 * client_script.c - a client whose answers are written down.
 *
 * WHY  Demos and tests want a model that costs nothing, needs no network and
 *      says the same each time. It must also be stateless, as every client is:
 *      so the answer is not "the next line", but the first reply whose
 *      condition fits the conversation as it is.
 *
 *      {"replies":[
 *        {"user":"weather","calls":[{"name":"weather","arguments":{}}]},
 *        {"after":"weather","text":"It is {result}."},
 *        {"text":["Hel","lo"]}]}
 *
 * docs/formats/script.md has every member. A script is checked as a whole when
 * it is read.
 */
#include <stdio.h>

#include "agent.h"

#include <perdure/doc.h>
#include <perdure/json.h>

struct script {
    pdr_client base;
    pdr_value *value; /* owned; checked */
};

/* --- reading ---------------------------------------------------------------
 */

/* Members of a reply and of a call, and what they are. */
struct script_member {
    const char *name;
    unsigned kinds; /* bits of pdr_kind */
};
#define KIND(kind) (1u << (unsigned)(kind))

static const struct script_member reply_members[] = {
    {"user", KIND(PDR_STRING)},
    {"after", KIND(PDR_STRING)},
    {"text", KIND(PDR_STRING) | KIND(PDR_ARRAY)},
    {"reasoning", KIND(PDR_STRING)},
    {"calls", KIND(PDR_ARRAY)},
    {"delay_ms", KIND(PDR_NUMBER)},
    {"usage", KIND(PDR_OBJECT)},
    {"finish", KIND(PDR_STRING)},
    {"fail", KIND(PDR_STRING)},
};
static const struct script_member call_members[] = {
    {"name", KIND(PDR_STRING)},
    {"id", KIND(PDR_STRING)},
    {"arguments", KIND(PDR_OBJECT) | KIND(PDR_STRING)},
};

static pdr_rc script_bad(const char *path, const char *what, pdr_err *err)
{
    (void)PDR_FAIL(err, BAD_SCRIPT, "the script cannot be used: %s", what);
    pdr__err_path(err, pdr_str_c(path));
    return (pdr_rc)PDR_RC_BAD_SCRIPT;
}

/* Does an object have these members only, and of the right kinds? */
static pdr_rc check_members(const pdr_value *value, const char *path,
                            const struct script_member *members, size_t count,
                            pdr_err *err)
{
    char what[96];
    pdr_iter it;

    if (pdr_value_kind(value) != PDR_OBJECT)
        return script_bad(path, "an object is expected", err);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        size_t i = 0;

        while (i < count &&
               !pdr_value_text_is(it.name, pdr_str_c(members[i].name)))
            i++;
        if (i == count)
            return script_bad(path, "a member is not known", err);
        if ((members[i].kinds & KIND(pdr_value_kind(it.value))) == 0) {
            snprintf(what, sizeof(what), "'%s' is %s", members[i].name,
                     pdr__kind_phrase(it.value));
            return script_bad(path, what, err);
        }
    }
    return PDR_OK;
}

static pdr_rc check_reply(const pdr_value *reply, const char *path,
                          pdr_err *err)
{
    const pdr_value *calls = NULL, *text = NULL, *delay = NULL;
    char place[64];
    int64_t ms = 0;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_members(reply, path, reply_members, PDR_COUNT(reply_members),
                          err));
    calls = pdr_value_get_c(reply, "calls");
    pdr_iter_init(&it, calls);
    while (pdr_iter_next(&it)) {
        snprintf(place, sizeof(place), "%s/calls/%zu", path, it.index);
        PDR_TRY(check_members(it.value, place, call_members,
                              PDR_COUNT(call_members), err));
        if (pdr_value_get_c(it.value, "name") == NULL)
            PDR_TRY(script_bad(place, "there is no name", err));
    }
    text = pdr_value_get_c(reply, "text");
    pdr_iter_init(&it, text);
    while (pdr_iter_next(&it)) {
        snprintf(place, sizeof(place), "%s/text/%zu", path, it.index);
        if (pdr_value_kind(it.value) != PDR_STRING)
            PDR_TRY(script_bad(place, "a text is expected", err));
    }
    delay = pdr_value_get_c(reply, "delay_ms");
    if (delay != NULL &&
        (pdr_value_int64(&ms, delay, NULL) != PDR_OK || ms < 0 || ms > 3600000))
        PDR_TRY(script_bad(path, "'delay_ms' is not 0 to 3600000", err));
    if (text == NULL && calls == NULL && pdr_value_get_c(reply, "fail") == NULL)
        PDR_TRY(script_bad(path, "there is no text, call or failure", err));
done:
    return rc;
}

/* --- the conversation ------------------------------------------------------
 */

/* What conditions and texts are about. */
struct scene {
    pdr_buf user;   /* text of the last message of a user */
    pdr_buf tool;   /* name of the tool whose result is last; else empty */
    pdr_buf result; /* that result, as text */
};

/* The name in the call with this id, in the messages up to `count`. */
static const pdr_value *find_call_name(const pdr_client_request *request,
                                       size_t count, const pdr_value *id,
                                       pdr_shape shape)
{
    for (size_t i = count; i > 0; i--) {
        const pdr_request_message *m = &request->messages[i - 1];
        pdr_iter it;

        pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
        while (pdr_iter_next(&it)) {
            const pdr_value *own = NULL;

            if (pdr_content_kind_of(it.value, m->shape) != PDR_CONTENT_CALL)
                continue;
            own = pdr_content_get(it.value, m->shape, PDR_FIELD_CALL_ID);
            if (own != NULL && id != NULL && pdr__value_same_text(own, id))
                return pdr_content_get(it.value, m->shape, PDR_FIELD_NAME);
        }
    }
    (void)shape;
    return NULL;
}

/* The last result in the last message, if it is one of a tool. */
static pdr_rc read_result(struct scene *scene,
                          const pdr_client_request *request, pdr_err *err)
{
    const pdr_request_message *m = &request->messages[request->count - 1];
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
    while (pdr_iter_next(&it)) {
        const pdr_value *name = NULL, *result = NULL;
        pdr_str text = {NULL, 0};

        if (pdr_content_kind_of(it.value, m->shape) != PDR_CONTENT_RESULT)
            continue;
        name = find_call_name(
            request, request->count,
            pdr_content_get(it.value, m->shape, PDR_FIELD_CALL_ID), m->shape);
        result = pdr_content_get(it.value, m->shape, PDR_FIELD_RESULT);
        pdr_buf_clear(&scene->tool);
        pdr_buf_clear(&scene->result);
        if (name != NULL) {
            PDR_TRY(pdr__value_sound_text(&text, name, &scratch, err));
            PDR_TRY(pdr_buf_append(&scene->tool, text, err));
        }
        if (result != NULL && pdr_value_kind(result) == PDR_STRING) {
            PDR_TRY(pdr__value_sound_text(&text, result, &scratch, err));
            PDR_TRY(pdr_buf_append(&scene->result, text, err));
        } else if (result != NULL) {
            PDR_TRY(pdr_json_write(&scene->result, result, NULL, err));
        }
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc read_scene(struct scene *scene, const pdr_client_request *request,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (request->count == 0)
        return PDR_OK;
    PDR_TRY(read_result(scene, request, err));
    for (size_t i = request->count; i > 0; i--) {
        const pdr_request_message *m = &request->messages[i - 1];
        const pdr_value *role = pdr_message_role(m->value, m->shape);

        if (role == NULL || !pdr__is_folded(role, PDR_LIT("user")) ||
            m->origin == PDR_ORIGIN_CONTEXT)
            continue; /* a provider is not the user */
        rc = pdr_message_text(&scene->user, m->value, m->shape, err);
        break;
    }
done:
    return rc;
}

/* Does a text occur in another? Without a condition it always does. */
static bool text_fits(const pdr_value *part, const pdr_buf *text, bool is_whole)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str wanted = {NULL, 0};
    bool fits = true;

    if (part == NULL)
        return true;
    fits = pdr__value_sound_text(&wanted, part, &scratch, NULL) == PDR_OK &&
           (is_whole ? pdr_str_equal(wanted, pdr_buf_str(text))
                     : wanted.len == 0 ||
                           (text->len > 0 && memmem(text->ptr, text->len,
                                                    wanted.ptr, wanted.len)));
    pdr_buf_dispose(&scratch);
    return fits;
}

/* The first reply that fits. One about a user does not fit while a result waits
 * for an answer, so that no reply calls its tool for ever. */
static const pdr_value *find_reply(const struct script *script,
                                   const struct scene *scene)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_value_get_c(script->value, "replies"));
    while (pdr_iter_next(&it)) {
        const pdr_value *user = pdr_value_get_c(it.value, "user");
        const pdr_value *after = pdr_value_get_c(it.value, "after");

        if (user != NULL && after == NULL && scene->tool.len > 0)
            continue;
        if (text_fits(user, &scene->user, false) &&
            text_fits(after, &scene->tool, true))
            return it.value;
    }
    return NULL;
}

/* --- answering -------------------------------------------------------------
 */

/* Append a text of the script, with what {user} and {result} stand for. */
static pdr_rc fill_text(pdr_buf *out, const pdr_value *value,
                        const struct scene *scene, pdr_err *err)
{
    const struct {
        pdr_str mark;
        const pdr_buf *text;
    } marks[] = {{PDR_LIT("{user}"), &scene->user},
                 {PDR_LIT("{result}"), &scene->result}};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_sound_text(&text, value, &scratch, err));
    for (size_t at = 0, next = 0; at < text.len; at = next) {
        const char *brace = memchr(text.ptr + at + 1, '{', text.len - at - 1);
        pdr_str piece = {NULL, 0};

        next = brace != NULL ? (size_t)(brace - text.ptr) : text.len;
        piece = pdr_str_n(text.ptr + at, next - at);
        for (size_t i = 0; i < PDR_COUNT(marks); i++) {
            size_t len = marks[i].mark.len;

            if (text.len - at >= len &&
                memcmp(text.ptr + at, marks[i].mark.ptr, len) == 0) {
                piece = pdr_buf_str(marks[i].text);
                next = at + len;
                break;
            }
        }
        PDR_TRY(pdr_buf_append(out, piece, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Hand over one content; taken, also on failure. */
static pdr_rc give_content(pdr_value *content, pdr_update_fn fn, void *arg,
                           pdr_err *err)
{
    const pdr_value *const contents[] = {content};
    const pdr_update update = {
        .role = PDR_LIT("assistant"), .contents = contents, .content_count = 1};
    pdr_rc rc = fn(&update, err, arg);

    pdr_value_free(content);
    return rc;
}

static pdr_rc give_text(const pdr_value *value, pdr_content_kind kind,
                        const struct scene *scene,
                        const pdr_client_request *request, pdr_err *err,
                        pdr_update_fn fn, void *arg)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_content_part part = {PDR_FIELD_TEXT, NULL};
    pdr_value *string = NULL, *content = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(fill_text(&text, value, scene, err));
    PDR_TRY(pdr_value_new_string(&string, pdr_buf_str(&text), err));
    part.value = string;
    PDR_TRY(pdr_content_new(&content, request->shape, kind, &part, 1, err));
    rc = give_content(content, fn, arg, err);
done:
    pdr_value_free(string);
    pdr_buf_dispose(&text);
    return rc;
}

/* A call; one without an id gets one that no call of the request has: the
 * number of its message and its place. */
static pdr_rc give_call(const pdr_value *call, size_t index,
                        const struct scene *scene,
                        const pdr_client_request *request, pdr_err *err,
                        pdr_update_fn fn, void *arg)
{
    const pdr_value *arguments = pdr_value_get_c(call, "arguments");
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *content = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(fill_text(&name, pdr_value_get_c(call, "name"), scene, err));
    if (pdr_value_get_c(call, "id") != NULL)
        PDR_TRY(fill_text(&id, pdr_value_get_c(call, "id"), scene, err));
    else
        PDR_TRY(
            pdr_buf_printf(&id, err, "call_%zu_%zu", request->count, index));
    if (arguments != NULL && pdr_value_kind(arguments) == PDR_STRING)
        PDR_TRY(fill_text(&text, arguments, scene, err));
    else if (arguments != NULL)
        PDR_TRY(pdr_json_write(&text, arguments, NULL, err));
    else
        PDR_TRY(pdr_buf_append(&text, PDR_LIT("{}"), err));
    PDR_TRY(pdr_content_new_call(&content, request->shape, pdr_buf_str(&id),
                                 pdr_buf_str(&name), pdr_buf_str(&text), err));
    rc = give_content(content, fn, arg, err);
done:
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&id);
    return rc;
}

/* The end of the answer: why, and what it cost. */
static pdr_rc give_end(const pdr_value *reply,
                       const pdr_client_request *request, pdr_err *err,
                       pdr_update_fn fn, void *arg)
{
    const pdr_value *usage = pdr_value_get_c(reply, "usage");
    const pdr_value *finish = pdr_value_get_c(reply, "finish");
    const pdr_content_part part = {PDR_FIELD_USAGE, usage};
    const pdr_value *contents[1] = {NULL};
    pdr_update update = {.role = PDR_LIT("assistant")};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *content = NULL;
    pdr_rc rc = PDR_OK;

    update.finish_reason = pdr_value_get_c(reply, "calls") != NULL
                               ? PDR_LIT("tool_calls")
                               : PDR_LIT("stop");
    if (finish != NULL)
        PDR_TRY(pdr__value_sound_text(&update.finish_reason, finish, &scratch,
                                      err));
    if (usage != NULL) {
        PDR_TRY(pdr_content_new(&content, request->shape, PDR_CONTENT_USAGE,
                                &part, 1, err));
        contents[0] = content;
        update.contents = contents;
        update.content_count = 1;
    }
    rc = fn(&update, err, arg);
done:
    pdr_value_free(content);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Wait as long as the reply says; false if the run was cancelled meanwhile. */
static bool reply_wait(const pdr_value *reply, pdr_cancel *cancel)
{
    const pdr_value *delay = pdr_value_get_c(reply, "delay_ms");
    int64_t ms = 0;

    if (delay == NULL || pdr_value_int64(&ms, delay, NULL) != PDR_OK || ms == 0)
        return !pdr_cancel_is_set(cancel);
    return !pdr_cancel_wait(cancel, (uint32_t)ms);
}

static pdr_rc script_answer(const pdr_value *reply, const struct scene *scene,
                            const pdr_client_request *request, pdr_err *err,
                            pdr_update_fn fn, void *arg)
{
    const pdr_value *text = pdr_value_get_c(reply, "text");
    const pdr_value *reasoning = pdr_value_get_c(reply, "reasoning");
    const pdr_value *fail = pdr_value_get_c(reply, "fail");
    pdr_buf why = PDR_BUF_INIT(SIZE_MAX);
    bool is_list = text != NULL && pdr_value_kind(text) == PDR_ARRAY;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (!reply_wait(reply, request->cancel))
        return PDR_FAIL(err, RUN_CANCELLED, "%s", "the run was cancelled");
    if (reasoning != NULL)
        PDR_TRY(give_text(reasoning, PDR_CONTENT_REASONING, scene, request, err,
                          fn, arg));
    if (text != NULL && !is_list)
        PDR_TRY(
            give_text(text, PDR_CONTENT_TEXT, scene, request, err, fn, arg));
    pdr_iter_init(&it, is_list ? text : NULL);
    while (pdr_iter_next(&it)) {
        if (it.index > 0 && !reply_wait(reply, request->cancel))
            PDR_TRY(
                PDR_FAIL(err, RUN_CANCELLED, "%s", "the run was cancelled"));
        PDR_TRY(give_text(it.value, PDR_CONTENT_TEXT, scene, request, err, fn,
                          arg));
    }
    if (fail != NULL) { /* also after some of the answer */
        PDR_TRY(fill_text(&why, fail, scene, err));
        PDR_TRY(PDR_FAIL(err, MODEL_FAILED, "the model failed: %.*s",
                         (int)why.len, why.ptr));
    }
    pdr_iter_init(&it, pdr_value_get_c(reply, "calls"));
    while (pdr_iter_next(&it))
        PDR_TRY(give_call(it.value, it.index, scene, request, err, fn, arg));
    PDR_TRY(give_end(reply, request, err, fn, arg));
done:
    pdr_buf_dispose(&why);
    return rc;
}

static pdr_rc script_send(pdr_client *self, const pdr_client_request *request,
                          pdr_err *err, pdr_update_fn fn, void *arg)
{
    const struct script *script = (const struct script *)self;
    struct scene scene = {PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                          PDR_BUF_INIT(SIZE_MAX),
                          PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
    const pdr_value *reply = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(read_scene(&scene, request, err));
    reply = find_reply(script, &scene);
    if (reply == NULL)
        PDR_TRY(PDR_FAIL(err, MODEL_FAILED, "%s",
                         "no reply of the script fits: add one without a "
                         "condition at the end"));
    PDR_TRY(script_answer(reply, &scene, request, err, fn, arg));
done:
    pdr_buf_dispose(&scene.user);
    pdr_buf_dispose(&scene.tool);
    pdr_buf_dispose(&scene.result);
    return rc;
}

static void script_free(pdr_client *self)
{
    struct script *script = (struct script *)self;

    pdr_value_free(script->value);
    pdr__free(script);
}

static const pdr_client_ops script_ops = {PDR_CLIENT_OPS_VERSION, "script",
                                          script_send, script_free};

pdr_rc pdr_client_script(pdr_client **out, pdr_str script, pdr_err *err)
{
    static const struct script_member members[] = {
        {"replies", KIND(PDR_ARRAY)}};
    struct script *made = NULL;
    pdr_value *value = NULL;
    char path[32];
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    PDR_TRY(pdr_json_read(&value, script, NULL, err));
    PDR_TRY(check_members(value, "", members, PDR_COUNT(members), err));
    if (pdr_value_count(pdr_value_get_c(value, "replies")) == 0)
        PDR_TRY(script_bad("/replies", "there is no reply", err));
    pdr_iter_init(&it, pdr_value_get_c(value, "replies"));
    while (pdr_iter_next(&it)) {
        snprintf(path, sizeof(path), "/replies/%zu", it.index);
        PDR_TRY(check_reply(it.value, path, err));
    }
    made = pdr__calloc(1, sizeof(*made));
    if (made == NULL) {
        rc = pdr__nomem(err);
        goto done;
    }
    PDR_TRY(pdr_client_init(&made->base, &script_ops, err));
    made->value = value;
    value = NULL;
    *out = &made->base;
    made = NULL;
done:
    pdr__free(made);
    pdr_value_free(value);
    return rc;
}
